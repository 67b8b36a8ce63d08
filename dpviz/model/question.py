"""The subject of a question: public bins, a public filter, a dataset's name. Nothing in a question comes from the
data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from itertools import combinations
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias

from dpviz.boundary import as_given, kind_of, plain_arguments, protect_module, shown, single_arguments
from dpviz.errors import DomainError, ParameterError, UnitError, short
from dpviz.exact import Number, text, whole
from dpviz.model import times
from dpviz.model.aggregate import (
    COUNT,
    Aggregate,
    Records,
    Sum,
    UnitProfile,
    aggregate_from_json,
    is_aggregate,
)
from dpviz.model.domain import Domain, category_text, column_name, is_domain, limit, quoted
from dpviz.model.partition import MOST_PARTS, Partition
from dpviz.model.words import told
from dpviz.names import NamedClass
from dpviz.privacy.limits import Limits, checked_limits
from dpviz.privacy.unit import Unit, known_unit


@dataclass(frozen=True, slots=True)
class Between:
    """Filter a column from `low` to `high`, both included.

    Parameters
    ----------
    low, high : int, str or Fraction, optional
        The limits: numbers, or texts such as "2012-01-01" for a column of dates or times. None for no limit on that
        side; at least one is needed.

    Raises
    ------
    ParameterError
        If there is no limit, the limits are reversed, one is a date and the other a number, or a date is not written
        YYYY-MM-DD.

    Notes
    -----
    ``Between("2012-01-01", "2012-12-31")`` is all of that year, for an included day is included to its end. Limits of
    times are kept as microseconds since 1970 began.

    Examples
    --------
    >>> Between("2012-01-01", "2012-12-31").written
    {'low': '2012-01-01', 'high': '2012-12-31'}
    """

    low: Fraction | None = None
    high: Fraction | None = None
    times: bool = False

    @plain_arguments
    def __init__(self, low: Number | None = None, high: Number | None = None) -> None:
        for end in (low, high):
            if isinstance(end, str) and times.meant_as_time(end):
                raise ParameterError.of(
                    short(end, 40),
                    "a date has its year first, dashes, and two digits for the month and the day",
                    times.HOW,
                )
        dated = [isinstance(end, str) and times.looks_like_time(end) for end in (low, high)]
        if any(dated) and not all(of or end is None for of, end in zip(dated, (low, high), strict=True)):
            raise ParameterError.of(
                "a date and a number", "both limits of a filter are dates, or both are numbers", "write both alike"
            )
        object.__setattr__(self, "times", any(dated))
        ends = [
            None
            if end is None
            else Fraction(times.span(str(end), "a limit")[side])
            if dated[side]
            else limit(end, "a limit")
            for side, end in enumerate((low, high))
        ]
        if ends == [None, None]:
            raise ParameterError.of("no limits", "a range filter needs at least one limit", "write dv.Between(low=0)")
        if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
            raise ParameterError.of(
                "the later date first" if any(dated) else f"{text(ends[0])} to {text(ends[1])}",
                "a range filter must not be reversed",
                "write the earlier one first" if any(dated) else "write the smaller limit first",
            )
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])

    @property
    def written(self) -> dict[str, str]:
        """The limits by name, as they are typed."""
        ends = {"low": self.low, "high": self.high}
        tells = {"low": times.written, "high": times.written_last}
        return {
            side: tells[side](int(end)) if self.times else text(end) for side, end in ends.items() if end is not None
        }


MOST_CLASSES: Final = 1000
"""The most classes of a profile where nobody says how many."""

Condition: TypeAlias = Between | tuple[str, ...]
"""A range, or the values that pass (in the text that categories are matched by)."""


@dataclass(frozen=True)
class Question(metaclass=NamedClass):
    """Ask how many units fall into each bin of a domain, among the rows that pass a filter; or for sums, or records.

    Parameters
    ----------
    domain : Domain
        The bins.
    where : dict, optional
        A filter: column name to a value, a list of values, or a `Between`.
    aggregate : Aggregate, optional
        The count of units by default; `Question.sum`, `Question.records` and `Question.contribution_profile` make the
        others.
    by : Partition or NamedParts, optional
        Parts of the data, each of which is asked about by itself; None where all rows are asked together.
    part : int, optional
        The number of the one part that is asked; None where all are.
    limits : Limits, optional
        Contribution limits in place of those of the unit; None where the unit's hold.

    Raises
    ------
    ParameterError
        If the domain, the filter, the aggregate, the parts or the limits are of another kind or contradict each other.
    DomainError
        If a question for records has undeclared bins, or a column makes both the parts and the bins.

    Examples
    --------
    >>> Question(Domain.integers(0, 40, column="visits"), where={"sex": "f"}).text
    'visits, 41 bins, where sex is f'
    """

    domain: Domain
    where: Mapping[str, Condition] = field(default_factory=dict)
    aggregate: Aggregate = COUNT
    by: Partition | NamedParts | None = None
    part: int | None = None
    limits: Limits | None = None

    def __post_init__(self) -> None:
        if not is_domain(self.domain):
            raise ParameterError.of(
                as_given(self.domain), "a question must be a Domain", "make one with dv.Domain.integers(...)"
            )
        if self.by is not None and type(self.by) not in (Partition, NamedParts):
            raise ParameterError.of(as_given(self.by), "by= names disjoint parts", "write by=dv.Partition(domain)")
        if not is_aggregate(self.aggregate):
            raise ParameterError.of(
                as_given(self.aggregate), "a question counts, sums or asks for records", "use dv.Question.sum(...)"
            )
        if not self.aggregate.additive and not self.domain.declared:
            raise DomainError.of(
                self.domain.python,
                f"a question for {self.aggregate.noun} needs declared bins",
                "declare them with dv.Domain.categories(...)",
            )
        self.aggregate.fallback(self.domain)  # refuses what stands for no bin
        where = shown(self.where)
        if not isinstance(where, dict):
            raise ParameterError.of(
                as_given(where), "where must map columns to values", 'write where={"age": dv.Between(low, high)}'
            )
        filters = {column_name(name): condition(value) for name, value in where.items()}
        object.__setattr__(self, "where", MappingProxyType(dict(sorted(filters.items()))))
        if self.limits is not None:
            checked_limits(self.limits)
        if self.aggregate.profiled is not None:
            self._check_profile()
        if self.by is not None:
            self._check_parts(self.by)

    def _check_profile(self) -> None:
        if self.by is not None or self.limits is not None:
            raise ParameterError.of(
                "by" if self.limits is None else "limits",
                "a profile is of all rows that pass its filter, and no limit applies to it",
                "leave by= and limits= out",
            )
        if self.domain.kind not in ("integers", "intervals"):
            raise DomainError.of(
                self.domain.text, "the classes of a profile are numbers of bins", "use Question.contribution_profile"
            )
        made, size = self.aggregate, self.domain.size
        assert isinstance(made, UnitProfile)
        known = [made.classes(most) for most in (size, size - 1)] if made.over is None else [made.classes()]
        if self.domain not in known:
            raise DomainError.of(
                self.domain.text,
                "the classes of a profile are 1, 2, … bins, or all above one limit",
                "use Question.contribution_profile",
            )

    def _check_parts(self, by: Partition | NamedParts) -> None:
        if not self.aggregate.additive:
            raise ParameterError.of(
                f"a question for {self.aggregate.noun}", "parts are asked for counts or sums", "leave by= out"
            )
        if self.part is None and (twice := set(by.filtered) & set(self.where)):
            raise ParameterError.of(
                ", ".join(sorted(twice)), "a column is filtered in one place", "give it in where=, or in the parts"
            )
        if both := set(by.columns) & set(self.domain.columns):
            raise DomainError.of(
                ", ".join(sorted(both)), "a column makes the parts or the bins, not both", "ask for another column"
            )
        if self.part is not None and not 0 <= whole(self.part, "part", least=0) < by.size:
            raise ParameterError.of(self.part, f"there are parts 0 to {by.size - 1:,}", "give one of them")

    @classmethod
    @plain_arguments
    def of(cls, asked: object, where: Mapping[str, object] | None = None) -> Question:
        """Make a question from a Domain, the name of a column, or a question.

        Parameters
        ----------
        asked : Domain, Question or str
            The bins, a question, or the name of a column for its undeclared keys.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `Between`.

        Returns
        -------
        Question
            The same question where one was given.

        Raises
        ------
        ParameterError
            If a question comes with a second filter, or `asked` is of another kind.
        """
        if type(asked) is Question:
            if where is not None:
                raise ParameterError.of("where", "this question has its filter already", "give where= in one place")
            return asked
        if isinstance(asked, str):
            asked = Domain.keys(column=asked)
        return cls(asked, {} if where is None else where)  # type: ignore[arg-type]

    @classmethod
    @plain_arguments
    def sum(
        cls,
        column: str,
        *,
        by: Domain | str,
        low: Number,
        high: Number,
        step: Number,
        where: Mapping[str, object] | None = None,
    ) -> Question:
        """Ask for the total of a column in each bin: every value is cut to low..high and rounded to the nearest step.

        Parameters
        ----------
        column : str
            The column of numbers that is added up.
        by : Domain or str
            The bins, or the name of a column for its undeclared keys.
        low, high : int, str or Fraction
            The public limits of one value, in the unit of the column.
        step : int, str or Fraction
            The public step that values are rounded to, in the unit of the column.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `Between`.

        Returns
        -------
        Question
            A question for sums. Mechanisms that count rows refuse it before anything is charged.

        Raises
        ------
        ParameterError
            If the limits are reversed, the step is not above 0, or another argument is outside its range.

        Notes
        -----
        One row moves a sum by at most the larger of abs(low) and abs(high), counted in steps (`aggregate.heaviest`).

        Examples
        --------
        >>> months = Domain.integers(1, 12, column="month")
        >>> Question.sum("amount", by=months, low=0, high=100, step="0.5").text
        'sum of amount (each value from 0 to 100 in steps of 0.5) by month, 12 bins'
        >>> Question.sum("amount", by="customer", low=0, high=1000, step="0.01").aggregate.heaviest
        100000
        """
        if isinstance(by, str):
            by = Domain.keys(column=by)
        return cls(by, {} if where is None else where, Sum(column, low, high, step))  # type: ignore[arg-type]

    @classmethod
    @plain_arguments
    def records(
        cls,
        columns: Sequence[Domain],
        *,
        otherwise: Mapping[str, object] | None = None,
        where: Mapping[str, object] | None = None,
    ) -> Question:
        """Ask for records with one bin of each column, for mechanisms that draw one: SampleCategory and its kin.

        Parameters
        ----------
        columns : list of Domain
            Domains of one column each, with declared bins.
        otherwise : dict, optional
            Column name to the label that stands for a cell outside the column's domain, or a missing one; the first
            label of the column by default.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `Between`.

        Returns
        -------
        Question
            A question for records. Mechanisms that count rows refuse it before anything is charged.

        Raises
        ------
        ParameterError
            If there are no columns, or an argument is outside its range.
        DomainError
            If a domain has several columns or undeclared bins, or a label is not one of its column.

        Notes
        -----
        Every row that passes the filter is a record.

        Examples
        --------
        >>> smokes = Domain.categories(["no", "yes"], column="smokes")
        >>> Question.records([smokes, Domain.integers(0, 9, column="visits")], otherwise={"visits": 9}).text
        'records of smokes × visits, 20 bins'
        """
        if not isinstance(columns, list | tuple) or not columns:
            raise ParameterError.of(
                kind_of(columns) if columns != [] else "no columns",
                "records are drawn from a list of one-column domains",
                'write dv.Question.records([dv.Domain.integers(0, 1, column="x")])',
            )
        for domain in columns:
            if not is_domain(domain) or domain.factors != (domain,):
                raise DomainError.of(
                    kind_of(domain), "records are drawn from one-column domains", "list each column by itself"
                )
        domain = columns[0] if len(columns) == 1 else Domain.product(*columns)
        return cls(domain, {} if where is None else where, Records(otherwise))  # type: ignore[arg-type]

    @classmethod
    @plain_arguments
    def contribution_profile(
        cls,
        asked: Domain | str,
        *,
        most: int | None = None,
        over: int | None = None,
        where: Mapping[str, object] | None = None,
    ) -> Question:
        """Ask how many units have rows in 1, 2, … bins, or in more than some limit, before any limit applies.

        Parameters
        ----------
        asked : Domain or str
            The bins that are counted for each unit, or the name of a column for its undeclared keys.
        most : int, optional
            The largest number of bins that is a class of its own; more are one class. By default all declared bins.
        over : int, optional
            A limit: units in more bins are the one class that is counted.
        where : dict, optional
            A filter of rows: column name to a value, a list of values, or a `Between`.

        Returns
        -------
        Question
            A question that counts units by their numbers of bins. Units without a row that counts are in no class.

        Raises
        ------
        ParameterError
            If both `most` and `over` are given, there are too many classes or none, or an argument is outside its
            range.

        Notes
        -----
        A unit is in one class, by its own rows alone. So it moves the counts of classes by 1 where it comes or goes,
        and by 1 in two classes where it is replaced, or in the one class of `over`; no limit applies, and nothing is
        left out. A profile says how much a limit on bins leaves out: the number of units over it.

        Examples
        --------
        >>> months = Domain.integers(1, 12, column="month")
        >>> Question.contribution_profile(months).sentence(Unit("aircraft"))
        'How many aircraft are in 1, 2, …, 12 months?'
        >>> Question.contribution_profile(months, over=3).sentence(Unit("aircraft"))
        'How many aircraft are in more than 3 months?'
        """
        bins = Domain.keys(column=asked) if isinstance(asked, str) else asked
        if not is_domain(bins):
            raise ParameterError.of(as_given(asked), "a profile is of a Domain", "give dv.Domain.integers(...)")
        size = bins.size if bins.declared else None
        filters: Any = {} if where is None else where
        if over is not None:
            if most is not None:
                raise ParameterError.of("most and over", "a profile has classes, or one class", "give one of them")
            limit = whole(over, "over", least=1)
            if size is None or limit >= size:
                raise ParameterError.of(
                    limit,
                    "units over a limit are counted where the limit is below the number of declared bins",
                    "give a smaller limit, or declare the bins",
                )
            over_limit = UnitProfile(bins, limit)
            return cls(over_limit.classes(), filters, over_limit)  # type: ignore[arg-type]
        if most is None and (size is None or size > MOST_CLASSES):
            raise ParameterError.of(
                bins.size_text,
                f"a profile has at most {MOST_CLASSES:,} classes unless they are declared",
                "give most=, above which all numbers of bins are one class",
            )
        last = whole(size if most is None else most, "most", most=size)
        made = UnitProfile(bins)
        return cls(made.classes(last), filters, made)  # type: ignore[arg-type]

    @property
    def of_rows(self) -> Question:
        """The question about rows whose bins a profile counts for each unit."""
        assert self.aggregate.profiled is not None
        return Question(self.aggregate.profiled, self.where)

    @single_arguments
    def limited(self, limits: Limits) -> Question:
        """Return the same question under contribution limits of its own, in place of those of the unit.

        Parameters
        ----------
        limits : Limits
            The limits. One that is left out is that of the unit.

        Returns
        -------
        Question
            The question with these limits, in place of any before.

        Raises
        ------
        ParameterError
            If `limits` is no `Limits`.

        Notes
        -----
        A session that plans or releases the question takes the price of these limits. With the unit's own limits the
        question is the one without any: its stored answers are found.

        Examples
        --------
        >>> months = Question(Domain.integers(1, 12, column="month"))
        >>> months.limited(Limits(max_bins=12)).text
        'month, 12 bins, max_bins 12'
        """
        return replace(self, limits=checked_limits(limits))

    def resolved(self, unit: Unit) -> tuple[Question, Unit]:
        """Return the question without limits of its own, and the unit with them: what a mechanism is bound to.

        Parameters
        ----------
        unit : Unit
            The privacy unit, whose limits hold where the question has none.

        Returns
        -------
        question : Question
            The question without limits.
        unit : Unit
            The unit with the limits of the question.

        Raises
        ------
        UnitError
            If the unit is a row, which adds one to one bin.
        """
        if self.aggregate.profiled is not None:
            if unit.is_row:
                raise UnitError.of(
                    unit.text,
                    "a row is in one bin at most, so rows have no profile",
                    "name the user column as the unit",
                )
            return self, unit.limited(Limits(1, 1, None))
        return (self, unit) if self.limits is None else (replace(self, limits=None), unit.limited(self.limits))

    def in_parts(self) -> list[Question]:
        """Return the same question about each part, in their order.

        Returns
        -------
        list of Question
            One question for each part of `by`.
        """
        assert self.by is not None and self.part is None
        if isinstance(self.by, Partition):
            return [replace(self, part=part) for part in range(self.by.size)]
        filters = self.by.filters.values()
        return [replace(self, where={**self.where, **one}, part=part) for part, one in enumerate(filters)]

    @property
    def partition(self) -> Partition | None:
        """The disjoint parts of which one or all are asked; None where there are none, or filters make them."""
        return self.by if isinstance(self.by, Partition) else None

    @property
    def parts_salt(self) -> str:
        """The salt of the digests by which a unit keeps its parts: the same for every question about them."""
        assert self.partition is not None
        return sha256(canonical({"parts": self.partition.domain.to_json()})).hexdigest()[:16]

    @property
    def filtered(self) -> bool:
        """Whether rows that have a bin may be left out: by a filter, or because one part alone is asked."""
        return bool(self.where) or self.part is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        beside = () if self.by is None else self.by.columns
        return tuple(dict.fromkeys([*self.domain.columns, *self.aggregate.columns, *self.where, *beside]))

    @property
    def fallback(self) -> tuple[int, ...] | None:
        """The bin of each column for a row that has none there; None where such a row is left out, as it mostly is."""
        return self.aggregate.fallback(self.domain)

    @property
    def bins(self) -> int:
        """The number of bins. Raises DomainError where the keys are not declared."""
        return self.domain.size

    def to_json(self) -> dict[str, Any]:
        """Return the saved form.

        Returns
        -------
        dict
            The domain, the filter, and the aggregate, the parts and the limits where there are any.
        """
        filters = filters_json(self.where)
        parts: dict[str, Any] = {} if self.by is None else {"by": self.by.to_json()}
        parts |= {} if self.part is None else {"part": str(self.part)}
        parts |= {} if self.limits is None else {"limits": self.limits.to_json()}
        return {"domain": self.domain.to_json(), "where": filters, **self.aggregate.to_json(), **parts}

    @classmethod
    @plain_arguments
    def from_json(cls, data: Mapping[str, Any]) -> Question:
        """Read the question that `to_json` wrote.

        Parameters
        ----------
        data : dict
            The saved form.

        Returns
        -------
        Question
            The same question.

        Raises
        ------
        ParameterError
            If the data are not what `to_json` writes.
        """
        parts = set(data) - {"aggregate", "by", "part", "limits"} if isinstance(data, Mapping) else set()
        if parts != {"domain", "where"} or not isinstance(data["where"], Mapping):
            rule = "a saved question has a domain and a filter, perhaps an aggregate, parts or limits, and no more"
            raise ParameterError.of(as_given(data), rule, "write what question.to_json() returns")
        filters = filters_of(data["where"])
        aggregate = aggregate_from_json(data["aggregate"]) if "aggregate" in data else COUNT
        by = parts_of(data["by"]) if "by" in data else None
        part = int(data["part"]) if "part" in data else None
        if part is not None and (by is None or str(part) != data["part"]):
            raise ParameterError.of(as_given(data["part"]), "a saved part is one of a partition", "write to_json()")
        limits = Limits.from_json(data["limits"]) if "limits" in data else None
        return cls(Domain.from_json(data["domain"]), filters, aggregate, by, part, limits)

    def canonical(self) -> bytes:
        """Return the bytes that name the question; part of the key of a release.

        Returns
        -------
        bytes
            Canonical JSON.
        """
        return canonical(self.to_json())

    @property
    def id(self) -> str:
        """A digest of the question, of 16 hexadecimal digits."""
        return sha256(self.canonical()).hexdigest()[:16]

    @property
    def where_text(self) -> str:
        """`where chronic_index is from 1 to 5 and physical_limitation is 1`, or nothing."""
        parts = []
        if self.partition is not None and self.part is not None:
            domain = self.partition.domain
            parts.append(f"{self.partition.each} is {domain.told(domain.label(self.part))}")
        for name, value in self.where.items():
            if isinstance(value, Between):
                low, high = value.written.get("low", ""), value.written.get("high", "")
                if not value.times:  # both at once: they are written alike
                    low, _, high = told(f"{low} to {high}").partition(" to ")
                if value.high is None:
                    parts.append(f"{name} is {low} or later" if value.times else f"{name} is at least {low}")
                elif value.low is None:
                    parts.append(f"{name} is {high} or earlier" if value.times else f"{name} is at most {high}")
                else:
                    parts.append(f"{name} is from {low} to {high}")
            else:
                parts.append(f"{name} is {' or '.join(value)}")
        return "where " + " and ".join(parts) if parts else ""

    @property
    def text(self) -> str:
        """For a table row: `visits, 42 bins`."""
        limits = "" if self.limits is None else self.limits.text
        return ", ".join(filter(None, (self.aggregate.text(self.domain), self.where_text, self.each_text, limits)))

    @property
    def each_text(self) -> str:
        """`for each month`, where all parts are asked; else nothing."""
        return "" if self.by is None or self.part is not None else f"for each {self.by.noun}"

    def nouns(self, unit: Unit) -> str:
        """Return the noun of a value: `person-years`, or of a sum its column.

        Parameters
        ----------
        unit : Unit
            The privacy unit, for its noun.

        Returns
        -------
        str
            The noun, in the plural.

        Raises
        ------
        UnitError
            If the unit is no Unit.

        Examples
        --------
        >>> months = Domain.integers(1, 12, column="month")
        >>> Question(months).nouns(Unit()), Question.sum("paid_hours", by=months, low=0, high=9, step=1).nouns(Unit())
        ('rows', 'paid hours')
        """
        known_unit(unit)
        return self.aggregate.nouns(unit.counted_nouns if self.aggregate.counts else unit.nouns)

    def sentence(self, unit: Unit) -> str:
        """Return the question as a sentence.

        Parameters
        ----------
        unit : Unit
            The privacy unit, for its noun.

        Returns
        -------
        str
            The sentence.

        Raises
        ------
        UnitError
            If the unit is no Unit.
        """
        known_unit(unit)
        nouns = unit.counted_nouns if self.aggregate.counts else unit.nouns
        return self._of_each(self.aggregate.sentence(self.domain, nouns, self.where_text))

    def _of_each(self, sentence: str) -> str:
        """A sentence about one part as one about all: `For each month: How many …`."""
        each = self.each_text
        return f"{each[:1].upper()}{each[1:]}: {sentence[:1].lower()}{sentence[1:]}" if each else sentence

    def title(self, unit: Unit, which: str = "") -> str:
        """Return the subject of the answer, for a heading.

        Parameters
        ----------
        unit : Unit
            The privacy unit, for its noun.
        which : str, optional
            Says more of the subject, before the filter.

        Returns
        -------
        str
            The heading.

        Raises
        ------
        UnitError
            If the unit is no Unit.

        Examples
        --------
        >>> Question(Domain.integers(0, 40, column="visits")).title(Unit(noun="person-year"), "sorted")
        'Visits per person-year, sorted'
        """
        parts = (self.aggregate.title(self.domain, known_unit(unit)), which, self.where_text, self.each_text)
        return ", ".join(filter(None, parts))

    def ranked_sentence(self, unit: Unit, max_items: int) -> str:
        """Return the question as a sentence where the answer names items instead of counting every bin.

        Parameters
        ----------
        unit : Unit
            The privacy unit, for its noun.
        max_items : int
            The most items that come.

        Returns
        -------
        str
            The sentence.

        Raises
        ------
        UnitError
            If the unit is no Unit.
        """
        known_unit(unit)
        among = f" {self.where_text}" if self.where_text else ""
        items = self.domain.items
        known = f", out of {self.domain.choices}" if self.domain.declared else f"; no list of all {items} is needed"
        many = "One" if max_items == 1 else f"Up to {max_items:,}"
        return self._of_each(f"Which {items} have the most {unit.counted_nouns}{among}? {many} of them{known}.")

    def ranked_title(self, unit: Unit, max_items: int, *, ordered: bool = True, among: str = "") -> str:
        """Return the heading of a list: `Destination, top 10 by aircraft`.

        Parameters
        ----------
        unit : Unit
            The privacy unit, for its noun.
        max_items : int
            The most items that come.
        ordered : bool, default True
            Whether the order counts: `top 10`, else `up to 10`.
        among : str, optional
            Says more of the places: `top 120 of all parts` where parts share them.

        Returns
        -------
        str
            The heading.

        Raises
        ------
        UnitError
            If the unit is no Unit.
        """
        column = self.domain.columns_text.replace("_", " ")
        places = " ".join(filter(None, ("top" if ordered else "up to", f"{max_items:,}", among)))
        heading = f"{column[:1].upper()}{column[1:]}, {places} by {known_unit(unit).counted_nouns}"
        return ", ".join(filter(None, (heading, self.where_text, self.each_text)))

    @property
    def python(self) -> str:
        """The call that makes the question; of a question that counts without its filter, which stands beside it."""
        return self.aggregate.python(self.domain, self._where)

    @property
    def python_where(self) -> str:
        """The `where=` argument beside `python`, or nothing."""
        return self._where if self.aggregate.by_domain else ""

    def check_counts(self, who: str) -> None:
        """Refuse, for a mechanism or an engine that counts, a question for anything else.

        Parameters
        ----------
        who : str
            The name of the mechanism or the engine, for the refusal.

        Raises
        ------
        ParameterError
            If the question asks for something else.
        """
        self._check_resolved(who)
        if not self.aggregate.counts:
            raise ParameterError.of(
                f"a question for {self.aggregate.noun}",
                f"{who} counts rows; it cannot answer what is asked here",
                "ask for counts: give the domain alone",
            )

    @single_arguments
    def check_records(self, who: str) -> None:
        """Refuse, for a mechanism that draws records, a question for anything else.

        Parameters
        ----------
        who : str
            The name of the mechanism or the engine, for the refusal.

        Raises
        ------
        ParameterError
            If the question asks for something else.
        """
        who = who if type(who) is str else kind_of(who)
        self._check_resolved(who)
        if self.aggregate.additive:
            raise ParameterError.of(
                f"a question for {self.aggregate.noun}",
                f"{who} draws records; it answers nothing else",
                "ask for records: dv.Question.records([dv.Domain.integers(0, 1, column=...)])",
            )

    @single_arguments
    def check_bits(self, who: str) -> None:
        """Refuse, for a mechanism of records of bits, a question for anything else.

        Parameters
        ----------
        who : str
            The name of the mechanism, for the refusal.

        Raises
        ------
        ParameterError
            If the question asks for something else than records.
        DomainError
            If a column has not two labels.
        """
        who = who if type(who) is str else kind_of(who)
        self.check_records(who)
        for factor in self.domain.factors:
            if factor.size != 2:
                raise DomainError.of(
                    f"{factor.columns[0]}, {factor.size_text}",
                    f"{who} has bits: columns of two labels each",
                    "declare dv.Domain.integers(0, 1, column=...) or two categories, or use SampleCategory",
                )

    def check_adds(self, who: str) -> None:
        """Refuse, for an engine that adds up rows in each bin, a question for anything else.

        Parameters
        ----------
        who : str
            The name of the mechanism or the engine, for the refusal.

        Raises
        ------
        ParameterError
            If the question asks for something else.
        """
        who = who if type(who) is str else kind_of(who)
        self._check_resolved(who)
        if not self.aggregate.additive:
            raise ParameterError.of(
                f"a question for {self.aggregate.noun}",
                f"{who} counts rows and adds up values; it cannot answer what is asked here",
                "ask for counts or sums",
            )

    def _check_resolved(self, who: str) -> None:
        """Refuse limits that stand in a question: a mechanism and an engine read those of the unit."""
        if self.limits is not None:
            raise ParameterError.of(
                self.limits.text or "limits of the unit",
                f"{who} takes limits from the unit, and these stand in the question",
                "give the question to session.plan or session.release, or bind *question.resolved(unit)",
            )

    @property
    def _where(self) -> str:
        return f"where={{{written(self.where)}}}" if self.where else ""


def _saved(value: object) -> object:
    """A condition as `to_json` wrote it."""
    if not isinstance(value, Mapping):
        return value
    if not set(value) <= {"low", "high"}:
        raise ParameterError.of(
            ", ".join(map(str, value)),
            "a saved range filter must have limits low and high",
            "write what question.to_json() returns",
        )
    return Between(**value)


@dataclass(frozen=True)
class NamedParts:
    """Parts by name, each a public filter. A row may be in several of them, where the filters do not rule it out.

    filters  what passes in each part, column by column

    >>> seasons = {"winter": {"month": ["12", "1", "2"]}, "all year": {"month": Between(low=1)}}
    >>> parts(seasons).apart, parts({"cold": {"t": Between(high=0)}, "warm": {"t": Between(low=1)}}).apart
    (False, True)
    """

    filters: Mapping[str, Mapping[str, Condition]]

    each: ClassVar[str] = "part"
    noun: ClassVar[str] = "part"
    cut: ClassVar[None] = None
    max_parts: ClassVar[None] = None

    def __post_init__(self) -> None:
        named = shown(self.filters)
        fine = isinstance(named, dict) and all(
            type(name) is str and isinstance(one, dict) for name, one in named.items()
        )
        if not fine or not named or len(named) > MOST_PARTS:
            raise ParameterError.of(
                as_given(self.filters) if not fine else f"{len(named):,} parts",
                f"named parts are 1 to {MOST_PARTS:,} filters by their names",
                'write by={"winter": {"month": [12, 1, 2]}, "summer": {"month": [6, 7, 8]}}',
            )
        filters = {
            name: MappingProxyType({column_name(column): condition(value) for column, value in sorted(one.items())})
            for name, one in named.items()
        }
        object.__setattr__(self, "filters", MappingProxyType(filters))

    @property
    def size(self) -> int:
        """How many parts there are."""
        return len(self.filters)

    @property
    def names(self) -> list[str]:
        return list(self.filters)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that make the parts and no bins: a filter may be about a column of the bins, too."""
        return ()

    @property
    def filtered(self) -> tuple[str, ...]:
        """The columns that the filters are about."""
        return tuple(dict.fromkeys(column for one in self.filters.values() for column in one))

    @property
    def apart(self) -> bool:
        """Whether the filters by themselves rule out that a row is in two parts."""
        return all(_apart(one, other) for one, other in combinations(self.filters.values(), 2))

    @property
    def text(self) -> str:
        return f"{self.size:,} named parts"

    @property
    def python(self) -> str:
        """The argument that makes them."""
        return f"{{{', '.join(f'{quoted(name)}: {{{written(one)}}}' for name, one in self.filters.items())}}}"

    def to_json(self) -> dict[str, Any]:
        return {"named": [[name, filters_json(one)] for name, one in self.filters.items()]}


