"""The base of the explorers: one sheet of public things, and one ask that moves its centre. No session, no data."""

from __future__ import annotations

import json
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping
from itertools import chain
from typing import Any, ClassVar, Protocol, TypeAlias

from dpviz import wanted
from dpviz.boundary import protect_module
from dpviz.errors import DpvizError
from dpviz.planning.fans import Fanned, PartialSheet, Points
from dpviz.widgets import messages
from dpviz.widgets.dispatcher import Body, Dispatcher
from dpviz.widgets.model import WidgetModel
from dpviz.widgets.packing import weight
from dpviz.widgets.view import WidgetView, json_text


class Sheet(Protocol):
    """A sheet that a page redraws from, and that can be made again through another point."""

    def to_json(self) -> dict[str, Any]: ...

    def moved(self, point: Mapping[str, str]) -> Sheet: ...


Slow: TypeAlias = Mapping[str, Callable[[Body], Callable[[], Body]]]
"""The computation for an ask, and the action on its result."""


BEGUN = 0.04
"""A sheet that takes more seconds is sent as far as it is there; the rest follows once it is worked out."""
BEGUN_TEXT = 80_000
"""The most characters that are sent at first, some 15 kB as they travel."""
MOVE = 57_000
"""A move sends no more bytes than that, first and last together. Of longer fans a page gets the points that are wanted
next, and asks for the others where a slider is moved there."""
MOST_TEXT = 64 * 2**20
"""Whole sheets are kept for places that are seen again, of so many characters together."""


class Whole:
    """Whole sheets by place, as texts, the latest of them."""

    def __init__(self, most: int = MOST_TEXT) -> None:
        self._most = most
        self._known: OrderedDict[Hashable, str] = OrderedDict()
        self._size = 0

    def get(self, place: Hashable) -> str | None:
        found = self._known.get(place)
        if found is not None:
            self._known.move_to_end(place)
        return found

    def keep(self, place: Hashable, text: str) -> None:
        self._size += len(text) - len(self._known.pop(place, ""))
        self._known[place] = text
        while self._size > self._most:
            self._size -= len(self._known.popitem(last=False)[1])


