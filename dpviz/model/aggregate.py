"""The aggregate that a question computes in each bin: how many units, a total of a column, or records. All public.

Engines compute counts and sums. A mechanism or an engine that cannot serve what is asked says so before anything is
charged. Engines hand on whole numbers: of a count the rows, of a sum the steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, TypeAlias

from dpviz.boundary import as_given, kind_of, plain_arguments, protect_module
from dpviz.errors import DomainError, ParameterError
from dpviz.exact import Number, text, whole
from dpviz.model.domain import Domain, category_text, column_name, limit, quoted
from dpviz.model.words import shown
from dpviz.names import meant
from dpviz.privacy.unit import Unit, plural

HEAVIEST: Final = 2**31
"""One row moves a sum by at most so many steps: the total of 2^31 rows is at most 2^62, so no engine overflows."""
EXACT: Final = 2**53
"""Up to here every whole number is a float of 64 bits."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many units there are.

    step      the unit of what an engine hands on: 1
    heaviest  how far one row moves a bin at most, in steps
    spread    how far a bin moves at most where one row takes the place of another, in steps
    signed    whether a row may take something off a bin
    additive  whether rows add up in each bin, so that engines compute it, and bins may be a column's keys
    by_domain whether the domain alone asks it, so that a filter stands beside it in a call
    profiled  the bins of which each unit's number is counted; None where rows are
    """

    kind: ClassVar[str] = "count"
    noun: ClassVar[str] = "counts"
    counts: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    by_domain: ClassVar[bool] = True
    profiled: ClassVar[Domain | None] = None
    step: ClassVar[Fraction] = Fraction(1)
    heaviest: ClassVar[int] = 1
    spread: ClassVar[int] = 1
    signed: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, besides those of the bins."""
        return ()

    def fallback(self, domain: Domain) -> tuple[int, ...] | None:
        """The bin of each column of the domain for a row that has none there; None where such a row is left out."""
        return None

    def nouns(self, nouns: str) -> str:
        """The nouns that a value counts, `nouns` being the names of the unit:"""
        return nouns

    def text(self, domain: Domain) -> str:
        """For a table row."""
        return f"{' × '.join(domain.columns)}, {domain.size_text}"

    def sentence(self, domain: Domain, nouns: str, among: str) -> str:
        many = f"Among {nouns} {among}, how many" if among else f"How many {nouns}"
        if not domain.declared:
            return f"{many} had each {domain.each} that occurs often enough?"
        if len(domain.columns) > 1:
            return f"{many} had each {domain.each}: {domain.choices}?"
        words = domain.columns_text.replace("_", " ")
        return f"{many} had {domain.choices} {words}?" if domain.countable else f"{many} had {words} {domain.choices}?"

    def title(self, domain: Domain, unit: Unit) -> str:
        columns = domain.columns_text
        return _heading(f"{columns} per {unit.noun}" if domain.countable else f"{unit.counted_nouns} by {columns}")

    def python(self, domain: Domain, where: str) -> str:
        """The call that makes the question; its filter is given to `plan` and `release`."""
        return domain.python

    def to_json(self) -> dict[str, Any]:
        """Nothing: a question that counts is written as it was when there were no others."""
        return {}


