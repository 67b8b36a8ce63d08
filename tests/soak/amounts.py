"""How much of a long attack to run, and where to write what came of it."""

from __future__ import annotations

import os
from pathlib import Path

WHOLE = "DPVIZ_SOAK"
"""The environment variable that `make soak` sets: the file to add results to."""

PART = 20
"""`make test` runs one in so many rounds."""


def rounds(whole: int) -> int:
    """How many of `whole` rounds to run here.

    >>> rounds(2000) in (100, 2000)
    True
    """
    return whole if WHOLE in os.environ else -(-whole // PART)


def record(attack: str, outcome: str) -> None:
    """Add one line to the table of `make soak`; elsewhere nothing. Both texts are public."""
    if WHOLE in os.environ:
        with Path(os.environ[WHOLE]).open("a") as table:
            table.write(f"| {attack} | {outcome} |\n")
