"""SamplingExplorer: what its sheet says of drawing and learning is what the laws say, wherever its sliders stand."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds, log_bounds
from dpviz.laws import bounded, sampling_curves
from dpviz.laws.product import theory_n
from dpviz.planning.sampling_sheet import AXES, BIASES, FANS, SamplingSheet
from dpviz.privacy.renyi import rho_for
from tests.widgets.pages import complete
from tests.widgets.test_tradeoff_explorer import ask


def rows(point: dict[str, Any], part: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in point[part]}


def test_the_first_picture_is_that_of_the_paper_with_its_constants() -> None:
    sheet = SamplingSheet()
    point, at = sheet.point(), sheet.alphas.index(Fraction(1, 20))
    learn = rows(point, "learn")
    assert [learn[name]["values"][at] for name in ("draw", "learn", "private")] == [800, 1900, 3307]
    assert {row["how"] for row in learn.values()} == {"bound"} and point["crossing"] == 0.11875
    for row in learn.values():
        assert all(value is None or value == math.ceil(value) for value in row["values"])
    assert learn["floor"]["values"][-1] is None  # nothing is proved above 1/10
    for draw, floor in zip(learn["draw"]["values"], learn["floor"]["values"], strict=True):
        assert floor is None or floor <= draw


@pytest.mark.parametrize("family", ["bounded", "product"])
def test_where_no_constant_is_known_only_a_shape_is_drawn(family: str) -> None:
    sheet = SamplingSheet(family, 1000, Fraction(1, 2))
    learn, at = rows(sheet.point(), "learn"), sheet.alphas.index(Fraction(1, 20))
    shapes = {"private", "floor"}
    assert {name for name, row in learn.items() if row["how"] == "shape"} == shapes
    assert learn["private"]["values"][at] == 1000 / 0.025 + 1000 / 0.0025
    assert learn["learn"]["values"][at] == 1000 / (2 * 0.0025)
    if family == "bounded":
        assert learn["draw"]["values"][at] == learn["sharper"]["values"][at] == 1098
        assert learn["floor"]["values"][at] == math.ceil(math.sqrt(1000) / 0.5)
    else:
        rho = rho_for(Fraction(1, 2), Fraction(1, 10**6))
        assert learn["draw"]["values"][at] == theory_n(1000, Fraction(1, 20), rho)
        assert sheet.point()["crossing"] is None


def test_errors_of_two_labels_are_their_laws() -> None:
    sheet = SamplingSheet(n=20, epsilon=Fraction(1, 2), p=Fraction(1, 7))
    hard = rows(sheet.point(), "hard")
    chances = np.array([float(p) for p in sheet.biases])
    laws = {
        "draw": sampling_curves.pair_law(20, Fraction(1, 2)),
        "response": sampling_curves.response_pair(20, Fraction(1, 2)),
        "best": sampling_curves.best_pair(20, Fraction(1, 2)),
    }
    for name, law in laws.items():
        assert np.allclose(hard[name]["values"], sampling_curves.sampling_errors(law, chances), rtol=1e-4, atol=0)
    assert max(hard["best"]["values"]) <= min(max(hard[name]["values"]) for name in ("draw", "response"))
    assert rows(SamplingSheet(n=121).point(), "hard")["best"]["values"] is None


def test_many_draws_cost_one_price_for_categories_and_add_up_for_all_else() -> None:
    sheet = SamplingSheet(n=50)
    draws = rows(sheet.point(), "draws")
    at = sheet.draws.index(10)
    price = float(bounded.epsilon(50, Fraction(1, 10**6)))
    assert set(draws["category"]["values"]) == {1.0} and draws["response"]["values"][at] == 10
    assert draws["clip"]["values"][at] == pytest.approx(10 * price, rel=1e-4)
    assert draws["chunks"]["values"][at] == pytest.approx(float(bounded.epsilon(5, Fraction(1, 10**6))), rel=1e-4)
    assert draws["chunks"]["values"][-1] is None  # 100 draws from 50 records


def test_what_no_slider_changes_is_the_bit_without_noise_and_the_parts_of_the_records() -> None:
    said = SamplingSheet().to_json()
    clip = said["clip"]
    for n in (1, 7, 100, 500):
        assert 0 <= Fraction(clip["prices"][n - 1]) - Fraction(math.log(bounded.ratio(n))) <= Fraction(2, 10**6)
        assert Fraction(clip["paper"][n - 1]) == Fraction(4, n)
    assert [(first["exact"], first["paper"]) for first in clip["first"]] == [("1", "295"), ("24", "461"), ("84", "627")]
    half = said["biases"].index(0.5)
    assert set(clip["errors"][half]) == {0.0} and min(clip["errors"][0]) == 0.25
    inside = [i for i, p in enumerate(BIASES) if Fraction(1, 3) <= p <= Fraction(2, 3)]
    for i in inside:
        assert all(error <= bound * (1 + 1e-4) for error, bound in zip(clip["errors"][i], clip["bound"], strict=True))
    outside = [i for i, p in enumerate(BIASES) if abs(p - Fraction(1, 2)) > Fraction(26, 100)]
    assert all(clip["errors"][i][-1] > 1e-3 for i in outside)


def test_what_is_at_most_a_bound_or_a_price_is_at_most_what_is_shown_of_it() -> None:
    """Exactly, in 80 digits; and no more above it than the last of five figures. To the nearest, a third lie below."""
    sheet = SamplingSheet(epsilon=Fraction(7, 5), q=Fraction(1, 7), n=37)
    said, digits, low = sheet.to_json(), 300, 0

    def holds(shown: float, least: Fraction) -> None:
        nonlocal low
        assert least <= Fraction(str(shown)) <= least * (1 + Fraction(2, 10**4)), (shown, float(least))
        low += Fraction(f"{float(least):.5g}") < least

    for n, shown in zip(said["bits"], said["clip"]["bound"], strict=True):
        holds(shown, exp_bounds(Fraction(-n, 72), digits)[0] * 3 / n)
    for n, shown in enumerate(said["few"]["bound"], 1):
        holds(shown, exp_bounds(Fraction(-n, 6), digits)[0])
    for q, shown in zip(sheet.shares, said["now"]["amplified"], strict=True):
        holds(shown, log_bounds(1 + q * (exp_bounds(Fraction(7, 5), digits)[0] - 1))[0])
    draws = rows(said["now"], "draws")
    for m, shown in zip(said["draws"], draws["clip"]["values"], strict=True):
        holds(shown, m * bounded.epsilon(37, Fraction(1, 10**12)))
    assert low > 30
    for alpha, shown in zip(sheet.alphas, rows(said["now"], "learn")["draw"]["values"], strict=True):
        assert shown == math.ceil(40 / (alpha * Fraction(7, 5)))


def test_the_trap_is_a_ratio_of_3_whatever_the_share_and_the_formula_says_less() -> None:
    said = SamplingSheet().to_json()
    for share, trap in zip(said["shares"], said["trap"], strict=True):
        q = Fraction(trap["q"])
        kept, coin = q, Fraction(3, 4)
        law = {bit: kept * (coin if bit else 1 - coin) for bit in (0, 1)}  # chance of a 1; not kept: a 0
        assert [Fraction(chance) for chance in trap["chances"]] == [law[0], law[1]] and float(q) == pytest.approx(share)
        assert Fraction(trap["ratio"]) == law[1] / law[0] == 3
        assert Fraction(trap["claimed"]) == 1 + q * (3 - 1) <= 3
    quarter = next(trap for trap in said["trap"] if trap["q"] == "0.25")
    assert quarter["claimed"] == "1.5"


def test_every_slider_has_a_point_for_each_value_and_all_numbers_are_finite() -> None:
    said = SamplingSheet(p=Fraction(1, 7), alpha=Fraction(1, 30), m=9, q=Fraction(1, 7), n=60, size=24).to_json()
    assert [axis["name"] for axis in said["axes"]] == list(AXES) and list(said["fans"]) == list(FANS)
    json.dumps(said, allow_nan=False)
    for axis in said["axes"]:
        assert len(axis["grid"]) == len(axis["values"]) > 1 and said["now"]["at"][axis["name"]] in axis["grid"]
        for value, point in zip(axis["grid"], said["fans"].get(axis["name"], []), strict=axis["name"] in FANS):
            assert point["at"][axis["name"]] == value
            assert {len(row["values"]) for row in point["learn"]} == {len(said["alphas"])}
    assert 9 in said["draws"] and 60 in said["bits"]


def test_a_move_gives_the_sheet_through_that_point() -> None:
    explorer = dv.SamplingExplorer()
    place = {**complete(explorer)["now"]["at"], "epsilon": "0.4", "family": "bounded", "alpha": "0.033"}
    ask(explorer, "move", place=place)
    assert complete(explorer)["now"]["at"] == place and 0.033 in complete(explorer)["alphas"]
    for wrong in ({**place, "epsilon": "4"}, {**place, "family": "all"}, {**place, "p": "2"}, {"n": "5"}):
        assert ask(explorer, "move", place=wrong)["ok"] is False


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 0}, {"epsilon": 4}, {"epsilon": "1/101"}, {"alpha": 0}, {"alpha": "2/5"}, {"n": 4}, {"n": 501},
        {"size": 1}, {"size": 10**6}, {"family": "gaussian"}, {"family": 3}, {"p": "-1/2"}, {"p": 2}, {"m": 0},
        {"m": 101}, {"q": 0}, {"q": 2}, {"n": "many"},
    ],
    ids=lambda given: str(given),
)  # fmt: skip
def test_places_outside_the_sliders_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dv.SamplingExplorer(**given)
