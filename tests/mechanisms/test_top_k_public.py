"""What is public of mechanisms that name items is the same whatever they are drawn from."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz as dv
from dpviz.exact import text
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.question import Question
from dpviz.model.statistic import DenseCounts, Statistic, StatisticKind, TopCounts
from dpviz.noise.bits import TeachingBits
from tests.mechanisms.ranking import bins, order

KEYS = Question.of(dv.Domain.keys(column="dest"))
LEVELS = (Fraction(1, 3), Fraction(1, 20))
UNIT = dv.Unit("user", max_bins=2, max_per_bin=3)
EVERY: list[tuple[Mechanism, Question]] = [
    (dv.TopK(3, 5, epsilon=1), KEYS),
    (dv.TopK(3, 5, epsilon=1, domain_rule="strict", ties="unknown"), bins(12)),
    (dv.TopK(3, 5, epsilon=1, domain_rule="paper"), bins(12)),
    (dv.TopK(3, 12, epsilon=1, domain_rule="paper"), bins(12)),
    (dv.TopK(3, "private", epsilon=1, largest=7), KEYS),
    (dv.TopKLaplace(3, 5, epsilon=1), KEYS),
    (dv.TopKSet(3, epsilon=1), KEYS),
    (dv.ExponentialTopK(3, epsilon=1), bins(12)),
]


def table(bound: Bound, counts: list[int]) -> Statistic:
    """These counts of twelve bins, as the mechanism needs them; bins are keys where none are declared."""
    if bound.needs is StatisticKind.DENSE:
        return DenseCounts(np.array(counts, dtype=np.int64))
    rows = bound.needs.rows  # type: ignore[union-attr]
    occupied = [label for label in order(tuple(counts)) if counts[label]]
    named: list[Any] = occupied if bound.question.domain.declared else [f"canary {label:02}" for label in occupied]
    following = counts[occupied[rows]] if len(occupied) > rows else 0
    return TopCounts(named[:rows], np.array([counts[label] for label in occupied[:rows]], dtype=np.int64), following)


def public(bound: Bound) -> list[object]:
    """Everything that anybody may ask of a bound mechanism, and of its plan."""
    asked = [bound.price, bound.space, bound.cost, bound.clamp, bound.reuse, bound.verb, bound.notes, bound.modes()]
    errors = [(bound.error.rank(2, level), bound.error.listed(level), bound.error.shown(level)) for level in LEVELS]
    return [repr(bound), bound.needs, bound.mechanism.parameters(), bound.max_items, *asked, *errors]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("mechanism", "question"), EVERY, ids=[f"{made.name}-{at}" for at, (made, _) in enumerate(EVERY)]
)
@given(counts=st.lists(st.integers(0, 10**12) | st.integers(0, 3), min_size=12, max_size=12), seed=st.integers(0, 99))
def test_nothing_public_depends_on_the_counts(
    mechanism: Mechanism, question: Question, counts: list[int], seed: int
) -> None:
    untouched, bound = mechanism.bind(question, UNIT), mechanism.bind(question, UNIT)
    private, ticks = table(bound, counts), []
    answer = bound.draw(private, TeachingBits(seed), mode="exact", tick=lambda *told: ticks.append(told))
    assert bound.accepts(answer)  # type: ignore[attr-defined]
    assert public(bound) == public(untouched)
    assert ticks == [(0, bound.cost.steps)]
    assert "canary" not in repr(private) and not any(text(count) in repr(private) for count in counts if count > 99)


def test_rows_and_contests_say_nothing_of_themselves() -> None:
    for mechanism, question in EVERY[:6]:
        bound: Any = mechanism.bind(question, UNIT)
        most = bound.needs.rows
        rows = bound.rule.rows(table(bound, [10**9 + place for place in range(12)]), most)
        said = f"{rows!r} {rows} {bound.rule.contest(rows, most, mechanism.delta)!r}"  # type: ignore[attr-defined]
        assert "canary" not in said and "10000000" not in said
