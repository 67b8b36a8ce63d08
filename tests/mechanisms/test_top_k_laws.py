"""Two readings of the paper agree: `dpviz.laws.top_k`, and the definitions that the mechanisms are tested against."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpviz.laws import top_k
from tests.mechanisms.ranking import Counts
from tests.mechanisms.test_exponential_top_k import every
from tests.mechanisms.test_top_k import BASE, DELTA, RULES, SHAPES, limited, printed_choice, private_law, unit_of
from tests.mechanisms.test_top_k_laplace import Noisy
from tests.mechanisms.test_top_k_set import Fixed

HISTOGRAMS = list(itertools.product((0, 1, 2, 4), repeat=3))


def test_lists_of_every_rule_and_unit() -> None:
    for unit, rule, (k, kbar) in SHAPES:
        factor = 2 if unit.relation == "replace-one" else 1
        moved = None if unit.max_bins is None else factor * unit.max_bins
        domain = top_k.Competition(DELTA, kbar, rule, moved, factor * unit.max_per_bin)
        oracle = limited(unit, rule, k, kbar, 3)
        for counts in HISTOGRAMS:
            assert top_k.limit_domain(counts, BASE, k, domain) == oracle.law(counts)


@pytest.mark.parametrize("rule", RULES)
def test_a_private_kbar_and_the_printed_choice(rule: str) -> None:
    domains = [top_k.Competition(DELTA, kbar, rule, 2) for kbar in (2, 3)]  # type: ignore[arg-type]
    for counts in itertools.product((0, 1, 3), repeat=4):
        ours = private_law(counts, rule, 2, 3, lambda kbar: kbar if rule == "strict" else min(2, kbar))
        theirs = top_k.private_kbar(counts, BASE, 2, domains)
        assert {(kbar, *answer): chance for (kbar, answer), chance in theirs.items()} == ours
    ladder: Counts = (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
    assert top_k.printed_chosen_kbar(ladder, BASE, DELTA, 2, 9) == printed_choice(ladder, 2, 9)


def test_sets_and_lists_of_a_known_domain() -> None:
    for counts, k in itertools.product(HISTOGRAMS, (1, 2, 3)):
        assert top_k.fixed_threshold(counts, BASE, DELTA, k) == Fixed(k, 1, BASE, DELTA).law(counts)
        assert top_k.exponential(counts, BASE, k) == every(k, 3, BASE).law(counts)


def test_lists_with_integer_noise() -> None:
    """Noisy counts are added up here, so this is to within what lies beyond the values looked at."""
    for (k, kbar), rule, t in itertools.product([(1, 1), (1, 2), (2, 2)], ("positive", "paper"), (0, 3)):
        noisy, domain = Noisy(k, kbar, 2.0, 1, t, rule), top_k.Competition(Fraction(1, 2), kbar, rule)  # type: ignore[arg-type]
        for counts in ((0, 0, 0), (1, 1, 1), (0, 3, 1), (4, 2, 5), (6, 6, 0)):
            ours: dict[tuple[int, ...], float] = {}
            for answer, chance in noisy.law(counts).items():
                items = answer[: len(answer) - (k if len(answer) == 2 * k else (len(answer) - 1) // 2)]
                ours[items] = ours.get(items, 0.0) + chance
            theirs = top_k.laplace_limit_domain(counts, BASE, k, domain, t)
            assert set(theirs) == set(ours)
            assert np.allclose([float(theirs[one]) for one in ours], list(ours.values()), atol=1e-11)


def test_the_two_readings_could_differ() -> None:
    unit, rule, (k, kbar) = unit_of(2), "positive", (2, 2)
    wrong = top_k.Competition(DELTA, kbar, rule, 1)
    assert top_k.limit_domain((2, 1, 1), BASE, k, wrong) != limited(unit, rule, k, kbar, 3).law((2, 1, 1))
