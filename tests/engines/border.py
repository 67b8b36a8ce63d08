"""The border: one small table in every container that holds it, one question, and what plain Python counts.

A case is a table, a container and a question, all from one seed. Whether the question is answered or refused follows
from the types alone (`refused`): a refusal comes before anything is counted, and a table of the same types with other
values fares alike. The counts are those of `reference.py` and `sums.py`, which know nothing of engines.
"""

from __future__ import annotations

import math
import random
import sqlite3
import tempfile
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb as driver
import ibis
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from dpviz.engines import as_source, sources
from dpviz.errors import DpvizError, ReleaseFailed
from dpviz.model.aggregate import Sum
from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, KeyDomain, TimeDomain
from dpviz.model.partition import Partition
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import Column, StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import csv_rule, lake, reference, sums
from tests.engines.frames import EDGES, ENDS, REAL, TEXT

# ---------------------------------------------------------------- types and their values


@dataclass(frozen=True)
class Type:
    """A type of Arrow, what its columns hold, and values: missing, extreme, at edges and beside them."""

    arrow: Any
    holds: str
    values: Sequence[Any]


def whole(bits: int, signed: bool) -> Type:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    near = [0, 1, 2, 3, 5, -1, -2, 40, 41, 2**24 + 1, 2**53 - 1, 2**53, 2**53 + 1, low, low + 1, high, high - 1]
    return Type(
        getattr(pa, f"{'' if signed else 'u'}int{bits}")(), "number", [one for one in near if low <= one <= high]
    )


def real(kind: Any, dtype: type) -> Type:
    with np.errstate(all="ignore"):
        near = [dtype(value) for value in [*REAL, 1 / 3, 65504.0, 6e-8]]
        edges = [dtype(float(edge)) for edge in EDGES]
        beside = [np.nextafter(edge, dtype(end)) for edge in edges for end in (-math.inf, math.inf)]
    return Type(kind, "number", [*near, *edges, *beside, *[dtype(math.nan)] * 8])


