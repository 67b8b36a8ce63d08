"""How the ledgers in `thresholds` were written, by the dpviz of that day: `python -m tests.kept.write_thresholds NAME`.

before.ledger.gz  by the last dpviz whose thresholds of unknown keys rested on group privacy and on sums over keys
after.ledger.gz   by the first whose noise is truncated at them
gaussian.ledger.gz  by the first that has Gaussian noise behind them, too

Never again into an old one.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

import dpviz as dv
from dpviz.session.ledger import owner
from tests.kept.calls import frame

HERE = Path(__file__).parent / "thresholds"
SOURCE = HERE.parent / "0.1.0-2026-11-28-exact" / "source.csv"
UNIT = dv.Unit("person", noun="person", max_bins=3, max_per_bin=2)
CITIES = dv.Domain.keys(column="city")
ASKED = [
    dv.Stability("2", "1e-6"),
    dv.Stability("2", "1e-6", base="tight", cap=900),
    dv.Threshold("3", "1e-5"),
    dv.Threshold("1", "1e-6"),
    dv.ThresholdMaxProjection("4", keys=6, delta="1e-6"),
]

GAUSSIAN = [dv.Stability("2", "1e-6", base="gaussian"), dv.Threshold("1", "1e-6", base="gaussian")]
"""The last of these ledgers holds these answers besides."""


def opened(path: Path) -> dv.Session:
    return dv.Session(frame(SOURCE), UNIT, dv.Budget("30", "1e-3"), path, dataset="visits", person="Ada")


def main(name: str) -> None:
    owner._place = lambda: "elsewhere"  # these files are kept, and name no machine
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "kept.ledger"
        session = opened(path)
        for mechanism in [*ASKED, *(GAUSSIAN if name == "gaussian" else [])]:
            session.release(CITIES, mechanism)
        assert session.ledger.verify()
        session.ledger.detach()
        (HERE / f"{name}.ledger.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
