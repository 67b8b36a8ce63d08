"""Waiting for an event, on a quiet machine and beside others that want its processors."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

MINUTE = 60.0
"""Seconds after which nothing will come any more, on a machine that does nothing else."""

MOST = 4
"""However many others want the processors, nobody waits for more than so many minutes."""


def patience() -> float:
    """Seconds to wait for what must come: a minute, and more where more processes than processors want to run."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return MINUTE * min(MOST, max(1.0, load / (os.cpu_count() or 1)))


def until(true: Callable[[], object], what: Callable[[], object] | str = "it did not become true") -> None:
    """Look again and again until it is true; `what` is said if it never is."""
    deadline = time.monotonic() + patience()
    while not true():
        assert time.monotonic() < deadline, what if isinstance(what, str) else what()
        time.sleep(0.005)
