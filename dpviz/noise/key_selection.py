"""Coins that name keys by their counts: the optimal selection of Desfontaines, Voss, Gipson, Mandayam 2020.

A key of n units comes with the largest chance pi_n that (epsilon, delta) allows. pi_n is at most L(n), what delta and n
factors e^epsilon bring up from pi_0 = 0; and at most U_t(n), which is what n - t factors e^-epsilon leave of 1 from
L(t) on, for every t. It is the least of these and 1. U_t is least where x^t, x = e^epsilon, is nearest to
(1 + 2c) / 2c with c = delta / (x - 1): there x^t (1 + 2c) - c x^2t is largest. Counts next to that are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from math import ceil, floor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import Decay, Enclosure, exp_bounds, log_bounds
from dpviz.noise.bits import Bits
from dpviz.noise.coin import GUARD, flip
from dpviz.noise.fixed import power as power_of

LARGEST = 2**63 - 1
"""No count is as large."""

MOST_GROWN = 4096
"""The largest number of such bits. With a larger epsilon, the coin of a small key draws more bits."""

WORD, MOST_WORD = 64, 2**64 - 1
"""Bits of a uniform number that are drawn for each key. The rare key that they leave open gets more."""


Ends: TypeAlias = tuple[int, int]
"""A number as two whole ones around it, at some binary places."""


@dataclass(frozen=True)
class NamingChances:
    """The chances pi_n at a public price, enclosed as closely as needed."""

    epsilon: Fraction
    delta: Fraction

    def of(self, count: int, precision: int) -> Enclosure:
        """pi of this count, to about 2**-precision."""
        low, high = self.at_places(count, precision + GUARD)
        return Fraction(low, 2 ** (precision + GUARD)), Fraction(high, 2 ** (precision + GUARD))

    def at_places(self, count: int, places: int) -> Ends:
        """pi of this count times 2**places, off by little more than 1."""
        if count <= 0:
            return 0, 0
        if count >= self.always:
            return 1 << places, 1 << places
        kept = self._kept(places)
        forms = [kept.above(turn, count) for turn in self.turns if turn <= count]
        if count <= self.turns[-1]:
            forms.append(kept.below(count))
        low, high = (min(form[side] for form in forms) for side in (0, 1))
        more = kept.places - places
        return max(0, min(1 << places, low >> more)), min(1 << places, -(-high >> more))

    @cached_property
    def always(self) -> int:
        """A count from which on every key is named, the least one or the next: there each U_t is at least 1."""
        return max(turn + self._until_always(turn) for turn in self.turns)

    @cached_property
    def turns(self) -> range:
        """The counts at one of which U_t is least."""
        least, most = share(self.epsilon, self.delta, 4 * self.spare)
        low = log_bounds(1 + 1 / (2 * most), 2 * self.spare)[0]
        high = log_bounds(1 + 1 / (2 * least), 2 * self.spare)[1]
        return range(max(0, floor(low / self.epsilon)), floor(high / self.epsilon) + 2)

    @cached_property
    def spare(self) -> int:
        """Bits that are lost where 1 is taken away from e^epsilon."""
        return 16 + (self.epsilon.denominator // self.epsilon.numerator).bit_length()

    @cached_property
    def grown(self) -> int:
        """Bits before the point of c x^t at the last turn, which is about e^epsilon: chances of smaller counts start
        there and fall."""
        return min(MOST_GROWN, ceil(self.epsilon * Fraction(3, 2)))

    def _until_always(self, turn: int) -> int:
        """How many counts more than the turn bring U_t to 1: (1 - L(t) + c) x^-k is at most c then."""
        working = 4 * self.spare
        least, most = share(self.epsilon, self.delta, working)
        missed = 1 - least * (exp_bounds(self.epsilon * turn, working)[0] - 1)
        left = (max(Fraction(0), missed) + most) / least
        return ceil(log_bounds(max(Fraction(1), left), 2 * self.spare)[1] / self.epsilon)

    @cached_property
    def _tables(self) -> dict[int, _Places]:
        return {}

    def _kept(self, places: int) -> _Places:
        """The numbers that all chances have alike, at these places: made once."""
        if places not in self._tables:
            self._tables[places] = _Places.of(self, places + 2 * self.spare + self.grown)
        return self._tables[places]


@dataclass(frozen=True)
class _Places:
    """Both forms in whole numbers of 2**-places, from powers of e^-epsilon alone.

    c      delta / (e^epsilon - 1)
    grown  c x^t at the last turn
    left   1 - L(t) + c at each turn
    falls  x^-1, x^-2, x^-4, ...
    """

    places: int
    last: int
    c: Ends
    grown: Ends
    left: dict[int, Ends]
    falls: tuple[Ends, ...]

    @classmethod
    def of(cls, chances: NamingChances, places: int) -> _Places:
        working, epsilon = places + 2 * chances.spare, chances.epsilon
        c = share(epsilon, chances.delta, working)
        grown = {}
        for turn in chances.turns:
            power = exp_bounds(epsilon * turn, working)
            grown[turn] = c[0] * power[0], c[1] * power[1]
        left = {
            turn: _fixed((1 - most + 2 * c[0], 1 - least + 2 * c[1]), places) for turn, (least, most) in grown.items()
        }
        falls = [power_of(Decay.exp(epsilon), 1 << at, places) for at in range(chances.always.bit_length())]
        last = chances.turns[-1]
        return cls(places, last, _fixed(c, places), _fixed(grown[last], places), left, tuple(falls))

    def below(self, count: int) -> Ends:
        """L(n) = c (x^n - 1), from the last turn down."""
        low, high = self._fallen(self.grown, self.last - count)
        return low - self.c[1], high - self.c[0]

    def above(self, turn: int, count: int) -> Ends:
        """U_t(n) = 1 - ((1 - L(t) + c) x^-(n - t) - c)."""
        low, high = self._fallen(self.left[turn], count - turn)
        one = 1 << self.places
        return one + self.c[0] - high, one + self.c[1] - low

    def _fallen(self, start: Ends, steps: int) -> Ends:
        """The start times x^-steps."""
        low, high = max(0, start[0]), start[1]
        for at, (least, most) in enumerate(self.falls):
            if steps >> at & 1:
                low, high = low * least >> self.places, -(-high * most >> self.places)
        return low, high


def share(epsilon: Fraction, delta: Fraction, working: int) -> Enclosure:
    """c = delta / (e^epsilon - 1)."""
    low, high = exp_bounds(epsilon, working)
    return delta / (high - 1), delta / (low - 1)


def _fixed(ends: Enclosure, places: int) -> Ends:
    return floor(ends[0] * 2**places), ceil(ends[1] * 2**places)


@lru_cache(maxsize=32)
def naming_chances(epsilon: Fraction, delta: Fraction) -> NamingChances:
    """The chances at a price, made once and kept."""
    return NamingChances(epsilon, delta)


@dataclass
class NamingCoins:
    """Coins for keys of any counts. One object serves one draw: it keeps the chances of the counts that it has met.

    >>> from dpviz.noise.bits import TeachingBits
    >>> coins = NamingCoins(naming_chances(Fraction(1), Fraction(1, 10**6)))
    >>> coins.name(np.array([0, 5, 13, 14, 15, 28, 2**62]), TeachingBits(1)).tolist()
    [False, False, False, True, True, True, True]
    """

    chances: NamingChances
    _met: dict[int, tuple[int, int]] = field(default_factory=dict)

    def name(self, counts: NDArray[np.int64], bits: Bits) -> NDArray[np.bool_]:
        """Whether each key is named, from coins of their own."""
        drawn, top = np.frombuffer(bits.take(8 * counts.size), dtype="<u8"), min(self.chances.always, LARGEST)
        each, place = np.unique(np.minimum(counts, top), return_inverse=True)
        ends = np.array([self._ends(count) for count in each.tolist()], dtype=np.uint64).reshape(-1, 2)[place]
        # A number that begins with these bits is below the chance for certain, or may be.
        named: NDArray[np.bool_] = (drawn < ends[:, 0]) | (counts >= top)
        for at in np.flatnonzero(~named & (drawn <= ends[:, 1]) & (counts > 0)):
            named[at] = flip(partial(self.chances.of, int(counts[at])), bits, int(drawn[at]))
        return named

    def _ends(self, count: int) -> tuple[int, int]:
        """Bits below the first are below the chance; those above the second are not."""
        if count not in self._met:
            low, high = self.chances.at_places(count, WORD)
            self._met[count] = min(MOST_WORD, low), min(MOST_WORD, high)
        return self._met[count]
