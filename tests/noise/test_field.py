"""Fields, primes and polynomials, against arithmetic written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import gmpy2
import pytest

from dpviz.errors import ParameterError
from dpviz.noise import field as fields
from dpviz.noise.bits import TeachingBits
from dpviz.noise.field import (
    MERSENNE,
    PROTH,
    BinaryField,
    Field,
    PrimeField,
    field_bits,
    field_named,
    field_of,
    is_proth_prime,
    levels,
    surely,
)

SMALL = [PrimeField(str(prime), prime) for prime in (2, 3, 5, 13, 97)] + [BinaryField(0), BinaryField(1)]
LARGE = {
    "evaluated at many points at once": field_of(1 << 304, "proth"),
    "a Mersenne prime, packed": field_of(1 << 2000, "mersenne"),
    "the smallest Mersenne prime that is packed": field_of(1 << 600, "mersenne"),
    "a Proth prime, packed": field_of(1 << 1500, "proth"),
    "the paper's field of 54 bits": BinaryField(3),
}


def times(field: Field, x: int, y: int) -> int:
    """The product, from the definition: modulo the prime, or carry-less modulo the paper's polynomial."""
    if isinstance(field, PrimeField):
        return x * y % field.order
    assert isinstance(field, BinaryField)
    product = 0
    for place in range(y.bit_length()):
        product ^= (x << place) if y >> place & 1 else 0
    modulus = 1 << field.bits | 1 << field.bits // 2 | 1
    while product.bit_length() > field.bits:
        product ^= modulus << product.bit_length() - field.bits - 1
    return product


def plus(field: Field, x: int, y: int) -> int:
    return (x + y) % field.order if isinstance(field, PrimeField) else x ^ y


def value_at(field: Field, coefficients: Sequence[int], x: int) -> int:
    value = 0
    for part in reversed(coefficients):
        value = plus(field, times(field, value, x), part)
    return value


def numbers(bound: int, count: int, seed: int) -> list[int]:
    bits = TeachingBits(seed)
    return [bits.below(bound) for _ in range(count)]


@pytest.mark.parametrize("field", SMALL, ids=lambda field: field.name)
def test_a_polynomial_has_its_values_at_every_point_of_a_small_field(field: Field) -> None:
    coefficients = numbers(field.order, 4, seed=1)
    every = list(range(field.order))
    assert field.evaluator(coefficients)(every) == [value_at(field, coefficients, x) for x in every]


@pytest.mark.parametrize("field", SMALL, ids=lambda field: field.name)
def test_interpolation_finds_the_one_polynomial_through_the_points(field: Field) -> None:
    for size in range(1, min(field.order, 6) + 1):
        coefficients = numbers(field.order, size, seed=size)
        points = list(range(field.order))[-size:]
        found = field.interpolate(points, [value_at(field, coefficients, x) for x in points])
        assert found + [0] * (size - len(found)) == coefficients


def test_every_polynomial_of_a_small_field_is_told_apart_by_its_values() -> None:
    field = BinaryField(0)
    seen = {tuple(field.interpolate([1, 3], [one, two])) for one in range(4) for two in range(4)}
    assert len(seen) == 16


@pytest.mark.parametrize("size", [1, 2, 7, 127, 128, 129, 300])
@pytest.mark.parametrize("name", LARGE)
def test_large_fields_agree_with_arithmetic_written_out(name: str, size: int) -> None:
    field = LARGE[name]
    if isinstance(field, BinaryField) and size > 129:
        size = 40
    coefficients = numbers(field.order, size, seed=2)
    widths = [min(field.order, 1 << width) for width in (64, 128, 200, 250)]
    points = [
        0,
        1,
        5,
        *(x for top in widths for x in (*numbers(top, 2, seed=3), top - 1)),
        *numbers(field.order, 3, seed=4),
    ]
    assert field.evaluator(coefficients)(points) == [value_at(field, coefficients, x) for x in points]
    assert field.evaluator(coefficients)(points[:2]) == [value_at(field, coefficients, x) for x in points[:2]]


@pytest.mark.parametrize("size", [2, 3, 33, 64, 100])
@pytest.mark.parametrize("name", LARGE)
def test_interpolation_over_large_fields_is_undone_by_evaluation(name: str, size: int) -> None:
    field = LARGE[name]
    points = sorted(set(numbers(min(field.order, 1 << 64), size, seed=5)))
    values = numbers(field.order, len(points), seed=6)
    found = field.interpolate(points, values)
    assert len(found) <= len(points)
    assert field.evaluator(found)(points) == values


def test_a_change_of_one_coefficient_shows() -> None:
    field, coefficients = LARGE["a Mersenne prime, packed"], numbers(1 << 2000, 300, seed=7)
    for place in (0, 127, 128, 299):
        changed = [part + (at == place) for at, part in enumerate(coefficients)]
        points = numbers(1 << 64, 3, seed=8)
        before, after = field.evaluator(coefficients)(points), field.evaluator(changed)(points)
        assert all(x != y for x, y in zip(before, after, strict=True))


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 100])
def test_interpolation_reports_as_many_steps_as_it_says_whatever_the_values(size: int) -> None:
    field = field_of(1 << 70, "auto")
    for seed in (1, 2):
        seen: list[int] = []
        field.interpolate(list(range(size)), numbers(field.order, size, seed), lambda seen=seen: seen.append(1))  # type: ignore[misc]
        assert len(seen) == levels(size)


