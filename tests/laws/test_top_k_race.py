"""The pictures of a race: within 1e-12 of the enumeration, and true to each other where that is out of reach."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpviz.laws import race
from dpviz.laws.race import (
    Race,
    difference_needed,
    full_list_count,
    kbar_trade_off,
    noise_band,
    noise_quantile,
    paper_alpha,
    power_law_kbar,
    ranked_above,
    sharper_alpha,
    threshold,
)
from dpviz.laws.top_k import Competition, Law, Outcome, limit_domain, peeled
from tests.noise.statistics import FALSE_ALARM

NEAR = 1e-12


def power_law(largest: float, size: int, exponent: float = 1.1) -> np.ndarray:
    return np.floor(largest * np.arange(1, size + 1) ** -exponent).astype(np.int64)


def chance(law: Law, holds: Callable[[Outcome], object]) -> float:
    return float(sum((part for outcome, part in law.items() if holds(outcome)), Fraction(0)))


def items(outcome: Outcome) -> list[int]:
    return [label for label in outcome if label >= 0]


def of_length(law: Law, length: int) -> float:
    return chance(law, lambda outcome: len(items(outcome)) == length)


def with_item(law: Law, place: int) -> float:
    return chance(law, lambda outcome: place in outcome)


def beginning(law: Law, place: int) -> float:
    return chance(law, lambda outcome: outcome[:1] == (place,))


def below(law: Law, counts: list[int], least: float) -> float:
    return chance(law, lambda outcome: any(counts[place] < least for place in items(outcome)))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=5),
    st.integers(1, 6),
    st.fractions(Fraction(11, 10), 5, max_denominator=20),
    st.none() | st.tuples(st.integers(-3, 9), st.fractions(Fraction(1, 100), 10**4, max_denominator=100)),
)
def test_every_question_about_a_short_list_is_answered_as_the_enumeration_does(
    counts: list[int], k: int, base: Fraction, bottom: tuple[int, Fraction] | None
) -> None:
    counts.sort(reverse=True)
    rate = math.log(base)
    weight = None if bottom is None else bottom[1] * base ** bottom[0]
    law = peeled({place: base**count for place, count in enumerate(counts)}, k, weight)
    height = None if bottom is None else bottom[0] + math.log(bottom[1]) / rate
    found = Race(np.array(counts), rate, k, height)
    lengths = [of_length(law, length) for length in range(k + 1)]
    assert found.lengths() == pytest.approx(lengths, abs=NEAR)
    assert found.chance_of_k() == pytest.approx(lengths[k], abs=NEAR)
    assert found.expected_charge() == pytest.approx(float(sum(len(o) * part for o, part in law.items())), abs=NEAR)
    places = range(len(counts))
    assert found.inclusion() == pytest.approx([with_item(law, place) for place in places], abs=NEAR)
    first, ended = found.first()
    assert first == pytest.approx([beginning(law, place) for place in places], abs=NEAR)
    assert ended == pytest.approx(beginning(law, -1), abs=NEAR)
    alphas = [0, 0.5, 1, 2, 4, 8]
    least = counts[k - 1] if len(counts) >= k else -1
    assert found.misses(alphas) == pytest.approx([below(law, counts, least - alpha) for alpha in alphas], abs=NEAR)


def test_an_integral_that_forgot_the_cap_or_left_no_clock_out_would_be_refused() -> None:
    """Three equal items, k = 1: without the cap each had 1/2, with its own clock among its rivals 1/5."""
    law = peeled(dict.fromkeys(range(3), Fraction(1)), 1, Fraction(1))
    found = Race(np.array([0, 0, 0]), 1.0, 1, 0.0).inclusion()
    assert found == pytest.approx([float(law[(0,)])] * 3, abs=NEAR)
    assert found == pytest.approx([0.25] * 3, abs=NEAR)
    assert abs(found[0] - 1 / 2) > 0.2
    assert abs(found[0] - 1 / 5) > 0.04


def test_without_truncation_an_item_is_kept_by_its_own_clock() -> None:
    counts, rate, height = power_law(200, 60), 0.1, 37.0
    found = Race(counts, rate, 60, height).inclusion()
    assert found == pytest.approx(ranked_above(counts - height, rate), abs=NEAR)


@pytest.mark.parametrize(
    ("largest", "size", "k", "rate"),
    [(1e4, 1000, 10, 0.1), (1e4, 5000, 100, 0.1), (1e5, 5000, 100, 2), (1e4, 5000, 100, 0.005), (1e7, 2000, 100, 0.01)],
)
@pytest.mark.parametrize("ended", [True, False])
def test_chances_of_long_lists_add_up(largest: float, size: int, k: int, rate: float, ended: bool) -> None:
    """Inclusion chances to the expected number of items, which comes from another integral; and they fall."""
    counts = power_law(largest, size)
    found = Race(counts, rate, k, threshold(int(counts[-1]), 1, 20, 1e-8, rate) if ended else None)
    inclusion, lengths = found.inclusion(), found.lengths()
    assert lengths.sum() == pytest.approx(1, abs=NEAR)
    assert inclusion.sum() == pytest.approx(found.expected_items(), abs=k * NEAR)
    assert (np.diff(inclusion) <= NEAR).all()
    misses = found.misses(np.linspace(0, 100 / rate, 20))
    assert (np.diff(misses) <= NEAR).all()


def test_grids_are_fine_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid three times as fine changes nothing."""
    cases = [
        Race(power_law(1e4, 3000), 0.1, 100, 120.0),
        Race(power_law(1e3, 500), 1.0, 30, None),
        Race(np.full(200, 9), 1.0, 50, 4.0),
    ]
    coarse = [answers(case) for case in cases]
    step = race._grid

    def finer(first: float, last: float, k: int) -> np.ndarray:
        return step(first, last, 9 * k) if k > 9 else np.arange(first, last, 0.03)

    monkeypatch.setattr(race, "_grid", finer)
    fine = [answers(replace(case)) for case in cases]
    for found, again in zip(coarse, fine, strict=True):
        for one, other in zip(found, again, strict=True):
            assert one == pytest.approx(other, abs=NEAR)


