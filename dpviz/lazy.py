"""Modules that load on first use, and Python's garbage collector meanwhile.

The start of pandas, SQLAlchemy and anywidget makes hundreds of thousands of objects, nearly all of which stay. The
collector looks through them again and again for what could go, and finds next to nothing: a seventh of the time until
a first plan. So it rests while we load, and what was loaded then counts among the old at once, as it would after two
more looks. Nothing is kept from the collector: whatever is old is looked through whenever Python looks at all.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOADING: set[int] = set()
"""The threads that have put the collector to rest."""


@contextmanager
def without_collector() -> Iterator[None]:
    """Load in here. The collector, if it was on, is on again afterwards, whatever happened.

    May be nested, and used by several threads: whoever found the collector on puts it on again, and nobody else does.
    Where nothing was left to load, nothing grows old by it. Where somebody has frozen objects (`gc.freeze`), they stay
    so, and what was loaded counts as young.
    """
    was_on, before = gc.isenabled(), len(sys.modules)
    try:
        if was_on:
            _LOADING.add(threading.get_ident())
            gc.disable()
        yield
    finally:
        if was_on:
            if len(sys.modules) != before and not gc.get_freeze_count():
                gc.freeze()  # the young and the old together ...
                gc.unfreeze()  # ... are the old from now on
            gc.enable()
            _LOADING.discard(threading.get_ident())


def _forked() -> None:
    """A process forked while another thread loads has no such thread, which would turn its collector on again."""
    if _LOADING and threading.get_ident() not in _LOADING:
        _LOADING.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
