"""Opening the data that a declaration names: a file, a table of a database, or data that come with dpviz."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpviz import datasets
from dpviz.boundary import Hidden, protect_module, withhold_errors
from dpviz.curator.fields import Fields
from dpviz.engines import as_source, sources
from dpviz.errors import ParameterError, ReleaseFailed
from dpviz.model.source import Source
from dpviz.names import as_name, meant

SOURCE: Final = (
    "file", "table", "url", "practice", "delimiter", "quote", "encoding", "decimal", "thousands", "hive", "approximate",
)  # fmt: skip
DIALECT: Final = ("delimiter", "quote", "encoding", "decimal", "thousands")
KINDS: Final = ("file", "url", "practice")
SQLITE: Final = (".sqlite", ".sqlite3")
ENVIRONMENT: Final = "env:"
"""The beginning of a place that stands in a variable of the environment."""


@dataclass(frozen=True, slots=True)
class DeclaredPlace:
    """A file or the URL of a database. It may hold a password, so nothing shows it.

    field    the field that it stands in, for messages
    written  as the declaration has it
    folder   that of the declaration
    """

    field: str
    written: Hidden[str]
    folder: Path

    @classmethod
    def of(cls, fields: Fields, name: str, folder: Path, example: str) -> DeclaredPlace:
        """The place in a field of a declaration."""
        written = Hidden(fields.text(name, example, most=1_000, secret=True))
        return cls(fields.at(name), written, folder)

    def take(self) -> str:
        """The path in full, or the URL. Raises ParameterError where the environment has no such variable."""
        place = self.written.take()
        if place.startswith(ENVIRONMENT):
            name = place.removeprefix(ENVIRONMENT)
            found = os.environ.get(name, "")
            if not found:
                rule = f"{self.field} stands in a variable of the environment"
                raise ParameterError.of(as_name(name), rule, "set it before the curator starts")
            place = found
        return place if "://" in place else str(self.folder / Path(place).expanduser())


@dataclass(frozen=True, slots=True)
class SourceFields:
    """The data, as the table `source` names them.

    practice  the name of a call of dv.datasets; empty where the data are the owner's
    place     the file or the URL; None for practice
    table     the table of a database; empty for a file of one table
    dialect   how a text file is written, as dv.sources.duckdb takes it
    """

    practice: str
    place: DeclaredPlace | None
    url: bool
    table: str
    dialect: Mapping[str, Any]
    approximate: bool

    @classmethod
    def read(cls, fields: Fields, folder: Path) -> SourceFields:
        """The table `source` of a declaration."""
        given = fields.table("source", SOURCE)
        kinds = [kind for kind in KINDS if kind in given]
        if len(kinds) != 1:
            shown = " and ".join(kinds) or "nothing"
            rule = f"source must have one of {', '.join(KINDS)}"
            raise ParameterError.of(shown, rule, 'write source.file = "visits.parquet"')
        (kind,) = kinds
        beside = {"file": (), "url": (*DIALECT, "hive"), "practice": ("table", "approximate", *DIALECT, "hive")}[kind]
        for name in beside:
            if name in given:
                raise ParameterError.of(name, f"source.{name} does not go with source.{kind}", "leave it out")
        dialect: dict[str, Any] = {name: given.string(name) for name in DIALECT if name in given}
        if "hive" in given:
            hive = given.table("hive", None)
            dialect["hive"] = {name: hive.text(name, '"integer"') for name in hive.names}
        table = given.text("table", '"visits"', "" if kind != "url" else None)
        practice = given.text("practice", '"doctor_visits"', "")
        if practice and practice not in datasets.__all__:
            rule = f"source.practice is one of {', '.join(datasets.__all__)}"
            raise ParameterError.of(as_name(practice), rule, meant(practice, datasets.__all__, "choose one of these"))
        place = None if practice else DeclaredPlace.of(given, kind, folder, '"visits.parquet"')
        return cls(practice, place, kind == "url", table, dialect, given.flag("approximate"))


def opened(given: SourceFields, name: str, schema: Mapping[str, str | tuple[str, str]]) -> Source:
    """The source of these data, under the name and with the schema that are declared."""
    if given.place is None:
        return as_source(getattr(datasets, given.practice)(), name, schema or None)
    place, named = Hidden(given.place.take()), {"name": name, "schema": schema or None}
    if given.url != ("://" in place.take()):
        rule = "source.url is the URL of a database, and source.file a path"
        raise ParameterError.of("the other", rule, 'write source.url = "postgresql://user@host/database"')
    if given.url:
        return _of_server(place, given.table, **named, approximate=given.approximate)
    if given.table and place.take().lower().endswith(SQLITE):
        return _of_sqlite(place, given.table, **named, approximate=given.approximate)
    told: dict[str, Any] = {**named, **given.dialect, "approximate": given.approximate}
    return sources.duckdb(place.take(), given.table or None, **told)


def _of_server(place: Hidden[str], table: str, **named: Any) -> Source:
    return sources.ibis(_connected(_server, place, table, "source.url"), **named)


def _of_sqlite(place: Hidden[str], table: str, **named: Any) -> Source:
    if not Path(place.take()).is_file():
        raise ParameterError.of(
            Path(place.take()).name, "there is no such file", "paths are relative to the folder of the declaration"
        )
    return sources.ibis(_connected(_sqlite, place, table, "source.file"), **named)


def _connected(connect: Any, place: Hidden[str], table: str, field: str) -> Any:
    """The table of a database. The words of a driver may quote the URL, and are withheld."""
    try:
        return withhold_errors(connect, place, table)
    except ReleaseFailed:
        pass
    rule = f"{field} must be a database that can be opened here, with a table of this name"
    step = 'open it in a notebook to see why; for PostgreSQL pip install "ibis-framework[postgres]"'
    raise ParameterError.of(f"table {as_name(table)}", rule, step)


def _server(place: Hidden[str], table: str) -> Any:
    import ibis
    from sqlalchemy.engine import make_url

    url = make_url(place.take())
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise ValueError("no driver")
    more = {key: value for key, value in url.query.items() if isinstance(value, str)}
    backend = ibis.postgres.connect(
        host=more.pop("host", url.host),
        user=url.username,
        password=url.password,
        port=int(more.pop("port", url.port or 5432)),
        database=url.database,
        schema=more.pop("schema", None),
        **more,
    )
    return _owned(backend).table(table)


def _sqlite(place: Hidden[str], table: str) -> Any:
    import ibis

    return _owned(ibis.sqlite.connect(place.take())).table(table)


def _owned(backend: Any) -> Any:
    """A connection that nobody else has: it is closed with the last of what was opened through it."""
    weakref.finalize(backend, backend.con.close)
    return backend


protect_module(vars())
