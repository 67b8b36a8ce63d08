"""Charging, answering, and asking again: one kernel, one ledger."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from dpviz.errors import BudgetExceeded, CharterMismatch, LedgerError, ParameterError, ReleaseLost, SessionBusy
from dpviz.session.ledger import Ledger, Owner
from tests.ledger.tools import BODY, CHARTER, Location, admit, edit, exists, key, on_a_file, opened, spend


@pytest.fixture
def ledger(location: Location) -> Ledger:
    return opened(location)


def test_a_charge_is_there_before_its_answer_and_both_after_reopening(location: Location, ledger: Ledger) -> None:
    entry = ledger.charge(key("a"), BODY, admit)
    assert (entry.number, entry.status, entry.mine, entry.closed) == (1, "pending", True, None)
    assert opened(location).account == {"spent": "1", "budget": "100"}
    done = ledger.finish(1, b"41 bins")
    assert (done.status, done.mine) == ("done", False)
    again = opened(location)
    assert again.answer(1) == b"41 bins"
    assert again.entry(1) == done == again.entries()[0] == again.find(key("a"))
    assert done.body == BODY
    assert again.account["spent"] == "1"
    assert again.verify() == ledger.verify()


def test_the_same_key_is_answered_once_and_costs_once(ledger: Ledger) -> None:
    spend(ledger, "a")
    head = ledger.head()

    def nobody_asks(account: Mapping[str, str]) -> Mapping[str, str]:
        raise AssertionError("a finished key must not reach the accountant")

    for retry in (False, True):
        entry = ledger.charge(key("a"), {"another": "body"}, nobody_asks, retry=retry)
        assert (entry.number, entry.status, entry.body) == (1, "done", BODY)
    assert ledger.answer(1) == b"the answer to a"
    assert ledger.head() == head


def test_a_refused_charge_writes_nothing_and_the_ledger_stays_usable(location: Location) -> None:
    ledger = opened(location, budget=1)
    spend(ledger, "a")
    head = ledger.head()
    with pytest.raises(BudgetExceeded):
        ledger.charge(key("b"), BODY, admit)
    assert (ledger.head(), ledger.find(key("b")), ledger.account["spent"]) == (head, None, "1")
    ledger.raise_budget({"epsilon": "3", "delta": "0"}, lambda account: {**account, "budget": "2"})
    spend(ledger, "b")
    assert ledger.account == {"spent": "2", "budget": "2"}


def test_an_error_of_the_accountant_is_passed_on_and_writes_nothing(ledger: Ledger) -> None:
    def broken(account: Mapping[str, str]) -> Mapping[str, str]:
        raise ZeroDivisionError

    head = ledger.head()
    with pytest.raises(ZeroDivisionError):
        ledger.charge(key("a"), BODY, broken)
    with pytest.raises(ParameterError, match="maps text to text"):
        ledger.charge(key("a"), BODY, lambda account: {"spent": 1})  # type: ignore[dict-item]
    assert ledger.head() == head
    spend(ledger, "a")


@pytest.mark.parametrize("status", ["cancelled", "failed"])
def test_a_charge_that_came_to_nothing_stays_and_only_retry_draws_again(ledger: Ledger, status: str) -> None:
    ledger.charge(key("a"), BODY, admit)
    assert ledger.close(1, status).status == status  # type: ignore[arg-type]
    with pytest.raises(ReleaseLost) as refused:
        ledger.charge(key("a"), BODY, admit)
    assert refused.value.value == "entry 1"
    assert "ε 1 per person-year" in str(refused.value)
    assert "retry=True" in refused.value.next_step
    assert ledger.account["spent"] == "1"
    assert ledger.charge(key("a"), BODY, admit, retry=True).number == 2
    ledger.finish(2, b"second draw")
    assert ledger.account["spent"] == "2"
    assert [entry.status for entry in ledger.entries()] == [status, "done"]
    assert ledger.charge(key("a"), BODY, admit).number == 2


def test_an_outcome_is_written_once(ledger: Ledger) -> None:
    spend(ledger, "a")
    head = ledger.head()
    assert ledger.finish(1, b"the answer to a").status == "done"  # repeated, as after a write not heard of
    with pytest.raises(LedgerError, match="has its answer already"):
        ledger.finish(1, b"another answer")
    with pytest.raises(LedgerError, match="has its answer already"):
        ledger.close(1, "failed")
    ledger.charge(key("b"), BODY, admit)
    ledger.close(2, "cancelled")
    with pytest.raises(ReleaseLost):
        ledger.finish(2, b"too late")
    assert ledger.answer(1) == b"the answer to a"
    assert head != ledger.head()
    assert ledger.verify().statuses == {"done": 1, "cancelled": 1}


@on_a_file
@pytest.mark.parametrize("number", [0, 2, -1])
def test_an_entry_that_does_not_exist_is_refused(ledger: Ledger, number: int) -> None:
    spend(ledger, "a")
    for ask in (ledger.entry, ledger.answer, ledger.renew, lambda n: ledger.finish(n, b"")):
        with pytest.raises(ParameterError) as refused:
            ask(number)
        assert refused.value.value == str(number)


def test_an_entry_without_an_answer_gives_none(ledger: Ledger) -> None:
    ledger.charge(key("a"), BODY, admit)
    with pytest.raises(LedgerError, match="it is pending"):
        ledger.answer(1)


@on_a_file
@pytest.mark.parametrize("bad", ["", "visits", "A" * 64, "0" * 31, "0" * 64 + "\n", 7])
def test_a_key_is_a_digest(ledger: Ledger, bad: str) -> None:
    with pytest.raises(ParameterError):
        ledger.charge(bad, BODY, admit)
    assert ledger.entries() == []


@pytest.mark.parametrize("size", [0, 10, 64 * 1024, 64 * 1024 + 1, 2**20, 2**20 + 1, 3_000_001])
@pytest.mark.parametrize("text", [True, False])
def test_an_answer_comes_back_byte_for_byte_whatever_its_size(location: Location, size: int, text: bool) -> None:
    answer = (b"a\x00\xc3\xa9" * size)[: size // 4 * 4] + b"z" * (size % 4) if text else b"\xff" * size + b"\xfe"
    ledger = opened(location)
    for name in ("a", "b"):  # the second time a blob is there already
        ledger.finish(ledger.charge(key(name), BODY, admit).number, answer)
    assert opened(location).answer(1) == opened(location).answer(2) == answer
    inline = text and size <= 64 * 1024
    assert ledger.verify().blobs == (0 if inline else 1)


def test_entries_come_in_order_and_the_last_ones_alone(ledger: Ledger) -> None:
    spend(ledger, *range(5))
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3, 4, 5]
    assert [entry.number for entry in ledger.entries(last=2)] == [4, 5]
    assert ledger.entries(last=0) == []


# ---------------------------------------------------------------- the charter


def test_the_charter_reads_back_and_a_raised_budget_is_a_row(location: Location, ledger: Ledger) -> None:
    assert ledger.charter == CHARTER
    rows = ledger.verify().rows
    more = {"epsilon": "5", "delta": "0"}
    ledger.raise_budget(more, lambda account: {**account, "budget": "200"})
    assert ledger.charter == {**CHARTER, "budget": more}
    assert ledger.verify().rows == rows + 1
    ledger.raise_budget(more, lambda account: {**account, "budget": "300"})
    assert (ledger.verify().rows, ledger.account["budget"]) == (rows + 1, "200")
    Ledger.open(location, charter={**CHARTER, "budget": more}, account={})
    with pytest.raises(CharterMismatch):
        opened(location)


@pytest.mark.parametrize(
    ("part", "given", "named"),
    [
        ("dataset", "flights", 'dataset is "visits" in the ledger and "flights" here'),
        ("schema", {"age": "text", "visits": "number"}, 'age is "number" in the ledger and "text" here'),
        ("schema", {"visits": "number"}, 'age is "number" in the ledger and null here'),
        ("unit", {"of": "row", "relation": "replace-one", "noun": "person-year"}, 'relation is "add-remove"'),
        ("budget", {"epsilon": "3", "delta": "0"}, 'epsilon is "2" in the ledger and "3" here'),
    ],
)
def test_another_charter_is_refused_by_name(location: Location, part: str, given: object, named: str) -> None:
    spend(opened(location), "a")
    head = opened(location).head()
    with pytest.raises(CharterMismatch) as refused:
        Ledger.open(location, charter={**CHARTER, part: given}, account={"spent": "0", "budget": "9"})
    assert named in str(refused.value)
    assert named in refused.value.value
    assert ("raise_budget" in refused.value.next_step) == (part == "budget")
    assert opened(location).head() == head


def test_a_charter_has_its_four_parts(location: Location) -> None:
    with pytest.raises(ParameterError, match="a charter has"):
        Ledger.open(location, charter={"dataset": "visits"}, account={})
    assert not exists(location)


# ---------------------------------------------------------------- other kernels, other threads


def elsewhere(token: str = "other") -> Owner:
    return Owner(token, "another machine", 1, "1")


def test_what_another_machine_draws_is_busy_until_its_lease_is_over(location: Location, ledger: Ledger) -> None:
    other = opened(location, owner=elsewhere())
    other.charge(key("a"), BODY, admit)
    with pytest.raises(SessionBusy, match="another kernel"):
        ledger.charge(key("a"), BODY, admit, retry=True)
    assert [(entry.status, entry.mine) for entry in ledger.pending()] == [("pending", False)]
    assert [(entry.status, entry.mine) for entry in other.pending()] == [("pending", True)]
    edit(location, "UPDATE draw SET until = 0")
    assert [entry.status for entry in ledger.pending()] == ["lost"]
    other.renew(1)
    assert [entry.status for entry in ledger.pending()] == ["pending"]


def test_a_draw_that_was_given_up_cannot_be_finished_or_renewed(location: Location, ledger: Ledger) -> None:
    other = opened(location, owner=elsewhere())
    other.charge(key("a"), BODY, admit)
    edit(location, "UPDATE draw SET until = 0")
    with pytest.raises(ReleaseLost):
        ledger.charge(key("a"), BODY, admit)
    assert ledger.charge(key("a"), BODY, admit, retry=True).number == 2
    for late in (lambda: other.finish(1, b"late"), lambda: other.renew(1), lambda: other.close(1, "failed")):
        with pytest.raises(ReleaseLost, match="entry 1"):
            late()
    ledger.finish(2, b"in time")
    assert other.answer(other.charge(key("a"), BODY, admit).number) == b"in time"
    assert ledger.verify().statuses == {"lost": 1, "done": 1}
    assert ledger.account["spent"] == "2"


def test_only_the_kernel_that_charged_may_close(location: Location, ledger: Ledger) -> None:
    ledger.charge(key("a"), BODY, admit)
    for act in (lambda other: other.finish(1, b"x"), lambda other: other.close(1, "failed")):
        with pytest.raises(LedgerError, match="drawn by another kernel"):
            act(opened(location, owner=elsewhere()))
    assert ledger.finish(1, b"mine").status == "done"


def test_two_ledgers_of_one_process_are_two_kernels(location: Location, ledger: Ledger) -> None:
    ledger.charge(key("a"), BODY, admit)
    with pytest.raises(SessionBusy, match="another kernel"):
        opened(location).charge(key("a"), BODY, admit, retry=True)
    with pytest.raises(LedgerError, match="drawn by another kernel"):
        opened(location).finish(1, b"x")


def test_a_charge_that_was_interrupted_after_it_was_written_is_lost_and_not_busy(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = ledger._store.write

    def interrupted(work: object, **more: object) -> None:
        write(work)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(ledger._store, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ledger.charge(key("a"), BODY, admit)
    monkeypatch.undo()
    with pytest.raises(ReleaseLost, match="entry 1"):
        ledger.charge(key("a"), BODY, admit)
    assert ledger.charge(key("a"), BODY, admit, retry=True).number == 2
    assert ledger.account["spent"] == "2"


def test_one_key_asked_by_many_threads_is_charged_once(ledger: Ledger) -> None:
    said: list[str] = []

    def ask() -> None:
        try:
            said.append(ledger.charge(key("a"), BODY, admit).status)
        except SessionBusy as error:
            said.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said.count("pending") == 1
    assert sum("this kernel is drawing this answer now" in line for line in said) == 7
    assert ledger.account["spent"] == "1"


def test_many_threads_charge_one_ledger(ledger: Ledger) -> None:
    failures: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for step in range(10):
                spend(ledger, (name, step))
                assert ledger.account
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert ledger.verify().statuses == {"done": 60}
    assert ledger.account["spent"] == "60"
