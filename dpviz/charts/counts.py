"""The histogram: released counts with both their error bars, or public counts in violet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import altair as alt
import numpy as np
from numpy.typing import NDArray

from dpviz.charts.canvas import AXIS_ROOM, DASHES, Picture, picture_of, refused, upright_axis, width_of
from dpviz.charts.picture import promise
from dpviz.charts.theme import FLOOR, SMALL, TEXT, TITLE, Ink, Palette, Theme, palette
from dpviz.charts.words import MINUS, capital, known, measured, often, shown, spread, wrapped
from dpviz.errors import ParameterError
from dpviz.exact import Number, probability
from dpviz.model.answer import Table
from dpviz.model.domain import Domain, IntegerDomain, IntervalDomain
from dpviz.model.error import ErrorValue
from dpviz.model.public import PublicTable
from dpviz.model.release import Release

Bars = Literal["both", "one", "all"]

MOST_SINGLE = 500
"""Up to so many bins each has its own marks; above, one mark per pixel column."""

MOST_LYING = 24
"""Up to so many categories lie on their side, so that long names can be read."""

LEGIBLE = 3
"""The least length in pixels of a one-bin bar, from the value outward, that a reader can make out."""

MOST_LABELS = 5
TALL, TALL_CUT, ROW = 190, 150, 28
LABEL_HEIGHT = 18


def histogram(
    counts: Release | PublicTable,
    *,
    beta: Number = "0.05",
    theme: Theme = "light",
    width: int = 700,
    bars: Bars = "both",
) -> Picture:
    """Counts with their error bars: thick for any one bin, thin with caps for all bins at once.

    counts  a Release, a teaching draw, or a PublicTable (violet, hatched, no error bars)
    beta    how often an error bar may fail: 0.05 draws bars that hold 95 times in 100
    theme   "light" or "dark"
    width   of the plot, in pixels; long names of categories take their room from it
    bars    "both", "one" (any one bin) or "all" (all bins at once)

    Bars start at 0. An interval is cut, without a cap, where the public range of the release ends. Where the error
    bars are too short to read, a second panel is cut so that they can be read; where it is cut depends on released
    values and planned error only. Above 500 bins one mark stands for each pixel column.
    """
    colours = palette(theme)
    if bars not in ("both", "one", "all"):
        raise ParameterError.of(bars, 'bars must be "both", "one" or "all"')
    level = probability(beta, "beta", zero=False)
    wide = width_of(width)
    if isinstance(counts, Release):
        drawn = _Counts.released(counts, level, colours)
        return _released(counts, drawn, bars, _plot_width(drawn, wide))
    if isinstance(counts, PublicTable):
        drawn = _Counts.public(counts, colours)
        return _public(counts, drawn, _plot_width(drawn, wide))
    refused(counts, "a Release or a PublicTable")


of_release = histogram


# ---------------------------------------------------------------- what is drawn


@dataclass(frozen=True)
class _Counts:
    """What a histogram is drawn from, whichever door it came through. Public throughout."""

    domain: Domain
    values: NDArray[np.int64]
    nouns: str
    ink: Ink
    colours: Palette
    verb: str
    often: str = ""
    one: ErrorValue | None = None
    every: ErrorValue | None = None
    clamp: tuple[int | None, int | None] = (None, None)
    real: bool = True
    """A release, paid for; not a teaching draw and not a public table."""

    @classmethod
    def released(cls, release: Release, beta: Any, colours: Palette) -> _Counts:
        one, every = release.bars(beta)
        assert isinstance(release.answer, Table)
        real = release.teaching is None
        return cls(
            domain=release.question.domain,
            values=release.answer.values,
            nouns=release.unit.nouns,
            ink=colours.release if real else colours.public,
            colours=colours,
            verb="released" if real else "drawn",
            often=often(beta),
            one=one,
            every=every,
            clamp=release.bound.clamp,
            real=real,
        )

    @classmethod
    def public(cls, table: PublicTable, colours: Palette) -> _Counts:
        values = np.asarray(table.counts, dtype=np.int64)
        return cls(table.domain, values, table.nouns, colours.public, colours, verb="counted", real=False)

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def bars(self) -> bool:
        return self.one is not None

    def ends(self, bar: ErrorValue | None) -> _Ends:
        """Each value ± bar, cut at the public limits; a cut end gets no cap."""
        half = 0 if bar is None else int(bar.value // 1)
        low, high = self.values - half, self.values + half
        least, most = self.clamp
        below = np.zeros(self.size, dtype=bool) if least is None else low < least
        above = np.zeros(self.size, dtype=bool) if most is None else high > most
        return _Ends(np.where(below, least or 0, low), np.where(above, most or 0, high), below, above)

    @cached_property
    def alone(self) -> _Ends:
        return self.ends(self.one)

    @cached_property
    def among(self) -> _Ends:
        return self.ends(self.every)


@dataclass(frozen=True)
class _Ends:
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    low_cut: NDArray[np.bool_]
    high_cut: NDArray[np.bool_]


@dataclass(frozen=True)
class _Panel:
    """One plot: the counts from `low` to `high` over `tall` pixels, the bins over `wide`."""

    low: float
    high: float
    tall: int
    wide: int
    bins: int
    bars: bool
    intervals: bool
    lying: bool = False
    cut: float | None = None
    """Where the panel below is cut, drawn as a line."""

    @property
    def pitch(self) -> float:
        """Pixels from bin to bin."""
        return self.wide / self.bins

    @property
    def bar(self) -> float:
        return min(self.pitch * 0.78, 64) if self.pitch > 4 else self.pitch

    def up(self, count: float) -> float:
        """Pixels above the panel's foot."""
        return (count - self.low) / (self.high - self.low) * self.tall

    def count(self, up: float) -> float:
        return self.low + up / self.tall * (self.high - self.low)


