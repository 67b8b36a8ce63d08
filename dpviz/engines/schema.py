"""Refusals that every engine makes from public things alone: columns that are not there, or cannot be read as asked."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from dpviz.boundary import as_given, kind_of
from dpviz.engines.parquet_types import COARSE
from dpviz.engines.values import as_written
from dpviz.engines.written import PLAIN, Format, Marks, format_of
from dpviz.errors import DomainError, ParameterError, SchemaError, short
from dpviz.model.domain import CategoryDomain, IntegerDomain, IntervalDomain, KeyDomain, TimeDomain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import Column, Need, StatisticKind, Top
from dpviz.names import as_name, meant
from dpviz.privacy.unit import Unit

COLUMN_KINDS: Final = ("number", "text")
"""The kinds of columns that have labels or numbers. Columns of times have a third kind, `time`."""

TIMES: Final = "a column of times is counted by stretches of time"
AS_TIMES: Final = "ask for dv.Domain.times(...), or make a number or a text of it first"
UNTIMED: Final = "a column of instants, of times of day or of lengths of time has no bins"
AS_UNTIMED: Final = (
    "make plain times of its instants first (datetime64, or TIMESTAMP), so that each row says what its clock said, "
    "and numbers of lengths and times of day"
)
HOLDS: Final = {"number": "numbers", "text": "texts", "time": "times"}
MOST_BINS: Final = 1 << 26
"""Dense counts take 8 bytes a bin; this many take half a gigabyte."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A dataset's public columns, and whether a question can be asked of them.

    measured  columns of texts in which a question for numbers reads numbers, without a declaration: those of a CSV file
    timed     columns of dates, or of times without a zone: the only ones of kind `time` that have bins
    parsed    columns whose numbers or dates are read from texts, so that one may be there and be none
    index     the names of a data frame's index, which are no columns
    flags     columns of True and False by their type
    whole     by column the least and the greatest number of its type, where that is one of whole numbers
    """

    name: str
    columns: tuple[Column, ...]
    measured: frozenset[str] = frozenset()
    timed: frozenset[str] = frozenset()
    parsed: frozenset[str] = frozenset()
    index: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    whole: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        """Refuse what cannot be counted. Raises SchemaError, DomainError or ParameterError."""
        if question.aggregate.profiled is not None:
            return self._check_profile(question, unit, need)
        if need in (StatisticKind.ONES, StatisticKind.BITS):
            _check_bits(question, unit)
        elif isinstance(need, Top):
            if need.rows < 1:
                raise ParameterError.of(
                    need.rows, "a source is asked for at least one of the largest counts", "ask for one count or more"
                )
            question.check_counts("a list of the largest counts")
        elif need not in (StatisticKind.DENSE, StatisticKind.SPARSE):
            raise ParameterError.of(
                need.value,
                "a table is counted into one number per bin of a domain",
                "ask for counts: give the domain alone",
            )
        beside = () if question.partition is None else question.partition.domain.factors
        for domain in (*question.domain.factors, *beside):
            if isinstance(domain, KeyDomain):
                self.kind(domain.column)
            elif isinstance(domain, CategoryDomain):
                self._can_hold(domain.columns[0], domain.values)
            elif isinstance(domain, TimeDomain):
                self._can_tell_time(domain.columns[0], "a domain of times")
            else:
                self._can_measure(domain.columns[0], f"a domain of {domain.kind}")
            if isinstance(domain, IntegerDomain | IntervalDomain | TimeDomain) and domain.malformed:
                self._can_be_malformed(domain.column)
        for name, condition in question.where.items():
            if isinstance(condition, Between) and condition.times:
                self._can_tell_time(name, "a filter by dates")
            elif isinstance(condition, Between):
                self._filters_no_time(name)
                self._can_measure(name, "a range filter")
            else:
                self._filters_no_time(name)
                self._can_hold(name, condition)
        for name in question.aggregate.columns:
            self._can_measure(name, f"a question for {question.aggregate.noun}")
        if not unit.is_row:
            self.kind(unit.of)
        if need is StatisticKind.DENSE and question.bins > MOST_BINS:
            raise DomainError.of(
                f"{question.bins:,} bins",
                f"a dense count has at most {MOST_BINS:,} bins",
                "declare fewer, wider bins, or use a mechanism that shows no empty bin, like dv.Stability",
            )

    def _check_profile(self, question: Question, unit: Unit, need: Need) -> None:
        """Refuse a profile of rows, or of bins that cannot be told apart in each row."""
        if unit.is_row or need is not StatisticKind.DENSE:
            raise ParameterError.of(
                "a row" if unit.is_row else "another statistic",
                "a profile counts users in each class of it",
                "name the user column as the unit, and take a mechanism that counts every bin, such as dv.Dense",
            )
        if question.bins > MOST_BINS:
            raise DomainError.of(
                f"{question.bins:,} classes", f"a profile has at most {MOST_BINS:,} classes", "give a smaller most="
            )
        self.check(question.of_rows, unit, StatisticKind.SPARSE)

    def kind(self, name: str) -> str:
        """The kind of a column; refuses one that is not there or cannot be read as numbers or texts."""
        kind = self.read_as(name)
        if kind == "time" and name not in self.timed:
            raise SchemaError.of(as_name(name), UNTIMED, AS_UNTIMED)
        if kind == "time":
            raise SchemaError.of(as_name(name), TIMES, AS_TIMES)
        if kind not in COLUMN_KINDS:
            raise SchemaError.of(
                as_name(name), f"a column of {kind} cannot be counted", "make a whole number or a text of it first"
            )
        return kind

    def read_as(self, name: str) -> str:
        """The kind of a column, times among them; refuses one that is not there."""
        kinds = {column.name: column.kind for column in self.columns}
        if name not in kinds:
            if name in self.index:
                raise SchemaError.of(
                    as_name(name),
                    "a question must name columns, and this is the index of the data frame",
                    "give frame.reset_index(), which makes columns of it",
                )
            rule = f"a question must name columns that {self.name} has"
            raise SchemaError.of(as_name(name), rule, meant(name, kinds, listing(kinds)))
        return kinds[name]

    def _filters_no_time(self, name: str) -> None:
        """Refuse a filter by numbers or labels over a column of times."""
        if self.read_as(name) == "time":
            raise SchemaError.of(
                as_name(name), "a column of times is filtered by dates", 'give dv.Between dates as texts, "YYYY-MM-DD"'
            )

    def _can_tell_time(self, name: str, asked: str) -> None:
        """Refuse stretches of time over a column that holds no dates, or times of a zone."""
        kind = self.read_as(name)
        if kind == COARSE:
            raise SchemaError.of(
                as_name(name),
                f"a column of {kind} cannot be counted: an engine fails where one of them is too far off",
                "give the table that pyarrow.parquet.read_table reads, or write the column in microseconds",
            )
        if kind != "time":
            raise SchemaError.of(
                as_name(name),
                f"{asked} needs a column of dates or times, and this one holds {HOLDS.get(kind, 'other values')}",
                self._as_dates(name, kind),
            )
        if name not in self.timed:
            raise SchemaError.of(
                as_name(name),
                f"{asked} needs dates, or plain times without a zone, and this column holds others",
                AS_UNTIMED,
            )

    def _as_dates(self, name: str, kind: str) -> str:
        """How a column of this kind becomes one of dates."""
        if name in self.measured:
            return f'declare schema={{"{name}": "date"}} if its values are dates'
        if kind != "text":
            return "make dates of it first, as pd.to_datetime does"
        step = f'schema={{"{name}": "date"}} reads texts of a data frame or a CSV file'
        return f"make dates of it in the table first; {step}"

    def _can_be_malformed(self, name: str) -> None:
        """Refuse a bin of malformed texts over a column that holds numbers or times by its type."""
        if name not in self.parsed:
            raise SchemaError.of(
                as_name(name),
                "a bin of malformed values needs a column whose numbers or dates are read from texts, and this one "
                "holds them by its type",
                "leave malformed out",
            )

    def _can_measure(self, name: str, asked: str) -> None:
        """Refuse bins and filters of numbers over a column of text."""
        if self.kind(name) != "number" and name not in self.measured:
            raise SchemaError.of(
                as_name(name),
                f"{asked} needs a column of numbers, and this one holds text",
                f'use categories, or declare schema={{"{name}": "number"}} if its values are numbers',
            )

    def _can_hold(self, name: str, labels: Sequence[str]) -> None:
        """Refuse labels that a column of numbers, or of True and False, never has: they would count nothing in
        silence."""
        kind = self.kind(name)
        if name in self.flags:
            known = ("0", "1") if kind == "number" else ("False", "True")
            for place, label in enumerate(labels, 1):
                if label not in known:
                    raise SchemaError.of(
                        f"label {place}, another text",
                        f"{name} is a column of True and False"
                        + (" that is read as numbers" if kind == "number" else "")
                        + f", so its labels are {known[1]} and {known[0]}",
                        f"write {known[1]} and {known[0]}",
                    )
        if kind == "number":
            low, high = self.whole.get(name, (0, 0))
            for place, label in enumerate(labels, 1):
                number = as_written(label)
                if (
                    number is not None
                    and name in self.whole
                    and not (number.denominator == 1 and low <= number <= high)
                ):
                    raise SchemaError.of(
                        f"label {place}, another number",
                        f"{name} is a column of whole numbers from {low} to {high} by its type, so its labels are such",
                        "leave the label out, or ask for dv.Domain.intervals",
                    )
                if number is None:
                    raise SchemaError.of(
                        f"label {place}, a text",
                        f"{name} is a column of numbers, so its labels must be numbers in their shortest form",
                        f'write 1 and not "1.0", or declare schema={{"{name}": "text"}}',
                    )


def _check_bits(question: Question, unit: Unit) -> None:
    """Refuse records that are no rows of bits, or whose number is not public where it is taken to be."""
    question.check_bits("a table of bits")
    if not unit.is_row:
        raise ParameterError.of(
            unit.text, "a table of bits has a record for each row of the table", "name the row as the unit"
        )
    if question.where and unit.relation == "replace-one":
        raise ParameterError.of(
            question.where_text,
            "a table of bits has all rows of the table where a row is replaced, for only their number is public",
            "leave the filter out",
        )


Declared: TypeAlias = str | tuple[str, str]
"""A declared column: a kind, or ("date", format)."""


def declared(
    found: Sequence[tuple[object, str]], schema: Mapping[str, Declared] | None, texts: Container[str] = ()
) -> tuple[Column, ...]:
    """The public columns: their names, and their kinds as declared or, where nothing is, as inferred.

    texts  the columns of texts from which dates and clock readings can be read as declared
    """
    kinds: dict[str, str] = {}
    formats: dict[str, str] = {}
    for name, kind in found:
        if not isinstance(name, str):
            raise SchemaError.of(kind_of(name), "the names of columns must be text", "set frame.columns = [...]")
        if name in kinds:
            raise SchemaError.of(f"{as_name(name)} twice", "the names of columns must differ", "rename one of them")
        kinds[name] = kind
    if not kinds:
        raise SchemaError.of("none", "a data frame must have columns", "give a frame with at least one column")
    if not isinstance(schema, Mapping | None):
        raise SchemaError.of(as_given(schema), "a schema must be a dict", 'write schema={"visits": "number"}')
    for name, given in (schema or {}).items():
        if name not in kinds:
            rule = "a schema must declare columns that the data has"
            raise SchemaError.of(as_name(name), rule, meant(name, kinds, listing(kinds)))
        format = format_of(given)
        if kinds[name] == "time" and given == "date":
            continue
        if kinds[name] == "time" and format is None:
            raise SchemaError.of(as_name(name), TIMES, AS_TIMES)
        if format is not None and name not in texts:
            raise SchemaError.of(
                as_name(name),
                f"{format.said} is declared for texts of a CSV file or a data frame, and this column holds "
                f"{HOLDS.get(kinds[name], 'other values')} of another source"
                if kinds[name] == "text"
                else f"{format.said} is declared for texts, and this column holds "
                f"{HOLDS.get(kinds[name], 'values that are no texts')}",
                "leave it out of the schema, or make dates of it in the table",
            )
        kinds[name] = str(given) if format is None else format.kind
        if format is not None:
            formats[name] = format.said
    return tuple(Column(name, kind, written=formats.get(name, "")) for name, kind in kinds.items())


def check_distinct(names: Sequence[str], engine: str) -> None:
    """Refuse names that an engine takes for one, which does not tell capital letters from small ones."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.lower())
        seen[name.lower()] = name
        if other == name:
            raise SchemaError.of(f"{as_name(name)} twice", "the names of columns must differ", "rename one of them")
        if other is not None:
            raise SchemaError.of(
                f"{as_name(other)} and {as_name(name)}",
                f"the names of columns must differ in {engine} by more than capital letters",
                "rename one of them",
            )


