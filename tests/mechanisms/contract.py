"""The contract every mechanism is held to: how it draws, what it costs and how far off it is must agree.

A case brings a bound mechanism on a small domain and an *oracle*: the exact law of one released bin, written from the
paper's definition and from nothing in `dpviz.mechanisms`, `dpviz.noise` or `dpviz.laws`. The contract then enumerates
every vector of counts and every pair of neighbours. Numbers are intervals of rationals, so nothing is rounded away.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

from dpviz.exact import Enclosure, exp_bounds
from dpviz.model.answers import Answer, SparseTable, Table
from dpviz.model.error import ErrorValue
from dpviz.model.mechanism import Bound, Mode
from dpviz.model.statistic import DenseCounts, SparseCounts, Statistic, StatisticKind
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import Unit

FALSE_ALARM = 1e-9
"""The chance that a right sampler fails one statistical check. Seeds are fixed, so a pass stays a pass."""

Law = dict[int, Enclosure]
"""The law of one released bin: value to probability, enclosed. Unbounded laws are cut where the contract says so."""


@dataclass(frozen=True)
class Case:
    """One mechanism, bound, with the oracle for its released bins.

    most    counts run from 0 to this in the enumeration
    oracle  true value to the exact law of its released value (independent across values)
    asked   the true values of an answer, from the counts of all bins: those counts, unless a mechanism asks for others
    drawn   the values of an answer as they were drawn, where they are no counts of bins
    """

    name: str
    bound: Bound
    most: int
    oracle: Callable[[int], Law]
    asked: Callable[[tuple[int, ...]], tuple[int, ...]] | None = None
    drawn: Callable[[Answer], np.ndarray] | None = None

    def law(self, count: int) -> Law:
        return _kept(self, count)


@cache
def _laws() -> dict[tuple[int, int], tuple[Case, Law]]:
    """Kept with their cases, so that no later case has the number of one that is gone."""
    return {}


def _kept(case: Case, count: int) -> Law:
    store = _laws()
    key = (id(case), count)
    if key not in store:
        store[key] = case, case.oracle(count)
    return store[key][1]


# ---------------------------------------------------------------- price


def moves(unit: Unit, bins: int) -> Iterator[tuple[int, ...]]:
    """Every way one unit can move the counts: `after - before`, from the definition of the relation."""
    most = bins if unit.max_bins is None else unit.max_bins
    alone = [
        vector
        for vector in itertools.product(range(unit.max_per_bin + 1), repeat=bins)
        if sum(1 for part in vector if part) <= most and (unit.max_records is None or sum(vector) <= unit.max_records)
    ]
    if unit.relation == "add-remove":
        for vector in alone:
            yield vector
            yield tuple(-part for part in vector)
    else:
        for gone, come in itertools.product(alone, repeat=2):
            yield tuple(after - before for before, after in zip(gone, come, strict=True))


def worst_ratio(case: Case) -> Enclosure:
    """The largest ratio of an answer's probabilities over all neighbouring pairs of counts in 0..most, enclosed."""
    return _once(_worst_ratio, case)


@cache
def _found() -> dict[tuple[Any, ...], tuple[Case, Any]]:
    """Kept with their cases, as laws are: what is right and what is wrong are held against one enumeration."""
    return {}


def _once(enumerate_: Callable[..., Enclosure], case: Case, *given: Any) -> Enclosure:
    store, key = _found(), (enumerate_, id(case), *given)
    if key not in store:
        store[key] = case, enumerate_(case, *given)
    found: Enclosure = store[key][1]
    return found


def _worst_ratio(case: Case) -> Enclosure:
    """Values are independent, so the worst answer for a pair is the worst value in each place. Where the values are
    counts of bins, pairs differ in each bin by themselves, and fewer need a look.
    """

    @cache
    def bin_ratio(before: int, after: int) -> Enclosure:
        first, second = case.law(before), case.law(after)
        low, high = Fraction(0), Fraction(0)
        for value in first.keys() & second.keys():
            (a_low, a_high), (b_low, b_high) = first[value], second[value]
            if a_high == 0:
                continue
            assert b_low > 0, f"value {value} is possible at {before} and impossible at {after}: no price covers it"
            low, high = max(low, a_low / b_high), max(high, a_high / b_low)
        assert first.keys() == second.keys(), f"the oracle must give {before} and {after} chances for the same values"
        return low, high

    bins = case.bound.question.bins
    best = (Fraction(0), Fraction(0))
    if case.asked is not None:
        steps = {
            tuple(sorted(zip(case.asked(before), case.asked(after), strict=True))) for before, after in neighbours(case)
        }
        for pairs in steps:
            low = high = Fraction(1)
            for pair in pairs:
                ratio = bin_ratio(*pair)
                low, high = low * ratio[0], high * ratio[1]
            best = (max(best[0], low), max(best[1], high))
        return best
    for move in set(moves(case.bound.unit, bins)):
        low = high = Fraction(1)
        for step in move:
            starts = [count for count in range(case.most + 1) if 0 <= count + step <= case.most]
            ratios = [bin_ratio(count, count + step) for count in starts]
            low *= max(ratio[0] for ratio in ratios)
            high *= max(ratio[1] for ratio in ratios)
        best = (max(best[0], low), max(best[1], high))
    return best


