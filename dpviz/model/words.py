"""Numbers and chances as they stand in a sentence, and texts as they stand in HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpviz.boundary import protect_module
from dpviz.exact import ceil_to, floor_to, place, text
from dpviz.model.between import DIGITS, Enclosed, between


@dataclass(frozen=True, slots=True)
class Verbs:
    """The fate of an answer with the keeper of the data: the words of it in a plan.

    done  what an answer is then: it stands for {done} in the tip of a measure
    call  how it is asked for in Python
    cost  what stands before its price
    pays  before the price that is not quite the one that was asked for
    """

    done: str
    call: str
    cost: str
    pays: str


RELEASED: Final = Verbs("released", "session.release", "would cost", "pays")
DRAWN: Final = Verbs("drawn", "lesson.draw", "noise of", "gives")
"""In a lesson, where nothing is released or paid for."""

LONG_FRACTION: Final = 11
"""A fraction of more characters is rounded where it is read."""

MINUS = "\u2212"
WHOLE: Final = re.compile(r"(?<![\w./])[1-9]\d{3,}(?![\d/])")
LONG: Final = re.compile(r"(?<![\w./])[1-9]\d{4,}(?![\d/])")
BELOW_ZERO: Final = re.compile(r"(?<![\w.])-(?=\d)")
SIGNS: Final = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}
"""The replacement of a control character in HTML: ␀ for NUL. A browser drops NUL, and draws nothing for the others."""


def escape(text: str) -> str:
    """A text in HTML, where every character of it is seen."""
    import html

    return html.escape(text.translate(SIGNS))


def capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def shown(number: int | Fraction | Enclosed) -> str:
    """A number for reading: thousands with commas, a true minus sign. Of an enclosure both ends, in a few digits.

    A fraction that takes more digits than anybody reads is rounded to six of them, and says so.

    >>> shown(6293), shown(-1), shown(Fraction(1, 4)), shown(Enclosed(Fraction(7, 5), Fraction(3, 2)))
    ('6,293', '−1', '0.25', 'between 1.4 and 1.5')
    >>> shown(Fraction(-1, 3)), shown(Fraction(-59386476235, 7488368))
    ('−1/3', '≈ −7,930.5')
    >>> shown(Fraction(1, 3 * 10**80))
    '≈ 3.33333e-81'
    """
    enclosed = between(number)
    if enclosed.low < enclosed.high:
        return "between {} and {}".format(*(shown(Fraction(end)) for end in enclosed.ends))
    written = text(abs(enclosed.low))
    if "/" in written and len(written) > LONG_FRACTION:
        unit = place(enclosed.low, DIGITS)
        rounded = round(enclosed.low / unit) * unit
        return f"≈ {_tiny(rounded)}" if "/" in text(rounded) else f"≈ {shown(rounded)}"
    whole, point, places = written.partition(".")
    grouped = f"{int(whole):,}" if whole.isdigit() else whole
    return (MINUS if enclosed.low < 0 else "") + grouped + point + places


def _tiny(number: Fraction) -> str:
    """A number so near 0 that its digits would not fit a line, by its power of ten."""
    first = place(number, 1)
    digits = shown(abs(number) / first)
    return f"{MINUS if number < 0 else ''}{digits}e-{len(str(first.denominator)) - 1}"


def few(number: Fraction) -> str:
    """A number of 0 or more in three digits, rounded up.

    >>> few(Fraction(154822, 100000)), few(Fraction(233, 12)), few(Fraction(0))
    ('1.55', '19.5', '0')
    """
    return shown(ceil_to(number, min(Fraction(1), place(number, 3)))) if number else "0"


def reach(number: Fraction) -> str:
    """The error in words: as it is, or in three digits, rounded up, where it is no finite decimal.

    >>> reach(Fraction(6293)), reach(Fraction(11, 2)), reach(Fraction(330, 59)), reach(Fraction(10001, 3))
    ('6,293', '5.5', '5.6', '3,334')
    """
    return few(number) if "/" in text(number) else shown(number)


def sure(number: int | Fraction | Enclosed, half: Fraction | None, side: int = 0) -> str:
    """A number in the digits that its interval supports: those that two digits of its half-width reach, and whole
    numbers as they are. An end of an interval, of which `side` is -1 or 1, is rounded outward. As `sure` on the page.

    >>> sure(Fraction(152329, 1000), Fraction(5)), sure(Fraction(152329, 1000), Fraction(41)), sure(152, Fraction(5))
    ('152.3', '152', '152')
    >>> sure(Fraction(1, 3), Fraction(1, 40), -1), sure(Fraction(1, 3), Fraction(1, 40), 1), sure(Fraction(1, 3), None)
    ('0.333', '0.334', '1/3')
    """
    rounded = supported(number, half, side)
    return shown(number if rounded is None else rounded)


def supported(number: int | Fraction | Enclosed, half: Fraction | None, side: int = 0) -> Fraction | None:
    """The number that is told in place of this one; None where it has no other digits, or no interval."""
    exact = number.low if isinstance(number, Enclosed) and number.low == number.high else number
    if not isinstance(exact, Fraction) or exact.denominator == 1 or half is None or half <= 0:
        return None
    unit = min(Fraction(1), place(half, 2))
    if side:
        return ceil_to(exact, unit) if side > 0 else floor_to(exact, unit)
    return floor_to(exact + unit / 2, unit)


def told(label: str) -> str:
    """The label of a bin of numbers in a sentence or a picture: with commas from 10,000 on, and a true minus sign.

    Numbers of four digits may be years and stay as they are, but for those that stand beside a longer one: both ends of
    a range are written alike.

    >>> told("2024"), told("87600 to below 131400"), told("8760 to below 17520"), told("<-7"), told("0.1234567")
    ('2024', '87,600 to below 131,400', '8,760 to below 17,520', '<−7', '0.1234567')
    """
    signed = BELOW_ZERO.sub(MINUS, label)
    return WHOLE.sub(lambda digits: f"{int(digits[0]):,}", signed) if LONG.search(signed) else signed


def often(beta: Fraction) -> str:
    """How often a statement holds that fails with chance beta: `95 in 100`, `999 in 1,000`."""
    holds, of = 1 - beta, 100
    while (holds * of).denominator != 1 and of < 10**12:
        of *= 10
    return f"{shown(holds * of)} in {of:,}" if (holds * of).denominator == 1 else f"with chance {text(holds)}"


protect_module(vars())
