"""A kind of sub-session that dpviz has never heard of goes all the ways of the one it ships, by its protocol alone."""

from __future__ import annotations

import re
import threading
from fractions import Fraction
from pathlib import Path

import pytest

import dpviz as dv
from dpviz import cli
from dpviz.errors import BudgetExceeded, ParameterError, ReleaseLost
from dpviz.model.source import Tick
from dpviz.session import arithmetic
from dpviz.session.ledger import Step
from dpviz.session.releases import Unread
from dpviz.session.session import Session
from tests.killing import Child, Show
from tests.session import rounds
from tests.session.rounds import Rounds
from tests.session.sources import KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")
FEW = dv.Domain.integers(0, 1, column="x")
THREE = Rounds(3, Fraction(1, 4))
SESSION = Path(arithmetic.__file__).parent


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds.known(monkeypatch)


def session(place: Path, source: KnownCounts | None = None) -> Session:
    return Session(source or KnownCounts([5, 0, 70, 3]), dv.Unit("row"), dv.Budget(2), place / "test.ledger")


def test_it_is_planned_opened_used_closed_and_verified(tmp_path: Path) -> None:
    it = session(tmp_path)
    assert "per round    ε 0.25" in repr(it.plan_open(THREE))
    sub = it.open(THREE)
    assert it.remaining.epsilon == Fraction(5, 4) and it.ledger.entry(1).body["question_text"] == "rounds: 3"
    assert repr(sub.plan(BINS)).splitlines()[1].split() == ["may", "use", "1", "round;", "3", "rounds", "left"]
    answer = sub.ask(BINS)
    assert len(answer.values) == 4 and answer.guarantee.loss == THREE.price(it.unit).loss
    assert sub.ask(BINS).to_bytes() == answer.to_bytes() == sub.answer(1).to_bytes() == sub.answers[0].to_bytes()
    sub.ask(BINS, key="again")
    assert sub.rounds_left == sub.left.rounds_left == 1 and "1 of 3 rounds left" in repr(sub)
    assert [(row.number, row.status, row.key) for row in sub.transcript] == [(1, "done", None), (2, "done", "again")]
    sub.close()
    assert sub.closed and not sub.plan(BINS, where=None).fits
    with pytest.raises(BudgetExceeded, match="No rounds are left"):
        sub.ask(BINS, key="once more")
    assert it.ledger.verify(check=arithmetic.known).uses == {"done": 3}


def test_what_it_used_is_found_again_and_saved_and_loaded(tmp_path: Path) -> None:
    answer = session(tmp_path).open(THREE).ask(BINS)
    (sub,) = session(tmp_path).sub_sessions.values()
    assert sub.parameters == THREE and sub.answers[0].to_bytes() == answer.to_bytes() and sub.rounds_left == 2
    answer.save(tmp_path / "answer.json")
    loaded = dv.load(tmp_path / "answer.json", ledger=tmp_path / "test.ledger")
    assert loaded.use == 1 and loaded.to_bytes() == answer.to_bytes()


def test_a_kernel_that_is_killed_in_a_use_keeps_it_spent_and_the_rest_goes_on(tmp_path: Path) -> None:
    def work(show: Show) -> None:
        def hang(tick: Tick | None) -> None:
            show("counting")
            threading.Event().wait()

        session(tmp_path, KnownCounts([5, 0, 70, 3], hang)).open(THREE).ask(BINS)

    assert Child(work).killed(after=1, seconds=0) == ["counting"]
    sub = session(tmp_path).open(THREE)
    assert sub.rounds_left == 2 and [row.status for row in sub.transcript] == ["lost"]
    with pytest.raises(ReleaseLost):
        sub.ask(BINS)
    sub.ask(BINS, retry=True)
    assert sub.rounds_left == 1 and sub.ledger.verify(check=arithmetic.known).uses == {"lost": 1, "done": 1}


def test_where_it_is_not_known_any_more_its_neighbours_are_read_and_it_stays_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    it = session(tmp_path)
    it.open(THREE).ask(BINS).save(tmp_path / "answer.json")
    it.release(BINS, dv.Dense("1/2"))
    monkeypatch.undo()
    again = session(tmp_path)
    with pytest.warns(Unread, match="sub-session of entry 1 cannot be read by this dpviz"):
        assert again.sub_sessions == {}
    assert list(again.releases) == [2] and again.remaining.epsilon == Fraction(3, 4)
    assert dv.load(tmp_path / "answer.json").used == "1 of 3 rounds of entry 1", "the file says what was promised"
    with pytest.raises(ParameterError, match="a sub-session is opened by its parameters"):
        again.open(THREE)
    assert cli.main(["ledger", "verify", str(tmp_path / "test.ledger")]) == 0
    assert "1 open" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "before", "after", "allowed"),
    [
        ("open", {}, "3", True),
        ("open", {}, "4", False),
        ("reserve", {"rounds": "3"}, "2", True),
        ("reserve", {"rounds": "3"}, "3", False),
        ("settle", {"rounds": "2"}, "2", True),
        ("settle", {"rounds": "2"}, "3", False),
        ("settle", {"rounds": "2"}, "two", False),
    ],
)
def test_verify_adds_up_by_its_own_arithmetic(kind: str, before: dict[str, str], after: str, allowed: bool) -> None:
    mechanism = {"mechanism": {"name": "Rounds", "parameters": THREE.parameters()}}
    step = Step(kind, mechanism, before, {"rounds": after}, asked=mechanism)
    assert arithmetic.follows(step) is arithmetic.known(step) is allowed
    nobodys = {"mechanism": {"name": "Nobody's", "parameters": {}}}
    assert arithmetic.follows(Step(kind, nobodys, before, {"rounds": after}, asked=nobodys))


def test_nothing_in_the_session_knows_the_paper() -> None:
    named = re.compile(r"pay_what_you_get|PayWhatYouGet|symbols_left|questions_left|kbar")
    texts = {path: path.read_text() for path in SESSION.rglob("*.py")}
    assert [path.name for path, text in texts.items() if named.search(text)] == []
    assert named.search("from dpviz.mechanisms.pay_what_you_get import Asking")
