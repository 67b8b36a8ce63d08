"""What the tests of the ledger share: a charter, and an accountant that counts to its budget."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from sqlalchemy.engine import make_url

from dpviz.errors import BudgetExceeded
from dpviz.session.ledger import Ledger
from dpviz.session.ledger.chain import Row
from dpviz.session.ledger.locations import locate
from dpviz.session.ledger.memory import Place, folder_of_state
from tests.ledger.server import ANALYST, OWNER, PASSWORD, let_in

CHARTER: dict[str, object] = {
    "dataset": "visits",
    "schema": {"age": "number", "visits": "number"},
    "unit": {"of": "row", "relation": "add-remove", "noun": "person-year"},
    "budget": {"epsilon": "2", "delta": "0"},
}
BODY = {
    "question": "visits 0 to 40",
    "price": {"text": "ε 1 per person-year", "unit": "one person-year, add or remove"},
}


Location: TypeAlias = Path | str
"""A file, or the URL of a schema."""


on_a_file = pytest.mark.parametrize("locations", ["sqlite"], indirect=True)
"""For what no database has a say in: once is enough."""


def opened(location: Location, *, budget: int = 100, **more: Any) -> Ledger:
    charter: dict[str, Any] = {"charter": CHARTER, "account": {"spent": "0", "budget": str(budget)}}
    goes_on = {"existing": False} if more.get("existing") is False else {}
    started(location, lambda owners: Ledger.open(owners, **charter, **goes_on))
    return Ledger.open(location, **charter, **more)


def started(location: Location, start: Callable[[str], object]) -> None:
    """Where an analyst is to open a ledger on a server that is not there yet, its owner starts it and lets her in."""
    if not isinstance(location, str) or f"//{ANALYST}" not in location:
        return
    owners, schema = as_owner(location), make_url(location).query.get("schema")
    try:
        with behind(location) as connection:
            (free,) = connection.execute(
                "SELECT current_schema() IS NOT NULL AND to_regclass('chain') IS NULL"
            ).fetchone()
    except psycopg.OperationalError:  # a server that is away, for the call that follows to say so
        return
    if free:
        start(owners)
        with behind(location) as connection:
            let_in(connection, str(schema))


def as_owner(location: Location) -> Any:
    """The same place for who owns it."""
    if not isinstance(location, str):
        return location
    return make_url(location).set(username=OWNER, password=PASSWORD).render_as_string(hide_password=False)


def admit(account: Mapping[str, str]) -> dict[str, str]:
    """Each charge costs one."""
    spent = int(account["spent"]) + 1
    if spent > int(account["budget"]):
        raise BudgetExceeded("the budget is spent", value="1", rule="a price must fit", next_step="stop")
    return {**account, "spent": str(spent)}


def key(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def spend(ledger: Ledger, *names: object) -> None:
    """Charge and answer, once for each name."""
    for name in names:
        entry = ledger.charge(key(name), BODY, admit)
        ledger.finish(entry.number, f"the answer to {name}".encode())


def behind_its_back(location: str) -> dict[str, Any]:
    """How the owner of a ledger on a server connects."""
    url = make_url(location)
    return {
        "host": url.host or url.query["host"],
        "port": url.port or url.query["port"],
        "user": OWNER,
        "password": PASSWORD,
        "dbname": url.database,
        "options": f"-c search_path={url.query.get('schema', 'public')}",
    }


@contextmanager
def behind(location: Location) -> Iterator[Any]:
    """A connection to a ledger behind its back; what was done stays if nothing went wrong."""
    if isinstance(location, str):
        with psycopg.connect(**behind_its_back(location)) as connection:
            yield connection
    else:
        connection = sqlite3.connect(location)
        connection.execute("PRAGMA synchronous=OFF")
        with closing(connection), connection:
            yield connection


def sql(location: Location, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Run a statement behind a ledger's back. Values are marked by ? in both dialects."""
    with behind(location) as connection:
        said = connection.execute(statement.replace("?", "%s") if isinstance(location, str) else statement, values)
        return list(said.fetchall()) if said.description else []


def edit(location: Location, statement: str, *values: object) -> None:
    """Change a ledger behind its back."""
    sql(location, statement, *values)


def respelled(location: Location, seq: int, old: str, new: str) -> None:
    """Write other words into a row of a ledger, and leave its hash."""
    row = Row.read(sql(location, "SELECT * FROM chain WHERE seq = ?", seq)[0])
    assert old in row.body
    edit(location, "UPDATE chain SET body = ? WHERE seq = ?", row.body.replace(old, new), seq)


def exists(location: Location) -> bool:
    """Whether a ledger is there."""
    return locate(location).exists()


def forget(path: Path) -> None:
    """Remove all that tells how far a ledger had come: the file beside it, and what this machine remembers of it."""
    path.with_name(path.name + "-lock").unlink()
    Place(locate(path).identity).forget()
    folder = folder_of_state()
    for known in [] if folder is None else folder.glob("*.known"):
        known.unlink()


def names_port(text: str, port: int) -> bool:
    """Whether a text names this port as one: its five digits alone stand in many a hash or address by chance.

    >>> [names_port(said, 40127) for said in ("db:40127/x", "'port': 40127", "PGSQL.40127", "0x7f40127", "pid 40127")]
    [True, True, True, False, False]
    """
    return re.search(rf"(?:[\w\]]:|\bport\W{{0,4}}|PGSQL\.){port}(?!\w)", text) is not None
