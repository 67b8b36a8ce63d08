"""Stability, by enumeration of whole answers: price over all neighbours, threshold, error in closed form."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, exp_bounds
from dpviz.laws import tables
from dpviz.mechanisms.count_noise import BoundNoise
from dpviz.mechanisms.stability import StabilityBound
from dpviz.model.answers import SparseTable
from dpviz.model.laws.stability import TruncatedStabilityLaw
from dpviz.model.question import Question
from dpviz.model.statistic import Batch, SparseCounts, StreamedCounts, Visit
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import Unit
from tests.mechanisms import contract
from tests.mechanisms.contract import Case, Law
from tests.mechanisms.streams import Passing, streamed
from tests.mechanisms.test_dense import exponential, fast_oracle, geometric_oracle, rational, truncated_oracle
from tests.noise.choices import Choices

BETAS = [Fraction(1, 3), Fraction(1, 10), Fraction(1, 20), Fraction(1, 100)]
ROW = Unit("row")
TINY, SMALL, MORE = (Unit("row", relation="replace-one", n=n) for n in (4, 6, 12))
USER = Unit("user", max_bins=2, max_per_bin=1)
HEAVY = Unit("user", max_bins=1, max_per_bin=2)
SWAP = Unit("user", relation="replace-one", max_bins=1, max_per_bin=1)
KEYS = Question.of(dv.Domain.keys(column="x"))


def stability(unit: Unit, bins: int, mechanism: dv.Stability) -> StabilityBound:
    return mechanism.bind(Question.of(dv.Domain.integers(0, bins - 1, column="x")), unit)


def noise_oracle(bound: StabilityBound) -> Callable[[int], Law]:
    """The law of the noisy count, from the definition of the sampler."""
    part = bound.noise.finite
    if part is not None and part.kind == "fastsample":
        return fast_oracle(part.n, part.p, part.q, part.g, part.t)
    if part is not None:
        return geometric_oracle(rational(Fraction(part.q, part.p)), 0, part.n)
    step = bound.mechanism.epsilon / bound.unit.l1(bound.question.bins)
    if isinstance(bound.law, TruncatedStabilityLaw):
        return truncated_oracle(exponential(step), bound.threshold, 0, bound.noise.limit)
    return geometric_oracle(exponential(step), 0, bound.noise.limit)


def shown_above(b: int, noisy: Callable[[int], Law], *, empty: bool = False) -> Callable[[int], Law]:
    """StabilityHistogram of one bin: no noise where the count is 0, else the noisy count where it exceeds b."""

    def law(count: int) -> Law:
        if count == 0 and not empty:
            return {0: (Fraction(1), Fraction(1))}
        values = noisy(count)
        hidden = [pair for value, pair in values.items() if value <= b]
        shown = {value: pair for value, pair in values.items() if value > b}
        return {0: (sum(pair[0] for pair in hidden), sum(pair[1] for pair in hidden)), **shown}

    return law


def case_of(name: str, bound: StabilityBound, most: int) -> Case:
    return Case(name, bound, most, shown_above(bound.threshold, noise_oracle(bound)))


def made(unit: Unit, bins: int, name: str, epsilon: str, delta: str, **more: object) -> Case:
    bound = stability(unit, bins, dv.Stability(epsilon, delta, **more))  # type: ignore[arg-type]
    return case_of(name, bound, bound.noise.limit or 0)


GEO = {"base": "tight", "sampler": "geosample"}
FAST = {"base": "tight", "sampler": "fastsample", "gamma": "1/40"}
ROWS = [
    made(ROW, 2, "exp, add-remove", "1", "1/8", cap=6),
    made(ROW, 3, "exp, add-remove, three bins", "3/2", "1/10", cap=3),
    made(TINY, 3, "exp, replace-one, three bins", "2", "1/6"),
    made(SMALL, 2, "exp, replace-one", "2", "1/12"),
    made(ROW, 2, "GeoSample, add-remove", "1", "1/8", cap=6, **GEO),
    made(SMALL, 2, "GeoSample, replace-one", "3/2", "1/6", **GEO),
    made(TINY, 3, "GeoSample, replace-one, three bins", "2", "1/5", **GEO),
    made(SMALL, 2, "paper base, replace-one", "1", "1/5", base="paper", sampler="geosample"),
    made(ROW, 2, "FastSample, add-remove", "2", "1/10", cap=8, **FAST),
    made(MORE, 2, "FastSample, replace-one", "3", "1/10", **FAST),
    made(ROW, 2, "threshold 0", "1", "9/10", cap=4),
]
USERS = [
    made(USER, 2, "a user in two bins", "2", "1/4", cap=5),
    made(USER, 3, "a user in two of three bins", "3", "1/4", cap=3, **GEO),
    made(HEAVY, 2, "a user twice in one bin", "2", "1/3", cap=6),
    made(SWAP, 2, "a user exchanged", "2", "1/3", cap=6, **GEO),
]
PAPER = [
    made(Unit("row", relation="replace-one", n=9), 2, "table, GeoSample", "4", "1/3", variant="paper", **GEO),
    made(ROW, 2, "table, exp", "3", "1/10", cap=6, variant="paper"),
    made(
        ROW, 2, "table, FastSample", "3", "1/4", cap=9, variant="paper", base="tight", sampler="fastsample",
        gamma="1/16",
    ),
]  # fmt: skip
ALL = [*ROWS, *USERS, *PAPER]


def names(case: Case) -> str:
    return case.name


def bound_of(case: Case) -> StabilityBound:
    assert isinstance(case.bound, StabilityBound)
    return case.bound


def odds(case: Case) -> Enclosure:
    """What the price says: exp(epsilon), or (p/q)^l1 where the base is rational."""
    bound = bound_of(case)
    if bound.noise.finite is None:
        return exp_bounds(bound.mechanism.epsilon, 256)
    exact = Fraction(bound.noise.finite.p, bound.noise.finite.q) ** bound.noise.l1
    return exact, exact


def tau(case: Case, b: int, count: int = 1) -> Enclosure:
    """P[M(count) > b], from the oracle."""
    above = [pair for value, pair in noise_oracle(bound_of(case))(count).items() if value > b]
    return sum((pair[0] for pair in above), Fraction(0)), sum((pair[1] for pair in above), Fraction(0))


def any_shown(case: Case, b: int) -> Enclosure:
    """The chance that any of one unit's own bins is shown above b, where each is full; with noise that is truncated at
    b, of any bin that it moves: those that a replaced unit leaves, too."""
    bound, keep = bound_of(case), [Fraction(1), Fraction(1)]
    if bound.reach is None:
        amounts = [bound.unit.max_per_bin] * min(bound.unit.max_bins or 1, bound.question.bins)
    else:
        full, rest = divmod(bound.unit.l1(bound.question.bins), bound.unit.max_per_bin)
        amounts = [bound.unit.max_per_bin] * full + [rest] * (rest > 0)
    for amount in amounts:
        low, high = truncated_tau(case, b, amount) if bound.reach is not None else tau(case, b, amount)
        keep = [keep[0] * (1 - low), keep[1] * (1 - high)]
    return 1 - keep[0], 1 - keep[1]


def truncated_tau(case: Case, b: int, count: int) -> Enclosure:
    """P[count + Z > b] for noise that is truncated at b, whatever b is: from its weights."""
    step = bound_of(case).mechanism.epsilon / bound_of(case).noise.l1
    weights = [exp_bounds(-step * abs(z), 300) for z in range(-b, b + 1)]
    top = weights[len(weights) - count :]
    low, high = (sum(one[side] for one in top) for side in (0, 1))
    return low / sum(one[1] for one in weights), high / sum(one[0] for one in weights)


# ---------------------------------------------------------------- price


@pytest.mark.parametrize("case", ROWS, ids=names)
def test_the_worst_divergence_of_rows_is_exactly_tau_and_tau_is_within_the_charge(case: Case) -> None:
    bound = bound_of(case)
    stated = any_shown(case, bound.threshold)
    if (
        bound.reach is not None and bound.unit.n is not None
    ):  # few rows: no bin loses its lowest values where it is seen
        low, high = contract.worst_delta(case, odds(case))
        assert truncated_tau(case, bound.threshold, 1)[0] < low and high < stated[0] <= bound.mechanism.delta
        return
    contract.check_delta(case, exact_odds=odds(case), exact_delta=stated)


@pytest.mark.parametrize("case", ROWS, ids=names)
def test_twice_tau_is_rejected(case: Case) -> None:
    low, high = any_shown(case, bound_of(case).threshold)
    for wrong in (Fraction(2), Fraction(1001, 1000), Fraction(999, 1000)):
        with pytest.raises(AssertionError, match="not the worst divergence"):
            contract.check_delta(case, exact_odds=odds(case), exact_delta=(low * wrong, high * wrong))


@pytest.mark.parametrize("case", [case for case in ROWS if bound_of(case).threshold > 0], ids=names)
def test_at_least_instead_of_above_the_threshold_is_rejected(case: Case) -> None:
    """`>=` shows at b as well, which is the threshold b - 1: its divergence exceeds what is charged."""
    bound = bound_of(case)
    twin = Case("at least", bound, case.most, shown_above(bound.threshold - 1, noise_oracle(bound)))
    exact = tau(case, bound.threshold - 1)
    assert exact[0] > bound.mechanism.delta, "a smaller threshold would have done"
    for stated in (tau(case, bound.threshold), exact):
        with pytest.raises(AssertionError):
            contract.check_delta(twin, exact_odds=odds(case), exact_delta=stated)


@pytest.mark.parametrize("case", ROWS, ids=names)
def test_noise_on_empty_bins_is_rejected(case: Case) -> None:
    """A twin that draws for empty bins too is another mechanism: none appears, so the stated delta is not attained."""
    bound = bound_of(case)
    twin = Case("noise everywhere", bound, case.most, shown_above(bound.threshold, noise_oracle(bound), empty=True))
    if bound.reach is not None:  # truncated noise lifts no empty bin above the threshold
        assert set(twin.law(0)) == {0}
        return
    with pytest.raises(AssertionError, match="not the worst divergence"):
        contract.check_delta(twin, exact_odds=odds(case), exact_delta=tau(case, bound.threshold))


@pytest.mark.parametrize("case", [*USERS, *PAPER], ids=names)
def test_users_and_the_paper_never_diverge_by_more_than_their_charge(case: Case) -> None:
    worst = contract.worst_delta(case, odds(case))
    assert 0 < worst[1] <= case.bound.price.loss.delta


@pytest.mark.parametrize("case", [case for case in USERS if case.name != "a user exchanged"], ids=names)
def test_a_user_charged_as_a_row_is_rejected(case: Case) -> None:
    """At a threshold whose tau alone fits the stated delta, a user's divergence exceeds it."""
    bound = bound_of(case)
    b, noisy, charged = 1, noise_oracle(bound), tau(case, 1)[1]
    if bound.reach is not None:
        b = bound.unit.max_per_bin
        step = bound.mechanism.epsilon / bound.noise.l1
        noisy, charged = truncated_oracle(exponential(step), b, 0, bound.noise.limit), truncated_tau(case, b, 1)[1]
    twin = Case("row", bound, case.most, shown_above(b, noisy))
    assert contract.worst_delta(twin, odds(case))[0] > charged
    assert contract.worst_delta(twin, odds(case))[0] <= any_shown(case, b)[1]
    assert bound.reach is not None or any_shown(case, b)[1] < bound.steps * charged


