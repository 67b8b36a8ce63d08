"""A sub-session with a balance for each part: what one part has left is its own, and no order of asking costs more."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import BudgetExceeded, DomainError, DpvizError, LedgerFormat, ParameterError
from dpviz.exact import text
from dpviz.mechanisms.dense import DenseBound
from dpviz.mechanisms.parts import PartAsk, Parts
from dpviz.mechanisms.sub_sessions import PASSED_ON
from dpviz.model.statistic import StatisticKind
from dpviz.privacy import Unit
from dpviz.privacy.loss import ApproxDP, PureDP
from dpviz.session.session import Session
from dpviz.session.sub_session import SubSession

MONTHS = dv.Domain.integers(1, 4, column="month")
CITIES = dv.Domain.categories(["a", "b"], column="city")


def frame(rows: int = 300) -> pd.DataFrame:
    chance = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "month": chance.integers(1, 5, rows),
            "city": chance.choice(["a", "b"], rows),
            "who": chance.integers(0, 60, rows),
        }
    )


USER = dv.Unit("who", max_bins=2)


def opened(
    tmp_path: Path, by: Any = MONTHS, unit: dv.Unit | None = None, epsilon: Any = 1, delta: Any = 0
) -> tuple[Session, SubSession]:
    session = dv.Session(frame(), unit or dv.Unit("row"), dv.Budget(90, "1e-3"), tmp_path / "parts.ledger")
    return session, session.open(dv.Parts(by, epsilon, delta))


@pytest.mark.parametrize(
    ("by", "unit", "price"),
    [
        (MONTHS, dv.Unit("row"), 1),
        (MONTHS, USER, 4),
        (dv.Partition(MONTHS, max_parts=2), USER, 2),
        (dv.Partition(MONTHS, max_parts=9), USER, 4),
        ({"cold": {"month": [1, 2]}, "warm": {"month": [3, 4]}}, dv.Unit("row"), 1),
        (MONTHS * CITIES, dv.Unit("row"), 1),
    ],
)
def test_a_sub_session_costs_what_the_parts_of_one_unit_may(tmp_path: Path, by: Any, unit: Any, price: int) -> None:
    session = dv.Session(frame(), unit, dv.Budget(90), tmp_path / "parts.ledger")
    plan = session.plan_open(dv.Parts(by, "1/2"))
    assert plan.price.loss == PureDP(Fraction(price, 2))
    session.open(dv.Parts(by, "1/2"))
    assert session.remaining.epsilon == 90 - Fraction(price, 2) and session.ledger.verify()


def test_each_part_is_asked_to_the_end_of_its_own_balance_and_no_further(tmp_path: Path) -> None:
    session, sub = opened(tmp_path, epsilon=1, delta="1e-6")
    left = session.remaining.epsilon
    for epsilon in ("1/2", "1/3", "1/6"):
        sub.ask(CITIES, dv.Dense(epsilon), part="2")
    assert sub.parts_left["2"] == (0, Fraction(1, 10**6)) and sub.parts_left["3"] == (1, Fraction(1, 10**6))
    before = sub.left.of_paid
    with pytest.raises(BudgetExceeded, match="of the part “2”, and 0 is left") as refused:
        sub.ask(CITIES, dv.Dense("1e-9"), part="2")
    assert refused.value.part == "epsilon" and sub.left.of_paid == before
    with pytest.raises(BudgetExceeded, match="takes delta"):
        sub.ask("city", dv.Stability("1/9", "1e-5"), part="3")
    assert sub.ask("city", dv.Stability("1/9", "1e-6"), part=3).title.endswith(
        "released for 112 of 1,000 thousandths of entry 1"
    )
    assert not sub.plan(CITIES, dv.Dense(1), part="2").fits and sub.plan(CITIES, dv.Dense(1), part="4").fits
    assert session.remaining.epsilon == left and session.ledger.verify().uses == {"done": 4}


def test_the_same_call_is_the_stored_answer_in_any_kernel_and_is_held_against_its_ledger(tmp_path: Path) -> None:
    _, sub = opened(tmp_path)
    first = sub.ask(CITIES, dv.Dense("1/2"), part="1", where={"who": dv.Between(0, 30)})
    other = dv.Session(frame(), dv.Unit("row"), dv.Budget(90, "1e-3"), tmp_path / "parts.ledger")
    (again,) = other.sub_sessions.values()
    assert again.parameters == sub.parameters
    assert again.ask(CITIES, dv.Dense("1/2"), part="1", where={"who": dv.Between(0, 30)}) == first
    assert again.ask(CITIES, dv.Dense("1/2"), part="1", key="fresh") != first
    assert again.parts_left["1"][0] == 0
    assert dv.load(first.save(tmp_path / "part.json"), ledger=other) == first
    assert "for all answers of entry 1 together" in first.promise and "month is 1" in first.question.text
    assert [row.status for row in again.transcript] == ["done", "done"]
    again.close()
    with pytest.raises(BudgetExceeded):
        sub.ask(CITIES, dv.Dense("1/9"), part="4")
    assert other.ledger.verify()


def test_an_answer_is_about_its_part_alone(tmp_path: Path) -> None:
    """At so large an epsilon the answer is the count, of users that count in that part."""
    data = frame()
    _, sub = opened(tmp_path, dv.Partition(MONTHS, max_parts=2), USER, epsilon=40)
    kept = {name: sub.ask(CITIES, dv.Dense(40), part=name).values for name in sub.parameters.by.names}  # type: ignore[attr-defined]
    whole = {
        str(month): data[data.month == month].drop_duplicates(["who", "city"]).city.value_counts().reindex(["a", "b"])
        for month in range(1, 5)
    }
    for name, values in kept.items():
        assert all(value <= most for value, most in zip(values, whole[name], strict=True))
    users = sum(map(sum, kept.values()))
    assert sum(map(sum, whole.values())) > users > 60


def adaptive_ratio(max_parts: int, balances: int, wrong: bool = False) -> Fraction:
    """The worst ratio of the chance of a whole conversation over all neighbours, exactly, in a world where each answer
    is a coin: a user in parts `kept` turns a coin of odds r up or down.

    Who asks sees every answer before, and picks the next part by it: here by all strategies of three questions. An
    answer about a part with the user has the odds 2 to 1 for "yes", without him 1 to 2, so one question costs ln 4 and
    a balance pays for so many questions; the twin asks a part once more than its balance pays for.
    """
    parts, most = range(3), balances + wrong
    worst = Fraction(0)
    for kept in itertools.combinations(parts, max_parts):

        def best(asked: tuple[int, ...], ratio: Fraction, kept: tuple[int, ...] = kept) -> Fraction:
            """The largest ratio that the rest of a conversation leads to: who asks and what comes both choose it."""
            found = ratio
            for part in parts:
                if asked.count(part) < most and len(asked) < most * 3:
                    odds = Fraction(4) if part in kept else Fraction(1)
                    found = max(found, best((*asked, part), ratio * odds))
            return found

        worst = max(worst, best((), Fraction(1)))
    return worst


@pytest.mark.parametrize("max_parts", [1, 2])
@pytest.mark.parametrize("balances", [1, 2])
def test_no_adaptive_conversation_tells_more_than_the_price(max_parts: int, balances: int) -> None:
    """The price of the sub-session is attained, and a part that may be asked once more is caught."""
    each = Fraction(math.log(4) * balances).limit_denominator(10**9)
    price = Parts(dv.Partition(MONTHS, max_parts=max_parts), each).price(Unit("who", max_bins=1)).epsilon
    assert math.isclose(math.log(adaptive_ratio(max_parts, balances)), price, rel_tol=1e-6)
    assert math.log(adaptive_ratio(max_parts, balances, wrong=True)) > float(price) * 1.2


def test_a_unit_keeps_its_parts_whatever_is_asked(tmp_path: Path) -> None:
    """Whoever asks about other bins, or with another filter, meets a user in the same two parts."""
    data, unit = frame(), dv.Unit("who", max_bins=2)
    from dpviz.engines import as_source

    source = as_source(data, name="data", schema=None)
    met: dict[int, set[int]] = {}
    of = Parts(dv.Partition(MONTHS, max_parts=2), 1)
    for who, part in itertools.product(range(25), range(4)):
        question = dv.Question.of(CITIES, {"who": [who]})
        bound = PartAsk(of, dv.Dense(1), part).bind(question, unit)
        counts = source.count(bound.question, bound.unit, StatisticKind.DENSE).take()
        if counts.sum():
            met.setdefault(who, set()).add(part)
    assert max(map(len, met.values())) == 2 and len(met) > 20


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: dv.Parts({"all": {"month": [1, 2]}, "some": {"month": [2]}}, 1), "disjoint"),
        (lambda: dv.Parts(dv.Domain.integers(0, 200, column="month"), 1), "at most 100 parts"),
        (lambda: dv.Parts(MONTHS, 0), "epsilon must be"),
        (lambda: dv.Parts(MONTHS, 1, 2), "delta must lie"),
        (lambda: dv.Parts("month", 1), "declared domain"),
        (lambda: dv.Parts(MONTHS, 1).price(Unit("month", max_bins=1)), "makes no parts"),
        (lambda: dv.Parts(MONTHS, 1).price(Unit("row", relation="replace-one", n=9)), "added or removed"),
        (lambda: dv.Parts(MONTHS, 900).price(Unit("who", max_bins=1)), "at most 1,000"),
        (lambda: dv.Parts(MONTHS, 1).use(dv.Dense(1), "13"), "a label must be one of"),
        (
            lambda: dv.Parts({"a": {"month": [1]}, "b": {"month": [2]}}, 1).use(dv.Dense(1), "c"),
            "a part is one of a, b",
        ),
        (lambda: dv.Parts(MONTHS, 1).use("Dense", "1"), "a part is asked with a mechanism"),
        (lambda: dv.Parts(MONTHS, 1).use(dv.TopK(2, 3, epsilon_per_item=1, delta="1e-6"), "1"), "given as epsilon"),
    ],
)
def test_what_are_no_parts_is_refused(made: Any, says: str) -> None:
    with pytest.raises(DpvizError, match=says):
        made()


def test_questions_that_no_part_can_answer_are_refused_before_anything_is_taken(tmp_path: Path) -> None:
    session, sub = opened(tmp_path, epsilon=5)
    before = sub.left.of_paid
    for mechanism, domain, says in (
        (dv.PureSparse(1), dv.Domain.integers(0, 10**9, column="who"), "cap|n is public|public bound"),
        (dv.Dense(1), MONTHS, "the parts or the bins"),
    ):
        with pytest.raises((ParameterError, DomainError), match=says):
            sub.ask(domain, mechanism, part="1")
    assert sub.left.of_paid == before and sub.transcript == []
    with pytest.raises(DpvizError, match="PayWhatYouGet"):
        dv.PayWhatYouGetTape(sub, {"cities": CITIES})
    bench = dv.Workbench(session, CITIES)
    assert "parts: month, 4 parts" in bench.state


def test_a_ledger_that_gives_a_part_back_what_it_took_is_refused(tmp_path: Path) -> None:
    """`follows` checks every row: nothing is given back, nothing is taken of another part, and a balance ends at 0."""
    of = dv.Parts(MONTHS, "1/2")
    full = of.opened()
    ask = PartAsk(of, dv.Dense("1/3"), 2)
    body = {"mechanism": {"name": "Parts", "parameters": of.parameters()}}
    asked = {"mechanism": {"name": "Parts", "parameters": ask.parameters()}}
    after = ask.reserve(full)
    assert {name for name in full if full[name] != after[name]} == {"epsilon 2"}

    class Row:
        reserved = None

        def __init__(self, kind: str, before: Any, after: Any, asked: Any = None) -> None:
            self.kind, self.before, self.after, self.asked, self.body = kind, before, after, asked or {}, body

    right = [Row("open", {}, full), Row("reserve", full, after, asked), Row("settle", after, after, asked)]
    right.append(Row("reserve", after, dict.fromkeys(full, "0")))
    assert all(Parts.follows(row) for row in right)  # type: ignore[arg-type]
    wrong = [
        Row("open", {}, after),
        Row("open", {}, {"epsilon 0": "1"}),
        Row("reserve", full, full, asked),
        Row("reserve", full, {**after, "epsilon 1": "0"}, asked),
        Row("reserve", after, {**after, "epsilon 2": "-1"}, asked),
        Row("settle", after, full, asked),
        Row("reserve", after, {**after, "epsilon 1": "0"}),
    ]
    assert not any(Parts.follows(row) for row in wrong)  # type: ignore[arg-type]
    assert PartAsk.from_parameters(ask.parameters()) == ask and Parts.from_parameters(of.parameters()) == of
    assert text(ask.taken[0]) == "1/3" and isinstance(dv.Parts(MONTHS, 1, "1e-6").each, ApproxDP)
    assert issubclass(LedgerFormat, DpvizError)


def test_a_question_about_a_part_has_every_other_member_from_its_mechanism() -> None:
    """Were one misspelled, it would be the default of all bound mechanisms, or missing."""
    of = Parts(dv.Domain.integers(0, 2, column="month"), epsilon=3)
    question = dv.Question.of(dv.Domain.integers(0, 1, column="x"))
    bound = PartAsk(of, dv.Dense(1), 1).bind(question, dv.Unit())
    known = {*dir(DenseBound), *DenseBound.__annotations__}
    assert [name for name in PASSED_ON if name not in known] == []
    assert [one.name for one in bound.measures] == [one.name for one in bound.inner.measures] != []
    for name in {*PASSED_ON} - {"measures"}:  # a measure holds functions, which are no two times the same
        assert getattr(bound, name) == getattr(bound.inner, name), name
