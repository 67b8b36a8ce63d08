"""The only way between exact numbers and floats.

Prices and released values are decided on `int` and `Fraction`. A Python float is read as the decimal it prints as
(0.1 is one tenth). Comparisons with logarithms and exponentials are decided by MPFR intervals whose precision
grows until the answer is certain: the logarithm of a rational other than 1 is irrational, so this ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import gmpy2
import numpy as np

from dpviz.errors import ExactnessError, ParameterError, short
from dpviz.kinds import bases

Number: TypeAlias = int | float | str | Fraction | Decimal | Any
"""The types that a user may give where an exact number is meant."""

_NUMERAL = re.compile(r"[\d\s+./eE\u2212-]+\Z", re.ASCII)
"""A text of nothing but the signs that numbers are written with."""

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\Z", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+) */ *(\d+)\Z", re.ASCII)

NUMBER_LIKE = "write it like 0.1 or 1/10"
"""How a number that could not be read is written."""

LONGEST = 200
"""A number is typed, kept and read back in at most so many characters."""

LEAST, MOST = Fraction(1, 10 ** (LONGEST - 3)), Fraction(10**LONGEST)
"""The least power of ten that is written in LONGEST characters, and the first that is not."""

MOST_EXPONENT = 9_999
"""The largest exponent that is read, up or down: four digits."""

MOST_BITS = 4 * (MOST_EXPONENT + LONGEST)
"""No number that is read is longer above or below its fraction bar."""

Plain: TypeAlias = str | bool | int | float | Fraction | Decimal
"""The exact types that a text or a number has once it is read."""


def plain(value: object) -> Plain | None:
    """A text or a number as an exact `str`, `bool`, `int`, `float`, `Fraction`, `Decimal`; None for anything else.

    A subclass is read once, by the slots of the type that it is built on: none of its own methods is asked, so what is
    priced is what is drawn. NumPy's and gmpy2's numbers become Python's. A Fraction too long to be typed is none.
    """
    kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool:
        return value  # type: ignore[return-value]
    for base in bases(kind):
        for known, read in _READERS:
            if base is known:
                return read(value)
    return None


def _fraction(value: object) -> Fraction | None:
    numerator, denominator = _slot(value, _NUMERATOR), _slot(value, _DENOMINATOR)
    if numerator is None or not denominator:
        return None
    return _fraction_of(numerator, denominator)


_NUMERATOR, _DENOMINATOR = vars(Fraction)["_numerator"], vars(Fraction)["_denominator"]


def _slot(value: object, slot: Any) -> int | None:
    """The value of a slot of a Fraction, where that is an integer."""
    try:
        part = slot.__get__(value)
    except AttributeError:  # never filled
        return None
    if type(part) is int:
        return part
    return int.__index__(part) if int in bases(type(part)) else None


def _mpfr(value: Any) -> float:
    return float(str(value))


def _numpy_readers() -> Iterator[tuple[type, Callable[[Any], Plain | None]]]:
    """NumPy's own numbers: whole ones by their value, others as the decimal they print as. No date, no complex."""
    for name in ("byte", "ubyte", "short", "ushort", "intc", "uintc", "int_", "uint", "longlong", "ulonglong"):
        yield getattr(np, name), getattr(np, name).__int__
    for name in ("half", "single", "double", "longdouble"):
        yield getattr(np, name), _printed(getattr(np, name))


def _printed(kind: Any) -> Callable[[Any], float]:
    return lambda value: float(kind.__str__(value))


_READERS: tuple[tuple[type, Callable[[Any], Plain | None]], ...] = (
    *_numpy_readers(),  # before the Python types that some of them are built on
    (np.generic, lambda value: None),
    (str, str.__str__),
    (int, int.__index__),
    (float, float.__float__),
    (Fraction, _fraction),
    (Decimal, Decimal),
    (type(gmpy2.mpz()), int),
    (type(gmpy2.xmpz()), int),
    (type(gmpy2.mpq()), lambda value: _fraction_of(int(value.numerator), int(value.denominator))),
    (type(gmpy2.mpfr()), _mpfr),
)


def _fraction_of(numerator: int, denominator: int) -> Fraction | None:
    long = max(numerator.bit_length(), denominator.bit_length()) > MOST_BITS
    return None if long else Fraction(numerator, denominator)


