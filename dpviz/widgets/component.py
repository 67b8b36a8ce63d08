"""What every component shares: traits that mirror the desk, and one door for messages."""

from __future__ import annotations

from typing import Any

import ipywidgets
import traitlets

from dpviz.hidden import guard, publicly
from dpviz.widgets.desk import Desk, desk_of
from dpviz.widgets.view import Program, View


class Component(View):
    """A view of a desk."""

    sheet = traitlets.Unicode().tag(sync=True)
    state = traitlets.Unicode().tag(sync=True)
    buffers = traitlets.Dict().tag(sync=True)
    """The bytes of the result's long columns, and which result they belong to."""
    result = traitlets.Unicode().tag(sync=True)
    pulse = traitlets.Unicode().tag(sync=True)
    views = traitlets.Dict(value_trait=traitlets.Instance(Program)).tag(sync=True, **ipywidgets.widget_serialization)
    """The bundles that draw kinds of answers which the program does not, by kind."""

    @publicly
    def __init__(self, session: object, *questions: object, **options: Any) -> None:
        self._standing = desk_of(session, questions, **options)
        super().__init__(self._standing._door, desk=self._standing.id, **self._standing.mirrors())
        self._standing.join(self)

    @property
    def board(self) -> Desk:
        """The desk this component stands on; hand it to another component to share one plan."""
        return self._standing

    def _receive(self, _widget: object, content: object, buffers: object) -> None:
        self._standing.watched()
        super()._receive(_widget, content, buffers)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._standing.title})"


guard(vars())
