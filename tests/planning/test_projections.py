"""What is made of noisy shares, and counts of two bins: against the sampler, the laws and definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.exact import Decay
from dpviz.laws.category import draw_law
from dpviz.noise.bits import TeachingBits
from dpviz.noise.category import nearest, weights
from dpviz.planning.bin_counts import BINS, RECORDS, RUNS, bin_counts
from dpviz.planning.projections import made_up, projections


@pytest.mark.parametrize(("n", "epsilon"), [(5, "1/2"), (50, "1"), (12, "3")])
def test_draws_are_those_of_the_sampler_and_chances_its_law(n: int, epsilon: str) -> None:
    loss, counts = Fraction(epsilon), made_up(n)
    found = projections(n, loss, (1, 2, 3, 7))
    assert sum(counts) == n and counts[2] == 0 and found["shares"] == [count / n for count in counts]
    for seed, draw in zip((1, 2, 3, 7), found["draws"], strict=True):
        drawn = weights(np.array(counts), Decay.exp(loss / 2), TeachingBits(seed))
        assert drawn.tolist() == [max(0, value) for value in draw["noisy"]]
        if drawn.sum():
            assert draw["scaled"] == pytest.approx(drawn / drawn.sum(), abs=1e-4)
        moved, whole = nearest(np.array(draw["noisy"]), n)
        assert draw["moved"] == pytest.approx(moved / whole, abs=1e-4)
        away = [sum(abs(share - value / n) for share, value in zip(point, draw["noisy"], strict=True))
                for point in (draw["scaled"], draw["moved"], *draw["closest"])]  # fmt: skip
        assert max(away) - min(away) < 1e-3, "all are as near in L1"
    assert found["scaled"] == pytest.approx(draw_law(counts, loss), abs=1e-4)
    assert sum(found["moved"]) == pytest.approx(1, abs=2e-4) and found["moved"][2] > 0
    assert found["how"] == "exact" and projections(n, Fraction(1, 5), (1,))["how"] == "numerical"


def test_a_fixed_number_of_records_ties_bins_together_and_a_poisson_number_does_not() -> None:
    found = bin_counts()
    for name, exact in (("fixed", -1 / (BINS - 1)), ("free", 0.0)):
        one = found[name]
        xs, ys = (np.repeat([dot[i] for dot in one["dots"]], [dot[2] for dot in one["dots"]]) for i in (0, 1))
        assert len(xs) == RUNS == found["runs"] and one["exact"] == exact
        assert one["measured"] == pytest.approx(float(np.corrcoef(xs, ys)[0, 1]), abs=1e-3)
        assert one["off"] == pytest.approx(1.96 * (1 - exact**2) / math.sqrt(RUNS), abs=1e-3)
        assert abs(one["measured"] - exact) < 2 * one["off"] < abs(one["measured"] - (-0.5 - exact))
        assert abs(xs.mean() - RECORDS / BINS) < 1
        assert xs.var() == pytest.approx(RECORDS / BINS * (1 if name == "free" else 1 - 1 / BINS), rel=0.25)
