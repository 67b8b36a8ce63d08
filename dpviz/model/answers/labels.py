"""Labels of a few bins in an answer: numbers of bins of a declared domain, or key texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import lt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.model.domain import Domain, IntegerDomain, ProductDomain
from dpviz.model.lines import Labels as Labels
from dpviz.model.lines import Lines

TAKEN: Final = ("rank", "bin", "item", "value", "low", "high", "low_all", "high_all", "below", "below_all")
"""The columns of a frame that are no column of the data."""


def labels_json(labels: Labels, name: str) -> dict[str, Any]:
    """The labels as they are stored under `name`: texts, and whether they are keys."""
    keys = bool(labels) and isinstance(labels[0], str)
    return {"keys": keys, name: list(labels) if keys else [str(label) for label in labels]}


def labels_of(stored: Mapping[str, Any], name: str) -> Labels:
    """The labels that `labels_json` stored."""
    texts = stored[name]
    return tuple(texts) if stored["keys"] else tuple(int(label) for label in texts)


def label_columns(labels: Labels) -> dict[str, NDArray[Any]] | None:
    """Many labels as a column: numbers as they are; keys as a text in UTF-8, one key a line. None where a number takes
    more than 64 bits, or a key more than one line."""
    if isinstance(labels, Lines):
        return {"lines": labels.utf8}
    if isinstance(labels[0], int):
        return {"labels": np.array(labels, dtype=np.uint64)} if max(labels) < 2**64 else None
    lines = Lines.of(labels)
    return None if lines is None else {"lines": lines.utf8}


def labels_in(columns: Mapping[str, NDArray[Any]]) -> Labels:
    """The labels that `label_columns` made a column of."""
    if "labels" in columns:
        return tuple(columns["labels"].tolist())
    return Lines(columns["lines"])


def ascending(labels: Labels) -> bool:
    """Whether each label is larger than the one before it."""
    if isinstance(labels, Lines):
        return labels.ascending()
    names: tuple[Any, ...] = labels
    return all(map(lt, names, names[1:]))


def are_labels(labels: Labels, domain: Domain) -> bool:
    """Whether a question about this domain has these labels: keys where none are declared, else numbers of its bins."""
    return domain.holds(labels)


def apart(labels: Labels, by: Domain, domain: Domain) -> list[tuple[list[int], Labels]]:
    """Of labels of the product `by` * `domain`: for each bin of `by` the places of those in it, and their labels."""
    found: list[tuple[int, Any]]
    if domain.declared:
        found = [divmod(int(label), domain.size) for label in labels]
    else:
        whole = by * domain
        found = [_keyed(str(label), whole, domain) for label in labels]
    placed: list[list[int]] = [[] for _ in range(by.size)]
    for place, (part, _) in enumerate(found):
        placed[part].append(place)
    return [(places, tuple(found[place][1] for place in places)) for places in placed]


def _keyed(label: str, whole: Domain, domain: Domain) -> tuple[int, str]:
    """The part, and the label in `domain`, of a bin of `whole`, the product of both, with unknown keys."""
    found = whole.unkeyed(label) if isinstance(whole, ProductDomain) else None
    assert found is not None  # such labels alone are counted and stored
    place, keys = found
    if not isinstance(domain, ProductDomain):
        return place, keys[0]
    part, own = divmod(place, domain.places)
    return part, domain.keyed(own, keys)


def shown_labels(labels: Labels, domain: Domain) -> list[str]:
    """The labels as a reader sees them."""
    return [domain.name(label) for label in labels]


def short_labels(labels: Labels, domain: Domain) -> list[str]:
    """The same where there is little room."""
    return [domain.short_name(label) for label in labels]


def by_column(labels: Labels, domain: Domain) -> dict[str, Sequence[Any]]:
    """The labels column by column, for a frame, where unknown keys are among several columns; else nothing more than
    the label of the bin is needed. Whole numbers are numbers, unless a bin beside them has no number."""
    if domain.declared or len(domain.factors) == 1:
        return {}
    rows = [domain.parts(label) for label in labels]
    found: dict[str, Sequence[Any]] = {}
    for at, axis in enumerate(domain.factors):
        column: list[Any] = [row[at] for row in rows]
        if isinstance(axis, IntegerDomain) and axis.inner == axis.size:
            column = list(map(int, column))
        name = axis.columns[0]
        found[f"{name} (column)" if name in TAKEN else name] = column
    return found
