"""A name that promises one format never gets another: each call that writes a file, with each ending that promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz import files
from dpviz.errors import ParameterError

LESSON = dv.teaching(pd.DataFrame({"x": [0, 1, 1], "y": [1, 0, 1]}), 1)
RELEASE = LESSON.draw(dv.Domain.integers(0, 1, column="x"), dv.Dense(1))
RECORD = LESSON.draw(dv.Question.records([dv.Domain.integers(0, 1, column="x")]), dv.SampleCategory(1))
CALLS: dict[str, tuple[Callable[[Path], Any], set[str]]] = {
    "release.save": (RELEASE.save, {".json", ".dpviz"}),
    "release.to_csv": (RELEASE.to_csv, {".csv"}),
    "draws.to_csv": (RECORD.draw(2).to_csv, {".csv"}),
    "dv.report": (lambda path: dv.report([RELEASE], path), {".html", ".htm"}),
    "chart.save": (RELEASE.chart().save, {".json", ".html", ".svg", ".png", ".pdf"}),
}
"""What writes files, and which promises it keeps."""

ENDINGS = sorted({*files._MEANT, ".CSV", ".Json"})


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_name_that_promises_another_format_is_refused_and_nothing_is_written(
    name: str, ending: str, tmp_path: Path
) -> None:
    call, kept = CALLS[name]
    path = tmp_path / f"visits{ending}"
    if ending.lower() in kept:
        if name != "chart.save":  # which tests of charts draw
            call(path)
            assert path.stat().st_size
        return
    with pytest.raises(ParameterError) as refused:
        call(path)
    assert refused.value.next_step and not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["release.save", "release.to_csv", "draws.to_csv", "dv.report"])
@pytest.mark.parametrize("file", ["visits", "visits.2026", "visits.txt", "visits.csv.old"])
def test_a_name_that_promises_nothing_is_taken(name: str, file: str, tmp_path: Path) -> None:
    CALLS[name][0](tmp_path / file)
    assert (tmp_path / file).stat().st_size


def test_the_call_that_was_meant_is_named() -> None:
    meant = {
        (".csv", "release.save"): "release.to_csv(",
        (".xlsx", "release.save"): "release.to_csv(",
        (".png", "release.save"): "release.chart().save(",
        (".html", "release.save"): "dv.report(",
        (".parquet", "release.save"): "release.to_frame()",
        (".json", "release.to_csv"): "release.save(",
        (".pdf", "dv.report"): "a browser prints it as PDF",
        (".png", "dv.report"): "release.chart().save(",
        (".dpviz", "dv.report"): "release.save(",
    }
    for (ending, name), call in meant.items():
        with pytest.raises(ParameterError) as refused:
            CALLS[name][0](Path(f"visits{ending}"))
        assert call in refused.value.next_step and f"visits{ending}" in str(refused.value)
