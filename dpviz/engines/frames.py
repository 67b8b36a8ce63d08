"""A pandas column as Arrow, for an engine that takes no array of pandas: its dtype decides, and no value does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow  # type: ignore[import-untyped]

from dpviz.engines.pandas_source import inferred
from dpviz.engines.reading import NONE, label_of, read
from dpviz.errors import unwritable


def column(values: Any) -> Any:
    """Numbers, booleans and times as they are; everything else as the texts that it is matched by.

    What has no such text, or one that cannot be written to a file, is missing.
    """
    if isinstance(values, pd.arrays.NumpyExtensionArray) or isinstance(values.dtype, pd.SparseDtype):
        values = np.asarray(values)
    dtype = values.dtype
    if inferred(dtype) != "text" or (dtype.kind == "b" and not isinstance(dtype, pd.CategoricalDtype)):
        return pyarrow.array(values, from_pandas=True)
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        return pyarrow.array(values, from_pandas=True).cast(pyarrow.large_string())
    listed: Any = read(values, "text")
    names = [label_of(value) for value in listed.plain]
    held = [None if name is None or unwritable(name) else name for name in names]
    return pyarrow.array(held, pyarrow.large_string()).take(pyarrow.array(listed.codes, mask=listed.codes == NONE))
