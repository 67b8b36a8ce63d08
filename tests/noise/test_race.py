"""The race gives the order of its scores, whatever the numbers; with random numbers, the law of peeling.

The scores are computed a second time here, from all bits of every number at once. A race that is fed the same numbers
bit by bit must end in the same order, also where doubles cannot tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.laws.top_k import Law, peeled
from dpviz.noise import race, table
from dpviz.noise.bits import Bits, TeachingBits
from dpviz.noise.peeling import Bottom, peel
from dpviz.noise.race import ABSOLUTE, DIGITS, UniformNumbers, cells, gumbel, log, rank, run
from tests.noise.statistics import FALSE_ALARM, p_value, power

FRACTION_BITS = 1200
"""Bits of the numbers that are written down."""


def finely() -> Any:
    """A context with far more digits than anything here needs."""
    return gmpy2.context(precision=4 * FRACTION_BITS, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max())


class Written(UniformNumbers):
    """Numbers given in full, as whole numbers below 2**PLACES, revealed as a race asks for them."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self.known = [0] * len(numbers)

    def _next(self, place: int, size: int) -> int:
        self.known[place] += size
        return self.numbers[place] >> (FRACTION_BITS - self.known[place]) & ((1 << size) - 1)

    def first(self, places: slice) -> NDArray[np.uint16]:
        return np.array([self._next(place, 16) for place in range(places.start, places.stop)], dtype=np.uint16)

    def second(self, places: NDArray[np.intp]) -> NDArray[np.uint32]:
        return np.array([self._next(place, 32) for place in places.tolist()], dtype=np.uint32)

    def more(self, place: int) -> int:
        return self._next(place, 64)


def score(count: int, odds: Fraction, rate: Fraction, number: int) -> Any:
    """rate * count + ln(odds) - ln(-ln U), to about 1000 places."""
    with finely():
        known = gmpy2.mpfr(gmpy2.mpq(rate * count)) + gmpy2.log(gmpy2.mpq(odds))
        return known - gmpy2.log(-gmpy2.log(gmpy2.mpq(2 * number + 1, 2 << FRACTION_BITS)))


def number_of(noise: Any) -> int:
    """The number whose Gumbel noise this is."""
    with finely():
        return int(gmpy2.floor(gmpy2.mul_2exp(gmpy2.exp(-gmpy2.exp(-noise)), FRACTION_BITS)))


def order(counts: Sequence[int], rate: Fraction, k: int, numbers: Sequence[int], bottom: Bottom | None) -> list[int]:
    scores = [score(count, Fraction(1), rate, number) for count, number in zip(counts, numbers, strict=False)]
    if bottom is not None:
        scores.append(score(bottom.count, bottom.odds, rate, numbers[-1]))
    listed = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:k]
    if len(counts) in listed:
        listed = [*listed[: listed.index(len(counts))], -1]
    return listed


# ---------------------------------------------------------------- noise in doubles


def exact_log(value: Fraction) -> Any:
    with finely():
        return gmpy2.log(gmpy2.mpq(value))


def test_the_logarithm_keeps_to_its_bound() -> None:
    """At random doubles, beside 1, and where its series and its constants change; a coarser bound is not tested."""
    generator = np.random.default_rng(1)
    joints = np.concatenate([np.arange(45.25, 91) / 64, (np.arange(45, 91) + 0.5) / 64, [0.5, 1.0, 2.0**-48, 33.0]])
    beside = np.concatenate(
        [joints, np.nextafter(joints, 0), np.nextafter(joints, 99), 1 + np.arange(-50, 50) * 2.0**-52]
    )
    values = np.concatenate(
        [beside, np.exp(generator.uniform(-34, 4, 2000)), 1 - np.exp(generator.uniform(-33, -1, 2000))]
    )
    worst = 0.0
    for value, found in zip(values.tolist(), log(values).tolist(), strict=True):
        exact = exact_log(Fraction(value))
        if exact == 0:
            assert found == 0
        else:
            worst = max(worst, float(abs((gmpy2.mpq(found) - exact) / exact)))
    assert 2.0**-54 < worst < 2.0**-48


def test_every_cell_of_the_table_encloses_its_noise() -> None:
    """All 65,537 ends, against MPFR; the slack of the table is not more than a sixteenth of what a score is given."""
    ends = cells()
    assert ends[0] == -np.inf
    assert ends[-1] == np.inf
    assert (np.diff(ends) > 0).all()
    context = gmpy2.context(precision=120)
    worst = 0.0
    with context:
        for end in range(1, 1 << 16):
            exact = -gmpy2.log(-gmpy2.log(gmpy2.mpq(end, 1 << 16)))
            worst = max(worst, abs(float(gmpy2.mpfr(float(ends[end])) - exact)))
    assert worst < 2.0**-42 < ABSOLUTE


