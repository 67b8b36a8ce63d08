"""Results of a benchmark, and how contestants take turns."""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple


class Measured(NamedTuple):
    """One line of a table: what was measured, what came out, what is allowed, and whether it holds."""

    what: str
    found: str
    allowed: str = ""
    holds: bool = True


def cpu_seconds(work: Callable[[], object]) -> float:
    """The processor time of this process for one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def warm_cpu_seconds(work: Callable[[], object]) -> float:
    """The processor time of the second of two calls: the first has brought into the caches what somebody else's turn
    drove out."""
    work()
    return cpu_seconds(work)


def wall(work: Callable[[], object]) -> float:
    """The seconds of one call by the clock."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def interleave(contestants: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median seconds of each contestant. They take turns, so that all meet the same machine."""
    for once in contestants.values():
        once()
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, once in contestants.items():
            times[name].append(once())
    return {name: median(found) for name, found in times.items()}


def most_memory() -> int:
    """The most bytes that this process had in memory. Linux counts a process that was just forked as large as the one
    that forked it, and `ru_maxrss` never forgets it; the mark in /proc is of the program that runs now."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text()) if status.exists() else None
    return 1024 * int(found[1] if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def with_compiled_files(folder: Path) -> dict[str, str]:
    """The environment of a process that keeps what Python compiles in this folder, as it does unless it is told not to:
    whoever comes second finds it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return environment | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def millions(rate: float) -> str:
    return f"{rate / 1e6:.3g} M/s"


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"
