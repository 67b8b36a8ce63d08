"""How the files in a folder beside this were written, by the dpviz of that name: `python -m tests.kept.write FOLDER`.

source.csv   the data: made up, with texts and numbers of every kind
*.ledger.gz  one ledger for each unit: releases, sub-sessions with their answers, a raise, a failed draw, a cancelled
             one, and one that was lost with its process
*.json       the releases and the teaching draws, as `release.save` wrote them (in saved.zip)
report.html.gz   a report of some of the releases and teaching draws
shown.json.gz    what all of them showed: price, promise, sentence, title, labels, values, intervals at four levels, and
             what every other estimator read

Run it for a new version, into a new folder, and never again into an old one.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.engines import as_source
from dpviz.errors import ReleaseCancelled, ReleaseFailed
from dpviz.session.ledger import owner, records
from dpviz.session.session import Session
from tests.kept.calls import BUDGETS, KEPT, MONTHS, RAISED, TAUGHT, UNITS, frame, left, read, shown, sub_sessions

REPORTED = ("dense", "dense product", "stability", "compact", "top", "top laplace", "top set", "asked few")


class Misbehaving:
    """The same data, with work of ours before it is counted."""

    def __init__(self, data: Any, before: Any) -> None:
        self._source, self._before = as_source(data, name="visits"), before

    name = property(lambda self: self._source.name)
    engine = property(lambda self: self._source.engine)
    columns = property(lambda self: self._source.columns)
    top = property(lambda self: self._source.top)

    def check(self, question: Any, unit: Any, need: Any) -> None:
        self._source.check(question, unit, need)

    def probe(self) -> None:
        self._source.probe()

    def chartered(self, kinds: Any) -> Any:
        return self

    def count(self, question: Any, unit: Any, need: Any, tick: Any = None) -> Any:
        self._before(tick)
        return self._source.count(question, unit, need, tick)


def write_source(path: Path) -> None:
    chance = random.Random(9)
    cities = ["Aarhus"] * 9 + ["Odense"] * 6 + ["Ærø"] * 3 + ["</script>", '"Thy", "Mors"', "", "Skagen ☃"]
    rows = ["person,city,month,age,amount"]
    for _ in range(400):
        city = chance.choice(cities).replace('"', '""')
        age = "" if chance.random() < 0.05 else f"{chance.uniform(0, 110):.1f}"
        amount = chance.choice([0, 1, 1, 5, 5, 5, 700, 3999, 2**39, -3])
        rows.append(f'p{chance.randrange(90)},"{city}",{chance.randrange(1, 13)},{age},{amount}')
    path.write_text("\n".join(rows) + "\n")


def opened(name: str, data: Any, folder: Path) -> Session:
    path = folder / f"{name}.ledger"
    return dv.Session(data, UNITS[name], BUDGETS[name], path, dataset="visits", person="Ada")


def go_wrong(name: str, data: Any, folder: Path) -> None:
    """A failed draw, a cancelled one, and one whose process is no more."""

    def fail(tick: Any) -> None:
        raise OSError

    with pytest.raises(ReleaseFailed):
        opened(name, Misbehaving(data, fail), folder).release(MONTHS, dv.Dense("1/7"), key="failed")
    reached = threading.Event()

    def wait(tick: Any) -> None:
        reached.set()
        while True:
            tick(0, 1)

    running = opened(name, Misbehaving(data, wait), folder).release_async(MONTHS, dv.Dense("1/7"), key="cancelled")
    assert reached.wait(60)
    running.cancel()
    with pytest.raises(ReleaseCancelled):
        running.result()
    child = os.fork()
    if child == 0:
        records.LEASE = -1  # nobody waits for it
        broken = opened(name, Misbehaving(data, lambda tick: os._exit(0)), folder)
        broken.release(MONTHS, dv.Dense("1/7"), key="lost")
    os.waitpid(child, 0)


def main(folder: Path) -> None:
    owner._place = lambda: "elsewhere"  # these files are kept, and name no machine
    folder.mkdir()
    write_source(folder / "source.csv")
    data = frame(folder / "source.csv")
    told: dict[str, Any] = {}
    releases: dict[str, dv.Release] = {}
    with tempfile.TemporaryDirectory() as scratch:
        sessions = {name: opened(name, data, Path(scratch)) for name in UNITS}
        for name, session in sessions.items():
            subs = [session.open(parameters) for parameters in sub_sessions(folder.name, name)]
            for call in KEPT[folder.name]:
                if call.ledger == name:
                    releases[call.name] = call(session, subs)
            go_wrong(name, data, Path(scratch))
            session.raise_budget(RAISED[name], reason="more is to be asked")
            if name == "visits":
                subs[0].close()
        for name, (question, mechanism) in TAUGHT.items():
            releases[name] = dv.teaching(data, 7, UNITS["people"], dataset="visits").draw(question, mechanism)
        told = {name: shown(release) for name, release in releases.items()}
        reported = [releases[name] for name in (*REPORTED, *TAUGHT)]
        page = dv.report(reported, Path(scratch) / "report.html", title="Kept", ledger=sessions["people"])
        (folder / "report.html.gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
        with zipfile.ZipFile(folder / "saved.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, release in releases.items():
                archive.writestr(zipfile.ZipInfo(f"{name}.json"), release.to_bytes(), zipfile.ZIP_DEFLATED)
        balance = {name: left(session) for name, session in sessions.items()}
        for name, session in sessions.items():
            assert session.ledger.verify()
            session.ledger.detach()
            content = (Path(scratch) / f"{name}.ledger").read_bytes()
            (folder / f"{name}.ledger.gz").write_bytes(gzip.compress(content, 9, mtime=0))
    estimators = {name: read(release) for name, release in releases.items() if release.valued}
    text = {"releases": told, "read": estimators, "remaining": balance, "reported": [*REPORTED, *TAUGHT]}
    content = json.dumps(text, indent=1, ensure_ascii=False).encode()
    (folder / "shown.json.gz").write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
