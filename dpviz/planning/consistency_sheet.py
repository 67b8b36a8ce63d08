"""The consistency sheet: made-up counts, seeded noise for what is asked about them, and nothing that was fitted.

A page edits the counts, adds the noise that stands here, and fits by itself: two passes over a tree, or pooling, in
exact fractions (`widgets/src/numbers/consistency.ts`; the tests hold it against `dpviz.fitting` on the same numbers).
So it works without a kernel. Nothing here is private, and nothing can reach a ledger: noise comes from a seed. Source:
Hay, Rastogi, Miklau, Suciu 2010, Figure 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from dpviz.boundary import one_word, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, positive, rational, text, whole
from dpviz.fitting.tree import Shape
from dpviz.laws.geometric import error_quantile
from dpviz.model.public import BADGE
from dpviz.noise.bits import TeachingBits
from dpviz.noise.geometric import two_sided_geometric
from dpviz.planning.fans import Fanned, Spot, key_of
from dpviz.planning.grid import LABELLED, ticks

VERSION = 1
MOST = 16
"""The most counts that are edited by hand."""

LARGEST = 10**9
BRANCHINGS = (2, 3, 4)
STRUCTURES: Final = ("tree", "sorted")
EPSILONS = ticks(Fraction(1, 100), Fraction(10), LABELLED)
LEAST, GREATEST = Fraction(1, 1000), Fraction(100)
SEEDS = 8
"""A sheet carries the noise of so many seeds."""

LAST_SEED = 10**6
BETA = Fraction(1, 20)

FIGURE = (2, 0, 10, 2)
PRINTED: Final = {"tree": (13, 3, 11, 4, 1, 12, 1), "sorted": (1, 2, 0, 11)}
"""The noisy values of Figure 2, as printed: of the tree, the root first, and of the sorted counts."""

PRESETS: Final[dict[str, tuple[str, tuple[int, ...]]]] = {
    "figure": ("Figure 2 of the paper", FIGURE),
    "equal": ("all equal", (5,) * 8),
    "half": ("half equal, then a ramp", (4, 4, 4, 4, 6, 9, 13, 18)),
    "power": ("power law", (60, 30, 20, 15, 12, 10, 9, 8, 7, 6, 5, 5)),
    "sparse": ("mostly empty", (0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0)),
    "distinct": ("all distinct, far apart", (10, 30, 60, 100, 150, 210, 280, 360)),
    "odd": ("five bins: padded to eight", (8, 3, 7, 1, 4)),
}
"""Made-up counts by name: what they are called, and the counts."""

OWN = "own"


@dataclass(frozen=True)
class ConsistencySheet(Fanned):
    """Noise at one epsilon and from some seeds, with a fan for epsilon.

    counts     made up or public, at most 16, at first
    structure  "tree" for all nodes of a tree over the counts, or "sorted"
    branching  how many children a node has: 2, 3 or 4

    >>> point = ConsistencySheet(epsilon=Fraction(1)).point()
    >>> point["within"]["3"], point["noise"]["3"]["1"][:7]
    ('9', ['-2', '1', '14', '1', '-7', '1', '20'])
    """

    counts: tuple[int, ...] = FIGURE
    structure: str = "tree"
    branching: int = 2
    epsilon: Fraction = Fraction(1)
    seed: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", checked(self.counts))
        one_word(self.structure, "structure", STRUCTURES)
        if self.branching not in BRANCHINGS:
            listed = ", ".join(map(str, BRANCHINGS))
            raise ParameterError.of(
                whole(self.branching, "branching"), f"branching is one of {listed} here", "choose one of these"
            )
        epsilon = positive(self.epsilon, "epsilon")
        if not LEAST <= epsilon <= GREATEST:
            raise ParameterError.of(
                text(epsilon), f"epsilon must be from {text(LEAST)} to {text(GREATEST)} here", "take one in between"
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "seed", whole(self.seed, "seed", most=LAST_SEED))

    def moved(self, place: Mapping[str, str]) -> ConsistencySheet:
        """The sheet through the point that a page names: its epsilon and its seed."""
        if set(place) != {"epsilon", "seed"}:
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                "a place has epsilon and seed",
                "give each of them, and nothing else",
            )
        return replace(
            self,
            epsilon=rational(place["epsilon"], "epsilon"),
            seed=whole(place["seed"], "seed", most=LAST_SEED),
        )

    @property
    def preset(self) -> str:
        """The made-up counts that this sheet begins with, or that they are its own."""
        return next((name for name, (_label, counts) in PRESETS.items() if counts == self.counts), OWN)

    @property
    def seeds(self) -> list[int]:
        """The seeds whose noise the sheet carries: its own, and those after it."""
        first = min(self.seed, LAST_SEED - SEEDS + 1)
        return list(range(first, first + SEEDS))

    @property
    def _epsilons(self) -> list[Fraction]:
        return sorted({*EPSILONS, self.epsilon})

    def head(self) -> dict[str, Any]:
        texts = [text(value) for value in self._epsilons]
        seeds = [str(seed) for seed in self.seeds]
        presets = [(name, label, counts) for name, (label, counts) in PRESETS.items()]
        if self.preset == OWN:
            presets.insert(0, (OWN, "these counts", self.counts))
        return {
            "version": VERSION,
            "badge": BADGE.replace("public", "made-up"),
            "most": str(MOST),
            "largest": str(LARGEST),
            "branchings": [str(k) for k in BRANCHINGS],
            "start": {"preset": self.preset, "structure": self.structure, "branching": str(self.branching)},
            "presets": [
                {
                    "name": name,
                    "label": label,
                    "counts": _texts(counts),
                    "printed": {key: _texts(said) for key, said in PRINTED.items()} if counts == FIGURE else None,
                }
                for name, label, counts in presets
            ],
            "axes": [
                {"name": "epsilon", "label": "ε", "hint": "of all counts together", "grid": texts, "values": texts},
                {"name": "seed", "label": "Seed", "hint": "", "grid": seeds, "values": seeds},
            ],
        }

    def here(self) -> Spot:
        return Spot(key_of(self), self.point)

    def fans(self) -> dict[str, list[Spot]]:
        return {"epsilon": [replace(self, epsilon=value).here() for value in self._epsilons]}

    def point(self) -> dict[str, Any]:
        """For each sensitivity: what one noise stays within 95 times in 100, and the noise of each seed."""
        decays = {sensitivity: Decay.exp(self.epsilon / sensitivity) for sensitivity in SENSITIVITIES}
        return {
            "at": {"epsilon": text(self.epsilon), "seed": str(self.seed)},
            "within": {str(one): str(error_quantile(decay, BETA)) for one, decay in decays.items()},
            "noise": {
                str(one): {str(seed): list(_noise(decay, seed)) for seed in self.seeds} for one, decay in decays.items()
            },
        }


def checked(counts: Sequence[int]) -> tuple[int, ...]:
    """Made-up counts that a page can edit: from 1 to 16 whole numbers of at least 0."""
    if not 1 <= len(counts) <= MOST:
        raise ParameterError.of(
            f"{len(counts)} counts",
            f"the playground takes from 1 to {MOST} counts",
            "give fewer counts, but one at least",
        )
    return tuple(whole(count, "a count", least=0, most=LARGEST) for count in counts)


SENSITIVITIES = range(1, max(Shape(k, MOST).height for k in BRANCHINGS) + 1)
"""One record changes so many of the counts that are asked by 1: one on each height of a tree, or one of a list."""

NODES = max(Shape(k, MOST).nodes for k in BRANCHINGS)


@lru_cache(maxsize=2_000)
def _noise(decay: Decay, seed: int) -> tuple[str, ...]:
    """The noise of one seed: exact two-sided geometric integers as in a release, from a stream that anyone knows."""
    return tuple(map(str, two_sided_geometric(decay).draw(NODES, TeachingBits(seed)).tolist()))


def _texts(values: Sequence[int]) -> list[str]:
    return [str(value) for value in values]


protect_module(vars())
