"""Tables as CSV that every reader reads alike, and that a spreadsheet shows and does not run.

A cell of text is written by three rules, of which each can be taken back, so that no two texts are one cell:

1. A line break or NUL in it is written as `\\n`, `\\r` or `\\0`, so that a row is one line for every reader. A text
   that holds a backslash before one of these signs, or two of them, has its backslashes doubled.
2. A text that begins with `=`, `+`, `-`, `@` (or one of their wide forms, which some spreadsheets take for these) or a
   tab, and is no number, is a formula to most spreadsheets. It gets an apostrophe before it, and so does one that
   begins with apostrophes and goes on like that. Numbers are written as they are.
3. A text that holds a comma, a quotation mark or `#`, begins or ends with a blank, or is empty, stands in quotes.

`plain` takes the first two away again; the quotes are the reader's. `tests/model/cells.json` lists cases, which the
page's own writer (`widgets/src/answers/saving.ts`) is tested with, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpviz import files
from dpviz.exact import text

if TYPE_CHECKING:
    import pandas as pd

_RUN: Final = re.compile("'*[=+\\-@\t\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]")
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?(/\d+)?\Z", re.ASCII)
_BROKEN: Final = re.compile(r"[\r\n\0]|\\[rn0\\]")
_ESCAPED: Final = re.compile(r"\\([rn0\\])")
_QUOTED: Final = re.compile('[",#]|^[ \t\xa0\ufeff]|[ \t\xa0]$|^$')
_SIGNS: Final = {"\\": "\\\\", "\r": "\\r", "\n": "\\n", "\0": "\\0"}
_MEANT: Final = {"\\": "\\", "r": "\r", "n": "\n", "0": "\0"}


def guarded(cell: str) -> str:
    """A text as a reader of the file has it: on one line, and no formula.

    >>> guarded("=1+1"), guarded("-5"), guarded("-5 to 3"), guarded("a-b")
    ("'=1+1", '-5', "'-5 to 3", 'a-b')
    >>> print(guarded("two\\nlines"))
    two\\nlines
    """
    if _BROKEN.search(cell):
        cell = "".join(_SIGNS.get(sign, sign) for sign in cell)
    return f"'{cell}" if _RUN.match(cell) and not _NUMBER.match(cell) else cell


def plain(cell: str) -> str:
    """The text of which `guarded` made a cell.

    >>> plain("'=1+1"), plain("''=1"), plain("'tis"), plain("two\\\\nlines")
    ('=1+1', "'=1", "'tis", 'two\\nlines')
    """
    cell = cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell
    return _ESCAPED.sub(lambda sign: _MEANT[sign[1]], cell)


def written(cell: str) -> str:
    """A text as it stands in the file: guarded, and in quotes where it must be.

    >>> print(written("C#"), written("a, b"), written("NA"), written("=1,2"))
    "C#" "a, b" NA "'=1,2"
    """
    safe = guarded(cell)
    return '"' + safe.replace('"', '""') + '"' if _QUOTED.search(safe) else safe


def csv_text(frame: pd.DataFrame) -> str:
    """The frame as CSV, without its index: one line for each row."""
    heads = ",".join(written(str(name)) for name in frame.columns)
    columns = [_column(frame.iloc[:, place]) for place in range(len(frame.columns))]
    return "\n".join([heads, *map(",".join, zip(*columns, strict=True))]) + "\n"


def table(about: Iterable[str], frame: Callable[[], pd.DataFrame], path: object = None) -> str | None:
    """Write a frame as CSV below comment lines, one for each sentence of `about`; without a path return the text.

    The name of the file is checked before the frame is made.

    Raises ParameterError where the name of the file promises another format, or the file cannot be written.
    """
    place = None if path is None else files.of_format(path, "a table", "visits.csv", files.CSV)
    content = "".join(map(comment, about)) + csv_text(frame())
    if place is None:
        return content
    files.write(place, content.encode("utf-8", "backslashreplace"), "a CSV file", "visits.csv")
    return None


def comment(words: str) -> str:
    """A comment line before a table: one line, whatever the words hold."""
    return f"# {' '.join(words.replace(chr(0), ' ').splitlines())}\n"


def _column(cells: pd.Series[Any]) -> Iterable[str]:
    if cells.dtype.kind in "iu":
        return map(str, cells.tolist())
    return map(_cell, cells.tolist())


def _cell(value: Any) -> str:
    """A cell as it is written: a fraction as a decimal, where it has a finite one; what is missing as nothing."""
    if isinstance(value, str):
        return written(value)
    if isinstance(value, Fraction):
        return text(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else written(str(value))
