"""The fifty dots of a plan: equally likely errors, and of what leaves small counts out, how often nothing is shown."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

import dpviz as dv
from dpviz.exact import Decay
from dpviz.laws.clamped import Clamped
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.laws.keep_heavy import OneBin, exact_marginal
from dpviz.model.mechanism import Mechanism
from dpviz.planning.sheet import DOTS, PlanSheet, pictures_json
from dpviz.privacy import Unit

KEYS = dv.Question.of(dv.Domain.keys(column="word"))
MINUTES = dv.Question.of(dv.Domain.integers(0, 525_599, column="minute"))
VISITS = dv.Question.of(dv.Domain.integers(0, 40, column="visits", overflow=True))
THOUSAND = Unit("row", relation="replace-one", n=1000)
LEVELS = [Fraction(2 * place + 1, 2 * DOTS) for place in range(DOTS)]


def test_each_dot_of_a_plan_is_an_exact_quantile_of_its_error() -> None:
    point = PlanSheet(VISITS, Unit(), dv.Dense("0.2"), Fraction(2)).to_json()["now"]
    law = TwoSidedGeometric(Decay.exp(Fraction(1, 5)))
    assert len(point["dots"]) == 50 and "cut" not in point
    for level, dot in zip(LEVELS, map(int, point["dots"]), strict=True):
        assert law.cdf(dot)[0] >= level > law.cdf(dot - 1)[1]


def test_where_small_counts_are_left_out_so_many_dots_are_of_a_bin_that_shows_nothing() -> None:
    bound = dv.Stability("0.5", "1e-6").bind(KEYS, Unit())
    drawn = pictures_json(bound.error)
    count, found = int(drawn["cut"]), Counter(map(int, drawn["dots"]))
    assert (count, found[-count], found.total()) == (25, 31, 50)
    assert found.keys() - {-count} == {1, 2, 3, 4, 5, 6, 8}
    law = TwoSidedGeometric(Decay.exp(Fraction(1, 2)))
    reached = Fraction(found[-count], DOTS)
    for error in sorted(found.keys() - {-count}):  # a bin at the threshold is shown where its noise is above 0
        reached += Fraction(found[error], DOTS)
        assert abs(reached - law.cdf(error)[0]) <= Fraction(1, DOTS)


@pytest.mark.parametrize(
    ("mechanism", "question", "unit"),
    [
        (dv.Stability("0.5", "1e-6"), KEYS, Unit()),
        (dv.Stability("0.01", "1e-6"), KEYS, Unit()),
        (dv.Stability("3", "1e-9"), MINUTES, THOUSAND),
        (dv.Threshold("0.5", "1e-6"), MINUTES, THOUSAND),
        (dv.PureSparse("0.5"), MINUTES, THOUSAND),
        (dv.PureSparse("4"), MINUTES, THOUSAND),
    ],
    ids=repr,
)
def test_the_stack_holds_as_many_dots_as_the_chance_of_showing_nothing(
    mechanism: Mechanism, question: dv.Question, unit: Unit
) -> None:
    error = mechanism.bind(question, unit).error
    drawn = pictures_json(error)
    count, dots = int(drawn["cut"]), [int(dot) for dot in drawn["dots"]]
    chance = error.chance_shown(count)
    assert chance is not None and dots == sorted(dots)
    assert dots.count(-count) == sum(float(level) <= 1 - chance for level in LEVELS)
    assert 25 <= dots.count(-count) < 50


def test_the_errors_of_a_bin_that_few_others_leave_room_are_those_of_the_enumeration() -> None:
    size, n, count = 5, 2, 1
    clamped = Clamped(TwoSidedGeometric(Decay.rational(Fraction(1, 2))), 0, n)
    law = exact_marginal(0, [count, *[0] * (size - 1)], n, lambda c: {v: clamped.pmf(c, v)[0] for v in range(n + 1)})
    reached, expected = Fraction(0), []
    for value in range(n + 1):
        expected += [value - count for level in LEVELS if reached < level <= reached + law[value]]
        reached += law[value]
    assert OneBin(Decay.rational(Fraction(1, 2)), size, n).quantiles(count, LEVELS) == expected
    assert len(set(expected)) == 3


def test_a_mechanism_that_shows_every_bin_has_no_cut() -> None:
    assert "cut" not in pictures_json(dv.Compact("0.5").bind(MINUTES, THOUSAND).error)