def test_noise_of_48_bits_is_enclosed_at_both_ends_of_the_unit_interval() -> None:
    generator = np.random.default_rng(2)
    near = np.arange(1, 60, dtype=np.float64)
    inside = generator.integers(1, 1 << DIGITS, 2000).astype(np.float64)
    numbers = np.concatenate([near, 2.0**DIGITS - near, inside])
    with gmpy2.context(precision=150):
        for number, found in zip(numbers.tolist(), gumbel(numbers).tolist(), strict=True):
            exact = -gmpy2.log(-gmpy2.log(gmpy2.mpq(int(number), 1 << DIGITS)))
            assert abs(gmpy2.mpfr(found) - exact) < 2.0**-42
    assert gumbel(np.array([0.0, 2.0**DIGITS])).tolist() == [-np.inf, np.inf]


# ---------------------------------------------------------------- the order of the scores


def alike(size: int, shared: int, seed: int) -> list[int]:
    """Random numbers that begin with the same bits, so many of them."""
    random = Random(seed)
    head, free = random.getrandbits(shared + 1) >> 1, FRACTION_BITS - shared
    return [head << free | random.getrandbits(free) for _ in range(size)]


SHARED, SEEDS = st.sampled_from([0, 15, 40, 100, 300]), st.integers(0, 2**32)
BOTTOMS = st.none() | st.builds(Bottom, st.integers(0, 12), st.fractions(Fraction(1, 1000), 10**6))
RATES = st.sampled_from([Fraction(1, 10**9), Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(1000)])


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=12), RATES, st.integers(1, 14), BOTTOMS, SHARED, SEEDS)
def test_the_list_is_the_order_of_the_scores(
    counts: list[int], rate: Fraction, k: int, bottom: Bottom | None, shared: int, seed: int
) -> None:
    numbers = alike(len(counts) + (bottom is not None), shared, seed)
    found = run(np.array(counts, dtype=np.int64), rate, k, Written(numbers), bottom)
    assert found == order(counts, rate, k, numbers, bottom)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 9), max_size=12), RATES, st.integers(1, 14), BOTTOMS, st.sampled_from([0, 15, 40]), SEEDS
)
def test_pieces_change_nothing(
    counts: list[int], rate: Fraction, k: int, bottom: Bottom | None, shared: int, seed: int
) -> None:
    """Three symbols at a time, the bottom symbol alone at the end or not."""
    numbers = alike(len(counts) + (bottom is not None), shared, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race, "pieces", lambda size, tick: table.pieces(size, tick, 3))
        found = run(np.array(counts, dtype=np.int64), rate, k, Written(numbers), bottom)
    assert found == order(counts, rate, k, numbers, bottom)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, 2, 10**9, 10**18, 10**18 + 1, 2**62]), max_size=8),
    st.sampled_from([Fraction(1, 10**18), Fraction(1, 10**9), Fraction(1, 7), Fraction(1000), Fraction(10**30)]),
    st.integers(1, 9),
    st.none()
    | st.builds(
        Bottom, st.sampled_from([0, 10**18, 2**62 + 5]), st.sampled_from([Fraction(1, 10**99), Fraction(10**99)])
    ),
    SHARED,
    SEEDS,
)
def test_enormous_counts_and_rates_are_ordered_right(
    counts: list[int], rate: Fraction, k: int, bottom: Bottom | None, shared: int, seed: int
) -> None:
    numbers = alike(len(counts) + (bottom is not None), shared, seed)
    found = run(np.array(counts, dtype=np.int64), rate, k, Written(numbers), bottom)
    assert found == order(counts, rate, k, numbers, bottom)


@pytest.mark.parametrize("hair", [2.0**-30, 2.0**-45, 2.0**-80, 2.0**-200])
@pytest.mark.parametrize("gap", [0, 1, 5])
def test_scores_a_hair_apart_are_refined_until_they_part(hair: float, gap: int) -> None:
    """Three items and the bottom symbol, all with nearly one score. As many bits are read as that takes, and none for
    the item far behind."""
    rate, counts = Fraction(1, 3), [10 + gap, 10, 10, 0]
    bottom = Bottom(10, Fraction(2))
    with finely():
        noise = gmpy2.mpfr(1)
        shifts = [gmpy2.mpq(rate * gap), 0, 0, gmpy2.log(2)]
    for signs in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        with finely():
            near = [number_of(noise - shift + sign * hair) for shift, sign in zip(shifts, signs, strict=True)]
        numbers = [*near[:3], 1 << (FRACTION_BITS - 1), near[3]]
        written = Written(numbers)
        expected = [(0, 1, 2, 4)[at] for at in sorted(range(4), key=lambda at: -signs[at])]
        expected = [*expected[: expected.index(4)], -1]
        assert run(np.array(counts), rate, 4, written, bottom) == expected
        assert written.known[3] == 16
        refined = max(written.known)
        assert (refined > DIGITS) == (hair < 2.0**-46)  # at 2**-45 doubles do not tell, but 48 bits do
        assert (refined > 200) == (hair < 2.0**-190)


