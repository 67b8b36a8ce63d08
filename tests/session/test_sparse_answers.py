"""Sessions with sparse answers: unknown keys and huge domains from the frame to the file and back."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, ReleaseFormat
from dpviz.model.answers import SparseTable
from dpviz.model.answers.sparse import LONG
from dpviz.model.question import canonical
from dpviz.model.release import Release, with_checksum
from dpviz.model.spreadsheet import plain
from dpviz.session.session import Session

AIRPORTS = {"ATL": 900, "JFK": 4_000, "LAX": 3_500, "$x$ · <b>": 700, "Zürich\nKloten": 600, "tiny": 1}
KEYS = dv.Domain.keys(column="destination")
HUGE = dv.Domain.integers(0, 2**64 - 1, column="number")
BY_KEY = dv.Stability("1/2", "1e-10")
"""A bin of one row shows with chance 1e-10 at most; one of 600 is hidden, or off by 200, with chance e^-90 at most."""


def frame(counts: dict[str, int] = AIRPORTS) -> pd.DataFrame:
    names = [name for name, count in counts.items() for _ in range(count)]
    numbers = np.array([2**64 - 1 - len(name) for name in names], dtype=np.uint64)
    data = pd.DataFrame({"destination": [*names, None, "\ud800"]}, dtype=object)
    return data.assign(number=np.append(numbers, np.zeros(2, dtype=np.uint64)))


def session(tmp_path: Path, data: pd.DataFrame | None = None, unit: dv.Unit | None = None) -> Session:
    budget = dv.Budget(epsilon=4, delta="1e-5")
    return Session(frame() if data is None else data, unit or dv.Unit(noun="flight"), budget, tmp_path / "keys.ledger")


def test_unknown_keys_are_released_stored_saved_and_read_back(tmp_path: Path) -> None:
    it = session(tmp_path)
    release = it.release(KEYS, BY_KEY)
    assert release.labels == sorted(set(AIRPORTS) - {"tiny"})
    assert it.remaining.epsilon == Fraction(7, 2) and it.remaining.delta == Fraction(10**5 - 1, 10**10)
    for name in release.labels:
        assert abs(release[name] - AIRPORTS[name]) < 200
    assert release["tiny"] == release["never there"] == release[7] == 0
    assert release.many(["JFK", "tiny", "LAX"]).tolist() == [release["JFK"], 0, release["LAX"]]
    assert it.release(KEYS, BY_KEY) == release and it.remaining.epsilon == Fraction(7, 2)
    later = session(tmp_path, frame().iloc[:5])
    assert later.release(KEYS, BY_KEY) == release and later.releases[1] == release
    assert dv.load(release.save(tmp_path / "keys.json")) == release


def test_a_frame_of_unknown_keys_has_an_interval_for_each_key_and_none_for_all(tmp_path: Path) -> None:
    release = session(tmp_path).release(KEYS, BY_KEY)
    shown = release.to_frame()
    assert list(shown.columns) == ["bin", "value", "low", "high"]
    assert shown["bin"].tolist() == release.labels and shown["value"].tolist() == release.values
    assert (shown["high"] - shown["low"] == 2 * release.bars()[0].value).all() and release.bars()[1] is None
    path = tmp_path / "keys.csv"
    release.to_csv(path)
    lines = path.read_text(encoding="utf-8")
    assert lines.startswith("# (0.5, 0.0000000001)-differential privacy for adding or removing one flight\n")
    read = pd.read_csv(path, comment="#", dtype=str, keep_default_na=False)
    assert [plain(cell) for cell in read["bin"]] == release.labels


def test_where_a_public_n_bounds_the_keys_all_at_once_have_an_interval(tmp_path: Path) -> None:
    data = frame()
    release = session(tmp_path, data, dv.Unit("row", "replace-one", n=len(data))).release(KEYS, BY_KEY)
    assert list(release.to_frame().columns) == ["bin", "value", "low", "high", "low_all", "high_all"]
    one, every = release.bars()
    assert every is not None and every.value > one.value


@pytest.mark.parametrize("mode", ["exact", "strict"])
def test_a_domain_of_two_to_the_64_is_released_in_every_mode(tmp_path: Path, mode: Any) -> None:
    mechanism = dv.Stability("1/2", "1e-6", base="tight", cap=10_000, gamma="1e-15")  # a uniform value is as rare
    release = session(tmp_path).release(HUGE, mechanism, mode=mode)
    assert release.answer.labels[-1] == 2**64 - 4 and release.labels[-1] == str(2**64 - 4)  # type: ignore[attr-defined]
    assert abs(release[2**64 - 4] - 8_400) < 200 and release[5] == 0
    assert dv.load(release.save(tmp_path / "huge.json")) == release


def test_nothing_is_shown_of_an_empty_frame_and_that_is_an_answer(tmp_path: Path) -> None:
    release = session(tmp_path, frame().iloc[:0]).release(KEYS, BY_KEY)
    assert release.values == [] and len(release.to_frame()) == 0 and release["JFK"] == 0
    assert dv.load(release.save(tmp_path / "empty.json")) == release


def test_dense_over_unknown_keys_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    it = session(tmp_path)
    for ask in (it.plan, it.release):
        with pytest.raises(DomainError, match="this question needs declared bins"):
            ask(KEYS, dv.Dense("1/2"))
    assert it.remaining.epsilon == 4 and list(it.releases) == []
    assert it.release(KEYS, BY_KEY).values  # the session goes on


def test_a_user_keeps_its_bounds_over_unknown_keys(tmp_path: Path) -> None:
    data = pd.DataFrame(
        {"destination": ["JFK", "JFK", "LAX"] * 400, "user": [str(i) for i in range(400) for _ in "abc"]}
    )
    one = dv.Unit("user", max_bins=1, max_per_bin=1)
    release = session(tmp_path, data, one).release(KEYS, dv.Stability(2, "1e-6"))
    assert release.labels == ["JFK", "LAX"] and abs(sum(release.values) - 400) < 60  # two bins, scale 1/2: e^-60


def altered(release: Release, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The saved release with another answer and a fresh checksum."""
    body = release.to_json()
    change(body["answer"])
    path.write_bytes(canonical({"release": body, "sha256": sha256(canonical(body)).hexdigest()}))
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"keys": False, "labels": ["3"], "values": ["40"]},
        {"labels": ["b", "a"], "values": ["40", "50"]},
        {"labels": ["a", "a"], "values": ["40", "50"]},
        {"labels": ["a"], "values": ["40", "50"]},
        {"kind": "table", "values": ["40"]},
        {"kind": "tree"},
    ],
    ids=str,
)
def test_a_saved_sparse_answer_that_does_not_agree_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    release = session(tmp_path).release(KEYS, BY_KEY)
    path = tmp_path / "altered.json"
    assert dv.load(altered(release, path, lambda answer: None)) == release
    with pytest.raises(ReleaseFormat):
        dv.load(altered(release, path, lambda answer: answer.update(change)))


