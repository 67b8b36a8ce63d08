"""Derived values and combined counts: each value as a point with its interval, and all bins as a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import altair as alt
import numpy as np

from dpviz.boundary import plain_arguments
from dpviz.charts.canvas import DASHES, Picture, picture_of, refused, width_of
from dpviz.charts.counts import ARROWS, check_bars, with_bars
from dpviz.charts.marks import Bars
from dpviz.charts.panels import Counts, Ends, numbers
from dpviz.charts.theme import FLOOR, SMALL, TEXT, TITLE, Palette, Theme, palette
from dpviz.charts.ticks import plot_width
from dpviz.charts.words import capital, measured, often, shortened, shown, wrapped
from dpviz.exact import Number, probability
from dpviz.model.answers import Axis, Intervals
from dpviz.model.between import between
from dpviz.model.combination import Combined
from dpviz.model.derived import Derived, DerivedTable
from dpviz.model.error import SURENESS

PERCENT: Final = 100
"""The factor of a share before it is drawn."""

MOST: Final = 40
"""The largest number of values that are drawn below each other."""

ROW: Final = 46
"""Pixels from value to value."""

_ALL_KINDS: Final = {
    "sum": "Sums",
    "range": "Ranges",
    "difference": "Differences",
    "share": "Shares",
    "mean": "Means",
    "comparison": "Comparisons",
}


@plain_arguments
def of_derived(values: DerivedTable, *, theme: Theme = "light", width: int = 700) -> Picture:
    """Draw sums, ranges, differences, shares or comparisons: each value as a point with its interval.

    Parameters
    ----------
    values : DerivedTable
        The derived values; the first forty are drawn. Shares are drawn in percent.
    theme : {"light", "dark"}
        The colours.
    width : int, default 700
        Of the plot, in pixels.

    Returns
    -------
    Picture
        An Altair chart. An open end of an interval runs to the edge of the plot, without a cap, and so does a value
        that nothing bounds.

    Raises
    ------
    Forbidden
        For anything but derived values.
    """
    colours, wide = palette(theme), width_of(width)
    if not isinstance(values, DerivedTable) or not len(values):
        refused(values, "values that were derived from a release")
    seed = seed_of(values)
    ink = colours.release if seed is None else colours.public
    drawn = list(values)[:MOST]
    title, sentences = _title(values), sentences_of(values)
    sentences += [ARROWS] if any(row.counted is not None for row in values) else []
    if len(values) > len(drawn):
        sentences.append(f"{len(values) - len(drawn):,} more values are in to_frame().")
    finding = f"{title}. " + " ".join(row.sentence for row in drawn[:5]) + (" …" if len(drawn) > 5 else "")
    if seed is not None:
        finding = f"Not private · teaching, seed {seed}. {finding}"
        title, sentences = f"Not private · teaching, seed {seed}", [title, *sentences]
    return picture_of(
        [_points(drawn, ink.strong, colours, wide)],
        title=wrapped(title, wide, TITLE),
        subtitle=[line for sentence in sentences for line in wrapped(sentence, wide, TEXT)],
        description=finding,
        colours=colours,
        head=colours.ink if seed is None else ink.strong,
        left=0,
    )


@plain_arguments
def of_combined(
    combined: Combined, *, beta: Number = "0.05", theme: Theme = "light", width: int = 700, bars: Bars = "both"
) -> Picture:
    """Draw the counts of two answers that were combined, with both their error bars.

    Parameters
    ----------
    combined : Combined
        The answer that `dpviz.combine` returned.
    beta : number, default "0.05"
        How often an error bar may fail.
    theme : {"light", "dark"}
        The colours.
    width : int, default 700
        Of the plot, in pixels.
    bars : {"both", "one", "all"}
        The error bars of any one bin, of all bins at once, or both.

    Returns
    -------
    Picture
        An Altair chart.

    Raises
    ------
    Forbidden
        For anything but combined answers.
    ParameterError
        Where there are too many bins to read one by one.
    """
    colours, wide = palette(theme), width_of(width)
    check_bars(bars)
    level = probability(beta, "beta", zero=False)
    if not isinstance(combined, Combined):
        refused(combined, "two releases that were combined")
    seed, title = combined.first.teaching, combined.first.plain_title
    rows = combined.rows(level)
    if rows:
        counts = counts_of(rows, rows, combined.rows_together(level), combined.axis, colours)
    else:
        counts = _none(combined, colours)
    sentences, head = [combined.sentence], colours.ink
    greatest = int(counts.values.argmax())
    finding = f"{title}: the largest value {shown(counts.exact(greatest))} at {counts.label(greatest)}. {sentences[0]}"
    if seed is not None:
        title, head = f"Not private · teaching, seed {seed}", counts.ink.strong
        finding = f"{title}. {finding}"
    return with_bars(counts, bars, title, sentences, head, finding, plot_width(counts.domain, wide))


def _none(combined: Combined, colours: Palette) -> Counts:
    """One place that says that neither answer shows a key."""
    first, axis = combined.first, combined.axis
    real = first.teaching is None
    nouns = first.question.nouns(first.unit)
    ink, verb = (colours.release, "released") if real else (colours.public, "drawn")
    return Counts(axis, axis.drawn, np.zeros(1, dtype=np.int64), nouns, ink, colours, verb, real=real)


# ---------------------------------------------------------------- what is said


def seed_of(rows: Sequence[Derived]) -> int | None:
    """The seed of a teaching draw that the values rest on."""
    return next((one.teaching for row in rows for one in row.paid if one.teaching is not None), None)


def sentences_of(rows: Sequence[Derived], remarked: Sequence[Derived] | None = None) -> list[str]:
    """The answers that the values rest on, their bias, and remarks, each sentence once.

    remarked  whose remarks are listed; left out, those of all rows. Where all rows are alike but for their remarks, one
              of them says the rest
    """
    said: dict[str, None] = {}
    for row in rows:
        biased = [] if row.bias_text == "unbiased" else [f"{capital(row.bias_text)}."]
        limits = [row.limits] if row.limits else []
        said |= dict.fromkeys([row.rests_on, *biased, *limits])
    return list(said | dict.fromkeys(remark for row in remarked or rows for remark in row.remarks))


def _title(values: DerivedTable) -> str:
    """`Differences of visits`, and what an interval holds for."""
    one = values[0]
    kinds = {row.kind for row in values}
    what = _ALL_KINDS[one.kind] if len(kinds) == 1 else "Values"
    said = f"{what} of {one.nouns}" if len(values) > 1 else one.what
    return f"{said}; {often(one.beta)}, {one.among_text}"


# ---------------------------------------------------------------- points below each other


def _points(rows: Sequence[Derived], ink: str, colours: Palette, wide: int) -> alt.LayerChart:
    """One value below the other, each with its name on the left and its number above the point."""
    scale = PERCENT if all(row.kind == "share" for row in rows) else 1
    unit = "percent" if scale == PERCENT else rows[0].nouns
    left = min(0.4 * wide, 1.1 * max(measured(row.what, SMALL) for row in rows) + 16)
    right = 1.1 * max(measured(row.value_text, SMALL) for row in rows) / 2
    values = [float(scale * between(row.value).middle) for row in rows]
    ends = [float(scale * end) for row in rows for end in row.counted_interval if end is not None]
    least, most = min([0.0, *values, *ends]), max([0.0, *values, *ends])
    room = (most - least or 1.0) * 0.04
    domain = [least - room if least else 0.0, most + room]
    tall = ROW * len(rows)
    x = alt.Scale(domain=domain, range=[left, wide - right - 8], nice=False, zero=False)
    y = alt.Scale(domain=[tall, 0], nice=False, zero=False)
    axis = alt.Axis(title=unit, orient="bottom", ticks=False, domain=False, labelPadding=6, tickCount=6, grid=True)
    marks: list[dict[str, Any]] = []
    arrows: list[dict[str, Any]] = []
    for place, (row, value) in enumerate(zip(rows, values, strict=True)):
        low, high = (None if end is None else float(scale * end) for end in row.counted_interval)
        opened = () if row.counted is None else zip((low, high), row.interval, ("left", "right"), strict=True)
        arrows += [
            {"x": end, "y": ROW * place + 28, "towards": towards}
            for end, asked, towards in opened
            if end is not None and asked is None
        ]
        closed = [end for end, asked in zip((low, high), row.interval, strict=True) if asked is not None]
        words = f"{shown(_percent(row))}%" if scale == PERCENT else row.value_text
        marks.append(
            {
                "what": shortened(row.what, left - 16, SMALL),
                "value": value,
                "low": domain[0] if low is None else low,
                "high": domain[1] if high is None else high,
                "y": ROW * place + 28,
                "number": words,
                "caps": [end for end in closed if end is not None],
                "how": row.how,
                "told": f"{row.what}: {row.value_text}; {row.told_text} ({row.known})",
            }
        )

    def layer(kind: str, some: list[dict[str, Any]], across: Any, **look: Any) -> alt.Chart:
        chart: alt.Chart = getattr(alt.Chart(alt.InlineData(values=some)), f"mark_{kind}")(**look)
        return chart.encode(x=across, y=alt.Y("y", type="quantitative", scale=y, axis=None))

    def at(field: str) -> alt.X:
        return alt.X(field, type="quantitative", scale=x, axis=axis)

    layers = [layer("rule", marks[:1], alt.X(datum=0, scale=x, axis=axis), color=colours.rule, aria=False)]
    layers[0] = layers[0].encode(y=alt.value(0), y2=alt.value(tall))
    for how, dash in DASHES.items():
        some = [mark for mark in marks if mark["how"] == how]
        if some:
            rule = layer("rule", some, at("low"), strokeWidth=3.4, strokeDash=dash, color=ink, aria=False)
            layers.append(rule.encode(x2="high:Q"))
    caps = [{"x": end, "y": mark["y"]} for mark in marks for end in mark["caps"]]
    if caps:
        layers.append(layer("tick", caps, at("x"), orient="vertical", size=12, thickness=1.5, color=ink, aria=False))
    for towards in ("left", "right"):
        some = [arrow for arrow in arrows if arrow["towards"] == towards]
        if some:
            tip = {"shape": f"triangle-{towards}", "filled": True, "size": 60, "opacity": 1, "color": ink}
            layers.append(layer("point", some, at("x"), aria=False, **tip))
    point = layer("point", marks, at("value"), shape="circle", filled=True, size=70, opacity=1, color=ink)
    layers.append(point.encode(tooltip=alt.Tooltip("told:N", title=" "), description="told:N"))
    number: dict[str, Any] = {
        "dy": -9,
        "baseline": "bottom",
        "fontSize": SMALL,
        "fontWeight": "bold",
        "color": colours.ink,
    }
    layers.append(layer("text", marks, at("value"), aria=False, **number).encode(text="number:N"))
    named: dict[str, Any] = {"align": "left", "baseline": "middle", "fontSize": max(SMALL, FLOOR), "color": colours.ink}
    layers.append(layer("text", marks, alt.value(0), aria=False, **named).encode(text="what:N"))
    return alt.LayerChart(layer=layers).properties(width=wide, height=tall)


def _percent(row: Derived) -> Fraction:
    """A share in percent, to two places."""
    return round(PERCENT * between(row.value).middle, 2)


# ---------------------------------------------------------------- as a histogram


def counts_of(
    rows: Sequence[Derived],
    one: Sequence[Derived] | None,
    together: Sequence[Derived] | None,
    axis: Axis,
    colours: Palette,
    scale: int = 1,
) -> Counts:
    """Derived values of all bins as a histogram has them.

    one, together  the same with intervals for one bin that was picked before looking, and for all at once; None where
                   there are none
    scale          by which every number is multiplied: 100 for shares in percent
    """
    seed = seed_of(rows)
    values = [scale * between(row.value).middle for row in rows]
    whole = all(value.denominator == 1 for value in values)
    domain = axis.drawn
    return Counts(
        axis=axis,
        domain=domain,
        values=numbers([int(value) for value in values] if whole else values),
        nouns="percent" if scale == PERCENT else rows[0].nouns,
        ink=colours.release if seed is None else colours.public,
        colours=colours,
        verb="released" if seed is None else "drawn",
        often=often(rows[0].beta),
        single=_ends(one, scale),
        together=_ends(together, scale),
        real=seed is None,
        fractions=None if whole else [round(value, 2) for value in values],
        told=domain.told,
        limited=rows[0].counted is not None,
    )


def _ends(rows: Sequence[Derived] | None, scale: int) -> Ends | None:
    """The intervals of all bins; None where there are none."""
    if rows is None or not is_known(rows):
        return None
    sides = zip(*(row.counted_interval for row in rows), strict=True)
    low, high = ([_scaled(end, scale) for end in side] for side in sides)
    how = max((row.how for row in rows), key=SURENESS.index)
    cuts = [np.array([row.cut[side] for row in rows]) for side in (0, 1)]
    first = rows[0]
    stands = (True, True) if first.counted is None else (first.low is not None, first.high is not None)
    return Ends.of(Intervals(low, high, how, first.rule, *cuts), stands)


def is_known(rows: Sequence[Derived]) -> bool:
    """Whether some value has an interval: an end that is more than what is public of every count."""
    ends = ((end, cut) for row in rows for end, cut in zip(row.counted_interval, row.cut, strict=True))
    return any(end is not None and not cut for end, cut in ends)


def _scaled(end: Any, scale: int) -> Fraction | None:
    return None if end is None else Fraction(scale * end)
