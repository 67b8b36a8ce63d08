"""Discrete Gaussian noise on counts: its parameters, and the rho that a price in epsilon and delta pays for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import floor_to, place, text
from dpviz.model.laws.count_noise import GaussianNoise
from dpviz.model.mechanism import Mode
from dpviz.model.parameters import Probability, parameter
from dpviz.model.source import Tick
from dpviz.privacy.conversion import STEP, to_approx
from dpviz.privacy.grid import EPSILON_STEP
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.noise.bits import Bits

Counts: TypeAlias = NDArray[np.int64]

GAUSSIAN: Final = "gaussian"
"""The noise law that a price with a delta is for."""

GAUSSIAN_WORDS: Final = "gaussian: for zCDP"

USUAL_DELTA: Final = Fraction(1, 10**6)
"""Where nobody has chosen a delta. Under a zCDP budget it says nothing but how rho is written."""

DELTA: Final[Any] = parameter(
    reads=Probability(zero=False),
    default=None,
    optional=True,
    suggested=text(USUAL_DELTA),
    label="δ of Gaussian noise",
    only=("base", GAUSSIAN),
    later=True,
)


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho on the price grid with rho + 2 sqrt(rho ln(1 / delta)) <= epsilon.

    Raises ParameterError where that is below any noise that is drawn. Source: Bun, Steinke 2016, Proposition 1.3.

    >>> float(rho_for(Fraction(1), Fraction(1, 10**6)))
    0.017468904769
    """
    from dpviz.laws.product import largest_rho

    rho = floor_to(largest_rho(epsilon, delta), EPSILON_STEP)
    if not rho:
        raise ParameterError.of(
            f"epsilon = {text(epsilon)}, delta = {text(delta)}",
            "the rho that this pays for is below any noise that is drawn",
            "ask for a larger epsilon",
        )
    return rho


def epsilon_for(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon in four digits that pays for nearly this rho, and for no more.

    >>> epsilon = epsilon_for(Fraction(1, 8), Fraction(1, 10**6))
    >>> float(epsilon), float(rho_for(epsilon, Fraction(1, 10**6)))
    (2.753, 0.124977340997)
    """
    epsilon = to_approx(ZCDP(rho), delta).epsilon - STEP
    return floor_to(epsilon, place(epsilon, 4))


def guarantee(epsilon: Fraction, delta: Fraction, rho: Fraction, unit: Unit) -> Guarantee:
    """The price of Gaussian noise for this rho: (epsilon, delta), or rho alone where answers are added up by that."""
    rule = (
        "discrete Gaussian noise, Canonne, Kamath, Steinke 2020, Theorem 4, for the L2 sensitivity; "
        f"{ZCDP(rho).short} by Bun, Steinke 2016, Proposition 1.3"
    )
    return Guarantee(ApproxDP(epsilon, delta), unit, rule, requested=epsilon, zcdp_steps=ZCDP(rho))


@dataclass(frozen=True)
class BoundGaussian:
    """Gaussian noise in force on counts that one unit moves by sqrt(l2_squared). `limit` is the public top of a count.

    rho  what it costs: the largest that epsilon and delta pay for
    """

    rho: Fraction
    delta: Fraction
    l2_squared: int
    limit: int | None

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, l2_squared: int, limit: int | None) -> BoundGaussian:
        """The noise that this price pays for. Raises ParameterError where it would be wider than any that is drawn."""
        from dpviz.noise.gaussian import discrete_gaussian

        noise = cls(rho_for(epsilon, delta), delta, l2_squared, limit)
        discrete_gaussian(noise.law.variance)
        return noise

    @cached_property
    def law(self) -> GaussianNoise:
        """The law by itself, as a release stores it."""
        return GaussianNoise(Fraction(self.l2_squared) / (2 * self.rho), self.limit)

    def guarantee(self, unit: Unit, asked: Fraction) -> Guarantee:
        """Return the price of noise on every count."""
        return guarantee(asked, self.delta, self.rho, unit)

    def modes(self) -> tuple[Mode, ...]:
        return ("exact",)

    def add(
        self, counts: Counts, bits: Bits, mode: Mode, tick: Tick | None, *, low: int | None, high: int | None
    ) -> Counts:
        """The counts with noise, clamped to low..high. Counts outside that are clamped first, in silence."""
        from dpviz.noise.gaussian import discrete_gaussian

        return discrete_gaussian(self.law.variance).add(counts, low, high, bits, tick)


protect_module(vars())
