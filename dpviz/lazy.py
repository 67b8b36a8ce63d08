"""What loads when something first needs it, and Python's garbage collector meanwhile.

Whoever starts pandas, SQLAlchemy and anywidget makes hundreds of thousands of objects, nearly all of which stay. The
collector looks through them again and again for what could go, and finds next to nothing: a seventh of the time until
a first plan. So it rests while we load, and what was loaded then counts among the old at once, as it would after two
more looks. Nothing is kept from the collector: whatever is old is looked through whenever Python looks at all.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Load in here. The collector, if it was on, is on again afterwards, whatever happened.

    May be nested, and used by several threads: whoever found the collector on puts it on again, and nobody else does.
    Where somebody has frozen objects (`gc.freeze`), they stay so, and what was loaded counts as young.
    """
    was_on = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                gc.freeze()  # the young and the old together ...
                gc.unfreeze()  # ... are the old from now on
            gc.enable()
