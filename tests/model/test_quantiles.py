"""Quantiles: their intervals hold at the worst truth and are those of the definition; elsewhere they are refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError, ReleaseFormat
from dpviz.fitting.inverted_tests import MOST_TRIED, by_halves, first_accepted, halvings
from dpviz.model.answers import Table
from dpviz.model.derived import Derived, saved
from dpviz.model.laws.tree import NoisyTree
from dpviz.model.quantiles import HALF, DerivedQuantile, DerivedQuantiles
from dpviz.model.release import Release

EPSILON = "3/2"
REACH = 6
"""Noise beyond this has chance 1e-4, which counts as missed."""

LARGEST = 2
BETA = Fraction(1, 5)


def drawn(domain: dv.Domain, mechanism: object, values: list[object], **options: object) -> Release:
    lesson = dv.teaching(pd.DataFrame({"x": values}), seed=7, **options)  # type: ignore[arg-type]
    release = lesson.draw(domain, mechanism)  # type: ignore[arg-type]
    assert isinstance(release, Release)
    return release


def quantile(release: Release, q: object, beta: object = BETA) -> DerivedQuantile:
    found = release.quantile(q, beta=beta)  # type: ignore[arg-type]
    assert isinstance(found, DerivedQuantile)
    return found


def ends(found: DerivedQuantile) -> tuple[int, int]:
    return int(found.low_label), int(found.high_label)


def quantiles_of(counts: tuple[int, ...], q: Fraction) -> list[int]:
    """All bins that are q-quantiles, from the definition."""
    whole, upto = sum(counts), np.cumsum(counts).tolist()
    return [x for x in range(len(counts)) if (upto[x - 1] if x else 0) <= q * whole <= upto[x]]


def chance(z: int) -> float:
    decay = math.exp(-float(Fraction(EPSILON)))
    return (1 - decay) / (1 + decay) * decay ** abs(z)


def coverages(clamp: bool, q: Fraction, beta: Fraction) -> list[float]:
    """The chance that every quantile lies in the interval, for each truth of three bins, by enumeration."""
    base = drawn(dv.Domain.integers(0, 2, column="x"), dv.Dense(EPSILON, clamp=clamp), [0])

    @cache
    def interval(values: tuple[int, ...]) -> tuple[int, int]:
        return ends(quantile(replace(base, answer=Table(np.array(values, dtype=np.int64))), q, beta))

    seen: dict[tuple[int, ...], tuple[int, int]] = {}
    spread = range(0 if clamp else -REACH, REACH + LARGEST + 1)
    for values in product(spread, repeat=3):
        seen[values] = interval(values)
    found = []
    for counts in product(range(LARGEST + 1), repeat=3):
        wanted, total = quantiles_of(counts, q), 0.0
        laws = [_law_of(count, clamp) for count in counts]
        for values, (low, high) in seen.items():
            if low <= wanted[0] and wanted[-1] <= high:
                total += math.prod(law.get(value, 0.0) for law, value in zip(laws, values, strict=True))
        found.append(total)
    return found


def _law_of(count: int, clamp: bool) -> Mapping[int, float]:
    law: dict[int, float] = {}
    for z in range(-REACH, REACH + 1):
        value = max(0, count + z) if clamp else count + z
        law[value] = law.get(value, 0.0) + chance(z)
    return law


@pytest.mark.parametrize(("clamp", "q"), [(False, Fraction(1, 2)), (False, Fraction(1, 4)), (True, Fraction(1, 2))])
def test_every_quantile_is_held_at_the_worst_truth_and_a_test_at_twice_the_level_is_caught(
    clamp: bool, q: Fraction
) -> None:
    """Three bins, ties and empty data included: 27 truths."""
    assert min(coverages(clamp, q, BETA)) >= 1 - BETA
    if not clamp and q == HALF:  # a clamp makes the interval a bound
        assert min(coverages(clamp, q, 2 * BETA)) < 1 - BETA


# ---------------------------------------------------------------- the definition


def tail(weights: Mapping[int, int], gap: int) -> float:
    """Pr[sum of weighted noises >= gap], by a transform of the masses."""
    size = 1 << 14
    law = np.ones(size // 2 + 1, dtype=complex)
    for weight, count in weights.items():
        masses = np.zeros(size)
        for z in range(-40, 41):
            masses[weight * z % size] += chance(z)
        law *= np.fft.rfft(masses) ** count
    masses = np.fft.irfft(law, size)
    place = np.arange(size)
    place[place >= size // 2] -= size
    return float(masses[place >= gap].sum())


def by_definition(values: np.ndarray, q: Fraction, beta: Fraction) -> tuple[int, int]:
    """The first bin that is not too low and the last that is not too high, each tested by itself."""
    bins, a, b = len(values), q.denominator - q.numerator, q.numerator

    def statistic(x: int) -> int:
        return a * int(values[: x + 1].sum()) - b * int(values[x + 1 :].sum())

    def rare(x: int, gap: int) -> bool:
        weights = {a: x + 1, b: bins - x - 1} if a != b else {a: bins}
        return gap > 0 and tail(weights, gap) <= beta / 2

    low = next(x for x in range(bins) if x == bins - 1 or not rare(x, -statistic(x)))
    high = next(x for x in reversed(range(bins)) if x == 0 or not rare(x - 1, statistic(x - 1)))
    return low, high


@pytest.mark.parametrize("bins", [5, 90])
def test_the_interval_is_that_of_the_definition(bins: int) -> None:
    """Few rows, so that the walk has many bins to decide; both ways of walking."""
    rng = np.random.default_rng(3)
    base = drawn(dv.Domain.integers(0, bins - 1, column="x"), dv.Dense(EPSILON, clamp=False), [0])
    widths = set()
    for q in (Fraction(1, 2), Fraction(9, 10)):
        for rows in (0, 20, 400):
            counts = np.bincount(rng.integers(0, bins, rows), minlength=bins)
            decay = math.exp(-float(Fraction(EPSILON)))
            noise = rng.geometric(1 - decay, bins) - rng.geometric(1 - decay, bins)
            values = (counts + noise).astype(np.int64)
            found = quantile(replace(base, answer=Table(values)), q)
            assert ends(found) == by_definition(values, q, BETA) and found.how == "exact"
            widths.add(ends(found)[1] - ends(found)[0])
    assert len(widths) > 1


@pytest.mark.parametrize(("bins", "tests"), [(32, 1), (128, 7)])
def test_a_tree_of_many_bins_is_halved_and_of_few_walked(bins: int, tests: int) -> None:
    values: list[object] = [x for x in range(bins) for _ in range(1 + x % 3)]
    release = drawn(dv.Domain.integers(0, bins - 1, column="x"), dv.Tree("1/2"), values)
    law, q = release.terms.law, Fraction(1, 3)
    assert isinstance(law, NoisyTree)
    found = quantile(release, q)
    low, high = ends(found)
    assert ("bisection" in found.rule) == (tests > 1) and (tests == 1 or found.how == "bound")

    def beyond(x: int, sign: int) -> bool:
        noise = law.noise([(0, x, 1 - q), (x + 1, bins - 1, -q)])
        gap = sign * ((1 - q) * total(release, 0, x) - q * total(release, x + 1, bins - 1))
        return gap > noise.upper(BETA / 2 / tests).value

    assert 0 < low <= high < bins - 1
    assert beyond(low - 1, -1) and not beyond(low, -1) and beyond(high, 1) and not beyond(high - 1, 1)


def total(release: Release, low: int, high: int) -> Fraction:
    found = release.range(low, high)
    assert isinstance(found, Derived) and isinstance(found.value, Fraction)
    return found.value


@pytest.mark.parametrize("last", range(7))
def test_searches_pass_no_place_after_which_all_is_accepted(last: int) -> None:
    """All patterns of rejections: the walk ends at the first accepted place, and halving makes few tests."""
    for pattern in product((False, True), repeat=last):
        asked: list[int] = []

        def rejected(place: int, pattern: tuple[bool, ...] = pattern, asked: list[int] = asked) -> bool:
            asked.append(place)
            return pattern[place]

        first = next((place for place, no in enumerate(pattern) if not no), last)
        assert first_accepted(rejected, last).place == first and asked == list(range(min(first + 1, last)))
        assert first_accepted(rejected, last, np.array(pattern, dtype=np.bool_)).place == first
        asked.clear()
        halved = by_halves(rejected, last).place
        assert len(asked) <= halvings(last) and (halved == last or not pattern[halved])
        assert not halved or pattern[halved - 1]


def test_a_walk_ends_after_some_tests_further_out() -> None:
    assert first_accepted(lambda place: place < 200, 300).place == MOST_TRIED
    assert not first_accepted(lambda place: place < 200, 300).least
    clear = np.arange(300) < 180
    found = first_accepted(lambda place: place < 200, 300, clear)
    assert found.least and found.place == 200


# ---------------------------------------------------------------- bins and words


def test_missing_values_are_in_no_quantile_and_bins_beyond_have_no_number() -> None:
    domain = dv.Domain.integers(1, 3, column="x", overflow=True, missing=True)
    values: list[object] = [1] * 40 + [2] * 10 + [9] * 100 + [None] * 500
    release = drawn(domain, dv.Dense(5, clamp=False), values)
    found = release.quantile(["1/10", "9/10"])
    assert isinstance(found, DerivedQuantiles)
    assert [row.label for row in found] == ["1", "over 3"]
    assert found[0].interval == (1, 1) and found[1].interval == (4, None)


def test_intervals_and_times_are_answered_by_their_bins() -> None:
    wide = drawn(dv.Domain.intervals([0, 10, 20, 40], column="x"), dv.Dense(5), [5] * 50 + [15] * 60 + [30] * 5)
    found = quantile(wide, "1/2")
    assert (found.label, found.low, found.high) == ("10 to below 20", 10, 20)
    days: list[object] = list(pd.to_datetime(["2024-01-03"] * 30 + ["2024-02-07"] * 90))
    times = drawn(dv.Domain.times("2024-01", "2024-04", by="month", column="x"), dv.Dense(5), days)
    assert (times.median().label, times.median().low) == ("2024-02", None)
    one = drawn(dv.Domain.integers(4, 4, column="x"), dv.Dense(1), [4] * 9).median()
    assert one.interval == (4, 4) and one.how == "exact"


def test_the_estimate_lies_in_every_interval_and_an_empty_answer_says_so() -> None:
    domain, rng = dv.Domain.integers(0, 9, column="x"), np.random.default_rng(5)
    base = drawn(domain, dv.Dense(1, clamp=False), [0])
    for _ in range(20):
        release = replace(base, answer=Table(rng.integers(-3, 9, 10)))
        for beta in ("0.01", "0.5", "0.99"):
            found = quantile(release, "2/5", beta)
            low, high = ends(found)
            assert found.label is None or low <= int(found.label) <= high or low > high
    empty = quantile(replace(base, answer=Table(np.array([1, 0, -2, 1, 0, 0, -1, 0, 0, 0]))), "1/2")
    assert empty.label is None and any("Nothing may be counted" in remark for remark in empty.remarks)
    assert ends(empty) == (0, 9) and "none is seen" in empty.sentence


def test_more_quantiles_at_once_are_wider_and_a_quantile_says_what_it_is_of() -> None:
    values: list[object] = [x for x in range(50) for _ in range(8)]
    release = drawn(dv.Domain.integers(0, 49, column="x"), dv.Dense("1/5", clamp=False), values)
    alone, several = release.median(), release.median(among=1000)
    assert ends(several)[0] < ends(alone)[0] <= ends(alone)[1] < ends(several)[1]
    assert alone.how == "exact" and several.how == "bound" and "1,000" in several.rule
    assert "median of the rows" in alone.sentence and "95 in 100" in alone.sentence
    frame, csv = release.quantile(["1/4", "1/2"]).to_frame(), alone.to_csv()
    assert frame["quantile"].tolist() == ["0.25", "0.5"] and frame["low"].iloc[1] == alone.low
    assert csv is not None and csv.startswith("# not private: seeded teaching draw")
    assert "<table>" in release.quantile(["1/4"])._repr_html_()  # type: ignore[union-attr]
    user = dv.Unit("x", noun="plane", max_bins=12)
    pairs = drawn(dv.Domain.integers(1, 12, column="x"), dv.Dense(5), [3], unit=user)
    assert "median of the plane-x" in pairs.median().sentence


def test_two_answers_together_and_answers_about_parts_have_quantiles_too() -> None:
    frame = pd.DataFrame({"x": [x for x in range(20) for _ in range(30)], "part": ["a", "b"] * 300})
    lesson = dv.teaching(frame, seed=2)
    domain = dv.Domain.integers(0, 19, column="x")
    both = dv.combine(lesson.draw(domain, dv.Dense(1, clamp=False)), lesson.draw(domain, dv.Dense(1, clamp=False)))
    found = both.median()
    assert ends(found)[0] <= 9 <= ends(found)[1] and len(found.paid) == 2
    parts = lesson.draw(domain, dv.Dense(1), by=dv.Domain.categories(["a", "b"], column="part"))
    assert isinstance(parts, Release) and parts.groups["a"].median().label is not None


# ---------------------------------------------------------------- refusals


def _refusals() -> dict[str, Callable[[], object]]:
    integers, names = dv.Domain.integers(0, 9, column="x"), dv.Domain.categories(["a", "b"], column="x")
    release = drawn(integers, dv.Dense(1), [1, 2])
    cut = drawn(integers, dv.Dense(1), [1, 2], unit=dv.Unit("x", max_bins=2))
    return {
        "q of 0": lambda: release.quantile(0),
        "q of 1": lambda: release.quantile("1"),
        "no number": lambda: release.quantile("half"),
        "no quantiles": lambda: release.quantile([]),
        "all": lambda: release.median(among="all"),
        "beta": lambda: release.median(beta=1),
        "reader": lambda: release.median(reader="none"),
        "categories": lambda: drawn(names, dv.Dense(1), ["a"]).median(),
        "ranks": lambda: drawn(integers, dv.Sorted(1), [1, 2]).median(),
        "a list": lambda: drawn(integers, dv.TopKLaplace(3, 10, 1), [1, 2]).median(),
        "cut": lambda: cut.median(),
        "sums": lambda: drawn(dv.Question.sum("x", by=integers, low=0, high=9, step=1), dv.Dense(1), [1, 2]).median(),  # type: ignore[arg-type]
    }


@pytest.mark.parametrize("name", list(_refusals()))
def test_what_has_no_quantile_is_refused_with_value_rule_and_next_step(name: str) -> None:
    with pytest.raises(DpvizError) as refused:
        _refusals()[name]()
    assert refused.value.rule and refused.value.next_step


def test_a_share_of_a_list_is_named_by_its_place_and_not_quoted() -> None:
    """Somebody pastes a column where shares belong; a share that stands alone was typed, and is quoted."""
    release = drawn(dv.Domain.integers(0, 9, column="x"), dv.Dense(1), [1, 2])
    for odd in (718_281_828, "Quetzalwren"):
        with pytest.raises(ParameterError, match="as share 2 of 2") as refused:
            release.quantile(["1/2", odd])
        assert str(odd) not in str(refused.value)
        with pytest.raises(ParameterError, match=str(odd)):
            release.quantile(odd)


def test_a_fact_lets_a_limited_answer_have_a_quantile() -> None:
    frame = pd.DataFrame({"user": list("abcdefgh") * 5, "x": [3] * 40})
    lesson = dv.teaching(frame, seed=2, unit=dv.Unit("user", max_bins=2))
    release = lesson.draw(dv.Domain.integers(0, 9, column="x"), dv.Dense(20))
    assert isinstance(release, Release)
    with pytest.raises(ParameterError, match="most_bins"):
        release.median()
    found = release.with_facts(most_bins=1).median()
    assert found.label == "3" and any("as declared" in remark for remark in found.remarks)


# ---------------------------------------------------------------- saving


def test_a_level_beyond_any_float_has_a_wide_interval_in_a_halved_tree() -> None:
    release = drawn(dv.Domain.integers(0, 127, column="x"), dv.Tree(1), [x for x in range(128) for _ in range(9)])
    rare, usual = (quantile(release, "1/2", beta) for beta in (Fraction(1, 10**400), BETA))
    assert ends(rare)[0] < ends(usual)[0] <= ends(usual)[1] < ends(rare)[1]


def test_quantiles_are_saved_and_loaded_alone_and_together(tmp_path: Path) -> None:
    domain = dv.Domain.integers(1, 3, column="x", overflow=True)
    release = drawn(domain, dv.Dense(5, clamp=False), [1] * 40 + [2] * 10 + [9] * 100)
    alone, several = release.quantile("9/10"), release.quantile(["1/10", "1/3"], among=2)
    assert isinstance(alone, DerivedQuantile) and isinstance(several, DerivedQuantiles)
    assert alone.high is None  # an end without a number is kept as such
    assert dv.load_derived(alone.save(tmp_path / "alone.json")) == alone
    assert dv.load_derived(several.save(tmp_path / "several.json")) == several
    with pytest.raises(ParameterError, match="JSON|json"):
        alone.save(tmp_path / "alone.csv")


def test_a_saved_quantile_with_a_part_of_another_kind_is_refused(tmp_path: Path) -> None:
    found = drawn(dv.Domain.integers(0, 3, column="x"), dv.Dense(5), [1] * 40).median()
    parts = found.to_json()
    others = {"q": "2", "low": "x", "how": "guessed", "remarks": [1], "label": 3, "among": "two", "beta": "0"}
    for name, other in others.items():
        path = saved(tmp_path / f"{name}.json", {"quantiles": [{**parts, name: other}], "alone": True})
        with pytest.raises(ReleaseFormat, match="must be what dpviz saved"):
            dv.load_derived(path)
    for body in ({"quantiles": []}, {"quantiles": [parts, parts], "alone": True}, {"quantiles": 3}):
        with pytest.raises(ReleaseFormat, match="must be what dpviz saved"):
            dv.load_derived(saved(tmp_path / "wrong.json", body))
