"""Gaussian noise behind a threshold, as `Stability` and `Threshold` draw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.mechanisms.moves import moved_keys, own_keys
from dpviz.mechanisms.stability import OccupiedBound
from dpviz.mechanisms.threshold import ValuesBound
from dpviz.model.error import ErrorValue
from dpviz.model.laws.count_noise import GaussianNoise
from dpviz.model.laws.stability import GaussianStabilityLaw
from dpviz.model.laws.threshold import GaussianThresholdLaw
from dpviz.model.mechanism import Mode
from dpviz.model.question import Question
from dpviz.model.words import shown
from dpviz.noise.bits import Bits
from dpviz.noise.gaussian import discrete_gaussian
from dpviz.privacy.gaussian_keys import KeyMoves, KeyNoise, calibrate_keys
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP, ApproxZCDP
from dpviz.privacy.unit import Unit

RULE: Final = (
    "discrete Gaussian noise behind a threshold: the exact δ of Canonne, Kamath, Steinke 2020, Theorem 7, for keys "
    "that both neighbours have, shared with the chance that others are shown"
)
"""The proof of a price, in words."""


def key_moves(question: Question, unit: Unit) -> KeyMoves:
    """How one unit moves the keys of a question, in whole steps; values are not below 0."""
    return KeyMoves(moved_keys(question, unit), own_keys(question, unit), unit.relation == "replace-one")


def gaussian_cut(epsilon: Fraction, delta: Fraction, question: Question, unit: Unit) -> KeyNoise:
    """The noise and the least threshold for this price. Raises ParameterError where the noise would be wider than any
    that is drawn."""
    found = calibrate_keys(key_moves(question, unit), epsilon, delta)
    discrete_gaussian(found.variance)
    return found


def price_of(epsilon: Fraction, delta: Fraction, unit: Unit, found: KeyNoise) -> Guarantee:
    """The price of such an answer; a zCDP budget books the rho of the noise and the chance that a new key is shown."""
    steps = ApproxZCDP(found.rho, found.chance)
    return Guarantee(ApproxDP(epsilon, delta), unit, RULE, requested=epsilon, zcdp_steps=steps)


@dataclass(frozen=True)
class GaussianStabilityBound(OccupiedBound):
    """Stability with Gaussian noise, bound to a question and a unit.

    found  the variance and the threshold that the price pays for
    """

    found: KeyNoise
    top: int | None

    @property
    def threshold(self) -> int:
        return self.found.threshold - 1

    @property
    def limit(self) -> int | None:
        return self.top

    @property
    def price(self) -> Guarantee:
        return price_of(self.mechanism.epsilon, self.mechanism.delta, self.unit, self.found)

    @cached_property
    def law(self) -> GaussianStabilityLaw:
        return GaussianStabilityLaw(
            GaussianNoise(self.found.variance, self.top), self.threshold, self.bins, self.unit.n
        )

    @property
    def verb(self) -> str:
        return f"Adds Gaussian noise to the counts that are not 0 and shows those above {self.threshold:,}."

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        own = ErrorValue(Fraction(self.threshold), "exact", "the least threshold whose delta is proved")
        return [("Threshold in force", own.to_json())]

    def _noisy(self, counts: NDArray[np.int64], bits: Bits, mode: Mode) -> NDArray[np.int64]:
        return discrete_gaussian(self.found.variance).add(counts, 0, self.top, bits)


@dataclass(frozen=True)
class GaussianThresholdBound(ValuesBound):
    """Threshold with Gaussian noise, bound to a question and a unit.

    found  the variance and the threshold that the price pays for
    """

    found: KeyNoise

    @property
    def least(self) -> int:
        return self.found.threshold

    @property
    def price(self) -> Guarantee:
        assert self.mechanism.delta is not None
        return price_of(self.mechanism.epsilon, self.mechanism.delta, self.unit, self.found)

    @cached_property
    def law(self) -> GaussianThresholdLaw:
        return GaussianThresholdLaw(self.found.variance, self.found.threshold, self.question.aggregate.step, self.bins)

    @property
    def verb(self) -> str:
        least = shown(self.found.threshold * self.question.aggregate.step)
        return f"Adds Gaussian noise to the bins that are not empty and shows those that come to {least} or more."

    def cut_through(
        self, labels: NDArray[Any], values: NDArray[np.int64], bits: Bits
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        noisy = discrete_gaussian(self.found.variance).add(values, None, None, bits)
        kept = noisy >= self.found.threshold
        return labels[kept], noisy[kept]


protect_module(vars())
