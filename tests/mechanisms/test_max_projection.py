"""MaxProjection and ThresholdMaxProjection: price by the worst ratio of all buckets together, draws, error, files."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, ParameterError, ReleaseFormat
from dpviz.exact import Decay, exp_bounds
from dpviz.mechanisms.max_projection import BucketsBound
from dpviz.model.answers import Buckets, Reading
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise.alp import Columns
from dpviz.noise.bits import TeachingBits
from dpviz.noise.max_projection import largest, noisy
from dpviz.planning.tradeoff_sheet import TradeoffSheet
from dpviz.privacy import Unit
from dpviz.widgets.reading import read_points
from tests.mechanisms import contract
from tests.mechanisms.contract import Case
from tests.mechanisms.test_dense import exponential, geometric_oracle
from tests.model import test_sureness as sureness

ROW, SWAP = Unit("row"), Unit("row", relation="replace-one", n=100)
USER, HEAVY = Unit("user", max_bins=2, max_per_bin=1), Unit("user", max_bins=1, max_per_bin=2)
UNITS = {"row": ROW, "swap": SWAP, "user": USER, "heavy": HEAVY}
HUGE = Question.of(dv.Domain.integers(0, 2**32 - 1, column="key"))
KEYS = Question.of(dv.Domain.keys(column="word"))
SIGNED = Question.sum("x", by=dv.Domain.integers(0, 999, column="k"), low=-3, high=3, step=1)
FEW = Question.of(dv.Domain.integers(0, 2, column="x"))
CAP = 4

APART, TOGETHER = (0, 1, 2), (0, 0, 2)
"""Where three keys lie under two hash functions: each by itself, and two of them in one bucket."""

Take = Callable[[tuple[int, ...], tuple[int, ...]], tuple[int, ...]]


def by_largest(places: tuple[int, ...], counts: tuple[int, ...]) -> tuple[int, ...]:
    """From the definition: the largest count of the keys in each of three buckets, or 0."""
    return tuple(
        max([0, *(count for place, count in zip(places, counts, strict=True) if place == bucket)])
        for bucket in range(3)
    )


def by_sum(places: tuple[int, ...], counts: tuple[int, ...]) -> tuple[int, ...]:
    """A twin that adds up what lies in a bucket."""
    return tuple(
        min(CAP, sum(count for place, count in zip(places, counts, strict=True) if place == bucket))
        for bucket in range(3)
    )


def case_of(unit: Unit, places: tuple[int, ...], take: Take = by_largest, epsilon: str = "2") -> Case:
    bound = dv.MaxProjection(epsilon, cap=CAP, keys=3).bind(FEW, unit)
    law = geometric_oracle(exponential(bound.exponent), 0, CAP)
    return Case("buckets", bound, 3, law, lambda counts: take(places, counts))


# ---------------------------------------------------------------- price


@pytest.mark.parametrize("name", UNITS)
def test_the_worst_ratio_of_all_buckets_is_the_price_over_all_neighbours(name: str) -> None:
    case = case_of(UNITS[name], APART)
    epsilon = case.bound.price.epsilon
    contract.check_price(case, exact_odds=exp_bounds(epsilon, 256))
    with pytest.raises(AssertionError, match="not the worst ratio"):
        contract.check_price(case, exact_odds=exp_bounds(epsilon * Fraction(999, 1000), 256))


@pytest.mark.parametrize("name", UNITS)
def test_keys_that_meet_cost_no_more(name: str) -> None:
    case = case_of(UNITS[name], TOGETHER)
    assert contract.worst_ratio(case)[0] <= exp_bounds(case.bound.price.epsilon, 256)[1]


def test_where_keys_meet_the_largest_and_the_sum_have_other_worst_ratios() -> None:
    """A user who counts in both keys of a bucket moves its largest by one and its sum by two."""
    everything = (0, 0, 0)
    half, whole = (exp_bounds(Fraction(part), 256) for part in (1, 2))
    low, high = contract.worst_ratio(case_of(USER, everything))
    assert low <= half[1] and high >= half[0]
    low, high = contract.worst_ratio(case_of(USER, everything, by_sum))
    assert low <= whole[1] and high >= whole[0]


def test_noise_on_occupied_buckets_alone_has_no_price() -> None:
    case = case_of(ROW, APART)
    law = case.oracle

    def silent(count: int) -> contract.Law:
        return law(count) if count else {0: (Fraction(1), Fraction(1))}

    with pytest.raises(AssertionError):
        contract.worst_ratio(Case("silent", case.bound, 3, silent, case.asked))


def moved(take: Callable[[np.ndarray, np.ndarray], np.ndarray], least: int, far: int) -> tuple[int, int]:
    """Over all values of three keys in least..2, all ways to put them into two buckets, and all pairs: the most that
    the buckets move beyond what the values move, and how often they move as far."""
    worst, met = -(10**9), 0
    vectors = [np.array(one) for one in itertools.product(range(least, 3), repeat=3)]
    for where in itertools.product(range(2), repeat=3):
        found = [take(np.array(where), vector) for vector in vectors]
        for (one, first), (other, second) in itertools.combinations(zip(vectors, found, strict=True), 2):
            by = int(np.abs(one - other).sum())
            if by <= far:
                ahead = int(np.abs(first - second).sum()) - by
                worst, met = max(worst, ahead), met + (ahead == 0)
    return worst, met


@pytest.mark.parametrize("least", [0, -2])
def test_buckets_move_by_no_more_than_the_values_do(least: int) -> None:
    low = min(0, -3 if least < 0 else 0)
    worst, met = moved(lambda where, values: largest(where, values, 2, low, 3), least, far=3)
    assert worst == 0 and met > 500

    def furthest(where: np.ndarray, values: np.ndarray) -> np.ndarray:
        """A twin that keeps the value furthest from 0: where two signs are level it jumps."""
        found = np.zeros(2, dtype=np.int64)
        for place, value in zip(where.tolist(), values.tolist(), strict=True):
            if abs(value) > abs(found[place]):
                found[place] = value
        return found

    assert (moved(furthest, least, far=3)[0] > 0) == (least < 0)


def test_a_sum_pays_for_its_steps_and_both_signs_cost_what_one_does() -> None:
    steps = Question.sum("x", by=dv.Domain.integers(0, 99, column="k"), low=0, high=2, step="0.5")
    assert dv.MaxProjection(1, cap=20, keys=10).bind(steps, ROW).exponent == Fraction(1, 4)
    assert dv.MaxProjection(1, cap=20, keys=10).bind(SIGNED, ROW).exponent == Fraction(1, 3)
    assert dv.MaxProjection(1, cap=20, keys=10).bind(HUGE, USER).exponent == Fraction(1, 2)


# ---------------------------------------------------------------- draws


def own_and_empty(answer: Buckets) -> np.ndarray:
    """The bucket of key 0, which holds its value whatever lies there of keys 1 and 2; and the first that has no key."""
    places = Columns(answer.seed, 1, answer.places.width).places(0, np.arange(3, dtype=np.uint64)).tolist()
    empty = next(bucket for bucket in range(answer.places.size) if bucket not in places)
    return np.array([answer.buckets[places[0]], answer.buckets[empty]], dtype=np.int64)


def drawn_case(take: Callable[..., np.ndarray], silent: bool = False) -> float:
    """The p-value of 3,000 draws, with the buckets as `take` fills them."""
    bound = dv.MaxProjection("3/2", cap=6, keys=3, room="2.1").bind(FEW, ROW)
    assert bound.places.size == 8
    law = geometric_oracle(exponential(bound.exponent), 0, 6)
    bits, rows = TeachingBits(3), []
    values = np.array([3, 2, 2])
    for _ in range(3000):
        if take is largest and not silent:
            answer = bound.draw(SparseCounts(np.arange(3, dtype=np.uint64), values), bits, mode="exact")
        else:
            seed = bits.take(16)
            found = take(Columns(seed, 1, 3).places(0, np.arange(3, dtype=np.uint64)), values, 8, 0, 6)
            buckets = noisy(found, 0, 6, Decay.exp(bound.exponent), bits)
            answer = Buckets(
                bound.places, seed, np.where(found == 0, 0, buckets) if silent else buckets, (), values[:0]
            )
        rows.append(own_and_empty(answer))
    table = np.array(rows)
    return min(contract.p_value(table[:, column], law(value)) for column, value in enumerate((3, 0)))


def test_every_bucket_has_the_stated_law_and_twins_are_rejected() -> None:
    """False alarm 1e-9 at most, seeds fixed. The twins, which add up in a bucket or leave empty ones without noise, are
    rejected with power above 0.999: a sum is above 3 in more than one draw out of five."""

    def added(places: np.ndarray, values: np.ndarray, size: int, low: int, high: int) -> np.ndarray:
        found = np.zeros(size, dtype=np.int64)
        np.add.at(found, places, values)
        return np.clip(found, low, high)

    assert drawn_case(largest) > contract.FALSE_ALARM
    assert drawn_case(added) < contract.FALSE_ALARM
    assert drawn_case(largest, silent=True) < contract.FALSE_ALARM


def test_more_keys_and_larger_values_than_were_said_are_taken_in_silence() -> None:
    bound = dv.MaxProjection(1, cap=10, keys=5).bind(HUGE, ROW)
    labels = np.arange(20_000, dtype=np.uint64)
    answer = bound.draw(SparseCounts(labels, np.full(20_000, 2**40)), TeachingBits(1), mode="exact")
    assert bound.accepts(answer) and int(answer.buckets.max()) == 10


def test_ticks_count_buckets_whatever_the_data() -> None:
    bound = dv.MaxProjection(1, cap=10, keys=1000, room=200).bind(HUGE, ROW)
    seen = []
    for keys in (0, 900):
        ticks: list[tuple[int, int]] = []
        statistic = SparseCounts(np.arange(keys, dtype=np.uint64), np.full(keys, 5))
        bound.draw(statistic, TeachingBits(1), mode="exact", tick=lambda *at: ticks.append(at))  # noqa: B023
        seen.append(ticks)
    assert seen[0] == seen[1] and seen[0][-1] == (bound.places.size, bound.places.size)


# ---------------------------------------------------------------- reading


def reading(bound: BucketsBound) -> Reading:
    return Reading(bound.question, bound.unit, bound.error, bound.clamp, None, 1)


def missed(bound: BucketsBound, answer: Buckets, points: list[object], values: list[int], beta: str, among: str) -> int:
    intervals = answer.intervals(reading(bound), Fraction(beta), among, points)  # type: ignore[arg-type]
    assert intervals is not None
    ends = zip(intervals.low, intervals.high, values, strict=True)
    return sum((low is not None and low > value) or (high is not None and high < value) for low, high, value in ends)


@pytest.mark.parametrize("question", [HUGE, KEYS, Question.of(dv.Domain.integers(0, 2**70, column="key")), SIGNED])
def test_any_key_is_read_and_most_intervals_hold(question: Question) -> None:
    """300 keys at beta 0.05; more than 60 misses have a chance below 1e-20 for independent ones."""
    bound = dv.MaxProjection(2, cap=100, keys=300).bind(question, ROW)
    values = np.arange(1, 301) % 60 + 1
    if question is SIGNED:
        values = values * (1 - 2 * (np.arange(300) % 2))
    declared = question.domain.declared
    labels = np.arange(300, dtype=np.uint64) * 3 if declared else np.array([f"w{i:03}" for i in range(300)], object)
    answer = bound.draw(SparseCounts(labels, values), TeachingBits(11), mode="exact")
    points, truth = labels.tolist(), values.tolist()
    for beta in ("1/20", "1/10"):
        assert missed(bound, answer, points, truth, beta, "one") < 60
    found = answer.read(reading(bound), points)
    assert np.mean([abs(float(one) - value) for one, value in zip(found, truth, strict=True)]) < 3
    assert answer.intervals(reading(bound), Fraction(1, 20), points=points).how == "bound"  # type: ignore[union-attr]


def test_an_interval_begins_at_0_where_another_key_may_lie_in_the_bucket() -> None:
    """Five keys for each bucket that was planned for: a value may be another key's, and still every interval holds: the
    chance of any miss is below 1e-6 at the level asked, and the seed is fixed."""
    bound = dv.MaxProjection(2, cap=100, keys=100, room="2.1").bind(HUGE, ROW)
    assert bound.places.collisions > Fraction(1, 3)
    labels, values = np.arange(1200, dtype=np.uint64) * 77, np.arange(1200) % 90 + 1
    answer = bound.draw(SparseCounts(labels, values), TeachingBits(5), mode="exact")
    for among in ("one", "all"):
        intervals = answer.intervals(reading(bound), Fraction(1, 10**7), among, labels.tolist())  # type: ignore[arg-type]
        assert intervals is not None and set(intervals.low) == {Fraction(0)}
        assert missed(bound, answer, labels.tolist(), values.tolist(), "1/10000000", among) == 0
    two_sided = answer.intervals(reading(bound), Fraction(9, 10), "one", labels.tolist())
    assert two_sided is not None and max(two_sided.low) > 0  # type: ignore[type-var]
    assert missed(bound, answer, labels.tolist(), values.tolist(), "9/10", "one") > 100, "as more keys came than said"


def test_a_value_at_the_cap_leaves_its_interval_open() -> None:
    bound = dv.MaxProjection(2, cap=20, keys=10).bind(HUGE, ROW)
    answer = bound.draw(SparseCounts(np.array([5], dtype=np.uint64), np.array([10**6])), TeachingBits(1), mode="exact")
    intervals = answer.intervals(reading(bound), Fraction(1, 20), points=[5, 77])
    assert intervals is not None and intervals.high[0] is None and intervals.low[0] > 10  # type: ignore[operator]
    assert intervals.high[1] is not None and intervals.low[1] == 0


def test_all_keys_at_once_have_upper_ends_though_nobody_lists_them() -> None:
    """There are no more noises than buckets, so one level covers every key there may be. Of both signs nothing does."""
    bound = dv.MaxProjection(1, cap=1000, keys=100).bind(KEYS, ROW)
    assert bound.error.all_bins(Fraction(1, 20)) is None
    every, one = bound.error.above(None, Fraction(1, 20)), bound.error.above(1, Fraction(1, 20))
    assert every is not None and one is not None and one.value < every.value < 20
    signed = dv.MaxProjection(1, cap=1000, keys=100).bind(Question.sum("x", by="word", low=-1, high=1, step=1), ROW)
    assert signed.error.above(None, Fraction(1, 20)) is None


@pytest.mark.parametrize(("name", "less"), [("buckets", 1), ("buckets behind a threshold on every bin", 2)])
def test_a_stated_error_is_hardly_larger_than_the_worst_case_needs(name: str, less: int) -> None:
    """One step less does not hold where a key meets the worst of others as often as may be; behind a threshold two."""
    case = sureness.case_of(name)
    for beta in (Fraction(1, 5), Fraction(1, 7)):
        stated = int(case.law.error.one_bin(beta).value)  # type: ignore[union-attr]
        assert case.tails["one_bin"](stated)[1] <= beta < case.tails["one_bin"](stated - less)[1]


# ---------------------------------------------------------------- behind a threshold


def whole_law(
    bound: BucketsBound, counts: tuple[int, ...], leave_out: bool = True, together: bool = False
) -> dict[tuple[int, ...], float]:
    """The law of what is shown of each key and of its bucket: the largest of what is not shown, cut at the threshold,
    plus noise. What is not shown reads as -1; noisy values from the threshold's second next on count as one. In
    floating point.

    leave_out  False: a twin whose buckets hold what is shown, too
    together   whether all keys lie in one bucket; else each has its own
    """
    cut = bound.cut
    assert cut is not None
    far = cut.least + 2

    def shown(count: int) -> dict[int, float]:
        if count == 0 and not cut.certain:
            return {-1: 1.0}
        law = geometric_oracle(exponential(cut.exponent), 0, far)(count)
        found: dict[int, float] = {}
        for value, chance in law.items():
            at = value if value >= cut.least else -1
            found[at] = found.get(at, 0.0) + float(chance[0])
        return found

    of_bucket = cache(geometric_oracle(exponential(bound.exponent), 0, cut.least))
    noise = cache(lambda top: {value: float(chance[0]) for value, chance in of_bucket(top).items()})
    law: dict[tuple[int, ...], float] = {}
    for kept in itertools.product(*(shown(count).items() for count in counts)):
        chance = math.prod(one for _, one in kept)
        tops = [
            min(cut.least, count) if value < 0 or not leave_out else 0
            for (value, _), count in zip(kept, counts, strict=True)
        ]
        for read in itertools.product(*(noise(top).items() for top in ([max(tops)] if together else tops))):
            key = (*(value for value, _ in kept), *(value for value, _ in read))
            law[key] = law.get(key, 0.0) + chance * math.prod(one for _, one in read)
    return law


@pytest.mark.parametrize("together", [False, True], ids=["apart", "together"])
@pytest.mark.parametrize(("unit", "delta"), [("row", None), ("user", None), ("row", "1/8")])
def test_both_parts_together_cost_their_sum_and_no_more(unit: str, delta: str | None, together: bool) -> None:
    """Over all neighbouring pairs of two counts, by the whole law of what is shown and of the buckets. Without a delta
    the worst ratio is the price, and met where each key has its own bucket; with one the divergence is within it. Half
    the price covers neither."""
    two = Question.of(dv.Domain.integers(0, 1, column="x"))
    bound = dv.ThresholdMaxProjection(2, keys=3, delta=delta).bind(two, UNITS[unit])
    assert bound.cut is not None
    case = Case("both", bound, bound.cut.least + 1, lambda count: {})
    odds, first = math.exp(2), math.e
    law = cache(lambda counts: whole_law(bound, counts, together=together))
    worst = beyond = halfway = 0.0
    for before, after in contract.neighbours(case):
        one, other = law(before), law(after)
        if delta is None:
            worst = max(worst, *(chance / other[key] for key, chance in one.items()))
        beyond = max(beyond, sum(max(0.0, chance - odds * other.get(key, 0.0)) for key, chance in one.items()))
        halfway = max(halfway, sum(max(0.0, chance - first * other.get(key, 0.0)) for key, chance in one.items()))
    allowed = float(bound.price.loss.delta) if delta else 0.0  # type: ignore[union-attr]
    assert beyond <= allowed + 1e-12 < halfway
    if delta is None:
        assert worst <= odds * (1 + 1e-9) and (together or worst >= odds * (1 - 1e-9))


def test_draws_behind_a_threshold_have_the_law_and_leave_out_what_is_shown() -> None:
    """Chi-square of 4,000 draws of one key against its whole law: false alarm 1e-9, seed fixed. The twin whose buckets
    hold what is shown, too, is rejected with power above 0.999: its buckets are as large as what is shown."""
    one = Question.of(dv.Domain.integers(0, 0, column="x"))
    bound = dv.ThresholdMaxProjection(3, keys=3, delta="1/8").bind(one, ROW)
    assert bound.cut is not None
    count, bits, seen = bound.cut.least, TeachingBits(4), {}
    for _ in range(4000):
        answer = bound.draw(SparseCounts(np.array([0], dtype=np.uint64), np.array([count])), bits, mode="exact")
        place = int(Columns(answer.seed, 1, answer.places.width).places(0, np.zeros(1, dtype=np.uint64))[0])
        value = min(int(answer.values[0]), bound.cut.least + 2) if len(answer.labels) else -1
        key = value, int(answer.buckets[place])
        seen[key] = seen.get(key, 0) + 1

    def p_value(leave_out: bool) -> float:
        law = whole_law(bound, (count,), leave_out)
        cells = {key: number for number, key in enumerate(sorted(law))}
        assert set(seen) <= set(cells)
        values = np.repeat([cells[key] for key in seen], [*seen.values()])
        return contract.p_value(values, {cells[key]: (Fraction(law[key]), Fraction(law[key])) for key in cells})

    assert p_value(True) > contract.FALSE_ALARM > p_value(False)


def test_heavy_values_no_longer_stand_in_the_way_of_light_ones() -> None:
    """A thousand heavy keys in a few thousand buckets: read alone, many light ones have another key's value."""
    labels = np.random.default_rng(8).permutation(2**20)[:2000].astype(np.uint64)
    values = np.where(np.arange(2000) < 1000, 3, 500)
    off = []
    for mechanism in (
        dv.MaxProjection(2, cap=500, keys=1000, room="2.1"),
        dv.ThresholdMaxProjection(2, keys=1000, room="2.1"),
    ):
        bound = mechanism.bind(HUGE, ROW)
        answer = bound.draw(SparseCounts(labels, values), TeachingBits(3), mode="exact")
        found = answer.read(reading(bound), labels[:1000].tolist())
        off.append(float(np.mean([abs(one - 3) for one in found])))
    assert off[1] < 5 < 50 < off[0]
    kept = dict(zip(answer.labels, answer.values.tolist(), strict=True))
    assert answer.read(reading(bound), list(kept)) == [*kept.values()] and len(kept) == 1000


