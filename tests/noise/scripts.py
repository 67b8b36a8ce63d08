"""Bits that are written down: what a sampler does with them is what its law says about them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpviz.noise.bits import Bits


class Script(Bits):
    """The given bytes and no more."""

    kind = "script"
    private = False

    def __init__(self, stream: bytes) -> None:
        self._stream = stream

    def take(self, count: int) -> bytes:
        if count > len(self._stream):
            raise EOFError("the script has ended")
        taken, self._stream = self._stream[:count], self._stream[count:]
        return taken

    @property
    def left(self) -> int:
        return len(self._stream)


class Walk(Bits):
    """Every word of 16 bits once, in order, followed by 48 bits at one end of its cell: all 0, or all 1.

    Should these 64 bits not tell, the next are the opposite: U is 2**-64 from the end, which may be a boundary.
    """

    kind = "walk"
    private = False

    def __init__(self, end: str) -> None:
        self._cells: list[NDArray[np.uint16]] = list(np.arange(1 << 16, dtype=np.uint16).reshape(2, -1))
        self._end = end

    def words(self, count: int) -> NDArray[np.uint16]:
        if self._cells and count == self._cells[0].size:
            return self._cells.pop(0)
        return np.full(count, 0 if self._end == "least" else 0xFFFF, dtype=np.uint16)

    def take(self, count: int) -> bytes:
        return (b"\xff" if self._end == "least" else b"\x00") * count


def one_draw(number: Fraction, *, by_guide: bool) -> Script:
    """What one draw reads where U is `number`, to 256 places: 64 bits at once or 16 and 48, then 64 at a time."""
    digits = int(number * 2**256).to_bytes(32, "big")
    groups = [digits[at : at + 8][::-1] for at in range(0, 32, 8)]
    if by_guide:
        groups[0] = groups[0][6:] + groups[0][:6]
    return Script(b"".join(groups))
