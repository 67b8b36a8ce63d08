"""A session charges before it draws, never answers twice, and changes nothing when it refuses."""

from __future__ import annotations

import asyncio
import copy
import pickle
import traceback
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import (
    BudgetExceeded,
    CharterMismatch,
    DpvizError,
    LedgerError,
    ParameterError,
    ReleaseCancelled,
    ReleaseFailed,
    ReleaseLost,
    SessionBusy,
)
from dpviz.model.source import Tick
from dpviz.session.session import Session
from tests.patience import patience
from tests.session.sources import Gate, KnownCounts

COUNTS = [7_310_001, 0, 8_420_002, 5]
BINS = dv.Domain.integers(0, 3, column="x")


def session(tmp_path: Path, epsilon: object = 2, source: KnownCounts | None = None, **more: object) -> Session:
    data = source or KnownCounts(COUNTS)
    budget = dv.Budget(epsilon=epsilon, delta=more.pop("delta", "1e-6"))  # type: ignore[arg-type]
    return Session(data, dv.Unit(noun="person"), budget, tmp_path / "test.ledger", **more)  # type: ignore[arg-type]


# ---------------------------------------------------------------- arithmetic of the budget


def test_three_tenths_hold_three_tenths_and_not_a_fourth(tmp_path: Path) -> None:
    it = session(tmp_path, "0.3")
    for turn in range(3):
        assert it.release(BINS, dv.Dense("0.1"), key=f"turn {turn}").guarantee.epsilon == Fraction(1, 10)
        assert it.remaining.epsilon == Fraction(3, 10) - Fraction(turn + 1, 10)
    with pytest.raises(BudgetExceeded, match="the budget is used up"):
        it.release(BINS, dv.Dense("0.1"), key="turn 4")
    assert it.remaining.epsilon == 0


def test_a_price_that_does_not_fit_is_refused_and_a_smaller_one_then_passes(tmp_path: Path) -> None:
    it = session(tmp_path, "0.15")
    it.release(BINS, dv.Dense("0.1"))
    with pytest.raises(
        BudgetExceeded, match=r"costs ε = 0.1 but 0.05 is left; ask for at most 0.05. Nothing was charged"
    ) as no:
        it.release(BINS, dv.Dense("0.1"), key="again")
    assert no.value.left == "0.05"
    assert it.remaining.epsilon == Fraction(1, 20)
    it.release(BINS, dv.Dense("0.05"))
    assert it.remaining.epsilon == 0


def test_three_thirds_fit_in_one(tmp_path: Path) -> None:
    it = session(tmp_path, 1)
    for turn in range(3):
        it.release(BINS, dv.Dense("1/3"), key=str(turn))
    assert it.remaining.epsilon == 0


def test_an_irrational_price_is_charged_rounded_up_and_never_above_what_was_asked(tmp_path: Path) -> None:
    it = session(tmp_path, 2)
    plan = it.plan(BINS, dv.Dense("1/2", base="tight", cap=100))
    release = it.release(BINS, dv.Dense("1/2", base="tight", cap=100))
    paid = 2 - it.remaining.epsilon
    assert plan.price.requested == Fraction(1, 2) and plan.price.exact == "ln(3/2)"
    assert paid == release.guarantee.epsilon == Fraction(405466, 10**6)  # ln(3/2) = 0.4054651…
    assert "asked 0.5, pays ε 0.405466 (exactly ln(3/2))" in repr(plan)


# ---------------------------------------------------------------- order and idempotency


def test_the_charge_is_durable_before_anything_is_counted(tmp_path: Path) -> None:
    seen: list[Fraction] = []
    source = KnownCounts(COUNTS, lambda tick: seen.append(it.remaining.epsilon))
    it = session(tmp_path, 2, source)
    it.release(BINS, dv.Dense("1/2"))
    assert seen == [Fraction(3, 2)]


def test_the_same_question_gives_the_stored_answer_free_and_for_ever(tmp_path: Path) -> None:
    source = KnownCounts(COUNTS)
    it = session(tmp_path, 2, source)
    first = it.release(BINS, dv.Dense("1/2"))
    assert it.release(BINS, dv.Dense(0.5)) == first
    later = session(tmp_path, 2, source)
    assert later.release(dv.Domain.integers(0, 3, column="x"), dv.Dense("0.5")) == first
    assert source.counted == 1 and later.remaining.epsilon == Fraction(3, 2)


