"""Sheets: how long a page waits for one. Processor time of one core, the libraries loaded.

Opened: from the call to a widget that can be drawn, for the first time in a process. Moved: to a place that nobody
looked at before, until the page is sent the sheet through it; what is missing of its fans is worked out afterwards, and
then sent. Seen: a place that was looked at before. A plan's sheet is whole at once. All at the largest that the sliders
allow where that takes longest, each in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from benchmarks.measured import Measured

OPENED, MOVED, SEEN = 300.0, 100.0, 5.0

EXPLORERS = {
    "TopKExplorer, power law": 'dv.TopKExplorer("power", k=10, kbar=50)',
    "TopKExplorer, k = 100 of 5,000": 'dv.TopKExplorer("flat", k=100, kbar=5000)',
    "MechanismComparison, 525,600 bins": (
        'dv.MechanismComparison(None, dv.Domain.integers(0, 525_599, column="minute"), '
        'unit=dv.Unit(relation="replace-one", n=1000), count=30)'
    ),
    "MechanismComparison, 2^32 bins": (
        'dv.MechanismComparison(None, dv.Domain.integers(0, 2**32 - 1, column="id"), '
        'unit=dv.Unit("row", relation="replace-one", n=5190))'
    ),
    "TradeoffExplorer": "dv.TradeoffExplorer()",
    "SamplingExplorer": "dv.SamplingExplorer()",
    "SamplerExplorer": "dv.SamplerExplorer()",
    "CompositionExplorer": "dv.CompositionExplorer()",
    "IsotonicExplorer, 1,000 counts": 'dv.IsotonicExplorer("half", n=1000)',
    "ConsistencyPlayground": "dv.ConsistencyPlayground()",
    "ProductSamplerTrace": "dv.ProductSamplerTrace()",
    "AlpAnatomy": "dv.AlpAnatomy()",
}

PLANS = {
    "Dense, 42 bins": ('dv.Domain.integers(0, 40, column="x", overflow=True)', 'dv.Dense("1/2")', "ROWS"),
    "Dense, 2,000 bins": ('dv.Domain.integers(0, 1_999, column="x")', 'dv.Dense("1/2")', "ROWS"),
    "Stability, unknown keys": ('dv.Domain.keys(column="x")', 'dv.Stability("1/2", "1e-6")', "ROWS"),
    "PureSparse, 2^32 bins": ('dv.Domain.integers(0, 2**32 - 1, column="x")', 'dv.PureSparse("1/2")', "MADE"),
    "Compact, 2^64 bins": ('dv.Domain.integers(0, 2**64 - 1, column="x")', 'dv.Compact("1/2")', "MADE"),
    "TopK, 10 of 50": ('dv.Domain.keys(column="x")', 'dv.TopK(10, 50, "1/2", "1e-6")', "ROWS"),
    "Tree, 65,536 bins": ('dv.Domain.integers(0, 2**16 - 1, column="x")', 'dv.Tree("1/2")', "ROWS"),
    "Sorted, 2,000 bins": ('dv.Domain.integers(0, 1_999, column="x")', 'dv.Sorted("1/2")', "ROWS"),
    "ALP, 2^32 bins": ('dv.Domain.integers(0, 2**32 - 1, column="x")', 'dv.ALP("1/2", keys=1000, cap=100)', "ROWS"),
}
UNITS = {"ROWS": "dv.Unit()", "MADE": 'dv.Unit(relation="replace-one", n=5190)'}

LOADED = (
    "import dpviz as dv, scipy.special, scipy.stats, scipy.optimize, flint, altair, ipywidgets, anywidget, traitlets\n"
)

EXPLORE = (
    LOADED
    + """
import json, sys, time
from benchmarks.sheets import moves
dv.ConsistencyPlayground  # the class, with what it imports
{loaded}
began = time.process_time()
explorer = {call}
opened = time.process_time() - began
print(json.dumps([opened, *moves(explorer, {most})]))
"""
)

PLAN = (
    LOADED
    + """
import json, time
from fractions import Fraction
from dpviz.planning.sheet import PlanSheet
question, made, unit = dv.Question.of({domain}), {mechanism}, {unit}
made.bind(question, unit)
found = []
for epsilon in ("1/2", "1/3", "1/7", "3/7", "2/9", "5/9"):
    began = time.process_time()
    PlanSheet(question, unit, made.with_epsilon(Fraction(epsilon)), Fraction(2)).to_json()
    found.append(time.process_time() - began)
print(json.dumps(found))
"""
)


def moves(explorer: Any, most: int) -> tuple[list[float], list[float], float]:
    """Seconds for moves along every axis, for places seen before, and until the first sheet is whole."""
    exploring = explorer._exploring
    began = time.perf_counter()
    rested(exploring)
    whole = time.perf_counter() - began
    sheet = exploring.shown
    at, fresh, seen = sheet["now"]["at"], [], []
    places = [
        {**at, axis["name"]: value}
        for axis in sheet["axes"]
        for value in dict.fromkeys([axis["grid"][len(axis["grid"]) // 3], axis["grid"][-1]])
        if value != at[axis["name"]]
    ]
    for place in places[:most]:
        fresh.append(timed(lambda place=place: exploring._on_move({"place": place})()))  # type: ignore[misc]
        rested(exploring)
        again = []
        for _ in range(3):
            exploring._on_move({"place": at})()
            again.append(timed(lambda place=place: exploring._on_move({"place": place})()))  # type: ignore[misc]
        seen.append(median(again))
        exploring._on_move({"place": at})()
    return fresh, seen, whole


def rested(exploring: Any) -> None:
    """Wait until nothing is missing of the sheet."""
    while exploring._part is not None:
        time.sleep(0.01)


def timed(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def table(
    explorers: Mapping[str, str] = EXPLORERS, plans: Mapping[str, tuple[str, str, str]] = PLANS, most: int = 100
) -> list[Measured]:
    lines = []
    for name, call in explorers.items():
        kind = call.partition("(")[0]
        opened, fresh, seen, whole = run(EXPLORE.format(loaded=kind, call=call, most=most))
        lines += [
            line(f"{name}: opened", opened, OPENED),
            line(f"{name}: moved, the slowest of {len(fresh)}", max(fresh), MOVED),
            line(f"{name}: seen before, the slowest", max(seen), SEEN),
            Measured(f"{name}: its first sheet whole after", f"{whole:.2f} s"),
        ]
    for name, (domain, mechanism, unit) in plans.items():
        found = run(PLAN.format(domain=domain, mechanism=mechanism, unit=UNITS[unit]))
        lines.append(line(f"plan of {name}: opened", found[0], OPENED))
        lines.append(line(f"plan of {name}: another ε", median(found[1:]), MOVED))
    return lines


def line(what: str, seconds: float, allowed: float) -> Measured:
    taken = 1000 * seconds
    return Measured(what, f"{taken:.1f} ms", f"{allowed:.0f} ms", taken < allowed)


def run(code: str) -> Any:
    """The last line that a process of its own prints."""
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return json.loads(printed.splitlines()[-1])
