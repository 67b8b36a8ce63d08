"""A SAS7BDAT file by ReadStat's writer, which the package pyreadstat carries and gives no call for."""

from __future__ import annotations

import ctypes
import datetime
from pathlib import Path
from typing import Any

import pandas as pd

TEXT, NUMBER = 0, 5
BEGIN = datetime.date(1960, 1, 1)


def write_sas7bdat(frame: pd.DataFrame, path: Path) -> None:
    """Columns of floats, of texts, and of Python dates and None."""
    from pyreadstat import _readstat_writer

    library, held = ctypes.CDLL(_readstat_writer.__file__), bytearray()
    library.readstat_writer_init.restype = library.readstat_add_variable.restype = ctypes.c_void_p

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def take(data: int, size: int, _: Any) -> int:
        held.extend(ctypes.string_at(data, size))
        return size

    writer, columns = ctypes.c_void_p(library.readstat_writer_init()), []
    failed = [library.readstat_set_data_writer(writer, take)]
    for name, values in frame.items():
        text = isinstance(values[0], str)
        width = ctypes.c_size_t(8)
        column = library.readstat_add_variable(writer, str(name).encode(), TEXT if text else NUMBER, width)
        columns.append(ctypes.c_void_p(column))
        if isinstance(values[0], datetime.date):
            library.readstat_variable_set_format(columns[-1], b"DATE9")
    failed.append(library.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(len(frame))))
    for row in frame.itertuples(index=False):
        failed.append(library.readstat_begin_row(writer))
        for column, value in zip(columns, row, strict=True):
            if isinstance(value, str):
                failed.append(library.readstat_insert_string_value(writer, column, value.encode()))
            elif pd.isna(value):
                failed.append(library.readstat_insert_missing_value(writer, column))
            else:
                number = float((value - BEGIN).days) if isinstance(value, datetime.date) else value
                failed.append(library.readstat_insert_double_value(writer, column, ctypes.c_double(number)))
        failed.append(library.readstat_end_row(writer))
    failed.append(library.readstat_end_writing(writer))
    library.readstat_writer_free(writer)
    assert not any(failed), failed
    path.write_bytes(held)
