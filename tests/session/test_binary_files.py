"""Releases as binary files: what they hold, what they refuse, and that they are the release that JSON has."""

from __future__ import annotations

import json
import random
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import LedgerError, ReleaseFormat
from dpviz.model.question import canonical
from dpviz.model.terms import UNCHECKED
from dpviz.session.saved import from_bytes
from tests.session.sources import KnownCounts

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "formats.md"
KEYS = dv.Domain.integers(0, 2**32 - 1, column="key")


def example() -> bytes:
    """The file that the document shows."""
    (dump,) = re.findall(r"```hex\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return b"".join(bytes.fromhex(line.partition("  ")[2]) for line in dump.splitlines())


def told(what: str) -> str:
    (value,) = re.findall(rf"^\| {re.escape(what)} \| (.*) \|$", DOCUMENT.read_text(), re.MULTILINE)
    return str(value)


def sketch(tmp_path: Path) -> dv.Release:
    frame = pd.DataFrame({"key": np.arange(300).repeat(np.arange(300) % 40 + 1)})
    session = dv.Session(frame, dv.Unit(), dv.Budget(9), tmp_path / "sketch.ledger")
    return session.release(KEYS, dv.ThresholdALP(3, keys=300, split="1/3"))


def refused(content: bytes) -> bool:
    try:
        from_bytes(content, UNCHECKED)
    except ReleaseFormat:
        return True
    return False


# ---------------------------------------------------------------- the document


def test_the_example_of_the_document_is_read_by_its_words() -> None:
    content = example()
    magic, version, length, size = struct.unpack_from("<8sQQQ", content)
    assert (magic.hex(" ").upper(), version) == ("89 44 50 56 49 5A 0A 1A", 1) and magic.hex(" ").upper() in told(
        "0 to 7"
    )
    assert [length, size] == [int(told("H, bytes of the header")), int(told("N, bytes of the file"))]
    header, start = json.loads(content[32 : 32 + length]), -(-(32 + length) // 64) * 64
    assert start == int(told("columns begin at")) and size == len(content)
    column = header["columns"]["values"]
    values = np.frombuffer(content, column["type"], column["shape"][0], start + column["offset"])
    assert values.tolist() == [int(value) for value in told("the column `values`").split(",")]
    assert sha256(content[:-32]).digest() == content[-32:]


def test_the_example_is_loaded_and_written_again(tmp_path: Path) -> None:
    place = tmp_path / "example"
    place.write_bytes(example())
    release = dv.load(place)
    assert release.values == [int(value) for value in told("the column `values`").split(",")]
    assert release.teaching == 7 and release.save(tmp_path / "again.DPVIZ").read_bytes() == example()


# ---------------------------------------------------------------- the same release


def kept() -> Iterator[tuple[str, bytes]]:
    for archive in sorted((ROOT / "tests" / "kept").glob("*/saved.zip")):
        with zipfile.ZipFile(archive) as files:
            for name in files.namelist():
                yield f"{archive.parent.name} {name}", files.read(name)


def test_every_kept_release_becomes_a_binary_file_and_the_same_json_again() -> None:
    shapes = set()
    for name, content in kept():
        release = from_bytes(content, UNCHECKED)
        binary = release.to_binary()
        again = from_bytes(binary, UNCHECKED)
        assert again.to_bytes() == content and again.to_binary() == binary and again == release, name
        assert type(again.answer) is type(release.answer)
        shapes.add(release.answer.kind)
    assert {"table", "sparse", "compact", "ranked", "chosen", "ranges", "ranks", "queries", "sketch"} <= shapes


READ = """
import sys
import dpviz as dv
for path in sys.argv[1:]:
    release = dv.load(path)
    print(release.many(range(0, 400)), release.title, release.bits, release.origin, release.error.one_bin("0.05"))
"""


def test_either_file_is_read_alike_in_another_process_and_confirmed_by_the_ledger(tmp_path: Path) -> None:
    release = sketch(tmp_path)
    text, binary = release.save(tmp_path / "sketch.json"), release.save(tmp_path / "sketch.dpviz")
    assert text.read_bytes()[:1] == b"{" and binary.read_bytes()[1:6] == b"DPVIZ"
    assert binary.stat().st_size < 0.8 * text.stat().st_size
    found = subprocess.run([sys.executable, "-c", READ, text, binary], capture_output=True, text=True, check=True)
    one, other = found.stdout.splitlines()
    assert one == other and one.startswith(str(list(release.many(range(400)))))
    confirmed = dv.load(binary, ledger=tmp_path / "sketch.ledger")
    assert confirmed == release and confirmed.origin == "ledger sketch.ledger"
    assert dv.load(binary).save(tmp_path / "again.json").read_bytes() == text.read_bytes()
    assert dv.load(text).save(tmp_path / "again.dpviz").read_bytes() == binary.read_bytes()
    dv.Session(KnownCounts([1]), dv.Unit(), dv.Budget(1), tmp_path / "other.ledger")
    with pytest.raises(LedgerError):
        dv.load(binary, ledger=tmp_path / "other.ledger")


def test_columns_are_read_where_they_lie(tmp_path: Path) -> None:
    content = sketch(tmp_path).to_binary()
    packed = from_bytes(content, UNCHECKED).answer.pack().arrays["packed"]
    assert np.shares_memory(packed, np.frombuffer(content, dtype=np.uint8))


# ---------------------------------------------------------------- damage


def test_any_altered_byte_of_a_small_file_is_refused() -> None:
    content = example()
    assert not refused(content)
    for at in range(len(content)):
        assert refused(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]), at


def test_any_other_length_is_refused(tmp_path: Path) -> None:
    content = example()
    assert all(refused(content[:size]) for size in range(0, len(content), 7))
    assert all(refused(content + more) for more in (b"\0", b"\n", bytes(64), content))
    assert refused(b" " + content)


def test_a_sample_of_altered_bytes_of_a_long_file_is_refused(tmp_path: Path) -> None:
    content, chance = sketch(tmp_path).to_binary(), random.Random(3)
    for at in chance.sample(range(len(content)), 200):
        assert refused(content[:at] + bytes([content[at] ^ chance.randrange(1, 256)]) + content[at + 1 :]), at


def forged(change: Callable[[dict[str, Any]], object], content: bytes | None = None) -> bytes:
    """The example with another header and a fitting checksum."""
    content = content or example()
    length = int.from_bytes(content[16:24], "little")
    header = json.loads(content[32 : 32 + length])
    change(header)
    columns = content[-(-(32 + length) // 64) * 64 : -32]
    return sealed(canonical(header), columns)


def sealed(written: bytes, columns: bytes, version: int = 1, padding: bytes = b"\0") -> bytes:
    front = 32 + len(written)
    gap = padding * (-front % 64)
    size = front + len(gap) + len(columns) + 32
    whole = struct.pack("<8sQQQ", b"\x89DPVIZ\n\x1a", version, len(written), size) + written + gap + columns
    return whole + sha256(whole).digest()


COLUMN = {"offset": 0, "shape": [4], "type": "<i8"}
HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "an offset of its own": lambda header: header["columns"]["values"].update(offset=8),
    "an offset below 0": lambda header: header["columns"]["values"].update(offset=-64),
    "more rows than there are": lambda header: header["columns"]["values"].update(shape=[5]),
    "a trillion rows": lambda header: header["columns"]["values"].update(shape=[10**12]),
    "fewer rows": lambda header: header["columns"]["values"].update(shape=[3]),
    "rows below 0": lambda header: header["columns"]["values"].update(shape=[-1]),
    "rows in words": lambda header: header["columns"]["values"].update(shape="4"),
    "rows of one number each": lambda header: header["columns"]["values"].update(shape=[4, 1]),
    "more axes than any column has": lambda header: header["columns"]["values"].update(shape=[4, 1, 1, 1, 1]),
    "a version that is true": lambda header: header["release"].update(version=True),
    "version 0": lambda header: header["release"].update(version=0),
    "two axes": lambda header: header["columns"]["values"].update(shape=[2, 2]),
    "floats": lambda header: header["columns"]["values"].update(type="<f8"),
    "objects": lambda header: header["columns"]["values"].update(type="|O"),
    "big end first": lambda header: header["columns"]["values"].update(type=">i8"),
    "a part too many": lambda header: header["columns"]["values"].update(extra=1),
    "two columns in one place": lambda header: header["columns"].update(more=COLUMN),
    "a column of another name": lambda header: header.update(columns={"other": COLUMN}),
    "no columns": lambda header: header.update(columns=None),
    "a list of columns": lambda header: header.update(columns=[COLUMN]),
    "no release": lambda header: header.pop("release"),
    "a release in a list": lambda header: header.update(release=[]),
    "no answer": lambda header: header["release"].pop("answer"),
    "an unknown shape": lambda header: header["release"]["answer"].update(kind="cube"),
    "a shape that is a list": lambda header: header["release"]["answer"].update(kind=[]),
    "an answer with more": lambda header: header["release"]["answer"].update(values=["1"]),
    "another format": lambda header: header["release"].update(format="another"),
    "a later release": lambda header: header["release"].update(version=99),
    "a part of the file too many": lambda header: header.update(more=1),
}


def test_a_file_is_forged_by_no_more_than_its_checksum() -> None:
    """What the cases below change is what is wrong with them."""
    assert forged(lambda header: None) == example()


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_header_that_does_not_fit_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(ReleaseFormat):
        from_bytes(forged(change), UNCHECKED)


def test_there_is_one_file_for_a_release() -> None:
    content = example()
    length = int.from_bytes(content[16:24], "little")
    written, columns = content[32 : 32 + length], content[-(-(32 + length) // 64) * 64 : -32]
    assert sealed(written, columns) == content
    assert refused(sealed(json.dumps(json.loads(written)).encode(), columns)), "a header with spaces"
    assert refused(sealed(written, columns, padding=b"\1")), "padding that is not zero"
    assert refused(sealed(written, columns[:-1] + b"\1")) and refused(sealed(written, columns + bytes(64)))
    with pytest.raises(ReleaseFormat, match="update dpviz"):
        from_bytes(sealed(written, columns, version=2), UNCHECKED)
    assert refused(sealed(b"[" * 100_000, b"")) and refused(sealed(b"\xff", b"")) and refused(sealed(b"{}", b""))


# ---------------------------------------------------------------- JSON, whose checksum is that of what was read


def test_json_is_read_in_its_canonical_form_and_in_any_that_has_the_same_content() -> None:
    content = from_bytes(example(), UNCHECKED).to_bytes()
    outer = json.loads(content)
    for spread in (json.dumps(outer, indent=1), json.dumps({"sha256": outer["sha256"], "release": outer["release"]})):
        assert from_bytes(spread.encode(), UNCHECKED).to_bytes() == content
    for body in (
        json.dumps(outer["release"]).encode(),
        canonical(outer["release"])[:-1] + b',"version":2}',
        canonical(outer["release"]).replace(b"table", b"t\\u0061ble"),
    ):
        assert refused(b'{"release":' + body + b',"sha256":"' + sha256(body).hexdigest().encode() + b'"}')
    half = canonical(outer["release"]).replace(b"example", b"\\ud800")
    assert refused(b'{"release":' + half + b',"sha256":"' + sha256(half).hexdigest().encode() + b'"}')


def test_a_long_text_in_another_spelling_is_refused(tmp_path: Path) -> None:
    """The long texts of a file are compared as they stand: one with an escape is not canonical."""
    content = sketch(tmp_path).to_bytes()
    assert len(content) > 30_000 and not refused(content)
    body = content[len(b'{"release":') : -77]
    at = body.index(b'"base64":"') + 2000
    spelled = body[:at] + b"\\u%04x" % body[at] + body[at + 1 :]
    assert json.loads(spelled) == json.loads(body)
    assert refused(b'{"release":' + spelled + b',"sha256":"' + sha256(spelled).hexdigest().encode() + b'"}')