@pytest.mark.parametrize("case", USERS, ids=names)
def test_the_worst_divergence_of_users_is_exactly_the_chance_that_any_of_their_own_bins_is_shown(case: Case) -> None:
    """Met, too, where a unit is exchanged: the bins that it leaves add nothing to those that it joins."""
    bound = bound_of(case)
    contract.check_delta(case, exact_odds=odds(case), exact_delta=any_shown(case, bound.threshold))
    other = tau(case, bound.threshold, 2 if bound.unit.max_per_bin == 1 else 1)  # of one bin, or of one row in it
    with pytest.raises(AssertionError, match="not the worst divergence"):
        contract.check_delta(case, exact_odds=odds(case), exact_delta=other)


def test_the_charge_is_what_was_typed() -> None:
    for case in ALL:
        mechanism = bound_of(case).mechanism
        assert case.bound.price.loss.delta == mechanism.delta and case.bound.price.epsilon <= mechanism.epsilon


# ---------------------------------------------------------------- the threshold


@pytest.mark.parametrize("case", [*ROWS, *USERS], ids=names)
def test_the_threshold_is_the_least_whose_delta_fits(case: Case) -> None:
    bound = bound_of(case)
    b, delta = bound.threshold, bound.mechanism.delta
    assert any_shown(case, b)[1] <= delta
    assert b == (0 if bound.reach is None else bound.unit.max_per_bin) or any_shown(case, b - 1)[0] > delta
    if bound.reach is not None:
        assert b <= bound.whole_threshold
        return
    for at in range(case.most + 1):
        (low, high), (ours_low, ours_high) = tau(case, at), bound.noise.law.above(1, at, 128)
        assert ours_low <= high and low <= ours_high and ours_high - ours_low < Fraction(1, 10**30)


