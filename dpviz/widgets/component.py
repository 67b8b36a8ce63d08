"""The views of a session model: each takes a session, or the view of another, with which it then shares one plan."""

from __future__ import annotations

from typing import Any

from dpviz.boundary import plain_arguments, protect_module
from dpviz.widgets.session_model import SessionModel, session_model_of
from dpviz.widgets.view import WidgetView


class Component(WidgetView):
    """A view of a session model."""

    @plain_arguments
    def __init__(self, session: object, *questions: object, **options: Any) -> None:
        self._session_model = session_model_of(session, questions, **options)
        super().__init__(self._session_model)

    @property
    def session_model(self) -> SessionModel:
        """The session model behind this component; hand it to another component to share one plan."""
        return self._session_model


protect_module(vars())
