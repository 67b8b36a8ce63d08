"""Counts that a profile closes: both bars are the frame's, the key explains both, and nothing private is embedded."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz import charts
from dpviz.errors import Forbidden, ParameterError
from dpviz.model.closing import Closed
from tests.charts.made import layers, marks, spec, texts

HOURS = dv.Domain.integers(0, 11, column="hour")
WARDS = dv.Domain.categories(["emergency", "surgery", "children"], column="ward")
MINUTES = dv.Domain.integers(0, 249, column="minute")


@cache
def closed(domain: dv.Domain = HOURS, most: int = 2, epsilon: str = "2") -> Any:
    """Counts of 600 users in several bins each, and a profile of them."""
    chance = np.random.default_rng(1)
    labels = np.array([domain.label(place) for place in range(domain.size)])
    labels = labels if domain is WARDS else labels.astype(int)
    users = [f"u{user}" for user in chance.integers(0, 600, 3000)]
    rows = pd.DataFrame({"user": users, domain.columns[0]: labels[chance.integers(0, domain.size, 3000)]})
    lesson = dv.teaching(rows, 5, dv.Unit("user", max_bins=most))
    counts = lesson.draw(domain, dv.Dense(epsilon, clamp=False))
    profile = lesson.draw(dv.Question.contribution_profile(domain), dv.Dense("1", clamp=False))
    return counts.closed_by(profile)


def bins_of(chart: Any) -> list[dict[str, Any]]:
    return next(layer["rows"] for layer in layers(spec(chart)) if "low_all" in (layer["rows"] or [{}])[0])


@pytest.mark.parametrize(("bars", "ending"), [("one", ""), ("all", "_all")])
def test_both_bars_end_where_the_frame_says(bars: Any, ending: str) -> None:
    frame = closed().to_frame("0.1")
    for row, (_, line) in zip(bins_of(closed().chart(beta="0.1", bars=bars)), frame.iterrows(), strict=True):
        assert row["value"] == line["value"]
        assert (row["low"], row["high"]) == (line[f"low{ending}_counted"], line[f"high{ending}_counted"])
        assert row["low_all"] == line[f"low{ending}"]
        assert row["high_all"] == max(line[f"high{ending}"], line[f"high{ending}_counted"])


def test_a_release_draws_the_same_chart_with_its_profile() -> None:
    counts, profile = closed().both_releases
    assert counts.chart(profile=profile, width=400).to_dict() == closed().chart(width=400).to_dict()
    assert counts.chart(width=400).to_dict() != closed().chart(width=400).to_dict()


def test_the_bar_for_what_was_asked_is_wider_and_paler_than_that_for_what_was_counted() -> None:
    rules = [layer for layer in marks(closed().chart(), "rule") if "y2" in layer["encoding"]]
    wide, thin = (layer for layer in rules if layer["encoding"]["y"].get("field", "").startswith("low"))
    assert wide["encoding"]["y"]["field"] == "low_all" and thin["encoding"]["y"]["field"] == "low"
    assert wide["mark"]["strokeWidth"] >= 3 * thin["mark"]["strokeWidth"] and wide["mark"]["opacity"] < 1


def test_the_key_explains_both_bars_and_an_arrow_only_where_an_end_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    said = " ".join(texts(closed().chart()))
    assert "holds what was counted within the limit" in said and "holds what you asked for" in said
    assert "Arrow" not in said and not marks(closed().chart(), "point", shape="triangle-up")
    frame = closed().to_frame().astype({"high": "Int64"})
    frame.loc[3, "high"] = pd.NA
    monkeypatch.setattr(Closed, "to_frame", lambda self, beta: frame)
    opened = closed().chart()
    assert "the profile does not close this end" in " ".join(texts(opened))
    assert marks(opened, "point", shape="triangle-up")
    assert [row["at"] for row in bins_of(opened) if row["high_open"]] == [3]
    assert "at least" in bins_of(opened)[3]["among"] and not bins_of(opened)[3]["high_cap"]


def test_the_title_names_both_prices_and_the_sentences_the_limit_and_the_order() -> None:
    counts, _ = closed().both_releases
    title = spec(closed().chart())["title"]
    said = " ".join(title["subtitle"])
    assert "seed 5" in " ".join(title["text"])
    for remark in closed().remarks:
        assert remark.split(". ")[0][:40] in said
    assert "upper ends are open" not in said, "the profile closes them"
    assert "upper ends are open" in " ".join(spec(counts.chart())["title"]["subtitle"])


def test_a_reader_who_cannot_see_hears_both_numbers() -> None:
    told = spec(closed().chart())["description"]
    best = closed().to_frame().sort_values("value").iloc[-1]
    assert f"{best['value']:,} at {best['bin']}, of {best['low']:,} to {best['high']:,} asked for" in told
    pointer = next(layer for layer in layers(spec(closed().chart())) if "description" in layer["encoding"])
    assert [tip["title"] for tip in pointer["encoding"]["tooltip"]][2:] == ["counted within the limits", "asked for"]


def test_no_value_is_labelled_above_what_was_asked() -> None:
    chart = closed().chart()
    rows = {row["value"]: row for row in bins_of(chart)}
    labelled = [row for layer in marks(chart, "text") for row in layer["rows"] if "count" in row]
    assert labelled
    for label in labelled:
        row = rows[int(label["text"].replace(",", ""))]
        assert label["count"] < row["high_all"]


@pytest.mark.parametrize("domain", [HOURS, WARDS])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [300, 700])
def test_it_draws_standing_and_lying(domain: dv.Domain, theme: Any, width: int) -> None:
    chart = closed(domain, 1).chart(theme=theme, width=width)
    assert chart.to_dict()["description"] and (domain is HOURS or "counted" in " ".join(texts(chart)))


def test_bins_narrower_than_a_pixel_are_bands() -> None:
    said = " ".join(texts(closed(MINUTES).chart(width=240)))
    assert "Pale" in said and "holds what you asked for" in said


def test_a_spec_embeds_known_columns_only() -> None:
    known = {"at", "bin", "value", "low", "high", "low_all", "high_all", "low_cap", "high_cap", "low_open", "high_open"}
    known |= {"shown", "count", "alone", "among", "text", "level", "to", "foot", "top", "edge"}
    assert {name for layer in layers(spec(closed().chart())) for row in layer["rows"] for name in row} <= known


def test_a_wrong_option_is_refused() -> None:
    counts, profile = closed().both_releases
    with pytest.raises(ParameterError, match=r'bars must be "one" or "all" beside a profile'):
        counts.chart(profile=profile, bars="both")
    with pytest.raises(ParameterError):
        closed().chart(beta=0)
    with pytest.raises(ParameterError):
        closed().chart(theme="sepia")
    with pytest.raises(Forbidden):
        charts.of_closed(counts)
    with pytest.raises(ParameterError, match="a profile counts users by their numbers of bins"):
        counts.chart(profile=counts)
