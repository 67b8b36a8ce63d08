"""A ranked list or a set: what came in filled cells, ⊥ in an outlined one, unused places dashed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import altair as alt

from dpviz.boundary import plain_arguments
from dpviz.charts.canvas import DASHES, Picture, picture_of, refused, width_of
from dpviz.charts.counts import ARROWS
from dpviz.charts.picture import promise
from dpviz.charts.registry import register
from dpviz.charts.tables import errors_sentence
from dpviz.charts.theme import FLOOR, SMALL, TEXT, TITLE, Ink, Palette, Theme, palette
from dpviz.charts.words import capital, measured, shown, wrapped
from dpviz.exact import Number, probability
from dpviz.model.answers import Listing
from dpviz.model.release import ENDINGS, Release

CELL, GAP, ROW, NARROW, WIDE = 28, 6, 52, 56, 140
"""Pixels: a cell's height, the room between two, a row with its rank above, and how narrow and wide a cell may be."""

TOP, AXIS = 16.0, 36.0
"""Pixels above the first cell, and where an axis stands above it."""

THICK, THIN = 3.4, 1.0

MOST_CELLS = 1_000
"""Of a longer set the first cells are drawn."""


@plain_arguments
def ranked(release: Release, *, beta: Number = "0.05", theme: Theme = "light", width: int = 700) -> Picture:
    """Draw a ranked list or a set: items in filled cells, ⊥ (no more) outlined, unused places dashed.

    Parameters
    ----------
    release : Release
        A release of a list or a set.
    beta : str, float or Fraction, default "0.05"
        How often an error bar may fail: 0.05 draws bars that hold 95 times in 100.
    theme : {"light", "dark"}, default "light"
        The colours.
    width : int, default 700
        The width of the picture, in pixels.

    Returns
    -------
    Picture
        An Altair chart.

    Raises
    ------
    Forbidden
        If the first argument is of another kind.
    ParameterError
        If an option is outside its range.

    Notes
    -----
    Where the mechanism releases noisy counts of its items, they stand beside the cells with their error bars: thick for
    any one item, thin with caps for all at once, wrong at most `beta` of the time. A set's order says nothing.
    """
    colours, level, wide = palette(theme), probability(beta, "beta", zero=False), width_of(width)
    if not isinstance(release, Release) or (listing := release.listing) is None:
        refused(release, "a Release of a list or a set")
    ink = colours.release if release.teaching is None else colours.public
    drawn = _List(release, _cells(listing), colours, ink, wide)
    part = _grid(drawn) if not release.valued else _rows(drawn, level)
    promised = f"{capital(promise(release))}."
    title, sentences = release.title, [promised, release.sentence, *release.sureness(level)]
    if release.teaching is not None:
        title = f"Not private · teaching, seed {release.teaching}"
        sentences = [release.title, *sentences]
    if release.valued:
        sentences.append(f"{errors_sentence(release, level)} {release.answer.remark(release.reading)}")
        sentences += [ARROWS] if release.reading.limited.cuts else []
    if not release.valued and len(listing.items) > MOST_CELLS:
        sentences.append(f"The first {MOST_CELLS:,} are drawn.")
    return picture_of(
        [part],
        title=wrapped(title, wide, TITLE),
        subtitle=[line for sentence in sentences for line in wrapped(sentence, wide, TEXT)],
        description=_finding(release),
        colours=colours,
        head=colours.ink if release.teaching is None else ink.strong,
        left=0,
    )


register("list", ranked)


@dataclass(frozen=True)
class _Cell:
    """One place of the list: an item, ⊥, or a place that was not used."""

    kind: str
    words: str
    rank: str


@dataclass(frozen=True)
class _List:
    release: Release
    cells: list[_Cell]
    colours: Palette
    ink: Ink
    wide: int

    @property
    def filled(self) -> str:
        """The colour of what was paid; violet where nothing was."""
        return self.colours.ink if self.release.teaching is None else self.ink.strong

    @property
    def cell(self) -> float:
        """How wide a cell is: for the longest item, within limits. Bins of several columns have longer names."""
        longest = max((measured(cell.words, SMALL) for cell in self.cells), default=0)
        limit = WIDE if len(self.release.question.domain.factors) == 1 else 2 * WIDE
        return min(limit, max(NARROW, math.ceil(1.1 * longest) + 16))

    def cut(self, words: str) -> str:
        most = max(1, int((self.cell - 16) / (0.62 * SMALL)))
        return words if measured(words, SMALL) * 1.1 <= self.cell - 12 else words[: most - 1] + "…"


