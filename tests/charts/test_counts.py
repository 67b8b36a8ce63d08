"""Histograms: what they take, what they embed, what they show, and that they can be drawn."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest
import vl_convert

import dpviz as dv
from dpviz import charts
from dpviz.charts.canvas import LAB_MIME
from dpviz.charts.picture import picture
from dpviz.charts.theme import PALETTES
from dpviz.errors import DpvizError, Forbidden, ParameterError
from dpviz.mechanisms import Dense
from dpviz.model.answers import Answer
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.public import PublicTable
from dpviz.noise.bits import TeachingBits
from dpviz.session import runner
from tests.charts.made import (
    FEW_HIGH,
    HOSTILE,
    PERSON_YEAR,
    VISITS,
    everything,
    intervals,
    layers,
    marks,
    panels,
    released,
    spec,
    texts,
    titles,
)

SMALL = dv.Domain.integers(0, 3, column="visits")
LEGIBLE = released(SMALL, [109, 73, 20, 0])
CUT = released(VISITS, FEW_HIGH)
TEACHING = released(SMALL, [109, 73, 20, 0], teaching=7)
PUBLIC = PublicTable(SMALL, np.array([12, 44, 9, 0]), "person-years")
MANY = released(dv.Domain.integers(0, 1999, column="minute"), [step % 700 for step in range(2000)], Dense("1/30"))
LYING = released(dv.Domain.categories(["excellent", "good", "fair", "poor"], column="health"), [115, 50, 19, 0])
ALL = [LEGIBLE, CUT, TEACHING, PUBLIC, MANY, LYING]


@cache
def kept(at: int, options: tuple[tuple[str, Any], ...]) -> Any:
    return charts.histogram(ALL[at], **dict(options))


def histogram(counts: Any, **options: Any) -> Any:
    """Charts of the releases above are made once: no test changes one."""
    at = next((at for at, one in enumerate(ALL) if one is counts), None)
    return charts.histogram(counts, **options) if at is None else kept(at, tuple(options.items()))


# ---------------------------------------------------------------- the door


class Private:
    """Whatever this prints must not be seen."""

    def __repr__(self) -> str:
        return "7777777 patients"


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame({"visits": [7777777]}),
        pd.Series([7777777]),
        np.array([7777777]),
        {"visits": 7777777},
        [7777777],
        "7777777",
        Private(),
        None,
        SMALL,
        LEGIBLE.to_frame(),
        LEGIBLE.answer,
    ],
)
def test_a_chart_takes_releases_and_public_tables_only(given: object) -> None:
    with pytest.raises(Forbidden) as refusal:
        histogram(given)  # type: ignore[arg-type]
    assert "7777777" not in str(refusal.value)
    assert refusal.value.next_step


def test_a_session_is_no_input_either(tmp_path: Any) -> None:
    data = pd.DataFrame({"visits": [1, 2]})
    session = dv.Session(data, PERSON_YEAR, dv.Budget(1), tmp_path / "a.ledger", dataset="visits")
    with pytest.raises(Forbidden):
        histogram(session)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        ("beta", 0),
        ("beta", 1),
        ("beta", "often"),
        ("beta", float("nan")),
        ("theme", "pink"),
        ("theme", None),
        ("width", 10),
        ("width", 99_999),
        ("width", 300.5),
        ("bars", "neither"),
    ],
)
def test_a_wrong_option_is_refused(option: str, wrong: object) -> None:
    with pytest.raises(ParameterError) as refusal:
        histogram(LEGIBLE, **{option: wrong})  # type: ignore[arg-type]
    assert refusal.value.rule


# ---------------------------------------------------------------- what is embedded

COLUMNS = {"at", "to", "bin", "bins", "value", "low", "high", "low_all", "high_all", "low_cap", "high_cap", "shown"}
COLUMNS |= {"edge", "level", "count", "text", "foot", "top", "least", "greatest"}


@pytest.mark.parametrize("counts", ALL)
def test_a_spec_embeds_known_columns_only(counts: Any) -> None:
    chart = histogram(counts)
    seen = {name for layer in layers(spec(chart)) for row in layer["rows"] for name in row}
    assert {"at", "value"} <= seen or {"at", "least"} <= seen
    assert seen <= COLUMNS


def test_no_true_count_and_no_label_of_the_data_reaches_a_spec(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SystemBits", lambda: TeachingBits(11))  # noise that the test can repeat
    canary, odd = 7919, "canary-7f3a"
    data = pd.DataFrame({"visits": [1] * canary + [2] * 5, "name": [odd] * (canary + 5)})
    session = dv.Session(data, PERSON_YEAR, dv.Budget(1), tmp_path / "a.ledger", dataset="visits")
    release = session.release(SMALL, dv.Dense("1/100"))
    assert canary not in release.values
    for chart in (release.chart(), release.chart(theme="dark", bars="one")):
        content = json.dumps(chart._repr_mimebundle_()[0])
        assert str(release.values[1]) in content
        assert str(canary) not in content
        assert f"{canary:,}" not in content
        assert odd not in content


def test_the_numbers_in_a_spec_are_those_of_the_frame() -> None:
    for release in (LEGIBLE, CUT):
        frame = release.to_frame()
        drawn = pd.DataFrame(intervals(histogram(release)))
        for name in ("bin", "value", "low", "high", "low_all", "high_all"):
            assert drawn[name].tolist() == frame[name].tolist()


# ---------------------------------------------------------------- both kinds of error bar


def test_any_one_bin_is_thick_and_all_bins_are_thin_with_caps() -> None:
    chart = histogram(LEGIBLE)
    drawn = {
        layer["encoding"]["y2"]["field"]: layer["mark"]["strokeWidth"]
        for layer in marks(chart, "rule")
        if "field" in layer["encoding"].get("y2", {})
    }
    assert drawn == {"high": 3.4, "high_all": 1}
    caps = [layer["encoding"]["y"]["field"] for layer in marks(chart, "tick", thickness=1)]
    assert caps == ["low_all", "high_all"]


def test_the_key_says_both_in_words_with_their_numbers() -> None:
    said = texts(histogram(LEGIBLE))
    assert said[:4] == [
        "Thick",
        "±30 (exact), holds for any one bin, 95 in 100",
        "Thin with caps",
        "±44 (exact), holds for all 4 bins at once, 95 in 100",
    ]


def test_another_beta_draws_other_bars_and_says_so() -> None:
    wide, narrow = (intervals(histogram(LEGIBLE, beta=beta))[0] for beta in ("0.01", "0.1"))
    assert wide["high"] - wide["low"] > narrow["high"] - narrow["low"]
    assert "99 in 100" in texts(histogram(LEGIBLE, beta="0.01"))[1]


@pytest.mark.parametrize(("bars", "kept", "dropped"), [("one", "Thick", "Thin"), ("all", "Thin with caps", "Thick")])
def test_one_kind_can_be_drawn_alone(bars: Any, kept: str, dropped: str) -> None:
    chart = histogram(LEGIBLE, bars=bars)
    assert texts(chart)[0] == kept
    assert dropped not in texts(chart)
    ends = {
        layer["encoding"]["y2"]["field"] for layer in marks(chart, "rule") if "field" in layer["encoding"].get("y2", {})
    }
    assert ends == ({"high"} if bars == "one" else {"high_all"})


@dataclass(frozen=True)
class Stated(ErrorModel):
    """An error that is known in a way of the test's choosing."""

    how: Any

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        return ErrorValue(Fraction(30), self.how, "10,000 runs")

    def all_bins(self, beta: Fraction) -> ErrorValue:
        return ErrorValue(Fraction(67), self.how, "10,000 runs")


