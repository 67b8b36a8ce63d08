"""Bits that are one with a fixed rational chance, exactly, eight to a byte.

Eight flips are one draw of a byte from its own law by the fast table sampler, so a byte takes two random bytes and a
little, whatever the chance is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import whole
from dpviz.noise.bits import Bits
from dpviz.noise.table import PIECE, Law, SamplingTable, Tick, pieces

MOST_PLACES = 16
"""A chance has at most so many binary places."""


@dataclass(frozen=True)
class EightFlips(Law):
    """The law of a byte whose bits are ones independently, each with chance ones / 2^places.

    >>> half = EightFlips(1, 1)
    >>> half.cdf(0, 8), half.cdf(254, 8)
    ((1, 1), (255, 255))
    """

    ones: int
    places: int

    def __post_init__(self) -> None:
        whole(self.places, "places", most=MOST_PLACES)
        whole(self.ones, "ones", most=2**self.places - 1)

    @property
    def first(self) -> int:
        return 0

    @property
    def last(self) -> int:
        return 255

    @cached_property
    def below(self) -> tuple[int, ...]:
        """How many of 2^(8 places) equally likely outcomes give at most this byte."""
        zeros, found, reached = 2**self.places - self.ones, [], 0
        for byte in range(256):
            reached += self.ones ** byte.bit_count() * zeros ** (8 - byte.bit_count())
            found.append(reached)
        return tuple(found)

    def cdf(self, value: int, fraction_bits: int) -> tuple[int, int]:
        numerator, width = self.below[value] << fraction_bits, 8 * self.places
        return numerator >> width, -(-numerator >> width)

    def sweep(self, fraction_bits: int) -> tuple[int, list[int], int]:
        return 0, [self.cdf(value, fraction_bits)[0] for value in range(255)], 1


class FlipSampler:
    """Draws bits that are ones with chance ones / 2^places.

    Raises ParameterError for a chance of 0 or 1, or one of more than 16 places.
    """

    def __init__(self, ones: int, places: int) -> None:
        self._table = SamplingTable(EightFlips(ones, places))

    def draw(self, size: int, bits: Bits, tick: Tick | None = None) -> NDArray[np.uint8]:
        """Draw bytes of independent bits."""
        out = np.empty(size, dtype=np.uint8)
        spare = np.empty(min(size, PIECE), dtype=np.int64)
        for piece in pieces(size, tick):
            drawn = spare[: piece.stop - piece.start]
            self._table.fill(drawn, bits)
            out[piece] = drawn
        return out


def chance_for(alpha_most: int, alpha_least: int, places: int = MOST_PLACES) -> tuple[int, int]:
    """The least chance ones / 2^places that is at least 1 / (alpha + 2), for alpha = alpha_most / alpha_least.

    Rounded up, so that the odds of an unflipped bit, and with them the price, are at most what was asked.

    >>> chance_for(3, 1, 6), chance_for(2, 1, 2)
    ((13, 6), (1, 2))
    """
    ones = -(-(alpha_least << places) // (alpha_most + 2 * alpha_least))
    if 2 * ones >= 1 << places:
        raise ParameterError.of(
            f"{alpha_most}/{alpha_least}",
            f"with {places} binary places no chance below 1/2 is left for this alpha",
            "take a larger alpha",
        )
    return ones, places
