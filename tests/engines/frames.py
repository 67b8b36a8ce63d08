"""Frames, questions and units for the tests of engines, made by hypothesis around the places where engines go wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from dpviz.model.domain import CategoryDomain, Domain
from dpviz.model.partition import Partition
from dpviz.model.question import Between, Question
from dpviz.model.statistic import Column
from dpviz.privacy.unit import Unit

WHOLE = [0, 1, 2, 3, 5, -1, -2, 40, 41, 127, 2**24 + 1, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
REAL = [
    0.0, -0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, math.nextafter(0.3, 0), 0.7, 1.0, 2.0, 2.5, 3.0, 41.0, -0.5, 1e15 + 0.5,
    2.0**53, 2.0**53 + 2, 1e22, 1e23, 5e-324, 1e308, math.inf, -math.inf, math.nan,
]  # fmt: skip
TEXT = ["good", "poor", "1", "1.0", "01", " 2", "1/3", "0.3", "3e0", "", "nan", "None", "True", "ä", "x\ny", "\ud800"]
EDGES = [Fraction(text) for text in ("-1", "0", "1/10", "3/10", "1/3", "1", "2", "5/2", "3", "41", "9007199254740993")]
ENDS = [-2, 0, 1, 3, 40, 2**24, 2**53 - 1, 2**53, 2**53 + 2, 2**63 - 2, -(2**63), 10**22, 10**23 - 1, 2**64 - 3]

OBJECTS: list[Any] = [
    None, pd.NA, pd.NaT, math.nan, True, False, np.True_, 1, 2, -1, 10**23, 10**30, 1.0, 0.3, np.float32(0.3), math.inf,
    np.int8(3), np.uint64(2**63), Decimal("0.3"), Decimal("1E+3"), Decimal("NaN"), Decimal("-Infinity"), *TEXT,
]  # fmt: skip


def _held(values: list[Any], dtype: str) -> st.SearchStrategy[pd.Series]:
    return st.lists(st.sampled_from(values), max_size=12).map(lambda items: pd.Series(items, dtype=dtype))


def _within(dtype: str) -> list[int]:
    limits = np.iinfo(dtype.lower())
    return [value for value in (*WHOLE, 2**64 - 1) if limits.min <= value <= limits.max]


with np.errstate(over="ignore"):
    SINGLE = [np.float32(value) for value in REAL]

NUMBERS: dict[str, st.SearchStrategy[pd.Series]] = {
    "int64": _held(_within("int64"), "int64"),
    "int8": _held(_within("int8"), "int8"),
    "uint64": _held(_within("uint64"), "uint64"),
    "float64": _held(REAL, "float64"),
    "float32": _held(SINGLE, "float32"),
    "float16": _held([0.0, 0.1, 0.3, 1.0, 2.5, 41.0, 2048.0, math.inf, math.nan], "float16"),
    "Int64": _held([*_within("int64"), None], "Int64"),
    "UInt64": _held([*_within("uint64"), None], "UInt64"),
    "Float64": _held([value for value in REAL if value == value] + [None], "Float64"),
    "sparse": _held(REAL, "Sparse[float64]"),
}
TEXTS: dict[str, st.SearchStrategy[pd.Series]] = {
    "bool": _held([True, False], "bool"),
    "boolean": _held([True, False, None], "boolean"),
    "str": _held([*TEXT[:-1], None], "str"),
    "string": _held([*TEXT[:-1], None], "string"),
    "object": _held(OBJECTS, "object"),
    "category": st.lists(st.sampled_from([*TEXT[:5], None]), max_size=12).map(
        lambda items: pd.Series(pd.Categorical(items, categories=["never there", *TEXT[:5]]))
    ),
    "category of numbers": _held([0, 1, 3, None], "category"),
}


@st.composite
def frames(draw: st.DrawFn) -> tuple[pd.DataFrame, dict[str, str]]:
    """A frame with columns `a`, `b` and `user`, and the schema to declare (an object column may hold numbers)."""
    columns, schema = {}, {}
    for name in ("a", "b", "user"):
        number = draw(st.booleans())
        columns[name] = draw(draw(st.sampled_from(list((NUMBERS if number else TEXTS).values()))))
        if not number and draw(st.booleans()):
            schema[name] = "number"
    length = min(len(column) for column in columns.values())
    frame = pd.DataFrame({name: column.iloc[:length] for name, column in columns.items()})
    frame.index = pd.Index(draw(st.lists(st.integers(0, 2), min_size=length, max_size=length)))  # repeats itself
    return frame, schema


PLAIN = ["int64", "int8", "uint64", "float64", "float32", "Int64", "UInt64", "bool", "boolean", "str"]
"""Columns of which an SQL engine makes the same values."""


@st.composite
def plain_frames(draw: st.DrawFn, kinds: Sequence[str] = PLAIN) -> tuple[pd.DataFrame, dict[str, str]]:
    """A frame that an SQL engine can hold too, and the schema to declare (whole numbers may be texts)."""
    columns, schema = {}, {}
    for name in ("a", "b", "user"):
        kind = draw(st.sampled_from(kinds))
        columns[name] = draw((NUMBERS | TEXTS)[kind])
        if "int" in kind.lower() and draw(st.integers(0, 3)) == 0:
            schema[name] = "text"
    length = min(len(column) for column in columns.values())
    return pd.DataFrame({name: column.iloc[:length] for name, column in columns.items()}), schema


FLAGS = {"flag": ["True", "False"], "number of a flag": [0, 1]}
"""The labels of a column of True and False, which its type holds: all others are refused."""


def kinds_in(frame: pd.DataFrame, columns: Sequence[Column]) -> dict[str, str]:
    """The kinds of a source's columns, and which of them hold True and False or whole numbers alone by their types."""
    flags = {name for name, dtype in frame.dtypes.items() if dtype.name in ("bool", "boolean")}
    whole = {name: dtype.name.lower() for name, dtype in frame.dtypes.items() if "int" in dtype.name.lower()}
    named = {"text": "flag", "number": "number of a flag"}
    return {
        column.name: named[column.kind]
        if column.name in flags
        else f"number {whole[column.name]}"
        if column.kind == "number" and column.name in whole
        else column.kind
        for column in columns
    }


