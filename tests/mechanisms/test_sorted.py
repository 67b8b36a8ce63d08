"""Sorted, held to the contract in both relations; its fit, its intervals by enumeration, and what it refuses."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, DpvizError, ParameterError, ReleaseFormat
from dpviz.exact import exp_bounds
from dpviz.mechanisms.sorted import TALL, SortedBound, ascending
from dpviz.model.answers import Packed, Ranks, Reading
from dpviz.model.answers.reading import Among
from dpviz.model.answers.values import listed
from dpviz.model.linear import UNBIASED, Query
from dpviz.model.question import Question
from dpviz.model.statistic import DenseCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import Unit
from tests.mechanisms import contract
from tests.mechanisms.contract import Case
from tests.mechanisms.test_dense import exponential, geometric_oracle, names

ROW, REPLACE = Unit("row"), Unit("row", relation="replace-one", n=4)
USER = Unit("user", max_bins=2, max_per_bin=1)
HEAVY = Unit("user", max_bins=1, max_per_bin=2)
SWAP = Unit("user", relation="replace-one", max_bins=1, max_per_bin=1)
TWO_SWAPPED = Unit("user", relation="replace-one", max_bins=2, max_per_bin=1)
EDGE = Unit("edge", max_bins=2)
ANYWHERE = Unit("user", max_bins=None, max_per_bin=1)


def bound_of(unit: Unit, bins: int, epsilon: Any = 1, largest: int | None = None) -> SortedBound:
    return dv.Sorted(epsilon, largest).bind(Question.of(dv.Domain.integers(1, bins, column="x")), unit)


def noisy(answer: Any) -> np.ndarray:
    values: np.ndarray = answer.read(None, reader="noisy")
    return values


def case_of(name: str, unit: Unit, bins: int, most: int, l1: int, largest: int | None = None) -> Case:
    """A case whose noise is calibrated to `l1`, which is written here by hand for each unit."""
    bound = bound_of(unit, bins, 1, largest)
    ranks = largest or bins

    def asked(counts: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(counts, reverse=True))[:ranks]

    return Case(name, bound, most, geometric_oracle(exponential(Fraction(1, l1)), None, None), asked, noisy)


CASES = [
    case_of("a row added or removed", ROW, 3, 4, 1),
    case_of("a row replaced", REPLACE, 3, 4, 2),
    case_of("a row replaced, the two largest", REPLACE, 3, 4, 2, 2),
    case_of("a row replaced, the largest alone", REPLACE, 3, 4, 1, 1),
    case_of("a row added, the two largest", ROW, 4, 3, 1, 2),
    case_of("a user in two bins", USER, 3, 3, 2),
    case_of("a user in two bins, the largest alone", USER, 3, 3, 1, 1),
    case_of("a user twice in one bin", HEAVY, 3, 4, 2),
    case_of("a user twice in one bin, the largest alone", HEAVY, 3, 4, 2, 1),
    case_of("a user exchanged", SWAP, 3, 3, 2),
    case_of("a user in two of three bins exchanged", TWO_SWAPPED, 3, 3, 3),
    case_of("a user in two of four bins exchanged", TWO_SWAPPED, 4, 2, 4),
    case_of("an edge with two ends", EDGE, 4, 2, 2),
    case_of("a user in any number of bins", ANYWHERE, 3, 3, 3),
]


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_worst_ratio_over_all_neighbours_is_exactly_the_price(case: Case) -> None:
    contract.check_price(case, exact_odds=exp_bounds(Fraction(1), 256))


@pytest.mark.parametrize("case", CASES, ids=names)
def test_a_price_that_is_off_by_a_thousandth_is_rejected(case: Case) -> None:
    low, high = exp_bounds(Fraction(1), 256)
    for wrong in (Fraction(1001, 1000), Fraction(999, 1000)):
        with pytest.raises(AssertionError):
            contract.check_price(case, exact_odds=(low * wrong, high * wrong))


def test_an_edge_of_a_graph_moves_two_degrees() -> None:
    """All graphs of four nodes: adding an edge moves the sorted degrees by 2, always; with one end forgotten it would
    be 1, and `Unit("edge", max_bins=2)` is what says so."""
    pairs = list(itertools.combinations(range(4), 2))

    def degrees(edges: tuple[int, ...]) -> list[int]:
        return sorted(sum(node in pairs[edge] for edge in edges) for node in range(4))

    apart = set()
    for size in range(len(pairs)):
        for edges in itertools.combinations(range(len(pairs)), size):
            for new in set(range(len(pairs))) - set(edges):
                grown = degrees(tuple(sorted((*edges, new))))
                apart.add(sum(abs(a - b) for a, b in zip(degrees(edges), grown, strict=True)))
    assert apart == {2} == {bound_of(EDGE, 4).noise.l1}


@pytest.mark.parametrize("case", CASES, ids=names)
def test_draws_follow_the_law_at_every_rank(case: Case) -> None:
    counts = tuple([0, case.most, 1, 0][: case.bound.question.bins])
    assert contract.check_draws(case, counts, 2_000, "exact", seed=11) > contract.FALSE_ALARM


def test_a_law_two_percent_off_and_an_unsorted_draw_are_rejected() -> None:
    """Power: two million noises at a rate 2 % off shift chi-square by some 800, and p < 1e-30."""
    bound = bound_of(ROW, 2_000_000, "1/2")
    values = noisy(bound.draw(DenseCounts(np.zeros(2_000_000, dtype=np.int64)), TeachingBits(3), mode="exact"))
    right = Fraction(1, 2)
    assert contract.p_value(values, geometric_oracle(exponential(right), None, None)(0)) > contract.FALSE_ALARM
    wrong = right * Fraction(98, 100)
    assert contract.p_value(values, geometric_oracle(exponential(wrong), None, None)(0)) < 1e-30
    case = CASES[0]
    unsorted = Case("unsorted", case.bound, case.most, case.oracle, lambda counts: counts, noisy)
    assert contract.check_draws(unsorted, (0, 4, 1), 2_000, "exact", seed=11) < 1e-30


# ---------------------------------------------------------------- sorting by a fixed network


@pytest.mark.parametrize("size", range(1, 13))
def test_the_network_sorts_every_list_of_zeros_and_ones_and_so_every_list(size: int) -> None:
    """A network that sorts all lists of 0 and 1 sorts all lists (Knuth, volume 3, 5.3.4)."""
    for bits in itertools.product((0, 1), repeat=size):
        assert ascending(np.array(bits)).tolist() == sorted(bits)


@pytest.mark.parametrize("size", [TALL - 1, TALL, TALL + 1, 2 * TALL + 1, 5 * TALL, 70_000])
def test_the_network_sorts_long_lists_too(size: int) -> None:
    chance = np.random.default_rng(size)
    for top in (1, 5, 10**15):
        counts = chance.integers(0, top, size, endpoint=True)
        kept = counts.copy()
        assert (ascending(counts) == np.sort(counts)).all() and (counts == kept).all()
    ones = np.arange(size) % 3 == 0
    assert (ascending(ones.astype(np.int64)[::-1]) == np.sort(ones)).all()


# ---------------------------------------------------------------- the answer and its readers


def reading_of(bound: SortedBound) -> Reading:
    return Reading(bound.question, bound.unit, bound.error, bound.clamp)


READING = reading_of(bound_of(ROW, 4))


def test_figure_2_is_fitted_as_it_is_printed() -> None:
    """Sorted noisy counts 1, 2, 0, 11 are fitted as 1, 1, 1, 11; here the largest comes first."""
    answer = Ranks(np.array([11, 0, 2, 1]))
    assert answer.read(READING) == [11, 1, 1, 1] and answer.read(READING, reader="noisy").tolist() == [11, 0, 2, 1]
    assert answer.read(READING, [answer.point(READING, 1), answer.point(READING, "4")]) == [11, 1]


def test_every_reader_is_the_nearest_sequence_of_its_kind() -> None:
    """Against every descending sequence of a grid, of halves for what may be a fraction: for all pairs of -3..3."""
    grid = {step: [Fraction(part, step) for part in range(-3 * step, 3 * step + 1)] for step in (1, 2)}
    descending = {
        step: [one for one in itertools.product(values, repeat=2) if one[0] >= one[1]] for step, values in grid.items()
    }

    def off(one: Any, drawn: tuple[int, ...]) -> Fraction:
        return sum(((Fraction(a) - b) ** 2 for a, b in zip(one, drawn, strict=True)), Fraction(0))

    for drawn in itertools.product(range(-3, 4), repeat=2):
        answer = Ranks(np.array(drawn))
        fitted = min(descending[2], key=lambda one: off(one, drawn))
        raised = min((one for one in descending[2] if one[1] >= 0), key=lambda one: off(one, drawn))
        assert answer.read(READING) == list(fitted) and answer.read(READING, reader="nonnegative") == list(raised)
        whole = answer.read(READING, reader="integer")
        best = min(off(one, drawn) for one in descending[1] if one[1] >= 0)
        assert whole.dtype == np.int64 and whole[0] >= whole[1] >= 0 and off(whole.tolist(), drawn) == best
        assert answer.read(READING, reader="rounded").tolist() == sorted((max(0, one) for one in drawn), reverse=True)


@pytest.mark.parametrize("reader", Ranks.readers)
def test_some_ranks_read_as_all_of_them_do(reader: str) -> None:
    answer = Ranks(np.random.default_rng(5).integers(-9, 30, 200))
    every = list(answer.read(READING, reader=reader))
    assert list(answer.read(READING, slice(3, 9), reader)) == every[3:9]
    assert list(answer.read(READING, [7, 0, 199], reader)) == [every[7], every[0], every[199]]
    with pytest.raises(ParameterError, match="reader must be "):
        answer.read(READING, reader="best")


def test_sums_beyond_what_floats_hold_are_fitted_exactly() -> None:
    big = 2**61
    answer = Ranks(np.array([big, big + 1, -big, -big + 1]))
    assert answer.read(READING) == [Fraction(2 * big + 1, 2)] * 2 + [Fraction(1 - 2 * big, 2)] * 2
    assert answer.read(READING, reader="integer").tolist() == [big + 1, big + 1, 0, 0]


def test_the_total_is_kept_by_the_fit_and_the_fit_is_never_further_off() -> None:
    for drawn in itertools.product(range(-2, 3), repeat=4):
        answer, truth = Ranks(np.array(drawn)), (1, 0, 0, -1)
        fitted = answer.read(READING)
        assert sum(fitted) == sum(drawn)
        noise = [abs(a - b) for a, b in zip(drawn, truth, strict=True)]
        errors = [abs(a - b) for a, b in zip(fitted, truth, strict=True)]
        rounded = [abs(a - max(b, 0)) for a, b in zip(answer.read(READING, reader="rounded"), truth, strict=True)]
        assert max(errors) <= max(noise) and sum(e**2 for e in errors) <= sum(e**2 for e in noise)
        assert max(rounded) <= max(noise)


# ---------------------------------------------------------------- intervals


def runs(size: int, epsilon: int, far: int) -> tuple[np.ndarray, np.ndarray]:
    """Every vector of noises up to `far`, with its chance in floats; what lies beyond is left out."""
    rate = math.exp(-epsilon)
    vectors = np.array(list(itertools.product(range(-far, far + 1), repeat=size)))
    chances = ((1 - rate) / (1 + rate) * rate ** np.abs(vectors)).prod(axis=1)
    return vectors, chances


TRUTHS = [(0, 0, 0), (1, 0, 0), (2, 2, 0), (3, 2, 1), (40, 20, 0), (7, 7, 7)]
BETAS = [Fraction(1, 3), Fraction(1, 20)]
AMONG: list[Among] = ["one", "all"]


def failures(bound: SortedBound, truth: tuple[int, ...], beta: Fraction, among: Among, reader: str) -> list[float]:
    """How often the intervals miss: each rank's for one, all of them together as the first entry for all."""
    vectors, chances = NOISES
    reading, missed = reading_of(bound), []
    for vector in vectors:
        ends = Ranks(np.array(truth) + vector).intervals(reading, beta, among, reader=reader)
        assert ends is not None
        missed.append((np.asarray(ends.low) > truth) | (np.asarray(ends.high) < truth))
    wrong = np.array(missed)
    if among == "all":
        wrong = wrong.any(axis=1, keepdims=True)
    return [float(chances[column].sum()) for column in wrong.T]


