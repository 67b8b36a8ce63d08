"""The shapes an answer can take. All are public: they hold what was released and nothing else."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ReleaseFormat
from dpviz.hidden import guard


class Answer(Protocol):
    """A released answer. `kind` names the shape; large parts are packed as base64 text."""

    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]: ...


READABLE = 2_048
"""Up to this many values a saved table lists them as texts; a longer one packs them as 64-bit integers, base64."""


@dataclass(frozen=True, eq=False)
class Table:
    """One released count per bin of the domain, in the domain's order."""

    kind: ClassVar[str] = "table"
    values: NDArray[np.int64]

    def to_json(self) -> dict[str, Any]:
        if len(self.values) > READABLE:
            packed = self.values.astype("<i8").tobytes()
            return {"kind": self.kind, "packed": base64.b64encode(packed).decode()}
        return {"kind": self.kind, "values": [str(value) for value in self.values.tolist()]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Table:
        if "packed" in data:
            return cls(np.frombuffer(base64.b64decode(data["packed"], validate=True), dtype="<i8").astype(np.int64))
        return cls(np.array([int(value) for value in data["values"]], dtype=np.int64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class SparseTable:
    """Released values of a few bins, ascending by label; every other bin of the domain reads 0.

    labels  bin numbers of a declared domain, or key texts where the keys were not declared
    """

    kind: ClassVar[str] = "sparse"
    labels: tuple[int, ...] | tuple[str, ...]
    values: NDArray[np.int64]

    def to_json(self) -> dict[str, Any]:
        keys = bool(self.labels) and isinstance(self.labels[0], str)
        return {
            "kind": self.kind,
            "keys": keys,
            "labels": [str(label) for label in self.labels],
            "values": [str(value) for value in self.values.tolist()],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SparseTable:
        named = data["labels"]
        labels = tuple(named) if data["keys"] else tuple(int(label) for label in named)
        values = np.array([int(value) for value in data["values"]], dtype=np.int64)
        if len(values) != len(labels) or list(labels) != sorted(set(labels)):
            raise ReleaseFormat.of(f"{len(labels)} labels", "a sparse answer has one value per label, ascending")
        return cls(labels, values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseTable) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Ranked:
    """Released labels in the order they were drawn, largest first, and whether the list says that it ended.

    items   bin numbers of a declared domain, or key texts
    ended   the bottom symbol was drawn: "no more"; it counts as a symbol and stands after the last item
    values  noisy counts of the items, where the mechanism releases them
    kbar    out of how many of the largest they were drawn, where the mechanism chose it: one more step was spent on it
    """

    kind: ClassVar[str] = "ranked"
    items: tuple[int, ...] | tuple[str, ...]
    ended: bool
    values: tuple[int, ...] | None = None
    kbar: int | None = None

    @property
    def symbols(self) -> int:
        """How many symbols were returned: the items, and the bottom symbol where it came."""
        return len(self.items) + self.ended

    def to_json(self) -> dict[str, Any]:
        said = {**_named(self.kind, self.items), "ended": self.ended}
        if self.values is not None:
            said["values"] = [str(value) for value in self.values]
        if self.kbar is not None:
            said["kbar"] = str(self.kbar)
        return said

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ranked:
        items, ended = _labels(data), data["ended"]
        values = tuple(int(value) for value in data["values"]) if "values" in data else None
        kbar = int(data["kbar"]) if "kbar" in data else None
        if len(set(items)) != len(items) or not isinstance(ended, bool):
            raise ReleaseFormat.of(f"{len(items)} items", "a ranked answer names each item once and says if it ended")
        if values is not None and len(values) != len(items):
            raise ReleaseFormat.of(f"{len(values)} values", "a ranked answer has one value per item, or none")
        return cls(items, ended, values, kbar)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranked) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Chosen:
    """A released set of labels, ascending: their order says nothing."""

    kind: ClassVar[str] = "chosen"
    items: tuple[int, ...] | tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return _named(self.kind, self.items)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Chosen:
        items = _labels(data)
        named: list[Any] = list(items)
        if named != sorted(set(named)):
            raise ReleaseFormat.of(f"{len(items)} items", "a set names each item once, ascending")
        return cls(items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chosen) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


def _named(kind: str, items: tuple[int, ...] | tuple[str, ...]) -> dict[str, Any]:
    keys = bool(items) and isinstance(items[0], str)
    return {"kind": kind, "keys": keys, "items": [str(item) for item in items]}


def _labels(data: dict[str, Any]) -> tuple[int, ...] | tuple[str, ...]:
    named = data["items"]
    return tuple(named) if data["keys"] else tuple(int(item) for item in named)


class Lookup(Protocol):
    """A released structure that answers any bin of its domain by number; reading it is free."""

    kind: ClassVar[str]

    def at(self, index: int) -> int: ...

    def many(self, indices: Sequence[int]) -> NDArray[np.int64]: ...

    def to_json(self) -> dict[str, Any]: ...


SHAPES: dict[str, Callable[[dict[str, Any]], Answer]] = {
    Table.kind: Table.from_json,
    SparseTable.kind: SparseTable.from_json,
    Ranked.kind: Ranked.from_json,
    Chosen.kind: Chosen.from_json,
}
"""Every shape that a saved release may hold. A mechanism with a structure of its own adds it here when it is loaded."""


def answer_from_json(data: dict[str, Any]) -> Answer:
    shape = SHAPES.get(data.get("kind", ""))
    if shape is None:
        raise ReleaseFormat.of(data.get("kind"), "this dpviz does not know that shape of answer", "update dpviz")
    return shape(data)


guard(vars())
