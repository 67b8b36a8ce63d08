"""Noisy counts of the nodes of a tree over an ordered domain, and how far off any range is that is read from them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, Final, cast

import numpy as np

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError, ReleaseFormat, short
from dpviz.exact import Decay, ceil_to, probability, whole
from dpviz.fitting.noises import Noise, Noises, Term, law_of
from dpviz.fitting.simulated import largest_errors, safe_quantile
from dpviz.fitting.sums import NoiseSum, Quantile
from dpviz.fitting.tree import Design, Pieces, Shape, Weighted
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.model.answers import Answer, Ranges, Reading
from dpviz.model.answers.ranges import pieces_of, segments
from dpviz.model.error import ErrorModel, ErrorValue, How
from dpviz.model.laws.base import StoredLaw, stored
from dpviz.model.laws.bin_sums import BinsError
from dpviz.model.linear import CountRange, LinearError, Query
from dpviz.model.question import Question
from dpviz.model.sum_errors import SumError
from dpviz.privacy.unit import Unit

LARGEST_WEIGHT: Final = 1_000
"""The weight of a height is at most this: precisions are squares of weights, and the upward pass adds them up."""

RUNS: Final = 10_000
"""Simulations of noise for a band."""

LONGEST: Final = 200
"""No tree has so many levels that its weights take more characters."""

_WEIGHTS = re.compile(r"(?:0|[1-9][0-9]{0,3})(?:,(?:0|[1-9][0-9]{0,3}))*", re.ASCII)


class NoisyTree(StoredLaw):
    """Independent noise on every node of a tree that is asked.

    branching  k: how many children a node has
    bins       of the question: the leaves that are counted
    pinned     whether nodes that cover nothing but padding are known to be empty, and not drawn
    weights    of each height, leaves first: "1,1,2"; 0 where a height is not asked
    total      the public number of rows, where the root holds it without noise; else None
    """

    branching: int
    bins: int
    pinned: bool
    weights: str
    total: int | None

    @property
    def amount(self) -> Fraction | None:
        """The number that says how wide the noise is; None where no node is drawn."""
        raise NotImplementedError

    def drawn(self, weight: int) -> Noise:
        """The noise on a node of this weight, where one is drawn."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        whole(self.bins, "bins")
        if self.total is not None:
            whole(self.total, "total", least=0)
        asked = [place for place, weight in enumerate(self.heights) if weight and not self._known(place)]
        if (self.amount is None) != (not asked) or (self.amount is not None and self.amount <= 0):
            raise ReleaseFormat.damaged("a tree's noise has a positive width where a node is drawn", str(self.amount))
        self.design  # noqa: B018 - weights that no tree has are refused

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The weight of each height, leaves first."""
        return weights_of(self.weights)

    @cached_property
    def design(self) -> Design:
        """The tree, and how the fit weighs its nodes: by the square of the weight of their height.

        For Laplace and Gaussian noise these are the true precisions, and for equal weights they are so for any noise.
        Elsewhere the fit is not quite the best one; all that is said of its error is from the true noise.
        """
        shape = Shape(self.branching, self.bins, self.pinned)
        return Design(shape, tuple(weight * weight for weight in self.heights), self.total is not None)

    def _known(self, place: int) -> bool:
        """Whether this height, counted from 0, is that of the exact root."""
        return self.total is not None and place + 1 == len(self.heights)

    def added(self, height: int) -> Noise | None:
        """The noise on a node of this height; None where it has none."""
        weight = self.heights[height - 1]
        return self.drawn(weight) if self.amount and weight and not self._known(height - 1) else None

    def noise(self, query: Pieces, reader: str = "fitted") -> NoiseSum:
        """The law of the error of a linear query: a weighted sum of the noises of nodes.

        reader  "fitted": least squares. For a range of weight 1 also "subtrees", the sum of the fewest nodes, and
                "leaves", the sum of its noisy leaves
        """
        return NoiseSum.of(self._terms(query, reader))

    def _terms(self, query: Pieces, reader: str) -> list[Term]:
        nodes = self.nodes(query, reader)
        noises = {height: self.added(height) for height in {node.height for node in nodes}}
        return [
            Term(one, weight, stop - first)
            for height, first, stop, weight in nodes
            if (one := noises[height]) is not None
        ]

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        fits = question.domain.declared and question.domain.ordered and self.bins == question.bins
        return fits and self.total in (None, unit.n) and max_items is None

    def accepts(self, answer: Answer) -> bool:
        """Whether it holds the nodes of this tree that are asked, and the same public total."""
        return cast(Ranges, answer).is_of(self.design, self.total)

    @cached_property
    def error(self) -> ErrorModel:
        return TreeError(self)

    @property
    def adds_up(self) -> bool:
        return True

    @property
    def alike(self) -> list[int]:
        """Where padding is pinned, fitted bins beside it err less than others."""
        return [first for first, _ in segments(self.design.shape)]

    def limits(self, reading: Reading) -> CountRange:
        return CountRange(0, None, reading.unit.n)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """By least squares, by noisy subtrees or by noisy leaves: the exact law of the weighted sum of their noises.

        Refused for estimators that are never negative, for no law of theirs is known before the truth is.
        """
        if self.error.estimator(reader).one_bin(Fraction(1, 2)) is None:
            raise ReleaseFormat.of(
                reader, "nothing is proved about sums by this estimator", 'ask with reader="fitted" for an interval'
            )
        reader = reader or "fitted"
        noise, leaf = self.noise(pieces_of(query), reader), self.added(1)
        error = SumError(noise, noise, certain=True, by=f"{EXACTLY} ({reader})")
        return BinsError(**vars(error), drawn=leaf) if reader == "leaves" and leaf is not None else error

    def band(
        self, ranges: Sequence[tuple[int, int]], beta: Fraction, reader: str = "fitted", runs: int = RUNS
    ) -> list[ErrorValue]:
        """Half-widths for these ranges of rows, both ends included, that hold for all of them at once: simulated.

        Each is the range's standard deviation times one number, tried out with pure noise. It is narrower than a union
        bound where ranges overlap, but rests on so many runs.
        """
        chosen = tuple((low, high) for low, high in ranges)
        for low, high in chosen:
            self.design.shape.check(low, high)
        if not chosen or self.error.estimator(reader).one_bin(Fraction(1, 2)) is None:
            raise ParameterError.of(
                "no ranges" if not chosen else reader,
                "a band is about one range or more, by a linear estimator",
                "name ranges, and read them fitted, by subtrees or by leaves",
            )
        return list(_band(self, chosen, probability(beta, "beta", zero=False), reader, whole(runs, "runs")))

    def nodes(self, query: Pieces, reader: str = "fitted") -> list[Weighted]:
        """How much each noisy node counts in what an estimator makes of a linear query."""
        if reader in ("", "fitted"):
            return list(self.design.weights(query))
        if reader == "leaves":
            return [Weighted(1, first, last + 1, Fraction(weight)) for first, last, weight in query]
        cover = self.design.shape.cover
        return [
            Weighted(height, place, place + 1, Fraction(weight))
            for first, last, weight in query
            for height, place in cover(first, last)
        ]


@stored
@dataclass(frozen=True)
class TreeLaw(NoisyTree):
    """Independent two-sided geometric noise on every node of a tree that is asked.

    step  Pr[Z = z] is proportional to exp(-step * weight * |z|) at a node; None where no node is drawn
    """

    name: ClassVar[str] = "tree"

    branching: int
    bins: int
    pinned: bool
    step: Fraction | None
    weights: str
    total: int | None

    @property
    def amount(self) -> Fraction | None:
        return self.step

    def drawn(self, weight: int) -> Decay:
        assert self.step is not None
        return Decay.exp(self.step * weight)


@stored
@dataclass(frozen=True)
class GaussianTreeLaw(NoisyTree):
    """Independent discrete Gaussian noise on every node of a tree that is asked.

    variance  Pr[Z = z] is proportional to exp(-(weight * z)**2 / (2 * variance)) at a node; None where none is drawn
    """

    name: ClassVar[str] = "tree-gaussian"

    branching: int
    bins: int
    pinned: bool
    variance: Fraction | None
    weights: str
    total: int | None

    @property
    def amount(self) -> Fraction | None:
        return self.variance

    def drawn(self, weight: int) -> DiscreteGaussian:
        assert self.variance is not None
        return DiscreteGaussian(self.variance / weight**2)


def weights_of(written: str) -> tuple[int, ...]:
    """The weights that a text lists: "1,1,2"."""
    if len(written) > LONGEST or not _WEIGHTS.fullmatch(written):
        raise ParameterError.of(
            short(written),
            "weights of heights are whole numbers with commas between them, leaves first",
            "write one weight for each level",
        )
    weights = tuple(map(int, written.split(",")))
    if max(weights) > LARGEST_WEIGHT or not weights[0]:
        raise ParameterError.of(
            written,
            f"weights of heights are at most {LARGEST_WEIGHT:,}, and that of the leaves, the first, is not 0",
            "weigh the leaves at least 1",
        )
    return weights


@dataclass(frozen=True)
class TreeError(ErrorModel):
    """The error of one estimator of a tree, from the law of its noise. It is the same for any true counts.

    A fitted value is off by a weighted sum of noises. Where the weights have a common step that is not too fine its
    quantiles are exact; else they come from an inverted transform and say how far off they may be. Half-widths are
    whole counts, rounded up.
    """

    law: NoisyTree
    reader: str = "fitted"

    def estimator(self, reader: str) -> ErrorModel:
        if reader in ("", "fitted", "leaves"):
            return TreeError(self.law, reader or "fitted")
        complete = all(self.law.heights) or (self.law.total is not None and all(self.law.heights[:-1]))
        return TreeError(self.law, reader) if reader == "subtrees" and complete else ErrorModel()

    @cached_property
    def _one_each(self) -> list[int]:
        """One leaf of each part of the domain whose leaves err alike: all of it, but where padding is pinned."""
        return self.law.alike if self.reader == "fitted" else [0]

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        values = [self.range(leaf, leaf, beta) for leaf in self._one_each]
        return max(values, key=lambda value: value.value)

    def all_bins(self, beta: Fraction) -> ErrorValue:
        """Noisy leaves are independent: the product of their chances is exact. Fitted ones are not: a union bound."""
        bins, leaf = self.law.bins, self.law.added(1)
        if bins == 1 or leaf is None:
            return self.one_bin(beta)
        if self.reader == "fitted":
            value = self.one_bin(beta / bins)
            return replace(value, how="bound", rule=f"union bound over {bins:,} bins, {value.rule}", off=None)
        half = law_of(leaf).joint_quantile(beta, bins)
        how: How = "exact" if law_of(leaf).is_least(half, beta, bins) else "bound"
        return ErrorValue(Fraction(half), how, f"product over {bins:,} independent leaves")

    def range(self, first: int, last: int, beta: Fraction) -> ErrorValue:
        return _radius(self.law, self.reader, first, last, beta)

    def bias(self, count: int) -> ErrorValue:
        return ErrorValue(Fraction(0), "exact", "a linear fit to unbiased counts, which no clamp cuts")

    @cached_property
    def _worst(self) -> NoiseSum:
        """The error of a bin that errs most."""
        leaf = max(self._one_each, key=lambda leaf: self.range(leaf, leaf, Fraction(1, 2)).value)
        return _noise_of(self.law, self.reader, leaf, leaf)

    def chance_shown(self, count: int) -> float:
        low, high = self._worst.above(-count)
        return float((low + high) / 2)

    def quantiles(self, levels: list[Fraction]) -> list[int]:
        """Of the error of a bin that errs most; whole counts, away from 0."""
        upper = self._worst.pictured({min(level, 1 - level) for level in levels})
        return [max(0, upper[1 - level]) if 2 * level >= 1 else -max(0, upper[level]) for level in levels]

    def reads(self, count: int, levels: Sequence[Fraction]) -> list[int | None]:
        return [count + error for error in self.quantiles(list(levels))]


ROUNDING: Final = 1e-9
"""More than floats lose in one run."""

EXACTLY: Final = "the exact law of a weighted sum of noises"
INVERTED: Final = "the law of a weighted sum of noises, rounded up to a whole count"
EXPONENTIAL: Final = "exponential bound on the tail of a weighted sum of noises (Chernoff)"


@lru_cache(maxsize=4096)
def _radius(law: NoisyTree, reader: str, first: int, last: int, beta: Fraction) -> ErrorValue:
    return stated(_reach(_noise_of(law, reader, first, last).noises, beta))


@lru_cache(maxsize=4096)
def _reach(noises: Noises, beta: Fraction) -> Quantile:
    """Ranges that lie alike in a tree have one law, whatever their place."""
    return _inverted(noises).radius(beta, exactly=False)


@lru_cache(maxsize=256)
def _inverted(noises: Noises) -> NoiseSum:
    return NoiseSum(noises)


@lru_cache(maxsize=64)
def _noise_of(law: NoisyTree, reader: str, first: int, last: int) -> NoiseSum:
    """Kept, for each of them inverts a transform."""
    return law.noise([(first, last, 1)], reader)


@lru_cache(maxsize=32)
def _band(
    law: NoisyTree, ranges: tuple[tuple[int, int], ...], beta: Fraction, reader: str, runs: int
) -> tuple[ErrorValue, ...]:
    queries = [law.nodes([(low, high, 1)], reader) for low, high in ranges]
    spreads = [law.noise([(low, high, 1)], reader).variance()[1] for low, high in ranges]
    scales = np.sqrt(np.array([float(spread) for spread in spreads]))
    added = [law.added(height) for height in range(1, law.design.shape.height + 1)]
    largest = safe_quantile(largest_errors(law.design.shape, added, queries, scales, runs), beta)
    rule = f"{runs:,} runs of pure noise for {len(ranges):,} ranges at once; they mislead with chance 1e-9 at most"
    halves = (Fraction(math.ceil(largest * scale * (1 + ROUNDING))) for scale in scales.tolist())
    return tuple(ErrorValue(half, "simulated", rule) for half in halves)


def stated(radius: Quantile) -> ErrorValue:
    """A half-width in whole counts, rounded up, with what is known of it."""
    value = Fraction(math.ceil(radius.value))
    if value == radius.least:
        return ErrorValue(value, "exact", EXACTLY)
    if not radius.exact and radius.least <= 0:
        return ErrorValue(value, "bound", EXPONENTIAL)
    return ErrorValue(value, "numerical", INVERTED, off=ceil_to(value - radius.least, Fraction(1, 1000)))


protect_module(vars())
