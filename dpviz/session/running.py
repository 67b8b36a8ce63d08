"""A release on its way: progress, cancel, result. The work runs on a thread of its own, or in place without threads.

Private values live on that stack only. Any error there is turned into an error of ours without a traceback, so that no
frame with private locals is ever shown, and signals (Ctrl-C) never hit the critical section.
"""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dpviz import threads
from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, ReleaseCancelled, ReleaseFailed, ReleaseInterrupted
from dpviz.session.interrupts import LET_GO, Presses, before_the_charge
from dpviz.session.refusals import withdrawn

if TYPE_CHECKING:
    from dpviz.model.release import Release

T = TypeVar("T")

WAKE = 0.5
"""Seconds after which a wait looks around, where the system does not wake it for Ctrl-C (Windows)."""

STOPPED = (
    "the await was cancelled, so the draw was told to stop; what it was charged stays charged (see session.ledger)"
)


class Stopped(Exception):
    """Raised inside the worker when somebody asked to cancel. Never leaves it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of the work is done, in public sizes."""

    done: int
    of: int
    text: str


class Task(Generic[T]):
    """Work that may be charged for, on a thread of its own: an outcome, and what Ctrl-C has to say about it.

    Where the system gives no thread, the work is done in place: `start` returns when it has ended.

    The first to come, the worker who asks to charge (`charging`) or somebody who cancels, decides: what is cancelled
    first is never charged, and ends at once, however long a ledger keeps its worker waiting.
    """

    def __init__(self) -> None:
        self._future: Future[T] = Future()
        self._future.set_running_or_notify_cancel()  # from here on nobody cancels the future itself
        self._cancelled = False
        self._charging = False
        self._decision = [self]  # popped once, by the worker or by who cancels: a step that nothing can divide
        self._ending = [self]  # popped once, by who ends it
        self._pid = os.getpid()
        self._in_place = False

    def start(self, work: Callable[[], T]) -> None:
        """Begin the work. Done in place, it raises ReleaseInterrupted where Ctrl-C came meanwhile."""
        if threads.start(lambda: self._run(work), "dpviz-release") is not None:
            return
        presses = Presses(self._pressed)
        self._in_place = True
        try:
            with presses:
                self._run(work)
        finally:
            self._in_place = False
        if presses.count:
            raise self.interruption()

    def _pressed(self) -> None:
        """Ctrl-C, in the signal handler. Nobody waits for work that is done in place: it is told to stop at once."""
        if self._in_place:
            self._cancelled = True

    def _run(self, work: Callable[[], T]) -> None:
        error: DpvizError
        try:
            outcome = work()
        except DpvizError as known:
            error = known
        except BaseException:  # what it says may hold data, so it goes no further than this
            error = ReleaseFailed(
                "the release failed after its checks; the cause is withheld because it may hold data",
                rule="an error that may hold data is never shown",
                next_step="look at session.releases and the ledger for what was charged",
            )
        else:
            self.end(outcome)
            return
        self.end(error)

    def end(self, outcome: T | DpvizError) -> None:
        """Set the outcome, unless there is one."""
        if not _popped(self._ending):
            return
        if isinstance(outcome, DpvizError):
            self._future.set_exception(clean(outcome))
        else:
            self._future.set_result(outcome)
        self.ended()

    def ended(self) -> None:
        """Called once, when there is an outcome."""

    def charging(self) -> None:
        """Called under the ledger's lock before a charge is written. Refuses what was cancelled before."""
        if self._cancelled or not (self._charging or _popped(self._decision)):
            raise withdrawn()
        self._charging = True

    def cancel(self) -> None:
        """Stop at the next piece of work. A charge stays charged; what was not is not charged any more."""
        self._cancelled = True
        if _popped(self._decision):
            self.end(withdrawn())

    @property
    def cancelling(self) -> bool:
        return self._cancelled

    def wanted(self) -> bool:
        """Whether its charge is still wanted: what is cancelled before it is charged has ended at once."""
        return not self.done

    @property
    def here(self) -> bool:
        """Whether this process runs it. A fork copies the handle, and no thread that would ever end it."""
        return self._pid == os.getpid()

    @property
    def done(self) -> bool:
        return self._future.done()

    def waited(self, begin: Callable[[], object] | None = None, timeout: float | None = None) -> T:
        """Begin, where it has not begun, wait for the end, and return or raise what came of it.

        Ctrl-C cancels, waits until the ledger knows, and raises ReleaseInterrupted; a second Ctrl-C waits no longer.
        """
        presses = Presses(self._pressed)
        with presses:
            try:
                if begin is not None and not presses.count:
                    begin()
            except DpvizError as refused:
                self.end(refused)
            except KeyboardInterrupt:  # a program's own handler raised it
                presses.note()
            self._attend(presses, None if timeout is None else time.monotonic() + timeout)
        # from here on Ctrl-C is raised by Python itself
        if presses.count:
            raise self.interruption()
        if not self.done:
            raise TimeoutError
        return self.outcome()

    def _attend(self, presses: Presses, deadline: float | None) -> None:
        """Wait for the end, for the deadline, or for the second Ctrl-C; the first one cancels."""
        self._future.add_done_callback(presses.wake)
        while not self.done and presses.count < LET_GO:
            if presses.count and not self._cancelled:
                self.cancel()
                continue
            if deadline is not None and not presses.count and time.monotonic() >= deadline:
                return
            left = WAKE if deadline is None else min(WAKE, max(0.0, deadline - time.monotonic()))
            try:
                presses.woken.get(timeout=left)
            except Empty:
                continue
            except KeyboardInterrupt:  # a program's own handler raised it
                presses.note()

    def outcome(self) -> T:
        """The result, or the error that ended it."""
        error = self._future.exception()
        if error is not None:
            raise error.with_traceback(None) from None
        return self._future.result()

    def interruption(self) -> ReleaseInterrupted:
        """The error that Ctrl-C ends in: what stays charged, as far as it is known."""
        if not self.done:
            return self.let_go()
        error = self._future.exception()
        if error is None:
            return self.too_late(self._future.result())
        assert isinstance(error, DpvizError)
        if not self._charging and isinstance(error, ReleaseCancelled):
            return before_the_charge()
        return ReleaseInterrupted(
            f"Interrupted. {error}",
            value=error.value,
            rule=error.rule,
            next_step=error.next_step,
            **self.entry_reference(),
        )

    def entry_reference(self) -> dict[str, int | None]:
        """The entry and the use of it that were charged, by the names of ReleaseInterrupted."""
        return {}

    def too_late(self, outcome: T) -> ReleaseInterrupted:
        """Ctrl-C came when everything was done."""
        raise NotImplementedError

    def let_go(self) -> ReleaseInterrupted:
        """Ctrl-C came twice, and what comes of the work is not known yet."""
        raise NotImplementedError


