"""What does space buy? Error, space and read cost of every sparse release of one budget. Free; sees no data."""

from __future__ import annotations

from typing import ClassVar

from dpviz.boundary import plain_arguments, protect_module
from dpviz.exact import Number, rational
from dpviz.planning.tradeoff_sheet import TradeoffSheet
from dpviz.widgets.explorer import Explorer


class TradeoffExplorer(Explorer):
    """Sparse releases of one budget: how far off an entry is by its true value, what they store, what a read touches.

    epsilon     of the whole release
    delta       for what needs one
    d           how many keys there may be
    k           how many non-zero entries are declared
    load        s / k: bits of a column of ALP, or buckets of max projection, for each non-zero entry: 3 to 100
    alpha       ALP's flip setting, 1/2 to 10: a bit is flipped with chance 1 / (alpha + 2)
    split       epsilon of ALP over epsilon of the threshold, 1/4 to 4
    threshold   "pure", or "approximate": lower, at the price of delta
    look_ups    how many keys are read together, for error bars around all of them
    relation    who is protected: "add" or remove a record, "replace" one, "user-4" or "user-16" keys of one user
    accounting  of ALP: "exact" for whole counts, as ALP itself is charged for counts; "paper" for any real vector
    n           the public number of rows, which Compact needs: it stores n + 1 elements

    One true value is probed, and drives the curve, the frontier and the table together. Nothing is released and nothing
    is charged. Raises ParameterError outside the ranges of the sliders.

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