@pytest.mark.parametrize(
    ("how", "dashed", "said"),
    [
        ("exact", False, "±30 (exact)"),
        ("bound", True, "≤ 30 (proved bound)"),
        ("simulated", True, "±30 (simulated, 10,000 runs)"),
    ],
)
def test_how_an_error_is_known_is_drawn_and_said(how: str, dashed: bool, said: str) -> None:
    release = released(SMALL, [109, 73, 20, 0])
    release.__dict__["reading"] = replace(release.reading, error=Stated(how))
    chart = histogram(release)
    thick = [layer for layer in marks(chart, "rule") if layer["encoding"].get("y2", {}).get("field") == "high"]
    assert [bool(layer["mark"]["strokeDash"]) for layer in thick] == [dashed]
    assert texts(chart)[1].startswith(said)


# ---------------------------------------------------------------- cut intervals, cut panels


def test_an_interval_is_cut_at_the_clamp_without_a_cap_there() -> None:
    found = {row["bin"]: row for row in intervals(histogram(LEGIBLE))}
    assert (found["3"]["low"], found["3"]["low_all"], found["3"]["low_cap"]) == (0, 0, False)
    assert (found["0"]["low_all"], found["0"]["low_cap"]) == (65, True)
    assert all(row["high_cap"] for row in found.values())


