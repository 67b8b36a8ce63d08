"""A sketch of logarithms: few columns for any range of values, read with an error that is a factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, cast

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import ceil_to, floor_to, text
from dpviz.laws.alp_readers import tails
from dpviz.laws.log_encoding import FINE, HIGHEST, Rungs
from dpviz.model.answers.base import register
from dpviz.model.answers.reading import Among, Intervals, Packed, Points, Reading
from dpviz.model.answers.sketch import PARTS, READERS, Sketch, SketchPlan
from dpviz.model.error import ErrorModel


@dataclass(frozen=True)
class LogPlan(SketchPlan):
    """The public numbers of a sketch of logarithms: those of a sketch, and the factor from one bit to the next.

    worth   how many bits one step of a value is worth at most: just above the floor
    growth  each further bit stands for a value that is larger by this factor, as `Rungs` makes its table
    """

    growth: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.halves != 1 or not 1 < self.growth < 1 << 10:
            raise ReleaseFormat.damaged(
                "a sketch of logarithms has values of one sign, and each bit stands for more",
                f"{self.halves} halves and a growth of {self.growth}",
            )
        if self.rungs.table[0] >> 60 or self.rungs.top > 4 * HIGHEST:
            raise ReleaseFormat.damaged(
                f"a sketch of logarithms reaches values of about {HIGHEST:,} steps at most", f"{self.rungs.top:,}"
            )

    def to_json(self) -> dict[str, str]:
        return {**super().to_json(), "growth": str(self.growth)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LogPlan:
        plan = SketchPlan.from_json({name: value for name, value in data.items() if name != "growth"})
        found = cls(
            **{one.name: getattr(plan, one.name) for one in fields(SketchPlan)}, growth=Fraction(data["growth"])
        )
        if found.to_json() != dict(data):
            raise ReleaseFormat.damaged(
                "a saved sketch writes its public numbers in their shortest form, as texts", "other texts"
            )
        return found

    @cached_property
    def rungs(self) -> Rungs:
        return Rungs(self.worth, self.growth, self.columns)

    @property
    def reach(self) -> Fraction:
        return self.rungs.top

    def off(self, beta: Fraction, reader: str = READERS[0]) -> Fraction:
        """By how many bits an estimate is off, at most, but for a chance of beta."""
        return Fraction(tails(self.flips, self.columns, reader).within(float(beta)))


class LogErrors(ErrorModel):
    """The statement about the error of such a sketch beyond that of other sketches. Together the two fail for any one
    bin with a chance of beta."""

    def off(self, beta: Fraction) -> Fraction:
        """By how many bits what is read from the bits is off, at most."""
        raise NotImplementedError

    def kept(self, beta: Fraction) -> int:
        """By how many steps a value that is kept beside the bits is off, at most."""
        raise NotImplementedError


@register
@dataclass(frozen=True, eq=False)
class LogSketch(Sketch):
    """A sketch whose bits stand for logarithms. A value below the floor is read as the floor, or as more.

    The bound on an estimate is in bits, so an interval is wide where the value is large: from
    the value divided by a factor to the value times that factor, and from 0 where it may lie below the floor. A value
    that is kept is off by so many steps, however large it is.
    """

    kind: ClassVar[str] = "log-sketch"
    numbers: ClassVar[type[SketchPlan]] = LogPlan

    plan: LogPlan

    def _steps(self, bits: Fraction) -> Fraction:
        return self.plan.rungs.steps(bits)

    def offline_look_ups(self, reading: Reading, betas: Sequence[Fraction]) -> Packed:
        """Those of a sketch, the values that bits stand for, by how many bits each estimator is off, and by how many
        steps what is kept."""
        packed = super().offline_look_ups(reading, betas)
        errors = {name: cast(LogErrors, reading.error.estimator(name)) for name in self.readers}
        kept = errors[READERS[0]].kept
        rungs = {
            "rungs": [str(rung) for rung in self.plan.rungs.table],
            "fine": str(1 << FINE),
            "off": {name: {text(beta): text(error.off(beta)) for beta in betas} for name, error in errors.items()},
            **({"kept": {text(beta): str(kept(beta)) for beta in betas}} if self.labels else {}),
        }
        return Packed(packed.header | rungs, packed.arrays)

    def intervals(
        self, reading: Reading, beta: Fraction, among: Among = "one", points: Points = None, reader: str = ""
    ) -> Intervals | None:
        """The values whose bits are as near to the estimate as the truth's are, but for a chance of beta. An end is
        open where the bits cannot stand for more."""
        reader = self._reader(reader)
        error = reading.error.estimator(reader)
        bar = error.one_bin(beta) if among == "one" else error.all_bins(beta)
        if bar is None:
            return None
        if points is None or isinstance(points, slice):
            return self.rows(reading)
        errors, level = cast(LogErrors, error), beta if among == "one" else beta / reading.question.bins
        off, kept = errors.off(level), errors.kept(level) if self.labels else 0
        step, rungs, part, known = reading.question.aggregate.step, self.plan.rungs, Fraction(1, PARTS), self.known
        ends: dict[Fraction, tuple[Fraction, Fraction | None]] = {}
        estimates = iter(self.in_bits(reading, [point for point in points if point not in known], reader))
        low: list[Fraction] = []
        high: list[Fraction | None] = []
        for point in points:
            if point in known:
                low.append(max(Fraction(0), (known[point] - kept) * step))
                high.append((known[point] + kept) * step)
                continue
            bits = next(estimates)
            if bits not in ends:
                below = floor_to(rungs.steps(bits - off), part) * step if bits > off else Fraction(0)
                above = ceil_to(rungs.steps(bits + off), part) * step if bits + off < self.plan.columns else None
                ends[bits] = below, above
            low.append(ends[bits][0])
            high.append(ends[bits][1])
        return Intervals(low, high, bar.how, bar.rule)


protect_module(vars())
