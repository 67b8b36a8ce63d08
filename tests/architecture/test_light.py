"""What needs no ledger imports no database: explorers, plans and a teaching session work where there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

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


WITHOUT_DATABASES = [
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
]

IN_TURN = """
import json, traceback
found = []
for text in json.loads(sys.argv[1]):
    try:
        exec(text, {"dv": dv})
        found.append("")
    except BaseException:
        found.append(traceback.format_exc())
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def failures() -> dict[str, str]:
    """What went wrong with each text in one Python in which no database can be imported, whichever came before it."""
    command = [sys.executable, "-c", BLOCKED + IN_TURN, json.dumps(WITHOUT_DATABASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(zip(WITHOUT_DATABASES, json.loads(done.stdout.splitlines()[-1]), strict=True))


@pytest.mark.parametrize("text", WITHOUT_DATABASES)
def test_it_works_where_no_database_can_be_imported(text: str, failures: dict[str, str]) -> None:
    assert failures[text] == ""


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


ONE_MECHANISM = [
    (BINS + FRAME + "taught.draw(bins, dv.Dense('1/2'))", "count_noise dense gaussian"),
    (BINS + FRAME + "repr(taught.plan(bins, dv.Dense('1/2')))", "count_noise dense gaussian"),
    (BINS + LEDGER + "session.release(bins, dv.Dense('1/2'))", "count_noise dense gaussian"),
    (BINS + LEDGER + "session.release(bins, dv.TopK(2, 3, epsilon=1))", "ranked top_k"),
]


@pytest.mark.parametrize(("text", "files"), ONE_MECHANISM)
def test_only_the_mechanism_that_is_used_is_loaded(text: str, files: str, alone: Alone) -> None:
    done = alone["import sys\n" + text + MECHANISMS]
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


def test_the_first_plan_and_its_page_load_one_mechanism_one_shape_and_one_law(alone: Alone) -> None:
    done = alone["import sys\n" + BINS + LEDGER + FIRST_PLAN]
    assert done.returncode == 0, done.stderr
    loaded, heavy = done.stdout.split("\n")[:2]
    assert loaded.split() == [
        "fitting.noises",
        "fitting.transforms",
        "mechanisms.count_noise",
        "mechanisms.dense",
        "mechanisms.gaussian",
        "model.answers.additive",
        "model.answers.base",
        "model.answers.capabilities",
        "model.answers.pictures",
        "model.answers.reading",
        "model.answers.table",
        "model.answers.values",
        "model.laws.base",
        "model.laws.count_noise",
        "model.laws.dense",
        "noise.bits",
        "noise.fixed",
        "noise.geometric",
        "noise.table",
    ]
    assert heavy == ""


DRAWS = {
    'dv.Dense("1/2")': LEDGER,
    'dv.Dense("1/2", base="tight")': LEDGER.replace('dv.Unit("row")', 'dv.Unit("row", relation="replace-one", n=4)'),
    'dv.Dense("1/2", "gaussian", delta="1e-6")': LEDGER,
}


def drawing(mechanism: str) -> str:
    return f"import sys\n{BINS}{DRAWS[mechanism]}{PAID}session.release(bins, {mechanism})\n"


@pytest.mark.parametrize("mechanism", DRAWS)
def test_whatever_a_draw_needs_is_loaded_before_it_is_paid_for(mechanism: str, alone: Alone) -> None:
    done = alone[drawing(mechanism)]
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


EACH_ALONE = """
import json, os, sys, tempfile, traceback
import dpviz as dv
import pandas

assert not [name for name in sys.modules if name.startswith(("dpviz.mechanisms.", "sqlalchemy"))]
told = []
for text in json.loads(sys.argv[1]):
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            for stream, name in ((1, "stdout"), (2, "stderr")):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), stream)
            failed = 1
            try:
                exec(compile(text, "text", "exec"), {"dv": dv, "__name__": "__main__"})
                failed = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(failed)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told.append([code, *(open(os.path.join(folder, name)).read() for name in ("stdout", "stderr"))])
print(json.dumps(told))
"""


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Alone: TypeAlias = Mapping[str, Done]


@pytest.fixture(scope="module")
def alone() -> Alone:
    """What each text did in a process that had loaded dpviz itself and pandas, and nothing else of either's users.

    All of these processes are forked from one, which loads both.
    """
    texts = ["import sys\n" + text + MECHANISMS for text, _ in ONE_MECHANISM]
    texts += ["import sys\n" + BINS + LEDGER + FIRST_PLAN, *map(drawing, DRAWS)]
    command = [sys.executable, "-c", EACH_ALONE, json.dumps(texts)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return {text: Done(*done) for text, done in zip(texts, json.loads(told.stdout), strict=True)}


def test_the_package_alone_loads_no_numbers_and_no_mechanism() -> None:
    heavy = '{"numpy", "gmpy2", "dpviz.mechanisms"}'
    alone = run(f"print(sorted({heavy} & set(sys.modules)))\ndv.Dense\nprint(sorted({heavy} & set(sys.modules)))")
    assert alone.stdout.splitlines() == ["[]", "['dpviz.mechanisms', 'gmpy2', 'numpy']"], alone.stderr


FROM_DUCKDB = """
import sys, tempfile, duckdb
connection = duckdb.connect()
connection.execute("CREATE TABLE t AS SELECT 'i' || range % 7 AS k, range % 4 AS x, range AS who FROM range(9000)")
users = dv.Unit("who", max_bins=1)
with tempfile.TemporaryDirectory() as folder:
    for unit in (dv.Unit("row"), users):
        source = dv.sources.duckdb(connection, "t")
        session = dv.Session(source, unit, dv.Budget(20, "1/2"), f"{folder}/{unit.is_row}.ledger")
        keys, bins = dv.Domain.keys(column="k"), dv.Domain.integers(0, 3, column="x")
        for question, mechanism in (
            (keys, dv.Stability("1", "1e-6")), (keys, dv.TopK(2, 5, "1", "1e-6")),
            (bins, dv.Dense("1")), (bins, dv.Tree("1")), (bins, dv.PureSparse("1", cap=1)),
        ):
            session.plan(question, mechanism)
            session.release(question, mechanism)
    print(session.releases and sorted({"pandas", "pyarrow"} & set(sys.modules)))
"""


def test_a_session_on_duckdb_loads_no_pandas() -> None:
    """It takes about 30 MB and a while. Arrow loads it by itself for conversions of its own."""
    done = subprocess.run(
        [sys.executable, "-c", "import dpviz as dv" + FROM_DUCKDB], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["['pyarrow']"], done.stderr
