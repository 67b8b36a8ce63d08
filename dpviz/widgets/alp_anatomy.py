"""The anatomy of ALP: unary bits scattered by hashing, flipped, read off for one key and climbed to its estimate."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from dpviz.boundary import as_given, plain_arguments, protect_module
from dpviz.errors import Forbidden
from dpviz.exact import Number, rational
from dpviz.planning.anatomy_sheet import AnatomySheet
from dpviz.widgets.explorer import Explorer


class AlpAnatomy(Explorer):
    """Show step by step how ALP stores values and reads them: Figures 1 and 2 of the paper.

    Parameters
    ----------
    values : list of int, optional
        Up to four made-up values from 0 to the number of columns; the worked figure by default.
    columns : int, default 8
        The number of columns of the table, up to 16: one for each bit of a value.
    bits : int, default 5
        The number of bits of a column, up to 32; with few of them keys collide.
    p : str, int, float or Fraction, default "13/64"
        The chance that a bit is flipped, below 1/2.
    estimator : {"paper", "likelihood", "posterior-median"}, default "paper"
        How a value is read.
    seed : int, default 1
        The seed of hashes and flips. Everybody knows it, so nothing is private here.

    Raises
    ------
    Forbidden
        If the values were not typed. The error does not show them.
    ParameterError
        If an argument is outside its range.

    Notes
    -----
    The page computes everything, in a report as in a notebook. Nothing is released and nothing is charged [1]_.

    References
    ----------
    .. [1] Aumüller, Lebeda, Pagh (2022), Figures 1 and 2.

    Examples
    --------
    >>> AlpAnatomy([5, 2, 7], columns=8, bits=4)
    AlpAnatomy()
    """

    name: ClassVar[str] = "alp-anatomy"
    title: ClassVar[str] = "Anatomy of ALP"
    program_name: ClassVar[str] = "sparse"

    @plain_arguments
    def __init__(
        self,
        values: Sequence[int] | None = None,
        columns: int = 8,
        bits: int = 5,
        p: Number = Fraction(13, 64),
        *,
        estimator: str = "paper",
        seed: int = 1,
    ) -> None:
        chance = rational(p, "p")
        if values is None:
            figure = columns == 8 and chance == Fraction(13, 64)
            common = min(columns, 5) if type(columns) is int else 0
            made_up = (common, min(common, 2), columns - 1 if type(columns) is int else 0)
            super().__init__(AnatomySheet(made_up, columns, bits, chance, seed, estimator, figure))
            return
        super().__init__(AnatomySheet(_made_up(values), columns, bits, chance, seed, estimator, figure=False))


def _made_up(values: object) -> tuple[int, ...]:
    """Values that somebody typed. A column of data is none."""
    if isinstance(values, list | tuple) and all(type(value) is int for value in values):
        return tuple(values)
    error = Forbidden.of(as_given(values, "a "), "the anatomy takes made-up whole numbers", "type a list of them")
    assert isinstance(error, Forbidden)
    raise error


protect_module(vars())
