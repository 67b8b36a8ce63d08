"""Where a user says that a ledger is: a file, or a schema of a server."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from dpviz import files
from dpviz.boundary import Hidden
from dpviz.errors import LedgerError, LedgerFormat, short
from dpviz.session.ledger.sqlite import File
from dpviz.session.ledger.store import LedgerLocation
from dpviz.traces import one_line


def locate(location: object) -> LedgerLocation:
    """The place meant by a path or by an SQLAlchemy URL (sqlite, postgresql), which may be hidden already."""
    held = location = Hidden.of(location)  # a URL may hold a password: no variable of a refusal shows it
    try:
        return _located(held.take())
    except LedgerError as error:
        error.__context__ = None
        refusal = error.with_traceback(None)
    raise refusal


def _located(location: object) -> LedgerLocation:
    if isinstance(location, str) and "://" in location:
        try:
            url = make_url(location)
        except (ArgumentError, ValueError):
            raise _no_location(_scheme(location)) from None
        if url.get_backend_name() in ("postgresql", "postgres"):
            from dpviz.session.ledger.postgres import Server

            return Server.of(url)
        if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:" or url.query:
            raise _no_location(_scheme(location))
        location = url.database
    if not isinstance(location, str | Path) or str(location) in ("", ":memory:"):
        raise _no_location(short(repr(location) if isinstance(location, str) else location))
    return File(_regular(files.named(str(location), "a ledger", "visits.ledger", LedgerError)))


def _regular(path: Path) -> Path:
    """The one name of a file, whatever links lead to it. Devices and other special files are refused."""
    try:
        whole = path.expanduser().resolve()
        odd = whole.exists() and not whole.is_file() and not whole.is_dir()
    except (OSError, RuntimeError, ValueError):  # links in a circle, no such user, a name that no file can have
        raise _no_location(short(str(path))) from None
    if odd:
        shown = one_line(str(path))
        rule, step = "a ledger is a file", "give the path of a ledger, or of a file that does not exist yet"
        raise LedgerFormat(f"{rule}, and {shown} is none; {step}", value=shown, rule=rule, next_step=step)
    if (other := files.beside(whole)) is not None:
        shown = one_line(str(path))
        rule, step = "no ledger lies where a file of another ledger does", "choose another name"
        raise LedgerFormat(
            f"{rule}, and {shown} belongs to {one_line(other.name)}; {step}", value=shown, rule=rule, next_step=step
        )
    return whole


def locate_file(location: object) -> File:
    """The file meant by a path or by an SQLAlchemy URL, which may be hidden already."""
    held = location = Hidden.of(location)
    found = locate(held)
    if not isinstance(found, File):
        rule, step = "a backup is a file", "write a path like visits.backup"
        raise LedgerError(f"{rule}, got {found}; {step}", value=str(found), rule=rule, next_step=step)
    return found


def _scheme(location: str) -> str:
    """The part of a URL that may be shown: any other part of it may hold a password."""
    return location.partition("://")[0] + "://..."


def _no_location(shown: str) -> LedgerError:
    rule = "a ledger is a file, or the SQLAlchemy URL of an SQLite file or of a PostgreSQL database"
    step = "write a path like visits.ledger, or a URL like postgresql://user@host/database"
    return LedgerError(f"{rule}, got {shown}; {step}", value=shown, rule=rule, next_step=step)