def panels(counts: _Counts, width: int) -> tuple[_Panel, _Panel | None, bool]:
    """The panel from 0, the one cut below it where bars are too short to read there, and whether they are too short."""
    lying = _lies(counts)
    tall, wide = (width, ROW * counts.size) if lying else (TALL, width)
    lowest, highest = min(0, int(counts.values.min())), max(1, int(counts.values.max()))
    beside = 14 + measured(f"{shown(highest)} ±{shown(0 if counts.one is None else counts.one.value)}") if lying else 0
    air = tall / max(tall / 2, tall - beside)  # beside a lying bar stands its value
    full = _Panel(
        lowest, _nice_top(max(highest, 4)) * air, tall, wide, counts.size, bars=True, intervals=False, lying=lying
    )
    if counts.one is None or counts.every is None:
        return full, None, False
    one, every = float(counts.one.value), float(counts.every.value)
    if one * tall / (highest * air - lowest) >= LEGIBLE:
        least, most = min(lowest, int(counts.among.low.min())), int(counts.among.high.max())
        foot = -_nice_top(-least) if least < 0 else 0.0
        room = (most * tall - foot * LABEL_HEIGHT) / (tall - LABEL_HEIGHT)  # above the caps stands a value
        return replace(full, low=foot, high=max(_nice_top(most) * air, room), intervals=True), None, False
    cut = cut_for(counts.values, one, every)
    if cut is None:
        return full, None, True
    foot = max(-cut, min(0, int(counts.among.low.min())))
    below = replace(full, low=foot, high=cut, bars=False, intervals=True, tall=tall if lying else TALL_CUT)
    return (replace(full, cut=cut) if full.up(cut) >= 2 else full), below, False


def cut_for(values: NDArray[np.int64], one: float, every: float) -> float | None:
    """Where to cut the second panel: low enough to read one bin's bar, high enough to hold half the bins."""
    middle = float(np.median(np.abs(values)))
    cut = _nice(2.2 * every)
    while cut <= 30 * one:
        if middle <= cut:
            return cut
        cut = _nice(cut * 1.2)
    return None


def _nice(value: float) -> float:
    """The least round number that is not below `value`."""
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next((step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8) if step * power >= value), 10 * power)


def _nice_top(value: float) -> float:
    """A little air above the greatest value, up to the next twentieth of its decade."""
    step = 10.0 ** math.floor(math.log10(max(value, 1))) / 5
    return math.ceil(value * 1.02 / step) * step


# ---------------------------------------------------------------- composing


