"""Questions about each part: one price, one entry, an answer for each, and the ways to share the price out."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import BudgetExceeded, DomainError, ParameterError, ReleaseFormat
from dpviz.mechanisms.groups import Groups, touched
from dpviz.model.mechanism import Bound
from dpviz.model.question import NamedParts
from dpviz.privacy.loss import ZCDP, ApproxDP, PureDP
from dpviz.privacy.parallel import parallel
from dpviz.session.session import Session

LISTS = dv.TopK(2, 5, epsilon="3", delta="1e-5")
MONTHS = dv.Domain.integers(1, 3, column="month")
KINDS = dv.Domain.categories(["a", "b"], column="kind")


def frame(rows: int = 900) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "user": [at // 3 for at in range(rows)],
            "month": [at % 3 + 1 for at in range(rows)],
            "kind": ["a" if at % 4 else "b" for at in range(rows)],
        }
    )


def session(tmp_path: Path, unit: dv.Unit | None = None, epsilon: str = "10") -> Session:
    budget = dv.Budget(epsilon=epsilon, delta="1e-3")
    return Session(frame(), unit or dv.Unit(), budget, tmp_path / "parts.ledger", dataset="kinds")


# ---------------------------------------------------------------- twelve lists


def months() -> dv.Domain:
    """The months of 2013, in minutes of the year."""
    first = datetime.date(2013, 1, 1)
    ends = [datetime.date(2013 + at // 12, at % 12 + 1, 1) for at in range(13)]
    return dv.Domain.intervals([(end - first).days * 24 * 60 for end in ends], column="scheduled_minute")


def right(release: Any, truth: list[set[str]]) -> int:
    """How many destinations are listed that are among the ten most common of their month."""
    return sum(len(set(part.items) & most) for part, most in zip(release.groups.values(), truth, strict=True))


def month_of(flights: pd.DataFrame) -> pd.Series:
    """0..11: each day is looked up once, for building the domain takes longer than all else."""
    domain = months()
    of_day = [domain.index(minute) for minute in range(0, 525_600, 60 * 24)]
    return flights["scheduled_minute"].map(lambda minute: of_day[int(minute) // (60 * 24)])


def most_common(flights: pd.DataFrame) -> list[set[str]]:
    month = month_of(flights)
    return [set(flights["destination"][month == at].value_counts().index[:10]) for at in range(12)]


def test_twelve_lists_of_flights_come_by_parallel_parts() -> None:
    """Epsilon 3 and delta 10^-5 for all twelve, a flight protected: medians of 20 seeded draws."""
    flights = dv.datasets.flights()
    lesson = dv.teaching(flights, seed=1, unit=dv.Unit(noun="flight"))
    lists = dv.TopK(10, 50, epsilon="3", delta="1e-5")
    plan = lesson.plan("destination", lists, by=months())
    assert plan.way == "parallel"
    assert 10 * plan.listed().value < lesson.plan("destination", lists, by=months(), way="sequence").listed().value
    draws = [lesson.draw("destination", lists, by=months()) for _ in range(20)]
    truth = most_common(flights)
    assert median(right(draw, truth) for draw in draws) >= 115


def test_twelve_lists_where_an_aircraft_counts_in_six_months() -> None:
    """The same with an aircraft protected, which counts for ten destinations in each of six months."""
    flights = dv.datasets.flights()
    lesson = dv.teaching(flights, seed=1, unit=dv.Unit("aircraft", max_bins=10))
    by = dv.Partition(months(), max_parts=6)
    lists = dv.TopK(10, 50, epsilon="3", delta="1e-5")
    plan = lesson.plan("destination", lists, by=by)
    possible = {way for way, bound in plan.ways.items() if isinstance(bound, Bound)}
    assert plan.way == "zcdp" and possible >= {"parallel", "sequence", "zcdp", "sub-session"}
    draws = [lesson.draw("destination", lists, by=by) for _ in range(20)]
    fleet = flights.assign(month=month_of(flights)).drop_duplicates(["aircraft", "destination", "month"])
    truth = most_common(fleet)
    assert median(right(draw, truth) for draw in draws) >= 100


# ---------------------------------------------------------------- prices

UNITS = {
    "row": dv.Unit(),
    "row, replaced": dv.Unit("row", "replace-one", n=900),
    "user": dv.Unit("user", max_bins=2),
    "user, replaced": dv.Unit("user", "replace-one", max_bins=2),
}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("most", [None, 1, 2])
@pytest.mark.parametrize(
    "mechanism",
    [
        LISTS,
        dv.Dense("3"),
        dv.Stability("3", "1e-5"),
        dv.Stability("3", "1e-5", base="gaussian"),
        dv.Threshold("3", "1e-5", base="gaussian"),
    ],
    ids=repr,
)
def test_every_way_costs_what_was_asked_at_most_and_follows_from_its_parts(
    unit: dv.Unit, most: int | None, mechanism: Any
) -> None:
    by = dv.Partition(MONTHS, max_parts=most)
    question = dv.Question(dv.Domain.keys(column="kind") if mechanism == LISTS else KINDS, by=by)
    for way in ("parallel", "sequence", "zcdp"):
        try:
            bound = Groups(mechanism, way).bind(question, unit)
        except ParameterError:
            assert way != "sequence"
            continue
        few = touched(by, unit)
        price = bound.price.loss
        assert isinstance(price, PureDP | ApproxDP)
        assert price.epsilon <= 3 and price.delta <= Fraction(1, 10**5)
        assert price.epsilon > Fraction(29, 10), "and nearly all of it is used"
        if way == "parallel":
            assert few < 3 and bound.each.unit.relation == "add-remove" and bound.each.unit.n is None
            assert price == parallel([bound.each.price.loss] * 3, few, unit.relation)
        elif way == "sequence":
            assert price.epsilon == 3 * bound.each.price.epsilon and bound.each.unit == unit


def test_parallel_parts_of_a_row_cost_what_one_answer_costs() -> None:
    bound = Groups(dv.Dense("3"), "parallel").bind(dv.Question(KINDS, by=dv.Partition(MONTHS)), dv.Unit())
    assert bound.each.price.loss == bound.price.loss == PureDP(Fraction(3))
    replaced = Groups(dv.Dense("3"), "parallel").bind(
        dv.Question(KINDS, by=dv.Partition(MONTHS)), dv.Unit("row", "replace-one", n=9)
    )
    assert replaced.each.price.loss == PureDP(Fraction(3, 2)) and replaced.price.loss == PureDP(Fraction(3))


def test_gaussian_parts_pay_their_rho_under_a_zcdp_budget(tmp_path: Path) -> None:
    budget = dv.Budget(epsilon="3", delta="1e-5", filter="zcdp")
    it = Session(frame(), dv.Unit("user", max_bins=2), budget, tmp_path / "rho.ledger", dataset="kinds")
    by = dv.Partition(MONTHS, max_parts=2)
    noise, whole = dv.Dense("1", base="gaussian", delta="1e-6"), it.remaining.parts["rho"]
    plan = it.plan(KINDS, noise, by=by)
    alone = plan.bound.each.price.zcdp_steps.rho  # type: ignore[attr-defined]
    booked = plan.price.zcdp_steps.rho  # type: ignore[union-attr]
    assert plan.way == "parallel" and 0 <= 2 * alone - booked < Fraction(2, 10**12), "each is rounded up by itself"
    release = it.release(KINDS, noise, by=by)
    assert whole - it.remaining.parts["rho"] == booked <= Fraction(1, 20)
    assert it.remaining.parts["delta"] == it.remaining.caps["delta"], "rho alone is booked"
    assert dv.load(release.save(tmp_path / "rho.json"), ledger=it) == release
    one = it.plan(KINDS, noise).price.zcdp_steps
    assert isinstance(one, ZCDP) and abs(booked / one.rho - 1) < Fraction(1, 100), "as one answer"


@pytest.mark.parametrize("way", ["parallel", "sequence", "zcdp"])
def test_lists_pay_their_steps_under_a_zcdp_budget(tmp_path: Path, way: Any) -> None:
    """As many as one unit may count in: two lists of two symbols, or all three where they are asked in sequence."""
    budget = dv.Budget(epsilon="9", delta="1e-4", filter="zcdp")
    it = Session(frame(), dv.Unit("user", max_bins=2), budget, tmp_path / "steps.ledger", dataset="kinds")
    by, before = dv.Partition(MONTHS, max_parts=2), it.remaining.parts
    plan = it.plan("kind", LISTS, by=by, way=way)
    step, lists = plan.bound.each.step_price, 3 if way == "sequence" else 2  # type: ignore[attr-defined]
    it.release("kind", LISTS, by=by, way=way)
    spent = {part: before[part] - it.remaining.parts[part] for part in before}
    squares = lists * 2 * step.step**2 / 8
    assert squares <= spent["rho"] < squares + Fraction(1, 10**11)
    assert spent["delta"] == lists * step.delta and 0 < spent["shift"] < 3 * lists * step.delta


def test_a_list_of_a_row_pays_what_one_list_pays_under_a_zcdp_budget() -> None:
    bound = Groups(LISTS, "parallel").bind(
        dv.Question(dv.Domain.keys(column="kind"), by=dv.Partition(MONTHS)), dv.Unit()
    )
    alone = LISTS.bind(dv.Question(dv.Domain.keys(column="kind")), dv.Unit()).price
    assert bound.price.zcdp_steps == alone.zcdp_steps and bound.price.loss == alone.loss
    swapped = dv.Unit("user", "replace-one", max_bins=2)
    by = dv.Partition(MONTHS, max_parts=2)
    for way in ("parallel", "zcdp"):
        bound = Groups(LISTS, way).bind(dv.Question(dv.Domain.keys(column="kind"), by=by), swapped)  # type: ignore[arg-type]
        assert bound.price.zcdp_steps is None, "no sum of steps says what lists cost that a unit leaves and enters"


# ---------------------------------------------------------------- one entry


def test_one_release_one_charge_and_an_answer_for_each_part(tmp_path: Path) -> None:
    it = session(tmp_path)
    release = it.release("kind", LISTS, by=MONTHS)
    assert it.remaining.epsilon == 7 and len(it.releases) == 1
    assert list(release.groups) == ["1", "2", "3"]
    assert all(part.items == ["a", "b"] for part in release.groups.values())
    assert it.release("kind", LISTS, by=MONTHS) == release and it.remaining.epsilon == 7
    assert session(tmp_path).releases[1] == release
    assert dv.load(release.save(tmp_path / "lists.json")) == release
    assert dv.load(release.save(tmp_path / "lists.dpviz")) == release
    assert release.title == "Kind, top 2 by rows, for each month, released with ε = 3, δ = 0.00001"
    part = release.groups["2"]
    assert part.title.endswith("where month is 2, released with ε = 3, δ = 0.00001 for all 3 parts together")
    assert part.promise.endswith("for adding or removing one row, for all 3 parts together")


def test_the_frame_of_all_parts_names_the_part_of_each_row(tmp_path: Path) -> None:
    release = session(tmp_path).release(KINDS, dv.Dense("3"), by=dv.Domain.integers(1, 3, column="month"))
    shown = release.to_frame()
    assert shown["month"].tolist() == ["1", "1", "2", "2", "3", "3"] and shown["bin"].tolist() == ["a", "b"] * 3
    for name, part in release.groups.items():
        own = shown[shown["month"] == name].drop(columns="month").reset_index(drop=True)
        assert own.equals(part.to_frame())
        assert part["a"] == own["value"][0] and part.sum(["a", "b"]).value == own["value"].sum()


@pytest.mark.parametrize("column", ["value", "rank", "low", "item", "bin"])
def test_parts_may_be_made_by_a_column_that_is_called_as_one_of_the_frame(column: str) -> None:
    lesson = dv.teaching(frame().rename(columns={"month": column}), seed=1)
    by = dv.Domain.integers(1, 3, column=column)
    for question, mechanism in ((KINDS, dv.Dense("3")), ("kind", LISTS)):
        shown = lesson.draw(question, mechanism, by=by).to_frame()
        assert shown.iloc[:, 0].tolist() == ["1", "1", "2", "2", "3", "3"] and shown.columns.is_unique


def test_the_answer_about_one_part_is_confirmed_by_the_ledger_that_stored_all(tmp_path: Path) -> None:
    from dpviz.model.release import with_checksum

    it = session(tmp_path)
    release = it.release(KINDS, dv.Dense("3"), by=SEASONS)  # 300 rows and 600: their answers differ
    for name, part in release.groups.items():
        path = part.save(tmp_path / f"{name}.json")
        assert dv.load(path, ledger=it) == part and dv.load(path, ledger=it).origin.startswith("ledger")
    forged = {**release.groups["first"].to_json(), "answer": release.groups["later"].to_json()["answer"]}
    path.write_bytes(with_checksum(forged))
    with pytest.raises(ReleaseFormat, match="must be what ledger"):
        dv.load(path, ledger=it)
    other = it.release(KINDS, dv.Dense("1"))
    path.write_bytes(with_checksum({**release.groups["first"].to_json(), "number": other.number}))
    with pytest.raises(ReleaseFormat, match="must be what ledger"):
        dv.load(path, ledger=it)


def test_a_notebook_shows_the_parts_side_by_side(tmp_path: Path) -> None:
    it = session(tmp_path)
    lists = it.release("kind", LISTS, by=MONTHS)._repr_html_()
    assert "<th scope='col'>month</th><th scope='col'>rank 1</th><th scope='col'>rank 2</th>" in lists
    assert "<tr><th scope='row'>1</th><td>a</td><td>b</td></tr>" in lists
    release = it.release(KINDS, dv.Dense("3"), by=MONTHS)
    counted = release._repr_html_()
    many = it.release(dv.Domain.integers(0, 19, column="user"), dv.Dense("1"), by=MONTHS)._repr_html_()
    assert "<th scope='col'>bin</th><th scope='col'>1</th><th scope='col'>2</th><th scope='col'>3</th>" in many
    assert "any one bin ±" in counted and f"<td>{release.groups['3']['b']}</td></tr></tbody>" in counted
    assert "one for each month" in release.chart().to_dict()["description"]
    assert release.groups["2"].chart() is not None


def test_a_call_without_a_way_gets_the_stored_answer_of_any(tmp_path: Path) -> None:
    it = session(tmp_path)
    stored = it.release(KINDS, dv.Dense("3"), by=MONTHS, way="sequence")
    assert it.plan(KINDS, dv.Dense("3"), by=MONTHS).way == "parallel"
    assert it.release(KINDS, dv.Dense("3"), by=MONTHS) == stored and it.remaining.epsilon == 7
    fresh = it.release(KINDS, dv.Dense("3"), by=MONTHS, key="again")
    assert fresh.terms.mechanism.parameters["way"] == "parallel" and it.remaining.epsilon == 4
    assert it.release(KINDS, dv.Dense("3"), by=MONTHS, way="parallel") != stored and it.remaining.epsilon == 1


def test_answers_about_one_part_are_combined_and_those_about_all_are_not(tmp_path: Path) -> None:
    it = session(tmp_path)
    one, other = (it.release(KINDS, dv.Dense("1"), by=MONTHS, key=key) for key in ("one", "other"))
    with pytest.raises(ParameterError, match="answers about one part are combined"):
        dv.combine(one, other)
    with pytest.raises(ParameterError, match="answers about one part are combined"):
        it.plan(KINDS, dv.Dense("1"), by=MONTHS).after(one)
    both = dv.combine(one.groups["2"], other.groups["2"])
    assert both.sum(["a"]).value == (Fraction(one.groups["2"]["a"]) + Fraction(other.groups["2"]["a"])) / 2
    with pytest.raises(ParameterError):
        dv.combine(one.groups["1"], one.groups["2"])


def test_a_plan_sets_the_ways_side_by_side() -> None:
    lesson = dv.teaching(frame(), seed=1, unit=dv.Unit("user", max_bins=2))
    told = repr(lesson.plan("kind", LISTS, by=dv.Partition(MONTHS, max_parts=2)))
    assert "which errs least" in told and "one after the other:" in told
    one = repr(lesson.plan("kind", LISTS, by=MONTHS, way="sequence"))
    assert "one after the other; each error is that of one part" in one and "which errs least" not in one


@pytest.mark.parametrize("parts, warned", [(3, False), (4, True)])
def test_parts_that_take_long_together_are_called_slow_before_they_are_paid(parts: int, warned: bool) -> None:
    """None of them is slow alone."""
    lesson = dv.teaching(frame(), seed=1)
    bins = dv.Domain.integers(1, 300_000, column="user")
    made = lesson.plan(bins, dv.Dense("1/2"), by=dv.Domain.integers(1, parts, column="month"))
    assert ("slow " in repr(made)) is warned and made.bound.cost.slow is warned


def test_what_does_not_fit_the_budget_charges_nothing(tmp_path: Path) -> None:
    it = session(tmp_path, epsilon="2")
    assert not it.plan(KINDS, dv.Dense("3"), by=MONTHS).affordable
    with pytest.raises(BudgetExceeded):
        it.release(KINDS, dv.Dense("3"), by=MONTHS)
    assert it.remaining.epsilon == 2 and len(it.releases) == 0


# ---------------------------------------------------------------- named parts

SEASONS = {"first": {"month": [1]}, "later": {"month": [2, 3]}}
OVERLAPPING = {"all": {"month": dv.Between(1, 3)}, "late": {"month": dv.Between(low=2)}}


def test_filters_by_name_are_parts_and_parallel_where_they_rule_out_that_a_row_is_in_two(tmp_path: Path) -> None:
    it = session(tmp_path)
    release = it.release(KINDS, dv.Dense("3"), by=SEASONS)
    assert release.terms.mechanism.parameters["way"] == "parallel" and it.remaining.epsilon == 7
    assert list(release.groups) == ["first", "later"]
    assert abs(release.groups["first"]["a"] - 225) < 30 and abs(release.groups["later"]["a"] - 450) < 30
    assert release.groups["later"].title.endswith("where month is 2 or 3, released with ε = 3 for all 2 parts together")
    assert dv.load(release.save(tmp_path / "named.json")) == release and session(tmp_path).releases[1] == release
    assert release.to_frame()["part"].tolist() == ["first", "first", "later", "later"]


def test_parts_that_may_overlap_are_asked_one_after_the_other(tmp_path: Path) -> None:
    it = session(tmp_path)
    with pytest.raises(ParameterError, match="may count in all 2 parts"):
        it.release(KINDS, dv.Dense("3"), by=OVERLAPPING, way="parallel")
    release = it.release(KINDS, dv.Dense("3"), by=OVERLAPPING)
    assert release.terms.mechanism.parameters["way"] == "sequence"
    assert release.groups["late"].guarantee.loss == PureDP(Fraction(3))
    assert abs(release.groups["all"]["a"] - 675) < 30 and abs(release.groups["late"]["a"] - 450) < 30


def test_a_user_may_be_in_every_named_part() -> None:
    by = dv.Question.from_json(dv.Question(KINDS, by=NamedParts(SEASONS)).to_json()).by
    assert by is not None and by.apart
    assert touched(by, dv.Unit()) == 1 and touched(by, dv.Unit("user", max_bins=2)) == 2


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ({"x": dv.Between(0, 1)}, {"x": dv.Between(2, 3)}, True),
        ({"x": dv.Between(0, 2)}, {"x": dv.Between(2, 3)}, False),
        ({"x": dv.Between(high=2)}, {"x": dv.Between(low=3)}, True),
        ({"x": dv.Between(low=0)}, {"x": dv.Between(low=3)}, False),
        ({"x": ["1", "2"]}, {"x": ["3"]}, True),
        ({"x": ["1", "2"]}, {"x": [2]}, False),
        ({"x": ["1"]}, {"x": dv.Between(2, 3)}, False),
        ({"x": ["1"]}, {"y": ["2"]}, False),
        ({"x": ["1"], "y": ["1"]}, {"x": ["1"], "y": ["2"]}, True),
        ({}, {"x": ["1"]}, False),
    ],
)
def test_two_filters_are_apart_where_one_column_says_so(one: Any, other: Any, apart: bool) -> None:
    assert NamedParts({"one": one, "other": other}).apart is apart


# ---------------------------------------------------------------- bad input

N = dv.Unit("row", "replace-one", n=900)
BY_MONTH = dv.Question(KINDS, by=dv.Partition(MONTHS))
REFUSED: dict[str, tuple[type[Exception], str, dict[str, Any]]] = {
    "parts from the data": (ParameterError, "public", {"by": dv.Domain.keys(column="month")}),
    "no parts": (ParameterError, "public", {"by": 12}),
    "the column of the bins": (DomainError, "the parts or the bins", {"by": KINDS}),
    "an unknown way": (ParameterError, "parallel, sequence, zcdp", {"way": "best"}),
    "no epsilon": (ParameterError, "epsilon", {"mechanism": dv.TopK(2, 5, epsilon_per_item="1", delta="1e-6")}),
    "a name without a filter": (ParameterError, "filters by their names", {"by": {"winter": [12]}}),
    "no named parts": (ParameterError, "filters by their names", {"by": {}}),
    "a column filtered twice": (ParameterError, "in one place", {"by": SEASONS, "where": {"month": [1]}}),
    "parts in the question": (
        ParameterError,
        "by=",
        {"question": dv.Question(KINDS, by=dv.Partition(MONTHS)), "by": None},
    ),
    "too many parts": (DomainError, "at most 1,000 parts", {"by": dv.Domain.integers(1, 1_001, column="month")}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_is_refused_before_a_charge(tmp_path: Path, name: str) -> None:
    error, words, given = REFUSED[name]
    it = session(tmp_path)
    call: dict[str, Any] = {"question": KINDS, "mechanism": dv.Dense("1"), "by": MONTHS, **given}
    with pytest.raises(error, match=words):
        it.release(**call)
    assert it.remaining.epsilon == 10 and len(it.releases) == 0


def test_the_column_of_the_unit_makes_no_parts(tmp_path: Path) -> None:
    it = session(tmp_path, dv.Unit("user", max_bins=2))
    with pytest.raises(ParameterError, match="makes no parts"):
        it.release(KINDS, dv.Dense("1"), by=dv.Domain.integers(0, 9, column="user"))


def test_parts_of_which_a_unit_may_touch_all_are_not_parallel() -> None:
    with pytest.raises(ParameterError, match="max_parts"):
        Groups(dv.Dense("1"), "parallel").bind(dv.Question(KINDS, by=dv.Partition(MONTHS)), dv.Unit("user", max_bins=2))


def test_a_mechanism_of_replacements_alone_is_refused_in_parallel_parts() -> None:
    question = dv.Question(dv.Domain.integers(0, 9_999, column="x"), by=dv.Partition(MONTHS))
    assert Groups(dv.PureSparse("1"), "sequence").bind(question, N)
    with pytest.raises(ParameterError, match="not public"):
        Groups(dv.PureSparse("1"), "parallel").bind(question, N)


def test_an_answer_without_parts_has_no_groups(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFormat, match="not asked about parts"):
        _ = session(tmp_path).release(KINDS, dv.Dense("1")).groups


def test_an_answer_of_parts_that_was_altered_is_refused(tmp_path: Path) -> None:
    from dpviz.model.release import with_checksum

    release = session(tmp_path).release(KINDS, dv.Dense("3"), by=MONTHS)
    body = release.to_json()
    path = tmp_path / "altered.json"
    for answers in ([], body["answer"]["answers"][:2], [body["answer"]] * 3):
        path.write_bytes(with_checksum({**body, "answer": {**body["answer"], "answers": answers}}))
        with pytest.raises(ReleaseFormat):
            dv.load(path)
