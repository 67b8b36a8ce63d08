"""The parameters of a sub-session, what they cost, and what one question of it may use."""

from __future__ import annotations

from fractions import Fraction
from math import log1p
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError
from dpviz.mechanisms.pay_what_you_get import Asking, AskingBound
from dpviz.model.answers import Ranked
from dpviz.model.question import Question
from dpviz.model.source import TopRules
from dpviz.model.statistic import Top, TopCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.loss import ApproxDP, RangeBounded
from dpviz.privacy.range_bounded import session_total

USER = dv.Unit("aircraft", max_bins=5)
OTHER = dv.Unit("aircraft", relation="replace-one", max_bins=5)
DEST = Question.of("dest")


def cost(parameters: dv.PayWhatYouGet, unit: dv.Unit = USER) -> ApproxDP:
    loss = parameters.price(unit).loss
    assert isinstance(loss, ApproxDP)
    return loss


def bound(k: int = 10, kbar: Any = 50, largest: int | None = None, unit: dv.Unit = USER, **more: Any) -> AskingBound:
    return Asking(dv.PayWhatYouGet(epsilon="1", **more), k, kbar, largest).bind(DEST, unit)


# ---------------------------------------------------------------- what it costs


@pytest.mark.parametrize("unit", [USER, OTHER])
@pytest.mark.parametrize("accounting", ["safe", "paper", "zcdp"])
def test_the_step_is_the_largest_whose_total_is_what_was_asked(accounting: Any, unit: dv.Unit) -> None:
    made = dv.PayWhatYouGet(50, 20, epsilon="1", delta="1e-6", accounting=accounting)
    step_price, factor = made.step_price(unit), 1 + (unit is OTHER)
    assert cost(made, unit) == ApproxDP(Fraction(1), Fraction(1, 10**6))

    def total(step: Fraction) -> ApproxDP:
        return session_total(step, step_price.delta, 50, 20, step_price.delta_prime, accounting, relation_factor=factor)

    assert total(step_price.step).epsilon <= 1 < total(step_price.step + Fraction(1, 10**9)).epsilon
    assert total(step_price.step).delta == Fraction(1, 10**6)
    assert step_price.delta_prime == Fraction(1, 2 * 10**6)
    assert step_price.delta == Fraction(1, 10**6) / (80 if accounting == "paper" else 40)


def test_an_explicit_step_has_the_price_that_follows() -> None:
    made = dv.PayWhatYouGet(12, 4, epsilon_per_item="1/10", delta="1e-3")
    for unit, step in ((USER, 0.1), (OTHER, 0.2)):
        exact = 12 * step + 12 * log1p(1e-3)
        assert 0 <= float(cost(made, unit).epsilon) - exact <= 1.1e-6
        assert cost(made, unit).delta == Fraction(4, 1000)
    with_prime = dv.PayWhatYouGet(1200, 4, epsilon_per_item="1/100", delta="1e-9", delta_prime="1e-6")
    assert cost(with_prime).epsilon < 12 * Fraction(1, 6), "a delta of its own lets many steps cost less than their sum"
    assert cost(with_prime).delta == Fraction(4, 10**9) + Fraction(1, 10**6)


def test_the_fine_price_is_of_all_steps_with_the_delta_of_all_questions() -> None:
    made = dv.PayWhatYouGet(50, 20, epsilon="1")
    for unit, factor in ((USER, 1), (OTHER, 2)):
        step_price = made.step_price(unit)
        expected = RangeBounded(factor * step_price.step, 20 * step_price.delta, steps=50, rounds=20)
        assert made.price(unit).zcdp_steps == expected
    assert "ln(1 + δ) for each symbol; 50 symbols, 20 questions together" in made.price(USER).rule


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "takes one of epsilon and epsilon_per_item, got neither"),
        ({"epsilon": 1, "epsilon_per_item": 1}, "got both"),
        ({"epsilon": 1, "delta_prime": "1e-7"}, "delta_prime goes with epsilon_per_item"),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": 1001}, "at most 1,000"),
        ({"epsilon": "much"}, "epsilon must be a finite number"),
        ({"epsilon_per_item": "-1"}, "epsilon_per_item must be positive"),
        ({"epsilon": 1, "delta": 0}, "delta must lie strictly between 0 and 1"),
        ({"epsilon": 1, "delta": 1}, "delta must lie strictly between 0 and 1"),
        ({"epsilon_per_item": 1, "delta_prime": 1}, "delta_prime must lie in"),
        ({"epsilon": 1, "symbols": 0}, "symbols must be a whole number"),
        ({"epsilon": 1, "symbols": 2.5}, "symbols must be a whole number"),
        ({"epsilon": 1, "questions": 0}, "questions must be a whole number"),
        ({"epsilon": 1, "questions": 10**7}, "questions must be a whole number"),
        ({"epsilon": 1, "accounting": "cheap"}, "accounting must be"),
        ({"epsilon": 1, "domain_rule": "weak"}, "domain_rule must be"),
        ({"epsilon": 1, "ties": "none"}, "ties must be"),
    ],
)
def test_wrong_parameters_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        dv.PayWhatYouGet(**given)


