"""The arithmetic of a sub-session: in whatever order questions end, no symbol is used that was not paid for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz as dv
from dpviz import cli
from dpviz.errors import BudgetExceeded, LedgerCorrupt, LedgerError
from dpviz.mechanisms import symbol_balance as sub_account
from dpviz.session.ledger import Ledger, Step
from dpviz.session.session import Session
from tests.session.sources import KnownTop

PAID = {"mechanism": {"name": "PayWhatYouGet", "parameters": {"symbols": "12", "questions": "4"}}}

Adjust = Callable[[sub_account.State], dict[str, str]]


@settings(max_examples=300, deadline=None)
@given(
    symbols=st.integers(1, 30),
    questions=st.integers(1, 8),
    moves=st.lists(st.tuples(st.booleans(), st.integers(1, 12), st.integers(0, 100)), max_size=40),
)
def test_what_is_left_and_what_is_used_and_what_is_held_is_what_was_paid(
    symbols: int, questions: int, moves: list[tuple[bool, int, int]]
) -> None:
    """Questions begin and end in any order; each uses at least one symbol and at most what it reserved."""
    state, open_ones, used, asked = sub_account.opened(symbols, questions), [], 0, 0
    paid = {"mechanism": {"name": "PayWhatYouGet", "parameters": {"symbols": str(symbols)}}}
    for begins, most, chance in moves:
        before = state
        if begins:
            fits = sub_account.symbols(state) >= most and sub_account.questions(state) > 0
            try:
                state = sub_account.reserve(state, most)
            except BudgetExceeded as refused:
                assert not fits and refused.part in ("symbols", "questions") and state == before
                continue
            assert fits and sub_account.follows(Step("reserve", paid, before, state))
            open_ones.append((most, (before, state)))
            asked += 1
        elif open_ones:
            held, reserved = open_ones.pop(chance % len(open_ones))
            came = 1 + chance % held
            state = sub_account.give_back(state, held - came)
            assert sub_account.follows(Step("settle", paid, before, state, reserved=reserved))
            used += came
        assert sub_account.symbols(state) + sum(held for held, _ in open_ones) + used == symbols
        assert sub_account.questions(state) + asked == questions


@pytest.mark.parametrize(
    ("kind", "before", "after", "allowed"),
    [
        ("reserve", (12, 4), (2, 3), True),
        ("reserve", (12, 4), (0, 3), True),
        ("reserve", (12, 4), (0, 0), True),
        ("reserve", (12, 4), (12, 3), False),
        ("reserve", (12, 4), (2, 4), False),
        ("reserve", (12, 4), (2, 2), False),
        ("reserve", (2, 4), (3, 3), False),
        ("reserve", (2, 4), (-1, 3), False),
        ("settle", (2, 3), (5, 3), True),
        ("settle", (2, 3), (2, 3), True),
        ("settle", (2, 3), (1, 3), False),
        ("settle", (2, 3), (5, 4), False),
        ("settle", (2, 3), (13, 3), False),
        ("settle", (2, 3), (6, 3), False),  # more than this use took, though less than was paid for
        ("open", (0, 0), (12, 4), True),
        ("open", (0, 0), (13, 4), False),
        ("open", (0, 0), (12, 5), False),
    ],
)
def test_a_row_that_does_not_follow_is_known(
    kind: str, before: tuple[int, int], after: tuple[int, int], allowed: bool
) -> None:
    states = [{"symbols": str(symbols), "questions": str(questions)} for symbols, questions in (before, after)]
    reserved = (sub_account.opened(5, 4), sub_account.opened(2, 3))
    assert sub_account.follows(Step(kind, PAID, states[0], states[1], reserved=reserved)) == allowed
    assert sub_account.follows(Step(kind, {"mechanism": {"name": "Another"}}, states[0], states[1]))


@pytest.mark.parametrize(("kbar", "most"), [("50", 3), ("private", 4)])
def test_a_question_reserves_what_it_may_use_and_no_less(kbar: str, most: int) -> None:
    asked = {"mechanism": {"name": "PayWhatYouGet", "parameters": {"k": "3", "kbar": kbar}}}
    before = sub_account.opened(12, 4)
    allowed = [
        symbols
        for symbols in range(13)
        if sub_account.follows(Step("reserve", PAID, before, sub_account.opened(symbols, 3), asked))
    ]
    assert allowed == [12 - most]


@pytest.mark.parametrize(
    ("reserves", "settles"),
    [
        (lambda sub: dict(sub), lambda sub: dict(sub)),
        (lambda sub: sub_account.opened(2, 4), lambda sub: dict(sub)),
        (lambda sub: sub_account.reserve(sub, 3), lambda sub: sub_account.opened(13, 3)),
        (lambda sub: sub_account.reserve(sub, 3), lambda sub: sub_account.opened(9, 4)),
        (lambda sub: sub_account.reserve(sub, 3), lambda sub: sub_account.give_back(sub, 4)),
    ],
)
def test_a_ledger_with_such_a_row_does_not_verify(
    reserves: Adjust, settles: Adjust, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "test.ledger"
    unit, budget = dv.Unit("person", max_bins=2), dv.Budget(epsilon="100", delta="1e-6")
    sub = Session(KnownTop({"": {"a": 9}}), unit, budget, path).open(
        dv.PayWhatYouGet(symbols=12, questions=4, epsilon_per_item="1", delta="1e-9")
    )
    sub.ask("dest", k=2)
    assert cli.main(["ledger", "verify", str(path)]) == 0
    charter, account = sub.ledger.charter, sub.ledger.account
    with pytest.raises(LedgerError, match="gives back at most what it reserved"):
        use = sub.ledger.reserve(sub.number, "0" * 64, {}, reserves)
        sub.ledger.settle(sub.number, use.number, b"", settles)
    assert cli.main(["ledger", "verify", str(path)]) == 0, "a row that does not follow was written"
    careless = Ledger.open(path, charter=charter, account=account)  # by a program that knows no arithmetic
    use = careless.reserve(sub.number, "1" * 64, {}, reserves)
    careless.settle(sub.number, use.number, b"", settles)
    with pytest.raises(LedgerCorrupt, match="does not follow from the one before"):
        sub.ledger.verify()
    for act in (lambda: sub.ask("dest", k=1), lambda: sub.answers, lambda: sub.symbols_left):
        with pytest.raises(LedgerCorrupt, match="does not follow from the one before"):
            act()
    with pytest.raises(LedgerCorrupt, match="does not follow from the one before"):
        Session(KnownTop({"": {"a": 9}}), unit, budget, path)
    assert cli.main(["ledger", "verify", str(path)]) == 3
    assert "does not follow" in capsys.readouterr().err
