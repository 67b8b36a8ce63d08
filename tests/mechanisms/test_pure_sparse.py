"""PureSparse: its whole law against enumeration, its price over all neighbours, its errors, its silence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpviz as dv
from dpviz.errors import ParameterError, ReleaseFailed
from dpviz.exact import exp_bounds
from dpviz.mechanisms.pure_sparse import PureSparseBound
from dpviz.model.answers import SparseTable
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts, StreamedCounts
from dpviz.noise import sparse_strict
from dpviz.noise.bits import TeachingBits
from dpviz.noise.order import Heavy
from dpviz.privacy import Unit
from tests.mechanisms.contract import FALSE_ALARM, moves
from tests.mechanisms.streams import Passing, streamed
from tests.noise.statistics import p_value, power

ROW = Unit("row")
HEAVY_USER = Unit("user", max_bins=1, max_per_bin=2)
Shown = tuple[tuple[int, int], ...]
BETAS = [Fraction(1, 2), Fraction(1, 5), Fraction(1, 20), Fraction(1, 100)]


def swap(n: int) -> Unit:
    return Unit("row", relation="replace-one", n=n)


def bound_of(size: int, unit: Unit, mechanism: dv.PureSparse) -> PureSparseBound:
    return mechanism.bind(Question.of(dv.Domain.integers(0, size - 1, column="x")), unit)


def statistic(counts: dict[int, int]) -> SparseCounts:
    labels = sorted(counts)
    wide = any(label >= 2**64 for label in labels)
    return SparseCounts(
        np.array(labels, dtype=object if wide else np.uint64), np.array([counts[x] for x in labels], dtype=np.int64)
    )


# ---------------------------------------------------------------- the whole law, from the definition


@cache
def one(ratio: Fraction, count: int, n: int) -> tuple[tuple[int, Fraction], ...]:
    """clip(count + Z, 0, n) with Pr[Z = z] proportional to ratio ** |z|."""
    far = 40
    law: dict[int, Fraction] = dict.fromkeys(range(n + 1), Fraction(0))
    for z in range(-far, far + 1):
        law[min(max(count + z, 0), n)] += (1 - ratio) / (1 + ratio) * ratio ** abs(z)
    law[0] += ratio ** (far + 1) / (1 + ratio)
    law[n] += ratio ** (far + 1) / (1 + ratio)
    return tuple(law.items())


@cache
def law_of(counts: tuple[int, ...], n: int, ratio: Fraction, strictly: bool = True) -> dict[Shown, Fraction]:
    """Noise on every bin, then those above the (n + 1)-st largest; a count above n is clamped first."""
    found: dict[Shown, Fraction] = {}
    for vector in itertools.product(*(one(ratio, min(count, n), n) for count in counts)):
        noisy, chance = [value for value, _ in vector], Fraction(1)
        for _, part in vector:
            chance *= part
        cut = sorted(noisy, reverse=True)[n]
        shown = tuple((x, v) for x, v in enumerate(noisy) if v > cut or (not strictly and v == cut > 0))
        found[shown] = found.get(shown, Fraction(0)) + chance
    return found


def vectors(size: int, n: int, unit: Unit) -> list[tuple[int, ...]]:
    every = itertools.product(range(n + 2), repeat=size)
    return [counts for counts in every if (sum(counts) == n if unit.n else sum(counts) <= n + 1)]


CASES = {
    "add or remove": (bound_of(3, ROW, dv.PureSparse("0.5", base="tight", cap=1)), 3),
    "replace": (bound_of(5, swap(2), dv.PureSparse("1", base="tight")), 5),
    "replace, the paper's base": (bound_of(5, swap(2), dv.PureSparse("1/2", base="paper")), 5),
    "a user twice in one bin": (bound_of(5, HEAVY_USER, dv.PureSparse("2", base="tight", cap=2)), 5),
}


def neighbours(bound: PureSparseBound, size: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    known = set(vectors(size, bound.n, bound.unit))
    for before, move in itertools.product(known, set(moves(bound.unit, size))):
        after = tuple(count + step for count, step in zip(before, move, strict=True))
        if after in known and after != before:
            yield before, after


def worst(bound: PureSparseBound, size: int, strictly: bool = True) -> Fraction:
    ratio, n = bound.decay.ratio, bound.n
    assert ratio is not None
    found = Fraction(1)
    for before, after in neighbours(bound, size):
        first, second = law_of(before, n, ratio, strictly), law_of(after, n, ratio, strictly)
        assert first.keys() == second.keys()
        found = max(found, *(first[shown] / second[shown] for shown in first))
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_worst_ratio_over_all_neighbours_is_exactly_the_price(name: str) -> None:
    bound, size = CASES[name]
    part = bound.noise.finite
    assert part is not None
    odds = Fraction(part.p, part.q) ** bound.noise.l1
    assert worst(bound, size) == odds
    assert exp_bounds(bound.price.epsilon, 256)[1] >= odds
    assert exp_bounds(bound.price.epsilon - Fraction(1, 10**6), 256)[0] < odds, "the charge could be less"
    assert bound.price.epsilon <= bound.mechanism.epsilon and bound.price.loss.delta == 0


def test_noise_that_is_a_little_too_narrow_costs_more_than_the_price() -> None:
    bound, _ = CASES["replace"]
    part = bound.noise.finite
    assert part is not None
    narrow = Fraction(part.q, part.p) * Fraction(999, 1000)
    pair = law_of((2, 0, 0, 0, 0), 2, narrow), law_of((1, 1, 0, 0, 0), 2, narrow)
    assert max(pair[0][shown] / pair[1][shown] for shown in pair[0]) > Fraction(part.p, part.q) ** 2


def test_the_price_of_exp_is_what_was_typed_in_every_unit() -> None:
    for unit in (ROW, swap(6), HEAVY_USER, Unit("user", relation="replace-one", max_bins=2)):
        bound = bound_of(50, unit, dv.PureSparse("0.123", cap=6))
        assert bound.price.epsilon == Fraction(123, 1000) and bound.price.loss.delta == 0
        assert bound.decay.exponent == Fraction(123, 1000) / unit.l1(50)


# ---------------------------------------------------------------- draws


def seen_in(
    bound: PureSparseBound, counts: dict[int, int], draws: int, mode: str, seed: int, passing: bool = False
) -> dict[Shown, int]:
    private = streamed(counts) if passing else statistic(counts)
    bits, seen = TeachingBits(seed), dict[Shown, int]()
    for _ in range(draws):
        answer = bound.draw(private, bits, mode=mode)  # type: ignore[arg-type]
        shown = tuple(zip(answer.labels, answer.values.tolist(), strict=True))
        seen[shown] = seen.get(shown, 0) + 1  # type: ignore[index, arg-type]
    return seen


def arrays(seen: dict[Shown, int], *laws: dict[Shown, Fraction]) -> list[np.ndarray]:
    """Outcomes in the order of the last law's chances, so that the rare ones are pooled."""
    outcomes = sorted({*seen, *laws[-1]}, key=lambda shown: (laws[-1].get(shown, 0), shown))
    rows = [[float(law.get(shown, 0)) or 1e-12 for shown in outcomes] for law in laws]
    return [np.array([seen.get(shown, 0) for shown in outcomes]), *map(np.array, rows)]


