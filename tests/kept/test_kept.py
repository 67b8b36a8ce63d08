"""Files that earlier versions wrote: ledgers open, verify and go on, and every answer shows what it showed then."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz as dv
from dpviz import mechanisms
from dpviz.errors import ReleaseLost
from dpviz.model.answers import lists
from dpviz.session.session import Session
from tests.kept.calls import (
    KEPT,
    MONTHS,
    RAISED,
    SAID_TODAY,
    TAUGHT,
    UNITS,
    WITH_LIMITS,
    Call,
    frame,
    left,
    ranges_are_bins,
    read,
    reworded,
    shown,
    sub_sessions,
)
from tests.reports import pages

FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("*/shown.json.gz"))


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def kept(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture(scope="module")
def calls(kept: Path) -> list[Call]:
    """What was asked when it was written."""
    return KEPT[kept.name]


@pytest.fixture(scope="module")
def told(kept: Path) -> dict[str, Any]:
    """What everything showed when it was written."""
    read: dict[str, Any] = json.loads(gzip.decompress((kept / "shown.json.gz").read_bytes()))
    return read


@pytest.fixture(scope="module")
def saved(kept: Path) -> dict[str, bytes]:
    """The saved releases and teaching draws, by name."""
    with zipfile.ZipFile(kept / "saved.zip") as archive:
        return {Path(name).stem: archive.read(name) for name in archive.namelist()}


def unpacked(kept: Path, name: str, folder: Path) -> Path:
    """A copy of a kept ledger, to work with."""
    path = folder / f"{name}.ledger"
    path.write_bytes(gzip.decompress((kept / f"{name}.ledger.gz").read_bytes()))
    return path


def opened(kept: Path, name: str, folder: Path) -> Session:
    data = frame(kept / "source.csv")
    return dv.Session(data, UNITS[name], RAISED[name], unpacked(kept, name, folder), dataset="visits", person="Bo")


def as_written(kept: Path, release: dv.Release) -> Any:
    """What a release tells, in the words that were written down; a list says the same now, and how sure it is, and a
    file says of itself that no ledger confirms it."""
    told = json.loads(json.dumps(shown(release)))
    if kept.name not in WITH_LIMITS:
        told = without_limits(told, release)
    if kept.name in SAID_TODAY:  # in which a list spoke of true counts, whatever limits may leave out
        told = json.loads(json.dumps(told).replace("largest counted number", "largest true count"))
    if release.doubt:
        told = without_doubt(told, f"# {release.doubt}\n")
    if release.max_items is not None and kept.name not in (*SAID_TODAY, *WITH_LIMITS):
        assert len(release.sureness()) == 2
        told["sentence"] = as_it_was(told["sentence"])
        told["csv"] = {beta: without_sureness(release, beta, written) for beta, written in told["csv"].items()}
    return told


def in_todays_words(kept: Path, told: dict[str, Any]) -> dict[str, Any]:
    """Return the kept record in today's words."""
    return ranges_are_bins(told) if kept.name in WITH_LIMITS else reworded(told)


def without_limits(told: dict[str, Any], release: dv.Release) -> dict[str, Any]:
    """The same as it was before 2026-11-29, when an interval of what is counted within the limits of a unit was stated
    as one of what was asked: without the sentence about these limits, which must be there, and with both its ends."""
    title = told["title"].replace("Rows of people", "People").replace("by rows of people", "by people")
    if "parts" in told:
        parts = {name: without_limits(part, release.groups[name]) for name, part in told["parts"].items()}
        return {**told, "title": title, "parts": parts}
    if "csv" not in told:
        return {**told, "title": title}
    tables = told["csv"]
    if isinstance(tables, str):
        return {**told, "title": title, "csv": closed(tables, release.limits)}
    return {**told, "title": title, "csv": {beta: closed(table, release.limits) for beta, table in tables.items()}}


def closed(table: str, limits: str) -> str:
    """A table with the ends for what was counted in the place of those that are open."""
    if not limits:
        return table
    said = f"# {limits}\n"
    assert table.count(said) == 1
    lines = table.replace(said, "").splitlines()
    heads = next(line for line in lines if not line.startswith("#"))
    names = heads.split(",")
    if "low" not in names:
        return "\n".join(lines) + "\n"
    names = names[names.index("low") :]

    def row(line: str) -> str:
        label, *cells = line.rsplit(",", len(names))
        found = dict(zip(names, cells, strict=True))
        for name in [name for name in names if name.endswith("_counted")]:
            end, counted = name.removesuffix("_counted"), found.pop(name)
            assert found[end] in ("", end)
            found[end] = end if counted == name else counted
        return ",".join([label, *found.values()])

    return "\n".join([line if line.startswith("#") else row(line) for line in lines]) + "\n"


