"""A sketch: the flipped bits of unary numbers, scattered by public hashing, that answer any key of a huge domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import text, whole
from dpviz.fitting import unary
from dpviz.laws.alp import Flips
from dpviz.model.answers.base import register
from dpviz.model.answers.labels import Labels
from dpviz.model.answers.look_ups import LookUps
from dpviz.model.answers.reading import Among, Intervals, Packed, Points, Reading
from dpviz.model.error import ErrorModel
from dpviz.noise.alp import PRIME, Columns, Keys, PrimeColumns, meeting, read

MOST_BITS: Final = 1 << 30
"""A sketch has at most so many bits (128 MiB)."""

PARTS: Final = 1000
"""An estimate is told to so many parts of a step."""

READERS: Final = ("paper", "likelihood", "posterior-median")
"""The estimators, the default first."""


NUMBERS: Final = ("ones", "places", "worth", "columns", "width", "keys", "halves")
"""The public numbers of a sketch, as they are stored."""


@dataclass(frozen=True)
class SketchPlan:
    """The public numbers of a sketch.

    ones, places  a bit is flipped with chance ones / 2**places
    worth         how many bits one step of a value is worth
    columns       m: a value is written as so many bits at most
    width         a column has 2**width bits
    keys          the public guess of how many bins are not empty
    halves        2 where values may be negative: one half of the columns for each sign; else 1
    size          0, or how many bits a column has that is no power of 2, hashed by `PrimeColumns`: places have `width`
                  binary digits then. It is stored only where it is not 0
    """

    ones: int
    places: int
    worth: Fraction
    columns: int
    width: int
    keys: int
    halves: int
    size: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        whole(self.places, "places", most=16)
        whole(self.width, "width", least=3, most=40)
        whole(self.halves, "halves", most=2)
        if not 0 < 2 * self.ones < 1 << self.places or self.worth <= 0:
            raise ReleaseFormat.damaged(
                "a sketch flips a bit with a chance between 0 and 1/2, and a step is worth something",
                f"{self.ones} in 2^{self.places}, and {self.worth}",
            )
        if whole(self.size, "size", least=0) and (self.size % 8 or (self.size - 1).bit_length() != self.width):
            raise ReleaseFormat.damaged(
                "a column has whole bytes of bits, and places of as many digits",
                f"{self.size:,} bits, and {self.width} digits",
            )
        if self.bits > MOST_BITS or 2 * whole(self.keys, "keys") >= self.slots:
            raise ReleaseFormat.damaged(
                "a sketch has fewer keys than half the bits of a column, and no more bits than fit",
                f"{self.keys:,} keys in {self.bits:,} bits",
            )
        whole(self.columns, "columns")

    def to_json(self) -> dict[str, str]:
        size = {"size": str(self.size)} if self.size else {}
        return {name: str(getattr(self, name)) for name in NUMBERS} | size

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SketchPlan:
        """Read the JSON that `to_json` wrote. Any other JSON is refused, or raises the error that it leads to."""
        numbers = {name: int(data[name]) for name in NUMBERS if name != "worth"}
        numbers |= {"size": int(data["size"])} if "size" in data else {}
        plan = cls(worth=Fraction(data["worth"]), **numbers)
        if plan.to_json() != dict(data):
            raise ReleaseFormat.damaged(
                "a saved sketch writes its public numbers in their shortest form, as texts", "other texts"
            )
        return plan

    @property
    def bits(self) -> int:
        """Of the whole sketch."""
        return self.halves * self.columns * self.slots

    @property
    def slots(self) -> int:
        """How many bits a column has."""
        return self.size or 1 << self.width

    def hashes(self, seed: bytes) -> Columns:
        """The hash functions of all columns."""
        many = self.halves * self.columns
        return PrimeColumns(seed, many, self.width, self.size) if self.size else Columns(seed, many, self.width)

    @cached_property
    def flips(self) -> Flips:
        return Flips(Fraction(self.ones, 1 << self.places), self.collisions)

    @property
    def collisions(self) -> Fraction:
        """k/s: with what chance at most a bit is set by another key."""
        return self.keys * (meeting(PRIME, self.size) if self.size else Fraction(1, self.slots))

    @property
    def reach(self) -> Fraction:
        """The largest value, in steps, that the bits can stand for."""
        return self.columns / self.worth


@register
@dataclass(frozen=True, eq=False)
class Sketch(LookUps):
    """The bits of a sketch, and the bins whose noisy value is kept beside it. Reading is free, any number of times.

    seed    16 public bytes from which the hash functions of all columns follow
    packed  one row of bits for each column, eight to a byte, the first in the lowest bit
    labels  bins whose noisy value passed a threshold, ascending; none where there is no threshold
    values  their noisy values, in whole steps

    A bin that is not kept is read from the sketch, by one of three estimators:
    paper             the mean of all places where the prefix sum of ones less zeros is largest
    likelihood        the mean of all values that make the bits most likely, collisions included
    posterior-median  the median where all values were equally likely before
    """

    kind: ClassVar[str] = "sketch"
    readers: ClassVar[tuple[str, ...]] = READERS
    source: ClassVar[str] = "bits"
    main: ClassVar[str] = "packed"
    numbers_name: ClassVar[str] = "plan"
    numbers: ClassVar[type[SketchPlan]] = SketchPlan
    """The values that its public numbers are read as."""

    plan: SketchPlan
    seed: bytes
    packed: NDArray[np.uint8]
    labels: Labels
    values: NDArray[np.int64]

    @property
    def public(self) -> SketchPlan:
        return self.plan

    @property
    def signed(self) -> bool:
        return self.plan.halves == 2

    @classmethod
    def _read(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        plan, (seed, labels, values) = cls.numbers.from_json(header["plan"]), cls._kept(header, arrays)
        bits = arrays["packed"]
        if bits.dtype != np.uint8 or bits.shape != (plan.halves * plan.columns, plan.slots // 8):
            raise ReleaseFormat.damaged("a sketch has one row of bits for each column", f"bits of shape {bits.shape}")
        columns = plan.hashes(seed)
        return cls(plan, columns.seed, bits, labels, values)

    # ------------------------------------------------------------ reading

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> list[Fraction]:
        """Values in the unit of the question: a kept one as it was drawn, all others by the estimator, rounded to a
        thousandth of a step."""
        reader = self._reader(reader)
        if points is None or isinstance(points, slice):
            return self.rows(reading)
        step = reading.question.aggregate.step
        known = self.known
        open_ = [point for point in points if point not in known] if known else points
        estimates = self.in_bits(reading, open_, reader)
        different = {id(one): one for one in estimates}  # equal ones are most often the same object
        scaled = {name: round(self._steps(one) * PARTS) * step / PARTS for name, one in different.items()}
        if not known:
            return [scaled[id(one)] for one in estimates]
        kept, rest = [known.get(point) for point in points], iter(estimates)
        drawn = {value: value * step for value in {*kept} if value is not None}
        return [scaled[id(next(rest))] if value is None else drawn[value] for value in kept]

    def in_bits(self, reading: Reading, points: Sequence[Any], reader: str) -> list[Fraction]:
        """The estimates of bins, in bits, whether or not they are kept."""
        return self._estimates(self.coded(reading, points), reader)

    def _steps(self, bits: Fraction) -> Fraction:
        """The value in steps that so many bits stand for."""
        return bits / self.plan.worth

    @cached_property
    def _columns(self) -> Columns:
        return self.plan.hashes(self.seed)

    def _estimates(self, keys: Keys, reader: str) -> list[Fraction]:
        """The estimates of keys, in bits."""
        rows = read(self.packed, self._columns, keys)
        flips, m = self.plan.flips, self.plan.columns
        halves = [rows[:, m * half : m * (half + 1)] for half in range(self.plan.halves)]
        if reader == "paper":
            parts = [unary.paper(half) for half in halves]
        else:
            estimator = unary.likelihood if reader == "likelihood" else unary.posterior_median
            parts = [estimator(half, float(flips.p), float(flips.raised)) for half in halves]
        if len(parts) == 1:
            return parts[0]
        return [more - less for more, less in zip(*parts, strict=True)]

    def intervals(
        self, reading: Reading, beta: Fraction, among: Among = "one", points: Points = None, reader: str = ""
    ) -> Intervals | None:
        """The value ± its half-width. An end that reaches the largest value that the bits can stand for is open: what
        is larger looks like it."""
        reader = self._reader(reader)
        error: ErrorModel = reading.error.estimator(reader)
        bar = error.one_bin(beta) if among == "one" else error.all_bins(beta)
        if bar is None:
            return None
        values = self.read(reading, points, reader)
        step = reading.question.aggregate.step
        top, known = self.plan.reach * step, self.known
        asked = () if points is None or isinstance(points, slice) else points
        kept = [point in known for point in asked]
        signed = self.plan.halves == 2
        low = [
            _end(value - bar.value, kept_, -top if signed else None, down=True)
            for value, kept_ in zip(values, kept, strict=True)
        ]
        high = [_end(value + bar.value, kept_, top, down=False) for value, kept_ in zip(values, kept, strict=True)]
        if signed:
            return Intervals(low, high, bar.how, bar.rule)
        cut = np.array([end is not None and end < 0 for end in low], dtype=np.bool_)
        return Intervals(
            [Fraction(0) if end is None else max(end, Fraction(0)) for end in low], high, bar.how, bar.rule, low_cut=cut
        )

    def offline_look_ups(self, reading: Reading, betas: Sequence[Fraction]) -> Packed:
        """The bits, the hash functions and what is kept, with the half-widths of each estimator, for a page."""
        plan = self.plan
        header = self.header(reading) | {
            "parts": str(PARTS),
            "worth": text(plan.worth),
            "columns": str(plan.columns),
            "width": str(plan.width),
            "slots": str(plan.slots),
            "prime": bool(plan.size),
            "halves": str(plan.halves),
            "p": float(plan.flips.p),
            "raised": float(plan.flips.raised),
            "bars": {name: self._bars(reading, name, betas) for name in self.readers},
        }
        return Packed(header, {"bits": self.packed, "functions": self._columns.functions})

    def _bars(self, reading: Reading, reader: str, betas: Sequence[Fraction]) -> dict[str, Any]:
        """The statement about a look-up, by beta; of an estimator whose error nobody states nothing."""
        error: ErrorModel = reading.error.estimator(reader)
        bars = {text(beta): error.one_bin(beta) for beta in betas}
        return {beta: bar.to_json() for beta, bar in bars.items() if bar is not None}


def _end(end: Fraction, kept: bool, edge: Fraction | None, *, down: bool) -> Fraction | None:
    """An end of an interval; None where it is beyond what the bits can stand for."""
    if kept or edge is None:
        return end
    return None if (end <= edge if down else end >= edge) else end


protect_module(vars())
