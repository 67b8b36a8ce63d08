"""Long answers: they lie in memory once, and for as long as somebody wants them."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlalchemy.sql.elements import BindParameter

import dpviz as dv
from dpviz.model import release as release_file
from dpviz.model.answers.labels import Labels
from dpviz.model.lines import Lines
from dpviz.model.question import Question, canonical
from dpviz.model.release import checked, with_checksum
from dpviz.session.ledger.blobs import INLINE

KEYS = 5_000


@pytest.fixture
def session(tmp_path: Path) -> Iterator[dv.Session]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE items AS SELECT 'item ' || (range % {KEYS}) AS item FROM range({100 * KEYS})")
        source = dv.sources.duckdb(connection, "items")
        yield dv.Session(source, dv.Unit("row"), dv.Budget(100, "1/2"), tmp_path / "long.ledger")


def released(session: dv.Session, key: str = "long") -> Any:
    return session.release(Question.of(dv.Domain.keys(column="item")), dv.Stability(1, "1e-9"), key=key)


def test_a_long_list_of_keys_is_the_same_from_an_engine_and_from_its_file(session: dv.Session, tmp_path: Path) -> None:
    release = released(session)
    labels: Labels = release.answer.labels
    assert isinstance(labels, Lines), "no text was made of a key before somebody reads it"
    assert list(labels) == sorted(f"item {number}" for number in range(KEYS))
    for name in ("long.json", "long.dpviz"):
        loaded: Any = dv.load(release.save(tmp_path / name))
        assert loaded == release and loaded.answer.labels == tuple(labels)
    assert release["item 17"] == dict(zip(labels, release.values, strict=True))["item 17"]


def test_an_answer_that_nobody_wants_any_more_is_gone_at_once(session: dv.Session) -> None:
    gc.collect()
    gc.disable()
    try:
        kept = weakref.ref(released(session))
        assert kept() is None
    finally:
        gc.enable()


def test_no_statement_that_is_kept_holds_an_answer(session: dv.Session) -> None:
    content = released(session).to_bytes()
    assert len(content) > INLINE, "it would not be stored by itself"
    held = [one for one in gc.get_objects() if isinstance(one, BindParameter) and one.value == content]
    assert not held


@pytest.mark.parametrize("odd", ["", "\0", 'a "quote"\0', "A" * 5_000, "\\" * 5_000, "ä" * 5_000, "a\0" * 3_000])
def test_long_arrays_and_odd_texts_are_written_as_plain_json_writes_them(odd: str) -> None:
    body = {"key": odd, "answer": {"arrays": {"b": {"base64": "Ab+/" * 3_000 + "A==="}, "a": {"base64": "x" * 9_000}}}}
    written = canonical(body)
    assert with_checksum(body) == canonical({"release": body, "sha256": sha256(written).hexdigest()})
    assert json.loads(with_checksum(body))["release"] == body


PLAIN = "Ab+/" * 2_000


@pytest.mark.parametrize(
    "odd",
    [
        PLAIN,
        [PLAIN, "short", PLAIN],
        {"b": PLAIN, "a": [{"c": PLAIN + "=", "d": None}]},
        {PLAIN: "its key is long"},
        {PLAIN: PLAIN},
        'a quote before it: "' + PLAIN,
        "a quote after it: " + PLAIN + '"',
        "\\",
        ["\\", PLAIN],
        ['ends in a quote"', PLAIN, '"', '\\"'],
        PLAIN + "ä",
        PLAIN + "\u1234",
        "\0",
        ["\0", PLAIN],
        "\\u0000" + PLAIN,
    ],
)
def test_a_long_text_is_read_as_the_json_library_reads_it(odd: object) -> None:
    body = {"format": "dpviz.release", "version": 2, "odd": odd, "number": 7}
    content = with_checksum(body)
    assert content == canonical({"release": body, "sha256": sha256(canonical(body)).hexdigest()})
    assert checked(content) == body == json.loads(content)["release"]


def test_what_is_not_written_canonically_is_not_taken_for_it() -> None:
    """The checksum is right in each; `_as_saved` leaves them to the slow way, which writes the body anew."""
    for written in (
        b'{"b":"%s","a":1}' % PLAIN.encode(),  # keys out of order
        b'{"a": "%s"}' % PLAIN.encode(),  # a space
        b'{"a":"%s","a":"%s"}' % (PLAIN.encode(), PLAIN.encode()),  # a key twice
        b'{"a":"\\u0041%s"}' % PLAIN.encode(),  # a letter written otherwise
        b'["%s"]' % PLAIN.encode(),
        b'"%s"' % PLAIN.encode(),
        b'{"a"%s":1}' % PLAIN.encode(),
        b'{"a":"x"%s"}' % PLAIN.encode(),
    ):
        content = release_file._saved(written, sha256(written).hexdigest())
        assert release_file._as_saved(content) is None, written[:20]
    good = b'{"a":"%s"}' % PLAIN.encode()
    assert release_file._as_saved(release_file._saved(good, sha256(good).hexdigest())) == {"a": PLAIN}
