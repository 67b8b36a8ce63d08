"""The least that k mechanisms of the same pure epsilon can be promised to cost, if nothing else is known of them.

Source: Kairouz, Oh, Viswanath 2017, Theorem 3.3, in the form of Durfee, Rogers, Appendix A, Lemma A.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import gmpy2

from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, directed, exp_bounds, from_mpfr, log_bounds, positive, probability, text, whole
from dpviz.privacy.composition import compose_range_bounded, compose_zcdp

PRECISION = 192

STEP = Fraction(1, 10**6)
"""An epsilon between two corners is rounded up to this grid."""

MOST = 10**6
"""The most mechanisms: the time grows with their number."""


class Corner(NamedTuple):
    """A pair (epsilon, delta) that k mechanisms meet together. Its delta is rounded up, and may round to 1."""

    epsilon: Fraction
    delta: Fraction


def optimal_dp(k: int, epsilon: Fraction) -> Iterator[Corner]:
    """All corners of k-fold adaptive composition of epsilon-DP mechanisms: ((k - 2i) epsilon, d_i), i = 0 .. k // 2.

    d_i = sum over l < i of C(k, l) (e^((k - l) epsilon) - e^((k - 2i + l) epsilon)) / (1 + e^epsilon)^k, which grows
    with i from 0; rounded up by less than 10^-30 of itself.

    >>> [corner.epsilon for corner in optimal_dp(4, Fraction(1, 2))]
    [Fraction(2, 1), Fraction(1, 1), Fraction(0, 1)]
    """
    for i, delta in enumerate(_deltas(_checked(k), positive(epsilon, "epsilon"))):
        yield Corner((k - 2 * i) * epsilon, min(Fraction(1), from_mpfr(delta)))


def best_optimal_dp(k: int, epsilon: Fraction, delta_max: Fraction) -> Corner:
    """The corner with the smallest epsilon among those with delta at most `delta_max`.

    >>> best_optimal_dp(10, Fraction(1, 10), Fraction(1, 10**6))
    Corner(epsilon=Fraction(1, 1), delta=Fraction(0, 1))
    """
    probability(delta_max, "delta_max")
    most = gmpy2.mpq(delta_max.numerator, delta_max.denominator)
    best, found = 0, gmpy2.mpfr(0)
    for i, delta in enumerate(_deltas(_checked(k), positive(epsilon, "epsilon"))):
        if delta > most:
            break
        best, found = i, delta
    return Corner((k - 2 * best) * epsilon, from_mpfr(found))


def exact_optimal_dp(k: int, epsilon: Fraction, delta_max: Fraction) -> Fraction:
    """The least epsilon at which k mechanisms together are (epsilon, delta_max)-DP, solved between two corners.

    Between corners delta is linear in e^epsilon, so a chord through both, each with a delta that is rounded up, is
    never below it. Rounded up to 10^-6. `privacy.loss_distribution` has the same for lists of any steps.

    >>> float(exact_optimal_dp(100, Fraction(1, 10), Fraction(1, 10**6)))
    4.774568
    """
    probability(delta_max, "delta_max")
    step = positive(epsilon, "epsilon")
    most = gmpy2.mpq(delta_max.numerator, delta_max.denominator)
    fits: Any = None
    for i, delta in enumerate(_deltas(_checked(k), step)):
        if delta > most:
            return _between((k - 2 * i) * step, from_mpfr(delta), from_mpfr(fits), step, delta_max)
        fits = delta
    if k % 2 == 0:
        return Fraction(0)
    # the next corner lies at -step: the laws are symmetric, so delta(-x) = 1 - e^-x (1 - delta(x))
    above = 1 - exp_bounds(-step, PRECISION)[0] * (1 - from_mpfr(fits))
    return Fraction(0) if above <= delta_max else _between(-step, above, from_mpfr(fits), step, delta_max)


def _between(low: Fraction, above: Fraction, fits: Fraction, step: Fraction, delta: Fraction) -> Fraction:
    """The epsilon on the chord from the corner at `low`, of delta `above`, to the next, of delta `fits`."""
    share = (above - delta) / (above - fits)
    odds = 1 + share * (exp_bounds(2 * step, PRECISION)[1] - 1)
    return ceil_to(max(Fraction(0), low + log_bounds(odds, PRECISION)[1]), STEP)


def figure_ratio(k: int, epsilon: Fraction, delta_max: Fraction, *, zcdp: bool = False) -> Fraction:
    """The epsilon of `best_optimal_dp` over that of range-bounded composition at the same delta: Figure 1.

    Above 1 where knowing that steps are range-bounded buys more than the best rule for all private mechanisms. With
    zcdp=True the range-bounded rule has the zero-concentrated drift. True to 10^-30 of itself.
    """
    best = best_optimal_dp(k, epsilon, delta_max)
    rule = compose_zcdp if zcdp else compose_range_bounded
    return best.epsilon / rule({epsilon: k}, best.delta).epsilon


def _checked(k: int) -> int:
    if whole(k, "k") > MOST:
        raise ParameterError.of(text(k), f"k must be at most {MOST:,}", "take fewer steps")
    return k


def _deltas(k: int, epsilon: Fraction) -> Iterator[Any]:
    """d_0, d_1, ... rounded up, as MPFR numbers (which reach down to where a Fraction would have 10^5 digits).

    With a_i = C(k, i) e^((k - i) epsilon) / (1 + e^epsilon)^k and r = e^(-2 epsilon), the sum x_i = a_i + r x_(i-1)
    gives d_(i+1) = d_i + (1 - r) x_i: sums and products of positive numbers, so that no digit is lost.
    """
    (odds_low, odds), (less_low, less) = exp_bounds(-epsilon, PRECISION), exp_bounds(-2 * epsilon, PRECISION)
    down, up = directed(PRECISION)
    with down:
        # a_0 = 1 / (1 + e^-epsilon)^k; its denominator is rounded down, so a_0 is rounded up.
        weights = _mpfr(1 + odds_low) ** k
    with up:
        ratio, keep, gain = _mpfr(odds), _mpfr(less), _mpfr(1 - less_low)
        delta, held, chance = gmpy2.mpfr(0), gmpy2.mpfr(0), 1 / weights
    yield delta
    for i in range(k // 2):
        with up:
            # x_i = a_i + r x_(i-1)
            held = keep * held + chance
            # d_(i+1) = d_i + (1 - r) x_i
            delta = delta + gain * held
            # a_(i+1) = a_i (k - i) / (i + 1) e^-epsilon
            chance = chance * (k - i) / (i + 1) * ratio
        yield delta


def _mpfr(number: Fraction) -> Any:
    """Rounded as the context in force says."""
    return gmpy2.mpfr(gmpy2.mpq(number.numerator, number.denominator))
