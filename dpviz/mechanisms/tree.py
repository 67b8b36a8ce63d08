"""Tree: noise on the counts of all intervals of a tree over an ordered domain, from which any range is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import error_boundary, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, counted
from dpviz.fitting.simulated import sampler_of
from dpviz.fitting.tree import Design, Shape
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.mechanisms.count_noise import MOST_COUNT
from dpviz.mechanisms.gaussian import DELTA, GAUSSIAN, GAUSSIAN_WORDS, USUAL_DELTA, epsilon_for, guarantee, rho_for
from dpviz.model.answers import Answer, Ranges
from dpviz.model.answers.ranges import asked
from dpviz.model.error import ErrorModel
from dpviz.model.laws.tree import GaussianTreeLaw, NoisyTree, TreeLaw, weights_of
from dpviz.model.measures import Measure, all_bins, one_bin
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, OneOf, Parameters, Reader, Reads, WholeNumber, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import DenseCounts, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.privacy.conversion import to_zcdp
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

Padding = Literal["free", "pinned"]
Root = Literal["asked", "public"]
Branching: TypeAlias = Reads[int | str, int | Literal["auto"]]
Base = Literal["exp", "gaussian"]
Levels: TypeAlias = Reads[str | None, str | None]

STORED_BITS: Final = 64
"""What one node takes to store where no public cap bounds it."""

MOST_NODES: Final = 1 << 24
"""A tree of more nodes would not fit in memory beside what is made of it."""

WIDEST: Final = 1 << 20
"""A node has at most so many children."""


@dataclass(frozen=True)
class WholeOrAuto(WholeNumber):
    """How many children a node has, or "auto": the best for the question."""

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Any:
        return "auto" if isinstance(value, str) and value == "auto" else super().read(value, name, earlier)

    def python(self, value: Any) -> str:
        return '"auto"' if value == "auto" else str(value)


@dataclass(frozen=True)
class Weights(Reader):
    """Whole numbers with commas between them."""

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> str:
        if not isinstance(value, str):
            raise ParameterError.of(
                value, f"{name} is a text of whole numbers, leaves first", "write them with commas between, in quotes"
            )
        return ",".join(map(str, weights_of(value.replace(" ", ""))))


class Tree(Parameters):
    """Noise on the counts of all intervals of a tree over an ordered domain. Any range is read from them for nothing.

    epsilon    the price in the session's unit
    base       "exp": two-sided geometric noise, for epsilon alone; "gaussian": discrete Gaussian noise, which costs
               epsilon and delta, or under a zCDP budget the largest rho with rho + 2 sqrt(rho ln(1/delta)) <= epsilon.
               The levels add up in L2 then, so a tree of many levels needs less noise
    delta      for base="gaussian", and with it
    branching  how many children a node has, at least 2; "auto" takes the number with the least mean variance over all
               ranges, which follows from public numbers alone
    padding    "free": leaves that fill the domain up to a power of the branching are asked like any other, as in the
               paper; "pinned": they are known to be empty, and nodes that cover nothing else are not asked
    levels     weights of the levels, leaves first, as a text: "1,1,2" gives the root of three levels twice the epsilon
               of each other; 0 asks nothing of a level. Left out, all weigh the same. The noise of a level is as much
               narrower as its weight is larger; Gaussian noise costs rho by the squares of weights
    root       "asked": with noise, like any other node. "public": you vouch that every one of the n public rows has a
               bin, so the root is n, without noise and for nothing

    Privacy: pure DP. On each level one unit moves the counts by at most c = `Unit.l1` where it comes or goes: with
             equal weights that makes c times the number of levels. A replacement moves the root by at most c and each
             level below by up to 2 c, so levels of weight w cost max(c sum of w, 2 c sum of w below the root); where
             the root is public it counts 0 in both. (Where a user touches several bins this is an upper bound. It is
             attained if the bins of two users fit below different children of the root.) Everything that is read
             from the answer is post-processing, the public total included: it is a constant, whatever the data.
             For undirected edges counted at both ends, name the column of the edge: Unit("edge", max_bins=2).
    Error:   exact for noisy nodes and their sums. A fitted value is off by a weighted sum of noises whose law is
             known: quantiles are exact where its weights share a step that is not too fine, else numerical with their
             error stated. With root="public" errors hold only if every row has a bin. A filter, values outside the
             declared bins and what cannot be read would break that, so it is not assumed.
    Source:  Hay, Rastogi, Miklau, Suciu 2010 (PVLDB 3), Section 4; noise of Ghosh, Roughgarden, Sundararajan 2009, or
             of Canonne, Kamath, Steinke 2020. The squares of a tree's moves are derived here.

    >>> from dpviz.model.domain import Domain
    >>> slots = Question.of(Domain.integers(0, 4095, column="slot"))
    >>> bound = Tree(epsilon=1).bind(slots, Unit(noun="flight"))
    >>> bound.price.sentence, bound.cost.text
    ('1-differential privacy for adding or removing one flight', '4,681 draws: 8 children to a node, 5 levels')
    """

    name: ClassVar[str] = "Tree"
    about: ClassVar[str] = "Any range of an ordered domain, short or long. Best for hundreds of bins or more."
    delta_text: ClassVar[str] = "Tree is pure: no δ. Gaussian noise needs δ, or ρ alone where zCDP adds it up."

    epsilon: Exact = parameter(reads=Epsilon())
    branching: Branching = parameter(
        reads=WholeOrAuto(least=2, most=WIDEST), default="auto", label="Children of a node (a number, or auto)"
    )
    padding: Padding = parameter(
        reads=OneOf(Padding),
        default="free",
        label="Padding",
        options={"free": "free: asked, as in the paper", "pinned": "pinned: known to be empty"},
    )
    levels: Levels = parameter(
        reads=Weights(), default=None, optional=True, label="Weights of the levels, leaves first, with commas"
    )
    root: Root = parameter(
        reads=OneOf(Root),
        default="asked",
        label="Root",
        options={"asked": "asked, with noise", "public": "public: every row has a bin"},
    )
    base: Base = parameter(
        reads=OneOf(Base),
        default="exp",
        label="Noise law",
        options={"exp": "exp: exactly the ε that you ask", GAUSSIAN: GAUSSIAN_WORDS},
        later=True,
    )
    delta: ExactOrNone = DELTA

    def check(self) -> None:
        if self.branching == "auto" and self.levels is not None:
            raise ParameterError.of(
                'branching="auto"', "weights of levels belong to a tree of a certain height", "give branching="
            )

    def bind(self, question: Question, unit: Unit) -> TreeBound:
        """Fix the tree, its noise and its price. Raises ParameterError on public facts only."""
        question.check_counts(self.name)
        domain, bins = question.domain, question.bins
        if not domain.ordered:
            one = len(domain.factors) == 1
            raise ParameterError.of(
                domain.columns_text if one else domain.size_text,
                "Tree needs one column whose bins have an order, so that ranges of them mean something",
                "declare whole numbers or intervals, or count with Dense" if one else "ask about one column at a time",
            )
        if bins > MOST_NODES:
            raise _too_large(f"{bins:,} bins")
        total = self._total(question, unit)
        spread = Spread.of(unit, bins)
        branching = self.branching
        rho = None if self.delta is None else rho_for(self.epsilon, self.delta)
        if branching == "auto":
            branching = best_branching(bins, self.epsilon, spread, total is not None, rho)
        shape = Shape(branching, bins, self.padding == "pinned")
        if shape.nodes > MOST_NODES:
            raise _too_large(f"{shape.nodes:,} nodes")
        weights = (1,) * shape.height if self.levels is None else weights_of(self.levels)
        if len(weights) != shape.height:
            raise ParameterError.of(
                f"{len(weights)} weights",
                f"this tree has {shape.height} levels, each with a weight",
                f"give {shape.height} weights, leaves first",
            )
        written, pinned = ",".join(map(str, weights)), shape.pinned
        if rho is None:
            moved = spread.moved(weights, total is not None)
            step = self.epsilon / moved if moved else None
            law: NoisyTree = TreeLaw(branching, bins, pinned, step, written, total)
        else:
            squares = spread.squares(weights, branching, total is not None)
            variance = Fraction(squares) / (2 * rho) if squares else None
            law = GaussianTreeLaw(branching, bins, pinned, variance, written, total)
        if law.amount is not None:
            sampler_of(law.drawn(min(weight for weight in weights if weight)))  # refused where noise is too wide
        return TreeBound(self, question, unit, law, rho)

    def _total(self, question: Question, unit: Unit) -> int | None:
        """The public number of rows, where the analyst vouches that each has a bin."""
        if self.root == "asked":
            return None
        if unit.n is None:
            raise ParameterError.of(
                'root="public"', "the total is public only under replace-one of rows", 'leave root="asked"'
            )
        if question.filtered:
            raise ParameterError.of(
                'root="public"', "a filter leaves rows out, so their total is not public", 'leave root="asked"'
            )
        return unit.n


@dataclass(frozen=True)
class Spread:
    """How far one unit moves the counts of a tree.

    up, down  by how much leaves may rise and fall in all at the same time; where a unit comes or goes, `down` is 0,
              for then they all move the same way
    each      by how much one leaf may
    """

    up: int
    down: int
    each: int = 1

    @classmethod
    def of(cls, unit: Unit, bins: int) -> Spread:
        """From the unit's limits. A replacement raises leaves of the one and lowers others, all of them different.

        As many leaves are left to the others as the records of the one do not fill: where the records end inside a
        leaf, it counts for both, which is no less than what any replacement moves.
        """
        touched = bins if unit.max_bins is None else min(unit.max_bins, bins)
        up = unit.records(bins)
        others = min(touched, bins - up // unit.max_per_bin) if unit.relation == "replace-one" else 0
        return cls(up, min(up, others * unit.max_per_bin), unit.max_per_bin)

    def moved(self, weights: tuple[int, ...], known: bool = False) -> int:
        """The most that weighted counts of all nodes can move in L1, by the weight of each height, leaves first.

        With p that rise and q that fall, a height below the root moves by p + q at most and the root by |p - q|. That
        is linear in q, so it is largest at one end.

        known  whether the root is not drawn
        """
        *below, top = weights
        if not below:
            return 0 if known else top * self.up
        rest, top = sum(below), 0 if known else top
        return max((rest + top) * self.up, rest * (self.up + self.down) + top * (self.up - self.down))

    def squares(self, weights: tuple[int, ...], branching: int, known: bool = False) -> int:
        """The most that squared moves of all nodes add up to, each times the square of the weight of its height.

        Leaves that rise by u in all move the nodes of one height most where they lie side by side, each risen by
        `each`, but for the last: then every sum of j nodes is the largest there is, on all heights at once, and squares
        of such a list add up to most. Where others fall by q, they are no closer to the first than in other children of
        the root, so that below the root the squares of both add up, and the root moves by u - q. As q grows from one
        full node to the next, the squares of that height lie below a straight line, and the root's are convex: what is
        largest is at 0, at all of q, or at the last full node of some height.

        known  whether the root is not drawn

        >>> Spread(1, 0).squares((1, 1, 1), 2), Spread(1, 1).squares((1, 1, 1), 2), Spread(1, 1).squares((1, 1, 3), 2)
        (3, 4, 11)
        """
        *below, last = (weight * weight for weight in weights)
        top = 0 if known else last
        full = [self.each * branching**height for height in range(len(below))]

        def moved(total: int) -> int:
            """The squares below the root where leaves move by so much in all."""
            return sum(
                weight * int((total // size) * size * size + (total % size) * (total % size))
                for weight, size in zip(below, full, strict=True)
            )

        falls = {0, self.down, *(self.down // size * size for size in full)}
        return moved(self.up) + max(int(moved(fall) + top * (self.up - fall) * (self.up - fall)) for fall in falls)


@error_boundary
@lru_cache(maxsize=1024)
def best_branching(
    bins: int, epsilon: Fraction, spread: Spread, known: bool = False, rho: Fraction | None = None
) -> int:
    """The number of children with the least mean variance of the fitted count over all ranges, padding included.

    rho  what Gaussian noise is for; None: geometric noise for epsilon

    For each height the smallest number of children that reaches so many bins is looked at: more of them only add
    padding. All of it is public.

    >>> best_branching(4096, Fraction(1, 10), Spread(1, 0)), best_branching(65536, Fraction(1, 10), Spread(1, 0))
    (8, 16)
    """
    best: tuple[Fraction, int] | None = None
    for k in _candidates(bins):
        shape = Shape(k, bins)
        if shape.nodes > MOST_NODES or not spread.moved((1,) * shape.height, known):
            continue
        found = _variance(shape, epsilon, spread, known, rho) * Design(shape, (), known).mean_variance(), k
        best = found if best is None else min(best, found)
    return 2 if best is None else best[1]


def _variance(shape: Shape, epsilon: Fraction, spread: Spread, known: bool, rho: Fraction | None) -> Fraction:
    """Of the noise on a node where all levels weigh the same: a little above it at most."""
    weights = (1,) * shape.height
    if rho is not None:
        return Fraction(spread.squares(weights, shape.k, known)) / (2 * rho)
    return TwoSidedGeometric(Decay.exp(epsilon / spread.moved(weights, known))).variance(128)[1]


def _candidates(bins: int) -> list[int]:
    """For each height the smallest number of children, from 2 on, with which a tree reaches so many bins."""
    found, height = {2}, 2
    while height <= max(2, bins.bit_length()):
        k = max(2, round(bins ** (1 / (height - 1))) - 1)
        while k ** (height - 1) < bins:
            k += 1
        if k <= WIDEST:
            found.add(k)
        height += 1
    return sorted(found)


def _too_large(what: str) -> ParameterError:
    error = ParameterError.of(
        what, f"a tree has at most {MOST_NODES:,} nodes", "declare fewer, wider bins, or give a node more children"
    )
    assert isinstance(error, ParameterError)
    return error


@dataclass(frozen=True)
class TreeBound(Bound):
    """Tree, bound to a question and a unit."""

    mechanism: Tree
    question: Question
    unit: Unit
    law: NoisyTree
    rho: Fraction | None = None

    needs: ClassVar[StatisticKind] = StatisticKind.DENSE
    shape: ClassVar[type[Answer]] = Ranges

    @property
    def tree(self) -> Shape:
        return self.law.design.shape

    @property
    def asked(self) -> int:
        """How many nodes are drawn."""
        return asked(self.law.design)

    @cached_property
    def price(self) -> Guarantee:
        """What was asked for; nothing where no node is drawn."""
        made, drawn = self.mechanism, self.law.amount is not None
        if drawn and made.delta is not None and self.rho is not None:
            return guarantee(made.epsilon, made.delta, self.rho, self.unit)
        rule = "two-sided geometric noise on the nodes of a tree, Hay, Rastogi, Miklau, Suciu 2010, Proposition 4"
        return Guarantee(PureDP(made.epsilon if drawn else Fraction(0)), self.unit, rule, requested=made.epsilon)

    @cached_property
    def space(self) -> Space:
        return Space(bits=self.asked * STORED_BITS, text=f"{self.asked:,} × {STORED_BITS}")

    @cached_property
    def cost(self) -> Cost:
        tree = self.tree
        padded = f", {tree.leaves:,} leaves for {counted(tree.n, 'bin')}" if tree.reach > tree.n else ""
        shown = f"{counted(self.asked, 'draw')}: {tree.k} children to a node, {counted(tree.height, 'level')}{padded}"
        return Cost(steps=self.asked, text=shown, slow=self.asked > 1_000_000)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def measures(self) -> tuple[Measure, ...]:
        """One bin, one range of about a quarter of the domain, all bins."""
        one, every = one_bin(self.error, self.question), all_bins(self.error, self.question)
        return (one, *self._quarter(), every)

    def _quarter(self) -> Sequence[Measure]:
        """A range of about a quarter of the domain, in its middle; none where that would be one bin."""
        bins, label = self.question.bins, self.question.domain.label
        length = bins // 4
        if length < 2:
            return ()
        first = (bins - length) // 2
        last = first + length - 1
        named = f"{label(first)} to {label(last)}"
        return (
            Measure(
                name="quarter",
                label=f"The {length:,} bins {named}",
                short=f"{length:,} bins",
                phrase=f"the sum of the {length:,} bins {named} within {{value}}",
                tip="A range of about a quarter of the domain, picked before looking: at least {times} its fitted "
                "sum is within {value} of the truth. Other ranges err by about as much.",
                at=lambda beta: self.error.range(first, last, beta),
                weight="",
            ),
        )

    @property
    def for_zcdp(self) -> Bound | None:
        """Gaussian noise on the same levels; of the best branching, where nobody has chosen one."""
        made, loss = self.mechanism, self.price.loss
        if made.base == GAUSSIAN or not self.asked:
            return None
        with suppress(ParameterError):
            epsilon = epsilon_for(to_zcdp(loss).rho, USUAL_DELTA)
            return replace(made, epsilon=epsilon, base=GAUSSIAN, delta=USUAL_DELTA).bind(self.question, self.unit)
        return None

    @property
    def verb(self) -> str:
        if not self.asked:
            return "Draws nothing: the one bin holds the public number of rows."
        size = self.question.domain.size_text
        return f"Adds noise to {counted(self.asked, 'count')} of a tree over {size} and fits them."

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Ranges:
        """Add up the counts below each node and add noise to those that are asked. Counts are first clamped to a
        range in which their sums fit into 64 bits, in silence."""
        assert isinstance(statistic, DenseCounts)
        tree, law = self.tree, self.law
        sums = tree.totals(np.clip(statistic.take(), 0, MOST_COUNT // tree.n))
        drawn: list[NDArray[np.int64]] = []
        done = 0
        for weight, first, stop in self._runs:
            noise = sampler_of(law.drawn(weight))
            start = done

            def told(part: int, _total: int, start: int = start) -> None:
                if tick is not None:
                    tick(start + part, self.asked)

            drawn.append(noise.add(sums[first:stop], None, None, bits, told if tick else None))
            done += stop - first
        nodes = np.concatenate(drawn) if drawn else np.zeros(0, dtype=np.int64)
        return Ranges(law.design, nodes, law.total)

    @cached_property
    def _runs(self) -> list[tuple[int, int, int]]:
        """Neighbouring nodes of one weight in the array of all nodes, root first: weight, first, stop. Known or unasked
        ones are left out."""
        tree, law = self.tree, self.law
        widths = tree.widths[::-1]
        found: list[tuple[int, int, int]] = []
        for height, width, stop in zip(range(tree.height, 0, -1), widths, accumulate(widths), strict=True):
            weight = law.heights[height - 1]
            if law.added(height) is None:
                continue
            if found and found[-1][0] == weight and found[-1][2] == stop - width:
                found[-1] = weight, found[-1][1], stop
            else:
                found.append((weight, stop - width, stop))
        return found


protect_module(vars())