def _cells(listing: Listing) -> list[_Cell]:
    ordered = listing.ordered
    names = listing.short or listing.items
    drawn = names if listing.values is not None else names[:MOST_CELLS]
    items = [_Cell("item", item, str(place + 1) if ordered else "") for place, item in enumerate(drawn)]
    if listing.ended:
        items.append(_Cell("bottom", "⊥", ""))
    return items + [_Cell("unused", "", "")] * (listing.most - len(names) - listing.ended)


def _finding(release: Release) -> str:
    """Describe the chart in one sentence, for a reader who cannot see it."""
    marked = "" if release.teaching is None else f"Not private · teaching, seed {release.teaching}. "
    listed = ", ".join(release.items[:10]) + (", …" if len(release.items) > 10 else "")
    said = " ".join(filter(None, (release.sentence, release.limits)))
    return f"{marked}{release.title}: {listed + '. ' if listed else ''}{said}"


def _layers(drawn: _List, places: list[tuple[float, float]], tall: float) -> list[alt.Chart]:
    """The cells at these left and upper ends, each kind as it is drawn, with its words and its rank above."""
    rows = [
        {
            "x": x,
            "x2": x + drawn.cell,
            "middle": x + drawn.cell / 2,
            "y": y,
            "y2": y + CELL,
            "text": drawn.cut(cell.words),
            "rank": cell.rank,
            "kind": cell.kind,
        }
        for cell, (x, y) in zip(drawn.cells, places, strict=True)
    ]
    looks: dict[str, dict[str, Any]] = {
        "item": {"fill": drawn.filled, "stroke": drawn.filled, "strokeWidth": 1},
        "bottom": {"fillOpacity": 0, "stroke": drawn.colours.ink, "strokeWidth": 2},
        "unused": {"fillOpacity": 0, "stroke": drawn.colours.rule, "strokeWidth": 1, "strokeDash": [4, 3]},
    }
    texts = {"item": drawn.colours.ground, "bottom": drawn.colours.ink}
    layers = []
    for kind, look in looks.items():
        some = [row for row in rows if row["kind"] == kind]
        if not some:
            continue
        data = alt.Chart(alt.InlineData(values=some))
        layers.append(
            data.mark_rect(aria=False, cornerRadius=2, **look).encode(
                x=_pixel("x", drawn.wide), x2="x2:Q", y=_pixel("y", tall, down=True), y2="y2:Q"
            )
        )
        if kind in texts:
            layers.append(
                data.transform_calculate(across="(datum.y + datum.y2) / 2")
                .mark_text(baseline="middle", fontSize=SMALL, fontWeight="bold", color=texts[kind], aria=False)
                .encode(x=_pixel("middle", drawn.wide), y=_pixel("across", tall, down=True), text="text:N")
            )
        if kind == "item" and some[0]["rank"]:
            layers.append(
                data.mark_text(
                    align="left", baseline="bottom", dy=-2, fontSize=FLOOR, color=drawn.colours.quiet, aria=False
                ).encode(x=_pixel("x", drawn.wide), y=_pixel("y", tall, down=True), text="rank:N")
            )
    return layers


def _pixel(name: str, size: float, *, down: bool = False) -> Any:
    """A place in pixels, given by a field."""
    scale = alt.Scale(domain=[size, 0] if down else [0, size], nice=False, zero=False)
    return (alt.Y if down else alt.X)(name, type="quantitative", scale=scale, axis=None)