def test_a_price_that_no_step_fits_is_refused_before_anything_is_opened() -> None:
    symbols_alone = dv.PayWhatYouGet(symbols=1000, questions=1, epsilon="1/10", delta="1/2")  # 1000 ln(5/4) > 1/10
    with pytest.raises(ParameterError, match="must pay for 1000 steps"):
        symbols_alone.price(USER)
    with pytest.raises(ParameterError, match="at most 1,000"):
        dv.PayWhatYouGet(symbols=2000, questions=1, epsilon_per_item=1).price(USER)
    with pytest.raises(ParameterError, match="deltas together must stay below 1"):
        dv.PayWhatYouGet(symbols=9, questions=9, epsilon_per_item=1, delta="0.2").price(USER)


@pytest.mark.parametrize(
    "made",
    [
        dv.PayWhatYouGet(epsilon="1/3"),
        dv.PayWhatYouGet(7, 3, epsilon="2", delta="1e-9", accounting="zcdp", domain_rule="strict", ties="unknown"),
        dv.PayWhatYouGet(7, 3, epsilon_per_item="0.05", delta="1e-8", delta_prime="1e-7"),
    ],
)
def test_parameters_go_into_texts_and_back(made: dv.PayWhatYouGet) -> None:
    assert dv.PayWhatYouGet.from_parameters(made.parameters()) == made
    assert eval(made.python, {"dv": dv}) == made
    for asking in (Asking(made, 4, 9), Asking(made, 4, "private", 30)):
        assert Asking.from_parameters(asking.parameters()) == asking
    with pytest.raises(ParameterError, match="PayWhatYouGet takes"):
        dv.PayWhatYouGet.from_parameters({**made.parameters(), "budget": "2"})


# ---------------------------------------------------------------- one question


def test_a_question_is_a_top_k_at_the_frozen_step_and_the_price_of_all() -> None:
    asked = bound()
    step_price = dv.PayWhatYouGet(epsilon="1").step_price(USER)
    alone = dv.TopK(
        10, 50, epsilon_per_item=step_price.step, delta=step_price.delta, delta_prime=step_price.delta_prime
    )
    expected = alone.bind(DEST, USER)
    assert (asked.ranked.rule, asked.ranked.step_price) == (expected.rule, expected.step_price)
    assert (asked.needs, asked.max_items, asked.mechanism.most) == (Top(50), 10, 10)
    assert asked.price == dv.PayWhatYouGet(epsilon="1").price(USER) != expected.price
    assert asked.error.listed(Fraction(1, 20)) == expected.error.listed(Fraction(1, 20))


def test_a_private_kbar_leaves_all_items_and_uses_one_symbol_more() -> None:
    asked = bound(10, "private", 60)
    assert (asked.max_items, asked.mechanism.most, asked.needs) == (10, 11, Top(60))
    statistic = TopCounts(["a", "b"], np.array([4000, 3000]), 0)
    answer = asked.draw(statistic, TeachingBits(3), mode="exact")
    assert answer == Ranked(("a", "b"), True, kbar=answer.kbar) and asked.accepts(answer)  # type: ignore[attr-defined]
    assert asked.mechanism.used(answer) == 4, "two items, the bottom symbol, and the choice of kbar"
    assert [used.text for used in asked.uses(answer)] == ["4 of 50 symbols", "1 of 20 questions"]


@pytest.mark.parametrize(
    ("answer", "used"), [(Ranked((), True), 1), (Ranked(("a",), True), 2), (Ranked(tuple("abcdefghij"), False), 10)]
)
def test_the_bottom_symbol_is_a_symbol(answer: Ranked, used: int) -> None:
    assert bound().mechanism.used(answer) == used <= bound().mechanism.most


def test_an_engine_that_orders_ties_at_will_is_refused() -> None:
    with pytest.raises(ParameterError):
        bound().check_source(TopRules(ties="unknown"))
    bound(ties="unknown").check_source(TopRules(ties="unknown"))
    bound(domain_rule="strict").check_source(TopRules(ties="unknown"))
    bound().check_source(TopRules())


@pytest.mark.parametrize(
    ("k", "kbar", "largest", "unit"),
    [
        (0, 5, None, USER),
        (6, 5, None, USER),
        (2, "private", None, USER),
        (2, "private", 2, USER),
        (2, 5, 9, USER),
        (2, "private", 9, OTHER),
        (2, "secret", None, USER),
    ],
)
def test_a_question_that_nothing_proves_is_refused(k: int, kbar: Any, largest: int | None, unit: dv.Unit) -> None:
    with pytest.raises(DpvizError):
        bound(k, kbar, largest, unit)


def test_its_epsilon_is_fixed_when_it_is_opened() -> None:
    with pytest.raises(ParameterError, match="fixed when it is opened"):
        bound().mechanism.with_epsilon(Fraction(2))
