"""GeoSample, its truncation and FastSample side by side: what they draw, pay and need. No data."""

from __future__ import annotations

from typing import ClassVar

from dpviz.boundary import protect_module, single_arguments
from dpviz.exact import Number, rational, text
from dpviz.planning.sampler_sheet import SamplerSheet
from dpviz.widgets.explorer import Explorer


class SamplerExplorer(Explorer):
    """Figure 2 of Balcer, Vadhan 2018, live: the samplers for one count on a finite computer.

    Sliders for the limit n, the count c, epsilon = 1/e, gamma = 1/g and the truncation t, which may be set too short:
    the exact ratio then breaks the promise. Beside it the lengths of the random integers, and what is paid.

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
