"""Fixed lists: charged once at their exact composition, each line drawn later and once."""

from __future__ import annotations

import itertools
import math
import threading
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz import mechanisms
from dpviz.errors import BudgetExceeded, DpvizError, LedgerCorrupt, ParameterError, ReleaseLost
from dpviz.mechanisms.fixed_list import MOST_LINES, FixedList, LineAsk
from dpviz.model.source import Tick
from dpviz.privacy import Unit
from dpviz.privacy.concentrated import pure_rho
from dpviz.privacy.discrete_gaussian import Shifts, epsilon_of
from dpviz.privacy.loss import ApproxDP, PureDP
from dpviz.privacy.loss_distribution import GaussianMoves, GeometricMoves, RandomisedResponse
from dpviz.session.releases import Unread
from dpviz.session.session import Session
from tests.killing import Child, Show
from tests.session.sources import KnownTop

MILLIONTH = Fraction(1, 10**6)
AGES = dv.Domain.integers(0, 9, column="age")
CITIES = dv.Domain.categories(["a", "b"], column="city")


def frame(rows: int = 400) -> pd.DataFrame:
    chance = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": chance.integers(0, 10, rows),
            "city": chance.choice(["a", "b"], rows),
            "who": chance.integers(0, 90, rows),
        }
    )


def lines(many: int = 30, epsilon: str = "1/10", **options: Any) -> list[tuple[Any, Any]]:
    return [(dv.Question(AGES, {"who": dv.Between(0, top)}), dv.Dense(epsilon, **options)) for top in range(many)]


def session(path: Path, unit: dv.Unit | None = None, **budget: Any) -> Session:
    given = {"epsilon": "3", "delta": "1e-4", **budget}
    return Session(frame(), unit or dv.Unit("row"), dv.Budget(**given), path / "list.ledger")


# ---------------------------------------------------------------- what it costs


@pytest.mark.parametrize(
    ("unit", "made", "epsilon"),
    [
        (Unit(), lines(30), "2.345888"),
        (Unit(), lines(100), "4.774568"),
        (Unit("who", max_bins=10), lines(100), "1.365447"),
        (Unit("who", max_bins=5, relation="replace-one"), lines(100), "1.365447"),
        (Unit(), [*lines(20), *[(question, dv.Dense("1/4")) for question, _ in lines(8)]], "3.395511"),
    ],
)
def test_a_list_costs_its_exact_composition(unit: Unit, made: Any, epsilon: str) -> None:
    price = FixedList(made, "1e-6").price(unit)
    assert price.loss == ApproxDP(Fraction(epsilon), MILLIONTH)
    assert price.rule.startswith(f"exact composition of {len(made)} answers, fixed beforehand")


def test_gaussian_lines_cost_as_one_longer_move() -> None:
    unit, made = Unit("who", max_bins=4), lines(25, "1", base="gaussian", delta="1e-8")
    variance = made[0][1].bind(made[0][0], unit).law.noise.variance
    together = epsilon_of(Shifts.box(100, 1), variance, MILLIONTH)
    found = FixedList(made, "1e-6").price(unit).epsilon
    assert together - MILLIONTH <= found <= together < 25, "which is known but for tau of all hundred counts at once"


@pytest.mark.parametrize(
    ("mechanism", "unit", "pair"),
    [
        (dv.Dense("1/2"), Unit(), GeometricMoves(Fraction(1, 2), 1, 1)),
        (dv.Dense("1/2"), Unit("who", max_bins=3, max_per_bin=2), GeometricMoves(Fraction(1, 12), 2, 3)),
        (dv.Dense("1/2"), Unit("who", max_bins=9, relation="replace-one"), GeometricMoves(Fraction(1, 20), 1, 10)),
        (dv.Dense("1/2"), Unit("who", max_bins=9, max_records=4), GeometricMoves(Fraction(1, 8), 1, 4)),
        (dv.Dense("1/2"), Unit("who", max_bins=9, max_per_bin=2, max_records=4), RandomisedResponse(Fraction(1, 2))),
        (dv.Dense("1/2"), Unit("who", max_bins=2, max_per_bin=2, max_records=4), GeometricMoves(Fraction(1, 8), 2, 2)),
        (dv.Dense("0.4463", base="tight", cap=90), Unit(), None),
        (dv.Tree("1/2"), Unit(), RandomisedResponse(Fraction(1, 2))),
    ],
)
def test_the_pair_of_a_line_is_that_of_the_worst_move(mechanism: Any, unit: Unit, pair: Any) -> None:
    bound = mechanism.bind(dv.Question.of(AGES), unit)
    paid = RandomisedResponse(bound.price.loss.epsilon)
    assert bound.dominating_pair == (paid if pair is None else pair)


