"""A release as a cell's last line is a small table of public things."""

from __future__ import annotations

from pathlib import Path

import dpviz as dv
from tests.session.sources import KnownCounts


def test_a_release_shows_a_table_in_a_notebook(tmp_path: Path) -> None:
    session = dv.Session(KnownCounts([5, 0, 70]), dv.Unit(noun="person"), dv.Budget(2), tmp_path / "html.ledger")
    release = session.release(dv.Domain.categories(["a", "<b>", "c"], column="x"), dv.Dense("1/2"))
    shown = release._repr_html_()
    assert "0.5-differential privacy" in shown and "&lt;b&gt;" in shown and "<b>" not in shown
    assert str(release.values[2]) in shown.replace(",", "")
