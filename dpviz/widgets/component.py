"""The views of a desk: each takes a session, or the board of another, with which it then shares one plan."""

from __future__ import annotations

from typing import Any

from dpviz.hidden import guard, publicly
from dpviz.widgets.desk import Desk, desk_of
from dpviz.widgets.view import View


class Component(View):
    """A view of a desk."""

    @publicly
    def __init__(self, session: object, *questions: object, **options: Any) -> None:
        self._desk = desk_of(session, questions, **options)
        super().__init__(self._desk)

    @property
    def board(self) -> Desk:
        """The desk this component stands on; hand it to another component to share one plan."""
        return self._desk


guard(vars())
