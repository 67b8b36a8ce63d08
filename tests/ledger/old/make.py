"""How the ledgers in this folder were made, by the last dpviz that kept a log (WAL): `python make.py FOLDER`.

closed  a ledger whose process ended: its last writes were folded into the file
hot     a copy of file and log while the process was there, as a kill leaves them
"""

from __future__ import annotations

import base64
import sys
import zlib
from pathlib import Path

from dpviz.session.ledger import Ledger, Owner
from tests.ledger.tools import BODY, CHARTER, admit, key


def opened(path: Path) -> Ledger:
    nobody = Owner("0" * 32, "elsewhere", 1, "")
    return Ledger.open(path, charter=CHARTER, account={"spent": "0", "budget": "100"}, owner=nobody)


def keep(folder: Path, path: Path, name: str, *ends: str) -> None:
    for end in ("", *ends):
        content = path.with_name(path.name + end).read_bytes()
        (folder / f"{name}.ledger{end}.txt").write_text(base64.b64encode(zlib.compress(content, 9)).decode() + "\n")


def main(folder: Path, scratch: Path) -> None:
    path = scratch / "visits.ledger"
    ledger = opened(path)
    ledger.finish(ledger.charge(key("a"), BODY, admit).number, b"the answer to a")
    ledger.finish(ledger.charge(key("b"), BODY, admit).number, b"\xff" * 70_000)
    ledger.charge(key("c"), BODY, admit, opens={"left": "9"})
    ledger.detach()
    keep(folder, path, "closed")
    ledger.charge(key("d"), BODY, admit)
    keep(folder, path, "hot", "-wal")


if __name__ == "__main__":
    main(Path(__file__).parent, Path(sys.argv[1]))
