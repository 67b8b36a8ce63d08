"""A set: the items that stood out, in no order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.model.answers import lists
from dpviz.model.answers.base import Answer, register
from dpviz.model.answers.labels import (
    Labels,
    are_labels,
    ascending,
    by_column,
    labels_json,
    labels_of,
    short_labels,
    shown_labels,
)
from dpviz.model.answers.pictures import columns_of
from dpviz.model.answers.ranked import NOTHING, counted, listed_view
from dpviz.model.answers.reading import Axis, Listing, Packed, Points, Reading, Values, View
from dpviz.model.question import Question


@register
@dataclass(frozen=True, eq=False)
class Chosen(Answer):
    """A released set of labels, ascending: their order says nothing."""

    kind: ClassVar[str] = "chosen"
    chart: ClassVar[str] = "list"
    items: Labels

    def pack(self) -> Packed:
        """A set is short: all of it stands in the header."""
        return Packed(labels_json(self.items, "items"))

    @classmethod
    def unpack(cls, packed: Packed) -> Chosen:
        items = labels_of(packed.header, "items")
        if not ascending(items):
            raise ReleaseFormat.damaged("a set names each item once, ascending", f"{len(items)} items")
        return cls(items)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.pack().header}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Chosen:
        return cls.unpack(Packed(dict(data)))

    def fits(self, question: Question, max_items: int | None) -> bool:
        return max_items is not None and len(self.items) <= max_items and are_labels(self.items, question.domain)

    @property
    def has_values(self) -> bool:
        return False

    def axis(self, reading: Reading) -> Axis:
        return Axis(columns_of(reading.question), "item", shown_labels(self.items, reading.question.domain))

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return {**super().rows(reading), **by_column(self.items, reading.question.domain)}

    def lines(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return super().rows(reading)

    def point(self, reading: Reading, label: object) -> NoReturn:
        self._refuse("an item that is not listed has no value, so none is looked up", "read release.items")

    def _refuse_sums(self) -> NoReturn:
        self._refuse("this answer names items and has no values to add up", "read release.items")

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> Values:
        self._refuse("this answer names items and has no values", "read release.items")

    def listing(self, reading: Reading) -> Listing:
        domain, most = reading.question.domain, reading.max_items or 0
        return Listing(shown_labels(self.items, domain), False, False, most, short=short_labels(self.items, domain))

    def sureness(self, reading: Reading, beta: Fraction) -> tuple[str, ...]:
        """The facts that are certain of named items, and of all others."""
        return lists.sureness(reading, beta, "set")

    def rank_errors(self, reading: Reading, beta: Fraction) -> dict[str, Sequence[Any]]:
        """Bound how far below the true count of the last rank a named item may lie."""
        columns = lists.below(reading, beta, len(self.items))
        return {name: column for name, column in columns.items() if name == lists.ALL}

    def sentence(self, reading: Reading) -> str:
        came = len(self.items)
        return f"{counted(came)} stood out enough; their order says nothing." if came else f"{NOTHING}."

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        return listed_view(self, reading, betas, self.listing(reading), {})


protect_module(vars())
