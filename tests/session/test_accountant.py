"""Two filters: sums stay below their caps whatever is chosen, and what the caps promise is what the budget says."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpviz.errors import BudgetExceeded, DpvizError, LedgerFormat, ParameterError
from dpviz.privacy import ZCDP, ApproxDP, Guarantee, Loss, PureDP, RangeBounded, Unit, to_approx
from dpviz.privacy.composition import basic
from dpviz.privacy.optimal import best_optimal_dp, optimal_dp
from dpviz.session import accountant
from dpviz.session.accountant import Budget, booked, caps, charge, opened, remaining, spent, widened
from dpviz.session.charge import price_json

MILLIONTH = Fraction(1, 10**6)

sizes = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(1, 2), max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 10**7), max_denominator=10**9)
losses: st.SearchStrategy[Loss] = st.one_of(
    st.builds(PureDP, sizes),
    st.builds(ApproxDP, sizes, deltas),
    st.builds(RangeBounded, sizes, deltas, st.integers(1, 20), st.integers(1, 5)),
)
concentrated: st.SearchStrategy[Loss] = losses | st.builds(ZCDP, sizes.map(lambda size: size**2))
budgets = st.builds(
    Budget,
    st.sampled_from(["0.1", "1", "8"]),
    st.sampled_from(["1e-9", "1e-6", "1/49"]),
    st.just("zcdp"),
    st.sampled_from(accountant.CONVERSIONS),
)
EARLIER = Budget("1", "1e-6", "zcdp", "bun-steinke")


def run(budget: Budget, asked: list[Loss]) -> tuple[dict[str, str], list[Loss]]:
    """Charge one after another; a refusal is passed over. The last state, and what was paid."""
    state, paid = opened(budget), []
    for loss in asked:
        before = dict(state)
        try:
            state = charge(state, loss)
            paid.append(loss)
        except BudgetExceeded:
            assert state == before
    return state, paid


@given(st.lists(losses, max_size=12), st.sampled_from(["0.5", "3"]))
def test_basic_sums_are_those_of_direct_composition(asked: list[Loss], epsilon: str) -> None:
    budget = Budget(epsilon, "1e-6")
    state, paid = run(budget, asked)
    gone, real = spent(state), to_approx(basic(paid)) if paid else ApproxDP(Fraction(0), Fraction(0))
    assert 0 <= gone["epsilon"] - real.epsilon <= Fraction(len(paid), 10**12)
    assert 0 <= gone["delta"] - real.delta <= Fraction(len(paid), 10**30)
    assert gone["epsilon"] <= budget.epsilon and gone["delta"] <= budget.delta


def pure(epsilon: Fraction) -> Fraction:
    """epsilon tanh(epsilon / 2), rounded down at 200 bits."""
    with gmpy2.context(precision=200, round=gmpy2.RoundDown):
        found = gmpy2.mpfr(gmpy2.mpq(epsilon)) * gmpy2.tanh(gmpy2.mpfr(gmpy2.mpq(epsilon / 2)))
    return Fraction(*map(int, found.as_integer_ratio()))


def direct(budget: Budget, paid: list[Loss]) -> dict[str, Fraction]:
    """What the charges come to together, from the definitions: rho, delta, and the shift of the domains."""
    rho = delta = shift = Fraction(0)
    for loss in paid:
        if isinstance(loss, ZCDP):
            rho += loss.rho
        elif isinstance(loss, RangeBounded):
            rho += loss.steps * loss.epsilon**2 / 8
            each = loss.delta / loss.rounds  # ln(1 + x) lies between x - x^2/2 and x
            shift += loss.steps * (each - each**2 / 2)
        else:
            rho += pure(loss.epsilon) if budget.conversion == "cks" else loss.epsilon**2 / 2
        delta += Fraction(0) if isinstance(loss, ZCDP) else loss.delta
    return {"rho": rho, "delta": delta, "shift": shift}


@given(budgets, st.lists(concentrated, max_size=12))
def test_zcdp_sums_are_the_definitions_and_never_above_their_caps(budget: Budget, asked: list[Loss]) -> None:
    state, paid = run(budget, asked)
    gone, most, real = spent(state), caps(budget), direct(budget, paid)
    for part in gone:
        assert real[part] <= gone[part] <= most[part]
        assert gone[part] - real[part] <= len(paid) * Fraction(1, 10**11)


@given(budgets, st.lists(concentrated, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_charges_does_not_matter(budget: Budget, asked: list[Loss], dice: random.Random) -> None:
    state, paid = run(budget, asked)
    dice.shuffle(paid)
    assert run(budget, paid) == (state, paid)


@given(budgets, losses)
def test_what_is_left_says_truly_what_fits(budget: Budget, loss: Loss) -> None:
    state, _ = run(budget, [PureDP(Fraction(1, 100)), loss])
    left = remaining(state)
    assert left.filter == "zcdp" and left.total == budget
    if left.epsilon:
        charge(state, PureDP(left.epsilon))
    with pytest.raises(BudgetExceeded):
        charge(state, PureDP(left.epsilon + MILLIONTH))
    for price in (loss, PureDP(left.epsilon + MILLIONTH)):
        fits = left.admits(Guarantee(price, Unit(), "a rule"))
        try:
            charge(state, price)
            assert fits
        except BudgetExceeded:
            assert not fits


# ---------------------------------------------------------------- what the caps promise


@given(
    st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50),
    st.sampled_from(["1e-15", "1e-6", "0.5"]),
)
def test_the_caps_together_are_the_budget_and_no_more(epsilon: Fraction, delta: str) -> None:
    """Half of delta for the answers, half to turn rho into an epsilon; a little more rho would not fit."""
    for conversion in accountant.CONVERSIONS:
        budget = Budget(epsilon, delta, "zcdp", conversion)
        most = caps(budget)
        rest = budget.delta - most["delta"]
        assert most["delta"] == rest == budget.delta / 2 and most["shift"] == epsilon / 1000
        whole, least = epsilon - most["shift"], Fraction(1, 10**11)
        promised = {"bun-steinke": lambda rho, rest=rest: to_approx(ZCDP(rho), rest).epsilon, "cks": by_any_order(rest)}
        assert promised[conversion](most["rho"]) <= whole + MILLIONTH
        assert promised[conversion](most["rho"] + least) >= whole - MILLIONTH * epsilon
        assert most["rho"] > 0


def by_any_order(delta: Fraction) -> Callable[[Fraction], float]:
    """The least epsilon of Canonne, Kamath, Steinke 2020, Corollary 13, over many orders, in floats."""
    more = np.exp(np.linspace(-12, 24, 200_001))

    def least(rho: Fraction) -> float:
        alpha = 1 + more
        beyond = (-math.log(delta) - np.log1p(more)) / more + np.log(more) - np.log1p(more)
        return float((alpha * float(rho) + beyond).min())

    return least


def test_a_budget_converts_by_the_larger_cap_and_an_earlier_one_by_its_own() -> None:
    today = Budget("1", "1e-6", "zcdp")
    assert today.conversion == "cks" and caps(today)["rho"] == Fraction("0.022894466407")
    assert caps(EARLIER)["rho"] == Fraction("0.016628915057")
    assert booked("zcdp", PureDP(Fraction(1, 10)), None, "bun-steinke")["rho"] == Fraction(1, 200)
    assert 0 < booked("zcdp", PureDP(Fraction(1, 10)))["rho"] - pure(Fraction(1, 10)) < Fraction(1, 10**12)
    for wrong in (
        {"epsilon": "1", "conversion": "cks"},
        {"epsilon": "1", "delta": "1e-6", "filter": "zcdp", "conversion": "renyi"},
        {"epsilon": "1", "delta": "1e-6", "filter": "zcdp", "conversion": ["cks"]},
    ):
        with pytest.raises(ParameterError) as caught:
            Budget(**wrong)  # type: ignore[arg-type]
        assert caught.value.rule and caught.value.next_step


@pytest.mark.parametrize(("epsilon", "each"), [("1", "0.01"), ("2", "0.02"), ("0.2", "0.001")])
def test_pure_answers_up_to_the_cap_cost_at_most_the_budget_by_the_optimal_rule(epsilon: str, each: str) -> None:
    """Randomised response attains the optimal rule, so this is a real law. Booking a quarter of it would break it."""
    budget, size = Budget(epsilon, "1e-6", filter="zcdp"), Fraction(each)
    count = caps(budget)["rho"] // booked("zcdp", PureDP(size))["rho"]
    assert count * size > budget.epsilon  # more than fits by the sum
    assert best_optimal_dp(count, size, budget.delta).epsilon <= budget.epsilon
    assert best_optimal_dp(4 * count, size, budget.delta).epsilon > budget.epsilon


@pytest.mark.parametrize(("each", "delta"), [("0.01", "1e-8"), ("0.01", "1e-10"), ("0.001", "1e-11")])
def test_approximate_answers_up_to_the_caps_cost_at_most_the_budget_by_their_law(each: str, delta: str) -> None:
    """Each gives itself away with chance delta and is randomised response else. Forgetting delta breaks the promise."""
    budget, size, leak = Budget("1", "1e-6", filter="zcdp"), Fraction(each), Fraction(delta)
    cost, most = booked("zcdp", ApproxDP(size, leak)), caps(budget)

    def together(count: int) -> Fraction:
        kept = (1 - leak) ** count
        corners = (corner for corner in optimal_dp(count, size) if corner.epsilon <= budget.epsilon)
        return 1 - kept + kept * next(corners).delta

    by_rho, by_delta = (most[part] // cost[part] for part in ("rho", "delta"))
    assert together(min(by_rho, by_delta)) <= budget.delta
    if by_delta < by_rho:
        assert together(by_rho) > budget.delta


def first_symbol(epsilon: float, delta: float, share: float) -> tuple[float, float, float, float, float]:
    """One symbol from a known item, a departing item at the threshold and the bottom symbol, in odds share : delta : 1;
    the neighbour lacks the departing one and counts one less of the known. Chances: known, bottom, departing; known,
    bottom.
    """
    here, there = share + delta + 1, share / math.exp(epsilon) + 1
    return share / here, 1 / here, delta / here, share / math.exp(epsilon) / there, 1 / there


def excess(count: int, law: tuple[float, float, float, float, float], at: float) -> float:
    """The hockey-stick divergence at e^at of `count` answers: the chance of a departing item, and the rest exactly."""
    known, bottom, departing, known_there, bottom_there = law
    j = np.arange(count + 1)
    losses = j * math.log(known / known_there) + (count - j) * math.log(bottom / bottom_there)
    staying = math.exp(count * math.log1p(-departing))
    likely = binom.pmf(j, count, known / (known + bottom)) * staying
    rest = likely * np.maximum(0, 1 - np.exp(np.minimum(0, at - losses)))
    return -math.expm1(count * math.log1p(-departing)) + float(rest[losses > at].sum())


@pytest.mark.parametrize("share", [0.2, 1.0, 5.0])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-10"), ("0.05", "1e-9"), ("0.02", "1e-12")])
def test_lists_up_to_the_cap_cost_at_most_the_budget_by_their_law(epsilon: str, delta: str, share: float) -> None:
    """As many lists of one symbol as the filter admits. Booking a quarter of the rho would break the promise."""
    budget = Budget("1", "1e-6", filter="zcdp")
    cost, most = booked("zcdp", RangeBounded(Fraction(epsilon), Fraction(delta))), caps(budget)
    count = min(most[part] // cost[part] for part in cost)
    law = first_symbol(float(Fraction(epsilon)), float(Fraction(delta)), share)
    assert excess(count, law, 1.0) <= float(budget.delta)
    if share == 1.0:  # where the two outcomes are equally likely, the rho of a step is reached nearly
        assert count == most["rho"] // cost["rho"]
        assert excess(4 * count, law, 1.0) > float(budget.delta)


def test_a_filter_that_forgets_the_shift_would_promise_too_much() -> None:
    """Few symbols with a large delta: the agreement on a domain alone moves the odds by more than the whole budget."""
    budget = Budget("0.01", "0.5", filter="zcdp")
    loss = RangeBounded(Fraction(1, 10**6), Fraction(1, 5), 1)
    cost, most = booked("zcdp", loss), caps(budget)
    assert cost["rho"] <= most["rho"] and cost["delta"] <= most["delta"]
    assert to_approx(loss).epsilon > budget.epsilon
    with pytest.raises(BudgetExceeded, match="a shift of ε by 0.18232155") as caught:
        charge(opened(budget), loss)
    assert caught.value.part == "shift" and caught.value.left == "0.00001"


def test_range_bounded_steps_are_booked_finely_where_they_are_known() -> None:
    """50 steps of 0.05 for a total of about 1: by the total ρ would be 0.5, by the steps it is a thirtieth of that."""
    zcdp_steps = RangeBounded(Fraction(1, 20), Fraction(1, 10**8), 50)
    total = ApproxDP(Fraction(1), Fraction(1, 10**6))
    by_steps, by_total = booked("zcdp", total, zcdp_steps), booked("zcdp", total)
    assert by_steps == booked("zcdp", zcdp_steps) and by_steps["rho"] == Fraction(50, 3200)
    assert 0 < by_total.pop("rho") - pure(Fraction(1)) < Fraction(1, 10**12)
    assert by_total == {"delta": MILLIONTH, "shift": Fraction(0)}
    assert by_steps["shift"] >= Fraction(50, 10**8) * (1 - Fraction(1, 10**8))
    assert booked("basic", total, zcdp_steps) == {"epsilon": Fraction(1), "delta": MILLIONTH}


def test_noise_that_is_zero_concentrated_is_booked_by_its_rho_where_it_is_known() -> None:
    """(1, 1e-6) by a rho of about 1/58: by the total ρ would be 1/2, and δ would be spent, too."""
    total, rho = ApproxDP(Fraction(1), MILLIONTH), ZCDP(Fraction(1, 64))
    assert booked("zcdp", total, rho) == {"rho": Fraction(1, 64), "delta": Fraction(0), "shift": Fraction(0)}
    assert booked("zcdp", total, None, "bun-steinke") == {
        "rho": Fraction(1, 2),
        "delta": MILLIONTH,
        "shift": Fraction(0),
    }
    assert booked("basic", total, rho) == booked("basic", total)
    state = charge(opened(Budget("1", "1e-6", "zcdp")), total, ZCDP(Fraction(1, 1000)))
    assert spent(state)["rho"] == Fraction(1, 1000)
    with pytest.raises(BudgetExceeded, match="ρ = 0.462117157261"):
        charge(state, total)


def test_the_rho_of_pure_noise_is_booked_today_and_was_not_before() -> None:
    """Ten bins of 0.1: rho is a tenth of that of one bin of 1. An earlier dpviz booked, and checks, epsilon^2/2."""
    loss, rho = PureDP(Fraction(1)), ZCDP(Fraction("0.049958374958"))
    assert booked("zcdp", loss, rho)["rho"] == rho.rho
    assert booked("zcdp", loss, rho, "bun-steinke")["rho"] == Fraction(1, 2)
    assert booked("zcdp", loss, ZCDP(Fraction(3)))["rho"] == booked("zcdp", loss)["rho"] < Fraction(1, 2)
    assert accountant.fine(loss, rho, "bun-steinke") is None and accountant.fine(loss, rho, None) is None


@given(losses)
def test_an_entry_says_what_was_booked(loss: Loss) -> None:
    """Also where the price lies off the grid: what is read back is what was charged."""
    for zcdp_steps in (None, RangeBounded(Fraction(1, 7), Fraction(1, 10**9), 3, 2), ZCDP(Fraction(1, 700))):
        price = Guarantee(
            PureDP(loss.epsilon) if isinstance(loss, RangeBounded) else loss, Unit(), "a rule", zcdp_steps=zcdp_steps
        )
        for conversion in (None, *accountant.CONVERSIONS):
            filter_: accountant.Filter = "basic" if conversion is None else "zcdp"
            read = accountant.entered(filter_, price_json(price, conversion))
            assert read == booked(filter_, price.loss, zcdp_steps, conversion)


@given(losses)
def test_an_entry_without_a_rho_keeps_its_square_for_ever(loss: Loss) -> None:
    """In a budget that was raised to today's conversion, too. Booked anew by a smaller rule it would look forged."""
    price = price_json(Guarantee(to_approx(loss), Unit(), "a rule"))
    assert "fine" not in price
    cost = accountant.entered("zcdp", price)
    assert (
        cost["rho"] >= to_approx(loss).epsilon ** 2 / 2 > booked("zcdp", to_approx(loss))["rho"] - Fraction(1, 10**12)
    )
    before = opened(Budget("1000", "0.5", "zcdp"))
    assert accountant.follows("charge", {"price": price}, before, accountant.enter(before, price))