def _released(release: Release, counts: _Counts, bars: Bars, width: int) -> Picture:
    guarantee = f"{capital(promise(release))}."
    if release.guarantee.odds:
        noun = release.unit.noun
        guarantee += (
            f" Whether one {noun} is in the data moves the odds of any answer by at most ×{release.guarantee.odds}."
        )
    if release.teaching is None:
        title, sentences, head = release.title, [guarantee], counts.colours.ink
    else:
        title, head = f"Not private · teaching, seed {release.teaching}", counts.ink.strong
        sentences = [release.title, f"{promise(release)}."]
    full, below, short = panels(counts, width)
    parts: list[Any] = [_key(counts, bars, short, width), _plot(counts, full, bars, last=below is None)]
    if below is not None:
        parts += [_plot(counts, below, bars, last=True)]
    return _picture(counts, parts, title, sentences, head, _finding(release, counts), width)


def _public(table: PublicTable, counts: _Counts, width: int) -> Picture:
    full, _, _ = panels(counts, width)
    column = " and ".join(table.domain.columns).replace("_", " ")
    title = f"{capital(column)}, {table.nouns} in each bin"
    greatest = int(counts.values.argmax())
    finding = (
        f"{title}: {table.badge}. {counts.size:,} bins, the largest count {shown(int(counts.values[greatest]))} "
        f"at {table.domain.label(greatest)}."
    )
    parts = [_plot(counts, full, "both", last=True)]
    return _picture(counts, parts, title, [table.badge], counts.ink.strong, finding, width)


def _picture(
    counts: _Counts, parts: list[Any], title: str, sentences: list[str], head: str, finding: str, width: int
) -> Picture:
    left = _room(counts, width)
    names = {_position(at): name for at, name in _ticks(counts, width)}
    return picture_of(
        parts,
        title=wrapped(title, width + left, TITLE),
        subtitle=[line for sentence in sentences for line in wrapped(sentence, width + left, TEXT)],
        description=finding,
        colours=counts.colours,
        head=head,
        left=left,
        second=counts.colours.quiet if counts.bars else counts.ink.strong,
        params=[alt.VariableParameter(name="names", value=names)],
    )


def _finding(release: Release, counts: _Counts) -> str:
    """What the chart shows, in one sentence, for who cannot see it."""
    assert counts.one is not None
    assert counts.every is not None
    greatest = int(counts.values.argmax())
    marked = "" if release.teaching is None else f"Not private · teaching, seed {release.teaching}. "
    return (
        f"{marked}{release.title}: {counts.size:,} bins, the largest value {shown(int(counts.values[greatest]))} at "
        f"{counts.domain.label(greatest)}; {counts.often} times any one bin is within {shown(counts.one.value)} of the "
        f"truth, and all {counts.size:,} at once within {shown(counts.every.value)}."
    )


def _key(counts: _Counts, bars: Bars, short: bool, width: int) -> alt.LayerChart:
    """The two kinds of bar, as they are drawn, with their numbers in words."""
    assert counts.one is not None
    assert counts.every is not None
    thick = f"{spread(counts.one)} ({known(counts.one)}), holds for any one bin, {counts.often}"
    thin = f"{spread(counts.every)} ({known(counts.every)}), holds for all {counts.size:,} bins at once, {counts.often}"
    rows = [row for row in (("thick", thick), ("thin with caps", thin)) if bars in ("both", _KIND[row[0]])]
    if counts.size > MOST_SINGLE:
        rows = [(_BAND[word], said) for word, said in rows]
        rows = [("Strong", "least to greatest value in a column of pixels"), *rows]
    if short:
        rows = [(word, f"{said}: smaller than the mark") for word, said in rows]
    left, down = -_room(counts, width), 0
    layers: list[Any] = []
    for word, said in rows:
        indent = 28 + 1.15 * measured(word, SMALL)  # bold
        lines = wrapped(said, width - left - indent, SMALL, most=3)
        layers += _sample(counts, word, left, down + 9)
        layers += [
            _mark(
                "text", align="left", baseline="middle", fontSize=SMALL, fontWeight="bold", color=counts.colours.ink
            ).encode(x=alt.value(left + 18), y=alt.value(down + 9), text=alt.value(capital(word))),
            *(
                _mark("text", align="left", baseline="middle", fontSize=SMALL, color=counts.colours.quiet).encode(
                    x=alt.value(left + indent), y=alt.value(down + 9 + 16 * place), text=alt.value(line)
                )
                for place, line in enumerate(lines)
            ),
        ]
        down += 2 + 16 * len(lines)
    return alt.LayerChart(layer=layers).properties(width=width, height=down)


