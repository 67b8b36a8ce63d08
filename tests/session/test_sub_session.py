"""A sub-session is charged once, uses up what comes back, and never answers twice or for free."""

from __future__ import annotations

import asyncio
import pickle
import queue
import traceback
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.engines.pandas_source import PandasSource
from dpviz.errors import (
    BudgetExceeded,
    DpvizError,
    LedgerError,
    LedgerFormat,
    ParameterError,
    ReleaseCancelled,
    ReleaseFailed,
    ReleaseLost,
    SchemaError,
    SessionBusy,
)
from dpviz.mechanisms import symbol_balance as sub_account
from dpviz.model.release import Release
from dpviz.model.source import Tick
from dpviz.model.statistic import Statistic
from dpviz.session.ledger import Ledger
from dpviz.session.session import Session
from dpviz.session.sub_session import SubSession
from tests.patience import patience
from tests.session.sources import Gate, KnownTop

# A step of ε 1 and gaps of 60 counts or more: an order other than the true one has a chance below e^-60. Places of one
# person stay below the threshold but for a chance of 1e-12.
PLACES = {"Aachen": 300, "Bonn": 230, "Celle": 160, "Daun": 1}
STEP = {"epsilon_per_item": "1", "delta": "1e-12"}
PAY_WHAT_YOU_GET = dv.PayWhatYouGet(symbols=12, questions=4, **STEP)  # type: ignore[arg-type]
UNIT = dv.Unit("person", max_bins=2)
BUDGET = dv.Budget(epsilon="100", delta="1e-5")


def people() -> pd.DataFrame:
    """One row per person, and in May those of Aachen alone."""
    rows = [
        (f"{place} {n}", place, 5 if place == "Aachen" else 6) for place, many in PLACES.items() for n in range(many)
    ]
    return pd.DataFrame(rows, columns=["person", "dest", "month"])


def session(path: Path, data: object = None, budget: dv.Budget = BUDGET, unit: dv.Unit = UNIT) -> Session:
    return Session(people() if data is None else data, unit, budget, path / "test.ledger")


def known(before: Callable[[Tick | None], None] | None = None) -> KnownTop:
    return KnownTop({"": PLACES, "where month is 5": {"Aachen": 300}}, before)


# ---------------------------------------------------------------- the story


def test_what_comes_back_is_used_up_and_nothing_else_is_charged(tmp_path: Path) -> None:
    it = session(tmp_path)
    sub = it.open(PAY_WHAT_YOU_GET)
    paid = it.remaining
    assert 100 - paid.epsilon == sub.price.loss.epsilon == Fraction(12000001, 10**6)  # 12 + 12 ln(1 + 1e-12), up
    assert (sub.symbols_left, sub.questions_left) == (12, 4)

    first = sub.ask("dest", k=2)
    assert (first.items, first.ended) == (["Aachen", "Bonn"], False)
    assert (sub.symbols_left, sub.questions_left) == (10, 3)

    ended = sub.ask("dest", k=8, kbar=8)
    assert (ended.items, ended.ended) == (["Aachen", "Bonn", "Celle"], True), "one person made a place"
    assert (sub.symbols_left, sub.questions_left) == (6, 2), "three items and ⊥ are four symbols of the eight reserved"

    where = sub.ask("dest", k=6, kbar=6, where={"month": 5})
    assert (where.items, where.ended) == (["Aachen"], True)
    assert (sub.symbols_left, sub.questions_left) == (4, 1)

    with pytest.raises(BudgetExceeded, match="may use 5 symbols but 4 are left; ask for at most 4 symbols. Nothing"):
        sub.ask("dest", k=5)
    assert sub.ask("dest", k=4, kbar=9).items == ["Aachen", "Bonn", "Celle"]
    assert (sub.symbols_left, sub.questions_left) == (0, 0)
    assert it.remaining == paid, "asking was charged again"
    assert [answer.items for answer in sub.answers][:2] == [first.items, ended.items]
    assert [(row.used, row.status) for row in sub.transcript] == [(2, "done"), (4, "done"), (2, "done"), (4, "done")]
    assert it.ledger.verify(check=sub_account.follows).uses == {"done": 4}


