"""One ledger is one file with one name, and what is committed stands in it: names, copies, lost and foreign files."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from dpviz.errors import LedgerCorrupt, LedgerError, LedgerFormat
from dpviz.session.ledger import Ledger, sqlite, store
from tests.killing import Call
from tests.ledger.test_refusals import in_our_words
from tests.ledger.tools import BODY, CHARTER, Location, admit, as_owner, behind, edit, forget, key, opened, spend

FIXTURES = Path(__file__).parent / "old"


def refusal(act: Callable[[], object], kind: type[LedgerError] = LedgerError) -> str:
    with pytest.raises(kind) as refused:
        act()
    in_our_words(refused.value)
    return str(refused.value)


# ---------------------------------------------------------------- one name


def test_a_link_leads_to_the_one_name_of_a_ledger(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    path, link = folder / "visits.ledger", tmp_path / "link.ledger"
    link.symlink_to(path)
    ledger = opened(link, budget=10)  # made through a link that leads nowhere yet
    spend(ledger, "a")
    assert Path(ledger.location) == path
    (tmp_path / "folder").symlink_to(folder)
    spend(opened(tmp_path / "folder" / "visits.ledger", budget=10), "b")

    def spender(name: int) -> int:
        paid, mine = 0, opened(link if name else path, budget=10)
        for step in range(10):
            try:
                spend(mine, (name, step))
                paid += 1
            except Exception:
                break
        return paid

    assert 2 + sum(one.result() for one in [Call(lambda name=name: spender(name)) for name in range(2)]) == 10
    assert opened(link).verify().statuses == {"done": 10}
    assert [file.name for file in tmp_path.iterdir() if "journal" in file.name or "lock" in file.name] == []


def test_a_file_with_two_names_is_refused_under_either_and_when_the_second_comes_later(tmp_path: Path) -> None:
    path, other = tmp_path / "visits.ledger", tmp_path / "other.ledger"
    ledger = opened(path)
    spend(ledger, "a")
    os.link(path, other)
    for act in (
        lambda: opened(path),
        lambda: opened(other),
        lambda: Ledger.read(other),
        lambda: spend(ledger, "b"),
        lambda: ledger.answer(1),
    ):
        assert "one file with one name" in refusal(act)
    other.unlink()
    spend(ledger, "b")
    assert opened(path).account["spent"] == "2"


def test_what_a_kill_while_a_ledger_is_made_leaves_is_removed_and_the_ledger_opens(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    opened(path).detach()
    draft = tmp_path / f".visits.ledger.{'0a' * 8}"
    os.link(path, draft)
    spend(opened(path), "a")
    assert not draft.exists()
    stranger = tmp_path / ".visits.ledger.notes"  # no draft of ours, so whose it is nobody knows
    os.link(path, stranger)
    assert "2 names" in refusal(lambda: opened(path))
    assert stranger.exists()


def test_one_process_does_not_open_a_ledger_under_a_second_name(tmp_path: Path) -> None:
    """As a folder that is mounted twice would let it."""
    path = tmp_path / "visits.ledger"
    ledger = opened(path)
    other = tmp_path / "other.ledger"
    path.rename(other)
    moved = opened(other)  # a file that was renamed has one name, the new one
    assert "removed or replaced" in refusal(lambda: spend(ledger, "a"))
    spend(moved, "b")


def test_a_file_that_is_mounted_by_itself_is_refused_and_a_folder_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my visits.ledger"
    spend(opened(path), "a")
    table = tmp_path / "mountinfo"
    line = "36 35 98:0 /mnt1 {} rw,noatime master:1 - ext3 /dev/root rw\n"
    monkeypatch.setattr(sqlite, "_MOUNTS", table)
    table.write_text(line.format(str(tmp_path).replace(" ", "\\040")))
    spend(opened(path), "b")
    table.write_text(line.format(str(path).replace(" ", "\\040")))
    for act in (lambda: opened(path), lambda: Ledger.read(path)):
        assert "mount its folder instead" in refusal(act)


# ---------------------------------------------------------------- back in time


def copied(path: Path) -> bytes:
    return path.read_bytes()


def looks(ledger: Ledger) -> dict[str, Callable[[], object]]:
    """Every way to look at a ledger or to change it."""
    return {
        "charge": lambda: ledger.charge(key("new"), BODY, admit),
        "a paid key": lambda: ledger.charge(key("b"), BODY, admit, retry=True),
        "reserve": lambda: ledger.reserve(1, key("new"), BODY, dict),
        "raise": lambda: ledger.raise_budget({"epsilon": "3", "delta": "0"}, lambda account: dict(account)),
        "account": lambda: ledger.account,
        "charter": lambda: ledger.charter,
        "head": lambda: ledger.head(),
        "entries": lambda: ledger.entries(),
        "entry": lambda: ledger.entry(1),
        "find": lambda: ledger.find(key("a")),
        "pending": lambda: ledger.pending(),
        "answer": lambda: ledger.answer(2),
        "uses": lambda: ledger.uses(1),
        "use": lambda: ledger.use(1, 1),
        "find_use": lambda: ledger.find_use(1, key("f")),
        "use_answer": lambda: ledger.use_answer(1, 1),
        "sub_account": lambda: ledger.sub_account(1),
        "is_new": lambda: ledger.is_new,
        "verify": lambda: ledger.verify(),
        "renew": lambda: ledger.renew(4),
        "finish": lambda: ledger.finish(4, b"late"),
        "close": lambda: ledger.close(4, "failed"),
    }


@pytest.fixture
def busy(tmp_path: Path) -> tuple[Ledger, Path]:
    """An open entry with a use, an answer, and two charges more: one answered, one pending."""
    path = tmp_path / "visits.ledger"
    ledger = opened(path)
    ledger.charge(key("tape"), BODY, admit, opens={"left": "9"})
    ledger.settle(1, ledger.reserve(1, key("f"), BODY, dict).number, b"the answer to f", dict)
    spend(ledger, "a")
    return ledger, path


def roll_back(path: Path, old: bytes, *, note: bool) -> None:
    """Write an older content into the same file; with what tells how far it had come, or without."""
    with path.open("r+b") as file:
        file.write(old)
        file.truncate(len(old))
    if not note:
        forget(path)


@pytest.mark.parametrize("look", sorted(looks(None)))  # type: ignore[arg-type]
@pytest.mark.parametrize("last", ["charge", "outcome", "raise"])
def test_a_copy_that_lacks_the_last_own_row_is_noticed_at_every_look(
    busy: tuple[Ledger, Path], look: str, last: str
) -> None:
    ledger, path = busy
    spend(ledger, "b")
    old = copied(path) if last == "charge" else b""
    ledger.charge(key("c"), BODY, admit)
    if last == "outcome":
        old = copied(path)
        ledger.close(4, "cancelled")
    if last == "raise":
        old = copied(path)
        ledger.raise_budget({"epsilon": "4", "delta": "0"}, lambda account: dict(account))
    roll_back(path, old, note=False)
    said = refusal(looks(ledger)[look])
    known = ("older than what this session has seen", "not the ones that this session has seen", "was cut off")
    assert any(words in said for words in known)


def test_a_copy_put_back_is_noticed_by_a_session_that_opens_later(busy: tuple[Ledger, Path]) -> None:
    """The file beside the ledger says how far it had come, and what is remembered too. Who removes both is believed."""
    ledger, path = busy
    old = copied(path)
    spend(ledger, "b")
    ledger.detach()
    roll_back(path, old, note=True)
    for act in (lambda: opened(path), lambda: Ledger.read(path).verify(), lambda: Ledger.read(path).answer(2)):
        assert "older than what was written in this place" in refusal(act, LedgerCorrupt)
    forget(path)
    spend(opened(path), "c")


def test_a_fork_of_the_history_is_noticed_by_either_side(busy: tuple[Ledger, Path]) -> None:
    ledger, path = busy
    old = copied(path)
    spend(ledger, "b")
    ledger.detach()
    roll_back(path, old, note=False)
    other = opened(path)
    spend(other, "c", "d", "e")
    for act in (lambda: ledger.account, lambda: spend(ledger, "f")):
        said = refusal(act)
        assert "does not follow" in said or "not the ones that this session has seen" in said


def test_after_a_fork_each_process_goes_on_from_what_it_saw(busy: tuple[Ledger, Path]) -> None:
    ledger, path = busy
    spend(ledger, "b")
    old = copied(path)
    spend(ledger, "c")

    def look() -> str:
        roll_back(path, old, note=False)
        return refusal(lambda: ledger.account, LedgerCorrupt)

    for said in (Call(look).result(), refusal(lambda: ledger.account, LedgerCorrupt)):
        assert "older than what this session has seen" in said or "was cut off" in said


# ---------------------------------------------------------------- a file that goes away


def test_a_charge_of_another_thread_during_a_look_is_not_taken_for_a_file_cut_off(
    busy: tuple[Ledger, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look has asked how long the file is when the other thread makes it longer."""
    ledger, path = busy
    usual, before, paid = sqlite._found, path.stat().st_size, int(ledger.account["spent"])
    charged: list[int] = []

    def found(where: Path) -> os.stat_result | None:
        there = usual(where)
        if not charged:
            charged.append(0)
            with ThreadPoolExecutor(1) as other:
                while path.stat().st_size == before:
                    other.submit(spend, ledger, ("another", charged[0])).result()
                    charged[0] += 1
        return there

    monkeypatch.setattr(sqlite, "_found", found)
    assert int(ledger.account["spent"]) == paid + charged[0] > paid


