"""Which function draws which kind of chart. A shape of answer names its kind; whoever adds a kind registers it here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dpviz.boundary import as_given, error_boundary, kind_of, plain_arguments
from dpviz.charts.canvas import refused
from dpviz.errors import ParameterError, short
from dpviz.model.release import Release

CHARTS: Final[dict[str, Callable[..., Any]]] = {}
"""The function that draws each kind of chart: it takes a release, then options by name, and gives an Altair chart."""


@error_boundary
def register(kind: str, function: Callable[..., Any]) -> None:
    """Draw the releases of every shape whose `chart` is this kind with this function.

    Parameters
    ----------
    kind : str
        The kind that a shape of answer names as its `chart`.
    function : callable
        A function of a release and options.

    Raises
    ------
    ParameterError
        If the kind is no text or another function draws it, or the function is none.
    """
    if not isinstance(kind, str) or not callable(function):
        raise ParameterError.of(
            as_given(function if isinstance(kind, str) else kind),
            "a chart is registered by its kind, a text, and a function",
            'write register("kind", function)',
        )
    if CHARTS.setdefault(kind, function) is not function:
        raise ParameterError.of(kind, "each kind of chart is drawn by one function", "choose another kind")


@error_boundary
def unregister(kind: str) -> None:
    """Forget the function that draws this kind of chart, where it is none of dpviz's own."""
    if not isinstance(kind, str) or kind not in CHARTS:
        raise ParameterError.of(
            short(kind, 40) if isinstance(kind, str) else kind_of(kind),
            "no function is registered for this kind",
            "name a kind that was given to register",
        )
    if CHARTS[kind].__module__.startswith("dpviz."):
        raise ParameterError.of(
            kind, "dpviz draws this kind of chart itself, which stays", "name a kind that you registered"
        )
    del CHARTS[kind]


@plain_arguments
def of_release(release: Release, **options: Any) -> Any:
    """Draw the chart that fits the answer.

    Parameters
    ----------
    release : Release
        A release or a teaching draw.
    **options
        Options of the chart for this kind of answer, such as those of `histogram`.

    Returns
    -------
    Picture
        An Altair chart.

    Raises
    ------
    Forbidden
        If this is no release.
    ParameterError
        If an option is unknown or outside its range, or no function draws this kind of answer.
    """
    if not isinstance(release, Release):
        refused(release, "a Release")
    if release.answer.chart not in CHARTS:
        raise ParameterError.of(
            release.answer.chart, "nobody has registered a chart of this kind", "use release.to_frame()"
        )
    return CHARTS[release.answer.chart](release, **options)
