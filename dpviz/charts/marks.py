"""The marks of one panel: bars, both kinds of error bar, values, labels; above 500 bins, bands of pixel columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import altair as alt
import numpy as np

from dpviz.charts.canvas import DASHES, upright_axis
from dpviz.charts.panels import Counts, Ends, Numbers, Panel
from dpviz.charts.tables import interval_text
from dpviz.charts.theme import FLOOR, SMALL
from dpviz.charts.ticks import room_for, ticks
from dpviz.charts.words import measured, shown, spread, wrapped
from dpviz.model.limited import WITHIN

Bars = Literal["both", "one", "all"]

FEW, MOST_LABELS = 12, 5
LYING_BAR, WIDE_BAR = 12.0, 14.0
PALE = 0.5
"""The opacity of a wide bar, through which the grid and the bar of the value can be seen."""

Rows = list[dict[str, Any]]


def plot(counts: Counts, panel: Panel, bars: Bars, *, last: bool) -> alt.LayerChart:
    """One panel with all its marks; `last` carries the names of the bins."""
    side = _Side(counts, panel, last)
    layers = _single(counts, panel, side, bars) if panel.single else _columns(counts, panel, side, bars)
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

    counts: Counts
    panel: Panel
    last: bool

    def bin(self, field: str = "at") -> dict[str, Any]:
        ends = [self.panel.bins - 0.5, -0.5] if self.panel.lying else [-0.5, self.panel.bins - 0.5]
        counts = self.counts
        column = (counts.axis.name if counts.named else counts.domain.columns_text).replace("_", " ")
        common: dict[str, Any] = {
            "values": [
                at
                for at, _ in ticks(
                    self.counts.domain, self.panel.tall if self.panel.lying else self.panel.wide, self.counts.told
                )
            ],
            "labelExpr": "names[datum.value]",
            "grid": False,
            "description": f"{column}: {self.counts.size:,} bins",
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
                minExtent=room_for(self.counts.domain, self.panel.tall),
                maxExtent=room_for(self.counts.domain, self.panel.tall),
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

    @property
    def tick(self) -> dict[str, Any]:
        """A tick across the direction of the counts."""
        return {"orient": "vertical" if self.panel.lying else "horizontal", "opacity": 1, "aria": False}

    def zero(self) -> dict[str, Any]:
        start = max(0.0, self.panel.low)
        return {"x2" if self.panel.lying else "y2": alt.datum(start)}

    def across(self) -> dict[str, Any]:
        """From one end of the panel to the other."""
        names = ("x", "x2") if self.panel.lying else ("y", "y2")
        return {names[0]: alt.value(0), names[1]: alt.value(self.panel.tall)}


def _single(counts: Counts, panel: Panel, side: _Side, bars: Bars) -> list[Any]:
    """Each bin has its own marks: pale bar, thin bar with caps, thick bar, value, and a place to point at."""
    data = alt.Chart(alt.InlineData(values=_rows(counts, panel)))
    layers: list[Any] = []
    for level in [*([panel.cut] if panel.cut is not None else []), *([0] if panel.low < 0 else [])]:
        line = alt.Chart(alt.InlineData(values=[{"level": level}]))
        layers += [line.mark_rule(strokeWidth=1, color=counts.colours.rule, aria=False).encode(**side.value("level"))]
    if panel.bars:
        layers += _bars(data, counts, panel, side)
    if panel.intervals and counts.bars:
        layers += _intervals(data, counts, panel, side, bars)
        layers += _values(data, counts, panel, side)
        layers += _beyond(counts, panel, side)
    layers += _value_labels(counts, panel, side)
    layers += [_pointer(data, counts, panel, side)]
    return layers


def _bars(data: alt.Chart, counts: Counts, panel: Panel, side: _Side) -> list[Any]:
    """Pale bars from 0, hatched where they are not private, ending in a tick where no interval shows the value."""
    size = LYING_BAR if panel.lying else panel.bar
    orient: Any = "horizontal" if panel.lying else "vertical"
    layers: list[Any] = [
        data.mark_bar(size=size, orient=orient, color=counts.ink.pale, aria=False).encode(
            **side.bin(), **side.value("value"), **side.zero()
        )
    ]
    if not counts.real:
        layers += [_hatching(counts, panel, side)]
    if not (panel.intervals and counts.bars):
        beyond = 6 if panel.lying else 0
        layers += [
            data.mark_tick(size=size + beyond, thickness=2, color=counts.ink.strong, **side.tick).encode(
                **side.bin(), **side.value("value")
            )
        ]
    return layers


def _intervals(data: alt.Chart, counts: Counts, panel: Panel, side: _Side, bars: Bars) -> list[Any]:
    """Thin with caps for all bins at once, and over it thick without for any one bin; of counts that a profile closes,
    wide for what was asked, and over it thin for what was counted."""
    if counts.asked is not None:
        return _asked(data, counts, panel, side)
    strong = counts.ink.strong
    layers: list[Any] = []
    if bars in ("both", "all") and counts.together is not None:
        layers += [
            data.mark_rule(strokeWidth=1, strokeDash=DASHES[counts.among.how], color=strong, aria=False).encode(
                **side.bin(), **side.value("low_all"), **side.value2("high_all")
            )
        ]
        cap = min(8.0, panel.pitch * 0.55)
        if cap >= 2:
            layers += [
                data.mark_tick(size=cap, thickness=1, color=strong, **side.tick)
                .encode(**side.bin(), **side.value(f"{end}_all"))
                .transform_filter(f"datum.{end}_cap")
                for end in ("low", "high")
            ]
    if bars in ("both", "one"):
        thick = max(1.4, min(3.4, panel.pitch * 0.45))
        layers += [
            data.mark_rule(strokeWidth=thick, strokeDash=DASHES[counts.alone.how], color=strong, aria=False).encode(
                **side.bin(), **side.value("low"), **side.value2("high")
            )
        ]
    wide = bars in ("both", "all") and counts.together is not None
    return layers + _arrows(data, counts, panel, side, "_all" if wide else "")


def _asked(data: alt.Chart, counts: Counts, panel: Panel, side: _Side) -> list[Any]:
    """A wide bar for what was asked, a thin one for what was counted, and an arrow where nothing closes an end."""
    strong, middle = counts.ink.strong, counts.ink.middle
    wide, thin = _wide(panel), max(1.0, min(3.4, panel.pitch * 0.2))
    cap = data.mark_tick(size=wide, thickness=1.5, color=strong, **side.tick)
    layers: list[Any] = [
        data.mark_rule(strokeWidth=wide, color=middle, opacity=PALE, aria=False).encode(
            **side.bin(), **side.value("low_all"), **side.value2("high_all")
        ),
        *(
            cap.encode(**side.bin(), **side.value(f"{end}_all")).transform_filter(f"datum.{end}_cap")
            for end in ("low", "high")
        ),
        data.mark_rule(strokeWidth=thin, strokeDash=DASHES[counts.alone.how], color=strong, aria=False).encode(
            **side.bin(), **side.value("low"), **side.value2("high")
        ),
    ]
    shapes = ("triangle-left", "triangle-right") if panel.lying else ("triangle-down", "triangle-up")
    size = min(64.0, max(9.0, (panel.pitch * 0.6) ** 2))
    for end, shape, edges in zip(("low", "high"), shapes, (counts.among.low, counts.among.high), strict=True):
        if np.isinf(edges).any():
            arrow = data.mark_point(shape=shape, filled=True, size=size, color=strong, opacity=1, aria=False)
            layers += [arrow.encode(**side.bin(), **side.value(f"{end}_all")).transform_filter(f"datum.{end}_open")]
    return layers


def _wide(panel: Panel) -> float:
    """Pixels across the bar for what was asked."""
    return max(2.0, min(WIDE_BAR, panel.pitch * 0.5))


def _arrows(data: alt.Chart, counts: Counts, panel: Panel, side: _Side, drawn: str) -> list[Any]:
    """An arrow at each end that is open for what was asked, for the limits of the unit may leave rows out."""
    shapes = ("triangle-left", "triangle-right") if panel.lying else ("triangle-down", "triangle-up")
    size = min(40.0, max(9.0, (panel.pitch * 0.6) ** 2))
    return [
        data.mark_point(shape=shape, filled=True, size=size, color=counts.ink.strong, opacity=1, aria=False).encode(
            **side.bin(), **side.value(f"{end}{drawn}")
        )
        for end, shape, stands in zip(("low", "high"), shapes, counts.alone.stands, strict=True)
        if not stands
    ]


def _values(data: alt.Chart, counts: Counts, panel: Panel, side: _Side) -> list[Any]:
    """A filled dot with a halo for a released value, a hollow one for a teaching draw."""
    ground, strong = counts.colours.ground, counts.ink.strong
    radius = max(1.2, min(4.0 if counts.asked is None else 2.8, panel.pitch * 0.32))
    inside = data.transform_filter("datum.shown")
    place = side.bin() | side.value("value")
    dot: dict[str, Any] = {"opacity": 1, "aria": False}
    if not counts.real:
        hollow = inside.mark_point(
            filled=True, fill=ground, stroke=strong, strokeWidth=1.6, size=math.pi * radius**2, **dot
        )
        return [hollow.encode(**place)]
    layers = [inside.mark_circle(color=strong, size=math.pi * radius**2, **dot).encode(**place)]
    if panel.pitch >= 5:
        halo = radius + min(1.2, panel.pitch * 0.12)
        layers = [inside.mark_circle(color=ground, size=math.pi * halo**2, **dot).encode(**place), *layers]
    return layers


def _rows(counts: Counts, panel: Panel) -> Rows:
    """One row per bin, with what is drawn of it and nothing else; ends are clipped to the panel."""
    label = counts.label
    rows: Rows = [
        {"at": index, "bin": label(index), "value": value} for index, value in enumerate(counts.values.tolist())
    ]
    if not counts.bars:
        return rows
    alone, among = counts.alone, counts.among
    for index, row in enumerate(rows):
        value = row["value"]
        row |= {
            "low": _inside(alone.low[index], panel),
            "high": _inside(alone.high[index], panel),
            "low_all": _inside(among.low[index], panel),
            "high_all": _inside(among.high[index], panel),
            "low_cap": bool(among.stands[0] and not among.low_cut[index] and among.low[index] in panel),
            "high_cap": bool(among.stands[1] and not among.high_cut[index] and among.high[index] in panel),
            "shown": panel.low <= value <= panel.high,
        }
        if counts.asked is not None:
            row |= {"low_open": bool(np.isinf(among.low[index])), "high_open": bool(np.isinf(among.high[index]))}
        if counts.texts:
            row |= {
                "count": shown(counts.exact(index)),
                "alone": _text(alone, index),
                "among": _text(among, index),
            }
    return rows


def _inside(end: Any, panel: Panel) -> int | float:
    """An end of an interval as it is drawn: an open one reaches to the edge of the panel."""
    if np.isinf(end):
        return panel.low if end < 0 else panel.high
    number: int | float = end.item()
    return number


def _text(ends: Ends, index: int) -> str:
    """An interval in words, to four digits; an end that does not hold for what was asked is open, and stands beside."""
    low, high = (
        None if np.isinf(end) else end.item() if isinstance(end, np.integer) else Fraction(f"{end.item():.4g}")
        for end in (ends.low[index], ends.high[index])
    )
    if all(ends.stands):
        return interval_text(low, high)
    least, most = (end if stands else None for end, stands in zip((low, high), ends.stands, strict=True))
    return f"{interval_text(least, most)}; {interval_text(low, high)} {WITHIN}"


def _beyond(counts: Counts, panel: Panel, side: _Side) -> list[Any]:
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


def _pointer(data: alt.Chart, counts: Counts, panel: Panel, side: _Side) -> alt.Chart:
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
        if counts.texts:
            calculated = {name: formula for name, formula in calculated.items() if name in ("start", "end", "advice")}
        first, second = counts.ends_named
        said += f" + '; {first} ' + datum.alone + ', {second} ' + datum.among"
        tips += [alt.Tooltip("alone:N", title=first), alt.Tooltip("among:N", title=second)]
        if counts.asked is None:
            tips += [alt.Tooltip("advice:N", title="chosen because it stood out?")]
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


def _hatching(counts: Counts, panel: Panel, side: _Side) -> alt.Chart:
    """Slanted lines across each bar: the sign of public or made-up counts."""
    wide = LYING_BAR if panel.lying else panel.bar
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


def _value_labels(counts: Counts, panel: Panel, side: _Side) -> list[Any]:
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


def _largest(counts: Counts, most: int) -> list[int]:
    ordered = np.argsort(-counts.values, kind="stable")[:most]
    return [int(index) for index in ordered if counts.values[index] > 0 or counts.size <= 8]


def _standing_labels(counts: Counts, panel: Panel) -> list[Label]:
    reach = _reach(counts) if panel.intervals and counts.bars else counts.values
    middles = [(index + 0.5) * panel.pitch for index in range(counts.size)]
    half = panel.bar / 2 if counts.asked is None else _wide(panel) / 2
    taken: list[Box] = [
        (middle - half, 0, middle + half, panel.up(float(top)) + 2) for middle, top in zip(middles, reach, strict=True)
    ]
    found: list[Label] = []
    for index in _largest(counts, FEW if counts.size <= FEW else MOST_LABELS):
        words, top = shown(counts.exact(index)), panel.up(float(counts.values[index]))
        long, above = measured(words), panel.up(float(reach[index])) + 9
        if counts.asked is not None:
            top += 10
        spots: list[tuple[float, float, str, float]] = [
            (middles[index], above, "center", middles[index] - long / 2),
            (middles[index] + half + 4, top - 2, "left", middles[index] + half + 4),
            (middles[index] - half - 4, top - 2, "right", middles[index] - half - 4 - long),
        ]
        for across, up, align, left in spots[counts.asked is not None :]:  # not above what was asked
            box = (left, up - 6, left + long, up + 6)
            inside = box[0] >= -4 and box[2] <= panel.wide + 10 and box[3] <= panel.tall + 12
            if inside and not any(_touch(box, other) for other in taken):
                taken.append((box[0] - 3, box[1], box[2] + 3, box[3]))
                found.append((across / panel.pitch - 0.5, panel.count(min(up, panel.tall)), words, align))
                break
    return found


def _reach(counts: Counts) -> Any:
    """The top of each bar with its interval; an open one is taken to end at its value."""
    return np.where(np.isinf(counts.among.high), counts.values, counts.among.high)


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _lying_labels(counts: Counts, panel: Panel) -> list[Label]:
    """Beside a lying bar there is room for its value; its error is written where it is too short to draw."""
    reach = _reach(counts) if panel.intervals and counts.bars else counts.values
    found: list[Label] = []
    for index in _largest(counts, FEW if counts.size <= FEW else MOST_LABELS):
        words = shown(counts.exact(index)) + (" counted" if counts.asked is not None else "")
        if counts.one is not None and not panel.intervals:
            words += f" {spread(counts.one)}"
        up = panel.up(max(0.0, float(reach[index]))) + 8
        found.append((index, panel.count(up), words, "left"))
    return found


# ---------------------------------------------------------------- above 500 bins


def _columns(counts: Counts, panel: Panel, side: _Side, bars: Bars) -> list[Any]:
    """One mark per pixel column in three strengths: least to greatest value, any one bin, all bins at once."""
    columns = min(counts.size, panel.wide)
    starts = (np.arange(columns) * counts.size) // columns
    ends = np.append(starts[1:], counts.size) - 1

    def least(values: Numbers) -> Any:
        return np.minimum.reduceat(values, starts)

    def greatest(values: Numbers) -> Any:
        return np.maximum.reduceat(values, starts)

    drawn = {"least": least(counts.values), "greatest": greatest(counts.values)}
    if panel.intervals and counts.bars:
        drawn |= {"low": least(counts.alone.low), "high": greatest(counts.alone.high)}
        drawn |= {"low_all": least(counts.among.low), "high_all": greatest(counts.among.high)}
    elif panel.bars:
        drawn |= {"foot": np.zeros(columns, dtype=np.int64)}
    label = counts.label
    rows: Rows = [
        {
            "at": float(starts[index]) - 0.5,
            "to": float(ends[index]) + 0.5,
            "bins": label(int(starts[index]))
            + ("" if starts[index] == ends[index] else f" … {label(int(ends[index]))}"),
            **{name: _inside(values[index], panel) for name, values in drawn.items()},
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
