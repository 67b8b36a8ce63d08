"""An answer for each part of the data, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, NoReturn

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.model.answers.base import (
    Answer,
    Axis,
    Grid,
    Packed,
    Points,
    Reading,
    View,
    bars_json,
    from_json,
    listed,
    register,
    unpacked,
)
from dpviz.model.error import ErrorValue
from dpviz.model.question import Question
from dpviz.model.words import shown

FEW: Final = 12
"""So many labels, or places of a list, stand beside each other; of more the parts do."""

ONE = "read the answer about one part: release.groups[...]"


@register
@dataclass(frozen=True, eq=False)
class Grouped(Answer):
    """Released answers of one shape, one for each part, in the order of the parts."""

    kind: ClassVar[str] = "grouped"
    chart: ClassVar[str] = "parts"
    answers: tuple[Answer, ...]

    def pack(self) -> Packed:
        """The columns of each answer under its number."""
        packed = [answer.pack() for answer in self.answers]
        header = {"shape": self._shape, "answers": [one.header for one in packed]}
        arrays = {f"{at}.{name}": column for at, one in enumerate(packed) for name, column in one.arrays.items()}
        return Packed(header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> Grouped:
        kind, headers = packed.header["shape"], packed.header["answers"]
        columns: list[dict[str, Any]] = [{} for _ in headers]
        for name, column in packed.arrays.items():
            at, _, own = name.partition(".")
            columns[int(at)][own] = column
        parts = zip(headers, columns, strict=True)
        return cls(tuple(unpacked(kind, Packed(header, arrays)) for header, arrays in parts))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "answers": [answer.to_json() for answer in self.answers]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Grouped:
        answers = tuple(from_json(one) for one in data["answers"])
        if any(isinstance(one, Grouped) for one in answers) or len({one.kind for one in answers}) > 1:
            raise ReleaseFormat.damaged("the answers about the parts have one shape", "several shapes")
        return cls(answers)

    @property
    def parts(self) -> tuple[Answer, ...]:
        return self.answers

    @property
    def _shape(self) -> str:
        return self.answers[0].kind

    def fits(self, question: Question, max_items: int | None) -> bool:
        if question.by is None or question.part is not None or len(self.answers) != question.by.size:
            return False
        parts = zip(self.answers, question.in_parts(), strict=True)
        return all(answer.fits(part, max_items) for answer, part in parts)

    @property
    def has_values(self) -> bool:
        """Each answer has its own."""
        return False

    def readings(self, reading: Reading) -> list[Reading]:
        """What each answer needs to be read."""
        return [replace(reading, question=part) for part in reading.question.in_parts()]

    def axis(self, reading: Reading) -> Axis:
        by = reading.question.by
        assert by is not None
        return Axis(by.each, "part", by.names)

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        """The rows of all answers, each with the part that it is about."""
        columns: dict[str, list[Any]] = {}
        by = reading.question.by
        assert by is not None
        for name, answer, one in zip(by.names, self.answers, self.readings(reading), strict=True):
            found = answer.rows(one)
            many = max(map(len, found.values()), default=0)
            each = by.each if by.each not in found else f"{by.each} (part)"
            for column, cells in {each: [name] * many, **found}.items():
                columns.setdefault(column, []).extend(cells)
        return dict(columns)

    def point(self, reading: Reading, label: object) -> NoReturn:
        self._refuse("an answer for each part has no single value", ONE)

    def named(self, reading: Reading, label: object) -> NoReturn:
        self._refuse("an answer for each part has no single value", ONE)

    def span(self, reading: Reading, low: object, high: object) -> NoReturn:
        self._refuse("an answer for each part has no single values to add", ONE)

    def every(self, reading: Reading) -> NoReturn:
        self._refuse("an answer for each part has no single values to add", ONE)

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NoReturn:
        self._refuse("an answer for each part has no single values", ONE)

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        return None, None

    def sentence(self, reading: Reading) -> str:
        by = reading.question.by
        assert by is not None
        return f"One answer for each {by.each}; release.groups has them one by one."

    def remark(self, reading: Reading) -> str:
        return self.answers[0].remark(self.readings(reading)[0])

    def side_by_side(self, reading: Reading) -> Grid:
        """All answers side by side: a row for each part and a column for each place of a list, or each label, where
        there are few of these; else the other way round."""
        by, found = (
            reading.question.by,
            [self._column(*one) for one in zip(self.answers, self.readings(reading), strict=True)],
        )
        assert by is not None
        names = list(dict.fromkeys(name for column in found for name in column))
        if len(names) <= FEW:
            rows = [
                [part, *(column.get(name, "") for name in names)] for part, column in zip(by.names, found, strict=True)
            ]
            return Grid([by.each, *names], rows)
        return Grid(["", *by.names], [[name, *(column.get(name, "") for column in found)] for name in names])

    def _column(self, answer: Answer, reading: Reading) -> dict[str, str]:
        """One answer as texts: values by their labels, or what stands in each place of a list."""
        labels = [str(cell) for cell in list(answer.lines(reading).values())[-1]]
        if answer.has_values and answer.listing(reading) is None:
            return dict(zip(labels, map(shown, listed(answer.read(reading))), strict=True))
        return {f"rank {at}": label for at, label in enumerate([*labels, *answer.last_row(reading)[-1:]], 1)}

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        grid, first = self.side_by_side(reading), self.readings(reading)[0]
        answer = self.answers[0]
        barred = answer.has_values and answer.bars(first, betas[0])[0] is not None
        return View(
            kind="grouped",
            header={
                "heads": grid.heads,
                "rows": grid.rows,
                "figures": answer.has_values and answer.listing(first) is None,
                "sentence": " ".join(filter(None, (self.sentence(reading), self.remark(reading)))),
                "bars": bars_json(answer, first, betas) if barred else {},
            },
        )


protect_module(vars())
