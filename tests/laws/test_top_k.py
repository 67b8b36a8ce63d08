"""The enumerated laws of ranked lists: the paper's examples, their prices over all neighbours, and what breaks them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial

import pytest

from dpviz.laws.top_k import (
    Competition,
    Law,
    Rule,
    chosen_kbar,
    exponential,
    fixed_threshold,
    hockey_stick,
    laplace_limit_domain,
    limit_domain,
    noisy_order,
    peeled,
    printed_chosen_kbar,
    printed_fixed_threshold,
    private_kbar,
    ranked,
)

TWO, TENTH = Fraction(2), Fraction(1, 10)
SMALL = list(itertools.product(range(3), repeat=3))
Histogram = tuple[int, ...]
Neighbours = Callable[[Histogram, int | None], Iterator[Histogram]]


def added(histogram: Histogram, limit: int | None) -> Iterator[Histogram]:
    """Every histogram with one more user, who holds at most `limit` different labels."""
    for held in itertools.product((0, 1), repeat=len(histogram)):
        if limit is None or sum(held) <= limit:
            yield tuple(count + one for count, one in zip(histogram, held, strict=True))


def replaced(histogram: Histogram, limit: int | None) -> Iterator[Histogram]:
    """Every histogram in which one user holds other labels."""
    for smaller in SMALL:
        if histogram in added(smaller, limit):
            yield from added(smaller, limit)


def users(limit: int | None, moves: Neighbours = added) -> Callable[[Histogram], Iterator[Histogram]]:
    return lambda histogram: moves(histogram, limit)


def lists(k: int, domain: Competition) -> Callable[[Histogram], Law]:
    return lambda histogram: limit_domain(histogram, TWO, k, domain)


def worst(
    law: Callable[[Histogram], Law], ratio: Fraction, neighbours: Callable[[Histogram], Iterator[Histogram]]
) -> Fraction:
    """The largest hockey stick over all neighbouring pairs, both ways."""
    law = cache(law)
    return max(
        max(hockey_stick(law(one), law(other), ratio), hockey_stick(law(other), law(one), ratio))
        for one in SMALL
        for other in neighbours(one)
    )


# ---------------------------------------------------------------- examples


def test_the_worked_example() -> None:
    law = limit_domain((1, 1), TWO, 2, Competition(TENTH, 2, "positive", moved=1))
    item, ended = Fraction(1, 12), Fraction(10, 11)
    assert law == {
        (-1,): Fraction(5, 6),
        (0, -1): item * ended,
        (1, -1): item * ended,
        (0, 1): item * (1 - ended),
        (1, 0): item * (1 - ended),
    }
    assert law[(0, -1)] == Fraction(5, 66)
    assert law[(0, 1)] == Fraction(1, 132)


@pytest.mark.parametrize("rule", ["positive", "strict", "paper"])
def test_chances_add_up_to_1_and_lists_are_what_the_rule_allows(rule: Rule) -> None:
    for histogram in SMALL:
        for k, kbar in [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3)]:
            domain = Competition(TENTH, kbar, rule, moved=1)
            law = limit_domain(histogram, TWO, k, domain)
            assert sum(law.values()) == 1
            next_count = sorted((*histogram, 0, 0, 0, 0), reverse=True)[kbar]
            for outcome in law:
                items = [label for label in outcome if label >= 0]
                assert set(items) <= set(ranked(histogram)[:kbar])
                assert len(outcome) <= k
                assert -1 not in outcome[:-1]
                if rule == "strict":
                    assert all(histogram[label] > next_count for label in items)
                if rule == "positive":
                    assert all(histogram[label] > 0 for label in items)
                if len(items) < k and not (rule == "paper" and kbar == 3):
                    assert outcome[-1] == -1


def test_a_flat_histogram_gives_the_bottom_symbol_first() -> None:
    """Exactly with chance B / (B + delta), whatever kbar is, where no limit holds; always under the strict rule."""
    for base, delta, kbar in itertools.product((TWO, Fraction(6, 5)), (TENTH, Fraction(1, 1000)), (1, 2, 4)):
        law = limit_domain((7,) * 5, base, 1, Competition(delta, kbar, "paper"))
        assert law[(-1,)] == base / (base + delta)
        assert limit_domain((7,) * 5, base, 1, Competition(delta, kbar, "strict")) == {(-1,): 1}


def test_the_top_item_is_likelier_than_under_the_exponential_mechanism_in_the_case_of_lemma_e_1() -> None:
    """And a wrong item never is (Lemma E.2). Both cases of the first occur."""
    seen, base = set(), Fraction(6, 5)
    for histogram in itertools.product(range(0, 9, 2), repeat=4):
        top = ranked(histogram)
        full = exponential(histogram, base, 1)
        for kbar, delta in [(1, Fraction(1, 2)), (2, Fraction(1, 2)), (2, Fraction(9, 10))]:
            domain = Competition(delta, kbar, "paper", moved=1)
            law = limit_domain(histogram, base, 1, domain)
            rest = sum((base ** histogram[label] for label in top[kbar:]), Fraction(0))
            case = domain.m / delta * base ** (histogram[top[kbar]] + 1) <= rest
            assert (law[(top[0],)] >= full[(top[0],)]) == case
            seen.add(case)
            wrong = sum((law.get((label,), Fraction(0)) for label in top[1:]), Fraction(0))
            assert wrong < sum(full[(label,)] for label in top[1:])
    assert seen == {True, False}


def test_peeling_a_known_domain_costs_its_base_for_each_item() -> None:
    """And the price is attained, nearly, by counts far apart."""
    for k in (1, 2):
        assert worst(partial(exponential, base=TWO, k=k), TWO**k, users(None)) == 0
    apart, near = exponential((0, 40), TWO, 1), exponential((1, 40), TWO, 1)
    assert Fraction(19, 10) < near[(0,)] / apart[(0,)] < 2


# ---------------------------------------------------------------- prices over all neighbours


@pytest.mark.parametrize("limit", [1, None], ids=["one label", "no limit"])
@pytest.mark.parametrize("rule", ["positive", "strict", "paper"])
def test_no_pair_of_neighbours_exceeds_the_delta_charged(rule: Rule, limit: int | None) -> None:
    """At base**k (1 + delta)**k, for every kbar and k: at most delta / (1 + delta), and nearly that."""
    found = []
    for k, kbar in [(1, 1), (1, 2), (2, 2), (2, 3)]:
        domain = Competition(TENTH, kbar, rule, moved=limit)
        found.append(worst(lists(k, domain), (TWO * (1 + TENTH)) ** k, users(limit)))
    assert max(found) <= TENTH / (1 + TENTH)
    assert max(found) > TENTH * Fraction(8, 10)


@pytest.mark.parametrize(
    ("domain", "limit"),
    [
        pytest.param(Competition(TENTH, 1, "positive", 1, gap=0), 1, id="no + 1"),
        pytest.param(Competition(TENTH, 1, "strict", 1, gap=0), None, id="no + 1, strict"),
        pytest.param(Competition(TENTH / 2, 2, "positive", 1, gap=0), 1, id="half of delta does not mend it"),
    ],
)
def test_a_threshold_without_the_gap_exceeds_it(domain: Competition, limit: int | None) -> None:
    found = worst(lists(1, domain), TWO * (1 + TENTH), users(limit))
    assert found > domain.delta * Fraction(3, 2)


def test_the_strict_rule_needs_kbar_in_its_threshold_even_where_a_user_holds_one_label() -> None:
    """One user can part kbar tied labels from the next: (1, 1, 1, 1) against (1, 1, 1, 0), kbar = 3."""

    class Limited(Competition):
        @property
        def m(self) -> int:
            return 1

    tied, parted = (1, 1, 1, 1), (1, 1, 1, 0)
    found = {}
    for kind in (Competition, Limited):
        laws = [limit_domain(histogram, TWO, 1, kind(TENTH, 3, "strict", 1)) for histogram in (tied, parted)]
        found[kind] = max(hockey_stick(*laws, TWO), hockey_stick(*laws[::-1], TWO))
    assert found[Competition] <= TENTH
    assert found[Limited] > TENTH * Fraction(3, 2)


@pytest.mark.parametrize("rule", ["positive", "strict"])
@pytest.mark.parametrize("limit", [1, None], ids=["one label", "no limit"])
def test_one_user_replaced_costs_twice_with_twice_the_gap(rule: Rule, limit: int | None) -> None:
    moved = None if limit is None else 2 * limit
    for k, kbar in [(1, 1), (1, 2), (2, 2)]:
        domain = Competition(TENTH, kbar, rule, moved, gap=2)
        ratio = (TWO**2 * (1 + TENTH)) ** k
        assert worst(lists(k, domain), ratio, users(limit, replaced)) <= TENTH


def test_the_printed_threshold_does_not_protect_a_user_who_is_replaced() -> None:
    laws = [limit_domain(histogram, TWO, 1, Competition(TENTH, 1, "paper", 1)) for histogram in ((0, 0, 2), (0, 1, 1))]
    assert hockey_stick(*laws, TWO) == Fraction(1, 6)
    assert hockey_stick(*laws, TWO**2) > TENTH


# ---------------------------------------------------------------- what the paper has wrong


def test_lemma_5_6_fails_for_two_symbols() -> None:
    """Leaving out the item that departs changes the chances by a factor that depends on the list."""
    histogram, domain = (0, 1, 1), Competition(TENTH, 2, "paper", 1)
    law = limit_domain(histogram, TWO, 2, domain)
    common = peeled({1: TWO}, 2, domain.bottom(histogram, TWO))
    assert law[(-1,)] / common[(-1,)] == Fraction(11, 12)
    assert law[(1, -1)] / common[(1, -1)] == Fraction(5, 6)
    for outcome, chance in common.items():
        assert (1 + TENTH) ** -len(outcome) * chance <= law[outcome] <= chance


def test_the_private_choice_of_kbar_costs_its_base_and_the_printed_one_does_not() -> None:
    histogram, other = (10, 9, 8, 7, 6, 5, 4, 3, 2, 1), (10, 9, 7, 6, 5, 4, 3, 2, 1, 0)
    domains = [Competition(TENTH, kbar) for kbar in range(2, 10)]

    def ratio(one: dict[int, Fraction], two: dict[int, Fraction]) -> Fraction:
        assert sum(one.values()) == sum(two.values()) == 1
        return max(max(one[kbar] / two[kbar], two[kbar] / one[kbar]) for kbar in one)

    assert ratio(*(chosen_kbar(each, TWO, domains) for each in (histogram, other))) <= 2
    printed = ratio(*(printed_chosen_kbar(each, TWO, TENTH, 2, 9) for each in (histogram, other)))
    assert float(printed) == pytest.approx(21.38, abs=0.005)


def test_the_printed_choice_among_two_is_that_of_the_larger_of_two_gumbels() -> None:
    """Pr[a + G < b + G'] = base**b / (base**a + base**b)."""
    law = printed_chosen_kbar((5, 3), TWO, TENTH, 1, 2)
    first, second = TWO**5 / TENTH, TWO**3 * 2 / TENTH
    assert law == {1: second / (first + second), 2: first / (first + second)}


def test_a_private_kbar_and_the_list_after_it_keep_to_their_price() -> None:
    domains = [Competition(TENTH, kbar, "positive", None) for kbar in (2, 3)]
    law = cache(lambda histogram: private_kbar(histogram, TWO, 2, domains))
    ratio = TWO**2 * (1 + TENTH) ** 2
    for one in SMALL:
        assert sum(law(one).values()) == 1
        for other in added(one, None):
            assert hockey_stick(law(one), law(other), ratio) <= TENTH
            assert hockey_stick(law(other), law(one), ratio) <= TENTH


def test_the_fixed_threshold_reaches_its_price_and_the_printed_one_exceeds_it() -> None:
    """At k delta, which is reached: k labels enter the domain at once."""
    delta = Fraction(1, 100)
    for k in (1, 2):
        found = worst(partial(fixed_threshold, base=TWO, delta=delta, k=k), TWO**k, users(None))
        assert found <= k * delta
        assert found >= 1 - (1 - delta) ** k
    printed = [printed_fixed_threshold(histogram, TWO, delta, 1) for histogram in ((7, 0), (6, 0))]
    assert hockey_stick(*printed, TWO) == Fraction(39, 64)  # 0.609
    repaired = [fixed_threshold(histogram, TWO, delta, 1) for histogram in ((7, 0), (6, 0))]
    assert hockey_stick(*repaired, TWO) == hockey_stick(*repaired[::-1], TWO) == 0


# ---------------------------------------------------------------- discrete Laplace noise


def pair_tail(t: int, p: Fraction) -> Fraction:
    """Pr[Z - Z' >= t] for t >= 0."""
    return p**t * (t * (1 - p) / (1 + p) ** 2 + (1 + p + 2 * p**2) / (1 + p) ** 3)


def test_the_order_of_noisy_counts_is_that_of_all_noise_together() -> None:
    """Against a sum over noise of up to 45 in size, beyond which there is less than 2**-43 of it."""
    base, centres, reach = TWO, (3, 0, 2), 45
    law = noisy_order(centres, base)
    assert sum(law.values()) == 1
    found = dict.fromkeys(law, 0.0)
    noise = {z: float((base - 1) / (base + 1) * base ** -abs(z)) for z in range(-reach, reach + 1)}
    for vector in itertools.product(noise.items(), repeat=3):
        values = [centre + z for centre, (z, _) in zip(centres, vector, strict=True)]
        order = tuple(sorted(range(3), key=lambda place: (-values[place], place)))
        found[order] += math.prod(chance for _, chance in vector)
    for order, chance in law.items():
        assert found[order] == pytest.approx(float(chance), abs=1e-12)


@pytest.mark.parametrize("offset", [0, 2, 5])
def test_one_item_is_above_the_threshold_with_the_chance_of_a_pair(offset: int) -> None:
    domain, base = Competition(TENTH, 1, "positive", 1), Fraction(3, 2)
    for count in range(1, 12):
        law = laplace_limit_domain((count,), base, 1, domain, offset)
        t = 1 + offset + 1 - count
        chance = pair_tail(t, 1 / base) if t >= 0 else 1 - pair_tail(1 - t, 1 / base)
        assert law == {(0,): chance, (-1,): 1 - chance}


def test_lists_with_laplace_noise_keep_to_their_price_and_the_strict_rule_does_not() -> None:
    """One label per user: base at (base + 1) T(t + 1). The strict rule lets kbar tied labels in at once."""
    offset = 3
    price = (TWO + 1) * pair_tail(offset + 1, 1 / TWO)
    domain = Competition(TENTH, 2, "positive", 1)
    found = worst(partial(laplace_limit_domain, base=TWO, k=2, domain=domain, offset=offset), TWO, users(1))
    assert 0 < found <= price
    tied, parted = (1,) * 5, (1, 1, 1, 1, 0)
    for rule, holds in (("positive", True), ("strict", False)):
        laws = [
            laplace_limit_domain(histogram, Fraction(6, 5), 1, Competition(TENTH, 4, rule, 1), 12)  # type: ignore[arg-type]
            for histogram in (tied, parted)
        ]
        excess = max(hockey_stick(*laws, Fraction(6, 5)), hockey_stick(*laws[::-1], Fraction(6, 5)))
        assert (excess <= Fraction(11, 5) * pair_tail(13, Fraction(5, 6))) == holds
