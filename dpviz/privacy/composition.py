"""The loss of several answers together.

Every rule is valid for adaptive choices: each step may depend on earlier answers. Epsilons are exact where the rule
is a sum, else rounded up by less than 10^-30 of themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from dpviz.errors import ConversionError, ParameterError
from dpviz.exact import log_bounds, root_bounds, tanh_bounds, text
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP, Loss, PureDP

Steps: TypeAlias = Iterable[Fraction] | Mapping[Fraction, int]
"""The epsilons of some steps: one after another, or how often each comes (which costs no more time for many)."""


Pairs: TypeAlias = Iterable[tuple[Fraction, Fraction]] | Mapping[tuple[Fraction, Fraction], int]
"""The (epsilon, delta) of some mechanisms, likewise."""


def compose(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The price of all of them: epsilons and deltas add up (basic composition).

    Valid when each question was chosen after seeing earlier answers, as long as the total was fixed beforehand.
    Source: Dwork, Roth 2014, Theorem 3.16; Rogers, Roth, Ullman, Vadhan 2016, Theorem 5.1 (adaptive parameters).
    Guarantees of different units or relations are refused: convert them first. Limits may differ, for each guarantee
    is one for data that differ in one unit, whatever of it counts.
    """
    parts = list(guarantees)
    if not parts:
        raise ParameterError.of("no guarantees", "there is nothing to add up", "give at least one guarantee")
    unit = parts[0].unit
    for part in parts:
        if part.unit.protects != unit.protects:
            raise ConversionError.of(
                part.unit.text,
                f"prices per {unit.text} do not add up with prices of another unit",
                "convert them first",
            )
    return Guarantee(loss=basic(part.loss for part in parts), unit=unit, rule="basic composition")


def basic(losses: Iterable[Loss]) -> Loss:
    """The sum of losses of one unit. All zero-concentrated: rho adds up. Otherwise zCDP is refused."""
    parts = list(losses)
    if parts and all(isinstance(part, ZCDP) for part in parts):
        # Bun, Steinke 2016, Lemma 1.7: rho adds up.
        return ZCDP(sum((part.rho for part in parts if isinstance(part, ZCDP)), Fraction(0)))
    approx = [to_approx(part) for part in parts]
    # Dwork, Roth 2014, Theorem 3.16: epsilons add up, and so do deltas.
    epsilon = sum((part.epsilon for part in approx), Fraction(0))
    delta = sum((part.delta for part in approx), Fraction(0))
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def compose_dp(pairs: Pairs, delta_prime: Fraction) -> ApproxDP:
    """The price of adaptive (epsilon, delta)-DP mechanisms of one unit, in one relation.

    The smaller of sum e and sum e tanh(e/2) + sqrt(2 S L), with S = sum e^2 and L = ln(1/delta_prime); the deltas add
    up, and delta_prime with them. With delta_prime = 0 only the sum of epsilons is left. Source: Durfee, Rogers,
    Theorem 3; Kairouz, Oh, Viswanath 2017. Raises ParameterError outside the rule's range.

    >>> compose_dp([(Fraction(1, 2), Fraction(1, 10)), (Fraction(1, 4), Fraction(0))], Fraction(0))
    ApproxDP(epsilon=Fraction(3, 4), delta=Fraction(1, 10))
    """
    counted = dict(pairs) if isinstance(pairs, Mapping) else Counter(pairs)
    tally: Counter[Fraction] = Counter()
    total = _delta(delta_prime)
    for (epsilon, delta), times in counted.items():
        tally[epsilon] += times
        total += times * _delta(delta)
    if total >= 1:
        raise ParameterError.of(
            text(total), "the deltas together must stay below 1", "take fewer steps, or smaller deltas"
        )
    steps = _tally(tally)
    # Durfee, Rogers 2019, Theorem 3: each term is a valid epsilon at this delta, so the smallest is.
    return ApproxDP(min([_sum(steps), *_concentrated(steps, delta_prime)]), total)