NOISES, BEYOND = runs(3, 3, 3), Fraction(4, 10**5)
"""At epsilon 3 less than this lies beyond, so a chance that is summed is that much too small at most."""
FARTHER = runs(3, 3, 5)
"""Less than 2e-7 lies beyond, for what squares."""


@pytest.mark.parametrize("truth", TRUTHS, ids=str)
@pytest.mark.parametrize("reader", ["fitted", "rounded"])
def test_intervals_hold_as_often_as_they_say_by_enumeration(truth: tuple[int, ...], reader: str) -> None:
    bound = bound_of(ROW, 3, 3)
    for beta, among in itertools.product(BETAS, AMONG):
        assert max(failures(bound, truth, beta, among, reader)) <= beta - BEYOND


def test_the_intervals_of_what_was_drawn_are_exact_and_one_count_less_fails() -> None:
    """From the noise alone, far from the cut at 0: the law is summed to within 1e-9."""
    bound = bound_of(ROW, 3, 3)
    reading, rate = reading_of(bound), math.exp(-3)
    answer = Ranks(np.array([500, 300, 100]))

    def beyond(half: int) -> float:
        return 2 * rate ** (half + 1) / (1 + rate)

    for beta, (among, ranks) in itertools.product(BETAS, (("one", 1), ("all", 3))):
        ends = answer.intervals(reading, beta, among, reader="noisy")
        assert ends is not None and ends.how == "exact"
        half = {*(np.asarray(ends.high) - answer.noisy).tolist(), *(answer.noisy - np.asarray(ends.low)).tolist()}
        assert len(half) == 1
        a = half.pop()
        assert 1 - (1 - beyond(a)) ** ranks <= beta < 1 - (1 - beyond(a - 1)) ** ranks


