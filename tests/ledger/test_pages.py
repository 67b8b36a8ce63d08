"""A long ledger is listed by pages and counted without reading an answer, as when it is read whole."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.session.ledger import Entry, Ledger
from dpviz.session.releases import PAGE, Releases
from tests.ledger.tools import BODY, Location, admit, key, opened, spend
from tests.session.test_unreadable import BINS, spoil, with_newer_version
from tests.session.test_unreadable import opened as session_on


def filled(location: Location) -> Ledger:
    """A history of every kind of entry, in an order drawn from a seed."""
    ledger, chance = opened(location), random.Random(14)
    for number in range(24):
        what = chance.choice(["done", "done", "cancelled", "failed", "pending", "open"])
        made = ledger.charge(key(number), BODY, admit, opens={"symbols": "3"} if what == "open" else None)
        if what == "done":
            ledger.finish(made.number, b"%d" % number)
        elif what in ("cancelled", "failed"):
            ledger.close(made.number, what)  # type: ignore[arg-type]
    return ledger


def test_pages_are_what_the_whole_list_holds(location: Location) -> None:
    filled(location)
    for ledger in (opened(location), Ledger.read(location)):
        every = ledger.entries()
        assert [entry.number for entry in every] == list(range(1, 25))
        kinds: dict[str, list[Entry]] = {}
        for entry in every:
            kinds.setdefault(entry.status, []).append(entry)
        assert kinds.keys() >= {"done", "cancelled", "failed", "pending", "open"}
        done = kinds["done"]
        assert ledger.finished() == done and ledger.finished_count == len(done)
        assert ledger.finished_numbers == [entry.number for entry in done]
        assert ledger.pending() == kinds["pending"] and ledger.opened() == kinds["open"]
        for before in (None, -1, 0, 1, 2, 9, 24, 25, 10**30):
            most = 10**30 if before is None else before
            for last in (None, -1, 0, 1, 5, 24, 10**30):
                size = 10**30 if last is None else max(0, last)
                page = [entry for entry in every if entry.number < most]
                assert ledger.entries(last=last, before=before) == page[max(0, len(page) - size) :]
                page = [entry for entry in done if entry.number < most]
                assert ledger.finished(last=last, before=before) == page[max(0, len(page) - size) :]


def test_pages_follow_what_other_kernels_write(location: Location) -> None:
    ledger, other = opened(location), opened(location)
    assert ledger.finished_count == 0 and ledger.finished(last=2) == []
    spend(other, "a", "b", "c")
    assert ledger.finished_count == 3 and [entry.number for entry in ledger.finished(last=2)] == [2, 3]
    hanging = other.charge(key("d"), BODY, admit)
    assert ledger.finished_count == 3 and [entry.number for entry in ledger.pending()] == [hanging.number]
    other.close(hanging.number, "cancelled")
    assert ledger.finished_count == 3 and ledger.pending() == []


@pytest.fixture
def long(tmp_path: Path) -> dv.Session:
    """More releases than are listed at once; the latest of a page and more cannot be read."""
    it = session_on(tmp_path)
    for number in range(3):
        it.release(BINS, dv.Dense("1/100"), key=str(number))
    body, content = dict(it.ledger.entry(1).body), it.ledger.answer(1)

    def free(state: Any) -> dict[str, str]:
        return {**state, "epsilon": str(int(state["epsilon"]) + int(state["grid"]) // 4)}

    unread = spoil(it, with_newer_version)
    newer = it.ledger.answer(unread)
    priced = body | {"price": {**body["price"], "epsilon": "1/4"}}
    for number in range(PAGE + 10):
        made = it.ledger.charge(key(number), priced, free)
        it.ledger.finish(made.number, newer if number >= 3 else content)
    return it


def test_the_newest_that_can_be_read_is_found_behind_more_than_a_page_of_others(long: dv.Session) -> None:
    latest = long.releases.latest
    assert latest is not None and long.releases[7].answer == latest.answer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(long.releases) == [1, 2, 3, 5, 6, 7]
    assert len(long.releases) == 6 and len(long.releases.unreadable) == PAGE + 8
    lines = repr(long.releases).splitlines()
    assert len(lines) == PAGE + 1 and lines[0] == f"the latest {PAGE} of {PAGE + 14}:"


def test_the_length_reads_no_answer(long: dv.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("an answer was read")

    monkeypatch.setattr(Ledger, "answer", never)
    monkeypatch.setattr(Ledger, "entries", never)
    assert len(Releases(long.ledger)) == PAGE + 14
