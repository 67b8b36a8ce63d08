"""Two-sided geometric noise against its law, in every bin, with and without the clamp."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.laws.clamped import Clamped
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.noise import table
from dpviz.noise.bits import Bits, SystemBits, TeachingBits
from dpviz.noise.geometric import two_sided_geometric
from dpviz.noise.table import LIMIT, PIECE, Sampler, SamplingTable
from tests.noise.listed import Listed
from tests.noise.statistics import FALSE_ALARM, ends_folded, histogram, p_value, power

DRAWS = 4_000_000

DECAYS = {
    "epsilon 1": Decay.exp(Fraction(1, 2)),
    "epsilon 1/10": Decay.exp(Fraction(1, 20)),
    "ratio 20/21": Decay.rational(Fraction(20, 21)),
    "epsilon 1/1000, two tables": Decay.exp(Fraction(1, 2000)),
}


def law_on(decay: Decay, first: int, last: int) -> NDArray[np.float64]:
    """The law on first..last, the ends carrying what lies beyond."""
    law = TwoSidedGeometric(decay)
    values = np.arange(first, last + 1)
    below, above = 1 - law.above_array(np.array([first - 1]))[0], law.above_array(np.array([last]))[0]
    return ends_folded(law.pmf_array(values), below, above)


def reach(decay: Decay) -> int:
    return int(25 / -np.log(float(decay.bounds()[0])))


@pytest.mark.parametrize("decay", DECAYS.values(), ids=DECAYS)
def test_large_vectors_follow_the_law_in_every_bin(decay: Decay) -> None:
    last = reach(decay)
    drawn = two_sided_geometric(decay).draw(DRAWS, TeachingBits(11))
    assert p_value(histogram(drawn, -last, last), law_on(decay, -last, last)) > FALSE_ALARM


@pytest.mark.parametrize("decay", [DECAYS["epsilon 1"], DECAYS["ratio 20/21"]], ids=["epsilon 1", "ratio 20/21"])
def test_small_vectors_follow_the_law_in_every_bin(decay: Decay) -> None:
    """Here each draw is compared with the whole table. Position by position: no first or last bin without noise."""
    sampler, bits, last = two_sided_geometric(decay), TeachingBits(12), reach(decay)
    rows = np.array([sampler.draw(42, bits) for _ in range(3000)])
    law = law_on(decay, -last, last)
    assert p_value(histogram(rows.ravel(), -last, last), law) > FALSE_ALARM
    for column in (0, 1, 40, 41):
        assert p_value(histogram(rows[:, column], -last, last), law) > FALSE_ALARM / 4


@pytest.mark.parametrize("place", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 2], ids=str)
def test_no_place_of_a_large_vector_goes_without_noise(place: int) -> None:
    decay = DECAYS["epsilon 1/10"]
    sampler, bits, last = two_sided_geometric(decay), TeachingBits(13 + place), reach(decay)
    drawn = np.array([sampler.add(np.zeros(2 * PIECE + 3, np.int64), None, None, bits)[place] for _ in range(300)])
    assert p_value(histogram(drawn, -last, last), law_on(decay, -last, last)) > FALSE_ALARM


RIGHT = DECAYS["epsilon 1"]


def twins() -> dict[str, NDArray[np.float64]]:
    """Laws that are 1 % wrong, each one way and the other."""
    last = reach(RIGHT)
    law = law_on(RIGHT, -last, last)
    found = {}
    for name, by in (("wider", 99), ("narrower", 101)):
        found[name] = law_on(Decay.exp(Fraction(1, 2) * Fraction(by, 100)), -last, last)
    for name, step in (("up", 1), ("down", -1)):
        found[f"one draw in a hundred shifted {name}"] = 0.99 * law + 0.01 * np.roll(law, step)
    for name, factor in (("heavier", 1.01), ("lighter", 0.99)):
        for value in (0, 1):
            twin = law.copy()
            twin[last + value] *= factor
            found[f"one bin {name}: {value}"] = twin / twin.sum()
    return found


@pytest.mark.parametrize("name", twins())
def test_a_law_wrong_by_one_percent_is_rejected(name: str) -> None:
    """20 million draws from the twin, by the same engine. They are refused with a probability of at least 0.999."""
    last, draws = reach(RIGHT), 20_000_000
    law, twin = law_on(RIGHT, -last, last), twins()[name]
    assert power(draws, twin, law) > 0.999
    masses = tuple(int(mass * 2**100) for mass in twin.tolist())
    seen = histogram(Sampler([SamplingTable(Listed(masses, -last))]).draw(draws, TeachingBits(14)), -last, last)
    assert p_value(seen, law) < FALSE_ALARM
    assert p_value(seen, twin) > FALSE_ALARM
    right = histogram(two_sided_geometric(RIGHT).draw(draws, TeachingBits(14)), -last, last)
    assert p_value(right, law) > FALSE_ALARM


@pytest.mark.parametrize("count", [0, 1, 7, 12], ids=str)
def test_clamped_counts_follow_the_clamped_law_ends_included(count: int) -> None:
    decay = DECAYS["epsilon 1"]
    drawn = two_sided_geometric(decay).add(np.full(400_000, count), 0, 12, TeachingBits(15 + count))
    clamped = Clamped(TwoSidedGeometric(decay), 0, 12)
    law, neighbour = ([float(clamped.pmf(c, value)[0]) for value in range(13)] for c in (count, abs(count - 1)))
    assert p_value(np.bincount(drawn, minlength=13), np.array(law)) > FALSE_ALARM
    assert p_value(np.bincount(drawn, minlength=13), np.array(neighbour)) < FALSE_ALARM


def test_counts_outside_the_range_are_moved_to_its_ends_in_silence() -> None:
    sampler = two_sided_geometric(DECAYS["epsilon 1"])
    wild = np.array([-(2**63), -5, 0, 10, 11, 2**63 - 1])
    tame = np.array([0, 0, 0, 10, 10, 10])
    assert (sampler.add(wild, 0, 10, TeachingBits(2)) == sampler.add(tame, 0, 10, TeachingBits(2))).all()


def test_counts_at_the_ends_of_64_bits_do_not_wrap_around() -> None:
    noisy = two_sided_geometric(DECAYS["epsilon 1"]).add(np.array([-(2**63), 2**63 - 1]), None, None, TeachingBits(2))
    assert noisy[0] < -LIMIT + 1000
    assert noisy[1] > LIMIT - 1000


def test_the_noise_added_is_the_noise_drawn() -> None:
    sampler, counts = two_sided_geometric(DECAYS["epsilon 1/10"]), np.arange(100_000)
    added = sampler.add(counts, None, None, TeachingBits(4)) - counts
    assert (added == sampler.draw(100_000, TeachingBits(4))).all()
    folded = sampler.add(counts.reshape(100, 1000), None, None, TeachingBits(4))
    assert (folded.ravel() - counts == added).all()
    assert (sampler.add(counts[::-1], None, None, TeachingBits(4)) - counts[::-1] == added).all()


def test_a_count_that_is_no_64_bit_integer_is_refused_by_its_type() -> None:
    for counts in (np.zeros(3), np.zeros(3, np.int32), np.zeros(3, np.uint64)):
        with pytest.raises(ParameterError, match="64-bit integers"):
            two_sided_geometric(DECAYS["epsilon 1"]).add(counts, 0, 1, TeachingBits(1))


def test_a_reversed_clamp_is_refused() -> None:
    with pytest.raises(ParameterError, match="low end"):
        two_sided_geometric(DECAYS["epsilon 1"]).add(np.zeros(3, np.int64), 5, 4, TeachingBits(1))


def test_ticks_depend_on_sizes_only_and_a_tick_may_cancel() -> None:
    sampler, size = two_sided_geometric(DECAYS["epsilon 1"]), 3 * PIECE + 1
    seen: list[list[tuple[int, int]]] = []
    for counts in (np.zeros(size, np.int64), np.arange(size)):
        seen.append([])
        sampler.add(counts, 0, 9, SystemBits(), lambda done, total: seen[-1].append((done, total)))
    assert seen[0] == seen[1] == [(min(done, size), size) for done in range(PIECE, 5 * PIECE, PIECE)]

    def cancel(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sampler.add(np.zeros(10, np.int64), 0, 9, TeachingBits(1), cancel)


class Counting(Bits):
    """Counts what is taken from another stream."""

    kind = "counting"
    private = False

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self.taken = 0

    def take(self, count: int) -> bytes:
        self.taken += count
        return self._bits.take(count)


def test_a_large_vector_takes_little_more_than_two_bytes_a_draw() -> None:
    for name, least, most in (("epsilon 1/10", 2, 2.1), ("epsilon 1/1000, two tables", 4, 4.3)):
        bits = Counting(TeachingBits(1))
        two_sided_geometric(DECAYS[name]).draw(200_000, bits)
        assert least < bits.taken / 200_000 < most


def test_a_small_vector_takes_eight_bytes_a_draw_and_table_whatever_is_drawn() -> None:
    for seed in range(200):
        bits = Counting(TeachingBits(seed))
        two_sided_geometric(DECAYS["epsilon 1/10"]).draw(42, bits)
        assert bits.taken == 8 * 42


def test_which_way_is_taken_depends_on_sizes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    by_comparison = []
    monkeypatch.setattr(
        table.SamplingTable,
        "_fill_by_comparison",
        lambda part, out, bits: (by_comparison.append(out.size), out.fill(0)),
    )
    sampler = two_sided_geometric(DECAYS["epsilon 1/10"])
    for size in (1, 42, 500, table.FLAT_DRAWS, table.FLAT_DRAWS + 1, PIECE):
        sampler.draw(size, TeachingBits(1))
    assert by_comparison == [1, 42, 500]  # beyond, 1775 boundaries times the draws are more than FLAT_COMPARISONS


def test_one_decay_has_one_sampler() -> None:
    assert two_sided_geometric(Decay.exp(Fraction(1, 7))) is two_sided_geometric(Decay.exp(Fraction(2, 14)))


@pytest.mark.parametrize("decay", [Decay.exp(Fraction(1, 10**13)), Decay.rational(1 - Fraction(1, 10**30))], ids=str)
def test_noise_too_wide_for_64_bits_is_refused_at_once(decay: Decay) -> None:
    with pytest.raises(ParameterError, match="scale of the noise must be at most"):
        two_sided_geometric(decay)


@pytest.mark.parametrize("scale", [10**6, 10**9, 2**40], ids=str)
def test_very_wide_noise_has_the_right_size(scale: int) -> None:
    """Four tables at most. The mean of |Z| is the scale, with a standard error of 0.5 % here."""
    drawn = two_sided_geometric(Decay.exp(Fraction(1, scale))).draw(40_000, TeachingBits(6))
    assert abs(np.abs(drawn).mean() / scale - 1) < 0.03
    assert abs((drawn >= 0).mean() - 0.5) < 0.015
    assert len(np.unique(drawn % 512)) == 512


def test_hardly_any_noise_is_still_drawn_from_its_law() -> None:
    """At epsilon 1000 a draw other than 0 has a chance of about 10**-217."""
    assert not two_sided_geometric(Decay.exp(Fraction(500))).draw(100_000, TeachingBits(1)).any()
    assert not two_sided_geometric(Decay.exp(Fraction(10**6))).draw(42, TeachingBits(1)).any()
