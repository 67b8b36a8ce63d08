"""The names of the bins along their axis, and the room they take."""

from __future__ import annotations

from collections.abc import Sequence

from dpviz.charts.canvas import AXIS_ROOM
from dpviz.charts.theme import SMALL
from dpviz.charts.words import MINUS, measured, shown
from dpviz.model.domain import Domain, IntegerDomain, IntervalDomain

MOST_LYING = 24
"""Up to so many categories lie on their side, so that long names can be read."""


def lies(domain: Domain) -> bool:
    """Whether the bars lie on their side."""
    return domain.kind in ("categories", "product") and domain.size <= MOST_LYING


def plot_width(domain: Domain, width: int) -> int:
    """Long names of lying bars take their room from the plot."""
    return max(width // 2, width - int(room_for(domain, width) - AXIS_ROOM + 8))


def room_for(domain: Domain, width: int) -> float:
    """Pixels left of the plot: the names of lying bars, or the numbers of the axis."""
    if not lies(domain):
        return AXIS_ROOM - 8
    return round(max(measured(name, SMALL) for _, name in ticks(domain, width)) + 12)


def ticks(domain: Domain, width: float) -> list[tuple[float, str]]:
    """Where the axis of the bins names them: what lies outside the range first, then every so many, none touching."""
    size = domain.size
    if lies(domain):
        most = int(width * 0.34 / (0.55 * SMALL))
        return [(index, _cut(domain.short_label(index), most)) for index in range(size)]
    pitch = width / size
    if isinstance(domain, IntervalDomain):
        places = _edges(domain)
    else:
        places = [(float(index), domain.short_label(index)) for index in range(size)] if size <= 20_000 else []
        places = places or [(float(index), domain.short_label(index)) for index in range(0, size, size // 10_000)]
    outside = _outside(domain)
    inner = [(at, name) for at, name in places if at not in outside]
    widest = max((measured(_cut(name)) for _, name in inner), default=0.0) + 24
    gap = max(abs(inner[1][0] - inner[0][0]) * pitch, 1e-9) if len(inner) > 1 else 1.0
    every = _stride(widest / gap)
    first = _first(inner, every) if isinstance(domain, IntegerDomain) else 0
    taken: list[tuple[float, float]] = []
    found = []
    for at, name in [*((at, name) for at, name in places if at in outside), *inner[first::every]]:
        half = measured(_cut(name)) / 2 + 4
        middle = (at + 0.5) * pitch
        if all(middle - half >= right or middle + half <= left for left, right in taken):
            taken.append((middle - half, middle + half))
            found.append((at, _cut(name).replace("-", MINUS) if isinstance(domain, IntegerDomain) else _cut(name)))
    return sorted(found)


def _outside(domain: Domain) -> set[float]:
    """The bins for what falls under, over or nowhere, which end the axis."""
    if not isinstance(domain, IntegerDomain | IntervalDomain):
        return set()
    inner = range(domain.underflow, domain.underflow + domain.inner)
    return {float(index) for index in range(domain.size) if index not in inner}


def _edges(domain: IntervalDomain) -> list[tuple[float, str]]:
    """Intervals are named at their edges."""
    inner = [(domain.underflow + place - 0.5, shown(edge)) for place, edge in enumerate(domain.edges)]
    return sorted([*inner, *((at, domain.short_label(int(at))) for at in _outside(domain))])


def _first(inner: Sequence[tuple[float, str]], every: int) -> int:
    """The first bin whose number is a multiple of the stride."""
    return -int(inner[0][1]) % every if inner else 0


def _stride(least: float) -> int:
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= least:
                return step * power
        power *= 10


def _cut(name: str, most: int = 16) -> str:
    return name if len(name) <= most else name[: max(1, most - 1)] + "…"


def position(at: float) -> str:
    """A place on the axis as the page writes it, to look its name up."""
    return str(int(at)) if at == int(at) else repr(float(at))
