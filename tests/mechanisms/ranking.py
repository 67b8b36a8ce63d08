"""The contract of mechanisms that name the largest items: the law of whole lists, and what one unit can do to it.

Laws are computed here from the paper's definitions and from nothing in the package, as fractions, with exp(rate)
replaced by a rational `base`: who competes, m, gap and delta do not depend on the rate. An answer is a tuple of labels,
with `NO_MORE` where the bottom symbol came.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

import dpviz as dv
from dpviz.mechanisms.ranked import Contest
from dpviz.model.answers import Ranked
from dpviz.model.question import Question
from dpviz.model.statistic import TopCounts

FALSE_ALARM = 1e-9
"""The chance that a right sampler fails one statistical check. Seeds are fixed, so a pass stays a pass."""

NO_MORE = -1

Counts = tuple[int, ...]
Law = dict[tuple[int, ...], Any]
"""From an answer to its probability: fractions, or doubles where a rate is irrational to the base."""


def bins(number: int) -> Question:
    return Question.of(dv.Domain.integers(0, number - 1, column="x"))


# ---------------------------------------------------------------- definitions


def order(counts: Counts) -> list[int]:
    """Labels by count, the largest first, equal counts by label."""
    return sorted(range(len(counts)), key=lambda label: (-counts[label], label))


def orders(counts: Counts) -> Iterator[list[int]]:
    """Every order by count that an engine may use, whatever it does with equal counts."""
    groups = [[label for label in order(counts) if counts[label] == value] for value in sorted(set(counts))[::-1]]
    for step_price in itertools.product(*(list(itertools.permutations(group)) for group in groups)):
        yield [label for part in step_price for label in part]


def statistic(counts: Counts, rows: int, labels: Sequence[int] | None = None) -> TopCounts:
    """What an engine gives for the `rows` largest of these counts: no empty bin, and the next count."""
    occupied = [label for label in (order(counts) if labels is None else labels) if counts[label]]
    kept = occupied[:rows]
    following = counts[occupied[rows]] if len(occupied) > rows else 0
    return TopCounts(kept, np.array([counts[label] for label in kept], dtype=np.int64), following)


@dataclass(frozen=True)
class Limited:
    """LimitDom by its definition (Durfee, Rogers, Algorithms 1, 3 and 5), for one histogram of all bins.

    m, gap   the bottom symbol has the weight m/delta * base^gap beside a weight of 1 for the next count; m = 0: none
    """

    rule: str
    k: int
    kbar: int
    m: int
    gap: int
    base: Any
    delta: Fraction

    def law(self, counts: Counts, labels: Sequence[int] | None = None) -> Law:
        labels = order(counts) if labels is None else labels
        ranked = [counts[label] for label in labels] + [0] * (self.kbar + 1)
        c = ranked[self.kbar] + self.gap
        least = {"paper": 0, "positive": 1, "strict": ranked[self.kbar] + 1}[self.rule]
        weights = {label: self.base ** (counts[label] - c) for label in labels[: self.kbar] if counts[label] >= least}
        if self.m:
            weights[NO_MORE] = self.m / self.delta
        return peeled(weights, self.k)


def peeled(weights: Mapping[int, Any], k: int) -> Law:
    """Draw k symbols in proportion to weights, without putting back; nothing follows the bottom symbol."""
    if not k or not weights:
        return {(): Fraction(1)}
    total, law = sum(weights.values()), {}
    for symbol, weight in weights.items():
        if symbol == NO_MORE:
            law[(NO_MORE,)] = weight / total
            continue
        rest = {other: w for other, w in weights.items() if other != symbol}
        for answer, chance in peeled(rest, k - 1).items():
            law[(symbol, *answer)] = weight / total * chance
    return law


def law_of(contest: Contest, k: int, base: Any) -> Law:
    """The law of what a mechanism is about to draw, if exp(rate) is the base."""
    reference = max(contest.counts.tolist(), default=0)
    counts = contest.counts.tolist()
    candidates = zip(contest.items[: len(counts)], counts, strict=True)
    weights = {item: base ** (count - reference) for item, count in candidates}
    if contest.bottom is not None:
        weights[NO_MORE] = contest.bottom.odds * base ** (contest.bottom.count - reference)
    return peeled(weights, k)


def answer_of(ranked: Ranked) -> tuple[int, ...]:
    return (*ranked.items, NO_MORE) if ranked.ended else ranked.items  # type: ignore[return-value]


# ---------------------------------------------------------------- neighbours


def contributions(unit: dv.Unit, number: int) -> list[Counts]:
    """Everything one unit may add to the counts, nothing included."""
    most = number if unit.max_bins is None else unit.max_bins
    every = itertools.product(range(unit.max_per_bin + 1), repeat=number)
    return [vector for vector in every if sum(part > 0 for part in vector) <= most]


@cache
def neighbours(unit: dv.Unit, number: int, most: int) -> list[tuple[Counts, Counts]]:
    """Every ordered pair of neighbouring histograms that differ in one unit beside others of counts 0..most."""
    alone = contributions(unit, number)
    nothing = (0,) * number
    swaps = itertools.product(alone, alone if unit.relation == "replace-one" else [nothing])
    found = set()
    for (one, other), others in itertools.product(swaps, itertools.product(range(most + 1), repeat=number)):
        before = tuple(map(sum, zip(one, others, strict=True)))
        after = tuple(map(sum, zip(other, others, strict=True)))
        if before != after:
            found |= {(before, after), (after, before)}
    return sorted(found)


def hockey_stick(first: Law, second: Law, odds: Any) -> Any:
    """How much the first law exceeds the second by, after the odds, summed over answers."""
    return sum(max(0, chance - odds * second.get(answer, 0)) for answer, chance in first.items())


def worst_delta(law: Callable[[Counts], Law], pairs: Sequence[tuple[Counts, Counts]], odds: Any) -> Any:
    """The largest hockey-stick divergence at `odds` over all of these pairs."""
    known = cache(law)
    return max(hockey_stick(known(first), known(second), odds) for first, second in pairs)


def worst_ratio(law: Callable[[Counts], Law], pairs: Sequence[tuple[Counts, Counts]]) -> Any:
    """The largest ratio of an answer's probabilities over all of these pairs."""
    known = cache(law)
    return max(
        chance / known(second)[answer] for first, second in pairs for answer, chance in known(first).items() if chance
    )


