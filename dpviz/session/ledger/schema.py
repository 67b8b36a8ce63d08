"""The objects that may stand in a ledger's database: the tables and indexes that dpviz makes, as it makes them, and
nothing else.

A trigger can swallow a row, a view can show other rows than are there, a changed table can drop what does not fit. So
each thing that dpviz did not make is refused by its name.
"""

from __future__ import annotations

import re
from functools import cache

from sqlalchemy import Connection

from dpviz.errors import LedgerCorrupt
from dpviz.session.ledger.tables import metadata, on_sqlite

_MASTER = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"

_OLDER = (
    """CREATE UNIQUE INDEX one_answer_for_a_key ON entry (key) WHERE status IN ('pending', 'done')""",
    """CREATE TABLE lease (number INTEGER NOT NULL, token VARCHAR(64) NOT NULL, place TEXT NOT NULL,
       pid BIGINT NOT NULL, born TEXT NOT NULL, until BIGINT NOT NULL, PRIMARY KEY (number))""",
)
"""Objects that ledgers of format 1 have besides, and a newer dpviz leaves where they are."""

_OWN = re.compile(r"sqlite_(autoindex_(chain|blob|entry|use|draw|lease)_\d+|stat[134])\Z")
"""Objects that SQLite itself puts into a database."""


def check_sqlite(connection: Connection) -> None:
    """Refuse whatever dpviz did not put into an SQLite database. A table of a newer format may be missing."""
    known = _known()
    for kind, name, sql in connection.exec_driver_sql(_MASTER).all():
        if isinstance(name, str) and _OWN.match(name) and kind in ("index", "table"):
            continue
        if not isinstance(sql, str) or name not in {known_name for _, known_name in known}:
            raise foreign(kind, name)
        if known.get((kind, name)) != _plain(sql):
            raise changed(kind, name)


@cache
def _known() -> dict[tuple[str, str], str]:
    """Kind and name of all that dpviz makes, and how it is made."""
    found = {part: _plain(statement) for part, statement in on_sqlite().items()}
    for sql in _OLDER:
        words = sql.split()
        kind = "table" if words[1] == "TABLE" else "index"
        found[kind, words[2] if kind == "table" else words[3]] = _plain(sql)
    return found


def _plain(sql: str) -> str:
    """A statement without what is matter of taste: spaces and quotes around names."""
    return re.sub(r"[\s\"]+", "", sql).lower()


# ---------------------------------------------------------------- PostgreSQL

_OURS = """c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
AND c.relname IN ('chain', 'blob', 'entry', 'use', 'draw')"""
_RELATIONS = f"""
SELECT c.relname, c.relkind::text, c.relrowsecurity,
       EXISTS (SELECT 1 FROM pg_inherits WHERE inhparent = c.oid OR inhrelid = c.oid)
FROM pg_class c WHERE {_OURS} ORDER BY c.relname
"""
_ADDED = f"""
SELECT 'trigger', t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND {_OURS}
UNION ALL
SELECT 'rule', r.rulename, c.relname FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
WHERE c.relkind = 'r' AND {_OURS}
UNION ALL
SELECT 'constraint', n.conname, c.relname FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid
WHERE n.contype NOT IN ('p', 'u', 'n') AND {_OURS}
ORDER BY 1, 2
"""
_COLUMNS = f"""
SELECT c.relname, a.attname, a.attgenerated::text <> '' OR a.atthasdef FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid WHERE a.attnum > 0 AND NOT a.attisdropped AND {_OURS}
ORDER BY c.relname, a.attnum
"""


def check_postgres(connection: Connection) -> None:
    """Refuse whatever is on our five tables that dpviz did not put there.

    Other tables of the schema are their owner's business: names are looked up in this schema, so none of them can
    stand before ours. An index that somebody adds for speed changes no answer and is let be.
    """
    for name, kind, hides, inherits in connection.exec_driver_sql(_RELATIONS).all():
        if kind != "r":
            raise changed({"v": "view", "m": "view", "f": "foreign table"}.get(kind, "table"), name)
        if hides:
            raise foreign("row security policy", name)
        if inherits:
            raise foreign("inheritance", name)
    for kind, name, table in connection.exec_driver_sql(_ADDED).all():
        raise foreign(kind, f"{name} on {table}")
    for table, column, computed in connection.exec_driver_sql(_COLUMNS).all():
        if column not in metadata.tables[table].columns or computed:
            raise foreign("column", f"{column} of {table}")


# ---------------------------------------------------------------- refusals


def foreign(kind: str, name: object) -> LedgerCorrupt:
    what = f"{kind} {_shown(name)}"
    rule, step = "a ledger holds what dpviz made and nothing else", "remove it, or restore a backup"
    return LedgerCorrupt(
        f"the ledger is altered: its database has the {what}, which dpviz did not make; {step}, "
        "and see what was charged meanwhile",
        value=what,
        rule=rule,
        next_step=step,
    )


def changed(kind: str, name: object) -> LedgerCorrupt:
    what = f"{kind} {_shown(name)}"
    rule, step = "the tables of a ledger stay as dpviz made them", "restore a backup that `dpviz ledger verify` accepts"
    return LedgerCorrupt(
        f"the ledger is altered: the {what} of its database is not as dpviz made it; {step}",
        value=what,
        rule=rule,
        next_step=step,
    )


def _shown(name: object) -> str:
    text = "".join(character if character.isprintable() else "?" for character in str(name))
    return text if len(text) <= 60 else text[:59] + "…"
