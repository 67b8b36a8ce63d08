"""A report that is asked for keys with no kernel: what it carries of a sketch, what it refuses, and for which keys."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ReleaseFormat
from dpviz.exact import text
from dpviz.widgets import carrying
from dpviz.widgets.reading import read_points
from tests.reports.carried_vectors import CASES, FRAME, KEYS, PATH, REFUSED, drawn, vectors, written
from tests.reports.pages import data


def test_what_the_page_is_tested_against_is_what_python_reads_today() -> None:
    assert PATH.read_text(encoding="utf-8") == written(vectors())


@pytest.mark.parametrize(("name", "point"), [(name, point) for name in REFUSED for point in REFUSED[name]])
def test_a_key_that_the_page_refuses_is_refused_in_python(name: str, point: list[str]) -> None:
    with pytest.raises(DpvizError) as refused:
        read_points(drawn(name), [point], Fraction(1, 20))
    assert refused.value.rule and refused.value.next_step


def test_a_report_carries_a_sketch_whole_and_nothing_where_none_is_wanted(tmp_path: Path) -> None:
    release = drawn("counts")
    (result,) = data(dv.report([release], tmp_path / "whole.html"))["releases"]
    assert result["carried"] == vectors()["cases"]["counts"]["carried"]
    assert {"carried", "answers"} & set(
        data(dv.report([release], tmp_path / "none.html", keys=[]))["releases"][0]
    ) == set()


def test_a_sketch_that_is_too_long_is_refused_with_the_next_step_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = drawn("counts")
    packed = release.answer.offline_look_ups(release.reading, ())
    assert packed is not None
    size = sum(array.nbytes for array in packed.arrays.values())
    monkeypatch.setattr(carrying, "MOST_BYTES", size)
    dv.report([release], tmp_path / "fits.html")
    monkeypatch.setattr(carrying, "MOST_BYTES", size - 1)
    with pytest.raises(ReleaseFormat, match=rf"at most {size - 1:,} bytes.*keys=\[\.\.\.\]"):
        dv.report([release], tmp_path / "long.html")
    assert not (tmp_path / "long.html").exists()
    dv.report([release], tmp_path / "some.html", keys=[3])


def test_answers_for_chosen_keys_are_those_that_python_reads_by_every_estimator(tmp_path: Path) -> None:
    release = drawn("counts")
    (result,) = data(dv.report([release], tmp_path / "some.html", keys=[3, "17", 2**31]))["releases"]
    answers = result["answers"]
    assert answers["points"] == [["3"], ["17"], ["2147483648"]] and "carried" not in result
    assert set(answers["readers"]) == set(release.answer.readers)
    for reader, levels in answers["readers"].items():
        values = release.many([3, 17, 2**31], reader=reader)
        for rows in levels.values():
            assert [row["value"] for row in rows] == [text(value) for value in values]


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        (dv.ALP(2, keys=4, cap=1000, encoding="log"), "log-sketch"),
        (dv.ALP(2, keys=4, cap=20, hashing="carter-wegman"), "sketch"),
        (dv.MaxProjection(2, keys=4, cap=20), "buckets"),
    ],
)
def test_every_kind_of_look_up_is_carried_whole_or_for_chosen_keys(tmp_path: Path, mechanism: Any, kind: str) -> None:
    release = dv.teaching(FRAME, 3).draw(KEYS, mechanism)
    assert data(dv.report([release], tmp_path / "plain.html"))["releases"][0]["carried"]["kind"] == kind
    (result,) = data(dv.report([release], tmp_path / "some.html", keys=[3, 4]))["releases"]
    rows = next(iter(result["answers"]["readers"].values()))["0.05"]
    assert [row["value"] for row in rows] == [text(Fraction(value)) for value in release.many([3, 4])]
    assert all(row["known"] == "bound" for row in rows) and "carried" not in result


def test_a_compact_table_answers_chosen_keys_and_carries_no_more(tmp_path: Path) -> None:
    release = dv.teaching(FRAME, 3, dv.Unit(relation="replace-one", n=48)).draw(KEYS, dv.Compact(1))
    assert {"carried", "answers"} & set(data(dv.report([release], tmp_path / "plain.html"))["releases"][0]) == set()
    (result,) = data(dv.report([release], tmp_path / "some.html", keys=[3, 4]))["releases"]
    assert [row["value"] for row in result["answers"]["readers"][""]["0.05"]] == [str(release[3]), str(release[4])]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("3", "keys is a list of labels"),
        (pd.Series([3]), "keys is a list of labels"),
        ([2**32], "got 4294967296"),
        ([(3, 4)], "a key has one for each column"),
        ([float("nan")], "key 1"),
        (range(2_001), "at most 2,000 keys"),
    ],
)
def test_keys_that_are_none_are_refused_before_anything_is_written(tmp_path: Path, keys: Any, words: str) -> None:
    with pytest.raises(dv.DpvizError, match=words):
        dv.report([drawn("counts")], tmp_path / "wrong.html", keys=keys)
    assert list(tmp_path.iterdir()) == []


def test_answers_with_rows_take_no_notice_of_keys(tmp_path: Path) -> None:
    release = dv.teaching(FRAME, 3).draw(dv.Domain.categories(["a", "b"], column="kind"), dv.Dense(1))
    assert data(dv.report([release], tmp_path / "rows.html", keys=["never"])) == data(
        dv.report([release], tmp_path / "plain.html")
    )


def test_what_is_carried_is_the_answer_and_none_of_the_data() -> None:
    """The same header, and bits that differ, whatever the data: nothing else of it is there."""
    question, mechanism, _ = CASES["counts"]
    other = FRAME.assign(key=np.arange(48) + 1_000)
    one, two = (
        dv.teaching(frame, 5).draw(question, mechanism).answer.offline_look_ups(drawn("counts").reading, ())
        for frame in (FRAME, other)
    )
    assert one is not None and two is not None
    assert one.header == two.header and set(one.arrays) == {"bits", "functions"}
    assert (one.arrays["bits"] != two.arrays["bits"]).any()