def test_questions_run_out_too(tmp_path: Path) -> None:
    sub = session(tmp_path).open(dv.PayWhatYouGet(symbols=12, questions=1, **STEP))  # type: ignore[arg-type]
    sub.ask("dest", k=2)
    with pytest.raises(BudgetExceeded, match="No questions are left") as refused:
        sub.ask("dest", k=1)
    assert (refused.value.part, refused.value.left, sub.symbols_left) == ("questions", "0", 10)


def test_a_private_choice_of_kbar_uses_one_symbol_more(tmp_path: Path) -> None:
    sub = session(tmp_path, known()).open(PAY_WHAT_YOU_GET)
    assert sub.plan("dest", k=2, kbar="private", largest=9).most == 3
    answer = sub.ask("dest", k=2, kbar="private", largest=9)
    assert answer.items == ["Aachen", "Bonn"]
    assert sub.symbols_left == 12 - 3
    assert sub.transcript[0].used == 3 and sub.transcript[0].kbar == "private"
    with pytest.raises(BudgetExceeded, match="may use 10 symbols but 9 are left"):
        sub.ask("dest", k=9, kbar="private", largest=20)


def test_an_ask_says_what_it_used_of_what_was_paid(tmp_path: Path) -> None:
    sub = session(tmp_path).open(PAY_WHAT_YOU_GET)
    sub.ask("dest", k=2)
    answer = sub.ask("dest", k=8)
    assert answer.price_text == "4 of 12 symbols and 1 of 4 questions of entry 1"
    assert answer.title.endswith(answer.price_text)
    assert answer.guarantee == sub.price and answer.guarantee.loss.epsilon == Fraction(12000001, 10**6)
    assert "12 symbols, 4 questions together" in answer.guarantee.rule
    assert (answer.number, answer.use) == (1, 2)
    assert "number 1, question 2: dest" in repr(answer)


def test_an_answer_is_saved_and_loaded(tmp_path: Path) -> None:
    sub = session(tmp_path).open(PAY_WHAT_YOU_GET)
    answer = sub.ask("dest", k=8)
    loaded = dv.load(answer.save(tmp_path / "answer.json"))
    assert loaded == answer and loaded.price_text == answer.price_text and loaded.use == 1
    private = sub.ask("dest", k=2, kbar="private", largest=9)
    assert (
        dv.load(private.save(tmp_path / "private.json")).price_text == "3 of 12 symbols and 1 of 4 questions of entry 1"
    )


# ---------------------------------------------------------------- the same again, another kernel


def test_the_same_call_opens_the_same_sub_session(tmp_path: Path) -> None:
    it = session(tmp_path)
    sub = it.open(PAY_WHAT_YOU_GET)
    answer, left = sub.ask("dest", k=2), it.remaining
    again = session(tmp_path).open(dv.PayWhatYouGet(symbols=12, questions=4, **STEP))  # type: ignore[arg-type]
    assert (again.number, again.symbols_left, again.answers) == (1, 10, [answer])
    assert it.remaining == left

    another = it.open(PAY_WHAT_YOU_GET, key="another")
    assert (another.number, another.symbols_left) == (2, 12)
    assert it.remaining.epsilon == left.epsilon - another.price.loss.epsilon
    assert another.ask("dest", k=2) != answer, "an answer of one sub-session was given by another"


def test_a_sub_session_is_found_by_its_number_and_keeps_its_parameters(tmp_path: Path) -> None:
    it = session(tmp_path)
    it.release("dest", dv.TopK(k=2, epsilon="30"))
    answer = it.open(PAY_WHAT_YOU_GET).ask("dest", k=2)
    it.open(PAY_WHAT_YOU_GET, key="closed").close()
    found = session(tmp_path).sub_sessions
    assert [(number, sub.closed) for number, sub in found.items()] == [(2, False), (3, True)]
    assert (found[2].parameters, found[2].answers, found[2].symbols_left) == (PAY_WHAT_YOU_GET, [answer], 10)


