"""Queries: noise on the answers to a public list of counting queries, which are then made to agree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from dpviz.boundary import Hidden, kind_of, protect_module
from dpviz.errors import DomainError, ParameterError, short, unwritable
from dpviz.exact import counted, text
from dpviz.mechanisms.count_noise import BoundNoise, CountNoise
from dpviz.model.answers import Answer, QueryAnswers
from dpviz.model.answers.queries import radius
from dpviz.model.domain import Domain, category_text, one_of, quoted
from dpviz.model.error import BETAS, ErrorValue
from dpviz.model.laws.queries import QueriesError, QueriesLaw
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, Parameters, Reader, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import DenseCounts, Statistic, StatisticKind
from dpviz.model.workload import MOST_BINS, Workload
from dpviz.noise.bits import Bits
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

STORED_BITS = 64
"""The storage of one number: noise has no end."""

MOST_NOTED: Final = 12
"""A plan tells the error of so many queries by name."""

Label: TypeAlias = str | tuple[Any, ...]
"""A bin's label in its canonical text; of a bin of several columns one for each."""

Asked: TypeAlias = tuple[tuple[str, tuple[Label, ...] | None], ...]
"""Names of queries and the labels each adds up; None stands for all bins."""


@dataclass(frozen=True)
class NamedLabels(Reader):
    """Lists of labels by name. In texts, JSON: a list of pairs."""

    lists: ClassVar[bool] = True
    longest: ClassVar[int] = 1 << 17

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Asked:
        pairs = list(value.items()) if isinstance(value, Mapping) else value
        if not isinstance(pairs, list | tuple) or not pairs or isinstance(value, Hidden):
            raise ParameterError.of(
                "no queries" if pairs in ([], (), {}) else kind_of(value),
                f"{name} are public lists of labels by name",
                'write queries={"passed": ["A", "B", "C", "D"], "all": None}',
            )
        asked = [_query(pair, place) for place, pair in enumerate(pairs, 1)]
        names = [one for one, _ in asked]
        if len(set(names)) != len(names):
            raise ParameterError.of(f"{len(names):,} names", "each query has a name of its own", "rename one of them")
        return tuple(asked)

    def from_text(self, written: str, name: str) -> Any:
        try:
            return [tuple(pair) for pair in json.loads(written)]
        except (ValueError, TypeError, RecursionError):
            raise ParameterError.of(
                short(written, 40),
                f"{name} are written as JSON: [[name, [labels]], ...]",
                'write [["all", null]] for one query over all bins',
            ) from None

    def text(self, value: Any) -> str:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    def python(self, value: Any) -> str:
        return "{" + ", ".join(f"{quoted(name)}: {_python(labels)}" for name, labels in value) + "}"


def _query(pair: Any, place: int) -> tuple[str, tuple[Label, ...] | None]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise ParameterError.of(
            kind_of(pair), f"query {place} must be a name and its labels", 'write queries={"all": None}'
        )
    name, labels = pair
    if not isinstance(name, str) or not name or unwritable(name):
        raise ParameterError.of(kind_of(name), f"the name of query {place} must be text", 'write queries={"all": None}')
    if labels is None:
        return name, None
    if not isinstance(labels, list | tuple | range) or not len(labels):
        raise ParameterError.of(
            "no labels" if isinstance(labels, list | tuple | range) else kind_of(labels),
            f"query {place} needs a list of labels, at least one",
            "write None for all bins",
        )
    if len(labels) > MOST_BINS:
        raise ParameterError.of(
            f"{len(labels):,} labels",
            f"queries are over at most {MOST_BINS:,} bins",
            "name fewer labels, or None for all bins",
        )
    read = tuple(one_of(label, _label, f"label {at} of query {place}") for at, label in enumerate(labels, 1))
    if len(set(read)) != len(read):
        raise DomainError.of(
            f"{len(read):,} labels", f"query {place} names each label once", "leave one of the two out"
        )
    return name, read


def _label(label: Any, name: str) -> Label:
    if isinstance(label, list | tuple):
        return tuple(_label(one, name) for one in label)
    return category_text(label, name)


def _python(labels: Any) -> str:
    if labels is None:
        return "None"
    if isinstance(labels, str):
        return quoted(labels)
    return f"[{', '.join(_inner(one) for one in labels)}]"


def _inner(label: Label) -> str:
    return quoted(label) if isinstance(label, str) else f"({', '.join(map(_inner, label))},)"