@pytest.mark.parametrize("truth", [(0, 0, 0), (7, 7, 7)], ids=str)
def test_ends_from_windows_that_are_half_as_wide_do_not_hold(truth: tuple[int, ...]) -> None:
    """What the enumeration would say of a mistake: every quantile halved."""
    vectors, chances = NOISES
    bound = bound_of(ROW, 3, 3)
    reading, wrong = reading_of(bound), 0.0
    for vector, chance in zip(vectors, chances, strict=True):
        answer = Ranks(np.array(truth) + vector)
        ends = answer.intervals(reading, Fraction(1, 20), "all")
        assert ends is not None
        low, high = np.asarray(ends.low), np.asarray(ends.high)
        middle, half = (low + high) / 2, (high - low) / 4
        wrong += chance if ((middle - half > truth) | (middle + half < truth)).any() else 0.0
    assert wrong > 0.05


RUNS = 30_000
SIZE = 24
STEPS = {
    "all equal": np.zeros(SIZE, dtype=np.int64) + 50,
    "half equal, then a ramp": np.array([*range(400, 280, -10), *[280] * 12]),
}


@cache
def noise() -> np.ndarray:
    """So many runs of pure noise, at epsilon 1/20, drawn as a release draws them."""
    bound = bound_of(ROW, SIZE * RUNS, "1/20")
    zeros = DenseCounts(np.zeros(SIZE * RUNS, dtype=np.int64))
    return noisy(bound.draw(zeros, TeachingBits(29), mode="exact")).reshape(RUNS, SIZE)