@st.composite
def domains(draw: st.DrawFn, column: str, kind: str) -> Domain:
    """A domain that may be asked of a column of this kind."""
    flag = st.booleans()
    if kind == "flag" or (kind in FLAGS and draw(flag)):
        labels = draw(st.lists(st.sampled_from(FLAGS[kind]), min_size=1, unique=True))
        return Domain.categories(labels, column=column, other=draw(flag), missing=draw(flag))
    if kind == "number of a flag":
        return draw(domains(column, "number").filter(lambda domain: not isinstance(domain, CategoryDomain)))
    if kind.startswith("number"):
        shape = draw(st.sampled_from(["integers", "intervals", "categories"]))
        if shape == "categories":
            known = [*WHOLE, 0.3, 0.1, "1/3", 2.5, 1e23]
            if kind != "number":  # all other labels are refused
                ends = np.iinfo(kind.removeprefix("number "))
                known = [number for number in WHOLE if ends.min <= number <= ends.max]
            numbers = draw(st.lists(st.sampled_from(known), min_size=1, unique=True))
            labels = [number if isinstance(number, str) else Fraction(repr(number)) for number in numbers]
            return Domain.categories(labels, column=column, other=draw(flag), missing=draw(flag))
        flags = {"underflow": draw(flag), "overflow": draw(flag), "missing": draw(flag)}
        if shape == "integers":
            low = draw(st.sampled_from(ENDS))
            return Domain.integers(low, low + draw(st.integers(0, 5)), column=column, **flags)
        edges = sorted(draw(st.lists(st.sampled_from(EDGES), min_size=2, unique=True)))
        return Domain.intervals(edges, column=column, **flags)
    labels = draw(st.lists(st.sampled_from(TEXT[:-1]), min_size=1, max_size=6, unique=True))
    return Domain.categories(labels, column=column, other=draw(flag), missing=draw(flag))


