"""How the ledger in `together` was written: `python -m tests.kept.write_together`, by the first that sells counts and a
profile in one entry. Never again into an old one.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import dpviz as dv
from dpviz.session.ledger import owner
from tests.kept.calls import MONTHS, frame

HERE = Path(__file__).parent / "together"
SOURCE = HERE.parent / "0.1.0-2026-11-28-exact" / "source.csv"
UNIT = dv.Unit("person", noun="person", max_bins=3)
OVER = dv.Question.contribution_profile(MONTHS, over=3)
CALLS: list[tuple[Any, Any]] = [
    (dv.Dense("9/10"), dv.Dense("1/10", clamp=False)),
    (dv.Tree("1/2"), dv.Tree("1/4")),
    (dv.Dense("1/2", "gaussian", delta="1e-7"), (OVER, dv.Dense("1/8"))),
]


def opened(path: Path) -> dv.Session:
    """The session on a ledger, as a person opens it."""
    return dv.Session(frame(SOURCE), UNIT, dv.Budget("4", "1e-4"), path, dataset="visits", person="Ada")


def shown(release: dv.Release) -> dict[str, Any]:
    """Return the statements of a release: its own, those of its profile, and those of both."""
    profile = release.profile
    assert profile is not None
    ends = release.closed_by().to_frame()
    return {
        "values": [str(value) for value in release.values],
        "profile": [str(value) for value in profile.values],
        "price": release.price_text,
        "own": [release.terms.price.sentence, profile.terms.price.sentence],
        "counted": [str(value) for value in ends["low_counted"]],
    }


def main() -> None:
    owner._place = lambda: "elsewhere"  # this file is kept, and names no machine
    HERE.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "kept.ledger"
        session = opened(path)
        told = [shown(session.release(MONTHS, counts, over=over)) for counts, over in CALLS]
        assert session.ledger.verify()
        session.releases[1].save(HERE / "first.json")
        session.releases[2].save(HERE / "second.dpviz")
        session.ledger.detach()
        (HERE / "together.ledger.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
        (HERE / "shown.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
