"""Domains and filters that a person could declare, made by hypothesis."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
numbers = st.one_of(
    st.integers(-(10**30), 10**30),
    st.fractions(-1000, 1000, max_denominator=1000),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100).filter(
        lambda number: number == 0 or abs(number) > 1e-20
    ),
)
labels = st.one_of(names, st.booleans(), numbers)
FLAGS = ("underflow", "overflow", "missing")


@st.composite
def one_column(draw: st.DrawFn, column: st.SearchStrategy[str] = names) -> Domain:
    shape = draw(st.sampled_from(["integers", "intervals", "categories"]))
    name = draw(column)
    if shape == "integers":
        low = draw(st.integers(-(10**30), 10**30))
        flags = {flag: draw(st.booleans()) for flag in FLAGS}
        return Domain.integers(low, low + draw(st.integers(0, 40)), column=name, **flags)
    if shape == "intervals":
        edges = sorted({Fraction(repr(edge) if isinstance(edge, float) else edge) for edge in draw(st.lists(numbers))})
        edges = edges if len(edges) > 1 else [Fraction(0), Fraction(1, 3)]
        return Domain.intervals(edges, column=name, **{flag: draw(st.booleans()) for flag in FLAGS})
    values = draw(st.lists(names.filter(lambda label: label not in ("other", "missing")), min_size=1, unique=True))
    return Domain.categories(values, column=name, other=draw(st.booleans()), missing=draw(st.booleans()))


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    if draw(st.booleans()):
        return draw(one_column())
    product = draw(one_column(st.just("first"))) * draw(one_column(st.just("second")))
    for name in draw(st.sampled_from([(), (), ("third",), ("third", "fourth")])):
        product = product * draw(one_column(st.just(name)))
    return product


@st.composite
def conditions(draw: st.DrawFn) -> Any:
    if draw(st.booleans()):
        return draw(st.lists(labels, min_size=1, max_size=4))
    low, high = sorted(draw(st.lists(st.fractions(-99, 99, max_denominator=99), min_size=2, max_size=2)))
    return draw(st.sampled_from([Between(low, high), Between(low=low), Between(high=high)]))


counts = st.builds(Question.of, domains(), st.dictionaries(names, conditions(), max_size=3))


@st.composite
def sums(draw: st.DrawFn) -> Question:
    step = draw(st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=100))
    low = draw(st.integers(-1000, 1000))
    ends = {"low": low * step, "high": (low + draw(st.integers(1, 1000))) * step}
    where = draw(st.dictionaries(names, conditions(), max_size=2))
    return Question.sum(draw(names), by=draw(domains()), step=step, **ends, where=where)


@st.composite
def records(draw: st.DrawFn) -> Question:
    columns = [draw(one_column(st.just(name))) for name in draw(st.lists(names, min_size=1, max_size=4, unique=True))]
    named = [column for column in columns if column.kind == "categories" and draw(st.booleans())]
    otherwise = {column.columns[0]: draw(st.sampled_from(column.values)) for column in named}  # type: ignore[attr-defined]
    where = draw(st.dictionaries(names, conditions(), max_size=2))
    return Question.records(columns, otherwise=otherwise, where=where)


questions = st.one_of(counts, sums(), records())
"""Questions for counts, sums and records."""
