"""The heat map: an answer over two columns, cell by cell, with its totals at the margins."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any, Final, TypeAlias

import altair as alt

from dpviz.boundary import Hidden, kind_of, plain_arguments
from dpviz.charts.canvas import Picture, picture_of, refused, width_of
from dpviz.charts.counts import histogram
from dpviz.charts.picture import promise
from dpviz.charts.registry import register
from dpviz.charts.theme import FLOOR, SMALL, TEXT, TITLE, Palette, Theme, palette
from dpviz.charts.words import capital, measured, often, reach, shortened, shown, spread, wrapped
from dpviz.errors import DomainError, ParameterError, ReleaseFormat
from dpviz.exact import Number, probability
from dpviz.model.answers import Enclosed
from dpviz.model.answers.values import listed
from dpviz.model.between import between
from dpviz.model.derived import Derived
from dpviz.model.domain import Domain, quoted
from dpviz.model.limited import WITHIN
from dpviz.model.release import Release

MOST_ROWS, MOST_COLUMNS = 60, 40
"""The most cells that are drawn below and beside each other."""

STEPS: Final = 6
"""Strengths of one colour, of which a reader tells each from the next."""

ROW, HEAD, GAP = 26, 22, 8
"""Pixels: the height of a row, of the line above the map, and the room between it and its totals."""

POWERS: Final = (2, 3, 4)
"""Exponents of the spacing of the strengths, the least first."""

MOST_PALE: Final = 0.5
"""The strengths are spaced evenly unless a larger share than this of all cells has the first."""

LINE: Final = 15
"""Pixels from one line of a total to the next."""

LIGHTEST: Final = 0.12
"""How much of the strong colour the first strength has; the last one has all of it."""


@plain_arguments
def heat_map(
    release: Release,
    *,
    columns: Sequence[str] | None = None,
    beta: Number = "0.05",
    theme: Theme = "light",
    width: int = 700,
) -> Picture:
    """Draw a release over two columns as a map: the first column down, the second across, a stronger colour for more.

    Parameters
    ----------
    release : Release
        A release over two columns or more.
    columns : list of str, optional
        Of a release over more columns, or of dv.Marginals, the two that are shown; the others are added up.
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
        If an option is outside its range, or there are more than 60 rows or 40 columns.

    Notes
    -----
    A cell whose interval holds 0 has a hollow centre: whether there is anybody is not settled. Values stand in their
    cells where there is room, and totals at the margins with how far they may be off. At most 60 rows and 40 columns:
    of more, draw a marginal or a part.

    Examples
    --------
    >>> from dpviz import teaching
    >>> import pandas as pd
    >>> from dpviz.model.domain import Domain
    >>> from dpviz.mechanisms import Dense
    >>> frame = pd.DataFrame({"year": [1, 1, 2], "sex": ["f", "m", "f"]})
    >>> both = Domain.integers(1, 2, column="year") * Domain.categories(["f", "m"], column="sex")
    >>> heat_map(teaching(frame, seed=1).draw(both, Dense("1"))).title.text
    ['Not private · teaching, seed 1']
    """
    colours, wide, level = palette(theme), width_of(width), probability(beta, "beta", zero=False)
    if not isinstance(release, Release):
        refused(release, "a Release over two columns")
    whole, asked = release.axis.domain, release.question.domain
    if columns is None and (not release.valued or whole is None or len(whole.factors) != 2):
        raise ReleaseFormat.of(
            release.answer.kind,
            "a heat map has a value for each pair of bins of two columns",
            _two(release) if asked.declared and len(asked.factors) > 1 else "draw it: release.chart()",
        )
    axes = _axes(release, columns)
    check_room(*axes)
    return picture(of_release(release, level, None if columns is None else axes), colours, wide)


def check_room(down: Domain, across: Domain) -> None:
    """Refuse more cells than anybody reads."""
    if down.size > MOST_ROWS or across.size > MOST_COLUMNS:
        raise ParameterError.of(
            f"{down.size:,} × {across.size:,} cells",
            f"a heat map has at most {MOST_ROWS} rows and {MOST_COLUMNS} columns",
            "put the column with more bins first, or ask for fewer, wider bins",
        )


def picture(table: MapData, colours: Palette, wide: int) -> Picture:
    """A table of two columns as a map."""
    drawn = _Map(table, colours, wide)
    title, sentences = table.title, [table.promise, *drawn.sentences]
    if table.teaching is not None:
        title, sentences = f"Not private · teaching, seed {table.teaching}", [table.title, *sentences]
    return picture_of(
        [drawn.key(), drawn.chart()],
        title=wrapped(title, wide, TITLE),
        subtitle=[line for sentence in sentences for line in wrapped(sentence, wide, TEXT)],
        description=drawn.finding,
        colours=colours,
        head=colours.ink if table.teaching is None else drawn.ink.strong,
        left=0,
    )


def _axes(release: Release, columns: Sequence[str] | None) -> tuple[Domain, Domain]:
    """The column that goes down and the one that goes across."""
    factors = {one.columns[0]: one for one in release.question.domain.factors}
    names = list(factors) if columns is None else columns
    if isinstance(names, Hidden) or not isinstance(names, list | tuple) or len(names) != 2:
        raise ParameterError.of(kind_of(names), "a heat map is of two columns", _two(release))
    for place, name in enumerate(names, 1):
        if type(name) is not str or name not in factors or name in names[: place - 1]:
            raise DomainError.of(
                "another column" if type(name) is str else kind_of(name),
                f"column {place} of a heat map must be one of {', '.join(factors)}, each named once",
                "name columns of this answer",
            )
    down, across = (factors[name] for name in names)
    return down, across


def _two(release: Release) -> str:
    """Two columns that can be drawn, as they are typed."""
    names = [one.columns[0] for one in release.question.domain.factors]
    return f"name two: columns=[{', '.join(map(quoted, names[:2]))}]"


Cell: TypeAlias = tuple[int | Fraction | Enclosed, Any, Any]
"""A value and the ends of its interval; None where one is open."""


@dataclass(frozen=True)
class MapData:
    """The data of a map, wherever it came from. Public throughout.

    down, across   the column that goes down and the one that goes across
    cells          row by row
    rows, columns  the totals at the margins, in words; nothing where there are none
    title, promise, said  sentences above the map
    teaching       the seed of a teaching draw
    shares         whether the cells are shares of something, told in percent
    known          whether cells have intervals
    """

    down: Domain
    across: Domain
    cells: Sequence[Cell]
    rows: Sequence[str]
    columns: Sequence[str]
    title: str
    promise: str
    said: Sequence[str]
    teaching: int | None
    shares: bool = False
    known: bool = True

    @property
    def error(self) -> float:
        """The half-width of any one cell, near enough to space strengths by."""
        halves = [float(high - low) / 2 for _, low, high in self.cells if low is not None and high is not None]
        return median(halves) * (100 if self.shares else 1) if halves else 0.0

    @property
    def values(self) -> list[float]:
        return [float(between(value).middle) * (100 if self.shares else 1) for value, _, _ in self.cells]

    def told(self, value: int | Fraction | Enclosed) -> str:
        """A value as it is written in a cell."""
        return f"{float(between(value).middle):.1%}" if self.shares else _short(value)

    def key(self, value: float) -> str:
        return f"to {reach(Fraction(value))}{'%' if self.shares else ''}"


def of_release(release: Release, beta: Fraction, axes: tuple[Domain, Domain] | None = None) -> MapData:
    """A release over two columns, or a marginal of one over more."""
    down, across = _axes(release, None) if axes is None else axes
    cells = _cells(release, None if axes is None else [one.columns[0] for one in axes], beta)
    rows, columns = (totals(release.marginal([one.columns[0]], beta=beta)) for one in (down, across))
    return MapData(
        down,
        across,
        cells,
        rows,
        columns,
        title=release.title,
        promise=f"{capital(promise(release))}.",
        said=[_errors(release, cells, beta), "" if axes is None else named(down, across)],
        teaching=release.teaching,
    )


def named(down: Domain, across: Domain) -> str:
    """Which columns are shown, of more."""
    one, other = (axis.columns_text.replace("_", " ") for axis in (down, across))
    return f"{capital(one)} by {other}; all other columns are added up."


def _errors(release: Release, cells: Sequence[Cell], beta: Fraction) -> str:
    """The error of one cell, where that is the same in every cell whose interval is cut nowhere."""
    nouns, one = release.question.nouns(release.unit), None
    if release.axis.domain is not None and len(release.axis.domain.factors) == 2:
        one = release.answer.bars(release.reading, beta)[0]
    limited = release.reading.limited.cuts
    if one is None:
        return alike(cells, nouns, beta, limited)
    return f"Each value {spread(one)} {nouns}, {often(beta)}{_of_counted(limited)}."


def _of_counted(limited: bool) -> str:
    """The number that an error is measured from, where the limits of the unit may leave rows out."""
    return f", for what is {WITHIN}" if limited else ""


def alike(cells: Sequence[Cell], nouns: str, beta: Fraction, limited: bool = False) -> str:
    """The same, from the intervals alone."""
    widths = {high - low for _, low, high in cells if low is not None and high is not None and low > 0}
    half = Fraction(-(-max(widths) // 2)) if widths and max(widths) - min(widths) <= 1 else None
    return "" if half is None else f"Each value within {reach(half)} {nouns}, {often(beta)}{_of_counted(limited)}."


def _cells(release: Release, columns: Sequence[str] | None, beta: Fraction) -> list[Cell]:
    """Every cell, row by row."""
    if columns is None:
        intervals = release.intervals(beta, of="counted")
        assert intervals is not None
        return list(zip(listed(release.shown), intervals.low, intervals.high, strict=True))
    return [(one.value, *one.counted_interval) for one in release.marginal(list(columns), beta=beta)]


class _Map:
    """Where everything stands, in pixels."""

    def __init__(self, table: MapData, colours: Palette, wide: int) -> None:
        self.table, self.colours, self.wide = table, colours, wide
        self.down, self.across = table.down, table.across
        self.ink = colours.release if table.teaching is None else colours.public
        self.exact = [table.told(value) for value, _, _ in table.cells]
        self.values = table.values
        self.open = [
            table.known and bool((low is None or low <= 0) and (high is None or high >= 0))
            for _, low, high in table.cells
        ]
        self.ends = ends_of(self.values, table.error)
        self.rows, self.columns = list(table.rows), list(table.columns)
        hollow = "A hollow centre: the interval of the cell holds 0." if table.known else ""
        margins = "Totals stand at the margins." if self.rows else ""
        uneven = "" if is_even(self.ends) else "Lighter colours span fewer values."
        self.sentences = [*table.said, " ".join(filter(None, (hollow, margins, uneven)))]
        names = [self.down.label(at) for at in range(self.down.size)]
        self.left = min(wide / 3, max(measured(name, SMALL) for name in [*names, self.down.columns_text]) + GAP)
        self.right = max(measured(total, SMALL) for total in [*self.rows, "total"]) + GAP if self.rows else 2.0
        self.cell = max(4.0, (wide - self.left - self.right) / self.across.size)
        self.below = _lines(self.columns, self.cell - 6)

    # ------------------------------------------------------------ words

    @property
    def finding(self) -> str:
        """The map in a sentence, for whoever does not see it."""
        at = max(range(len(self.values)), key=self.values.__getitem__)
        row, column = divmod(at, self.across.size)
        most = f"{self.down.label(row)}, {self.across.label(column)}"
        held = f"; of {sum(self.open):,} the interval holds 0" if self.table.known else ""
        marked = "" if self.table.teaching is None else f"Not private · teaching, seed {self.table.teaching}. "
        return (
            f"{marked}{self.table.title}: {self.down.size:,} × {self.across.size:,} cells, the largest is {most} "
            f"with {self.exact[at]}{held}."
        )

    # ------------------------------------------------------------ drawing

    def strength(self, value: float) -> int:
        """Which of the strengths a value has, from 0."""
        return strength_of(value, self.ends)

    def key(self) -> alt.LayerChart:
        """The meaning of the strengths: six cells, each with the numbers that it stands for."""
        each = min(90.0, self.wide / STEPS)
        rows = [
            {
                "x": at * each,
                "x2": (at + 1) * each - 2,
                "y": 0,
                "y2": 12,
                "fill": self.mixed(at),
                "label": self.table.key(self.ends[at]),
            }
            for at in range(STEPS)
        ]
        data = alt.Chart(alt.InlineData(values=rows))
        layers = [
            data.mark_rect(aria=False).encode(
                x=self._x("x"), x2="x2:Q", y=_y("y", 30), y2="y2:Q", color=alt.Color("fill:N", scale=None)
            ),
            data.mark_text(
                align="left", baseline="top", fontSize=FLOOR, color=self.colours.quiet, aria=False, dy=16
            ).encode(x=self._x("x"), y=_y("y", 30), text="label:N"),
        ]
        return alt.LayerChart(layer=layers).properties(width=self.wide, height=30)

    def chart(self) -> alt.LayerChart:
        tall = HEAD + ROW * (self.down.size + 1) + GAP + LINE * (max([1, *map(len, self.below)]) - 1)
        cells = self._cells()
        layers = [
            alt.Chart(alt.InlineData(values=cells))
            .mark_rect(aria=False)
            .encode(x=self._x("x"), x2="x2:Q", y=_y("y", tall), y2="y2:Q", color=alt.Color("fill:N", scale=None)),
            alt.Chart(alt.InlineData(values=[cell for cell in cells if cell["open"]]))
            .mark_rect(aria=False, color=self.colours.ground)
            .encode(x=self._x("hx"), x2="hx2:Q", y=_y("hy", tall), y2="hy2:Q"),
        ]
        texts = [*self._heads(), *self._margins()]
        if self.cell >= max(measured(cell["text"], FLOOR) for cell in cells) + 6:
            texts += [
                {
                    "x": (cell["x"] + cell["x2"]) / 2,
                    "y": (cell["y"] + cell["y2"]) / 2,
                    "text": cell["text"],
                    "align": "center",
                    "fill": cell["over"],
                }
                for cell in cells
            ]
        for align in ("left", "center", "right"):
            some = [one for one in texts if one["align"] == align]
            layers.append(
                alt.Chart(alt.InlineData(values=some))
                .mark_text(align=align, baseline="middle", fontSize=FLOOR if align == "center" else SMALL, aria=False)
                .encode(x=self._x("x"), y=_y("y", tall), text="text:N", color=alt.Color("fill:N", scale=None))
            )
        return alt.LayerChart(layer=layers).properties(width=self.wide, height=tall)

    def _cells(self) -> list[dict[str, Any]]:
        """Every cell, the hole in its middle, and its value as it is written there."""
        found = []
        hole = min(self.cell, ROW) * 0.3
        for at, value in enumerate(self.values):
            row, column = divmod(at, self.across.size)
            x, y = self.left + column * self.cell, HEAD + row * ROW
            step = self.strength(value)
            text = self.exact[at]
            wide_hole = max(hole, measured(text, FLOOR) / 2 + 3) if self.cell >= measured(text, FLOOR) + 10 else hole
            found.append(
                {
                    "x": x,
                    "x2": x + self.cell - 1,
                    "y": y,
                    "y2": y + ROW - 1,
                    "hx": x + self.cell / 2 - wide_hole,
                    "hx2": x + self.cell / 2 + wide_hole - 1,
                    "hy": y + ROW / 2 - hole,
                    "hy2": y + ROW / 2 + hole - 1,
                    "open": self.open[at],
                    "fill": self.mixed(step),
                    "over": self.colours.ink if step < STEPS / 2 or self.open[at] else self.colours.ground,
                    "text": text,
                }
            )
        return found

    def _heads(self) -> list[dict[str, Any]]:
        """The names of rows and columns; of many columns every second, third … that has room."""
        quiet, ink = self.colours.quiet, self.colours.ink
        names = [self.across.label(at) for at in range(self.across.size)]
        every = next(
            step
            for step in range(1, len(names) + 1)
            if step == len(names) or max(measured(name, FLOOR) for name in names[::step]) + 6 <= step * self.cell
        )
        above = [
            {
                "x": self.left + (at + 0.5) * self.cell,
                "y": HEAD / 2,
                "text": shortened(name, max(self.cell * every, 24.0), SMALL),
                "align": "center",
                "fill": ink,
            }
            for at, name in enumerate(names)
            if at % every == 0
        ]
        beside = [
            {
                "x": 0,
                "y": HEAD + (at + 0.5) * ROW,
                "text": shortened(self.down.label(at), self.left - GAP, SMALL),
                "align": "left",
                "fill": ink,
            }
            for at in range(self.down.size)
        ]
        both = f"{self.down.columns_text} × {self.across.columns_text}".replace("_", " ")
        corner = {
            "x": 0,
            "y": HEAD / 2,
            "text": shortened(both, self.left - GAP, SMALL),
            "align": "left",
            "fill": quiet,
        }
        return [corner, *above, *beside]

    def _margins(self) -> list[dict[str, Any]]:
        """The totals of rows at the right, and those of columns below, as far as there is room."""
        quiet, end = self.colours.quiet, self.left + self.cell * self.across.size + GAP
        below = HEAD + ROW * self.down.size + GAP + ROW / 2
        rows = [
            {"x": end, "y": HEAD + (at + 0.5) * ROW, "text": total, "align": "left", "fill": quiet}
            for at, total in enumerate(self.rows)
        ]
        heads = [
            {"x": end, "y": HEAD / 2, "text": "total", "align": "left", "fill": quiet},
            {"x": 0, "y": below, "text": "total", "align": "left", "fill": quiet},
        ]
        if not rows:
            return []
        columns = [
            {
                "x": self.left + (at + 0.5) * self.cell,
                "y": below + LINE * line,
                "text": words,
                "align": "center",
                "fill": quiet,
            }
            for at, lines in enumerate(self.below)
            for line, words in enumerate(lines)
        ]
        return [*heads[: 1 + bool(columns)], *rows, *columns]

    def mixed(self, step: int) -> str:
        """One of the strengths: so much of the strong colour on the ground."""
        return _between(self.colours.ground, self.ink.strong, LIGHTEST + (1 - LIGHTEST) * step / (STEPS - 1))

    def _x(self, field: str) -> Any:
        scale = alt.Scale(domain=[0, self.wide], nice=False, zero=False)
        return alt.X(field, type="quantitative", scale=scale, axis=None)


def _y(field: str, tall: float) -> Any:
    scale = alt.Scale(domain=[tall, 0], nice=False, zero=False)
    return alt.Y(field, type="quantitative", scale=scale, axis=None)


def totals(cells: Sequence[Derived]) -> list[str]:
    """The totals of one column, each with how far it may be off, `17,266 ±113`, or with its interval where that is cut
    at a public limit: `12, 0 to 64`."""
    found = []
    for cell in cells:
        low, high, value = cell.low, cell.high, cell.value
        if cell.counted is not None:
            found.append(f"{_short(value)}, {cell.interval_text}")
        elif low is None or high is None or isinstance(value, Enclosed):
            found.append(shown(value))
        elif high - value == value - low:
            found.append(f"{_short(value)} ±{reach(Fraction(value - low))}")
        elif low > 0 and Fraction(value).denominator != 1:  # whole ends around a fraction
            found.append(f"{_short(value)} ±{reach(Fraction(-(-(high - low) // 2)))}")
        else:
            found.append(f"{_short(value)}, {shown(low)} to {shown(high)}")
    return found


def _short(value: int | Fraction | Enclosed) -> str:
    """A value as it is written in a cell: of a fraction the nearest whole number."""
    return shown(value) if isinstance(value, int | Enclosed) else shown(round(value))


def _lines(totals: Sequence[str], room: float) -> list[list[str]]:
    """Totals with their errors, each in a line or, where there is less room, in two; none where a total would lose its
    error."""
    for some in ([[total] for total in totals], [total.split(" ", 1) for total in totals]):
        if all(measured(words, FLOOR) <= room for lines in some for words in lines):
            return some
    return []


def ends_of(values: Sequence[float], error: float) -> list[float]:
    """The largest value that each strength stands for: evenly spaced, or closer below where most cells would look
    alike; but never closer than `error`, which is how far any one cell may be off."""
    most = _round(max([1.0, *values]))
    even = [most * step / STEPS for step in range(1, STEPS + 1)]
    if sum(value <= even[0] for value in values) <= MOST_PALE * len(values):
        return even

    def largest(ends: Sequence[float]) -> int:
        return max(Counter(strength_of(value, ends) for value in values).values())

    spaced = [[*(float(f"{most * (step / STEPS) ** power:.2g}") for step in range(1, STEPS)), most] for power in POWERS]
    apart = [ends for ends in spaced if ends[0] >= max(1.0, error) and ends == sorted({*ends})]
    return min([even, *apart], key=largest)


def is_even(ends: Sequence[float]) -> bool:
    return math.isclose(ends[0] * STEPS, ends[-1])


def strength_of(value: float, ends: Sequence[float]) -> int:
    """The strength of a value, from 0."""
    return min(bisect_left(ends, value * (1 - 1e-12)), STEPS - 1)


def _round(most: float) -> float:
    """The least number that is not below and whose sixths are short."""
    power = 10.0 ** math.floor(math.log10(most))
    sixths = (1.2, 1.5, 1.8, 2.4, 3, 3.6, 4.8, 6, 7.2, 9, 12)
    return next(scale * power for scale in sixths if scale * power >= most)


def _between(one: str, other: str, share: float) -> str:
    """A colour between two, in light as eyes add it up."""

    def light(colour: str) -> list[float]:
        return [(int(colour[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)]

    mixed = [
        (a ** (1 / 3) + (b ** (1 / 3) - a ** (1 / 3)) * share) ** 3
        for a, b in zip(light(one), light(other), strict=True)
    ]
    return "#" + "".join(f"{round(255 * part ** (1 / 2.2)):02x}" for part in mixed)


@plain_arguments
def marginals(release: Release, *, columns: Sequence[str] | None = None, **options: Any) -> Picture:
    """A table of dv.Marginals: of two columns as a map, the first such table where none are named; where there are only
    tables of one column, all their cells as bars."""
    if columns is None:
        columns = release.answer.heat_map_columns(release.reading)
        if columns is None:
            return histogram(release, **options)
    return heat_map(release, columns=columns, **options)


register("marginals", marginals)
