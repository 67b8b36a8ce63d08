"""Sorted counts: one released number for each rank, and which bin it came from is not told.

Hay, Rastogi, Miklau, Suciu 2010, section 3. Rank 1 is the largest, as in any list of the top: so an answer about the 10
largest counts is the beginning of the answer about all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, ReleaseFormat
from dpviz.exact import Decay, text, whole
from dpviz.fitting.bands import Band, at_one_position, multiscale
from dpviz.fitting.isotonic import Isotonic, isotonic, sorted_rounded
from dpviz.laws.geometric import error_quantile, simultaneous_quantile
from dpviz.model.answers.additive import AdditiveCounts, added_up
from dpviz.model.answers.base import register
from dpviz.model.answers.pictures import columns_of
from dpviz.model.answers.reading import Among, Axis, BinLabels, Intervals, Packed, Points, Reading, View
from dpviz.model.answers.values import rows_or
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorValue, How
from dpviz.model.linear import Query
from dpviz.model.question import Question

BIASED = (
    "A rank says nothing about which bin has the count. Where exact counts are equal, the fit spreads them a little: "
    "those at the upper end of the run lie too high on average, those at the lower end too low. The total is unbiased."
)
MOST_BANDS = 12
"""The most bands of one answer that are kept: each is as long as the answer."""

CROSSED = "; the ends cross, so the noise was beyond what they allow for"


@dataclass(frozen=True)
class RankAxis(Axis):
    """Ranks, which are no bins of anything: a chart numbers them."""

    @property
    def drawn(self) -> Domain:
        return _places(len(self.labels))


@register
@dataclass(frozen=True, eq=False)
class Ranks(AdditiveCounts):
    """The noisy count of each rank, the largest true count first.

    noisy  what was drawn: the true count of each rank plus its noise

    Readers, all of them computed from what was drawn:

    fitted       the nearest sequence in which no rank has more than the one before it; exact fractions
    noisy        what was drawn; it need not descend
    rounded      the baseline: what was drawn, sorted anew, none below 0
    nonnegative  the nearest such sequence without a value below 0
    integer      the nearest such sequence of whole numbers without one below 0
    """

    kind: ClassVar[str] = "ranks"
    noun: ClassVar[str] = "rank"
    adds_rows: ClassVar[bool] = True
    readers: ClassVar[tuple[str, ...]] = ("fitted", "noisy", "rounded", "nonnegative", "integer")
    noisy: NDArray[np.int64]

    def pack(self) -> Packed:
        return Packed({}, {"noisy": self.noisy})

    @classmethod
    def unpack(cls, packed: Packed) -> Ranks:
        if set(packed.arrays) != {"noisy"} or packed.arrays["noisy"].ndim != 1 or packed.arrays["noisy"].dtype != "<i8":
            raise ReleaseFormat.damaged("an answer about ranks has one whole number for each of them", "other arrays")
        return cls(packed.arrays["noisy"].astype(np.int64))

    def fits(self, question: Question, max_items: int | None) -> bool:
        return question.domain.declared and 1 <= len(self.noisy) <= question.bins

    def axis(self, reading: Reading) -> RankAxis:
        labels = BinLabels(_places(len(self.noisy)))
        return RankAxis(columns_of(reading.question), "rank", labels, whole=f"{len(self.noisy):,}")

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return {"rank": range(1, len(self.noisy) + 1)}

    def point(self, reading: Reading, label: object) -> int:
        """A rank by its number: 1 is the largest count. A bin has none that anybody was told."""
        return whole(label, "a rank", most=len(self.noisy)) - 1

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NDArray[np.int64] | list[Fraction]:
        chosen = rows_or(points, len(self.noisy))
        match self._reader(reader):
            case "fitted":
                return self._fractions(chosen, None)
            case "nonnegative":
                return self._fractions(chosen, 0)
            case "noisy":
                values = self.noisy
            case "rounded":
                values = sorted_rounded(self.noisy)[::-1]
            case _:
                values = self._fit.whole(0)[::-1]
        picked: NDArray[np.int64] = values[chosen].astype(np.int64)
        return picked

    # ------------------------------------------------------------ sums of ranks

    def has_ordered_points(self, reading: Reading) -> bool:
        return True

    def span(self, reading: Reading, low: object, high: object) -> range:
        """From one rank to another: 1 to 10 are the ten largest counts."""
        first, last = self.point(reading, low), self.point(reading, high)
        if first > last:
            raise DomainError.of(f"{first + 1} to {last + 1}", "a range must not be reversed", "the smaller rank first")
        return range(first, last + 1)

    def points_of_range(self, reading: Reading, labels: range) -> range | None:
        return _places(len(self.noisy)).run(labels)

    def typed_point(self, reading: Reading, label: tuple[str, ...]) -> int:
        if len(label) != 1 or type(label[0]) is not str:
            raise DomainError.of("something else", "a rank is one whole number, as text", "type digits alone")
        return self.point(reading, label[0])

    def all_points(self, reading: Reading) -> range:
        return range(len(self.noisy))

    def label(self, reading: Reading, point: Any) -> str:
        return f"rank {point + 1:,}"

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction:
        """A run of ranks of the fit is read from its blocks."""
        if self._reader(reader) != "fitted":
            return Fraction(added_up(self, reading, query, reader))  # type: ignore[arg-type]
        total, size = Fraction(0), len(self.noisy)
        for points, weight in query.parts:
            rows_or(points if not isinstance(points, range) else [points[0], points[-1]], size)
            if isinstance(points, range):
                total += weight * self._fit.total(size - 1 - points[-1], size - 1 - points[0])
            else:
                total += weight * sum(self._fractions(list(points), None), Fraction(0))
        return total

    @cached_property
    def _fit(self) -> Isotonic:
        """The fit in ascending order, as its blocks: its first position is the last rank."""
        return isotonic(self.noisy[::-1])

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        """Intervals differ from rank to rank. One half-width that holds for all is `release.error.all_bins`."""
        return None, None

    def intervals(
        self,
        reading: Reading,
        beta: Fraction,
        among: Among = "one",
        points: Points = None,
        reader: str = "",
    ) -> Intervals | None:
        """Where the true counts of these ranks lie, in whole numbers.

        Of a fit the ends come from the answer itself: means of 1, 2, 4, 8, ... neighbouring ranks, each within the
        quantile of its noise, which hold for one rank (`bands.at_one_position`) or for all at once
        (`bands.multiscale`). They are proved bounds, and narrow where counts hardly change. They need not hold the
        fitted value.

        Of what was drawn they are the value ± the exact quantile of its noise, for one rank or for all: the band that
        depends on no data. Sorting cannot move two lists further apart than they were in their worst place, so the
        second is a bound for `rounded`, too, and for any fit.

        Every end is cut at 0, and where the number of rows is public, at the largest count that so many ranks can
        have. Where a low end exceeds a high one (`Intervals.crossed`) they are shown like that. For any one rank, and
        for all at once, that happens with probability beta at most; among many ranks, some of the intervals that hold
        for one rank each cross more often.
        """
        reader, decay = self._reader(reader), reading.error.noise
        if decay is None:
            return None
        chosen, low_cut = rows_or(points, len(self.noisy)), None
        how: How = "bound"
        if reader in ("noisy", "rounded"):
            values = np.asarray(self.read(reading, points, reader))
            if reader == "noisy" and among == "one":
                half, rule = error_quantile(decay, beta), "two-sided tail of the noise"
            else:
                half = simultaneous_quantile(decay, beta, len(self.noisy))
                rule = f"product over {len(self.noisy):,} independent noises"
            how = "exact" if reader == "noisy" else "bound"
            low, high = values - half, values + half
            low_cut = low < 0
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        else:
            band = self._band(decay, beta, among)
            low, high = band.low[::-1][chosen], band.high[::-1][chosen]
            rule = "means of neighbouring ranks, each within the quantile of its noise, at shares of β"
        tops = self._tops(reading)
        high_cut = None
        if tops is not None:
            high_cut = high > tops[chosen]
            high = np.minimum(high, tops[chosen])
        crossed = CROSSED if among == "all" and bool((low > high).any()) else ""
        return Intervals(low.astype(np.int64), high.astype(np.int64), how, rule + crossed, low_cut, high_cut)

    # ------------------------------------------------------------ words and pictures

    def sentence(self, reading: Reading) -> str:
        ranks, bins = len(self.noisy), reading.question.bins
        if ranks == bins:
            return f"The counts of all {bins:,} bins, sorted: rank 1 is the largest."
        return f"The {ranks:,} largest of {bins:,} counts, sorted: rank 1 is the largest."

    def remark(self, reading: Reading) -> str:
        return BIASED

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        """The picture that a page draws of sorted counts, of kind "ranks".

        noisy           what was drawn, rank 1 first
        starts, sums    the fit, rank 1 first: where each block of equal values begins, and the sum of what was drawn
                        in it; its value is sum / length
        one_low B, one_high B, all_low B, all_high B
                        the ends of intervals at beta = B (as text), for one rank and for all at once
        bands B         in the header: half-width of the band that depends on no data, and whether ends cross
        """
        size = len(self.noisy)
        arrays: dict[str, NDArray[Any]] = {
            "noisy": self.noisy,
            "starts": (size - self._fit.starts - self._fit.lengths)[::-1].astype(np.int64),
            "sums": self._fit.sums[::-1],
        }
        bands: dict[str, Any] = {}
        kinds: tuple[Among, ...] = ("one", "all")
        for beta in betas:
            for among in kinds:
                ends = self.intervals(reading, beta, among)
                if ends is not None:
                    arrays[f"{among}_low {text(beta)}"] = np.asarray(ends.low)
                    arrays[f"{among}_high {text(beta)}"] = np.asarray(ends.high)
                    bands.setdefault(text(beta), {})[f"{among}_crossed"] = ends.crossed
            supremum = reading.error.all_bins(beta)
            bands.setdefault(text(beta), {})["supremum"] = None if supremum is None else supremum.to_json()
        header = {
            "axis": columns_of(reading.question),
            "ranks": str(size),
            "bins": str(reading.question.bins),
            "sentence": self.sentence(reading),
            "remark": self.remark(reading),
            "bands": bands,
        }
        return View("ranks", header, arrays)

    # ------------------------------------------------------------ the parts

    def _fractions(self, chosen: slice | list[int], least: int | None) -> list[Fraction]:
        size = len(self.noisy)
        wanted = range(size)[chosen] if isinstance(chosen, slice) else chosen
        if 8 * len(wanted) < size:
            values = [self._fit.at(size - 1 - row) for row in wanted]
            return values if least is None else [max(value, Fraction(least)) for value in values]
        fitted = self._fit.values(least)
        return [fitted[size - 1 - row] for row in wanted]

    @cached_property
    def _bands(self) -> dict[tuple[Decay, Fraction, Among], Band]:
        return {}

    def _band(self, decay: Decay, beta: Fraction, among: Among) -> Band:
        """Both ends in ascending order, computed once."""
        key = decay, beta, among
        found = self._bands.get(key)
        if found is None:
            found = (at_one_position if among == "one" else multiscale)(self.noisy[::-1], decay, beta, 0)
            while len(self._bands) >= MOST_BANDS:
                self._bands.pop(next(iter(self._bands)), None)  # another thread may have been first
            self._bands[key] = found
        return found

    def _tops(self, reading: Reading) -> NDArray[np.int64] | None:
        """The largest count that a rank can have where the number of rows is public: so many ranks share the rows."""
        if reading.unit.n is None:
            return None
        return reading.unit.n // np.arange(1, len(self.noisy) + 1, dtype=np.int64)


def _places(size: int) -> Domain:
    return Domain.integers(1, size, column="rank")


protect_module(vars())
