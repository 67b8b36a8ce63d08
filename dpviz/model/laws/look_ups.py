"""The error of a sum over an answer that is asked key by key: from the interval of each look-up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from dpviz.boundary import protect_module
from dpviz.fitting.sums import Quantile
from dpviz.model.answers import Answer, Reading
from dpviz.model.linear import Bias, Ends, LinearError, Query


@dataclass(frozen=True)
class LookUpSum(LinearError):
    """The error of a sum of look-ups, of which each has an interval of its own at its share of beta.

    Keys that share bits or buckets depend on each other, so no law of the sum follows. An interval that is open where
    the answer cannot stand for a larger value leaves the sum open on that side: nothing is assumed of large values.

    given       what the intervals rest on
    why         why an end is open
    bias_words  what biases a look-up
    """

    query: Query
    answer: Answer
    reading: Reading
    reader: str
    given: str
    why: str
    bias_words: str

    @property
    def rule(self) -> str:
        many = self.query.size
        ends = "the interval of a look-up" if many == 1 else f"the intervals of {many:,} look-ups, by a union bound"
        return f"{ends}, {self.given}"

    @property
    def why_open(self) -> str:
        return self.why

    @property
    def bias(self) -> Bias:
        return Bias(self.bias_words)

    def ends(self, beta: Fraction) -> Ends:
        value = cast(Fraction, self.answer.weighted_sum(self.reading, self.query, self.reader))
        level, ends, open_ = beta / max(1, self.query.size), [Fraction(0), Fraction(0)], [False, False]
        for points, weight in self.query.parts:
            found = self.answer.intervals(self.reading, level, points=list(points), reader=self.reader)
            assert found is not None
            for side, part in enumerate((found.low, found.high) if weight > 0 else (found.high, found.low)):
                open_[side] |= any(end is None for end in part)
                ends[side] += weight * sum((Fraction(end) for end in part if end is not None), Fraction(0))
        low, high = value - ends[0], ends[1] - value
        return (
            None if open_[0] else Quantile(low, low),
            None if open_[1] else Quantile(high, high),
        )


def if_few(keys: int) -> str:
    """The facts that the error of a look-up rests on: that there are not more keys than were said."""
    return f"if at most {keys:,} bins are not empty"


protect_module(vars())
