"""Finite fields as large as somebody needs, their elements written as the whole numbers 0..order-1, and polynomials.

A prime field is a Mersenne prime from the list, a Proth prime from a list, or the first Proth prime above a size, found
and proved. The binary fields are those of Lemma 8.1. Polynomials are lists of coefficients, the constant one first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol

import gmpy2
import numpy as np

from dpviz.errors import ParameterError
from dpviz.exact import integer

FieldKind = Literal["auto", "mersenne", "proth", "paper"]
Step = Callable[[], None]
"""Called after each level of a tree; may raise to cancel."""

MERSENNE = (61, 89, 107, 127, 521, 607, 1279, 2203, 2281, 3217, 4253, 4423, 9689, 9941, 11213)
"""2**w - 1 is prime for these w."""

PROTH = (
    (9, 1305), (9, 1411), (9, 1494), (15, 1518), (21, 1532), (21, 1613), (7, 1804), (5, 1947), (21, 1969), (3, 2208),
    (21, 2245), (7, 2256), (9, 2297), (21, 2733), (15, 2808), (3, 2816), (9, 2826), (15, 2875), (15, 3128), (3, 3168),
    (3, 3189), (11, 3225), (9, 3230), (5, 3313), (9, 3354), (9, 3417), (9, 3690), (15, 3888), (3, 3912), (15, 4410),
    (11, 4543), (21, 4585), (21, 4644), (5, 4687), (9, 4842), (9, 5802), (5, 5947), (7, 6614), (15, 6804), (9, 6937),
    (15, 7050), (15, 7392), (9, 7967), (9, 9431), (11, 10179), (5, 13165), (7, 13496), (9, 13903), (7, 15494),
    (7, 16696),
)  # fmt: skip
"""k * 2**m + 1 is prime for these (k, m), ascending: above SEARCHED bits a search would take seconds."""

LARGEST = PROTH[-1][0].bit_length() + PROTH[-1][1]
"""No field here has elements of more bits."""

SEARCHED = 1_300
"""Up to this many bits a prime is searched for."""

SMALL = 40
"""Up to this many bits a search is too short to tell about."""

WITNESSES = tuple(a for a in range(3, 400, 2) if gmpy2.is_prime(a))
SIEVE = np.array([prime for prime in range(3, 20_000, 2) if gmpy2.is_prime(prime)])
WINDOW = 1 << 13

BINARY = 6
"""The paper's fields GF(2**(2 * 3**l)) are offered up to this l."""

GROUP = 1_000
"""Points that are evaluated at once."""

PACKED = 600
"""From this many bits on, Horner's rule on packed coefficients is faster than evaluation at many points at once."""


class Field(Protocol):
    """A finite field and what polynomials over it can do."""

    @property
    def name(self) -> str: ...

    @property
    def order(self) -> int: ...

    def interpolate(self, points: Sequence[int], values: Sequence[int], step: Step | None = None) -> list[int]:
        """The coefficients of the polynomial of least degree with these values at these different points."""
        ...

    def evaluator(self, coefficients: Sequence[int]) -> Callable[[Sequence[int]], list[int]]:
        """From points to the polynomial's values there."""
        ...


# ---------------------------------------------------------------- which field


def field_of(least: int, kind: FieldKind) -> Field:
    """The smallest field of this kind with at least `least` elements. Raises ParameterError where there is none.

    >>> field_of(1000, "proth").name, field_of(1000, "mersenne").name, field_of(1000, "paper").name
    ('9*2^7+1', '2^61-1', 'GF(2^18)')
    """
    return _field_of(least, _kind(least, kind))


def field_bits(least: int, kind: FieldKind) -> int:
    """The bits of one element of `field_of(least, kind)`, without looking for it."""
    made = _kind(least, kind)
    if made == "proth" and SMALL < least.bit_length() <= SEARCHED:
        return _start(least).bit_length()
    return (_field_of(least, made).order - 1).bit_length()


def holds(least: int, kind: FieldKind) -> bool:
    """Whether there is such a field."""
    try:
        field_bits(least, kind)
    except ParameterError:
        return False
    return True


def largest(kind: FieldKind) -> int:
    """The most bits that an element of such a field can have."""
    top: dict[str, int] = {"paper": 2 * 3**BINARY, "mersenne": MERSENNE[-1]}
    return top.get(kind, LARGEST)


