"""Ctrl-C while something is paid for: noted when it comes, raised once it is known what stays charged.

An interrupt that is raised wherever it happens to fall is lost in a callback, leaves a lock behind, or hides what was
charged. So between the start of the work and its end Ctrl-C is only counted, and acted upon at once by whoever waits:
the first asks the work to stop, the second lets go of it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from dpviz.errors import ReleaseInterrupted

LET_GO = 2
"""How many times Ctrl-C is pressed before nobody waits for the ledger any more."""


class Presses:
    """Counts Ctrl-C on the main thread for as long as it is open. Each press wakes whoever waits for `woken`.

    Only Python's own handler is replaced. Where a program has set another (asyncio does), that one goes on deciding,
    and what it raises is noted by whoever waits.
    """

    def __init__(self) -> None:
        self.count = 0
        self.woken: SimpleQueue[None] = SimpleQueue()  # may be put to from a signal handler, unlike an Event
        self._replaced = False

    def __enter__(self) -> Presses:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._replaced = True
            signal.signal(signal.SIGINT, self.note)
        return self

    def note(self, *_: Any) -> None:
        self.count += 1
        self.wake()

    def wake(self, *_: Any) -> None:
        self.woken.put(None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._replaced:
            signal.signal(signal.SIGINT, signal.default_int_handler)


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
        rule="what is interrupted before its charge costs nothing",
        next_step="call again when you are ready",
    )
