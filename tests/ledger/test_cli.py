"""`dpviz ledger ...` as a person types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpviz import cli
from dpviz.session.ledger import Ledger
from tests.ledger.tools import BODY, Location, admit, as_owner, edit, key, opened, respelled, spend
from tests.without_threads import forbid


@pytest.fixture
def location(location: Location) -> Location:
    """A ledger with an answer, a cancelled draw, and a text that tries to steer the terminal."""
    ledger = opened(location)
    spend(ledger, "a")
    ledger.close(ledger.charge(key("b"), BODY, admit).number, "cancelled")
    hostile = {"question_text": "\x1b]0;owned\x07 \x1b[2Jlabels", "price": {"text": "ε 1/2 per person-year"}}
    ledger.charge(key("c"), hostile, admit)
    return location


def test_show_names_the_unit_the_price_and_the_state_of_each_entry(
    location: Location, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["ledger", "show", str(location)]) == 0
    shown = capsys.readouterr().out
    lines = {line.split()[0]: line for line in shown.splitlines() if line}
    assert lines["dataset"].endswith("visits")
    assert lines["unit"].endswith("one person-year, add or remove")
    assert "epsilon 2" in lines["budget"]
    for number, status in (("1", "done"), ("2", "cancelled"), ("3", "pending")):
        assert status in lines[number]
        assert "per person-year" in lines[number]
        assert "one person-year, add or remove" in lines[number]
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert Ledger.read(location).head() in shown


def test_show_can_be_cut_to_the_last_entries(location: Location, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ledger", "show", str(location), "--last", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [entry["number"] for entry in shown["entries"]] == [3]
    assert shown["entries"][0]["body"]["price"]["text"] == "ε 1/2 per person-year"
    assert shown["charter"]["dataset"] == "visits"
    assert shown["account"]["spent"] == "3"


def test_show_lists_the_uses_of_an_open_entry(location: Location, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = opened(location)
    number = ledger.charge(key("tape"), BODY, admit, opens={"questions": "20", "symbols": "50"}).number
    assert cli.main(["ledger", "show", str(location)]) == 0
    shown = capsys.readouterr().out
    assert f"entry {number} is open: questions 20, symbols 50 left\nit was not used yet" in shown
    asks = {"question_text": "top 10 of \x1b[2Jaircraft", "price": {"text": "10 symbols"}}
    for name in ("d", "e"):
        ledger.reserve(number, key(name), asks, lambda sub: {**sub, "symbols": str(int(sub["symbols"]) - 10)})
    ledger.settle(number, 1, b"drawn", dict)
    assert cli.main(["ledger", "show", str(location)]) == 0
    shown = capsys.readouterr().out
    said, _, *uses = shown[shown.index(f"entry {number} is open") :].splitlines()
    assert said.endswith("questions 20, symbols 30 left")
    assert [line.split()[0] + line.split()[2] for line in uses] == ["1done", "2pending"]
    assert all(line.count("10 symbols  top 10 of") == 1 for line in uses)
    assert "\x1b" not in shown
    assert cli.main(["ledger", "show", str(location), "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)["entries"][-1]
    assert entry["sub_account"] == {"questions": "20", "symbols": "30"}
    assert [(use["number"], use["status"], use["body"]) for use in entry["uses"]] == [
        (1, "done", asks),
        (2, "pending", asks),
    ]
    assert cli.main(["ledger", "verify", str(location)]) == 0
    assert "1 open, 1 pending), 2 uses (1 done, 1 pending)" in capsys.readouterr().out


def test_a_new_ledger_is_shown_as_empty(locations: Callable[[], Location], capsys: pytest.CaptureFixture[str]) -> None:
    new = locations()
    opened(new)
    assert cli.main(["ledger", "show", str(new)]) == 0
    assert "nothing was charged yet" in capsys.readouterr().out


def test_verify_says_that_a_chain_holds(location: Location, capsys: pytest.CaptureFixture[str]) -> None:
    head = Ledger.read(location).head()
    assert cli.main(["ledger", "verify", str(location), "--head", head]) == 0
    shown = capsys.readouterr().out
    assert "6 rows, 3 charges (1 cancelled, 1 done, 1 pending)" in shown
    assert head in shown
    assert cli.main(["ledger", "verify", str(location), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["statuses"] == {"cancelled": 1, "done": 1, "pending": 1}


def test_verify_says_where_a_chain_is_broken(location: Location, capsys: pytest.CaptureFixture[str]) -> None:
    respelled(location, 2, "visits", "victim")
    assert cli.main(["ledger", "verify", str(location)]) == 3
    said = capsys.readouterr()
    assert "row 2 does not match its hash" in said.err
    assert said.out == ""
    assert cli.main(["ledger", "verify", str(location), "--json"]) == 3
    refused = json.loads(capsys.readouterr().out)
    assert (refused["error"], refused["value"]) == ("LedgerCorrupt", "row 2 does not match its hash")


def test_a_broken_index_is_mended_on_request_only(location: Location, capsys: pytest.CaptureFixture[str]) -> None:
    edit(location, "DELETE FROM entry WHERE number = 2")
    assert cli.main(["ledger", "verify", str(location)]) == 3
    assert "--rebuild-index" in capsys.readouterr().err
    assert cli.main(["ledger", "verify", str(as_owner(location)), "--rebuild-index"]) == 0
    assert cli.main(["ledger", "verify", str(location)]) == 0


def test_backup_makes_a_verified_copy_once(
    location: Location, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["ledger", "backup", str(location), str(tmp_path / "copy.ledger")]
    assert cli.main(command) == 0
    assert "verified copy" in capsys.readouterr().out
    assert Ledger.read(tmp_path / "copy.ledger").verify() == Ledger.read(location).verify()
    assert cli.main(command) == 1
    assert "never overwrites" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_missing_ledger_is_refused_and_not_made(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["ledger", command, str(tmp_path / "none.ledger")]) == 1
    assert "does not exist" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["ledger"], ["ledger", "show"], ["ledger", "burn", "x"]])
def test_a_command_that_cannot_be_read_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage: dpviz" in capsys.readouterr().err


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("dpviz ")


def test_a_reader_that_stops_early_is_no_failure(location: Location) -> None:
    """`dpviz ledger show ... | head -1`."""
    ledger = opened(location)
    spend(ledger, *range(60))
    reading, writing = os.pipe()
    os.close(reading)
    code = "import sys; from dpviz.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "ledger", "show", str(location), "--json"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert done.stderr == ""


def test_a_ledger_is_shown_verified_and_copied_where_there_are_no_threads(
    location: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forbid(monkeypatch)
    assert cli.main(["ledger", "show", str(location)]) == 0
    assert cli.main(["ledger", "verify", str(location)]) == 0
    assert cli.main(["ledger", "backup", str(location), str(tmp_path / "copy.ledger")]) == 0
    assert "holds" in capsys.readouterr().out
