"""Both ends for the numbers that were asked, where limits leave rows out: from counts and a profile of the same users.

Let c be the most bins that a user counts in, K the number of bins, and N_j the number of users with rows in j bins. A
user in j bins loses (j - c)+ of them: in a set of s bins at most min((j - c)+, s), and at least (j - c - (K - s))+. So
what was asked of the set, T, is what was counted, B, and a loss between two sums of N_j with public weights, and for
all bins the two sums are equal. An end for B and an end for such a sum give one for T; the levels add up.

The entries of the ledger decide the levels. Of two answers that were bought one after the other, the later may have
been designed, or bought, after a look at the earlier one. Its noise is independent of all before, so its end holds
given the past. The end of the earlier one is a single event where it is the counts; where it is the profile, the limit
may have been chosen with it, so its end holds for every limit that could have been chosen, by a share of the level for
each.

Where the mechanism of the counts was declared with the profile, their noise has a known law for each limit c, fixed
before the profile was drawn. Let X_c be that noise, all of them independent of each other and of the profile's noise:
to draw X_c once c is chosen is to have drawn all of them before and to look at one. By the law of both noises an end at
limit c misses on an event A_c of X_c and the profile's noise. The end that is read misses on a part of the union of all
A_c, by whatever c is chosen, so for the sum of their chances at most: a share of the level for each.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from dpviz.boundary import as_given, plain_arguments, protect_module, single_arguments
from dpviz.errors import DpvizError, ParameterError
from dpviz.exact import Number, ceil_to, floor_to, probability, text
from dpviz.model.aggregate import UnitProfile
from dpviz.model.answers import Answer
from dpviz.model.asking import FINE, Subject, among_of, differences_of, shares_of, sums_of
from dpviz.model.between import Enclosed, between
from dpviz.model.declared_next import declares
from dpviz.model.derived import Chance, Derived, DerivedTable, Paid, marked, told
from dpviz.model.either import reach_of
from dpviz.model.limited import Limited
from dpviz.model.linear import NONE, UNBIASED, Bias, LinearError, Query
from dpviz.model.question import Question
from dpviz.model.spreadsheet import table
from dpviz.model.sum_errors import SumError
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    import pandas as pd

    from dpviz.model.quantiles import DerivedQuantile, DerivedQuantiles
    from dpviz.model.release import Release

HALF: Final = Fraction(1, 2)
WHOLE: Final = Fraction(1)
NOTHING: Final = Query(())

Order: TypeAlias = Literal["together", "counts first", "profile first", "declared"]
"""Which of two answers may have been designed after a look at the other, by the entries that paid for them. Together:
neither, for they are of one entry, or the profile was declared with the counts. Declared: the counts were declared with
the profile, so nothing but their limit was chosen with it."""

AFTER: Final = "Bought one after the other: ends are wider than if both had been bought together."
DECLARED: Final = "The counts were declared with the profile, so the law of both noises holds for each limit."
CHOSEN: Final = "The limit may have been chosen with the profile; the ends allow for that."


NO_CHANCE: Final = "There is no p-value, as one answer may have been chosen by the other: look whether 0 is excluded."

DIFFERENCE: Final = Bias("the value is that of what was counted within the limit")
SHARE: Final = Bias("the value is the share of what was counted within the limit")

CHOSEN_BIAS: Final = "biased where the limit was chosen with the profile"
LATER_BIAS: Final = "biased where the profile was chosen by the counts, as weights follow from it"

ASKED: Final = "The value estimates the number that was asked, from counts and profile."

CUT: Final = Bias("the value is what was counted within the limit, which may be below what was asked")


@dataclass(frozen=True)
class ClosedEnds:
    """Both ends for what was asked of some bins.

    low, high  the ends, both inside; None where nothing bounds the answers themselves
    rule       by which rule they hold
    value      an estimate of the number that was asked; None where there is only that of the counted one
    bias       the mean error of that value
    exact      whether the ends are the least that hold
    """

    low: Fraction | None
    high: Fraction | None
    rule: str
    value: Enclosed | None = None
    bias: Bias = CUT
    exact: bool = False

    @property
    def low_number(self) -> int | None:
        """The lower end for a column."""
        return None if self.low is None else int(self.low)

    @property
    def high_number(self) -> int | None:
        """The upper end for a column."""
        return None if self.high is None else int(self.high)


def check_closes(question: Question, limited: Limited, asked: Question, asked_of: Unit) -> None:
    """Refuse a question and its limits of which a profile closes no ends, and a profile of something else.

    asked, asked_of  the question of the profile, and its unit
    """
    made, unit = asked.aggregate, limited.unit
    if not isinstance(made, UnitProfile):
        raise not_a_profile(asked)
    kept = check_cut(question, limited)
    check_about(question, unit, asked, asked_of)
    _check_limit(kept, asked, made, question.domain.size)


def not_a_profile(asked: Question) -> DpvizError:
    """The refusal of another question than one of a profile."""
    return ParameterError.of(
        asked.text, "a profile counts users by their numbers of bins", "release Question.contribution_profile"
    )


def check_about(question: Question, unit: Unit, asked: Question, asked_of: Unit) -> None:
    """Refuse a profile of other bins, another filter or another unit than those of a question."""
    made = asked.aggregate
    if not isinstance(made, UnitProfile):
        raise not_a_profile(asked)
    same = made.profiled == question.domain and dict(asked.where) == dict(question.where)
    if not same or asked_of.protects != unit.protects:
        raise ParameterError.of(
            f"{asked.text} / {question.text}",
            "a profile is about one domain, one filter and one unit, those of the counts",
            "release a profile of the same bins with the same filter",
        )


def check_cut(question: Question, limited: Limited) -> int:
    """Refuse a question and its limits of which a profile closes no ends. Returns the limit on bins."""
    unit = limited.unit
    plain = question.aggregate.counts and question.by is None and question.part is None
    if not plain or question.aggregate.profiled is not None or not question.domain.declared:
        raise ParameterError.of(
            question.text,
            "a profile closes the ends of counts of users in declared bins, in all parts together",
            "ask for counts of declared bins",
        )
    if not limited.cuts or unit.max_per_bin != 1 or unit.max_bins is None:
        raise ParameterError.of(
            unit.limits.text,
            "a profile closes ends that a limit on bins leaves open, of users who count once in a bin",
            "read release.to_frame() where nothing is left out, or take max_bins= with max_per_bin=1",
        )
    return unit.max_bins


def _check_limit(kept: int, asked: Question, made: UnitProfile, size: int) -> None:
    """Refuse a profile of which no class tells the users over the limit from the others."""
    named = made.over if made.over is not None else asked.domain.size - 1 if asked.domain.size < size else None
    if named is not None and (named > kept if made.over is not None else named < kept):
        raise ParameterError.of(
            f"a profile up to {named:,}" if made.over is None else f"a profile over {named:,}",
            f"users over the limit of {kept:,} are counted by a profile that tells them from the others",
            "release a profile with a most= of at least the limit, or with over= of the limit",
        )


def check_classes(shape: Answer | type[Answer]) -> None:
    """Refuse an answer, or a shape of answers, that has no count for each class of a profile."""
    if shape.noun != "bin":
        raise ParameterError.of(
            f"counts of {shape.noun}s",
            "ends are closed by a count for each class of a profile",
            "release the profile with a mechanism that keeps classes apart, such as dv.Dense or dv.Tree",
        )


class ClosedCounts:
    """Counts that a limit on bins cuts, and a profile of the users that they are about.

    Raises ParameterError where the profile says nothing of these counts, or there is nothing to close.
    """

    def __init__(self, counts: Subject, profile: Subject, order: Order, reader: str = "") -> None:
        """order  by their entries; "profile first" also where that is not known"""
        self.counts, self.profile, self.reader = counts, profile, reader
        question, asked = counts.reading.question, profile.reading.question
        check_closes(question, counts.reading.limited, asked, profile.reading.unit)
        for subject in (counts, profile):
            subject.answer.all_points(subject.reading)  # refuses what has no values that add up
        check_classes(profile.answer)
        made, unit = asked.aggregate, counts.reading.unit
        assert isinstance(made, UnitProfile) and unit.max_bins is not None
        self.kept, self.size = unit.max_bins, question.domain.size
        self.over, self.order = made.over, order

    @property
    def choices(self) -> int:
        """How many limits could have been chosen with the profile; 1 where none was, or one class is all there is."""
        if self.order == "declared":
            return self.size - 1
        return 1 if self.order != "profile first" or self.over is not None else self.size - 1

    @property
    def remarks(self) -> tuple[str, ...]:
        """The facts that a reader of the ends must know, as sentences."""
        unit = self.counts.reading.unit
        limit = self.counts.reading.limited.limit
        order = {"together": (), "declared": (DECLARED,)}.get(self.order, (AFTER,))
        chosen = () if self.choices == 1 else (CHOSEN,)
        return (f"{limit} Upper ends include {unit.nouns} over the limit, by a profile.", *order, *chosen)

    def lost_bins(self) -> list[tuple[int, int]]:
        """How many bins a user of each class loses, at least and at most."""
        return [(max(0, low - self.kept), max(0, high - self.kept)) for low, high in self._classes()]

    def loss(self, *bins: int) -> tuple[Query, Query]:
        """The least and the largest loss in a set of so many bins, as sums of the classes of the profile; in several
        sets, of which each is counted by itself, the sums of theirs."""
        least: list[tuple[range, Fraction]] = []
        most: list[tuple[range, Fraction]] = []
        for place, (fewest, largest) in enumerate(self.lost_bins()):
            up = sum(min(largest, many) for many in bins)
            low = sum(max(fewest - (self.size - many), 0) for many in bins)
            most.append((range(place, place + 1), Fraction(up)))
            least.append((range(place, place + 1), Fraction(low)))
        return Query.of(*least), Query.of(*most)

    def _classes(self) -> list[tuple[int, int]]:
        """The fewest and the most bins of a user in each class of the profile."""
        if self.over is not None:
            return [(self.over + 1, self.size)]
        classes = self.profile.reading.question.domain.size
        if classes == self.size:
            return [(place + 1, place + 1) for place in range(classes)]
        return [*((place + 1, place + 1) for place in range(classes - 1)), (classes, self.size)]

    # ------------------------------------------------------------ one end of one linear query to both

    def estimate(self, counts: Query, classes: Query) -> Enclosed:
        """A weighted sum of counts and of classes of the profile, as both were released."""
        one, other = between(self.counts.value(counts, self.reader)), between(self.profile.value(classes, ""))
        return Enclosed(one.low + other.low, one.high + other.high)

    def errors(self, counts: Query, classes: Query) -> tuple[LinearError, LinearError]:
        """The error of the counts in such a sum, and that of the profile."""
        return self.counts.error(counts, self.reader), self.profile.error(classes, "")

    def both(self, counts: Query, classes: Query) -> SumError | None:
        """The error of such a sum by the law of both noises, where they were bought together; None where it is not
        known, or the design of one may depend on the noise of the other."""
        one, other = self.errors(counts, classes)
        if self.order in ("together", "declared") and isinstance(one, SumError) and isinstance(other, SumError):
            return one.plus(other, WHOLE, WHOLE)
        return None

    def reach(self, counts: Query, classes: Query, side: int, level: Fraction) -> Fraction | None:
        """The distance of the truth below (side 0) or above such a sum, at most, but for `level` of the time."""
        one, other = self.errors(counts, classes)
        if not classes.parts:
            return reach_of(one, level, side)
        if not counts.parts:
            return reach_of(other, level / self.choices, side)
        both = self.both(counts, classes)
        if both is not None:
            return reach_of(both, level / self.choices, side)
        return _sum(reach_of(one, level * HALF, side), reach_of(other, level * HALF / self.choices, side))

    def end(self, counts: Query, classes: Query, side: int, level: Fraction) -> Fraction | None:
        """The lower (side 0) or the upper end for the true value of such a sum, which fails `level` of the time."""
        reach, value = self.reach(counts, classes, side, level), self.estimate(counts, classes)
        return None if reach is None else value.high + reach if side else value.low - reach

    def chance(self, counts: Query, classes: Query, number: int) -> Chance | None:
        """The p-value of a sum that is above 0, for the worst truth that is not, of so many; None where the design of
        one answer may depend on the noise of the other."""
        both, gap = self.both(counts, classes), self.estimate(counts, classes).low
        found = None if both is None else both.at_least(gap)
        if found is None:
            return None
        rule = f"{self.rule(counts, classes)}{f', times {number:,} pairs' if number > 1 else ''}"
        return Chance(Enclosed(NONE, min(WHOLE, number * self.choices * found[1])), "bound", rule)

    def low_end(self, counts: Query, classes: Query, level: Fraction) -> Fraction | None:
        """The lower end where the classes are a loss, which is not below 0, whatever the profile says of it."""
        if self.both(counts, classes) is not None or any(weight < 0 for _, weight in classes.parts):
            return self.end(counts, classes, 0, level)
        own = self.end(counts, NOTHING, 0, level * HALF)
        lost = self.end(NOTHING, classes, 0, level * HALF)
        return _sum(own, None if lost is None else max(NONE, lost))

    def rule(self, counts: Query, classes: Query) -> str:
        """By which rule such ends hold."""
        one, other = (error.rule for error in self.errors(counts, classes))
        if not classes.parts:
            return one
        rules = " and ".join(dict.fromkeys((one, other)))
        share = "" if self.choices == 1 else f", for each of {self.choices:,} limits"
        if self.both(counts, classes) is not None:
            return f"the law of the sum of both noises: {rules}{share}"
        return f"levels of counts and profile added up: {rules}{share}"

    # ------------------------------------------------------------ sums

    def ends(self, query: Query, beta: Fraction) -> ClosedEnds:
        """The ends for what was asked of some points, each of weight 1, which both hold but for `beta` of the time."""
        bins, level = self._bins(query), beta * HALF
        if min(bins) == self.size and (counts := self.total(query)) is not None:
            return self._total(counts, level)
        return ClosedEnds(*_whole(*self._apart(query, level)), self.rule(query, self.loss(*bins)[1]))

    def row_ends(self, queries: Sequence[Query], beta: Fraction) -> list[ClosedEnds]:
        """The ends of each of many rows. Rows of as many bins whose counts err alike lie as far from their ends, so one
        of them is looked at."""
        known: dict[Any, tuple[Fraction | None, Fraction | None, str]] = {}
        found = []
        for query in queries:
            bins, value = self._bins(query), between(self.counts.value(query, self.reader))
            if min(bins) == self.size:
                found.append(self.ends(query, beta))
                continue
            like = bins, self.counts.error(query, self.reader)
            if like not in known:
                low, high = self._apart(query, beta * HALF)
                known[like] = _sum(low, -value.low), _sum(high, -value.high), self.rule(query, self.loss(*bins)[1])
            down, up, rule = known[like]
            found.append(ClosedEnds(*_whole(_sum(value.low, down), _sum(value.high, up)), rule))
        return found

    def _apart(self, query: Query, level: Fraction) -> tuple[Fraction | None, Fraction | None]:
        """Both ends by the loss of a set of bins, before they are rounded."""
        bins = self._bins(query)
        least, most = self.loss(*bins)
        low = self.low_end(query, least, level) if min(bins) == self.size else self.end(query, NOTHING, 0, level)
        high, counted = self.end(query, most, 1, level), self.end(query, NOTHING, 1, level)
        return low, None if high is None or counted is None else max(high, counted)

    def total(self, query: Query) -> tuple[Query, Query] | None:
        """Counts of all bins once, and classes, whose weighted sum is the number that was asked and has the least
        variance of those that are; None where a class does not say how many bins its users are in.

        Users in j bins count in min(j, c) of them, so w B + sum (j - w min(j, c)) N_j is that number for any w. The
        weight follows from the laws. Where the limit may have been chosen with the profile it is 1, for then the noise
        of the profile must stand in for each limit by a sum that is known beforehand. It is 1, too, where the profile
        counts the users over a limit alone: those of no class lose nothing, and only B itself counts them as they are.
        """
        classes = self._classes()
        if any(fewest != most for fewest, most in classes) or sum(self._bins(query)) != self.size:
            return None
        weighed = self.over is None and self.order != "profile first"
        weight = self._weight(query) if weighed else WHOLE
        parts = [(range(at, at + 1), j - weight * min(j, self.kept)) for at, (j, _) in enumerate(classes)]
        return Query(tuple(query.times(weight))), Query.of(*parts)

    def _weight(self, query: Query) -> Fraction:
        """The weight of the counts, to an eighth."""

        def variance(weigh: Callable[[int, int], int]) -> Fraction | None:
            parts = [(range(at, at + 1), weigh(j, min(j, self.kept))) for at, (j, _) in enumerate(self._classes())]
            return _variance(self.profile.error(Query.of(*parts), ""))

        own = _variance(self.counts.error(query, self.reader))
        asked, kept, lost = (variance(by) for by in (lambda j, _: j, lambda _, m: m, lambda j, m: j - m))
        if own is None or asked is None or kept is None or lost is None:
            return WHOLE
        return Fraction(max(1, round(8 * (asked + kept - lost) / (2 * (own + kept)))), 8)

    def difference(self, query: Query) -> tuple[tuple[Query, Query], tuple[Query, Query]]:
        """The difference of two sets that have no bin in common, at least and at most: where a user loses bins of one
        set, at least those that the others cannot hold are of the other."""
        plus, minus = (
            self.loss(*self._bins(Query.of(*((points, 1) for points, weight in query.parts if weight * sign > 0))))
            for sign in (1, -1)
        )
        return (query, _less(plus[0], minus[1])), (query, _less(plus[1], minus[0]))

    def share_at(self, part: Query, rest: Query, side: int) -> Callable[[Fraction], tuple[Query, Query]]:
        """For a share t, (1 - t) times the number asked of a part less t times that of the rest, at least (side 0) or
        at most: above 0 for certain where the share is larger."""
        mine, others = self.loss(*self._bins(part))[side], self.loss(*self._bins(rest))[1 - side]

        def at(share: Fraction) -> tuple[Query, Query]:
            counts = Query.of(*part.times(1 - share), *rest.times(-share))
            return counts, _less(_times(mine, 1 - share), _times(others, share))

        return at

    def whole_of(self, part: Query, rest: Query, side: int) -> tuple[Query, Query]:
        """The number asked of part and rest, with the losses that `share_at` takes."""
        mine, others = self.loss(*self._bins(part))[side], self.loss(*self._bins(rest))[1 - side]
        return Query.of(*part.parts, *rest.parts), _less(mine, _times(others, -WHOLE))

    def _total(self, both: tuple[Query, Query], level: Fraction) -> ClosedEnds:
        value, bias = self.estimate(*both), self._bias(*both)
        low, high = self.low_end(*both, level), self.end(*both, 1, level)
        exact = self.both(*both)
        least = exact is not None and exact.exact and self.choices == 1
        return ClosedEnds(*_whole(low, high), self.rule(*both), value, bias, least)

    def _bias(self, counts: Query, classes: Query) -> Bias:
        """The mean error of such a sum of both."""
        words = [one.bias.words for one in self.errors(counts, classes) if one.bias != UNBIASED]
        words += [CHOSEN_BIAS] if self.order in ("profile first", "declared") else []
        words += [LATER_BIAS] if self.order == "counts first" and self.over is None else []
        return Bias("; ".join(dict.fromkeys(words))) if words else UNBIASED

    def all_ends(
        self, queries: Sequence[Query], lows: Any, highs: Any, beta: Fraction
    ) -> tuple[list[int | None], list[int | None]]:
        """Ends of all rows at once, from the ends at beta / 2 for what was counted in them. The end of a loss is one
        event for all rows of as many bins; rows of other numbers of bins have a share of the level each."""
        sizes = [self._bins(query) for query in queries]
        each = {bins: self.loss(*bins)[1] for bins in set(sizes)}
        level = beta * HALF / max(1, len({query for query in each.values() if query.parts}))
        lost = {bins: self.end(NOTHING, query, 1, level) if query.parts else NONE for bins, query in each.items()}
        low = [None if end is None else max(0, math.ceil(end)) for end in lows]
        high = [
            None if end is None or (more := lost[bins]) is None else max(0, math.floor(end + max(NONE, more)))
            for bins, end in zip(sizes, highs, strict=True)
        ]
        return low, high

    def _bins(self, query: Query) -> tuple[int, ...]:
        return self.counts.answer.bins_behind(self.counts.reading, query)


def entry_order(counts: Any, profile: Any) -> Order:
    """The order in which two releases of one ledger were bought; "profile first", the safe one, where none is known."""
    if _one_entry(counts, profile) or declares(counts, profile):
        return "together"
    if declares(profile, counts):
        return "declared"
    known = [one.number for one in (counts, profile)]
    same = counts.kept_in is not None and counts.kept_in is profile.kept_in
    return "counts first" if same and None not in known and known[0] < known[1] else "profile first"


def _one_entry(counts: Any, profile: Any) -> bool:
    """Whether the profile was bought with the counts."""
    return counts.bought is not None and counts.profile == profile


def check_pair(counts: Any, profile: Any) -> None:
    """Refuse a profile of other data, and of another ledger where both ledgers are known."""
    ledgers = [one.kept_in for one in (counts, profile)]
    if counts.dataset != profile.dataset or (None not in ledgers and ledgers[0] is not ledgers[1]):
        raise ParameterError.of(
            f"{profile.dataset} / {counts.dataset}",
            "a profile is about the data of one ledger, that of the counts",
            "release a profile in the session of the counts",
        )
    if (counts.teaching is None) != (profile.teaching is None):
        raise ParameterError.of(
            "a release and a teaching draw",
            "both answers rest on one kind of noise",
            "release both, or draw both",
        )


def no_lower(high: Iterable[Any], counted: Iterable[Any]) -> list[Any]:
    """Upper ends that are no lower than those for what was counted: a loss is at least 0, and a later upper end holds,
    too. None where one is open."""
    return [None if end is None else max(end, more or end) for end, more in zip(high, counted, strict=True)]


def _promised(release: Any) -> str:
    """The promise of a release, and its doubt."""
    return ". ".join(filter(None, (release.protection, release.doubt)))


def _times(classes: Query, factor: Fraction) -> Query:
    return Query.of(*classes.times(factor))


def _less(one: Query, other: Query) -> Query:
    """The difference of two sums of classes, each of which names a class by itself."""
    weights: dict[int, Fraction] = {}
    for query, sign in ((one, 1), (other, -1)):
        for points, weight in query.parts:
            weights[points[0]] = weights.get(points[0], NONE) + sign * weight
    return Query.of(*((range(at, at + 1), weight) for at, weight in sorted(weights.items())))


def _variance(error: LinearError) -> Fraction | None:
    """About the variance of an error; None where its law is not exact, as that of clamped counts."""
    law = error.distribution
    return None if law is None else sum(law.variance(), NONE) / 2


def _rounded(low: Fraction | None, high: Fraction | None) -> tuple[Fraction | None, Fraction | None]:
    """The ends for a whole number."""
    first = None if low is None else Fraction(math.ceil(low))
    return first, None if high is None else Fraction(math.floor(high))


def _whole(low: Fraction | None, high: Fraction | None) -> tuple[Fraction | None, Fraction | None]:
    """The ends for a whole number that is not negative."""
    first = None if low is None else Fraction(max(0, math.ceil(low)))
    return first, None if high is None else Fraction(max(0, math.floor(high)))


def _sum(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if one is None or other is None else one + other


def _plain(value: Enclosed) -> Fraction | Enclosed:
    return value.low if value.low == value.high else value


class Closed:
    """Answer with both ends for the numbers that were asked, by a profile of the same users.

    Parameters
    ----------
    counts : Release
        Counts that a limit on bins cuts.
    profile : Release
        A release of `Question.contribution_profile` about the same bins, filter, unit and data.

    Raises
    ------
    ParameterError
        If the profile says nothing of these counts, or a limit on bins leaves out nothing.

    Notes
    -----
    `release.closed_by(profile)` makes it. It is free. With a limit of c bins, a user in j of K bins loses j - c of them
    where that is above 0, and in a set of s bins at most min(j - c, s). So the number asked of a set is at most the
    counted one and the sum of these weights over the users in j bins; for all bins it is their sum exactly. Both
    answers bring noise of their own. Bought together, or with the profile declared before, the law of the sum of both
    noises holds; else the levels add up: half of each side's for the counts, half for the profile.

    Where the profile was bought first, or where nobody knows, the limit may have been chosen with it: then the
    profile's half is shared by all limits that could have been chosen. Where the counts were declared with the profile,
    nothing but the limit was, and the law of both noises holds at a share of the level for each limit.

    Examples
    --------
    >>> import dpviz as dv, pandas as pd
    >>> stays = pd.DataFrame({"user": ["a", "a", "a", "b"] * 50, "month": [1, 2, 3, 1] * 50})
    >>> months = dv.Domain.integers(1, 3, column="month")
    >>> lesson = dv.teaching(stays, seed=1, unit=dv.Unit("user"))
    >>> counts = lesson.draw(months, dv.Dense(20))
    >>> profile = lesson.draw(dv.Question.contribution_profile(months), dv.Dense(20, clamp=False))
    >>> counts.sum().interval_text, counts.closed_by(profile).sum().interval_text
    ('at least 2', '4 to 4')
    """

    @plain_arguments
    def __init__(self, counts: Release, profile: Release) -> None:
        for one, name in ((counts, "counts"), (profile, "profile")):
            if not hasattr(one, "kept_in"):
                raise ParameterError.of(as_given(one), f"{name} must be a Release", "give what session.release returns")
        check_pair(counts, profile)
        self._counts, self._profile = counts, profile
        self._order = entry_order(counts, profile)
        self._ends("")

    def _ends(self, reader: str) -> ClosedCounts:
        return ClosedCounts(self._counts.asking, self._profile.asking, self._order, reader)

    @property
    def paid(self) -> tuple[Paid, ...]:
        """The entries that paid: one where counts and profile were bought together."""
        both = (self._counts.paid, self._profile.paid)
        return both[:1] if _one_entry(self._counts, self._profile) else both

    @property
    def both_releases(self) -> tuple[Release, Release]:
        """The counts, and the profile that closes them."""
        return self._counts, self._profile

    @property
    def remarks(self) -> tuple[str, ...]:
        """The limit, and the order of both purchases, as sentences."""
        return self._ends("").remarks

    @property
    def beside(self) -> tuple[str, ...]:
        """The sentences beside both ends: the remarks, and the promise of a profile that was bought by itself."""
        counts, profile = self._counts, self._profile
        if counts.profile == profile:
            return self.remarks
        of = "that of " if profile.entry_price is not None else ""
        named = "The profile" if profile.number is None else f"The profile is {of}release {profile.number}"
        return (*self.remarks, f"{named}: {_promised(profile)}.")

    @plain_arguments
    def sum(
        self, labels: object = None, *, beta: Number = "0.05", among: int | str = "one", reader: str = ""
    ) -> Derived | DerivedTable:
        """Sum the counts of some labels, with both ends for what was asked; of all, where none are named.

        Parameters
        ----------
        labels : label, list, range or dict, optional
            The labels; a list of lists, or a dict of lists by name, for many sums.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the number that was asked, above 0 and at most 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a sum that was picked before looking at the answers. A number: for all of that
            many sums at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived or DerivedTable
            The counted value, and the interval for the number that was asked; a table where several sums are.

        Raises
        ------
        DomainError
            If a label is unknown or named twice.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.
        """
        ends = self._asked(among, reader)

        def change(query: Query, found: Derived) -> Derived:
            number = found.among if isinstance(found.among, int) else 1
            both = ends.ends(query, found.beta / number)
            rule = both.rule if number == 1 else f"{both.rule}; union bound over {number:,} questions"
            estimate = both.value
            value = found.value if estimate is None else _plain(estimate)
            told = replace(found, value=value, bias=both.bias, how="exact" if both.exact and number == 1 else "bound")
            return self._closed(told, both.low, both.high, rule, () if estimate is None else (ASKED,))

        return sums_of(self._counts.asking, labels, beta, among, reader, change)

    def _asked(self, among: object, reader: str) -> ClosedCounts:
        if among_of(among) == "all":
            rule = "both ends of all sums at once are not known"
            raise ParameterError.of('"all"', rule, "give among= the number of sums, or read closed.to_frame()")
        return self._ends(reader)

    def _closed(
        self, found: Derived, low: Fraction | None, high: Fraction | None, rule: str, more: tuple[str, ...] = ()
    ) -> Derived:
        """A counted value with both ends for what was asked."""
        return replace(
            found,
            low=low,
            high=high,
            rule=rule,
            off=None,
            paid=self.paid,
            remarks=(*self.remarks, *more),
            cut=(False, False),
            empty=low is not None and high is not None and low > high,
            limits="",
            counted=None,
        )

    @plain_arguments
    def difference(
        self, a: object, b: object, *, beta: Number = "0.05", among: int | str = "one", reader: str = ""
    ) -> Derived | DerivedTable:
        """Subtract the counts of some labels from those of others, with both ends for what was asked.

        Parameters
        ----------
        a, b : label, list, range or dict
            The labels whose counts are added, and those whose counts are subtracted; lists of lists for many
            differences.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the difference that was asked, above 0 and at most 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a difference that was picked before looking at the answers. A number: for all
            of that many differences at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived or DerivedTable
            The counted difference, and the interval for the one that was asked.

        Raises
        ------
        DomainError
            If a label is unknown or named twice.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.
        """
        return self._differences(a, b, beta, among, reader, False)

    @plain_arguments
    def compare(
        self, a: object, b: object, *, beta: Number = "0.05", among: int | str = "one", reader: str = ""
    ) -> Derived | DerivedTable:
        """Compare two numbers that were asked: the difference, its interval, and a p-value for the first being larger.

        Parameters
        ----------
        a, b : label, list, range or dict
            The labels on each side; lists of lists for many comparisons.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the difference that was asked, above 0 and at most 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a pair that was picked before looking at the answers. A number: for all of
            that many pairs at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived or DerivedTable
            The counted difference, the interval for the one that was asked, and its p-value.

        Raises
        ------
        DomainError
            If a label is unknown or named twice.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.

        Notes
        -----
        The p-value rests on the law of the sum of both noises. Where counts and profile were bought one after the
        other, the second may have been chosen by the first, and there is none: look whether the interval excludes 0.
        """
        return self._differences(a, b, beta, among, reader, True)

    def _differences(
        self, a: object, b: object, beta: Number, among: int | str, reader: str, compared: bool
    ) -> Derived | DerivedTable:
        ends = self._asked(among, reader)

        def change(query: Query, found: Derived) -> Derived:
            number = found.among if isinstance(found.among, int) else 1
            (low, high), level = ends.difference(query), found.beta / number * HALF
            first, last = ends.end(*low, 0, level), ends.end(*high, 1, level)
            rule = ends.rule(*high) + (f"; union bound over {number:,} questions" if number > 1 else "")
            chance = ends.chance(*low, number) if compared else None
            told = replace(found, bias=DIFFERENCE, how="bound", chance=chance)
            more = (NO_CHANCE,) if compared and chance is None else ()
            return self._closed(told, *_rounded(first, last), rule, more)

        return differences_of(self._counts.asking, a, b, beta, among, reader, change, compared)

    @plain_arguments
    def share(
        self, part: object, whole: object = None, *, beta: Number = "0.05", among: int | str = "one", reader: str = ""
    ) -> Derived | DerivedTable:
        """Divide the sum of some labels by the sum of a whole that contains them, with both ends for what was asked.

        Parameters
        ----------
        part : label, list, range or dict
            The labels of the part.
        whole : label, list, range or dict, optional
            The labels of the whole; all labels by default.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the share that was asked, above 0 and at most 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a share that was picked before looking at the answers. A number: for all of
            that many shares at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived or DerivedTable
            The share of what was counted, and the interval for the share that was asked.

        Raises
        ------
        DomainError
            If a label is unknown, or the part does not lie in the whole.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.

        Notes
        -----
        A share t is too small where (1 - t) times the part less t times the rest, with the least loss of the part and
        the largest of the rest, is above 0 for certain; too large likewise. A whole that may be 0 leaves any share
        possible.
        """
        ends = self._asked(among, reader)

        def change(first: Query, rest: Query, found: Derived) -> Derived:
            from dpviz.model.closed_ratios import RatioTest

            number = found.among if isinstance(found.among, int) else 1
            level = found.beta / number * HALF
            low, high = (
                RatioTest(ends, ends.share_at(first, rest, side), ends.whole_of(first, rest, side), (NONE, WHOLE), side)
                for side in (0, 1)
            )
            rule = f"Fieller's test of counts and classes, inverted: {ends.rule(*low.whole)}"
            rule += f"; union bound over {number:,} questions" if number > 1 else ""
            told = replace(found, bias=SHARE, how="bound")
            return self._closed(told, floor_to(low.end_at(level), FINE), ceil_to(high.end_at(level), FINE), rule)

        return shares_of(self._counts.asking, part, whole, beta, among, reader, change)

    @plain_arguments
    def quantile(
        self, q: object = "1/2", *, beta: Number = "0.05", among: int | str = "one", reader: str = ""
    ) -> DerivedQuantile | DerivedQuantiles:
        """Find the bin up to which a share of all that was asked lies, with an interval.

        Parameters
        ----------
        q : str, float, Fraction or list, default "1/2"
            The share, above 0 and below 1; a list of shares for many quantiles.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss a quantile, above 0 and below 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a quantile that was picked before looking at the answers. A number: for all of
            that many quantiles at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        DerivedQuantile or DerivedQuantiles
            The bin of what was counted, with the interval for what was asked; several where a list is given.

        Raises
        ------
        DomainError
            If the bins have no order.
        ParameterError
            If a share, `beta`, `among` or `reader` is outside its range.

        Notes
        -----
        A quantile is one of pairs of user and bin: users in many bins count more often.
        """
        from dpviz.model.closed_order import quantiles_of

        return quantiles_of(self._ends(reader), self.paid, q, beta, among)

    @plain_arguments
    def median(self, *, beta: Number = "0.05", among: int | str = "one", reader: str = "") -> DerivedQuantile:
        """Find the bin with half of all that was asked up to it, with an interval.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss a median, above 0 and below 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a quantile that was picked before looking at the answers. A number: for all of
            that many quantiles at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        DerivedQuantile
            The bin of what was counted, with the interval for what was asked.

        Raises
        ------
        DomainError
            If the bins have no order.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.
        """
        from dpviz.model.closed_order import ClosedQuantiles

        return ClosedQuantiles(self._ends(reader), self.paid, beta, among).quantile(HALF)

    @plain_arguments
    def mean(self, *, beta: Number = "0.05", among: int | str = "one", reader: str = "") -> Derived:
        """Find the mean of the numbers in the bins, with both ends for what was asked.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the mean, above 0 and below 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a mean that was picked before looking at the answers. A number: for all of
            that many such questions at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived
            The mean of what was counted, with the interval for what was asked.

        Raises
        ------
        DomainError
            If the bins have no order, or hold no numbers.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.
        """
        from dpviz.model.closed_order import ClosedMeans

        return ClosedMeans(self._ends(reader), self.paid, beta, among).mean()

    @single_arguments
    def cumulative(self, beta: Number = "0.05", reader: str = "") -> DerivedTable:
        """Find the share up to each bin of all that was asked, with intervals that hold for all bins at once.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often any of the intervals may miss its share, above 0 and below 1.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        DerivedTable
            One share for each bin, in order; of many bins, 256 at most, evenly spread.

        Raises
        ------
        DomainError
            If the bins have no order.
        ParameterError
            If `beta` or `reader` is outside its range.
        """
        from dpviz.model.closed_order import ClosedShares

        return ClosedShares(self._ends(reader), self.paid, beta, "one").table()

    @single_arguments
    def to_frame(self, beta: Number = "0.05", reader: str = "") -> pd.DataFrame:
        """Return one row per bin, with both ends for what was asked and for what was counted.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often an interval may miss its number, above 0 and at most 1.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        DataFrame
            Columns: bin; value, as counted; low and high, for the number asked of this bin; low_all and high_all, of
            all bins at once; and low_counted, high_counted, low_all_counted and high_all_counted, for what was counted.
            No upper end is below that for what was counted. ``frame.attrs["limits"]`` says which limit was closed and
            how.

        Raises
        ------
        ParameterError
            If `beta` or `reader` is outside its range.
        ReleaseFormat
            If the answer has no rows.
        """
        ends, level = self._ends(reader), probability(beta, "beta", zero=False)
        subject, plain = self._counts.asking, self._counts.to_frame(beta, reader)
        rows = [subject.answer.row_operand(subject.reading, row)[1] for row in range(len(plain))]
        queries = [Query.of((points, 1)) for points in rows]
        single = ends.row_ends(queries, level)
        columns: dict[str, Any] = {
            "low": [one.low_number for one in single],
            "high": [one.high_number for one in single],
        }
        halved = self._counts.intervals(level * HALF, "all", reader, "counted")
        if halved is not None:
            columns["low_all"], columns["high_all"] = ends.all_ends(queries, halved.low, halved.high, level)
        for ending, among in (("", "one"), ("_all", "all")):
            counted = self._counts.intervals(beta, among, reader, "counted")  # type: ignore[arg-type]
            if counted is not None:
                columns |= {f"low{ending}_counted": counted.low, f"high{ending}_counted": counted.high}
                if (high := columns.get(f"high{ending}")) is not None:
                    columns[f"high{ending}"] = no_lower(high, counted.high)
        frame = plain.drop(columns=[name for name in plain if str(name).startswith(("low", "high"))]).assign(**columns)
        return told(marked(frame, *self.paid), " ".join(ends.remarks))

    @single_arguments
    def to_csv(self, path: str | Path | None = None, beta: Number = "0.05") -> str | None:
        """Write the frame of `to_frame` as CSV, preceded by comment lines that state both guarantees.

        Parameters
        ----------
        path : str or Path, optional
            The file to write. Left out, the text is returned.
        beta : str, float or Fraction, default "0.05"
            How often an interval may miss its number, above 0 and at most 1.

        Returns
        -------
        str or None
            The text, where no path is given.

        Raises
        ------
        ParameterError
            If `beta` is outside its range, the name of the file promises another format, or the file cannot be written.
        ReleaseFormat
            If the answer has no rows.

        See Also
        --------
        dpviz.Release.to_csv : how labels and numbers are written, and the calls that read them.

        Notes
        -----
        A page that shows these counts with this profile saves the same lines.
        """
        counts, level = self._counts, text(probability(beta, "beta", zero=False))
        kept = "not private: seeded teaching draw" if counts.teaching is not None else _promised(counts)
        about = (kept, *self.beside, counts.sentence, f"intervals fail at most {level} of the time")
        return table(filter(None, about), lambda: self.to_frame(beta), path)

    @plain_arguments
    def chart(self, **options: Any) -> Any:
        """Draw what was counted and what was asked as an Altair chart; see `dpviz.charts.of_closed`.

        Parameters
        ----------
        **options
            Options of the chart: `beta`, `theme`, `width` and `bars`.

        Returns
        -------
        altair.Chart
            The chart, with a thin bar for what was counted and a wide one for what was asked.

        Raises
        ------
        ParameterError
            If an option is unknown or outside its range.
        """
        return pkgutil.resolve_name("dpviz.charts:of_closed")(self, **options)

    def __repr__(self) -> str:
        return f"<Closed: {self._counts!r} by {self._profile!r}>"


protect_module(vars())
