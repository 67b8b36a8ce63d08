"""A drawn record: its columns below each other, each with its label in a filled cell."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from dpviz.boundary import plain_arguments
from dpviz.charts.canvas import Picture, picture_of, refused, width_of
from dpviz.charts.picture import promise
from dpviz.charts.registry import register
from dpviz.charts.theme import SMALL, TEXT, TITLE, Theme, palette
from dpviz.charts.words import capital, measured, wrapped
from dpviz.model.release import Release

ROW, CELL, GAP, MOST = 34, 28, 14, 40
"""Pixels from row to row, the height of a cell, the room beside a name; and how many columns are drawn at most."""


@plain_arguments
def record(release: Release, *, theme: Theme = "light", width: int = 700) -> Picture:
    """Draw a released record: the name of each column, and its label in a cell. Of many columns the first forty.

    Parameters
    ----------
    release : Release
        A release of a record.
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
    """
    colours, wide = palette(theme), width_of(width)
    if not isinstance(release, Release) or release.answer.chart != "record":
        refused(release, "a Release of a drawn record")
    ink = colours.release if release.teaching is None else colours.public
    filled = colours.ink if release.teaching is None else ink.strong
    labels = release.record
    shown = [(_cut(name), _cut(label)) for name, label in list(labels.items())[:MOST]]
    names = max(measured(name, SMALL) for name, _ in shown)
    cell = max(56, math.ceil(1.1 * max(measured(label, SMALL) for _, label in shown)) + 20)
    left = min(wide / 2, 1.1 * names + GAP)
    rows = [
        {
            "name": name,
            "label": label,
            "x": left,
            "x2": min(float(wide), left + cell),
            "y": at * ROW,
            "y2": at * ROW + CELL,
            "middle": at * ROW + CELL / 2,
            "inside": left + 10,
            "beside": left - GAP,
        }
        for at, (name, label) in enumerate(shown)
    ]
    tall = ROW * len(rows)
    data = alt.Chart(alt.InlineData(values=rows))
    text: dict[str, Any] = {"baseline": "middle", "fontSize": SMALL, "aria": False}

    def across(field: str) -> Any:
        return alt.X(field, type="quantitative", scale=alt.Scale(domain=[0, wide], nice=False, zero=False), axis=None)

    def down(field: str) -> Any:
        return alt.Y(field, type="quantitative", scale=alt.Scale(domain=[tall, 0], nice=False, zero=False), axis=None)

    layers = [
        data.mark_rect(aria=False, cornerRadius=3, color=filled).encode(
            x=across("x"), x2="x2:Q", y=down("y"), y2="y2:Q"
        ),
        data.mark_text(align="left", color=colours.paper, fontWeight="bold", **text).encode(
            x=across("inside"), y=down("middle"), text="label:N"
        ),
        data.mark_text(align="right", color=colours.ink, **text).encode(
            x=across("beside"), y=down("middle"), text="name:N"
        ),
    ]
    part = alt.LayerChart(layer=layers).properties(width=wide, height=tall)
    more = len(labels) - len(shown)
    title, sentences = release.title, [f"{capital(promise(release))}.", release.sentence]
    sentences += [f"{more:,} more columns are in release.record."] if more else []
    sentences.append(release.answer.remark(release.reading))
    marked = "" if release.teaching is None else f"Not private · teaching, seed {release.teaching}. "
    if release.teaching is not None:
        title, sentences = f"Not private · teaching, seed {release.teaching}", [release.title, *sentences]
    told = ", ".join(f"{name} {label}" for name, label in shown[:10])
    return picture_of(
        [part],
        title=wrapped(title, wide, TITLE),
        subtitle=[line for sentence in sentences for line in wrapped(sentence, wide, TEXT)],
        description=f"{marked}{release.title}: {told}{', …' if len(labels) > 10 else ''}.",
        colours=colours,
        head=colours.ink if release.teaching is None else ink.strong,
        left=0,
    )


def _cut(words: str) -> str:
    return words if len(words) <= 40 else words[:39] + "…"


register("record", record)
