"""A bit drawn with the mean of n bits, kept between a level and one minus it: what it tells, and how far off it is.

There is no noise: the coin that is flipped is what protects. Two draws cost twice.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Section 6, Theorems 6.1 and 6.4; what is exact is derived here.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache

import gmpy2

from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, exp_bounds, log_bounds, log_up, positive, text, whole

QUARTER = Fraction(1, 4)

EXACT_COLUMNS = 64
"""The worst of all neighbouring pairs is searched for so many columns at most: the work grows with their cube."""


def bit_chance(t: int, n: int, level: Fraction = QUARTER) -> Fraction:
    """The chance of a 1 where t of n bits are 1: t / n, moved into level..1 - level.

    >>> [str(bit_chance(t, 8)) for t in range(9)]
    ['1/4', '1/4', '1/4', '3/8', '1/2', '5/8', '3/4', '3/4', '3/4']
    """
    whole(n, "n")
    check_level(level)
    if not 0 <= whole(t, "t", least=0) <= n:
        raise ParameterError.of(t, f"of {n:,} bits, 0 to {n:,} are 1", f"give a number of bits from 0 to {n:,}")
    return min(max(Fraction(t, n), level), 1 - level)


def check_level(level: Fraction) -> Fraction:
    if not 0 < level < Fraction(1, 2):
        raise ParameterError.of(text(level), "a level lies strictly between 0 and 1/2", "give a level like 1/10")
    return level


@lru_cache(maxsize=1024)
def ratio(n: int, level: Fraction = QUARTER) -> Fraction:
    """The largest ratio of the chances of a bit between neighbours that differ in one of n bits: exp(epsilon), exactly.

    Chances of 1 and of 0 mirror each other, and the ratio is largest at the lowest step out of the level: with
    g = ceil(level n) it is max(g / (level n), (g + 1) / g), where g and g + 1 both lie within the level.

    >>> str(ratio(100)), str(ratio(1))
    ('26/25', '3')
    """
    # Chances of 0 mirror those of 1, so the lowest steps suffice.
    return max(high / low for low, high in itertools.pairwise(_lowest(n, level)))


def move(n: int, level: Fraction = QUARTER) -> Fraction:
    """By how much the chance of a bit moves between neighbours, at most: 1 / n where two means lie within the level.

    >>> str(move(100)), str(move(1))
    ('1/100', '1/2')
    """
    return max(high - low for low, high in itertools.pairwise(_lowest(n, level)))


def _lowest(n: int, level: Fraction) -> list[Fraction]:
    """The chances around the lowest step out of the level: the largest moves are among them, or mirror them."""
    check_level(level)
    g = math.ceil(level * whole(n, "n"))
    return [bit_chance(t, n, level) for t in range(max(0, g - 1), min(n, g + 1) + 1)]


def epsilon(n: int, step: Fraction, level: Fraction = QUARTER) -> Fraction:
    """The price of a bit, ln of `ratio`, rounded up to whole steps."""
    return log_up(ratio(n, level), step)


def paper_epsilon(n: int) -> Fraction:
    """The paper's price at the level 1/4: 4 / n. Source: Theorem 6.1."""
    return Fraction(4, whole(n, "n"))


def records_for(target: Fraction) -> int:
    """The number of bits that suffices for a price of `target` at the level 1/4: 4 ceil(1 / (exp(target) - 1)).

    >>> records_for(Fraction(1, 25))
    100
    """
    low = exp_bounds(positive(target, "epsilon"))[0]
    # At the level 1/4 and n divisible by 4 the worst ratio is (n/4 + 1) / (n/4) = 1 + 4 / n.
    return 4 * math.ceil(1 / (low - 1))


def zcdp(n: int, step: Fraction, level: Fraction = QUARTER) -> Fraction:
    """rho of a bit, rounded up to whole steps: eta**2 / 8, eta the largest difference of the logits of neighbours.

    The loss of either outcome lies in an interval of length eta (the difference of the two log-ratios), and a loss in
    an interval of length eta is (eta**2 / 8)-zCDP.
    """
    # A loss in an interval of length eta is (eta^2 / 8)-zCDP (Cesar, Rogers 2021).
    return ceil_to(log_bounds(odds_ratio(n, level))[1] ** 2 / 8, step)


@lru_cache(maxsize=1024)
def odds_ratio(n: int, level: Fraction = QUARTER) -> Fraction:
    """The largest ratio of the odds of a bit between neighbours: exp(eta), eta as in `zcdp`."""
    n = whole(n, "n")
    first, last = math.floor(level * n), math.ceil((1 - level) * n)
    worst = Fraction(1)
    for t in {first, first + 1, max(first, last - 2), max(first, last - 1)}:
        if 0 <= t < n:
            low, high = bit_chance(t, n, level), bit_chance(t + 1, n, level)
            worst = max(worst, high * (1 - low) / (low * (1 - high)))
    return worst


