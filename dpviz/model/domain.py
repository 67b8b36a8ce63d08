"""Public bins. A domain is declared by a person; it is never read off the data.

A domain numbers its bins 0..size-1, in the order in which they are shown. Besides the declared values a domain may
have bins for what falls below, above or elsewhere, and for missing values; whatever has no bin is dropped in silence,
because an error would tell that such a value is there.
"""

from __future__ import annotations

import json
import numbers
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, ClassVar, Final, TypeVar, cast

from dpviz.boundary import Hidden, as_given, kind_of, plain_arguments, protect_module
from dpviz.errors import DomainError, DpvizError, NoSuchBin, ParameterError, unwritable
from dpviz.exact import NUMBER_LIKE, Number, counted, rational, text, unwritten, writable
from dpviz.kinds import name_of
from dpviz.model import times
from dpviz.model.words import told as told_number
from dpviz.names import NamedClass, as_name, meant
from dpviz.privacy.unit import plural

Read = TypeVar("Read")

FROM_DATA = "bins and filters must be public, and not taken from the data"
LARGEST_SHOWN = 2_000
"""Domains with more bins than this are not drawn bin by bin."""
MOST_NAMED: Final = 5
"""A sentence names at most so many columns, or bins of so many."""
MOST_FACTORS: Final = 2_048
"""A product has at most so many factors, and at most 2 to this power bins."""
WRITTEN: Final = {
    "integers": (("column", "low", "high"), ("underflow", "overflow", "missing", "malformed")),
    "intervals": (("column", "edges"), ("underflow", "overflow", "missing", "malformed")),
    "categories": (("column", "labels"), ("other", "missing")),
    "times": (("column", "start", "end", "by"), ("underflow", "overflow", "missing", "malformed")),
    "product": ((), ("first", "second", "factors")),
    "keys": (("column",), ()),
}
"""Saved domains: by kind, what each must have and may have."""


BETWEEN: Final = " · "
"""The sign between the labels of a bin of several columns."""
APART: Final = "|"
"""The sign between the keys of several columns where they are held as one text."""
ESCAPES: Final = (("~", "~0"), (APART, "~1"))
"""The replacements, in this order, in a key that is held beside others."""
MISSING, MALFORMED = "missing", "malformed"
"""The labels of the bins of values that are not there, and of texts that are there and are no number or no date."""
MOST_BESIDE_KEYS: Final = 1 << 62
"""A product with unknown keys has at most so many declared bins: every engine numbers them in 64 bits."""