def test_the_numbers_of_the_paper_at_one_tenth() -> None:
    """Replace-one, 1/epsilon = 10, delta = 1e-6: 654 in the table, 450 the least b with 2 tau <= delta, 427 by tau."""
    unit = Unit("row", relation="replace-one", n=1000)
    paper = dv.Stability("1/10", "1e-6", base="paper", variant="paper").bind(KEYS, unit)
    ours = dv.Stability("1/10", "1e-6", base="paper").bind(KEYS, unit)
    delta, ratio = Fraction(1, 10**6), Fraction(32, 33)
    exact = {b: ratio ** (b - 1) * Fraction(32, 65) for b in range(400, 660)}
    assert (paper.noise.finite.p, paper.noise.finite.q, paper.noise.finite.kind) == (33, 32, "geosample")  # type: ignore[union-attr]
    assert paper.threshold == tables.stability_threshold(Fraction(1, 10), delta, column="geosample") == 654
    assert min(b for b in exact if 2 * exact[b] <= delta) == 450
    assert min(b for b in exact if exact[b] <= delta) == ours.threshold == 427
    assert [note[1]["value"] for note in ours.notes] == ["654", "427"]


def test_a_uniform_count_is_rarer_than_a_quarter_of_delta_unless_somebody_says_otherwise() -> None:
    million = Unit("row", relation="replace-one", n=10**6)
    for variant in ("repaired", "paper"):
        bound = dv.Stability(1, "1e-12", base="tight", variant=variant).bind(KEYS, million)  # type: ignore[arg-type]
        assert bound.noise.junk and Fraction(1, bound.noise.finite.g) <= Fraction(1, 4 * 10**12)  # type: ignore[union-attr]
        assert bound.noise.law.above(1, bound.threshold, 128)[1] <= Fraction(1, 10**12) and bound.threshold < 200
    with pytest.raises(ParameterError, match="at most δ/4"):
        dv.Stability(1, "1e-12", base="tight", gamma="1e-9", variant="paper").bind(KEYS, million)


