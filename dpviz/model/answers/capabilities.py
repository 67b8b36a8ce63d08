"""The capabilities of an answer, one class for each. A shape overrides the members that it has; the rest refuse.

A member that returns a fact has a default that claims nothing (None, False, no columns). A member that must give a
value, a point or a sum refuses with `ReleaseFormat`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import one_word, protect_module
from dpviz.errors import ParameterError, ReleaseFormat
from dpviz.model.answers.reading import (
    Among,
    Axis,
    BinGrid,
    Intervals,
    Listing,
    Operand,
    Packed,
    Points,
    Reading,
    Stretches,
    Values,
    View,
)
from dpviz.model.answers.values import around
from dpviz.model.between import Enclosed
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorValue
from dpviz.model.linear import Query
from dpviz.model.question import Question

if TYPE_CHECKING:
    from dpviz.fitting.tree import TreeFit
    from dpviz.model.answers.base import Answer
    from dpviz.model.answers.records import Draws
    from dpviz.model.marginals import Grid as Marginal
    from dpviz.noise.bits import Bits


class Refusing:
    """The refusals that all capabilities share."""

    kind: ClassVar[str]

    def _refuse(self, rule: str, next_step: str) -> NoReturn:
        raise ReleaseFormat.of(self.kind, rule, next_step)

    def _refuse_sums(self) -> NoReturn:
        """Refuse linear queries and all that rests on them. A shape may say why in its own words."""
        self._refuse("the values of this answer are not counts that add up", "read release.to_frame()")


class AnswerStorage(Refusing):
    """How a shape is stored and read back. Every shape defines `kind`, `pack`, `unpack` and `fits`.

    kind  the name of the shape in stored releases
    """

    kind: ClassVar[str]

    def pack(self) -> Packed:
        """The numbers that were drawn, and nothing that can be calculated from them. `kind` is added by whoever stores
        it."""
        raise NotImplementedError

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """The answer that `pack` gave. Anything else is refused."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.pack().to_json()}

    def held_json(self) -> dict[str, Any]:
        """The same, where a shape that may be long leaves its arrays as `Base64`, to be written a piece at a time."""
        return self.to_json()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls.unpack(Packed.from_json({name: value for name, value in data.items() if name != "kind"}))

    def fits(self, question: Question, max_items: int | None) -> bool:
        """Whether this can be an answer to the question, as far as the question and its number of items tell."""
        raise NotImplementedError

    @property
    def bits(self) -> int | None:
        """The storage needed, for a shape that is chosen for its size; else None."""
        return None


class AnswerValues(Refusing):
    """The rows of an answer, and the value of each with its interval. Every shape defines `axis`.

    has_rows  whether it can be listed, row by row; if not, it is asked point by point
    readers   the estimators it offers, the default first, where it offers several
    """

    has_rows: ClassVar[bool] = True
    readers: ClassVar[tuple[str, ...]] = ()

    @property
    def has_values(self) -> bool:
        """Whether there is a released value for each point."""
        return True

    def axis(self, reading: Reading) -> Axis:
        """The meaning of the rows."""
        raise NotImplementedError

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        """The leading columns of a frame, by name: the labels, and what else says which row is which."""
        axis = self.axis(reading)
        return {axis.noun: axis.labels}

    def lines(self, reading: Reading) -> dict[str, Sequence[Any]]:
        """The same for a table that a person reads, where fewer columns say it."""
        return self.rows(reading)

    def point(self, reading: Reading, label: object) -> Any:
        """The point that a label names, for `read`. Raises an error of ours where there is none."""
        self._refuse("this answer does not answer single points", "read release.to_frame()")

    def points_of_labels(self, reading: Reading, labels: Sequence[object]) -> Sequence[Any] | None:
        """The points of many labels, where they can be told at once; None where they must be asked for one by one."""
        return None

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> Values:
        """The values of these points, or of rows in order. Free: what was drawn is post-processed.

        A value that is no fraction is given as an `Enclosed`: the two fractions that enclose it. Tables and charts
        write both, a frame has them as `value_low` and `value_high`, and pictures draw the middle.

        reader  one of `readers`; left out, the first
        """
        self._refuse("this answer has no values", "read release.answer")

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        """Half-widths of the intervals of one point and of all, where each has the same in every row; else None."""
        return None, None

    def intervals(
        self,
        reading: Reading,
        beta: Fraction,
        among: Among = "one",
        points: Points = None,
        reader: str = "",
    ) -> Intervals | None:
        """The intervals of these points, or of rows in order, which fail at most `beta` of the time; None where
        nothing is known.

        By default each is the value ± its half-width in whole counts, cut at the public limits.
        """
        bar = self.bars(reading, beta)[0 if among == "one" else 1]
        return None if bar is None else around(self.read(reading, points, reader), bar, reading.clamp)

    def tree(self) -> TreeFit | None:
        """The noisy nodes, where the answer is made of those of a tree: what shows which of them a range uses. Else
        None."""
        return None

    def _reader(self, reader: str) -> str:
        """One of `readers`; the default where none is named."""
        if reader and reader not in self.readers:
            if not self.readers:
                raise ParameterError.of(reader, "this answer is read in one way only", "leave reader out")
            one_word(reader, "reader", self.readers, f'write reader="{self.readers[0]}", or leave it out')
        return reader or next(iter(self.readers), "")


