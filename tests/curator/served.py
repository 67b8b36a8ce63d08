"""A curator in a process of its own, as an owner starts it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
from dpviz.curator.declaration import Declaration
from dpviz.curator.serve import serve
serve(Declaration.read(sys.argv[1]), lambda addresses: print(*addresses, flush=True))
"""

DECLARED = """
dataset = "ward visits"
ledger = "{ledger}"
tick = "{tick}"

[source]
file = "visits.csv"

[unit]
of = "row"
noun = "visit"

[budget]
epsilon = "{epsilon}"
delta = "1e-4"

[columns.ward]
kind = "text"

[columns.age]
kind = "number"
bins = {{ kind = "integers", low = "0", high = "9" }}

[listen]
socket = "v.sock"
mode = "0666"

{analysts}
"""

OWNER = '[[analysts]]\nname = "ana"\nlogin = {uid}\n'


class Served:
    """A curator that serves a small table.

    folder    the folder of the declaration, the data and the ledger
    address   of its Unix socket
    """

    def __init__(
        self,
        folder: Path,
        *,
        analysts: str = "",
        tick: str = "0.02",
        epsilon: str = "20",
        ledger: str = "visits.ledger",
        more: str = "",
    ) -> None:
        self.folder = folder
        self.address = f"unix:{folder / 'v.sock'}"
        named = analysts or OWNER.format(uid=os.getuid())
        text = DECLARED.format(ledger=ledger, tick=tick, epsilon=epsilon, analysts=named) + more
        (folder / "visits.toml").write_text(text)
        if not (folder / "visits.csv").exists():
            rows(30).to_csv(folder / "visits.csv", index=False)
            (folder / "visits.csv").chmod(0o600)
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Served:
        """Start it, and wait until it listens."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", PROGRAM, str(self.folder / "visits.toml")]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        assert self.process.stdout is not None
        heard = self.process.stdout.readline()
        assert heard, (self.folder / "log").read_text()
        self.addresses = heard.split()
        return self

    def stop(self) -> None:
        """Stop it as a system does, and wait for its end."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, wherever it is."""
        self._end(signal.SIGKILL)

    def _end(self, number: int) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)
            self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()
            self.process = None

    @property
    def log(self) -> str:
        """Everything that the process wrote to its standard error."""
        return (self.folder / "log").read_text()

    def __enter__(self) -> Served:
        return self if self.process is not None else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def rows(many: int) -> pd.DataFrame:
    """A table of visits to three wards."""
    wards = ["east", "west", "north"]
    return pd.DataFrame({"ward": [wards[row % 3] for row in range(many)], "age": [row % 10 for row in range(many)]})


@contextlib.contextmanager
def served(folder: Path, **options: str) -> Iterator[Served]:
    """A curator that is stopped in the end."""
    with Served(folder, **options) as made:
        yield made
