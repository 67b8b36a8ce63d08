"""A column, read once, as numbers or as texts; and where each of its values lies among public bins.

A value means the decimal it prints as, so a binary 0.3 lies in the bin that begins at 3/10. From floats to those
decimals the map is increasing: an exact limit becomes, once, the least float whose decimal reaches it, and from then on
plain comparison of floats is exact. Nothing here raises or warns because of a value: what cannot be read has no bin.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any, Final, TypeAlias

import gmpy2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.boundary import Unstored
from dpviz.engines.bounding import PIECE, Users
from dpviz.engines.steps import exact_steps
from dpviz.engines.values import (
    NARROW,
    NONE,
    UNREADABLE,
    WIDE,
    Exact,
    Plain,
    as_written,
    bin_of,
    by_label,
    exactly,
    holds,
    label_of,
    least,
    malformed,
    missing,
    nearest,
    other,
    over,
    printed,
    text_number,
    under,
)
from dpviz.engines.written import Format
from dpviz.errors import unwritable
from dpviz.exact import rational
from dpviz.model import times
from dpviz.model.aggregate import Sum
from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, IntervalDomain, TimeDomain
from dpviz.model.question import Between, Condition

Bins: TypeAlias = NDArray[np.int64]
"""The bin of each row, or NONE."""

Located: TypeAlias = tuple[NDArray[Any], NDArray[np.bool_]]
"""The bin of each row of a domain of any size, and whether the row has one."""

ENDLESS_TIME: Final = 2**63 - 1
"""The value that stands for a time without end."""


class ColumnReading(Unstored, ABC):
    """A column as the engine needs it."""

    @abstractmethod
    def assign_bins(self, domain: Domain) -> Bins:
        """The bin of each row in a one-column domain, or NONE."""

    def pieces(self, domain: Domain) -> Iterator[Bins]:
        """The same, some rows after the others, where these are all that is needed at a time."""
        yield self.assign_bins(domain)

    def locate(self, domain: Domain) -> Located:
        """The bin of each row in a one-column domain of any size."""
        if domain.size > NARROW:
            assert isinstance(domain, IntegerDomain)
            return self._wide(domain)
        bins = self.assign_bins(domain)
        return bins.astype(np.uint64), bins != NONE

    @property
    def tally(self) -> tuple[ColumnReading, NDArray[np.int64]] | None:
        """The distinct values, and how many rows have each; None where the rows are read as fast."""
        return None

    @abstractmethod
    def _wide(self, domain: IntegerDomain) -> Located: ...

    @abstractmethod
    def passes(self, condition: Condition) -> NDArray[np.bool_]:
        """Whether each row passes a public filter; a missing value never does."""

    @property
    @abstractmethod
    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The float of 64 bits that is nearest to each number, perhaps infinite, and whether there is a number; where
        there is none the float is 0."""

    def with_decimals(self, steps: NDArray[np.int64], total: Sum) -> NDArray[np.int64]:
        """The steps of a sum, with those of decimals in place of the steps of their nearest floats."""
        return steps

    @cached_property
    @abstractmethod
    def keys(self) -> tuple[NDArray[Any], Bins]:
        """The texts that values are matched by, in order, and each row's place among them, or NONE.

        A text that cannot be written to a file is no key, for it could not be released.
        """

    @cached_property
    @abstractmethod
    def users(self) -> Users:
        """Each row's user, told apart by the text that categories are matched by: 1, 1.0 and "1" are one user.

        A text that cannot be written to a file is no user, as it is no key: SQL engines cannot hold it."""


