"""What a machine remembers of a ledger decides how much is read when it is opened, and nothing else.

A ledger opened with a memory says what one says that was read whole; and whatever somebody does to the ledger or to the
memory, the balance is the true one or the ledger is refused, a stored answer is the true one or is refused, and no key
that was answered is charged again.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from dpviz.errors import BudgetExceeded, DpvizError, LedgerCorrupt, LedgerError, ReleaseLost, SessionBusy
from dpviz.session.ledger import Entry, Ledger, Step, following, memory, rows
from dpviz.session.ledger.audit import Audit
from dpviz.session.ledger.chain import Row, _digest
from dpviz.session.ledger.locations import locate
from dpviz.session.ledger.memory import Memory, Place, memory_of
from dpviz.session.ledger.owner import Owner
from dpviz.session.ledger.records import CHARGES, DRAWING
from tests.killing import Show, killed, steps_of
from tests.ledger import test_processes
from tests.ledger.tools import BODY, Location, admit, behind, edit, exists, key, on_a_file, opened, spend, sql
from tests.soak.amounts import part

ROUNDS = part(12, 4)
SUB = {"symbols": "1000"}


def honest(step: Step) -> bool:
    """The arithmetic of these ledgers: each charge costs one, and a use takes one symbol at most."""
    if step.kind == "charge":
        return dict(step.after) == {**step.before, "spent": str(int(step.before["spent"]) + 1)}
    if step.kind in ("reserve", "settle"):
        return abs(int(step.after["symbols"]) - int(step.before["symbols"])) <= 1
    return True


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ledgers of a few rows are remembered, in a folder of this test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(following, "LEAST", 4)
    monkeypatch.setattr(following, "STEP", 3)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows that are read and checked, by number."""
    seen: list[int] = []
    take = Audit.take

    def counted(audit: Any, row: Any) -> None:
        seen.append(row.seq)
        take(audit, row)

    monkeypatch.setattr(Audit, "take", counted)
    return seen


def place(location: Location) -> Place:
    return Place(locate(location).identity, honest)


def remembered(location: Location) -> Memory:
    found = place(location).load()
    assert found is not None
    return found


def again(location: Location) -> Ledger:
    """It opened anew, under the budget in force."""
    if not exists(location):
        return opened(location, check=honest, budget=10_000)
    charter = Ledger.read(location)._store.read(rows.charter)
    account = {"spent": "0", "budget": "10000"}
    return Ledger.open(location, charter=charter, account=account, check=honest)


def whole(location: Location) -> Ledger:
    """The same ledger, read whole: what the other is held against."""
    place = locate(location)
    return Ledger(place, place.store(writable=False), Owner.here(), honest, remembers=False)


def told(ledger: Ledger) -> dict[str, Any]:
    """All that a ledger says."""
    entries = ledger.entries()
    return {
        "account": ledger.account,
        "spending": ledger.spending.to_json(),
        "charter": ledger.charter,
        "head": ledger.head(),
        "entries": [(entry.number, entry.key, entry.status, entry.closed, entry.body) for entry in entries],
        "counts": counts(ledger),
        "pending": [entry.number for entry in ledger.pending()],
        "answers": {entry.number: ledger.answer(entry.number) for entry in entries if entry.status == "done"},
        "found": [getattr(ledger.find(entry.key), "number", None) for entry in entries],
        "subs": {one.number: (ledger.sub_account(one.number), spent(ledger, one.number)) for one in ledger.opened()},
        "raises": ledger.raises(),
        "requests": ledger.requests(),
        "waiting": ledger.requests(waiting=True),
    }


def counts(ledger: Ledger) -> tuple[Any, ...]:
    done = [entry.number for entry in ledger.finished()]
    assert ledger.finished_numbers == done
    return ledger.finished_count, done, [one.number for one in ledger.opened()]


def spent(ledger: Ledger, number: int) -> list[tuple[Any, ...]]:
    return [
        (
            use.number,
            use.key,
            use.status,
            use.closed,
            ledger.use_answer(number, use.number) if use.status == "done" else b"",
        )
        for use in ledger.uses(number)
    ]


