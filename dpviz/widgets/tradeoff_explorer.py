"""What does space buy? Error, space and read cost of every sparse release of one budget. Free; sees no data."""

from __future__ import annotations

from typing import ClassVar

from dpviz.boundary import plain_arguments, protect_module
from dpviz.exact import Number, rational
from dpviz.planning.tradeoff_sheet import TradeoffSheet
from dpviz.widgets.explorer import Explorer


class TradeoffExplorer(Explorer):
    """Compare sparse releases of one budget: the error of an entry by its true value, the space, and the read cost.

    Parameters
    ----------
    epsilon : str, int, float or Fraction, default 1
        The price of the whole release.
    delta : str, int, float or Fraction, default "0.000001"
        The delta of releases that need one.
    d : int, default 4294967296
        The number of possible keys.
    k : int, default 1000
        The declared number of non-zero entries.
    load : str, int, float or Fraction, default "16.384"
        s / k: bits of a column of ALP, or buckets of max projection, for each non-zero entry: 3 to 100.
    alpha : str, int, float or Fraction, default "38/13"
        ALP's flip setting, 1/2 to 10: a bit is flipped with chance 1 / (alpha + 2).
    split : str, int, float or Fraction, default 1
        Epsilon of ALP over epsilon of the threshold, 1/4 to 4.
    threshold : {"pure", "approximate"}, default "pure"
        "approximate" is lower, at the price of delta.
    look_ups : int, default 1000
        The number of keys that are read together, for error bars around all of them.
    relation : {"add", "replace", "user-4", "user-16"}, default "add"
        The neighbouring relation: "add" or remove a record, "replace" one, or 4 or 16 keys of one user.
    accounting : {"exact", "paper"}, default "exact"
        The accounting of ALP: "exact" for whole counts, as ALP itself is charged for counts; "paper" for any real
        vector.
    n : int, default 10000
        The public number of rows, which Compact needs: it stores n + 1 elements.

    Raises
    ------
    ParameterError
        If an argument is outside its range.

    Notes
    -----
    One true value is probed, and drives the curve, the frontier and the table together. Nothing is released and nothing
    is charged.

    Examples
    --------
    >>> TradeoffExplorer("1/2", d=10**6)
    TradeoffExplorer()
    """

    name: ClassVar[str] = "tradeoff-explorer"
    title: ClassVar[str] = "What does space buy?"
    program_name: ClassVar[str] = "sparse"

    @plain_arguments
    def __init__(
        self,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        *,
        d: int = 2**32,
        k: int = 1000,
        load: Number = "16.384",
        alpha: Number = "38/13",
        split: Number = 1,
        threshold: str = "pure",
        look_ups: int = 1000,
        relation: str = "add",
        accounting: str = "exact",
        n: int = 10_000,
    ) -> None:
        super().__init__(
            TradeoffSheet(
                rational(epsilon, "epsilon"),
                rational(delta, "delta"),
                threshold,
                rational(split, "split"),
                rational(alpha, "alpha"),
                rational(load, "load"),
                d,
                k,
                look_ups,
                relation,
                accounting,
                n,
            )
        )


protect_module(vars())
