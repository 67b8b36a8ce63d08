"""Counts that somebody declared public or made up. Drawn in violet and hatched; no session accepts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
            raise ParameterError.of(f"{len(self.counts)} counts", f"this domain has {self.domain.size} bins")

    def __repr__(self) -> str:
        return f"<PublicTable ({self.badge}): {self.domain.text}>"
