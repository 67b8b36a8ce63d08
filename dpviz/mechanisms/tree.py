"""Tree: noise on the counts of all intervals of a tree over an ordered domain, from which any range is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import error_boundary, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, counted
from dpviz.fitting.simulated import sampler_of
from dpviz.fitting.tree import Design, Shape
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.mechanisms.count_noise import MOST_COUNT
from dpviz.mechanisms.gaussian import DELTA, GAUSSIAN, GAUSSIAN_WORDS, USUAL_DELTA, epsilon_for, guarantee, pure_rho_of
from dpviz.model.answers import Answer, Ranges
from dpviz.model.answers.ranges import asked
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.tree import GaussianTreeLaw, NoisyTree, TreeLaw, weights_of
from dpviz.model.measures import Measure, all_bins, one_bin
from dpviz.model.mechanism import DRAWS_A_SECOND, Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, OneOf, Parameters, Reader, Reads, WholeNumber, parameter
from dpviz.model.question import Question
from dpviz.model.repricing import Repricing, at_rho
from dpviz.model.source import Tick
from dpviz.model.statistic import DenseCounts, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.privacy import renyi
from dpviz.privacy.concentrated import geometric_rho, moved_most, replaced_rho
from dpviz.privacy.discrete_gaussian import Calibrated, Shifts, calibrate
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, PureDP
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.model.terms import Terms

Padding = Literal["free", "pinned"]
Root = Literal["asked", "public"]
Branching: TypeAlias = Reads[int | str, int | Literal["auto"]]
Base = Literal["exp", "gaussian"]
Levels: TypeAlias = Reads[str | None, str | None]

WIDE: Final = Fraction(1, 1 << 64)
"""Noise whose ratio is exp of less than this below 0 is far too wide to be drawn: its variance is 2 over its square."""

STORED_BITS: Final = 64
"""The storage of one node where no public cap bounds it."""

MOST_NODES: Final = 1 << 24
"""A tree of more nodes would not fit in memory beside what is made of it."""

WIDEST: Final = 1 << 20
"""A node has at most so many children."""

LOOKED_AT: Final = 1 << 12
"""The number of pairs of a rise and a fall that the price of Gaussian noise looks at one by one."""


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
    """Add noise to the counts of all intervals of a tree over an ordered domain, from which any range is read, free.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    base : {"exp", "gaussian"}, default "exp"
        "exp": two-sided geometric noise, for epsilon alone; "gaussian": discrete Gaussian noise, which costs epsilon
        and delta, or under a zCDP budget the rho of the same noise. The levels add up in L2 then, so a tree of many
        levels needs less noise.
    delta : str, int, float or Fraction, optional
        The delta of Gaussian noise, which base="gaussian" needs and the other bases refuse.
    branching : int or "auto", default "auto"
        How many children a node has, at least 2; "auto" takes the number with the least mean variance over all ranges,
        which follows from public numbers alone.
    padding : {"free", "pinned"}, default "free"
        "free": leaves that fill the domain up to a power of the branching are asked like any other, as in the paper;
        "pinned": they are known to be empty, and nodes that cover nothing else are not asked.
    levels : str, optional
        Weights of the levels, leaves first, as a text: "1,1,2" gives the root of three levels twice the epsilon of each
        other; 0 asks nothing of a level. Left out, all weigh the same. The noise of a level is as much narrower as its
        weight is larger; Gaussian noise costs rho by the squares of weights.
    root : {"asked", "public"}, default "asked"
        "asked": with noise, like any other node. "public": you vouch that every one of the n public rows has a bin, so
        the root is n, without noise and for nothing.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    **Privacy.** Pure DP. On each level one unit moves the counts by at most c = `Unit.l1` where it comes or goes: with
    equal weights that makes c times the number of levels. A replacement moves the root by at most c and each level
    below by up to 2 c, so levels of weight w cost max(c sum of w, 2 c sum of w below the root); where the root is
    public it counts 0 in both. (Where a user touches several bins this is an upper bound. It is attained if the bins of
    two users fit below different children of the root.) Everything that is read from the answer is post-processing, the
    public total included: it is a constant, whatever the data. For undirected edges counted at both ends, name the
    column of the edge: Unit("edge", max_bins=2) [1]_.

    **Error.** Exact for noisy nodes and their sums. A fitted value is off by a weighted sum of noises whose law is
    known: quantiles are exact where its weights share a step that is not too fine, else numerical with their error
    stated. With root="public" errors hold only if every row has a bin. A filter, values outside the declared bins and
    what cannot be read would break that, so it is not assumed.

    References
    ----------
    .. [1] Hay, Rastogi, Miklau, Suciu 2010 (PVLDB 3), Section 4; noise of Ghosh, Roughgarden, Sundararajan 2009, or of
           Canonne, Kamath, Steinke 2020. The squares of a tree's moves are derived here.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> slots = Question.of(Domain.integers(0, 4095, column="slot"))
    >>> bound = Tree(epsilon=1).bind(slots, Unit(noun="flight"))
    >>> bound.price.sentence, bound.cost.text
    ('1-differential privacy for adding or removing one flight', '4,681 draws: 8 children to a node, 5 levels')
    """

    name: ClassVar[str] = "Tree"
    about: ClassVar[str] = "Any range of an ordered domain, short or long. Best for hundreds of bins or more."
    serves: ClassVar[tuple[Goal, ...]] = ("ranges",)
    worth_from: ClassVar[int] = 365

    @property
    def revision(self) -> int:  # type: ignore[override]
        """The calibration of Gaussian noise has moved once more."""
        return 3 if self.base == GAUSSIAN else 2

    repriced: ClassVar[tuple[Repricing, ...]] = (
        Repricing(
            2,
            lambda terms: _cost(terms),
            "the price took the largest rise of a replaced user, and a smaller rise beside a larger fall moves the "
            "nodes farther",
        ),
    )
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
        """Fix the tree, its noise and its price.

        Parameters
        ----------
        question : Question
            Declared bins in an order of their own.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        TreeBound
            Price, draw and error law of `Tree` for this question and unit.

        Raises
        ------
        ParameterError
            If `Tree` cannot answer the question for this unit. Only public facts are looked at.
        """
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
        spread = TreeSpread.of(unit, bins)
        branching = self.branching
        if branching == "auto":
            rho = None if self.delta is None else renyi.rho_for(self.epsilon, self.delta)
            branching = best_branching(bins, self.epsilon, spread, total is not None, rho or None)
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
        noise: Calibrated | None = None
        if self.delta is None:
            moved = spread.moved(weights, total is not None)
            step = self.epsilon / moved if moved else None
            law: NoisyTree = TreeLaw(branching, bins, pinned, step, written, total)
        else:
            moves = spread._moves(weights, branching, total is not None)
            noise = None if moves is None else calibrate(moves, self.epsilon, self.delta)
            law = GaussianTreeLaw(branching, bins, pinned, None if noise is None else noise.variance, written, total)
        if law.amount is not None:
            sampler_of(law.drawn(min(weight for weight in weights if weight)))  # refused where noise is too wide
        return TreeBound(self, question, unit, law, noise)

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
class TreeSpread:
    """Limits on how far one unit moves the leaves of a tree, and what follows for all its nodes.

    Parameters
    ----------
    records : int
        The most by which leaves rise in all. In a replacement other leaves fall, by at most as much in all.
    each : int
        The most by which one leaf moves.
    leaves : int or None
        The number of leaves that are counted; None where there is room for any rise beside any fall.
    replaced : bool
        Whether one unit takes the place of another one. Otherwise all leaves move the same way.
    """

    records: int
    each: int = 1
    leaves: int | None = None
    replaced: bool = False

    @classmethod
    def of(cls, unit: Unit, bins: int) -> TreeSpread:
        """The limits of a unit over this number of bins."""
        return cls(unit.records(bins), unit.max_per_bin, bins, unit.relation == "replace-one")

    def moved(self, weights: tuple[int, ...], known: bool = False) -> int:
        """Return an upper bound of the weighted L1 distance that one unit moves all nodes.

        Parameters
        ----------
        weights : tuple of int
            The weight of each height, leaves first.
        known : bool
            Whether the root is public, and not drawn.

        Notes
        -----
        With a rise u and a fall d, a height below the root moves by at most u + d, and the root by their difference.
        For u >= d the sum grows with u, and it is linear in d, so it is largest at u = `records` and at d = 0 or at
        the largest fall. A leaf that the rise fills in part counts as room for the fall, too: this bounds the pairs
        that give up a part of a leaf of the rise for a whole leaf of the fall.
        """
        *below, top = weights
        up = self.records
        if not below:
            return 0 if known else top * up
        rest, top = sum(below), 0 if known else top
        down = self._room(up // self.each)
        return max((rest + top) * up, rest * (up + down) + top * (up - down))

    def rho(self, step: Fraction, weights: tuple[int, ...], branching: int, known: bool = False) -> Fraction:
        """Return a bound of the rho of two-sided geometric noise on all nodes.

        Parameters
        ----------
        step : Fraction
            The rate of the noise on a node of weight 1; others have it times their weight.
        weights : tuple of int
            The weight of each height, leaves first.
        branching : int
            How many children a node has.
        known : bool
            Whether the root is public, and not drawn.

        Notes
        -----
        The rises at one height are at most `records` together, and at most `each` for each leaf below a node.
        """
        *below, top = weights
        under = [
            move
            for height, weight in enumerate(below)
            if weight
            for move in moved_most(weight * step, self.records, min(self.records, self.each * branching**height))
        ]
        root = [] if known or not top else [(top * step, self.records, 1)]
        if not self.replaced:
            return geometric_rho((*under, *root))
        return replaced_rho(under, root, self.records)

    def _room(self, filled: int) -> int:
        """The largest fall beside a rise that takes this number of leaves."""
        if not self.replaced:
            return 0
        return self.records if self.leaves is None else min(self.records, (self.leaves - filled) * self.each)

    def squares(self, weights: tuple[int, ...], branching: int, known: bool = False) -> int:
        """Return an upper bound of the squared L2 distance that one unit moves all nodes, each node times its weight.

        Parameters
        ----------
        weights : tuple of int
            The weight of each height, leaves first.
        branching : int
            How many children a node has.
        known : bool
            Whether the root is public, and not drawn.

        Notes
        -----
        A unit that is replaced moves the leaves by a rise of u in all and a fall of d in all. Both are at most
        `records`, and leaves that rise do not fall, so ceil(u / each) + ceil(d / each) <= `leaves`. A node of height h
        has room for c = each * branching**h. At one height the rises are numbers in [0, c] that add up to u, so their
        squares add up to at most M(u) = floor(u / c) c**2 + (u mod c)**2. Where rise and fall meet in a node,
        (x - y)**2 <= x**2 + y**2; the root moves by exactly u - d. The distance is therefore at most the maximum over
        (u, d) of the sum of w**2 (M(u) + M(d)) over the heights below the root, plus w**2 (u - d)**2 for the root.

        By symmetry u >= d; then the sum grows with u, so u is as large as the leaves that fall leave room for. The
        largest fall is not always the worst, nor is the largest rise: every d has to be looked at, as follows.

        * As long as u = `records` has room: between multiples of `each` every M is convex in d, and so is the square
          of the root. At multiples of each * branching**h the lower heights are linear in d and the others convex up to
          the next height. So the maximum is at 0, at the largest d, or at that rounded down to a full node.
        * Where every further leaf that falls is one less that rises: between two multiples of `each` u is constant and
          the sum convex in d. The lower end has the larger u in the interval before, so the upper ends are enough.
          Beyond LOOKED_AT of them, neighbours share an upper bound: the largest u and d of the group for M, the largest
          distance of both for the root.

        The bound is attained where rise and fall have room below different children of the root.

        >>> TreeSpread(1).squares((1, 1, 1), 2), TreeSpread(1, replaced=True).squares((1, 1, 3), 2)
        (3, 11)
        >>> TreeSpread(3, leaves=4, replaced=True).squares((1, 3, 0), 2)  # two rise and two fall; three and one: 58
        76
        """
        *below, last = (weight * weight for weight in weights)
        top, most = 0 if known else last, self.records
        heights = [(weight, self.each * branching**height) for height, weight in enumerate(below)]

        def total(rise: Any, fall: Any, apart: Any) -> Any:
            """For whole numbers or arrays of them; `apart` is how far the root moves."""
            within = sum(weight * (_packed(rise, size, most) + _packed(fall, size, most)) for weight, size in heights)
            return within + top * apart * apart

        # A leaf that the rise fills in part is no leaf that falls. `moved` rounds down instead: its larger room bounds
        # the pairs that rise by less, too, which are looked at one by one here.
        free = self._room(-(-most // self.each))
        falls = {0, free, *(free // size * size for _, size in heights)}
        found = max(int(total(most, fall, most - fall)) for fall in falls)
        if not self.replaced or self.leaves is None:
            return found
        first, stop = free // self.each + 1, self.leaves // 2 + 1  # leaves that fall, where no rise has all its room
        if free < most and first < stop:
            step = -(-(stop - first) // LOOKED_AT)
            # Exact also where 64 bits do not hold the squares: NumPy then adds up whole numbers of Python.
            fits = 2 * total(most, most, most) < 1 << 62
            least = np.arange(first, stop, step, dtype=np.int64 if fits else object)
            largest = np.minimum(least + (step - 1), stop - 1)
            rise = np.minimum((self.leaves - least) * self.each, most)
            start, fall = (np.minimum(one * self.each, most) for one in (least, largest))
            found = max(found, int(total(rise, fall, rise - start).max()))
        return found

    def _moves(self, weights: tuple[int, ...], branching: int, known: bool) -> Shifts | None:
        """The moves of all nodes that are drawn, each times its weight; None where none moves.

        Where the levels that are asked weigh 1, all nodes have noise of one variance, and no node moves by more than
        `records`. Other weights divide the variances of nodes, for which the rule of Rényi orders is proved alone.
        """
        squares = self.squares(weights, branching, known)
        if not squares:
            return None
        return Shifts.within(squares, self.records) if set(weights) <= {0, 1} else Shifts.unknown(squares)


def _cost(terms: Terms) -> Guarantee | None:
    """The price of an answer with Gaussian noise, from the noise that was drawn."""
    law = terms.law
    if not isinstance(law, GaussianTreeLaw) or law.variance is None:
        return None
    squares = TreeSpread.of(terms.unit, law.bins).squares(law.heights, law.branching, law.total is not None)
    return at_rho(terms, Fraction(squares) / (2 * law.variance))


def _packed(moved: Any, size: int, most: int) -> Any:
    """The largest sum of squares of numbers in [0, size] that add up to `moved`, which is at most `most`."""
    if size >= most:
        return moved * moved
    whole, rest = moved // size, moved % size
    return whole * (size * size) + rest * rest


@error_boundary
@lru_cache(maxsize=1024)
def best_branching(
    bins: int, epsilon: Fraction, spread: TreeSpread, known: bool = False, rho: Fraction | None = None
) -> int:
    """The number of children with the least mean variance of the fitted count over all ranges, padding included.

    rho  what Gaussian noise is for; None: geometric noise for epsilon

    For each height the smallest number of children that reaches so many bins is looked at: more of them only add
    padding. All of it is public.

    >>> best_branching(4096, Fraction(1, 10), TreeSpread(1)), best_branching(65536, Fraction(1, 10), TreeSpread(1))
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