@pytest.mark.parametrize("how", ["removed", "replaced", "truncated"])
@pytest.mark.parametrize("when", ["between", "while the charge is written"])
def test_a_file_that_goes_away_is_noticed_before_anything_is_drawn(
    busy: tuple[Ledger, Path], tmp_path: Path, how: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, path = busy
    whole = copied(path)

    def away() -> None:
        if how == "truncated":
            os.truncate(path, len(whole) // 2)
            return
        path.unlink()
        if how == "replaced":
            path.write_bytes(whole)

    if when == "between":
        away()
    else:
        usual = ledger._store.wrote

        def wrote(row: Any) -> None:
            away()
            usual(row)

        monkeypatch.setattr(ledger._store, "wrote", wrote)
    refusal(lambda: ledger.charge(key("z"), BODY, admit))
    monkeypatch.undo()
    for act in (lambda: ledger.charge(key("z"), BODY, admit, retry=True), lambda: ledger.account, ledger.verify):
        refusal(act)


@pytest.mark.parametrize("end", ["-journal", "-lock", "-wal", "-shm"])
def test_what_was_charged_does_not_depend_on_any_file_beside_the_ledger(
    busy: tuple[Ledger, Path], tmp_path: Path, end: str
) -> None:
    """Neither while the ledger is open, nor where its process was killed."""
    ledger, path = busy
    path.with_name(path.name + end).unlink(missing_ok=True)
    spend(ledger, "b")

    def killed() -> None:
        spend(opened(path), "c")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(AssertionError):
        Call(killed).result()
    path.with_name(path.name + end).unlink(missing_ok=True)
    alone = tmp_path / "alone" / path.name
    alone.parent.mkdir()
    shutil.copy(path, alone)
    for location in (path, alone):
        assert opened(location).account["spent"] == "4"
        assert opened(location).answer(4) == b"the answer to c"


def test_a_write_that_was_cut_short_is_undone_by_whoever_looks_next(tmp_path: Path) -> None:
    """A killed process left its journal: even a look undoes what it did not finish."""
    path = tmp_path / "visits.ledger"
    ledger = opened(path)
    spend(ledger, "a")
    looking, head = Ledger.read(path), ledger.head()
    assert looking.head() == head
    ledger.detach()

    def torn() -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA cache_size=1")  # what does not fit goes to the file before the commit
        connection.execute("PRAGMA cache_spill=1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM chain WHERE seq > 1")
        connection.executemany("INSERT INTO blob VALUES (?, ?)", [(str(at), b"x" * 9000) for at in range(50)])
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(AssertionError):
        Call(torn).result()
    assert path.with_name(path.name + "-journal").read_bytes()[:1] != b"\0"
    assert looking.head() == head
    assert Ledger.read(path).verify().rows == opened(path).verify().rows == 3


def test_a_ledger_that_was_given_a_log_while_open_is_not_charged(busy: tuple[Ledger, Path]) -> None:
    ledger, path = busy
    other = sqlite3.connect(path, isolation_level=None)
    assert other.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    other.execute("SELECT * FROM chain").fetchall()
    assert "open it anew" in refusal(lambda: spend(ledger, "b"))
    other.close()
    ledger.detach()
    spend(ledger, "b")  # connected anew, it is without a log again
    assert path.with_name(path.name + "-wal").exists() is False
    assert opened(path).account["spent"] == "3"


# ---------------------------------------------------------------- ledgers of an older version, with a log


def unpacked(name: str, path: Path) -> None:
    """A ledger that an older dpviz wrote: tests/ledger/old/make.py says how."""
    for file in FIXTURES.glob(f"{name}.ledger*"):
        end = file.name.removeprefix(f"{name}.ledger").removesuffix(".txt")
        path.with_name(path.name + end).write_bytes(zlib.decompress(base64.b64decode(file.read_text())))


@pytest.mark.parametrize(("name", "spent"), [("closed", "3"), ("hot", "4")])
def test_a_ledger_with_a_log_opens_is_converted_and_loses_nothing(tmp_path: Path, name: str, spent: str) -> None:
    path = tmp_path / "visits.ledger"
    unpacked(name, path)
    assert path.with_name("visits.ledger-wal").exists() == (name == "hot")
    assert Ledger.read(path).account["spent"] == spent
    ledger = opened(path)
    assert ledger.account["spent"] == spent
    assert [ledger.answer(1), ledger.answer(2)] == [b"the answer to a", b"\xff" * 70_000]
    assert sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert not path.with_name("visits.ledger-wal").exists()
    spend(ledger, "new")
    assert opened(path).verify().charges == int(spent) + 1


def test_while_an_older_process_keeps_a_log_the_ledger_is_not_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    path = tmp_path / "visits.ledger"
    unpacked("hot", path)
    older = sqlite3.connect(path, isolation_level=None)
    older.execute("SELECT * FROM chain").fetchall()
    assert "stayed locked" in refusal(lambda: opened(path))
    assert Ledger.read(path).account["spent"] == "4", "looking goes on"
    older.close()
    assert opened(path).account["spent"] == "4"


# ---------------------------------------------------------------- nothing foreign

SQLITE_ADDITIONS = [
    "CREATE TRIGGER swallow BEFORE INSERT ON chain WHEN NEW.kind = 'charge' BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER undo AFTER INSERT ON chain BEGIN DELETE FROM chain WHERE seq = NEW.seq AND NEW.kind = 'raise'; END",
    "CREATE TABLE notes (text TEXT)",
    "CREATE VIEW charges AS SELECT * FROM chain",
    "CREATE INDEX faster ON chain (kind)",
    "CREATE UNIQUE INDEX one_kind ON chain (kind, seq)",
    "ALTER TABLE chain ADD COLUMN note TEXT",
    "ALTER TABLE entry ADD COLUMN note TEXT DEFAULT 'x'",
    "CREATE TABLE lease (number INTEGER, other TEXT)",
]


@pytest.mark.parametrize("addition", SQLITE_ADDITIONS)
def test_what_dpviz_did_not_make_is_refused_by_name(busy: tuple[Ledger, Path], addition: str) -> None:
    ledger, path = busy
    edit(path, addition)
    words = addition.split()
    name = words[2 if words[1] != "UNIQUE" else 3]
    acts: list[Callable[[], object]] = [ledger.verify, lambda: opened(path), lambda: Ledger.read(path).answer(2)]
    for act in [*acts, lambda: spend(ledger, "b"), lambda: ledger.answer(2)]:
        assert name in refusal(act)
    assert sqlite3.connect(path).execute("SELECT count(*) FROM entry").fetchone() == (2,)


def test_a_table_that_drops_what_does_not_fit_is_refused(busy: tuple[Ledger, Path]) -> None:
    _, path = busy
    with behind(path) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'UNIQUE (previous)', 'UNIQUE (previous) ON CONFLICT IGNORE') "
            "WHERE name = 'chain'"
        )
    assert "table chain" in refusal(lambda: opened(path), LedgerCorrupt)


