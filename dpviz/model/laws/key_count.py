"""A noisy number of bins, raised so that it is above the true one but for a small chance, and how far off it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, Enclosure, whole
from dpviz.laws.geometric import TwoSidedGeometric, quantiles
from dpviz.laws.search import least
from dpviz.model.error import ErrorModel, ErrorValue, How
from dpviz.model.laws.base import Clamp, StoredLaw, stored
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit


@stored
@dataclass(frozen=True)
class KeyCountLaw(StoredLaw):
    """max(1, k + Z + shift) for k bins that are not empty, and Z with chances of exp(-exponent |z|)."""

    name: ClassVar[str] = "key count"

    exponent: Fraction
    shift: int

    def __post_init__(self) -> None:
        whole(self.shift, "shift")
        if self.exponent <= 0:
            raise ReleaseFormat.damaged("the exponent of a noise is positive", str(self.exponent))

    @cached_property
    def noise(self) -> TwoSidedGeometric:
        return TwoSidedGeometric(Decay.exp(self.exponent))

    @property
    def clamp(self) -> Clamp:
        return 0, None

    @cached_property
    def error(self) -> ErrorModel:
        return KeyCountError(self)

    def title(self, question: Question, unit: Unit) -> str:
        return f"Number of bins of {question.domain.columns_text} that are not empty"

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return (
            Measure(
                name="number",
                label="The number",
                short="number",
                phrase="the number within {value}",
                tip="At least {times} the {done} number is within {value} of the true one. It is raised on purpose.",
                at=self.error.one_bin,
                weight="thick",
                pictured=True,
                given=lambda beta, count: self.error.one_bin(beta, count=count),
            ),
        )


@dataclass(frozen=True)
class KeyCountError(ErrorModel):
    """The exact error of the one number."""

    law: KeyCountLaw

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        value = least(lambda a: self._far(a, count)[1] <= beta)
        how: How = "exact" if value == 0 or self._far(value - 1, count)[0] > beta else "bound"
        rule = "worst case over exact numbers" if count is None else f"the law where {count:,} bins are not empty"
        return ErrorValue(Fraction(value), how, rule)

    def all_bins(self, beta: Fraction) -> ErrorValue:
        return self.one_bin(beta)

    def _far(self, a: int, count: int | None) -> Enclosure:
        """The chance of being off by more than a, enclosed: for this true number, or for the worst, which is large, but
        of 0 none is off by less than 1."""
        if a < 1 - (count or 0):
            return Fraction(1), Fraction(1)
        noise, shift = self.law.noise, self.law.shift
        up, down = noise.above(a - shift), noise.above(a + shift)
        return up if count is not None and count <= a + 1 else (up[0] + down[0], up[1] + down[1])

    def quantiles(self, levels: list[Fraction]) -> list[int]:
        return [value + self.law.shift for value in quantiles(self.law.noise.decay, levels)]


protect_module(vars())
