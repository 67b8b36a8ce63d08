"""What the explorers share: one sheet of public things, and one ask that moves its centre. No session, no data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, TypeAlias

from dpviz.boundary import protect_module
from dpviz.widgets import messages
from dpviz.widgets.dispatcher import Body, Dispatcher
from dpviz.widgets.model import WidgetModel
from dpviz.widgets.view import View, json_text


class Sheet(Protocol):
    """A sheet that a page redraws from, and that can be made again through another point."""

    def to_json(self) -> dict[str, Any]: ...

    def moved(self, point: Mapping[str, str]) -> Sheet: ...


Slow: TypeAlias = Mapping[str, Callable[[Body], Callable[[], Body]]]
"""What is computed for an ask, and then done about it."""


class Exploring(WidgetModel):
    """A sheet, and the one ask that moves its centre. A kind of explorer may have more asks."""

    asks: ClassVar[messages.Asks] = messages.EXPLORERS

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.shown = sheet.to_json()
        super().__init__(
            Dispatcher(
                self.asks,
                "see the notebook's log",
                quick={"status": lambda request: {}},
                slow=self.slow(),
            )
        )

    def slow(self) -> Slow:
        """What answers the asks that take a while."""
        return {"move": self._on_move}

    def mirrors(self) -> dict[str, Any]:
        return {"sheet": json_text(self.shown)}

    def _on_move(self, args: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        sheet = self.sheet.moved(args["place"])
        moved = sheet.to_json()

        def apply() -> dict[str, Any]:
            self.sheet, self.shown = sheet, moved
            self.show(self.mirrors())
            return {"sheet": moved}

        return apply


class Explorer(View):
    """A view of one sheet."""

    program_name: ClassVar[str] = "explorers"
    title: ClassVar[str] = ""
    exploring: ClassVar[type[Exploring]] = Exploring

    def __init__(self, sheet: Sheet) -> None:
        self._exploring = self.exploring(sheet)
        super().__init__(self._exploring)

    @property
    def shown(self) -> dict[str, Any]:
        """The sheet on show, as it was made here: for a report. What a page wrote into a trait is not in it."""
        return self._exploring.shown


protect_module(vars())
