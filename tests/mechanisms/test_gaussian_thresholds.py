"""Stability and Threshold with Gaussian noise, by enumeration of whole answers: price, draws, errors, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.model.question import Question
from dpviz.privacy import Unit
from tests.mechanisms import contract
from tests.mechanisms.contract import Case
from tests.mechanisms.test_gaussian import oracle
from tests.mechanisms.test_stability import shown_above

ROW, SWAP = Unit("row"), Unit("row", relation="replace-one", n=5)
USER, HEAVY = Unit("user", max_bins=2, max_per_bin=1), Unit("user", max_bins=1, max_per_bin=2)
OTHER = Unit("user", relation="replace-one", max_bins=1, max_per_bin=1)
LIMITED = Unit("user", max_bins=2, max_per_bin=2, max_records=3)
TOP = 12
BETAS = [Fraction(1, 3), Fraction(1, 10), Fraction(1, 20)]
KEYS = Question.of(dv.Domain.keys(column="x"))


def bound_of(kind: str, unit: Unit, bins: int, epsilon: str, delta: str, cap: int | None = None) -> Any:
    question = Question.of(dv.Domain.integers(0, bins - 1, column="x"))
    if kind == "Threshold":
        return dv.Threshold(epsilon, delta, base="gaussian").bind(question, unit)
    return dv.Stability(epsilon, delta, base="gaussian", cap=cap).bind(question, unit)


def case_at(name: str, bound: Any, most: int, threshold: int, top: int) -> Case:
    """Shown from this threshold on."""
    return Case(name, bound, most, shown_above(threshold - 1, oracle(bound.found.variance, 0, top)))


def made(name: str, kind: str, unit: Unit, bins: int, epsilon: str, delta: str, most: int) -> Case:
    bound = bound_of(kind, unit, bins, epsilon, delta, most if kind == "Stability" else None)
    top = (bound.limit or most) if kind == "Stability" else most + TOP
    return case_at(name, bound, most, bound.found.threshold, top)


CASES = [
    made("rows", "Stability", ROW, 2, "1", "1/8", 6),
    made("rows replaced", "Stability", SWAP, 2, "2", "1/6", 5),
    made("a user in two bins", "Stability", USER, 2, "2", "1/5", 5),
    made("a user twice in one bin", "Stability", HEAVY, 2, "2", "1/5", 7),
    made("a user exchanged", "Stability", OTHER, 2, "2", "1/5", 5),
    made("a user of three records", "Stability", LIMITED, 2, "3", "1/4", 7),
    made("rows, Threshold", "Threshold", ROW, 2, "1", "1/8", 4),
    made("a user in two bins, Threshold", "Threshold", USER, 2, "2", "1/5", 4),
]


def names(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_worst_divergence_is_within_the_charge(case: Case) -> None:
    loss: Any = case.bound.price.loss
    low, high = contract.worst_delta(case, exp_bounds(loss.epsilon, 256))
    assert 0 < low and high <= loss.delta


@pytest.mark.parametrize("case", [case for case in CASES if "records" not in case.name], ids=names)
def test_a_lower_threshold_costs_more_than_the_charge(case: Case) -> None:
    """One lower for a single key, two for several, where the price leaves out that hidden keys tell of themselves. The
    counts are small, so that keys are new or at most a few; a replaced row is in no key that is large."""
    bound: Any = case.bound
    top = TOP + case.most if "Threshold" in case.name else case.most
    less = 1 if bound.unit == ROW else 2
    lower = case_at("lower", bound, case.most, bound.found.threshold - less, top)
    loss = bound.price.loss
    assert contract.worst_delta(lower, exp_bounds(loss.epsilon, 256))[0] > loss.delta


@pytest.mark.parametrize("case", CASES, ids=names)
def test_draws_have_the_stated_law(case: Case) -> None:
    """False alarm 1e-9 at most, seeds fixed. The twin, a threshold one higher, is rejected."""
    bound: Any = case.bound
    counts = (bound.found.threshold, 1)
    assert contract.check_draws(case, counts, 4000, "exact", seed=5) > contract.FALSE_ALARM
    top = TOP + case.most if "Threshold" in case.name else case.most
    twin = case_at("twin", bound, case.most, bound.found.threshold + 1, top)
    assert contract.check_draws(twin, counts, 4000, "exact", seed=5) < contract.FALSE_ALARM


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("case", CASES[:2], ids=names)
def test_the_error_of_one_bin_is_the_least_that_holds_whatever_it_holds(case: Case, beta: Fraction) -> None:
    contract.check_one_bin(case, beta)


def test_a_user_of_many_keys_has_a_far_lower_threshold_than_with_geometric_noise() -> None:
    for keys, geometric, gaussian in ((1, 15, 22), (5, 67, 50), (10, 133, 71), (100, 1314, 239)):
        unit = dv.Unit("user", max_bins=keys)
        assert dv.Stability(1, "1e-6").bind(KEYS, unit).threshold + 1 == geometric
        assert dv.Stability(1, "1e-6", base="gaussian").bind(KEYS, unit).threshold + 1 == gaussian
        threshold: Any = dv.Threshold(1, "1e-6", base="gaussian").bind(KEYS, unit)
        assert threshold.found.threshold == gaussian and f"{gaussian} or more" in threshold.verb


def test_sums_are_in_steps() -> None:
    question = Question.sum("v", by=dv.Domain.keys(column="x"), low=0, high=3, step="0.5")
    unit = dv.Unit("user", max_bins=10)
    bound: Any = dv.Threshold(1, "1e-6", base="gaussian").bind(question, unit)
    assert bound.found.rho >= Fraction(10 * 36) / (2 * bound.found.variance)
    assert bound.law.step == Fraction(1, 2) and f"{bound.found.threshold // 2} or more" in bound.verb


def test_what_has_no_gaussian_threshold_is_refused_before_a_charge() -> None:
    with pytest.raises(ParameterError, match="needs delta"):
        dv.Threshold(1, base="gaussian")
    with pytest.raises(ParameterError, match="has no Gaussian noise"):
        dv.Stability(1, "1e-6", base="gaussian", variant="paper")
    with pytest.raises(ParameterError, match="gamma belongs"):
        dv.Stability(1, "1e-6", base="gaussian", gamma="1/9")
    signed = Question.sum("v", by=dv.Domain.keys(column="x"), low=-1, high=3, step=1)
    with pytest.raises(ParameterError, match="not below 0"):
        dv.Threshold(1, "1e-6", base="gaussian").bind(signed, ROW)
    with pytest.raises(ParameterError, match="ever be shown"):
        dv.Stability(1, "1e-6", base="gaussian", cap=21).bind(KEYS, ROW)
    with pytest.raises(ParameterError):
        dv.Stability("1e-30", "1e-30", base="gaussian").bind(KEYS, ROW)


def test_a_stored_call_without_a_noise_law_is_the_same_as_before() -> None:
    assert "base" not in dv.Threshold(1, "1e-6").parameters()
    made = dv.Threshold(1, "1e-6", base="gaussian")
    assert made.parameters()["base"] == "gaussian" and dv.Threshold.from_parameters(made.parameters()) == made