def read(values: Any, kind: str) -> ColumnReading:
    """Read a column's array (NumPy's, or one of pandas' own) as its declared kind says."""
    dtype = values.dtype
    if kind == "time":
        return _of_times(moments(values))
    if isinstance(dtype, pd.CategoricalDtype):
        named = listed(np.asarray(values.categories, dtype=object), kind)
        return Listed(np.append(named.codes, NONE)[np.asarray(values.codes)], named.plain)
    if isinstance(dtype, pd.SparseDtype):
        return read(np.asarray(values), kind)
    if isinstance(dtype, pd.StringDtype):
        return _of_strings(values, kind)
    plain = dtype if isinstance(values, np.ndarray) else getattr(dtype, "numpy_dtype", np.dtype(object))
    if plain.kind not in "biuf" or plain.itemsize > 8:
        return listed(np.asarray(values, dtype=object), kind)
    missing = np.asarray(pd.isna(values))
    if not isinstance(values, np.ndarray):
        values = values.to_numpy(dtype=plain, na_value=np.zeros((), dtype=plain).item())
    if plain.kind == "b" and kind == "text":
        return Listed(np.where(missing, NONE, values.astype(np.int64)), ("False", "True"))
    if plain.kind == "f":
        values = values.astype(plain.newbyteorder("="))
        return Numbers(values, missing | np.isnan(values))
    if plain.kind == "b":
        return Numbers(values.astype(np.int64), missing)
    return Numbers(values.astype(plain.newbyteorder("="), copy=False), missing)


def read_written(values: Any, format: Format) -> Numbers:
    """Read a column of texts, or of Python's own dates, as its declared format says."""
    held = np.asarray(values, dtype=object)
    known: dict[str, int | None] = {}
    found = np.zeros(len(held), dtype=np.int64)
    absent, odd = np.zeros(len(held), dtype=np.bool_), np.zeros(len(held), dtype=np.bool_)
    for at, value in enumerate(held):
        kind = type(value)
        if kind is str:
            if value not in known:
                known[value] = format.value(value)
            moment = known[value]
        elif _absent(value, kind):
            absent[at] = True
            continue
        else:
            moment = _moment(value, kind) if format.kind == "time" else None
        if moment is None:
            odd[at] = True
        else:
            found[at] = moment
    return Numbers(found, absent | odd, odd)


def _absent(value: Any, kind: type) -> bool:
    """Whether an object stands for a missing value."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if issubclass(kind, np.datetime64):
        return bool(np.isnat(value))
    return bool(issubclass(kind, float | np.floating) and value != value)


def _moment(value: Any, kind: type) -> int | None:
    """Python's dates, and times without a zone, in microseconds since 1970 began."""
    if kind is date:
        return times.since(datetime(value.year, value.month, value.day))
    if kind is pd.Timestamp:
        return None if value.tzinfo is not None else int(value.as_unit("us")._value)
    return times.since(value) if kind is datetime and value.tzinfo is None else None


def moments(values: Any) -> NDArray[np.datetime64]:
    """The times of a column whose dtype says that it holds such, as NumPy holds them."""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        held = moments(values.categories.array)
        found: NDArray[np.datetime64] = np.append(held, np.datetime64("NaT"))[np.asarray(values.codes)]
        return found
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        from dpviz.engines.arrow_types import days

        given = pa.chunked_array(pa.array(values))
        if pa.types.is_date(given.type):
            given = days(given).cast(pa.timestamp("s"))
        held = given.fill_null(0).to_numpy()
        return np.where(np.asarray(pd.isna(values)), np.datetime64("NaT"), held)
    return np.asarray(values)