def test_another_key_mode_parameter_or_filter_is_a_fresh_paid_draw(tmp_path: Path) -> None:
    it = session(tmp_path, 10)
    tight = dv.Dense("1/2", base="tight", cap=10**7)
    it.release(BINS, dv.Dense("1/2"))
    it.release(BINS, dv.Dense("1/2"), key="another")
    it.release(BINS, dv.Dense("1/2", clamp=False))
    it.release(BINS, dv.Dense("1/2"), where={"x": [1, 2]})
    it.release(BINS, tight)
    assert len(it.releases) == 5
    assert it.remaining.epsilon == 10 - 4 * Fraction(1, 2) - it.releases[5].guarantee.epsilon


def test_two_draws_of_the_same_question_differ(tmp_path: Path) -> None:
    it = session(tmp_path, 10)
    answers = {tuple(it.release(BINS, dv.Dense("0.001", clamp=False), key=str(turn)).values) for turn in range(5)}
    assert len(answers) == 5  # two are equal by chance in one bin in 4,000, and none is cut: all in four, below 1e-13


def test_releases_are_listed_by_number_and_read_back(tmp_path: Path) -> None:
    it = session(tmp_path)
    first = it.release(BINS, dv.Dense("1/2"))
    second = it.release(BINS, dv.Dense("1/4"))
    assert list(it.releases) == [1, 2] and it.releases[1] == first and it.releases[2] == second
    with pytest.raises(ParameterError, match="finished releases are: 1, 2"):
        it.releases[3]


# ---------------------------------------------------------------- cancel, failure, loss


def test_a_cancel_keeps_the_charge_and_shows_no_answer(tmp_path: Path) -> None:
    gate = Gate()
    it = session(tmp_path, 2, KnownCounts(COUNTS, gate))
    running = it.release_async(BINS, dv.Dense("1/2"))
    assert gate.reached.wait(patience())
    it.cancel()
    with pytest.raises(ReleaseCancelled, match=r"ε 0.5 is spent and no answer was shown"):
        running.result(patience())
    assert it.remaining.epsilon == Fraction(3, 2) and len(it.releases) == 0
    gate.open.set()
    with pytest.raises(ReleaseLost):
        it.release(BINS, dv.Dense("1/2"))
    with pytest.raises(ParameterError, match='retry must be True or False, got "no"; write retry=True'):
        it.release(BINS, dv.Dense("1/2"), retry="no")  # type: ignore[arg-type]
    assert it.remaining.epsilon == Fraction(3, 2)
    it.release(BINS, dv.Dense("1/2"), retry=True)
    assert it.remaining.epsilon == 1


def test_only_one_release_at_a_time_and_the_second_is_not_charged(tmp_path: Path) -> None:
    gate = Gate()
    it = session(tmp_path, 2, KnownCounts(COUNTS, gate))
    running = it.release_async(BINS, dv.Dense("1/2"))
    assert gate.reached.wait(patience())
    with pytest.raises(SessionBusy):
        it.release(BINS, dv.Dense("1/4"))
    gate.open.set()
    running.result(patience())
    assert it.remaining.epsilon == Fraction(3, 2)


@pytest.mark.parametrize("first", ["release_async", "draw"])
def test_a_teaching_session_draws_one_at_a_time_and_the_second_takes_no_randomness(first: str) -> None:
    gate, half = Gate(), dv.Dense("1/2")

    def held(tick: Any) -> None:  # a draw that is waited for has nobody to tick for
        gate.reached.set()
        assert gate.open.wait(patience())

    lesson, other = dv.teaching(KnownCounts(COUNTS, held), seed=7), dv.teaching(KnownCounts(COUNTS), seed=7)
    with ThreadPoolExecutor(1) as thread:
        drawn = thread.submit(lambda: getattr(lesson, first)(BINS, half))
        assert gate.reached.wait(patience())
        for second in (lesson.release_async, lesson.draw):
            with pytest.raises(SessionBusy, match="nothing was drawn"):
                second(BINS, half)
        gate.open.set()
        result = drawn.result(patience())
    result = result.result(patience()) if first == "release_async" else result
    assert result.values == other.draw(BINS, half).values
    assert lesson.draw(BINS, half).values == other.draw(BINS, half).values