_KIND = {"thick": "one", "thin with caps": "all"}
_BAND = {"thick": "middle", "thin with caps": "pale"}


def _sample(counts: _Counts, word: str, left: float, middle: float) -> list[Any]:
    """A mark as it looks in the plot."""
    assert counts.one is not None
    assert counts.every is not None
    ends: dict[str, Any] = {"x": alt.value(left + 4), "y": alt.value(middle - 7), "y2": alt.value(middle + 7)}
    shade = {"Strong": counts.ink.strong, "middle": counts.ink.middle, "pale": counts.ink.pale}.get(word)
    if shade is not None:
        return [_mark("rule", strokeWidth=9, color=shade).encode(**ends)]
    if word == "thick":
        dash = DASHES[counts.one.how]
        return [_mark("rule", strokeWidth=3.4, strokeDash=dash, color=counts.ink.strong).encode(**ends)]
    caps = [
        _mark("rule", strokeWidth=1, color=counts.ink.strong).encode(
            x=alt.value(left), x2=alt.value(left + 8), y=alt.value(middle + step)
        )
        for step in (-7, 7)
    ]
    dash = DASHES[counts.every.how]
    return [_mark("rule", strokeWidth=1, strokeDash=dash, color=counts.ink.strong).encode(**ends), *caps]


def _mark(kind: str, **options: Any) -> alt.Chart:
    """A mark at fixed pixels. It carries no data and is silent to a screen reader."""
    make: Callable[..., alt.Chart] = getattr(alt.Chart(alt.InlineData(values=[{}])), f"mark_{kind}")
    return make(aria=False, **options)


# ---------------------------------------------------------------- one panel


def _plot(counts: _Counts, panel: _Panel, bars: Bars, *, last: bool) -> alt.LayerChart:
    side = _Side(counts, panel, last)
    single = counts.size <= MOST_SINGLE and panel.pitch >= 1.2
    layers = _single(counts, panel, side, bars) if single else _columns(counts, panel, side, bars)
    chart = alt.LayerChart(layer=layers)
    if not panel.bars:
        across = panel.tall if panel.lying else panel.wide
        note = f"The same bins up to {shown(int(panel.high))}, where the error bars can be read; "
        note += "▶ lies beyond." if panel.lying else "▲ lies above."
        chart = chart.properties(
            title=alt.TitleParams(
                text=wrapped(note, across, FLOOR),
                fontSize=FLOOR,
                fontWeight="normal",
                color=counts.colours.quiet,
                offset=6,
                anchor="start",
            )
        )
    size = {"width": panel.tall, "height": panel.wide} if panel.lying else {"width": panel.wide, "height": panel.tall}
    return chart.properties(**size)


