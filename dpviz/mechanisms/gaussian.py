"""Discrete Gaussian noise on counts: its parameters, and the variance that a price in epsilon and delta pays for."""

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
from dpviz.privacy.concentrated import pure_rho
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:  # calibration is loaded once somebody asks for this noise
    from dpviz.noise.bits import Bits
    from dpviz.privacy.discrete_gaussian import Calibrated, Rule, Shifts

Counts: TypeAlias = NDArray[np.int64]

GAUSSIAN: Final = "gaussian"
"""The noise law that a price with a delta is for."""

GAUSSIAN_WORDS: Final = "gaussian: with a δ, for a user in many bins"

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


PRICED_BY: Final[dict[Rule, str]] = {
    "exact": "its exact δ for the worst unit (Canonne, Kamath, Steinke 2020, Theorem 7)",
    "renyi": "one Rényi order for the L2 sensitivity (Canonne, Kamath, Steinke 2020, Theorem 4 and Proposition 12)",
}
"""The proofs of an epsilon and a delta, in words."""


def epsilon_for(rho: Fraction, delta: Fraction, moves: Shifts) -> Fraction:
    """An epsilon in four digits that pays for nearly this rho on counts that move so, and for no more.

    >>> from dpviz.privacy.discrete_gaussian import Shifts, calibrate
    >>> moves = Shifts.box(1, 1)
    >>> epsilon = epsilon_for(Fraction(1, 8), Fraction(1, 10**6), moves)
    >>> float(epsilon), float(calibrate(moves, epsilon, Fraction(1, 10**6)).rho)
    (2.275, 0.124907880439)
    """
    from dpviz.privacy.discrete_gaussian import calibrate, epsilon_of
    from dpviz.privacy.renyi import STEP

    least = epsilon_of(moves, moves.squared / (2 * rho), delta) - STEP
    if least > 0:
        step = place(least, 4)
        epsilon = floor_to(least, step)
        while epsilon > 0:
            if calibrate(moves, epsilon, delta).rho <= rho:
                return epsilon
            epsilon -= step
    raise ParameterError.of(
        f"rho = {text(rho)}", "no epsilon that can be asked for pays for so little", "ask for a larger rho"
    )


def pure_rho_of(price: Guarantee) -> Fraction:
    """The rho of a pure answer that Gaussian noise is compared with: of its noise, where that is known."""
    steps = price.zcdp_steps
    return steps.rho if isinstance(steps, ZCDP) else pure_rho(to_approx(price.loss).epsilon)


def guarantee(epsilon: Fraction, delta: Fraction, noise: Calibrated, unit: Unit) -> Guarantee:
    """The price of Gaussian noise: (epsilon, delta), or rho alone where answers are added up by that."""
    rho = ZCDP(noise.rho)
    rule = f"discrete Gaussian noise, priced by {PRICED_BY[noise.rule]}; {rho.short} under zCDP"
    return Guarantee(ApproxDP(epsilon, delta), unit, rule, requested=epsilon, zcdp_steps=rho)


@dataclass(frozen=True)
class BoundGaussian:
    """Gaussian noise in force on counts. `limit` is the public top of a count.

    found  the variance, and the rho that it costs
    moves  how one unit moves the counts
    """

    found: Calibrated
    delta: Fraction
    moves: Shifts
    limit: int | None

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, moves: Shifts, limit: int | None) -> BoundGaussian:
        """The noise that this price pays for. Raises ParameterError where it would be wider than any that is drawn."""
        from dpviz.noise.gaussian import discrete_gaussian
        from dpviz.privacy.discrete_gaussian import calibrate

        noise = cls(calibrate(moves, epsilon, delta), delta, moves, limit)
        discrete_gaussian(noise.law.variance)
        return noise

    @cached_property
    def law(self) -> GaussianNoise:
        """The law by itself, as a release stores it."""
        return GaussianNoise(self.found.variance, self.limit)

    def guarantee(self, unit: Unit, asked: Fraction) -> Guarantee:
        """Return the price of noise on every count."""
        return guarantee(asked, self.delta, self.found, unit)

    def modes(self) -> tuple[Mode, ...]:
        return ("exact",)

    def add(
        self, counts: Counts, bits: Bits, mode: Mode, tick: Tick | None, *, low: int | None, high: int | None
    ) -> Counts:
        """The counts with noise, clamped to low..high. Counts outside that are clamped first, in silence."""
        from dpviz.noise.gaussian import discrete_gaussian

        return discrete_gaussian(self.law.variance).add(counts, low, high, bits, tick)


protect_module(vars())