def surely(least: int, kind: FieldKind) -> int:
    """A number of elements that `field_of(least, kind)` has at the least, without looking for it."""
    made = _kind(least, kind)
    return least if made == "proth" and least.bit_length() <= SEARCHED else _field_of(least, made).order


def field_named(name: str) -> Field:
    """The field that `name` writes; refuses what is no field, or is not in its only form."""
    if found := re.fullmatch(r"2\^([1-9][0-9]{0,5})-1", name):
        if int(found[1]) in MERSENNE:
            return PrimeField(name, 2 ** int(found[1]) - 1)
    elif found := re.fullmatch(r"GF\(2\^([1-9][0-9]{0,3})\)", name):
        for level in range(BINARY + 1):
            if int(found[1]) == 2 * 3**level:
                return BinaryField(level)
    elif found := re.fullmatch(rf"([1-9][0-9]{{0,{SEARCHED}}})\*2\^([1-9][0-9]{{0,5}})\+1", name):
        k, m = int(found[1]), int(found[2])
        if (k, m) in PROTH or (k % 2 and k.bit_length() + m <= SEARCHED and is_proth_prime(k, m)):
            return _proth(k, m)
    raise ParameterError.of(
        name, "a field must be a known Mersenne prime, a proved Proth prime, or GF(2^(2*3^l))", 'write field="auto"'
    )


def _kind(least: int, kind: FieldKind) -> Literal["mersenne", "proth", "paper"]:
    if kind not in ("auto", "mersenne", "proth", "paper"):
        raise ParameterError.of(kind, 'field must be "auto", "mersenne", "proth" or "paper"', 'write field="auto"')
    if kind != "auto":
        return kind
    if least.bit_length() <= SEARCHED:
        return "proth"
    mersenne, proth = _mersenne(least), _listed(least)
    if mersenne is None or (proth is not None and proth.order < mersenne.order):
        return "proth"
    return "mersenne"


@lru_cache(maxsize=128)
def _field_of(least: int, kind: Literal["mersenne", "proth", "paper"]) -> Field:
    found: Field | None
    if kind == "paper":
        found = next((BinaryField(level) for level in range(BINARY + 1) if 2 ** (2 * 3**level) >= least), None)
    elif kind == "mersenne":
        found = _mersenne(least)
    else:
        found = _proth(*_search(least)) if least.bit_length() <= SEARCHED else _listed(least)
    if found is None:
        raise ParameterError.of(
            f"{least.bit_length():,} bits",
            f'no field="{kind}" is known that large',
            'use field="auto", a larger epsilon, or a smaller n',
        )
    return found


def _mersenne(least: int) -> PrimeField | None:
    return next((PrimeField(f"2^{w}-1", 2**w - 1) for w in MERSENNE if 2**w - 1 >= least), None)


def _listed(least: int) -> PrimeField | None:
    return next((_proth(k, m) for k, m in PROTH if (k << m) + 1 >= least), None)


def _proth(k: int, m: int) -> PrimeField:
    return PrimeField(f"{k}*2^{m}+1", (k << m) + 1)


