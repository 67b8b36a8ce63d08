"""How far off the worst of several look-ups may be: held against every law of an entry, and asked for any number."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.laws import alp
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.model.laws.threshold import TruncatedThresholdLaw
from dpviz.model.mechanism import Bound
from dpviz.session.session import Session
from dpviz.widgets.session_model import SessionModel

BINS = dv.Domain.integers(0, 99, column="x")
LEVEL = Fraction(1, 20)


def bound(mechanism: Any) -> Bound:
    made: Bound = mechanism.bind(dv.Question.of(BINS), dv.Unit())
    return made


def tail(x: int, a: int, cut: Any, plan: Any, truncated: bool) -> float:
    """The chance that the look-up of a value x is off by more than a, from the noise and from every string of bits."""
    total, off = 1.0, 0.0
    if cut is not None:
        noise = {z: float(TwoSidedGeometric(cut.decay).pmf(z)[0]) for z in range(-120, 121)}
        if truncated:  # noise given that it is smaller than the threshold in size
            kept = sum(chance for z, chance in noise.items() if abs(z) < cut.least)
            noise = {z: chance / kept for z, chance in noise.items() if abs(z) < cut.least}
        shown = {z: chance for z, chance in noise.items() if x + z >= cut.least} if x or cut.certain else {}
        off += sum(chance for z, chance in shown.items() if abs(z) > a)
        total -= sum(shown.values())
    if plan is None:
        return off + (total if x > a else 0.0)
    y = min(x * plan.worth, Fraction(plan.columns))
    low = math.floor(y)
    for whole, share in ((low, 1 - (y - low)), (min(low + 1, plan.columns), y - low)):
        law = alp.estimates(plan.columns, whole, plan.flips)
        off += total * sum(float(share * p) for value, p in law.items() if abs(value / plan.worth - x) > a)
    return off


CASES = [
    (dv.Threshold(1), 60),
    (dv.Threshold(1, delta="1e-3"), 60),
    (dv.ALP(2, keys=4, cap=10), 10),
    (dv.ThresholdALP(4, keys=4, delta="1e-2"), 25),
]


@pytest.mark.parametrize(("mechanism", "top"), CASES, ids=lambda one: repr(one)[:22])
@pytest.mark.parametrize("many", [1, 7, 1000])
def test_every_entry_errs_beyond_it_with_a_chance_of_beta_over_q_at_most(mechanism: Any, top: int, many: int) -> None:
    made = bound(mechanism)
    error = made.error.look_ups(many, LEVEL)
    assert error is not None and error.how == "bound" and f"union bound over {many:,} look-ups" in error.rule
    law: Any = made.law
    cut, plan = law.cut, None if isinstance(mechanism, dv.Threshold) else law.plan
    truncated = isinstance(law, TruncatedThresholdLaw)
    each = float(LEVEL / many)
    assert max(tail(x, int(error.value), cut, plan, truncated) for x in range(top + 1)) <= each * (1 + 1e-9)
    if many > 1:  # and the bar of a single look-up would not do for all of them
        single = made.error.look_ups(1, LEVEL)
        assert single is not None
        assert max(tail(x, int(single.value), cut, plan, truncated) for x in range(top + 1)) > each
    if plan is None:  # in closed form it is the least that holds
        assert max(tail(x, int(error.value) - 1, cut, plan, truncated) for x in range(top + 1)) > each


def test_more_look_ups_err_no_less_and_one_errs_as_any_one_bin_does() -> None:
    for mechanism, _ in CASES:
        error = bound(mechanism).error
        values = [error.look_ups(many, LEVEL).value for many in (1, 10, 10**3, 10**6)]  # type: ignore[union-attr]
        assert values == sorted(values) and values[0] < values[-1]
        one = error.one_bin(LEVEL)
        assert one is not None and values[0] == one.value


def test_a_plan_is_asked_about_any_number_of_look_ups_and_says_so(tmp_path: Path) -> None:
    session = Session(pd.DataFrame({"x": [1, 2, 3]}), dv.Unit(), dv.Budget(8), tmp_path / "plan.ledger")
    plan = session.plan(BINS, dv.Threshold(1))
    assert "1,000 look-ups at once" in repr(plan)
    other = plan.among(50)
    (measure,) = (one for one in other.measures if one.many is not None)
    assert measure.at(LEVEL) == plan.error.look_ups(50, LEVEL) and measure.label == "50 look-ups at once"
    assert "50 look-ups at once" in repr(other) and "1,000 look-ups" not in repr(other)
    said = other.sheet.to_json()
    (told,) = (one for one in said["measures"] if "many" in one)
    assert told["many"] == "50" and "50 look-ups" in told["phrase"]
    at = {point["epsilon"]: point["errors"]["0.05"]["look_ups"]["value"] for point in said["fans"]["epsilon"]}
    assert Fraction(at["1"]) == plan.error.look_ups(50, LEVEL).value  # type: ignore[union-attr]
    for wrong in (0, -1, "many", 10**10):
        with pytest.raises(dv.DpvizError):
            plan.among(wrong)  # type: ignore[arg-type]
    with pytest.raises(dv.DpvizError, match="says nothing of several look-ups"):
        session.plan(BINS, dv.Dense(1)).among(5)


def test_a_page_asks_for_another_number_and_nonsense_is_refused(tmp_path: Path) -> None:
    session = Session(pd.DataFrame({"x": [1, 2, 3]}), dv.Unit(), dv.Budget(8), tmp_path / "page.ledger")
    model = SessionModel(session, [BINS], dv.Threshold(1))
    sheet = json.loads(model.mirrors()["sheet"])
    args = {"question": {"id": sheet["question"]["id"]}, "mechanism": "Threshold", "parameters": {"epsilon": "1"}}

    def ask(**more: Any) -> dict[str, Any]:
        reply = model.answer({"v": 1, "id": "1", "ask": "plan", "args": args | more})
        assert reply is not None
        return reply

    (told,) = (one for one in ask(among="20")["body"]["sheet"]["measures"] if "many" in one)
    assert told["many"] == "20"
    (usual,) = (one for one in ask()["body"]["sheet"]["measures"] if "many" in one)
    assert usual["many"] == "1000"
    for wrong in ("0", "-3", "1.5", "many", "9" * 12, 20):
        assert not ask(among=wrong)["ok"]
    assert not ask(among="20", mechanism="Dense")["ok"]
