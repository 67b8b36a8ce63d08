"""The laws of answers that name the largest items: peeled lists, noisy lists, sets. What holds for all counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, Enclosure, counted, decide, log_up, whole
from dpviz.laws import geometric
from dpviz.model.answers import Answer, Ranked, Reading
from dpviz.model.error import ErrorModel, ErrorValue, How
from dpviz.model.laws.base import StoredLaw, stored
from dpviz.model.laws.count_noise import least
from dpviz.model.linear import LinearError, Query, WorstError
from dpviz.model.question import Question
from dpviz.privacy.threshold import difference_tail
from dpviz.privacy.unit import Unit


def least_count(odds: Fraction, rate: Fraction) -> int:
    """The least whole number c with exp(rate * c) >= odds."""
    return int(log_up(odds, rate) / rate)


def behind(position: int, candidates: int, rate: Fraction, beta: Fraction) -> int:
    """How far the first `position` items drawn may lie below the true count of that rank, but for a chance of beta.

    A candidate whose count is d lower is exp(rate d) times less likely in each draw; `candidates - position` are that
    low at most, and there are `position` draws.
    """
    odds = position * (candidates - position) / beta
    return max(0, least_count(odds, rate) - 1) if odds > 1 else 0


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

    @cached_property
    def error(self) -> ErrorModel:
        return PeelingError(self)


@dataclass(frozen=True)
class PeelingError(ErrorModel):
    """What holds for a ranked list whatever the counts are; with a private kbar, for any that is chosen."""

    law: PeelingLaw

    def rank(self, position: int, beta: Fraction) -> ErrorValue:
        """How far below the true count of rank `position` each of the first `position` items lies at most."""
        place, rows = whole(position, "position", most=self.law.items), self.law.rows
        least_ = "0 where they are all that compete" if place == rows else f"{place:,} draws, {rows - place:,} others"
        return bounded(
            behind(place, rows, self.law.rate, beta),
            f"Durfee, Rogers 2019, Lemma 8.1, sharpened: {least_}; for each of the first {counted(place, 'item')}",
        )

    def listed(self, beta: Fraction) -> ErrorValue | None:
        """How far above the first row that does not compete an item must lie to come before the bottom symbol."""
        law = self.law
        if law.odds is None:
            return None
        above = max(law.gap + least_count(law.odds * (1 - beta) / beta, law.rate), int(law.strict))
        rule = "the odds of one item against the bottom symbol, where fewer than k come before it"
        how: How = "bound" if law.private else "exact"
        return ErrorValue(Fraction(max(0, above)), how, rule)


# ---------------------------------------------------------------- peeling a whole domain


@stored
@dataclass(frozen=True)
class ExponentialLaw(StoredLaw):
    """So many of all bins, drawn one after the other, each with odds exp(rate * count) among those that remain."""

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


@dataclass(frozen=True)
class ExponentialError(ErrorModel):
    """What holds for the list whatever the counts are."""

    law: ExponentialLaw

    def rank(self, position: int, beta: Fraction) -> ErrorValue:
        """How far below the true count of rank `position` each of the first `position` bins lies at most."""
        place, bins = whole(position, "position", most=self.law.items), self.law.bins
        return bounded(
            behind(place, bins, self.law.rate, beta),
            f"union bound over {counted(place, 'draw')} and {bins - place:,} other bins",
        )


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
        """How far the noisy count of an item picked before looking lies from its true count, listed or not."""
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
        """How far below the true count of rank `position` each of the first `position` items lies at most."""
        place, rows = whole(position, "position", most=self.law.items), self.law.rows
        if place == rows:
            return bounded(0, "these are all rows that compete")
        rule = f"no noise of {counted(rows, 'row')} is further off than half of this"
        return bounded(2 * int(self.all_bins(beta).value), rule)

    def listed(self, beta: Fraction) -> ErrorValue:
        """How far above the first row that does not compete an item must lie to exceed the threshold."""
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


@dataclass(frozen=True)
class CoinsError(ErrorModel):
    """What holds for each item by itself, whatever the other counts are."""

    law: CoinsLaw

    def listed(self, beta: Fraction) -> ErrorValue:
        """How far above the count of row k + 1 an item of the k largest must lie to be named."""
        law = self.law
        wanted = 1 / (4 * beta) if 2 * beta <= 1 else 1 - beta
        above = law.gap + least_count(wanted / law.delta, law.rate)
        return ErrorValue(Fraction(max(1, above)), "exact", "the coin of one item among the k largest")


protect_module(vars())
