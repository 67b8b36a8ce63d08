"""The statement of one field element about one bin: Algorithm 8.5 of Balcer and Vadhan 2018, and its inverse.

A sampler takes a uniform integer in 1..d; an element of a field of d0 >= d elements gives a uniform integer u0 in
1..d0. Folding 1..d0 onto 1..d, monotonically and as evenly as can be, makes of u0 the noisy count of an empty bin.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import gmpy2

from dpviz.errors import ParameterError
from dpviz.exact import integer
from dpviz.noise.bits import Bits
from dpviz.noise.finite import FiniteSampler

ROOM = 128
"""A draw from an interval takes this many bits more than the field has, so that it is repeated with a chance below
2**-ROOM, whichever interval it is."""


def fold(u0: int, *, d0: int, d: int) -> int:
    """The integer in 1..d that u0 in 1..d0 stands for. With d0 = Q d + R the first R integers have Q + 1 each, the
    others Q.

    >>> [fold(u0, d0=8, d=3) for u0 in range(1, 9)]
    [1, 1, 1, 2, 2, 2, 3, 3]
    """
    integer(d, "d")
    integer(d0, "d0", least=d)
    integer(u0, "u0", most=d0)
    # Algorithm 8.5, in order: a larger element never stands for a smaller integer, so that a noisy count has an
    # interval.
    quotient, rest = divmod(d0, d)
    if u0 <= rest * (quotient + 1):
        return -(-u0 // (quotient + 1))
    return -(-(u0 - rest) // quotient)


def last(u: int, *, d0: int, d: int) -> int:
    """The greatest u0 in 0..d0 that stands for an integer of at most u, for u in 0..d."""
    quotient, rest = divmod(d0, d)
    return (quotient + 1) * u if u <= rest else quotient * u + rest


def within(length: int, drawn: int, width: int) -> int | None:
    """A uniform number in 0..length-1 from a uniform one in 0..2**width-1, or None where it must be drawn again.

    >>> [within(3, drawn, 3) for drawn in range(8)]
    [0, 1, 2, 0, 1, 2, None, None]
    """
    integer(length, "length", most=1 << width)
    return drawn % length if drawn < (1 << width) // length * length else None


@dataclass(frozen=True)
class EmptyBin:
    """Between the d0 elements of a field and the noisy counts 0..n of an empty bin.

    Element a is u0 = a + 1. The elements of the noisy count v are thresholds[v-1] <= a < thresholds[v], from 0 on.
    """

    sampler: FiniteSampler
    d0: int

    def __post_init__(self) -> None:
        if self.d0 < self.sampler.size:
            raise ParameterError.of(
                f"{self.d0.bit_length():,} bits",
                f"d0 must be at least d, of {self.sampler.size.bit_length():,} bits",
                "take a larger d0",
            )

    @cached_property
    def cumulative(self) -> list[int]:
        """How many of the integers 1..d give an empty bin a noisy count of at most v, for v in 0..n."""
        part = self.sampler
        n, p, q, d = part.n, gmpy2.mpz(part.p), gmpy2.mpz(part.q), gmpy2.mpz(part.size)
        # Balcer, Vadhan 2018, Algorithm 4.8 at a count of 0: F(v) = d - q^(v + 1) p^(n - 1 - v).
        if part.kind == "geosample":
            rest, found = q * p ** (n - 1), []
            for _ in range(n):
                found.append(int(d - rest))
                rest = rest * q // p
            return [*found, int(d)]
        assert part.g is not None and part.t is not None
        # Algorithm 4.11 at a count of 0.
        t, inner, beyond = part.t, (p + q) * p**part.t, q ** (part.t + 1)
        rest, found = q * p**t, []
        for v in range(n + 1):
            kept = inner - rest + beyond if v < min(t, n) else inner
            found.append(int((v + 1) * inner + (part.g - 1) * (n + 1) * kept))
            rest = rest * q // p if v < t else rest
        return found

    @cached_property
    def thresholds(self) -> list[int]:
        """How many elements give a noisy count of at most v, for v in 0..n: for drawing, and for reading many."""
        d, d0 = self.sampler.size, self.d0
        return [last(u, d0=d0, d=d) for u in self.cumulative]

    def _at_most(self, v: int) -> int:
        """One term of `cumulative`, without those before it."""
        part = self.sampler
        if v >= part.n:
            return part.size
        p, q = gmpy2.mpz(part.p), gmpy2.mpz(part.q)
        if part.kind == "geosample":
            return int(part.size - q ** (v + 1) * p ** (part.n - 1 - v))
        assert part.g is not None and part.t is not None
        inner = (p + q) * p**part.t
        kept = inner - q ** (v + 1) * p ** (part.t - v) + q ** (part.t + 1) if v < part.t else inner
        return int((v + 1) * inner + (part.g - 1) * (part.n + 1) * kept)

    def _sum(self, terms: int) -> int:
        """The sum of the first terms of `cumulative`: of geometric series, whose ratio is q/p."""
        part = self.sampler
        if terms > part.n:
            return self._sum(part.n) + part.size
        p, q = gmpy2.mpz(part.p), gmpy2.mpz(part.q)
        if part.kind == "geosample":
            falling = q * p ** (part.n - terms) * (p**terms - q**terms) // (p - q)
            return int(terms * gmpy2.mpz(part.size) - falling)
        assert part.g is not None and part.t is not None
        inner, short = (p + q) * p**part.t, min(part.t, terms)
        falling = q * p ** (part.t - short + 1) * (p**short - q**short) // (p - q) - short * q ** (part.t + 1)
        return int(terms * (terms + 1) // 2 * inner + (part.g - 1) * (part.n + 1) * (terms * inner - falling))

    def above(self, value: int) -> Fraction:
        """P0[h > value]: the chance that an empty bin shows more."""
        return 1 - Fraction(last(self._at_most(value), d0=self.d0, d=self.sampler.size), self.d0)

    @property
    def mean(self) -> Fraction:
        """The mean noisy count of an empty bin: the sum of P0[h > v].

        `last` adds u to Q u where u is at most R, and R beyond; up to which v that is takes a bisection.
        """
        size, n = self.sampler.size, self.sampler.n
        quotient, rest = divmod(self.d0, size)
        inside = bisect_right(range(n + 1), rest, key=self._at_most)
        thresholds = quotient * self._sum(n + 1) + self._sum(inside) + (n + 1 - inside) * rest
        return Fraction((n + 1) * self.d0 - thresholds, self.d0)

    def value(self, element: int) -> int:
        """The noisy count that an element stands for."""
        return bisect_left(self.thresholds, element + 1)

    def values(self, elements: list[int]) -> list[int]:
        tops = self.thresholds
        return [bisect_left(tops, element + 1) for element in elements]

    def interval(self, value: int) -> tuple[int, int]:
        """The elements of a noisy count: the first, and how many there are."""
        first = self.thresholds[value - 1] if value else 0
        return first, self.thresholds[value] - first

    @property
    def width(self) -> int:
        """How many random bits one draw from an interval takes: the same for every interval."""
        return -(-(self.d0.bit_length() + ROOM) // 8) * 8

    def element(self, value: int | None, bits: Bits) -> int:
        """A uniform element among those of a noisy count, or among all where `value` is None. Exactly uniform.

        The bits are drawn from one range that holds all intervals many times over. A value that does not fit is drawn
        again, with a chance below 2**-ROOM whatever the value is: so much, at most, can the number of draws tell.
        """
        first, length = (0, self.d0) if value is None else self.interval(value)
        while True:
            found = within(length, int.from_bytes(bits.take(self.width // 8), "little"), self.width)
            if found is not None:
                return first + found

    def chance(self, value: int) -> Fraction:
        """P0(value): the probability of a noisy count where the element is uniform."""
        return Fraction(self.interval(value)[1], self.d0)

    @property
    def odds(self) -> Fraction:
        """(Q + 1)/Q for Q = d0 // d, a bound on max P0/P times max P/P0, P being the sampler's own law.

        A noisy count of m integers has Q m to (Q + 1) m elements, so P0/P lies between Q d/d0 and (Q + 1) d/d0.
        """
        quotient = self.d0 // self.sampler.size
        return Fraction(quotient + 1, quotient)
