"""Intervals of one width, found by arithmetic in an engine instead of by comparisons with every edge.

Floats are subtracted, divided and rounded down: each of these is increasing, whatever is rounded on the way. So it is
enough to look at both sides of each edge, once, before any row is read: where the least value of every interval and
the greatest one before its end are placed right, all values between them are. Where some are placed one off, the edges
beside the place are computed, too, and compared with, which is tried on both sides of each edge likewise. Where that
does not do, there is no arithmetic: whoever asks compares with the edges.

Numbers here are IEEE floats of 64 bits, in NumPy as in an engine, and nothing is fused into one step: an engine takes
one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Final

import ibis
import numpy as np
from numpy.typing import NDArray

from dpviz.engines.values import EXACT

FEWEST: Final = 4
"""Fewer intervals are found as fast by comparing with their edges."""
MOST: Final = 2**31 - 1
"""More of them have no number of 32 bits."""
TRIED_ON: Final = ("duckdb", "pyspark")
"""Ibis's names of the engines whose arithmetic was tried."""


@ibis.udf.scalar.builtin(name="floor")  # type: ignore[untyped-decorator]
def _floor(value: float) -> float:
    """The engine's own, as a float: of Ibis's, which is a whole number at once, an infinity makes a query fail."""
    raise NotImplementedError("computed by the engine")


@dataclass(frozen=True)
class EqualWidths:
    """`count` intervals from `start` on, each `width` wide.

    The edge number k is (begin + k * step) / parts, where each is a whole number that is a float; `corrected` says
    whether places are compared with these edges.
    """

    count: int
    start: float
    width: float
    begin: int
    step: int
    parts: int
    corrected: bool

    @classmethod
    def of(cls, edges: Sequence[Fraction], limits: Sequence[Any], dtype: np.dtype[Any]) -> EqualWidths | None:
        """Arithmetic that is right for every value of a type; None where there is none, or none is needed.

        limits  the least value in each interval, and the least above all of them
        """
        count, width = len(edges) - 1, edges[1] - edges[0]
        if not FEWEST <= count <= MOST or any(edge != edges[0] + place * width for place, edge in enumerate(edges)):
            return None
        plain = (
            limit.item() if isinstance(limit, np.generic) else limit for limit in limits
        )  # short floats end sooner
        if any(not -EXACT < limit < EXACT for limit in plain):
            return None
        parts = lcm(edges[0].denominator, width.denominator)
        begin, step = int(edges[0] * parts), int(width * parts)
        if max(parts, abs(begin) + (count + 2) * step) >= EXACT:
            return None
        first, last = sides(limits, dtype)
        ways = (cls(count, begin / parts, step / parts, begin, step, parts, corrected) for corrected in (False, True))
        return next((one for one in ways if one.right(first, last)), None)

    def right(self, first: NDArray[np.float64], last: NDArray[np.float64]) -> bool:
        """Whether all values from the first to the last one of each interval are placed in it."""
        places = np.arange(self.count)
        near, far = self._guess(first), self._guess(last)
        if not self.corrected:
            return bool((near == places).all() and (np.minimum(far, self.count - 1) == places).all())
        close = (abs(near - places) <= 1).all() and (abs(far - places) <= 1).all()
        return bool(close and (first >= self._edge(places)).all() and (last[:-1] < self._edge(places[1:])).all())

    def _guess(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.floor((values - self.start) / self.width)

    def _edge(self, places: NDArray[Any]) -> NDArray[np.float64]:
        return (self.begin + places.astype(np.float64) * self.step) / self.parts

    def place(self, value: Any) -> Any:
        """The number of the interval of a value that lies in one, as a whole number of 64 bits; of all others
        anything."""
        guess = self._floored(value)
        place = guess.try_cast("int32").cast("int64")  # null where it is too large, and 1 more is never too large
        if self.corrected:
            value = value.cast("float64")
            after, before = (value >= self._edge_after(guess, 1)), (value < self._edge_after(guess, 0))
            place = place + after.cast("int64") - before.cast("int64")
        return self._ended(place)

    def guessed(self, value: Any) -> tuple[Any, Callable[[Any], Any]] | None:
        """A number that is found faster and tells intervals apart, and how the number of the interval is made from it,
        once for each number that comes; None where places are compared with edges."""
        if self.corrected:
            return None
        return self._floored(value).try_cast("int32"), lambda guess: self._ended(guess.cast("int64"))

    def _floored(self, value: Any) -> Any:
        value = value.cast("float64")
        from_start = value - _float(self.start) if self.start else value
        return _floor(from_start / _float(self.width) if self.width != 1 else from_start)

    def _ended(self, place: Any) -> Any:
        return ibis.least(place, ibis.literal(self.count - 1, "int64"))  # the last interval has its end

    def _edge_after(self, guess: Any, more: int) -> Any:
        return (guess * _float(self.step) + _float(self.begin + more * self.step)) / _float(self.parts)


def tried_on(value: Any) -> bool:
    """Whether the engine of a column is one that this arithmetic was tried on."""
    return value.get_backend().name in TRIED_ON


def sides(limits: Sequence[Any], dtype: np.dtype[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first and the last value of a type in each interval."""
    held = np.array(limits, dtype=dtype if dtype.kind == "f" else np.int64)
    before = np.nextafter(held, held.dtype.type(-np.inf)) if dtype.kind == "f" else held - 1
    return held[:-1].astype(np.float64), before[1:].astype(np.float64)


def _float(value: float) -> Any:
    return ibis.literal(repr(float(value))).cast("float64")
