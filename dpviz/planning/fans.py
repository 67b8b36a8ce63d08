"""Sheets whose points lie on fans: the point on show first, and the others one after the other, each of them once.

A point of most sheets takes some milliseconds, and a sheet has up to two hundred of them. So a sheet can be had in
part: its head, the point on show, and of each fan the points that are there, with None for those to come.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from dpviz.boundary import protect_module
from dpviz.wanted import each

Point: TypeAlias = dict[str, Any]

MOST_POINTS = 2_000
"""The most points that are kept between one sheet and the next."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One point of a sheet, before it is worked out.

    key   what the point follows from: among the sheets that are moved from one another, equal keys are equal points
    make  works it out
    """

    key: Hashable
    make: Callable[[], Point]


class Points:
    """Points that were worked out before, the latest of them. Points that were cut short are not kept. For several
    threads."""

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, Point] = OrderedDict()
        self._seconds, self._made = 0.0, 0

    @property
    def usual(self) -> float:
        """Seconds that a point takes, on average so far."""
        return self._seconds / self._made if self._made else 0.0

    def __len__(self) -> int:
        return len(self._known)

    def known(self, spot: Spot) -> Point | None:
        """The point, where it was worked out before."""
        with self._lock:
            found = self._known.get(spot.key)
            if found is not None:
                self._known.move_to_end(spot.key)
            return found

    def of(self, spot: Spot) -> Point:
        """The point, worked out where it was not yet."""
        found = self.known(spot)
        if found is None:
            began = time.thread_time()
            found = spot.make()
            with self._lock:
                self._seconds, self._made = self._seconds + time.thread_time() - began, self._made + 1
                self._known[spot.key] = found
                while len(self._known) > self._most:
                    self._known.popitem(last=False)
        return found


class Fanned:
    """A sheet of a head, the point on show, and a fan of points for each slider."""

    def head(self) -> dict[str, Any]:
        """All of the sheet but its points, and what takes as long as they do."""
        raise NotImplementedError

    def tail(self) -> dict[str, Any]:
        """The part of the sheet that takes long to work out; null until it is there."""
        return {}

    def here(self) -> Spot:
        """The point on show."""
        raise NotImplementedError

    def fans(self) -> Mapping[str, Sequence[Spot]]:
        """By axis, the points on it: one for each value of its grid."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The whole sheet as the page gets it; see widgets/PROTOCOL.md."""
        part = PartialSheet.of(self, Points())
        for _ in part.rest():
            pass
        return part.shown


def key_of(sheet: Any, *more: Hashable) -> Hashable:
    """The inputs of a point, where that is all that a sheet is made of."""
    return (*(getattr(sheet, part.name) for part in fields(sheet)), *more)


@dataclass
class PartialSheet:
    """A sheet as far as it is there.

    shown    what the page gets: of each fan None where a point is to come
    missing  where these are: axis, place on it, and what is to be worked out; a tail that is to come has no place
    """

    sheet: Fanned
    points: Points
    shown: dict[str, Any]
    missing: list[tuple[str, int, Spot]] = field(default_factory=list)
    _tail: bool = True

    @classmethod
    def of(cls, sheet: Fanned, points: Points) -> PartialSheet:
        """The head, the point on show, and what is known of the fans."""
        spots = sheet.fans()
        fans: dict[str, list[Point | None]] = {
            name: [points.known(spot) for spot in one] for name, one in spots.items()
        }
        missing = [
            (name, place, spot)
            for name, one in spots.items()
            for place, spot in enumerate(one)
            if fans[name][place] is None
        ]
        shown = {**sheet.head(), "now": points.of(sheet.here()), "fans": fans}
        return cls(sheet, points, shown, missing)

    @property
    def complete(self) -> bool:
        return not self.missing and not self._tail

    def rest(self) -> Iterator[None]:
        """Work out what is missing, one thing at a time, for as long as it is wanted (`dpviz.wanted`)."""
        for name, place, spot in each(list(self.missing)):
            self.shown["fans"][name][place] = self.points.of(spot)
            self.missing.pop(0)
            yield
        if self._tail:
            self.shown.update(self.sheet.tail())
            self._tail = False
            yield


protect_module(vars())
