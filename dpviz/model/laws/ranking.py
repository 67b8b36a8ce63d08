"""The laws of answers that name the largest items: peeled lists, noisy lists, sets. Statements hold for all counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, Final, cast

import gmpy2
import numpy as np

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, Enclosure, counted, decide, directed, exp_bounds, from_mpfr, log_bounds, log_up, whole
from dpviz.laws import geometric
from dpviz.laws.overtaking import least_distance
from dpviz.laws.search import least
from dpviz.model.answers import Answer, Ranked, Reading
from dpviz.model.error import ErrorModel, ErrorValue, How
from dpviz.model.laws.base import StoredLaw, stored
from dpviz.model.linear import LinearError, Query
from dpviz.model.measures import Measure, all_values, any_value, at_worst, ordinal, to_be_listed
from dpviz.model.question import Question
from dpviz.model.sum_errors import WorstError
from dpviz.privacy.threshold import difference_tail
from dpviz.privacy.unit import Unit


def least_count(odds: Fraction, rate: Fraction) -> int:
    """The least whole number c with exp(rate * c) >= odds."""
    return int(log_up(odds, rate) / rate)


# ---------------------------------------------------------------- one draw after the other


def behind(position: int, candidates: int, rate: Fraction, beta: Fraction) -> int:
    """Bound how far the first `position` items drawn may lie below the true count of that rank, but for a chance of
    beta.

    Up to n = `candidates - position` counts are lower by more than v: together they have at most y = n exp(-rate
    (v + 1)) of the odds of one count of that rank. Before the i-th last draw at least i of the larger ones are left, so
    that it takes a lower one with a chance of at most y / (i + y), whatever was drawn before, and all draws pass these
    by with at least the product of i / (i + y). Equal larger counts, and equal lower ones, have exactly that chance
    where no bottom symbol competes.
    """
    return _below(candidates - position, odds_of_all(position, beta), rate)


def behind_one(place: int, position: int, candidates: int, rate: Fraction, beta: Fraction) -> int:
    """Bound how far the item in one place, among the first `position`, may lie below the true count of that rank.

    Before that draw at least i = `position - place + 1` of the larger counts are left, so it takes a lower one with a
    chance of at most y / (i + y), which is reached where all that were drawn before are far larger.
    """
    return _below(candidates - position, (position - place + 1) * beta / (1 - beta), rate)


def _below(lower: int, odds: Fraction, rate: Fraction) -> int:
    """The least v with lower * exp(-rate (v + 1)) <= odds."""
    return max(0, least_count(lower / odds, rate) - 1) if lower > odds else 0


FEW: Final = 1000
"""The most factors that are multiplied one by one; the others are bounded together."""

PLACES: Final = 100
"""Of a longer list of noisy counts so many places are told apart."""

FINE: Final = Fraction(1, 10**12)
RARE: Final = Fraction(1, 10**6)
"""Where noise is finer or a chance is smaller, doubles say too little of how far a count is carried past others."""

SAFE: Final = Fraction(1) - Fraction(1, 10**9)
"""By this factor odds that were found in floats are made smaller before they are checked."""


@lru_cache(maxsize=4096)
def odds_of_all(draws: int, beta: Fraction) -> Fraction:
    """Odds y, as large as they may be to nine digits, for which the product of i / (i + y) over all i from 1 to `draws`
    is at least 1 - beta: found in floats, and proved with directed rounding."""
    if draws == 1:
        return beta / (1 - beta)
    level, least = float(beta), beta / draws  # which is small enough, for the product is at least 1 - y * draws
    if not 1e-300 < level < 1:
        return least
    places, rest = np.arange(1, min(draws, FEW) + 1), math.log(max(1, draws / FEW))
    low, high = 0.0, 2 * level / (1 - level)
    for _ in range(100):
        middle = (low + high) / 2
        fits = float(np.log1p(middle / places).sum()) + middle * rest <= -math.log1p(-level)
        low, high = (middle, high) if fits else (low, middle)
    odds = Fraction(low) * SAFE
    while odds > least and not _all_pass(odds, draws, beta):
        odds *= Fraction(1023, 1024)
    return max(odds, least)


def _all_pass(odds: Fraction, draws: int, beta: Fraction) -> bool:
    """Whether the product of 1 + odds / i, rounded up, is no more than 1 / (1 - beta)."""
    product, precision = Fraction(1), 192 + math.ceil(1 / beta).bit_length()
    if draws > FEW:  # 1 + x is at most exp(x), and 1/i summed over the others at most ln(draws / FEW)
        product = exp_bounds(odds * log_bounds(Fraction(draws, FEW))[1], precision)[1]
    _, up = directed(precision)
    with up:
        most, y = (gmpy2.mpfr(gmpy2.mpq(one.numerator, one.denominator)) for one in (product, odds))
        for i in range(1, min(draws, FEW) + 1):
            most *= 1 + y / i
    return from_mpfr(most) <= 1 / (1 - beta)


def bounded(value: int, rule: str) -> ErrorValue:
    return ErrorValue(Fraction(value), "bound", rule)


def _positive(**numbers: Fraction | int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number <= 0:
            raise ReleaseFormat.damaged("a law's rates, deltas and odds are positive", f"another {name}")


# ---------------------------------------------------------------- peeling, with a bottom symbol


@stored
@dataclass(frozen=True)
class PeelingLaw(StoredLaw):
    """Items drawn one after the other out of `rows`, each with odds exp(rate * count), against a bottom symbol.

    items    how many come at most
    odds     m / delta, by which the bottom symbol outweighs a count `gap` above the next one; None: it does not compete
    strict   only counts above the next one compete
    private  how many of the rows compete was chosen privately
    """

    name: ClassVar[str] = "peeling"

    items: int
    rows: int
    rate: Fraction
    gap: int
    odds: Fraction | None
    strict: bool
    private: bool

    def __post_init__(self) -> None:
        whole(self.items, "items", most=whole(self.rows, "rows"))
        _positive(rate=self.rate, gap=self.gap, odds=self.odds)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.items == max_items

    def accepts(self, answer: Answer) -> bool:
        """Whether the list ends as one that is drawn here, and says from how many it was drawn where that is chosen."""
        ranked = cast(Ranked, answer)
        chosen = ranked.kbar is not None and self.items < ranked.kbar <= self.rows
        complete = ranked.complete(self.items, bottom=self.odds is not None)
        return complete and (chosen if self.private else ranked.kbar is None)

    def cut_up(self, parts: int) -> StoredLaw | None:
        """A list that all parts share; where a number of rows was chosen for it, too, that is of no part."""
        from dpviz.model.laws.shared_list import SharedListLaw

        return None if self.private else SharedListLaw(self, parts)

    @cached_property
    def error(self) -> ErrorModel:
        return PeelingError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """The margin that an item needs to be listed, where the list can end, and the depth of the last one below its
        rank."""
        listed = () if self.odds is None else (to_be_listed(self.error),)
        return *listed, at_worst(self.error, self.items)


@dataclass(frozen=True)
class PeelingError(ErrorModel):
    """Statements about a ranked list that hold for all counts; with a private kbar, for any that is chosen."""

    law: PeelingLaw

    def rank(self, position: int, beta: Fraction) -> ErrorValue:
        """Bound how far below the true count of rank `position` each of the first `position` items lies."""
        place, rows = whole(position, "position", most=self.law.items), self.law.rows
        least_ = "0 where they are all that compete" if place == rows else f"{place:,} draws, {rows - place:,} others"
        return bounded(
            behind(place, rows, self.law.rate, beta),
            f"Durfee, Rogers 2019, Lemma 8.1, sharpened: {least_}; for each of the first {counted(place, 'item')}",
        )

    def in_place(self, place: int, position: int, beta: Fraction) -> ErrorValue:
        """Bound how far below the true count of rank `position` the item in one place may lie."""
        return _in_place(place, position, self.law.items, self.law.rows, self.law.rate, beta)

    def listed(self, beta: Fraction) -> ErrorValue | None:
        """Bound how far above the first row that does not compete an item must lie to come before the bottom symbol."""
        above = self._above(beta / (1 - beta))
        rule = "the odds of one item against the bottom symbol, where fewer than k come before it"
        how: How = "bound" if self.law.private else "exact"
        return None if above is None else ErrorValue(above, how, rule)

    def left_out(self, beta: Fraction) -> ErrorValue | None:
        """Bound how far above that row an item must lie so that the bottom symbol comes before none that lies so far
        above.

        Of up to k such items the bottom symbol comes before none with a chance of at least the product of i / (i + y),
        y its odds against one of them; of more, fewer than k come before a bottom symbol, so one of any k is left out.
        """
        above = self._above(odds_of_all(self.law.items, beta))
        rule = f"a race of the bottom symbol against {counted(self.law.items, 'item')}, whatever the counts are"
        return None if above is None else ErrorValue(above, "bound", rule)

    def _above(self, odds: Fraction) -> Fraction | None:
        """Find how far above the next count the bottom symbol has no more than these odds against an item."""
        law = self.law
        if law.odds is None:
            return None
        return Fraction(max(0, law.gap + least_count(law.odds / odds, law.rate), int(law.strict)))

    @property
    def next_place(self) -> int | None:
        return None if self.law.private or self.law.odds is None else self.law.rows + 1


# ---------------------------------------------------------------- peeling a whole domain


@stored
@dataclass(frozen=True)
class ExponentialLaw(StoredLaw):
    """Items drawn one after the other, each with odds exp(rate * count) among those that remain."""

    name: ClassVar[str] = "exponential"

    items: int
    bins: int
    rate: Fraction

    def __post_init__(self) -> None:
        whole(self.items, "items", most=whole(self.bins, "bins"))
        _positive(rate=self.rate)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.items == max_items and self.bins == question.bins

    def accepts(self, answer: Answer) -> bool:
        return cast(Ranked, answer).complete(self.items, bottom=False)

    @cached_property
    def error(self) -> ErrorModel:
        return ExponentialError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """Bound how far the last bin may lie below its rank."""
        return (at_worst(self.error, self.items),)


@dataclass(frozen=True)
class ExponentialError(ErrorModel):
    """Statements about the list that hold for all counts."""

    law: ExponentialLaw

    def rank(self, position: int, beta: Fraction) -> ErrorValue:
        """Bound how far below the true count of rank `position` each of the first `position` bins lies."""
        place, bins = whole(position, "position", most=self.law.items), self.law.bins
        return bounded(
            behind(place, bins, self.law.rate, beta),
            f"{counted(place, 'draw')} out of equal counts, against {bins - place:,} other bins that are equal",
        )

    def in_place(self, place: int, position: int, beta: Fraction) -> ErrorValue:
        """Bound how far below the true count of rank `position` the bin in one place may lie."""
        return _in_place(place, position, self.law.items, self.law.bins, self.law.rate, beta)


def _in_place(place: int, position: int, items: int, rows: int, rate: Fraction, beta: Fraction) -> ErrorValue:
    position = whole(position, "position", most=items)
    place = whole(place, "place", most=position)
    rule = f"one draw, with {counted(position - place + 1, 'larger count')} left, against {rows - position:,} others"
    return bounded(behind_one(place, position, rows, rate, beta), rule)


# ---------------------------------------------------------------- noisy counts above a noisy threshold


@stored
@dataclass(frozen=True)
class NoisyListLaw(StoredLaw):
    """Noise with Pr[Z = z] proportional to exp(-rate |z|) on `rows` counts and on a threshold; at most `items` come.

    gap, offset  the threshold stands gap + offset above the next count
    """

    name: ClassVar[str] = "noisy-list"

    items: int
    rows: int
    rate: Fraction
    gap: int
    offset: int

    def __post_init__(self) -> None:
        whole(self.items, "items", most=whole(self.rows, "rows"))
        whole(self.offset, "offset", least=0)
        _positive(rate=self.rate, gap=self.gap)

    @property
    def decay(self) -> Decay:
        return Decay.exp(self.rate)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.items == max_items

    def accepts(self, answer: Answer) -> bool:
        """Whether it has noisy counts that never rise."""
        ranked = cast(Ranked, answer)
        values = list(ranked.values or ())
        complete = ranked.complete(self.items, valued=True) and ranked.kbar is None
        return complete and values == sorted(values, reverse=True)

    @cached_property
    def error(self) -> ErrorModel:
        return NoisyListError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """The margin that an item needs to be listed, the depth of the last one below its rank, and the noise of the
        values."""
        error = self.error
        return to_be_listed(error), at_worst(error, self.items), any_value(error), all_values(error)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """Which items are listed depends on their noise, so a sum over them is off by no more than each of all rows
        that may compete, at once."""
        error = NoisyListError(self)
        return WorstError(
            worst=error.all_bins,
            weight=query.total,
            by=f"every count of {counted(self.rows, 'row')} that may compete, at once",
            bias_words="biased: values of items that were chosen by them lie too high on average",
            beyond=error.any_beyond,
        )


@dataclass(frozen=True)
class NoisyListError(ErrorModel):
    """The error of the noisy counts, and what holds for the list whatever the counts are."""

    law: NoisyListLaw

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        """Bound the error of the noisy count of an item picked before looking, listed or not."""
        value = geometric.error_quantile(self.law.decay, beta)
        rule = "two-sided tail of the noise; counts of listed items are biased upward, for they were selected"
        return ErrorValue(Fraction(value), "exact", rule)

    def shown(self, beta: Fraction) -> ErrorValue:
        return self.one_bin(beta)

    def all_bins(self, beta: Fraction) -> ErrorValue:
        rows = self.law.rows
        value = geometric.simultaneous_quantile(self.law.decay, beta, rows, 0)
        return bounded(
            value, f"product over {counted(rows, 'row')} that may compete: it holds for whichever are listed"
        )

    def any_beyond(self, a: int) -> Fraction:
        """The chance, at most, that any noise of a row that may compete is larger than a, on either side."""
        return min(Fraction(1), 2 * self.law.rows * geometric.TwoSidedGeometric(self.law.decay).above(a)[1])

    def rank(self, position: int, beta: Fraction) -> ErrorValue:
        """Bound how far below the true count of rank `position` each of the first `position` items lies."""
        place = whole(position, "position", most=self.law.items)
        return self._first(place, place, beta)

    def in_place(self, place: int, position: int, beta: Fraction) -> ErrorValue:
        """Bound how far below that count the item in one place, or in any before it, may lie.

        For the first place it is the least that holds. For the last it is what holds for all: a lower item takes its
        place from the last of the larger ones, so it hardly ever comes where the last place keeps one of these.
        """
        position = whole(position, "position", most=self.law.items)
        place, stride = whole(place, "place", most=position), -(-position // PLACES)
        return self._first(place if place == 1 else min(position, -(-place // stride) * stride), position, beta)

    def _first(self, places: int, position: int, beta: Fraction) -> ErrorValue:
        """Bound how far below the true count of rank `position` each of the first `places` items lies.

        Up to n = `rows - position` counts are lower by more than v. One of them comes among the first places where the
        largest noise of these is at least v + 1 larger than that of rank `places` among `position` others: nothing
        is likelier than equal lower counts below equal larger ones, whose equal noisy counts have the larger label, for
        the chance falls with each larger count and grows with each lower one. A threshold only shortens the list.
        """
        law, lower = self.law, self.law.rows - position
        if not lower:
            return bounded(0, "these are all rows that compete")
        if law.rate < FINE or beta < RARE:
            rule = f"no noise of {counted(law.rows, 'row')} is further off than half of this"
            return bounded(2 * int(self.all_bins(beta).value), rule)
        distance = least_distance(float(law.rate), lower, position, places, float(beta))
        rule = f"the largest noise of {lower:,} against the {ordinal(places)} largest of {position:,} that are equal"
        return bounded(distance - 1, rule)

    def left_out(self, beta: Fraction) -> ErrorValue:
        """Bound how far above that row an item must lie so that none that lies so far above is below the threshold
        where fewer than k items exceed it: of more than k such items, one of any k would be."""
        items = self.law.items
        return bounded(int(self.listed(beta / items).value), f"union bound over {counted(items, 'item')}")

    @property
    def next_place(self) -> int:
        return self.law.rows + 1

    def listed(self, beta: Fraction) -> ErrorValue:
        """Bound how far above the first row that does not compete an item must lie to exceed the threshold."""
        law = self.law

        def holds(above: int) -> bool:
            def question(precision: int) -> bool | None:
                low, high = _difference_reaches(law.rate, above - law.gap - law.offset, precision)
                return True if high <= beta else False if low > beta else None

            return decide(question)

        value = least(holds, near=law.gap + law.offset)
        return ErrorValue(Fraction(value), "exact", "noise of one item against that of the threshold")

    def quantiles(self, levels: list[Fraction]) -> list[int]:
        return geometric.quantiles(self.law.decay, levels)


def _difference_reaches(rate: Fraction, t: int, precision: int) -> Enclosure:
    """Pr[Z - Z' >= t] of two independent noises, for any t: their difference is symmetric around 0."""
    if t >= 0:
        return difference_tail(rate, t, precision)
    low, high = difference_tail(rate, 1 - t, precision)
    return 1 - high, 1 - low


# ---------------------------------------------------------------- a coin for each item


@stored
@dataclass(frozen=True)
class CoinsLaw(StoredLaw):
    """Each of the `items` largest is named by a coin of its own, whose odds grow by exp(rate) with each count."""

    name: ClassVar[str] = "coins"

    items: int
    rate: Fraction
    gap: int
    delta: Fraction

    def __post_init__(self) -> None:
        whole(self.items, "items")
        _positive(rate=self.rate, gap=self.gap, delta=self.delta)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.items == max_items

    @cached_property
    def error(self) -> ErrorModel:
        return CoinsError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """The margin that an item needs to be named."""
        return (to_be_listed(self.error, "is listed"),)


@dataclass(frozen=True)
class CoinsError(ErrorModel):
    """Statements about each item by itself that hold for all other counts."""

    law: CoinsLaw

    def listed(self, beta: Fraction) -> ErrorValue:
        """Bound how far above the count of row k + 1 an item of the k largest must lie to be named."""
        law = self.law
        wanted = 1 / (4 * beta) if 2 * beta <= 1 else 1 - beta
        above = law.gap + least_count(wanted / law.delta, law.rate)
        return ErrorValue(Fraction(max(1, above)), "exact", "the coin of one item among the k largest")

    def left_out(self, beta: Fraction) -> ErrorValue:
        """The same for all of the k largest at once."""
        items = self.law.items
        return bounded(int(self.listed(beta / items).value), f"union bound over {counted(items, 'coin')}")

    def rank(self, position: int, beta: Fraction) -> ErrorValue | None:
        """Bound how far below the true count of the last rank a named item may lie: not at all. A set has no order,
        so nothing is said of the first of its items."""
        if position != self.law.items:
            return None
        return ErrorValue(Fraction(0), "exact", "only counts above that of row k + 1 have a coin")

    @property
    def next_place(self) -> int:
        return self.law.items + 1


protect_module(vars())
