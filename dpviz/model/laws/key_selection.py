"""Coins that name bins by their counts, as often as the price of one bin allows, and from which counts on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.laws.key_selection import SelectionChances
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import StoredLaw, stored
from dpviz.model.measures import Measure, Weight
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

RULE: Final = "the least count with that chance, of a bin by itself"

HALF: Final = Fraction(1, 2)


@stored
@dataclass(frozen=True)
class KeySelectionLaw(StoredLaw):
    """Each bin that is not empty is named by a coin of its own, with the largest chance that (epsilon, delta) allows.

    epsilon, delta  of one bin
    bins  how many bins are declared, where they are
    n     the public number of rows, where there is one
    """

    name: ClassVar[str] = "key selection"

    epsilon: Fraction
    delta: Fraction
    bins: int | None
    n: int | None

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or not 0 < self.delta < 1:
            raise ReleaseFormat.damaged("a bin has a positive epsilon and a delta between 0 and 1", "other numbers")

    @cached_property
    def chances(self) -> SelectionChances:
        return SelectionChances(self.epsilon, self.delta)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.bins == (question.bins if question.domain.declared else None) and self.n == unit.n

    def cut_up(self, parts: int) -> KeySelectionLaw:
        """Each bin has a coin of its own."""
        return self if self.bins is None else replace(self, bins=self.bins // parts)

    @cached_property
    def error(self) -> ErrorModel:
        return KeySelectionError(self)

    def title(self, question: Question, unit: Unit) -> str:
        return f"Bins of {question.domain.columns_text} that are large enough, by name"

    def measures(self, question: Question) -> tuple[Measure, ...]:
        often = _named(
            "named",
            "Named",
            "a bin is named from {value} on",
            "At least {times} a bin with a count of {value} is named.",
            self.error.named,
            weight="thick",
        )
        half = _named(
            "half",
            "Mostly named",
            "mostly from {value} on",
            "A bin with a count of {value} is named at least every other time.",
            lambda beta: self.error.named(HALF),
            weight="medium",
            certain=True,
        )
        sure = _named(
            "always",
            "Always named",
            "always from {value} on",
            "A bin with a count of {value} is always named.",
            lambda beta: self.error.named(Fraction(0)),
            weight="thin",
            certain=True,
        )
        return often, half, sure


def _named(
    name: str,
    label: str,
    phrase: str,
    tip: str,
    at: Callable[[Fraction], ErrorValue | None],
    *,
    weight: Weight,
    certain: bool = False,
) -> Measure:
    return Measure(
        name=name,
        label=label,
        short=label.lower(),
        phrase=phrase,
        tip=tip,
        at=at,
        sign="from ",
        origin="in a bin",
        weight=weight,
        certain=certain,
    )


@dataclass(frozen=True)
class KeySelectionError(ErrorModel):
    """The exact counts from which on bins are named."""

    law: KeySelectionLaw

    def named(self, beta: Fraction) -> ErrorValue:
        chances = self.law.chances
        least = chances.sure if beta == 0 else chances.least(1 - beta)
        return ErrorValue(Fraction(least), "exact", RULE)

    def chance_shown(self, count: int) -> float:
        return self.law.chances.chance(count)


protect_module(vars())
