"""The two-sided geometric law, Pr[Z = z] = (1 - y) / (1 + y) * y**|z|, and the errors it makes.

Everything follows from one tail: Pr[Z > a] = y**(a+1) / (1 + y) for a >= 0, and Z is symmetric.
Quantiles are found from enclosures of logarithms. Where an enclosure does not tell two neighbouring integers apart,
the inequality itself is decided, exactly if need be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import Decay, Enclosure, decide, exp_bounds, integer, log_bounds, probability, text

PRECISION = 128
"""Bits of the first attempt. More are taken where they are needed."""

EXACTLY = 1024
"""From this precision on, an undecided comparison of rational numbers is a tie, and is decided exactly."""


LONGEST_TIE = 1 << 16
"""A tail whose denominator has more bits than this is no tie with a number that somebody types: it need not be exact,
and could not be, for noise of a scale of millions."""


FAR = Fraction(1000)
"""A power below exp(-FAR) adds nothing to a mean that is told in a few digits: how small it is need not be known."""


@dataclass(frozen=True)
class TwoSidedGeometric:
    """Z with Pr[Z = z] proportional to decay**|z|.

    Probabilities are enclosures: two rationals, equal where the decay is rational. Mean 0.

    >>> law = TwoSidedGeometric(Decay.rational(Fraction(1, 2)))
    >>> law.pmf(0)[0], law.above(0)[0], law.variance()[0]
    (Fraction(1, 3), Fraction(1, 3), Fraction(4, 1))
    """

    decay: Decay

    def pmf(self, value: int, precision: int = PRECISION) -> Enclosure:
        """Pr[Z = value]."""
        (low, high), (power_low, power_high) = self._y(precision), self.decay.power(abs(value), precision)
        return (1 - high) / (1 + high) * power_low, (1 - low) / (1 + low) * power_high

    def above(self, value: int, precision: int = PRECISION) -> Enclosure:
        """Pr[Z > value]."""
        times = value + 1 if value >= 0 else -value
        (low, high), (power_low, power_high) = self._y(precision), self.decay.power(times, precision)
        # Pr[Z > a] = y^(a+1) / (1 + y), each part at the end that makes the whole smaller, then larger.
        tail = power_low / (1 + high), power_high / (1 + low)
        return tail if value >= 0 else (1 - tail[1], 1 - tail[0])

    def cdf(self, value: int, precision: int = PRECISION) -> Enclosure:
        """Pr[Z <= value]."""
        low, high = self.above(value, precision)
        return 1 - high, 1 - low

    def quantile(self, level: Fraction) -> int:
        """The least z with Pr[Z <= z] >= level."""
        return quantiles(self.decay, [level])[0]

    def joint_quantile(self, beta: Fraction, two_sided: int, one_sided: int = 0) -> int:
        """As `simultaneous_quantile`."""
        return simultaneous_quantile(self.decay, beta, two_sided, one_sided)

    def holds(self, value: int, beta: Fraction, two_sided: int, one_sided: int = 0) -> bool:
        """Whether `joint_quantile` is at most this."""
        return self.joint_quantile(beta, two_sided, one_sided) <= value

    def is_least(self, value: int, beta: Fraction, two_sided: int, one_sided: int = 0) -> bool:
        """Whether no smaller number would do in `joint_quantile`: always, for all is decided."""
        return True

    def quantiles(self, probabilities: Iterable[Fraction]) -> list[int]:
        """For each probability the least z with Pr[Z <= z] >= probability."""
        return quantiles(self.decay, probabilities)

    def quantile_bounds(self, level: Fraction) -> tuple[int, int]:
        """Two numbers between which `quantile` is: it is both."""
        value = self.quantile(level)
        return value, value

    def variance(self, precision: int = PRECISION) -> Enclosure:
        """2 y / (1 - y)**2."""
        low, high = self._y(precision)
        # 2 y / (1 - y)^2 rises with y.
        return 2 * low / (1 - low) ** 2, 2 * high / (1 - high) ** 2

    def moment2(self, precision: int = PRECISION) -> Enclosure:
        """E Z**2, which is the variance."""
        return self.variance(precision)

    def floors(self, bits: int) -> list[int]:
        """Pr[Z = 0], Pr[Z = 1], ... in units of 2**-bits, rounded down, as far as they are not 0."""
        low, high = self._y(bits + 48)
        ratio, power = int(low * (1 << (bits + 32))), int((1 - high) / (1 + high) * (1 << (bits + 32)))
        values = []
        while power >> 32:
            values.append(power >> 32)
            power = power * ratio >> (bits + 32)
        return values

    def expected_size(self, precision: int = PRECISION) -> Enclosure:
        """The mean of |Z|: 2 y / (1 - y**2)."""
        low, high = self._y(precision)
        return 2 * low / (1 - low**2), 2 * high / (1 - high**2)

    def sum_above(self, start: int, stop: int | None = None, precision: int = PRECISION) -> Enclosure:
        """The sum of Pr[Z > a] over start <= a < stop, for 0 <= start: (y**(start+1) - y**(stop+1)) / (1 - y**2).

        From 0 on: the mean of the positive part.
        """
        if stop is not None and stop <= start:
            return Fraction(0), Fraction(0)
        low, high = power_bounds(self.decay, start + 1, precision)
        cut_low, cut_high = (
            (Fraction(0), Fraction(0)) if stop is None else power_bounds(self.decay, stop + 1, precision)
        )
        least, most = self._y(precision)
        # A geometric series of the tails: each is y times the one before.
        return max(Fraction(0), low - cut_high) / (1 - least**2), (high - cut_low) / (1 - most**2)

    def least_above(self, target: Fraction) -> int:
        """The least a >= 0 with Pr[Z > a] <= target."""
        return error_quantile(self.decay, target, 1)

    def chance_above(self, value: int) -> float:
        """Pr[Z > value] in floating point, for pictures."""
        rate = self._float_rate
        tail = math.exp(-rate * (value + 1 if value >= 0 else -value)) / (1 + math.exp(-rate))
        return tail if value >= 0 else 1 - tail

    def pmf_array(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Pr[Z = value] in floating point, for pictures."""
        rate = self._float_rate
        drawn: NDArray[np.float64] = math.tanh(rate / 2) * np.exp(-rate * np.abs(values))
        return drawn

    def above_array(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Pr[Z > value] in floating point, for pictures."""
        rate = self._float_rate
        values = np.asarray(values)
        tail = np.exp(-rate * np.where(values >= 0, values + 1, -values)) / (1 + math.exp(-rate))
        drawn: NDArray[np.float64] = np.where(values >= 0, tail, 1 - tail)
        return drawn

    @cached_property
    def _float_rate(self) -> float:
        return float_rate(self.decay)

    def _y(self, precision: int) -> Enclosure:
        return self.decay.bounds(precision)


def float_rate(decay: Decay) -> float:
    """-ln(decay) as a float, for pictures."""
    return float(rate_bounds(decay)[0])


# ---------------------------------------------------------------- enclosures


@lru_cache(maxsize=4096)
def rate_bounds(decay: Decay, precision: int = PRECISION) -> Enclosure:
    """-ln(decay), enclosed."""
    if decay.exponent is not None:
        return decay.exponent, decay.exponent
    assert decay.ratio is not None
    return log_bounds(1 / decay.ratio, precision)


@lru_cache(maxsize=4096)
def _log_one_plus(decay: Decay, precision: int) -> Enclosure:
    """ln(1 + decay), enclosed."""
    low, high = decay.bounds(precision)
    return log_bounds(1 + low, precision)[0], log_bounds(1 + high, precision)[1]


def power_bounds(decay: Decay, times: int, precision: int) -> Enclosure:
    """decay**times for times >= 0, enclosed: an exact rational unless its denominator has more than LONGEST_TIE bits,
    and between 0 and exp(-FAR) where it is smaller than that."""
    if decay.ratio is not None and times * decay.ratio.denominator.bit_length() <= LONGEST_TIE:
        return decay.power(times, precision)
    low, high = rate_bounds(decay, precision)
    if low * times > FAR:
        return Fraction(0), exp_bounds(-FAR, precision)[1]
    return exp_bounds(-high * times, precision)[0], exp_bounds(-low * times, precision)[1]


def short_bounds(decay: Decay, value: int, precision: int) -> Enclosure:
    """The same as `above_bounds`, between 0 and exp(-FAR) where it is smaller than that: for errors that are told, and
    never for what a threshold or a price is compared with, which may be smaller still."""
    if rate_bounds(decay, precision)[0] * (value + 1) > FAR:
        return Fraction(0), exp_bounds(-FAR, precision)[1]
    return above_bounds(decay, value, precision)


def above_bounds(decay: Decay, value: int, precision: int) -> Enclosure:
    """Pr[Z > value] for value >= 0, enclosed; an exact rational where precision is EXACTLY or more, unless its
    denominator has more than LONGEST_TIE bits."""
    if (
        decay.ratio is not None
        and precision >= EXACTLY
        and (value + 1) * decay.ratio.denominator.bit_length() <= LONGEST_TIE
    ):
        return TwoSidedGeometric(decay).above(value)
    low, high = rate_bounds(decay, precision)
    y_low, y_high = decay.bounds(precision)
    times = value + 1
    return exp_bounds(-high * times, precision)[0] / (1 + y_high), exp_bounds(-low * times, precision)[1] / (1 + y_low)


# ---------------------------------------------------------------- quantiles


def error_quantile(decay: Decay, beta: Fraction, sides: int = 2) -> int:
    """The least a >= 0 with sides * Pr[Z > a] <= beta.

    With two sides: |noise| exceeds a with probability at most beta.

    >>> error_quantile(Decay.exp(Fraction(1, 10)), Fraction(1, 20))
    30
    """
    target = _level(beta) / integer(sides, "sides", most=2)

    def holds(a: int, precision: int) -> bool | None:
        return _at_most(above_bounds(decay, a, precision), (target, target))

    return _least(_units(decay), _minus_log(target), holds)


def simultaneous_quantile(decay: Decay, beta: Fraction, two_sided: int, one_sided: int = 0) -> int:
    """The least a >= 0 with (1 - 2s)**two_sided * (1 - s)**one_sided >= 1 - beta, where s = Pr[Z > a].

    With so many independent bins that err on both sides, and on one side, all of them are within a with probability
    at least 1 - beta.

    >>> simultaneous_quantile(Decay.exp(Fraction(1, 10)), Fraction(1, 20), 42)
    67
    """
    beta = _level(beta)
    two_sided, one_sided = integer(two_sided, "two_sided", least=0), integer(one_sided, "one_sided", least=0)
    if two_sided + one_sided == 0:
        return 0

    def holds(a: int, precision: int) -> bool | None:
        low, high = above_bounds(decay, a, precision)
        if low == high and precision >= EXACTLY:
            return (1 - 2 * low) ** two_sided * (1 - low) ** one_sided >= 1 - beta
        if 2 * high >= 1:  # s is below one half; the enclosure does not show it yet
            return None
        failure = log_all(high, two_sided, one_sided, precision)[0], log_all(low, two_sided, one_sided, precision)[1]
        return _at_most(log_bounds(1 - beta, precision), failure)

    return _least(_units(decay), _minus_log_share(beta, two_sided, one_sided), holds)


def quantiles(decay: Decay, probabilities: Iterable[Fraction]) -> list[int]:
    """For each probability the least z with Pr[Z <= z] >= probability.

    >>> quantiles(Decay.exp(Fraction(1, 10)), [Fraction(1, 20), Fraction(1, 2), Fraction(19, 20)])
    [-23, 0, 23]
    """
    units, known = _units(decay), dict[tuple[int, int], int]()
    return [_quantile(decay, units, _level(level), known) for level in probabilities]


def _quantile(decay: Decay, units: Units, level: Fraction, known: dict[tuple[int, int], int]) -> int:
    """Above one half: the least a with Pr[Z > a] <= 1 - level. Else minus the greatest m with Pr[Z > m - 1] >= level,
    which is the least m with Pr[Z > m] < level. Both are the same number but for ties, so `known` keeps it."""
    above = 2 * level.numerator > level.denominator
    # By symmetry a level below one half is the tail on the other side.
    target = 1 - level if above else level
    reach = known.get(target.as_integer_ratio())
    if reach is None:
        first, last = _candidates(units, _minus_log(target))

        def holds(a: int, precision: int) -> bool | None:
            tail = above_bounds(decay, a, precision)
            if above:
                return _at_most(tail, (target, target))
            reached = _at_most((target, target), tail)
            return None if reached is None else not reached

        reach = _first(first, last, holds)
        if first >= last:
            known[target.as_integer_ratio()] = reach
    return reach if above else -reach


FLATTEST: Final = Fraction(1, 2**64)
"""Of flatter noise no quantile is looked for: its enclosures leave too many candidates. None such can be drawn."""


class Units(NamedTuple):
    """The enclosures of -ln(decay) and ln(1 + decay) as whole numbers in units of 2**-bits, rounded outward."""

    bits: int
    rate: tuple[int, int]
    plus: tuple[int, int]


@lru_cache(maxsize=1024)
def _units(decay: Decay) -> Units:
    """So fine that rounding takes away no digit of a rate which its enclosure has."""
    rate = rate_bounds(decay)
    check_flatness(rate[0])
    bits = PRECISION + 32 + int(1 / rate[0]).bit_length()
    return Units(bits, _outward(rate, bits), _outward(_log_one_plus(decay, PRECISION), bits))


def check_flatness(rate: Fraction) -> None:
    """Refuse noise that is flatter than any that can be drawn: its enclosures tell no error.

    Parameters
    ----------
    rate : Fraction
        The least that -ln(decay) may be.

    Raises
    ------
    ParameterError
        If it is below 2^-64.
    """
    if rate < FLATTEST:
        raise ParameterError.of(
            f"a decay of 1 - 2^-{int(1 / rate).bit_length() - 1}",
            "noise has errors that can be told where it decays by at least 2^-64 from one whole number to the next",
            "raise epsilon; where a file says so, get it again from whoever made it: it was altered",
        )


def _outward(enclosure: Enclosure, bits: int) -> tuple[int, int]:
    """In units of 2**-bits, the lower end rounded down and the upper one up."""
    low, high = enclosure
    return (low.numerator << bits) // low.denominator, -((-high.numerator << bits) // high.denominator)


def _least(units: Units, minus_log_target: Enclosure, holds: Callable[[int, int], bool | None]) -> int:
    """The least a >= 0 that holds."""
    return _first(*_candidates(units, minus_log_target), holds)


def _candidates(units: Units, minus_log_target: Enclosure) -> tuple[int, int]:
    """Between which numbers the least a >= 0 is: Pr[Z > a] = target at a + 1 = (-ln target - ln(1 + y)) / rate.

    The enclosure of that number leaves one candidate but for ties; a tie is settled by the inequality itself.
    """
    (low, high), (plus_low, plus_high) = _outward(minus_log_target, units.bits), units.plus
    rate_low, rate_high = units.rate
    # ln target = -(a + 1) rate - ln(1 + y), solved for a + 1.
    least, most = low - plus_high, high - plus_low
    first = -(-least // (rate_high if least > 0 else rate_low)) - 1
    last = max(0, most // (rate_low if most > 0 else rate_high))
    return max(0, first), last


def _first(first: int, last: int, holds: Callable[[int, int], bool | None]) -> int:
    for a in range(first, last):
        if decide(lambda precision, a=a: holds(a, precision)):  # type: ignore[misc]
            return a
    return last


def _at_most(left: Enclosure, right: Enclosure) -> bool | None:
    """Whether left <= right, where the enclosures tell."""
    if left[1] <= right[0]:
        return True
    return False if left[0] > right[1] else None


def _level(value: Fraction) -> Fraction:
    if type(value) is Fraction and 0 < value.numerator < value.denominator:
        return value
    return probability(value, "beta", zero=False)


@lru_cache(maxsize=1024)
def _minus_log(target: Fraction) -> Enclosure:
    low, high = log_bounds(target)
    return -high, -low


def log_all(s: Fraction, two_sided: int, one_sided: int, precision: int) -> Enclosure:
    """ln((1 - 2s)**two_sided * (1 - s)**one_sided), enclosed."""
    two, one = log_bounds(1 - 2 * s, precision), log_bounds(1 - s, precision)
    return two_sided * two[0] + one_sided * one[0], two_sided * two[1] + one_sided * one[1]


TINY: Final = Fraction(1, 2**44)
"""For a smaller beta the bounds by all bins together are as near to each other as the others ever are."""

NEAR_HALF: Final = 0.5 - 2**-40
"""Floats beyond lie too near to one half to go on from."""


@lru_cache(maxsize=1024)
def _minus_log_share(beta: Fraction, two_sided: int, one_sided: int) -> Enclosure:
    """-ln s for the s in (0, 1/2) with (1 - 2s)**two_sided * (1 - s)**one_sided = 1 - beta.

    Where only one kind of bin occurs there is a formula; else Newton's method in floating point gives a guess, and
    enclosures confirm a bracket around it.
    """
    if one_sided == 0:
        low, high = share(beta, two_sided)
        return _between(low / 2, high / 2)
    if two_sided == 0:
        return _between(*share(beta, one_sided))
    together = 2 * two_sided + one_sided
    if beta <= TINY:
        # 1 - together * s <= (1 - 2s)**two_sided * (1 - s)**one_sided <= (1 - s)**together, by the union bound and
        # 1 - 2s <= (1 - s)**2, so that s lies between these; a float may not hold such a beta.
        return _between(beta / together, beta / (together * (1 - beta)))
    log_goal = log_bounds(1 - beta)
    goal = float(log_goal[0])
    guess = -math.expm1(goal / (two_sided + one_sided)) / 2
    for _ in range(12 if guess < NEAR_HALF else 0):
        value = two_sided * math.log1p(-2 * guess) + one_sided * math.log1p(-guess) - goal
        # Newton's step; the logarithm falls with s, and the guess stays below one half.
        slope = 2 * two_sided / (1 - 2 * guess) + one_sided / (1 - guess)
        guess = min(guess + value / slope, (guess + 0.5) / 2)
    slack = Fraction(1, 2**44)
    while True:
        low, high = Fraction(guess) * (1 - slack), min(Fraction(guess) * (1 + slack), Fraction(1, 2) - slack / 8)
        outside = log_all(low, two_sided, one_sided, PRECISION)[0] >= log_goal[1]
        inside = log_all(high, two_sided, one_sided, PRECISION)[1] <= log_goal[0]
        if outside and inside:
            return _between(low, high)
        slack *= 2
        if slack >= 1:
            raise ParameterError.of(
                text(beta), "beta is too close to 0 or 1 for so many bins", "take a beta like 1/10, or fewer bins"
            )


def share(beta: Fraction, bins: int, precision: int = PRECISION) -> Enclosure:
    """1 - (1 - beta)**(1/bins), enclosed: what each of `bins` independent bins may fail with."""
    if bins == 1:
        return beta, beta
    precision += bins.bit_length() + int(1 / beta).bit_length()
    low, high = log_bounds(1 - beta, precision)
    # Independent bins all hold with probability (1 - s)^bins, so s = 1 - (1 - beta)^(1/bins).
    return 1 - exp_bounds(high / bins, precision)[1], 1 - exp_bounds(low / bins, precision)[0]


def _between(low: Fraction, high: Fraction) -> Enclosure:
    return -log_bounds(high)[1], -log_bounds(low)[0]
