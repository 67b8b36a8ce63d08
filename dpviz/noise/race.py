"""The one-shot race: the law of peeling, with all of its noise at once.

Every symbol gets the score rate * count + ln(odds) + G with Gumbel noise G = -ln(-ln U), and the list is the order of
the scores, cut at the bottom symbol and at k. U is a uniform number of which bits are revealed until the order is
certain. The first 16 bits of every U select an interval of noise in one constant table. Low ends give a cut, few
symbols reach it, and only these get 32 more bits. Scores that still overlap get more bits and are compared by MPFR.

Doubles decide only what their error cannot change. The logarithm behind the table is made of additions,
multiplications and divisions, which IEEE 754 rounds to the nearest; so its error is bounded by proof, on any machine.

Source: Durfee, Rogers 2019, Algorithm 1 and Lemma 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cmp_to_key
from typing import Any, TypeAlias

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.exact import log_bounds
from dpviz.noise.bits import Bits
from dpviz.noise.peeling import ENDED, Bottom, check
from dpviz.noise.table import integers, pieces

DIGITS = 48
"""Bits of U after the second look: a double holds U and 1 - U without rounding."""

RELATIVE, ABSOLUTE = 2.0**-50, 2.0**-41
"""A score in doubles is off by at most RELATIVE times its part rate * count + ln(odds), plus ABSOLUTE."""

STEEPEST = Fraction(1 << 64)
"""Doubles work with at most this rate: one count more outweighs all noise that they can tell, as at any higher one."""

TERMS = 9
"""Terms of the series of ln(1 + r) for |r| <= 1/90; what is left out is below 2**-60 of it."""


def rank(counts: NDArray[np.int64], rate: Fraction, k: int, bits: Bits, bottom: Bottom | None = None) -> list[int]:
    """Positions in the order of their scores, at most k symbols; the bottom symbol is -1, and nothing follows it.

    counts  64-bit integers, none negative, in any order

    The law is that of `peel`: each next symbol is drawn from those that remain in proportion to odds * exp(rate *
    count). Raises ParameterError for a rate, k or odds out of range; never because of a count.

    >>> from dpviz.noise.bits import TeachingBits
    >>> rank(np.array([9, 9, 8, 2]), Fraction(1), 3, TeachingBits(2), Bottom(3, Fraction(10)))
    [0, 1, 2]
    """
    check(rate, k, bottom)
    return run(integers(counts), rate, k, UniformNumbers(bits), bottom)


class UniformNumbers:
    """The uniform numbers U of a race, one for each place, as far as they are revealed."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits

    def first(self, places: slice) -> NDArray[np.uint16]:
        """The first 16 bits of the next ones, place after place."""
        return self._bits.words(places.stop - places.start)

    def second(self, places: NDArray[np.intp]) -> NDArray[np.uint32]:
        """The next 32 bits of some."""
        return np.frombuffer(self._bits.take(4 * places.size), dtype="<u4")

    def more(self, place: int) -> int:
        """The next 64 bits of one."""
        return int.from_bytes(self._bits.take(8), "little")


def run(counts: NDArray[np.int64], rate: Fraction, k: int, numbers: UniformNumbers, bottom: Bottom | None) -> list[int]:
    """The list that the numbers give: a function of counts and numbers, whichever way it is found."""
    if counts.size == 0 and bottom is None:
        return []
    field = _Field(counts, rate, bottom, _reference(counts, k, bottom))
    places, words, least, most = _survivors(field, k, numbers)
    drawn = (words << 32) + numbers.second(places)
    # Both ends of the interval that 48 bits of U leave.
    noise = gumbel(np.concatenate((drawn, drawn + 1), dtype=np.float64))
    low, high = least + noise[: places.size], most + noise[places.size :]
    ranked: list[int] = []
    for group in _groups(low, high, k):
        if len(group) > 1:
            runners = [_Runner(int(places[at]), int(drawn[at]), field, numbers) for at in group]
            ranked += [each.place for each in sorted(runners, key=cmp_to_key(_Runner.compare))]
        else:
            ranked.append(int(places[group[0]]))
    ranked = ranked[:k]
    if bottom is not None and counts.size in ranked:
        ranked = [*ranked[: ranked.index(counts.size)], ENDED]
    return ranked


