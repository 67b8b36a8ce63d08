"""Long columns of a result leave the kernel as bytes: exactly what was released, whichever way it goes."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts import columns
from dpviz.charts.picture import picture
from dpviz.errors import ReleaseFormat
from dpviz.model.domain import IntegerDomain

ROWS = columns.IN_JSON + 1


def read(result: dict[str, Any]) -> dict[str, list[Any]]:
    """The columns as the page reads them, written from widgets/PROTOCOL.md."""
    buffers = result["buffers"]
    parts = iter(buffers["parts"])
    known: dict[str, list[Any]] = {}
    for head in buffers["columns"]:
        rows = int(head["rows"])
        if head["type"] == "same":
            known[head["name"]] = known[head["as"]]
        elif head["type"] == "text":
            written, part = rows - sum(int(run["rows"]) for run in head["runs"]), next(parts)
            ends = np.frombuffer(part[: 4 * written], dtype="<u4").tolist()
            plain = part[4 * written :]
            texts = [plain[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
            for run in head["runs"]:
                first, at = int(run["first"]), int(run["at"])
                texts[at:at] = [str(first + step) for step in range(int(run["rows"]))]
            known[head["name"]] = texts
        else:
            known[head["name"]] = np.frombuffer(next(parts), dtype="<i8" if head["type"] == "int64" else "<f8").tolist()
    assert next(parts, None) is None
    return known


def drawn(bins: dv.Domain, size: int = ROWS) -> dv.Release:
    frame = pd.DataFrame({"x": np.arange(size) % 97})
    return dv.teaching(frame, 7, dv.Unit("row")).draw(bins, dv.Dense("1"))


def test_a_long_release_comes_as_bytes_and_a_short_one_as_texts() -> None:
    long = drawn(dv.Domain.integers(0, ROWS - 2, column="x", overflow=True))
    result = picture(long)
    assert not {"values", "labels", "short_labels"} & set(result) and result["csv"] == ""
    assert result["kind"] == "histogram" and len(json.dumps(columns.named(result))) < 5_000
    known = read(result)
    assert known["values"] == list(long.values)
    assert known["labels"] == long.labels and known["labels"][-1] == f"over {ROWS - 2}"
    assert known["short_labels"] == long.question.domain.short_labels
    short = picture(drawn(dv.Domain.integers(0, ROWS - 2, column="x")))
    assert "buffers" not in short and short["values"] == [str(value) for value in short["values"]]
    assert len(short["labels"]) == ROWS - 1 and short["csv"]


def test_whole_numbers_floats_and_texts_come_back_digit_for_digit() -> None:
    values = np.zeros(ROWS, dtype=np.int64)
    values[:5] = [-1, 2**53 + 1, 2**63 - 1, -(2**63), 0]
    large = np.full(ROWS, 2**64 - 1, dtype=np.uint64)
    floats = np.linspace(-1e300, 1e-300, ROWS)
    labels = ["über 7", "", "\n", "7", *(f"{place:07}" for place in range(ROWS - 4))]
    given: dict[str, Any] = {"values": values, "large": large, "floats": floats, "labels": labels, "short": labels[:]}
    known = read({"buffers": columns.beside(given)})
    assert known["values"] == values.tolist() and known["floats"] == floats.tolist()
    assert known["large"] == [str(2**64 - 1)] * ROWS
    assert known["labels"] == known["short"] == labels
    assert [head["type"] for head in columns.beside(given)["columns"]] == ["int64", "text", "float64", "text", "same"]


@pytest.mark.parametrize(
    ("rows", "runs"),
    [
        (["under 3", *map(str, range(-150, 150)), "over"], [{"at": "1", "first": "-150", "rows": "300"}]),
        ([*map(str, range(99)), "x"], []),
        ([f"0{value}" for value in range(200)], []),
        (["7"] * 200, []),
        (
            [*map(str, range(100)), *map(str, range(100))],
            [{"at": str(at), "first": "0", "rows": "100"} for at in (0, 100)],
        ),
        ([], []),
    ],
)
def test_numbers_that_go_up_by_one_are_told_by_their_first(rows: list[str], runs: list[dict[str, str]]) -> None:
    buffers = columns.beside({"labels": rows})
    assert buffers["columns"][0]["runs"] == runs
    assert read({"buffers": buffers})["labels"] == rows


def test_texts_whose_ends_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["ä", "b", "c"]
    monkeypatch.setattr(columns, "MOST_BYTES", 4)
    assert columns.beside({"labels": rows})["columns"][0]["rows"] == "3"
    monkeypatch.setattr(columns, "MOST_BYTES", 3)
    with pytest.raises(ReleaseFormat, match="4 bytes of labels"):
        columns.beside({"labels": rows})


def test_what_names_the_bytes_says_whether_they_are_these() -> None:
    first, again = (columns.beside({"values": np.arange(3)}) for _ in range(2))
    other = columns.beside({"values": np.array([0, 1, 3])})
    assert first == again and first["id"] != other["id"] and len(first["id"]) == 32


def test_a_message_sends_its_bytes_beside_it_and_a_file_writes_them() -> None:
    result = picture(drawn(dv.Domain.integers(0, ROWS, column="x")))
    message = {"v": 1, "re": "1", "ok": True, "body": {"result": result, "state": {}}}
    plain, parts = columns.apart(message)
    assert parts == result["buffers"]["parts"] and json.loads(json.dumps(plain)) == plain
    assert set(plain["body"]["result"]["buffers"]) == {"id", "columns"} and plain["body"]["state"] == {}
    file = json.loads(json.dumps(columns.written(result)))
    assert [base64.b64decode(part) for part in file["buffers"]["base64"]] == parts
    for other in ({"body": {"state": {}}}, {"body": {"result": {"kind": "x"}}}, {"event": "progress"}, "text", None):
        assert columns.apart(other) == (other, [])


def test_all_labels_at_once_are_the_labels_one_by_one() -> None:
    for ends in range(8):
        flags = {name: bool(ends >> bit & 1) for bit, name in enumerate(("underflow", "overflow", "missing"))}
        bins = IntegerDomain("x", -2, 3, **flags)
        assert bins.labels == [bins.label(index) for index in range(bins.size)]
        assert bins.short_labels == [bins.short_label(index) for index in range(bins.size)]
