"""An analyst's kernel as another user of the machine: run with a folder, a socket, a user and a group.

It loads everything first, by the same story on made-up rows, and then becomes the other user for good: from there on it
can open nothing that is not open to that user. It says `ready` when its story is over, and lives until its input ends,
so that its memory can be searched.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from pathlib import Path

import dpviz as dv
from dpviz.errors import DpvizError

PAY = {"low": 0, "high": 10**12, "step": 1000}


def story(session: dv.Session, folder: Path) -> None:
    """Everything that an analyst does."""
    ages = dv.Domain.integers(0, 9, column="age")
    wards = dv.Domain.categories(["east", "west"], column="ward", other=True)
    session.plan(ages, dv.Dense("1/2")).chart()
    releases = [
        session.release(ages, dv.Dense("1/2")),
        session.release(wards, dv.Dense("1/2")),
        session.release(dv.Question.sum("pay", by=wards, **PAY), dv.Threshold("1/2")),
        session.release("ward", dv.Stability("1/2", delta="1e-6")),
    ]
    opened = session.open(dv.Parts(wards, "1/2"))
    opened.ask(ages, dv.Dense("1/4"), part="east")
    repr((session, session.releases, session.ledger.entries(), session.remaining, session.running))
    for place, release in enumerate(releases):
        release.save(folder / f"{place}.dpviz")
        release.to_csv(folder / f"{place}.csv")
        release.chart().save(str(folder / f"{place}.html"), inline=False)
    dv.report(releases, folder / "report.html", ledger=session)
    dv.Workbench(session, ages)
    for wrong in (lambda: session.release("nowhere", dv.Dense("1")), lambda: session.release(ages, dv.Dense("900"))):
        try:
            wrong()
        except DpvizError as refused:
            with (folder / "refusals").open("a") as kept:
                kept.write(f"{refused}\n")


def recorded(inner: str, outer: str, file: Path) -> None:
    """Pass on everything between two Unix sockets, and keep a copy."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(inner)
    listening.listen(16)
    kept = file.open("ab", buffering=0)

    def carry(source: socket.socket, target: socket.socket) -> None:
        try:
            while piece := source.recv(1 << 16):
                kept.write(piece)
                target.sendall(piece)
        except OSError:
            pass
        target.close()

    def accept() -> None:
        while True:
            near, _ = listening.accept()
            far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            far.connect(outer)
            for pair in ((near, far), (far, near)):
                threading.Thread(target=carry, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def main(folder: Path, address: str, uid: int, gid: int) -> None:
    from dpviz.curator.connection import Connection

    with contextlib.suppress(DpvizError):  # root is no analyst
        Connection(f"unix:{address}", None, None).get("/charter")
    import pandas as pd

    made_up = pd.DataFrame({"ward": ["east", "other"], "age": [1, 2], "pay": [1, 2]})
    warm = folder / "warm"
    warm.mkdir()
    story(dv.Session(made_up, dv.Unit("row"), dv.Budget("50", "1e-4"), warm / "x.ledger"), warm)
    if os.getuid() != uid:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    os.environ["HOME"] = str(folder)
    recorded(str(folder / "in.sock"), address, folder / "traffic")
    session = dv.connect(f"unix:{folder / 'in.sock'}")
    story(session, folder)
    print("ready", os.getuid(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