def _variance(shape: Shape, epsilon: Fraction, spread: TreeSpread, known: bool, rho: Fraction | None) -> Fraction:
    """Of the noise on a node where all levels weigh the same: a little above it at most."""
    weights = (1,) * shape.height
    if rho is not None:
        return Fraction(spread.squares(weights, shape.k, known)) / (2 * rho)
    exponent = epsilon / spread.moved(weights, known)
    if exponent < WIDE:  # refused when it is bound, and 1 less its ratio is lost in 128 places
        return 2 / exponent**2
    return TwoSidedGeometric(Decay.exp(exponent)).variance(128)[1]


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
    noise: Calibrated | None = None

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
        """The price that was asked for; nothing where no node is drawn."""
        made, drawn = self.mechanism, self.law.amount is not None
        if drawn and made.delta is not None and self.noise is not None:
            return guarantee(made.epsilon, made.delta, self.noise, self.unit)
        rule = "two-sided geometric noise on the nodes of a tree, Hay, Rastogi, Miklau, Suciu 2010, Proposition 4"
        price = Guarantee(PureDP(made.epsilon if drawn else Fraction(0)), self.unit, rule, requested=made.epsilon)
        law = self.law
        if not isinstance(law, TreeLaw) or law.step is None:
            return price
        rho = TreeSpread.of(self.unit, law.bins).rho(law.step, law.heights, law.branching, law.total is not None)
        return replace(price, zcdp_steps=ZCDP(rho))

    @cached_property
    def space(self) -> Space:
        return Space(bits=self.asked * STORED_BITS, text=f"{self.asked:,} × {STORED_BITS}")

    @cached_property
    def cost(self) -> Cost:
        tree = self.tree
        padded = f", {tree.leaves:,} leaves for {counted(tree.n, 'bin')}" if tree.reach > tree.n else ""
        shown = f"{counted(self.asked, 'draw')}: {tree.k} children to a node, {counted(tree.height, 'level')}{padded}"
        return Cost(steps=self.asked, text=shown, seconds=self.asked / DRAWS_A_SECOND)

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
        bins, domain = self.question.bins, self.question.domain
        length = bins // 4
        if length < 2:
            return ()
        first = (bins - length) // 2
        last = first + length - 1
        named = domain.told_range(domain.label(first), domain.label(last))
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
        made = self.mechanism
        if made.base == GAUSSIAN or not self.asked:
            return None
        with suppress(ParameterError):
            rival = replace(made, base=GAUSSIAN, delta=USUAL_DELTA)
            gaussian = rival.bind(self.question, self.unit).gaussian(self.unit)
            if gaussian is not None:
                epsilon = epsilon_for(pure_rho_of(self.price), USUAL_DELTA, gaussian[1])
                return rival.with_epsilon(epsilon).bind(self.question, self.unit)
        return None

    def gaussian(self, unit: Unit) -> tuple[Fraction, Shifts] | None:
        """The variance of a node of weight 1, and how this unit moves all nodes, each times its weight."""
        law = self.law
        if self.noise is None:
            return None
        spread = TreeSpread.of(unit, law.bins)
        moves = spread._moves(law.heights, law.branching, law.total is not None)
        return None if moves is None else (self.noise.variance, moves)

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
