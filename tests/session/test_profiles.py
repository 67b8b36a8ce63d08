"""Profiles of users as releases: their price by enumeration, their words, and that no limit plays a part."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, DpvizError, ParameterError
from dpviz.model.aggregate import UnitProfile
from dpviz.model.limited import Limited
from dpviz.model.question import Question
from dpviz.privacy import Unit
from dpviz.session.session import Session
from tests.reports import pages

FRAME = pd.DataFrame(
    {"user": [f"u{number * 13 % 41}" for number in range(400)], "month": [1 + number * 7 % 12 for number in range(400)]}
)
MONTHS = dv.Domain.integers(1, 12, column="month")
UNIT = dv.Unit("user", noun="aircraft", max_bins=3)
PROFILE = Question.contribution_profile(MONTHS)
FOUR = dv.Domain.integers(1, 4, column="month")


def session(path: Path, unit: Unit = UNIT, **budget: Any) -> Session:
    return Session(FRAME, unit, dv.Budget(20, "1e-3", **budget), path / "x.ledger", dataset="flights")


def classes(question: Question, bins: int) -> list[np.ndarray[Any, Any]]:
    """The counts of classes that one user adds, for every set of bins that it may have rows in, none included."""
    found = []
    for touched in range(bins + 1):
        vector = np.zeros(question.bins, dtype=np.int64)
        if question.aggregate.over is not None:  # type: ignore[union-attr]
            vector[0] = touched > question.aggregate.over  # type: ignore[union-attr]
        elif touched:
            vector[min(touched, question.bins) - 1] = 1
        found.append(vector)
    return found


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("asked", [{}, {"most": 2}, {"over": 1}, {"over": 3}], ids=str)
def test_the_price_is_that_of_the_worst_pair_of_neighbours(relation: Any, asked: dict[str, int]) -> None:
    question = Question.contribution_profile(FOUR, **asked)
    plain, unit = question.resolved(Unit("user", relation=relation, max_bins=3, max_per_bin=2, max_records=5))
    alone = classes(question, 4)
    nothing = alone[:1] if relation == "add-remove" else alone
    moves = [one - other for one, other in itertools.product(alone, nothing)]
    l1, l2 = (max(int((np.abs(move) ** power).sum()) for move in moves) for power in (1, 2))
    assert dv.Dense(1).bind(plain, unit).noise.l1 == unit.l1(question.bins) == l1
    assert unit.l2_squared(question.bins) == l2
    assert l1 == (2 if relation == "replace-one" and "over" not in asked else 1)


def test_rows_in_each_pair_of_a_user_and_a_bin_would_move_by_all_bins_and_are_no_profile() -> None:
    """The near-wrong twin: a histogram of how many rows a pair has gets four from one user, not one."""
    pairs = np.zeros(3, dtype=np.int64)
    for rows in (1, 1, 2, 3):
        pairs[rows - 1] += 1
    unit = Question.contribution_profile(FOUR).resolved(Unit("user"))[1]
    assert pairs.sum() == 4 > unit.l1(3) == 1


@pytest.mark.parametrize(
    "mechanism", [dv.Dense("1/10", clamp=False), dv.Tree("1/10"), dv.Dense("1/10", base="gaussian", delta="1e-6")]
)
def test_a_profile_is_released_found_again_and_verified(tmp_path: Path, mechanism: Any) -> None:
    held = session(tmp_path)
    release = held.release(PROFILE, mechanism)
    assert held.release(PROFILE, mechanism).number == release.number == 1
    assert release.unit.max_bins == 1 and release.unit.protects == UNIT.protects
    held.ledger.verify()
    held.ledger.detach()
    assert session(tmp_path).releases[1] == release
    release.save(tmp_path / "x.dpviz")
    assert dv.load(tmp_path / "x.dpviz", ledger=tmp_path / "x.ledger") == release


def test_limits_of_the_unit_change_neither_the_counts_nor_the_key_nor_the_price() -> None:
    drawn = [
        dv.teaching(FRAME, 7, unit).draw(PROFILE, dv.Dense(1))
        for unit in (UNIT, Unit("user", noun="aircraft", max_bins=None, max_per_bin=3, max_records=50))
    ]
    assert drawn[0].values == drawn[1].values and drawn[0].key == drawn[1].key
    assert drawn[0].guarantee.loss == drawn[1].guarantee.loss


def test_the_counts_over_a_limit_are_what_the_limit_leaves_out() -> None:
    """Theorem 2 for all bins: pairs lost to a limit c are the sum of (j - c) over users in j > c bins."""
    every = []
    for most in (1, 3, 6, 11):
        lesson = dv.teaching(FRAME, 1, UNIT)
        counts = lesson.table(PROFILE).counts
        asked = lesson.table(Question(MONTHS).limited(dv.Limits(max_bins=12))).counts
        counted = lesson.table(Question(MONTHS).limited(dv.Limits(max_bins=most))).counts
        lost = sum(max(0, j - most) * int(users) for j, users in enumerate(counts, start=1))
        assert asked.sum() - counted.sum() == lost
        over = int(lesson.table(Question.contribution_profile(MONTHS, over=most)).counts[0])
        assert over == counts[most:].sum() and ((asked - counted) <= over).all()
        every.append(lost)
    assert every[0] > every[1] > 0, "nothing was left out"


def test_words_say_users_and_bins_and_that_nothing_is_left_out(tmp_path: Path) -> None:
    held = session(tmp_path)
    plan = held.plan(PROFILE, dv.Dense("1/10"))
    assert plan.limits == "Each aircraft is in one class, before any limit: nothing is left out."
    assert not Limited(*PROFILE.resolved(UNIT)).cuts
    assert "limits=" not in plan.sheet.to_json()["python"]
    release = held.release(PROFILE, dv.Dense("1/10", clamp=False))
    assert release.question.sentence(release.unit) == "How many aircraft are in 1, 2, …, 12 months?"
    over = release.sum(range(4, 13))
    assert "aircraft" in over.sentence and "aircraft-months" not in over.sentence and over.low is not None
    assert release.to_frame()["high_all"].notna().all()
    few = Question.contribution_profile(MONTHS, most=5, where={"month": dv.Between(1, 6)})
    assert few.sentence(UNIT) == (
        "How many aircraft are in 1, 2, …, 5 or more than 5 months, by their rows where month is from 1 to 6?"
    )
    assert pages.data(dv.report([release], tmp_path / "x.html"))["releases"][0]["kind"] == "histogram"


@pytest.mark.parametrize("asked", [{}, {"most": 4}, {"over": 3}, {"where": {"month": [1, 2]}}], ids=str)
def test_a_profile_is_written_and_read_and_its_call_makes_it_again(asked: dict[str, Any]) -> None:
    question = Question.contribution_profile(MONTHS, **asked)
    assert Question.from_json(question.to_json()) == question
    assert eval(question.python, {"dv": dv}) == question and question.python_where == ""
    assert question.id != Question(MONTHS).id


def test_a_zcdp_budget_pays_for_a_profile(tmp_path: Path) -> None:
    held = session(tmp_path, filter="zcdp")
    held.release(PROFILE, dv.Dense("1/10", base="gaussian", delta="1e-6"))
    held.ledger.verify()


def test_a_page_shows_a_profile_and_offers_its_classes_for_no_other_question(tmp_path: Path) -> None:
    held = session(tmp_path)
    page = dv.Workbench(held, PROFILE)
    columns = [bins["column"] for bins in json.loads(page.state)["bins"]]
    assert "months" not in columns and dv.Workbench(held, PROFILE, MONTHS) is not None
    sheet = held.plan(PROFILE, dv.Dense(1)).sheet.to_json()
    assert "factors" not in sheet["question"]


def test_limits_parts_and_a_sub_session_are_refused_before_a_charge(tmp_path: Path) -> None:
    held = session(tmp_path)
    calls = [
        lambda: held.release(PROFILE, dv.Dense(1), limits=dv.Limits(max_bins=4)),
        lambda: held.release(PROFILE, dv.Dense(1), by=dv.Domain.integers(1, 2, column="month")),
        lambda: dv.Session(FRAME, Unit(), dv.Budget(1), tmp_path / "y.ledger", dataset="rows").plan(
            PROFILE, dv.Dense(1)
        ),
    ]
    for call in calls:
        with pytest.raises(DpvizError, match="profile|rows have no"):
            call()
    with pytest.raises(ParameterError, match="counts users in each class"):
        held.release(PROFILE, dv.Stability(1, "1e-6"))
    assert len(held.ledger.entries()) == 0


def test_sub_sessions_and_fixed_lists_refuse_a_profile_before_anything_is_charged_or_used(tmp_path: Path) -> None:
    held = session(tmp_path, Unit("user", max_bins=1))
    lines = [(Question.contribution_profile(MONTHS, most=most), dv.Dense("1/10")) for most in range(1, 13)]
    with pytest.raises(ParameterError, match="release the profile by itself"):
        held.batch(lines, delta="1e-6")
    assert len(held.ledger.entries()) == 0
    sub = held.open(dv.PayWhatYouGet(symbols=4, questions=2, epsilon="1", delta="1e-7"))
    left = sub.left
    with pytest.raises(ParameterError, match="release the profile by itself"):
        sub.ask(PROFILE, 1)
    assert sub.left == left


def test_the_classes_of_a_profile_are_those_that_its_words_and_its_ends_take_for_granted() -> None:
    months = dv.Domain.integers(1, 12, column="month")
    keys = dv.Domain.keys(column="month")
    cases = ((months, {}), (months, {"most": 3}), (months, {"most": 11}), (months, {"over": 4}), (keys, {"most": 1}))
    for asked, given in cases:
        made = Question.contribution_profile(asked, **given)  # type: ignore[arg-type]
        assert Question.from_json(made.to_json()) == made
    plain, over = Question.contribution_profile(months), Question.contribution_profile(months, over=4)
    for question, domain in (
        (plain, dv.Domain.integers(3, 12, column="months")),
        (plain, dv.Domain.integers(1, 13, column="months")),
        (over, dv.Domain.intervals([6, 13], column="months")),
        (over, plain.domain),
    ):
        with pytest.raises(DomainError, match="the classes of a profile"):
            replace(question, domain=domain)
    with pytest.raises(DomainError, match="the classes of a profile"):
        Question(dv.Domain.intervals([1, 13], column="months"), {}, UnitProfile(months, 0))
