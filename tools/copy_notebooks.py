"""Copy notebooks/ for a run that may write beside them: `python -m tools.copy_notebooks TARGET`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"


def copy_notebooks(target: Path) -> None:
    """A fresh copy: no ledger or checkpoint that an earlier run left behind."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(NOTEBOOKS, target, ignore=shutil.ignore_patterns("*.ledger*", ".ipynb_checkpoints", "__pycache__"))


if __name__ == "__main__":
    copy_notebooks(Path(sys.argv[1]))
