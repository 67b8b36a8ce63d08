"""How the ledger in `fixed_list` was written: `python -m tests.kept.write_fixed_list`, by the first that sells lists.

A list of Dense, Gaussian and Stability lines, some drawn, and a release beside it. Never again into an old one.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import dpviz as dv
from dpviz.session.ledger import owner
from tests.kept.calls import CITIES, MONTHS, frame

HERE = Path(__file__).parent / "fixed_list"
SOURCE = HERE.parent / "0.1.0-2026-11-28-exact" / "source.csv"
UNIT = dv.Unit("person", noun="person", max_bins=3, max_per_bin=2)
LINES: list[tuple[Any, Any]] = [
    *((dv.Question(MONTHS, {"age": dv.Between(0, top)}), dv.Dense("1/10")) for top in range(20)),
    (CITIES, dv.Dense("1/4", "gaussian", delta="1e-7")),
    (dv.Domain.keys(column="city"), dv.Stability("1/10", "1e-7")),
]
DRAWN = (0, 3, 19, 20, 21)


def opened(path: Path) -> dv.Session:
    """The session on a ledger, as a person opens it."""
    return dv.Session(frame(SOURCE), UNIT, dv.Budget("4", "1e-4"), path, dataset="visits", person="Ada")


def main() -> None:
    owner._place = lambda: "elsewhere"  # this file is kept, and names no machine
    HERE.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "kept.ledger"
        session = opened(path)
        session.release(MONTHS, dv.Dense("1/10"))
        batch = session.batch(LINES, delta="1e-6")
        for line in DRAWN:
            batch.ask(*LINES[line])
        assert session.ledger.verify()
        session.ledger.detach()
        (HERE / "list.ledger.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))


if __name__ == "__main__":
    main()
