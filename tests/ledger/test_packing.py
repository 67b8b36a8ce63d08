"""Rows are packed in files. The chain is over their texts, and knows nothing of it; older files go on as they are."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import LedgerCorrupt, LedgerError, LedgerFormat
from dpviz.session.ledger import Ledger, packing, rows
from dpviz.session.ledger.chain import Row, State
from dpviz.session.ledger.sqlite import File
from tests.ledger.tools import BODY, CHARTER, Location, admit, edit, key, on_a_file, opened, spend, sql

ROOM = 2500
"""So many bytes of a file a release may take, with all that finds it."""


def stored(location: Location) -> list[tuple[Any, ...]]:
    return sql(location, "SELECT * FROM chain ORDER BY seq")


def some(count: int) -> list[Row]:
    """Rows such as ledgers have, and some that they have not."""
    state = State({"spent": "0", "budget": "100"}, 0, 1)
    last = Row.after(None, "charter", state, format=packing.FORMAT, charter=CHARTER)
    found = [last]
    for number in range(count):
        last = Row.after(last, "charge", state, number=number, key=key(number), charge=BODY, text="é€" * number**2)
        found.append(last)
    return found


@pytest.mark.parametrize("text", ["", "x", "{}", "0" * 2**20, "0" * (2**20 + 1), *(row.body for row in some(12))])
def test_what_is_packed_unpacks_to_the_same(text: str) -> None:
    content = packing.packed(text)
    assert packing.unpacked(content) == text
    assert isinstance(content, bytes) == (len(text) <= 2**20)


def test_any_bit_of_a_packed_text_that_changes_is_noticed() -> None:
    row = some(3)[2]
    content = packing.packed(row.body)
    assert isinstance(content, bytes)
    assert Row.read((row.seq, row.kind, content, row.previous, row.hash)) == row
    altered = [content[:-1], content + b"\0", content[1:], b"", b"\x02" + content[1:]]
    for bit in range(8 * len(content)):
        whole = bytearray(content)
        whole[bit // 8] ^= 1 << bit % 8
        altered.append(bytes(whole))
    for other in altered:
        with pytest.raises(LedgerCorrupt, match=f"row {row.seq} does not match its hash"):
            Row.read((row.seq, row.kind, other, row.previous, row.hash))


def test_a_short_text_that_unpacks_to_a_very_long_one_is_refused() -> None:
    pack = zlib.compressobj(wbits=-15, zdict=packing.DICTIONARY.read_bytes())
    content = pack.compress(b"0" * 2**28) + pack.flush()
    bomb = b"\x01" + content + zlib.crc32(content).to_bytes(4, "little")
    assert packing.unpacked(bomb) is bomb


def test_the_dictionary_is_what_it_was() -> None:
    """Rows that lie in files of users were packed against it."""
    found = hashlib.sha256(packing.DICTIONARY.read_bytes()).hexdigest()
    assert found == "04dccf7af5bf64958f8da9e19d88ffff663cb661fb19fc033516d2ed079bf6a4"


@on_a_file
def test_a_file_packs_all_rows_but_the_first(location: Path) -> None:
    ledger = opened(location)
    spend(ledger, "a", "b")
    first, *others = stored(location)
    assert isinstance(first[2], str) and '"format":3' in first[2]
    assert len(others) == 4 and all(isinstance(record[2], bytes) for record in others)
    ledger.backup(location.with_name("copy"))
    assert stored(location.with_name("copy")) == stored(location)
    assert ledger.answer(1) == b"the answer to a" and ledger.verify().rows == 5


@pytest.mark.parametrize("locations", ["postgresql"], indirect=True)
def test_a_server_keeps_texts_and_so_does_a_copy_of_it(location: str, tmp_path: Path) -> None:
    ledger = opened(location)
    spend(ledger, "a", "b")
    texts = [record[2] for record in stored(location)]
    assert all(isinstance(text, str) for text in texts) and '"format":2' in texts[0]
    ledger.backup(tmp_path / "copy")
    copy = opened(tmp_path / "copy")
    spend(copy, "c")
    assert all(isinstance(record[2], str) for record in stored(tmp_path / "copy")) and copy.verify().rows == 7


@on_a_file
def test_a_file_of_an_earlier_format_goes_on_as_it_is(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(File, "format", 2)
        spend(opened(location), "a")
    spend(opened(location), "b", "c")
    assert all(isinstance(record[2], str) for record in stored(location))
    ledger = opened(location)
    assert ledger.verify().rows == 7 and ledger.answer(3) == b"the answer to c"


@on_a_file
def test_an_earlier_dpviz_says_that_it_is_too_old(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spend(opened(location), "a")
    monkeypatch.setattr(rows, "FORMAT", 2)
    looks: list[Callable[[], object]] = [
        lambda: opened(location),
        lambda: Ledger.read(location),
        lambda: Ledger.rebuild_index(location),
    ]
    for look in looks:
        with pytest.raises(LedgerFormat, match="has format 3, and this dpviz reads up to 2; upgrade dpviz"):
            look()


@on_a_file
def test_texts_and_packed_texts_are_the_same_ledger(location: Path) -> None:
    """Whoever writes texts into a packed file, or packs them in another way, has altered nothing."""
    spend(opened(location), "a", "b")
    before, kept = opened(location).verify(), stored(location)
    for row in map(Row.read, kept):
        other = packed_otherwise(row.body) if row.seq > 1 and row.seq % 2 else row.body
        edit(location, "UPDATE chain SET body = ? WHERE seq = ?", other, row.seq)
    assert not {record[2] for record in kept[1:]} & {record[2] for record in stored(location)}
    assert opened(location).verify() == before
    spend(opened(location), "c")
    assert opened(location).answer(3) == b"the answer to c"


def packed_otherwise(text: str) -> bytes:
    pack = zlib.compressobj(0, wbits=-15)
    content = pack.compress(text.encode()) + pack.flush()
    return b"\x01" + content + zlib.crc32(content).to_bytes(4, "little")


@on_a_file
def test_a_very_long_text_is_kept_as_it_is(location: Path) -> None:
    ledger, long = opened(location), {**BODY, "question": "x" * 2**20}
    ledger.finish(ledger.charge(key("a"), long, admit).number, b"an answer")
    _, charge, outcome = stored(location)
    assert isinstance(charge[2], str) and isinstance(outcome[2], bytes)
    again = opened(location)
    assert again.verify().rows == 3 and again.entry(1).body == long and again.answer(1) == b"an answer"


@on_a_file
@pytest.mark.parametrize("content", [b"", None, packing.DICTIONARY.read_bytes() + b"\n"])
def test_with_a_damaged_dictionary_nothing_is_read_or_written(
    location: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    """What was packed against another dictionary could be read by nobody else."""
    spend(opened(location), "a")
    new, before = tmp_path / "new.ledger", stored(location)
    with monkeypatch.context() as damaged:
        damaged.setattr(packing, "DICTIONARY", tmp_path / "dictionary.txt")
        if content is not None:
            packing.DICTIONARY.write_bytes(content)
        packing._words.cache_clear()
        acts: list[Callable[[], object]] = [
            lambda: opened(location),
            lambda: Ledger.read(location).verify(),
            lambda: spend(opened(new), "a"),
        ]
        for act in acts:
            with pytest.raises(LedgerError, match=r"dictionary\.txt, is missing or altered.*install dpviz") as refused:
                act()
            assert not isinstance(refused.value, LedgerCorrupt)
    packing._words.cache_clear()
    assert stored(location) == before and len(stored(new)) == 1
    spend(opened(location), "b")
    spend(opened(new), "a")
    assert opened(location).verify().rows == 5 and opened(new).verify().rows == 3


def test_a_release_takes_little_room(tmp_path: Path) -> None:
    path, frame = tmp_path / "visits.ledger", pd.DataFrame({"visits": np.arange(1000) % 50})
    session = dv.Session(frame, unit=dv.Unit(), budget=dv.Budget(epsilon=1000), ledger=path)
    bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
    for number in range(60):
        session.release(bins, dv.Dense("1/10"), key=str(number))
        if number == 9:
            few = path.stat().st_size
    assert (path.stat().st_size - few) / 50 <= ROOM
