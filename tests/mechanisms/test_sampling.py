"""The samplers of records: exact laws, prices against every pair of neighbours, and what may be drawn once more.

Enumerations are exact or enclosed; the statistical tests are chi-square tests on fixed bits with a false alarm of 1e-9,
and each rejects a near-wrong twin.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import ConversionError, DpvizError, ReleaseFormat
from dpviz.exact import exp_bounds, text
from dpviz.model.answers import Record, WeightedRecord
from dpviz.model.mechanism import Bound
from dpviz.model.question import Question
from dpviz.model.statistic import ColumnOnes, DenseCounts, SparseCounts, StatisticKind
from dpviz.noise import category
from dpviz.noise.bits import Bits, TeachingBits
from dpviz.privacy import ApproxDP, PureDP, Unit
from dpviz.privacy.conversion import convert, to_approx, to_zcdp
from tests.mechanisms import contract
from tests.mechanisms.contract import FALSE_ALARM, Case
from tests.mechanisms.test_dense import exponential, geometric_oracle
from tests.noise.statistics import p_value, power

ROW = Unit()
USER = Unit("user", max_bins=2)


def rows(n: int) -> Unit:
    return Unit(relation="replace-one", n=n)


def labels(k: int) -> Question:
    return Question.records([dv.Domain.integers(0, k - 1, column="x")])


def columns(d: int) -> Question:
    return Question.records([dv.Domain.integers(0, 1, column=f"b{at}") for at in range(d)])


def compositions(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """All counts of n records over k labels."""
    if k == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, k - 1):
            yield (first, *rest)


def replaced(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The counts where one record has another label."""
    for gone, come in itertools.permutations(range(len(counts)), 2):
        if counts[gone]:
            yield tuple(count - (at == gone) + (at == come) for at, count in enumerate(counts))


# ---------------------------------------------------------------- a label from noisy weights


def weighted(name: str, unit: Unit, epsilon: str, l1: int, most: int = 4) -> Case:
    """The weights that are released, against max(0, count + Z) from the definition."""
    bound = dv.SampleCategory(epsilon).bind(labels(3), unit)
    oracle = geometric_oracle(exponential(Fraction(epsilon) / l1), 0, None)
    return Case(name, bound, most, oracle, drawn=lambda answer: answer.weights)  # type: ignore[attr-defined]


WEIGHTED = [
    weighted("a row is replaced", rows(9), "1", 2),
    weighted("a row comes or goes", ROW, "1/2", 1),
    weighted("a user comes or goes", USER, "1", 2),
]
by_name = pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case.name)


@by_name
def test_the_price_of_all_weights_is_the_worst_ratio_over_all_neighbours(case: Case) -> None:
    epsilon = case.bound.price.epsilon
    assert case.bound.price.loss == PureDP(case.bound.mechanism.epsilon)  # type: ignore[attr-defined]
    contract.check_price(case, exact_odds=exp_bounds(epsilon, 600))


@by_name
def test_a_twin_with_noise_for_half_the_moves_or_on_occupied_labels_alone_costs_more(case: Case) -> None:
    loud = case.oracle
    steps = 2 * case.bound.price.epsilon / case.bound.unit.l1(3)
    half = Case("half the noise", case.bound, case.most, geometric_oracle(exponential(steps), 0, None))
    with pytest.raises(AssertionError, match="not the worst ratio"):
        contract.check_price(half, exact_odds=exp_bounds(case.bound.price.epsilon, 600))
    none: contract.Law = {**dict.fromkeys(loud(0), (Fraction(0), Fraction(0))), 0: (Fraction(1), Fraction(1))}
    silent = Case("none on empty labels", case.bound, 2, lambda count: loud(count) if count else none)
    with pytest.raises(AssertionError):
        contract.check_price(silent, exact_odds=exp_bounds(case.bound.price.epsilon, 600))


@by_name
def test_weights_are_drawn_from_their_law_and_a_twin_is_rejected(case: Case) -> None:
    assert contract.check_draws(case, (3, 0, 1), 4000, "exact", 7) > FALSE_ALARM
    rate = Fraction(5, 4) * case.bound.price.epsilon / case.bound.unit.l1(3)
    twin = Case("less noise", case.bound, 4, geometric_oracle(exponential(rate), 0, None), drawn=case.drawn)
    assert contract.check_draws(twin, (3, 0, 1), 4000, "exact", 7) < FALSE_ALARM


def weight_chances(count: int, r: float, far: int = 60) -> np.ndarray:
    """Pr[max(0, count + Z) = w], from the definition."""
    chances = np.array([(1 - r) / (1 + r) * r ** abs(w - count) for w in range(count + far)])
    chances[0] = r**count / (1 + r)
    return chances


@cache
def record_chances(counts: tuple[int, ...], r: float) -> np.ndarray:
    """The chance of each label, enumerated over all weights."""
    laws = [weight_chances(count, r, 40) for count in counts]
    drawn = np.stack(np.meshgrid(*(np.arange(len(law)) for law in laws), indexing="ij"), -1).reshape(-1, len(counts))
    chance = np.prod([law[drawn[:, at]] for at, law in enumerate(laws)], axis=0)
    total = drawn.sum(1, keepdims=True)
    shares = np.where(total > 0, drawn / np.maximum(total, 1), 1 / len(counts))
    chances: np.ndarray = chance @ shares
    return chances


KINDS: dict[str, dict[str, Any]] = {
    "many": {},
    "one": {"draws": "one"},
    "many, nearest": {"projection": "euclid"},
    "one, nearest": {"projection": "euclid", "draws": "one"},
}


def statistic(bound: Bound, counts: Sequence[int]) -> DenseCounts | SparseCounts:
    found = contract.statistic_of(bound, tuple(counts))
    assert isinstance(found, DenseCounts | SparseCounts)
    return found


def drawn_records(bound: Bound, counts: Sequence[int], draws: int, seed: int) -> np.ndarray:
    bits, given, seen = TeachingBits(seed), statistic(bound, counts), np.zeros(bound.question.bins, int)
    for _ in range(draws):
        answer = bound.draw(given, bits, mode="exact")
        assert isinstance(answer, Record | WeightedRecord)
        seen[answer.record[0]] += 1
    return seen


