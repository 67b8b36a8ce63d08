"""Answers of an engine are checked before anything is made of them: labels that can be, and counts that can be."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.engines.columns import numbers_for
from dpviz.engines.queries import Rows
from dpviz.model.question import Question

LARGEST: Final = 2**63 - 1


def counted(rows: Rows, question: Question, ordered: bool) -> Any:
    """The rows as labels, all different, and possible counts, in the order of a TopCounts; None where they are not."""
    found: list[tuple[Any, int]] = []
    declared, size = question.domain.declared, question.domain.size if question.domain.declared else 0
    written = declared and numbers_for(question.domain) != "int64"
    for row in rows:
        label, count = row
        if type(count) is not int or not possible(count, question):
            return None
        if declared:
            if written and _digits(label):
                label = int(label)
            if type(label) is not int or not 0 <= label < size:
                return None
        found.append((label, count))
    if not declared and not question.domain.holds([label for label, _ in found]):
        return None
    if len({label for label, _ in found}) < len(found):
        return None
    if ordered and any((-one[1], one[0]) > (-other[1], other[0]) for one, other in pairwise(found)):
        return None
    return found


def _digits(label: Any) -> bool:
    """Whether this is a whole number of as many digits as an engine gives: a text of digits, or a decimal."""
    return (type(label) is str and label.isdecimal()) or (type(label) is Decimal and label == label.to_integral_value())


def counts_of(found: Sequence[tuple[Any, int]]) -> NDArray[np.int64]:
    return np.array([count for _, count in found], dtype=np.int64)


def possible(count: int, question: Question) -> bool:
    """Whether a bin that is not empty may have this count, or this total in steps."""
    return count != 0 and (-LARGEST if question.aggregate.signed else 1) <= count <= LARGEST


def all_possible(counts: NDArray[Any], question: Question) -> bool:
    """Whether bins that are not empty may have these counts, or these totals in steps."""
    if not len(counts):
        return True
    if counts.dtype == np.int64 and not question.aggregate.signed:
        return int(counts.min()) >= 1  # 64 bits hold none above LARGEST
    ends = int(counts.min()), int(counts.max())
    return all(possible(end, question) for end in ends) and not (ends[0] < 0 and not counts.all())
