"""Questions to the order of bins about the numbers that were asked: quantiles, means and cumulative shares, from counts
that a limit on bins cuts and a profile of their users.

Of a user in j of K bins, d = (j - c)+ pairs of user and bin are lost, each in another bin. Up to a bin x at most
min(d, x + 1) of them are lost, and at least d less the number of bins beyond. A lost pair adds 1 - q to A(x) - q n
where its bin is up to x, and -q where it is beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.exact import Number, ceil_to, floor_to
from dpviz.fitting.inverted_tests import Reached, by_halves, first_accepted, halvings
from dpviz.model.asking import FINE, RATIO, ratio
from dpviz.model.between import between
from dpviz.model.closed_ratios import Both, RatioTest
from dpviz.model.closing import HALF, WHOLE, ClosedCounts
from dpviz.model.cumulative import MOST_TESTED
from dpviz.model.derived import Derived, DerivedTable, Paid
from dpviz.model.in_order import InOrder
from dpviz.model.inverted_quantiles import WALKED, InvertedQuantiles, few_quantiles, share_of, shares_of
from dpviz.model.linear import NONE, Bias, Query
from dpviz.model.means import OrderedMeans
from dpviz.model.quantiles import DerivedQuantile, DerivedQuantiles

COUNTED_BIN: Final = "The bin that is named is that of what was counted within the limit."

INVERTED: Final = "the test of one sum of counts and classes, inverted"
FIELLER: Final = "Fieller's test of counts and classes, inverted"

MEAN: Final = Bias("the value is the mean of what was counted within the limit")


class ClosedOrder(InOrder):
    """One way of asking about the order of bins, for the numbers that were asked."""

    noun = "a quantile"

    def __init__(self, ends: ClosedCounts, paid: tuple[Paid, ...], beta: Number, among: Any) -> None:
        super().__init__(ends.counts, beta, among, ends.reader)
        self.closed, self.paid = ends, paid
        self.lost = ends.lost_bins()

    def check_limits(self) -> None:
        """Nothing to refuse: the profile says what limits leave out."""

    @property
    def side(self) -> Fraction:
        """How often one end of one statement may fail."""
        return self.level * HALF

    @property
    def remarks(self) -> tuple[str, ...]:
        empty = ("Nothing may be counted at all; then every bin is a quantile.",) if self.may_be_empty else ()
        return (*self.closed.remarks, *empty)

    @property
    def union(self) -> str:
        return f"; union bound over {self.among:,} questions" if isinstance(self.among, int) and self.among > 1 else ""

    def losses(self, first: int, stop: int) -> tuple[list[int], list[int]]:
        """The least and the most pairs that a user of each class loses in the bins of these places."""
        others = self.closed.size - (stop - first)
        return [max(0, low - others) for low, _ in self.lost], [min(high, stop - first) for _, high in self.lost]

    def classes(self, weights: Sequence[Fraction]) -> Query:
        """A weighted sum of the classes of the profile."""
        return Query.of(*((range(at, at + 1), weight) for at, weight in enumerate(weights)))


class CountedQuantiles(InvertedQuantiles):
    """Quantiles of what was counted within the limit."""

    def check_limits(self) -> None:
        """Nothing to refuse: the quantile is one of what was counted."""


class CountedMeans(OrderedMeans):
    """The mean of what was counted within the limit."""

    def check_limits(self) -> None:
        """Nothing to refuse: the mean is one of what was counted."""


def quantiles_of(
    ends: ClosedCounts, paid: tuple[Paid, ...], q: Any, beta: Number, among: Any
) -> DerivedQuantile | DerivedQuantiles:
    """One quantile of what was asked, or several."""
    asked = ClosedQuantiles(ends, paid, beta, among)
    if not isinstance(q, list):
        return asked.quantile(share_of(q))
    return DerivedQuantiles(tuple(asked.quantile(one) for one in shares_of(few_quantiles(q))))


class ClosedQuantiles(ClosedOrder):
    """Quantiles of what was asked."""

    def quantile(self, q: Fraction) -> DerivedQuantile:
        """Return a quantile of what was counted with the interval for what was asked."""
        counted = CountedQuantiles(self.subject, self.beta, self.among, self.reader).quantile(q)
        domain, label, last = self.subject.reading.question.domain, self.subject.answer.label, len(self.bins) - 1
        low, high = self._first(q, 1, last), last - self._first(q, 0, last)
        said = [COUNTED_BIN]
        if low > high:
            said.append("No bin lies within the error bar: the noise was larger than it allows for.")
        return DerivedQuantile(
            q=q,
            column=domain.columns_text,
            label=counted.label,
            low_label=label(self.subject.reading, self.bins[low]),
            high_label=label(self.subject.reading, self.bins[high]),
            low=domain.numbers_of(self.bins[low])[0],
            high=domain.numbers_of(self.bins[high])[1],
            how="bound",
            rule=f"{INVERTED}: {self.closed.rule(*self._sum(0, q, 1))}{self.union}",
            beta=self.beta,
            among=self.among,
            paid=self.paid,
            nouns=self.subject.reading.limited.nouns(several=True),
            remarks=(*self.remarks, *said),
        )

    def _sum(self, place: int, q: Fraction, side: int) -> Both:
        """A(x) - q n of what was asked, at most (side 1) or at least."""
        first, middle, stop = self.bins.start, self.bins.start + place + 1, self.bins.stop
        counts = Query.of((range(first, middle), 1 - q), (range(middle, stop), -q))
        below, beyond = self.losses(0, place + 1), self.losses(place + 1, len(self.bins))
        weights = [(1 - q) * up - q * down for up, down in zip(below[side], beyond[1 - side], strict=True)]
        return counts, self.classes(weights)

    def _first(self, q: Fraction, side: int, last: int) -> int:
        """How many bins from the end of a side are rejected: as too low (1), as too high (0)."""
        tests = max(1, halvings(last)) if last >= WALKED else 1

        def rejected(place: int) -> bool:
            at = place if side else last - place - 1
            end = self.closed.end(*self._sum(at, q, side), side, self.side / tests)
            return end is not None and (end < 0 if side else end > 0)

        found: Reached = by_halves(rejected, last) if last >= WALKED else first_accepted(rejected, last)
        return found.place


class ClosedMeans(ClosedOrder):
    """The mean of what was asked."""

    noun = "a mean"

    def mean(self) -> Derived:
        """Return the mean of what was counted with the interval for what was asked."""
        counted = CountedMeans(self.subject, self.beta, self.among, self.reader).mean()
        edges = [self.subject.reading.question.domain.numbers_of(place) for place in self.bins]
        least = [low if low is not None else high for low, high in edges]
        most = [high if high is not None else low for low, high in edges]
        below, above = edges[0][0] is None, edges[-1][1] is None
        low = None if below else self._end([one for one in least if one is not None], 0)
        high = None if above else self._end([one for one in most if one is not None], 1)
        none = ("No mean lies within the error bar: the noise was larger than it allows for.",)
        empty = low is not None and high is not None and low > high
        return Derived(
            kind="mean",
            what=counted.what,
            value=counted.value,
            low=low,
            high=high,
            how="bound",
            rule=f"{FIELLER}: {self.closed.rule(*self._sum(least, NONE, 1))}{self.union}",
            off=None,
            beta=self.beta,
            among=self.among,
            bias=MEAN,
            paid=self.paid,
            nouns=counted.nouns,
            remarks=(*self.remarks, *(none if empty else ())),
            empty=empty,
        )

    def _sum(self, numbers: Sequence[Any], mean: Fraction, side: int) -> Both:
        """The sum of numbers less the mean over what was asked, at most (side 1) or at least."""
        parts = ((range(at, at + 1), number - mean) for at, number in zip(self.bins, numbers, strict=True))
        ends = list(accumulate(sorted(numbers, reverse=side == 1), initial=NONE))
        known = len(self.bins) == self.closed.size
        weights = []
        for low, high in self.lost:
            most = min(high, len(self.bins))
            exact = known and low == high
            weights.append(ends[most] - most * mean if exact else most * ((numbers[-1], numbers[0])[1 - side] - mean))
        return Query.of(*parts), self.classes(weights)

    def _end(self, numbers: Sequence[Fraction], side: int) -> Fraction:
        first, last = numbers[0], numbers[-1]
        if first == last:
            return first
        whole = Query.of((self.bins, 1)), self.classes([Fraction(min(high, len(self.bins))) for _, high in self.lost])
        found = RatioTest(self.closed, lambda mean: self._sum(numbers, mean, side), whole, (first, last), side)
        end = found.end_at(self.side)
        return floor_to(end, FINE) if side == 0 else ceil_to(end, FINE)


class ClosedShares(ClosedOrder):
    """Shares of all up to each bin, of what was asked, all at once."""

    noun = "a cumulative share"

    def table(self) -> DerivedTable:
        """Return one share for each bin, or for some that are evenly spread, and ends that never fall."""
        last, number = len(self.bins) - 1, min(len(self.bins) - 1, MOST_TESTED - 1)
        places = [last * step // (number + 1) for step in range(1, number + 1)] if number < last else list(range(last))
        level, low, high = self.beta * HALF * HALF / max(1, number), [], []
        for place in places:
            part = self._part(0, place + 1, level)
            rest = self._part(place + 1, len(self.bins), level)
            low.append(_share(part[0], rest[1], NONE))
            high.append(_share(part[1], rest[0], WHOLE))
        whole = between(self.subject.value(self.every, self.reader))
        values = [ratio(between(self.subject.value(self.up_to(place), self.reader)), whole) for place in places]
        lows, highs = list(accumulate(low, max)), list(accumulate(high[::-1], min))[::-1]
        rows = [*zip(places, values, lows, highs, strict=True), (last, WHOLE, WHOLE, WHOLE)]
        rule = f"a sum and that of the rest, each at beta / 2; union bound over {number:,} shares"
        return DerivedTable(tuple(self._row(*row, rule) for row in rows))

    def _part(self, first: int, stop: int, level: Fraction) -> tuple[Fraction | None, Fraction | None]:
        """Between which the number asked of the bins of these places lies."""
        counts = Query.of((self.bins[first:stop], 1))
        most = self.classes([Fraction(up) for up in self.losses(first, stop)[1]])
        low, high = self.closed.end(counts, Query(()), 0, level), self.closed.end(counts, most, 1, level)
        return None if low is None else max(NONE, low), None if high is None else max(NONE, high)

    def _row(self, place: int, share: Any, low: Fraction, high: Fraction, rule: str) -> Derived:
        reading = self.subject.reading
        up_to = self.subject.answer.label(reading, self.bins[place])
        return Derived(
            kind="share",
            what=f"{reading.question.domain.columns_text}: up to {up_to}",
            value=share,
            low=floor_to(low, FINE),
            high=ceil_to(high, FINE),
            how="bound",
            rule=rule,
            off=None,
            beta=self.beta,
            among="all",
            bias=RATIO,
            paid=self.paid,
            nouns=reading.limited.nouns(several=True),
            remarks=self.remarks,
            empty=low > high,
        )


def _share(part: Fraction | None, rest: Fraction | None, otherwise: Fraction) -> Fraction:
    """The share of a part and a rest; of both 0, or of one that nothing bounds, the widest."""
    return otherwise if part is None or rest is None or not part + rest else part / (part + rest)


protect_module(vars())
