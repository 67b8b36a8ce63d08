"""The law of an answer for each part of the data: one law, the same for every part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.model.answers import Answer
from dpviz.model.error import ErrorModel
from dpviz.model.laws.base import Clamp, StoredLaw, stored
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit


@stored
@dataclass(frozen=True)
class GroupedLaw(StoredLaw):
    """Answers, one for each part, all from one law: independent ones, where that law does not say that they are drawn
    together.

    each   the law of the answer about one part
    apart  whether units come and go inside a part, whatever the relation of the whole
    """

    name: ClassVar[str] = "grouped"
    each: StoredLaw
    apart: bool

    @property
    def error(self) -> ErrorModel:
        """Of one part."""
        return self.each.error

    @property
    def clamp(self) -> Clamp:
        return self.each.clamp

    def of_part(self, unit: Unit) -> tuple[StoredLaw, Unit]:
        return self.each, unit.in_part() if self.apart else unit

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        if question.by is None or question.part is not None:
            return False
        law, inside = self.of_part(unit)
        return law.belongs(question.in_parts()[0], inside, max_items)

    def accepts(self, answer: Answer) -> bool:
        return answer.parts is not None and self.each.accepts_parts(answer.parts)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return self.each.measures(question)

    def title(self, question: Question, unit: Unit) -> str:
        return self.each.title(question, unit)

    def __post_init__(self) -> None:
        if isinstance(self.each, GroupedLaw):
            raise ReleaseFormat.damaged("an answer about a part has no parts", self.name)


protect_module(vars())
