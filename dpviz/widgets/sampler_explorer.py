"""GeoSample, its truncation and FastSample side by side: what they draw, pay and need. No data."""

from __future__ import annotations

from typing import ClassVar

from dpviz.boundary import protect_module, single_arguments
from dpviz.exact import Number, rational, text
from dpviz.planning.sampler_sheet import SamplerSheet
from dpviz.widgets.explorer import Explorer


class SamplerExplorer(Explorer):
    """Draw the samplers for one count on a finite computer: Figure 2 of the paper, live.

    Parameters
    ----------
    n : int, default 60
        The limit: counts lie from 0 to n.
    c : int, default 40
        The true count.
    epsilon : str, int, float or Fraction, default 1
        1/e for a whole number e.
    gamma : str, int, float or Fraction, default "1/100"
        The chance of a uniform count in FastSample, 1/g for a whole number g.
    t : int or "tight", default "tight"
        The truncation, which may be set too short: the exact ratio then breaks the promise.

    Raises
    ------
    ParameterError
        If an argument is outside its range.

    Notes
    -----
    Beside the laws stand the lengths of the random integers, and the price [1]_.

    References
    ----------
    .. [1] Balcer, Vadhan (2018), Figure 2.

    Examples
    --------
    >>> SamplerExplorer(n=30, c=10, epsilon="1/2", gamma="1/100", t=2)
    SamplerExplorer()
    """

    name: ClassVar[str] = "sampler-explorer"
    title: ClassVar[str] = "Samplers on a finite computer"

    @single_arguments
    def __init__(
        self, n: int = 60, c: int = 40, epsilon: Number = 1, gamma: Number = "1/100", t: int | str = "tight"
    ) -> None:
        place = {
            "n": str(n),
            "c": str(c),
            "epsilon": text(rational(epsilon, "epsilon")),
            "gamma": text(rational(gamma, "gamma")),
            "t": str(t),
        }
        super().__init__(SamplerSheet.at(place))


protect_module(vars())
