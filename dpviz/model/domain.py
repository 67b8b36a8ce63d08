"""Public bins. A domain is declared by a person; it is never read off the data.

A domain numbers its bins 0..size-1, in the order in which they are shown. Besides the declared values a domain may
have bins for what falls below, above or elsewhere, and for missing values; whatever has no bin is dropped in silence,
because an error would tell that such a value is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from dpviz.errors import DomainError, short
from dpviz.exact import Number, rational, text

FROM_DATA = "a domain must be public; write its values out instead of taking them from the data"
LARGEST_SHOWN = 2_000
"""Domains with more bins than this are not drawn bin by bin."""


@dataclass(frozen=True)
class Domain:
    """Bins of one column, or of two. Make one with `Domain.integers`, `.intervals`, `.categories` or `.product`."""

    kind: ClassVar[str] = ""
    needs: ClassVar[str] = ""
    """Which kind of column can be counted: `number` or `any`."""

    @property
    def columns(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many bins there are."""
        raise NotImplementedError

    def label(self, index: int) -> str:
        """The label of bin `index`, as a reader sees it."""
        raise NotImplementedError

    def short_label(self, index: int) -> str:
        """The label for an axis."""
        return self.label(index)

    @property
    def text(self) -> str:
        """All bins in a few words: `0, 1, …, 40, over 40`."""
        raise NotImplementedError

    @property
    def python(self) -> str:
        """The call that makes this domain."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        raise NotImplementedError

    def index(self, label: object) -> int:
        """The bin that a value belongs to. For look-ups by a person: raises DomainError where there is none."""
        raise NotImplementedError

    @property
    def labels(self) -> list[str]:
        return [self.label(index) for index in range(self.size)]

    def __mul__(self, other: Domain) -> ProductDomain:
        return Domain.product(self, other)

    # ------------------------------------------------------------ makers

    @staticmethod
    def integers(
        low: Number, high: Number, *, column: str, underflow: bool = False, overflow: bool = False, missing: bool = False
    ) -> IntegerDomain:
        """The whole numbers low..high, one bin each."""
        ends = [rational(_public(value), name) for value, name in ((low, "low"), (high, "high"))]
        for end, name in zip(ends, ("low", "high"), strict=True):
            if end.denominator != 1:
                raise DomainError.of(text(end), f"{name} must be a whole number", "use Domain.intervals for real values")
        if ends[0] > ends[1]:
            raise DomainError.of(
                f"{text(ends[0])}..{text(ends[1])}", "an integer domain must not be reversed", "write the smaller end first"
            )
        return IntegerDomain(_name(column), int(ends[0]), int(ends[1]), *_flags(underflow, overflow, missing))

    @staticmethod
    def intervals(
        edges: Iterable[Number], *, column: str, underflow: bool = False, overflow: bool = False, missing: bool = False
    ) -> IntervalDomain:
        """Intervals [e0, e1), [e1, e2), …; the last one contains its right end."""
        exact = tuple(rational(edge, "an edge") for edge in _listed(edges))
        if len(exact) < 2:
            raise DomainError.of(f"{len(exact)} edges", "an interval domain needs at least two edges")
        for left, right in zip(exact, exact[1:], strict=False):
            if left >= right:
                raise DomainError.of(
                    f"{text(left)}, {text(right)}", "edges must increase, so that intervals do not overlap", "sort them"
                )
        return IntervalDomain(_name(column), exact, *_flags(underflow, overflow, missing))

    @staticmethod
    def categories(
        labels: Iterable[object], *, column: str, other: bool = False, missing: bool = False
    ) -> CategoryDomain:
        """One bin per label, in the order given. Numbers are matched as numbers: 1 and 1.0 are one label."""
        plain = tuple(category_text(label) for label in _listed(labels))
        if not plain:
            raise DomainError.of("no labels", "a category domain needs at least one label")
        if len(set(plain)) < len(plain):
            twice = next(label for label in plain if plain.count(label) > 1)
            raise DomainError.of(twice, "labels must differ", "leave one of them out")
        return CategoryDomain(_name(column), plain, *_flags(other, missing))

    @staticmethod
    def product(first: Domain, second: Domain) -> ProductDomain:
        """Every bin of `first` with every bin of `second`: counts over two columns."""
        for part in (first, second):
            if not isinstance(part, IntegerDomain | IntervalDomain | CategoryDomain):
                raise DomainError.of(type(part).__name__, "a product is made of two one-column domains")
        if set(first.columns) & set(second.columns):
            raise DomainError.of(first.columns[0], "the two columns of a product must differ")
        return ProductDomain(first, second)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Domain:
        """The domain that `to_json` wrote."""
        kind = data.get("kind")
        if kind == "integers":
            return Domain.integers(data["low"], data["high"], **_options(data, "column", "underflow", "overflow", "missing"))
        if kind == "intervals":
            return Domain.intervals(data["edges"], **_options(data, "column", "underflow", "overflow", "missing"))
        if kind == "categories":
            return Domain.categories(data["labels"], **_options(data, "column", "other", "missing"))
        if kind == "product":
            return Domain.product(Domain.from_json(data["first"]), Domain.from_json(data["second"]))
        raise DomainError.of(kind, "a domain is integers, intervals, categories or a product")


@dataclass(frozen=True)
class _OneColumn(Domain):
    column: str

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

    @property
    def inner(self) -> int:
        return self.high - self.low + 1

    @property
    def size(self) -> int:
        return self.inner + self.underflow + self.overflow + self.missing

    def label(self, index: int) -> str:
        return _label(self, index, str(self.low + index - self.underflow), f"under {self.low}", f"over {self.high}")

    def short_label(self, index: int) -> str:
        return _label(self, index, str(self.low + index - self.underflow), f"<{self.low}", f"{self.high + 1}+")

    def index(self, label: object) -> int:
        number = rational(_public(label), "a label")
        if number.denominator == 1 and self.low <= number <= self.high:
            return int(number) - self.low + self.underflow
        if number.denominator == 1 and number < self.low and self.underflow:
            return 0
        if number.denominator == 1 and number > self.high and self.overflow:
            return self.underflow + self.inner
        raise DomainError.of(text(number), f"a label must be one of {self.text}")

    @property
    def text(self) -> str:
        values = [str(self.low + step) for step in range(min(self.inner, 3))]
        if self.inner > 3:
            values = [*values[:2], "…", str(self.high)]
        return ", ".join(_around(self, values, f"under {self.low}", f"over {self.high}"))

    @property
    def python(self) -> str:
        return f"dv.Domain.integers({self.low}, {self.high}, column={_quoted(self.column)}{_extras(self)})"

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

    @property
    def inner(self) -> int:
        return len(self.edges) - 1

    @property
    def size(self) -> int:
        return self.inner + self.underflow + self.overflow + self.missing

    def _interval(self, index: int) -> str:
        place = index - self.underflow
        if not 0 <= place < self.inner:
            return ""
        left, right = (text(self.edges[place + side]) for side in (0, 1))
        return f"{left} to {right}" if place == self.inner - 1 else f"{left} to below {right}"

    def label(self, index: int) -> str:
        ends = f"under {text(self.edges[0])}", f"over {text(self.edges[-1])}"
        return _label(self, index, self._interval(index), *ends)

    def short_label(self, index: int) -> str:
        place = index - self.underflow
        inner = f"{text(self.edges[place])}–{text(self.edges[place + 1])}" if 0 <= place < self.inner else ""
        return _label(self, index, inner, f"<{text(self.edges[0])}", f">{text(self.edges[-1])}")

    def index(self, label: object) -> int:
        number = rational(_public(label), "a label")
        if number < self.edges[0]:
            if self.underflow:
                return 0
        elif number > self.edges[-1]:
            if self.overflow:
                return self.underflow + self.inner
        else:
            place = sum(1 for edge in self.edges[1:-1] if edge <= number)
            return place + self.underflow
        raise DomainError.of(text(number), f"a label must be one of {self.text}")

    @property
    def text(self) -> str:
        first, last = self._interval(self.underflow), self._interval(self.underflow + self.inner - 1)
        values = [first] if self.inner == 1 else [first, last] if self.inner == 2 else [first, "…", last]
        return ", ".join(_around(self, values, f"under {text(self.edges[0])}", f"over {text(self.edges[-1])}"))

    @property
    def python(self) -> str:
        edges = ", ".join(_quoted(text(edge)) if edge.denominator != 1 else text(edge) for edge in self.edges)
        return f"dv.Domain.intervals([{edges}], column={_quoted(self.column)}{_extras(self)})"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column, "edges": [text(edge) for edge in self.edges], **_edges(self)}


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
        return [*self.values, *(["other"] if self.other else []), *(["missing"] if self.missing else [])][index]

    def index(self, label: object) -> int:
        plain = category_text(label)
        if plain in self.values:
            return self.values.index(plain)
        if self.other:
            return len(self.values)
        raise DomainError.of(plain, f"a label must be one of {self.text}")

    @property
    def text(self) -> str:
        values = list(self.values) if len(self.values) <= 4 else [*self.values[:2], "…", self.values[-1]]
        return ", ".join([*values, *(["other"] if self.other else []), *(["missing"] if self.missing else [])])

    @property
    def python(self) -> str:
        labels = ", ".join(_quoted(value) for value in self.values)
        extras = "".join(f", {name}=True" for name in ("other", "missing") if getattr(self, name))
        return f"dv.Domain.categories([{labels}], column={_quoted(self.column)}{extras})"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "column": self.column,
            "labels": list(self.values),
            "other": self.other,
            "missing": self.missing,
        }


@dataclass(frozen=True)
class ProductDomain(Domain):
    kind: ClassVar[str] = "product"
    first: Domain
    second: Domain

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.first.columns, *self.second.columns)

    @property
    def size(self) -> int:
        return self.first.size * self.second.size

    def label(self, index: int) -> str:
        first, second = divmod(index, self.second.size)
        return f"{self.first.label(first)} · {self.second.label(second)}"

    def index(self, label: object) -> int:
        if not isinstance(label, tuple) or len(label) != 2:
            raise DomainError.of(label, "a label of a product is a pair")
        return self.first.index(label[0]) * self.second.size + self.second.index(label[1])

    @property
    def text(self) -> str:
        return f"({self.first.text}) × ({self.second.text})"

    @property
    def python(self) -> str:
        return f"{self.first.python} * {self.second.python}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "first": self.first.to_json(), "second": self.second.to_json()}


# ---------------------------------------------------------------- helpers


def category_text(value: object) -> str:
    """How a category is written and matched: text as it is ("007" stays "007"), numbers in their shortest exact form."""
    value = _public(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return str(value)
    return text(rational(value, "a label"))


def _public(value: Any) -> Any:
    """Refuse whole columns, arrays and the like, without looking into them."""
    if hasattr(value, "dtype") and getattr(value, "ndim", 0) != 0:
        raise DomainError.of(type(value).__name__, FROM_DATA)
    return value


def _listed(values: Any) -> Sequence[Any]:
    """A plain list, tuple or range; anything that smells of a data frame is refused unseen."""
    if isinstance(values, list | tuple | range):
        kinds = {type(value).__module__.partition(".")[0] for value in values} - {"builtins", "fractions", "decimal", "gmpy2"}
        if kinds:
            raise DomainError.of(f"values of {', '.join(sorted(kinds))}", FROM_DATA)
        return values
    raise DomainError.of(type(values).__name__, FROM_DATA, "write a list")


def _name(column: object) -> str:
    if not isinstance(column, str) or not column:
        raise DomainError.of(type(column).__name__ if not isinstance(column, str) else column, "column must be a name")
    return column


def _flags(*flags: object) -> tuple[bool, ...]:
    for flag in flags:
        if not isinstance(flag, bool):
            raise DomainError.of(short(flag), "underflow, overflow, other and missing are True or False")
    return tuple(bool(flag) for flag in flags)


def _options(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: data[name] for name in names if name in data}


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _edges(domain: IntegerDomain | IntervalDomain) -> dict[str, bool]:
    return {"underflow": domain.underflow, "overflow": domain.overflow, "missing": domain.missing}


def _extras(domain: IntegerDomain | IntervalDomain) -> str:
    return "".join(f", {name}=True" for name, on in _edges(domain).items() if on)


def _label(domain: IntegerDomain | IntervalDomain, index: int, inner: str, under: str, over: str) -> str:
    """The label of an ordered domain's bin: under, the inner ones, over, missing."""
    if not 0 <= index < domain.size:
        raise IndexError(index)
    place = index - domain.underflow
    if place < 0:
        return under
    if place < domain.inner:
        return inner
    return over if domain.overflow and place == domain.inner else "missing"


def _around(domain: IntegerDomain | IntervalDomain, values: list[str], under: str, over: str) -> list[str]:
    return [
        *([under] if domain.underflow else []),
        *values,
        *([over] if domain.overflow else []),
        *(["missing"] if domain.missing else []),
    ]