def test_a_teaching_draw_that_was_cancelled_is_out_of_the_way_at_once() -> None:
    gate = Gate()
    lesson = dv.teaching(KnownCounts(COUNTS, gate), seed=7)
    running = lesson.release_async(BINS, dv.Dense("1/2"))
    assert gate.reached.wait(patience())
    lesson.cancel()
    with pytest.raises(ReleaseCancelled):
        running.result(patience())
    later = lesson.release_async(BINS, dv.Dense("1/2"))
    gate.open.set()
    assert later.result(patience()).teaching == 7


def test_a_running_release_can_be_awaited_and_watched(tmp_path: Path) -> None:
    it = session(tmp_path)
    seen: list[tuple[int, int]] = []

    async def story() -> dv.Release:
        running = it.release_async(BINS, dv.Dense("1/2"), watch=lambda r: seen.append((r.progress.done, r.progress.of)))
        return await running

    assert asyncio.run(story()) == it.releases[1]
    assert seen and seen[-1] == (4, 4)


def test_an_engine_that_dies_costs_its_charge_and_its_words_are_withheld(tmp_path: Path) -> None:
    def die(tick: Tick | None) -> None:
        raise RuntimeError("row 17 holds the secret 7310001")

    it = session(tmp_path, 2, KnownCounts(COUNTS, die))
    with pytest.raises(ReleaseFailed) as caught:
        it.release(BINS, dv.Dense("1/2"))
    shown = "".join(traceback.format_exception(caught.value))
    assert "7310001" not in shown and "secret" not in shown and "retry=True" in caught.value.next_step
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert it.remaining.epsilon == Fraction(3, 2)


# ---------------------------------------------------------------- refusals change nothing


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.release(BINS, dv.Dense(0)),
        lambda s: s.release(BINS, dv.Dense("-1/2")),
        lambda s: s.release(BINS, dv.Dense(float("nan"))),
        lambda s: s.release(BINS, dv.Dense(float("inf"))),
        lambda s: s.release(BINS, dv.Dense("much")),
        lambda s: s.release(BINS, dv.Dense("1/2", base="tight")),
        lambda s: s.release(BINS, dv.Dense("1/2"), mode="strict"),
        lambda s: s.release(BINS, dv.Dense("1/2"), mode="simulate"),
        lambda s: s.release(BINS, dv.Dense("1/2", sampler="geosample")),
        lambda s: s.release(BINS, dv.Dense("1/2", gamma="1/3")),
        lambda s: s.release(BINS, dv.Dense("1/2", base="tight", cap=9, gamma="2/3")),
        lambda s: s.release(BINS, dv.Dense("1/2", base="tight", clamp=False, cap=9)),
        lambda s: s.release(BINS, "Dense"),
        lambda s: s.release("x", dv.Dense("1/2")),
        lambda s: s.release([0, 1, 2], dv.Dense("1/2")),
        lambda s: s.release(BINS, dv.Dense("1/2"), key=""),
        lambda s: s.release(BINS, dv.Dense("1/2"), where={"x": []}),
        lambda s: s.release(BINS, dv.Dense("99")),
        lambda s: s.plan(BINS, dv.Dense(epsilon="1/0")),
        lambda s: s.raise_budget(dv.Budget(1)),
        lambda s: s.releases[17],
    ],
)
def test_a_refusal_is_ours_and_changes_nothing(tmp_path: Path, ask: object) -> None:
    source = KnownCounts(COUNTS)
    it = session(tmp_path, 2, source)
    head = it.ledger.head()
    with pytest.raises(DpvizError) as caught:
        ask(it)  # type: ignore[operator]
    assert str(caught.value) and it.ledger.head() == head and source.counted == 0
    it.release(BINS, dv.Dense("1/2"))
    assert it.remaining.epsilon == Fraction(3, 2)


