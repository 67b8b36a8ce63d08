"""A release that nobody can trace to a ledger says so wherever it is shown; what was drawn once is combined once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.errors import ParameterError
from dpviz.model.question import canonical
from dpviz.model.release import Release
from dpviz.session.session import Session

BINS = dv.Domain.integers(0, 3, column="x")
MANY = dv.Domain.integers(0, 63, column="x")
"""Two draws of all these bins are the same with a chance below 1e-30: of one bin at ε 1, with less than 0.3."""
PARTS = dv.Domain.categories(["a", "b"], column="city")
SAID = "origin unchecked"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    frame = pd.DataFrame({"x": [0, 1, 1, 3] * 30, "city": ["a", "b", "a", "b"] * 30, "dest": ["A", "B", "B", "C"] * 30})
    return Session(frame, dv.Unit(), dv.Budget(300, "1e-3"), tmp_path / "visits.ledger")


def again(release: Release, folder: Path, **changed: Any) -> Release:
    """The release as it is loaded from a file, with some parts changed and the digest made to fit."""
    body = json.loads(release.to_bytes())["release"] | changed
    path = folder / "forged.json"
    path.write_bytes(canonical({"release": body, "sha256": sha256(canonical(body)).hexdigest()}))
    return dv.load(path)


SHOWN: dict[str, Callable[[Release, Path], str]] = {
    "repr": lambda release, folder: repr(release),
    "HTML": lambda release, folder: release._repr_html_(),
    "frame": lambda release, folder: f"origin {release.to_frame().attrs.get('origin')}",
    "CSV": lambda release, folder: str(release.to_csv()),
    "chart": lambda release, folder: json.dumps(release.chart().to_dict()["title"]),
    "page": lambda release, folder: picture(release)["guarantee"],
    "saved picture of a page": lambda release, folder: picture(release)["csv"],
    "report": lambda release, folder: dv.report([release], folder / "report.html").read_text(),
    "sum": lambda release, folder: repr(release.sum([0, 1])),
    "sum in HTML": lambda release, folder: release.sum([0, 1])._repr_html_(),
    "difference": lambda release, folder: repr(release.difference([0], [1])),
    "share": lambda release, folder: repr(release.share([0], [0, 1])),
    "JSON of a sum": lambda release, folder: json.dumps(release.sum([0, 1]).to_json()),
    "CSV of a sum": lambda release, folder: str(release.sum([0, 1]).to_csv()),
    "frame of a sum": lambda release, folder: f"origin {release.sum([0, 1]).to_frame().attrs.get('origin')}",
}


@pytest.mark.parametrize("shown", SHOWN)
def test_a_loaded_release_says_that_its_origin_is_unchecked_wherever_it_is_shown(
    session: Session, tmp_path: Path, shown: str
) -> None:
    release = session.release(BINS, dv.Dense(1))
    path = release.save(tmp_path / "a.json")
    assert SAID in SHOWN[shown](dv.load(path), tmp_path).lower()
    for checked in (release, dv.load(path, ledger=session)):
        assert SAID not in SHOWN[shown](checked, tmp_path).lower()


OTHERS = {
    "a tree": lambda session: session.release(BINS, dv.Tree(1)),
    "keys": lambda session: session.release(dv.Domain.keys(column="dest"), dv.Stability(1, "1e-6")),
    "a list": lambda session: session.release("dest", dv.TopK(k=2, kbar=3, epsilon=1, delta="1e-6")),
    "parts": lambda session: session.release(BINS, dv.Dense(1), by=PARTS),
    "tables": lambda session: session.release(BINS * PARTS, dv.Marginals(1, ways=1)),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_answers_of_every_kind_say_it_in_table_frame_csv_and_chart(session: Session, tmp_path: Path, kind: str) -> None:
    release = OTHERS[kind](session)
    loaded = dv.load(release.save(tmp_path / "a.json"))
    for name in ("HTML", "frame", "CSV", "page"):
        assert SAID in SHOWN[name](loaded, tmp_path).lower()
        assert SAID not in SHOWN[name](release, tmp_path).lower()
    chart = loaded.chart()  # of tables it is that of one table
    assert SAID in json.dumps(chart.to_dict()["title"]).lower()
    for part in loaded.groups.values() if kind == "parts" else ():
        assert SAID in repr(part) and SAID in part._repr_html_().lower()


# ---------------------------------------------------------------- drawn once, combined once


def drawn(session: Session, name: str) -> Release:
    """An answer of each kind that can be combined."""
    if name == "use":
        return session.open(dv.Parts(PARTS, epsilon="8")).ask(BINS, dv.Dense(1), part="a")
    if name == "part":
        return session.release(BINS, dv.Dense(1), by=PARTS).groups["a"]
    mechanism: Any = {"table": dv.Dense(1), "tree": dv.Tree(1)}[name]
    return session.release(BINS, mechanism)


KINDS = ("table", "tree", "part", "use")
FORGED = {
    "number": {"number": 999},
    "key": {"key": "f" * 64, "number": 999},
    "randomness": {"randomness": "x", "number": 9},
}


@pytest.mark.parametrize("forgery", FORGED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_under_another_number_is_not_combined_with_itself(
    session: Session, tmp_path: Path, kind: str, forgery: str
) -> None:
    release = drawn(session, kind)
    forged = again(release, tmp_path, **FORGED[forgery])
    for pair in ((release, forged), (forged, release), (again(release, tmp_path), forged)):
        with pytest.raises(ParameterError, match="drawn once is combined once"):
            dv.combine(*pair)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_in_python_is_no_second_draw_either(session: Session, kind: str) -> None:
    """Not even one that says of itself that the session made it."""
    release = drawn(session, kind)
    with pytest.raises(ParameterError, match="drawn once is combined once"):
        dv.combine(release, replace(release, number=999))


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_not_combined_with_its_own_loaded_copy(session: Session, tmp_path: Path, kind: str) -> None:
    release = drawn(session, kind)
    for copy in (release, again(release, tmp_path)):
        with pytest.raises(ParameterError, match="one answer twice"):
            dv.combine(release, copy)


def test_a_combination_is_not_combined_with_one_of_its_own(session: Session) -> None:
    one, other = session.release(BINS, dv.Dense(1)), session.release(BINS, dv.Dense(1), key="again")
    both = dv.combine(one, other)
    for pair in ((both, one), (one, both), (both, both)):
        with pytest.raises(ParameterError, match="two releases are combined"):
            dv.combine(*pair)  # type: ignore[arg-type]


def test_a_part_is_not_combined_with_the_whole(session: Session) -> None:
    whole = session.release(BINS, dv.Dense(1), by=PARTS)
    alone = session.release(BINS, dv.Dense(1))
    for pair in ((whole.groups["a"], whole), (whole.groups["a"], alone), (whole.groups["a"], whole.groups["b"])):
        with pytest.raises(ParameterError):
            dv.combine(*pair)


def test_two_draws_that_agree_are_combined_where_a_ledger_confirms_them(session: Session, tmp_path: Path) -> None:
    """With much epsilon nearly all draws agree; the advice of the refusal works."""
    one, other = session.release(BINS, dv.Dense(60)), session.release(BINS, dv.Dense(60), key="again")
    assert list(one.values) == list(other.values)
    assert SAID not in dv.combine(one, other).sentence.lower()
    paths = [release.save(tmp_path / f"{release.number}.json") for release in (one, other)]
    with pytest.raises(ParameterError, match=r"dv.load\(path, ledger=...\)"):
        dv.combine(*map(dv.load, paths))
    dv.combine(*(dv.load(path, ledger=session) for path in paths))
    dv.combine(*session.releases.values())


def test_a_combination_names_the_answer_that_is_unchecked_and_so_does_whatever_is_asked_of_it(
    session: Session, tmp_path: Path
) -> None:
    one, other = session.release(MANY, dv.Dense("1/10")), session.release(MANY, dv.Dense("1/10"), key="again")
    checked, both = dv.combine(one, other), dv.combine(one, dv.load(other.save(tmp_path / "a.json")))
    for combined, there in ((checked, False), (both, True)):
        texts = [
            combined.sentence,
            repr(combined),
            combined._repr_html_(),
            repr(combined.sum([0, 1])),
            repr(combined.difference([0], [1])),
            combined.sum([0, 1])._repr_html_(),
            f"origin {combined.to_frame().attrs.get('origin')}",
        ]
        assert [SAID in text.lower() for text in texts] == [there] * len(texts)
    assert "entry 2 (ε = 0.1, origin unchecked)" in both.sentence and "entry 1 (ε = 0.1)" in both.sentence


def test_a_derived_value_that_was_loaded_says_so(session: Session, tmp_path: Path) -> None:
    total = session.release(BINS, dv.Dense(1)).sum([0, 1])
    read = dv.load_derived(total.save(tmp_path / "total.json"))
    assert SAID not in repr(total) and SAID in repr(read)
    assert read == total  # in every number


def test_combined_answers_that_were_loaded_say_so_unless_their_ledger_confirms_them(
    session: Session, tmp_path: Path
) -> None:
    both = dv.combine(session.release(MANY, dv.Dense(1)), session.release(MANY, dv.Dense(1), key="again"))
    path = both.save(tmp_path / "both.json")
    assert SAID in dv.load_derived(path).to_csv()
    assert SAID not in dv.load_derived(path, ledger=session).to_csv()
