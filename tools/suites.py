"""Every check that CI runs, two at a time: `python -m tools.suites [name ...]`.

Each suite is a list of commands, run in order until one fails. The output of a suite appears when it has finished,
and is kept in test-output/. The exit code is the number of suites that failed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "test-output"
AT_ONCE = 2
LOOK = 60.0
"""Seconds between two looks at what a suite may take."""
LONGEST = 60 * 60
"""Seconds after which a suite is stopped and counts as failed, on a machine that does nothing else. On one where other
programs take their share it is more, at most twice as much: waiting for a processor is no fault of a suite."""

PYTEST = ("python", "-m", "pytest", "--quiet", "--no-header", "--color=no", "-p", "no:cacheprovider")

STOPPED = "stopped"

LAST_WORDS = 10.0
"""Seconds for a suite to write what it was at."""

SHARE = re.compile(r"\[ *(\d+)%\]")
"""The share of the tests that are done, as pytest prints it after each line of dots."""

FRAME = re.compile(r'/(tests/[\w/]+\.py)", line \d+ in (test_\w+)')
"""A line of a stack that is a test."""

TOGETHER = ("--numprocesses=2", "--dist=worksteal")
"""Two processes, each with half of the files, so that a file's fixtures are made once; who is done first helps out."""

ELSEWHERE = (
    "tests/browser",
    "tests/canary",
    "tests/class_site",
    "tests/kept",
    "tests/soak",
    "tests/engines/test_spark.py",
)
"""Tests that the suites of units leave to others: a browser and a cluster start once, not once for each process."""

DATABASES = ("tests/engines", "tests/ledger", "tests/session", "tests/attacks")
MECHANISMS = (
    *("tests/mechanisms", "tests/planning", "tests/noise", "tests/laws"),
    *("tests/privacy", "tests/prices", "tests/fitting", "tests/sampling"),
)
"""Tests of databases and of sessions on them, and those of mechanisms and their prices: about a third of all each."""


def without(*places: str) -> tuple[str, ...]:
    return tuple(f"--ignore={place}" for place in places)


# The longest first. The notebooks run on a copy, so that a ledger one of them writes stays out of the tree.
SUITES: dict[str, list[Sequence[str]]] = {
    "browser": [(*PYTEST, "tests/browser", "tests/canary", "tests/kept")],
    "databases": [(*PYTEST, *TOGETHER, *without(*ELSEWHERE), *DATABASES)],
    "mechanisms": [(*PYTEST, *TOGETHER, *MECHANISMS)],
    "unit": [(*PYTEST, *TOGETHER, *without(*ELSEWHERE, *DATABASES, *MECHANISMS), "dpviz", "tests")],
    "soak": [(*PYTEST, *TOGETHER, "tests/soak")],
    "spark": [(*PYTEST, "tests/engines/test_spark.py")],
    "notebooks": [
        ("python", "-m", "tools.copy_notebooks", "test-output/notebooks"),
        (*PYTEST, "--nbval-lax", "--nbval-current-env", "test-output/notebooks"),
    ],
    "docs": [("python", "-m", "tools.site", "test-output/docs", "--quick")],
    "class": [(*PYTEST, "tests/class_site")],
    "binder": [("python", "-m", "tools.check_binder")],
    "lowest": [("python", "-m", "tools.check_lowest")],
    "page": [
        ("npm", "--prefix", "widgets", "run", "--silent", "check"),
        ("npm", "--prefix", "widgets", "run", "--silent", "test"),
        ("python", "-m", "tools.check_bundle"),
    ],
    "style": [
        ("ruff", "check", "--quiet"),
        ("ruff", "format", "--check", "--quiet"),
        ("mypy",),
        ("python", "-m", "tools.measure_house"),
    ],
    "package": [("python", "-m", "tools.check_package")],
}


@dataclass(frozen=True)
class Outcome:
    name: str
    passed: bool
    seconds: float
    last_line: str


