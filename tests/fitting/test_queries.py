"""Sensitivities of a matrix are those of all neighbours, and its least squares those of rational normal equations."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.fitting.irregular import Irregular
from dpviz.fitting.queries import NoisyQueries
from tests.fitting.reference import LeastSquares

GRADES = NoisyQueries(
    ((1, 1, 1, 1, 1), (1, 1, 1, 1, 0), *(tuple(int(i == j) for i in range(5)) for j in range(5))),
)


def matrices() -> list[NoisyQueries]:
    chance = np.random.default_rng(8)
    found = [GRADES, NoisyQueries(((2, -1),)), NoisyQueries(((1,), (1,)), (1, Fraction(1, 3)))]
    for _ in range(25):
        rows, bins = chance.integers(1, 6, 2)
        entries = chance.integers(-2, 3, (rows, bins))
        variances = [Fraction(int(a), int(b)) for a, b in chance.integers(1, 5, (rows, 2))]
        found.append(NoisyQueries(tuple(tuple(row) for row in entries.tolist()), tuple(variances)))
    return found


def answers(queries: NoisyQueries, counts: tuple[int, ...]) -> list[Fraction]:
    return [Fraction(sum(a * b for a, b in zip(row, counts, strict=True))) for row in queries.rows]


def change(queries: NoisyQueries, before: tuple[int, ...], after: tuple[int, ...]) -> Fraction:
    return sum(abs(a - b) for a, b in zip(answers(queries, before), answers(queries, after), strict=True))


def moved(counts: tuple[int, ...], removed: int | None, added: int | None) -> tuple[int, ...]:
    return tuple(one - (at == removed) + (at == added) for at, one in enumerate(counts))


def check_sensitivities(pair: Callable[[NoisyQueries], tuple[Fraction, Fraction]]) -> None:
    for queries in matrices():
        counts = (3,) * queries.bins
        bins = range(queries.bins)
        one = max(change(queries, counts, moved(counts, None, at)) for at in bins)
        other = max(change(queries, counts, moved(counts, a, b)) for a in bins for b in bins)
        assert pair(queries) == (one, other)


def test_sensitivities_are_the_largest_change_between_neighbours() -> None:
    check_sensitivities(lambda queries: (queries.add_or_remove, queries.replace_one))
    assert (GRADES.add_or_remove, GRADES.replace_one) == (3, 3), "as the spec says"


def test_twice_the_sensitivity_of_one_record_is_rejected_for_replacement() -> None:
    with pytest.raises(AssertionError):
        check_sensitivities(lambda queries: (queries.add_or_remove, 2 * queries.add_or_remove))


def test_users_with_several_records_are_bounded_by_every_pair_of_users() -> None:
    for queries in matrices():
        for records in (1, 2, 3):
            if (records + 1) ** queries.bins > 300:
                continue
            users = [one for one in product(range(records + 1), repeat=queries.bins) if sum(one) <= records]
            nothing = (0,) * queries.bins
            removed = max(change(queries, nothing, user) for user in users)
            replaced = max(change(queries, one, other) for one in users for other in users)
            assert queries.by_user(records) == (removed, replaced)


def check_least_squares(weights: Callable[[NoisyQueries, list[int]], list[Fraction]]) -> None:
    chance = np.random.default_rng(4)
    for queries in matrices():
        if queries.rank < queries.bins:
            continue
        exact = LeastSquares(queries.rows, list(queries.variances))  # type: ignore[arg-type]
        noisy = chance.integers(-9, 99, len(queries.rows)).tolist()
        fitted = exact.fit(noisy)
        for query in chance.integers(-2, 3, (3, queries.bins)).tolist():
            value = sum(a * b for a, b in zip(query, fitted, strict=True))
            given = weights(queries, query)
            assert sum(a * b for a, b in zip(given, noisy, strict=True)) == value
            assert sum(a * a * v for a, v in zip(given, queries.variances, strict=True)) == exact.variance(query)
            assert queries.value(query, noisy) == value and queries.variance(query) == exact.variance(query)


def test_least_squares_are_those_of_rational_normal_equations() -> None:
    check_least_squares(lambda queries, query: queries.weights(query))


def test_least_squares_that_forget_the_variances_are_rejected() -> None:
    with pytest.raises(AssertionError):
        check_least_squares(lambda queries, query: NoisyQueries(queries.rows).weights(query))


def test_covariances_are_those_of_the_weights() -> None:
    chance = np.random.default_rng(6)
    for queries in matrices():
        for _ in range(4):
            pair = [tuple(chance.integers(-2, 3, queries.bins).tolist()) for _ in range(2)]
            if all(map(queries.determines, pair)):
                a, b = map(queries.weights, pair)
                sums = zip(a, b, queries.variances, strict=True)
                assert queries.covariance(*pair) == sum(x * y * v for x, y, v in sums)


def test_what_the_answers_leave_open_is_refused_and_the_rest_is_unbiased() -> None:
    open_ones = 0
    for queries in matrices():
        for query in product(range(-1, 2), repeat=min(queries.bins, 3)):
            whole = (*query, *[0] * (queries.bins - len(query)))
            if not queries.determines(whole):
                open_ones += 1
                with pytest.raises(ParameterError, match="determine"):
                    queries.weights(whole)
                continue
            weights = queries.weights(whole)
            columns = zip(*queries.rows, strict=True)
            assert tuple(sum(w * a for w, a in zip(weights, column, strict=True)) for column in columns) == whole
    assert open_ones > 50


def test_fitted_answers_agree_with_each_other_and_with_the_tree_of_the_same_queries() -> None:
    noisy = [101, 88, 20, 31, 22, 10, 14]
    tree = Irregular((-1, 0, 1, 1, 1, 1, 0), (1,) * 7)
    fitted = GRADES.fit(noisy)
    assert fitted == tree.fit(noisy)
    assert fitted[0] == sum(fitted[2:]) and fitted[1] == sum(fitted[2:6])


@pytest.mark.parametrize(
    "call",
    [
        lambda: NoisyQueries(()),
        lambda: NoisyQueries(((),)),
        lambda: NoisyQueries(((1, 2), (1,))),
        lambda: NoisyQueries(((1.5, 2),)),  # type: ignore[arg-type]
        lambda: NoisyQueries(((1, 2),), (0,)),
        lambda: NoisyQueries(((1, 2),), (1, 1)),
        lambda: NoisyQueries(((1,) * 201,)),
        lambda: GRADES.weights([1, 2]),
        lambda: GRADES.value([1, 0, 0, 0, 0], [1, 2]),
        lambda: GRADES.value([1, 0, 0, 0, 0], [float("nan")] * 7),  # type: ignore[list-item]
        lambda: GRADES.by_user(0),
    ],
)
def test_what_is_no_set_of_queries_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError):
        call()
