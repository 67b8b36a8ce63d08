"""The shapes an answer can take. All are public: they hold what was released and nothing else."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ReleaseFormat


class Answer(Protocol):
    """A released answer. `kind` names the shape; blobs are large binary parts, stored by content."""

    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]: ...

    def blobs(self) -> dict[str, bytes]: ...


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

    def blobs(self) -> dict[str, bytes]:
        return {}

    @classmethod
    def from_json(cls, data: dict[str, Any], blobs: dict[str, bytes]) -> Table:
        if "packed" in data:
            return cls(np.frombuffer(base64.b64decode(data["packed"], validate=True), dtype="<i8").astype(np.int64))
        return cls(np.array([int(value) for value in data["values"]], dtype=np.int64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]


SHAPES: dict[str, Callable[[dict[str, Any], dict[str, bytes]], Answer]] = {Table.kind: Table.from_json}
"""Every shape that a saved release may hold. Later ones: lookup, ranges, ranked, draws."""


def answer_from_json(data: dict[str, Any], blobs: dict[str, bytes]) -> Answer:
    shape = SHAPES.get(data.get("kind", ""))
    if shape is None:
        raise ReleaseFormat.of(data.get("kind"), "this dpviz does not know that shape of answer", "update dpviz")
    return shape(data, blobs)
