"""The rules of the tests themselves."""

from __future__ import annotations

import ast
import math
import pkgutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.architecture.tree import texts
from tools import suites

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"


SKIPPING = {
    "in_a_test": "import pytest\ndef test_a(): pytest.skip('no engine here')",
    "by_a_mark": "import pytest\n@pytest.mark.skip(reason='no engine here')\ndef test_a(): pass",
    "a_file": "import pytest\npytest.importorskip('not_there', reason='no engine here')\ndef test_a(): pass",
}
RUNNING = "import pytest\ndef test_a(): pass\n@pytest.mark.xfail(strict=True)\ndef test_b(): assert False"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What one run of pytest under our conftest says of each file of tests: a text for each failure in it."""
    folder = tmp_path_factory.mktemp("tests")
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    for name, text in {**SKIPPING, "running": RUNNING}.items():
        (folder / f"test_{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    command += ["--junitxml=told.xml", "--rootdir", str(folder), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 1, done.stdout
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(folder / "told.xml").iter("testcase"):
        of = found.setdefault((case.get("classname") or case.get("name") or "").removeprefix("test_"), [])
        of += [ElementTree.tostring(one, encoding="unicode") for one in case if one.tag in ("failure", "error")]
    return found


@pytest.mark.parametrize("name", SKIPPING)
def test_a_skipped_test_fails_with_its_reason(told: dict[str, list[str]], name: str) -> None:
    (failure,) = told[name]
    assert "no engine here" in failure


def test_a_test_that_runs_or_is_expected_to_fail_passes(told: dict[str, list[str]]) -> None:
    assert told["running"] == []


def patched(text: str) -> set[str]:
    """Return the names that a test replaces by their path, such as `dpviz.mechanisms.tree.calibrate`.

    >>> sorted(patched("patch.setattr('dpviz.noise.bits.Bits', 1); patch.setattr(bits, 'Bits', 1)"))
    ['dpviz.noise.bits.Bits']
    """
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and node.args)
    named = ((ast.unparse(call.func), call.args[0]) for call in calls)
    paths = (first.value for name, first in named if name.endswith("setattr") and isinstance(first, ast.Constant))
    return {path for path in paths if isinstance(path, str) and path.startswith("dpviz.")}


def test_the_names_that_tests_replace_exist() -> None:
    paths = {
        path for name, text in texts() if name.startswith("tests/") and name.endswith(".py") for path in patched(text)
    }
    assert len(paths) > 8
    for path in sorted(paths):
        pkgutil.resolve_name(path)
    with pytest.raises(AttributeError):
        pkgutil.resolve_name("dpviz.mechanisms.gaussian.calibrated")


PACED = {
    "tests/killing.py: killed": "a long attack kills at random moments of an engine's and a file system's own work",
    "tests/soak/test_interrupts.py": "a long attack presses Ctrl-C at random moments, and any moment will do",
    "tests/browser/test_workbench.py": "the kernel is slowed down on purpose, by times that the test gives",
    "tests/widgets/test_order.py": "the writer is slowed down on purpose, by times that the test gives",
    "tests/ledger/test_postgres.py": "writers and a server that is away take their time; whatever it is, all must hold",
}
"""Pauses that decide nothing: each makes a moment likely, and the test holds whether or not it comes."""


def pauses(text: str) -> list[str]:
    """Where a test sleeps, or waits for something for ever so short, other than in a loop that looks for an event."""
    if "sleep" not in text:
        return []
    tree = ast.parse(text)
    inside = {id(call) for loop in ast.walk(tree) if isinstance(loop, ast.While) for call in ast.walk(loop)}
    found = []
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) in ("time.sleep", "sleep")
                and id(node) not in inside
            ):
                found.append(function.name)
    return sorted(set(found))


def test_no_test_waits_for_a_time_instead_of_an_event() -> None:
    """A pause that is long enough here is too short on a busy machine, and one that is long enough there is wasted."""
    waiting = {
        f"{name}: {function}"
        for name, text in texts()
        if name.startswith("tests/") and name.endswith(".py")
        for function in pauses(text)
    }
    unknown = sorted(one for one in waiting if one not in PACED and one.partition(":")[0] not in PACED)
    assert unknown == [], "wait for an event: a line, a state, a step of the work (tests/killing.py)"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def test_a():\n    start()\n    time.sleep(0.1)\n    assert done()", ["test_a"]),
        ("def test_a():\n    for _ in range(9):\n        time.sleep(1)", ["test_a"]),
        ("async def test_a():\n    sleep(chance.uniform(0, 1))\n    os.kill(pid, 9)", ["test_a"]),
        ("def test_a():\n    while not done():\n        time.sleep(0.01)", []),
        ("def test_a():\n    assert gate.wait(60)", []),
    ],
)
def test_a_planted_pause_would_be_found(text: str, found: list[str]) -> None:
    assert pauses(text) == found


SHORT = 60.0
"""Seconds: a busy machine may need as many for what a quiet one does at once."""

AS_GIVEN = {
    "tests/browser/lab.py: wait": "asked again and again until the server answers",
}
"""Short limits of one try among many."""


def deadlines(text: str) -> list[str]:
    """Where a test gives up waiting after fewer seconds than SHORT, or asserts that less time has gone by."""
    if not any(word in text for word in ("timeout", "wait", "join", "result", "monotonic")):
        return []
    tree, names = ast.parse(text), []
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        polling = {
            id(node) for loop in ast.walk(function) if isinstance(loop, ast.While) for node in ast.walk(loop.test)
        }
        for node in ast.walk(function):
            limits: list[ast.expr] = []
            if isinstance(node, ast.Call) and id(node) not in polling:
                limits += [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
                if isinstance(node.func, ast.Attribute) and node.func.attr in ("wait", "join", "result"):
                    limits += node.args
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and "monotonic()" in ast.unparse(node.left):
                limits.append(node.right)
            if isinstance(node, ast.Compare) and "monotonic()" in ast.unparse(node.left):
                limits += node.comparators
            if any(isinstance(limit, ast.Constant) and _seconds(limit.value) < SHORT for limit in limits):
                names.append(function.name)
    return sorted(set(names))


def _seconds(limit: object) -> float:
    """What is no number, and what is only a step of a wait, is no limit."""
    number = limit if isinstance(limit, int | float) and not isinstance(limit, bool) else math.inf
    return number if number > 0.02 else math.inf


def test_no_test_gives_up_sooner_than_a_busy_machine_needs() -> None:
    """`patience()` of tests/patience.py grows with what the machine has to do."""
    short = {
        f"{name}: {function}"
        for name, text in texts()
        if name.startswith("tests/") and name.endswith(".py")
        for function in deadlines(text)
    }
    assert sorted(short - set(AS_GIVEN)) == [], "wait for as long as patience() says (tests/patience.py)"
    assert set(AS_GIVEN) <= short, "a name in the list stands for nothing"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("assert gate.wait(10)", True),
        ("running.result(30)", True),
        ("run(command, timeout=5)", True),
        ("deadline = time.monotonic() + 20", True),
        ("assert time.monotonic() - began < 2", True),
        ("assert gate.wait(patience())", False),
        ("run(command, timeout=600)", False),
        ("while not gate.wait(0.5): tick()", False),
        ("gate.wait(0.01)", False),
    ],
)
def test_a_planted_deadline_would_be_found(line: str, found: bool) -> None:
    assert deadlines(f"def test_a():\n    {line}\n") == ["test_a"] * found


PATHS_OF_CODE = ("co_" + "filename", "str(entry." + "path)")
"""How a frame is asked for the path of its file."""


def test_frames_are_known_by_their_module_and_not_by_the_place_of_the_checkout() -> None:
    """A checkout may be called `dpviz`; then every path in it holds the name of the package."""
    asking = [name for name, text in texts() if name.startswith("tests/") and any(how in text for how in PATHS_OF_CODE)]
    assert asking == []


def test_a_suite_may_take_longer_where_others_want_the_processors_and_never_twice_as_long() -> None:
    assert suites.allowed(load=0.0, processors=2) == suites.allowed(load=4.0, processors=2) == suites.LONGEST <= 60 * 60
    assert suites.allowed(load=6.0, processors=2) == 1.5 * suites.LONGEST
    assert suites.allowed(load=90.0, processors=2) == 2 * suites.LONGEST
    assert suites.allowed(load=6.0, processors=8) == suites.LONGEST


def test_suites_know_nothing_of_what_this_machine_remembers_of_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout in another folder, or an earlier run in this one, has begun the ledgers of the same lessons."""
    monkeypatch.setenv("XDG_STATE_HOME", "/somebody/else")
    assert Path(suites.environment()["XDG_STATE_HOME"]).is_relative_to(suites.OUTPUT)