FAR_FROM_0 = 10_000
LEAST = 0.9 - 6.3 * math.sqrt(0.1 * 0.9 / RUNS)
"""Below it lies the share of runs of a right band with chance 4e-10 at most."""


@pytest.mark.parametrize("truth", STEPS)
def test_the_band_from_the_answer_holds_in_thirty_thousand_runs(truth: str) -> None:
    reading, counts, held = reading_of(bound_of(ROW, SIZE, "1/20")), STEPS[truth] + FAR_FROM_0, 0
    for one in noise():
        ends = Ranks(counts + one).intervals(reading, Fraction(1, 10), "all")
        assert ends is not None
        held += bool(((ends.low <= counts) & (counts <= ends.high)).all())  # type: ignore[operator]
    assert held / RUNS > LEAST


def test_the_exact_bands_hold_in_thirty_thousand_runs_and_ten_percent_less_does_not() -> None:
    """Power: at 9/10 of its width a band of one rank holds 0.8745 of the time and one of all 24 holds 0.8396 of it,
    which is more than 7 deviations below what is asked: 0.99999 and more."""
    reading, sizes = reading_of(bound_of(ROW, SIZE, "1/20")), np.abs(noise())
    answer = Ranks(STEPS["all equal"] + FAR_FROM_0)
    for among, worst in (("one", sizes[:, 3]), ("all", sizes.max(axis=1))):
        ends = answer.intervals(reading, Fraction(1, 10), among, reader="noisy")  # type: ignore[arg-type]
        assert ends is not None
        half = (np.asarray(ends.high) - np.asarray(ends.low))[0] / 2
        assert (worst <= half).mean() > LEAST > (worst <= half * 0.9).mean()


QUERIES = {
    "the largest": Query.of(([0], 1)),
    "the two largest": Query.of((range(2), 1)),
    "the one in the middle": Query.of((range(1, 2), 1)),
    "the two smallest, thrice": Query.of((range(1, 3), 3)),
    "largest and smallest": Query.of(([0, 2], 1)),
    "a difference": Query.of(([0], 1), ([2], -1)),
    "the total": Query.of((range(3), 1)),
}


