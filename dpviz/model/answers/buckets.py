"""Buckets: one noisy value for each place of a public hash function, which answers any key of a huge domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import text, whole
from dpviz.model.answers.base import register
from dpviz.model.answers.labels import Labels
from dpviz.model.answers.look_ups import LookUps
from dpviz.model.answers.reading import Among, Intervals, Packed, Points, Reading
from dpviz.model.error import ErrorValue
from dpviz.noise.alp import Columns, Keys
from dpviz.noise.max_projection import cell_type

MOST_BITS: Final = 1 << 30
"""All buckets together take at most so many bits (128 MiB)."""

MOST_VALUE: Final = 1 << 60
"""A value of a bucket is at most this."""

NUMBERS: Final = ("width", "keys", "cap")


@dataclass(frozen=True)
class Places:
    """The public numbers of buckets.

    width   there are 2**width of them
    keys    the public guess of how many bins are not empty
    cap     the largest value that a bucket can hold, in whole steps
    signed  whether values may be negative; then a bucket can hold -cap, too
    """

    width: int
    keys: int
    cap: int
    signed: bool

    def __post_init__(self) -> None:
        whole(self.width, "width", least=3, most=40)
        whole(self.cap, "cap", most=MOST_VALUE)
        if 2 * whole(self.keys, "keys") >= self.size or self.bits > MOST_BITS:
            raise ReleaseFormat.damaged(
                "there are more buckets than twice the keys, and no more bits than fit",
                f"{self.size:,} buckets for {self.keys:,} keys",
            )

    def to_json(self) -> dict[str, Any]:
        return {**{name: str(getattr(self, name)) for name in NUMBERS}, "signed": self.signed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Places:
        """Read the JSON that `to_json` wrote. Any other JSON is refused, or raises the error that it leads to."""
        places = cls(**{name: int(data[name]) for name in NUMBERS}, signed=data["signed"] is True)
        if places.to_json() != dict(data):
            raise ReleaseFormat.damaged(
                "saved buckets write their public numbers in their shortest form, as texts", "other texts"
            )
        return places

    @property
    def size(self) -> int:
        """How many buckets there are."""
        return 1 << self.width

    @property
    def low(self) -> int:
        """The least value that a bucket can hold."""
        return -self.cap if self.signed else 0

    @property
    def cell(self) -> np.dtype[Any]:
        return np.dtype(cell_type(self.low, self.cap))

    @property
    def bits(self) -> int:
        """Of all buckets."""
        return 8 * self.cell.itemsize * self.size

    @property
    def collisions(self) -> Fraction:
        """With what chance, at most, another key that is not empty lies in the bucket of a key. Two texts have the same
        digest of 64 bits with a chance of 2**-64."""
        return min(Fraction(1), self.keys * (Fraction(1, self.size) + Fraction(1, 1 << 64)))


@register
@dataclass(frozen=True, eq=False)
class Buckets(LookUps):
    """A noisy value for each bucket, and the bins whose noisy value is kept beside them. Reading is free.

    seed     16 public bytes from which the hash function follows
    buckets  what was drawn, in whole steps: the largest value of the keys in the bucket, plus noise, cut at the cap
    labels   bins whose noisy value passed a threshold, ascending; none where there is no threshold
    values   their noisy values, in whole steps
    """

    kind: ClassVar[str] = "buckets"
    source: ClassVar[str] = "buckets"
    main: ClassVar[str] = "buckets"
    numbers_name: ClassVar[str] = "places"

    places: Places
    seed: bytes
    buckets: NDArray[Any]
    labels: Labels
    values: NDArray[np.int64]

    @property
    def public(self) -> Places:
        return self.places

    @property
    def signed(self) -> bool:
        return self.places.signed

    @classmethod
    def _read(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        places, (seed, labels, values) = Places.from_json(header["places"]), cls._kept(header, arrays)
        buckets = arrays["buckets"]
        if buckets.dtype != places.cell or buckets.shape != (places.size,):
            raise ReleaseFormat.damaged("there is one value for each bucket", f"values of shape {buckets.shape}")
        if int(buckets.min()) < places.low or int(buckets.max()) > places.cap:
            raise ReleaseFormat.damaged("a bucket holds no value beyond its cap", "a larger one")
        return cls(places, Columns(seed, 1, places.width).seed, buckets, labels, values)

    # ------------------------------------------------------------ reading

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> list[Fraction]:
        """Values in the unit of the question: a kept one as it was drawn, any other is that of its bucket."""
        self._reader(reader)
        if points is None or isinstance(points, slice):
            return self.rows(reading)
        step, known = reading.question.aggregate.step, self.known
        keys = self.coded(reading, points)
        drawn = [known.get(point, value) for point, value in zip(points, self._looked_up(keys), strict=True)]
        scaled = {value: value * step for value in {*drawn}}
        return [scaled[value] for value in drawn]

    def _looked_up(self, keys: Keys) -> list[int]:
        found: list[int] = self.buckets[Columns(self.seed, 1, self.places.width).places(0, keys)].tolist()
        return found

    def intervals(
        self, reading: Reading, beta: Fraction, among: Among = "one", points: Points = None, reader: str = ""
    ) -> Intervals | None:
        """The value ± its half-width, where other keys are in the bucket less often than beta.

        Where they may be there more often, the value may be another key's, which is larger: then the interval begins
        at 0 and ends above the value by what the noise may have taken away, which holds wherever other keys lie. An end
        that reaches the cap is open: what is larger looks like it.
        """
        self._reader(reader)
        half, upward = self._half(reading, beta, among)
        if half is None:
            return None
        step = reading.question.aggregate.step
        low_end, top = self.places.low * step, self.places.cap * step
        asked = () if points is None or isinstance(points, slice) else points
        known = self.known
        low: list[Fraction | None] = []
        high: list[Fraction | None] = []
        for point, value in zip(asked, self.read(reading, points), strict=True):
            begin, end = value - half.value, value + half.value
            kept = point in known
            low.append(begin if kept else None if upward or begin <= low_end else begin)
            high.append(end if kept or end < top else None)
        if self.places.signed:
            return Intervals(low, high, half.how, half.rule)
        cut = np.array([end is None or end < 0 for end in low], dtype=np.bool_)
        zero = [Fraction(0) if end is None else max(end, Fraction(0)) for end in low]
        return Intervals(zero, high, half.how, half.rule, low_cut=cut)

    def _half(self, reading: Reading, beta: Fraction, among: Among = "one") -> tuple[ErrorValue | None, bool]:
        """The half-width of an interval, and whether it is one of its upper side alone."""
        error, step = reading.error, reading.question.aggregate.step
        bar = error.one_bin(beta) if among == "one" else error.all_bins(beta)
        if bar is None or bar.value >= (self.places.cap - self.places.low) * step:  # a lower end would say nothing
            up = error.above(1 if among == "one" else None, beta)
            if up is not None:
                return up, True
        return bar, False

    def offline_look_ups(self, reading: Reading, betas: Sequence[Fraction]) -> Packed:
        """The buckets, the hash function and what is kept, with the half-widths of an interval, for a page."""
        halves = {text(beta): self._half(reading, beta) for beta in betas}
        header = self.header(reading) | {
            "width": str(self.places.width),
            "cap": str(self.places.cap),
            "signed": self.places.signed,
            "bars": {"": {beta: half.to_json() for beta, (half, _) in halves.items() if half is not None}},
            "upward": [beta for beta, (_, upward) in halves.items() if upward],
        }
        columns = Columns(self.seed, 1, self.places.width)
        return Packed(header, {"buckets": self.buckets, "functions": columns.functions})


protect_module(vars())