POSTGRES_ADDITIONS = [
    "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER swallow BEFORE INSERT ON chain FOR EACH ROW EXECUTE FUNCTION nothing()",
    "CREATE RULE swallow AS ON INSERT TO chain DO INSTEAD NOTHING",
    "ALTER TABLE chain ADD COLUMN swallow text",
    "ALTER TABLE entry ADD CONSTRAINT swallow CHECK (number > 0)",
    "CREATE TABLE swallow () INHERITS (chain)",
    "ALTER TABLE chain ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE use RENAME TO swallow; CREATE VIEW use AS SELECT * FROM swallow",
]


@pytest.mark.parametrize("addition", POSTGRES_ADDITIONS)
@pytest.mark.parametrize("locations", ["postgresql"], indirect=True)
def test_what_stands_on_the_tables_of_a_server_is_refused_by_name(location: Location, addition: str) -> None:
    ledger = opened(location)
    spend(ledger, "a")
    edit(location, addition)
    name = "swallow" if "swallow" in addition and "INHERITS" not in addition and "VIEW" not in addition else ""
    for act in (ledger.verify, lambda: opened(location), lambda: Ledger.read(location).answer(1)):
        assert name in refusal(act, LedgerCorrupt)


@pytest.mark.parametrize("addition", POSTGRES_ADDITIONS[:2])
@pytest.mark.parametrize("locations", ["postgresql"], indirect=True)
def test_a_charge_that_a_server_swallows_is_not_drawn(location: Location, addition: str) -> None:
    ledger = opened(location)
    spend(ledger, "a")
    edit(location, addition)
    refusal(lambda: ledger.charge(key("b"), BODY, admit))
    assert ledger.account["spent"] == "1"


