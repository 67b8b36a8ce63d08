"""Columns, labels and nouns are shown as they are wherever they stand, whatever a template would make of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.errors import ParameterError

NAMES = ["size {cm}", "{value}", "{", "}", "{0}", "%s", "100 %", "$x$", "\\1", "a\\b", "<b>x</b>", "two\nlines", "\"'"]
MECHANISMS: list[Any] = [dv.Dense(1), dv.Tree(1), dv.Sorted(1), dv.Queries(1), dv.Threshold(1, delta="1e-6")]


def asked(name: str) -> list[tuple[dv.Domain, Any]]:
    """Every kind of answer about a column, and a label, of this name."""
    numbers = dv.Domain.integers(0, 1, column=name)
    labels = dv.Domain.categories([name, "x"], column="other")
    more = [(labels, dv.Dense(1)), (numbers * labels, dv.Dense(1)), (numbers * labels, dv.Marginals(1, ways=1))]
    return [*((numbers, mechanism) for mechanism in MECHANISMS), *more]


def lesson(name: str) -> Any:
    return dv.teaching(pd.DataFrame({name: [0, 1, 1], "other": [name, "x", "x"]}), 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_goes_through_every_statement(name: str) -> None:
    it = lesson(name)
    for question, mechanism in asked(name):
        draw = it.draw(question, mechanism)
        assert str(it.plan(question, mechanism)) and draw.to_csv() and draw._repr_html_() and repr(draw)
        assert "<b>x</b>" not in draw._repr_html_() and picture(draw)["title"]


def drawn_and_reported(name: str, place: Path) -> None:
    """Its charts, and a report of all."""
    it = lesson(name)
    plans = [it.plan(*one) for one in asked(name)]
    draws = [it.draw(*one) for one in asked(name)]
    for one in (*plans, *draws):
        assert one.chart().to_dict()
    assert dv.report([*draws[:2], *plans], place / "hostile.html").stat().st_size


def test_a_name_of_all_these_goes_through_every_chart_and_a_report(tmp_path: Path) -> None:
    """Whatever one of them does to a template, it does in the middle of the others; `tests/soak` draws each alone."""
    drawn_and_reported(" ".join(NAMES), tmp_path)


def test_a_statement_about_a_column_named_as_its_template_names_the_column() -> None:
    data = pd.DataFrame({"{value}": [0, 1], "b": [0, 1]})
    domain = dv.Domain.integers(0, 1, column="{value}") * dv.Domain.integers(0, 1, column="b")
    plan = dv.teaching(data, 1).plan(domain, dv.Marginals(1, ways=1))
    [measure] = [one for one in plan.sheet.bound.measures if "{value}" in one.phrase.rpartition("{value}")[0]][:1]
    assert "{value}" in measure.phrased("7") and measure.phrased("7").endswith("within 7")


@pytest.mark.parametrize(
    "given", [[1, -1], [1, 0.5], [1, Fraction(1, 2)], ["1", "2"], [True, 1], 7, [[1, 2]], [1, 2**63]]
)
def test_a_public_table_of_anything_but_whole_counts_is_refused_at_once(given: Any) -> None:
    with pytest.raises(ParameterError, match="counts are whole numbers"):
        dv.PublicTable(dv.Domain.integers(0, 1, column="x"), given)


@pytest.mark.parametrize("given", [[1, 2], (1, 2.0), [Fraction(1), 2]])
def test_a_public_table_takes_whole_counts_in_any_list(given: Any) -> None:
    table = dv.PublicTable(dv.Domain.integers(0, 1, column="x"), given)
    assert table.counts.tolist() == [1, 2] and table.counts.dtype == "int64"
    assert dv.charts.histogram(table).to_dict()
