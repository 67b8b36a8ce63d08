"""Algorithm 8.5: a field folded onto a sampler's uniform integers, evenly, in order, and undone exactly."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.noise.empty_bin import ROOM, EmptyBin, fold, last, within
from dpviz.noise.finite import FiniteSampler, fastsample, geosample
from tests.noise.scripts import Script

SAMPLERS = [
    FiniteSampler(1, 2, 1),
    FiniteSampler(2, 2, 1),
    FiniteSampler(3, 3, 2),
    FiniteSampler(4, 5, 2),
    FiniteSampler(1, 2, 1, "fastsample", 2, 2),
    FiniteSampler(5, 3, 1, "fastsample", 3, 3),
    FiniteSampler(2, 2, 1, "fastsample", 3, 5),
]
FOLDED = [EmptyBin(sampler, sampler.size * a // b + c) for sampler in SAMPLERS for a, b, c in
          [(1, 1, 0), (1, 1, 1), (4, 3, 1), (3, 2, 0), (2, 1, -1), (2, 1, 0), (7, 1, 3), (9, 2, 1)]]  # fmt: skip
FOLDED += [EmptyBin(empty.sampler, empty.d0 + empty.cumulative[0]) for empty in FOLDED[5::8]]
"""The last have a remainder that covers the count 0 and no more: there both ends of the odds are met."""


def drawn(sampler: FiniteSampler, u: int) -> int:
    """The noisy count of an empty bin, by the sampler's own pure function."""
    if sampler.kind == "geosample":
        return geosample(0, u, n=sampler.n, p=sampler.p, q=sampler.q)
    assert sampler.g is not None and sampler.t is not None
    return fastsample(0, u, n=sampler.n, p=sampler.p, q=sampler.q, g=sampler.g, t=sampler.t)


def own_law(sampler: FiniteSampler) -> dict[int, Fraction]:
    counts = Counter(drawn(sampler, u) for u in range(1, sampler.size + 1))
    return {value: Fraction(counts[value], sampler.size) for value in range(sampler.n + 1)}


def test_folding_is_onto_in_order_and_as_even_as_can_be() -> None:
    for d in range(1, 9):
        for d0 in range(d, 30):
            folded = [fold(u0, d0=d0, d=d) for u0 in range(1, d0 + 1)]
            assert folded == sorted(folded) and set(folded) == set(range(1, d + 1))
            shares = Counter(folded)
            assert sorted(shares.values(), reverse=True) == [shares[u] for u in range(1, d + 1)]
            assert max(shares.values()) - min(shares.values()) <= 1
            for u in range(d + 1):
                assert last(u, d0=d0, d=d) == sum(value <= u for value in folded)


@pytest.mark.parametrize("empty", FOLDED, ids=str)
def test_an_element_stands_for_what_the_sampler_makes_of_its_fold(empty: EmptyBin) -> None:
    d = empty.sampler.size
    wanted = [drawn(empty.sampler, fold(element + 1, d0=empty.d0, d=d)) for element in range(empty.d0)]
    assert [empty.value(element) for element in range(empty.d0)] == wanted
    assert empty.values(list(range(empty.d0))) == wanted
    for value in range(empty.sampler.n + 1):
        first, length = empty.interval(value)
        assert [element for element, other in enumerate(wanted) if other == value] == list(range(first, first + length))


@pytest.mark.parametrize("empty", FOLDED, ids=str)
def test_the_law_of_an_empty_bin_is_within_the_papers_distance_of_the_samplers(empty: EmptyBin) -> None:
    """Lemma 8.4: e^(-2 d/d0) P <= P0 <= e^(d/d0) P where d0 >= 4 d/3, and an empty bin errs no more."""
    law, d, d0 = own_law(empty.sampler), empty.sampler.size, empty.d0
    if 3 * d0 >= 4 * d:
        low, high = exp_bounds(Fraction(-2 * d, d0))[1], exp_bounds(Fraction(d, d0))[0]
        assert all(low * law[value] <= empty.chance(value) <= high * law[value] for value in law)
    assert sum(empty.chance(value) for value in law) == 1
    for a in law:
        assert sum(empty.chance(v) for v in range(a + 1)) >= sum(law[v] for v in range(a + 1))


