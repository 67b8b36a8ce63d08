"""Counts that somebody declared public or made up. Drawn in violet and hatched; no session accepts them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.model.domain import Domain

BADGE = "public data · not a release"


@dataclass(frozen=True, eq=False)
class PublicTable:
    """True counts of public or synthetic data, one per bin of `domain`. The caller vouches that they are public."""

    domain: Domain
    counts: NDArray[np.int64]
    nouns: str = "rows"
    badge: str = BADGE

    def __post_init__(self) -> None:
        if len(self.counts) != self.domain.size:
            raise ParameterError.of(
                f"{len(self.counts)} counts", f"this domain has {self.domain.size} bins", "give one count for each bin"
            )

    def __repr__(self) -> str:
        return f"<PublicTable ({self.badge}): {self.domain.text}>"


@dataclass(frozen=True, eq=False)
class PublicTop:
    """The largest true counts of public or made-up data, never rising; equal ones by label. Rows after the last are 0.

    labels  what is ranked, as a reader sees it
    counts  whole numbers above 0, one for each label
    column  what a label is ("destination")
    nouns   what is counted ("aircraft")
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    column: str = "item"
    nouns: str = "rows"
    badge: str = BADGE

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.counts) or len(set(self.labels)) != len(self.labels):
            raise ParameterError.of(
                f"{len(self.labels)} labels",
                "a ranking has one count for each label, once",
                "give as many different labels as counts",
            )
        if any(after > before for before, after in pairwise((*self.counts, 1))):
            raise ParameterError.of(
                f"{len(self.counts)} counts",
                "the counts of a ranking never rise and are above 0",
                "sort them, the largest first, and leave zeros out",
            )

    @classmethod
    def of(cls, table: PublicTable) -> PublicTop:
        """The bins of a table that are not empty, in the order of their counts, equal ones in the table's order."""
        order = np.argsort(-table.counts, kind="stable")
        shown = [index for index in order.tolist() if table.counts[index] > 0]
        return cls(
            tuple(table.domain.label(index) for index in shown),
            tuple(int(table.counts[index]) for index in shown),
            table.domain.columns_text,
            table.nouns,
            table.badge,
        )

    def __repr__(self) -> str:
        return f"<PublicTop ({self.badge}): {len(self.labels)} of {self.column}>"


protect_module(vars())
