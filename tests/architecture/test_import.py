"""`import dpviz` is light: pandas, SciPy, Altair and the rest are loaded when something first needs them."""

from __future__ import annotations

import json
import subprocess
import sys

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
    assert {"pandas", "numpy"} <= third_party("pandas")
