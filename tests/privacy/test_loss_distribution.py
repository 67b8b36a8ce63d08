"""Fixed lists: their exact price against literal product laws, another library, and prices that are nearly right."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import gmpy2
import pytest
from dp_accounting.pld import privacy_loss_distribution as theirs

from dpviz.errors import ParameterError
from dpviz.privacy import loss_distribution
from dpviz.privacy.discrete_gaussian import Shifts, calibrate, epsilon_of
from dpviz.privacy.loss import ApproxDP
from dpviz.privacy.loss_distribution import (
    MOST_APART,
    STEP,
    DominatingPair,
    GaussianMoves,
    GeometricMoves,
    RandomisedResponse,
    compose_fixed,
    fixed_delta,
    gaussian_pair,
)
from dpviz.privacy.optimal import exact_optimal_dp, optimal_dp

MILLIONTH = Fraction(1, 10**6)
BITS = 400

Literal = list[tuple[Any, Any]]
"""P and Q of every outcome."""


def big(number: Fraction | int) -> Any:
    return gmpy2.mpfr(gmpy2.mpq(Fraction(number).numerator, Fraction(number).denominator))


def response(epsilon: Fraction) -> Literal:
    likely = 1 / (1 + gmpy2.exp(-big(epsilon)))
    return [(likely, 1 - likely), (1 - likely, likely)]


def noisy(weights: Mapping[int, Any], move: int) -> Literal:
    """A count of 0 with this noise, and the same count moved."""
    total = sum(weights.values())
    return [
        (weights.get(z, 0) / total, weights.get(z - move, 0) / total)
        for z in range(min(weights), max(weights) + move + 1)
    ]


def geometric(rate: Fraction, move: int) -> Literal:
    reach = int(90 / rate)
    return noisy({z: gmpy2.exp(-big(rate) * abs(z)) for z in range(-reach, reach + 1)}, move)


def gaussian(variance: Fraction, move: int) -> Literal:
    reach = int(13 * math.sqrt(variance)) + move
    return noisy({z: gmpy2.exp(-z * z / (2 * big(variance))) for z in range(-reach, reach + 1)}, move)


def together(laws: list[Literal]) -> Iterator[tuple[Any, Any]]:
    for outcome in itertools.product(*laws):
        p = q = gmpy2.mpfr(1)
        for one, other in outcome:
            p, q = p * one, q * other
        yield p, q


def literal_delta(laws: list[Literal], epsilon: Fraction) -> Any:
    """The excess of P over e**epsilon Q, or of Q over e**epsilon P, summed over all outcomes: the larger."""
    odds = gmpy2.exp(big(epsilon))
    outcomes = list(together(laws))
    there = sum(max(gmpy2.mpfr(0), p - odds * q) for p, q in outcomes)
    back = sum(max(gmpy2.mpfr(0), q - odds * p) for p, q in outcomes)
    return max(there, back)


CASES: dict[str, tuple[dict[DominatingPair, int], list[Literal]]] = {}


def case(name: str, steps: dict[DominatingPair, int], laws: list[Literal]) -> None:
    CASES[name] = steps, laws


with gmpy2.context(precision=BITS):
    case(
        "seven responses of two kinds",
        {RandomisedResponse(Fraction(1, 3)): 4, RandomisedResponse(Fraction(1, 2)): 3},
        [response(Fraction(1, 3))] * 4 + [response(Fraction(1, 2))] * 3,
    )
    case("one count that moves by three", {GeometricMoves(Fraction(1), 3, 1): 1}, [geometric(Fraction(1), 3)])
    case("two counts that move by two", {GeometricMoves(Fraction(3, 2), 2, 2): 1}, [geometric(Fraction(3, 2), 2)] * 2)
    case(
        "a count and a response",
        {GeometricMoves(Fraction(2), 2, 1): 1, RandomisedResponse(Fraction(1)): 2},
        [geometric(Fraction(2), 2), response(Fraction(1)), response(Fraction(1))],
    )
    case("Gaussian noise", {GaussianMoves(Fraction(9, 2), Shifts.box(1, 2)): 1}, [gaussian(Fraction(9, 2), 2)])
    case("two Gaussian counts", {GaussianMoves(Fraction(3), Shifts.box(2, 1)): 1}, [gaussian(Fraction(3), 1)] * 2)
    case("two Gaussian answers", {GaussianMoves(Fraction(3), Shifts.box(1, 1)): 2}, [gaussian(Fraction(3), 1)] * 2)


def agree(found: Fraction, literal: Any, wide: Fraction) -> bool:
    """Whether a delta is the literal one, but for the tails that are left out there and roundings."""
    return abs(float(big(found) - literal)) <= 1e-30 + float(wide)


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("epsilon", ["0", "1/10", "0.77", "3/2", "5/2"])
def test_delta_is_that_of_the_literal_product_law(name: str, epsilon: str) -> None:
    steps, laws = CASES[name]
    with gmpy2.context(precision=BITS):
        low, high = fixed_delta(steps, Fraction(epsilon))
        literal = literal_delta(laws, Fraction(epsilon))
        # several Gaussian counts are known but for e**tau: tau is below 4.01 exp(-2 pi**2 v / n)
        close = Fraction(1, 10**10) if name == "two Gaussian counts" else Fraction(0)
        assert agree(high, literal, close) and high >= big(low) and big(high) >= literal - gmpy2.mpfr("1e-33")
        assert agree(low, literal, close)


@pytest.mark.parametrize("name", list(CASES))
def test_epsilon_is_the_least_millionth_at_which_the_literal_law_keeps_delta(name: str) -> None:
    steps, laws = CASES[name]
    with gmpy2.context(precision=BITS):
        for delta in (Fraction(1, 10), Fraction(1, 1000)):
            epsilon = compose_fixed(steps, delta).epsilon
            assert literal_delta(laws, epsilon) <= big(delta)
            assert epsilon == 0 or literal_delta(laws, epsilon - STEP) > big(delta)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ({RandomisedResponse(Fraction(1, 10)): 100}, "4.774568"),
        ({RandomisedResponse(Fraction(1, 10)): 30}, "2.345888"),
        ({RandomisedResponse(Fraction(1, 4)): 12}, "2.998996"),
        ({RandomisedResponse(Fraction(1, 5)): 50}, "6.883936"),
        ({GeometricMoves(Fraction(1, 100), 1, 10): 100}, "1.365447"),
        ({RandomisedResponse(Fraction(1, 10)): 20, RandomisedResponse(Fraction(1, 4)): 8}, "3.395511"),
        ({GeometricMoves(Fraction(1, 100), 1, 100): 1}, "0.392264"),
        ({GeometricMoves(Fraction(1, 10), 1, 10): 1}, "0.999371"),
    ],
)
def test_the_numbers_of_the_specification(steps: dict[DominatingPair, int], expected: str) -> None:
    assert compose_fixed(steps, MILLIONTH) == ApproxDP(Fraction(expected), MILLIONTH)


def test_as_many_equal_answers_fit_as_the_specification_says() -> None:
    def fits(rate: str, bins: int, many: int, epsilon: int) -> bool:
        steps: dict[DominatingPair, int] = {GeometricMoves(Fraction(rate) / bins, 1, bins): many}
        return compose_fixed(steps, MILLIONTH).epsilon <= epsilon

    for rate, bins, epsilon, most in (
        ("1/10", 10, 1, 56),
        ("1/10", 1, 3, 46),
        ("1/100", 1, 1, 562),
        ("1/10", 10, 3, 419),
    ):
        assert fits(rate, bins, most, epsilon) and not fits(rate, bins, most + 1, epsilon)


@pytest.mark.parametrize(("epsilon", "times"), [("1/10", 100), ("0.3", 25), ("2", 4)])
def test_another_library_composes_responses_to_the_same_delta(epsilon: str, times: int) -> None:
    value = float(Fraction(epsilon))
    likely = 1 / (1 + math.exp(-value))
    once = theirs.PrivacyLossDistribution.create_from_rounded_probability({1: likely, -1: 1 - likely}, 0.0, value)
    composed = once.self_compose(times)
    steps = {RandomisedResponse(Fraction(epsilon)): times}
    for share in ("0.13", "0.4", "0.77"):
        at = Fraction(share) * times * Fraction(epsilon)
        other = composed.get_delta_for_epsilon(float(at))
        assert math.isclose(float(fixed_delta(steps, at)[1]), other, rel_tol=1e-8, abs_tol=1e-12)


@pytest.mark.parametrize(("each", "counts", "times"), [(1, 10, 20), (3, 1, 5), (4, 3, 2)])
def test_another_library_composes_geometric_noise_to_the_same_epsilon(each: int, counts: int, times: int) -> None:
    rate = Fraction(1, 16)
    once = theirs.from_discrete_laplace_mechanism(
        float(rate), sensitivity=each, value_discretization_interval=float(rate)
    )
    other = once.self_compose(counts * times).get_epsilon_for_delta(1e-6)
    found = compose_fixed({GeometricMoves(rate, each, counts): times}, MILLIONTH).epsilon
    assert abs(float(found) - other) < 2e-6


@pytest.mark.parametrize(("k", "epsilon"), [(7, "1"), (40, "1/10"), (101, "0.02")])
def test_the_printed_corners_lie_on_the_curve(k: int, epsilon: str) -> None:
    """Kairouz, Oh, Viswanath: pure answers of one epsilon."""
    steps = {RandomisedResponse(Fraction(epsilon)): k}
    for corner in itertools.islice(optimal_dp(k, Fraction(epsilon)), 1, None):
        low, high = fixed_delta(steps, corner.epsilon)
        assert low <= corner.delta * (1 + Fraction(1, 10**25)) and corner.delta <= high * (1 + Fraction(1, 10**25))


@pytest.mark.parametrize(("bins", "times"), [(1, 1), (10, 1), (10, 10), (3, 40)])
def test_gaussian_answers_go_on_as_one_longer_move(bins: int, times: int) -> None:
    """By concatenation: the exact delta of all their counts at once."""
    moves, longer = Shifts.box(bins, 1), Shifts.box(bins * times, 1)
    variance = times * calibrate(moves, Fraction(1), MILLIONTH).variance
    found = compose_fixed({GaussianMoves(variance, moves): times}, MILLIONTH).epsilon
    assert found == epsilon_of(longer, variance, MILLIONTH)


@pytest.mark.parametrize("k", [1, 2, 3, 8, 11, 100])
@pytest.mark.parametrize("epsilon", ["1/10", "1/2", "3"])
def test_the_chord_between_printed_corners_is_the_same_price(k: int, epsilon: str) -> None:
    for delta in ("1e-6", "1e-2", "1/3", "0.9"):
        found = compose_fixed({RandomisedResponse(Fraction(epsilon)): k}, Fraction(delta)).epsilon
        assert exact_optimal_dp(k, Fraction(epsilon), Fraction(delta)) == found


def test_deltas_of_steps_are_kept_apart() -> None:
    own = Fraction(1, 10**8)
    steps = {RandomisedResponse(Fraction(1, 10), own): 20}
    keeps = (1 - own) ** 20
    pairs = compose_fixed({RandomisedResponse(Fraction(1, 10)): 20}, 1 - (1 - MILLIONTH) / keeps)
    assert compose_fixed(steps, MILLIONTH).epsilon == pairs.epsilon
    assert compose_fixed(steps, 1 - keeps).epsilon == 2, "all of delta is theirs, and epsilons add up"
    with pytest.raises(ParameterError, match="covers them.* give a delta of 0.0000002 or more"):
        compose_fixed(steps, own)
    for epsilon in ("0.4", "1"):
        alone = fixed_delta({RandomisedResponse(Fraction(1, 10)): 20}, Fraction(epsilon))
        assert fixed_delta(steps, Fraction(epsilon))[1] == 1 - (1 - alone[1]) * keeps


def test_a_step_with_a_delta_is_the_four_point_pair() -> None:
    """Kairouz, Oh, Viswanath: with a chance of delta an outcome that one side alone has."""
    epsilon, own = Fraction(1, 2), Fraction(1, 50)
    with gmpy2.context(precision=BITS):
        keep = 1 - big(own)
        law = [(p * keep, q * keep) for p, q in response(epsilon)] + [(big(own), 0), (0, big(own))]
        for at in ("1/10", "1/2", "3/4"):
            literal = literal_delta([law] * 3, Fraction(at))
            assert agree(fixed_delta({RandomisedResponse(epsilon, own): 3}, Fraction(at))[1], literal, Fraction(0))


# ---------------------------------------------------------------- nearly right


def test_corners_alone_overcharge() -> None:
    corners = [corner for corner in optimal_dp(100, Fraction(1, 10)) if corner.delta <= MILLIONTH]
    found = compose_fixed({RandomisedResponse(Fraction(1, 10)): 100}, MILLIONTH).epsilon
    assert min(corner.epsilon for corner in corners) == Fraction(48, 10) > found


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lattices of a few losses, so that each list is rounded."""
    monkeypatch.setattr(loss_distribution, "MOST_LOSSES", 24)
    loss_distribution._composed.cache_clear()
    yield
    loss_distribution._composed.cache_clear()