def compose_range_bounded(steps: Steps, delta_prime: Fraction) -> ApproxDP:
    """The price of adaptive range-bounded steps: the smallest of three terms, at delta_prime.

    sum e; sum e tanh(e/2) + sqrt(2 S L); S/2 + sqrt(S L/2). S = sum e^2, L = ln(1/delta_prime). With delta_prime = 0
    only the first. Source: Durfee, Rogers, Lemma 4.4. Raises ParameterError outside the rule's range.

    >>> compose_range_bounded({Fraction(1, 10): 3}, Fraction(0))
    ApproxDP(epsilon=Fraction(3, 10), delta=Fraction(0, 1))
    """
    return _bounded(_tally(steps), _delta(delta_prime), Fraction(1, 2))


def compose_zcdp(steps: Steps, delta_prime: Fraction) -> ApproxDP:
    """As `compose_range_bounded`, with S/8 + sqrt(S L/2) for the last term: an e-range-bounded step is e^2/8-zCDP.

    Source: Cesar, Rogers 2021, for the step; Bun, Steinke 2016, Lemma 1.7 and Proposition 1.3, for the sum.
    """
    return _bounded(_tally(steps), _delta(delta_prime), Fraction(1, 8))


def _bounded(tally: Mapping[Fraction, int], delta_prime: Fraction, drift: Fraction) -> ApproxDP:
    terms = [_sum(tally), *_concentrated(tally, delta_prime)]
    if delta_prime:
        squares = _squares(tally)
        # Durfee, Rogers 2019, Lemma 4.4, last term: S/2 + sqrt(S L/2). With S/8 it is the conversion of S/8-zCDP.
        terms.append(drift * squares + root_bounds(squares * _log(delta_prime) / 2)[1])
    return ApproxDP(min(terms), delta_prime)


def _concentrated(tally: Mapping[Fraction, int], delta_prime: Fraction) -> list[Fraction]:
    """sum e tanh(e/2) + sqrt(2 S L), where delta_prime allows it."""
    if not delta_prime:
        return []
    # e tanh(e/2) = e (exp(e) - 1) / (exp(e) + 1) is the mean loss of randomised response, the worst e-DP mechanism
    # (Kairouz, Oh, Viswanath 2017).
    drift = sum((times * step * tanh_bounds(step / 2)[1] for step, times in tally.items()), Fraction(0))
    # The deviation from the mean, exceeded with probability delta_prime at most.
    return [drift + root_bounds(2 * _squares(tally) * _log(delta_prime))[1]]


def _sum(tally: Mapping[Fraction, int]) -> Fraction:
    return sum((times * step for step, times in tally.items()), Fraction(0))


def _squares(tally: Mapping[Fraction, int]) -> Fraction:
    return sum((times * step**2 for step, times in tally.items()), Fraction(0))


def _log(delta_prime: Fraction) -> Fraction:
    """ln(1/delta_prime), rounded up."""
    return log_bounds(1 / delta_prime)[1]


def _tally(steps: Steps) -> Mapping[Fraction, int]:
    tally = dict(steps) if isinstance(steps, Mapping) else Counter(steps)
    for step, times in tally.items():
        if not isinstance(step, Fraction) or step < 0:
            raise ParameterError.of(
                step,
                "the epsilon of a step must be a Fraction that is not negative",
                "make a Fraction of it with dpviz.exact.rational",
            )
        if isinstance(times, bool) or not isinstance(times, int) or times < 0:
            raise ParameterError.of(
                times,
                "how often a step comes must be a whole number that is not negative",
                "give a whole number from 0 on",
            )
    return tally


def _delta(delta: Fraction) -> Fraction:
    if not isinstance(delta, Fraction) or not 0 <= delta < 1:
        raise ParameterError.of(delta, "a delta must be a Fraction in [0, 1)", "0 leaves the sum of epsilons")
    return delta