def test_a_gaussian_line_without_one_worst_move_has_the_pair_of_its_price() -> None:
    unit = Unit("who", max_bins=9, max_per_bin=2, max_records=5)
    bound = dv.Dense("1", base="gaussian", delta="1e-7").bind(dv.Question.of(AGES), unit)
    assert bound.dominating_pair == RandomisedResponse(Fraction(1), Fraction(1, 10**7))
    alone = dv.Dense("1", base="gaussian", delta="1e-7").bind(dv.Question.of(AGES), Unit())
    assert alone.dominating_pair == GaussianMoves(alone.law.noise.variance, Shifts.box(1, 1))


def test_deltas_of_lines_are_within_that_of_the_list() -> None:
    keys = [("city", dv.Stability("1/10", "1e-8")), *lines(29)]
    prices = FixedList(keys, "1e-6").price_by_rule(Unit())
    alone = FixedList(lines(30), "1e-6").price_by_rule(Unit())
    assert alone.exact.epsilon < prices.exact.epsilon < alone.exact.epsilon + Fraction(1, 1000)
    assert prices.total == ApproxDP(Fraction(3), Fraction(1, 10**8)) and prices.rho is None
    with pytest.raises(ParameterError, match="covers them"):
        FixedList([("city", dv.Stability("1/10", "1e-5")), *lines(29)], "1e-6").price(Unit())


def test_a_list_never_costs_more_than_its_sum() -> None:
    price = FixedList(lines(2), "1e-6").price(Unit())
    assert (
        price.loss == ApproxDP(Fraction("0.199997"), MILLIONTH)
        and not FixedList(lines(2), "1e-6").price_by_rule(Unit()).saves
    )
    few = FixedList(lines(1), Fraction(1, 10**9))
    assert (
        few.price(Unit()).loss == PureDP(Fraction(1, 10)) and "basic composition of 1 answer" in few.price(Unit()).rule
    )
    assert (
        FixedList.use_from_parameters(few.typical(Unit())[1].mechanism.parameters()) == few.typical(Unit())[1].mechanism
    )


@pytest.mark.parametrize(("many", "delta"), [(1, "1e-12"), (1, "1e-7"), (2, "1e-16")])
def test_the_sum_is_no_price_at_a_delta_below_those_of_its_lines(many: int, delta: str) -> None:
    """Gaussian lines lose more than their epsilons add up to with a chance that is theirs, not that of the list."""
    made = lines(many, "1", base="gaussian", delta="1e-6")
    variance = made[0][1].bind(made[0][0], Unit()).law.noise.variance
    of = FixedList(made, delta)
    price = of.price(Unit())
    assert price.epsilon > many and price.rule.startswith("exact"), "nearly right: the sum, at the smaller delta"
    assert price.loss.delta == Fraction(delta) < of.price_by_rule(Unit()).total.delta == many * MILLIONTH  # type: ignore[union-attr]
    # literally: (epsilon, delta) of independent noise z that is moved by 1 each
    odds = {z: math.exp(-z * z / (2 * float(variance))) for z in range(-60, 61)}
    whole, lost = sum(odds.values()), 0.0
    for moved in itertools.product(odds, repeat=many):
        loss = sum(1 - 2 * z for z in moved) / (2 * float(variance))
        chance = math.prod(odds[z] / whole for z in moved)
        lost += chance * max(0.0, -math.expm1(float(price.epsilon) - loss))
    assert 0.99 * float(delta) < lost <= float(delta) * (1 + 1e-9)


