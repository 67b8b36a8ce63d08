"""The CSV of a release, read by the recipe of `Release.to_csv` with pandas, polars, DuckDB and R: the same rows.

The recipes are taken from the docstring itself, so what is documented is what runs.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.model.release import Release
from dpviz.model.spreadsheet import guarded, plain
from tools.system import rscript

CASES = json.loads(Path(__file__).with_name("cells.json").read_text(encoding="utf-8"))
WILD = [case["text"] for case in CASES if case["text"]]
"""An empty text is none that a domain takes."""

READERS = ["pandas", "polars", "DuckDB", "R"]
Rows = list[list[str]]


def recipes() -> dict[str, str]:
    """The lines of the docstring for each reader: its name, a colon, and the call."""
    told = textwrap.dedent(inspect.getdoc(Release.to_csv) or "")
    return dict(re.findall(r"^ *(pandas|polars|DuckDB|R): +``(.*)``$", told, re.MULTILINE))


def rows_of(frame: Any) -> Rows:
    return [["" if cell is None else str(cell) for cell in row] for row in frame]


def read_in_python(reader: str, path: Path) -> Rows:
    import duckdb
    import polars as pl

    found: Any = eval(recipes()[reader], {"pd": pd, "pl": pl, "duckdb": duckdb, "path": str(path)})
    if reader == "pandas":
        return [list(found.columns), *rows_of(found.to_numpy().tolist())]
    if reader == "polars":
        return [list(found.columns), *rows_of(found.rows())]
    return [list(found.columns), *rows_of(found.fetchall())]


def read_in_r(path: Path) -> Rows:
    """What R reads, told as numbers of code points, so that nothing of it is read a second time."""
    script = f"""
    path <- commandArgs(TRUE)[1]
    table <- {recipes()["R"]}
    cells <- c(names(table), as.vector(t(as.matrix(table))))
    for (cell in cells) cat(ncol(table), utf8ToInt(enc2utf8(cell)), "\\n")
    """
    told = subprocess.run(
        [rscript() or "Rscript", "--vanilla", "-e", script, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    assert not told.stderr, told.stderr
    lines = [[int(number) for number in line.split()] for line in told.stdout.splitlines()]
    width = lines[0][0]
    cells = ["".join(map(chr, line[1:])) for line in lines]
    return [cells[start : start + width] for start in range(0, len(cells), width)]


@pytest.fixture(scope="module")
def release() -> Release:
    frame = pd.DataFrame({"word": np.repeat(np.array(WILD, dtype=object), 3)})
    return dv.teaching(frame, 3).draw(dv.Domain.categories(WILD, column="word"), dv.Dense(1))


def test_there_is_a_recipe_for_each_reader() -> None:
    assert set(recipes()) == set(READERS)


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_reads_the_rows_that_were_written(reader: str, release: Release, tmp_path: Path) -> None:
    path = tmp_path / "wild.csv"
    release.to_csv(path)
    head, *rows = read_in_r(path) if reader == "R" else read_in_python(reader, path)
    frame = release.to_frame()
    assert head == list(frame.columns)
    assert [row[0] for row in rows] == [guarded(label) for label in WILD]
    assert [plain(row[0]) for row in rows] == WILD == list(frame["bin"])
    assert [row[1:] for row in rows] == [[str(cell) for cell in row[1:]] for row in frame.to_numpy().tolist()]


def test_a_row_is_one_line_and_no_line_but_a_comment_begins_as_one(release: Release) -> None:
    content = release.to_csv() or ""
    lines = re.split(r"\r\n|[\r\n]", content)
    assert lines[-1] == "" and "\0" not in content
    comments = [line for line in lines if line.startswith("#")]
    assert lines[: len(comments)] == comments, "comments come first, and no label begins a line as one"
    assert len(lines) == len(comments) + 1 + len(WILD) + 1
