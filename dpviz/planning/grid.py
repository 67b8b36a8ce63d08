"""The values on which a slider can rest."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpviz.exact import text
from dpviz.privacy.grid import LARGEST_EPSILON

STEPS = ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")
COARSE = ("1", "1.5", "2", "3", "5", "7")
LABELLED = ("1", "2", "5")
DECADES_BELOW = 200
"""The slider starts at the last 1-2-5 tick below top / 200."""


def epsilon_grid(top: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """Ascending slider values up to `top` (included), and those among them that are labelled 1-2-5.

    A larger `top` than any answer may cost is cut to that.
    """
    top = min(top, Fraction(LARGEST_EPSILON))
    steps = [Fraction(step) for step in STEPS]
    scale = Fraction(1)
    while scale > top / DECADES_BELOW:
        scale /= 10
    while scale * 10 <= top / DECADES_BELOW:
        scale *= 10
    start = max(scale * Fraction(label) for label in LABELLED if scale * Fraction(label) <= top / DECADES_BELOW)
    values: list[Fraction] = []
    labelled: list[Fraction] = []
    while scale <= top:
        for name, step in zip(STEPS, steps, strict=True):
            value = scale * step
            if start <= value <= top:
                values.append(value)
                if name in LABELLED:
                    labelled.append(value)
        scale *= 10
    if values[-1] != top:
        values.append(top)
    return values, labelled


def ticks(low: Fraction, high: Fraction, steps: Sequence[str] = STEPS) -> tuple[Fraction, ...]:
    """Ascending slider values from `low` to `high`, both included: the same steps in every power of ten."""
    scale = Fraction(1)
    while scale > low:
        scale /= 10
    values = {low, high}
    while scale <= high:
        values.update(value for step in steps if low <= (value := scale * Fraction(step)) <= high)
        scale *= 10
    return tuple(sorted(values))


def power_text(value: Fraction) -> str:
    """`10⁻⁸` for a power of ten below one hundredth, else the exact text."""
    places = len(str(value.denominator)) - 1
    if value.numerator != 1 or value.denominator != 10**places or places < 3:
        return text(value)
    return "10⁻" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(places))
