"""The sheet of the product sampler's trace: Algorithm 4 run step by step on made-up people, with seeds everybody knows.

The rounds, their cuts and their noise are those of a release (`laws/product.py`, `noise/product.py`), drawn with
teaching bits; only the people are simulated. Nothing here is private, and nothing can reach a ledger.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 4 and Section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import one_word, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import figures_up, positive, rational, text, whole
from dpviz.laws.product import Rounds, beta_for, column_error, naive_deviation, rounds_of, rounds_ratio, theory_n
from dpviz.model.public import BADGE
from dpviz.noise.bits import TeachingBits
from dpviz.noise.product import Means, draw_rows, noisy_means
from dpviz.noise.simulated import uniform
from dpviz.planning.fans import Fanned, Spot, key_of

VERSION = 1
ALPHA = Fraction(1, 10)
"""The accuracy that the proof is for: it fixes beta, and with it how far rows are cut."""

COLUMNS: Final = (80, 640)
PEOPLE = (1000, 2000, 5000, 10_000, 20_000)
RHOS = tuple(map(Fraction, ("1/100", "1/20", "1/10", "1/2", "1")))
SEEDS = 4
"""A sheet carries the draws of so many seeds."""

LAST_SEED = 10**6
BLOCK = 1000
"""People are made up so many at a time."""

LOWEST = 12
"""The rarest of the halving biases is 2**-LOWEST."""

PRESETS: Final = {
    "halving": "halving: 1/2, 1/4, … 1/4096",
    "mixed": "halving, and some near 1",
    "rare": "rare: all 1/d",
}
NOISES: Final = {
    "repaired": "repaired: as much as replace-one asks for",
    "paper": "as printed: may cost up to 2ρ",
    "tight": "tight: rows are cut as low as few reach",
}
WIDTHS = tuple(2**power for power in range(6, 31))
COMPARED = 10**9
"""People that are compared where only the number of columns varies."""


@dataclass(frozen=True)
class ProductSheet(Fanned):
    """One run of Algorithm 4 over made-up people.

    preset   "halving", "mixed" or "rare": the biases of the bits
    n        people, 1,000 to 20,000
    rho      of the run, 1/100 to 1
    noise    "repaired", "paper" or "tight"
    seed     of people and noise
    columns  d, the bits of a record, 80 to 640

    >>> point = ProductSheet().point()
    >>> [(one["level"], one["keeps"], one["size"]) for one in point["rounds"]][:2]
    [(1, False, 320), (2, False, 266)]
    """

    preset: str = "halving"
    n: int = 10_000
    rho: Fraction = Fraction(1, 2)
    noise: str = "repaired"
    seed: int = 1
    columns: int = 320

    def __post_init__(self) -> None:
        for name, known in (("preset", PRESETS), ("noise", NOISES)):
            one_word(getattr(self, name), name, known)
        object.__setattr__(self, "n", whole(self.n, "n", least=PEOPLE[0], most=PEOPLE[-1]))
        object.__setattr__(self, "seed", whole(self.seed, "seed", most=LAST_SEED))
        object.__setattr__(self, "columns", whole(self.columns, "columns", least=COLUMNS[0], most=COLUMNS[1]))
        rho = positive(self.rho, "rho")
        if not RHOS[0] <= rho <= RHOS[-1]:
            raise ParameterError.of(
                text(rho), f"rho must be from {text(RHOS[0])} to {text(RHOS[-1])} here", "take one in between"
            )
        object.__setattr__(self, "rho", rho)

    def moved(self, place: Mapping[str, str]) -> ProductSheet:
        """The sheet through the point that a page names."""
        if set(place) != set(AXES):
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                f"a place has {', '.join(AXES)}",
                "give each of them, and nothing else",
            )
        return replace(
            self,
            preset=place["preset"],
            noise=place["noise"],
            n=whole(place["n"], "n"),
            seed=whole(place["seed"], "seed"),
            rho=rational(place["rho"], "rho"),
        )

    @property
    def at(self) -> dict[str, str]:
        """Where all sliders stand."""
        return {name: value if isinstance(value := getattr(self, name), str) else text(value) for name in AXES}

    @property
    def plan(self) -> Rounds:
        """The public part of the run."""
        return Rounds(self.columns, self.n, self.rho, beta_for(ALPHA, self.columns), self.noise)  # type: ignore[arg-type]

    @property
    def biases(self) -> NDArray[np.float64]:
        """The chance of a 1 in each column of a made-up record."""
        return biases(self.preset, self.columns)

    def point(self) -> dict[str, Any]:
        """The run at this place: every round, the means that are drawn with, one record, and how far off its law is."""
        plan, chances = self.plan, self.biases
        means, record = _run(self.preset, self.n, self.rho, self.noise, self.seed, self.columns)
        rounds = [
            {
                "level": one.level,
                "keeps": one.keeps,
                "size": int(one.places.size),
                "sd": _four(plan.deviation(one.cut, int(one.places.size))),
                "cut": _four(float(one.cut)),
                "threshold": None if one.keeps else 3 / 8 / 2**one.level,
                "places": one.places.tolist(),
                "means": [_four(value) for value in (one.sums / means.one).tolist()],
            }
            for one in means.trace
        ]
        return {
            "at": self.at,
            "chunk": plan.chunk,
            "left_over": plan.left_over,
            "price": text(plan.price),
            "naive": _four(naive_deviation(self.columns, self.n, self.rho)),
            "rounds": rounds,
            "flipped": np.flatnonzero(means.flipped).tolist(),
            "biases": [_four(value) for value in chances.tolist()],
            "kept": means.levels.tolist(),
            "record": record.tolist(),
            "off": self._off(means),
        }

    def _off(self, means: Means) -> list[dict[str, Any]]:
        """The mean error of the chances of ones, summed over the columns of each level and of the naive way.

        Exact for columns of rows that are never cut, with continuous noise; given where each column was kept.
        """
        plan, chances = self.plan, self.biases
        turned = np.where(means.flipped, 1 - chances, chances)
        sd = {one.level: plan.deviation(one.cut, int(one.places.size)) for one in means.trace if one.keeps}
        naive = naive_deviation(self.columns, self.n, self.rho)
        found = []
        for level in sorted(sd):
            own = turned[means.levels == level]
            here = sum(_error(p, plan.chunk, sd[level]) for p in own.tolist())
            other = sum(_error(p, self.n, naive) for p in own.tolist())
            found.append({"level": level, "columns": int(own.size), "here": _four(here), "naive": _four(other)})
        return found

    @property
    def _grids(self) -> dict[str, list[Any]]:
        first = min(self.seed, LAST_SEED - SEEDS + 1)
        return {
            "preset": list(PRESETS),
            "n": sorted({*PEOPLE, self.n}),
            "rho": sorted({*RHOS, self.rho}),
            "noise": list(NOISES),
            "seed": sorted({self.seed, *range(first, first + SEEDS)}),
        }

    def head(self) -> dict[str, Any]:
        words, grids = {"preset": PRESETS, "noise": NOISES}, self._grids
        axes = []
        for name, grid in grids.items():
            spelled = [value if isinstance(value, str) else text(value) for value in grid]
            values = [words[name][value] for value in grid] if name in words else spelled
            label, hint = AXES[name]
            axes.append({"name": name, "label": label, "hint": hint, "grid": spelled, "values": values})
        return {
            "version": VERSION,
            "badge": BADGE.replace("public", "made-up"),
            "columns": self.columns,
            "levels": rounds_of(self.columns),
            "alpha": text(ALPHA),
            "theory": {text(rho): figures_up(theory_n(self.columns, ALPHA, rho), 2) for rho in grids["rho"]},
            "axes": axes,
            "noises": noises(),
        }

    def here(self) -> Spot:
        return Spot(key_of(self), self.point)

    def fans(self) -> dict[str, list[Spot]]:
        return {name: [replace(self, **{name: value}).here() for value in grid] for name, grid in self._grids.items()}


AXES: Final = {
    "preset": ("How often bits are 1", ""),
    "n": ("People, n", "public under replace-one"),
    "rho": ("Privacy loss ρ", "zCDP, replace one record"),
    "noise": ("Noise", ""),
    "seed": ("Seed", "of people and noise"),
}
"""The sliders and choices: label, hint."""


@lru_cache(maxsize=16)
def biases(preset: str, columns: int) -> NDArray[np.float64]:
    """The chance of a 1 in each column: equally many of each power of two, rare ones last; or all 1/d."""
    if preset == "rare":
        return np.full(columns, 1 / columns)
    powers = 1 + np.arange(columns) * LOWEST // columns
    chances: NDArray[np.float64] = np.exp2(-powers.astype(np.float64))
    if preset == "mixed":
        chances[::8] = 1 - chances[::8] / 4
    return chances


@lru_cache(maxsize=8)
def people(preset: str, columns: int, seed: int) -> NDArray[np.uint8]:
    """The records of 20,000 made-up people, packed; fewer people are the first of these."""
    chances = biases(preset, columns)
    parts = [
        np.packbits(uniform(BLOCK, columns, seed * 1000 + block) < chances, axis=1)
        for block in range(PEOPLE[-1] // BLOCK)
    ]
    return np.concatenate(parts)


@lru_cache(maxsize=64)
def _run(preset: str, n: int, rho: Fraction, noise: str, seed: int, columns: int) -> tuple[Means, NDArray[np.uint8]]:
    plan = ProductSheet(preset, n, rho, noise, seed, columns).plan
    bits = TeachingBits(seed)
    means = noisy_means(people(preset, columns, seed)[:n], plan, bits)
    return means, draw_rows(means.sums, means.one, means.flipped, 1, bits)[0]


@lru_cache(maxsize=4096)
def _error(p: float, rows: int, deviation: float) -> float:
    return column_error(p, rows, deviation)


@lru_cache(maxsize=1)
def noises() -> dict[str, Any]:
    """The noise of the last round over the naive sampler's, where all biases are small, by the number of columns."""
    found: dict[str, Any] = {"columns": list(WIDTHS)}
    for noise in ("repaired", "tight"):
        ratios = []
        for columns in WIDTHS:
            plan = Rounds(columns, COMPARED, Fraction(1, 2), beta_for(ALPHA, columns), noise)
            ratios.append(_four(rounds_ratio(columns, plan.cut(plan.rounds + 1, columns))))
        below = [columns for columns, ratio in zip(WIDTHS, ratios, strict=True) if ratio < 1]
        found[noise] = ratios
        found[f"{noise}_crossing"] = below[0] if below else None
    return found


def _four(value: float) -> float:
    """In four figures, for pictures."""
    return float(f"{value:.4g}") if math.isfinite(value) else 0.0


protect_module(vars())
