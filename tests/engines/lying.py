"""Parquet files that say of their rows what is not so: the rows of one file under the footer of another."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def written(table: pa.Table, path: Path) -> bytes:
    """A file whose layout does not depend on values of one width."""
    pq.write_table(table, path, use_dictionary=False, compression="none", write_statistics=True)
    return path.read_bytes()


def rows_under_another_footer(rows: pa.Table, said: pa.Table, path: Path) -> None:
    """Write `rows`, with the statistics of `said`: a table of the same types, in which values are as long."""
    parts = []
    for table in (rows, said):
        held = written(table, path)
        at = len(held) - 8 - struct.unpack("<I", held[-8:-4])[0]
        parts.append((held[:at], held[at:]))
    (body, _), (other, footer) = parts
    assert len(body) == len(other), "values of another length"
    path.write_bytes(body + footer)
    assert pq.read_table(path).equals(rows)


def no_missing_values(path: Path, column: int, missing: int) -> None:
    """Have the footer say that a column of texts, of which fewer than 64 are missing, has all of them."""
    held = path.read_bytes()
    at = len(held) - 8 - struct.unpack("<I", held[-8:-4])[0]
    there = bytes([0x36, 2 * missing])  # the third field of the statistics, a whole number, in zigzag
    assert held[at:].count(there) == 1
    path.write_bytes(held[:at] + held[at:].replace(there, bytes([0x36, 0])))
    assert pq.ParquetFile(path).metadata.row_group(0).column(column).statistics.null_count == 0
