"""What stands behind views: it answers their pages, says what their traits show, and brings all of them up to date."""

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
        self._joining = threading.RLock()  # a view that is forgotten leaves in the middle of anything

    @property
    def title(self) -> str:
        """What it is about, for a repr."""
        return ""

    def mirrors(self) -> Body:
        """What the traits of a view show, in the order in which a page is told. All public."""
        raise NotImplementedError

    def watched(self) -> None:
        """A page was heard of: somebody looks at what is shown here."""

    def join(self, view: Any) -> None:
        with self._joining:
            self._joined.add(view)

    def leave(self, view: Any) -> None:
        """The view was closed: nothing is sent to it any more."""
        with self._joining:
            self._joined.discard(view)

    def joined(self) -> list[Any]:
        with self._joining:
            return list(self._joined)

    def show(self, mirrors: Mapping[str, Any]) -> None:
        """Bring these traits of every view up to date."""
        for view in self.joined():
            for name, value in mirrors.items():
                setattr(view, name, value)

    def tell(self, event: str, body: Body) -> None:
        """Tell the pages of every view some news."""
        for view in self.joined():
            view.send({"v": messages.VERSION, "event": event, "body": body})

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
