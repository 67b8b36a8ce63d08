"""Starting a curator from its declaration."""

from __future__ import annotations

import grp
import ipaddress
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpviz.boundary import as_given, protect_module
from dpviz.curator import hub
from dpviz.curator.approvals import ApprovalGate
from dpviz.curator.checking import check_files
from dpviz.curator.declaration import Declaration, Listening
from dpviz.curator.keeper import Keeper
from dpviz.errors import ParameterError
from dpviz.session.callers import Caller

if TYPE_CHECKING:
    from dpviz.curator.serving import ServedSocket


def keeper_of(declaration: Declaration) -> Keeper:
    """Open the data and the ledger of a declaration, and keep them.

    Parameters
    ----------
    declaration : Declaration
        A declared data set.

    Returns
    -------
    Keeper
        The keeper, which answers orders.

    Raises
    ------
    DpvizError
        If the data or the ledger cannot be opened.
    """
    session = declaration.session()
    return Keeper(
        session,
        bins={name: domain.to_json() for name, domain in declaration.bins.items()},
        tick=float(declaration.tick),
        each=declaration.queue.each,
        all=declaration.queue.waiting,
        caps=declaration.caps,
        within=declaration.caps.within,
        gate=ApprovalGate(session, declaration.approvals) if declaration.approvals else None,
    )


class DeclaredCallers:
    """The callers that a declaration names.

    Parameters
    ----------
    declaration : Declaration
        A declared data set.
    """

    def __init__(self, declaration: Declaration) -> None:
        self._declaration = declaration

    def caller_of_uid(self, uid: int) -> Caller | None:
        """The analyst who is this user of the machine."""
        return self._declaration.caller_of_uid(uid)

    def caller_of_token(self, token: str) -> Caller | None:
        """The analyst who has this token."""
        return self._declaration.caller_of_token(token)


def serve(declaration: Declaration, started: Callable[[list[str]], object] | None = None) -> None:
    """Serve a declared data set until a signal ends it.

    Parameters
    ----------
    declaration : Declaration
        A declared data set.
    started : callable, optional
        Called with the addresses once the service listens.

    Returns
    -------
    None
        When it has ended.

    Raises
    ------
    ParameterError
        If FastAPI is not installed, or the declaration names no place to listen at.
    DpvizError
        If the data or the ledger cannot be opened.
    """
    serving, service = _programs()
    before = os.umask(0o077)  # a new ledger, and all that is written beside it, is its owner's alone
    try:
        _served(declaration, serving, service, started)
    finally:
        os.umask(before)


def _served(
    declaration: Declaration, serving: Any, service: Any, started: Callable[[list[str]], object] | None
) -> None:
    check_files(declaration)
    authority = hub.HubCallers(declaration) if declaration.listening.hub else DeclaredCallers(declaration)
    places = _places(declaration.listening, serving)
    try:
        keeper = keeper_of(declaration)
    except BaseException:
        for _, place in places:
            serving.leave(place)
        raise
    app = service.make_app(keeper, authority)
    if declaration.listening.hub:
        app.add_middleware(hub.UnderPrefix, prefix=hub.prefix())
    addresses = [address for address, _ in places]
    serving.run(app, [place for _, place in places], lambda: started and started(addresses))


def _programs() -> tuple[Any, Any]:
    """The modules that need FastAPI and uvicorn."""
    missing = None
    try:
        from dpviz.curator import service, serving
    except ImportError as error:
        missing = ParameterError.of(
            error.name or "a package", "a curator needs FastAPI and uvicorn", "pip install 'dpviz[curator]'"
        )
    else:
        return serving, service
    raise missing


def _places(listening: Listening, serving: Any) -> list[tuple[str, ServedSocket]]:
    """The places to listen at, each with the address that clients connect to."""
    found = []
    if listening.socket is not None:
        made = serving.unix_socket(listening.socket, mode=listening.mode, group=_group(listening.group))
        found.append((f"unix:{listening.socket}", made))
    if listening.host:
        made = _tcp(listening.host, listening.port)
        scheme = "http" if listening.certificate is None else "https"
        place = serving.ServedSocket(made, certificate=listening.certificate, key=listening.key)
        found.append((f"{scheme}://{listening.host}:{made.getsockname()[1]}", place))
    if not found:
        raise ParameterError.of(
            "no place to listen at", "a curator listens at a socket or a host", 'write listen.socket = "visits.sock"'
        )
    return found


def _group(name: str) -> int | None:
    if not name:
        return None
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        unknown = ParameterError.of(as_given(name), "listen.group is a group of this machine", "see `getent group`")
    raise unknown


def _tcp(host: str, port: int) -> socket.socket:
    """A socket at a host and a port."""
    try:
        six = ipaddress.ip_address(host).version == 6
    except ValueError:
        six = False
    made = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        refused = ParameterError.of(
            f"{host}:{port}", f"a curator listens at an address that is free ({error.strerror})", "choose another port"
        )
    else:
        return made
    raise refused


protect_module(vars())
