"""The answers about all parts of a question with `by=`: small multiples that share one axis, or a row of cells each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal

import altair as alt

from dpviz.boundary import plain_arguments
from dpviz.charts.canvas import DASHES, Picture, picture_of, refused, width_of
from dpviz.charts.panels import numbers
from dpviz.charts.picture import promise
from dpviz.charts.registry import register
from dpviz.charts.theme import FLOOR, SMALL, TEXT, TITLE, Ink, Palette, Theme, palette
from dpviz.charts.ticks import lies, ticks
from dpviz.charts.words import capital, known, measured, often, reach, shortened, shown, spread, wrapped
from dpviz.errors import ParameterError, ReleaseFormat
from dpviz.exact import Number, probability
from dpviz.model.domain import Domain
from dpviz.model.error import How
from dpviz.model.limited import WITHIN
from dpviz.model.release import Release

MOST_PARTS, MOST_ROWS = 60, 24
"""The most parts that are drawn in one picture, and the most labelled rows in each of them."""

LEAST, GAP, AXIS = 200, 18, 44
"""Pixels: the least width of a panel, the room between two, and that of the shared axis at the left."""

HEAD, TALL, FOOT, ROW, CELL = 20, 96, 24, 20, 24
"""Pixels: a panel's name above it, how tall it is, its labels below, one labelled row, and one row of cells."""

THICK, THIN = 3.0, 1.0
HEAD_OF_ARROW = 4.0

DOMINATES, FEWEST_LABELS = 4, 3
"""A label this many times larger than all others, of at least so many, is off the axis of lying bars."""

SINGLE: Final = 5.0
"""Pixels from bin to bin from which on each bin has bars of its own; closer ones run together into bands."""

Rows = list[dict[str, Any]]
Align = Literal["left", "center", "right"]


@plain_arguments
def small_multiples(release: Release, *, beta: Number = "0.05", theme: Theme = "light", width: int = 700) -> Picture:
    """Draw all parts of an answer beside each other: panels that share one axis, or a row of cells for each list.

    Parameters
    ----------
    release : Release
        An answer to a question that was asked with ``by=``.
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
        If an option is outside its range, or there are too many parts or labels.

    Notes
    -----
    Counts stand on one axis, which starts at 0, with both error bars: thick for any one bin, thin for all bins of a
    part at once; where bins are narrower than 5 pixels, a strong and a pale band. Labelled bins and lists with values
    lie on their side; a list without values is a row of cells. At most 60 parts, and 24 labels in each: of more, draw
    one part, ``release.groups[name].chart()``.

    Examples
    --------
    >>> from dpviz import teaching
    >>> import pandas as pd
    >>> from dpviz.model.domain import Domain
    >>> from dpviz.mechanisms import Dense
    >>> frame = pd.DataFrame({"year": [1, 1, 2], "age": [30, 41, 52]})
    >>> years, ages = Domain.integers(1, 2, column="year"), Domain.integers(30, 59, column="age")
    >>> small_multiples(teaching(frame, seed=1).draw(ages, Dense("1"), by=years)).title.text
    ['Not private · teaching, seed 1']
    """
    colours, level, wide = palette(theme), probability(beta, "beta", zero=False), width_of(width)
    if not isinstance(release, Release):
        refused(release, "a Release")
    groups = release.groups
    if len(groups) > MOST_PARTS:
        raise ParameterError.of(
            f"{len(groups):,} parts", f"at most {MOST_PARTS} parts are drawn in one picture", _single(release)
        )
    drawn = _drawn(release, level, colours, wide)
    title, sentences = release.title, [f"{capital(promise(release))}.", *drawn.sentences]
    if release.teaching is not None:
        title, sentences = f"Not private · teaching, seed {release.teaching}", [release.title, *sentences]
    return picture_of(
        [drawn.marks.chart(wide)],
        title=wrapped(title, wide, TITLE),
        subtitle=[line for sentence in sentences if sentence for line in wrapped(sentence, wide, TEXT)],
        description=f"{'' if release.teaching is None else f'{title}. '}{release.title}: {drawn.finding}",
        colours=colours,
        head=colours.ink if release.teaching is None else colours.public.strong,
        left=0,
    )


