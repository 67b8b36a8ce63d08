"""Many texts in little memory: one text in UTF-8, a line for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from operator import lt
from typing import Final, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module

BREAK: Final = "\n"
PIECE: Final = 1 << 20
"""Bytes that are made into texts at once while all of them pass by."""


class Lines(Sequence[str]):
    """Texts without line breaks, in the order given, at least one of them. Equal to a tuple of the same texts.

    A million keys of 16 characters take 17 MB like this and 75 MB as texts of Python's. Passing over all of them makes
    texts of some at a time; reading one by its place makes texts of all and keeps them.

    utf8  their bytes, with a line break between one and the next

    >>> keys = Lines.of(["ALB", "BOS", "Zürich"])
    >>> len(keys), list(keys), keys[-1], keys == ("ALB", "BOS", "Zürich")
    (3, ['ALB', 'BOS', 'Zürich'], 'Zürich', True)
    """

    def __init__(self, utf8: NDArray[np.uint8]) -> None:
        self.utf8 = utf8

    @classmethod
    def of(cls, texts: Sequence[str]) -> Lines | None:
        """The same texts; None where there is none, or one has a line break."""
        whole = BREAK.join(texts)
        if not texts or whole.count(BREAK) != len(texts) - 1:
            return None
        return cls(np.frombuffer(whole.encode(), np.uint8))

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(self.utf8.tobytes().decode().split(BREAK))

    @cached_property
    def _length(self) -> int:
        pieces = (self.utf8[first : first + PIECE] for first in range(0, len(self.utf8), PIECE))
        return 1 + sum(int(np.count_nonzero(piece == ord(BREAK))) for piece in pieces)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts) if "_texts" in self.__dict__ else chain.from_iterable(self._pieces())

    def _pieces(self) -> Iterator[list[str]]:
        """All texts, in lists that are made of about `PIECE` bytes each: of more where one text is longer."""
        first, most = 0, PIECE
        while first <= len(self.utf8):
            piece = self.utf8[first : first + most].tobytes()
            if first + most < len(self.utf8):
                last = piece.rfind(BREAK.encode())
                if last < 0:
                    most *= 2
                    continue
                piece = piece[:last]
            yield piece.decode().split(BREAK)
            first, most = first + len(piece) + 1, PIECE

    def ascending(self) -> bool:
        """Whether each text is larger than the one before it."""
        before: list[str] = []
        for piece in self._pieces():
            texts = [*before, *piece]
            if not all(map(lt, texts, texts[1:])):
                return False
            before = texts[-1:]
        return True

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self._texts[place]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Lines):
            return np.array_equal(self.utf8, other.utf8)
        return self._texts == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._texts)

    def __repr__(self) -> str:
        return f"<{len(self):,} texts>"


Labels: TypeAlias = tuple[int, ...] | tuple[str, ...] | Lines
"""The bins of a sparse answer: numbers of bins of a declared domain, or key texts."""


protect_module(vars())
