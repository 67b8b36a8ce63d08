"""What every view has in common: one program, mirrors that only the kernel writes, and one way in for messages."""

from __future__ import annotations

import json
from contextvars import Context, copy_context
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

STATIC = Path(__file__).parent.parent / "static"


class View(anywidget.AnyWidget):
    """A widget whose synced traits are mirrors: written by the kernel, never read by it. A page may forge any of them."""

    _esm = STATIC / "widgets.js"
    _css = STATIC / "widgets.css"
    name: ClassVar[str] = ""

    component = traitlets.Unicode().tag(sync=True)
    desk = traitlets.Unicode().tag(sync=True)

    _heard: Context | None = None
    """Where the last message came in. What is said in another thread goes back the same way."""

    def __init__(self, **mirrors: str) -> None:
        super().__init__(component=type(self).name, **mirrors)
        self.on_msg(self._receive)

    def _receive(self, _widget: object, content: object, buffers: object) -> None:
        self._heard = copy_context()
        self._answer(content)

    def _answer(self, content: object) -> None:
        """Have a message answered with `send`."""
        raise NotImplementedError

    def _send(self, msg: Any, buffers: Any = None) -> None:
        """Send in the context of the last message: the kernel keeps there which of its threads the page talks to.

        Without it the page's next message may be handed to the thread of the cells, and wait for the cell that runs.
        """
        if self._heard is None:
            super()._send(msg, buffers)
        else:
            self._heard.copy().run(super()._send, msg, buffers)

    def _repr_keys(self) -> list[str]:
        return []


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
