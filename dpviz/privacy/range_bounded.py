"""The price of a top-k answer or a whole sub-session, and the largest step that fits into a price.

A step is one draw of a symbol by the exponential mechanism. Among the items that both neighbours know it is
range-bounded; `delta` is the chance, per round, of an item that only one of them knows. Source: Durfee, Rogers, Lemma
4.4, Theorems 1 and 2. Their Lemma 5.6 does not hold for two steps or more, so that both theorems, as printed, lack a
proof. Each symbol's probability under the true domain is between 1/(1 + delta) of that under the common one and all of
it, which gives the totals called "safe": epsilon grows by ln(1 + delta) for each symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, get_args

from dpviz.boundary import one_word, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, log1p_bounds, log_bounds, root_bounds, text
from dpviz.privacy.calibration import climb
from dpviz.privacy.composition import compose_range_bounded, compose_zcdp
from dpviz.privacy.conversion import STEP
from dpviz.privacy.loss import ApproxDP

Accounting = Literal["safe", "paper", "zcdp"]
ACCOUNTINGS: tuple[Accounting, ...] = get_args(Accounting)

STEP_GRID = 10**9
"""Calibrated steps are whole multiples of one over this."""


@dataclass(frozen=True, slots=True)
class StepPrice:
    """The parts of a total: the epsilon of one step, the delta of one round, and what composition adds."""

    step: Fraction
    delta: Fraction
    delta_prime: Fraction


def total(
    step: Fraction,
    delta: Fraction,
    steps: int,
    rounds: int,
    delta_prime: Fraction,
    accounting: Accounting,
    *,
    relation_factor: int = 1,
    shifts: int | None = None,
) -> ApproxDP:
    """The price of at most `steps` symbols in at most `rounds` rounds; its epsilon is rounded up to 10^-6.

    safe   (e' + steps ln(1 + delta), rounds delta + delta_prime), with e' by Lemma 4.4
    paper  (e', delta + delta_prime) for one round (Theorem 1); more rounds as in `session_total`
    zcdp   as safe, with the zero-concentrated drift in e'

    With relation_factor=2 each step counts twice: what the direct variant for replace-one charges. The number of steps
    is the most that may be drawn, the bottom symbol and a private choice of kbar included. `shifts` is how many symbols
    add ln(1 + delta), where these are not the steps: of lists that a replaced unit leaves and others that it enters,
    twice as many symbols shift, by half of a step each. A pure sum of paper steps is not rounded. Raises ParameterError
    outside the rule's range.

    >>> total(Fraction(1, 10), Fraction(1, 10**8), 3, 1, Fraction(0), "safe")
    ApproxDP(epsilon=Fraction(300001, 1000000), delta=Fraction(1, 100000000))
    """
    factor = relation_factor
    return _total(step, delta, steps, rounds, delta_prime, accounting, factor, session=rounds != 1, shifts=shifts)


def session_total(
    step: Fraction,
    delta: Fraction,
    steps: int,
    rounds: int,
    delta_prime: Fraction,
    accounting: Accounting,
    *,
    relation_factor: int = 1,
) -> ApproxDP:
    """The price of a pay-what-you-get session of at most `steps` symbols over at most `rounds` questions.

    As `total`, but for "paper", which charges (e', 2 rounds delta + delta_prime) (Theorem 2), also for one round.
    """
    return _total(step, delta, steps, rounds, delta_prime, accounting, relation_factor, session=True)


def _total(
    step: Fraction,
    delta: Fraction,
    steps: int,
    rounds: int,
    delta_prime: Fraction,
    accounting: Accounting,
    relation_factor: int,
    *,
    session: bool,
    shifts: int | None = None,
) -> ApproxDP:
    _check(delta, steps, rounds, accounting, relation_factor)
    rule = compose_zcdp if accounting == "zcdp" else compose_range_bounded
    # e' of Lemma 4.4: the steps by themselves, as if both neighbours knew the same items.
    epsilon = rule({relation_factor * step: steps}, delta_prime).epsilon
    if accounting != "paper":
        # Lemma 5.6 is false. In its place: the probability of each symbol under the true domain is at least 1/(1 +
        # delta) of that under the common one, which adds ln(1 + delta) to each log ratio.
        epsilon += (steps if shifts is None else shifts) * log1p_bounds(delta)[1]
    # A pure sum is rational and stays as it is; anything else is rounded up to the price grid.
    if epsilon != relation_factor * step * steps:
        epsilon = ceil_to(epsilon, STEP)
    # Theorem 2 charges each round of a session twice; Theorem 1 and the safe rule charge it once.
    spent = rounds * (2 if session and accounting == "paper" else 1) * delta + delta_prime
    if spent >= 1:
        raise ParameterError.of(text(spent), "the deltas together must stay below 1", "ask fewer or smaller rounds")
    return ApproxDP(epsilon, spent)


def _check(delta: Fraction, steps: int, rounds: int, accounting: Accounting, relation_factor: int) -> None:
    for name, value in {"steps": steps, "rounds": rounds, "relation_factor": relation_factor}.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ParameterError.of(value, f"{name} must be a whole number of at least 1", "give 1 or more")
    one_word(accounting, "accounting", ACCOUNTINGS)
    if not isinstance(delta, Fraction) or not 0 <= delta < 1:
        raise ParameterError.of(
            delta,
            "the delta of a round must be a Fraction in [0, 1)",
            "make a Fraction of it with dpviz.exact.rational",
        )


def calibrate(
    epsilon: Fraction,
    delta: Fraction,
    steps: int,
    rounds: int,
    accounting: Accounting,
    *,
    session: bool = False,
    bottom: bool = True,
    relation_factor: int = 1,
    shifts: int | None = None,
) -> StepPrice:
    """The largest step, a multiple of 10^-9, whose total is at most (epsilon, delta).

    Half of delta goes to composition and half to the rounds, in equal parts; a paper session pays for each round
    twice. Where there is no bottom symbol (a known domain), all of it goes to composition and may be 0. Raises
    ParameterError where no step fits: steps ln(1 + delta of a round) alone may reach epsilon.

    >>> calibrate(Fraction(1), Fraction(1, 10**6), 10, 1, "safe").step
    Fraction(110270223, 1000000000)
    """
    _check(delta, steps, rounds, accounting, relation_factor)
    if bottom and not delta:
        raise ParameterError.of(0, "a bottom symbol needs a delta above zero", "type a delta like 0.000001")
    doubled = 2 if accounting == "paper" and (session or rounds != 1) else 1
    # Half of delta goes to composition, half to the rounds. Without a bottom symbol no item is known to one neighbour
    # alone, so rounds need none.
    each, delta_prime = (delta / (2 * doubled * rounds), delta / 2) if bottom else (Fraction(0), delta)
    price = session_total if session else partial(total, shifts=shifts)
    shifted = steps if shifts is None else shifts

    def fits(units: int) -> bool:
        step = Fraction(units, STEP_GRID)
        found = price(step, each, steps, rounds, delta_prime, accounting, relation_factor=relation_factor)
        return found.epsilon <= epsilon

    # A place to start from, by the quadratic below; `fits` decides.
    left = epsilon - shifted * log1p_bounds(each)[1]
    low = climb(_guess(left, steps, delta_prime, accounting) // relation_factor, fits)
    if low == 0:
        raise ParameterError.of(
            text(epsilon),
            f"an epsilon must pay for {steps} steps and {shifted} ln(1 + {text(each)})",
            "give it a larger epsilon, a smaller delta or fewer symbols",
        )
    return StepPrice(Fraction(low, STEP_GRID), each, delta_prime)


def _guess(epsilon: Fraction, steps: int, delta_prime: Fraction, accounting: Accounting) -> int:
    """About the largest multiple of a step that fits by its sum, or by the last term: a quadratic in the step.

    Where the term with tanh is the smallest, for thousands of large steps, more fits.
    """
    if epsilon <= 0:
        return 0
    by_sum = int(STEP_GRID * epsilon / steps)
    if not delta_prime:
        return by_sum
    # The last term of Lemma 4.4 as a quadratic in the step x: drift x^2 + slope x = epsilon.
    drift = Fraction(steps, 8 if accounting == "zcdp" else 2)
    slope = root_bounds(steps * log_bounds(1 / delta_prime)[1] / 2)[1]
    root = (root_bounds(slope**2 + 4 * drift * epsilon)[0] - slope) / (2 * drift)
    return max(by_sum, int(STEP_GRID * root))


protect_module(vars())
