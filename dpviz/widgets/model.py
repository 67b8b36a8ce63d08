"""The model behind views: it answers their pages, says what their traits show, and brings all of them up to date."""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from dpviz.boundary import protect_module
from dpviz.widgets import messages
from dpviz.widgets.dispatcher import Dispatcher, Send

Body = dict[str, Any]


class WidgetModel:
    """One for all views that share it: what a page changes through one of them, the others show.

    id     the views of one model on one page share a store by it
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.id = uuid.uuid4().hex[:12]
        self._dispatcher = dispatcher
        self._joined: weakref.WeakSet[Any] = weakref.WeakSet()
        self._board: Any = None
        self._joining = threading.RLock()  # a view that is forgotten leaves in the middle of anything

    @property
    def title(self) -> str:
        """The subject, for a repr."""
        return ""

    def program_of(self, name: str) -> str:
        """The program that draws its views, where those of their kind are drawn by this one."""
        return name

    def mirrors(self) -> Body:
        """The values of the traits of a view, in the order in which a page is told. All public."""
        raise NotImplementedError

    def board(self, make: Callable[..., Any]) -> Any:
        """The board of all views of this model, made where there is none: it shows the mirrors."""
        with self._joining:
            if self._board is None or self._board.comm is None:
                self._board = make()
            return self._board

    @property
    def shown_board(self) -> Any:
        """The board of the views there are, once it stands; None where there are none."""
        with self._joining:
            return self._board

    def watched(self) -> None:
        """A page was heard of: somebody looks at what is shown here."""

    def join(self, view: Any) -> None:
        with self._joining:
            self._joined.add(view)

    def leave(self, view: Any) -> None:
        """The view was closed: nothing is sent to it any more. The last one takes the board with it."""
        with self._joining:
            self._joined.discard(view)
            if not self._joined and self._board is not None:
                board, self._board = self._board, None
                board.close()

    def show(self, mirrors: Mapping[str, Any]) -> None:
        """Bring what every view shows up to date."""
        board = self.shown_board
        if board is not None:
            for name, value in mirrors.items():
                setattr(board, name, value)

    def tell(self, event: str, body: Body) -> None:
        """Tell the pages of every view some news: once, for all of them hear the board."""
        board = self.shown_board
        if board is not None:
            board.send({"v": messages.VERSION, "event": event, "body": body})

    def soon(self, work: Callable[[], None]) -> None:
        """Do this after all that was asked and said before."""
        self._dispatcher.soon(work)

    def receive(self, content: object, send: Send) -> None:
        """Take one message from a page; the reply goes to `send`."""
        self._dispatcher.receive(content, send)

    def answer(self, content: object) -> Body | None:
        """The reply to one message from the page. Never raises; a message without an id is dropped."""
        return self._dispatcher.answer(content)


protect_module(vars())
