"""The long attacks, all of them: `python -m tools.soak`. Writes tests/soak/RESULTS.md.

`make test` runs a seeded twentieth of the same tests, and a part of the searches that stand beside other tests.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.soak.amounts import WHOLE, in_part
from tools.suites import PYTEST, ROOT, TOGETHER, environment

RESULTS = ROOT / "tests" / "soak" / "RESULTS.md"


def main() -> int:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch) / "table"
        table.touch()
        command = [*PYTEST, *TOGETHER, "--override-ini=faulthandler_timeout=0", "tests/soak", *in_part()]
        done = subprocess.run(command, cwd=ROOT, env=environment() | {WHOLE: str(table)}, check=False)
        rows = sorted(table.read_text().splitlines())
    if done.returncode == 0:
        RESULTS.write_text(report(rows, time.monotonic() - started))
        print(f"written: {RESULTS.relative_to(ROOT)}")
    return done.returncode


def report(rows: list[str], seconds: float) -> str:
    """Report what a whole run found, and where."""
    told = (
        f"Written by `make soak` on {datetime.now(UTC):%Y-%m-%d}: Python {platform.python_version()}, "
        f"{platform.system()} on {platform.machine()}, {seconds:.0f} s. All of it passed."
    )
    return "\n".join(["# The long attacks", "", told, "", "| attack | outcome |", "|---|---|", *rows, ""])


if __name__ == "__main__":
    sys.exit(main())
