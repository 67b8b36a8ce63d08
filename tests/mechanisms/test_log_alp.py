"""ALP with logarithms: price by the worst ratio of whole structures, intervals by the whole law, files, refusals."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError, ReleaseFormat
from dpviz.exact import log_at_most
from dpviz.fitting import unary
from dpviz.laws.alp import Flips, estimates
from dpviz.laws.log_encoding import FINE, Rungs
from dpviz.mechanisms.alp import LogSketchBound
from dpviz.model.answers import LogSketch, Reading, Sketch
from dpviz.model.answers.log_sketch import LogPlan
from dpviz.model.laws import law_from_json
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise import alp
from dpviz.noise.alp import Columns
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import Unit
from dpviz.privacy.conversion import STEP
from tests.mechanisms.test_alp import HEAVY, HUGE, KEYS, ROW, SUMS, SWAP, USER
from tests.noise.test_alp import SEED, ratio


def bound_of(epsilon: object = 1, question: Question = HUGE, unit: Unit = ROW, **more: object) -> LogSketchBound:
    given = {"epsilon": epsilon, "cap": 10**6, "keys": 1000, "encoding": "log", **more}
    bound = dv.ALP(**given).bind(question, unit)  # type: ignore[arg-type]
    assert isinstance(bound, LogSketchBound)
    return bound


def reading(bound: LogSketchBound) -> Reading:
    return Reading(bound.question, bound.unit, bound.error, bound.clamp, None, 1)


# ---------------------------------------------------------------- price


def worst(rungs: Rungs, chance: Fraction, moved: list[int], columns: Columns) -> Fraction:
    """The worst ratio of whole structures where these keys move up by so many steps, from any value that is not far
    above the floor; beyond, a step is worth less."""
    low, found = math.floor(rungs.floor), Fraction(0)
    for start in range(max(0, low - 2), low + 4):
        values = dict.fromkeys(range(1, len(moved) + 1), start)
        one = {key: rungs.bits(value) for key, value in values.items()}
        other = {key: rungs.bits(value + by) for (key, value), by in zip(values.items(), moved, strict=True)}
        found = max(found, ratio(one, other, columns, chance))
    return found


@pytest.mark.parametrize(
    ("unit", "moves"), [(ROW, [1]), (SWAP, [1, 1]), (USER, [1, 1]), (HEAVY, [2])], ids=["row", "swap", "user", "heavy"]
)
@pytest.mark.parametrize("epsilon", ["1/2", "1"])
def test_the_price_is_the_worst_ratio_of_whole_structures(unit: Unit, moves: list[int], epsilon: str) -> None:
    """Met where the keys meet in no column, never passed where they do. A table with one step worth a tenth more is
    refused by the same test."""
    bound = bound_of(epsilon, unit=unit, cap=1000, keys=10)
    rungs, chance = bound.plan.rungs, bound.plan.flips.p
    found, paid = worst(rungs, chance, moves, Columns(SEED, 3, 4)), bound.price.epsilon
    assert log_at_most(found, paid) and paid <= Fraction(epsilon)
    assert not log_at_most(found, paid - 2 * STEP), "the price is the worst ratio, rounded up"
    assert paid > Fraction(epsilon) * Fraction(999, 1000), "and nearly all that was asked"
    assert log_at_most(worst(rungs, chance, moves, Columns(SEED, 3, 3)), paid), "where keys meet"
    steep = Steep(rungs.worth, rungs.growth, rungs.columns)
    assert not log_at_most(worst(steep, chance, moves, Columns(SEED, 3, 4)), Fraction(epsilon))


@dataclass(frozen=True)
class Steep(Rungs):
    """A wrong table: its first step is worth a tenth more than it may be."""

    @cached_property
    def table(self) -> list[int]:
        first, second, *rest = super().table
        return [first, first + (second - first) * 10 // 11, *rest]


def test_the_paper_s_price_is_one_epsilon_for_each_step() -> None:
    for accounting, question, steps in (("l1-real", HUGE, 1), ("auto", SUMS, 4), ("l1-real", SUMS, 4)):
        bound = bound_of(1, question, accounting=accounting)
        cost = bound.plan.rungs.moved(1) * bound.plan.flips.alpha * steps
        assert Fraction(999, 1000) < cost <= bound.price.epsilon <= 1
    exact = bound_of(1, SUMS, accounting="count-exact")
    assert exact.price.epsilon <= 1 and exact.plan.worth > bound_of(1, SUMS).plan.worth


@pytest.mark.parametrize(("epsilon", "columns"), [("1/2", 89), ("1", 95), ("2", 101)])
def test_columns_are_as_few_as_the_paper_says(epsilon: str, columns: int) -> None:
    """Almost no collisions: a thousand bits for each key."""
    bound = bound_of(epsilon, keys=1, room=1000, accounting="l1-real")
    assert abs(bound.plan.columns - columns) <= 1 and bound.space.bits == bound.plan.columns << 10
    with pytest.raises(ParameterError, match="columns"):
        dv.ALP(epsilon, cap=10**6, keys=1).bind(HUGE, ROW)


# ---------------------------------------------------------------- drawing


def test_a_value_between_two_rungs_is_rounded_in_proportion() -> None:
    """Every value of the uniform number once: the mean of the rungs is the value, to the last digit."""
    rungs = np.array([5, 8, 12, 20], dtype=np.int64) << 1  # halves of a step

    class Each(TeachingBits):
        def __init__(self, share: Fraction) -> None:
            self.share = share

        def take(self, count: int) -> bytes:
            return int(self.share * 2**64).to_bytes(8, "little") * (count // 8)

    for value in range(26):
        below = max([place for place in range(4) if rungs[place] <= 2 * value], default=0)
        gap = int(rungs[below + 1] - rungs[below]) if below < 3 else 1
        shift = 1 << (gap - 1).bit_length()
        found = [
            int(rungs[alp.climbed(np.array([value]), rungs, 1, Each(Fraction(one, shift)))[0]]) for one in range(gap)
        ]
        assert Fraction(sum(found), 2 * gap) == min(max(value, 5), 20)
    assert alp.climbed(np.array([-7, 0, 2**62]), rungs, 1, TeachingBits(1)).tolist() == [0, 0, 3], "clamped in silence"


def test_a_table_of_the_largest_values_fits_into_a_word() -> None:
    bound = bound_of(cap=2**40)
    table = np.array(bound.plan.rungs.table, dtype=np.int64)
    levels = alp.climbed(np.array([0, 1, 2**40, 2**40 - 1, 2**62]), table, FINE, TeachingBits(2))
    assert levels[0] == levels[1] == 0 and levels[2] <= levels[4] == bound.plan.columns
    assert levels[2] >= bound.plan.columns - 1
    with pytest.raises(ParameterError, match="step"):
        dv.ALP(1, cap=2**40 + 1, keys=5, encoding="log").bind(HUGE, ROW)


def test_more_keys_and_larger_values_than_were_said_are_taken_in_silence() -> None:
    bound = bound_of(cap=100, keys=5)
    labels = np.arange(20_000, dtype=np.uint64)
    answer = bound.draw(SparseCounts(labels, np.full(20_000, 2**40)), TeachingBits(1), mode="exact")
    assert bound.accepts(answer)


# ---------------------------------------------------------------- error


def law_of(m: int, y: int, flips: Flips, plan: LogPlan, reader: str) -> dict[Fraction, Fraction]:
    """What an estimator of this plan reads, where keys collide as these flips say: exactly, or by floats."""
    if reader == "paper":
        return estimates(m, y, flips)
    strings = ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1).astype(np.uint8)
    estimator = unary.likelihood if reader == "likelihood" else unary.posterior_median
    ones = np.where(np.arange(m) < y, 1 - float(flips.p), float(flips.raised))
    chances = np.where(strings == 1, ones, 1 - ones).prod(axis=1)
    law: dict[Fraction, float] = {}
    found = estimator(strings, float(plan.flips.p), float(plan.flips.raised))
    for value, chance in zip(found, chances.tolist(), strict=True):
        law[value] = law.get(value, 0.0) + chance
    return {value: Fraction(chance) for value, chance in law.items()}


def misses(
    bound: LogSketchBound, beta: Fraction, flips: Flips, reader: str = "paper", shrink: Fraction = Fraction(1)
) -> Fraction:
    """How often the interval of a value misses it, of the worst of some, by all strings of bits. Of a twin, the
    interval is narrower."""
    plan = bound.plan
    rungs, m, off = plan.rungs, plan.columns, plan.off(beta, reader) * shrink
    laws = [law_of(m, y, flips, plan, reader) for y in range(m + 1)]
    worst = Fraction(0)
    for value in range(0, int(bound.mechanism.cap) + 1, 4):  # type: ignore[attr-defined]
        scaled = rungs.bits(value)
        low, found = min(math.floor(scaled), m - 1), Fraction(0)
        for y, share in ((low, low + 1 - scaled), (low + 1, scaled - low)):
            for bits, part in laws[y].items() if share else ():
                least = rungs.steps(bits - off) if bits > off else Fraction(0)
                most = rungs.steps(bits + off) if bits + off < m else None
                found += share * part * (value < least or (most is not None and value > most))
        worst = max(worst, found)
    return worst


@pytest.mark.parametrize("reader", ["paper", "likelihood", "posterior-median"])
@pytest.mark.parametrize(("epsilon", "cap", "alpha"), [("1", 40, 3), ("2", 60, 10)])
def test_an_interval_holds_for_every_value_and_for_any_number_of_collisions(
    epsilon: str, cap: int, alpha: int, reader: str
) -> None:
    """By the whole law: with no key but its own and with as many as were said. Half of it does not hold."""
    bound = bound_of(epsilon, cap=cap, keys=1600, alpha=alpha)
    assert bound.plan.columns <= 13
    for beta in (Fraction(1, 5), Fraction(1, 20)):
        both = bound.plan.flips, Flips(bound.plan.flips.p)
        assert max(misses(bound, beta, flips, reader) for flips in both) <= beta
        assert max(misses(bound, beta, flips, reader, Fraction(1, 2)) for flips in both) > beta


def test_a_factor_holds_from_the_floor_on_and_a_count_below_it() -> None:
    bound = bound_of("2", cap=60, keys=1600, alpha=10)
    plan, law = bound.plan, bound.law
    for beta in (Fraction(1, 5), Fraction(1, 20)):
        factor, low = bound.error.factor(beta).value, bound.error.low(beta).value  # type: ignore[attr-defined]
        seen = []
        for value in range(0, 61, 3):
            scaled = plan.rungs.bits(value)
            y = min(math.floor(scaled), plan.columns - 1)
            wrong = off = Fraction(0)
            for whole, share in ((y, y + 1 - scaled), (y + 1, scaled - y)):
                for bits, part in estimates(plan.columns, whole, plan.flips).items() if share else ():
                    read = plan.rungs.steps(bits)
                    off += share * part * (abs(read - value) > low)
                    if value:
                        wrong += share * part * (max(read / value, value / read) > factor)
            assert (wrong if value >= law.floor else off) <= beta
            seen.append(wrong)
        assert max(seen) > beta, "which does not hold for values below the floor"


def test_the_measures_say_the_factor_and_the_floor_in_words() -> None:
    bound = bound_of()
    first, second = bound.measures[:2]
    floor = str(bound.law.floor)
    assert bound.law.floor == math.ceil(bound.plan.rungs.floor) and floor in first.phrase and floor in second.phrase
    assert "factor" in first.phrase and not first.counts and first.sign == "×"
    beta = Fraction(1, 20)
    factor = first.at(beta)
    assert factor is not None and 1 < factor.value < 2 and factor.how == "bound"
    assert second.at(beta).value < 3 * bound.law.floor  # type: ignore[union-attr]
    assert bound.error.one_bin(beta).value > 10**5, "an error in counts is as large as values may be"  # type: ignore[union-attr]
    assert bound.error.one_bin(beta, count=1000).value < 1000  # type: ignore[union-attr]
    assert bound.notes[0][0] == "The paper's floor"


# ---------------------------------------------------------------- reading, files


@pytest.mark.parametrize("question", [HUGE, KEYS, Question.of(dv.Domain.integers(0, 2**70, column="key"))])
def test_any_key_is_read_by_a_factor_and_most_intervals_hold(question: Question) -> None:
    """300 keys at beta 0.05; more than 60 misses have a chance below 1e-20 for independent ones."""
    bound = bound_of(2, question, keys=300)
    values = 30 + np.arange(300) ** 2 * 10
    labels = (
        np.arange(300, dtype=np.uint64) * 7919
        if question.domain.declared
        else np.array([f"w{i:03}" for i in range(300)], dtype=object)
    )
    answer = bound.draw(SparseCounts(labels, values), TeachingBits(11), mode="exact")
    points = labels.tolist()
    intervals = answer.intervals(reading(bound), Fraction(1, 20), points=points)
    assert intervals is not None
    ends = zip(intervals.low, intervals.high, values.tolist(), strict=True)
    assert sum(low > value or (high is not None and high < value) for low, high, value in ends) < 60
    factor = bound.error.factor(Fraction(1, 20)).value  # type: ignore[attr-defined]
    read = answer.read(reading(bound), points)
    off = [max(found / value, value / found) for found, value in zip(read, values.tolist(), strict=True)]
    assert sum(one > factor for one in off) < 60
    for reader in answer.readers:
        found = answer.read(reading(bound), points, reader)
        assert np.mean([float(max(one / value, value / one)) for one, value in zip(found, values, strict=True)]) < 2
    everywhere = answer.intervals(reading(bound), Fraction(1, 20), "all", points)
    assert (everywhere is None) == (not question.domain.declared)
    if everywhere is not None:
        for wide, narrow in zip(everywhere.high, intervals.high, strict=True):
            assert wide is None or (narrow is not None and wide >= narrow)
    for reader in answer.readers[1:]:
        own = answer.intervals(reading(bound), Fraction(1, 20), points=points, reader=reader)
        assert own is not None
        ends = zip(own.low, own.high, values.tolist(), strict=True)
        assert sum(low > value or (high is not None and high < value) for low, high, value in ends) < 60


def test_an_empty_bin_is_read_as_the_floor_or_more_and_its_interval_begins_at_0() -> None:
    bound = bound_of(keys=10)
    answer = bound.draw(SparseCounts(np.zeros(0, np.uint64), np.zeros(0, np.int64)), TeachingBits(5), mode="exact")
    found = answer.read(reading(bound), list(range(400)))
    assert min(found) == bound.plan.rungs.floor
    intervals = answer.intervals(reading(bound), Fraction(1, 20), points=list(range(400)))
    assert intervals is not None and sum(low > 0 for low in intervals.low) < 80  # type: ignore[operator]


def test_a_release_is_saved_loaded_and_read_alike(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"key": np.arange(50).repeat(40)})
    session = dv.Session(frame, dv.Unit("row"), dv.Budget(9), tmp_path / "log.ledger")
    domain = dv.Domain.integers(0, 2**32 - 1, column="key")
    mechanism = dv.ALP(1, cap=10**5, keys=100, encoding="log")
    plan = session.plan(domain, mechanism)
    assert "as a factor ×" in repr(plan) and "up or down, 95 in 100 (bound)" in repr(plan)
    release = session.release(domain, mechanism)
    again = dv.load(release.save(tmp_path / "log.json"), ledger=session)
    keys = list(range(60))
    assert again == release and list(again.many(keys)) == list(release.many(keys))
    packed = release.answer.offline_look_ups(release.reading, (Fraction(1, 20),))
    assert packed is not None and packed.header["kind"] == "log-sketch", "a page tells it from a plain sketch"
    one, two = release.sum([3]), release.sum([3, 4])
    found = release.answer.intervals(release.reading, Fraction(1, 20), points=[3])
    assert found is not None and one.value == release[3] and two.value == release[3] + release[4]
    low, high = found.low[0], found.high[0]
    assert low is not None and one.low == math.ceil(low) and (high is None or one.high == math.floor(high))
    assert release.bits == plan.bound.space.bits == again.bits and release[3] > 1


def test_a_sketch_with_other_numbers_than_its_law_is_refused() -> None:
    bound = bound_of(cap=300, keys=30)
    answer = bound.draw(SparseCounts(np.array([5], np.uint64), np.array([100])), TeachingBits(1), mode="exact")
    stored = json.loads(json.dumps(answer.to_json()))
    assert LogSketch.from_json(stored) == answer and bound.accepts(answer)
    assert law_from_json(json.loads(json.dumps(bound.law.to_json()))) == bound.law
    assert not bound_of("1/2", cap=300, keys=30).accepts(answer)
    wrong = {"growth": "1", "worth": "2/4", "halves": "2", "columns": "9999", "keys": "999999"}
    for part, value in wrong.items():
        with pytest.raises(ReleaseFormat):
            LogSketch.from_json({**stored, "plan": {**stored["plan"], part: value}})
        with pytest.raises(ReleaseFormat):
            law_from_json({**bound.law.to_json(), "plan": {**stored["plan"], part: value}, "bins": "0"})
    with pytest.raises(ReleaseFormat):
        Sketch.from_json(stored)
    missing = {name: value for name, value in stored["plan"].items() if name != "growth"}
    with pytest.raises(ReleaseFormat):
        LogSketch.from_json({**stored, "plan": missing})


def test_values_below_0_have_no_logarithm() -> None:
    signed = Question.sum("x", by=dv.Domain.integers(0, 9, column="k"), low=-2, high=2, step=1)
    with pytest.raises(ParameterError, match="unary"):
        dv.ALP(1, cap=10, keys=10, encoding="log").bind(signed, ROW)


def test_a_cap_below_the_floor_is_refused() -> None:
    floor = int(bound_of().plan.rungs.floor)
    assert bound_of(cap=floor + 1).plan.columns >= 1
    for cap in (floor, "0.5"):
        with pytest.raises(ParameterError, match="cap must be above the floor"):
            bound_of(cap=cap)


def test_the_public_numbers_alone_make_the_table() -> None:
    plan = bound_of().plan
    again = LogPlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan and again.rungs.table == plan.rungs.table
    assert all(low < high for low, high in itertools.pairwise(plan.rungs.table))
