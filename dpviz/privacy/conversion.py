"""From one loss, relation or group size to another, each by a cited rule, always rounding up."""

from __future__ import annotations

from fractions import Fraction

from dpviz.errors import ConversionError
from dpviz.exact import ceil_to, exp_bounds, log_bounds, root_bounds, text
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP, RangeBounded
from dpviz.privacy.unit import Unit

STEP = Fraction(1, 10**6)
"""Irrational prices are rounded up to this grid, so what is shown is what is paid."""

DELTA_STEP = Fraction(1, 10**30)


def group(loss: Loss, size: int) -> Loss:
    """The loss against a change of `size` units, in the same relation.

    Pure: m * epsilon. Approximate: (m * epsilon, delta * (e^(m epsilon) - 1) / (e^epsilon - 1)). zCDP: m^2 * rho.
    Range-bounded: m * epsilon for each step; with a delta, which is about one pair of neighbours and their common
    domain, as the (epsilon, delta) of all steps together. Source: Dwork, Roth 2014, Theorem 2.2; Bun, Steinke 2016,
    Proposition 1.9.
    """
    if size < 1:
        raise ConversionError.of(size, "a group has at least one member", "give size=1 or more")
    if isinstance(loss, PureDP):
        # Dwork, Roth 2014, Theorem 2.2: epsilon grows with the size of the group.
        return PureDP(size * loss.epsilon)
    if isinstance(loss, ZCDP):
        # Bun, Steinke 2016, Proposition 1.9: rho grows with the square of the size.
        return ZCDP(size * size * loss.rho)
    if isinstance(loss, RangeBounded) and not loss.delta:
        return RangeBounded(size * loss.epsilon, steps=loss.steps, rounds=loss.rounds)
    total = to_approx(loss)
    # 1 + e^epsilon + ... + e^((m - 1) epsilon) = (e^(m epsilon) - 1) / (e^epsilon - 1): one term for each member.
    factor = sum((exp_bounds(step * total.epsilon)[1] for step in range(size)), Fraction(0))
    return ApproxDP(size * total.epsilon, _delta(total.delta * factor))


def convert(guarantee: Guarantee, unit: Unit) -> Guarantee:
    """The same release, priced for a session whose unit has another relation.

    add-remove to replace-one: a replacement is a removal and an addition, so it is a group of two. The other
    direction is refused: under replace-one the number of rows may be published, under add-remove it may not.
    """
    own = guarantee.unit
    if own.relation == unit.relation:
        if own != unit:
            raise ConversionError.of(
                own.text, f"this price protects another unit than {unit.text}", "plan it anew in a session of that unit"
            )
        return guarantee
    if own.relation == "replace-one":
        raise ConversionError.of(
            guarantee.loss.short,
            "a replace-one price says nothing about adding or removing",
            "use a mechanism with an add-or-remove price",
        )
    bounds = [(one.of, one.max_bins, one.max_per_bin, one.max_records) for one in (own, unit)]
    if bounds[0] != bounds[1]:
        raise ConversionError.of(
            own.text, f"this price protects another unit than {unit.text}", "plan it anew in a session of that unit"
        )
    # A zCDP filter books the steps, so they are taken against the same two changes.
    steps = guarantee.zcdp_steps
    doubled = None if steps is None or isinstance(steps, ApproxZCDP) else group(steps, 2)
    return Guarantee(
        loss=group(guarantee.loss, 2),
        unit=unit,
        zcdp_steps=doubled if isinstance(doubled, RangeBounded | ZCDP) else None,
        rule=f"{guarantee.rule}; one replacement is a removal and an addition (group privacy, size 2)",
    )


def to_zcdp(loss: Loss) -> ZCDP:
    """Pure epsilon is epsilon^2/2-zCDP; a range-bounded step is epsilon^2/8-zCDP.

    Source: Bun, Steinke 2016, Proposition 1.4; for range-bounded steps Cesar, Rogers 2021. Losses with a delta are
    refused: they are not zCDP.
    """
    if isinstance(loss, ZCDP):
        return loss
    if loss.delta:
        raise ConversionError.of(
            loss.short,
            "a loss with δ above zero is not zero-concentrated",
            "take a pure loss, or count it with the basic filter",
        )
    if isinstance(loss, RangeBounded):
        # Cesar, Rogers 2021: the log ratio of a range-bounded step lies in an interval of length epsilon.
        return ZCDP(loss.steps * loss.epsilon**2 / 8)
    # Bun, Steinke 2016, Proposition 1.4.
    return ZCDP(loss.epsilon**2 / 2)


def to_approx(loss: Loss, delta: Fraction = Fraction(0)) -> ApproxDP:
    """The loss as (epsilon, delta), rounded up to the price grid.

    zCDP: rho + 2 sqrt(rho ln(1/delta)). Source: Bun, Steinke 2016, Proposition 1.3. Pure, approximate and
    range-bounded losses keep their own delta and add up (basic composition of the steps, and their shift where the
    domain had to be agreed on).
    """
    if isinstance(loss, ZCDP):
        if loss.rho == 0:
            return ApproxDP(Fraction(0), delta)
        if delta <= 0:
            raise ConversionError.of(
                text(delta),
                "a zero-concentrated loss needs a δ above zero to become (ε, δ)",
                "give a delta like 1/1000000",
            )
        # Bun, Steinke 2016, Proposition 1.3: rho + 2 sqrt(rho ln(1/delta)), the 2 drawn under the root. Logarithm and
        # root are rounded up, so epsilon is, too.
        under_root = 4 * loss.rho * log_bounds(1 / delta)[1]
        return ApproxDP(ceil_to(loss.rho + root_bounds(under_root)[1], STEP), delta)
    if isinstance(loss, RangeBounded):
        epsilon = loss.steps * loss.epsilon
        # Agreeing on a domain moves the log ratio of each step by up to ln(1 + delta / rounds).
        return ApproxDP(ceil_to(epsilon + loss.shift, STEP) if loss.delta else epsilon, loss.delta)
    return ApproxDP(loss.epsilon, loss.delta)


def _delta(delta: Fraction) -> Fraction:
    # Up: a delta that is rounded down would promise too much.
    rounded = ceil_to(delta, DELTA_STEP)
    if rounded >= 1:
        raise ConversionError.of(
            "δ of at least 1",
            "the group is so large that the guarantee is void",
            "take a smaller group, epsilon or delta",
        )
    return rounded
