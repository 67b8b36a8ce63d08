"""No mechanism errs less than the lower bounds, a bound that claims a little more is refuted by one that does."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds, log_bounds
from dpviz.laws.lower_bounds import all_bins, one_bin, sparse
from dpviz.mechanisms import Dense, Stability
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

BETAS = (Fraction(1, 20), Fraction(1, 1000), Fraction(1, 10**9))
EPSILONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(3))

Claim = Callable[[Fraction, Fraction, int], Fraction]


def two_answers(n: int, epsilon: Fraction, beta: Fraction) -> Fraction | None:
    """The chance that the mechanism with two answers errs by more than its reach, where it can keep to beta.

    It knows counts 0..n with n = 2a + 1 odd and says a or a + 1, each within a of every count but one. Its chance of
    the upper answer grows as fast as epsilon allows: by e^epsilon up to one half, and symmetrically above.
    """
    assert n % 2 == 1
    grow = exp_bounds(epsilon)[0]
    upper = [Fraction(1, 2) / grow ** ((n - 1) // 2 - c) / (1 + grow) * 2 for c in range((n + 1) // 2)]
    upper += [1 - chance for chance in reversed(upper)]
    for before, after in pairwise(upper):
        assert before <= after <= grow * before
        assert 1 - before <= grow * (1 - after)
    return upper[0] if upper[0] <= beta else None


def least_reach(epsilon: Fraction, beta: Fraction) -> int:
    """The least a with which the mechanism with two answers errs by more than a with chance at most beta."""
    n = 1
    while two_answers(n, epsilon, beta) is None:
        n += 2
    return (n - 1) // 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("beta", BETAS[:2])
def test_a_mechanism_made_for_one_count_errs_no_less_and_refutes_a_stronger_claim(
    epsilon: Fraction, beta: Fraction
) -> None:
    """Its counts end at n, so the n of the theorem is in force as well."""
    a = least_reach(epsilon, beta)
    n = 2 * a + 1
    assert one_bin(epsilon, beta, n=n) <= a
    without_the_half_the_four_and_the_one = min(log_bounds(1 / beta)[0] / epsilon, Fraction(n))
    assert without_the_half_the_four_and_the_one > a


def test_a_constant_errs_by_half_of_n_so_the_cap_is_half_of_n() -> None:
    """Always answering n/2 is private at any epsilon."""
    for n in (2, 10, 1000):
        assert one_bin(Fraction(1, 10**9), Fraction(1, 20), n=n) == Fraction(n, 2)
        assert all_bins(Fraction(1, 10**9), Fraction(1, 20), bins=100, n=n) == Fraction(n, 2)
        assert one_bin(Fraction(1, 10**9), Fraction(1, 20)) > n


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("beta", BETAS)
def test_dense_errs_no_less_than_theorem_7_1(epsilon: Fraction, beta: Fraction) -> None:
    for unit, n in ((Unit(), None), (Unit(relation="replace-one", n=5000), 5000)):
        for bins in (2, 1000, 10**6):
            question = Question.of(Domain.integers(1, bins, column="x"))
            error = Dense(epsilon=epsilon).bind(question, unit).error
            one, every = error.one_bin(beta), error.all_bins(beta)
            assert one is not None and every is not None
            assert one_bin(epsilon, beta, n=n) <= one.value
            assert all_bins(epsilon, beta, bins=bins, n=n) <= every.value
    assert 6 * all_bins(epsilon, beta, bins=10**6, n=5000) > every.value


@pytest.mark.parametrize("delta", [Fraction(1, 10**4), Fraction(1, 10**8)])
def test_stability_errs_no_less_than_theorem_7_2_and_refutes_it_without_its_delta(delta: Fraction) -> None:
    """Its error knows nothing of the number of bins, so a bound that grows with it needs the term of delta."""
    epsilon, beta, bins, n = Fraction(1, 10), Fraction(1, 20), 2**64, 10**6
    question = Question.of(Domain.integers(1, bins, column="x"))
    unit = Unit(relation="replace-one", n=n)
    error = Stability(epsilon=epsilon, delta=delta).bind(question, unit).error.one_bin(beta)
    assert error is not None
    for variant in ("paper", "repaired"):
        claimed = sparse(epsilon, beta, bins=bins, shown=n, n=n, delta=delta, variant=variant)  # type: ignore[arg-type]
        assert 0 < claimed <= error.value
    far = 2**4096
    assert sparse(epsilon, beta, bins=far, shown=n, n=n) > error.value
    assert sparse(epsilon, beta, bins=far, shown=n, n=n, delta=delta) <= error.value


def test_the_bound_of_the_proof_is_never_below_the_printed_one() -> None:
    for epsilon in EPSILONS:
        for beta in BETAS:
            for bins in (10**3, 2**32, 2**64):
                told = {"bins": bins, "shown": 100}
                repaired = sparse(epsilon, beta, **told)
                assert repaired >= sparse(epsilon, beta, **told, variant="paper")
                assert repaired >= one_bin(epsilon, beta)
    assert sparse(Fraction(1, 10), Fraction(1, 20), bins=2**64, shown=100) > sparse(
        Fraction(1, 10), Fraction(1, 20), bins=2**64, shown=100, variant="paper"
    )


def test_the_values_are_those_of_the_formulas_rounded_down() -> None:
    """(50 ln 250 - 1)/2 = 137.53652..., (10 ln(10^6/4) - 1)/2 = 61.646..., (10 ln(0.1 10^6/4) - 1)/2 = 50.133..."""
    assert one_bin(Fraction(1, 50), Fraction(1, 1000)) == Fraction("137.536")
    assert sparse(Fraction(1, 10), Fraction(1, 4), bins=10**9, shown=1000) == Fraction("61.646")
    assert one_bin(Fraction(1, 10), Fraction(1, 10**9), delta=Fraction(1, 10**6)) == Fraction("50.133")


def test_a_vacuous_bound_is_nothing() -> None:
    assert one_bin(Fraction(1), Fraction(1, 20)) == Fraction("0.304")
    assert one_bin(Fraction(2), Fraction(1, 20)) == 0
    assert all_bins(Fraction(1), Fraction(1, 2), bins=2) == 0
    assert one_bin(Fraction(1, 100), Fraction(1, 20), delta=Fraction(1, 2)) == 0


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: one_bin(Fraction(0), Fraction(1, 20)), "0"),
        (lambda: one_bin(Fraction(1), Fraction(3, 5)), "0.6"),
        (lambda: one_bin(Fraction(1), Fraction(1, 20), n=0), "0"),
        (lambda: one_bin(Fraction(1), Fraction(1, 20), delta=Fraction(1)), "1"),
        (lambda: all_bins(Fraction(1), Fraction(1, 20), bins=1), "1"),
        (lambda: sparse(Fraction(1), Fraction(1, 20), bins=9, shown=0), "0"),
        (lambda: sparse(Fraction(1), Fraction(1, 20), bins=9, shown=1, variant="tight"), "tight"),
        # type: ignore[arg-type]
    ],
)
def test_a_parameter_outside_its_range_is_refused_with_its_value(call: object, value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.value == value
