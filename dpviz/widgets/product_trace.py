"""How a record of many bits is drawn: columns fall through the buckets of Algorithm 4, step by step. No data."""

from __future__ import annotations

from typing import ClassVar

from dpviz.boundary import plain_arguments, protect_module
from dpviz.exact import Number, rational
from dpviz.planning.product_sheet import ProductSheet
from dpviz.widgets.explorer import Explorer


class ProductSamplerTrace(Explorer):
    """Trace the private sampler of product distributions on made-up people, round by round.

    Parameters
    ----------
    preset : {"halving", "mixed", "rare"}, default "halving"
        How often bits are 1: "halving" (1/2, 1/4, …), "mixed" (some near 1) or "rare" (all 1/d).
    n : int, default 10000
        The number of people, 1,000 to 20,000; the proof asks for far more, and the trace says how many.
    rho : str, int, float or Fraction, default "1/2"
        The zCDP of the run, for replacing one record, 1/100 to 1.
    noise : {"repaired", "paper", "tight"}, default "repaired"
        "repaired": as much as replace-one asks for; "paper": as printed, which may cost up to 2 rho; "tight".
    seed : int, default 1
        The seed of people and noise. Everybody knows it, so nothing is private here.
    columns : int, default 320
        d, the bits of a record, 80 to 640.

    Raises
    ------
    ParameterError
        If an argument is outside its range.

    Notes
    -----
    Rounds and noise are those of a release [1]_. Nothing is released and nothing is charged.

    References
    ----------
    .. [1] Raskhodnikova, Sivakumar, Smith, Swanberg (2021), Algorithm 4.

    Examples
    --------
    >>> ProductSamplerTrace("mixed", n=2000, columns=160)
    ProductSamplerTrace()
    """

    name: ClassVar[str] = "product-sampler-trace"
    title: ClassVar[str] = "How a record of many bits is drawn"
    program_name: ClassVar[str] = "sampling"

    @plain_arguments
    def __init__(
        self,
        preset: str = "halving",
        n: int = 10_000,
        rho: Number = "1/2",
        noise: str = "repaired",
        *,
        seed: int = 1,
        columns: int = 320,
    ) -> None:
        super().__init__(ProductSheet(preset, n, rational(rho, "rho"), noise, seed, columns))


protect_module(vars())