def test_a_dpviz_that_would_take_another_step_does_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = dv.PayWhatYouGet(symbols=12, questions=4, epsilon="1", delta="1e-6")
    it = session(tmp_path)
    assert it.open(made).number == it.open(made).number == 1
    smaller = replace(made.step_price(UNIT), step=made.step_price(UNIT).step - Fraction(1, 10**9))
    monkeypatch.setattr("dpviz.mechanisms.pay_what_you_get._calibrated", lambda *given: smaller)
    left = it.remaining
    with pytest.raises(LedgerFormat, match="keeps the step and the deltas it was opened with"):
        it.open(made)
    assert it.remaining == left


def test_the_same_ask_is_free_and_another_key_is_not(tmp_path: Path) -> None:
    sub = session(tmp_path).open(PAY_WHAT_YOU_GET)
    answer = sub.ask("dest", k=2)
    head = sub.ledger.head()
    assert (
        sub.ask("dest", k=2)
        == answer
        == session(tmp_path).open(PAY_WHAT_YOU_GET).ask(dv.Domain.keys(column="dest"), k=2)
    )
    assert sub.ledger.head() == head, "looking at an answer wrote something"
    fresh = sub.ask("dest", k=2, key="again")
    assert (fresh.use, fresh.items, sub.symbols_left) == (2, answer.items, 8)
    for changed in ({"k": 1}, {"kbar": 51}, {"where": {"month": 5}}):
        left = sub.symbols_left
        sub.ask("dest", **({"k": 2} | changed))  # type: ignore[arg-type]
        assert sub.symbols_left < left
        if not sub.questions_left:
            break


def test_a_stored_answer_is_free_when_nothing_is_left(tmp_path: Path) -> None:
    sub = session(tmp_path).open(dv.PayWhatYouGet(symbols=2, questions=1, **STEP))  # type: ignore[arg-type]
    answer = sub.ask("dest", k=2)
    assert (sub.symbols_left, sub.questions_left) == (0, 0)
    assert sub.ask("dest", k=2) == answer


def test_two_kernels_share_what_is_left(tmp_path: Path) -> None:
    gate = Gate()
    waiting = session(tmp_path, known(gate)).open(PAY_WHAT_YOU_GET)
    other = session(tmp_path, known()).open(PAY_WHAT_YOU_GET)
    running = waiting.ask_async("dest", k=9)
    assert gate.reached.wait(patience())
    assert (other.symbols_left, other.questions_left) == (3, 3), "what may come back is not reserved"
    with pytest.raises(SessionBusy, match="another kernel|drawing this answer now"):
        other.ask("dest", k=9)
    with pytest.raises(BudgetExceeded, match="may use 4 symbols but 3 are left"):
        other.ask("dest", k=4)
    assert other.ask("dest", k=3).items == ["Aachen", "Bonn", "Celle"]
    gate.open.set()
    assert running.result(patience()).items == ["Aachen", "Bonn", "Celle"]
    assert (other.symbols_left, other.questions_left) == (5, 2), "five of nine reserved symbols were not needed"


def test_one_draw_of_a_session_at_a_time_whoever_asks(tmp_path: Path) -> None:
    gate = Gate()
    it = session(tmp_path, known(gate))
    sub = it.open(PAY_WHAT_YOU_GET)
    running = sub.ask_async("dest", k=2)
    assert gate.reached.wait(patience()) and it.running is running is sub.running
    head = sub.ledger.head()
    with pytest.raises(SessionBusy, match="this session is drawing another release; nothing was charged"):
        sub.ask("dest", k=1)
    with pytest.raises(SessionBusy):
        it.release("dest", dv.TopK(k=1, epsilon="1"))
    assert sub.ledger.head() == head
    gate.open.set()
    assert running.result(patience()) == asyncio.run(_awaited(sub))


async def _awaited(sub: SubSession) -> Release:
    return await sub.ask_async("dest", k=2)


# ---------------------------------------------------------------- what does not end well


def test_a_cancel_keeps_all_that_was_reserved(tmp_path: Path) -> None:
    gate = Gate()
    sub = session(tmp_path, known(gate)).open(PAY_WHAT_YOU_GET)
    running = sub.ask_async("dest", k=3, key="mine")
    assert gate.reached.wait(patience())
    sub.cancel()
    with pytest.raises(ReleaseCancelled, match="3 symbols and 1 question of entry 1 are spent and no answer was shown"):
        running.result(patience())
    assert (sub.symbols_left, sub.questions_left, sub.answers) == (9, 3, [])
    assert [(row.status, row.used, row.items) for row in sub.transcript] == [("cancelled", 3, ())]
    with pytest.raises(ReleaseLost, match="was cancelled, so it has no answer"):
        sub.ask("dest", k=3, key="mine")
    gate.open.set()
    assert sub.ask("dest", k=3, key="mine", retry=True).items == ["Aachen", "Bonn", "Celle"]
    assert (sub.symbols_left, sub.questions_left) == (6, 2), "a retry is paid"