# At 4,000 draws each twin below is rejected but for a chance below 1e-9, and at 2,000, too.
DRAWN = {
    "two occupied bins": ({1: 2, 3: 1}, 4_000),
    "no occupied bin": ({}, 3_000),
    "more occupied bins than n, one above the cap": ({0: 1, 1: 10**9, 2: 1, 4: 1}, 3_000),
}


@pytest.mark.parametrize("passing", [False, True], ids=["all at once", "in batches"])
@pytest.mark.parametrize("name", DRAWN)
def test_draws_follow_the_whole_law(name: str, passing: bool) -> None:
    bound = bound_of(5, ROW, dv.PureSparse("0.7", base="tight", cap=2))
    counts, draws = DRAWN[name]
    law = law_of(tuple(counts.get(x, 0) for x in range(5)), 2, bound.decay.ratio)  # type: ignore[arg-type]
    seen = seen_in(bound, counts, draws, "exact", 51, passing)
    assert p_value(*arrays(seen, law)) > FALSE_ALARM
    if name == "two occupied bins":
        with_ties = law_of((0, 2, 0, 1, 0), 2, bound.decay.ratio, False)  # type: ignore[arg-type]
        one_more = law_of((0, 2, 0, 2, 0), 2, bound.decay.ratio)  # type: ignore[arg-type]
        for twin in (with_ties, one_more):
            table, right, wrong = arrays(seen, law, twin)
            assert power(draws, right, wrong) > 0.999 and p_value(table, wrong) < FALSE_ALARM


