"""Tables as CSV that a spreadsheet shows and does not run: whatever a label of a bin says, it is text there, too.

A cell of text that begins with `=`, `+`, `-`, `@`, a tab or a line break, and is no number, is a formula to most
spreadsheets. It is written with an apostrophe before it, and so is one that begins with apostrophes and goes on like
that, so that nothing is lost: `plain` takes the one apostrophe away again. Numbers are written as they are.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpviz.exact import text

if TYPE_CHECKING:
    import pandas as pd

_RUN: Final = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?(/\d+)?\Z", re.ASCII)


def guarded(cell: str) -> str:
    """A cell of text as it is written.

    >>> guarded("=1+1"), guarded("-5"), guarded("-5 to 3"), guarded("a-b")
    ("'=1+1", '-5', "'-5 to 3", 'a-b')
    """
    return f"'{cell}" if _RUN.match(cell) and not _NUMBER.match(cell) else cell


def plain(cell: str) -> str:
    """The text of a cell that was written by `guarded`.

    >>> plain("'=1+1"), plain("''=1"), plain("'tis")
    ('=1+1', "'=1", "'tis")
    """
    return cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell


def csv_text(frame: pd.DataFrame) -> str:
    """The frame as CSV, without its index."""
    written = frame.rename(columns=_cell)
    for place, name in enumerate(written.columns):
        if frame.iloc[:, place].dtype.kind == "O":
            written[name] = [_cell(value) for value in frame.iloc[:, place]]
    return written.to_csv(index=False)


def comment(words: str) -> str:
    """A comment line before a table: one line, whatever the words hold."""
    return f"# {' '.join(words.splitlines())}\n"


def _cell(value: Any) -> Any:
    """A cell as it is written: of a fraction the decimal, where it has a finite one."""
    if isinstance(value, Fraction):
        return text(value)
    return guarded(value) if isinstance(value, str) else value
