"""A release on its way: progress, cancel, result. The work runs on a thread of its own.

Private values live on that thread's stack only. Whatever goes wrong there is turned into an error of ours without a
traceback, so that no frame with private locals is ever shown, and signals (Ctrl-C) never hit the critical section.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from dpviz.errors import DpvizError, ReleaseFailed
from dpviz.hidden import guard
from dpviz.model.release import Release


class Stopped(Exception):
    """Raised inside the worker when somebody asked to cancel. Never leaves it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of the work is done, in public sizes."""

    done: int
    of: int
    text: str


class Running:
    """A handle on one release. `await` it, or call `result()`; `cancel()` keeps the charge and shows no answer."""

    def __init__(self, token: str, describe: str) -> None:
        self.token = token
        self.number: int | None = None
        self.progress = Progress(0, 1, describe)
        self._describe = describe
        self._cancel = threading.Event()
        self._future: Future[Release] = Future()
        self._watchers: list[Callable[[Running], None]] = []
        self._pid = os.getpid()

    def start(self, work: Callable[[Running], Release]) -> Running:
        threading.Thread(target=self._run, args=(work,), name="dpviz-release", daemon=True).start()
        return self

    def _run(self, work: Callable[[Running], Release]) -> None:
        release: Release | None = None
        error: DpvizError
        try:
            release = work(self)
        except DpvizError as known:
            error = known
        except BaseException:  # what it says may hold data, so it goes no further than this
            error = ReleaseFailed(
                "the release failed after its checks; the cause is withheld because it may hold data",
                next_step="look at session.releases and the ledger for what was charged",
            )
        if release is not None:
            self._future.set_result(release)
        else:
            self._future.set_exception(clean(error))
        self._notify()

    def tick(self, done: int, of: int) -> None:
        """Called by the work between its pieces, with public sizes. Raises to stop the work."""
        self.progress = Progress(done, of, self._describe)
        if self._cancel.is_set():
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

    def cancel(self) -> None:
        """Stop at the next piece of work. What was charged stays charged."""
        self._cancel.set()

    @property
    def cancelling(self) -> bool:
        return self._cancel.is_set()

    @property
    def here(self) -> bool:
        """Whether this process draws it. A fork copies the handle, and no thread that would ever end it."""
        return self._pid == os.getpid()

    @property
    def done(self) -> bool:
        return self._future.done()

    def result(self, timeout: float | None = None) -> Release:
        """The release, or the error that ended it. Ctrl-C cancels and waits for the ledger to know."""
        try:
            self._future.exception(timeout)
        except KeyboardInterrupt:
            self.cancel()
            self._future.exception()
        error = self._future.exception()
        if error is not None:
            raise error.with_traceback(None) from None
        return self._future.result()

    def __await__(self) -> Generator[Any, None, Release]:
        return asyncio.wrap_future(self._future).__await__()

    def __repr__(self) -> str:
        state = "done" if self.done else f"{self.progress.done} of {self.progress.of}"
        return f"<release on its way: {self._describe}, {state}>"


def clean(error: DpvizError) -> DpvizError:
    """The same error without the frames and causes it came from."""
    error.__cause__ = None
    error.__context__ = None
    error.__suppress_context__ = True
    return error.with_traceback(None)


guard(vars())
