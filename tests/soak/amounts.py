"""How much of a long attack to run, and where to write what came of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

WHOLE = "DPVIZ_SOAK"
"""The environment variable that `make soak` sets: the file to add results to."""

IMPORTED = re.compile(r"^from tests\.soak\.amounts import .*\bpart\b", re.MULTILINE)

PART = 20
"""`make test` runs one in so many rounds."""


def rounds(whole: int) -> int:
    """How many of `whole` rounds to run here.

    >>> rounds(2000) in (100, 2000)
    True
    """
    return whole if WHOLE in os.environ else -(-whole // PART)


def part(whole: int, here: int) -> int:
    """How many of `whole` cases to try in a search beside other tests: `here` of them in `make test`, so that each kind
    comes at least once, and all in `make soak`, which runs every file that asks for a part.

    >>> part(600, 150) in (150, 600)
    True
    """
    return whole if WHOLE in os.environ else here


def in_part() -> list[str]:
    """The files of tests, outside of this folder, that ask for a part."""
    here = Path(__file__).resolve()
    asking = [path for path in here.parents[1].rglob("test_*.py") if IMPORTED.search(path.read_text())]
    return sorted(str(path.relative_to(here.parents[2])) for path in asking if path.parent != here.parent)


def record(attack: str, outcome: str) -> None:
    """Add one line to the table of `make soak`; elsewhere nothing. Both texts are public."""
    if WHOLE in os.environ:
        with Path(os.environ[WHOLE]).open("a") as table:
            table.write(f"| {attack} | {outcome} |\n")
