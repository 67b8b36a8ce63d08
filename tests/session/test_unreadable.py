"""An entry that this dpviz cannot read is named, and hides nothing else: no other entry, no page, no report."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz import cli
from dpviz.errors import LedgerFormat, ReleaseFormat
from dpviz.model import release
from dpviz.model.question import canonical
from dpviz.session.ledger import Ledger
from dpviz.session.releases import Unread
from dpviz.session.session import Session
from tests.reports import pages
from tests.session.sources import KnownCounts, KnownTop

BINS = dv.Domain.integers(0, 3, column="x")
LONG = "1/1" + 198 * "0"
PLACES = {"": {"Aachen": 300, "Bonn": 200, "Celle": 100}}
PWYG = {"symbols": 12, "questions": 4, "epsilon_per_item": "1", "delta": "1e-12"}


def opened(path: Path, source: Any = None) -> Session:
    unit = dv.Unit("person", max_bins=2) if isinstance(source, KnownTop) else dv.Unit(noun="person")
    return Session(source or KnownCounts([5, 0, 70, 3]), unit, dv.Budget(100, "1e-5"), path / "test.ledger")


def with_long_delta(found: dict[str, Any]) -> dict[str, Any]:
    """Something as an older dpviz wrote it: a number that took more characters than are read back."""
    mechanism = {"name": "Stability", "parameters": {"epsilon": "0.1", "delta": LONG}}
    return {**found, "mechanism": mechanism}


def with_newer_version(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "version": release.VERSION + 1}


def with_unknown_question(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "question": {"domain": {"kind": "hexagons"}, "where": {}}}


WAYS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a number that is too long": with_long_delta,
    "a newer version": with_newer_version,
    "a question that is not known": with_unknown_question,
}


def stored(content: bytes, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    body = change(json.loads(content)["release"])
    return canonical({"release": body, "sha256": sha256(canonical(body)).hexdigest()})


def spoil(session: Session, change: Callable[[dict[str, Any]], dict[str, Any]], price: str = "1/4") -> int:
    """Charge and store, beside the release that is there, one that nobody can read."""
    ledger, first = session.ledger, session.ledger.entries()[0]

    def priced(found: dict[str, Any]) -> dict[str, Any]:
        """Of this price, by its parameters, too: what an entry says must agree."""
        mechanism = found["mechanism"]
        parameters = {**mechanism["parameters"], "epsilon": price}
        name = "price" if "price" in found else "guarantee"
        said = {**found[name], "epsilon": price, "text": f"ε {price}"}
        if "charged" in said:
            said["charged"] = {**said["charged"], "epsilon": price}
        return {**found, "mechanism": {**mechanism, "parameters": parameters}, name: said}

    body = change(priced(dict(first.body)))

    def admit(state: Any) -> dict[str, str]:
        return {**state, "epsilon": str(int(state["epsilon"]) + int(state["grid"]) // 4)}

    key = sha256(body["mechanism"]["name"].encode()).hexdigest()
    made = ledger.charge(key, body, admit)
    answer = ledger.answer(first.number)
    ledger.finish(
        made.number, stored(answer, lambda found: change(priced({**found, "number": made.number, "key": key})))
    )
    return made.number


@pytest.fixture(params=WAYS)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    """Releases 1 and 3 can be read, 2 cannot."""
    it = opened(tmp_path)
    it.release(BINS, dv.Dense("1/2"))
    assert spoil(it, WAYS[request.param]) == 2
    it.release(BINS, dv.Dense("1/8"))
    return it


def test_the_other_releases_are_listed_and_read_and_the_unreadable_one_is_named(session: Session) -> None:
    releases = session.releases
    with pytest.warns(Unread, match="release 2 cannot be read by this dpviz"):
        assert list(releases) == [1, 3]
    with pytest.warns(Unread):
        assert [release.number for release in releases.values()] == [1, 3] and len(releases) == 2
    assert releases.latest == releases[3] and list(releases.unreadable) == [2]
    lines = repr(releases).splitlines()
    assert len(lines) == 3 and "release 2 cannot be read by this dpviz (" in lines[1]
    with pytest.raises(ReleaseFormat, match="release 2 cannot be read.*stays paid for and stored") as caught:
        releases[2]
    assert caught.value.value == "release 2" and caught.value.next_step
    assert session.remaining.epsilon == 100 - Fraction(7, 8)


def test_the_page_opens_shows_the_others_and_refuses_the_unreadable_one_by_name(session: Session) -> None:
    page = dv.Workbench(session)
    assert json.loads(page.result)["number"] == "3"
    assert [entry["number"] for entry in json.loads(page.state)["entries"]] == ["1", "2", "3"]
    shown = page.session_model.answer({"v": 1, "id": "a", "ask": "show", "args": {"number": "2"}})
    assert shown is not None and "release 2 cannot be read" in shown["error"]["message"]
    shown = page.session_model.answer({"v": 1, "id": "b", "ask": "show", "args": {"number": "1"}})
    assert shown is not None and shown["ok"]


def test_where_the_newest_release_is_unreadable_the_page_shows_the_one_before(tmp_path: Path) -> None:
    it = opened(tmp_path)
    it.release(BINS, dv.Dense("1/2"))
    assert spoil(it, with_newer_version) == 2
    assert json.loads(dv.Workbench(it).result)["number"] == "1"
    assert it.release(BINS, dv.Dense("1/8")).number == 3


def test_a_report_shows_the_others_says_what_is_left_out_and_counts_its_price(session: Session, tmp_path: Path) -> None:
    with pytest.warns(Unread):
        data = pages.data(dv.report(session.releases, tmp_path / "all.html", ledger=session))
    assert [release["number"] for release in data["releases"]] == ["1", "3"]
    assert "Release 2 is not shown, for this dpviz cannot read it." in " ".join(data["caveats"])
    assert data["totals"]["epsilon"] == "0.875"


def test_the_command_shows_all_entries_and_names_the_unreadable_one(
    session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["ledger", "show", str(tmp_path / "test.ledger")]) == 0
    said = capsys.readouterr().out
    assert "release 2 cannot be read by this dpviz (" in said and said.count("done") == 3
    assert cli.main(["ledger", "show", "--json", str(tmp_path / "test.ledger")]) == 0
    assert len(json.loads(capsys.readouterr().out)["unreadable"]) == 1
    assert cli.main(["ledger", "verify", str(tmp_path / "test.ledger")]) == 0


def test_another_process_reads_the_others(session: Session, tmp_path: Path) -> None:
    code = (
        "import sys, warnings; warnings.simplefilter('ignore'); from tests.session.test_unreadable import *;"
        "it = opened(Path(sys.argv[1])); print(list(it.releases), it.releases[1].number)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.strip() == "[1, 3] 1"


# ---------------------------------------------------------------- sub-sessions


def spoil_use(it: Session, number: int, change: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
    """Store, among the answers of a sub-session, one that nobody can read."""
    ledger = it.ledger
    first = ledger.uses(number)[0]

    def used(state: Any) -> dict[str, str]:
        return {"symbols": str(int(state["symbols"]) - 2), "questions": str(int(state["questions"]) - 1)}

    use = ledger.reserve(number, "ab" * 32, change(dict(first.body)), used)
    ledger.settle(number, use.number, stored(ledger.use_answer(number, first.number), change), dict)
    return use.number


@pytest.mark.parametrize("change", [with_newer_version, with_unknown_question])
def test_an_unreadable_answer_of_a_sub_session_is_a_row_of_its_transcript_and_hides_no_other(
    tmp_path: Path, change: Callable[[dict[str, Any]], dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    it = opened(tmp_path, KnownTop(PLACES))
    sub = it.open(dv.PayWhatYouGet(**PWYG))
    sub.ask("dest", k=2, kbar=3)
    assert spoil_use(it, sub.number, change) == 2
    sub.ask("dest", k=1, kbar=3)
    again = opened(tmp_path, KnownTop(PLACES)).sub_sessions[1]
    with pytest.warns(Unread, match="answer 2 of entry 1 cannot be read"):
        assert [answer.use for answer in again.answers] == [1, 3]
    rows = again.transcript
    assert [row.number for row in rows] == [1, 2, 3] and [bool(row.unreadable) for row in rows] == [False, True, False]
    assert "answer 2 of entry 1 cannot be read by this dpviz" in repr(rows[1]) and rows[2].items
    assert again.answer(3).use == 3
    view = dv.PayWhatYouGetTape(again)
    assert [row["number"] for row in json.loads(view.state)["rows"]] == ["1", "2", "3"]
    for number, fine in (("2", False), ("3", True)):
        shown = view.answer({"v": 1, "id": "a", "ask": "show", "args": {"number": number}})
        assert shown is not None and shown["ok"] is fine
    assert cli.main(["ledger", "show", str(tmp_path / "test.ledger")]) == 0
    assert "answer 2 of entry 1 cannot be read" in capsys.readouterr().out


def test_an_unreadable_sub_session_hides_no_other(tmp_path: Path) -> None:
    it = opened(tmp_path, KnownTop(PLACES))
    it.open(dv.PayWhatYouGet(**PWYG))
    first = it.ledger.entries()[0]
    body = dict(first.body) | {
        "mechanism": {**first.body["mechanism"], "parameters": {**first.body["mechanism"]["parameters"], "delta": LONG}}
    }

    def twice(state: Any) -> dict[str, str]:
        """What the first has cost, once more."""
        return {**state, **{part: str(2 * int(state[part])) for part in ("epsilon", "delta")}}

    it.ledger.charge("cd" * 32, body, twice, opens={"symbols": "12", "questions": "4"})
    third = it.open(dv.PayWhatYouGet(**PWYG), key="third")
    with pytest.warns(Unread, match="the sub-session of entry 2 cannot be read by this dpviz"):
        assert list(opened(tmp_path, KnownTop(PLACES)).sub_sessions) == [1, 3]
    assert third.ask("dest", k=2, kbar=3).items
    assert issubclass(LedgerFormat, dv.DpvizError) and Ledger.read(tmp_path / "test.ledger").verify()
    dv.Workbench(it)