class Exploring(WidgetModel):
    """A sheet, and the one ask that moves its centre. A kind of explorer may have more asks.

    A sheet that takes long is shown in part first: the point on show and what is known of its fans. Missing parts are
    worked out while nobody asks for anything, and then all of it is shown, as far as a move may send it.
    """

    asks: ClassVar[messages.Asks] = messages.EXPLORERS

    def __init__(self, sheet: Sheet) -> None:
        self._points, self._whole = Points(), Whole()
        super().__init__(
            Dispatcher(
                self.asks,
                "see the notebook's log",
                quick={"status": lambda request: {}},
                slow=self.slow(),
            )
        )
        self.sheet = sheet
        self._most: int | None = None
        """Bytes that are left for the rest of the sheet on show; None for the first, which is saved and sent whole."""
        self._asked: Hashable = None
        """The place that was asked for, of the sheet on show."""
        self._text, self._part = self._begun(sheet)
        self._go_on()

    def slow(self) -> Slow:
        """The asks that take a while, by name, each with the call that answers it."""
        return {"move": self._on_move}

    def mirrors(self) -> dict[str, Any]:
        return {"sheet": self._text}

    @property
    def shown(self) -> dict[str, Any]:
        """The whole sheet through the point on show."""
        if not isinstance(self.sheet, Fanned):
            return self.sheet.to_json()
        part = PartialSheet.of(self.sheet, self._points)
        deque(part.rest(), maxlen=0)
        return part.shown

    def _on_move(self, args: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        asked = _place(args["place"])  # where a slider moved another, the sheet stands at another place
        try:
            sheet = self.sheet.moved(args["place"])
            text, part = self._begun(sheet, self._whole.get(asked))
        except DpvizError:
            self._go_on()
            raise

        def apply() -> dict[str, Any]:
            self.sheet, self._text, self._part, self._most = sheet, text, part, MOVE - weight(text)
            self._asked = asked
            if part is None:
                self._whole.keep(asked, text)
            self.show(self.mirrors())
            self._go_on()
            return {}

        return apply

    def _begun(self, sheet: Sheet, known: str | None = None) -> tuple[str, PartialSheet | None]:
        """The sheet as a text, as far as it is there in a moment, and what is to come of it."""
        if known is not None:
            return known, None
        wanted.check()
        if not isinstance(sheet, Fanned):
            return json_text(sheet.to_json()), None
        until, part = time.monotonic() + BEGUN, PartialSheet.of(sheet, self._points)
        rest, soon = part.rest(), self._points.usual * len(part.missing) < BEGUN
        while soon and not part.complete and time.monotonic() < until:
            next(rest)
        wanted.check()
        text, whole = begun(part.shown)
        if not (part.complete and whole):
            return text, part
        self._whole.keep(_place(part.shown["now"]["at"]), text)
        return text, None

    def _go_on(self) -> None:
        """Work out what is missing of the sheet on show, until somebody asks for something."""
        part, most, before, asked = self._part, self._most, self._text, self._asked
        if part is not None:
            self._dispatcher.meanwhile(lambda: self._complete(part, most, before, asked))

    def _complete(self, part: PartialSheet, most: int | None, before: str, asked: Hashable) -> None:
        deque(part.rest(), maxlen=0)
        kept = fitting(part.shown, MOVE if most is None else most)
        rest = kept if weight(kept) <= (most or 0) else before
        text = json_text(part.shown) if most is None else rest

        def apply() -> None:
            for place in (_place(part.shown["now"]["at"]), *([] if asked is None else [asked])):
                self._whole.keep(place, kept)
            if self._part is part:
                self._text, self._part = text, None
                self.show(self.mirrors())

        self.soon(apply)


def begun(shown: dict[str, Any]) -> tuple[str, bool]:
    """A sheet as the text that is sent at first, and whether this is all that is there of it."""
    text = json_text(shown)
    return (text, True) if len(text) <= BEGUN_TEXT else (fitting(shown, BEGUN_TEXT, len, text), False)


def fitting(shown: dict[str, Any], most: int, size: Callable[[str], int] = weight, whole: str | None = None) -> str:
    """A sheet as a text of at most so many bytes, as they travel: with fewer points where it would be longer."""
    share, text = 1.0, json_text(shown) if whole is None else whole
    while (found := size(text)) > most and share > 0.01:
        share *= 0.95 * most / found
        text = json_text(thinned(shown, share))
    return text


def thinned(shown: dict[str, Any], share: float) -> dict[str, Any]:
    """A sheet with this share of each fan: next to the point on show, the ends, then halves of what lies between."""
    now, grids = shown["now"]["at"], {axis["name"]: axis["grid"] for axis in shown["axes"]}
    fans = {}
    for name, fan in shown["fans"].items():
        here = grids[name].index(now[name]) if now[name] in grids[name] else len(fan) // 2
        kept = {*by_need(len(fan), here)[: round(share * len(fan))]}
        fans[name] = [point if place in kept else None for place, point in enumerate(fan)]
    return {**shown, "fans": fans}


def by_need(length: int, here: int) -> list[int]:
    """The places of a fan, those first that are wanted next.

    >>> by_need(9, 6)
    [6, 5, 7, 0, 8, 4, 2, 1, 3]
    """
    halves = (range(0, length, length >> level or 1) for level in range(1, length.bit_length() + 1))
    places = chain((here, here - 1, here + 1, 0, length - 1), *halves)
    return [place for place in dict.fromkeys(places) if 0 <= place < length]


def _place(at: Mapping[str, object]) -> Hashable:
    """The same for the same place, whatever a page says of it."""
    return json.dumps(at, sort_keys=True)


class Explorer(WidgetView):
    """A view of one sheet."""

    program_name: ClassVar[str] = "explorers"
    title: ClassVar[str] = ""
    exploring: ClassVar[type[Exploring]] = Exploring

    def __init__(self, sheet: Sheet) -> None:
        self._exploring = self.exploring(sheet)
        super().__init__(self._exploring)

    @property
    def shown(self) -> dict[str, Any]:
        """The sheet on show, as it was made here: for a report. Texts that a page wrote into a trait are not in it."""
        return self._exploring.shown


protect_module(vars())
