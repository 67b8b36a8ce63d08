"""The histogram: released counts with both their error bars, or public counts in violet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import altair as alt

from dpviz.boundary import as_given, plain_arguments
from dpviz.charts.canvas import DASHES, Picture, picture_of, refused, width_of
from dpviz.charts.marks import PALE, Bars, plot
from dpviz.charts.panels import Counts, Panel, panels
from dpviz.charts.picture import promise
from dpviz.charts.registry import register
from dpviz.charts.theme import SMALL, TEXT, TITLE, Theme, palette
from dpviz.charts.ticks import plot_width, position, room_for, ticks
from dpviz.charts.words import capital, known, measured, reach, shown, spread, wrapped
from dpviz.errors import ParameterError, ReleaseFormat
from dpviz.exact import Number, probability
from dpviz.model.limited import WITHIN
from dpviz.model.public import PublicTable
from dpviz.model.release import Release
from dpviz.privacy.unit import plural, plural_of


@plain_arguments
def histogram(
    counts: Release | PublicTable,
    *,
    beta: Number = "0.05",
    theme: Theme = "light",
    width: int = 700,
    bars: Bars = "both",
) -> Picture:
    """Draw counts with their error bars: thick for any one bin, thin with caps for all bins at once.

    Parameters
    ----------
    counts : Release or PublicTable
        A release, a teaching draw, or a public table (violet, hatched, no error bars).
    beta : str, float or Fraction, default "0.05"
        How often an error bar may fail: 0.05 draws bars that hold 95 times in 100.
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
        If an option is outside its range.

    Notes
    -----
    Long names of categories take their room from the plot. Bars start at 0. An interval is cut, without a cap, where
    the public range of the release ends. Where the error bars are too short to read, a second panel is cut so that they
    can be read; released values and planned error alone decide where it is cut. Above 500 bins one mark stands for each
    pixel column, or, of dv.Tree, a bar for each node of a height with fewer: the sum of its bins, with its own error.
    """
    colours = palette(theme)
    check_bars(bars)
    level = probability(beta, "beta", zero=False)
    wide = width_of(width)
    if isinstance(counts, Release):
        if counts.listing is not None:
            raise ParameterError.of(counts.answer.kind, "a histogram has a value per bin", "draw it: release.chart()")
        if not counts.answer.has_rows:
            rule, step = "this answer has no row per bin", "ask for single bins: release[label]"
            raise ReleaseFormat.of(counts.answer.kind, rule, step)
        drawn = Counts.stretched(counts, level, colours) or Counts.released(counts, level, colours)
        return _released(counts, drawn, bars, plot_width(drawn.domain, wide))
    if isinstance(counts, PublicTable):
        drawn = Counts.public(counts, colours)
        return _public(counts, drawn, plot_width(drawn.domain, wide))
    refused(counts, "a Release or a PublicTable")


def check_bars(bars: object) -> None:
    """Refuse what is no choice of error bars."""
    if bars not in ("both", "one", "all") or not isinstance(bars, str):
        raise ParameterError.of(as_given(bars), 'bars must be "both", "one" or "all"', 'write bars="both"')


register("histogram", histogram)


def _released(release: Release, counts: Counts, bars: Bars, width: int) -> Picture:
    promised = f"{capital(promise(release))}."
    if release.teaching is not None:
        title, sentences, head = (
            f"Not private · teaching, seed {release.teaching}",
            [release.title, promised, *filter(None, [counts.said])],
            counts.ink.strong,
        )
    else:
        title, sentences, head = (
            release.title,
            [f"{promised}{_odds(release)}", *filter(None, [counts.said])],
            counts.colours.ink,
        )
    return with_bars(counts, bars, title, sentences, head, _finding(release, counts), width)


def with_bars(
    counts: Counts,
    bars: Bars,
    title: str,
    sentences: list[str],
    head: str,
    finding: str,
    width: int,
    kinds: Sequence[tuple[str, str]] = (),
) -> Picture:
    """Counts with their error bars, what these mean, and a second panel where they are too short to read.

    kinds  the names and the meanings of the bars, where they are others than those of any one bin and of all
    """
    full, below, short = panels(counts, width)
    if counts.limited and counts.asked is None and counts.bars and full.single:
        sentences = [*sentences, ARROWS]
    rows = list(kinds) or (_kinds(counts, bars) if counts.bars else [])
    parts: list[Any] = [*([_key(counts, full, rows, short)] if counts.bars else [])]
    parts += [plot(counts, full, bars, last=below is None)]
    if below is not None:
        parts += [plot(counts, below, bars, last=True)]
    return _picture(counts, parts, title, sentences, head, finding, width)


COUNTED_BAR, ASKED_BAR, OPEN_END = "thin", "wide", "arrow"
"""The bars of counts that a profile closes, and the mark of an end that it leaves open."""

ARROWS: Final = "An arrow marks an end that is open for what was asked."


def _odds(release: Release) -> str:
    """The guarantee once more, as what it does to anybody's belief; nothing where a delta makes that untrue."""
    if not release.guarantee.odds:
        return ""
    noun = release.unit.noun
    return f" Whether one {noun} is in the data moves the odds of any answer by at most ×{release.guarantee.odds}."