def test_a_threshold_that_nothing_passes_is_refused() -> None:
    with pytest.raises(ParameterError, match="no count of at most 100 would ever be shown"):
        dv.Stability("1/10", "1e-9", cap=100).bind(KEYS, ROW)
    with pytest.raises(ParameterError, match="no count of at most 50 would ever be shown"):
        dv.Stability("1/10", "1e-9").bind(KEYS, Unit("row", relation="replace-one", n=50))


# ---------------------------------------------------------------- error and release probability


WIDE = [
    case_of("exp, unlimited", stability(ROW, 2, dv.Stability(1, "1/100")), 40),
    case_of("exp, unlimited user", stability(HEAVY, 2, dv.Stability(2, "1/50")), 40),
]


@pytest.mark.parametrize("case", [*ALL, *WIDE], ids=names)
def test_the_closed_forms_are_the_enumerated_chances(case: Case) -> None:
    error = case.bound.error
    for count in range(case.most + 1):
        law = case.law(count)
        shown = 1 - law[0][0]
        assert error.chance_shown(count) == pytest.approx(float(shown), abs=1e-12)
        for a in range(case.most + 2):
            low, high = error.tail(count, a)  # type: ignore[attr-defined]
            exact = contract.tail(case, count, a)
            assert low <= exact[1] and exact[0] <= high and high - low < Fraction(1, 10**30)


