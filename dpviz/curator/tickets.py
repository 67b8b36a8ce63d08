"""Orders on their way through a curator: checked, approved where that is asked for, drawn one after the other.

Outcomes are made known on ticks, equally spaced moments that depend on the clock alone. A draw that has ended waits for
the next tick before its outcome is written, so neither the ledger nor a reply tells when it ended.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from dpviz import threads
from dpviz.boundary import protect_module
from dpviz.curator.wire import ENDED, UNKNOWN, Standing, error_json
from dpviz.errors import DpvizError, Forbidden, ReleaseFailed, SessionBusy
from dpviz.session.refusals import withdrawn
from dpviz.session.running import Running

KEPT: Final = 600.0
"""Seconds for which the standing of an ended order is kept. Its answer is in the ledger."""


class Clock:
    """The ticks: moments at whole multiples of a length of time since the machine was started."""

    def __init__(self, tick: float) -> None:
        self.tick = tick

    def until_next(self) -> float:
        """Seconds until the next tick."""
        if not self.tick:
            return 0.0
        return self.tick - time.monotonic() % self.tick

    def wait(self) -> None:
        """Wait for the next tick."""
        time.sleep(self.until_next())


Work: TypeAlias = "Callable[[Ticket], None]"
"""Pays, draws, and takes the outcome over into a ticket."""


@dataclass
class Ticket:
    """One order and its standing.

    name    the order's name, which its sender made up: sent twice, it is one order
    caller  who sent it
    digest  the digest that its answer is found under
    """

    name: str
    caller: str
    digest: str
    work: Work | None = None
    running: Running | None = None
    cancelled: bool = False
    ended_at: float | None = None
    _standing: Standing = field(default_factory=lambda: Standing(1, "queued"))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _listeners: list[Callable[[], object]] = field(default_factory=list)

    @property
    def standing(self) -> Standing:
        """Its standing now."""
        return self._standing

    @property
    def ended(self) -> bool:
        """Whether it has an answer, or never will have one."""
        return self._standing.state in ENDED

    def change(self, **changed: object) -> None:
        """Let it stand otherwise, unless it has ended. A version counts changes, and no looks at the work."""
        with self._lock:
            if self.ended:
                return
            made = replace(self._standing, **changed)  # type: ignore[arg-type]
            if made == self._standing:
                return
            self._standing = replace(made, version=made.version + 1)
            if self._standing.state in ENDED:
                self.ended_at, self.work, self.running = time.monotonic(), None, None
        self.tell()

    def tell(self) -> None:
        """Call those who listen."""
        for listener in list(self._listeners):
            listener()

    @contextmanager
    def heard(self, listener: Callable[[], object]) -> Iterator[None]:
        """Call this after every change, while the block runs."""
        with self._lock:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.remove(listener)

    def fail(self, error: DpvizError) -> None:
        """End it without an answer."""
        self.change(state="failed", error=error_json(error))

    def cancel(self) -> None:
        """Cancel it: before its charge nothing is charged; after it, its charge stays."""
        self.cancelled = True
        running = self.running
        if running is not None:
            running.cancel()
        elif self._standing.state in ("queued", "approval"):
            self.fail(withdrawn())

    def watched(self, running: Running) -> None:
        """Take over what is public of a draw on its way. Its progress is not: the pieces that are done at a tick would
        tell how long each took."""
        if running.done:
            return
        self.change(
            state="drawing",
            waiting=running.waiting,
            entry=running.number,
            use=running.use,
            spent=running.spent(),
            value=running.value,
        )

    def take(self, running: Running) -> None:
        """Take over the outcome of a draw."""
        try:
            running.outcome()
        except DpvizError as error:
            known = {} if running.number is None else {"entry": running.number, "use": running.use}
            self.change(state="failed", error=error_json(error), **known)
        else:
            told = {"spent": running.spent(), "value": running.value, "free": running.free}
            self.change(state="done", entry=running.number, use=running.use, waiting="", done=1, of=1, **told)


class Line:
    """The tickets of a curator, and the one thread that draws for them: callers in turn, each in the order of coming.

    Parameters
    ----------
    each : int
        The most orders that one caller may have on their way.
    all : int
        The most orders on their way.
    """

    def __init__(self, each: int, all: int) -> None:
        self._each, self._all = each, all
        self._tickets: dict[tuple[str, str], Ticket] = {}
        self._lock = threading.Lock()
        self._queued: dict[str, deque[Ticket]] = {}  # by caller; who was served last stands last
        self._more = threading.Condition()
        self._over = False
        self._thread = threads.start(self._serve, "dpviz-curator")

    def add(self, name: str, caller: str, digest: str) -> tuple[Ticket, bool]:
        """The ticket of an order, and whether it is new. Refuses one too many, and a name that stands for another."""
        with self._lock:
            self._forget()
            known = self._tickets.get((caller, name))
            if known is not None:
                if known.digest != digest:
                    raise Forbidden.of(
                        "another order",
                        "the name of an order stands for one order",
                        "send a new order under a new name",
                    )
                return known, False
            waiting = [ticket for ticket in self._tickets.values() if not ticket.ended]
            own = sum(ticket.caller == caller for ticket in waiting)
            if own >= self._each or len(waiting) >= self._all:
                raise SessionBusy.of(
                    f"{own + 1:,} orders of yours" if own >= self._each else f"{len(waiting) + 1:,} orders",
                    f"a curator has at most {self._each:,} orders of one analyst on their way, and {self._all:,} in "
                    "all; nothing was charged",
                    "wait for one of them, or cancel it",
                )
            made = self._tickets[(caller, name)] = Ticket(name, caller, digest)
            return made, True

    def get(self, name: str, caller: str) -> Ticket:
        """The ticket of a caller's own order."""
        found = self._tickets.get((caller, name))
        if found is None:
            raise Forbidden.of(
                UNKNOWN,
                "the curator knows no such order of yours: it may have started anew, or the order ended long ago",
                "make the same call again: an answer that was paid for is stored and free",
            )
        return found

    def waiting_for_approval(self) -> list[Ticket]:
        """The tickets that wait for a decision of the owner."""
        return [ticket for ticket in list(self._tickets.values()) if ticket.standing.state == "approval"]

    def tell_all(self) -> None:
        """Call all who listen to a ticket."""
        for ticket in list(self._tickets.values()):
            ticket.tell()

    def put(self, ticket: Ticket) -> None:
        """Draw for this ticket when its turn comes."""
        ticket.change(state="queued", waiting="waiting for its turn")
        with self._more:
            self._queued.setdefault(ticket.caller, deque()).append(ticket)
            self._more.notify()

    def close(self) -> None:
        """Draw for nobody any more: what is queued is withdrawn, what is being drawn is cancelled."""
        for ticket in list(self._tickets.values()):
            if not ticket.ended:
                ticket.cancel()
        with self._more:
            self._over = True
            self._more.notify()
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        while (ticket := self._next()) is not None:
            serve(ticket)

    def _next(self) -> Ticket | None:
        """The next ticket to serve, once there is one; None where the line is closed and empty."""
        with self._more:
            while not self._queued and not self._over:
                self._more.wait()
            for caller, tickets in self._queued.items():
                ticket = tickets.popleft()
                del self._queued[caller]
                if tickets:
                    self._queued[caller] = tickets
                return ticket
            return None

    def _forget(self) -> None:
        """Forget orders that ended long ago."""
        now = time.monotonic()
        old = [key for key, one in self._tickets.items() if one.ended_at is not None and now - one.ended_at > KEPT]
        for key in old:
            del self._tickets[key]


def serve(ticket: Ticket) -> None:
    """Do the work of a ticket, and wait for its outcome. It raises nothing."""
    work = ticket.work
    if ticket.ended or ticket.cancelled or work is None:
        ticket.fail(withdrawn())
        return
    try:
        work(ticket)
    except DpvizError as error:
        ticket.fail(error)
    except Exception:  # its text may hold anything
        ticket.fail(
            ReleaseFailed.of(
                "another error",
                "an error that may hold data is never shown",
                "look at the entries for what was charged, and make the same call again",
            )
        )


def draw(start: Callable[[Callable[[Running], None]], Running]) -> Work:
    """The work of paying and drawing with a prepared release or question."""

    def work(ticket: Ticket) -> None:
        ended = threading.Event()

        def watch(running: Running) -> None:
            ticket.watched(running)
            if running.done:
                ended.set()

        ticket.running = running = start(watch)
        if ticket.cancelled:
            running.cancel()
        ended.wait()
        ticket.take(running)

    return work


protect_module(vars())
