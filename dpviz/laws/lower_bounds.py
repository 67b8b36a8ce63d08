"""Bounds that no mechanism can beat: the lower bounds on error of Balcer, Vadhan 2018, Theorems 7.1 and 7.2.

Each says: a differentially private mechanism whose error is at most a with probability at least 1 - beta has at least
this a. The paper states them where one of n rows is replaced by another. They hold word for word where a row is added
or removed, with that epsilon and without n: the proofs turn rows of one label into rows of another, one step for each,
and it is one step as well to add such a row. For moderate epsilon n they are 0 and say nothing: a fact worth showing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dpviz.errors import ParameterError
from dpviz.exact import log_up, positive, probability, text, whole

Variant = Literal["repaired", "paper"]

STEP = Fraction(1, 1000)
"""Bounds are rounded down to multiples of this."""


def one_bin(epsilon: Fraction, beta: Fraction, *, n: int | None = None, delta: Fraction = Fraction(0)) -> Fraction:
    """The least error of one bin, picked before looking (Theorem 7.1). `n` caps it; None is for any number of rows.

    >>> float(one_bin(Fraction(1, 50), Fraction(1, 1000), n=1000))
    137.536
    """
    epsilon, beta, delta = _checked(epsilon, beta, delta)
    # Theorem 7.1 for one bin: min(ln(1 / (4 beta)) / epsilon - 1, n) / 2.
    return _half_least(_rate(epsilon, 1 / (4 * beta)), epsilon, n, delta)


def all_bins(
    epsilon: Fraction, beta: Fraction, *, bins: int, n: int | None = None, delta: Fraction = Fraction(0)
) -> Fraction:
    """The least error of the worst of `bins` bins (Theorem 7.1).

    >>> float(all_bins(Fraction(1, 10), Fraction(1, 20), bins=2**32, n=10_000))
    118.45
    """
    epsilon, beta, delta = _checked(epsilon, beta, delta)
    others = whole(bins, "bins", least=2) - 1
    # Theorem 7.1 for all bins: |X| - 1 others take the place of 1.
    return _half_least(_rate(epsilon, others / (4 * beta)), epsilon, n, delta)


def sparse(
    epsilon: Fraction,
    beta: Fraction,
    *,
    bins: int,
    shown: int,
    n: int | None = None,
    delta: Fraction = Fraction(0),
    variant: Variant = "repaired",
) -> Fraction:
    """The least error of one bin where at most `shown` of `bins` bins may be other than 0 (Theorem 7.2).

    "paper" is the printed bound; "repaired" is the larger of the two bounds in its proof, of which the printed one is
    the mean.

    >>> float(sparse(Fraction(1, 10), Fraction(1, 20), bins=2**32, shown=1000, n=10_000))
    68.933
    """
    epsilon, beta, delta = _checked(epsilon, beta, delta)
    share = Fraction(whole(bins, "bins"), whole(shown, "shown"))
    if variant == "paper":
        # Theorem 7.2 as printed, the mean of the two bounds below.
        return _half_least(_rate(2 * epsilon, share / (16 * beta)), epsilon, n, delta)
    if variant != "repaired":
        raise ParameterError.of(variant, 'variant must be "repaired" or "paper"', 'write variant="repaired"')
    # The two bounds in the proof of Theorem 7.2.
    sharper = max(_rate(epsilon, share / 4), _rate(epsilon, 1 / (4 * beta)))
    return _half_least(sharper, epsilon, n, delta)


def _checked(epsilon: Fraction, beta: Fraction, delta: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    epsilon, beta = positive(epsilon, "epsilon"), probability(beta, "beta", zero=False)
    if 2 * beta > 1:
        raise ParameterError.of(
            text(beta), "the lower bounds are stated for beta of at most 1/2", "give a beta like 1/10"
        )
    return epsilon, beta, probability(delta, "delta")


def _rate(epsilon: Fraction, odds: Fraction) -> Fraction:
    """ln(odds)/epsilon - 1, rounded down to a multiple of 2 STEP."""
    step = 2 * STEP
    return -log_up(1 / odds, step * epsilon) / epsilon - 1


def _half_least(first: Fraction, epsilon: Fraction, n: int | None, delta: Fraction) -> Fraction:
    """Half the least of the terms, and 0 where that is below 0."""
    terms = [first]
    if delta > 0:
        # With a delta the chain of neighbours may only be as long as delta allows.
        terms.append(_rate(epsilon, epsilon / (4 * delta)))
    if n is not None:
        terms.append(Fraction(whole(n, "n")))
    return max(Fraction(0), min(terms) / 2)
