"""Ranges: noisy counts of the nodes of a tree over an ordered domain, from which any range is read for nothing.

The answer stores the noisy whole numbers of the nodes that were asked. Each estimator below is computed from them;
reading another one costs nothing, and none of them makes the others better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Final, cast

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, DpvizError, ParameterError, ReleaseFormat
from dpviz.exact import ceil_to, text
from dpviz.fitting.nonnegative import WholeTree, ZeroedTree, topdown_simplex, topdown_whole, zero_subtrees
from dpviz.fitting.tree import Design, FloatFit, Shape, TreeFit
from dpviz.model.answers.additive import AdditiveCounts
from dpviz.model.answers.base import register
from dpviz.model.answers.pictures import columns_of
from dpviz.model.answers.reading import (
    LARGEST_VIEW,
    MOST_SINGLE,
    Among,
    Axis,
    BinLabels,
    Intervals,
    Packed,
    Points,
    Reading,
    Stretches,
    Values,
    View,
)
from dpviz.model.answers.values import around, plus, rows_or
from dpviz.model.between import Enclosed, between
from dpviz.model.error import SURENESS, ErrorModel, ErrorValue
from dpviz.model.linear import Query
from dpviz.model.question import Question

ABOUT: Final[Mapping[str, str]] = {
    "fitted": "The best linear unbiased estimate: least squares over all noisy nodes.",
    "subtrees": "The sum of the fewest noisy nodes that cover a range. Unbiased, and never better than fitted.",
    "leaves": "The sum of the noisy leaves of a range. Unbiased, with a variance that grows with its length.",
    "nonnegative": "Consistent and never negative: each node is split among its children as near to the fit as can be. "
    "Biased: upward where bins are nearly empty, and downward beside them. No interval is stated.",
    "nonnegative whole": "The same in whole numbers. Biased in the same way. No interval is stated.",
    "zeroed leaves": "The sum of leaves of which every one at or below a node of fitted value 0 or less became 0, "
    "rounded. Biased upward, and badly so on long ranges of sparse data. No interval is stated.",
    "zeroed subtrees": "The sum of the fewest nodes that cover a range, after those of fitted value 0 or less and all "
    "below them became 0. Biased upward, and not consistent. No interval is stated.",
}
"""The estimators, and what somebody who reads one must know of it: above all its bias."""

MOST_STRETCHES, FEWEST_STRETCHES = 300, 25
"""The most and the fewest sums that stand for the bins of a picture without room for each."""

PLACES: Final = 3
"""Fitted values of a picture are rounded to so many decimal places."""

FLOAT: Final = Fraction(1, 2**50)
"""A rounded value is scaled, rounded and scaled back: three roundings of a float, and a little room."""


@register
@dataclass(frozen=True, eq=False)
class Ranges(AdditiveCounts):
    """Noisy counts of the nodes of a tree. Its rows are bins; a point may also be a range, both ends included.

    design  the tree, which of its heights were asked, and how the fit weighs them
    nodes   the noisy counts of all nodes that were asked, the root first, then height by height from left to right
    total   the public number of rows, where the root holds it without noise; else None
    """

    kind: ClassVar[str] = "ranges"
    adds_rows: ClassVar[bool] = True
    readers: ClassVar[tuple[str, ...]] = tuple(ABOUT)
    design: Design
    nodes: NDArray[np.int64]
    total: int | None

    # ------------------------------------------------------------ storing

    def pack(self) -> Packed:
        shape, most = self.design.shape, int(np.abs(self.nodes).max(initial=0))
        kind = next(kind for kind in ("<i2", "<i4", "<i8") if most <= np.iinfo(kind).max)
        return Packed(
            {
                "branching": str(shape.k),
                "bins": str(shape.n),
                "padding": "pinned" if shape.pinned else "free",
                "precisions": [str(one) for one in self.design.precisions],
                "total": None if self.total is None else str(self.total),
            },
            {"nodes": self.nodes.astype(kind)},
        )

    @classmethod
    def unpack(cls, packed: Packed) -> Ranges:
        header, refusal = (
            packed.header,
            ReleaseFormat.damaged("a saved tree has its shape, its precisions and its nodes", "other parts"),
        )
        if set(header) != {"branching", "bins", "padding", "precisions", "total"} or set(packed.arrays) != {"nodes"}:
            raise refusal
        precisions, nodes, total = header["precisions"], packed.arrays["nodes"], header["total"]
        numbers = [header["branching"], header["bins"], *([] if total is None else [total])]
        if not isinstance(precisions, list) or header["padding"] not in ("free", "pinned"):
            raise refusal
        if not all(isinstance(one, str) and one.isascii() and one.isdigit() for one in (*numbers, *precisions)):
            raise refusal
        try:
            shape = Shape(int(header["branching"]), int(header["bins"]), header["padding"] == "pinned")
            design = Design(shape, tuple(map(int, precisions)), total is not None)
        except (DpvizError, ValueError):
            raise refusal from None
        read = cls(design, nodes.astype(np.int64), None if total is None else int(total))
        if nodes.dtype.kind != "i" or nodes.ndim != 1 or len(nodes) != asked(design) or read.pack().header != header:
            raise refusal
        return read

    def fits(self, question: Question, max_items: int | None) -> bool:
        domain = question.domain
        return domain.declared and domain.ordered and self.design.shape.n == question.bins and max_items is None

    def is_of(self, design: Design, total: int | None) -> bool:
        """Whether these are the nodes of that tree, and the total is the same."""
        return self.design == design and self.total == total and len(self.nodes) == asked(design)

    # ------------------------------------------------------------ the estimators

    @cached_property
    def fit(self) -> TreeFit:
        """The fit, from which any node or range is read exactly."""
        shape, start = self.design.shape, 0
        every = np.zeros(shape.nodes, dtype=np.int64)
        for height in range(shape.height, 0, -1):
            if height == shape.height and self.total is not None:
                every[0] = self.total
            elif self.design.precisions[height - 1]:
                width = shape.widths[height - 1]
                shape.level(every, height)[:] = self.nodes[start : start + width]
                start += width
        return TreeFit(self.design, every)

    def tree(self) -> TreeFit:
        return self.fit

    @cached_property
    def floats(self) -> FloatFit:
        """The whole fit in floats, for pictures, with its error."""
        return self.fit.floats()

    @cached_property
    def noisy_leaves(self) -> NDArray[np.int64]:
        leaves: NDArray[np.int64] = self.design.shape.level(self.fit.noisy, 1)[: self.design.shape.n]
        return leaves

    @cached_property
    def _fitted(self) -> list[Fraction]:
        return self.fit.leaves()

    @cached_property
    def _zeroed(self) -> ZeroedTree:
        return zero_subtrees(self.fit)

    @cached_property
    def _simplex(self) -> FloatFit:
        return topdown_simplex(self.fit)

    @cached_property
    def _whole(self) -> WholeTree:
        return topdown_whole(self.fit)

    def _rows(self, reader: str) -> Values:
        """The values of all bins."""
        match reader:
            case "fitted":
                return self._fitted
            case "subtrees" | "leaves":
                return self.noisy_leaves
            case "nonnegative":
                fit = self._simplex
                return [_enclosed(value, fit.error) for value in fit.leaves.tolist()]
            case "nonnegative whole":
                return self._whole.leaves.astype(np.int64)
            case "zeroed leaves":
                return self._zeroed.whole_leaves
        kept = self._zeroed.kept[0].tolist()
        return [value if stays else Fraction(0) for value, stays in zip(self._fitted, kept, strict=False)]

    def _range(self, reader: str, low: int, high: int) -> int | Fraction | Enclosed:
        """The value of one range, both ends included, without fitting the rest where that can be."""
        match reader:
            case "fitted":
                return self.fit.range(low, high)
            case "subtrees":
                return self.fit.subtrees(low, high)
            case "leaves":
                return int(self.noisy_leaves[low : high + 1].sum())
            case "nonnegative":
                sums, error = self._simplex.ranges(np.array([low]), np.array([high]))
                return _enclosed(float(sums[0]), error)
            case "nonnegative whole":
                return self._whole.range(low, high)
            case "zeroed leaves":
                return self._zeroed.leaf_sum(low, high)
        return self._zeroed.subtrees(low, high)

    # ------------------------------------------------------------ reading

    def axis(self, reading: Reading) -> Axis:
        domain = reading.question.domain
        return Axis(columns_of(reading.question), "bin", BinLabels(domain), domain, f"{self.design.shape.n:,}")

    def point(self, reading: Reading, label: object) -> int | tuple[int, int]:
        """The row of a label, or for a pair of labels the rows from the first to the last, both included."""
        domain = reading.question.domain
        if not isinstance(label, tuple | list):
            return domain.index(label)
        if len(label) != 2:
            raise DomainError.of(f"{len(label)} labels", "a range has two ends, both included", "give (low, high)")
        low, high = domain.index(label[0]), domain.index(label[1])
        if low > high:
            raise DomainError.of("a reversed range", "a range begins with its lower end", "give (low, high)")
        return low, high

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> Values:
        """The values of bins, or of ranges: whole numbers for the readers that add up whole numbers, else exact
        fractions; of "nonnegative" enclosures."""
        reader = self._reader(reader)
        if points is None or isinstance(points, slice):
            return self._rows(reader)[points or slice(None)]
        values = [self._range(reader, low, high) for low, high in self._spans(points)]
        if reader in ("subtrees", "leaves", "nonnegative whole", "zeroed leaves"):
            return np.array(values, dtype=np.int64)
        return [value if isinstance(value, Enclosed) else Fraction(value) for value in values]

    def query_point(self, reading: Reading, label: object) -> int:
        """The row of one label: a sum is over bins, and a range of them is asked for by its ends."""
        return reading.question.domain.index(label)

    def points_of_range(self, reading: Reading, labels: range) -> range | None:
        return reading.question.domain.run(labels)

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction | Enclosed:
        """Bins that lie side by side with one weight are read as one range."""
        reader, pieces = self._reader(reader), pieces_of(query)
        if reader == "fitted":
            return self.fit.query(pieces)
        total: Fraction | Enclosed = Fraction(0)
        for low, high, weight in pieces:
            value = self._range(reader, low, high)
            total = plus(total, value if isinstance(value, Enclosed) else Fraction(value), Fraction(weight))
        return total

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        """The same for every bin, but where padding is pinned: there bins beside it are a little surer."""
        if len(segments(self.design.shape)) > 1:
            return None, None
        return reading.error.one_bin(beta), reading.error.all_bins(beta)

    def intervals(
        self,
        reading: Reading,
        beta: Fraction,
        among: Among = "one",
        points: Points = None,
        reader: str = "",
    ) -> Intervals | None:
        """The value of each point ± its own half-width in whole counts. They are not cut at 0: a cut hides how far off
        they may be.

        among  "all": with all bins at once, or, where a point is a range, with all ranges of the domain
        """
        reader = self._reader(reader)
        error, n = reading.error.estimator(reader), self.design.shape.n
        if error.one_bin(beta) is None:
            return None
        values = self.read(reading, points, reader)
        if points is None or isinstance(points, slice):
            rows = range(n)[points or slice(None)]
            bars = self._bars_of_rows(reading, beta, among, rows, reader)
            return _each_around(values, bars)
        spans = self._spans(points)
        whole = among == "all" and any(low < high for low, high in spans)
        together = 1 if among == "one" else n * (n + 1) // 2 if whole else n
        noun = "ranges" if whole else "bins"
        found: dict[tuple[int, int], ErrorValue] = {}
        for low, high in spans:
            if (low, high) not in found:
                bar = error.range(low, high, beta / together)
                every = error.all_bins(beta) if among == "all" and not whole and reader != "fitted" else None
                assert bar is not None
                found[low, high] = every or _jointly(bar, together, noun)
        return _each_around(values, [found[span] for span in spans])

    def stretches(self, reading: Reading, beta: Fraction) -> Stretches | None:
        """The nodes of the lowest height that has few enough for a picture, whose sums the fit knows best.

        Sums are rounded to whole counts, for no digit more is sure. Bars are those of the node that errs most.
        """
        shape = self.design.shape
        size = next((size for size in shape.sizes if -(-shape.n // size) <= MOST_STRETCHES), shape.n)
        spans = [(first, min(first + size, shape.n) - 1) for first in range(0, shape.n, size)]
        if shape.n <= MOST_SINGLE or len(spans) < FEWEST_STRETCHES:
            return None
        unlike = sorted({0, len(spans) - 2, *(first // size for first, _ in segments(shape)), len(spans) - 1})

        def most(beta: Fraction) -> ErrorValue:
            bars = [reading.error.range(*spans[at], beta) for at in unlike]
            return max((bar for bar in bars if bar is not None), key=lambda bar: bar.value)

        whole, total = reading.error.range(0, shape.n - 1, beta), Fraction(self.fit.range(0, shape.n - 1))
        assert whole is not None
        return Stretches(
            size,
            spans,
            np.array([round(self.fit.range(*span)) for span in spans], dtype=np.int64),
            _with_rounding(most(beta)),
            _with_rounding(_jointly(most(beta / len(spans)), len(spans), "sums")),
            (round(total), whole if total.denominator == 1 else _with_rounding(whole)),
        )

    def _bars_of_rows(
        self, reading: Reading, beta: Fraction, among: Among, rows: range, reader: str
    ) -> list[ErrorValue]:
        """One half-width for each row, the same object where rows err alike."""
        error, n = reading.error.estimator(reader), self.design.shape.n
        parts = segments(self.design.shape) if reader == "fitted" else [(0, n)]
        bars: list[ErrorValue | None] = []
        for first, _ in parts:
            if among == "one":
                bars.append(error.range(first, first, beta))
            elif len(parts) == 1:
                bars.append(error.all_bins(beta))
            else:
                bar = error.range(first, first, beta / n)
                bars.append(None if bar is None else _jointly(bar, n, "bins"))
        place = np.searchsorted([stop for _, stop in parts], rows, side="right") if len(parts) > 1 else [0] * len(rows)
        known = [bar for bar in bars if bar is not None]
        return [known[at] for at in place]

    def _spans(self, points: Sequence[Any]) -> list[tuple[int, int]]:
        """First and last row of each point, checked."""
        n, found = self.design.shape.n, []
        for point in points:
            ends = [*point] if isinstance(point, tuple | list) and len(point) == 2 else [point, point]
            first, last = cast(list[int], rows_or(ends, n))
            self.design.shape.check(first, last)
            found.append((first, last))
        return found

    def _reader(self, reader: str) -> str:
        reader = super()._reader(reader)
        heights = self.design.precisions[:-1] if self.total is not None else self.design.precisions
        if reader == "subtrees" and not all(heights):
            raise ParameterError.of(reader, "sums of noisy nodes need every height to be asked", "read the fit instead")
        return reader

    # ------------------------------------------------------------ words and pictures

    def remark(self, reading: Reading) -> str:
        shape = self.design.shape
        root = "" if self.total is None else f", the root's being the public {self.total:,}"
        return (
            f"Bins are fitted to the noisy counts of {asked(self.design):,} nodes of a tree "
            f"with {shape.k} children to a node and {shape.height} levels{root}: any range of bins adds up its bins, "
            f"and release[(low, high)] is as sure as a range can be. "
            "Fitted values are unbiased, not whole, and may be negative."
        )

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        """Fitted bins, rounded to a thousandth; `picture_off` bounds how far off they are drawn.

        Bars are those of the bin that errs most, and hold for every other.
        """
        domain, drawn = reading.question.domain, self.design.shape.n <= LARGEST_VIEW
        values = np.round(self.floats.leaves, PLACES) + 0.0  # which makes -0.0 a 0
        off = (
            Fraction(self.floats.error) * (1 + FLOAT) + Fraction(1, 2 * 10**PLACES) + FLOAT * int(np.abs(values).max())
        )
        return View(
            kind="tree" if drawn else "large",
            header={
                "axis": columns_of(reading.question),
                "columns": list(domain.columns),
                "scale": domain.kind,
                "bins": str(self.design.shape.n),
                "size": domain.size_text,
                "sparse": False,
                "lookup": False,
                "labels": domain.labels if drawn else [],
                "short_labels": domain.short_labels if drawn else [],
                "list": None,
                "bars": {text(beta): _bars_json(reading.error, beta) for beta in betas},
                **(self._stretched(reading, betas) if drawn else {}),
                "picture_off": text(ceil_to(off, Fraction(1, 10 ** (PLACES + 1)))),
            },
            arrays={"values": values} if drawn else {},
        )

    def _stretched(self, reading: Reading, betas: Sequence[Fraction]) -> dict[str, Any]:
        """The stretches as the page takes them, where it has no room for all bins."""
        found = {beta: self.stretches(reading, beta) for beta in betas}
        some = next(iter(found.values()), None)
        if some is None:
            return {}
        question, known = reading.question, {beta: one for beta, one in found.items() if one is not None}
        domain = some.domain(question)
        return {
            "stretches": {
                "size": str(some.size),
                "axis": some.name(question),
                "scale": domain.kind,
                "labels": [some.label(question, at) for at in range(len(some.spans))],
                "short_labels": domain.short_labels,
                "values": [str(value) for value in some.values.tolist()],
                "bars": {
                    text(beta): {"one": one.one.to_json(), "all": one.every.to_json()} for beta, one in known.items()
                },
                "whole": str(some.whole[0]),
                "whole_bars": {text(beta): one.whole[1].to_json() for beta, one in known.items()},
            }
        }


def pieces_of(query: Query) -> list[tuple[int, int, Fraction]]:
    """A query as ranges of rows, first and last, that do not overlap: as few as its weights allow, in order."""
    runs = sorted(
        (run for points, weight in query.parts for run in _runs(points, weight)),
        key=lambda run: run[0],
    )
    found: list[tuple[int, int, Fraction]] = []
    for first, last, weight in runs:
        if found and found[-1][1] + 1 == first and found[-1][2] == weight:
            first = found.pop()[0]
        found.append((first, last, weight))
    return found


def _runs(points: Sequence[int], weight: Fraction) -> list[tuple[int, int, Fraction]]:
    if isinstance(points, range):
        return [(points.start, points.stop - 1, weight)] if points else []
    return [(point, point, weight) for point in points]


def asked(design: Design) -> int:
    """How many nodes of a tree are drawn."""
    known = {design.shape.height} if design.exact_root else set()
    return sum(
        width
        for height, (width, precision) in enumerate(zip(design.shape.widths, design.precisions, strict=True), start=1)
        if precision and height not in known
    )


def segments(shape: Shape) -> list[tuple[int, int]]:
    """Parts of the domain, first <= leaf < stop, in each of which every fitted leaf has the same law.

    One, but where padding is pinned. A leaf's law then depends on the lowest node above it that covers padding: its
    siblings below that node, whole subtrees all of them, can be exchanged.
    """
    edges = [0]
    for height in range(shape.height, 1, -1):
        if shape.filled[height - 1] < shape.widths[height - 1]:
            edges += [
                shape.filled[height - 1] * shape.sizes[height - 1],
                shape.filled[height - 2] * shape.sizes[height - 2],
            ]
    edges = [edge for edge in sorted(set(edges)) if edge < shape.n]
    return list(pairwise([*edges, shape.n]))


def _bars_json(error: ErrorModel, beta: Fraction) -> dict[str, Any]:
    """The half-widths of the bin that errs most and of all, as the page takes them."""
    one, every = error.one_bin(beta), error.all_bins(beta)
    return {"one": None if one is None else one.to_json(), "all": None if every is None else every.to_json()}


def _jointly(bar: ErrorValue, together: int, noun: str) -> ErrorValue:
    """A half-width at a share of beta, as one of so many that hold at once."""
    if together == 1:
        return bar
    return replace(bar, how="bound", rule=f"union bound over {together:,} {noun}, {bar.rule}", off=None)


def _with_rounding(bar: ErrorValue) -> ErrorValue:
    """A half-width around a value that was rounded to a whole count."""
    return replace(bar, value=Fraction(math.ceil(bar.value + Fraction(1, 2))), rule=f"{bar.rule}, for rounded values")


def _each_around(values: Values, bars: Sequence[ErrorValue]) -> Intervals:
    """Each value ± a half-width of its own."""
    alike = len({id(bar) for bar in bars}) == 1
    if alike:
        return around(values, bars[0], (None, None))
    least_sure = max(bars, key=lambda bar: SURENESS.index(bar.how), default=None)
    how, rule = ("exact", "nothing is read") if least_sure is None else (least_sure.how, least_sure.rule)
    if isinstance(values, np.ndarray):
        halves = np.array([int(bar.value) for bar in bars], dtype=np.int64)
        return Intervals(values - halves, values + halves, how, rule)  # type: ignore[arg-type]
    ends = [between(value) for value in values]
    low = [end.low - bar.value for end, bar in zip(ends, bars, strict=True)]
    high = [end.high + bar.value for end, bar in zip(ends, bars, strict=True)]
    return Intervals(low, high, how, rule)  # type: ignore[arg-type]


def _enclosed(value: float, error: float) -> Fraction | Enclosed:
    """A float that is off by at most an error, of something that is not negative."""
    low, high = max(Fraction(0), Fraction(value) - Fraction(error)), Fraction(value) + Fraction(error)
    return low if low == high else Enclosed(low, high)


protect_module(vars())
