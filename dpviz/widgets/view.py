"""The base of every view: one program, mirrors that only the kernel writes, and one way in for messages.

A page can send an update of any trait of any model that it knows: another widget's script can, or a saved notebook.
Nothing of it is taken: the models here answer with the true value, so that the page that was told otherwise, the
notebook that it saves and the next view all have what the kernel has.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import anywidget
import ipywidgets
import traitlets
from ipywidgets.widgets.trait_types import InstanceDict

from dpviz.boundary import error_boundary, kind_of, protect_module
from dpviz.charts import columns
from dpviz.errors import ParameterError, short
from dpviz.widgets import views
from dpviz.widgets.model import WidgetModel
from dpviz.widgets.packing import PACKED, packed, referring
from dpviz.widgets.writer import Writer

STATIC = Path(__file__).parent.parent / "static"
ANYWIDGET: str = anywidget.AnyWidget.class_traits()["_model_module_version"].default()


class Mirror(ipywidgets.Widget):  # type: ignore[misc]
    """A widget model that only the kernel writes."""

    @error_boundary
    def __setattr__(self, name: str, value: Any) -> None:
        """The message of traitlets about a value that does not fit shows the value: it is refused in our words."""
        try:
            super().__setattr__(name, value)
            return
        except traitlets.TraitError:
            pass
        except Exception:  # validators compare and convert what they are given; a text is only sent
            if type(value) is str:
                raise
        raise _not_taken(self, name, value)

    @error_boundary
    def set_trait(self, name: str, value: Any) -> None:
        """Set a trait from the kernel, as `__setattr__` does.

        Parameters
        ----------
        name : str
            The name of the trait.
        value : Any
            Its value.

        Raises
        ------
        TraitError
            If there is no such trait, or it refuses the value.
        """
        try:
            super().set_trait(name, value)
            return
        except Exception:
            pass
        raise _not_taken(self, name, value)

    def _handle_msg(self, msg: Any) -> None:
        """One message from the page. A message of no known form is dropped: nobody waits for an answer to it."""
        data = msg["content"].get("data")
        method = data.get("method") if isinstance(data, dict) else None
        if method == "update":
            self.set_state(data.get("state"))
        elif method == "request_state":
            self._tell_truth(self.keys)
        elif method == "custom":
            self._handle_custom_msg(data.get("content"), msg.get("buffers"))

    def set_state(self, sync_data: object) -> None:
        """Refuse what a page says of traits: nothing is taken, and nothing is echoed to other views.

        Parameters
        ----------
        sync_data : object
            Values by name, as the page sent them.
        """
        if isinstance(sync_data, dict):
            self._tell_truth([name for name in self.keys if name in sync_data])

    def _tell_truth(self, names: Iterable[str]) -> None:
        """Send the values of these traits."""
        self.send_state(list(names))


class FixedLayout(Mirror, ipywidgets.Layout):  # type: ignore[misc]
    """The layout of a view, which a page cannot change: a view that is moved or hidden could hide what it says."""

    @error_boundary
    def __init__(self, **properties: Any) -> None:
        known = self.trait_names()
        for name in properties:  # what traitlets says of a name that it does not know shows the value
            if name not in known and name != "border":
                raise ParameterError.of(name, "a layout has the properties of ipywidgets.Layout", "leave this one out")
        super().__init__(**properties)


class FixedLayoutTrait(InstanceDict):  # type: ignore[misc]
    """Any layout, as one that a page cannot change."""

    klass = FixedLayout

    def validate(self, obj: Any, value: Any) -> Any:
        if isinstance(value, ipywidgets.Layout) and not isinstance(value, FixedLayout):
            value = {name: getattr(value, name) for name in value.keys if not name.startswith("_")}
        return super().validate(obj, value)


class Long(Mirror):
    """A model that holds much, which a page may ask for again and again: what waits to be sent is sent once."""

    def __init__(self, **traits: Any) -> None:
        self._doubted: set[str] = set()
        self._doubting = threading.Lock()
        super().__init__(**traits)

    def _soon(self, work: Callable[[], None]) -> None:
        """Do this after what was said before."""
        raise NotImplementedError

    def _tell_truth(self, names: Iterable[str]) -> None:
        with self._doubting:
            waiting = bool(self._doubted)
            self._doubted.update(names)
            begin = bool(self._doubted) and not waiting
        if begin:
            self._soon(self._tell_doubted)

    def _tell_doubted(self) -> None:
        with self._doubting:
            names, self._doubted = self._doubted, set()
        self.send_state(names)


class UnseenModel(Long):
    """A model that is drawn by no view of its own. It is anywidget's, which saves the bytes in a notebook; the model of
    Jupyter saves none."""

    _model_name = traitlets.Unicode("AnyModel").tag(sync=True)
    _model_module = traitlets.Unicode("anywidget").tag(sync=True)
    _model_module_version = traitlets.Unicode(ANYWIDGET).tag(sync=True)
    _esm = traitlets.Unicode("export default {}").tag(sync=True)
    _anywidget_id = traitlets.Unicode("dpviz.kept").tag(sync=True)


class Program(UnseenModel):
    """The program that a page runs to draw views: a page is sent it once, however many views there are, and a notebook
    saves it once."""

    code = traitlets.Unicode().tag(sync=True, to_json=packed)
    css = traitlets.Unicode().tag(sync=True, to_json=packed)

    _running: ClassVar[dict[tuple[str, str], Program]] = {}
    _choosing: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, code: str, css: str) -> None:
        self._writer = Writer()
        super().__init__(code=code, css=css)

    @classmethod
    def of(cls, name: str) -> Program:
        """The one program of this name; a new one where that was closed."""
        code, css = ((STATIC / file).read_text(encoding="utf-8") for file in (f"{name}.js", "widgets.css"))
        return cls._one(code, css)

    @classmethod
    def drawing(cls, kind: str) -> dict[str, Program]:
        """The bundle that draws this kind of answer, by its kind; nothing where the page's program does, or nobody."""
        bundle = views.sent(kind)
        return {} if bundle is None else {kind: cls._one(bundle.code, bundle.css)}

    @classmethod
    def _one(cls, code: str, css: str) -> Program:
        """The one program of these texts."""
        with cls._choosing:
            known = cls._running.get((code, css))
            if known is None or known.comm is None:
                known = cls._running[code, css] = cls(code, css)
            return known

    def _soon(self, work: Callable[[], None]) -> None:
        self._writer.put(work)

    def _repr_keys(self) -> list[str]:
        return []


