"""The cells of a marginal: bars with both their error bars for one column, a map for two."""

from __future__ import annotations

from dpviz.boundary import plain_arguments
from dpviz.charts.canvas import Picture, refused, width_of
from dpviz.charts.counts import check_bars, with_bars
from dpviz.charts.derived import PERCENT, counts_of, is_known, seed_of, sentences_of
from dpviz.charts.maps import MapData, alike, check_room, named, picture, totals
from dpviz.charts.marks import Bars
from dpviz.charts.panels import Counts
from dpviz.charts.theme import Palette, Theme, palette
from dpviz.charts.ticks import plot_width
from dpviz.charts.words import capital, shown
from dpviz.errors import ParameterError
from dpviz.model.answers import Axis
from dpviz.model.marginals import Marginal


@plain_arguments
def of_marginal(marginal: Marginal, *, theme: Theme = "light", width: int = 700, bars: Bars = "both") -> Picture:
    """Draw the cells of `release.marginal(columns)`: bars for one column, a map for two. Shares are in percent.

    Parameters
    ----------
    marginal : Marginal
        A marginal of one column or two.
    theme : {"light", "dark"}, default "light"
        The colours.
    width : int, default 700
        The width of the picture, in pixels.
    bars : {"both", "one", "all"}, default "both"
        The error bars of any one bin, of all bins at once, or both.

    Returns
    -------
    Picture
        An Altair chart.

    Raises
    ------
    Forbidden
        If the first argument is of another kind.
    ParameterError
        If an option is outside its range, or the marginal has more than two columns.

    Notes
    -----
    `bars` is for one column: "one" holds for one cell that was picked before looking. Error bars fail as often as the
    intervals of the marginal. On a map a cell whose interval holds 0 has a hollow centre, and counts have their totals
    at the margins. A cell without an interval, as cells that are read as whole numbers, is drawn without.
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


# ---------------------------------------------------------------- one column


def _bars(marginal: Marginal, colours: Palette, width: int, bars: Bars) -> Picture:
    counts = _counts(marginal, colours)
    seed, title = seed_of(marginal), _title(marginal)
    sentences, head = sentences_of(marginal[:1], marginal), colours.ink
    greatest = int(counts.values.argmax())
    value = f"{shown(counts.exact(greatest))}{'%' if _shares(marginal) else ''}"
    finding = f"{title}: {len(marginal):,} bins, the largest value {value} at {counts.label(greatest)}."
    if seed is not None:
        title, sentences, head = f"Not private · teaching, seed {seed}", [title, *sentences], counts.ink.strong
        finding = f"{title}. {finding}"
    return with_bars(counts, bars, title, sentences, head, finding, plot_width(counts.domain, width))


def _counts(marginal: Marginal, colours: Palette) -> Counts:
    """The cells as a histogram has its bins."""
    (axis,) = marginal.axes
    drawn = Axis(marginal.columns[0], "bin", axis.labels, axis, f"{len(marginal):,}")
    one, together = (marginal.asked(marginal.columns, among) for among in ("one", len(marginal)))
    return counts_of(marginal, one, together, drawn, colours, PERCENT if _shares(marginal) else 1)


# ---------------------------------------------------------------- two columns


def _map(marginal: Marginal, colours: Palette, width: int) -> Picture:
    down, across = marginal.axes
    check_room(down, across)
    shares = _shares(marginal)
    cells = [(row.value, *row.counted_interval) for row in marginal]
    told = "" if shares else alike(cells, marginal[0].nouns, marginal[0].beta, bool(marginal[0].limits))
    asked = [] if shares else [marginal.asked([one], marginal[0].among) for one in marginal.columns]
    sums = [totals(one) for one in asked if one is not None] or [[], []]
    table = MapData(
        down,
        across,
        cells,
        sums[0],
        sums[1],
        title=_title(marginal),
        promise=" ".join(sentences_of(marginal[:1], marginal)),
        said=[told, named(down, across)],
        teaching=seed_of(marginal),
        shares=shares,
        known=is_known(marginal),
    )
    return picture(table, colours, width)