class LinearQueries(Refusing):
    """Sums of values with public weights. A shape has them where its values are counts that add up: `AdditiveCounts`.

    noun  what a sum adds up, one by one: bins, or whatever the points of a sum are
    """

    noun: ClassVar[str] = "bin"

    def query_point(self, reading: Reading, label: object) -> Any:
        """The point that a label names, for a sum: of a list of items with values, the place of a listed one."""
        self._refuse_sums()

    def points_of_range(self, reading: Reading, labels: range) -> range | None:
        """The points that whole numbers in a row name, where that is known without asking for each; else None."""
        return None

    def span(self, reading: Reading, low: object, high: object) -> Sequence[Any]:
        """The points from one label to another, both included, where the order of the rows means something."""
        self._refuse_sums()

    def has_ordered_points(self, reading: Reading) -> bool:
        """Whether the order of the points means something, so that a run of them is named by its two ends."""
        return False

    def all_points(self, reading: Reading) -> Sequence[Any]:
        """All points that a sum may be over."""
        self._refuse_sums()

    def total_points(self, reading: Reading, beside: Sequence[Any] | None = None) -> Sequence[Any]:
        """The points that everything is the sum of; of which others are some, where these are given."""
        self._refuse_sums()

    def label(self, reading: Reading, point: Any) -> str:
        """A point of a sum in words."""
        self._refuse_sums()

    def bins_behind(self, reading: Reading, query: Query) -> tuple[int, ...]:
        """How many bins of the question the points of a query add up: of each set of points in which no bin comes
        twice."""
        self._refuse_sums()

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction | Enclosed:
        """The sum of the values of a query's points, times their weights, exactly. Free.

        Only where values are counts of their points, with the error that the law says of them, do they add up.
        """
        self._refuse_sums()


class OrderedBins(Refusing):
    """Bins in an order, whose counts add up from the first to any of them: quantiles rest on these."""

    def ordered_bins(self, reading: Reading) -> range:
        """The points of the bins in their order, without missing and malformed values. Refused where there are none."""
        self._refuse("the values of this answer are no counts of bins in an order", "read release.to_frame()")

    def running_counts(self, reading: Reading, bins: range, reader: str) -> NDArray[np.int64] | None:
        """The sums of the values from the first of the bins to each of them, where all are at hand as whole numbers;
        None where each is better asked for."""
        return None


class TableQueries(Refusing):
    """Marginals and rows of tables over several columns.

    by_columns  whether a label is a dict, by columns
    """

    by_columns: ClassVar[bool] = False

    def marginal(self, reading: Reading, grid: Marginal) -> Callable[[Sequence[Sequence[int]]], Query]:
        """How some cells of a marginal are added up. Raises DomainError where they cannot be."""
        self._refuse_sums()

    def table_row(self, reading: Reading, label: object, beside: Sequence[Any]) -> Sequence[Any] | None:
        """All points of the row of a table in which others lie, where a label of fewer columns names one; else None."""
        return None

    def stretches(self, reading: Reading, beta: Fraction) -> Stretches | None:
        """Sums of neighbouring bins that a picture draws where there are more bins than it has room for; or None."""
        return None

    def heat_map_columns(self, reading: Reading) -> tuple[str, str] | None:
        """The two columns that a heat map is of where nobody names two; None where none come first."""
        return None


