"""Teaching: seeded draws from public data. No ledger, no budget, nothing private, and it says so everywhere."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final, overload

from dpviz.boundary import kind_of, plain_arguments, protect_module
from dpviz.engines import as_source
from dpviz.errors import Forbidden, ParameterError, ReleaseCancelled, SessionBusy, short
from dpviz.exact import Number, whole
from dpviz.model.answers import Answer
from dpviz.model.bought_together import BoughtProfile, purchase_json
from dpviz.model.identity import release_key
from dpviz.model.limited import Limited
from dpviz.model.mechanism import Bound, Mechanism, Mode
from dpviz.model.public import BADGE, PublicTable, PublicTop
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.model.source import Tick
from dpviz.model.statistic import Column, DenseCounts, StatisticKind, Top, TopCounts
from dpviz.model.terms import TEACHING
from dpviz.model.ways import Way, best, released
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.limits import Limits
from dpviz.privacy.unit import Unit
from dpviz.session.binding import asked_of, bind, bind_profile, bind_ways, check_alone, check_apart, mode_of
from dpviz.session.custody import ChargeRecord, Charter, Custody
from dpviz.session.plan import Plan
from dpviz.session.running import Listeners, Running, Stopped
from dpviz.session.seeded_draws import SeededDraws

LARGEST_TABLE: Final = 2_000_000
"""Of more bins than this a page is shown no true counts."""

MOST_TIMES: Final = 100_000
"""Draws of one call, at most."""

LARGEST_RANKING: Final = 50
"""The number of largest true counts that are shown of undeclared keys."""


class Teaching(Custody):
    """Draw from public or made-up data with a seed. A draw is marked as such and is not a release.

    Parameters
    ----------
    data : DataFrame, str, Path or Source
        Public or made-up data, in the forms that a session takes.
    seed : int
        The seed of all draws, 0 or more.
    unit : Unit, optional
        The privacy unit that draws are planned for; one row by default.
    dataset : str, optional
        The name of the data.

    Raises
    ------
    ParameterError
        If the data cannot be opened, or the seed is no whole number.

    Notes
    -----
    A teaching session has no ledger and no budget, and its draws protect nobody: a person who knows the seed knows the
    noise.
    """

    @plain_arguments
    def __init__(self, data: object, seed: int, unit: Unit | None = None, *, dataset: str | None = None) -> None:
        self._source = as_source(data, name=dataset, schema=None)
        del data
        self.seed = whole(seed, "seed", least=0)
        self.unit = Unit() if unit is None else unit
        self._bits = TeachingBits(self.seed)
        self._one = threading.Lock()  # the bits of one draw come before those of the next
        self._starting = threading.Lock()
        self._drawing = False  # a draw that is waited for
        self._running: Running | None = None
        self._listeners = Listeners()

    @property
    def charter(self) -> Charter:
        """The dataset, the unit, the columns and the seed."""
        return Charter(self.dataset, self.unit, self.columns, self.seed)

    @property
    def dataset(self) -> str:
        """The name of the data."""
        return self._source.name

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the data and their kinds."""
        return self._source.columns

    @plain_arguments
    def plan(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        by: object = None,
        way: Way | None = None,
        delta: Number | None = None,
        limits: Limits | None = None,
        over: object = None,
    ) -> Plan:
        """Plan a draw, as `Session.plan` plans a release.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to count, a question, or the name of a column for its undeclared keys.
        mechanism : Mechanism
            A mechanism with its parameters.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `dv.Between`.
        by : Partition or Domain, optional
            Disjoint parts, each of which the question is asked about.
        way : str, optional
            The way to share the price out over the parts; the best by default.
        delta : str, int, float or Fraction, optional
            The delta at which the parts are charged their exact composition, as for `Session.plan`.
        limits : Limits, optional
            Contribution limits of this question, in place of those of the unit.
        over : Mechanism or tuple, optional
            A mechanism for a profile of the same units, which is drawn with the counts, as `Session.release` buys it.

        Returns
        -------
        Plan
            Price, guarantee and error of a release with these parameters.

        Raises
        ------
        ParameterError
            If the mechanism does not answer this question, or an argument is outside its range.
        """
        if by is None:
            check_apart(delta, way)
            bound = self._bind(question, mechanism, where, limits)
            profile = bind_profile(self._source, self.unit, bound, over)
            plan = Plan(bound, verbs=self.charter.verbs, profile=profile)
        else:
            check_alone(over)
            found = bind_ways(self._source, self.unit, question, mechanism, where, by, way, limits, delta)
            plan = Plan.of_ways(found, mechanism, verbs=self.charter.verbs)
        return plan.asked_within(self.unit)

    def _bind(
        self, question: object, mechanism: Mechanism, where: Mapping[str, object] | None, limits: Limits | None
    ) -> Bound:
        return bind(self._source, self.unit, question, mechanism, where, limits)

    @overload
    def draw(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        by: object = None,
        way: Way | None = None,
        delta: Number | None = None,
        limits: Limits | None = None,
        over: object = None,
        mode: Mode | None = None,
        times: None = None,
        key: None = None,
    ) -> Release: ...

    @overload
    def draw(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        by: object = None,
        way: Way | None = None,
        delta: Number | None = None,
        limits: Limits | None = None,
        over: object = None,
        mode: Mode | None = None,
        times: int,
        key: None = None,
    ) -> SeededDraws: ...

    @plain_arguments
    def draw(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        by: object = None,
        way: Way | None = None,
        delta: Number | None = None,
        limits: Limits | None = None,
        over: object = None,
        mode: Mode | None = None,
        times: int | None = None,
        key: None = None,
    ) -> Release | SeededDraws:
        """Draw once with the session's seed, or several times; the next call draws on. Not private.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to count, a question, or the name of a column for its undeclared keys.
        mechanism : Mechanism
            A mechanism with its parameters.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `dv.Between`.
        by : Partition or Domain, optional
            Disjoint parts, each of which the question is asked about.
        way : str, optional
            The way to share the price out over the parts; the best by default.
        delta : str, int, float or Fraction, optional
            The delta at which the parts are charged their exact composition, as for `Session.plan`.
        limits : Limits, optional
            Contribution limits of this question, in place of those of the unit.
        over : Mechanism or tuple, optional
            A mechanism for a profile of the same units, which is drawn with the counts, as `Session.release` buys it.
        mode : {"exact", "strict"}, optional
            As for `Session.release`.
        times : int, optional
            How many draws to make. ``lesson.draw(bins, mechanism, times=20).misses()`` counts how often their intervals
            miss the true counts, which are public here.
        key : None
            Refused, with the reason: only a session has keys, for an answer that is paid for and stored.

        Returns
        -------
        Release or SeededDraws
            One draw; with `times`, all of them in order.

        Raises
        ------
        ParameterError
            If a key is given, or the question, the mechanism or an argument is refused.
        SessionBusy
            If another draw of this session is running.

        Examples
        --------
        >>> import dpviz as dv, pandas as pd
        >>> lesson = dv.teaching(pd.DataFrame({"x": [0, 0, 1]}), seed=1)
        >>> lesson.draw(dv.Domain.integers(0, 1, column="x"), dv.Dense(40)).values
        [2, 1]
        """
        if key is not None:
            raise ParameterError.of(
                f"key={short(key)}" if type(key) is str else kind_of(key),
                "a teaching draw has no key, for nothing is paid or stored: each call draws anew",
                "leave key out; to see the same draw again, start dv.teaching with the same seed",
            )
        many = None if times is None else whole(times, "times", most=MOST_TIMES)
        bound, profile, chosen = self._order(question, mechanism, where, mode, by, way, limits, over, delta)
        with self._starting:
            self._refuse_a_second()
            self._drawing = True
        try:
            if many is None:
                return self._drawn(bound, profile, chosen)
            draws = tuple(self._drawn(bound, profile, chosen) for _ in range(many))
            counted = bound.question.aggregate.counts and draws[0].answer.has_rows and draws[0].axis.domain is not None
            return SeededDraws(draws, self.table(bound.question.limited(bound.unit.limits)) if counted else None)
        finally:
            self._drawing = False

    def _refuse_a_second(self) -> None:
        if self._drawing or self.running is not None:
            raise SessionBusy(
                "this teaching session is drawing already; nothing was drawn",
                value="a second draw",
                rule="a session draws one release at a time",
                next_step="wait for it, or cancel it",
            )

    def _order(
        self,
        question: object,
        mechanism: Mechanism,
        where: Mapping[str, object] | None,
        mode: Mode | None,
        by: object = None,
        way: Way | None = None,
        limits: Limits | None = None,
        over: object = None,
        delta: Number | None = None,
    ) -> tuple[Bound, Bound | None, Mode]:
        bound: Bound
        profile = None
        if by is None:
            check_apart(delta, way)
            bound = self._bind(question, mechanism, where, limits)
            profile = bind_profile(self._source, self.unit, bound, over)
        else:
            check_alone(over)
            found = bind_ways(self._source, self.unit, question, mechanism, where, by, way, limits, delta)
            bound = released(best(found)[1])
        chosen = mode_of(bound, mode)
        return bound, profile, chosen if profile is None else mode_of(profile, chosen)

    def _drawn(self, bound: Bound, profile: Bound | None, mode: Mode, tick: Tick | None = None) -> Release:
        with self._one:
            answer = self._answer(bound, mode, tick)
            bought = None if profile is None else BoughtProfile.of(profile, self._answer(profile, mode, tick))
        named = None if profile is None else purchase_json(profile.question, profile.mechanism)
        return Release.of(
            bound,
            answer,
            bought=bought,
            mode=mode,
            randomness=self._bits.kind,
            dataset=self.dataset,
            key=release_key(bound.question, bound.unit, bound.mechanism, mode, profile=named),
            teaching=self.seed,
            origin=TEACHING,
        )

    def _answer(self, bound: Bound, mode: Mode, tick: Tick | None) -> Answer:
        statistic = bound.count_statistic(self._source, tick).settled()
        return bound.draw(statistic, self._bits, mode=mode, tick=tick)

    # ------------------------------------------------------------ as a page sees it

    def seeded(
        self, question: object, mechanism: Mechanism, times: int, *, by: object = None, way: Way | None = None
    ) -> SeededDraws:
        """Draw several times, beside the true counts: `draw` with `times`, as a page calls it.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to count, a question, or the name of a column for its undeclared keys.
        mechanism : Mechanism
            A mechanism with its parameters.
        times : int
            How many draws to make.
        by : Partition or Domain, optional
            Disjoint parts, each of which the question is asked about.
        way : str, optional
            The way to share the price out over the parts; the best by default.

        Returns
        -------
        SeededDraws
            The draws in order.

        Raises
        ------
        ParameterError
            If the question, the mechanism or an argument is refused.
        SessionBusy
            If another draw of this session is running.
        """
        return self.draw(question, mechanism, by=by, way=way, times=times)

    def public(self, question: Question) -> PublicTable | PublicTop | None:
        """Return the true counts of a question, as a page shows them.

        Parameters
        ----------
        question : Question
            The question that the page asks.

        Returns
        -------
        PublicTable, PublicTop or None
            A table of declared bins, at most 2,000,000; a ranking of undeclared keys; None for other questions.

        Raises
        ------
        SchemaError
            If the question does not fit the columns of the data.
        """
        question = Question.of(question)
        if not question.aggregate.counts or question.by is not None:
            return None
        if question.domain.declared:
            return self.table(question) if question.bins <= LARGEST_TABLE else None
        limit = self.unit.max_bins
        return self.top(question, LARGEST_RANKING, (limit,))[limit]

    def known(self) -> tuple[None, str]:
        """Return None and an empty text, for a lesson has no budget.

        Returns
        -------
        remaining : None
            No budget is kept.
        asof : str
            Always empty.
        """
        return None, ""

    def record(self, last: int) -> ChargeRecord:
        """Return an empty record, for a lesson charges nothing.

        Parameters
        ----------
        last : int
            Ignored.

        Returns
        -------
        Record
            A record without entries.

        Raises
        ------
        UnknownArgument
            If `last` is left out.
        """
        return ChargeRecord()

    def hanging(self) -> tuple[()]:
        """Return no entries, for a lesson has no ledger.

        Returns
        -------
        tuple
            Always empty.
        """
        return ()

    @property
    def log(self) -> None:
        """None, for a lesson has no ledger."""
        return None

    @property
    def releases(self) -> NoReleases:
        """An empty collection. Drawing again is free, so no draw is kept."""
        return NoReleases()

    @plain_arguments
    def release_async(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        by: object = None,
        way: Way | None = None,
        delta: Number | None = None,
        limits: Limits | None = None,
        over: object = None,
        mode: Mode | None = None,
        key: str | None = None,
    ) -> Running:
        """Start a draw and return at once, as `Session.release_async` does.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to count, a question, or the name of a column for its undeclared keys.
        mechanism : Mechanism
            A mechanism with its parameters.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `dv.Between`.
        by : Partition or Domain, optional
            Disjoint parts, each of which the question is asked about.
        way : str, optional
            The way to share the price out over the parts; the best by default.
        delta : str, int, float or Fraction, optional
            The delta at which the parts are charged their exact composition, as for `Session.plan`.
        limits : Limits, optional
            Contribution limits of this question, in place of those of the unit.
        over : Mechanism or tuple, optional
            A mechanism for a profile of the same units, which is drawn with the counts, as `Session.release` buys it.
        mode : {"exact", "strict"}, optional
            As for `Session.release`.
        key : str, optional
            Ignored: each draw draws on, whatever its key.

        Returns
        -------
        Running
            A handle: `await` it, watch its `progress`, or `cancel()` it.

        Raises
        ------
        ParameterError
            If the question, the mechanism or an argument is refused.
        SessionBusy
            If another draw of this session is running.
        """
        bound, profile, chosen = self._order(question, mechanism, where, mode, by, way, limits, over, delta)
        running = Running(uuid.uuid4().hex, f"Drawing {bound.question.domain.size_text}")
        running.watch(self._listeners.tell)
        with self._starting:
            self._refuse_a_second()
            self._running = running

        def work() -> Release:
            try:
                return self._drawn(bound, profile, chosen, running.tick)
            except Stopped:
                pass
            raise ReleaseCancelled(
                "Cancelled. No answer is shown, and in teaching nothing is charged.",
                value="0",
                rule="a teaching draw costs nothing",
                next_step="draw again",
            )

        running.start(work)
        return running

    @property
    def running(self) -> Running | None:
        """The last started draw while it is on its way; else None."""
        running = self._running
        return running if running is not None and running.here and not running.done else None

    def cancel(self) -> None:
        """Cancel the draw on its way, if there is one."""
        running = self.running
        if running is not None:
            running.cancel()

    def add_listener(self, listener: Callable[[Running], None]) -> None:
        """Call a bound method whenever a started draw ends, for as long as its object lives.

        Parameters
        ----------
        listener : bound method
            A method that takes the handle (`Running`) of the draw. The session keeps no strong reference to its object.
        """
        self._listeners.add(listener)

    def heed_waits(self) -> None:
        """Do nothing, for no draw waits for a ledger here."""

    @plain_arguments
    def table(self, question: object, *, where: Mapping[str, object] | None = None) -> PublicTable:
        """Count the bins of a question, as a table that is declared public.

        Parameters
        ----------
        question : Domain or Question
            The declared bins.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `dv.Between`.

        Returns
        -------
        PublicTable
            The true counts, one per bin.

        Raises
        ------
        DomainError, SchemaError
            If the bins are not declared, or do not fit the columns of the data.

        Examples
        --------
        >>> import dpviz as dv, pandas as pd
        >>> lesson = dv.teaching(pd.DataFrame({"x": [0, 0, 1]}), seed=1)
        >>> lesson.table(dv.Domain.integers(0, 1, column="x")).counts.tolist()
        [2, 1]
        """
        asked, unit = asked_of(self.unit, question, where)
        self._source.check(asked, unit, StatisticKind.DENSE)
        statistic = self._source.count(asked, unit, StatisticKind.DENSE)
        assert isinstance(statistic, DenseCounts)
        return PublicTable(asked.domain, statistic.take().copy(), asked.nouns(unit), badge_of(asked, unit))

    @plain_arguments
    def top(
        self,
        question: object,
        rows: int = 5001,
        max_bins: Sequence[int | None] = (1, 2, 5, 10, 20, None),
        *,
        where: Mapping[str, object] | None = None,
    ) -> dict[int | None, PublicTop]:
        """Rank the largest true counts, once for each limit on the bins of one unit.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to rank, a question, or the name of a column for its undeclared keys.
        rows : int, default 5001
            How many of the largest counts to read.
        max_bins : list of int or None, default (1, 2, 5, 10, 20, None)
            The limits; None for no limit. Ignored where the unit is a row, which touches one bin: then there is one
            ranking, under the unit's limit of 1.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `dv.Between`.

        Returns
        -------
        dict of int or None to PublicTop
            A public ranking for each limit.

        Raises
        ------
        ParameterError, SchemaError
            If a limit is no whole number above 0, or the question does not fit the columns of the data.
        """
        (asked, own), need = asked_of(self.unit, question, where), Top(whole(rows, "rows"))
        limits = [own.max_bins] if own.is_row else list(max_bins)
        found = {}
        for limit in limits:
            unit = replace(own, max_bins=limit)
            self._source.check(asked, unit, need)
            statistic = self._source.count(asked, unit, need)
            assert isinstance(statistic, TopCounts)
            items, counts, _ = statistic.take()
            labels = map(asked.domain.name, items)
            column = asked.domain.columns_text
            told = badge_of(asked, unit)
            found[limit] = PublicTop(tuple(labels), tuple(counts.tolist()), column, asked.nouns(unit), told)
        return found

    def __repr__(self) -> str:
        return f"<Teaching on {self.dataset}: not private, seed {self.seed}, no ledger>"