def test_a_ledger_of_another_charter_is_refused_and_raising_the_budget_is_an_entry(tmp_path: Path) -> None:
    it = session(tmp_path, 2)
    with pytest.raises(CharterMismatch):
        session(tmp_path, 3)
    with pytest.raises(CharterMismatch):
        Session(KnownCounts(COUNTS), dv.Unit(noun="visit"), dv.Budget(2, "1e-6"), tmp_path / "test.ledger")
    it.raise_budget(dv.Budget(3, "1e-6"))
    assert it.remaining.epsilon == 3
    assert session(tmp_path, 3).budget == dv.Budget(3, "1e-6")
    assert it.ledger.verify()


# ---------------------------------------------------------------- silence


def test_nothing_of_ours_shows_or_stores_private_values(tmp_path: Path) -> None:
    it = session(tmp_path)
    statistic = it._source.count(dv.Question.of(BINS), it.unit, dv.Dense(1).bind(dv.Question.of(BINS), it.unit).needs)
    for shown in (repr(it), str(it), f"{it}", repr(statistic), str(statistic), repr(it.plan(BINS, dv.Dense(1)))):
        assert "7310001" not in shown and "8420002" not in shown
    for store in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(DpvizError):
            store(statistic)  # type: ignore[operator]
    with pytest.raises(LedgerError):
        pickle.dumps(it)


def test_a_release_survives_saving_and_an_altered_one_is_refused(tmp_path: Path) -> None:
    it = session(tmp_path)
    release = it.release(BINS, dv.Dense("1/2"))
    path = release.save(tmp_path / "answer.json")
    assert dv.load(path) == release and dv.load(path).to_frame().equals(release.to_frame())
    content = path.read_bytes()
    for damaged in (
        content[:-20],
        b"",
        b"{}",
        content.replace(b'"exact"', b'"strict"', 1),
        content.replace(b'"version":1', b'"version":9'),
    ):
        path.write_bytes(damaged)
        with pytest.raises(DpvizError):
            dv.load(path)
    with pytest.raises(DpvizError):
        dv.load(tmp_path / "nowhere.json")


def test_teaching_has_no_ledger_repeats_by_its_seed_and_marks_what_it_makes() -> None:
    first, second = (dv.teaching(KnownCounts(COUNTS), seed=7).draw(BINS, dv.Dense("1/2")) for _ in range(2))
    assert first == second and first.teaching == 7 and first.number is None
    assert "not private" in repr(first) and "release" not in repr(first).lower() and "drawn" in first.title
    assert "not private" in (first.to_csv() or "")
    other = dv.teaching(KnownCounts(COUNTS), seed=8).draw(BINS, dv.Dense("1/100"))
    assert other.values != dv.teaching(KnownCounts(COUNTS), seed=7).draw(BINS, dv.Dense("1/100")).values


def test_a_watcher_that_fails_does_not_end_a_release_that_is_paid_for(tmp_path: Path) -> None:
    def fail(running: object) -> None:
        raise RuntimeError("the page is gone")

    it = session(tmp_path)
    assert it.release_async(BINS, dv.Dense("1/2"), watch=fail).result(patience()) == it.releases[1]


def test_a_python_of_32_bits_takes_practice_data_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.session.session.WIDE", False)
    practice, own = dv.datasets.doctor_visits(), pd.DataFrame({"visits": [1, 2, 3]})
    for data, name in ((own, None), (own, "doctor visits"), (practice, "clinic")):
        with pytest.raises(ParameterError, match="needs a Python of sixty-four bits"):
            dv.Session(data, dv.Unit(), dv.Budget(1), tmp_path / "own.ledger", dataset=name)
    assert list(tmp_path.iterdir()) == []
    session = dv.Session(practice, dv.Unit(), dv.Budget(1), tmp_path / "visits.ledger")
    session.release(dv.Domain.integers(0, 5, column="visits"), dv.Dense("1/2"))
    assert dv.teaching(own, seed=1).draw(dv.Domain.integers(0, 5, column="visits"), dv.Dense("1/2")).teaching == 1
    monkeypatch.undo()
    assert dv.Session(own, dv.Unit(), dv.Budget(1), tmp_path / "own.ledger").remaining.epsilon == 1
