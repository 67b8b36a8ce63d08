"""The service of a curator: HTTP over a Unix socket or TLS, with the messages of `wire` and of `session/orders.py`.

Charter, entries, answers, orders and nothing else: no SQL, no code, no frame and no pickle ever crosses. Requests are
authenticated by the user at the other end of a Unix socket, which the kernel vouches for, or by a token.
"""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final, Protocol

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Scope_

from dpviz.boundary import protect_module
from dpviz.curator.bodies import PATIENCE, content_of
from dpviz.curator.keeper import Keeper, allowed
from dpviz.curator.owner import add_owner_page
from dpviz.curator.tickets import Ticket
from dpviz.curator.wire import LONGEST_MESSAGE, PROTOCOL, Standing, error_json, raise_json
from dpviz.errors import (
    BudgetExceeded,
    DpvizError,
    EngineGone,
    Forbidden,
    LedgerAway,
    LedgerError,
    ParameterError,
    ReleaseFailed,
    SessionBusy,
    printable,
)
from dpviz.session.callers import Caller, Scope
from dpviz.session.orders import order_from, plain

PEER: Final = "dpviz.peer"
"""The key of a request's scope that holds the user at the other end of a Unix socket."""

LEAST_WAIT: Final = 0.02
"""Seconds between two looks at an order that is being drawn, where there are no ticks."""

MOST_ENTRIES: Final = 1_000
"""The most entries in one reply."""

MOST_BYTES: Final = 4 << 20
"""Characters of the entries of one reply, of which there is one at least."""

STATUS: Final[tuple[tuple[type[DpvizError], int], ...]] = (
    (ParameterError, 422),
    (BudgetExceeded, 409),
    (SessionBusy, 429),
    (EngineGone, 503),
    (LedgerAway, 503),
    (LedgerError, 409),
    (Forbidden, 403),
)


class Authority(Protocol):
    """The rules by which a request's sender is known."""

    def caller_of_uid(self, uid: int) -> Caller | None:
        """The caller whom the kernel vouches for on a Unix socket."""
        ...

    def caller_of_token(self, token: str) -> Caller | None:
        """The caller with this token. May ask another service."""
        ...


class Unauthenticated(Forbidden):
    """A request whose sender is not known."""


