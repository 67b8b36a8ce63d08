"""The range sheet: any range of an ordered domain, read by several estimators from numbers that are there already.

Ranges are read from a `DrawnRanges`: on public or made-up data a tree and a flat histogram with seeded noise, of a
paid tree the numbers that were released. Reading costs nothing. A sheet carries one mark for each stretch of bins in
view, the range that is brushed, and the ranges between some stops, on which a page without a kernel can rest. Source:
Hay, Rastogi, Miklau, Suciu 2010, sections 4 and 5; their Figure 6 is the curve of errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import one_word, protect_module
from dpviz.errors import DomainError, ParameterError
from dpviz.exact import Decay, ceil_to, counted, integer, positive, probability, text, whole
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum, Quantile
from dpviz.fitting.tree import Design, Shape, TreeFit
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorValue
from dpviz.model.linear import Query
from dpviz.model.public import BADGE, PublicTable
from dpviz.model.release import Release
from dpviz.noise.bits import TeachingBits
from dpviz.noise.geometric import two_sided_geometric
from dpviz.planning.grid import LABELLED, ticks
from dpviz.wanted import each

VERSION = 1
COLUMNS: Final = 400
"""The most stretches that are drawn: one mark each, whatever the size of the domain."""

LIVE_STOPS, SAVED_STOPS = 18, 36
"""A page without a kernel rests on so many positions at most: in a notebook that was saved, and in a report."""

PLACES = 60
"""A typical range of a length is the one of median variance among so many places."""

FAMILIES: Final = ("bursts", "sparse", "flat")
LARGEST_BINS = 1 << 21
MADE_UP = 4_096
STEP = Fraction(1, 1000)
SURE: Final = "the exact law of a sum of noises"
INVERTED: Final = "the law of a weighted sum of noises, rounded up to a whole count"
EXPONENTIAL: Final = "exponential bound on the tail of a weighted sum of noises"


@dataclass(frozen=True)
class Estimator:
    """One way to answer a range from what was drawn.

    value  of the range from one bin to another, both included, exactly
    bar    the half-width of its interval, which fails so often at most
    count  how many noisy numbers it adds up
    """

    name: str
    label: str
    about: str
    value: Callable[[int, int], int | Fraction]
    bar: Callable[[int, int, Fraction], ErrorValue]
    count: Callable[[int, int], int]


@dataclass(frozen=True, eq=False)
class DrawnRanges:
    """Numbers from which ranges are read.

    head   what is said above them: `title`, `sentence`, and `badge` for public data or `paid` for a release
    truth  the true counts of public data; None of a release
    """

    domain: Domain
    nouns: str
    fit: TreeFit
    estimators: tuple[Estimator, ...]
    head: Mapping[str, str | None]
    truth: NDArray[np.int64] | None = None

    @property
    def design(self) -> Design:
        return self.fit.design

    @property
    def size(self) -> int:
        return self.design.shape.n

    @cached_property
    def floats(self) -> Any:
        """The whole fit in floats, for marks."""
        return self.fit.floats()

    @cached_property
    def before(self) -> NDArray[np.int64] | None:
        """How much lies before each bin, of public data."""
        return None if self.truth is None else np.concatenate(([0], np.cumsum(self.truth)))


def of_public(table: PublicTable, epsilon: Fraction, branching: int, seed: int) -> DrawnRanges:
    """A tree and a flat histogram of public counts, each with the noise of all of epsilon, from a seed.

    Neighbours are tables that differ by one record: it changes one bin, and one node on each height of the tree.
    """
    domain, counts = table.domain, np.asarray(table.counts, dtype=np.int64)
    check_ordered(domain)
    shape = Shape(integer(branching, "branching", least=2, most=1024), len(counts))
    positive(epsilon, "epsilon")
    bits = TeachingBits(seed)
    on_node, on_bin = Decay.exp(epsilon / shape.height), Decay.exp(epsilon)
    noisy = shape.totals(counts) + two_sided_geometric(on_node).draw(shape.nodes, bits)
    flat = np.concatenate(([0], np.cumsum(counts + two_sided_geometric(on_bin).draw(shape.n, bits))))
    fit = TreeFit(Design(shape), noisy)
    levels = counted(shape.height, "level")
    return DrawnRanges(
        domain,
        table.nouns,
        fit,
        (
            *of_tree(fit, on_node),
            Estimator(
                "bins",
                "bins added",
                "the sum of noisy bins of a flat histogram of the same price, drawn beside the tree",
                lambda low, high: int(flat[high + 1] - flat[low]),
                lambda low, high, beta: _radius(NoiseSum.of([Term(on_bin, 1, high - low + 1)]), beta),
                lambda low, high: high - low + 1,
            ),
        ),
        {
            "title": f"How many {table.nouns} in a range of {domain.columns_text}?",
            "sentence": f"Any range of {counted(shape.n, 'bin')}, read from a tree (branching {shape.k}, {levels}) and "
            f"from a flat histogram beside it, each with noise for ε = {text(epsilon)}, adding or removing one record.",
            "badge": table.badge,
            "paid": None,
            "seed": str(seed),
        },
        counts,
    )


def of_release(release: Release) -> DrawnRanges:
    """The noisy nodes of a tree that was released. The error of each range is the one that was promised then.

    Raises ParameterError for an answer that is not made of the nodes of a tree.
    """
    fit = release.answer.tree()
    if fit is None:
        raise ParameterError.of(
            f"a {release.answer.kind} answer",
            "the explorer takes a release of a tree",
            "release dv.Tree(...), or ask this one: release.range(low, high)",
        )
    domain, shape = release.question.domain, fit.design.shape
    check_ordered(domain)
    counted_by, error = _counts_of(fit.design), release.reading.error
    levels, teaching = counted(shape.height, "level"), release.teaching

    def estimator(name: str, label: str, about: str) -> Estimator:
        def value(low: int, high: int) -> Fraction:
            found = release.answer.weighted_sum(release.reading, Query.of((range(low, high + 1), 1)), name)
            assert isinstance(found, Fraction)  # each of these adds up what was drawn
            return found

        def bar(low: int, high: int, beta: Fraction) -> ErrorValue:
            found = error.estimator(name).range(low, high, beta)
            assert found is not None
            return found

        return Estimator(name, label, about, value, bar, counted_by[name])

    asked = [one for one in ESTIMATORS if error.estimator(one[0]).range(0, 0, Fraction(1, 2)) is not None]
    return DrawnRanges(
        domain,
        release.unit.nouns,
        fit,
        tuple(estimator(*one) for one in asked),
        {
            "title": release.plain_title,
            "sentence": f"Any range of {counted(shape.n, 'bin')}, at no further cost. A tree: branching {shape.k}, "
            f"{levels}. {' '.join(filter(None, (f'{release.guarantee.sentence}.', release.limits)))}",
            "badge": None if teaching is None else f"Not private · teaching, seed {teaching}",
            "paid": f"paid {release.price_text.replace(' = ', ' ')}" if teaching is None else None,
            "seed": None if teaching is None else str(teaching),
        },
    )


def of_tree(fit: TreeFit, decay: Decay) -> tuple[Estimator, Estimator]:
    """The fitted tree, and the fewest noisy nodes that cover a range, where all nodes have noise of one law."""
    design, counts = fit.design, _counts_of(fit.design)

    def fitted(low: int, high: int, beta: Fraction) -> ErrorValue:
        weights = design.weights([(low, high, 1)])
        return _radius(NoiseSum.of([Term(decay, one.weight, one.stop - one.first) for one in weights]), beta)

    def subtrees(low: int, high: int, beta: Fraction) -> ErrorValue:
        return _radius(NoiseSum.of([Term(decay, 1, counts["subtrees"](low, high))]), beta)

    best, cover, _leaves = ESTIMATORS
    return (
        Estimator(*best, fit.range, fitted, counts["fitted"]),
        Estimator(*cover, fit.subtrees, subtrees, counts["subtrees"]),
    )


ESTIMATORS: Final = (
    ("fitted", "fitted tree", "the best linear unbiased estimate: least squares over all noisy nodes"),
    ("subtrees", "subtrees", "the sum of the fewest noisy nodes that cover the range"),
    ("leaves", "leaves added", "the sum of the noisy leaves of the tree"),
)
"""The estimators that read ranges of a tree: the name of the reader, what a page calls it, and what it is."""


def _counts_of(design: Design) -> dict[str, Callable[[int, int], int]]:
    """How many noisy numbers each of them adds up."""
    return {
        "fitted": lambda low, high: sum(one.stop - one.first for one in design.weights([(low, high, 1)])),
        "subtrees": lambda low, high: len(design.shape.cover(low, high)),
        "leaves": lambda low, high: high - low + 1,
    }


@dataclass(frozen=True, eq=False)
class RangeSheet:
    """Ranges of what was drawn: a viewport, the range that is brushed in it, and what is carried for no kernel.

    low, high    the range that is brushed, both included
    first, last  the bins in view, both included
    beta         an interval may fail so often
    """

    drawn: DrawnRanges
    low: int
    high: int
    first: int
    last: int
    beta: Fraction = Fraction(1, 20)
    stops: int = LIVE_STOPS

    def __post_init__(self) -> None:
        probability(self.beta, "beta", zero=False)
        self.drawn.design.shape.check(self.low, self.high)
        self.drawn.design.shape.check(self.first, self.last)

    @classmethod
    def over(cls, drawn: DrawnRanges, beta: Fraction) -> RangeSheet:
        """All of the domain in view, and the third quarter of it brushed."""
        n = drawn.size
        return cls(drawn, n // 2, max(n // 2, (3 * n) // 4 - 1), 0, n - 1, beta)

    def moved(self, place: Mapping[str, str]) -> RangeSheet:
        """The sheet with another viewport and another brushed range, by the numbers of their bins from 0."""
        names = ("first", "last", "low", "high")
        if set(place) != set(names):
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                f"a place has {', '.join(names)}",
                "give each of them, and nothing else",
            )
        at = {name: whole(place[name], name, least=0, most=self.drawn.size - 1) for name in names}
        return replace(self, first=at["first"], last=at["last"], low=at["low"], high=at["high"])

    def saved(self) -> RangeSheet:
        """The same with more stops, for a file that has no kernel behind it."""
        return replace(self, stops=SAVED_STOPS)

    # ------------------------------------------------------------ what the page gets

    def to_json(self) -> dict[str, Any]:
        """The sheet as the page gets it; see widgets/PROTOCOL.md."""
        drawn, shape = self.drawn, self.drawn.design.shape
        stops = self._stops()
        return {
            "version": VERSION,
            **drawn.head,
            "axis": drawn.domain.columns_text,
            "nouns": drawn.nouns,
            "bins": str(drawn.size),
            "beta": text(self.beta),
            "tree": {
                "branching": str(shape.k),
                "height": str(shape.height),
                "sizes": [str(size) for size in shape.sizes],
                "widths": [str(width) for width in shape.widths],
            },
            "estimators": [{"name": one.name, "label": one.label, "about": one.about} for one in drawn.estimators],
            "view": self._view(),
            "range": self.reading(self.low, self.high),
            "curve": self._curve(),
            "stops": [str(stop) for stop in stops],
            "between": [
                self.reading(low, high - 1) for place, low in enumerate(each(stops)) for high in stops[place + 1 :]
            ],
        }

    def reading(self, low: int, high: int) -> dict[str, Any]:
        """One range by every estimator: its value, its error alone and with all that is in view, and what it used."""
        drawn = self.drawn
        drawn.design.shape.check(low, high)
        rows = {}
        for one in drawn.estimators:
            alone = one.bar(low, high, self.beta)
            together = _joint(one.bar(low, high, self.beta / self.together), self.together)
            rows[one.name] = {
                "value": text(Fraction(one.value(low, high))),
                "one": alone.to_json(),
                "all": together.to_json(),
                "count": str(one.count(low, high)),
            }
        return {
            "low": str(low),
            "high": str(high),
            "labels": [drawn.domain.label(low), drawn.domain.label(high)],
            "truth": None if drawn.before is None else str(int(drawn.before[high + 1] - drawn.before[low])),
            "rows": rows,
            "nodes": self._nodes(low, high),
        }

    def named(self, low: str, high: str) -> tuple[int, int]:
        """The range from one label to another, as somebody typed them."""
        first, last = self._bin(low), self._bin(high)
        if first > last:
            raise DomainError.of("a reversed range", "a range begins with its lower end", "exchange the two ends")
        return first, last

    def _bin(self, label: str) -> int:
        """The bin of a value, or of a label as a page shows it: of an interval, its lower end says which it is."""
        domain = self.drawn.domain
        around = [at for at in {0, domain.size - 1, max(0, domain.size - 2)} if domain.label(at) == label]
        return around[0] if around else domain.index(label.partition(" to ")[0])

    @property
    def together(self) -> int:
        """How many ranges hold at once: those in view, and the one that is brushed."""
        return len(self._edges()) - 1 + 1

    # ------------------------------------------------------------ parts

    def _width(self, span: int, most: int) -> int:
        """The width of stretches, at most so many over a span: a few siblings of the tree, so that all err alike."""
        shape = self.drawn.design.shape
        widths = (size * siblings for size in shape.sizes for siblings in range(1, shape.k) if shape.k % siblings == 0)
        return next((width for width in widths if -(-span // width) + 1 <= most), shape.leaves)

    def _edges(self) -> list[int]:
        """Where the stretches in view begin, and where the last one ends."""
        width = self._width(self.last - self.first + 1, COLUMNS)
        inner = range(self.first // width * width + width, self.last + 1, width)
        return [self.first, *inner, self.last + 1]

    def _view(self) -> dict[str, Any]:
        """One mark for each stretch: its fitted value, and the error that the worst of them has."""
        drawn, edges = self.drawn, self._edges()
        lows, highs = np.array(edges[:-1]), np.array(edges[1:]) - 1
        values, _ = drawn.floats.ranges(lows, highs)
        fitted = drawn.estimators[0]
        whole_ones = highs - lows + 1 == np.max(highs - lows + 1)
        kinds = {int(lows[np.flatnonzero(whole_ones)[0]]): int(highs[np.flatnonzero(whole_ones)[0]])}
        kinds |= {int(lows[at]): int(highs[at]) for at in np.flatnonzero(~whole_ones).tolist()}
        alone, joint = (
            max((fitted.bar(low, high, beta) for low, high in kinds.items()), key=lambda one: one.value)
            for beta in (self.beta, self.beta / self.together)
        )
        ends = sorted({int(at) for at in np.linspace(0, len(edges) - 1, 9)[:-1]})
        truth = None if drawn.before is None else (drawn.before[highs + 1] - drawn.before[lows]).tolist()
        return {
            "first": str(self.first),
            "last": str(self.last),
            "width": str(int(np.max(highs - lows + 1))),
            "edges": edges,
            "values": [_float(value) for value in values.tolist()],
            "truth": truth,
            "one": alone.to_json(),
            "all": _joint(joint, self.together).to_json(),
            "together": str(self.together),
            "ticks": [{"at": edges[at], "label": drawn.domain.short_label(edges[at]).partition("–")[0]} for at in ends],
        }

    def _curve(self) -> dict[str, Any]:
        """Errors against length, at the place of median variance among evenly spread ones, for the picture."""
        n, design = self.drawn.size, self.drawn.design
        lengths = [int(length) for length in ticks(Fraction(1), Fraction(n), LABELLED) if length.denominator == 1]
        curves: dict[str, dict[str, list[float]]] = {one.name: {"one": [], "all": []} for one in self.drawn.estimators}
        for length in lengths:
            lows = np.unique(np.linspace(0, n - length, PLACES).astype(np.int64))
            variances = design.standard_errors(lows, lows + length - 1)
            counts = design.shape.cover_counts(lows, lows + length - 1).sum(axis=1)
            places = {"fitted": _middle(variances), "subtrees": _middle(counts)}
            for one in self.drawn.estimators:
                low = int(lows[places.get(one.name, 0)])
                for name, beta in (("one", self.beta), ("all", self.beta / self.together)):
                    curves[one.name][name].append(float(one.bar(low, low + length - 1, beta).value))
        return {"lengths": lengths, "places": str(PLACES), "errors": curves}

    def _stops(self) -> list[int]:
        """Where a page without a kernel can rest, both ends of the domain included."""
        n = self.drawn.size
        return [*range(0, n, self._width(n, self.stops)), n]

    def _nodes(self, low: int, high: int) -> list[list[int | float]]:
        """The noisy nodes that the fitted value uses: height, first and last leaf, how many, and the weight of each."""
        shape = self.drawn.design.shape
        found: list[list[int | float]] = []
        for height, first, stop, weight in self.drawn.design.weights([(low, high, 1)]):
            size = shape.sizes[height - 1]
            found.append(
                [height, first * size, min(stop * size, shape.leaves) - 1, stop - first, _float(float(weight))]
            )
        return found


def check_ordered(domain: Domain) -> None:
    """Refuse a domain that has no ranges."""
    if not domain.declared or not domain.ordered:
        raise DomainError.of(
            domain.text, "ranges need bins in an order: whole numbers or intervals", "declare the domain as such"
        )
    if not 1 <= domain.size <= LARGEST_BINS:
        raise DomainError.of(f"{domain.size:,} bins", f"the explorer takes at most {LARGEST_BINS:,}", "merge bins")


def made_up(family: str) -> PublicTable:
    """Some thousand made-up counts of an ordered domain: days of bursts, mostly empty bins, or all the same."""
    at = np.arange(MADE_UP)
    chance = at * 2_654_435_761 % 2**32  # a hash: the same for everybody, and no randomness
    size = (at * at + 1) * 2_246_822_519 % 4_294_967_291
    counts = {
        "bursts": np.rint(40 * (1 + np.sin(at / 300)) * (at % 97 < 60) + 4).astype(np.int64),
        "sparse": np.where(chance < 2**32 // 50, (2**32 // (size + 1)).clip(1, 5_000), 0).astype(np.int64),
        "flat": np.full(MADE_UP, 20, dtype=np.int64),
    }
    one_word(family, "a made-up family", FAMILIES, f'write "{FAMILIES[0]}"')
    domain = Domain.integers(0, MADE_UP - 1, column="minute")
    return PublicTable(domain, counts[family], "records", BADGE.replace("public", "made-up"))


@lru_cache(maxsize=4096)
def _radius(law: NoiseSum, beta: Fraction) -> ErrorValue:
    """A half-width in whole counts, rounded up, with what is known of it."""
    return _stated(_kept(law).radius(beta, exactly=False))


@lru_cache(maxsize=256)
def _kept(law: NoiseSum) -> NoiseSum:
    """The same law, kept: each inverts a transform once."""
    return law


def _stated(radius: Quantile) -> ErrorValue:
    value = Fraction(math.ceil(radius.value))
    if value == radius.least:
        return ErrorValue(value, "exact", SURE)
    if radius.least <= 0:
        return ErrorValue(value, "bound", EXPONENTIAL)
    return ErrorValue(value, "numerical", INVERTED, off=ceil_to(value - radius.least, STEP))


def _joint(bar: ErrorValue, together: int) -> ErrorValue:
    """The same for all ranges at once: each may fail an equal share of beta."""
    return ErrorValue(bar.value, "bound", f"union bound over {counted(together, 'range')}: {bar.rule}")


def _middle(values: NDArray[Any]) -> int:
    """The place of the median, the upper one of two."""
    return int(np.argsort(values, kind="stable")[len(values) // 2])


def _float(value: float) -> float:
    return float(f"{value:.6g}")


protect_module(vars())
