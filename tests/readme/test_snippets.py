"""Every snippet of the README and of the tour runs as it is printed: pasted into a new process, in an empty folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.snippets import README, TOUR, snippets

SNIPPETS = snippets()


def test_all_snippets_are_found() -> None:
    assert README.read_text().count("```python") == 1
    assert len(SNIPPETS) == 1 + TOUR.read_text().count("```python") >= 6


@pytest.mark.parametrize("code", [code for _, code in SNIPPETS], ids=[title for title, _ in SNIPPETS])
def test_a_snippet_runs_as_it_is_printed(code: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
