"""Brush a range of an ordered domain, and read it by every estimator with its true error bars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

from dpviz.boundary import as_given, plain_arguments, protect_module
from dpviz.errors import DomainError, Forbidden
from dpviz.exact import Number, rational, whole
from dpviz.model.public import PublicTable
from dpviz.model.release import Release
from dpviz.planning.range_sheet import FAMILIES, RangeSheet, made_up, of_public, of_release
from dpviz.widgets import messages
from dpviz.widgets.explorer import Explorer, Exploring, Slow


class Ranging(Exploring):
    """A range sheet, an ask that moves what is in view, and one that reads ranges. Reading is free."""

    asks: ClassVar[messages.Asks] = messages.RANGES
    sheet: RangeSheet

    def slow(self) -> Slow:
        return {**super().slow(), "read": self._on_read}

    def _on_read(self, args: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        """Ranges by the numbers of their bins, or by the labels of these."""
        sheet, found = self.sheet, []
        for point in args["points"]:
            if len(point) != 3 or point[0] not in ("bins", "labels"):
                raise Forbidden.sent(
                    'a range is read by ["bins", first, last] or ["labels", first, last]', "another point"
                )
            how, low, high = point
            if how == "labels":
                found.append(sheet.reading(*sheet.named(low, high)))
            else:
                most = sheet.drawn.size - 1
                ends = [whole(end, "a bin", least=0, most=most) for end in (low, high)]
                if ends[0] > ends[1]:
                    raise DomainError.of("a reversed range", "a range begins with its lower end", "exchange the ends")
                found.append(sheet.reading(*ends))
        return lambda: {"readings": found}


class RangeExplorer(Explorer):
    """Brush a range, and see the answer of each estimator and the noisy counts that it used.

    Parameters
    ----------
    table : Release, PublicTable or str
        A release of a tree (`dv.Tree`), whose ranges are read from the noisy counts that were paid for. Or public
        counts of an ordered domain: a public table, as ``dv.teaching(...).table(question)`` gives it, or made-up
        counts: "bursts", "sparse" or "flat".
    beta : str, int, float or Fraction, default "0.05"
        How often an interval may miss the truth.
    epsilon : str, int, float or Fraction, default "1/2"
        For public counts: the price of a tree, and of a flat histogram beside it, for adding or removing one record.
    branching : int, default 16
        For public counts: the number of children of a node of the tree.
    seed : int, default 1
        For public counts: the seed of the noise. Everybody knows it, so nothing is private there.

    Raises
    ------
    Forbidden
        If the table is neither released nor declared public. The error does not show it.
    DomainError
        If the domain has no ranges.
    ParameterError
        If the release is no tree, or an argument is outside its range.

    Notes
    -----
    Reading is free: nothing is released and nothing is charged.

    Examples
    --------
    >>> RangeExplorer("flat", epsilon="1/2", branching=4)
    RangeExplorer()
    """

    name: ClassVar[str] = "range-explorer"
    title: ClassVar[str] = "Any range"
    exploring: ClassVar[type[Exploring]] = Ranging

    @plain_arguments
    def __init__(
        self,
        table: Release | PublicTable | str,
        *,
        beta: Number = "0.05",
        epsilon: Number = "1/2",
        branching: int = 16,
        seed: int = 1,
    ) -> None:
        if isinstance(table, Release):
            drawn = of_release(table)
        else:
            drawn = of_public(_public(table), rational(epsilon, "epsilon"), branching, whole(seed, "seed"))
        super().__init__(RangeSheet.over(drawn, rational(beta, "beta")))

    @property
    def shown(self) -> dict[str, Any]:
        """The sheet for a report: with more stops, for there is no kernel to read other ranges."""
        return cast(RangeSheet, self._exploring.sheet).saved().to_json()


def _public(table: object) -> PublicTable:
    if isinstance(table, str):
        return made_up(table)
    if isinstance(table, PublicTable):
        return table
    error = Forbidden.of(
        as_given(table, "a "),
        f"the explorer takes a released tree, a public table or made-up counts ({', '.join(FAMILIES)})",
        "declare public data with dv.teaching(...).table(question), or release first",
    )
    assert isinstance(error, Forbidden)
    raise error


protect_module(vars())
