"""What the explorers share: one sheet of public things, and one ask that moves its centre. No session, no data."""

from __future__ import annotations

from dpviz.hidden import guard

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import anywidget
import traitlets

from dpviz.widgets import messages

STATIC = Path(__file__).parent.parent / "static"


class Sheet(Protocol):
    """A sheet that a page redraws from, and that can be made again through another point."""

    def to_json(self) -> dict[str, Any]: ...

    def moved(self, place: Mapping[str, str]) -> Sheet: ...


class Explorer(anywidget.AnyWidget):
    """A view of one sheet. Its synced traits are written by the kernel and never read by it: a page may forge them."""

    _esm = STATIC / "widgets.js"
    _css = STATIC / "widgets.css"
    name: ClassVar[str] = ""
    title: ClassVar[str] = ""

    component = traitlets.Unicode().tag(sync=True)
    desk = traitlets.Unicode().tag(sync=True)
    sheet = traitlets.Unicode().tag(sync=True)

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._shown = sheet.to_json()
        super().__init__(component=type(self).name, desk=uuid.uuid4().hex[:12], sheet=_json(self._shown))
        self.on_msg(self._receive)

    @property
    def shown(self) -> dict[str, Any]:
        """The sheet on show, as it was made here: for a report. What a page wrote into a trait is not in it."""
        return self._shown

    def answer(self, content: object) -> dict[str, Any] | None:
        """The reply to one message from the page. Never raises; a message without an id is dropped."""
        asks = {"status": lambda args: {}, "move": self._on_move}
        return messages.answered(content, messages.EXPLORERS, asks, "see the notebook's log")

    def _on_move(self, args: dict[str, Any]) -> dict[str, Any]:
        sheet = self._sheet.moved(args["place"])
        made = sheet.to_json()
        self._sheet, self._shown = sheet, made
        self.sheet = _json(made)
        return {"sheet": made}

    def _receive(self, _widget: object, content: object, buffers: object) -> None:
        answer = self.answer(content)
        if answer is not None:
            self.send(answer)

    def _repr_keys(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


guard(vars())