def badge_of(question: Question, unit: Unit) -> str:
    """The label of public counts, which says which rows the limits of the unit may leave out."""
    return " · ".join(filter(None, (BADGE, Limited(question, unit).limit.removesuffix("."))))


class NoReleases:
    """The data that a teaching session keeps."""

    latest: ClassVar[None] = None

    def __getitem__(self, number: int, /) -> Release:
        raise Forbidden.of(number, "teaching keeps no releases", "keep what lesson.draw returns")


@plain_arguments
def teaching(data: object, seed: int, unit: Unit | None = None, *, dataset: str | None = None) -> Teaching:
    """Start a teaching session on public or made-up data: seeded draws, no ledger, everything marked.

    Parameters
    ----------
    data : DataFrame, str, Path or Source
        Public or made-up data, in the forms that a session takes.
    seed : int
        The seed of all draws, 0 or more.
    unit : Unit, optional
        The privacy unit that draws are planned for; one row by default.
    dataset : str, optional
        The name of the data.

    Returns
    -------
    Teaching
        The session. Its draws protect nobody.

    Raises
    ------
    ParameterError
        If the data cannot be opened, or the seed is no whole number.

    Examples
    --------
    >>> import dpviz as dv
    >>> dv.teaching(dv.datasets.doctor_visits(), seed=1)
    <Teaching on doctor visits: not private, seed 1, no ledger>
    """
    return Teaching(data, seed, unit, dataset=dataset)


protect_module(vars())
