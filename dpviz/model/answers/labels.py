"""Labels of a few bins in an answer: numbers of bins of a declared domain, or key texts."""

from __future__ import annotations

from collections.abc import Mapping
from operator import lt
from typing import Any, TypeAlias

from dpviz.model.domain import Domain

Labels: TypeAlias = tuple[int, ...] | tuple[str, ...]


def labels_json(labels: Labels, name: str) -> dict[str, Any]:
    """The labels as they are stored under `name`: texts, and whether they are keys."""
    keys = bool(labels) and isinstance(labels[0], str)
    return {"keys": keys, name: [str(label) for label in labels]}


def labels_of(stored: Mapping[str, Any], name: str) -> Labels:
    """The labels that `labels_json` stored."""
    texts = stored[name]
    return tuple(texts) if stored["keys"] else tuple(int(label) for label in texts)


def ascending(labels: Labels) -> bool:
    """Whether each label is larger than the one before it."""
    names: tuple[Any, ...] = labels
    return all(map(lt, names, names[1:]))


def are_labels(labels: Labels, domain: Domain) -> bool:
    """Whether a question about this domain has these labels: keys where none are declared, else numbers of its bins."""
    if not domain.declared:
        return all(isinstance(label, str) for label in labels)
    return all(isinstance(label, int) and 0 <= label < domain.size for label in labels)


def shown_labels(labels: Labels, domain: Domain) -> list[str]:
    """The labels as a reader sees them."""
    return [label if isinstance(label, str) else domain.label(label) for label in labels]