def is_proth_prime(k: int, m: int) -> bool:
    """Whether k * 2**m + 1 is proved prime: k < 2**m, and a**((N-1)/2) = -1 modulo N for some a (Proth 1878)."""
    number = (gmpy2.mpz(k) << m) + 1
    if k >= 1 << m:
        raise ParameterError.of(f"{k}*2^{m}+1", "Proth's theorem needs k < 2^m", "take a smaller k, or a larger m")
    # Proth 1878: k < 2^m and a^((N-1)/2) = -1 modulo N prove N = k 2^m + 1 prime; a non-residue is the one to try.
    for a in WITNESSES:
        if a < number and gmpy2.jacobi(a, number) == -1:
            return bool(gmpy2.powmod(a, (number - 1) // 2, number) == number - 1)
    return False


def _start(least: int) -> int:
    """Where the search for a Proth prime begins: `least`, or the next power of 2 where that is closer than a search
    may go, so that the bits of the prime are known beforehand."""
    reach = 64 * WINDOW << _shift(least)
    return (
        least if (least + reach).bit_length() == least.bit_length() or least < 1 << SMALL else 1 << least.bit_length()
    )


def _shift(least: int) -> int:
    return least.bit_length() // 2 + 1


@lru_cache(maxsize=256)
def _search(least: int) -> tuple[int, int]:
    """The first (k, m), k odd, with a proved Proth prime k * 2**m + 1 >= least, for one m of half the bits."""
    start = _start(least)
    m = _shift(start)
    # The least k with k 2^m + 1 >= start.
    k = max(1, -(-(start - 1) >> m))
    while True:
        alive = np.ones(WINDOW, dtype=bool)
        for prime in SIEVE.tolist() if m > 40 else []:
            # A small prime divides k 2^m + 1 where k = -2^-m modulo that prime.
            alive[(-pow(2, -m, prime) - k) % prime :: prime] = False
        for ahead in np.flatnonzero(alive).tolist():
            tried, twos = k + ahead, m
            # An even k gives its twos to the power, which is the form with an odd one.
            while tried % 2 == 0:
                tried, twos = tried // 2, twos + 1
            if tried < 1 << twos and is_proth_prime(tried, twos):
                return tried, twos
        k += WINDOW


# ---------------------------------------------------------------- prime fields


@dataclass(frozen=True)
class PrimeField:
    """The whole numbers modulo a prime."""

    name: str
    order: int

    @cached_property
    def _ring(self) -> Any:
        return _polynomials(self.order)

    def interpolate(self, points: Sequence[int], values: Sequence[int], step: Step | None = None) -> list[int]:
        ring, modulus = self._ring, gmpy2.mpz(self.order)

        def divide(value: int, slope: Any) -> Any:
            return ring([int(value * gmpy2.invert(int(slope), modulus) % modulus)])

        made = _interpolate([ring([-x, 1]) for x in points], values, divide, step)
        return [int(part) for part in made.coeffs()]

    def evaluator(self, coefficients: Sequence[int]) -> Callable[[Sequence[int]], list[int]]:
        if self.order.bit_length() >= PACKED:
            return PackedHorner(self.order, coefficients)
        made = self._ring(list(coefficients))

        def evaluate(points: Sequence[int]) -> list[int]:
            found: list[int] = []
            for begin in range(0, len(points), GROUP):
                group = points[begin : begin + GROUP]
                if len(group) < 8:
                    found += [int(made(x)) for x in group]
                else:
                    found += [int(value) for value in made.multipoint_evaluate(list(group))]
            return found

        return evaluate


@lru_cache(maxsize=16)
def _polynomials(prime: int) -> Any:
    import flint

    return flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(prime))


def levels(size: int) -> int:
    """How many steps interpolation at `size` points reports: two for each level of the tree, and one for the root."""
    return 2 * (size - 1).bit_length() + 1


def _interpolate(leaves: list[Any], values: Sequence[int], divide: Callable[[int, Any], Any], step: Step | None) -> Any:
    """Lagrange's formula over a tree of products. `leaves` are x - point; `divide` gives value / slope as a constant.

    With m the product of the leaves, the slope m'(point) is the remainder of m' after division by x - point.
    """
    tree = [leaves]
    while len(tree[-1]) > 1:
        row = tree[-1]
        tree.append([row[at] * row[at + 1] if at + 1 < len(row) else row[at] for at in range(0, len(row), 2)])
        if step is not None:
            step()
    # Lagrange: the denominator at a point is m'(point), found by remainders down the tree of products.
    slopes = [tree[-1][0].derivative()]
    for row in reversed(tree[:-1]):
        slopes = [slopes[at // 2] % part for at, part in enumerate(row)]
        if step is not None:
            step()
    parts = [divide(value, slope[0] if slope.degree() >= 0 else 0) for value, slope in zip(values, slopes, strict=True)]
    for row in tree[:-1]:
        parts = [
            parts[at] * row[at + 1] + parts[at + 1] * row[at] if at + 1 < len(parts) else parts[at]
            for at in range(0, len(parts), 2)
        ]
    if step is not None:
        step()
    return parts[0]


class PackedHorner:
    """Horner's rule on many coefficients at once, packed side by side into one large number.

    The polynomial is cut into pieces of ROWS coefficients; slot i of the number carries piece i. One multiplication by
    x serves all slots, and grows each by the bits of x, for which slots leave room. Modulo 2**w - 1 all slots are
    reduced at once, by adding what lies above w bits to what lies below.
    """

    ROWS, FOLD = 128, 8

    def __init__(self, order: int, coefficients: Sequence[int]) -> None:
        self._order = gmpy2.mpz(order)
        self._bits = order.bit_length()
        self._folds = order + 1 == 1 << self._bits
        self._mask = (gmpy2.mpz(1) << self._bits) - 1
        self._rows = self.ROWS if self._folds else self.FOLD
        self._coefficients = list(coefficients)
        self._packed: dict[int, tuple[int, list[Any], Any, Any]] = {}

    def __call__(self, points: Sequence[int]) -> list[int]:
        return [self._at(gmpy2.mpz(x)) for x in points]

    def _prepared(self, width: int) -> tuple[int, list[Any], Any, Any]:
        """Rows for points of at most `width` bits: the slots' width, the rows, the masks of a slot's two parts."""
        if width not in self._packed:
            slot = -(-(self._bits + 2 + (width + 1) * self.FOLD) // 64) * 64
            count = -(-len(self._coefficients) // self._rows)
            filled = self._coefficients + [0] * (count * self._rows - len(self._coefficients))
            rows = [gmpy2.pack(filled[at :: self._rows], slot) for at in reversed(range(self._rows))]
            low, high = (1 << self._bits) - 1, (1 << slot - self._bits) - 1
            self._packed[width] = slot, rows, gmpy2.pack([low] * count, slot), gmpy2.pack([high] * count, slot)
        return self._packed[width]

    def _at(self, x: Any) -> int:
        width, bits = -(-max(1, x.bit_length()) // 64) * 64, self._bits
        if self._folds and (width + 1) * self.FOLD + 66 > bits:  # one fold would not reduce what so wide a point makes
            return self._plainly(x)
        slot, rows, low, high = self._prepared(width)
        total = rows[0]
        for place, row in enumerate(rows[1:], 1):
            total = total * x + row
            if self._folds and place % self.FOLD == 0:
                total = (total & low) + (total >> bits & high)
        stride, value = self._stride(x), gmpy2.mpz(0)
        for piece in reversed(gmpy2.unpack(total, slot)):
            value = self._shorter(value * stride + piece)
        return int(value % self._order)

    def _stride(self, x: Any) -> Any:
        """x to the power of the rows, which are a power of 2."""
        power = x
        for _ in range(self._rows.bit_length() - 1):
            power = self._shorter(power * power)
        return power

    def _shorter(self, value: Any) -> Any:
        """An equal number modulo the order, of about its bits."""
        return (value & self._mask) + (value >> self._bits) if self._folds else value % self._order

    def _plainly(self, x: Any) -> int:
        value, order = gmpy2.mpz(0), self._order
        for part in reversed(self._coefficients):
            value = (value * x + part) % order
        return int(value)


# ---------------------------------------------------------------- the paper's binary fields


@dataclass(frozen=True)
class BinaryField:
    """GF(2**(2 * 3**l)) with modulus x**(2 * 3**l) + x**(3**l) + 1; bit i of a number is the coefficient of x**i.

    Source: Balcer, Vadhan 2018, Lemma 8.1, after van Lint (irreducible for every l).
    """

    level: int

    def __post_init__(self) -> None:
        integer(self.level, "l", least=0, most=BINARY)

    @property
    def bits(self) -> int:
        return int(2 * 3**self.level)

    @property
    def name(self) -> str:
        return f"GF(2^{self.bits})"

    @property
    def order(self) -> int:
        return 1 << self.bits

    @cached_property
    def _made(self) -> tuple[Any, Any]:
        return _binary(self.bits)

    def element(self, number: int) -> Any:
        """The field's element that a number in 0..order-1 writes."""
        return self._made[0]([int(digit) for digit in bin(number)[:1:-1]])

    def number(self, element: Any) -> int:
        """The number that writes an element."""
        digits = "".join(str(int(digit)) for digit in reversed(element.to_list()))
        return int(digits or "0", 2)

    def interpolate(self, points: Sequence[int], values: Sequence[int], step: Step | None = None) -> list[int]:
        field, ring = self._made

        def divide(value: int, slope: Any) -> Any:
            return ring([self.element(value) / slope])

        made = _interpolate([ring([self.element(x), field.one()]) for x in points], values, divide, step)
        return [self.number(part) for part in made.coeffs()]

    def evaluator(self, coefficients: Sequence[int]) -> Callable[[Sequence[int]], list[int]]:
        made = self._made[1]([self.element(part) for part in coefficients])
        return lambda points: [self.number(made(self.element(x))) for x in points]


@lru_cache(maxsize=8)
def _binary(bits: int) -> tuple[Any, Any]:
    import flint

    middle = [0] * (bits // 2 - 1)
    field = flint.fq_default_ctx(2, modulus=flint.fmpz_poly([1, *middle, 1, *middle, 1]), fq_type="FQ_NMOD")
    return field, flint.fq_default_poly_ctx(field)
