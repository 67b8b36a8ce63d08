"""One Spark with two executors for all tests of a process: it takes seconds to start, so it starts once."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engines.server import close
from tests.ledger.server import Server

BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that lives for minutes: its compiler takes what is fast to compile, its collector needs no threads."""

OPTIONS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": BRIEF,
    "spark.executor.extraJavaOptions": BRIEF,
    "spark.executor.memory": "1g",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of `local-cluster[2,1,2048]`: two executors, each a process with one core. Needs Java."""
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark and pandas do not know each other's newest versions
        import pyspark
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local-cluster[2,1,2048]").appName("dpviz")
        for name, value in OPTIONS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    left = Path(pyspark.__file__).parent / "work" / session.sparkContext.applicationId
    yield session
    session.stop()
    shutil.rmtree(left, ignore_errors=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server that holds data."""
    held = Server()
    try:
        held.start()
        yield held
    finally:
        close()
        held.remove()