@dataclass(frozen=True)
class Domain(metaclass=NamedClass):
    """Declare public bins of one column, or of several.

    Parameters
    ----------
    *given, **named
        Refused: a domain is made by `Domain.integers`, `.intervals`, `.times`, `.categories`, `.keys` or `.product`.

    Raises
    ------
    DomainError
        Always, with the calls that make a domain.

    Notes
    -----
    A domain is declared by a person and never read off the data. A value that has no bin is dropped in silence, for an
    error would tell that such a value is there. `Domain.keys` declares no bins at all: the labels come from the data,
    so only a mechanism that never shows an empty bin can answer it.

    Examples
    --------
    >>> (Domain.integers(1, 12, column="month") * Domain.categories(["a", "b"], column="kind")).size_text
    '24 bins'
    """

    kind: ClassVar[str] = ""
    needs: ClassVar[str] = ""
    """Which kind of column can be counted: `number` or `any`."""

    @plain_arguments
    def __init__(self, *given: object, **named: object) -> None:
        """A domain of no kind has no bins."""
        if type(self) is Domain:
            raise DomainError.of(
                f"Domain of {counted(len(given) + len(named), 'argument')}",
                "a domain is made by the call for its kind of bins",
                "write dv.Domain.integers(low, high, column=...), or use .intervals, .categories, .keys or .product",
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the bins."""
        raise NotImplementedError

    @property
    def factors(self) -> tuple[Domain, ...]:
        """The one-column domains of a product, in order; a domain of one column is its own factor."""
        return (self,)

    @property
    def columns_text(self) -> str:
        """The columns in a sentence: `month`, `month and city`, `month, city and age`."""
        return _columns(self.columns)

    @property
    def declared(self) -> bool:
        """Whether the bins are declared; if not, the domain has no size and no bin has a number."""
        return True

    @property
    def ordered(self) -> bool:
        """Whether the order of the bins means something, so that a range of them does: of numbers it does."""
        return False

    @property
    def bins_in_order(self) -> range:
        """The bins whose order means something: below the first, the inner ones, beyond the last; without missing and
        malformed values. Empty where no order means anything."""
        return range(0)

    @property
    def usual_ranges(self) -> tuple[tuple[int, str], ...]:
        """Usual lengths of ranges in this order, with their names, the shortest first: powers of ten, or a day and a
        month where bins are times. Empty where no order means anything."""
        bins = self.bins_in_order.stop - self.bins_in_order.start
        lengths = (10**power for power in range(1, len(str(bins))))
        return tuple((length, f"{length:,} bins") for length in lengths if length < bins)

    def numbers_of(self, index: int) -> tuple[Fraction | None, Fraction | None]:
        """Return the least and the greatest number that a bin holds, or the edges between which its numbers lie.

        Parameters
        ----------
        index : int
            The number of the bin, from 0.

        Returns
        -------
        tuple of Fraction or None
            Both ends; None where there is no end, or where bins are no numbers.

        Raises
        ------
        UnknownArgument
            If the number is left out.
        """
        return None, None

    @property
    def size_text(self) -> str:
        """`42 bins`, `2^64 bins`."""
        return bins_text(self.size)

    @property
    def size(self) -> int:
        """The number of bins."""
        raise NotImplementedError

    def label(self, index: int) -> str:
        """Return the label of a bin, as a reader sees it.

        Parameters
        ----------
        index : int
            The number of the bin, from 0.

        Returns
        -------
        str
            The label.

        Raises
        ------
        UnknownArgument
            If the number is left out.
        """
        raise NotImplementedError

    def point(self, label: object) -> int | str:
        """Return the bin of a label as an answer holds it.

        Parameters
        ----------
        label : int, float, str or Fraction
            A value, or the label of a bin.

        Returns
        -------
        int or str
            The number of the bin; a text where the keys are unknown.

        Raises
        ------
        DomainError
            If no bin has this label.
        """
        return self.index(label)

    def name(self, point: int | str) -> str:
        """Return the label of a bin as an answer holds it, as a reader sees it.

        Parameters
        ----------
        point : int or str
            The bin as an answer holds it.

        Returns
        -------
        str
            The label.

        Raises
        ------
        UnknownArgument
            If the bin is left out.
        """
        return point if isinstance(point, str) else self.label(point)

    def short_name(self, point: int | str) -> str:
        """Return the label of a bin for an axis or a cell, where there is little room.

        Parameters
        ----------
        point : int or str
            The bin as an answer holds it.

        Returns
        -------
        str
            The short label.

        Raises
        ------
        UnknownArgument
            If the bin is left out.
        """
        return self.name(point)

    def parts(self, point: int | str) -> tuple[str, ...]:
        """Return the label of a bin in each column.

        Parameters
        ----------
        point : int or str
            The bin as an answer holds it.

        Returns
        -------
        tuple of str
            One label for each column.

        Raises
        ------
        UnknownArgument
            If the bin is left out.
        """
        return (self.name(point),)

    def holds(self, points: Sequence[object]) -> bool:
        """Return whether an answer can hold all of these as bins.

        Parameters
        ----------
        points : sequence of int or str
            Bins as an answer holds them.

        Returns
        -------
        bool
            True where each is a bin of the domain.

        Raises
        ------
        UnknownArgument
            If the bins are left out.
        """
        size = self.size
        return all(isinstance(point, int) and 0 <= point < size for point in points)

    def short_label(self, index: int) -> str:
        """Return the label of a bin for an axis.

        Parameters
        ----------
        index : int
            The number of the bin, from 0.

        Returns
        -------
        str
            The label.

        Raises
        ------
        UnknownArgument
            If the number is left out.
        """
        return self.label(index)

    def told(self, label: str) -> str:
        """Return a label as it stands on a page: chosen names as they are, numbers with commas.

        Parameters
        ----------
        label : str
            A label of the domain.

        Returns
        -------
        str
            The text for the page.

        Raises
        ------
        UnknownArgument
            If the label is left out.
        """
        return label

    def told_range(self, low: str, high: str) -> str:
        """Return a stretch of bins as it stands on a page: the numbers at both ends are written alike.

        Parameters
        ----------
        low, high : str
            The labels of the first and the last bin.

        Returns
        -------
        str
            The text for the page.

        Raises
        ------
        UnknownArgument
            If a label is left out.
        """
        return f"{self.told(low)} to {self.told(high)}"

    @property
    def text(self) -> str:
        """All bins in a few words: `0, 1, …, 40, over 40`."""
        raise NotImplementedError

    @property
    def choices(self) -> str:
        """All bins as a question names them: `0, 1, …, 40 or more than 40`."""
        raise NotImplementedError

    @property
    def countable(self) -> bool:
        """Whether a bin is a number of what the column is called, so that a unit can have `3 visits`."""
        return False

    @property
    def each(self) -> str:
        """The noun of one bin, after `each`: `month`, `number of visits`, `combination of month and city`."""
        words = self.columns_text.replace("_", " ")
        return f"number of {words}" if self.countable else words

    @property
    def items(self) -> str:
        """The noun of several bins as items of a list: `destinations`, `values of visits`."""
        words = self.columns_text.replace("_", " ")
        return f"values of {words}" if words.endswith("s") or " " in words else plural(words)

    @property
    def python(self) -> str:
        """The call that makes this domain."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the saved form.

        Returns
        -------
        dict
            The kind and the arguments of the call that makes the domain, as plain texts.
        """
        raise NotImplementedError

    @property
    def by_labels(self) -> Domain:
        """The same bins, for a page that finds them by itself: stretches of time by their labels alone."""
        return self

    def index(self, label: object) -> int:
        """Return the number of the bin that a value belongs to.

        Parameters
        ----------
        label : int, float, str or Fraction
            A value, or the label of a bin.

        Returns
        -------
        int
            The number of the bin, from 0.

        Raises
        ------
        DomainError
            If no bin has this value.
        """
        raise NotImplementedError

    def ends(self, low: object, high: object) -> tuple[int, int]:
        """Return the first and the last bin of a range.

        Parameters
        ----------
        low, high : int, float, str or Fraction
            The labels of its two ends.

        Returns
        -------
        tuple of int
            The numbers of both bins.

        Raises
        ------
        DomainError
            If no bin has one of the labels.
        """
        return self.index(low), self.index(high)

    def run(self, labels: range) -> range | None:
        """Return the bins of whole numbers in a row, where each has a bin of its own that follows the one before.

        Parameters
        ----------
        labels : range
            The whole numbers.

        Returns
        -------
        range or None
            None where the labels must be looked up one by one.

        Raises
        ------
        UnknownArgument
            If the labels are left out.
        """
        return None

    def several(self, labels: Sequence[object]) -> Sequence[int] | None:
        """Return the bins of many labels, where they can be found at once.

        Parameters
        ----------
        labels : sequence
            The labels.

        Returns
        -------
        sequence of int or None
            None where the labels must be looked up one by one.

        Raises
        ------
        UnknownArgument
            If the labels are left out.
        """
        return None

    @property
    def labels(self) -> list[str]:
        """The labels of all bins, in order."""
        return [self.label(index) for index in range(self.size)]

    @property
    def short_labels(self) -> list[str]:
        """The labels of all bins for an axis, in order."""
        return [self.short_label(index) for index in range(self.size)]

    def __mul__(self, other: Domain) -> ProductDomain:
        return Domain.product(self, other)

    # ------------------------------------------------------------ makers

    @staticmethod
    @plain_arguments
    def integers(
        low: Number,
        high: Number,
        *,
        column: str,
        underflow: bool = False,
        overflow: bool = False,
        missing: bool = False,
        malformed: bool = False,
    ) -> IntegerDomain:
        """Declare one bin for each of the whole numbers low..high.

        Parameters
        ----------
        low, high : int
            The first and the last of them.
        column : str
            The column that is counted.
        underflow, overflow : bool
            Whether numbers below `low`, and above `high`, have a bin of their own.
        missing : bool
            Whether rows without a value have a bin.
        malformed : bool
            Whether texts that are no number have a bin, labelled `malformed`. For columns whose numbers are read from
            texts: those of a CSV file, and columns of texts that the schema declares `number`.

        Returns
        -------
        IntegerDomain

        Raises
        ------
        DomainError
            If an end is no whole number, or the first one is the larger.

        Notes
        -----
        A value that has no bin is not counted, and nothing tells that it is there. So it is with a number that is not
        whole: it is a number, and no bin is declared for it.

        Examples
        --------
        >>> Domain.integers(0, 2, column="age", overflow=True, missing=True, malformed=True).labels
        ['0', '1', '2', 'over 2', 'missing', 'malformed']
        """
        rules = [f"{name} must be a whole number" for name in ("low", "high")]
        ends = [
            limit(value, name, rule=rule, step="type digits alone")
            for value, name, rule in zip((low, high), ("low", "high"), rules, strict=True)
        ]
        for end, rule in zip(ends, rules, strict=True):
            if end.denominator != 1:
                raise DomainError.of(text(end), rule, "use Domain.intervals instead")
        if ends[0] > ends[1]:
            raise DomainError.of(
                " to ".join(map(text, ends)), "an integer domain must not be reversed", "write the smaller end first"
            )
        flags = _flags(underflow, overflow, missing, malformed)
        return IntegerDomain(column_name(column), int(ends[0]), int(ends[1]), *flags)

    @staticmethod
    @plain_arguments
    def intervals(
        edges: Iterable[Number],
        *,
        column: str,
        underflow: bool = False,
        overflow: bool = False,
        missing: bool = False,
        malformed: bool = False,
    ) -> IntervalDomain:
        """Declare the intervals [e0, e1), [e1, e2), …; the last one contains its right end.

        Parameters
        ----------
        edges : list of numbers
            Increasing; at least two.
        column : str
            The column that is counted.
        underflow, overflow : bool
            Whether numbers below the first edge, and above the last one, have a bin of their own.
        missing : bool
            Whether rows without a value have a bin.
        malformed : bool
            Whether texts that are no number have a bin, as for `Domain.integers`.

        Returns
        -------
        IntervalDomain

        Raises
        ------
        DomainError
            If there are fewer than two edges, or they do not increase.

        Examples
        --------
        >>> Domain.intervals(["0", "0.5", "1"], column="share", malformed=True).labels
        ['0 to below 0.5', '0.5 to 1', 'malformed']
        """
        exact = tuple(one_of(edge, limit, f"edge {place}") for place, edge in enumerate(_listed(edges), 1))
        if len(exact) < 2:
            raise DomainError.of(
                f"{len(exact)} edges",
                "an interval domain needs at least two edges",
                "write edges=[0, 1] for one interval",
            )
        for left, right in pairwise(exact):
            if left >= right:
                raise DomainError.of(
                    f"{text(left)}, {text(right)}", "edges must increase, so that intervals do not overlap", "sort them"
                )
        return IntervalDomain(column_name(column), exact, *_flags(underflow, overflow, missing, malformed))

    @staticmethod
    @plain_arguments
    def times(
        start: str,
        end: str,
        *,
        by: str,
        column: str,
        underflow: bool = False,
        overflow: bool = False,
        missing: bool = False,
        malformed: bool = False,
    ) -> TimeDomain:
        """Declare stretches of time, one bin for each hour, day, week, month, quarter or year.

        Parameters
        ----------
        start, end : str
            Where the first bin begins, and where the last one ends, as calendars write times: "2012", "2012-02-29", or
            "2012-02-29 13:00".
        by : {"hour", "day", "week", "month", "quarter", "year"}
            The length of a bin. Weeks begin on the day on which the first one does.
        column : str
            The column that is counted: of dates, or of times without a zone.
        underflow, overflow : bool, default False
            Whether times before `start`, and from `end` on, have a bin of their own.
        missing : bool, default False
            Whether rows without a value have a bin.
        malformed : bool, default False
            Whether texts that are no date have a bin, in a column whose dates are read from texts.

        Returns
        -------
        TimeDomain
            The declared bins, in order.

        Raises
        ------
        DomainError
            If the times are reversed, `by` is unknown, or an end lies inside a bin.

        Examples
        --------
        >>> Domain.times("2012", "2013", by="quarter", column="left").labels
        ['2012 Q1', '2012 Q2', '2012 Q3', '2012 Q4']
        """
        if by not in times.BY:
            raise DomainError.of(
                as_given(by), f"by must be one of {', '.join(times.BY)}", meant(by, times.BY, 'write by="month"')
            )
        first, last = _instant(start, "start"), _instant(end, "end")
        if first >= last:
            both = f"{times.written(first)} to {times.written(last)}"
            raise DomainError.of(both, "times must not be reversed", "write the earlier one first")
        if not times.begins(first, by):
            step = "write its first day, or its first minute"
            raise DomainError.of(times.written(first), f"start must be where {times.an(by)} begins", step)
        times.edges(first, last, by)  # refuses an end inside a bin
        return TimeDomain(column_name(column), first, last, by, *_flags(underflow, overflow, missing, malformed))

    @staticmethod
    @plain_arguments
    def categories(
        labels: Iterable[object], *, column: str, other: bool = False, missing: bool = False
    ) -> CategoryDomain:
        """Declare one bin per label, in the order given.

        Parameters
        ----------
        labels : list
            Texts or numbers, all different. Numbers are matched as numbers: 1 and 1.0 are one label.
        column : str
            The column that is counted.
        other : bool, default False
            Whether all other values have a bin, labelled `other`.
        missing : bool, default False
            Whether rows without a value have a bin.

        Returns
        -------
        CategoryDomain
            The declared bins, in order.

        Raises
        ------
        DomainError
            If there are no labels, two are alike, or one is no text and no number.

        Examples
        --------
        >>> Domain.categories(["yes", "no"], column="smokes", other=True).labels
        ['yes', 'no', 'other']
        """
        plain = tuple(one_of(label, category_text, f"label {at}") for at, label in enumerate(_listed(labels), 1))
        if not plain:
            raise DomainError.of(
                "no labels", "a category domain needs at least one label", 'write labels=["yes", "no"]'
            )
        flags = _flags(other, missing)
        beside = [name for name, on in zip(("other", "missing"), flags, strict=True) if on]
        seen: dict[str, str] = {name: f"the bin {name}" for name in beside}
        for place, label in enumerate(plain, 1):
            if label in seen:  # by number: a list may be a pasted column
                clash = "give that label another name" if label in beside else "leave one of them out"
                raise DomainError.of(f"{seen[label]} and label {place} alike", "labels must differ", clash)
            seen[label] = f"label {place}"
        return CategoryDomain(column_name(column), plain, *flags)

    @staticmethod
    @plain_arguments
    def keys(*, column: str) -> KeyDomain:
        """Take the values of a column as they come, unknown beforehand.

        Parameters
        ----------
        column : str
            The column that is counted.

        Returns
        -------
        KeyDomain
            A domain without declared bins, for mechanisms that never show an empty bin.

        Raises
        ------
        DomainError
            If the column is no name.

        Notes
        -----
        Values are matched as text, numbers in their shortest exact form; missing values are dropped.

        Examples
        --------
        >>> Domain.keys(column="dest").declared
        False
        """
        return KeyDomain(column_name(column))

    @staticmethod
    @plain_arguments
    def product(*factors: Domain) -> ProductDomain:
        """Combine every bin of each domain with every bin of the others: counts over two columns or more.

        Parameters
        ----------
        *factors : Domain
            Domains of different columns. A product among them stands for its own factors.

        Returns
        -------
        ProductDomain
            The combinations; the last column runs fastest.

        Raises
        ------
        DomainError
            If a factor is no domain, a column comes twice, or there are too many factors or bins.

        Notes
        -----
        With unknown keys among the factors the bins are unknown, too: each bin of the declared columns, with every key
        that occurs in it.

        Examples
        --------
        >>> dests = Domain.integers(1, 12, column="month") * Domain.keys(column="dest")
        >>> dests.declared, dests.size_text
        (False, 'unknown keys in 12 bins')
        """
        flat: list[Domain] = []
        for factor in factors:
            if not is_domain(factor):
                raise DomainError.of(
                    as_given(factor),
                    "a product is made of one-column domains",
                    "make each with dv.Domain.integers, intervals, times, categories or keys",
                )
            flat += factor.factors
        return ProductDomain(tuple(flat))

    @staticmethod
    @plain_arguments
    def from_json(data: Mapping[str, Any]) -> Domain:
        """Read the domain that `to_json` wrote.

        Parameters
        ----------
        data : dict
            The saved form.

        Returns
        -------
        Domain
            The same domain.

        Raises
        ------
        DomainError
            If the data are not what `to_json` writes.

        Examples
        --------
        >>> bins = Domain.integers(0, 2, column="age")
        >>> Domain.from_json(bins.to_json()) == bins
        True
        """
        kind = data.get("kind") if isinstance(data, Mapping) else kind_of(data)
        if not isinstance(data, Mapping) or not isinstance(kind, str) or kind not in WRITTEN:
            raise DomainError.of(
                kind,
                f"a saved domain must be of a known kind: {', '.join(WRITTEN)}",
                "write what domain.to_json() returns",
            )
        required, optional = WRITTEN[kind]
        given = {name: value for name, value in data.items() if name != "kind"}
        for name in required:
            if name not in given:
                raise DomainError.of(
                    "none", f"a saved domain of {kind} must have {name}", "write what domain.to_json() returns"
                )
        for name in given:
            if name not in (*required, *optional):
                raise DomainError.of(
                    name, f"a saved domain of {kind} must have nothing else", "write what domain.to_json() returns"
                )
        if kind == "product":
            return _saved_product(given)
        maker: Callable[..., Domain] = getattr(Domain, kind)
        return maker(**given)


@dataclass(frozen=True)
class _OneColumn(Domain):
    column: str

    def __post_init__(self) -> None:
        """The makers read what a person types; whoever makes a domain without them must give it as they leave it."""
        if not all(_is_kept(part.name, getattr(self, part.name)) for part in fields(self)):
            raise DomainError.of(
                name_of(type(self)),
                "a domain is made from plain texts and numbers",
                "use dv.Domain.integers and the like",
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True)
class IntegerDomain(_OneColumn):
    kind: ClassVar[str] = "integers"
    needs: ClassVar[str] = "number"
    low: int
    high: int
    underflow: bool = False
    overflow: bool = False
    missing: bool = False
    malformed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            raise DomainError.of(
                f"{self.low} to {self.high}", "an integer domain must not be reversed", "write the smaller end first"
            )

    @property
    def ordered(self) -> bool:
        return True

    @property
    def inner(self) -> int:
        return self.high - self.low + 1

    @property
    def bins_in_order(self) -> range:
        return range(self.underflow + self.inner + self.overflow)

    def numbers_of(self, index: int) -> tuple[Fraction | None, Fraction | None]:
        number = Fraction(self.low + index - self.underflow)
        return _closed(self, index, number, number, Fraction(self.low - 1), Fraction(self.high + 1))

    @property
    def size(self) -> int:
        return self.inner + self.underflow + self.overflow + self.missing + self.malformed

    def label(self, index: int) -> str:
        return _label(self, index, str(self.low + index - self.underflow), f"under {self.low}", f"over {self.high}")

    def told(self, label: str) -> str:
        return told_number(label)

    def told_range(self, low: str, high: str) -> str:
        return told_number(f"{low} to {high}")

    def short_label(self, index: int) -> str:
        return _label(self, index, str(self.low + index - self.underflow), f"<{self.low}", f"{self.high + 1}+")

    @property
    def labels(self) -> list[str]:
        return _around(self, self._inner_labels, f"under {self.low}", f"over {self.high}")

    @property
    def short_labels(self) -> list[str]:
        return _around(self, self._inner_labels, f"<{self.low}", f"{self.high + 1}+")

    @property
    def _inner_labels(self) -> list[str]:
        """Made at once: there may be half a million, which would take seconds one by one."""
        return [str(value) for value in range(self.low, self.high + 1)]

    @plain_arguments
    def index(self, label: object) -> int:
        if (beside := _beside(self, label)) is not None:
            return beside
        number = limit(label, "a label", step="name one of its bins")
        if number.denominator == 1 and self.low <= number <= self.high:
            return int(number) - self.low + self.underflow
        step = "name one of these"
        for beyond, on, place in (
            (number < self.low, self.underflow, 0),
            (number > self.high, self.overflow, self.underflow + self.inner),
        ):
            if beyond and on:  # that bin is of all numbers beyond, and says nothing of this one
                step = f'name the bin of all such numbers: "{self.label(place)}"'
        raise DomainError.of(text(number), f"a label must be one of {self.text}", step)

    def run(self, labels: range) -> range | None:
        if (
            type(labels) is not range
            or not labels
            or labels.step != 1
            or labels[0] < self.low
            or labels[-1] > self.high
        ):
            return None
        first = self.underflow - self.low
        return range(first + labels.start, first + labels.stop)

    def several(self, labels: Sequence[object]) -> Sequence[int] | None:
        if {*map(type, labels)} != {int}:
            return None
        numbers, first = cast(Sequence[int], labels), self.underflow - self.low
        if min(numbers) < self.low or max(numbers) > self.high:
            return None
        return [number + first for number in numbers] if first else numbers

    @property
    def text(self) -> str:
        return told_number(", ".join(_around(self, self._few, f"under {self.low}", f"over {self.high}")))

    @property
    def choices(self) -> str:
        fewer = "fewer" if self.countable else "less"
        around = _around(self, self._few, f"{fewer} than {self.low}", f"more than {self.high}")
        return told_number(_either(around, self.overflow or self.missing or self.malformed))

    @property
    def countable(self) -> bool:
        """So it is where the column is named in the plural: `visits`, not `status` or `diagnosis`."""
        return self.low >= 0 and self.column.endswith("s") and not self.column.endswith(("ss", "us", "is"))

    @property
    def _few(self) -> list[str]:
        values = [str(self.low + step) for step in range(min(self.inner, 3))]
        return [*values[:2], "…", str(self.high)] if self.inner > 3 else values

    @property
    def python(self) -> str:
        return f"dv.Domain.integers({self.low}, {self.high}, column={quoted(self.column)}{_extras(self)})"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column, "low": str(self.low), "high": str(self.high), **_edges(self)}


@dataclass(frozen=True)
class IntervalDomain(_OneColumn):
    kind: ClassVar[str] = "intervals"
    needs: ClassVar[str] = "number"
    edges: tuple[Fraction, ...] = field(default=())
    underflow: bool = False
    overflow: bool = False
    missing: bool = False
    malformed: bool = False

    @property
    def ordered(self) -> bool:
        return True

    @property
    def inner(self) -> int:
        return len(self.edges) - 1

    @property
    def bins_in_order(self) -> range:
        return range(self.underflow + self.inner + self.overflow)

    def numbers_of(self, index: int) -> tuple[Fraction | None, Fraction | None]:
        place = min(max(0, index - self.underflow), self.inner - 1)
        return _closed(self, index, self.edges[place], self.edges[place + 1], self.edges[0], self.edges[-1])

    @property
    def size(self) -> int:
        return self.inner + self.underflow + self.overflow + self.missing + self.malformed

    def _interval(self, index: int) -> str:
        place = index - self.underflow
        if not 0 <= place < self.inner:
            return ""
        left, right = (text(self.edges[place + side]) for side in (0, 1))
        return f"{left} to {right}" if place == self.inner - 1 else f"{left} to below {right}"

    def label(self, index: int) -> str:
        ends = f"under {text(self.edges[0])}", f"over {text(self.edges[-1])}"
        return _label(self, index, self._interval(index), *ends)

    def told(self, label: str) -> str:
        return told_number(label)

    def told_range(self, low: str, high: str) -> str:
        return told_number(f"{low} to {high}")

    def short_label(self, index: int) -> str:
        place = index - self.underflow
        inner = f"{text(self.edges[place])}–{text(self.edges[place + 1])}" if 0 <= place < self.inner else ""
        return _label(self, index, inner, f"<{text(self.edges[0])}", f">{text(self.edges[-1])}")

    @plain_arguments
    def index(self, label: object) -> int:
        if (beside := _beside(self, label)) is not None:
            return beside
        number = limit(label, "a label", step="name one of its bins")
        if number < self.edges[0]:
            if self.underflow:
                return 0
        elif number > self.edges[-1]:
            if self.overflow:
                return self.underflow + self.inner
        else:
            return min(bisect_right(self.edges, number), self.inner) - 1 + self.underflow
        raise DomainError.of(text(number), f"a label must be one of {self.text}", "name one of these")

    @property
    def text(self) -> str:
        ends = f"under {text(self.edges[0])}", f"over {text(self.edges[-1])}"
        return told_number(", ".join(_around(self, self._few, *ends)))

    @property
    def each(self) -> str:
        return f"range of {self.column.replace('_', ' ')}"

    @property
    def items(self) -> str:
        return f"ranges of {self.column.replace('_', ' ')}"

    @property
    def choices(self) -> str:
        ends = f"less than {text(self.edges[0])}", f"more than {text(self.edges[-1])}"
        return told_number(_either(_around(self, self._few, *ends), self.overflow or self.missing or self.malformed))

    @property
    def _few(self) -> list[str]:
        first, last = self._interval(self.underflow), self._interval(self.underflow + self.inner - 1)
        return [first] if self.inner == 1 else [first, last] if self.inner == 2 else [first, "…", last]

    @property
    def python(self) -> str:
        edges = ", ".join(quoted(text(edge)) if edge.denominator != 1 else text(edge) for edge in self.edges)
        return f"dv.Domain.intervals([{edges}], column={quoted(self.column)}{_extras(self)})"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column, "edges": [text(edge) for edge in self.edges], **_edges(self)}


@dataclass(frozen=True)
class TimeDomain(_OneColumn):
    """Stretches of time, from the microsecond `start` to below `end`."""

    kind: ClassVar[str] = "times"
    needs: ClassVar[str] = "time"
    start: int
    end: int
    by: str
    underflow: bool = False
    overflow: bool = False
    missing: bool = False
    malformed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        times.edges(self.start, self.end, self.by)

    @property
    def ordered(self) -> bool:
        return True

    @property
    def usual_ranges(self) -> tuple[tuple[int, str], ...]:
        usual = (
            (length, f"a {by}" if many == 1 else f"{many} {by}s") for length, many, by in times.USUAL_RANGES[self.by]
        )
        return tuple(one for one in usual if one[0] < len(self.bins_in_order))

    @property
    def edges(self) -> tuple[int, ...]:
        """Where each bin begins, and where the last one ends: microseconds since 1970 began."""
        return times.edges(self.start, self.end, self.by)

    @property
    def steps(self) -> IntervalDomain:
        """The same bins of microseconds: the last one contains its right end, the microsecond before `end`."""
        *first, end = self.edges
        edges = tuple(map(Fraction, [*first, end - 1]))
        return IntervalDomain(self.column, edges, self.underflow, self.overflow, self.missing, self.malformed)

    @property
    def inner(self) -> int:
        return len(self.edges) - 1

    @property
    def bins_in_order(self) -> range:
        return range(self.underflow + self.inner + self.overflow)

    @property
    def size(self) -> int:
        return self.inner + self.underflow + self.overflow + self.missing + self.malformed

    def label(self, index: int) -> str:
        place = index - self.underflow
        inner = times.label(self.edges[place], self.by) if 0 <= place < self.inner else ""
        return _label(self, index, inner, *self._beside)

    @property
    def by_labels(self) -> CategoryDomain:
        return CategoryDomain(self.column, tuple(self.labels))

    @property
    def _beside(self) -> tuple[str, str]:
        return f"before {times.written(self.start)}", f"{times.written(self.end)} or later"

    @plain_arguments
    def index(self, label: object) -> int:
        """By a label, or by any date or time that lies in the bin. A text of more than a bin is refused."""
        first, last = self._span(label)
        if first != last:
            raise DomainError.of(
                str(label),
                f"a label is of one {self.by}, and this is of several",
                "ask for a range, or name one of them",
            )
        return first

    def ends(self, low: object, high: object) -> tuple[int, int]:
        """From the first bin of the one text to the last bin of the other: a month ends with its last day."""
        return self._span(low)[0], self._span(high)[1]

    def _span(self, label: object) -> tuple[int, int]:
        """The first and the last bin of what a label names."""
        beside = {self.label(place): place for place in (0, *range(self.underflow + self.inner, self.size))}
        if isinstance(label, str) and label in beside:
            return (beside[label],) * 2
        if isinstance(label, str):
            given = times.as_date(label, self.by)
            if times.looks_like_time(given):
                first, last = (self._place(at) for at in times.span(given, "a label"))
                if first is not None and last is not None:
                    return first, last
        said = label if isinstance(label, str) else kind_of(label)
        raise DomainError.of(said, f"a label must be one of {self.text}", "name one of these, or a day in it")

    def _place(self, at: int) -> int | None:
        """The bin of an instant; None where it has none."""
        if at < self.start:
            return 0 if self.underflow else None
        if at >= self.end:
            return self.underflow + self.inner if self.overflow else None
        return bisect_right(self.edges, at) - 1 + self.underflow

    @property
    def text(self) -> str:
        return ", ".join(_around(self, self._few, *self._beside))

    @property
    def choices(self) -> str:
        return _either(_around(self, self._few, *self._beside), self.overflow or self.missing or self.malformed)

    @property
    def _few(self) -> list[str]:
        count, first = self.inner, self.underflow
        shown = range(count) if count <= 3 else (0, 1, count - 1)
        labels = [self.label(first + place) for place in shown]
        return labels if count <= 3 else [*labels[:2], "…", labels[2]]

    @property
    def each(self) -> str:
        words = self.column.replace("_", " ")
        return words if words == self.by else f"{self.by} of {words}"

    @property
    def items(self) -> str:
        words = self.column.replace("_", " ")
        return f"{self.by}s" if words == self.by else f"{self.by}s of {words}"

    @property
    def python(self) -> str:
        ends = ", ".join(quoted(times.written(end)) for end in (self.start, self.end))
        return f"dv.Domain.times({ends}, by={quoted(self.by)}, column={quoted(self.column)}{_extras(self)})"

    def to_json(self) -> dict[str, Any]:
        ends = {"start": times.written(self.start), "end": times.written(self.end)}
        return {"kind": self.kind, "column": self.column, **ends, "by": self.by, **_edges(self)}


OTHER: Final = "other"
"""The label of the bin for whatever is not declared; no declared label is called so where there is such a bin."""

ALL_OTHERS: Final = "all others"
"""The name in a sentence for the bin of all labels that are not declared."""


@dataclass(frozen=True)
class CategoryDomain(_OneColumn):
    kind: ClassVar[str] = "categories"
    needs: ClassVar[str] = "any"
    values: tuple[str, ...] = field(default=())
    other: bool = False
    missing: bool = False

    @property
    def size(self) -> int:
        return len(self.values) + self.other + self.missing

    def label(self, index: int) -> str:
        if not 0 <= index < self.size:
            raise no_bin(index)
        if index < len(self.values):
            return self.values[index]
        return self._beside[index - len(self.values)]

    @plain_arguments
    def index(self, label: object) -> int:
        """By a declared label, or the name of a bin beside these: `other` for all others, `missing`."""
        plain = category_text(label)
        if plain in self.values:
            return self.values.index(plain)
        beside = self._beside
        if plain in beside:
            return len(self.values) + beside.index(plain)
        step = f'name one of these; "{OTHER}" is the bin of all others' if self.other else "name one of these"
        raise DomainError.of(as_name(plain), f"a label must be one of {self.text}", meant(plain, self.values, step))

    @property
    def _beside(self) -> list[str]:
        """The names of the bins after the declared ones."""
        return [name for name, on in ((OTHER, self.other), (MISSING, self.missing)) if on]

    @property
    def text(self) -> str:
        return ", ".join(self._few)

    @property
    def choices(self) -> str:
        few = self._few
        if self.other and ALL_OTHERS not in self.values:
            few[min(len(self.values), 4)] = ALL_OTHERS
        return _either(few, self.other or self.missing)

    @property
    def _few(self) -> list[str]:
        values = list(self.values) if len(self.values) <= 4 else [*self.values[:2], "…", self.values[-1]]
        return [*values, *(["other"] if self.other else []), *(["missing"] if self.missing else [])]

    @property
    def python(self) -> str:
        labels = ", ".join(quoted(value) for value in self.values)
        extras = "".join(f", {name}=True" for name in ("other", "missing") if getattr(self, name))
        return f"dv.Domain.categories([{labels}], column={quoted(self.column)}{extras})"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "column": self.column,
            "labels": list(self.values),
            "other": self.other,
            "missing": self.missing,
        }


@dataclass(frozen=True)
class KeyDomain(_OneColumn):
    kind: ClassVar[str] = "keys"
    needs: ClassVar[str] = "any"

    @property
    def declared(self) -> bool:
        return False

    @property
    def size(self) -> int:
        raise _undeclared(self)

    @property
    def size_text(self) -> str:
        return "unknown keys"

    def label(self, index: int) -> str:
        raise no_bin(index)

    @plain_arguments
    def index(self, label: object) -> int:
        raise _unnumbered(label)

    def point(self, label: object) -> str:
        return category_text(label)

    def holds(self, points: Sequence[object]) -> bool:
        return set(map(type, points)) <= {str}

    @property
    def text(self) -> str:
        return "every value that occurs often enough"

    @property
    def choices(self) -> str:
        return self.text

    @property
    def python(self) -> str:
        return f"dv.Domain.keys(column={quoted(self.column)})"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column}


@dataclass(frozen=True)
class ProductDomain(Domain):
    """Bins are numbered with the last factor running fastest.

    Where some factors are unknown keys no bin has a number. An answer holds a bin as a text then: the number of the bin
    of the declared factors, in as many digits as the last one has, and the key; of several keys each is written by
    `ESCAPES` and they stand with `APART` between them. So no two bins are one text, and texts in the order of their
    code points are in the order of the declared bins.
    """

    kind: ClassVar[str] = "product"
    axes: tuple[Domain, ...]

    def __post_init__(self) -> None:
        one_column = (IntegerDomain, IntervalDomain, CategoryDomain, TimeDomain, KeyDomain)
        if type(self.axes) is not tuple or not all(type(axis) in one_column for axis in self.axes):
            raise DomainError.of(as_given(self.axes), "a product is made of one-column domains", "use *")
        if len(self.axes) < 2:
            raise DomainError.of(
                f"{len(self.axes)} factors",
                "a product needs at least two factors",
                "multiply two domains: one * another",
            )
        known = prod(axis.size for axis in self.axes if axis.declared)
        if len(self.axes) > MOST_FACTORS or known > 1 << MOST_FACTORS:
            raise DomainError.of(
                f"{len(self.axes):,} factors",
                f"a product has at most {MOST_FACTORS:,} factors and 2^{MOST_FACTORS:,} bins",
                "take fewer columns, or fewer bins of each",
            )
        if not self.declared and known > MOST_BESIDE_KEYS:
            raise DomainError.of(
                bins_text(known), "a product with unknown keys has at most 2^62 declared bins", "declare fewer bins"
            )
        seen: set[str] = set()
        for name in self.columns:
            if name in seen:
                raise DomainError.of(name, "the columns of a product must differ", "take each column once")
            seen.add(name)

    @property
    def factors(self) -> tuple[Domain, ...]:
        return self.axes

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for axis in self.axes for name in axis.columns)

    @cached_property
    def declared(self) -> bool:
        return all(axis.declared for axis in self.axes)

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """The columns of unknown keys, in order."""
        return tuple(axis.column for axis in self.axes if isinstance(axis, KeyDomain))

    @cached_property
    def known(self) -> Domain | None:
        """The product of the declared factors, or the only one; None where all are unknown keys."""
        axes = tuple(axis for axis in self.axes if axis.declared)
        return ProductDomain(axes) if len(axes) > 1 else axes[0] if axes else None

    @cached_property
    def places(self) -> int:
        """How many bins the declared factors have together."""
        return 1 if self.known is None else self.known.size

    @cached_property
    def digits(self) -> int:
        """How many digits the number of a declared bin is written with, before the keys."""
        return 0 if self.known is None else len(str(self.places - 1))

    def keyed(self, place: int, keys: Sequence[str]) -> str:
        """The text of a bin: of one of the declared factors, with these keys."""
        number = f"{place:0{self.digits}d}" if self.digits else ""
        return number + (keys[0] if len(keys) == 1 else APART.join(map(_escaped, keys)))

    def unkeyed(self, point: str) -> tuple[int, list[str]] | None:
        """The declared bin and the keys of such a text; None where it is of no bin."""
        digits = self.digits
        number, rest = point[:digits], point[digits:]
        if digits and not (len(number) == digits and number.isascii() and number.isdecimal()):
            return None
        place, many = int(number) if digits else 0, len(self.unknown)
        keys = [rest] if many == 1 else list(map(_unescaped, rest.split(APART)))
        fits = len(keys) == many and place < self.places
        return (place, keys) if fits and self.keyed(place, keys) == point else None

    @property
    def size(self) -> int:
        if not self.declared:
            raise _undeclared(self)
        return prod(axis.size for axis in self.axes)

    @property
    def size_text(self) -> str:
        if self.declared:
            return bins_text(self.size)
        return "unknown keys" if self.known is None else f"unknown keys in {self.known.size_text}"

    @property
    def by_labels(self) -> ProductDomain:
        return ProductDomain(tuple(axis.by_labels for axis in self.axes))

    def label(self, index: int) -> str:
        if not self.declared or not 0 <= index < self.size:
            raise no_bin(index)
        return BETWEEN.join(self._labels(index, self.axes))

    def _labels(self, index: int, axes: Sequence[Domain], *, brief: bool = False) -> list[str]:
        """The labels of a bin of these axes, one for each."""
        labels = []
        for axis in reversed(axes):
            index, digit = divmod(index, axis.size)
            labels.append(axis.short_label(digit) if brief else axis.label(digit))
        return labels[::-1]

    @plain_arguments
    def index(self, label: object) -> int:
        if not self.declared:
            raise _unnumbered(label)
        place = 0
        for axis, one in zip(self.axes, self._each(label), strict=True):
            place = place * axis.size + axis.index(one)
        return place

    def _each(self, label: object) -> tuple[object, ...]:
        """A label of one bin, one for each column."""
        if not isinstance(label, tuple) or len(label) != len(self.axes):
            many = "a pair" if len(self.axes) == 2 else f"a tuple of {len(self.axes):,} labels"
            raise DomainError.of(
                kind_of(label), f"a label of this product is {many}", "give a tuple with a label for each column"
            )
        return label

    @plain_arguments
    def point(self, label: object) -> int | str:
        if self.declared:
            return self.index(label)
        place, keys = 0, []
        for axis, one in zip(self.axes, self._each(label), strict=True):
            if axis.declared:
                place = place * axis.size + axis.index(one)
            else:
                keys.append(category_text(one))
        return self.keyed(place, keys)

    def parts(self, point: int | str) -> tuple[str, ...]:
        return self._parts(point)

    def _parts(self, point: int | str, *, brief: bool = False) -> tuple[str, ...]:
        if isinstance(point, int):
            return tuple(self._labels(point, self.axes, brief=brief))
        found = self.unkeyed(point)
        if found is None:
            raise no_bin(point)
        place, keys = found
        known = [axis for axis in self.axes if axis.declared]
        labels, names = iter(self._labels(place, known, brief=brief)), iter(keys)
        return tuple(next(labels) if axis.declared else next(names) for axis in self.axes)

    def name(self, point: int | str) -> str:
        """With unknown keys, a label that holds the sign between two labels is quoted: no two bins look alike."""
        return self.label(point) if isinstance(point, int) else BETWEEN.join(map(_marked, self.parts(point)))

    def short_name(self, point: int | str) -> str:
        if isinstance(point, int):
            return self.label(point)
        return BETWEEN.join(map(_marked, self._parts(point, brief=True)))

    def holds(self, points: Sequence[object]) -> bool:
        if self.declared:
            return super().holds(points)
        return all(type(point) is str and self.unkeyed(point) is not None for point in points)

    def told(self, label: str) -> str:
        parts = label.split(BETWEEN)
        if len(parts) != len(self.axes):  # a name that somebody chose holds the sign between two labels
            return label
        return BETWEEN.join(axis.told(part) for axis, part in zip(self.axes, parts, strict=True))

    @property
    def text(self) -> str:
        return _product([axis.text for axis in self.axes])

    @property
    def choices(self) -> str:
        return _product([axis.choices for axis in self.axes])

    @property
    def each(self) -> str:
        return f"combination of {self._combined}"

    @property
    def items(self) -> str:
        return f"combinations of {self._combined}"

    @property
    def _combined(self) -> str:
        return _columns([axis.columns_text.replace("_", " ") if axis.countable else axis.each for axis in self.axes])

    @property
    def python(self) -> str:
        return " * ".join(axis.python for axis in self.axes)

    def to_json(self) -> dict[str, Any]:
        written = [axis.to_json() for axis in self.axes]
        if len(written) == 2:  # as it was written when there were products of two alone: an answer is known by it
            return {"kind": self.kind, "first": written[0], "second": written[1]}
        return {"kind": self.kind, "factors": written}


def _saved_product(given: Mapping[str, Any]) -> ProductDomain:
    """The product that `to_json` wrote: two factors under their names, more of them in a list."""
    if set(given) == {"first", "second"}:
        return Domain.product(Domain.from_json(given["first"]), Domain.from_json(given["second"]))
    factors = given["factors"] if set(given) == {"factors"} else ()
    if not isinstance(factors, list | tuple) or len(factors) < 3:
        raise DomainError.of(
            ", ".join(given) or "none",
            "a saved domain of product must have first and second, or three factors or more",
            "write what domain.to_json() returns",
        )
    written = [Domain.from_json(factor) for factor in factors]
    if any(len(factor.factors) != 1 for factor in written):
        raise DomainError.of(
            "a product", "a saved domain of product must have one-column factors", "write what domain.to_json() returns"
        )
    return Domain.product(*written)


# ---------------------------------------------------------------- helpers


def is_domain(thing: object) -> bool:
    """Whether this is a domain of one of the six kinds, and no subclass that counts otherwise."""
    kinds = (IntegerDomain, IntervalDomain, CategoryDomain, TimeDomain, KeyDomain, ProductDomain)
    return any(type(thing) is kind for kind in kinds)


def _is_kept(name: str, value: Any) -> bool:
    """Whether a part of a domain has the exact type, and the order, in which a maker leaves it."""
    match name:
        case "column":
            return type(value) is str and value != "" and not unwritable(value)
        case "low" | "high" | "start" | "end":
            return type(value) is int
        case "by":
            return type(value) is str and value in times.BY
        case "edges":
            exact = type(value) is tuple and all(type(edge) is Fraction for edge in value)
            return exact and len(value) >= 2 and all(left < right for left, right in pairwise(value))
        case "values":
            exact = type(value) is tuple and all(type(label) is str for label in value)
            return exact and 0 < len(value) == len(set(value))
    return type(value) is bool


def _undeclared(domain: Domain) -> DpvizError:
    return DomainError.of(
        domain.python, "this question needs declared bins", "declare them, or use a mechanism that shows no empty bin"
    )


def _unnumbered(label: object) -> DpvizError:
    return DomainError.of(kind_of(label), "keys have no numbers; they are looked up by name", "read release[label]")


def _escaped(key: str) -> str:
    """A key as it is held beside others."""
    for sign, written in ESCAPES:
        key = key.replace(sign, written)
    return key


def _unescaped(written: str) -> str:
    """The key that `_escaped` wrote."""
    for sign, held in reversed(ESCAPES):
        written = written.replace(held, sign)
    return written


def _marked(label: str) -> str:
    """A label as it stands among others of one bin: in quotes where it holds the sign between two, or begins so."""
    return quoted(label) if BETWEEN.strip() in label or label.startswith('"') else label


def bins_text(size: int) -> str:
    """`42 bins`, `2^64 bins`."""
    return f"2^{size.bit_length() - 1} bins" if size > 10**9 and size & (size - 1) == 0 else counted(size, "bin")


def _instant(value: object, name: str) -> int:
    """The instant that a text names: the first one of a day."""
    if isinstance(value, Hidden) or not isinstance(value, str):
        raise DomainError.of(kind_of(value), f"{name} must be a text", times.HOW)
    year = value.strip()
    return times.span(f"{year}-01-01" if len(year) == 4 and year.isdecimal() else year, name)[0]


def category_text(value: object, name: str = "a label") -> str:
    """How a category is matched: text as it is ("007" stays "007"), numbers in their shortest exact form, or True."""
    if isinstance(value, str | bool):
        return _writable(str(value), name)
    if not isinstance(value, numbers.Number | Hidden):
        raise DomainError.of(as_given(value), f"{name} must be a text or a number", "write a text in quotes")
    return text(limit(value, name))


def one_of(value: object, read: Callable[[Any, str], Read], name: str) -> Read:
    """Read one of a list. A refusal says which one and not what it is, for the list may be a pasted column."""
    try:
        return read(value, name)
    except ParameterError as error:
        if isinstance(value, Hidden):
            raise
        refused = DomainError.of(kind_of(value), f"{name} must be {_needed(error.rule)}", error.next_step)
    raise refused


def each_of(labels: Sequence[Any], read: Callable[[Any, str], Read]) -> list[Read]:
    """Read each of a list of labels. The refusal of a single label says what it is, as that of `release[label]`."""
    if len(labels) == 1:
        return [read(labels[0], "a label")]
    return [one_of(label, read, f"label {place} of {len(labels)}") for place, label in enumerate(labels, 1)]


def _needed(rule: str) -> str:
    """`a finite number`, of a rule that a number must meet."""
    return rule.partition(" must be ")[2] or "a number or a text"


def limit(value: Any, name: str, *, rule: str = "", step: str = NUMBER_LIKE) -> Fraction:
    """Read a number that a bin, a filter or a label is declared with. `rule` and `step` as for `exact.rational`."""
    if isinstance(value, Hidden):
        raise DomainError.of(value.kind, FROM_DATA, "write the values out")
    number = rational(value, name, rule=rule, step=step)
    if not writable(number):
        shown, kept, next_step = unwritten(number, name)
        raise DomainError.of(shown, kept, next_step)
    return number


def _writable(name: str, what: str) -> str:
    """Refuse text that cannot be written to a file."""
    if unwritable(name):
        raise DomainError.of(
            ascii(name),
            f"{what} must be text that can be written as UTF-8",
            "leave half characters (surrogates) out of it",
        )
    return name


def _listed(values: Any) -> Sequence[Any]:
    """A plain list, tuple or range; anything that smells of a data frame is refused unseen."""
    if isinstance(values, list | tuple | range):
        for value in values:
            if isinstance(value, Hidden):
                raise DomainError.of(f"a list of {kind_of(value)}", FROM_DATA, "write the values out")
        return values
    raise DomainError.of(kind_of(values), FROM_DATA, "write a list of the values")


def column_name(column: object) -> str:
    if not isinstance(column, str) or not column:
        raise DomainError.of(as_given(column), "column must be the name of a column", 'write column="visits"')
    return _writable(column, "the name of a column")


def _flags(*flags: object) -> tuple[bool, ...]:
    for flag in flags:
        if not isinstance(flag, bool):
            raise DomainError.of(
                as_given(flag),
                "underflow, overflow, other, missing and malformed are True or False",
                "write overflow=True, or leave it out",
            )
    return tuple(bool(flag) for flag in flags)


def quoted(value: str) -> str:
    """The text as Python and JSON both write it."""
    return json.dumps(value, ensure_ascii=False)


def _edges(domain: IntegerDomain | IntervalDomain | TimeDomain) -> dict[str, bool]:
    """The bins beside the declared ones. `malformed` is written where there is one: older ones keep their bytes."""
    edges = {"underflow": domain.underflow, "overflow": domain.overflow, "missing": domain.missing}
    return {**edges, "malformed": True} if domain.malformed else edges


def _extras(domain: IntegerDomain | IntervalDomain | TimeDomain) -> str:
    return "".join(f", {name}=True" for name, on in _edges(domain).items() if on)


def _beside(domain: IntegerDomain | IntervalDomain, label: object) -> int | None:
    """The bin of what is below, above, missing or malformed, by its label."""
    if not isinstance(label, str):
        return None
    places = [*([0] if domain.underflow else []), *range(domain.underflow + domain.inner, domain.size)]
    return next((place for place in places if domain.label(place) == label), None)


def no_bin(place: object) -> DpvizError:
    """The refusal of a place that a domain does not have."""
    return NoSuchBin.of(
        as_given(place), "a bin is named by its place, from 0 to domain.size - 1", "write domain.label(0)"
    )


def _label(domain: IntegerDomain | IntervalDomain | TimeDomain, index: int, inner: str, under: str, over: str) -> str:
    """The label of an ordered domain's bin: under, the inner ones, over, missing, malformed."""
    if not 0 <= index < domain.size:
        raise no_bin(index)
    place = index - domain.underflow
    if place < 0:
        return under
    if place < domain.inner:
        return inner
    if domain.overflow and place == domain.inner:
        return over
    return MALFORMED if domain.malformed and index == domain.size - 1 else MISSING


def _around(domain: IntegerDomain | IntervalDomain | TimeDomain, values: list[str], under: str, over: str) -> list[str]:
    return [
        *([under] if domain.underflow else []),
        *values,
        *([over] if domain.overflow else []),
        *([MISSING] if domain.missing else []),
        *([MALFORMED] if domain.malformed else []),
    ]


def _either(values: Sequence[str], beside: bool) -> str:
    """`0, 1 or 2`, but `0, 1, …, 40`; where a bin beside the declared ones ends the list, `…, 40 or more than 40`."""
    if len(values) == 1 or ("…" in values and not beside):
        return ", ".join(values)
    return f"{', '.join(values[:-1])} or {values[-1]}"


def _columns(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1:,} more columns"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _product(factors: Sequence[str]) -> str:
    shown = [f"({factor})" for factor in factors]
    return " × ".join(shown if len(shown) <= MOST_NAMED else [*shown[: MOST_NAMED - 2], "…", shown[-1]])


def _closed(
    domain: IntegerDomain | IntervalDomain, index: int, low: Fraction, high: Fraction, under: Fraction, over: Fraction
) -> tuple[Fraction | None, Fraction | None]:
    """The ends of a bin of numbers: an inner one, the one below, the one beyond, or neither."""
    place = index - domain.underflow
    if place < 0:
        return None, under
    if place < domain.inner:
        return low, high
    return (over, None) if domain.overflow and place == domain.inner else (None, None)


protect_module(vars())