class History:
    """Steps of a ledger, drawn from a seed."""

    def __init__(self, location: Location, seed: int) -> None:
        self.location, self.chance = location, random.Random(seed)
        self.ledger = again(location)
        self.token = self.ledger.owner.token
        self.drawn: list[tuple[int, int]] = []
        self.open: list[int] = []

    def step(self) -> None:
        chance = self.chance
        if chance.random() < 0.15:
            self.ledger = again(self.location)  # its own draws are lost with the object that began them
            DRAWING.difference_update({(self.token, drawn) for drawn in self.drawn})
            self.drawn, self.token = [], self.ledger.owner.token
        what = chance.choice(
            ["charge", "charge", "finish", "finish", "close", "open", "use", "use", "settle", "raise", "ask", "decide"]
        )
        name = key(chance.randrange(25))
        try:
            if what == "charge":
                body = {**BODY, "n": chance.randrange(99)}
                made = self.somebody().charge(name, body, admit, retry=chance.random() < 0.5)
                if made.status == "pending":
                    self.drawn.append((made.number, 0))
            elif what == "open":
                self.open.append(self.ledger.charge(key(("sub", name)), BODY, admit, opens=SUB).number)
            elif what == "use" and self.open:
                of = chance.choice(self.open)
                use = self.ledger.reserve(of, name, BODY, fewer, retry=chance.random() < 0.5)
                if use.status == "pending":
                    self.drawn.append((of, use.number))
            elif what == "ask":
                self.somebody().request(key(("asked", name)), {"n": chance.randrange(99)})
            elif what == "decide":
                verdict: Any = chance.choice(["approve", "refuse"])
                waiting = self.ledger.requests(waiting=True)
                if waiting:
                    self.ledger.decide(chance.choice(waiting).number, verdict, {"reason": name})
            elif what == "raise":
                self.ledger.raise_budget({"epsilon": str(chance.randrange(2, 9)), "delta": "0"}, dict, reason=what)
            elif self.drawn:
                of, at = self.drawn.pop(chance.randrange(len(self.drawn)))
                self.end(of, at, chance.choice(["done", "done", "cancelled", "failed"]))
        except (ReleaseLost, BudgetExceeded, SessionBusy):
            pass
        except LedgerError as refused:
            assert not isinstance(refused, LedgerCorrupt), refused

    def somebody(self) -> Ledger:
        """The ledger, for a caller of a curator or for who holds the data."""
        if self.chance.random() < 0.2:
            return self.ledger
        caller = {"name": self.chance.choice("ab"), "project": self.chance.choice(["", "p"]), "proof": ""}
        handle = self.ledger.for_caller(caller)
        handle._own = self.ledger.owner  # so that this history ends its draws
        return handle

    def end(self, of: int, at: int, how: Any) -> None:
        answer = f"the answer {of}.{at}".encode() * self.chance.choice([1, 1, 6000])
        if at and how == "done":
            self.ledger.settle(of, at, answer, self.chance.choice([dict, more]))
        elif at:
            self.ledger.fail_use(of, at, how)
        elif how == "done":
            self.ledger.finish(of, answer)
        else:
            self.ledger.close(of, how)


def fewer(sub: Any) -> dict[str, str]:
    return {"symbols": str(int(sub["symbols"]) - 1)}


def more(sub: Any) -> dict[str, str]:
    return {"symbols": str(int(sub["symbols"]) + 1)}


