"""Look-ups: answers without rows that are asked key by key, with what passed a threshold kept beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, ReleaseFormat
from dpviz.exact import text
from dpviz.model.answers.additive import AdditiveCounts, added_up
from dpviz.model.answers.labels import Labels, are_labels, ascending, labels_json, labels_of
from dpviz.model.answers.pictures import columns_of, look_ups_view
from dpviz.model.answers.reading import Axis, Packed, Reading, View
from dpviz.model.linear import Query
from dpviz.model.question import Question
from dpviz.noise.alp import Keys, coded

MOST_READ: Final = 100_000
"""A sum reads at most so many bins."""


class LookUps(AdditiveCounts):
    """An answer from which any key of a huge domain is read. A subclass is a frozen dataclass that has, besides what it
    reads keys from:

    seed    16 public bytes from which the hash functions follow
    labels  bins whose noisy value passed a threshold, ascending; none where there is no threshold
    values  their noisy values, in whole steps

    source        what keys are read from, in words: "bits"
    main          the name of the array that holds it
    numbers_name  the name of its public numbers in what is stored
    """

    adds_rows: ClassVar[bool] = True
    has_rows: ClassVar[bool] = False
    source: ClassVar[str]
    main: ClassVar[str]
    numbers_name: ClassVar[str]

    seed: bytes
    labels: Labels
    values: NDArray[np.int64]

    # ------------------------------------------------------------ what a subclass says

    @property
    def public(self) -> Any:
        """Its public numbers, which say how many `bits` they need, and write themselves as JSON."""
        raise NotImplementedError

    @property
    def signed(self) -> bool:
        """Whether values may be negative."""
        raise NotImplementedError

    @classmethod
    def _read(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The answer of these parts; whatever is raised here refuses them."""
        raise NotImplementedError

    # ------------------------------------------------------------ storing

    def pack(self) -> Packed:
        header = {
            self.numbers_name: self.public.to_json(),
            "seed": self.seed.hex(),
            **labels_json(self.labels, "labels"),
        }
        return Packed(header, {self.main: getattr(self, self.main), "values": self.values})

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        try:
            return cls._read(packed.header, packed.arrays)
        except ReleaseFormat:
            raise
        except (DpvizError, KeyError, ValueError, TypeError, ArithmeticError):
            raise ReleaseFormat.damaged(
                f"a saved answer of this shape has its public numbers, a seed, its {cls.source} and what is kept",
                cls.kind,
            ) from None

    @classmethod
    def _kept(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[bytes, Labels, NDArray[np.int64]]:
        """The seed, and what is kept. Refuses parts that no saved answer has, and values that are not one for each."""
        seed, labels, values = bytes.fromhex(header["seed"]), labels_of(header, "labels"), arrays["values"]
        if (
            seed.hex() != header["seed"]
            or set(header) != {cls.numbers_name, "seed", "keys", "labels"}
            or set(arrays) != {cls.main, "values"}
        ):
            raise ReleaseFormat.damaged("a saved answer of this shape writes its seed as hexadecimal digits", cls.kind)
        if values.dtype != np.int64 or values.shape != (len(labels),) or not ascending(labels):
            raise ReleaseFormat.damaged("there is one value for each bin that is kept", f"{len(labels)} labels")
        return seed, labels, values

    def fits(self, question: Question, max_items: int | None) -> bool:
        return are_labels(self.labels, question.domain) and self.signed == question.aggregate.signed

    # ------------------------------------------------------------ reading

    def axis(self, reading: Reading) -> Axis:
        """There are no rows: the axis is that of the look-ups."""
        size = reading.question.domain.size_text.removesuffix(" bins").removesuffix(" bin")
        return Axis(columns_of(reading.question), "bin", (), whole=size)

    def rows(self, reading: Reading) -> NoReturn:
        self._refuse("this answer has no row per bin", "ask for single bins: release[label]")

    def point(self, reading: Reading, label: object) -> int | str:
        return reading.question.domain.point(label)

    def points_of_range(self, reading: Reading, labels: range) -> range | None:
        return reading.question.domain.run(labels)

    def points_of_labels(self, reading: Reading, labels: Sequence[object]) -> Sequence[int] | None:
        return reading.question.domain.several(labels)

    @cached_property
    def known(self) -> dict[int | str, int]:
        """The values that are kept. Whether a bin is among them is asked of the label, not of the value, which may be
        0."""
        return dict(zip(self.labels, self.values.tolist(), strict=True))

    def coded(self, reading: Reading, points: Sequence[Any]) -> Keys:
        """The keys by which points are hashed."""
        return coded(points, self.seed, numbered=numbered(reading.question))

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction:
        """Each bin of a sum is read by itself."""
        if query.size > MOST_READ:
            self._refuse(
                f"a sum over this answer reads its bins one by one, at most {MOST_READ:,} of them", "take fewer bins"
            )
        total = added_up(self, reading, query, reader)
        assert isinstance(total, Fraction)
        return total

    @property
    def bits(self) -> int:
        """Of what keys are read from, and of the values that are kept beside it; not of their labels."""
        needed: int = self.public.bits
        return needed + 8 * self.values.nbytes

    # ------------------------------------------------------------ words and pictures

    def header(self, reading: Reading) -> dict[str, Any]:
        """The facts with which a page looks a key up by itself, in sketches and buckets alike: the bins, how their
        labels become keys, and what is kept beside."""
        return {
            "kind": self.kind,
            "domain": reading.question.domain.by_labels.to_json(),
            "numbered": numbered(reading.question),
            "seed": self.seed.hex(),
            "step": text(reading.question.aggregate.step),
            "labels": [str(label) for label in self.labels],
            "values": [str(value) for value in self.values.tolist()],
        }

    def remark(self, reading: Reading) -> str:
        kept = f" {len(self.labels):,} large ones are kept beside the {self.source}." if len(self.labels) else ""
        size = reading.question.domain.size_text
        return f"{size[:1].upper()}{size[1:]}, answered one by one: release[label].{kept}"

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        return look_ups_view(self, reading, betas)


def numbered(question: Question) -> bool:
    """Whether keys are the numbers of bins, and no texts."""
    return question.domain.declared and question.bins <= 2**64


protect_module(vars())
