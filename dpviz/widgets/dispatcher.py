"""The one dispatcher between a page and what answers it: messages in, replies and news out, all in one order.

Nothing is answered on the thread that a message comes in on: a kernel hands over one message at a time, and a cell
would wait behind them. A plan is computed on a thread of its own. Of those that wait only the latest is, and it cuts
short the one that is being computed. All else, and everything that is said, goes through one writer. So a reply that
names a token is always sent before any news of it, and a state that was read first is never shown last.
"""

from __future__ import annotations

import atexit
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any

from dpviz.errors import DpvizError, Forbidden, SessionBusy
from dpviz.wanted import Superseded, until
from dpviz.widgets import messages
from dpviz.widgets.writer import Arrivals, Work, Writer

_ending = threading.Event()
"""The program ends, and nothing is worked out any more that nobody asked for."""
_resting = threading.Condition()
_busy: list[Work] = []


@atexit.register
def _end() -> None:
    """Python must not take itself down around a thread that is at work in a library: it would abort."""
    _ending.set()
    with _resting:
        _resting.wait_for(lambda: not _busy, timeout=10)


Body = dict[str, Any]
Send = Callable[[Body], None]

MOST_WAITING = 100
"""How many requests may wait for the writer. A person at a page has one or two."""
QUIET, HURRY = 0.03, 1.0
"""A plan is begun when no other was asked for so many seconds, or when the first that waits has waited so many.

A flood of messages and a plan at once would take turns at the interpreter, five milliseconds each, and a cell with
them.
"""
STARVED = 5.0
"""A plan that a later one overtakes is cut short, but for one in so many seconds: a slider that never rests is shown
something."""
ORDER = "release"
"""The ask that may pay. A message with it is acted on once, however often it comes."""
REMEMBERED = 256
"""How many refused orders are remembered: what was refused is not charged when its message comes again later."""


class Request:
    """One message that passed every check of form, and the way back to the page that sent it."""

    def __init__(self, message: messages.Message, send: Send) -> None:
        self.id = message.id
        self.ask = message.ask
        self.args = message.args
        self.error: DpvizError | None = None
        self.answered = False
        self._sends = [send]

    def reply(self, body: Body) -> None:
        self._answer(messages.reply(self.id, body))

    def refuse(self, error: DpvizError) -> None:
        self.error = error
        self._answer(messages.refusal(self.id, error))

    @property
    def digest(self) -> bytes:
        """The same for messages that are the same, to the letter."""
        return sha256(json.dumps([self.id, self.ask, self.args], sort_keys=True).encode()).digest()

    def send_also(self, send: Send) -> None:
        """Answer this way, too: the same message came again."""
        self._sends.append(send)

    def _answer(self, answer: Body) -> None:
        if not self.answered:
            self.answered = True
            for send in self._sends:
                send(answer)


