"""A failure of the contract names the rule that was broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import pytest

import dpviz as dv
from dpviz.exact import exp_bounds
from dpviz.mechanisms.dense import Dense, DenseBound
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.question import Question
from dpviz.privacy import Unit
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from tests.mechanisms import contract
from tests.mechanisms.contract import Case, Law
from tests.mechanisms.test_dense import exponential, geometric_oracle

BETA = Fraction(1, 10)
ODDS = exp_bounds(Fraction(1), 256)
BOUND = Dense(1).bind(Question.of(dv.Domain.integers(0, 1, column="x")), Unit("row"))
ORACLE = geometric_oracle(exponential(Fraction(1)), 0, 40)


class Says(ErrorModel):
    """An error model that says one number, or nothing."""

    def __init__(self, value: Fraction | None) -> None:
        self.value = value

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue | None:
        return None if self.value is None else ErrorValue(self.value, "exact", "a test")

    def all_bins(self, beta: Fraction) -> ErrorValue | None:
        return self.one_bin(beta)


def wrong(**parts: Any) -> Any:
    """Dense bound as it is, but for some of what it says."""
    kind = type(
        "Wrong", (DenseBound,), {name: cached_property(lambda _, part=part: part) for name, part in parts.items()}
    )
    for name, value in vars(kind).items():
        if isinstance(value, cached_property):
            value.__set_name__(kind, name)
    return kind(BOUND.mechanism, BOUND.question, BOUND.unit, BOUND.noise)


def case(bound: Any = BOUND, most: int = 12, oracle: Callable[[int], Law] = ORACLE) -> Case:
    return Case("dense", bound, most, oracle)


def one_bin(bound: Any = BOUND, most: int = 12) -> None:
    contract.check_one_bin(case(bound, most), BETA)


def all_bins(bound: Any = BOUND, vectors: list[tuple[int, ...]] | None = None) -> None:
    contract.check_all_bins(case(bound), BETA, vectors or [(0, 0), (12, 12)])


def half(oracle: Callable[[int], Law]) -> Callable[[int], Law]:
    """Every chance is only known to lie within twice its value."""
    return lambda count: {value: (low / 2, high) for value, (low, high) in oracle(count).items()}


def cheap() -> Any:
    loss = PureDP(Fraction(1, 2))
    return wrong(price=Guarantee(loss, BOUND.unit, "a test", requested=Fraction(1, 2)))


RULES: dict[str, Callable[[], Any]] = {
    "must state `one_bin`": lambda: one_bin(wrong(error=Says(None))),
    "`one_bin` must be whole": lambda: one_bin(wrong(error=Says(Fraction(5, 2)))),
    "the error 0 of one bin must hold but for 1/10, and does not at": lambda: one_bin(wrong(error=Says(Fraction(0)))),
    "must be the least that holds, and a smaller error would hold: 8": lambda: one_bin(wrong(error=Says(Fraction(9)))),
    "`most` must exceed the largest error: counts up to 1 do not": lambda: one_bin(most=1),
    "must state `all_bins`": lambda: all_bins(wrong(error=Says(None))),
    "the error 1 of all bins must hold in all at once": lambda: all_bins(wrong(error=Says(Fraction(1)))),
    "counts up to 0 do not show": lambda: all_bins(vectors=[(0, 0)]),
    "the error of all bins must be the least that holds": lambda: all_bins(wrong(error=Says(Fraction(9)))),
    "the odds must be those of the worst pair": lambda: contract.check_price(
        case(), exact_odds=exp_bounds(Fraction(9, 10), 256)
    ),
    "enclosures must be narrow": lambda: contract.check_price(case(oracle=half(ORACLE)), exact_odds=ODDS),
    "the charge must cover the worst ratio": lambda: contract.check_price(case(cheap()), exact_odds=ODDS),
    "chances for the same values": lambda: contract.check_price(
        case(oracle=lambda count: {**ORACLE(count), 41 + count: (Fraction(0), Fraction(0))}), exact_odds=ODDS
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_failure_names_the_rule(rule: str) -> None:
    with pytest.raises(AssertionError) as failure:
        RULES[rule]()
    assert rule in str(failure.value)


def test_what_keeps_all_rules_passes() -> None:
    one_bin()
    all_bins()
    contract.check_price(case(), exact_odds=ODDS)
    assert replace(case(), most=1).most == 1
