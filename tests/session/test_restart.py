"""A mistake in the first call is put right while nothing is spent: restart=True begins the ledger anew."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import CharterMismatch, LedgerError, ParameterError
from dpviz.session.ledger import Ledger
from tests.patience import patience

BINS = dv.Domain.integers(0, 9, column="visits")
ROW, USER = dv.Unit("row"), dv.Unit("who", max_bins=3)
BUDGET = dv.Budget("2")


def data() -> pd.DataFrame:
    return pd.DataFrame({"who": [1, 1, 2, 3] * 25, "visits": [1, 2, 3, 4] * 25})


def opened(place: Path, unit: dv.Unit = ROW, budget: dv.Budget = BUDGET, **more: Any) -> dv.Session:
    return dv.Session(data(), unit, budget, place, dataset="visits", **more)


def restarted(place: Path, unit: dv.Unit = ROW, budget: dv.Budget = BUDGET, **more: Any) -> dv.Session:
    with pytest.warns(UserWarning, match=r"nothing was charged in the ledger with another charter .* was moved to"):
        return opened(place, unit, budget, restart=True, **more)


@pytest.mark.parametrize(
    ("unit", "budget"), [(USER, BUDGET), (ROW, dv.Budget("3")), (ROW, dv.Budget("2", "1e-6", filter="zcdp"))]
)
def test_an_unspent_ledger_is_moved_aside_and_begun_anew(tmp_path: Path, unit: dv.Unit, budget: dv.Budget) -> None:
    place = tmp_path / "visits.ledger"
    before = opened(place).ledger.verify()
    with pytest.raises(CharterMismatch, match="write restart=True") as refused:
        opened(place, unit, budget)
    assert "restart=True" in str(refused.value.next_step)
    session = restarted(place, unit, budget)
    assert session.unit == unit and session.is_new and session.ledger.charter["budget"] == budget.to_json()
    aside = tmp_path / "visits.unspent-1.ledger"
    assert Ledger.read(aside).verify().head == before.head, "the file that was moved is whole"
    session.release(BINS, dv.Dense("1/10"))
    assert opened(place, unit, budget).ledger.verify().charges == 1


def test_a_ledger_in_which_something_was_charged_stays(tmp_path: Path) -> None:
    place = tmp_path / "visits.ledger"
    opened(place).release(BINS, dv.Dense("1/10"))
    with pytest.raises(CharterMismatch, match="charged or raised stays in its place, so restart=True begins none"):
        opened(place, USER, restart=True)
    with pytest.raises(CharterMismatch) as refused:
        opened(place, USER)
    assert "restart" not in str(refused.value), "advice that would be refused is not given"
    assert {name.partition("-")[0] for name in os.listdir(tmp_path)} == {"visits.ledger"}
    assert opened(place).ledger.verify().charges == 1


def test_a_session_that_has_the_moved_file_open_charges_nothing_in_it(tmp_path: Path) -> None:
    place = tmp_path / "visits.ledger"
    other = opened(place)
    session = restarted(place, USER)
    with pytest.raises(LedgerError, match="removed or replaced while it was open"):
        other.release(BINS, dv.Dense("1/10"))
    assert Ledger.read(tmp_path / "visits.unspent-1.ledger").verify().charges == 0
    session.release(BINS, dv.Dense("1/10"))
    assert session.ledger.verify().charges == 1


def test_nothing_is_moved_while_somebody_writes(tmp_path: Path) -> None:
    """While another process holds the write lock, the file keeps its name."""
    place = tmp_path / "visits.ledger"
    opened(place)
    holder = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    ended: list[object] = []

    def restart() -> None:
        try:
            ended.append(Ledger.set_aside(place))
        except LedgerError as error:
            ended.append(error)

    waiting = threading.Thread(target=restart)
    waiting.start()
    holder.execute("UPDATE chain SET body = body WHERE seq = 1")
    assert place.exists() and not ended, "it was moved while somebody else was writing"
    holder.execute("COMMIT")
    waiting.join(patience())
    holder.close()
    assert ended == [tmp_path / "visits.unspent-1.ledger"]


def test_each_ledger_that_is_moved_keeps_a_name_of_its_own(tmp_path: Path) -> None:
    place = tmp_path / "visits.ledger"
    opened(place)
    for at, most in enumerate(("3", "4", "5"), 1):
        restarted(place, budget=dv.Budget(most))
        assert (tmp_path / f"visits.unspent-{at}.ledger").exists()


def test_a_ledger_that_fits_is_opened_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "visits.ledger"
    opened(place).release(BINS, dv.Dense("1/10"))
    assert opened(place, restart=True).ledger.verify().charges == 1
    assert opened(tmp_path / "new.ledger", restart=True).is_new


def test_a_ledger_whose_budget_was_raised_stays(tmp_path: Path) -> None:
    place = tmp_path / "visits.ledger"
    opened(place).raise_budget(dv.Budget("3"), reason="more questions")
    with pytest.raises(CharterMismatch, match="charged or raised stays in its place"):
        opened(place, USER, dv.Budget("3"), restart=True)


@pytest.mark.parametrize(("restart", "existing"), [("yes", None), (1, None), (True, True)])
def test_a_restart_that_means_nothing_is_refused(tmp_path: Path, restart: Any, existing: bool | None) -> None:
    with pytest.raises(ParameterError, match="restart must be True or False") as refused:
        opened(tmp_path / "visits.ledger", restart=restart, existing=existing)
    assert refused.value.next_step == "write restart=True alone, or leave it out"
    assert not list(tmp_path.iterdir())
