"""Counts that a profile closes: a thin bar for what was counted, a wide one for what was asked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpviz.boundary import as_given, plain_arguments
from dpviz.charts.asked import ENDINGS
from dpviz.charts.canvas import Picture, refused, width_of
from dpviz.charts.counts import ASKED_BAR, COUNTED_BAR, OPEN_END, with_bars
from dpviz.charts.panels import Counts, Ends
from dpviz.charts.picture import promise
from dpviz.charts.tables import interval_text
from dpviz.charts.theme import Theme, palette
from dpviz.charts.ticks import plot_width
from dpviz.charts.words import capital, shown
from dpviz.errors import ParameterError
from dpviz.exact import Number, probability
from dpviz.model.answers import Intervals
from dpviz.model.closing import Closed
from dpviz.model.release import Release
from dpviz.privacy.unit import plural, plural_of

if TYPE_CHECKING:
    import pandas as pd

Which = Literal["one", "all"]


@plain_arguments
def of_closed(
    closed: Closed, *, beta: Number = "0.05", theme: Theme = "light", width: int = 700, bars: Which = "one"
) -> Picture:
    """Draw counts with a thin bar for what was counted and a wide one for what was asked.

    Parameters
    ----------
    closed : Closed
        Counts and a profile: ``counts.closed_by(profile)``.
    beta : str, float or Fraction, default "0.05"
        How often a bar may fail: 0.05 draws bars that hold 95 times in 100.
    theme : {"light", "dark"}, default "light"
        The colours.
    width : int, default 700
        The width of the picture, in pixels.
    bars : {"one", "all"}, default "one"
        Whether both bars hold for any one bin that was picked before looking, or for all bins at once.

    Returns
    -------
    Picture
        An Altair chart. An arrow marks an end that the profile leaves open.

    Raises
    ------
    Forbidden
        If the first argument is of another kind.
    ParameterError
        If an option is outside its range.

    Notes
    -----
    The dot is the counted value. The wide bar adds the users over the limit, by the profile. Above 500 bins one mark
    stands for each pixel column.

    Examples
    --------
    >>> import dpviz as dv, pandas as pd
    >>> stays = pd.DataFrame({"user": ["a", "a", "a", "b"] * 50, "month": [1, 2, 3, 1] * 50})
    >>> months = dv.Domain.integers(1, 3, column="month")
    >>> lesson = dv.teaching(stays, seed=1, unit=dv.Unit("user"))
    >>> counts = lesson.draw(months, dv.Dense(20))
    >>> profile = lesson.draw(dv.Question.contribution_profile(months), dv.Dense(20, clamp=False))
    >>> type(counts.closed_by(profile).chart()).__name__
    'Picture'
    """
    colours, wide, level = palette(theme), width_of(width), probability(beta, "beta", zero=False)
    if not isinstance(closed, Closed):
        refused(closed, "counts that a profile closes")
    if not isinstance(bars, str) or bars not in ENDINGS:
        raise ParameterError.of(as_given(bars), 'bars must be "one" or "all" beside a profile', 'write bars="one"')
    released, profile = closed.both_releases
    counts = _counts(closed, level, bars, Counts.released(released, level, colours))
    title, head, sentences = released.title, colours.ink, _promises(released, profile, closed.remarks)
    if released.teaching is not None:
        sentences = [title, *sentences]
        title, head = f"Not private · teaching, seed {released.teaching}", counts.ink.strong
    kinds = _meanings(counts, bars)
    finding = " ".join([f"{title}.", _largest(counts), *(f"{capital(word)} bar: {said}." for word, said in kinds)])
    return with_bars(counts, "both", title, sentences, head, finding, plot_width(counts.domain, wide), kinds)


def _counts(closed: Closed, beta: Fraction, bars: Which, counts: Counts) -> Counts:
    """The released counts, with the intervals for what was asked."""
    frame, ending = closed.to_frame(beta), ENDINGS[bars]
    counted = closed.both_releases[0].intervals(beta, bars, of="counted")
    if counted is None or f"low{ending}" not in frame:
        raise ParameterError.of("all bins at once", "this answer states ends of single bins", 'write bars="one"')
    low, high = (_listed(frame, f"{side}{ending}") for side in ("low", "high"))
    asked, inner = Ends.of(Intervals(low, high, "bound", "")), Ends.of(counted)
    return replace(counts, single=inner, together=None, one=None, every=None, asked=asked)


def _listed(frame: pd.DataFrame, name: str) -> list[Any]:
    """The ends in a column; None where one is open."""
    return [None if missing else int(end) for end, missing in zip(frame[name], frame[name].isna(), strict=True)]


def _promises(released: Release, profile: Release, remarks: tuple[str, ...]) -> list[str]:
    """The guarantees of both answers, and what a reader of the ends must know."""
    if promise(released, closed=True) == promise(profile, closed=True):
        both = [f"{capital(promise(released, closed=True))}."]
    else:
        both = [f"Counts: {promise(released, closed=True)}.", f"Profile: {promise(profile, closed=True)}."]
    return [*both, *remarks]


def _meanings(counts: Counts, bars: Which) -> list[tuple[str, str]]:
    """The bars and the arrow, in words."""
    asked = counts.among
    axis = counts.axis
    covered = axis.one if bars == "one" else f"all {axis.whole} {plural(axis.noun)} at once" * bool(axis.whole)
    held = f"{counts.often} for {covered or axis.every}"
    meanings = [
        (COUNTED_BAR, f"holds what was counted within the limit, {held}"),
        (ASKED_BAR, f"holds what you asked for, with the rows that the limit left out, {held}"),
    ]
    if np.isinf(asked.low).any() or np.isinf(asked.high).any():
        meanings.append((OPEN_END, "the profile does not close this end"))
    return meanings


def _largest(counts: Counts) -> str:
    """The finding for a reader who cannot see the chart."""
    at = int(counts.values.argmax())
    low, high = (None if np.isinf(end[at]) else int(end[at]) for end in (counts.among.low, counts.among.high))
    ends = interval_text(low, high)
    return (
        f"{plural_of(counts.size, counts.axis.noun)}, the largest counted value {shown(counts.exact(at))} at "
        f"{counts.label(at)}, of {ends} asked for."
    )
