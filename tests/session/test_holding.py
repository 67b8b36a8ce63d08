"""`verify` holds each entry against what it paid for: a ledger that was written anew is found, though it adds up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz import cli
from dpviz.errors import LedgerCorrupt
from dpviz.model.question import canonical
from dpviz.privacy.grid import steps
from dpviz.session import accountant, arithmetic, holding
from dpviz.session.ledger import Ledger
from dpviz.session.ledger.chain import Row, State
from dpviz.session.session import Session
from tests.ledger.tools import behind, forget

BINS = dv.Domain.integers(0, 3, column="x")
KEYS = dv.Domain.keys(column="dest")
CITIES = dv.Domain.categories(["a", "b"], column="city")
BUDGETS = {"basic": dv.Budget(400, "1e-2"), "zcdp": dv.Budget(400, "1e-2", filter="zcdp")}


def paid(path: Path, filter_: str) -> Session:
    """A ledger with answers of several kinds, two sub-sessions with answers, and charges without any."""
    rows = 30
    frame = pd.DataFrame(
        {"x": [0, 1, 1, 3] * rows, "dest": ["A", "B", "B", "C"] * rows, "city": ["a", "b", "a", "b"] * rows}
    )
    session = Session(frame, dv.Unit(), BUDGETS[filter_], path)
    session.release(BINS, dv.Dense(1))  # entry 1
    session.release(BINS, dv.Tree(1))
    session.release(KEYS, dv.Stability(1, "1e-6"))
    session.release("dest", dv.TopK(k=2, kbar=3, epsilon=1, delta="1e-6"))
    session.release(BINS, dv.Dense(1), by=CITIES)  # entry 5
    sub = session.open(dv.PayWhatYouGet(symbols=20, questions=10, epsilon="1", delta="1e-7"))  # entry 6
    sub.ask("dest", 2)
    sub.ask("dest", 1)
    parts = session.open(dv.Parts(CITIES, epsilon="2"))  # entry 7
    parts.ask(BINS, dv.Dense(1), part="a")
    session.ledger.detach()
    return session


@pytest.fixture(scope="module", params=sorted(BUDGETS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(request.param) / "visits.ledger"
    paid(path, request.param)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "visits.ledger"
    shutil.copy(made, copy)
    return copy


Change = Callable[[str, dict[str, Any]], object]


def rewritten(path: Path, change: Change) -> None:
    """Write the chain anew as `change` would have each row, with the totals that follow and hashes that fit."""
    with behind(path) as connection:
        rows = [Row.read(row) for row in connection.execute("SELECT * FROM chain ORDER BY seq")]
        last: Row | None = None
        account: dict[str, str] = {}
        for row in rows:
            parts = {name: part for name, part in row.content.items() if name not in ("at", "state")}
            change(row.kind, parts)
            if row.kind == "charter":
                account = dict(row.state.account)
            if row.kind == "charge":
                cost = accountant.entered(account["filter"], parts["charge"]["price"])  # type: ignore[arg-type]
                account = {**account, **{part: str(int(account[part]) + steps(cost[part])) for part in cost}}
            last = Row.after(last, row.kind, State(account, row.state.charges, row.state.terms), **parts)
            connection.execute("UPDATE chain SET previous = ? WHERE seq = ?", (f"moved {row.seq}", row.seq))
            connection.execute(
                "UPDATE chain SET body = ?, previous = ?, hash = ? WHERE seq = ?",
                (last.body, last.previous, last.hash, row.seq),
            )
            for table in ("entry", "use"):
                connection.execute(f"UPDATE {table} SET closed = ? WHERE outcome = ?", (last.content["at"], row.seq))
            if "key" in parts:
                connection.execute("UPDATE entry SET key = ? WHERE charge = ?", (parts["key"], row.seq))
                connection.execute("UPDATE use SET key = ? WHERE charge = ?", (parts["key"], row.seq))


def verify(path: Path, *, held: bool = True) -> None:
    Ledger.read(path, check=arithmetic.known, holds=holding.holds if held else None).verify()


def entry(number: int, change: Callable[[dict[str, Any]], object]) -> Change:
    """Change what one charge says."""

    def changed(kind: str, parts: dict[str, Any]) -> None:
        if kind == "charge" and parts["number"] == number:
            change(parts["charge"])

    return changed


def answer(number: int, change: Callable[[dict[str, Any]], object], use: int | None = None) -> Change:
    """Change the stored answer of one entry, or of one use, with a checksum that fits."""

    def changed(kind: str, parts: dict[str, Any]) -> None:
        place = (parts["entry"], parts["number"]) if kind == "settle" else (parts.get("number"), None)
        if kind in ("outcome", "settle") and place == (number, use):
            body = json.loads(parts["answer"]["text"])["release"]
            change(body)
            digest = sha256(canonical(body)).hexdigest()
            parts["answer"] = {"text": canonical({"release": body, "sha256": digest}).decode()}

    return changed


def both(*changes: Change) -> Change:
    def changed(kind: str, parts: dict[str, Any]) -> None:
        for change in changes:
            change(kind, parts)

    return changed


def cheaper(said: dict[str, Any]) -> None:
    """Half of every amount that a price says."""
    price = said["price"]
    price["epsilon"] = _half(price["epsilon"])
    if "fine" in price:
        price["fine"] = {
            name: _half(part) if name in ("rho", "epsilon") else part for name, part in price["fine"].items()
        }


def _half(text: str) -> str:
    return str(Fraction(text) / 2)


def weaker(body: dict[str, Any]) -> None:
    """The answer's own guarantee says half, too."""
    for loss in filter(None, (body["guarantee"].get(part) for part in ("loss", "charged", "zcdp_steps"))):
        for name in ("epsilon", "rho"):
            if name in loss:
                loss[name] = _half(loss[name])


