"""`dpviz ledger show | verify | backup`: look at a ledger, prove that it holds, copy it. No data, no session needed.

Exit codes: 0 done; 1 refused; 2 a command that cannot be read; 3 the ledger is damaged.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dpviz.errors import DpvizError, LedgerCorrupt, UnitError
from dpviz.privacy.unit import Unit

DONE, REFUSED, DAMAGED = 0, 1, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        record, lines = options.run(options)
    except DpvizError as error:
        return _refuse(error, as_json=options.json)
    try:
        print(_json(record) if options.json else "\n".join(map(_printable, lines)), flush=True)
    except BrokenPipeError:  # a reader like `head` has seen enough; what is left to write goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


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
        "backup": ("copy the ledger into a new file, verified; others may go on using it", _backup),
    }
    made = {}
    for name, (help_, run) in about.items():
        made[name] = command = ledger.add_parser(name, help=help_, description=help_)
        command.set_defaults(run=run)
        command.add_argument("ledger", help="the ledger's file")
        command.add_argument("--json", action="store_true", help="write JSON instead of text")
    made["show"].add_argument("--last", type=int, metavar="N", help="only the last N entries")
    made["verify"].add_argument("--head", metavar="HASH", help="a head noted earlier, which must be on the chain")
    made["verify"].add_argument(
        "--rebuild-index", action="store_true", help="first derive the index anew from the chain, which must hold"
    )
    made["backup"].add_argument("target", help="the file to make; it must not exist")
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
    from dpviz.session.ledger import Ledger

    ledger = Ledger.read(options.ledger)
    charter, account, head = ledger.charter, ledger.account, ledger.head()
    entries = ledger.entries(last=options.last)
    unit = _unit(charter["unit"])
    record = {
        "ledger": str(ledger.path),
        "charter": charter,
        "account": account,
        "head": head,
        "entries": [
            {
                "number": entry.number,
                "key": entry.key,
                "status": entry.status,
                "opened": entry.opened,
                "closed": entry.closed,
                "body": entry.body,
            }
            for entry in entries
        ],
    }
    rows = [("entry", "charged (UTC)", "status", "price", "unit", "question")]
    for entry in entries:
        priced_in = entry.body["price"].get("unit", unit) if entry.price else unit
        question = entry.body.get("question_text", "")
        rows.append((str(entry.number), entry.opened, entry.status, entry.price or "not stated", priced_in, question))
    lines = [
        f"ledger    {ledger.path}",
        f"dataset   {charter['dataset']}",
        f"unit      {unit}",
        f"budget    {_pairs(charter['budget'])}",
        f"head      {head}",
        "",
        *(_table(rows) if entries else ["nothing was charged yet"]),
    ]
    return record, lines


def _verify(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from dpviz.session.ledger import Ledger

    if options.rebuild_index:
        Ledger.rebuild_index(options.ledger)
    found = Ledger.read(options.ledger).verify(head=options.head)
    return _verified(found, f"{options.ledger} holds")


def _backup(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from dpviz.session.ledger import Ledger

    found = Ledger.read(options.ledger).backup(options.target)
    return _verified(found, f"{options.target} is a verified copy")


def _verified(found: Any, said: str) -> tuple[dict[str, Any], list[str]]:
    statuses = ", ".join(f"{count} {status}" for status, count in sorted(found.statuses.items()))
    record = {
        "rows": found.rows,
        "charges": found.charges,
        "statuses": found.statuses,
        "blobs": found.blobs,
        "head": found.head,
    }
    lines = [
        f"{said}: {found.rows} rows, {found.charges} charges" + (f" ({statuses})" if statuses else ""),
        f"head {found.head}",
    ]
    return record, lines


def _refuse(error: DpvizError, *, as_json: bool) -> int:
    if as_json:
        parts = {"rule": error.rule, "value": error.value, "next_step": error.next_step}
        print(_json({"error": type(error).__name__, "message": str(error), **parts}))
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
