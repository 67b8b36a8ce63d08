"""The owner's page of a curator: signing in, seeing what waits, deciding it.

A browser signs in with a token once; a cookie that scripts cannot read and other sites cannot send names the visit,
which ends with the process, after some hours, or when its token is no longer known. A form carries a secret of its
visit, and a request that says it comes from another site is refused. Answers are not part of any page.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import parse_qs, urlsplit

from fastapi import FastAPI, Path, Request, Response
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from dpviz.boundary import Hidden, protect_module
from dpviz.curator import pages
from dpviz.curator.bodies import content_of
from dpviz.curator.keeper import Keeper, allowed
from dpviz.errors import DpvizError, Forbidden, ParameterError
from dpviz.session.callers import Caller

if TYPE_CHECKING:
    from dpviz.curator.approvals import ApprovalGate
    from dpviz.curator.service import Authority

COOKIE: Final = "dpviz_owner"
LASTS: Final = 4 * 3600.0
"""Seconds after which a visit ends."""

MOST_VISITS: Final = 100
LONGEST_FORM: Final = 16_384
"""Bytes of a form."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A browser that signed in.

    token     asked after again at every page, so that one that was revoked opens none
    form_key  the secret of its forms
    until     when it ends
    """

    token: Hidden[str]
    form_key: str
    until: float


class Visits:
    """The visits of owners, in memory alone."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._visits: dict[str, Visit] = {}
        self._lock = threading.Lock()

    def begin(self, token: str) -> str:
        """Begin a visit: the name of it, for a cookie. Raises Forbidden where the token may not approve."""
        self._caller(token)
        name, now = secrets.token_urlsafe(32), time.monotonic()
        with self._lock:
            kept = [(key, one) for key, one in self._visits.items() if one.until > now]
            self._visits = dict(kept[-(MOST_VISITS - 1) :])
            self._visits[name] = Visit(Hidden(token), secrets.token_urlsafe(32), now + LASTS)
        return name

    def find(self, name: str | None) -> tuple[Visit, Caller] | None:
        """The visit of a cookie, and who it is now."""
        visit = self._visits.get(name or "")
        if visit is None or visit.until < time.monotonic():
            return None
        with suppress(Forbidden):
            return visit, self._caller(visit.token.take())
        return None

    def end(self, name: str | None) -> None:
        """End a visit."""
        with self._lock:
            self._visits.pop(name or "", None)

    def _caller(self, token: str) -> Caller:
        found = self._authority.caller_of_token(token)
        if found is None:
            raise Forbidden.of(
                "a token that is not known", "the declaration of the data set names who decides", "give another token"
            )
        allowed(found, "approve")
        return found


def add_owner_page(app: FastAPI, keeper: Keeper, gate: ApprovalGate, authority: Authority) -> None:
    """Add the page to a service.

    Parameters
    ----------
    app : FastAPI
        The application.
    keeper : Keeper
        The keeper of the data set.
    gate : ApprovalGate
        The gate whose requests are decided.
    authority : Authority
        The rules by which callers are known.

    Raises
    ------
    TypeError
        If an argument is missing.
    """
    visits = Visits(authority)

    def shown(request: Request, home: str = "", *, said: str = "", refused: str = "", status: int = 200) -> Response:
        found = visits.find(request.cookies.get(COOKIE))
        dataset = keeper.session.dataset
        if found is None:
            return _html(pages.sign_in(dataset, home=home, refused=refused), status)
        visit, caller = found
        left = f"Budget {repr(keeper.session.remaining).strip('<>')}"
        ledger = keeper.session.ledger
        decided = [one for one in ledger.requests(last=2 * pages.LATEST) if one.decision is not None]
        listed = [*decided, *ledger.requests(waiting=True)]
        text = pages.requests_page(
            dataset, left, caller.name, listed, form_key=visit.form_key, home=home, said=said, refused=refused
        )
        return _html(text, status)

    @app.get("/owner", include_in_schema=False)
    def owner(request: Request, decided: int | None = None) -> Response:
        """The requests that wait, or the page to sign in."""
        return shown(request, said=_done(gate, decided))

    @app.post("/owner/sign-in", include_in_schema=False)
    async def sign_in(request: Request) -> Response:
        """Begin a visit."""
        try:
            form = await _form(request)
            name = await run_in_threadpool(visits.begin, form.get("token", ""))
        except DpvizError as error:
            return _html(pages.sign_in(keeper.session.dataset, home="../", refused=str(error)), 403)
        reply = _to_owner("../owner")
        secure = request.url.scheme == "https"
        reply.set_cookie(
            COOKIE, name, httponly=True, samesite="strict", secure=secure, path=None
        )  # sent to this page alone
        return reply

    @app.post("/owner/sign-out", include_in_schema=False)
    async def sign_out(request: Request) -> Response:
        """End the visit."""
        name = request.cookies.get(COOKIE)
        _checked(await _form(request), await run_in_threadpool(visits.find, name))
        visits.end(name)
        return _to_owner("../owner")

    @app.post("/owner/requests/{number}", include_in_schema=False)
    async def decide(request: Request, number: Annotated[int, Path(ge=1, lt=2**31)]) -> Response:
        """Decide a request."""
        try:
            form = await _form(request)
            caller = _checked(form, await run_in_threadpool(visits.find, request.cookies.get(COOKIE)))
            await run_in_threadpool(_decide, gate, number, caller, form)
        except DpvizError as error:
            message, status = str(error), 403 if isinstance(error, Forbidden) else 409
        else:
            return _to_owner(f"../../owner?decided={number}")
        return await run_in_threadpool(lambda: shown(request, "../../", refused=message, status=status))


