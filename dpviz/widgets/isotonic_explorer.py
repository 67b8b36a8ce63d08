"""Sorted counts, their noise, and what pooling makes of them: on public or made-up counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dpviz.boundary import as_given, plain_arguments, protect_module
from dpviz.errors import Forbidden
from dpviz.exact import Number, rational
from dpviz.model.public import PublicTable
from dpviz.planning.isotonic_sheet import FAMILIES, OWN, IsotonicSheet, ascending
from dpviz.widgets.explorer import Explorer


class IsotonicExplorer(Explorer):
    """Draw an unattributed histogram: counts in ascending order, noisy and fitted, with two bands around the fit.

    Parameters
    ----------
    counts : list of int, PublicTable or str, default "half"
        Public counts: a public table, or typed whole numbers in any order; or a made-up family: "half", "equal",
        "power" or "distinct".
    n : int, default 200
        The number of counts of a made-up family.
    epsilon : str, int, float or Fraction, default 1
        The price for adding or removing one record, which changes one of the sorted counts by 1.
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
    Nothing is released and nothing is charged.

    Examples
    --------
    >>> IsotonicExplorer("equal", n=20)
    IsotonicExplorer()
    """

    name: ClassVar[str] = "isotonic-explorer"
    title: ClassVar[str] = "Sorted counts, fitted"

    @plain_arguments
    def __init__(
        self,
        counts: Sequence[int] | PublicTable | str = "half",
        n: int = 200,
        epsilon: Number = 1,
        *,
        seed: int = 1,
    ) -> None:
        price = rational(epsilon, "epsilon")
        if isinstance(counts, str):
            super().__init__(IsotonicSheet(family=counts, size=n, epsilon=price, seed=seed))
            return
        known, badge = _public(counts)
        super().__init__(IsotonicSheet(ascending(known), OWN, len(known), price, seed, badge))


def _public(counts: object) -> tuple[list[int], str]:
    """Counts that somebody typed, or declared public, and what a page says of them."""
    if isinstance(counts, PublicTable):
        return counts.counts.tolist(), counts.badge
    if isinstance(counts, list | tuple) and all(type(count) is int for count in counts):
        return list(counts), IsotonicSheet().badge
    error = Forbidden.of(
        as_given(counts, "a "),
        f"the explorer takes a public table, typed whole numbers or made-up counts ({', '.join(FAMILIES)})",
        "declare public data with dv.teaching(...).table(question)",
    )
    assert isinstance(error, Forbidden)
    raise error


protect_module(vars())
