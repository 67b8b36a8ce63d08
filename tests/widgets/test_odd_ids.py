"""What a page may be called, it is answered by: texts that UTF-8 cannot hold among them."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpviz as dv
from tests.session.sources import KnownCounts, KnownTop
from tests.widgets.pages import Wire, content

LONE = "\ud800"
BINS = dv.Domain.integers(0, 3, column="x")


@pytest.mark.parametrize("name", ["plain", LONE, f"half {LONE} of a pair"])
def test_short_and_long_answers_come_back_to_any_id(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch)
    session = dv.Session(KnownCounts([40, 50, 60, 70]), dv.Unit(noun="person"), dv.Budget(9), tmp_path / "k.ledger")
    session.release(BINS, dv.Dense(1))
    top = KnownTop({"": {"ATL": 7919, "STL": 6841, "BOS": 5}})
    opened = dv.Session(top, dv.Unit("person"), dv.Budget("2", "1e-5"), tmp_path / "f.ledger")
    sub = opened.open(dv.PayWhatYouGet(symbols=90, questions=40, epsilon="1", delta="1e-6"))
    sub.ask(dv.Domain.keys(column="dest"), k=2, kbar=4)
    views = [dv.Workbench(session, BINS), dv.PayWhatYouGetTape(sub, {"All year": dv.Domain.keys(column="dest")})]
    asks = [("status", {}), ("show", {"number": "1"}), ("show", {"number": name}), ("cancel", {"token": name})]
    for view in views:
        for at, (ask, args) in enumerate(asks):
            asked = f"{name} {at}"
            wire.send(view, {"method": "custom", "content": {"v": 1, "id": asked, "ask": ask, "args": args}})
            answer = content(wire.wait(view, lambda sent, asked=asked: content(sent).get("re") == asked))  # type: ignore[misc]
            assert answer["ok"] == (at < 2)
