"""What top-k answers cost: three totals, the largest step that fits, and by enumeration what the bottom symbol adds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, exp_bounds
from dpviz.privacy import ZCDP, ApproxDP, Guarantee, RangeBounded, Unit, convert, group, to_approx, to_zcdp
from dpviz.privacy.conversion import STEP
from dpviz.privacy.range_bounded import ACCOUNTINGS, Accounting, StepPrice, calibrate, session_total, total
from tests.privacy.formulas import agreement, terms

EIGHTH = Fraction(1, 8)

step_sizes = st.fractions(min_value=Fraction(1, 1000), max_value=2, max_denominator=1000)
deltas = st.fractions(min_value=Fraction(1, 10**10), max_value=Fraction(1, 1000), max_denominator=10**10)
accountings = st.sampled_from(ACCOUNTINGS)


@given(step_sizes, deltas, st.integers(1, 60), st.integers(1, 30), deltas, accountings, st.sampled_from([1, 2]))
def test_a_total_is_its_formula_rounded_up_to_a_millionth(
    step: Fraction, delta: Fraction, steps: int, rounds: int, prime: Fraction, accounting: Accounting, factor: int
) -> None:
    listed = terms([factor * step] * steps, prime)
    if accounting == "zcdp":
        listed[2] = terms([factor * step] * steps, prime, EIGHTH)[2]
    shift = Fraction(0) if accounting == "paper" else agreement(steps, delta)
    for price, twice in ((total, rounds > 1), (session_total, True)):
        ours = price(step, delta, steps, rounds, prime, accounting, relation_factor=factor)
        assert min(listed) + shift <= ours.epsilon < min(listed) + shift + STEP + Fraction(1, 10**12)
        assert ours.delta == (2 if accounting == "paper" and twice else 1) * rounds * delta + prime


def test_the_totals_of_the_three_accountings_stand_in_their_order() -> None:
    """safe is paper and the agreement on a domain; zcdp has the smaller drift. Without it, it is too small."""
    step, delta, prime = Fraction(1, 10), Fraction(1, 10**4), Fraction(1, 10**6)
    safe, paper, zcdp = (total(step, delta, 200, 1, prime, accounting).epsilon for accounting in ACCOUNTINGS)
    assert abs(safe - paper - agreement(200, delta)) <= STEP
    assert zcdp < safe and abs(safe - zcdp - Fraction(3, 8) * 200 * step**2) <= STEP
    assert paper + STEP < safe


def test_a_sum_of_paper_steps_is_paid_as_it_is() -> None:
    third = Fraction(1, 3)
    assert total(third, third, 2, 1, Fraction(0), "paper") == ApproxDP(Fraction(2, 3), third)
    assert total(third, Fraction(0), 2, 1, Fraction(0), "safe") == ApproxDP(Fraction(2, 3), Fraction(0))


@settings(max_examples=60)
@given(
    st.fractions(min_value=Fraction(1, 50), max_value=20, max_denominator=50),
    st.sampled_from(["1e-3", "1e-6", "1e-12"]),
    st.sampled_from([1, 2, 10, 50, 1000, 20_000]),
    st.sampled_from([1, 20, 500]),
    accountings,
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2]),
)
def test_the_calibrated_step_is_the_largest_that_fits(
    epsilon: Fraction,
    delta: str,
    steps: int,
    rounds: int,
    accounting: Accounting,
    session: bool,
    bottom: bool,
    factor: int,
) -> None:
    price = session_total if session else total
    options = {"session": session, "bottom": bottom, "relation_factor": factor}
    try:
        parts = calibrate(epsilon, Fraction(delta), steps, rounds, accounting, **options)  # type: ignore[arg-type]
    except ParameterError:
        each = Fraction(delta) / (2 * rounds) if bottom else Fraction(0)
        least = price(Fraction(1, 10**9), each, steps, rounds, Fraction(delta) / 2, accounting, relation_factor=factor)
        assert least.epsilon > epsilon
        return
    doubled = 2 if accounting == "paper" and (session or rounds > 1) else 1
    assert parts.delta_prime == (Fraction(delta) / 2 if bottom else Fraction(delta))
    assert parts.delta == (Fraction(delta) / (2 * doubled * rounds) if bottom else 0)
    for more in (0, 1):
        step = parts.step + Fraction(more, 10**9)
        found = price(step, parts.delta, steps, rounds, parts.delta_prime, accounting, relation_factor=factor)
        assert (found.epsilon <= epsilon) is (more == 0)
    assert found.delta == Fraction(delta)


def test_pay_what_you_get_by_the_defaults() -> None:
    """k* = 50, l* = 20: delta' is D/2, a round's delta D/40, and a step about a twentieth of the whole."""
    parts = calibrate(Fraction(1), Fraction(1, 10**6), 50, 20, "safe", session=True)
    assert parts == StepPrice(parts.step, Fraction(1, 40 * 10**6), Fraction(1, 2 * 10**6))
    assert Fraction(49, 1000) < parts.step < Fraction(50, 1000)
    loose = calibrate(Fraction(1), Fraction(1, 10**6), 50, 20, "zcdp", session=True)
    assert loose.step > parts.step


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: calibrate(Fraction(1), Fraction(1, 2), 10, 1, "safe"), "must pay for 10 steps"),
        (lambda: calibrate(Fraction(1, 10**9), Fraction(1, 10**6), 10, 1, "safe"), "must pay for 10 steps"),
        (lambda: calibrate(Fraction(1), Fraction(0), 10, 1, "safe"), "a bottom symbol needs a delta"),
        (lambda: calibrate(Fraction(1), Fraction(1, 9), 0, 1, "safe"), "steps must be a whole number"),
        (lambda: calibrate(Fraction(1), Fraction(1, 9), 1, 0, "safe"), "rounds must be a whole number"),
        (
            lambda: total(Fraction(1), Fraction(1, 9), 1, 1, Fraction(0), "free"),
            'accounting must be "safe", "paper" or "zcdp"',
        ),
        # type: ignore[arg-type]
        (lambda: total(Fraction(1), Fraction(1, 9), 1, 9, Fraction(0), "safe"), "must stay below 1"),
        (lambda: total(Fraction(1), Fraction(1), 1, 1, Fraction(0), "safe"), r"must be a Fraction in \[0, 1\)"),
        (lambda: total(Fraction(-1), Fraction(0), 1, 1, Fraction(0), "safe"), "not negative"),
    ],
)
def test_what_cannot_be_priced_is_refused(wrong: object, said: str) -> None:
    assert callable(wrong)
    with pytest.raises(ParameterError, match=said):
        wrong()


# ---------------------------------------------------------------- the agreement on a domain, by enumeration


def peeled(weights: Sequence[Fraction], bottom: Fraction, k: int) -> dict[tuple[int, ...], Fraction]:
    """The law of k draws without replacement that end with the bottom symbol, -1. Items of weight 0 are not there."""
    law: dict[tuple[int, ...], Fraction] = {}

    def go(so_far: tuple[int, ...], chance: Fraction) -> None:
        if len(so_far) == k or so_far[-1:] == (-1,):
            law[so_far] = chance
            return
        left = [i for i, weight in enumerate(weights) if weight and i not in so_far]
        whole = bottom + sum(weights[i] for i in left)
        for i in left:
            go((*so_far, i), chance * weights[i] / whole)
        go((*so_far, -1), chance * bottom / whole)

    go((), Fraction(1))
    return law


def departures(base: int, delta: Fraction, touched: int, k: int) -> Iterator[tuple[Fraction, Fraction, int]]:
    """For all small histograms of known items and up to `touched` departing ones: the chance of each answer without
    departing items, its chance under the common domain, and its length. Odds of a step are `base`.
    """
    bottom = touched / delta
    for known in itertools.product(range(3), repeat=2):
        for gone in range(touched + 1):
            weights = [Fraction(base) ** (count - 1) for count in known]
            every = peeled([*weights, *[Fraction(1)] * gone], bottom, k)
            common = peeled(weights, bottom, k)
            for answer, chance in common.items():
                yield every[answer], chance, len(answer)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("touched", [1, 2])
def test_each_symbol_moves_the_odds_by_at_most_1_and_delta_and_the_first_does(k: int, touched: int) -> None:
    """The repair of Lemma 5.6, on all small cases; with delta/2 it fails, so the tests can tell."""
    delta = Fraction(1, 10)
    for share, holds in ((delta, True), (delta / 2, False)):
        kept = [
            common / (1 + share) ** length <= chance <= common
            for chance, common, length in departures(2, delta, touched, k)
        ]
        assert all(kept) is holds


def test_the_ratio_depends_on_the_answer_as_lemma_5_6_denies() -> None:
    """h = (0, 1, 1), B = 2, delta = 1/10, k = 2: 11/12 for the bottom symbol alone, 5/6 after one item."""
    weights, bottom = [Fraction(1), Fraction(1)], Fraction(10)
    every, common = peeled(weights, bottom, 2), peeled(weights[:1], bottom, 2)
    assert every[(-1,)] / common[(-1,)] == Fraction(11, 12)
    assert every[(0, -1)] / common[(0, -1)] == Fraction(5, 6)
    assert Fraction(5, 6) >= 1 / (1 + Fraction(1, 10)) ** 2 and Fraction(5, 6) < 1 / (1 + Fraction(1, 10))


# ---------------------------------------------------------------- the loss


@given(step_sizes, deltas, st.integers(1, 100), st.integers(1, 20))
def test_range_bounded_steps_with_a_delta_cost_their_agreement_too(
    step: Fraction, delta: Fraction, steps: int, rounds: int
) -> None:
    found = to_approx(RangeBounded(step, delta, steps, rounds))
    real = steps * step + agreement(steps, delta / rounds)
    assert found.delta == delta and found.epsilon == ceil_to(real, STEP) > steps * step
    assert to_approx(RangeBounded(step, steps=steps)) == ApproxDP(steps * step, Fraction(0))


def test_a_loss_with_a_delta_is_no_bare_rho() -> None:
    with pytest.raises(ParameterError, match="not zero-concentrated"):
        to_zcdp(RangeBounded(Fraction(1, 10), Fraction(1, 10**9), 5))


def test_a_group_pays_for_steps_with_a_delta_as_one_approximate_price() -> None:
    loss = RangeBounded(Fraction(1, 10), Fraction(1, 10**6), 5)
    assert group(loss, 2) == group(to_approx(loss), 2)
    low = exp_bounds(to_approx(loss).epsilon)[0]
    assert group(loss, 2).delta >= (1 + low) / 10**6  # type: ignore[union-attr]
    assert group(RangeBounded(Fraction(1, 10), steps=5), 2) == RangeBounded(Fraction(1, 5), steps=5)


def test_a_converted_guarantee_keeps_four_times_the_rho_of_its_noise() -> None:
    here, there = Unit("user", max_bins=3), Unit("user", "replace-one", max_bins=3)
    price = Guarantee(ApproxDP(Fraction(1), Fraction(1, 10**6)), here, "a rule", zcdp_steps=ZCDP(Fraction(1, 60)))
    assert convert(price, there).zcdp_steps == ZCDP(Fraction(4, 60))


def test_a_converted_guarantee_keeps_only_steps_that_need_no_agreement() -> None:
    here, there = Unit("user", max_bins=3), Unit("user", "replace-one", max_bins=3)
    for delta, kept in ((Fraction(0), RangeBounded(Fraction(1, 5), steps=5)), (Fraction(1, 10**6), None)):
        zcdp_steps = RangeBounded(Fraction(1, 10), delta, 5)
        assert (
            convert(Guarantee(to_approx(zcdp_steps), here, "a rule", zcdp_steps=zcdp_steps), there).zcdp_steps == kept
        )


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"rounds": 0}, {"delta": Fraction(1)}])
def test_a_loss_of_no_steps_or_of_no_privacy_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        RangeBounded(Fraction(1, 10), **wrong)  # type: ignore[arg-type]
