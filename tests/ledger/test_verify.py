"""What was written stays as it was written, or `verify` says where it does not."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dpviz.errors import LedgerCorrupt, LedgerError, LedgerFormat
from dpviz.session.ledger import Ledger, Verification
from dpviz.session.ledger.chain import Row
from tests.ledger.tools import BODY, admit, edit, key, opened, respelled, spend
from tests.soak.amounts import part


def fill(path: Path) -> Verification:
    """A ledger with a row of every kind, an inline answer, a blob, and every status."""
    ledger = opened(path)
    spend(ledger, "a")
    ledger.finish(ledger.charge(key("b"), BODY, admit).number, b"\xff" * 100_000)
    ledger.close(ledger.charge(key("c"), BODY, admit).number, "cancelled")
    ledger.close(ledger.charge(key("d"), BODY, admit).number, "failed")
    ledger.raise_budget({"epsilon": "3", "delta": "0"}, lambda account: {**account, "budget": "200"})
    ledger.charge(key("open"), BODY, admit, opens={"left": "9"})
    for name, answer in (("f", b"the answer to f"), ("g", b"\xfe" * 100_000)):
        ledger.settle(5, ledger.reserve(5, key(name), BODY, dict).number, answer, dict)
    ledger.fail_use(5, ledger.reserve(5, key("h"), BODY, lambda sub: {"left": "8"}).number, "failed")
    ledger.reserve(5, key("i"), BODY, dict)
    ledger.charge(key("e"), BODY, admit)
    edit(path, "UPDATE draw SET token = 'someone', place = 'elsewhere', until = 0")
    ledger.charge(key("e"), BODY, admit, retry=True)
    held = ledger.verify()
    ledger.detach()
    return held


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "visits.ledger"
    held = fill(path)
    assert held.statuses == {"done": 2, "cancelled": 1, "failed": 1, "open": 1, "lost": 1, "pending": 1}
    assert (held.rows, held.charges, held.blobs) == (22, 7, 2)
    assert held.uses == {"done": 2, "failed": 1, "pending": 1}
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    copied = tmp_path / "visits.ledger"
    shutil.copy(whole, copied)
    return copied


def fields(path: Path) -> Iterator[tuple[str, str, int]]:
    """Every field of every row of the record and of its index. A lease is about the present and not verified."""
    connection = sqlite3.connect(path)
    for table in ("chain", "entry", "use", "blob"):
        columns = [column[1] for column in connection.execute(f"PRAGMA table_info({table})")]
        for (rowid,) in connection.execute(f"SELECT rowid FROM {table}").fetchall():
            yield from ((table, column, rowid) for column in columns)
    connection.close()


def changes(path: Path, table: str, column: str, rowid: int) -> Iterator[object]:
    """Other values of the same type, another type, and none."""
    connection = sqlite3.connect(path)
    (value,) = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (rowid,)).fetchone()
    connection.close()
    if isinstance(value, int):
        yield from (value + 1, value + 100, str(value) + "x")
    elif isinstance(value, str):
        middle = len(value) // 2
        yield value[:middle] + ("0" if value[middle] != "0" else "1") + value[middle + 1 :]
        yield from (value + " ", value[:-1], "x" + value[1:], b"bytes")
    elif isinstance(value, bytes):
        yield from (value[:-1], b"\x00" + value[1:], value.decode("latin-1"))
    else:
        yield from (1, "text")
    if value is not None:
        yield None


def test_any_change_to_any_field_of_any_row_is_found(path: Path) -> None:
    made, unseen = 0, []
    for number, (table, column, rowid) in enumerate(list(fields(path))):
        values = list(changes(path, table, column, rowid))
        for value in values if part(2, 1) == 2 else values[number % 2 :: 2]:
            copy = path.with_name(f"copy{made}.ledger")
            shutil.copy(path, copy)
            try:
                edit(copy, f"UPDATE {table} SET {column} = ? WHERE rowid = {rowid}", value)
            except sqlite3.IntegrityError:
                continue  # the table itself does not take it
            made += 1
            try:
                Ledger.read(copy).verify()
            except (LedgerCorrupt, LedgerFormat):
                continue
            unseen.append((table, column, rowid, value))
    assert unseen == []
    assert made > part(500, 250)


@pytest.mark.parametrize("seq", range(1, 22))
def test_a_row_rewritten_with_a_fitting_hash_is_found_by_the_next(path: Path, seq: int) -> None:
    connection = sqlite3.connect(path)
    row = Row.read(connection.execute("SELECT * FROM chain WHERE seq = ?", (seq,)).fetchone())
    connection.close()
    forged = Row.after(replace(row, seq=seq - 1, hash=row.previous), row.kind, row.state, **_parts(row), forged=True)
    assert (forged.seq, forged.previous) == (row.seq, row.previous)
    edit(path, "UPDATE chain SET body = ?, hash = ? WHERE seq = ?", forged.body, forged.hash, seq)
    with pytest.raises(LedgerCorrupt, match=f"row {seq + 1} does not follow row {seq}"):
        Ledger.read(path).verify()


def _parts(row: Row) -> dict[str, object]:
    return {name: part for name, part in row.content.items() if name not in ("at", "state")}


@pytest.mark.parametrize("table", ["chain", "entry", "use", "blob"])
def test_a_missing_row_is_found(path: Path, table: str) -> None:
    connection = sqlite3.connect(path)
    rowids = [rowid for (rowid,) in connection.execute(f"SELECT rowid FROM {table}")]
    connection.close()
    for rowid in rowids:
        copy = path.with_name(f"copy{rowid}.ledger")
        shutil.copy(path, copy)
        edit(copy, f"DELETE FROM {table} WHERE rowid = {rowid}")
        with pytest.raises(LedgerCorrupt):
            Ledger.read(copy).verify()


def test_a_blob_that_no_row_names_is_found(path: Path) -> None:
    edit(path, "INSERT INTO blob VALUES (?, ?)", "0" * 64, b"stray")
    with pytest.raises(LedgerCorrupt, match="no row names"):
        Ledger.read(path).verify()


def cut(path: Path, rows: int) -> None:
    """Cut rows off the end, and the index with them, as an older copy of the file would be."""
    edit(path, "DELETE FROM entry WHERE charge > (SELECT max(seq) - ? FROM chain)", rows)
    edit(
        path,
        "UPDATE entry SET status = 'pending', outcome = NULL, closed = NULL "
        "WHERE outcome > (SELECT max(seq) - ? FROM chain)",
        rows,
    )
    edit(path, "DELETE FROM chain WHERE seq > (SELECT max(seq) - ? FROM chain)", rows)


def test_rows_cut_off_the_end_are_found_by_a_head_noted_earlier(path: Path) -> None:
    head = Ledger.read(path).head()
    cut(path, 2)
    shorter = Ledger.read(path).verify()
    assert shorter.rows == 20
    assert Ledger.read(path).verify(head=shorter.head) == shorter
    with pytest.raises(LedgerCorrupt, match="cut off or replaced"):
        Ledger.read(path).verify(head=head)


def test_a_ledger_whose_early_rows_are_broken_is_not_opened(path: Path) -> None:
    respelled(path, 2, "visits 0", "visits 1")
    with pytest.raises(LedgerCorrupt) as refused:
        opened(path)
    assert refused.value.value == "row 2 does not match its hash"
    assert "visits" not in str(refused.value).replace(str(path), "")


def test_a_broken_answer_is_not_given_out(path: Path) -> None:
    ledger = Ledger.read(path)
    assert ledger.answer(1) == b"the answer to a"
    for seq in (3, 14):
        respelled(path, seq, "the answer", "my answer")
    with pytest.raises(LedgerCorrupt, match="row 3"):
        ledger.answer(1)
    with pytest.raises(LedgerCorrupt, match="row 14"):
        ledger.use_answer(5, 1)
    edit(path, "UPDATE blob SET content = x'00'")
    for ask in (lambda: ledger.answer(2), lambda: ledger.use_answer(5, 2)):
        with pytest.raises(LedgerCorrupt, match="missing or altered"):
            ask()
    with pytest.raises(LedgerCorrupt, match="row 3"):
        Ledger.read(path).answer(2)  # nor is any other, from then on


def test_the_index_is_derived_anew_from_the_chain(path: Path) -> None:
    held = Ledger.read(path).verify()
    edit(path, "UPDATE entry SET key = 'other', status = 'done' WHERE number = 3")
    edit(path, "DELETE FROM entry WHERE number = 5")
    with pytest.raises(LedgerCorrupt, match="index is wrong about entry 3"):
        Ledger.read(path).verify()
    Ledger.rebuild_index(path)
    assert Ledger.read(path).verify() == held
    edit(path, "UPDATE chain SET kind = 'raise' WHERE seq = 4")
    with pytest.raises(LedgerCorrupt, match="row 4"):
        Ledger.rebuild_index(path)


def test_a_flipped_bit_anywhere_in_the_file_is_refused_or_changes_nothing(path: Path) -> None:
    entries, held = Ledger.read(path).entries(), Ledger.read(path).verify()
    content, chance = path.read_bytes(), random.Random(1)
    refused = 0
    for _ in range(part(400, 150)):
        location = chance.randrange(len(content))
        copy = path.with_name(f"copy{location}.ledger")
        copy.write_bytes(
            content[:location] + bytes([content[location] ^ (1 << chance.randrange(8))]) + content[location + 1 :]
        )
        try:
            ledger = Ledger.read(copy)
            assert ledger.verify() == held
            assert ledger.entries() == entries
        except LedgerError:
            refused += 1
        copy.unlink()
    assert refused > part(100, 37)


def test_a_truncated_file_is_refused(path: Path) -> None:
    content, chance = path.read_bytes(), random.Random(2)
    sizes = {0, 1, 15, 16, 99, 100, 4096, len(content) - 4096, len(content) - 1}
    for size in sorted(sizes | {chance.randrange(len(content)) for _ in range(30)}):
        copy = path.with_name(f"copy{size}.ledger")
        copy.write_bytes(content[:size])
        with pytest.raises(LedgerError):
            Ledger.read(copy).verify()
        with pytest.raises(LedgerError):
            opened(copy)
        assert copy.stat().st_size == size


def test_a_backup_is_a_verified_copy_and_overwrites_nothing(path: Path, tmp_path: Path) -> None:
    ledger, copy = Ledger.read(path), tmp_path / "copy.ledger"
    held = ledger.verify()
    assert ledger.backup(copy) == held == Ledger.read(copy).verify()
    assert Ledger.read(copy).answer(2) == b"\xff" * 100_000
    with pytest.raises(LedgerError, match="never overwrites"):
        ledger.backup(copy)
    with pytest.raises(LedgerError, match="never overwrites"):
        ledger.backup(path)
    assert sorted(file.name for file in tmp_path.iterdir() if not file.name.endswith(("-shm", "-wal"))) == [
        "copy.ledger",
        "visits.ledger",
    ]


def test_a_broken_ledger_is_not_backed_up(path: Path, tmp_path: Path) -> None:
    edit(path, "UPDATE chain SET hash = previous WHERE seq = 4")
    with pytest.raises(LedgerCorrupt):
        Ledger.read(path).backup(tmp_path / "copy.ledger")
    assert not (tmp_path / "copy.ledger").exists()
    assert not list(tmp_path.glob(".*"))


def test_an_older_copy_put_back_under_an_open_ledger_is_noticed(tmp_path: Path) -> None:
    path, copy = tmp_path / "visits.ledger", tmp_path / "copy.ledger"
    ledger = opened(path)
    spend(ledger, "a")
    ledger.backup(copy)
    spend(ledger, "b")
    spend(ledger, "c")
    with sqlite3.connect(copy) as old, sqlite3.connect(path) as new:
        old.backup(new)  # the same file, an older content
    with pytest.raises(LedgerCorrupt, match="older than what this session has seen"):
        spend(ledger, "d")
