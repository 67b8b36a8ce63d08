"""CSV that a spreadsheet shows and does not run: which cells are guarded, and that nothing of them is lost."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz as dv
from dpviz.model.spreadsheet import comment, csv_text, guarded, plain

RUN = ["=1+1", "+a", "-a", "@SUM(1)", "\t=1", "\r=1", "\n=1", "'=1", "''@x", "-5 to 3", "+", "-", "-inf", "=", "--1"]
SHOWN = ["a", "", " =1", "a=1", "'tis", "''", "7", "-7", "+.5", "-1e-3", "-1/2", "1e400", "-7."]


def test_what_a_spreadsheet_would_run_is_guarded_and_no_number_is() -> None:
    assert [guarded(cell) for cell in RUN] == [f"'{cell}" for cell in RUN]
    assert [guarded(cell) for cell in SHOWN] == SHOWN


@given(st.text(alphabet="'=+-@\t\r\n7a. ", max_size=6))
def test_the_text_is_had_back_and_two_texts_are_never_one_cell(cell: str) -> None:
    assert plain(guarded(cell)) == cell
    assert not guarded(cell) or guarded(cell)[0] not in "=@\t\r\n"


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
