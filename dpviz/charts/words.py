"""Numbers and sentences as they stand in a chart or a table, and how much room they take."""

from __future__ import annotations

import textwrap

from dpviz.charts.theme import FLOOR
from dpviz.model.error import SIGNS, ErrorValue
from dpviz.model.words import MINUS as MINUS
from dpviz.model.words import capital as capital
from dpviz.model.words import escape as escape
from dpviz.model.words import often as often
from dpviz.model.words import reach as reach
from dpviz.model.words import shown as shown
from dpviz.model.words import sure as sure


def spread(bar: ErrorValue) -> str:
    """`±30`; `≤ 30` for a proved bound, `±≈30` for one that was calculated."""
    return f"{SIGNS[bar.how]}{reach(bar.value)}"


def known(bar: ErrorValue) -> str:
    """How an error is known, in a word or two; a simulation's rule names its runs."""
    if bar.off is not None:
        return f"calculated to within {reach(bar.off)}"
    return {"exact": "exact", "bound": "proved bound", "simulated": f"simulated, {bar.rule}"}[bar.how]


def measured(words: str, size: float = FLOOR) -> float:
    """About how many pixels a line of text takes: on the wide side, for no font is at hand."""
    return (
        sum(0.95 if character in "mwMW@…—" else 0.3 if character in "ijl.,:;'| " else 0.58 for character in words)
        * size
    )


def shortened(words: str, room: float, size: float = FLOOR) -> str:
    """As much of a name as there is room for."""
    if measured(words, size) <= room:
        return words
    kept = next((many for many in range(len(words), 0, -1) if measured(words[:many] + "…", size) <= room), 1)
    return words[:kept] + "…"


def wrapped(words: str, width: float, size: float, most: int = 4) -> list[str]:
    """The words in lines that fit into `width` pixels, at most so many; a longer text ends in an ellipsis."""
    kept = words.replace(" = ", "\u00a0=\u00a0")
    lines = textwrap.wrap(
        kept, max(20, int(width / (0.52 * size))), max_lines=most, placeholder=" …", break_on_hyphens=False
    )
    return lines or [""]