def test_a_delta_off_the_grid_is_rounded_up_once_and_its_lines_are_drawn(tmp_path: Path) -> None:
    it, made, delta = session(tmp_path), lines(), Fraction(1, 53 * 10**6)
    batch = it.batch(made, delta=delta)
    assert delta < batch.price.loss.delta < delta + Fraction(1, 10**30)  # type: ignore[union-attr]
    first = batch.ask(*made[0])
    assert it.ledger.verify() and session(tmp_path).batch(made, delta=delta).ask(*made[0]) == first


def test_the_plan_compares_the_sum_zcdp_and_the_exact_price(tmp_path: Path) -> None:
    it = session(tmp_path)
    plan = it.plan_batch(lines(), delta="1e-6")
    assert plan.affordable and it.ledger.entries() == []
    said = repr(plan)
    assert "by the sum   ε 3, for 30 answers" in said and "by zCDP      ε 2.671716, δ 0.000001" in said
    assert "exact        ε 2.345888, δ 0.000001; to be fixed now" in said and "leaves 0.654112 of 3" in said
    assert "not worth a δ: ask each by itself" in repr(it.plan_batch(lines(2), delta="1e-6"))
    prices = plan.parameters.price_by_rule(Unit())  # type: ignore[attr-defined]
    assert prices.exact.epsilon < prices.by_zcdp < prices.total.epsilon


# ---------------------------------------------------------------- charged once, drawn later


def test_a_list_is_charged_once_and_drawn_line_by_line(tmp_path: Path) -> None:
    it = session(tmp_path)
    made = lines()
    batch = it.batch(made, delta="1e-6")
    left = it.remaining
    assert left.epsilon == 3 - Fraction("2.345888") and left.delta == Fraction("0.000099")
    answers = [batch.ask(*line) for line in reversed(made[10:])]
    assert it.remaining == left and [tuple(line) for line in batch.lines_left] == made[:10]
    assert batch.ask(*made[12]) == answers[17], "the stored answer"
    assert batch.ask(made[0][0].domain, made[0][1], where={"who": dv.Between(0, 0)}).number == batch.number
    assert "(2.345888, 0.000001)-differential privacy" in answers[0].promise and "30 of" not in answers[0].promise
    assert "9 of 30 lines left" in repr(batch) and repr(batch.left) == "<9 of 30 lines>"
    assert it.ledger.verify().uses == {"done": 21}
    assert all(dv.load(one.save(tmp_path / "one.json"), ledger=it) == one for one in answers[:1])
    it.release(CITIES, dv.Dense("0.654112"))
    batch.ask(*made[1]), it.ledger.verify()


def test_another_kernel_goes_on_with_the_list_and_pays_nothing(tmp_path: Path) -> None:
    made = lines()
    first = session(tmp_path).batch(made, delta="1e-6").ask(*made[3])
    it = session(tmp_path)
    left = it.remaining
    batch = it.batch(made, delta="1e-6")
    assert batch.answers == [first] and batch.ask(*made[3]) == first and it.remaining == left
    assert [*it.sub_sessions] == [batch.number] and it.sub_sessions[1].parameters == FixedList(made, "1e-6")
    with pytest.raises(BudgetExceeded):
        it.batch(made[::-1], delta="1e-6")
    assert it.remaining == left