class Dispatcher:
    """Answers the asks of one kind of page.

    quick    what answers each ask on the writer, from the request: the body, or None where it replies later
    slow     what computes a plan, on a thread of its own; what it returns is called on the writer for the body
    at_once  what answers on the thread that the message comes in on: a cancel waits for nothing
    after    by a slow ask, the one that cuts it short: it is asked for again once that was answered
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
        after: Mapping[str, str] | None = None,
    ) -> None:
        self._asks = asks
        self._look = look
        self._quick = quick
        self._slow = slow or {}
        self._at_once = at_once or {}
        self._after = after or {}
        self._arrivals = Arrivals()
        self._writer = Writer(self._arrivals)
        self._planner = Writer(self._arrivals)
        self._lock = threading.Lock()
        self._latest: dict[str, Request] = {}
        self._asked: dict[str, tuple[float, float]] = {}
        self._orders: OrderedDict[bytes, Request] = OrderedDict()
        self._cut: dict[str, float] = {}
        self._waiting = 0

    def soon(self, work: Work) -> None:
        """Do this on the writer, after all that waits there."""
        self._writer.put(work)

    def later(self, seconds: float, work: Work) -> None:
        """Do this on the writer in so many seconds."""
        self._writer.later(seconds, work)

    def meanwhile(self, work: Work) -> None:
        """Do this where plans are computed, until a plan is asked for: what it takes from `wanted.each` ends then."""

        def idle() -> None:
            with until(lambda: bool(self._latest) or _ending.is_set(), "what nobody asked for"), suppress(Superseded):
                work()

        def counted() -> None:
            with _resting:
                _busy.append(idle)
            try:
                idle()
            finally:
                with _resting:
                    _busy.remove(idle)
                    _resting.notify_all()

        self._planner.put(counted)

    def receive(self, content: object, send: Send) -> None:
        """Take one message from a page; the reply goes to `send`, from another thread. Never raises.

        A message without an id is dropped.
        """
        self._arrivals.add()
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
        elif request.ask != ORDER or self._first(request, send):
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

    def _first(self, request: Request, send: Send) -> bool:
        """Whether an order is to be acted on. One that waits is answered once; one that was refused stays refused.

        One that was accepted comes through: the same key is the same answer, free.
        """
        name = request.digest
        with self._lock:
            before = self._orders.get(name)
            if before is None or (before.answered and before.error is None):
                self._orders[name] = request
                self._orders.move_to_end(name)
                while len(self._orders) > REMEMBERED:
                    self._orders.popitem(last=False)
                return True

        def again() -> None:
            if before.error is not None:
                send(messages.refusal(request.id, before.error))
            elif before.answered:  # and accepted, since this was put here
                self._take(request)
            else:
                before.send_also(send)

        self.soon(again)
        return False

    def _or_refusal(self, request: Request, work: Work) -> Work:
        """The same work, where whatever it raises becomes the refusal of this request."""

        def guarded() -> None:
            if (error := self._error_of(work)) is not None:
                request.refuse(error)

        return guarded

    def _or_refuse_soon(self, request: Request, work: Work) -> DpvizError | None:
        """Do it now; its error is returned, and the writer refuses this request with it."""
        error = self._error_of(work)
        if error is not None:
            self.soon(lambda: request.refuse(error))
        return error

    def _error_of(self, work: Work) -> DpvizError | None:
        """Do it; the refusal of it, or None."""
        try:
            work()
        except DpvizError as refused:
            return refused
        except Exception:  # a fault of ours must not leave the page waiting, and its text might say too much
            return self._fault()
        return None

    def _fault(self) -> DpvizError:
        """The message that a page gets about a fault of ours."""
        rule = "every request of a page is answered or refused"
        said = f"the kernel could not answer; {self._look}"
        return DpvizError(said, value="this request", rule=rule, next_step=self._look)

    def _take_at_once(self, request: Request) -> None:
        def work() -> None:
            body = self._at_once[request.ask](request.args)
            self.soon(lambda: request.reply(body))

        self._or_refuse_soon(request, work)

    def _take(self, request: Request) -> None:
        with self._lock:
            full = self._waiting >= MOST_WAITING
            self._waiting += not full
        if full:
            busy = SessionBusy(
                f"{MOST_WAITING} requests of this page are waiting; nothing was charged",
                value="another request",
                rule=f"at most {MOST_WAITING} requests of a page wait",
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

        self.soon(self._or_refusal(request, work))

    def _take_latest(self, request: Request) -> None:
        """Of the requests of one kind that wait, the latest is answered; those before it hear that it came."""
        ask, now = request.ask, time.monotonic()
        with self._lock:
            before = self._latest.get(ask)
            self._latest[ask] = request
            self._asked[ask] = (now if before is None else self._asked[ask][0], now)
        if before is None:
            self._planner.later(QUIET, lambda: self._plan(ask))
        else:
            self.soon(lambda: before.refuse(Superseded.request(ask)))

    def _plan(self, ask: str) -> None:
        with self._lock:
            first, last = self._asked[ask]
            now = time.monotonic()
            wait = 0.0 if now - first >= HURRY else last + QUIET - now
            request = None if wait > 0 else self._latest.pop(ask)
        if request is None:
            self._planner.later(wait, lambda: self._plan(ask))
            return

        def work() -> None:
            with until(lambda: self._overtaken(ask), ask):
                apply = self._slow[ask](request.args)
            self.soon(self._or_refusal(request, lambda: request.reply(apply())))

        if not isinstance(self._or_refuse_soon(request, work), Superseded):
            self._cut.pop(ask, None)

    def _overtaken(self, ask: str) -> bool:
        """Whether a request waits that goes first, or a later one of this kind, so that nobody wants this one."""
        if self._after.get(ask) in self._latest:
            return True
        if ask not in self._latest:
            return False
        now = time.monotonic()
        return now - self._cut.setdefault(ask, now) < STARVED
