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
from tests.widgets.pages import complete


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


SMALL = TradeoffSheet(d=1000, threshold="approximate", delta=Fraction(1, 1000), epsilon=Fraction(2), accounting="paper")


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
    point = TradeoffSheet(accounting="paper").point()
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


def test_alp_is_charged_as_the_mechanism_charges_counts_unless_the_paper_is_asked_for() -> None:
    """What one count is worth is the mechanism's own scale, for either way of charging, and the default is its own."""
    question = dv.Question.of(dv.Domain.integers(0, 2**32 - 1, column="key"))
    units = {"add": dv.Unit(), "replace": dv.Unit(relation="replace-one", n=10_000), "user-4": dv.Unit("u", max_bins=4)}
    for relation, unit in units.items():
        for said, accounting in (("exact", "count-exact"), ("paper", "l1-real"), ("", "auto")):
            sheet = TradeoffSheet(relation=relation, **({"accounting": said} if said else {}))  # type: ignore[arg-type]
            made = dv.ALP(1, keys=1000, cap=90, alpha=sheet.alpha, accounting=accounting).bind(question, unit)  # type: ignore[arg-type]
            worth = made.law.plan.worth  # type: ignore[attr-defined]
            assert worth <= sheet._bits(sheet.each) < worth * (1 + Fraction(1, 1000)), (relation, said)


@pytest.mark.parametrize("relation", ["add", "replace", "user-4", "user-16"])
def test_compact_errs_and_stores_what_the_mechanism_says(relation: str) -> None:
    unit = {
        "add": dv.Unit(),
        "replace": dv.Unit(relation="replace-one", n=500),
        "user-4": dv.Unit("u", max_bins=4),
        "user-16": dv.Unit("u", max_bins=16),
    }[relation]
    sheet = TradeoffSheet(relation=relation, n=500, k=50, d=10**6, threshold="approximate")
    point = sheet.point()
    made = dv.Compact(1, cap=500).bind(dv.Question.of(dv.Domain.integers(0, 10**6 - 1, column="key")), unit)
    told = row(point, "compact")
    assert (told["bits"], told["cap"], told["needs_delta"]) == (float(f"{made.space.bits / 50:.4g}"), "500", False)
    assert told["read"] == "all 501 elements"
    for x in point["xs"]:
        count = min(x, 500)
        for kind, value in (
            ("mean", made.error.expected(count)),
            ("one", made.error.one_bin(Fraction(1, 20), count=count)),
            ("all", made.error.one_bin(Fraction(1, 20_000), count=count)),
        ):
            assert value is not None
            assert at(point, "compact", x, kind) == pytest.approx(float(value.value) + x - count, rel=1e-3, abs=1e-9)


def test_compact_is_left_out_where_its_answer_would_be_too_large() -> None:
    names = [
        one["name"] for one in TradeoffSheet(epsilon=Fraction(1, 100), relation="user-16", d=2**64).point()["rows"]
    ]
    assert not {"compact", "log"} & {*names} and len(names) == 7


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
    single = TradeoffSheet(d=1000, look_ups=1, accounting="paper").point()
    for name in ("threshold", "dense", "stability", "compact"):
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


def test_logarithms_err_as_their_table_says() -> None:
    """All strings of the mechanism's bits, each read as the value that it stands for."""
    sheet = TradeoffSheet(epsilon=Fraction(6), load=Fraction(100), n=12, d=1000, k=10)
    point = sheet.point()
    told = row(point, "log")
    made = dv.ALP(6, keys=10, cap=12, room=100, alpha="38/13", encoding="log")
    plan = made.bind(dv.Question.of(dv.Domain.integers(0, 999, column="key")), dv.Unit()).law.plan  # type: ignore[attr-defined]
    m = plan.columns
    assert m <= 16 and told["read"] == f"{m} bits" and (told["bits"], told["cap"]) == (100.0 * m, "12")
    assert told["errors"]["mean"]["how"] == "exact" and told["off"] == 0
    for x in [x for x in point["xs"] if x <= 12]:
        bits = plan.rungs.bits(x)
        low = min(math.floor(bits), m - 1)
        mean = sum(
            share * chance * abs(plan.rungs.steps(value) - x)
            for y, share in ((low, 1 - (bits - low)), (low + 1, bits - low))
            for value, chance in alp.estimates(m, y, sheet.flips).items()
        )
        assert at(point, "log", x) == pytest.approx(float(mean), rel=1e-3)


