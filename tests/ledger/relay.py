"""A way to a server that a test can close, slow down or falsify: what a network does."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from pathlib import Path

STARTING = ("57P03", "the database system is starting up")
FULL = ("53300", "sorry, too many clients already")


class Relay:
    """Listens on a loopback port and hands everything on to a server's socket, as long as nothing else is asked of it.

    says     refuse each connection as a server does that is not ready: a code and its words
    refused  how many connections were refused so
    """

    def __init__(self, server: Path) -> None:
        self._server = server
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._listening.getsockname()[1]
        self.says: tuple[str, str] | None = None
        self.refused = threading.Semaphore(0)
        threading.Thread(target=self._serve, daemon=True).start()

    def url(self, url: str) -> str:
        """The same ledger, by way of this relay. `url` goes by a loopback port."""
        from sqlalchemy.engine import make_url

        return make_url(url).set(port=self.port).render_as_string(hide_password=False)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                threading.Thread(target=self._attend, args=(near,), daemon=True).start()

    def _attend(self, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self.says is not None:
                self._refuse(near, *self.says)
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(str(self._server))
            self._open += [near, far]
            threading.Thread(target=_pour, args=(near, far), daemon=True).start()
            _pour(far, near)

    def _refuse(self, near: socket.socket, code: str, words: str) -> None:
        with near:
            while True:
                (length,) = struct.unpack("!i", near.recv(4, socket.MSG_WAITALL))
                asked = near.recv(length - 4, socket.MSG_WAITALL)
                if asked[:4] in (struct.pack("!i", 80877103), struct.pack("!i", 80877104)):  # SSL, GSS: no
                    near.sendall(b"N")
                    continue
                break
            fields = b"".join(
                f"{name}{text}\0".encode() for name, text in zip("SVCM", ("FATAL", "FATAL", code, words), strict=True)
            )
            near.sendall(b"E" + struct.pack("!i", len(fields) + 5) + fields + b"\0")
        self.refused.release()

    def drop(self) -> None:
        """End every connection that is open."""
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def close(self) -> None:
        self._listening.close()
        self.drop()


def _pour(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