def _of_times(values: NDArray[np.datetime64]) -> Numbers:
    """Times in microseconds since 1970 began; what is too far off for that is no time, as in every engine."""
    unit, many = np.datetime_data(values.dtype)
    nanoseconds = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}.get(unit)
    if nanoseconds is None or many != 1:  # days and hours, which pandas does not keep
        values, nanoseconds = values.astype("datetime64[s]"), 10**9
    at = values.view(np.int64)
    if nanoseconds == 1:
        return Numbers(at // 1_000, np.isnat(values) | (np.abs(at) == ENDLESS_TIME))
    by = nanoseconds // 1_000
    absent = np.isnat(values) | (at > (ENDLESS_TIME - 1) // by) | (at < -((ENDLESS_TIME - 1) // by))
    return Numbers(np.where(absent, 0, at) * by, absent)


def _of_strings(values: Any, kind: str) -> ColumnReading:
    """Strings as pandas keeps them: grouped first, then each distinct one is read; a text is read as it is."""
    if isinstance(values, pd.arrays.ArrowStringArray):
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        held = pa.array(values, type=pa.large_string())  # in pieces, where the column was put together of some
        return ArrowTexts(held.combine_chunks() if isinstance(held, pa.ChunkedArray) else held, kind)
    places, distinct = values.factorize()
    distinct = np.asarray(distinct, dtype=object)
    if kind == "text":
        return Listed(places.astype(np.int64, copy=False), tuple(distinct.tolist()))
    named = listed(distinct, kind)
    return Listed(np.append(named.codes, NONE)[places], named.plain)


# ---------------------------------------------------------------- numbers in arrays


@dataclass(frozen=True, repr=False, eq=False)
class Numbers(ColumnReading):
    """Integers or floats. Floats may be infinite; where `missing` is true the value has no meaning.

    malformed  where values were read from texts: those that are there and could not be read, `missing` among the others
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_]
    malformed: NDArray[np.bool_] | None = None

    @property
    def whole(self) -> bool:
        return self.values.dtype.kind != "f"

    def assign_bins(self, domain: Domain) -> Bins:
        if isinstance(domain, TimeDomain):
            return self._stretches(domain)
        with np.errstate(all="ignore"):
            if isinstance(domain, IntegerDomain):
                bins = self._integers(domain)
            elif isinstance(domain, IntervalDomain):
                inner = np.arange(domain.inner) + domain.underflow
                bins = np.array([under(domain), *inner, over(domain)])[self._rank(domain.edges)]
            else:
                assert isinstance(domain, CategoryDomain)
                bins = self._match(domain.values)
                bins[bins == NONE] = other(domain)
        bins[self.missing] = missing(domain)
        if self.malformed is not None:
            beside = other(domain) if isinstance(domain, CategoryDomain) else malformed(domain)
            bins[self.malformed] = beside
        return bins

    def pieces(self, domain: Domain) -> Iterator[Bins]:
        """Of whole numbers alone: edges and labels of other bins would be read anew for every piece."""
        if not (self.whole and isinstance(domain, IntegerDomain)):
            yield self.assign_bins(domain)
            return
        for at in range(0, len(self.values), PIECE):
            some = slice(at, at + PIECE)
            odd = None if self.malformed is None else self.malformed[some]
            yield Numbers(self.values[some], self.missing[some], odd).assign_bins(domain)

    def passes(self, condition: Condition) -> NDArray[np.bool_]:
        passed = ~self.missing
        with np.errstate(all="ignore"):
            if not isinstance(condition, Between):
                passed &= self._match(condition) != NONE
                return passed
            if condition.low is not None:
                passed &= self.values >= least(self.values.dtype, condition.low)
            if condition.high is not None:
                passed &= self.values < least(self.values.dtype, condition.high, above=True)
        return passed

    @property
    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        return np.where(self.missing, 0, self.values).astype(np.float64), ~self.missing

    @cached_property
    def keys(self) -> tuple[NDArray[Any], Bins]:
        return self._listed().keys

    @cached_property
    def users(self) -> Users:
        return self._listed().users

    def _wide(self, domain: IntegerDomain) -> Located:
        if not self.whole or domain.size > WIDE:
            return self._listed()._wide(domain)
        values, inside = self.values, np.ones(len(self.values), dtype=np.bool_)
        # Differences modulo 2^64 are the bins themselves, for these lie in 0..2^64 - 1.
        bins = values.astype(np.uint64) + np.uint64((domain.underflow - domain.low) % WIDE)
        beside = [(values < domain.low, under(domain)), (values > domain.high, over(domain))]
        beside.append((self.missing, missing(domain)))
        if self.malformed is not None:
            beside.append((self.malformed, malformed(domain)))
        for rows, found in beside:
            inside[rows], bins[rows] = found != NONE, max(found, 0)
        return bins, inside

    def _stretches(self, domain: TimeDomain) -> Bins:
        """Bins of time, in whole microseconds."""
        edges = np.array(domain.edges, dtype=np.int64)
        inner = np.arange(domain.inner, dtype=np.int64) + domain.underflow
        bins = np.array([under(domain), *inner.tolist(), over(domain)], dtype=np.int64)
        found: Bins = bins[np.searchsorted(edges, self.values, side="right")]
        found[self.missing] = missing(domain)
        if self.malformed is not None:
            found[self.malformed] = malformed(domain)
        return found

    def _integers(self, domain: IntegerDomain) -> Bins:
        """In pieces that stay in the processor's cache: no more than the bins themselves is as long as the column."""
        values, low, high = self.values, domain.low, domain.high
        if not self.whole:
            # Up to here every whole number is a float and prints as itself.
            exact = 2 ** (np.finfo(values.dtype).nmant + 1)
            if max(abs(low), abs(high)) > exact:
                return self._listed().assign_bins(domain)
        bins = np.empty(len(values), dtype=np.int64)
        for at in range(0, len(values), PIECE):
            some = values[at : at + PIECE]
            if self.whole and some.dtype.itemsize < 8:
                some = some.astype(np.int64)  # in which no difference is too large
            bins[at : at + PIECE] = self._integers_of(some, domain)
        return bins

    def _integers_of(self, values: NDArray[Any], domain: IntegerDomain) -> Bins:
        if self.whole:
            return self._whole_of(values, domain)
        low, high = domain.low, domain.high
        near = np.clip(values, low, high).astype(np.int64)  # a difference of floats might be rounded
        inner = near - low + domain.underflow
        bins = np.where(values < low, under(domain), np.where(values > high, over(domain), inner))
        bins[values != np.floor(values)] = NONE
        return bins

    def _whole_of(self, values: NDArray[Any], domain: IntegerDomain) -> Bins:
        """Of int64 or uint64. Each value is looked at once, wherever it lies: modulo 2^64, what is below the first bin
        is far above the last one."""
        low, high, below, above = domain.low, domain.high, under(domain), over(domain)
        limits = np.iinfo(values.dtype)
        start, stop = max(low, int(limits.min)), min(high, int(limits.max))
        beside = below if below == above else np.where(values < low, below, above)
        if start > stop:
            return np.full(len(values), beside)
        far = values.view(np.uint64) - np.uint64(start % WIDE)
        inside = far <= np.uint64(stop - start)
        first = start - low + domain.underflow
        bins = far.view(np.int64) + first if first else far.view(np.int64)
        return np.where(inside, bins, beside)

    def _rank(self, edges: Sequence[Fraction]) -> Bins:
        """How many edges each value has reached; the last edge must be passed, not only reached."""
        dtype = self.values.dtype
        limits = [*(least(dtype, edge) for edge in edges[:-1]), least(dtype, edges[-1], above=True)]
        reached = 0
        if self.whole:
            bounds = np.iinfo(dtype)
            reached = sum(limit <= bounds.min for limit in limits)
            limits = [limit for limit in limits[reached:] if limit <= bounds.max]
        return np.searchsorted(np.array(limits, dtype=dtype), self.values, side="right") + reached

    def _match(self, labels: Sequence[str]) -> Bins:
        """The position of each value among labels, or NONE."""
        positions = {}
        for position, label in enumerate(labels):
            number = as_written(label)
            if number is not None and (value := holds(self.values.dtype, number)) is not None:
                positions[value] = position
        if not positions:
            return np.full(len(self.values), NONE)
        known = np.array(sorted(positions), dtype=self.values.dtype)
        order = np.array([positions[value] for value in sorted(positions)])
        nearest = np.minimum(np.searchsorted(known, self.values), len(known) - 1)
        return np.where(known[nearest] == self.values, order[nearest], NONE)

    def _listed(self) -> Listed:
        """The same column as a list of distinct exact numbers."""
        distinct, codes = np.unique(self.values, return_inverse=True)
        plain = [Fraction(int(value)) if self.whole else number(value) for value in distinct]
        found = [UNREADABLE if one is None else one for one in plain]
        named = Listed(codes.reshape(-1).astype(np.int64), (*found, UNREADABLE))
        named.codes[self.missing] = NONE
        if self.malformed is not None:
            named.codes[self.malformed] = len(found)
        return named


# ---------------------------------------------------------------- everything else, by its distinct values


@dataclass(frozen=True, repr=False, eq=False)
class Listed(ColumnReading):
    """A column as codes into its distinct values; NONE where the value is missing.

    in_order  whether all values are texts that can be written to a file, each once and by code points
    """

    codes: NDArray[np.int64]
    plain: tuple[Plain, ...]
    in_order: bool = False

    def assign_bins(self, domain: Domain) -> Bins:
        if isinstance(domain, CategoryDomain):
            named = by_label(domain.values)
            beside = other(domain)
            bins = [beside if isinstance(value, float) else named.get(value, beside) for value in self.plain]
        else:
            assert isinstance(domain, IntegerDomain | IntervalDomain)
            odd = malformed(domain)
            bins = [bin_of(domain, value) if isinstance(value, Fraction | float) else odd for value in self.plain]
        return np.array([*bins, missing(domain)], dtype=np.int64)[self.codes]

    def passes(self, condition: Condition) -> NDArray[np.bool_]:
        if isinstance(condition, Between):
            low = -math.inf if condition.low is None else condition.low
            high = math.inf if condition.high is None else condition.high
            passed = [isinstance(value, Fraction | float) and low <= exactly(value) <= high for value in self.plain]
        else:
            named = by_label(condition)
            passed = [not isinstance(value, float) and value in named for value in self.plain]
        return np.array([*passed, False])[self.codes]

    @property
    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        found = [nearest(value) if isinstance(value, Fraction | float) else None for value in self.plain]
        floats = np.array([*(0.0 if one is None else one for one in found), 0.0])
        return floats[self.codes], np.array([*(one is not None for one in found), False])[self.codes]

    def with_decimals(self, steps: NDArray[np.int64], total: Sum) -> NDArray[np.int64]:
        exact = [isinstance(value, Exact) for value in self.plain]
        if not any(exact):
            return steps
        own = [exact_steps(value, total) if isinstance(value, Exact) else 0 for value in self.plain]
        chosen, decimal = np.array([*own, 0], dtype=np.int64), np.array([*exact, False])
        return np.where(decimal[self.codes], chosen[self.codes], steps)

    def _wide(self, domain: IntegerDomain) -> Located:
        odd = malformed(domain)
        found = [bin_of(domain, value) if isinstance(value, Fraction | float) else odd for value in self.plain]
        found.append(missing(domain))
        bins = np.array([max(one, 0) for one in found], dtype=np.uint64 if domain.size <= WIDE else object)
        return bins[self.codes], np.array([one != NONE for one in found])[self.codes]

    @cached_property
    def keys(self) -> tuple[NDArray[Any], Bins]:
        if self.in_order:
            return np.array(self.plain, dtype=object), self.codes
        names = [value if type(value) is str else label_of(value) for value in self.plain]
        held = sorted({name for name in names if name is not None and not unwritable(name)})
        known: dict[str | None, int] = {name: place for place, name in enumerate(held)}
        codes = np.array([*(known.get(name, NONE) for name in names), NONE], dtype=np.int64)
        return np.array(held, dtype=object), codes[self.codes]

    @cached_property
    def users(self) -> Users:
        names = [name if name is None or not unwritable(name) else None for name in map(label_of, self.plain)]
        known = {name: code for code, name in enumerate(dict.fromkeys(name for name in names if name is not None))}
        codes = np.array([*(NONE if name is None else known[name] for name in names), NONE], dtype=np.int64)
        return Users(codes[self.codes], tuple(known))


@dataclass(frozen=True, repr=False, eq=False)
class ArrowTexts(ColumnReading):
    """Texts that Arrow holds. Counting them is faster than finding the place of each row, which is done once something
    asks for it."""

    held: Any
    kind: str

    @cached_property
    def tally(self) -> tuple[ColumnReading, NDArray[np.int64]]:
        import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

        found = pc.value_counts(self.held)
        return self._read(found.field(0)), found.field(1).to_numpy(zero_copy_only=False)

    @cached_property
    def rows(self) -> Listed:
        """Each row's place among the distinct texts."""
        grouped = self.held.dictionary_encode()
        distinct = self._read(grouped.dictionary)
        places = grouped.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Listed(np.append(distinct.codes, NONE)[places], distinct.plain, distinct.in_order)

    def _read(self, distinct: Any) -> Listed:
        """Different texts, one a row; perhaps a missing one."""
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        from dpviz.engines.text_order import text_order

        if self.kind != "text":
            return listed(distinct.to_numpy(zero_copy_only=False), self.kind)
        places = np.flatnonzero(distinct.is_valid().to_numpy(zero_copy_only=False))
        texts = distinct.drop_null().cast(pa.large_string())
        order = text_order(texts)  # by code points
        if order is None:
            raise ArithmeticError("a text comes twice among different ones")
        codes = np.full(len(distinct), NONE, dtype=np.int64)
        codes[places[order]] = np.arange(len(order))
        return Listed(codes, tuple(texts.take(order).to_pylist()), in_order=True)

    def assign_bins(self, domain: Domain) -> Bins:
        return self.rows.assign_bins(domain)

    def passes(self, condition: Condition) -> NDArray[np.bool_]:
        return self.rows.passes(condition)

    @property
    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        return self.rows.floats

    def with_decimals(self, steps: NDArray[np.int64], total: Sum) -> NDArray[np.int64]:
        return self.rows.with_decimals(steps, total)

    def _wide(self, domain: IntegerDomain) -> Located:
        return self.rows._wide(domain)

    @property
    def keys(self) -> tuple[NDArray[Any], Bins]:
        return self.rows.keys

    @property
    def users(self) -> Users:
        return self.rows.users


def listed(values: NDArray[Any], kind: str) -> Listed:
    """Read an array of objects. Each distinct text is read once, and found again by what Python does for a dict; all
    other objects are read one by one."""
    reader = number if kind == "number" else category
    texts = np.fromiter(map(id, map(type, values)), dtype=np.int64, count=len(values)) == id(str)
    found: defaultdict[str, int] = defaultdict(count().__next__)  # each distinct text has the next number
    places = np.fromiter(map(found.__getitem__, values[texts]), dtype=np.int64)
    known: dict[tuple[type, Plain], int] = {}  # a decimal equals a float's, and is not rounded as that is

    def code(value: object) -> int:
        plain = reader(value)
        return NONE if plain is None else known.setdefault((type(plain), plain), len(known))

    codes = np.empty(len(values), dtype=np.int64)
    codes[texts] = np.array([code(text) for text in found], dtype=np.int64)[places]
    codes[~texts] = [code(value) for value in values[~texts]]
    return Listed(codes, tuple(plain for _, plain in known))


def category(value: object) -> Plain | None:
    """A value as categories are matched: text as it is, numbers in their shortest exact form, True as "True"."""
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if kind in (bool, np.bool_):
        return "True" if value else "False"
    plain = number(value)
    if isinstance(plain, Fraction | float):
        return label_of(plain) or UNREADABLE
    return plain


def number(value: object) -> Plain | None:
    """A value as a number: text by the rule of `text_number`, True as 1; what is no number is UNREADABLE."""
    try:
        return _number(value, type(value))
    except Exception:  # whatever a value does, it is a value
        return UNREADABLE


def _number(value: Any, kind: type) -> Plain | None:
    # Only the types named here are asked anything: a stranger's methods could do or say what they like.
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if issubclass(kind, str):
        return text_number(str.__str__(value))
    if issubclass(kind, float | np.floating):
        if issubclass(kind, float):
            value = float.__float__(value)
        if np.isnan(value):
            return None
        return printed(value) if np.isfinite(value) else math.copysign(math.inf, value)
    if issubclass(kind, int):
        return Fraction(int.__index__(value))
    if issubclass(kind, np.integer | np.bool_):
        return Fraction(int(value))
    if issubclass(kind, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else UNREADABLE
    if kind is Decimal:
        return _decimal(value)
    if kind in (Fraction, type(gmpy2.mpz()), type(gmpy2.mpq())):
        return rational(value)
    return UNREADABLE


def _decimal(value: Decimal) -> Plain | None:
    """A Decimal; one beyond any bin is cut to 1e9999 or 1e-9999, which nothing but its place among bins can tell."""
    if value.is_nan():
        return None
    if value.is_infinite():
        return math.copysign(math.inf, value)
    if value and abs(value.adjusted()) > 9999:
        value = Decimal((value.is_signed(), (1,), 9999 if value.adjusted() > 0 else -9999))
    return Exact(value) if value else Exact(0)
