"""What one user may add: at most so many bins, and so much in each.

Which bins a user keeps is decided by an MD5 digest of the question, the user and the bin, which every SQL engine can
compute too. It looks at nobody else, nor at the order of the rows: that is what makes one user's weight at most
max_bins * max_per_bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import md5

import numpy as np
from numpy.typing import NDArray

from dpviz.privacy.unit import Unit


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Users:
    """The user of each row as a number, -1 where there is none, and each user's name."""

    codes: NDArray[np.int64]
    names: tuple[str, ...]


def count_rows(bins: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """How many rows lie in each bin; a negative bin is none."""
    return np.bincount(bins[bins >= 0], minlength=size).astype(np.int64, copy=False)


def count_users(
    bins: NDArray[np.int64],
    size: int,
    users: Users,
    unit: Unit,
    question: str,
    labels: Sequence[object] | NDArray[np.generic] | None = None,
) -> NDArray[np.int64]:
    """The rows in each bin, where a user counts in at most max_bins bins and at most max_per_bin times in each.

    `question` is the question's id. `labels` says what each bin is called, where that is not its place: sparse bins are
    numbered by their rank among those that occur, and other users must not move the choice.
    """
    counted = (bins >= 0) & (users.codes >= 0)
    pairs, rows = np.unique(users.codes[counted] * size + bins[counted], return_counts=True)
    user, touched = np.divmod(pairs, size)
    if unit.max_bins is not None and unit.max_bins < size:
        kept = first(unit.max_bins, user, touched, users, question, labels)
        touched, rows = touched[kept], rows[kept]
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(counts, touched, np.minimum(rows, min(unit.max_per_bin, np.iinfo(np.int64).max)))
    return counts


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
    named = touched[over].tolist()
    called = {bin: str(bin if labels is None else labels[bin]) for bin in set(named)}
    heads = {code: head(question, users.names[code]) for code in set(user[over].tolist())}
    digests = b"".join(digest(heads[code], called[bin]) for code, bin in zip(user[over].tolist(), named, strict=True))
    ranks = np.frombuffer(digests, dtype=">u8").reshape(-1, 2)
    # lexsort is stable: equal digests are decided by the bin.
    order = over[np.lexsort((ranks[:, 1], ranks[:, 0], user[over]))]
    place = np.arange(len(order)) - np.searchsorted(user[order], user[order])
    kept[order[place < most]] = True
    return kept


def head(question: str, user: str) -> str:
    """What a digest begins with, of one length always, so that what follows cannot be confused with it."""
    return question + md5(user.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def digest(head: str, label: str) -> bytes:
    """Where a bin stands among those of a user: smaller is kept first."""
    return md5((head + label).encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
