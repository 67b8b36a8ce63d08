"""Questions to the order of paid bins, free: quantiles, by inversion of a test of one linear query.

Let A(x) be the true count of the bins up to x, and n the count of all. A bin x is a q-quantile where
A(x - 1) <= q n <= A(x). So x is rejected as too low where the upper end of A(x) - q n, at beta / 2, is below 0, and as
too high where the lower end of A(x - 1) - q n is above 0. Both errors need one test of a true statement to be wrong: of
the first quantile, and of the last. No union over bins is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import kind_of, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import probability
from dpviz.fitting.inverted_tests import Reached, by_halves, first_accepted, halvings
from dpviz.fitting.sums import Quantile
from dpviz.model.asking import MOST_ASKED, Subject
from dpviz.model.between import Enclosed, between
from dpviz.model.error import How
from dpviz.model.in_order import InOrder
from dpviz.model.linear import LinearError, Query
from dpviz.model.quantiles import DerivedQuantile

WALKED: Final = 64
"""With so many bins at most, each is tested where nothing says of all at once which are rejected."""

NEAR: Final = 0.8
"""In a bisection no value within this part of the end of a normal error is taken for one beyond its end: to accept is
never wrong, and hardly any end is nearer."""

TINIEST: Final = 1e-300
"""Smaller levels are taken for this one where a normal error is asked for."""

ROUNDING: Final = 1e-9
"""More than floats lose of a sum of counts."""

INVERTED: Final = "the test of one sum of counts, inverted"


def share_of(q: Any, place: str = "") -> Fraction:
    """A share strictly between 0 and 1. One of several, at a place in their list, is not quoted: it may be data."""
    try:
        return probability(q, "q", zero=False)
    except ParameterError as error:
        refused = ParameterError.of(
            f"{kind_of(q)} as {place}" if place else error.value,
            "a quantile is named by a share strictly between 0 and 1: noise bounds no least or greatest value",
            'write "1/2" for the median, or "0.9"',
        )
    raise refused


def shares_of(several: Sequence[Any]) -> list[Fraction]:
    """Read each share of a list."""
    return [share_of(q, f"share {place} of {len(several)}") for place, q in enumerate(several, 1)]


def few_quantiles(several: list[Any]) -> list[Any]:
    """The list, where it is not empty and not too long."""
    if not 0 < len(several) <= MOST_ASKED:
        raise ParameterError.of(
            f"{len(several):,} quantiles", f"ask for 1 to {MOST_ASKED:,} at once", "ask for the others in another call"
        )
    return several


class InvertedQuantiles(InOrder):
    """Quantiles of ordered bins."""

    noun = "a quantile"

    def quantile(self, q: Fraction) -> DerivedQuantile:
        reading = self.subject.reading
        domain, label = reading.question.domain, self.subject.answer.label
        number = self.among if isinstance(self.among, int) else 1
        found = _Inverted(self.subject, self.bins, q, self.level, self.reader)
        low, high = found.both_ends()
        remarks = []
        if self.may_be_empty:
            remarks.append("Nothing may be counted at all; then every bin is a quantile.")
        if low > high:
            remarks.append("No bin lies within the error bar: the noise was larger than it allows for.")
        point = found.point_between(min(low, high), max(low, high))
        rule = found.rule_text if number == 1 else f"{found.rule_text}; union bound over {number:,} questions"
        return DerivedQuantile(
            q=q,
            column=domain.columns_text,
            label=None if point is None else label(reading, self.bins[point]),
            low_label=label(reading, self.bins[low]),
            high_label=label(reading, self.bins[high]),
            low=domain.numbers_of(self.bins[low])[0],
            high=domain.numbers_of(self.bins[high])[1],
            how=found.how_known if number == 1 else "bound",
            rule=rule,
            beta=self.beta,
            among=self.among,
            paid=self.subject.paid,
            nouns=reading.limited.nouns(several=True),
            remarks=(*remarks, *self.declared),
        )


@dataclass
class _Inverted:
    """The test of every bin of a row: too low, too high, or neither.

    level  how often an interval may miss
    """

    subject: Subject
    bins: range
    q: Fraction
    level: Fraction
    reader: str
    _ends: list[Quantile | None] = field(default_factory=list)
    _reached: list[Reached] = field(default_factory=list)
    _halved: bool = False

    def __post_init__(self) -> None:
        self.last = len(self.bins) - 1
        self.counts = self.subject.running_counts(self.bins, self.reader)
        self.first_error = self.error_at(0) if self.last else None
        self.bounds = None if self.counts is None else self._between()
        self._halved = self.bounds is None and self.last >= WALKED

    # ------------------------------------------------------------ one query

    def query_at(self, place: int) -> Query:
        """A(x) - q n, for the bin in this place."""
        first, stop = self.bins.start, self.bins.stop
        middle = first + place + 1
        return Query.of((range(first, middle), 1 - self.q), (range(middle, stop), -self.q))

    def value_at(self, place: int) -> Enclosed:
        """Of the query, as it was released."""
        if self.counts is None:
            return between(self.subject.value(self.query_at(place), self.reader))
        return between(int(self.counts[place]) - self.q * int(self.counts[-1]))

    def error_at(self, place: int) -> LinearError:
        return self.subject.error(self.query_at(place), self.reader)

    def _beyond(self, gap: Fraction, place: int, side: int) -> bool:
        """Whether a value is further than its end from 0, on the side that speaks against the bin in question."""
        if gap <= 0:
            return False
        error = self.error_at(place)
        beta = self.level / max(1, halvings(self.last)) if self._halved else self.level
        beta = beta if error.equal_tails else beta / 2
        near = -NEAR * NormalDist().inv_cdf(max(float(beta) / 2, TINIEST)) if self._halved else 0.0
        if float(gap) < near * error.about_deviation:
            return False
        far = error.far_ends(beta) if self.bounds is None else None
        if far is not None and float(gap) > far[side] * (1 + ROUNDING) + ROUNDING:
            return True
        end = error.ends(beta)[side]
        self._ends.append(end)
        return end is not None and gap > end.value

    def too_low(self, place: int) -> bool:
        """Whether the upper end of A(x) - q n is below 0."""
        return self._beyond(-self.value_at(place).high, place, 1)

    def too_high(self, place: int) -> bool:
        """Whether the lower end of A(x - 1) - q n is above 0."""
        return self._beyond(self.value_at(place - 1).low, place - 1, 0)

    # ------------------------------------------------------------ all bins

    def _between(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Bounds on the ends of all queries, below and above the value."""
        if self.first_error is None:
            return np.zeros(0), np.zeros(0)
        beta = self.level if self.first_error.equal_tails else self.level / 2
        return self.first_error.ends_between(self.error_at(self.last - 1), beta, self.last)

    def both_ends(self) -> tuple[int, int]:
        """The first bin that is not too low, and the last that is not too high."""
        last, clear_low, clear_high = self.last, None, None
        if self.counts is not None and (bounds := self.bounds) is not None:
            counts = self.counts.astype(np.float64)
            values = counts[:-1] - float(self.q) * counts[-1]
            slack = ROUNDING * (np.abs(counts[:-1]) + abs(counts[-1]) + 1)
            clear_low = values + bounds[1] + slack < 0
            clear_high = (values - bounds[0] - slack > 0)[::-1]
        if self._halved:
            low, high = by_halves(self.too_low, last), by_halves(lambda place: self.too_high(last - place), last)
        else:
            low = first_accepted(self.too_low, last, clear_low)
            high = first_accepted(lambda place: self.too_high(last - place), last, clear_high)
        self._reached = [low, high]
        return low.place, last - high.place

    @property
    def how_known(self) -> How:
        """How the ends are known."""
        error = self.first_error
        if error is None:
            return "exact"
        if not error.exact or not error.equal_tails or not all(one.least for one in self._reached):
            return "bound"
        return "exact" if all(end is not None and end.exact for end in self._ends) else "numerical"

    @property
    def rule_text(self) -> str:
        if self.first_error is None:
            return "there is one bin"
        rule = f"{INVERTED}: {self.first_error.rule}"
        if self._halved:
            tests = halvings(self.last)
            return f"{rule}; bisection, union bound over {tests} tests"
        return rule

    def point_between(self, low: int, high: int) -> int | None:
        """The bin of the estimate, of those from low to high; None where nothing seems to be counted.

        Between the first bin x with A(x) >= q n and the last with A(x - 1) <= q n, as released. Neither is rejected at
        any level, so every interval holds them.
        """
        if between(self.subject.value(self._every, self.reader)).low <= 0:
            return None
        if self.counts is not None:
            scaled: Any = self.q.denominator * self.counts.astype(object) - self.q.numerator * int(self.counts[-1])
            first = int(np.flatnonzero(scaled >= 0)[0])
            before = np.flatnonzero(scaled[:-1] <= 0)
            last = int(before[-1]) + 1 if len(before) else 0
        else:
            values = self._values(low, high)
            first = next((place for place, value in values if value.high >= 0), high)
            last = next((place + 1 for place, value in reversed(values) if place < high and value.low <= 0), low)
        return min(max((first + last) // 2, low), high)

    @property
    def _every(self) -> Query:
        return Query.of((self.bins, 1))

    def _values(self, low: int, high: int) -> Sequence[tuple[int, Enclosed]]:
        """The values of some queries from one bin to another: all, or those on the way to a change of sign."""
        if high - low <= WALKED:
            return [(place, self.value_at(place)) for place in range(low, high + 1)]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.value_at(middle).high >= 0 else (middle, high)
        return [(place, self.value_at(place)) for place in (low, high)]


protect_module(vars())
