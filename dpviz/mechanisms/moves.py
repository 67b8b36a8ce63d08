"""Bounds on how far one protected unit moves a vector of counts or sums, in whole steps: what every price rests on."""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.boundary import protect_module
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit
from dpviz.privacy.unknown_keys import Filled, fullest_keys


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


def own_keys(question: Question, unit: Unit, *, apart: bool = True) -> tuple[Filled, ...]:
    """The keys that hold nothing without one unit, and the amounts of it in them, in whole steps.

    Where values of both signs count, a value is shown on its own side alone: a key holds nothing on a side where the
    unit turns its sign. A unit that is exchanged does so to keys that it leaves, to keys that it joins, and from
    farther up to keys that it leaves and joins, which count against both of its limits.

    apart  whether a rest may be told from full keys; else each key is taken as full, which shows at least as often
    """
    aggregate, bins = question.aggregate, question.bins if question.domain.declared else None
    limits = [limit for limit in (unit.max_bins, bins) if limit is not None]
    keys, far = min(limits), aggregate.heaviest * unit.max_per_bin
    if not aggregate.signed:
        ways = fullest_keys(keys, unit.max_per_bin, unit.max_records if apart else None)
        return tuple(tuple((aggregate.heaviest * rows, many) for rows, many in way) for way in ways)
    if unit.relation == "add-remove":
        return (((far, keys),),)
    turn = max(aggregate.spread, aggregate.heaviest) * unit.max_per_bin
    all_bins = 2 * keys if bins is None else bins
    both = {0, keys, max(0, 2 * keys - all_bins)}  # -ln(1 - tau) adds up, so the number of turned keys is at an end
    ways = tuple(((turn, number), (far, min(2 * (keys - number), all_bins - number))) for number in sorted(both))
    return tuple(tuple((amount, many) for amount, many in way if many) for way in ways)


def moved_keys(question: Question, unit: Unit) -> Filled:
    """The keys that one unit moves, as pairs of a move and a number: full ones and a rest, of values that are not below
    0."""
    far, l1 = question.aggregate.heaviest * unit.max_per_bin, Moves.of(question, unit).l1
    full, rest = divmod(l1, far)
    return tuple((move, many) for move, many in ((far, full), (rest, 1)) if move and many)


protect_module(vars())
