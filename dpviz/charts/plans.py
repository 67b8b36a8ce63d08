"""Describe what a release would be like: error against epsilon, and the law of the noise. Free, and drawn in pencil."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

import altair as alt

from dpviz.boundary import plain_arguments
from dpviz.charts.canvas import DASHES, Picture, picture_of, refused, upright_axis, width_of
from dpviz.charts.theme import FLOOR, SMALL, TEXT, Palette, Theme, palette
from dpviz.charts.words import capital, known, often, reach, spread, wrapped
from dpviz.errors import ParameterError
from dpviz.exact import Number, probability, text
from dpviz.mechanisms import REGISTRY
from dpviz.model.error import ErrorValue
from dpviz.model.measures import Measure, Weight
from dpviz.model.mechanism import Bound
from dpviz.model.release import Release
from dpviz.model.terms import Terms
from dpviz.planning.grid import epsilon_grid
from dpviz.planning.sheet import PlanSheet
from dpviz.privacy.conversion import to_approx

TALL, TALL_LAW, TALL_BARS = 260, 170, 62
LABEL_ROOM = 120
"""Pixels right of the plot for the names of the curves."""

WEIGHTS: dict[Weight, float] = {"thick": 3.0, "medium": 2.0, "thin": 1.0}
"""How thick the curve of a measure is."""
RANGES: dict[Weight, float] = WEIGHTS | {"thick": 3.4}
"""The same for a range, which stands alone."""


@plain_arguments
def error_against_epsilon(
    sheet: PlanSheet, *, beta: Number = "0.05", theme: Theme = "light", width: int = 560
) -> Picture:
    """Draw the error of a release for every epsilon of the slider: thick for any one bin, thin for all bins at once.

    Parameters
    ----------
    sheet : PlanSheet
        The sheet of a plan, `plan.sheet`.
    beta : str, float or Fraction, default "0.05"
        How often an error bar may fail: 0.05 draws bars that hold 95 times in 100.
    theme : {"light", "dark"}, default "light"
        The colours.
    width : int, default 560
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

    Notes
    -----
    Both axes are logarithmic. The hollow dots are the plan's own epsilon. Of a list, the curves say how far above the
    first count that is not read an item must lie to be listed, and how far below the count of the last rank a listed
    one may lie.
    """
    colours, level, wide = palette(theme), probability(beta, "beta", zero=False), width_of(width)
    if not isinstance(sheet, PlanSheet):
        refused(sheet, "a PlanSheet, which a plan has as plan.sheet")
    plan = _Plan(sheet.bound, level, colours, wide)
    curves = _curves(sheet, plan)
    if not curves:
        raise ParameterError.of(
            sheet.mechanism.name,
            "this mechanism states no error that a chart could draw",
            "print the plan for what it states",
        )
    origins = [f"{one.measure.label}: {one.text}{one.origin}." for one in plan.stated if one.origin]
    ending = " ".join(
        [f"Each curve holds {often(level)}.", *origins, *filter(None, (curve.ending for curve in curves))]
    )
    title, lines = "Error against ε", plan.lines(ending)
    return picture_of(
        [_curve_plot(curves, plan, sheet)],
        title=[title],
        subtitle=lines,
        description=f"{title}: {plan.said}",
        colours=colours,
        head=colours.ink,
    )


of_plan = error_against_epsilon


@plain_arguments
def noise_law(
    planned: PlanSheet | Release | Bound, *, beta: Number = "0.05", theme: Theme = "light", width: int = 560
) -> Picture:
    """Draw the law of the noise in one bin, as steps, above the two ranges that hold the error.

    Parameters
    ----------
    planned : PlanSheet, Release or Bound
        The sheet of a plan, a release, or a bound mechanism.
    beta : str, float or Fraction, default "0.05"
        How often an error bar may fail: 0.05 draws bars that hold 95 times in 100.
    theme : {"light", "dark"}, default "light"
        The colours.
    width : int, default 560
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
        If an option is outside its range, or the mechanism states no error per bin.

    Notes
    -----
    One range, thick, is for any one bin; the other, thin with caps, for all bins at once. Where a release is clamped, a
    bin near the limit errs less.
    """
    colours, level, wide = palette(theme), probability(beta, "beta", zero=False), width_of(width)
    plan = _Plan(_bound(planned), level, colours, wide)
    ranges = [one for one in plan.stated if not one.measure.sign]
    if not ranges:
        raise ParameterError.of(
            plan.bound.mechanism.name, "this mechanism states no error per bin", "print the plan for what it states"
        )
    title, lines = "Noise in one bin", plan.lines(f"The ranges hold {often(level)}.")
    most, steps = _law(plan, ranges)
    return picture_of(
        [_steps_plot(steps, most, plan), _ranges_plot(ranges, most, plan)],
        title=[title],
        subtitle=lines,
        description=f"{title}: {plan.said}",
        colours=colours,
        head=colours.ink,
    )


def _bound(planned: object) -> Bound | Terms:
    """The bound mechanism behind a plan, or itself: bound anew, so that nothing else comes along; or of a release what
    was promised."""
    if isinstance(planned, Release):
        return planned.terms
    if isinstance(planned, PlanSheet):
        return planned.bound
    if not isinstance(planned, Bound) or not REGISTRY.has_class(type(planned.mechanism)):
        refused(planned, "a PlanSheet, a Release or a bound mechanism")
    anew = planned.mechanism.bind(planned.question, planned.unit)
    if type(planned) is not type(anew):
        refused(planned, "a PlanSheet, a Release or a bound mechanism")
    return anew


@dataclass(frozen=True)
class _Stated:
    """One measure of a plan at one beta, and its error."""

    measure: Measure
    error: ErrorValue

    @property
    def name(self) -> str:
        return self.measure.words

    @property
    def thick(self) -> float:
        return WEIGHTS[self.measure.weight]

    @property
    def text(self) -> str:
        """The error with its sign."""
        sign = self.measure.sign
        return f"{sign}{reach(self.error.value)}" if sign else spread(self.error)

    @property
    def origin(self) -> str:
        return f" {self.measure.origin}" if self.measure.origin else ""

    @property
    def phrase(self) -> str:
        return f"{self.measure.phrased(reach(self.error.value))} ({known(self.error)})"


@dataclass(frozen=True)
class _Plan:
    """One bound mechanism at one beta, and the words about it."""

    bound: Bound | Terms
    beta: Fraction
    colours: Palette
    wide: int

    @property
    def stated(self) -> list[_Stated]:
        """Statements about the error, the most important first; what nothing public bounds is left out."""
        drawn = [(measure, measure.at(self.beta)) for measure in self.bound.measures if measure.weight]
        return [_Stated(measure, error) for measure, error in drawn if error is not None]

    @property
    def said(self) -> str:
        """The finding in one sentence."""
        told = ", ".join(one.phrase for one in self.stated)
        head = f"{self.title}, {self.bound.mechanism.name} at {self.bound.price.loss.short}"
        return f"{head}: {often(self.beta)} times {told}."

    @property
    def title(self) -> str:
        """The question."""
        return self.bound.title

    def lines(self, ending: str) -> list[str]:
        """The lines under the title: what is asked, what it would guarantee, and that it is a plan."""
        bound = self.bound
        sentences = [
            f"{self.title} · {bound.mechanism!r}",
            f"Plan: free, sees no data. It would give {bound.price.sentence}. {ending}",
            *([bound.limits] if bound.limits else []),
        ]
        return [line for sentence in sentences for line in wrapped(sentence, self.wide + LABEL_ROOM, TEXT)]


# ---------------------------------------------------------------- error against epsilon


@dataclass(frozen=True)
class _Curve:
    name: str
    thick: float
    points: Sequence[tuple[Fraction, ErrorValue]]

    @property
    def seen(self) -> list[tuple[Fraction, ErrorValue]]:
        """A logarithmic axis has no zero."""
        return [(epsilon, error) for epsilon, error in self.points if error.value > 0]

    @property
    def ending(self) -> str:
        """The values that the axis cannot show."""
        gone = [epsilon for epsilon, error in self.points if error.value == 0]
        return f"{capital(self.name)}: error 0 from ε = {text(gone[0])} on." if gone else ""


def _curves(sheet: PlanSheet, plan: _Plan) -> list[_Curve]:
    points: dict[str, list[tuple[Fraction, ErrorValue]]] = {}
    thick: dict[str, float] = {}
    for epsilon, bound in sheet.fan:
        for one in _Plan(bound, plan.beta, plan.colours, plan.wide).stated:
            points.setdefault(one.name, []).append((epsilon, one.error))
            thick[one.name] = one.thick
    thin_first = sorted(points, key=lambda name: thick[name])
    return [_Curve(name, thick[name], points[name]) for name in thin_first]


def _curve_plot(curves: list[_Curve], plan: _Plan, sheet: PlanSheet) -> alt.LayerChart:
    grid, labelled = epsilon_grid(sheet.top)
    values = [float(error.value) for curve in curves for _, error in curve.seen]
    if not values:
        raise ParameterError.of(
            sheet.mechanism.name, "there is no error above 0 to draw", "read the plan: its error is 0"
        )
    low = _decade(min(values), math.floor)
    high = max(10 * low, _decade(max(values), math.ceil))
    x_axis = alt.Axis(
        title="ε (log)", values=[float(tick) for tick in labelled], format="~g", grid=False, labelOverlap=True
    )
    what = "error in one bin, " if any(one.measure.given for one in plan.stated) else ""
    y_axis = upright_axis(
        f"{what}{plan.bound.question.nouns(plan.bound.unit)} (log)", values=_log_ticks(low, high), format=",~g"
    )
    x = alt.X(
        "epsilon",
        type="quantitative",
        scale=alt.Scale(type="log", domain=[float(grid[0]), float(grid[-1])], nice=False),
        axis=x_axis,
    )
    y = alt.Y("error", type="quantitative", scale=alt.Scale(type="log", domain=[low, high], nice=False), axis=y_axis)
    now = Fraction(sheet.mechanism.parameters()["epsilon"] or to_approx(plan.bound.price.loss).epsilon)
    pencil, ink = plan.colours.pencil, plan.colours.ink
    layers: list[Any] = [_rule(plan, float(now), x)]
    for curve in curves:
        for how, run in groupby(_runs(curve.seen), key=lambda pair: pair[0][1].how):
            rows = [{"epsilon": float(point[0]), "error": float(point[1].value)} for pair in run for point in pair]
            layers.append(
                alt.Chart(alt.InlineData(values=rows))
                .mark_line(strokeWidth=curve.thick, strokeDash=DASHES[how], color=pencil, aria=False)
                .encode(x=x, y=y)
            )
    layers += _names(curves, plan, low, high)
    for one in reversed(plan.stated):
        error = one.error
        if error.value > 0 and grid[0] <= now <= grid[-1]:
            point = alt.Chart(
                alt.InlineData(values=[{"epsilon": float(now), "error": float(error.value), "text": one.text}])
            )
            tips = [alt.Tooltip("epsilon:Q", title="ε"), alt.Tooltip("text:N", title=one.name)]
            layers += [
                point.mark_point(
                    shape="circle",
                    filled=True,
                    size=60,
                    fill=plan.colours.ground,
                    stroke=ink,
                    strokeWidth=1.6,
                    opacity=1,
                ).encode(x=x, y=y, tooltip=tips),
                point.mark_text(
                    align="left", dx=9, dy=-9, fontSize=SMALL, fontWeight="bold", color=ink, aria=False
                ).encode(x=x, y=y, text="text:N"),
            ]
    return alt.LayerChart(layer=[*layers, _frame(plan, TALL)]).properties(width=plan.wide, height=TALL)


def _rule(plan: _Plan, epsilon: float, x: alt.X) -> alt.Chart:
    """Where the plan stands."""
    here = alt.Chart(alt.InlineData(values=[{"epsilon": epsilon}]))
    rule: alt.Chart = here.mark_rule(strokeWidth=1, color=plan.colours.rule, clip=True, aria=False).encode(x=x)
    return rule


def _runs(points: list[tuple[Fraction, ErrorValue]]) -> list[tuple[Any, Any]]:
    """Neighbouring points, each pair drawn as its first point is known."""
    return list(zip(points, points[1:] or points, strict=False))


def _names(curves: list[_Curve], plan: _Plan, low: float, high: float) -> list[alt.Chart]:
    """The name of each curve at its right end, apart from the others."""
    ends = [(curve.name, float(curve.seen[-1][1].value)) for curve in curves if curve.seen]
    ends.sort(key=lambda end: -end[1])
    downs = [min(TALL * math.log(high / value) / math.log(high / low), TALL - 4) for _, value in ends]
    for place in range(len(downs) - 2, -1, -1):
        downs[place] = min(downs[place], downs[place + 1] - 15)
    return [
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_text(align="left", baseline="middle", fontSize=FLOOR, color=plan.colours.quiet, aria=False)
        .encode(x=alt.value(plan.wide + 8), y=alt.value(down), text=alt.value(name))
        for (name, _), down in zip(ends, downs, strict=True)
    ]


def _frame(plan: _Plan, tall: int) -> alt.Chart:
    """The dashed frame of everything planned."""
    sheet = alt.Chart(alt.InlineData(values=[{}]))
    frame: alt.Chart = sheet.mark_rect(
        fillOpacity=0, stroke=plan.colours.pencil, strokeDash=[4, 3], strokeWidth=1, aria=False
    ).encode(x=alt.value(0), x2=alt.value(plan.wide), y=alt.value(0), y2=alt.value(tall))
    return frame


def _decade(value: float, towards: Callable[[float], int]) -> float:
    """The end of a logarithmic axis: a power of ten."""
    return 10.0 ** towards(math.log10(value))


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(round(math.log10(low)), round(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 3 else (1,)
    return [step * 10.0**decade for decade in decades for step in steps if step * 10.0**decade <= high]


# ---------------------------------------------------------------- the law of the noise


def _law(plan: _Plan, ranges: list[_Stated]) -> tuple[int, list[dict[str, float]]]:
    """The end of the axis, and the chance of each error on it (of every n-th where a pixel holds several)."""
    most = max(1, math.ceil(1.2 * max(one.error.value for one in ranges)))
    stride = max(1, 2 * most // plan.wide)
    errors = list(range(-most // stride * stride, most + 1, stride))
    chances = plan.bound.error.chances(errors)
    if chances is None:
        raise ParameterError.of(
            plan.bound.mechanism.name, "this mechanism states no law of its noise", "print the plan for what it states"
        )
    rows = [{"error": error - stride / 2, "chance": chance} for error, chance in zip(errors, chances, strict=True)]
    return most, [*rows, {"error": errors[-1] + stride / 2, "chance": chances[-1]}]


def _error_axis(most: int, plan: _Plan, *, named: bool) -> alt.X:
    axis = alt.Axis(
        title=f"error in one bin, {plan.bound.question.nouns(plan.bound.unit)}" if named else None,
        format="+,f",
        labelExpr="datum.value == 0 ? '0' : datum.label",
        grid=False,
        labels=named,
        ticks=named,
        domain=named,
        tickCount=8,
        titlePadding=8,
    )
    return alt.X("error", type="quantitative", scale=alt.Scale(domain=[-most - 0.5, most + 0.5], nice=False), axis=axis)


def _steps_plot(rows: list[dict[str, float]], most: int, plan: _Plan) -> alt.LayerChart:
    x = _error_axis(most, plan, named=True)
    axis = upright_axis("chance of each error", labelExpr="format(datum.value * 100, '~g') + ' %'", tickCount=4)
    y = alt.Y("chance", type="quantitative", scale=alt.Scale(zero=True, nice=True), axis=axis)
    steps = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.5, color=plan.colours.pencil, aria=False)
        .encode(x=x, y=y)
    )
    return alt.LayerChart(layer=[steps, _frame(plan, TALL_LAW)]).properties(width=plan.wide, height=TALL_LAW)


def _ranges_plot(ranges: list[_Stated], most: int, plan: _Plan) -> alt.LayerChart:
    """The ranges below the law, on the law's own axis, each under its words; a thin one has caps."""
    x = _error_axis(most, plan, named=False)
    layers: list[Any] = []
    for place, one in enumerate(ranges):
        error, down = one.error, 18 + 32 * place
        name, thick, caps = f"{one.measure.label} {one.text}", RANGES[one.measure.weight], one.measure.weight == "thin"
        half = float(error.value)
        data = alt.Chart(alt.InlineData(values=[{"error": -half, "to": half}]))
        style: dict[str, Any] = {"strokeWidth": thick, "color": plan.colours.pencil, "aria": False}
        layers.append(data.mark_rule(strokeDash=DASHES[error.how], **style).encode(x=x, x2="to:Q", y=alt.value(down)))
        if caps:
            layers += [
                alt.Chart(alt.InlineData(values=[{"error": end}]))
                .mark_rule(**style)
                .encode(x=x, y=alt.value(down - 5), y2=alt.value(down + 5))
                for end in (-half, half)
            ]
        layers.append(
            alt.Chart(alt.InlineData(values=[{"error": 0}]))
            .mark_text(baseline="bottom", fontSize=SMALL, color=plan.colours.ink, aria=False)
            .encode(x=x, y=alt.value(down - 6), text=alt.value(f"{name}, {often(plan.beta)} ({known(error)})"))
        )
    return alt.LayerChart(layer=layers).properties(width=plan.wide, height=TALL_BARS + 32 * (len(ranges) - 2))
