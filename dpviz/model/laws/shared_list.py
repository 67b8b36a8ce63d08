"""The law of a list that is drawn about all parts of the data at once, and cut into one for each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

from dpviz.boundary import protect_module
from dpviz.exact import whole
from dpviz.model.answers import Answer, Ranked
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import StoredLaw, stored
from dpviz.model.laws.ranking import PeelingLaw
from dpviz.model.measures import Measure, at_worst, to_be_listed
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit


@stored
@dataclass(frozen=True)
class SharedListLaw(StoredLaw):
    """Statements about the list of one part, where one list names bins of all `parts` parts: any number of its places.

    shared  the law of that list
    """

    name: ClassVar[str] = "shared list"

    shared: PeelingLaw
    parts: int

    def __post_init__(self) -> None:
        whole(self.parts, "parts")

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        by = question.by
        return by is not None and by.size == self.parts and self.shared.belongs(question, unit, max_items)

    def accepts(self, answer: Answer) -> bool:
        """Whether there are no more items than all parts have places."""
        ranked = cast(Ranked, answer)
        ends = self.shared.odds is not None or not ranked.ended
        return ends and len(ranked.items) <= self.shared.items and not ranked.has_values and ranked.kbar is None

    def accepts_parts(self, answers: Sequence[Answer]) -> bool:
        """Whether all of them are one list: it ended for every part, or for none, and then no place is free."""
        lists = [cast(Ranked, answer) for answer in answers]
        came, ended = sum(len(one.items) for one in lists), {one.ended for one in lists}
        full = came == self.shared.items
        return super().accepts_parts(answers) and came <= self.shared.items and ended == {not full}

    @cached_property
    def error(self) -> ErrorModel:
        return SharedListError(self.shared)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """The margin that a bin of any part needs to be listed, and the depth of the last one below its rank in all
        parts."""
        listed = () if self.shared.odds is None else (to_be_listed(self.error),)
        return *listed, at_worst(self.error, self.shared.items)


@dataclass(frozen=True)
class SharedListError(ErrorModel):
    """Statements about the list of all parts hold for the items of one."""

    law: PeelingLaw

    @property
    def among(self) -> str:
        return "of all parts"

    def rank(self, position: int, beta: Fraction) -> ErrorValue | None:
        """Of all places alone: the first items of one part may stand anywhere in the list."""
        return self.law.error.rank(position, beta) if position == self.law.items else None

    def in_place(self, place: int, position: int, beta: Fraction) -> ErrorValue | None:
        """Which place in the whole list an item has that is first in its part, nobody knows before it is drawn."""
        return self.rank(position, beta)

    def listed(self, beta: Fraction) -> ErrorValue | None:
        return self.law.error.listed(beta)

    def left_out(self, beta: Fraction) -> ErrorValue | None:
        return self.law.error.left_out(beta)

    @property
    def next_place(self) -> int | None:
        return self.law.error.next_place


protect_module(vars())
