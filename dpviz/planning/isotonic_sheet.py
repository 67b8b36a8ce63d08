"""The isotonic sheet: made-up or public counts in ascending order, with seeded noise, pooled, and two bands around it.

One panel of Hay, Rastogi, Miklau, Suciu 2010, section 3 and Figure 3: what was asked (S~), sorted and rounded (S~r),
and fitted (S-bar); how far off each is in this draw, and the harmonic bound on what is expected of the fit. Noise comes
from a seed that everybody knows: nothing here is private, and nothing can reach a ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import one_word, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, ceil_to, positive, rational, text, whole
from dpviz.fitting.bands import multiscale
from dpviz.fitting.isotonic import error_bound, isotonic, sorted_rounded
from dpviz.laws.geometric import TwoSidedGeometric, error_quantile, simultaneous_quantile
from dpviz.model.public import BADGE
from dpviz.noise.bits import TeachingBits
from dpviz.noise.geometric import two_sided_geometric
from dpviz.planning.fans import Fanned, Spot, key_of
from dpviz.planning.grid import LABELLED, ticks

VERSION = 1
SIZES: Final = (20, 50, 100, 200, 500, 1000)
MOST = 2000
"""The most counts that are drawn one by one."""

COLUMNS = 300
"""Noisy values of more positions are told by the least and the greatest of each stretch."""

EPSILONS = ticks(Fraction(1, 100), Fraction(10), LABELLED)
SEEDS = 8
LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 1000), Fraction(100)
LAST_SEED = 10**6
BETA = Fraction(1, 20)
TENTH = Fraction(1, 10)
OWN = "own"

FAMILIES: Final[dict[str, tuple[str, Callable[[int], list[int]]]]] = {
    "half": ("half equal, then a ramp", lambda n: [10] * (n // 2) + [10 + 2 * at for at in range(1, n - n // 2 + 1)]),
    "equal": ("all equal", lambda n: [10] * n),
    "power": ("power law", lambda n: sorted(max(1, 2 * n // rank) for rank in range(1, n + 1))),
    "distinct": ("all distinct", lambda n: [20 * at for at in range(n)]),
}
"""Made-up ascending counts: what they are called, and so many of them."""


@dataclass(frozen=True)
class IsotonicSheet(Fanned):
    """Sorted counts with noise of one epsilon and seed, with a fan for each slider.

    counts  made up or public, ascending; nothing for a made-up family
    family  one of FAMILIES, or "own" for the counts given

    >>> point = IsotonicSheet(family="equal", size=20).point()
    >>> point["distinct"], point["errors"]["expected"], point["errors"]["bound"]
    ('1', '36.9', '6.7')
    """

    counts: tuple[int, ...] = ()
    family: str = "half"
    size: int = 200
    epsilon: Fraction = Fraction(1)
    seed: int = 1
    badge: str = BADGE.replace("public", "made-up")

    def __post_init__(self) -> None:
        one_word(self.family, "a family", self.families, f'write "{self.families[0]}"')
        if (
            not 0 <= len(self.counts) <= MOST
            or list(self.counts) != sorted(self.counts)
            or min(self.counts or (0,)) < 0
        ):
            raise ParameterError.of(
                f"{len(self.counts)} counts",
                f"at most {MOST:,} ascending counts of at least 0",
                "sort the counts, the smallest first",
            )
        object.__setattr__(self, "size", len(self.counts) or whole(self.size, "n", least=2, most=MOST))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        if not LEAST_EPSILON <= self.epsilon <= LARGEST_EPSILON:
            rule = f"epsilon must be from {text(LEAST_EPSILON)} to {text(LARGEST_EPSILON)} here"
            raise ParameterError.of(text(self.epsilon), rule, "take one in between")
        object.__setattr__(self, "seed", whole(self.seed, "seed", most=LAST_SEED))

    @property
    def families(self) -> list[str]:
        return [OWN] if self.counts else list(FAMILIES)

    @property
    def at(self) -> dict[str, str]:
        return {
            "family": self.family,
            "n": str(self.size),
            "epsilon": text(self.epsilon),
            "seed": str(self.seed),
        }

    def moved(self, place: Mapping[str, str]) -> IsotonicSheet:
        """The sheet through the point that a page names."""
        if set(place) != set(self.at):
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                f"a place has {', '.join(self.at)}",
                "give each of them, and nothing else",
            )
        return replace(
            self,
            family=place["family"],
            size=whole(place["n"], "n", least=2, most=MOST),
            epsilon=rational(place["epsilon"], "epsilon"),
            seed=whole(place["seed"], "seed", most=LAST_SEED),
        )

    @property
    def _grids(self) -> dict[str, list[str]]:
        first = min(self.seed, LAST_SEED - SEEDS + 1)
        return {
            "family": self.families,
            "n": [str(n) for n in ([self.size] if self.counts else sorted({*SIZES, self.size}))],
            "epsilon": [text(value) for value in sorted({*EPSILONS, self.epsilon})],
            "seed": [str(seed) for seed in range(first, first + SEEDS)],
        }

    def head(self) -> dict[str, Any]:
        words = {"family": "Counts", "n": "How many, n", "epsilon": "ε", "seed": "Seed"}
        labels = {**{name: label for name, (label, _) in FAMILIES.items()}, OWN: "these counts"}
        return {
            "version": VERSION,
            "badge": self.badge,
            "beta": text(BETA),
            "axes": [
                {
                    "name": name,
                    "label": words[name],
                    "hint": "",
                    "grid": grid,
                    "values": [labels[one] for one in grid] if name == "family" else grid,
                }
                for name, grid in self._grids.items()
            ],
        }

    def here(self) -> Spot:
        return Spot(key_of(self), self.point)

    def fans(self) -> dict[str, list[Spot]]:
        return {name: [self.moved({**self.at, name: one}).here() for one in grid] for name, grid in self._grids.items()}

    def point(self) -> dict[str, Any]:
        """Everything at one place: exact values as texts, noisy stretches and steps from left to right."""
        return _point(self.counts or _family(self.family, self.size), self.epsilon, self.seed) | {"at": self.at}


@lru_cache(maxsize=16)
def _family(family: str, size: int) -> tuple[int, ...]:
    return tuple(FAMILIES[family][1](size))


@lru_cache(maxsize=256)
def _point(counts: tuple[int, ...], epsilon: Fraction, seed: int) -> dict[str, Any]:
    truth, decay = np.array(counts, dtype=np.int64), Decay.exp(epsilon)
    size = len(truth)
    noise = two_sided_geometric(decay).draw(size, TeachingBits(seed))
    noisy = truth + noise
    fit, band = isotonic(noisy), multiscale(noisy, decay, BETA, least=0)
    starts = np.flatnonzero(np.diff(truth, prepend=truth[0] - 1))
    runs = np.diff(starts, append=size).tolist()
    every = -(-size // COLUMNS)
    variance = TwoSidedGeometric(decay).variance(128)[1]
    fitted = fit.values()
    exact = sum(((one - int(true)) ** 2 for one, true in zip(fitted, counts, strict=True)), Fraction(0))
    return {
        "distinct": str(len(starts)),
        "truth": _steps(truth),
        "noisy": _stretches(noisy, every),
        "noise": _stretches(noise, every),
        "every": every,
        "fitted": [[start, length, text(value)] for start, length, value in fit.blocks()],
        "multiscale": {"low": _steps(band.low), "high": _steps(band.high), "crossed": band.crossed},
        "one": str(error_quantile(decay, BETA)),
        "all": str(simultaneous_quantile(decay, BETA, size)),
        "falls": (np.flatnonzero(np.diff(noisy) < 0) + 1).tolist(),
        "errors": {
            "noisy": str(_squares(noisy, truth)),
            "rounded": str(_squares(sorted_rounded(noisy), truth)),
            "fitted": text(ceil_to(exact, TENTH)),
            "expected": text(ceil_to(size * variance, TENTH)),
            "bound": text(ceil_to(error_bound(runs) * variance, TENTH)),
        },
    }


def _stretches(values: NDArray[np.int64], every: int) -> list[list[int]]:
    """The least and the greatest of each stretch of positions."""
    parts = np.split(values, range(every, len(values), every))
    return [[int(part.min()), int(part.max())] for part in parts]


def _steps(values: NDArray[Any]) -> list[list[int | str]]:
    """Where each run of equal values begins, how long it is, and its value."""
    starts = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    lengths = np.diff(starts, append=len(values))
    return [[int(at), int(run), str(int(values[at]))] for at, run in zip(starts, lengths, strict=True)]


def _squares(values: NDArray[Any], truth: NDArray[np.int64]) -> int:
    return sum(int(gap) ** 2 for gap in (values - truth).tolist())


def ascending(counts: Sequence[int]) -> tuple[int, ...]:
    """Counts in ascending order, as many as can be drawn."""
    if not 2 <= len(counts) <= MOST:
        raise ParameterError.of(
            f"{len(counts)} counts", f"the explorer takes from 2 to {MOST:,} counts", "give a list of such a length"
        )
    return tuple(sorted(whole(count, "a count", least=0, most=10**12) for count in counts))


protect_module(vars())