def test_a_saved_number_outside_its_domain_is_refused(tmp_path: Path) -> None:
    release = session(tmp_path).release(HUGE, BY_KEY)
    for label in (str(2**64), "-1"):
        with pytest.raises(ReleaseFormat, match="one that was promised"):
            dv.load(
                altered(
                    release,
                    tmp_path / "outside.json",
                    lambda answer, label=label: answer.update(labels=[label], values=["40"]),  # type: ignore[misc]
                )
            )
    with pytest.raises(ReleaseFormat):
        dv.load(altered(release, tmp_path / "keys.json", lambda answer: answer.update(keys=True)))


def test_the_saved_form_is_plain_json_with_numbers_as_texts(tmp_path: Path) -> None:
    release = session(tmp_path).release(HUGE, BY_KEY)
    answer = json.loads(release.to_bytes())["release"]["answer"]
    assert answer["kind"] == "sparse" and not answer["keys"]
    assert all(isinstance(text, str) for text in (*answer["labels"], *answer["values"]))
    assert SparseTable.from_json(answer) == release.answer


# ---------------------------------------------------------------- long answers


NAMES = [f'{"é" * (at % 3)}key {at}, \\ \x85 "' for at in range(LONG + 1)]
"""Texts of many lengths, with what Python's `splitlines` and JSON have their own ideas about."""
LONG_ANSWERS = {
    "keys": (NAMES, range(LONG + 1), {"lines", "values"}, "<i4"),
    "keys, one of them empty": (["", *NAMES[1:]], range(LONG + 1), {"lines", "values"}, "<i4"),
    "keys and a large value": (NAMES, [2**31, *range(LONG)], {"lines", "values"}, "<i8"),
    "numbers": ([2**64 - 1, *range(LONG)], range(LONG + 1), {"labels", "values"}, "<i4"),
}


