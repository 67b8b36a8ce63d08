"""Every snippet of the README runs as it is printed: pasted into a new process, in an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
TITLES = re.findall(r"^## (.+)\n(?:(?!^## |^```)[\s\S])*?^```python\n", README.read_text(), re.MULTILINE)


def test_there_are_snippets_and_each_has_a_title() -> None:
    assert len(BLOCKS) >= 5
    assert len(TITLES) == len(BLOCKS)


@pytest.mark.parametrize("snippet", BLOCKS, ids=TITLES)
def test_a_snippet_runs_as_it_is_printed(snippet: str, tmp_path: Path) -> None:
    if "import dpviz" not in snippet:
        snippet = "import dpviz as dv\n" + snippet
    done = subprocess.run([sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
