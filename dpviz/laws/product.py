"""The product sampler of Algorithm 4 before it is run: its rounds, its noise, what it costs and how far off it is.

The noisy means are those of `noise/product.py`, which knows nothing of this file.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 4, Lemmas 5.2 to 5.4, Theorem 5.1. Under replace-one
the sum of rows that are cut to the norm T moves by up to sqrt(2) T, where the paper has T; what follows from that, the
tight cuts and the closed form of the error are derived here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal, get_args

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, directed, log_bounds, positive, root_bounds, text, whole

Noise = Literal["repaired", "paper", "tight"]

GRID: Final = 1 << 10
"""The number of steps that make 1 where a row can be cut; where none can, whole numbers do."""

STEP: Final = Fraction(1, 10**6)
"""Irrational cuts and factors are rounded up to this grid."""

MOST_BETA: Final = Fraction(1, 12)


def rounds_of(columns: int) -> int:
    """R, how many rounds find the columns with small means: floor(log2(d / 40)), and none below 80 columns.

    >>> [rounds_of(d) for d in (1, 79, 80, 1000, 65_536)]
    [0, 0, 1, 4, 10]
    """
    return max(0, (whole(columns, "columns") // 40).bit_length() - 1)


def beta_for(alpha: Fraction, columns: int) -> Fraction:
    """The paper's beta for an accuracy of alpha: alpha / (12 d). Source: Theorem 5.1."""
    if not 0 < alpha < 1:
        raise ParameterError.of(text(alpha), "alpha lies strictly between 0 and 1", "give an alpha like 1/10")
    return alpha / (12 * whole(columns, "columns"))