def test_counts_that_are_equal_as_doubles_are_told_apart() -> None:
    """One more count is worth 0.2, the noise of the other is 0.19 above; far from the third item, doubles lose that."""
    with finely():
        numbers = [number_of(gmpy2.mpfr(119) / 100), number_of(gmpy2.mpfr(1)), number_of(gmpy2.mpfr(1))]
    confused = 0
    for count in (10**8, *range(4 * 10**15, 4 * 10**15 + 100), 10**17, 2**61):
        assert run(np.array([count, count + 1, 0]), Fraction(1, 5), 3, Written(numbers), None) == [1, 0, 2]
        confused += count * 0.2 + 1.19 > (count + 1) * 0.2 + 1
    assert 10 < confused < 100


def test_a_race_that_stopped_at_doubles_would_be_caught() -> None:
    """The crafted numbers above are equal in 48 bits: without more of them, their order would be that of the places."""
    with finely():
        near = [number_of(gmpy2.mpfr(1) + sign * gmpy2.mpfr(2.0**-100)) for sign in (0, 1)]
    assert near[0] >> (FRACTION_BITS - DIGITS) == near[1] >> (FRACTION_BITS - DIGITS)
    assert run(np.array([3, 3]), Fraction(1), 2, Written(near), None) == [1, 0]
    assert run(np.array([3, 3]), Fraction(1), 2, Written(near[::-1]), None) == [0, 1]


@pytest.mark.parametrize("words", [(0, 0), (0xFFFF, 0xFFFF), (0, 0xFFFF)])
def test_the_outermost_cells_have_no_end_and_are_refined_like_others(words: tuple[int, int]) -> None:
    """48 bits of nothing but 0, or nothing but 1: noise without bounds, until later bits bound it."""
    rest = [1 << (FRACTION_BITS - DIGITS - 2), 3 << (FRACTION_BITS - DIGITS - 3)]
    full = (1 << DIGITS) - 1
    numbers = [(full if word else 0) << (FRACTION_BITS - DIGITS) | more for word, more in zip(words, rest, strict=True)]
    for counts in ([7, 7], [8, 7], [7, 8]):
        written = Written(numbers)
        assert run(np.array(counts), Fraction(1, 5), 2, written, None) == order(
            counts, Fraction(1, 5), 2, numbers, None
        )
        if words[0] == words[1]:
            assert max(written.known) > DIGITS


# ---------------------------------------------------------------- the law

DRAWS, RATE, COUNTS, BOTTOM = 20_000, Fraction(1, 2), [4, 0, 3, 4], Bottom(2, Fraction(3))


def law_of(bottom: Bottom | None, k: int = 3) -> Law:
    base = exp_bounds(RATE, 200)[0]
    weights = {place: base**count for place, count in enumerate(COUNTS)}
    return peeled(weights, k, None if bottom is None else bottom.odds * base**bottom.count)


def chances(law: Law, outcomes: Law) -> NDArray[np.float64]:
    return np.array([float(law.get(outcome, Fraction(0))) for outcome in outcomes])


@pytest.mark.parametrize("twin", [Bottom(1, Fraction(3)), Bottom(2, Fraction(4))], ids=["no + 1", "another m"])
def test_every_list_has_the_chance_that_peeling_gives_it(twin: Bottom) -> None:
    """False alarm once in 10**9; a threshold one lower, or odds of 4 for 3, is rejected with a chance above 0.999."""
    bits, law = TeachingBits(21), law_of(BOTTOM)
    counts = np.array(COUNTS)
    found = Counter(tuple(rank(counts, RATE, 3, bits, BOTTOM)) for _ in range(DRAWS))
    assert set(found) <= set(law)
    observed = np.array([found[outcome] for outcome in law])
    assert p_value(observed, chances(law, law)) > FALSE_ALARM
    assert p_value(observed, chances(law_of(twin), law)) < FALSE_ALARM
    assert power(DRAWS, chances(law, law), chances(law_of(twin), law)) > 0.999


def test_without_a_bottom_symbol_every_order_has_its_chance() -> None:
    bits, law, counts = TeachingBits(22), law_of(None), np.array(COUNTS)
    found = Counter(tuple(rank(counts, RATE, 3, bits)) for _ in range(DRAWS))
    observed = np.array([found[outcome] for outcome in law])
    flat = peeled(dict.fromkeys(range(4), Fraction(1)), 3)
    assert p_value(observed, chances(law, law)) > FALSE_ALARM
    assert p_value(observed, chances(flat, law)) < FALSE_ALARM


