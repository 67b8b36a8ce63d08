"""One label drawn from noisy counts: its law, what a draw tells of one record, and how far it is from the data's law.

The noise of Algorithm 3 is that of `noise/category.py`, which knows nothing of this file.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 3, Theorem 1.4; the integer form and what is exact
about it are derived here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, exp_bounds, positive, text, whole

REACH = 60.0
"""Weights are followed until their chance is below exp(-REACH)."""


def weight_law(count: int, epsilon: Fraction) -> NDArray[np.float64]:
    """The chances of the weights 0, 1, 2, … of a label with this count: max(0, count + noise of ratio exp(-epsilon/2)).

    The mass beyond the last is below exp(-60).
    """
    rate = float(epsilon) / 2
    values = np.arange(count + int(REACH / rate) + 2)
    # (1 - a) / (1 + a) = tanh(rate / 2) for a = exp(-rate).
    chances = math.tanh(rate / 2) * np.exp(-rate * np.abs(values - count))
    # Everything below 0 is moved to 0: a^count / (1 + a).
    chances[0] = math.exp(-rate * count) / (1 + math.exp(-rate))
    return chances


def draw_law(counts: Sequence[int], epsilon: Fraction) -> NDArray[np.float64]:
    """The chance of each label, in floating point, for a few labels with small counts; by convolution.

    >>> draw_law([2, 0], Fraction(1)).round(4).tolist()
    [0.7113, 0.2887]
    """
    laws = [weight_law(count, epsilon) for count in counts]
    law = np.zeros(len(counts))
    for place, own in enumerate(laws):
        others = np.ones(1)
        for other, chances in enumerate(laws):
            if other != place:
                others = np.convolve(others, chances)
        mine, rest = np.arange(own.size)[:, None], np.arange(others.size)[None, :]
        shares = np.divide(
            mine, mine + rest, out=np.full((own.size, others.size), 1 / len(counts)), where=mine + rest > 0
        )
        law[place] = own @ shares @ others
    return law


def mean_weight_error(epsilon: Fraction, precision: int = 64) -> Enclosure:
    """The mean of |noise| on one count: 1 / sinh(epsilon / 2), which is 2r / (1 - r**2) with r = exp(-epsilon / 2)."""
    low, high = exp_bounds(-positive(epsilon, "epsilon") / 2, precision)
    # 2 r / (1 - r^2) rises with r, so the ends of the enclosure keep their order.
    return 2 * low / (1 - low**2), 2 * high / (1 - high**2)


def distance_bound(labels: int, n: int, epsilon: Fraction) -> Fraction:
    """Above the total variation distance between a draw and the law of n independent records.

    It is k / (n sinh(epsilon / 2)), at most the paper's 2k / (n epsilon). Never above 1.
    """
    return min(Fraction(1), whole(labels, "labels", least=2) * mean_weight_error(epsilon)[1] / whole(n, "n"))


def paper_bound(labels: int, n: int, epsilon: Fraction) -> Fraction:
    """The paper's bound on the same distance: 2k / (n epsilon), never above 1. Source: Theorem 1.4."""
    # Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Theorem 1.4.
    return min(Fraction(1), 2 * whole(labels, "labels", least=2) / (whole(n, "n") * positive(epsilon, "epsilon")))


def one_draw_epsilon(n: int, epsilon: Fraction, labels: int = 2) -> float:
    """The largest log-ratio of one draw's chances between two neighbours with n records, in floating point.

    Enumerates all counts of n records over the labels: for small n and two or three labels. The charge is epsilon,
    which further draws may use up.
    """
    laws = {counts: draw_law(counts, epsilon) for counts in _compositions(n, labels)}
    worst = 0.0
    for counts, law in laws.items():
        for source in range(labels):
            for target in range(labels):
                if source != target and counts[source]:
                    moved = list(counts)
                    moved[source] -= 1
                    moved[target] += 1
                    worst = max(worst, float(np.abs(np.log(law / laws[tuple(moved)])).max()))
    return worst


def _compositions(n: int, labels: int) -> list[tuple[int, ...]]:
    if labels == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in _compositions(n - first, labels - 1)]


