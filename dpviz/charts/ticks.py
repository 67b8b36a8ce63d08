"""The names of the bins along their axis, and the room they take."""

from __future__ import annotations

from collections.abc import Callable

from dpviz.charts.canvas import AXIS_ROOM
from dpviz.charts.theme import SMALL
from dpviz.charts.words import measured
from dpviz.exact import text
from dpviz.model.domain import Domain, IntegerDomain, IntervalDomain, TimeDomain

MOST_LYING = 24
"""Up to so many categories lie on their side, so that long names can be read."""

MOST_MEASURED = 2_000
"""From so many names the room for one is judged."""


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


def ticks(domain: Domain, width: float, told: Callable[[str], str] = str) -> list[tuple[float, str]]:
    """Where the axis of the bins names them: what lies outside the range first, then every so many, none touching."""
    size = domain.size
    if lies(domain):
        most = int(width * 0.34 / (0.55 * SMALL))
        return [(index, _cut(told(domain.short_label(index)), most)) for index in range(size)]
    inside = _inside(domain)
    edged = isinstance(domain, IntervalDomain)  # intervals are named at their edges
    count, start = len(inside) + edged, inside.start - edged / 2

    def name(place: int) -> str:
        if isinstance(domain, IntervalDomain):
            return told(text(domain.edges[place]))
        return told(domain.short_label(inside.start + place))

    pitch = width / size
    sample = range(0, count, max(1, count // MOST_MEASURED))
    every = _stride((max(measured(_cut(name(place))) for place in sample) + 24) / pitch)
    first = -domain.low % every if isinstance(domain, IntegerDomain) else 0
    outside = [(float(at), told(domain.short_label(at))) for at in (*range(inside.start), *range(inside.stop, size))]
    taken: list[tuple[float, float]] = []
    found = []
    for at, words in [*outside, *((start + place, name(place)) for place in range(first, count, every))]:
        half = measured(_cut(words)) / 2 + 4
        middle = (at + 0.5) * pitch
        if all(middle - half >= right or middle + half <= left for left, right in taken):
            taken.append((middle - half, middle + half))
            found.append((at, _cut(words)))
    return sorted(found)


def _inside(domain: Domain) -> range:
    """The bins but for those of what falls under, over or nowhere, which stand at the ends."""
    if isinstance(domain, IntegerDomain | IntervalDomain | TimeDomain):
        return range(domain.underflow, domain.underflow + domain.inner)
    return range(domain.size)


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
