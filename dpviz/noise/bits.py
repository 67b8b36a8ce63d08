"""Where random bits come from. Every sampler takes its bits as an argument."""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import whole


class Bits(Protocol):
    """An endless stream of uniform, independent random bits.

    kind     for a reader: "operating system", or "teaching, seed 7"
    private  whether an answer drawn from it may protect anyone
    """

    @property
    def kind(self) -> str: ...

    @property
    def private(self) -> bool: ...

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        ...

    def words(self, count: int) -> NDArray[np.uint16]:
        """The next `count` words of 16 bits."""
        taken = self.take(2 * count)
        if len(taken) != 2 * count:
            raise ArithmeticError("a source of bits gave fewer than it was asked for")
        return np.frombuffer(taken, dtype="<u2")

    def below(self, bound: int) -> int:
        """A uniform whole number in 0..bound-1. How often it draws again depends on the bound only, which is public."""
        width = (bound - 1).bit_length()
        size = (width + 7) // 8
        excess = 8 * size - width
        while True:
            drawn = int.from_bytes(self.take(size), "little") >> excess
            if drawn < bound:
                return drawn


class SystemBits(Bits):
    """The operating system's cryptographic generator. Nothing is buffered, so a forked process repeats nothing."""

    kind = "operating system"
    private = True

    def take(self, count: int) -> bytes:
        return os.urandom(count)


class TeachingBits(Bits):
    """A stream fixed by its seed, the same on every machine. For lessons and tests; it protects nobody.

    The stream is SHAKE-128 of seed and block number, so it does not depend on how it is cut into calls.

    >>> TeachingBits(7).take(4) == TeachingBits(7).take(2) + TeachingBits(7).take(2)
    False
    >>> bits = TeachingBits(7)
    >>> TeachingBits(7).take(4) == bits.take(2) + bits.take(2)
    True
    """

    private = False
    _block_size = 1 << 16

    def __init__(self, seed: int) -> None:
        self.seed = whole(seed, "seed", least=0)
        self._blocks = 0
        self._rest = b""

    @property
    def kind(self) -> str:
        return f"teaching, seed {self.seed}"

    def take(self, count: int) -> bytes:
        parts, missing = [self._rest], count - len(self._rest)
        while missing > 0:
            parts.append(hashlib.shake_128(f"dpviz {self.seed} {self._blocks}".encode()).digest(self._block_size))
            self._blocks += 1
            missing -= self._block_size
        stream = b"".join(parts)
        self._rest = stream[count:]
        return stream[:count]
