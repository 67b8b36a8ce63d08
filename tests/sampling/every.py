"""Every way a sampler's coins may fall: its law, exactly, as long as it draws by `below` and by `flip` alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any, TypeVar

from dpviz.exact import Enclosure
from dpviz.noise.bits import Bits

Outcome = TypeVar("Outcome", bound=Hashable)


class Path(Bits):
    """One way: the outcomes of the first draws are given, those beyond are the first that there is."""

    kind = "every way"
    private = False

    def __init__(self, given: list[int]) -> None:
        self.given = given
        self.bounds: list[list[Fraction]] = []

    @property
    def chance(self) -> Fraction:
        chance = Fraction(1)
        for choice, chances in zip(self.taken, self.bounds, strict=True):
            chance *= chances[choice]
        return chance

    @property
    def taken(self) -> list[int]:
        return (self.given + [0] * len(self.bounds))[: len(self.bounds)]

    def _next(self, chances: list[Fraction]) -> int:
        self.bounds.append(chances)
        return self.taken[-1]

    def below(self, bound: int) -> int:
        return self._next([Fraction(1, bound)] * bound)

    def coin(self, chance: Callable[[int], Enclosure]) -> bool:
        low, high = chance(200)
        return bool(self._next([1 - (low + high) / 2, (low + high) / 2]))

    def take(self, count: int) -> bytes:
        raise AssertionError("this sampler draws by more than `below` and `flip`")


def law(sampler: Callable[[Bits], Outcome]) -> dict[Outcome, Fraction]:
    """The chance of each outcome; exact but for coins that are no rational, which are within 2**-200."""
    found: Counter[Any] = Counter()
    given: list[int] | None = []
    while given is not None:
        path = Path(given)
        found[sampler(path)] += path.chance
        given, taken = None, path.taken
        for place in range(len(taken) - 1, -1, -1):
            if taken[place] + 1 < len(path.bounds[place]):
                given = [*taken[:place], taken[place] + 1]
                break
    return dict(found)


def flip(chance: Callable[[int], Enclosure], bits: Bits, drawn: int | None = None) -> bool:
    """What stands for `noise.coin.flip` while every way is walked."""
    assert isinstance(bits, Path)
    return bits.coin(chance)
