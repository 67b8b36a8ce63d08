"""Run the README and the tour with the oldest packages that dpviz says it works with: `python -m tools.check_lowest`.

requirements/lowest.txt pins the lowest version of every direct dependency that pyproject.toml allows, beside the newest
of all others. A lower bound that does not hold together with what is current shows here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.snippets import snippets

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "test-output" / "lowest"
PINS = ROOT / "requirements" / "lowest.txt"


def main() -> int:
    shutil.rmtree(PLACE, ignore_errors=True)
    subprocess.run(["uv", "venv", "--quiet", "--no-config", "--python", sys.executable, PLACE], check=True)
    python = PLACE / "bin" / "python"
    install = ["uv", "pip", "install", "--quiet", "--python", python, "--no-config", "--require-hashes", "-r", PINS]
    subprocess.run(install, check=True)
    inside = {**os.environ, "PYTHONPATH": str(ROOT)}
    failed = 0
    for title, code in snippets():
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([python, "-c", code], cwd=scratch, env=inside, capture_output=True, text=True)
        if done.returncode != 0:
            failed += 1
            print(f"{title}: fails with the lowest versions\n{done.stderr}")
    found = len(snippets())
    print(f"{found - failed} of {found} snippets of the README and the tour run with the lowest versions")
    return failed


if __name__ == "__main__":
    sys.exit(main())