@pytest.mark.parametrize("name", LONG_ANSWERS)
def test_a_long_answer_is_stored_as_columns_and_read_back(name: str) -> None:
    labels, values, columns, kind = LONG_ANSWERS[name]
    answer = SparseTable(tuple(sorted(labels)), np.array(values, dtype=np.int64))
    stored = json.loads(canonical(answer.to_json()))
    assert stored["arrays"].keys() == columns and stored["arrays"]["values"]["type"] == kind
    again = SparseTable.from_json(stored)
    assert again == answer and again.labels == answer.labels and again.values.dtype == np.int64
    assert {type(label) for label in again.labels} == {type(labels[0])}


@pytest.mark.parametrize("label", ["two\nlines", 2**64])
def test_what_fits_no_column_is_stored_as_texts_however_long_the_answer(label: Any) -> None:
    others = NAMES if isinstance(label, str) else list(range(LONG + 1))
    answer = SparseTable(tuple(sorted([*others, label])), np.arange(LONG + 2))
    stored = json.loads(canonical(answer.to_json()))
    assert "arrays" not in stored and len(stored["labels"]) == LONG + 2
    assert SparseTable.from_json(stored).labels == answer.labels


def test_a_long_answer_that_was_stored_as_texts_is_read_and_saved_as_it_was(tmp_path: Path) -> None:
    drawn = long_release()
    assert isinstance(drawn.answer, SparseTable)
    texts = {
        "kind": "sparse",
        **drawn.answer.pack().header,
        "values": [str(value) for value in drawn.answer.values.tolist()],
    }
    body = {**drawn.to_json(), "answer": texts}
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_bytes(with_checksum(body))
    read = dv.load(before)
    assert read.answer == drawn.answer and read != drawn
    read.save(after)
    assert after.read_bytes() == before.read_bytes() != drawn.to_bytes()
    assert dv.load(read.save(tmp_path / "texts.dpviz")).to_bytes() == before.read_bytes()
    assert dv.load(drawn.save(tmp_path / "columns.dpviz")).to_bytes() == drawn.to_bytes()


def long_release() -> Release:
    """A teaching draw that shows more than `LONG` keys."""
    frame = pd.DataFrame({"destination": NAMES * 60})
    release: Release = dv.teaching(frame, seed=1).draw(KEYS, dv.Stability("2", "1e-6"))
    assert len(release.labels) > LONG
    return release


FORGED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a line too many": lambda arrays: arrays | {"lines": column(b"a\nb\nc", "|u1")},
    "lines in no order": lambda arrays: arrays | {"lines": column(b"\n".join([b"b"] * (LONG + 1)), "|u1")},
    "bytes that are no text": lambda arrays: arrays | {"lines": column(b"\xff" + b"\n" * LONG, "|u1")},
    "numbers where no number is declared": lambda arrays: {
        "labels": column(np.arange(LONG + 1, dtype="<u8").tobytes(), "<u8"),
        "values": arrays["values"],
    },
    "no labels": lambda arrays: {"values": arrays["values"]},
    "no values": lambda arrays: {"lines": arrays["lines"]},
}


def column(content: bytes, kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "shape": [len(content) // np.dtype(kind).itemsize],
        "base64": base64.b64encode(content).decode(),
    }


@pytest.mark.parametrize("name", FORGED)
def test_columns_that_do_not_agree_are_refused(tmp_path: Path, name: str) -> None:
    body = long_release().to_json()
    forged = {**body["answer"], "arrays": FORGED[name](body["answer"]["arrays"])}
    path = tmp_path / "forged.json"
    path.write_bytes(with_checksum({**body, "answer": forged}))
    with pytest.raises(ReleaseFormat):
        dv.load(path)
