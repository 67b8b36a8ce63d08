"""Every mechanism and sub-session at both ends of what it takes: what is planned is paid, drawn, read and shown."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.mechanisms import OPENINGS, REGISTRY
from dpviz.session import saved
from tests.session.sweep import UNITS, Swept, one, session
from tests.session.test_read_back import digest, shown_everywhere
from tests.soak.amounts import record, rounds

ROUNDS = 12
"""Cases of the tests below, enough for some that are paid."""

NAMES = (*REGISTRY, *OPENINGS)
"""Whatever is registered, so that no mechanism is left out."""


def test_what_is_planned_is_paid_drawn_stored_read_and_shown_and_all_else_is_refused_and_free(tmp_path: Path) -> None:
    count, chance, swept = rounds(4_000), random.Random(32), Swept()
    sessions = {unit: session(tmp_path, unit) for unit in UNITS}
    for turn in range(count):
        unit, own = chance.choice(list(UNITS)), random.Random(chance.random())
        one(
            swept,
            sessions[unit],
            NAMES[turn % len(NAMES)],
            own,
            f"{turn}",
            lambda release: shown_everywhere(release, tmp_path),
        )
    assert swept.faults == []
    assert swept.paid >= count // 4, "too little was accepted to have tested anything"
    for it in sessions.values():
        assert it.ledger.verify()
        statuses = {entry.status for entry in it.ledger.entries()}
        assert statuses <= {"done", "open"}, "something was charged and not answered"
    saved._rebound.cache_clear()
    for unit, it in sessions.items():
        again = session(tmp_path, unit)  # which has read nothing yet
        assert {number: digest(release) for number, release in again.releases.items()} == {
            number: digest(release) for number, release in it.releases.items()
        }
    record(
        "Every mechanism and sub-session, swept",
        f"{count:,} typed, and the questions of their sub-sessions: {swept.paid:,} paid, read back and shown, "
        f"{swept.refused:,} refused and free, "
        f"{swept.slow:,} called slow and left out",
    )
    record(
        "Plans and draws of this sweep",
        f"{len(swept.long_plans)} plans took over 1 s and {len(swept.long_draws)} draws over 2 s of processor time; "
        f"the longest plan {swept.longest:.1f} s",
    )


def fails(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("a planted fault")


def swept_by(everywhere: Any, place: Path) -> Swept:
    place.mkdir(exist_ok=True)
    swept, it = Swept(), session(place, "row")
    for turn in range(ROUNDS):
        one(swept, it, "Dense", random.Random(turn), f"{turn}", everywhere)
    return swept


def test_an_answer_that_cannot_be_shown_after_it_was_paid_is_a_fault(tmp_path: Path) -> None:
    swept = swept_by(fails, tmp_path)
    assert swept.faults and swept.paid == 0
    assert all("Dense" in fault and "ZeroDivisionError: a planted fault" in fault for fault in swept.faults)


def test_a_plan_that_ends_in_a_foreign_error_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dv.Dense, "bind", fails)
    swept = swept_by(lambda release: None, tmp_path)
    assert swept.faults and swept.paid == 0


def test_an_answer_that_reads_back_otherwise_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = swept_by(lambda release: None, tmp_path / "whole")
    assert whole.faults == [] and whole.paid > 0
    turns = iter(range(10**6))
    monkeypatch.setattr(dv.Release, "to_bytes", lambda release: b"%d" % next(turns))
    other = swept_by(lambda release: None, tmp_path / "other")
    assert other.paid == 0 and len(other.faults) == whole.paid
