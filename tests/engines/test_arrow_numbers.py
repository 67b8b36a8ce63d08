"""Flags and whole numbers of NumPy as Arrow's, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.engines import occupied
from dpviz.engines.arrow_numbers import as_flags, as_places, numbers_of
from dpviz.engines.text_order import text_order
from dpviz.model.lines import BREAK

TEXTS = st.lists(st.text("a\0b\x7f\u00e9\uffff\U0001f600", max_size=6), unique=True, min_size=1, max_size=20)


@given(st.lists(st.booleans(), max_size=40))
def test_flags_are_those_of_numpy(flags: list[bool]) -> None:
    assert as_flags(np.array(flags, dtype=np.bool_)).to_pylist() == flags


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40), st.integers(1, 3))
def test_whole_numbers_come_and_go(numbers: list[int], step: int) -> None:
    held = as_places(np.array(numbers, dtype=np.int64)[::step])  # also where they do not lie side by side
    assert held.to_pylist() == numbers[::step]
    assert numbers_of(held).tolist() == numbers[::step]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_each_type_of_whole_numbers_is_read_from_any_place(kind: str) -> None:
    limits = np.iinfo(kind)
    numbers = [0, int(limits.min), int(limits.max), 1, 7]
    column = pa.array(numbers, getattr(pa, kind)())
    found = numbers_of(column[1:4])
    assert found.dtype == kind and found.tolist() == numbers[1:4]
    assert numbers_of(column[:0]).tolist() == []


@given(TEXTS, st.integers(1, 4))
def test_texts_are_written_in_order_one_a_line(texts: list[str], piece: int) -> None:
    """Whatever part of Arrow's memory they are, and however many are written at once."""
    column = pa.array(["before", *texts, "after"], pa.large_string())[1:-1]
    order = text_order(column)
    assert order is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(occupied, "PIECE", piece)
        found = occupied._written(column, order)
    assert bytes(found).decode() == BREAK.join(sorted(texts))
