"""An answer for each part of the data, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

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

ONE = "read the answer about one part: release.groups[...]"


@register
@dataclass(frozen=True, eq=False)
class Grouped(Answer):
    """Released answers of one shape, one for each part, in the order of the parts."""

    kind: ClassVar[str] = "grouped"
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
            for column, cells in {by.each: [name] * many, **found}.items():
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
        """All answers side by side: a column for each part, a row for each place of a list or each label."""
        by, readings = reading.question.by, self.readings(reading)
        assert by is not None
        columns, heads = [], [""]
        for answer, one in zip(self.answers, readings, strict=True):
            rows = {name: [str(cell) for cell in cells] for name, cells in answer.rows(one).items()}
            heads, labels = list(rows), list(rows.values())[-1]
            if answer.has_values and answer.listing(one) is None:
                shown = [str(value) for value in listed(answer.read(one))]
                columns.append(dict(zip(labels, shown, strict=True)))
                continue
            end = answer.last_row(one)
            columns.append({str(at): label for at, label in enumerate([*labels, *end[-1:]], 1)})
        names = list(dict.fromkeys(name for column in columns for name in column))
        cells = [[name, *(column.get(name, "") for column in columns)] for name in names]
        return Grid([heads[0] if len(heads) > 1 else heads[-1], *by.names], cells)

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