def unreadable(body: dict[str, Any]) -> None:
    body["law"]["name"] = "of a later dpviz"


def less_noise(body: dict[str, Any]) -> None:
    body["mechanism"]["parameters"]["epsilon"] = "0.5"


def given_back(number: int, use: int) -> Change:
    """A settle that gives back one symbol more than its answer left, and whatever follows carries it on."""

    def changed(kind: str, parts: dict[str, Any]) -> None:
        if kind == "charter":
            changed.done = False  # type: ignore[attr-defined]
        after = kind == "settle" and parts["entry"] == number and parts["number"] == use
        if after or (changed.done and parts.get("entry") == number):  # type: ignore[attr-defined]
            changed.done = True  # type: ignore[attr-defined]
            parts["sub"] = {**parts["sub"], "symbols": str(int(parts["sub"]["symbols"]) + 1)}

    return changed


def moved(kind: str, parts: dict[str, Any]) -> None:
    """Entry 1 and entry 2 change their answers."""
    if kind == "outcome" and parts["number"] in (1, 2):
        moved.kept[parts["number"]] = parts["answer"]  # type: ignore[attr-defined]
        if parts["number"] == 2:
            parts["answer"] = moved.kept[1]  # type: ignore[attr-defined]


moved.kept = {}  # type: ignore[attr-defined]

