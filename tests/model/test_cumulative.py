"""Cumulative shares: their intervals hold at once at the worst truth, by each bound; refused as quantiles are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.exact import Decay
from dpviz.fitting import running_shares
from dpviz.fitting.noises import Noises, transform_of
from dpviz.fitting.running_shares import NoiseOfBins, RunningShares
from dpviz.fitting.shares import FINE
from dpviz.model.answers import Table
from dpviz.model.derived import Derived, DerivedTable
from dpviz.model.release import Release

EPSILON = 2
NOISE = Decay.exp(Fraction(EPSILON))
REACH, LARGEST = 3, 2
BETA = Fraction(1, 5)


def drawn(domain: dv.Domain, mechanism: object, values: list[object], **options: object) -> Release:
    lesson = dv.teaching(pd.DataFrame({"x": values}), seed=7, **options)  # type: ignore[arg-type]
    release = lesson.draw(domain, mechanism)  # type: ignore[arg-type]
    assert isinstance(release, Release)
    return release


def chance(z: int) -> float:
    decay = math.exp(-EPSILON)
    return (1 - decay) / (1 + decay) * decay ** abs(z)


def law_of(count: int, clamp: bool) -> Mapping[int, float]:
    law: dict[int, float] = {}
    for z in range(-REACH, REACH + 1):
        value = max(0, count + z) if clamp else count + z
        law[value] = law.get(value, 0.0) + chance(z)
    return law


def least_coverage(clamp: bool, band: Callable[[np.ndarray], RunningShares]) -> float:
    """The chance that both shares of three bins lie in their intervals, at the worst of all truths."""
    ends = {
        values: band(np.cumsum(np.array(values)))
        for values in product(range(0 if clamp else -REACH, REACH + LARGEST + 1), repeat=3)
    }
    found = []
    for counts in product(range(LARGEST + 1), repeat=3):
        if not (whole := sum(counts)):
            continue
        truth = np.array([counts[0], counts[0] + counts[1]]) * FINE
        laws, total = [law_of(count, clamp) for count in counts], 0.0
        for values, one in ends.items():
            if bool(((one.low * whole <= truth) & (truth <= one.high * whole)).all()):
                total += math.prod(law.get(value, 0.0) for law, value in zip(laws, values, strict=True))
        found.append(total)
    return min(found)


def test_few_shares_hold_at_once_at_the_worst_truth_and_at_twice_the_level_they_do_not() -> None:
    noise = NoiseOfBins(NOISE, False, Fraction(0))
    assert least_coverage(False, lambda counts: noise.band(counts, BETA)) >= 1 - BETA
    assert least_coverage(False, lambda counts: noise.band(counts, 2 * BETA)) < 1 - BETA


def test_shares_of_clamped_counts_hold_at_once_at_the_worst_truth() -> None:
    noise = NoiseOfBins(NOISE, True, Fraction(0))
    assert least_coverage(True, lambda counts: noise.band(counts, BETA)) >= 1 - BETA


# ---------------------------------------------------------------- many bins: each bound by itself


def tail(noises: list[tuple[int, int, bool]], seen: int) -> float:
    """Pr[sum of noises >= seen], for weights, numbers, and whether they are clamped: by a transform of the masses."""
    size = 1 << 14
    law = np.ones(size // 2 + 1, dtype=complex)
    for weight, number, clamp in noises:
        masses = np.zeros(size)
        for z in range(-30, 31):
            masses[weight * (max(z, 0) if clamp else z) % size] += chance(z)
        law *= np.fft.rfft(masses) ** number
    place = np.arange(size)
    place[place >= size // 2] -= size
    return float(np.fft.irfft(law, size)[place >= seen].sum())


@pytest.mark.parametrize("clamp", [False, True])
def test_chernoffs_bound_rejects_no_share_that_its_law_does_not_and_few_less(clamp: bool) -> None:
    """Shares in sixteenths, so that the statistic has a lattice."""
    level, bins, rng = 1e-3, 30, np.random.default_rng(4)
    noise = NoiseOfBins(NOISE, clamp, Fraction(0))
    number = np.arange(1, bins, dtype=np.float64)
    decided = {True: 0, False: 0}
    for most in (3, 12):
        values = np.cumsum(rng.integers(0, most, bins))
        part, whole = values[:-1].astype(np.float64), float(values[-1])
        low = noise._by_each(part, whole - part, number, bins - number, level)
        for place, sixteenths in product(range(0, bins - 1, 4), range(1, 16)):
            seen = (16 - sixteenths) * int(part[place]) - sixteenths * int(whole - part[place])
            if seen <= 0:
                continue
            kinds = [(16 - sixteenths, place + 1, clamp), (-sixteenths, bins - place - 1, False)]
            true, rejected = tail(kinds, seen), sixteenths / 16 <= low[place]
            assert true <= level if rejected else true > level / 40
            decided[bool(rejected)] += 1
    assert min(decided.values()) > 5


def test_a_clamped_bin_taken_for_a_plain_one_rejects_what_is_true() -> None:
    """600 empty bins that show 94 together, as their clamps make likely, beside one that shows 40."""
    level, number, others = 1e-3, np.array([600.0]), np.array([1.0])
    part, rest = np.array([94.0]), np.array([40.0])
    plain, clamped = (
        NoiseOfBins(NOISE, clamp, Fraction(0))._by_each(part, rest, number, others, level)[0] for clamp in (False, True)
    )
    assert clamped < 1 / 16 < plain
    far = [tail([(15, 600, clamp), (-1, 1, False)], 15 * 94 - 40) for clamp in (False, True)]
    assert far[0] <= level < far[1]


def largest_of_partial_sums(bins: int, reach: int) -> float:
    """Pr[some sum of the first noises exceeds `reach`, in size], by carrying the law of those that did not on."""
    width = 2 * reach + 1
    moves = np.array([[chance(to - start) for to in range(width)] for start in range(width)])
    law = np.array([chance(z - reach) for z in range(width)])
    for _ in range(bins - 1):
        law = law @ moves
    return float(1 - law.sum())


@pytest.mark.parametrize("bins", [20, 70])
def test_levys_reach_holds_for_sums_from_either_end_and_that_of_all_bins_alone_does_not(bins: int) -> None:
    beta = 0.1
    reach = round(running_shares._largest(NOISE, bins, beta))
    assert 2 * largest_of_partial_sums(bins, reach) <= beta
    alone = running_shares.NoiseSum.of([running_shares.Term(NOISE, 1, bins)]).radius(Fraction(1, 10))
    assert largest_of_partial_sums(bins, int(alone.value)) > beta


def test_gaussian_noise_has_a_band_too() -> None:
    noise = dv.Dense("1/2", clamp=False, base="gaussian", delta="0.000001")
    values: list[object] = [x for x in range(100) for _ in range(40)]
    table = drawn(dv.Domain.integers(0, 99, column="x"), noise, values).cumulative(beta="0.000001")
    assert all(low <= Fraction(place, 100) <= high for place, (low, high) in enumerate(ends_of(table), 1))
    assert max(high - low for low, high in ends_of(table)) < Fraction(1, 4)
    assert transform_of(NOISE).pole < math.inf


# ---------------------------------------------------------------- what is returned


def ends_of(table: DerivedTable) -> list[tuple[Fraction, Fraction]]:
    found = []
    for row in table:
        assert row.low is not None and row.high is not None
        found.append((row.low, row.high))
    return found


@pytest.mark.parametrize("bins", [12, 90])
@pytest.mark.parametrize("mechanism", [dv.Dense(1, clamp=False), dv.Dense(1), dv.Tree(1)])
def test_shares_and_both_their_ends_never_leave_the_truth_nor_fall(mechanism: object, bins: int) -> None:
    """At a level at which no seeded draw misses."""
    values: list[object] = [x for x in range(bins) for _ in range(20 + x)]
    release = drawn(dv.Domain.integers(0, bins - 1, column="x"), mechanism, values)
    table = release.cumulative(beta="0.000001")
    ends, truth = ends_of(table), np.cumsum([20 + x for x in range(bins)]).tolist()
    assert [row.what for row in table] == [f"x: up to {x}" for x in range(bins)]
    assert all(one <= other for one, other in pairwise(ends))
    assert all(low <= Fraction(count, truth[-1]) <= high for count, (low, high) in zip(truth, ends, strict=True))
    assert ends[-1] == (1, 1) and table[-1].value == 1 and ends[0][1] < Fraction(1, 2)
    assert {row.among for row in table} == {"all"} and {row.how for row in table} == {"bound"}
    assert release.cumulative(beta="0.1")[bins // 2].low > ends[bins // 2][0]  # type: ignore[operator]


def test_a_tree_of_many_bins_has_a_share_at_some_of_them() -> None:
    values: list[object] = [x for x in range(1000) for _ in range(5)]
    table = drawn(dv.Domain.integers(0, 999, column="x"), dv.Tree(1), values).cumulative(beta="0.000001")
    assert len(table) == 256 and table[0].what == "x: up to 3" and table[-1].what == "x: up to 999"
    for row, (low, high) in zip(table, ends_of(table), strict=True):
        assert low <= Fraction(int(row.what.rpartition(" ")[2]) + 1, 1000) <= high


def test_counts_whose_sums_need_more_than_64_bits_are_added_up_all_the_same() -> None:
    base = drawn(dv.Domain.integers(0, 3, column="x"), dv.Dense(1, clamp=False), [0])
    release = replace(base, answer=Table(np.full(4, 1 << 61, dtype=np.int64)))
    assert [float(row.value) for row in release.cumulative()] == [0.25, 0.5, 0.75, 1.0]  # type: ignore[arg-type]
    assert release.median().label == "1"


def test_an_empty_answer_leaves_all_shares_open_and_says_so() -> None:
    base = drawn(dv.Domain.integers(0, 3, column="x"), dv.Dense(1, clamp=False), [0])
    table = replace(base, answer=Table(np.array([1, 0, -2, 0]))).cumulative()
    assert ends_of(table)[:-1] == [(0, 1)] * 3
    assert all(any("Nothing may be counted" in remark for remark in row.remarks) for row in table)


def test_one_bin_two_answers_together_and_parts_have_cumulative_shares() -> None:
    assert ends_of(drawn(dv.Domain.integers(4, 4, column="x"), dv.Dense(1), [4] * 9).cumulative()) == [(1, 1)]
    frame = pd.DataFrame({"x": [x for x in range(20) for _ in range(30)], "part": ["a", "b"] * 300})
    lesson, domain = dv.teaching(frame, seed=2), dv.Domain.integers(0, 19, column="x")
    both = dv.combine(lesson.draw(domain, dv.Dense(1, clamp=False)), lesson.draw(domain, dv.Dense(1, clamp=False)))
    table = both.cumulative(beta="0.000001")
    assert all(low <= Fraction(place, 20) <= high for place, (low, high) in enumerate(ends_of(table), 1))
    assert len(table[3].paid) == 2
    parts = lesson.draw(domain, dv.Dense(1), by=dv.Domain.categories(["a", "b"], column="part"))
    assert isinstance(parts, Release) and len(parts.groups["a"].cumulative()) == 20


def test_a_curve_of_two_answers_computes_the_moments_of_each_law_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums up to each of 80 bins and of the rest have 80 laws on either side; each takes four grids of thetas."""
    asked, moments = [], Noises._log_moment

    def counted(noises: Noises, theta: object) -> object:
        asked.append(noises)
        return moments(noises, theta)  # type: ignore[arg-type]

    monkeypatch.setattr(Noises, "_log_moment", counted)
    rate = Fraction(1, 97)  # of no other test, so that nothing of it is kept
    lesson, bins = dv.teaching(pd.DataFrame({"x": range(80)}), seed=1), dv.Domain.integers(0, 79, column="x")
    both = dv.combine(*(lesson.draw(bins, dv.Dense(rate)) for _ in range(2)))
    assert len(both.cumulative()) == 80
    assert 4 * 80 < len(asked) <= 2 * 4 * 80 + 40