def rational(value: Number, name: str = "value", *, rule: str = "", step: str = NUMBER_LIKE) -> Fraction:
    """Read a number exactly.

    Accepts int, Fraction, Decimal, the numbers of gmpy2 and NumPy, decimal or fraction text ("0.1", "1e-6", "1/10")
    and floats, which mean the decimal they print as. Raises ExactnessError for anything else, NaN and infinities
    included, and for a number with more digits than anybody types. `rule` is what a boolean breaks, where that says
    more than that it is no number; `step` how to write the number.

    >>> rational(0.1), rational("1/3"), rational("1e-6")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
    """
    number = _rational(plain(value))
    if number is None:
        if type(value) is bool:
            raise _unreadable(value, rule or f"{name} must be a number", step)
        if _is_long(value):
            raise _unreadable(value, f"{name} must be a number of at most {LONGEST:,} characters", "write fewer digits")
        raise _unreadable(value, f"{name} must be a finite number", step)
    return number


def _is_long(value: object) -> bool:
    """Whether it is a number with more digits than anybody types."""
    if type(value) is int:
        return value.bit_length() > MOST_BITS
    return type(value) is str and len(value) > LONGEST and _NUMERAL.match(value) is not None


def _rational(number: Plain | None) -> Fraction | None:
    match number:
        case bool() | None:
            return None
        case str():
            return _from_text(number)
        case int():
            return Fraction(number) if number.bit_length() <= MOST_BITS else None
        case float():
            return Fraction(repr(number)) if math.isfinite(number) else None
        case Decimal():
            return _from_decimal(number)
    return number


def _from_text(text: str) -> Fraction | None:
    trimmed = text.strip(" ").replace("\u2212", "-")
    if len(trimmed) <= LONGEST:
        fraction = _FRACTION.match(trimmed)
        if fraction and int(fraction[2]) != 0:
            return Fraction(int(fraction[1]), int(fraction[2]))
        if _DECIMAL.match(trimmed):
            return Fraction(trimmed)
    return None


def _from_decimal(number: Decimal) -> Fraction | None:
    """A Decimal as far as its text could be typed: 1e999999999 would fill the memory before it could be refused."""
    if not number.is_finite():
        return None
    digits, exponent = number.as_tuple()[1:]
    assert isinstance(exponent, int)
    return Fraction(number) if len(digits) <= LONGEST and abs(exponent) <= MOST_EXPONENT else None


def _unreadable(value: object, rule: str, step: str = NUMBER_LIKE) -> ExactnessError:
    shown = f"{value}, a boolean" if type(value) is bool else value
    if type(value) is str and not value.replace("\u2212", "-").isprintable():
        hidden = next(one for one in value if not one.isprintable())
        shown = ascii(value)
        step = f"type it without the invisible character U+{ord(hidden):04X}"
    error = ExactnessError.of(shown, rule, step)
    assert isinstance(error, ExactnessError)
    return error


def typed(value: Number, name: str) -> Fraction:
    """Read a number exactly, and refuse it unless its exact text is short enough to be read back from a file."""
    number = rational(value, name)
    if not writable(number):
        shown, kept, step = unwritten(number, name)
        raise ParameterError.of(short(value) if type(value) is str and len(value) < LONGEST else shown, kept, step)
    return number


def writable(number: Fraction) -> bool:
    """Whether the exact text of a number has at most LONGEST characters."""
    bits = number.numerator.bit_length() + number.denominator.bit_length()
    return bits <= 4 * LONGEST and len(text(number)) <= LONGEST


def unwritten(number: Fraction, name: str) -> tuple[str, str, str]:
    """The refusal of a number that is not `writable`: its value without its digits, the rule, the next step."""
    if LEAST <= abs(number) < MOST:
        return "a longer one", f"{name} must be a number of at most {LONGEST:,} characters", "write fewer digits"
    if abs(number) >= MOST:
        beyond = "below 1e200" if number > 0 else "above -1e200"
        return "one beyond", f"{name} must be {beyond}", "type a number nearer to 0"
    near = "at least 1e-197, or 0 where that may be" if number > 0 else "outside of -1e-197 to 0"
    return "one nearer to 0", f"{name} must be {near}", "type a number farther from 0"


def _shown(number: Fraction) -> str:
    """The number as a refusal quotes it; one with more digits than Python writes is only described."""
    return text(number) if writable(number) else "a number that is too long to show"


def positive(value: Number, name: str, *, read: Callable[..., Fraction] = rational) -> Fraction:
    """Read a number exactly, by `rational` or `typed`, and refuse it unless it is above zero."""
    number = read(value, name)
    if number <= 0:
        raise ParameterError.of(_shown(number), f"{name} must be positive", "type a number like 0.1 or 1/10")
    return number


