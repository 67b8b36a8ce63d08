"""The most that one user may add: at most so many bins, so many rows in each, and so many in all.

Which bins a user keeps is decided by an MD5 digest of the question, the user and the bin, which every SQL engine can
compute too; which rows of a bin are summed up, by one of the question, the user, the bin and the row's steps. Rows of
equal steps are alike. Where a user may count with max_records rows in all, the bins are filled one after the other in
the order of their digests. Nothing looks at anybody else, nor at the order of the rows: that is what makes one user's
weight at most max_bins * max_per_bin rows, and at most max_records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.engines.digests import Piece, Texts, digests, hexadecimal, ranks
from dpviz.privacy.unit import Unit

Labels: TypeAlias = Sequence[object] | NDArray[np.generic] | None

LARGEST: Final = int(np.iinfo(np.int64).max)
PIECE: Final = 1 << 16
"""Rows at a time, which stay in the processor's cache."""


@dataclass(frozen=True, repr=False, eq=False)
class Users:
    """The user of each row as a number, -1 where there is none, and each user's name."""

    codes: NDArray[np.int64]
    names: tuple[str, ...]

    @cached_property
    def heads(self) -> Texts:
        """The bytes that stand for each user in a digest, of one length always: the digest of the name, written out."""
        names = Texts.of(self.names)
        return hexadecimal(digests(b"", (names, np.arange(len(names)))))


