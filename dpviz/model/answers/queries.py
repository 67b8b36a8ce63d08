"""Answers to a list of counting queries: one number for each, and the values that fit all of them best.

Hay, Rastogi, Miklau, Suciu 2010, section 1: the grades of a class, how many passed, and all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import kind_of, protect_module
from dpviz.errors import DomainError, ReleaseFormat
from dpviz.exact import Decay, text
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum, Quantile
from dpviz.laws.geometric import error_quantile, simultaneous_quantile
from dpviz.model.answers.additive import AdditiveCounts
from dpviz.model.answers.base import register
from dpviz.model.answers.pictures import columns_of
from dpviz.model.answers.reading import Among, Axis, Intervals, Operand, Packed, Points, Reading, View
from dpviz.model.answers.values import rows_or
from dpviz.model.error import ErrorValue, How
from dpviz.model.linear import Query
from dpviz.model.question import Question
from dpviz.model.workload import Runs, Workload

FITTED = (
    "The fitted answers agree with each other wherever one query is a sum of others, and each is unbiased. Sums of "
    "bins that follow from the answers can be asked for as well."
)

TOLD = 6
"""The most stretches of bins that are named."""

SETTLED = 12
"""Of so many queries, intervals are settled to the last count, which may take up to a second each."""


@register
@dataclass(frozen=True, eq=False)
class QueryAnswers(AdditiveCounts):
    """The noisy answer to each query of a list.

    noisy     what was drawn: the true answers plus noise
    workload  the list: the names of the queries, and which bins each adds up

    Readers: "fitted", the consistent answers with the least sum of squared differences from what was drawn, as exact
    fractions; "noisy", what was drawn.
    """

    kind: ClassVar[str] = "queries"
    readers: ClassVar[tuple[str, ...]] = ("fitted", "noisy")
    adds_bins: ClassVar[bool] = True
    noisy: NDArray[np.int64]
    workload: Workload

    def pack(self) -> Packed:
        return Packed({"workload": self.workload.text}, {"noisy": self.noisy})

    @classmethod
    def unpack(cls, packed: Packed) -> QueryAnswers:
        if set(packed.arrays) != {"noisy"} or set(packed.header) != {"workload"}:
            raise ReleaseFormat.damaged("answers to queries are a list of queries and a number for each", "other parts")
        noisy, workload = packed.arrays["noisy"], Workload.from_text(packed.header["workload"])
        if noisy.dtype != "<i8" or noisy.shape != (len(workload.names),):
            raise ReleaseFormat.damaged("there is one whole number for each query", "other numbers")
        return cls(noisy.astype(np.int64), workload)

    def fits(self, question: Question, max_items: int | None) -> bool:
        return question.domain.declared and self.workload.bins == question.bins

    def axis(self, reading: Reading) -> Axis:
        names = self.workload.names
        return Axis(columns_of(reading.question), "query", names, whole=f"{len(names):,}")

    def point(self, reading: Reading, label: object) -> int:
        """A query by its name."""
        if not isinstance(label, str) or label not in self.workload.names:
            raise DomainError.of(
                label if isinstance(label, str) else kind_of(label),
                f"a query is read by its name: {', '.join(self.workload.names)}",
                "for a sum of bins write release.sum([...])",
            )
        return self.workload.names.index(label)

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NDArray[np.int64] | list[Fraction]:
        chosen = rows_or(points, len(self.noisy))
        if self._reader(reader) == "noisy":
            picked: NDArray[np.int64] = self.noisy[chosen]
            return picked
        rows = range(len(self.noisy))[chosen] if isinstance(chosen, slice) else chosen
        return [self._sum(self.workload.fitted[row]) for row in rows]

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        """The fit knows some answers better than others, so each has an interval of its own."""
        return None, None

    def intervals(
        self,
        reading: Reading,
        beta: Fraction,
        among: Among = "one",
        points: Points = None,
        reader: str = "",
    ) -> Intervals | None:
        """Each answer ± the quantile of its error, in whole counts, cut at 0 and at a public number of rows.

        A fitted answer is off by a weighted sum of the noises, whose law is known; all of them hold at once by a union
        bound, for they depend on each other. The numbers drawn have independent noises.
        """
        decay = reading.error.noise
        if decay is None:
            return None
        chosen = rows_or(points, len(self.noisy))
        rows = list(range(len(self.noisy))[chosen] if isinstance(chosen, slice) else chosen)
        how: How = "exact"
        if self._reader(reader) == "noisy":
            many = len(self.noisy)
            half = error_quantile(decay, beta) if among == "one" else simultaneous_quantile(decay, beta, many)
            rule = "two-sided tail of the noise" if among == "one" else f"product over {many:,} independent noises"
            halves: list[Fraction] = [Fraction(half)] * len(rows)
        else:
            level = beta if among == "one" else beta / len(self.noisy)
            few = len(self.noisy) <= SETTLED
            found = [radius(decay, self.workload.fitted[row], level, exactly=few) for row in rows]
            halves = [one.value for one in found]
            rule = "the law of the weighted sum of noises in the least-squares fit"
            if among == "all":
                how, rule = "bound", f"{rule}; union bound over {len(self.noisy):,} queries"
            elif not all(one.exact for one in found):
                how = "bound"
        values = [Fraction(value) for value in self.read(reading, rows, reader)]
        ends = [(math.ceil(one - half), math.floor(one + half)) for one, half in zip(values, halves, strict=True)]
        low, high = (np.array([end[side] for end in ends], dtype=np.int64) for side in (0, 1))
        low_cut, high_cut = low < 0, None
        low, high = np.maximum(low, 0), np.maximum(high, 0)
        if reading.unit.n is not None:
            high_cut = high > reading.unit.n
            high = np.minimum(high, reading.unit.n)
        return Intervals(low, high, how, rule, low_cut, high_cut)

    # ------------------------------------------------------------ sums of bins

    def query_point(self, reading: Reading, label: object) -> int:
        """A bin by its label: sums are of bins, and queries are read by name."""
        return reading.question.domain.index(label)

    def row_operand(self, reading: Reading, row: int) -> Operand:
        """A query: its name, and the bins that it adds up."""
        at = self.in_row(reading, row)
        return self.workload.names[at], [bin for runs in self.workload.parts[at] for bin in range(*runs)]

    def typed_operand(self, reading: Reading, label: tuple[str, ...]) -> Operand:
        if len(label) != 1:
            raise DomainError.of(f"{len(label)} texts", "a query has one name", "type the name of one query")
        return self.row_operand(reading, self.point(reading, label[0]))

    def operand_count(self, reading: Reading) -> int:
        return len(self.workload.names)

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction:
        """A sum of bins that follows from the answers, by least squares. As drawn there is none but the answers."""
        if self._reader(reader) != "fitted":
            self._refuse("a sum of bins is read from the fit", 'leave reader out, or read to_frame(reader="noisy")')
        return self._sum(self.workload.answered(query))

    # ------------------------------------------------------------ words and pictures

    def remark(self, reading: Reading) -> str:
        return FITTED

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        """The picture of answers to queries, of kind "queries": for each its name, what was drawn, the fitted
        value as text, at each beta (as text) the ends of its interval alone and among all, and the bins that it adds
        up; and which queries are the sum of others, with how far what was drawn is off that."""
        kinds: tuple[Among, ...] = ("one", "all")
        known: dict[str, dict[Among, Intervals]] = {
            text(beta): {among: found for among in kinds if (found := self.intervals(reading, beta, among)) is not None}
            for beta in betas
        }
        ends = {
            beta: {
                among: [list(map(str, pair)) for pair in zip(one.low, one.high, strict=True)]
                for among, one in found.items()
            }
            for beta, found in known.items()
        }
        header = {
            "axis": columns_of(reading.question),
            "labels": list(self.workload.names),
            "fitted": [text(Fraction(value)) for value in self.read(reading)],
            "remark": self.remark(reading),
            "intervals": ends,
            "how": {beta: {among: one.how for among, one in found.items()} for beta, found in known.items() if found},
            "about": [self._bins_of(reading, runs) for runs in self.workload.parts],
            "constraints": [
                {
                    "text": f"{self.workload.names[whole]} = {' + '.join(self.workload.names[part] for part in parts)}",
                    "gap": str(self._drawn[whole] - sum(self._drawn[part] for part in parts)),
                }
                for whole, parts in self.workload.constraints
            ],
        }
        return View("queries", header, {"noisy": self.noisy})

    def _bins_of(self, reading: Reading, runs: Runs) -> str:
        """The bins of a query in a few words: `A, C to F`."""
        domain = reading.question.domain
        told = [
            domain.told(domain.label(first))
            if stop - first == 1
            else domain.told_range(domain.label(first), domain.label(stop - 1))
            for first, stop in runs
        ]
        more = len(told) - TOLD
        return ", ".join(told) if more <= 0 else f"{', '.join(told[:TOLD])} and {more:,} more"

    # ------------------------------------------------------------ the parts

    @cached_property
    def _drawn(self) -> list[int]:
        drawn: list[int] = self.noisy.tolist()
        return drawn

    def _sum(self, weights: Sequence[Fraction]) -> Fraction:
        return sum((weight * one for weight, one in zip(weights, self._drawn, strict=True)), Fraction(0))


def radius(decay: Decay, weights: Sequence[Fraction], level: Fraction, exactly: bool = True) -> Quantile:
    """Bound a weighted sum of independent noises, but for a chance of `level` at most.

    exactly  False: what takes long to settle is left open, and the value may be a few steps too large
    """
    return _radius(decay, tuple(sorted(abs(weight) for weight in weights if weight)), level, exactly)


@lru_cache(maxsize=4_096)
def _radius(decay: Decay, weights: tuple[Fraction, ...], level: Fraction, exactly: bool) -> Quantile:
    return NoiseSum.of(Term(decay, weight) for weight in weights).radius(level, exactly)


protect_module(vars())
