"""KeepHeavy: noise on every bin of a domain, then only the bins strictly above the (n + 1)-st largest noisy count.

On small domains its law is enumerated exactly, from the definition. On large ones the law of one bin is known too: it
shows v >= 1 if its own noisy count is v and at most n - 1 others reach v, and the others are independent of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import Decay
from dpviz.laws.geometric import TwoSidedGeometric, float_rate, quantiles

Pmf: TypeAlias = Mapping[int, Fraction]
"""The law of one noisy count: value to probability."""

Outcome: TypeAlias = tuple[tuple[int, int], ...]
"""The list that KeepHeavy shows: (bin, noisy count) pairs, ascending by bin."""

BLOCKS = 512
"""Sums over longer ranges of values are taken in so many blocks, each rounded to the stated side."""

REACH = 42
"""Noise beyond so many scales (less than 10**-18 of it) is left out of sums, on the safe side."""

POISSON = 2**53
"""Binomial numbers of more trials are taken as Poisson; their chances differ by less than SLACK where it matters."""

SLACK = 1e-8


# ---------------------------------------------------------------- the definition, on small domains


def keep_heavy(noisy: Sequence[int], n: int) -> Outcome:
    """The bins whose noisy count lies strictly above the (n + 1)-st largest.

    >>> keep_heavy([3, 0, 5, 3, 1], 2), keep_heavy([3, 0, 5, 2, 1], 2)
    (((2, 5),), ((0, 3), (2, 5)))
    """
    cut = sorted(noisy, reverse=True)[n]
    return tuple((label, value) for label, value in enumerate(noisy) if value > cut)


def exact_law(counts: Sequence[int], n: int, one: Callable[[int], Pmf]) -> dict[Outcome, Fraction]:
    """The law of what is shown, by enumeration of every vector of noisy counts; `one` is the law of one of them."""
    found: dict[Outcome, Fraction] = {}
    for vector in itertools.product(*(one(count).items() for count in counts)):
        shown, chance = keep_heavy([value for value, _ in vector], n), Fraction(1)
        for _, part in vector:
            chance *= part
        found[shown] = found.get(shown, Fraction(0)) + chance
    return found


def exact_marginal(place: int, counts: Sequence[int], n: int, one: Callable[[int], Pmf]) -> dict[int, Fraction]:
    """The law of one bin, 0 where it is not shown: Pr[v] = Pr[M(c) = v] Pr[at most n - 1 others reach v] for v >= 1."""
    others = [one(count) for at, count in enumerate(counts) if at != place]
    found: dict[int, Fraction] = {}
    for value, chance in one(counts[place]).items():
        if value >= 1:
            reach = [sum((part for v, part in law.items() if v >= value), Fraction(0)) for law in others]
            found[value] = chance * sum(_successes(reach)[:n], Fraction(0))
    found[0] = 1 - sum(found.values(), Fraction(0))
    return found


def _successes(chances: Sequence[Fraction]) -> list[Fraction]:
    """The law of how many of some independent events happen."""
    law, none = [Fraction(1)], [Fraction(0)]
    for chance in chances:
        pairs = zip(law + none, none + law, strict=True)
        law = [(1 - chance) * without + chance * before for without, before in pairs]
    return law


def _edges(first: int, last: int, blocks: int) -> NDArray[np.int64]:
    """The ends of at most so many blocks of whole numbers, as nearly alike as can be."""
    if last - first <= blocks:
        return np.arange(first, last + 1)
    return np.linspace(first, last, blocks + 1).astype(np.int64)


# ---------------------------------------------------------------- one bin, on large domains


@dataclass(frozen=True)
class OneBin:
    """One bin of a domain of `size` bins, with noisy counts clamped to 0..n and at most n bins shown.

    Chances are floats. Where they stand for a bound they are rounded towards it.
    """

    decay: Decay
    size: int
    n: int

    @cached_property
    def _noise(self) -> TwoSidedGeometric:
        return TwoSidedGeometric(self.decay)

    @cached_property
    def _rate(self) -> float:
        return float_rate(self.decay)

    @property
    def cut(self) -> int:
        """The greatest value that n + 1 of `size` empty bins are expected to reach: how high a bin has to rise."""
        share = Fraction(self.n + 1, self.size)
        return 0 if 2 * share > 1 else min(self.n, -quantiles(self.decay, [share])[0])

    def above(self, count: int, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Pr[M(count) > value], the noisy count clamped to 0..n."""
        inside = self._noise.above_array(values - count)
        return np.where(values < 0, 1.0, np.where(values >= self.n, 0.0, inside))

    def not_crowded(self, values: NDArray[np.int64], slots: int) -> NDArray[np.float64]:
        """Pr[at most `slots` of the other bins reach the value], if they are empty."""
        from scipy import special

        trials = self.size - 1
        log_chance = -self._rate * values - math.log1p(math.exp(-self._rate))
        if slots >= trials:
            return np.ones(len(values))
        if trials < POISSON:
            crowded = special.betainc(slots + 1, trials - slots, np.exp(log_chance))
        else:
            crowded = special.gammainc(slots + 1, np.exp(np.minimum(math.log(trials) + log_chance, 700)))
        return np.asarray(1 - crowded, dtype=np.float64)

    def held(self, count: int, low: int, high: int, slots: int, *, up: bool = False) -> float:
        """The sum of Pr[M(count) = v] Pr[at most `slots` of the other, empty bins reach v] over low <= v <= high.

        Rounded down, or up; exact but for floating point where the range is short.
        """
        reach = math.ceil(min(REACH / self._rate, self.n))
        low, high = max(low, 1, count - reach), min(high, self.n, count + reach)
        if low > high:
            return 0.0
        edges = _edges(low, high + 1, BLOCKS)
        beyond = self.above(count, edges - 1)
        share = self.not_crowded(edges[1:] - 1 if up else edges[:-1], slots)
        return float(((beyond[:-1] - beyond[1:]) * share).sum())

    def chance_shown(self, count: int) -> float:
        """The chance that a bin with this count is shown, if all other bins are empty."""
        return self.held(count, 1, self.n, self.n - 1)

    def quantiles(self, count: int, levels: Sequence[Fraction]) -> list[int]:
        """Quantiles of the error of a bin of this count, if all other bins are empty: -count where it is not shown.

        For pictures: noise of more than 16 scales is left out, and of long ranges only so many values are looked at.

        >>> law = OneBin(Decay.exp(Fraction(1, 2)), 10_000, 30)
        >>> law.quantiles(10, [Fraction(1, 4), Fraction(3, 4), Fraction(9, 10)])
        [-10, 1, 3]
        """
        reach = math.ceil(16 / self._rate)
        low, high = max(1, count - reach), min(self.n, count + reach)
        edges = _edges(low, high + 1, 4 * BLOCKS)
        beyond = self.above(count, edges - 1)
        parts = (beyond[:-1] - beyond[1:]) * self.not_crowded(edges[:-1], self.n - 1)
        reached = np.cumsum(np.concatenate(([1 - parts.sum()], parts)))
        found = np.searchsorted(reached, [float(level) for level in levels])
        errors = np.concatenate(([-count], edges[:-1] - count))
        return [int(error) for error in errors[np.minimum(found, len(errors) - 1)]]

    def tail(self, count: int, a: int) -> float:
        """At least Pr[|h - count| > a], whatever the other bins hold, if all counts add up to at most n.

        A bin of more than a is wrong if it is not shown. At most n - count other bins are occupied; even if all of
        them are ahead, it is shown at v where at most count - 1 empty ones reach v. A bin of at most a is wrong only
        if it shows more than count + a, and that is likeliest where all others are empty.
        """
        if count <= a:
            return self.held(count, count + a + 1, self.n, self.n - 1, up=True) + self._far
        return 1 - self.held(count, count - a, count + a, count - 1) + self._far

    @property
    def _far(self) -> float:
        return SLACK if self.size > POISSON else 1e-12

    def any_above(self, a: int) -> float:
        """At least the chance that any noise of the whole domain exceeds a."""
        nats = math.log(self.size) - self._rate * (a + 1) - math.log1p(math.exp(-self._rate))
        return math.exp(min(nats, 1.0))
