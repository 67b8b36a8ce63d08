"""The laws of the ranked lists, enumerated: exact fractions for small histograms, from the definitions alone.

A histogram is a list of counts, one for each label 0, 1, ...; labels are the tie rule. `base` is exp(rate), a fraction
above 1, so that every weight is a fraction. The result is a tuple of labels in the order of the list, which ends with
-1 where the bottom symbol came; or an ascending tuple, where the answer is a set.

Functions called printed_... compute what the paper prints and what is not private: to be shown on public data.

Source: Durfee, Rogers 2019 (arXiv 1905.04273), Algorithms 1, 3, 4, 5, 6, 8.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal, TypeAlias, TypeVar

Outcome: TypeAlias = tuple[int, ...]
Law: TypeAlias = dict[Outcome, Fraction]
Rule: TypeAlias = Literal["positive", "strict", "paper"]
Seen = TypeVar("Seen", bound=Hashable)

ENDED = -1
"""The bottom symbol in an outcome."""


def hockey_stick(law: Mapping[Seen, Fraction], other: Mapping[Seen, Fraction], ratio: Fraction) -> Fraction:
    """The least delta with Pr[law in S] <= ratio * Pr[other in S] + delta for every set S of outcomes.

    >>> hockey_stick({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 1: Fraction(3, 4)}, Fraction(2))
    Fraction(1, 4)
    """
    excess = (chance - ratio * other.get(outcome, Fraction(0)) for outcome, chance in law.items())
    return sum((part for part in excess if part > 0), Fraction(0))


def ranked(histogram: Sequence[int]) -> list[int]:
    """Labels by count, largest first; equal counts by label.

    >>> ranked([3, 5, 5, 0])
    [1, 2, 0, 3]
    """
    return sorted(range(len(histogram)), key=lambda label: (-histogram[label], label))


def peeled(weights: Mapping[int, Fraction], k: int, bottom: Fraction | None = None) -> Law:
    """The law of peeling: each next symbol is drawn from those that remain in proportion to its weight.

    At most k symbols; the bottom symbol, where it has a weight, ends the list.

    >>> law = peeled({1: Fraction(1), 2: Fraction(1)}, 2, Fraction(10))
    >>> law[(-1,)], law[(1, -1)], law[(1, 2)]
    (Fraction(5, 6), Fraction(5, 66), Fraction(1, 132))
    """
    law: Law = {}

    def extend(drawn: Outcome, chance: Fraction) -> None:
        remaining = {label: weight for label, weight in weights.items() if label not in drawn}
        if len(drawn) == k or (not remaining and bottom is None):
            law[drawn] = chance
            return
        total = sum(remaining.values(), bottom or Fraction(0))
        if bottom is not None:
            law[(*drawn, ENDED)] = chance * bottom / total
        for label, weight in remaining.items():
            # Each symbol in proportion to its weight among those that remain (Lemma 4.2).
            extend((*drawn, label), chance * weight / total)

    extend((), Fraction(1))
    return law


@dataclass(frozen=True)
class Competition:
    """Which labels compete, and with which bottom symbol (Algorithms 1 and 5).

    kbar   how many of the largest counts may compete
    rule   "positive": those above 0; "strict": those above the next count; "paper": all kbar, zeros of the declared
           labels too, and no bottom symbol where these are all labels
    moved  how many labels can enter or leave the largest kbar between neighbours (Delta; None: no limit); "strict" does
           not use it
    gap    how much one unit can move a count
    """

    delta: Fraction
    kbar: int
    rule: Rule = "positive"
    moved: int | None = None
    gap: int = 1

    @property
    def m(self) -> int:
        return self.kbar if self.rule == "strict" or self.moved is None else min(self.moved, self.kbar)

    def labels(self, histogram: Sequence[int]) -> list[int]:
        least = {"positive": 0, "strict": self.next_count(histogram), "paper": -1}[self.rule]
        return [label for label in ranked(histogram)[: self.kbar] if histogram[label] > least]

    def next_count(self, histogram: Sequence[int]) -> int:
        return sorted(histogram, reverse=True)[self.kbar] if len(histogram) > self.kbar else 0

    def bottom(self, histogram: Sequence[int], base: Fraction) -> Fraction | None:
        """The weight of the bottom symbol."""
        if self.rule == "paper" and self.kbar == len(histogram):
            return None
        # Algorithm 1: the bottom symbol has the count of the first item that does not compete, moved by the gap, plus
        # ln(m / delta) / rate.
        return self.m / self.delta * base ** (self.next_count(histogram) + self.gap)


def limit_domain(histogram: Sequence[int], base: Fraction, k: int, domain: Competition) -> Law:
    """LimitDom by peeling (Algorithm 3; by Lemma 4.2 Algorithm 1 has the same law)."""
    weights = {label: base ** histogram[label] for label in domain.labels(histogram)}
    return peeled(weights, k, domain.bottom(histogram, base))


def exponential(histogram: Sequence[int], base: Fraction, k: int) -> Law:
    """Peeling over all labels, no bottom symbol: the exponential mechanism k times (Corollary 4.1)."""
    return peeled({label: base**count for label, count in enumerate(histogram)}, k)


# ---------------------------------------------------------------- a private choice of kbar


def chosen_kbar(histogram: Sequence[int], base: Fraction, domains: Iterable[Competition]) -> dict[int, Fraction]:
    """The exponential mechanism over kbar: its odds are delta / m * base ** -next_count (Algorithm 6, corrected)."""
    # Algorithm 6 draws the least of scores; the correction is the exponential mechanism on their negatives.
    weights = {domain.kbar: domain.delta / domain.m / base ** domain.next_count(histogram) for domain in domains}
    total = sum(weights.values())
    return {kbar: weight / total for kbar, weight in weights.items()}


def private_kbar(
    histogram: Sequence[int], base: Fraction, k: int, domains: Sequence[Competition]
) -> dict[tuple[int, Outcome], Fraction]:
    """kbar drawn from the domains offered, then LimitDom for k - 1 symbols (Algorithm 6, corrected)."""
    chances = chosen_kbar(histogram, base, domains)
    return {
        (domain.kbar, outcome): chances[domain.kbar] * chance
        for domain in domains
        for outcome, chance in limit_domain(histogram, base, k - 1, domain).items()
    }


def printed_chosen_kbar(
    histogram: Sequence[int], base: Fraction, delta: Fraction, k: int, largest: int
) -> dict[int, Fraction]:
    """kbar as Algorithm 6 prints it, which is not private: the argmin of count + ln(i / delta) / rate + Gumbel.

    Gumbel noise is skewed, so the least of such scores is not drawn by the exponential mechanism. Here Pr[all others
    are larger] is summed over the sets of others that are smaller, with alternating signs.
    """
    counts = sorted(histogram, reverse=True)
    weights = {i: base ** counts[i - 1] * i / delta for i in range(k, largest + 1)}

    def least(i: int) -> Fraction:
        others = [weight for at, weight in weights.items() if at != i]
        sums = [(Fraction(0), 1)]
        for weight in others:
            # Inclusion and exclusion over the sets of others whose score is smaller.
            sums += [(total + weight, -sign) for total, sign in sums]
        return sum((sign * weights[i] / (weights[i] + total) for total, sign in sums), Fraction(0))

    return {i: least(i) for i in weights}


# ---------------------------------------------------------------- a fixed threshold


def fixed_threshold(histogram: Sequence[int], base: Fraction, delta: Fraction, k: int) -> Law:
    """Each label above the (k + 1)-st count joins the set by its own coin (Algorithm 8, corrected)."""
    domain = Competition(delta, k, "strict")
    above = domain.next_count(histogram) + 1
    coins = {label: laplace_passes(histogram[label] - above, base, delta) for label in domain.labels(histogram)}
    return _sets(coins)


def printed_fixed_threshold(histogram: Sequence[int], base: Fraction, delta: Fraction, k: int) -> Law:
    """Algorithm 8 as printed, which is not private: the true count is compared with the threshold before its coin."""
    domain = Competition(delta, k, "strict")
    above = domain.next_count(histogram) + 1
    excess = {label: histogram[label] - above for label in ranked(histogram)[:k]}
    passed = {label: by for label, by in excess.items() if base**by * 2 * delta > 1}
    return _sets({label: laplace_passes(by, base, delta) for label, by in passed.items()})


def laplace_passes(excess: int, base: Fraction, delta: Fraction) -> Fraction:
    """Pr[excess + Laplace(1/rate) > ln(1 / (2 delta)) / rate]."""
    x = delta * base**excess
    # With x = delta e^(rate excess): the upper tail of a Laplace number below its median, else one minus the lower.
    return x if 2 * x <= 1 else 1 - 1 / (4 * x)


def _sets(coins: Mapping[int, Fraction]) -> Law:
    """The law of a set that each label joins on its own."""
    law: Law = {(): Fraction(1)}
    for label in sorted(coins):
        law = {
            outcome + joined: chance * part
            for outcome, chance in law.items()
            for joined, part in (((), 1 - coins[label]), ((label,), coins[label]))
        }
    return law


# ---------------------------------------------------------------- discrete Laplace noise


def laplace_limit_domain(histogram: Sequence[int], base: Fraction, k: int, domain: Competition, offset: int) -> Law:
    """LimitDom with integer noise of ratio 1/base on every count and on the threshold (Algorithm 4, integer form).

    The threshold is next_count + gap + offset. An item is above it where its noisy count is larger; a tie is below.
    Equal noisy counts are ordered by label.
    """
    labels = sorted(domain.labels(histogram))
    centres = [domain.next_count(histogram) + domain.gap + offset, *(histogram[label] for label in labels)]
    law: Law = {}
    for order, chance in noisy_order(centres, base).items():
        above = [labels[place - 1] for place in order[: order.index(0)]]
        outcome = tuple(above[:k]) if len(above) >= k else (*above, ENDED)
        law[outcome] = law.get(outcome, Fraction(0)) + chance
    return law


def noisy_order(centres: Sequence[int], base: Fraction) -> Law:
    """The law of the order of centres + noise, largest first, equal ones by place: Pr[noise = z] ~ base ** -|z|.

    Beyond the outermost centres the noise has no memory: those above exceed the largest centre by independent geometric
    numbers, and so do those below, downward. Between them every level is looked at.
    """
    p = 1 / base
    high, low = max(centres), min(centres)

    def at_or_below(place: int, level: int) -> Fraction:
        distance = level - centres[place]
        # The tails of two-sided geometric noise of ratio p.
        return 1 - p ** (distance + 1) / (1 + p) if distance >= 0 else p**-distance / (1 + p)

    def here(place: int, level: int) -> Fraction:
        """Pr[value = level, given value <= level]."""
        return (1 - p) / (1 + p) * p ** abs(level - centres[place]) / at_or_below(place, level)

    def nearest(places: Outcome) -> list[tuple[Outcome, Outcome, Fraction]]:
        """Of independent geometric numbers, which are the least: those, the rest, and the chance."""
        size, found = len(places), []
        for least in _subsets(places):
            if least:
                # Some of `size` geometric numbers are the least together: these stop where the others go on, at any of
                # their steps.
                chance = (1 - p) ** len(least) * p ** (size - len(least)) / (1 - p**size)
                found.append((least, _without(places, least), chance))
        return found

    @cache
    def above(places: Outcome) -> Law:
        if not places:
            return {(): Fraction(1)}
        return _joined((above(rest), {least: chance}) for least, rest, chance in nearest(places))

    @cache
    def below(places: Outcome) -> Law:
        if not places:
            return {(): Fraction(1)}
        return _joined(({least: chance}, below(rest)) for least, rest, chance in nearest(places))

    @cache
    def down_from(level: int, places: Outcome) -> Law:
        if level < low:
            return below(places)
        parts = []
        for now in _subsets(places):
            chance = math.prod(
                (here(place, level) if place in now else 1 - here(place, level) for place in places), start=Fraction(1)
            )
            parts.append(({now: chance}, down_from(level - 1, _without(places, now))))
        return _joined(parts)

    parts = []
    every = tuple(range(len(centres)))
    for far in _subsets(every):
        chance = math.prod(
            (1 - at_or_below(place, high) if place in far else at_or_below(place, high) for place in every),
            start=Fraction(1),
        )
        parts.append(
            ({first: part * chance for first, part in above(far).items()}, down_from(high, _without(every, far)))
        )
    return _joined(parts)


def _subsets(places: Outcome) -> list[Outcome]:
    return [part for size in range(len(places) + 1) for part in itertools.combinations(places, size)]


def _without(places: Outcome, taken: Outcome) -> Outcome:
    return tuple(place for place in places if place not in taken)


def _joined(parts: Iterable[tuple[Law, Law]]) -> Law:
    """The law of one outcome followed by another, summed over cases."""
    law: Law = {}
    for first, second in parts:
        for (begin, chance), (end, other) in itertools.product(first.items(), second.items()):
            law[begin + end] = law.get(begin + end, Fraction(0)) + chance * other
    return law
