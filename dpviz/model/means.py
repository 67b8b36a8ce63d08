"""OrderedMeans of the numbers in ordered bins, with intervals by Fieller's test.

Let every number of a bin x count as v_x, from v_0 to v_m, and w_x = (v_x - v_0) / (v_m - v_0). The mean is v_0 + p (v_m
- v_0), where p is the share that A, the sum of all w_x a_x, has of A and B, the sum of all (1 - w_x) a_x. Neither is
below 0, so p is enclosed as any share is (`fitting/shares.py`), though A and B depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpviz.boundary import protect_module
from dpviz.errors import DomainError
from dpviz.exact import ceil_to, floor_to, text
from dpviz.fitting.shares import Pair, shares_of_pair
from dpviz.fitting.sums import NoiseSum
from dpviz.model.asking import FINE, RATIO, ratio
from dpviz.model.between import Enclosed, between
from dpviz.model.derived import Derived
from dpviz.model.error import How
from dpviz.model.in_order import InOrder
from dpviz.model.linear import NONE, Query

MOST_WEIGHED: Final = 4_096
"""A mean is one of so many bins at most, each of which has a weight of its own."""

FIELLER: Final = "Fieller's test with the law of the noise, inverted"


@dataclass(frozen=True)
class _Enclosed:
    """The ends of a mean and how they are known."""

    low: Fraction
    high: Fraction
    how: How
    rule: str
    off: Fraction | None = None
    empty: bool = False


class OrderedMeans(InOrder):
    """The mean of the numbers in the bins."""

    noun = "a mean"

    def mean(self) -> Derived:
        reading = self.subject.reading
        domain = reading.question.domain
        if len(self.bins) > MOST_WEIGHED:
            rule = f"a mean is one of {MOST_WEIGHED:,} bins at most"
            raise DomainError.of(f"{len(self.bins):,} bins", rule, "ask for the median, or for fewer bins")
        ends = [domain.numbers_of(place) for place in self.bins]
        least = [low for low in (one if one is not None else other for one, other in ends) if low is not None]
        most = [high for high in (other if other is not None else one for one, other in ends) if high is not None]
        if len(least) < len(ends):
            raise DomainError.of(domain.kind, "a mean needs bins of numbers", "ask for the median")
        below, above = ends[0][0] is None, ends[-1][1] is None
        low = self._enclosed(least)
        high = low if least == most else self._enclosed(most)
        remarks = []
        if self.may_be_empty:
            remarks.append("Nothing may be counted at all, so any mean is possible.")
        if low.empty or high.empty:
            remarks.append("No mean lies within the error bar: the noise was larger than it allows for.")
        label = self.subject.answer.label
        for place, counted, is_open in ((0, most[0], below), (-1, least[-1], above)):
            if is_open:
                named = label(reading, self.bins[place])
                remarks.append(f"The value counts {named} as {text(counted)}; on that side nothing bounds the mean.")
        middles = [(one + other) / 2 for one, other in zip(least, most, strict=True)]
        if any(one != other for one, other in ends[below : len(ends) - above]):
            remarks.append("The value takes the middle of each bin.")
        known = (low, high)
        number = self.among if isinstance(self.among, int) else 1
        ways = " and ".join(dict.fromkeys(one.rule for one in known))
        off = None if number > 1 or any(one.off is None for one in known) else max(one.off or NONE for one in known)
        return Derived(
            kind="mean",
            what=f"{domain.columns_text}: mean of the {reading.limited.nouns(several=True)}",
            value=self._value(middles),
            low=None if below else low.low,
            high=None if above else high.high,
            how="bound" if off is None else "numerical",
            rule=ways if number == 1 else f"{ways}; union bound over {number:,} questions",
            off=off,
            beta=self.beta,
            among=self.among,
            bias=RATIO,
            paid=self.subject.paid,
            nouns=reading.limited.nouns(several=True),
            remarks=(*remarks, *self.declared),
            empty=low.empty or high.empty,
        )

    # ------------------------------------------------------------ one assignment of numbers to bins

    def _value(self, numbers: Sequence[Fraction]) -> Fraction | Enclosed:
        first, width = numbers[0], numbers[-1] - numbers[0]
        if not width:
            return first
        seen = between(self.subject.value(self._weighed(numbers, Fraction(1), NONE), self.reader))
        share = between(ratio(seen, between(self.subject.value(self.every, self.reader))))
        low, high = first + width * share.low, first + width * share.high
        return low if low == high else Enclosed(low, high)

    def _weighed(self, numbers: Sequence[Fraction], x: Fraction, y: Fraction) -> Query:
        """x A + y B."""
        first, width = numbers[0], numbers[-1] - numbers[0]
        shares = ((number - first) / width for number in numbers)
        return Query.of(
            *((range(at, at + 1), share * x + (1 - share) * y) for at, share in zip(self.bins, shares, strict=True))
        )

    def _enclosed(self, numbers: Sequence[Fraction]) -> _Enclosed:
        first, width = numbers[0], numbers[-1] - numbers[0]
        if not width or self.may_be_empty:
            rule = "all numbers are the same" if not width else "a mean of rows of which there may be none"
            return _Enclosed(first, first + width, "bound", rule)
        found = self._fieller(numbers) or self._rectangle(numbers)
        off = None if found.off is None else found.off * width
        ends = first + width * floor_to(found.low, FINE), first + width * ceil_to(found.high, FINE)
        return _Enclosed(*ends, found.how, found.rule, off, found.empty)

    def _fieller(self, numbers: Sequence[Fraction]) -> _Enclosed | None:
        """The share by inversion of its test, where the errors of both sums have an exact law."""
        one = Fraction(1)
        queries = self._weighed(numbers, one, NONE), self._weighed(numbers, NONE, one)
        values = [between(self.subject.value(query, self.reader)) for query in queries]
        if any(value.low != value.high for value in values):
            return None
        if any(self.subject.error(query, self.reader).distribution is None for query in queries):
            return None

        def law(x: Fraction, y: Fraction) -> NoiseSum:
            found = self.subject.error(self._weighed(numbers, x, y), self.reader).distribution
            assert found is not None
            return found

        found = shares_of_pair(Pair(values[0].low, values[1].low, law), self.level)
        if found is None:
            return None
        off = None if found.undecided else found.off
        return _Enclosed(found.low, found.high, "bound" if off is None else "numerical", FIELLER, off, found.empty)

    def _rectangle(self, numbers: Sequence[Fraction]) -> _Enclosed:
        """The share from intervals of both sums, each at half the level: it grows with one and falls with the other."""
        bounds = []
        for x, y in ((Fraction(1), NONE), (NONE, Fraction(1))):
            query = self._weighed(numbers, x, y)
            value, error = between(self.subject.value(query, self.reader)), self.subject.error(query, self.reader)
            below, above = error.ends(self.level / 2)
            low = NONE if below is None else max(NONE, value.low - below.value)
            bounds.append((low, None if above is None else max(NONE, value.high + above.value), error.rule))
        (low_a, high_a, rule), (low_b, high_b, _) = bounds
        low = NONE if not low_a or high_b is None else low_a / (low_a + high_b)
        high = Fraction(1) if high_a is None or not low_b else high_a / (high_a + low_b)
        return _Enclosed(low, high, "bound", f"two weighted sums, each at beta / 2: {rule}")


protect_module(vars())
