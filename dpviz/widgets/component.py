"""What every component shares: traits that mirror the desk, and one door for messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from dpviz.hidden import guard, publicly
from dpviz.widgets.desk import Desk, desk_of

STATIC = Path(__file__).parent.parent / "static"


class Component(anywidget.AnyWidget):
    """A view of a desk. Its synced traits are written by the kernel and never read by it: a page may forge them."""

    _esm = STATIC / "widgets.js"
    _css = STATIC / "widgets.css"
    name: ClassVar[str] = ""

    component = traitlets.Unicode().tag(sync=True)
    desk = traitlets.Unicode().tag(sync=True)
    sheet = traitlets.Unicode().tag(sync=True)
    state = traitlets.Unicode().tag(sync=True)
    result = traitlets.Unicode().tag(sync=True)

    @publicly
    def __init__(self, session: object, *questions: object, **options: Any) -> None:
        standing = desk_of(session, questions, **options)
        mirrors = standing.mirrors()
        super().__init__(component=type(self).name, desk=standing.id, **mirrors)
        self._standing = standing
        self.on_msg(self._receive)
        standing.join(self)

    @property
    def board(self) -> Desk:
        """The desk this component stands on; hand it to another component to share one plan."""
        return self._standing

    def _receive(self, _widget: object, content: object, buffers: object) -> None:
        answer = self._standing.answer(content, self)
        if answer is not None:
            self.send(answer)

    def _repr_keys(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._standing.title})"


guard(vars())
