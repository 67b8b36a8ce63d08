"""Where counts come from: private data behind a narrow interface. Each engine is one file with one `Source`.

`sources.py` is what a person calls. Sources are pandas, and SQL engines through Ibis: DuckDB, Spark and PostgreSQL;
tables of SQLite and polars are read once, into a DuckDB of ours. The type of a column alone decides how it is read
(`arrow_types.py` and, for types that DuckDB loses, `parquet_types.py`); decimals are compared as exact numbers
(`decimals.py`). Intervals of one width are found by `equal_widths.py`, whose arithmetic is tried at every edge first.
Sums are rounded by `steps.py`, the same operations everywhere. `bounding.py` decides which rows of a user count, in
pandas with the digests of `digests.py`. CSV files are read by a rule of our own (`delimited.py`).

Sparse counts in an SQL engine are counted while they are drawn from (`StreamedCounts` in `model/statistic.py`):
Stability, PureSparse and KeyCount take them batch by batch and keep no more than the answer and a batch; all others
take all of them, ascending. PureSparse draws for every bin as if it were empty before the first batch comes, and
strikes out those that are met (`StreamedContest` in `noise/order.py`; a second pass has a chance below 10^-13). Nobody
compares all labels of such batches: the engine groups by whole numbers and texts alone, texts that it would merge are
refused when the source is made and asked about before each query, and a bin that would be shown twice ends the release
(`occupied.py`). Teaching sorts first (`Statistic.settled`), so that a seed gives one draw whatever the engine's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dpviz.boundary import Hidden, Unstored, shown
from dpviz.engines import sources
from dpviz.errors import ParameterError
from dpviz.kinds import is_a
from dpviz.model.question import Question
from dpviz.model.source import Source, Tick, TopRules
from dpviz.model.statistic import Column, Need, Statistic
from dpviz.privacy.unit import Unit

__all__ = ["as_source", "sources"]

OPENERS: Final[tuple[tuple[Callable[[Hidden[Any]], bool], Callable[..., Source]], ...]] = (
    (sources.is_path, sources.duckdb),
    (sources.is_ibis, sources.ibis),
    (sources.is_spark, sources.spark),
    (sources.is_columns, sources.duckdb),
    (sources.is_lazy, sources.duckdb),
)
SOURCE: Final = ("name", "columns", "check", "count")


def as_source(
    data: object, name: str | None = None, schema: Mapping[str, str | tuple[str, str]] | None = None
) -> Source:
    """The source for what a user points a session at.

    A pandas DataFrame; a polars DataFrame, an Arrow table or the path of a .parquet or .csv file, which DuckDB counts;
    an Ibis table, a Spark DataFrame, or a source already. A frame that has no name given is called what
    `frame.attrs["dpviz"]["dataset"]` says, else `data`; a file and a table by their own names. A source has its own
    name and schema.
    """
    held = data = Hidden.of(data)  # from here on no variable of this call shows a value
    name, schema = shown(name), shown(schema)
    if sources.is_frame(held):
        from dpviz.engines.pandas_source import PandasSource

        own = sources.called(held) if name is None else name
        return PandasSource(held, name=own, schema=sources.declared_with(held) if schema is None else schema)
    for known, opener in OPENERS:
        if known(held):
            return opener(held, name=name, schema=schema)
    if is_a(held.take(), type) or not _has_all_parts(held):
        raise ParameterError.of(
            held.kind,
            "data must be a pandas or polars DataFrame, an Arrow, Ibis or Spark table, a path or a source",
            "hand over the table itself, or the path of its Parquet or CSV file",
        )
    if schema is not None or name not in (None, held.take().name):
        raise ParameterError.of("name or schema", "a source has its own name and schema", "leave both out")
    source: Source = held.take() if isinstance(held.take(), Unstored) else WrappedSource(held)
    return source


def _has_all_parts(held: Hidden[Any]) -> bool:
    """Whether this has what a source has. Something that fails when it is asked is none."""
    try:
        return all(hasattr(held.take(), part) for part in SOURCE)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # whatever it raises is its own
        return False


class WrappedSource(Unstored, Source):
    """Wraps a source that a user defined, so that its repr cannot leak data: a dataclass would show what it holds.

    The one place that asks a source whether it has a part: a user's own may have been written without those that we
    have added since.
    """

    __slots__ = ("_held",)

    def __init__(self, held: Hidden[Source]) -> None:
        self._held = held

    @property
    def name(self) -> str:
        return self._held.take().name

    @property
    def engine(self) -> str:
        named = getattr(self._held.take(), "engine", None)
        return named if isinstance(named, str) and named else self._held.kind

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._held.take().columns

    @property
    def top(self) -> TopRules:
        declared = getattr(self._held.take(), "top", None)
        return declared if isinstance(declared, TopRules) else TopRules(ties="unknown")

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        self._held.take().check(question, unit, need)

    def probe(self) -> None:
        """A source that has no probe of its own is taken to be there."""
        probe = getattr(self._held.take(), "probe", None)
        if callable(probe):
            probe()

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        return self._held.take().count(question, unit, need, tick)

    def __repr__(self) -> str:
        return f"<private data: {self.name}, {len(self.columns)} columns>"
