"""Draw one record, or learn the distribution? How many records each needs, with constants; in floating point.

Sizes are enough records for any distribution of the family; a distance is one of total variation, averaged over the
data. For pictures: no price and no release rests on them. The records that Algorithm 4 is proved to take are
`product.theory_n`, and the rho of an epsilon and a delta `product.largest_rho`. Source: Raskhodnikova, Sivakumar,
Smith, Swanberg 2021, Table 1, Theorems 1.4, 1.6 and 1.8; constants of learning, the sharper sizes of bits and the lower
bound under pure privacy are derived here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import positive, text, whole
from dpviz.laws.category import best_bernoulli, response_floor

Floats = NDArray[np.float64]
Real = TypeVar("Real", float, Fraction)
"""Quotients of what is given: exact for fractions."""


# ---------------------------------------------------------------- categories: k labels


def categories_drawn(k: int, alpha: Real, epsilon: Real) -> Real:
    """Records with which Algorithm 3 draws within alpha of any distribution over k labels: 2k / (alpha epsilon)."""
    return 2 * k / (alpha * epsilon)


def categories_learned(k: int, alpha: Real) -> Real:
    """Records whose shares are within alpha on average, without privacy: (k - 1) / (4 alpha**2).

    The mean distance of the shares of n records is at most sqrt((k - 1) / n) / 2.
    """
    return (k - 1) / (4 * alpha**2)


def categories_learned_privately(k: int, alpha: float, epsilon: float) -> float:
    """Records with which the noisy histogram itself is within alpha on average: n with B / sqrt(n) + A / n = alpha.

    B = sqrt(k - 1) / 2 is what a sample is off, A = 2k / epsilon what the noise of Algorithm 3 adds.
    """
    a, b = 2 * k / epsilon, math.sqrt(k - 1) / 2
    return (2 * a / (math.sqrt(b * b + 4 * a * alpha) - b)) ** 2


def categories_crossing(k: int, epsilon: float) -> float:
    """The alpha at which drawing privately and learning without privacy need equally many: epsilon (k - 1) / (8k).

    >>> categories_crossing(20, 1.0)
    0.11875
    """
    return epsilon * (k - 1) / (8 * k)


def categories_floor(k: int, alpha: float, epsilon: float) -> float | None:
    """No sampler does with fewer records: the larger of two bounds, or None where neither is proved.

    For pure privacy and any k, the largest ln((p - alpha) / alpha) / ln(1 + p (exp(epsilon) - 1)) over p above 2 alpha;
    on 2j + 1 labels, epsilon at most 1 and alpha at most 1/120, j / (480 alpha epsilon) (Theorem 1.5, repaired).
    """
    if not alpha <= 0.1:
        return None
    chances = np.geomspace(2 * alpha, 1, 200)
    bound = float((np.log((chances - alpha) / alpha) / np.log1p(chances * math.expm1(epsilon))).max())
    if alpha <= 1 / 120 and epsilon <= 1 and k >= 3:
        bound = max(bound, (k - 1) // 2 / (480 * alpha * epsilon))
    return bound


# ---------------------------------------------------------------- products: d bits


def bits_learned(d: int, alpha: Real) -> Real:
    """Records whose d column means are within alpha on average, without privacy: d / (2 alpha**2), for any biases."""
    return d / (2 * alpha**2)


def bounded_drawn(d: int, alpha: float, rho: float) -> float:
    """Theorem 1.8: records for d bits with biases from 1/3 to 2/3: max(72 ln(6d / alpha), sqrt(8d / rho))."""
    return max(72 * math.log(6 * d / alpha), math.sqrt(8 * d / rho))


def bounded_drawn_sharper(d: int, alpha: float, rho: float) -> float:
    """The same with the sharper error of a bit, (3/n) exp(-n / 72): the least n with (3d/n) exp(-n / 72) <= alpha.

    And, for privacy, sqrt(8d / rho).
    """
    low, high = 0.0, max(1.0, 72 * math.log(6 * d / alpha))
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if 3 * d / middle * math.exp(-middle / 72) <= alpha else (middle, high)
    return max(1.0, high, math.sqrt(8 * d / rho))


# ---------------------------------------------------------------- two labels: the error of one draw


@lru_cache(maxsize=64)
def pair_law(n: int, epsilon: Fraction) -> Floats:
    """The chance of the first of two labels by Algorithm 3 ("normalise") where 0, 1, … n of n records have it.

    The mean of w / (w + v) for two noisy weights is the integral over s from 0 to 1 of E[w s**(w - 1)] E[s**v], plus
    half the chance that both are 0; by Gauss and Legendre on pieces that double in length, to about nine digits.

    >>> pair_law(2, Fraction(1)).round(4).tolist()
    [0.2887, 0.5, 0.7113]
    """
    measure, none, means, firsts = weight_transforms(whole(n, "n", most=1000), positive(epsilon, "epsilon"))
    return np.array([float((firsts[t] * means[n - t]) @ measure + none[t] * none[n - t] / 2) for t in range(n + 1)])


def few_law(counts: Sequence[int], epsilon: Fraction) -> Floats:
    """The chance of each of a few labels by Algorithm 3 ("normalise"), given their counts; as `pair_law`.

    >>> few_law([2, 0, 1], Fraction(1)).round(4).tolist()
    [0.4925, 0.1832, 0.3243]
    """
    measure, none, means, firsts = weight_transforms(sum(counts), epsilon)
    own, others = firsts[list(counts)], means[list(counts)]
    empty = float(np.prod(none[list(counts)])) / len(counts)
    return np.array(
        [float((own[j] * np.delete(others, j, axis=0).prod(axis=0)) @ measure) + empty for j in range(len(counts))]
    )


def weight_transforms(n: int, epsilon: Fraction) -> tuple[Floats, Floats, Floats, Floats]:
    """Of the weights w = max(0, t + noise), t = 0..n, at nodes s from 0 to 1: the nodes' weights in an integral over
    ds / s, the chance of a weight of 0, and E[s**w] and E[w s**w], with a row for each t."""
    rate = float(epsilon) / 2
    decay, scale = math.exp(-rate), n + 1 / rate
    nodes, weights = np.polynomial.legendre.leggauss(24)
    ends = [0.0, *(2.0**power for power in range(-6, math.ceil(math.log2(40 * scale)) + 1))]
    halves = np.diff(ends)[:, None] / 2
    u = ((np.array(ends[:-1])[:, None] + halves) + halves * nodes).ravel()
    measure = (halves * weights).ravel() / scale
    s, x = np.exp(-u / scale), decay * np.exp(-u / scale)
    powers, sums, firsts = np.zeros((n + 1, u.size)), np.zeros((n + 1, u.size)), np.zeros((n + 1, u.size))
    below, weighted = np.zeros(u.size), np.zeros(u.size)
    for count in range(n + 1):
        powers[count] = s**count
        if count:
            below = decay * below + powers[count]
            weighted = decay * weighted + count * powers[count]
        sums[count] = below + powers[count] * x / (1 - x)
        firsts[count] = weighted + powers[count] * (count * x / (1 - x) + x / (1 - x) ** 2)
    share = (1 - decay) / (1 + decay)
    none: Floats = np.power(decay, np.arange(n + 1)) / (1 + decay)
    means = none[:, None] + share * sums
    return measure, none, means, share * firsts


def response_pair(n: int, epsilon: Fraction) -> Floats:
    """The same for one record, told by randomised response."""
    floor = float(response_floor(2, n, epsilon)[1])
    return (1 - floor) * np.arange(n + 1) / n + floor / 2


@lru_cache(maxsize=64)
def best_pair(n: int, epsilon: Fraction) -> Floats:
    """The same for the best sampler that there is for two labels, by linear programming."""
    return best_bernoulli(n, epsilon, 100)


def clipped_pair(n: int) -> Floats:
    """The same for the bit whose chance is moved into 1/4..3/4 (Algorithm A_clip)."""
    return np.clip(np.arange(n + 1) / n, 0.25, 0.75)


def sampling_errors(law: Floats, biases: Floats) -> Floats:
    """|Pr[first label] - p| for n independent records of bias p, given the chances for t of n: exact but for floats."""
    from scipy.stats import binom

    n = law.size - 1
    errors = np.abs(binom.pmf(np.arange(n + 1)[None, :], n, biases[:, None]) @ law - biases)
    return np.where(errors < 1e-13, 0.0, errors)


def learning_errors(n: int, biases: Floats) -> Floats:
    """E|share - p| of n independent records, not private: what an estimate of the bias is off on average."""
    from scipy.stats import binom

    t = np.arange(n + 1)
    pmf = binom.pmf(t[None, :], n, biases[:, None])
    means: Floats = (pmf * np.abs(t[None, :] / n - biases[:, None])).sum(axis=1)
    return means


def first_size(alpha: float, error: Callable[[int], float], most: int = 700) -> int:
    """The least n whose error is at most alpha, of those up to `most`. Raises ParameterError where there is none."""
    for n in range(1, most + 1):
        if error(n) <= alpha:
            return n
    raise ParameterError.of(text(Fraction(alpha)), f"no n up to {most} reaches this alpha", "ask for a larger alpha")


# ---------------------------------------------------------------- parts of the records


def too_few(n: int) -> float:
    """The chance that fewer than n records come where 2n are expected, by a Poisson law; at most exp(-n / 6)."""
    from scipy.stats import poisson

    return float(poisson.cdf(whole(n, "n") - 1, 2 * n))