@dataclass(frozen=True)
class Rounds:
    """One run over n rows of d bits: how it is cut into chunks, the norm rows are cut to, the noise on their sums.

    columns  d
    n        how many rows there are, public under replace-one
    rho      what the noise is made for, in zero-concentrated differential privacy
    beta     the chance that is allowed for one row to be cut, or one mean to be far off; in (0, 1/12]
    noise    "repaired": as much as the sensitivity under replace-one asks for; "paper": as printed, which costs up to
             twice rho (`price`); "tight": as "repaired", with the least cuts that few rows reach
    flips    whether columns with a mean near 1 are turned round

    Raises ParameterError for a value outside its range, and for chunks of less than one row.

    >>> plan = Rounds(1000, 1_000_000, Fraction(1, 2), Fraction(1, 120_000))
    >>> plan.rounds, plan.chunk, plan.left_over, plan.price
    (4, 111111, 1, Fraction(1, 2))
    """

    columns: int
    n: int
    rho: Fraction
    beta: Fraction
    noise: Noise = "repaired"
    flips: bool = True

    def __post_init__(self) -> None:
        whole(self.columns, "columns")
        whole(self.n, "n")
        positive(self.rho, "rho")
        if not 0 < self.beta <= MOST_BETA:
            raise ParameterError.of(text(self.beta), "beta lies above 0 and is at most 1/12", "give a beta like 1/100")
        if self.noise not in get_args(Noise):
            raise ParameterError.of(
                self.noise, f"the noise is one of {', '.join(get_args(Noise))}", f'write noise="{get_args(Noise)[0]}"'
            )
        if self.chunk < 1:
            raise ParameterError.of(
                f"n={self.n:,}",
                f"{self.columns:,} columns are measured in {self.chunks} chunks, which need at least one row each",
                "ask more people, or fewer columns",
            )

    @property
    def rounds(self) -> int:
        return rounds_of(self.columns)

    @property
    def chunks(self) -> int:
        return 2 * self.rounds + 1

    @property
    def chunk(self) -> int:
        """m, the rows of a chunk."""
        return self.n // self.chunks

    @property
    def left_over(self) -> int:
        """Rows that are in no chunk, and are not read."""
        return self.n - self.chunks * self.chunk

    @property
    def grid(self) -> int:
        """How many steps make 1: a single one where no row can be cut."""
        return 1 if self.rounds == 0 and self.cut(1, self.columns) >= self.columns else GRID

    def cut(self, level: int, size: int) -> Fraction:
        """T**2 where `size` columns are left in a round; the level R + 1 is that of what no round kept aside.

        A whole number but in the paper's noise, so that the sensitivity that is charged for is met.

        >>> plan = Rounds(1000, 1_000_000, Fraction(1, 2), Fraction(1, 120_000))
        >>> [str(plan.cut(level, 1000)) for level in (1, 2, 5)]
        ['74100', '37050', '4663']
        """
        whole(level, "level", most=self.rounds + 1)
        last = level > self.rounds
        if self.noise == "tight":
            if self.rounds == 0:
                return Fraction(size)
            return Fraction(_least_cut(size, level, self.beta / (self.chunks * self.chunk)))
        if last:
            # Algorithm 4, last round: T^2 = 200 ln(m / beta).
            area = 200 * log_bounds(self.chunk / self.beta)[1]
        else:
            ones = Fraction(size, 2**level)
            if self.noise == "repaired":
                ones = max(Fraction(1), ones)
            # Algorithm 4, round r: T^2 = 6 u_r d_r ln(m R / beta), with u_r = 2^-r the bound on the means that are
            # left.
            area = 6 * ones * self._log[1]
        return ceil_to(area, STEP) if self.noise == "paper" else Fraction(math.ceil(area))

    def variance(self, cut: Fraction, size: int) -> Fraction:
        """The variance of the noise on each of `size` sums of rows, in squared steps of the grid.

        D**2 / (2 rho), with D**2 = min(2 T**2, size) the squared sensitivity of the sum; the paper has T**2.
        """
        # A replaced row that is cut to the norm T moves the sum by up to sqrt(2) T; the paper has T.
        squared = cut if self.noise == "paper" else l2_squared(cut, size)
        return self.grid**2 * squared / (2 * self.rho)

    def deviation(self, cut: Fraction, size: int) -> float:
        """The standard deviation of the noise on a mean."""
        return math.sqrt(self.variance(cut, size)) / (self.grid * self.chunk)

    @property
    def never_cuts(self) -> bool:
        """Whether no row can be cut in any round, whatever the rows and the columns that are left.

        The cut over the number of columns is least where all are left, but in "tight" noise, which cuts from the first
        round on.
        """
        if self.noise == "tight":
            return self.rounds == 0
        return all(self.cut(level, self.columns) >= self.columns for level in range(1, self.rounds + 2))

    @property
    def factor(self) -> Fraction:
        """How many times rho the printed noise costs, rounded up; known before any data is seen. At most 2.

        max(d / T_last**2, 1 / (6 u_r ln(m R / beta)) over the rounds), with u_r = 2**-r; below 1 where the printed
        noise is more than is needed.
        """
        worst = self.columns / self.cut(self.rounds + 1, self.columns)
        if self.rounds:
            worst = max(worst, 2**self.rounds / (6 * self._log[0]))
        return min(Fraction(2), ceil_to(worst, STEP))

    @property
    def price(self) -> Fraction:
        """rho of the whole run. A row is in one chunk only, so it is that of the most expensive round, not a sum.

        Noise as printed costs up to twice rho, and never less than rho is charged.
        """
        return self.rho * max(Fraction(1), self.factor) if self.noise == "paper" else self.rho

    @property
    def _log(self) -> tuple[Fraction, Fraction]:
        """ln(m R / beta), enclosed."""
        return log_bounds(self.chunk * self.rounds / self.beta)


def l2_squared(cut: Fraction, size: int) -> Fraction:
    """The squared L2 sensitivity of the sum of rows of `size` bits, each cut to the norm sqrt(cut): min(2 cut, size).

    For replacing one row. Met where the cut is a whole number, and an upper bound elsewhere, on any grid.
    """
    # Two disjoint rows of T^2 ones differ in 2 T^2 places, and no two rows in more than there are.
    return min(2 * cut, Fraction(size))


