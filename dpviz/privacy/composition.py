"""What several answers cost together."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dpviz.errors import ConversionError, ParameterError
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP, Loss, PureDP


def compose(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The price of all of them: epsilons and deltas add up (basic composition).

    Valid when each question was chosen after seeing earlier answers, as long as the total was fixed beforehand.
    Source: Dwork, Roth 2014, Theorem 3.16; Rogers, Roth, Ullman, Vadhan 2016, Theorem 5.1 (adaptive parameters).
    Guarantees of different units or relations are refused: convert them first.
    """
    parts = list(guarantees)
    if not parts:
        raise ParameterError.of("no guarantees", "there is nothing to add up")
    unit = parts[0].unit
    for part in parts:
        if part.unit != unit:
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
        return ZCDP(sum((part.rho for part in parts if isinstance(part, ZCDP)), Fraction(0)))
    approx = [to_approx(part) for part in parts]
    epsilon = sum((part.epsilon for part in approx), Fraction(0))
    delta = sum((part.delta for part in approx), Fraction(0))
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
