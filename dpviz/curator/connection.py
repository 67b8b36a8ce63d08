"""The connection of a client to its curator: requests, replies, and errors that tell a refusal from a lost line."""

from __future__ import annotations

import socket
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx

from dpviz.boundary import Hidden, as_given, protect_module
from dpviz.curator.wire import PROTOCOL, error_from
from dpviz.errors import DpvizError, LedgerAway, LedgerFormat, ParameterError

PATIENCE: Final = 15.0
"""Seconds after which a request without a reply is given up. A curator holds none open for longer than ten."""

TRIES: Final = 4
"""The attempts of a request that may be sent twice, over three seconds."""

STEP: Final = "take the address that the owner of the data gave"

T = TypeVar("T")

LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class Connection:
    """A connection to one curator. May be used from several threads.

    Parameters
    ----------
    address : str
        ``https://host:port``, or ``unix:/path/of/the.sock``. Without TLS only on this machine.
    token : str or Hidden, optional
        The token that the owner of the data gave. A Unix socket needs none.
    certificate : str or Path, optional
        The file of certificates to trust, where the curator's is not known to this machine.

    Raises
    ------
    ParameterError
        If the address is none, or would send a token over a network in the clear.
    """

    def __init__(self, address: str, token: Hidden[Any] | None, certificate: str | Path | None) -> None:
        self.name, base, transport = _place(address, certificate)
        self._socket = self.name.removeprefix("unix:") if self.name.startswith("unix:") else None
        headers = {"Accept-Encoding": "identity"}
        given = None if token is None else token.take()
        if given is not None:
            headers["Authorization"] = f"Bearer {_checked_token(given)}"
        self._client = httpx.Client(
            base_url=base, transport=transport, headers=headers, timeout=PATIENCE, follow_redirects=False
        )
        weakref.finalize(self, self._client.close)  # a session needs no closing by hand

    def __repr__(self) -> str:
        return f"<connection to the curator at {self.name}>"

    def get(self, path: str, **asked: object) -> Any:
        """The JSON at a path."""
        return self._told(self._asked("GET", path, {name: value for name, value in asked.items() if value is not None}))

    def read(self, make: Callable[[Any], T], path: str, **asked: object) -> T:
        """The JSON at a path, as this makes it. Raises LedgerFormat where it is of another form."""
        told = self.get(path, **asked)
        with suppress(KeyError, TypeError, ValueError, AttributeError, IndexError):
            return make(told)
        raise self._other("another form")

    def stored(self, path: str) -> bytes:
        """The bytes at a path."""
        return self._asked("GET", path, {}).content

    def post(self, path: str, message: Mapping[str, Any] | None = None) -> Any:
        """The JSON reply to a message, which may arrive twice: every message of ours may."""
        return self._told(self._asked("POST", path, {}, message))

    def _asked(
        self, method: str, path: str, asked: Mapping[str, Any], message: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        for attempt in range(TRIES):
            reply = None
            if self._is_there():
                with suppress(httpx.HTTPError, OSError):
                    reply = self._client.request(
                        method, path, params=dict(asked), json=None if message is None else dict(message)
                    )
            if reply is not None:
                break
            time.sleep(0.0 if attempt == TRIES - 1 else 0.25 * 2**attempt)
        if reply is None:
            raise self.away()
        if reply.is_success:
            return reply
        raise self._refusal(reply)

    def _is_there(self) -> bool:
        """Whether somebody listens at the Unix socket. httpcore leaves a socket open that could not be connected, so
        none is tried where nobody listens."""
        if self._socket is None:
            return True
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
            probe.settimeout(1)
            probe.connect(self._socket)
            return True
        return False

    def _refusal(self, reply: httpx.Response) -> DpvizError:
        told = None
        with suppress(LedgerFormat):
            told = self._told(reply)
        if isinstance(told, dict) and "error" in told:
            return error_from(told)
        if reply.status_code == httpx.codes.SERVICE_UNAVAILABLE:  # it has more connections than it takes
            return self.away()
        return self._other(f"status {reply.status_code}")

    def _told(self, reply: httpx.Response) -> Any:
        """The JSON of a reply."""
        with suppress(ValueError, RecursionError):
            return reply.json()
        raise self._other("no JSON")

    def _other(self, found: str) -> LedgerFormat:
        refused = LedgerFormat.of(
            found,
            f"a curator answers in the messages of protocol {PROTOCOL}, and {self.name} does not",
            "ask the owner of the data for the address of the curator",
        )
        assert isinstance(refused, LedgerFormat)
        return refused

    def away(self) -> LedgerAway:
        """The error where nobody answers. Nothing is known of what became of the request."""
        away = LedgerAway(
            f"the curator at {self.name} does not answer; see that it runs, and make the same call again: an answer "
            "that was paid for is stored, and is given again free",
            value=self.name,
            rule="the curator must answer",
            next_step="see that it runs, and make the same call again",
        )
        return away

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _place(address: object, certificate: object) -> tuple[str, str, httpx.HTTPTransport]:
    """The name of a curator for sentences, the base of its addresses, and the way there."""
    rule = "a curator is reached at https://host:port or unix:/path/of/the.sock"
    if not isinstance(address, str):
        raise ParameterError.of(as_given(address), rule, STEP)
    if address.startswith("unix:"):
        path = address.removeprefix("unix:").removeprefix("//")
        if not path.startswith("/"):
            raise ParameterError.of(address, rule, STEP)
        return address, "http://curator", httpx.HTTPTransport(uds=path)
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
        parts = urlsplit("")
    plain = parts.scheme == "http" and host in LOCAL
    if host is None or parts.username or parts.query or not (plain or parts.scheme == "https"):
        refused = rule if parts.scheme != "http" else "a token crosses a network over TLS alone"
        raise ParameterError.of(f"{parts.scheme}://{host or ''}", refused, STEP)
    shown = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
    if certificate is None:
        return shown, shown, httpx.HTTPTransport()
    return shown, shown, httpx.HTTPTransport(verify=_trusting(certificate))


def _trusting(certificate: object) -> Any:
    import ssl

    failed = None
    try:
        return ssl.create_default_context(cafile=str(certificate))
    except (OSError, ssl.SSLError):
        failed = ParameterError.of(
            as_given(certificate), "certificate must be a file of certificates to trust", "give the path of a PEM file"
        )
    raise failed


def _checked_token(token: object) -> str:
    shape = isinstance(token, str) and 0 < len(token) <= 1_000 and all("!" <= sign <= "~" for sign in token)
    if not shape:
        raise ParameterError.of(
            "a token of another shape", "a token is printable text without spaces", "copy it again, whole"
        )
    return str(token)


protect_module(vars())
