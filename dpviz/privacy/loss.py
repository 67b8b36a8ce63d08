"""Exact privacy losses. The unit and relation that they are measured against are a Guarantee's business."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import log1p_bounds, text, whole


def _check(name: str, value: Fraction, *, below_one: bool = False) -> None:
    if not isinstance(value, Fraction):
        raise ParameterError.of(value, f"{name} must be a Fraction", "read it with dpviz.exact.rational")
    if value < 0 or (below_one and value >= 1):
        raise ParameterError.of(
            text(value),
            f"{name} must lie in [0, 1)" if below_one else f"{name} must not be negative",
            "give one in this range",
        )


@dataclass(frozen=True, slots=True)
class PureDP:
    """Pure differential privacy: every answer is at most exp(epsilon) times likelier on one neighbour.

    Parameters
    ----------
    epsilon : Fraction
        At least 0.

    Raises
    ------
    ParameterError
        If epsilon is negative or no Fraction.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _check("epsilon", self.epsilon)

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    @property
    def short(self) -> str:
        return f"ε {text(self.epsilon)}"

    @property
    def sentence(self) -> str:
        return f"{text(self.epsilon)}-differential privacy"


@dataclass(frozen=True, slots=True)
class ApproxDP:
    """Approximate differential privacy: PureDP but for an excess probability of delta.

    Parameters
    ----------
    epsilon : Fraction
        At least 0.
    delta : Fraction
        In [0, 1).

    Raises
    ------
    ParameterError
        If a parameter is outside its range or no Fraction.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _check("epsilon", self.epsilon)
        _check("delta", self.delta, below_one=True)

    @property
    def short(self) -> str:
        return f"ε {text(self.epsilon)}, δ {text(self.delta)}"

    @property
    def sentence(self) -> str:
        return f"({text(self.epsilon)}, {text(self.delta)})-differential privacy"


@dataclass(frozen=True, slots=True)
class ZCDP:
    """Zero-concentrated DP: the Rényi divergence of order a is at most rho * a, for every a > 1.

    Parameters
    ----------
    rho : Fraction
        At least 0.

    Raises
    ------
    ParameterError
        If rho is negative or no Fraction.
    """

    rho: Fraction

    def __post_init__(self) -> None:
        _check("rho", self.rho)

    @property
    def short(self) -> str:
        return f"ρ {text(self.rho)}"

    @property
    def sentence(self) -> str:
        return f"{text(self.rho)}-zero-concentrated differential privacy"


@dataclass(frozen=True, slots=True)
class ApproxZCDP:
    """Zero-concentrated DP but for an excess probability of delta: both laws are mixtures, with weights of at least 1 -
    delta, of laws whose Rényi divergence of each order a is at most rho * a.

    A zCDP filter books both. Source: Bun, Steinke 2016, Definition 8.1.

    Parameters
    ----------
    rho : Fraction
        At least 0.
    delta : Fraction
        In [0, 1).

    Raises
    ------
    ParameterError
        If a parameter is outside its range or no Fraction.
    """

    rho: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _check("rho", self.rho)
        _check("delta", self.delta, below_one=True)


@dataclass(frozen=True, slots=True)
class RangeBounded:
    """Adaptive steps whose log ratios each lie in an interval of length epsilon, but for delta in all.

    Source: Durfee, Rogers, Definition 4.2. A mechanism with a bottom symbol is range-bounded only once its domain is
    agreed on. That costs delta, in `rounds` equal parts of one question each, and moves every log ratio by up to ln(1 +
    delta / rounds) for each step.

    Parameters
    ----------
    epsilon : Fraction
        The length of the interval; at least 0.
    delta : Fraction, default 0
        In [0, 1); the price of agreeing on a domain, over all rounds.
    steps : int, default 1
        The number of steps.
    rounds : int, default 1
        The questions that share delta in equal parts.

    Raises
    ------
    ParameterError
        If a parameter is outside its range or no Fraction.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    steps: int = 1
    rounds: int = 1

    def __post_init__(self) -> None:
        _check("epsilon", self.epsilon)
        _check("delta", self.delta, below_one=True)
        for name in ("steps", "rounds"):
            whole(getattr(self, name), name)

    @property
    def shift(self) -> Fraction:
        """steps * ln(1 + delta / rounds), rounded up: what the agreement on the domain adds to an epsilon."""
        return self.steps * log1p_bounds(self.delta / self.rounds)[1] if self.delta else Fraction(0)

    @property
    def short(self) -> str:
        return f"{self.steps} × range ε {text(self.epsilon)}" + (f", δ {text(self.delta)}" if self.delta else "")

    @property
    def sentence(self) -> str:
        return f"{self.steps} range-bounded steps of {text(self.epsilon)}" + (
            f" with δ = {text(self.delta)}" if self.delta else ""
        )


Loss: TypeAlias = PureDP | ApproxDP | ZCDP | RangeBounded

Steps: TypeAlias = RangeBounded | ZCDP | ApproxZCDP
"""A loss in the terms in which a zCDP filter books it."""


protect_module(vars())
