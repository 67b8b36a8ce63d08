"""What ALP makes of one key's bits: the law of its estimate, exactly for few bits and by two walks for many.

A value is rounded to a whole number y, and y is written as m bits: ones up to y, zeros beyond. Each bit is flipped with
chance p, and a zero may have become a one before, because another key set it. The estimate is the mean of all places
where the prefix sum of ones less zeros is largest.

Source: Aumüller, Lebeda, Pagh 2022, Algorithms 2, 3 and 10, Sections 4 and 7; exact laws and exact price are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, log_bounds, probability, text, whole

FEW: Final = 16
"""So many bits are enumerated: all 65,536 strings."""

NEGLIGIBLE: Final = 1e-12
"""What is left out of a law of two walks has at most about this chance."""

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Flips:
    """How the bits of one key are seen.

    p           the chance that a bit is flipped, below 1/2
    collisions  the chance, at most, that another key set a bit that this one left at 0: k/s for k keys and s bits to a
                column. The law of an estimate is that of exactly this chance, for each bit by itself
    """

    p: Fraction
    collisions: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 < self.p < Fraction(1, 2):
            raise ParameterError.of(text(self.p), "a bit is flipped with a chance between 0 and 1/2")
        if not 0 <= self.collisions < Fraction(1, 2):
            raise ParameterError.of(
                text(self.collisions), "fewer than half of a column's bits may be set", "give a column more bits"
            )

    @property
    def alpha(self) -> Fraction:
        """The paper's alpha: the odds of an unflipped bit less 1."""
        return 1 / self.p - 2

    @property
    def raised(self) -> Fraction:
        """The chance that a bit beyond y is read as a one: p + q (1 - 2p)."""
        return self.p + self.collisions * (1 - 2 * self.p)

    @property
    def gamma(self) -> Fraction:
        """The paper's gamma: what alpha is of the raised chance."""
        return 1 / self.raised - 2


# ---------------------------------------------------------------- few bits: all strings


@dataclass(frozen=True)
class _Strings:
    """All strings of m bits: the estimate of each, as a sum of places and how many there are."""

    sums: NDArray[np.int64]
    places: NDArray[np.int64]
    bits: NDArray[np.int8]


@lru_cache(maxsize=4)
def _strings(m: int) -> _Strings:
    bits = ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1).astype(np.int8)
    prefix = np.zeros((1 << m, m + 1), dtype=np.int8)
    np.cumsum(2 * bits - 1, axis=1, out=prefix[:, 1:])
    largest = prefix == prefix.max(axis=1, keepdims=True)
    return _Strings(largest @ np.arange(m + 1), largest.sum(axis=1), bits)


def estimates(m: int, y: int, flips: Flips) -> dict[Fraction, Fraction]:
    """The exact law of the estimate of y from m bits, at most 16.

    >>> law = estimates(2, 1, Flips(Fraction(1, 4)))
    >>> [(str(value), str(law[value])) for value in sorted(law)]
    [('0', '3/16'), ('1', '5/8'), ('2', '3/16')]
    """
    whole(m, "the number of bits", most=FEW)
    whole(y, "y", least=0, most=m)
    strings = _strings(m)
    lost = y - strings.bits[:, :y].sum(axis=1, dtype=np.int64)
    raised = strings.bits[:, y:].sum(axis=1, dtype=np.int64)
    kinds = np.stack([strings.sums, strings.places, lost, raised])
    found, counts = np.unique(kinds, axis=1, return_counts=True)
    p, more = flips.p, flips.raised
    below = [(1 - p) ** (y - one) * p**one for one in range(y + 1)]
    beyond = [more**one * (1 - more) ** (m - y - one) for one in range(m - y + 1)]
    law: dict[Fraction, Fraction] = {}
    for (sum_, places, zeros, ones), count in zip(found.T.tolist(), counts.tolist(), strict=True):
        value = Fraction(sum_, places)
        law[value] = law.get(value, Fraction(0)) + count * below[zeros] * beyond[ones]
    return law