def without_doubt(told: dict[str, Any], said: str) -> dict[str, Any]:
    """The same without the line that every table begins with, of a part or of the whole."""
    assert "csv" in told or "parts" in told
    if "parts" in told:
        return {**told, "parts": {name: without_doubt(part, said) for name, part in told["parts"].items()}}
    tables = told["csv"] if isinstance(told["csv"], dict) else {"": told["csv"]}
    assert all(table.count(said) == 1 for table in tables.values())
    bare = {beta: table.replace(said, "") for beta, table in tables.items()}
    return {**told, "csv": bare if isinstance(told["csv"], dict) else bare[""]}


def as_it_was(sentence: str) -> str:
    for places in range(2, 13):
        sentence = sentence.replace(f"{lists.filled(places)}.", f"All {places} came.")
    sentence = sentence.replace("The one place was filled.", "All 1 came.")
    return re.sub(r"They are of the (\d+) most common, a number", r"Out of the \1 largest: so many were", sentence)


def without_sureness(release: dv.Release, beta: str, written: str) -> str:
    """The table without the sentences and the columns that say how far down a list reaches, which must be there."""
    added = [f"# {sentence}" for sentence in release.sureness(beta)]
    lines = written.splitlines()
    assert all(line in lines for line in added)
    named = [name for name in release.to_frame(beta) if name in (lists.ONE, lists.ALL)]
    kept = [line if line.startswith("#") else line.rsplit(",", len(named))[0] for line in lines if line not in added]
    return "\n".join([as_it_was(line) for line in kept]) + "\n"


def test_there_are_kept_files() -> None:
    assert [folder.name for folder in FOLDERS] == [*KEPT]


def test_every_mechanism_is_among_what_the_newest_folder_holds() -> None:
    """With its law: what no folder holds could change its format unseen."""
    held = {type(call.mechanism).__name__ for call in [*KEPT.values()][-1] if call.mechanism is not None}
    asked = {type(sub).__name__ for name in UNITS for sub in sub_sessions([*KEPT][-1], name)}
    assert held == set(mechanisms.REGISTRY) and {*asked, "FixedList"} == set(mechanisms.OPENINGS), (
        "lists: `test_fixed_list.py`"
    )