def check_price(case: Case, *, exact_odds: Enclosure) -> None:
    """The worst ratio is exactly the odds the mechanism states, and what is charged is not below it."""
    low, high = worst_ratio(case)
    assert low <= exact_odds[1] and high >= exact_odds[0], (
        f"the stated price is not the worst ratio: the odds must be those of the worst pair of neighbours, "
        f"{float(low):.9g}, and are {float(exact_odds[0]):.9g}"
    )
    check_narrow(case, low, high)
    charged = exp_bounds(case.bound.price.epsilon, 256)[1]
    assert charged >= low, (
        f"{case.name}: the charge must cover the worst ratio, {float(low):.9g}, and covers {float(charged):.9g}"
    )


def check_narrow(case: Case, low: Fraction, high: Fraction) -> None:
    assert high - low < Fraction(1, 10**25), (
        f"{case.name}: the oracle's enclosures must be narrow enough to tell a price from a near-wrong one: within "
        f"1e-25 in all, and they are {float(high - low):.1e} wide"
    )


def output_law(case: Case, counts: tuple[int, ...]) -> dict[tuple[int, ...], Enclosure]:
    """The law of a whole answer, one value per bin; a bin that is not shown reads 0."""
    laws = [case.law(count) for count in counts]
    found: dict[tuple[int, ...], Enclosure] = {}
    for values in itertools.product(*laws):
        low = high = Fraction(1)
        for value, law in zip(values, laws, strict=True):
            low, high = low * law[value][0], high * law[value][1]
        found[values] = low, high
    return found


