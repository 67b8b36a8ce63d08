"""The composition sheet: its numbers are the rules', computed again from their formulas; Figure 1 is the table's."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import pytest
from scipy.optimize import brentq, minimize_scalar

from dpviz.errors import ParameterError
from dpviz.planning.composition_sheet import COUNTS, FIGURE_COUNTS, CompositionSheet, figure
from dpviz.planning.grid import power_text, ticks

STEP = Fraction(1, 10**6)


def formulas(k: int, epsilon: float, delta: float) -> dict[str, float]:
    """The rules as the paper prints them, in floats; the exact one by its sum over outcomes."""
    square, log = k * epsilon**2, math.log(1 / delta)
    private = min(k * epsilon, k * epsilon * math.tanh(epsilon / 2) + math.sqrt(2 * square * log))
    outcomes = [
        (math.comb(k, j) * math.exp((k - j) * epsilon) / (1 + math.exp(epsilon)) ** k, (k - 2 * j) * epsilon)
        for j in range(k + 1)
    ]

    def excess(x: float) -> float:
        return sum(chance * -math.expm1(x - loss) for chance, loss in outcomes if loss > x)

    exact = 0.0 if excess(0) <= delta else float(brentq(lambda x: excess(x) - delta, 0, k * epsilon, xtol=1e-13))
    rho = k * epsilon * math.tanh(epsilon / 2)

    def by_order(power: float) -> float:
        more = math.exp(power)
        return (1 + more) * rho + math.log(1 / ((1 + more) * delta)) / more - math.log1p(1 / more)

    order = minimize_scalar(by_order, bounds=(-8, 20), method="bounded", options={"xatol": 1e-9})
    return {
        "sum": k * epsilon,
        "dp": private,
        "rho": min(k * epsilon, max(0.0, float(order.fun))),
        "exact": exact,
        "bounded": min(private, square / 2 + math.sqrt(square * log / 2)),
        "zcdp": min(private, square / 8 + math.sqrt(square * log / 2)),
    }


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), ("1/3", "1e-9"), ("0.02", "1/7"), ("1", "1e-12")])
def test_every_number_is_its_formula_rounded_up(epsilon: str, delta: str) -> None:
    sheet = CompositionSheet(Fraction(epsilon), Fraction(delta), 77)
    assert 77 in sheet.counts()
    point = sheet.point()
    shown = {rule["name"]: dict(zip(sheet.counts(), rule["epsilon"], strict=True)) for rule in point["rules"]}
    for k in (1, 2, 5, 20, 77, 100):
        for name, value in formulas(k, float(Fraction(epsilon)), float(Fraction(delta))).items():
            assert -1e-9 < float(Fraction(shown[name][k])) - value < float(STEP) + 1e-9, (name, k)
    assert Fraction(shown["sum"][77]) >= 77 * Fraction(epsilon)


def test_a_drift_that_is_half_too_small_is_told_apart() -> None:
    """The check above would reject k epsilon^2 / 4 for Lemma 4.4."""
    k, epsilon, log = 100, 0.1, math.log(1e6)
    wrong = k * epsilon**2 / 4 + math.sqrt(k * epsilon**2 * log / 2)
    assert abs(formulas(k, epsilon, 1e-6)["bounded"] - wrong) > 1000 * float(STEP)


def test_figure_1_is_the_specifications_table() -> None:
    table = {
        "0.01": [1.000, 1.470, 1.554],
        "0.05": [1.000, 1.550, 1.533],
        "0.1": [1.000, 1.524, 1.454],
        "0.5": [1.000, 1.301, 1.162],
        "1": [1.000, 1.089, 1.014],
    }
    drawn = figure()
    assert [curve["epsilon"] for curve in drawn["curves"]] == list(table)
    for curve in drawn["curves"]:
        found = dict(zip(drawn["k"], curve["bounded"], strict=True))
        assert [found[k] for k in (10, 100, 1000)] == pytest.approx(table[curve["epsilon"]], abs=6e-4)
        assert min(curve["bounded"]) >= 1
        assert all(zcdp >= bounded for bounded, zcdp in zip(curve["bounded"], curve["zcdp"], strict=True))
    assert FIGURE_COUNTS[0] == 1
    assert FIGURE_COUNTS[-1] == 1000


def test_with_the_zcdp_drift_the_ratio_keeps_growing() -> None:
    for curve in figure()["curves"][:3]:
        found = dict(zip(FIGURE_COUNTS, curve["zcdp"], strict=True))
        assert found[10] < found[100] < found[1000]


def test_laplace_noise_is_the_cheaper_one_up_to_the_bins_that_the_sheet_says() -> None:
    sheet = CompositionSheet(Fraction(1, 10), Fraction(1, 10**6))
    point = sheet.point()
    bounded = next(rule["epsilon"] for rule in point["rules"] if rule["name"] == "bounded")
    for bins, equal, epsilon in zip(point["laplace"], point["equal"], bounded, strict=True):
        assert int(bins) * sheet.epsilon <= Fraction(epsilon)
        assert (int(bins) + 1) * sheet.epsilon > Fraction(epsilon) - STEP
        assert equal == pytest.approx(float(Fraction(epsilon) / sheet.epsilon), rel=1e-4)


def test_each_fan_holds_the_point_that_a_sheet_made_there_would_hold() -> None:
    sheet = CompositionSheet(Fraction(3, 100), Fraction(1, 2000), 33)
    said = sheet.to_json()
    assert [axis["name"] for axis in said["axes"]] == ["epsilon", "delta", "k"]
    for axis in said["axes"]:
        assert len(axis["values"]) == len(axis["grid"])
        assert said["now"]["at"][axis["name"]] in axis["grid"]
    assert set(said["fans"]) == {"epsilon", "delta"}
    for axis in said["axes"][:2]:
        points = said["fans"][axis["name"]]
        assert [point["at"][axis["name"]] for point in points] == axis["grid"]
        for point in points[::5]:
            assert point == sheet.moved(point["at"]).point()
    assert len(json.dumps(said, allow_nan=False)) < 200_000


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"epsilon": "0"}, "0"),
        ({"epsilon": "11"}, "11"),
        ({"epsilon": "much"}, "much"),
        ({"delta": "1"}, "1"),
        ({"delta": "0"}, "0"),
        ({"k": "0"}, "0"),
        ({"k": "1001"}, "1001"),
        ({"k": "2.5"}, "2.5"),
        ({"rows": "9"}, "delta, epsilon, k, rows"),
    ],
)
def test_a_place_outside_the_axes_is_refused(change: dict[str, str], value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        CompositionSheet().moved({"epsilon": "0.1", "delta": "0.000001", "k": "50"} | change)
    assert caught.value.value == value


def test_the_ticks_of_a_slider_are_the_same_in_every_power_of_ten() -> None:
    values = ticks(Fraction(1, 200), Fraction(2))
    assert values[0] == Fraction(1, 200)
    assert values[-1] == 2
    assert {10 * value for value in values if value < Fraction(1, 5)} <= set(values)
    assert [power_text(Fraction(text)) for text in ("1e-8", "1/1000", "0.01", "2e-5", "1/3000")] == [
        "10⁻⁸",
        "10⁻³",
        "0.01",
        "0.00002",
        "1/3000",
    ]
    assert len(COUNTS) == 28


def test_a_rule_is_called_by_its_name_and_not_by_the_number_of_its_theorem() -> None:
    labels = [rule["label"] for rule in CompositionSheet().to_json()["rules"]]
    assert len({*labels}) == len(labels) and {"sum", "advanced composition", "exact composition"} < {*labels}
    assert not re.search(r"(Lemma|Theorem|Corollary|Algorithm|Figure) ?\d", " ".join(labels))