def misses(
    bound: SortedBound, truth: tuple[int, ...], query: Query, beta: Fraction, reader: str, less: int = 0
) -> float:
    """How often the ends of a sum of ranks, `less` counts narrower, miss the truth."""
    reading, wrong = reading_of(bound), 0.0
    true = sum(weight * truth[point] for points, weight in query.parts for point in points)
    for vector, chance in zip(*NOISES, strict=True):
        answer = Ranks(np.array(truth) + vector)
        below, above = bound.law.linear(query, answer, reading, reader).ends(beta)
        assert below is not None and above is not None
        off = answer.weighted_sum(reading, query, reader) - true
        wrong += float(chance) if off > below.value - less or -off > above.value - less else 0.0
    return wrong


@pytest.mark.parametrize("name", QUERIES)
def test_sums_of_ranks_hold_as_often_as_they_say_by_enumeration(name: str) -> None:
    bound = bound_of(ROW, 3, 3)
    for truth in ((0, 0, 0), (1, 0, 0), (40, 20, 0)):
        for reader in ("fitted", "nonnegative") if name != "the total" else Ranks.readers:
            assert misses(bound, truth, QUERIES[name], Fraction(1, 10), reader) <= 0.1 - BEYOND


@pytest.mark.parametrize("truth", [(0, 0, 0), (7, 7, 7), (40, 20, 0)], ids=str)
def test_a_sum_of_two_ranks_that_is_said_one_count_closer_does_not_hold(truth: tuple[int, ...]) -> None:
    """What the enumeration says of the least mistake: of equal counts, at the cut at 0, and of others."""
    bound, query = bound_of(ROW, 3, 3), QUERIES["the two largest"]
    assert misses(bound, truth, query, Fraction(1, 10), "fitted") <= 0.02 - BEYOND
    assert misses(bound, truth, query, Fraction(1, 10), "fitted", less=1) > 0.1


@pytest.mark.parametrize("truth", [(0, 0, 0), (7, 7, 7), (40, 20, 0)], ids=str)
def test_all_ranges_of_ranks_hold_at_once_by_enumeration(truth: tuple[int, ...]) -> None:
    bound, beta = bound_of(ROW, 3, 3), Fraction(1, 3)
    reading, wrong = reading_of(bound), [0.0, 0.0]
    ranges = [range(first, last) for first in range(3) for last in range(first + 1, 4)]
    for vector, chance in zip(*NOISES, strict=True):
        answer, missed = Ranks(np.array(truth) + vector), [False, False]
        for points in ranges:
            query = Query.of((points, 1))
            error = bound.law.linear(query, answer, reading, "nonnegative")
            found = error.every("ranges", 3, beta)
            assert found is not None
            off = answer.weighted_sum(reading, query, "nonnegative") - sum(truth[at] for at in points)
            for less in range(2):
                below, above = found[0]
                assert below is not None and above is not None
                missed[less] |= off > below.value - less or -off > above.value - less
        for less in range(2):
            wrong[less] += float(chance) * missed[less]
    assert wrong[0] <= 1 / 3 - BEYOND and (truth == (40, 20, 0) or wrong[1] > 1 / 3)


@pytest.mark.parametrize("among", AMONG)
def test_a_sum_of_ranks_is_never_wider_than_the_answers_own_band_at_half_the_level(among: Among) -> None:
    """And where the counts are equal it is narrower than what is known before an answer is there."""
    bound = bound_of(ROW, 1_000)
    reading, beta, query = reading_of(bound), Fraction(1, 10), Query.of((range(100), 1))
    answer = bound.draw(DenseCounts(np.full(1_000, 30)), TeachingBits(1), mode="exact")
    band = answer.intervals(reading, beta / 2, "all", range(100))
    assert band is not None
    error = bound.law.linear(query, answer, reading)
    before = bound.law.linear(query, None, reading)
    widths = []
    for one in (error, before):
        found = one.every("ranges", 1_000, beta) if among == "all" else (one.ends(beta), "")
        assert found is not None and found[0][0] is not None and found[0][1] is not None
        widths.append(found[0][0].value + found[0][1].value)
    assert widths[0] <= int(np.asarray(band.high).sum() - np.asarray(band.low).sum())
    assert widths[0] < Fraction(4, 5) * widths[1]


