"""A drawn record, and what further ones may be drawn from: nothing, the noisy weights of all labels, or noisy means.

A record is one bin of each column. Where the mechanism paid for more than the coin of one draw, the answer keeps what
it was drawn from: then further draws are post-processing of one release, free, and depend on each other through its
noise. They are drawn when somebody asks for them; what they are drawn from is stored, so that no reload changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpviz import files
from dpviz.boundary import protect_module, single_arguments
from dpviz.errors import DpvizError, ReleaseFormat
from dpviz.exact import whole
from dpviz.model.answers.base import Answer, register
from dpviz.model.answers.pictures import columns_of
from dpviz.model.answers.reading import Axis, Packed, Points, Reading, Values, View
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.spreadsheet import comment, csv_text
from dpviz.noise.bits import Bits
from dpviz.noise.category import picks
from dpviz.noise.order import uniform_below

if TYPE_CHECKING:
    import pandas as pd

MOST_CELLS: Final = 10_000_000
"""The most cells of further records that are drawn at once."""

FINEST: Final = 1 << 62
"""The grid of noisy means is at most so fine: they are kept as whole numbers of 64 bits."""


def place_of(record: Sequence[int], domain: Domain) -> int:
    """The bin of a record in the domain of all its columns."""
    place = 0
    for factor, bin in zip(domain.factors, record, strict=True):
        place = place * factor.size + bin
    return place


def record_at(place: int, domain: Domain) -> tuple[int, ...]:
    """The record that lies in this bin of the domain of all its columns."""
    record = []
    for factor in reversed(domain.factors):
        place, bin = divmod(place, factor.size)
        record.append(bin)
    return tuple(reversed(record))


class RecordAnswer(Answer):
    """The base of every shape of a drawn record.

    record  the bin of each column, in their order
    """

    chart: ClassVar[str] = "record"

    if TYPE_CHECKING:  # a field of each shape

        @property
        def record(self) -> tuple[int, ...]: ...

    @property
    def has_further_draws(self) -> bool:
        """Whether it holds what further records may be drawn from."""
        return False

    def further(self, domain: Domain, count: int, bits: Bits) -> Sequence[Sequence[int]]:
        """Draw further records, from the stored numbers and fresh bits."""
        raise NotImplementedError

    def draws(self, reading: Reading, count: int, bits: Bits) -> Draws:
        """Draw further records, as `Release.draw` gives them."""
        domain = reading.question.domain
        most = max(1, MOST_CELLS // len(domain.columns))
        drawn = self.further(domain, whole(count, "count", most=most), bits)
        labels = [
            [factor.label(int(bin)) for bin in column] for factor, column in zip(domain.factors, drawn, strict=True)
        ]
        release = "one teaching draw" if reading.number is None else f"entry {reading.number}"
        return Draws(domain.columns, tuple(zip(*labels, strict=True)), release, bits.kind)

    def labels_of(self, reading: Reading) -> dict[str, str]:
        """The record in words: its label in each column."""
        factors = reading.question.domain.factors
        return {one.columns[0]: one.label(bin) for one, bin in zip(factors, self.record, strict=True)}

    def fits(self, question: Question, max_items: int | None) -> bool:
        sizes = [factor.size for factor in question.domain.factors]
        inside = len(self.record) == len(sizes) and all(
            bin < size for bin, size in zip(self.record, sizes, strict=True)
        )
        return max_items is None and not question.aggregate.additive and inside

    @property
    def has_values(self) -> bool:
        return False

    def axis(self, reading: Reading) -> Axis:
        return Axis(columns_of(reading.question), "column", reading.question.domain.columns)

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        labels = self.labels_of(reading)
        return {"column": list(labels), "label": list(labels.values())}

    def point(self, reading: Reading, label: object) -> NoReturn:
        self._refuse_sums()

    def _refuse_sums(self) -> NoReturn:
        self._refuse("a drawn record has labels and no values to look up", "read release.record")

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> Values:
        self.point(reading, None)

    def sentence(self, reading: Reading) -> str:
        return "One record, drawn at random: it need not be anybody's, and says little about how many are like it."

    def remark(self, reading: Reading) -> str:
        if not self.has_further_draws:
            return "Another record would be another release, paid for anew."
        return (
            "Further records are free, with release.draw(n). They share the noise of this one release, so they are not "
            "independent of each other."
        )

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        labels = self.labels_of(reading)
        header = {
            "axis": columns_of(reading.question),
            "columns": list(labels),
            "labels": list(labels.values()),
            "sentence": self.sentence(reading),
            "remark": self.remark(reading),
            "more": self.has_further_draws,
        }
        return View("record", header)

    # ------------------------------------------------------------ storing

    def _header(self) -> dict[str, Any]:
        return {"record": [str(bin) for bin in self.record]}


def _record_of(header: Mapping[str, Any]) -> tuple[int, ...]:
    record = header.get("record")
    if not isinstance(record, list) or not record or not all(isinstance(bin, str) for bin in record):
        raise ReleaseFormat.damaged("a saved record has the bin of each column, as digits", "another list of bins")
    try:
        bins = tuple(whole(int(bin), "a bin", least=0) for bin in record)
    except (DpvizError, ValueError):
        raise ReleaseFormat.damaged(
            "a saved record has the bin of each column, as digits", "another list of bins"
        ) from None
    if [str(bin) for bin in bins] != record:
        raise ReleaseFormat.damaged("a saved record has the bin of each column, as digits", "another list of bins")
    return bins


def _array_of(packed: Packed, name: str) -> NDArray[np.int64]:
    array = packed.arrays.get(name)
    if array is None or set(packed.arrays) != {name} or array.dtype.str != "<i8" or array.ndim != 1 or not array.size:
        raise ReleaseFormat.damaged("a saved record of this shape has one array of whole numbers of eight bytes", name)
    if int(array.min()) < 0 or _total(array) >= 2 * FINEST:
        raise ReleaseFormat.damaged(
            "what further records are drawn from is not negative and sums up in eight bytes", name
        )
    return array


@register
@dataclass(frozen=True, eq=False)
class Record(RecordAnswer):
    """A record from which nothing else may be drawn: the coin was what protected, or the labels nobody has were taken
    together."""

    kind: ClassVar[str] = "record"

    record: tuple[int, ...]

    def pack(self) -> Packed:
        return Packed(self._header())

    @classmethod
    def unpack(cls, packed: Packed) -> Record:
        if set(packed.header) != {"record"} or packed.arrays:
            raise ReleaseFormat.damaged("a saved record has the bin of each column, and nothing else", "other parts")
        return cls(_record_of(packed.header))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self._header()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        return cls.unpack(Packed({name: value for name, value in data.items() if name != "kind"}))


@register
@dataclass(frozen=True, eq=False)
class WeightedRecord(RecordAnswer):
    """A record and the weights of all labels it was drawn from, in proportion to them; uniform where all are 0.

    weights  of each bin of the domain, in its order: noisy, and released with the record
    """

    kind: ClassVar[str] = "weighted record"

    record: tuple[int, ...]
    weights: NDArray[np.int64]

    @property
    def has_further_draws(self) -> bool:
        return True

    def further(self, domain: Domain, count: int, bits: Bits) -> Sequence[Sequence[int]]:
        places = picks(self.weights, count, bits)
        columns: list[NDArray[np.int64]] = []
        for factor in reversed(domain.factors):
            places, bins = np.divmod(places, factor.size)
            columns.append(bins)
        return [column.tolist() for column in reversed(columns)]

    def pack(self) -> Packed:
        return Packed(self._header(), {"weights": self.weights.astype("<i8")})

    @classmethod
    def unpack(cls, packed: Packed) -> WeightedRecord:
        if set(packed.header) != {"record"}:
            raise ReleaseFormat.damaged("a saved record has the bin of each column, and nothing else", "other parts")
        return cls(_record_of(packed.header), _array_of(packed, "weights"))

    def fits(self, question: Question, max_items: int | None) -> bool:
        if not super().fits(question, max_items) or self.weights.size != question.bins:
            return False
        return bool(self.weights[place_of(self.record, question.domain)] or not self.weights.any())


@register
@dataclass(frozen=True, eq=False)
class ProductRecord(RecordAnswer):
    """A record of columns with two labels each, and the noisy chances it was drawn with, column by column.

    chances  of the second label, in whole parts of `grid`: from 0 to grid
    grid     one, in the unit of the chances
    """

    kind: ClassVar[str] = "product record"

    record: tuple[int, ...]
    chances: NDArray[np.int64]
    grid: int

    @property
    def has_further_draws(self) -> bool:
        return True

    def further(self, domain: Domain, count: int, bits: Bits) -> Sequence[Sequence[int]]:
        return [(uniform_below(self.grid, count, bits) < np.uint64(one)).astype(int).tolist() for one in self.chances]

    def pack(self) -> Packed:
        return Packed({**self._header(), "grid": str(self.grid)}, {"chances": self.chances.astype("<i8")})

    @classmethod
    def unpack(cls, packed: Packed) -> ProductRecord:
        if set(packed.header) != {"record", "grid"}:
            raise ReleaseFormat.damaged(
                "a saved record of noisy chances has the bin of each column, and the grid", "other parts"
            )
        written = packed.header["grid"]
        grid = int(written) if isinstance(written, str) and written.isdecimal() and len(written) < 20 else 0
        chances = _array_of(packed, "chances")
        if not 1 <= grid <= FINEST or str(grid) != written or int(chances.max()) > grid:
            raise ReleaseFormat.damaged("the chances of a saved record lie between 0 and the grid", "another chance")
        return cls(_record_of(packed.header), chances, grid)

    def fits(self, question: Question, max_items: int | None) -> bool:
        if not super().fits(question, max_items) or self.chances.size != len(self.record):
            return False
        drawn = np.array(self.record, dtype=np.int64)
        possible = ~((self.chances == 0) & (drawn == 1)) & ~((self.chances == self.grid) & (drawn == 0))
        return all(factor.size == 2 for factor in question.domain.factors) and bool(possible.all())


def _total(array: NDArray[np.int64]) -> int:
    """The sum of whole numbers of 64 bits, however long it is."""
    return (int((array >> 32).sum()) << 32) + int((array & 0xFFFFFFFF).sum())


# ---------------------------------------------------------------- further draws


@dataclass(frozen=True)
class Draws(Sequence[tuple[str, ...]]):
    """Further records drawn from one release, free. They are not independent: all share the noise of that release.

    columns     the names of the columns
    records     one tuple of labels a record
    of          the release that they were drawn from
    randomness  the kind of random bits
    """

    columns: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]
    of: str
    randomness: str

    @property
    def note(self) -> str:
        """A sentence that a reader of these records must know."""
        return (
            f"{len(self):,} further records drawn from {self.of}, free: they share the noise of one release, so they "
            "are not independent of each other"
        )

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, place: Any) -> Any:
        return self.records[place]

    def to_frame(self) -> pd.DataFrame:
        """One row a record, one column for each of theirs. `attrs["note"]` says what they are."""
        import pandas as pd

        frame = pd.DataFrame(list(self.records), columns=list(self.columns))
        frame.attrs["note"] = self.note
        return frame

    @single_arguments
    def to_csv(self, path: str | Path | None = None) -> str | None:
        """The frame as CSV, preceded by a comment line that says what the records are."""
        content = comment(self.note) + csv_text(self.to_frame())
        if path is None:
            return content
        place = files.of_format(path, "a table", "records.csv", files.CSV)
        files.write(place, content.encode("utf-8", "backslashreplace"), "a CSV file", "records.csv")
        return None

    def __repr__(self) -> str:
        return f"<{self.note}>"


protect_module(vars())
