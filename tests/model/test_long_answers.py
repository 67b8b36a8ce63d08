"""A long table is written a piece at a time, byte for byte as from the texts of its columns."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from dpviz.model.answers.reading import BYTES_AT_ONCE, Base64
from dpviz.model.answers.sparse import LONG, SparseTable
from dpviz.model.lines import Lines
from dpviz.model.release import with_checksum


def table(size: int, keys: bool, wide: bool) -> SparseTable:
    values = np.arange(size, dtype=np.int64) * (2**40 if wide else 1)
    if not keys:
        return SparseTable(tuple(range(0, 3 * size, 3)), values)
    lines = Lines.of(tuple(f"item {number:09}" for number in range(size)))
    assert lines is not None
    return SparseTable(lines, values)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("size", [1, LONG, LONG + 1, 300_001])
def test_the_saved_form_is_that_of_the_texts(size: int, keys: bool, wide: bool) -> None:
    answer = table(size, keys, wide)
    for name in ("visits", "a sign \0 of a hole"):
        both = [with_checksum({"dataset": name, "answer": one}) for one in (answer.to_json(), answer.held_json())]
        assert both[0] == both[1]


@pytest.mark.parametrize(
    "size", [0, 1, 2, 3, BYTES_AT_ONCE - 1, BYTES_AT_ONCE, BYTES_AT_ONCE + 1, 2 * BYTES_AT_ONCE + 2]
)
def test_the_pieces_of_an_array_are_its_base64(size: int) -> None:
    held = Base64(np.arange(size, dtype=np.int64).astype(np.uint8))
    assert b"".join(held.pieces()).decode() == str(held)


def test_other_types_and_shapes_are_written_little_end_first() -> None:
    for array in (np.arange(12.0).reshape(3, 4).T, np.arange(5, dtype=">i4"), np.zeros((0, 2), dtype=np.int64)):
        assert b"".join(Base64(array).pieces()).decode() == str(Base64(array))


def test_no_text_of_a_column_lies_in_memory() -> None:
    """Beside the bytes that are saved; written from the texts it takes them besides."""
    answer = table(600_000, keys=True, wide=True)

    def most(body: Any) -> float:
        tracemalloc.start()
        try:
            content = with_checksum({"answer": body()})
            return tracemalloc.get_traced_memory()[1] / len(content)
        finally:
            tracemalloc.stop()

    assert most(answer.held_json) < 1.7 < 1.9 < most(answer.to_json)