@dataclass(frozen=True)
class _Side:
    """Which channel holds the bins and which the counts: a panel stands, or lies on its side."""

    counts: _Counts
    panel: _Panel
    last: bool

    def bin(self, field: str = "at") -> dict[str, Any]:
        ends = [self.panel.bins - 0.5, -0.5] if self.panel.lying else [-0.5, self.panel.bins - 0.5]
        column = " and ".join(self.counts.domain.columns).replace("_", " ")
        common: dict[str, Any] = {
            "values": [at for at, _ in _ticks(self.counts, self.panel.tall if self.panel.lying else self.panel.wide)],
            "labelExpr": "names[datum.value]",
            "grid": False,
            "title": wrapped(column, self.panel.wide, FLOOR, most=1)[0] if self.last else None,
        }
        if self.panel.lying:
            axis = alt.Axis(
                **common | {"title": None},
                ticks=False,
                domain=False,
                labelLimit=0,
                labelPadding=8,
                labelFontSize=SMALL,
                labelColor=self.counts.colours.ink,
                minExtent=_room(self.counts, self.panel.tall),
                maxExtent=_room(self.counts, self.panel.tall),
            )
        else:
            axis = alt.Axis(
                **common, labels=self.last, ticks=self.last, labelOverlap=False, labelLimit=0, titlePadding=8
            )
        kind = alt.Y if self.panel.lying else alt.X
        scale = alt.Scale(domain=ends, nice=False, zero=False)
        return {"y" if self.panel.lying else "x": kind(field, type="quantitative", scale=scale, axis=axis)}

    def value(self, field: str) -> dict[str, Any]:
        scale = alt.Scale(domain=[self.panel.low, self.panel.high], nice=False, zero=False, clamp=True)
        if self.panel.lying:
            axis = alt.Axis(
                title=self.counts.nouns, format=",f", tickCount=5, tickMinStep=1, domain=False, titleAnchor="start"
            )
            return {"x": alt.X(field, type="quantitative", scale=scale, axis=axis)}
        axis = upright_axis(self.counts.nouns if self.panel.bars else None, format=",f", tickCount=4, tickMinStep=1)
        return {"y": alt.Y(field, type="quantitative", scale=scale, axis=axis)}

    def value2(self, field: str) -> dict[str, Any]:
        return {"x2" if self.panel.lying else "y2": alt.X2(field) if self.panel.lying else alt.Y2(field)}

    def bin2(self, field: str) -> dict[str, Any]:
        return {"y2" if self.panel.lying else "x2": alt.Y2(field) if self.panel.lying else alt.X2(field)}

    def zero(self) -> dict[str, Any]:
        start = max(0.0, self.panel.low)
        return {"x2" if self.panel.lying else "y2": alt.datum(start)}

    def across(self) -> dict[str, Any]:
        """From one end of the panel to the other."""
        names = ("x", "x2") if self.panel.lying else ("y", "y2")
        return {names[0]: alt.value(0), names[1]: alt.value(self.panel.tall)}


Rows = list[dict[str, Any]]


def _single(counts: _Counts, panel: _Panel, side: _Side, bars: Bars) -> list[Any]:
    """Each bin has its own marks: pale bar, thin bar with caps, thick bar, value, and a place to point at."""
    rows = _rows(counts, panel)
    ink, colours = counts.ink, counts.colours
    data = alt.Chart(alt.InlineData(values=rows))
    thick = max(1.4, min(3.4, panel.pitch * 0.45))
    cap = min(8.0, panel.pitch * 0.55)
    tick: dict[str, Any] = {"orient": "vertical" if panel.lying else "horizontal", "opacity": 1, "aria": False}
    layers: list[Any] = []
    for level in [*([panel.cut] if panel.cut is not None else []), *([0] if panel.low < 0 else [])]:
        line = alt.Chart(alt.InlineData(values=[{"level": level}]))
        layers += [line.mark_rule(strokeWidth=1, color=colours.rule, aria=False).encode(**side.value("level"))]
    if panel.bars:
        shape: dict[str, Any] = {"orient": "horizontal" if panel.lying else "vertical", "aria": False}
        lying = 12.0 if panel.lying else panel.bar
        layers += [
            data.mark_bar(size=lying, color=ink.pale, **shape).encode(
                **side.bin(), **side.value("value"), **side.zero()
            )
        ]
        if not counts.real:
            layers += [_hatching(counts, panel, side)]
        if not (panel.intervals and counts.bars):
            layers += [
                data.mark_tick(size=lying + (6 if panel.lying else 0), thickness=2, color=ink.strong, **tick).encode(
                    **side.bin(), **side.value("value")
                )
            ]
    if panel.intervals and counts.one is not None and counts.every is not None:
        if bars in ("both", "all"):
            dash = DASHES[counts.every.how]
            layers += [
                data.mark_rule(strokeWidth=1, strokeDash=dash, color=ink.strong, aria=False).encode(
                    **side.bin(), **side.value("low_all"), **side.value2("high_all")
                )
            ]
            if cap >= 2:
                layers += [
                    data.mark_tick(size=cap, thickness=1, color=ink.strong, **tick)
                    .encode(**side.bin(), **side.value(f"{end}_all"))
                    .transform_filter(f"datum.{end}_cap")
                    for end in ("low", "high")
                ]
        if bars in ("both", "one"):
            dash = DASHES[counts.one.how]
            layers += [
                data.mark_rule(strokeWidth=thick, strokeDash=dash, color=ink.strong, aria=False).encode(
                    **side.bin(), **side.value("low"), **side.value2("high")
                )
            ]
        radius = max(1.2, min(4.0, panel.pitch * 0.32))
        inside = data.transform_filter("datum.shown")
        dot: dict[str, Any] = {"size": math.pi * radius**2, "aria": False, "opacity": 1}
        if counts.real:
            if panel.pitch >= 10:
                halo: dict[str, Any] = {**dot, "size": math.pi * (radius + 1.2) ** 2}
                layers += [inside.mark_circle(color=colours.ground, **halo).encode(**side.bin(), **side.value("value"))]
            layers += [inside.mark_circle(color=ink.strong, **dot).encode(**side.bin(), **side.value("value"))]
        else:
            layers += [
                inside.mark_point(filled=True, fill=colours.ground, stroke=ink.strong, strokeWidth=1.6, **dot).encode(
                    **side.bin(), **side.value("value")
                )
            ]
        layers += _beyond(counts, panel, side)
    layers += _value_labels(counts, panel, side)
    layers += [_pointer(data, counts, panel, side)]
    return layers


