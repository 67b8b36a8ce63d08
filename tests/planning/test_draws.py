"""What hypothetical draws of a comparison read: quantiles of each mechanism's own law, fixed luck, few bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import Forbidden, ParameterError
from dpviz.exact import Decay
from dpviz.laws.clamped import Clamped
from dpviz.laws.finite import FastSampleLaw
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.laws.keep_heavy import OneBin, exact_marginal
from dpviz.laws.truncated import TruncatedGeometric
from dpviz.model.laws.compact import CompactError
from dpviz.model.laws.pure_sparse import PureSparseError, PureSparseLaw
from dpviz.model.laws.stability import StabilityError
from dpviz.model.laws.threshold import Cut, ThresholdError, ThresholdLaw
from dpviz.model.laws.tree import TreeError
from dpviz.model.mechanism import Mechanism
from dpviz.planning.comparison_sheet import ComparisonSheet
from dpviz.planning.draws import ALPHABET, DRAWS, LEVELS, LUCK, Truth, written
from dpviz.privacy import Unit

MINUTES = dv.Question.of(dv.Domain.integers(0, 525_599, column="minute"))
VISITS = dv.Question.of(dv.Domain.integers(0, 40, column="visits"))
THOUSAND = Unit("row", relation="replace-one", n=1000)
HALF = Fraction(1, 2)
RIVALS = (dv.Dense(1), dv.Stability(1, "1e-6"), dv.PureSparse(1), dv.Compact(1), dv.Tree(1))

Chances = Callable[[int], tuple[Fraction, Fraction]]
"""The chance, enclosed, that a bin reads at most so much; one that is not shown reads less than all that are."""


def are_quantiles(reads: Sequence[int | None] | None, at_most: Chances, hidden: tuple[Fraction, Fraction]) -> bool:
    """Whether each reading is the least that is read with a chance of at least its level, by this law."""
    assert reads is not None and len(reads) == DRAWS
    for level, value in zip(LEVELS, reads, strict=True):
        below = hidden if value is None else at_most(value)
        if below[1] < level:
            return False
        if value is not None and max(at_most(value - 1)[0], hidden[0]) >= level:
            return False
    return True


def clamped(law: Clamped | FastSampleLaw, count: int) -> Chances:
    def at_most(value: int) -> tuple[Fraction, Fraction]:
        found = law.cdf(count, value)
        return found if isinstance(found, tuple) else (found, found)

    return at_most


NONE = (Fraction(0), Fraction(0))
EXP, WIDER = (TwoSidedGeometric(Decay.exp(rate)) for rate in (HALF, Fraction(11, 24)))


@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_what_noise_leaves_of_a_count_is_read_from_its_exact_law(count: int) -> None:
    reads = dv.Dense(HALF).bind(VISITS, Unit()).error.reads(count, LEVELS)
    assert are_quantiles(reads, clamped(Clamped(EXP, 0, None), count), NONE)
    for twin in (Clamped(WIDER, 0, None), Clamped(EXP, None, None)):
        other = are_quantiles(reads, clamped(twin, count), NONE)
        assert other == (count == 20 and twin.noise is EXP)  # no clamp is near a count of 20


@pytest.mark.parametrize("count", [0, 4, 9, 30])
def test_counts_beyond_a_cap_gaussian_noise_and_uniform_counts_are_read_from_their_laws(count: int) -> None:
    capped = dv.Dense(HALF, cap=9).bind(VISITS, Unit()).error.reads(count, LEVELS)
    assert are_quantiles(capped, clamped(Clamped(EXP, 0, 9), min(count, 9)), NONE)
    bound = dv.Dense(HALF, base="gaussian", delta="1e-6").bind(VISITS, Unit())
    variance = bound.error.law.noise.variance  # type: ignore[attr-defined]
    bell = Clamped(DiscreteGaussian(variance), 0, None)
    assert are_quantiles(bound.error.reads(count, LEVELS), clamped(bell, count), NONE)
    fast = dv.Dense(HALF, cap=9, base="tight", sampler="fastsample").bind(VISITS, Unit()).error
    law = fast.law.noise.junk  # type: ignore[attr-defined]
    uniform = replace(law, g=4)
    assert are_quantiles(fast.reads(count, LEVELS), clamped(law, min(count, 9)), NONE)
    noise = replace(fast.law.noise, finite=replace(fast.law.noise.finite, g=4))  # type: ignore[attr-defined]
    often = replace(fast, law=replace(fast.law, noise=noise)).reads(count, LEVELS)  # type: ignore[attr-defined, type-var]
    assert are_quantiles(often, clamped(uniform, min(count, 9)), NONE)
    assert not are_quantiles(often, clamped(law, min(count, 9)), NONE)


@pytest.mark.parametrize("count", [0, 18, 25, 26, 60])
def test_a_bin_at_or_below_the_threshold_is_not_shown_as_often_as_the_law_says(count: int) -> None:
    error = dv.Stability(HALF, "1e-6").bind(MINUTES, Unit()).error
    assert isinstance(error, StabilityError) and error.law.threshold == 25
    cut = TruncatedGeometric(Decay.exp(HALF), 25)
    reads, chances = error.reads(count, LEVELS), clamped(Clamped(cut, 0, None), count)
    if count == 0:
        assert reads == [None] * DRAWS
        return
    assert are_quantiles(reads, chances, chances(25))
    if count == 18:
        assert reads == [*[None] * (DRAWS - 1), 26]
        return
    assert not are_quantiles(reads, clamped(Clamped(WIDER, 0, None), count), chances(25))
    assert are_quantiles(reads, chances, chances(24)) == are_quantiles(reads, chances, chances(26)) == (count == 60)


def test_a_cut_that_empty_bins_may_pass_reads_them_by_their_noise() -> None:
    for certain in (False, True):
        error = ThresholdError(ThresholdLaw(Cut(HALF, 2, certain, signed=False), Fraction(1), 41))
        chances = clamped(Clamped(EXP, 0, None), 0)
        reads = error.reads(0, LEVELS)
        assert are_quantiles(reads, chances, chances(1)) == certain
        assert certain or reads == [None] * DRAWS
        three = clamped(Clamped(EXP, 0, None), 3)
        assert are_quantiles(error.reads(3, LEVELS), three, three(1))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_bin_that_few_others_leave_room_reads_what_the_enumeration_says(count: int) -> None:
    size, n, decay = 5, 2, Decay.rational(HALF)
    one = Clamped(TwoSidedGeometric(decay), 0, n)
    law = exact_marginal(0, [count, *[0] * (size - 1)], n, lambda c: {v: one.pmf(c, v)[0] for v in range(n + 1)})

    def at_most(value: int) -> tuple[Fraction, Fraction]:
        chance = sum((part for v, part in law.items() if v <= value), Fraction(0))
        return chance, chance

    def reads(size: int) -> list[int | None]:
        return PureSparseError(PureSparseLaw(decay, size, n, certain=True, junk=Fraction(0))).reads(count, LEVELS)

    assert OneBin(decay, size, n).quantiles(count, LEVELS)
    assert are_quantiles(reads(size), at_most, at_most(0))
    assert not are_quantiles(reads(3), at_most, at_most(0))  # fewer others, which leave more room


@pytest.mark.parametrize("count", [0, 1, 7, 30])
def test_a_look_up_reads_what_its_sampler_and_its_field_draw(count: int) -> None:
    error = dv.Compact(HALF, cap=12, sampler="geosample").bind(MINUTES, Unit()).error
    assert isinstance(error, CompactError)
    law = error.law
    noise = Clamped(TwoSidedGeometric(law.noise.decay), 0, 12)

    def empty(value: int) -> tuple[Fraction, Fraction]:
        chance = sum((law.empty.chance(v) for v in range(min(value, 12) + 1)), Fraction(0))
        return chance, chance

    chances = clamped(noise, min(count, 12)) if count else empty
    assert are_quantiles(error.reads(count, LEVELS), chances, NONE)
    assert not are_quantiles(error.reads(count, LEVELS), clamped(noise, 3), NONE)


def test_a_fitted_bin_reads_its_count_and_the_error_of_the_worst_bin() -> None:
    error = dv.Tree(HALF).bind(VISITS, Unit()).error
    assert isinstance(error, TreeError)
    errors = error.quantiles(list(LEVELS))
    assert error.reads(17, LEVELS) == [17 + one for one in errors]
    for level, one in zip(LEVELS, errors, strict=True):
        past = error._worst.above(Fraction(one))  # rounded away from 0, so no more lies beyond than the level says
        assert (past[0] <= 1 - level) if level > HALF else (past[1] >= 1 - level)


def test_what_no_law_of_one_count_is_known_of_is_not_drawn() -> None:
    sums = dv.Question.of(dv.Domain.keys(column="word"), None)
    for mechanism in (dv.ALP(1, cap=1000, keys=100), dv.MaxProjection(1, cap=1000, keys=100)):
        assert mechanism.bind(sums, Unit()).error.reads(9, LEVELS) is None
    signed = ThresholdError(ThresholdLaw(Cut(HALF, 9, certain=False, signed=True), Fraction(1), None))
    halves = ThresholdError(ThresholdLaw(Cut(HALF, 9, certain=False, signed=False), HALF, None))
    assert signed.reads(9, LEVELS) is halves.reads(9, LEVELS) is None
    sheet = ComparisonSheet(sums, Unit(), (dv.ALP(1, cap=1000, keys=100),), HALF, Fraction(2)).to_json()
    assert sheet["draws"] is None
    beside = ComparisonSheet(sums, Unit(), (dv.ALP(1, cap=9, keys=9), dv.Stability(1, "1e-6")), HALF, Fraction(2))
    assert [row is None for row in beside.to_json()["draws"]["reads"]["0.5"]] == [True, False]


# ---------------------------------------------------------------- as a page gets it


def unwritten(counts: Sequence[int], texts: Sequence[str]) -> list[list[int | None]]:
    """What `written` wrote, read by its docstring."""
    found, last = [], list[int]()
    for count, told in zip(counts, texts, strict=True):
        hidden, *rest = told.split(" ")
        shown: list[int] = []
        if len(rest) == 1:
            shown = [max(int(rest[0]), count + error) for error in last[len(last) - (DRAWS - int(hidden)) :]]
        elif rest:
            shown = [int(rest[0])]
            for step in re.findall(r"\(\d+\)|.", rest[1]):
                shown.append(shown[-1] + (int(step[1:-1]) if len(step) > 1 else ALPHABET.index(step)))
            last = [value - count for value in shown]
        found.append([*[None] * int(hidden), *shown])
    return found


@pytest.mark.parametrize(
    ("question", "unit", "mechanisms"),
    [
        (MINUTES, THOUSAND, RIVALS),
        (VISITS, Unit(), (dv.Dense(1, cap=9), dv.Dense(1, clamp=False), dv.Stability(1, "1e-9", cap=40), dv.Tree(1))),
    ],
    ids=["huge", "few"],
)
def test_the_texts_of_a_sheet_are_the_tables_of_the_laws(
    question: dv.Question, unit: Unit, mechanisms: tuple[Mechanism, ...]
) -> None:
    sheet = ComparisonSheet(question, unit, mechanisms, Fraction(1, 3), Fraction(2))
    said = sheet.to_json()
    draws, counts = said["draws"], [int(count) for count in said["draws"]["counts"]]
    assert list(draws["reads"]) == [*said["axes"][0]["grid"], "1/3"]
    for epsilon, rows in draws["reads"].items():
        for mechanism, texts in zip(mechanisms, rows, strict=True):
            try:
                error = mechanism.with_epsilon(Fraction(epsilon)).bind(question, unit).error
            except ParameterError:
                assert texts is None
                continue
            assert unwritten(counts, texts) == [error.reads(count, LEVELS) for count in counts]
    assert len(json.dumps(draws)) < 20_000


def test_a_text_with_another_step_is_another_table() -> None:
    texts = written([9, 4], [[*[None] * 10, *range(5, 45)], [*[None] * 20, *range(10, 40)]])
    assert texts == [f"10 5 {'1' * 39}", "20 10"]
    assert unwritten([9, 4], texts)[1][20:] == list(range(10, 40))
    assert unwritten([9, 4], [texts[0].replace("1", "2", 2), texts[1]]) != unwritten([9, 4], texts)


def test_each_bin_is_at_every_level_once_and_no_two_bins_share_their_luck() -> None:
    orders = [[ALPHABET.index(letter) for letter in letters] for letters in LUCK]
    assert all(sorted(order) == list(range(DRAWS)) for order in orders)
    for one, other in combinations(orders, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.1


def test_made_up_counts_stay_when_epsilon_moves_and_fit_the_public_n() -> None:
    sheet = ComparisonSheet(MINUTES, THOUSAND, RIVALS, HALF, Fraction(2))
    first = sheet.to_json()["draws"]
    assert first["counts"] == ["180", "120", "112", "40", "20"] and first["badge"] == "made-up data · not a release"
    moved = sheet.moved({"epsilon": "0.05", "beta": "0.1", "c": "3000"}).to_json()["draws"]
    assert {**moved, "reads": 0} == {**first, "reads": 0}
    assert all(moved["reads"][epsilon] == rows for epsilon, rows in first["reads"].items())
    for n in (10, 20, 100, 1000):
        truth = Truth.below(10**6, 10**6, n)
        assert truth is not None and sum(truth.counts) <= n and len(set(truth.counts)) == len(truth.counts) > 1
    assert Truth.below(100, 10**6, 2) is None is Truth.below(100, 1, None)
    few = Truth.below(100, 3, None)
    assert few is not None and few.counts == (90, 60, 56)
    one = dv.Question.of(dv.Domain.integers(0, 0, column="a"))
    assert ComparisonSheet(one, Unit(), (dv.Dense(1),), HALF, Fraction(2)).to_json()["draws"] is None


def test_public_counts_are_named_and_the_largest_of_them_are_drawn() -> None:
    table = dv.PublicTable(dv.Domain.categories(list("abcdefg"), column="x"), np.array([0, 9, 30, 8, 7, 30, 2]))
    truth = Truth.of(table, 7, None)
    assert truth.counts == (30, 30, 9, 8, 7) and truth.names == ("c", "f", "b", "d", "e")
    assert truth.badge == "public data · not a release"
    assert Truth.of((5, 90), 7, None) == Truth((90, 5), ("", ""), "made-up data · not a release")


@pytest.mark.parametrize(
    "counts", [[1], [], [1, 2, 3, 4, 5, 6], [0, 1], [1, 1.5], [10**12 + 1, 1], [600, 600]], ids=str
)
def test_counts_that_make_no_picture_are_refused(counts: list[int]) -> None:
    with pytest.raises(ParameterError):
        dv.MechanismComparison(None, MINUTES.domain, ["Dense"], unit=THOUSAND, counts=counts)


def test_what_nobody_declared_public_is_not_drawn() -> None:
    with pytest.raises(Forbidden, match="are public or made up") as refused:
        dv.MechanismComparison(None, MINUTES.domain, ["Dense"], counts=np.array([77123, 4]))  # type: ignore[arg-type]
    assert "77123" not in str(refused.value)
    with pytest.raises(ParameterError, match="no order"):
        dv.MechanismComparison(None, dv.Domain.integers(0, 0, column="a"), ["Dense"], counts=[4, 5])