def answers(found: Race) -> list[np.ndarray]:
    return [found.inclusion(), found.lengths(), found.misses([0, 3, 9])]


def test_a_simulation_agrees_with_the_integrals() -> None:
    """How often each item and each length came is as likely as binomial numbers are, together but once in 10**9.

    A threshold 3 lower is refused by both.
    """
    runs, found = 20_000, Race(power_law(300, 80), 0.3, 12, 40.0)
    lower = Race(found.counts, 0.3, 12, 37.0)
    generator = np.random.default_rng(3)
    scores = 0.3 * np.append(found.counts, 40.0) + generator.gumbel(size=(runs, 81))
    order = np.argsort(-scores, axis=1)[:, :12]
    listed = np.cumsum(order == 80, axis=1) == 0
    lengths, kept = np.bincount(listed.sum(axis=1), minlength=13), np.bincount(order[listed], minlength=80)

    def least_likely(seen: np.ndarray, chances: np.ndarray) -> float:
        law = stats.binom(runs, np.clip(chances, 1e-15, 1 - 1e-15))
        return float(np.minimum(law.cdf(seen), law.sf(seen - 1)).min())

    bound = FALSE_ALARM / (2 * (kept.size + lengths.size))
    assert least_likely(kept, found.inclusion()) > bound
    assert least_likely(lengths, found.lengths()) > bound
    assert least_likely(kept, lower.inclusion()) < bound
    assert least_likely(lengths, lower.lengths()) < bound


def test_lists_without_items_and_without_an_end() -> None:
    none = Race(np.zeros(0, dtype=np.int64), 0.1, 3, 5.0)
    assert none.lengths().tolist() == [1, 0, 0, 0]
    assert none.expected_charge() == 1
    assert none.first()[1] == 1
    assert none.inclusion().size == 0
    all_ = Race(np.array([5, 3]), 0.1, 3, None)
    assert all_.lengths().tolist() == [0, 0, 1, 0]
    assert all_.inclusion().tolist() == [1, 1]
    assert all_.expected_charge() == 2
    assert all_.misses([0.0]).tolist() == [0]


# ---------------------------------------------------------------- formulas


def test_the_threshold_of_the_worked_example() -> None:
    assert threshold(7, 1, 5, 1e-6, 0.1) == pytest.approx(162.2495, abs=5e-5)


def test_one_item_exceeds_another_by_what_is_needed() -> None:
    assert ranked_above(difference_needed(0.05, 0.1), 0.1) == pytest.approx(0.95, abs=NEAR)
    law = peeled({0: Fraction(8), 1: Fraction(2)}, 1)
    assert ranked_above(2, math.log(2)) == pytest.approx(float(law[(0,)]), abs=NEAR)