def test_a_suite_that_is_stopped_names_the_test_that_it_was_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With dots alone, nobody knew which of fifteen thousand tests had hung. A suite that is asked to end says so."""
    (tmp_path / "tests").mkdir()
    begun = tmp_path / "begun"
    waits = f"    pathlib.Path({str(begun)!r}).touch()\n    time.sleep(10**6)\n"
    (tmp_path / "tests" / "test_it.py").write_text(f"import pathlib, time\n\ndef test_it_waits():\n{waits}")
    command = (sys.executable, *suites.PYTEST[1:], *suites.TOGETHER, f"--rootdir={tmp_path}", f"{tmp_path}/tests")
    monkeypatch.setattr(suites, "OUTPUT", tmp_path)
    monkeypatch.setitem(suites.SUITES, "hung", [command])
    monkeypatch.setattr(suites, "LOOK", 0.5)
    monkeypatch.setattr(suites, "left", lambda _: 0.0 if begun.exists() else 60.0)
    outcome = suites.run("hung")
    assert not outcome.passed and outcome.last_line.startswith("stopped after")
    assert outcome.last_line.endswith("; at tests/test_it.py::test_it_waits")


def test_every_file_of_tests_is_in_one_suite() -> None:
    """Three suites share what another leaves out; a folder that none of them takes would never run."""
    chosen: dict[str, list[str]] = {}
    files = [name for name, _ in texts() if name.startswith("tests/") and Path(name).name.startswith("test_")]
    for suite, commands in suites.SUITES.items():
        for command in (one for one in commands if one[:3] == suites.PYTEST[:3]):
            taken = [place for place in command if place.startswith("tests")]
            left = [option.partition("=")[2] for option in command if option.startswith("--ignore=")]
            for name in files:
                if any(Path(name).is_relative_to(place) for place in taken) and not any(
                    Path(name).is_relative_to(place) for place in left
                ):
                    chosen.setdefault(name, []).append(suite)
    assert {name: chosen.get(name, []) for name in files if len(chosen.get(name, [])) != 1} == {}
    assert {suite for some in chosen.values() for suite in some} >= {
        "unit",
        "databases",
        "mechanisms",
        "browser",
        "soak",
    }