class OrderMessage(BaseModel):
    """An order: a release, a question of an open sub-session, or the opening of one. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    kind: str = Field(pattern="^(release|ask|open)$")
    digest: str = Field(description="The digest that the answer is found under; both sides must agree on it.")
    user_key: str | None = None
    retry: bool = False
    question: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None
    mechanism: dict[str, Any] | None = None
    mode: str | None = None
    over: dict[str, Any] | None = None
    then: dict[str, Any] | None = None
    entry: int | None = None
    use: dict[str, str] | None = None
    opening: dict[str, Any] | None = None


ORDER_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": OrderMessage.model_json_schema()}},
    }
}


class Turns:
    """The checks of orders: one at a time for each caller, and on threads of their own.

    A check may take seconds, of a question with thousands of labels. A caller who sends many waits behind their own.
    """

    MOST: Final = 16
    """The most checks of one caller that wait."""

    def __init__(self) -> None:
        self.limiter = CapacityLimiter(8)
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, caller: str) -> AsyncIterator[None]:
        """Wait for the turn of a caller. Refuses one too many."""
        lock, waiting = self._turns.get(caller, (asyncio.Lock(), 0))
        if waiting >= self.MOST:
            raise SessionBusy.of(
                f"{waiting + 1} orders that are being checked",
                f"a curator checks one order of a caller at a time, and {self.MOST} may wait; nothing was charged",
                "wait for them",
            )
        self._turns[caller] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._turns[caller]
            if waiting == 1:
                del self._turns[caller]
            else:
                self._turns[caller] = lock, waiting - 1


async def message(request: Request) -> dict[str, Any]:
    """The JSON object that a request carries: whole within some seconds, and not too long."""
    return plain(await content_of(request, LONGEST_MESSAGE), LONGEST_MESSAGE)


def refusal(error: DpvizError) -> JSONResponse:
    """An error as a reply."""
    if isinstance(error, Unauthenticated):
        body = {**error_json(error), "error": "Forbidden"}
        return JSONResponse(body, 401, headers={"WWW-Authenticate": "Bearer"})
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 400)
    return JSONResponse(error_json(error), status)


def make_app(keeper: Keeper, authority: Authority) -> FastAPI:
    """The application of one keeper.

    Parameters
    ----------
    keeper : Keeper
        The keeper of the data set.
    authority : Authority
        The rules by which callers are known.

    Returns
    -------
    FastAPI
        The application, with its OpenAPI document at ``/openapi.json``.

    Raises
    ------
    TypeError
        If an argument is missing.
    """
    app = FastAPI(
        title="dpviz curator",
        summary="Differentially private answers from data that stay where they are.",
        version=str(PROTOCOL),
        docs_url=None,
        redoc_url=None,
    )
    app.state.keeper, app.state.authority = keeper, authority
    _refusals(app)
    _reading(app, keeper)
    _records(app, keeper)
    _ordering(app, keeper)
    if keeper.gate is not None:
        add_owner_page(app, keeper, keeper.gate, authority)
    return app


def _refusals(app: FastAPI) -> None:
    """Every error becomes one of our family, and a reply that shows nothing else."""

    @app.exception_handler(DpvizError)
    async def ours(_: Request, error: DpvizError) -> JSONResponse:
        return refusal(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        part = ".".join(printable(str(place)) for place in error.errors()[0].get("loc", ()))
        return refusal(ParameterError.of(part, "a request has the parts that its document names", "see /openapi.json"))

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> JSONResponse:
        reply = refusal(
            Forbidden.of(
                f"{printable(request.method)} and another address",
                "a curator answers at the addresses of its document, and nowhere else",
                "see /openapi.json, or connect with dv.connect",
            )
        )
        reply.status_code = error.status_code
        return reply

    app.add_middleware(Withheld)


class Withheld:
    """Withhold an error that no handler knows, for it may hold data, and let no cache keep a reply.

    Parameters
    ----------
    app : ASGI application
        The application inside.
    """

    HEADERS: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope_, receive: Receive, send: Send) -> None:
        """Answer one request."""
        begun = False

        async def headed(sent: Message) -> None:
            nonlocal begun
            if sent["type"] == "http.response.start":
                begun = True
                sent["headers"] = [*sent.get("headers", ()), *self.HEADERS]
            await send(sent)

        try:
            await self._app(scope, receive, headed)
        except Exception:
            if begun:
                return
            reply = refusal(
                ReleaseFailed.of(
                    "another error",
                    "an error that may hold data is never shown",
                    "look at the entries for what was charged, and make the same call again",
                )
            )
            reply.status_code = 500
            await reply(scope, receive, headed)


async def caller_of(request: Request) -> Caller:
    """The authenticated sender of a request: by a token where it carries one, else by the Unix socket."""
    authority: Authority = request.app.state.authority
    given = request.headers.get("authorization")
    found: Caller | None = None
    if given is not None:
        scheme, _, token = given.partition(" ")
        if scheme.lower() == "bearer" and token:
            found = await run_in_threadpool(authority.caller_of_token, token)
    elif (uid := request.scope.get(PEER)) is not None:
        found = authority.caller_of_uid(uid)
    if found is None:
        raise Unauthenticated.of(
            "a token that is not known" if given is not None else "no token",
            "a curator answers analysts whom its declaration names",
            "give the token that the owner of the data gave you, or ask to be named",
        )
    return found


def _needs(scope: Scope) -> Callable[[Caller], Caller]:
    def checked(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
        allowed(caller, scope)
        return caller

    return checked


Planner = Annotated[Caller, Depends(_needs("plan"))]
Asker = Annotated[Caller, Depends(_needs("release"))]
Number = Annotated[int, Path(ge=1, lt=2**63)]
Digest = Annotated[str, Path(pattern="^[0-9a-f]{32,128}$")]
Last = Annotated[int | None, Query(ge=0, lt=2**63)]
Before = Annotated[int | None, Query(ge=1, lt=2**63)]


def _reading(app: FastAPI, keeper: Keeper) -> None:
    """The charter and what is left: all that a plan needs."""

    @app.get("/charter")
    def charter(caller: Planner) -> dict[str, Any]:
        """The data set, its unit and columns, and who the caller is."""
        return keeper.facts(caller).to_json()

    @app.get("/account")
    def account(caller: Planner) -> dict[str, Any]:
        """The totals of the budget, and the head of the ledger's chain."""
        ledger = keeper.session_of(caller).ledger
        return {"account": ledger.account, "new": ledger.is_new, "head": ledger.head()}

    @app.get("/caps")
    def caps(caller: Planner) -> list[dict[str, Any]]:
        """The caps that bind the caller, and what is left of each."""
        return keeper.caps(caller)

    @app.get("/head")
    def head(caller: Planner) -> dict[str, str]:
        """The hash of the ledger's last row, which changes with every charge, draw and raise."""
        return {"head": keeper.session_of(caller).ledger.head()}

    @app.get("/ledger/charter")
    def ledger_charter(caller: Planner) -> dict[str, Any]:
        """The charter as the ledger has it."""
        return keeper.session_of(caller).ledger.charter

    @app.get("/raises")
    def raises(caller: Planner) -> list[dict[str, Any]]:
        """Every raise of the budget."""
        return [raise_json(found) for found in keeper.session_of(caller).ledger.raises()]

    @app.get("/verification")
    def verification(caller: Planner) -> dict[str, Any]:
        """The ledger, checked row by row."""
        found = keeper.session_of(caller).ledger.verify()
        return {name: getattr(found, name) for name in ("rows", "charges", "statuses", "blobs", "head", "uses")}


