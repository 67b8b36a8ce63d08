"""Weighted least squares by rational normal equations, written from the definition and from nothing in the package."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq, fmpq_mat


def rational(value: int | Fraction) -> fmpq:
    value = Fraction(value)
    return fmpq(value.numerator, value.denominator)


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


class LeastSquares:
    """Minimise the sum of (rows x - noisy)**2 / variance; a row of variance 0 is a constraint, one of None is unasked.

    Solved with a multiplier for each constraint: the matrix is [[A' W A, B'], [B, 0]].
    """

    def __init__(self, rows: Sequence[Sequence[int]], variances: Sequence[Fraction | int | None]) -> None:
        self.rows, self.variances, self.n = rows, variances, len(rows[0])
        self.fixed = [at for at, variance in enumerate(variances) if variance == 0]
        size = self.n + len(self.fixed)
        matrix = fmpq_mat(size, size)
        for row, variance in zip(rows, variances, strict=True):
            if variance:
                for i in range(self.n):
                    for j in range(self.n):
                        if row[i] and row[j]:
                            matrix[i, j] += rational(row[i] * row[j] / Fraction(variance))
        for at, fixed in enumerate(self.fixed):
            for i in range(self.n):
                matrix[i, self.n + at] = matrix[self.n + at, i] = rational(rows[fixed][i])
        self.inverse = matrix.inv()

    def fit(self, noisy: Sequence[int | Fraction | None]) -> list[Fraction]:
        right = fmpq_mat(self.n + len(self.fixed), 1)
        for row, variance, value in zip(self.rows, self.variances, noisy, strict=True):
            if variance:
                for i in range(self.n):
                    right[i, 0] += rational(row[i] * Fraction(value or 0) / Fraction(variance))
        for at, fixed in enumerate(self.fixed):
            right[self.n + at, 0] = rational(noisy[fixed] or 0)
        solved = self.inverse * right
        return [fraction(solved[i, 0]) for i in range(self.n)]

    def variance(self, query: Sequence[int | Fraction]) -> Fraction:
        weights = [rational(one) for one in query] + [fmpq(0)] * (self.n - len(query))
        row = fmpq_mat(1, self.n + len(self.fixed), weights + [fmpq(0)] * len(self.fixed))
        return fraction((row * self.inverse * row.transpose())[0, 0])