FAR = [0, -(2**63), 2**53, 2**62, 2**63, 2**64 - 2, -(10**22), 10**30]


@st.composite
def wide_domains(draw: st.DrawFn, column: str, kind: str) -> Domain:
    """Domains that nobody lists: integers of any size, for a column of numbers, or a small one to multiply by."""
    if not kind.startswith("number") or draw(st.integers(0, 3)) == 0:
        return draw(domains(column, kind))
    low, high = draw(st.sampled_from([*ENDS, *FAR])), draw(st.sampled_from([*ENDS, *FAR]))
    flag = st.booleans()
    flags = {"underflow": draw(flag), "overflow": draw(flag), "missing": draw(flag)}
    return Domain.integers(min(low, high), max(low, high), column=column, **flags)


@st.composite
def wide_questions(draw: st.DrawFn, kinds: dict[str, str]) -> Question:
    """Questions over unknown keys, over huge domains and over their products, with the filters of `questions`."""
    if draw(st.booleans()):
        domain: Domain = Domain.keys(column=draw(st.sampled_from(["a", "b"])))
    else:
        domain = draw(wide_domains("a", kinds["a"]))
        domain = domain * draw(wide_domains("b", kinds["b"])) if draw(st.booleans()) else domain
        domain = domain * draw(wide_domains("user", kinds["user"])) if draw(st.integers(0, 3)) == 0 else domain
    return draw(of_a_part(Question.of(domain, draw(questions(kinds)).where), kinds))


@st.composite
def questions(draw: st.DrawFn, kinds: dict[str, str]) -> Question:
    first = draw(domains("a", kinds["a"]))
    domain = first * draw(domains("b", kinds["b"])) if draw(st.booleans()) else first
    domain = domain * draw(domains("user", kinds["user"])) if draw(st.integers(0, 3)) == 0 else domain
    where: dict[str, Any] = {}
    for name in draw(st.sets(st.sampled_from(sorted(kinds)), max_size=2)):
        if kinds[name].startswith("number") and draw(st.booleans()):
            low, high = sorted(draw(st.lists(st.sampled_from(EDGES), min_size=2, max_size=2)))
            where[name] = draw(st.sampled_from([Between(low, high), Between(low=low), Between(high=high)]))
        else:
            figures = [0, 1, 3, 0.3, 1e23] if kinds[name] == "number" else [0, 1, 3]
            values = FLAGS.get(kinds[name], figures if kinds[name].startswith("number") else TEXT[:-1])
            where[name] = draw(st.lists(st.sampled_from(values), min_size=1))
    return draw(of_a_part(Question.of(domain, where), kinds))


@st.composite
def of_a_part(draw: st.DrawFn, question: Question, kinds: dict[str, str]) -> Question:
    """The question, or now and then the same about one part, which the columns make that it does not ask for."""
    free = sorted({"a", "b", "user"} - set(question.domain.columns))
    if question.by is not None or not free or draw(st.integers(0, 2)):
        return question
    column = draw(st.sampled_from(free))
    by = Partition(draw(domains(column, kinds[column])), draw(st.sampled_from([None, 1, 1, 2])))
    return replace(question, by=by, part=draw(st.integers(0, by.size - 1)))


units = st.one_of(
    st.just(Unit("row")),
    st.builds(
        lambda bins, most, records: Unit("user", max_bins=bins, max_per_bin=most, max_records=records),
        st.integers(1, 3),
        st.integers(1, 3),
        st.sampled_from([None, None, 1, 2, 4]),
    ),
)