register("parts", small_multiples)


def _single(release: Release) -> str:
    return f'draw one part: release.groups["{next(iter(release.groups))}"].chart()'


def _drawn(release: Release, beta: Fraction, colours: Palette, wide: int) -> _Bars | _Lists:
    """The picture that fits the answers."""
    some = list(release.groups.values())
    ink = colours.release if release.teaching is None else colours.public
    marks = _PanelMarks(colours, ink)
    if not all(part.valued for part in some):
        if not all(part.listing is not None for part in some):
            rule = "parts are drawn beside each other where each has values or is a list"
            raise ReleaseFormat.of(some[0].answer.kind, rule, _single(release))
        return _Lists(release, marks, wide)
    if not all(part.answer.has_rows for part in some):
        rule = "parts are drawn beside each other where each has a value for each of its rows"
        raise ReleaseFormat.of(some[0].answer.kind, rule, _single(release))
    panels = [_Part.of(name, part, beta) for name, part in release.groups.items()]
    domain = some[0].axis.domain
    upright = domain is not None and not lies(domain) and all(part.axis.domain == domain for part in some)
    if upright and domain is not None:
        _check(release, domain.size, (wide - AXIS) / _across(wide - AXIS), "bins")
    else:
        _check(release, max(len(panel.labels) for panel in panels), MOST_ROWS, "labels")
    return _Bars(release, panels, domain if upright else None, marks, wide, beta)


def _check(release: Release, many: int, most: float, nouns: str) -> None:
    if many > most:
        raise ParameterError.of(
            f"{many:,} {nouns}",
            f"at most {int(most)} {nouns} are drawn in each part of a picture this wide",
            _single(release),
        )


