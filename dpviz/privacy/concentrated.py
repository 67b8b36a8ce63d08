"""Zero-concentrated DP without waste: the rho of pure answers and of geometric noise, and the rho that a budget holds.

A mechanism is rho-zCDP where the Rényi divergence of every order alpha > 1 is at most alpha rho. All numbers here are
exact or certified enclosures; no float takes part, so that two machines never disagree about the cap of a ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dpviz.errors import ParameterError
from dpviz.exact import (
    ceil_to,
    decide,
    exp_bounds,
    floor_to,
    log1p_bounds,
    log_bounds,
    positive,
    probability,
    root_bounds,
    tanh_bounds,
    text,
)
from dpviz.privacy.calibration import climb
from dpviz.privacy.grid import EPSILON_STEP, LARGEST_EPSILON

SINGLE_STEP: Final = Fraction(1, 10**6)
"""The largest epsilon for a rho is rounded down to this grid."""

HALVINGS: Final = 48
"""An order is bisected so often. An error of 10**-6 in the order costs 10**-12 of rho."""


# ---------------------------------------------------------------- what an answer costs


@lru_cache(maxsize=4096)
def pure_rho(epsilon: Fraction) -> Fraction:
    """Return the rho of an answer of which nothing but its epsilon is known: epsilon tanh(epsilon / 2), rounded up.

    Parameters
    ----------
    epsilon : Fraction
        At least 0.

    Returns
    -------
    Fraction
        A multiple of 10**-12.

    Notes
    -----
    Every pure answer is post-processing of randomised response [1]_, an interactive one too [2]_. With u = (alpha -
    1/2)**2 and f(u) = ln cosh(epsilon sqrt(u)), the divergence of order alpha of randomised response over alpha is
    (f(u) - f(1/4)) / (u - 1/4). f is concave, so that is at most f'(1/4) = epsilon tanh(epsilon / 2), which orders near
    1 reach: no smaller rho holds. With a delta, the answer is post-processing of the same pair but for a chance of
    delta [1]_, so it is delta-approximately zero-concentrated with this rho.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath (2017), Theorem 3.3.
    .. [2] Vadhan, Wang (2021), Theorem 1.5; with a delta Lyu (2022), Theorem 1.5.

    Examples
    --------
    >>> float(pure_rho(Fraction(1))), float(pure_rho(Fraction(1, 10)))
    (0.462117157261, 0.004995837496)
    """
    if epsilon < 0:
        raise ParameterError.of(text(epsilon), "epsilon must not be negative", "give 0 or more")
    # The tight constant f'(1/4) of the Notes, not epsilon^2 / 2 (Bun, Steinke 2016, Proposition 1.4), which is above
    # it.
    return ceil_to(epsilon * tanh_bounds(epsilon / 2)[1], EPSILON_STEP) if epsilon else Fraction(0)


def single(rho: Fraction) -> Fraction:
    """Return the largest epsilon of one pure answer that a rho pays for, by `pure_rho`.

    Parameters
    ----------
    rho : Fraction
        At least 0.

    Returns
    -------
    Fraction
        A multiple of 10**-6, at most LARGEST_EPSILON.

    Examples
    --------
    >>> float(single(Fraction(1, 200)))
    0.100041
    """
    if rho <= 0:
        return Fraction(0)
    most = int(LARGEST_EPSILON / SINGLE_STEP)

    def fits(units: int) -> bool:
        return units <= most and pure_rho(units * SINGLE_STEP) <= rho

    # epsilon tanh(epsilon/2) lies between epsilon^2/2 (1 - epsilon^2/12) and the smaller of epsilon and epsilon^2/2
    return climb(min(most, int(max(rho, root_bounds(2 * rho)[0]) / SINGLE_STEP)), fits) * SINGLE_STEP


Moved = tuple[Fraction, int, int]
"""The rate r of the noise on a count, Pr[Z = z] proportional to exp(-r |z|), by how much one unit moves that count, and
how many such counts there are."""


def moved_most(rate: Fraction, l1: int, most: int) -> tuple[Moved, ...]:
    """List the counts that one unit moves for the largest rho: by `most` each, as many as `l1` allows, and the rest.

    Parameters
    ----------
    rate : Fraction
        The rate of the noise, the same on every count.
    l1 : int
        The sum of what one unit moves all counts by.
    most : int
        The most that it moves one count by.

    Returns
    -------
    tuple
        For `geometric_rho`.

    Notes
    -----
    The rho of one count is convex in its move and 0 where it does not move, so a sum over moves that are at most `most`
    and add up to `l1` is largest at full moves and one rest (majorisation).
    """
    full, rest = divmod(l1, most)
    return tuple((rate, move, times) for move, times in ((most, full), (rest, 1)) if move and times)


def geometric_rho(moved: Iterable[Moved]) -> Fraction:
    """Return the rho of two-sided geometric noise on counts that one unit moves so, rounded up.

    Parameters
    ----------
    moved : iterable
        Rate, whole move and number of counts, as `moved_most` lists them. The noises are independent.

    Returns
    -------
    Fraction
        A multiple of 10**-12.

    Notes
    -----
    With a = exp(-r), a count that moves by k costs

        kappa(r, k) = r (k - 2 a (1 - a**k) / (1 - a**2)),

    the Kullback-Leibler divergence of the noise from the moved noise. E exp((alpha - 1) L) = M(alpha - 1/2) / M(1/2)
    with an even M, which is proportional to x**-k (1 + (1 - a)(x**2 + ... + x**(2k - 2)) + x**(2k)) at x = exp(r t).
    Times 1 - x**2 it vanishes, with y = x**2, where y**k (y - a) / (1 - a y) = 1: a Blaschke product of degree k + 1,
    so all zeros lie on the unit circle, M(t) = M(0) prod(1 + t**2 / c**2) with real c, and ln M(sqrt u) is concave.
    Then the divergence of order alpha over alpha is largest in the limit alpha -> 1, as for `pure_rho`, where it is
    kappa. So no smaller rho holds. Independent counts add up.

    Examples
    --------
    >>> float(geometric_rho(moved_most(Fraction(1, 10), 10, 1)))
    0.049958374958
    >>> float(geometric_rho(moved_most(Fraction(1, 10), 10, 10)))
    0.368931747608
    """
    return _rho_of_moves(tuple(moved))


@lru_cache(maxsize=4096)
def _rho_of_moves(moved: tuple[Moved, ...]) -> Fraction:
    """The same of a tuple; a session asks for the same one again and again."""
    terms: Counter[tuple[Fraction, int]] = Counter()
    for rate, move, many in moved:
        if move and many:
            terms[positive(rate, "rate"), move] += many
    if not terms:
        return Fraction(0)
    found: list[Fraction] = []

    def rounded(precision: int) -> bool | None:
        low = high = Fraction(0)
        for (rate, move), times in terms.items():
            ends = _kappa(rate, move, precision)
            if ends is None:
                return None
            low, high = low + times * ends[0], high + times * ends[1]
        # Both ends must round to one number: a price that depended on the precision would differ between machines.
        up = ceil_to(high, EPSILON_STEP)
        if ceil_to(low, EPSILON_STEP) != up:
            return None
        found.append(up)
        return True

    decide(rounded)
    return found[0]


def replaced_rho(below: Iterable[Moved], root: Iterable[Moved], records: int) -> Fraction:
    """Return a bound of the rho of a unit that is replaced, rounded up.

    Parameters
    ----------
    below : iterable
        The moves of counts that a unit which comes or goes moves, where rises and falls add up.
    root : iterable
        The same of sums of all records, which move by the difference of rise and fall.
    records : int
        The most records of a unit.

    Returns
    -------
    Fraction
        A multiple of 10**-12.

    Notes
    -----
    A count that rises by x and falls by y moves by |x - y|, which costs at most as much as x and y apart: the rho of a
    count grows with its move. A sum of all records moves by at most `records`. A single record either counts on both
    sides, and moves no such sum, or on one side alone; of several the whole is at most the sum of both.
    """
    # Rises and falls of one unit are two sets of moves, so each of the counts below the root may move twice.
    both, sums = tuple((rate, move, 2 * times) for rate, move, times in below), tuple(root)
    if records > 1:
        return geometric_rho((*both, *sums))
    once = tuple((rate, move, times // 2) for rate, move, times in both)
    return max(geometric_rho(both), geometric_rho((*once, *sums)))


def _kappa(rate: Fraction, move: int, precision: int) -> tuple[Fraction, Fraction] | None:
    """kappa(rate, move), enclosed; None where this precision cannot tell exp(-rate) from 1."""
    (low, high), (least, most) = exp_bounds(-rate, precision), exp_bounds(-rate * move, precision)
    if high >= 1 or most >= 1:
        return None
    if move == 1:  # (1 - a) / (1 - a^2) is 1 / (1 + a), and a / (1 + a) grows with a
        return rate * (1 - 2 * high / (1 + high)), rate * (1 - 2 * low / (1 + low))
    # a / (1 - a^2) grows with a, and 1 - a^k falls
    return (
        rate * (move - 2 * (1 - least) * high / (1 - high**2)),
        rate * (move - 2 * (1 - most) * low / (1 - low**2)),
    )


# ---------------------------------------------------------------- what a budget holds


@lru_cache(maxsize=4096)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho such that every rho-zCDP mechanism is (epsilon, delta)-DP, nearly the largest that is proved.

    Parameters
    ----------
    epsilon : Fraction
        Above 0.
    delta : Fraction
        Strictly between 0 and 1.

    Returns
    -------
    Fraction
        A multiple of 10**-12, rounded down; 0 where none above 0 is proved.

    Notes
    -----
    Every alpha > 1 proves rho = (epsilon - ln(1 / (alpha delta)) / (alpha - 1) - ln(1 - 1 / alpha)) / alpha [1]_. The
    alpha that is taken follows from epsilon and delta alone, so it is fixed before anything is asked, as a filter needs
    it; an alpha that depended on what was spent would prove nothing. Of this and the older rule, (sqrt(L + epsilon) -
    sqrt(L))**2 with L = ln(1 / delta) [2]_, the larger is taken: both hold.

    References
    ----------
    .. [1] Canonne, Kamath, Steinke (2020), Proposition 12 and Corollary 13.
    .. [2] Bun, Steinke (2016), Proposition 1.3.

    Examples
    --------
    >>> rho_within(Fraction(999, 1000), Fraction(1, 2 * 10**6))
    Fraction(22894466407, 1000000000000)
    """
    positive(epsilon, "epsilon"), probability(delta, "delta", zero=False)
    return max(rho_within_earlier(epsilon, delta), rho_at(order(epsilon, delta), epsilon, delta))


