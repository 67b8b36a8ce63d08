"""Other libraries, in an environment and a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "peers"
HERE = Path(__file__).parent
JOBS = HERE / "peer_jobs.py"

_made: dict[str, Path] = {}


def environment(wanted: str = "peers") -> Path:
    """The Python of an environment of peers, made where it is missing or where what is wanted, in the file of this
    name, has changed."""
    text, place = (HERE / f"{wanted}.txt").read_text(), PLACE / wanted
    python, made_from = place / "bin" / "python", place / "wanted.txt"
    if not made_from.exists() or made_from.read_text() != text:
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(place)], check=True)
        listed = ["-r", str(HERE / f"{wanted}.txt")]
        subprocess.run([*uv, "pip", "install", "--quiet", "--python", str(python), *listed], check=True)
        made_from.write_text(text)
    _made[wanted] = python
    return python


def versions() -> dict[str, str]:
    """Of all peers that were asked in this run."""
    found: dict[str, str] = {}
    for python in _made.values():
        script = [str(python), str(HERE / "job_scripts.py"), "versions", ""]
        found |= json.loads(subprocess.run(script, check=True, capture_output=True, text=True).stdout)
    return found


class Peers:
    """The process that runs the peers' jobs, one line of JSON to ask and one to answer."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [str(environment()), str(JOBS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, job: str, **arguments: Any) -> Any:
        """The result of the job, in most cases the seconds it took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"job": job, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peers' process ended during {job}")
        return json.loads(line)


@cache
def peers() -> Peers:
    """The one process of peers that all benchmarks share."""
    return Peers()
