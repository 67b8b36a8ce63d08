"""Bounds on how far one protected unit moves a vector of counts or sums, in whole steps: what every price rests on."""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.boundary import protect_module
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit


@dataclass(frozen=True)
class Moves:
    """The most that one unit can move; bounds that hold at once.

    l1     the sum of all moves, in steps
    slots  pairs (how many, how far): the vector moves in that many places by that many steps each; where there are
           several pairs, each of them is a bound by itself
    turn   how far a single bin moves at most, in steps: where a unit that is exchanged both leaves and joins it, and
           values of both signs count, farther than by what one of the two contributes; it takes two places then
    """

    l1: int
    slots: tuple[tuple[int, int], ...]
    turn: int

    @classmethod
    def of(cls, question: Question, unit: Unit) -> Moves:
        """Raises UnitError where nothing limits how many bins one unit touches.

        A unit that is exchanged takes what it gave from some bins and gives to others; a bin that is among both moves
        by both, so it counts as two places, or by the largest difference in a bin, once for each bin there is.
        """
        aggregate, bins = question.aggregate, question.bins if question.domain.declared else None
        unit.l1(bins)  # raises where there is no bound
        heaviest = aggregate.heaviest * unit.max_per_bin
        replaced = unit.relation == "replace-one"
        spread = max(aggregate.spread, aggregate.heaviest) if replaced else aggregate.heaviest
        slots = []
        if unit.max_bins is not None:
            slots.append((unit.max_bins * (2 if replaced else 1), heaviest))
        if bins is not None:
            slots.append((bins, spread * unit.max_per_bin))
        l1 = min(many * far for many, far in slots)
        if unit.max_records is not None:
            l1 = min(l1, unit.max_records * aggregate.heaviest * (2 if replaced else 1))
        return cls(l1, tuple(slots), spread * unit.max_per_bin)


protect_module(vars())