class Queries(Parameters):
    """Add noise to sums of counts that you name yourself, all at once, and make the answers agree by least squares.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit, for all queries together.
    queries : dict, optional
        By name a list of labels whose counts are added up, or None for all bins. By default, the total and each bin by
        itself.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    Every answer has noise of one law. An answer that others determine as well, as a total and its parts, is fitted to
    them and gets better. A sum of bins that nobody named can be read where it follows from the answers (`release.sum`);
    where they leave it open it is refused, for no fit is unique there.

    **Privacy.** Pure DP. The sensitivity is worked out from the list: for a row that is added or removed the largest
    number of queries that one bin is in; for one that is replaced the largest number that differ between two bins, or
    between one and none; for a user from the bins that one may touch [1]_.

    **Error.** Exact, from the law of a weighted sum of noises; the fit is the best linear unbiased one.

    References
    ----------
    .. [1] Hay, Rastogi, Miklau, Suciu 2010 (arXiv 0904.0942), sections 1 and 2; noise: Ghosh, Roughgarden, Sundararajan
           2009.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> grades = Question.of(Domain.categories(["A", "B", "C", "D", "F"], column="grade"))
    >>> asked = {"all": None, "passed": ["A", "B", "C", "D"], **{grade: [grade] for grade in "ABCDF"}}
    >>> bound = Queries(1, asked).bind(grades, Unit(noun="student"))
    >>> bound.noise.l1, bound.price.sentence
    (3, '1-differential privacy for adding or removing one student')
    """

    name: ClassVar[str] = "Queries"
    about: ClassVar[str] = "Sums of counts that you name, made to agree. Best for a few totals and their parts."
    delta_text: ClassVar[str] = "Queries is pure: no δ."

    epsilon: Exact = parameter(reads=Epsilon())
    queries: Any = parameter(reads=NamedLabels(), default=None, optional=True)

    def bind(self, question: Question, unit: Unit) -> QueriesBound:
        """Find the bins, the sensitivity and the noise.

        Parameters
        ----------
        question : Question
            Declared bins that the queries add up.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        QueriesBound
            Price, draw and error law of `Queries` for this question and unit.

        Raises
        ------
        DpvizError
            If `Queries` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        domain = question.domain
        if not domain.declared:
            raise DomainError.of(domain.python, "queries are sums over declared bins", "declare the bins")
        if domain.size > MOST_BINS:
            rule = f"Queries asks about at most {MOST_BINS:,} bins"
            raise ParameterError.of(f"{domain.size_text}", rule, "declare fewer, wider bins")
        workload = Workload.from_text(self._workload(domain).text)
        noise = CountNoise(self.epsilon, "exp", "auto", None, None).bind(workload.l1(unit), unit.n)
        return QueriesBound(self, question, unit, workload, noise)

    def _workload(self, domain: Domain) -> Workload:
        if self.queries is None:
            if domain.size == 1:
                return Workload.of({"all": [0]}, 1)
            own = {name: [place] for place, name in enumerate(_distinct(domain.labels))}
            return Workload.of({"all": range(domain.size), **own}, domain.size)
        found: dict[str, list[int]] = {}
        for place, (name, labels) in enumerate(self.queries, 1):
            if labels is None:
                found[name] = list(range(domain.size))
                continue
            found[name] = [domain.index(label) for label in labels]
            if len(set(found[name])) != len(labels):
                raise DomainError.of(
                    f"{len(labels):,} labels", f"query {place} names each bin once", "leave one of the two out"
                )
        return Workload.of(found, domain.size)


def _distinct(labels: Sequence[str]) -> list[str]:
    """Labels as names of queries, of which "all" is one already."""
    taken, found = {"all"}, []
    for label in labels:
        name = label
        while name in taken:
            name += " (bin)"
        taken.add(name)
        found.append(name)
    return found


@dataclass(frozen=True)
class QueriesBound(Bound):
    """Queries, bound to a question and a unit."""

    mechanism: Queries
    question: Question
    unit: Unit
    workload: Workload
    noise: BoundNoise

    needs: ClassVar[StatisticKind] = StatisticKind.DENSE
    shape: ClassVar[type[Answer]] = QueryAnswers

    @cached_property
    def price(self) -> Guarantee:
        rule = f"sensitivity {self.noise.l1} of the list of queries, Hay, Rastogi, Miklau, Suciu 2010, Proposition 1"
        return Guarantee(PureDP(self.noise.paid), self.unit, rule, requested=self.mechanism.epsilon)

    @cached_property
    def space(self) -> Space:
        many = len(self.workload.names)
        return Space(bits=many * STORED_BITS, text=f"{many:,} × {STORED_BITS}")

    @cached_property
    def cost(self) -> Cost:
        return Cost(steps=self.question.bins, text=counted(len(self.workload.names), "draw"))

    @cached_property
    def law(self) -> QueriesLaw:
        return QueriesLaw(self.noise.law, self.workload.text, self.unit.n)

    @property
    def error(self) -> QueriesError:
        return self.law.error

    @property
    def verb(self) -> str:
        return f"Adds noise to {counted(len(self.workload.names), 'sum')} of counts and makes the answers agree."

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Bound the error of each fitted answer, by name, for the first few."""
        shown = []
        for name, weights in list(zip(self.workload.names, self.workload.fitted, strict=True))[:MOST_NOTED]:
            for beta in BETAS:
                found = radius(self.noise.decay, weights, beta, exactly=False)
                value = ErrorValue(found.value, "exact" if found.exact else "bound", "the law of its noise in the fit")
                shown.append((f"Answer “{name}”", {**value.to_json(), "beta": text(beta)}))
        return shown

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> QueryAnswers:
        """Add up, add noise. Counts above a public number of rows are clamped to it, in silence."""
        assert isinstance(statistic, DenseCounts)
        counts = statistic.take()
        counts = counts if self.noise.limit is None else np.minimum(counts, self.noise.limit)
        noisy = self.noise.add(self.workload.totals(counts), bits, mode, tick, low=None, high=None)
        return QueryAnswers(noisy, self.workload)


protect_module(vars())
