"""Numbers and flags of NumPy as Arrow's arrays and back, without a copy. Arrow's own conversion loads pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow  # type: ignore[import-untyped]
from numpy.typing import NDArray

from dpviz.boundary import protect_module


def as_flags(flags: NDArray[np.bool_]) -> Any:
    """Truth values as Arrow holds them, eight to a byte."""
    packed = pyarrow.py_buffer(np.packbits(flags, bitorder="little"))
    return pyarrow.Array.from_buffers(pyarrow.bool_(), len(flags), [None, packed])


def as_places(places: NDArray[np.int64]) -> Any:
    """Whole numbers of 64 bits, over the memory of NumPy's own."""
    held = pyarrow.py_buffer(np.ascontiguousarray(places, dtype=np.int64))
    return pyarrow.Array.from_buffers(pyarrow.int64(), len(places), [None, held])


def numbers_of(column: Any) -> NDArray[Any]:
    """A column of whole numbers, none of them missing, over Arrow's own memory."""
    found: NDArray[Any] = np.from_dlpack(column)
    return found


protect_module(vars())
