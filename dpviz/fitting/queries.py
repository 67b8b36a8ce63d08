"""Any set of counting queries as a matrix: what it costs, and the least-squares values of whatever it determines.

A row is a question, a column is a kind of record (a bin); an entry says how much one record of that kind adds to the
question. Hay, Rastogi, Miklau, Suciu 2010 begin with such a set (grades, those who passed, all).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from gmpy2 import mpq

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.fitting.tree import as_fraction

LARGEST = 200
"""Up to so many columns, exact elimination takes seconds."""


@dataclass(frozen=True)
class NoisyQueries:
    """Linear queries over bins, with the variance of the noise on each answer.

    rows       one weight for each bin, in each query
    variances  of each answer's noise, in any common unit; nothing means 1 everywhere

    >>> grades = NoisyQueries(((1, 1, 1, 1, 1), (1, 1, 1, 1, 0), (1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0),
    ...     (0, 0, 0, 1, 0), (0, 0, 0, 0, 1)))                               # all, passed, A, B, C, D, F
    >>> grades.add_or_remove, grades.replace_one
    (Fraction(3, 1), Fraction(3, 1))
    """

    rows: tuple[tuple[int | Fraction, ...], ...]
    variances: tuple[int | Fraction, ...] = ()

    def __post_init__(self) -> None:
        if not self.rows or not self.rows[0] or len({len(row) for row in self.rows}) != 1:
            raise ParameterError.of(
                "other rows",
                "queries are rows of one weight for each bin, all of one length",
                "give each query as many weights as there are bins",
            )
        if len(self.rows[0]) > LARGEST:
            raise ParameterError.of(len(self.rows[0]), f"a set of queries is over at most {LARGEST} bins", "ask a tree")
        if not self.variances:
            object.__setattr__(self, "variances", (1,) * len(self.rows))
        for value in (*(one for row in self.rows for one in row), *self.variances):
            if type(value) is not int and type(value) is not Fraction:
                raise ParameterError.of(
                    "other numbers",
                    "weights and variances are whole numbers or Fractions",
                    "write Fraction(1, 2) for a half",
                )
        if len(self.variances) != len(self.rows) or min(self.variances) <= 0:
            raise ParameterError.of(
                "other variances", "each query has a positive variance", "give one variance above 0 for each query"
            )

    @property
    def bins(self) -> int:
        return len(self.rows[0])

    @cached_property
    def add_or_remove(self) -> Fraction:
        """How much all answers together change, at most, when one record is added or removed."""
        return max(sum((abs(Fraction(row[at])) for row in self.rows), Fraction(0)) for at in range(self.bins))

    @cached_property
    def replace_one(self) -> Fraction:
        """How much all answers together change, at most, when one record moves to another bin."""
        columns = list(zip(*self.rows, strict=True))
        apart = [
            sum((abs(Fraction(one - other)) for one, other in zip(a, b, strict=True)), Fraction(0))
            for at, a in enumerate(columns)
            for b in columns[:at]
        ]
        return max(apart, default=Fraction(0))

    def by_user(self, records: int) -> tuple[Fraction, Fraction]:
        """Both for a user who owns up to so many records: added or removed as a whole, or replaced by another.

        The other user owns between none and all of that many, so a total is not fixed by the number of users.
        """
        if type(records) is not int or records < 1:
            raise ParameterError.of(records, "a user owns at least one record at most", "give records of at least 1")
        return records * self.add_or_remove, records * max(self.add_or_remove, self.replace_one)

    @cached_property
    def rank(self) -> int:
        """How many of the bins' directions the queries tell apart."""
        return len(self._basis[0])

    def determines(self, query: Sequence[int | Fraction]) -> bool:
        """Whether the answers say anything definite of a query: whether it is a combination of the rows."""
        return self._reduced(query) is not None

    def fit(self, noisy: Sequence[int | Fraction]) -> list[Fraction]:
        """The consistent answers with the least sum of squared differences over variances, one for each query."""
        return [self.value(row, noisy) for row in self.rows]

    def value(self, query: Sequence[int | Fraction], noisy: Sequence[int | Fraction]) -> Fraction:
        """The least-squares value of a query that the answers determine."""
        if len(noisy) != len(self.rows):
            raise ParameterError.of(
                f"{len(noisy)} of them", f"there are {len(self.rows)} answers", "give one answer for each query"
            )
        for one in noisy:
            if type(one) is not int and type(one) is not Fraction:
                raise ParameterError.of(
                    "other numbers",
                    "noisy answers are whole numbers or Fractions",
                    "round them, or make Fractions of them",
                )
        return sum((weight * one for weight, one in zip(self.weights(query), noisy, strict=True)), Fraction(0))

    def weights(self, query: Sequence[int | Fraction]) -> list[Fraction]:
        """How much each noisy answer counts in the least-squares value of a query."""
        solved = self._solve(query)
        pairs = zip(self.rows, self.variances, strict=True)
        return [as_fraction(_dot(row, solved) / mpq(variance)) for row, variance in pairs]

    def variance(self, query: Sequence[int | Fraction]) -> Fraction:
        """The variance of the least-squares value of a query, where the variances are those of the noise."""
        return self.covariance(query, query)

    def covariance(self, query: Sequence[int | Fraction], other: Sequence[int | Fraction]) -> Fraction:
        """The covariance of the least-squares values of two queries."""
        self._solve(query)
        return as_fraction(_dot(query, self._solve(other)))

    @cached_property
    def _basis(self) -> tuple[list[int], list[list[Any]]]:
        """The pivots and rows, in echelon form, of the normal equations beside the unit matrix."""
        n = self.bins
        matrix = [[mpq(0)] * (2 * n) for _ in range(n)]
        for row, variance in zip(self.rows, self.variances, strict=True):
            used = [(at, mpq(one)) for at, one in enumerate(row) if one]
            for i, a in used:
                for j, b in used:
                    matrix[i][j] += a * b / mpq(variance)
        for at in range(n):
            matrix[at][n + at] = mpq(1)
        return _echelon(matrix, n)

    def _solve(self, query: Sequence[int | Fraction]) -> list[Any]:
        """Some x with (rows' / variances) rows x = query; refused where there is none."""
        solved = self._reduced(query)
        if solved is None:
            raise ParameterError.of(
                "a query that is open", "the answers must determine what is read from them", "ask for that, too"
            )
        return solved

    def _reduced(self, query: Sequence[int | Fraction]) -> list[Any] | None:
        self._check(query)
        n, (pivots, rows) = self.bins, self._basis
        solved = [mpq(0)] * n
        for at, row in enumerate(rows):
            right = _dot(query, row[n:])
            if at < len(pivots):
                solved[pivots[at]] = right
            elif right:
                return None
        return solved

    def _check(self, query: Sequence[int | Fraction]) -> None:
        if len(query) != self.bins or any(type(one) is not int and type(one) is not Fraction for one in query):
            raise ParameterError.of(
                "another query",
                f"a query has {self.bins} exact weights, one for each bin",
                "give one weight for each bin",
            )


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum((mpq(x) * y for x, y in zip(a, b, strict=True) if x), mpq(0))


def _echelon(matrix: list[list[Any]], columns: int) -> tuple[list[int], list[list[Any]]]:
    """Reduce a matrix whose rows are independent: where its pivots are among the first columns, and its rows."""
    from flint import fmpq, fmpq_mat

    entries = [fmpq(int(one.numerator), int(one.denominator)) for row in matrix for one in row]
    reduced, _ = fmpq_mat(len(matrix), len(matrix[0]), entries).rref()
    rows = [[mpq(int(one.p), int(one.q)) for one in row] for row in reduced.tolist()]
    leads = (next(at for at, one in enumerate(row) if one) for row in rows)
    return [at for at in leads if at < columns], rows


protect_module(vars())
