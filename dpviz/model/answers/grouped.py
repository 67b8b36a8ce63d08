"""An answer for each part of the data, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import text
from dpviz.model.answers.base import Answer, from_json, register, unpacked
from dpviz.model.answers.pictures import bars_json, columns_of, scale_of
from dpviz.model.answers.reading import Among, Axis, BinGrid, Packed, Points, Reading, Values, View
from dpviz.model.answers.values import listed
from dpviz.model.between import between
from dpviz.model.question import Question
from dpviz.model.words import shown

FEW: Final = 12
"""The most labels, or places of a list, beside each other; of more the parts do."""

MOST_DRAWN: Final = 50_000
"""The most values of all parts that a page draws; of more it has the table."""

MOST_ENDS: Final = 5_000
"""The most values with intervals of their own on a page, where these differ from value to value."""

PLACES: Final = 3
"""A page draws values that are no short decimals to so many places."""

DIGITS: Final = 15
"""A decimal of so many characters is a float that is written as it is."""

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
        """The parts of a release that the answers need to be read."""
        return [replace(reading, question=part) for part in reading.question.in_parts()]

    def axis(self, reading: Reading) -> Axis:
        by = reading.question.by
        assert by is not None
        return Axis(by.each, "part", by.names)

    @property
    def has_rows(self) -> bool:  # type: ignore[override]
        """Whether the answers can be listed; those to look-ups are asked one by one."""
        return all(answer.has_rows for answer in self.answers)

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        """The rows of all answers, each with the part that it is about."""
        if not self.has_rows:
            self._refuse("answers to look-ups have no rows", ONE)
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

    def _refuse_sums(self) -> NoReturn:
        self._refuse("an answer for each part has no single values to add", ONE)

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NoReturn:
        self._refuse("an answer for each part has no single values", ONE)

    def sentence(self, reading: Reading) -> str:
        by = reading.question.by
        assert by is not None
        return f"One answer for each {by.noun}; release.groups has them one by one."

    def remark(self, reading: Reading) -> str:
        return self.answers[0].remark(self.readings(reading)[0])

    def side_by_side(self, reading: Reading) -> BinGrid:
        """All answers side by side: a row for each part and a column for each place of a list, or each label, where
        there are few of these; else the other way round."""
        by = reading.question.by
        assert by is not None
        if not self.has_rows:
            return BinGrid([by.each], [[part] for part in by.names])
        found = [self._column(*one) for one in zip(self.answers, self.readings(reading), strict=True)]
        names = list(dict.fromkeys(name for column in found for name in column))
        if len(names) <= FEW:
            rows = [
                [part, *(column.get(name, "") for name in names)] for part, column in zip(by.names, found, strict=True)
            ]
            return BinGrid([by.each, *names], rows)
        noun = self.answers[0].axis(self.readings(reading)[0]).noun
        return BinGrid([noun, *by.names], [[name, *(column.get(name, "") for column in found)] for name in names])

    def _column(self, answer: Answer, reading: Reading) -> dict[str, str]:
        """One answer as texts: values by their labels, or what stands in each place of a list."""
        labels = [str(cell) for cell in list(answer.lines(reading).values())[-1]]
        if answer.has_values and answer.listing(reading) is None:
            return dict(zip(labels, map(shown, listed(answer.read(reading))), strict=True))
        return {f"rank {at}": label for at, label in enumerate([*labels, *answer.last_row(reading)[-1:]], 1)}

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        """All answers side by side, for a table, and what panels beside each other are drawn from."""
        grid, first = self.side_by_side(reading), self.readings(reading)[0]
        answer = self.answers[0]
        barred = answer.has_values and answer.bars(first, betas[0])[0] is not None
        drawn, arrays = self._drawn(reading, () if barred else betas)
        return View(
            kind="grouped",
            header={
                "heads": grid.heads,
                "rows": grid.rows,
                "figures": answer.has_values and answer.listing(first) is None,
                "sentence": " ".join(filter(None, (self.sentence(reading), self.remark(reading)))),
                "bars": bars_json(answer, first, betas) if barred else {},
                **drawn,
            },
            arrays=arrays,
        )

    def _drawn(self, reading: Reading, betas: Sequence[Fraction]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The panels of a page, one for each part: labels and values of all, one part after the other, and how many
        each has; bins of one domain have their labels once. Nothing where the answers are neither values in rows nor
        lists, or too many.

        betas  the levels at which each value has an interval of its own; none where one bar holds for all
        """
        by, readings = reading.question.by, self.readings(reading)
        assert by is not None
        pairs = list(zip(self.answers, readings, strict=True))
        lists = [answer.listing(one) for answer, one in pairs]
        valued = all(answer.has_values and answer.has_rows for answer in self.answers)
        if not valued and None in lists:
            return {}, {}
        axes = [answer.axis(one) for answer, one in pairs]
        if sum(len(axis.labels) for axis in axes) > MOST_DRAWN:
            return {}, {}
        domain = axes[0].domain
        shared = domain is not None and all(axis.domain == domain for axis in axes)
        values = [_pictured(answer.read(one)) for answer, one in pairs] if valued else []
        found = axes[0].domain is None and lists[0] is None
        orders = [np.argsort(-column, kind="stable") if found else np.arange(len(column)) for column in values]
        labels = [list(map(str, axis.labels)) for axis in axes]
        if found:
            labels = [[column[at] for at in order] for column, order in zip(labels, orders, strict=True)]
        listing = [one for one in lists if one is not None]
        header = {
            "parts": {
                "each": by.noun,
                "names": list(by.names),
                "axis": columns_of(reading.question),
                "noun": axes[0].noun,
                "whole": axes[0].whole,
                "rows": [str(len(column)) for column in labels],
                "shared": shared,
                "list": {
                    "places": str(listing[0].most),
                    "ordered": listing[0].ordered,
                    "ended": [one.ended for one in listing],
                }
                if listing
                else None,
            },
            **scale_of(readings[0].question.domain),
            "labels": labels[0] if shared else [label for column in labels for label in column],
            "short_labels": domain.short_labels if shared and domain is not None else [],
        }
        return header, {**_joined("values", values, orders), **self._ends(pairs, orders, betas)}

    def _ends(
        self, pairs: Sequence[tuple[Answer, Reading]], orders: Sequence[NDArray[Any]], betas: Sequence[Fraction]
    ) -> dict[str, NDArray[Any]]:
        """Both ends of every interval, by its level and by what it holds for; nothing where an end is open."""
        found: dict[str, NDArray[Any]] = {}
        if sum(map(len, orders)) > MOST_ENDS:
            return found
        kinds: tuple[Among, ...] = ("one", "all")
        for beta in betas:
            for among in kinds:
                some = [answer.intervals(one, beta, among) for answer, one in pairs]
                ends = [(one.low, one.high) for one in some if one is not None]
                if len(ends) < len(pairs) or any(end is None for pair in ends for side in pair for end in side):
                    continue
                for side, name in enumerate(("low", "high")):
                    columns = [_pictured(pair[side]) for pair in ends]  # type: ignore[arg-type]
                    found |= _joined(f"{among}_{name} {text(beta)}", columns, orders)
        return found


def _pictured(values: Values) -> NDArray[Any]:
    """Numbers as a page draws them: whole ones and short decimals, as sums in small steps are, as they are, others to
    three places, enclosures by their middles."""
    if isinstance(values, np.ndarray):
        return values
    middles = [between(value).middle for value in values]
    if all(one.denominator == 1 for one in middles):
        return np.array([int(one) for one in middles], dtype=np.int64)
    short = [len(text(one)) <= DIGITS and "/" not in text(one) for one in middles]
    drawn = [float(one) if told else round(float(one), PLACES) for one, told in zip(middles, short, strict=True)]
    return np.array(drawn) + 0.0  # which makes -0.0 a 0


def _joined(name: str, columns: Sequence[NDArray[Any]], orders: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The columns of all parts as one, each in its order."""
    ordered = [column[order] for column, order in zip(columns, orders, strict=True)]
    return {name: np.concatenate(ordered)} if ordered else {}


protect_module(vars())
