"""The share of a price that each key gets, where keys are named by coins of their own."""

from __future__ import annotations

from fractions import Fraction

from dpviz.exact import exp_bounds, log1p_bounds

DIGITS = 64
"""The delta of one key is rounded down to this number of binary digits."""


def share_of_a_key(epsilon: Fraction, delta: Fraction, keys: int) -> tuple[Fraction, Fraction]:
    """Return the epsilon and the delta of each of several keys, of which a unit moves that many by one record.

    Parameters
    ----------
    epsilon : Fraction
        The price of all of them, above 0.
    delta : Fraction
        Its delta, strictly between 0 and 1.
    keys : int
        The number of keys that one unit moves, or that two units in turn move.

    Returns
    -------
    tuple of Fraction
        epsilon / keys, and the largest delta of `DIGITS` binary digits that 1 - (1 - delta)^(1 / keys) allows.

    Notes
    -----
    Each key is named or not, by a coin that is (e, d)-DP in its count, so the pair of laws for two neighbours is
    post-processing of one of these: with chance d a symbol that gives the neighbour away, else randomised response of
    e [1]_. The pairs of several keys are independent. With chance 1 - (1 - d)^keys at least one gives it away; else
    their responses compose to keys e. Nothing below that is claimed: both directions of one replacement can be bad at
    once, for a key that is new may be named and a key that many share may be left out. So a unit that is replaced pays
    for twice its keys.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath 2017, Theorem 3.2 and Theorem 3.3.

    Examples
    --------
    >>> share_of_a_key(Fraction(1), Fraction(1, 10**6), 1)
    (Fraction(1, 1), Fraction(1, 1000000))
    >>> each, chance = share_of_a_key(Fraction(1), Fraction(1, 10**6), 10)
    >>> each, 1 - (1 - chance)**10 <= Fraction(1, 10**6) < 1 - (1 - chance * (1 + Fraction(1, 2**62)))**10
    (Fraction(1, 10), True)
    """
    if keys == 1:
        return epsilon, delta
    tiny = keys.bit_length() + (delta.denominator // delta.numerator).bit_length()
    precision = 2 * DIGITS + tiny
    goal = -log1p_bounds(-delta, precision)[1] / keys  # from below
    low = 1 - exp_bounds(-goal, precision)[1]
    places = DIGITS + low.denominator.bit_length() - low.numerator.bit_length()
    return epsilon / keys, Fraction(low.numerator * 2**places // low.denominator, 2**places)