def _grid(drawn: _List) -> alt.LayerChart:
    """The cells side by side in reading order."""
    across = max(1, int((drawn.wide + GAP) // (drawn.cell + GAP)))
    places = [(i % across * (drawn.cell + GAP), TOP + i // across * ROW) for i in range(len(drawn.cells))]
    tall = max(ROW, ROW * math.ceil(len(places) / across))
    return alt.LayerChart(layer=_layers(drawn, places, tall)).properties(width=drawn.wide, height=tall)


def _rows(drawn: _List, beta: Fraction) -> alt.LayerChart:
    """One cell below the other, each item with its value and both its bars on one axis from 0."""
    release = drawn.release
    alone, together = (release.intervals(beta, among, of="counted") for among in ENDINGS)
    stands = release.reading.limited.ends
    tall = AXIS + ROW * len(drawn.cells)
    layers: list[Any] = _layers(drawn, [(0.0, AXIS + ROW * i) for i in range(len(drawn.cells))], tall)
    values = release.values
    if not values:
        return alt.LayerChart(layer=layers).properties(width=drawn.wide, height=tall)
    ends = [float(end) for some in (alone, together) if some is not None for end in some.high if end is not None]
    furthest = max(1, math.ceil(max([*ends, *map(float, values)])))
    left, room = drawn.cell + 24, drawn.wide - drawn.cell - 24 - measured(shown(furthest), SMALL) - 12
    step = _step(furthest, room)
    ticks = range(0, furthest + 1, step)

    def at(count: float) -> float:
        return left + max(0.0, room * float(count) / furthest)

    def marks(kind: str, rows: list[dict[str, Any]], **look: Any) -> None:
        chart = getattr(alt.Chart(alt.InlineData(values=rows)), f"mark_{kind}")(aria=False, **look)
        ends = {f"{axis}2": f"{axis}2:Q" for axis in "xy" if f"{axis}2" in rows[0]}
        said = {"text": "text:N"} if "text" in rows[0] else {}
        layers.append(chart.encode(x=_pixel("x", drawn.wide), y=_pixel("y", tall, down=True), **ends, **said))

    middles = [AXIS + ROW * i + CELL / 2 for i in range(len(values))]
    marks("rule", [{"x": at(t), "y": 14, "x2": at(t), "y2": tall - 16} for t in ticks], color=drawn.colours.grid)
    axis = {"baseline": "bottom", "fontSize": FLOOR, "color": drawn.colours.quiet}
    marks("text", [{"x": at(t), "y": 12, "text": shown(t)} for t in ticks], **axis)
    for intervals, thick in ((together, THIN), (alone, THICK)):
        if intervals is None:
            continue
        look = {"strokeWidth": thick, "strokeDash": DASHES[intervals.how], "color": drawn.ink.strong}
        both = list(zip(intervals.low, intervals.high, middles, strict=True))
        rows = [
            {"x": at(0 if low is None else low), "x2": at(furthest if high is None else high), "y": y, "y2": y}
            for low, high, y in both
        ]
        marks("rule", rows, **look)
        holding = [(one[side], one[2]) for one in both for side in (0, 1) if stands[side]]
        closed = [(at(end), y) for end, y in holding if end is not None]
        if thick == THIN and closed:
            caps = [{"x": x, "x2": x, "y": y - 5, "y2": y + 5} for x, y in closed]
            marks("rule", caps, strokeWidth=THIN, color=drawn.ink.strong)
        if intervals is (together or alone) and not all(stands):
            for side, shape in enumerate(("triangle-left", "triangle-right")):
                tips = [{"x": at(one[side]), "y": one[2]} for one in both if one[side] is not None]
                if tips and not stands[side]:
                    marks("point", tips, shape=shape, filled=True, size=40, opacity=1, color=drawn.ink.strong)
    dots = [{"x": at(value), "y": y, "text": shown(value)} for value, y in zip(values, middles, strict=True)]
    marks("point", dots, shape="circle", filled=True, size=60, opacity=1, color=drawn.ink.strong)
    said = {"dy": -9, "baseline": "bottom", "fontSize": SMALL, "fontWeight": "bold", "color": drawn.colours.ink}
    marks("text", dots, **said)
    return alt.LayerChart(layer=layers).properties(width=drawn.wide, height=tall)


def _step(most: int, room: float) -> int:
    """From tick to tick, so that no two of them touch."""
    apart = measured(shown(most)) + 16
    power = 1
    while True:
        for step in (1, 2, 5):
            if room * step * power / most >= apart:
                return step * power
        power *= 10
