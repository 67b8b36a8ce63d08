"""Giving back what allocators keep: a long answer takes much memory, which they hold on to once it is free."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from functools import cache
from typing import Any

OURS = "100MB"
"""The limit of a database that holds nothing."""


def give_back() -> None:
    """Have DuckDB, Arrow and the C library return to the system what is free; what is in use stays. After a long answer
    it takes hundredths of a second."""
    if "duckdb" in sys.modules:
        with suppress(Exception):
            _beside().execute(f"SET memory_limit = '{OURS}'")
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # glibc alone can be told
        ctypes.CDLL(None).malloc_trim(0)


@cache
def _beside() -> Any:
    """An empty database of our own. All databases of a process share one allocator, which DuckDB clears whenever the
    limit of any of them is set: so those of others need no setting changed."""
    import duckdb

    return duckdb.connect(config={"threads": 1})
