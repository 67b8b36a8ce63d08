"""How underpriced.*.ledger.txt were made, by the last dpviz whose Tree had revision 1: `python make_underpriced.py`.

underpriced.basic   trees under replace-one users of three bins of four: two with Gaussian noise that were charged too
                    little, the second about each part, one with Gaussian noise that was charged enough, and one with
                    geometric noise
underpriced.zcdp    the first of them, where rho adds up
"""

from __future__ import annotations

import base64
import sys
import zlib
from pathlib import Path
from typing import Any

import pandas as pd

import dpviz as dv

FRAME = pd.DataFrame(
    {"user": [f"u{i % 20}" for i in range(60)], "x": [i % 4 for i in range(60)], "part": ["a", "b"] * 30}
)
BINS = dv.Domain.integers(0, 3, column="x")
PARTS = dv.Domain.categories(["a", "b"], column="part")


def tree(levels: str, **options: Any) -> Any:
    return dv.Tree(1, branching=2, levels=levels, base="gaussian", delta="1e-7", **options)


def keep(path: Path, folder: Path) -> None:
    content = path.read_bytes()
    written = base64.b64encode(zlib.compress(content, 9)).decode()
    (folder / f"{path.stem}.ledger.txt").write_text(written + "\n")


def main(folder: Path, scratch: Path) -> None:
    unit = dv.Unit("user", relation="replace-one", max_bins=3)
    for name, budget in (
        ("underpriced.basic", dv.Budget(10, "1e-5")),
        ("underpriced.zcdp", dv.Budget(10, "1e-5", filter="zcdp")),
    ):
        path = scratch / f"{name}.ledger"
        session = dv.Session(FRAME, unit=unit, budget=budget, ledger=path, person="Ada")
        question = dv.Question.of(BINS)
        session.release(question, tree("1,3,0"), key="too little")
        if name.endswith("basic"):
            session.release(question, tree("1,10,1"), by=PARTS, way="sequence", key="each part, too little")
            session.release(question, tree("1,1,5"), key="enough")
            session.release(question, dv.Tree(1, branching=2, levels="1,3,0"), key="other noise")
        session.ledger.detach()
        keep(path, folder)


if __name__ == "__main__":
    main(Path(__file__).parent, Path(sys.argv[1]))
