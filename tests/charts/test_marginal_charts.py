"""Charts of marginals: every bar, cell and error bar is what the table of the marginal says."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.marginals import _counts, of_marginal
from dpviz.charts.theme import palette
from dpviz.errors import DpvizError, Forbidden, ParameterError
from dpviz.exact import text
from dpviz.model.marginals import Marginal
from dpviz.model.release import Release

SEX = dv.Domain.categories(["f", "m"], column="sex")
YEAR = dv.Domain.integers(1, 3, column="year")
PORT = dv.Domain.categories(["ATL", "LEX", "<b>"], column="port")


def drawn(mechanism: Any = None, seed: int = 1) -> Release:
    random = np.random.default_rng(5)
    rows = {"sex": random.choice(["f", "m"], 900), "year": random.choice([1, 2, 3], 900, p=[0.7, 0.29, 0.01])}
    lesson = dv.teaching(pd.DataFrame({**rows, "port": random.choice(["ATL", "LEX", "<b>"], 900)}), seed=seed)
    release: Release = lesson.draw(SEX * YEAR * PORT, mechanism or dv.Marginals("1"))
    return release


KINDS = {
    "fitted": lambda: drawn().marginal("year"),
    "counted": lambda: drawn(dv.Dense("1/10")).marginal("year"),
    "shares": lambda: drawn(dv.Dense("1")).marginal("year", share_of=[]),
    "both": lambda: dv.combine(drawn(), drawn(seed=2)).marginal("year"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_bars_and_both_error_bars_are_those_of_the_tables(kind: str) -> None:
    """The thick bar is the interval of the marginal itself, the thin one that of all its cells at once."""
    marginal: Marginal = KINDS[kind]()
    scale = 100 if kind == "shares" else 1
    counts = _counts(marginal, palette("light"))
    together = marginal.asked(marginal.columns, 3)
    assert together is not None
    assert [row.among for row in together] == [3] * 3 and together.labels == marginal.labels
    assert [float(value) for value in counts.values] == [float(scale * row.value) for row in marginal]  # type: ignore
    for ends, rows in ((counts.single, marginal), (counts.together, together)):
        assert ends is not None
        low, high = zip(*(row.interval for row in rows), strict=True)
        assert [float(scale * end) for end in low] == ends.low.tolist()
        assert [float(scale * end) for end in high] == ends.high.tolist()
    assert any(a.interval != b.interval for a, b in zip(marginal, together, strict=True)), "they are not one bar"
    picture = marginal.chart().to_dict()
    assert picture["description"].startswith("Not private · teaching, seed 1. ")
    assert ("shares of rows" in picture["description"].lower()) == (kind == "shares")


def cells_of(chart: Any) -> list[dict[str, Any]]:
    datasets = chart.to_dict()["datasets"]
    found: list[dict[str, Any]] = next(rows for rows in datasets.values() if len(rows) == 6 and "hx" in rows[0])
    return found


@pytest.mark.parametrize("share_of", [None, "sex"])
def test_a_map_has_the_cells_of_the_table_and_is_hollow_where_0_is_not_ruled_out(share_of: Any) -> None:
    marginal = drawn().marginal(["sex", "year"], share_of=share_of)
    cells = cells_of(marginal.chart())
    told = [f"{float(row.value):.1%}" if share_of else f"{round(row.value)}" for row in marginal]  # type: ignore
    assert [cell["text"].replace("\u2212", "-") for cell in cells] == told
    holds = [row.low <= 0 <= row.high for row in marginal]  # type: ignore[operator]
    assert [cell["open"] for cell in cells] == holds and True in holds and False in holds
    words = marginal.chart().to_dict()["title"]["subtitle"]
    assert ("Totals stand at the margins" in " ".join(words)) == (share_of is None)


def test_the_map_of_a_marginal_is_that_of_the_release() -> None:
    release = drawn()
    own = cells_of(dv.charts.heat_map(release, columns=["sex", "year"]))
    assert own == cells_of(release.marginal(["sex", "year"]).chart())


def test_whole_numbers_are_drawn_without_error_bars_and_say_that_they_are_biased() -> None:
    release = drawn()
    for columns in (["year"], ["sex", "year"]):
        spec = release.marginal(columns, reader="nonnegative whole").chart().to_dict()
        assert "Biased: cells that would be below 0" in " ".join(spec["title"]["subtitle"])
        assert "hollow" not in str(spec) and "95 in 100" not in str(spec)
    cells = cells_of(release.marginal(["sex", "year"], reader="nonnegative whole").chart())
    assert not any(cell["open"] for cell in cells)


def test_more_columns_have_a_table_and_others_things_are_refused() -> None:
    release = drawn(dv.Dense("1"))
    marginal = release.marginal(["sex", "year", "port"])
    with pytest.raises(ParameterError, match="one column or two"):
        marginal.chart()
    assert len(marginal.to_frame()) == 18 and "<b>" not in marginal._repr_html_()
    with pytest.raises(Forbidden):
        of_marginal(release)  # type: ignore[arg-type]
    for wrong in ({"bars": "none"}, {"theme": "blue"}, {"width": 7}):
        with pytest.raises(DpvizError):
            release.marginal("sex").chart(**wrong)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [240, 700])
@pytest.mark.parametrize("columns", ["port", "year", ["year", "port"]])
def test_charts_are_drawn_in_any_theme_and_width(columns: Any, width: int, theme: Any) -> None:
    spec = drawn().marginal(columns).chart(theme=theme, width=width).to_dict()
    assert spec["title"]["text"] == ["Not private · teaching, seed 1"]


@pytest.mark.parametrize("columns", [["year"], ["sex", "year"]])
def test_a_copy_holds_its_cells_and_draws_what_they_say(columns: list[str]) -> None:
    """Without its answer: there is one error bar, and there are no totals."""
    marginal = drawn().marginal(columns, beta="0.1")
    for copied in (copy.deepcopy(marginal), pickle.loads(pickle.dumps(marginal))):
        assert copied == marginal and text(copied[0].beta) == "0.1"
        words = str(copied.chart().to_dict())
        assert "at once" not in words and "Totals" not in words
    assert any(word in str(marginal.chart().to_dict()) for word in ("at once", "Totals"))
