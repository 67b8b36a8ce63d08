"""Ledgers whose rho adds up, written by the last dpviz of the earlier conversion and by the first of today's."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import CharterMismatch, LedgerCorrupt, LedgerFormat, ParameterError
from dpviz.session import accountant, arithmetic
from dpviz.session.ledger import Ledger, rows
from dpviz.session.ledger.chain import CONVERTING
from tests.kept.calls import AGES, MONTHS
from tests.kept.write_zcdp import HERE, opened

RAISED = {"epsilon": "5"}
"""Both budgets were raised to this."""


def kept(name: str, folder: Path) -> Path:
    path = folder / "kept.ledger"
    path.write_bytes(gzip.decompress((HERE / f"{name}.ledger.gz").read_bytes()))
    return path


def spent(session: dv.Session) -> Fraction:
    left = session.remaining
    return left.caps["rho"] - left.parts["rho"]


def price(session: dv.Session, number: int) -> dict[str, Any]:
    found: dict[str, Any] = session.ledger.entry(number).body["price"]
    return found


def test_an_earlier_ledger_goes_on_under_its_rule(tmp_path: Path) -> None:
    """A person who opens it need not know which rule that is."""
    session = opened(kept("before", tmp_path), **RAISED)
    budget = session.budget
    assert budget.conversion == "bun-steinke" and session.ledger.verify()
    assert session.remaining.caps["rho"] == accountant.caps(budget)["rho"] < accountant.caps(today())["rho"]
    before = spent(session)
    assert session.release(MONTHS, dv.Dense("1/10")).number == 1 and spent(session) == before, "the stored answer"
    made = session.release(MONTHS, dv.Dense("1/11"))
    assert spent(session) - before == accountant.ceiling(Fraction(1, 242), Fraction(1, 10**12))
    assert made.number is not None and "fine" not in price(session, made.number), (
        "as an earlier dpviz writes and reads it"
    )
    assert "conversion" not in session.ledger.account and session.ledger.verify()
    assert all(sub.parameters.questions == 2 for sub in session.sub_sessions.values()) and session.sub_sessions


def today() -> dv.Budget:
    return dv.Budget("5", "1e-4", filter="zcdp")


def test_an_earlier_ledger_is_raised_to_the_larger_cap(tmp_path: Path) -> None:
    path = kept("before", tmp_path)
    session = opened(path, **RAISED)
    before = spent(session)
    session.raise_budget(today(), reason="less is given away")
    assert session.budget == today() and session.remaining.caps == accountant.caps(today())
    assert spent(session) == before, "what was booked stays"
    session.release(MONTHS, dv.Dense("1/11"))
    assert spent(session) - before < Fraction(1, 242) - Fraction(1, 10**6)
    assert session.ledger.verify() and Ledger.read(path, check=arithmetic.known).verify()
    assert opened(path, **RAISED).budget == today()
    with pytest.raises(CharterMismatch, match="conversion"):
        opened(path, **RAISED, conversion="bun-steinke")
    with pytest.raises(ParameterError, match="not lowered"):
        session.raise_budget(dv.Budget("6", "1e-4", "zcdp", "bun-steinke"))
    with pytest.raises(CharterMismatch, match=r"raised to ε 5"):
        opened(path)


def test_a_raise_that_names_the_earlier_rule_keeps_it(tmp_path: Path) -> None:
    session = opened(kept("before", tmp_path), **RAISED)
    wanted = dv.Budget("6", "1e-4", "zcdp", "bun-steinke")
    session.raise_budget(wanted)
    assert session.budget == wanted and session.remaining.caps == accountant.caps(wanted)
    assert "conversion" not in session.ledger.account and session.ledger.verify()


def test_entries_booked_anew_by_a_smaller_rule_would_look_forged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = kept("before", tmp_path), accountant.entered

    def smaller(filter: accountant.Filter, price: Any) -> dict[str, Fraction]:
        if "fine" in price:
            return read(filter, price)
        loss = dv.privacy.ApproxDP(Fraction(price["epsilon"]), Fraction(price["delta"]))
        return accountant.booked(filter, loss)

    assert Ledger.read(path, check=arithmetic.known).verify()
    monkeypatch.setattr(accountant, "entered", smaller)
    with pytest.raises(LedgerCorrupt, match="totals that do not follow"):
        Ledger.read(path, check=arithmetic.known).verify()


def test_a_ledger_of_today_keeps_what_it_booked_and_says_it(tmp_path: Path) -> None:
    session = opened(kept("after", tmp_path), **RAISED)
    assert session.ledger.verify() and session.budget == today()
    said = {entry.number: Fraction(entry.body["price"]["fine"].get("rho", "0")) for entry in session.ledger.entries()}
    assert len(said) == 7 and 0 < said[1] <= Fraction("0.004995837496") and said[5] > 0
    before = spent(session)
    assert session.release(AGES, dv.Dense("1/9")).number == 7 and spent(session) == before


def test_an_earlier_dpviz_refuses_a_ledger_of_today_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kept("after", tmp_path)
    monkeypatch.setattr(rows, "FORMAT", CONVERTING - 1)
    with pytest.raises(LedgerFormat, match="has format 4, and this dpviz reads up to 3; upgrade dpviz"):
        opened(path, **RAISED)
    before = tmp_path / "before"
    before.mkdir()
    assert opened(kept("before", before), **RAISED).ledger.verify(), "and reads one of its own"


def test_a_basic_ledger_is_begun_in_the_format_that_an_earlier_dpviz_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "FORMAT", CONVERTING - 1)
    session = opened(tmp_path / "basic.ledger", filter="basic")
    session.release(MONTHS, dv.Dense("1/10"))
    assert session.ledger.verify() and "fine" not in price(session, 1)


def test_a_ledger_with_a_reserve_keeps_it(tmp_path: Path) -> None:
    session = opened(kept("reserve", tmp_path), **RAISED, reserve="1/10")
    assert session.ledger.verify() and session.budget.reserve == Fraction(1, 10)
    assert session.remaining.caps == accountant.caps(dv.Budget("5", "1e-4", "zcdp", reserve="1/10"))
    before = spent(session)
    assert session.release(AGES, dv.Dense("1/9")).number == 7 and spent(session) == before
    assert session.remaining.caps["rho"] > accountant.caps(today())["rho"]
