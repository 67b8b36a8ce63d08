"""Figure 2 of Hay, Rastogi, Miklau, Suciu, live: counts to edit, noise to draw again, and the consistent fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dpviz.boundary import as_given, plain_arguments, protect_module
from dpviz.errors import Forbidden
from dpviz.exact import Number, rational
from dpviz.model.public import PublicTable
from dpviz.planning.consistency_sheet import FIGURE, ConsistencySheet
from dpviz.widgets.explorer import Explorer


class ConsistencyPlayground(Explorer):
    """Show a few made-up counts, their noisy tree or sorted list, and the nearest values that agree with each other.

    Parameters
    ----------
    counts : list of int or PublicTable, default (2, 0, 10, 2)
        From 1 to 16 made-up whole numbers of at least 0, or a public table; those of Figure 2 by default.
    structure : {"tree", "sorted"}, default "tree"
        "tree": the sums of all nodes of a tree are asked. "sorted": the counts in ascending order.
    branching : int, default 2
        The number of children of a node of the tree: 2, 3 or 4.
    epsilon : str, int, float or Fraction, default 1
        The price of all that is asked, for adding or removing one record.
    seed : int, default 1
        The seed of the noise. Everybody knows it, so nothing is private here.

    Raises
    ------
    Forbidden
        If the counts are neither made up nor declared public. The error does not show them.
    ParameterError
        If an argument is outside its range.

    Notes
    -----
    Counts and noisy values can be edited on the page, which fits them by itself in exact fractions, in a report as in a
    notebook. Nothing is released and nothing is charged.

    Examples
    --------
    >>> ConsistencyPlayground([2, 0, 10, 2], structure="sorted")
    ConsistencyPlayground()
    """

    name: ClassVar[str] = "consistency-playground"
    title: ClassVar[str] = "Consistency playground"

    @plain_arguments
    def __init__(
        self,
        counts: Sequence[int] | PublicTable = FIGURE,
        structure: str = "tree",
        branching: int = 2,
        epsilon: Number = 1,
        *,
        seed: int = 1,
    ) -> None:
        super().__init__(ConsistencySheet(_made_up(counts), structure, branching, rational(epsilon, "epsilon"), seed))


def _made_up(counts: object) -> tuple[int, ...]:
    """Counts that somebody typed, or declared public. A column of data is neither."""
    if isinstance(counts, PublicTable):
        return tuple(counts.counts.tolist())
    if isinstance(counts, list | tuple) and all(type(count) is int for count in counts):
        return tuple(counts)
    error = Forbidden.of(
        as_given(counts, "a "),
        "the playground takes made-up whole numbers or a public table",
        "type a list of whole numbers, or declare public data with dv.teaching(...).table(question)",
    )
    assert isinstance(error, Forbidden)
    raise error


protect_module(vars())