@pytest.mark.parametrize(
    ("epsilon", "split", "relation", "unit"),
    [("1", "1", "add", ROW), ("2", "2", "add", ROW), ("4", "1/2", "user-4", Unit("u", max_bins=4))],
)
def test_the_row_of_the_explorer_is_the_law_of_the_mechanism(
    epsilon: str, split: str, relation: str, unit: Unit
) -> None:
    """The same threshold, the same bound on the mean of an empty key, and half-widths that are no smaller than those of
    the mechanism and at most twice as large: the explorer shares the level between its two noises in halves."""
    keys, psi = 1024, Fraction(1, 20)
    domain = Question.of(dv.Domain.integers(0, 10**6 - 1, column="x"))
    share = 1 / (1 + Fraction(split))
    for load, told in ((64, True), (16, False)):
        sheet = TradeoffSheet(
            epsilon=Fraction(epsilon), split=Fraction(split), relation=relation, d=10**6, k=keys, load=Fraction(load)
        )
        before = sheet._threshold(sheet.first)
        xs = range(0, 3 * before.threshold, 7)
        row = sheet._projected(False, 40, before, xs)
        bound = dv.ThresholdMaxProjection(epsilon, keys=keys, split=share, room=load).bind(domain, unit)
        assert bound.cut is not None and bound.cut.least == before.threshold
        ((_, note),) = bound.notes
        assert row["errors"]["mean"]["values"][0] == pytest.approx(float(Fraction(note["value"])), abs=0.01)
        own = [int(bound.error.one_bin(psi, count=x).value) for x in xs]  # type: ignore[union-attr]
        drawn = row["errors"]["one"]["values"]
        assert (drawn is not None) == told
        if told:
            assert all(mine <= value <= 2 * mine + 2 for mine, value in zip(own, drawn, strict=True))
        else:
            assert own[0] > bound.cut.least // 2
            assert bound.error.above(1, psi).value < bound.cut.least // 2  # type: ignore[union-attr]