def environment() -> dict[str, str]:
    """The environment of every suite: the user's own Jupyter and IPython settings stay out of it, and so does what this
    machine remembers of ledgers, for the lessons begin theirs anew each time. Compiled files of Python are kept beside
    what suites print, for the many processes that tests start."""
    private = OUTPUT / "jupyter"
    private.mkdir(parents=True, exist_ok=True)  # IPython makes a folder of its own, but not the one above it
    folders = {name: str(private / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    others = ("JUPYTER", "IPYTHON", "PYTHONPATH", "PYTEST_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    folders["PYTHONPYCACHEPREFIX"] = str(OUTPUT / "compiled")
    folders["XDG_STATE_HOME"] = str(OUTPUT / "state")
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), kept.get("PATH", "")])
    return kept | folders | {"PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}


def allowed(load: float, processors: int) -> float:
    """Seconds that a suite may take under this load: as many processes as want a processor, ours among them."""
    ours = 2 * AT_ONCE  # two suites at a time, and the larger ones are two processes
    return LONGEST * min(2.0, max(1.0, load / max(processors, ours)))


def left(started: float) -> float:
    """Seconds until a suite that started then is stopped, by the load of the last quarter of an hour."""
    load = os.getloadavg()[2] if hasattr(os, "getloadavg") else 0.0
    return started + allowed(load, os.cpu_count() or 1) - time.monotonic()


def group_of(leader: int) -> list[int]:
    """Return the processes of a group, the latest first, where /proc tells; else its leader."""
    found = [leader]
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended
            group = int(place.read_text().rpartition(")")[2].split()[2])
            if group == leader and place.parent.name != str(leader):
                found.append(int(place.parent.name))
    return sorted(found, reverse=True)


def ask_for_stacks(process: subprocess.Popen[bytes]) -> None:
    """Have each process write its stack, and end, one after the other: together they would mix their lines."""
    until = time.monotonic() + LAST_WORDS
    for one in group_of(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGABRT)
            while time.monotonic() < until and not is_over(one):
                time.sleep(0.05)


def is_over(process: int) -> bool:
    """Return whether a process has ended, as far as /proc tells; it may wait for its parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return True


def obey(command: Sequence[str], stream: TextIO, started: float) -> bool:
    """Run one command; true when it succeeded in time. Processes that it started end with it."""
    print(f"$ {' '.join(command)}", file=stream, flush=True)
    quiet = {"stdin": subprocess.DEVNULL, "stdout": stream, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=ROOT, env=environment(), start_new_session=True, **quiet) as process:
        while (rest := left(started)) > 0:  # asked anew, for others may come to the machine later
            try:
                return process.wait(min(rest, LOOK)) == 0
            except subprocess.TimeoutExpired:
                continue
        ask_for_stacks(process)
        with contextlib.suppress(ProcessLookupError):  # all have ended
            os.killpg(process.pid, signal.SIGKILL)
        print(f"\n{STOPPED} after {time.monotonic() - started:.0f} s, as long as the suite may take", file=stream)
        return False


def at_work(log: str) -> str:
    """Return how far a stopped suite had come, and the tests it was at, by the stacks that pytest wrote of them.

    >>> at_work('.. [ 97%]\\n  File "/a/tests/noise/test_bits.py", line 12 in test_it\\n  File "/b.py", line 1 in call')
    '; 97 % done; at tests/noise/test_bits.py::test_it'
    """
    done = [f"{share} % done" for share in SHARE.findall(log)[-1:]]
    tests = sorted({f"{file}::{test}" for file, test in FRAME.findall(log)})
    return "".join(f"; {told}" for told in [*done, *([f"at {', '.join(tests)}"] if tests else [])])


def run(name: str) -> Outcome:
    """Run one suite to its end, or to its first failure."""
    started = time.monotonic()
    log = OUTPUT / f"{name}.log"
    with log.open("w") as stream:
        passed = all(obey(command, stream, started) for command in SUITES[name])
    text = log.read_text()
    print(f"\n{'=' * 30} {name} {'=' * 30}\n{text}", flush=True)
    last = text.strip().rpartition("\n")[2]
    if last.startswith(STOPPED):
        last += at_work(text)
    return Outcome(name, passed, time.monotonic() - started, last)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="suite", help=f"one or more of {', '.join(SUITES)}; all by default")
    names = parser.parse_args(arguments).names or list(SUITES)
    if unknown := set(names) - set(SUITES):
        parser.error(f"no suite is named {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    print(f"running {', '.join(names)}; each is shown when it has finished", flush=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = [done.result() for done in as_completed([pool.submit(run, name) for name in names])]
    print()
    for outcome in outcomes:
        word = "passed" if outcome.passed else "FAILED"
        print(f"{outcome.name:10} {word}  {outcome.seconds:5.0f} s   {outcome.last_line}")
    return sum(not outcome.passed for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
