"""The names of the bins that are large enough, of any number of them, without their counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, NoReturn

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import counted
from dpviz.model.answers.base import Answer, register
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
from dpviz.model.answers.pictures import columns_of
from dpviz.model.answers.ranked import listed_view
from dpviz.model.answers.reading import Axis, Listing, Packed, Points, Reading, Values, View
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.words import often, shown

LONG: Final = 1_000
"""An answer of more names is saved as a column, not as a text for each of them."""


@register
@dataclass(frozen=True, eq=False)
class KeySet(Answer):
    """Released labels of bins, ascending: their order says nothing, and their counts are not known.

    items  bin numbers of a declared domain, or key texts where the keys were not declared
    """

    kind: ClassVar[str] = "key set"
    chart: ClassVar[str] = "list"
    items: Labels

    def pack(self) -> Packed:
        columns = label_columns(self.items) if len(self.items) > LONG else None
        return Packed(labels_json(self.items, "items")) if columns is None else Packed({}, columns)

    @classmethod
    def unpack(cls, packed: Packed) -> KeySet:
        items = labels_in(packed.arrays) if packed.arrays else labels_of(packed.header, "items")
        if not ascending(items):
            raise ReleaseFormat.damaged("a set names each bin once, ascending", f"{len(items)} labels")
        return cls(items)

    def to_json(self) -> dict[str, Any]:
        packed = self.pack()
        return {"kind": self.kind, **(packed.to_json() if packed.arrays else packed.header)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KeySet:
        return cls.unpack(Packed.from_json(data) if "arrays" in data else Packed(dict(data)))

    def cut_up(self, by: Domain, domain: Domain) -> list[KeySet]:
        return [KeySet(items) for _, items in apart(self.items, by, domain)]

    def fits(self, question: Question, max_items: int | None) -> bool:
        return max_items is None and are_labels(self.items, question.domain)

    @property
    def has_values(self) -> bool:
        return False

    def axis(self, reading: Reading) -> Axis:
        domain = reading.question.domain
        labels, short = shown_labels(self.items, domain), partial(short_labels, self.items, domain)
        return Axis(columns_of(reading.question), "bin", labels, short=short)

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return {**super().rows(reading), **by_column(self.items, reading.question.domain)}

    def lines(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return super().rows(reading)

    def point(self, reading: Reading, label: object) -> NoReturn:
        self._refuse("this answer names bins and has no counts, so none is looked up", "read release.items")

    def _refuse_sums(self) -> NoReturn:
        self._refuse("this answer names bins and has no counts to add up", "read release.items")

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> Values:
        self._refuse("this answer names bins and has no counts", "read release.items")

    def listing(self, reading: Reading) -> Listing:
        domain = reading.question.domain
        items, short = shown_labels(self.items, domain), short_labels(self.items, domain)
        return Listing(items, False, False, len(items), short=short)

    def sureness(self, reading: Reading, beta: Fraction) -> tuple[str, ...]:
        """The counts from which on a bin is named, but for the chance beta, and for certain."""
        least, sure = reading.error.named(beta), reading.error.named(Fraction(0))
        if least is None or sure is None:
            return ()
        times, nouns = often(beta).replace(" in ", " times in "), reading.question.nouns(reading.unit)
        return (
            f"At least {times} a bin of {shown(least.value)} {nouns} is named, and one of {shown(sure.value)} always.",
            "A bin that is not named need not be empty.",
        )

    def sentence(self, reading: Reading) -> str:
        came = len(self.items)
        return f"{counted(came, 'bin')} named; their order says nothing." if came else "No bin is named."

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        return listed_view(self, reading, betas, self.listing(reading), {})


protect_module(vars())
