"""Teaching: seeded draws from public data. No ledger, no budget, nothing private, and it says so everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dpviz.engines import as_source
from dpviz.errors import ParameterError
from dpviz.exact import whole
from dpviz.hidden import guard, publicly
from dpviz.model.identity import release_key
from dpviz.model.mechanism import Bound, Mechanism, Mode
from dpviz.model.public import PublicTable, PublicTop
from dpviz.model.question import Question
from dpviz.model.release import TEACHING, Release
from dpviz.model.statistic import Column, DenseCounts, Kind, Top, TopCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.unit import Unit
from dpviz.session.binding import bind
from dpviz.session.plan import Plan


class Teaching:
    """Draw from public or made-up data with a seed. What it makes is marked and is not a release."""

    @publicly
    def __init__(self, data: object, seed: int, unit: Unit | None = None, *, dataset: str | None = None) -> None:
        self._source = as_source(data, name=dataset, schema=None)
        del data
        self.seed = whole(seed, "seed", least=0)
        self.unit = Unit() if unit is None else unit
        self._bits = TeachingBits(self.seed)

    @property
    def dataset(self) -> str:
        return self._source.name

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._source.columns

    @publicly
    def plan(self, question: object, mechanism: Mechanism, *, where: Mapping[str, object] | None = None) -> Plan:
        """The same plan as in a session."""
        return Plan(self._bind(question, mechanism, where))

    def _bind(self, question: object, mechanism: Mechanism, where: Mapping[str, object] | None) -> Bound:
        return bind(self._source, self.unit, question, mechanism, where)

    @publicly
    def draw(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        mode: Mode | None = None,
    ) -> Release:
        """One seeded draw; the next call draws on. Not private: whoever knows the seed knows the noise."""
        bound = self._bind(question, mechanism, where)
        chosen = bound.modes()[0] if mode is None else mode
        if chosen not in bound.modes():
            raise ParameterError.of(chosen, f"{mechanism!r} runs in mode {' or '.join(bound.modes())}")
        statistic = self._source.count(bound.question, self.unit, bound.needs)
        answer = bound.draw(statistic, self._bits, mode=chosen)
        return Release(
            bound=bound,
            answer=answer,
            mode=chosen,
            randomness=self._bits.kind,
            dataset=self.dataset,
            key=release_key(bound.question, self.unit, mechanism, chosen),
            teaching=self.seed,
            origin=TEACHING,
        )

    @publicly
    def table(self, question: object, *, where: Mapping[str, object] | None = None) -> PublicTable:
        """The true counts, as a table that is declared public."""
        asked = Question.of(question, where)
        self._source.check(asked, self.unit, Kind.DENSE)
        statistic = self._source.count(asked, self.unit, Kind.DENSE)
        assert isinstance(statistic, DenseCounts)
        return PublicTable(asked.domain, statistic.take().copy(), self.unit.nouns)

    @publicly
    def top(
        self,
        question: object,
        rows: int = 5001,
        max_bins: Sequence[int | None] = (1, 2, 5, 10, 20, None),
        *,
        where: Mapping[str, object] | None = None,
    ) -> dict[int | None, PublicTop]:
        """The largest true counts as public rankings, one for each limit on the bins of one unit (None: no limit).

        A row of its own touches one bin: then there is one ranking, under the unit's limit of 1.
        """
        asked, need = Question.of(question, where), Top(whole(rows, "rows"))
        limits = [self.unit.max_bins] if self.unit.is_row else list(max_bins)
        found = {}
        for limit in limits:
            unit = replace(self.unit, max_bins=limit)
            self._source.check(asked, unit, need)
            statistic = self._source.count(asked, unit, need)
            assert isinstance(statistic, TopCounts)
            items, counts, _ = statistic.take()
            labels = (item if isinstance(item, str) else asked.domain.label(item) for item in items)
            column = asked.domain.columns_text
            found[limit] = PublicTop(tuple(labels), tuple(counts.tolist()), column, unit.nouns)
        return found

    def __repr__(self) -> str:
        return f"<Teaching on {self.dataset}: not private, seed {self.seed}, no ledger>"


@publicly
def teaching(data: object, seed: int, unit: Unit | None = None, *, dataset: str | None = None) -> Teaching:
    """A teaching session on public or made-up data: no ledger, everything marked."""
    return Teaching(data, seed, unit, dataset=dataset)


guard(vars())
