"""The loss of answers about disjoint parts of the data together, where one unit counts in a few of them at most."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpviz.boundary import protect_module
from dpviz.exact import exp_bounds, floor_to, place
from dpviz.privacy.conversion import DELTA_STEP, group, to_approx
from dpviz.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from dpviz.privacy.unit import Relation

DIGITS = 6
"""The digits of a share of a delta, rounded down."""


def parallel(losses: Sequence[Loss], parts: int, relation: Relation) -> Loss:
    """The price of one answer about each of some disjoint parts, of which a unit counts in `parts` at most.

    losses  what each answer costs against adding or removing one unit inside its part; adaptive answers about a part
            count as one, by what they may cost at most
    parts   in how many parts one unit counts, by a choice that looks at its own rows alone and at no question

    Add-remove: the unit comes or goes in its parts, so the `parts` largest prices add up, whichever these are.
    Replace-one: in a part that both the old and the new unit count in, one goes and one comes, which is a group of two;
    in a part of one of them alone, one goes or comes. A group of two costs at least two single changes, so the worst is
    that both count in the same parts: the `parts` largest prices of groups of two add up. Nothing about how many rows
    a part has is public, also where their number in all parts is.

    Source: McSherry 2009, Theorem 4, for add-remove and one part; Dwork, Roth 2014, Theorems 2.2 and 3.16, for groups
    and for what adds up.

    >>> parallel([PureDP(Fraction(1)), PureDP(Fraction(2)), PureDP(Fraction(3))], 2, "add-remove")
    PureDP(epsilon=Fraction(5, 1))
    """
    # A replaced unit that counts in a part before and after is one removal and one addition there.
    each = [group(loss, 2) if relation == "replace-one" else loss for loss in losses]
    if all(isinstance(loss, ZCDP) for loss in each):
        # Rho adds up over the parts that one unit counts in (Bun, Steinke 2016, Lemma 1.7).
        return ZCDP(_largest([loss.rho for loss in each if isinstance(loss, ZCDP)], parts))
    prices = [to_approx(loss) for loss in each]
    # The worst unit counts in the parts with the largest prices; epsilon and delta may be largest in different parts.
    epsilon = _largest([price.epsilon for price in prices], parts)
    delta = _largest([price.delta for price in prices], parts)
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def _largest(values: Sequence[Fraction], many: int) -> Fraction:
    return sum(sorted(values, reverse=True)[:many], Fraction(0))


def moved(one: Fraction, both: Fraction, few: int, parts: int) -> Fraction:
    """Bound the loss of a replaced unit over `parts` parts, where a unit counts in `few` of them.

    one   what a part costs that it leaves or enters: there it is removed or added
    both  what a part costs in which it counts before and after: there its rows are exchanged

    Of the parts that it counts in after, some are those from before; as many as it leaves, it may enter, where there
    are so many others. A number that adds up over parts is largest for one of these: which one depends on whether
    exchanging rows costs more than removing some in one part and adding some in another.

    >>> [int(moved(Fraction(1), Fraction(both), 2, parts)) for both, parts in ((1, 9), (1, 3), (4, 9))]
    [4, 3, 8]
    """
    # `same` parts are kept; each of the others is left once and entered once, where there are so many.
    return max(same * both + min(2 * (few - same), parts - same) * one for same in range(few + 1))


def share(epsilon: Fraction, delta: Fraction, parts: int, relation: Relation) -> tuple[Fraction, Fraction]:
    """The largest loss of the answer about each part so that all of them cost (epsilon, delta): the same for each.

    >>> share(Fraction(3), Fraction(1, 10**5), 3, "add-remove")
    (Fraction(1, 1), Fraction(333333, 100000000000))
    """
    if relation == "add-remove":
        return epsilon / parts, _rounded(delta / parts)
    # A group of two costs 2 epsilon and (1 + e^epsilon) delta (Dwork, Roth 2014, Theorem 2.2).
    each = epsilon / (2 * parts)
    left = delta / parts - DELTA_STEP  # a group's delta is rounded up by at most so much
    return each, _rounded(max(left, Fraction(0)) / (1 + exp_bounds(each)[1]))


def _rounded(delta: Fraction) -> Fraction:
    return floor_to(delta, place(delta, DIGITS)) if delta else delta


protect_module(vars())