def test_bounds_that_have_nothing_in_common_give_what_spans_both_and_say_so() -> None:
    """Noise far beyond what a level allows for: a count of 0 drawn as -1,000,000 beside others."""
    bound = bound_of(ROW, 3, 3)
    answer, query = Ranks(np.array([0, 0, -1_000_000])), Query.of(([0, 2], 1))
    error = bound.law.linear(query, answer, reading_of(bound))
    below, above = error.ends(Fraction(1, 10))
    assert below is not None and above is not None and "nothing in common" in error.remark(Fraction(1, 10))
    value = answer.weighted_sum(reading_of(bound), query)
    assert value - below.value <= value <= 0 <= value + above.value
    calm = bound.law.linear(query, Ranks(np.array([9, 5, 2])), reading_of(bound))
    assert calm.remark(Fraction(1, 10)) == ""


def test_the_total_is_unbiased_with_an_exact_law_fitted_or_not() -> None:
    bound = bound_of(ROW, 3, 3)
    for reader in ("fitted", "noisy"):
        error = bound.law.linear(QUERIES["the total"], None, reading_of(bound), reader)
        assert error.exact and error.bias == UNBIASED
        assert misses(bound, (1, 0, 0), QUERIES["the total"], Fraction(1, 10), reader) <= 0.1 - BEYOND
        assert misses(bound, (1, 0, 0), QUERIES["the total"], Fraction(1, 10), reader, less=1) > 0.1
    fitted = bound.law.linear(QUERIES["the two largest"], None, reading_of(bound))
    assert not fitted.exact and fitted.bias.words.startswith("biased")
    assert bound.law.linear(QUERIES["the two largest"], None, reading_of(bound), "noisy").exact


def test_sums_from_one_end_of_the_fit_are_no_further_off_than_sums_of_noises() -> None:
    """On every draw: what the bound for ranks in a row rests on. For long runs it is the shorter one by far."""
    for vector in FARTHER[0][::7]:
        for truth in ((0, 0, 0), (2, 1, 1), (9, 3, 0)):
            answer = Ranks(np.array(truth) + vector)
            errors = np.cumsum([a - b for a, b in zip(answer.read(READING), truth, strict=True)])
            assert max(abs(errors)) <= max(abs(np.cumsum(vector)))
            errors = np.cumsum([a - b for a, b in zip(answer.read(READING)[::-1], truth[::-1], strict=True)])
            assert max(abs(errors)) <= max(abs(np.cumsum(vector[::-1])))
    law = bound_of(ROW, 1_000).law
    run = law.linear(Query.of((range(300), 1)), None, READING).ends(Fraction(1, 20))[0]
    apart = law.linear(Query.of((range(0, 600, 2), 1)), None, READING).ends(Fraction(1, 20))[0]
    assert run is not None and apart is not None and 10 * run.value < apart.value


def test_a_sum_read_from_blocks_is_the_sum_of_its_values() -> None:
    answer = Ranks(np.random.default_rng(3).integers(-9, 30, 40))
    for reader in Ranks.readers:
        values = [Fraction(value) for value in listed(answer.read(READING, reader=reader))]
        for points in (range(40), range(3, 9), [7], [2, 30, 4]):
            expected = sum((values[point] for point in points), Fraction(0))
            assert answer.weighted_sum(READING, Query.of((points, -2)), reader) == -2 * expected


def test_ends_ascend_start_at_0_and_are_whole() -> None:
    answer = Ranks(np.random.default_rng(7).integers(-5, 8, 300))
    ends = answer.intervals(reading_of(bound_of(ROW, 300)), Fraction(1, 20), "all")
    assert ends is not None and ends.how == "bound"
    low, high = np.asarray(ends.low), np.asarray(ends.high)
    assert low.dtype == high.dtype == np.int64 and low.min() >= 0
    assert (np.diff(low) <= 0).all() and (np.diff(high) <= 0).all()


def test_the_band_from_the_answer_is_much_narrower_where_counts_are_equal() -> None:
    bound = bound_of(ROW, 1_000)
    answer = bound.draw(DenseCounts(np.full(1_000, 30)), TeachingBits(1), mode="exact")
    fitted = answer.intervals(reading_of(bound), Fraction(1, 20), "all")
    drawn = answer.intervals(reading_of(bound), Fraction(1, 20), "all", reader="noisy")
    assert fitted is not None and drawn is not None
    widths = [np.mean(np.asarray(one.high) - np.asarray(one.low)) for one in (fitted, drawn)]
    assert 4 * widths[0] < widths[1]


