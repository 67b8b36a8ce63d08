"""Callers that JupyterHub vouches for: a token of a hub user is shown to the hub, which says whose it is.

The user must be named in the declaration, and the token must give access to this service by JupyterHub's own rule
(`access:services!service=NAME`). A token that holds scopes named `custom:dpviz:plan`, `…release`, `…approve` or
`…audit` allows no more than these of the rights that its user has. A service of the hub is no user, whatever its name.

The hub's word is remembered for a few seconds, under a digest of the token: so long a revoked token may go on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import replace
from functools import cache
from typing import Any, Final, TypeAlias

from dpviz import threads
from dpviz.boundary import Hidden, protect_module, withhold_errors
from dpviz.curator.declaration import Declaration
from dpviz.curator.tokens import PREFIX
from dpviz.errors import LedgerAway, ParameterError, ReleaseFailed
from dpviz.session.callers import Caller

REMEMBERED: Final = 5
"""Seconds for which the hub's word on a token holds."""

PATIENCE: Final = 5.0
"""Seconds for which the hub is waited for: one that hangs holds up nobody whom it does not know."""

CUSTOM: Final = "custom:dpviz:"
"""The beginning of a hub's own scopes that narrow what a token allows here."""

SETTINGS: Final = ("JUPYTERHUB_API_URL", "JUPYTERHUB_SERVICE_NAME")
"""Variables that a hub sets for the services that it starts, and an administrator for others."""

App: TypeAlias = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]


class HubCallers:
    """The callers of a declaration, and the hub's users among them.

    Parameters
    ----------
    declaration : Declaration
        A declared data set.

    Raises
    ------
    ParameterError
        If JupyterHub is not installed, or the environment does not say where the hub is.
    """

    def __init__(self, declaration: Declaration) -> None:
        self._declaration = declaration
        self._auth = _hub_auth()

    def caller_of_uid(self, uid: int) -> Caller | None:
        """The analyst who is this user of the machine."""
        return self._declaration.caller_of_uid(uid)

    def caller_of_token(self, token: str) -> Caller | None:
        """The analyst who has this token: one of the declaration, or one of the hub.

        Raises LedgerAway where the hub does not answer.
        """
        known = self._declaration.caller_of_token(token)
        if known is not None or token.startswith(PREFIX):  # a token of ours is nothing for the hub to see
            return known
        return self._of_hub(Hidden(token))

    def _of_hub(self, token: Hidden[str]) -> Caller | None:
        try:
            user = withhold_errors(self._user, token)
        except ReleaseFailed:
            away = LedgerAway.of("JupyterHub", "the hub must answer who a caller is", "ask again in a moment")
        else:
            return self._caller(user)
        raise away

    def _user(self, token: Hidden[str]) -> Any:
        asked = asyncio.wait_for(self._auth.user_for_token(token.take(), sync=False), PATIENCE)
        return asyncio.run_coroutine_threadsafe(asked, _loop()).result()

    def _caller(self, user: Any) -> Caller | None:
        """The analyst who is this user of the hub, with the rights that the token leaves."""
        if not isinstance(user, Mapping) or user.get("kind") != "user" or not isinstance(user.get("name"), str):
            return None
        held = {scope for scope in user.get("scopes", ()) if isinstance(scope, str)}
        if not self._auth.check_scopes(self._auth.access_scopes, {"scopes": held}):
            return None
        caller = self._declaration.caller_of_hub(user["name"])
        narrowed = {scope.removeprefix(CUSTOM).partition("!")[0] for scope in held if scope.startswith(CUSTOM)}
        if caller is None or not narrowed:
            return caller
        return replace(caller, scopes=caller.scopes & narrowed)


class UnderPrefix:
    """An application behind a proxy that leaves the prefix of a service in the paths, as JupyterHub's does.

    Parameters
    ----------
    app : callable
        The application, in ASGI.
    prefix : str
        The prefix, such as ``/services/visits``.
    """

    def __init__(self, app: App, prefix: str) -> None:
        self._app, self._prefix = app, prefix.rstrip("/")

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if self._prefix and isinstance(path, str) and path.startswith(f"{self._prefix}/"):
            scope = {**scope, "path": path.removeprefix(self._prefix)}
        await self._app(scope, receive, send)


def prefix() -> str:
    """The prefix under which a hub's proxy serves this service; empty where there is none."""
    return os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The loop in which all questions to a hub are asked, on a thread of its own."""
    made = asyncio.new_event_loop()
    if threads.start(made.run_forever, "dpviz-hub") is None:
        made.close()
        raise RuntimeError("no thread")
    return made


def _hub_auth() -> Any:
    missing = [name for name in SETTINGS if not os.environ.get(name)]
    if missing:
        rule = "a service of JupyterHub finds the hub in its environment"
        raise ParameterError.of(f"no {' and no '.join(missing)}", rule, "start it as a service of the hub, or set them")
    try:
        from jupyterhub.services.auth import HubAuth  # type: ignore[import-untyped]
    except ImportError:
        absent = ParameterError.of("jupyterhub", "listen.hub needs JupyterHub", 'pip install "dpviz[hub]"')
    else:
        return HubAuth(cache_max_age=REMEMBERED)
    raise absent


protect_module(vars())
