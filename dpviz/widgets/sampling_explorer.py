"""When does one private record need fewer people than learning the distribution it comes from? Free; sees no data."""

from __future__ import annotations

from typing import ClassVar

from dpviz.boundary import plain_arguments, protect_module
from dpviz.exact import Number, rational
from dpviz.planning.sampling_sheet import SamplingSheet
from dpviz.widgets.explorer import Explorer


class SamplingExplorer(Explorer):
    """Compare learning with sampling: how many records each needs, and how far one draw is off.

    Parameters
    ----------
    family : {"categories", "bounded", "product"}, default "categories"
        "categories" (one of k labels), "bounded" (d bits, biases from 1/3 to 2/3) or "product" (d bits).
    size : int, default 20
        k or d, 2 to 100,000.
    epsilon : str, int, float or Fraction, default 1
        The price of one draw, for replacing one record, 1/100 to 3; bits are drawn with delta = 10**-6 besides.
    alpha : str, int, float or Fraction, default "1/20"
        The total variation by which one draw may be off, 1/1000 to 3/10.
    n : int, default 50
        The number of records for the pictures of two labels, 5 to 500.
    p : str, int, float or Fraction, default "2/5"
        The true share of the first label, 0 to 1.
    m : int, default 10
        The number of records that are drawn, 1 to 100.
    q : str, int, float or Fraction, default "1/4"
        The share of the records that a subsample looks at, 1/1000 to 1.
    crowd : int, default 2000
        The mean number of people where a label is drawn by bits, 400 to 5,000.
    seed : int, default 1
        The seed of made-up people and noise, 1 to 1,000,000.

    Raises
    ------
    ParameterError
        If an argument is outside its range.

    Notes
    -----
    The pictures show records by distance, errors by bias, a bit without noise, parts of the records, records made of
    noisy shares, and labels drawn by bits. Sizes are proved to be enough; errors of two labels are exact. Noisy shares
    and labels drawn by bits are shown on made-up people. Nothing is released and nothing is charged.

    Examples
    --------
    >>> SamplingExplorer("categories", 20, epsilon=1, alpha="1/20")
    SamplingExplorer()
    """

    name: ClassVar[str] = "sampling-explorer"
    title: ClassVar[str] = "Learn it, or draw from it?"
    program_name: ClassVar[str] = "sampling"

    @plain_arguments
    def __init__(
        self,
        family: str = "categories",
        size: int = 20,
        epsilon: Number = 1,
        alpha: Number = "1/20",
        *,
        n: int = 50,
        p: Number = "2/5",
        m: int = 10,
        q: Number = "1/4",
        crowd: int = 2000,
        seed: int = 1,
    ) -> None:
        super().__init__(
            SamplingSheet(
                family,
                size,
                rational(epsilon, "epsilon"),
                n,
                rational(alpha, "alpha"),
                rational(p, "p"),
                m,
                rational(q, "q"),
                crowd,
                seed,
            )
        )


protect_module(vars())
