"""A page as the kernel sees it: the messages of each widget model, in the order in which they were sent."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm

from dpviz.widgets.view import Program, WidgetView
from tests.patience import patience, until
from tests.unpacking import plain, recalled

Message = dict[str, Any]


class Wire:
    """All that widgets send, in one list; and what a page sends them, on the thread of the test."""

    def __init__(self, patch: pytest.MonkeyPatch, keep: Callable[[Message], Message] = lambda message: message) -> None:
        self.keep = keep
        self.sent: list[tuple[str, Message]] = []
        self._arrived = threading.Condition()
        self.boards: dict[str, str] = {}
        """The board of each view, by their models."""
        self._shown: dict[str, dict[str, Any]] = {}
        """The traits of each model, as its page has them."""
        self._hooks: list[tuple[Callable[[Message], bool], Callable[[], None]]] = []
        wire = self

        class Recorded(BaseComm):
            def publish_msg(
                self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **more: Any
            ) -> None:
                written = json.dumps(data or {}, ensure_ascii=False).encode("utf-8", errors="surrogateescape")
                said, parts = plain(json.loads(written), buffers or ())  # written as jupyter_client writes it
                wire._shown.setdefault(self.comm_id, {}).update(said.get("state") or {})
                said = wire.put_back(self.comm_id, said)
                wire.record(self.comm_id, {"type": msg_type, **said, **({"buffers": parts} if parts else {})})

        def create(*args: Any, **more: Any) -> BaseComm:
            return Recorded(*args, **more)

        patch.setattr(comm, "create_comm", create)
        patch.setattr(Program, "_running", {})  # those that were made before send elsewhere

    def put_back(self, model: str, message: Message) -> Message:
        """What a message leaves to the board, which this or another model is."""
        if message.get("method") != "custom" or not isinstance(message["content"], dict):
            return message
        board = self.boards.get(model, model)
        return {**message, "content": recalled(message["content"], self._shown[board].__getitem__)}

    def record(self, model: str, message: Message) -> None:
        board = message.get("state", {}).get("board", "") if message.get("type") == "comm_open" else ""
        with self._arrived:
            if board:
                self.boards[model] = board.removeprefix("IPY_MODEL_")
            self.sent.append((model, self.keep(message)))
            self._arrived.notify_all()
            due = [(wanted, act) for wanted, act in self._hooks if wanted(message)]
            self._hooks = [hook for hook in self._hooks if hook not in due]
        for _, act in due:
            act()

    def once(self, wanted: Callable[[Message], bool], act: Callable[[], None]) -> None:
        """When the first such message is sent, do this before whoever sends it goes on."""
        self._hooks.append((wanted, act))

    def of(self, widget: Any) -> list[Message]:
        """What was said to this model, and of a view what was said to its board."""
        with self._arrived:
            return [message for model, message in self.sent if model in models(widget)]

    def own(self, model: Any) -> list[Message]:
        """What was said to this model alone."""
        with self._arrived:
            return [message for of, message in self.sent if of == model.model_id]

    def send(self, widget: Any, data: Any, buffers: Any = ()) -> None:
        """Hand the kernel one comm message for this model."""
        widget.comm.handle_msg({"content": {"comm_id": widget.model_id, "data": data}, "buffers": list(buffers)})

    @staticmethod
    def carries(message: Message, name: str) -> bool:
        """Whether this message brings a trait up to date."""
        return name in message.get("state", {})

    def ask(self, widget: Any, name: str, **args: Any) -> str:
        """Send one ask; returns its id."""
        message = {"v": 1, "id": uuid.uuid4().hex, "ask": name, "args": args}
        self.send(widget, {"method": "custom", "content": message})
        return message["id"]  # type: ignore[return-value]

    def wait(self, widget: Any, wanted: Callable[[Message], bool]) -> Message:
        """The first message to this model that is wanted, once it was sent."""
        deadline = time.monotonic() + patience()
        with self._arrived:
            while True:
                found = [message for model, message in self.sent if model in models(widget) and wanted(message)]
                if found:
                    return found[0]
                assert self._arrived.wait(deadline - time.monotonic()), [brief(message) for _, message in self.sent]

    def hear(self, widget: Any, enough: Callable[[Message], bool]) -> None:
        """Go through all messages to this model, old and new, each once, until it is enough."""
        deadline, seen = time.monotonic() + patience(), 0
        with self._arrived:
            while True:
                for model, message in self.sent[seen:]:
                    if model in models(widget) and enough(message):
                        return
                seen = len(self.sent)
                assert self._arrived.wait(deadline - time.monotonic()), [brief(message) for _, message in self.sent]

    def answer(self, widget: Any, name: str, **args: Any) -> Message:
        """Ask, and wait for the reply."""
        asked = self.ask(widget, name, **args)
        return content(self.wait(widget, lambda message: content(message).get("re") == asked))


class Board:
    """What a model shows to all its members, and what it tells them, as a page would keep it."""

    comm = True

    def __init__(self, **shown: Any) -> None:
        self.__dict__.update(shown)
        self.sent: list[Message] = []
        self.arrived = threading.Condition()

    def send(self, content: object) -> None:
        with self.arrived:
            self.sent.append(json.loads(json.dumps(content)))
            self.arrived.notify_all()

    def close(self) -> None:
        """Nobody is there any more."""


class Member:
    """A member of a model, without the widget: what it shows is on the board."""

    def __init__(self, model: Any) -> None:
        self.model = model
        model.join(self)
        self.board: Board = model.board(lambda: Board(**model.mirrors()))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["board"], name)

    def ask(self, name: str, **args: Any) -> Message:
        reply = self.model.answer({"v": 1, "id": "1", "ask": name, "args": args})
        assert reply is not None and reply["re"] == "1"
        return json.loads(json.dumps(reply))  # type: ignore[no-any-return]


def models(widget: Any) -> tuple[str, ...]:
    """The model of a widget, and the board of a view."""
    return (widget.model_id, widget.board.model_id) if isinstance(widget, WidgetView) else (widget.model_id,)


def brief(message: Message) -> str:
    """One message in one line, for a test that failed."""
    return str(content(message) or list(message.get("state", message)))[:200]


def content(message: Message) -> Message:
    """What a custom message says; nothing of any other."""
    said: Message = message["content"] if message.get("method") == "custom" else {}
    return said


def trait(message: Message, name: str) -> Any:
    """A trait that is brought up to date by this message, read as JSON; None in any other."""
    state = message.get("state", {}) if message.get("method") == "update" else {}
    return json.loads(state[name]) if state.get(name) else None


def event(message: Message, *names: str) -> bool:
    return content(message).get("event") in names


def complete(explorer: Any) -> dict[str, Any]:
    """The sheet of an explorer as a page has it, once all of it is there that is sent."""
    until(lambda: explorer._exploring._part is None)
    said = threading.Event()
    explorer._soon(said.set)
    assert said.wait(patience())
    return sheet_of(explorer)


def sheet_of(explorer: Any) -> dict[str, Any]:
    """What there is of it."""
    found: dict[str, Any] = json.loads(explorer.sheet)
    return found