MIXED: dict[DominatingPair, int] = {
    RandomisedResponse(Fraction(1, 7)): 6,
    RandomisedResponse(Fraction(23, 100)): 5,
    GeometricMoves(Fraction(1, 11), 2, 2): 4,
}


DELTAS = [Fraction(1, many) for many in (5, 10, 30, 100, 1000, 10**6)]


def charged_too_little(epsilons: Mapping[Fraction, Fraction]) -> list[Fraction]:
    """The deltas at which the finely computed delta of MIXED is surely above them."""
    loss_distribution.MOST_LOSSES = 1 << 16
    loss_distribution._composed.cache_clear()
    return [delta for delta, epsilon in epsilons.items() if fixed_delta(MIXED, epsilon)[0] > delta]


def test_losses_that_are_rounded_up_never_charge_too_little(few: None) -> None:
    coarse = {delta: compose_fixed(MIXED, delta).epsilon for delta in DELTAS}
    enclosed = {epsilon: fixed_delta(MIXED, epsilon) for epsilon in (Fraction(1, 3), Fraction(1))}
    assert charged_too_little(coarse) == []
    for epsilon, (low, high) in enclosed.items():
        least, most = fixed_delta(MIXED, epsilon)
        assert low <= least and most <= high and low < high


def test_losses_that_are_rounded_to_the_nearest_charge_too_little() -> None:
    """Fifty responses whose lower loss lies nearer to a lattice point below it."""
    step, unit, delta = RandomisedResponse(Fraction(149, 1000)), Fraction(19, 100), Fraction(1, 1000)
    fine = step.loss_lattice(loss_distribution.PLACES)
    up = fine.on_lattice(unit)
    nearest = replace(up, masses=(fine.masses[0], gmpy2.mpz(0), fine.masses[1]))
    assert round(fine.unit / unit) == 2 and up.masses == fine.masses
    right, wrong = (loss_distribution._least(lattice.added_up(50), delta) for lattice in (up, nearest))
    assert fixed_delta({step: 50}, right)[1] <= delta < fixed_delta({step: 50}, wrong)[0]