def paper_zcdp(n: int, columns: int = 1) -> Fraction:
    """The paper's rho of `columns` bits of n records each: 8 d / n**2. Source: Theorem 6.4."""
    return Fraction(8 * whole(columns, "columns"), whole(n, "n") ** 2)


def error(p: Fraction, n: int, level: Fraction = QUARTER) -> Fraction:
    """|mean of the bit - p| for n independent bits that are 1 with chance p: its total variation distance, exactly.

    >>> error(Fraction(1, 2), 12), round(float(error(Fraction(1, 3), 24)), 6)
    (Fraction(0, 1), 0.0093)
    """
    if not 0 <= p <= 1:
        raise ParameterError.of(text(p), "a chance lies between 0 and 1", "give a chance like 1/10")
    chances = (math.comb(n, t) * p**t * (1 - p) ** (n - t) * bit_chance(t, n, level) for t in range(whole(n, "n") + 1))
    return abs(sum(chances, Fraction(0)) - p)


def error_bound(n: int) -> float:
    """Above `error` for biases between 1/3 and 2/3 at the level 1/4: (3 / n) exp(-n / 72), in floating point."""
    return 3 / whole(n, "n") * math.exp(-n / 72)


def paper_records(alpha: Fraction, columns: int = 1) -> int:
    """The number of records that suffices by the paper for a distance of alpha: 72 ln(6 d / alpha). Source: Theorems
    6.1, 6.4."""
    return math.ceil(72 * log_bounds(6 * whole(columns, "columns") / positive(alpha, "alpha"))[1])


# ---------------------------------------------------------------- where a row comes or goes


def padded_chance(t: int, n: int, least: int, level: Fraction = QUARTER) -> Fraction:
    """The chance of a 1 where t of n bits are 1 and, where n < least, made-up halves fill up to `least`.

    >>> [str(padded_chance(0, n, 4)) for n in (0, 1, 2, 3, 4)]
    ['1/2', '3/8', '1/4', '1/4', '1/4']
    """
    if not 0 <= whole(t, "t", least=0) <= whole(n, "n", least=0):
        raise ParameterError.of(t, f"of {n:,} bits, 0 to {n:,} are 1", f"give 0 to {n:,}")
    every = max(n, whole(least, "least"))
    # (t + (m - n) / 2) / m: missing bits count as halves.
    return min(max(Fraction(2 * t + every - n, 2 * every), check_level(level)), 1 - level)


def added_move(least: int, level: Fraction = QUARTER) -> Fraction:
    """By how much `padded_chance` moves, at most, where a bit comes or goes; from the level, where it is worst.

    Let m = least, and F(t, n) the chance. Exchanging ones and zeros turns F into 1 - F, so let a 1 come.
    With n >= m bits the mean goes from t / n up to (t + 1) / (n + 1). From t >= level n that is (n - t) / (n (n + 1)),
    at most (1 - level) / (n + 1); from below, F starts at the level and ends below (level n + 1) / (n + 1), which is
    (1 - level) / (n + 1) higher. It falls with n, so n = m is worst.
    With n < m it goes from (2t + m - n) / 2m up by 1 / 2m: a half is replaced by a 1.
    Hence with s the larger of both (and 1 - 2 level, which no chance can exceed) F moves by s at most. It starts at the
    level or above, so a chance grows by a factor of at most (level + s) / level; its complement ends at the level or
    above, so it shrinks by no more. The odds of a 1 grow the most at an end, too: by (level + s) (1 - level) /
    (level (1 - level - s)), for t -> t + 1 of n bits multiplies them by (t + 1) / t, and of a fixed move the logit
    moves most at the ends. All three are met at n = m where level m is whole and m (1 - 2 level) >= 1.

    The number of bits is in the chance and nowhere else, so no noisy number of them is needed, and none is paid for.

    >>> str(added_move(7)), str(added_move(1))
    ('3/32', '1/2')
    """
    m = whole(least, "least")
    check_level(level)
    # The first is a bit that comes at n >= m, the second a half that becomes a bit at n < m.
    return min(max((1 - level) / (m + 1), Fraction(1, 2 * m)), 1 - 2 * level)


def added_ratio(least: int, level: Fraction = QUARTER) -> Fraction:
    """The largest ratio of the chances of a bit where a bit comes or goes: exp(epsilon). See `added_move`.

    >>> str(added_ratio(7)), str(added_ratio(39))
    ('11/8', '43/40')
    """
    return 1 + added_move(least, level) / level


def added_odds_ratio(least: int, level: Fraction = QUARTER) -> Fraction:
    """The largest ratio of the odds of a bit where a bit comes or goes. See `added_move`."""
    top = level + added_move(least, level)
    return top * (1 - level) / (level * (1 - top))


# ---------------------------------------------------------------- several columns and a delta