@pytest.mark.parametrize("level", [2, 3])
def test_draws_of_bins_that_had_to_come_again_follow_the_whole_law(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a level that few bins reach: many draws take a second pass, and the law is the same."""
    bound = bound_of(5, ROW, dv.PureSparse("0.7", base="tight", cap=2))
    counts, draws = DRAWN["two occupied bins"]
    law = law_of((0, 2, 0, 1, 0), 2, bound.decay.ratio)  # type: ignore[arg-type]
    monkeypatch.setattr(Heavy, "_start", lambda self: min(2, self.top))
    monkeypatch.setattr(Heavy, "crowded", level == 3)
    passing, bits, seen = Passing(counts, [[3], [1]]), TeachingBits(53), dict[Shown, int]()
    for _ in range(draws):
        answer = bound.draw(StreamedCounts(passing), bits, mode="exact")
        shown = tuple(zip(answer.labels, answer.values.tolist(), strict=True))
        seen[shown] = seen.get(shown, 0) + 1  # type: ignore[index, arg-type]
    assert passing.asked > 1.2 * draws
    assert p_value(*arrays(seen, law)) > FALSE_ALARM
    one_more = law_of((0, 2, 0, 2, 0), 2, bound.decay.ratio)  # type: ignore[arg-type]
    table, right, wrong = arrays(seen, law, one_more)
    assert power(draws, right, wrong) > 0.999 and p_value(table, wrong) < FALSE_ALARM


def test_the_bins_are_asked_for_once() -> None:
    """A second pass has a chance below 1e-13."""
    bound, passing = bound_of(2**64, ROW, dv.PureSparse(1, cap=200)), Passing({5: 90, 2**63: 80}, [[5], [2**63]])
    for seed in range(20):
        answer = bound.draw(StreamedCounts(passing), TeachingBits(seed), mode="exact")
        assert {5, 2**63} <= set(answer.labels) and list(answer.labels) == sorted(set(answer.labels))
    assert passing.asked == 20


def test_a_bin_that_would_be_shown_twice_is_refused() -> None:
    """Its count of 190 is far above the cut of 63."""
    bound, counts = bound_of(2**64, ROW, dv.PureSparse(1, cap=200)), {5: 190, 9: 180}
    with pytest.raises(ReleaseFailed, match="something else than labels"):
        bound.draw(StreamedCounts(Passing(counts, [[5, 9], [5]])), TeachingBits(1), mode="exact")


def test_strict_mode_takes_all_bins_at_once() -> None:
    bound = bound_of(3, ROW, dv.PureSparse("0.7", base="tight", cap=1, beta1="1/3"))
    seen = [bound.draw(given, TeachingBits(9), mode="strict") for given in (statistic({1: 1}), streamed({1: 1}))]
    assert seen[0] == seen[1] or (seen[0].labels, seen[0].values.tolist()) == (seen[1].labels, seen[1].values.tolist())


def test_strict_draws_follow_the_law_mixed_with_junk() -> None:
    """At beta1 = 1/3, where the junk can be seen: the law without it is refused."""
    n, size, draws = 1, 3, 4_000
    bound = bound_of(size, ROW, dv.PureSparse("0.7", base="tight", cap=n, beta1="1/3"))
    exact = law_of((0, 1, 0), n, bound.decay.ratio)  # type: ignore[arg-type]
    thrown = {(): Fraction(1, 2), **{((x, 1),): Fraction(1, 6) for x in range(size)}}
    mixed = {shown: Fraction(2, 3) * exact.get(shown, 0) + Fraction(1, 3) * thrown[shown] for shown in thrown}
    seen = seen_in(bound, {1: 1}, draws, "strict", 52)
    assert p_value(*arrays(seen, mixed)) > FALSE_ALARM
    table, right, wrong = arrays(seen, mixed, exact)
    assert power(draws, right, wrong) > 0.999 and p_value(table, wrong) < FALSE_ALARM


# ---------------------------------------------------------------- error


BOUND, SIZE = bound_of(7, ROW, dv.PureSparse("1", base="tight", cap=3)), 7


@cache
def tails() -> dict[tuple[int, ...], tuple[list[Fraction], list[list[Fraction]]]]:
    """For histograms whose counts add up to at most n: Pr[some bin errs by more than a], and for each bin."""
    n, ratio, found = BOUND.n, BOUND.decay.ratio, {}
    assert ratio is not None
    for counts in {tuple(sorted(v, reverse=True)) for v in itertools.product(range(n + 1), repeat=3)}:
        if sum(counts) > n:
            continue
        vector = counts + (0,) * (SIZE - 3)
        every, each = [Fraction(0)] * (n + 1), [[Fraction(0)] * (n + 1) for _ in range(4)]
        for shown, chance in law_of(vector, n, ratio).items():
            values = dict(shown)
            errors = [abs(values.get(x, 0) - count) for x, count in enumerate(vector)]
            for a in range(n + 1):
                every[a] += chance * (max(errors) > a)
                for x in range(4):
                    each[x][a] += chance * (errors[x] > a)
        found[vector] = every, each
    return found


@pytest.mark.parametrize("beta", BETAS, ids=str)
def test_stated_errors_hold_for_every_histogram_that_they_speak_of(beta: Fraction) -> None:
    error = BOUND.error
    one_bin, every = error.one_bin(beta), error.all_bins(beta)
    assert one_bin is not None and every is not None and one_bin.how == every.how == "bound"
    for vector, (together, each) in tails().items():
        assert together[min(int(every.value), BOUND.n)] <= beta
        for x in range(4):
            assert each[x][min(int(one_bin.value), BOUND.n)] <= beta
            own = error.one_bin(beta, count=vector[x])
            assert own is not None and each[x][min(int(own.value), BOUND.n)] <= beta


def test_errors_say_what_they_assume_and_a_count_above_the_cap_pays_for_the_clamp() -> None:
    capped = bound_of(2**40, ROW, dv.PureSparse(1, cap=100)).error
    public = bound_of(2**40, swap(100), dv.PureSparse(1)).error
    for error, given in ((capped, True), (public, False)):
        said = error.one_bin(Fraction(1, 20))
        assert said is not None and ("if at most 100 are counted" in said.rule) is given
    full, beyond = (capped.one_bin(Fraction(1, 20), count=count) for count in (100, 130))
    assert full is not None and beyond is not None and beyond.value == full.value + 30


def test_a_bin_far_above_the_cut_errs_like_dense_and_one_below_it_is_lost() -> None:
    bound = bound_of(2**64, swap(100_000), dv.PureSparse(1))
    dense = dv.Dense(1).bind(Question.of(dv.Domain.integers(0, 9, column="x")), swap(100_000))
    beta = Fraction(1, 20)
    far, near = (bound.error.one_bin(beta, count=count) for count in (50_000, bound.cut // 2))
    alone = dense.error.one_bin(beta)
    assert far is not None and near is not None and far.value == alone.value and near.value == bound.cut // 2
    assert bound.error.chance_shown(50_000) > 0.999999 and bound.error.chance_shown(bound.cut // 2) < 0.01
    assert 0.2 < bound.error.chance_shown(bound.cut + 1) < 0.8
    empty = bound.error.one_bin(beta, count=0)
    assert empty is not None and empty.value == 0, "one of 2**64 empty bins is hardly ever shown"


@pytest.mark.parametrize("epsilon", ["1/100", "1/2", "20"])
def test_the_error_of_a_count_is_the_least_that_its_law_allows(epsilon: str) -> None:
    """Below the cut, around it, far above it, at the clamp: whatever the search starts from."""
    bound = bound_of(2**64, ROW, dv.PureSparse(epsilon, cap=1000))
    law, cut = bound.law.one, bound.cut
    for beta in BETAS:
        for count in {0, 1, cut // 2, *range(max(0, cut - 3), min(1000, cut + 4)), min(1000, 2 * cut), 999, 1000}:
            value = bound.error.one_bin(beta, count=count)
            assert value is not None
            assert value.value == next(a for a in range(1001) if a == 1000 or law.tail(count, a) <= beta)


def test_a_plan_says_where_nothing_can_stand_out() -> None:
    lost, fine = (bound_of(2**64, swap(1000), dv.PureSparse(epsilon)) for epsilon in ("1/100", "1/2"))
    assert lost.cut == lost.n and "no count of at most 1,000 stands out" in lost.verb
    assert fine.cut < fine.n and fine.verb.endswith("shows the largest, at most 1,000.")
    assert not len(lost.draw(statistic({5: 1000}), TeachingBits(1), mode="exact").labels)
    said = lost.error.one_bin(Fraction(1, 20)), lost.error.all_bins(Fraction(1, 20))
    assert [value is not None and value.value for value in said] == [1000, 1000]


def test_the_cut_is_near_the_one_that_is_drawn() -> None:
    bound = bound_of(2**64, ROW, dv.PureSparse(1, cap=1000))
    answer = bound.draw(statistic({}), TeachingBits(1), mode="exact")
    assert abs(int(answer.values.min()) - bound.cut) <= 1 and 300 < len(answer.labels) <= 1000


def test_strict_mode_leaves_room_for_junk_in_what_is_stated() -> None:
    loose, exact = (
        bound_of(2**20, swap(50), dv.PureSparse(1, base=base, beta1=beta1)).error  # type: ignore[arg-type]
        for base, beta1 in (("tight", "1/50"), ("exp", None))
    )
    said = loose.one_bin(Fraction(1, 25)), exact.one_bin(Fraction(1, 25)), loose.shown(Fraction(1, 25))
    assert said[0] is not None and said[1] is not None and said[2] is not None
    assert said[0].value == said[2].value == 50 > said[1].value, "2 beta1 uses all of beta up"


def test_bins_near_the_cut_are_shown_as_often_as_is_said() -> None:
    """Over 2**64 labels, all others empty. A bin of one more is shown often enough to be told apart."""
    draws, bits = 2_500, TeachingBits(4)
    bound = bound_of(2**64, ROW, dv.PureSparse("1/2", cap=200))
    count = bound.cut + 1
    private = statistic({77: count})
    seen = sum(77 in bound.draw(private, bits, mode="exact").labels for _ in range(draws))
    said = bound.error.chance_shown(count)
    assert stats.binomtest(seen, draws, said).pvalue > FALSE_ALARM
    for other in (count - 1, count + 1):
        wrong = bound.error.chance_shown(other)
        spread = math.sqrt(said * (1 - said) / draws) + math.sqrt(wrong * (1 - wrong) / draws)
        assert abs(said - wrong) > 5 * spread, "ten spreads apart: told apart but for a chance below 10**-3"
        assert stats.binomtest(seen, draws, wrong).pvalue < FALSE_ALARM


# ---------------------------------------------------------------- what is public, what is silent


def test_nothing_tells_how_many_bins_are_occupied() -> None:
    bound = bound_of(2**64, ROW, dv.PureSparse(1, cap=20))
    ticks = []
    for counts, given in itertools.product(
        ({}, {5: 3}, dict.fromkeys(range(5000), 1), {2**64 - 1: 2**40, 0: 2**62}), (statistic, streamed)
    ):
        seen: list[tuple[int, int]] = []
        answer = bound.draw(
            given(counts), TeachingBits(2), mode="exact", tick=lambda *done, seen=seen: seen.append(done)
        )
        ticks.append(seen)
        assert len(answer.labels) <= 20 and list(answer.labels) == sorted(set(answer.labels))
        assert not len(answer.values) or 1 <= answer.values.min() <= answer.values.max() <= 20
    assert ticks == [[(0, 1)]] * 8
    assert bound.space.bits == 20 * (64 + 5) and bound.cost.steps == 1


@pytest.mark.parametrize("size", [2**64 + 1, 10**60], ids=str)
def test_domains_beyond_64_bits_are_drawn_from_in_the_same_way(size: int) -> None:
    bound = bound_of(size, swap(40), dv.PureSparse(40))
    for given in (statistic, streamed):
        answer = bound.draw(given({0: 25, size - 1: 15}), TeachingBits(3), mode="exact")
        table = dict(zip(answer.labels, answer.values.tolist(), strict=True))
        assert abs(table[0] - 25) <= 3 and abs(table[size - 1] - 15) <= 3
        assert SparseTable.from_json(answer.to_json()) == answer


@pytest.mark.parametrize(
    ("size", "unit", "mechanism", "match"),
    [
        (4, swap(2), dv.PureSparse(1), "use Dense"),
        (100, ROW, dv.PureSparse(1), "give cap="),
        (100, ROW, dv.PureSparse(1, base="tight"), "give cap="),
        (2**40, ROW, dv.PureSparse(1, cap=10**8), "at most 10,000,000 bins"),
        (2**40, ROW, dv.PureSparse("1e-13", cap=9), "scale of the noise must be at most"),
        (2**64, swap(3000), dv.PureSparse(1, base="tight", beta1="1/1000"), r"n = 3,000 and 2\^64 bins"),
    ],
)
def test_sizes_that_cannot_be_answered_are_refused_with_the_size(
    size: int, unit: Unit, mechanism: dv.PureSparse, match: str
) -> None:
    with pytest.raises(ParameterError, match=match):
        bound_of(size, unit, mechanism)


def test_a_domain_of_2_n_plus_1_bins_is_enough_and_unknown_keys_are_not() -> None:
    assert bound_of(5, swap(2), dv.PureSparse(1)).n == 2
    with pytest.raises(ParameterError, match="declared bins"):
        dv.PureSparse(1, cap=3).bind(Question.of(dv.Domain.keys(column="word")), ROW)


def test_strict_mode_runs_where_it_takes_less_than_minutes() -> None:
    """The spec's table: n = 300 at 2**20 labels and n = 100 at 2**64 take about a second, n = 3000 minutes."""
    for n, size, modes in (
        (100, 2**64, ("exact", "strict")),
        (300, 2**20, ("exact", "strict")),
        (3000, 2**64, ("exact",)),
        (1_000_000, 2**64, ("exact",)),
    ):
        assert bound_of(size, swap(n), dv.PureSparse(1, base="tight")).modes() == modes
    assert bound_of(2**20, swap(10), dv.PureSparse(1)).modes() == ("exact",)


def test_the_fineness_of_strict_mode_is_what_the_lemma_asks_for() -> None:
    bound = bound_of(2**20, swap(3), dv.PureSparse("1/2", base="tight", beta1="1/1000"))
    part, size, n = bound.noise.finite, 2**20, 3
    assert part is not None
    odds = Fraction(part.p, part.q) ** 2
    delta = (odds - 1) / (odds + 1) * Fraction(1, 999) * Fraction(math.factorial(n), ((n + 1) * size) ** n)
    assert bound.resolution // 2 < (n * n + 2 * n) * size / delta <= bound.resolution
    assert sparse_strict.work(n, size, bound.resolution) < 10**6


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "0"},
        {"epsilon": "1", "base": "float"},
        {"epsilon": "1", "cap": 0},
        {"epsilon": "1", "beta1": "1/2"},
        {"epsilon": "1", "base": "tight", "beta1": "2/7"},
        {"epsilon": "1", "base": "tight", "beta1": "1"},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        dv.PureSparse(**wrong)  # type: ignore[arg-type]


