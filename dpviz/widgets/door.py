"""The one door between a page and what answers it: messages in, replies and news out, all in one order.

Nothing is answered on the thread that a message comes in on: a kernel hands over one message at a time, and a cell
would wait behind them. A plan is computed on a thread of its own, and of those that wait only the latest is; all else,
and everything that is said, goes through one writer. So a reply that names a token is always sent before any news of
it, and a state that was read first is never shown last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from dpviz.errors import DpvizError, Forbidden, SessionBusy
from dpviz.widgets import messages
from dpviz.widgets.writer import Work, Writer

Body = dict[str, Any]
Send = Callable[[Body], None]

MOST_WAITING = 100
"""How many requests may wait for the writer. A person at a page has one or two."""
REMEMBERED = 256
"""How many refused orders are remembered, so that a message that comes twice is refused twice."""


class Superseded(DpvizError):
    """A later request of the same kind came before this one was begun."""


class Request:
    """One message that passed every check of form, and the way back to the page that sent it."""

    def __init__(self, message: messages.Message, send: Send) -> None:
        self.id = message.id
        self.ask = message.ask
        self.args = message.args
        self.answered = False
        self._send = send

    def reply(self, body: Body) -> None:
        self._answer(messages.reply(self.id, body))

    def refuse(self, error: DpvizError) -> None:
        self._answer(messages.refusal(self.id, error))

    def _answer(self, answer: Body) -> None:
        if not self.answered:
            self.answered = True
            self._send(answer)


class Door:
    """Answers the asks of one kind of page.

    quick    what answers each ask on the writer, from the request: the body, or None where it replies later
    slow     what computes a plan, on a thread of its own; what it returns is called on the writer for the body
    at_once  what answers on the thread that the message comes in on: a cancel waits for nothing
    look     where a person sees what was charged or used, should a fault of ours keep the answer back
    """

    def __init__(
        self,
        asks: messages.Asks,
        look: str,
        *,
        quick: Mapping[str, Callable[[Request], Body | None]],
        slow: Mapping[str, Callable[[Body], Callable[[], Body]]] | None = None,
        at_once: Mapping[str, Callable[[Body], Body]] | None = None,
    ) -> None:
        self._asks = asks
        self._look = look
        self._quick = quick
        self._slow = slow or {}
        self._at_once = at_once or {}
        self._writer = Writer()
        self._planner = Writer()
        self._lock = threading.Lock()
        self._latest: dict[str, Request] = {}
        self._waiting = 0

    def soon(self, work: Work) -> None:
        """Do this on the writer, after all that waits there."""
        self._writer.put(work)

    def later(self, seconds: float, work: Work) -> None:
        """Do this on the writer in so many seconds."""
        self._writer.later(seconds, work)

    def receive(self, content: object, send: Send) -> None:
        """Take one message from a page; the reply goes to `send`, from another thread. Never raises.

        A message without an id is dropped.
        """
        try:
            request = Request(messages.parse(content, self._asks), send)
        except Forbidden as refused:
            name, error = messages.id_of(content), refused
            if name is not None:
                self.soon(lambda: send(messages.refusal(name, error)))
            return
        if request.ask in self._at_once:
            self._take_at_once(request)
        elif request.ask in self._slow:
            self._take_latest(request)
        else:
            self._take(request)

    def answer(self, content: object) -> Body | None:
        """The reply to one message, once it is there. None for a message without an id."""
        if messages.id_of(content) is None:
            return None
        replies: list[Body] = []
        there = threading.Event()

        def keep(reply: Body) -> None:
            replies.append(reply)
            there.set()

        self.receive(content, keep)
        there.wait()
        return replies[0]

    def _guarded(self, request: Request, work: Work) -> Work:
        """The same work, where whatever it raises becomes the refusal of this request."""

        def guarded() -> None:
            try:
                work()
            except DpvizError as refused:
                request.refuse(refused)
            except Exception:  # a fault of ours must not leave the page waiting, and its text might say too much
                request.refuse(DpvizError(f"the kernel could not answer; {self._look}"))

        return guarded

    def _take_at_once(self, request: Request) -> None:
        def work() -> None:
            body = self._at_once[request.ask](request.args)
            self.soon(lambda: request.reply(body))

        try:
            work()
        except DpvizError as refused:
            error = refused
            self.soon(lambda: request.refuse(error))

    def _take(self, request: Request) -> None:
        with self._lock:
            full = self._waiting >= MOST_WAITING
            self._waiting += not full
        if full:
            busy = SessionBusy(
                f"{MOST_WAITING} requests of this page are waiting; nothing was charged",
                next_step="wait until they are answered",
            )
            self.soon(lambda: request.refuse(busy))
            return

        def work() -> None:
            with self._lock:
                self._waiting -= 1
            body = self._quick[request.ask](request)
            if body is not None:
                request.reply(body)

        self.soon(self._guarded(request, work))

    def _take_latest(self, request: Request) -> None:
        """Of the requests of one kind that wait, the latest is answered; those before it hear that it came."""
        with self._lock:
            before = self._latest.get(request.ask)
            self._latest[request.ask] = request
        if before is None:
            self._planner.put(lambda: self._plan(request.ask))
        else:
            later = Superseded("a later request came first; nothing was charged")
            self.soon(lambda: before.refuse(later))

    def _plan(self, ask: str) -> None:
        with self._lock:
            request = self._latest.pop(ask)

        def work() -> None:
            apply = self._slow[ask](request.args)
            self.soon(self._guarded(request, lambda: request.reply(apply())))

        try:
            work()
        except DpvizError as refused:
            error = refused
            self.soon(lambda: request.refuse(error))
        except Exception:
            fault = DpvizError(f"the kernel could not answer; {self._look}")
            self.soon(lambda: request.refuse(fault))
