"""The questions on offer, and the public bins that they are made of: what a page names by id, and makes others of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, Forbidden, ParameterError
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Mechanism
from dpviz.model.partition import Partition
from dpviz.model.question import NamedParts, Question
from dpviz.model.ways import Way, released
from dpviz.planning.sheet import bins_json
from dpviz.privacy.limits import Limits
from dpviz.privacy.unit import Unit
from dpviz.session.custody import Custody
from dpviz.session.plan import Plan
from dpviz.widgets import messages

Body = dict[str, Any]


class Offered:
    """The choices that a page has. Everything in it was declared, asked or paid for, so it is public."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._questions: dict[str, Question] = {}
        self._suggestion: Question | None = None
        self._bins: dict[str, Domain] = {}
        self._told: list[dict[str, str]] = []

    def add(self, question: Question) -> None:
        """Offer a question, and the bins of each of its columns and of its parts by themselves."""
        if question.limits is not None:
            raise ParameterError.of(
                question.limits.text,
                "a page asks within the limits of the unit",
                "leave the limits out here, and ask in a cell, with limits=",
            )
        if question.id in self._questions:
            return
        self._questions[question.id] = question
        if question.aggregate.additive and question.aggregate.profiled is None:
            self._add_bins(question.domain)
        if is_grouped(question):
            if isinstance(question.by, Partition):
                self._add_bins(question.by.domain)
            self.add(replace(question, by=None))

    def suggest(self, question: Question) -> None:
        """Let a page look at a question whose bins nobody declared. It is no choice, and nothing is released for it."""
        self._suggestion = question

    def suggests(self, said: Body) -> bool:
        """Whether a page names the suggestion, which nobody has declared so far, alone or in each of some parts."""
        suggestion = self._suggestion
        if said.get("kind") == "each":
            return self.suggests(said["of"])
        return suggestion is not None and said == {"id": suggestion.id} and suggestion.id not in self._questions

    def _add_bins(self, domain: Domain) -> None:
        for axis in domain.factors:
            told = bins_json(axis)
            if told["id"] not in self._bins:
                self._bins[told["id"]] = axis
                self._told += [told] if axis.declared else []

    @property
    def questions(self) -> list[Question]:
        return list(self._questions.values())

    def bins_json(self) -> list[dict[str, str]]:
        """The bins that are known of each column, for a page to choose from."""
        return list(self._told)

    def asked(self, said: Body) -> Question:
        """The question that a page means: one that it names, or one that it declares. It passed `messages.parse`."""
        if set(said) == {"id"}:
            return self._named(said["id"])
        if said["kind"] == "product":
            return self._product(self._whole(said["of"]), said["factors"])
        if said["kind"] == "each":
            return replace(self._whole(said["of"]), by=self._parts(said["by"], said["most"]))
        return messages.declared(said)

    def _named(self, name: str) -> Question:
        suggestion = self._suggestion
        found = suggestion if suggestion is not None and name == suggestion.id else self._questions.get(name)
        if found is None:
            raise Forbidden.of(name, "this session does not offer that question", "declare its bins")
        return found

    def _whole(self, said: Body) -> Question:
        """A question that is not asked by parts, of which one is to be made that is."""
        question = self.asked(said)
        if question.by is not None:
            raise ParameterError.of(question.text, "this question has its parts already", "name the one without parts")
        return question

    def _product(self, question: Question, factors: list[Body]) -> Question:
        """The same question in the bins of several columns."""
        if not question.aggregate.additive:
            raise ParameterError.of(
                f"a question for {question.aggregate.noun}", "columns are added to counts or sums", "declare columns"
            )
        domains = [self._factor(factor) for factor in factors]
        if len(domains) == 1:
            return replace(question, domain=domains[0])
        for domain in domains:
            if not domain.declared:
                raise DomainError.of(
                    f"{domain.columns[0]}, {domain.size_text}",
                    "with another column beside it each column has declared bins",
                    f"declare the bins of {domain.columns[0]}, or ask by it alone",
                )
        return replace(question, domain=Domain.product(*domains))

    def _factor(self, said: Body) -> Domain:
        """The bins of one column, known or declared."""
        domain = messages.column_bins(said) if set(said) != {"id"} else self._bins.get(said["id"])
        if domain is None:
            raise Forbidden.of(said["id"], "this session does not know these bins", "declare them")
        if not self._unit.is_row and domain.columns[0] == self._unit.of:
            raise DomainError.of(
                domain.columns[0],
                "the column of the unit makes no bins and no parts, for whom it names is private",
                "take another column",
            )
        return domain

    def _parts(self, said: Body, most: str) -> Partition | NamedParts:
        """The bins of one column as parts; or the parts of a question that was asked so."""
        grouped = self._questions.get(said["id"]) if set(said) == {"id"} and said["id"] not in self._bins else None
        limit = messages.count(most, "in how many parts one counts") if most else None
        if grouped is None or grouped.by is None:
            return Partition(self._factor(said), limit)
        return Partition(grouped.by.domain, limit) if isinstance(grouped.by, Partition) else grouped.by


def is_grouped(question: Question) -> bool:
    """Whether all parts of the data are asked, each by itself."""
    return question.by is not None and question.part is None


def plan_of(session: Custody, question: Question, mechanism: Mechanism, way: str = "") -> Plan:
    """The plan of a question, whether it is asked by parts or not; `way` of several that share the price out."""
    if is_grouped(question):
        plan = session.plan(replace(question, by=None), mechanism, by=question.by)
    else:
        plan = session.plan(question, mechanism)
    chosen = plan.taking(way) if way else plan
    released(chosen.bound)
    return chosen


def within(question: Question, most: str) -> Question:
    """The question with a limit on the bins of one unit, as a page writes it; that of the unit where it is empty."""
    return question if not most else question.limited(Limits(max_bins=messages.count(most, "the number of bins")))


def unlimited(question: Question) -> Question:
    """The question within the limits of the unit, as it is on offer."""
    return replace(question, limits=None)


def order_of(plan: Plan, question: Question) -> tuple[Question, dict[str, Any]]:
    """The call that makes a session do exactly what is planned: the question, and its parts and way by name."""
    way: Way | None = plan.way
    return (replace(question, by=None), {"by": question.by, "way": way}) if is_grouped(question) else (question, {})


protect_module(vars())