class RowSelection(Refusing):
    """Rows that a person picks on a page, or names that a person types there, to add them up or to compare two.

    adds_rows  whether the rows that a page draws are counts that add up, so that it offers sums of what is brushed
    adds_bins  whether sums of bins can be asked for though the rows that a page draws are none: bins are then typed
    """

    adds_rows: ClassVar[bool] = False
    adds_bins: ClassVar[bool] = False

    def in_row(self, reading: Reading, row: int) -> Any:
        """The point of a sum that stands in a row of what the page draws. Raises DomainError where there is no row."""
        self._refuse_sums()

    def typed_point(self, reading: Reading, label: tuple[str, ...]) -> Any:
        """The point of a sum that a person typed, one text for each column: a label as it is shown, or a value."""
        self._refuse_sums()

    def row_operand(self, reading: Reading, row: int) -> Operand:
        """The points to compare where a person picks a row of the picture. Raises DomainError where there is no row."""
        self._refuse_sums()

    def typed_operand(self, reading: Reading, label: tuple[str, ...]) -> Operand:
        """The points to compare where a person typed a name."""
        self._refuse_sums()

    def operand_count(self, reading: Reading) -> int | None:
        """How many operands there are to compare; None where nobody can say."""
        self._refuse_sums()


class NamedItems(Refusing):
    """A list or a set of items, and how sure it is."""

    def listing(self, reading: Reading) -> Listing | None:
        """The items, where the answer is a list or a set of items; else None."""
        return None

    def sureness(self, reading: Reading, beta: Fraction) -> tuple[str, ...]:
        """How sure an answer is that names items, in sentences that fail at most `beta` of the time, and what its end
        means; nothing where each value has an interval that says it."""
        return ()

    def rank_errors(self, reading: Reading, beta: Fraction) -> dict[str, Sequence[Any]]:
        """Columns of a frame that say how sure each row is which has no interval: how far below the true count of the
        last rank an item may lie, for example."""
        return {}

    def last_row(self, reading: Reading) -> tuple[str, ...]:
        """A row after the last that is no value: what ends a list, in the columns of `rows`; or nothing."""
        return ()


class DrawnRecords(Refusing):
    """One drawn record, and further ones."""

    @property
    def has_further_draws(self) -> bool:
        """Whether it is a record that holds what further ones may be drawn from, free."""
        return False

    def draws(self, reading: Reading, count: int, bits: Bits) -> Draws:
        """Further records, where it is one: drawn from what was released, each with the released record's law."""
        self._refuse("only a drawn record has further ones", "ask dv.SampleCategory for records")

    def labels_of(self, reading: Reading) -> Mapping[str, str]:
        """The record in words, its label in each column, where it is one."""
        self._refuse("this answer is not a drawn record", "read release.to_frame()")


class AnswersOfParts(Refusing):
    """Answers about disjoint parts of the data, as one, or cut out of one."""

    @property
    def parts(self) -> tuple[Answer, ...] | None:
        """The answers about disjoint parts of the data, where it is made of one for each; else None."""
        return None

    def side_by_side(self, reading: Reading) -> BinGrid | None:
        """The same side by side, for a table; None where it is not made of parts."""
        return None

    def cut_up(self, by: Domain, domain: Domain) -> Sequence[Answer] | None:
        """An answer about `domain` for each bin of `by`, of this one about their product, where it can be cut up so;
        else None."""
        return None


class AnswerDisplay(Refusing):
    """Words and pictures. Every shape that a page draws defines `view`.

    chart  the kind of chart that draws it, as `dpviz.charts.register` knows it
    """

    chart: ClassVar[str] = "histogram"

    def sentence(self, reading: Reading) -> str:
        """The statement that the answer makes as a whole; empty where it is only the sum of its rows."""
        return ""

    def remark(self, reading: Reading) -> str:
        """A sentence on the values that a reader must know besides their errors; or nothing."""
        return ""

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        """The picture that the page draws.

        betas  how often an error bar may fail, as a person may choose it in the page
        """
        self._refuse("no page draws this answer", "read release.to_frame()")

    def offline_look_ups(self, reading: Reading, betas: Sequence[Fraction]) -> Packed | None:
        """All that a page needs to answer look-ups by itself, for a report, where a page knows how; else None.

        Its header names the shape as `kind`, by which the page finds its reader.
        """
        return None


protect_module(vars())
