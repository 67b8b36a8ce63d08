"""The nearest ascending sequence to noisy sorted counts (Hay, Rastogi, Miklau, Suciu 2010, Theorem 1).

The fit is constant on blocks, and a block's value is the mean of what was drawn in it. So it is stored as it is exact:
where each block begins, and the sum of its values. Everything else (values, whole numbers, pictures) is read from that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import error_boundary, protect_module
from dpviz.errors import ParameterError

EXACT_FLOATS = 1 << 53
"""Whole numbers below this are exact in float64."""

Exact = int | Fraction


@dataclass(frozen=True, eq=False)
class Isotonic:
    """An isotonic fit: block i holds the positions starts[i] to starts[i + 1] - 1, and its value is the mean there.

    starts  where each block begins, the first at 0
    sums    the sum of the noisy values of each block: whole numbers in int64, or exact numbers of any size as objects
    size    how many positions there are

    The value rises strictly from block to block: equal means are one block.
    """

    starts: NDArray[np.int64]
    sums: NDArray[Any]
    size: int

    @property
    def lengths(self) -> NDArray[np.intp]:
        """How many positions each block holds."""
        return np.diff(self.starts, append=self.size).astype(np.intp)  # as wide as np.repeat takes them

    def blocks(self) -> Iterator[tuple[int, int, Fraction]]:
        """Each block: where it begins, how long it is, and its value."""
        for start, length, total in zip(self.starts.tolist(), self.lengths.tolist(), self.sums.tolist(), strict=True):
            yield start, length, Fraction(total) / length

    def at(self, position: int) -> Fraction:
        """The fitted value at a position, counted from 0."""
        _inside(position, position, self.size)
        block = int(np.searchsorted(self.starts, position, side="right")) - 1
        return self._mean(block)

    def total(self, first: int, last: int) -> Fraction:
        """The sum of the fitted values from one position to another, both included."""
        _inside(first, last, self.size)
        begin, end = (int(np.searchsorted(self.starts, at, side="right")) - 1 for at in (first, last))
        if begin == end:
            return (last - first + 1) * self._mean(begin)
        between = sum(self.sums[begin + 1 : end].tolist(), Fraction(0))
        head, tail = int(self.starts[begin + 1]) - first, last + 1 - int(self.starts[end])
        return head * self._mean(begin) + between + tail * self._mean(end)

    def values(self, least: Exact | None = None) -> list[Fraction]:
        """Every fitted value. With a least value it is the nearest ascending sequence that is nowhere below it.

        Raising values after the fit loses nothing: for every convex penalty of each position's error the ascending fit
        is block by block, and on a block the best constant that is at least `least` is max(mean, least). The tests
        compare it with every ascending sequence of a grid.
        """
        fitted: list[Fraction] = []
        for _, length, mean in self.blocks():
            fitted += [mean if least is None else max(mean, Fraction(least))] * length
        return fitted

    def whole(self, least: int | None = None) -> NDArray[Any]:
        """The nearest ascending sequence of whole numbers (halves go up), nowhere below `least` where that is given.

        Rounding after the fit loses nothing: on a block, the squared error of a constant c is that of the mean plus
        length * (c - mean)**2, and splitting a block never helps. The tests compare it with every such sequence.
        """
        rounded: NDArray[Any]
        if self.sums.dtype == object:
            pairs = zip(self.sums.tolist(), self.lengths.tolist(), strict=True)
            rounded = np.array([_half_up(Fraction(total) / length) for total, length in pairs], dtype=object)
        else:
            # floor(sum / length + 1/2) in whole numbers.
            rounded = (2 * self.sums + self.lengths) // (2 * self.lengths)
        if least is not None:
            rounded = np.maximum(rounded, least)
        return np.repeat(rounded, self.lengths)

    def floats(self, least: float | None = None) -> NDArray[np.float64]:
        """The fit for pictures. Each value is the exact mean, rounded to the nearest float64."""
        if self.sums.dtype == object:
            means = np.array([float(mean) for _, _, mean in self.blocks()], dtype=np.float64)
        else:
            means = self.sums / self.lengths
        return np.repeat(means if least is None else np.maximum(means, least), self.lengths)

    def _mean(self, block: int) -> Fraction:
        total = self.sums[block : block + 1].tolist()[0]
        end = int(self.starts[block + 1]) if block + 1 < len(self.starts) else self.size
        return Fraction(total) / (end - int(self.starts[block]))


@error_boundary
def isotonic(noisy: NDArray[np.int64] | Sequence[Exact]) -> Isotonic:
    """The ascending sequence with the least sum of squared differences from the noisy values, exactly.

    Time and space grow with the length. Where the sizes of all values add up to less than 2**53, SciPy's compiled
    routine proposes the blocks and integer arithmetic confirms them: a partition is the best one just where means rise
    from block to block, and no beginning of a block has a mean below the block's. Beyond that, and in the rare
    case that rounding misled the proposal, a stack of exact sums merges its last two blocks while they descend.

    >>> [str(value) for value in isotonic([1, 2, 0, 11]).values()]
    ['1', '1', '1', '11']
    """
    values = _whole_numbers(noisy)
    if values is not None:
        from scipy.optimize import isotonic_regression

        # SciPy works in floats, so its blocks are a proposal. Whole numbers below 2^53 reach it unrounded.
        fit = _merged(values, isotonic_regression(values.astype(np.float64)).blocks[:-1])
        if _is_best(values, fit):
            return fit
    return _stacked(noisy)


@error_boundary
def sorted_rounded(noisy: NDArray[np.int64] | Sequence[int]) -> NDArray[Any]:
    """The baseline that the fit is compared with: noisy values sorted, each at least 0. Whole ones stay whole."""
    if len(noisy) == 0:
        raise _empty()
    kept = noisy if isinstance(noisy, np.ndarray) else np.array(list(noisy), dtype=object)
    return np.sort(np.maximum(kept, 0))


@error_boundary
def harmonic(count: int) -> Fraction:
    """1 + 1/2 + ... + 1/count, the total squared error of the fit of so many equal counts, in variances of one noise.

    Exact for independent noise of one law and mean 0: a block contributes one variance, and blocks of an exchangeable
    sequence are as many as the cycles of a uniform permutation. For any counts, the sum over the distinct ones of
    harmonic(how often it occurs) is a bound.

    >>> harmonic(4)
    Fraction(25, 12)
    """
    if count < 1:
        raise ParameterError.of(count, "a run of equal counts needs at least one of them", "leave the empty run out")
    return _harmonic_between(1, count)


@error_boundary
def error_bound(runs: Sequence[int]) -> Fraction:
    """A bound on the total squared error of the fit, in variances of one noise, where distinct counts occur so often.

    For planning: an answer does not tell the true runs.

    >>> error_bound([4, 1, 1])
    Fraction(49, 12)
    """
    if len(runs) == 0:
        raise _empty()
    return sum(map(harmonic, runs), Fraction(0))


@error_boundary
def position_bounds(runs: Sequence[int]) -> list[Fraction]:
    """A bound on the squared error at each position, in variances of one noise: 2 (1/a + 1/b), a and b being how far
    it is to the two ends of its run of equal counts, each counted from 1. Holds for symmetric noise."""
    # 1/a and 1/b are the variances of means from the position to either end of its run.
    return [2 * (Fraction(1, run - at) + Fraction(1, at + 1)) for run in runs for at in range(run)]


def _harmonic_between(first: int, last: int) -> Fraction:
    """1/first + ... + 1/last, by halves: denominators stay short for as long as possible."""
    if last - first < 8:
        return sum((Fraction(1, at) for at in range(first, last + 1)), Fraction(0))
    middle = (first + last) // 2
    return _harmonic_between(first, middle) + _harmonic_between(middle + 1, last)


def _whole_numbers(noisy: NDArray[np.int64] | Sequence[Exact]) -> NDArray[np.int64] | None:
    """The values in int64 where they are whole and their sizes add up to less than 2**53; None where they do not."""
    if len(noisy) == 0:
        raise _empty()
    if isinstance(noisy, np.ndarray) and noisy.ndim != 1:
        raise ParameterError.of(
            f"{noisy.ndim} dimensions", "a fit takes one list of noisy values", "give one flat list"
        )
    if isinstance(noisy, np.ndarray) and noisy.dtype.kind in "iu":
        most = max(abs(int(noisy.max())), abs(int(noisy.min())))
        if most * len(noisy) < EXACT_FLOATS or (
            most < EXACT_FLOATS and int(np.abs(noisy).sum(dtype=object)) < EXACT_FLOATS
        ):
            return noisy.astype(np.int64)
        return None
    kinds = {type(value) for value in (noisy.tolist() if isinstance(noisy, np.ndarray) else noisy)}
    if not kinds <= {int, Fraction}:
        raise ParameterError.of("other numbers", "a fit takes whole numbers or Fractions", "round or scale them first")
    if Fraction in kinds or sum(map(abs, noisy)) >= EXACT_FLOATS:
        return None
    return np.array(noisy, dtype=np.int64)


def _merged(values: NDArray[np.int64], starts: NDArray[Any]) -> Isotonic:
    """Proposed blocks with their exact sums; neighbours of equal means become one."""
    starts = starts.astype(np.int64)
    sums = np.add.reduceat(values, starts.astype(np.intp))
    lengths = np.diff(starts, append=len(values))
    if len(starts) > 1:
        kept = np.concatenate(([True], _signs(sums[1:], lengths[:-1], sums[:-1], lengths[1:]) != 0))
        if not kept.all():
            starts = starts[kept]
            sums = np.add.reduceat(values, starts.astype(np.intp))
    return Isotonic(starts, sums, len(values))


def _is_best(values: NDArray[np.int64], fit: Isotonic) -> bool:
    """Whether means rise from block to block, and no beginning of a block has a mean below the block's."""
    sums, lengths = fit.sums, fit.lengths
    if len(sums) > 1 and not bool((_signs(sums[1:], lengths[:-1], sums[:-1], lengths[1:]) > 0).all()):
        return False
    reached = np.cumsum(values)
    before = np.repeat(reached[fit.starts] - values[fit.starts], lengths)
    steps = np.arange(1, len(values) + 1) - np.repeat(fit.starts, lengths)
    # Mean of a beginning minus mean of the block, times both lengths: no beginning may lie below.
    ahead = _signs(reached - before, np.repeat(lengths, lengths), np.repeat(sums, lengths), steps)
    return bool((ahead >= 0).all())


