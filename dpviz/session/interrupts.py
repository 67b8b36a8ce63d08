"""Ctrl-C while something is paid for: noted when it comes, raised once it is known what stays charged.

An interrupt that is raised wherever it happens to fall is lost in a callback, leaves a lock behind, or hides what was
charged. So between the start of the work and its end Ctrl-C is only counted, and acted upon at once by whoever waits:
the first asks the work to stop, the second lets go of it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import Any

from dpviz.errors import ReleaseInterrupted

LET_GO = 2
"""How many times Ctrl-C is pressed before nobody waits for the ledger any more."""


class Presses:
    """Counts Ctrl-C on the main thread for as long as it is open. Each press wakes whoever waits for `woken`.

    Python's own handler is replaced. Those of asyncio and of a notebook's cell that awaits stop a program when it next
    awaits, so never while it waits here: they are called as well. Where a program has set a handler of its own, that
    one goes on deciding, and what it raises is noted by whoever waits.
    """

    def __init__(self, each: Callable[[], object] | None = None) -> None:
        self.count = 0
        self._each = each  # called at each press, in the signal handler
        self.woken: SimpleQueue[None] = SimpleQueue()  # may be put to from a signal handler, unlike an Event
        self._replaced: Any = None

    def __enter__(self) -> Presses:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if handler is signal.default_int_handler or _awaits(handler):
                self._replaced = handler
                signal.signal(signal.SIGINT, self._pressed)
        return self

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        self.note()
        if _awaits(self._replaced):
            self._replaced(number, frame)

    def note(self) -> None:
        self.count += 1
        if self._each is not None:
            self._each()
        self.wake()

    def wake(self, *_: Any) -> None:
        self.woken.put(None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._replaced is not None:
            signal.signal(signal.SIGINT, self._replaced)
        self._each = None  # a task holds this to be woken: without a circle its outcome goes as soon as nobody wants it


def _awaits(handler: Any) -> bool:
    """Whether a handler only asks an event loop to stop what it runs."""
    return getattr(getattr(handler, "func", handler), "__module__", "") in ("asyncio.runners", "ipykernel.ipkernel")


@contextmanager
def nothing_charged() -> Iterator[None]:
    """Checks that come before a charge: Ctrl-C ends them at once, and says that nothing was charged."""
    try:
        yield
    except ReleaseInterrupted:
        raise
    except KeyboardInterrupt:
        interrupted = True
    else:
        interrupted = False
    if interrupted:  # outside the except clause: its frames may hold what was being checked
        raise before_the_charge()


def before_the_charge() -> ReleaseInterrupted:
    return ReleaseInterrupted(
        "Interrupted before anything was charged.",
        value="0",
        rule="what is interrupted before its charge costs nothing",
        next_step="call again when you are ready",
    )
