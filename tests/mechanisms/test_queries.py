"""Queries, held to the contract in both relations: the price of any list, the exact law of its fit, what is refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, DpvizError, ParameterError, ReleaseFormat
from dpviz.exact import exp_bounds
from dpviz.fitting.irregular import Irregular
from dpviz.fitting.queries import NoisyQueries as Matrix
from dpviz.mechanisms.queries import QueriesBound
from dpviz.model.answers import Packed, QueryAnswers, Reading
from dpviz.model.linear import UNBIASED, Query
from dpviz.model.question import Question
from dpviz.model.workload import Workload
from dpviz.privacy import Unit
from tests.mechanisms import contract
from tests.mechanisms.contract import Case
from tests.mechanisms.test_dense import exponential, geometric_oracle, names
from tests.mechanisms.test_sorted import EDGE, HEAVY, REPLACE, ROW, SWAP, TWO_SWAPPED, USER

Asked = Mapping[str, list[int] | None]

GRADES: Asked = {"all": None, "passed": [0, 1], "A": [0], "B": [1], "F": [2]}
TWO_TOTALS: Asked = {"all": None, "again": None}
APART: Asked = {"first": [0], "last": [2]}
OVERLAPPING: Asked = {"a": [0, 1], "b": [1, 2]}


def bound_of(unit: Unit, bins: int, asked: Asked | None, epsilon: Any = 1) -> QueriesBound:
    return dv.Queries(epsilon, asked).bind(Question.of(dv.Domain.integers(0, bins - 1, column="x")), unit)


def noisy(answer: Any) -> np.ndarray:
    values: np.ndarray = answer.read(None, reader="noisy")
    return values


def totals(asked: Asked) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """The true answers, from what the queries say."""
    return lambda counts: tuple(
        sum(counts) if bins is None else sum(counts[one] for one in bins) for bins in asked.values()
    )


def case_of(name: str, unit: Unit, asked: Asked, l1: int, most: int = 3) -> Case:
    """A case whose noise is calibrated to `l1`, which is written here by hand."""
    oracle = geometric_oracle(exponential(Fraction(1, l1)), None, None)
    return Case(name, bound_of(unit, 3, asked), most, oracle, totals(asked), noisy)


CASES = [
    case_of("grades, a row added", ROW, GRADES, 3),
    case_of("grades, a row replaced", REPLACE, GRADES, 3, 4),
    case_of("grades, a user in two bins", USER, GRADES, 6, 2),
    case_of("grades, a user twice in one bin", HEAVY, GRADES, 6, 2),
    case_of("grades, a user exchanged", SWAP, GRADES, 3, 2),
    case_of("two totals, a row added", ROW, TWO_TOTALS, 2),
    case_of("two totals, a row replaced by one that is not declared", REPLACE, TWO_TOTALS, 2, 4),
    case_of("two bins apart, a row added", ROW, APART, 1),
    case_of("two bins apart, a row replaced", REPLACE, APART, 2, 4),
    case_of("overlapping, a row added", ROW, OVERLAPPING, 2),
    case_of("overlapping, a row replaced", REPLACE, OVERLAPPING, 2, 4),
    case_of("overlapping, an edge with two ends", EDGE, OVERLAPPING, 3),
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


def test_no_unit_moves_any_answers_further_than_the_list_says() -> None:
    """All lists of two different queries over three bins, all units: by every move of one unit. It is attained for rows
    and for whoever is added or removed; of exchanged users it is a bound."""
    parts = [list(one) for size in (1, 2, 3) for one in itertools.combinations(range(3), size)]
    loose = 0
    for unit in (ROW, REPLACE, USER, HEAVY, SWAP, TWO_SWAPPED):
        every = set(contract.moves(unit, 3))
        for first, second in itertools.combinations(parts, 2):
            asked: Asked = {"first": first, "second": second}
            farthest = max(sum(map(abs, totals(asked)(move))) for move in every)
            stated = Workload.of({"first": first, "second": second}, 3).l1(unit)
            assert stated >= farthest
            assert stated == farthest or unit is TWO_SWAPPED
            loose += stated > farthest
    assert loose == 18  # of 126, all of them of exchanged users in two bins


def test_a_record_that_leaves_the_declared_bins_moves_the_total() -> None:
    """Between two bins it moves nothing, and a price from such pairs alone would be 0."""
    assert Matrix(((1, 1, 1),)).replace_one == 0
    assert bound_of(REPLACE, 3, {"all": None}).noise.l1 == 1


def test_the_grades_cost_three_and_a_tree_gives_the_same_fit() -> None:
    asked = {"all": None, "passed": [0, 1, 2, 3], **{grade: [at] for at, grade in enumerate("ABCDF")}}
    bound = bound_of(ROW, 5, asked)
    assert bound.noise.l1 == 3 == bound_of(Unit("row", relation="replace-one", n=100), 5, asked).noise.l1
    drawn = [101, 88, 20, 31, 22, 10, 14]
    fitted = QueryAnswers(np.array(drawn), bound.workload).read(reading_of(bound))
    assert fitted == Irregular((-1, 0, 1, 1, 1, 1, 0), (1,) * 7).fit(drawn) and fitted[0] == fitted[1] + fitted[6]


@pytest.mark.parametrize("case", CASES, ids=names)
def test_draws_follow_the_law_in_every_answer(case: Case) -> None:
    assert contract.check_draws(case, (0, case.most, 1), 2_000, "exact", seed=11) > contract.FALSE_ALARM


def test_a_draw_of_other_sums_is_rejected() -> None:
    """Power: an answer that is off by one count at epsilon 1 over l1 3 shifts chi-square by more than 300."""
    case = CASES[0]
    other = Case("other", case.bound, case.most, case.oracle, totals({**GRADES, "passed": [0, 2]}), noisy)
    assert contract.check_draws(other, (0, 3, 1), 2_000, "exact", seed=11) < 1e-30


# ---------------------------------------------------------------- the law of the fit


def reading_of(bound: QueriesBound) -> Reading:
    return Reading(bound.question, bound.unit, bound.error, bound.clamp)


TOTAL: Asked = {"all": None, "a": [0], "b": [1]}
SMALL = bound_of(ROW, 2, TOTAL, 6)
"""Noise of rate 3 on each of three answers."""

NOISES = list(itertools.product(range(-6, 7), repeat=3))
RATE = math.exp(-3)
CHANCES = [((1 - RATE) / (1 + RATE)) ** 3 * RATE ** sum(map(abs, vector)) for vector in NOISES]
"""Less than 1e-8 is missing."""


def fitted_errors(row: int) -> list[tuple[Fraction, float]]:
    """The error of one fitted answer for each vector of noises: (2 t + a + b) / 3 of the total t, by hand."""
    weights = {0: (2, 1, 1), 1: (1, 2, -1), 2: (1, -1, 2)}[row]
    return [
        (Fraction(sum(w * z for w, z in zip(weights, vector, strict=True)), 3), chance)
        for vector, chance in zip(NOISES, CHANCES, strict=True)
    ]


@pytest.mark.parametrize("row", range(3))
@pytest.mark.parametrize("beta", [Fraction(1, 3), Fraction(1, 20), Fraction(1, 100)])
def test_the_interval_of_a_fitted_answer_is_the_least_that_holds(row: int, beta: Fraction) -> None:
    truth = {0: 700, 1: 300, 2: 400}
    reading, errors = reading_of(SMALL), fitted_errors(row)
    weights = SMALL.workload.fitted[row]
    for vector, (error, _) in list(zip(NOISES, errors, strict=True))[::50]:
        assert sum((w * z for w, z in zip(weights, vector, strict=True)), Fraction(0)) == error
    answer = QueryAnswers(np.array([700, 300, 400]), SMALL.workload)
    ends = answer.intervals(reading, beta, "one", [row])
    assert ends is not None and ends.how == "exact"
    half = int(np.asarray(ends.high)[0]) - truth[row]

    def beyond(a: float) -> float:
        return sum(chance for error, chance in errors if abs(error) > a)

    assert beyond(half + 1 - Fraction(1, 100)) <= beta  # ends are cut to whole counts around a whole value
    assert beyond(half - 1) > beta - 1e-8
    radius = SMALL.error.of(Query.of((range(2) if row == 0 else [row - 1], 1))).over.radius(beta)
    assert radius.exact and beyond(float(radius.value) + 1e-9) <= beta < beyond(float(radius.value) - 0.01)


@pytest.mark.parametrize("reader", QueryAnswers.readers)
def test_all_intervals_hold_at_once_by_enumeration(reader: str) -> None:
    reading, beta, truth = reading_of(SMALL), Fraction(1, 10), np.array([7, 3, 4])
    missed = 0.0
    for vector, chance in zip(NOISES[::1], CHANCES, strict=True):
        if chance < 1e-7:
            missed += chance
            continue
        ends = QueryAnswers(truth + vector, SMALL.workload).intervals(reading, beta, "all", reader=reader)
        assert ends is not None and (np.asarray(ends.low) >= 0).all()
        outside = (np.asarray(ends.low) > truth) | (np.asarray(ends.high) < truth)
        missed += chance if outside.any() else 0.0
    assert missed <= beta


def test_a_fitted_answer_has_a_shorter_interval_than_a_drawn_one() -> None:
    bound = bound_of(ROW, 5, {"all": None, **{str(one): [one] for one in range(5)}}, "1/10")
    answer = QueryAnswers(np.full(6, 10_000), bound.workload)
    fitted, drawn = (answer.intervals(reading_of(bound), Fraction(1, 20), reader=one) for one in answer.readers)
    assert fitted is not None and drawn is not None
    widths = [np.asarray(one.high) - np.asarray(one.low) for one in (fitted, drawn)]
    assert (widths[0] < widths[1]).all()


def test_the_bound_for_long_lists_is_above_every_answer() -> None:
    """More than a dozen kinds of answers have one exponential bound: against the law of each of them."""
    chance = np.random.default_rng(8)
    asked: Asked = {str(one): np.flatnonzero(chance.integers(0, 2, 8)).tolist() or [one % 8] for one in range(45)}
    bound = bound_of(ROW, 8, asked, 20)
    stated = bound.error.look_ups(1, Fraction(1, 20))
    assert stated.how == "bound"
    answer = QueryAnswers(np.full(45, 10_000), bound.workload)
    ends = answer.intervals(reading_of(bound), Fraction(1, 20))
    assert ends is not None
    widths = (np.asarray(ends.high) - np.asarray(ends.low)) / 2
    assert widths.max() <= stated.value + 1 <= 3 * widths.max()


# ---------------------------------------------------------------- sums of bins


def test_what_follows_from_the_answers_is_read_and_what_they_leave_open_is_refused() -> None:
    bound = bound_of(ROW, 3, {"all": None, "some": [0, 1]})
    answer, reading = QueryAnswers(np.array([10, 6]), bound.workload), reading_of(bound)
    assert answer.weighted_sum(reading, Query.of(([2], 1))) == 4
    assert answer.weighted_sum(reading, Query.of((range(2), 2), ([2], -1))) == 8
    for points in ([0], [1], [0, 2]):
        with pytest.raises(DomainError, match="leave it open"):
            answer.weighted_sum(reading, Query.of((points, 1)))
        with pytest.raises(DomainError, match="leave it open"):
            bound.law.linear(Query.of((points, 1)), answer, reading)
    nowhere = bound_of(ROW, 4, {"some": [0, 1]})
    with pytest.raises(DomainError, match="leave it open"):
        nowhere.law.linear(Query.of(([3], 1)), None, reading_of(nowhere))


def test_sums_are_unbiased_and_their_law_is_that_of_the_noises() -> None:
    """A fitted part and the total less the other part are the same number, with the same law."""
    reading = reading_of(SMALL)
    error = SMALL.law.linear(Query.of(([0], 1)), None, reading)
    assert error.exact and error.bias == UNBIASED
    beta = Fraction(1, 20)
    below, above = error.ends(beta)
    assert below is not None and below == above
    misses = sum(chance for off, chance in fitted_errors(1) if abs(off) > below.value)
    nearer = sum(chance for off, chance in fitted_errors(1) if abs(off) > below.value - Fraction(1, 3))
    assert misses <= beta < nearer


# ---------------------------------------------------------------- a whole release


FRAME = pd.DataFrame({"grade": [*"A" * 20, *"B" * 31, *"C" * 22, *"D" * 10, *"F" * 14]})
BINS = dv.Domain.categories(list("ABCDF"), column="grade")
LISTED = {"all": None, "passed": ["A", "B", "C", "D"], **{grade: [grade] for grade in "ABCDF"}}


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    return dv.Session(FRAME, dv.Unit("row", noun="student"), dv.Budget(epsilon=4), tmp_path / "grades.ledger")


def test_a_release_is_stored_saved_read_back_and_asked(session: dv.Session, tmp_path: Path) -> None:
    release = session.release(BINS, dv.Queries("1/2", LISTED))
    assert session.release(BINS, dv.Queries("0.5", LISTED)) == release and len(session.releases) == 1
    assert dv.load(release.save(tmp_path / "grades.json"), ledger=session) == release
    frame = release.to_frame()
    assert frame["query"].tolist() == [*LISTED] and frame["value"][0] == frame["value"][1] + frame["value"][6]
    assert release["passed"] == frame["value"][1] and "7 queries" in release.title
    assert release.sum(["A", "B", "C", "D"]).value == release["passed"]
    both = release.sum(["A", "B"])
    assert both.how == "exact" and both.value == release["A"] + release["B"] and both.bias == UNBIASED
    assert release.difference(["A"], ["F"]).value == release["A"] - release["F"]
    assert release.chart() is not None and "agree" in release._repr_html_()
    drawn = release.to_frame(reader="noisy")
    assert drawn["value"].tolist() == noisy(release.answer).tolist()
    for label in ("G", 3, None, ["A"]):
        with pytest.raises(DpvizError):
            release[label]


def test_left_out_the_queries_are_the_total_and_each_bin(session: dv.Session) -> None:
    release = session.release(BINS, dv.Queries(1))
    assert release.labels == ["all", "A", "B", "C", "D", "F"] and dv.Queries(1).parameters()["queries"] == ""
    assert bound_of(ROW, 1, None).workload.names == ("all",)
    named = dv.Domain.categories(["all", "b"], column="x")
    assert dv.Queries(1).bind(Question.of(named), ROW).workload.names == ("all", "all (bin)", "b")


@pytest.mark.parametrize(
    "queries",
    [
        {}, [], {"a": []}, {"": ["A"]}, {1: ["A"]}, {"a": "A"}, {"a": ["A", "A"]}, {"a": ["A"], "b": ["Z"]},
        {"a": FRAME["grade"]}, FRAME, FRAME["grade"], [("a", ["A"]), ("a", ["B"])], {"a": [None]}, {"a": 3}, "A",
        {"a": [FRAME["grade"]]}, {f"q{at}": ["A"] for at in range(201)}, {"\ud800": ["A"]}, float("nan"),
    ],
)  # fmt: skip
def test_wrong_queries_are_refused_before_anything_is_charged(session: dv.Session, queries: Any) -> None:
    before = session.remaining
    with pytest.raises(DpvizError):
        session.release(BINS, dv.Queries(1, queries))
    assert session.remaining == before and not session.ledger.entries()


@pytest.mark.parametrize(
    ("question", "mechanism", "error"),
    [
        ("grade", lambda: dv.Queries(1), DomainError),
        (dv.Question.sum("grade", by=BINS, low=0, high=1, step=1), lambda: dv.Queries(1), ParameterError),
        (dv.Domain.integers(1, 201, column="grade"), lambda: dv.Queries(1), ParameterError),
        (dv.Domain.integers(1, 10**6, column="grade"), lambda: dv.Queries(1, {"a": [1]}), ParameterError),
        (BINS, lambda: dv.Queries(0), DpvizError),
        (BINS, lambda: dv.Queries([1]), DpvizError),
    ],
)
def test_questions_that_it_cannot_answer_are_refused(
    session: dv.Session, question: Any, mechanism: Any, error: type[DpvizError]
) -> None:
    with pytest.raises(error):
        session.release(question, mechanism())
    assert not session.ledger.entries()


def test_bins_in_the_same_queries_are_taken_together() -> None:
    wide = bound_of(ROW, 50_000, {"low": list(range(100)), "all": None})
    assert wide.workload.sizes.tolist() in ([100, 49_900], [49_900, 100]) and wide.noise.l1 == 2
    assert bound_of(Unit("user", max_bins=150), 50_000, {"low": list(range(100)), "all": None}).noise.l1 == 250


def test_parameters_are_texts_that_make_the_same_mechanism_again() -> None:
    product = {"both": [("A", 1), ("B", 2)], "one": [("A", 1)]}
    for made in (dv.Queries("1/3"), dv.Queries(2, LISTED), dv.Queries(1, {"x": [1, "2", 0.5], "y": range(3)}),
                 dv.Queries(1, product)):  # fmt: skip
        assert dv.Queries.from_parameters(made.parameters()) == made and hash(made) is not None
        assert eval(made.python, {"dv": dv}) == made and made.with_epsilon(Fraction(1)).queries == made.queries
    assert dv.Queries(1, {"x": [1, 2]}) == dv.Queries(1, {"x": ["1", "2"]}) == dv.Queries(1, [("x", (1.0, 2))])
    months = dv.Domain.categories(["A", "B"], column="g") * dv.Domain.integers(1, 2, column="m")
    assert dv.Queries(1, product).bind(Question.of(months), ROW).workload.parts == (((0, 1), (3, 4)), ((0, 1),))


@pytest.mark.parametrize("text", ["[", "3", '{"a":3}', '[["a"]]', '[["a",["A"],3]]', '[[["a"],["A"]]]', "[]"])
def test_a_text_that_is_no_list_of_queries_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        dv.Queries.from_parameters({"epsilon": "1", "queries": text})


@pytest.mark.parametrize(
    "text",
    ["", "3", "[3]", "[3,[]]", '[3,[["a",[[0,1],[1,2]]]]]', '[3,[["a",[[0,4]]]]]', '[3,[["a",[]]]]',
     '[3, [["a",[[0,1]]]]]', '[3,[["a",[[0,1]]],["a",[[1,2]]]]]', '[3.0,[["a",[[0,1]]]]]', '[3,[[1,[[0,1]]]]]'],
)  # fmt: skip
def test_a_stored_list_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(DpvizError):
        Workload.from_text(text)
    with pytest.raises((DpvizError, TypeError)):
        QueryAnswers.unpack(Packed({"workload": text}, {"noisy": np.zeros(1, dtype=np.int64)}))


def test_an_answer_to_another_list_is_not_the_one_that_was_promised() -> None:
    bound, other = bound_of(ROW, 3, GRADES), bound_of(ROW, 3, OVERLAPPING)
    assert bound.accepts(QueryAnswers(np.zeros(5, dtype=np.int64), bound.workload))
    assert not bound.accepts(QueryAnswers(np.zeros(2, dtype=np.int64), other.workload))
    with pytest.raises(ReleaseFormat):
        QueryAnswers.unpack(Packed({"workload": bound.workload.text}, {"noisy": np.zeros(4, dtype=np.int64)}))


def test_a_plan_names_every_query_and_its_error() -> None:
    bound = bound_of(ROW, 3, GRADES)
    labels = [label for label, _ in bound.notes]
    assert labels[::3] == [f"Answer “{name}”" for name in GRADES]
    one, every, drawn = (measure.at(Fraction(1, 20)) for measure in bound.measures)
    assert one is not None and every is not None and drawn is not None
    assert one.how == "exact" and one.value < drawn.value < every.value and every.how == "bound"
    assert bound.title == "Rows by x, 5 queries"


def test_a_list_with_long_names_is_stored_and_read_back(tmp_path: Path) -> None:
    """Only numbers are short: names and labels may be as long as people write them."""
    names = {f"everything that a person would call number {place}": [place] for place in range(30)}
    ledger = tmp_path / "named.ledger"
    domain = dv.Domain.integers(0, 29, column="x")
    frame = pd.DataFrame({"x": [0, 1, 1]})
    session = dv.Session(frame, unit=dv.Unit("row"), budget=dv.Budget(epsilon=1), ledger=ledger)
    release = session.release(domain, dv.Queries(epsilon=1, queries=names))
    assert len(session.releases[1].to_frame()) == 30 and session.releases[1] == release
    named = {("x" * 2_000 + str(place)): [place] for place in range(100)}
    with pytest.raises(ParameterError, match="name fewer labels"):
        session.release(dv.Domain.integers(0, 199, column="x"), dv.Queries(epsilon=1, queries=named))
    assert session.remaining.epsilon == 0