@pytest.mark.parametrize("how", ["another key", "another filter", "another price", "another mechanism"])
def test_what_is_no_line_is_refused_and_uses_nothing(tmp_path: Path, how: str) -> None:
    it, made = session(tmp_path), lines()
    batch = it.batch(made, delta="1e-6")
    batch.ask(*made[0])
    asks = {
        "another key": (lambda: batch.ask(*made[0], key="again"), BudgetExceeded, "was drawn already"),
        "another filter": (lambda: batch.ask(AGES, made[0][1]), ParameterError, "no line of it is this one"),
        "another price": (lambda: batch.ask(made[1][0], dv.Dense("1/11")), ParameterError, "did you mean"),
        "another mechanism": (lambda: batch.ask(made[1][0], "Dense"), ParameterError, "of one of its lines"),
    }
    ask, kind, says = asks[how]
    head = it.ledger.head()
    with pytest.raises(kind, match=says):
        ask()
    assert it.ledger.head() == head and len(batch.lines_left) == 29
    assert not batch.plan(*made[0]).fits and batch.plan(*made[1]).fits


def test_a_list_that_is_closed_draws_no_further_line(tmp_path: Path) -> None:
    it, made = session(tmp_path), lines()
    batch = it.batch(made, delta="1e-6")
    first = batch.ask(*made[0])
    batch.close()
    assert batch.lines_left == () and batch.ask(*made[0]) == first
    with pytest.raises(BudgetExceeded, match="or the list is closed"):
        batch.ask(*made[1])
    assert it.ledger.verify()


def hanging(path: Path, made: list[Any]) -> Child:
    """A kernel that has charged a list and reserved its first line, and counts for ever."""

    def hang(show: Show) -> None:
        def dawdle(tick: Tick | None) -> None:
            show("counting")
            threading.Event().wait()

        known(path, dawdle).batch(made, delta="1e-6").ask(*made[0])

    child = Child(hang)
    assert child.lines.readline() == "counting\n"
    return child


def known(path: Path, before: Any = None) -> Session:
    source, unit = KnownTop({"": {"Aachen": 300, "Bonn": 230}}, before), dv.Unit("person")
    return Session(source, unit, dv.Budget("9", "1e-4"), path)


@pytest.mark.usefixtures("no_disk_is_waited_for")
def test_a_line_whose_kernel_was_killed_is_spent_and_its_list_goes_on(tmp_path: Path) -> None:
    made = [("dest", dv.TopK(k, 5, epsilon="1/10", delta="1e-9")) for k in range(1, 5)]
    made += [("dest", dv.TopK(k, 6, epsilon="1/10", delta="1e-9")) for k in range(1, 7)]
    made += [("dest", dv.TopK(k, 7, epsilon="1/10", delta="1e-9")) for k in range(1, 8)]
    made += [("dest", dv.TopK(k, 8, epsilon="1/10", delta="1e-9")) for k in range(1, 9)]
    path = tmp_path / "killed.ledger"
    hanging(path, made).kill()
    it = known(path)
    batch = it.batch(made, delta="1e-6")
    assert len(batch.lines_left) == len(made) - 1 and [row.status for row in batch.transcript] == ["lost"]
    with pytest.raises(ReleaseLost, match="its draw was lost"):
        batch.ask(*made[0])
    with pytest.raises(BudgetExceeded, match="was drawn already"):
        batch.ask(*made[0], retry=True)
    batch.ask(*made[1])
    assert it.remaining.epsilon == 9 - batch.price.epsilon and it.ledger.verify().uses == {"pending": 1, "done": 1}


# ---------------------------------------------------------------- refused before any charge