def rho_within_earlier(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho with rho + 2 sqrt(rho ln(1 / delta)) <= epsilon, rounded down to 10**-12.

    Parameters
    ----------
    epsilon : Fraction
        Above 0.
    delta : Fraction
        Strictly between 0 and 1.

    Returns
    -------
    Fraction
        (sqrt(L + epsilon) - sqrt(L))**2 with L = ln(1 / delta).

    Notes
    -----
    Every rho-zCDP mechanism is then (epsilon, delta)-DP: Bun, Steinke 2016, Proposition 1.3. Ledgers whose charter
    names no conversion go by it.
    """
    # The root of L + epsilon rounds down and that of L up, with one L above ln(1/delta): their difference falls with L,
    # so rho rounds down.
    log = log_bounds(1 / delta)[1]
    root = root_bounds(log + epsilon)[0] - root_bounds(log)[1]
    return floor_to(root**2, EPSILON_STEP) if root > 0 else Fraction(0)


def rho_at(alpha: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The rho that the order alpha > 1 proves to be within (epsilon, delta), rounded down to 10**-12; 0 at least."""
    # both logarithms are rounded up, so that what is left is rounded down
    beyond = log_bounds(1 / (alpha * delta))[1] / (alpha - 1) + log1p_bounds(-1 / alpha)[1]
    return max(Fraction(0), floor_to((epsilon - beyond) / alpha, EPSILON_STEP))


def order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """An order alpha at which nearly the largest rho is proved. MPFR rounds correctly, so every machine finds the same.

    The derivative of that rho has the sign of

        (ln(1 / delta) - ln(alpha)) (2 alpha - 1) / (alpha - 1)**2 + ln(1 - 1 / alpha) - epsilon,

    which is above 0 near alpha = 1 and below 0 at alpha = 1 / delta; alpha - 1 is bisected between powers of 2.
    """
    log = log_bounds(1 / delta)[0]

    def rises(more: Fraction) -> bool:
        alpha = 1 + more
        slope = (log - log_bounds(alpha)[0]) * (2 * alpha - 1) / more**2 - log1p_bounds(1 / more)[0]
        return slope > epsilon

    # Any alpha > 1 proves its own rho (Corollary 13), so an order that is slightly off costs accuracy and no privacy.
    high = Fraction(1)
    while rises(high):
        high *= 2
    while not rises(high / 2):
        high /= 2
    low = high / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) else (low, middle)
    return 1 + low
