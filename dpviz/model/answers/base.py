"""The protocol of every shape of a released answer, and the shapes there are.

A new shape is one file with one subclass of `Answer`, or of `AdditiveCounts` where its values are counts that add up,
made known by `register`. All answers are public: they hold what was released and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

from dpviz.boundary import kind_of, protect_module
from dpviz.errors import ParameterError, ReleaseFormat
from dpviz.model.answers.capabilities import (
    AnswerDisplay,
    AnswersOfParts,
    AnswerStorage,
    AnswerValues,
    DrawnRecords,
    LinearQueries,
    NamedItems,
    OrderedBins,
    RowSelection,
    TableQueries,
)
from dpviz.model.answers.reading import Packed
from dpviz.model.first_use import OnFirstUse


class Answer(
    AnswerStorage,
    AnswerValues,
    LinearQueries,
    TableQueries,
    RowSelection,
    NamedItems,
    OrderedBins,
    DrawnRecords,
    AnswersOfParts,
    AnswerDisplay,
):
    """One shape of released answer. A subclass is a frozen dataclass of what was drawn, as integers or bits.

    A shape overrides the members of the capabilities that it has. The others are refused, or say that there is nothing.
    """

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Answer) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


# ---------------------------------------------------------------- the shapes there are

_FILES: Final = {
    "buckets": "buckets",
    "chosen": "chosen",
    "compact": "compact",
    "grouped": "grouped",
    "key count": "key_count",
    "key set": "key_set",
    "log-sketch": "log_sketch",
    "marginals": "marginals",
    "product record": "records",
    "queries": "queries",
    "ranges": "ranges",
    "ranked": "ranked",
    "ranks": "ranks",
    "record": "records",
    "signed-sketch": "signed_sketch",
    "sketch": "sketch",
    "sparse": "sparse",
    "table": "table",
    "weighted record": "records",
}
"""The shapes of dpviz by their kinds, and their files."""

SHAPES: Final = OnFirstUse[str, type[Answer]](_FILES, lambda file: import_module(f"dpviz.model.answers.{file}"))
"""Every shape that a saved release may hold, by its kind; each is loaded when it is first used."""

Shape = TypeVar("Shape", bound=type[Answer])

REQUIRED: Final = ("pack", "unpack", "fits", "axis")
"""The members that no shape can do without: it is stored and read back by them, before anybody looks at it."""


def register(shape: Shape) -> Shape:
    """Make a shape known, so that saved releases of it are read. Usable as a decorator of its class."""
    if not isinstance(shape, type) or not issubclass(shape, Answer):
        raise ParameterError.of(
            kind_of(shape),
            "a shape is a class of answers: a subclass of Answer",
            "derive it from dpviz.model.answers.Answer",
        )
    own = {name for kind in shape.__mro__[: shape.__mro__.index(Answer)] for name in vars(kind)}
    if missing := [name for name in REQUIRED if name not in own]:
        raise ParameterError.of(
            shape.__name__,
            f"a shape defines {', '.join(REQUIRED)}",
            f"define {', '.join(missing)} in its class",
        )
    if SHAPES.setdefault(shape.kind, shape) is not shape:
        raise ParameterError.of(shape.kind, "each shape of answer has a kind of its own", "choose another kind")
    return shape


def unregister(shape: type[Answer]) -> None:
    """Forget a shape that was registered: saved releases of it are no longer read. Not one of dpviz's own."""
    if SHAPES.get(shape.kind) is not shape or shape.__module__.startswith("dpviz."):
        raise ParameterError.of(
            shape.kind, "only a shape that was registered by others can be taken out", "give one that you registered"
        )
    del SHAPES[shape.kind]


def from_json(data: Mapping[str, Any]) -> Answer:
    """The answer that `to_json` of its shape wrote."""
    return _shape(data.get("kind", "")).from_json(data)


def unpacked(kind: object, packed: Packed) -> Answer:
    """The answer that `pack` of this shape gave."""
    return _shape(kind).unpack(packed)


def _shape(kind: object) -> type[Answer]:
    shape = SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        raise ReleaseFormat.of(kind, "this dpviz does not know that shape of answer", "update dpviz")
    return shape


protect_module(vars())
