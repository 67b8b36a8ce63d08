"""Transforms of one noise in floating point: E exp(i s Z) and E exp(a Z), also of max(Z, 0), whatever the law of Z.

A law is at home in one class here; sums of noises (`noises.py`) know none of them by name.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.laws.gaussian import DiscreteGaussian

Floats = NDArray[np.float64]


class Transform(Protocol):
    """The transform of one noise Z that sums of noises need, or of max(Z, 0) where `positive`.

    size  about the square of its width: noises are taken from the widest on
    pole  E exp(a Z) is finite for |a| below this
    """

    @property
    def size(self) -> float: ...

    @property
    def pole(self) -> float: ...

    def loss(self, positive: bool) -> float:
        """How many times more than a few roundings `log` may be off by."""
        ...

    def log(self, positive: bool, half: Floats) -> tuple[Floats, Floats | None]:
        """The logarithm of E exp(i s Z) at s = 2 * half: its real part, and its phase; None where that is 0."""
        ...

    def log_moment(self, positive: bool, at: Floats) -> Floats:
        """ln E exp(a Z) at numbers below the pole, or above it by no more than is little: for bounds on tails."""
        ...


class Geometric:
    """Two-sided geometric noise, Pr[Z = z] proportional to y**|z| with y = exp(-rate); several as a column of rates.

    With h = s / 2, for real s (and for E exp(a Z) with a in place of i s):

        E exp(i s Z)  = 1 / (1 + (sin h / sinh(rate / 2))**2)
        E exp(i s Z+) = R(2 rate) / R(rate),   R(a) = 1 + 2 sin h (sin h - i cos h) / (exp(a) - 1)
    """

    def __init__(self, rate: Any) -> None:
        self.rate = rate

    @property
    def size(self) -> float:
        return float(self.rate) ** -2

    @property
    def pole(self) -> float:
        return float(self.rate)

    def loss(self, positive: bool) -> float:
        return 1.0

    def log(self, positive: bool, half: Floats) -> tuple[Floats, Floats | None]:
        sine = np.sin(half)
        with np.errstate(over="ignore"):
            size = np.log1p((sine / np.sinh(self.rate / 2)) ** 2)
            if not positive:
                return -size, None
            cosine = np.cos(half)
            more = np.log1p((sine / np.sinh(self.rate)) ** 2)
            return (more - size) / 2, _phase(self.rate, sine, cosine) - _phase(2 * self.rate, sine, cosine)

    def log_moment(self, positive: bool, at: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if positive:
                grown = np.expm1(at)
                each: Floats = np.log1p(-grown / np.expm1(2 * self.rate)) - np.log1p(-grown / np.expm1(self.rate))
            else:
                each = -np.log1p(-((np.sinh(at / 2) / np.sinh(self.rate / 2)) ** 2))
        return each


def _phase(rate: Any, sine: Floats, cosine: Floats) -> Floats:
    """Minus the phase of R(rate)."""
    scale = 2 / np.expm1(rate)
    phase: Floats = np.arctan2(scale * sine * cosine, 1 + scale * sine**2)
    return phase


NEAREST = 4
"""Turns on either side that are looked at one by one."""

ORDERS, POWERS = 7, 12
"""Of those beyond, so many terms of the asymptotic series, and so many powers of the angle."""

FEW = 4
"""Up to this variance weights are added up one by one."""

NARROW = 128
"""Up to this standard deviation the moments of max(Z, 0) are added up."""


class Gaussian:
    """Discrete Gaussian noise, Pr[Z = z] proportional to w(z) = exp(-z**2 / (2 v)).

    By Poisson's summation, with W the sum of all w and s between -pi and pi,

        E exp(i s Z)  = sum over j of exp(-v (s + 2 pi j)**2 / 2), over the same at s = 0
        E exp(i s Z+) = (1 + E exp(i s Z)) / 2 + i sum over j of sqrt(2 v) D((s + 2 pi j) sqrt(v / 2)) / W,

    D Dawson's integral, whose sum over large j is that of its asymptotic series. Tails are bounded by
    E exp(a Z) <= exp(a**2 v / 2): Canonne, Kamath, Steinke 2020.
    """

    pole: ClassVar[float] = math.inf

    def __init__(self, law: DiscreteGaussian) -> None:
        self.v = float(law.variance)
        self.zero = float(law.pmf(0)[1])

    @property
    def size(self) -> float:
        return self.v / 2

    def loss(self, positive: bool) -> float:
        return 1000.0 if positive else 4.0

    def log(self, positive: bool, half: Floats) -> tuple[Floats, Floats | None]:
        angle: Floats = 2 * (half - math.pi * np.round(half / math.pi))
        real = self._log(angle)
        if not positive:
            return real, None
        less, turned = np.expm1(real) / 2, self._odd(angle) * self.zero
        return np.log1p(less * (2 + less) + turned**2) / 2, np.arctan2(turned, 1 + less)

    def log_moment(self, positive: bool, at: Floats) -> Floats:
        from scipy.special import erfc, erfcx

        grown: Floats = at**2 * (self.v / 2)
        if not positive:
            return grown
        # As logarithms: the moment itself exceeds the largest float where a narrow law meets a far count.
        at_most_zero = math.log((1 + self.zero) / 2)
        if self.v <= NARROW**2:
            values = np.arange(1, int(40 * math.sqrt(self.v)) + 40)
            powers = np.multiply.outer(at, values) - values**2 / (2 * self.v)
            most = powers.max(-1)
            above = math.log(self.zero) + most + np.log(np.exp(powers - most[..., None]).sum(-1))
            return np.asarray(np.logaddexp(at_most_zero, above))
        edge, scale = np.abs(at) * math.sqrt(self.v / 2), math.sqrt(math.pi * self.v / 2) * self.zero
        with np.errstate(divide="ignore"):
            rising = grown + np.log(np.maximum(0.0, 1 - scale * erfc(edge) * (1 - 1e-12)))
            falling = np.log(scale * erfcx(edge))
        found: Floats = np.logaddexp(at_most_zero, np.where(at > 0, rising, falling))
        return found

    def _log(self, angle: Floats) -> Floats:
        """ln E exp(i s Z)."""
        if self.v <= 0.5:
            lost = np.zeros_like(angle)
            for z in range(1, int(9 * math.sqrt(self.v)) + 2):
                lost += 4 * self.zero * math.exp(-z * z / (2 * self.v)) * np.sin(z * angle / 2) ** 2
            return np.log1p(-lost)
        others, all_others = np.zeros_like(angle), 0.0
        for j in (1, 2):
            for turn in (j, -j):
                others += np.exp(-2 * math.pi * self.v * turn * (angle + math.pi * turn))
            all_others += 2 * math.exp(-2 * (math.pi * j) ** 2 * self.v)
        found: Floats = -self.v * angle**2 / 2 + np.log1p(others) - math.log1p(all_others)
        return found

    def _odd(self, angle: Floats) -> Floats:
        """The sum of w(z) sin(s z) over z > 0."""
        total = np.zeros_like(angle)
        if self.v <= FEW:
            for z in range(1, int(9 * math.sqrt(self.v)) + 2):
                total += math.exp(-z * z / (2 * self.v)) * np.sin(z * angle)
            return total
        from scipy.special import dawsn

        for j in range(1 - NEAREST, NEAREST):
            total += math.sqrt(2 * self.v) * dawsn((angle + 2 * math.pi * j) * math.sqrt(self.v / 2))
        return total + angle * np.polynomial.polynomial.polyval(angle**2, self._far)

    @cached_property
    def _far(self) -> list[float]:
        """The other turns, as the coefficients of s, s**3, s**5, ...: sqrt(2 v) D(x sqrt(v / 2)) is
        1 / x + 1 / (v x**3) + 3 / (v**2 x**5) + 15 / (v**3 x**7) + ..."""
        from scipy.special import zeta

        found = []
        for k in range(POWERS):
            total, factor = 0.0, 1.0
            for order in range(ORDERS):
                p = 2 * order + 1
                n = p + 2 * k + 1
                total += factor * math.comb(p + 2 * k, 2 * k + 1) * float(zeta(n, NEAREST)) / (2 * math.pi) ** n
                factor *= p / self.v
            found.append(-2 * total)
        return found


protect_module(vars())
