"""The limit on a page: the curve has the errors of plans, a profile's users over each limit, and orders within a limit
are those of `limits=`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.planning.limit_curve import MOST_DRAWN, limit_curve, limit_json
from dpviz.session.session import Session
from dpviz.widgets.session_model import SessionModel
from tests.patience import until

MONTHS = dv.Domain.integers(1, 12, column="month")
PARTS: dict[str, Any] = {"mechanism": "Dense", "parameters": {"epsilon": "1/2", "clamp": "false"}}


def stays() -> pd.DataFrame:
    chance = np.random.default_rng(3)
    pairs = [(user, month) for user in range(300) for month in chance.choice(12, 1 + user % 12, replace=False) + 1]
    return pd.DataFrame(pairs, columns=["user", "month"])


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(stays(), dv.Unit("user", max_bins=3), dv.Budget(20), tmp_path / "limit.ledger")


def say(model: SessionModel, ask: str, **args: Any) -> dict[str, Any]:
    message = {"v": 1, "id": f"{ask}-{args}"[:64], "ask": ask, "args": args}
    reply = model.answer(message)
    assert reply is not None
    return reply


def asked(model: SessionModel, ask: str, **more: Any) -> dict[str, Any]:
    question = {"id": dv.Question(MONTHS).id}
    return say(model, ask, **{"question": question, **PARTS, **more})


def test_a_plan_within_a_limit_is_that_of_python(session: Session) -> None:
    model = SessionModel(session, [MONTHS])
    sheet = asked(model, "plan", max_bins="7")["body"]["sheet"]
    plan = session.plan(MONTHS, dv.Dense("1/2", clamp=False), limits=dv.Limits(max_bins=7))
    assert sheet["limit"] == {"now": "7", "bins": "12", "each": "month"} and sheet["within"] == {"max_bins": "7"}
    assert sheet["now"]["errors"]["0.05"]["one"]["value"] == str(plan.one_bin().value)  # type: ignore[union-attr]
    assert "limits=dv.Limits(max_bins=7)" in sheet["python"] and "at most 7 of 12 months" in sheet["limits"]
    plain = asked(model, "plan")["body"]["sheet"]
    assert plain["limit"]["now"] == "3" and "within" not in plain and plain["now"]["key"] != sheet["now"]["key"]


def test_an_order_within_a_limit_finds_the_answer_of_python(session: Session) -> None:
    model = SessionModel(session, [MONTHS])
    price = {"epsilon": "0.5", "delta": "0"}
    assert asked(model, "release", max_bins="12", price=price, key=None) is not None
    until(lambda: len(session.releases) == 1)
    release = session.release(MONTHS, dv.Dense("1/2", clamp=False), limits=dv.Limits(max_bins=12))
    assert release.number == 1 and release.unit.max_bins == 12 and session.remaining.epsilon == Fraction(39, 2)


def test_the_curve_has_the_error_of_each_limit_and_the_users_over_it(session: Session) -> None:
    model = SessionModel(session, [MONTHS])
    body = asked(model, "limit")["body"]
    assert [int(point["most"]) for point in body["curve"]] == list(range(1, 13)) and body["over"] is None
    for point in body["curve"]:
        plan = session.plan(MONTHS, dv.Dense("1/2", clamp=False), limits=dv.Limits(max_bins=int(point["most"])))
        for beta, error in point["errors"].items():
            assert error["value"] == str(plan.one_bin(beta).value)  # type: ignore[union-attr]
    assert body["key"] == asked(model, "plan")["body"]["sheet"]["now"]["key"]
    profile = session.release(dv.Question.contribution_profile(MONTHS), dv.Dense(2, clamp=False))
    over = asked(model, "limit", max_bins="5")["body"]["over"]
    assert over["number"] == "1" and over["rows"][-1] == {"value": "0", "low": "0", "high": "0"}
    for most, row in enumerate(over["rows"][:-1], 1):
        found: Any = profile.sum(range(most + 1, 13))
        assert (Fraction(row["value"]), Fraction(row["low"]), Fraction(row["high"])) == (found.value, *found.interval)


def test_a_profile_of_other_bins_another_filter_or_another_unit_says_nothing(session: Session) -> None:
    model = SessionModel(session, [MONTHS])
    session.release(dv.Question.contribution_profile(dv.Domain.integers(1, 6, column="month")), dv.Dense(1))
    session.release(
        dv.Question.contribution_profile(MONTHS, where={"month": dv.Between(low=4)}), dv.Dense(1, clamp=False)
    )
    session.release(dv.Question.contribution_profile(MONTHS, over=3), dv.Dense(1, clamp=False))
    assert asked(model, "limit")["body"]["over"] is None


@pytest.mark.parametrize("wrong", ["0", "-1", "1.5", "x", "99999999999"])
def test_a_limit_that_is_no_whole_number_is_refused_before_a_charge(session: Session, wrong: str) -> None:
    model = SessionModel(session, [MONTHS])
    for ask, more in (("plan", {}), ("release", {"price": {"epsilon": "0.5", "delta": "0"}, "key": None})):
        reply = asked(model, ask, max_bins=wrong, **more)
        assert not reply["ok"] and "the number of bins must be a whole number" in reply["error"]["message"]
    assert session.remaining.epsilon == 20


def test_rows_keys_parts_profiles_and_single_bins_have_no_limit() -> None:
    user = dv.Unit("user", max_bins=3)
    plain = dv.Question(MONTHS)
    assert limit_json(plain, user) is not None
    assert limit_json(plain, dv.Unit("user", max_bins=None)) == {"now": "", "bins": "12", "each": "month"}
    for question, unit in (
        (plain, dv.Unit()),
        (dv.Question(dv.Domain.keys(column="month")), user),
        (dv.Question.contribution_profile(MONTHS), user),
        (dv.Question(dv.Domain.integers(1, 1, column="month")), user),
    ):
        assert limit_json(question, unit) is None


def test_a_curve_over_many_bins_has_some_limits_with_both_ends() -> None:
    wide = dv.Question(dv.Domain.integers(1, 5000, column="month"))
    curve = limit_curve(wide, dv.Unit("user", max_bins=3), dv.Dense(1))
    most = [int(point["most"]) for point in curve]
    assert len(most) == MOST_DRAWN and (most[0], most[-1]) == (1, 5000) and most == sorted(set(most))


def test_a_row_is_told_that_it_has_no_curve(tmp_path: Path) -> None:
    rows = Session(stays(), dv.Unit(), dv.Budget(2), tmp_path / "rows.ledger")
    model = SessionModel(rows, [MONTHS])
    reply = asked(model, "limit")
    assert not reply["ok"] and "name the user column as the unit" in reply["error"]["message"]
    assert "limit" not in asked(model, "plan")["body"]["sheet"]