# ---------------------------------------------------------------- many bits: two walks


@dataclass(frozen=True)
class Walks:
    """The law of estimate less y, far from both ends of the bits, where it no longer depends on them.

    Two walks start at y, one to each side, and go up with chances p (towards 0) and `raised` (beyond y). The side that
    reaches higher wins, and where both reach equally high all their highest places count. The number of highest places
    is n; for each n the transform of the sum of these places is known in closed form, and is inverted.
    """

    flips: Flips

    @cached_property
    def _parts(self) -> list[tuple[int, Floats]]:
        """For each number n of highest places, the chances of the sums of these places, as an inverted transform lists
        them: from 0 up, then the negative ones."""
        p, more = float(self.flips.p), float(self.flips.raised)
        steps = math.log(NEGLIGIBLE) / math.log(4 * more * (1 - more))
        size = 1 << max(7, math.ceil(math.log2(4 * steps)))
        most = math.ceil(math.log(NEGLIGIBLE) / math.log(more)) + 2
        return [(n, _sums(p, more, n, size)) for n in range(1, most + 1)]

    @cached_property
    def law(self) -> tuple[Floats, Floats]:
        """Values in rising order, and their chances."""
        values = [np.fft.fftfreq(len(part), 1 / len(part)) / n for n, part in self._parts]
        chances = [part for _, part in self._parts]
        flat, weights = np.concatenate(values), np.concatenate(chances)
        kept = weights > NEGLIGIBLE / len(weights)  # below that, an inverted transform knows nothing
        found, where = np.unique(flat[kept].round(9), return_inverse=True)
        return found, np.bincount(where, weights[kept]).astype(np.float64)

    def tail(self, reach: float, below: float = 0.0) -> float:
        """The chance that the estimate, less y and less a number from 0 to 1, is off by more than `reach`.

        below  how far y lies above what was rounded: 0 where it was a whole number
        """
        values, chances = self.law
        return float(chances[np.abs(values + below) > reach + 1e-9].sum())

    def rounded(self, fraction: float) -> tuple[Floats, Floats]:
        """The law of estimate less a number with this fraction, which was rounded up with just that chance."""
        values, chances = self.law
        both = np.concatenate((values - fraction, values + 1 - fraction))
        return both, np.concatenate((chances * (1 - fraction), chances * fraction))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and variance of estimate less y."""
        values, chances = self.law
        mean = float(values @ chances)
        return mean, float(values**2 @ chances) - mean**2


def _sums(p: float, more: float, n: int, size: int) -> Floats:
    """The chances of the sums of n highest places, each place counted from y."""
    length = size * n
    turns = np.arange(length)
    forward = np.exp(-2j * np.pi * turns / length)
    right, left = _Side(more, forward), _Side(p, forward.conj())
    won = right.alone(n, left.ratio) + left.alone(n, right.ratio)
    for mine in range(1, n):  # both reach a height above 0, with so many places on the right
        first = right.first(mine) * left.first(n - mine)
        won += first / (1 - first) * right.again(mine) * left.again(n - mine)
    for mine in range(1, n + 1):  # neither leaves 0: y itself is a highest place, of both
        won += right.again(mine) * left.again(n + 1 - mine)
    return np.fft.ifft(won).real


class _Side:
    """One walk, by its transforms at all frequencies. `z**k` of a frequency is another one of the list."""

    def __init__(self, up: float, z: NDArray[np.complex128]) -> None:
        self.ratio, self._stays = up / (1 - up), 1 - 2 * up
        root = np.sqrt(1 - 4 * up * (1 - up) * z * z)
        self._first = (1 - root) / (2 * (1 - up) * z)
        self._return = (1 - root) / 2
        self._turns = np.arange(len(z))
        self._again = {1: np.full(len(z), self._stays, dtype=np.complex128)}

    def first(self, times: int) -> NDArray[np.complex128]:
        """Of `times` times the number of steps to one higher."""
        return self._first[self._turns * times % len(self._turns)]

    def again(self, places: int) -> NDArray[np.complex128]:
        """Of the sum of so many highest places, counted from the first of them, after which none follows."""
        for known in range(len(self._again) + 1, places + 1):
            step = self._return[self._turns * (known - 1) % len(self._turns)]
            self._again[known] = self._again[known - 1] * step
        return self._again[places]

    def alone(self, places: int, other: float) -> NDArray[np.complex128]:
        """Of the sum of its highest places, where it reaches above 0 and the other walk does not reach as high."""
        first = self.first(places)
        return (first / (1 - first) - other * first / (1 - other * first)) * self.again(places)


# ---------------------------------------------------------------- bounds of the paper


def mean_bound(flips: Flips) -> Fraction:
    """Lemma 4.7: how far the estimate is from y on average, at most."""
    alpha, gamma = flips.alpha, flips.gamma
    return (4 * alpha + 4) / alpha**2 + (4 * gamma + 4) / gamma**2


def sharper_mean_bound(flips: Flips) -> Fraction:
    """The same by the mean of the last highest place of each walk, (3p - 4p^2) / (1 - 2p)^2; for all m and y."""
    return sum(((3 * p - 4 * p * p) / (1 - 2 * p) ** 2 for p in (flips.p, flips.raised)), Fraction(0))


def tail_bound(flips: Flips, reach: Fraction) -> float:
    """Lemma 4.9: the chance that the estimate is off y by so much or more, at most."""
    p = float(flips.raised)
    bound: float = 2 * (4 * p * (1 - p)) ** (float(reach) / 2) / (math.sqrt(math.pi) * (1 - 2 * p))
    return min(1.0, bound)


def quantile_bound(flips: Flips, psi: Fraction) -> float:
    """Lemma 4.10: by so much or more the estimate is off with chance psi at most."""
    p, level = float(flips.raised), float(probability(psi, "psi", zero=False))
    return 2 * math.log(2 / (level * math.sqrt(math.pi) * (1 - 2 * p))) / -math.log(4 * p * (1 - p))


# ---------------------------------------------------------------- what one moved coordinate costs


def odds(alpha: Fraction, moved: Fraction) -> Fraction:
    """The largest likelihood ratio where one value moves by `moved` whole bits: (1 + alpha)^n (1 + (moved - n) alpha).

    n is the whole part of `moved`. It is never above e^(alpha moved), and is attained where a move starts at a whole
    number of bits and meets no other key.

    >>> odds(Fraction(3), Fraction(1, 3)), odds(Fraction(3), Fraction(5, 2))
    (Fraction(2, 1), Fraction(40, 1))
    """
    if moved < 0 or alpha <= 0:
        raise ParameterError.of(f"{text(alpha)} and {text(moved)}", "alpha is positive, and a move is not negative")
    n = math.floor(moved)
    return (1 + alpha) ** n * (1 + (moved - n) * alpha)


def bits_for(alpha: Fraction, ratio: Fraction) -> Fraction:
    """The most bits that one value may move for a likelihood ratio of at most this: `odds` the other way round.

    >>> bits_for(Fraction(3), Fraction(40))
    Fraction(5, 2)
    """
    if ratio < 1 or alpha <= 0:
        raise ParameterError.of(f"{text(alpha)} and {text(ratio)}", "alpha is positive, and a ratio is at least 1")
    n = 0
    while (1 + alpha) ** (n + 1) <= ratio:
        n += 1
    return n + (ratio / (1 + alpha) ** n - 1) / alpha


def loss(alpha: Fraction, moved: Fraction, precision: int = 128) -> Enclosure:
    """The exact price of one moved value, in nats, enclosed."""
    return log_bounds(odds(alpha, moved), precision)