@pytest.mark.parametrize("kind", ["many", "one"])
def test_one_record_has_the_enumerated_law_with_and_without_the_weights_of_all_labels(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twin: a law with the scale of add-or-remove (power over 0.999)."""
    for name in ("unseen_chance", "empty_chance"):
        monkeypatch.setattr(category, name, cache(getattr(category, name)))  # asked thousands of times
    bound = dv.SampleCategory("1", **KINDS[kind]).bind(labels(3), rows(4))
    seen = drawn_records(bound, (3, 1, 0), 6000, 11)
    law, twin = record_chances((3, 1, 0), math.exp(-0.5)), record_chances((3, 1, 0), math.exp(-1))
    assert p_value(seen, law) > FALSE_ALARM
    assert power(6000, law, twin) > 0.999
    assert p_value(seen, twin) < FALSE_ALARM


def nearest_of(noisy: Sequence[int], n: int) -> np.ndarray:
    """The nearest point of the simplex to noisy / n, by trying every set of labels that may be above 0."""
    values = np.array(noisy) / n
    best, found = math.inf, np.zeros(len(noisy))
    for some in itertools.product((False, True), repeat=len(noisy)):
        if not any(some):
            continue
        inside = np.array(some)
        point = np.where(inside, values - (values[inside].sum() - 1) / inside.sum(), 0)
        if (point >= -1e-12).all() and (distance := ((point - values) ** 2).sum()) < best:
            best, found = distance, point
    return found


@pytest.mark.parametrize("kind", ["many, nearest", "one, nearest"])
def test_a_record_by_the_nearest_chances_has_the_enumerated_law(kind: str) -> None:
    """Twin: the scale of add-or-remove (power over 0.999)."""
    bound = dv.SampleCategory("1", **KINDS[kind]).bind(labels(2), rows(3))

    def law_of(r: float, far: int = 30) -> np.ndarray:
        law = np.zeros(2)
        for one, other in itertools.product(range(-far, far + 1), repeat=2):
            law += ((1 - r) / (1 + r)) ** 2 * r ** (abs(one) + abs(other)) * nearest_of((3 + one, other), 3)
        return law

    law, twin = law_of(math.exp(-0.5)), law_of(math.exp(-1))
    seen = drawn_records(bound, (3, 0), 6000, 12)
    assert abs(law.sum() - 1) < 1e-5 and power(6000, law, twin) > 0.999
    assert p_value(seen, law) > FALSE_ALARM
    assert p_value(seen, twin) < FALSE_ALARM


def test_the_weights_of_the_nearest_chances_are_those_chances() -> None:
    bound = dv.SampleCategory(1, projection="euclid").bind(labels(3), rows(5))
    for seed in range(20):
        noisy = category.two_sided_geometric(category.Decay.exp(Fraction(1, 2))).add(
            np.array([3, 2, 0]), None, None, TeachingBits(seed)
        )
        answer = bound.draw(statistic(bound, (3, 2, 0)), TeachingBits(seed), mode="exact")
        assert isinstance(answer, WeightedRecord)
        share = answer.weights / answer.weights.sum()
        assert np.allclose(share, nearest_of(noisy.tolist(), 5), atol=1e-9) and answer.weights[answer.record[0]]


@cache
def sequences(counts: tuple[int, ...], draws: int, r: float, assigned: bool) -> dict[tuple[int, ...], float]:
    """The chance of each outcome of so many draws, as how often each label comes: from weights that stay with their
    labels, or where every draw of a label that nobody has takes a new one."""
    laws = [weight_chances(count, r, 40) for count in counts]
    empty = [at for at, count in enumerate(counts) if not count]
    found: dict[tuple[int, ...], float] = Counter()  # type: ignore[assignment]
    outcomes = list(compositions(draws, len(counts)))
    ways = np.array([math.factorial(draws) / math.prod(map(math.factorial, one)) for one in outcomes])
    powers = np.array(outcomes)
    grid = np.array(list(itertools.product(*(range(len(law)) for law in laws))), dtype=float)
    chances = np.prod([law[grid[:, at].astype(int)] for at, law in enumerate(laws)], axis=0)
    if not assigned:
        grid[:, empty] = grid[:, empty].sum(1, keepdims=True) / len(empty)
    totals = grid.sum(1, keepdims=True)
    shares = np.where(totals > 0, grid / np.maximum(totals, 1), 1 / len(counts))
    for outcome, way in zip(powers, ways, strict=True):
        found[tuple(outcome.tolist())] = float(way * (chances * np.prod(shares**outcome, axis=1)).sum())
    return found


def test_any_number_of_draws_from_the_weights_costs_epsilon_and_from_the_shortcut_without_end() -> None:
    """The counter-example of three labels: (2, 0, 0) against (1, 1, 0) at epsilon 1."""
    r = math.exp(-0.5)
    losses: dict[bool, list[float]] = {}
    for assigned in (True, False):
        losses[assigned] = []
        for draws in (1, 2, 8):
            one, other = (sequences(counts, draws, r, assigned) for counts in ((2, 0, 0), (1, 1, 0)))
            assert abs(sum(one.values()) - 1) < 1e-6
            losses[assigned].append(max(abs(math.log(one[at] / other[at])) for at in one))
    assert max(losses[True]) <= 1 and losses[True] == sorted(losses[True])
    assert losses[False][0] == pytest.approx(losses[True][0])  # one draw alone has the same law
    assert losses[False][1] == pytest.approx(1.25, abs=0.01) and losses[False][2] == pytest.approx(5.5, abs=0.05)


@pytest.mark.parametrize("k", [2, 3])
def test_the_distance_is_within_the_stated_bound_for_every_law_of_the_data(k: int) -> None:
    n, epsilon = 6, 2
    bound = dv.SampleCategory(epsilon).bind(labels(k), rows(n))
    stated = bound.error.total_variation()
    assert stated is not None and stated.how == "bound"
    worst = 0.0
    for shape in compositions(4, k):
        p, law = np.array(shape) / 4, np.zeros(k)
        for counts in compositions(n, k):
            ways = math.factorial(n) / math.prod(map(math.factorial, counts))
            law += ways * np.prod(p ** np.array(counts)) * record_chances(counts, math.exp(-epsilon / 2))
        worst = max(worst, 0.5 * float(np.abs(law - p).sum()))
    assert worst / 10 < worst <= float(stated.value)
    assert worst > float(stated.value) / 10  # the bound is no order of magnitude off


def test_the_bound_is_that_of_the_discrete_noise_and_stands_beside_the_papers() -> None:
    bound = dv.SampleCategory("1/2").bind(labels(20), rows(10_000))
    stated = bound.error.total_variation()
    assert stated is not None
    exact = 20 / (10_000 * math.sinh(0.25))
    assert exact <= float(stated.value) <= exact * 1.001
    ((_, note),) = bound.notes
    assert note["value"] == "0.008" and float(stated.value) < 0.008
    assert dv.SampleCategory("1/2").bind(labels(20), ROW).error.total_variation() is None
    filtered = Question.records([dv.Domain.integers(0, 1, column="x")], where={"y": 1})
    assert dv.SampleCategory("1/2").bind(filtered, rows(100)).error.total_variation() is None


def test_a_label_out_of_two_to_the_sixty_four_is_drawn_where_nobody_has_any(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.zeros(0, np.int64)})
    for at, asked in enumerate((labels(2**64), labels(10**10))):
        session = dv.Session(frame, dv.Unit(), dv.Budget(1), tmp_path / f"{at}.ledger")
        drawn = session.release(asked, dv.SampleCategory("1e-9", draws="one")).record["x"]
        assert 0 <= int(drawn) < asked.bins


def test_a_label_out_of_two_to_the_sixty_four_is_drawn_at_once() -> None:
    bound = dv.SampleCategory(20, draws="one").bind(labels(2**64), rows(1000))
    assert bound.needs is StatisticKind.SPARSE and not bound.reuse
    given = SparseCounts(np.array([3, 2**63], dtype=np.uint64), np.array([400, 600]))
    seen = Counter(bound.draw(given, TeachingBits(seed), mode="exact").record[0] for seed in range(40))  # type: ignore[attr-defined]
    assert sum(seen.values()) == 40 and all(0 <= place < 2**64 for place in seen)
    assert len(set(seen) - {3, 2**63}) > 30  # at 2^64 labels nearly all weight is noise, which the plan says
    assert bound.error.total_variation().value == 1  # type: ignore[union-attr]


# ---------------------------------------------------------------- bits from clipped means


class Every(Bits):
    """Bits of which `below` gives the numbers it is told to."""

    kind, private = "told", False

    def __init__(self, told: Sequence[int]) -> None:
        self.told = list(told)
        self.bounds: list[int] = []

    def below(self, bound: int) -> int:
        self.bounds.append(bound)
        return self.told.pop(0)


def coin(bound: Bound, ones: int, records: int | None = None) -> Fraction:
    """The chance of a 1 of one column, counted over every number that the bits may give."""
    given = ColumnOnes(np.array([ones]), bound.unit.n if records is None else records)  # type: ignore[arg-type]
    probe = Every([0])
    bound.draw(given, probe, mode="exact")
    (size,) = probe.bounds
    hits = sum(bound.draw(given, Every([number]), mode="exact").record[0] for number in range(size))  # type: ignore[attr-defined]
    return Fraction(hits, size)


@pytest.mark.parametrize("level", ["1/4", "1/10", "2/5"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13])
def test_a_bit_has_the_chance_of_the_clipped_mean_and_the_price_is_its_worst_ratio(n: int, level: str) -> None:
    bound = dv.SampleBounded(5, level=level).bind(columns(1), rows(n))
    low = Fraction(level)
    chances = [coin(bound, ones) for ones in range(n + 1)]
    assert chances == [min(max(Fraction(ones, n), low), 1 - low) for ones in range(n + 1)]
    pairs = [pair for one, other in itertools.pairwise(chances) for pair in ((one, other), (1 - one, 1 - other))]
    worst = max(max(one / other, other / one) for one, other in pairs)
    paid = bound.price.epsilon
    assert exp_bounds(paid)[0] >= worst and exp_bounds(paid - Fraction(2, 10**6))[1] < worst  # attained, to the grid


@pytest.mark.parametrize(("d", "n"), [(1, 4), (2, 4), (3, 8), (2, 7)])
def test_columns_that_move_together_meet_the_price_and_the_interval_of_the_loss(d: int, n: int) -> None:
    """Every pair of neighbouring column sums: one row moves each column by one or not at all, in either direction."""
    bound = dv.SampleBounded(20).bind(columns(d), rows(n))
    chance = [min(max(Fraction(ones, n), Fraction(1, 4)), Fraction(3, 4)) for ones in range(n + 1)]
    steps = bound.price.zcdp_steps
    assert steps is not None and steps.steps == d
    worst, widest = Fraction(1), Fraction(1)
    for ones in itertools.product(range(n + 1), repeat=d):
        for move in itertools.product((-1, 0, 1), repeat=d):
            moved = [count + step for count, step in zip(ones, move, strict=True)]
            if not all(0 <= count <= n for count in moved):
                continue
            high = low = Fraction(1)
            for one, other in zip(ones, moved, strict=True):
                of_one, of_zero = chance[one] / chance[other], (1 - chance[one]) / (1 - chance[other])
                high, low = high * max(of_one, of_zero), low * min(of_one, of_zero)
                widest = max(widest, of_one / of_zero)
            worst = max(worst, high, 1 / low)
    assert exp_bounds(bound.price.epsilon)[0] >= worst > exp_bounds(bound.price.epsilon - Fraction(2, 10**6))[1]
    assert exp_bounds(steps.epsilon)[0] >= widest > exp_bounds(steps.epsilon - Fraction(1, 10**9))[1]


def worst_excess(bound: Bound, chances: Sequence[Fraction], epsilon: Fraction) -> Fraction:
    """The largest hockey-stick divergence at epsilon over all neighbouring pairs of column sums, enumerated."""
    steps = {pair for one in itertools.pairwise(chances) for pair in (one, one[::-1])} | {(one, one) for one in chances}
    d, worst, odds = len(bound.question.domain.factors), Fraction(0), exp_bounds(epsilon, 256)[0]
    for columns in itertools.combinations_with_replacement(sorted(steps), d):
        excess = Fraction(0)
        for record in itertools.product((0, 1), repeat=d):
            p, q = (
                math.prod((pair[side] if bit else 1 - pair[side] for bit, pair in zip(record, columns, strict=True)))
                for side in (0, 1)
            )
            excess += max(Fraction(0), p - odds * q)
        worst = max(worst, excess)
    return worst


@pytest.mark.parametrize(("d", "n", "delta"), [(1, 8, "1/100"), (2, 8, "1/100"), (3, 4, "1/20"), (2, 12, "1e-3")])
def test_a_delta_buys_the_least_epsilon_that_all_neighbouring_pairs_allow(d: int, n: int, delta: str) -> None:
    """Twins: the price of a column less, of half the delta's room, and the sum of the columns."""
    made = dv.SampleBounded(20, delta=delta)
    bound, pure = made.bind(columns(d), rows(n)), dv.SampleBounded(20).bind(columns(d), rows(n))
    alone, limit = dv.SampleBounded(20).bind(columns(1), rows(n)), made.delta
    chances = [coin(alone, ones) for ones in range(n + 1)]
    paid = bound.price.loss
    assert isinstance(paid, ApproxDP) and paid.delta == limit and paid.epsilon < pure.price.epsilon
    assert worst_excess(bound, chances, paid.epsilon) <= limit
    assert worst_excess(bound, chances, paid.epsilon - Fraction(2, 10**6)) > limit  # attained, to the grid
    twice = dv.SampleBounded(20, delta=2 * limit).bind(columns(d), rows(n)).price.epsilon
    assert worst_excess(bound, chances, twice) > limit
    if d > 1:
        fewer = dv.SampleBounded(20, delta=limit).bind(columns(d - 1), rows(n)).price.epsilon
        assert worst_excess(bound, chances, fewer) > limit
    assert bound.price.zcdp_steps == pure.price.zcdp_steps  # rho says what a zCDP budget books, with or without delta
    assert f"without δ it costs ε {text(pure.price.epsilon)}" in bound.price.rule
    assert ("Its ε without a δ", text(pure.price.epsilon)) in [(label, one["value"]) for label, one in bound.notes]


def test_many_columns_and_the_papers_accounting_pay_by_rho_and_never_more_than_without_a_delta() -> None:
    for d, n, accounting in ((65, 1000, "exact"), (3, 1000, "paper"), (1000, 10**6, "exact")):
        bound = dv.SampleBounded(500, delta="1e-6", accounting=accounting).bind(columns(d), rows(n))
        rho = to_zcdp(bound.price.zcdp_steps)  # type: ignore[arg-type]
        pure = dv.SampleBounded(500, accounting=accounting).bind(columns(d), rows(n)).price
        assert bound.price.epsilon == min(to_approx(rho, Fraction(1, 10**6)).epsilon, pure.epsilon)
    few = dv.SampleBounded(500, delta="1e-6").bind(columns(64), rows(1000)).price.epsilon
    assert few < dv.SampleBounded(500, delta="1e-6").bind(columns(65), rows(1000)).price.epsilon
    plain = dv.SampleBounded(500, delta="1e-9", accounting="paper").bind(columns(1), rows(1000)).price
    assert plain.loss == PureDP(Fraction(4, 1000))  # rho would cost more, so no delta is charged


def test_a_delta_that_is_left_out_is_not_written_and_moves_no_key() -> None:
    assert dv.SampleBounded(1).parameters() == {"epsilon": "1", "level": "0.25", "accounting": "exact"}
    assert dv.SampleBounded(1, delta=0).parameters() == dv.SampleBounded(1).parameters()
    assert dv.SampleBounded(1, delta="1e-6").parameters()["delta"] == "0.000001"


# ---------------------------------------------------------------- bits where a row comes or goes


def padded(ones: int, n: int, least: int, level: Fraction) -> Fraction:
    """The chance of a 1 by the definition: the mean of n bits and of halves up to `least`, kept within the level."""
    every = max(n, least)
    mean = (ones + Fraction(every - n, 2)) / every
    return min(max(mean, level), 1 - level)


def added_pairs(chance: Callable[[int, int], Fraction], most: int) -> set[tuple[Fraction, Fraction]]:
    """The chances of a bit on every table of up to `most` rows and on the same with one row more, in both orders."""
    pairs = set()
    for n in range(most):
        for ones in range(n + 1):
            for come in (0, 1):
                pair = chance(ones, n), chance(ones + come, n + 1)
                pairs |= {pair, pair[::-1]}
    return pairs


def ratio_of(pairs: set[tuple[Fraction, Fraction]]) -> Fraction:
    return max(max(p / q, (1 - p) / (1 - q)) for p, q in pairs)


@pytest.mark.parametrize(("epsilon", "level"), [("1/2", "1/4"), ("1/5", "1/4"), ("1", "1/10"), ("0.1", "2/5")])
def test_bits_of_rows_that_come_or_go_cost_what_all_pairs_of_neighbouring_tables_allow(
    epsilon: str, level: str
) -> None:
    """No rows, fewer than are filled up to, and three times as many; every chance counted over the coin's numbers.
    Twins: filled up to half as many rows, and nothing filled up."""
    low = Fraction(level)
    bound = dv.SampleBounded(epsilon, level=level).bind(columns(1), ROW)
    least = bound.law.records  # type: ignore[attr-defined]
    for n in {0, 1, least - 1, least, least + 1}:
        for ones in {0, n // 2, n}:
            assert coin(bound, ones, n) == padded(ones, n, least, low)
    paid, most = bound.price.epsilon, 3 * least + 3
    pairs = added_pairs(lambda ones, n: padded(ones, n, least, low), most)
    worst = ratio_of(pairs)
    assert worst <= exp_bounds(paid)[0] and paid <= Fraction(epsilon)
    if (low * least).denominator == 1:
        assert exp_bounds(paid - Fraction(2, 10**6))[1] < worst  # met, to the grid
    half = ratio_of(added_pairs(lambda ones, n: padded(ones, n, max(1, least // 2), low), most))
    assert half > exp_bounds(Fraction(epsilon))[1]
    bare = ratio_of(added_pairs(lambda ones, n: padded(ones, n, 1, low), most))
    assert bare > exp_bounds(Fraction(epsilon))[1]


@pytest.mark.parametrize("level", ["1/4", "1/10", "2/5", "1/3", "0.45"])
def test_the_worst_ratio_move_and_odds_hold_for_every_number_of_rows(level: str) -> None:
    from dpviz.laws import bounded

    low = Fraction(level)
    met = 0
    for least in (1, 2, 3, 5, 8, 12, 20):
        pairs = added_pairs(lambda ones, n, least=least: padded(ones, n, least, low), 5 * least + 20)  # type: ignore[misc]
        odds = max(p * (1 - q) / (q * (1 - p)) for p, q in pairs)
        ratio, move = ratio_of(pairs), max(p - q for p, q in pairs)
        stated = bounded.added_ratio(least, low), bounded.added_move(least, low), bounded.added_odds_ratio(least, low)
        assert ratio <= stated[0] and move <= stated[1] and odds <= stated[2]
        if (low * least).denominator == 1 and least * (1 - 2 * low) >= 1:
            met += 1
            assert (ratio, move, odds) == stated
    assert met >= 1 or level in ("1/3", "0.45")


@pytest.mark.parametrize(("d", "delta"), [(2, 0), (2, "1/50"), (3, "1/50")])
def test_many_columns_of_rows_that_come_or_go_cost_the_worst_pair(d: int, delta: Any) -> None:
    """All columns share the number of rows; the row that comes has any bits. Twin: a price of one column less."""
    made = dv.SampleBounded("1", delta=delta)
    bound = made.bind(columns(d), ROW)
    least, paid = bound.law.records, bound.price.loss  # type: ignore[attr-defined]
    assert paid.epsilon <= 1 and paid.delta == made.delta

    def excess(epsilon: Fraction) -> Fraction:
        odds, found = exp_bounds(epsilon, 256)[0], Fraction(0)
        for n in range(2 * least):
            steps = {
                (padded(ones, n, least, Fraction(1, 4)), padded(ones + come, n + 1, least, Fraction(1, 4)))
                for ones in range(n + 1)
                for come in (0, 1)
            }
            for some in itertools.combinations_with_replacement(sorted(steps), d):
                for first, second in ((0, 1), (1, 0)):
                    total = Fraction(0)
                    for record in itertools.product((0, 1), repeat=d):
                        p, q = (
                            math.prod(
                                pair[side] if bit else 1 - pair[side] for bit, pair in zip(record, some, strict=True)
                            )
                            for side in (first, second)
                        )
                        total += max(Fraction(0), p - odds * q)
                    found = max(found, total)
        return found

    assert excess(paid.epsilon) <= made.delta
    if least % 4 == 0:
        assert excess(paid.epsilon - Fraction(2, 10**6)) > made.delta
    assert excess(paid.epsilon * Fraction(d - 1, d)) > made.delta


def test_a_smaller_epsilon_is_paid_by_more_rows_and_nothing_for_their_number() -> None:
    """At the level 1/4 ln(1 + 3 / (m + 1)) is at most epsilon from m = 3 / (exp(epsilon) - 1) - 1 on."""
    for epsilon in ("2", "1", "1/2", "1/10", "1/1000"):
        least = dv.SampleBounded(epsilon).bind(columns(1), ROW).law.records  # type: ignore[attr-defined]
        assert least == max(1, math.ceil(3 / math.expm1(float(Fraction(epsilon))) - 1)) or least <= 2
    many = [dv.SampleBounded(1, delta=delta).bind(columns(40), ROW) for delta in (0, "1e-6")]
    assert many[1].law.records < many[0].law.records / 2  # type: ignore[attr-defined]
    assert many[1].price.epsilon > Fraction(9, 10)  # and what was asked is nearly used


def test_the_distance_of_bits_is_said_of_so_many_rows_or_more() -> None:
    bound = dv.SampleBounded("1/10").bind(columns(1), ROW)
    least, stated = bound.law.records, bound.error.total_variation()  # type: ignore[attr-defined]
    assert stated is not None
    for n in (least, least + 1, 2 * least):
        for share in (Fraction(1, 3), Fraction(1, 2), Fraction(3, 5)):
            mean = sum(
                (
                    math.comb(n, ones)
                    * share**ones
                    * (1 - share) ** (n - ones)
                    * padded(ones, n, least, Fraction(1, 4))
                    for ones in range(n + 1)
                ),
                Fraction(0),
            )
            assert abs(mean - share) <= stated.value
    assert all(f"of {least:,} records or more" in measure.phrase for measure in bound.measures)
    assert "made-up ones fill up" in bound.verb


def test_what_a_zcdp_budget_books_covers_the_renyi_divergence_of_every_order() -> None:
    n, d = 12, 3
    bound = dv.SampleBounded(20).bind(columns(d), rows(n))
    rho = float(to_zcdp(bound.price.zcdp_steps).rho)  # type: ignore[arg-type]
    chance = [min(max(ones / n, 0.25), 0.75) for ones in range(n + 1)]
    worst = 0.0
    for one, other in [*itertools.pairwise(chance), *itertools.pairwise(chance[::-1])]:
        for order in (1.0001, 1.5, 2, 3, 8, 40, 300):
            moment = other * (one / other) ** order + (1 - other) * ((1 - one) / (1 - other)) ** order
            worst = max(worst, d * math.log(moment) / (order - 1) / order)
    assert worst <= rho < worst * 1.2  # it holds, and is no large multiple
    paper = dv.SampleBounded(20, accounting="paper").bind(columns(d), rows(n)).price
    assert to_zcdp(paper.zcdp_steps).rho == Fraction(8 * d, n**2) and paper.epsilon == Fraction(4 * d, n)  # type: ignore[arg-type]
    assert rho < 8 * d / n**2 and bound.price.epsilon < paper.epsilon


def test_a_twin_that_keeps_no_level_or_flips_twice_costs_more_than_the_price() -> None:
    n = 8
    bound = dv.SampleBounded(5).bind(columns(1), rows(n))
    limit = exp_bounds(bound.price.epsilon)[1]
    chance = [min(max(Fraction(ones, n), Fraction(1, 4)), Fraction(3, 4)) for ones in range(n + 1)]
    bare = [Fraction(ones, n) for ones in range(1, n)]
    assert max(b / a for a, b in itertools.pairwise(bare)) > limit
    assert max((b / a) ** 2 for a, b in itertools.pairwise(chance)) == (Fraction(3, 2)) ** 2 > limit


@pytest.mark.parametrize("n", [1, 4, 24, 100])
def test_the_distance_of_bits_holds_within_the_class_and_the_level_for_every_share(n: int) -> None:
    for level in ("1/4", "1/10", "9/20"):
        bound = dv.SampleBounded(50, level=level).bind(columns(1), rows(n))
        low = Fraction(level)
        stated, anywhere = (measure.at(Fraction(1, 2)) for measure in bound.measures)
        assert stated is not None and anywhere is not None and anywhere.how == "exact" and anywhere.value == low
        least = min(low * Fraction(4, 3), Fraction(1, 2))

        def off(p: Fraction, low: Fraction = low) -> Fraction:
            chances = (
                math.comb(n, t) * p**t * (1 - p) ** (n - t) * min(max(Fraction(t, n), low), 1 - low)
                for t in range(n + 1)
            )
            return abs(sum(chances, Fraction(0)) - p)

        inside = [least + (1 - 2 * least) * Fraction(at, 20) for at in range(21)]
        assert all(off(p) <= stated.value for p in inside)
        assert all(off(Fraction(at, 20)) <= low for at in range(21)) and off(Fraction(0)) == low  # and it is met


def test_many_columns_of_a_record_are_coins_of_their_own() -> None:
    """Three columns, all eight records, by chi-square; the twin flips one coin for all (power over 0.999)."""
    bound = dv.SampleBounded(20).bind(columns(3), rows(8))
    bits, seen = TeachingBits(13), np.zeros(8, int)
    for _ in range(3000):
        record = bound.draw(ColumnOnes(np.array([4, 8, 3]), 8), bits, mode="exact").record  # type: ignore[attr-defined]
        seen[record[0] * 4 + record[1] * 2 + record[2]] += 1
    one = [Fraction(1, 2), Fraction(3, 4), Fraction(3, 8)]
    law = np.array(
        [
            float(math.prod(c if b else 1 - c for b, c in zip(bit, one, strict=True)))
            for bit in itertools.product((0, 1), repeat=3)
        ]
    )
    assert p_value(seen, law) > FALSE_ALARM
    twin = (law + np.array([3 / 8, 0, 0, 0, 0, 0, 1 / 8, 1 / 2])) / 2
    assert power(3000, law, twin) > 0.999
    assert p_value(seen, twin) < FALSE_ALARM


# ---------------------------------------------------------------- one record, told at random


@pytest.mark.parametrize(("n", "k"), [(1, 2), (3, 2), (4, 3), (2, 4)])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_a_told_record_costs_exactly_epsilon_over_all_neighbours(n: int, k: int, epsilon: str) -> None:
    low, high = exp_bounds(Fraction(epsilon), 300)
    exact = (low + high) / 2
    g = k / (k + n * (exact - 1))

    def law(counts: Sequence[int]) -> list[Fraction]:
        return [(1 - g) * Fraction(count, n) + g / k for count in counts]

    worst = max(
        max(one / other for one, other in zip(law(counts), law(after), strict=True))
        for counts in compositions(n, k)
        for after in replaced(counts)
    )
    assert abs(worst - exact) < Fraction(1, 10**60)
    chance = category_floor(n, k, epsilon)
    assert chance[0] <= g + Fraction(1, 10**60) and chance[1] >= g - Fraction(1, 10**60)
    stated = dv.RandomisedRecord(epsilon).bind(labels(k), rows(n)).error.total_variation()
    assert stated is not None and stated.off is not None
    point = 1 - law([n, *[0] * (k - 1)])[0]  # all records have one label
    assert abs(stated.value - point) <= stated.off + Fraction(1, 10**30)
    for counts in compositions(n, k):
        share = [Fraction(count, n) for count in counts]
        off = sum(abs(one - other) for one, other in zip(law(counts), share, strict=True)) / 2
        assert off <= point + Fraction(1, 10**60)


def category_floor(n: int, k: int, epsilon: str) -> tuple[Fraction, Fraction]:
    from dpviz.noise.response import uniform_chance

    return uniform_chance(n, k, Fraction(epsilon), 64)


def test_a_told_record_has_its_law_and_a_twin_without_the_gain_of_n_is_rejected() -> None:
    n, k, epsilon, counts = 6, 3, 1.0, (4, 2, 0)
    bound = dv.RandomisedRecord(1).bind(labels(k), rows(n))
    seen = drawn_records(bound, counts, 5000, 21)

    def law(g: float) -> np.ndarray:
        return (1 - g) * np.array(counts) / n + g / k

    right, twin = law(k / (k + n * (math.exp(epsilon) - 1))), law(k / (k + math.exp(epsilon) - 1))
    assert p_value(seen, right) > FALSE_ALARM
    assert power(5000, right, twin) > 0.999
    assert p_value(seen, twin) < FALSE_ALARM


@pytest.mark.parametrize(("k", "moves"), [(2, 1), (3, 1), (3, 2), (2, 5)])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_a_record_told_of_units_that_come_or_go_costs_no_more_than_epsilon_whatever_their_number(
    k: int, moves: int, epsilon: str
) -> None:
    """From no records at all to many: the ratio never exceeds exp(epsilon), and comes near it. Twins: made-up records
    for one move where a unit has several, and for all labels together."""
    low, high = exp_bounds(Fraction(epsilon), 300)
    from dpviz.noise.response import uniform_chance

    def law(counts: Sequence[int], of: int = moves, over: int = 1) -> list[Fraction]:
        n, extra = sum(counts), of / (low - 1) / over
        return [(count + extra) / (n + k * extra) for count in counts]

    def worst(most: int, of: int = moves, over: int = 1) -> Fraction:
        found = Fraction(0)
        for n in range(most):
            for counts in compositions(n, k):
                for added in range(1, moves + 1):
                    for come in compositions(added, k):
                        pair = law(counts, of, over), law([a + b for a, b in zip(counts, come, strict=True)], of, over)
                        found = max(found, *(max(p / q, q / p) for p, q in zip(*pair, strict=True)))
        return found

    assert 1 < worst(6) <= high
    far = [10**9, *[0] * (k - 1)]
    near = law([10**9, moves, *[0] * (k - 2)])[1] / law(far)[1]
    assert high * (1 - Fraction(1, 10**6)) < near <= high
    for of, over in ((1, 1), (moves, k)):
        twin = law([10**9, moves, *[0] * (k - 2)], of, over)[1] / law(far, of, over)[1]
        assert (twin > high) == (of < moves or over > 1)
    for n in (0, 1, 7):
        g = uniform_chance(n, k, Fraction(epsilon), 64, moves)
        exact = k * moves / (k * moves + n * (low - 1))
        assert g[0] - Fraction(1, 2**60) <= exact <= g[1] + Fraction(1, 2**60)


@pytest.mark.parametrize("counts", [(0, 0, 0), (4, 2, 0)])
def test_a_record_told_of_units_that_come_or_go_has_its_law(counts: tuple[int, ...]) -> None:
    """Users with two records each. Twin: made-up records for a single one (power over 0.999)."""
    bound = dv.RandomisedRecord(1).bind(labels(3), Unit("who", max_bins=2))
    seen, n = drawn_records(bound, counts, 5000, 22), sum(counts)
    right, twin = (
        np.array([(count + moves / (math.e - 1)) / (n + 3 * moves / (math.e - 1)) for count in counts])
        for moves in (2, 1)
    )
    assert p_value(seen, right) > FALSE_ALARM
    if n:
        assert power(5000, right, twin) > 0.999 and p_value(seen, twin) < FALSE_ALARM
    assert bound.price.loss == PureDP(Fraction(1)) and bound.error.total_variation() is None
    assert not bound.reuse and "all records" in bound.verb


@pytest.mark.parametrize("there", [0, 3, 5, 12])
def test_a_told_record_costs_no_more_where_the_table_has_another_number_of_rows(there: int) -> None:
    """The declared number is 5. Counted over every number that the bits may give: a record weighs at most one fifth."""
    from dpviz.noise import response

    counts = np.array([there, 0])
    hits = 0
    size = max(5, there)
    for number in range(size):
        told = Every([number])
        original = response.flip
        response.flip = lambda chance, bits: False  # type: ignore[assignment]
        try:
            hits += response.respond(counts, 5, 2, Fraction(1), told) == 0
        finally:
            response.flip = original
        assert told.bounds == [size]
    assert Fraction(hits, size) == Fraction(there, size) and Fraction(1, size) <= Fraction(1, 5)


# ---------------------------------------------------------------- in a session


FRAME = pd.DataFrame({"kind": ["x", "y", "z", None] * 25, "seen": [0, 1, 1, 0, 1] * 20, "sick": [1, 0] * 50})
KINDS_OF = Question.records([dv.Domain.categories(["x", "y", "z"], column="kind")], otherwise={"kind": "z"})
BITS = Question.records([dv.Domain.integers(0, 1, column=name) for name in ("seen", "sick")])


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    return dv.Session(FRAME, rows(100), dv.Budget(50), tmp_path / "records.ledger", dataset="people")


def test_further_records_are_free_and_a_new_process_draws_them_from_the_same_weights(
    session: dv.Session, tmp_path: Path
) -> None:
    release = session.release(KINDS_OF, dv.SampleCategory(1))
    assert release.record["kind"] in ("x", "y", "z") and release.terms.reuse and not release.valued
    left = session.remaining.epsilon
    drawn = release.draw(500)
    assert len(drawn) == 500 and "entry 1" in drawn.note and drawn.randomness == "operating system"
    assert session.remaining.epsilon == left
    again = dv.Session(FRAME, rows(100), dv.Budget(50), tmp_path / "records.ledger", dataset="people")
    stored = again.release(KINDS_OF, dv.SampleCategory(1))
    for other in (stored, dv.load(release.save(tmp_path / "a.json")), dv.load(release.save(tmp_path / "a.dpviz"))):
        assert other.answer == release.answer and other.record == release.record
        assert isinstance(other.answer, WeightedRecord)
        assert other.answer.weights.tolist() == release.answer.weights.tolist()  # type: ignore[attr-defined]
    assert again.remaining.epsilon == left


@pytest.mark.parametrize(
    ("question", "mechanism", "why"),
    [
        (KINDS_OF, dv.SampleCategory(1, draws="one"), "labels that nobody has were taken together"),
        (KINDS_OF, dv.SampleCategory(1, draws="one", projection="euclid"), "noisy counts were not kept"),
        (BITS, dv.SampleBounded(1), "two draws cost twice"),
        (KINDS_OF, dv.RandomisedRecord(1), "every draw looks at another"),
    ],
)
def test_a_second_draw_is_refused_with_its_reason_where_it_is_no_post_processing(
    session: dv.Session, tmp_path: Path, question: Question, mechanism: Any, why: str
) -> None:
    release = session.release(question, mechanism)
    assert not release.terms.reuse
    for one in (release, dv.load(release.save(tmp_path / "a.json"))):
        with pytest.raises(ReleaseFormat, match=why) as refused:
            one.draw(2)
        assert "paid for anew" in refused.value.next_step
    assert (
        "paid for anew" in release._repr_html_()
        and "Another record takes another draw, at the same ε." in session.plan(question, mechanism).bound.verb
    )


def test_a_record_of_a_lesson_is_drawn_again_from_its_own_seed() -> None:
    lesson = dv.teaching(FRAME, 4, rows(100))
    drawn = lesson.draw(KINDS_OF, dv.SampleCategory(1))
    assert list(drawn.draw(20, seed=5)) == list(drawn.draw(20, seed=5)) != list(drawn.draw(20, seed=6))
    assert "one teaching draw" in drawn.draw(1).note


def test_a_seed_and_what_is_no_record_are_refused(session: dv.Session) -> None:
    release = session.release(KINDS_OF, dv.SampleCategory(1))
    with pytest.raises(DpvizError, match="system's bits"):
        release.draw(2, seed=3)
    counted = session.release(dv.Domain.integers(0, 1, column="seen"), dv.Dense(1))
    for call in (counted.draw, lambda: counted.record):
        with pytest.raises(ReleaseFormat, match="drawn record"):
            call()


SWAPPED_USER = Unit("who", relation="replace-one")
OF_SOME_BITS = Question.records(list(BITS.domain.factors), where={"kind": "x"})
OF_SOME_KINDS = Question.records([KINDS_OF.domain], where={"seen": 1})

REFUSED: list[tuple[str, Unit, Question, Callable[[], Any], str]] = [
    ("a level of one half", rows(9), BITS, lambda: dv.SampleBounded(1, level="1/2"), "strictly between 0 and 1/2"),
    ("a paper's level", rows(9), BITS, lambda: dv.SampleBounded(1, level="1/3", accounting="paper"), "level 1/4"),
    ("too little", rows(9), BITS, lambda: dv.SampleBounded("0.01"), "costs 0.575365"),
    ("no bits", rows(9), KINDS_OF, lambda: dv.SampleBounded(9), "two labels each"),
    ("the paper's bits", ROW, BITS, lambda: dv.SampleBounded(9, accounting="paper"), "replaced by another"),
    ("bits of users that come or go", Unit("who"), BITS, lambda: dv.SampleBounded(9), "takes each row for one record"),
    ("bits of no price", ROW, BITS, lambda: dv.SampleBounded("1e-30"), "more than 2\\^60 rows"),
    ("the nearest of rows", ROW, KINDS_OF, lambda: dv.SampleCategory(1, projection="euclid"), "not public"),
    ("users", SWAPPED_USER, BITS, lambda: dv.SampleBounded(9), "all rows of the table alone"),
    ("told users", SWAPPED_USER, KINDS_OF, lambda: dv.RandomisedRecord(9), "all rows of the table"),
    ("a filter of bits", rows(9), OF_SOME_BITS, lambda: dv.SampleBounded(9), "rests on the number"),
    ("a filter", rows(9), OF_SOME_KINDS, lambda: dv.SampleCategory(1, projection="euclid"), "not public"),
    ("one label", rows(9), labels(1), lambda: dv.SampleCategory(1), "known before it is drawn"),
    ("one told label", rows(9), labels(1), lambda: dv.RandomisedRecord(1), "2 to 2\\^64"),
    ("too many weights", rows(9), labels(10**8), lambda: dv.SampleCategory(1), "at most 10,000,000 labels"),
    ("too many labels", rows(9), columns(65), lambda: dv.SampleCategory(1, draws="one"), "at most 2\\^64 labels"),
    ("too much noise", rows(9), labels(10**7), lambda: dv.SampleCategory("1e-10"), "add up to at most 2\\^60"),
    ("counts", rows(9), Question.of(KINDS_OF.domain), lambda: dv.SampleCategory(1), "draws records"),
    ("counts of bits", rows(9), Question.of(BITS.domain), lambda: dv.SampleBounded(9), "draws records"),
    ("a told count", rows(9), Question.of(BITS.domain), lambda: dv.RandomisedRecord(9), "draws records"),
    ("a projection", rows(9), KINDS_OF, lambda: dv.SampleCategory(1, projection="paper"), "projection must be"),
    ("no number", rows(9), KINDS_OF, lambda: dv.SampleCategory(float("nan")), "epsilon"),
    ("nothing", rows(9), KINDS_OF, lambda: dv.RandomisedRecord(0), "epsilon must be positive"),
]


@pytest.mark.parametrize(("name", "unit", "question", "mechanism", "rule"), REFUSED, ids=[one[0] for one in REFUSED])
def test_what_cannot_be_drawn_is_refused_before_a_charge(
    name: str, unit: Unit, question: Question, mechanism: Callable[[], Any], rule: str, tmp_path: Path
) -> None:
    frame = FRAME.assign(who="a", x=0, y=1, **{f"b{at}": 0 for at in range(65)})
    session = dv.Session(frame, unit, dv.Budget(50), tmp_path / "refused.ledger", dataset="people")
    for call in (session.plan, session.release):
        with pytest.raises(DpvizError, match=rule):
            call(question, mechanism())
    assert session.ledger.entries() == []


def test_a_price_for_a_replaced_row_gives_none_for_one_that_comes_or_goes_and_the_other_way_costs_twice() -> None:
    replaced_price = dv.SampleCategory(1).bind(KINDS_OF, rows(100)).price
    with pytest.raises(ConversionError, match="says nothing about adding or removing"):
        convert(replaced_price, ROW)
    added = dv.SampleCategory("1/2").bind(KINDS_OF, ROW).price
    assert convert(added, rows(100)).epsilon == 1 == replaced_price.epsilon  # by group, as by sensitivity


def test_under_a_zcdp_budget_bits_cost_the_interval_of_their_loss(tmp_path: Path) -> None:
    budget = dv.Budget(3, "1e-6", filter="zcdp")
    session = dv.Session(FRAME, rows(100), budget, tmp_path / "zcdp.ledger", dataset="people")
    before = session.remaining.parts["rho"]
    session.release(BITS, dv.SampleBounded(1))
    steps = dv.SampleBounded(1).bind(BITS, rows(100)).price.zcdp_steps
    assert steps is not None
    paid = before - session.remaining.parts["rho"]
    assert 0 <= paid - 2 * steps.epsilon**2 / 8 < Fraction(1, 10**11)
    assert paid < Fraction(8 * 2, 100**2)  # the paper's rho


def test_a_price_that_has_no_exact_form_is_not_said_to_have_one(tmp_path: Path) -> None:
    session = dv.Session(FRAME, rows(100), dv.Budget(3, "1/10"), tmp_path / "ledger", dataset="people")
    plan = session.plan(BITS, dv.SampleBounded("1/20", delta="1/100"))
    assert plan.price.requested == Fraction(1, 20) and not plan.price.exact
    assert "asked 0.05, pays ε" in repr(plan) and "exactly" not in repr(plan)


def test_samplers_answer_sessions_in_which_rows_come_or_go(tmp_path: Path) -> None:
    session = dv.Session(FRAME, ROW, dv.Budget(50, "1e-3"), tmp_path / "rows.ledger", dataset="people")
    some = Question.records(list(BITS.domain.factors), where={"kind": "x"})
    for question, mechanism in (
        (BITS, dv.SampleBounded("1/2")),
        (some, dv.SampleBounded(1, delta="1e-6")),
        (KINDS_OF, dv.RandomisedRecord(1)),
        (some, dv.RandomisedRecord(1)),
        (BITS, dv.SampleProduct(1, "1e-6", rows=80)),
        (some, dv.SampleProduct(1, "1e-6", rows=80)),
    ):
        release = session.release(question, mechanism)
        again = dv.load(release.save(tmp_path / "a.json"))
        assert again.record == release.record and again.terms.law == release.terms.law
        assert "adding or removing one row" in release.promise
    few = dv.Session(FRAME[:0], ROW, dv.Budget(50), tmp_path / "none.ledger", dataset="nobody")
    assert set(few.release(BITS, dv.SampleBounded("1/2")).record.values()) <= {"0", "1"}
    assert few.release(KINDS_OF, dv.RandomisedRecord(1)).record["kind"] in ("x", "y", "z")


def test_a_user_counts_with_one_record_and_is_priced_for_as_many_as_the_unit_says(tmp_path: Path) -> None:
    frame = FRAME.assign(who=[f"u{at % 10}" for at in range(100)])
    for unit, exponent in ((Unit("who"), "1"), (Unit("who", max_bins=2, max_per_bin=3), "1/6")):
        session = dv.Session(frame, unit, dv.Budget(50), tmp_path / f"{exponent[-1]}.ledger", dataset="people")
        release = session.release(KINDS_OF, dv.SampleCategory(1))
        assert release.terms.law.to_json()["exponent"] == exponent and len(release.draw(3)) == 3
