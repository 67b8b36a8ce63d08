"""An order from a page: a release or a question that was started for it, and what the page was told of it so far."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dpviz.errors import DpvizError, ReleaseCancelled
from dpviz.session.running import Running
from dpviz.widgets import messages
from dpviz.widgets.dispatcher import Request

if TYPE_CHECKING:
    from dpviz.model.release import Release

SETTLES = 0.25
"""Seconds in which refusals, and most answers, come back in the reply itself."""

WAITS = 4
"""How many times as long a charge may take before the page is told that it waits for the ledger."""

Body = dict[str, Any]


class Order:
    """One request that started a draw. Belongs to the writer, but for `due`."""

    def __init__(self, request: Request, running: Running) -> None:
        self.request = request
        self.running = running
        self.over = False
        self.error: DpvizError | None = None
        self._told, self._stage = 0.0, ("", "")

    @property
    def named(self) -> bool:
        """Whether the page knows the token."""
        return self.request.answered

    @property
    def unnamed(self) -> bool:
        """Whether it goes on and the page has had no reply yet."""
        return not self.over and not self.named

    def due(self, every: float) -> bool:
        """Whether it is time to tell how far the draw is: that it is charged, or waits for its charge, at once.

        Called on the worker's thread only.
        """
        now, stage = time.monotonic(), (self.number, self.running.waiting)
        if now - self._told < every and stage == self._stage:
            return False
        self._told, self._stage = now, stage
        return True

    @property
    def number(self) -> str:
        """The entry that was charged, or nothing."""
        return "" if self.running.number is None else str(self.running.number)

    def name(self, **more: Any) -> None:
        """The reply that names the token."""
        self.request.reply({"token": self.running.token, "number": self.number, **more})

    def end(self) -> tuple[Release | None, Body]:
        """How the draw ended, as the page is told; and the release where there is one. Once."""
        self.over = True
        release, error, event = None, None, "released"
        try:
            release = self.running.result()
        except DpvizError as refused:
            error, event = refused, "cancelled" if isinstance(refused, ReleaseCancelled) else "failed"
        except Exception:
            error, event = self.unshown(), "failed"
        self.error = error
        return release, {
            "token": self.running.token,
            "re": self.request.id,
            "event": event,
            "number": self.number,
            "error": None if error is None else messages.error_json(error),
        }

    def unshown(self) -> DpvizError:
        """The answer cannot be shown here, and whether it was charged is for the ledger to say."""
        where = f"entry {self.number}" if self.number else "the ledger"
        return DpvizError(
            f"the kernel could not show the answer; {where} says what was charged",
            value=where,
            rule="whatever an answer became, the ledger says what it cost",
            next_step="run the session cell again, and look at session.releases",
        )

    @property
    def refused(self) -> bool:
        """Whether it ended before its token was named and before anything was charged: then the reply is a refusal."""
        return self.error is not None and not self.named and self.running.number is None

    def refuse(self) -> None:
        self.request.refuse(self.error or self.unshown())
