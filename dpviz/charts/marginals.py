"""The cells of a marginal: bars with both their error bars for one column, a map for two."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dpviz.boundary import plain_arguments
from dpviz.charts.canvas import Picture, refused, width_of
from dpviz.charts.counts import check_bars, with_bars
from dpviz.charts.maps import Table, alike, check_room, named, picture, totals
from dpviz.charts.marks import Bars
from dpviz.charts.panels import Counts, Ends, numbers
from dpviz.charts.theme import Palette, Theme, palette
from dpviz.charts.ticks import plot_width
from dpviz.charts.words import capital, often, shown
from dpviz.errors import ParameterError
from dpviz.model.answers import Axis, Intervals
from dpviz.model.between import between
from dpviz.model.error import SURENESS
from dpviz.model.marginals import Marginal

PERCENT = 100


@plain_arguments
def of_marginal(marginal: Marginal, *, theme: Theme = "light", width: int = 700, bars: Bars = "both") -> Picture:
    """The cells of `release.marginal(columns)`: bars for one column, a map for two. Shares are in percent.

    theme   "light" or "dark"
    width   in pixels
    bars    of one column: "both", "one" (one cell that was picked before looking) or "all" (all cells at once)

    Error bars fail as often as the intervals of the marginal. On a map a cell whose interval holds 0 has a hollow
    centre, and counts have their totals at the margins. What has no interval, as cells that are read as whole numbers,
    is drawn without.
    """
    colours, wide = palette(theme), width_of(width)
    check_bars(bars)
    if not isinstance(marginal, Marginal):
        refused(marginal, "a marginal of a release")
    if len(marginal.columns) == 1:
        return _bars(marginal, colours, wide, bars)
    if len(marginal.columns) == 2:
        return _map(marginal, colours, wide)
    raise ParameterError.of(
        f"{len(marginal.columns)} columns",
        "a chart is of a marginal of one column or two",
        "read the table: marginal.to_frame()",
    )


def _shares(marginal: Marginal) -> bool:
    return marginal[0].kind == "share"


def _title(marginal: Marginal) -> str:
    one = marginal[0]
    what = f"Shares of {one.nouns}" if _shares(marginal) else capital(one.nouns)
    names = " and ".join(name.replace("_", " ") for name in marginal.columns)
    return f"{what} by {names}"


def _seed(marginal: Marginal) -> int | None:
    """The seed of a teaching draw that it rests on."""
    return next((one.teaching for one in marginal[0].paid if one.teaching is not None), None)


def _sentences(marginal: Marginal) -> list[str]:
    """What it rests on, and what biases it."""
    one = marginal[0]
    biased = [] if one.bias_text == "unbiased" else [f"{capital(one.bias_text)}."]
    remarks = dict.fromkeys(remark for row in marginal for remark in row.remarks)
    return [one.rests_on, *biased, *remarks]


# ---------------------------------------------------------------- one column


def _bars(marginal: Marginal, colours: Palette, width: int, bars: Bars) -> Picture:
    counts = _counts(marginal, colours)
    seed, title = _seed(marginal), _title(marginal)
    sentences, head = _sentences(marginal), colours.ink
    greatest = int(counts.values.argmax())
    value = f"{shown(counts.exact(greatest))}{'%' if _shares(marginal) else ''}"
    finding = f"{title}: {len(marginal):,} bins, the largest value {value} at {counts.label(greatest)}."
    if seed is not None:
        title, sentences, head = f"Not private · teaching, seed {seed}", [title, *sentences], counts.ink.strong
        finding = f"{title}. {finding}"
    return with_bars(counts, bars, title, sentences, head, finding, plot_width(counts.domain, width))


def _counts(marginal: Marginal, colours: Palette) -> Counts:
    """The cells as a histogram has its bins: for one that was picked before looking, and for all at once."""
    (axis,), seed = marginal.axes, _seed(marginal)
    scale = PERCENT if _shares(marginal) else 1
    values = [scale * between(row.value).middle for row in marginal]
    whole = all(value.denominator == 1 for value in values)
    ends = [_ends(marginal.asked(marginal.columns, among), scale) for among in ("one", len(marginal))]
    return Counts(
        axis=Axis(marginal.columns[0], "bin", axis.labels, axis, f"{len(marginal):,}"),
        domain=axis,
        values=numbers([int(value) for value in values] if whole else values),
        nouns="percent" if _shares(marginal) else marginal[0].nouns,
        ink=colours.release if seed is None else colours.public,
        colours=colours,
        verb="released" if seed is None else "drawn",
        often=often(marginal[0].beta),
        single=ends[0],
        together=ends[1],
        real=seed is None,
        fractions=None if whole else [_near(value) for value in values],
        told=axis.told,
    )


def _near(value: Fraction) -> Fraction:
    """A value as it is written beside a bar."""
    return round(value, 2)


def _ends(marginal: Marginal | None, scale: int) -> Ends | None:
    """The intervals of all cells; None where there are none."""
    if marginal is None or not _known(marginal):
        return None
    low, high = (
        [_scaled(end, scale) for end in side] for side in zip(*(row.interval for row in marginal), strict=True)
    )
    how = max((row.how for row in marginal), key=SURENESS.index)
    cuts = [np.array([row.cut[side] for row in marginal]) for side in (0, 1)]
    return Ends.of(Intervals(low, high, how, marginal[0].rule, *cuts))


def _known(marginal: Marginal) -> bool:
    """Whether some cell has an interval: an end that is more than what is public of every count."""
    ends = ((end, cut) for row in marginal for end, cut in zip(row.interval, row.cut, strict=True))
    return any(end is not None and not cut for end, cut in ends)


def _scaled(end: Any, scale: int) -> Fraction | None:
    return None if end is None else Fraction(scale * end)


# ---------------------------------------------------------------- two columns


def _map(marginal: Marginal, colours: Palette, width: int) -> Picture:
    down, across = marginal.axes
    check_room(down, across)
    shares = _shares(marginal)
    cells = [(row.value, row.low, row.high) for row in marginal]
    told = "" if shares else alike(cells, marginal[0].nouns, marginal[0].beta)
    asked = [] if shares else [marginal.asked([one], marginal[0].among) for one in marginal.columns]
    sums = [totals(one) for one in asked if one is not None] or [[], []]
    table = Table(
        down,
        across,
        cells,
        sums[0],
        sums[1],
        title=_title(marginal),
        promise=" ".join(_sentences(marginal)),
        said=[told, named(down, across)],
        teaching=_seed(marginal),
        shares=shares,
        known=_known(marginal),
    )
    return picture(table, colours, width)
