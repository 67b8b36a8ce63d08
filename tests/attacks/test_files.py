"""Saved releases with a fitting checksum and a hostile content: read as what they say, or refused in our words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import ParameterError, ReleaseFormat
from dpviz.model.question import canonical
from dpviz.session.session import Session
from tests.session.sources import KnownCounts

Body = dict[str, Any]
HOSTILE: dict[str, Callable[[Body], object]] = {
    "a count of 31 digits": lambda body: body["answer"].update(values=[str(10**30)] * 4),
    "a value that is text": lambda body: body["answer"].update(values=["<b>"] * 4),
    "too few packed values": lambda body: body["answer"].update(packed="AAAA"),
    "packed numbers": lambda body: body["answer"].update(packed=5),
    "an unknown mode": lambda body: body.update(mode="<script>"),
    "a number that is a dict": lambda body: body.update(number={"a": 1}),
    "a seed that is text": lambda body: body.update(teaching="7"),
    "a dataset that is a number": lambda body: body.update(dataset=5),
    "a trillion bins": lambda body: body["question"]["domain"].update(high="1000000000000"),
    "an n of 400 digits": lambda body: body["unit"].update(n=10**399),
    "bounds in words": lambda body: body["unit"].update(max_bins="many"),
    "a part too many": lambda body: body["unit"].update(extra=1),
    "parameters in a list": lambda body: body["mechanism"].update(parameters=[]),
    "a mechanism by its dunder": lambda body: body["mechanism"].update(name="__class__"),
    "a filter with a dict in it": lambda body: body["question"].update(where={"x": {"low": {}}}),
    "no answer": lambda body: body.pop("answer"),
}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(KnownCounts([4, 0, 9, 1]), dv.Unit(), dv.Budget(10), tmp_path / "test.ledger")


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_forged_release_is_refused(tmp_path: Path, session: Session, change: Callable[[Body], object]) -> None:
    body = json.loads(canonical(session.release(dv.Domain.integers(0, 3, column="x"), dv.Dense(1)).to_json()))
    change(body)
    file = tmp_path / "forged.json"
    file.write_bytes(canonical({"release": body, "sha256": sha256(canonical(body)).hexdigest()}))
    with pytest.raises(ReleaseFormat):
        dv.load(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"NaN",
        b"[]",
        b'{"release":NaN,"sha256":1}',
        b'{"release":' + b"[" * 200_000,
        b'{"release":{"format":"dpviz.release","version":1,"x":' + b"[" * 50_000 + b"]" * 50_000 + b'},"sha256":""}',
        b'{"release":' + b"9" * 10_000 + b"}",
    ],
)
def test_what_is_no_release_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "no.json"
    file.write_bytes(content)
    with pytest.raises(ReleaseFormat):
        dv.load(file)


@pytest.mark.parametrize("number", [0, -1, 2, 10**30, True, "1", 1.0, None])
def test_a_release_is_found_by_its_number_only(session: Session, number: Any) -> None:
    released = session.release(dv.Domain.integers(0, 3, column="x"), dv.Dense(1))
    assert session.releases[1] == released
    with pytest.raises(ParameterError):
        session.releases[number]


@pytest.mark.parametrize("places", [6, 30, 40, 190])
def test_error_bars_of_an_extreme_beta_are_found(session: Session, places: int) -> None:
    one, every = session.release(dv.Domain.integers(0, 3, column="x"), dv.Dense(1)).bars(f"1e-{places}")
    least = places * math.log(10) + math.log(2 / (1 + math.exp(-1))) - 1  # where one tail of each side is beta
    assert one.value == math.ceil(least) and math.ceil(least) < every.value <= math.ceil(least + math.log(4))
