"""A real PostgreSQL server in a temporary folder: started, killed at any moment, started again."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from tools import system

OWNER, PASSWORD = "keeper", "correct horse"


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
        command = ["initdb", "--username", OWNER, "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"]
        more = ["--encoding=UTF8", "--no-locale", "--pwfile", password, self.folder / "data"]
        self._run([*command, *more])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
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
        deadline = time.monotonic() + 60
        while True:
            assert self._process.poll() is None and time.monotonic() < deadline, (self.folder / "log").read_text()[
                -2000:
            ]
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                time.sleep(0.02)

    def kill(self) -> None:
        """Kill every process of the server at once, as a power failure would."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._wait_for_backends()

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """SIGQUIT: at once and without a word of farewell. SIGINT: connections are ended, then the server."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait()

    def _wait_for_backends(self) -> None:
        """Processes that the system has not yet cleared away hold the memory they share."""
        assert self._process is not None
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                os.killpg(self._process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.01)

    def remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, schema: str = "public", user: str = OWNER) -> psycopg.Connection[Any]:
        options = f"-c search_path={schema}"
        return psycopg.connect(
            host=str(self.folder), port=self.port, user=user, dbname="postgres", options=options, autocommit=True
        )

    def url(self, schema: str = "public", user: str = OWNER) -> str:
        """By the socket."""
        more = "" if schema == "public" else f"&schema={schema}"
        return f"postgresql://{user}@/postgres?host={quote(str(self.folder), safe='')}&port={self.port}{more}"

    def loopback(self, password: str, schema: str) -> str:
        return f"postgresql://{OWNER}:{quote(password)}@127.0.0.1:{self.port}/postgres?schema={schema}"

    def schema(self) -> str:
        """A new, empty schema."""
        name = f"ledger_{next(self._schemas)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return name