def _across(room: float) -> int:
    """How many panels stand beside each other."""
    return max(1, int((room + GAP) // (LEAST + GAP)))


@dataclass(frozen=True)
class _Bar:
    """The ends of every interval of a part; None where one is open.

    stands  whether the lower and the upper ends hold for what was asked, too; one that does not is drawn as an arrow
    """

    low: Sequence[float | None]
    high: Sequence[float | None]
    how: How
    stands: tuple[bool, bool] = (True, True)


@dataclass(frozen=True)
class _Part:
    """The data of one panel."""

    name: str
    labels: list[str]
    values: list[float]
    texts: list[str]
    one: _Bar | None
    every: _Bar | None

    @classmethod
    def of(cls, name: str, release: Release, beta: Fraction) -> _Part:
        values = release.values
        bars = [cls._bar(release, beta, of) for of in ("one", "all")]
        told = (release.axis.domain or release.question.domain).told
        found = cls(
            name, [*map(told, release.labels)], [float(one) for one in numbers(values)], [*map(shown, values)], *bars
        )
        return found if release.axis.domain is not None or release.listing is not None else found.sorted()

    def sorted(self) -> _Part:
        """The largest value first."""
        order = sorted(range(len(self.values)), key=lambda at: -self.values[at])

        def of(bar: _Bar | None) -> _Bar | None:
            return bar and _Bar([bar.low[at] for at in order], [bar.high[at] for at in order], bar.how, bar.stands)

        labels, texts = [self.labels[at] for at in order], [self.texts[at] for at in order]
        return _Part(self.name, labels, [self.values[at] for at in order], texts, of(self.one), of(self.every))

    @staticmethod
    def _bar(release: Release, beta: Fraction, among: Any) -> _Bar | None:
        found = release.intervals(beta, among, of="counted") if len(release.values) else None
        if found is None:
            return None
        low, high = ([None if end is None else float(end) for end in ends] for ends in (found.low, found.high))
        return _Bar(low, high, found.how, release.reading.limited.ends)

    @property
    def ends(self) -> Iterator[float]:
        """Every number that needs room on the axis."""
        yield from self.values
        for bar in (self.one, self.every):
            if bar is not None:
                yield from (end for end in (*bar.low, *bar.high) if end is not None and math.isfinite(end))


@dataclass
class _PanelMarks:
    """Everything drawn, in pixels, by its look: few layers, however many parts."""

    colours: Palette
    ink: Ink
    rects: dict[str, Rows] = field(default_factory=dict)
    cells: Rows = field(default_factory=list)
    lines: dict[tuple[float, tuple[float, ...], str], Rows] = field(default_factory=dict)
    texts: dict[tuple[Align, float, bool], Rows] = field(default_factory=dict)
    tall: float = 0.0

    def rect(self, x: float, y: float, x2: float, y2: float, colour: str) -> None:
        self.rects.setdefault(colour, []).append({"x": x, "y": y, "x2": x2, "y2": y2})

    def line(
        self, x: float, y: float, x2: float, y2: float, width: float, colour: str, dash: Sequence[float] = ()
    ) -> None:
        self.lines.setdefault((width, tuple(dash), colour), []).append({"x": x, "y": y, "x2": x2, "y2": y2})

    def arrow(self, x: float, y: float, right: int, up: int) -> None:
        """The head of an arrow whose tip is here: an end that is open for what was asked."""
        for side in (-HEAD_OF_ARROW, HEAD_OF_ARROW):
            back_x = x - HEAD_OF_ARROW * right + (side if up else 0)
            back_y = y + HEAD_OF_ARROW * up + (side if right else 0)
            self.line(x, y, back_x, back_y, 1.5, self.ink.strong)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        colour: str,
        *,
        align: Align = "left",
        size: float = FLOOR,
        bold: bool = False,
    ) -> None:
        row = {"x": x, "y": y, "text": words, "fill": colour}
        self.texts.setdefault((align, size, bold), []).append(row)

    def chart(self, wide: int) -> alt.LayerChart:
        x, x2 = self._place("x", wide), "x2:Q"
        y, y2 = self._place("y", self.tall), "y2:Q"
        fill = alt.Color("fill:N", scale=None)
        layers: list[Any] = []
        behind = [key for key in self.lines if key[2] in (self.colours.grid,)]
        for key in behind:
            layers.append(self._lines(key).encode(x=x, x2=x2, y=y, y2=y2))
        for colour, rows in self.rects.items():
            data = alt.Chart(alt.InlineData(values=rows))
            layers.append(data.mark_rect(aria=False, color=colour).encode(x=x, x2=x2, y=y, y2=y2))
        if self.cells:
            data = alt.Chart(alt.InlineData(values=self.cells))
            layers.append(
                data.mark_rect(aria=False, cornerRadius=2, strokeWidth=1).encode(
                    x=x, x2=x2, y=y, y2=y2, fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("line:N", scale=None)
                )
            )
        for key in self.lines:
            if key not in behind:
                layers.append(self._lines(key).encode(x=x, x2=x2, y=y, y2=y2))
        for (align, size, bold), rows in self.texts.items():
            data = alt.Chart(alt.InlineData(values=rows))
            look: dict[str, Any] = {"fontWeight": "bold"} if bold else {}
            layers.append(
                data.mark_text(align=align, baseline="middle", fontSize=size, aria=False, **look).encode(
                    x=x, y=y, text="text:N", color=fill
                )
            )
        return alt.LayerChart(layer=layers).properties(width=wide, height=self.tall)

    def _lines(self, key: tuple[float, tuple[float, ...], str]) -> Any:
        width, dash, colour = key
        data = alt.Chart(alt.InlineData(values=self.lines[key]))
        return data.mark_rule(aria=False, strokeWidth=width, strokeDash=list(dash), color=colour)

    @staticmethod
    def _place(name: str, size: float) -> Any:
        scale = alt.Scale(domain=[size, 0] if name == "y" else [0, size], nice=False, zero=False)
        return (alt.Y if name == "y" else alt.X)(name, type="quantitative", scale=scale, axis=None)


class _Bars:
    """Panels of bars with their error bars: upright over a domain, or lying beside their labels."""

    def __init__(
        self,
        release: Release,
        panels: list[_Part],
        domain: Domain | None,
        marks: _PanelMarks,
        wide: int,
        beta: Fraction,
    ) -> None:
        self.release, self.panels, self.domain, self.marks = release, panels, domain, marks
        ends = [end for panel in panels for end in panel.ends]
        self.low, self.high = min(0.0, *ends, 0.0), max(1.0, *ends, 1.0)
        self.off = self._dominating() if domain is None else ""
        self.steps = _ticks(self.low, self.high, TALL / 32)
        self.axis = max(AXIS, *(math.ceil(measured(shown(step))) + 10 for step in self.steps))
        across = _across(wide - self.axis)
        self.each = (wide - self.axis - GAP * (across - 1)) / across
        self.single = domain is None or self.each / domain.size >= SINGLE
        cut = f"A triangle: {self.off} is off the scale, and its number stands beside it." if self.off else ""
        self.sentences = [self._errors(beta), cut, release.answer.remark(release.reading)]
        if domain is not None:
            self._upright(domain, across)
        else:
            self._lying(wide)

    @property
    def finding(self) -> str:
        found = [
            (value, text, label, panel.name)
            for panel in self.panels
            for value, text, label in zip(panel.values, panel.texts, panel.labels, strict=True)
        ]
        by = self.release.question.by
        assert by is not None
        if not found:
            return f"nothing is shown for any {by.noun}."
        _, text, label, name = max(found, key=lambda one: one[0])
        return f"{len(self.panels)} panels, one for each {by.noun}; the largest value is {text} at {label}, {name}."

    def _errors(self, beta: Fraction) -> str:
        """Both bars in words, with their size where it is one in all parts."""
        each, first = self.release.question.by, next(iter(self.release.groups.values()))
        assert each is not None
        nouns, said = self.release.question.nouns(self.release.unit), []
        sizes = [part.answer.bars(part.reading, beta) for part in self.release.groups.values()]
        noun = first.axis.noun
        looks = ("Thick bars", "thin bars") if self.single else ("Strong bands", "pale bands")
        names = zip(looks, (f"any one {noun}", f"all of one {each.noun} at once"), strict=True)
        for place, (look, of) in enumerate(names):
            if all((panel.one, panel.every)[place] is None for panel in self.panels):
                continue
            bars = {(bar.value, bar.how) if bar is not None else None for bar in (size[place] for size in sizes)}
            bar = sizes[0][place]
            size = f", {spread(bar)} {nouns} ({known(bar)})" if len(bars) == 1 and bar is not None else ""
            said.append(f"{look}: {of}{size}")
        limited = f", for what is {WITHIN}; an arrow is an open end" if first.reading.limited.cuts else ""
        return f"{'; '.join(said)}; {often(beta)}{limited}." if said else ""

    def _dominating(self) -> str:
        """The label so much larger than all others that nobody would see them, which the axis then leaves out."""
        most: dict[str, float] = {}
        for panel in self.panels:
            for place, label in enumerate(panel.labels):
                ends = [panel.values[place], *(self._ends(bar, place)[1] for bar, _ in self._bars(panel, ROW))]
                most[label] = max(most.get(label, 0.0), *ends)
        first, second, *_ = [*sorted(most.items(), key=lambda one: -one[1]), ("", 0.0), ("", 0.0)]
        if len(most) < FEWEST_LABELS or not 0 < DOMINATES * second[1] < first[1]:
            return ""
        self.high = max(1.0, second[1])
        for panel in self.panels:
            for place, value in enumerate(panel.values):
                if value > self.high and panel.one is not None:
                    low, high = panel.one.low[place], panel.one.high[place]
                    panel.texts[place] += _reached(value, low, high)
        return first[0]

    def _upright(self, domain: Domain, across: int) -> None:
        marks, each = self.marks, self.each
        pitch, tall = each / domain.size, HEAD + TALL + FOOT
        names = ticks(domain, each, domain.told)

        def up(top: float, value: float) -> float:
            return top + TALL * (self.high - value) / (self.high - self.low)

        for at, panel in enumerate(self.panels):
            left, top = self.axis + at % across * (each + GAP), HEAD + at // across * tall
            self._head(left, top - HEAD / 2, panel.name, each)
            for step in self.steps:
                line = marks.colours.rule if step == 0 else marks.colours.grid
                marks.line(left, up(top, step), left + each, up(top, step), 1, line)
                if at % across == 0:
                    marks.text(left - 6, up(top, step), shown(step), marks.colours.quiet, align="right")
            for place, value in enumerate(panel.values):
                inset = 0.1 * pitch * self.single
                x, x2 = left + place * pitch + inset, left + (place + 1) * pitch - inset
                if self.single:
                    low, high = sorted((up(top, 0), up(top, value)))
                    marks.rect(x, low, x2, high, marks.ink.pale)
                for bar, width in self._bars(panel, pitch):
                    lower, upper = (up(top, end) for end in self._ends(bar, place))
                    if self.single:
                        marks.line((x + x2) / 2, upper, (x + x2) / 2, lower, width, marks.ink.strong, DASHES[bar.how])
                        for end, away, stands in zip((lower, upper), (-1, 1), bar.stands, strict=True):
                            if not stands:
                                marks.arrow((x + x2) / 2, end, 0, away)
                    else:
                        marks.rect(x, upper, x2, lower, marks.ink.pale if bar is panel.every else marks.ink.middle)
                marks.line(x, up(top, value), x2, up(top, value), 1.5, marks.ink.strong)
            for spot, words in names:
                x = left + (spot + 0.5) * pitch
                half = measured(words) / 2
                x = min(max(x, left + half - GAP / 2), left + each - half + GAP / 2)
                marks.text(x, top + TALL + 10, words, marks.colours.quiet, align="center")
        marks.tall = tall * math.ceil(len(self.panels) / across)

    def _lying(self, wide: int) -> None:
        marks, across = self.marks, _across(wide)
        each = (wide - GAP * (across - 1)) / across
        longest = max((measured(label, FLOOR) for panel in self.panels for label in panel.labels), default=0.0)
        texts = max((measured(text, FLOOR) for panel in self.panels for text in panel.texts), default=0.0)
        names = min(each * 0.4, longest + 8)
        room = each - names - texts - (8 if not self.off else 14)
        most = [
            max(1, *(len(panel.labels) for panel in self.panels[at : at + across]))
            for at in range(0, len(self.panels), across)
        ]
        tops = [HEAD, *(HEAD + rows * ROW + FOOT for rows in most)]
        steps = _ticks(self.low, self.high, max(1.0, room / max(40.0, measured(shown(int(self.high))) + 24)))

        def along(left: float, value: float) -> float:
            return left + names + room * (value - self.low) / (self.high - self.low)

        for at, panel in enumerate(self.panels):
            left, top = at % across * (each + GAP), sum(tops[: at // across + 1])
            foot = top + ROW * most[at // across]
            self._head(left, top - HEAD / 2, panel.name, each)
            for step in steps:
                line = marks.colours.rule if step == 0 else marks.colours.grid
                marks.line(along(left, step), top, along(left, step), foot, 1, line)
                marks.text(along(left, step), foot + 8, shown(step), marks.colours.quiet, align="center")
            if not panel.labels:
                marks.text(along(left, 0) + 6, top + ROW / 2, "nothing is shown", marks.colours.quiet)
            for place, (label, value, text) in enumerate(zip(panel.labels, panel.values, panel.texts, strict=True)):
                y = top + ROW * place + ROW / 2
                marks.text(left, y, shortened(label, names - 8), marks.colours.ink)
                if value > self.high:
                    edge = along(left, self.high)
                    marks.rect(along(left, 0), y - 6, edge, y + 6, marks.ink.pale)
                    marks.text(edge, y, "▸", marks.ink.strong)
                    marks.text(edge + 10, y, text, marks.colours.ink)
                    continue
                low, high = sorted((along(left, 0), along(left, value)))
                marks.rect(low, y - 6, high, y + 6, marks.ink.pale)
                end = high
                for bar, width in self._bars(panel, ROW):
                    lower, upper = (along(left, one) for one in self._ends(bar, place))
                    marks.line(lower, y, upper, y, width, marks.ink.strong, DASHES[bar.how])
                    for tip, away, stands in zip((lower, upper), (-1, 1), bar.stands, strict=True):
                        if not stands:
                            marks.arrow(tip, y, away, 0)
                    end = max(end, upper)
                marks.line(along(left, value), y - 6, along(left, value), y + 6, 1.5, marks.ink.strong)
                marks.text(end + 4, y, text, marks.colours.ink)
        marks.tall = sum(tops) - HEAD

    def _head(self, left: float, y: float, name: str, room: float) -> None:
        self.marks.text(left, y, shortened(name, room, SMALL), self.marks.colours.ink, size=SMALL, bold=True)

    @staticmethod
    def _bars(panel: _Part, pitch: float) -> Iterator[tuple[_Bar, float]]:
        """Thin below thick, no wider than there is room."""
        if panel.every is not None:
            yield panel.every, THIN
        if panel.one is not None:
            yield panel.one, max(THIN, min(THICK, pitch / 3))

    def _ends(self, bar: _Bar, place: int) -> tuple[float, float]:
        """Where a bar begins and ends: an open end at the edge of the panel."""
        low, high = bar.low[place], bar.high[place]
        return (
            self.low if low is None or not math.isfinite(low) else low,
            self.high if high is None or not math.isfinite(high) else high,
        )


def _reached(value: float, low: float | None, high: float | None) -> str:
    """The interval of a value whose bar is not drawn, in words."""
    if low is None or high is None:
        return ""
    if high - value == value - low:
        return f" ±{reach(Fraction(high - value))}"
    return f", {shown(math.floor(low))} to {shown(math.ceil(high))}"


class _Lists:
    """A row of cells for each part: its items in their order, ⊥ where there were no more."""

    sentences: Sequence[str]

    def __init__(self, release: Release, marks: _PanelMarks, wide: int) -> None:
        self.release, self.marks = release, marks
        lists = {name: part.listing for name, part in release.groups.items()}
        self.items = {name: list(one.items) for name, one in lists.items() if one is not None}
        ordered = any(one is not None and one.ordered for one in lists.values())
        ended = {name: one is not None and one.ended for name, one in lists.items()}
        words = [*(item for items in self.items.values() for item in items), "⊥"]
        names = min(wide / 3, max(measured(name, SMALL) for name in lists) + 12)
        cell = min(140.0, max(34.0, 1.1 * max(measured(word, FLOOR) for word in words) + 10))
        across = max(1, int((wide - names) // (cell + 3)))
        top = 0.0
        most = max(len(items) + ended[name] for name, items in self.items.items())
        if ordered and most <= across:
            for place in range(most):
                x = names + place * (cell + 3) + cell / 2
                marks.text(x, FLOOR, str(place + 1), marks.colours.quiet, align="center")
            top = HEAD
        filled = marks.colours.ink if release.teaching is None else marks.ink.strong
        for name, items in self.items.items():
            marks.text(0, top + CELL / 2, shortened(name, names - 12, SMALL), marks.colours.ink, size=SMALL, bold=True)
            shown_items = [*items, *["⊥"] * ended[name]]
            for place, item in enumerate(shown_items):
                bottom = ended[name] and place == len(items)
                x, down = names + place % across * (cell + 3), top + place // across * (CELL + 3)
                fill = marks.colours.ground if bottom else filled
                line = marks.colours.ink if bottom else filled
                marks.cells.append({"x": x, "x2": x + cell, "y": down, "y2": down + CELL, "fill": fill, "line": line})
                over = marks.colours.ink if bottom else marks.colours.ground
                marks.text(x + cell / 2, down + CELL / 2, shortened(item, cell - 6), over, align="center")
            top += max(1, math.ceil(len(shown_items) / across)) * (CELL + 3) + 4
        marks.tall = top
        self.sentences = [
            "Ranks from left to right." if ordered else "The order within a row says nothing.",
            "⊥: no more. That does not say that nothing else is there." if any(ended.values()) else "",
        ]

    @property
    def finding(self) -> str:
        few = list(self.items.items())[:3]
        said = "; ".join(f"{name}: {', '.join(items[:5]) or 'nothing'}" for name, items in few)
        return f"{len(self.items)} lists. {said}{' …' if len(self.items) > len(few) else ''}."


def _ticks(low: float, high: float, most: float) -> list[int]:
    """Whole numbers from below to above, round, about so many."""
    least, power = (high - low) / max(1.0, most), 1
    while True:
        for scale in (1, 2, 5):
            if scale * power >= least:
                step = scale * power
                return list(range(math.ceil(low / step) * step, math.floor(high) + 1, step))
        power *= 10