@pytest.mark.parametrize("seed", range(part(6, 2)))
def test_whatever_happened_a_memory_says_what_the_whole_ledger_says(location: Location, seed: int) -> None:
    history, opened_with_one = History(location, seed), 0
    looks = 12 if isinstance(location, Path) else 4  # a look at all of a server is dear
    for number in range(120):
        try:
            history.step()
        except DpvizError as refused:
            raise AssertionError(str(refused)) from None
        if (number + 1) % (120 // looks) == 0:
            ledger = again(location)
            opened_with_one += ledger._chain._believed
            assert told(ledger) == told(whole(location)) == told(history.ledger)
            fresh = whole(location)
            fresh.account  # noqa: B018  # which reads it
            found, expected = memory_of(ledger._chain.audit), memory_of(fresh._chain.audit)
            assert found is not None and expected is not None
            assert (found.hashes, found.entries.slots()) == (expected.hashes, expected.entries.slots())
            assert {**found.body, "uses": sorted(found.body["uses"])} == {
                **expected.body,
                "uses": sorted(expected.body["uses"]),
            }
    assert opened_with_one >= looks * 2 / 3 and again(location).verify() == whole(location).verify()


def test_only_the_rows_after_it_are_read(location: Location, read: list[int]) -> None:
    spend(again(location), *range(10))
    known = remembered(location).seq
    assert known >= 18
    read.clear()
    ledger = again(location)
    assert ledger.account["spent"] == "10" and read == list(range(known + 1, 22))
    read.clear()
    assert ledger.answer(1) == b"the answer to 0" and ledger.entry(3).status == "done" and read == []
    assert ledger.charge(key(4), BODY, admit).status == "done" and read == []
    ledger.verify()
    assert read[:21] == list(range(1, 22))


def test_without_one_everything_is_read_before_a_charge(location: Location, read: list[int]) -> None:
    spend(again(location), *range(10))
    shutil.rmtree(Path(os.environ["XDG_STATE_HOME"]))
    read.clear()
    again(location)
    assert read[:21] == list(range(1, 22)) and remembered(location).seq == 21


# ---------------------------------------------------------------- somebody alters it


def attempts(ledger: Ledger, true: dict[str, Any]) -> Iterator[str]:
    """Everything that could go wrong in favour of whoever altered a ledger; what was refused."""

    def tried(name: str, call: Callable[[], object], right: Callable[[Any], bool]) -> Iterator[str]:
        try:
            found = call()
        except LedgerError as refused:
            assert isinstance(refused, LedgerCorrupt) or "has no answer" in str(refused), (name, refused)
            yield name
        else:
            assert right(found), (name, found)

    yield from tried("account", lambda: ledger.account, lambda found: found == true["account"])
    yield from tried("charter", lambda: ledger.charter, lambda found: found == true["charter"])
    for number, answer in true["answers"].items():
        yield from tried(f"answer {number}", lambda n=number: ledger.answer(n), lambda found, a=answer: found == a)
    for number, name, status, *_ in true["entries"]:
        if status in ("done", "open"):
            opens = SUB if status == "open" else None
            yield from tried(
                f"charge {number}",
                lambda k=name, o=opens: ledger.charge(k, BODY, admit, opens=o),
                lambda found, n=number, s=status: (found.number, found.status) == (n, s),
            )
    for number, (sub, uses) in true["subs"].items():
        yield from tried(f"sub {number}", lambda n=number: ledger.sub_account(n), lambda found, s=sub: found == s)
        yield from tried(f"uses {number}", lambda n=number: spent(ledger, n), lambda found, u=uses: found == u)
    lists: dict[str, Callable[[], object]] = {
        "entries": lambda: [(one.number, one.key, one.status, one.closed, one.body) for one in ledger.entries()],
        "counts": lambda: counts(ledger),
        "found": lambda: [getattr(ledger.find(name), "number", None) for _, name, *_ in true["entries"]],
    }
    for name, call in lists.items():
        yield from tried(name, call, lambda found, n=name: found == true[n])
    yield from tried("account again", lambda: ledger.account, lambda found: found == true["account"])


def alterations(location: Location, chance: random.Random) -> str:
    """Change one thing behind the back of a ledger, and say what."""
    columns = {
        "chain": ["seq", "kind", "body", "previous", "hash"],
        "entry": ["number", "key", "status", "charge", "outcome", "closed"],
        "use": ["number", "key", "status", "charge", "outcome", "closed"],
        "blob": ["content"],
    }
    table = chance.choice(["chain", "chain", "entry", "entry", "use", "blob"])
    order = {"chain": "seq", "entry": "number", "use": "number", "blob": "hash"}[table]
    there = sql(location, f'SELECT * FROM "{table}" ORDER BY {order}')
    if not there:
        return "nothing"
    names = [column[0] for column in described(location, table)]
    row = dict(zip(names, chance.choice(there), strict=True))
    at, where = [row[name] for name in names[:2]], f"{names[0]} = ? AND {names[1]} = ?"
    how = chance.choice(["delete", "insert", "change", "change", "change", "swap"])
    try:
        if how == "delete":
            edit(location, f'DELETE FROM "{table}" WHERE {where}', *at)
        elif how == "insert" and table in ("chain", "entry"):
            more = {**row, names[0]: chance.choice([0, -1, 10**6]), "previous": "f" * 64, "key": key("inserted")}
            edit(location, f'INSERT INTO "{table}" VALUES ({", ".join("?" for _ in names)})', *(more[n] for n in names))
        else:
            column = chance.choice(columns[table])
            other = dict(zip(names, chance.choice(there), strict=True))[column] if how == "swap" else None
            value = row[column]
            if other is None:
                other = value + chance.choice([-1, 1, 2]) if isinstance(value, int) else forged(value, chance)
            edit(location, f'UPDATE "{table}" SET {column} = ? WHERE {where}', other, *at)
        return f"{how} in {table} at {at[0]}"
    except Exception as error:  # the table itself does not take it
        return f"nothing: {type(error).__name__}"


def described(location: Location, table: str) -> list[tuple[str]]:
    with behind(location) as connection:
        return [(column[0],) for column in connection.execute(f'SELECT * FROM "{table}" LIMIT 1').description]


def forged(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bytes | memoryview):
        return b"x" + bytes(value)[1:]
    if value is None or not value:
        return "x"
    for old, new in chance.sample(
        [("done", "lost"), ("done", "cancelled"), ('"spent":"', '"spent":"0'), ("1", "2")], 4
    ):
        if old in value:
            return value.replace(old, new, 1)
    return value[:-1] + ("0" if value[-1] != "0" else "1")


@pytest.mark.parametrize("seed", range(ROUNDS))
@on_a_file
def test_an_altered_ledger_is_refused_or_says_the_truth(location: Path, tmp_path: Path, seed: int) -> None:
    history = History(location, 100 + seed)
    for _ in range(80):
        history.step()
    true, chance = told(whole(location)), random.Random(seed)
    kept = {path: path.read_bytes() for path in [location, place(location).path] if path is not None}
    altered = refused = later = believed = 0
    for _ in range(25):
        place(location).forget()
        for path, content in kept.items():
            path.write_bytes(content)
            path.chmod(0o600)
        what = alterations(location, chance)
        try:
            whole(location).verify()
            fits = True
        except DpvizError:
            fits = False
        altered += not fits
        try:
            ledger = again(location)
        except DpvizError:
            refused += 1
            assert not fits, what
            continue
        believed += not fits and ledger._chain._believed
        found = list(attempts(ledger, true))
        assert not (fits and found), (what, found)
        later += bool(found)
        if not fits:
            with pytest.raises(DpvizError):
                again(location).verify()
    assert altered >= 8 and refused + later >= 3 and believed >= 3


@on_a_file
def test_a_row_rewritten_with_a_hash_that_fits_is_found_when_its_answer_is_read(location: Path) -> None:
    spend(again(location), *range(10))
    row = Row.read(sql(location, "SELECT * FROM chain WHERE seq = 3")[0])
    body = row.body.replace("the answer to 0", "the answer to 9")
    hash_ = memory_digest(row, body)
    edit(location, "UPDATE chain SET body = ?, hash = ? WHERE seq = 3", body, hash_)
    ledger = again(location)
    assert ledger.account["spent"] == "10" and ledger.answer(2) == b"the answer to 1"
    for refusing in (lambda: ledger.answer(1), lambda: again(location).verify()):
        with pytest.raises(LedgerCorrupt, match="row 4 does not follow row 3"):
            refusing()


def memory_digest(row: Any, body: str) -> str:
    return _digest(row.seq, row.kind, body, row.previous)


@on_a_file
@pytest.mark.parametrize("who", ["the session that opened it", "another look"])
def test_after_a_refusal_all_is_read_by_whoever_opens_it_until_it_holds(
    location: Path, read: list[int], who: str
) -> None:
    spend(again(location), *range(10))
    row = Row.read(sql(location, "SELECT * FROM chain WHERE seq = 3")[0])
    body = row.body.replace("the answer to 0", "the answer to 9")
    edit(location, "UPDATE chain SET body = ?, hash = ? WHERE seq = 3", body, memory_digest(row, body))
    ledger = again(location)
    with pytest.raises(LedgerCorrupt):
        if who == "another look":
            Ledger.read(location).verify()
        else:
            ledger.answer(1)
    for _ in range(2):
        with pytest.raises(LedgerCorrupt, match="row 4 does not follow row 3"):
            again(location)
    edit(location, "UPDATE chain SET body = ?, hash = ? WHERE seq = 3", row.body, row.hash)
    read.clear()
    assert again(location).account["spent"] == "10" and read == list(range(1, 22))
    read.clear()
    assert again(location).account["spent"] == "10" and read == []


@on_a_file
def test_a_session_that_goes_on_lifts_no_doubt_of_another(location: Path) -> None:
    spend(again(location), *range(10))
    ledger = again(location)
    place(location).doubt()
    spend(ledger, *range(10, 20))
    assert remembered(location).seq > 30 and remembered(location).doubted
    assert again(location).account["spent"] == "20" and not remembered(location).doubted


@on_a_file
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entry WHERE number = 3",
        "UPDATE entry SET status = 'lost' WHERE number = 3",
        "UPDATE entry SET number = -3 WHERE number = 3",
        "DELETE FROM chain WHERE seq = 6",
    ],
)
def test_what_an_index_leaves_out_is_missed(location: Path, statement: str) -> None:
    spend(again(location), *range(10))
    looks: list[Callable[[Ledger], object]] = [
        lambda ledger: ledger.entries(),
        lambda ledger: ledger.entries(last=8),
        lambda ledger: ledger.entries(last=2, before=4),
        lambda ledger: ledger.finished(),
        lambda ledger: ledger.finished(last=8),
        lambda ledger: ledger.finished(last=2, before=4),
        lambda ledger: ledger.find(key(2)),
        lambda ledger: ledger.entry(3),
    ]
    edit(location, statement)
    for look in looks:
        ledger = again(location)
        assert ledger._chain._believed
        assert [one.number for one in ledger.entries(last=4)] == [7, 8, 9, 10]
        assert ledger.finished_numbers == list(range(1, 11))
        with pytest.raises(LedgerCorrupt):
            look(ledger)
        (doubt,) = (path for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*-doubt.memory"))
        doubt.unlink()


@on_a_file
def test_a_lost_draw_that_the_index_leaves_out_is_not_drawn_again_unasked(location: Path) -> None:
    ledger = again(location)
    ledger.close(ledger.charge(key("lost"), BODY, admit).number, "failed")
    spend(ledger, *range(10))
    edit(location, "DELETE FROM entry WHERE number = 1")
    ledger = again(location)
    assert ledger._chain._believed
    with pytest.raises(LedgerCorrupt):
        ledger.charge(key("lost"), BODY, admit)


@on_a_file
def test_a_use_that_the_index_leaves_out_is_missed(location: Path) -> None:
    ledger = again(location)
    number = ledger.charge(key("sub"), BODY, admit, opens=SUB).number
    for name in "abc":
        ledger.settle(number, ledger.reserve(number, key(name), BODY, fewer).number, name.encode(), dict)
    spend(ledger, *range(10))
    edit(location, 'DELETE FROM "use" WHERE number = 2')
    ledger = again(location)
    assert ledger._chain._believed
    with pytest.raises(LedgerCorrupt):
        ledger.uses(number)


# ---------------------------------------------------------------- an older ledger, another one


@on_a_file
def test_an_older_copy_is_told_though_the_file_beside_it_was_put_back_too(location: Path) -> None:
    spend(again(location), "a", "b")
    again(location).detach()
    older = {path: path.read_bytes() for path in location.parent.glob(location.name + "*")}
    spend(again(location), *range(10))
    for path, content in older.items():
        path.write_bytes(content)
    for look in (again, lambda place: Ledger.read(place, check=honest).account, lambda place: whole_of(place).verify()):
        with pytest.raises(LedgerCorrupt, match="older than what was written in this place.*remove.*memory"):
            look(location)
    place(location).forget()  # as the refusal says, to go on from the copy
    assert again(location).account["spent"] == "2"


@on_a_file
def test_to_go_on_from_a_copy_all_that_knows_better_is_removed_and_named(location: Path) -> None:
    spend(again(location), "a", "b")
    again(location).detach()
    older, lock = location.read_bytes(), location.with_name(location.name + "-lock")
    spend(again(location), *range(10))
    location.write_bytes(older)
    noted, memories = lock.read_bytes(), str(place(location).files)

    def names() -> tuple[bool, bool]:
        with pytest.raises(LedgerCorrupt, match="older than what was written in this place") as refused:
            again(location)
        return "-lock file" in str(refused.value), memories in str(refused.value)

    assert names() == (True, True)
    lock.unlink()
    assert names() == (False, True)
    lock.write_bytes(noted)
    place(location).forget()
    assert names() == (True, False)
    lock.unlink()
    assert again(location).account["spent"] == "2"


@on_a_file
def test_a_copy_is_compared_with_nothing_and_remembered_by_nobody(location: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.ledger"
    spend(again(location), *range(10))
    again(location).backup(copy)
    assert place(copy).load() is None
    spend(again(copy), *range(10, 15))
    assert remembered(copy).seq > 21
    copy.unlink()
    again(location).backup(copy)
    with pytest.raises(LedgerCorrupt, match="older than what was written in this place"):
        again(copy)


def whole_of(location: Path) -> Ledger:
    return Ledger.read(location, check=honest)


def test_rows_cut_off_below_what_is_remembered_are_told(location: Location) -> None:
    spend(again(location), *range(10))
    edit(location, "DELETE FROM chain WHERE seq > 15")
    edit(location, "DELETE FROM entry WHERE number > 7")
    if isinstance(location, Path):
        location.with_name(location.name + "-lock").unlink()
    with pytest.raises(LedgerCorrupt, match="older than what was written in this place") as refused:
        again(location)
    assert "-lock" not in str(refused.value)  # there is none


@on_a_file
def test_another_ledger_in_its_place_is_read_whole(locations: Callable[[], Path], read: list[int]) -> None:
    one, two = locations(), locations()
    spend(again(one), *range(10))
    spend(opened(two, budget=11), *range(11))
    one.with_name(one.name + "-lock").unlink()
    shutil.copy(two, one)
    read.clear()
    assert again(one).account["spent"] == "11" and read[:23] == list(range(1, 24))


# ---------------------------------------------------------------- somebody alters the memory


@on_a_file
def test_swapped_memories_are_none(locations: Callable[[], Path], read: list[int]) -> None:
    one, two = locations(), locations()
    spend(again(one), *range(10))
    spend(again(two), *range(8))
    paths = [path for path in (place(one).path, place(two).path) if path is not None]
    first, second = (path.read_bytes() for path in paths)
    paths[0].write_bytes(second)
    paths[1].write_bytes(first)
    for location, number in ((one, 10), (two, 8)):
        read.clear()
        assert again(location).account["spent"] == str(number)
        assert read[: 2 * number + 1] == list(range(1, 2 * number + 2))


@on_a_file
def test_a_damaged_memory_is_none(location: Path, read: list[int]) -> None:
    spend(again(location), *range(10))
    path, chance = place(location).path, random.Random(3)
    assert path is not None
    content = path.read_bytes()
    bad = [b"", content[:-1], content[: len(content) // 2], content + b"x", bytes(len(content)), content[:100] * 3]
    for _ in range(60):
        spot = chance.randrange(len(content))
        bad.append(content[:spot] + bytes([content[spot] ^ (1 << chance.randrange(8))]) + content[spot + 1 :])
    for one in bad:
        path.write_bytes(one)
        read.clear()
        assert again(location).account["spent"] == "10" and read[:21] == list(range(1, 22))
    path.write_bytes(content)
    path.chmod(0o666)  # anybody could have written it
    read.clear()
    again(location)
    assert read[:21] == list(range(1, 22))
    path.unlink()
    path.symlink_to(location)
    read.clear()
    again(location)
    assert read[:21] == list(range(1, 22))


@on_a_file
@pytest.mark.parametrize("how", ["another head", "a head beyond the chain", "a row of its past", "a charge forgotten"])
def test_a_memory_that_was_forged_is_refused_or_found_out(location: Path, how: str) -> None:
    spend(again(location), *range(10))
    true, known = told(whole(location)), remembered(location)
    hashes, slots = known.hashes, known.entries.slots()
    if how == "another head":
        hashes = hashes[:-32] + bytes(32)
    elif how == "a head beyond the chain":
        hashes += bytes(range(32)) * 9
    elif how == "a row of its past":
        hashes = hashes[:64] + bytes(32) + hashes[96:]
    else:
        slots = slots[: 2 * 61] + bytes(61) + slots[3 * 61 :]
    assert place(location).save(Memory({**known.body}, hashes, memory.Entries(slots)))
    if "head" in how:
        with pytest.raises(LedgerCorrupt, match="older than what was written in this place"):
            again(location)
    else:
        ledger = again(location)
        assert ledger._chain._believed and not list(attempts(ledger, true))
        assert not ledger._chain._believed  # everything was read at the first doubt
        assert told(ledger) == true


@on_a_file
def test_a_memory_of_another_form_is_none(location: Path, read: list[int]) -> None:
    spend(again(location), *range(10))
    known = remembered(location)
    assert place(location).save(Memory({}, known.hashes, known.entries))
    read.clear()
    assert again(location).account["spent"] == "10" and read == list(range(1, 22))


@on_a_file
def test_what_cannot_be_put_in_place_leaves_what_was_there(
    location: Path, monkeypatch: pytest.MonkeyPatch, read: list[int]
) -> None:
    ledger = again(location)
    spend(ledger, *range(10))
    path, known = place(location).path, remembered(location).seq
    assert path is not None
    left = path.with_name(f".{path.name}.0123456789abcdef")
    left.write_bytes(b"half of it")  # by a process that was killed

    def refuse(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        spend(ledger, *range(10, 20))
    assert sorted(path.parent.iterdir()) == [path] and remembered(location).seq == known
    read.clear()
    assert again(location).account["spent"] == "20" and read == list(range(known + 1, 42))


@pytest.mark.parametrize("locations", ["postgresql"], indirect=True)
def test_what_another_thread_writes_during_a_look_is_not_taken_for_damage(location: str) -> None:
    """The look has its view of the server, and the other thread of the same ledger goes on."""
    ledger = again(location)
    views: list[tuple[int, str]] = []
    spend(ledger, *range(10))
    number = ledger.charge(key("b"), BODY, admit).number

    def work(connection: Connection) -> list[Entry]:
        views.append(rows.head(connection))
        if len(views) == 1:
            with ThreadPoolExecutor(1) as other:
                other.submit(ledger.finish, number, b"an answer").result()
        return ledger._fetch(connection, CHARGES, CHARGES.lately, most=3, before=99)

    found = ledger._look(work)
    assert [one.status for one in found] == ["done"] * 3 and len(views) == 2
    assert not list(Path(os.environ["XDG_STATE_HOME"]).rglob("*-doubt.memory"))


def test_a_charge_begins_anew_where_another_thread_gives_up_what_is_known(location: Location, read: list[int]) -> None:
    spend(again(location), *range(10))
    ledger, tries = again(location), []
    assert ledger._chain._believed

    def admitted(account: Any) -> dict[str, str]:
        tries.append(account["spent"])
        if len(tries) == 1:
            with ThreadPoolExecutor(1) as other:
                assert other.submit(ledger._doubt).result()
        return admit(account)

    read.clear()
    ledger.finish(ledger.charge(key("b"), BODY, admitted).number, b"an answer")
    assert tries == ["10", "10"] and read[:21] == list(range(1, 22))
    assert ledger.account["spent"] == "11" and again(location).verify().statuses == {"done": 11}


@on_a_file
def test_a_charge_is_refused_where_another_thread_finds_damage_meanwhile(location: Path) -> None:
    spend(again(location), *range(10))
    edit(location, "DELETE FROM entry WHERE number = 3")
    ledger = again(location)
    assert ledger._chain._believed

    def admitted(account: Any) -> dict[str, str]:
        with ThreadPoolExecutor(1) as other, pytest.raises(LedgerCorrupt):
            other.submit(ledger.entry, 3).result()
        return admit(account)

    with pytest.raises(LedgerCorrupt, match="the index is wrong about entry 3"):
        ledger.charge(key("b"), BODY, admitted)
    assert sql(location, "SELECT max(seq) FROM chain") == [(21,)]


@on_a_file
def test_killed_at_any_step_of_writing_and_remembering_a_ledger_says_the_truth(location: Path) -> None:
    spend(again(location), *range(4))
    ledger, chance, turns = again(location), random.Random(5), part(16, 8)
    path = place(location).path
    assert path is not None
    steps = steps_of(lambda: spend(ledger, *((0, name) for name in range(3))))
    for turn in range(1, 1 + turns):

        def work(show: Show, turn: int = turn) -> None:
            show("begun")
            spend(ledger, *((turn, name) for name in range(4)))

        assert killed(work, lines=1, steps=chance.randrange(steps)) == ["begun"]
        later = again(location)
        assert told(later) == told(whole(location)) == told(ledger)
        assert sorted(path.parent.glob("*.memory")) == [path]
    assert remembered(location).seq > 2 * turns and again(location).verify() == whole(location).verify()


@on_a_file
def test_a_weaker_check_is_not_remembered_for_a_stronger_one(location: Path) -> None:
    ledger = again(location)
    spend(ledger, *range(10))
    place(location).forget()
    ledger.verify(check=anything)
    assert place(location).load() is None
    ledger.verify()
    assert remembered(location).seq == 21


def anything(step: Step) -> bool:
    return True


class Checker:
    def check(self, step: Step) -> bool:
        return True


def test_a_check_without_a_name_of_its_own_has_no_memory() -> None:
    def local(step: Step) -> bool:
        return True

    nameless: list[Any] = [local, lambda step: True, partial(honest), Checker().check, Checker.check, Checker()]
    assert [Place("here", check).path for check in nameless] == [None] * 6
    paths = {Place("here", check).path for check in (None, honest, anything)}
    assert len(paths) == 3 and None not in paths


def test_it_lies_with_the_users_state_or_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A place that depends on where a program was begun is no place to find a thing again."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / ".local" / "state" / "dpviz" / "ledgers"
    for said, folder in (("", home), ("state", home), (str(tmp_path / "s"), tmp_path / "s" / "dpviz" / "ledgers")):
        monkeypatch.setenv("XDG_STATE_HOME", said)
        assert memory.folder_of_state() == folder
    monkeypatch.delenv("XDG_STATE_HOME")
    assert memory.folder_of_state() == home
    monkeypatch.setenv("HOME", "here")
    assert memory.folder_of_state() is None and Place("a ledger").load() is None
    assert not Place("a ledger").save(Memory({}, bytes(32), memory.Entries(b"")))


@on_a_file
def test_where_nothing_can_be_remembered_everything_is_read(
    location: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, read: list[int]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    spend(again(location), *range(10))
    read.clear()
    assert again(location).account["spent"] == "10" and read == list(range(1, 22))


@on_a_file
def test_a_memory_is_its_owners_and_is_not_shared_by_another_check(location: Path, read: list[int]) -> None:
    spend(again(location), *range(10))
    path = place(location).path
    assert path is not None and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    read.clear()
    assert opened(location, budget=10_000).account["spent"] == "10" and read[:21] == list(range(1, 22))


def test_a_new_ledger_in_an_old_place_has_no_memory_of_the_old_one(locations: Callable[[], Location]) -> None:
    location = locations()
    spend(again(location), *range(10))
    assert place(location).load() is not None
    if isinstance(location, Path):
        location.unlink()
        location.with_name(location.name + "-lock").unlink()
    else:
        for table in ("chain", "blob", "entry", "use", "draw"):
            edit(location, f'DROP TABLE "{table}"')
        with pytest.raises(LedgerError, match="no ledger is at .* this machine remembers a ledger of 21 rows"):
            again(location)
        opened(location, check=honest, budget=10_000, existing=False)
    assert again(location).account["spent"] == "0"
    spend(again(location), "a")
    assert again(location).account["spent"] == "1"


@on_a_file
def test_a_fork_while_other_threads_write_and_remember_finds_the_ledger_free(location: Path) -> None:
    """What is remembered is written under a lock; a child that was made meanwhile would wait for it for ever."""
    test_processes.test_a_fork_while_other_threads_write_finds_the_ledger_free(location)
