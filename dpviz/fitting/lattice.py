"""The law of a sum of noises on a lattice, as two enclosures: fast in float64, and to any precision in integers.

`Spectrum` inverts the transform on a finite circle. Its error has a bound that is computed with it: what lies beyond
the circle (Chernoff), what is left out of the transform, and roundings. Where it cannot tell two neighbouring values
apart, `fixed` convolves rounded-down probabilities in whole numbers; what is missing from 1 is the whole error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.exact import Enclosure
from dpviz.fitting.noises import Noises, Term, law_of
from dpviz.fitting.transforms import Floats

LOG_BEYOND = -32.0
BEYOND = 1.3e-14
"""How much probability may lie beyond each end of the circle: exp(LOG_BEYOND), rounded up."""

LEFT_OUT = -34.0
"""Points of the circle where the logarithm of the transform is below this are left out; their bounds are added up."""

UNIT = 2.0**-53

LONGEST = 1 << 44
"""The most values on the circle."""

MOST_POINTS, MOST_LOOKED_AT = 1 << 17, 1 << 18
"""The most points of the transform that are kept, and that are looked at."""

FINEST = 1 << 40
"""No lattice with more steps to 1 is looked at."""

LONGEST_FIXED = 1 << 17
"""The most values in integers."""

MOST_BITS = 1 << 10
"""To so many bits a comparison is decided."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The transform of a sum on a circle of so many steps: Pr[X > x] is a sum over its points.

    least            the first of `length` steps that stand for the whole lattice
    length           an odd number
    points           the j of the points 2 pi j / length that are kept
    real, imaginary  the transform there, over length * sin(pi j / length)
    base             what the sum over points is at the least step
    error            any tail is off by at most this
    """

    least: int
    length: int
    points: NDArray[np.int64]
    real: Floats
    imaginary: Floats
    base: float
    error: float

    @classmethod
    def of(cls, noises: Noises) -> Spectrum | None:
        """The law of a sum, or None where it has too many values."""
        if not noises.on_lattice(FINEST):
            return None
        size = float(noises.step)
        least = -math.ceil(noises.mirrored.chernoff(LOG_BEYOND) / size) - 1
        length = (math.ceil(noises.chernoff(LOG_BEYOND) / size) + 2 - least) | 1
        points = _points(noises, length)
        if points is None:
            return None
        size_log, phase, errors, dropped = np.zeros(len(points)), np.zeros(len(points)), np.zeros(len(points)), 0.0
        for place in np.argsort(-noises.counts * noises.weights**2, kind="stable").tolist():
            real, turned = _transformed(noises, place, points, length)
            size_log, phase = size_log + real, phase + turned
            errors = errors + noises.transform(place).loss(noises.terms[place].positive) * (
                3 * np.abs(real) + np.abs(turned)
            )
            kept = size_log > LEFT_OUT
            dropped += float((np.exp(size_log[~kept]) / points[~kept]).sum())
            points, size_log, phase, errors = points[kept], size_log[kept], phase[kept], errors[kept]
        if len(points) > MOST_POINTS:
            return None
        transform = np.exp(size_log)
        share = transform / (length * np.sin(points * (math.pi / length)))
        error = float((transform * (24 * UNIT) * (errors + 12) / points).sum()) + 128 * UNIT * (float(share.sum()) + 1)
        last = math.exp(LEFT_OUT) * (1 + math.log(length))  # where points beyond the last were not looked at
        found = cls(least, length, points, share * np.cos(phase), share * np.sin(phase), 0.0, 0.0)
        return replace(found, base=found._sum(least - 1), error=2 * (error + dropped + last) + 4 * BEYOND)

    def tail(self, step: int) -> float:
        """Pr[X > step], off by at most `error`."""
        return (self.least + self.length - 1 - step) / self.length + self._sum(step) - self.base

    def above(self, step: int) -> Enclosure:
        """Pr[X > step], enclosed."""
        if step < self.least:
            return Fraction(1) - Fraction(BEYOND), Fraction(1)
        if step >= self.least + self.length - 1:
            return Fraction(0), Fraction(BEYOND)
        tail = self.tail(step)
        return max(Fraction(0), Fraction(tail - self.error)), min(Fraction(1), Fraction(tail + self.error))

    def bracket(self, level: Fraction) -> tuple[int, int | None]:
        """Two steps between which, both included, is the least x with Pr[X > x] <= level. Equal where that is decided.

        The second is None where the level is beyond the reach of the error.
        """
        target, fails, holds = float(level), self.least - 1, self.least + self.length - 1
        while holds - fails > 1:
            middle = (fails + holds) // 2
            fails, holds = (fails, middle) if self.tail(middle) <= target else (middle, holds)
        slack = self.error + 4 * UNIT * target
        first = last = holds
        while first > self.least and self.tail(first - 1) - slack <= target:
            first -= max(1, last - first)
        if target <= 2 * slack:
            return max(first, self.least), None
        while self.tail(last) + slack > target:
            last += max(1, last - first)
        return max(first, self.least), last

    def _sum(self, step: int) -> float:
        """The sum over points of the transform times a geometric sum up to a step."""
        angle = (self.points * (2 * step + 1) % (2 * self.length)) * (math.pi / self.length)
        return float((self.imaginary * np.cos(angle) - self.real * np.sin(angle)).sum())


def _points(noises: Noises, length: int) -> NDArray[np.int64] | None:
    """The points to look at. With equal weights the transform falls all the way, and bisection finds the last one."""
    if length > LONGEST:
        return None
    last = length // 2
    if all(abs(term.weight) == noises.step for term in noises.terms):
        kept, left = 0, last + 1
        while left - kept > 1:
            middle = (kept + left) // 2
            at = np.array([middle])
            size = sum(float(_transformed(noises, place, at, length)[0][0]) for place in range(len(noises.terms)))
            kept, left = (middle, left) if size > LEFT_OUT else (kept, middle)
        last = kept
    return np.arange(1, last + 1) if last <= MOST_LOOKED_AT else None


def _transformed(noises: Noises, place: int, points: NDArray[np.int64], length: int) -> tuple[Floats, Floats]:
    """The logarithm of the transform of one term at points of the circle: its real part, and its phase.

    Angles are turned to the nearest whole turn in whole numbers, so that sines of small ones are accurate.
    """
    term = noises.terms[place]
    turn = points * (int(Fraction(term.weight) / noises.step) % length) % length
    angle = np.minimum(turn, length - turn) * (math.pi / length)
    real, phase = noises.transform(place).log(term.positive, np.where(2 * turn > length, -angle, angle))
    return term.count * real, np.zeros(len(points)) if phase is None else term.count * phase


@dataclass(frozen=True, eq=False)
class Fixed:
    """Lower bounds on probabilities as whole numbers of 2**-bits, from the value `least` on."""

    least: int
    values: tuple[int, ...]
    bits: int

    @property
    def missing(self) -> int:
        """The amount that the bounds lack: no probability of any event is further above its bound."""
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

    Decided to MOST_BITS; second, whether it is. Values nearer than that count as not reached.
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
    law = law_of(term.noise)
    values = law.floors(bits)
    if not term.positive:
        return Fixed(1 - len(values), tuple(values[:0:-1] + values), bits) if values else Fixed(0, (0,), bits)
    rest = int((1 - law.above(0, bits + 40)[1]) * (1 << bits))
    return Fixed(0, (rest, *values[1:]), bits)


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


protect_module(vars())