class Heard(Mirror):
    """A model of which pages hear what a kernel says: it goes back the way that the last message came."""

    _heard: Context | None = None
    """Where the last message came in. News from another thread goes back the same way."""

    def __init__(self, model: WidgetModel, **traits: Any) -> None:
        self._model = model
        super().__init__(**traits)

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return all traits, defaults included: a saved page knows none of our defaults.

        Parameters
        ----------
        key : str or list of str, optional
            The traits; all of them by default.
        drop_defaults : bool, default False
            Ignored: defaults are never dropped.

        Returns
        -------
        dict
            Values by name.
        """
        names = {key} if type(key) is str else key
        told = type(names) in (set, list, tuple)
        if names is not None and not (told and all(type(name) is str and name in self.keys for name in names)):
            raise ParameterError.of(kind_of(key), "a view is asked for traits that it has", "leave key out")
        state: dict[str, Any] = super().get_state(names)
        return state

    def _soon(self, work: Callable[[], None]) -> None:
        self._model.soon(work)

    def send(self, content: Any, buffers: Any = None) -> None:
        """Send one message to the page.

        Parameters
        ----------
        content : Any
            The message. A long text in it is packed, and long columns of its result follow as bytes.
        buffers : list of bytes, optional
            Further bytes beside the message.
        """
        plain, parts = columns.apart(referring(content, self._model.shown_board))
        text = json_text(plain)
        body = packed(text, always=LONE in text)
        if isinstance(body, str):
            super().send(plain, buffers or parts or None)
        else:
            super().send(PACKED, [body, *(buffers or parts)])

    def _handle_msg(self, msg: Any) -> None:
        self._heard = copy_context()
        super()._handle_msg(msg)

    def _send(self, msg: Any, buffers: Any = None) -> None:
        """Send in the context of the last message: the kernel keeps there which of its threads the page talks to.

        Without it the page's next message may be handed to the thread of the cells, and wait for the cell that runs.
        """
        if self._heard is None:
            super()._send(msg, buffers)
        else:
            self._heard.copy().run(super()._send, msg, buffers)

    def _repr_keys(self) -> list[str]:
        return []


class Board(Heard, UnseenModel):
    """The values that the views of one model show: sent once and saved once, however many views there are."""

    def __init__(self, model: WidgetModel) -> None:
        super().__init__(model, **model.mirrors())

    sheet = traitlets.Unicode().tag(sync=True, to_json=packed)
    state = traitlets.Unicode().tag(sync=True, to_json=packed)
    buffers = traitlets.Dict().tag(sync=True)
    """The bytes of the result's long columns, and which result they belong to."""
    result = traitlets.Unicode().tag(sync=True, to_json=packed)
    drawn = traitlets.Unicode().tag(sync=True, to_json=packed)
    """The records drawn from the result on show besides it, where that is a record."""
    lesson = traitlets.Unicode().tag(sync=True, to_json=packed)
    """True counts, which are public, and how often draws miss them; empty but for teaching."""
    pulse = traitlets.Unicode().tag(sync=True)
    views = traitlets.Dict(value_trait=traitlets.Instance(Program)).tag(sync=True, **ipywidgets.widget_serialization)
    """The bundles that draw kinds of answers which the program does not, by kind."""


