"""The table of a long answer goes to a page in pieces: together they are what `to_csv` writes, and nothing is paid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.session.session import Session
from dpviz.widgets.saving import PIECE
from dpviz.widgets.session_model import SessionModel

ROWS = 120_000


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    frame = pd.DataFrame({"minute": np.arange(5_000) * 17 % ROWS, "kind": ["a, b", 'a "b"'] * 2_500})
    session = Session(frame, dv.Unit("row"), dv.Budget(10, "1e-3"), tmp_path_factory.mktemp("save") / "save.ledger")
    session.release(dv.Domain.integers(0, ROWS - 1, column="minute"), dv.Dense("1/3"))
    session.release(dv.Domain.categories(["a, b", 'a "b"'], column="kind"), dv.Dense(1))
    session.release(dv.Domain.integers(0, ROWS - 1, column="minute"), dv.ALP(1, cap=10, keys=10))
    return session


def ask(model: SessionModel, number: str, start: str) -> dict[str, Any]:
    reply = model.answer({"v": 1, "id": "1", "ask": "table", "args": {"number": number, "start": start}})
    assert reply is not None
    return reply


def whole_table(model: SessionModel, number: str) -> tuple[str, int]:
    """The joined pieces, and how many there were."""
    parts, start = [], "0"
    while start:
        body = ask(model, number, start)["body"]
        parts.append(body["text"])
        start = body["next"]
        assert body["size"] == str(len("".join(parts))) or start
    return "".join(parts), len(parts)


def test_the_pieces_are_the_table_whoever_else_asks_meanwhile(session: Session) -> None:
    model, left = SessionModel(session), session.remaining.epsilon
    content = session.releases[1].to_csv()
    assert content is not None and len(content) > PIECE
    text, pieces = whole_table(model, "1")
    assert text == content and pieces == -(-len(content) // PIECE)
    first = ask(model, "1", "0")["body"]
    short, once = whole_table(model, "2")
    assert (short, once) == (session.releases[2].to_csv(), 1)
    assert first["text"] + ask(model, "1", first["next"])["body"]["text"] == content[: 2 * PIECE]
    assert session.remaining.epsilon == left and len(session.ledger.entries()) == 3


def test_the_last_piece_is_given_again_without_writing_the_table_anew(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page whose reply was lost, or pushed aside by another page's wish, asks again for the piece that it misses."""
    model, release = SessionModel(session), session.releases[1]
    content = release.to_csv()
    assert content is not None
    written: list[int] = []
    monkeypatch.setattr(type(release), "to_csv", lambda self: written.append(1) or content)
    pieces, start = [], "0"
    while start:
        pieces.append((start, ask(model, "1", start)["body"]))
        start = pieces[-1][1]["next"]
    assert len(pieces) > 1 and written == [1]
    for _ in range(2):
        assert ask(model, "1", pieces[-1][0])["body"] == pieces[-1][1]
    assert written == [1]
    assert ask(model, "1", pieces[0][0])["body"] == pieces[0][1] and written == [1, 1]


def test_a_page_knows_how_many_rows_there_are_to_save(session: Session) -> None:
    long, short, none = (picture(session.releases[number]) for number in (1, 2, 3))
    assert (long["table_rows"], long["csv"], short["table_rows"], none["table_rows"]) == (str(ROWS), "", "2", "0")
    assert short["csv"] == session.releases[2].to_csv()


@pytest.mark.parametrize(
    ("number", "start", "words"),
    [
        ("1", "999999999", "from a place in it"),
        ("1", "-1", "a place must be a whole number"),
        ("1", "x" * 50, "a place must be a whole number of at least 0, got x"),
        ("3", "0", "no rows to list"),
        ("", "0", "by its number"),
        ("7", "0", "7"),
    ],
)
def test_what_is_no_piece_of_a_table_is_refused(session: Session, number: str, start: str, words: str) -> None:
    reply = ask(SessionModel(session), number, start)
    assert not reply["ok"] and words in reply["error"]["message"], reply