def test_cumulative_shares_are_saved_and_drawn_as_other_shares_are(tmp_path: Path) -> None:
    release = drawn(dv.Domain.integers(0, 5, column="x"), dv.Dense(1, clamp=False), [1, 2, 2, 3] * 50)
    table = release.cumulative()
    again = dv.load_derived(table.save(tmp_path / "curve.json"))
    assert isinstance(again, DerivedTable) and [row.sentence for row in again] == [row.sentence for row in table]
    assert table.chart().to_dict()["title"]
    assert isinstance(table[0], Derived) and "for all of its kind at once" in table[0].sentence


# ---------------------------------------------------------------- refusals


def _refusals() -> dict[str, Callable[[], object]]:
    integers, names = dv.Domain.integers(0, 9, column="x"), dv.Domain.categories(["a", "b"], column="x")
    release = drawn(integers, dv.Dense(1), [1, 2])
    return {
        "beta": lambda: release.cumulative(beta=0),
        "reader": lambda: release.cumulative(reader="none"),
        "categories": lambda: drawn(names, dv.Dense(1), ["a"]).cumulative(),
        "ranks": lambda: drawn(integers, dv.Sorted(1), [1, 2]).cumulative(),
        "cut": lambda: drawn(integers, dv.Dense(1), [1, 2], unit=dv.Unit("x", max_bins=2)).cumulative(),
        "mean, all": lambda: release.mean(among="all"),
        "mean, categories": lambda: drawn(names, dv.Dense(1), ["a"]).mean(),
        "mean, cut": lambda: drawn(integers, dv.Dense(1), [1, 2], unit=dv.Unit("x", max_bins=2)).mean(),
        "mean, times": lambda: drawn(
            dv.Domain.times("2024-01", "2024-04", by="month", column="x"), dv.Dense(5), [pd.Timestamp("2024-01-03")]
        ).mean(),
        "mean, many bins": lambda: drawn(dv.Domain.integers(0, 9999, column="x"), dv.Dense(1), [1]).mean(),
    }


@pytest.mark.parametrize("name", list(_refusals()))
def test_what_has_no_curve_or_mean_is_refused_with_value_rule_and_next_step(name: str) -> None:
    with pytest.raises(DpvizError) as refused:
        _refusals()[name]()
    assert refused.value.rule and refused.value.next_step
