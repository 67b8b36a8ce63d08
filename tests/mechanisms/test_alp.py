"""ALP and ThresholdALP: price by the worst ratio of whole structures, error by the whole law of an estimate."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, ParameterError, ReleaseFormat
from dpviz.exact import log_at_most
from dpviz.fitting import unary
from dpviz.laws.alp import Flips, estimates, odds
from dpviz.mechanisms.alp import SketchBound
from dpviz.model.answers import Reading, Sketch
from dpviz.model.answers.sketch import SketchPlan
from dpviz.model.laws import law_from_json
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise.alp import Columns
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import Unit
from dpviz.privacy.conversion import STEP
from tests.noise.test_alp import SEED, ratio

ROW, SWAP = Unit("row"), Unit("row", relation="replace-one", n=100)
USER, HEAVY = Unit("user", max_bins=2, max_per_bin=1), Unit("user", max_bins=1, max_per_bin=2)
HUGE = Question.of(dv.Domain.integers(0, 2**32 - 1, column="key"))
KEYS = Question.of(dv.Domain.keys(column="word"))
SUMS = Question.sum("x", by=dv.Domain.integers(0, 99, column="k"), low=0, high=2, step="0.5")


def bound_of(mechanism: dv.ALP | dv.ThresholdALP, question: Question = HUGE, unit: Unit = ROW) -> SketchBound:
    return mechanism.bind(question, unit)


def reading(bound: SketchBound) -> Reading:
    return Reading(bound.question, bound.unit, bound.error, bound.clamp, None, 1)


def worst(bound: SketchBound, moved: list[int]) -> Fraction:
    """The worst ratio where these keys move by so many steps from 0, no two of them together in a column."""
    plan = bound.plan
    columns = Columns(SEED, 3, 4)
    scaled = {key: plan.worth * by for key, by in zip((1, 2), moved, strict=False) if by}
    return ratio({key: Fraction(0) for key in scaled}, scaled, columns, plan.flips.p)


# ---------------------------------------------------------------- price


@pytest.mark.parametrize(
    ("unit", "moves"), [(ROW, [1]), (SWAP, [1, 1]), (USER, [1, 1]), (HEAVY, [2])], ids=["row", "swap", "user", "heavy"]
)
@pytest.mark.parametrize("epsilon", ["1/2", "1", "2"])
def test_the_exact_price_is_met_and_never_passed(unit: Unit, moves: list[int], epsilon: str) -> None:
    bound = bound_of(dv.ALP(epsilon, cap=4, keys=10), unit=unit)
    found, paid = worst(bound, moves), bound.price.epsilon
    assert log_at_most(found, paid) and paid <= Fraction(epsilon)
    assert not log_at_most(found, paid - 2 * STEP), "the price is the worst ratio, rounded up"
    one_bit_more = odds(bound.plan.flips.alpha, bound.plan.worth * max(moves) * Fraction(101, 100)) ** len(moves)
    assert not log_at_most(one_bit_more, Fraction(epsilon)), "a step worth a hundredth more is refused by the same test"


def test_the_paper_s_price_is_kept_and_dearer() -> None:
    exact, paper = (bound_of(dv.ALP(1, cap=100, keys=10, accounting=name)) for name in ("count-exact", "l1-real"))
    assert abs(float(exact.plan.worth / paper.plan.worth) - (math.e - 1)) < 1e-6
    assert paper.price.epsilon <= 1 and paper.plan.worth * paper.plan.flips.alpha <= 1
    several = ratio({1: Fraction(0)}, {1: paper.plan.worth}, Columns(SEED, 3, 4), paper.plan.flips.p)
    assert log_at_most(several, Fraction(7, 10)), "which a count that moves by one does not need"


def test_a_sum_moves_by_its_steps() -> None:
    bound = bound_of(dv.ALP(1, cap=20, keys=10), SUMS)
    assert (
        bound.plan.worth * bound.plan.flips.alpha * 4
        <= 1
        < bound.plan.worth * bound.plan.flips.alpha * 4 * Fraction(1001, 1000)
    )
    exact = bound_of(dv.ALP(1, cap=20, keys=10, accounting="count-exact"), SUMS)
    assert log_at_most(worst(exact, [4]), Fraction(1)) and exact.plan.worth > bound.plan.worth


def test_algorithm_10_is_the_same_engine_with_one_bit_for_each_count() -> None:
    for epsilon in ("1/2", "1", "3"):
        bound = bound_of(dv.ALP(epsilon, cap=9, keys=10, encoding="histogram"))
        assert bound.plan.worth == 1 and bound.plan.columns == 9
        found = worst(bound, [1])
        assert found == (1 - bound.plan.flips.p) / bound.plan.flips.p
        assert log_at_most(found, bound.price.epsilon) and bound.price.epsilon <= Fraction(epsilon)
        finer = Flips(bound.plan.flips.p - Fraction(1, 2**16)).alpha + 1
        assert not log_at_most(finer, Fraction(epsilon)), "the next smaller chance costs too much"
    both = [bound_of(dv.ALP(Fraction(693147, 500000), cap=9, keys=10, encoding=one)) for one in ("unary", "histogram")]
    assert abs(float(both[0].plan.worth) - 1) < 1e-3, "at ln 4 and alpha 3 the two coincide"


def test_both_parts_of_a_threshold_alp_are_paid() -> None:
    bound = bound_of(dv.ThresholdALP("1", keys=10, split="1/4", delta="1e-6"))
    assert bound.cut is not None and bound.cut.exponent == Fraction(1, 4)
    alone = bound_of(dv.ALP("3/4", cap=100, keys=10))
    assert bound.plan.worth == alone.plan.worth and bound.price.epsilon == Fraction(1, 4) + alone.price.epsilon
    assert bound.price.loss.delta == Fraction(1, 10**6)


# ---------------------------------------------------------------- error


def chances(m: int, flips: Flips, worth: Fraction, value: int, a: int) -> Fraction:
    """The chance that the estimate of a value is off by more than a, by the whole law."""
    scaled = min(value * worth, Fraction(m))
    low = min(math.floor(scaled), m - 1)
    found = Fraction(0)
    for y, share in ((low, low + 1 - scaled), (low + 1, scaled - low)):
        law = estimates(m, y, flips)
        found += share * sum((part for one, part in law.items() if abs(one / worth - value) > a), Fraction(0))
    return found


@pytest.mark.parametrize(("cap", "columns"), [(9, 6), (20, 12), (24, 14)])
def test_a_stated_error_holds_for_every_value_and_for_any_number_of_collisions(cap: int, columns: int) -> None:
    """By the whole law, exactly: for every value up to the cap, with no key but its own, and with as many as were said.
    A third of it does not hold."""
    bound = bound_of(dv.ALP(1, cap=cap, keys=1600))
    assert bound.plan.columns == columns and bound.plan.collisions == Fraction(1600, 2**14)
    for beta in (Fraction(1, 10), Fraction(1, 20)):
        stated = int(bound.error.one_bin(beta).value)  # type: ignore[union-attr]
        worsts = []
        for flips in (bound.plan.flips, Flips(bound.plan.flips.p)):
            values = range(0, cap + 1, 1 if columns < 14 else 4)
            off = [chances(columns, flips, bound.plan.worth, value, stated) for value in values]
            assert max(off) <= beta
            worsts.append(max(chances(columns, flips, bound.plan.worth, value, stated // 3) for value in values))
        assert max(worsts) > beta
    for value in (0, 3, cap // 2):
        own = int(bound.error.one_bin(Fraction(1, 20), count=value).value)  # type: ignore[union-attr]
        assert chances(columns, bound.plan.flips, bound.plan.worth, value, own) <= Fraction(1, 20)


def chances_of(reader: str, m: int, flips: Flips, plan: SketchPlan, value: int, a: int) -> float:
    """The same of another estimator of this plan, where keys collide as these flips say."""
    strings = ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1).astype(np.uint8)
    estimator = unary.likelihood if reader == "likelihood" else unary.posterior_median
    found = np.array([float(one) for one in estimator(strings, float(plan.flips.p), float(plan.flips.raised))])
    scaled = min(float(value * plan.worth), float(m))
    low = min(math.floor(scaled), m - 1)
    total = 0.0
    for y, share in ((low, low + 1 - scaled), (low + 1, scaled - low)):
        ones = np.where(np.arange(m) < y, 1 - float(flips.p), float(flips.raised))
        law = np.where(strings == 1, ones, 1 - ones).prod(axis=1)
        total += share * float(law[np.abs(found / float(plan.worth) - value) > a].sum())
    return total


@pytest.mark.parametrize("reader", ["likelihood", "posterior-median"])
@pytest.mark.parametrize(("cap", "columns"), [(9, 6), (20, 12)])
def test_the_other_estimators_have_errors_that_hold_for_every_value(reader: str, cap: int, columns: int) -> None:
    """As above, from all strings, with no key but its own and with as many as were said. A third of it does not hold;
    nor does what an estimator would need that never meets another key."""
    bound = bound_of(dv.ALP(1, cap=cap, keys=6000, room=3))
    plan, alone = bound.plan, Flips(bound.plan.flips.p)
    assert plan.columns == columns and plan.collisions > Fraction(1, 6)
    error = bound.error.estimator(reader)
    for beta in (Fraction(1, 10), Fraction(1, 20)):
        stated = int(error.one_bin(beta).value)  # type: ignore[union-attr]
        off = {
            a: max(
                chances_of(reader, columns, flips, plan, value, a)
                for flips in (plan.flips, alone)
                for value in range(0, cap + 1, 1 if columns < 12 else 2)
            )
            for a in (stated, stated // 3)
        }
        assert off[stated] <= beta < off[stated // 3]
        assert error.one_bin(beta) == error.estimator(reader).one_bin(beta) and error.all_bins(beta) is not None
    assert error.expected(0) is None and error.quantiles([Fraction(1, 2)]) is None, "pictures are of the default one"


def test_a_stated_error_behind_a_threshold_holds_for_every_value() -> None:
    bound = bound_of(dv.ThresholdALP(2, keys=1600, delta="1/1000"))
    cut, plan = bound.cut, bound.plan
    assert cut is not None and plan.columns <= 12
    r = math.exp(-float(cut.exponent))

    def reaches(distance: int) -> float:
        return r**distance / (1 + r) if distance >= 0 else 1 - r ** (1 - distance) / (1 + r)

    for beta in (Fraction(1, 10), Fraction(1, 20)):
        stated = int(bound.error.one_bin(beta).value)  # type: ignore[union-attr]
        seen = []
        for a in (stated, stated // 2):
            found = []
            for value in range(3 * cut.least):
                kept = reaches(cut.least - value) if value else 0.0
                away = sum(
                    r ** abs(z) * (1 - r) / (1 + r) for z in range(cut.least - value, 200) if abs(z) > a and value
                )
                found.append((1 - kept) * float(chances(plan.columns, plan.flips, plan.worth, value, a)) + away)
            seen.append(max(found))
        assert seen[0] <= beta < seen[1]


def test_an_estimate_at_the_end_of_the_bits_leaves_its_interval_open() -> None:
    bound = bound_of(dv.ALP(2, cap=20, keys=10))
    answer = bound.draw(SparseCounts(np.array([5], dtype=np.uint64), np.array([10**6])), TeachingBits(1), mode="exact")
    intervals = answer.intervals(reading(bound), Fraction(1, 20), points=[5, 77])
    assert intervals is not None and intervals.high[0] is None and intervals.high[1] is not None
    assert intervals.low[1] == 0 and intervals.low[0] > 5


def test_look_ups_at_once_are_a_union_bound() -> None:
    bound = bound_of(dv.ALP(1, cap=100, keys=1000))
    one, many = (bound.error.look_ups(number, Fraction(1, 20)) for number in (1, 1000))
    assert (
        one is not None and many is not None and bound.error.one_bin(Fraction(1, 20000)).value == many.value > one.value
    )  # type: ignore[union-attr]
    assert bound_of(dv.ALP(1, cap=100, keys=1000), KEYS).error.all_bins(Fraction(1, 20)) is None


# ---------------------------------------------------------------- reading


def drawn(mechanism: dv.ALP | dv.ThresholdALP, question: Question = HUGE) -> tuple[SketchBound, Sketch, np.ndarray]:
    bound = bound_of(mechanism, question)
    values = np.arange(1, 301) % 60 + 1
    labels = (
        np.arange(300, dtype=np.uint64) * 7919
        if question.domain.declared
        else np.array([f"w{i:03}" for i in range(300)], dtype=object)
    )
    return bound, bound.draw(SparseCounts(labels, values), TeachingBits(11), mode="exact"), labels


@pytest.mark.parametrize("question", [HUGE, KEYS, Question.of(dv.Domain.integers(0, 2**70, column="key"))])
def test_any_key_is_read_and_most_intervals_hold(question: Question) -> None:
    """300 keys at beta 0.05; more than 60 misses have a chance below 1e-20 for independent ones."""
    for mechanism in (dv.ALP(2, cap=100, keys=300), dv.ThresholdALP(2, keys=300, delta="1e-6", adaptive=True)):
        bound, answer, labels = drawn(mechanism, question)
        points, values = labels.tolist(), (np.arange(1, 301) % 60 + 1).tolist()
        intervals = answer.intervals(reading(bound), Fraction(1, 20), points=points)
        assert intervals is not None
        ends = zip(intervals.low, intervals.high, values, strict=True)
        assert sum(low > value or (high is not None and high < value) for low, high, value in ends) < 60
        for reader in answer.readers:
            own = answer.intervals(reading(bound), Fraction(1, 20), points=points, reader=reader)
            assert own is not None
            ends = zip(own.low, own.high, values, strict=True)
            assert sum(low > value or (high is not None and high < value) for low, high, value in ends) < 60
            found = answer.read(reading(bound), points, reader)
            assert np.mean([abs(float(one) - value) for one, value in zip(found, values, strict=True)]) < 6


def test_what_is_kept_is_read_as_it_was_drawn_and_left_out_where_asked() -> None:
    bound, answer, _ = drawn(dv.ThresholdALP(2, keys=300, delta="1e-6"))
    kept = dict(zip(answer.labels, answer.values.tolist(), strict=True))
    assert len(kept) > 100 and all(value >= bound.cut.least for value in kept.values())  # type: ignore[union-attr]
    assert answer.read(reading(bound), list(kept)) == list(kept.values())
    _, without, _ = drawn(dv.ThresholdALP(2, keys=300, delta="1e-6", adaptive=True))
    ones = [np.unpackbits(one.packed).sum() for one in (answer, without)]
    assert ones[1] < ones[0], "fewer bits are set"


def test_more_keys_and_larger_values_than_were_said_are_taken_in_silence() -> None:
    for mechanism in (dv.ALP(1, cap=10, keys=5), dv.ThresholdALP(1, keys=5)):
        bound = bound_of(mechanism)
        labels = np.arange(20_000, dtype=np.uint64)
        answer = bound.draw(SparseCounts(labels, np.full(20_000, 2**40)), TeachingBits(1), mode="exact")
        assert bound.accepts(answer)


@pytest.mark.parametrize("question", [HUGE, KEYS])
def test_columns_of_any_size_have_the_room_that_was_asked_for(question: Question) -> None:
    """300 keys at beta 0.05; more than 60 misses have a chance below 1e-20 for independent ones."""
    mechanism = dv.ThresholdALP(2, keys=300, delta="1e-6", hashing="carter-wegman")
    bound, answer, labels = drawn(mechanism, question)
    plan, usual = bound.plan, bound_of(dv.ThresholdALP(2, keys=300, delta="1e-6"), question).plan
    assert (plan.slots, plan.size, usual.slots, usual.size) == (3000, 3000, 4096, 0) and answer.packed.shape[1] == 375
    assert Fraction(1, 10) < plan.collisions < Fraction(1, 10) + Fraction(1, 2**100) and bound.accepts(answer)
    assert bound.price == bound_of(dv.ThresholdALP(2, keys=300, delta="1e-6"), question).price
    intervals = answer.intervals(reading(bound), Fraction(1, 20), points=labels.tolist())
    assert intervals is not None
    ends = zip(intervals.low, intervals.high, (np.arange(1, 301) % 60 + 1).tolist(), strict=True)
    assert sum(low > value or (high is not None and high < value) for low, high, value in ends) < 60
    stored, law = answer.to_json(), bound.law.to_json()
    assert Sketch.from_json(stored) == answer and law["size"] == "3000" == stored["plan"]["size"]
    assert law_from_json(law) == bound.law and "size" not in usual.to_json()
    for size in ("0", "3001", "5000", "2048", "-8", "03000"):
        with pytest.raises(ReleaseFormat):
            Sketch.from_json({**stored, "plan": {**stored["plan"], "size": size}})


def test_the_usual_hashing_is_not_written_so_that_keys_stay() -> None:
    usual, other = (dv.ALP(1, keys=5, hashing=name) for name in ("multiply-shift", "carter-wegman"))
    assert "hashing" not in usual.parameters() and usual == dv.ALP(1, keys=5) == dv.ALP.from_parameters(
        usual.parameters()
    )
    assert other.parameters()["hashing"] == "carter-wegman" and dv.ALP.from_parameters(other.parameters()) == other


def test_two_keys_of_one_digest_are_added_up() -> None:
    from dpviz.noise.alp import merged

    keys, values = merged(np.array([5, 3, 5], dtype=np.uint64), np.array([2, 1, 4]))
    assert keys.tolist() == [3, 5] and values.tolist() == [1, 6], "the last one never wins"


# ---------------------------------------------------------------- a session, files


def session_of(tmp_path: Path) -> dv.Session:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"key": rng.integers(0, 2**31, 400).repeat(5), "amount": rng.integers(0, 9, 2000)})
    return dv.Session(frame, dv.Unit("row"), dv.Budget(50, delta="1e-3"), tmp_path / "sketch.ledger")


@pytest.mark.parametrize(
    "mechanism", [dv.ALP(1, cap=50, keys=400), dv.ThresholdALP(1, keys=400), dv.Threshold(1, delta="1e-6")]
)
def test_a_release_is_saved_loaded_and_read_alike(tmp_path: Path, mechanism: dv.ALP) -> None:
    session = session_of(tmp_path)
    domain = dv.Domain.integers(0, 2**32 - 1, column="key")
    plan = session.plan(domain, mechanism)
    assert plan.price.epsilon <= 1 and plan.bound.measures
    release = session.release(domain, mechanism)
    place = release.save(tmp_path / "sketch.json")
    again = dv.load(place, ledger=session)
    keys = list(range(0, 2**32, 2**26))
    if mechanism.name == "Threshold":
        with pytest.raises(ReleaseFormat, match="look-ups"):
            release.bits  # noqa: B018
    else:
        kept = 64 * len(release.answer.labels)  # type: ignore[attr-defined]
        assert release.bits == plan.bound.space.bits + kept == again.bits
    assert again == release and list(again.many(keys)) == list(release.many(keys)) and again[5] == release[5]
    content = place.read_bytes()
    for at in range(0, len(content), max(1, len(content) // 60)):
        place.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(ReleaseFormat):
            dv.load(place)
    for part in (content[:-9], b""):
        place.write_bytes(part)
        with pytest.raises(ReleaseFormat):
            dv.load(place)


@pytest.mark.parametrize("mechanism", [dv.ALP(1, cap=50, keys=400), dv.ThresholdALP(1, keys=400)])
@pytest.mark.parametrize("under", [False, True])
def test_many_keys_read_as_one_by_one(tmp_path: Path, mechanism: dv.ALP, under: bool) -> None:
    """Whole numbers are told at once; other labels, and those that no bin has, are read as a single one is."""
    domain = dv.Domain.integers(10, 2**32 - 1, column="key", underflow=under)
    release = session_of(tmp_path).release(domain, mechanism)
    for keys in ([10, 2**32 - 1, 10, 77], [10, "11", 12.0], range(10, 40), [], [10, "under 10"] if under else [10]):
        assert list(release.many(keys)) == [release[key] for key in keys]
    assert all(type(value) is Fraction for value in release.many([10, 11]))
    with pytest.raises(DomainError, match="label 3"):
        release.many([10, 11, "x"] if under else [10, 11, 2**32])
    with pytest.raises(DomainError):
        release.many([10, True])


def test_a_sketch_with_other_numbers_than_its_law_is_refused() -> None:
    bound, answer, _ = drawn(dv.ALP(1, cap=20, keys=300))
    stored = answer.to_json()
    assert Sketch.from_json(json.loads(json.dumps(stored))) == answer and bound.accepts(answer)
    other = bound_of(dv.ALP("1/2", cap=20, keys=300))
    assert not other.accepts(answer)
    for part, wrong in (("ones", "0"), ("worth", "2/4"), ("columns", "9999"), ("keys", "999999"), ("width", "x")):
        with pytest.raises(ReleaseFormat):
            Sketch.from_json({**stored, "plan": {**stored["plan"], part: wrong}})
    with pytest.raises(ReleaseFormat):
        Sketch.from_json({**stored, "seed": "00"})


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"room": 2}, "room"), ({"room": "1.5"}, "room"), ({"alpha": 0}, "alpha"), ({"alpha": -1}, "alpha"),
        ({"cap": 0}, "cap"), ({"keys": 0}, "keys"), ({"keys": "1.5"}, "keys"), ({"epsilon": 0}, "epsilon"),
        ({"accounting": "none"}, "accounting"), ({"encoding": "log2"}, "encoding"), ({"cap": float("nan")}, "cap"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused_by_name(parameters: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        dv.ALP(**{"epsilon": 1, "cap": 10, "keys": 10, **parameters})  # type: ignore[arg-type]


def test_what_cannot_be_bound_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    for mechanism, question, words in (
        (dv.ALP(1, cap=10**9, keys=10), HUGE, "columns"),
        (dv.ALP(1, cap=10, keys=2**33), HUGE, "columns"),
        (dv.ThresholdALP(1, keys=10), KEYS, "delta"),
        (dv.ALP(1, cap=10, keys=10, encoding="histogram"), SUMS, "counts"),
        (dv.ALP("1e-9", cap=10, keys=10, encoding="histogram"), HUGE, "epsilon"),
    ):
        with pytest.raises(ParameterError, match=words):
            mechanism.bind(question, ROW)
    signed = Question.sum("x", by=dv.Domain.integers(0, 9, column="k"), low=-2, high=2, step=1)
    with pytest.raises(ParameterError, match="sign"):
        dv.ALP(1, cap=10, keys=10, accounting="count-exact").bind(signed, ROW)


def test_values_below_zero_are_read_from_two_halves() -> None:
    signed = Question.sum("x", by=dv.Domain.integers(0, 999, column="k"), low=-3, high=3, step=1)
    for mechanism in (dv.ALP(6, cap=60, keys=20), dv.ThresholdALP(6, keys=20, delta="1e-6")):
        bound = bound_of(mechanism, signed)
        labels, values = np.arange(20, dtype=np.uint64) * 40, np.where(np.arange(20) % 2, 40, -40)
        answer = bound.draw(SparseCounts(labels, values), TeachingBits(3), mode="exact")
        found = answer.read(reading(bound), labels.tolist())
        assert all((one > 10) == (value > 0) for one, value in zip(found, values.tolist(), strict=True))
        assert bound.accepts(answer) and Sketch.from_json(answer.to_json()) == answer
        stated = bound.error.one_bin(Fraction(1, 20))
        assert stated is not None and stated.how == "bound"


def test_two_halves_cost_what_one_does() -> None:
    """A value that crosses 0 moves in both halves; their shares of the way add up to no more than the whole price."""
    signed = Question.sum("x", by=dv.Domain.integers(0, 9, column="k"), low=-2, high=2, step=1)
    bound = bound_of(dv.ALP(1, cap=10, keys=10), signed)
    for before, after in itertools.product(range(-2, 3), repeat=2):
        if abs(after - before) <= 2:
            moved = [abs(max(0, sign * after) - max(0, sign * before)) for sign in (1, -1)]
            both = odds(bound.plan.flips.alpha, bound.plan.worth * moved[0]) * odds(
                bound.plan.flips.alpha, bound.plan.worth * moved[1]
            )
            assert log_at_most(both, bound.price.epsilon)
