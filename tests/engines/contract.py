"""The contract of every engine: what it counts, how far one unit moves its counts, and what it tells nobody.

An engine is a function from a frame, a name and a schema to a Source. Each check takes an engine, so a new one is
tested by one file that calls them; `test_contract.py` shows that near-wrong engines are rejected.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import reject

from dpviz.errors import SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import (
    Column,
    DenseCounts,
    Need,
    SparseCounts,
    Statistic,
    StatisticKind,
    Top,
    TopCounts,
)
from dpviz.privacy.unit import Unit
from tests.engines import reference

Engine = Callable[[pd.DataFrame, str, Mapping[str, str] | None], Source]
Counter = Callable[[pd.DataFrame, Question, Unit], Sequence[int]]
"""Counts of a frame: an engine's, or those of a twin that is wrong on purpose."""
Largest = tuple[list[Any], list[int], int]
Topper = Callable[[pd.DataFrame, Question, Unit, int], Largest]
"""The largest counts of a frame, as labels, counts and the next count: an engine's, or those of a wrong twin."""


def asked(source: Source, question: Question, unit: Unit, need: Need) -> Statistic:
    """Count, and give an example up where the source refuses a label that no whole number of a column's type is:
    `test_ruled_out.py` has those."""
    try:
        source.check(question, unit, need)
    except SchemaError as refused:
        if "whole numbers from" in str(refused):
            reject()
        raise
    return source.count(question, unit, need)