def test_noise_has_gumbel_quantiles_and_bands() -> None:
    rate, gumbel = 0.4, stats.gumbel_r(scale=1 / 0.4)
    assert noise_quantile(0.9, rate) == pytest.approx(gumbel.ppf(0.9))
    assert noise_quantile(0.9, rate, draws=7) == pytest.approx(gumbel.ppf(0.9 ** (1 / 7)))
    low, high = noise_band(0.05, 51, rate)
    assert 1 - gumbel.cdf(high) ** 51 == pytest.approx(0.05)
    assert 0.04 < 1 - gumbel.sf(low) ** 51 <= 0.05


@pytest.mark.parametrize("beta", [0.05, 0.5])
def test_the_alphas_hold_and_the_sharper_one_is_sharper(beta: float) -> None:
    """The exact chance of a miss is below beta at both, on the worst counts: all others right below the k-th."""
    k, kbar, rate = 5, 40, 0.2
    assert sharper_alpha(k, kbar, beta, rate) < paper_alpha(k, kbar, beta, rate)
    assert sharper_alpha(k, k, beta, rate) == 0
    alpha = sharper_alpha(k, kbar, beta, rate)
    counts = np.array([1000] * k + [1000 - math.floor(alpha) - 1] * (kbar - k))
    missed = Race(counts, rate, k, None).misses([alpha])[0]
    assert beta / 4 < missed <= beta
    assert Race(counts, rate, k, None).misses([0.0])[0] == missed


def test_a_high_count_gives_a_full_list() -> None:
    k, beta, rate, height = 8, 0.05, 0.3, 100.0
    least = full_list_count(k, beta, rate, height)
    assert Race(np.full(k, math.ceil(least)), rate, k, height).chance_of_k() >= 1 - beta
    assert Race(np.full(k, math.floor(least) - 8), rate, k, height).chance_of_k() < 1 - beta


def test_kbar_is_traded_off_as_the_enumeration_says() -> None:
    histogram, base, delta, kbars = (9, 6, 6, 2, 1, 0), Fraction(3, 2), Fraction(1, 10), [2, 3, 4, 5]
    domains = [Competition(delta, kbar) for kbar in kbars]
    rate = math.log(base)
    bottoms = [threshold(domain.next_count(histogram), 1, domain.kbar, 0.1, rate) for domain in domains]
    expected, full = kbar_trade_off(np.array(histogram), rate, 2, bottoms, kbars)
    for at, domain in enumerate(domains):
        law = limit_domain(histogram, base, 2, domain)
        assert full[at] == pytest.approx(of_length(law, 2), abs=NEAR)
        assert expected[at] == pytest.approx(sum(j * of_length(law, j) for j in (1, 2)), abs=NEAR)


@pytest.mark.parametrize(("k", "rate"), [(5, 0.1), (40, 0.1), (10, 3.0), (10, 0.001)])
def test_many_kbars_are_traded_off_as_one_by_one(k: int, rate: float) -> None:
    """Also where a kbar parts equal counts, and where the bottom symbols are far from each other."""
    counts = power_law(2000, 700, 1.0)
    kbars = np.unique(np.geomspace(k, 600, 25).astype(int)).tolist()
    bottoms = [threshold(int(counts[kbar]), 1, kbar, 1e-6, rate) for kbar in kbars]
    alone = [Race(counts[:kbar], rate, k, bottom) for kbar, bottom in zip(kbars, bottoms, strict=True)]
    expected, full = kbar_trade_off(counts, rate, k, bottoms, kbars)
    assert expected == pytest.approx([each.expected_items() for each in alone], abs=k * NEAR)
    assert full == pytest.approx([each.chance_of_k() for each in alone], abs=NEAR)
    assert expected == pytest.approx([each.inclusion().sum() for each in alone], abs=k * NEAR)


def test_the_threshold_of_a_power_law_is_lowest_where_the_formula_says() -> None:
    largest, exponent, rate = 1e4, 1.1, 0.1
    kbars = np.arange(10, 5000)
    heights = largest * (kbars + 1.0) ** -exponent + np.log(kbars / 1e-8) / rate
    assert abs(kbars[np.argmin(heights)] - power_law_kbar(largest, exponent, rate)) < 10
