"""What an engine must sum up, from the definition alone, in fractions; and how far one user may move it."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from dpviz.model.aggregate import Sum
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import Column, DenseCounts, SparseCounts, StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import contract, reference

Summer = Callable[[pd.DataFrame, Question, Unit], Sequence[int]]
"""The totals of a frame, in steps: an engine's, or those of a twin that is wrong on purpose."""


def nearest(value: Any) -> float | Decimal | None:
    """The float of 64 bits that is nearest to a value of a number column; None where it is missing or no number."""
    if isinstance(value, Decimal) and value.is_finite():
        return value
    if isinstance(value, np.floating):
        return None if value != value else float(value)
    exact = reference.number(value)
    if isinstance(exact, str):
        return None
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def steps(value: float | Decimal, total: Sum) -> int:
    """The greatest s such that a value, cut to low..high, reaches the float nearest to (s - 1/2) step; the fraction
    itself, where the value is a decimal."""
    if isinstance(value, Decimal):
        exact = min(max(Fraction(value), total.low), total.high)
        near = int(exact / total.step)
        return max(s for s in range(near - 3, near + 4) if (s - Fraction(1, 2)) * total.step <= exact)
    low, high = float(total.low), float(total.high)
    cut = low if value <= low else high if value >= high else value
    near = math.floor(Fraction(cut) / total.step)
    return max(s for s in range(near - 3, near + 4) if float((s - Fraction(1, 2)) * total.step) <= cut)


def totals(
    rows: list[reference.Row], columns: tuple[Column, ...], question: Question, unit: Unit
) -> dict[int | str, int]:
    """The totals that are not 0, row by row."""
    kinds = {column.name: column.kind for column in columns}
    total = question.aggregate
    assert isinstance(total, Sum)
    held: dict[str, dict[int | str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    for row in rows:
        value = nearest(row[total.column])
        if value is None:
            continue
        for user, bin in reference.counted([row], question, unit, kinds):
            held[user][bin][steps(value, total)] += 1
    found: Counter[int | str] = Counter()
    for user, bins in held.items():
        for bin, amount in kept(bins, question, unit, user):
            found[bin] += amount
    return {bin: amount for bin, amount in sorted(found.items()) if amount}


def kept(
    bins: Mapping[int | str, Counter[int]], question: Question, unit: Unit, user: str
) -> list[tuple[int | str, int]]:
    """The steps of each row that a user counts with: bins, and rows in a bin, in the order of their digests."""
    if unit.is_row:
        return [(bin, amount) for bin, amounts in bins.items() for amount in amounts.elements()]
    touched = sorted(bins, key=lambda bin: reference.rank(question, user, bin))
    head = f"{question.id}{reference.hexed(user)}"
    counted: list[tuple[int | str, int]] = []
    for bin in touched[: unit.max_bins]:
        order = sorted(bins[bin].elements(), key=lambda amount: (reference.hexed(f"{head}{bin} {amount}"), amount))
        counted += [(bin, amount) for amount in order[: unit.max_per_bin]]
    return counted if unit.max_records is None else counted[: unit.max_records]


def sums_as_the_reference(
    source: Source, frame: pd.DataFrame, question: Question, unit: Unit, columns: tuple[Column, ...] | None = None
) -> dict[int | str, int]:
    """An engine's totals, dense where the bins are few, after comparing them with the reference."""
    source.check(question, unit, StatisticKind.SPARSE)
    statistic = source.count(question, unit, StatisticKind.SPARSE)
    assert isinstance(statistic, SparseCounts)
    labels, amounts = statistic.take()
    assert amounts.dtype == np.int64
    assert (amounts != 0).all(), "a bin that adds up to 0 can be told from an empty one"
    numbered = question.domain.declared and question.bins <= 2**64
    assert labels.dtype == (np.uint64 if numbered else object)
    found = dict(zip(labels.tolist(), amounts.tolist(), strict=True))
    assert list(found) == sorted(found)
    assert found == totals(reference.rows_of(frame), source.columns if columns is None else columns, question, unit)
    if question.domain.declared and question.bins <= 10_000:
        dense = source.count(question, unit, StatisticKind.DENSE)
        assert isinstance(dense, DenseCounts)
        assert dense.take().dtype == np.int64
        assert dense.take().tolist() == [found.get(bin, 0) for bin in range(question.bins)]
    return found


def summer(engine: contract.Engine) -> Summer:
    """The totals of an engine that reads each frame afresh."""

    def add_up(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
        statistic = engine(frame, "data", None).count(question, unit, StatisticKind.DENSE)
        assert isinstance(statistic, DenseCounts)
        return statistic.take().tolist()

    return add_up


@functools.cache
def of_two_users(
    ours: tuple[tuple[int, float], ...], theirs: tuple[tuple[int, float], ...]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row for each bin and value of two users; and the same rows backwards."""
    held = [(bin, value, "one") for bin, value in ours] + [(bin, value, "two") for bin, value in theirs]
    frame = pd.DataFrame(
        {
            "bin": pd.Series([bin for bin, _, _ in held], dtype="int64"),
            "x": pd.Series([value for _, value, _ in held], dtype="float64"),
            "user": pd.Series([user for _, _, user in held], dtype="str"),
        }
    )
    return frame, frame.iloc[::-1]


def one_user_moves_sums_little(
    add_up: Summer,
    unit: Unit,
    low: int,
    high: int,
    values: Sequence[float],
    bins: int = 2,
    rows: int = 3,
    most_others: int = 12,
) -> int:
    """Every pair of neighbours among frames of two users with up to `rows` rows each. How many pairs.

    A user who comes or goes moves at most max_bins totals, each by max_per_bin * heaviest at most; one whose rows are
    replaced moves twice as many, or as many by max_per_bin * spread.
    """
    question = Question.sum("x", by=Domain.integers(0, bins - 1, column="bin"), low=low, high=high, step=1)
    total, cells = question.aggregate, list(itertools.product(range(bins), values))
    pieces = [held for size in range(rows + 1) for held in itertools.combinations_with_replacement(cells, size)]
    known: dict[Any, Sequence[int]] = {}
    others = [piece for piece in pieces if len(piece) in (0, rows)][:: max(1, len(pieces) // most_others)]
    for ours, theirs in itertools.product(pieces, others):
        frame, backwards = of_two_users(ours, theirs)
        known[ours, theirs] = add_up(frame, question, unit)
        assert add_up(backwards, question, unit) == known[ours, theirs], "the order of the rows decides"
    sides = 1 if unit.relation == "add-remove" else 2
    most_bins = bins if unit.max_bins is None else min(unit.max_bins * sides, bins)
    weight = contract.rows_of_one_user(unit, bins) * total.heaviest * sides
    reach = unit.max_per_bin * (total.heaviest if sides == 1 else total.spread)
    pairs = 0
    for theirs in others:
        before = [()] if unit.relation == "add-remove" else pieces
        for one, other in itertools.product(before, pieces):
            change = np.subtract(known[other, theirs], known[one, theirs])
            assert np.abs(change).sum() <= weight, "one user moves the sums too far"
            assert np.abs(change).max() <= reach, "one user moves one sum too far"
            assert np.count_nonzero(change) <= most_bins, "one user touches too many bins"
            pairs += 1
    return pairs
