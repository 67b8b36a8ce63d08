"""The only door between exact numbers and floats.

Prices and released values are decided on `int` and `Fraction`. A Python float is read as the decimal it prints as
(0.1 is one tenth). Comparisons with logarithms and exponentials are decided by MPFR intervals whose precision
grows until the answer is certain: the logarithm of a rational other than 1 is irrational, so this ends.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import gmpy2

from dpviz.errors import ExactnessError, ParameterError

Number: TypeAlias = int | float | str | Fraction | Decimal | Any
"""What a user may type where an exact number is meant."""

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\Z", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+)\s*/\s*(\d+)\Z", re.ASCII)

LONGEST = 200
"""A number is typed, kept and read back in at most so many characters."""


def rational(value: Number, name: str = "value") -> Fraction:
    """Read a number exactly.

    Accepts int, Fraction, Decimal, gmpy2 values, decimal or fraction text ("0.1", "1e-6", "1/10") and floats, which
    mean the decimal they print as. Raises ExactnessError for anything else, NaN and infinities included.

    >>> rational(0.1), rational("1/3"), rational("1e-6")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise _unreadable(value, name)
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _unreadable(value, name)
        return Fraction(repr(float(value)))
    if isinstance(value, str):
        return _from_text(value, name)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise _unreadable(value, name)
        return Fraction(value)
    if type(value) in (type(gmpy2.mpz(0)), type(gmpy2.mpq(0))):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, numbers.Integral):
        return Fraction(int(value))
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, numbers.Real):  # numpy floats
        return rational(float(str(value)), name)
    raise _unreadable(value, name)


def _from_text(text: str, name: str) -> Fraction:
    plain = text.strip().replace("\u2212", "-").replace("_", "")
    if len(plain) <= LONGEST:
        fraction = _FRACTION.match(plain)
        if fraction and int(fraction[2]) != 0:
            return Fraction(int(fraction[1]), int(fraction[2]))
        if _DECIMAL.match(plain):
            return Fraction(plain)
    raise _unreadable(text, name)


def _unreadable(value: object, name: str) -> ExactnessError:
    error = ExactnessError.of(value, f"{name} must be a finite number", "write it like 0.1 or 1/10")
    assert isinstance(error, ExactnessError)
    return error


def typed(value: Number, name: str) -> Fraction:
    """Read a number exactly, and refuse it unless its exact text is short enough to be read back from a file."""
    number = rational(value, name)
    if not writable(number):
        raise ParameterError.of("a longer one", f"{name} must be a number of at most {LONGEST} characters")
    return number


def writable(number: Fraction) -> bool:
    """Whether the exact text of a number has at most LONGEST characters."""
    bits = number.numerator.bit_length() + number.denominator.bit_length()
    return bits <= 4 * LONGEST and len(text(number)) <= LONGEST


def _shown(number: Fraction) -> str:
    """The number as a refusal quotes it; one with more digits than Python writes is only described."""
    return text(number) if writable(number) else "a number that is too long to show"


def positive(value: Number, name: str) -> Fraction:
    """Read a number exactly and refuse it unless it is above zero."""
    number = rational(value, name)
    if number <= 0:
        raise ParameterError.of(_shown(number), f"{name} must be positive", "type a number like 0.1 or 1/10")
    return number


def probability(value: Number, name: str, *, zero: bool = True) -> Fraction:
    """Read a number exactly and refuse it unless it lies in [0, 1), or in (0, 1) where `zero` is false."""
    number = rational(value, name)
    if not (0 <= number < 1) or (number == 0 and not zero):
        rule = f"{name} must lie in [0, 1)" if zero else f"{name} must lie strictly between 0 and 1"
        raise ParameterError.of(_shown(number), rule, "type a number like 0.000001 or 1/1000000")
    return number


