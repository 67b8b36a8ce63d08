"""Answers that show a few bins: drawn, tabled and framed with these bins, and with no bar that nobody proved."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts import tables
from dpviz.charts.picture import picture
from dpviz.model.release import Release

WORDS = pd.DataFrame(
    {
        "word": ["<b>often</b>"] * 400 + ["seldom"] * 200 + ["once"],
        "minute": [7] * 400 + [499_999] * 200 + [3],
    }
)
KEYS = dv.Domain.keys(column="word")
MINUTES = dv.Domain.integers(0, 525_599, column="minute")


def drawn(domain: dv.Domain, epsilon: str = "1") -> Release:
    return dv.teaching(WORDS, seed=5).draw(domain, dv.Stability(epsilon, "1e-6"))


def test_over_unknown_keys_there_is_a_bar_for_one_bin_and_none_for_all() -> None:
    draw = drawn(KEYS)
    one, every = draw.bars()
    assert one.value > 0
    assert every is None
    assert list(draw.to_frame().columns) == ["bin", "value", "low", "high"]
    assert draw.to_frame().bin.tolist() == ["<b>often</b>", "seldom"]
    assert (draw.to_frame().high - draw.to_frame().value == one.value).all()
    sent = picture(draw)
    assert {bar["all"] for bar in sent["bars"].values()} == {None}
    assert (sent["sparse"], sent["scale"], sent["size"]) == (True, "keys", "unknown keys")
    assert sent["labels"] == ["<b>often</b>", "seldom"]


def test_over_declared_bins_the_bar_of_all_is_about_the_whole_domain() -> None:
    draw = drawn(MINUTES)
    one, every = draw.bars()
    assert every is not None and every.value > one.value
    assert list(draw.to_frame().columns) == ["bin", "value", "low", "high", "low_all", "high_all"]
    assert draw.to_frame().bin.tolist() == ["7", "499999"]
    shown = tables.of_release(draw)
    assert "among all 525,600" in shown
    assert "A bin that is not shown reads 0." in shown


def test_a_chart_of_a_sparse_answer_names_the_bins_that_are_shown() -> None:
    spec = json.dumps(drawn(MINUTES).chart().to_dict())
    assert "499,999" in spec
    assert "525599" not in spec
    assert "holds for all 525,600 bins at once" in spec
    keys = json.dumps(drawn(KEYS).chart().to_dict())
    assert "bins at once" not in keys
    assert "holds for any one bin" in keys


def test_a_table_over_unknown_keys_has_no_column_for_all_and_keeps_labels_text() -> None:
    shown = tables.of_release(drawn(KEYS))
    assert "among all" not in shown
    assert "&lt;b&gt;often&lt;/b&gt;" in shown
    assert "<b>often" not in shown


@pytest.mark.parametrize("domain", [KEYS, MINUTES])
def test_an_answer_that_shows_nothing_is_still_an_answer(domain: dv.Domain, tmp_path: Path) -> None:
    draw = drawn(domain, "0.01")
    assert draw.values == []
    assert len(draw.to_frame()) == 0
    assert picture(draw)["values"] == []
    assert "no bin is shown" in json.dumps(draw.chart().to_dict())
    assert "<tbody></tbody>" in tables.of_release(draw)
    assert dv.report([draw], tmp_path / "nothing.html").exists()


def test_a_plan_without_a_bar_for_all_bins_is_drawn_and_said() -> None:
    lesson = dv.teaching(WORDS, seed=5)
    keys, minutes = (lesson.plan(domain, dv.Stability("1", "1e-6")) for domain in (KEYS, MINUTES))
    assert "at once" not in json.dumps(keys.chart().to_dict())
    assert "all 525,600 at once" in json.dumps(minutes.chart().to_dict())
    assert "all" not in keys.sheet.to_json()["now"]["errors"]["0.05"]


def test_an_answer_that_is_looked_up_has_no_rows_and_says_how_to_ask_it() -> None:
    draw = dv.teaching(WORDS, seed=5).draw(MINUTES, dv.Compact("1", cap=700))
    sent = picture(draw)
    assert (sent["kind"], sent["lookup"], sent["bins"], sent["values"]) == ("large", True, "525600", [])
    assert sent["bars"]["0.05"]["one"]["value"] == str(draw.bars()[0].value)
    shown = tables.of_release(draw)
    assert "release[label]" in shown
    assert f"±{draw.bars()[0].value}" in shown
    assert abs(draw[7] - 400) < 100