def product_delta(columns: int, one: Fraction, epsilon: Fraction, step: Fraction | None = None) -> Fraction:
    """The least delta at `epsilon` for so many independent bits, whatever each of them does; rounded up.

    one   the worst ratio of the chances of an outcome of one bit, between neighbours
    step  by how much its chance moves at most; None: as far as the ratio allows, which is randomised response

    A pair of chances (q, p) of a bit with p <= one q, 1 - q <= one (1 - p) and p <= q + step lies in the polygon of (0,
    0), (1, 1), the corner V = (step / (one - 1), one step / (one - 1)), and its mirror V' = (1 - p, 1 - q) of the same
    bit with the neighbours exchanged. The amount that (q, p) adds to delta, all other columns given, is a sum of maxima
    of affine functions, so it is convex, and largest at a corner: some columns at V and all others at V'. Hence delta
    is the largest, over k, of the hockey-stick divergence of k columns at V and the rest at V'. It is met where V is a
    pair that the bit has; for means of n bits wherever level n is whole. With V = V' it is sum over l of C(d, l) max(0,
    one**l - exp(epsilon) one**(d - l)) / (1 + one)**d, which d randomised responses meet (Kairouz, Oh, Viswanath 2015,
    Theorem 3.3).

    >>> float(product_delta(1, Fraction(26, 25), Fraction(0), Fraction(1, 100)))
    0.01
    """
    low = exp_bounds(epsilon, 256)[0] if epsilon else Fraction(1)
    events, parts = _tails(columns, one, step)
    # Hockey-stick divergence: the largest Pr[E] - e^epsilon Pr'[E] over the events that may be the worst.
    excess = max(first * low.denominator - other * low.numerator for first, other in events)
    return Fraction(max(0, excess), parts * low.denominator)


def product_epsilon(columns: int, one: Fraction, step: Fraction, delta: Fraction, grid: Fraction) -> Fraction:
    """The least epsilon with `product_delta` at most delta, rounded up to whole steps of `grid`.

    delta is the largest of first - exp(epsilon) other over finitely many events, so exp(epsilon) is the largest of
    (first - delta) / other: a fraction, found without trying any epsilon.

    >>> str(product_epsilon(8, Fraction(26, 25), Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 1000)))
    '34/125'
    """
    events, parts = _tails(columns, one, step)
    top, bottom, missing, near = 0, 1, delta.numerator * parts, 0.0
    for first, other in events:
        over, under = first * delta.denominator - missing, other * delta.denominator
        told = under > 0 and over.bit_length() - under.bit_length() < 1000  # as a float, which keeps the order: it is
        if told and over / under < near:  # rounded correctly. Most events are passed over by this alone
            continue
        if over * bottom > top * under:
            top, bottom, near = over, under, over / under if told else 2.0**999
    return log_up(Fraction(top, bottom), grid) if top > bottom else Fraction(0)


@lru_cache(maxsize=64)
def _tails(columns: int, one: Fraction, step: Fraction | None) -> tuple[list[tuple[int, int]], int]:
    """The chances of every event that may be the worst, on a table and on its neighbour, and of how many parts they
    are.

    With k columns at V = (q, p), outcomes are ordered by how often a column at V shows a 1 or one at V' shows a 1: the
    ratio of their chances grows with this number, so the worst events are those where it is large.
    """
    d = whole(columns, "columns", most=EXACT_COLUMNS)
    if one < 1 or (step is not None and not 0 <= step <= (one - 1) / (one + 1)):
        raise ParameterError.of(
            f"{text(one)}, {text(step or Fraction(0))}",
            "a ratio is at least 1, and bounds how far a chance moves",
            "give a ratio of at least 1 and a shorter step",
        )
    if one == 1 or step == 0:
        return [(1, 1)], 1
    # The corner V of the polygon; randomised response where the step is as long as the ratio allows.
    q = ((one - 1) / (one + 1) if step is None else step) / (one - 1)
    every = math.lcm(q.denominator, (q * one).denominator)
    b, a = int(q * every), int(q * one * every)
    found: list[tuple[int, int]] = []
    for k in [d] if a + b == every else range(d + 1):
        first = _joined(_binomial(k, a, every - a), _binomial(d - k, every - b, b))
        other = _joined(_binomial(k, b, every - b), _binomial(d - k, every - a, a))
        found += zip(itertools.accumulate(reversed(first)), itertools.accumulate(reversed(other)), strict=True)
    return found, every**d


def _binomial(many: int, hit: int, miss: int) -> list[int]:
    """The weight of each number of hits."""
    return [math.comb(many, hits) * hit**hits * miss ** (many - hits) for hits in range(many + 1)]


def _joined(one: list[int], other: list[int]) -> list[int]:
    """The weights of the sum of two numbers: one product of whole numbers, of which each weight is a digit."""
    size = (max(one).bit_length() + max(other).bit_length() + len(one).bit_length()) // 8 + 1
    factors = [
        gmpy2.mpz(int.from_bytes(b"".join(weight.to_bytes(size, "little") for weight in weights), "little"))
        for weights in (one, other)
    ]
    many = len(one) + len(other) - 1
    digits = int(factors[0] * factors[1]).to_bytes(size * many, "little")
    return [int.from_bytes(digits[at : at + size], "little") for at in range(0, len(digits), size)]
