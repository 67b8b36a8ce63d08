"""Nothing private ever leaves: a whole recorded session, searched for what was planted in its data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dpviz.errors
from dpviz.errors import DpvizError
from tests.canary.hunter import hunt
from tests.canary.mistakes import MISTAKES
from tests.canary.planted import CANARIES, DECOYS
from tests.canary.recording import FAILING, Recording

VALUES_SHOWN = {
    "messages", "page", "notebooks/recorded.ipynb", "notebooks/report.html", "notebooks/people.html",
    "notebooks/charts.json", "notebooks/release.json", "notebooks/said.bin",
}  # fmt: skip
NAME_SHOWN = {"notebooks/frames.txt", "notebooks/recorded.ledger", "notebooks/kernel.log"}
"""Where the decoys must be: the evidence is there, and the hunter reads it."""

LEAKS = {
    ("messages", "a true count", "number, utf-8"),
    ("messages", "a true count", "packed number, little-endian, base64"),
    ("messages", "a true count", "packed number, little-endian"),
    ("messages", "a label of the data", "text, utf-8"),
    ("notebooks/kernel.log", "a label of the data", "text, utf-16-le, hex"),
    ("notebooks/kernel.log", "a label of the data", "text, escaped as Python"),
    ("notebooks/leak.json", "a true count", "number, utf-8"),
    ("notebooks/leak.txt", "a true count", "number, utf-8"),
    ("notebooks/leak.bin", "a true count", "packed number, big-endian"),
}


def test_nothing_private_is_in_what_was_said_shown_or_written(recording: Recording) -> None:
    assert [str(find) for find in hunt(recording.evidence, CANARIES)] == []


@pytest.mark.parametrize("place", sorted(VALUES_SHOWN))
def test_what_was_released_is_found_where_it_belongs(recording: Recording, place: str) -> None:
    assert hunt({place: recording.evidence[place]}, [DECOYS["values"]]), f"{place} is not what it should be"


@pytest.mark.parametrize("place", sorted(NAME_SHOWN))
def test_the_name_of_the_data_is_found_where_it_belongs(recording: Recording, place: str) -> None:
    assert hunt({place: recording.evidence[place]}, [DECOYS["name"]]), f"{place} is not what it should be"


def test_server_and_kernel_logged_all_they_could(recording: Recording) -> None:
    assert b"[D " in recording.evidence["lab.log"]
    assert b"Comm DEBUG" in recording.evidence["notebooks/kernel.log"]
    assert b"ReleaseFailed" in recording.evidence["notebooks/kernel.log"]


def test_the_notebook_holds_its_widgets_and_the_ledger_its_journal(recording: Recording) -> None:
    assert b"vnd.jupyter.widget-state" in recording.evidence["notebooks/recorded.ipynb"]
    assert recording.evidence["notebooks/recorded.ledger-journal"]


def test_each_mistake_ended_in_its_own_error(recording: Recording) -> None:
    assert recording.mistakes == {name: error for name, (error, _) in MISTAKES.items()}
    assert recording.failed == FAILING


def test_every_kind_of_error_was_caused(recording: Recording) -> None:
    known = {kind.__name__ for kind in kinds(DpvizError)}
    assert {"BudgetExceeded", "LedgerFull"} <= known
    assert known - {*recording.mistakes.values()} == set()


def kinds(error: type[DpvizError]) -> Iterator[type[DpvizError]]:
    for kind in error.__subclasses__():
        if kind.__module__ == dpviz.errors.__name__:
            yield kind
        yield from kinds(kind)


def test_leaks_on_purpose_are_found_by_the_same_hunter(recording: Recording) -> None:
    found = {(find.place, find.canary, find.how) for find in hunt(recording.leaked, CANARIES)}
    assert found >= LEAKS
