"""Who is listed by the relatives of the race, in closed form: floats for pictures.

Laplace noise on counts and threshold (Algorithm 4, integer form), a coin for each item (Algorithm 8, corrected), and
the private choice of kbar (Algorithm 6, corrected). The race itself has its own laws. Results are within 1e-8.

Results computed from true counts are as private as they are: for synthetic or public data only.

Source: Durfee, Rogers 2019, Algorithms 4, 6 and 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

REACH = 23.0
"""Noise beyond REACH / rate has a chance below 1e-10."""

LEFT_OUT = 1e-9
"""Items whose chances to pass the threshold add up to less are taken as never listed."""

WORK = 3_000_000
"""The most steps that are taken for one law: items times places times levels."""

MEMORY = 1 << 21
"""At most so many doubles are held for one stretch of levels."""


def kbar_chances(next_counts: Sequence[int], m: Sequence[int], rate: float) -> Floats:
    """The law of a private choice of kbar: odds 1 / m * exp(-rate * next_count) for each that is offered.

    >>> kbar_chances([3, 3], [1, 3], 0.5).round(6).tolist()
    [0.75, 0.25]
    """
    logs = -rate * np.asarray(next_counts, dtype=np.float64) - np.log(np.asarray(m, dtype=np.float64))
    odds = np.exp(logs - logs.max())
    return np.asarray(odds / odds.sum(), dtype=np.float64)


def fixed_inclusion(counts: Sequence[int], next_count: int, rate: float, delta: float, gap: int = 1) -> Floats:
    """The chance of each item's coin: delta e^(rate * excess) up to 1/2, then 1 - e^(-rate * excess) / (4 delta).

    The excess is count - next_count - gap; an item that is not above the next count has no coin.

    >>> fixed_inclusion([9, 4, 3], 3, math.log(2), 1 / 16).round(6).tolist()
    [0.875, 0.0625, 0.0]
    """
    given = np.asarray(counts, dtype=np.float64)
    logs = math.log(delta) + rate * (given - next_count - gap)
    low, high = np.exp(np.minimum(logs, 0)), 1 - np.exp(-np.maximum(logs, math.log(0.5))) / 4
    return np.asarray(np.where(given > next_count, np.where(logs <= math.log(0.5), low, high), 0.0), dtype=np.float64)


def laplace_inclusion(
    counts: Sequence[int], labels: Sequence[int], rate: float, k: int, threshold: int
) -> Floats | None:
    """The chance of each item to be among the k first and above the threshold, with noise on each of them.

    Noise: Pr[Z = z] proportional to exp(-rate |z|). An item is above the threshold where its noisy count is larger;
    equal noisy counts are ordered by label, of which `labels` gives the places. None where this takes too long.
    """
    given = np.asarray(counts, dtype=np.int64)
    found = np.zeros(len(given))
    passing = np.array([difference_tail(threshold + 1 - count, rate) for count in given.tolist()])
    least_first = np.argsort(passing, kind="stable")
    live = np.sort(least_first[np.cumsum(passing[least_first]) > LEFT_OUT])
    if not len(live):
        return found
    ordered = live[np.argsort(np.asarray(labels)[live], kind="stable")]
    reach = math.ceil(REACH / rate)
    low, high = threshold - reach, int(given[live].max()) + reach
    places = min(k, len(live))
    if len(live) * places * (high - low + 1) > WORK:
        return None
    levels = np.arange(low, high + 1)
    stretch = max(1, MEMORY // (places * len(live)))
    for begin in range(0, len(levels), stretch):
        found[ordered] += _listed(given[ordered], levels[begin : begin + stretch], rate, places, threshold)
    return np.minimum(found, 1.0)


def _listed(counts: NDArray[np.int64], levels: NDArray[np.int64], rate: float, k: int, threshold: int) -> Floats:
    """For each item, in the order of labels: the chance to be listed with a noisy count among these levels."""
    passed = 1 - at_least(levels - threshold, rate)
    before: list[Floats] = []
    law = np.zeros((k, len(levels)))
    law[0] = 1
    for count in counts:  # an item with a smaller label is ahead where it is at least as high
        before.append(law)
        law = _with(law, at_least(levels - count, rate))
    after = np.zeros((k, len(levels)))
    after[0] = 1
    chances = np.zeros(len(counts))
    for place in range(len(counts) - 1, -1, -1):
        few = np.einsum("ij,ij->j", before[place], np.cumsum(after, axis=0)[::-1])
        here = np.tanh(rate / 2) * np.exp(-rate * np.abs(levels - counts[place]))
        chances[place] = float(np.sum(here * passed * few))
        after = _with(after, at_least(levels + 1 - counts[place], rate))
    return chances


def _with(law: Floats, chance: Floats) -> Floats:
    """The law of a number of successes below k, one more coin added."""
    more = law * (1 - chance)
    more[1:] += law[:-1] * chance
    return more


def at_least(distance: NDArray[np.int64], rate: float) -> Floats:
    """Pr[Z >= distance] of discrete Laplace noise."""
    p = math.exp(-rate)
    up = np.exp(-rate * np.maximum(distance, 0)) / (1 + p)
    down = 1 - np.exp(-rate * np.maximum(1 - distance, 0)) / (1 + p)
    return np.asarray(np.where(distance > 0, up, down), dtype=np.float64)


def difference_tail(distance: int, rate: float) -> float:
    """Pr[Z - Z' >= distance] of two such noises.

    >>> round(difference_tail(1, math.log(2)) + difference_tail(0, math.log(2)), 12)
    1.0
    """
    if distance <= 0:
        return 1 - difference_tail(1 - distance, rate)
    p = math.exp(-rate)
    if rate * distance > 700:
        return 0.0
    return p**distance * (distance * (1 - p) / (1 + p) ** 2 + (1 + p + 2 * p * p) / (1 + p) ** 3)