def _public(table: PublicTable, counts: Counts, width: int) -> Picture:
    full, _, _ = panels(counts, width)
    title = capital(f"{table.nouns} by {table.domain.columns_text.replace('_', ' ')}")
    greatest = int(counts.values.argmax())
    finding = (
        f"{title}: {table.badge}. {plural_of(counts.size, 'bin')}, the largest count {shown(counts.exact(greatest))} "
        f"at {counts.label(greatest)}."
    )
    parts = [plot(counts, full, "both", last=True)]
    return _picture(counts, parts, title, [table.badge], counts.ink.strong, finding, width)


def _picture(
    counts: Counts, parts: list[Any], title: str, sentences: list[str], head: str, finding: str, width: int
) -> Picture:
    left = room_for(counts.domain, width)
    names = {position(at): name for at, name in ticks(counts.domain, width, counts.told)}
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


def _finding(release: Release, counts: Counts) -> str:
    """Describe the chart in one sentence, for a reader who cannot see it."""
    greatest = int(counts.values.argmax())
    within = f" {counts.often} times {counts.axis.one} lies within its interval"
    if counts.one is not None:
        truth = "what is counted" if counts.limited else "the truth"
        within = f" {counts.often} times {counts.axis.one} is within {reach(counts.one.value)} of {truth}"
    among = "" if counts.every is None else f", and {counts.axis.every} within {reach(counts.every.value)}"
    marked = "" if release.teaching is None else f"Not private · teaching, seed {release.teaching}. "
    return (
        f"{marked}{release.title}: {plural_of(counts.size, counts.axis.noun)}, the largest value "
        f"{shown(counts.exact(greatest))} at {counts.label(greatest)};{within}{among}."
        f"{counts.said and ' '}{counts.said}{release.limits and ' '}{release.limits}"
    )


def _kinds(counts: Counts, bars: Bars) -> list[tuple[str, str]]:
    """Both kinds of error bar by name, with their numbers in words."""
    axis, kinds = counts.axis, []
    covered = f"all {axis.whole} {plural(axis.noun)} at once" if axis.whole else axis.every
    if axis.whole == "1":
        covered = f"the only {axis.noun}"
    for word, ends, bar, of in (
        ("thick", counts.single, counts.one, axis.one),
        ("thin with caps", counts.together, counts.every, covered),
    ):
        if ends is not None:
            size = "" if bar is None else f"{spread(bar)} ({known(bar)}), "
            limited = f", for what is {WITHIN}" if counts.limited else ""
            kinds += [(word, f"{size}holds for {of}, {counts.often}{limited}")]
    return [row for row in kinds if bars in ("both", _KIND[row[0]])]


def _key(counts: Counts, panel: Panel, rows: list[tuple[str, str]], short: bool) -> alt.LayerChart:
    """The kinds of bar as they are drawn, with their meanings; `short` where they cannot be seen."""
    if not panel.single:
        rows = [(_BAND[word], said) for word, said in rows]
        rows = [("Strong", "least to greatest value in a column of pixels"), *rows]
    if short:
        rows = [(word, f"{said}: smaller than the mark") for word, said in rows]
    width = panel.tall if panel.lying else panel.wide
    left, down = -room_for(counts.domain, width), 0
    layers: list[Any] = []
    indents = [28 + 1.15 * measured(word, SMALL) for word, _ in rows]  # bold
    for (word, said), own in zip(rows, indents, strict=True):
        indent = own if counts.asked is None else max(indents)
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
_BAND = {"thick": "middle", "thin with caps": "pale", COUNTED_BAR: "middle", ASKED_BAR: "pale"}


def _sample(counts: Counts, word: str, left: float, middle: float) -> list[Any]:
    """A mark as it looks in the plot."""
    ends: dict[str, Any] = {"x": alt.value(left + 4), "y": alt.value(middle - 7), "y2": alt.value(middle + 7)}
    shade = {"Strong": counts.ink.strong, "middle": counts.ink.middle, "pale": counts.ink.pale}.get(word)
    if shade is not None:
        return [_mark("rule", strokeWidth=9, color=shade).encode(**ends)]
    caps = [
        _mark("rule", strokeWidth=1, color=counts.ink.strong).encode(
            x=alt.value(left), x2=alt.value(left + 8), y=alt.value(middle + step)
        )
        for step in (-7, 7)
    ]
    if word == ASKED_BAR:
        return [_mark("rule", strokeWidth=8, color=counts.ink.middle, opacity=PALE).encode(**ends), *caps]
    if word == OPEN_END:
        arrow = _mark("point", shape="triangle-up", filled=True, size=64, color=counts.ink.strong, opacity=1)
        return [arrow.encode(x=ends["x"], y=alt.value(middle))]
    if word in ("thick", COUNTED_BAR):
        dash = DASHES[counts.alone.how]
        return [_mark("rule", strokeWidth=3.4, strokeDash=dash, color=counts.ink.strong).encode(**ends)]
    dash = DASHES[counts.among.how]
    return [_mark("rule", strokeWidth=1, strokeDash=dash, color=counts.ink.strong).encode(**ends), *caps]


def _mark(kind: str, **options: Any) -> alt.Chart:
    """A mark at fixed pixels. It carries no data and is silent to a screen reader."""
    make: Callable[..., alt.Chart] = getattr(alt.Chart(alt.InlineData(values=[{}])), f"mark_{kind}")
    return make(aria=False, **options)
