"""A permutation is uniform, also where the numbers it is made from come twice."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.noise.bits import Bits, SystemBits, TeachingBits
from dpviz.noise.shuffle import permutation


class Counted(Bits):
    """Every number of 64 bits that is made of these few, one after the other."""

    kind, private = "counted", False

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    def take(self, count: int) -> bytes:
        taken, self.numbers = self.numbers[: count // 8], self.numbers[count // 8 :]
        return b"".join(number.to_bytes(8, "little") for number in taken)


def test_each_order_comes_from_as_many_draws_and_draws_with_equal_numbers_are_thrown_away() -> None:
    orders = Counter()  # type: ignore[var-annotated]
    for drawn in itertools.product(range(4), repeat=3):
        bits = Counted([*drawn, 7, 8, 9])
        order = tuple(permutation(3, bits).tolist())
        if len(set(drawn)) == 3:
            orders[order] += 1
        else:
            assert order == (0, 1, 2) and not bits.numbers  # from the second three numbers
    assert set(orders.values()) == {4} and len(orders) == 6


def test_a_permutation_of_many_is_one_and_is_fixed_by_its_seed() -> None:
    assert np.array_equal(np.sort(permutation(1000, SystemBits())), np.arange(1000))
    assert np.array_equal(permutation(1000, TeachingBits(1)), permutation(1000, TeachingBits(1)))
    assert not np.array_equal(permutation(1000, TeachingBits(1)), np.arange(1000))
    assert permutation(0, SystemBits()).size == 0 and permutation(1, SystemBits()).tolist() == [0]


def test_what_is_no_size_is_refused() -> None:
    for size in (-1, 2**32 + 1):
        with pytest.raises(ParameterError, match="size"):
            permutation(size, SystemBits())
