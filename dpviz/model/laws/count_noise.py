"""The noise on one count, as a law: geometric with a real or a rational ratio, or the finite samplers'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, Enclosure, whole
from dpviz.laws import geometric
from dpviz.laws.clamped import Clamped
from dpviz.laws.finite import FastSampleLaw
from dpviz.laws.geometric import TwoSidedGeometric, above_bounds
from dpviz.model.laws.base import Stored

SamplerKind = Literal["geosample", "fastsample"]


class CountLaw(Protocol):
    """The law of one released count as a function of its true count."""

    def error_quantile(self, count: int, beta: Fraction) -> int: ...

    def expected_error(self, count: int, precision: int) -> Enclosure: ...

    def bias(self, count: int, precision: int) -> Enclosure: ...

    def chance_above(self, count: int, value: int) -> float: ...


@dataclass(frozen=True)
class FiniteLaw(Stored):
    """A finite sampler's law: ratio q/p, counts 0..n, and FastSample's g = 1/gamma and truncation t."""

    kind: SamplerKind
    n: int
    p: int
    q: int
    g: int
    t: int

    def __post_init__(self) -> None:
        if min(self.n, self.q, self.g + 1, self.t + 1) < 1 or self.p <= self.q:
            raise ReleaseFormat("a finite sampler's law has n >= 1 and p > q >= 1")
        if self.kind == "fastsample" and self.g < 2:
            raise ReleaseFormat("FastSample gives a uniform count with chance 1/g, for g of at least 2")

    @property
    def fast(self) -> FastSampleLaw:
        return FastSampleLaw(self.n, self.p, self.q, self.g, self.t)


@dataclass(frozen=True)
class NoiseLaw(Stored):
    """The noise on one count, and the public top of a count, if there is one; counts are never below 0.

    exponent  Pr[Z = z] is proportional to exp(-exponent |z|); None where a finite sampler draws it
    """

    exponent: Fraction | None
    finite: FiniteLaw | None
    limit: int | None

    def __post_init__(self) -> None:
        if (self.exponent is None) == (self.finite is None):
            raise ReleaseFormat("a noise law has an exponent or a finite sampler")
        if self.limit is not None:
            whole(self.limit, "limit")
        if self.finite is not None and self.limit != self.finite.n:
            raise ReleaseFormat.of(self.limit, "a finite sampler's counts end at its n")
        self.decay  # noqa: B018 - an exponent or a ratio that no noise has is refused

    @cached_property
    def decay(self) -> Decay:
        """The ratio of the noise: Pr[Z = z] is proportional to decay ** |z|."""
        if self.exponent is not None:
            return Decay.exp(self.exponent)
        assert self.finite is not None
        return Decay.rational(Fraction(self.finite.q, self.finite.p))

    @property
    def junk(self) -> FastSampleLaw | None:
        """The whole law where a count may be replaced by a uniform one."""
        return self.finite.fast if self.finite is not None and self.finite.kind == "fastsample" else None

    @cached_property
    def clamped(self) -> CountLaw:
        """The law of one released count clamped to 0..limit; a finite sampler clamps to 0..n by itself."""
        if self.junk is not None:
            return self.junk
        return Clamped(TwoSidedGeometric(self.decay), 0, self.limit if self.finite is None else self.finite.n)

    @property
    def open(self) -> CountLaw:
        """The law of one released count that is left as it is; a finite sampler clamps all the same."""
        return self.clamped if self.finite is not None else Clamped(TwoSidedGeometric(self.decay), None, None)

    def above(self, count: int, value: int, precision: int) -> Enclosure:
        """The chance that a bin with this count gets a noisy count above `value`, enclosed."""
        if self.junk is not None:
            return self.junk.above_bounds(count, value, precision)
        if self.limit is not None and value >= self.limit:
            return Fraction(0), Fraction(0)
        return self.beyond(value - count, precision)

    def beyond(self, z: int, precision: int) -> Enclosure:
        """The chance of noise above z, before any clamp, enclosed."""
        if z >= 0:
            return above_bounds(self.decay, z, precision)
        low, high = above_bounds(self.decay, -z - 1, precision)
        return 1 - high, 1 - low

    def within(self, chance: Fraction) -> int:
        """Noise before any clamp exceeds this with at most such a chance: about where a threshold or an error lies."""
        return geometric.error_quantile(self.decay, chance, 1)


def inside(count: int, limit: int | None) -> tuple[int, int]:
    """A hypothetical true count moved to the public limit, and by how much: an error is that much larger."""
    moved = count if limit is None else min(count, limit)
    return moved, count - moved


def least(holds: Callable[[int], bool], start: int = 0, near: int = 0) -> int:
    """The least whole number from `start` on that holds, where all above one that holds do; quick if `near` is near."""
    low = high = max(start, near)
    reach = 1
    if holds(high):
        while high > start and holds(low := max(start, high - reach)):
            high, reach = low, 2 * reach
    else:
        while not holds(high := low + reach):
            low, reach = high, 2 * reach
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


protect_module(vars())