@lru_cache(maxsize=1024)
def _least_cut(size: int, level: int, share: Fraction) -> int:
    """The least t >= 1 with Pr[Bin(size, 2**-level) > t] <= share, by sums that are rounded up."""
    context = directed(128)[1]
    with context:
        target = gmpy2.mpfr(gmpy2.mpq(share.numerator, share.denominator)) / 2
        odds, small = gmpy2.mpfr(1) / (2**level - 1), gmpy2.mpfr(2) ** -64
        chance = (gmpy2.mpfr(2**level - 1) / 2**level) ** size
        chances: list[Any] = [chance]
        for k in range(size):
            # Pr[k + 1] = Pr[k] (n - k) / (k + 1) p / (1 - p), with p = 2^-level.
            chance = chance * (size - k) * odds / (k + 1)
            chances.append(chance)
            if chance < target * small and 2 * (size - k) * odds < k + 1:
                break
        tail = chances[-1] if len(chances) <= size else gmpy2.mpfr(0)  # what is beyond falls by half or faster
        t = len(chances) - 1
        while t > 1 and tail + chances[t] <= 2 * target:
            tail, t = tail + chances[t], t - 1
    return max(1, min(t, size))


# ---------------------------------------------------------------- how many people


def theory_chunk(columns: int, alpha: Fraction, rho: Fraction) -> int:
    """m, the rows of a chunk for which the paper proves an accuracy of alpha. Astronomically large.

    1200 d / (alpha sqrt(2 rho)) ln(d R / (alpha beta sqrt(2 rho)))**(5/4), with beta = alpha / (12 d); in floating
    point. Proved for rho up to 1. Source: Theorem 5.1.

    >>> f"{theory_chunk(1000, Fraction(1, 10), Fraction(1, 2)):.1e}"
    '5.8e+08'
    """
    scale = float(alpha) * math.sqrt(2 * float(positive(rho, "rho")))
    beta = float(beta_for(alpha, columns))
    inside = columns * max(1, rounds_of(columns)) / (scale * beta)
    # Theorem 5.1.
    return math.ceil(1200 * columns / scale * math.pow(math.log(inside), 1.25))


def theory_n(columns: int, alpha: Fraction, rho: Fraction) -> int:
    """How many people the paper's proof asks for: a chunk of `theory_chunk` rows for each of 2R + 1 chunks.

    >>> f"{theory_n(80, Fraction(1, 10), Fraction(1, 2)):.1e}"
    '9.1e+07'
    """
    return (2 * rounds_of(columns) + 1) * theory_chunk(columns, alpha, rho)


# ---------------------------------------------------------------- how far off a column is


def naive_deviation(columns: int, n: int, rho: Fraction) -> float:
    """The standard deviation of the noise where all n rows give one noisy mean each: sqrt(d) / (n sqrt(2 rho))."""
    return math.sqrt(whole(columns, "columns") / (2 * float(positive(rho, "rho")))) / whole(n, "n")


