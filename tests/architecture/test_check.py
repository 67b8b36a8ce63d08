"""`make check` finds the tests that see a change, the nearest first, and begins none of them too late."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from tools import check

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "dpviz/__init__.py": "from dpviz.mechanisms.dense import Dense as Dense\n",
    "dpviz/noise/bits.py": "BITS = 1\n",
    "dpviz/mechanisms/dense.py": "def draw():\n    from dpviz.noise import bits\n",
    "dpviz/errors.py": "",
    "tests/noise/test_bits.py": "import dpviz.noise.bits\n",
    "tests/noise/test_more.py": "from dpviz.noise.bits import BITS\n",
    "tests/mechanisms/test_dense.py": "import dpviz as dv\ndv.Dense\n",
    "tests/mechanisms/contract.py": "from dpviz.mechanisms import dense\n",
    "tests/mechanisms/test_through.py": "from tests.mechanisms.contract import check\n",
    "tests/soak/test_long.py": "import dpviz.noise.bits\n",
    "tests/test_errors.py": "import dpviz.errors\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project of that shape."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_tests_that_see_a_change_come_nearest_first_and_others_not_at_all(project: Path) -> None:
    assert check.nearest(["dpviz/noise/bits.py"], project) == [
        "tests/noise/test_bits.py",
        "tests/noise/test_more.py",
        "tests/mechanisms/test_dense.py",
        "tests/mechanisms/test_through.py",
    ]


def test_a_public_name_stands_for_its_module_and_a_helper_passes_a_change_on(project: Path) -> None:
    assert check.nearest(["dpviz/mechanisms/dense.py"], project) == [
        "tests/mechanisms/test_dense.py",
        "tests/mechanisms/test_through.py",
    ]
    assert check.nearest(["tests/mechanisms/contract.py"], project) == ["tests/mechanisms/test_through.py"]
    assert check.nearest(["tests/test_errors.py", "widgets/src/index.ts"], project) == ["tests/test_errors.py"]


def test_what_differs_from_a_revision_and_what_is_new_has_changed(project: Path) -> None:
    def git(*command: str) -> None:
        who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *command], cwd=project, check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    assert check.changed("HEAD", project) == []
    (project / "dpviz/errors.py").write_text("A = 1\n")
    (project / "dpviz/new.py").write_text("")
    assert check.changed("HEAD", project) == ["dpviz/errors.py", "dpviz/new.py"]


@pytest.mark.parametrize(("until", "fails"), [(0.0, False), (math.inf, True)])
def test_no_test_begins_once_the_time_is_up(
    until: float, fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_late.py").write_text("def test_late():\n    assert False\n")
    monkeypatch.setenv(check.UNTIL, str(until))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "tools.check",
        "--rootdir",
        str(tmp_path),
    ]
    done = subprocess.run(
        [*command, str(tmp_path / "test_late.py")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == fails, done.stdout


def test_the_real_tests_of_a_module_are_found() -> None:
    found = check.nearest(["dpviz/noise/bits.py"])
    assert found[0] == "tests/noise/test_bits.py" and "tests/mechanisms/test_dense.py" in found
