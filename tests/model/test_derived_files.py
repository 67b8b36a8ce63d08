"""Derived values and combined answers are written as CSV, saved, and read again as they were; damage is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, LedgerError, ParameterError, ReleaseFormat
from dpviz.model.combination import Combined
from dpviz.model.derived import Derived, DerivedTable
from dpviz.model.marginals import Marginal
from dpviz.model.question import canonical

FRAME = pd.DataFrame({"x": [0, 0, 1, 2, 3, 3, 3] * 20, "y": list("abababa") * 20})
X = dv.Domain.integers(0, 3, column="x")
WILD = ["C#", "=1+1", "two\nlines", "a, b", ""]


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    lesson = dv.teaching(FRAME, seed=1)
    one, other = lesson.draw(X, dv.Dense("0.5")), lesson.draw(X, dv.Dense("0.3"))
    both = lesson.draw(X * dv.Domain.categories(["a", "b"], column="y"), dv.Dense("0.5"))
    wild = dv.Domain.categories(WILD, column="label")
    words = dv.teaching(pd.DataFrame({"label": WILD * 9}), seed=1).draw(wild, dv.Dense(2))
    return {
        "sum": one.sum(),
        "range": one.range(1, 2),
        "difference": one.difference([0, 1], [2, 3]),
        "share": one.share([0]),
        "comparison": one.compare([3], [1]),
        "table": one.sum({"low": [0, 1], "high": [2, 3]}),
        "shares": one.share({"low": [0], "high": [3]}),
        "wild": words.sum({label or "nothing": [label] for label in WILD}),
        "marginal": both.marginal(["x"]),
        "shares of a marginal": both.marginal(["x", "y"], share_of=["x"]),
        "combined": dv.combine(one, other),
        "combined sum": dv.combine(one, other).sum([0, 1]),
    }


NAMES = (
    "sum",
    "range",
    "difference",
    "share",
    "comparison",
    "table",
    "shares",
    "wild",
    "marginal",
    "shares of a marginal",
    "combined",
    "combined sum",
)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_saved_is_read_as_it_was(made: dict[str, Any], name: str, tmp_path: Path) -> None:
    value = made[name]
    path = value.save(tmp_path / "saved.json")
    read = dv.load_derived(path)
    assert type(read) is type(value)
    assert repr(read) == repr(value) and read._repr_html_() == value._repr_html_()
    pd.testing.assert_frame_equal(read.to_frame(), value.to_frame())
    assert read.to_csv() == value.to_csv()
    if not isinstance(value, Combined):
        assert read == value
    again = read.save(tmp_path / "again.json")
    assert again.read_bytes() == path.read_bytes()
    assert read.chart().to_dict()["description"] == value.chart().to_dict()["description"]


def test_names_are_all_that_is_made(made: dict[str, Any]) -> None:
    assert (*made,) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_table_says_what_it_rests_on_and_how_often_it_fails(made: dict[str, Any], name: str, tmp_path: Path) -> None:
    value = made[name]
    written = value.to_csv()
    comments = [line[2:] for line in written.splitlines() if line.startswith("# ")]
    assert comments[0] == "not private: seeded teaching draw"
    assert any("a teaching draw, seed 1, which is not private (ε = " in line for line in comments)
    assert any(line.startswith("intervals fail at most 0.05 of the time") for line in comments)
    assert value.to_csv(tmp_path / "table.csv") is None
    assert (tmp_path / "table.csv").read_text() == written
    frame = pd.read_csv(tmp_path / "table.csv", comment="#", dtype=str, keep_default_na=False)
    assert len(frame) == len(value.to_frame()) and list(frame.columns) == list(value.to_frame().columns)
    numbers = [float(Fraction(cell)) for cell in frame["value"]]
    assert numbers == pytest.approx([float(cell) for cell in value.to_frame()["value"]])


def test_a_release_and_its_derived_values_name_their_entry_and_not_teaching(tmp_path: Path) -> None:
    session = dv.Session(FRAME, dv.Unit(), dv.Budget("4"), tmp_path / "visits.ledger", dataset="visits")
    releases = [session.release(X, dv.Dense("0.5"), key=key) for key in ("one", "two")]
    total, both = releases[0].sum(), dv.combine(*releases)
    assert isinstance(total, Derived) and "Rests on entry 1 (ε = 0.5)" in str(total.to_csv())
    written = str(both.to_csv(beta="0.1"))
    assert releases[0].promise in written and "not private" not in written
    assert "intervals fail at most 0.1 of the time" in written
    path = both.save(tmp_path / "both.json")
    read = dv.load_derived(path, ledger=session)
    assert isinstance(read, Combined) and [one.number for one in read.paid] == [1, 2]
    assert read.first.origin == "ledger visits.ledger"
    with pytest.raises(ParameterError, match="leave ledger out"):
        dv.load_derived(total.save(tmp_path / "total.json"), ledger=session)
    other = dv.Session(FRAME, dv.Unit(), dv.Budget("4"), tmp_path / "other.ledger", dataset="visits")
    other.release(X, dv.Dense("0.5"))
    with pytest.raises((LedgerError, ReleaseFormat)):
        dv.load_derived(path, ledger=other)


def test_a_file_of_derived_values_is_no_release_and_the_advice_works(made: dict[str, Any], tmp_path: Path) -> None:
    path = made["table"].save(tmp_path / "table.json")
    with pytest.raises(ReleaseFormat, match=r"write dv\.load_derived\(path\)"):
        dv.load(path)
    assert dv.load_derived(path) == made["table"]
    release = dv.teaching(FRAME, seed=1).draw(X, dv.Dense(1))
    with pytest.raises(ReleaseFormat, match="what dpviz saved"):
        dv.load_derived(release.save(tmp_path / "release.json"))


@pytest.mark.parametrize("name", ["sum", "table", "marginal", "combined"])
def test_names_that_promise_another_format_are_refused(made: dict[str, Any], name: str, tmp_path: Path) -> None:
    value = made[name]
    for ending in ("csv", "html", "xlsx", "ledger"):
        with pytest.raises(ParameterError, match="promises another format"):
            value.save(tmp_path / f"file.{ending}")
    for ending in ("json", "xlsx", "parquet"):
        with pytest.raises(ParameterError, match="promises another format"):
            value.to_csv(tmp_path / f"file.{ending}")
    assert not list(tmp_path.iterdir())


def checked(body: Any) -> bytes:
    """A file with a right checksum, whatever its body."""
    return canonical({"derived": body, "sha256": sha256(canonical(body)).hexdigest()})


def places(body: Any) -> Iterator[tuple[Any, Any]]:
    """Every part of a body, as what holds it and where."""
    if isinstance(body, dict | list):
        for key, part in list(body.items() if isinstance(body, dict) else enumerate(body)):
            yield body, key
            yield from places(part)


ODD: tuple[Any, ...] = (None, True, -1, 10**30, "", "x", "1/0", "nan", "1e999999999", "-0/7", [], {}, ["1"], [[]], 0.5)


@pytest.mark.parametrize("name", ["comparison", "table", "shares of a marginal"])
def test_no_part_of_a_file_is_trusted(made: dict[str, Any], name: str, tmp_path: Path) -> None:
    """Each part in turn is replaced by something odd, with a right checksum: it is refused in our words, or whatever is
    read can be shown, written and drawn."""
    original = json.loads(made[name].save(tmp_path / "saved.json").read_bytes())["derived"]
    if "rows" in original:
        original["rows"] = original["rows"][:1]
    many = sum(1 for _ in places(original))
    path, refused = tmp_path / "odd.json", 0
    for at in range(many):
        for odd in ODD:
            body = json.loads(json.dumps(original))
            holder, key = next(spot for place, spot in enumerate(places(body)) if place == at)
            holder[key] = odd
            path.write_bytes(checked(body))
            try:
                read: Any = dv.load_derived(path)
            except DpvizError as error:
                refused += 1
                assert isinstance(error, ReleaseFormat | ParameterError), (key, odd)
                continue
            for show in (repr, type(read)._repr_html_, type(read).to_csv, type(read).to_frame):
                show(read)
    assert refused > many


@pytest.mark.parametrize(
    "harm",
    [
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: b"[]",
        lambda content: b'{"derived":' * 5_000,
        lambda content: content.replace(b'"low":"', b'"low":"9', 1),
        lambda content: content.replace(b'"version":1', b'"version":2'),
        lambda content: b"\xff" + content,
    ],
)
def test_a_damaged_file_is_refused(made: dict[str, Any], harm: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = made["table"].save(tmp_path / "saved.json")
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(ReleaseFormat):
        dv.load_derived(path)


def test_a_newer_file_says_that_dpviz_is_older(made: dict[str, Any], tmp_path: Path) -> None:
    body = json.loads(made["table"].save(tmp_path / "saved.json").read_bytes())["derived"]
    (tmp_path / "new.json").write_bytes(checked({**body, "version": 2}))
    with pytest.raises(ReleaseFormat, match="update dpviz"):
        dv.load_derived(tmp_path / "new.json")


def test_long_fractions_are_read_back(made: dict[str, Any], tmp_path: Path) -> None:
    row = made["sum"]
    long = Fraction(10**4_000 + 1, 3**8_000)
    value = replace(row, value=long, low=-long)
    read = dv.load_derived(value.save(tmp_path / "long.json"))
    assert isinstance(read, Derived) and (read.value, read.low) == (long, -long)


def test_a_marginal_comes_back_with_its_cells(made: dict[str, Any], tmp_path: Path) -> None:
    read = dv.load_derived(made["marginal"].save(tmp_path / "marginal.json"))
    assert isinstance(read, Marginal) and isinstance(read, DerivedTable)
    assert read.labels == made["marginal"].labels and read.axes == made["marginal"].axes