@pytest.mark.parametrize("beta", BETAS, ids=str)
@pytest.mark.parametrize("case", [case for case in [*ALL, *WIDE] if not bound_of(case).noise.junk], ids=names)
def test_the_stated_error_of_one_bin_is_the_least_that_holds_for_every_count(case: Case, beta: Fraction) -> None:
    assert case.bound.error.one_bin(beta).how == "exact"  # type: ignore[union-attr]
    contract.check_one_bin(case, beta)


@pytest.mark.parametrize("beta", BETAS, ids=str)
@pytest.mark.parametrize("case", [case for case in ALL if bound_of(case).noise.junk], ids=names)
def test_the_stated_error_of_fastsample_is_a_bound(case: Case, beta: Fraction) -> None:
    stated = case.bound.error.one_bin(beta)
    assert stated is not None and stated.how == "bound"
    for count in range(case.most + 1):
        assert contract.tail(case, count, int(stated.value))[1] <= beta
        own = int(case.bound.error.one_bin(beta, count=count).value)  # type: ignore[union-attr]
        assert contract.tail(case, count, own)[1] <= beta
        assert own == 0 or contract.tail(case, count, own - 1)[0] > beta


@pytest.mark.parametrize("beta", BETAS, ids=str)
@pytest.mark.parametrize("case", [*ALL, *WIDE], ids=names)
def test_the_stated_error_of_all_bins_holds_for_every_vector_and_is_the_least_where_it_says_so(
    case: Case, beta: Fraction
) -> None:
    stated, bound = case.bound.error.all_bins(beta), bound_of(case)
    assert stated is not None and stated.how == ("exact" if bound.unit.n is None and not bound.noise.junk else "bound")
    vectors = [
        vector
        for vector in itertools.combinations_with_replacement(range(case.most + 1), bound.question.bins)
        if bound.unit.n is None or sum(vector) <= bound.unit.n
    ]
    if stated.how == "exact":
        contract.check_all_bins(case, beta, vectors)
        return
    for vector in vectors:
        holds = Fraction(1)
        for count in vector:
            holds *= 1 - contract.tail(case, count, int(stated.value))[1]
        assert holds >= 1 - beta


def test_all_of_unknown_keys_have_no_error_that_somebody_could_know_beforehand() -> None:
    assert dv.Stability(1, "1e-6").bind(KEYS, ROW).error.all_bins(Fraction(1, 20)) is None
    public = dv.Stability(1, "1e-6").bind(KEYS, Unit("row", relation="replace-one", n=1000))
    assert public.error.all_bins(Fraction(1, 20)).value >= public.error.one_bin(Fraction(1, 20)).value  # type: ignore[union-attr]


# ---------------------------------------------------------------- draws


@pytest.mark.parametrize("case", ALL, ids=names)
def test_draws_follow_the_law_in_every_bin_and_in_every_mode(case: Case) -> None:
    counts = tuple([1, max(1, case.most - 2), 0][: case.bound.question.bins])
    for mode in case.bound.modes():
        assert contract.check_draws(case, counts, 2_000, mode, seed=11) > contract.FALSE_ALARM


def test_an_empty_bin_that_is_shown_once_is_rejected() -> None:
    law = ROWS[0].law(0)
    assert contract.p_value(np.zeros(2_000, dtype=np.int64), law) == 1
    assert contract.p_value(np.array([0] * 1_999 + [3]), law) == 0