def test_all_pairs_of_first_words_bound_the_chance_of_the_order() -> None:
    """The whole space of 2**32 pairs, by counting: what 16 bits decide is at most the exact chance, and nearly all.

    A threshold lower by 1, or weights of exp(rate * count / 2), lie outside these bounds.
    """
    ends, item = cells(), 3
    for rate, odds in [(0.5, 3.0), (1.0, 20.0), (0.1, 1.0)]:
        shift = rate * (item - 2) - np.log(odds)
        sure = np.searchsorted(ends[1:], ends[:-1] + shift - ABSOLUTE, side="right").sum() / 2.0**32
        may = np.searchsorted(ends[:-1], ends[1:] + shift + ABSOLUTE, side="left").sum() / 2.0**32

        def chance(height: float, rate: float = rate, odds: float = odds) -> float:
            return 1 / (1 + odds * float(np.exp(-rate * height)))

        assert sure <= chance(1) <= may < sure + 2.0**-14
        for wrong in (chance(2), chance(0), chance(0.5)):
            assert not sure <= wrong <= may


def test_noise_above_what_a_double_of_u_can_give_occurs() -> None:
    """An item 45 nats behind comes first where its number begins with 66 ones; -ln(-ln U) in doubles ends at 36.8."""
    behind = (1 << FRACTION_BITS) - (1 << (FRACTION_BITS - 66)) + 1
    middle = 1 << (FRACTION_BITS - 1)
    assert run(np.array([45, 0]), Fraction(1), 2, Written([middle, behind]), None) == [1, 0]
    assert -np.log(-np.log(1 - 2.0**-53)) < 45 - 0.37


# ---------------------------------------------------------------- edges


def test_no_items_and_few_items() -> None:
    none = np.zeros(0, dtype=np.int64)
    bits = TeachingBits(1)
    assert rank(none, RATE, 3, bits) == []
    assert rank(none, RATE, 3, bits, Bottom(1, Fraction(5))) == [-1]
    assert sorted(rank(np.full(5, 7), RATE, 9, bits)) == [0, 1, 2, 3, 4]
    assert sorted(rank(np.full(5, 7), RATE, 5, bits)) == [0, 1, 2, 3, 4]
    assert rank(np.array([3]), RATE, 1, bits) == [0]
    assert rank(np.array([10**6, 0, 10**5]), Fraction(1), 2, bits) == [0, 2]


@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(1, 10), Fraction(1000), Fraction(10**40)], ids=str)
@pytest.mark.parametrize("kind", ["ties", "spread", "huge"])
def test_long_lists_of_every_kind_are_complete(rate: Fraction, kind: str) -> None:
    """Different positions, as many as asked for, and in the order of the counts where the rate leaves no doubt."""
    counts = {
        "ties": np.full(20_000, 5),
        "spread": np.arange(20_000)[::-1] * 3,
        "huge": 10**18 - np.arange(20_000) * 10**12,
    }[kind]
    found = rank(counts, rate, 100, TeachingBits(4))
    assert len(set(found)) == 100
    if kind != "ties" and rate >= 1000:
        assert found == list(range(100))


def test_the_words_read_first_are_as_many_as_the_symbols() -> None:
    """And they are not reordered: the bits of the first look lie at the places of their symbols."""

    class Counting(Bits):
        kind, private = "counting", False

        def __init__(self) -> None:
            self.sizes: list[int] = []

        def take(self, count: int) -> bytes:
            self.sizes.append(count)
            return TeachingBits(len(self.sizes)).take(count)

    bits = Counting()
    rank(np.arange(1000), RATE, 5, bits, Bottom(0, Fraction(1)))
    assert bits.sizes[0] == 2 * 1001
    assert all(size % 4 == 0 and size < 200 for size in bits.sizes[1:])


def test_the_race_and_peeling_agree_on_a_certain_order() -> None:
    counts = [900, 100, 400, 0]
    bottom = Bottom(50, Fraction(10))
    assert rank(np.array(counts), Fraction(2), 9, TeachingBits(1), bottom) == [0, 2, 1, -1]
    assert peel(counts, Fraction(2), 9, TeachingBits(1), bottom) == [0, 2, 1, -1]


def test_parameters_out_of_range_are_refused_and_counts_are_not_looked_at() -> None:
    counts = np.array([1, 2])
    for rate, k in [(Fraction(0), 1), (Fraction(1), 0), (Fraction(-1), 1)]:
        with pytest.raises(ParameterError):
            rank(counts, rate, k, TeachingBits(1))
    with pytest.raises(ParameterError, match="odds must be positive"):
        rank(counts, Fraction(1), 1, TeachingBits(1), Bottom(1, Fraction(0)))
    with pytest.raises(ParameterError, match="64-bit integers"):
        rank(counts.astype(np.float64), Fraction(1), 1, TeachingBits(1))