@pytest.mark.parametrize(
    ("made", "delta", "says"),
    [
        ([], "1e-6", "a question and a mechanism in each"),
        ("age", "1e-6", "a question and a mechanism in each"),
        ([(AGES,)], "1e-6", "a pair of a question and a mechanism"),
        ([(AGES, "Dense")], "1e-6", "price is fixed beforehand"),
        ([(AGES, dv.PayWhatYouGet(epsilon=1))], "1e-6", "a sub-session is opened by itself"),
        ([(dv.Question(AGES, by=dv.Partition(CITIES)), dv.Dense(1))], "1e-6", "one question about all rows"),
        ([(dv.Question(AGES, limits=dv.Limits(max_bins=2)), dv.Dense(1))], "1e-6", "line 1.*leave its limits out"),
        (lines(3) + lines(3)[:1], "1e-6", "line 4.*leave it out"),
        (lines(3), 0, "strictly between 0 and 1"),
        (lines(3), 1, "strictly between 0 and 1"),
        ([*lines(3), (dv.Domain.integers(0, 3, column="height"), dv.Dense(1))], "1e-6", "line 4 of the list.*height"),
        ([*lines(3), (AGES, dv.Dense(1, base="tight"))], "1e-6", "line 4 of the list.*public bound"),
        (lines(12, "1/4"), "1e-6", "at least 1 % less than the sum of its lines, 3"),
        ([(AGES, dv.Dense(1))] * (MOST_LINES + 1), "1e-6", "at most 1,000 lines"),
    ],
)
def test_bad_lists_are_refused_and_free(tmp_path: Path, made: Any, delta: Any, says: str) -> None:
    it = session(tmp_path)
    head = it.ledger.head()
    with pytest.raises(DpvizError, match=says):
        it.batch(made, delta=delta)
    assert it.ledger.head() == head and it.remaining.epsilon == 3


def test_a_list_that_does_not_fit_is_refused_and_free(tmp_path: Path) -> None:
    it = session(tmp_path, epsilon="2")
    with pytest.raises(BudgetExceeded, match=r"costs ε = 2\.345888 but 2 is left"):
        it.batch(lines(), delta="1e-6")
    assert it.ledger.entries() == []


def test_a_zcdp_budget_gains_nothing_by_a_list(tmp_path: Path) -> None:
    it = session(tmp_path, filter="zcdp")
    with pytest.raises(ParameterError, match="release each line by itself"):
        it.batch(lines(), delta="1e-6")
    assert it.ledger.entries() == []
    it.open(dv.FixedList(lines(), "1e-6"))
    gone = it.remaining.caps["rho"] - it.remaining.parts["rho"]
    each = dv.Dense("1/10").bind(dv.Question.of(AGES), Unit()).price.zcdp_steps.rho  # type: ignore[union-attr]
    assert gone == 30 * each and each <= pure_rho(Fraction(1, 10)) and it.ledger.verify()


# ---------------------------------------------------------------- the ledger


def test_rows_that_draw_another_line_or_one_twice_are_refused() -> None:
    of = FixedList(lines(20), "1e-6")
    unit = Unit()
    paid = of.price(unit).loss
    full, ask = of.opened(), of.typical(unit)[1].mechanism
    assert isinstance(ask, LineAsk) and isinstance(paid, ApproxDP)
    price = {"epsilon": str(float(paid.epsilon)), "delta": "0.000001"}
    body = {"mechanism": {"name": "FixedList", "parameters": of.parameters()}, "price": price}

    class Row:
        reserved = None

        def __init__(self, kind: str, before: Any, after: Any, ask: Any = None, question: Any = of.lines[0][0]) -> None:
            self.kind, self.before, self.after, self.body = kind, before, after, body
            told = {} if ask is None else {"mechanism": {"name": "FixedList", "parameters": ask.parameters()}}
            self.asked = told if ask is None else {**told, "question": question.to_json()}

    after = ask.reserve(full)
    assert int(full["lines"]) - int(after["lines"]) == 1
    right = [Row("open", {}, full), Row("reserve", full, after, ask), Row("settle", after, after, ask)]
    right.append(Row("reserve", after, {"lines": "0"}))
    assert all(FixedList.follows(row) for row in right)  # type: ignore[arg-type]
    wrong = [
        Row("open", {}, after),
        Row("reserve", full, full, ask),
        Row("reserve", after, after, ask),
        Row("reserve", full, {"lines": "0"}, ask),
        Row("settle", after, full, ask),
        Row("reserve", full, after, ask, of.lines[1][0]),
        Row("reserve", full, after, replace(ask, inner=dv.Dense(9))),
        Row("reserve", full, after, replace(ask, of=replace(ask.of, epsilon=Fraction(1)))),
        Row("reserve", full, after, replace(ask, of=replace(ask.of, digest="0" * 64))),
        Row("reserve", full, {"lines": str(int(full["lines"]) - (1 << 20))}, replace(ask, line=20)),
        Row("reserve", after, full),
    ]
    assert not any(FixedList.follows(row) for row in wrong)  # type: ignore[arg-type]


