"""The arithmetic of a budget: state and loss in, new state or refusal out. Pure, and O(1).

Two filters, both valid however adaptively the analyst chooses questions, mechanisms and prices, as long as the total
was fixed beforehand. Amounts are whole numbers of steps of one grid, so sums are exact and never grow.

basic   epsilons and deltas add up. Source: Rogers, Roth, Ullman, Vadhan 2016, Theorem 5.1.
zcdp    approximate zero-concentrated DP. Each answer books rho, delta and a shift; each sum stays below a cap of its
        own, fixed when the budget (E, D) is opened: the reserve of D for delta, half of it unless the budget says
        otherwise, E/1000 for the shift, and for rho the most that a conversion proves to be (E - E/1000, rest of D)-DP
        (`privacy/concentrated.py`: Canonne, Kamath, Steinke 2020, at an order that follows from E and D alone). All
        answers together are then (E, D)-DP. Source: Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 1 (the filter, with
        delta); Feldman, Zrnic 2021 (without). A pure answer books the rho of its noise where that is known, else
        epsilon tanh(epsilon/2). The shift is what agreeing on a domain adds: where each likelihood ratio lies within
        e^shift of that of a zero-concentrated mechanism, that of all answers lies within e^(sum of shifts), on every
        path of choices.

A filter promises its total, (E, D), whatever is asked. The rho that is spent so far is no promise by itself: how much
was spent depends on answers. It would be one for a budget whose cap had been that rho from the start.

Budgets that name no conversion are of ledgers from before there were two: their cap is the most with rho + 2 sqrt(rho
ln(2/D)) <= E - E/1000, and their pure answers book epsilon^2/2 (Bun, Steinke 2016, Propositions 1.3 and 1.4 and Section
8). They go on so. An entry says its own rho in every budget with a conversion; one that says none books epsilon^2/2.

A sub-session stays open while other answers are paid for, and an analyst may go to and fro between them. Under basic,
what filters single answers in epsilon and delta filters interactive mechanisms, however their questions interleave.
Source: Haney, Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang 2023, which does not treat approximate zero-concentrated DP.
Under zcdp, all steps and rounds of a sub-session are booked when it opens; each is a mechanism of its own wherever it
comes in the order, so the filter covers them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, Final, Literal, get_args

from dpviz.boundary import as_given, protect_module, single_arguments
from dpviz.errors import BudgetExceeded, LedgerFormat, ParameterError
from dpviz.exact import Number, positive, probability, text, typed
from dpviz.privacy.concentrated import SINGLE_STEP, pure_rho, rho_within, rho_within_earlier, single
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import DELTA_STEP, EPSILON_STEP, GRID, amount, ceiling, payable, steps
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP, RangeBounded, Steps
from dpviz.privacy.renyi import epsilon_for

Filter = Literal["basic", "zcdp"]
FILTERS: tuple[Filter, ...] = get_args(Filter)

Conversion = Literal["cks", "bun-steinke"]
CONVERSIONS: tuple[Conversion, ...] = get_args(Conversion)
"""From rho to epsilon and delta: Canonne, Kamath, Steinke 2020; of budgets that name none, Bun, Steinke 2016."""

FILTER_TEXT: dict[Filter, str] = {
    "basic": "ε and δ add up; valid when each question is chosen after seeing earlier answers",
    "zcdp": "zCDP filter: ρ, δ and shifts add up; valid when each question is chosen after seeing earlier answers",
}

PARTS: dict[Filter, tuple[str, ...]] = {"basic": ("epsilon", "delta"), "zcdp": ("rho", "delta", "shift")}
"""The parts that each filter adds up."""

SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "shift": "shift"}

HALF: Final = Fraction(1, 2)
"""The reserve of a zCDP budget that names none: the share of its delta for the deltas of answers."""

SHIFT_SHARE = Fraction(1, 1000)
"""Of a zCDP budget's epsilon, for shifts: k steps shift by about k delta, which is far less than epsilon."""


