"""The law of a sum of noises on a lattice, as two enclosures: fast in float64, and to any precision in integers.

`Spectrum` inverts the transform on a finite circle. Its error has a bound that is computed with it: what lies beyond
the circle (Chernoff), roundings of the transform, of the FFT and of sums. Where it cannot tell two neighbouring values
apart, `fixed` convolves rounded-down probabilities in whole numbers; what is missing from 1 is the whole error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.exact import Decay, Enclosure
from dpviz.fitting.noises import Noises, Term, log_transform
from dpviz.hidden import guard

LOG_BEYOND = -46.0
BEYOND = 1.06e-20
"""How much probability may lie beyond each end of the circle: exp(LOG_BEYOND), rounded up."""

UNIT = 2.0**-53

LONGEST = 1 << 21
"""The most values that a law is computed for."""

FINEST = 1 << 40
"""No lattice with more steps to 1 is looked at."""

LONGEST_FIXED = 1 << 17
"""The same in integers."""

MOST_BITS = 1 << 10
"""To so many bits a comparison is decided."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Pr[X > x] for each multiple x of a step: an array from the least value on, and a bound on its error.

    least   the first x, in steps
    tails   Pr[X > x] for x = least, least + 1, ...
    error   each tail is off by at most this, plus `relative` times itself
    """

    least: int
    tails: NDArray[np.float64]
    error: float
    relative: float

    @classmethod
    def of(cls, noises: Noises) -> Spectrum | None:
        """The law of a sum, or None where it has too many values."""
        if not noises.on_lattice(FINEST):
            return None
        size = float(noises.step)
        high, low = noises.chernoff(LOG_BEYOND) / size, noises.mirrored.chernoff(LOG_BEYOND) / size
        if high + low + 3 > LONGEST:
            return None
        from scipy.fft import next_fast_len

        least, most = -math.ceil(low) - 1, math.ceil(high) + 1
        length = next_fast_len(most - least + 1, real=True)
        at = np.arange(length // 2 + 1)
        size_log, size_errors, phase = np.zeros(len(at)), np.zeros(len(at)), np.zeros(len(at))
        for term, rate in zip(noises.terms, noises.rates.tolist(), strict=True):
            turn = at * (int(Fraction(term.weight) / noises.step) % length) % length
            angle = np.minimum(turn, length - turn) * (
                math.pi / length
            )  # to the nearest whole turn: small ones are accurate
            cosine = np.where(2 * turn > length, -np.cos(angle), np.cos(angle)) if term.positive else angle
            real, turned = log_transform(term.positive, rate, np.sin(angle), cosine)
            size_log += term.count * real
            size_errors += term.count * 3 * np.abs(real)
            if turned is not None:
                phase += term.count * turned
                size_errors += term.count * np.abs(turned)
        transform = np.exp(size_log)
        errors = transform * (24 * UNIT) * (size_errors + 4)
        values = np.fft.irfft(transform * np.exp(-1j * phase), length)
        law = np.roll(values, -least)[: most - least + 1]
        tails = np.concatenate((np.cumsum(law[:0:-1])[::-1], [0.0]))
        spread = math.sqrt(float(values @ values))
        error = float((errors[1:] / at[1:]).sum()) if len(at) > 1 else 0.0
        error += 8 * UNIT * math.log2(length + 2) * math.sqrt(length) * spread + 4 * BEYOND
        return cls(least, tails, error, 2 * length * UNIT)

    def above(self, step: int) -> Enclosure:
        """Pr[X > step], enclosed."""
        if step < self.least:
            return Fraction(1) - Fraction(BEYOND), Fraction(1)
        if step - self.least >= len(self.tails):
            return Fraction(0), Fraction(BEYOND)
        tail = float(self.tails[step - self.least])
        slack = self.error + self.relative * abs(tail)
        return max(Fraction(0), Fraction(tail - slack)), min(Fraction(1), Fraction(tail + slack))

    def bracket(self, level: Fraction) -> tuple[int, int | None]:
        """Two steps between which, both included, is the least x with Pr[X > x] <= level. Equal where that is decided.

        The second is None where the level is beyond the reach of the error.
        """
        slack, target = self.error + self.relative * np.abs(self.tails), float(level)
        sure = self.tails + slack <= target * (1 - 2 * UNIT)
        possible = self.tails - slack <= target * (1 + 2 * UNIT)
        last = self.least + int(np.argmax(sure)) if sure.any() else None
        return self.least + int(np.argmax(possible)), last


@dataclass(frozen=True, eq=False)
class Fixed:
    """Lower bounds on probabilities as whole numbers of 2**-bits, from the value `least` on."""

    least: int
    values: tuple[int, ...]
    bits: int

    @property
    def missing(self) -> int:
        """What the bounds lack: no probability of any event is further above its bound."""
        return (1 << self.bits) - sum(self.values)

    def above(self, step: int) -> Enclosure:
        """Pr[X > step], enclosed."""
        low = sum(self.values[max(0, step + 1 - self.least) :])
        scale = 1 << self.bits
        return Fraction(low, scale), Fraction(min(scale, low + self.missing), scale)


@lru_cache(maxsize=64)
def fixed(noises: Noises, bits: int) -> Fixed:
    """The law of a sum in units of its step, to so many bits before roundings add up."""
    total = Fixed(0, (1 << bits,), bits)
    for term in noises.terms:
        weight = int(Fraction(term.weight) / noises.step)
        total = _added(total, _scaled(_power(_one(term, bits), term.count), weight))
    return total


def least_above(noises: Noises, level: Fraction, first: int, last: int) -> tuple[int, bool]:
    """The least step x of first..last with Pr[X > x] <= level, where `last` is known to satisfy it.

    Decided to MOST_BITS; second, whether it is. What is nearer than that counts as not reached.
    """
    bits = 96 + level.denominator.bit_length() - level.numerator.bit_length()
    decided = True
    while first < last:
        middle = (first + last) // 2
        low, high = fixed(noises, bits).above(middle)
        if high <= level:
            last = middle
        elif low > level:
            first = middle + 1
        elif bits < MOST_BITS:
            bits *= 2
        else:
            first, decided = middle + 1, False
    return last, decided


def _one(term: Term, bits: int) -> Fixed:
    """One noise of a term."""
    ratio, lead = _floor(term.decay, bits + 32)
    values, power = [], lead
    while power >> 32:
        values.append(power >> 32)
        power = power * ratio >> (bits + 32)
    if not term.positive:
        return Fixed(1 - len(values), tuple(values[:0:-1] + values), bits) if values else Fixed(0, (0,), bits)
    low_ratio = term.decay.bounds(bits + 40)[1]
    rest = int((1 << bits) / (1 + low_ratio))
    return Fixed(0, (rest, *values[1:]), bits)


def _floor(decay: Decay, bits: int) -> tuple[int, int]:
    """The decay y, and (1 - y) / (1 + y), rounded down to so many bits."""
    low, high = decay.bounds(bits + 16)
    return int(low * (1 << bits)), int((1 - high) / (1 + high) * (1 << bits))


def _power(one: Fixed, count: int) -> Fixed:
    """The law of a sum of so many independent copies."""
    total: Fixed | None = None
    while count:
        if count & 1:
            total = one if total is None else _added(total, one)
        count >>= 1
        if count:
            one = _added(one, one)
    assert total is not None
    return total


def _added(a: Fixed, b: Fixed) -> Fixed:
    """The law of a sum of two independent ones: a product of long whole numbers, each value in its own slot."""
    slot = (2 * a.bits + min(len(a.values), len(b.values)).bit_length() + 8) // 8
    product = int(_packed(a.values, slot) * _packed(b.values, slot))
    length = len(a.values) + len(b.values) - 1
    digits = product.to_bytes(slot * (length + 1), "little")
    values = [int.from_bytes(digits[at * slot : (at + 1) * slot], "little") >> a.bits for at in range(length)]
    first = next((at for at, value in enumerate(values) if value), 0)
    last = next((at for at in range(length - 1, -1, -1) if values[at]), 0)
    return Fixed(a.least + b.least + first, tuple(values[first : last + 1]) or (0,), a.bits)


def _packed(values: Sequence[int], slot: int) -> gmpy2.mpz:
    return gmpy2.mpz(int.from_bytes(b"".join(value.to_bytes(slot, "little") for value in values), "little"))


def _scaled(law: Fixed, weight: int) -> Fixed:
    """The law of a multiple."""
    size = abs(weight)
    values = [0] * ((len(law.values) - 1) * size + 1)
    values[::size] = law.values
    if weight > 0:
        return Fixed(law.least * size, tuple(values), law.bits)
    return Fixed(-(law.least + len(law.values) - 1) * size, tuple(values[::-1]), law.bits)


guard(vars())