def probability(value: Number, name: str, *, zero: bool = True, read: Callable[..., Fraction] = rational) -> Fraction:
    """Read a number exactly and refuse it unless it lies in [0, 1), or in (0, 1) where `zero` is false."""
    number = read(value, name)
    if not (0 <= number < 1) or (number == 0 and not zero):
        rule = f"{name} must lie in [0, 1)" if zero else f"{name} must lie strictly between 0 and 1"
        like = "0.05 or 1/20" if name == "beta" else "0.000001 or 1/1000000"
        raise ParameterError.of(_shown(number), rule, f"type a number like {like}")
    return number


def whole(value: object, name: str, *, least: int = 1, most: int | None = None) -> int:
    """Read a whole number exactly and refuse it outside least..most."""
    rule = f"{name} must be a whole number "
    rule += f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
    step = f"type digits alone, such as {least}"
    number = _rational(plain(value))
    if number is None:
        raise _unreadable(value, rule, step)
    if number.denominator != 1 or number < least or (most is not None and number > most):
        raise ParameterError.of(_shown(number), rule, step)
    return int(number)


def integer(value: object, name: str, *, least: int = 1, most: int | None = None) -> int:
    """As `whole`, for a core that a program calls: an int may be of any size."""
    if type(value) is not int:
        return whole(value, name, least=least, most=most)
    if value < least or (most is not None and value > most):
        return whole(value, name, least=least, most=most)  # which says so, where it can be said
    return value


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


def figures_up(number: Fraction | float, figures: int) -> float:
    """The least number of so many decimal figures that is not below `number`, as the float that prints so.

    For pictures: what is at most a bound is at most what is shown of it.

    >>> figures_up(2 / 3, 4), figures_up(0.05, 4), figures_up(Fraction(1, 3000), 2)
    (0.6667, 0.05, 0.00034)
    """
    return _figures(number, figures, ROUND_CEILING)


def figures_down(number: Fraction | float, figures: int) -> float:
    """The greatest number of so many decimal figures that is not above `number`, as the float that prints so.

    >>> figures_down(2 / 3, 4), figures_down(0.05, 4)
    (0.6666, 0.05)
    """
    return _figures(number, figures, ROUND_FLOOR)


def _figures(number: Fraction | float, figures: int, rounding: str) -> float:
    exact = Fraction(str(number))
    context = Context(prec=figures, rounding=rounding)
    return float(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def ceil_to(number: Fraction, step: Fraction) -> Fraction:
    """The least multiple of `step` that is not below `number`."""
    return -((-number) // step) * step


def floor_to(number: Fraction, step: Fraction) -> Fraction:
    """The greatest multiple of `step` that is not above `number`."""
    return (number // step) * step


def place(number: Fraction, digits: int) -> Fraction:
    """The worth of the last of so many significant digits of a number that is not 0."""
    size = abs(number)
    power = (size.numerator.bit_length() - size.denominator.bit_length()) * 3 // 10
    while size < Fraction(10) ** power:
        power -= 1
    while size >= Fraction(10) ** (power + 1):
        power += 1
    return Fraction(10) ** (power - digits + 1)


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
    """An increasing MPFR function of a rational, enclosed: round the argument and the result outward."""
    exact = gmpy2.mpq(x.numerator, x.denominator)
    lower, upper = _outward(precision)
    least, most = (getattr(context, function)(gmpy2.mpfr(exact, 0, context)) for context in (lower, upper))
    return from_mpfr(least), from_mpfr(most)


@lru_cache(maxsize=16)
def _outward(precision: int) -> tuple[Any, Any]:
    """The contexts of `directed`, for calls of their own functions, which leave the current context as it is."""
    return directed(precision)


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
    if 2 * x < -1:  # near -1 a rounded x would be -1, where the logarithm is infinite
        return log_bounds(1 + x, precision)
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


def counted(number: int, noun: str) -> str:
    """`3 items`, `1 item`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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
            raise ParameterError.of(text(ratio), "a decay must lie strictly between 0 and 1", "give a ratio like 1/2")
        return cls(ratio, None)

    @classmethod
    def exp(cls, exponent: Fraction) -> Decay:
        if exponent <= 0:
            raise ParameterError.of(text(exponent), "the exponent of a decay must be positive", "give one like 1/2")
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