def _records(app: FastAPI, keeper: Keeper) -> None:
    """The ledger's entries, and the answers that were released."""

    @app.get("/entries")
    def entries(
        caller: Planner, last: Last = None, before: Before = None, finished: bool = False
    ) -> list[dict[str, Any]]:
        """Entries in order: the latest, or those before a number; of all, or of those with an answer."""
        ledger = keeper.session_of(caller).ledger
        last = MOST_ENTRIES if last is None else min(last, MOST_ENTRIES)
        found = ledger.finished(last=last, before=before) if finished else ledger.entries(last=last, before=before)
        return _latest([keeper.record(entry, caller) for entry in found])

    @app.get("/entries/numbers")
    def numbers(caller: Planner) -> list[int]:
        """The numbers of all entries with an answer."""
        return keeper.session_of(caller).ledger.finished_numbers

    @app.get("/entries/pending")
    def pending(caller: Planner) -> list[dict[str, Any]]:
        """The entries that are being drawn now."""
        return [keeper.record(entry, caller) for entry in keeper.session_of(caller).ledger.pending()]

    @app.get("/entries/open")
    def opened(caller: Planner) -> list[dict[str, Any]]:
        """The entries of sub-sessions."""
        return [keeper.record(entry, caller) for entry in keeper.session_of(caller).ledger.opened()]

    @app.get("/keys/{digest}")
    def find(caller: Planner, digest: Digest) -> dict[str, Any] | None:
        """The latest entry under a digest; null where there is none."""
        found = keeper.session_of(caller).ledger.find(digest)
        return None if found is None else keeper.record(found, caller)

    @app.get("/entries/{number}")
    def entry(caller: Planner, number: Number) -> dict[str, Any]:
        """One entry."""
        return keeper.record(keeper.session_of(caller).ledger.entry(number), caller)

    @app.get("/entries/{number}/answer", response_class=Response)
    def answer(caller: Planner, number: Number) -> Response:
        """The stored release of an entry, as the ledger keeps it."""
        return _stored(keeper.session_of(caller).ledger.answer(number))

    @app.get("/entries/{number}/account")
    def sub_account(caller: Planner, number: Number) -> dict[str, str]:
        """The amounts of an open sub-session."""
        return keeper.session_of(caller).ledger.sub_account(number)

    @app.get("/entries/{number}/uses")
    def uses(caller: Planner, number: Number) -> list[dict[str, Any]]:
        """The questions of a sub-session so far."""
        return [keeper.record(use, caller) for use in keeper.session_of(caller).ledger.uses(number)]

    @app.get("/entries/{number}/uses/{use}")
    def one_use(caller: Planner, number: Number, use: Number) -> dict[str, Any]:
        """One question of a sub-session."""
        return keeper.record(keeper.session_of(caller).ledger.use(number, use), caller)

    @app.get("/entries/{number}/keys/{digest}")
    def find_use(caller: Planner, number: Number, digest: Digest) -> dict[str, Any] | None:
        """The latest question under a digest; null where there is none."""
        found = keeper.session_of(caller).ledger.find_use(number, digest)
        return None if found is None else keeper.record(found, caller)

    @app.get("/entries/{number}/uses/{use}/answer", response_class=Response)
    def use_answer(caller: Planner, number: Number, use: Number) -> Response:
        """The stored answer of a question."""
        return _stored(keeper.session_of(caller).ledger.use_answer(number, use))

    @app.post("/entries/{number}/close")
    def close(caller: Asker, number: Number) -> dict[str, bool]:
        """Close a sub-session of the caller's own."""
        keeper.close_sub_session(number, caller)
        return {"closed": True}


