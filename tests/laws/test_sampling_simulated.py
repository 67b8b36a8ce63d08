"""Learn against sample by simulation, with the samplers of a release: where they cross, and the square root of d.

Seeds are fixed: what is drawn never changes. An error bar is 6.5 standard errors of a mean of thousands of independent
runs: by the normal law it misses with a chance below 1e-10, and there are fewer than ten in each test.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpviz.exact import Decay
from dpviz.laws import bounded
from dpviz.laws.sampling_curves import categories_crossing, categories_drawn, categories_learned
from dpviz.noise.bits import TeachingBits
from dpviz.noise.category import weights

BARS = 6.5
K = 20

Floats = NDArray[np.float64]


def bar(values: Floats) -> tuple[float, float]:
    """A mean, and its error bar."""
    return float(values.mean()), BARS * float(values.std(ddof=1)) / math.sqrt(values.size)


def drawing(n: int, epsilon: Fraction, runs: int, seed: int) -> Floats:
    """How likely each run is to draw a label that nobody has, where all records have one label: the hardest case.

    Their mean is the distance of the law of a draw from that of the records: a single label.
    """
    counts = np.zeros((runs, K), dtype=np.int64)
    counts[:, 0] = n
    noisy = weights(counts.ravel(), Decay.exp(epsilon / 2), TeachingBits(seed)).reshape(runs, K)
    total = noisy.sum(axis=1)
    return np.asarray(np.where(total > 0, 1 - noisy[:, 0] / np.maximum(total, 1), 1 - 1 / K), dtype=np.float64)


def learning(n: int, runs: int, seed: int) -> Floats:
    """How far the shares of n records are from their uniform law, in each run: the hardest case of learning."""
    counts = np.random.default_rng(seed).multinomial(n, np.full(K, 1 / K), size=runs)
    return np.asarray(np.abs(counts / n - 1 / K).sum(axis=1) / 2, dtype=np.float64)


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1, 2)])
def test_well_below_an_eighth_of_epsilon_drawing_needs_fewer_records_and_well_above_learning_does(
    epsilon: Fraction,
) -> None:
    at = categories_crossing(K, float(epsilon))
    assert at == pytest.approx(float(epsilon) / 8 * (K - 1) / K)
    alpha = at / 4
    n = math.ceil(categories_drawn(K, alpha, float(epsilon)))
    drawn, learned = bar(drawing(n, epsilon, 4000, 1)), bar(learning(n, 4000, 2))
    assert drawn[0] + drawn[1] <= alpha < learned[0] - learned[1]
    alpha = 4 * at
    n = math.ceil(categories_learned(K, alpha))
    drawn, learned = bar(drawing(n, epsilon, 4000, 3)), bar(learning(n, 4000, 4))
    assert learned[0] + learned[1] <= alpha < drawn[0] - drawn[1]


def test_errors_fall_like_1_over_n_and_1_over_root_n_and_cross_in_proportion_to_epsilon() -> None:
    crossings = []
    for number, epsilon in enumerate((Fraction(1, 4), Fraction(1, 2), Fraction(1))):
        sizes = [math.ceil(1200 / epsilon * 4**power) for power in range(3)]
        drawn = [bar(n * drawing(n, epsilon, 4000, 10 * number + i)) for i, n in enumerate(sizes)]
        learned = [bar(math.sqrt(n) * learning(n, 4000, 100 + 10 * number + i)) for i, n in enumerate(sizes)]
        # n times the error of a draw is (k - 1) E max(0, noise) but for a share of about k / (n epsilon)
        limit = (K - 1) / 2 / math.sinh(float(epsilon) / 2)
        for mean, off in drawn:
            assert 0.95 * limit - off < mean < limit + off
        # and root n times that of learning is sqrt((k - 1) / (2 pi)) but for terms of k / n
        for mean, off in learned:
            assert abs(mean - math.sqrt((K - 1) / 2 / math.pi)) < off + 0.01
        (a, a_off), (b, b_off) = drawn[-1], learned[-1]
        crossings.append((b * b / a, b * b / a * (2 * b_off / b + a_off / a)))
    for (at, off), epsilon in zip(crossings, (0.25, 0.5, 1.0), strict=True):
        assert off < 0.1 * at, "the error bar is short enough to tell 1/8 from 1/5"
        # on the hardest cases they cross at sinh(epsilon / 2) / pi, near epsilon / 6.3; the guarantees, at epsilon / 8
        assert epsilon / 8 < at - off and at + off < epsilon / 5
        assert abs(at - math.sinh(epsilon / 2) / math.pi) < off + 0.02 * at


def losses(d: int, n: int, runs: int, seed: int) -> Floats:
    """The privacy loss of d bits drawn without noise from n records, in each run, at the worst neighbour.

    All columns stand where one record moves a chance the most; the record that is replaced moves every column.
    """
    low = math.ceil(n / 4)
    one, other = float(bounded.bit_chance(low + 1, n)), float(bounded.bit_chance(low, n))
    ones = np.random.default_rng(seed).binomial(d, one, size=runs)
    return np.asarray(ones * math.log(one / other) + (d - ones) * math.log((1 - one) / (1 - other)), dtype=np.float64)


def excess(found: Floats, epsilon: float) -> Floats:
    """Their mean is delta at epsilon: max(0, 1 - exp(epsilon - loss))."""
    return np.maximum(0, -np.expm1(epsilon - found))


def test_bits_without_noise_need_records_like_the_square_root_of_their_number() -> None:
    epsilon, runs = 1.0, 200_000
    columns = (256, 1024, 4096, 16_384)
    by_root = [bar(excess(losses(d, 6 * math.isqrt(d), runs, d), epsilon)) for d in columns]
    for mean, off in by_root:  # the same delta at the same epsilon, whatever d is
        assert abs(mean - by_root[-1][0]) < off + by_root[-1][1] + 0.15 * by_root[-1][0]
    assert by_root[-1][0] > 0.0005 and by_root[-1][1] < 0.25 * by_root[-1][0]
    # twins: a fixed number of records gets worse with d, a number in proportion to d gets better
    fixed = [bar(excess(losses(d, 96, runs, d + 1), epsilon)) for d in columns]
    assert fixed[-1][0] - fixed[-1][1] > 10 * (fixed[0][0] + fixed[0][1])
    linear = [bar(excess(losses(d, d // 4, runs, d + 2), epsilon)) for d in columns]
    assert linear[-1][0] + linear[-1][1] < by_root[-1][0] - by_root[-1][1]


def test_the_spread_of_the_loss_is_that_of_the_rho_that_is_charged() -> None:
    for d in (256, 4096):
        n = 8 * math.isqrt(d)
        found = losses(d, n, 100_000, d)
        rho = d * float(bounded.zcdp(n, Fraction(1, 10**9)))
        mean, off = bar(found)
        assert mean - off <= rho, "a loss is at most rho on average"
        squares, wide = bar((found - mean) ** 2)
        assert squares - wide <= 2 * rho and squares > rho / 2


def test_more_accuracy_costs_bits_without_noise_only_a_logarithm() -> None:
    third = Fraction(1, 3)
    found = []
    for alpha in (0.1, 0.01, 0.001, 0.0001):
        n = 1
        while float(bounded.error(third, n)) > alpha:
            n += 1
        found.append(n)
    assert found[:3] == [1, 24, 84]
    assert (np.diff(found) <= 72 * math.log(10)).all(), "each power of ten costs a number of records that is bounded"
    assert found[-1] < 300 < categories_drawn(2, 0.0001, 1.0)
