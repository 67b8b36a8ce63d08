"""Times in milliseconds in the Parquet files of a Spark DataFrame, which Spark's own types do not tell of.

Spark makes microseconds of them, and fails where one is too far off: that would tell of its row. The files declare the
type in their last bytes, and no row does.
"""

from __future__ import annotations

from typing import Any, Final

MILLIS: Final = ("TIMESTAMP(MILLIS", "TIMESTAMP_MILLIS")
"""As Parquet's library for Java writes the type."""


def coarse_times(frame: Any) -> list[str]:
    """The columns of plain times of a frame that reads a file with a column of milliseconds: all of them, for a frame
    does not say which column of a file each is. Over Spark Connect, which shows no file, none are found."""
    times = [name for name, kind in frame.dtypes if kind == "timestamp_ntz"]
    gateway = getattr(frame, "_sc", None) if times else None
    if gateway is None:
        return []
    java, hadoop = gateway._jvm, gateway._jsc.hadoopConfiguration()
    return times if any(_is_coarse(java, hadoop, file) for file in frame.inputFiles()) else []


def _is_coarse(java: Any, hadoop: Any, file: str) -> bool:
    path = java.org.apache.hadoop.fs.Path(java.java.net.URI(file))
    parquet = java.org.apache.parquet.hadoop
    try:
        reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(path, hadoop))
    except Exception:  # a file of another format
        return False
    try:
        schema = str(reader.getFooter().getFileMetaData().getSchema().toString())
    finally:
        reader.close()
    return any(mark in schema for mark in MILLIS)
