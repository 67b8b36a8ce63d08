"""The order of many texts in a column of Arrow's: by code points, as Python compares them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow  # type: ignore[import-untyped]
import pyarrow.compute  # type: ignore[import-untyped]
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.engines.arrow_numbers import as_places, numbers_of

WORD: Final = 8
"""Bytes that are compared at once."""

PIECE: Final = 1 << 16
"""Texts that are looked at together."""

KEPT: Final = np.array([-(1 << 8 * (WORD - length)) % 2**64 for length in range(WORD + 1)], dtype=np.uint64)
"""Of a text that has so many bytes left, the bits of its word that are its own. Those after its end count as 0."""


def text_order(column: Any) -> NDArray[np.int64] | None:
    """Where each text of a column of large strings stands once they ascend; None where a text comes twice.

    Texts in UTF-8 are in the order of their bytes where they are in that of their code points. The first bytes that not
    all of them share are compared as one number, which decides nearly always; those that are equal so far, whole.
    """
    words = _words(column)
    order: NDArray[np.int64] = np.argsort(words)
    words = words[order]
    equal = words[1:] == words[:-1]
    tied = np.flatnonzero(np.concatenate([[False], equal]) | np.concatenate([equal, [False]]))
    if not len(tied):
        return order
    texts = column.take(as_places(order[tied]))
    within = pyarrow.compute.sort_indices(texts)
    texts = texts.take(within)
    if pyarrow.compute.any(pyarrow.compute.equal(texts[1:], texts[:-1])).as_py():
        return None
    order[tied] = order[tied][numbers_of(within)]
    return order


def _words(column: Any) -> NDArray[np.uint64]:
    """Of each text the bytes after those that all share, as a number whose order is theirs. Some texts at a time, so
    that no more than these numbers lies in memory."""
    ends = np.frombuffer(column.buffers()[1], dtype=np.int64)[column.offset :][: len(column) + 1]
    held, shared = np.frombuffer(column.buffers()[2] or b"", dtype=np.uint8), _shared(column)
    words = np.empty(len(column), dtype=np.uint64)
    for first in range(0, len(column), PIECE):
        own = ends[first : first + PIECE + 1]
        bytes_of_these = np.concatenate([held[own[0] : own[-1]], np.zeros(WORD, dtype=np.uint8)])
        starts = own[:-1] - own[0] + shared
        windows = np.lib.stride_tricks.sliding_window_view(bytes_of_these, WORD)
        found = windows[starts].view(">u8").reshape(-1).astype(np.uint64)
        words[first : first + PIECE] = found & KEPT[np.minimum(own[1:] - own[0] - starts, WORD)]
    return words


def _shared(column: Any) -> int:
    """How many first bytes all texts share: those that the smallest and the largest do."""
    ends = pyarrow.compute.min_max(column)
    least, most = ((ends[name].as_py() or "").encode() for name in ("min", "max"))
    return next((at for at, (one, other) in enumerate(zip(least, most, strict=False)) if one != other), len(least))


protect_module(vars())