def euclid_of_two(t: int, n: int, epsilon: Fraction) -> float:
    """The chance of a label that t of n records have, of two labels, with continuous noise and Euclid's projection.

    With b = 1 / (epsilon n), a = t / n and h(y) = exp(-y) (3 + y): a + (b / 4) (h(a / b) - h((1 - a) / b)).
    """
    b, a = 1 / (float(epsilon) * n), t / n
    return a + b / 4 * (_h(a / b) - _h((1 - a) / b))


def _h(y: float) -> float:
    return math.exp(-y) * (3 + y)


# ---------------------------------------------------------------- one record and randomised response


def response_floor(labels: int, n: int, epsilon: Fraction, precision: int = 128) -> Enclosure:
    """g with Pr[label j] = (1 - g) count_j / n + g / k: k / (k + n (exp(epsilon) - 1)), enclosed.

    One record is chosen uniformly and told by randomised response. epsilon-differentially private under replace-one;
    the ratio exp(epsilon) is met between counts 0 and 1. A baseline that is not in the paper.
    """
    k, n = whole(labels, "labels", least=2), whole(n, "n")
    low, high = exp_bounds(positive(epsilon, "epsilon"), precision)
    # Solves ((1 - g) / n + g / k) / (g / k) = e^epsilon: counts of 1 and 0 have just that ratio.
    return k / (k + n * (high - 1)), k / (k + n * (low - 1))


def response_law(counts: Sequence[int], epsilon: Fraction) -> list[Enclosure]:
    """The chance of each label by one record and randomised response, enclosed."""
    n, k = sum(counts), len(counts)
    low, high = response_floor(k, n, epsilon)
    ends = [[(1 - g) * Fraction(count, n) + g / k for g in (low, high)] for count in counts]
    return [(min(pair), max(pair)) for pair in ends]


def response_distance(labels: int, n: int, epsilon: Fraction) -> Fraction:
    """Its largest total variation distance, rounded up: (k - 1) / (k + n (exp(epsilon) - 1)).

    It is met where all records have one label.
    """
    return response_floor(labels, n, epsilon)[1] * (labels - 1) / labels


def best_bernoulli(n: int, epsilon: Fraction, grid: int = 200) -> NDArray[np.float64]:
    """The chance of a 1 given t ones among n bits that makes the worst sampling error over all biases least.

    By linear programming over f with f(n - t) = 1 - f(t), both ratios at most exp(epsilon) between neighbours, on a
    grid of biases. In floating point, for pictures: a baseline that is not in the paper.

    >>> best_bernoulli(1, Fraction(1)).round(4).tolist()
    [0.2689, 0.7311]
    """
    from scipy.optimize import linprog
    from scipy.stats import binom

    whole(n, "n", most=500)
    ratio = math.exp(float(positive(epsilon, "epsilon")))
    t, biases = np.arange(n + 1), np.linspace(0, 1, grid + 1)
    means = binom.pmf(t[None, :], n, biases[:, None])
    steps = np.eye(n + 1)
    up, down = steps[1:], steps[:-1]
    rows = np.vstack([up - ratio * down, down - ratio * up, ratio * up - down, ratio * down - up])
    limits = np.concatenate([np.zeros(2 * n), np.full(2 * n, ratio - 1)])
    error = np.vstack([np.hstack([means, -np.ones((grid + 1, 1))]), np.hstack([-means, -np.ones((grid + 1, 1))])])
    solved = linprog(
        np.append(np.zeros(n + 1), 1),
        A_ub=np.vstack([np.hstack([rows, np.zeros((4 * n, 1))]), error]),
        b_ub=np.concatenate([limits, biases, -biases]),
        A_eq=np.hstack([steps + steps[::-1], np.zeros((n + 1, 1))]),
        b_eq=np.ones(n + 1),
        bounds=[(0, 1)] * (n + 2),
    )
    if not solved.success:
        raise ParameterError.of(text(epsilon), "no sampler was found by linear programming", "try another epsilon")
    best: NDArray[np.float64] = solved.x[:-1]
    return best
