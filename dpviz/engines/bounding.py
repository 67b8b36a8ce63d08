"""What one user may add: at most so many bins, and so much in each.

Which bins a user keeps is decided by a fixed mixing function of the question, the user and the bin. It looks at nobody
else, nor at the order of the rows: that is what makes one user's weight at most max_bins * max_per_bin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dpviz.privacy.unit import Unit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Users:
    """The user of each row as a number, -1 where there is none, and 64 mixed bits for each user."""

    codes: NDArray[np.int64]
    marks: NDArray[np.uint64]


def mark(users: Iterable[str]) -> NDArray[np.uint64]:
    """64 bits that depend on the user's name alone, the same in every process and on every machine."""
    digests = b"".join(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in users)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mixed(marks: NDArray[np.uint64], steps: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """SplitMix64, started at the user's mark and the seed, at the step that the bin names."""
    state: NDArray[np.uint64] = (marks ^ np.uint64(seed)) + (steps + np.uint64(1)) * GOLDEN
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def count_rows(bins: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """How many rows lie in each bin; a negative bin is none."""
    return np.bincount(bins[bins >= 0], minlength=size).astype(np.int64, copy=False)


def count_users(
    bins: NDArray[np.int64],
    size: int,
    users: Users,
    unit: Unit,
    seed: int,
    steps: NDArray[np.uint64] | None = None,
) -> NDArray[np.int64]:
    """The rows in each bin, where a user counts in at most max_bins bins and at most max_per_bin times in each.

    `steps` says which step of the mixing function each bin names, where that is not the bin's place: sparse bins are
    numbered by their rank among those that occur, and other users must not move the choice.
    """
    counted = (bins >= 0) & (users.codes >= 0)
    pairs, rows = np.unique(users.codes[counted] * size + bins[counted], return_counts=True)
    user, touched = np.divmod(pairs, size)
    if unit.max_bins < size:
        # Pairs come sorted by user and bin, and lexsort is stable: equal mixes are decided by the bin.
        named = touched.astype(np.uint64) if steps is None else steps[touched]
        order = np.lexsort((mixed(users.marks[user], named, seed), user))
        place = np.arange(len(user)) - np.searchsorted(user, user)
        kept = order[place < unit.max_bins]
        touched, rows = touched[kept], rows[kept]
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(counts, touched, np.minimum(rows, min(unit.max_per_bin, np.iinfo(np.int64).max)))
    return counts