# ---------------------------------------------------------------- words and changes


def test_every_refusal_names_its_filter_and_changes_nothing() -> None:
    for budget, loss, part, named in (
        (Budget("1", "1e-6"), PureDP(Fraction(2)), "epsilon", "ε and δ add up"),
        (Budget("1", "1e-6"), ApproxDP(Fraction(1), Fraction(1, 10)), "delta", "ε and δ add up"),
        (Budget("1", "1e-6", "zcdp"), PureDP(Fraction(1, 2)), "rho", "zCDP filter"),
        (Budget("1", "1e-6", "zcdp"), ApproxDP(Fraction(1, 9), MILLIONTH), "delta", "zCDP filter"),
        (Budget("1", "1e-2", "zcdp"), RangeBounded(Fraction(1, 99), Fraction(1, 999), 9), "shift", "zCDP filter"),
    ):
        state = opened(budget)
        before = dict(state)
        with pytest.raises(BudgetExceeded, match="Nothing was charged") as caught:
            charge(state, loss)
        assert caught.value.part == part and named in caught.value.rule and caught.value.next_step
        assert Fraction(caught.value.left) == caps(budget)[part] and state == before


def test_a_spent_budget_says_so() -> None:
    budget = Budget("1", "1e-6", filter="zcdp")
    state = charge(opened(budget), ZCDP(caps(budget)["rho"]))
    assert remaining(state).epsilon == 0
    with pytest.raises(BudgetExceeded, match="the budget is used up"):
        charge(state, PureDP(Fraction(1, 10**5)))


