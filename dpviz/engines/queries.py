"""Asking an engine, and taking the question back.

A query runs on a thread of its own, so that whoever waits for it hears of a cancel and can interrupt the engine.
The messages of an engine that fails may hold data: they go no further than that thread. `ask` gives the whole answer,
`each` gives it piece by piece: the engine is never more than a few pieces ahead of whoever takes them.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import ibis
import ibis.expr.operations as operations
import numpy as np
from numpy.typing import NDArray

from dpviz import threads
from dpviz.boundary import Hidden, Unstored
from dpviz.engines.columns import fresh
from dpviz.errors import ReleaseFailed
from dpviz.model.source import Tick

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

Rows: TypeAlias = list[tuple[Any, ...]]
"""The result, unchecked."""


class IntegerColumns(NamedTuple):
    """The result where both columns are whole numbers of at most 64 bits, none of them missing; else unchecked."""

    labels: NDArray[Any]
    counts: NDArray[Any]


Piece: TypeAlias = "pyarrow.RecordBatch | Rows"
ColumnsNow: TypeAlias = Literal["same", "not the same", "not told", "no answer"]
"""Some rows of what came back, unchecked: columns, or tuples where an engine has no columns to give."""

THREAD: Final = "dpviz-query"
"""The name of the threads on which queries run."""
EVERY: Final = 0.1
"""Seconds between two looks at whether somebody wants to cancel."""
PATIENCE: Final = 10.0
"""Seconds that an interrupted engine has to let go, and an owner to read on."""
ANSWERS: Final = 5.0
"""Seconds in which an engine that is there answers a question that reads no row."""
SOON: Final = 0.5
"""Seconds in which a result is read that somebody is reading."""
BATCH: Final = 1 << 16
"""Rows that leave an engine at a time: few enough that their texts stay below what one Arrow column holds."""
WIDEST: Final = "decimal(38, 0)"
"""DuckDB's widest decimal without places."""
AHEAD: Final = 2
"""The most batches that wait to be taken."""


LOOK_AT_THE_QUERY: Final = frozenset(
    (
        "build_side_probe_side",
        "column_lifetime",
        "common_aggregate",
        "common_subexpressions",
        "cte_inlining",
        "deliminator",
        "duplicate_groups",
        "expression_rewriter",
        "in_clause",
        "limit_pushdown",
        "reorder_filter",
        "top_n",
        "top_n_window_elimination",
        "unnest_rewriter",
        "unused_columns",
    )
)
"""DuckDB's optimizers that look at the query alone. Any other one, and any that a later version adds, may answer from
what a file's writer says about its rows: least and greatest values, how many are missing; or may fail at them, as the
order of joins does where a time in milliseconds is too far off."""
TABLES: Final = frozenset(
    (
        "SEQ_SCAN",
        "INDEX_SCAN",
        "DUMMY_SCAN",
        "COLUMN_DATA_GET",
        "CHUNK_GET",
        "EXPRESSION_GET",
        "EMPTY_RESULT",
        "RANGE",
        "GENERATE_SERIES",
        "UNNEST",
        "CTE_SCAN",
        "CTE_REF",
        "DELIM_GET",
        "READ_CSV",
        "READ_CSV_AUTO",
        "PANDAS_SCAN",
    )
)
"""Where DuckDB takes rows from of which it knows what it says: tables of its own, which it describes itself (NaN
included), and rows of which it is told nothing."""
PATH: Final = "give dpviz the path of the files"
IN_MEMORY: Final = ("ARROW_SCAN", "PYTHON_ARROW_SCAN")
"""A table of Arrow's in memory; or a data set of files."""


HALF_READ: Final = "a connection with a result that is half read"
FAILED: Final = "a connection whose transaction failed"
"""These hold a connection up until its owner has done something."""


