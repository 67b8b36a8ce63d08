"""Saved answers, derived values and ledgers that were altered: refused in our words, or read and shown.

Half of the altered answers have a right checksum: whoever writes one has it, and no part of a file is trusted.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.model.question import canonical
from dpviz.session.session import Session
from tests.session.sweep import given_up
from tests.session.test_read_back import digest
from tests.soak.amounts import record, rounds
from tests.soak.killed import NUMBERS, PRICE, WORDS, opened, worlds

WHOLE = 2_000
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2**40, 10**30, "", "x", "1/0", "nan", "1e999999999", "-0/7", "1/1000", [], {}, ["1"], [[]], 0.5,
    {"": ""}, "\u0000", "{", [None] * 3,
)  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    """The files that are altered: answers of every kind, tables of derived values, and ledgers."""
    folder = tmp_path_factory.mktemp("kept")
    found: dict[str, list[bytes]] = {"answer": [], "derived": [], "ledger": []}
    for world, made in worlds().items():
        session = opened(folder / f"{world}.ledger", world)
        releases = [
            session.release(question, mechanism, key=str(at), **others)
            for at, (question, mechanism, others) in enumerate(made.releases)
        ]
        if made.opening is not None:
            sub = session.open(made.opening, key="opened")
            releases.append(sub.ask("dest", 1, 3) if world == "lists" else sub.ask(WORDS, dv.Dense(PRICE), part="2"))
        found["answer"] += [release.to_bytes() for release in releases]
        if world == "tables":
            months, tree, _, _, tables, *_ = releases
            one, other = session.release(NUMBERS, dv.Tree(PRICE)), session.release(NUMBERS, dv.Tree(PRICE), key="more")
            derived = (
                months.sum({"low": ["1", "2"], "high": ["4"]}),
                tree.range(1, 3),
                tree.share(["2"], ["2", "5"]),
                months.compare(["1"], ["4"]),
                tables.marginal(["bit"]),
                dv.combine(one, other),
            )
            found["derived"] += [each.save(folder / f"{at}.json").read_bytes() for at, each in enumerate(derived)]
        session.ledger.detach()
        found["ledger"].append((folder / f"{world}.ledger").read_bytes())
    return found


def places(body: Any) -> Iterator[tuple[Any, Any]]:
    """Every part of a body, as what holds it and where."""
    if isinstance(body, dict | list):
        for key, part in list(body.items() if isinstance(body, dict) else enumerate(body)):
            yield body, key
            yield from places(part)


def bytes_altered(content: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, cut out, doubled, moved or cut off."""
    at, length = chance.randrange(len(content)), chance.choice([1, 1, 2, 8, 64, 4096])
    piece = content[at : at + length]
    how = chance.randrange(5)
    if how == 0:
        return content[:at] + chance.randbytes(len(piece)) + content[at + length :]
    if how == 1:
        return content[:at] + content[at + length :]
    if how == 2:
        return content[:at] + piece + content[at:]
    if how == 3:
        to = chance.randrange(len(content))
        return content[:to] + piece + content[to + len(piece) :]
    return content[:at]


def parts_altered(content: bytes, chance: random.Random) -> bytes:
    """One or two parts replaced, left out, or taken from elsewhere in the file, with a right checksum."""
    ((name, body),) = ((key, part) for key, part in json.loads(content).items() if key != "sha256")
    for _ in range(chance.choice([1, 1, 2])):
        holder, key = chance.choice(list(places(body)))
        how = chance.randrange(4)
        if how == 0 and isinstance(holder, dict):
            del holder[key]
        elif how == 1:
            other, there = chance.choice(list(places(body)))
            holder[key] = json.loads(json.dumps(other[there]))
        else:
            holder[key] = chance.choice(ODD)
    return canonical({name: body, "sha256": sha256(canonical(body)).hexdigest()})


def shown(read: Any) -> None:
    """Show an answer in every way that a person has."""
    repr(read), read._repr_html_()
    further = isinstance(read, dv.Release) and (read.terms.law.once or read.answer.has_further_draws)
    if isinstance(read, dv.Release) and not read.labels and not further:
        return
    for show in (type(read).to_csv, type(read).to_frame, type(read).chart):
        try:
            show(read)
        except DpvizError as refused:
            assert refused.next_step


def test_an_altered_file_is_refused_in_our_words_or_can_be_shown(kept: dict[str, list[bytes]], tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    faults = []
    for turn in range(rounds(WHOLE)):
        chance = random.Random(f"altered file {turn}")
        kind = chance.choice(["answer", "answer", "derived"])
        original = chance.choice(kept[kind])
        content = chance.choice([bytes_altered, parts_altered])(original, chance)
        path = tmp_path / "altered.json"
        path.write_bytes(content)
        try:
            with given_up(20):
                read: Any = dv.load(path) if kind == "answer" else dv.load_derived(path)
                told[f"{kind} read"] += 1
                shown(read)
        except DpvizError as refused:
            told[f"{kind} refused ({type(refused).__name__})"] += 1
        except Exception as fault:
            faults.append(f"{turn}: {kind}, {type(fault).__name__}: {str(fault)[:200]}")
    assert faults == []
    assert sum(n for what, n in told.items() if "refused" in what) > rounds(WHOLE) // 3
    record(f"{rounds(WHOLE):,} altered files of answers", "; ".join(f"{n} {what}" for what, n in sorted(told.items())))


def whole(session: Session) -> tuple[dict[int, str], str]:
    return {number: digest(release) for number, release in session.releases.items()}, str(session.remaining)


def test_an_altered_ledger_is_refused_in_our_words_or_says_what_it_said(
    kept: dict[str, list[bytes]], tmp_path: Path
) -> None:
    told: Counter[str] = Counter()
    faults, true = [], {}
    for at, world in enumerate(worlds()):
        path = tmp_path / f"{world}.ledger"
        path.write_bytes(kept["ledger"][at])
        session = opened(path, world)
        true[world] = whole(session)
        session.ledger.detach()
    for turn in range(rounds(WHOLE // 2)):
        chance = random.Random(f"altered ledger {turn}")
        at = chance.randrange(len(kept["ledger"]))
        world = list(worlds())[at]
        path = tmp_path / f"{turn}.ledger"
        path.write_bytes(bytes_altered(kept["ledger"][at], chance))
        try:
            with given_up(20):
                session = opened(path, world)
                answers, remaining = whole(session)
                session.ledger.verify()
                session.ledger.detach()
        except DpvizError as refused:
            told[f"refused ({type(refused).__name__})"] += 1
            continue
        except Exception as fault:
            faults.append(f"{turn}: {world}, {type(fault).__name__}: {str(fault)[:200]}")
            continue
        if (answers, remaining) != true[world]:
            faults.append(f"{turn}: {world}, other answers or another rest: {remaining}")
        told["reads as before"] += 1
    assert faults == []
    record(f"{rounds(WHOLE // 2):,} altered ledgers", "; ".join(f"{n} {what}" for what, n in sorted(told.items())))
