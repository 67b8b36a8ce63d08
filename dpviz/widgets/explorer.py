"""What the explorers share: one sheet of public things, and one ask that moves its centre. No session, no data."""

from __future__ import annotations

from dpviz.hidden import guard

import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import traitlets

from dpviz.widgets import messages
from dpviz.widgets.door import Door
from dpviz.widgets.view import View, json_text


class Sheet(Protocol):
    """A sheet that a page redraws from, and that can be made again through another point."""

    def to_json(self) -> dict[str, Any]: ...

    def moved(self, place: Mapping[str, str]) -> Sheet: ...


class Explorer(View):
    """A view of one sheet."""

    program_name: ClassVar[str] = "explorers"
    title: ClassVar[str] = ""

    sheet = traitlets.Unicode().tag(sync=True)

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._shown = sheet.to_json()
        door = Door(
            messages.EXPLORERS,
            "see the notebook's log",
            quick={"status": lambda request: {}},
            slow={"move": self._on_move},
        )
        super().__init__(door, desk=uuid.uuid4().hex[:12], sheet=json_text(self._shown))

    @property
    def shown(self) -> dict[str, Any]:
        """The sheet on show, as it was made here: for a report. What a page wrote into a trait is not in it."""
        return self._shown

    def answer(self, content: object) -> dict[str, Any] | None:
        """The reply to one message from the page. Never raises; a message without an id is dropped."""
        return self._door.answer(content)

    def _on_move(self, args: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        sheet = self._sheet.moved(args["place"])
        made = sheet.to_json()

        def apply() -> dict[str, Any]:
            self._sheet, self._shown = sheet, made
            self.sheet = json_text(made)
            return {"sheet": made}

        return apply

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


guard(vars())
