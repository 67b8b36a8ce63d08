"""The noise on one count, which every histogram mechanism shares: its law, its price, its sampler.

`CountNoise` are the parameters a person types; `bind` fixes them to a sensitivity and a public range and gives
`BoundNoise`, which draws, answers for its law and says what it costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, exp_bounds, log_at_most, log_up, text
from dpviz.laws import tables
from dpviz.model.laws.count_noise import FiniteLaw, NoiseLaw, SamplerKind
from dpviz.model.mechanism import Mode
from dpviz.model.parameters import ExactNumber, OneOf, WholeNumber, parameter
from dpviz.model.source import Tick
from dpviz.noise.geometric import check_scale, two_sided_geometric
from dpviz.privacy.conversion import STEP
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.noise.bits import Bits

Base = Literal["exp", "paper", "tight"]
Sampler = Literal["auto", "geosample", "fastsample"]

GAMMA = Fraction(1, 2**30)
"""Default chance that FastSample gives one count a uniform value: public, stated, and small beside any useful beta."""


MOST_COUNT = 2**60
"""A public bound on counts is at most this, so that counts and their intervals fit into 64 bits."""

STRICT_BITS = 1 << 24
"""The uniform integer that strict mode takes for one count has at most about so many bits."""


# ---------------------------------------------------------------- what is typed


@dataclass(frozen=True)
class OneOver(ExactNumber):
    """One over a whole number of at least 2."""

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Fraction:
        part = super().read(value, name, earlier)
        if not (0 < part < 1) or part.numerator != 1:
            raise ParameterError.of(
                text(part), f"{name} must be one over a whole number of at least 2", "write it like 1/1000"
            )
        return part


LAWS: Final = {
    "exp": "exp: exactly the ε that you ask",
    "tight": "tight: rational, for finite computers",
    "paper": "paper: rational, powers of two",
}
LAW: Final[Any] = parameter(
    reads=OneOf(Base),
    default="exp",
    label="Noise law",
    options=LAWS,
)
SAMPLER: Final[Any] = parameter(
    reads=OneOf(Sampler),
    default="auto",
    label="Sampler",
    options={"auto": "auto", "geosample": "GeoSample", "fastsample": "FastSample"},
)
UNIFORM: Final[Any] = parameter(reads=OneOver(), default=None, optional=True, label="γ, chance of a uniform count")
COUNTS: Final = WholeNumber(most=MOST_COUNT)
CAP: Final[Any] = parameter(
    reads=COUNTS,
    default=None,
    optional=True,
    label="Cap on a count (public)",
    stays=True,
    premise=("no count is above {value}",),
)


def check_law(base: str, sampler: Sampler, gamma: object) -> None:
    """Refuse a finite sampler, or what belongs to one, without a rational base."""
    rational = base in ("paper", "tight")
    if not rational and sampler != "auto":
        raise ParameterError.of(sampler, "the finite samplers need a rational base", 'use base="tight"')
    if not rational and gamma is not None:
        raise ParameterError.of(gamma, "gamma belongs to FastSample, which needs a rational base", "leave gamma out")


def check_limit(limit: int | None) -> int | None:
    """A public bound on counts. Refused where counts and their intervals would not fit into 64 bits."""
    if limit is not None and limit > MOST_COUNT:
        raise ParameterError.of(limit, f"a public bound on counts is at most {MOST_COUNT:,}", "give a smaller cap=")
    return limit


# ---------------------------------------------------------------- the noise


@dataclass(frozen=True)
class CountNoise:
    """Which law the noise has: the parameters of a mechanism that are about it."""

    epsilon: Fraction
    base: Base
    sampler: Sampler
    gamma: Fraction | None
    cap: int | None

    def bind(self, l1: int, n: int | None) -> BoundNoise:
        """Fix the law for counts that one unit moves by l1 in all; `n` is the unit's public number of rows."""
        limit = check_limit(n if self.cap is None else self.cap)
        # Ghosh, Roughgarden, Sundararajan 2009: noise with Pr[Z = z] proportional to exp(-epsilon |z| / l1) on each
        # count is epsilon-DP for a unit that moves them by l1 in all.
        check_scale(Decay.exp(self.epsilon / l1))
        if self.base == "exp":
            return BoundNoise(self, l1, limit, None)
        if limit is None:
            raise ParameterError.of(
                f'base="{self.base}"',
                "the finite samplers need a public bound on every count, and this unit has no public n",
                'give cap=, a bound chosen without looking at the data, or use base="exp"',
            )
        part = _finite(self, limit, l1)
        check_scale(Decay.rational(Fraction(part.q, part.p)))
        return BoundNoise(self, l1, limit, part)


