"""What needs no ledger imports no database: explorers, plans and a teaching session work where there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
        "dv.ConsistencyPlayground()",
        "dv.AlpAnatomy()",
        "dv.TradeoffExplorer()",
        "dv.SamplingExplorer()",
        "dv.ProductSamplerTrace(n=1000, columns=80)",
        'dv.RangeExplorer("flat")',
        'dv.IsotonicExplorer("equal", n=20)',
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


MECHANISMS = """
import sys
loaded = {name.removeprefix("dpviz.mechanisms.") for name in sys.modules if name.startswith("dpviz.mechanisms.")}
print(*sorted(loaded))
"""
LEDGER = """
import pandas as pd
frame = pd.DataFrame({"x": [0, 1, 1, 3]})
session = dv.Session(frame, dv.Unit("row"), dv.Budget(epsilon=2, delta="1e-6"), "light.ledger")
"""


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (BINS + FRAME + "taught.draw(bins, dv.Dense('1/2'))", "count_noise dense gaussian"),
        (BINS + FRAME + "repr(taught.plan(bins, dv.Dense('1/2')))", "count_noise dense gaussian"),
        (BINS + LEDGER + "session.release(bins, dv.Dense('1/2'))", "count_noise dense gaussian"),
        (BINS + LEDGER + "session.release(bins, dv.TopK(2, 3, epsilon=1))", "ranked top_k"),
    ],
)
def test_only_the_mechanism_that_is_used_is_loaded(text: str, files: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import dpviz as dv\n" + text + MECHANISMS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == files, done.stderr


FIRST_PLAN = """
repr(session.plan(bins, dv.Dense("1/2")))
dv.Workbench(session, bins)
parts = ("dpviz.mechanisms.", "dpviz.model.answers.", "dpviz.model.laws.", "dpviz.noise.", "dpviz.fitting.")
print(*sorted(name.removeprefix("dpviz.") for name in sys.modules if name.startswith(parts)))
print(*sorted({*sys.modules} & {"altair", "scipy", "duckdb", "ibis", "flint", "psycopg", "dpviz.reports", "difflib",
                                "dpviz.charts.counts", "sqlalchemy.dialects.postgresql", "dpviz.model.release",
                                "dpviz.model.asking", "dpviz.model.derived", "dpviz.model.combination",
                                "dpviz.model.sum_errors", "dpviz.laws.product", "dpviz.widgets.asking",
                                "dpviz.widgets.combining", "dpviz.model.public", "dpviz.charts.theme", "html",
                                "dpviz.session.sub_session", "dpviz.session.sub_plan",
                                "dpviz.session.seeded_draws"}))
"""
PAID = """
from dpviz.session.runner import ReleaseJob
counted = ReleaseJob._drawn
def drawn(job, *said):
    before = set(sys.modules)
    try:
        return counted(job, *said)
    finally:
        print(*sorted(name for name in set(sys.modules) - before if name.startswith("dpviz.")))
ReleaseJob._drawn = drawn
"""


def test_the_first_plan_and_its_page_load_one_mechanism_one_shape_and_one_law(tmp_path: Path) -> None:
    text = "import sys\nimport dpviz as dv\n" + BINS + LEDGER + FIRST_PLAN
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded, heavy = done.stdout.split("\n")[:2]
    assert loaded.split() == [
        "fitting.noises",
        "fitting.transforms",
        "mechanisms.count_noise",
        "mechanisms.dense",
        "mechanisms.gaussian",
        "model.answers.base",
        "model.answers.table",
        "model.laws.base",
        "model.laws.count_noise",
        "model.laws.dense",
        "noise.bits",
        "noise.fixed",
        "noise.geometric",
        "noise.table",
    ]
    assert heavy == ""


@pytest.mark.parametrize(
    "mechanism", ['dv.Dense("1/2")', 'dv.Dense("1/2", base="tight")', 'dv.Dense("1/2", "gaussian", delta="1e-6")']
)
def test_whatever_a_draw_needs_is_loaded_before_it_is_paid_for(mechanism: str, tmp_path: Path) -> None:
    text = f"import sys\nimport dpviz as dv\n{BINS}{LEDGER}{PAID}session.release(bins, {mechanism})\n"
    if "tight" in text:
        text = text.replace('dv.Unit("row")', 'dv.Unit("row", relation="replace-one", n=4)')
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def test_the_package_alone_loads_no_numbers_and_no_mechanism() -> None:
    heavy = '{"numpy", "gmpy2", "dpviz.mechanisms"}'
    alone = run(f"print(sorted({heavy} & set(sys.modules)))\ndv.Dense\nprint(sorted({heavy} & set(sys.modules)))")
    assert alone.stdout.splitlines() == ["[]", "['dpviz.mechanisms', 'gmpy2', 'numpy']"], alone.stderr
