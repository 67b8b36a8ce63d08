"""Classes by what they are called, of which dpviz's own are loaded when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TypeVar

from dpviz.boundary import protect_module
from dpviz.lazy import without_collector

K = TypeVar("K")
V = TypeVar("V")


class OnFirstUse(MutableMapping[K, V]):
    """A class of objects that register themselves under a key. Where a key has a file, `load` imports it, which does
    so."""

    def __init__(self, files: Mapping[K, str], load: Callable[[str], object]) -> None:
        self._files = files
        self._load = load
        self._known: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        if key not in self._known and key in self._files:
            with without_collector():
                self._load(self._files[key])
        return self._known[key]

    def __setitem__(self, key: K, value: V) -> None:
        self._known[key] = value

    def __delitem__(self, key: K) -> None:
        del self._known[key]

    def __contains__(self, key: object) -> bool:
        return key in self._files or key in self._known

    def __iter__(self) -> Iterator[K]:
        return iter({**dict.fromkeys(self._files), **self._known})

    def __len__(self) -> int:
        return len(self._files.keys() | self._known.keys())


protect_module(vars())
