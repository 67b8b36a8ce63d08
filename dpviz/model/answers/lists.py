"""How sure a list or a set of items is: how far down it reaches, and what its end says and does not say.

All of it follows from the stored law, for whatever counts there are; nothing here knows any.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, Literal

from dpviz.boundary import protect_module
from dpviz.model.answers.reading import Reading
from dpviz.model.error import ErrorValue
from dpviz.model.measures import next_count, ordinal
from dpviz.model.words import often, shown

End = Literal["filled", "ended", "set"]
"""How an answer ended: all places are filled, the bottom symbol came, or it is a set and has no end."""

ONE: Final = "below"
ALL: Final = "below_all"
"""Columns of a frame: how far below the true count of the last rank an item may lie, in this place alone, or in any."""

WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number(many: int) -> str:
    """A small number in a word: `ten`, `50`."""
    return WORDS[many] if many < len(WORDS) else f"{many:,}"


def filled(places: int) -> str:
    """`All ten places were filled`."""
    return "The one place was filled" if places == 1 else f"All {number(places)} places were filled"


def sureness(reading: Reading, beta: Fraction, end: End) -> tuple[str, ...]:
    """Describe how far down the list reaches, and the meaning of its end."""
    if _both(reading, beta)[1] is None:
        return ()
    return _reach(reading, beta), _end(reading, beta, end)


def below(reading: Reading, beta: Fraction, rows: int) -> dict[str, Sequence[Any]]:
    """The columns of a frame with so many rows: whole numbers, the same in every row for all at once."""
    places = reading.max_items or 0
    every = reading.error.rank(places, beta)
    if every is None:
        return {}
    alone = [reading.error.in_place(place, places, beta) for place in range(1, rows + 1)]
    columns = {ONE: [int(one.value) for one in alone if one is not None], ALL: [int(every.value)] * rows}
    return {name: column for name, column in columns.items() if len(column) == rows}


def _both(reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
    """Bound how far below the true count of the last rank the item in any one place may lie, and that in all."""
    places = reading.max_items or 0
    if not places:
        return None, None
    return reading.error.in_place(places, places, beta), reading.error.rank(places, beta)


def _reach(reading: Reading, beta: Fraction) -> str:
    one, every = _both(reading, beta)
    assert every is not None
    places, times = reading.max_items or 0, often(beta).replace(" in ", " times in ")
    among = f" {reading.error.among}" if reading.error.among else ""
    if every.value == 0 and among:
        return f"Only the {places:,} largest counts{among} compete, and they are all named, or ⊥ comes."
    if every.value == 0:
        if places == 1:
            return "Only the largest count competes, so the item that is named is the largest."
        return f"Only the {places:,} largest counts compete, so no item that is named lies below the {ordinal(places)}."
    kind = "counted number" if reading.limited.cuts else "true count"
    count = f"the {ordinal(places)} largest {kind}{among}" if places > 1 else f"the largest {kind}{among}"
    if places == 1:
        return f"At least {times} the listed item lies no more than {shown(every.value)} below {count}."
    sentence = f"At least {times} no listed item lies more than {shown(every.value)} below {count}"
    if one is not None and one.value < every.value:
        return (
            f"{sentence}; one that stands in a place picked before looking, no more than {shown(one.value)} below it."
        )
    first = reading.error.in_place(1, places, beta)
    if first is not None and first.value < every.value:
        return f"{sentence}; the one in first place, no more than {shown(first.value)} below it."
    return f"{sentence}."


def _end(reading: Reading, beta: Fraction, end: End) -> str:
    """The meaning of the end of the list. Without a bottom symbol nothing follows from its length."""
    places, missing = reading.max_items or 0, reading.error.left_out(beta)
    items = "an item" if places == 1 else f"{number(places)} items"
    if missing is None and reading.error.among:
        return f"The lists always name {items} in all: how many are of this part, their counts decide."
    if missing is None:
        return f"The list always names {items}: that all places are filled says nothing about the counts."
    if end == "filled" and reading.error.among:
        return f"Filled places say that {items} {reading.error.among} came before ⊥, these among them."
    if end == "filled":
        largest = "it is the largest" if places == 1 else f"they are the {number(places)} largest"
        return f"Filled places say that {items} came before ⊥. They do not say that {largest}."
    above = f"every item that lies {shown(missing.value)} or more above {next_count(reading.error)}"
    times = often(beta).replace(" in ", " times in ")
    if end == "set":
        return f"At least {times} {above} is named. One that is not named may still be among the largest."
    return f"⊥ does not say that nothing else is there: at least {times} it comes only after {above}."


protect_module(vars())