def ratios(empty: EmptyBin) -> Fraction:
    law = own_law(empty.sampler)
    over = [empty.chance(value) / law[value] for value in law]
    return max(over) / min(over)


@pytest.mark.parametrize("empty", FOLDED, ids=str)
def test_the_stated_odds_bound_what_folding_costs(empty: EmptyBin) -> None:
    assert ratios(empty) <= empty.odds


def test_the_stated_odds_are_reached_where_the_remainder_covers_a_count_and_spares_another() -> None:
    reached = [empty for empty in FOLDED if ratios(empty) == empty.odds]
    assert len(reached) >= len(SAMPLERS)
    for empty in FOLDED:
        rest, d = empty.d0 % empty.sampler.size, empty.sampler.size
        inner = empty.cumulative[0] <= rest <= empty.cumulative[empty.sampler.n - 1] and rest < d
        assert (ratios(empty) == empty.odds) or not inner


LARGER = [
    EmptyBin(sampler, sampler.size * 3 + add)
    for sampler in (
        FiniteSampler(50, 7, 6),
        FiniteSampler(50, 779, 64, "fastsample", 100, 9),
        FiniteSampler(5, 3, 2, "fastsample", 100, 30),
    )
    for add in (0, 1, sampler.size // 2, sampler.size - 1)
]


@pytest.mark.parametrize("empty", [*FOLDED, *LARGER], ids=str)
def test_one_chance_and_the_mean_are_those_of_the_whole_table(empty: EmptyBin) -> None:
    """What a plan asks for is computed by itself, for tables too long to be made."""
    table = [Fraction(empty.d0 - top, empty.d0) for top in empty.thresholds]
    assert [empty.above(value) for value in range(len(table))] == table
    assert empty.mean == sum(table)


def test_a_threshold_that_is_one_off_is_seen() -> None:
    """The twin with its first threshold one further has another law: it is outside the odds where d0 = 2 d."""
    empty = EmptyBin(FiniteSampler(2, 2, 1), 12)
    law = own_law(empty.sampler)
    first = Fraction(empty.thresholds[0] + 1, empty.d0)
    assert empty.chance(0) == law[0] and first / law[0] > 1


# ---------------------------------------------------------------- a uniform element of a hidden interval


def test_within_is_exactly_uniform_over_all_that_can_be_drawn() -> None:
    for width in range(1, 9):
        for length in range(1, (1 << width) + 1):
            counts = Counter(within(length, value, width) for value in range(1 << width))
            again = counts.pop(None, 0)
            assert set(counts) == set(range(length)) and len(set(counts.values())) == 1
            assert again == (1 << width) % length


def test_the_chance_of_drawing_again_is_negligible_for_every_interval() -> None:
    for empty in FOLDED:
        lengths = [empty.interval(value)[1] for value in range(empty.sampler.n + 1)] + [empty.d0]
        assert all((1 << empty.width) % length < 1 << empty.width - ROOM for length in lengths)


def test_an_element_is_a_pure_function_of_its_bytes_as_many_for_every_value() -> None:
    empty = EmptyBin(FiniteSampler(2, 2, 1), 17)
    size = empty.width // 8
    for value in (None, 0, 1, 2):
        first, length = (0, 17) if value is None else empty.interval(value)
        for number in (0, 1, 16, 17, 10**30):
            script = Script(number.to_bytes(size, "little") + b"rest")
            assert empty.element(value, script) == first + number % length
            assert script.left == 4


def test_what_does_not_fit_is_drawn_again() -> None:
    empty = EmptyBin(FiniteSampler(2, 2, 1), 17)
    size = empty.width // 8
    assert (1 << empty.width) % 17
    script = Script(b"\xff" * size + (5).to_bytes(size, "little"))
    assert empty.element(None, script) == 5 and script.left == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: fold(0, d0=5, d=3),
        lambda: fold(6, d0=5, d=3),
        lambda: fold(1, d0=2, d=3),
        lambda: within(0, 1, 4),
        lambda: within(17, 1, 4),
        lambda: EmptyBin(FiniteSampler(2, 2, 1), 5),
    ],
)
def test_arguments_outside_their_range_are_refused(call: object) -> None:
    with pytest.raises(ParameterError):
        call()  # type: ignore[operator]
