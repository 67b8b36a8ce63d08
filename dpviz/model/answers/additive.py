"""Shapes whose values are counts that add up: linear queries to them, and rows that can be selected on a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, short
from dpviz.model.answers.base import Answer
from dpviz.model.answers.reading import BETWEEN, Operand, Reading
from dpviz.model.answers.values import fractions_sum, plus, whole_sum
from dpviz.model.between import Enclosed
from dpviz.model.error import ErrorValue
from dpviz.model.linear import AllKeys, Query, length

if TYPE_CHECKING:
    from dpviz.model.marginals import Grid as Marginal


UNORDERED: Final = {
    "categories": "a range needs bins in a known order, and these are names",
    "product": "a range needs bins in one order, and bins of several columns have none",
    "keys": "a range needs bins in a known order, and keys are names",
}
"""Why a domain has no ranges, by its kind."""


class AdditiveCounts(Answer):
    """A shape whose values are counts of its points, each with the error that the law says of one bin.

    Points are the bins of the question, and rows are points. A shape of which that is not true overrides the members
    that say otherwise. Its law bounds the error of a weighted sum in `StoredLaw.linear`.
    """

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        return law_bars(reading, beta)

    # ------------------------------------------------------------ linear queries

    def query_point(self, reading: Reading, label: object) -> Any:
        return self.point(reading, label)

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction | Enclosed:
        return added_up(self, reading, query, reader)

    def has_ordered_points(self, reading: Reading) -> bool:
        return reading.question.domain.ordered

    def span(self, reading: Reading, low: object, high: object) -> Sequence[Any]:
        domain = reading.question.domain
        if not domain.ordered:
            raise DomainError.of(domain.kind, UNORDERED[domain.kind], "name the labels: release.sum([...])")
        first, last = domain.ends(low, high)
        if first > last:
            raise DomainError.of(
                f"{domain.label(first)} to {domain.label(last)}",
                "a range must not be reversed",
                "give the lower end first",
            )
        return range(first, last + 1)

    def ordered_bins(self, reading: Reading) -> range:
        domain = reading.question.domain
        if not domain.ordered:
            unordered = UNORDERED[domain.kind].replace("a range needs", "quantiles and means need")
            raise DomainError.of(domain.kind, unordered, "ask for sums or shares of named labels")
        if self.noun != "bin":
            self._refuse(f"the values of this answer are counts of {self.noun}s", "read release.to_frame()")
        return domain.bins_in_order

    def all_points(self, reading: Reading) -> Sequence[Any]:
        domain = reading.question.domain
        return range(domain.size) if domain.declared else AllKeys()

    def total_points(self, reading: Reading, beside: Sequence[Any] | None = None) -> Sequence[Any]:
        return self.all_points(reading)

    def bins_behind(self, reading: Reading, query: Query) -> tuple[int, ...]:
        return (query.size,)

    def label(self, reading: Reading, point: Any) -> str:
        named: str = reading.question.domain.name(point)
        return named

    def marginal(self, reading: Reading, grid: Marginal) -> Callable[[Sequence[Sequence[int]]], Query]:
        if self.noun != "bin" or self.all_points(reading) != range(grid.domain.size):
            raise DomainError.of(
                f"an answer of {self.noun}s", "a marginal adds up declared bins", "ask for sums of what there is"
            )
        grid.check_pieces()
        return grid.query

    # ------------------------------------------------------------ rows of a page

    def in_row(self, reading: Reading, row: int) -> Any:
        if not 0 <= row < len(self.axis(reading).labels):
            raise DomainError.of(f"row {row:,}", "there is no such row in this answer", "show the release again")
        return row

    def typed_point(self, reading: Reading, label: tuple[str, ...]) -> Any:
        domain = reading.question.domain
        if len(label) != len(domain.columns):
            parts, columns = len(label), " and ".join(domain.columns)
            raise DomainError.of(
                f"{parts} texts",
                f"a bin of {columns} has {len(domain.columns)}, one for each column",
                "type one text for each column",
            )
        if domain.declared and len(label) == 1:
            size = domain.size
            for at in {0, size - 1, max(0, size - 2)}:  # "over 40" is a label, and no value that a person could look up
                if domain.label(at) == label[0]:
                    return at
        single = label[0].partition(BETWEEN)[0] if domain.kind == "intervals" else label[0]
        try:
            return self.query_point(reading, single if len(label) == 1 else label)
        except DomainError:
            # a look-up in Python names no label in its refusal; what a page sent was typed by a person to be read
            raise DomainError.of(
                short(", ".join(label)), f"a bin must be one of {domain.text}", "type one of these"
            ) from None

    def row_operand(self, reading: Reading, row: int) -> Operand:
        point = self.in_row(reading, row)
        return self.label(reading, point), [point]

    def typed_operand(self, reading: Reading, label: tuple[str, ...]) -> Operand:
        point = self.typed_point(reading, label)
        return self.label(reading, point), [point]

    def operand_count(self, reading: Reading) -> int | None:
        points = self.all_points(reading)
        return None if isinstance(points, AllKeys) else length(points)


def law_bars(reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
    """Half-widths of the intervals of one value and of all, where each value errs as the law says of a bin."""
    error = reading.error
    return error.shown(beta) or error.one_bin(beta), error.all_bins(beta)


def added_up(answer: Answer, reading: Reading, query: Query, reader: str = "") -> Fraction | Enclosed:
    """`weighted_sum`, from reading every point."""
    total: Fraction | Enclosed = Fraction(0)
    for points, weight in query.parts:
        values = answer.read(reading, list(points), reader)
        total = plus(total, whole_sum(values) if isinstance(values, np.ndarray) else fractions_sum(values), weight)
    return total


protect_module(vars())