class Engine(Unstored):
    """The engine that runs Ibis expressions. This one asks any backend and cannot be interrupted."""

    reads_numbers = False
    """Whether it reads numbers from texts by our rule."""
    plans = False
    """Whether the engine itself plans a query that is prepared: preparing then fails where the engine is gone, too."""

    @property
    def name(self) -> str:
        """The engine's name, for a person."""
        return str(self._backend.name)

    def touch(self) -> None:
        """Have the engine answer something that reads no row. Raises, or never returns, where it is gone."""
        self._backend.to_pyarrow(ibis.literal(1))

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def opened(self, table: Any) -> Any:
        """The table as this engine can count it. Reads no row."""
        return table

    def shape(self, table: Any) -> Any:
        """The columns of a table and their types, as the engine has them now; None where it does not tell. Reads no
        row."""
        return None

    answers_by_columns = False
    """Whether an engine that tells the columns of a table counts its rows, too. A Spark that was stopped does not."""

    def by_code_point(self, columns: Sequence[str]) -> set[str] | None:
        """The columns of texts that are known to be compared by code point; None where that must be tried."""
        return None

    def prepared(self, query: Any) -> Any:
        """A query in the engine's own words, or as it is. Reads no row. Raises where the engine has no words for it."""
        self._backend.compile(query)
        return query

    def rows(self, query: Any, stopped: threading.Event) -> Rows:
        """Run a prepared query to its end."""
        return [tuple(row.values()) for row in self._backend.to_pyarrow(query).to_pylist()]

    def columns(self, query: Any, stopped: threading.Event) -> IntegerColumns | Rows:
        """The same for numbered bins. As arrays where the engine has a way to give them, which is many times faster."""
        return self.rows(query, stopped)

    def table(self, query: Any, stopped: threading.Event) -> list[NDArray[Any]] | Rows:
        """The same for any number of columns of whole numbers; as one array a column where the engine has a way."""
        return self.rows(query, stopped)

    def batches(self, query: Any, stopped: threading.Event) -> Generator[Piece]:
        """The same piece by piece, in any order."""
        yield from self._backend.to_pyarrow(query).to_batches(max_chunksize=BATCH)

    def waits_for(self) -> tuple[str, str] | None:
        """Return what holds a connection up until its owner has done something, and what to do; None where nothing
        does."""
        return None

    def by_rows(self, table: Any) -> Any:
        """The table, read so that rows decide every answer, and nothing that is said about them."""
        return table

    def trusts(self) -> str | None:
        """Return the step that makes this engine look at the rows themselves; None where it does. An engine may
        answer from the statistics of a file, which its writer was free to leave wrong: one row would move an answer
        by any number of rows."""
        return None

    def stop(self) -> None:
        """End the query that is running, if the engine can. May be called again and again."""

    def __repr__(self) -> str:
        return f"<{self._backend.name}>"