@dataclass(frozen=True, slots=True)
class Sum:
    """The total of a number column in each bin: every value is cut to low..high and rounded to the nearest step.

    A value is the float of 64 bits that is nearest to it, and one in the middle of two steps goes up, where the middle
    is the float that is nearest to it, too: 0.285 is 0.29 in steps of 0.01, as it is read. A value of a column of
    decimals is itself, and the middle is the fraction. Infinities are cut as other
    numbers are; a row whose value is missing, or no number, is not counted. An engine hands on whole steps, so that
    all engines agree to the last digit.

    low, high, step  public numbers, low and high whole multiples of the step, so that a total is one, too; at most
                     2^31 steps from 0, and with middles that are exact as quotients of whole numbers below 2^53
    heaviest         how far one row moves a total at most, in steps: from no row to the end that lies farther from 0
    spread           how far a total moves at most where one row takes the place of another, or of none, in steps;
                     beyond heaviest where low is below 0 and high above
    signed           whether low is below 0, so that totals may be, and a row may take something off one
    """

    kind: ClassVar[str] = "sum"
    noun: ClassVar[str] = "sums"
    counts: ClassVar[bool] = False
    additive: ClassVar[bool] = True
    by_domain: ClassVar[bool] = False
    profiled: ClassVar[Domain | None] = None

    column: str
    low: Fraction
    high: Fraction
    step: Fraction

    @plain_arguments
    def __init__(self, column: str, low: Number, high: Number, step: Number) -> None:
        ends = {name: limit(value, name) for name, value in (("low", low), ("high", high), ("step", step))}
        if ends["low"] >= ends["high"]:
            raise DomainError.of(
                f"{text(ends['low'])} to {text(ends['high'])}", "a sum needs a low below its high", "swap them"
            )
        if ends["step"] <= 0:
            raise DomainError.of(text(ends["step"]), "the step of a sum must be positive", "give a step like 1 or 1/10")
        if any((ends[name] / ends["step"]).denominator != 1 for name in ("low", "high")):
            raise DomainError.of(
                f"{text(ends['low'])} to {text(ends['high'])} in steps of {text(ends['step'])}",
                "low and high of a sum must be whole multiples of its step",
                "take a step that divides both",
            )
        object.__setattr__(self, "column", column_name(column))
        for name, value in ends.items():
            object.__setattr__(self, name, value)
        if self.heaviest > HEAVIEST:
            raise DomainError.of(
                self._range,
                "low and high of a sum must be at most 2^31 steps from 0, so that no engine overflows",
                "take larger steps, or a smaller range",
            )
        if (2 * self.heaviest + 1) * self.step.numerator > EXACT or 2 * self.step.denominator > EXACT:
            raise DomainError.of(
                self._range,
                "the points halfway between the steps of a sum must be fractions of whole numbers up to 2^53",
                "write the step with fewer digits, or sum up a column in larger units",
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def fallback(self, domain: Domain) -> tuple[int, ...] | None:
        return None

    @property
    def heaviest(self) -> int:
        return int(max(abs(self.low), abs(self.high)) / self.step)

    @property
    def spread(self) -> int:
        return int((max(self.high, Fraction(0)) - min(self.low, Fraction(0))) / self.step)

    @property
    def signed(self) -> bool:
        return self.low < 0

    def nouns(self, nouns: str) -> str:
        """The column, whose numbers are added up: nobody says in which unit they are."""
        return self.column.replace("_", " ")

    def text(self, domain: Domain) -> str:
        return f"sum of {self.column} ({self._range}) by {' × '.join(domain.columns)}, {domain.size_text}"

    def sentence(self, domain: Domain, nouns: str, among: str) -> str:
        filtered = f" {among}" if among else ""
        bins = f": {domain.choices}" if domain.declared else " that occurs often enough"
        column = self.column.replace("_", " ")
        return f"What is the total {column} ({self._range}) of the {nouns}{filtered}, for each {domain.each}{bins}?"

    def title(self, domain: Domain, unit: Unit) -> str:
        return _heading(f"total {self.column} of {unit.nouns} by {domain.columns_text}")

    def python(self, domain: Domain, where: str) -> str:
        limits = ", ".join(f'{name}="{text(getattr(self, name))}"' for name in ("low", "high", "step"))
        return f"dv.Question.sum({quoted(self.column)}, by={domain.python}, {limits}{where and f', {where}'})"

    def to_json(self) -> dict[str, Any]:
        numbers = {name: text(getattr(self, name)) for name in ("low", "high", "step")}
        return {"aggregate": {"kind": self.kind, "column": self.column, **numbers}}

    @property
    def _range(self) -> str:
        return f"each value from {shown(self.low)} to {shown(self.high)} in steps of {shown(self.step)}"


@dataclass(frozen=True, slots=True)
class Records:
    """Records of the columns of the domain, one bin of each column in a record.

    Every row that passes the filter is a record. A cell outside its column's domain, or a missing one, counts as the
    label that `otherwise` names for the column, or as its first label. Such a row is not left out, for then the number
    of records, which is public under replace-one, would move with a value; and it is not refused, for a refusal would
    say that it is there. Both rules look at one row alone, so a replaced row still changes one record.

    otherwise  for a column the value that stands for whatever lies outside its domain, as its text
    """

    kind: ClassVar[str] = "records"
    noun: ClassVar[str] = "records"
    counts: ClassVar[bool] = False
    additive: ClassVar[bool] = False
    by_domain: ClassVar[bool] = False
    profiled: ClassVar[Domain | None] = None
    step: ClassVar[Fraction] = Fraction(1)
    heaviest: ClassVar[int] = 1
    spread: ClassVar[int] = 1
    signed: ClassVar[bool] = False

    otherwise: tuple[tuple[str, str], ...]

    @plain_arguments
    def __init__(self, otherwise: Mapping[str, object] | None = None) -> None:
        given = {} if otherwise is None else otherwise
        if not isinstance(given, dict):
            raise ParameterError.of(
                as_given(given), "otherwise must map columns to labels", 'write otherwise={"region": "unknown"}'
            )
        labels = {column_name(name): category_text(label, "a label") for name, label in given.items()}
        object.__setattr__(self, "otherwise", tuple(sorted(labels.items())))

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def fallback(self, domain: Domain) -> tuple[int, ...]:
        """The bin of each column that stands for cells outside its domain. Raises DomainError where a label is none."""
        labels = dict(self.otherwise)
        if beside := set(labels) - set(domain.columns):
            rule = f"otherwise may name columns of the records only: {', '.join(domain.columns)}"
            raise DomainError.of(min(beside), rule, meant(min(beside), domain.columns, "leave it out"))
        factors = [(factor, labels.get(factor.columns[0])) for factor in domain.factors]
        return tuple(0 if label is None else factor.index(label) for factor, label in factors)

    def nouns(self, nouns: str) -> str:
        return nouns

    def text(self, domain: Domain) -> str:
        return f"records of {' × '.join(domain.columns)}, {domain.size_text}"

    def sentence(self, domain: Domain, nouns: str, among: str) -> str:
        filtered = f" {among}" if among else ""
        columns = domain.columns_text.replace("_", " ")
        return f"If one of the {nouns}{filtered} were drawn at random, what would {columns} be: {domain.choices}?"

    def title(self, domain: Domain, unit: Unit) -> str:
        return _heading(f"records of {unit.nouns}: {domain.columns_text}")

    def python(self, domain: Domain, where: str) -> str:
        columns = ", ".join(factor.python for factor in domain.factors)
        labels = ", ".join(f"{quoted(name)}: {quoted(label)}" for name, label in self.otherwise)
        beside = f", otherwise={{{labels}}}" if labels else ""
        return f"dv.Question.records([{columns}]{beside}{where and f', {where}'})"

    def to_json(self) -> dict[str, Any]:
        return {"aggregate": {"kind": self.kind, **({"otherwise": dict(self.otherwise)} if self.otherwise else {})}}


@dataclass(frozen=True, slots=True)
class UnitProfile:
    """How many units have rows in 1, 2, … bins of a domain, before any limit.

    profiled  the bins that are counted for each unit
    over      where the units in more than so many bins are one class, that number; else None
    """

    kind: ClassVar[str] = "profile"
    noun: ClassVar[str] = "counts"
    counts: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    by_domain: ClassVar[bool] = False
    step: ClassVar[Fraction] = Fraction(1)
    heaviest: ClassVar[int] = 1
    spread: ClassVar[int] = 1
    signed: ClassVar[bool] = False

    profiled: Domain
    over: int | None = None

    def classes(self, most: int = 0) -> Domain | None:
        """The classes up to this number of bins, and one for more where there can be more; or the one of all above the
        limit. None where there are none."""
        size, column = self.profiled.size if self.profiled.declared else None, noun_of_bins(self.profiled)
        if self.over is not None:
            fits = size is not None and 0 < self.over < size
            return Domain.intervals([self.over + 1, size + 1], column=column) if fits else None  # type: ignore[operator]
        if most < 1 or (size is not None and most > size):
            return None
        return Domain.integers(1, most, column=column, overflow=size is None or most < size)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.profiled.columns

    def fallback(self, domain: Domain) -> None:
        return None

    def nouns(self, nouns: str) -> str:
        return nouns

    @property
    def bins(self) -> str:
        """The noun of the bins of one unit: `months`."""
        return noun_of_bins(self.profiled)

    def text(self, domain: Domain) -> str:
        of = f"{' × '.join(self.profiled.columns)}, {self.profiled.size_text}"
        classes = f"over {self.over:,}" if self.over is not None else domain.size_text.replace("bin", "class", 1)
        return f"{self.bins} per unit of {of}: {classes.replace('classs', 'classes')}"

    def sentence(self, domain: Domain, nouns: str, among: str) -> str:
        rows = f", by their rows {among}" if among else ""
        each = f"more than {self.over:,}" if self.over is not None else domain.choices
        return f"How many {nouns} are in {each} {self.bins}{rows}?"

    def title(self, domain: Domain, unit: Unit) -> str:
        each = f"more than {self.over:,} " if self.over is not None else "number of "
        return _heading(f"{unit.nouns} {'in' if self.over is not None else 'by'} {each}{self.bins}")

    def python(self, domain: Domain, where: str) -> str:
        size = self.profiled.size if self.profiled.declared else None
        most = "" if self.over is not None or domain.size == size else f", most={domain.size - 1}"
        over = "" if self.over is None else f", over={self.over}"
        return f"dv.Question.contribution_profile({self.profiled.python}{most}{over}{where and f', {where}'})"

    def to_json(self) -> dict[str, Any]:
        over = {} if self.over is None else {"over": str(self.over)}
        return {"aggregate": {"kind": self.kind, "of": self.profiled.to_json(), **over}}


def noun_of_bins(domain: Domain) -> str:
    """The noun of several bins of a domain, as one word: `months`; `bins` where the domain has none."""
    return "bins" if " " in domain.each else plural(domain.each)


Aggregate: TypeAlias = Count | Sum | Records | UnitProfile

COUNT = Count()


def is_aggregate(thing: object) -> bool:
    """Whether this is one of the four, and no subclass that computes something else."""
    return any(type(thing) is kind for kind in (Count, Sum, Records, UnitProfile))


def aggregate_from_json(data: object) -> Aggregate:
    """Read the text that `to_json` wrote under "aggregate". Any other text is refused."""
    beside = {"otherwise", "over"} & set(data) if isinstance(data, Mapping) else set()
    known = {
        "sum": {"kind", "column", "low", "high", "step"},
        "records": {"kind", *(beside - {"over"})},
        "profile": {"kind", "of", *(beside - {"otherwise"})},
    }
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(kind, str) or known.get(kind) != set(data):
        raise ParameterError.of(
            kind if isinstance(kind, str) else kind_of(data),
            "a saved aggregate must be a whole sum, records, or a profile",
            "write what question.to_json() returns",
        )
    values = {name: value for name, value in data.items() if name != "kind"}
    read = _profile(values) if kind == "profile" else Records(**values) if kind == "records" else Sum(**values)
    if read.to_json()["aggregate"] != dict(data):
        raise ParameterError.of(
            kind,
            "a saved aggregate must have its numbers in their shortest form, as texts",
            "write what question.to_json() returns",
        )
    return read


def _profile(values: Mapping[str, Any]) -> UnitProfile:
    over = whole(values["over"], "over", least=0) if "over" in values else None
    return UnitProfile(Domain.from_json(values["of"]), over)


def _heading(columns: str) -> str:
    """`paid_hours of rows` as a title: `Paid hours of rows`."""
    words = columns.replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}"


protect_module(vars())
