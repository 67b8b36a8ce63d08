"""The engines under test: from a pandas frame to a source that counts it somewhere else."""

from __future__ import annotations

import functools
import tempfile
import uuid
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb as driver
import pandas as pd
import pyarrow

from dpviz.engines import sources
from dpviz.engines.ibis_source import IbisSource
from dpviz.engines.pandas_source import PandasSource
from dpviz.model.source import Source
from tests.engines.contract import Engine

CONNECTION = driver.connect(config={"threads": 1})
FOLDER = tempfile.TemporaryDirectory(prefix="dpviz-engines-")


def pandas(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> PandasSource:
    return PandasSource(frame, name=name, schema=schema)


def duckdb(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> Source:
    return sources.duckdb(frame, name=name, schema=schema)


def shared(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> Source:
    """Tables of one connection that is somebody's own: quick to open."""
    table = f"table_{uuid.uuid4().hex}"
    CONNECTION.register("given", pyarrow.Table.from_pandas(frame, preserve_index=False))
    CONNECTION.execute(f"CREATE TABLE {table} AS SELECT * FROM given")
    CONNECTION.unregister("given")
    return sources.duckdb(CONNECTION, table, name=name, schema=schema)


class Same:
    """A frame that is known by itself, and not by what it holds."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def __hash__(self) -> int:
        return id(self.frame)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.frame is self.frame


@functools.lru_cache(4096)
def _kept(same: Same, name: str) -> PandasSource:
    return PandasSource(same.frame, name=name)


def kept(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> PandasSource:
    """In pandas, with one source for all questions about a frame, as a session has it."""
    assert schema is None
    return _kept(Same(frame), name)


_filled: dict[pyarrow.Schema, tuple[str, Source]] = {}


def refilled(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> Source:
    """One table of DuckDB for all frames of the same columns, which is emptied and filled anew: a question is prepared
    once, and the rows are read each time that it is asked. The frame before is gone."""
    assert schema is None
    held = pyarrow.Table.from_pandas(frame, preserve_index=False)
    columns = held.schema.remove_metadata()
    if columns not in _filled:
        table = f"table_{uuid.uuid4().hex}"
        CONNECTION.register("given", held.slice(0, 0))
        CONNECTION.execute(f"CREATE TABLE {table} AS SELECT * FROM given")
        _filled[columns] = table, sources.duckdb(CONNECTION, table, name=name)
    table, source = _filled[columns]
    CONNECTION.register("given", held)
    CONNECTION.execute(f"DELETE FROM {table}")
    CONNECTION.execute(f"INSERT INTO {table} SELECT * FROM given")
    CONNECTION.unregister("given")
    return source


def parquet(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> Source:
    path = Path(FOLDER.name) / f"{uuid.uuid4().hex}.parquet"
    frame.to_parquet(path, index=False)
    return sources.duckdb(path, name=name, schema=schema)


def csv(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> Source:
    path = Path(FOLDER.name) / f"{uuid.uuid4().hex}.csv.gz"
    frame.to_csv(path, index=False)
    return sources.duckdb(path, name=name, schema=schema)


def on_spark(session: Any) -> Engine:
    """The engine of a Spark session: a frame goes through a Parquet file, as data comes to a cluster."""

    def spark(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> Source:
        path = Path(FOLDER.name) / f"{uuid.uuid4().hex}.parquet"
        frame.to_parquet(path, index=False)
        return sources.spark(session.read.parquet(str(path)), name=name, schema=schema)

    return spark


def in_duckdb(statements: str, table: str) -> IbisSource:
    """A table of an own DuckDB, made by SQL."""
    connection = driver.connect()
    connection.execute(statements)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = sources.duckdb(connection, table)
    assert isinstance(source, IbisSource)
    return source


HERE: dict[str, Engine] = {"pandas": pandas, "duckdb": duckdb, "parquet": parquet}
"""Engines that hold any frame and need no server."""
