"""The top-k sheet: its pictures are the laws of public counts, its prices are the kernel's, its fans are its points."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.laws.race import Race
from dpviz.laws.top_k import (
    Competition,
    Law,
    chosen_kbar,
    exponential,
    fixed_threshold,
    laplace_limit_domain,
    limit_domain,
)
from dpviz.mechanisms import TopK, TopKLaplace
from dpviz.model.domain import Domain as Bins
from dpviz.model.public import PublicTable, PublicTop
from dpviz.model.question import Question
from dpviz.planning.top_k_sheet import DRAWN, FAMILIES, LIMITS, RUNS, TopKSheet, first_places, made_up
from dpviz.privacy.range_bounded import total
from dpviz.privacy.unit import Unit

USER = Unit("user", max_bins=5)
TENTH = Fraction(1, 10)


def ranking(*counts: int) -> PublicTop:
    return PublicTop(tuple("abcdefghij"[: len(counts)]), counts)


def small(counts: tuple[int, ...], **more: Any) -> TopKSheet:
    """A sheet with a base near 2: exp(epsilon) is within 1e-8 of it."""
    said: dict[str, Any] = {"k": 2, "kbar": 3, "epsilon": Fraction(69314718056, 10**11), "delta": Fraction(1, 10)}
    said |= {"max_bins": 1, **more}
    return TopKSheet(dict.fromkeys((1, 2, None), ranking(*counts)), Unit("user"), **said)


def listed(law: Law, label: int) -> float:
    return float(sum((chance for outcome, chance in law.items() if label in outcome), Fraction(0)))


COUNTS = (5, 4, 4, 2, 1)


@pytest.mark.parametrize("limit", [1, 2, None])
def test_chances_and_lengths_are_the_enumerated_ones_for_a_threshold_that_is_a_tenth_higher_at_most(
    limit: int | None,
) -> None:
    """The sheet rounds its threshold up to a tenth, so its law lies between those of 1/delta and 2**0.1/delta."""
    point = small(COUNTS, max_bins=limit).point()["open"]
    exact = limit_domain(COUNTS, Fraction(2), 2, Competition(Fraction(1, 10), 3, "positive", limit))
    higher = limit_domain(COUNTS, Fraction(2), 2, Competition(Fraction(93, 1000), 3, "positive", limit))
    for label in range(3):
        assert listed(higher, label) - 1e-4 <= point["chance"][label] <= listed(exact, label) + 1e-4
    assert point["chance"][3:] == [0, 0]
    shortest = [sum(float(chance) for outcome, chance in law.items() if outcome == (-1,)) for law in (exact, higher)]
    assert shortest[0] - 1e-4 <= point["lengths"][0] <= shortest[1] + 1e-4
    assert sum(point["lengths"]) == pytest.approx(1, abs=1e-3)
    items = sum(j * chance for j, chance in enumerate(point["lengths"]))
    charge = sum(min(j + 1, 2) * chance for j, chance in enumerate(point["lengths"]))
    assert float(point["items"]) == pytest.approx(items, abs=0.01)
    assert float(point["charge"]) == pytest.approx(charge, abs=0.01)


def test_a_threshold_without_the_gap_is_told_apart() -> None:
    """Near-wrong: the law without the 1 that is added to the next count lies outside what the test above allows."""
    point = small(COUNTS).point()["open"]
    wrong = limit_domain(COUNTS, Fraction(2), 2, Competition(Fraction(1, 10), 3, "positive", 1, gap=0))
    assert all(listed(wrong, label) > point["chance"][label] + 0.02 for label in range(3))


def test_the_other_ways_to_make_a_list_have_their_enumerated_chances() -> None:
    base, delta = Fraction(2), Fraction(1, 10)
    full = exponential(COUNTS, base, 2)
    fixed = fixed_threshold(COUNTS, base, delta, 2)
    sheet = small(COUNTS, method="laplace")
    question = Question.of(Bins.keys(column="item"))
    unit = Unit("user", max_bins=1)
    bound = TopKLaplace(k=2, kbar=3, epsilon=sheet.epsilon, delta=delta).bind(question, unit)
    laplace = laplace_limit_domain(COUNTS, base, 2, Competition(delta, 3, "positive", 1), bound.offset)
    for name, law in {"full": full, "fixed": fixed, "laplace": laplace}.items():
        point = small(COUNTS, method=name).point()
        exact = [listed(law, label) for label in range(5)]
        assert point["open"]["chance"] == pytest.approx(exact, abs=1e-4), name
        assert point["method"]["refused"] == ""
    assert small(COUNTS, method="laplace").point()["method"]["price"] == {
        "epsilon": f"{float(sheet.epsilon):.11f}",
        "delta": "0.1",
    }


@pytest.mark.parametrize("method", ["gumbel", "laplace", "fixed", "full"])
def test_simulated_lists_lie_where_the_exact_chances_are(method: str) -> None:
    """6.5 standard deviations on five shares: a false alarm has a chance below 1e-9. The seed is fixed."""
    point = small(COUNTS, method=method).point()["open"]
    for exact, simulated in zip(point["chance"], point["simulated"], strict=True):
        assert abs(exact - simulated) < 6.5 * math.sqrt(max(exact * (1 - exact), 1e-4) / RUNS)


def test_the_first_places_are_written_list_by_list_and_equal_scores_by_label() -> None:
    scores = np.array([[3.0, 1.0, 2.0], [2.0, 5.0, 2.0], [1.0, 0.0, 9.0]])
    assert first_places(scores, 2, None, ["b", "a", "c"]) == "01" + "10" + "21"
    assert first_places(scores, 3, np.array([1.5, 0.5, 9.5]), ["b", "a", "c"]) == "01." + "10." + "..."
    many = np.arange(70.0)[:, None]
    assert first_places(many, 9, None, [f"{place:02}" for place in range(70)]) == "*****"


@pytest.mark.parametrize("method", ["gumbel", "laplace", "full"])
def test_the_lists_that_are_played_are_the_first_of_those_that_are_counted(method: str) -> None:
    """Every list that is played names the item that came first in it: 40 of the 1,000 whose shares stand beside it, so
    the chance that one item comes first lies within 6.5 standard deviations. The seed is fixed."""
    sheet = small(COUNTS, method=method, k=1)
    drawn = sheet.point()["open"]["draws"]
    assert len(drawn) == DRAWN == 40
    for place, exact in enumerate(sheet.point()["open"]["chance"]):
        share = drawn.count(str(place)) / DRAWN
        assert abs(share - exact) < 6.5 * math.sqrt(max(exact * (1 - exact), 1e-2) / DRAWN)
    two = small(COUNTS, method=method).point()["open"]["draws"]
    lists = [two[start : start + 2] for start in range(0, len(two), 2)]
    assert [one[0] for one in lists] == list(drawn) and len(set(lists)) > 1
    assert all(one[0] != one[1] or one == ".." for one in lists)


def test_a_set_has_no_order_that_could_change() -> None:
    assert small(COUNTS, method="fixed").point()["open"]["draws"] == ""


def test_of_a_long_list_the_items_that_may_or_may_not_come_are_shown() -> None:
    point = TopKSheet(dict.fromkeys(LIMITS, made_up("power")), USER, k=100, kbar=200, epsilon=Fraction(1, 2)).point()
    shown = point["open"]
    first = int(shown["first"])
    counts = np.array(made_up("power").counts, dtype=np.int64)[:200]
    race = Race(counts, 0.5, 100, float(counts[-1]) + float(Fraction(point["above"])))
    exact = race.inclusion()
    assert first > 0
    assert exact[:first].min() > 0.99
    assert len(shown["chance"]) == len(shown["simulated"]) == 24
    assert min(shown["chance"]) < 0.5 < max(shown["chance"])
    assert shown["chance"] == pytest.approx(exact[first : first + 24].tolist(), abs=0.02)


def test_a_private_choice_of_kbar_falls_where_its_law_puts_ninety_in_a_hundred() -> None:
    counts = (9, 8, 8, 7, 5, 4, 3, 1)
    sheet = small(counts, max_bins=None)
    pick = sheet.point()["open"]["pick"]
    offered = [Competition(Fraction(1, 10), kbar) for kbar in range(2, 9)]
    law = chosen_kbar(counts, Fraction(2), offered)
    below = sum(chance for kbar, chance in law.items() if kbar < int(pick["low"]))
    above = sum(chance for kbar, chance in law.items() if kbar > int(pick["high"]))
    assert below < Fraction(1, 20)
    assert above <= Fraction(1, 20)
    assert below + law[int(pick["low"])] >= Fraction(1, 20)


def test_the_threshold_of_the_specification() -> None:
    """next_count = 7, m = 5, epsilon = 0.1, delta = 1e-6: 162.2495, here rounded up to a tenth."""
    table = PublicTop(tuple(f"i{rank}" for rank in range(11)), (50,) * 10 + (7,))
    sheet = TopKSheet({5: table}, USER, k=10, kbar=10, epsilon=TENTH, delta=Fraction(1, 10**6))
    point = sheet.point()
    assert point["open"]["next"] == "7"
    assert 7 + Fraction(point["above"]) == Fraction("162.3")
    for name, level in {"low": 0.05, "high": 0.95}.items():
        away = 162.2495 + math.log(level / (1 - level)) / 0.1
        assert 0 <= 7 + float(Fraction(point[name])) - away < 0.1001


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("per_bin", [1, 3])
def test_prices_and_distances_are_those_that_the_mechanism_pays(relation: Any, per_bin: int) -> None:
    """The same parameters bound as a release would be: the price, and how far above the next count an item must lie."""
    unit = Unit("user", relation=relation, max_bins=5, max_per_bin=per_bin)
    sheet = TopKSheet(dict.fromkeys(LIMITS, made_up("power")), unit, epsilon=Fraction(1, 4))
    point = sheet.point()
    for price in point["prices"]:
        made = TopK(10, 50, epsilon_per_item="1/4", delta="1e-8", delta_prime="5e-7", accounting=price["name"]).bind(
            Question.of(Bins.keys(column="item")), unit
        )
        paid: Any = made.price.loss
        assert (Fraction(price["epsilon"]), Fraction(price["delta"])) == (paid.epsilon, paid.delta)
        error: Any = made.error
        assert math.ceil(Fraction(point["high"])) == error.listed(Fraction(1, 20)).value
        assert Fraction(point["alpha"]) == error.rank(10, Fraction(1, 20)).value
    safe, paper, zcdp = (Fraction(price["epsilon"]) for price in point["prices"])
    assert zcdp < safe
    assert paper <= safe


def test_without_a_limit_m_is_kbar_and_with_one_it_stops_growing() -> None:
    sheet = TopKSheet(dict.fromkeys(LIMITS, made_up("flat")), USER)
    limited, unlimited = sheet.point()["distance"]
    at = {kbar: i for i, kbar in enumerate(sheet.kbars)}
    assert limited["above"][at[50]] == limited["above"][at[100]]
    grown = Fraction(unlimited["above"][at[100]]) - Fraction(unlimited["above"][at[50]])
    assert float(grown) == pytest.approx(math.log(2) / 0.05, abs=0.11)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_made_up_family_shows_what_the_paper_says_of_it(family: str) -> None:
    """A flat histogram ends at once with a chance of 1 - delta at least; a drop is where kbar should lie."""
    point = TopKSheet(dict.fromkeys(LIMITS, made_up(family)), USER).point()["open"]
    if family == "flat":
        assert point["lengths"][0] >= 1 - 1e-8
        assert float(point["charge"]) == 1
    if family == "step":
        assert point["chance"][11] < 0.5
        assert float(point["items"]) > 9
    assert float(point["charge"]) <= min(10, float(point["items"]) + 1) + 0.01


def test_each_fan_holds_the_point_that_a_sheet_made_there_would_hold() -> None:
    tables = {limit: ranking(*(count * (limit or 4) for count in (90, 70, 65, 40, 22, 9, 3))) for limit in (1, 2, None)}
    sheet = TopKSheet(tables, Unit("user"), k=3, kbar=4, epsilon=Fraction(1, 7), max_bins=2)
    said = sheet.to_json()
    assert [axis["name"] for axis in said["axes"]] == ["k", "kbar", "epsilon", "delta", "max_bins", "method"]
    for axis in said["axes"]:
        points = said["fans"][axis["name"]]
        assert [point["at"][axis["name"]] for point in points] == axis["grid"]
        assert len(axis["values"]) == len(axis["grid"])
        assert said["now"]["at"][axis["name"]] in axis["grid"]
        for point in points[:: max(1, len(points) // 4)]:
            alone = sheet.moved(point["at"])
            assert {**point, "open": None, "distance": None} == {**alone.point(), "open": None, "distance": None}
            assert point["open"]["chance"] == alone.point()["open"]["chance"]
            assert int(point["at"]["kbar"]) >= int(point["at"]["k"])
        for point in points:
            curves = [line["above"] for line in point["distance"]]
            curves += [line[name] for line in point["open"]["trade"] for name in ("threshold", "items")]
            assert {len(curve) for curve in curves} == {len(said["kbar"])}
    json.dumps(said, allow_nan=False)


def test_the_sheet_of_a_thousand_items_stays_small() -> None:
    said = json.dumps(TopKSheet(dict.fromkeys(LIMITS, made_up("power")), USER).to_json(), ensure_ascii=False)
    assert len(said.encode()) < 1_000_000


def test_expected_items_of_the_curve_are_those_of_the_race_at_that_kbar() -> None:
    sheet = TopKSheet(dict.fromkeys(LIMITS, made_up("power")), USER, k=20)
    for line, limit in zip(sheet.point()["open"]["trade"], (5, None), strict=True):
        for kbar in (20, 70, 200):
            place = sheet.kbars.index(kbar)
            counts = np.array(made_up("power").counts, dtype=np.int64)
            bottom = float(Fraction(line["threshold"][place]))
            m = kbar if limit is None else 5
            assert bottom == pytest.approx(counts[kbar] + 1 + math.log(m * 1e8) / 0.05, abs=0.11)
            exact = Race(counts[:kbar], 0.05, 20, bottom).expected_items()
            assert float(line["items"][place]) == pytest.approx(exact, abs=0.006)


def test_a_private_sheet_holds_no_count_and_nothing_made_from_one() -> None:
    said = TopKSheet({}, USER, max_bins=5).to_json()
    assert said["tables"] == {}
    assert said["now"]["open"] is None
    assert [axis["name"] for axis in said["axes"]] == ["k", "kbar", "epsilon", "delta", "max_bins"]
    assert all(point["open"] is None for points in said["fans"].values() for point in points)
    assert said["now"]["prices"] == [
        {"name": name, "label": label["label"], "epsilon": f"{float(price.epsilon):.6f}", "delta": "0.00000051"}
        for name, label, price in (
            (name, label, total(Fraction(1, 20), Fraction(1, 10**8), 10, 1, Fraction(5, 10**7), name))  # type: ignore[arg-type]
            for name, label in zip(("safe", "paper", "zcdp"), said["now"]["prices"], strict=True)
        )
    ]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"k": "0"}, "0"),
        ({"k": "201"}, "201"),
        ({"kbar": "20000"}, "20000"),
        ({"epsilon": "0"}, "0"),
        ({"epsilon": "1001"}, "1001"),
        ({"delta": "0"}, "0"),
        ({"delta": "1"}, "1"),
        ({"max_bins": "3"}, "3"),
        ({"max_bins": "many"}, "many"),
        ({"method": "sketch"}, '"sketch"'),
        ({"rows": "9"}, "delta, epsilon, k, kbar, max_bins, method, rows"),
    ],
)
def test_a_place_outside_the_axes_is_refused(change: dict[str, str], value: str) -> None:
    place = {"k": "2", "kbar": "3", "epsilon": "0.5", "delta": "0.01", "max_bins": "1", "method": "gumbel"} | change
    with pytest.raises(ParameterError) as caught:
        small(COUNTS).moved(place)
    assert caught.value.value == value


def test_without_counts_k_and_kbar_reach_as_far_as_an_engine_reads() -> None:
    sheet = TopKSheet({}, USER, k=5000, kbar=900_000, max_bins=5)
    assert sheet.point()["at"]["kbar"] == "900000"
    with pytest.raises(ParameterError):
        TopKSheet({}, USER, k=1, kbar=1_000_001, max_bins=5)


def test_the_formula_of_the_threshold_names_what_one_unit_may_add() -> None:
    said = [
        TopKSheet({}, Unit("user", relation=relation, max_bins=5, max_per_bin=per_bin), max_bins=5).point()["gap"]  # type: ignore[arg-type]
        for relation, per_bin in (("add-remove", 1), ("replace-one", 1), ("add-remove", 3))
    ]
    assert said == ["1 + ln(5/δ)/ε", "2 + ln(10/δ)/ε", "3 + 3 ln(5/δ)/ε"]


def test_a_kbar_below_k_moves_to_k_and_is_refused_where_it_is_typed_in_python() -> None:
    place = {"k": "3", "kbar": "2", "epsilon": "0.5", "delta": "0.01", "max_bins": "1", "method": "gumbel"}
    assert small(COUNTS).moved(place).kbar == 3
    with pytest.raises(ParameterError):
        small(COUNTS, k=4)


def test_laplace_noise_is_refused_where_nothing_is_proved() -> None:
    assert "no more bins than k̄ = 3" in small(COUNTS, method="laplace", max_bins=None).point()["method"]["refused"]
    swapped = TopKSheet(
        {1: ranking(*COUNTS)}, Unit("user", relation="replace-one"), k=2, kbar=3, max_bins=1, method="fixed"
    )
    point = swapped.point()
    assert point["method"]["price"] is None
    assert set(point["open"]["chance"]) == {0.0}


def test_a_public_table_becomes_a_ranking_without_its_empty_bins() -> None:
    table = PublicTable(Bins.integers(0, 4, column="visits"), np.array([3, 0, 9, 3, 1]), "people")
    assert (PublicTop.of(table).labels, PublicTop.of(table).counts) == (("2", "0", "3", "4"), (9, 3, 3, 1))
    for labels, counts in (((), (1,)), (("a", "a"), (2, 1)), (("a", "b"), (1, 2)), (("a",), (0,))):
        with pytest.raises(ParameterError):
            PublicTop(labels, counts)
