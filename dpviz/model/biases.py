"""Mean errors of the estimators of an answer, for counts that somebody makes up. Free, and blind to data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, overload

from dpviz.boundary import Hidden, as_given, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, ceil_to, place
from dpviz.model.error import DIGITS, How
from dpviz.model.words import escape, few, shown

if TYPE_CHECKING:
    import pandas as pd

LARGEST: Final = 10**9
"""No made-up count is larger."""

FINEST: Final = Fraction(1, 10**6)
"""A mean is told to so much at the finest."""

KNOWN: Final = {"exact": "exact", "numerical": "calculated", "bound": "proved bound", "simulated": "simulated"}


@dataclass(frozen=True)
class Mean:
    """A mean of an error.

    value  in counts; below 0 where what is read lies too low
    off    how far that may be from the true mean: certainly, or of a simulated one 95 times in 100
    how, rule  as of an error: exact, calculated or simulated, and by which rule
    """

    value: Fraction
    off: Fraction
    how: How
    rule: str

    @classmethod
    def within(cls, ends: Enclosure, rule: str) -> Mean:
        """In a few digits, between two ends."""
        low, high = ends
        value = _rounded((low + high) / 2)
        off = max(abs(value - low), abs(high - value))
        if not off:
            return cls(value, off, "exact", rule)
        return cls(value, _up(off), "numerical", rule)

    @classmethod
    def simulated(cls, value: float, within: float, rule: str) -> Mean:
        rounded = _rounded(Fraction(value))
        return cls(rounded, _up(Fraction(within) + abs(Fraction(value) - rounded)), "simulated", rule)

    @property
    def text(self) -> str:
        """`−380 ± 32`."""
        return shown(self.value) if not self.off else f"{shown(self.value)} ± {few(self.off)}"


def root_of(ends: Enclosure) -> Enclosure:
    """The square root, enclosed."""
    scale = 10**24
    low, high = (math.isqrt(math.floor(end * scale)) for end in ends)
    return Fraction(low, 10**12), Fraction(high + 1, 10**12)


def _rounded(number: Fraction) -> Fraction:
    """To a few significant digits."""
    unit = max(FINEST, place(number, DIGITS)) if number else FINEST
    return round(number / unit) * unit


def _up(off: Fraction) -> Fraction:
    return ceil_to(off, max(Fraction(1, 10**12), place(off, 2))) if off else off


@dataclass(frozen=True)
class ReaderBias:
    """The mean error of one estimator in the cells that have one true count.

    reader  its name
    count   the made-up count
    cells   how many cells have it
    bias    the mean of what is read, less the count; over these cells
    spread  the root of the mean square of that, bias and noise together
    """

    reader: str
    count: int
    cells: int
    bias: Mean
    spread: Mean


@dataclass(frozen=True, repr=False)
class Biases(Sequence[ReaderBias]):
    """The mean value of every estimator for made-up counts: a row for each reader and each count.

    title  what the counts are of
    """

    title: str
    rows: tuple[ReaderBias, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> ReaderBias: ...

    @overload
    def __getitem__(self, place: slice) -> Biases: ...

    def __getitem__(self, place: int | slice) -> ReaderBias | Biases:
        return Biases(self.title, self.rows[place]) if isinstance(place, slice) else self.rows[place]

    def __iter__(self) -> Iterator[ReaderBias]:
        return iter(self.rows)

    def of(self, reader: str, count: int) -> ReaderBias:
        """The row of one reader and one of the counts."""
        for row in self.rows:
            if (row.reader, row.count) == (reader, count):
                return row
        known = dict.fromkeys(row.reader for row in self.rows)
        raise ParameterError.of(
            as_given(count), f"there is a row for each reader, {', '.join(known)}, and each made-up count", "name these"
        )

    def to_frame(self) -> pd.DataFrame:
        """One row for each reader and count: how many cells, the bias and the spread, and how far these may be off."""
        import pandas as pd

        columns: list[dict[str, Any]] = []
        for row in self.rows:
            found: dict[str, Any] = {"reader": row.reader, "count": row.count, "cells": row.cells}
            for name, mean in (("bias", row.bias), ("spread", row.spread)):
                found |= {name: mean.value, f"{name}_off": mean.off, f"{name}_how": mean.how}
            columns.append(found)
        return pd.DataFrame(columns)

    @property
    def notes(self) -> list[str]:
        """By which rules, each once."""
        rules = dict.fromkeys(f"{KNOWN[mean.how]}: {mean.rule}" for row in self.rows for mean in (row.bias, row.spread))
        return [f"{rule[:1].upper()}{rule[1:]}." for rule in rules]

    @property
    def _cells(self) -> list[list[str]]:
        return [
            [row.reader, f"{row.count:,}", f"{row.cells:,}"]
            + [f"{mean.text} ({KNOWN[mean.how]})" for mean in (row.bias, row.spread)]
            for row in self.rows
        ]

    def _repr_html_(self) -> str:
        """A table for a notebook, escaped."""
        heads = "".join(f"<th scope='col'>{name}</th>" for name in HEADS)
        lines = "".join(
            f"<tr><th scope='row'>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
            for first, *rest in self._cells
        )
        table = f"<table><caption>{escape(self.title)}</caption><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody>"
        return f"<div class='mathjax_ignore tex2jax_ignore'>{table}</table><p>{escape(' '.join(self.notes))}</p></div>"

    def __repr__(self) -> str:
        table = [list(HEADS), *self._cells]
        wide = [max(len(line[at]) for line in table) for at in range(len(HEADS))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip() for line in table
        ]
        return "\n".join([self.title, *lines, *self.notes])


HEADS: Final = ("reader", "true count", "cells", "bias", "spread")


def made_up(counts: object, cells: int) -> list[int]:
    """Made-up counts of so many cells: one number for all of them, or a list of the first ones, where others are 0.

    Other arguments may be data and are not shown.
    """
    listed = isinstance(counts, list | tuple) and not isinstance(counts, Hidden)
    given: Sequence[object] = counts if isinstance(counts, list | tuple) and listed else [counts] * cells
    if not 0 < len(given) <= cells:
        raise ParameterError.of(
            f"{len(given):,} counts", f"a list of made-up counts has 1 to {cells:,} of them here", "leave some out"
        )
    for at, count in enumerate(given, 1):
        if type(count) is not int or not 0 <= count <= LARGEST:
            raise ParameterError.of(
                f"another value at place {at:,}" if listed else as_given(count, "a "),
                f"made-up counts are whole numbers from 0 to {LARGEST:,}",
                "give one number for all cells, or a list of the first ones",
            )
    return [*(count for count in given if type(count) is int), *[0] * (cells - len(given))]


protect_module(vars())