def whole(value: object, name: str, *, least: int = 1, most: int | None = None) -> int:
    """Read a whole number exactly and refuse it outside least..most."""
    number = rational(value, name)
    if number.denominator != 1 or number < least or (most is not None and number > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError.of(_shown(number), f"{name} must be a whole number {span}")
    return int(number)


def text(number: Fraction | int) -> str:
    """The shortest exact text: a finite decimal where one exists with at most 30 places, else a fraction.

    >>> text(Fraction(1, 5)), text(Fraction(1, 3)), text(Fraction(-3))
    ('0.2', '1/3', '-3')
    """
    number = Fraction(number)
    if number.denominator == 1:
        return str(number.numerator)
    places = _places(number.denominator)
    if places is None or places > 30:
        return f"{number.numerator}/{number.denominator}"
    scaled = abs(number.numerator) * 10**places // number.denominator
    digits = str(scaled).rjust(places + 1, "0")
    return ("-" if number < 0 else "") + digits[:-places] + "." + digits[-places:]


def _places(denominator: int) -> int | None:
    """How many decimal places 1/denominator needs, or None where it has no finite decimal."""
    places = [0, 0]
    for index, prime in enumerate((2, 5)):
        while denominator % prime == 0:
            denominator //= prime
            places[index] += 1
    return max(places) if denominator == 1 else None


def up(number: Fraction) -> float:
    """The least float that is not below `number`. For pictures and words."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def down(number: Fraction) -> float:
    """The greatest float that is not above `number`. For pictures and words."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def ceil_to(number: Fraction, step: Fraction) -> Fraction:
    """The least multiple of `step` that is not below `number`."""
    return -((-number) // step) * step


def floor_to(number: Fraction, step: Fraction) -> Fraction:
    """The greatest multiple of `step` that is not above `number`."""
    return (number // step) * step


# ---------------------------------------------------------------- rigorous enclosures

Enclosure: TypeAlias = tuple[Fraction, Fraction]
"""Two rationals with the real number between them."""


def directed(precision: int = 128) -> tuple[Any, Any]:
    """Two MPFR contexts: in the first every operation rounds down, in the second up. Use them by `with`."""
    return (
        gmpy2.context(precision=precision, round=gmpy2.RoundDown, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max()),
        gmpy2.context(precision=precision, round=gmpy2.RoundUp, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max()),
    )


def _monotone(function: str, x: Fraction, precision: int) -> Enclosure:
    """An increasing MPFR function of a rational, enclosed: round the argument and the result outward.

    gmpy2 evaluates under the *current* context, so each call runs inside `with context:`.
    """
    lower, upper = directed(precision)
    results = []
    for context in (lower, upper):
        with context:
            argument = gmpy2.mpfr(gmpy2.mpq(x.numerator, x.denominator))
            results.append(from_mpfr(getattr(gmpy2, function)(argument)))
    return results[0], results[1]


def from_mpfr(number: Any) -> Fraction:
    """An MPFR number as the rational that it is."""
    numerator, denominator = number.as_integer_ratio()
    return Fraction(int(numerator), int(denominator))


@lru_cache(maxsize=4096)
def log_bounds(x: Fraction, precision: int = 128) -> Enclosure:
    """ln(x) for x > 0, to a relative width of about 2^-precision."""
    if x == 1:
        return Fraction(0), Fraction(0)
    return _monotone("log", x, precision)


@lru_cache(maxsize=4096)
def exp_bounds(x: Fraction, precision: int = 128) -> Enclosure:
    """exp(x), to a relative width of about 2^-precision."""
    if x == 0:
        return Fraction(1), Fraction(1)
    return _monotone("exp", x, precision)


@lru_cache(maxsize=4096)
def log1p_bounds(x: Fraction, precision: int = 128) -> Enclosure:
    """ln(1 + x) for x > -1, to a relative width of about 2^-precision, however small x is."""
    return _monotone("log1p", x, precision)


@lru_cache(maxsize=4096)
def tanh_bounds(x: Fraction, precision: int = 128) -> Enclosure:
    """tanh(x), to a relative width of about 2^-precision."""
    return _monotone("tanh", x, precision)


def root_bounds(x: Fraction, precision: int = 128) -> Enclosure:
    """The square root of x >= 0, to a relative width of about 2^-precision."""
    return _monotone("sqrt", x, precision)


def log_factorial_bounds(k: int, precision: int = 128) -> Enclosure:
    """ln(k!) for k >= 0, to a relative width of about 2^-precision."""
    if k < 2:
        return Fraction(0), Fraction(0)
    return _monotone("lngamma", Fraction(k + 1), precision)


def decide(question: Callable[[int], bool | None]) -> bool:
    """Ask at growing precision until the answer is certain. The caller sees to it that equality is impossible."""
    precision = 64
    while True:
        answer = question(precision)
        if answer is not None:
            return answer
        precision *= 2
        if precision > 1 << 22:
            raise ArithmeticError("a comparison stayed undecided; the two numbers may be equal")


def log_at_most(ratio: Fraction, bound: Fraction, times: int = 1) -> bool:
    """Whether times * ln(ratio) <= bound, decided rigorously.

    >>> log_at_most(Fraction(21, 20), Fraction(1, 10), times=2), log_at_most(Fraction(20, 19), Fraction(1, 10), times=2)
    (True, False)
    """
    if ratio == 1 or times == 0:
        return bound >= 0
    target = bound / times

    def question(precision: int) -> bool | None:
        low, high = log_bounds(ratio, precision)
        if high <= target:
            return True
        return False if low > target else None

    return decide(question)


def log_up(ratio: Fraction, step: Fraction, times: int = 1) -> Fraction:
    """The least multiple of `step` not below times * ln(ratio)."""
    if ratio == 1:
        return Fraction(0)

    found: list[Fraction] = []

    def question(precision: int) -> bool | None:
        low, high = log_bounds(ratio, precision)
        if ceil_to(low * times, step) == ceil_to(high * times, step):
            found.append(ceil_to(high * times, step))
            return True
        return None

    decide(question)
    return found[0]


def odds_text(epsilon: Fraction) -> str:
    """exp(epsilon) in words, rounded up at two decimals ("1.23" for 1/5), at three digits above 100."""
    if epsilon > 50:
        return f"e^{text(ceil_to(epsilon, Fraction(1, 10)))}"
    high = exp_bounds(epsilon)[1]
    if high < 100:
        return f"{float(ceil_to(high, Fraction(1, 100))):.2f}"
    digits = len(str(int(high)))
    return f"{int(ceil_to(high, Fraction(10 ** (digits - 3)))):,}"


@dataclass(frozen=True, slots=True)
class Decay:
    """A ratio strictly between 0 and 1 that is rational, or exp(-x) for a positive rational x.

    Noise with Pr[Z = z] proportional to decay**|z| is a two-sided geometric (rational) or a discrete Laplace (exp).

    >>> Decay.rational(Fraction(16, 17)), Decay.exp(Fraction(1, 10))
    (Decay(16/17), Decay(exp(-1/10)))
    """

    ratio: Fraction | None
    exponent: Fraction | None

    @classmethod
    def rational(cls, ratio: Fraction) -> Decay:
        if not 0 < ratio < 1:
            raise ParameterError.of(text(ratio), "a decay must lie strictly between 0 and 1")
        return cls(ratio, None)

    @classmethod
    def exp(cls, exponent: Fraction) -> Decay:
        if exponent <= 0:
            raise ParameterError.of(text(exponent), "the exponent of a decay must be positive")
        return cls(None, exponent)

    def bounds(self, precision: int = 128) -> Enclosure:
        """The ratio, enclosed (both ends equal where it is rational)."""
        if self.ratio is not None:
            return self.ratio, self.ratio
        assert self.exponent is not None
        return exp_bounds(-self.exponent, precision)

    def power(self, times: int, precision: int = 128) -> Enclosure:
        """ratio**times for times >= 0, enclosed; exact where the ratio is rational."""
        if self.ratio is not None:
            return self.ratio**times, self.ratio**times
        assert self.exponent is not None
        return exp_bounds(-self.exponent * times, precision)

    def __repr__(self) -> str:
        return f"Decay({self.ratio})" if self.ratio is not None else f"Decay(exp(-{self.exponent}))"