def test_an_earlier_dpviz_counts_what_was_charged_and_refuses_to_open_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that knows no lists: its ledger holds, the charge is spent, and it says what to do."""
    made = lines()
    session(tmp_path).batch(made, delta="1e-6").ask(*made[0])
    monkeypatch.delitem(mechanisms.OPENINGS._files, "FixedList")  # type: ignore[attr-defined]
    it = session(tmp_path)
    assert it.remaining.epsilon == 3 - Fraction("2.345888") and it.ledger.verify()
    with pytest.warns(Unread, match="upgrade dpviz"):
        assert it.sub_sessions == {}
    assert it.release(CITIES, dv.Dense("1/2")).number == 2


def test_a_ledger_that_was_charged_less_than_its_list_costs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap = ApproxDP(Fraction(1), MILLIONTH)
    honest = mechanisms.fixed_list._priced  # type: ignore[attr-defined]
    monkeypatch.setattr(mechanisms.fixed_list, "_priced", lambda *given: replace(honest(*given), exact=cheap))  # type: ignore[attr-defined]
    it = session(tmp_path)
    it.batch(lines(), delta="1e-6")
    assert it.remaining.epsilon == 2 and it.ledger.verify()
    monkeypatch.undo()
    with pytest.raises(LedgerCorrupt, match="charged less than what its parameters cost"):
        session(tmp_path).ledger.verify()


def test_a_list_is_held_against_its_price_by_the_calibrations_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later dpviz, by which the same list costs more: its ledgers of before are right, and its own are held."""
    it = session(tmp_path)
    it.batch(lines(), delta="1e-6")
    assert it.ledger.entries()[0].body["mechanism"]["revisions"] == ["Dense 1"]
    honest = mechanisms.fixed_list._priced  # type: ignore[attr-defined]

    def dearer(*given: Any) -> Any:
        priced = honest(*given)
        return replace(priced, exact=replace(priced.exact, epsilon=priced.exact.epsilon + Fraction(1, 100)))

    monkeypatch.setattr(mechanisms.fixed_list, "_priced", dearer)  # type: ignore[attr-defined]
    with pytest.raises(LedgerCorrupt, match="charged less than what its parameters cost"):
        session(tmp_path).ledger.verify()
    monkeypatch.setattr(dv.Dense, "revision", property(lambda self: 9))
    assert session(tmp_path).ledger.verify()


@pytest.mark.parametrize("more", [Fraction(1, 100), Fraction(-1, 100)])
def test_a_list_that_would_cost_something_else_today_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: Fraction
) -> None:
    """As by a later dpviz that calibrates the noise of a line otherwise: no line is drawn at a price not paid."""
    made = lines()
    session(tmp_path).batch(made, delta="1e-6").ask(*made[0])
    honest = mechanisms.fixed_list._priced  # type: ignore[attr-defined]

    def later(*given: Any) -> Any:
        priced = honest(*given)
        return replace(priced, exact=replace(priced.exact, epsilon=priced.exact.epsilon + more))

    monkeypatch.setattr(mechanisms.fixed_list, "_priced", later)  # type: ignore[attr-defined]
    it = session(tmp_path)
    head = it.ledger.head()
    with pytest.raises(DpvizError, match="it stays paid for"):
        it.batch(made, delta="1e-6")
    with pytest.warns(Unread, match="it stays paid for"):
        assert it.sub_sessions == {}
    assert it.ledger.head() == head and it.release(CITIES, dv.Dense("1/2")).number == 2


def test_a_list_of_many_lines_is_planned_opened_and_drawn(tmp_path: Path) -> None:
    it = session(tmp_path, epsilon="20")
    made = lines(300, "1/20")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch = it.batch(made, delta="1e-6")
        for line in made[::60]:
            batch.ask(*line)
    assert len(batch.lines_left) == 295 and it.ledger.verify().uses == {"done": 5}