class Running(Task["Release"]):
    """A handle on one release. `await` it, or call `result()`; `cancel()` keeps the charge and shows no answer.

    number, use  what was charged, once it is: the ledger entry, and the use of it in a sub-session
    """

    def __init__(self, token: str, describe: str) -> None:
        super().__init__()
        self.token = token
        self._number: int | None = None
        self.use: int | None = None
        self.waiting = ""
        self.spent: Callable[[], str] = str
        self.value = ""
        self.free = False
        self.progress = Progress(0, 1, describe)
        self._describe = describe
        self._watchers: list[Callable[[Running], None]] = []

    def ended(self) -> None:
        self._notify()

    @property
    def number(self) -> int | None:
        """The entry that paid, from the moment that it is charged; None where nothing is charged yet."""
        return self._number

    @number.setter
    def number(self, number: int) -> None:
        self._number, self.waiting = number, ""
        self._notify()

    def wait(self, text: str) -> None:
        """Say what the charge waits for, such as whoever holds the ledger; "" where it waits no more."""
        self.waiting = text
        self._notify()

    def tick(self, done: int, of: int) -> None:
        """Called by the work between its pieces, with public sizes. Raises to stop the work."""
        self.progress = Progress(done, of, self._describe)
        if self._cancelled:
            raise Stopped
        self._notify()

    def watch(self, watcher: Callable[[Running], None]) -> None:
        """Call `watcher` on progress and at the end, on the worker's thread."""
        self._watchers.append(watcher)
        if self._future.done():
            self.tell(watcher)

    def _notify(self) -> None:
        for watcher in list(self._watchers):
            self.tell(watcher)

    def tell(self, watcher: Callable[[Running], None]) -> None:
        """A watcher that fails is let go: whoever looks on must not be able to end a release that is paid for."""
        try:
            watcher(self)
        except Exception:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

    def result(self, timeout: float | None = None) -> Release:
        """The release, or the error that ended it. Raises TimeoutError where it goes on after `timeout` seconds.

        Ctrl-C cancels, waits until the ledger knows, and raises ReleaseInterrupted, which says what stays charged.
        """
        return self.waited(timeout=timeout)

    def __await__(self) -> Generator[Any, None, Release]:
        return self._awaited().__await__()

    async def _awaited(self) -> Release:
        try:
            return await asyncio.wrap_future(self._future)
        except asyncio.CancelledError as stop:
            self.cancel()
            stop.add_note(STOPPED)
            raise

    # ------------------------------------------------------------ what Ctrl-C ends in

    def entry_reference(self) -> dict[str, int | None]:
        return {"number": self.number, "use": self.use}

    @property
    def _entry(self) -> str:
        return f"entry {self.number}" if self.use is None else f"use {self.use} of entry {self.number}"

    def too_late(self, outcome: Release) -> ReleaseInterrupted:
        said = (
            f"Interrupted. This was answered before, as {self._entry}, and nothing was charged."
            if self.free
            else f"Interrupted, but the draw was quicker: {self.spent()}, and the answer is stored as {self._entry}."
        )
        step = "make the same call again: its answer is stored and free"
        return ReleaseInterrupted(
            f"{said} The same call gives it, free.",
            value="0" if self.free else self.value,
            rule="an answer that is stored stays paid for, and is given again free",
            next_step=step,
            **self.entry_reference(),
        )

    def let_go(self) -> ReleaseInterrupted:
        known = self.number is not None
        said = (
            f"{self._entry} is pending, and what it was charged counts as spent: {self.spent()}"
            if known
            else f"whether it was charged is not known yet; count it as spent: {self.spent()}"
        )
        return ReleaseInterrupted(
            f"Interrupted twice, so nobody waits for the ledger: {said}.",
            value=self.value,
            rule="a pending charge counts as spent",
            next_step="see session.ledger for what became of it, then make the same call again",
            **self.entry_reference(),
        )

    def __repr__(self) -> str:
        state = "done" if self.done else f"{self.progress.done} of {self.progress.of}"
        return f"<release on its way: {self._describe}, {state}>"