def _ordering(app: FastAPI, keeper: Keeper) -> None:
    """Orders: placed, watched, cancelled."""
    turns = Turns()

    @app.post("/orders/{name}", openapi_extra=ORDER_BODY)
    async def place(request: Request, caller: Asker, name: str) -> dict[str, Any]:
        """Place an order under a name of the caller's making. Sent twice under one name, it is one order."""
        told = await message(request)
        async with turns.of(caller.name):
            ticket = await to_thread.run_sync(
                lambda: keeper.place(name, order_from(told), caller), limiter=turns.limiter
            )
        return await _told(keeper, ticket.standing)

    @app.get("/orders/{name}")
    async def standing(caller: Asker, name: str, seen: Annotated[int, Query(ge=0)] = 0) -> dict[str, Any]:
        """The standing of an order of the caller's own, at the next tick at which it is another than the one seen."""
        return await _news(keeper, keeper.line.get(name, caller.name), seen)

    @app.post("/orders/{name}/cancel")
    async def cancel(caller: Asker, name: str) -> dict[str, bool]:
        """Cancel an order of the caller's own."""
        keeper.line.get(name, caller.name).cancel()
        return {"cancelled": True}


async def _news(keeper: Keeper, ticket: Ticket, seen: int) -> dict[str, Any]:
    """The standing of a ticket at a tick, once it is another than the one seen; after a while, whatever it is.

    An outcome is told at once, and as often as it is asked for: it was written at a tick, so the time of its reply
    depends on its public size alone.
    """
    begun, changed, loop = time.monotonic(), asyncio.Event(), asyncio.get_running_loop()
    with ticket.heard(lambda: loop.call_soon_threadsafe(changed.set)):
        while not (ticket.ended or keeper.closing):
            at_tick = await _tick_or(changed, max(keeper.clock.until_next(), LEAST_WAIT))
            if at_tick and (ticket.standing.version != seen or time.monotonic() - begun > PATIENCE):
                break
    return await _told(keeper, ticket.standing)


async def _told(keeper: Keeper, found: Standing) -> dict[str, Any]:
    """The standing as a reply: with the answer, where there is one that is short."""
    answer = await run_in_threadpool(keeper.short_answer, found) if found.state == "done" else None
    return found.to_json() if answer is None else {**found.to_json(), "answer": b64encode(answer).decode()}


async def _tick_or(changed: asyncio.Event, seconds: float) -> bool:
    """Whether so many seconds went by before a change; then they ended at a tick."""
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return True
    changed.clear()
    return False


def _latest(told: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The latest of these entries that fit into one reply; a client asks for those before them."""
    size, found = 0, 0
    for entry in reversed(told):
        size += len(str(entry["body"]))
        if found and size > MOST_BYTES:
            break
        found += 1
    return list(told[len(told) - found :])


def _stored(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")


protect_module(vars())