FORGERIES: dict[str, tuple[Change, str]] = {
    "a price of half": (entry(1, cheaper), "less than"),
    "a price of half, of a tree": (entry(2, cheaper), "less than"),
    "a price of half, of keys": (entry(3, cheaper), "less than"),
    "a price of half, of a list": (entry(4, cheaper), "less than"),
    "a price of half, of parts": (entry(5, cheaper), "less than"),
    "a price of half, of a sub-session": (entry(6, cheaper), "less than"),
    "a price of half, of a sub-session of parts": (entry(7, cheaper), "less than"),
    "a price and a guarantee of half": (both(entry(1, cheaper), answer(1, weaker)), "less than what its parameters"),
    "price, guarantee and parameters of half": (
        both(
            entry(1, cheaper),
            entry(1, less_noise),
            answer(1, weaker),
            answer(1, less_noise),
        ),
        "from another law",
    ),
    "a price of half beside an answer that nobody reads": (both(entry(1, cheaper), answer(1, unreadable)), "less than"),
    "a symbol too many for an answer that nobody reads": (
        both(given_back(6, 1), answer(6, unreadable, 1)),
        "nobody can read",
    ),
    "parameters of half": (entry(1, less_noise), "another parameters"),
    "another question": (entry(1, lambda body: body["question"]["domain"].update(column="y")), "another question"),
    "another mode": (entry(1, lambda body: body.update(mode="strict")), "another mode"),
    "another key": (answer(1, lambda body: body.update(key="0" * 64)), "another key"),
    "another data set": (answer(1, lambda body: body.update(dataset="cities")), "another dataset"),
    "another unit": (answer(1, lambda body: body["unit"].update(noun="city")), "another unit"),
    "another number": (answer(1, lambda body: body.update(number=2)), "another number"),
    "the answer of another entry": (moved, "another number"),
    "a symbol too many given back": (given_back(6, 1), "gives back something else"),
    "the last symbol too many": (given_back(6, 2), "gives back something else"),
    "the answer of another use": (answer(6, lambda body: body.update(use=2), 1), "another number"),
    "a use that says it used less": (
        answer(6, lambda body: body["uses"][0].update(amount="0"), 1),
        "says it used something else",
    ),
    "another part": (
        answer(7, lambda body: body["mechanism"]["parameters"].update(part="b"), 1),
        "another parameters",
    ),
}


def test_an_honest_ledger_holds_also_when_it_is_written_anew(path: Path) -> None:
    verify(path)
    rewritten(path, lambda kind, parts: None)
    forget_all(path)
    verify(path)


def forget_all(path: Path) -> None:
    if path.with_name(path.name + "-lock").exists():
        forget(path)


@pytest.mark.parametrize("name", FORGERIES)
def test_an_entry_that_is_not_what_it_paid_for_is_found(
    path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change, said = FORGERIES[name]
    rewritten(path, change)
    with pytest.raises(LedgerCorrupt, match=said):
        verify(path)
    assert cli.main(["ledger", "verify", str(path)]) == cli.DAMAGED
    assert said in capsys.readouterr().err


ADDS_UP = [name for name in FORGERIES if not name.startswith(("a price of half, of a sub-session", "another part"))]


@pytest.mark.parametrize("name", ADDS_UP)
def test_prices_alone_would_not_have_found_it(path: Path, name: str) -> None:
    """The forgery is one: its chain fits and its totals add up, so it is found by what its answer says."""
    rewritten(path, FORGERIES[name][0])
    verify(path, held=False)


@pytest.mark.parametrize(
    "mechanism", [dv.Dense(3), dv.Dense(3, base="gaussian", delta="1e-6"), dv.Tree(3, base="gaussian", delta="1e-6")]
)
def test_a_charge_without_an_answer_is_held_against_its_parameters(tmp_path: Path, mechanism: Any) -> None:
    """Whatever the revision of its mechanism, which the charge names."""
    path = tmp_path / "visits.ledger"
    session = paid(path, "basic")
    plan = session.plan(BINS, mechanism)
    assert plan is not None

    def failing(*_: object) -> None:
        raise ValueError("no row is counted")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(session._source), "count", failing)
        with pytest.raises(dv.errors.ReleaseFailed):
            session.release(BINS, mechanism)
    verify(path)
    assert session.ledger.entries()[7].body["mechanism"].get("revision", 1) == mechanism.revision
    rewritten(path, entry(8, cheaper))
    forget_all(path)
    with pytest.raises(LedgerCorrupt, match="entry 8 .* less than what its parameters cost"):
        verify(path)


def test_an_answer_of_a_later_dpviz_is_held_against_nothing(path: Path) -> None:
    def later(body: dict[str, Any]) -> None:
        body["version"] = 99

    rewritten(path, answer(2, later))
    verify(path)


def test_a_session_verifies_by_itself_and_keeps_no_row_that_does_not_hold(path: Path) -> None:
    rewritten(path, given_back(6, 1))
    with pytest.raises(LedgerCorrupt, match="gives back"):
        Ledger.read(path, check=arithmetic.follows, holds=holding.holds).backup(path.with_name("copy.ledger"))
    assert not path.with_name("copy.ledger").exists()