def test_without_a_clamp_nothing_is_cut_and_the_axis_goes_below_0() -> None:
    chart = histogram(released(SMALL, [60, -12, 3, 0], Dense("1/10", clamp=False)))
    assert all(row["low_cap"] and row["high_cap"] for row in intervals(chart))
    low, high = panels(chart)[0]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low <= -12 - 44
    assert high >= 60 + 44


def test_error_bars_too_short_to_read_get_a_panel_of_their_own() -> None:
    full, cut = panels(histogram(CUT))
    assert full["layer"][0]["encoding"]["y"]["scale"]["domain"][1] > max(FEW_HIGH)
    assert cut["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 150]
    assert "150" in " ".join(cut["title"]["text"])
    one = CUT.bars()[0].value
    assert float(one) / 150 * cut["height"] >= 3


def test_a_value_above_the_cut_is_a_triangle_and_no_cap_is_drawn_at_the_cut() -> None:
    chart = histogram(CUT)
    above = [row["at"] for row in marks(chart, "point", shape="triangle-up")[0]["rows"]]
    assert above == [index for index, value in enumerate(FEW_HIGH) if value > 150]
    for row in intervals(chart):
        assert row["high_cap"] == (row["high_all"] <= 150)
        assert row["shown"] == (row["value"] <= 150)


def test_error_bars_that_can_be_read_stay_in_one_panel() -> None:
    assert len(panels(histogram(LEGIBLE))) == 1
    assert len(panels(histogram(CUT))) == 2


def test_the_cut_depends_on_the_released_values_and_the_error_alone() -> None:
    again = released(VISITS, FEW_HIGH, number=99)
    assert [part["layer"][0]["encoding"]["y"]["scale"] for part in panels(histogram(again))] == [
        part["layer"][0]["encoding"]["y"]["scale"] for part in panels(histogram(CUT))
    ]


@pytest.mark.parametrize("release", [LEGIBLE, CUT, TEACHING, PUBLIC])
def test_bars_start_at_0(release: Any) -> None:
    bars = marks(histogram(release), "bar")
    assert [layer["encoding"]["y2"] for layer in bars] == [{"datum": 0}]
    assert bars[0]["encoding"]["y"]["scale"]["domain"][0] == 0


# ---------------------------------------------------------------- above 500 bins


def test_above_500_bins_there_is_one_mark_per_pixel_column_in_three_strengths() -> None:
    chart = histogram(MANY, width=700)
    areas = marks(chart, "area")
    assert [(layer["encoding"]["y"]["field"], layer["encoding"]["y2"]["field"]) for layer in areas] == [
        ("low_all", "high_all"),
        ("low", "high"),
        ("least", "greatest"),
    ]
    ink = PALETTES["light"].release
    assert [layer["mark"]["color"] for layer in areas] == [ink.pale, ink.middle, ink.strong]
    drawn = areas[0]["rows"]
    assert len(drawn) == 701  # the last step ends where the plot does
    assert not marks(chart, "bar")


def test_a_pixel_column_shows_the_least_and_the_greatest_of_its_bins() -> None:
    drawn = marks(histogram(MANY, width=700), "area")[0]["rows"][:-1]
    frame = MANY.to_frame()
    assert drawn[0]["at"] == -0.5
    for row in drawn:
        part = frame.iloc[int(row["at"] + 0.5) : int(row["to"] + 0.5)]
        assert (row["least"], row["greatest"]) == (part["value"].min(), part["value"].max())
        assert (row["low"], row["high"]) == (part["low"].min(), part["high"].max())
        assert (row["low_all"], row["high_all"]) == (part["low_all"].min(), part["high_all"].max())
    assert sum(row["to"] - row["at"] for row in drawn) == 2000


def test_bins_narrower_than_a_pixel_are_bands_as_well_and_the_key_says_so() -> None:
    chart = histogram(released(dv.Domain.integers(0, 399, column="minute"), [300] * 400), width=300)
    assert len(marks(chart, "area")) == 3
    assert [word for word in texts(chart) if word in ("Strong", "Middle", "Pale", "Thick", "Thin with caps")] == [
        "Strong",
        "Middle",
        "Pale",
    ]


def test_500_bins_still_have_their_own_marks() -> None:
    chart = histogram(released(dv.Domain.integers(0, 499, column="minute"), [300] * 500), width=700)
    assert len(marks(chart, "bar")[0]["rows"]) == 500


# ---------------------------------------------------------------- words


def test_the_title_states_the_guarantee_in_words() -> None:
    assert titles(histogram(LEGIBLE)) == (
        "Visits per person-year, released with ε = 0.1 "
        "0.1-differential privacy for adding or removing one person-year. "
        "Whether one person-year is in the data moves the odds of any answer by at most ×1.11."
    )


@pytest.mark.parametrize("counts", ALL)
def test_axes_name_their_units_and_no_title_is_rotated(counts: Any) -> None:
    chart = histogram(counts)
    lower = panels(chart)[-1]["layer"][0]["encoding"]
    upper = panels(chart)[0]["layer"][0]["encoding"]
    counted, binned = ("x", "y") if counts is LYING else ("y", "x")
    assert upper[counted]["axis"]["title"] == "person-years"
    if counts is not LYING:
        assert lower[binned]["axis"]["title"] in ("visits", "minute")
    angles = [value for key, value in everything(spec(chart)) if key == "titleAngle"]
    assert set(angles) <= {0}
    assert counts is LYING or angles


@pytest.mark.parametrize("counts", ALL)
def test_nothing_is_below_11_pixels(counts: Any) -> None:
    sizes = [value for key, value in everything(spec(histogram(counts))) if key.lower().endswith("fontsize")]
    assert sizes
    assert min(sizes) >= 11


def test_the_description_is_the_finding_in_one_sentence() -> None:
    assert spec(histogram(LEGIBLE))["description"] == (
        "Visits per person-year, released with ε = 0.1: 4 bins, the largest value 109 at 0; 95 in 100 times "
        "any one bin is within 30 of the truth, and all 4 at once within 44."
    )


def test_at_most_five_values_are_labelled_and_none_touches_another() -> None:
    chart = histogram(CUT)
    labelled = [row for layer in marks(chart, "text") for row in layer["rows"] if "count" in row]
    assert 1 <= len(labelled) <= 5
    assert {row["text"] for row in labelled} <= {f"{value:,}" for value in FEW_HIGH}
    assert "6,293" in {row["text"] for row in labelled}


def named(chart: Any) -> dict[str, str]:
    """The names on the axis of the bins, by place."""
    found: dict[str, str] = spec(chart)["params"][0]["value"]
    return found


def test_bins_are_named_every_so_many_and_those_outside_the_range_always() -> None:
    assert named(histogram(CUT)) == {**{str(step): str(step) for step in range(0, 40, 5)}, "41": "41+"}
    around = dv.Domain.integers(-7, 7, column="x", underflow=True, missing=True)
    found = named(histogram(released(around, [0] * 17), width=240))
    assert (found["0"], found["16"], found["3"]) == ("<-7".replace("-", "−"), "missing", "−5")
    edges = dv.Domain.intervals([0, "0.5", 2000], column="x", overflow=True)
    assert named(histogram(released(edges, [1, 2, 3]))) == {"-0.5": "0", "0.5": "0.5", "1.5": "2000", "2": ">2000"}


def test_a_million_bins_are_named_and_drawn_by_a_few_hundred() -> None:
    many = released(dv.Domain.integers(0, 999_999, column="x", overflow=True), [3] * 1_000_001)
    assert named(histogram(many))["1000000"] == "1,000,000+"
    assert len(named(histogram(many))) < 30
    assert len(marks(histogram(many), "area")[0]["rows"]) == 701


# ---------------------------------------------------------------- what is not private


def test_a_teaching_draw_is_violet_and_never_called_a_release() -> None:
    for theme, colours in PALETTES.items():
        chart = histogram(TEACHING, theme=theme)  # type: ignore[arg-type]
        content = chart.to_json()
        assert spec(chart)["title"]["text"] == ["Not private · teaching, seed 7"]
        assert spec(chart)["title"]["color"] == colours.public.strong
        assert "release" not in content.lower()
        assert colours.release.strong not in content
        assert spec(chart)["description"].startswith("Not private · teaching, seed 7.")


def hatching(chart: Any) -> list[dict[str, Any]]:
    return [layer for layer in marks(chart, "rule") if "to" == layer["encoding"].get("x2", {}).get("field")]


def test_a_public_table_is_violet_hatched_and_badged() -> None:
    chart = histogram(PUBLIC)
    content = chart.to_json()
    assert "public data · not a release" in titles(chart)
    assert PALETTES["light"].public.strong in content
    assert PALETTES["light"].release.strong not in content
    assert hatching(chart)
    assert "high_all" not in content


def test_a_release_is_not_hatched() -> None:
    assert hatching(histogram(TEACHING))
    assert not hatching(histogram(LEGIBLE))


# ---------------------------------------------------------------- drawing


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("counts", ALL)
def test_it_draws_in_both_themes(counts: Any, theme: Any) -> None:
    drawn = vl_convert.vegalite_to_svg(histogram(counts, theme=theme).to_json())
    ground = PALETTES[theme].ground
    assert ground in drawn
    assert PALETTES[{"light": "dark", "dark": "light"}[theme]].ground not in drawn
    assert "person-years" in drawn
    assert "NaN" not in drawn


def test_a_hostile_label_stays_text() -> None:
    domain = dv.Domain.categories([HOSTILE, "'; alert(1); '", "\\u0027", "${x}"], column=HOSTILE)
    chart = histogram(released(domain, [20, 13, 7, 2]))
    drawn = vl_convert.vegalite_to_svg(chart.to_json())
    assert "&lt;/script" in drawn
    assert "<img" not in drawn
    expressions = [
        value for key, value in everything(spec(chart)) if key in ("calculate", "filter", "labelExpr", "expr")
    ]
    assert expressions
    assert not any("alert" in str(expression) or "img" in str(expression) for expression in expressions)


def test_every_kind_of_domain_draws() -> None:
    edges = dv.Domain.intervals([0, "0.5", 1, 20], column="index", underflow=True, overflow=True, missing=True)
    labels = dv.Domain.categories([f"disease {index}" for index in range(60)], column="icd", other=True)
    for domain in (
        edges,
        labels,
        edges * dv.Domain.categories(["a", "b"], column="arm"),
        dv.Domain.integers(-3, 3, column="x"),
    ):
        drawn = vl_convert.vegalite_to_svg(histogram(released(domain, list(range(domain.size)))).to_json())
        assert domain.short_label(0) in drawn.replace("&lt;", "<") or domain.short_label(0).replace("-", "−") in drawn


@pytest.mark.parametrize("values", [[0, 0, 0, 0], [0, 0, 0, 10**15]])
def test_extreme_answers_draw(values: list[int]) -> None:
    drawn = vl_convert.vegalite_to_svg(histogram(released(SMALL, values, Dense("5"))).to_json())
    assert "NaN" not in drawn


# ---------------------------------------------------------------- in a notebook


def test_a_notebook_gets_what_jupyterlab_draws_by_itself() -> None:
    bundle, metadata = histogram(LEGIBLE)._repr_mimebundle_()
    assert set(bundle) == {LAB_MIME, "image/png", "text/plain"}
    assert bundle[LAB_MIME]["$schema"].endswith("/v5.json")
    assert bundle["text/plain"].startswith("Visits per person-year")
    assert metadata[LAB_MIME]["embed_options"]["actions"]["editor"] is False


def test_a_renderer_that_the_user_chose_draws() -> None:
    with alt.renderers.enable("json"):
        assert "application/json" in histogram(LEGIBLE)._repr_mimebundle_()[0]
    assert LAB_MIME in histogram(LEGIBLE)._repr_mimebundle_()[0]


def test_a_chart_can_be_changed_and_saved_as_any_altair_chart(tmp_path: Any) -> None:
    chart = LEGIBLE.chart().properties(background="#fafafa")
    chart.save(tmp_path / "visits.svg")
    assert "#fafafa" in (tmp_path / "visits.svg").read_text()
    assert LAB_MIME in chart._repr_mimebundle_()[0]


def test_the_widgets_picture_does_not_load_altair() -> None:
    code = "import sys, dpviz.charts.picture; print('altair' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_answer_without_rows_is_refused_by_our_error() -> None:
    class Other(Answer):
        kind = "lookup"
        has_rows = False

    release = released(SMALL, [1, 2, 3, 4])
    object.__setattr__(release, "answer", Other())
    with pytest.raises(DpvizError, match="row"):
        histogram(release)


def test_a_product_of_three_columns_is_named_and_drawn_bin_by_bin() -> None:
    domain = (
        Domain.categories(["a", "b"], column="city")
        * Domain.integers(0, 1, column="visits", overflow=True)
        * Domain.categories(["yes", "no"], column="insured")
    )
    release = released(domain, list(range(12)))
    assert release.plain_title == "Person-years by city, visits and insured"
    assert release["b", "over 1", "no"] == 11
    assert release.to_frame()["bin"].tolist()[:3] == ["a · 0 · yes", "a · 0 · no", "a · 1 · yes"]
    assert "Person-years by city, visits and insured" in json.dumps(release.chart().to_dict())
    assert picture(release)["axis"] == "city, visits and insured"
    assert picture(release)["labels"][-1] == "b · over 1 · no"
