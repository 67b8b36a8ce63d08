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
WANTED = Path(__file__).with_name("peers.txt")
JOBS = Path(__file__).with_name("peer_jobs.py")


def environment() -> Path:
    """The Python of the peers' environment, made where it is missing or where what is wanted has changed."""
    python, made_from = PLACE / "bin" / "python", PLACE / "wanted.txt"
    if not made_from.exists() or made_from.read_text() != WANTED.read_text():
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(PLACE)], check=True)
        subprocess.run([*uv, "pip", "install", "--quiet", "--python", str(python), "-r", str(WANTED)], check=True)
        made_from.write_text(WANTED.read_text())
    return python


class Peers:
    """The process that runs the peers' jobs, one line of JSON to ask and one to answer."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [str(environment()), str(JOBS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, job: str, **arguments: Any) -> Any:
        """What the job returns, in most cases the seconds it took."""
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
