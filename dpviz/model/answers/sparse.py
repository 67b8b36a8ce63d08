"""A sparse table: released counts of a few bins, while every other bin reads 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import text
from dpviz.model.answers.additive import AdditiveCounts
from dpviz.model.answers.base import register
from dpviz.model.answers.labels import (
    Labels,
    apart,
    are_labels,
    ascending,
    by_column,
    label_columns,
    labels_in,
    labels_json,
    labels_of,
    short_labels,
    shown_labels,
)
from dpviz.model.answers.pictures import bars_json, columns_of, scale_of, strips_json
from dpviz.model.answers.reading import LARGEST_VIEW, Axis, Packed, Points, Reading, Values, View
from dpviz.model.answers.values import rows_or, whole_sum
from dpviz.model.domain import Domain
from dpviz.model.linear import Members, Query
from dpviz.model.question import Question

LONG: Final = 1_000
"""An answer of more bins is saved as columns, not as a text for each bin."""


@register
@dataclass(frozen=True, eq=False)
class SparseTable(AdditiveCounts):
    """Released values of a few bins, ascending by label; every other bin of the domain reads 0.

    labels  bin numbers of a declared domain, or key texts where the keys were not declared
    values  as they were drawn and as they are stored: whole steps of the question. `read` gives them in its unit
    """

    kind: ClassVar[str] = "sparse"
    adds_rows: ClassVar[bool] = True
    labels: Labels
    values: NDArray[np.int64]

    def pack(self) -> Packed:
        return Packed(labels_json(self.labels, "labels"), {"values": self.values})

    @classmethod
    def unpack(cls, packed: Packed) -> SparseTable:
        return cls._of(labels_of(packed.header, "labels"), packed.arrays["values"])

    @classmethod
    def _of(cls, labels: Labels, column: NDArray[Any]) -> SparseTable:
        """This table, where the parts of it that were stored fit together."""
        values = np.asarray(column, dtype=np.int64)
        if values.shape != (len(labels),) or not ascending(labels):
            raise ReleaseFormat.damaged("a sparse answer has one value per label, ascending", f"{len(labels)} labels")
        return cls(labels, values)

    def to_json(self) -> dict[str, Any]:
        """All of it as texts, as sparse tables have always been saved; of a long one its columns, each as one text."""
        columns = self._columns
        if columns is not None:
            return {"kind": self.kind, **columns.to_json()}
        return {"kind": self.kind, **self.pack().header, "values": [str(value) for value in self.values.tolist()]}

    def held_json(self) -> dict[str, Any]:
        columns = self._columns
        return self.to_json() if columns is None else {"kind": self.kind, **columns.held_json()}

    @property
    def _columns(self) -> Packed | None:
        """A long table as columns; None of a short one, and where the labels have no such form."""
        columns = label_columns(self.labels) if len(self.labels) > LONG else None
        if columns is None:
            return None
        narrow = np.array_equal(values := self.values.astype(np.int32), self.values)
        return Packed({}, {**columns, "values": values if narrow else self.values})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SparseTable:
        if "arrays" in data:
            columns = Packed.from_json(data).arrays
            return cls._of(labels_in(columns), columns["values"])
        values = np.array([int(value) for value in data["values"]], dtype=np.int64)
        return cls._of(labels_of(data, "labels"), values)

    def cut_up(self, by: Domain, domain: Domain) -> list[SparseTable]:
        return [SparseTable(labels, self.values[places]) for places, labels in apart(self.labels, by, domain)]

    def fits(self, question: Question, max_items: int | None) -> bool:
        return are_labels(self.labels, question.domain)

    def axis(self, reading: Reading) -> Axis:
        domain = reading.question.domain
        labels, short = shown_labels(self.labels, domain), partial(short_labels, self.labels, domain)
        whole = reading.question.domain.size_text.removesuffix(" bins").removesuffix(" bin")
        return Axis(columns_of(reading.question), "bin", labels, whole=whole, short=short)

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return {**super().rows(reading), **by_column(self.labels, reading.question.domain)}

    def lines(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return super().rows(reading)

    def point(self, reading: Reading, label: object) -> int | str:
        return reading.question.domain.point(label)

    def in_row(self, reading: Reading, row: int) -> int | str:
        place: int = super().in_row(reading, row)
        return self.labels[place]

    def points_of_range(self, reading: Reading, labels: range) -> range | None:
        return reading.question.domain.run(labels)

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> Values:
        """Values in the unit of the question: a count as it was drawn, a sum as its steps times their size."""
        self._reader(reader)
        if points is None or isinstance(points, slice):
            steps = self.values[rows_or(points, len(self.values))]
        else:
            known: dict[int | str, int] = dict(zip(self.labels, self.values.tolist(), strict=True))
            steps = np.array([known.get(point, 0) for point in points], dtype=np.int64)
        return in_units(steps, reading.question.aggregate.step)

    def shown_of(self, points: Sequence[Any]) -> int:
        """How many of these points are shown. A range may hold more bins than can be listed."""
        inside = Members(points)
        return sum(label in inside for label in self.labels)

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction:
        """The sum of the values that are shown, in the unit of the question; all else reads 0."""
        self._reader(reader)
        step = reading.question.aggregate.step
        total = Fraction(0)
        for points, weight in query.parts:
            inside = Members(points)
            shown = np.array([label in inside for label in self.labels], dtype=np.bool_)
            total += weight * step * whole_sum(self.values[shown])
        return total

    def remark(self, reading: Reading) -> str:
        return "A bin that is not shown reads 0."

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        domain, drawn = reading.question.domain, len(self.labels) <= LARGEST_VIEW
        labels = shown_labels(self.labels, domain) if drawn else []
        values = self.read(reading) if drawn else ()
        fractions = {"values": [text(Fraction(value)) for value in values]} if isinstance(values, list) else {}
        return View(
            kind="histogram" if drawn else "large",
            header={
                "axis": columns_of(reading.question),
                "columns": list(domain.columns),
                **scale_of(domain),
                "bins": str(len(self.labels)),
                "size": domain.size_text,
                "sparse": True,
                "lookup": False,
                "labels": labels,
                "short_labels": short_labels(self.labels, domain) if drawn else [],
                "list": None,
                "bars": bars_json(self, reading, betas),
                "strips": strips_json(self, reading),
                **fractions,
            },
            arrays={"values": values} if isinstance(values, np.ndarray) else {},
        )


LARGEST: Final = 1 << 62
"""Up to here a value and its interval are whole numbers of 64 bits."""


def in_units(steps: NDArray[np.int64], step: Fraction) -> NDArray[np.int64] | list[Fraction]:
    """Values in whole steps as what they are worth: an array where all are whole numbers of 64 bits, else fractions.

    >>> in_units(np.array([3, -1]), Fraction(5)).tolist(), in_units(np.array([3, -1]), Fraction(1, 100))
    ([15, -5], [Fraction(3, 100), Fraction(-1, 100)])
    """
    if step == 1:
        return steps
    largest = max(map(abs, (int(steps.min()), int(steps.max())))) if len(steps) else 0
    if step.denominator == 1 and largest * step <= LARGEST:
        return steps * np.int64(int(step))
    return [value * step for value in steps.tolist()]


protect_module(vars())
