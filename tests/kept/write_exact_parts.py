"""How the ledger in `exact_parts` was written: `python -m tests.kept.write_exact_parts`, by the first that has them.

Counts of parts that a person is in some of, and of all parts one after the other. Never again into an old one.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import dpviz as dv
from dpviz.session.ledger import owner
from tests.kept.calls import CITIES, MONTHS, frame

HERE = Path(__file__).parent / "exact_parts"
SOURCE = HERE.parent / "0.1.0-2026-11-28-exact" / "source.csv"
UNIT = dv.Unit("person", noun="person", max_bins=3, max_per_bin=2)
CALLS: list[tuple[Any, Any, dict[str, Any]]] = [
    (CITIES, dv.Dense("1"), {"by": dv.Partition(MONTHS, max_parts=6), "delta": "1e-6"}),
    (CITIES, dv.Dense("1", base="tight", cap=1000), {"by": MONTHS, "delta": "1e-2"}),
    (dv.Domain.keys(column="city"), dv.Stability("1/2", "1e-4"), {"by": MONTHS, "delta": "2e-2"}),
]
"""Questions, mechanisms, and how they were asked."""


def opened(path: Path) -> dv.Session:
    """The session on a ledger, as a person opens it."""
    return dv.Session(frame(SOURCE), UNIT, dv.Budget("4", "1/10"), path, dataset="visits", person="Ada")


def main() -> None:
    owner._place = lambda: "elsewhere"  # this file is kept, and names no machine
    HERE.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "kept.ledger"
        session = opened(path)
        for question, mechanism, how in CALLS:
            session.release(question, mechanism, **how)
        assert session.ledger.verify()
        session.ledger.detach()
        (HERE / "parts.ledger.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))


if __name__ == "__main__":
    main()