def test_masses_that_are_rounded_down_charge_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the delta is so small that the rounding shows."""
    steps, delta = {RandomisedResponse(Fraction(1, 2)): 8}, Fraction(1, 1000)
    real = compose_fixed(steps, delta).epsilon

    def down(values: Any, places: int) -> tuple[Any, ...]:
        return tuple(gmpy2.mpz((value.numerator << 8) // value.denominator) << (places - 8) for value in values)

    monkeypatch.setattr(loss_distribution, "_masses", down)
    loss_distribution._composed.cache_clear()
    wrong = compose_fixed(steps, delta).epsilon
    loss_distribution._composed.cache_clear()
    with gmpy2.context(precision=BITS):
        laws = [response(Fraction(1, 2))] * 8
        assert literal_delta(laws, real) <= big(delta) < literal_delta(laws, wrong)


def test_deltas_of_gaussian_answers_one_by_one_are_wasteful() -> None:
    moves = Shifts.box(10, 1)
    variance = calibrate(moves, Fraction(1, 5), Fraction(1, 10**8)).variance
    together_ = compose_fixed({GaussianMoves(variance, moves): 30}, MILLIONTH).epsilon
    each = RandomisedResponse(Fraction(1, 5), Fraction(1, 10**8))
    assert together_ < Fraction(2, 5) * compose_fixed({each: 30}, MILLIONTH).epsilon


def test_the_price_of_a_list_is_no_filter() -> None:
    """An analyst whose second price depends on the first answer: both lists keep delta, and the two together do not.

    After the first answer, of epsilon 1, comes one further answer or eight small ones.
    """
    first, at = Fraction(1), Fraction(6, 5)
    with gmpy2.context(precision=BITS):
        (up, down), (less, more) = response(first)

        def parts(rest: list[Literal]) -> tuple[Any, Any]:
            odds = gmpy2.exp(big(at))
            outcomes = list(together(rest))
            high = sum(max(gmpy2.mpfr(0), up * p - odds * down * q) for p, q in outcomes)
            return high, sum(max(gmpy2.mpfr(0), less * p - odds * more * q) for p, q in outcomes)

        one = parts([response(Fraction(3, 2))])
        delta = one[0] + one[1]
        small = [Fraction(step, 1000) for step in range(1, 600)]
        fits = [step for step in small if sum(parts([response(step)] * 8)) <= delta]
        many = parts([response(max(fits))] * 8)
        assert many[0] + many[1] <= delta
        assert max(one[0] + many[1], many[0] + one[1]) > delta * 1.01, "what an adaptive analyst gets"


# ---------------------------------------------------------------- its edges


def test_a_thousand_equal_steps_take_less_than_half_a_second() -> None:
    for step in (RandomisedResponse(Fraction(1, 10)), GeometricMoves(Fraction(1, 100), 1, 10)):
        loss_distribution._composed.cache_clear()
        began = time.process_time()
        compose_fixed({step: 1000}, MILLIONTH)
        assert time.process_time() - began < 0.5


def test_a_list_without_delta_costs_its_sum() -> None:
    assert compose_fixed({RandomisedResponse(Fraction(1, 10)): 7}, Fraction(0)).epsilon == Fraction(7, 10)
    assert compose_fixed([], MILLIONTH).epsilon == 0 == fixed_delta([], Fraction(1))[1]
    with pytest.raises(ParameterError, match="without bounds"):
        compose_fixed({GaussianMoves(Fraction(3), Shifts.box(1, 1)): 1}, Fraction(0))


def test_a_delta_far_below_the_masses_is_met() -> None:
    delta = Fraction(1, 10**90)
    found = compose_fixed({RandomisedResponse(Fraction(1)): 1000}, delta).epsilon
    low, _ = fixed_delta({RandomisedResponse(Fraction(1)): 1000}, found)
    assert low <= delta and 500 < found < 1000


def test_wide_counts_are_put_in_blocks_on_the_safe_side() -> None:
    """A count that moves by 10,000: the same as one response of the whole epsilon, nearly."""
    wide = compose_fixed({GeometricMoves(Fraction(1, 10_000), 10_000, 1): 1}, Fraction(1, 10)).epsilon
    fine = compose_fixed({GeometricMoves(Fraction(1, 4000), 4000, 1): 1}, Fraction(1, 10)).epsilon
    assert fine <= wide <= fine + Fraction(1, 1000)
    assert wide < compose_fixed({RandomisedResponse(Fraction(1)): 1}, Fraction(1, 10)).epsilon


def test_gaussian_noise_without_one_worst_move_has_no_pair() -> None:
    assert gaussian_pair(Fraction(20), Shifts.within(20, 3)) is None
    assert gaussian_pair(Fraction(1), Shifts.box(4, 1)) is None, "too narrow for the rule of several counts"
    assert gaussian_pair(Fraction(10**9), Shifts.box(1, 1)) is None
    assert gaussian_pair(Fraction(20), Shifts.box(4, 1)) == GaussianMoves(Fraction(20), Shifts.box(4, 1))
    with pytest.raises(ParameterError, match="proved to be the worst"):
        GaussianMoves(Fraction(1), Shifts.box(4, 1))


@pytest.mark.parametrize("times", [0, -1, True, 1.5])
def test_a_step_comes_a_whole_number_of_times(times: Any) -> None:
    with pytest.raises(ParameterError, match="whole number above 0"):
        compose_fixed({RandomisedResponse(Fraction(1)): times}, MILLIONTH)


@pytest.mark.parametrize("seed", range(12))
def test_random_lists_keep_their_delta(seed: int) -> None:
    """Against literal laws, and never above the sum of epsilons by more than a millionth."""
    chance = random.Random(seed)
    with gmpy2.context(precision=BITS):
        steps: dict[DominatingPair, int] = {}
        laws: list[Literal] = []
        for _ in range(chance.randint(1, 4)):
            if chance.random() < 0.3:
                rate, each = Fraction(chance.randint(20, 40), 20), chance.randint(1, 3)
                pair: DominatingPair = GeometricMoves(rate, each, 1)
                law = [(p, q) for p, q in merged(geometric(rate, each))]
            else:
                epsilon = Fraction(chance.randint(1, 30), chance.choice([10, 7, 16]))
                pair, law = RandomisedResponse(epsilon), response(epsilon)
            steps[pair] = steps.get(pair, 0) + 1
            laws.append(law)
        delta = Fraction(chance.randint(1, 99), 10 ** chance.randint(2, 5))
        epsilon = compose_fixed(steps, delta).epsilon
        assert literal_delta(laws, epsilon) <= big(delta)
        assert epsilon == 0 or literal_delta(laws, epsilon - STEP) > big(delta)


def merged(law: Literal) -> Literal:
    """Outcomes of one loss as one outcome: a delta stays as it is, and a product law has fewer outcomes."""
    found: dict[str, tuple[Any, Any]] = {}
    for p, q in law:
        loss = "inf" if not q else "-inf" if not p else f"{float(gmpy2.log(p / q)):.9f}"
        one, other = found.get(loss, (0, 0))
        found[loss] = one + p, other + q
    return list(found.values())


def test_many_losses_without_a_common_unit_are_refused_and_those_with_one_are_not() -> None:
    """Each further one costs a product of long lattices: a list of a thousand would take minutes to plan."""
    apart = [RandomisedResponse(Fraction(1, 300 + at)) for at in range(100)]
    with pytest.raises(ParameterError, match="composed exactly where its different ε are multiples of one step"):
        compose_fixed(apart, Fraction(1, 10**6))
    assert compose_fixed(apart[:MOST_APART], Fraction(1, 10**6)).epsilon < sum(
        one.epsilon for one in apart[:MOST_APART]
    )
    together = [RandomisedResponse(Fraction(100 + at, 1000)) for at in range(100)]
    assert compose_fixed(together, Fraction(1, 10**6)).epsilon < sum(one.epsilon for one in together)
