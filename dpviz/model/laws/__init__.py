"""The laws that answers were drawn from, one file each, and the registry that reads them by name and version."""

from __future__ import annotations

from dpviz.model.laws import (
    buckets,
    compact,
    dense,
    key_count,
    log_sketch,
    product,
    pure_sparse,
    queries,
    ranking,
    records,
    signed_sketch,
    sketch,
    sorted,
    stability,
    threshold,
    tree,
)
from dpviz.model.laws.base import LAWS, Stored, StoredLaw, law_from_json, stored, unregister

__all__ = [
    "LAWS",
    "Stored",
    "StoredLaw",
    "buckets",
    "compact",
    "dense",
    "key_count",
    "law_from_json",
    "log_sketch",
    "product",
    "pure_sparse",
    "queries",
    "ranking",
    "records",
    "signed_sketch",
    "sketch",
    "sorted",
    "stability",
    "stored",
    "threshold",
    "tree",
    "unregister",
]