def _signs(a: NDArray[np.int64], b: NDArray[np.int64], c: NDArray[np.int64], d: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sign of a b - c d, exactly, for whole numbers of at most 2**53.

    Products are at most 2**106, so in float64 their difference is off by less than 2**56. A float beyond 2**60
    tells the sign; below that the difference fits into 64 bits, and arithmetic that wraps around gives it exactly.
    """
    near = a.astype(np.float64) * b - c.astype(np.float64) * d
    with np.errstate(over="ignore"):
        wrapped = a * b - c * d
    signs: NDArray[np.int64] = np.where(np.abs(near) > 2.0**60, np.sign(near).astype(np.int64), np.sign(wrapped))
    return signs


def _stacked(noisy: NDArray[Any] | Sequence[Exact]) -> Isotonic:
    """The fit for exact numbers of any size: a stack of blocks, the last two merged while they do not rise."""
    sums: list[Exact] = []
    lengths: list[int] = []
    for value in noisy.tolist() if isinstance(noisy, np.ndarray) else noisy:
        total: Exact = value
        length = 1
        # Pool adjacent violators: means are compared by products, so nothing is rounded.
        while sums and sums[-1] * length >= total * lengths[-1]:
            total, length = total + sums.pop(), length + lengths.pop()
        sums.append(total)
        lengths.append(length)
    exact = np.empty(len(sums), dtype=object)
    exact[:] = sums
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
    return Isotonic(starts, exact, int(np.sum(lengths)))


def _half_up(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def _inside(first: int, last: int, size: int) -> None:
    if not 0 <= first <= last < size:
        raise ParameterError.of(
            f"{first}..{last}",
            f"positions run from 0 to {size - 1}, the first not after the last",
            "keep both ends inside, the low end first",
        )


def _empty() -> ParameterError:
    error = ParameterError.of("none", "a fit needs at least one value", "give a list that is not empty")
    assert isinstance(error, ParameterError)
    return error


protect_module(vars())
