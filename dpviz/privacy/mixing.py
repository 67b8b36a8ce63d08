"""Nearly private and pure: mix a mechanism that is only close to a pure one with a fixed law (Lemma 3.2).

Let M be pure with odds of at most e^epsilon, and M' differ from M by at most delta in every outcome. Releasing M' with
probability 1 - gamma and else a draw of a fixed law D is as pure as M, if delta is small beside gamma times the least
probability of D. Source: Balcer, Vadhan 2018, Algorithm 3.1 and Lemma 3.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TypeVar

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds, positive, probability, text

Outcome = TypeVar("Outcome", bound=Hashable)


def required_delta(odds: Fraction, gamma: Fraction, least: Fraction) -> Fraction:
    """Bound the distance of M' from M: (odds - 1)/(odds + 1) gamma/(1 - gamma) least, where `odds` is e^epsilon, or
    below it.

    `least` is the least probability that D gives to any outcome of M or M'.

    >>> required_delta(Fraction(3), Fraction(1, 5), Fraction(1, 10))
    Fraction(1, 80)
    """
    if odds <= 1:
        raise ParameterError.of(text(odds), "the odds must be above 1", "give odds like 2")
    if not 0 < least <= 1:
        raise ParameterError.of(text(least), "the least probability must lie in (0, 1]", "give a probability like 1/10")
    gamma = probability(gamma, "gamma", zero=False)
    # Balcer, Vadhan 2018, Lemma 3.2. An outcome has (1 - gamma) (a +- delta) + gamma D, and delta is small enough
    # beside gamma D for the ratio to stay below e^epsilon.
    return (odds - 1) / (odds + 1) * gamma / (1 - gamma) * least


def odds_of(epsilon: Fraction) -> Fraction:
    """e^epsilon from below, for `required_delta`."""
    return exp_bounds(positive(epsilon, "epsilon"))[0]


def paper_delta(e: int, g: int, n: int, size: int) -> Fraction:
    """The printed delta of PureSparseHistogram at epsilon = 1/e and beta_1 = 1/g: (epsilon/3) beta_1 (3 size)**-n.

    It meets the lemma at the nominal epsilon, not always at the ratio in force.

    >>> paper_delta(2, 4, 1, 3)
    Fraction(1, 216)
    """
    return Fraction(1, 3 * e * g * (3 * size) ** n)


def mix(
    mechanism: Mapping[Outcome, Fraction], fixed: Mapping[Outcome, Fraction], gamma: Fraction
) -> dict[Outcome, Fraction]:
    """The law of the mixture: `mechanism` with probability 1 - gamma, else `fixed`."""
    gamma = probability(gamma, "gamma")
    none = Fraction(0)
    outcomes = dict.fromkeys([*mechanism, *fixed])
    return {one: (1 - gamma) * mechanism.get(one, none) + gamma * fixed.get(one, none) for one in outcomes}


def worst_odds(first: Mapping[Outcome, Fraction], second: Mapping[Outcome, Fraction]) -> Fraction | None:
    """The largest ratio of one law to the other, either way; None where an outcome is possible under one only."""
    worst = Fraction(1)
    for one in dict.fromkeys([*first, *second]):
        a, b = first.get(one, Fraction(0)), second.get(one, Fraction(0))
        if a == b:
            continue
        if min(a, b) == 0:
            return None
        worst = max(worst, a / b, b / a)
    return worst
