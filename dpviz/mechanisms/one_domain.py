"""One question about the product of parts and bins, of which the answer is cut into one for each part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import counted
from dpviz.model.answers import Answer, Grouped
from dpviz.model.error import ErrorModel
from dpviz.model.laws.grouped import GroupedLaw
from dpviz.model.mechanism import Bound, Cost, Mechanism, Mode, Space
from dpviz.model.partition import Partition
from dpviz.model.question import NamedParts, Question
from dpviz.model.source import Source, Tick, TopRules
from dpviz.model.statistic import Need, Statistic
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.noise.bits import Bits

INSTEAD = "take another way"


@dataclass(frozen=True)
class ProductBound(Bound):
    """A question about each part, answered as one question about the product of the parts and the bins.

    One unit counts in the bins of all parts together as it would in those of one answer: its `max_bins` are chosen
    among all of them, and `max_parts` chooses nothing.

    question  the one about each part
    whole     what answers the question about the product, at the whole price
    law       that of its answer, part by part
    """

    mechanism: Mechanism
    question: Question
    whole: Bound
    law: GroupedLaw

    shape: ClassVar[type[Answer]] = Grouped
    way: ClassVar[str] = "product"

    @property
    def unit(self) -> Unit:
        return self.whole.unit

    @property
    def _by(self) -> Partition:
        assert isinstance(self.question.by, Partition)
        return self.question.by

    @property
    def leaves_out(self) -> str:
        unit = self.unit
        if unit.is_row or unit.max_bins is None:
            return ""
        return f"one {unit.noun} counts in {counted(unit.max_bins, 'bin')} of all parts together"

    @property
    def needs(self) -> Need:
        return self.whole.needs

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return self.whole.ordered

    @property
    def reuse(self) -> bool:  # type: ignore[override]
        return self.whole.reuse

    @property
    def max_items(self) -> int | None:
        """Of all parts together."""
        return self.whole.max_items

    @cached_property
    def price(self) -> Guarantee:
        price, unit = self.whole.price, self.unit
        bins = self.whole.question.domain.size_text
        most = "all" if unit.max_bins is None else f"{unit.max_bins:,}"
        domain = f"one product domain, {bins}: one {unit.noun} counts in {most} of them at most, whatever their parts"
        return replace(price, rule=f"{price.rule}; {domain}")

    @property
    def space(self) -> Space:
        return self.whole.space

    @property
    def cost(self) -> Cost:
        return self.whole.cost

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        return f"{self.whole.verb} They are cut into one answer {self.question.each_text}."

    def modes(self) -> tuple[Mode, ...]:
        return self.whole.modes()

    def check_countable(self, source: Source) -> None:
        self.whole.check_countable(source)

    def check_source(self, rules: TopRules) -> None:
        self.whole.check_source(rules)

    def count_statistic(self, source: Source, tick: Tick | None = None) -> Statistic:
        return self.whole.count_statistic(source, tick)

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Grouped:
        answer = self.whole.draw(statistic, bits, mode=mode, tick=tick)
        parts = answer.cut_up(self._by.domain, self.question.domain)
        assert parts is not None
        return Grouped(tuple(parts))


def product(made: Mechanism, inner: Mechanism, question: Question, by: Partition | NamedParts, unit: Unit) -> Bound:
    """The inner mechanism, bound to the product; of a list, with the places of the lists of all parts together."""
    if not isinstance(by, Partition):
        raise ParameterError.of(by.text, "parts that are filters by name make no product of bins", INSTEAD)
    given = inner.parameters()
    if given.get("kbar") == "private":
        raise ParameterError.of('kbar="private"', "how many rows compete is chosen for one part, not for all", INSTEAD)
    many = {name: str(int(given[name]) * by.size) for name in ("k", "kbar") if given.get(name)}
    asked = Question(by.domain * question.domain, question.where, question.aggregate)
    whole = type(inner).from_parameters({**given, **many}).bind(asked, unit)
    each = whole.law.cut_up(by.size)
    if each is None:
        raise ParameterError.of(
            inner.name, "of one product domain the counts of bins, or the list of TopK, are cut into parts", INSTEAD
        )
    return ProductBound(made, question, whole, GroupedLaw(each, apart=False))


protect_module(vars())