# ---------------------------------------------------------------- a session, files


def session_of(tmp_path: Path) -> dv.Session:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"key": rng.integers(0, 2**31, 400).repeat(5), "amount": rng.integers(0, 9, 2000)})
    return dv.Session(frame, dv.Unit("row"), dv.Budget(50, delta="1e-3"), tmp_path / "buckets.ledger")


MECHANISMS = [
    dv.MaxProjection(1, cap=50, keys=400),
    dv.ThresholdMaxProjection(1, keys=400),
    dv.ThresholdMaxProjection(1, keys=400, delta="1e-6"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["plain", "pure", "delta"])
def test_a_release_is_saved_loaded_and_read_alike(tmp_path: Path, mechanism: dv.MaxProjection) -> None:
    session = session_of(tmp_path)
    domain = dv.Domain.integers(0, 2**32 - 1, column="key")
    plan = session.plan(domain, mechanism)
    assert plan.price.epsilon == 1 and plan.bound.measures
    release = session.release(domain, mechanism)
    place = release.save(tmp_path / "buckets.json")
    again = dv.load(place, ledger=session)
    keys = list(range(0, 2**32, 2**26))
    assert release.bits == plan.bound.space.bits + 64 * len(release.answer.labels) == again.bits  # type: ignore[attr-defined]
    assert again == release and list(again.many(keys)) == list(release.many(keys)) and again[5] == release[5]
    for labels in ([10, 2**32 - 1, 10], [10, "11", 12.0], range(10, 40), []):
        assert list(release.many(labels)) == [release[label] for label in labels]
    with pytest.raises(DomainError):
        release.many([10, 2**32])
    total = release.sum(range(100))
    assert total.value == sum(release.many(range(100)))
    assert dv.load(release.save(tmp_path / "buckets.dpviz"), ledger=session) == release
    (told,) = read_points(release, [["5"]], Fraction(1, 20))
    assert Fraction(told["value"]) == release[5] and Fraction(told["low"]) <= release[5]
    assert "release[label]" in release.answer.remark(release.reading)
    assert dv.report([release], tmp_path / "buckets.html", keys=[5, 77]).stat().st_size > 10_000
    content = place.read_bytes()
    for at in range(0, len(content), max(1, len(content) // 60)):
        place.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(ReleaseFormat):
            dv.load(place)


def test_buckets_with_other_numbers_than_their_law_are_refused() -> None:
    bound = dv.MaxProjection(1, cap=20, keys=30).bind(HUGE, ROW)
    answer = bound.draw(SparseCounts(np.array([5], dtype=np.uint64), np.array([3])), TeachingBits(1), mode="exact")
    stored = answer.to_json()
    assert Buckets.from_json(json.loads(json.dumps(stored))) == answer and bound.accepts(answer)
    assert not dv.MaxProjection(1, cap=21, keys=30).bind(HUGE, ROW).accepts(answer)
    for part, wrong in (("width", "2"), ("keys", "999999"), ("cap", "0"), ("cap", "1e3"), ("signed", "true")):
        with pytest.raises(ReleaseFormat):
            Buckets.from_json({**stored, "places": {**stored["places"], part: wrong}})
    with pytest.raises(ReleaseFormat):
        Buckets.from_json({**stored, "seed": "00"})
    beyond = answer.buckets.copy()
    beyond[0] = 21
    with pytest.raises(ReleaseFormat, match="cap"):
        Buckets.from_json(Buckets(answer.places, answer.seed, beyond, (), answer.values).to_json())


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"room": 2}, "room"), ({"cap": 0}, "cap"), ({"cap": -1}, "cap"), ({"keys": 0}, "keys"),
        ({"keys": "1.5"}, "keys"), ({"epsilon": 0}, "epsilon"), ({"cap": float("nan")}, "cap"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused_by_name(parameters: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        dv.MaxProjection(**{"epsilon": 1, "cap": 10, "keys": 10, **parameters})  # type: ignore[arg-type]


def test_what_cannot_be_bound_is_refused_before_anything_is_paid() -> None:
    for mechanism, words in (
        (dv.MaxProjection(1, cap=10, keys=2**33), "buckets"),
        (dv.MaxProjection(1, cap=2**61, keys=10), "cap"),
        (dv.MaxProjection("1e-30", cap=10, keys=10), "scale"),
    ):
        with pytest.raises(ParameterError, match=words):
            mechanism.bind(HUGE, ROW)
    with pytest.raises(ParameterError, match="delta"):
        dv.ThresholdMaxProjection(1, keys=10).bind(KEYS, ROW)
    records = Question.records([dv.Domain.integers(0, 1, column="k")])
    for mechanism_ in (dv.MaxProjection(1), dv.ThresholdMaxProjection(1)):
        with pytest.raises(ParameterError, match="counts rows and adds up values"):
            mechanism_.bind(records, ROW)
