"""Random bits, uniform integers and coins."""

from __future__ import annotations

import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.noise.bits import SystemBits, TeachingBits
from dpviz.noise.uniform import bernoulli, bernoulli_exp, uniform
from tests.noise.scripts import Script


def test_the_teaching_stream_is_the_same_on_every_machine_and_however_it_is_cut() -> None:
    whole = TeachingBits(7).take(200_000)
    assert whole[:8].hex() == "352d63f8a54c2dce"
    bits = TeachingBits(7)
    assert b"".join(bits.take(size) for size in (0, 1, 65_535, 1, 100_000, 34_463)) == whole
    assert TeachingBits(8).take(16) != whole[:16]


def test_words_are_the_bytes_of_the_stream() -> None:
    assert TeachingBits(3).words(1000).tobytes() == TeachingBits(3).take(2000)


def test_only_the_operating_system_is_private() -> None:
    assert (SystemBits().kind, SystemBits().private) == ("operating system", True)
    assert (TeachingBits(7).kind, TeachingBits(7).private) == ("teaching, seed 7", False)
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        TeachingBits(-1)


def test_a_forked_process_draws_other_bits() -> None:
    bits = SystemBits()
    bits.take(64)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, bits.take(64))
        os._exit(0)
    own = bits.take(64)
    os.waitpid(child, 0)
    assert os.read(reader, 64) != own


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 200, 255, 256, 257, 40_000, 65_536])
def test_below_is_uniform_over_all_bit_strings(bound: int) -> None:
    """Every string that is accepted at once gives each number equally often; the rest are drawn again."""
    size = ((bound - 1).bit_length() + 7) // 8
    counts: Counter[int] = Counter()
    for string in range(256**size):
        try:
            counts[Script(string.to_bytes(size, "little")).below(bound)] += 1
        except EOFError:
            counts[-1] += 1
    again = counts.pop(-1, 0)
    assert sorted(counts) == list(range(bound))
    assert len(set(counts.values())) == 1
    assert again < 256**size / 2


def test_uniform_starts_at_one() -> None:
    assert {uniform(3, TeachingBits(seed)) for seed in range(40)} == {1, 2, 3}
    with pytest.raises(ParameterError):
        uniform(0, TeachingBits(1))


def test_a_rational_coin_has_its_probability_exactly() -> None:
    accepted = []
    for byte in range(256):
        try:
            accepted.append(bernoulli(Fraction(3, 7), Script(bytes([byte]))))
        except EOFError:
            continue
    assert Fraction(sum(accepted), len(accepted)) == Fraction(3, 7)
    assert not bernoulli(Fraction(0), TeachingBits(1))
    assert bernoulli(Fraction(1), TeachingBits(1))
    with pytest.raises(ParameterError):
        bernoulli(Fraction(8, 7), TeachingBits(1))


@pytest.mark.parametrize("x", [Fraction(1), Fraction(1, 1000), Fraction(7, 3), Fraction(100)])
def test_an_exponential_coin_turns_exactly_at_its_probability(x: Fraction) -> None:
    """U below exp(-x) by 2**-192 is heads, above by as much is tails."""
    place = int(exp_bounds(-x, 400)[0] * 2**192)
    for number, heads in ((place - 1, True), (place + 1, False)):
        limbs = number.to_bytes(24, "big")
        script = Script(b"".join(limbs[at : at + 8][::-1] for at in (0, 8, 16)))
        assert bernoulli_exp(x, script) is heads
    assert bernoulli_exp(Fraction(0), TeachingBits(1))
    with pytest.raises(ParameterError):
        bernoulli_exp(Fraction(-1), TeachingBits(1))


def test_an_exponential_coin_reads_no_more_than_it_needs() -> None:
    script = Script(np.array([1 << 63, 0], dtype="<u8").tobytes())
    assert not bernoulli_exp(Fraction(1), script)  # 1/2 > exp(-1)
    assert script.left == 8
