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
from dpviz.model.answers.base import (
    LARGEST_VIEW,
    Answer,
    Axis,
    Packed,
    Points,
    Reading,
    View,
    bars_json,
    columns_of,
    register,
    rows_or,
    scale_of,
    strips_json,
    whole_sum,
)
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
from dpviz.model.domain import Domain
from dpviz.model.linear import Members, Query
from dpviz.model.question import Question

LONG: Final = 1_000
"""An answer of more bins is saved as columns, not as a text for each bin."""


@register
@dataclass(frozen=True, eq=False)
class SparseTable(Answer):
    """Released values of a few bins, ascending by label; every other bin of the domain reads 0.

    labels  bin numbers of a declared domain, or key texts where the keys were not declared
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
        columns = label_columns(self.labels) if len(self.labels) > LONG else None
        if columns is not None:
            narrow = np.array_equal(values := self.values.astype(np.int32), self.values)
            columns["values"] = values if narrow else self.values
            return {"kind": self.kind, **Packed({}, columns).to_json()}
        return {"kind": self.kind, **self.pack().header, "values": [str(value) for value in self.values.tolist()]}

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

    def run(self, reading: Reading, labels: range) -> range | None:
        return reading.question.domain.run(labels)

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NDArray[np.int64]:
        self._reader(reader)
        if points is None or isinstance(points, slice):
            return self.values[rows_or(points, len(self.values))]
        known: dict[int | str, int] = dict(zip(self.labels, self.values.tolist(), strict=True))
        return np.array([known.get(point, 0) for point in points], dtype=np.int64)

    def shown_of(self, points: Sequence[Any]) -> int:
        """How many of these points are shown. A range may hold more bins than can be listed."""
        inside = Members(points)
        return sum(label in inside for label in self.labels)

    def weighted(self, reading: Reading, query: Query, reader: str = "") -> Fraction:
        """The values of what is shown; all else reads 0."""
        self._reader(reader)
        total = Fraction(0)
        for points, weight in query.parts:
            inside = Members(points)
            shown = np.array([label in inside for label in self.labels], dtype=np.bool_)
            total += weight * whole_sum(self.values[shown])
        return total

    def remark(self, reading: Reading) -> str:
        return "A bin that is not shown reads 0."

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        domain, drawn = reading.question.domain, len(self.labels) <= LARGEST_VIEW
        labels = shown_labels(self.labels, domain) if drawn else []
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
            },
            arrays={"values": self.values} if drawn else {},
        )


protect_module(vars())
