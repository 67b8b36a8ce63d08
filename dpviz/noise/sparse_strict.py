"""The paper's sparse histogram, literally: every step is a function of uniform integers and nothing else.

A step that needs randomness takes `uniform`, which gives the next uniform integer of 1..d when called with d; each says
how many it takes. Labels are bin numbers 0..size-1. Counts lie in 0..n, and `F` is the cumulative distribution of one
empty bin's noisy count in whole numbers: F[v] of F[n] draws are at most v.

Source: Balcer, Vadhan 2018, Algorithms 6.1, 6.7, 6.9, 6.16, 6.18, 6.20, 6.21 and A.3.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import gmpy2

from dpviz.errors import ParameterError
from dpviz.exact import integer
from dpviz.noise.finite import geosample, geosample_size

Uniform = Callable[[int], int]


def empty_law(n: int, p: int, q: int) -> list[int]:
    """F(0), ..., F(n): GeoSample's cumulative distribution at a count of 0.

    >>> empty_law(2, 2, 1)
    [4, 5, 6]
    """
    d, power_p, power_q = gmpy2.mpz(geosample_size(n, p, q)), gmpy2.mpz(p) ** (n - 1), gmpy2.mpz(q)
    below = []
    for _ in range(n):
        # F(v) = d - q^(v+1) p^(n-1-v), as GeoSample has it at a count of 0.
        below.append(int(d - power_q * power_p))
        power_p, power_q = power_p // p, power_q * q
    return [*below, int(d)]


def keep_heavy(noisy: Mapping[int, int], n: int) -> dict[int, int]:
    """The labels whose noisy count lies strictly above the (n + 1)-st largest, ascending (Algorithm 6.1).

    >>> keep_heavy({4: 3, 1: 5, 9: 3, 2: 1}, 2)
    {1: 5}
    """
    ranked = sorted(noisy.values(), reverse=True)
    if len(ranked) <= n:
        raise ParameterError.of(
            len(ranked), f"KeepHeavy needs more than n = {n} noisy counts", f"give at least {n + 1} noisy counts"
        )
    # Strictly above, so ties with the (n + 1)-st largest are left out and at most n labels are shown.
    return {label: noisy[label] for label in sorted(noisy) if noisy[label] > ranked[n]}


def distinct_sample(count: int, taken: Iterable[int], size: int, uniform: Uniform) -> list[int]:
    """`count` different labels outside `taken`, in the order drawn (Algorithm A.3). One integer for each.

    >>> distinct_sample(3, [1], 5, lambda d: 1)
    [0, 2, 3]
    """
    blocked, drawn = sorted(taken), []
    for _ in range(count):
        rank = uniform(size - len(blocked)) - 1
        # blocked[i] - i labels below blocked[i] are free: this finds the free label of this rank.
        below = bisect_right(range(len(blocked)), rank, key=lambda i: blocked[i] - i)
        label = rank + below
        drawn.append(label)
        insort(blocked, label)
    return drawn


# ---------------------------------------------------------------- order statistics


def ord_sample(F: Sequence[int], trials: int, count: int, uniform: Uniform) -> list[int]:
    """The `count` largest of `trials` draws from F, descending, exactly (Algorithm 6.7).

    Level by level from the top, a binomial number of the draws left reach the value. One integer for each level that
    is tried, with as many bits as `trials` times those of F: for small domains only.
    """

    def binomial(left: int, num: int, den: int, most: int) -> int:
        # Bin(left, num/den) by inversion, in units of den**-left.
        u, passed = uniform(den**left), 0
        for k in range(most):
            passed += math.comb(left, k) * num**k * (den - num) ** (left - k)
            if passed >= u:
                return k
        return most

    return _descend(F, trials, count, binomial)


def approx_ord_sample(F: Sequence[int], trials: int, count: int, s: int, uniform: Uniform) -> list[int]:
    """The `count` largest of `trials` draws from F, descending, nearly (Algorithm 6.20).

    Off by at most trials (n**2 + 2n) / s in total variation, for count = n + 1. One integer of 1..s for each level that
    is tried.
    """
    return _descend(
        F, trials, count, lambda left, num, den, most: approx_bin_sample(uniform(s), left, num, den, most, s)
    )


def _descend(F: Sequence[int], trials: int, count: int, draw: Callable[[int, int, int, int], int]) -> list[int]:
    found: list[int] = []
    for value in range(len(F) - 1, 0, -1):
        wanted = count - len(found)
        if wanted == 0:
            break
        more = draw(trials - len(found), F[value] - F[value - 1], F[value], wanted)
        found += [value] * more
    return found + [0] * (count - len(found))


def approx_conv_exp(a: Sequence[int], times: int, s: int) -> list[int]:
    """The first len(a) terms of a law's convolution with itself, `times` in all, in units of 1/s (Algorithm 6.16).

    By repeated squaring, with one rounding down for each: off by at most (len(a)/s)(times - 1) in L1.

    >>> approx_conv_exp([8, 8], 3, 16)
    [2, 6]
    """
    from flint import fmpz_poly

    integer(times, "times")
    length = len(a)
    base = fmpz_poly([int(part) for part in a])

    def floor(poly: Any, power: int) -> Any:
        """Every coefficient divided by s**power and rounded down."""
        parts = poly.coeffs()
        if s & (s - 1) == 0:
            return fmpz_poly([part >> power * (s.bit_length() - 1) for part in parts])
        return fmpz_poly([part // s**power for part in parts])

    found = base
    for digit in bin(times)[3:]:
        # Square, and multiply by the base where the binary digit is 1.
        square = found.mul_low(found, length)
        found = floor(square, 1) if digit == "0" else floor(square.mul_low(base, length), 2)
    terms = [int(part) for part in found.coeffs()]
    return terms + [0] * (length - len(terms))


def approx_bin_sample(u: int, trials: int, num: int, den: int, most: int, s: int) -> int:
    """min(Bin(trials, num/den), most), nearly, from one uniform integer u in 1..s (Algorithm 6.18).

    Off by at most (trials (most + 1) - most) / s in total variation; s is at least `trials`.

    >>> [approx_bin_sample(u, 3, 1, 2, 2, 16) for u in range(1, 17)].count(1)
    6
    """
    if most == 0 or trials == 0:
        return 0
    if s < trials:
        raise ParameterError.of(s, f"s must be at least the number of trials, {trials}", f"give s={trials} or more")
    # The probability of success is rounded down to a multiple of 1/s, and failure gets the rest.
    success = s * num // den
    terms = 1
    passed, known = 0, 0
    # Twice as many terms each time, for most draws are small.
    while terms < 2 * most:
        law = approx_conv_exp([s - success, success, *[0] * terms][:terms], trials, s)
        for k in range(known, terms):
            passed += law[k]
            if passed >= u:
                return min(k, most)
        known, terms = terms, 2 * terms
    return most


# ---------------------------------------------------------------- histograms


def sparse_histogram(
    counts: Mapping[int, int], *, n: int, size: int, p: int, q: int, s: int, uniform: Uniform
) -> dict[int, int]:
    """KeepHeavy over the occupied bins and n + 1 empty ones, whose counts are order statistics (Algorithm 6.21).

    `counts` are the bins that are not empty, each clamped to n. Off from KeepHeavy by at most size (n**2 + 2n) / s.
    """
    occupied = {label: min(max(count, 0), n) for label, count in sorted(counts.items())}
    d = geosample_size(n, p, q)
    noisy = {label: geosample(count, uniform(d), n=n, p=p, q=q) for label, count in occupied.items()}
    empty = size - len(occupied)
    # KeepHeavy looks at no bin past the (n + 1)-st largest, so n + 1 empty bins suffice.
    rivals = min(n + 1, empty)
    added = distinct_sample(rivals, occupied, size, uniform)
    values = approx_ord_sample(empty_law(n, p, q), empty, rivals, s, uniform)
    return keep_heavy(noisy | dict(zip(added, values, strict=True)), n)


def junk(n: int, size: int, uniform: Uniform) -> dict[int, int]:
    """A histogram from nothing: n labels with replacement, each with a count of 0..n, zeros dropped. 2n integers.

    The first count of a label stands. Every histogram of at most n bins has a chance of at least n!/((n+1) size)**n.
    """
    labels = [uniform(size) - 1 for _ in range(n)]
    values = [uniform(n + 1) - 1 for _ in range(n)]
    drawn: dict[int, int] = {}
    for label, value in zip(labels, values, strict=True):
        drawn.setdefault(label, value)
    return {label: drawn[label] for label in sorted(drawn) if drawn[label]}


def least_junk(n: int, size: int) -> Fraction:
    """The least chance under `junk` of every histogram of at most n bins, counts 1..n."""
    return Fraction(math.factorial(n), ((n + 1) * size) ** n)


def resolution(n: int, size: int, delta: Fraction) -> int:
    """s: a power of two for which SparseHistogram is within delta of KeepHeavy."""
    return 1 << (math.ceil((n * n + 2 * n) * size / delta) - 1).bit_length()


def pure_sparse_histogram(
    counts: Mapping[int, int], *, n: int, size: int, p: int, q: int, s: int, g: int, uniform: Uniform
) -> dict[int, int]:
    """SparseHistogram, or junk with chance 1/g, which makes it pure (Algorithm 6.9)."""
    if uniform(g) == 1:
        return junk(n, size, uniform)
    return sparse_histogram(counts, n=n, size=size, p=p, q=q, s=s, uniform=uniform)


def work(n: int, size: int, s: int) -> int:
    """About how many bit operations the convolutions of one histogram take: bits of s, terms, and squarings."""
    return n * s.bit_length() * size.bit_length()