def test_only_a_budget_that_is_not_basic_names_its_filter() -> None:
    """So that ledgers made before there were two filters stay what they are."""
    plain, other = Budget("1", "1e-6"), Budget("1", "1e-6", filter="zcdp")
    assert plain.to_json() == {"epsilon": "1", "delta": "0.000001"} and "filter" not in repr(plain)
    assert EARLIER.to_json() == {**plain.to_json(), "filter": "zcdp"} and plain != EARLIER != other
    assert other.to_json() == {**EARLIER.to_json(), "conversion": "cks"}
    assert [accountant.from_json(one.to_json()) for one in (plain, EARLIER, other)] == [plain, EARLIER, other]
    assert set(opened(plain)) == {"filter", "grid", "epsilon_total", "delta_total", "epsilon", "delta"}
    assert [accountant.budget(opened(one)) for one in (plain, EARLIER, other)] == [plain, EARLIER, other]
    assert set(opened(other)) - set(opened(EARLIER)) == {"conversion"}


def test_words_for_what_is_left_and_what_is_spent() -> None:
    state = charge(opened(EARLIER), PureDP(Fraction(1, 10)))
    assert repr(remaining(state)) == (
        "<left: ρ 0.011628915057 of 0.016628915057, δ 0.0000005 of 0.0000005, shift 0.001 of 0.001; "
        "at most ε 0.152505 in one answer>"
    )
    assert accountant.spent_text(state) == "ρ 0.005 of 0.016628915057 and δ 0 of 0.0000005 under the zCDP filter"
    state = charge(opened(Budget("1", "1e-6", filter="zcdp")), PureDP(Fraction(1, 10)))
    assert repr(remaining(state)) == (
        "<left: ρ 0.017898628911 of 0.022894466407, δ 0.0000005 of 0.0000005, shift 0.001 of 0.001; "
        "at most ε 0.189484 in one answer>"
    )
    assert accountant.spent_text(charge(opened(Budget("1")), PureDP(Fraction(1, 10)))) == "ε 0.1"


