"""The sheet of ALP's anatomy: public hashes and seeded random numbers for a small table of bits, and nothing computed.

A page writes made-up values in unary, scatters the bits, flips them, reads one row and climbs it by itself
(`widgets/src/numbers/alp.ts`; the tests hold it against `dpviz.fitting.unary` on the same rows). So it works without a
kernel. Nothing here is private: the random numbers come from a seed. Source: Aumüller, Lebeda, Pagh 2022, Figures 1
and 2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from dpviz.boundary import one_word, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import rational, text, whole
from dpviz.model.public import BADGE
from dpviz.planning.fans import Fanned, Spot, key_of
from dpviz.wanted import each

VERSION = 1
MOST_COLUMNS, MOST_BITS = 16, 32
"""The most columns, and bits of each, that are drawn."""

KEYS: Final = ("apple", "pear", "plum", "fig")
"""Made-up keys."""

PLACES = 16
"""Hashes and random numbers are whole numbers below 2**16."""

CHANCES = tuple(Fraction(ones, 64) for ones in (0, 1, 2, 4, 6, 8, 10, 13, 16, 20, 24, 28, 31))
"""How often a bit is flipped; 13/64 is the default of a release."""

SEEDS = 8
"""A sheet carries the random numbers of so many seeds."""

LAST_SEED = 10**6
ESTIMATORS: Final = ("paper", "likelihood", "posterior-median")

FIGURE: Final = {"values": (4, 0, 0, 0), "flipped": (4, 5, 8), "bits": (1, 1, 1, 0, 1, 0, 0, 1)}
"""The worked figure: the value 4 in 8 columns; the flips of its own bits that give 11101001, peaks at 3 and 5."""


@dataclass(frozen=True)
class AnatomySheet(Fanned):
    """A table of `columns` columns of `bits` bits, and up to four made-up values that share it.

    values     of the keys apple, pear, plum and fig: whole numbers of bits, from 0 to the number of columns
    p          the chance that a bit is flipped, below 1/2
    seed       of hashes and flips
    estimator  "paper", "likelihood" or "posterior-median"

    >>> sheet = AnatomySheet().to_json()
    >>> len(sheet["seeds"]["1"]["hash"]), len(sheet["seeds"]["1"]["random"])
    (4, 16)
    """

    values: tuple[int, ...] = (5, 2, 7, 0)
    columns: int = 8
    bits: int = 5
    p: Fraction = Fraction(13, 64)
    seed: int = 1
    estimator: str = "paper"
    figure: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", whole(self.columns, "columns", least=1, most=MOST_COLUMNS))
        object.__setattr__(self, "bits", whole(self.bits, "bits", least=2, most=MOST_BITS))
        if not 1 <= len(self.values) <= len(KEYS):
            raise ParameterError.of(
                f"{len(self.values)} values",
                f"the table takes from 1 to {len(KEYS)} values",
                "give fewer values, but one at least",
            )
        known = [whole(value, "a value", least=0, most=self.columns) for value in self.values]
        object.__setattr__(self, "values", (*known, *[0] * (len(KEYS) - len(known))))
        chance = rational(self.p, "p")
        if not 0 <= chance < Fraction(1, 2):
            raise ParameterError.of(
                text(chance), "a bit is flipped with a chance of at least 0 and below 1/2", "give a chance like 1/10"
            )
        object.__setattr__(self, "p", chance)
        object.__setattr__(self, "seed", whole(self.seed, "seed", most=LAST_SEED))
        one_word(self.estimator, "estimator", ESTIMATORS)

    def moved(self, place: Mapping[str, str]) -> AnatomySheet:
        """The sheet through the point that a page names: its seed and its flip chance."""
        if set(place) != {"p", "seed"}:
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing", "a place has p and seed", "give each of them, and nothing else"
            )
        return replace(self, p=rational(place["p"], "p"), seed=whole(place["seed"], "seed", most=LAST_SEED))

    @property
    def seeds(self) -> list[int]:
        """The seeds whose random numbers the sheet carries: its own, and those after it."""
        first = min(self.seed, LAST_SEED - SEEDS + 1)
        return sorted({self.seed, *range(first, first + SEEDS)})

    def head(self) -> dict[str, Any]:
        chances = sorted({*CHANCES, self.p})
        seeds = [str(seed) for seed in self.seeds]
        return {
            "version": VERSION,
            "badge": BADGE.replace("public", "made-up"),
            "keys": list(KEYS),
            "most": {"columns": str(MOST_COLUMNS), "bits": str(MOST_BITS)},
            "start": {
                "columns": str(self.columns),
                "bits": str(self.bits),
                "values": [str(value) for value in self.values],
                "estimator": self.estimator,
                "figure": self.figure,
            },
            "figure": {name: [str(part) for part in parts] for name, parts in FIGURE.items()},
            "estimators": list(ESTIMATORS),
            "axes": [
                {
                    "name": "p",
                    "label": "Flip chance p",
                    "hint": "each bit by itself",
                    "grid": [text(chance) for chance in chances],
                    "values": [str(chance) for chance in chances],
                },
                {"name": "seed", "label": "Seed", "hint": "", "grid": seeds, "values": seeds},
            ],
            "seeds": {str(seed): random_numbers(seed) for seed in each(self.seeds)},
        }

    def here(self) -> Spot:
        return Spot(key_of(self), lambda: {"at": {"p": text(self.p), "seed": str(self.seed)}})

    def fans(self) -> dict[str, list[Spot]]:
        return {}


@lru_cache(maxsize=64)
def random_numbers(seed: int) -> dict[str, list[list[int]]]:
    """Of one seed: the hash of each key in each column, and a number for each bit, all below 2**16.

    A key lies at hash * bits // 2**16; a bit is flipped where its number is below p * 2**16.
    """
    size = MOST_COLUMNS * (len(KEYS) + MOST_BITS)
    stream = hashlib.shake_128(b"dpviz alp anatomy" + seed.to_bytes(8, "little")).digest(2 * size)
    numbers = np.frombuffer(stream, dtype="<u2").astype(int)
    hashes, random = numbers[: MOST_COLUMNS * len(KEYS)], numbers[MOST_COLUMNS * len(KEYS) :]
    return {
        "hash": hashes.reshape(len(KEYS), MOST_COLUMNS).tolist(),
        "random": random.reshape(MOST_COLUMNS, MOST_BITS).tolist(),
    }


protect_module(vars())
