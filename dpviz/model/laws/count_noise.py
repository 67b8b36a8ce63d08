"""The noise on one count, as a law: geometric with a real or a rational ratio, or the finite samplers'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, Enclosure, decide, whole
from dpviz.fitting.noises import Noise, Term, law_of
from dpviz.laws import geometric
from dpviz.laws.clamped import Clamped
from dpviz.laws.finite import FastSampleLaw
from dpviz.laws.gaussian import DiscreteGaussian, gaussian_tail
from dpviz.laws.geometric import TwoSidedGeometric, above_bounds
from dpviz.laws.search import least
from dpviz.laws.truncated import TruncatedGeometric
from dpviz.model.laws.base import Stored
from dpviz.model.linear import Query, length

if TYPE_CHECKING:
    from dpviz.fitting.sums import NoiseSum
    from dpviz.model.sum_errors import SumError

BEYOND = ", and those beyond the public limit were lowered to it"

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
            raise ReleaseFormat.damaged(
                "a finite sampler's law has n >= 1 and p > q >= 1", f"n = {self.n}, p = {self.p}, q = {self.q}"
            )
        if self.kind == "fastsample" and self.g < 2:
            raise ReleaseFormat.damaged(
                "FastSample gives a uniform count with chance 1/g, for g of at least 2", f"g = {self.g}"
            )

    @property
    def fast(self) -> FastSampleLaw:
        return FastSampleLaw(self.n, self.p, self.q, self.g, self.t)


class BinNoise(Stored):
    """The noise on one count, whatever its law, and the public top of a count, if there is one."""

    limit: int | None

    @property
    def added(self) -> Noise:
        """The noise on a count, before any clamp."""
        raise NotImplementedError

    @property
    def top(self) -> int | None:
        """Counts above this are lowered to it by the sampler itself, whether or not a release clamps."""
        return None

    @property
    def junk(self) -> FastSampleLaw | None:
        """The whole law where a count may be replaced by a uniform one."""
        return None

    @property
    def clamped(self) -> CountLaw:
        """The law of one released count clamped to 0..limit."""
        return Clamped(law_of(self.added), 0, self.limit)

    @property
    def open(self) -> CountLaw:
        """The law of one released count that is left as it is; a finite sampler clamps all the same."""
        return self.clamped if self.top is not None else Clamped(law_of(self.added), None, None)

    def beyond(self, z: int, precision: int) -> Enclosure:
        """The chance of noise above z, before any clamp, enclosed."""
        raise NotImplementedError

    def above(self, count: int, value: int, precision: int) -> Enclosure:
        """The chance that a bin with this count gets a noisy count above `value`, enclosed."""
        if self.limit is not None and value >= self.limit:
            return Fraction(0), Fraction(0)
        return self.beyond(value - count, precision)

    def quantiles(self, levels: Sequence[Fraction]) -> list[int]:
        """Quantiles of the noise."""
        return law_of(self.added).quantiles(levels)

    def reads(self, count: int, levels: Sequence[Fraction], *, clamps: bool = True) -> list[int]:
        """Quantiles of one released count."""
        drawn = [count + z for z in self.quantiles(levels)]
        if not clamps and self.top is None:
            return drawn
        return [max(0, value if self.limit is None else min(value, self.limit)) for value in drawn]

    def added_up(self, query: Query) -> SumError:
        """The error of a weighted sum of counts with this noise, left as they are: its law is exactly that of the same
        sum of noises."""
        from dpviz.fitting.sums import NoiseSum
        from dpviz.model.sum_errors import SumError

        noise = NoiseSum.of(Term(self.added, weight, length(points)) for points, weight in query.parts)
        return SumError(noise, noise, certain=True, by="the exact law of the sum of the noises")

    def clamped_sum(self, query: Query, *, top: bool) -> SumError:
        """The error of a weighted sum of counts with this noise, clamped at 0, and at a public top where `top`."""
        return clamped_sum(self.added, query, top=top, junk=self.junk)


@dataclass(frozen=True)
class GaussianNoise(BinNoise):
    """Discrete Gaussian noise on one count, and the public top of a count, if there is one.

    variance  Pr[Z = z] is proportional to exp(-z**2 / (2 * variance))
    """

    variance: Fraction
    limit: int | None

    def __post_init__(self) -> None:
        if self.variance <= 0:
            raise ReleaseFormat.damaged("the variance of noise is positive", str(self.variance))
        if self.limit is not None:
            whole(self.limit, "limit")

    rate: ClassVar[float] = math.inf

    @cached_property
    def added(self) -> DiscreteGaussian:
        return DiscreteGaussian(self.variance)

    def beyond(self, z: int, precision: int) -> Enclosure:
        """The chance of noise above z, before any clamp, enclosed."""
        return gaussian_tail(self.variance, z + 1, precision)

    def within(self, chance: Fraction) -> int:
        """Noise before any clamp exceeds this with at most such a chance."""
        return self.added.least_above(chance)

    def beyond_either(self, chance: Fraction) -> int:
        """The least size that noise before any clamp exceeds, in either direction, with at most such a chance."""
        return self.added.error_quantile(chance)


@dataclass(frozen=True)
class NoiseLaw(BinNoise):
    """Geometric noise on one count, and the public top of a count, if there is one; counts are never below 0.

    exponent  Pr[Z = z] is proportional to exp(-exponent |z|); None where a finite sampler draws it
    """

    exponent: Fraction | None
    finite: FiniteLaw | None
    limit: int | None

    def __post_init__(self) -> None:
        if (self.exponent is None) == (self.finite is None):
            raise ReleaseFormat.damaged("a noise law has an exponent or a finite sampler", "both or neither")
        if self.limit is not None:
            whole(self.limit, "limit")
        if self.finite is not None and self.limit != self.finite.n:
            raise ReleaseFormat.damaged("a finite sampler's counts end at its n", self.limit)
        self.decay  # noqa: B018 - an exponent or a ratio that no noise has is refused

    @cached_property
    def decay(self) -> Decay:
        """The ratio of the noise: Pr[Z = z] is proportional to decay ** |z|."""
        if self.exponent is not None:
            return Decay.exp(self.exponent)
        assert self.finite is not None
        return Decay.rational(Fraction(self.finite.q, self.finite.p))

    @property
    def added(self) -> Decay:
        return self.decay

    @property
    def top(self) -> int | None:
        return None if self.finite is None else self.finite.n

    @cached_property
    def junk(self) -> FastSampleLaw | None:
        """The whole law where a count may be replaced by a uniform one."""
        return self.finite.fast if self.finite is not None and self.finite.kind == "fastsample" else None

    @cached_property
    def clamped(self) -> CountLaw:
        """The law of one released count clamped to 0..limit; a finite sampler clamps to 0..n by itself."""
        if self.junk is not None:
            return self.junk
        return Clamped(TwoSidedGeometric(self.decay), 0, self.limit if self.finite is None else self.finite.n)

    def above(self, count: int, value: int, precision: int) -> Enclosure:
        """The chance that a bin with this count gets a noisy count above `value`, enclosed."""
        if self.junk is not None:
            return self.junk.above_bounds(count, value, precision)
        return super().above(count, value, precision)

    def reads(self, count: int, levels: Sequence[Fraction], *, clamps: bool = True) -> list[int]:
        drawn, junk = super().reads(count, levels, clamps=clamps), self.junk
        if junk is None:
            return drawn

        def holds(level: Fraction, value: int, precision: int) -> bool | None:
            low, high = self.above(count, value, precision)
            return True if high <= 1 - level else False if low > 1 - level else None

        def found(level: Fraction, near: int) -> int:
            """Floating point says where about, so that few chances are enclosed."""
            most = float(1 - level)
            near = least(lambda value: junk.chance_above(count, value) <= most, near=near)
            return least(lambda value: decide(partial(holds, level, value)), near=near)

        return [found(level, near) for level, near in zip(levels, drawn, strict=True)]

    def beyond(self, z: int, precision: int) -> Enclosure:
        """The chance of noise above z, before any clamp, enclosed."""
        if z >= 0:
            return above_bounds(self.decay, z, precision)
        low, high = above_bounds(self.decay, -z - 1, precision)
        return 1 - high, 1 - low

    def within(self, chance: Fraction) -> int:
        """Noise before any clamp exceeds this with at most such a chance: about where a threshold or an error lies."""
        return geometric.error_quantile(self.decay, chance, 1)

    def beyond_either(self, chance: Fraction) -> int:
        """The least size that noise before any clamp exceeds, in either direction, with at most such a chance."""
        return geometric.error_quantile(self.decay, chance)

    @property
    def rate(self) -> float:
        """The logarithm by which a tail falls from one whole number to the next."""
        return geometric.float_rate(self.decay)


@dataclass(frozen=True)
class TruncatedNoise(BinNoise):
    """Geometric noise given that it lies in -reach..reach, and the public top of a count, if there is one.

    exponent  Pr[Z = z] is proportional to exp(-exponent |z|)
    """

    exponent: Fraction
    reach: int
    limit: int | None

    rate: ClassVar[float] = math.inf

    @cached_property
    def law(self) -> TruncatedGeometric:
        return TruncatedGeometric(Decay.exp(self.exponent), self.reach)

    @property
    def added(self) -> Decay:
        """The noise without its truncation, which bounds sums of max(Z, 0): it exceeds every size more often."""
        return self.law.decay

    @cached_property
    def clamped(self) -> CountLaw:
        return Clamped(self.law, 0, self.limit)

    def quantiles(self, levels: Sequence[Fraction]) -> list[int]:
        return self.law.quantiles(levels)

    def beyond(self, z: int, precision: int) -> Enclosure:
        """The chance of noise above z, before any clamp, enclosed."""
        return self.law.above(z, precision)

    def within(self, chance: Fraction) -> int:
        """Noise before any clamp exceeds this with at most such a chance."""
        return self.law.least_above(chance)

    def beyond_either(self, chance: Fraction) -> int:
        """The least size that noise before any clamp exceeds, in either direction, with at most such a chance."""
        return self.law.least_above(chance / 2)

    def added_up(self, query: Query) -> SumError:
        """Nothing is proved of sums that may err to both sides without a clamp."""
        raise ReleaseFormat.of(
            "truncated noise", "sums are bounded where counts are clamped at 0", "read single values"
        )


def clamped_sum(noise: Noise, query: Query, *, top: bool, junk: FastSampleLaw | None = None) -> SumError:
    """The error of a weighted sum of noisy counts that were clamped at 0, and at a public top where `top`.

    A true count c is never below 0. So a clamped noisy count max(c + Z, 0) is off by max(Z, -c), which lies between Z
    and Z+ = max(Z, 0), whatever c is. Clamped at a top that no c exceeds, too, it is off by at least -Z- = min(Z, 0):
    where the top takes something away, what is left is c or more. Errors are added up with their weights, those below 0
    with both ends exchanged. So for each true vector of counts the sum S of a query exceeds the truth by at most the
    sum of w Z+ over weights above 0, and of |w| Z (|w| Z-, with a top) over weights below 0; and it falls short of it
    by at most what the same gives for -w. Each of the two has a quantile that it exceeds with probability beta / 2 at
    most, and where all weights are 1 the truth lies in

        [S - q(1 - beta/2) of the sum of Z+,  S - q(beta/2) of the sum of Z, or of -Z-]

    FastSample puts a noise that is too large at 0, which lies between -Z- and Z+, and once in g times a count is
    uniform: the chance that any count of the query is such a one is spared.
    """
    from dpviz.fitting.sums import NoiseSum
    from dpviz.model.sum_errors import SumError

    def side(sign: int) -> NoiseSum:
        """A sum that the error, times `sign`, never exceeds: of Z+ where it is raised, of Z or Z- elsewhere."""
        return NoiseSum.of(
            Term(noise, abs(weight), length(points), positive=top or weight * sign > 0)
            for points, weight in query.parts
        )

    uniform = Fraction(0) if junk is None else Fraction(1, junk.g)
    drift = Fraction(0) if junk is None else query.total * uniform * junk.n
    return SumError(
        over=side(1),
        under=side(-1),
        certain=False,
        by=f"the law of the sum of max(Z, 0), and of {'max(-Z, 0)' if top else 'Z'} on the other side",
        spare=min(Fraction(1), query.size * uniform),
        why="" if junk is None else "More counts may be uniform ones than an interval may miss.",
        bias_words=f"biased: counts that would be below 0 were raised to 0{BEYOND if top else ''}",
        over_mean=drift,
        under_mean=drift,
    )


def inside(count: int, limit: int | None) -> tuple[int, int]:
    """A hypothetical true count moved to the public limit, and by how much: an error is that much larger."""
    moved = count if limit is None else min(count, limit)
    return moved, count - moved


protect_module(vars())