class DuckDB(Engine):
    """DuckDB in this process. One connection serves one query at a time; whoever comes second waits."""

    name = "DuckDB"
    reads_numbers = answers_by_columns = True

    def touch(self) -> None:
        """On a connection of its own, for the first one may be busy with its owner's query."""
        with self._backend.con.cursor() as own:
            own.execute("SELECT 1").fetchall()

    def __init__(self, backend: Any, table: Any, own: bool = False) -> None:
        """`own`: nobody else has this connection, so that nothing is set in it and nothing is half read."""
        super().__init__(backend)
        self._one = threading.Lock()
        self._own = own
        self._order = self._collation()
        self._of_files = self._reads_files(table)
        self._others = other_optimizers(backend.con)
        self._first = self._on() if self._of_files else ""

    def prepared(self, query: Any) -> Any:
        return self._backend.compile(query)

    def rows(self, query: Any, stopped: threading.Event) -> Rows:
        rows: Rows = self._fetched(query, stopped, lambda found: found.fetchall())
        return rows

    def columns(self, query: Any, stopped: threading.Event) -> IntegerColumns | Rows:
        found = self.table(query, stopped)
        return (
            IntegerColumns(*found)
            if len(found) == 2 and isinstance(found[0], np.ndarray)
            else self.rows(query, stopped)
        )

    def table(self, query: Any, stopped: threading.Event) -> list[NDArray[Any]] | Rows:
        found = self._fetched(query, stopped, lambda found: found.fetchnumpy())
        plain = [np.ma.getdata(column) for column in found.values() if not np.any(np.ma.getmask(column))]
        if len(plain) == len(found) and all(column.dtype.kind in "iu" for column in plain):
            return plain
        return self.rows(query, stopped)

    def batches(self, query: Any, stopped: threading.Event) -> Generator[Piece]:
        """As DuckDB makes them: it has no more of them in memory than a buffer of its own. Meanwhile the connection is
        busy, and its owner is told so."""
        with self._one, self._begun(query, stopped, _reader) as found:
            yield from found

    def _fetched(self, query: Any, stopped: threading.Event, fetch: Callable[[Any], Any]) -> Any:
        with self._one:
            return self._begun(query, stopped, fetch)

    def _begun(self, query: Any, stopped: threading.Event, fetch: Callable[[Any], Any]) -> Any:
        """The value that `fetch` makes of the result, once the connection is free. For whoever holds the lock."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if not self._own and self._collation() != self._order:
                    raise ReleaseFailed(
                        "texts are no longer compared as they were when the source was made; make the source anew",
                        value="another collation",
                        rule="a source counts texts by one collation",
                        next_step="make the source anew",
                    )
                if self.trusts() is not None:
                    raise ReleaseFailed(
                        "the engine answers from the statistics of files again; switch these optimizers off",
                        value="other optimizers",
                        rule="rows are counted, not what a file says of them",
                        next_step="switch these optimizers off, as when the source was made",
                    )
                return fetch(self._backend.con.sql(query))
            except Exception as problem:
                # The connection may be its owner's, who is busy with something else.
                if type(problem).__name__ != "ResourceInUseException" or stopped.wait(EVERY / 5):
                    raise
                if not _half_read(problem):
                    deadline = time.monotonic() + PATIENCE
                elif time.monotonic() > deadline:
                    raise

    def waits_for(self) -> tuple[str, str] | None:
        deadline = time.monotonic() + SOON
        while not self._own and not self._one.locked():
            try:
                self._backend.con.sql("SELECT 1").fetchall()
                return None
            except Exception as problem:
                if type(problem).__name__ == "TransactionException":
                    return FAILED, "end it with ROLLBACK, or give dpviz a connection of its own"
                if not _half_read(problem):
                    return None
            if time.monotonic() > deadline:
                return HALF_READ, "read that result to its end, or give dpviz a connection of its own"
            time.sleep(EVERY / 5)
        return None

    def trusts(self) -> str | None:
        """Files in a connection of somebody's own. Ours have these optimizers off: `by_rows_alone`."""
        on = self._first if self._own or not self._of_files else self._on()
        run = f"run connection.execute(\"SET disabled_optimizers = '{on}'\")"
        return f"{PATH}, or make a table of them (CREATE TABLE ... AS SELECT ...), or {run}" if on else None

    def _on(self) -> str:
        """The optimizers that may look at more than the query, where one of them is on: all of them, as a setting."""
        with self._backend.con.cursor() as own:
            ((at_all, off),) = own.execute(
                "SELECT current_setting('enable_optimizer'), current_setting('disabled_optimizers')"
            ).fetchall()
        known = {name.strip() for name in off.split(",")}
        return "" if not at_all or known >= set(self._others) else ",".join(sorted((known - {""}) | set(self._others)))

    def _reads_files(self, table: Any) -> bool:
        """Whether rows come from anywhere but tables of DuckDB's own, as the plan before any optimizer has it.

        The option that shows this plan belongs to the whole database, and is set back at once.
        """
        from ibis.expr import operations

        self._backend._run_pre_execute_hooks(table)  # which register tables in memory
        query = self._backend.compile(table)
        connection = self._backend.con
        ((before,),) = connection.execute("SELECT current_setting('explain_output')").fetchall()
        connection.execute("SET explain_output = 'all'")
        try:
            plans = dict(connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchall())
        finally:
            connection.execute(f"SET explain_output = '{before}'")
        found = [name for name in _leaves(json.loads(plans["logical_plan"])) if name not in TABLES]
        held = len(table.op().find(operations.InMemoryTable))
        return len(found) != held or any(name not in IN_MEMORY for name in found)

    def _collation(self) -> Any:
        """How texts are compared; the connection's owner may set it, and merge keys that are told apart elsewhere."""
        return self._backend.con.sql("SELECT current_setting('default_collation')").fetchall()

    def stop(self) -> None:
        if self._one.locked():
            self._backend.con.interrupt()

    def opened(self, table: Any) -> Any:
        """The table with its enumerations as texts: DuckDB would order them as they were declared."""
        types = self._types(table)
        held = dict(zip(table.columns, types, strict=True))
        changed = {name: table[name].concat("") for name, kind in held.items() if kind.startswith("ENUM")}
        table = table.mutate(**changed) if changed else table
        if "HUGEINT" not in types:
            return table
        columns = [_decimal(name) if kind == "HUGEINT" else _quoted(name) for name, kind in held.items()]
        query = f"SELECT {', '.join(columns)} FROM ({self._backend.compile(table)}) AS dpviz_given"
        return operations.SQLQueryResult(query, table.schema(), self._backend).to_expr()

    def shape(self, table: Any) -> Any:
        """None while a query runs, for there is one at a time."""
        try:
            if self._one.locked():
                return None
            now = self._empty(table)
            return list(now.columns), list(map(str, now.types))
        except Exception as problem:
            if type(problem).__name__ != "ResourceInUseException" and not _half_read(problem):
                raise
            return None

    def _types(self, table: Any) -> list[str]:
        return list(map(str, self._empty(table).types))

    def _empty(self, table: Any) -> Any:
        """The table without its rows, as DuckDB has it now."""
        return self._backend.con.sql(self._backend.compile(table.limit(0)))