def _rows(counts: _Counts, panel: _Panel) -> Rows:
    """One row per bin, with what is drawn of it and nothing else; ends are clipped to the panel."""
    label = counts.domain.label
    rows: Rows = [
        {"at": index, "bin": label(index), "value": int(value)} for index, value in enumerate(counts.values.tolist())
    ]
    if not counts.bars:
        return rows
    alone, among = counts.alone, counts.among
    for index, row in enumerate(rows):
        value = row["value"]
        row |= {
            "low": int(alone.low[index]),
            "high": int(alone.high[index]),
            "low_all": int(among.low[index]),
            "high_all": int(among.high[index]),
            "low_cap": bool(not among.low_cut[index] and panel.low <= among.low[index] <= panel.high),
            "high_cap": bool(not among.high_cut[index] and panel.low <= among.high[index] <= panel.high),
            "shown": panel.low <= value <= panel.high,
        }
    return rows


def _beyond(counts: _Counts, panel: _Panel, side: _Side) -> list[Any]:
    """▲ at the edge of a cut panel for values beyond it."""
    layers = []
    for beyond, edge, shape in (
        (counts.values > panel.high, panel.high, "triangle-right" if panel.lying else "triangle-up"),
        (counts.values < panel.low, panel.low, "triangle-left" if panel.lying else "triangle-down"),
    ):
        rows: Rows = [{"at": int(index), "edge": edge} for index in np.flatnonzero(beyond)]
        if rows:
            size = min(40.0, (panel.pitch * 0.8) ** 2)
            layers += [
                alt.Chart(alt.InlineData(values=rows))
                .mark_point(shape=shape, filled=True, size=size, color=counts.ink.strong, opacity=1, aria=False)
                .encode(**side.bin(), **side.value("edge"))
            ]
    return layers


def _pointer(data: alt.Chart, counts: _Counts, panel: _Panel, side: _Side) -> alt.Chart:
    """An unseen mark over each bin that says its numbers, to a pointer and to a screen reader."""
    calculated = {"start": "datum.at - 0.5", "end": "datum.at + 0.5", "count": "format(datum.value, ',')"}
    said = f"datum.bin + ': ' + datum.count + ' {counts.verb}'"
    tips = [alt.Tooltip("bin:N", title="bin"), alt.Tooltip("count:N", title=counts.verb)]
    if counts.bars:
        calculated |= {
            "alone": "format(datum.low, ',') + ' to ' + format(datum.high, ',')",
            "among": "format(datum.low_all, ',') + ' to ' + format(datum.high_all, ',')",
            "advice": "'read the second'",
        }
        said += f" + '; this bin alone ' + datum.alone + ', among all {counts.size:,} ' + datum.among"
        tips += [
            alt.Tooltip("alone:N", title="this bin alone"),
            alt.Tooltip("among:N", title=f"among all {counts.size:,}"),
            alt.Tooltip("advice:N", title="chosen because it stood out?"),
        ]
    pointing = data
    for name, formula in calculated.items():
        pointing = pointing.transform_calculate(**{name: formula})
    pointer: alt.Chart = (
        pointing.transform_calculate(said=said)
        .mark_rect(opacity=0.001, color=counts.colours.ground)
        .encode(
            **side.bin("start"),
            **side.bin2("end"),
            **side.across(),
            tooltip=tips,
            description=alt.Description("said:N"),
        )
    )
    return pointer


