"""ALP's embedding: hashing, rounding, bits and flips; and its privacy by the whole law on small cases."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.laws import alp as laws
from dpviz.noise import alp
from dpviz.noise.alp import PRIME, Columns, PrimeColumns, meeting
from dpviz.noise.bits import TeachingBits
from dpviz.noise.flips import FlipSampler

SEED = bytes(range(16))


class NoFlips(FlipSampler):
    """Flips nothing, so that what was set can be seen."""

    def __init__(self) -> None:
        pass

    def draw(self, size: int, bits: object, tick: object = None) -> np.ndarray:
        return np.zeros(size, dtype=np.uint8)


@pytest.mark.parametrize("word", [4, 5, 6])
def test_two_keys_meet_as_rarely_as_multiply_shift_promises(word: int) -> None:
    """The same function on short words, for all a and b and all pairs; without b the chance is up to twice that."""
    size = 1 << word
    a, b, keys = np.arange(1, size, 2), np.arange(size), np.arange(size)
    for width in range(1, word):
        hashed = ((a[:, None, None] * keys + b[:, None]) % size) >> (word - width)
        alone = ((a[:, None] * keys) % size) >> (word - width)
        worst = max(
            float((hashed[:, :, one] == hashed[:, :, other]).mean()) for one, other in itertools.combinations(keys, 2)
        )
        without = max(
            float((alone[:, one] == alone[:, other]).mean()) for one, other in itertools.combinations(keys, 2)
        )
        assert worst <= 2.0**-width < without or width == word - 1


def test_places_are_those_of_the_formula_in_whole_numbers() -> None:
    columns = Columns(SEED, 5, 9)
    keys = np.array([0, 1, 2**63, 2**64 - 1, 123456789], dtype=np.uint64)
    for column in range(5):
        a, b = (int(number) for number in columns._numbers[column])
        assert a % 2 == 1
        assert columns.places(column, keys).tolist() == [((a * int(key) + b) % 2**64) >> 55 for key in keys]
    assert len({tuple(columns.places(column, keys)) for column in range(5)}) == 5, "columns are independent"


@pytest.mark.parametrize(("prime", "size"), [(5, 2), (5, 3), (7, 2), (7, 4), (7, 6), (11, 8)])
def test_two_keys_meet_modulo_a_prime_as_rarely_as_two_independent_numbers(prime: int, size: int) -> None:
    """For all a, b and c, and all pairs of keys of two digits below the prime, exactly. With one factor for both digits
    some keys meet always; with no number added, some meet more often than that."""
    numbers = np.arange(prime)
    u, v = (one.ravel() for one in np.meshgrid(numbers, numbers))
    a, c, b = (one.ravel()[:, None] for one in np.meshgrid(numbers, numbers, numbers))

    def worst(hashed: np.ndarray) -> Fraction:
        same = [(hashed[:, [0]] == hashed[:, 1:]).sum(axis=0).max()]  # the pair of a key with (0, 0)
        same += [(hashed[:, [one]] == hashed[:, one + 1 :]).sum(axis=0).max() for one in range(1, len(u) - 1)]
        return Fraction(int(max(same)), len(hashed))

    assert worst((a * u + c * v + b) % prime % size) == meeting(prime, size) > Fraction(1, size)
    assert meeting(prime, size) - Fraction(1, size) <= Fraction(size, 4 * prime**2)
    assert worst((a * u + a * v + b) % prime % size) == 1
    assert worst((a * u + c * v) % prime % size) > meeting(prime, size)


def test_places_modulo_the_prime_are_those_of_the_formula_in_whole_numbers() -> None:
    columns, chance = PrimeColumns(SEED, 40, 10, 1000), np.random.default_rng(4)
    keys = np.append(chance.integers(0, 2**64, 500, dtype=np.uint64), np.array([0, 1, PRIME, 2**64 - 1], np.uint64))
    extreme = np.array([[0, 1, PRIME - 1], [PRIME - 1, PRIME - 1, PRIME - 1], [1 << 60, (1 << 32) - 1, 0]], np.uint64)
    assert columns._numbers.shape == (40, 3) and (columns._numbers < PRIME).all()
    columns.__dict__["_numbers"] = np.concatenate((extreme, columns._numbers[3:]))
    for column in range(40):
        a, c, b = (int(number) for number in columns._numbers[column])
        expected = [(a * (key >> 32) + c * (key & 0xFFFFFFFF) + b) % PRIME % 1000 for key in keys.tolist()]
        assert columns.places(column, keys).tolist() == expected
    assert len({tuple(columns.places(column, keys)) for column in range(40)}) == 40
    assert columns.part(5, 3).places(1, keys).tolist() == columns.places(6, keys).tolist()
    assert columns.slots == 1000 and columns.meeting - Fraction(1, 1000) < Fraction(1, 2**110)


def test_keys_that_are_alike_modulo_the_prime_do_not_always_meet() -> None:
    """Of 2,000 columns of 1,000 bits more than 40 hold both with a chance below 1e-30."""
    columns = PrimeColumns(SEED, 2000, 10, 1000)
    pair = np.array([17, 17 + PRIME], dtype=np.uint64)
    assert sum(len(set(columns.places(column, pair).tolist())) == 1 for column in range(2000)) < 40


@pytest.mark.parametrize(("width", "size"), [(10, 1001), (9, 1000), (11, 1000), (3, 0)])
def test_a_size_that_no_column_has_is_refused(width: int, size: int) -> None:
    with pytest.raises(ParameterError):
        PrimeColumns(SEED, 2, width, size)


@pytest.mark.parametrize("columns", [Columns(SEED, 12, 6), PrimeColumns(SEED, 12, 6, 56)])
def test_what_is_set_is_what_the_paper_sets(columns: Columns) -> None:
    keys = np.array([3, 99, 2**60, 7, 8], dtype=np.uint64)
    levels = np.array([0, 12, 5, 30, 1], dtype=np.int64)
    packed = alp.project(keys, levels, columns, NoFlips(), TeachingBits(1))
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    for column in range(12):
        expected = np.zeros(columns.slots, dtype=np.uint8)
        for key, level in zip(keys, levels, strict=True):
            if level > column:
                expected[columns.places(column, np.array([key], dtype=np.uint64))[0]] = 1
        assert (bits[column] == expected).all()
    seen = alp.read(packed, columns, keys)
    assert seen[1].all() and seen[3].all() and seen[2, :5].all()


@pytest.mark.parametrize(("worth", "step"), [(1, 3), (13, 38), (5, 1), (2, 3)])
def test_rounding_is_exact_and_unbiased(worth: int, step: int) -> None:
    """Each outcome of the uniform number below `step` once: the mean is the scaled value, to the last digit."""

    class Each(TeachingBits):
        def __init__(self, first: int) -> None:
            self.word = first << 64 - (step - 1).bit_length()

        def take(self, count: int) -> bytes:
            assert count % 8 == 0
            return self.word.to_bytes(8, "little") * (count // 8)

    values = np.arange(40, dtype=np.int64)
    found = [alp.rounded(values, worth, step, 10**6, Each(first)) for first in range(step)]
    for value in values.tolist():
        assert Fraction(sum(int(one[value]) for one in found), step) == Fraction(value * worth, step)
        assert {int(one[value]) for one in found} <= {value * worth // step, -(-value * worth // step)}


def test_floats_would_round_these_wrong() -> None:
    assert alp.rounded(np.array([43]), 1, 1, 100, TeachingBits(1))[0] == 43
    assert int(43 * 0.1 / 0.1) != 43, "which binary floats do"
    capped = alp.rounded(np.array([-5, 0, 7, 2**62]), 3, 1, 20, TeachingBits(1))
    assert capped.tolist() == [0, 0, 20, 20], "clamped in silence"


def ratio(one: dict[int, Fraction], other: dict[int, Fraction], columns: Columns, chance: Fraction) -> Fraction:
    """The worst likelihood ratio of two vectors, over all structures."""
    both = {key: max(one.get(key, Fraction(0)), other.get(key, Fraction(0))) for key in {*one, *other}}
    ceiling = {key: Fraction(-(-value // 1)) for key, value in both.items()}
    places = sorted(
        {
            (column, int(columns.places(column, np.array([key], dtype=np.uint64))[0]))
            for key, value in ceiling.items()
            for column in range(min(int(value), columns.columns))
        }
    )

    def law(values: dict[int, Fraction]) -> dict[tuple[int, ...], Fraction]:
        keys = sorted(values)
        found: dict[tuple[int, ...], Fraction] = {}
        options = []
        for key in keys:
            down, rest = int(values[key] // 1), values[key] % 1
            options.append([(y, part) for y, part in ((down, 1 - rest), (down + 1, rest)) if part])
        for levels in itertools.product(*options):
            part, ones = Fraction(1), set()
            for key, (y, weight) in zip(keys, levels, strict=True):
                part *= weight
                ones |= {
                    (column, int(columns.places(column, np.array([key], dtype=np.uint64))[0]))
                    for column in range(min(y, columns.columns))
                }
            for bits in itertools.product((0, 1), repeat=len(places)):
                same = sum((place in ones) == bool(bit) for place, bit in zip(places, bits, strict=True))
                chance_ = part * (1 - chance) ** same * chance ** (len(places) - same)
                found[bits] = found.get(bits, Fraction(0)) + chance_
        return found

    first, second = law(one), law(other)
    return max(max(first[bits] / second[bits], second[bits] / first[bits]) for bits in first)


def test_no_pair_of_neighbours_is_told_apart_better_than_the_price_says() -> None:
    """Values in thirds of a bit, two or three keys, columns so narrow that they collide; moves of one key and of two.

    The worst ratio is at most the product of what each moved key costs, and meets it where one key moves alone from a
    whole number of bits. A price of one third of a bit less is passed.
    """
    columns, chance, alpha = Columns(SEED, 3, 3), Fraction(13, 64), Fraction(38, 13)
    third, met = Fraction(1, 3), 0
    keys = (1, 2, 11)
    rng = np.random.default_rng(3)
    for _ in range(60):
        one = {key: third * int(rng.integers(0, 8)) for key in keys[: int(rng.integers(1, 4))]}
        other = dict(one)
        moved = {int(key): third * int(rng.integers(1, 4)) for key in rng.choice(list(one), int(rng.integers(1, 3)))}
        for key, by in moved.items():
            other[key] = one[key] + by
        price = Fraction(1)
        for key in moved:
            price *= laws.odds(alpha, other[key] - one[key])
        worst = ratio(one, other, columns, chance)
        assert worst <= price
        met += worst == price
    assert met >= 5
    alone = ratio({1: Fraction(0)}, {1: Fraction(1)}, columns, chance)
    assert alone == laws.odds(alpha, Fraction(1)) > laws.odds(alpha, Fraction(2, 3))


def test_bad_shapes_are_refused() -> None:
    for seed, columns, width in ((b"short", 3, 8), (SEED, 0, 8), (SEED, 3, 2), (SEED, 3, 41)):
        with pytest.raises(ParameterError):
            Columns(seed, columns, width)
    with pytest.raises(ParameterError):
        alp.rounded(np.array([1]), 2**40, 2**40, 2**40, TeachingBits(1))
