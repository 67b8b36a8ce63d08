"""A ranked list: the largest items in the order they were drawn, perhaps with an honest "no more"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import text
from dpviz.model.answers import lists
from dpviz.model.answers.additive import AdditiveCounts
from dpviz.model.answers.base import Answer, register
from dpviz.model.answers.labels import (
    Labels,
    apart,
    are_labels,
    by_column,
    labels_json,
    labels_of,
    short_labels,
    shown_labels,
)
from dpviz.model.answers.pictures import bars_json, columns_of
from dpviz.model.answers.reading import Axis, Listing, Packed, Points, Reading, View
from dpviz.model.answers.values import rows_or
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorValue
from dpviz.model.question import Question

NOTHING = "No item stood out enough"
BIASED = "Values of items that were chosen by them lie too high on average."
BOTTOM = "⊥ (no more)"


@register
@dataclass(frozen=True, eq=False)
class Ranked(AdditiveCounts):
    """Released labels in the order they were drawn, largest first, and whether the list says that it ended.

    items   bin numbers of a declared domain, or key texts
    ended   the bottom symbol was drawn: "no more"; it counts as a symbol and stands after the last item
    values  noisy counts of the items, where the mechanism releases them
    kbar    out of how many of the largest they were drawn, where the mechanism chose it: one more step was spent on it
    """

    kind: ClassVar[str] = "ranked"
    chart: ClassVar[str] = "list"
    items: Labels
    ended: bool
    values: tuple[int, ...] | None = None
    kbar: int | None = None

    @property
    def symbols(self) -> int:
        """How many symbols were returned: the items, and the bottom symbol where it came."""
        return len(self.items) + self.ended

    def pack(self) -> Packed:
        """A list is short: all of it stands in the header."""
        header: dict[str, Any] = {**labels_json(self.items, "items"), "ended": self.ended}
        if self.values is not None:
            header["values"] = [str(value) for value in self.values]
        if self.kbar is not None:
            header["kbar"] = str(self.kbar)
        return Packed(header)

    @classmethod
    def unpack(cls, packed: Packed) -> Ranked:
        data = packed.header
        items, ended = labels_of(data, "items"), data["ended"]
        values = tuple(int(value) for value in data["values"]) if "values" in data else None
        kbar = int(data["kbar"]) if "kbar" in data else None
        if len(set(items)) != len(items) or not isinstance(ended, bool):
            raise ReleaseFormat.damaged(
                "a ranked answer names each item once and says if it ended", f"{len(items)} items"
            )
        if values is not None and len(values) != len(items):
            raise ReleaseFormat.damaged("a ranked answer has one value per item, or none", f"{len(values)} values")
        return cls(items, ended, values, kbar)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.pack().header}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ranked:
        return cls.unpack(Packed(dict(data)))

    def cut_up(self, by: Domain, domain: Domain) -> list[Ranked]:
        """Items in their order in each part. That the list ended, it says of all parts."""
        return [Ranked(items, self.ended) for _, items in apart(self.items, by, domain)]

    def fits(self, question: Question, max_items: int | None) -> bool:
        return max_items is not None and len(self.items) <= max_items and are_labels(self.items, question.domain)

    def complete(self, max_items: int, *, bottom: bool = True, valued: bool = False) -> bool:
        """Whether the list ends early exactly where it says so, and has values exactly where they are released.

        bottom  whether the mechanism draws a bottom symbol; without one no list is short
        """
        short = len(self.items) < max_items
        return self.ended == short and (bottom or not short) and self.has_values == valued

    @property
    def has_values(self) -> bool:
        return self.values is not None

    def axis(self, reading: Reading) -> Axis:
        return Axis(columns_of(reading.question), "item", shown_labels(self.items, reading.question.domain))

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return {**self.lines(reading), **by_column(self.items, reading.question.domain)}

    def lines(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return {"rank": range(1, len(self.items) + 1), **super().rows(reading)}

    def point(self, reading: Reading, label: object) -> NoReturn:
        self._refuse(
            "an item that is not listed has no value, so none is looked up",
            "read release.to_frame()" if self.has_values else "read release.items",
        )

    def query_point(self, reading: Reading, label: object) -> int:
        """The place of a listed item, from 0."""
        if self.values is None:
            self._refuse("this answer names items and has no values to add up", "read release.items")
        point = reading.question.domain.point(label)
        if point not in self.items:
            self._refuse("an item that is not listed has no value to add", "name listed ones: release.items")
        return list(self.items).index(point)

    def span(self, reading: Reading, low: object, high: object) -> NoReturn:
        self._refuse("a list has no ranges of bins", "name listed items: release.sum([...])")

    def all_points(self, reading: Reading) -> range:
        """The listed items, where they have values."""
        if self.values is None:
            self._refuse("this answer names items and has no values to add up", "read release.items")
        return range(len(self.items))

    def label(self, reading: Reading, point: int) -> str:
        return shown_labels(self.items, reading.question.domain)[point]

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NDArray[np.int64]:
        """The noisy counts; a point is a place in the list, from 0."""
        self._reader(reader)
        if self.values is None:
            self._refuse("this answer names items and has no values", "read release.items")
        values = np.array(self.values, dtype=np.int64)
        picked: NDArray[np.int64] = values[rows_or(points, len(values))]
        return picked

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        return super().bars(reading, beta) if self.has_values else (None, None)

    def listing(self, reading: Reading) -> Listing:
        """Where all parts share the places, a part has as many as it filled."""
        domain = reading.question.domain
        items, short = shown_labels(self.items, domain), short_labels(self.items, domain)
        most = len(items) if reading.error.among else reading.max_items or 0
        return Listing(items, True, self.ended, most, self.values, self.kbar, short)

    def sureness(self, reading: Reading, beta: Fraction) -> tuple[str, ...]:
        """Describe how far down the list reaches, and the meaning of its end."""
        return lists.sureness(reading, beta, "ended" if self.ended else "filled")

    def rank_errors(self, reading: Reading, beta: Fraction) -> dict[str, Sequence[Any]]:
        """Bound how far below the true count of the last rank each item may lie: in its place alone, and in any."""
        return lists.below(reading, beta, len(self.items))

    def sentence(self, reading: Reading) -> str:
        """The statement that the list makes as a whole, with the meaning of "no more"."""
        came, most, among = len(self.items), reading.max_items or 0, reading.error.among
        if among and self.ended:
            return f"No more: ⊥. The lists share {most:,} places, and ended because no further item stood out enough."
        if among:
            return f"{came:,} of the {most:,} places {among} were filled here."
        if not self.ended:
            sentence = f"{lists.filled(came)}." if came == most else f"{came:,} of {most:,} places were filled."
        elif not came:
            sentence = f"Only ⊥ (no more): {NOTHING[:1].lower()}{NOTHING[1:]}."
        else:
            end = f"The list ended after {came:,} of {most:,}, because no further item stood out enough."
            sentence = f"No more: ⊥. {end}"
        chosen = "" if self.kbar is None else f" They are of the {self.kbar:,} most common, a number chosen privately."
        return sentence + chosen

    def remark(self, reading: Reading) -> str:
        return BIASED if self.has_values else ""

    def last_row(self, reading: Reading) -> tuple[str, ...]:
        return (f"{len(self.items) + 1:,}", BOTTOM) if self.ended else ()

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        values = {} if self.values is None else {"values": self.read(reading)}
        return listed_view(self, reading, betas, self.listing(reading), values)


def listed_view(
    answer: Answer, reading: Reading, betas: Sequence[Fraction], listing: Listing, values: Mapping[str, NDArray[Any]]
) -> View:
    """The picture that the page draws of a list or a set."""
    domain = reading.question.domain
    return View(
        kind="ranked",
        header={
            "axis": columns_of(reading.question),
            "columns": list(domain.columns),
            "scale": domain.kind,
            "bins": str(len(listing.items)),
            "size": domain.size_text,
            "sparse": False,
            "lookup": False,
            "labels": list(listing.items),
            "short_labels": list(listing.short or listing.items),
            "list": {
                "places": str(listing.most),
                "ordered": listing.ordered,
                "ended": listing.ended,
                "sentence": answer.sentence(reading),
                "sure": {text(beta): list(answer.sureness(reading, beta)) for beta in betas},
            },
            "bars": bars_json(answer, reading, betas) if answer.has_values else {},
        },
        arrays=values,
    )


def counted(number: int) -> str:
    return f"{number:,} item" if number == 1 else f"{number:,} items"


protect_module(vars())
