"""TopK against its definition: the law of whole lists, the price over all neighbours, and what is not private."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, exp_bounds, log1p_bounds
from dpviz.mechanisms.top_k import TopKBound
from dpviz.model.answers import Ranked
from dpviz.model.question import Question
from dpviz.model.source import TopRules
from dpviz.model.statistic import Top, TopCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.conversion import STEP, group
from dpviz.privacy.loss import ApproxDP, PureDP, RangeBounded
from tests.mechanisms.ranking import (
    FALSE_ALARM,
    NO_MORE,
    Cells,
    Counts,
    Law,
    Limited,
    answer_of,
    bins,
    hockey_stick,
    law_of,
    neighbours,
    order,
    orders,
    statistic,
    worst_delta,
    worst_ratio,
)

BASE = Fraction(2)
DELTA = Fraction(1, 10)
KEYS = Question.of(dv.Domain.keys(column="dest"))
USER = dv.Unit("user", max_bins=5)


def unit_of(max_bins: int | None, relation: str = "add-remove", max_per_bin: int = 1) -> dv.Unit:
    return dv.Unit("user", relation=relation, max_bins=max_bins, max_per_bin=max_per_bin)  # type: ignore[arg-type]


def bound_of(
    unit: dv.Unit, rule: str, k: int, kbar: int, number: int, ties: str = "label", step: object = "0.7"
) -> TopKBound:
    made = dv.TopK(k, kbar, epsilon_per_item=step, delta=DELTA, domain_rule=rule, ties=ties)  # type: ignore[arg-type]
    return made.bind(bins(number), unit)


def limited(unit: dv.Unit, rule: str, k: int, kbar: int, number: int, ties: str = "label", base: Any = BASE) -> Limited:
    """The mechanism as the specification has it: m and gap by hand."""
    swapped = unit.relation == "replace-one"
    gap = unit.max_per_bin * (2 if swapped else 1)
    m = kbar if unit.max_bins is None else min((1 + swapped) * unit.max_bins, kbar)
    if rule == "strict" or ties == "unknown":
        m = kbar
    if rule == "paper" and kbar == number:
        m = 0
    return Limited(rule, k, kbar, m, gap, base, DELTA)


UNITS = [unit_of(most, relation, 1) for most in (1, 2, None) for relation in ("add-remove", "replace-one")]
HEAVY = [unit_of(most, relation, 2) for most in (1, None) for relation in ("add-remove", "replace-one")]
RULES = ("positive", "strict", "paper")
SIZES = [(1, 1), (1, 2), (2, 2), (2, 3)]
SHAPES = list(itertools.product([*UNITS, *HEAVY], RULES, SIZES))


def shape_name(shape: Any) -> str:
    unit, rule, (k, kbar) = shape
    return f"{unit.relation}-{unit.max_bins}-{unit.max_per_bin}-{rule}-{k}-{kbar}"


def odds_of(law: Limited, k: int, *, safe: bool = True) -> Fraction:
    """exp of the pure sum: k steps, and ln(1 + delta) for each where a bottom symbol competes."""
    return Fraction(law.base) ** (law.gap * k) * ((1 + law.delta) ** k if safe and law.m else 1)


# ---------------------------------------------------------------- the law


@pytest.mark.parametrize("shape", SHAPES, ids=shape_name)
def test_what_is_drawn_has_the_law_of_the_definition_on_every_small_histogram(shape: Any) -> None:
    unit, rule, (k, kbar) = shape
    number = 3
    bound, oracle = bound_of(unit, rule, k, kbar, number), limited(unit, rule, k, kbar, number)
    for counts in itertools.product(range(5), repeat=number):
        contest = bound.rule.contest(bound.rule.rows(statistic(counts, kbar), kbar), kbar, bound.step_price.delta)
        law = law_of(contest, bound.max_items, BASE)
        assert law == oracle.law(counts), counts
        assert sum(law.values()) == 1


@pytest.mark.parametrize("rule", RULES)
def test_a_mechanism_without_the_gap_would_be_found(rule: str) -> None:
    bound, oracle = bound_of(UNITS[0], rule, 2, 2, 3), limited(UNITS[0], rule, 2, 2, 3)
    wrong = replace(oracle, gap=0)
    contest = bound.rule.contest(bound.rule.rows(statistic((4, 2, 1), 2), 2), 2, DELTA)
    assert law_of(contest, 2, BASE) == oracle.law((4, 2, 1)) != wrong.law((4, 2, 1))


def test_the_worked_example() -> None:
    """Counts (1, 1), next count 0, k = kbar = 2, one bin a user, base 2, delta 1/10."""
    contest_of = bound_of(unit_of(1), "positive", 2, 2, 2)
    rows = contest_of.rule.rows(statistic((1, 1), 2), 2)
    law = law_of(contest_of.rule.contest(rows, 2, DELTA), 2, BASE)
    assert law[(NO_MORE,)] == Fraction(5, 6)
    assert law[(0, NO_MORE)] == Fraction(5, 66) and law[(0, 1)] == Fraction(1, 132)
    assert sum(chance for answer, chance in law.items() if answer[0] == 0) == Fraction(1, 12)


def test_draws_have_the_law_of_the_definition() -> None:
    """A chi-square over 120 histograms, every shape of rule among them: false alarm 1e-9, power stated.

    The twin's bottom symbol stands one count lower, the mildest of the slips that break delta.
    """
    cells, draws, bits = Cells(), 300, TeachingBits(11)
    histograms = list(itertools.product(range(4), repeat=3))
    for turn, shape in enumerate(SHAPES):
        unit, rule, (k, kbar) = shape
        bound = bound_of(unit, rule, k, kbar, 3)
        oracle = limited(unit, rule, k, kbar, 3, base=math.exp(bound.rate))
        counts = histograms[(7 * turn) % len(histograms)]
        private = statistic(counts, kbar)
        answers = [answer_of(bound.draw(private, bits, mode="exact")) for _ in range(draws)]
        cells.add(answers, oracle.law(counts), replace(oracle, gap=oracle.gap - 1).law(counts))
    assert cells.freedom > 100
    assert cells.power > 0.999
    assert cells.p_value > FALSE_ALARM


def test_a_draw_from_nothing_says_no_more() -> None:
    for rule, ties in itertools.product(("positive", "strict"), ("label", "unknown")):
        bound = bound_of(USER, rule, 3, 4, 5, ties)
        assert bound.draw(statistic((0,) * 5, 4), TeachingBits(1), mode="exact") == Ranked((), True)


def test_empty_bins_fill_up_the_paper_rule_from_the_first_label_on() -> None:
    bound = bound_of(unit_of(None), "paper", 4, 4, 6, step=100)
    rows = bound.rule.rows(statistic((0, 0, 7, 0, 3, 0), 4), 4)
    assert (list(rows.items), rows.counts.tolist(), rows.next_count) == ([2, 4, 0, 1], [7, 3, 0, 0], 0)
    assert order((0, 0, 7, 0, 3, 0))[:4] == [2, 4, 0, 1]


def test_where_the_paper_rule_lists_every_bin_there_is_no_bottom_and_no_delta() -> None:
    for unit, factor in ((unit_of(2), 1), (unit_of(2, "replace-one"), 2)):
        whole = dv.TopK(2, 3, epsilon="1", domain_rule="paper").bind(bins(3), unit)
        assert whole.price.loss == PureDP(Fraction(1)) and not whole.rule.bottom
        assert whole.price.zcdp_steps == RangeBounded(Fraction(1, 2), steps=2)
        assert whole.rate == Fraction(1, 2 * factor)
        table = statistic((2, 0, 0), 3)
        answers = {answer_of(whole.draw(table, TeachingBits(seed), mode="exact")) for seed in range(99)}
        assert answers == set(itertools.permutations(range(3), 2))
    for rule in ("positive", "strict"):
        assert dv.TopK(2, 3, epsilon="1", domain_rule=rule).bind(bins(3), unit_of(2)).rule.bottom


# ---------------------------------------------------------------- the price


@cache
def pairs_of(unit: dv.Unit) -> list[tuple[Counts, Counts]]:
    return neighbours(unit, 3, {1: 3, 2: 2}[unit.max_per_bin])


def test_there_are_tens_of_thousands_of_neighbouring_pairs() -> None:
    assert sum(len(pairs_of(unit)) for unit, _, _ in SHAPES) > 50_000


@pytest.mark.parametrize("shape", SHAPES, ids=shape_name)
def test_no_pair_of_neighbours_exceeds_the_delta_charged(shape: Any) -> None:
    """At the odds of the pure sum, ln(1 + delta) for each symbol included; and without it, as the paper prints it."""
    unit, rule, (k, kbar) = shape
    oracle = limited(unit, rule, k, kbar, 3)
    delta = DELTA if oracle.m else 0
    assert worst_delta(oracle.law, pairs_of(unit), odds_of(oracle, k)) <= delta
    assert worst_delta(oracle.law, pairs_of(unit), odds_of(oracle, k, safe=False)) <= delta


def test_four_bins_and_three_rows() -> None:
    for rule, unit in itertools.product(RULES, (unit_of(1), unit_of(2), unit_of(None))):
        oracle = limited(unit, rule, 2, 3, 4)
        assert worst_delta(oracle.law, neighbours(unit, 4, 1), odds_of(oracle, 2)) <= DELTA


@pytest.mark.parametrize("unit", [unit_of(1), unit_of(2), unit_of(1, "replace-one"), unit_of(1, max_per_bin=2)])
def test_the_bound_on_delta_is_attained(unit: dv.Unit) -> None:
    """An item that has left the rows comes with delta / (1 + delta) where m of them leave; with less, others stay."""
    oracle = limited(unit, "positive", 1, 1, 3)
    assert oracle.m == 1
    assert worst_delta(oracle.law, pairs_of(unit), odds_of(oracle, 1)) == DELTA / (1 + DELTA)


def test_a_known_domain_costs_the_sum_of_its_steps_and_not_much_less() -> None:
    for unit, least in (
        (unit_of(1), Fraction(38, 10)),
        (unit_of(None), Fraction(38, 10)),
        (unit_of(1, "replace-one"), 4),
    ):
        oracle = limited(unit, "paper", 2, 3, 3)
        assert oracle.m == 0
        assert least < worst_ratio(oracle.law, neighbours(unit, 3, 5)) <= odds_of(oracle, 2)


def adversarial(oracle: Limited, pairs: list[tuple[Counts, Counts]], odds: Fraction) -> Fraction:
    """The worst over every order that an engine may give to equal counts, in each of the two tables."""
    law = cache(lambda counts: [oracle.law(counts, labels) for labels in orders(counts)])
    return max(
        hockey_stick(one, other, odds)
        for first, second in pairs
        for one, other in itertools.product(law(first), law(second))
    )


@pytest.mark.parametrize("unit", [unit_of(1), unit_of(None), unit_of(1, "replace-one")])
def test_unknown_ties_are_covered_by_m_of_all_rows(unit: dv.Unit) -> None:
    pairs = neighbours(unit, 3, 1)
    for rule in RULES:
        oracle = limited(unit, rule, 2, 2, 3, "unknown")
        bound = bound_of(unit, rule, 2, 2, 3, "unknown")
        assert bound.rule.m(2) == oracle.m == 2
        assert adversarial(oracle, pairs, odds_of(oracle, 2)) <= DELTA
        for counts in itertools.product(range(3), repeat=3):
            for labels in orders(counts):
                if rule == "paper" and 0 in sorted(counts)[1:]:
                    continue  # which empty bins fill up is ours to say, and by label
                rows = bound.rule.rows(statistic(counts, 2, labels), 2)
                assert law_of(bound.rule.contest(rows, 2, DELTA), 2, BASE) == oracle.law(counts, labels)


# ---------------------------------------------------------------- what is not private, by the same test


def test_a_bottom_symbol_without_the_one_is_caught() -> None:
    for unit, rule in itertools.product((unit_of(1), unit_of(None), unit_of(1, max_per_bin=2)), RULES):
        oracle = limited(unit, rule, 1, 1, 3)
        wrong = replace(oracle, gap=oracle.gap - 1)
        assert worst_delta(wrong.law, pairs_of(unit), odds_of(oracle, 1)) > DELTA


def test_the_strict_domain_with_m_of_the_restricted_rule_is_caught() -> None:
    """(1, 1, 1, 1) and (1, 1, 1, 0), kbar = 3: one unit moves three equal counts at once."""
    unit = unit_of(1)
    oracle = limited(unit, "strict", 2, 3, 4)
    wrong = replace(oracle, m=1)
    pairs = neighbours(unit, 4, 1)
    odds = odds_of(oracle, 2)
    assert worst_delta(oracle.law, pairs, odds) <= DELTA < worst_delta(wrong.law, pairs, odds)
    assert hockey_stick(wrong.law((1, 1, 1, 0)), wrong.law((1, 1, 1, 1)), odds) > DELTA


def test_ties_in_unknown_order_with_m_of_the_restricted_rule_are_caught() -> None:
    unit = unit_of(1)
    wrong = limited(unit, "positive", 2, 2, 4)
    assert wrong.m == 1
    assert adversarial(wrong, neighbours(unit, 4, 1), odds_of(wrong, 2)) > DELTA


def test_the_printed_threshold_under_replace_one_is_caught() -> None:
    unit = unit_of(1, "replace-one")
    oracle = limited(unit, "positive", 1, 1, 3)
    wrong = replace(oracle, gap=1)
    assert hockey_stick(wrong.law((0, 0, 2)), wrong.law((0, 1, 1)), BASE) == Fraction(1, 6)
    assert worst_delta(wrong.law, pairs_of(unit), odds_of(oracle, 1)) >= Fraction(1, 6) > DELTA


def test_leaving_the_bottom_symbol_out_of_the_positive_rule_is_caught() -> None:
    """One bin: it is listed where somebody is in it, and else nothing is."""
    unit = unit_of(1)
    wrong = replace(limited(unit, "positive", 1, 1, 1), m=0)
    assert hockey_stick(wrong.law((1,)), wrong.law((0,)), odds_of(wrong, 1)) == 1


def test_the_printed_lemma_is_false_and_its_repair_holds() -> None:
    """f.1: two rows, conditioned on what both tables know, the ratio depends on the answer: 11/12 and 5/6."""
    oracle = limited(unit_of(1), "positive", 2, 2, 3)
    first, common = oracle.law((0, 1, 1)), oracle.law((0, 1, 0))
    ratios = {answer: first[answer] / chance for answer, chance in common.items()}
    assert ratios == {(NO_MORE,): Fraction(11, 12), (1, NO_MORE): Fraction(5, 6)}
    assert all((1 + DELTA) ** -len(answer) <= ratio <= 1 for answer, ratio in ratios.items())


# ---------------------------------------------------------------- a private kbar


def private_law(counts: Counts, rule: str, k: int, largest: int, m: Callable[[int], int], gap: int = 1) -> Law:
    """Algorithm 6, corrected: kbar with odds 1/m * base^-h of row kbar + 1, then k - 1 symbols. First comes kbar."""
    ranked = sorted(counts, reverse=True) + [0] * (largest + 1)
    odds = {kbar: BASE ** -ranked[kbar] / m(kbar) for kbar in range(k, largest + 1)}
    law = {}
    for kbar, odd in odds.items():
        inner = Limited(rule, k - 1, kbar, m(kbar), gap, BASE, DELTA).law(counts)
        law.update({(kbar, *answer): odd / sum(odds.values()) * chance for answer, chance in inner.items()})
    return law


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("most", [1, 2, None])
@pytest.mark.parametrize("largest", [3, 4])
def test_a_private_kbar_keeps_to_the_price_of_k_steps(rule: str, most: int | None, largest: int) -> None:
    unit, k, number = unit_of(most), 2, 4

    def m(kbar: int) -> int:
        return kbar if rule == "strict" or most is None else min(most, kbar)

    law = cache(lambda counts: private_law(counts, rule, k, largest, m))
    assert worst_delta(law, neighbours(unit, number, 1), (BASE * (1 + DELTA)) ** k) <= DELTA
    heavy = cache(lambda counts: private_law(counts, rule, k, largest, m, 2))
    pairs = neighbours(unit_of(most, max_per_bin=2), number, 1)
    assert worst_delta(heavy, pairs, (BASE**2 * (1 + DELTA)) ** k) <= DELTA
    bound = dv.TopK(k, "private", largest=largest, epsilon_per_item="0.7", delta=DELTA, domain_rule=rule).bind(
        bins(number), unit
    )  # type: ignore[arg-type]
    assert bound.needs == Top(largest) and bound.max_items == k - 1
    step = Fraction(7, 10)
    assert bound.price.loss.epsilon == ceil_to(k * step + k * log1p_bounds(DELTA)[1], STEP)  # type: ignore[union-attr]
    assert [bound.rule.m(kbar) for kbar in (2, 3)] == [m(2), m(3)]


def test_draws_with_a_private_kbar_have_the_law_of_the_definition() -> None:
    """A chi-square of kbar and list together, over 32 histograms; the twin chooses kbar with the opposite sign."""
    cells, bits, k, largest = Cells(), TeachingBits(5), 2, 4
    bound = dv.TopK(k, "private", largest=largest, epsilon_per_item="1.1", delta=DELTA).bind(bins(5), unit_of(None))
    base = math.exp(bound.rate)

    def law(counts: Counts, sign: int) -> Law:
        ranked = sorted(counts, reverse=True)
        odds = {kbar: base ** (-sign * ranked[kbar]) / kbar for kbar in range(k, largest + 1)}
        found = {}
        for kbar, odd in odds.items():
            inner = Limited("positive", k - 1, kbar, kbar, 1, base, DELTA).law(counts)
            found.update({(kbar, *answer): odd / sum(odds.values()) * chance for answer, chance in inner.items()})
        return found

    for counts in itertools.product((0, 3), (1, 2), (0, 4), (2, 5), (0, 1)):
        private = statistic(counts, largest)
        answers = []
        for _ in range(250):
            drawn = bound.draw(private, bits, mode="exact")
            assert bound.accepts(drawn)
            answers.append((drawn.kbar, *answer_of(drawn)))
        cells.add(answers, law(counts, 1), law(counts, -1))  # type: ignore[arg-type]
    assert cells.power > 0.999 and cells.p_value > FALSE_ALARM


def printed_choice(counts: Counts, k: int, largest: int) -> dict[int, Fraction]:
    """The printed Algorithm 6: the least of h_(i) + ln(i/delta)/eps + Gumbel, by inclusion and exclusion."""
    ranked = sorted(counts, reverse=True)
    scale = {i: BASE ** ranked[i - 1] * i / DELTA for i in range(k, largest + 1)}
    law = {}
    for i, own in scale.items():
        others = [value for j, value in scale.items() if j != i]
        law[i] = sum(
            ((-1) ** size * own / (own + sum(some)) for size in range(len(others) + 1)
             for some in itertools.combinations(others, size)),
            Fraction(0),
        )  # fmt: skip
    return law


def test_the_printed_choice_of_kbar_is_caught() -> None:
    first, second = (10, 9, 8, 7, 6, 5, 4, 3, 2, 1), (10, 9, 7, 6, 5, 4, 3, 2, 1, 0)
    one, other = printed_choice(first, 2, 9), printed_choice(second, 2, 9)
    assert sum(one.values()) == sum(other.values()) == 1
    ratio = max(max(one[i] / other[i], other[i] / one[i]) for i in one)
    assert round(float(ratio), 2) == 21.38 and ratio > BASE

    def corrected(counts: Counts) -> dict[int, Fraction]:
        ranked = sorted(counts, reverse=True)
        odds = {kbar: BASE ** -ranked[kbar] / kbar for kbar in range(2, 10)}
        return {kbar: odd / sum(odds.values()) for kbar, odd in odds.items()}

    one, other = corrected(first), corrected(second)
    assert max(max(one[i] / other[i], other[i] / one[i]) for i in one) <= BASE


def test_a_replacement_pays_for_two_where_kbar_is_private() -> None:
    unit = unit_of(3, "replace-one")
    made = dv.TopK(3, "private", epsilon="1", delta="1e-6", largest=20)
    bound = made.bind(KEYS, unit)
    alone = made.with_epsilon(Fraction(1, 2)).bind(KEYS, unit_of(3))
    assert bound.price.loss == ApproxDP(Fraction(1), Fraction(1, 10**6)) and bound.price.zcdp_steps is None
    assert bound.price.requested == 1 and bound.price.exact.startswith("group of two of Lemma 4.4")
    assert bound.rule == alone.rule and bound.rule.gap == 1
    odds = exp_bounds(Fraction(1, 2))
    spent = 2 * bound.step_price.delta  # half of it is delta'
    assert spent * (1 + odds[1]) <= Fraction(1, 10**6) < (spent + Fraction(1, 10**29)) * (1 + odds[0])
    per_item = dv.TopK(3, "private", epsilon_per_item="0.1", delta="1e-8", largest=20)
    once, twice = per_item.bind(KEYS, unit_of(3)), per_item.bind(KEYS, unit)
    assert twice.price.loss == group(once.price.loss, 2)


# ---------------------------------------------------------------- what is charged


@pytest.mark.parametrize("accounting", ["safe", "paper", "zcdp"])
@pytest.mark.parametrize("unit", [USER, unit_of(None, "replace-one", 3), dv.Unit("row", relation="replace-one", n=9)])
def test_the_price_is_what_was_asked_and_the_step_is_the_largest_that_it_pays_for(
    accounting: str, unit: dv.Unit
) -> None:
    asked = dv.TopK(10, 50, epsilon="0.8", delta="1e-6", accounting=accounting)  # type: ignore[arg-type]
    bound = asked.bind(KEYS, unit)
    assert bound.price.loss == ApproxDP(Fraction(4, 5), Fraction(1, 10**6)) and bound.price.requested == Fraction(4, 5)
    same = {"delta": bound.step_price.delta, "delta_prime": bound.step_price.delta_prime, "accounting": accounting}
    paid = dv.TopK(10, 50, epsilon_per_item=bound.step_price.step, **same).bind(KEYS, unit)  # type: ignore[arg-type]
    more = dv.TopK(10, 50, epsilon_per_item=bound.step_price.step + Fraction(1, 10**9), **same).bind(KEYS, unit)  # type: ignore[arg-type]
    assert paid.price.loss.epsilon <= Fraction(4, 5) < more.price.loss.epsilon  # type: ignore[union-attr]
    assert paid.price.loss.delta == Fraction(1, 10**6)
    factor = 2 if unit.relation == "replace-one" else 1
    assert bound.price.zcdp_steps == RangeBounded(factor * bound.step_price.step, bound.step_price.delta, steps=10)
    assert paid.rate == bound.step_price.step / unit.max_per_bin and paid.rule.gap == factor * unit.max_per_bin


def test_the_price_of_a_pure_sum_is_the_steps_and_their_shift() -> None:
    for unit, factor in ((unit_of(2), 1), (unit_of(2, "replace-one", 2), 2)):
        step, k = Fraction(7, 10), 2
        shift = k * log1p_bounds(DELTA)[1]
        safe, paper = (
            dv.TopK(k, 4, epsilon_per_item=step, delta=DELTA, accounting=name).bind(KEYS, unit).price
            for name in ("safe", "paper")
        )
        assert safe.loss == ApproxDP(ceil_to(factor * k * step + shift, STEP), DELTA)
        assert paper.loss == ApproxDP(factor * k * step, DELTA)
        assert "ln(1 + 0.1)" in safe.exact and "ln" not in paper.exact


def test_real_odds_at_the_rate_in_force_never_exceed_the_price() -> None:
    """The same check in doubles at exp(rate), from the price of a bound that was asked for by its total."""
    for unit, rule in itertools.product((unit_of(1), unit_of(2, "replace-one"), unit_of(None, max_per_bin=2)), RULES):
        bound = dv.TopK(2, 2, epsilon="1.5", delta="0.2", domain_rule=rule).bind(bins(3), unit)
        oracle = replace(limited(unit, rule, 2, 2, 3, base=math.exp(bound.rate)), delta=bound.step_price.delta)
        worst = worst_delta(oracle.law, pairs_of(unit), math.exp(1.5))
        assert worst <= float(bound.price.loss.delta) + 1e-12


def test_a_total_that_pays_for_no_step_is_refused() -> None:
    with pytest.raises(ParameterError, match="must pay for 100 steps"):
        dv.TopK(100, 100, epsilon="0.01", delta="0.5").bind(KEYS, USER)
    with pytest.raises(ParameterError, match="an answer costs an epsilon of at most 1,000"):
        dv.TopK(100, 100, epsilon_per_item="100").bind(KEYS, USER)


# ---------------------------------------------------------------- errors


def test_the_threshold_of_the_specification() -> None:
    """m = 5, rate 0.1, delta 1e-6: a next count of 7 puts the bottom symbol at 162.2495; 163 is even odds."""
    bound = dv.TopK(1, 5, epsilon_per_item="0.1", delta="1e-6").bind(KEYS, USER)
    assert 7 + bound.rule.gap + 10 * math.log(bound.rule.m(5) * 10**6) == pytest.approx(162.2495, abs=5e-5)
    listed = bound.error.listed(Fraction(1, 2))
    assert listed is not None and listed.how == "exact" and 7 + listed.value == 163


@pytest.mark.parametrize("unit", [unit_of(2), unit_of(None, "replace-one"), unit_of(3, max_per_bin=2)])
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 100), Fraction(9, 10)])
def test_an_item_that_far_above_the_next_count_comes_before_the_bottom_symbol_and_one_less_does_not(
    unit: dv.Unit, beta: Fraction
) -> None:
    bound = dv.TopK(1, 3, epsilon_per_item="0.37", delta="1e-3").bind(bins(4), unit)
    found = bound.error.listed(beta)
    assert found is not None
    above = int(found.value)

    def ahead(count: int) -> float:
        bottom = bound.rule.m(3) / 1e-3 * math.exp(bound.rate * bound.rule.gap)
        return 1 / (1 + bottom / math.exp(bound.rate * count))

    assert ahead(above) >= 1 - beta > ahead(above - 1)


def test_no_item_among_the_first_lies_further_below_its_rank_than_stated() -> None:
    for rule, (k, kbar) in itertools.product(RULES, [(1, 2), (2, 3), (3, 3)]):
        bound = bound_of(unit_of(1), rule, k, kbar, 4, step="1.3")
        oracle = limited(unit_of(1), rule, k, kbar, 4, base=math.exp(bound.rate))
        for beta, position in itertools.product((Fraction(1, 3), Fraction(1, 20)), range(1, k + 1)):
            stated = int(bound.error.rank(position, beta).value)  # type: ignore[union-attr]
            assert kbar != position or stated == 0
            for counts in itertools.product((0, 1, 3, 6), repeat=4):
                least = sorted(counts, reverse=True)[position - 1] - stated
                missed = [
                    chance
                    for answer, chance in oracle.law(counts).items()
                    if any(label != NO_MORE and counts[label] < least for label in answer[:position])
                ]
                assert sum(missed) <= beta


def test_a_shorter_reach_than_the_stated_one_would_fail() -> None:
    bound = bound_of(unit_of(1), "paper", 1, 2, 2, step="0.5")
    stated = int(bound.error.rank(1, Fraction(1, 20)).value)  # type: ignore[union-attr]
    law = limited(unit_of(1), "paper", 1, 2, 2, base=math.exp(bound.rate)).law
    assert law((stated + 1, 0))[(1,)] <= 0.05 < law((stated, 0))[(1,)]


def test_a_rank_beyond_the_list_is_refused() -> None:
    error = dv.TopK(3, 5, epsilon=1).bind(KEYS, USER).error
    for position in (0, 4, Fraction(1, 2)):
        with pytest.raises(ParameterError, match="position must be a whole number from 1 to 3"):
            error.rank(position, Fraction(1, 20))  # type: ignore[arg-type]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "takes one of epsilon and epsilon_per_item, got neither"),
        ({"epsilon": 1, "epsilon_per_item": 1}, "got both"),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": -1}, "epsilon must be positive"),
        ({"epsilon": math.inf}, "epsilon must be a finite number"),
        ({"epsilon": math.nan}, "epsilon must be a finite number"),
        ({"epsilon": True}, "epsilon must be a number, got True, a boolean"),
        ({"epsilon": 1001}, "epsilon must be at most 1,000"),
        ({"epsilon": 1, "k": 0}, "k must be a whole number"),
        ({"epsilon": 1, "k": 1.5}, "k must be a whole number"),
        ({"epsilon": 1, "k": 51}, "kbar must be at least k = 51"),
        ({"epsilon": 1, "kbar": 10**9}, "kbar must be a whole number from 1 to 1,000,000"),
        ({"epsilon": 1, "kbar": "all"}, "kbar must be a whole number from 1 to 1,000,000, got all"),
        ({"epsilon": 1, "kbar": "private"}, "no largest"),
        ({"epsilon": 1, "kbar": "private", "largest": 9}, "largest must be a whole number from 10"),
        ({"epsilon": 1, "kbar": "private", "k": 1, "largest": 9}, "k must be at least 2"),
        ({"epsilon": 1, "largest": 90}, 'largest goes with kbar="private"'),
        ({"epsilon": 1, "delta": 0}, "delta must lie strictly between 0 and 1"),
        ({"epsilon": 1, "delta": 1}, "delta must lie strictly between 0 and 1"),
        ({"epsilon": 1, "delta_prime": 0}, "delta_prime goes with epsilon_per_item"),
        ({"epsilon_per_item": 1, "delta_prime": 1}, "delta_prime must lie in"),
        ({"epsilon": 1, "domain_rule": "all"}, "domain_rule must be"),
        ({"epsilon": 1, "ties": "insertion"}, "ties must be"),
        ({"epsilon": 1, "accounting": "moments"}, "accounting must be"),
    ],
)
def test_wrong_parameters_are_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        dv.TopK(**given)


def test_what_no_proof_covers_is_refused_when_it_meets_question_and_engine() -> None:
    with pytest.raises(ParameterError, match="kbar is at most the number of bins"):
        dv.TopK(epsilon=1).bind(bins(49), USER)
    with pytest.raises(ParameterError, match="the paper's rule") as refused:
        dv.TopK(epsilon=1, domain_rule="paper").bind(KEYS, USER)
    assert 'domain_rule="positive"' in refused.value.next_step
    bound = dv.TopK(epsilon=1).bind(KEYS, USER)
    bound.check_source(TopRules())
    with pytest.raises(ParameterError, match="does not say how it orders equal counts"):
        bound.check_source(TopRules(ties="unknown"))
    for given in ({"ties": "unknown"}, {"domain_rule": "strict"}):
        dv.TopK(epsilon=1, **given).bind(KEYS, USER).check_source(TopRules(ties="unknown"))  # type: ignore[arg-type]


# ---------------------------------------------------------------- texts and shapes


def test_parameters_and_python_say_everything() -> None:
    for made in (
        dv.TopK(epsilon="1/3"),
        dv.TopK(3, 9, epsilon=2, delta="1e-9", domain_rule="strict", ties="unknown", accounting="zcdp"),
        dv.TopK(2, "private", epsilon=1, largest=30),
        dv.TopK(epsilon_per_item="0.1", delta="1e-8", delta_prime="5e-7"),
        dv.TopK(epsilon_per_item="0.1", delta_prime=0),
    ):
        assert dv.TopK.from_parameters(made.parameters()) == made
        assert eval(made.python, {"dv": dv}) == made
        assert made.with_epsilon(Fraction(2)).parameters()["epsilon"] == "2"
    with pytest.raises(ParameterError, match="TopK takes k, kbar"):
        dv.TopK.from_parameters({"epsilon": "1", "cap": "3"})


def test_an_answer_of_another_shape_is_not_taken_for_one_of_these() -> None:
    bound = dv.TopK(2, 3, epsilon=1).bind(bins(4), USER)
    for good in (Ranked((), True), Ranked((3,), True), Ranked((1, 0), False)):
        assert bound.accepts(good)
    for bad in (
        Ranked((), False),
        Ranked((1, 0), True),
        Ranked((1,), False),
        Ranked((2, 1, 0), False),
        Ranked((4,), True),
        Ranked(("a",), True),
        Ranked((1,), True, (7,)),
        Ranked((1,), True, kbar=3),
    ):
        assert not bound.accepts(bad)
    private = dv.TopK(3, "private", epsilon=1, largest=4).bind(KEYS, USER)
    assert private.accepts(Ranked(("a",), True, kbar=3))
    assert not private.accepts(Ranked(("a",), True)) and not private.accepts(Ranked(("a",), True, kbar=5))


def test_counts_at_the_edge_of_what_an_array_holds_raise_nothing() -> None:
    top = np.iinfo(np.int64).max
    private = TopCounts(["a", "b", "c"], np.array([top, top, 1]), int(top))
    for made in (
        dv.TopK(2, 3, epsilon=1),
        dv.TopK(2, 3, epsilon="1e-5"),
        dv.TopK(2, "private", epsilon=900, largest=3),
    ):
        bound = made.bind(KEYS, unit_of(None, max_per_bin=10**12))
        assert bound.accepts(bound.draw(private, TeachingBits(1), mode="exact"))


def test_a_list_whose_every_item_is_certain_comes_whole() -> None:
    private = TopCounts(list("dcba"), np.array([9000, 8000, 7000, 6000]), 10)
    bound = dv.TopK(3, 4, epsilon_per_item=1, delta="1e-9").bind(KEYS, USER)
    assert bound.draw(private, TeachingBits(3), mode="exact") == Ranked(("d", "c", "b"), False)