def test_ends_that_cross_are_said_and_not_repaired() -> None:
    answer, reading = Ranks(np.array([0, 0, 900, 900])), reading_of(bound_of(ROW, 4))
    for among in AMONG:
        ends = answer.intervals(reading, Fraction(1, 20), among)
        assert ends is not None and ends.crossed and ("cross" in ends.rule) == (among == "all")
    view = answer.view(reading, [Fraction(1, 20)])
    assert view.header["bands"]["0.05"]["all_crossed"] is True
    calm = Ranks(np.array([9, 4, 4, 0])).intervals(reading, Fraction(1, 20), "all")
    assert calm is not None and not calm.crossed and "cross" not in calm.rule


def test_a_public_number_of_rows_cuts_what_a_rank_can_have() -> None:
    """So many ranks share the rows: by enumeration of all counts of four rows in three bins."""
    most = [0, 0, 0]
    for counts in itertools.product(range(5), repeat=3):
        if sum(counts) <= 4:
            most = [max(a, b) for a, b in zip(most, sorted(counts, reverse=True), strict=True)]
    for reader in Ranks.readers:
        ends = Ranks(np.array([90, 80, 70])).intervals(reading_of(bound_of(REPLACE, 3)), Fraction(1, 20), reader=reader)
        assert ends is not None and list(ends.high) == most == [4, 2, 1]
        assert ends.high_cut is not None and ends.high_cut.all()


# ---------------------------------------------------------------- planning


def test_the_typical_error_that_is_supposed_bounds_the_true_one_and_is_it_where_all_are_equal() -> None:
    """The mean squared error by enumeration at epsilon 3."""
    vectors, chances = FARTHER
    error = bound_of(ROW, 3, 3).error
    for truth in [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 0), (3, 1, 1), (4, 2, 0), (40, 20, 0)]:
        squares = 0.0
        for vector, chance in zip(vectors, chances, strict=True):
            fitted = Ranks(np.array(truth) + vector).read(READING)
            squares += chance * float(sum((a - b) ** 2 for a, b in zip(fitted, truth, strict=True)))
        supposed = error.typical(len(set(truth)))
        root = math.sqrt(squares / 3)
        assert supposed.how == "bound" and root <= supposed.value and "supposing" in supposed.rule
        if len(set(truth)) == 1 or truth == (40, 20, 0):
            assert abs(root - float(supposed.value)) < 0.01 * root


def test_a_supposition_beyond_a_public_number_of_rows_is_the_largest_possible() -> None:
    error = bound_of(REPLACE, 3).error  # four rows in three bins: 0, 1 and 2 add up to 3
    assert error.most_distinct == 3
    few = bound_of(Unit("row", relation="replace-one", n=2), 3).error
    assert few.most_distinct == 2 and few.typical(3) == few.typical(2)
    with pytest.raises(DpvizError):
        error.typical(0)


def test_long_runs_have_a_bound_that_is_hardly_larger() -> None:
    short, long = (bound_of(ROW, size).error.typical(1).value for size in (1_000, 1_001))
    assert abs(short / long - 1) < Fraction(1, 200)


def test_a_plan_speaks_of_ranks_and_says_what_it_supposes() -> None:
    bound = bound_of(ROW, 500, "1/2", 20)
    assert [measure.label for measure in bound.measures] == [
        "Any one rank", "All 20 ranks at once", "The total of all ranks",
    ]  # fmt: skip
    assert "supposing 10 distinct counts" in bound.notes[1][0] and bound.notes[-1][0].endswith(
        "whatever the counts are"
    )
    assert bound.title == "Rows by x, the 20 largest, sorted"
    assert bound.space.bits == 20 * 64 and "20 largest" in bound.verb


# ---------------------------------------------------------------- a whole release


FRAME = pd.DataFrame({"x": np.repeat([1, 2, 3, 5], [30, 4, 4, 9])})
BINS = dv.Domain.integers(1, 6, column="x")


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    return dv.Session(FRAME, dv.Unit("row"), dv.Budget(epsilon=4), tmp_path / "sorted.ledger")