@pytest.mark.parametrize("more", [{}, {"base": "tight", "sampler": "geosample"}, FAST], ids=["exp", "geo", "fast"])
def test_a_threshold_one_off_or_a_law_three_percent_off_is_rejected(more: dict[str, str]) -> None:
    """Power: 500,000 bins of 3 at epsilon 1 (40,000 for the strict samplers): three percent in the rate, or a cell of
    several percent that is shown or not, shift chi-square by hundreds: p < 1e-30."""
    size = 40_000 if more else 500_000
    bound = stability(ROW, size, dv.Stability(1, "1/8", cap=10, **more))  # type: ignore[arg-type]
    count = 5 if bound.reach is None else 3  # which has values on both sides of every threshold
    held = SparseCounts(np.arange(size, dtype=np.uint64), np.full(size, count))
    right = noise_oracle(bound)
    for mode in bound.modes():
        values = contract.row(bound.draw(held, TeachingBits(5), mode=mode), size)
        assert contract.p_value(values, shown_above(bound.threshold, right)(count)) > contract.FALSE_ALARM
        assert contract.p_value(values, shown_above(bound.threshold + 1, right)(count)) < 1e-30
        assert contract.p_value(values, shown_above(bound.threshold - 1, right)(count)) < 1e-30
        if not more:
            assert bound.reach == bound.threshold == 2
            for wrong in (Fraction(103, 100), Fraction(97, 100)):
                law = shown_above(bound.threshold, truncated_oracle(exponential(wrong), 2, 0, 10))
                assert contract.p_value(values, law(count)) < 1e-30
            for reach in (1, 3):  # noise cut one lower, or one higher than the threshold
                law = shown_above(bound.threshold, truncated_oracle(exponential(Fraction(1)), reach, 0, 10))
                assert contract.p_value(values, law(count)) < 1e-30


def test_labels_are_ascending_and_nothing_at_or_below_the_threshold_is_shown() -> None:
    labels = np.array([f"key {number:04}" for number in range(2_000)], dtype=object)
    bound = dv.Stability("1/2", "1e-3").bind(KEYS, ROW)
    answer = bound.draw(SparseCounts(labels, np.arange(1, 2_001) % 40 + 1), TeachingBits(1), mode="exact")
    assert list(answer.labels) == sorted(set(answer.labels)) and 0 < len(answer.labels) < 2_000
    assert (answer.values > bound.threshold).all()


def test_the_only_tick_is_the_same_for_any_number_of_occupied_bins() -> None:
    bound = dv.Stability("1/2", "1e-3").bind(KEYS, ROW)
    seen = []
    for size in (0, 1, 200_000):
        ticks: list[tuple[int, int]] = []
        held = SparseCounts(np.array([f"{number:07}" for number in range(size)], dtype=object), np.full(size, 10**12))
        bound.draw(held, TeachingBits(1), mode="exact", tick=lambda done, of, to=ticks: to.append((done, of)))  # type: ignore[misc]
        seen.append(ticks)
    assert seen[0] == seen[1] == seen[2] == [(0, 1)]


def test_counts_beyond_a_public_cap_are_clamped_in_silence() -> None:
    for more in ({}, GEO, FAST):
        bound = dv.Stability(1, "1/8", cap=9, **more).bind(KEYS, ROW)  # type: ignore[arg-type]
        for mode in bound.modes():
            held = SparseCounts(np.array(["a", "b"], dtype=object), np.array([10**15, 9]))
            assert (bound.draw(held, TeachingBits(2), mode=mode).values <= 9).all()
        assert bound.error.chance_shown(10**15) == bound.error.chance_shown(9)


# ---------------------------------------------------------------- bins that come in batches


def exact_noise(bound: StabilityBound) -> Callable[[int], Law]:
    """The law of the noisy count as fractions: what `noise_oracle` encloses, with a tail in closed form."""
    part = bound.noise.finite
    assert part is not None
    if part.kind == "fastsample":
        return noise_oracle(bound)
    a, n = Fraction(part.q, part.p), part.n

    def law(count: int) -> Law:
        ends = {0: a**count / (1 + a), n: a ** (n - count) / (1 + a)}
        inner = {value: (1 - a) / (1 + a) * a ** abs(value - count) for value in range(1, n)}
        return {value: (chance, chance) for value, chance in {**ends, **inner}.items()}

    return law


def exactly(case: Case) -> Case:
    bound = bound_of(case)
    return Case(case.name, bound, case.most, shown_above(bound.threshold, exact_noise(bound)))