def _decide(gate: ApprovalGate, number: int, caller: Caller, form: Mapping[str, str]) -> None:
    verdict, reason = form.get("verdict", ""), form.get("reason", "").strip() or None
    if form.get("epsilon", "").strip() and verdict != "lower":
        rule = "an epsilon is given with the choice to approve at it, and with no other"
        raise ParameterError.of(verdict or "no choice", rule, "choose it, or leave the epsilon empty")
    match verdict:
        case "approve":
            gate.decide(number, caller, "approve", reason)
        case "refuse":
            gate.decide(number, caller, "refuse", reason)
        case "lower":
            gate.decide(
                number, caller, "approve", reason, gate.approvals.at_epsilon(number, form.get("epsilon", "").strip())
            )
        case _:
            raise ParameterError.of("no choice", "a decision approves or refuses", "choose one")


def _checked(form: Mapping[str, str], found: tuple[Visit, Caller] | None) -> Caller:
    """Who sent a form of this visit."""
    if found is None:
        raise Forbidden.of("no visit", "a decision is made by somebody who signed in", "sign in")
    visit, caller = found
    if not secrets.compare_digest(form.get("form", "").encode(), visit.form_key.encode()):
        raise Forbidden.of("a form of another page", "a decision comes from the page of this visit", "load it again")
    return caller


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, once each. Refuses one of another site."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    if (origin is not None and urlsplit(origin).netloc != request.headers.get("host")) or site != "same-origin":
        raise Forbidden.of("another site", "a form comes from the curator's own page", "open that page")
    content = await content_of(request, LONGEST_FORM)
    if len(content) > LONGEST_FORM:
        raise Forbidden.of(f"{len(content):,} bytes", f"a form has at most {LONGEST_FORM:,} bytes", "write less")
    fields: dict[str, list[str]] = {}
    with suppress(ValueError):
        fields = parse_qs(content.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=10)
    if not fields or any(len(values) > 1 for values in fields.values()):
        raise Forbidden.of("another text", "a form has each of its fields once", "load the page again")
    return {name: values[0] for name, values in fields.items()}


def _done(gate: ApprovalGate, number: int | None) -> str:
    """The decision that was made just now, in words."""
    found = None
    with suppress(ParameterError):
        found = None if number is None else gate.approvals.request(number)
    if found is None or found.decision is None:
        return ""
    return f"Request {found.number} was {pages.VERDICTS[found.decision.verdict]}."


def _to_owner(place: str) -> Response:
    """Go on to the page. The place is relative, for a proxy may have put the page under another path."""
    return Response(status_code=303, headers={"Location": place})


def _html(text: str, status: int) -> Response:
    return HTMLResponse(
        text, status, headers={"Content-Security-Policy": pages.POLICY, "Referrer-Policy": "same-origin"}
    )


protect_module(vars())
