"""The composition sheet: what k adaptive steps cost together by every rule, from public parameters alone.

Each rule is valid for what it is told of a step: that it is private (sum, Theorem 3, zCDP; and the exact composition of
steps whose prices are fixed beforehand), or also that it is range-bounded, as a draw of the exponential mechanism from
monotone counts is (Lemma 4.4 and its repair by concentration). Source: Durfee, Rogers, Theorem 3, Lemma 4.4, Appendix A
and Figure 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, positive, probability, rational, text, whole
from dpviz.planning.fans import Fanned, Spot, key_of
from dpviz.planning.grid import power_text, ticks
from dpviz.privacy.composition import compose_dp, compose_range_bounded, compose_zcdp
from dpviz.privacy.concentrated import pure_rho
from dpviz.privacy.conversion import STEP
from dpviz.privacy.optimal import exact_optimal_dp, figure_ratio
from dpviz.privacy.renyi import epsilon_for

VERSION = 1
EPSILONS = ticks(Fraction(1, 200), Fraction(2))
DELTAS = tuple(Fraction(1, 10**places) for places in range(12, 1, -1))
COUNTS = tuple(int(value) for value in ticks(Fraction(1), Fraction(1000)) if value.denominator == 1)
"""The numbers of steps at which the rules are compared."""

MOST = 1000
LARGEST = Fraction(10)
"""No step of the sheet is larger: the sums of a thousand are meant to be looked at."""

FIGURE_EPSILONS = tuple(Fraction(value) for value in ("0.01", "0.05", "0.1", "0.5", "1"))
FIGURE_DELTA = Fraction(1, 10**6)
FIGURE_COUNTS = tuple(sorted({round(10 ** (step / 24)) for step in range(73)}))
"""Where the curves of Figure 1 are computed: evenly on a logarithmic axis up to 1000."""

Rule = Callable[[int, Fraction, Fraction], Fraction]
RULES: dict[str, tuple[str, str, Rule]] = {
    "sum": ("sum", "private; no δ′ is used", lambda k, epsilon, delta: k * epsilon),
    "dp": (
        "advanced composition",
        "private",
        lambda k, epsilon, delta: compose_dp({(epsilon, Fraction(0)): k}, delta).epsilon,
    ),
    "rho": (
        "zCDP",
        "private; prices may adapt",
        lambda k, epsilon, delta: min(k * epsilon, epsilon_for(k * pure_rho(epsilon), delta)),
    ),
    "exact": (
        "exact composition",
        "private; prices fixed",
        exact_optimal_dp,
    ),
    "bounded": (
        "range-bounded",
        "range-bounded",
        lambda k, epsilon, delta: compose_range_bounded({epsilon: k}, delta).epsilon,
    ),
    "zcdp": (
        "range-bounded zCDP",
        "range-bounded",
        lambda k, epsilon, delta: compose_zcdp({epsilon: k}, delta).epsilon,
    ),
}
"""The rules by name: label, what a step must be, and the epsilon of k steps of epsilon at delta'."""


