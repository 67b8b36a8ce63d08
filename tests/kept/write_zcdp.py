"""How the ledgers in `zcdp` were written, by the dpviz of that day: `python -m tests.kept.write_zcdp before`.

before.ledger.gz  by the last dpviz that converted by Bun and Steinke, and booked epsilon^2/2 of pure answers
after.ledger.gz   by the first that converts by Canonne, Kamath and Steinke, and books epsilon tanh(epsilon/2)
reserve.ledger.gz  by the first whose budgets name a reserve, here a tenth of delta

Never again into an old one.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path
from typing import Any

import dpviz as dv
from dpviz.session.ledger import owner
from tests.kept.calls import AGES, MONTHS, frame

HERE = Path(__file__).parent / "zcdp"
SOURCE = HERE.parent / "0.1.0-2026-11-28-exact" / "source.csv"
UNIT = dv.Unit("person", noun="person", max_bins=3, max_per_bin=2)
BUDGET: dict[str, Any] = {"epsilon": "4", "delta": "1e-4", "filter": "zcdp"}


def opened(path: Path, **budget: Any) -> dv.Session:
    """The session on a ledger, as a person opens it, whatever its conversion."""
    return dv.Session(frame(SOURCE), UNIT, dv.Budget(**{**BUDGET, **budget}), path, dataset="visits", person="Ada")


def main(name: str) -> None:
    owner._place = lambda: "elsewhere"  # these files are kept, and name no machine
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "kept.ledger"
        own = {"reserve": "1/10"} if name == "reserve" else {}
        session = opened(path, **own)
        session.release(MONTHS, dv.Dense("1/10"))
        session.release(AGES, dv.Tree("1/7"))
        session.release("city", dv.TopK(k=2, kbar=4, epsilon="1/5", delta="1e-6"))
        session.release(dv.Domain.keys(column="city"), dv.Stability("1/10", "1e-6"))
        session.release(MONTHS, dv.Dense("1/4", "gaussian", delta="1e-6"))
        subs = session.open(dv.PayWhatYouGet(symbols=4, questions=2, epsilon="1/4", delta="1e-6"))
        subs.ask("city", k=1, kbar=3)
        session.raise_budget(dv.Budget(**{**BUDGET, **own, "epsilon": "5"}), reason="more is to be asked")
        session.release(AGES, dv.Dense("1/9"))
        assert session.ledger.verify()
        session.ledger.detach()
        (HERE / f"{name}.ledger.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
