"""ALP with values of both signs as one number of 2m bits: privacy by whole laws, exact decoding, intervals, files."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import ParameterError, ReleaseFormat
from dpviz.exact import log_at_most
from dpviz.fitting import unary
from dpviz.laws.alp import Flips, Tails, odds
from dpviz.mechanisms import alp as mechanism
from dpviz.mechanisms.alp import SignedSketchBound
from dpviz.model.answers import Reading, SignedSketch, Sketch
from dpviz.model.laws import law_from_json
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise import alp
from dpviz.noise.alp import Columns
from dpviz.noise.bits import TeachingBits
from dpviz.noise.flips import FlipSampler as Drawn
from dpviz.privacy import Unit
from dpviz.privacy.conversion import STEP
from tests.mechanisms.test_alp import HUGE, ROW
from tests.noise.test_alp import SEED, NoFlips

SIGNED = Question.sum("x", by=dv.Domain.integers(0, 2**32 - 1, column="k"), low=-2, high=2, step=1)
FIFTH = Fraction(1, 5)


def bound_of(epsilon: object = 1, question: Question = SIGNED, unit: Unit = ROW, **more: object) -> SignedSketchBound:
    given = {"epsilon": epsilon, "cap": 50, "keys": 1000, "encoding": "signed", **more}
    bound = dv.ALP(**given).bind(question, unit)  # type: ignore[arg-type]
    assert isinstance(bound, SignedSketchBound)
    return bound


def reading(bound: SignedSketchBound) -> Reading:
    return Reading(bound.question, bound.unit, bound.error, bound.clamp, None, 1)


# ---------------------------------------------------------------- privacy, by the structure of the paper


def structure(values: dict[int, int], m: int, columns: Columns) -> dict[tuple[int, int], int]:
    """The bits before they are flipped, of the paper's 2m columns: the first m are one and cleared by negative values,
    the last m are zero and set by positive ones. Only the places of these keys."""
    bits = {(column, place(columns, column, key)): int(column < m) for key in (1, 2, 11) for column in range(2 * m)}
    for key, y in values.items():
        for column in range(m, m + y) if y > 0 else range(m + y, m):
            bits[column, place(columns, column, key)] = int(y > 0)
    return bits


def place(columns: Columns, column: int, key: int) -> int:
    return int(columns.places(column, np.array([key], dtype=np.uint64))[0])


def law(values: dict[int, Fraction], m: int, columns: Columns, p: Fraction) -> dict[tuple[int, ...], Fraction]:
    """The whole law of the structure; a value is rounded at random to one of the two whole numbers around it."""
    found: dict[tuple[int, ...], Fraction] = {}
    options = []
    for value in values.values():
        down, rest = math.floor(value), value % 1
        options.append([(y, part) for y, part in ((down, 1 - rest), (down + 1, rest)) if part])
    for levels in itertools.product(*options):
        part = math.prod((weight for _, weight in levels), start=Fraction(1))
        bits = structure(dict(zip(values, (y for y, _ in levels), strict=True)), m, columns)
        own = list(bits.values())
        for string in itertools.product((0, 1), repeat=len(own)):
            same = sum(one == other for one, other in zip(own, string, strict=True))
            found[string] = found.get(string, Fraction(0)) + part * (1 - p) ** same * p ** (len(own) - same)
    return found


def ratio(one: dict[int, Fraction], other: dict[int, Fraction], m: int, columns: Columns) -> Fraction:
    first, second = law(one, m, columns, FIFTH), law(other, m, columns, FIFTH)
    return max(max(first[bits] / second[bits], second[bits] / first[bits]) for bits in first)


def test_no_pair_of_neighbours_of_either_sign_is_told_apart_better_than_the_price_says() -> None:
    """Three keys that share places, values in halves of a bit from -1 to 1, one or two of which move; crossing 0 from
    -1 to 1 alone meets the price of two bits. The price of half a bit less is passed."""
    columns, half, met = Columns(SEED, 2, 3), Fraction(1, 2), 0
    shared = [place(columns, column, key) for column in range(2) for key in (1, 2, 11)]
    rng = np.random.default_rng(5)
    keys = (1, 2, 11)
    for _ in range(60):
        one = {key: half * int(rng.integers(-2, 3)) for key in keys[: int(rng.integers(1, 4))]}
        other = dict(one)
        for key in rng.choice(list(one), int(rng.integers(1, 3))).tolist():
            other[key] = half * int(rng.integers(-2, 3))
        price = math.prod((odds(Fraction(3), abs(other[key] - one[key])) for key in one), start=Fraction(1))
        found = ratio(one, other, 1, columns)
        assert found <= price
        met += found == price and price > 1
    assert met >= 5 and len(set(shared)) < len(shared), "keys meet"
    alone = ratio({1: Fraction(-1)}, {1: Fraction(1)}, 1, columns)
    assert alone == odds(Fraction(3), Fraction(2)) > odds(Fraction(3), Fraction(3, 2))


def test_what_is_stored_is_the_paper_s_structure_with_its_first_half_complemented() -> None:
    """Without flips, for all pairs of values: the same bits, in the places of the same hash functions."""
    m = 3
    bound = bound_of(accounting="count-exact")
    plan = type(bound.plan)(16384, 16, Fraction(1), m, 4, 2, 2)
    for first, second in itertools.product(range(-m, m + 1), repeat=2):
        seed, packed = drawn(plan, {1: first, 2: second})
        columns = Columns(seed, 2 * m, 4)
        stored = np.unpackbits(packed, axis=1, bitorder="little")
        # a column of the paper's first half has the hash function of the column in which its complement is stored
        of = [2 * m - 1 - column if column < m else column - m for column in range(2 * m)]
        seen = {key: [int(stored[of[c], place(columns, of[c], key)]) ^ (c < m) for c in range(2 * m)] for key in (1, 2)}
        for key, y in ((1, first), (2, second)):
            other = second if key == 1 else first
            for c in range(2 * m):
                meets = place(columns, of[c], 1) == place(columns, of[c], 2)
                own = int(c < m + y)
                touched = meets and (c >= m + other if c < m else c < m + other)
                assert seen[key][c] == ((int(c >= m)) if touched else own)


def drawn(plan: object, values: dict[int, int]) -> tuple[bytes, np.ndarray]:
    class Bare(Drawn):
        def __init__(self, ones: int, places: int) -> None:
            pass

        draw = NoFlips.draw

    kept, mechanism.FlipSampler = mechanism.FlipSampler, Bare  # type: ignore[misc]
    try:
        return mechanism.sketch(
            plan,  # type: ignore[arg-type]
            np.array(list(values), dtype=np.uint64),
            np.array(list(values.values()), dtype=np.int64),
            TeachingBits(7),
            levels_of=mechanism.in_proportion(plan),  # type: ignore[arg-type]
            numbered=True,
        )
    finally:
        mechanism.FlipSampler = kept  # type: ignore[misc]


@pytest.mark.parametrize("epsilon", ["1/2", "1", "2"])
def test_the_exact_price_is_met_by_a_value_that_changes_its_sign(epsilon: str) -> None:
    """One row moves a sum by up to 2, so from -1 to 1, through 0; a step that is worth a hundredth more costs more than
    was asked."""
    bound = bound_of(epsilon, accounting="count-exact")
    alpha, worth, paid = bound.plan.flips.alpha, bound.plan.worth, bound.price.epsilon
    assert log_at_most(odds(alpha, 2 * worth), paid) and paid <= Fraction(epsilon)
    assert not log_at_most(odds(alpha, 2 * worth), paid - 2 * STEP)
    assert not log_at_most(odds(alpha, 2 * worth * Fraction(101, 100)), Fraction(epsilon))
    with pytest.raises(ParameterError, match="signed"):
        dv.ALP(epsilon, cap=50, keys=10, accounting="count-exact").bind(SIGNED, ROW)
    halves = dv.ALP(epsilon, cap=50, keys=10).bind(SIGNED, ROW)
    assert bound_of(epsilon).price == halves.price or bound_of(epsilon).plan.worth == halves.plan.worth


# ---------------------------------------------------------------- decoding and error


def test_every_value_is_decoded_exactly_where_nothing_is_flipped() -> None:
    """A twin that does not turn the first half round decodes most negative values wrong."""
    bound = bound_of(accounting="count-exact")
    m = 6
    plan = type(bound.plan)(16384, 16, Fraction(1), m, 9, 3, 2)
    wrong = 0
    for y in range(-m, m + 1):
        seed, packed = drawn(plan, {77: y})
        answer = SignedSketch(plan, seed, packed, (), np.zeros(0, dtype=np.int64))
        for reader in answer.readers:
            assert answer.read(reading(bound), [77], reader) == [y]
            assert answer.read(reading(bound), [78], reader) == [0]
        columns = Columns(seed, 2 * m, 9)
        rows = alp.read(packed, columns, np.array([77], dtype=np.uint64))
        twin = np.concatenate((1 - rows[:, m:], rows[:, :m]), axis=1)
        wrong += unary.paper(twin)[0] - m != y
    assert wrong >= m // 2


def strings(m: int, y: int, p: Fraction, up: tuple[Fraction, ...]) -> Iterator[tuple[Fraction, Fraction]]:
    """Each estimate of y from 2m bits, and its chance: `up` is with what chance other keys touch each bit."""
    for string in itertools.product((0, 1), repeat=2 * m):
        chance = Fraction(1)
        for place_, (bit, touched) in enumerate(zip(string, up, strict=True)):
            own = place_ < m + y
            one = Fraction(own)
            if place_ < m and own:
                one -= touched  # cleared by a negative value of another key
            if place_ >= m and not own:
                one += touched  # set by a positive one
            shown = one * (1 - p) + (1 - one) * p
            chance *= shown if bit else 1 - shown
        sums = [0, *itertools.accumulate(2 * bit - 1 for bit in string)]
        peaks = [place_ for place_, sum_ in enumerate(sums) if sum_ == max(sums)]
        yield Fraction(sum(peaks), len(peaks)) - m, chance


@pytest.mark.parametrize("reader", ["likelihood", "posterior-median"])
def test_the_other_estimators_state_an_error_that_holds_for_every_value(reader: str) -> None:
    """By all strings of few bits, and for every value, whichever bits others turn. A third of it does not hold."""
    bound = dv.ALP(2, cap=3, keys=1600, encoding="signed").bind(SIGNED, ROW)
    plan, m = bound.plan, bound.plan.columns
    assert 2 * m <= 12
    estimator = unary.likelihood if reader == "likelihood" else unary.posterior_median
    every = ((np.arange(1 << 2 * m)[:, None] >> np.arange(2 * m)) & 1).astype(np.uint8)
    p, raised, q = float(plan.flips.p), float(plan.flips.raised), float(plan.collisions)
    read = np.array([float(one) for one in estimator(every, p, raised, m)]) - m
    first, error = np.arange(2 * m) < m, bound.error.estimator(reader)

    def far(value: int, a: int) -> float:
        scaled = max(-float(m), min(float(m), float(value * plan.worth)))
        y, worst = min(math.floor(scaled), m - 1), 0.0
        for clears, sets in itertools.product((0.0, q), repeat=2):
            off = 0.0
            for whole, share in ((y, y + 1 - scaled), (y + 1, scaled - y)):
                own = np.arange(2 * m) < m + whole
                ones = np.where(first, own * (1 - clears), own + ~own * sets)
                ones = ones * (1 - p) + (1 - ones) * p
                chances = np.where(every == 1, ones, 1 - ones).prod(axis=1)
                off += share * float(chances[np.abs(read / float(plan.worth) - value) > a].sum())
            worst = max(worst, off)
        return worst

    values = range(-int(plan.reach), int(plan.reach) + 1)
    for beta in (Fraction(1, 5), Fraction(1, 10)):
        stated = error.one_bin(beta)
        assert stated is not None and stated.how == "bound" and error.all_bins(beta) is not None
        assert max(far(value, int(stated.value)) for value in values) <= beta
        assert max(far(value, int(stated.value) // 3) for value in values) > beta


@pytest.mark.parametrize("y", [-3, -1, 0, 2])
def test_a_tail_holds_whatever_other_keys_set_and_clear(y: int) -> None:
    """Six bits, all strings, each bit touched never or as often as may be: all 64 patterns. Tails that know only of
    bits that are set, and are not cleared, are passed."""
    flips = Flips(FIFTH, Fraction(1, 4))
    tails, twin = Tails(flips, 6, cleared=True), Tails(flips, 6)
    passed = False
    for pattern in itertools.product((Fraction(0), flips.collisions), repeat=6):
        law_ = list(strings(3, y, FIFTH, pattern))
        for reach in (0.4, 1.0, 1.9, 3.0, 4.5):
            off = sum((chance for value, chance in law_ if abs(value - y) > reach), Fraction(0))
            assert off <= tails.beyond(reach) + 1e-12 and off <= tails.of(3.0 + y, reach) + 1e-12
            passed |= off > twin.of(3.0 + y, reach) + 1e-6
    assert passed or y < 0, "which needs enough bits up to the value"


def test_many_bits_err_alike_above_and_below_and_less_than_two_halves_do() -> None:
    """By the whole law of 12 bits and by walks of more: a stated error is below that of two halves, at one price."""
    for cap in (20, 50, 400):
        one, two = bound_of(cap=cap), dv.ALP(1, cap=cap, keys=1000).bind(SIGNED, ROW)
        assert one.plan.bits == two.space.bits and one.price.epsilon == two.price.epsilon
        for beta in (Fraction(1, 10), Fraction(1, 20), Fraction(1, 1000)):
            errors = [bound.error.one_bin(beta).value for bound in (one, two)]  # type: ignore[union-attr]
            assert errors[0] < errors[1] or errors[0] == errors[1] > one.law.plan.reach, (cap, beta)
    tails = bound_of(cap=50).plan.tails_of()
    for y in (0.0, 3.0, 7.0):
        assert abs(tails.of(y, 4.0) - tails.of(tails.bits - y, 4.0)) < 1e-12


def test_most_intervals_of_values_of_both_signs_hold() -> None:
    """400 keys at beta 0.05; more than 80 misses have a chance below 1e-20 for independent ones."""
    bound = bound_of(6, keys=400)
    labels = np.arange(400, dtype=np.uint64) * 7919
    values = (np.arange(400) % 81) - 40
    answer = bound.draw(SparseCounts(labels, values), TeachingBits(3), mode="exact")
    points = labels.tolist()
    intervals = answer.intervals(reading(bound), Fraction(1, 20), points=points)
    assert intervals is not None
    ends = zip(intervals.low, intervals.high, values.tolist(), strict=True)
    misses = sum((low is not None and low > value) or (high is not None and high < value) for low, high, value in ends)
    assert misses < 80
    for reader in answer.readers:
        found = answer.read(reading(bound), points, reader)
        assert np.mean([abs(float(one) - value) for one, value in zip(found, values, strict=True)]) < 6
    assert bound.error.one_bin(Fraction(1, 20), count=0).value == bound.error.one_bin(Fraction(1, 20)).value  # type: ignore[union-attr]
    far = bound.error.one_bin(Fraction(1, 20), count=-(10**6)).value  # type: ignore[union-attr]
    assert far > 10**6 - 60, "what the bits cannot stand for is missing"


# ---------------------------------------------------------------- files and refusals


def test_a_release_is_saved_loaded_and_read_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"k": rng.integers(0, 99, 900), "x": rng.integers(-2, 3, 900)})
    session = dv.Session(frame, dv.Unit("row"), dv.Budget(9), tmp_path / "signed.ledger")
    release = session.release(SIGNED, dv.ALP(4, cap=50, keys=100, encoding="signed"))
    again = dv.load(release.save(tmp_path / "signed.json"), ledger=session)
    assert again == release and list(again.many(range(99))) == list(release.many(range(99)))
    packed = release.answer.offline_look_ups(release.reading, (Fraction(1, 20),))
    assert packed is not None and packed.header["kind"] == "signed-sketch", "a page tells it from a plain sketch"
    truth = frame.groupby("k").x.sum()
    sums = [release.sum([key]) for key in range(99)]
    ends = [(-99 if one.low is None else one.low, 99 if one.high is None else one.high) for one in sums]
    held = sum(low <= truth.get(key, 0) <= high for key, (low, high) in enumerate(ends))
    assert held > 59, "40 misses in 99 have a chance below 1e-20 for independent ones"
    both = release.sum([3, 4])
    assert both.value == release[3] + release[4]
    assert both.low is None or ends[3][0] == -99 or both.low < both.value - (sums[3].value - ends[3][0])
    assert release.bits == again.bits and min(release.many(range(99))) < 0 < max(release.many(range(99)))


def test_a_sum_of_values_of_both_signs_is_not_cut_at_0(tmp_path: Path) -> None:
    """Of every sketch that holds such values, and for replaced rows, whose number bounds counts alone. All of eight
    empty bins read as far above 0 as that, or as far below 10, have a chance below 1e-9."""
    frame = pd.DataFrame({"k": np.arange(10) % 2, "x": np.where(np.arange(10) % 2, 4, -4)})
    question = Question.sum("x", by=dv.Domain.integers(0, 9, column="k"), low=-4, high=4, step=1)
    for number, mechanism_ in enumerate(
        (dv.ALP(4, cap=300, keys=9, encoding="signed"), dv.ALP(4, cap=300, keys=9), dv.ThresholdALP(4, keys=9))
    ):
        unit = dv.Unit("row", relation="replace-one", n=10)
        release = dv.Session(frame, unit, dv.Budget(200), tmp_path / f"{number}.ledger").release(question, mechanism_)
        ends = [release.sum([key]) for key in range(2, 10)]
        assert any(one.low is None or one.low < 0 for one in ends)
        assert any(one.high is None or one.high > 10 for one in ends)


def test_a_sketch_with_other_numbers_than_its_law_is_refused() -> None:
    bound = bound_of(keys=30)
    answer = bound.draw(SparseCounts(np.array([5], np.uint64), np.array([-9])), TeachingBits(1), mode="exact")
    stored = json.loads(json.dumps(answer.to_json()))
    assert SignedSketch.from_json(stored) == answer and bound.accepts(answer)
    assert law_from_json(json.loads(json.dumps(bound.law.to_json()))) == bound.law
    assert not bound_of("1/2", keys=30).accepts(answer)
    for part, value in {"halves": "1", "worth": "2/4", "columns": "9999", "keys": "999999"}.items():
        with pytest.raises(ReleaseFormat):
            SignedSketch.from_json({**stored, "plan": {**stored["plan"], part: value}})
        with pytest.raises(ReleaseFormat):
            law_from_json({**bound.law.to_json(), "plan": {**stored["plan"], part: value}, "bins": "0"})
    assert Sketch.from_json(stored) != answer, "the same bits, read as two halves, are another answer"


def test_values_that_are_never_negative_need_no_second_half() -> None:
    with pytest.raises(ParameterError, match="unary"):
        dv.ALP(1, cap=10, keys=10, encoding="signed").bind(HUGE, ROW)
