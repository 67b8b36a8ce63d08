"""How a value becomes whole steps of a sum, by the same operations on floats of 64 bits in every engine.

A value v (the nearest float) is cut to low..high; below is the whole part of v / step, and v goes up to the next step
from the middle on, the float nearest to (below + 1/2) step. Every middle is a quotient of whole numbers up to 2^53
(`model.aggregate.Sum` sees to that), which IEEE division rounds correctly. The whole part may come out one off only
where v is within rounding of a whole step, half a step from any middle, and there both wholes lead to the same step:
so the outcome is the greatest s for which v reaches the middle between s - 1 and s. Both ends are hit exactly.

A decimal (DECIMAL, NUMERIC, Python's Decimal) is no float: v is the decimal itself, and each middle the fraction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpviz.model.aggregate import Sum


@dataclass(frozen=True, slots=True)
class SumScale:
    """The public numbers of a sum, as floats.

    low, high  the ends
    rate       steps in a unit of the column
    half       the middle between step s and s + 1 is (2 s + 1) half / parts
    """

    low: float
    high: float
    rate: float
    half: float
    parts: float

    @classmethod
    def of(cls, total: Sum) -> SumScale:
        """The scale of a sum: each of its numbers as the nearest float; `half` and `parts` exactly."""
        step = total.step
        return cls(
            float(total.low), float(total.high), float(1 / step), float(step.numerator), float(2 * step.denominator)
        )


def steps_of(values: NDArray[np.float64], scale: SumScale) -> NDArray[np.int64]:
    """The steps of each value. None may be NaN."""
    cut = np.minimum(np.maximum(values, scale.low), scale.high)
    below = np.floor(cut * scale.rate)
    middle = (2 * below + 1) * scale.half / scale.parts
    return below.astype(np.int64) + (cut >= middle)


def exact_steps(value: Fraction, total: Sum) -> int:
    """The steps of a decimal: it goes up to the next step from the middle on, which is a fraction like the value."""
    cut = min(max(value, total.low), total.high)
    return math.floor(cut / total.step + Fraction(1, 2))