def test_both_signs_err_as_all_strings_of_both_halves_say() -> None:
    m, flips, runs = 4, Flips(Fraction(13, 64), Fraction(1, 10)), 20_000
    strings = (np.arange(1 << 2 * m)[:, None] >> np.arange(2 * m)) & 1
    sums, places = unary.highest(strings.astype(np.uint8))
    p, raised = float(flips.p), float(flips.raised)
    for y, (values, shares) in enumerate(simulated_laws(2 * m, flips, runs=runs, seed=5, cleared=m)):
        column = np.arange(2 * m)
        one = np.where(column < y, 1 - np.where(column < m, raised, p), np.where(column < m, p, raised))
        chances = np.where(strings == 1, one, 1 - one).prod(axis=1)
        found = sums / places
        mean, spread = chances @ found, math.sqrt(chances @ found**2 - (chances @ found) ** 2)
        # nine normal means within 6.5 standard errors: false alarm below 1e-9; a tenth of a bit would be seen
        assert abs(values @ shares - mean) < 6.5 * spread / math.sqrt(runs) < 0.13
        plain = simulated_laws(2 * m, flips, runs=runs, seed=5)[y]
        assert y == 0 or abs(plain[0] @ plain[1] - mean) > 0.02  # with nothing cleared it is another law
    point = TradeoffSheet(d=1000, k=10).point()
    signed, alone = row(point, "signed"), row(point, "alp")
    assert signed["bits"] == pytest.approx(2 * alone["bits"], rel=1e-3) and signed["cap"] == alone["cap"]
    # far from 0 nothing tells the two apart but the law that was drawn: 4,000 runs, each mean off by `off` or less
    x = point["thresholds"]["before"] * 3 // 4
    x = min(point["xs"], key=lambda one: abs(one - x))
    assert abs(at(point, "signed", x) - at(point, "alp", x)) < 4 * (signed["off"] + alone["off"])
    assert at(point, "signed", 0) > at(point, "alp", 0)  # an entry of 0 is read too small as well as too large


@pytest.mark.parametrize("threshold", ["pure", "approximate"])
def test_every_mechanism_names_the_sliders_that_move_it(threshold: str) -> None:
    """Whoever names a slider is another with it elsewhere, and whoever does not stays as it was."""
    sheet = TradeoffSheet(d=1000, k=10, n=100, threshold=threshold)
    moved = {"ε": ("epsilon", "3"), "d": ("d", str(2**40)), "s/k": ("load", "30"), "α": ("alpha", "5")}
    moved |= {"split": ("split", "2"), "δ": ("delta", "1/1000")}
    start = sheet.point()
    for word, (name, value) in moved.items():
        point = sheet.moved({**sheet.at, name: value}).point()
        xs = sorted(set(start["xs"]) & set(point["xs"]))
        for one in start["rows"]:
            other = row(point, one["name"])
            same = (one["bits"], one["read"]) == (other["bits"], other["read"]) and all(
                one["errors"][kind]["values"] is None
                or [at(start, one["name"], x, kind) for x in xs] == [at(point, one["name"], x, kind) for x in xs]
                for kind in ("mean", "one", "all")
            )
            assert same != (word in one["moved_by"].split(" ")), (one["name"], word)


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
    place = {**complete(explorer)["now"]["at"], "alpha": "5.5", "relation": "replace", "d": "12345"}
    ask(explorer, "move", place=place)
    assert complete(explorer)["now"]["at"] == place
    assert "5.5" in next(axis for axis in complete(explorer)["axes"] if axis["name"] == "alpha")["grid"]
    for wrong in ({**place, "d": "1"}, {**place, "load": "2"}, {**place, "threshold": "none"}, {"d": "5"}):
        assert ask(explorer, "move", place=wrong)["ok"] is False


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 0}, {"epsilon": 21}, {"delta": 0}, {"delta": 1}, {"split": "1/5"}, {"split": 5}, {"alpha": 0},
        {"alpha": 11}, {"load": 2}, {"load": 101}, {"d": 1}, {"d": 2**65}, {"k": 0}, {"look_ups": 0},
        {"relation": "all"}, {"accounting": 1}, {"threshold": ""}, {"n": 0}, {"n": "many"},
    ],
    ids=lambda given: str(given),
)  # fmt: skip
def test_places_outside_the_sliders_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dv.TradeoffExplorer(**given)
