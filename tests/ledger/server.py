"""A real PostgreSQL server in a temporary folder: started, killed at any moment, started again."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg

from tests.patience import until
from tests.ports import own_port
from tools import system

OWNER, ANALYST, PASSWORD = "keeper", "ada", "correct horse"

TEAMS = Path(__file__).parents[2] / "docs/teams.md"


def statements(*, start: str, end: str = "") -> list[str]:
    """The SQL statements of docs/teams.md that start and end so."""
    blocks = re.findall(r"^```sql\n(.*?)^```$", TEAMS.read_text(), re.MULTILINE | re.DOTALL)
    code = re.sub(r"--.*", "", "\n".join(blocks))
    found = [" ".join(part.split()) for part in code.split(";")]
    return [one for one in found if one.startswith(start) and one.endswith(end)]


def here(statement: str, schema: str) -> str:
    """A statement of docs/teams.md about a schema of the tests."""
    told = re.sub(r"\bvisits\b", schema, statement)
    return re.sub(r"\bDATABASE ledgers\b", "DATABASE postgres", told)


def _die_with_parent() -> None:
    """A test run that is killed leaves no server behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG


class Server:
    """It listens on a socket, where it trusts everybody, and on a loopback port, where it asks for the password."""

    def __init__(self, within: Path | None = None) -> None:
        programs = system.postgresql()
        assert programs is not None, "no PostgreSQL server: run `make programs` (on Debian: apt-get install postgresql)"
        self._programs = programs
        if within is None and os.access("/dev/shm", os.W_OK):
            within = Path("/dev/shm")  # memory, where a file outlives processes, though not a loss of power
        self.folder = Path(tempfile.mkdtemp(prefix="dpviz-pg-", dir=within))
        self._as: dict[str, Any] = {}
        if os.getuid() == 0:  # PostgreSQL does not run as root
            other = pwd.getpwnam("nobody")
            os.chown(self.folder, other.pw_uid, other.pw_gid)
            self._as = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
        self.folder.chmod(0o755)
        password = self.folder / "password"
        password.write_text(PASSWORD)
        self._known = False
        command = ["initdb", "--username", OWNER, "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"]
        more = ["--encoding=UTF8", "--no-locale", "--pwfile", password, self.folder / "data"]
        self._run([*command, *more])
        self.port = own_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._schemas = itertools.count(1)

    def _run(self, command: list[Any]) -> None:
        program, *arguments = command
        subprocess.run(
            [self._programs / program, *arguments], cwd=self.folder, check=True, stdout=subprocess.DEVNULL, **self._as
        )

    def start(self, **settings: str) -> None:
        asked = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.folder} | settings
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.folder / "data"]
                + [part for name, value in asked.items() for part in ("-c", f"{name}={value}")],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                **self._as,
            )
        until(self._ready, lambda: (self.folder / "log").read_text()[-2000:])

    def _ready(self) -> bool:
        assert self._process is not None and self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
        try:
            self._meet()
        except psycopg.OperationalError:
            return False
        return True

    def _meet(self) -> None:
        """Connect, and the first time make the roles of docs/teams.md."""
        with self.connect() as connection:
            if not self._known:
                for role in ("analysts", ANALYST):
                    for statement in statements(start=f"CREATE ROLE {role} "):
                        connection.execute(statement)
                connection.execute(f"ALTER ROLE {ANALYST} PASSWORD '{PASSWORD}'")
                self._known = True

    def let_in(self, schema: str) -> None:
        """The GRANTs of docs/teams.md and nothing else, as far as the ledger is there."""
        with self.connect(schema) as connection:
            let_in(connection, schema)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Every process of the server stopped, as on a machine that hangs: it takes connections and says nothing."""
        processes = self._suspended()
        try:
            yield
        finally:
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    def kill(self) -> None:
        """Kill every process of the server at once, as a power failure would.

        Each by itself: a backend leads a group of its own, and outlives the server until it notices, perhaps for one
        more answer. They are suspended before, so that none is begun meanwhile.
        """
        assert self._process is not None
        processes = self._suspended()
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        until(lambda: all(map(_ended, processes)))  # while one lives, it holds the memory that all share

    def _suspended(self) -> list[psutil.Process]:
        """Every process of the server, suspended, the server itself first; none where it has ended."""
        assert self._process is not None
        if self._process.poll() is not None:
            return []
        server = psutil.Process(self._process.pid)
        server.suspend()
        until(lambda: server.status() == psutil.STATUS_STOPPED or _ended(server))
        processes = [server, *server.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):  # a worker of the server that was about to end
                process.suspend()
        return processes

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """SIGQUIT: at once and without a word of farewell. SIGINT: connections are ended, then the server."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait()

    def remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, schema: str = "public", user: str = OWNER) -> psycopg.Connection[Any]:
        options = f"-c search_path={schema}"
        return psycopg.connect(
            host=str(self.folder), port=self.port, user=user, dbname="postgres", options=options, autocommit=True
        )

    def url(self, schema: str = "public", user: str = ANALYST) -> str:
        """By the socket, for an analyst."""
        more = "" if schema == "public" else f"&schema={schema}"
        return f"postgresql://{user}@/postgres?host={quote(str(self.folder), safe='')}&port={self.port}{more}"

    def loopback(self, password: str, schema: str) -> str:
        return f"postgresql://{ANALYST}:{quote(password)}@127.0.0.1:{self.port}/postgres?schema={schema}"

    def schema(self) -> str:
        """A new, empty schema, which analysts may use."""
        name = f"ledger_{next(self._schemas)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
            let_in(connection, name)
        return name


def _ended(process: psutil.Process) -> bool:
    """Whether it runs no more; nobody may ask after one whose parent is gone, so that its number stays."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def let_in(connection: psycopg.Connection[Any], schema: str) -> None:
    """The GRANTs of docs/teams.md and nothing else: of the tables once they are there."""
    (there,) = connection.execute("SELECT to_regclass(%s || '.chain') IS NOT NULL", (schema,)).fetchone() or (False,)
    for statement in statements(start="GRANT", end="analysts"):
        if there or " ON visits." not in statement:
            connection.execute(here(statement, schema))