def test_a_step_that_raises_ends_it() -> None:
    class Cancelled(Exception):
        pass

    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        field_of(1 << 70, "auto").interpolate([1, 2, 3], [4, 5, 6], stop)


# ---------------------------------------------------------------- primes


def test_proths_theorem_finds_every_prime_of_its_form_and_no_other() -> None:
    for m in range(2, 11):
        for k in range(1, 1 << m, 2):
            assert is_proth_prime(k, m) == gmpy2.is_prime((k << m) + 1)


def test_every_listed_proth_prime_is_proved_and_they_ascend() -> None:
    assert [pair for pair in PROTH if pair[0] % 2 == 0 or not is_proth_prime(*pair)] == []
    orders = [(k << m) + 1 for k, m in PROTH]
    assert orders == sorted(orders)


def test_every_listed_mersenne_number_passes_lucas_and_lehmer() -> None:
    def prime(w: int) -> bool:
        modulus, value = gmpy2.mpz(2) ** w - 1, gmpy2.mpz(4)
        for _ in range(w - 2):
            value = (value * value - 2) % modulus
        return bool(value == 0)

    assert [w for w in MERSENNE if not prime(w)] == []
    assert not prime(67) and not prime(2207), "a composite one would be found"


def test_the_papers_polynomials_are_irreducible() -> None:
    """x**(2**w) = x, and x**(2**(w/r)) - x has no common root for r = 2 and 3, the primes that divide w (Rabin)."""
    for level in range(5):
        field = BinaryField(level)
        fixed = frobenius(field, field.bits)
        assert fixed == 2
        for prime in {2} if level == 0 else {2, 3}:
            assert frobenius(field, field.bits // prime) != 2


def frobenius(field: BinaryField, times_: int) -> int:
    """x, squared so many times."""
    value = 2
    for _ in range(times_):
        value = times(field, value, value)
    return value


@pytest.mark.parametrize(
    "least", [2, 5, 1000, 2**16, 2**39 - 1, 2**40, 2**64, 3**40, 2**200 - 1, 2**304, 2**700 + 1], ids=int.bit_length
)
def test_the_prime_that_is_searched_for_is_the_first_of_its_form(least: int) -> None:
    found = field_of(least, "proth")
    assert found.order >= least and gmpy2.is_prime(found.order)
    assert field_bits(least, "proth") == (found.order - 1).bit_length()
    assert surely(least, "proth") <= found.order
    start = fields._start(least)
    step = 1 << fields._shift(start)
    first = 1 + step * max(1, -(-(start - 1) // step))
    assert not any(gmpy2.is_prime(number) for number in range(first, found.order, step))
    assert least == start or least.bit_length() > fields.SMALL


@pytest.mark.parametrize(
    "least", [100, 2**60, 2**61 - 1, 2**61, 2**1300, 2**1301, 2**4413, 2**9000, 2**16_698], ids=int.bit_length
)
def test_auto_takes_the_smaller_prime_field(least: int) -> None:
    orders = []
    for kind in ("mersenne", "proth"):
        if fields.holds(least, kind):  # type: ignore[arg-type]
            orders.append(field_of(least, kind).order)  # type: ignore[arg-type]
    auto = field_of(least, "auto").order
    assert auto >= least
    assert auto == min(orders) or least.bit_length() <= fields.SEARCHED
    assert field_bits(least, "auto") == (auto - 1).bit_length() and surely(least, "auto") <= auto


def test_the_papers_field_is_the_smallest_that_holds_enough() -> None:
    assert [field_of(2**w, "paper").name for w in (2, 3, 6, 7, 486, 487)] == [
        "GF(2^2)", "GF(2^6)", "GF(2^6)", "GF(2^18)", "GF(2^486)", "GF(2^1458)",
    ]  # fmt: skip


@pytest.mark.parametrize("field", [*LARGE.values(), *(BinaryField(level) for level in range(7)), field_of(7, "proth")])
def test_a_name_gives_the_field_back(field: Field) -> None:
    assert field_named(field.name) == field


@pytest.mark.parametrize(
    "name",
    ["", "2^11-1", "2^67-1", "2^061-1", "9*2^8+1", "18*2^6+1", "9*2^7 + 1", "GF(2^8)", "GF(2^4374)", "2^61-1 ",
     "300*2^3+1", f"{3**3000}*2^9+1", "3*2^20908+1", "7" * 9000, "-1*2^3+1", "0*2^4+1"],
    ids=lambda name: name[:20],
)  # fmt: skip
def test_what_is_no_field_is_refused(name: str) -> None:
    with pytest.raises(ParameterError):
        field_named(name)


@pytest.mark.parametrize(
    "call",
    [
        lambda: field_of(1 << 1459, "paper"),
        lambda: field_of(1 << 16_700, "auto"),
        lambda: field_of(1 << 16_700, "mersenne"),
        lambda: field_of(1 << 16_700, "proth"),
        lambda: field_of(100, "largest"),  # type: ignore[arg-type]
        lambda: BinaryField(7),
        lambda: is_proth_prime(9, 3),
    ],
)
def test_a_field_that_is_not_known_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        call()