@pytest.mark.parametrize("locations", ["postgresql"], indirect=True)
def test_other_peoples_tables_in_the_schema_are_their_business(location: Location) -> None:
    ledger = opened(location)
    edit(location, "CREATE TABLE payroll (person text)")
    edit(location, "CREATE INDEX faster ON chain (kind)")
    spend(ledger, "a")
    assert opened(location).verify().charges == 1


# ---------------------------------------------------------------- new or not


def test_a_new_ledger_says_so_until_the_first_charge(location: Location) -> None:
    location = as_owner(location)
    assert "does not exist" in refusal(lambda: opened(location, existing=True), LedgerFormat)
    ledger = opened(location)
    assert ledger.is_new
    assert not opened(location, existing=True).is_new
    spend(ledger, "a")
    assert not ledger.is_new
    assert CHARTER["dataset"] == ledger.charter["dataset"]


def test_existing_makes_nothing(tmp_path: Path) -> None:
    refusal(lambda: opened(tmp_path / "visits.ledger", existing=True), LedgerFormat)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- locked


def test_who_holds_a_ledger_is_said_once_to_whoever_listens_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "visits.ledger"
    ledger = opened(path)
    reading, writing = os.pipe()
    ending, end = os.pipe()

    def hold() -> None:
        def work(connection: object) -> None:
            os.write(writing, b"x")
            os.read(ending, 1)

        opened(path)._store.write(work)

    holder = Call(hold)
    os.read(reading, 1)
    monkeypatch.setattr(store, "NOTICE", 0.05)
    monkeypatch.setattr(store, "PATIENCE", 3.0)  # time to look at who holds it, on a busy machine too
    heard: list[str] = []
    ledger.on_wait = heard.append
    said = refusal(lambda: spend(ledger, "a"))
    assert [f"process {holder.pid} (" in one for one in heard] == [True]
    assert f"stayed locked for 3 seconds: process {holder.pid} (" in said
    ledger.on_wait = None
    refusal(lambda: spend(ledger, "a"))
    told = capfd.readouterr().err
    assert told.count("\n") == 1 and f"waiting for the ledger {path}: process {holder.pid}" in told
    assert ledger.account["spent"] == "0", "looking does not wait"
    os.write(end, b"x")
    holder.result()
    spend(ledger, "a")
    for pipe in (reading, writing, ending, end):
        os.close(pipe)