def count_rows(bins: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """How many rows lie in each bin; -1 is none, and takes the time of any other."""
    step = max(PIECE, size)
    return count_pieces((bins[at : at + step] for at in range(0, len(bins), step)), size)


def count_pieces(pieces: Iterable[NDArray[np.int64]], size: int) -> NDArray[np.int64]:
    """The same, of some rows after the others."""
    counts = np.zeros(size + 1, dtype=np.int64)
    for bins in pieces:
        counts += np.bincount(bins + 1, minlength=size + 1)
    return counts[1:]


def sum_rows(bins: NDArray[np.int64], steps: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The total of the steps in each bin; a negative bin is none."""
    totals = np.zeros(size, dtype=np.int64)
    counted = bins >= 0
    np.add.at(totals, bins[counted], steps[counted])
    return totals


def count_users(
    bins: NDArray[np.int64],
    size: int,
    users: Users,
    unit: Unit,
    question: str,
    labels: Labels = None,
) -> NDArray[np.int64]:
    """The rows in each bin, where a user counts in at most max_bins bins and at most max_per_bin times in each, and at
    most max_records times in all.

    `question` is the question's id. `labels` says what each bin is called, where that is not its place: sparse bins are
    numbered by their rank among those that occur, and other users must not move the choice.
    """
    return bounded(*grouped(bins, size, users), size, users, unit, question, labels)


def grouped(bins: NDArray[np.int64], size: int, users: Users) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different pairs of a user and a bin, as user * size + bin, ascending, and how many rows each has.

    How long NumPy takes tells of the rows, of the pairs and of how unevenly rows are spread over them.
    """
    counted = (bins >= 0) & (users.codes >= 0)
    return np.unique(users.codes[counted] * size + bins[counted], return_counts=True)


def bins_of_users(bins: NDArray[np.int64], size: int, users: Users) -> NDArray[np.int64]:
    """How many bins each user has rows in, of the users who have any: of `bins` that number the bins of rows."""
    pairs, _ = grouped(bins, size, users)
    return np.unique(pairs // size, return_counts=True)[1].astype(np.int64)


def bounded(
    pairs: NDArray[np.int64],
    rows: NDArray[np.int64],
    size: int,
    users: Users,
    unit: Unit,
    question: str,
    labels: Labels = None,
) -> NDArray[np.int64]:
    """The rows in each bin that count, of all pairs: the same work for each of them, whatever its rows and its user."""
    user, touched = np.divmod(pairs, size)
    rows = within(unit, size, user, touched, np.minimum(rows, min(unit.max_per_bin, LARGEST)), users, question, labels)
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(counts, touched, rows)
    return counts


def sum_users(
    bins: NDArray[np.int64],
    steps: NDArray[np.int64],
    size: int,
    users: Users,
    unit: Unit,
    question: str,
    labels: Labels = None,
) -> NDArray[np.int64]:
    """The total of the steps in each bin, of the rows that a user counts with. `labels` as in `count_users`."""
    counted = (bins >= 0) & (users.codes >= 0)
    steps = steps[counted]
    pairs, at, rows = np.unique(users.codes[counted] * size + bins[counted], return_inverse=True, return_counts=True)
    user, touched = np.divmod(pairs, size)
    most = np.minimum(rows, min(unit.max_per_bin, LARGEST))
    most = within(unit, size, user, touched, most, users, question, labels)
    pair, values, times = _alike(at, steps)
    numbers, which = _named(touched, labels)
    spaces = Texts.of([" "]), np.zeros(len(pair), dtype=np.int64)
    written = Texts.of_integers(values), np.arange(len(values))
    order = _ranked(question, users, user[pair], (numbers, which[pair]), spaces, written, groups=pair)
    pair, values, times = pair[order], values[order], times[order]
    return sum_rows(touched[pair], values * np.clip(most[pair] - _before(pair, times), 0, times), size)


def kept_parts(parts: NDArray[np.int64], size: int, users: Users, most: int, salt: str) -> NDArray[np.int64]:
    """The part of each row, or -1 where it has none, or one that its user does not keep: each keeps the `most` first of
    those that any of its rows is in, by a digest of the salt, the user and the part.

    The salt is the partition's and no question's, and no row is left out before: so a user keeps the same parts
    whatever is asked, however it is chosen what to ask.
    """
    counted = (parts >= 0) & (users.codes >= 0)
    pairs, at = np.unique(users.codes[counted] * size + parts[counted], return_inverse=True)
    user, part = np.divmod(pairs, size)
    order = _ranked(salt, users, user, _named(part, None), groups=user)
    stays = np.empty(len(pairs), dtype=np.bool_)
    stays[order] = _before(user[order], np.ones(len(pairs), dtype=np.int64)) < most
    kept = np.full_like(parts, -1)
    kept[counted] = np.where(stays[at], parts[counted], -1)
    return kept


def within(
    unit: Unit,
    size: int,
    user: NDArray[np.int64],
    touched: NDArray[np.int64],
    rows: NDArray[np.int64],
    users: Users,
    question: str,
    labels: Labels,
) -> NDArray[np.int64]:
    """How many of the rows of each pair of a user and a bin count: of the user's max_bins first bins by digest, and of
    those the max_records first rows. Pairs are sorted by user and bin; equal digests are decided by the bin.

    All pairs are put in order, also of users who are inside every limit, so that the time of it tells nothing of them.
    """
    most = unit.max_bins if labels is not None or (unit.max_bins or 0) < size else None  # by what is public alone
    if most is None and unit.max_records is None:
        return rows
    order = _ranked(question, users, user, _named(touched, labels), groups=user)
    user, found = user[order], rows[order]
    if most is not None:
        found = np.where(_before(user, np.ones_like(found)) < most, found, 0)
    if unit.max_records is not None:
        found = np.clip(unit.max_records - _before(user, found), 0, found)
    kept = np.empty_like(rows)
    kept[order] = found
    return kept


def _named(touched: NDArray[np.int64], labels: Labels) -> tuple[Texts, NDArray[np.int64]]:
    """The names of bins, and which of these names each pair has."""
    if labels is None:
        return Texts.of_integers(touched), np.arange(len(touched))
    return Texts.of([str(label) for label in labels]), touched


def _before(groups: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many rows come before, in the same group. Groups are sorted."""
    before = np.cumsum(rows) - rows
    return before - before[np.searchsorted(groups, groups)]


def _alike(
    pairs: NDArray[np.int64], steps: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The different steps in each pair, ascending, and how often each is there."""
    order = np.lexsort((steps, pairs))
    pairs, steps = pairs[order], steps[order]
    fresh = np.ones(len(pairs), dtype=np.bool_)
    fresh[1:] = (pairs[1:] != pairs[:-1]) | (steps[1:] != steps[:-1])
    starts = np.flatnonzero(fresh)
    return pairs[starts], steps[starts], np.diff(starts, append=len(pairs))


def _ranked(
    question: str, users: Users, user: NDArray[np.int64], *pieces: Piece, groups: NDArray[np.int64]
) -> NDArray[np.intp]:
    """The order by group, and in a group by the digest of the question, the user and the pieces; stable where digests
    are equal. The text before the pieces has one length always, so that it cannot be confused with them."""
    found = ranks(digests(question.encode(), (users.heads, user), *pieces))
    return np.lexsort((found[:, 1], found[:, 0], groups))
