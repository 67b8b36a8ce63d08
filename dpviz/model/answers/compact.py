"""A compact table: a polynomial over a finite field that answers any label of a huge domain, one by one."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, NoReturn

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, ReleaseFormat
from dpviz.exact import whole
from dpviz.model.answers.additive import AdditiveCounts, added_up
from dpviz.model.answers.base import register
from dpviz.model.answers.pictures import columns_of, look_ups_view
from dpviz.model.answers.reading import Axis, Packed, Points, Reading, View
from dpviz.model.between import Enclosed
from dpviz.model.linear import Query
from dpviz.model.question import Question
from dpviz.noise.empty_bin import EmptyBin
from dpviz.noise.field import Field, field_named
from dpviz.noise.finite import FiniteSampler

MOST_BITS: Final = 1 << 28
"""An answer has at most so many bits (32 MiB): building takes some forty times that."""

LONGEST_NUMBER: Final = 300
"""A saved answer has p and q of at most so many digits: 218 at an epsilon of 1,000, the largest there is."""

MOST_READ: Final = 100_000
"""A sum reads at most so many bins."""

NUMBERS: Final = ("n", "p", "q", "g", "t")
"""The whole numbers of a sampler, as they are stored."""


@register
@dataclass(frozen=True, eq=False)
class CompactTable(AdditiveCounts):
    """A polynomial whose value at a bin's number stands for that bin's noisy count. Reading it is free.

    coefficients  of 1, x, x**2 and so on, n + 1 of them, each an element of the field
    empty         from an element to the count it stands for
    """

    kind: ClassVar[str] = "compact"
    adds_rows: ClassVar[bool] = True
    has_rows: ClassVar[bool] = False
    field: Field
    empty: EmptyBin
    coefficients: tuple[int, ...]

    @cached_property
    def _evaluate(self) -> Callable[[Sequence[int]], list[int]]:
        return self.field.evaluator(self.coefficients)

    def at(self, index: int) -> int:
        """The noisy count of one bin."""
        return int(self.many([index])[0])

    def many(self, indices: Sequence[int]) -> NDArray[np.int64]:
        """The noisy counts of many bins at once."""
        points = [whole(index, "the number of a bin", least=0, most=self.field.order - 1) for index in indices]
        return np.array(self.empty.values(self._evaluate(points)), dtype=np.int64)

    @property
    def element_bits(self) -> int:
        return (self.field.order - 1).bit_length()

    def pack(self) -> Packed:
        part, width = self.empty.sampler, self.element_bits
        number = int(gmpy2.pack(list(self.coefficients), width))
        content = number.to_bytes(-(-len(self.coefficients) * width // 8), "little")
        numbers = {"n": part.n, "p": part.p, "q": part.q, "g": part.g or 0, "t": part.t or 0}
        return Packed(
            {
                "field": self.field.name,
                "sampler": part.kind,
                **{name: str(number) for name, number in numbers.items()},
            },
            {"packed": np.frombuffer(content, dtype=np.uint8)},
        )

    def to_json(self) -> dict[str, Any]:
        """The form in which compact tables have always been saved: texts, and the bytes in base64."""
        packed = self.pack()
        return {
            "kind": self.kind,
            **packed.header,
            "packed": base64.b64encode(packed.arrays["packed"].tobytes()).decode(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CompactTable:
        """The answer that `to_json` wrote. Any other JSON is refused."""
        if set(data) != {"kind", "field", "sampler", "packed", *NUMBERS} or not all(
            isinstance(part, str) for part in data.values()
        ):
            raise ReleaseFormat.damaged("a saved compact answer has ten texts", len(data))
        try:
            content = base64.b64decode(data["packed"], validate=True)
        except ValueError:
            raise _unreadable() from None
        if base64.b64encode(content).decode() != data["packed"]:
            raise _unreadable()
        header = {name: value for name, value in data.items() if name not in ("kind", "packed")}
        return cls.unpack(Packed(header, {"packed": np.frombuffer(content, dtype=np.uint8)}))

    @classmethod
    def unpack(cls, packed: Packed) -> CompactTable:
        try:
            return cls._read(packed.header, packed.arrays["packed"].tobytes())
        except ReleaseFormat:
            raise
        except (DpvizError, KeyError, ValueError, TypeError, ArithmeticError):
            raise _unreadable() from None

    @classmethod
    def _read(cls, data: Mapping[str, Any], content: bytes) -> CompactTable:
        numbers = {name: int(data[name]) for name in NUMBERS if len(data[name]) <= LONGEST_NUMBER}
        n, p, q, g, t = (numbers[name] for name in NUMBERS) if len(numbers) == len(NUMBERS) else (0,) * 5
        fast = data["sampler"] == "fastsample"
        if any(str(numbers[name]) != data[name] for name in numbers) or n < 1 or (not fast and (g or t)):
            raise ReleaseFormat.damaged(
                "a saved compact answer writes n, p, q, g and t as whole numbers", "other numbers"
            )
        if (n + 1) * least_bits(data["sampler"], n, p, q, t) > MOST_BITS:
            raise ReleaseFormat.damaged(f"a compact answer has at most {MOST_BITS:,} bits", f"n = {n:,}")
        sampler = FiniteSampler(n, p, q, data["sampler"], g if fast else None, t if fast else None)
        field = field_named(data["field"])
        empty, width = EmptyBin(sampler, field.order), (field.order - 1).bit_length()
        if len(content) != -(-(n + 1) * width // 8):
            raise ReleaseFormat.damaged(f"n + 1 elements take {-(-(n + 1) * width // 8):,}", f"{len(content):,} bytes")
        number = gmpy2.mpz(int.from_bytes(content, "little"))
        if number.bit_length() > (n + 1) * width:
            raise ReleaseFormat.damaged(
                "a compact answer ends with its last coefficient", "bits beyond the last coefficient"
            )
        elements = [int(part) for part in gmpy2.unpack(number, width)] if number else []
        coefficients = (*elements, *(0 for _ in range(n + 1 - len(elements))))
        if max(coefficients) >= field.order:
            raise ReleaseFormat.damaged(f"a coefficient is an element of {field.name}", "a larger number")
        return cls(field, empty, coefficients)

    def fits(self, question: Question, max_items: int | None) -> bool:
        return question.domain.declared and question.bins <= self.field.order

    def is_of(self, field: str, empty: EmptyBin, n: int) -> bool:
        """Whether this is a polynomial of degree n over this field, whose elements stand for these counts."""
        return self.field.name == field and self.empty == empty and len(self.coefficients) == n + 1

    # ------------------------------------------------------------ reading

    def axis(self, reading: Reading) -> Axis:
        """There are no rows: the axis is that of the look-ups."""
        whole_ = reading.question.domain.size_text.removesuffix(" bins").removesuffix(" bin")
        return Axis(columns_of(reading.question), "bin", (), whole=whole_)

    def rows(self, reading: Reading) -> NoReturn:
        self._refuse("this answer has no row per bin", "ask for single bins: release[label]")

    def point(self, reading: Reading, label: object) -> int:
        return reading.question.domain.index(label)

    def points_of_range(self, reading: Reading, labels: range) -> range | None:
        return reading.question.domain.run(labels)

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NDArray[np.int64]:
        self._reader(reader)
        return self.rows(reading) if points is None or isinstance(points, slice) else self.many(points)

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction | Enclosed:
        """Each bin of a sum is read by itself."""
        if query.size > MOST_READ:
            self._refuse(
                f"a sum over this answer reads its bins one by one, at most {MOST_READ:,} of them", "take fewer bins"
            )
        return added_up(self, reading, query, reader)

    @property
    def bits(self) -> int:
        """Of all coefficients."""
        return len(self.coefficients) * self.element_bits

    def remark(self, reading: Reading) -> str:
        return f"{reading.question.domain.size_text}, answered one by one: release[label]."

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        return look_ups_view(self, reading, betas)


def least_bits(kind: str, n: int, p: int, q: int, t: int) -> int:
    """A lower bound on the bits of one element, before anything of that size is computed."""
    return (n - 1 if kind == "geosample" else max(0, t)) * max(0, p.bit_length() - 1)


def _unreadable() -> DpvizError:
    return ReleaseFormat.damaged(
        "a saved compact answer must hold a field, a sampler and as many coefficients as it says", "other parts"
    )


protect_module(vars())
