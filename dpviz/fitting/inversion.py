"""Tails of a sum of noises with any weights, by inverting its transform with the error of every step stated.

Weights of a fitted tree have no common step that is worth using, and the transform of such a sum never settles down to
0. So a normal number of known size is added: it is larger than the width eta with probability SMALL at most, hence

    Pr[X + U > t + eta] - SMALL  <=  Pr[X > t]  <=  (Pr[X + U > t - eta]) / (1 - SMALL),

and the transform of X + U vanishes quickly. The midpoint rule for Gil-Pelaez's integral,
1/2 + (h / pi) sum Im(exp(-i s t) phi(s)) / s over s = (j + 1/2) h, is exact for values within 2 pi / h of t, so its
error is the probability of all others (Chernoff). Points where a product of a few factors shows the summand to be
negligible are left out, and their bounds added to the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz.boundary import protect_module
from dpviz.fitting.noises import Noises
from dpviz.fitting.transforms import Floats

SMALL = 1e-11
"""The chance that the added normal number exceeds the width, on one side; and other chances that are left out."""

FINE = 64
"""The width is this part of a standard deviation, and at least an eighth of a count."""

STAGES = (8, 40)
"""After so many factors of the transform, the points where their product is negligible are left out."""

SIGMAS = 6.75
"""Pr[N > 6.75] < 7.4e-12."""


@dataclass(frozen=True, eq=False)
class Inversion:
    """The transform of X + U at the points where it matters.

    points, real, imaginary  s, and the transform there, each times h / (pi s)
    width                    eta
    error                    what a tail may be off by, in probability
    low, high                X lies beyond each of them with probability at most SMALL
    """

    points: Floats
    real: Floats
    imaginary: Floats
    width: float
    error: float
    low: float
    high: float

    @classmethod
    def of(cls, noises: Noises) -> Inversion:
        deviation = math.sqrt(float(noises.variance()[1]))
        width = max(deviation / FINE, 0.125)
        sigma = width / SIGMAS
        above = noises.chernoff(math.log(SMALL))
        below = above if noises.symmetric else noises.mirrored.chernoff(math.log(SMALL))
        low, high = -below - width, above + width
        step = 2 * math.pi / (1.001 * (high - low) + 2 * width)
        last = math.ceil(math.sqrt(-2 * math.log(SMALL)) / (sigma * step))
        points: Floats = (np.arange(last, dtype=np.float64) + 0.5) * step
        bound: Floats = -((sigma * points) ** 2) / 2
        order = np.argsort(-noises.counts * np.minimum(noises.weights**2 * noises.sizes, 1e300), kind="stable")
        phase, dropped, start = np.zeros(len(points)), 0.0, 0
        for stop in (*STAGES, len(order)):
            real, turned = noises.log_transform(order[start:stop], points)
            bound, phase, start = bound + real, phase + turned, stop
            share = np.exp(bound) * (step / math.pi) / points
            kept = share > SMALL / 10 / last
            dropped += float(share[~kept].sum())
            points, bound, phase = points[kept], bound[kept], phase[kept]
        size = np.exp(bound) * (step / math.pi) / points
        beyond = SMALL / max(1e-9, -2 * math.log(SMALL))
        rounding = (
            float((size * (np.abs(bound) + np.abs(phase) + np.abs(points) * max(-low, high) + 9)).sum()) * 2.0**-49
        )
        error = dropped + beyond + 6 * SMALL + rounding
        return cls(points, size * np.cos(phase), size * np.sin(phase), width, error, low, high)

    def above(self, t: float) -> tuple[float, float]:
        """Pr[X > t], between two numbers."""
        return self.least_above(t), self.most_above(t)

    def least_above(self, t: float) -> float:
        """A number that Pr[X > t] is not below."""
        if t < self.low:
            return 1.0 - SMALL
        return max(0.0, self._smoothed(t + self.width) - self.error) if t + self.width <= self.high else 0.0

    def most_above(self, t: float) -> float:
        """A number that Pr[X > t] is not above."""
        if t > self.high:
            return SMALL
        most = self._smoothed(t - self.width) + self.error if t - self.width >= self.low else 1.0
        return min(1.0, most * (1 + 2 * SMALL))

    def _smoothed(self, t: float) -> float:
        turned = self.points * t
        parts = self.imaginary * np.cos(turned) - self.real * np.sin(turned)
        return 0.5 + float(parts.sum())  # in pairs, and on this thread alone


protect_module(vars())
