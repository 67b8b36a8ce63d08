"""Hypothetical outcomes for sheets that compare: a few public or made-up counts, and what a bin of each would read.

A page plays them. The reading of a bin at each of DRAWS equally likely levels comes from the law of the mechanism at
that count; which level each bin has in each draw is fixed and public, the same for every mechanism and every epsilon,
so that the same draws move when epsilon does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

from dpviz.boundary import as_given, protect_module
from dpviz.errors import Forbidden, ParameterError
from dpviz.exact import counted
from dpviz.model.error import ErrorModel
from dpviz.model.public import BADGE, PublicTable, PublicTop

DRAWS: Final = 50
MOST: Final = 5
"""Up to so many bins are drawn."""

LEVELS: Final = tuple(Fraction(2 * place + 1, 2 * DRAWS) for place in range(DRAWS))

ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

LUCK: Final = (
    "4iKfAwC2GajohHsqEv3yn6Dxb0ld5ILm1zJ7Ft8NckeupBMgr9",
    "N96oB8MKpsckmAGtu7z1IiDf0l4vgFa5qrejhwC2nd3EHxJyLb",
    "Fs9qNiAvKtpm20gEw7JBh8dMlbkcGjDrHe6uC1ayLz45Ifoxn3",
    "uDh8zgAIEae3rtcy0CkjMi57GpxFJsKv4HwdBfn26Lq9bol1Nm",
    "jMDH7fAhg2p3arLqEkmd1I5K8yuGtCFvs64bwznxcJ0Bo9ieNl",
)
"""For each bin a letter a draw, which says at which of the levels it is: every level once."""

MADE_UP: Final = (Fraction(9, 10), Fraction(3, 5), Fraction(14, 25), Fraction(1, 5), Fraction(1, 10))
"""Made-up counts are these parts of a round number: far apart, near each other, and small."""

LARGEST: Final = 10**12
"""No count that is drawn is larger."""

Reads = Sequence[int | None]
"""The reading of a bin at each level, never falling; None where it is not shown, which comes first."""


@dataclass(frozen=True)
class Truth:
    """The counts that are drawn, the largest first, and what they are called.

    names  of the bins; empty texts where counts are made up
    """

    counts: tuple[int, ...]
    names: tuple[str, ...]
    badge: str

    @classmethod
    def made_up(cls, counts: Sequence[int]) -> Truth:
        kept = tuple(sorted(counts, reverse=True))
        return cls(kept, ("",) * len(kept), BADGE.replace("public", "made-up"))

    @classmethod
    def below(cls, top: int, bins: int | None, n: int | None) -> Truth | None:
        """Made-up counts up to about so many, of which a public n allows all at once; None where it allows no two."""
        if n is not None:
            top = min(top, int(n / sum(MADE_UP)))
        counts = sorted({max(1, int(top * part)) for part in MADE_UP}, reverse=True)[:bins]
        return cls.made_up(counts) if len(counts) > 1 and (n is None or sum(counts) <= n) else None

    @classmethod
    def of(cls, given: object, bins: int | None, n: int | None) -> Truth:
        """The counts that somebody declared public, or made up: a table, of which the largest counts are taken, or
        counts."""
        top = PublicTop.of(given) if isinstance(given, PublicTable) else given
        many = MOST if bins is None else min(MOST, bins)
        if isinstance(top, PublicTop):
            truth = cls(top.counts[:many], top.labels[:many], top.badge)
        elif isinstance(given, list | tuple):
            truth = cls.made_up([_count(count, place) for place, count in enumerate(given, 1)])
        else:
            error = Forbidden.of(
                as_given(given, "a "),
                "counts that are drawn are public or made up",
                "declare public data with dv.teaching(...).table(question), or give a list of whole numbers",
            )
            assert isinstance(error, Forbidden)
            raise error
        if not 2 <= len(truth.counts) <= many:
            some = "2" if many == 2 else f"2 to {many}"
            raise ParameterError.of(
                counted(len(truth.counts), "count"),
                f"the order of {some} counts above 0 is drawn" if many > 1 else "one bin has no order",
                f"give {some} counts" if many > 1 else "leave counts out",
            )
        if n is not None and sum(truth.counts) > n:
            raise ParameterError.of(
                "counts that add up to more",
                f"counts add up to the public n, {n:,}, at most",
                "give smaller counts",
            )
        return truth

    def reads(self, error: ErrorModel) -> list[str] | None:
        """The reading of each bin, as a page gets it; None where the law of one bin at its count is not known."""
        tables = [error.reads(count, LEVELS) for count in self.counts]
        return None if None in tables else written(self.counts, [table for table in tables if table is not None])


def _count(given: object, place: int) -> int:
    """A made-up count; what else was given, which may be data, is not told."""
    if type(given) is not int or not 1 <= given <= LARGEST:
        raise ParameterError.of(
            f"another value at place {place}",
            f"a made-up count is a whole number from 1 to {LARGEST:,}",
            "give a list of such numbers",
        )
    return given


def written(counts: Sequence[int], tables: Sequence[Reads]) -> list[str]:
    """A text for each bin: at how many levels it is not shown, the least that is shown, and the steps from one level to
    the next, a letter each, or in brackets where they are long.

    Most mechanisms add the same noise to every count. A text without steps says so: the bin reads what the last one
    that has steps reads, moved by the difference of their counts, but never less than the least.

    >>> written([9, 4], [[7, 8, 8, 90], [None, 3, 3, 85]])
    ['0 7 10(82)', '1 3']
    """
    found: list[str] = []
    errors: list[int] = []  # of the last bin that has steps
    for count, table in zip(counts, tables, strict=True):
        shown = [value for value in table if value is not None]
        head = " ".join(str(part) for part in (len(table) - len(shown), *shown[:1]))
        moved = [max(shown[0], count + error) for error in errors[max(0, len(errors) - len(shown)) :]] if shown else []
        if moved == shown:
            found.append(head)
            continue
        steps = (after - before for before, after in pairwise(shown))
        found.append(f"{head} {''.join(ALPHABET[step] if step < len(ALPHABET) else f'({step})' for step in steps)}")
        errors = [value - count for value in shown]
    return found


protect_module(vars())
