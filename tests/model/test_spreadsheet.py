"""CSV that a spreadsheet shows and does not run: which cells are guarded, and that nothing of them is lost."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz as dv
from dpviz.model.spreadsheet import comment, csv_text, guarded, plain, written

CASES = json.loads(Path(__file__).with_name("cells.json").read_text(encoding="utf-8"))
"""Texts and how they stand in a file; `widgets/tests/saving.test.ts` holds the page's writer against the same list."""


@pytest.mark.parametrize("case", CASES, ids=[ascii(case["text"]) for case in CASES])
def test_a_text_stands_in_a_file_as_it_does_in_that_of_a_page(case: dict[str, str]) -> None:
    assert written(case["text"]) == case["cell"]
    [row] = csv.reader([f"x,{case['cell']}"])
    assert row == ["x", guarded(case["text"])] and plain(row[1]) == case["text"]


@given(st.text(alphabet="'=+-@\uff1d\t\r\n\0\\rn07a.,#\" ", max_size=6))
def test_the_text_is_had_back_and_two_texts_are_never_one_cell(cell: str) -> None:
    """A text that is had back of its cell shares it with no other."""
    assert plain(guarded(cell)) == cell
    assert not guarded(cell) or guarded(cell)[0] not in "=@\uff1d\t"
    assert not {"\r", "\n", "\0"} & {*guarded(cell)} and not written(cell).startswith("#")
    assert [*csv.reader([written(cell)])] == [[guarded(cell)]]


def test_a_table_is_read_back_but_for_the_apostrophes() -> None:
    values: list[Any] = [Fraction(-1, 2), Fraction(4, 3), 4]
    frame = pd.DataFrame({"=bin": ["=a", "-5", "b, c"], "value": pd.Series(values, dtype=object), "low": [-1, -2, -3]})
    rows = list(csv.reader(io.StringIO(csv_text(frame), newline="")))
    assert rows == [["'=bin", "value", "low"], ["'=a", "-0.5", "-1"], ["-5", "4/3", "-2"], ["b, c", "4", "-3"]]
    assert frame["=bin"].tolist() == ["=a", "-5", "b, c"], "the frame itself is left alone"
    assert comment("a\n=b\r\nc") == "# a =b c\n"


@pytest.mark.parametrize("label", ["=HYPERLINK(1)", "@x", "-a", "plain"])
def test_a_release_writes_its_labels_guarded(label: str) -> None:
    """The whole table, as pandas reads it: the same labels and values once the apostrophes are away."""
    frame = pd.DataFrame({"word": [label, "b", "7"]})
    release = dv.teaching(frame, 3).draw(dv.Domain.categories([label, "b", "-7"], column="word"), dv.Dense(1))
    content = release.to_csv()
    assert content is not None
    read = pd.read_csv(io.StringIO(content), comment="#", dtype=str)
    assert read["bin"].tolist() == [guarded(label), "b", "-7"]
    assert [plain(cell) for cell in read["bin"]] == release.to_frame()["bin"].tolist()
    assert read["value"].tolist() == [str(value) for value in release.to_frame()["value"]]