def _decimal(name: str) -> str:
    """DuckDB's words for a whole number of up to 39 digits as a decimal of 38, cut there: it lies beyond every bin."""
    most, column = "9" * 38, _quoted(name)
    cut = f"CASE WHEN {column} > {most} THEN {most} WHEN {column} < -{most} THEN -{most} ELSE {column} END"
    return f"CAST({cut} AS {WIDEST}) AS {column}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def other_optimizers(connection: Any) -> list[str]:
    """DuckDB's optimizers that may look at more than the query."""
    known = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    return sorted(name for (name,) in known if name not in LOOK_AT_THE_QUERY)


def by_rows_alone(connection: Any) -> None:
    """Have a DuckDB of our own look at the rows of files, whatever the files say of them."""
    connection.execute(f"SET disabled_optimizers = '{','.join(other_optimizers(connection))}'")


def _leaves(plan: Any) -> Iterator[str]:
    """Where the rows of a plan come from."""
    for node in plan if isinstance(plan, list) else [plan]:
        beneath = node.get("children") or []
        if not beneath:
            yield str(node["name"]).strip().upper()
        yield from _leaves(beneath)


def _reader(found: Any) -> Any:
    """A result as a reader of batches; its older name is all that some versions of DuckDB know."""
    read = found.to_arrow_reader if hasattr(found, "to_arrow_reader") else found.fetch_record_batch
    return read(BATCH)


def _half_read(problem: Exception) -> bool:
    """Whether DuckDB says that a result on this connection was not read to its end, and does nothing else meanwhile."""
    return "unfinished result" in str(problem) or "open result" in str(problem)


