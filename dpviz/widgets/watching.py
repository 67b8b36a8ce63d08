"""Following a ledger while somebody looks: what other kernels charge, finish and raise is shown without being asked
for.

A page that asked again and again would make the kernel busy each time, and a busy kernel would not answer. So the
kernel looks by itself: one indexed query a good once a second, for as long as a page has shown interest lately. Its
findings go to the page as traits, which make no kernel busy: a pulse after each look, and everything else only when the
ledger has moved. One thread looks; another tells, since a look at a server that is away takes seconds. Where there are
no threads, a look is taken whenever a page is heard of.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Protocol, cast

from dpviz import threads
from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, LedgerAway, LedgerError, ParameterError
from dpviz.session.custody import Log
from dpviz.session.running import Running
from dpviz.widgets.dispatcher import Dispatcher, Request
from dpviz.widgets.model import Body, WidgetModel
from dpviz.widgets.order import SETTLES, WAITS, Order
from dpviz.widgets.state import OUTCOMES, Numbered, named, now, orders, running_json

EVERY = 0.75
"""Seconds between two looks."""

LEASE = 600.0
"""For how many seconds a ledger is looked at after a page was last heard of. A page in sight speaks every minute."""

PROGRESS_EVERY = 0.1
"""Seconds between two signs of progress, at least."""

SLOW = 1.5
"""After how many seconds a look that has not ended is told of."""

WAITING = "The ledger does not answer yet."
AWAY = "The ledger's server does not answer."


@dataclass(frozen=True, slots=True)
class Pulse:
    """When the ledger was last seen to say what is on show, and why it has not been since; empty where all is well."""

    asof: str
    fault: str = ""

    def to_json(self) -> str:
        """As a trait: no two are alike, so that each is a sign of life."""
        parts = {"version": 1, "asof": self.asof, "fault": self.fault, "at": now()}
        return json.dumps(parts, separators=(",", ":"))


class LedgerView(Protocol):
    """A model that shows a ledger, and wants to show it as it is now. Called on the thread that looks."""

    def catch_up(self) -> None:
        """Read the ledger and show it: a row was written."""
        ...

    def has_news(self) -> bool:
        """Whether there is something new to show though no row was written: a draw was lost, or has begun."""
        ...

    def show_pulse(self, pulse: Pulse) -> None:
        """Show when the ledger was last looked at."""
        ...


class LedgerWatcher:
    """Looks at one ledger for everything in this process that shows it. Get it from `watcher`."""

    def __init__(self, log: Log) -> None:
        self._log = weakref.ref(log)
        self._until: weakref.WeakKeyDictionary[LedgerView, float] = weakref.WeakKeyDictionary()
        self._turn = threading.Condition()
        self._threads: tuple[threading.Thread, ...] = ()
        self._watch = 0  # which pair of threads is at work
        self._begun: float | None = None  # when the look under way began
        self._looks = 0
        self._head = ""
        self._trouble: DpvizError | None = None
        self._asof = now()
        self._shown: str | None = None  # the head that was told of, where there are no threads

    def renew(self, ledger_view: LedgerView) -> None:
        """Somebody looks at what `ledger_view` shows: follow the ledger for it from now on."""
        with self._turn:
            self._until[ledger_view] = time.monotonic() + LEASE
            if any(thread.is_alive() for thread in self._threads):  # none is in a fork
                return
            self._begun = None
            self._watch += 1
            duty = (weakref.ref(self), self._watch)
            begun = [threads.start(partial(work, *duty), "dpviz-watcher") for work in (_look, _tell)]
            self._threads = tuple(thread for thread in begun if thread is not None)
            if len(self._threads) == len(begun):
                return
            self._threads, self._watch = (), self._watch + 1  # where only one could begin, it ends
        with contextlib.suppress(DpvizError):  # the pulse says why
            self.look()
        self._shown = self.tell(self._shown)

    def look(self) -> None:
        """See that the ledger can be read, by the look under way where there is one. Raises what it raises.

        A server that is away takes seconds to be known as away; nobody waits for that twice.
        """
        with self._turn:
            if self._begun is None:
                self._begun, looks = time.monotonic(), None
            else:
                looks = self._looks
                self._turn.wait_for(lambda: self._looks != looks)
        if looks is None:
            self._glance()
        with self._turn:
            trouble = self._trouble
        if trouble is not None:
            raise trouble.with_traceback(None)

    def _glance(self) -> None:
        head, trouble = "", cast(DpvizError | None, None)
        try:
            log = self._log()
            head = "" if log is None else log.head()
        except DpvizError as error:
            trouble = error
        except Exception:  # a fault of ours must not end the looking, and its text might say too much
            trouble = LedgerError(
                "the ledger could not be looked at; run the session cell again",
                value="the ledger",
                rule="a view follows a ledger that can be read",
                next_step="run the session cell again",
            )
        finally:
            with self._turn:
                self._begun, self._trouble = None, trouble
                self._looks += 1
                if trouble is None:
                    self._head, self._asof = head, now()
                self._turn.notify_all()

    @property
    def pulse(self) -> Pulse:
        with self._turn:
            if self._trouble is not None:
                return Pulse(self._asof, words(self._trouble))
            slow = self._begun is not None and time.monotonic() - self._begun > SLOW
            return Pulse(self._asof, WAITING if slow else "")

    def ledger_views(self) -> list[LedgerView]:
        """Those that somebody looks at."""
        moment = time.monotonic()
        with self._turn:
            return [ledger_view for ledger_view, until in self._until.items() if until > moment]

    def wanted(self, watch: int) -> bool:
        """Whether these threads have anything to do. Where they have not, they end, and others may follow them."""
        with self._turn:
            moment = time.monotonic()
            if watch != self._watch:
                return False
            if self._log() is not None and any(until > moment for until in self._until.values()):
                return True
            self._threads, self._watch = (), self._watch + 1
            return False

    def await_look(self, looks: int) -> int:
        """Wait for the look after so many, and no longer than two take as a rule. Returns how many there were."""
        with self._turn:
            self._turn.wait_for(lambda: self._looks != looks, 2 * EVERY)
            return self._looks

    def tell(self, shown: str | None) -> str | None:
        """Tell everybody what follows from the last look. Takes and returns the head that is on show."""
        pulse, head = self.pulse, self._head
        settled = self._looks > 0 and not pulse.fault
        for ledger_view in self.ledger_views():
            try:
                if settled and (head != shown or ledger_view.has_news()):
                    ledger_view.catch_up()
                ledger_view.show_pulse(pulse)
            except Exception:  # the ledger went away between look and reading: try again after the next look
                head = shown or ""
        return head if settled else shown


def _look(reference: weakref.ref[LedgerWatcher], watch: int) -> None:
    """Look again and again, for as long as somebody wants to know. Keeps nothing alive between two looks."""
    while True:
        looking = reference()
        if looking is None or not looking.wanted(watch):
            return
        with contextlib.suppress(DpvizError):
            looking.look()
        del looking
        time.sleep(EVERY)


def _tell(reference: weakref.ref[LedgerWatcher], watch: int) -> None:
    """Tell after each look, and now and then while one takes long."""
    shown, looks = None, 0
    while True:
        looking = reference()
        if looking is None or not looking.wanted(watch):
            return
        looks = looking.await_look(looks)
        shown = looking.tell(shown)
        del looking


_watchers: weakref.WeakKeyDictionary[Log, LedgerWatcher] = weakref.WeakKeyDictionary()
_making = threading.Lock()


def watcher(log: Log) -> LedgerWatcher:
    """The one that looks at this log."""
    with _making:
        return _watchers.setdefault(log, LedgerWatcher(log))


class Follower(WidgetModel):
    """The base of models that follow a log for a page, those of sessions and sub-sessions: catching up on the writer,
    and heeding other draws.

    A log that is None has no news.
    """

    def __init__(self, log: Log | None, dispatcher: Dispatcher) -> None:
        super().__init__(dispatcher)
        self._watcher = None if log is None else watcher(log)
        self._order: Order | None = None
        self._outcomes: deque[Body] = deque(maxlen=OUTCOMES)
        self._states = Numbered()
        self._pulse = Pulse(now())
        self._heeded: Running | None = None
        self._told, self._stage = 0.0, cast(object, None)
        self._behind = self._catching = False

    def watched(self) -> None:
        """Somebody looks at what is shown here: follow what other kernels do."""
        if self._watcher is not None:
            self._watcher.renew(self)

    def catch_up(self) -> None:
        """The log has moved, by whoever's hand: have it shown."""
        self._behind = True
        if not self._catching:
            self._catching = True
            self._dispatcher.soon(self._catch_up)

    def _catch_up(self) -> None:
        self._catching = False
        if self._order is not None and self._order.unnamed:
            return  # its reply comes within moments, and says what is new; the next look shows the rest
        self._refresh()
        self._behind = False
        running = self._elsewhere()
        if running is not None and running is not self._heeded:
            self._heeded = running
            running.watch(self._follow_elsewhere)

    def _look(self) -> None:
        """See that the log can be read. Raises where it cannot."""
        if self._watcher is not None:
            self._watcher.look()

    def _began_elsewhere(self, shown: Mapping[str, Any]) -> bool:
        """Whether a draw that was not ordered here is at another point than the one on show."""
        other = self._elsewhere()
        return other is not None and named(running_json(other)) != named(shown["running"])

    def _due(self, running: Running, every: float = inf) -> bool:
        """Whether to tell of a draw that was not ordered here: at each new step, and every so many seconds."""
        moment, stage = time.monotonic(), (running.token, running.number, running.waiting)
        due = stage != self._stage or moment - self._told >= every
        if due:
            self._told, self._stage = moment, stage
        return due

    def _refresh(self) -> None:
        """Read the log and show it. Where that raises, it is done once more when the log can be read again."""
        raise NotImplementedError

    def _elsewhere(self) -> Running | None:
        """The draw that was not ordered here."""
        raise NotImplementedError

    def _follow_elsewhere(self, running: Running) -> None:
        """Told of each step of that, on the worker's thread."""
        raise NotImplementedError

    def has_news(self) -> bool:
        raise NotImplementedError

    def show_pulse(self, pulse: Pulse) -> None:
        """The ledger was looked at. A sign of life waits for nothing that the writer may wait for."""
        self._pulse = pulse
        self.show({"pulse": pulse.to_json()})

    # ------------------------------------------------------------ orders of the page

    def _start(self, request: Request, running: Running) -> None:
        """A request of the page started this: its reply names it, or says how it ended."""
        order = self._order = Order(request, running)
        running.watch(lambda _: self._on_step(order))
        self._dispatcher.later(SETTLES, partial(self._name, order))

    def _on_step(self, order: Order) -> None:
        """On the worker's thread: how an order goes is shown by the writer, ten times a second at most."""
        if order.running.done or order.due(PROGRESS_EVERY):
            self._dispatcher.soon(partial(self._follow, order))

    def _name(self, order: Order, patience: int = WAITS) -> None:
        """An order that is not over within moments goes on by itself: its token names it from now on."""
        if order.named or order.running.done:
            return  # or what it ended with is on its way to here
        if order.running.number is None and patience:
            self._dispatcher.later(SETTLES, partial(self._name, order, patience - 1))
            return  # a disk may be slow, too
        waits = order.running.number is None  # for the ledger, perhaps: then it is not read before the reply
        known = self._states.last(orders(order, self._outcomes, None)) if waits else self._last_state()
        try:
            self._show(known)
        finally:
            order.name(**self._told_with_name(known))
        if waits:
            self._show_wait(order)

    def _cancel(self, token: str, rule: str) -> Body:
        """Cancel the order, or what was started elsewhere, by its token. Raises ParameterError by `rule`."""
        order = self._order
        running = self._elsewhere() if order is None or order.running.done else order.running
        if running is None or running.done or running.token != token:
            raise ParameterError.of(token, rule, "look at the state: it may have ended")
        running.cancel()
        return {}

    def _told_with_name(self, known: Body) -> Body:
        """The further parts of the reply that names an order, once this state is shown."""
        return {}

    def _show_wait(self, order: Order) -> None:
        """Show what an order waits for that has just been named."""
        self._show()

    def _follow(self, order: Order) -> None:
        """Show how far an order is, or how it ended."""
        raise NotImplementedError

    # ------------------------------------------------------------ what is shown

    def state(self) -> Body:
        """The state of widgets/PROTOCOL.md, with how the last orders of the page ended. All public, all texts."""
        asof = now()
        body = self._states.of(lambda: {**self._read(), **self._orders()})
        self._pulse = Pulse(asof)
        return body

    def _last_state(self) -> Body:
        """The state, or the last one that could be read: an answer that is paid for does not wait for the ledger."""
        try:
            return self.state()
        except DpvizError as error:
            self._pulse = Pulse(self._pulse.asof, words(error))
            return self._states.last(self._orders())

    def _show(self, known: Body | None = None) -> None:
        """Bring every view up to date, to this state or to the last one that can be read."""
        self.show(self.mirrors(self._last_state() if known is None else known))

    def mirrors(self, known: Body | None = None) -> Body:
        """As of every model; `known` is a state that was read already."""
        raise NotImplementedError

    def _read(self) -> Body:
        """The state but for the orders, from the log. Raises where that cannot be read."""
        raise NotImplementedError

    def _orders(self) -> Body:
        """The progress of orders, and the outcomes of the last ones."""
        return orders(self._order, self._outcomes, self._elsewhere())


def words(error: DpvizError) -> str:
    """Why a ledger cannot be looked at, as a sentence for a page."""
    if isinstance(error, LedgerAway):
        return AWAY
    told = str(error).partition(";")[0].strip()
    return f"{told[:1].upper()}{told[1:]}."


protect_module(vars())
