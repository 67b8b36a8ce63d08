"""`import dpviz` is light: pandas, SciPy, Altair and the rest are loaded when something first needs them."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.architecture.firsts import failures
from tests.architecture.tree import ROOT

LISTING = """
import json, sys, sysconfig
before = set(sys.modules)
import {what}
places = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
loaded = [(name, getattr(module, "__file__", None) or "") for name, module in sys.modules.items() if name not in before]
print(json.dumps(sorted({{name.partition(".")[0] for name, file in loaded if file.startswith(places)}})))
"""


def third_party(what: str) -> set[str]:
    """The third-party packages that importing something loads, seen by a new interpreter."""
    command = [sys.executable, "-c", LISTING.format(what=what)]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def test_importing_dpviz_loads_only_numpy_and_gmpy2() -> None:
    assert third_party("dpviz") - {"dpviz"} <= {"numpy", "gmpy2"}


def test_a_heavier_import_would_be_seen() -> None:
    assert {"sqlalchemy", "typing_extensions"} <= third_party("sqlalchemy")


def test_any_module_may_be_the_first_that_is_imported() -> None:
    package = ROOT / "dpviz"
    sources = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path.read_text()
        for path in package.rglob("*.py")
    }
    assert len(sources) > 200 and failures(sources) == []


def test_two_modules_that_take_names_of_each_other_are_found() -> None:
    """In a package that imports one of them, and where the order of two lines decides."""
    sources = {
        "p": "",
        "p.a": "from p.b import later\nx = 1\n",
        "p.b": "from p.a import x\nlater = 2\n",
        "p.c": "x = 1\nfrom p.d import later\n",
        "p.d": "from p.c import x\nlater = 2\n",
    }
    assert failures(sources) == [
        "p.a, imported first: p.b takes x from p.a, which is only half read by then",
        "p.b, imported first: p.a takes later from p.b, which is only half read by then",
        "p.d, imported first: p.c takes later from p.d, which is only half read by then",
    ]
    hidden = {
        "q": "from q.a import x\n",
        "q.a": "from q.b import y\nx = 1\n",
        "q.b": "y = 1\n",
        "r": "from q import x\n",
    }
    assert failures(hidden) == []
    assert failures({**hidden, "q.b": "from q import x\ny = 1\n"})[0].startswith("q, imported first: q.b takes x")


def test_python_agrees_for_a_module_that_others_import() -> None:
    subprocess.run([sys.executable, "-c", "import dpviz.model.linear"], capture_output=True, check=True)
