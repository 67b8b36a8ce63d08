"""`dpviz ledger show | verify | registry | backup`: look at a ledger, prove that it holds, describe a release, copy it.

None of these needs data or a session. The commands of a curator, `dpviz curator …`, are in `dpviz/curator/commands.py`.

Exit codes: 0 done; 1 refused; 2 a command that cannot be read; 3 the ledger is damaged.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from io import TextIOWrapper
from typing import Any

from dpviz.curator.commands import add_commands
from dpviz.errors import DpvizError, LedgerCorrupt, UnitError
from dpviz.privacy.unit import Unit

DONE, REFUSED, UNREADABLE, DAMAGED = 0, 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that has no letter ε gets its number
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as over:  # after --help or --version, or with a command that cannot be read
        code = over.code if isinstance(over.code, int) else UNREADABLE
        raise SystemExit(max(code, _written(""))) from None
    try:
        record, lines = options.run(options)
    except DpvizError as error:
        return _refuse(error, as_json=options.json)
    return _written(_json(record) if options.json else "\n".join(map(_printable, lines)))


def _written(text: str) -> int:
    """Write a text to standard output, all of it, and return the exit code."""
    try:
        if text:
            print(text)
        sys.stdout.flush()
    except OSError as error:
        broken = error
    else:
        return DONE
    with contextlib.suppress(OSError, ValueError):  # nothing that is left may fail once more when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(broken, BrokenPipeError):  # a reader like `head` has seen enough
        return DONE
    print(f"dpviz: the output could not be written: {broken.strerror}", file=sys.stderr)
    return REFUSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dpviz", description="See what differential privacy costs and buys.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    ledger = commands.add_parser("ledger", help="look at, verify or copy a ledger").add_subparsers(
        required=True, metavar="COMMAND"
    )
    about = {
        "show": ("what was charged, in which unit, and what is its state", _show),
        "verify": ("read every row and every answer again, and say where the chain is broken", _verify),
        "registry": ("write a release as a record for OpenDP's registry of deployments, in YAML", _registry),
        "backup": ("copy the ledger into a new SQLite file, verified; others may go on using it", _backup),
    }
    made = {}
    for name, (help_, run) in about.items():
        made[name] = command = ledger.add_parser(name, help=help_, description=help_)
        command.set_defaults(run=run)
        command.add_argument("ledger", help="the ledger's file, or the URL of its database")
        command.add_argument("--json", action="store_true", help="write JSON instead of text")
    made["show"].add_argument("--last", type=int, metavar="N", help="only the last N entries")
    made["verify"].add_argument("--head", metavar="HASH", help="a head noted earlier, which must be on the chain")
    made["verify"].add_argument(
        "--rebuild-index", action="store_true", help="first derive the index anew from the chain, which must hold"
    )
    made["registry"].add_argument("entry", type=int, help="the number of the release, as `show` lists it")
    made["registry"].add_argument("--use", type=int, metavar="N", help="of a session of questions: its answer N")
    made["backup"].add_argument("target", help="the file to make; it must not exist")
    add_commands(commands)
    return parser


class _Version(argparse.Action):
    """Looked up only when asked: a source tree that is not installed has none."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        try:
            found = version("dpviz")
        except PackageNotFoundError:
            found = "(a source tree that is not installed)"
        print(f"dpviz {found}")
        parser.exit()


# ---------------------------------------------------------------- commands: a record for --json, and lines to read


