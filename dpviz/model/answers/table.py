"""A table: one released count for every bin of a declared domain."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.model.answers.additive import AdditiveCounts
from dpviz.model.answers.base import register
from dpviz.model.answers.pictures import bars_json, columns_of, factors_of, scale_of, strips_json
from dpviz.model.answers.reading import LARGEST_VIEW, Axis, BinLabels, Packed, Points, Reading, View
from dpviz.model.answers.values import rows_or, whole_sum
from dpviz.model.domain import Domain
from dpviz.model.linear import Query
from dpviz.model.question import Question

MOST_SUMMED: Final = 1 << 62
"""Sums of whole numbers of 64 bits stay below this, or are not made in 64 bits."""

READABLE: Final = 2_048
"""Up to this many values a saved table lists them as texts; a longer one packs them as 64-bit integers, base64."""


@register
@dataclass(frozen=True, eq=False)
class Table(AdditiveCounts):
    """One released count per bin of the domain, in the domain's order."""

    kind: ClassVar[str] = "table"
    adds_rows: ClassVar[bool] = True
    values: NDArray[np.int64]

    def pack(self) -> Packed:
        return Packed({}, {"values": self.values})

    @classmethod
    def unpack(cls, packed: Packed) -> Table:
        values = packed.arrays["values"]
        if values.ndim != 1 or values.dtype.kind not in "iu" or len(packed.arrays) != 1:
            raise ReleaseFormat.damaged("a table is one column of whole numbers", "other arrays")
        return cls(values.astype(np.int64, copy=False))

    def to_json(self) -> dict[str, Any]:
        """The form in which tables have always been saved."""
        if len(self.values) > READABLE:
            packed = self.values.astype("<i8").tobytes()
            return {"kind": self.kind, "packed": base64.b64encode(packed).decode()}
        return {"kind": self.kind, "values": [str(value) for value in self.values.tolist()]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Table:
        if "packed" in data:
            return cls(np.frombuffer(base64.b64decode(data["packed"], validate=True), dtype="<i8").astype(np.int64))
        return cls(np.array([int(value) for value in data["values"]], dtype=np.int64))

    def cut_up(self, by: Domain, domain: Domain) -> list[Table]:
        return [Table(values) for values in np.split(self.values, by.size)]

    def fits(self, question: Question, max_items: int | None) -> bool:
        return question.domain.declared and len(self.values) == question.bins

    def axis(self, reading: Reading) -> Axis:
        domain = reading.question.domain
        return Axis(columns_of(reading.question), "bin", BinLabels(domain), domain, f"{len(self.values):,}")

    def point(self, reading: Reading, label: object) -> int:
        return reading.question.domain.index(label)

    def points_of_range(self, reading: Reading, labels: range) -> range | None:
        return reading.question.domain.run(labels)

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NDArray[np.int64]:
        self._reader(reader)
        picked: NDArray[np.int64] = self.values[rows_or(points, len(self.values))]
        return picked

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction:
        """A range of bins is read as one piece."""
        self._reader(reader)
        return sum((weight * whole_sum(self._of(points)) for points, weight in query.parts), Fraction(0))

    def running_counts(self, reading: Reading, bins: range, reader: str) -> NDArray[np.int64] | None:
        self._reader(reader)
        values = self.values[bins.start : bins.stop]
        sums: NDArray[np.int64] = np.cumsum(values)
        return sums if np.abs(values).max() <= MOST_SUMMED // len(values) else None

    def reaches(self, query: Query, top: int) -> bool:
        """Whether a value of a query stands at the public top, or above."""
        return any(bool((self._of(points) >= top).any()) for points, _ in query.parts)

    def _of(self, points: Sequence[Any]) -> NDArray[np.int64]:
        piece = slice(points.start, points.stop) if isinstance(points, range) else list(points)
        picked: NDArray[np.int64] = self.values[rows_or(piece, len(self.values))]
        return picked

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        domain, drawn = reading.question.domain, len(self.values) <= LARGEST_VIEW
        factors = factors_of(domain)
        return View(
            kind="product" if factors else "histogram" if drawn else "large",
            header={
                "axis": columns_of(reading.question),
                "columns": list(domain.columns),
                **scale_of(domain),
                **factors,
                "bins": str(len(self.values)),
                "size": domain.size_text,
                "sparse": False,
                "lookup": False,
                "labels": domain.labels if drawn else [],
                "short_labels": domain.short_labels if drawn else [],
                "list": None,
                "bars": bars_json(self, reading, betas),
                "strips": strips_json(self, reading),
            },
            arrays={"values": self.values} if drawn else {},
        )


protect_module(vars())