def formats_of(schema: Mapping[str, Declared] | None, columns: Sequence[Column]) -> dict[str, Format]:
    """The formats of the columns that are read by one."""
    read = {column.name for column in columns if column.written}
    found = {name: format_of(kind) for name, kind in (schema or {}).items() if name in read}
    return {name: format for name, format in found.items() if format is not None}


@dataclass(frozen=True, slots=True)
class Read:
    """How texts are read: by column the format of its dates, and the column that tells which of them are malformed.

    types      by column its type, where an engine holds it as another: floats of 16 bits in 32
    text_file  whether all columns are texts of a file
    files      files whose rows were read once, into a table of ours
    """

    marks: Marks = PLAIN
    formats: Mapping[str, Format] = field(default_factory=dict)
    odd: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    text_file: bool = False
    files: Sequence[Path] = ()

    @classmethod
    def declared(
        cls, found: Sequence[tuple[object, str]], schema: Any, texts: Container[str], marks: Marks = PLAIN
    ) -> Read:
        """Read a schema declared for columns of these kinds. Raises SchemaError."""
        columns = declared(found, schema, texts)
        names, formats = [column.name for column in columns], formats_of(schema, columns)
        return cls(marks, formats, {name: beside(name, names) for name in formats})

    def others(self, schema: Any) -> Any:
        """The part of a schema that says nothing of these columns."""
        return {name: kind for name, kind in schema.items() if name not in self.formats} if self.formats else schema


def beside(name: str, names: Sequence[str]) -> str:
    """A name for a column of our own, which no column of the data has."""
    known, own = {one.lower() for one in names}, f"dpviz malformed {name}"
    while own.lower() in known:
        own += "_"
    return own


def called(name: object) -> str:
    """The name of a dataset, checked. Raises ParameterError."""
    if not isinstance(name, str) or not name:
        raise ParameterError.of(as_given(name), "the name of a dataset must be text", 'write name="visits"')
    return name


def listing(kinds: Mapping[str, str]) -> str:
    return f"its columns are {short(', '.join(map(as_name, kinds)), 400)}"