@dataclass(frozen=True)
class Budget:
    """Fix the most that a dataset may ever cost one unit, and how answers are added up.

    Parameters
    ----------
    epsilon : str, int or Fraction
        The total epsilon, above 0: a decimal of at most 30 places, or a fraction over 1..50.
    delta : str, int or Fraction, default 0
        The total delta, from 0 to 1.
    filter : {"basic", "zcdp"}, default "basic"
        "basic" adds epsilons and deltas up. Under "zcdp" each answer costs at most epsilon**2 / 2 of a common rho, so
        that many small answers fit where the sum of their epsilons would not, and single large ones do not; it needs a
        delta, of which it spends on this all but the reserve.
    conversion : {"cks", "bun-steinke"}, optional
        How a zCDP budget turns rho into epsilon and delta: "cks" where it is left out. Ledgers from before there were
        two keep "bun-steinke", which allows about a quarter less; a raise to "cks" is one for good, and earlier
        versions of dpviz do not read a ledger that was raised so.

    reserve : str, int or Fraction, optional
        The share of a zCDP budget's delta that is kept for the deltas of answers, such as those of thresholds over
        unknown keys: from 0 to below 1; "1/2" where it is left out. The rest turns rho into epsilon and delta: with
        "1/10" a budget of (1, 0.000001) holds a rho of 0.024085 in place of 0.022894. A ledger keeps its reserve, and
        earlier versions of dpviz do not read a ledger that names one.

    Raises
    ------
    ParameterError
        If a number is outside its range or off the grid, the filter or its conversion is unknown, a zCDP budget has no
        delta, or another budget names a reserve.

    Notes
    -----
    Both filters are valid when each question, mechanism and price is chosen after seeing earlier answers [1]_ [2]_. The
    relation (add-remove or replace-one) is that of the session's unit.

    The promise is the total: all answers together are (epsilon, delta)-differentially private, whatever is asked. The
    amount spent so far is no promise by itself, for it depends on the answers; it would be one only for a session that
    had been limited to that amount from the start.

    The cap on rho is the most that one Rényi order proves [3]_; the order follows from epsilon and delta alone.

    References
    ----------
    .. [1] Rogers, Roth, Ullman, Vadhan (2016), Theorem 5.1 (basic).
    .. [2] Whitehouse, Ramdas, Rogers, Wu (2023), Theorem 1 (zcdp).
    .. [3] Canonne, Kamath, Steinke (2020), Proposition 12 and Corollary 13.

    Examples
    --------
    >>> Budget(epsilon="2", delta="1e-6")
    Budget(epsilon="2", delta="0.000001")
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    filter: Filter = "basic"
    conversion: Conversion | None = None
    reserve: Fraction | None = None

    @single_arguments
    def __init__(
        self,
        epsilon: Number,
        delta: Number = 0,
        filter: Filter = "basic",
        conversion: Conversion | None = None,
        reserve: Number | None = None,
    ) -> None:
        object.__setattr__(self, "epsilon", _on_grid(positive(epsilon, "epsilon", read=typed), "epsilon"))
        object.__setattr__(self, "delta", _on_grid(probability(delta, "delta", read=typed), "delta"))
        if not isinstance(filter, str) or filter not in FILTERS:
            rule = f"a budget's filter must be one of {', '.join(FILTERS)}"
            raise ParameterError.of(as_given(filter), rule, 'write filter="basic", or leave it out')
        object.__setattr__(self, "filter", filter)
        object.__setattr__(self, "conversion", _checked_conversion(filter, conversion))
        object.__setattr__(self, "reserve", _checked_reserve(self.conversion, reserve))
        if filter == "zcdp" and not caps(self)["rho"]:
            raise ParameterError.of(
                self.text,
                "a budget with the zCDP filter needs a δ above zero and an ε that is not tiny",
                'give it a delta like 0.000001, or filter="basic"',
            )

    def __repr__(self) -> str:
        filter_ = "" if self.filter == "basic" else f', filter="{self.filter}"'
        filter_ += f', conversion="{self.conversion}"' if self.conversion == "bun-steinke" else ""
        filter_ += "" if self.reserve is None else f', reserve="{text(self.reserve)}"'
        return f'Budget(epsilon="{text(self.epsilon)}", delta="{text(self.delta)}"{filter_})'

    @property
    def text(self) -> str:
        """The budget in a few words: `ε 2, δ 0.000001`."""
        return f"ε {text(self.epsilon)}, δ {text(self.delta)}" + ("" if self.filter == "basic" else ", zCDP filter")

    def to_json(self) -> dict[str, str]:
        """Return the parts as texts, as a ledger keeps them.

        Returns
        -------
        dict of str to str
            Epsilon, delta, the filter where it is not "basic", its conversion where that is not the one of budgets
            that name none, and its reserve where it names one.
        """
        told = {"epsilon": text(self.epsilon), "delta": text(self.delta)}
        if self.filter != "basic":
            told["filter"] = self.filter
        if self.conversion == "cks":
            told["conversion"] = self.conversion
        if self.reserve is not None:
            told["reserve"] = text(self.reserve)
        return told

    @property
    def for_answers(self) -> Fraction:
        """The delta that answers may cost together: under zCDP the reserve, else all of it."""
        if self.filter == "basic":
            return self.delta
        return amount(int(steps(self.delta) * (HALF if self.reserve is None else self.reserve)))


def from_json(told: Mapping[str, Any]) -> Budget:
    """The budget that a ledger keeps in these words. A zCDP budget that names no conversion is from before there were
    two."""
    earlier = {"conversion": "bun-steinke"} if told.get("filter") == "zcdp" and "conversion" not in told else {}
    return Budget(**{**told, **earlier})


def _checked_conversion(filter: Filter, conversion: object) -> Conversion | None:
    if filter == "basic":
        if conversion is None:
            return None
        raise ParameterError.of(
            as_given(conversion), "a basic budget converts nothing", 'leave conversion out, or write filter="zcdp"'
        )
    for known in CONVERSIONS:
        if conversion is None or (isinstance(conversion, str) and conversion == known):
            return known
    rule = f"a zCDP budget's conversion must be one of {', '.join(CONVERSIONS)}"
    raise ParameterError.of(as_given(conversion), rule, 'write conversion="cks", or leave it out')


def _checked_reserve(conversion: Conversion | None, reserve: Number | None) -> Fraction | None:
    """The reserve, where a budget names another than half of its delta."""
    if reserve is None:
        return None
    if conversion != "cks":
        rule = "a reserve belongs to a zCDP budget that converts by cks"
        raise ParameterError.of(as_given(reserve), rule, 'leave reserve out, or write filter="zcdp"')
    share = probability(reserve, "reserve", read=typed)
    return None if share == HALF else share


def _on_grid(value: Fraction, name: str) -> Fraction:
    if GRID % value.denominator:
        raise ParameterError.of(
            text(value),
            f"a budget's {name} must be a decimal of at most 30 places or a fraction over 1..50",
            "write it as a decimal with fewer places",
        )
    return value


def caps(budget: Budget) -> dict[str, Fraction]:
    """The most that each part may add up to."""
    if budget.filter == "basic":
        return {"epsilon": budget.epsilon, "delta": budget.delta}
    delta, shift = budget.for_answers, amount(int(steps(budget.epsilon) * SHIFT_SHARE))
    rest = budget.delta - delta  # what turns rho into an epsilon
    within = rho_within if budget.conversion == "cks" else rho_within_earlier
    shifted = shift if delta else Fraction(0)  # an answer that shifts has a delta
    return {"rho": within(budget.epsilon - shifted, rest) if rest else Fraction(0), "delta": delta, "shift": shift}


def booked(
    filter: Filter,
    loss: Loss,
    zcdp_steps: Steps | None = None,
    conversion: Conversion | None = "cks",
) -> dict[str, Fraction]:
    """The amount that one answer adds to each part. `zcdp_steps` is the same answer as range-bounded steps or as the
    rho of its noise, where either is known.

    zcdp: epsilon tanh(epsilon/2) for a pure answer, or the rho of its noise; the same for one with a delta, which is
    booked too, or that of its noise; steps epsilon^2/8 for range-bounded steps, with the delta and the shift of their
    agreement on a domain. In a budget from before there were two conversions epsilon^2/2 for a pure answer, and for one
    with a delta. Off the grid, rounded up.
    """
    if filter == "basic":
        price = payable(to_approx(loss))
        return {"epsilon": price.epsilon, "delta": price.delta}
    chosen = own_steps(loss, zcdp_steps, conversion) or loss
    delta = shift = Fraction(0)
    match chosen:
        case ZCDP():
            rho = chosen.rho
        case ApproxZCDP():
            rho, delta = chosen.rho, chosen.delta
        case RangeBounded():
            rho, delta, shift = chosen.steps * chosen.epsilon**2 / 8, chosen.delta, chosen.shift
        case PureDP() | ApproxDP():
            price = payable(to_approx(chosen))  # as the entry says it, so that the entry gives the same again
            rho, delta = price.epsilon**2 / 2, price.delta
            if conversion == "cks":
                rho = pure_rho(price.epsilon)
    return {
        "rho": ceiling(rho, EPSILON_STEP),
        "delta": ceiling(delta, DELTA_STEP),
        "shift": ceiling(shift, EPSILON_STEP),
    }


def own_steps(loss: Loss, zcdp_steps: Steps | None, conversion: Conversion | None) -> Steps | None:
    """The steps, or the rho, that an answer books in place of its loss. The rho of pure noise, and of noise with a
    delta, is booked, and said, in budgets with today's conversion alone, where it is the smaller one: earlier versions
    booked epsilon^2/2 of it."""
    if not (isinstance(zcdp_steps, ApproxZCDP) or (isinstance(loss, PureDP) and isinstance(zcdp_steps, ZCDP))):
        return zcdp_steps
    if conversion != "cks":
        return None
    most = pure_rho(payable(to_approx(loss)).epsilon)
    if isinstance(zcdp_steps, ApproxZCDP):
        return zcdp_steps if zcdp_steps.rho < most else None
    return ZCDP(min(zcdp_steps.rho, most))


def fine(loss: Loss, zcdp_steps: Steps | None, conversion: Conversion | None) -> dict[str, str] | None:
    """The part of an entry's price that says what a zCDP filter books; `entered` reads it again. None where that
    follows from epsilon and delta by the earlier rule."""
    own = own_steps(loss, zcdp_steps, conversion)
    match loss if own is None and conversion == "cks" else own:
        case ZCDP(rho=rho):
            return {"rho": text(rho)}
        case ApproxZCDP():
            cost = booked("zcdp", loss, own, conversion)
            return {part: text(cost[part]) for part in ("rho", "delta") if part == "rho" or cost[part]}
        case RangeBounded() as steps_:
            counts = {"steps": str(steps_.steps), "rounds": str(steps_.rounds)}
            return {"epsilon": text(steps_.epsilon), "delta": text(steps_.delta), **counts}
        case PureDP() | ApproxDP():
            cost = booked("zcdp", loss, None, conversion)
            return {part: text(cost[part]) for part in ("rho", "delta") if part == "rho" or cost[part]}
    return None


def entered(filter: Filter, price: Mapping[str, Any]) -> dict[str, Fraction]:
    """The loss that an entry of the ledger booked, from the price that stands in it."""
    loss = ApproxDP(Fraction(price["epsilon"]), Fraction(price["delta"]))
    told = price.get("fine")
    if told is None:
        return booked(filter, loss, None, "bun-steinke")
    if "rho" in told:
        found = booked(filter, loss, ZCDP(Fraction(told["rho"])))
        own = ApproxDP(Fraction(0), Fraction(told.get("delta", "0"))).delta
        return found if filter == "basic" else {**found, "delta": ceiling(own, DELTA_STEP)}
    epsilon, delta, steps_, rounds = (told[name] for name in ("epsilon", "delta", "steps", "rounds"))
    return booked(filter, loss, RangeBounded(Fraction(epsilon), Fraction(delta), int(steps_), int(rounds)))


def paid_and_due(
    state: Mapping[str, str], price: Mapping[str, Any], due: Guarantee
) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """The amounts that an entry booked, and those of a price, in a budget with this state."""
    filter_ = _filter(state)
    return entered(filter_, price), booked(filter_, due.loss, due.zcdp_steps, conversion(state))


@dataclass(frozen=True)
class Remaining:
    """The remaining balance of a budget, exactly.

    epsilon  what may still be asked for in one answer: all that is left under the basic filter; under zCDP the largest
             epsilon of a single pure answer, rounded down to 10^-6
    delta    what is left of delta for answers (under zCDP all but the reserve is never for answers)
    total    the budget
    parts    what is left of everything that the filter adds up
    caps     the most of each
    """

    epsilon: Fraction
    delta: Fraction
    total: Budget
    parts: Mapping[str, Fraction]
    caps: Mapping[str, Fraction]

    @property
    def filter(self) -> Filter:
        return self.total.filter

    @property
    def largest(self) -> Fraction:
        """The largest epsilon that fitted into one answer before anything was spent."""
        return largest_answer(self.total, self.caps)

    def cost(self, price: Guarantee) -> dict[str, Fraction]:
        """The amount that an answer at this price would add to each part."""
        return booked(self.filter, price.loss, price.zcdp_steps, self.total.conversion)

    def had_been_limited(self, price: Guarantee) -> ApproxDP | None:
        """The guarantee of a session that had been limited to the rho of all answers up to one at this price.

        It is no guarantee of this session, whose spending depends on answers. None under the basic filter.
        """
        if self.filter == "basic":
            return None
        rho = self.caps["rho"] - self.parts["rho"] + self.cost(price)["rho"]
        if not rho:
            return ApproxDP(Fraction(0), Fraction(0))
        beyond = epsilon_for(rho, self.total.delta - self.caps["delta"])
        return ApproxDP(min(self.total.epsilon, beyond + self.caps["shift"]), self.total.delta)

    def admits(self, price: Guarantee) -> bool:
        """Whether an answer at this price fits."""
        cost = self.cost(price)
        return all(cost[part] <= self.parts[part] for part in cost)

    def __repr__(self) -> str:
        left = ", ".join(f"{SYMBOLS[part]} {text(self.parts[part])} of {text(self.caps[part])}" for part in self.caps)
        return f"<left: {left}{'' if self.filter == 'basic' else f'; at most ε {text(self.epsilon)} in one answer'}>"


def opened(budget: Budget) -> dict[str, str]:
    """The state of a budget of which nothing is spent."""
    return _state(budget, caps(budget), dict.fromkeys(PARTS[budget.filter], Fraction(0)))


def _state(budget: Budget, most: Mapping[str, Fraction], gone: Mapping[str, Fraction]) -> dict[str, str]:
    limits = {} if budget.filter == "basic" else {f"{part}_cap": str(steps(most[part])) for part in most}
    named = {"conversion": budget.conversion} if budget.conversion == "cks" else {}
    return {
        "filter": budget.filter,
        **named,
        **({} if budget.reserve is None else {"reserve": text(budget.reserve)}),
        "grid": str(GRID),
        "epsilon_total": str(steps(budget.epsilon)),
        "delta_total": str(steps(budget.delta)),
        **limits,
        **{part: str(steps(gone[part])) for part in gone},
    }


def budget(state: Mapping[str, str]) -> Budget:
    total = amount(int(state["epsilon_total"])), amount(int(state["delta_total"]))
    return Budget(*total, filter=_filter(state), conversion=conversion(state), reserve=state.get("reserve"))


def conversion(state: Mapping[str, str]) -> Conversion | None:
    """The conversion of a zCDP budget: the earlier one where the state names none."""
    if _filter(state) == "basic":
        return None
    named = state.get("conversion", "bun-steinke")
    for known in CONVERSIONS:
        if named == known:
            return known
    raise LedgerFormat.of(named, f"this dpviz knows the conversions {', '.join(CONVERSIONS)}", "upgrade dpviz")


def _filter(state: Mapping[str, str]) -> Filter:
    for known in FILTERS:
        if state["filter"] == known:
            return known
    raise LedgerFormat.of(state["filter"], f"this dpviz knows the filters {', '.join(FILTERS)}", "upgrade dpviz")


def _caps_of(state: Mapping[str, str]) -> dict[str, Fraction]:
    """The caps in force, as they were fixed."""
    filter_ = _filter(state)
    names = {part: f"{part}_total" if filter_ == "basic" else f"{part}_cap" for part in PARTS[filter_]}
    return {part: amount(int(state[name])) for part, name in names.items()}


def spent(state: Mapping[str, str]) -> dict[str, Fraction]:
    """Return the total charged so far of each part, pending charges included."""
    return {part: amount(int(state[part])) for part in PARTS[_filter(state)]}


def cost_text(state: Mapping[str, str], loss: Loss, zcdp_steps: Steps | None = None) -> str:
    """For a sentence: `ε 0.1`, or `ρ 0.005` under the zCDP filter."""
    part = PARTS[_filter(state)][0]
    return f"{SYMBOLS[part]} {text(booked(_filter(state), loss, zcdp_steps, conversion(state))[part])}"


def spent_text(state: Mapping[str, str]) -> str:
    """For a sentence: `ε 0.85 and δ 0.0000001`, or `ρ 0.01 of 0.016 and δ 0 of 0.0000005 under the zCDP filter`."""
    gone, most = spent(state), _caps_of(state)
    if _filter(state) == "basic":
        return " and ".join(f"{SYMBOLS[part]} {text(gone[part])}" for part in gone if gone[part] or part == "epsilon")
    listed = " and ".join(f"{SYMBOLS[part]} {text(gone[part])} of {text(most[part])}" for part in ("rho", "delta"))
    return f"{listed} under the zCDP filter"


def remaining(state: Mapping[str, str]) -> Remaining:
    most, gone, total = _caps_of(state), spent(state), budget(state)
    left = {part: most[part] - gone[part] for part in most}
    return Remaining(largest_answer(total, left), left["delta"], total, left, most)


def largest_answer(total: Budget, left: Mapping[str, Fraction]) -> Fraction:
    """The largest epsilon of one pure answer that fits; under zCDP rounded down to SINGLE_STEP."""
    if total.filter == "basic":
        return left["epsilon"]
    if total.conversion == "cks":
        return single(left["rho"])
    return isqrt(int(2 * left["rho"] / SINGLE_STEP**2)) * SINGLE_STEP  # epsilon^2/2 <= rho


def enter(state: Mapping[str, str], price: Mapping[str, Any]) -> dict[str, str]:
    """The state after an entry with this price, or BudgetExceeded, which changes nothing."""
    return pay(state, entered(_filter(state), price))


def charge(state: Mapping[str, str], loss: Loss, zcdp_steps: Steps | None = None) -> dict[str, str]:
    """The state after paying `loss`, or BudgetExceeded, which changes nothing. `zcdp_steps` as in a Guarantee."""
    return pay(state, booked(_filter(state), loss, zcdp_steps, conversion(state)))


def pay(state: Mapping[str, str], cost: Mapping[str, Fraction]) -> dict[str, str]:
    """The state after so much of each part is spent, or BudgetExceeded, which changes nothing."""
    left, gone = remaining(state), spent(state)
    for part, price in cost.items():
        if price > left.parts[part]:
            raise exceeded(part, price, left)
    return _state(left.total, _caps_of(state), {part: gone[part] + cost[part] for part in gone})


def exceeded(part: str, price: Fraction, left: Remaining) -> BudgetExceeded:
    """A part of a price does not fit."""
    symbol, most = SYMBOLS[part], left.parts[part]
    cost = f"a shift of ε by {text(price)}" if part == "shift" else f"{symbol} = {text(price)}"
    if left.filter == "zcdp":
        cost += " under the zCDP filter"
    if left.epsilon == 0 and part in ("epsilon", "rho"):
        message = f"This release costs {cost} but the budget is used up. Ask the data owner to raise it."
        next_step = "ask the data owner to raise it"
    elif part == "rho":
        next_step = f"ask for one answer of at most ε = {text(left.epsilon)}"
        message = f"This release costs {cost} but {text(most)} is left; {next_step}."
    else:
        next_step = f"ask for at most {text(most)}"
        message = f"This release costs {cost} but {text(most)} is left; {next_step}."
    error = BudgetExceeded(
        f"{message} Nothing was charged.",
        value=text(price),
        rule=f"a price must fit into what is left of {symbol} ({FILTER_TEXT[left.filter]})",
        next_step=next_step,
    )
    error.part, error.left = part, text(most)
    return error


def widened(state: Mapping[str, str], new: Budget) -> dict[str, str]:
    """The state after raising the budget. Lowering it, another filter, or the earlier conversion, is refused.

    A raise from the earlier conversion to today's is valid at the same epsilon and delta, too: all answers so far, and
    those to come, are those of a filter with the larger cap from the start.
    """
    old = budget(state)
    if new.filter != old.filter:
        raise ParameterError.of(
            new.text, f"a ledger keeps its filter, {old.filter}", f'write Budget(..., filter="{old.filter}")'
        )
    if old.conversion == "cks" != new.conversion:
        rule = "a budget that converts by cks is not lowered to another conversion"
        raise ParameterError.of(as_given(new.conversion), rule, "leave conversion out")
    if new.reserve != old.reserve:
        kept = text(HALF if old.reserve is None else old.reserve)
        rule = f"a ledger keeps the reserve of its budget, {kept}"
        shown = text(HALF if new.reserve is None else new.reserve)
        raise ParameterError.of(shown, rule, f'write Budget(..., reserve="{kept}")')
    if new.epsilon < old.epsilon or new.delta < old.delta:
        rule = f"a budget can be raised, not lowered; it is {old.text}"
        raise ParameterError.of(new.text, rule, "give an epsilon and a delta of at least these")
    fixed, wider = _caps_of(state), caps(new)
    return _state(new, {part: max(fixed[part], wider[part]) for part in fixed}, spent(state))


def follows(kind: str, body: Mapping[str, Any], before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether a row of the ledger may lead from one state to the next: every price is added up anew.

    kind  "charter" (where a budget is opened), "charge" or "raise"; `body` is the charter, the entry, the new budget

    A cap may be smaller than this version would fix it, and never larger: what an older version fixed stays in force.
    """
    if kind == "charge":
        gone, most = spent(before), _caps_of(before)
        cost = entered(_filter(before), body["price"])
        if any(cost[part] < 0 or gone[part] + cost[part] > most[part] for part in cost):
            return False
        return dict(after) == _state(budget(before), most, {part: gone[part] + cost[part] for part in gone})
    if kind == "charter":
        wanted, least = opened(from_json(body["budget"])), None
    else:
        wanted, least = widened(before, from_json(body)), _caps_of(before)
    if after.keys() != wanted.keys():
        return False
    caps_ = {name for name in wanted if name.endswith("_cap")}
    if any(after[name] != wanted[name] for name in wanted.keys() - caps_):
        return False
    fixed = {name: 0 if least is None else steps(least[name.removesuffix("_cap")]) for name in caps_}
    return all(fixed[name] <= int(after[name]) <= int(wanted[name]) for name in caps_)


protect_module(vars())