def test_an_engine_that_dies_keeps_all_that_was_reserved_and_tells_nothing(tmp_path: Path) -> None:
    def die(tick: Tick | None) -> None:
        raise RuntimeError("Aachen 300")

    sub = session(tmp_path, known(die)).open(PAY_WHAT_YOU_GET)
    with pytest.raises(ReleaseFailed, match="3 symbols and 1 question of entry 1 are spent") as failed:
        sub.ask("dest", k=3)
    assert "Aachen" not in "".join(traceback.format_exception(failed.value))
    assert (sub.symbols_left, sub.questions_left) == (9, 3)
    assert sub.transcript[0].status == "failed"
    assert b"Aachen" not in (tmp_path / "test.ledger").read_bytes()


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (ParameterError, lambda sub: sub.ask("dest", k=0)),
        (ParameterError, lambda sub: sub.ask("dest", k=1.5)),
        (ParameterError, lambda sub: sub.ask("dest", k=3, kbar=2)),
        (ParameterError, lambda sub: sub.ask("dest", k=3, kbar="private")),
        (ParameterError, lambda sub: sub.ask("dest", k=3, kbar="private", largest=3)),
        (ParameterError, lambda sub: sub.ask("dest", k=3, kbar=5, largest=9)),
        (ParameterError, lambda sub: sub.ask("dest", k=3, key="")),
        (ParameterError, lambda sub: sub.ask("dest", k=3, retry="no")),
        (ParameterError, lambda sub: sub.ask(people(), k=3)),
        (ParameterError, lambda sub: sub.ask("dest", k=people()["dest"])),
        (ParameterError, lambda sub: sub.ask(dv.Domain.categories(["Aachen"], column="dest"), k=3)),
        (SchemaError, lambda sub: sub.ask("town", k=3)),
        (BudgetExceeded, lambda sub: sub.ask("dest", k=13)),
        (BudgetExceeded, lambda sub: sub.ask("dest", k=12, kbar="private", largest=20)),
    ],
)
def test_a_refusal_changes_nothing_and_reads_no_data(
    error: type[DpvizError],
    wrong: Callable[[SubSession], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted, count = [], PandasSource.count

    def counting(self: PandasSource, *given: Any) -> Statistic:
        counted.append(given)
        return count(self, *given)

    monkeypatch.setattr(PandasSource, "count", counting)
    sub = session(tmp_path).open(PAY_WHAT_YOU_GET)
    head, left = sub.ledger.head(), repr(sub)
    with pytest.raises(error):
        wrong(sub)
    assert (sub.ledger.head(), repr(sub), counted) == (head, left, [])
    assert sub.ask("dest", k=2).items == ["Aachen", "Bonn"], "the sub-session is not usable after a refusal"
    assert len(counted) == 1


def test_a_refusal_leaves_the_bytes_of_the_ledger(tmp_path: Path) -> None:
    sub = session(tmp_path).open(PAY_WHAT_YOU_GET)
    sub.ledger.detach()
    before = (tmp_path / "test.ledger").read_bytes()
    with pytest.raises(BudgetExceeded):
        sub.ask("dest", k=13)
    sub.ledger.detach()
    assert (tmp_path / "test.ledger").read_bytes() == before


def test_a_plan_of_a_sub_session_says_how_wrong_its_answers_would_be(tmp_path: Path) -> None:
    it = session(tmp_path)
    plan = it.plan_open(PAY_WHAT_YOU_GET)
    asked = it.open(PAY_WHAT_YOU_GET).plan("dest", k=10, kbar=50)
    errors = [measure.at(Fraction(1, 20)) for measure in plan.measures]
    assert errors == [measure.at(Fraction(1, 20)) for measure in asked.measures] and errors[0] is not None
    assert "asked with   k=10, kbar=50:" in repr(plan) and "to be listed" in repr(plan)


def test_a_price_that_does_not_fit_opens_nothing(tmp_path: Path) -> None:
    it = session(tmp_path, budget=dv.Budget(epsilon="1", delta="1e-6"))
    plan = it.plan_open(PAY_WHAT_YOU_GET)
    assert not plan.affordable and plan.price.loss.epsilon == Fraction(12000001, 10**6)
    head = it.ledger.head()
    with pytest.raises(BudgetExceeded, match="costs ε = 12.000001 but 1 is left"):
        it.open(PAY_WHAT_YOU_GET)
    assert (it.ledger.head(), it.ledger.entries()) == (head, [])
    for given in (people(), dv.TopK(epsilon=1), None):
        with pytest.raises(ParameterError, match="a sub-session is opened by its parameters"):
            it.open(given)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a mechanism is one of"):
        it.release("dest", PAY_WHAT_YOU_GET)  # type: ignore[arg-type]


# ---------------------------------------------------------------- closing


def test_a_closed_sub_session_gives_nothing_back_and_still_shows_its_answers(tmp_path: Path) -> None:
    it = session(tmp_path)
    sub = it.open(PAY_WHAT_YOU_GET)
    answer, left = sub.ask("dest", k=2), it.remaining
    assert not sub.closed
    sub.close()
    assert it.remaining == left, "closing refunded something"
    head = it.ledger.head()
    sub.close()
    again = session(tmp_path).open(PAY_WHAT_YOU_GET)
    assert again.closed and (again.symbols_left, again.questions_left) == (0, 0)
    assert again.answers == [answer] == [again.ask("dest", k=2)]
    assert len(again.transcript) == 1
    with pytest.raises(BudgetExceeded):
        again.ask("dest", k=1)
    assert it.ledger.head() == head
    assert it.ledger.verify(check=sub_account.follows)


def test_what_an_open_question_gives_back_to_a_closed_sub_session_cannot_be_used(tmp_path: Path) -> None:
    gate = Gate()
    sub = session(tmp_path, known(gate)).open(PAY_WHAT_YOU_GET)
    running = sub.ask_async("dest", k=9)
    assert gate.reached.wait(patience())
    session(tmp_path, known()).open(PAY_WHAT_YOU_GET).close()
    gate.open.set()
    assert len(running.result(patience()).items) == 3
    assert sub.questions_left == 0
    with pytest.raises(BudgetExceeded, match="No questions are left"):
        sub.ask("dest", k=1)


# ---------------------------------------------------------------- beside other releases


def test_releases_and_sub_sessions_stand_in_one_ledger(tmp_path: Path) -> None:
    it = session(tmp_path)
    released = it.release("dest", dv.TopK(k=2, epsilon="30"))
    sub = it.open(PAY_WHAT_YOU_GET)
    sub.ask("dest", k=2)
    assert list(it.releases) == [1] and it.releases[1] == released
    assert [(entry.number, entry.status) for entry in it.ledger.entries()] == [(1, "done"), (2, "open")]
    assert it.ledger.entry(2).price.startswith("ε 12.000001, δ 0.000000000004 per person")
    assert Ledger.read(tmp_path / "test.ledger").sub_account(2) == {"symbols": "10", "questions": "3"}
    assert released.use is None and b'"use"' not in released.to_bytes()


def test_an_open_sub_session_is_charged_as_range_bounded_steps_under_the_zcdp_filter(tmp_path: Path) -> None:
    budget = dv.Budget(epsilon="4", delta="1e-5", filter="zcdp")
    it = session(tmp_path, budget=budget)
    pay_what_you_get = dv.PayWhatYouGet(symbols=50, questions=20, epsilon="2", delta="1e-6")
    step_price = it.plan_open(pay_what_you_get).step_price
    before = it.remaining.parts
    it.open(pay_what_you_get)
    spent = {name: before[name] - left for name, left in it.remaining.parts.items()}
    booked = 50 * step_price.step**2 / 8
    assert booked <= spent["rho"] < booked + Fraction(1, 10**11)
    assert spent["delta"] == 20 * step_price.delta < pay_what_you_get.delta, (
        "the delta of composition is the filter's own"
    )
    assert 50 * step_price.delta * Fraction(99, 100) < spent["shift"]
    opened = 1
    while it.plan_open(pay_what_you_get).affordable:
        it.open(pay_what_you_get, key=str(opened))
        opened += 1
    assert opened > 4 / Fraction(2), "range-bounded steps cost no less than their epsilons added up"


def test_under_replace_one_a_step_counts_twice(tmp_path: Path) -> None:
    unit = dv.Unit("person", relation="replace-one", max_bins=2)
    it = session(tmp_path, known(), unit=unit)
    sub = it.open(PAY_WHAT_YOU_GET)
    assert sub.price.loss.epsilon == Fraction(24000001, 10**6)
    bound = sub.plan("dest", k=2).bound
    assert (bound.ranked.rule.gap, bound.ranked.rule.m(9), bound.ranked.rate) == (2, 4, 1)
    assert sub.ask("dest", k=2).items == ["Aachen", "Bonn"]
    with pytest.raises(ParameterError, match="private choice of kbar is priced for adding or removing"):
        sub.ask("dest", k=2, kbar="private", largest=9)


def test_plans_read_no_data_and_write_nothing(tmp_path: Path) -> None:
    source = known()
    it = session(tmp_path, source)
    before = it.ledger.head()
    assert "would cost   ε 12.000001, δ 0.000000000004 per person; leaves 87.999999 of 100" in repr(
        it.plan_open(PAY_WHAT_YOU_GET)
    )
    assert it.ledger.head() == before
    sub = it.open(PAY_WHAT_YOU_GET)
    opened, plan = it.ledger.head(), sub.plan("dest", k=8)
    assert (plan.most, plan.fits, plan.symbols_left, plan.questions_left) == (8, True, 12, 4)
    assert "may use      8 symbols and 1 question; 12 symbols and 4 questions left" in repr(plan)
    assert not sub.plan("dest", k=13).fits
    assert "more than the 12 symbols" in repr(sub.plan("dest", k=13))
    assert (it.ledger.head(), source.counted) == (opened, 0)


def test_what_may_be_asked_depends_on_answers_and_not_on_data(tmp_path: Path) -> None:
    """Data that differ in everything but the answers give the same plans, rows and refusals."""
    told = []
    for name, tally in (("many", PLACES), ("few", {"Aachen": 90, "Bonn": 30}), ("more", {**PLACES, "Emden": 231})):
        (tmp_path / name).mkdir()
        it = session(tmp_path / name, KnownTop({"": tally, "where month is 5": {}}))
        sub = it.open(PAY_WHAT_YOU_GET)
        answers = [sub.ask("dest", k=1), sub.ask("dest", k=7, where={"month": 5})]
        assert [answer.items for answer in answers] == [["Aachen"], []]
        with pytest.raises(BudgetExceeded) as refused:
            sub.ask("dest", k=11)
        told.append(f"{refused.value} {sub!r} {sub.plan('dest', k=3)!r} {sub.transcript} {it.remaining}")
    assert len(set(told)) == 1


def test_what_it_says_of_itself_is_public(tmp_path: Path) -> None:
    it = session(tmp_path)
    sub = it.open(PAY_WHAT_YOU_GET)
    sub.ask("dest", k=8)
    said = (
        f"{sub!r} {sub.transcript} {sub.plan('dest', k=2)!r} {it.plan_open(PAY_WHAT_YOU_GET)!r} {it.ledger.entries()}"
    )
    assert "12 symbols" in said and "Daun" not in said and "230" not in said
    with pytest.raises(LedgerError, match="a sub-session holds private data"):
        pickle.dumps(sub)


def test_onlookers_see_a_question_end(tmp_path: Path) -> None:
    class Onlooker:
        seen: queue.Queue[object] = queue.Queue()

        def look(self, running: object) -> None:
            self.seen.put(running)

    onlooker, it = Onlooker(), session(tmp_path)
    it.add_listener(onlooker.look)
    it.open(PAY_WHAT_YOU_GET).ask("dest", k=1)
    assert onlooker.seen.get(timeout=patience()) is not None, "told from another thread, soon after the answer is there"
    assert onlooker.seen.empty()
