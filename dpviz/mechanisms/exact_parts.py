"""The exact price of equal answers about parts of the data, of which one unit counts in a few.

A question about each part is a fixed list: its lines are the answers about the parts, all with one mechanism, written
down before the first is drawn. The noise of each is its own, and each depends on the rows of its part alone. Let one
unit count in m parts at most, which its own rows decide.

Add-remove. Neighbours differ in m parts at most, in each of which one unit comes or goes. All other answers have the
same law. So the answers are post-processing of m draws of the dominating pair of one answer, whichever parts these are,
for the lines are alike; fewer parts are dominated by more. The product of the pairs dominates the release (Zhu, Dong,
Wang 2022, Theorem 10).

Replace-one. The unit counts in m parts before and in m after, so up to 2m parts change. In a part that it leaves or
enters it goes or comes: one pair each. In a part that it counts in before and after, one unit goes and another comes.
The pair of geometric noise is then that of both, as the mechanism says of a replaced unit (`Bound.pair_for`): no count
moves by more, for rows of one unit only add to it, and at most twice as many counts move. All pairs are of one noise,
so the mixture of such parts that moves the most counts is the worst. Where nothing but epsilon and delta is known, a
part that is kept costs a group of two, (2 epsilon, (1 + e^epsilon) delta). Its randomised response dominates two pairs,
which are (2 epsilon, 2 delta - delta^2)-DP, and so m kept parts are the worst.

All parts. Where a unit may count in all of them, each answer is priced for the unit and its relation, as in any list.

The release is one call, so no line depends on an answer. `dv.Parts` is no such list: its questions, and their prices,
are chosen after earlier answers, so its price stays the sum.

Gaussian noise needs none of this: the moves of all parts are priced as one move, exactly, in every way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Final

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import place, text
from dpviz.model.mechanism import Bound
from dpviz.privacy.conversion import group, to_approx
from dpviz.privacy.loss_distribution import WORTH, DominatingPair, GeometricMoves, RandomisedResponse, compose_fixed
from dpviz.privacy.parallel import moved
from dpviz.privacy.unit import Unit

DIGITS: Final = 5
"""Significant digits of the epsilon of one part by the sum, on the last of which that of a line is rounded down."""

UNUSED: Final = Fraction(1, 10**4)
"""The share of the price that the search may leave unused."""

MOST_MOVES: Final = 1 << 14
"""The most that counts may move together: a price with more would take seconds to find."""

OTHERWISE: Final = "leave delta= and way= out: another way needs no delta of all parts"

Pairs = Mapping[DominatingPair, int]
"""How often each pair comes."""


def pairs_of_parts(each: Bound, parts: int, few: int, unit: Unit) -> Pairs:
    """Return the dominating pairs of the answers about all parts, as the docstring of this file derives them.

    each  the answer about one part, bound to the unit itself where one may count in all parts, else to the unit as it
          comes and goes in a part
    few   in how many of the parts one unit counts at most
    """
    alone = each.dominating_pair
    if few == parts or unit.relation == "add-remove":
        return {alone: few}
    both = each.pair_for(unit)
    if isinstance(alone, GeometricMoves) and isinstance(both, GeometricMoves) and both.each == alone.each:
        counts = moved(Fraction(alone.counts), Fraction(both.counts), few, parts)
        return {replace(alone, counts=int(counts)): 1}
    two = to_approx(group(to_approx(each.price.loss), 2))
    return {RandomisedResponse(two.epsilon, two.delta): few}


def without_delta(pairs: Pairs, total: Fraction) -> Fraction:
    """Return the epsilon that these answers cost without a delta of all: by the sum `total`, or by the largest loss of
    geometric noise, where fewer counts move than the sum takes."""
    losses = [times * pair.largest_loss for pair, times in pairs.items() if isinstance(pair, GeometricMoves)]
    return min(total, sum(losses, Fraction(0))) if len(losses) == len(pairs) else total


def check_moves(pairs: Pairs) -> None:
    """Refuse answers whose exact composition would take long to find."""
    moves = sum(pair.each * pair.counts * times for pair, times in pairs.items() if isinstance(pair, GeometricMoves))
    if moves > MOST_MOVES:
        rule = f"parts are composed exactly where one unit moves all counts by at most {MOST_MOVES:,} together"
        raise ParameterError.of(f"{moves:,}", rule, OTHERWISE)


def charged(whole: Fraction, composed: Fraction, total: Fraction) -> Fraction:
    """Return the epsilon that is charged for lines which cost `composed` together, and `total` without a delta.

    whole  what was asked; it is charged where the search left hardly any of it unused. Lines whose epsilons move in
           steps, as those of finite samplers do, may cost less.

    Raises ParameterError where the total is not at least 1 % above that.
    """
    paid = whole if whole - composed <= UNUSED * whole else composed
    if paid > WORTH * total:
        raise _hardly_less(paid)
    return paid


def _hardly_less(paid: Fraction) -> Exception:
    percent = text(100 * (1 - WORTH))
    return ParameterError.of(
        f"epsilon {text(paid)}",
        f"parts are charged at their exact composition where it costs at least {percent} % less than the sum of those "
        "that one unit counts in",
        f"{OTHERWISE}; or give a larger delta",
    )


def largest_each(whole: Fraction, delta: Fraction, lines: int, pairs: Callable[[Fraction], Pairs]) -> Fraction:
    """Return an epsilon of each line whose exact composition costs `whole` at most, and nearly that.

    lines  the number of epsilons that the sum has: twice that of the parts where a group of two counts in each
    pairs  the pairs of all lines, at an epsilon of each

    Raises ParameterError where the sum of the lines is not at least 1 % above what their composition costs.
    """
    grid = place(whole / lines, DIGITS)

    def cost(steps: int) -> Fraction:
        return compose_fixed(pairs(steps * grid), delta).epsilon

    def within(steps: int) -> Fraction | None:
        try:
            return cost(steps)
        except ParameterError:  # no mechanism has so large an epsilon
            return None

    low = ceil(whole / (WORTH * lines * grid))
    check_moves(pairs(low * grid))
    paid = cost(low)
    if paid > whole:
        raise _hardly_less(whole)
    high: int | None = None
    over: Fraction | None = None
    turn = 0
    while whole - paid > UNUSED * whole and (high is None or high - low > 1):
        turn += 1
        if high is None:
            at = min(2 * low, max(low + 1, ceil(low * whole / paid))) if paid else 2 * low
        elif over is None or turn % 4 == 0:
            at = (low + high) // 2
        else:  # costs grow nearly in a line
            at = low + int((whole - paid) * (high - low) / (over - paid))
            at = min(max(at, low + 1), high - 1)
        found = within(at)
        if found is not None and found <= whole:
            low, paid = at, found
        else:
            high, over = at, found
    return low * grid


protect_module(vars())
