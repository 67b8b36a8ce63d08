"""Check binder/ without Docker: `python -m tools.check_binder`.

repo2docker must find the Python, the pins and the script it is meant to find; and an environment made from exactly
those files must run the start notebook.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.copy_notebooks import copy_notebooks

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "test-output" / "binder"
STEPS = ("python=3.11", 'pip install --no-cache-dir -r "binder/requirements.txt"', "RUN ./binder/postBuild")


def plan() -> str:
    """The Dockerfile that repo2docker would build from binder/."""
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."]
    return subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    ).stdout


def make() -> dict[str, str]:
    """Do what Binder does, in an environment of its own; returns the variables that enter it."""
    target = PLACE / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(target)], check=True)
    inside = os.environ | {"VIRTUAL_ENV": str(target), "PATH": f"{target / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    pins = ["--quiet", "--no-config", "--require-hashes", "--requirement", "binder/requirements.txt"]
    install = [sys.executable, "-m", "uv", "pip", "install", "--python", str(target / "bin" / "python"), *pins]
    subprocess.run(install, cwd=ROOT, env=inside, check=True)
    subprocess.run(["binder/postBuild"], cwd=ROOT, env=inside, check=True)
    return inside


def main() -> int:
    shutil.rmtree(PLACE, ignore_errors=True)
    planned = plan()
    if missing := [step for step in STEPS if step not in planned]:
        print(planned)
        raise SystemExit(f"repo2docker does not plan: {missing}")
    inside = make()
    copy_notebooks(PLACE / "notebooks")
    run = subprocess.run(["jupyter", "execute", "00_start.ipynb"], cwd=PLACE / "notebooks", env=inside)
    if run.returncode != 0:
        raise SystemExit("the start notebook does not run in what Binder installs")
    print("repo2docker reads binder/ as meant, and the start notebook runs in what it installs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
