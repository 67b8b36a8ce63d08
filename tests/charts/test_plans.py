"""Charts of plans: free, in pencil, equal to the sheet's own numbers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import vl_convert

import dpviz as dv
from dpviz.charts import error_against_epsilon, noise_law
from dpviz.charts.theme import PALETTES
from dpviz.errors import Forbidden, ParameterError
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.mechanisms import Dense
from dpviz.model.question import Question
from dpviz.planning.sheet import PlanSheet
from tests.charts.made import HOSTILE, PERSON_YEAR, VISITS, everything, marks, released, spec, titles

SHEET = PlanSheet(Question.of(VISITS), PERSON_YEAR, Dense("1/5"), top=Fraction(2))
STEEP = PlanSheet(Question.of(VISITS), PERSON_YEAR, Dense("1/5"), top=Fraction(20))


def curve(chart: Any, thick: float) -> dict[float, float]:
    """epsilon -> error of the curve of that width."""
    return {row["epsilon"]: row["error"] for layer in marks(chart, "line", strokeWidth=thick) for row in layer["rows"]}


# ---------------------------------------------------------------- error against epsilon


def test_the_curves_are_the_sheets_own_numbers() -> None:
    points = SHEET.to_json()["fans"]["epsilon"]
    chart = error_against_epsilon(SHEET)
    for name, thick in (("one", 3.0), ("all", 1.0)):
        told = {
            float(Fraction(point["epsilon"])): float(Fraction(point["errors"]["0.05"][name]["value"]))
            for point in points
        }
        assert curve(chart, thick) == {epsilon: error for epsilon, error in told.items() if error > 0}
        assert len(told) > 20


def test_another_beta_moves_the_curves() -> None:
    assert curve(error_against_epsilon(SHEET, beta="0.01"), 3.0)[0.2] > curve(error_against_epsilon(SHEET), 3.0)[0.2]


def test_both_axes_are_logarithmic_and_say_so() -> None:
    chart = error_against_epsilon(SHEET)
    channels = marks(chart, "line")[0]["encoding"]
    assert [channels[name]["scale"]["type"] for name in ("x", "y")] == ["log", "log"]
    assert channels["x"]["axis"]["title"] == "ε (log)"
    assert channels["y"]["axis"]["title"] == "error in one bin, person-years (log)"
    assert {value for key, value in everything(spec(chart)) if key == "titleAngle"} == {0}
    assert not marks(chart, "bar")


def test_the_plans_own_point_is_hollow_and_labelled() -> None:
    chart = error_against_epsilon(SHEET)
    points = marks(chart, "point")
    assert [(layer["rows"][0]["epsilon"], layer["rows"][0]["text"]) for layer in points] == [(0.2, "±34"), (0.2, "±15")]
    assert {layer["mark"]["fill"] for layer in points} == {PALETTES["light"].ground}


@pytest.mark.parametrize("draw", [error_against_epsilon, noise_law])
def test_a_plan_is_drawn_in_pencil_with_a_dashed_frame_and_says_it_is_free(draw: Any) -> None:
    chart = draw(SHEET)
    frame = marks(chart, "rect")[0]["mark"]
    assert frame["strokeDash"]
    assert frame["stroke"] == PALETTES["light"].pencil
    assert PALETTES["light"].release.strong not in chart.to_json()
    assert "Plan: free, sees no data." in titles(chart)
    assert "0.2-differential privacy for adding or removing one person-year" in titles(chart)
    assert "any one bin within 15 (exact), all 42 within 34 (exact)" in spec(chart)["description"]


def test_an_error_of_0_is_said_for_a_logarithmic_axis_cannot_show_it() -> None:
    chart = error_against_epsilon(STEEP)
    assert min(curve(chart, 3.0).values()) >= 1
    assert "Any one bin: error 0 from ε = " in titles(chart)
    assert "error 0" not in titles(error_against_epsilon(SHEET, beta="0.01"))


# ---------------------------------------------------------------- the law of the noise


def test_the_law_is_drawn_as_steps_of_the_exact_chances() -> None:
    (line,) = marks(noise_law(SHEET), "line")
    assert line["mark"]["interpolate"] == "step-after"
    bound = SHEET.bound
    law = TwoSidedGeometric(bound.law.noise.decay)  # type: ignore[attr-defined]
    for row in line["rows"][:-1]:
        low, high = law.pmf(round(row["error"] + 0.5))
        assert float(low) == pytest.approx(row["chance"], rel=1e-9)
        assert float(high) == pytest.approx(row["chance"], rel=1e-9)
    assert sum(row["chance"] for row in line["rows"][:-1]) == pytest.approx(1, abs=0.001)


def test_below_the_law_stand_the_ranges_of_one_bin_and_of_all() -> None:
    chart = noise_law(SHEET)
    ranges = [layer for layer in marks(chart, "rule") if "x2" in layer["encoding"]]
    assert [(layer["rows"][0]["to"], layer["mark"]["strokeWidth"]) for layer in ranges] == [(15.0, 3.4), (34.0, 1.0)]
    caps = [layer["rows"][0]["error"] for layer in marks(chart, "rule") if "x2" not in layer["encoding"]]
    assert caps == [-34.0, 34.0]
    said = [layer["encoding"]["text"]["value"] for layer in marks(chart, "text")]
    assert said == ["Any one bin ±15, 95 in 100 (exact)", "All 42 at once ±34, 95 in 100 (exact)"]


def test_a_wide_law_takes_no_more_points_than_pixels() -> None:
    wide = PlanSheet(Question.of(VISITS), PERSON_YEAR, Dense("1/1000"), top=Fraction(2))
    (line,) = marks(noise_law(wide), "line")
    assert len(line["rows"]) <= 2 * 560


def test_the_law_comes_from_a_sheet_a_release_or_a_bound_mechanism() -> None:
    first = noise_law(SHEET).to_json()
    assert noise_law(SHEET.bound).to_json() == first
    assert noise_law(released(VISITS, [0] * 42, Dense("1/5"))).to_json() == first


# ---------------------------------------------------------------- the door


class Forged:
    """Looks like a bound mechanism, and is none."""

    mechanism = Dense("1/5")
    question = Question.of(VISITS)
    unit = PERSON_YEAR
    error = price = None


@pytest.mark.parametrize("draw", [error_against_epsilon, noise_law])
@pytest.mark.parametrize(
    "given", [pd.DataFrame({"x": [7777777]}), {"x": 7777777}, Forged(), None, VISITS, Dense("1/5")]
)
def test_a_plans_chart_takes_plans_only(draw: Any, given: object) -> None:
    with pytest.raises(Forbidden) as refusal:
        draw(given)
    assert "7777777" not in str(refusal.value)


@pytest.mark.parametrize("draw", [error_against_epsilon, noise_law])
@pytest.mark.parametrize(("option", "wrong"), [("beta", 2), ("theme", "blue"), ("width", -3)])
def test_a_wrong_option_is_refused(draw: Any, option: str, wrong: object) -> None:
    with pytest.raises(ParameterError):
        draw(SHEET, **{option: wrong})


# ---------------------------------------------------------------- drawing


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("draw", [error_against_epsilon, noise_law])
def test_it_draws_in_both_themes_with_a_hostile_name(draw: Any, theme: Any) -> None:
    question = Question.of(dv.Domain.integers(0, 3, column=HOSTILE))
    drawn = vl_convert.vegalite_to_svg(
        draw(PlanSheet(question, PERSON_YEAR, Dense("1/5"), Fraction(2)), theme=theme).to_json()
    )
    assert PALETTES[theme].ground in drawn
    assert "&lt;/script" in drawn
    assert "<img" not in drawn
    assert "NaN" not in drawn


def test_a_plan_charts_itself(tmp_path: Any) -> None:
    session = dv.Session(
        pd.DataFrame({"visits": [1]}), PERSON_YEAR, dv.Budget(2), tmp_path / "a.ledger", dataset="visits"
    )
    assert session.plan(VISITS, Dense("1/5")).chart().to_json() == error_against_epsilon(SHEET).to_json()


def test_a_plan_is_told_of_its_sheet_which_costs_nothing(tmp_path: Path) -> None:
    session = dv.Session(dv.datasets.doctor_visits(), dv.Unit(noun="person-year"), dv.Budget(1), tmp_path / "a.ledger")
    plan = session.plan(dv.Domain.integers(0, 9, column="visits"), dv.Dense("1/2"))
    with pytest.raises(Forbidden, match=r"plan\.sheet$"):
        noise_law(plan)
    assert noise_law(plan.sheet).to_dict() and not session.ledger.entries()