def test_a_link_beside_the_ledger_is_not_written_to(tmp_path: Path) -> None:
    path, precious = tmp_path / "visits.ledger", tmp_path / "precious"
    precious.write_bytes(b"untouched" * 100)
    path.with_name("visits.ledger-lock").symlink_to(precious)
    assert "is a link" in refusal(lambda: opened(path))
    assert precious.read_bytes() == b"untouched" * 100
    assert not path.exists()


def test_waiting_for_a_thread_of_ones_own_is_not_blamed_on_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ledger = opened(tmp_path / "visits.ledger")
    spend(ledger, "before")
    reading, ending = threading.Event(), threading.Event()

    def look(connection: Connection) -> None:
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").all()
        reading.set()
        ending.wait()

    reader = threading.Thread(target=ledger._store.read, args=(look,))
    reader.start()
    reading.wait()
    monkeypatch.setattr(store, "NOTICE", 0.05)
    monkeypatch.setattr(store, "PATIENCE", 0.5)
    try:
        said = refusal(lambda: spend(ledger, "meanwhile"))
    finally:
        ending.set()
        reader.join()
    assert "stayed locked for 0.5 seconds" in said
    assert capfd.readouterr().err == ""
    spend(ledger, "after")


@pytest.mark.parametrize(
    ("looks", "heard"),
    [
        ([(1, "")], 0),
        ([(1, ""), (6, "")], 1),
        ([(1, ""), (2, None), (6, ""), (20, "")], 0),
        ([(0, "process 7 (psql) holds it"), (1, "process 7 (psql) holds it"), (2, "process 8 (psql) holds it")], 1),
    ],
    ids=["nobody is seen", "nobody for long", "then a thread of ours", "somebody with a name"],
)
def test_nobody_is_blamed_where_our_own_threads_take_turns(
    tmp_path: Path, looks: list[tuple[float, str | None]], heard: int
) -> None:
    """Between two threads of ours nobody holds the lock, and a look at that moment sees nobody."""
    ledger, told = opened(tmp_path / "test.ledger"), list[str]()
    ledger.on_wait = told.append
    wait = store.Wait(ledger._store)
    for seconds, who in looks:  # since the wait began
        wait.notice = time.monotonic() + store.NOTICE - seconds - 1e-3
        wait.tell(lambda who=who: who)  # type: ignore[misc]
    assert len(told) == heard and all(text.endswith(" holds it") for text in told)
