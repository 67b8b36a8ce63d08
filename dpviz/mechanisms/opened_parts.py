"""A sub-session that is asked for a list about one part after the other, and pays for the symbols that come back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.model.answers import Answer, Grouped
from dpviz.model.domain import quoted
from dpviz.model.error import ErrorModel
from dpviz.model.laws.grouped import GroupedLaw
from dpviz.model.mechanism import Bound, Cost, Mechanism, Mode, Space
from dpviz.model.partition import Partition
from dpviz.model.question import NamedParts, Question, written
from dpviz.model.source import Source, TopRules
from dpviz.model.statistic import Need
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.mechanisms.pay_what_you_get import Asking

SHARED = ("epsilon", "delta", "accounting", "domain_rule", "ties")
"""The terms that the sub-session and each list share."""


@dataclass(frozen=True)
class OpenedBound(Bound):
    """Lists about all parts out of one sub-session that has the symbols of all of them. It is opened and asked, and no
    release: what it keeps of a list that ends early is there for further questions.

    asking  one question of the sub-session
    each    what answers the first part, and every other one like it
    """

    mechanism: Mechanism
    question: Question
    asking: Asking
    each: Bound

    shape: ClassVar[type[Answer]] = Grouped
    way: ClassVar[str] = "sub-session"

    @property
    def unit(self) -> Unit:
        return self.each.unit

    @property
    def needs(self) -> Need:
        return self.each.needs

    @property
    def max_items(self) -> int | None:
        return self.each.max_items

    @property
    def price(self) -> Guarantee:
        """Of all lists, and of what is asked for the symbols that are left."""
        return self.each.price

    @property
    def space(self) -> Space:
        return self.each.space

    @property
    def cost(self) -> Cost:
        return self.each.cost

    @cached_property
    def law(self) -> GroupedLaw:
        return GroupedLaw(self.each.law, apart=False)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        return f"Opens a sub-session, and asks it {self.question.each_text}."

    @property
    def opening_call(self) -> str:
        return f"session.open({self.asking.of.python})"

    @property
    def subsession_calls(self) -> str:
        question, by = self.question, self.question.by
        largest = "" if self.asking.largest is None else f", largest={self.asking.largest}"
        kbar = quoted("private") if self.asking.private else str(self.asking.kbar)
        terms = f"k={self.asking.k}, kbar={kbar}{largest}"
        where, domain = written(question.where), question.domain.python
        if isinstance(by, Partition):
            most = "" if by.max_parts is None else f", max_parts={by.max_parts}"
            filters = f", where={{{where}}}" if where else ""
            asked = f"dv.Question({domain}{filters}, by=dv.Partition({by.domain.python}{most}), part=part)"
            each = f"part in range({by.size})"
        else:
            assert isinstance(by, NamedParts)
            asked = f"{domain}, where={f'{{{where}, **part}}' if where else 'part'}"
            each = f"part in {by.python}.values()"
        return f"sub = {self.opening_call}; lists = [sub.ask({asked}, {terms}) for {each}]"

    def modes(self) -> tuple[Mode, ...]:
        return self.each.modes()

    def check_countable(self, source: Source) -> None:
        self.each.check_countable(source)

    def check_source(self, rules: TopRules) -> None:
        self.each.check_source(rules)


def opened(made: Mechanism, inner: Mechanism, question: Question, by: Partition | NamedParts, unit: Unit) -> Bound:
    """A sub-session at the whole price, with the symbols and questions for the lists of all parts."""
    from dpviz.mechanisms.pay_what_you_get import PayWhatYouGet

    given = inner.parameters()
    if not {"k", "kbar", "epsilon_per_item", *SHARED} <= set(given):
        raise ParameterError.of(
            inner.name, "a sub-session that pays for what comes back answers TopK", "take another way"
        )
    k, largest = int(given["k"]), given.get("largest")
    sub = PayWhatYouGet.from_parameters(
        {"symbols": str(k * by.size), "questions": str(by.size), **{name: given[name] for name in SHARED}}
    )
    private = given["kbar"] == "private"
    kbar: Any = given["kbar"] if private else int(given["kbar"])
    asking = sub.use(k - private, kbar, largest=int(largest) if largest else None)
    return OpenedBound(made, question, asking, asking.bind(question.in_parts()[0], unit))


protect_module(vars())