@settings(max_examples=30)
@given(budgets, st.lists(losses, max_size=5), st.integers(1, 5), st.integers(1, 3))
def test_a_raised_budget_has_the_caps_of_the_new_one(budget: Budget, asked: list[Loss], more: int, times: int) -> None:
    state, paid = run(budget, asked)
    new = Budget(more * budget.epsilon, times * budget.delta, "zcdp", budget.conversion)
    wider = widened(state, new)
    assert accountant.budget(wider) == new and spent(wider) == spent(state)
    assert remaining(wider).caps == caps(new)
    assert run(new, paid)[0] == wider


@settings(max_examples=30)
@given(st.lists(losses, max_size=5))
def test_an_earlier_budget_is_raised_to_the_larger_cap_and_keeps_what_was_booked(asked: list[Loss]) -> None:
    state, _ = run(EARLIER, asked)
    new = Budget("1", "1e-6", "zcdp")
    wider = widened(state, new)
    assert accountant.budget(wider) == new and spent(wider) == spent(state) and remaining(wider).caps == caps(new)
    assert accountant.follows("raise", new.to_json(), state, wider)
    assert not accountant.follows("raise", EARLIER.to_json(), state, wider), "the raise names the rule of its caps"


@pytest.mark.parametrize(
    "other", [Budget("1", "1e-6"), Budget("0.5", "1e-6", "zcdp"), Budget("2", "1e-7", "zcdp"), EARLIER]
)
def test_a_budget_keeps_its_filter_and_is_not_lowered(other: Budget) -> None:
    state = opened(Budget("1", "1e-6", filter="zcdp"))
    with pytest.raises(ParameterError) as caught:
        widened(state, other)
    assert caught.value.rule and remaining(state).total == Budget("1", "1e-6", filter="zcdp")


@pytest.mark.parametrize(
    "wrong",
    [{"filter": "zcdp"}, {"filter": "zcdp", "delta": 0}, {"filter": "renyi"}, {"filter": None}, {"filter": ["zcdp"]}],
)
def test_a_budget_that_no_filter_can_keep_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DpvizError) as caught:
        Budget("1", **wrong)  # type: ignore[arg-type]
    assert caught.value.rule


def test_a_filter_of_a_newer_version_is_not_guessed() -> None:
    with pytest.raises(LedgerFormat, match="upgrade dpviz"):
        remaining({**opened(Budget("1")), "filter": "renyi"})
    with pytest.raises(LedgerFormat, match="upgrade dpviz"):
        remaining({**opened(Budget("1", "1e-6", "zcdp")), "conversion": "renyi"})
