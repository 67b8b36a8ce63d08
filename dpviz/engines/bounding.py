"""What one user may add: at most so many bins, so many rows in each, and so many in all.

Which bins a user keeps is decided by an MD5 digest of the question, the user and the bin, which every SQL engine can
compute too; which rows of a bin are summed up, by one of the question, the user, the bin and the row's steps. Rows of
equal steps are alike. Where a user may count with max_records rows in all, the bins are filled one after the other in
the order of their digests. Nothing looks at anybody else, nor at the order of the rows: that is what makes one user's
weight at most max_bins * max_per_bin rows, and at most max_records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import md5
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpviz.privacy.unit import Unit

LARGEST: Final = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Users:
    """The user of each row as a number, -1 where there is none, and each user's name."""

    codes: NDArray[np.int64]
    names: tuple[str, ...]


def count_rows(bins: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """How many rows lie in each bin; a negative bin is none."""
    return np.bincount(bins[bins >= 0], minlength=size).astype(np.int64, copy=False)


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
    labels: Sequence[object] | NDArray[np.generic] | None = None,
) -> NDArray[np.int64]:
    """The rows in each bin, where a user counts in at most max_bins bins and at most max_per_bin times in each, and at
    most max_records times in all.

    `question` is the question's id. `labels` says what each bin is called, where that is not its place: sparse bins are
    numbered by their rank among those that occur, and other users must not move the choice.
    """
    counted = (bins >= 0) & (users.codes >= 0)
    pairs, rows = np.unique(users.codes[counted] * size + bins[counted], return_counts=True)
    user, touched = np.divmod(pairs, size)
    if unit.max_bins is not None and unit.max_bins < size:
        kept = first(unit.max_bins, user, touched, users, question, labels)
        user, touched, rows = user[kept], touched[kept], rows[kept]
    rows = np.minimum(rows, min(unit.max_per_bin, LARGEST))
    if unit.max_records is not None:
        rows = within(unit.max_records, user, touched, rows, users, question, labels)
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
    labels: Sequence[object] | NDArray[np.generic] | None = None,
) -> NDArray[np.int64]:
    """The total of the steps in each bin, of the rows that a user counts with. `labels` as in `count_users`."""
    counted = (bins >= 0) & (users.codes >= 0)
    steps = steps[counted]
    pairs, at, rows = np.unique(users.codes[counted] * size + bins[counted], return_inverse=True, return_counts=True)
    user, touched = np.divmod(pairs, size)
    most = np.minimum(rows, min(unit.max_per_bin, LARGEST))
    if unit.max_bins is not None and unit.max_bins < size:
        most[~first(unit.max_bins, user, touched, users, question, labels)] = 0
    if unit.max_records is not None:
        most = within(unit.max_records, user, touched, most, users, question, labels)
    totals = sum_rows(np.where(most == rows, touched, -1)[at], steps, size)
    over = ((most > 0) & (most < rows))[at]
    pair, values, times = _alike(at[over], steps[over])
    names = {bin: str(bin if labels is None else labels[bin]) for bin in set(touched[pair].tolist())}
    heads = {code: head(question, users.names[code]) for code in set(user[pair].tolist())}
    digests = [
        digest(heads[code], f"{names[bin]} {value}")
        for code, bin, value in zip(user[pair].tolist(), touched[pair].tolist(), values.tolist(), strict=True)
    ]
    order = _ranked(digests, pair)
    pair, values, times = pair[order], values[order], times[order]
    np.add.at(totals, touched[pair], values * np.clip(most[pair] - _before(pair, times), 0, times))
    return totals


def within(
    most: int,
    user: NDArray[np.int64],
    touched: NDArray[np.int64],
    rows: NDArray[np.int64],
    users: Users,
    question: str,
    labels: Sequence[object] | NDArray[np.generic] | None,
) -> NDArray[np.int64]:
    """How many of the rows of each pair of a user and a bin, sorted by user and bin, are among the user's `most` first,
    bin after bin by digest."""
    found = rows.copy()
    every = np.zeros(int(user.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(every, user, rows)
    over = np.flatnonzero((every[user] > most) & (rows > 0))
    order = over[_by_digest(user[over], touched[over], users, question, labels)]
    found[order] = np.clip(most - _before(user[order], rows[order]), 0, rows[order])
    return found


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


def _ranked(digests: Sequence[bytes], groups: NDArray[np.int64]) -> NDArray[np.intp]:
    """The order by group, and in a group by digest; stable where digests are equal."""
    ranks = np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2)
    return np.lexsort((ranks[:, 1], ranks[:, 0], groups))


def first(
    most: int,
    user: NDArray[np.int64],
    touched: NDArray[np.int64],
    users: Users,
    question: str,
    labels: Sequence[object] | NDArray[np.generic] | None,
) -> NDArray[np.bool_]:
    """Which pairs of a user and a bin, sorted by user and bin, are among the user's `most` first by digest."""
    kept = np.bincount(user)[user] <= most if len(user) else np.zeros(0, dtype=np.bool_)
    over = np.flatnonzero(~kept)
    order = over[_by_digest(user[over], touched[over], users, question, labels)]
    place = np.arange(len(order)) - np.searchsorted(user[order], user[order])
    kept[order[place < most]] = True
    return kept


def _by_digest(
    user: NDArray[np.int64],
    touched: NDArray[np.int64],
    users: Users,
    question: str,
    labels: Sequence[object] | NDArray[np.generic] | None,
) -> NDArray[np.intp]:
    """The order of pairs of a user and a bin by user, and then by digest. Equal digests are decided by the bin."""
    named = touched.tolist()
    called = {bin: str(bin if labels is None else labels[bin]) for bin in set(named)}
    heads = {code: head(question, users.names[code]) for code in set(user.tolist())}
    digests = [digest(heads[code], called[bin]) for code, bin in zip(user.tolist(), named, strict=True)]
    return _ranked(digests, user)


def head(question: str, user: str) -> str:
    """What a digest begins with, of one length always, so that what follows cannot be confused with it."""
    return question + md5(user.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def digest(head: str, label: str) -> bytes:
    """Where a bin stands among those of a user: smaller is kept first."""
    return md5((head + label).encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