def mean_clipped(means: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
    """The mean of a normal number with these means, moved into 0..1; in floating point.

    a (Phi(h) - Phi(l)) + s (phi(l) - phi(h)) + 1 - Phi(h), with l = -a / s and h = (1 - a) / s.
    """
    from scipy.special import ndtr

    if deviation == 0:
        return np.clip(means, 0, 1)
    low, high = -means / deviation, (1 - means) / deviation
    # The mean of a normal number on 0..1; what falls beyond counts as 0 or 1.
    middle = means * (ndtr(high) - ndtr(low)) + deviation * (_phi(low) - _phi(high))
    result: NDArray[np.float64] = middle + ndtr(-high)
    return result


def _phi(x: NDArray[np.float64]) -> NDArray[np.float64]:
    density: NDArray[np.float64] = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return density


def column_error(p: float, rows: int, deviation: float) -> float:
    """|chance of a 1 - p| of a column with bias p, from so many rows that are never cut and noise of this deviation.

    The law of the number of ones times `mean_clipped`, in floating point; counts further than 12 standard deviations
    from the mean are left out. Continuous noise: that on the grid differs by far less than a step.

    >>> round(column_error(0.0, 100, 0.01) * math.sqrt(2 * math.pi), 6)
    0.01
    """
    from scipy.stats import binom

    whole(rows, "rows")
    if not 0 <= p <= 1:
        raise ParameterError.of(p, "a chance lies between 0 and 1", "give a chance like 1/10")
    reach = 12 * math.sqrt(rows * p * (1 - p)) + 20
    counts = np.arange(max(0, math.floor(rows * p - reach)), min(rows, math.ceil(rows * p + reach)) + 1)
    chances = binom.pmf(counts, rows, p)
    return abs(float(chances @ mean_clipped(counts / rows, deviation)) - p)


MOST_ENUMERATED: Final = 12
"""Up to so many columns the distance of two product laws is the sum over all rows of bits."""


def product_distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    """The total variation distance of two laws of independent bits, between two ends: equal up to 12 columns, where all
    rows are enumerated; elsewhere the largest and the sum of the columns' own distances.

    one, other  the chance of a 1 in each column

    >>> [round(end, 6) for end in product_distance(np.array([0.5, 0.5]), np.array([0.5, 0.25]))]
    [0.25, 0.25]
    """
    apart = np.abs(one - other)
    if one.size > MOST_ENUMERATED:
        return float(apart.max()), min(1.0, float(apart.sum()))
    laws = []
    for chances in (one, other):
        law = np.ones(1)
        for chance in chances:
            law = np.concatenate([law * (1 - chance), law * chance])
        laws.append(law)
    distance = float(np.abs(laws[0] - laws[1]).sum() / 2)
    return distance, distance


# ---------------------------------------------------------------- where the rounds win


def rounds_ratio(columns: int, cut: Fraction) -> float:
    """The noise of the last round over that of the naive sampler: (2R + 1) min(sqrt(2) T, sqrt(d)) / sqrt(d).

    cut  T**2 of the last round. Below 1 the rounds have less noise on columns with small means.
    """
    return (2 * rounds_of(columns) + 1) * math.sqrt(l2_squared(cut, columns) / columns)


def crossover(cut: Fraction, most: int = 2**40) -> int | None:
    """The least power of two of columns from which on the rounds have less noise than the naive sampler, if any.

    >>> crossover(Fraction(70)), crossover(Fraction(200) * 30) == 2**24
    (65536, True)
    """
    columns = 1
    while columns <= most:
        if (2 * rounds_of(columns) + 1) ** 2 * l2_squared(cut, columns) < columns:
            return columns
        columns *= 2
    return None


# ---------------------------------------------------------------- concentrated and approximate


def paper_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The paper's rho for (epsilon, delta): epsilon**2 / (16 ln(1 / delta)), rounded down.

    Raises ParameterError where epsilon exceeds 8 ln(1 / delta), for which it does not hold.
    """
    low, high = _log_of_delta(positive(epsilon, "epsilon"), delta)
    if epsilon > 8 * low:
        raise ParameterError.of(
            text(epsilon),
            "this rho is proved for an epsilon that is smaller beside ln(1 / delta)",
            "take a smaller epsilon, or a smaller delta",
        )
    # The paper's conversion, which is a quarter of what the next one allows.
    return epsilon**2 / (16 * high)


def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho with rho + 2 sqrt(rho ln(1 / delta)) <= epsilon, rounded down: about 4 times the paper's.

    (sqrt(L + epsilon) - sqrt(L))**2 with L = ln(1 / delta), which is epsilon**2 / (sqrt(L + epsilon) + sqrt(L))**2.

    >>> float(largest_rho(Fraction(1, 2), Fraction(1, 10**6)) / paper_rho(Fraction(1, 2), Fraction(1, 10**6))) > 3.9
    True
    """
    high = _log_of_delta(positive(epsilon, "epsilon"), delta)[1]
    # (sqrt(L + epsilon) - sqrt(L))^2 without the subtraction, so that rounding goes one way.
    return epsilon**2 / (root_bounds(high + epsilon)[1] + root_bounds(high)[1]) ** 2


def _log_of_delta(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    if not 0 < delta < 1:
        raise ParameterError.of(text(delta), "delta lies strictly between 0 and 1", "give a delta like 1/1000000")
    return log_bounds(1 / delta)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The least delta at epsilon of continuous Gaussian noise that one record moves by mu standard deviations.

    Phi(mu / 2 - epsilon / mu) - exp(epsilon) Phi(-mu / 2 - epsilon / mu), in log space and floating point; mu is
    sqrt(2 rho). For continuous noise only: that on a grid is converted by rho.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    from scipy.special import log_ndtr

    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(first) * -math.expm1(min(0.0, second - first))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose `gaussian_delta` at epsilon is at most delta, to about ten digits; rho is mu**2 / 2."""
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low
