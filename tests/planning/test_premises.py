"""The facts about the data on which errors rest: a plan names them, says which are suggestions, and none of these makes
a mechanism the first choice."""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.mechanisms import REGISTRY
from dpviz.model.mechanism import Bound
from dpviz.model.question import Question
from dpviz.planning.advice import advise, goals_of
from dpviz.planning.comparing import advice_json
from dpviz.planning.premises import told
from dpviz.privacy.unit import Unit

HALF, DELTA, NINETEEN = Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 20)
KEYS, BINS = dv.Domain.keys(column="word"), dv.Domain.integers(0, 2**40 - 1, column="n")
UNITS = {"row": Unit(), "user in 20": Unit("u", max_bins=20)}

CONDITION = re.compile(r"\bif (at most|no )")
"""How a rule begins to say where it holds."""


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    frame = pd.DataFrame({"word": ["a", "b"], "n": [1, 2]})
    return dv.Session(frame, unit=dv.Unit("row"), budget=dv.Budget(5), ledger=tmp_path / "own.ledger")


def line(plan: dv.Plan) -> str:
    return next((said for said in repr(plan).splitlines() if said.startswith("  holds where  ")), "")


def test_the_first_choice_for_keys_without_a_delta_names_its_suggestions(session: dv.Session) -> None:
    plan = session.plan("word")
    assert plan.bound.mechanism.name == "ALP" and "rests on suggestions" in plan.reasons[0]
    assert "no value is above 1,000 and at most 1,000 keys are not empty" in line(plan)
    assert 'cap="1000" and keys=1000 are suggestions' in line(plan)


def test_what_is_stated_is_no_suggestion(session: dv.Session) -> None:
    stated = line(session.plan("word", dv.ALP(HALF, cap=600, keys=4000)))
    assert stated == "  holds where  no value is above 600 and at most 4,000 keys are not empty"
    half = line(session.plan("word", dv.MaxProjection(HALF, cap=600)))
    assert half.endswith("; keys=1000 is a suggestion, give what is known without a look at the data")
    assert line(session.plan(BINS, dv.Compact(HALF, cap=50))).endswith("the domain has at most 50 rows")
    assert line(session.plan(dv.Domain.integers(0, 9, column="n"), dv.Dense(HALF))) == ""


@pytest.mark.parametrize("mechanism", [dv.ALP(HALF), dv.ALP(HALF, cap=600, keys=4000)], ids=["suggested", "stated"])
def test_a_page_has_the_line_of_the_plan(session: dv.Session, mechanism: Any) -> None:
    plan = session.plan("word", mechanism)
    body = advice_json(plan.bound, mechanism, lambda made: True)
    assert {"head": "holds where", "text": line(plan).removeprefix("  holds where  ")} in body["told"]
    own = next(row for row in body["rows"] if row["here"])
    assert ("suggestions" in own["why"]) == (mechanism == dv.ALP(HALF))


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("domain", [KEYS, BINS], ids=["keys", "bins"])
def test_no_mechanism_stands_first_by_a_cap_that_nobody_stated(domain: dv.Domain, unit: Unit) -> None:
    question, protected = Question.of(domain).resolved(unit)
    rows = advise(question, protected, HALF, DELTA, "look-ups").rows
    guessed = [len(row.suggested) for row in rows]
    assert guessed == sorted(guessed) and guessed[0] < guessed[-1]
    assert not any(row.loses_to(other) for row in rows for other in rows if len(other.suggested) > len(row.suggested))


def test_an_error_that_is_the_suggested_cap_itself_does_not_beat_one_that_is_known() -> None:
    """MaxProjection errs by at most its cap, which is no error of these data."""
    question, unit = Question.of(KEYS).resolved(UNITS["user in 20"])
    rows = advise(question, unit, HALF, DELTA, "look-ups").rows
    least = min(rows, key=lambda row: row.worst or Fraction(0))
    assert least.name == "MaxProjection" and least.worst == 1_000
    assert rows[0].name == "ThresholdMaxProjection"


def rules(bound: Bound) -> str:
    errors = bound.error
    found = [errors.one_bin(NINETEEN), errors.all_bins(NINETEEN), errors.look_ups(1000, NINETEEN)]
    return " ".join(one.rule for one in found if one is not None)


def test_every_mechanism_whose_error_rests_on_a_fact_declares_it() -> None:
    """A mechanism whose rule of an error names a condition has a parameter that states it."""
    seen = set()
    for name, kind in REGISTRY.items():
        made = kind.from_parameters({"epsilon": "1"})
        more = {"cap": "50"} if made.parameters().get("cap") == "" else {}
        for domain in (KEYS, BINS, dv.Domain.integers(0, 4_999, column="n")):
            with suppress(ParameterError):
                bound = kind.from_parameters({"epsilon": "1", **more}).bind(*Question.of(domain).resolved(Unit()))
                if more or CONDITION.search(rules(bound)):
                    assert told(bound) is not None, name
                    seen.add(name)
    assert {"ALP", "ThresholdALP", "Compact", "PureSparse"} <= seen


def test_a_guess_of_more_bins_than_there_are_is_no_premise() -> None:
    few = dv.ThresholdALP(HALF).bind(*Question.of(dv.Domain.integers(0, 999, column="n")).resolved(Unit()))
    more = dv.ThresholdALP(HALF).bind(*Question.of(dv.Domain.integers(0, 1_000, column="n")).resolved(Unit()))
    assert told(few) is None and told(more) is not None


def test_goals_without_look_ups_rest_on_no_suggestion() -> None:
    for domain in (KEYS, dv.Domain.integers(0, 49, column="n")):
        question, unit = Question.of(domain).resolved(Unit())
        for goal in goals_of(question):
            rows = advise(question, unit, HALF, DELTA, goal).rows
            assert goal == "look-ups" or not any(row.suggested for row in rows), goal