@dataclass(frozen=True, eq=False)
class _Field:
    """All symbols of a race, the bottom symbol last, and the count from which they are measured."""

    counts: NDArray[np.int64]
    rate: Fraction
    bottom: Bottom | None
    reference: int

    @property
    def size(self) -> int:
        return self.counts.size + (self.bottom is not None)

    def shifts(self, places: slice) -> NDArray[np.float64]:
        """rate * (count - reference) + ln(odds) as doubles, each rounded three times at most."""
        rate = min(self.rate, STEEPEST)
        shifts = np.empty(places.stop - places.start)
        counts = self.counts[places]
        np.multiply(counts - self.reference, float(rate), out=shifts[: counts.size])
        if self.bottom is not None and places.stop == self.size:
            shifts[-1] = float(rate * (self.bottom.count - self.reference) + log_bounds(self.bottom.odds)[0])
        return shifts

    def exactly(self, place: int) -> tuple[Fraction, Fraction]:
        """The same part of one score exactly: rate * (count - reference), and the odds."""
        if place == self.counts.size:
            assert self.bottom is not None
            return self.rate * (self.bottom.count - self.reference), self.bottom.odds
        return self.rate * (int(self.counts[place]) - self.reference), Fraction(1)


Survivors: TypeAlias = tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]
"""Places, their first 16 bits, and the ends of their scores without the noise."""


def _survivors(field: _Field, k: int, numbers: UniformNumbers) -> Survivors:
    """The symbols that may be among the first k, and not certainly behind the bottom symbol, as far as 16 bits tell.

    Piece by piece. The k-th largest low end so far is a cut, which the next pieces can only raise.
    """
    ends, cut, best = cells(), -np.inf, np.zeros(0)
    kept: list[tuple[NDArray[Any], ...]] = []
    for piece in pieces(field.size, None):
        shifts = field.shifts(piece)
        slack = np.abs(shifts) * RELATIVE
        slack += ABSOLUTE
        least, most = shifts - slack, shifts + slack
        words = numbers.first(piece).astype(np.int64)  # run makes 48 bits of them
        low, high = ends.take(words), ends[1:].take(words)
        low += least
        high += most
        best = np.concatenate((best, low))
        if best.size >= k:
            best = np.partition(best, best.size - k)[best.size - k :]
            cut = best[0]
        if field.bottom is not None and piece.stop == field.size:
            # An item certainly behind the bottom symbol is never listed.
            cut = max(cut, low[-1])
        places = np.flatnonzero(high >= cut)
        kept.append((places + piece.start, words[places], least[places], most[places], high[places]))
    places, words, least, most, high = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    stays = high >= cut
    return places[stays], words[stays], least[stays], most[stays]


def _reference(counts: NDArray[np.int64], k: int, bottom: Bottom | None) -> int:
    """A count near the cut, from which all are measured, so that those which compete are exact in doubles."""
    near = [] if bottom is None else [max(0, min(bottom.count, 1 << 62))]
    if counts.size:
        place = max(0, counts.size - k)
        near.append(int(np.partition(counts, place)[place]))
    return max(near)


def _groups(low: NDArray[np.float64], high: NDArray[np.float64], k: int) -> list[list[int]]:
    """Places in descending order, together where doubles do not tell which comes first; enough groups for k."""
    order = np.argsort(-low)
    reach = np.maximum.accumulate(high[order][::-1])[::-1]
    parted = np.flatnonzero(low[order][:-1] > reach[1:]) + 1
    ends = [*parted[: np.searchsorted(parted, k) + 1].tolist(), order.size]
    listed, groups, begin = order.tolist(), [], 0
    for end in ends:
        if begin >= k:
            break
        groups.append(listed[begin:end])
        begin = end
    return groups


# ---------------------------------------------------------------- noise in doubles


@cache
def cells() -> NDArray[np.float64]:
    """The noise at U = 0, 1/2**16, ..., 1: cell w of 16 bits lies between ends w and w + 1."""
    return gumbel(np.arange((1 << 16) + 1, dtype=np.float64) * 2.0 ** (DIGITS - 16))


