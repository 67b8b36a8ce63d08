"""Sparse counts as an engine gives them: in batches, in any order, anew whenever they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.model.statistic import Batch, StreamedCounts, Visit


class Passing:
    """Public counts by label, in these batches; and how often they were asked for."""

    def __init__(self, counts: Mapping[Any, int], batches: Sequence[Sequence[Any]]) -> None:
        self.counts, self.batches, self.asked = counts, batches, 0

    def each(self, visit: Visit) -> None:
        self.asked += 1
        for labels in self.batches:
            visit(Batch(self._labels(labels), np.array([self.counts[label] for label in labels], dtype=np.int64)))

    def whole(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        self.asked += 1
        labels = sorted(self.counts)
        return self._labels(labels), np.array([self.counts[label] for label in labels], dtype=np.int64)

    def _labels(self, labels: Sequence[Any]) -> NDArray[Any]:
        numbered = all(isinstance(label, int) and label < 2**64 for label in self.counts)
        found = np.empty(len(labels), dtype=np.uint64 if numbered else object)
        found[:] = labels
        return found


def streamed(counts: Mapping[Any, int], size: int = 2) -> StreamedCounts:
    """The last labels first, `size` in a batch, with an empty batch among them."""
    labels = sorted(counts, reverse=True)
    batches = [labels[at : at + size] for at in range(0, len(labels), size)]
    return StreamedCounts(Passing(counts, [*batches[:1], [], *batches[1:]]))
