"""TradeoffExplorer: what its sheet says of error, space and reads is what the laws say, wherever its sliders stand."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.fitting import unary
from dpviz.laws import alp
from dpviz.laws.alp import Flips, odds
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.planning.tradeoff_sheet import AXES, TradeoffSheet
from dpviz.planning.walks import simulated_laws
from dpviz.widgets.explorer import Explorer


def ask(explorer: Explorer, name: str, **args: Any) -> dict[str, Any]:
    reply = explorer.answer({"v": 1, "id": "1", "ask": name, "args": args})
    assert reply is not None
    return json.loads(json.dumps(reply, allow_nan=False))  # type: ignore[no-any-return]


def row(point: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in point["rows"] if one["name"] == name)
    return found


def at(point: dict[str, Any], name: str, x: int, kind: str = "mean") -> float:
    value: float = row(point, name)["errors"][kind]["values"][point["xs"].index(x)]
    return value


SMALL = TradeoffSheet(d=1000, threshold="approximate", delta=Fraction(1, 1000), epsilon=Fraction(2))


def test_expected_errors_are_those_of_every_noise_and_every_string_of_bits() -> None:
    point = SMALL.point()
    t, m = point["thresholds"]["before"], int(row(point, "both")["read"].split()[0])
    decay, bits = Decay.exp(Fraction(1)), 1 / SMALL.flips.alpha
    assert m == math.ceil(t * bits) and m <= 8
    noise = {z: float(TwoSidedGeometric(decay).pmf(z)[0]) for z in range(-60, 61)}
    for x in [x for x in point["xs"] if x <= t + 2]:
        y = min(x * bits, Fraction(m))
        low = math.floor(y)
        mean = 0.0
        for whole, share in ((low, 1 - (y - low)), (min(low + 1, m), y - low)):
            for value, chance in alp.estimates(m, whole, SMALL.flips).items():
                mean += float(share * chance) * abs(float(value / bits) - x)
        shown = sum(chance for z, chance in noise.items() if x + z >= t)
        expected = sum(chance * abs(z) for z, chance in noise.items() if x + z >= t) + (1 - shown) * mean
        assert at(point, "both", x) == pytest.approx(expected, rel=1e-3)
    alone = {z: float(TwoSidedGeometric(Decay.exp(Fraction(2))).pmf(z)[0]) for z in range(-60, 61)}
    for x in point["xs"]:
        told = [(abs(z) if x + z >= point["thresholds"]["alone"] else x, chance) for z, chance in alone.items()]
        expected = sum(size * chance for size, chance in told)
        assert at(point, "threshold", x) == pytest.approx(expected, rel=1e-3, abs=1e-9)
        reach = at(point, "threshold", x, "one")
        assert sum(chance for size, chance in told if size > reach) <= 0.05
        assert reach == 0 or sum(chance for size, chance in told if size >= reach) > 0.05


def test_the_designed_picture_s_numbers() -> None:
    # epsilon 1, d = 2**32, s/k = 16.384, alpha 38/13, split 1: 314 bits and 16 reads an entry; errors of 7.5 and 30
    point = TradeoffSheet().point()
    assert (row(point, "both")["bits"], row(point, "both")["read"]) == (314.1, "16 bits")
    assert point["thresholds"] == {"alone": 45, "before": 90, "stability": 15}
    assert at(point, "both", 0) == pytest.approx(7.5, abs=0.05) and at(point, "both", 30) == pytest.approx(9.1, abs=0.1)
    assert at(point, "threshold", 30) == pytest.approx(30, abs=0.1) and at(point, "threshold", 0) < 1e-9
    assert row(point, "dense")["bits"] == 8.59e7 and row(point, "stability")["needs_delta"]
    assert row(point, "alp")["errors"]["mean"]["how"] == "simulated" and row(point, "alp")["off"] > 0
    assert row(point, "both")["errors"]["mean"]["how"] == "exact" and row(point, "both")["off"] == 0
    assert row(point, "max")["errors"]["mean"]["how"] == "bound"
    assert row(point, "max")["errors"]["one"]["values"] is None  # keys meet more often than one time in twenty


def test_exact_accounting_spends_the_same_and_stores_more_bits_a_count() -> None:
    paper, exact = (TradeoffSheet(accounting=name) for name in ("paper", "exact"))
    share = Fraction(1, 2)
    for sheet in (paper, exact):
        ratio = float(odds(sheet.flips.alpha, sheet._bits(share)))
        assert ratio <= math.exp(0.5)
        assert (ratio > math.exp(0.5) * (1 - 1e-12)) == (sheet is exact)
    assert exact._bits(share) > paper._bits(share)


@pytest.mark.parametrize(
    "relation, moved, failing", [("add", 1, 1), ("replace", 2, 1), ("user-4", 4, 4), ("user-16", 16, 16)]
)
def test_who_is_protected_divides_epsilon_and_for_users_delta(relation: str, moved: int, failing: int) -> None:
    sheet = TradeoffSheet(relation=relation, threshold="approximate")
    assert sheet.each == Fraction(1, moved) and sheet.failing == Fraction(1, 10**6 * failing)
    t = math.log(10**6 * failing) * moved + 2
    assert sheet.point()["thresholds"]["alone"] == math.ceil(t)


def test_error_bars_of_many_look_ups_are_wider_and_hold() -> None:
    point = SMALL.point()
    for one in point["rows"]:
        errors = one["errors"]
        if errors["one"]["values"] is None or errors["all"]["values"] is None:
            continue
        assert all(a <= b for a, b in zip(errors["one"]["values"], errors["all"]["values"], strict=True)), one["name"]
    single = TradeoffSheet(d=1000, look_ups=1).point()
    for name in ("threshold", "dense", "stability"):
        errors = row(single, name)["errors"]
        assert errors["one"]["values"] == errors["all"]["values"]


def test_simulated_laws_agree_with_the_exact_ones_and_with_the_estimator() -> None:
    m, flips, runs = 9, Flips(Fraction(13, 64), Fraction(1, 10)), 20_000
    laws = simulated_laws(m, flips, runs=runs, seed=11)
    drawn = np.random.default_rng(11).random((m, runs))
    for y, (values, shares) in enumerate(laws):
        bits = np.where(np.arange(1, m + 1)[:, None] <= y, drawn >= float(flips.p), drawn < float(flips.raised))
        sums, places = unary.highest(bits.T.astype(np.uint8))
        same = np.unique((sums / places).round(9), return_counts=True)
        assert values.tolist() == same[0].tolist() and (shares * runs).round().tolist() == same[1].tolist()
        exact = alp.estimates(m, y, flips)
        mean = sum(float(value * chance) for value, chance in exact.items())
        spread = math.sqrt(sum(float(chance) * (float(value) - mean) ** 2 for value, chance in exact.items()))
        # ten normal means within 6.5 standard errors: false alarm below 1e-9; a shift of a tenth of a bit would be seen
        assert abs(values @ shares - mean) < 6.5 * spread / math.sqrt(runs) < 0.1


def test_every_slider_has_a_point_for_each_value_and_all_numbers_are_finite() -> None:
    said = TradeoffSheet(d=10**6).to_json()
    assert [axis["name"] for axis in said["axes"]] == list(AXES) == list(said["fans"])
    json.dumps(said, allow_nan=False)
    for axis in said["axes"]:
        points = said["fans"][axis["name"]]
        assert [point["at"][axis["name"]] for point in points] == axis["grid"]
        assert len(axis["grid"]) == len(axis["values"]) > 1
        for point in points:
            assert point["xs"] == sorted(set(point["xs"])) and point["xs"][0] == 0
            assert {
                len(values["values"] or point["xs"]) for one in point["rows"] for values in one["errors"].values()
            } == {len(point["xs"])}


def test_a_move_gives_the_sheet_through_that_point() -> None:
    explorer = dv.TradeoffExplorer(d=10**6)
    place = {**json.loads(explorer.sheet)["now"]["at"], "alpha": "5.5", "relation": "replace", "d": "12345"}
    reply = ask(explorer, "move", place=place)
    assert reply["body"]["sheet"]["now"]["at"] == place
    assert "5.5" in next(axis for axis in reply["body"]["sheet"]["axes"] if axis["name"] == "alpha")["grid"]
    for wrong in ({**place, "d": "1"}, {**place, "load": "2"}, {**place, "threshold": "none"}, {"d": "5"}):
        assert ask(explorer, "move", place=wrong)["ok"] is False


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 0}, {"epsilon": 21}, {"delta": 0}, {"delta": 1}, {"split": "1/5"}, {"split": 5}, {"alpha": 0},
        {"alpha": 11}, {"load": 2}, {"load": 101}, {"d": 1}, {"d": 2**65}, {"k": 0}, {"look_ups": 0},
        {"relation": "all"}, {"accounting": 1}, {"threshold": ""},
    ],
    ids=lambda given: str(given),
)  # fmt: skip
def test_places_outside_the_sliders_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dv.TradeoffExplorer(**given)