def _show(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from dpviz.session import arithmetic, holding
    from dpviz.session.ledger import Ledger
    from dpviz.session.releases import left_out

    ledger = Ledger.read(options.ledger, check=arithmetic.known, holds=holding.holds)
    charter, account, head = ledger.charter, ledger.account, ledger.head()
    entries = ledger.entries(last=options.last)
    unit, raises = _unit(charter["unit"]), ledger.raises()
    drawn = [_drawn(entry) for entry in entries]
    unread, requests = left_out(ledger, entries), ledger.requests(last=options.last)
    record = {
        "ledger": ledger.location,
        "charter": charter,
        "account": account,
        "head": head,
        "raises": [{name: getattr(found, name) for name in ("at", "budget", "person", "reason")} for found in raises],
        "entries": drawn,
        "requests": [_asked(found) for found in requests],
        "unreadable": unread,
    }
    rows = [("entry", "charged (UTC)", "status", "by", "price", "unit", "question")]
    sub_sessions: list[str] = []
    for entry, said in zip(entries, drawn, strict=True):
        priced_in = entry.body["price"].get("unit", unit) if entry.price else unit
        question = entry.body.get("question_text", "")
        price, by = entry.price or "not stated", entry.by or "not stated"
        rows.append((str(entry.number), entry.opened, entry.status, by, price, priced_in, question))
        if entry.status == "open":
            left, uses = ledger.sub_account(entry.number), ledger.uses(entry.number)
            said |= {"sub_account": left, "uses": [_drawn(use) for use in uses]}
            sub_sessions += ["", f"entry {entry.number} is open: {_pairs(left)} left", *_uses(uses)]
    lines = [
        f"ledger    {ledger.location}",
        f"dataset   {charter['dataset']}",
        f"unit      {unit}",
        f"budget    {_pairs(charter['budget'])}",
        *(f"raised    {_raised(found)}" for found in raises),
        "by        whoever was declared, or else the login; nobody proves it, except a curator: in brackets",
        f"head      {head}",
        "",
        *(_table(rows) if entries else ["nothing was charged yet"]),
        *sub_sessions,
        *(["", *_requests(requests)] if requests else []),
        *(["", *unread] if unread else []),
    ]
    return record, lines


def _drawn(found: Any) -> dict[str, Any]:
    """An entry or a use, for --json."""
    return {name: getattr(found, name) for name in ("number", "key", "status", "opened", "closed", "person", "body")}


def _asked(found: Any) -> dict[str, Any]:
    """A request for a decision, for --json."""
    decision = found.decision
    decided = {name: getattr(decision, name) for name in ("verdict", "at", "person", "body")} if decision else None
    return {name: getattr(found, name) for name in ("number", "key", "at", "person", "body")} | {"decision": decided}


def _requests(found: Sequence[Any]) -> list[str]:
    """Requests for a decision, and what was decided."""
    rows = [("request", "asked (UTC)", "by", "decision", "reason", "question")]
    for one in found:
        said = one.state if one.decision is None else f"{one.state} by {one.decision.person}"
        reason = "" if one.decision is None else one.decision.reason
        rows.append((str(one.number), one.at, one.person, said, reason, str(one.body.get("text", ""))))
    return _table(rows)


def _raised(found: Any) -> str:
    """`2026-11-22T02:14:00Z by Ada, to epsilon 3, delta 0: second survey wave`."""
    from dpviz.session.ledger.history import ordered

    why = f": {found.reason}" if found.reason else ""
    return f"{found.at} by {found.person or 'not stated'}, to {_pairs(ordered(found.budget))}{why}"


def _uses(uses: Sequence[Any]) -> list[str]:
    if not uses:
        return ["it was not used yet"]
    rows = [("use", "reserved (UTC)", "status", "by", "reserved", "question")]
    for use in uses:
        by = use.by or "not stated"
        rows.append((str(use.number), use.opened, use.status, by, use.price, use.body.get("question_text", "")))
    return _table(rows)


def _verify(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from dpviz.session import arithmetic, holding
    from dpviz.session.ledger import Ledger
    from dpviz.session.undercharged import undercharged

    if options.rebuild_index:
        Ledger.rebuild_index(options.ledger)
    ledger = Ledger.read(options.ledger, check=arithmetic.known, holds=holding.holds)
    record, lines = _verified(ledger.verify(head=options.head), f"{ledger.location} holds")
    found = undercharged(ledger)
    if found:
        lines += [
            "",
            "charged too little by an earlier dpviz; count what these cost, the ledger keeps what was charged:",
        ]
        lines += [one.text for one in found]
    return {**record, "undercharged": [one.to_json() for one in found]}, lines


def _registry(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from dpviz.model import registry
    from dpviz.session import arithmetic, holding
    from dpviz.session.ledger import Ledger
    from dpviz.session.releases import Releases
    from dpviz.session.saved import from_bytes

    ledger = Ledger.read(options.ledger, check=arithmetic.known, holds=holding.holds)
    if options.use is None:
        release = Releases(ledger)[options.entry]
    else:
        release = from_bytes(ledger.use_answer(options.entry, options.use)).found_in(ledger)
    made = registry.record(release, release.drawn)
    return {"record": registry.plain(made), "gaps": registry.gaps(made)}, registry.yaml(made).splitlines()


def _backup(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from dpviz.session import arithmetic, holding
    from dpviz.session.ledger import Ledger

    found = Ledger.read(options.ledger, check=arithmetic.known, holds=holding.holds).backup(options.target)
    return _verified(found, f"{options.target} is a verified copy")


def _verified(found: Any, said: str) -> tuple[dict[str, Any], list[str]]:
    counts = f"{found.rows} rows, {found.charges} charges{_statuses(found.statuses)}"
    if found.uses:
        counts += f", {sum(found.uses.values())} uses{_statuses(found.uses)}"
    record = {
        "rows": found.rows,
        "charges": found.charges,
        "statuses": found.statuses,
        "uses": found.uses,
        "blobs": found.blobs,
        "head": found.head,
    }
    return record, [f"{said}: {counts}", f"head {found.head}"]


def _statuses(found: Mapping[str, int]) -> str:
    said = ", ".join(f"{count} {status}" for status, count in sorted(found.items()))
    return f" ({said})" if said else ""


def _refuse(error: DpvizError, *, as_json: bool) -> int:
    if as_json:
        parts = {"rule": error.rule, "value": error.value, "next_step": error.next_step}
        code = _written(_json({"error": type(error).__name__, "message": str(error), **parts}))
        if code != DONE:
            return code
    else:
        print(f"dpviz: {_printable(str(error))}", file=sys.stderr)
    return DAMAGED if isinstance(error, LedgerCorrupt) else REFUSED


# ---------------------------------------------------------------- words


def _unit(stored: Mapping[str, Any]) -> str:
    try:
        return Unit(**stored).text
    except (TypeError, UnitError):
        return _pairs(stored)


def _pairs(stored: object) -> str:
    """`epsilon 2, delta 0.000001`."""
    if not isinstance(stored, Mapping):
        return str(stored)
    return ", ".join(f"{name} {value}" for name, value in stored.items() if value is not None)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(_printable(cell)) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(_printable(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _printable(text: str) -> str:
    """A stored text must not steer the terminal it is shown on."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _json(record: object) -> str:
    return json.dumps(record, indent=2, sort_keys=True)
