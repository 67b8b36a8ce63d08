"""One number: a noisy upper bound on how many bins are not empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import kind_of, protect_module
from dpviz.errors import DomainError, DpvizError, ReleaseFormat
from dpviz.exact import whole
from dpviz.model.answers.additive import law_bars
from dpviz.model.answers.base import Answer, register
from dpviz.model.answers.pictures import bars_json
from dpviz.model.answers.reading import Axis, Packed, Points, Reading, View
from dpviz.model.answers.values import rows_or
from dpviz.model.error import ErrorValue
from dpviz.model.question import Question

LABEL: Final = "bins that are not empty, at most"
"""The label of the only row."""


@register
@dataclass(frozen=True, eq=False)
class KeyBound(Answer):
    """How many bins are not empty, at most but for a small chance: for `keys=` of a mechanism that needs it.

    keys  what was drawn, above 0
    """

    kind: ClassVar[str] = "key count"

    keys: int

    def pack(self) -> Packed:
        return Packed({"keys": str(self.keys)})

    @classmethod
    def unpack(cls, packed: Packed) -> KeyBound:
        try:
            answer = cls(whole(int(packed.header["keys"]), "keys"))
        except (DpvizError, KeyError, ValueError, TypeError):
            raise ReleaseFormat.damaged(
                "a saved bound on a number of bins is a whole number above 0", "another number"
            ) from None
        if answer.pack().header != packed.header or packed.arrays:
            raise ReleaseFormat.damaged(
                "a saved bound on a number of bins is one number, written as its digits", "other parts"
            )
        return answer

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.pack().header}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KeyBound:
        return cls.unpack(Packed({name: value for name, value in data.items() if name != "kind"}))

    def fits(self, question: Question, max_items: int | None) -> bool:
        return max_items is None

    def axis(self, reading: Reading) -> Axis:
        return Axis(reading.question.domain.columns_text, "number", (LABEL,), whole="1")

    def point(self, reading: Reading, label: object) -> int:
        if label != LABEL:
            raise DomainError.of(
                label if isinstance(label, str) else kind_of(label),
                f'there is one number here: "{LABEL}"',
                "read release.answer.keys",
            )
        return 0

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NDArray[np.int64]:
        self._reader(reader)
        picked: NDArray[np.int64] = np.array([self.keys], dtype=np.int64)[rows_or(points, 1)]
        return picked

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        return law_bars(reading, beta)

    def sentence(self, reading: Reading) -> str:
        return f"Fewer than {self.keys:,} bins are not empty, but for the chance that was chosen."

    def remark(self, reading: Reading) -> str:
        return "Use it for keys= of a mechanism that asks about how many bins are not empty."

    def view(self, reading: Reading, betas: Sequence[Any]) -> View:
        return View(
            kind="histogram",
            header={
                "axis": reading.question.domain.columns_text,
                "columns": [LABEL],
                "scale": "categories",
                "bins": "1",
                "size": "1 number",
                "sentence": f"{self.sentence(reading)} {self.remark(reading)}",
                "counts": "bins",
                "sparse": False,
                "lookup": False,
                "labels": [LABEL],
                "short_labels": ["not empty"],
                "list": None,
                "bars": bars_json(self, reading, betas),
            },
            arrays={"values": np.array([self.keys], dtype=np.int64)},
        )


protect_module(vars())
