"""The process of a curator: its socket, who may open it, and its end."""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import stat
import struct
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpviz import threads
from dpviz.boundary import protect_module
from dpviz.curator.bodies import PATIENCE
from dpviz.curator.service import PEER
from dpviz.errors import ParameterError

CREDENTIALS: Final = struct.Struct("3i")
"""Process, user and group, as the kernel gives them for the other end of a Unix socket."""


MOST_OF_USER: Final = 200
MOST_OF_ADDRESS: Final = 400
"""The most connections of one user of this machine, and of one address, behind which many may be."""


class PeerProtocol(H11Protocol):
    """HTTP that knows the user at the other end of a Unix socket, by the word of the kernel."""

    opened_by: ClassVar[Counter[object]] = Counter()
    """Connections that are open now, by the user or the address at the other end."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        opened = transport.get_extra_info("socket")
        self._peer: object = (transport.get_extra_info("peername") or ("",))[0]
        most = MOST_OF_ADDRESS
        if opened is not None and opened.family == socket.AF_UNIX:
            _, uid, _ = CREDENTIALS.unpack(opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
            self.app, self._peer, most = partial(_with_peer, self.app, uid), uid, MOST_OF_USER
        self.opened_by[self._peer] += 1
        if self.opened_by[self._peer] > most:
            transport.abort()
        else:
            self.loop.call_later(PATIENCE, self._no_request)

    def connection_lost(self, exc: Exception | None) -> None:
        self.opened_by[self._peer] -= 1
        if not self.opened_by[self._peer]:
            del self.opened_by[self._peer]
        super().connection_lost(exc)

    def _no_request(self) -> None:
        """Close a connection over which no whole head of a request has come."""
        if getattr(self, "cycle", None) is None:
            self.transport.abort()


async def _with_peer(app: Any, uid: int, scope: Any, receive: Any, send: Any) -> None:
    await app({**scope, PEER: uid}, receive, send)


@dataclass(frozen=True)
class ServedSocket:
    """One place where a curator listens, with the files of TLS where it is reached over a network.

    path      that of a Unix socket, with what tells it from another one there
    """

    opened: socket.socket
    path: Path | None = None
    identity: tuple[int, int] = (0, 0)
    certificate: Path | None = None
    key: Path | None = None


def unix_socket(path: Path, *, mode: int = 0o660, group: int | None = None) -> ServedSocket:
    """A socket at this path, open to its owner and its group. One that nobody answers any more is replaced.

    Parameters
    ----------
    path : Path
        The place of the socket, in a folder that is there.
    mode : int, default 0o660
        Its permissions.
    group : int, optional
        The number of its group.

    Returns
    -------
    ServedSocket
        The bound socket.

    Raises
    ------
    ParameterError
        If another process answers there, or something else lies there.
    """
    if path.exists() or path.is_symlink():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ParameterError.of(path.name, "a socket replaces nothing but a socket", "choose another path")
        if _answers(path):
            raise ParameterError.of(path.name, "another process answers at this socket", "stop it, or choose another")
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777)  # nobody may open it before its permissions are right
    try:
        made.bind(str(path))
        if group is not None:
            os.chown(path, -1, group)
        os.chmod(path, mode)
        found = path.lstat()
    except OSError as error:
        made.close()
        failed = ParameterError.of(path.name, f"a socket must be made there ({error.strerror})", "choose another path")
    else:
        return ServedSocket(made, path, (found.st_dev, found.st_ino))
    finally:
        os.umask(before)
    raise failed


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


class HttpServer(uvicorn.Server):
    """A server that says when it listens, and leaves no socket behind."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], object], ending: Callable[[], object]) -> None:
        super().__init__(config)
        self._told, self._ending = started, ending

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End at a signal. Questions that are held open are answered first."""
        self._ending()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._told()


def run(app: FastAPI, places: Sequence[ServedSocket], started: Callable[[], object] = lambda: None) -> None:
    """Serve until a signal ends it.

    Parameters
    ----------
    app : FastAPI
        The application of `make_app`.
    places : sequence of ServedSocket
        Where it listens. The first is served on this thread, which hears the signals.
    started : callable, optional
        Called once it listens at all of them.

    Returns
    -------
    None
        When it has ended; what was being drawn is cancelled, and its charge stays.

    Raises
    ------
    OSError
        If a socket cannot be listened at.
    """
    left = [None] * len(places)

    def up() -> None:
        left.pop()
        if not left:
            started()

    servers = [HttpServer(_config(app, place), up, app.state.keeper.let_go) for place in places]
    beside = [
        (partial(server.run, [place.opened]), f"dpviz-curator-{number}")
        for number, (server, place) in enumerate(zip(servers, places, strict=True))
        if number
    ]
    before, begun = _ending_quietly(), []
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # each connection is a file
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it would log each connection that there is no room for
    try:
        for work, name in beside:
            begun.append(threads.start(work, name))
        with suppress(KeyboardInterrupt):  # how a server ends at Ctrl-C, once it has told its clients
            servers[0].run([places[0].opened])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for server in servers[1:]:
            server.should_exit = True
        app.state.keeper.close()
        for thread in begun:
            if thread is not None:
                thread.join()
        for place in places:
            leave(place)


def _ending_quietly() -> dict[int, Any]:
    """Handlers that let a process go on when its server has ended: it raises again the signal that ended it, and by the
    usual handler that would leave sockets behind."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}


def _config(app: FastAPI, place: ServedSocket) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=PeerProtocol,
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        lifespan="off",
        limit_concurrency=1_000,
        backlog=256,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=16_384,
        ssl_certfile=place.certificate,
        ssl_keyfile=place.key,
    )


def leave(place: ServedSocket) -> None:
    """Close a place, and remove its socket from the folder, unless another process has put its own there."""
    place.opened.close()
    if place.path is None:
        return
    with suppress(OSError):
        found = place.path.lstat()
        if (found.st_dev, found.st_ino) == place.identity:
            os.unlink(place.path)


protect_module(vars())