def counter(engine: Engine) -> Counter:
    """The counts of an engine that reads each frame afresh."""

    def count(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
        statistic = asked(engine(frame, "data", None), question, unit, StatisticKind.DENSE)
        assert isinstance(statistic, DenseCounts)
        return statistic.take().tolist()

    return count


def counts_as_the_reference(
    engine: Engine, frame: pd.DataFrame, question: Question, unit: Unit, schema: Mapping[str, str] | None = None
) -> list[int]:
    """An engine's counts, after comparing them with the reference bin by bin."""
    source = engine(frame, "data", schema)
    statistic = asked(source, question, unit, StatisticKind.DENSE)
    assert isinstance(statistic, DenseCounts)
    counts = statistic.take()
    assert counts.dtype == np.int64
    assert counts.shape == (question.bins,)
    assert counts.tolist() == reference.count(reference.rows_of(frame), source.columns, question, unit)
    return counts.tolist()


def sparse_as_the_reference(
    engine: Engine, frame: pd.DataFrame, question: Question, unit: Unit, schema: Mapping[str, str] | None = None
) -> list[tuple[int | str, int]]:
    """An engine's labels and counts of the bins that are not empty, after comparing them with the reference."""
    source = engine(frame, "data", schema)
    statistic = asked(source, question, unit, StatisticKind.SPARSE)
    assert isinstance(statistic, SparseCounts)
    labels, counts = statistic.take()
    assert counts.dtype == np.int64
    assert (counts > 0).all()
    numbered = question.domain.declared and question.bins <= 2**64
    assert labels.dtype == (np.uint64 if numbered else object)
    found = list(zip(labels.tolist(), counts.tolist(), strict=True))
    assert all(type(label) is (int if question.domain.declared else str) for label, _ in found)
    assert found == reference.sparse(reference.rows_of(frame), source.columns, question, unit)
    return found


def sparse_counter(engine: Engine) -> Counter:
    """The counts of every bin of a small domain, from what an engine says of those that are not empty."""

    def count(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
        statistic = asked(engine(frame, "data", None), question, unit, StatisticKind.SPARSE)
        assert isinstance(statistic, SparseCounts)
        labels, occupied = statistic.take()
        counts = np.zeros(question.bins, dtype=np.int64)
        counts[labels.astype(np.int64)] = occupied
        return counts.tolist()

    return count


def key_counter(engine: Engine, names: Sequence[str]) -> Counter:
    """The counts of these keys, where the engine is asked for unknown ones."""

    def count(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
        keys = Question.of(Domain.keys(column=question.domain.columns[0]), question.where or None)
        statistic = asked(engine(frame, "data", None), keys, unit, StatisticKind.SPARSE)
        assert isinstance(statistic, SparseCounts)
        labels, occupied = statistic.take()
        found = dict(zip(labels.tolist(), occupied.tolist(), strict=True))
        assert set(found) <= set(names)
        return [found.get(name, 0) for name in names]

    return count


def topper(engine: Engine) -> Topper:
    """The largest counts of an engine that reads each frame afresh."""

    def top(frame: pd.DataFrame, question: Question, unit: Unit, rows: int) -> Largest:
        return largest(engine(frame, "data", None), question, unit, rows)

    return top


def largest(source: Source, question: Question, unit: Unit, rows: int) -> Largest:
    statistic = asked(source, question, unit, Top(rows))
    assert isinstance(statistic, TopCounts)
    items, counts, next_count = statistic.take()
    assert counts.dtype == np.int64
    assert type(next_count) is int
    assert all(type(item) is (int if question.domain.declared else str) for item in items)
    return list(items), counts.tolist(), next_count


def top_as_the_reference(
    top: Topper, frame: pd.DataFrame, columns: tuple[Column, ...], question: Question, unit: Unit, rows: int
) -> Largest:
    """The largest counts, after comparing them with the reference, and whatever the order of the rows is."""
    found = top(frame, question, unit, rows)
    expected = reference.top(reference.rows_of(frame), columns, question, unit, rows)
    assert found == expected, "the largest counts are not those of the reference"
    assert top(frame.iloc[::-1], question, unit, rows) == found, "the order of the rows decides"
    return found


@functools.cache
def of_two_users(ours: tuple[Any, ...], theirs: tuple[Any, ...], beside: tuple[Any, ...] = ()) -> pd.DataFrame:
    """A row for each bin of two users, and of a third. Bins are all texts or all whole numbers."""
    bins, kind = [*ours, *theirs, *beside], "str" if beside else "int64"
    users = ["one"] * len(ours) + ["two"] * len(theirs) + ["three"] * len(beside)
    return pd.DataFrame({"bin": pd.Series(bins, dtype=kind), "user": pd.Series(users, dtype="str")})


def one_user_moves_few_of_the_largest(top: Topper, unit: Unit, kbar: int) -> int:
    """Every pair of neighbours among frames of two users with up to two rows each in three bins. How many pairs.

    Counts of all bins move by max_per_bin at most, in at most max_bins bins, under add-or-remove all in one direction.
    As many bins enter or leave the kbar largest, and their counts lie at most one user's weight above the next count.
    """
    question = Question.of(Domain.keys(column="bin"))
    pieces = [rows for size in range(3) for rows in itertools.combinations_with_replacement("abc", size)]
    known: dict[Any, tuple[dict[str, int], Largest]] = {}
    for ours, theirs in itertools.product(pieces, repeat=2):
        frame = of_two_users(ours, theirs, ("c",))
        items, counts, _ = top(frame, question, unit, 3)
        known[ours, theirs] = dict(zip(items, counts, strict=True)), top(frame, question, unit, kbar)
    sides = 1 if unit.relation == "add-remove" else 2
    touched = min(3 if unit.max_bins is None else unit.max_bins * sides, 3)
    gap = unit.max_per_bin * sides
    pairs = 0
    for theirs in pieces:
        for before, after in neighbours(pieces, unit):
            (first, (one, _, next_one)), (second, (other, _, _)) = known[before, theirs], known[after, theirs]
            change = [second.get(bin, 0) - first.get(bin, 0) for bin in "abc"]
            assert max(map(abs, change)) <= unit.max_per_bin, "one unit moves one bin too far"
            assert sum(moved != 0 for moved in change) <= touched, "one unit touches too many bins"
            if unit.relation == "add-remove":
                assert min(change) * max(change) >= 0, "one unit moves counts both ways"
            gone = set(one) - set(other)
            assert len(gone) <= min(touched, kbar), "one unit moves too many of the largest"
            assert all(first[bin] <= next_one + gap for bin in gone), "the next count is not the next count"
            pairs += 1
    return pairs


def looks_at_values_only(count: Counter, frame: pd.DataFrame, question: Question, unit: Unit) -> None:
    """Neither the order of the rows nor the index moves a count."""
    before = count(frame, question, unit)
    backwards = frame.iloc[::-1]
    renamed = frame.set_axis(pd.MultiIndex.from_product([["x"], range(len(frame))]), axis=0)
    assert count(backwards, question, unit) == before, "the order of the rows decides"
    assert count(renamed, question, unit) == before, "the index decides"


def one_unit_weighs_little(
    count: Counter, before: pd.DataFrame, after: pd.DataFrame, question: Question, unit: Unit
) -> None:
    """Two frames that differ in one unit have counts that differ by its weight at most."""
    change = np.subtract(count(after, question, unit), count(before, question, unit))
    touched = unit.max_bins * (1 if unit.relation == "add-remove" else 2)
    assert np.abs(change).sum() <= unit.l1(question.bins), "one unit moves the counts too far"
    assert np.abs(change).max(initial=0) <= unit.max_per_bin, "one unit moves one bin too far"
    assert np.count_nonzero(change) <= touched, "one unit touches too many bins"


def one_user_weighs_little_in_every_tiny_frame(count: Counter, unit: Unit, rows: int = 3, others: int = 7) -> int:
    """Every pair of neighbours among frames of two users with up to `rows` rows each in three bins. How many pairs.

    One user has any rows, the other so many kinds of them at most.
    """
    question = Question.of(Domain.integers(0, 2, column="bin"))
    pieces = [bins for size in range(rows + 1) for bins in itertools.combinations_with_replacement(range(3), size)]
    beside = pieces[:: -(-len(pieces) // others)]
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Sequence[int]] = {}
    for ours, theirs in itertools.product(pieces, beside):
        known[ours, theirs] = count(of_two_users(ours, theirs), question, unit)
    pairs = 0
    for theirs in beside:
        for before, after in neighbours(pieces, unit):
            change = np.subtract(known[after, theirs], known[before, theirs])
            assert np.abs(change).sum() <= unit.l1(question.bins), "one unit moves the counts too far"
            assert np.abs(change).max() <= unit.max_per_bin, "one unit moves one bin too far"
            pairs += 1
    return pairs


def rows_of_one_user(unit: Unit, bins: int) -> int:
    """How many rows of one user count at most, over this many bins."""
    most = min(bins, bins if unit.max_bins is None else unit.max_bins) * unit.max_per_bin
    return most if unit.max_records is None else min(most, unit.max_records)


def neighbours(pieces: list[tuple[int, ...]], unit: Unit) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    if unit.relation == "replace-one":
        return itertools.product(pieces, repeat=2)
    return (((), rows) for rows in pieces)


def ticks_with_public_sizes(
    engine: Engine,
    frames: Sequence[pd.DataFrame],
    question: Question,
    unit: Unit,
    kind: StatisticKind = StatisticKind.DENSE,
) -> None:
    """Frames of the same columns are counted with the same ticks, whatever they hold and however long they are."""
    seen = []
    for frame in frames:
        ticks: list[tuple[int, int]] = []
        asked = engine(frame, "data", None).count(
            question, unit, kind, lambda done, of, to=ticks: to.append((done, of))
        )
        if isinstance(asked, SparseCounts):  # which an engine may count while they are taken
            asked.each(lambda batch: None)
        seen.append(ticks)
    # A step that takes longer is told again, so that a cancel is heard: how often depends on the time, not on the data.
    once = [[step for step, _ in itertools.groupby(ticks)] for ticks in seen]
    assert all(ticks == once[0] for ticks in once), "progress tells about the data"
    done = [step for step, _ in seen[0]]
    assert done == sorted(done)
    assert seen[0][-1][0] == seen[0][-1][1]