def _hatching(counts: _Counts, panel: _Panel, side: _Side) -> alt.Chart:
    """Slanted lines across each bar: the sign of public or made-up counts."""
    wide = 12.0 if panel.lying else panel.bar
    tops = [panel.up(value) for value in counts.values.tolist()]
    foot = panel.up(max(0.0, panel.low))
    step = max(6.0, sum(wide + abs(top - foot) for top in tops) / 2_000)
    rows: Rows = []
    for index, top in enumerate(tops):
        middle = (index + 0.5) * panel.pitch
        left, right, low, high = middle - wide / 2, middle + wide / 2, min(foot, top), max(foot, top)
        first = math.floor((left - high) / step) + 1
        for place in range(first, math.ceil((right - low) / step)):
            start, end = max(left, place * step + low), min(right, place * step + high)
            if end - start > 0.5:
                rows.append(
                    {
                        "at": round(start / panel.pitch - 0.5, 4),
                        "to": round(end / panel.pitch - 0.5, 4),
                        "foot": panel.count(start - place * step),
                        "top": panel.count(end - place * step),
                    }
                )
    lines: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rule(strokeWidth=1, color=counts.ink.strong, opacity=0.7, aria=False)
        .encode(**side.bin(), **side.bin2("to"), **side.value("foot"), **side.value2("top"))
    )
    return lines


# ---------------------------------------------------------------- direct labels


def _value_labels(counts: _Counts, panel: _Panel, side: _Side) -> list[Any]:
    """The largest values beside their bars, where a label touches no bar and no other label."""
    if not panel.bars:
        return []
    place = _lying_labels if panel.lying else _standing_labels
    found = place(counts, panel)
    layers = []
    for align in ("left", "right", "center"):
        rows: Rows = [
            {"at": at, "count": count, "text": words} for at, count, words, towards in found if towards == align
        ]
        if rows:
            layers += [
                alt.Chart(alt.InlineData(values=rows))
                .mark_text(align=align, baseline="middle", color=counts.colours.ink, fontSize=FLOOR, aria=False)
                .encode(**side.bin(), **side.value("count"), text="text:N")
            ]
    return layers


Label = tuple[float, float, str, str]
Box = tuple[float, float, float, float]


def _largest(counts: _Counts, most: int) -> list[int]:
    ordered = np.argsort(-counts.values, kind="stable")[:most]
    return [int(index) for index in ordered if counts.values[index] > 0 or counts.size <= 8]


def _standing_labels(counts: _Counts, panel: _Panel) -> list[Label]:
    reach = counts.among.high if panel.intervals and counts.bars else counts.values
    middles = [(index + 0.5) * panel.pitch for index in range(counts.size)]
    half = panel.bar / 2
    taken: list[Box] = [
        (middle - half, 0, middle + half, panel.up(float(top)) + 2) for middle, top in zip(middles, reach, strict=True)
    ]
    found: list[Label] = []
    for index in _largest(counts, MOST_LABELS):
        value = int(counts.values[index])
        words, top = shown(value), panel.up(value)
        long, above = measured(words), panel.up(float(reach[index])) + 9
        spots = (
            (middles[index], above, "center", middles[index] - long / 2),
            (middles[index] + half + 4, top - 2, "left", middles[index] + half + 4),
            (middles[index] - half - 4, top - 2, "right", middles[index] - half - 4 - long),
        )
        for across, up, align, left in spots:
            box = (left, up - 6, left + long, up + 6)
            inside = box[0] >= -4 and box[2] <= panel.wide + 10 and box[3] <= panel.tall + 12
            if inside and not any(_touch(box, other) for other in taken):
                taken.append((box[0] - 3, box[1], box[2] + 3, box[3]))
                found.append((across / panel.pitch - 0.5, panel.count(min(up, panel.tall)), words, align))
                break
    return found


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _lying_labels(counts: _Counts, panel: _Panel) -> list[Label]:
    """Beside a lying bar there is room for its value; its error is written where it is too short to draw."""
    reach = counts.among.high if panel.intervals and counts.bars else counts.values
    found: list[Label] = []
    for index in _largest(counts, MOST_LYING if counts.size <= 8 else MOST_LABELS):
        words = shown(int(counts.values[index]))
        if counts.one is not None and not panel.intervals:
            words += f" {spread(counts.one)}"
        up = panel.up(max(0.0, float(reach[index]))) + 8
        found.append((index, panel.count(up), words, "left"))
    return found