@pytest.mark.parametrize("name", list(UNITS))
def test_a_kept_ledger_verifies_and_gives_every_stored_answer_free(
    kept: Path, calls: list[Call], told: dict[str, Any], saved: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    session = opened(kept, name, tmp_path)
    assert session.ledger.verify()
    assert left(session) == told["remaining"][name]
    subs = list(session.sub_sessions.values())
    assert [sub.parameters for sub in subs] == sub_sessions(kept.name, name)
    stored = {release.number: release for release in session.releases.values()}
    for call in calls:
        if call.ledger != name:
            continue
        answer = call(session, subs)
        assert as_written(kept, answer) == in_todays_words(kept, told["releases"][call.name]), call.name
        assert answer.to_bytes() == saved[call.name], call.name
        assert answer in (stored.values() if call.sub is None else subs[call.sub].answers), call.name
    assert left(session) == told["remaining"][name]


@pytest.mark.parametrize("name", list(UNITS))
def test_a_kept_ledger_goes_on(kept: Path, told: dict[str, Any], tmp_path: Path, name: str) -> None:
    session = opened(kept, name, tmp_path)
    before = session.ledger.entries()
    assert [entry.status for entry in before[-3:]] == ["failed", "cancelled", "lost"]
    for entry in before[-3:]:
        with pytest.raises(ReleaseLost):
            session.release(MONTHS, dv.Dense("1/7"), key=entry.body["user_key"])
    drawn = session.release(MONTHS, dv.Dense("1/7"), key="lost", retry=True)
    fresh = session.release(MONTHS, dv.Dense("1/7"), key="today")
    assert [drawn.number, fresh.number] == [len(before) + 1, len(before) + 2]
    sub, *_ = session.sub_sessions.values()
    assert sub.closed == (name == "visits")
    if not sub.closed:
        symbols = sub.symbols_left
        asked = sub.ask("city", k=2, key="today")
        assert sub.symbols_left == symbols - len(asked.items) - asked.ended
    assert session.ledger.verify()


def test_a_kept_file_shows_what_it_showed_and_saves_back_to_the_same_bytes(
    kept: Path, calls: list[Call], told: dict[str, Any], saved: dict[str, bytes], tmp_path: Path
) -> None:
    assert list(saved) == [*(call.name for call in calls), *TAUGHT]
    for name, content in saved.items():
        path = tmp_path / "kept.json"
        path.write_bytes(content)
        release = dv.load(path)
        assert as_written(kept, release) == in_todays_words(kept, told["releases"][name]), name
        assert release.save(tmp_path / "again.json").read_bytes() == content, name
        if release.valued and "read" in told:
            readings, kept_ones = json.loads(json.dumps(read(release))), told["read"][name]
            assert {reader: readings[reader] for reader in kept_ones} == kept_ones, (
                name
            )  # later versions read it otherwise, too


def test_a_kept_ledger_confirms_its_files(
    kept: Path, calls: list[Call], saved: dict[str, bytes], tmp_path: Path
) -> None:
    for name in UNITS:
        ledger = unpacked(kept, name, tmp_path)
        for call in (call for call in calls if call.ledger == name):
            path = tmp_path / "kept.json"
            path.write_bytes(saved[call.name])
            assert dv.load(path, ledger=ledger).origin == f"ledger {name}.ledger", call.name


def test_the_same_draws_come_of_the_same_seed(kept: Path, saved: dict[str, bytes]) -> None:
    for name, (question, mechanism) in TAUGHT.items():
        taught = dv.teaching(frame(kept / "source.csv"), 7, UNITS["people"], dataset="visits")
        drawn, stored = taught.draw(question, mechanism).to_json(), json.loads(saved[name])["release"]
        same = set(stored) - {"version", "mechanism", "guarantee"}
        assert {part: drawn[part] for part in same} == {part: stored[part] for part in same}, name
        assert drawn["mechanism"].items() >= stored["mechanism"].items()
        assert drawn["guarantee"]["text"] == stored["guarantee"]["text"]


# ---------------------------------------------------------------- a report


def test_a_kept_report_holds_the_numbers_of_its_releases(kept: Path, told: dict[str, Any]) -> None:
    data = pages.data(gzip.decompress((kept / "report.html.gz").read_bytes()).decode())
    assert len(data["releases"]) == len(told["reported"])
    for name, release in zip(told["reported"], data["releases"], strict=True):
        then = told["releases"][name]
        assert release["values"] == [str(value) for value in then["values"]], name
        assert release["labels"] == then["labels"], name
        for beta, (one, every) in then["bars"].items():
            if beta in release["bars"]:
                told_bars = release["bars"][beta]
                assert told_bars["one"]["value"] == one and (told_bars["all"] or {"value": None})["value"] == every


@pytest.fixture
def page(browser: Browser, kept: Path, tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "report.html"
    path.write_bytes(gzip.decompress((kept / "report.html.gz").read_bytes()))
    context = browser.new_context(offline=True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(path.as_uri())
    yield page
    assert wrong == []
    context.close()


def test_a_kept_report_opens_and_shows_the_same_values(page: Page, told: dict[str, Any]) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text("Kept")
    expect(page.get_by_role("main")).to_contain_text("ledger people.ledger")
    rows = page.evaluate(
        "() => [...document.querySelectorAll('table')]"
        ".filter(table => !table.caption?.textContent.startsWith('At another'))"  # which paper has of a plan's slider
        ".map(table =>"
        " [...table.querySelectorAll('tbody tr')].map(row => [...row.children].map(cell => cell.textContent)))"
    )
    releases = [told["releases"][name] for name in told["reported"] if told["releases"][name]["labels"] != []]
    empty = [name for name in told["reported"] if told["releases"][name]["labels"] == []]
    assert empty[0] == "compact" and set(empty) <= {"compact", "asked few"}, "no rows; a list that ended at once"
    rows = [table for table in rows if table != [["1", "⊥ (no more)"]]]
    for then, table in zip(releases, rows, strict=True):
        listed = [row for row in table if "⊥ (no more)" not in row]
        first = 1 if listed[0][0] == "1" and then["labels"][0] != "1" else 0
        assert [row[first] for row in listed] == then["labels"]
        if then["values"]:
            assert [row[first + 1] for row in listed] == [f"{value:,}" for value in then["values"]]
