"""A column of an Ibis table, as expressions: where its values lie among public bins, in SQL.

What `reading.py` does to arrays, by the same limits: a float's decimal reaches an exact limit from the least float
on that reaches it, so SQL compares floats with floats and nothing is rounded. Limits are written as text that the
engine reads, for a literal number in SQL may be a decimal of its own. No value makes an expression fail: what has no
bin is null.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import ibis
import numpy as np

from dpviz.engines.reading import NARROW, NONE, as_written, holds, least, missing, other, over, under
from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, IntervalDomain, ProductDomain
from dpviz.model.question import Between, Condition

WIDEST: Final = 10**36
"""Bins of a domain of at most this size can be numbered by an engine, as decimals of 38 digits."""
WIDE: Final = "decimal(38, 0)"


class Read(ABC):
    """A column as an engine needs it. Every expression is null where the value has no place."""

    value: Any

    @property
    @abstractmethod
    def text(self) -> Any:
        """The text that values are matched by."""

    @abstractmethod
    def place(self, domain: Domain, numbers: str) -> Any:
        """The bin of each row in a one-column domain, as an Ibis type of whole numbers."""

    @abstractmethod
    def passes(self, condition: Condition) -> list[Any]:
        """What must be true of a row that passes a public filter."""


def read(value: Any, kind: str) -> Read:
    """Read a column of a table as its declared kind says."""
    dtype = value.type()
    if kind == "text":
        if dtype.is_boolean():
            value = ibis.cases((value, "True"), (~value, "False"))
        return Texts(value if dtype.is_string() else value.cast("string"))
    if dtype.is_boolean():
        value, dtype = value.cast("int8"), ibis.dtype("int8")
    held = np.dtype(str(dtype.copy(nullable=True)))
    if dtype.is_floating():
        value = ibis.cases((value.isnan(), ibis.null(dtype)), else_=value)
    return Numbers(value, held)


def numbers_for(domain: Domain) -> str:
    """The Ibis type in which the bins of a domain are numbered."""
    return "int64" if domain.size <= NARROW else WIDE


def place(domain: Domain, columns: Mapping[str, Read], numbers: str) -> Any:
    """The bin of each row in a declared domain."""
    if not isinstance(domain, ProductDomain):
        return columns[domain.columns[0]].place(domain, numbers)
    first, second = (place(part, columns, numbers) for part in (domain.first, domain.second))
    return first * whole(domain.second.size, numbers) + second


@dataclass(frozen=True, repr=False, eq=False)
class Texts(Read):
    """Texts, compared by code point."""

    value: Any

    @property
    def text(self) -> Any:
        return self.value

    def place(self, domain: Domain, numbers: str) -> Any:
        assert isinstance(domain, CategoryDomain)
        known = {label: position for position, label in enumerate(domain.values)}
        return matched(self.value, known, domain, numbers, ibis.literal)

    def passes(self, condition: Condition) -> list[Any]:
        assert not isinstance(condition, Between)
        return [self.value.isin(condition)]


@dataclass(frozen=True, repr=False, eq=False)
class Numbers(Read):
    """Integers or floats of a NumPy type; NaN is null, floats may be infinite."""

    value: Any
    dtype: np.dtype[Any]

    @property
    def whole(self) -> bool:
        return self.dtype.kind != "f"

    @property
    def text(self) -> Any:
        assert self.whole
        return self.value.cast("string")

    def place(self, domain: Domain, numbers: str) -> Any:
        if isinstance(domain, IntegerDomain):
            return self._integers(domain, numbers)
        if isinstance(domain, IntervalDomain):
            return self._intervals(domain, numbers)
        assert isinstance(domain, CategoryDomain)
        return matched(self.value, self._known(domain.values), domain, numbers, self._at)

    def passes(self, condition: Condition) -> list[Any]:
        if not isinstance(condition, Between):
            return [self.value.isin([self._at(value) for value in self._known(condition)])]
        passed = [self.value.notnull()]
        if condition.low is not None:
            passed.append(self._reaches(least(self.dtype, condition.low)))
        if condition.high is not None:
            passed.append(~self._reaches(least(self.dtype, condition.high, above=True)))
        return passed

    def _known(self, labels: Sequence[str]) -> dict[Any, int]:
        """The values of this type that are written as one of the labels, and where these stand."""
        exact = [as_written(label) for label in labels]
        held = [None if number is None else holds(self.dtype, number) for number in exact]
        return {value: position for position, value in enumerate(held) if value is not None}

    def _at(self, value: Any) -> Any:
        """A value of this type, written so that the engine reads it and no other."""
        if self.whole:
            return ibis.literal(int(value), "uint64" if self.dtype == np.uint64 else "int64")
        return ibis.literal(str(value).replace("inf", "Infinity")).cast(self.dtype.name)

    def _reaches(self, limit: Any) -> Any:
        """Whether a value is at least the limit, which may lie beyond this type."""
        if self.whole:
            bounds = np.iinfo(self.dtype)
            if not bounds.min < limit <= bounds.max:
                return ibis.literal(limit <= bounds.min)
        return self.value >= self._at(limit)

    def _intervals(self, domain: IntervalDomain, numbers: str) -> Any:
        edges = domain.edges
        limits = [*(least(self.dtype, edge) for edge in edges[:-1]), least(self.dtype, edges[-1], above=True)]
        bins = [under(domain), *(step + domain.underflow for step in range(domain.inner)), over(domain)]
        leaves = [number(bin, numbers) for bin in bins]
        return ibis.cases(
            (self.value.isnull(), number(missing(domain), numbers)), else_=search(self._reaches, limits, leaves)
        )

    def _integers(self, domain: IntegerDomain, numbers: str) -> Any:
        value, rules = self.value, [(self.value.isnull(), number(missing(domain), numbers))]
        if self.whole:
            first, last = int(np.iinfo(self.dtype).min), int(np.iinfo(self.dtype).max)
        else:
            # Beyond, all floats are whole, and all that matters of them is on which side they lie.
            last = most_whole(self.dtype)
            first = -last
            near = ibis.greatest(ibis.least(value.cast("float64"), float64(last)), float64(first))
            value = near.floor().cast("int64")
            rules.append((value.cast("float64") != near, number(NONE, numbers)))
        wide = WIDE if numbers == WIDE or self.dtype == np.uint64 else "int64"
        value, low, high = value.cast(wide), domain.low, domain.high
        if low > first:
            rules.append(
                (ibis.literal(True) if low > last else value < whole(low, wide), number(under(domain), numbers))
            )
        if high < last:
            rules.append(
                (ibis.literal(True) if high < first else value > whole(high, wide), number(over(domain), numbers))
            )
        start, stop = max(low, first), min(high, last)
        if start > stop:
            return ibis.cases(*rules, else_=number(NONE, numbers))
        inside = ibis.greatest(
            ibis.least(value, whole(stop, wide)), whole(start, wide)
        )  # a difference may not overflow
        step = (inside - whole(start, wide)).cast(numbers)
        return ibis.cases(*rules, else_=step + whole(start - low + domain.underflow, numbers))


def most_whole(dtype: np.dtype[Any]) -> int:
    """Up to here every whole number is a float of this type and prints as itself."""
    return int(2 ** (np.finfo(dtype).nmant + 1))


def float64(value: int) -> Any:
    return ibis.literal(str(value)).cast("float64")


def whole(value: int, numbers: str) -> Any:
    """A whole number of an Ibis type."""
    return ibis.literal(value, "int64") if numbers == "int64" else ibis.literal(str(value)).cast(numbers)


def number(bin: int, numbers: str) -> Any:
    """A bin, or null for NONE."""
    return ibis.null(numbers) if bin == NONE else whole(bin, numbers)


def matched(value: Any, known: Mapping[Any, int], domain: CategoryDomain, numbers: str, at: Any) -> Any:
    """The position of a value among known ones, and the bins beside them."""
    limits = sorted(known)
    beside = number(other(domain), numbers)
    leaves = [beside, *(ibis.ifelse(value == at(one), number(known[one], numbers), beside) for one in limits)]
    found = search(lambda limit: value >= at(limit), limits, leaves)
    return ibis.cases((value.isnull(), number(missing(domain), numbers)), else_=found)


def search(reaches: Any, limits: Sequence[Any], leaves: Sequence[Any]) -> Any:
    """The leaf of the last limit that is reached, by halving: a row meets few of the comparisons."""
    if not limits:
        return leaves[0]
    half = len(limits) // 2
    below = search(reaches, limits[:half], leaves[: half + 1])
    above = search(reaches, limits[half + 1 :], leaves[half + 1 :])
    return ibis.ifelse(reaches(limits[half]), above, below)
