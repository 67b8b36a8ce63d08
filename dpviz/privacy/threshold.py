"""Prices of the top-k answers that are not peeled: Laplace noise against a threshold, and a fixed threshold.

Durfee, Rogers, Algorithms 4 and 8. Neither lends itself to pay-what-you-get: each answer is charged in full.
"""

from __future__ import annotations

from fractions import Fraction

from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, ceil_to, decide, exp_bounds, positive, probability, text, whole
from dpviz.privacy.calibration import climb
from dpviz.privacy.composition import compose_dp
from dpviz.privacy.conversion import DELTA_STEP, STEP
from dpviz.privacy.loss import ApproxDP
from dpviz.privacy.range_bounded import STEP_GRID, StepPrice


def laplace_total(touched: int, epsilon: Fraction, offset: int, *, per_bin: int = 1) -> ApproxDP:
    """The price of discrete Laplace noise on counts and threshold, for a unit in at most `touched` bins.

    Noise: Pr[Z = z] proportional to p^|z|, p = e^(-epsilon / per_bin). An item is shown if its noisy count is above
    next_count + per_bin + offset + noise. The price is (touched * epsilon, (e^(touched * epsilon) + 1) * touched *
    Pr[Z - Z' > offset]), its delta rounded up to 10^-30. Valid under add-or-remove, with a data-independent tie rule,
    and not on the strict domain. Source: Durfee, Rogers, Algorithm 4, Lemma 6.1, for integer noise.

    Raises ParameterError outside these ranges, and where delta reaches 1: the offset is then too small.
    """
    _check(touched, epsilon, per_bin)
    whole(offset, "offset", least=0)
    # Durfee, Rogers 2019, Lemma 6.1, with the tail of the difference of two whole-number noises.
    delta = ceil_to(_laplace_delta(touched, epsilon, offset, per_bin, 128)[1], DELTA_STEP)
    if delta >= 1:
        raise ParameterError.of(offset, "with such an offset delta would reach 1", "take a larger one")
    return ApproxDP(touched * epsilon, delta)


def laplace_offset(touched: int, epsilon: Fraction, delta: Fraction, *, per_bin: int = 1) -> int:
    """The smallest offset whose price in delta, unrounded, is at most `delta`: decided exactly.

    >>> laplace_offset(1, Fraction(1), Fraction(1, 10**6))
    16
    """
    _check(touched, epsilon, per_bin)
    probability(delta, "delta", zero=False)

    def fits(offset: int) -> bool:
        def question(precision: int) -> bool | None:
            low, high = _laplace_delta(touched, epsilon, offset, per_bin, precision)
            return True if high <= delta else False if low > delta else None

        return decide(question)

    if fits(0):
        return 0
    high = 1
    while not fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _laplace_delta(touched: int, epsilon: Fraction, offset: int, per_bin: int, precision: int) -> Enclosure:
    """(e^(touched * epsilon) + 1) * touched * T(offset + 1), where T(t) = Pr[Z - Z' >= t] for two such noises."""
    # (e^(D epsilon) + 1) D T(offset + 1): one term for each bin of the unit.
    odds = exp_bounds(touched * epsilon, precision)
    low, high = difference_tail(epsilon / per_bin, offset + 1, precision)
    return (odds[0] + 1) * touched * low, (odds[1] + 1) * touched * high


def difference_tail(rate: Fraction, t: int, precision: int = 128) -> Enclosure:
    """Pr[Z - Z' >= t], t >= 0, of two independent noises with Pr[Z = z] proportional to p^|z|, p = e^(-rate).

    It is p^t (t (1 - p) / (1 + p)^2 + (1 + p + 2 p^2) / (1 + p)^3).
    """
    (low, high), powers = exp_bounds(-rate, precision), exp_bounds(-rate * t, precision)
    # The sum over z of Pr[Z = z] Pr[Z' <= z - t] in closed form. Each factor is taken at the end of the enclosure of p
    # that makes the whole smaller, then larger.
    least = t * (1 - high) / (1 + high) ** 2 + (1 + low + 2 * low**2) / (1 + high) ** 3
    most = t * (1 - low) / (1 + low) ** 2 + (1 + high + 2 * high**2) / (1 + low) ** 3
    return powers[0] * least, powers[1] * most


def _check(touched: int, epsilon: Fraction, per_bin: int) -> None:
    whole(touched, "touched")
    whole(per_bin, "per_bin")
    positive(epsilon, "epsilon")


def fixed_total(step: Fraction, delta: Fraction, steps: int, delta_prime: Fraction) -> ApproxDP:
    """The price of a fixed threshold over `steps` items: (steps * step, steps * delta), or that with delta_prime added
    and an epsilon by Theorem 3, rounded up to 10^-6, where it is smaller.

    No term for range-bounded steps: the set is not drawn by peeling. Source: Durfee, Rogers, Theorem 5.
    """
    whole(steps, "steps")
    # Durfee, Rogers 2019, Theorem 5: one (step, delta)-DP mechanism for each item.
    found = compose_dp({(step, delta): steps}, delta_prime)
    return found if found.epsilon == steps * step else ApproxDP(ceil_to(found.epsilon, STEP), found.delta)


def calibrate_fixed(epsilon: Fraction, delta: Fraction, steps: int) -> StepPrice:
    """The largest step, a multiple of 10^-9, whose fixed threshold costs at most (epsilon, delta).

    Either the sum alone, with all of delta for the items in equal parts, or Theorem 3 with half of it: whichever
    allows the larger step. Raises ParameterError where none fits.
    """
    whole(steps, "steps")
    probability(delta, "delta", zero=False)
    # The sum alone needs no delta_prime, so the items get all of delta.
    found = StepPrice(Fraction(int(STEP_GRID * epsilon / steps), STEP_GRID), delta / steps, Fraction(0))
    each, delta_prime = delta / (2 * steps), delta / 2

    def fits(units: int) -> bool:
        return fixed_total(Fraction(units, STEP_GRID), each, steps, delta_prime).epsilon <= epsilon

    low = int(found.step * STEP_GRID)
    if fits(low + 1):
        found = StepPrice(Fraction(climb(low, fits), STEP_GRID), each, delta_prime)
    if found.step == 0:
        raise ParameterError.of(
            text(epsilon), f"an epsilon must pay for {steps} steps", "give it a larger epsilon or fewer items"
        )
    if found.delta >= Fraction(1, 2):
        raise ParameterError.of(
            text(found.delta), "the delta of a fixed threshold's item must lie below 1/2", "give a smaller delta"
        )
    return found