def _apart(one: Mapping[str, Condition], other: Mapping[str, Condition]) -> bool:
    """Whether two filters let no row pass together, for they ask for other values in one of the columns."""
    return any(column in other and _disjoint(value, other[column]) for column, value in one.items())


def _disjoint(one: Condition, other: Condition) -> bool:
    if isinstance(one, Between) and isinstance(other, Between):
        ends = (one.high, other.low), (other.high, one.low)
        return any(high is not None and low is not None and high < low for high, low in ends)
    return isinstance(one, tuple) and isinstance(other, tuple) and not set(one) & set(other)


def parts(asked: object) -> Partition | NamedParts:
    """The parts that somebody named: a Partition, a domain of which a unit may be in every bin, or filters by name."""
    if type(asked) in (Partition, NamedParts):
        return asked  # type: ignore[return-value]
    return NamedParts(asked) if isinstance(asked, Mapping) else Partition(asked)  # type: ignore[arg-type]


def parts_of(stored: Any) -> Partition | NamedParts:
    """The parts that `to_json` of either wrote."""
    if not isinstance(stored, Mapping) or set(stored) != {"named"}:
        return Partition.from_json(stored)
    return NamedParts({name: filters_of(one) for name, one in stored["named"]})


def filters_json(where: Mapping[str, Condition]) -> dict[str, Any]:
    """Filters as a question is saved with them."""
    filters: dict[str, Any] = {}
    for name, value in where.items():
        if isinstance(value, Between):
            filters[name] = value.written
        else:
            filters[name] = list(value)
    return filters


def filters_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Read the text that `filters_json` wrote."""
    return {name: _saved(value) for name, value in stored.items()}


def written(where: Mapping[str, Condition]) -> str:
    """Filters as they are typed, without the braces."""
    parts = []
    for name, value in where.items():
        if isinstance(value, Between):
            shown = ", ".join(f'{side}="{end}"' for side, end in value.written.items())
            parts.append(f"{quoted(name)}: dv.Between({shown})")
        else:
            values = ", ".join(quoted(one) for one in value)
            parts.append(f"{quoted(name)}: [{values}]")
    return ", ".join(parts)


def condition(value: object) -> Condition:
    """A filter's condition, in its canonical form: values sorted and without repetition."""
    if type(value) is Between:
        return value
    values = value if isinstance(value, list | tuple) else [value]
    if not values:
        raise ParameterError.of(
            "no values", "a filter needs at least one value", "name a value, or leave the filter out"
        )
    return tuple(sorted({category_text(one) for one in values}))


def canonical(data: object) -> bytes:
    """JSON with sorted keys and no spaces: equal data, equal bytes."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


protect_module(vars())
