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
    """A few made-up counts, their noisy tree or sorted list, and the nearest values that agree with each other.

    counts     from 1 to 16 made-up whole numbers of at least 0, or a PublicTable; Figure 2's if left out
    structure  what is asked: "tree" for the sums of all nodes of a tree, or "sorted" for the counts in ascending order
    branching  how many children a node of the tree has: 2, 3 or 4
    epsilon    of all that is asked, for adding or removing one record
    seed       what the noise is drawn from: it is known to everybody, so nothing is private here

    Counts and noisy values can be edited on the page, which fits them by itself in exact fractions, in a report as in a
    notebook. Nothing is released and nothing is charged. Raises Forbidden for anything that is not made up or declared
    public, without showing it, and ParameterError for counts that cannot be edited.

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
