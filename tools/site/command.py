"""The page of the command line, from its own help."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dpviz import cli

HEAD = """# Command line

`dpviz ledger` looks at a ledger, proves that it holds, and copies it; it reads no data and needs no session. `dpviz
curator` keeps a data set for analysts who cannot read it. Exit codes: 0 done; 1 refused; 2 a command that cannot be
read; 3 the ledger is damaged.
"""


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in dict.fromkeys(action.choices.values()):
                yield from parsers(inner)


def page() -> str:
    """Write the page."""
    parts = [f"## `{one.prog}`\n\n```text\n{one.format_help().rstrip()}\n```\n" for one in parsers(cli._parser())]
    return "\n".join([HEAD, *parts])