def gumbel(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """-ln(-ln U) for U = numbers / 2**48, whole numbers of 0..2**48; off by at most 2**-42.

    Each logarithm is off by at most 2**-48 of itself. The first is the argument of the second and adds as much to it,
    and the second is at most 34.
    """
    inner = np.clip(numbers, 1, 2.0**DIGITS - 1) * 2.0**-DIGITS
    noise = -log(-log(inner))
    noise[numbers == 0] = -np.inf
    noise[numbers == 2.0**DIGITS] = np.inf
    return noise


def log(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of positive doubles, off by at most 2**-48 of itself, from operations that round to the nearest.

    values = 2**e (c + d) with c a multiple of 1/64 in 45/64..91/64 and |d| <= 1/128: e ln 2 + ln c + ln(1 + d/c).
    Near 1, e = 0 and c = 1, where nothing but the series is left; further away the terms do not cancel.
    """
    fraction, exponent = np.frexp(values)
    small = fraction < 45.25 / 64
    fraction = np.where(small, 2 * fraction, fraction)
    nearest = np.rint(64 * fraction)
    centre = nearest / 64
    rest = (fraction - centre) / centre
    series = np.full(rest.shape, 1 / TERMS)
    for term in range(TERMS - 1, 0, -1):
        series *= rest
        np.subtract(1 / term, series, out=series)
    series *= rest
    constants = _constants()
    logarithms: NDArray[np.float64] = constants.take(nearest.astype(np.intp)) + (exponent - small) * constants[0]
    return logarithms + series


@cache
def _constants() -> NDArray[np.float64]:
    """ln(j/64) at j; at 0, which is not used else, ln 2."""
    logarithms = [float(log_bounds(Fraction(j, 64))[0]) for j in range(1, 92)]
    return np.array([float(log_bounds(Fraction(2))[0]), *logarithms])


# ---------------------------------------------------------------- scores that doubles do not part


class _Runner:
    """One symbol of a race, with the bits of its number revealed so far and the enclosure of its score."""

    def __init__(self, place: int, prefix: int, field: _Field, numbers: UniformNumbers) -> None:
        self.place = place
        self._prefix, self._fraction_bits = prefix, DIGITS
        self._field, self._numbers = field, numbers
        self._ends: tuple[Any, Any] | None = None

    def compare(self, other: _Runner) -> int:
        """-1 where this one comes first, 1 where the other does. Reveals bits until it is certain."""
        if self is other:
            return 0
        while True:
            (low, high), (other_low, other_high) = self.ends(), other.ends()
            if low > other_high:
                return -1
            if other_low > high:
                return 1
            self.reveal()
            other.reveal()

    def reveal(self) -> None:
        self._prefix = self._prefix << 64 | self._numbers.more(self.place)
        self._fraction_bits += 64
        self._ends = None

    def ends(self) -> tuple[Any, Any]:
        if self._ends is None:
            self._ends = enclose(self._prefix, self._fraction_bits, *self._field.exactly(self.place))
        return self._ends


def enclose(prefix: int, fraction_bits: int, shift: Fraction, odds: Fraction) -> tuple[Any, Any]:
    """shift + ln(odds) - ln(-ln U), for every U that begins with these bits, between two MPFR numbers."""
    size = max(shift.numerator.bit_length() - shift.denominator.bit_length(), 0)
    ends = []
    for rounding, opposite, number in (
        (gmpy2.RoundDown, gmpy2.RoundUp, prefix),
        (gmpy2.RoundUp, gmpy2.RoundDown, prefix + 1),
    ):
        outward, inward = (
            gmpy2.context(
                precision=2 * fraction_bits + size, round=way, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max()
            )
            for way in (rounding, opposite)
        )
        if number in (0, 1 << fraction_bits):
            ends.append(gmpy2.mpfr("-inf" if number == 0 else "inf"))
            continue
        with outward:
            minus_log = -gmpy2.log(gmpy2.mpfr(gmpy2.mpq(number, 1 << fraction_bits)))
        with inward:
            log_minus_log = gmpy2.log(minus_log)
        with outward:
            known = gmpy2.mpfr(gmpy2.mpq(shift.numerator, shift.denominator))
            known += gmpy2.log(gmpy2.mpfr(gmpy2.mpq(odds.numerator, odds.denominator)))
            ends.append(known - log_minus_log)
    return ends[0], ends[1]
