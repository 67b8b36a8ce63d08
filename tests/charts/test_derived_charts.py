"""Points with intervals stand where the numbers say, and combined counts are drawn as a release is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts import of_combined, of_derived
from dpviz.charts.theme import palette
from dpviz.errors import Forbidden, ParameterError
from dpviz.model.derived import DerivedTable
from tests.charts.made import layers, marks, spec

FRAME = pd.DataFrame({"x": [0, 0, 1, 2, 3, 3, 3] * 20, "y": list("abababa") * 20})
X = dv.Domain.integers(0, 3, column="x")
WORD = dv.Domain.keys(column="y")


def drawn(question: Any = X, mechanism: Any = None, seed: int = 1) -> dv.Release:
    return dv.teaching(FRAME, seed=seed).draw(question, mechanism or dv.Dense("0.5"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [240, 700])
def test_each_point_and_its_interval_stand_where_the_numbers_say(theme: Any, width: int) -> None:
    table = drawn().difference({"first": [0], "second": [2]}, {"first": [1], "second": [3]})
    chart = table.chart(theme=theme, width=width)
    (points,) = marks(chart, "point")
    assert points["mark"]["color"] == palette(theme).public.strong
    assert [row["value"] for row in points["rows"]] == [float(row.value) for row in table]
    rules = [row for layer in marks(chart, "rule")[1:] for row in layer["rows"]]
    assert [(row["low"], row["high"]) for row in rules] == [(float(row.low), float(row.high)) for row in table]
    caps = [row["x"] for row in marks(chart, "tick")[0]["rows"]]
    assert caps == [float(end) for row in table for end in row.interval]
    low, high = points["encoding"]["x"]["scale"]["domain"]
    assert low <= min(0, *caps) and max(0, *caps) <= high
    words = [row["number"] for layer in marks(chart, "text") for row in layer["rows"]]
    assert {row.value_text for row in table} <= {*words}


def test_shares_are_in_percent_and_titles_say_what_an_interval_holds_for() -> None:
    shares = drawn().share({"low": [0], "high": [3]})
    whole = spec(shares.chart())
    (points,) = marks(shares.chart(), "point")
    assert points["rows"][0]["value"] == float(100 * shares[0].value)
    assert "percent" in str(whole) and "if this was picked before looking" in str(whole["title"]["subtitle"])
    assert whole["title"]["text"] == ["Not private · teaching, seed 1"]


def test_an_open_end_has_no_cap() -> None:
    row = drawn().sum()
    assert not isinstance(row, DerivedTable)
    opened = DerivedTable((replace(row, high=None), replace(row, low=None, high=None)))
    chart = opened.chart()
    assert len(marks(chart, "tick")[0]["rows"]) == 1
    rules = [one for layer in marks(chart, "rule")[1:] for one in layer["rows"]]
    ends = marks(chart, "point")[0]["encoding"]["x"]["scale"]["domain"]
    assert rules[0]["high"] == ends[1] and [rules[1]["low"], rules[1]["high"]] == ends


def test_of_many_values_the_first_forty_are_drawn_and_the_rest_is_named() -> None:
    release = drawn(dv.Domain.integers(0, 99, column="x"))
    table = release.sum({f"bin {at}": [at] for at in range(100)})
    (points,) = marks(table.chart(), "point")
    assert len(points["rows"]) == 40
    assert "60 more values are in to_frame()." in str(spec(table.chart())["title"]["subtitle"])


def test_combined_counts_have_both_bars() -> None:
    both = dv.combine(drawn(), drawn(seed=2))
    chart = both.chart()
    frame = both.to_frame()
    rows = [row for layer in layers(spec(chart)) for row in layer["rows"] if "value" in row]
    assert {round(float(value), 6) for value in frame["value"]} <= {round(float(row["value"]), 6) for row in rows}
    words = str(spec(chart))
    assert "Thick" in words and "Thin with caps" in words and "averaged with public weights" in words
    with pytest.raises(ParameterError, match="bars must be"):
        both.chart(bars="none")


def test_keys_of_either_answer_are_drawn_and_so_is_none() -> None:
    both = dv.combine(*(drawn(WORD, dv.Stability("4", "1e-3"), seed) for seed in (1, 2)))
    words = str(spec(both.chart()))
    assert all(label in words for label in both.axis.labels) and list(both.axis.labels) == ["a", "b"]
    lesson = dv.teaching(FRAME[:1], seed=1)
    none = dv.combine(*(lesson.draw(WORD, dv.Stability(epsilon, "1e-9")) for epsilon in ("1", "2")))
    assert not len(none.to_frame()) and "no " in str(spec(none.chart()))


@pytest.mark.parametrize("given", [FRAME, [1, 2], DerivedTable(()), None])
def test_nothing_else_is_drawn(given: Any) -> None:
    for draw in (of_derived, of_combined):
        with pytest.raises(Forbidden):
            draw(given)
