"""The delta of a threshold on keys that are shown only where they occur: the chance that one unit's own keys are shown.

Keys that occur get independent noise, and are shown where their noisy value reaches a threshold. A key that one unit
alone has is absent without that unit, so that the answer tells of the unit where the key is shown, and hardly anywhere
else. No group privacy takes part: it multiplies the chance of one key by (e^epsilon - 1)/(e^(epsilon/m) - 1) where m
keys are enough.

Noise that is truncated at the threshold is shown one lower, and moves of keys that both neighbours have cost a delta,
too: `truncated_at_most`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TypeAlias

from dpviz.exact import Decay, Enclosure, decide, log1p_bounds
from dpviz.laws.truncated import TruncatedGeometric

Filled: TypeAlias = tuple[tuple[int, int], ...]
"""Keys that one unit alone has, as pairs: the amount in a key, and the number of keys with this amount."""

ShowsAt: TypeAlias = Callable[[int, int], Enclosure]
"""The chance that a key with this amount is shown, enclosed at a precision."""

MOST_POWERS = 64
"""Up to this number of keys a chance that is a fraction is raised to a power, which decides ties."""

MOST_EXACT = 1 << 12
"""Beyond this precision a comparison that is still open is taken as too large."""


def fullest_keys(keys: int, each: int, records: int | None = None) -> tuple[Filled, ...]:
    """List the ways to fill keys that may show most often.

    Parameters
    ----------
    keys : int
        The most keys of one unit.
    each : int
        The most records of one unit in a key.
    records : int, optional
        The most records of one unit in all; None where nothing but the other two limits them.

    Returns
    -------
    tuple
        One of these is the worst for every geometric noise and threshold.

    Notes
    -----
    With tau(c) the chance that a key of c records is shown, -ln(1 - tau(c)) is convex in c >= 1, and 0 at c = 0, where
    no key is. So for a given number of keys the sum over them is largest where as many as possible hold `each`, one
    holds a rest, and the others hold one record (majorisation). One key more costs a record of the fuller ones: the sum
    is convex in the number of keys between those numbers at which no rest is left, and linear over these. So it is
    largest at the fewest keys, at the most, or at a number without a rest next to either.

    Examples
    --------
    >>> fullest_keys(3, 2), fullest_keys(4, 3, 5)
    ((((2, 3),),), (((3, 1), (2, 1)), ((3, 1), (1, 2)), ((2, 1), (1, 3))))
    """
    if records is None or records >= keys * each:
        return (((each, keys),),)
    most = min(keys, records)
    if each == 1:
        return (((1, most),),)
    fewest = -(-records // each)
    first = fewest + (records - fewest) % (each - 1)
    last = most - (most - records) % (each - 1)
    numbers = sorted({fewest, most, *(number for number in (first, last) if fewest <= number <= most)})
    return tuple(_filled(number, each, records) for number in numbers)


def _filled(keys: int, each: int, records: int) -> Filled:
    """This number of keys, each with a record, and all other records in as few of them as possible."""
    full, rest = divmod(records - keys, each - 1)
    amounts = (each, full), (1 + rest, int(rest > 0)), (1, keys - full - int(rest > 0))
    return tuple((amount, many) for amount, many in amounts if many)


def shown_at_most(filled: Iterable[Filled], shows: ShowsAt, delta: Fraction) -> bool:
    """Return whether no way to fill one unit's keys shows any of them with a chance above delta.

    Parameters
    ----------
    filled : iterable
        Ways to fill keys, as `fullest_keys` lists them.
    shows : callable
        The chance that a key with a given amount is shown, enclosed at a given precision.
    delta : Fraction
        Strictly between 0 and 1.

    Returns
    -------
    bool
        True where 1 - prod(1 - tau)**many <= delta is certain for each of them.

    Notes
    -----
    The price of a threshold is (epsilon, delta) with the delta of one side. Let P and Q be the laws of the answer for
    two neighbours. A key that occurs with the one unit alone is bad where it is shown, and all other keys are
    epsilon-DP together. So P = a bad + (1 - a) P', Q = b bad' + (1 - b) Q' with (P', Q') epsilon-DP both ways and a, b
    the chances of bad. For an event S let x = P'(S); then Q'(S) >= max(e^-epsilon x, 1 - e^epsilon (1 - x)), and
    P(S) - e^epsilon Q(S) is at most a function of x that is linear between 0, 1 and one kink, where it is at most
    max(a, b). A unit that is replaced leaves m keys and enters m others, and a and b are those of m keys each: 2 m are
    not needed.
    """
    return all(_at_most(one, shows, delta) for one in filled)


def truncated_at_most(moved: Filled, rate: Fraction, reach: int, delta: Fraction) -> bool:
    """Return whether noise truncated at `reach`, shown above it, costs at most delta beside the epsilon of its rate.

    Parameters
    ----------
    moved : tuple
        Keys that one unit moves, as pairs: how far, and the number of keys that it moves so.
    rate : Fraction
        Pr[Z = z] is proportional to exp(-rate |z|) for whole z from -reach to reach.
    reach : int
        At least every move; a noisy value of reach + 1 or more is shown.
    delta : Fraction
        Strictly between 0 and 1.

    Returns
    -------
    bool
        True where 1 - prod(1 - tau(move))**many <= delta is certain, with tau(k) = Pr[Z > reach - k].

    Notes
    -----
    Let a key have the values n and n + k for two neighbours. Under the first law the lowest k noises, of chance tau(k),
    lead to values that the second law does not have, or hides more often; from the others each outcome is at most
    e^(rate k) times as likely as under the second. The same holds the other way with the highest k noises. A key that
    is absent from one of the two is hidden there, and shown with chance tau(k) by the other. So every moved key adds
    its chance in both directions, be it new, gone or common to both: a unit that is replaced moves twice its keys. With
    independent noise, P(S) <= 1 - prod(1 - tau) + e^(sum of rate k) Q(S) for every event S. tau(0) is 0, and -ln(1 -
    tau) convex, so full moves and one rest are the worst (majorisation).

    Examples
    --------
    >>> ten = ((1, 10),)
    >>> [truncated_at_most(ten, Fraction(1, 10), reach, Fraction(1, 10**6)) for reach in (131, 132)]
    [False, True]
    """
    law = TruncatedGeometric(Decay.exp(rate), reach)
    return shown_at_most((moved,), lambda move, precision: law.above(reach - move, precision), delta)


def _at_most(filled: Filled, shows: ShowsAt, delta: Fraction) -> bool:
    number = sum(many for _, many in filled)

    def holds(precision: int) -> bool | None:
        ends = [(*shows(amount, precision), many) for amount, many in filled]
        if number == 1 or (number <= MOST_POWERS and all(low == high for low, high, _ in ends)):
            least, most = (1 - math.prod((1 - end[side]) ** end[2] for end in ends) for side in (0, 1))
        elif any(high >= 1 for _, high, _ in ends):
            least, most = max(low for low, _, _ in ends), Fraction(1)
        else:  # delta is compared as -ln(1 - delta), which keeps all digits of small chances
            goal = log1p_bounds(-delta, precision)
            sums = [sum(many * log1p_bounds(-end[side], precision)[1 - side] for *end, many in ends) for side in (0, 1)]
            return True if sums[1] >= goal[1] else False if sums[0] < goal[0] else precision < MOST_EXACT and None
        return True if most <= delta else False if least > delta else precision < MOST_EXACT and None

    return decide(holds)