class Spark(Engine):
    """Spark. Every query carries a tag, by which its jobs are ended; over Spark Connect they run to their end."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        from pyspark.logger import PySparkLogger

        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            PySparkLogger.getLogger(name).addFilter(_not_ours)  # they write what a failed query says to stderr
        session = backend.raw_sql("SELECT 1").sparkSession
        self._context = session.sparkContext if "connect" not in type(session).__module__ else None
        self._tag = f"dpviz-{uuid.uuid4().hex}"

    name = "Spark"
    reads_numbers = True

    def by_rows(self, table: Any) -> Any:
        """A random number between the files and every filter: Spark hands no filter to a file across one, and so never
        leaves out rows for what the file says of them."""
        passed = fresh("passed", table.columns)
        drawn = table.mutate(**{passed: ibis.random()})
        return drawn.filter(drawn[passed] < 2).drop(passed)

    def shape(self, table: Any) -> Any:
        return self._backend._session.sql(self._backend.compile(table.limit(0))).dtypes

    def touch(self) -> None:
        if self._context is None:
            self._backend.raw_sql("SELECT 1").collect()
        elif self._context._jsc.sc().isStopped():
            raise ConnectionError("this Spark context was stopped")

    def prepared(self, query: Any) -> Any:
        return self._backend.compile(query)

    def rows(self, query: Any, stopped: threading.Event) -> Rows:
        if self._context is None:
            return self._collected(query)
        self._context.addJobTag(self._tag)
        self._context.setInterruptOnCancel(True)
        try:
            return self._collected(query)
        finally:
            self._context.removeJobTag(self._tag)

    def batches(self, query: Any, stopped: threading.Event) -> Generator[Piece]:
        """All rows at once: what was collected is in memory already."""
        yield self.rows(query, stopped)

    def _collected(self, query: Any) -> Rows:
        return [tuple(row) for row in self._backend.raw_sql(query).collect()]

    def stop(self) -> None:
        if self._context is not None:
            self._context.cancelJobsWithTag(self._tag)


class Polars(Engine):
    """Polars. It leaves out rows of Parquet files for what the files say of them, and cannot be told otherwise once
    they are opened."""

    def __init__(self, backend: Any, table: Any) -> None:
        super().__init__(backend)
        plan = backend.compile(table).explain(optimized=False)
        scans = (line.partition(" SCAN ")[0].split() for line in plan.splitlines() if " SCAN " in line)
        self._of_files = any(scan[-1:] != ["Csv"] for scan in scans)

    def trusts(self) -> str | None:
        return f"{PATH}, or a frame in memory" if self._of_files else None


def _not_ours(record: logging.LogRecord) -> bool:
    return threads.current() != THREAD


def ask(
    engine: Engine,
    query: Hidden[Any],
    step: int,
    of: int,
    tick: Tick | None,
    *,
    numbered: bool = False,
    table: bool = False,
) -> Hidden[Any]:
    """The rows of a prepared query, or its columns where bins are numbered or it is a table of numbers. While it runs,
    `tick` is called with the same step, and may raise to cancel.

    Raises ReleaseFailed where the engine fails, whatever the reason, and what `tick` raises.
    """
    came: list[Hidden[Any]] = []
    done, stopped = threading.Event(), threading.Event()
    take = engine.table if table else engine.columns if numbered else engine.rows

    def run() -> None:
        try:
            came.append(Hidden(take(query.take(), stopped)))
        except BaseException:  # its text may hold data
            return
        finally:
            done.set()

    threads.run(run, THREAD)
    try:
        while not done.wait(EVERY):
            if tick:
                tick(step, of)
    except BaseException:
        stopped.set()
        _let_go(engine, done)
        raise
    if not came:
        raise _withheld()
    return came[0]


def each(
    engine: Engine, query: Hidden[Any], visit: Callable[[Hidden[Piece]], None], step: int, of: int, tick: Tick | None
) -> None:
    """Have `visit` take the rows of a prepared query piece by piece, while the engine makes more of them. Until all
    are taken, `tick` is called with the same step, as often as time goes by and whatever comes, and may raise to
    cancel.

    Raises ReleaseFailed where the engine fails, whatever the reason, and what `tick` and `visit` raise; the engine is
    interrupted then.
    """
    came: SimpleQueue[Hidden[Piece] | bool] = SimpleQueue()  # pieces, and then whether these were all
    room, done, stopped = threading.Semaphore(AHEAD), threading.Event(), threading.Event()

    def run() -> None:
        complete = False
        try:
            with closing(engine.batches(query.take(), stopped)) as pieces:
                for piece in pieces:
                    if not threads.in_place():  # there, all must have come before any is taken
                        room.acquire()
                    if stopped.is_set():
                        return
                    came.put(Hidden(piece))
            complete = True
        except BaseException:  # its text may hold data
            return
        finally:
            done.set()
            came.put(complete)

    threads.run(run, THREAD)
    told = time.monotonic()
    try:
        while True:
            try:
                piece = came.get(timeout=EVERY)
            except Empty:
                piece = None
            if tick and time.monotonic() - told >= EVERY:
                told = time.monotonic()
                tick(step, of)
            if isinstance(piece, bool):
                break
            if piece is not None:
                visit(piece)
                room.release()
    except BaseException:
        stopped.set()
        room.release()
        _let_go(engine, done)
        raise
    if not piece:
        raise _withheld()


def operation(problem: BaseException) -> str:
    """The operation of Ibis that an engine has no words for, or "" where that is not what went wrong.

    Taken from the names of Ibis's own operations, so that nothing else of an engine's words gets out.
    """
    words = re.findall(r"\w+", str(problem)) if type(problem).__module__.startswith("ibis.") else []
    return next((word for word in words if isinstance(getattr(operations, word, None), type)), "")


def _withheld() -> ReleaseFailed:
    return ReleaseFailed(
        "the engine failed; the cause is withheld, for it may hold data",
        rule="an engine's error is never shown",
        next_step="look at the engine's own log",
    )


def answers(engine: Engine) -> bool:
    """Whether an engine answers within some seconds. Reads no row, and tells nothing of what went wrong."""
    return _within_seconds(engine.touch) is not None


def columns_now(engine: Engine, table: Hidden[Any], before: Any) -> ColumnsNow:
    """Whether a table can be read and has the columns that it had. Reads no row."""
    found = _within_seconds(lambda: _compared(engine, table, before))
    return "no answer" if found is None else found[0]


def _compared(engine: Engine, table: Hidden[Any], before: Any) -> ColumnsNow:
    try:
        now = engine.shape(table.take())
    except Exception:  # its text may hold data
        return "not the same"
    return "not told" if now is None else "same" if now == before else "not the same"


def _within_seconds(ask: Callable[[], Any]) -> list[Any] | None:
    """Return the engine's answer in a list; None where it fails or takes longer than some seconds."""
    came: list[Any] = []

    def run() -> None:
        try:
            came.append(ask())
        except BaseException:  # a refusal is an answer too: there is nobody who counts
            return
        finally:
            done.set()

    done = threading.Event()
    threads.run(run, THREAD)
    done.wait(ANSWERS)
    return came or None


def _let_go(engine: Engine, done: threading.Event) -> None:
    """Interrupt until the engine has let go: more than once, for a query that has not begun does not hear of it."""
    for _ in range(int(PATIENCE / EVERY)):
        if done.is_set():
            return
        try:
            engine.stop()
        except Exception:  # it may have ended, or be gone
            return
        if done.wait(EVERY):
            return
