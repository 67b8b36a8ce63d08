"""A Python that gives no thread, as in a browser: for tests that show that everything works in place."""

from __future__ import annotations

import threading

import pytest


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread can be begun from here on."""

    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
