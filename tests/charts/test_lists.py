"""Lists and sets as pictures: filled for what came, an outline for ⊥, dashes for what was not used, no true count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts import tables
from dpviz.charts.picture import picture
from dpviz.charts.theme import PALETTES
from dpviz.errors import Forbidden, ParameterError
from dpviz.model.release import Release
from tests.charts.listed import AIRCRAFT, DESTINATION, listed, of_set, valued
from tests.charts.made import HOSTILE, layers, marks, spec, titles

ITEMS = ["ATL", "STL", "MIA", "DEN", "ORD", "BOS", "BNA"]
LIGHT = PALETTES["light"]


def cells(chart: Any) -> dict[str, int]:
    """How many cells of each kind a chart has."""
    found: dict[str, int] = {}
    for layer in marks(chart, "rect"):
        for row in layer["rows"]:
            found[row["kind"]] = found.get(row["kind"], 0) + 1
    return found


@pytest.mark.parametrize(
    ("release", "kinds"),
    [
        (listed(ITEMS), {"item": 7, "bottom": 1, "unused": 2}),
        (listed([]), {"bottom": 1, "unused": 9}),
        (listed([f"D{place}" for place in range(10)]), {"item": 10}),
        (listed([f"D{place}" for place in range(9)]), {"item": 9, "bottom": 1}),
        (of_set(["ATL", "BNA"]), {"item": 2, "unused": 8}),
        (of_set([]), {"unused": 10}),
        (valued(ITEMS, [640, 612, 531, 530, 517, 493, 1]), {"item": 7, "bottom": 1, "unused": 2}),
        (valued([], []), {"bottom": 1, "unused": 9}),
    ],
)
@pytest.mark.parametrize("width", [240, 700])
def test_each_place_is_one_cell_inside_the_chart(release: Release, kinds: dict[str, int], width: int) -> None:
    chart = release.chart(width=width)
    assert cells(chart) == kinds
    tall = spec(chart)["vconcat"][0]["height"]
    taken = set()
    for layer in marks(chart, "rect"):
        for row in layer["rows"]:
            assert 0 <= row["x"] < row["x2"] <= width
            assert 0 <= row["y"] < row["y2"] <= tall
            taken.add((row["x"], row["y"]))
    assert len(taken) == 10


def test_what_came_is_filled_the_end_outlined_and_the_rest_dashed() -> None:
    looks = {layer["rows"][0]["kind"]: layer["mark"] for layer in marks(listed(ITEMS).chart(), "rect")}
    assert looks["item"]["fill"] == LIGHT.ink
    assert looks["bottom"]["fillOpacity"] == 0 and looks["bottom"]["stroke"] == LIGHT.ink
    assert looks["unused"]["fillOpacity"] == 0 and looks["unused"]["strokeDash"]
    drawn = {layer["rows"][0]["kind"]: layer["mark"] for layer in marks(listed(ITEMS, teaching=7).chart(), "rect")}
    assert drawn["item"]["fill"] == LIGHT.public.strong


def test_a_list_has_ranks_and_a_set_has_none() -> None:
    def ranks(release: Release) -> list[str]:
        fields = [layer for layer in layers(spec(release.chart())) if "text" in layer["encoding"]]
        return [
            row["rank"] for layer in fields if layer["encoding"]["text"].get("field") == "rank" for row in layer["rows"]
        ]

    assert ranks(listed(ITEMS)) == [str(place + 1) for place in range(7)]
    assert ranks(of_set(["ATL", "BNA"])) == []


def test_title_guarantee_and_the_meaning_of_the_end_are_said() -> None:
    said = titles(listed(ITEMS).chart())
    assert "Destination, top 10 by aircraft, released with ε = 1, δ = 0.000001" in said
    assert "differential privacy for adding or removing one aircraft" in said
    assert "The list ended after 7 of 10, because no further item stood out enough." in said
    assert spec(listed(ITEMS).chart())["description"].startswith("Destination, top 10 by aircraft")
    assert "Not private · teaching, seed 7" in titles(listed(ITEMS, teaching=7).chart())


def test_values_are_drawn_where_their_intervals_are() -> None:
    release = valued(ITEMS, [640, 612, 531, 530, 517, 493, 1])
    chart = release.chart(width=700)
    (dots,), (arrows,) = (marks(chart, "point", shape=shape) for shape in ("circle", "triangle-right"))
    assert [row["y"] for row in arrows["rows"]] == [row["y"] for row in dots["rows"]]  # upper ends are open
    bars = marks(chart, "rule", strokeWidth=3.4)
    assert len(dots["rows"]) == 7 and len(bars) == 1
    across = [row["x"] for row in dots["rows"]]
    assert across == sorted(across, reverse=True)
    for dot, bar in zip(dots["rows"], bars[0]["rows"], strict=True):
        assert bar["x"] < dot["x"] < bar["x2"]
    scale = (across[0] - across[1]) / (640 - 612)
    one, _ = release.bars()
    assert bars[0]["rows"][0]["x2"] - across[0] == pytest.approx(scale * float(one.value))
    assert "lie too high on average" in titles(chart)
    assert any(
        layer["mark"]["type"] == "rule" and layer["mark"].get("strokeWidth") == 1 for layer in layers(spec(chart))
    )


def test_a_hostile_item_stays_text() -> None:
    table = tables.of_release(listed([HOSTILE]))
    assert "<img" not in table and "&lt;img" in table
    assert "⊥ (no more)" in table
    assert "<th scope='col'>rank</th>" in table
    assert "rank" not in tables.of_release(of_set(["ATL"]))
    with_values = valued(["ATL"], [640])
    intervals = with_values.intervals(of="counted")
    assert intervals is not None
    (low,), (high,) = intervals.low, intervals.high
    assert f"<td>640</td><td>at least {low}</td><td>{low} to {high}</td>" in tables.of_release(with_values)


def test_a_long_list_is_cut_in_a_cell_and_whole_in_the_frame() -> None:
    release = listed([f"D{place}" for place in range(9)])
    short = tables.table(release, most=4)
    assert "5 more rows, in to_frame()" in short and "D3" in short and "D4" not in short


def test_the_page_gets_items_places_and_the_sentence() -> None:
    sent = picture(listed(ITEMS))
    assert sent["kind"] == "ranked"
    assert sent["labels"] == ITEMS
    assert (sent["values"], sent["bars"]) == ([], {})
    assert sent["list"] == {
        "places": "10",
        "ordered": True,
        "ended": True,
        "sentence": "No more: ⊥. The list ended after 7 of 10, because no further item stood out enough.",
        "sure": {beta: list(listed(ITEMS).sureness(beta)) for beta in ("0.1", "0.05", "0.01")},
    }
    assert picture(of_set(["ATL"]))["list"]["ordered"] is False
    counted = picture(valued(["ATL"], [640]))
    assert counted["values"] == ["640"] and counted["bars"]["0.05"]["all"] is not None
    assert json.loads(json.dumps(counted)) == counted


def test_no_true_count_reaches_picture_chart_or_table(tmp_path: Path) -> None:
    count, second = 7919, 6841
    data = pd.DataFrame({"destination": ["ATL"] * count + ["STL"] * second, "aircraft": range(count + second)})
    session = dv.Session(data, AIRCRAFT, dv.Budget("2", "1e-5"), tmp_path / "f.ledger")
    for mechanism in (dv.TopK(k=3, kbar=5, epsilon=1), dv.TopKSet(k=3, epsilon="1/2")):
        release = session.release(DESTINATION, mechanism)
        assert release.items == ["ATL", "STL"]
        texts = [json.dumps(spec(release.chart())), json.dumps(picture(release)), tables.of_release(release)]
        texts += [repr(release), str(release.to_csv()), release.to_bytes().decode()]
        for number in (count, second):
            assert not any(str(number) in said or f"{number:,}" in said for said in texts)


@pytest.mark.parametrize("given", [pd.Series([1, 2]), "ATL", None, dv.Dense(1)])
def test_only_a_release_of_a_list_is_drawn_as_one(given: object) -> None:
    with pytest.raises(Forbidden, match="a chart is drawn from a Release of a list or a set"):
        dv.charts.ranked(given)  # type: ignore[arg-type]


def test_a_plan_of_a_list_shows_what_it_takes_to_be_listed(tmp_path: Path) -> None:
    data = pd.DataFrame({"destination": ["ATL"] * 9, "aircraft": range(9)})
    session = dv.Session(data, AIRCRAFT, dv.Budget("2", "1e-5"), tmp_path / "f.ledger")
    plan = session.plan(DESTINATION, dv.TopK(k=10, kbar=50, epsilon=1))
    listed_at, rank = plan.listed(), plan.rank()
    assert listed_at is not None and rank is not None and plan.one_bin() is None
    chart = plan.chart()
    said = titles(chart)
    assert f"To be listed: +{listed_at.value} above the 51st count." in said
    assert f"Listed at worst: −{rank.value} below the 10th count." in said
    assert "any one bin" not in json.dumps(spec(chart))
    assert f"to be listed    +{listed_at.value} aircraft above the 51st count, 95 in 100 (exact)" in repr(plan)
    sheet = plan.sheet.to_json()
    assert sheet["places"] == "10"
    assert sheet["now"]["rows"] == "51"
    assert sheet["now"]["errors"]["0.05"]["listed"]["value"] == str(listed_at.value)
    fan = [int(point["errors"]["0.05"]["listed"]["value"]) for point in sheet["fans"]["epsilon"]]
    assert fan == sorted(fan, reverse=True) and len(set(fan)) > 10
    with pytest.raises(ParameterError, match="no error per bin"):
        dv.charts.noise_law(plan.sheet)


def test_a_plan_with_a_private_kbar_names_no_place_that_nobody_knows(tmp_path: Path) -> None:
    data = pd.DataFrame({"destination": ["ATL"] * 9, "aircraft": range(9)})
    session = dv.Session(data, AIRCRAFT, dv.Budget("2", "1e-5"), tmp_path / "f.ledger")
    said = titles(session.plan(DESTINATION, dv.TopK(k=4, kbar="private", largest=60, epsilon=1)).chart())
    assert "above the next count" in said and "61st" not in said
    assert "below the 3rd count" in said


def test_a_plan_of_values_shows_both_kinds_of_error(tmp_path: Path) -> None:
    data = pd.DataFrame({"destination": ["ATL"] * 9, "aircraft": range(9)})
    session = dv.Session(data, AIRCRAFT, dv.Budget("2", "1e-5"), tmp_path / "f.ledger")
    plan = session.plan(DESTINATION, dv.TopKLaplace(k=10, kbar=50, epsilon=1))
    said = spec(plan.chart())["description"]
    for name in (
        "above the 51st count comes before ⊥",
        "none listed is more than",
        "all values within",
        "any one item within",
    ):
        assert name in said
    assert plan.one_bin() is not None
    whole = session.plan(DESTINATION, dv.TopKSet(k=10, epsilon=1))
    assert "Destination, up to 10 by aircraft" in titles(whole.chart())