THREE = {
    "GeoSample": exactly(made(ROW, 3, "GeoSample, add-remove, three bins", "1", "1/5", cap=4, **GEO)),
    "FastSample": exactly(made(ROW, 3, "FastSample, add-remove, three bins", "2", "1/6", cap=4, **FAST)),
}
Draw = Callable[[StabilityBound, SparseCounts], SparseTable]


def passing_law(
    case: Case, counts: tuple[int, ...], batches: Sequence[Sequence[int]], draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> dict[tuple[int, ...], Fraction]:
    """The exact law of a whole answer, with the noisy count of each bin taking every value that it can."""
    choices, noisy_law = Choices(), exact_noise(bound_of(case))

    def add(self: object, given: np.ndarray, *_: object, **__: object) -> np.ndarray:
        drawn = [choices.one_of([(v, pair[0]) for v, pair in noisy_law(count).items()]) for count in given.tolist()]
        return np.array(drawn, dtype=np.int64)

    monkeypatch.setattr(BoundNoise, "add", add)
    occupied = {place: count for place, count in enumerate(counts) if count}
    law: dict[tuple[int, ...], Fraction] = {}
    for _ in choices.runs():
        answer = draw(bound_of(case), StreamedCounts(Passing(occupied, batches)))
        values = tuple(contract.row(answer, len(counts)).tolist())
        law[values] = law.get(values, Fraction(0)) + choices.chance
    return law


def exact_law(case: Case, counts: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    law = contract.output_law(case, counts)
    assert all(low == high for low, high in law.values())
    return {values: low for values, (low, _) in law.items() if low}


def rightly(bound: StabilityBound, held: SparseCounts) -> SparseTable:
    return bound.draw(held, TeachingBits(1), mode="exact")


@pytest.mark.parametrize("batches", [((0, 1, 2),), ((2,), (), (1, 0)), ((1,), (2,), (0,))], ids=str)
@pytest.mark.parametrize("name", THREE)
def test_bins_that_come_in_batches_have_exactly_the_law_of_bins_that_come_at_once(
    name: str, batches: Sequence[Sequence[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal as fractions, in every outcome, in any order; an empty bin never comes."""
    case = THREE[name]
    for count in range(case.most + 1):
        ours, enclosed = exact_noise(bound_of(case))(count), noise_oracle(bound_of(case))(count)
        assert sum(low for low, _ in ours.values()) == 1
        assert all(enclosed[value][0] <= low <= enclosed[value][1] for value, (low, _) in ours.items())
    for counts in ((1, 4, 2), (3, 3, 1)):
        assert passing_law(case, counts, batches, rightly, monkeypatch) == exact_law(case, counts)
    two = [[place for place in batch if place != 1] for batch in batches]
    assert passing_law(case, (1, 0, 2), two, rightly, monkeypatch) == exact_law(case, (1, 0, 2))


class Spoiled:
    """Batches that somebody handles wrongly on their way."""

    def __init__(self, held: SparseCounts, change: Callable[[int, Batch], Batch]) -> None:
        self._held, self._change = held, change

    def each(self, visit: Visit) -> None:
        seen: list[Batch] = []
        self._held.each(seen.append)
        for place, batch in enumerate(seen):
            visit(self._change(place, batch))

    def whole(self) -> Any:
        return self._held.take()


def spoiled(change: Callable[[int, Batch], Batch]) -> Draw:
    return lambda bound, held: rightly(bound, StreamedCounts(Spoiled(held, change)))


def with_one_noise(bound: StabilityBound, held: SparseCounts) -> SparseTable:
    """The first bin's noise is that of every batch: as if each batch began with the same random bits."""
    parts: list[tuple[Any, int]] = []
    held.each(lambda batch: parts.extend(zip(batch.labels().tolist(), batch.counts.tolist(), strict=True)))
    first = int(bound.noise.add(np.array([parts[0][1]]), TeachingBits(1), "exact")[0]) - parts[0][1]
    noisy = np.clip(np.array([count + first for _, count in parts]), 0, bound.noise.limit)
    labels = np.array([label for label, _ in parts])
    order = np.argsort(labels)
    kept = noisy[order] > bound.threshold
    return SparseTable(tuple(labels[order][kept].tolist()), noisy[order][kept])


SPOILED: dict[str, Draw] = {
    "the last of a batch is lost": spoiled(lambda _, batch: Batch(batch.labels()[:-1], batch.counts[:-1])),
    "the second batch is lost": spoiled(
        lambda at, batch: Batch(batch.labels()[:0], batch.counts[:0]) if at == 1 else batch
    ),
    "labels and counts come in different orders": spoiled(lambda _, batch: Batch(batch.labels()[::-1], batch.counts)),
    "one noise for all batches": with_one_noise,
}


@pytest.mark.parametrize("name", SPOILED)
def test_batches_that_are_handled_nearly_rightly_have_another_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, counts = THREE["GeoSample"], (1, 4, 2)
    law = passing_law(case, counts, ((2, 1), (0,)), SPOILED[name], monkeypatch)
    assert sum(law.values()) == 1 and law != exact_law(case, counts)


@pytest.mark.parametrize("case", [ROWS[0], ROWS[4], ROWS[8]], ids=names)
def test_streamed_draws_follow_the_law_in_every_bin_and_in_every_mode(case: Case) -> None:
    counts = 1, max(1, case.most - 2)
    held = streamed(dict(enumerate(counts)), size=1)
    for mode in case.bound.modes():
        bits = TeachingBits(12)
        answers = [bound_of(case).draw(held, bits, mode=mode) for _ in range(2_000)]
        rows = np.array([contract.row(answer, 2) for answer in answers])
        for place, count in enumerate(counts):
            assert contract.p_value(rows[:, place], case.law(count)) > contract.FALSE_ALARM


def test_keys_that_come_in_any_order_are_shown_ascending_and_no_tick_tells_how_many() -> None:
    bound = dv.Stability("1/2", "1e-3").bind(KEYS, ROW)
    for many in (0, 1, 3_000):
        counts = {f"key {number:04}": number % 40 + 1 for number in range(many)}
        ticks: list[tuple[int, int]] = []
        answer = bound.draw(
            streamed(counts, size=700), TeachingBits(1), mode="exact", tick=lambda *done, to=ticks: to.append(done)
        )
        assert list(answer.labels) == sorted(set(answer.labels)) and set(answer.labels) <= set(counts)
        assert ticks == [(0, 1)] and (many < 3_000 or 300 < len(answer.labels) < 3_000)
        assert SparseTable.unpack(answer.pack()).labels == answer.labels


def test_a_plan_says_which_counts_are_always_shown_where_there_are_such() -> None:
    """A cap lowers a count before the noise, so that the largest may be hidden behind one that is not high enough."""
    keys, unit = Question.of(dv.Domain.keys(column="x")), dv.Unit("user", max_bins=7)
    reach = dv.Stability(1, "1e-3").bind(keys, unit).threshold
    for cap, always in ((None, True), (reach + 9, False), (2 * reach, False), (2 * reach + 1, True)):
        bound = dv.Stability(1, "1e-3", cap=cap).bind(keys, unit)
        told = f"those of more than {2 * reach} always" in bound.verb
        law = bound.law
        assert isinstance(law, TruncatedStabilityLaw) and law.threshold == reach
        lowest = [law.drawn.above(count, reach, 128)[0] for count in (2 * reach, 2 * reach + 1, 10**6)]
        hidden = bound.error.chance_shown(10**6)
        assert told == always == (hidden == 1)
        assert cap is not None or (lowest[0] < 1 and lowest[1] == lowest[2] == 1)


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    "wrong",
    [{"delta": 0}, {"delta": "-1e-6"}, {"delta": 1}, {"delta": "1e-6", "variant": "printed"}, {"delta": "x"}],
    ids=str,
)
def test_wrong_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        dv.Stability("1", **wrong)  # type: ignore[arg-type]


def test_parameters_are_texts_that_make_the_same_mechanism_again() -> None:
    for mechanism in (
        dv.Stability("1/3", "1e-9"),
        dv.Stability(1, "1/1000", base="tight", sampler="fastsample", gamma="1/10000", cap=99, variant="paper"),
    ):
        assert dv.Stability.from_parameters(mechanism.parameters()) == mechanism
        assert eval(mechanism.python, {"dv": dv}) == mechanism
