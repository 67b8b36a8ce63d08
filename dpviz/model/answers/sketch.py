"""A sketch: the flipped bits of unary numbers, scattered by public hashing, that answer any key of a huge domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, ReleaseFormat
from dpviz.exact import whole
from dpviz.fitting import unary
from dpviz.laws.alp import Flips
from dpviz.model.answers.base import (
    Among,
    Answer,
    Axis,
    Intervals,
    Packed,
    Points,
    Reading,
    View,
    added_up,
    bars_json,
    columns_of,
    register,
)
from dpviz.model.answers.labels import Labels, are_labels, labels_json, labels_of
from dpviz.model.domain import category_text
from dpviz.model.error import ErrorModel
from dpviz.model.linear import Query
from dpviz.model.question import Question
from dpviz.noise.alp import Columns, Keys, coded, read

MOST_BITS: Final = 1 << 30
"""A sketch has at most so many bits (128 MiB)."""

MOST_READ: Final = 100_000
"""A sum reads at most so many bins."""

PARTS: Final = 1000
"""An estimate is told to so many parts of a step."""

READERS: Final = ("paper", "likelihood", "posterior-median")
"""The estimators, the default first."""


NUMBERS: Final = ("ones", "places", "worth", "columns", "width", "keys", "halves")
"""The public numbers of a sketch, as they are stored."""


@dataclass(frozen=True)
class Plan:
    """The public numbers of a sketch.

    ones, places  a bit is flipped with chance ones / 2**places
    worth         how many bits one step of a value is worth
    columns       m: a value is written as so many bits at most
    width         a column has 2**width bits
    keys          the public guess of how many bins are not empty
    halves        2 where values may be negative: one half of the columns for each sign; else 1
    """

    ones: int
    places: int
    worth: Fraction
    columns: int
    width: int
    keys: int
    halves: int

    def __post_init__(self) -> None:
        whole(self.places, "places", most=16)
        whole(self.width, "width", least=3, most=40)
        whole(self.halves, "halves", most=2)
        if not 0 < 2 * self.ones < 1 << self.places or self.worth <= 0:
            raise ReleaseFormat("a sketch flips a bit with a chance between 0 and 1/2, and a step is worth something")
        if self.bits > MOST_BITS or 2 * whole(self.keys, "keys") >= 1 << self.width:
            raise ReleaseFormat("a sketch has fewer keys than half the bits of a column, and no more bits than fit")
        whole(self.columns, "columns")

    def to_json(self) -> dict[str, str]:
        return {name: str(getattr(self, name)) for name in NUMBERS}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """What `to_json` wrote. What it did not write is refused, or raises what goes wrong."""
        numbers = {name: int(data[name]) for name in NUMBERS if name != "worth"}
        plan = cls(worth=Fraction(data["worth"]), **numbers)
        if plan.to_json() != dict(data):
            raise ReleaseFormat("a saved sketch writes its public numbers in their shortest form, as texts")
        return plan

    @property
    def bits(self) -> int:
        """Of the whole sketch."""
        return self.halves * self.columns << self.width

    @property
    def flips(self) -> Flips:
        return Flips(Fraction(self.ones, 1 << self.places), self.collisions)

    @property
    def collisions(self) -> Fraction:
        """k/s: with what chance at most a bit is set by another key."""
        return Fraction(self.keys, 1 << self.width)

    @property
    def reach(self) -> Fraction:
        """The largest value, in steps, that the bits can stand for."""
        return self.columns / self.worth


@register
@dataclass(frozen=True, eq=False)
class Sketch(Answer):
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
    adds_rows: ClassVar[bool] = True
    has_rows: ClassVar[bool] = False
    readers: ClassVar[tuple[str, ...]] = READERS

    plan: Plan
    seed: bytes
    packed: NDArray[np.uint8]
    labels: Labels
    values: NDArray[np.int64]

    # ------------------------------------------------------------ storing

    def pack(self) -> Packed:
        header = {"plan": self.plan.to_json(), "seed": self.seed.hex(), **labels_json(self.labels, "labels")}
        return Packed(header, {"packed": self.packed, "values": self.values})

    @classmethod
    def unpack(cls, packed: Packed) -> Sketch:
        try:
            return cls._read(packed.header, packed.arrays)
        except ReleaseFormat:
            raise
        except (DpvizError, KeyError, ValueError, TypeError, ArithmeticError):
            raise ReleaseFormat("a saved sketch has its public numbers, a seed, its bits and what is kept") from None

    @classmethod
    def _read(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Sketch:
        plan, seed = Plan.from_json(header["plan"]), bytes.fromhex(header["seed"])
        labels, values, bits = labels_of(header, "labels"), arrays["values"], arrays["packed"]
        names: list[Any] = list(labels)
        if (
            seed.hex() != header["seed"]
            or set(header) != {"plan", "seed", "keys", "labels"}
            or set(arrays) != {"packed", "values"}
        ):
            raise ReleaseFormat("a saved sketch writes its seed as hexadecimal digits")
        if bits.dtype != np.uint8 or bits.shape != (plan.halves * plan.columns, 1 << plan.width - 3):
            raise ReleaseFormat.of(f"bits of shape {bits.shape}", "a sketch has one row of bits for each column")
        if values.dtype != np.int64 or values.shape != (len(labels),) or names != sorted(set(names)):
            raise ReleaseFormat.of(f"{len(labels)} labels", "a sketch has one value for each bin that is kept")
        columns = Columns(seed, plan.halves * plan.columns, plan.width)
        return cls(plan, columns.seed, bits, labels, values)

    def fits(self, question: Question, max_items: int | None) -> bool:
        return are_labels(self.labels, question.domain) and (self.plan.halves == 2) == question.aggregate.signed

    # ------------------------------------------------------------ reading

    def axis(self, reading: Reading) -> Axis:
        """There are no rows: the axis is that of the look-ups."""
        size = reading.question.domain.size_text.removesuffix(" bins")
        return Axis(columns_of(reading.question), "bin", (), whole=size)

    def rows(self, reading: Reading) -> NoReturn:
        self._refuse("this answer has no row per bin", "ask for single bins: release[label]")

    def point(self, reading: Reading, label: object) -> int | str:
        domain = reading.question.domain
        return domain.index(label) if domain.declared else category_text(label)

    def run(self, reading: Reading, labels: range) -> range | None:
        return reading.question.domain.run(labels)

    def several(self, reading: Reading, labels: Sequence[object]) -> Sequence[int] | None:
        return reading.question.domain.several(labels)

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> list[Fraction]:
        """Values in the unit of the question: a kept one as it was drawn, all others by the estimator, rounded to a
        thousandth of a step."""
        reader = self._reader(reader)
        if points is None or isinstance(points, slice):
            return self.rows(reading)
        step = reading.question.aggregate.step
        known = self._known
        open_ = [point for point in points if point not in known] if known else points
        estimates = self._estimates(coded(open_, self.seed, numbered=_numbered(reading.question)), reader)
        different = {id(one): one for one in estimates}  # equal ones are most often the same object
        scaled = {name: round(one / self.plan.worth * PARTS) * step / PARTS for name, one in different.items()}
        if not known:
            return [scaled[id(one)] for one in estimates]
        kept, rest = [known.get(point) for point in points], iter(estimates)
        drawn = {value: value * step for value in {*kept} if value is not None}
        return [scaled[id(next(rest))] if value is None else drawn[value] for value in kept]

    @cached_property
    def _known(self) -> dict[int | str, int]:
        """What is kept. Whether a bin is among them is asked of the label, not of the value, which may be 0."""
        return dict(zip(self.labels, self.values.tolist(), strict=True))

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.seed, self.plan.halves * self.plan.columns, self.plan.width)

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
        top, known = self.plan.reach * step, self._known
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

    def weighted(self, reading: Reading, query: Query, reader: str = "") -> Fraction:
        """Each bin of a sum is read by itself."""
        if query.size > MOST_READ:
            self._refuse(
                f"a sum over this answer reads its bins one by one, at most {MOST_READ:,} of them", "take fewer bins"
            )
        total = added_up(self, reading, query, reader)
        assert isinstance(total, Fraction)
        return total

    @property
    def bits(self) -> int:
        """Of the sketch, and of the values that are kept beside it; not of their labels."""
        return self.plan.bits + 8 * self.values.nbytes

    def remark(self, reading: Reading) -> str:
        kept = f" {len(self.labels):,} large ones are kept beside the bits." if len(self.labels) else ""
        size = reading.question.domain.size_text
        return f"{size[:1].upper()}{size[1:]}, answered one by one: release[label].{kept}"

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        domain = reading.question.domain
        return View(
            kind="large",
            header={
                "axis": columns_of(reading.question),
                "columns": list(domain.columns),
                "scale": domain.kind,
                "bins": str(domain.size) if domain.declared else None,
                "size": domain.size_text,
                "sparse": False,
                "lookup": True,
                "labels": [],
                "short_labels": [],
                "list": None,
                "bars": bars_json(self, reading, betas),
            },
        )


def _numbered(question: Question) -> bool:
    return question.domain.declared and question.bins <= 2**64


def _end(end: Fraction, kept: bool, edge: Fraction | None, *, down: bool) -> Fraction | None:
    """An end of an interval; None where it is beyond what the bits can stand for."""
    if kept or edge is None:
        return end
    return None if (end <= edge if down else end >= edge) else end


protect_module(vars())