def test_a_release_is_stored_saved_read_back_and_shown(session: dv.Session, tmp_path: Path) -> None:
    release = session.release(BINS, dv.Sorted("1/2"))
    assert session.release(BINS, dv.Sorted("0.5")) == release and len(session.releases) == 1
    assert dv.load(release.save(tmp_path / "ranks.json"), ledger=session) == release
    frame = release.to_frame()
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5, 6]
    assert list(frame) == ["rank", "value", "low", "high", "low_all", "high_all"]
    assert list(release.labels) == ["1", "2", "3", "4", "5", "6"] and release[1] == release.values[0]
    assert "says nothing about which bin" in release._repr_html_() and "sorted" in release.title
    assert release.chart() is not None and release.to_csv() is not None
    raw = release.to_frame(reader="noisy")
    assert raw["value"].tolist() == noisy(release.answer).tolist()
    ends = release.intervals(among="all", reader="noisy")
    assert ends is not None and raw["low_all"].tolist() == list(ends.low)


def test_a_release_is_asked_for_sums_of_ranks(session: dv.Session) -> None:
    release = session.release(BINS, dv.Sorted(1))
    total = release.sum()
    assert total.value == sum(noisy(release.answer).tolist()) and total.how == "exact" and total.bias == UNBIASED
    top = release.range(1, 2)
    assert top.value == release[1] + release[2] and top.how == "bound" and top.low <= top.value <= top.high
    assert release.range(1, 2, reader="noisy").how == "exact" and "rank 1" in top.what
    assert release.range(1, 2, among="all").high >= top.high
    assert release.share([1]).bias.words.startswith("biased") and release.compare(1, 6).chance is not None
    for wrong in (
        lambda: release.range(3, 1),
        lambda: release.sum([0]),
        lambda: release.sum([]),
        lambda: release.sum([1, 1]),
    ):
        with pytest.raises(DpvizError):
            wrong()


@pytest.mark.parametrize("label", [0, 7, "x", None, 2.5, True, [1]])
def test_what_is_no_rank_is_refused(session: dv.Session, label: Any) -> None:
    release = session.release(BINS, dv.Sorted(1))
    with pytest.raises(DpvizError):
        release[label]


@pytest.mark.parametrize(
    ("question", "mechanism", "error"),
    [
        ("x", lambda: dv.Sorted(1), DomainError),
        (dv.Question.sum("x", by=BINS, low=0, high=1, step=1), lambda: dv.Sorted(1), ParameterError),
        (BINS, lambda: dv.Sorted(1, largest=7), ParameterError),
        (BINS, lambda: dv.Sorted(1, largest=0), ParameterError),
        (BINS, lambda: dv.Sorted(1, base="tight"), ParameterError),
        (BINS, lambda: dv.Sorted(1, base="paper"), ParameterError),
        (BINS, lambda: dv.Sorted(0), DpvizError),
        (BINS, lambda: dv.Sorted(float("nan")), DpvizError),
        (dv.Domain.integers(1, 10**8, column="x"), lambda: dv.Sorted(1), ParameterError),
    ],
)
def test_bad_input_is_refused_before_anything_is_charged(
    session: dv.Session, question: Any, mechanism: Any, error: type[DpvizError]
) -> None:
    before = session.remaining
    with pytest.raises(error):
        session.release(question, mechanism())
    assert session.remaining == before and not session.ledger.entries()


def test_keys_are_refused_with_the_reason(session: dv.Session) -> None:
    with pytest.raises(DomainError, match="how many values occur is private"):
        session.plan("x", dv.Sorted(1))


def test_a_domain_taken_from_the_data_is_refused() -> None:
    for taken in (FRAME["x"], FRAME["x"].unique(), pd.Categorical(FRAME["x"])):
        with pytest.raises(DpvizError):
            dv.Domain.categories(taken, column="x")


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"noisy": np.zeros(3)},
        {"noisy": np.zeros((2, 2), dtype=np.int64)},
        {"noisy": np.zeros(3, dtype=np.int64), "more": np.zeros(1)},
    ],
)
def test_a_stored_answer_of_another_form_is_refused(arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(ReleaseFormat):
        Ranks.unpack(Packed({}, arrays))


def test_an_answer_with_another_number_of_ranks_is_not_the_one_that_was_promised() -> None:
    bound = bound_of(ROW, 6, 1, 2)
    assert bound.accepts(Ranks(np.array([1, 2])))
    for size in (1, 3, 6, 7):
        assert not bound.accepts(Ranks(np.zeros(size, dtype=np.int64)))


def test_parameters_are_texts_that_make_the_same_mechanism_again() -> None:
    for made in (dv.Sorted("1/3"), dv.Sorted(2, largest=10), dv.Sorted(1, base="exp")):
        assert dv.Sorted.from_parameters(made.parameters()) == made and eval(made.python, {"dv": dv}) == made