def neighbours(case: Case) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every pair of neighbouring vectors of counts in 0..most, of at most n rows where n is public."""
    bins, n = case.bound.question.bins, case.bound.unit.n
    vectors = itertools.product(range(case.most + 1), repeat=bins)
    known = {vector for vector in vectors if n is None or sum(vector) <= n}
    steps = set(moves(case.bound.unit, bins))
    for before, step in itertools.product(sorted(known), sorted(steps)):
        after = tuple(count + part for count, part in zip(before, step, strict=True))
        if after in known:
            yield before, after


def worst_delta(case: Case, odds: Enclosure) -> Enclosure:
    """The largest hockey-stick divergence at e^epsilon = odds over all neighbouring pairs, enclosed."""
    return _once(_worst_delta, case, odds)


def _worst_delta(case: Case, odds: Enclosure) -> Enclosure:
    """The sum over whole answers of what one probability exceeds the other by, after the odds."""
    law = cache(lambda counts: output_law(case, counts))
    worst = (Fraction(0), Fraction(0))
    impossible = (Fraction(0), Fraction(0))
    for pair in neighbours(case):
        first, second = law(pair[0]), law(pair[1])
        low = high = Fraction(0)
        for answer, (a_low, a_high) in first.items():
            b_low, b_high = second.get(answer, impossible)
            low += max(Fraction(0), a_low - odds[1] * b_high)
            high += max(Fraction(0), a_high - odds[0] * b_low)
        worst = max(worst[0], low), max(worst[1], high)
    return worst


def check_delta(case: Case, *, exact_odds: Enclosure, exact_delta: Enclosure) -> None:
    """The worst divergence at the stated odds is exactly the stated delta, and what is charged is not below it."""
    low, high = worst_delta(case, exact_odds)
    assert low <= exact_delta[1] and high >= exact_delta[0], (
        f"the stated delta is not the worst divergence: it must be that of the worst pair of neighbours, "
        f"{float(low):.9g}, and is {float(exact_delta[0]):.9g}"
    )
    check_narrow(case, low, high)
    assert exp_bounds(case.bound.price.epsilon, 256)[1] >= exact_odds[0], (
        f"{case.name}: the charged epsilon must cover the odds that the delta is stated at"
    )
    assert case.bound.price.loss.delta >= high, (
        f"{case.name}: the charged delta must cover the worst divergence, {float(high):.9g}"
    )


# ---------------------------------------------------------------- error


def tail(case: Case, count: int, a: int) -> Enclosure:
    """P[|released - count| > a], enclosed."""
    inside = [pair for value, pair in case.law(count).items() if abs(value - count) <= a]
    return 1 - sum((pair[1] for pair in inside), Fraction(0)), 1 - sum((pair[0] for pair in inside), Fraction(0))


def check_one_bin(case: Case, beta: Fraction) -> None:
    """The stated error holds at every count, and one less fails at some count."""
    a = stated_error(case, "one_bin", case.bound.error.one_bin(beta))
    counts = range(case.most + 1)
    missed = [count for count in counts if tail(case, count, a)[1] > beta]
    assert not missed, f"{case.name}: the error {a} of one bin must hold but for {beta}, and does not at {missed}"
    least = any(tail(case, count, a - 1)[0] > beta for count in counts)
    assert a == 0 or least, smaller(case, "one bin", a, case.most)
    for count in counts:
        own = stated_error(case, "one_bin", case.bound.error.one_bin(beta, count=count))
        assert tail(case, count, own)[1] <= beta, (
            f"{case.name}: the error {own} stated for a count of {count} must hold there but for {beta}"
        )
        assert own == 0 or tail(case, count, own - 1)[0] > beta, (
            f"{case.name}: the error stated for a count of {count} must be the least that holds: {own - 1} would hold"
        )


def stated_error(case: Case, measure: str, stated: ErrorValue | None) -> int:
    """The whole number that an error model states."""
    assert stated is not None, f"{case.name}: the law must state `{measure}`, and its error model says nothing"
    assert stated.value.denominator == 1, f"{case.name}: `{measure}` must be whole, as counts are: {stated.value}"
    return int(stated.value)


def smaller(case: Case, measure: str, a: int, largest: int) -> str:
    """Why no count shows that an error one less fails: where all counts are small, the clamp at 0 hides it."""
    if largest <= a:
        return (
            f"{case.name}: `most` must exceed the largest error: counts up to {largest} do not show an error of {a}, "
            "so a smaller error would hold for them"
        )
    return f"{case.name}: the error of {measure} must be the least that holds, and a smaller error would hold: {a - 1}"


def check_all_bins(case: Case, beta: Fraction, vectors: list[tuple[int, ...]]) -> None:
    """The stated simultaneous error holds for every vector of counts, and one less fails for some vector."""
    a = stated_error(case, "all_bins", case.bound.error.all_bins(beta))

    def holds(distance: int, side: int) -> list[Fraction]:
        found = []
        for vector in vectors:
            chance = Fraction(1)
            for count in vector:
                chance *= 1 - tail(case, count, distance)[side]
            found.append(chance)
        return found

    assert min(holds(a, 1)) >= 1 - beta, (
        f"{case.name}: the error {a} of all bins must hold in all at once but for {beta}, for each of the vectors"
    )
    largest = max(map(max, vectors))
    assert a == 0 or min(holds(a - 1, 0)) < 1 - beta, smaller(case, "all bins", a, largest)


# ---------------------------------------------------------------- draws


def check_draws(case: Case, counts: tuple[int, ...], draws: int, mode: Mode, seed: int) -> float:
    """The least p-value over the bins of a chi-square test of `draws` releases against the oracle."""
    return check_drawn(case, counts, drawn(case, counts, draws, mode, seed))


def drawn(case: Case, counts: tuple[int, ...], draws: int, mode: Mode, seed: int) -> np.ndarray:
    """The values of so many releases, a row each."""
    bits = TeachingBits(seed)
    statistic = statistic_of(case.bound, counts)
    answers = [case.bound.draw(statistic, bits, mode=mode) for _ in range(draws)]
    return np.array([row(one, len(counts)) if case.drawn is None else case.drawn(one) for one in answers])


def check_drawn(case: Case, counts: tuple[int, ...], rows: np.ndarray) -> float:
    """The same of values that were drawn before: one draw is held against a law and its twins."""
    asked = counts if case.asked is None else case.asked(counts)
    return min(p_value(rows[:, place], case.law(value)) for place, value in enumerate(asked))


def statistic_of(bound: Bound, counts: tuple[int, ...]) -> Statistic:
    """These counts of a declared domain, as the mechanism needs them."""
    exact = np.array(counts, dtype=np.int64)
    if bound.needs is StatisticKind.DENSE:
        return DenseCounts(exact)
    occupied = np.flatnonzero(exact)
    return SparseCounts(occupied.astype(np.uint64), exact[occupied])


def row(answer: Answer, bins: int) -> np.ndarray:
    """One value per bin; a bin that is not shown reads 0."""
    if isinstance(answer, Table):
        return answer.values
    assert isinstance(answer, SparseTable)
    values = np.zeros(bins, dtype=np.int64)
    values[list(answer.labels)] = answer.values
    return values


def p_value(values: np.ndarray, law: Law) -> float:
    """Chi-square of observed values against a law; cells with under 20 expected draws are pooled at each end."""
    support = sorted(law)
    if len(support) == 1:
        return float((values == support[0]).all())
    expected = np.array([float(sum(law[value], Fraction(0)) / 2) for value in support]) * len(values)
    seen_at = dict(zip(*(part.tolist() for part in np.unique(values, return_counts=True)), strict=True))
    observed = np.array([seen_at.get(value, 0) for value in support], dtype=float)
    beyond = len(values) - observed.sum()
    if beyond:
        observed[-1] += beyond
    expected[-1] += len(values) - expected.sum()
    cells: list[list[float]] = []
    for seen, wanted in zip(observed, expected, strict=True):
        if cells and cells[-1][1] < 20:
            cells[-1][0] += seen
            cells[-1][1] += wanted
        else:
            cells.append([seen, wanted])
    if len(cells) > 1 and cells[-1][1] < 20:
        seen, wanted = cells.pop()
        cells[-1][0] += seen
        cells[-1][1] += wanted
    if len(cells) == 1:  # all but one value too rare to test with so few draws
        return 1.0
    statistic = sum((seen - wanted) ** 2 / wanted for seen, wanted in cells)
    return float(stats.chi2.sf(statistic, len(cells) - 1))
