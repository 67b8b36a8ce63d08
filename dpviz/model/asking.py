"""Questions to what was paid for already, free: sums, ranges, differences, shares and comparisons of its counts.

Everything that can be asked has a `Subject`: how a linear question is read, and what its error is known to be. The
statements here rest on these two alone, so they are the same for every shape of answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import Hidden, as_given, kind_of, plain_arguments, protect_module
from dpviz.errors import DomainError, ParameterError
from dpviz.exact import Number, ceil_to, floor_to, probability, text, whole
from dpviz.model.answers import Answer, Enclosed, Operand, Reading
from dpviz.model.between import between
from dpviz.model.derived import Among, Chance, Derived, DerivedKind, DerivedTable, Paid
from dpviz.model.domain import each_of, one_of
from dpviz.model.error import ErrorValue, How
from dpviz.model.linear import AllKeys, Bias, Kind, LinearError, Query, inside, length, outside
from dpviz.model.words import reach

if TYPE_CHECKING:  # loaded once somebody asks for shares, or for a marginal
    from dpviz.fitting.shares import Pair, Shares
    from dpviz.fitting.sums import Quantile
    from dpviz.model.marginals import Marginal

Bounds: TypeAlias = tuple[Fraction | None, Fraction | None]
"""Between which a truth lies; None where there is no limit."""

SHOWN: Final = 3
"""The most labels that a sentence names."""

MOST_ASKED: Final = 100_000
"""The most questions that are answered at once."""

MOST_NAMED: Final = 1_000_000
"""The most labels of a `range` that are looked up one by one, where its two ends do not say which points they name."""

NONE = Fraction(0)

RATIO: Final = Bias("biased: it is a ratio of noisy counts")

FINE: Final = Fraction(1, 1_000_000)
"""The ends of a share are written to this, rounded outward."""


class Subject(Protocol):
    """The questions that can be asked.

    answer, reading  which points there are and what they are called
    paid             what it rests on
    """

    @property
    def answer(self) -> Answer: ...

    @property
    def reading(self) -> Reading: ...

    @property
    def paid(self) -> tuple[Paid, ...]: ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """The sentences that a reader of any of its intervals must know."""
        ...

    def value(self, query: Query, reader: str) -> Fraction | Enclosed:
        """The weighted sum of its values."""
        ...

    def error(self, query: Query, reader: str) -> LinearError:
        """The error of that value, as far as it is known."""
        ...

    def running_counts(self, bins: range, reader: str) -> NDArray[np.int64] | None:
        """The sums of the values from the first of the bins to each, where all are at hand; else None."""
        ...

    def pair(self, first: Query, second: Query, reader: str) -> Pair | None:
        """Two sums without a point in common, and the law of any weighted sum of both; None where it is not known."""
        ...

    def limits(self, query: Query) -> Bounds:
        """Between which public limits the truth lies."""
        ...

    def all_bins(self, beta: Fraction, reader: str) -> ErrorValue | None:
        """Bound the error of the worst of all points, read by one estimator."""
        ...


class Askable:
    """Answer questions that nobody planned, from a release or from two that were combined. All answers are free.

    Labels are written as for ``release[label]``. A list of lists of labels, or a dict of such lists by name, asks many
    questions at once; the answers come as a `DerivedTable`.
    """

    @property
    def _subject(self) -> Subject:
        raise NotImplementedError

    @plain_arguments
    def sum(
        self, labels: object = None, *, beta: Number = "0.05", among: Among = "one", reader: str = ""
    ) -> Derived | DerivedTable:
        """Sum the counts of some labels; of all, where none are named.

        Parameters
        ----------
        labels : label, list, range or dict, optional
            The labels; a list of lists, or a dict of lists by name, for many sums.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the truth, above 0 and at most 1.
        among : {"one", "all"} or int, default "one"
            "one": the interval holds for a question that was picked before looking at the answer. A number: for all of
            that many such questions at once. "all": for all of a kind at once: all sums, all ranges, all pairs.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived or DerivedTable
            The value with its interval; a table where several questions are asked. Free: the release is paid for
            already.

        Raises
        ------
        DomainError
            If a label is unknown or named twice.
        ReleaseFormat
            If the answer has no values.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.
        """
        asked = _Asked(self._subject, beta, among, reader)
        return _each(asked.sum, asked.sets(labels))

    @plain_arguments
    def range(
        self, low: object, high: object, *, beta: Number = "0.05", among: Among = "one", reader: str = ""
    ) -> Derived | DerivedTable:
        """Sum the counts from one label to another, both included.

        Parameters
        ----------
        low, high : label or list
            The first and the last label. Lists of both ask for many ranges.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the truth, above 0 and at most 1.
        among : {"one", "all"} or int, default "one"
            "one": the interval holds for a question that was picked before looking at the answer. A number: for all of
            that many such questions at once. "all": for all of a kind at once: all sums, all ranges, all pairs.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived or DerivedTable
            The value with its interval; a table where several questions are asked. Free: the release is paid for
            already.

        Raises
        ------
        DomainError
            If a range is reversed, a label is unknown, or the bins have no order.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.
        """
        asked = _Asked(self._subject, beta, among, reader)
        listed = isinstance(low, list) or isinstance(high, list)
        return _each(_unquoted(asked.range) if listed else asked.range, _ones(low), _ones(high))

    @plain_arguments
    def difference(
        self, a: object, b: object, *, beta: Number = "0.05", among: Among = "one", reader: str = ""
    ) -> Derived | DerivedTable:
        """Subtract the counts of some labels from those of others.

        Parameters
        ----------
        a, b : label, list, range or dict
            The labels whose counts are added, and those whose counts are subtracted; lists of lists for many
            differences.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the truth, above 0 and at most 1.
        among : {"one", "all"} or int, default "one"
            "one": the interval holds for a question that was picked before looking at the answer. A number: for all of
            that many such questions at once. "all": for all of a kind at once: all sums, all ranges, all pairs.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived or DerivedTable
            The value with its interval; a table where several questions are asked. Free: the release is paid for
            already.

        Raises
        ------
        DomainError
            If a label is unknown or named twice.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.
        """
        asked = _Asked(self._subject, beta, among, reader)
        return _each(asked.difference, asked.sets(a), asked.sets(b))

    @plain_arguments
    def share(
        self, part: object, whole: object = None, *, beta: Number = "0.05", among: Among = "one", reader: str = ""
    ) -> Derived | DerivedTable:
        """Divide the sum of some labels by the sum of a whole that contains them.

        Parameters
        ----------
        part : label, list, range or dict
            The labels of the part. Of a table of `dv.Marginals` a row is named by its labels:
            ``release.share({"sex": "f", "year": 1977}, {"sex": "f"})``.
        whole : label, list, range or dict, optional
            The labels of the whole; all labels by default.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the truth, above 0 and at most 1.
        among : {"one", "all"} or int, default "one"
            "one": the interval holds for a question that was picked before looking at the answer. A number: for all of
            that many such questions at once. "all": for all of a kind at once: all sums, all ranges, all pairs.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived or DerivedTable
            The value with its interval; a table where several questions are asked. Free: the release is paid for
            already.

        Raises
        ------
        DomainError
            If a label is unknown, or the part does not lie in the whole.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.

        Notes
        -----
        A ratio of noisy counts is biased, and the answer says so. A whole that may be 0 leaves any share possible.
        """
        asked = _Asked(self._subject, beta, among, reader)
        return _each(asked.share, asked.sets(part), asked.sets(whole))

    @plain_arguments
    def marginal(
        self,
        columns: object,
        *,
        share_of: object = None,
        beta: Number = "0.05",
        among: Among = "one",
        reader: str = "",
    ) -> Marginal:
        """Add up the counts of an answer over several columns, for some of the columns: a table of sums.

        Parameters
        ----------
        columns : str or list of str
            The columns that are kept; the last one runs fastest.
        share_of : str or list of str, optional
            Gives shares instead of counts: of the sums over these of the columns, so that shares of one such sum add up
            to 1; ``[]`` for shares of the total.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the truth, above 0 and at most 1.
        among : {"one", "all"} or int, default "one"
            "one": the interval holds for a question that was picked before looking at the answer. A number: for all of
            that many such questions at once. "all": for all of a kind at once: all sums, all ranges, all pairs.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Marginal
            The cells, which add up to the total, and to the cells of a marginal of fewer columns.

        Raises
        ------
        DomainError
            If the answer does not have these columns, there are more than 100,000 cells, or the answer has no declared
            bins.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.
        """
        asked = _Asked(self._subject, beta, among, reader)
        return asked.marginal(columns, share_of)

    @plain_arguments
    def compare(
        self, a: object, b: object, *, beta: Number = "0.05", among: Among = "one", reader: str = ""
    ) -> Derived | DerivedTable:
        """Compare two counts: their difference, its interval, and a p-value for the first being larger.

        Parameters
        ----------
        a, b : label, list, range or dict
            The labels on each side; lists of lists for many comparisons.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the truth, above 0 and at most 1.
        among : {"one", "all"} or int, default "one"
            "one": the interval holds for a question that was picked before looking at the answer. A number: for all of
            that many such questions at once. "all": for all of a kind at once: all sums, all ranges, all pairs.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived or DerivedTable
            The value with its interval; a table where several questions are asked. Free: the release is paid for
            already.

        Raises
        ------
        DomainError
            If a label is unknown or named twice.
        ParameterError
            If `beta`, `among` or `reader` is outside its range.

        Notes
        -----
        The p-value is the probability of so large a difference where the first count is no larger than the second. With
        `among` a number, it is for the best of that many pairs; with "all", for the largest gap among all bins.
        """
        asked = _Asked(self._subject, beta, among, reader)
        return _each(asked.compare, asked.sets(a), asked.sets(b))


# ---------------------------------------------------------------- what is asked


@dataclass(frozen=True)
class _Many:
    """Several questions, each with a name or none."""

    parts: Sequence[Any]
    names: Sequence[str] | None = None


def _sets(labels: Any) -> Any:
    """Labels as one set, or as many: a list of lists, or a dict of them."""
    if isinstance(labels, Mapping):
        names = [one_of(name, _name, "a name") for name in labels]
        return _Many([_set(one) for one in labels.values()], names)
    if isinstance(labels, list) and labels and all(isinstance(one, list | range) for one in labels):
        return _Many([_set(one) for one in labels])
    return _set(labels)


def _name(name: Any, what: str) -> str:
    if not isinstance(name, str):
        raise DomainError.of(kind_of(name), f"{what} must be text", "write it in quotes")
    return name


def _set(labels: Any) -> Sequence[Any] | None:
    if labels is None or isinstance(labels, list | range):
        return cast("Sequence[Any] | None", labels)
    return [labels]


def _ones(label: Any) -> Any:
    return _Many(label) if isinstance(label, list) else label


def _unquoted(ask: Callable[..., Derived]) -> Callable[..., Derived]:
    """Ask of one in a list: a refusal says the rule and not the value, for the list may be a pasted column."""

    def asked(*given: Any) -> Derived:
        try:
            return ask(*given)
        except ParameterError as error:
            refused = DomainError.of("another one in a list", error.rule, error.next_step)
        raise refused

    return asked


def _each(ask: Callable[..., Derived], *given: Any) -> Derived | DerivedTable:
    """One question, or as many as the lists have: a single one goes with each of a list."""
    many = [one for one in given if isinstance(one, _Many)]
    if not many:
        return ask(*given)
    counts = {len(one.parts) for one in many}
    if len(counts) > 1:
        raise ParameterError.of(
            " and ".join(f"{count:,}" for count in sorted(counts)),
            "two lists of questions must be equally long",
            "give lists of one length",
        )
    number = counts.pop()
    if not 0 < number <= MOST_ASKED:
        raise ParameterError.of(
            f"{number:,} questions", f"ask 1 to {MOST_ASKED:,} questions at once", "ask for the others in another call"
        )
    rows = [ask(*(one.parts[at] if isinstance(one, _Many) else one for one in given)) for at in range(number)]
    names = next((one.names for one in many if one.names is not None), None)
    if names is not None:
        rows = [_named(row, name) for row, name in zip(rows, names, strict=True)]
    return DerivedTable(tuple(rows))


def _named(row: Derived, name: str) -> Derived:
    return replace(row, what=name)


# ---------------------------------------------------------------- what is answered


@dataclass(frozen=True)
class _Interval:
    """An interval before and after it is cut at public limits."""

    value: Fraction | Enclosed
    low: Fraction | None
    high: Fraction | None
    how: How
    rule: str
    off: Fraction | None
    cut: tuple[bool, bool]
    empty: bool
    remarks: tuple[str, ...]


class _Asked:
    """One way of asking: at a level, among so many, by a reader."""

    def __init__(self, subject: Subject, beta: Number, among: Any, reader: str) -> None:
        self.subject, self.beta = subject, probability(beta, "beta", zero=False)
        self.among, self.reader = among_of(among), reader
        if not isinstance(reader, str):
            raise ParameterError.of(
                as_given(reader), "reader must be the name of an estimator", "leave reader out for the first one"
            )

    def sets(self, labels: Any) -> Any:
        """Labels as one set, or as many; a dict of values is one label where labels are such."""
        if self.subject.answer.by_columns and isinstance(labels, Mapping):
            one = not any(isinstance(part, list | Mapping) for part in labels.values())
            return [labels] if one else _sets(labels)
        return _sets(labels)

    def points_of(self, labels: Sequence[Any] | None) -> Sequence[Any]:
        """The points of the answer that labels name."""
        return self._points(labels)

    # ------------------------------------------------------------ the five questions

    def sum(self, labels: Sequence[Any] | None) -> Derived:
        points = self._points(labels)
        return self._derived("sum", self._words(points, labels), Query.of((points, 1)), "sums")

    def range(self, low: Any, high: Any) -> Derived:
        return self.stretch(self.subject.answer.span(self.subject.reading, low, high))

    def stretch(self, points: Sequence[Any]) -> Derived:
        ends = self._stretch_text(points) if length(points) > 1 else self._label(points[0])
        what = f"{self._axis}: {ends}"
        return self._derived("range", what, Query.of((points, 1)), "ranges")

    def difference(self, a: Sequence[Any] | None, b: Sequence[Any] | None) -> Derived:
        what, query, kind = self.pair_of(a, b)
        return self._derived("difference", what, query, kind)

    def share(self, part: Sequence[Any] | None, whole_: Sequence[Any] | None) -> Derived:
        return self._ratio(*self.split(part, whole_))

    def split(self, part: Sequence[Any] | None, whole_: Sequence[Any] | None) -> tuple[str, Query, Query]:
        """A share in words, its part and the rest of its whole."""
        chosen = self._points(part)
        row = (
            self.subject.answer.table_row(self.subject.reading, whole_[0], chosen)
            if whole_ and len(whole_) == 1
            else None
        )
        all_of = self._points(whole_, beside=chosen) if row is None else row
        rest = self._rest(chosen, all_of)
        what = f"{self._words(chosen, part)}, as a share of {self._short(all_of, whole_)}"
        return what, Query.of((chosen, 1)), rest

    def marginal(self, columns: object, share_of: object) -> Marginal:
        """One sum for each cell, or its share of those that have the same labels in the columns of a whole."""
        reading = self.subject.reading
        domain = reading.question.domain
        if not domain.declared:
            raise DomainError.of(
                f"an answer of {self._noun}s", "a marginal adds up declared bins", "ask for sums of what there is"
            )
        from dpviz.model.marginals import Grid, Marginal, of_columns

        grid = Grid.of(domain, columns)
        added = self.subject.answer.marginal(reading, grid)
        cells = list(grid.cells())
        labels = tuple(map(grid.labels, cells))
        names = [" · ".join(one) for one in labels]
        if share_of is None:
            rows = [self._derived("sum", name, added([cell]), "sums") for name, cell in zip(names, cells, strict=True)]
            return Marginal(tuple(rows), grid.columns, labels, grid.axes, self._again(share_of))
        kept = of_columns(share_of, grid)
        groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for cell in cells:
            groups.setdefault(tuple(cell[place] for place in kept), []).append(cell)
        rows = []
        for cell, one, name in zip(cells, labels, names, strict=True):
            others = [other for other in groups[tuple(cell[place] for place in kept)] if other != cell]
            if not others:
                raise DomainError.of(
                    "a column of one bin", "a part must leave something of its whole", "leave that column out"
                )
            whole_ = " · ".join(one[place] for place in kept) or "all"
            rows.append(self._ratio(f"{name}, as a share of {whole_}", added([cell]), added(others)))
        return Marginal(tuple(rows), grid.columns, labels, grid.axes, self._again(share_of))

    def _again(self, share_of: object) -> Callable[[Sequence[str], Among], Marginal]:
        return partial(_marginal, self.subject, self.beta, self.reader, share_of)

    def _ratio(self, what: str, first: Query, second: Query) -> Derived:
        """The share that one sum has of itself and the rest."""
        together = Query.of(*first.parts, *second.parts)
        total = self._interval(together, "sums", self.beta)
        reached = total.low is None or total.low <= 0
        pair = self.subject.pair(first, second, self.reader)
        if pair is None:
            value = ratio(*(between(self.subject.value(query, self.reader)) for query in (first, together)))
        else:
            value = ratio(between(pair.a), between(pair.a + pair.b))
        found = _Share(NONE, Fraction(1), "bound", "a share of a whole that may be 0") if reached else None
        remarks = ["The whole may be 0, so any share is possible."] if reached else []
        if found is None:
            found = self._fieller(first, second, pair) or self._rectangle(first, second)
            remarks += found.remarks
        return Derived(
            kind="share",
            what=what,
            value=value,
            **self._ends_of("share", found.low, found.high),
            how=found.how,
            rule=found.rule,
            off=found.off,
            beta=self.beta,
            among=self.among,
            bias=RATIO,
            paid=self.subject.paid,
            nouns=self.subject.reading.limited.nouns(several=True),
            remarks=(*remarks, *self._declared),
        )

    def compare(self, a: Sequence[Any] | None, b: Sequence[Any] | None) -> Derived:
        what, query, kind = self.pair_of(a, b)
        return self._derived("comparison", what, query, kind, self._chance(query))

    def _derived(self, kind: DerivedKind, what: str, query: Query, of: Kind, chance: Chance | None = None) -> Derived:
        found, error = self._interval(query, of, self.beta), self.subject.error(query, self.reader)
        sides = ([points for points, weight in query.parts if weight * sign > 0] for sign in (1, -1))
        several = any(isinstance(one, AllKeys) for one, _ in query.parts) or any(
            sum(map(length, side)) > 1 for side in sides
        )
        return Derived(
            kind=kind,
            what=what,
            value=found.value,
            **self._ends_of(kind, found.low, found.high),
            how=found.how,
            rule=found.rule,
            off=found.off,
            beta=self.beta,
            among=self.among,
            bias=error.bias,
            paid=self.subject.paid,
            nouns=self.subject.reading.limited.nouns(several),
            remarks=(*found.remarks, *self._declared),
            cut=found.cut,
            empty=found.empty,
            chance=chance,
        )

    @property
    def _declared(self) -> tuple[str, ...]:
        """The facts that it rests on that no row was left out, and the remarks of what is asked."""
        declared = self.subject.reading.limited.declared
        return (*([declared] if declared else []), *self.subject.remarks)

    def _ends_of(self, kind: DerivedKind, low: Fraction | None, high: Fraction | None) -> dict[str, Any]:
        """The interval that a `Derived` has: for what was asked, and for what was counted where a limit cuts.

        An end of a sum holds for both where the sum only grows, or only falls, with each row that is left out. Of a
        difference or a share neither does.
        """
        limited = self.subject.reading.limited
        if not limited.cuts:
            return {"low": low, "high": high}
        counted = {"counted": (low, high), "limits": limited.of_sum if kind in ("sum", "range") else limited.of_pair}
        asked = limited.opened(low, high) if kind in ("sum", "range") else (None, None)
        return {"low": asked[0], "high": asked[1], **counted}

    # ------------------------------------------------------------ points and words

    @property
    def _axis(self) -> str:
        return self.subject.reading.question.domain.columns_text

    def _points(self, labels: Sequence[Any] | None, beside: Sequence[Any] | None = None) -> Sequence[Any]:
        """The points that labels name, each once; where none are named those of everything, which others are some of,
        if these are given."""
        answer, reading = self.subject.answer, self.subject.reading
        if labels is None:
            return answer.total_points(reading, beside)
        if isinstance(labels, range) and (run := answer.points_of_range(reading, labels)) is not None:
            return run
        if not labels:
            raise DomainError.of(
                "no labels", "a sum needs at least one label", "name labels, or leave them out for all"
            )
        if isinstance(labels, range) and len(labels[: MOST_NAMED + 1]) > MOST_NAMED:
            raise DomainError.of(
                "a longer range", f"at most {MOST_NAMED:,} labels are looked up one by one", "ask for fewer at once"
            )
        if any(isinstance(label, Hidden) for label in labels):
            raise DomainError.of(
                "a list of something else", "labels must be public texts and numbers", "write them out"
            )
        named = each_of(labels, lambda one, name: answer.query_point(reading, one))
        seen: dict[Any, int] = {}
        for place, point in enumerate(named, 1):
            if point in seen:
                raise DomainError.of(
                    f"labels {seen[point]} and {place}",
                    f"each {self._noun} is added up once",
                    "leave one of the two out",
                )
            seen[point] = place
        return _run(named)

    @property
    def _noun(self) -> str:
        """The points that are added up: a bin, a rank."""
        return self.subject.answer.noun

    def _label(self, point: Any) -> str:
        """The label of a point as it is read."""
        reading = self.subject.reading
        return reading.question.domain.told(self.subject.answer.label(reading, point))

    def _stretch_text(self, points: Sequence[Any]) -> str:
        answer, reading = self.subject.answer, self.subject.reading
        return reading.question.domain.told_range(*(answer.label(reading, points[at]) for at in (0, -1)))

    def _words(self, points: Sequence[Any], labels: Sequence[Any] | None) -> str:
        return f"{self._axis}: {self._short(points, labels)}"

    def _short(self, points: Sequence[Any], labels: Sequence[Any] | None) -> str:
        """`0, 1, 2 and 5 more`; of neighbours in order, `0 to 7`."""
        answer, reading = self.subject.answer, self.subject.reading
        if labels is None:
            return "all" if isinstance(points, AllKeys) else f"all {length(points):,}"
        if isinstance(points, range) and length(points) > SHOWN and answer.has_ordered_points(reading):
            return self._stretch_text(points)
        named = [self._label(point) for point in points[:SHOWN]]
        more = length(points) - len(named)
        return (
            f"{', '.join(named)} and {more:,} more"
            if more
            else " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
        )

    def pair_of(self, a: Sequence[Any] | None, b: Sequence[Any] | None) -> tuple[str, Query, Kind]:
        first, second = self._points(a), self._points(b)
        query = Query.minus(first, second)
        if not query.parts:
            raise DomainError.of(
                "the same labels on both sides",
                f"two sets of labels must differ in some {self._noun}",
                "name two sets that are not the same",
            )
        what = f"{self._words(first, a)}, less {self._short(second, b)}"
        return what, query, "pairs" if query.one_by_one else "sums"

    def _rest(self, part: Sequence[Any], all_of: Sequence[Any]) -> Query:
        """The points of the whole that are not in the part; the part must lie in the whole and not be all of it."""
        if isinstance(all_of, AllKeys) or isinstance(part, AllKeys):
            raise DomainError.of("all keys", "a share needs a whole that is known", "name its labels")
        if not inside(part, all_of):
            raise DomainError.of("other labels", "a part must lie in its whole", "name the labels of the part in both")
        rest = Query.of(*((piece, 1) for piece in outside(all_of, part)))
        if not rest.parts:
            raise DomainError.of("all of it", "a part must leave something of its whole", "leave a label out")
        return rest

    # ------------------------------------------------------------ intervals

    def _interval(self, query: Query, kind: Kind, beta: Fraction) -> _Interval:
        """The interval of one linear question, cut at what is public."""
        value, error = self.subject.value(query, self.reader), self.subject.error(query, self.reader)
        (below, above), how, rule, off = self._ends(error, query, kind, beta)
        ends = between(value)
        low = None if below is None else ends.low - below.value
        high = None if above is None else ends.high + above.value
        remarks = [error.why_open] if (low is None or high is None) and error.why_open else []
        if self.among == "one" and (more := error.remark(beta)):
            remarks.append(more)
        if all(weight.denominator == 1 for _, weight in query.parts):  # then the truth is a number of whole steps
            step = self.subject.reading.question.aggregate.step
            first = None if low is None else math.ceil(low / step) * step
            last = None if high is None else math.floor(high / step) * step
            if first is not None and last is not None and first > last:
                number = "whole number" if step == 1 else f"multiple of {text(step)}"
                remarks.append(f"No {number} lies within the error bar, which is that narrow at this level.")
                return _Interval(value, low, high, how, rule, off, (False, False), True, tuple(remarks))
            low, high = first, last
        least, most = self.subject.limits(query)
        cut_low = low if least is None else least if low is None else max(low, least)
        cut_high = high if most is None else most if high is None else min(high, most)
        if cut_low is not None and cut_high is not None and cut_low > cut_high:
            remarks.append(
                "No count that is possible lies within the error bar: the noise was larger than it allows for."
            )
            return _Interval(value, low, high, how, rule, off, (False, False), True, tuple(remarks))
        cut = cut_low != low, cut_high != high
        return _Interval(value, cut_low, cut_high, how, rule, off, cut, False, tuple(remarks))

    def _ends(
        self, error: LinearError, query: Query, kind: Kind, beta: Fraction
    ) -> tuple[tuple[Quantile | None, Quantile | None], How, str, Fraction | None]:
        """Bound the truth below and above the value, and say how that is known."""
        if self.among == "all":
            return self._every(error, query, kind, beta)
        number = 1 if self.among == "one" else self.among
        ends = error.ends(beta / number)
        if number > 1:
            return ends, "bound", f"{error.rule}; union bound over {number:,} questions", None
        return ends, *_known(error.exact, ends), error.rule, _off(error.exact, ends)

    def _every(
        self, error: LinearError, query: Query, kind: Kind, beta: Fraction
    ) -> tuple[tuple[Quantile | None, Quantile | None], How, str, Fraction | None]:
        """The same for all of a kind at once. Sums of any bins rest on a band for all bins."""
        every = self.subject.answer.all_points(self.subject.reading)
        if kind != "sums" and not isinstance(every, AllKeys):
            rows = length(every)
            special = error.every(kind, rows, beta)
            if special is not None:
                ends, rule = special
                return ends, *_known(error.exact, ends), rule, _off(error.exact, ends)
            number = rows * (rows + 1) // 2 if kind == "ranges" else max(1, rows * (rows - 1) // 2)
            kinds = "ranges" if kind == "ranges" else f"pairs of {self._noun}s"
            rule = f"{error.rule}; union bound over all {number:,} {kinds}"
            return error.ends(beta / number), "bound", rule, None
        bar = self.subject.all_bins(beta, self.reader)
        if bar is None:
            raise ParameterError.of(
                '"all"',
                f"nothing public says how far all {self._noun}s are off at once",
                "give among= the number of questions",
            )
        most = query.total * bar.value
        from dpviz.fitting.sums import Quantile

        end = Quantile(most, most)
        return (end, end), "bound", f"every {self._noun} within {reach(bar.value)} at once: {bar.rule}", None

    # ------------------------------------------------------------ shares and comparisons

    def _fieller(self, first: Query, second: Query, pair: Pair | None) -> _Share | None:
        """By inversion of the test, where the errors of both sums have exact laws."""
        if self.among == "all" or pair is None:
            return None
        number = 1 if self.among == "one" else self.among
        from dpviz.fitting.shares import shares_of_pair

        found = self._independent(first, second, pair, self.beta / number) or shares_of_pair(pair, self.beta / number)
        if found is None:
            return None
        remarks = ("No share from 0 to 1 lies within the error bar: the noise was larger than it allows for.",)
        rule = "Fieller's test with the exact law of the noise, inverted"
        if number > 1:
            return _Share(found.low, found.high, "bound", f"{rule}; union bound over {number:,} questions")
        if found.undecided:
            remarks = ("The whole is so near 0 that any share is possible.",)
            return _Share(found.low, found.high, "bound", rule, None, remarks)
        return _Share(found.low, found.high, "numerical", rule, found.off, remarks if found.empty else ())

    def _independent(self, first: Query, second: Query, pair: Pair, beta: Fraction) -> Shares | None:
        """Where both are sums of whole counts whose noises have nothing in common, with less to allow for."""
        errors = [self.subject.error(query, self.reader) for query in (first, second)]
        if not all(error.independent for error in errors) or not (pair.a.denominator == pair.b.denominator == 1):
            return None
        laws = pair.law(Fraction(1), NONE), pair.law(NONE, Fraction(1))
        from dpviz.fitting.shares import shares

        return shares(*laws, int(pair.a), int(pair.b), beta)

    def _rectangle(self, first: Query, second: Query) -> _Share:
        """From intervals of the part and of the rest, each at beta / 2: the share grows with one and falls with the
        other. For all sums at once the two hold together as it is."""
        level = self.beta if self.among == "all" else self.beta / 2
        one, rest = (self._interval(query, "sums", level) for query in (first, second))
        rule = f"the part and the rest, each at beta / 2: {one.rule}"
        if one.empty or rest.empty:
            return _Share(NONE, Fraction(1), "bound", rule, None, (*one.remarks, *rest.remarks))
        low = NONE if not one.low or rest.high is None else one.low / (one.low + rest.high)
        high = Fraction(1) if one.high is None or not rest.low else one.high / (one.high + rest.low)
        return _Share(floor_to(low, FINE), ceil_to(high, FINE), "bound", rule)

    def _chance(self, query: Query) -> Chance | None:
        """The p-value of `value > 0`, for the worst truth that is not above 0."""
        value, error = self.subject.value(query, self.reader), self.subject.error(query, self.reader)
        gap = between(value).low
        rule = error.rule
        if gap <= 0 and not error.exact:
            return Chance(Enclosed(Fraction(1), Fraction(1)), "bound", "a difference that is not above 0 shows nothing")
        if self.among == "all":
            largest = (
                error.largest_gap(length(self.subject.answer.all_points(self.subject.reading)), gap)
                if query.one_by_one
                else None
            )
            if largest is None:
                raise ParameterError.of(
                    '"all"',
                    f"the largest gap is known between single {self._noun}s with noise of one law",
                    "give among= the number of pairs",
                )
            return Chance(
                Enclosed(*largest), "exact" if error.exact else "bound", f"the largest gap among all {self._noun}s"
            )
        found = error.pair(gap) if query.one_by_one else None
        rule = "the law of the difference of two noises" if found is not None else error.rule
        found = error.at_least(gap) if found is None else found
        if found is None:
            return None
        number = 1 if self.among == "one" else self.among
        high = min(Fraction(1), number * found[1])
        if number > 1:
            return Chance(Enclosed(NONE, high), "bound", f"{rule}, times {number:,} pairs")
        return Chance(Enclosed(found[0] if error.exact else NONE, high), "exact" if error.exact else "bound", rule)


def sums_of(
    subject: Subject,
    labels: object,
    beta: Number,
    among: Any,
    reader: str,
    change: Callable[[Query, Derived], Derived],
) -> Derived | DerivedTable:
    """The sums of `Askable.sum`, each changed by what is known of its question besides."""
    asked = _Asked(subject, beta, among, reader)

    def ask(one: Any) -> Derived:
        return change(Query.of((asked.points_of(one), 1)), asked.sum(one))

    return _each(ask, asked.sets(labels))


def differences_of(
    subject: Subject,
    a: object,
    b: object,
    beta: Number,
    among: Any,
    reader: str,
    change: Callable[[Query, Derived], Derived],
    compared: bool = False,
) -> Derived | DerivedTable:
    """The differences of `Askable.difference`, or the comparisons of `Askable.compare`, each changed likewise."""
    asked = _Asked(subject, beta, among, reader)

    def ask(one: Any, other: Any) -> Derived:
        found = asked.compare(one, other) if compared else asked.difference(one, other)
        return change(asked.pair_of(one, other)[1], found)

    return _each(ask, asked.sets(a), asked.sets(b))


def shares_of(
    subject: Subject,
    part: object,
    whole: object,
    beta: Number,
    among: Any,
    reader: str,
    change: Callable[[Query, Query, Derived], Derived],
) -> Derived | DerivedTable:
    """The shares of `Askable.share`, each changed by what is known of its part and the rest besides."""
    asked = _Asked(subject, beta, among, reader)

    def ask(one: Any, other: Any) -> Derived:
        return change(*asked.split(one, other)[1:], asked.share(one, other))

    return _each(ask, asked.sets(part), asked.sets(whole))


def _marginal(
    subject: Subject, beta: Fraction, reader: str, share_of: object, columns: Sequence[str], among: Among
) -> Marginal:
    """The marginal of some columns: a function by itself, so that a table that keeps it can be copied and sent."""
    return _Asked(subject, beta, among, reader).marginal(list(columns), share_of)


def ask(subject: Subject, points: Sequence[Any], beta: Fraction, among: Among) -> tuple[Derived, ...]:
    """The counts of single points, one by one, each named by its label."""
    asked = _Asked(subject, beta, among, "")
    label = subject.answer.label
    return tuple(
        asked._derived("sum", label(subject.reading, point), Query.of(([point], 1)), "sums") for point in points
    )


Picked: TypeAlias = Literal["before", "after"]
"""Whether a question was picked before the answer was looked at, or after."""

UNBOUNDED: Final = (
    "Nothing public says how many such questions there are, so this holds only if it was picked before looking."
)


def added(
    subject: Subject, points: Sequence[Any], beta: Number, picked: Picked, reader: str = "", listed: int | None = None
) -> Derived:
    """The sum over points, as somebody brushes them: a range of bins in order, or bins that stand side by side.

    picked  "after": the interval holds for all such sums at once, and so for one that caught the eye
    listed  of bins without an order, how many stand in a row whose order is public; None: nobody can say
    """
    ordered = isinstance(points, range) and subject.answer.has_ordered_points(subject.reading)
    most = None if listed is None else listed * (listed + 1) // 2

    def ask(among: Among) -> Derived:
        asked = _Asked(subject, beta, among, reader)
        if ordered:
            return asked.stretch(points)
        return asked._derived("sum", asked._words(points, points), Query.of((points, 1)), "sums")

    return ask("one") if picked == "before" else _after(ask, None if ordered else most, most)


def compared(subject: Subject, a: Operand, b: Operand, beta: Number, picked: Picked) -> tuple[str, Derived]:
    """Which of two has the larger value, by its name; its lead with an interval, and a p-value.

    The larger one is known from the answer alone, so even for a pair picked before looking the p-value is that of the
    better of two questions.
    """
    if a[1] == b[1]:
        noun = subject.answer.noun
        raise DomainError.of(f"one {noun} twice", f"a {noun} is compared with another", "pick two")
    value = between(subject.value(Query.minus(a[1], b[1]), ""))
    first, second = (b, a) if value.high < 0 else (a, b)
    sides = subject.answer.operand_count(subject.reading)
    pairs = None if sides is None else sides * (sides - 1)
    query = Query.minus(first[1], second[1])

    def ask(among: Among) -> Derived:
        asked = _Asked(subject, beta, among, "")
        what = f"{asked._axis}: {first[0]}, less {second[0]}"
        chance = (asked if among != "one" else _Asked(subject, beta, 2, ""))._chance(query)
        return asked._derived("comparison", what, query, "pairs" if query.one_by_one else "sums", chance)

    return first[0], ask("one") if picked == "before" else _after(ask, None, pairs)


def _after(ask: Callable[[Among], Derived], count: int | None, otherwise: int | None) -> Derived:
    """For all of a kind at once: of as many as are counted, else by what is known of all, else of as many as there
    may be; where nothing bounds them, for this one alone, which says so."""
    if count is not None:
        return ask(count)
    try:
        return ask("all")
    except ParameterError:
        if otherwise is not None:
            return ask(otherwise)
    alone = ask("one")
    return replace(alone, remarks=(*alone.remarks, UNBOUNDED))


@dataclass(frozen=True)
class _Share:
    low: Fraction
    high: Fraction
    how: How
    rule: str
    off: Fraction | None = None
    remarks: tuple[str, ...] = ()


def _known(exact: bool, ends: tuple[Quantile | None, Quantile | None]) -> tuple[How]:
    if not exact:
        return ("bound",)
    return ("exact",) if all(end is not None and end.exact for end in ends) else ("numerical",)


def _off(exact: bool, ends: tuple[Quantile | None, Quantile | None]) -> Fraction | None:
    errors = [end.error for end in ends if end is not None]
    return max(errors) if exact and errors and any(errors) else None


def ratio(part: Enclosed, total: Enclosed) -> Fraction | Enclosed:
    """The share of the values, as it is: it may lie outside 0 to 1."""
    if total.low <= 0:
        return NONE if total.high <= 0 else Enclosed(NONE, Fraction(1))
    ends = [one / other for one in (part.low, part.high) for other in (total.low, total.high)]
    return Enclosed(min(ends), max(ends)) if min(ends) < max(ends) else ends[0]


def _run(points: list[Any]) -> Sequence[Any]:
    """The points, as a range where they are one."""
    if points and all(type(point) is int for point in points) and len(points) > 1:
        first, last = min(points), max(points)
        if last - first + 1 == len(points):
            return range(first, last + 1)
    return points


def among_of(among: Any) -> Among:
    """The event that an interval holds for, checked."""
    if among in ("one", "all") and isinstance(among, str):
        return cast(Among, among)
    if isinstance(among, bool) or not isinstance(among, int):
        raise ParameterError.of(
            as_given(among),
            'among must be "one", "all", or the number of questions',
            'write among="one" for one that was picked before looking',
        )
    return whole(among, "among")


protect_module(vars())