# ---------------------------------------------------------------- above 500 bins


def _columns(counts: _Counts, panel: _Panel, side: _Side, bars: Bars) -> list[Any]:
    """One mark per pixel column in three strengths: least to greatest value, any one bin, all bins at once."""
    columns = min(counts.size, panel.wide)
    starts = (np.arange(columns) * counts.size) // columns
    ends = np.append(starts[1:], counts.size) - 1

    def least(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum.reduceat(values, starts)

    def greatest(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.maximum.reduceat(values, starts)

    drawn = {"least": least(counts.values), "greatest": greatest(counts.values)}
    if panel.intervals and counts.bars:
        drawn |= {"low": least(counts.alone.low), "high": greatest(counts.alone.high)}
        drawn |= {"low_all": least(counts.among.low), "high_all": greatest(counts.among.high)}
    elif panel.bars:
        drawn |= {"foot": np.zeros(columns, dtype=np.int64)}
    label = counts.domain.label
    rows: Rows = [
        {
            "at": float(starts[index]) - 0.5,
            "to": float(ends[index]) + 0.5,
            "bins": label(int(starts[index]))
            + ("" if starts[index] == ends[index] else f" … {label(int(ends[index]))}"),
            **{name: int(values[index]) for name, values in drawn.items()},
        }
        for index in range(columns)
    ]
    rows.append({**rows[-1], "at": counts.size - 0.5})
    data = alt.Chart(alt.InlineData(values=rows))
    bands = [("least", "greatest", counts.ink.strong, 1.2)]
    if "low" in drawn and bars in ("both", "one"):
        bands = [("low", "high", counts.ink.middle, 0.0), *bands]
    if "low_all" in drawn and bars in ("both", "all"):
        bands = [("low_all", "high_all", counts.ink.pale, 0.0), *bands]
    if "foot" in drawn:
        bands = [("foot", "greatest", counts.ink.pale, 0.0), *bands]
    layers: list[Any] = [
        data.mark_area(
            interpolate="step-after", color=shade, opacity=1, stroke=shade, strokeWidth=edge, line=False, aria=False
        ).encode(**side.bin(), **side.value(low), **side.value2(high))
        for low, high, shade, edge in bands
    ]
    pointing = data.transform_calculate(
        span="datum.least == datum.greatest ? format(datum.least, ',') : "
        "format(datum.least, ',') + ' to ' + format(datum.greatest, ',')"
    )
    layers += [
        pointing.mark_rect(opacity=0.001, color=counts.colours.ground, aria=False).encode(
            **side.bin(),
            **side.bin2("to"),
            **side.across(),
            tooltip=[alt.Tooltip("bins:N", title="bins"), alt.Tooltip("span:N", title=counts.verb)],
        )
    ]
    return layers


# ---------------------------------------------------------------- names of bins


def _lies(counts: _Counts) -> bool:
    return counts.domain.kind in ("categories", "product") and counts.size <= MOST_LYING


def _plot_width(counts: _Counts, width: int) -> int:
    """Long names of lying bars take their room from the plot."""
    return max(width // 2, width - int(_room(counts, width) - AXIS_ROOM + 8))


def _room(counts: _Counts, width: int) -> float:
    """Pixels left of the plot: the names of lying bars, or the numbers of the axis."""
    if not _lies(counts):
        return AXIS_ROOM - 8
    return round(max(measured(name, SMALL) for _, name in _ticks(counts, width)) + 12)


def _ticks(counts: _Counts, width: float) -> list[tuple[float, str]]:
    """Where the axis of the bins names them: what lies outside the range first, then every so many, none touching."""
    domain, size = counts.domain, counts.size
    if _lies(counts):
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


def _position(at: float) -> str:
    """A place on the axis as the page writes it, to look its name up."""
    return str(int(at)) if at == int(at) else repr(float(at))
