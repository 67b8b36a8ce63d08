"""The rules of the paper once more, written as printed, with 400 bits: what our enclosures are held against."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import gmpy2

BITS = 400


def big(number: Fraction) -> Any:
    return gmpy2.mpfr(gmpy2.mpq(number.numerator, number.denominator))


def exactly(number: Any) -> Fraction:
    return Fraction(*map(int, number.as_integer_ratio()))


def terms(epsilons: Sequence[Fraction], delta_prime: Fraction, drift: Fraction = Fraction(1, 2)) -> list[Fraction]:
    """Lemma 4.4: the sum, the term with tanh and the term of range-bounded steps (whose drift is 1/2, or 1/8)."""
    with gmpy2.context(precision=BITS):
        steps = [big(epsilon) for epsilon in epsilons]
        squares, log = sum(step**2 for step in steps), -gmpy2.log(big(delta_prime))
        irrational = [
            sum((step * gmpy2.tanh(step / 2) for step in steps), gmpy2.mpfr(0)) + gmpy2.sqrt(2 * squares * log),
            big(drift) * squares + gmpy2.sqrt(squares * log / 2),
        ]
        return [sum(epsilons, Fraction(0)), *map(exactly, irrational)]


def agreement(steps: int, delta: Fraction) -> Fraction:
    """steps ln(1 + delta)."""
    with gmpy2.context(precision=BITS):
        return exactly(steps * gmpy2.log1p(big(delta)))


def rounded_up(ours: Fraction, real: Fraction) -> bool:
    """Whether ours is the formula's value, at most 10^-15 of it above and not below (but for the reference's bits)."""
    noise = abs(real) / (1 << (BITS - 20))
    return bool(real - noise <= ours <= real * (1 + Fraction(1, 10**15)) + noise)
