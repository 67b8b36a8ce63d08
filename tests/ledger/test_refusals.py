"""Full disk, read-only, no ledger, another format: refused in our words, with nothing changed and nothing of SQL."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from dpviz.errors import LedgerCorrupt, LedgerError, LedgerFormat, LedgerFull, LedgerReadOnly, ReleaseLost
from dpviz.session.ledger import Ledger, store
from dpviz.session.ledger.chain import FORMAT, Row, State
from tests.killing import Call
from tests.ledger.tools import BODY, CHARTER, admit, edit, key, opened, spend
from tests.patience import until


def in_our_words(error: LedgerError) -> None:
    """A message with its parts, and no trace of the statement or of the values that the database choked on."""
    assert error.value
    assert error.rule
    assert error.next_step
    assert error.next_step in str(error)
    assert error.__context__ is None or error.__suppress_context__
    shown = "".join(traceback.format_exception(error))
    assert "sqlalchemy.exc" not in shown
    assert "[SQL" not in shown
    assert "INSERT" not in shown
    walked: BaseException | None = error
    while walked is not None:
        assert "SQL" not in str(walked).replace("SQLite", "").replace("SQLAlchemy URL", "").replace("PostgreSQL", "")
        walked = walked.__context__


# ---------------------------------------------------------------- full disk


@contextmanager
def full_disk(path: Path, *, spare: int = 0) -> Iterator[None]:
    """Every connection made inside may add `spare` pages to the file and no more."""
    connection = sqlite3.connect(path)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.close()

    def limit(dbapi_connection: Any, _: object) -> None:
        dbapi_connection.execute(f"PRAGMA max_page_count={pages + spare}")

    event.listen(Pool, "connect", limit)
    try:
        yield
    finally:
        event.remove(Pool, "connect", limit)


def test_a_full_disk_refuses_the_charge_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    spend(opened(path), "before")
    done, refused = 0, None
    with full_disk(path):
        ledger = opened(path)
        while refused is None:
            entries, account, head = ledger.entries(), ledger.account, ledger.head()
            try:
                ledger.charge(key(done), BODY, admit)
                done += 1
            except LedgerFull as error:
                refused = error
        in_our_words(refused)
        assert (ledger.entries(), ledger.account, ledger.head()) == (entries, account, head)
        assert ledger.find(key(done)) is None
        assert int(account["spent"]) == 1 + done == len(entries)
        ledger.verify()
        assert ledger.answer(1) == b"the answer to before"
    roomy = opened(path)
    assert roomy.head() == head
    spend(roomy, done)
    assert roomy.account["spent"] == str(2 + done)


def test_a_full_disk_at_the_end_keeps_the_charge_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    opened(path)
    large = b"\xff" * 200_000
    with full_disk(path, spare=10):
        ledger = opened(path)
        ledger.charge(key("a"), BODY, admit)
        with pytest.raises(LedgerFull) as refused:
            ledger.finish(1, large)
        in_our_words(refused.value)
        assert "entry 1 could not be stored, and its charge stays: there is no room" in str(refused.value)
        assert ledger.account["spent"] == "1"
        assert ledger.entry(1).status == "lost"
        with pytest.raises(ReleaseLost):
            ledger.charge(key("a"), BODY, admit)
        ledger.verify()
    ledger.detach()  # the disk has room again
    assert ledger.finish(1, large).status == "done"
    assert opened(path).answer(1) == large
    assert ledger.account["spent"] == "1"


def test_what_could_not_be_stored_may_be_drawn_again(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    opened(path)
    with full_disk(path, spare=10):
        ledger = opened(path)
        ledger.charge(key("a"), BODY, admit)
        with pytest.raises(LedgerFull):
            ledger.finish(1, b"\xff" * 200_000)
    ledger.detach()
    assert ledger.charge(key("a"), BODY, admit, retry=True).number == 2
    with pytest.raises(ReleaseLost):
        ledger.finish(1, b"the first draw")
    ledger.finish(2, b"the second draw")
    assert ledger.verify().statuses == {"lost": 1, "done": 1}


def test_a_ledger_that_has_no_room_to_begin_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"

    def limit(dbapi_connection: Any, _: object) -> None:
        dbapi_connection.execute("PRAGMA max_page_count=3")

    event.listen(Pool, "connect", limit)
    try:
        with pytest.raises(LedgerFull) as refused:
            opened(path)
    finally:
        event.remove(Pool, "connect", limit)
    in_our_words(refused.value)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- read-only


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user may enter; what is in it belongs to us."""
    folder = Path(tempfile.mkdtemp(prefix="dpviz-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_another_user(work: Any) -> Any:
    """What `work` returns when run by someone who owns nothing here. Root gives up its rights; others have none."""

    def run() -> Any:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        return work()

    return Call(run).result()


def refused_as(work: Any) -> list[str]:
    try:
        work()
    except LedgerError as error:
        in_our_words(error)
        return [type(error).__name__]
    return []


@pytest.mark.parametrize(
    ("file", "folder"), [(0o444, 0o777), (0o666, 0o555), (0o444, 0o555)], ids=["file", "folder", "both"]
)
def test_a_read_only_ledger_gives_what_is_free_and_refuses_a_charge(shared: Path, file: int, folder: int) -> None:
    path = shared / "visits.ledger"
    ledger = opened(path, check=lambda step: True)
    spend(ledger, "a")
    use = ledger.charge(key("tape"), BODY, admit, opens={"left": "9"}).number
    ledger.settle(use, ledger.reserve(use, key("f"), BODY, dict).number, b"the answer to f", dict)
    held = ledger.verify()
    ledger.detach()
    path.chmod(file)
    shared.chmod(folder)

    def look() -> list[Any]:
        looking = opened(path, check=lambda step: True)
        found = looking.charge(key("a"), BODY, admit)
        asked = looking.reserve(use, key("f"), BODY, dict)
        refused = [
            refused_as(act)
            for act in (
                lambda: looking.charge(key("b"), BODY, admit),
                lambda: looking.reserve(use, key("g"), BODY, dict),
                lambda: looking.raise_budget({"epsilon": "3", "delta": "0"}, dict),
            )
        ]
        answers = [looking.answer(found.number).decode(), looking.use_answer(use, asked.number).decode()]
        return [looking.read_only, looking.account["spent"], looking.verify().head, answers, refused]

    answers = ["the answer to a", "the answer to f"]
    assert as_another_user(look) == [True, "2", held.head, answers, [["LedgerReadOnly"]] * 3]
    shared.chmod(0o755)
    path.chmod(0o644)
    assert Ledger.read(path).verify() == held


def test_no_ledger_is_made_in_a_folder_that_cannot_be_written(shared: Path) -> None:
    shared.chmod(0o555)
    assert as_another_user(lambda: refused_as(lambda: opened(shared / "new.ledger"))) == ["LedgerReadOnly"]
    assert list(shared.iterdir()) == []


def test_anyone_may_look_at_a_ledger_in_a_folder_that_cannot_be_written(shared: Path) -> None:
    path = shared / "visits.ledger"
    ledger = opened(path)
    spend(ledger, "a")
    ledger.detach()
    path.chmod(0o444)
    shared.chmod(0o555)
    looked = as_another_user(lambda: [Ledger.read(path).verify().head, Ledger.read(path).answer(1).decode()])
    assert looked == [ledger.head(), "the answer to a"]


def test_nothing_is_charged_through_a_ledger_opened_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    spend(opened(path), "a")
    looking = Ledger.read(path)
    acts = (
        lambda: looking.charge(key("b"), BODY, admit),
        lambda: looking.charge(key("a"), BODY, admit),
        lambda: looking.finish(1, b""),
        lambda: looking.renew(1),
        lambda: looking.raise_budget({}, dict),
    )
    for act in acts:
        with pytest.raises(LedgerReadOnly) as refused:
            act()
        in_our_words(refused.value)


# ---------------------------------------------------------------- no ledger, or another one


def write_text(path: Path) -> None:
    path.write_text("patient,visits\n17,4\n" * 100)


def write_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE patients (name TEXT)")
    connection.close()


def write_namesake(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE chain (seq INTEGER PRIMARY KEY, links TEXT)")
    connection.close()


def write_empty_chain(path: Path) -> None:
    opened(path)
    edit(path, "DELETE FROM chain")


def write_other_first_row(path: Path) -> None:
    opened(path)
    edit(path, "UPDATE chain SET body = '[1]'")


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (write_text, LedgerFormat),
        (write_database, LedgerFormat),
        (write_namesake, LedgerFormat),
        (Path.mkdir, LedgerFormat),
        (Path.touch, LedgerCorrupt),
        (write_empty_chain, LedgerCorrupt),
        (write_other_first_row, LedgerCorrupt),
    ],
)
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, write: Any, kind: type[LedgerError]) -> None:
    path = tmp_path / "visits.ledger"
    write(path)
    before = path.read_bytes() if path.is_file() else None
    for act in (lambda: opened(path), lambda: Ledger.read(path)):
        with pytest.raises(kind) as refused:
            act()
        in_our_words(refused.value)
        assert "patient" not in str(refused.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_newer_format_is_refused_as_such_even_with_other_rows(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    opened(path)
    newer = Row.after(None, "charter", State({}, 0, 1), format=FORMAT + 1, charter=CHARTER)
    edit(path, "UPDATE chain SET body = ?, hash = ?", newer.body, "a longer hash that only the next version knows")
    for act in (lambda: opened(path), lambda: Ledger.read(path), lambda: Ledger.rebuild_index(path)):
        with pytest.raises(LedgerFormat, match="upgrade dpviz") as refused:
            act()
        assert refused.value.value == str(FORMAT + 1)
        in_our_words(refused.value)


def test_a_ledger_that_does_not_exist_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(LedgerFormat, match="does not exist") as refused:
        Ledger.read(tmp_path / "visits.ledger")
    in_our_words(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="No such file") as refused:
        opened(tmp_path / "nowhere" / "visits.ledger")
    in_our_words(refused.value)


@pytest.mark.parametrize(
    "location",
    [
        "",
        ":memory:",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql://ann:secret@127.0.0.1:1/visits",
        "postgresql://ann:secret@127.0.0.1",
        "postgresql://ann:secret@db:port/visits",
        "postgresql:///visits?password=secret&schema=",
        "postgresql:///visits?password=secret&options=-csearch_path=team",
        "mysql://ann:secret@db/visits",
        "a://b://c",
        7,
        None,
        b"x",
    ],
)
def test_a_ledger_needs_a_file_or_a_server(location: Any) -> None:
    with pytest.raises(LedgerError) as refused:
        opened(location)
    in_our_words(refused.value)
    assert "secret" not in str(refused.value)


def test_a_url_and_a_path_name_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "visits of 100%?#.ledger"
    spend(opened(path), "a")
    assert opened(Path(os.path.relpath(path))).head() == opened(path).head()
    plain = tmp_path / "plain.ledger"
    spend(Ledger.open(f"sqlite:///{plain}", charter=CHARTER, account={"spent": "0", "budget": "9"}), "a")
    assert Ledger.read(plain).account["spent"] == "1"


def test_a_ledger_that_was_removed_or_replaced_is_not_charged(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    ledger = opened(path)
    spend(ledger, "a")
    other = opened(tmp_path / "other.ledger")
    other.detach()
    kept = tmp_path / "kept.ledger"
    path.rename(kept)
    with pytest.raises(LedgerError, match="removed or replaced") as refused:
        ledger.charge(key("b"), BODY, admit)
    in_our_words(refused.value)
    shutil.copy(tmp_path / "other.ledger", path)
    with pytest.raises(LedgerError, match="removed or replaced"):
        ledger.charge(key("b"), BODY, admit)
    kept.rename(path)
    spend(ledger, "b")
    assert ledger.account["spent"] == "2"


def test_the_log_of_a_ledger_that_is_gone_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    for end in ("-wal", "-journal"):
        beside = path.with_name(path.name + end)
        beside.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")  # how a journal begins that is to be gone through
        with pytest.raises(LedgerCorrupt, match=rf"visits\.ledger{end}") as refused:
            opened(path)
        in_our_words(refused.value)
        assert not path.exists()
        beside.unlink()
    ledger = opened(path)
    spend(ledger, "a")
    path.unlink()
    assert opened(path, existing=False).is_new, "a journal that was gone through holds nothing"


def test_a_ledger_that_stays_locked_is_refused_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    path = tmp_path / "visits.ledger"
    ledger = opened(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="stayed locked") as refused:
        ledger.charge(key("a"), BODY, admit)
    in_our_words(refused.value)
    assert ledger.account["spent"] == "0"  # looking does not wait
    holder.execute("ROLLBACK")
    holder.close()
    spend(ledger, "a")


def test_a_commit_that_the_database_refused_is_not_taken_for_one_that_was_not_heard_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader keeps the first try from its commit, a writer the second one from its begin."""
    ledger, path = opened(tmp_path / "a.ledger"), tmp_path / "a.ledger"
    reader, writer = (sqlite3.connect(path, isolation_level=None, timeout=60) for _ in range(2))
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM chain").fetchall()
    ready, tries = ledger._store.ready, 0

    def second() -> None:
        nonlocal tries
        tries += 1
        if tries == 2:
            writer.execute("BEGIN IMMEDIATE")
        ready()

    monkeypatch.setattr(ledger._store, "ready", second)
    monkeypatch.setattr(store, "PATIENCE", 3.0)  # time for a second try, on a busy machine too
    with pytest.raises(LedgerError, match="stayed locked for 3 seconds"):
        ledger.charge(key("a"), BODY, admit)
    assert tries > 1
    writer.close()
    reader.close()
    assert ledger.entries() == [] and ledger.verify().rows == 1


def test_the_lock_that_keeps_the_order_is_a_courtesy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process that holds it delays the others and no more."""
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    path = tmp_path / "visits.ledger"
    ledger = opened(path)
    with path.with_name("visits.ledger-lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        spend(ledger, "a")
    spend(ledger, "b")
    assert ledger.account["spent"] == "2"
    until(lambda: "dpviz-turn" not in {thread.name for thread in threading.enumerate()})


def test_what_is_refused_would_show_a_leak(tmp_path: Path) -> None:
    """The check of the messages above rejects the database's own error."""
    with pytest.raises(sqlite3.Error) as raw:
        sqlite3.connect(tmp_path / "x").execute("INSERT INTO chain VALUES (1)")
    leaking = LedgerError("a", value="a", rule="a", next_step="a")
    leaking.__context__ = raw.value
    with pytest.raises(AssertionError):
        in_our_words(leaking)
