"""A planted value and a planted total are nowhere with the analyst: another user of this machine, who asked everything
that can be asked. That user can open neither the data nor the ledger."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.curator.served import ROOT, Served, rows

LABEL = "quagga-7731-zonkey"
STEPS = 913_847_562
TOTAL = 1000 * STEPS
PLANTED = (
    LABEL.encode(),
    str(STEPS).encode(),
    f"{TOTAL:,}".encode(),
    TOTAL.to_bytes(8, "little"),
    STEPS.to_bytes(8, "little"),
)
"""The label of one row, and the only pay there is, in the forms in which a program would hold or write them."""

OTHER = 65534 if os.getuid() == 0 else os.getuid()
"""The user number of the analyst. Without the rights of root nobody becomes another user."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can enter, with one that is the owner's and one that is the analyst's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for part in ("kept", "analyst"):
            (folder / part).mkdir()
        os.chown(folder / "analyst", OTHER, OTHER if os.getuid() == 0 else -1)
        yield folder


def planted_in(content: bytes) -> list[bytes]:
    return [form for form in PLANTED if form in content]


def memory_of(process: int) -> Iterator[bytes]:
    """Each stretch of a process's memory that can be read."""
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
            if found is None or "[vvar" in line or "[vsyscall" in line:
                continue
            begin, end = (int(part, 16) for part in found.groups())
            memory.seek(begin)
            try:
                yield memory.read(end - begin)
            except OSError:
                continue


def analyst(folder: Path, served: Served) -> subprocess.Popen[str]:
    home = folder / "analyst"
    return subprocess.Popen(
        [sys.executable, "-m", "tests.curator.analyst", str(home), str(served.folder / "v.sock"), *[str(OTHER)] * 2],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(home / "state")},
    )  # fmt: skip


def test_what_was_not_released_is_nowhere_with_the_analyst(place: Path) -> None:
    kept = place / "kept"
    frame = pd.concat([rows(60).assign(pay=0), pd.DataFrame({"ward": [LABEL], "age": [3], "pay": [TOTAL]})])
    frame.to_csv(kept / "visits.csv", index=False)
    (kept / "visits.csv").chmod(0o600)
    declared = f'[[analysts]]\nname = "ana"\nlogin = {OTHER}\n'
    with Served(kept, analysts=declared, epsilon="50") as served:
        process = analyst(place, served)
        assert process.stdout is not None and process.stdin is not None
        said = process.stdout.readline()
        assert said == f"ready {OTHER}\n"
        found = [form for part in memory_of(process.pid) for form in planted_in(part)]
        process.stdin.close()
        process.wait()
        process.stdout.close()
    assert found == []
    written = {path: planted_in(path.read_bytes()) for path in (place / "analyst").rglob("*") if path.is_file()}
    assert written and not any(written.values()), written
    assert planted_in((place / "analyst" / "traffic").read_bytes()) == []
    assert len((place / "analyst" / "traffic").read_bytes()) > 10_000
    assert planted_in(served.log.encode()) == []
    assert planted_in((kept / "visits.ledger").read_bytes()) == []


def test_the_search_finds_what_is_planted() -> None:
    """The near-wrong twin: a process that read the data has both in its memory."""
    program = (
        f"import sys; held = {LABEL.encode()!r}, ({TOTAL}).to_bytes(8, 'little'); print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdin is not None
    process.stdout.readline()
    found = {form for part in memory_of(process.pid) for form in planted_in(part)}
    process.stdin.close()
    process.wait()
    process.stdout.close()
    assert found >= {LABEL.encode(), TOTAL.to_bytes(8, "little")}


def opened_by_other(path: Path) -> int:
    """How another user fares who opens a file: 0 where it can be read, 7 where the system refuses."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(OTHER)
        os.setuid(OTHER)
        try:
            path.read_bytes()
        except PermissionError:
            os._exit(7)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


if os.getuid() == 0:

    def test_the_analyst_can_open_neither_data_nor_ledger(place: Path) -> None:
        declared = f'[[analysts]]\nname = "ana"\nlogin = {OTHER}\n'
        with Served(place / "kept", analysts=declared):
            pass
        found = {path.name: opened_by_other(path) for path in (place / "kept").iterdir()}
        (place / "kept" / "open").write_text("")
        (place / "kept" / "open").chmod(0o644)
        assert opened_by_other(place / "kept" / "open") == 0
        assert {name: found[name] for name in ("visits.csv", "visits.ledger", "visits.ledger-lock")} == {
            "visits.csv": 7,
            "visits.ledger": 7,
            "visits.ledger-lock": 7,
        }


@pytest.mark.parametrize("name", ["visits.csv", "visits.ledger"])
def test_a_file_that_everybody_can_read_is_not_kept(place: Path, name: str) -> None:
    served = Served(place / "kept")
    with served:
        pass
    (place / "kept" / name).chmod(0o644)
    with pytest.raises(AssertionError, match="other users of this machine cannot read"):
        served.start()
    served.stop()
