"""Counts that somebody declared public or made up. Drawn in violet and hatched; no session accepts them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import as_given, protect_module
from dpviz.errors import ParameterError
from dpviz.model.domain import Domain, is_domain

BADGE = "public data · not a release"


@dataclass(frozen=True, eq=False)
class PublicTable:
    """Declare true counts of public or made-up data, one per bin. The caller vouches that they are public.

    Parameters
    ----------
    domain : Domain
        The bins.
    counts : list or array of int
        Whole numbers from 0 to 2**63 - 1, one for each bin.
    nouns : str, default "rows"
        The noun of a count, in the plural.
    badge : str, optional
        The label that charts show.

    Raises
    ------
    ParameterError
        If the counts are not whole numbers from 0 on, or there is not one for each bin. The error shows no count.

    Notes
    -----
    Charts draw public tables in violet and hatched, and no session accepts them.

    Examples
    --------
    >>> PublicTable(Domain.integers(0, 1, column="x"), [2, 1])
    <PublicTable (public data · not a release): 0, 1>
    """

    domain: Domain
    counts: NDArray[np.int64]
    nouns: str = "rows"
    badge: str = BADGE

    def __post_init__(self) -> None:
        if not is_domain(self.domain) or not self.domain.declared:
            rule, advice = "public counts are those of declared bins", "declare them with dv.Domain.integers(...)"
            raise ParameterError.of(as_given(self.domain), rule, advice)
        object.__setattr__(self, "counts", whole_counts(self.counts))
        if len(self.counts) != self.domain.size:
            raise ParameterError.of(
                f"{len(self.counts)} counts", f"this domain has {self.domain.size} bins", "give one count for each bin"
            )

    def __repr__(self) -> str:
        return f"<PublicTable ({self.badge}): {self.domain.text}>"


def whole_counts(given: object) -> NDArray[np.int64]:
    """Counts as an array of whole numbers, whatever list or array they were given in.

    Raises ParameterError where one is negative, no whole number, or longer than 63 bits. Its text holds no count.
    """
    rule, step = "counts are whole numbers from 0 to 2^63 - 1", "give a list or an array of them, one for each bin"
    fits = isinstance(given, list | tuple | np.ndarray) and np.ndim(np.asarray(given, dtype=object)) == 1
    if fits:
        numbers = np.asarray(given, dtype=object).tolist()
        plain = [plain_number(number) for number in numbers]
        whole = [int(one) for one in plain if one is not None and 0 <= one < 2**63 and one == int(one)]
        if len(whole) == len(numbers):
            return np.array(whole, dtype=np.int64)
    raise ParameterError.of("other counts", rule, step)


def plain_number(given: object) -> int | float | Fraction | None:
    """A finite number, where it is one; no truth value."""
    if isinstance(given, bool | np.bool_) or not isinstance(given, int | float | Fraction | np.integer | np.floating):
        return None
    finite = isinstance(given, int | Fraction) or math.isfinite(given)
    return given if finite else None  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class PublicTop:
    """Declare the largest true counts of public or made-up data, in order. The caller vouches that they are public.

    Parameters
    ----------
    labels : tuple of str
        The ranked items, as a reader sees them; equal counts by label.
    counts : tuple of int
        Whole numbers above 0 that never rise, one for each label. Rows after the last are 0.
    column : str, default "item"
        The noun of a label, such as "destination".
    nouns : str, default "rows"
        The noun of a count, in the plural, such as "aircraft".
    badge : str, optional
        The label that charts show.

    Raises
    ------
    ParameterError
        If there is not one count for each label, a label comes twice, or the counts rise or reach 0.

    Examples
    --------
    >>> PublicTop(("ATL", "BOS"), (7, 3), column="destination", nouns="aircraft")
    <PublicTop (public data · not a release): 2 of destination>
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    column: str = "item"
    nouns: str = "rows"
    badge: str = BADGE

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.counts) or len(set(self.labels)) != len(self.labels):
            raise ParameterError.of(
                f"{len(self.labels)} labels",
                "a ranking has one count for each label, once",
                "give as many different labels as counts",
            )
        if any(after > before for before, after in pairwise((*self.counts, 1))):
            raise ParameterError.of(
                f"{len(self.counts)} counts",
                "the counts of a ranking never rise and are above 0",
                "sort them, the largest first, and leave zeros out",
            )

    @classmethod
    def of(cls, table: PublicTable) -> PublicTop:
        """Rank the bins of a table that are not empty, by their counts, equal ones in the table's order.

        Parameters
        ----------
        table : PublicTable
            The public counts.

        Returns
        -------
        PublicTop
            The ranking.

        Raises
        ------
        ParameterError
            If it is no table.
        """
        if type(table) is not PublicTable:
            raise ParameterError.of(
                as_given(table), "a ranking is made of a PublicTable", "write dv.teaching(...).table(question)"
            )
        order = np.argsort(-table.counts, kind="stable")
        shown = [index for index in order.tolist() if table.counts[index] > 0]
        return cls(
            tuple(table.domain.label(index) for index in shown),
            tuple(int(table.counts[index]) for index in shown),
            table.domain.columns_text,
            table.nouns,
            table.badge,
        )

    def __repr__(self) -> str:
        return f"<PublicTop ({self.badge}): {len(self.labels)} of {self.column}>"


protect_module(vars())
