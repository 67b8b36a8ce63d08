"""The shapes an answer can take. All are public: they hold what was released and nothing else."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ReleaseFormat


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


class Lookup(Protocol):
    """A released structure that answers any bin of its domain by number; reading it is free."""

    kind: ClassVar[str]

    def at(self, index: int) -> int: ...

    def many(self, indices: Sequence[int]) -> NDArray[np.int64]: ...

    def to_json(self) -> dict[str, Any]: ...


SHAPES: dict[str, Callable[[dict[str, Any]], Answer]] = {
    Table.kind: Table.from_json,
    SparseTable.kind: SparseTable.from_json,
}
"""Every shape that a saved release may hold. A mechanism with a structure of its own adds it here when it is loaded."""


def answer_from_json(data: dict[str, Any]) -> Answer:
    shape = SHAPES.get(data.get("kind", ""))
    if shape is None:
        raise ReleaseFormat.of(data.get("kind"), "this dpviz does not know that shape of answer", "update dpviz")
    return shape(data)