def _shown(name: str) -> property:
    """A part of the board, as it is read of a view."""
    return property(lambda view: getattr(view.board, name))


class WidgetView(Heard, Long, anywidget.AnyWidget):
    """A view of a model: its synced traits are mirrors, written by the kernel and never read by it.

    A widget names its component and its program, and says which model stands behind it; what it shows stands on the
    model's board; all else is here. Everything it sends is sent by the writer of the model's dispatcher. The view's own
    code only looks up its program and its board.
    """

    _esm = STATIC / "loader.js"
    program_name: ClassVar[str] = "workbench"
    name: ClassVar[str] = ""

    component = traitlets.Unicode().tag(sync=True)
    desk = traitlets.Unicode().tag(sync=True)
    board = traitlets.Instance(Board).tag(sync=True, **ipywidgets.widget_serialization)
    program = traitlets.Instance(Program).tag(sync=True, **ipywidgets.widget_serialization)
    layout = FixedLayoutTrait(FixedLayout).tag(sync=True, **ipywidgets.widget_serialization)

    sheet, state, buffers, result = _shown("sheet"), _shown("state"), _shown("buffers"), _shown("result")
    drawn, lesson, pulse, views = _shown("drawn"), _shown("lesson"), _shown("pulse"), _shown("views")

    def __init__(self, model: WidgetModel) -> None:
        self.on_msg(self._receive)
        own = type(self)
        model.join(self)  # from here on no other view that leaves takes the board with it
        board = model.board(partial(Board, model))
        super().__init__(
            model,
            component=own.name,
            desk=model.id,
            program=Program.of(model.program_of(own.program_name)),
            board=board,
        )

    def answer(self, content: object) -> dict[str, Any] | None:
        """Reply to one message from the page.

        Parameters
        ----------
        content : object
            The message, unchecked. One without an id is dropped.

        Returns
        -------
        dict or None
            The reply; None where none is due.
        """
        return self._model.answer(content)

    def close(self) -> None:
        """Take the view off its pages. The model behind it goes on."""
        if self.comm is not None:  # one that was never made has no model
            self._model.leave(self)
        super().close()

    def _handle_msg(self, msg: Any) -> None:
        super()._handle_msg(msg)
        self.board._heard = self._heard

    def _receive(self, _widget: object, content: object, buffers: object) -> None:
        self._model.watched()
        self._model.receive(content, self.send)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model.title})"


def _not_taken(model: Mirror, name: object, value: object) -> ParameterError:
    rule, step = "what a view shows is written by dpviz alone", "leave it as it is"
    return ParameterError(
        f"{kind_of(value)} cannot be the {short(name, 40)} of {kind_of(model)}: {rule}; {step}",
        value=kind_of(value),
        rule=rule,
        next_step=step,
    )


LONE: Final = r"\ud"
"""The beginning of an escaped surrogate, as `json_text` writes a lone one."""

SURROGATES: Final = re.compile("[\ud800-\udfff]")


def json_text(value: object) -> str:
    """JSON that UTF-8 can hold: half of a surrogate pair, which a text of a page may have, is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if SURROGATES.search(text) is None else json.dumps(value, separators=(",", ":"))


protect_module(vars())
