"""Peeling: a ranked list drawn symbol by symbol, each among those that remain, with exact odds.

Every symbol has the weight odds * exp(rate * count), where rate and odds are rational and the count is a whole number.
One draw is inverse-CDF sampling: bits of a uniform number are revealed, and every weight is enclosed in two whole
numbers, until that number lies inside the cell of one symbol for certain. Each draw measures weights against the
largest that remains, so that the head of a list never hides its tail.

Source: Durfee, Rogers 2019, Algorithm 3 and Lemma 4.2.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeAlias

import gmpy2

from dpviz.errors import ParameterError
from dpviz.exact import integer, positive
from dpviz.noise.bits import Bits

FRACTION_BITS = 96
"""How many bits a draw reveals first. Each time they do not tell, there are twice as many."""

GUARD = 32
"""Binary places of the weights beyond the bits revealed."""

ENDED = -1
"""The value in a list in the place of an item where the bottom symbol came."""

NATS = Fraction(693_147, 1_000_000)
"""About ln 2. It compares weights roughly; what is drawn does not depend on it."""


@dataclass(frozen=True, slots=True)
class Bottom:
    """The symbol that ends a list. Its weight is odds * exp(rate * count); that of an item is exp(rate * count)."""

    count: int
    odds: Fraction


Weights: TypeAlias = Callable[[int], tuple[list[int], list[int]]]
"""Lows and highs of all weights at any number of places, in one unit: low <= weight * 2**places <= high."""


def peel(counts: Sequence[int], rate: Fraction, k: int, bits: Bits, bottom: Bottom | None = None) -> list[int]:
    """Positions in the order drawn, at most k symbols; the bottom symbol is -1, and nothing follows it.

    Each draw takes one of the items that remain, or the bottom symbol, in proportion to their weights. Without a bottom
    symbol the list ends at k items, or with the last item there is. Raises ParameterError for a rate, k or odds out of
    range; never because of a count.

    >>> from dpviz.noise.bits import TeachingBits
    >>> peel([9, 9, 8, 2], Fraction(1), 3, TeachingBits(1), Bottom(3, Fraction(10)))
    [1, -1]
    """
    check(rate, k, bottom)
    symbols = [(int(count), Fraction(1)) for count in counts]
    remaining = list(range(len(symbols)))
    if bottom is not None:
        symbols.append((bottom.count, bottom.odds))
        remaining.append(len(counts))
    weighed = _Weighed(symbols, rate)
    drawn: list[int] = []
    while remaining and len(drawn) < k:
        # Durfee, Rogers 2019, Algorithm 3: the exponential mechanism on the symbols that remain.
        place = remaining.pop(draw(weighed.among(remaining), bits))
        if place == len(counts):
            return [*drawn, ENDED]
        drawn.append(place)
    return drawn


def choose(counts: Sequence[int], odds: Sequence[Fraction], rate: Fraction, bits: Bits) -> int:
    """One position, drawn in proportion to odds * exp(rate * count). Counts may be negative.

    This is the exponential mechanism. Raises ParameterError for a rate or odds that are not positive.

    >>> from dpviz.noise.bits import TeachingBits
    >>> choose([-3, -1, -2], [Fraction(1)] * 3, Fraction(2), TeachingBits(1))
    1
    """
    positive(rate, "rate")
    if not odds or len(odds) != len(counts):
        raise ParameterError.of(
            len(odds),
            f"there must be odds for each of {len(counts)} symbols, of which there is one",
            "give one for each symbol",
        )
    for part in odds:
        positive(part, "odds")
    places = range(len(counts))
    return draw(_Weighed(list(zip(map(int, counts), odds, strict=True)), rate).among(places), bits)


def peel_integers(counts: Sequence[int], base: Fraction, k: int, bits: Bits, bottom: Bottom | None = None) -> list[int]:
    """The same as `peel` where exp(rate) is a rational base above 1: weights are whole numbers, and no draw is refined.

    For tests and lessons. The numbers have as many digits as the largest count needs.
    """
    if base <= 1:
        raise ParameterError.of(base, "base must be above 1, for it stands for exp(rate)", "give a base like 2")
    check(Fraction(1), k, bottom)
    symbols = [(int(count), Fraction(1)) for count in counts] + (
        [] if bottom is None else [(bottom.count, bottom.odds)]
    )
    least, most = min((count for count, _ in symbols), default=0), max((count for count, _ in symbols), default=0)
    common = 1 if bottom is None else bottom.odds.denominator
    weights = [
        int(common * odds * base.numerator ** (count - least) * base.denominator ** (most - count))
        for count, odds in symbols
    ]
    remaining = list(range(len(symbols)))
    drawn: list[int] = []
    while remaining and len(drawn) < k:
        passed = list(accumulate(weights[place] for place in remaining))
        place = remaining.pop(bisect_right(passed, bits.below(passed[-1])))
        if place == len(counts):
            return [*drawn, ENDED]
        drawn.append(place)
    return drawn


def check(rate: Fraction, k: int, bottom: Bottom | None) -> None:
    """Refuse parameters out of range. They are public; counts are not looked at."""
    positive(rate, "rate")
    integer(k, "k")
    if bottom is not None:
        positive(bottom.odds, "odds")


def draw(weights: Weights, bits: Bits) -> int:
    """One position, drawn in proportion to weights that are known to any number of places."""
    revealed, fraction_bits, more = 0, 0, FRACTION_BITS
    while True:
        revealed = revealed << more | int.from_bytes(bits.take(more // 8), "little")
        fraction_bits += more
        found = locate(revealed, fraction_bits, *weights(fraction_bits + GUARD))
        if found is not None:
            return found
        more = fraction_bits


def locate(revealed: int, fraction_bits: int, lows: Sequence[int], highs: Sequence[int]) -> int | None:
    """The symbol of every uniform number whose first `fraction_bits` bits are `revealed`; None where they do not tell.

    Cells lie in the order of positions. The last one ends where the total of all weights does.

    >>> [locate(revealed, 2, [4, 2, 2], [4, 2, 2]) for revealed in range(4)], locate(1, 1, [4, 1, 2], [4, 2, 2])
    ([0, 0, 1, 2], None)
    """
    below, above = list(accumulate(lows)), list(accumulate(highs))
    # U times the total lies between these, for all bits to come and all weights within their bounds.
    first, last = revealed * below[-1], (revealed + 1) * above[-1]
    place = min(bisect_left(below, -(-last >> fraction_bits)), len(below) - 1)
    if place and first < above[place - 1] << fraction_bits:
        return None
    return place


class _Weighed:
    """Symbols, each a count and its odds, and the enclosures of their weights as far as they were wanted."""

    def __init__(self, symbols: Sequence[tuple[int, Fraction]], rate: Fraction) -> None:
        self.symbols = symbols
        self.rate = rate
        self._sizes = [rate * count + NATS * _bit_length(odds) for count, odds in symbols]
        self._known: dict[tuple[int, int], dict[tuple[int, Fraction], tuple[int, int]]] = {}

    def among(self, remaining: Sequence[int]) -> Weights:
        """The weights of the symbols that remain, as multiples of about the largest of them."""
        remaining = list(remaining)
        top = max(remaining, key=self._sizes.__getitem__)

        def weights(fraction_bits: int) -> tuple[list[int], list[int]]:
            pairs = self._enclosed(remaining, top, fraction_bits)
            return [low for low, _ in pairs], [high for _, high in pairs]

        return weights

    def _enclosed(self, remaining: Sequence[int], top: int, fraction_bits: int) -> list[tuple[int, int]]:
        known = self._known.setdefault((top, fraction_bits), {})
        missing = {self.symbols[place]: self._sizes[place] for place in remaining}
        missing = {symbol: size for symbol, size in missing.items() if symbol not in known}
        count, odds = self.symbols[top]
        near = [symbol for symbol, size in missing.items() if self._sizes[top] - size <= fraction_bits + 4]
        terms = [(other_odds / odds, self.rate * (other - count)) for other, other_odds in near]
        known.update(dict.fromkeys(missing, (0, 1)))  # below 2**-places; the exact weight may not fit in memory
        known.update(zip(near, products(terms, fraction_bits), strict=True))
        return [known[self.symbols[place]] for place in remaining]


def products(terms: Sequence[tuple[Fraction, Fraction]], fraction_bits: int) -> list[tuple[int, int]]:
    """Enclose ratio * exp(exponent) for each (ratio, exponent), as whole numbers at `fraction_bits` binary places."""
    ends = []
    for rounding, whole_number in ((gmpy2.RoundDown, gmpy2.floor), (gmpy2.RoundUp, gmpy2.ceil)):
        with gmpy2.context(
            precision=fraction_bits + GUARD, round=rounding, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max()
        ):
            values = [gmpy2.exp(_rounded(exponent)) * _rounded(ratio) for ratio, exponent in terms]
            ends.append([int(whole_number(gmpy2.mul_2exp(value, fraction_bits))) for value in values])
    return list(zip(*ends, strict=True))


def _rounded(number: Fraction) -> Any:
    """A number as the context in force rounds it."""
    return gmpy2.mpfr(gmpy2.mpq(number.numerator, number.denominator))


def _bit_length(odds: Fraction) -> int:
    """About the binary logarithm."""
    return odds.numerator.bit_length() - odds.denominator.bit_length()
