"""Shares of all counts up to each bin in order, with intervals that hold for all of them at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final

from dpviz.boundary import protect_module
from dpviz.exact import ceil_to, floor_to
from dpviz.model.asking import FINE, MOST_ASKED, RATIO, ratio
from dpviz.model.between import Enclosed, between
from dpviz.model.derived import Derived, DerivedTable
from dpviz.model.in_order import InOrder
from dpviz.model.linear import NONE, Query

MOST_TESTED: Final = 256
"""The most bins that are asked about where each takes a law of its own."""

ALL: Final = Fraction(1)

FEW: Final = 64
"""With so many at most, the ends of each are its law's; with more, exponential bounds where these are known."""


@dataclass(frozen=True)
class ShareBand:
    """Shares up to some of the bins, between ends that hold for all at once.

    places  of the bins, without the last of all, the share of which is 1
    shares  the values, as they were released
    low     the lower ends, which never fall, as the upper ones
    """

    places: Sequence[int]
    shares: Sequence[Fraction | Enclosed]
    low: Sequence[Fraction]
    high: Sequence[Fraction]
    rule: str

    def quantile_ends(self, q: Fraction, last: int) -> tuple[int, int]:
        """The first and the last place that a q-quantile may have, for all q at once; `last` is that of the last bin.

        Let x be a q-quantile: at most the share q lies below x, and at least q up to it. A place with an upper end
        below q lies below x. Of the places with a lower end above q none lies below x.
        """
        below = bisect_left(self.high, q)
        above = bisect_right(self.low, q)
        first = self.places[below - 1] + 1 if below else 0
        return first, self.places[above] if above < len(self.places) else last


class CumulativeShares(InOrder):
    """Shares of all counts up to each bin."""

    noun = "a cumulative share"

    def share_band(self) -> ShareBand:
        """The shares up to the bins, or to some of them, with the ends of all."""
        return self._of_each_bin() or self._of_some_bins()

    def remarks_on(self, band: ShareBand) -> list[str]:
        """The facts that a reader of the band must know, as sentences."""
        remarks = list(self.declared)
        if self.may_be_empty:
            remarks.append("Nothing may be counted at all; then there are no shares.")
        if any(low > high for low, high in zip(band.low, band.high, strict=True)):
            remarks.append("No curve lies within the intervals: the noise was larger than they allow for.")
        return remarks

    def table(self) -> DerivedTable:
        band = self.share_band()
        remarks = self.remarks_on(band)
        one = Fraction(1)
        rows = [*zip(band.places, band.shares, band.low, band.high, strict=True), (len(self.bins) - 1, one, one, one)]
        return DerivedTable(tuple(self._share(*row, band.rule, tuple(remarks)) for row in rows))

    def _share(
        self,
        place: int,
        share: Fraction | Enclosed,
        low: Fraction,
        high: Fraction,
        rule: str,
        remarks: tuple[str, ...],
    ) -> Derived:
        reading = self.subject.reading
        up_to = self.subject.answer.label(reading, self.bins[place])
        return Derived(
            kind="share",
            what=f"{reading.question.domain.columns_text}: up to {up_to}",
            value=share,
            low=low,
            high=high,
            how="bound",
            rule=rule,
            off=None,
            beta=self.beta,
            among="all",
            bias=RATIO,
            paid=self.subject.paid,
            nouns=reading.limited.nouns(several=True),
            remarks=remarks,
            empty=low > high,
        )

    def _of_each_bin(self) -> ShareBand | None:
        """Of all bins, where their noise is independent and of one law."""
        last, counts = len(self.bins) - 1, self.subject.running_counts(self.bins, self.reader)
        noise = None if counts is None or not last else self.subject.error(self.every, self.reader).bin_noise
        if counts is None or noise is None or last > MOST_ASKED:
            return None
        band = noise.band(counts, self.beta)
        low, high = ([one * FINE for one in end.tolist()] for end in (band.low, band.high))
        *parts, whole = (between(count) for count in counts.tolist())
        return ShareBand(range(last), [ratio(part, whole) for part in parts], low, high, band.rule)

    def _of_some_bins(self) -> ShareBand:
        """Of bins that are evenly spread, from the ends of the sum up to each and of the rest."""
        last, number = len(self.bins) - 1, min(len(self.bins) - 1, MOST_TESTED - 1)
        places = [last * step // (number + 1) for step in range(1, number + 1)]
        whole = between(self.subject.value(self.every, self.reader))
        shares, low, high = [], [], []
        for place in places:
            query = self.up_to(place)
            value = between(self.subject.value(query, self.reader))
            part, rest = self._ends(query, number, value), self._ends(self.beyond(place), number)
            shares.append(ratio(value, whole))
            low.append(floor_to(_share(part[0], rest[1], NONE), FINE))
            high.append(ceil_to(_share(part[1], rest[0], ALL), FINE))
        ends = list(accumulate(low, max)), list(accumulate(high[::-1], min))[::-1]
        rule = f"a sum and that of the rest, each at beta / 2; union bound over {number:,} shares"
        return ShareBand(places, shares, *ends, rule)

    def _ends(
        self, query: Query, number: int, value: Enclosed | None = None
    ) -> tuple[Fraction | None, Fraction | None]:
        """Between which a sum lies, at beta / 2 for this one of so many; no sum is below 0."""
        value = between(self.subject.value(query, self.reader)) if value is None else value
        error = self.subject.error(query, self.reader)
        level = self.beta / (2 * number)
        far = error.far_ends(level) if number > FEW else None
        if far is not None:
            below: Fraction | None = Fraction(far[0])
            above: Fraction | None = Fraction(far[1])
        else:
            ends = error.ends(level)
            below, above = (None if end is None else end.value for end in ends)
        least = NONE if below is None else max(NONE, value.low - below)
        return least, None if above is None else max(NONE, value.high + above)


def _share(part: Fraction | None, rest: Fraction | None, otherwise: Fraction) -> Fraction:
    """The share of a part and a rest; of both 0, or of one that nothing bounds, the widest."""
    return otherwise if part is None or rest is None or not part + rest else part / (part + rest)


protect_module(vars())