@dataclass(frozen=True)
class BoundNoise:
    """The law in force. `limit` is the public top of a count, if there is one; counts are never below 0."""

    parameters: CountNoise
    l1: int
    limit: int | None
    finite: FiniteLaw | None

    @property
    def decay(self) -> Decay:
        """The ratio of the noise: Pr[Z = z] is proportional to decay ** |z|."""
        return self.law.decay

    @property
    def junk(self) -> bool:
        """Whether a count may be replaced by a uniform one."""
        return self.law.junk is not None

    @property
    def paid(self) -> Fraction:
        """The price of l1 steps: as typed, or l1 ln(p/q) rounded up to the price grid, never above what was asked."""
        if self.finite is None:
            return self.parameters.epsilon
        # Balcer, Vadhan 2018, Theorem 5.2: one step of a count changes the law by p/q at most, and a unit moves l1
        # steps.
        return min(self.parameters.epsilon, log_up(Fraction(self.finite.p, self.finite.q), STEP, self.l1))

    @property
    def exact(self) -> str:
        """The true price as an expression, where the charge is a rounding of it."""
        if self.finite is None:
            return ""
        return f"{'' if self.l1 == 1 else f'{self.l1} '}ln({self.finite.p}/{self.finite.q})"

    @cached_property
    def law(self) -> NoiseLaw:
        """The law by itself, as a release stores it."""
        if self.finite is None:
            return NoiseLaw(self.parameters.epsilon / self.l1, None, self.limit)
        return NoiseLaw(None, self.finite, self.limit)

    def guarantee(self, unit: Unit, asked: Fraction) -> Guarantee:
        """Return the price of noise on every count."""
        rule = (
            "two-sided geometric noise, Ghosh, Roughgarden, Sundararajan 2009"
            if self.finite is None
            else "Balcer, Vadhan 2018, Theorem 5.2, at the ratio in force"
        )
        return Guarantee(PureDP(self.paid), unit, rule, requested=asked, exact=self.exact)

    def table_bound(self, beta: Fraction, bins: int) -> Fraction:
        """The paper's bound on the error of so many counts (Figure 3), which the exact quantiles undercut."""
        # The paper's epsilon is that of replacing a row, which moves two counts by one each.
        epsilon = 2 * self.parameters.epsilon / self.l1 if self.finite is None else self.paper_epsilon
        column = "geometric" if self.finite is None else self.finite.kind
        return Fraction(tables.basic(epsilon, beta, bins=bins, column=column))

    @property
    def paper_epsilon(self) -> Fraction:
        """The paper's replace-one parameter of a finite sampler, 1/whole for base="paper"."""
        step = self.parameters.epsilon / self.l1
        return Fraction(1, paper_exponent(step)) if self.parameters.base == "paper" else 2 * step

    def modes(self) -> tuple[Mode, ...]:
        """Strict works with whole numbers of `length` bits; above STRICT_BITS one count would take minutes."""
        part = self.finite
        if part is None:
            return ("exact",)
        length = (part.n if part.kind == "geosample" else part.t) * part.p.bit_length()
        return ("exact", "strict") if length <= STRICT_BITS else ("exact",)

    def add(
        self,
        counts: NDArray[np.int64],
        bits: Bits,
        mode: Mode,
        tick: Tick | None = None,
        *,
        low: int | None = 0,
        high: int | None = None,
    ) -> NDArray[np.int64]:
        """The counts with noise, clamped to low..high. Counts outside that are clamped first, in silence."""
        if self.finite is None:
            return two_sided_geometric(self.decay).add(counts, low, high, bits, tick)
        from dpviz.noise.finite import FiniteSampler

        part = self.finite
        sampler = FiniteSampler(n=part.n, p=part.p, q=part.q, kind=part.kind, g=part.g, t=part.t)
        return sampler.add(counts, bits, tick, mode=mode)


def paper_exponent(step: Fraction) -> int:
    """The whole number e whose 1/e is the largest replace-one parameter of the paper that `step` pays for."""
    return int(-(-1 // (2 * step)))


def _finite(noise: CountNoise, n: int, l1: int) -> FiniteLaw:
    """The rational law whose price l1 ln(p/q) is at most epsilon, and the sampler that needs fewer random bits."""
    from dpviz.noise.finite import paper_base, truncation

    step = noise.epsilon / l1
    e = paper_exponent(step) if noise.base == "paper" else 0
    p, q = paper_base(e) if e else tight_base(step)
    g = int(1 / (noise.gamma or GAMMA))
    t = truncation(n, g, p, q, rule="paper" if noise.base == "paper" else "tight", e=e or None)
    shorter: SamplerKind = "geosample" if n <= t else "fastsample"
    return FiniteLaw(shorter if noise.sampler == "auto" else noise.sampler, n, p, q, g, t)


def tight_base(step: Fraction) -> tuple[int, int]:
    """The rational p/q just below exp(step): (b + 1)/b with the smallest b up to ln 2, else floor(64 e^step)/64.

    Source: the remark that GeoSample is exact for any integers p > q >= 1; the price is then decided by `log_at_most`.
    """
    if log_at_most(Fraction(2), step):
        numerator = int(64 * exp_bounds(step)[0])
        ratio = Fraction(numerator, 64)
        return ratio.numerator, ratio.denominator
    b = max(1, int(1 / step) - 1)
    while not log_at_most(Fraction(b + 1, b), step):
        b += 1
    return b + 1, b


protect_module(vars())