# ---------------------------------------------------------------- draws


class Cells:
    """A chi-square over many laws at once: each histogram's answers, the rare ones of a histogram together."""

    def __init__(self) -> None:
        self.statistic, self.distance, self.freedom = 0.0, 0.0, 0

    def add(self, answers: Sequence[tuple[int, ...]], law: Law, twin: Law) -> None:
        """Count the answers drawn from one histogram against its law; note how far the twin's law is from it."""
        draws = len(answers)
        common = [answer for answer, chance in law.items() if float(chance) * draws >= 20]
        rows = []
        for answer in common:
            rows.append((answers.count(answer), float(law[answer]), float(twin.get(answer, 0))))
        rest = [draws - sum(row[0] for row in rows), *(1 - sum(row[side] for row in rows) for side in (1, 2))]
        assert set(answers) <= set(law), "an answer came that cannot come"
        if rest[1] * draws >= 20:
            rows.append(tuple(rest))  # type: ignore[arg-type]
        for seen, share, wrong in rows:
            self.statistic += (seen - share * draws) ** 2 / (share * draws)
            self.distance += draws * (share - wrong) ** 2 / share
        self.freedom += max(0, len(rows) - 1)

    @property
    def p_value(self) -> float:
        return float(stats.chi2.sf(self.statistic, self.freedom))

    @property
    def power(self) -> float:
        """About the chance that a sampler of the twin's law would be rejected."""
        return float(stats.ncx2.sf(stats.chi2.isf(FALSE_ALARM, self.freedom), self.freedom, self.distance))
