"""The one way to start a thread. Where there are none, as in a browser's Python, work is done in place.

`run` gets the work done either way; `start` leaves it to the caller what to do without a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

Work = Callable[[], object]


class _InPlace(threading.local):
    """The work that is done in place on a thread: the name that a thread of its own would have had."""

    name = ""


_in_place = _InPlace()


def start(work: Work, name: str) -> threading.Thread | None:
    """Begin this on a thread of its own, which ends with the program. None where the system gives none: not begun."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # how Python says that there is no thread to be had
        return None
    return thread


def run(work: Work, name: str) -> threading.Thread | None:
    """Begin this on a thread of its own, or do it now, in place. None where it was done in place."""
    thread = start(work, name)
    if thread is None:
        before, _in_place.name = _in_place.name, name
        try:
            work()
        finally:
            _in_place.name = before
    return thread


def current() -> str:
    """The name of the work that asks: that of its thread, or the one under which it is done in place."""
    return _in_place.name or threading.current_thread().name


def in_place() -> bool:
    """Whether what asks is done in place, where another thread should have done it: then it must not wait for more."""
    return bool(_in_place.name)
