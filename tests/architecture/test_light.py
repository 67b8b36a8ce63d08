"""What needs no ledger imports no database: explorers, plans and a teaching session work where there is none."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = """
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sqlalchemy", "sqlite3", "psycopg"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nowhere())
import dpviz as dv
"""
BINS = 'bins = dv.Domain.integers(0, 3, column="x")\n'
FRAME = 'import pandas as pd\ntaught = dv.teaching(pd.DataFrame({"x": [0, 1, 1, 3]}), seed=7)\n'


def run(text: str) -> subprocess.CompletedProcess[str]:
    """A fresh Python in which no database can be imported runs this."""
    return subprocess.run([sys.executable, "-c", BLOCKED + text], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "text",
    [
        "dv.SamplerExplorer()",
        'dv.TopKExplorer(dv.PublicTop(("a", "b", "c"), (9, 7, 2), "x", "rows"))',
        "dv.CompositionExplorer()",
        BINS + "dv.MechanismComparison(None, bins)",
        BINS + "dv.Dense('1/2').bind(dv.Question.of(bins), dv.Unit()).price",
        BINS + FRAME + "repr(taught.plan(bins, dv.Dense('1/2')))",
        BINS + FRAME + "taught.draw(bins, dv.Dense('1/2')).values",
        BINS + FRAME + "taught.release_async(bins, dv.Dense('1/2')).result()",
        BINS + FRAME + "dv.Workbench(taught, bins)",
    ],
)
def test_it_works_where_no_database_can_be_imported(text: str) -> None:
    done = run(text)
    assert done.returncode == 0, done.stderr


def test_a_session_does_need_one() -> None:
    assert "No module named 'sqlalchemy'" in run("dv.Session").stderr