def test_parameters_are_texts_that_make_the_same_mechanism_again() -> None:
    for made in (dv.PureSparse("1/3"), dv.PureSparse(1, base="tight", cap=99, beta1="1/3"), dv.PureSparse(2, cap=7)):
        assert dv.PureSparse.from_parameters(made.parameters()) == made
        assert eval(made.python, {"dv": dv}) == made
    with pytest.raises(ParameterError, match="PureSparse takes"):
        dv.PureSparse.from_parameters({"epsilon": "1", "delta": "1e-6"})


def test_a_session_releases_over_2_to_the_64_labels(tmp_path: object) -> None:
    frame = pd.DataFrame({"key": [7] * 60 + [2**63 + 5] * 40})
    session = dv.Session(frame, unit=swap(100), budget=dv.Budget(epsilon="8"), ledger=f"{tmp_path}/one.ledger")
    keys = dv.Domain.integers(0, 2**64 - 1, column="key")
    release = session.release(keys, dv.PureSparse(8))
    assert abs(release[7] - 60) <= 12 and abs(release[2**63 + 5] - 40) <= 12
    assert release.guarantee.sentence == "8-differential privacy for replacing one row"


def test_a_session_runs_strict_mode_or_refuses_it_before_the_charge(tmp_path: object) -> None:
    frame = pd.DataFrame({"key": [7] * 60 + [9] * 40})
    session = dv.Session(frame, unit=swap(100), budget=dv.Budget(epsilon="16"), ledger=f"{tmp_path}/one.ledger")
    small = dv.Domain.integers(0, 2**20 - 1, column="key")
    release = session.release(small, dv.PureSparse(8, base="tight"), mode="strict")
    assert release.mode == "strict" and release.guarantee.epsilon <= 8
    left = session.remaining
    with pytest.raises(ParameterError, match="minutes at this size"):
        session.release(dv.Domain.integers(0, 10**150, column="key"), dv.PureSparse(1, base="tight", beta1="1/9"))
    with pytest.raises(ParameterError, match="runs in mode exact"):
        session.release(small, dv.PureSparse(1), mode="strict")
    assert session.remaining == left
