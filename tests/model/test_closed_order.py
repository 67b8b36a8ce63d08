"""Differences, shares, quantiles, means and cumulative shares of what was asked, from counts and a profile: bounds of a
loss by enumeration, margins by the exact law of both noises, and coverage by seeded draws with real bounding."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.model.closed_order import ClosedMeans, ClosedQuantiles
from dpviz.model.closed_ratios import RatioTest
from dpviz.model.closing import ClosedCounts, Order
from dpviz.model.linear import Query
from dpviz.privacy import Unit
from tests.model.test_closing import PROFILE, above, geometric, months, stays, weighed

LEVEL = Fraction(1, 40)
HALF = Fraction(1, 2)


def late_stays(users: int, bins: int, seed: int = 1) -> pd.DataFrame:
    """Half of the users are in the first two bins, the others in all, so that a limit cuts late bins more than early
    ones."""
    chance = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        last = 2 if chance.random() < 0.5 else bins
        rows += [(f"u{user}", month) for month in range(1, last + 1)]
    return pd.DataFrame(rows, columns=["user", "month"])


def drawn(
    frame: pd.DataFrame, bins: int, kept: int, order: Order = "together", seed: int = 1, clamp: bool = False
) -> ClosedCounts:
    lesson = dv.teaching(frame, seed, Unit("user", max_bins=kept))
    draw = lesson.draw(months(bins), dv.Dense("9/10", clamp=clamp), over=dv.Dense("1/10", clamp=clamp))
    assert draw.profile is not None
    return ClosedCounts(draw.asking, draw.profile.asking, order)


# ---------------------------------------------------------------- the bounds, by enumeration


def losses(bins: int, kept: int) -> Iterator[tuple[int, frozenset[int]]]:
    """The number of bins of a user and those it loses, for every set of bins and every order of digests."""
    for size in range(1, bins + 1):
        for touched in itertools.combinations(range(bins), size):
            for lost in itertools.combinations(touched, max(0, size - kept)):
                yield size, frozenset(lost)


def weights_of(query: Query) -> dict[int, Fraction]:
    return {point: weight for points, weight in query.parts for point in points}


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_every_weight_of_a_class_is_the_most_or_the_least_that_one_user_adds(kept: int) -> None:
    """Differences, shares, quantiles and means over all users of four bins: no user adds more, one adds as much."""
    ends = drawn(stays(40, 4), 4, kept)
    share, mean = Fraction(1, 3), Fraction(9, 4)
    first, rest = Query.of((range(1), 1)), Query.of((range(1, 3), 1))
    low, high = ends.difference(Query.of((range(1), 1), (range(1, 3), -1)))
    paid = ()
    quantiles, means = ClosedQuantiles(ends, paid, "0.05", "one"), ClosedMeans(ends, paid, "0.05", "one")
    numbers = [Fraction(number) for number in (1, 2, 3, 4)]
    q = Fraction(1, 4)
    cases: list[tuple[dict[int, Fraction], Any, int]] = []
    for side, query in enumerate((low, high)):
        cases.append((weights_of(query[1]), lambda bin_: Fraction({0: 1, 1: -1, 2: -1, 3: 0}[bin_]), side))
    for side in (0, 1):
        at = ends.share_at(first, rest, side)(share)
        cases.append((weights_of(at[1]), lambda bin_: {0: 1 - share, 1: -share, 2: -share, 3: Fraction(0)}[bin_], side))
        cases.append((weights_of(means._sum(numbers, mean, side)[1]), lambda bin_: numbers[bin_] - mean, side))
        for place in range(3):
            found = weights_of(quantiles._sum(place, q, side)[1])
            cases.append((found, lambda bin_, place=place: 1 - q if bin_ <= place else -q, side))
    for found, adds, side in cases:
        worst: dict[int, Fraction] = {}
        for size, lost in losses(4, kept):
            added = sum((adds(bin_) for bin_ in lost), Fraction(0))
            best = worst.get(size, added)
            worst[size] = max(best, added) if side else min(best, added)
        assert {j - 1: one for j, one in worst.items() if one} == found


# ---------------------------------------------------------------- the margins, exactly


@pytest.mark.parametrize("order", ["together", "counts first", "profile first", "declared"])
def test_a_margin_misses_no_oftener_than_its_level_by_the_exact_law(order: Order) -> None:
    """For sums with weights of both signs, in eighths. Bought together no smaller margin holds; without the noise of
    the profile, or at the whole level for each of both, it would miss too often."""
    ends = drawn(stays(60, 3), 3, 1, order)
    cases = [((8, -8, 0), (0, 3, 5)), ((5, -3, -3), (0, -3, 5)), ((8, 8, 8), (0, 8, 16)), ((4, -4, -4), (2, -7, 1))]
    for counts, classes in cases:
        query = Query.of(*((range(at, at + 1), Fraction(by, 8)) for at, by in enumerate(counts)))
        others = Query.of(*((range(at, at + 1), Fraction(by, 8)) for at, by in enumerate(classes)))
        laws = [weighed(geometric(0.9, 200), abs(by)) for by in counts if by]
        more = [weighed(geometric(0.1, 200), abs(by)) for by in classes if by]
        for side in (0, 1):
            reach = ends.reach(query, others, side, LEVEL)
            assert reach is not None
            found = int(reach * 8)
            assert above(laws + more, found) <= 0.025
            if order == "together":
                assert above(laws + more, found - 1) > 0.025
            alone = ends.reach(query, Query(()), side, LEVEL)
            assert alone is not None and above(laws + more, int(alone * 8)) > 0.025


def test_the_later_answer_may_follow_the_noise_of_the_earlier_and_the_convolution_then_misses() -> None:
    """Somebody who bought counts first sees their noise, and buys the profile with an epsilon that makes the end miss:
    the more precise one where the noise of the counts alone is beyond the margin of the sum, else the other."""
    noise = geometric(0.9, 150)
    rates = {"1/20": 0.05, "2": 2.0}
    margins: dict[str, dict[str, int]] = {"together": {}, "counts first": {}}
    for epsilon in rates:
        lesson = dv.teaching(stays(60, 2), 1, Unit("user", max_bins=1))
        draw = lesson.draw(months(2), dv.Dense("9/10", clamp=False), over=dv.Dense(epsilon, clamp=False))
        assert draw.profile is not None
        for order in margins:
            ends = ClosedCounts(draw.asking, draw.profile.asking, order)  # type: ignore[arg-type]
            reach = ends.reach(Query.of((range(1), 1)), Query.of((range(1, 2), 1)), 1, LEVEL)
            assert reach is not None
            margins[order][epsilon] = int(reach)
    missed = {}
    for order, by in margins.items():
        tails = []
        for epsilon, rate in rates.items():
            other = geometric(rate, 600)
            needed = np.clip(by[epsilon] + 1 - np.arange(-150, 151) + 600, 0, 1201)
            tails.append(np.append(other[::-1].cumsum()[::-1], 0)[np.minimum(needed, 1201)])
        missed[order] = float((noise * np.maximum(*tails)).sum())
    assert missed["counts first"] <= 0.025 < missed["together"]


def test_all_ratios_beyond_an_end_are_rejected_too() -> None:
    """What lets a search end anywhere: each ratio of a fine grid below a lower end, or above an upper one, is rejected
    at the whole level."""
    for seed, order in enumerate(("together", "counts first", "profile first", "declared")):
        ends = drawn(stays(500, 4), 4, 2, order, seed, clamp=seed == 1)  # type: ignore[arg-type]
        first, rest = Query.of((range(1), 1)), Query.of((range(1, 4), 1))
        tested = 0
        for side in (0, 1):
            at, whole = ends.share_at(first, rest, side), ends.whole_of(first, rest, side)
            end = RatioTest(ends, at, whole, (Fraction(0), Fraction(1)), side).end_at(LEVEL)
            for step in range(25):
                ratio = end * step / 25 if side == 0 else end + (1 - end) * (step + 1) / 25
                found = ends.end(*at(ratio), side, LEVEL)
                assert found is not None and (found > 0 if side == 0 else found < 0)
                tested += 0 < end < 1
        assert tested == 50, "an end is that of all shares, so nothing was tested"


# ---------------------------------------------------------------- with real bounding


@pytest.mark.parametrize(("kept", "form"), [(1, "together"), (3, "profile first")])
def test_ends_hold_what_was_asked_and_those_of_what_was_counted_do_not(kept: int, form: str) -> None:
    """Misses of 30 draws stay below a number that a chance of 1/20 exceeds with 1e-10 at most; in all 2e-9 at most."""
    frame, rounds, bins = late_stays(1500, 5), 30, 5
    asked = frame.groupby("month").size().to_numpy()
    truths = {
        "difference": asked[0] - asked[4],
        "share": asked[4] / asked.sum(),
        "mean": frame.month.mean(),
        "total": asked.sum(),
    }
    cumulated = asked.cumsum() / asked.sum()
    quantile = int(np.searchsorted(cumulated, 0.7)) + 1
    most = int(binom.isf(1e-10, rounds, 0.05))
    missed = dict.fromkeys([*truths, "quantile", "cumulative", "counted share", "compare"], 0)
    for seed in range(rounds):
        lesson = dv.teaching(frame, seed, Unit("user", max_bins=kept))
        if form == "together":
            counts = lesson.draw(months(bins), dv.Dense(3, clamp=seed % 2 == 0), over=dv.Dense(1, clamp=False))
            ends = counts.closed_by()
        else:
            counts = lesson.draw(months(bins), dv.Dense(3, clamp=seed % 2 == 0))
            ends = counts.closed_by(lesson.draw(PROFILE(months(bins)), dv.Dense(1, clamp=False)))
        found = {
            "difference": ends.difference([1], [5]),
            "share": ends.share([5]),
            "mean": ends.mean(),
            "total": ends.sum(),
        }
        for name, one in found.items():
            missed[name] += not one.low <= truths[name] <= one.high  # type: ignore[union-attr, operator]
        seen = ends.quantile("7/10")
        missed["quantile"] += not seen.low <= quantile <= seen.high  # type: ignore[union-attr, operator]
        band = ends.cumulative()
        missed["cumulative"] += any(not row.low <= true <= row.high for row, true in zip(band, cumulated, strict=True))  # type: ignore[operator]
        low, high = counts.share([5]).counted  # type: ignore[union-attr, misc]
        missed["counted share"] += not low <= truths["share"] <= high
        chance = ends.compare([5], [1]).chance  # type: ignore[union-attr]
        missed["compare"] += chance is not None and chance.value.high <= 0.05  # type: ignore[union-attr]
    assert max(number for name, number in missed.items() if name != "counted share") <= most < rounds // 2
    assert missed["counted share"] >= rounds - 1, "the interval of the counted share would pass"


# ---------------------------------------------------------------- words and refusals


def test_words_say_what_the_value_is_and_why_there_is_no_p_value() -> None:
    lesson = dv.teaching(late_stays(300, 4), 1, Unit("user", max_bins=2))
    counts = lesson.draw(months(4), dv.Dense(1))
    ends = counts.closed_by(lesson.draw(PROFILE(months(4)), dv.Dense(1, clamp=False)))
    together = lesson.draw(months(4), dv.Dense(1), over=dv.Dense(1, clamp=False)).closed_by()
    assert ends.compare([1], [4]).chance is None and "no p-value" in ends.compare([1], [4]).sentence  # type: ignore[union-attr]
    assert together.compare([1], [4]).chance is not None  # type: ignore[union-attr]
    for one in (ends.difference([1], [4]), ends.share([1]), ends.mean(), together.share([1])):
        assert "by a profile" in one.sentence and one.counted is None and "counted within the limit" in one.sentence  # type: ignore[union-attr]
    median = ends.median()
    assert "what was counted within the limit" in median.sentence and len(median.paid) == 2
    assert [one.name for one in ends.quantile(["1/4", "1/2"])] == ["quantile 1/4", "median"]  # type: ignore[union-attr]
    assert [row.high for row in ends.cumulative()][-1] == 1 and ends.share([1], among=3).among == 3  # type: ignore[union-attr]
    assert [one.what for one in ends.difference([[1], [2]], [3])] == ["month: 1, less 3", "month: 2, less 3"]  # type: ignore[union-attr]
    with pytest.raises(ParameterError, match="at once are not known"):
        ends.share([1], among="all")
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        ends.quantile(1)


def test_a_profile_of_one_class_closes_shares_and_means_with_wider_ends() -> None:
    lesson = dv.teaching(late_stays(800, 4), 1, Unit("user", max_bins=2))
    counts = lesson.draw(months(4), dv.Dense(3))
    whole = counts.closed_by(lesson.draw(PROFILE(months(4)), dv.Dense(1, clamp=False)))
    one = counts.closed_by(lesson.draw(PROFILE(months(4), over=2), dv.Dense(1, clamp=False)))
    truth = late_stays(800, 4).month
    for ends in (whole, one):
        found = ends.mean()
        assert found.low <= truth.mean() <= found.high and 1 <= found.low and found.high <= 4  # type: ignore[operator]
    assert one.median().low <= truth.median() <= one.median().high  # type: ignore[operator]
