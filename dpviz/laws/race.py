"""The law of the race in closed form: floats for pictures, quick enough for sliders.

Item i rings at an exponential time of rate w_i = exp(rate * count), the bottom symbol at one of rate
exp(rate * threshold), all independent; the order of ringing is the order of the list (`noise/race.py` draws it). Given
the time, symbols have rung or not independently of each other, so how many have is a sum of unequal coins, and every
question about the list is one integral over the logarithm of time. Integrands are smooth and vanish at both ends, so
the plain sum over an even grid is as exact as doubles are.

Equal counts are taken together, coins that are certain or impossible to 1e-17 are left out, and sums of coins are kept
only as far as the list is long. The mass left out is stated where it matters; results are within 1e-12.

Results computed from true counts are as private as they are: for synthetic or public data, or for the analyst's eyes.

Source: Durfee, Rogers 2019, Sections 4 to 6 and 8; the race is the usual form of the exponential mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEFT_OUT = 1e-17
"""Chances below this are taken as 0."""

EARLY, LATE = 38.0, 3.7
"""A clock of rate w rings with the chance 1 - LEFT_OUT at a time whose logarithm is in -ln w - EARLY..-ln w + LATE."""

FAR = 6.5
"""A clock rings by ln(w t) = FAR but for a chance of 1e-288; later times are taken as this one."""

TOGETHER = 10.0
"""Bottom symbols whose heights differ by so many nats at most are looked at together."""

MEMORY = 1 << 22
"""At most so many doubles are held for one stretch of the grid."""


def threshold(next_count: float, gap: float, m: float, delta: float, rate: float) -> float:
    """The height of the bottom symbol among the counts: next_count + gap + ln(m / delta) / rate.

    >>> round(threshold(7, 1, 5, 1e-6, 0.1), 4)
    162.2495
    """
    return next_count + gap + math.log(m / delta) / rate


def ranked_above(difference: Floats | float, rate: float) -> Floats:
    """The chance that an item is ranked above a symbol whose height is smaller by `difference`."""
    from scipy import special

    return np.asarray(special.expit(rate * np.asarray(difference, dtype=np.float64)), dtype=np.float64)


def difference_needed(beta: float, rate: float) -> float:
    """By how much one item must exceed another to be ranked above it with probability 1 - beta."""
    return math.log((1 - beta) / beta) / rate


def noise_quantile(level: float, rate: float, draws: int = 1) -> float:
    """The quantile of Gumbel noise of scale 1/rate, or of the largest of some draws."""
    return (math.log(draws) - math.log(-math.log(level))) / rate


def noise_band(beta: float, draws: int, rate: float) -> tuple[float, float]:
    """Lowest and highest noise of all draws: each side is passed by one of them with probability at most beta."""
    lowest = -math.log(math.log(draws / beta)) / rate
    return lowest, (math.log(draws) - math.log(-math.log1p(-beta))) / rate


def paper_alpha(k: int, kbar: int, beta: float, rate: float) -> float:
    """No item of the list is below the k-th count by more than this, with probability 1 - beta (Lemma 8.1)."""
    return math.log(k * kbar / beta) / rate


def sharper_alpha(k: int, kbar: int, beta: float, rate: float) -> float:
    """The same with only kbar - k items that can be below the k-th count; 0 where there is none."""
    return max(0.0, math.log(k * (kbar - k) / beta) / rate) if kbar > k else 0.0


def full_list_count(k: int, beta: float, rate: float, bottom: float) -> float:
    """Where the k-th count is at least this, k items come with probability 1 - beta (Lemma 8.1)."""
    return bottom + math.log(k / beta) / rate


# ---------------------------------------------------------------- one list


@dataclass(frozen=True, eq=False)
class Race:
    """A list of at most k symbols from `counts`, largest first, which the bottom symbol at height `bottom` may end.

    Without a bottom symbol (None) the list has min(k, number of items) items. `rate` is per count. Chances are floats.
    """

    counts: NDArray[np.int64]
    rate: float
    k: int
    bottom: float | None

    @property
    def size(self) -> int:
        return len(self.counts)

    def first(self) -> tuple[Floats, float]:
        """The chance of each item, and of the bottom symbol, to come first."""
        bottom = -math.inf if self.bottom is None else self.bottom
        top = max(bottom, float(self.counts.max(initial=-1)))
        weights = np.exp(self.rate * (np.append(self.counts, bottom) - top))
        chances = weights / weights.sum()
        return chances[:-1], float(chances[-1])

    def lengths(self) -> Floats:
        """Pr[the list holds j items] for j = 0..k."""
        law = np.zeros(self.k + 1)
        law[min(self.k, self.size)] = 1
        if self.bottom is not None and self.size:
            law[:] = _lengths(self.counts, self.rate, self.k, np.array([self.bottom]), np.array([self.size]))[0]
        return law

    def chance_of_k(self) -> float:
        """The chance of k items."""
        return float(self.lengths()[self.k])

    def expected_items(self) -> float:
        return float(self.lengths() @ np.arange(self.k + 1))

    def expected_charge(self) -> float:
        """The expected number of symbols: items, and the bottom symbol where it came among the first k."""
        items = np.arange(self.k + 1)
        return float(self.lengths() @ (items if self.bottom is None else np.minimum(items + 1, self.k)))

    def inclusion(self) -> Floats:
        """The chance of each item to be in the list."""
        if self._clocks is None:
            return np.ones(self.size)
        chances: Floats = self._clocks.inclusion()[np.searchsorted(-self._levels, -self.counts)]
        return chances

    def misses(self, alphas: Sequence[float] | Floats) -> Floats:
        """For each alpha >= 0 the chance that an item of the list is below the k-th count by more than alpha."""
        if self._clocks is None or self.size <= self.k:
            return np.zeros(len(alphas))
        least = self.counts[self.k - 1] - np.asarray(alphas, dtype=np.float64)
        groups = np.searchsorted(-self._levels, -least, side="right")
        chances: Floats = np.append(self._clocks.reached(), 0.0)[groups]
        return chances

    @cached_property
    def _levels(self) -> NDArray[np.int64]:
        """The different counts, largest first."""
        return np.unique(self.counts)[::-1]

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        """How many items have each."""
        return np.unique(self.counts, return_counts=True)[1][::-1].astype(np.int64)

    @cached_property
    def _clocks(self) -> _Clocks | None:
        """The clocks of the different counts; None where the list holds all items for certain, or there is none."""
        if not self.size or (self.bottom is None and self.size <= self.k):
            return None
        centre = int(
            self.counts[min(self.k, self.size) - 1]
        )  # about where the list ends, so that differences are small
        if self.bottom is not None:
            centre = max(centre, round(self.bottom))
        last = -math.inf if self.bottom is None else self.rate * (self.bottom - centre)
        return _Clocks(self.rate * (self._levels - centre).astype(np.float64), self._sizes, last, self.k)


def power_law_kbar(largest: float, exponent: float, rate: float) -> float:
    """Where the threshold is lowest if the r-th count is largest / r**exponent, and no limit holds per unit."""
    return math.pow(exponent * largest * rate, 1 / exponent)


def kbar_trade_off(
    counts: NDArray[np.int64], rate: float, k: int, bottoms: Sequence[float], kbars: Sequence[int]
) -> tuple[Floats, Floats]:
    """For each kbar with its bottom symbol: the expected number of items, and the chance of k items.

    counts  all counts, largest first; the first kbar that are above 0 compete
    kbars   ascending, from k on
    """
    counts, heights, rows = counts[counts > 0], np.asarray(bottoms, dtype=np.float64), np.asarray(kbars)
    laws, begin = np.zeros((len(rows), k + 1)), 0
    while begin < len(rows):
        spread = np.maximum.accumulate(heights[begin:]) - np.minimum.accumulate(heights[begin:])
        end = begin + int(np.count_nonzero(rate * spread <= TOGETHER))
        laws[begin:end] = _lengths(counts, rate, k, heights[begin:end], rows[begin:end])
        begin = end
    return laws @ np.arange(k + 1.0), laws[:, k]


def _lengths(counts: NDArray[np.int64], rate: float, k: int, bottoms: Floats, rows: NDArray[np.int64]) -> Floats:
    """Pr[the list holds j items] for j = 0..k, for each bottom symbol and how many counts compete with it."""
    laws = np.zeros((len(rows), k + 1))
    top, below = float(bottoms.max()), rate * (bottoms - bottoms.max())
    used = np.minimum(rows, counts.size)
    counts = counts[: int(used.max())]
    segments = np.searchsorted(used, np.arange(counts.size), side="right")
    first = np.flatnonzero(np.append(counts[:1] >= 0, (np.diff(counts) != 0) | (np.diff(segments) != 0)))
    sizes = np.diff(np.append(first, counts.size)).astype(np.int64)
    logs: Floats = rate * (counts[first].astype(np.float64) - top)
    sure = int(sizes[logs > EARLY].sum())  # every bottom symbol comes after these
    near = (logs <= EARLY) & (logs + np.log(sizes) > below.min() - EARLY - LATE)
    groups = np.array([np.count_nonzero(near & (first < row)) for row in used])
    if sure < k:
        grid = _grid(-EARLY, LATE - float(below.min()), k)
        densities = _ringing(grid + below[:, None]) * (grid[1] - grid[0])
        for part, coins in _stretches(grid, logs[near], sizes[near], k - sure, int(groups.min())):
            for number, law in enumerate(coins.laws()):
                for at in np.flatnonzero(groups == number):
                    laws[at, sure : sure + len(law)] += law @ densities[at, part]
    laws[:, k] = np.maximum(0.0, 1 - laws[:, :k].sum(axis=1))
    return laws


# ---------------------------------------------------------------- clocks


def _grid(first: float, last: float, k: int) -> Floats:
    """An even grid, finer for longer lists: the k-th ringing is known up to about 1 / sqrt(k)."""
    step = min(0.1, 0.3 / math.sqrt(k))
    steps = np.arange(math.ceil((last - first) / step) + 1, dtype=np.float64)
    return first + step * steps


def _ringing(logs: Floats) -> Floats:
    """The density at ln(w t) of the ringing of a clock of rate w."""
    logs = np.minimum(logs, FAR)
    return np.exp(logs - np.exp(logs))


@dataclass(frozen=True, eq=False)
class _Clocks:
    """Groups of equal clocks, largest first: logs of their rates, sizes, the log rate of the bottom symbol, and k."""

    logs: Floats
    sizes: NDArray[np.int64]
    last: float
    k: int

    def inclusion(self) -> Floats:
        """The chance of one clock of each group to ring before the list ends."""
        return self._rings(self.logs, _Coins.without_one)

    def reached(self) -> Floats:
        """The chance that a clock of a group or of a later one rings before the list ends, for each group."""
        shares = self.logs + np.log(self.sizes)
        return self._rings(np.logaddexp.accumulate(shares[::-1])[::-1], _Coins.before)

    def _rings(self, logs: Floats, fewer: Callable[[_Coins], Iterator[Floats]]) -> Floats:
        """The chance that a clock of each rate rings while the bottom symbol has not, and fewer than k others have."""
        first, last = self._stop
        sure = int(np.count_nonzero(self.logs > LATE - first))  # these rang before the list could end
        near = slice(sure, int(np.count_nonzero(self.logs + np.log(self.sizes) > -EARLY - last)))
        k = self.k - int(self.sizes[:sure].sum())
        chances = np.where(np.arange(len(logs)) < sure, 1.0, 0.0)
        grid = _grid(first - EARLY - LATE, last, self.k)
        density = np.exp(-np.exp(np.minimum(grid + self.last, FAR))) * (grid[1] - grid[0])
        begun = int(np.count_nonzero(_Tally(grid, self.logs[near], self.sizes[near]).at_least(k) <= LEFT_OUT))
        for at in range(near.start, near.stop):
            chances[at] = _ringing(grid[:begun] + logs[at]) @ density[:begun]
        for part, coins in _stretches(grid[begun:], self.logs[near], self.sizes[near], k):
            times, weights = grid[begun:][part], density[begun:][part]
            for at, share in zip(range(near.start, near.stop), fewer(coins), strict=True):
                chances[at] += _ringing(times + logs[at]) @ (weights * share)
        return np.minimum(chances, 1.0)

    @cached_property
    def _stop(self) -> tuple[float, float]:
        """Two logarithms of time: the list has not ended before the first, and has ended by the second."""
        total = int(self.sizes.sum())
        early = -max(self.last, float(self.logs[0])) - 2 * EARLY - math.log(total)
        late = LATE - self.last if self.last > -math.inf else EARLY + math.log(total) - float(self.logs[-1])

        def tally(time: float) -> _Tally:
            return _Tally(np.array([time]), self.logs, self.sizes)

        def not_yet(time: float) -> bool:
            return bool(math.exp(min(0.0, time + self.last)) + tally(time).at_least(self.k)[0] <= LEFT_OUT)

        def over(time: float) -> bool:
            going = math.exp(-math.exp(min(FAR, time + self.last)))
            return bool(going * (tally(time).fewer(self.k)[0] if total >= self.k else 1.0) <= LEFT_OUT)

        return _edge(early, late, not_yet), _edge(late, early, over)


def _edge(here: float, there: float, holds: Callable[[float], bool]) -> float:
    """A place close to where something ceases to hold, on the side where it does; it holds `here`."""
    while abs(here - there) > 0.05:
        middle = (here + there) / 2
        if middle in (here, there):
            break
        if holds(middle):
            here = middle
        else:
            there = middle
    return here


# ---------------------------------------------------------------- sums of unequal coins


class _Tally:
    """Bounds on how many clocks have rung by each time."""

    def __init__(self, times: Floats, logs: Floats, sizes: NDArray[np.int64]) -> None:
        self.total = int(sizes.sum())
        self.mean, self.likely, self.rare, self.kept = np.zeros((4, len(times)))
        piece = max(1, MEMORY // (8 * max(1, len(logs))))
        for begin in range(0, len(times), piece):
            part = slice(begin, begin + piece)
            rung = np.exp(np.minimum(times[part, None] + logs, FAR))
            chance, silent = -np.expm1(-rung), np.exp(-rung)
            often = chance > 0.5
            self.mean[part] = chance @ sizes
            self.likely[part] = often @ sizes
            self.rare[part] = np.where(often, 0, chance) @ sizes
            self.kept[part] = np.where(often, silent, 0) @ sizes

    def at_least(self, number: int) -> Floats:
        """At most this is the chance that so many have rung: likely ones count as certain, Chernoff bounds the rest."""
        return _chernoff(self.rare, number - self.likely)

    def fewer(self, number: int) -> Floats:
        """At most this is the chance that fewer have rung: the silent ones bounded likewise, or their mean."""
        silent = _chernoff(self.kept, self.total - number + 1 - (self.total - self.likely))
        return np.minimum(silent, np.where(self.mean > number - 1, _tail(self.mean, number - 1), 1.0))


def _chernoff(mean: Floats, number: Floats) -> Floats:
    """At least the chance of so many successes, for a number above the mean; else 1."""
    return np.where((number > 0) & (number > mean), _tail(mean, number), 1.0)


def _tail(mean: Floats, number: Floats | int) -> Floats:
    """exp(number - mean) (mean / number)**number."""
    number = np.maximum(number, 1e-300)
    logs: Floats = number - mean + number * np.log(np.maximum(mean, 1e-300) / number)
    return np.exp(np.minimum(logs, 0))


def _stretches(
    grid: Floats, logs: Floats, sizes: NDArray[np.int64], k: int, least: int | None = None
) -> Iterator[tuple[slice, _Coins]]:
    """The grid in stretches with their coins, counted as far as the list is long, or as may have rung.

    Stretches by which k of the first `least` groups (of all, if left out) have rung for certain are left out.
    """
    tally, caps = _Tally(grid, logs, sizes), np.full(len(grid), k)
    for cap in (1 << power for power in range(12, 2, -1)):
        if cap < k:
            caps[tally.at_least(cap) <= LEFT_OUT] = cap
    caps = np.maximum.accumulate(caps)
    caps[_Tally(grid, logs[:least], sizes[:least]).fewer(k) <= LEFT_OUT] = 0
    begin = 0
    while begin < len(grid):
        cap = int(caps[begin])
        same = np.flatnonzero(caps[begin:] != cap)
        end = begin + int(same[0]) if same.size else len(grid)
        end = min(end, begin + max(1, MEMORY // (max(1, cap) * max(1, len(logs)))))
        if cap:
            yield slice(begin, end), _Coins(grid[begin:end], logs, sizes, cap)
        begin = end


class _Coins:
    """How many clocks have rung by each time of a stretch: chances of 0..cap - 1, as good as none of cap or more."""

    def __init__(self, times: Floats, logs: Floats, sizes: NDArray[np.int64], cap: int) -> None:
        self._cap = cap
        self._rung = [np.exp(np.minimum(times + log, FAR)) for log in logs]
        self._sizes = sizes.tolist()
        self._none = np.ones((1, len(times)))

    def before(self) -> Iterator[Floats]:
        """For each group the chance that fewer than cap clocks of the groups before it have rung."""
        laws = self.laws()
        for _ in self._rung:
            yield next(laws).sum(axis=0)

    def without_one(self) -> Iterator[Floats]:
        """For each group the chance that fewer than cap clocks have rung, one clock of the group left out."""
        laws, after = list(self.laws()), self._none
        found: list[Floats] = []
        for law, rung, size in zip(laws[-2::-1], self._rung[::-1], self._sizes[::-1], strict=True):
            rest = self._sum(law, _binomial(size - 1, rung, self._cap))
            up_to = np.cumsum(after, axis=0)
            reach = np.minimum(self._cap - 1 - np.arange(len(rest)), len(up_to) - 1)
            found.append((rest * up_to[reach]).sum(axis=0))
            after = self._sum(after, _binomial(size, rung, self._cap))
        yield from found[::-1]

    def laws(self) -> Iterator[Floats]:
        """Of the groups before the first, before the second, ..., of all."""
        law = self._none
        yield law
        for rung, size in zip(self._rung, self._sizes, strict=True):
            law = self._sum(law, _binomial(size, rung, self._cap))
            yield law

    def _sum(self, law: Floats, more: Floats) -> Floats:
        """The law of the sum of two independent numbers."""
        out = np.zeros((min(self._cap, len(law) + len(more) - 1), law.shape[1]))
        for number, chance in enumerate(more):
            room = min(len(law), len(out) - number)
            out[number : number + room] += law[:room] * chance
        return out


def _binomial(size: int, rung: Floats, cap: int) -> Floats:
    """Chances of 0..cap - 1 successes among `size` coins that fail with the chance exp(-rung)."""
    if size == 0:
        return np.ones((1, len(rung)))
    if size == 1:
        return np.stack((np.exp(-rung), -np.expm1(-rung)))[:cap]
    successes = np.arange(min(size, cap - 1) + 1)
    ways = np.append(0.0, np.cumsum(np.log((size - successes[:-1]) / (successes[:-1] + 1))))
    log_chance = np.log(-np.expm1(-np.maximum(rung, 1e-300)))
    law = np.exp(ways[:, None] + successes[:, None] * log_chance - (size - successes)[:, None] * rung)
    matter = np.flatnonzero(law.max(axis=1) > LEFT_OUT)
    return law[: matter[-1] + 1] if matter.size else law[:1]
