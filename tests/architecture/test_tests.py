"""The rules of the tests themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import texts

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"


def pytest_on(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on one file of tests, under our conftest."""
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "test_one.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\ndef test_a(): pytest.skip('no engine here')",
        "import pytest\n@pytest.mark.skip(reason='no engine here')\ndef test_a(): pass",
        "import pytest\npytest.importorskip('engine_that_is_not_there', reason='no engine here')\ndef test_a(): pass",
    ],
)
def test_a_skipped_test_fails_with_its_reason(tmp_path: Path, text: str) -> None:
    done = pytest_on(tmp_path, text)
    assert done.returncode in {1, 2}, done.stdout
    assert "no engine here" in done.stdout


def test_a_test_that_runs_or_is_expected_to_fail_passes(tmp_path: Path) -> None:
    text = "import pytest\ndef test_a(): pass\n@pytest.mark.xfail(strict=True)\ndef test_b(): assert False"
    assert pytest_on(tmp_path, text).returncode == 0


PATHS_OF_CODE = ("co_" + "filename", "str(entry." + "path)")
"""How a frame is asked for the path of its file."""


def test_frames_are_known_by_their_module_and_not_by_the_place_of_the_checkout() -> None:
    """A checkout may be called `dpviz`; then every path in it holds the name of the package."""
    asking = [name for name, text in texts() if name.startswith("tests/") and any(how in text for how in PATHS_OF_CODE)]
    assert asking == []
