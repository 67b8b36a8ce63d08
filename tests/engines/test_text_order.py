"""The order of texts in a column of Arrow's, against Python's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpviz.engines import text_order as module
from dpviz.engines.text_order import text_order
from tests.soak.amounts import part

CLOSE = st.text("a\0b\x7fé\uffff\U0001f600", max_size=12)
"""Texts that share their beginnings, end in zeros, and whose order in UTF-16 would be another."""


def column(texts: list[str]) -> pa.LargeStringArray:
    """A column that begins and ends inside what Arrow holds."""
    return pa.array(["before", *texts, "after"], pa.large_string())[1:-1]


def agrees(texts: list[str]) -> bool:
    order = text_order(column(texts))
    if order is None:
        return len(set(texts)) < len(texts)
    return [texts[at] for at in order] == sorted(set(texts)) and len(order) == len(texts)


@settings(max_examples=part(1_000, 300))
@given(CLOSE, st.lists(CLOSE, max_size=30))
@example("", ["a", "a\0", "a\0\0", ""])
@example("item ", ["12345678", "123456789", "1234567"])
def test_texts_ascend_as_python_compares_them(shared: str, ends: list[str]) -> None:
    assert agrees([shared + end for end in ends])


@pytest.mark.parametrize(
    "twin",
    [
        lambda: setattr(module, "KEPT", np.full(module.WORD + 1, 2**64 - 1, dtype=np.uint64)),  # the next text counts
        lambda: setattr(module, "_shared", lambda texts: 1),  # one byte more than an empty text has
    ],
    ids=["a word that runs into the next text", "a beginning that is not shared"],
)
def test_a_wrong_word_is_noticed(twin: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", module.KEPT)
    monkeypatch.setattr(module, "_shared", module._shared)
    twin()
    cases = [["b", "ab", "a"], ["ba", "ab"], ["a", "a\0", "b"], ["za", "ab", "zz", "a"]]
    assert not all(agrees(case) for case in cases)