@dataclass(frozen=True)
class CompositionSheet(Fanned):
    """k steps of `epsilon` at delta' = `delta`, probed at `k`, with a fan for epsilon and one for delta'.

    >>> point = CompositionSheet(Fraction(1, 10), Fraction(1, 10**6), 50).point()
    >>> {rule["name"]: rule["epsilon"][COUNTS.index(50)] for rule in point["rules"][:4]}
    {'sum': '5', 'dp': '3.966715', 'rho': '3.540656', 'exact': '3.172903'}
    """

    epsilon: Fraction = Fraction(1, 10)
    delta: Fraction = FIGURE_DELTA
    k: int = 50

    def __post_init__(self) -> None:
        epsilon = positive(self.epsilon, "epsilon")
        if epsilon > LARGEST:
            raise ParameterError.of(
                text(epsilon), f"the epsilon of one step must be at most {text(LARGEST)} here", "take a smaller epsilon"
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", probability(self.delta, "delta", zero=False))
        object.__setattr__(self, "k", whole(self.k, "k", most=MOST))

    def moved(self, place: Mapping[str, str]) -> CompositionSheet:
        """The sheet through the point that a page names: its epsilon, its delta' and its k."""
        if set(place) != {"epsilon", "delta", "k"}:
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                "a place has epsilon, delta and k",
                "give each of them, and nothing else",
            )
        return CompositionSheet(
            rational(place["epsilon"], "epsilon"), rational(place["delta"], "delta"), whole(place["k"], "k", most=MOST)
        )

    def counts(self) -> list[int]:
        """The numbers of steps of this sheet: the grid, and the probe."""
        return sorted({*COUNTS, self.k})

    @property
    def _grids(self) -> tuple[list[Fraction], list[Fraction]]:
        return sorted({*EPSILONS, self.epsilon}), sorted({*DELTAS, self.delta})

    def head(self) -> dict[str, Any]:
        epsilons, deltas = self._grids
        counts = [str(k) for k in self.counts()]
        return {
            "version": VERSION,
            "axes": [
                _axis("epsilon", "ε per step", "the same for every step", [text(value) for value in epsilons]),
                {
                    **_axis("delta", "δ′ for composing", "every rule but the sum costs this δ, too", _texts(deltas)),
                    "values": [power_text(value) for value in deltas],
                },
                _axis("k", "Steps k", "answers, or symbols of a list", counts),
            ],
            "rules": [{"name": name, "label": label, "about": about} for name, (label, about, _) in RULES.items()],
            "figure": figure(),
        }

    def here(self) -> Spot:
        return Spot(key_of(self), self.point)

    def fans(self) -> dict[str, list[Spot]]:
        epsilons, deltas = self._grids
        return {
            "epsilon": [replace(self, epsilon=value).here() for value in epsilons],
            "delta": [replace(self, delta=value).here() for value in deltas],
        }

    def point(self) -> dict[str, Any]:
        """The price of each number of steps by each rule, and up to how many bins Laplace noise costs no more."""
        bounded = [_bounded(k, self.epsilon, self.delta) for k in self.counts()]
        return {
            "at": {"epsilon": text(self.epsilon), "delta": text(self.delta), "k": str(self.k)},
            "rules": [
                {"name": name, "epsilon": [_shown(rule(k, self.epsilon, self.delta)) for k in self.counts()]}
                for name, (_label, _about, rule) in RULES.items()
            ],
            "laplace": [str(epsilon // self.epsilon) for epsilon in bounded],
            "equal": [float(f"{float(epsilon / self.epsilon):.5g}") for epsilon in bounded],
        }


def _bounded(k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The price of a list of k by peeling: Lemma 4.4."""
    return RULES["bounded"][2](k, epsilon, delta)


@lru_cache(maxsize=1)
def figure() -> dict[str, Any]:
    """Figure 1: the optimal rule for private steps over each rule for range-bounded ones, at the same delta.

    The delta of a point is the largest that the optimal rule meets up to 10^-6. Ratios are floats, for the picture.
    """
    return {
        "delta": text(FIGURE_DELTA),
        "k": list(FIGURE_COUNTS),
        "curves": [
            {
                "epsilon": text(epsilon),
                "bounded": [_ratio(k, epsilon, zcdp=False) for k in FIGURE_COUNTS],
                "zcdp": [_ratio(k, epsilon, zcdp=True) for k in FIGURE_COUNTS],
            }
            for epsilon in FIGURE_EPSILONS
        ],
    }


def _ratio(k: int, epsilon: Fraction, *, zcdp: bool) -> float:
    return round(float(figure_ratio(k, epsilon, FIGURE_DELTA, zcdp=zcdp)), 4)


def _shown(epsilon: Fraction) -> str:
    """A price, rounded up where it is no short decimal."""
    return text(epsilon if (epsilon / STEP).denominator == 1 else ceil_to(epsilon, STEP))


def _texts(values: list[Fraction]) -> list[str]:
    return [text(value) for value in values]


def _axis(name: str, label: str, hint: str, grid: list[str]) -> dict[str, Any]:
    return {"name": name, "label": label, "hint": hint, "grid": grid, "values": grid}


protect_module(vars())