class Listeners:
    """Bound methods that are called whenever a release ends, for as long as their objects live."""

    def __init__(self) -> None:
        self._references: list[weakref.WeakMethod[Callable[[Running], None]]] = []

    def add(self, listener: Callable[[Running], None]) -> None:
        self._references.append(weakref.WeakMethod(listener))

    def tell(self, running: Running) -> None:
        if not running.done:
            return
        self._references = [reference for reference in self._references if reference() is not None]
        for reference in self._references:
            listener = reference()
            if listener is not None:
                running.tell(listener)


class Errand(Task[T]):
    """One write to the ledger that draws nothing, like opening a sub-session. Ctrl-C says whether it was written.

    done     what to say where it was: "the budget is raised"
    pending  what to say where that is not known yet
    """

    def __init__(self, done: Callable[[T], tuple[str, int | None]], pending: str) -> None:
        super().__init__()
        self._said, self._pending = done, pending

    def run(self, work: Callable[[], T]) -> T:
        """Do it, and return what came of it."""
        return self.waited(lambda: self.start(work))

    def too_late(self, outcome: T) -> ReleaseInterrupted:
        said, number = self._said(outcome)
        return ReleaseInterrupted(
            f"Interrupted, but the ledger was quicker: {said}.",
            value=said,
            rule="what is written to the ledger stays",
            next_step="make the same call again: it is free",
            number=number,
        )

    def let_go(self) -> ReleaseInterrupted:
        return ReleaseInterrupted(
            f"Interrupted twice, so nobody waits for the ledger: {self._pending}.",
            value=self._pending,
            rule="what may be written counts as written",
            next_step="see session.ledger for what became of it",
        )


def _popped(token: list[Any]) -> bool:
    """Whether this call was the first to take it. One step, whatever runs at the same time."""
    try:
        token.pop()
    except IndexError:
        return False
    return True


def clean(error: DpvizError) -> DpvizError:
    """The same error without the frames and causes it came from."""
    error.__cause__ = None
    error.__context__ = None
    error.__suppress_context__ = True
    return error.with_traceback(None)


protect_module(vars())