SECONDS = [
    0, -1, 1, 951_782_399, 951_782_400, 1_577_836_799, 1_577_836_800, 1_580_515_199, 1_580_515_200, 1_582_934_400,
    1_609_459_199, 1_609_459_200, -62_135_596_800, 253_402_300_799, 4_102_444_800,
]  # fmt: skip
"""The ends of days, months and years around 2000 and 2020, the first second of the calendar and its last."""
DAYS = [second // 86_400 for second in SECONDS]


def moments(unit: str, zone: str | None = None) -> Type:
    parts = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    fine = [second * parts + beside for second in SECONDS for beside in (0, 1, -1, parts // 2)]
    far = [one for one in (10**14, -(10**14), 10**17, 2**63 - 1, -(2**63) + 1) if unit in ("s", "ms")]
    return Type(pa.timestamp(unit, zone), "zoned" if zone else "time", [one for one in fine if abs(one) < 2**63] + far)


UNCOUNTED = ("binary", "list", "struct", "zoned", "null")
LABELS = [*(one for one in TEXT if "\ud800" not in one), "long enough that no view holds it in place"]
TYPES: dict[str, Type] = {
    **{f"int{bits}": whole(bits, True) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": whole(bits, False) for bits in (8, 16, 32, 64)},
    "float16": real(pa.float16(), np.float16),
    "float32": real(pa.float32(), np.float32),
    "float64": real(pa.float64(), np.float64),
    "bool": Type(pa.bool_(), "flag", [True, False]),
    "text": Type(pa.string(), "text", LABELS),
    "large text": Type(pa.large_string(), "text", LABELS),
    "dictionary": Type(pa.dictionary(pa.int8(), pa.string()), "text", LABELS[:5]),
    "date": Type(
        pa.date32(), "time",
        [*(day + beside for day in DAYS for beside in (0, 1, -1)), 10**8, -(10**8), 2 * 10**9, -(2 * 10**9)],
    ),
    "long date": Type(pa.date64(), "time", [*(day * 86_400_000 for day in DAYS), 2**62, -(2**62)]),
    "old timestamp": moments("us"),
    "timestamp s": moments("s"),
    "timestamp ms": moments("ms"),
    "timestamp us": moments("us"),
    "timestamp ns": moments("ns"),
    "zoned": moments("us", "UTC"),
    "decimal": Type(
        pa.decimal128(5, 2), "number",
        [Decimal(one) for one in ("0", "0.10", "0.30", "0.29", "0.31", "1", "2.50", "-1", "999.99", "-999.99", "41")],
    ),
    "long decimal": Type(
        pa.decimal128(38, 10), "number",
        [Decimal(one) for one in ("0", "0.1", "0.3", "0.3000000001", "-0.5", "9007199254740993", "1e27", "-1e27", "3")],
    ),
    "binary": Type(pa.binary(), "binary", [b"a", b"\xff", b""]),
    "list": Type(pa.list_(pa.int8()), "list", [[], [1], [1, None]]),
    "struct": Type(pa.struct([("a", pa.int8())]), "struct", [{"a": 1}, {"a": None}]),
    "null": Type(pa.null(), "null", []),
}  # fmt: skip


def array_of(name: str, values: Sequence[Any]) -> Any:
    """Values as Arrow holds them. (It takes no short floats from Python, and times as whole numbers.)"""
    kind = TYPES[name].arrow
    if pa.types.is_floating(kind):
        filled = np.array([0.0 if one is None else one for one in values], dtype=kind.to_pandas_dtype())
        return pa.array(filled, kind, mask=np.array([one is None for one in values], dtype=bool))
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode().cast(kind)
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    return pa.array(values, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(values, kind)


def read(name: str, value: Any) -> Any:
    """A value as the reference takes it: a time of a clock that 64 bits hold no microseconds of is none."""
    if value is None or TYPES[name].holds != "time":
        return value
    kind = TYPES[name].arrow
    if pa.types.is_date(kind):
        return reference.Moment((value if kind == pa.date32() else value // 86_400_000) * 86_400 * 10**6)
    microseconds = value // 1000 if kind.unit == "ns" else value * {"s": 10**6, "ms": 10**3, "us": 1}[kind.unit]
    return reference.Moment(microseconds) if abs(microseconds) < 2**63 - 10**6 else None


@dataclass(frozen=True)
class Table:
    """Columns of values by name, each of a type."""

    types: Mapping[str, str]
    values: Mapping[str, Sequence[Any]]

    @property
    def arrow(self) -> Any:
        return pa.table({name: array_of(kind, self.values[name]) for name, kind in self.types.items()})

    def __repr__(self) -> str:
        return "; ".join(f"{name} {kind}: {list(self.values[name])!r}" for name, kind in self.types.items())


def table(chance: random.Random, among: Sequence[str]) -> Table:
    """Up to twelve rows of three columns; values repeat, and some are missing."""
    rows = chance.choice([0, 1, 3, 6, 9, 12])
    weights = [1 if TYPES[kind].holds in UNCOUNTED else 5 for kind in among]
    types = {name: chance.choices(among, weights)[0] for name in ("a", "b", "user")}
    values = {}
    for name, kind in types.items():
        some = (
            chance.choices(TYPES[kind].values or [None], k=4) if chance.random() < 0.5 else TYPES[kind].values or [None]
        )
        gap = chance.choice([0.0, 0.2])
        values[name] = [None if chance.random() < gap else chance.choice(some) for _ in range(rows)]
    return Table(types, values)


# ---------------------------------------------------------------- containers


FOLDER = tempfile.TemporaryDirectory(prefix="dpviz-border-")
CONNECTION = driver.connect(config={"threads": 1})


def path(ending: str = ".parquet") -> Path:
    return Path(FOLDER.name) / f"{uuid.uuid4().hex}{ending}"


def backed(given: Table) -> pd.DataFrame:
    """A pandas frame of Arrow's types."""
    columns = given.arrow
    return pd.DataFrame(
        {name: pd.Series(pd.arrays.ArrowExtensionArray(columns[name])) for name in columns.column_names}
    )


def frame(given: Table) -> pd.DataFrame:
    """A frame of NumPy's types; of pandas' nullable ones where a whole number or a flag is missing."""
    columns: dict[str, Any] = {}
    for name, kind in given.types.items():
        values = list(given.values[name])
        missing = any(one is None for one in values)
        if kind.startswith(("int", "uint")):
            nullable = kind.replace("uint", "UInt").replace("int", "Int") if kind[0] == "i" else f"UInt{kind[4:]}"
            columns[name] = pd.Series(values, dtype=nullable if missing else kind)
        elif kind.startswith("float"):
            columns[name] = pd.Series(np.array([math.nan if one is None else one for one in values], dtype=kind))
        elif kind == "bool":
            columns[name] = pd.Series(values, dtype="boolean" if missing else "bool")
        elif kind.startswith(("timestamp", "zoned")):
            unit = TYPES[kind].arrow.unit
            held = np.array(["NaT" if one is None else one for one in values], dtype=f"datetime64[{unit}]")
            columns[name] = pd.Series(held).dt.tz_localize("UTC") if kind == "zoned" else pd.Series(held)
        elif kind == "dictionary":
            columns[name] = pd.Series(pd.Categorical(values, categories=LABELS[:5]))
        elif kind == "text":
            columns[name] = pd.Series(values, dtype="str")
        else:
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns)


def by_pyarrow(given: Table, **options: Any) -> Source:
    file = path()
    pq.write_table(given.arrow, file, **options)
    return as_source(file, name="data")


def by_polars(given: Table) -> Source:
    file = path()
    polars.from_arrow(given.arrow).write_parquet(file)
    return as_source(file, name="data")


def by_pandas(given: Table, engine: str) -> Source:
    file = path()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame(given).to_parquet(file, engine=engine, index=False)
    return as_source(file, name="data")


def in_duckdb(given: Table) -> str:
    made = f"table_{uuid.uuid4().hex}"
    CONNECTION.register("given", given.arrow)
    CONNECTION.execute(f"CREATE TABLE {made} AS SELECT * FROM given")
    CONNECTION.unregister("given")
    return made


def by_duckdb(given: Table) -> Source:
    file, made = path(), in_duckdb(given)
    CONNECTION.execute(f"COPY {made} TO '{file}' (FORMAT parquet)")
    CONNECTION.execute(f"DROP TABLE {made}")
    return as_source(file, name="data")


def of_files(given: Table) -> Source:
    """A folder: the rows in two files, and once more in drafts of a program that was stopped."""
    folder, rows = path(""), given.arrow
    folder.mkdir()
    pq.write_table(rows[:3], folder / "part-1.parquet")
    pq.write_table(rows[3:], folder / "part-2.parquet")
    for draft in ("_part-3.parquet", ".part-4.parquet"):
        pq.write_table(rows, folder / draft)
    return as_source(folder, name="data")


def of_delta(given: Table) -> Source:
    """The rows in two versions, of which the second was written over other rows and lost some of these in place.

    The writer makes no statistics, for it stops at those of days that its calendar does not have.
    """
    folder, rows = path(""), given.arrow
    plain = {"delta.dataSkippingNumIndexedCols": "0"}
    write_deltalake(folder, pa.concat_tables([rows, rows]), configuration=plain)
    write_deltalake(folder, pa.concat_tables([rows[:3], rows, rows]), mode="overwrite")
    if rows:
        lake.delete_places(folder, range(len(rows[:3]), 2 * len(rows) + len(rows[:3])), file=-1)
    write_deltalake(folder, rows[3:], mode="append")
    return as_source(folder, name="data")


def of_iceberg(given: Table) -> Source:
    """The rows in two files, of which the first also held others.

    The writer makes no statistics, for it stops at those of times that Python's calendar does not have.
    """
    rows = given.arrow
    held = lake.iceberg(path(""), rows.schema, {"write.metadata.metrics.default": "none"})
    held.append(pa.concat_tables([rows[:3], rows, rows]))
    for file in lake.files_of(held):
        lake.delete_positions(held, [(file, at) for at in range(len(rows[:3]), 2 * len(rows) + len(rows[:3]))])
    held.append(rows[3:])
    return as_source(lake.place_of(held), name="data")


def of_csv(given: Table) -> Source:
    file = path(".csv")
    columns = {name: [csv_text(one) for one in given.values[name]] for name in given.types}
    pd.DataFrame(columns, dtype="str").to_csv(file, index=False, na_rep="", quoting=1)
    return as_source(file, name="data")


def csv_text(value: Any) -> str | None:
    """A value as a program writes it into a file: floats as they print."""
    return None if value is None else str(value)


def in_sqlite(given: Table) -> Source:
    file = path(".db")
    kinds = {"text": "TEXT", "float64": "REAL", "bool": "BOOLEAN"}
    with sqlite3.connect(file) as connection:
        listed = ", ".join(f'"{name}" {kinds.get(kind, "INTEGER")}' for name, kind in given.types.items())
        connection.execute(f"CREATE TABLE data ({listed})")
        rows = zip(*([None if one is None else getattr(one, "item", lambda one=one: one)() for one in values]
                     for values in given.values.values()), strict=True)  # fmt: skip
        connection.executemany("INSERT INTO data VALUES (?, ?, ?)", rows)
    connection.close()
    opened = ibis.sqlite.connect(file)
    try:
        return sources.ibis(opened.table("data"), name="data")
    finally:
        opened.disconnect()


@dataclass(frozen=True)
class Container:
    """A way to hold a table: how it is opened, the types that it has, and how it reads them.

    sql      whether an engine counts that takes no keys and no users from floats
    objects  the types whose values come as Python's objects, which have no type
    texts    whether every value is a text, of which numbers are read
    refused  the types that it has and that are refused by name
    bits     of all its whole numbers, where it has one type of them
    """

    opened: Callable[[Table], Source]
    types: Sequence[str]
    sql: bool = True
    objects: frozenset[str] = frozenset()
    texts: bool = False
    refused: frozenset[str] = frozenset()
    bits: int = 0

    def exact(self, kind: str) -> int:
        """Up to which power of 2 whole numbers are counted over a column."""
        return {"float16": 11, "float32": 24, "float64": 53}.get(kind, 999) if self.sql and not self.texts else 999

    def whole(self, kind: str) -> range | None:
        """The numbers that a column of whole numbers can hold; None of another column."""
        if "int" not in kind or self.texts:
            return None
        signed, bits = kind[0] == "i", self.bits or int(kind.removeprefix("u")[3:])
        return range(-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed or self.bits else range(2**bits)

    def holds(self, kind: str) -> str:
        """The kind of a column: a number, a flag, a text; a time, or anything that cannot be counted."""
        if kind in self.refused:
            return "refused"
        return "text" if self.texts or kind in self.objects else TYPES[kind].holds

    def asked_as(self, types: Mapping[str, str]) -> dict[str, str]:
        """The questions about columns, also those that are refused, as somebody asks them who sees the types."""
        return {name: TYPES[kind].holds if kind in self.refused else self.holds(kind) for name, kind in types.items()}

    def value(self, kind: str, value: Any) -> Any:
        """A value as the reference takes it, which is missing where this container has no such value."""
        if self.texts:
            return None if value is None else csv_rule.value(csv_text(value).encode())
        return value if kind in self.objects else read(kind, value)


NUMBERS = [name for name, of in TYPES.items() if of.holds == "number"]
WHOLE = [name for name in NUMBERS if "int" in name]
PLAIN = [*WHOLE, "float32", "float64", "bool", "text"]
TIMES = ["timestamp ms", "timestamp us", "timestamp ns"]
COARSE = frozenset(["timestamp ms"])
OBJECTS = frozenset(["binary", "list", "struct", "null", "date"])
NUMPY = [*WHOLE, "float16", "float32", "float64", "bool", "text", "dictionary", "timestamp s", *TIMES, "zoned"]
ALL = list(TYPES)
LAKE = [
    *("int8", "int16", "int32", "int64", "float32", "float64", "bool", "text", "timestamp us", "zoned"),
    *("decimal", "long decimal", "binary", "list", "struct", "date"),
]


def without(*names: str) -> list[str]:
    return [name for name in ALL if name not in (*names, "old timestamp")]


CONTAINERS: dict[str, Container] = {
    "pandas": Container(lambda given: as_source(frame(given), name="data"), [*NUMPY, *OBJECTS], False, OBJECTS),
    "pandas of Arrow": Container(lambda given: as_source(backed(given), name="data"), without(), False),
    "pandas in DuckDB": Container(
        lambda given: sources.duckdb(frame(given), name="data"), [*NUMPY, *OBJECTS], True, OBJECTS
    ),
    "pandas of Arrow in DuckDB": Container(lambda given: sources.duckdb(backed(given), name="data"), without()),
    "Arrow": Container(lambda given: as_source(given.arrow, name="data"), without()),
    "polars": Container(
        lambda given: as_source(polars.from_arrow(given.arrow), name="data"),
        without("timestamp s", "zoned", "long date"),
    ),
    "DuckDB": Container(
        lambda given: sources.duckdb(CONNECTION, in_duckdb(given), name="data"), without("float16", "long date")
    ),
    "Parquet by pyarrow": Container(by_pyarrow, without("timestamp s"), refused=COARSE),
    "Parquet with INT96": Container(
        lambda given: by_pyarrow(given, use_deprecated_int96_timestamps=True),
        [*PLAIN, "zoned", "old timestamp"],
        refused=frozenset(["old timestamp"]),
    ),
    "Parquet by polars": Container(by_polars, without("timestamp s", "zoned", "long date"), refused=COARSE),
    "Parquet by DuckDB": Container(by_duckdb, without("float16", "timestamp s", "long date"), refused=COARSE),
    "Parquet by pandas": Container(
        lambda given: by_pandas(given, "pyarrow"), [*PLAIN, "float16", "dictionary", *TIMES], refused=COARSE
    ),
    "Parquet by fastparquet": Container(lambda given: by_pandas(given, "fastparquet"), [*PLAIN]),
    "folder": Container(of_files, without("timestamp s"), refused=COARSE),
    "Delta": Container(of_delta, LAKE),
    "Iceberg": Container(of_iceberg, [kind for kind in LAKE if kind not in ("int8", "int16", "date")]),
    "CSV": Container(of_csv, [*WHOLE, "float16", "float32", "float64", "bool", "text", "decimal"], True, texts=True),
    "SQLite": Container(in_sqlite, ["int8", "int16", "int32", "int64", "uint8", "float64", "bool", "text"], bits=64),
}


# ---------------------------------------------------------------- questions


FIGURES = ["0", "1", "3", "0.1", "0.3", "1/3", "2.5", "41", "9007199254740993", "-1", "65500", "0.33333334"]
"""Labels that are numbers in their shortest form; all others are texts alone."""
WORDS = ["good", "", "nan", "True", "ä", "01", " 2", "1.0"]


def domain(chance: random.Random, column: str, holds: str) -> Domain:
    """A domain of a column: as a rule one that its type allows."""
    if chance.random() < 0.08:
        holds = chance.choice(["number", "text", "flag", "time"])
    beside = {name: chance.random() < 0.5 for name in ("underflow", "overflow", "missing")}
    flags = {"other": chance.random() < 0.5, "missing": chance.random() < 0.5}
    if holds == "time":
        by = chance.choice(["hour", "day", "week", "month", "quarter", "year"])
        ends = {
            "hour": ("2019-12-31", "2020-01-02"),
            "day": ("2020-01-30", "2020-03-02"),
            "week": ("2020-01-06", "2020-03-02"),
        }
        start, end = ends.get(
            by, chance.choice([("1970", "2001"), ("2000", "2021"), ("0001", "0003"), ("9998", "9999")])
        )
        return Domain.times(start, end, by=by, column=column, **beside)
    if holds == "flag":
        return Domain.categories(chance.choice([["True", "False"], ["False"], ["True"]]), column=column, **flags)
    if holds == "number" and chance.random() < 0.7:
        if chance.random() < 0.5:
            low = chance.choice(ENDS)
            return Domain.integers(low, low + chance.randint(0, 5), column=column, **beside)
        edges = sorted(chance.sample(EDGES, chance.randint(2, 6)))
        if chance.random() < 0.4:  # of one width, which are found by arithmetic
            width = chance.choice([Fraction(1, 10), Fraction(1), Fraction(1, 3), Fraction(2**20)])
            edges = [edges[0] + place * width for place in range(chance.randint(4, 8))]
        return Domain.intervals(edges, column=column, **beside)
    labels = chance.sample(FIGURES, 3) + (chance.sample(WORDS, 2) if holds == "text" else [])
    return Domain.categories(labels, column=column, **flags)


def condition(chance: random.Random, holds: str) -> Any:
    if chance.random() < 0.08:
        holds = chance.choice(["number", "text", "flag", "time"])
    if holds == "time":
        return Between(*chance.choice([("2020-01", "2020-02"), ("1970-01-01", None), (None, "2000-02-29")]))
    if holds == "flag":
        return [chance.choice(["True", "False"])]
    if holds == "number" and chance.random() < 0.6:
        low, high = sorted(chance.choices(EDGES, k=2))
        return chance.choice([Between(low, high), Between(low=low), Between(high=high)])
    return chance.sample(FIGURES, 2) + (chance.sample(WORDS, 1) if holds == "text" else [])


def question(chance: random.Random, holds: Mapping[str, str]) -> Question:
    """Bins of each kind, products, keys, sums; now and then a filter, and one part of several."""
    kind = chance.choice(["bins", "bins", "bins", "product", "keys", "keys beside bins", "sum", "filter"])
    if kind == "sum" and holds["a"] != "number" and chance.random() < 0.8:
        kind = "bins"
    where = {"b": condition(chance, holds["b"])} if kind == "filter" or chance.random() < 0.2 else {}
    if kind == "sum":
        by = chance.choice([None, domain(chance, "b", holds["b"]), Domain.keys(column="b")])
        given = {
            "low": chance.choice([0, -1]),
            "high": chance.choice([3, 41]),
            "step": chance.choice(["1/100", 1, "1/3"]),
        }
        return Question.sum("a", by=by or Domain.categories(["good"], column="user", other=True, missing=True), **given,
                            where=where)  # fmt: skip
    asked = Domain.keys(column="a") if kind.startswith("keys") else domain(chance, "a", holds["a"])
    if kind in ("product", "keys beside bins"):
        asked = asked * domain(chance, "b", holds["b"])
    found = Question.of(asked, where or None)
    if kind != "sum" and chance.random() < 0.15:
        parts = domain(chance, "user", holds["user"])
        return replace(found, by=Partition(parts, chance.choice([None, 1])), part=chance.randrange(parts.size))
    return found


def unit(chance: random.Random) -> Unit:
    if chance.random() < 0.55:
        return Unit("row")
    most = chance.choice([None, None, 1, 3])
    return Unit("user", max_bins=chance.choice([1, 2]), max_per_bin=chance.choice([1, 2]), max_records=most)


# ---------------------------------------------------------------- what must come


def refused(asked: Question, of: Unit, held: Container, types: Mapping[str, str]) -> str:
    """Why this is refused, from types alone; empty where it is answered."""
    kinds = {name: held.holds(kind) for name, kind in types.items()}
    parts = () if asked.by is None else asked.by.domain.factors
    for one in (*asked.domain.factors, *parts):
        name = one.columns[0]
        kind = kinds[name]
        if isinstance(one, TimeDomain):
            if kind != "time":
                return f"{name} holds no times"
        elif kind not in ("number", "text", "flag"):
            return f"{name} cannot be counted"
        elif isinstance(one, KeyDomain):
            if held.sql and types[name].startswith("float") and not held.texts:
                return f"keys of floats in {name}"
        elif isinstance(one, CategoryDomain):
            if why := labels(name, kind, one.values, held.whole(types[name])):
                return why
        elif kind != "number" and not held.texts:
            return f"{name} holds no numbers"
        elif isinstance(one, IntegerDomain) and max(-one.low, one.high) >= 2 ** held.exact(types[name]):
            return f"floats of {name} beyond their whole numbers"
    for name, limits in asked.where.items():
        kind = kinds[name]
        if isinstance(limits, Between) and limits.times:
            if kind != "time":
                return f"{name} holds no times"
        elif kind not in ("number", "text", "flag"):
            return f"{name} cannot be counted"
        elif isinstance(limits, Between):
            if kind != "number" and not held.texts:
                return f"{name} holds no numbers"
        elif why := labels(name, kind, limits, held.whole(types[name])):
            return why
    if isinstance(asked.aggregate, Sum) and kinds[asked.aggregate.column] != "number" and not held.texts:
        return f"{asked.aggregate.column} holds no numbers to add up"
    if not of.is_row:
        if kinds[of.of] not in ("number", "text", "flag"):
            return f"{of.of} cannot tell users apart"
        if held.sql and types[of.of].startswith("float") and not held.texts:
            return f"users of floats in {of.of}"
    return ""


def labels(name: str, kind: str, given: Sequence[str], whole: range | None) -> str:
    if kind == "flag" and not set(given) <= {"True", "False"}:
        return f"{name} is True or False"
    if kind == "number" and not set(given) <= set(FIGURES):
        return f"{name} holds numbers"
    if kind == "number" and whole is not None and not all(_is_in(Fraction(one), whole) for one in given):
        return f"{name} holds whole numbers of its type"
    return ""


def _is_in(number: Fraction, whole: range) -> bool:
    return number.denominator == 1 and int(number) in whole  # a range is searched for anything but an int


def expected(given: Table, held: Container, asked: Question, of: Unit) -> dict[int | str, int]:
    """The counts or totals that are not 0, by plain Python."""
    kinds = {"number": "number", "text": "text", "flag": "text"}
    columns = tuple(Column(name, kinds.get(held.holds(kind), "time")) for name, kind in given.types.items())
    names = list(given.types)
    rows = [
        {name: held.value(given.types[name], value) for name, value in zip(names, values, strict=True)}
        for values in zip(*(given.values[name] for name in names), strict=True)
    ]
    if isinstance(asked.aggregate, Sum):
        return sums.totals(rows, columns, asked, of)
    return dict(reference.sparse(rows, columns, asked, of))


def answered(source: Source, asked: Question, of: Unit) -> dict[int | str, int] | None:
    """The counts of a source that are not 0, dense and sparse; None where it refuses."""
    few = asked.domain.declared and asked.bins <= 500
    try:
        source.check(asked, of, StatisticKind.SPARSE)
    except DpvizError as error:
        assert not isinstance(error, ReleaseFailed)
        return None
    sparse: Any = source.count(asked, of, StatisticKind.SPARSE)
    found = {label: int(count) for label, count in zip(*(one.tolist() for one in sparse.take()), strict=True)}
    if few and asked.id[0] in "0123":  # both ways of counting, now and then
        source.check(asked, of, StatisticKind.DENSE)
        dense: Any = source.count(asked, of, StatisticKind.DENSE)
        assert {bin: int(count) for bin, count in enumerate(dense.take()) if count} == found, "dense and sparse differ"
    return found


class Different(AssertionError):
    """A case in which an engine does not do what it must."""


def case(seed: str, held: Container, name: str, questions: int = 4) -> tuple[int, int]:
    """One table in one container, and some questions about it. How many were answered, and how many refused."""
    chance = random.Random(f"{seed} {name}")
    given = table(chance, held.types)
    holds = held.asked_as(given.types)
    try:
        source = held.opened(given)
    except DpvizError as error:
        raise Different(f"{seed!r}, {name}: not opened ({error})\n{given}") from None
    outcomes = [0, 0]
    for _ in range(questions):
        asked, of = question(chance, holds), unit(chance)
        why = refused(asked, of, held, given.types)
        must = None if why else expected(given, held, asked, of)
        try:
            came = answered(source, asked, of)
        except Exception as error:
            came = {"failed": f"{type(error).__name__}: {error}"}  # type: ignore[dict-item]
        if came != must:
            raise Different(
                f"{seed!r}, {name}: {asked.text}, {asked.where_text or 'no filter'}, part {asked.part} by {asked.by}, "
                f"{asked.aggregate}, {of.text}\n{asked.domain!r}\n{given}\ncame {came}\nmust {must} {why}"
            )
        outcomes[must is None] += 1
    return outcomes[0], outcomes[1]
