"""The libraries behind the samplers divide rightly: quotient times divisor plus remainder is what was divided."""

from __future__ import annotations

from fractions import Fraction

import flint
import gmpy2

from dpviz.noise.bits import TeachingBits


def numbers(seed: int, rounds: int) -> list[tuple[int, int]]:
    """Random pairs up to 20,000 bits, dense ones and ones with long runs of zeros or ones."""
    bits = TeachingBits(seed)
    pairs = []
    for _ in range(rounds):
        lengths = 1 + bits.below(20_000), 1 + bits.below(20_000)
        a, b = (1 + bits.below(1 << length) for length in lengths)
        if bits.below(2):
            b = (1 << lengths[1]) - (bits.below(2) << (lengths[1] // 2)) - bits.below(2) * 2 + 1
        pairs.append((a, b))
    return pairs


def test_gmpy2_divides_rightly() -> None:
    for a, b in numbers(1, 300):
        quotient, remainder = gmpy2.f_divmod(gmpy2.mpz(a), gmpy2.mpz(b))
        assert (int(quotient), int(remainder)) == divmod(a, b)
        assert int(quotient) * b + int(remainder) == a
        assert int(gmpy2.mpz(a * b) // gmpy2.mpz(b)) == a
        assert Fraction(int(gmpy2.mpq(a, b).numerator), int(gmpy2.mpq(a, b).denominator)) == Fraction(a, b)


def test_flint_divides_rightly() -> None:
    for a, b in numbers(2, 300):
        quotient, remainder = divmod(flint.fmpz(a), flint.fmpz(b))
        assert (int(quotient), int(remainder)) == divmod(a, b)
        assert int(quotient) * b + int(remainder) == a
        assert int(flint.fmpz(a * b) // flint.fmpz(b)) == a
        assert Fraction(int(flint.fmpq(a, b).p), int(flint.fmpq(a, b).q)) == Fraction(a, b)


def test_powers_of_big_numbers_are_right() -> None:
    for a, _ in numbers(3, 40):
        for exponent in (2, 3, 17):
            assert int(gmpy2.mpz(a) ** exponent) == a**exponent == int(flint.fmpz(a) ** exponent)
