"""Columns of decimals for the tests of every engine: values at the ends of a type and beside every limit; questions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import pandas as pd

from dpviz.errors import DomainError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import contract, sums

TYPES = [(4, 2), (9, 9), (18, 0), (20, 17), (38, 0), (38, 10), (38, 30)]
"""Digits, and how many of them are after the point."""
EDGES = ["-1/4", "0", "1/3", "3/10", "3/2", "2", "41"]
UNITS = [Unit("row"), Unit("user", max_bins=2, max_per_bin=2), Unit("user", max_bins=3, max_per_bin=2, max_records=3)]
STEPS = ["1/100", "1/3", "1/2"]
EVERY = Context(prec=100)


def values(digits: int, places: int) -> list[Decimal | None]:
    """The ends of the type, and what lies at, below and above each edge and each middle of two steps."""
    unit, most = Fraction(1, 10**places), Fraction(10**digits - 1, 10**places)
    near = [Fraction(edge) for edge in EDGES]
    near += [Fraction(step) * Fraction(2 * at + 1, 2) for step in STEPS for at in (-1, 0, 1, 28)]
    near += [Fraction("0.285"), Fraction(2**53 + 1), Fraction(-1)]
    found = {-most, most, Fraction(0), most - unit}
    for one in near:
        for moved in (-1, 0, 1):
            held = (one // unit + moved) * unit
            if abs(held) <= most:
                found.add(held)
    return [*(EVERY.divide(Decimal(one.numerator), Decimal(one.denominator)) for one in sorted(found)), None]


def frame(digits: int, places: int) -> pd.DataFrame:
    """Each value once, its user and a bin beside it."""
    held = values(digits, places)
    return pd.DataFrame(
        {
            "x": pd.Series(held, dtype=object),
            "k": pd.Series(["abc"[at % 3] for at in range(len(held))], dtype="str"),
            "user": pd.Series([f"u{at % 7}" for at in range(len(held))], dtype="str"),
        }
    )


def written(value: Decimal | None, places: int) -> str | None:
    """A value with all its places."""
    return None if value is None else f"{value:.{places}f}"


def questions() -> list[Question]:
    """Bins of each kind, keys, filters."""
    flags = {"underflow": True, "overflow": True, "missing": True}
    return [
        Question.of(Domain.intervals(sorted(EDGES, key=Fraction), column="x", **flags)),
        Question.of(Domain.integers(-1, 2, column="x", **flags)),
        Question.of(Domain.integers(0, 41, column="x"), {"x": Between("-1/4", "1/3")}),
        Question.of(Domain.categories(["-0.25", "0", "1/3", "1.5", "0.285"], column="x", other=True, missing=True)),
        Question.of(Domain.categories(["a", "b"], column="k", other=True), {"x": [0, "0.3", 2, "1/3"]}),
        Question.of(Domain.integers(0, 10**25, column="x", overflow=True) * Domain.categories(["a", "b"], column="k")),
    ]


def decimals_are_those_of_the_reference(
    engine: Callable[[pd.DataFrame, int, int], Source], few: bool = False, only: tuple[int, int] | None = None
) -> int:
    """All questions of all types, of every second one or of one, and sums. How many were answered."""
    answered = 0
    types = TYPES[1::2] if few else TYPES
    for digits, places in types if only is None else [only]:
        data = frame(digits, places)
        source = engine(data, digits, places)
        opened = itertools.repeat(source).__next__
        kinds = {column.name: column.kind for column in source.columns}
        assert kinds == {"x": "number", "k": "text", "user": "text"}
        for at, question in enumerate(questions()):
            unit = UNITS[at % len(UNITS)]
            contract.sparse_as_the_reference(lambda *_, again=opened: again(), data, question, unit)
            if not few and question.bins < 1000:
                contract.counts_as_the_reference(lambda *_, again=opened: again(), data, question, unit)
            answered += 1
        keys = Question.of(Domain.keys(column="x"))
        contract.sparse_as_the_reference(lambda *_, again=opened: again(), data, keys, UNITS[1])
        users = Question.of(Domain.categories(["a", "b", "c"], column="k"))
        contract.counts_as_the_reference(lambda *_, again=opened: again(), data, users, Unit("x", max_bins=1))
        largest = contract.largest(source, keys, UNITS[0], 3)
        assert largest[1] == [1, 1, 1] and largest[2] == 1
        answered += 3
        for step, unit in zip(STEPS, UNITS, strict=True):
            question = Question.sum("x", by="k", low=-1, high=5, step=step)
            try:
                source.check(question, unit, StatisticKind.SPARSE)
            except DomainError as refused:
                assert "38 digits" in str(refused) and places == 30, refused
                continue
            sums.sums_as_the_reference(source, data, question, unit)
            answered += 1
    return answered
