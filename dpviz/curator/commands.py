"""`dpviz curator check | token | serve | requests | import`: the commands of an owner of data.

Each returns a record for --json and lines to read, as the other commands of the command line do.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from dpviz.curator.declaration import Declaration
    from dpviz.session.ledger import DecisionRequest

Said: TypeAlias = tuple[dict[str, Any], list[str]]


def add_commands(commands: Any) -> None:
    """Add the commands of a curator to those of the command line."""
    curator = commands.add_parser("curator", help="keep data for analysts who cannot read them").add_subparsers(
        required=True, metavar="COMMAND"
    )
    about = {
        "check": ("read a declaration, open the schema of the data, and say who may do what; charges nothing", _check),
        "token": ("make a token for an analyst, shown once, and the line to write into the declaration", _token),
        "serve": ("serve a declared data set until a signal ends it", _serve),
        "requests": ("list the requests that wait for a decision, or decide one", _requests),
        "import": ("write a declaration from metadata of SmartNoise, Lomas or Croissant", _import),
    }
    made: dict[str, argparse.ArgumentParser] = {}
    for name, (help_, run) in about.items():
        made[name] = command = curator.add_parser(name, help=help_, description=help_)
        command.set_defaults(run=run)
        what = "the YAML or JSON file of the metadata" if name == "import" else "the declaration, a TOML file"
        command.add_argument("file", help=what)
        command.add_argument("--json", action="store_true", help="write JSON instead of text")
    made["token"].add_argument("name", help="the analyst, as the declaration names them")
    deciding = made["requests"]
    deciding.add_argument("verdict", nargs="?", choices=["approve", "refuse"], help="the decision; left out, list")
    deciding.add_argument("number", nargs="?", type=int, help="the number of the request")
    deciding.add_argument("--reason", metavar="TEXT", help="a reason, which the analyst will read")
    deciding.add_argument("--epsilon", metavar="E", help="approve it at this epsilon, at most the one asked for")
    importing = made["import"]
    importing.add_argument("--table", metavar="NAME", help="the table, data set or record set, where there are several")
    importing.add_argument("--data", metavar="FILE", default="", help="the file of the data, where none is named")
    importing.add_argument(
        "--without",
        metavar="FIELDS",
        default="",
        help="fields to leave out, by name or place, with commas between",
    )


def _check(options: argparse.Namespace) -> Said:
    from dpviz.curator.checking import check
    from dpviz.curator.declaration import Declaration

    found = check(Declaration.read(options.file))
    width = max(map(len, found.facts))
    lines = [f"{name.ljust(width)}  {said}" for name, said in found.facts.items()]
    columns = [{"column": name, **parts} for name, parts in found.columns.items()]
    lines += ["", *_table(columns)]
    lines += ["", *(_table(found.analysts) if found.analysts else ["no analysts"])]
    lines += ["", *(f"warning: {one}" for one in found.warnings)] if found.warnings else []
    return found.to_json(), lines


def _token(options: argparse.Namespace) -> Said:
    from dpviz.curator.declaration import Declaration
    from dpviz.curator.tokens import digest_of, fresh_token

    one = Declaration.read(options.file).analyst(options.name)
    token = fresh_token()
    line = f"tokens = [{', '.join(f'{known!r}' for known in (*one.tokens, digest_of(token)))}]".replace("'", '"')
    lines = [token, "", f"This is shown once and stored nowhere. Hand it to {one.name} where nobody else reads it, and",
             f"write this line under the analyst {one.name}; it holds the digest, from which no token is found:", "",
             line]  # fmt: skip
    return {"analyst": one.name, "token": token, "line": line}, lines


def _serve(options: argparse.Namespace) -> Said:
    from dpviz.curator.declaration import Declaration
    from dpviz.curator.serve import serve

    declaration = Declaration.read(options.file)
    told = f"{declaration.dataset} is served at"
    serve(declaration, lambda addresses: print(told, *addresses, flush=True))
    return {"dataset": declaration.dataset, "ended": True}, [f"{declaration.dataset} is served no longer"]


def _requests(options: argparse.Namespace) -> Said:
    from dpviz.boundary import Hidden
    from dpviz.curator.declaration import Declaration
    from dpviz.session import arithmetic, holding
    from dpviz.session.ledger import Ledger

    declaration = Declaration.read(options.file)
    if options.verdict is not None:
        return _decided(declaration, options)
    ledger: Any = Hidden(declaration.ledger.take())
    found = Ledger.read(ledger, check=arithmetic.known, holds=holding.holds).requests(waiting=True)
    lines = [line for one in found for line in _request(one)]
    return {"waiting": [_told(one) for one in found]}, lines or ["nothing is waiting"]


def _decided(declaration: Declaration, options: argparse.Namespace) -> Said:
    """A decision by who may open the ledger, under the name that the declaration has for this user of the machine."""
    from dpviz.curator.approvals import Approvals
    from dpviz.errors import ParameterError
    from dpviz.session.callers import Caller
    from dpviz.session.ledger.owner import login

    if options.number is None:
        raise ParameterError.of("no number", "a decision is about one request", "name the number that is listed")
    session = declaration.session(existing=True)
    known = declaration.caller_of_uid(os.getuid()) if os.name == "posix" else None
    name = login() if known is None else known.name
    caller = Caller(name, "", frozenset({"approve"}), f"the command line of {login()}")
    approvals = Approvals(session)
    instead = None if options.epsilon is None else approvals.at_epsilon(options.number, options.epsilon)
    found = approvals.decide(options.number, caller, options.verdict, options.reason, instead)
    words = {"approve": "approved", "refuse": "refused"}.get(found.state, f"approved at ε {options.epsilon}")
    return _told(found), [f"request {found.number} of {found.person} is {words}"]


def _request(one: DecisionRequest) -> list[str]:
    """A request that waits, in the words of its plan."""
    plan = [f"  {line}" for line in one.body.get("plan", ())]
    return [f"request {one.number} of {one.by}, {one.at}: {one.body.get('text', '')}", *plan, ""]


def _told(one: DecisionRequest) -> dict[str, Any]:
    """A request, for --json."""
    return {"number": one.number, "by": one.by, "at": one.at, "state": one.state, "body": dict(one.body)}


def _import(options: argparse.Namespace) -> Said:
    from dpviz.curator.importing import declaration_from

    without = [name.strip() for name in options.without.split(",") if name.strip()]
    made = declaration_from(options.file, table=options.table, without=without, data=options.data)
    return {"declaration": made.toml, "notes": made.notes}, made.toml.splitlines()


def _table(rows: Sequence[dict[str, str]]) -> list[str]:
    """Rows under their names, in columns; a column in which nothing stands is left out."""
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    cells = [names, *([row[name] for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
