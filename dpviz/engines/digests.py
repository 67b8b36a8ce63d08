"""MD5 digests (RFC 1321) of many short texts at once: the order in which a user's bins are kept.

Every row of a table is digested, whoever needs it, by the same operations: how long that takes tells how many texts
there are and how long they are, and nothing of who is above a limit. Texts too long for a matrix are digested one at a
time. `tests/engines/test_digests.py` holds every digest against the standard library's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import md5
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 64
"""Bytes that MD5 takes in at once."""
WIDEST: Final = 4 * BLOCK
"""Bytes of a message, with its end, beyond which it is digested alone."""
LANES: Final = 1 << 13
"""Messages at a time, which stay in the processor's cache."""

START: Final = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
SINES: Final = np.floor(np.abs(np.sin(np.arange(1, 65))) * 2.0**32).astype(np.uint32)
"""RFC 1321 takes its constants from the sine; doubles hold them to the last bit, which the tests confirm."""
TURNS: Final = np.array([[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]], dtype=np.uint32)
WORDS: Final = ((1, 0), (5, 1), (3, 5), (7, 0))
"""In each of four rounds, step i takes in word number (first * i + second) modulo 16."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Texts:
    """Texts as rows of bytes, filled up with zeros, and how many of them belong to each; long ones stand aside."""

    rows: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    long: dict[int, bytes]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        written = [text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.fromiter(map(len, written), dtype=np.int64, count=len(written))
        long = {int(place): written[place] for place in np.flatnonzero(lengths > WIDEST)}
        for place in long:
            written[place] = b""
        width = max(1, int(np.max(lengths, where=lengths <= WIDEST, initial=0)))
        return cls(np.array(written, dtype=f"S{width}").view(np.uint8).reshape(len(written), width), lengths, long)

    @classmethod
    def of_integers(cls, numbers: NDArray[Any]) -> Texts:
        """As `str` writes them."""
        written = numbers.astype("S21")
        lengths = np.strings.str_len(written).astype(np.int64)
        width = max(1, int(lengths.max(initial=0)))
        rows = written.astype(f"S{width}").view(np.uint8).reshape(len(written), width)
        return cls(rows, lengths, {})

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def even(self) -> bool:
        """Whether all fill their rows, as digests do that are written out."""
        return bool((self.lengths == self.rows.shape[1]).all())

    def __getitem__(self, places: NDArray[np.int64]) -> Texts:
        """The texts at these places, of which none is long."""
        return Texts(self.rows[places], self.lengths[places], {})

    def text(self, place: int) -> bytes:
        return self.long.get(place) or self.rows[place, : self.lengths[place]].tobytes()


Piece = tuple[Texts, NDArray[np.int64]]
"""Texts, and which of them each message goes on with."""


def digests(begin: bytes, *pieces: Piece) -> NDArray[np.uint32]:
    """The MD5 digest of each message, as four words: `begin`, and then a text of each piece."""
    count = len(pieces[0][1])
    lengths = np.full(count, len(begin), dtype=np.int64)
    for texts, which in pieces:
        lengths += texts.lengths[which]
    blocks = (lengths + 8) // BLOCK + 1
    found = np.empty((count, 4), dtype=np.uint32)
    for wide in range(1, WIDEST // BLOCK + 1):
        rows = np.flatnonzero(blocks == wide)
        for chunk in _chunks(rows):
            messages = _written(begin, [texts[which[chunk]] for texts, which in pieces], wide)
            found[chunk] = _digested(messages)
    for row in np.flatnonzero(blocks > WIDEST // BLOCK).tolist():
        message = begin + b"".join(texts.text(int(which[row])) for texts, which in pieces)
        found[row] = np.frombuffer(md5(message, usedforsecurity=False).digest(), dtype="<u4")
    return found


def ranks(found: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Two numbers for each digest, which are in order where its bytes are."""
    return found.astype("<u4").view(np.uint8).reshape(-1, 16).view(">u8").astype(np.uint64)


def hexadecimal(found: NDArray[np.uint32]) -> Texts:
    """Digests as they are written: 32 digits."""
    octets = found.astype("<u4").view(np.uint8).reshape(-1, 16)
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    rows = np.empty((len(octets), 32), dtype=np.uint8)
    rows[:, 0::2], rows[:, 1::2] = digits[octets >> 4], digits[octets & 15]
    return Texts(rows, np.full(len(rows), 32, dtype=np.int64), {})


def _chunks(rows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    return (rows[at : at + LANES] for at in range(0, len(rows), LANES))


def _written(begin: bytes, pieces: Sequence[Texts], blocks: int) -> NDArray[np.uint32]:
    """The messages with their ends, as words: one row for each word, one column for each message."""
    count = len(pieces[0])
    octets = np.zeros((count, blocks * BLOCK), dtype=np.uint8)
    octets[:, : len(begin)] = np.frombuffer(begin, dtype=np.uint8)
    every, ends = np.arange(count), np.full(count, len(begin), dtype=np.int64)
    start = len(begin)  # where a piece begins in every message, or -1 once the lengths of those before it differ
    for piece in pieces:
        width = min(piece.rows.shape[1], blocks * BLOCK - max(start, 0))
        if start >= 0:
            octets[:, start : start + width] = piece.rows[:, :width]
            start = start + width if piece.even else -1
        else:
            for at in range(width):
                inside = at < piece.lengths
                octets[every[inside], ends[inside] + at] = piece.rows[inside, at]
        ends += piece.lengths
    octets[every, ends] = 0x80
    octets[:, -8:] = (ends * 8).astype("<u8").view(np.uint8).reshape(count, 8)
    return np.ascontiguousarray(octets.view("<u4").astype(np.uint32, copy=False).T)


def _digested(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    state = [np.full(words.shape[1], start, dtype=np.uint32) for start in START]
    mixed, turned = np.empty_like(state[0]), np.empty_like(state[0])
    for block in range(0, len(words), 16):
        a, b, c, d = (one.copy() for one in state)
        for step in range(64):
            if step < 16:
                np.bitwise_xor(c, d, out=mixed)
                np.bitwise_and(mixed, b, out=mixed)
                np.bitwise_xor(mixed, d, out=mixed)
            elif step < 32:
                np.bitwise_xor(b, c, out=mixed)
                np.bitwise_and(mixed, d, out=mixed)
                np.bitwise_xor(mixed, c, out=mixed)
            elif step < 48:
                np.bitwise_xor(b, c, out=mixed)
                np.bitwise_xor(mixed, d, out=mixed)
            else:
                np.bitwise_not(d, out=mixed)
                np.bitwise_or(mixed, b, out=mixed)
                np.bitwise_xor(mixed, c, out=mixed)
            times, plus = WORDS[step // 16] if step >= 16 else (1, 0)
            mixed += a
            mixed += SINES[step]
            mixed += words[block + (times * step + plus) % 16]
            turn = TURNS[step // 16, step % 4]
            np.right_shift(mixed, np.uint32(32) - turn, out=turned)
            np.left_shift(mixed, turn, out=mixed)
            mixed |= turned
            mixed += b
            # The mixed value becomes b; what was a is free for the next step.
            a, b, c, d, mixed = d, mixed, b, c, a
        for one, added in zip(state, (a, b, c, d), strict=True):
            one += added
    return np.stack(state, axis=1)
