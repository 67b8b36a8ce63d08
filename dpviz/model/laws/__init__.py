"""The laws that answers were drawn from, one file each, and the registry that reads them by name and version."""

from __future__ import annotations

from dpviz.model.laws import compact, dense, pure_sparse, queries, ranking, sketch, sorted, stability, threshold, tree
from dpviz.model.laws.base import LAWS, Stored, StoredLaw, law_from_json, stored, unregister

__all__ = [
    "LAWS",
    "Stored",
    "StoredLaw",
    "compact",
    "dense",
    "law_from_json",
    "pure_sparse",
    "queries",
    "ranking",
    "sketch",
    "sorted",
    "stability",
    "stored",
    "threshold",
    "tree",
    "unregister",
]
