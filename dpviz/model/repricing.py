"""Revisions of a mechanism that were charged too little, and what an answer drawn under one of them costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpviz.boundary import protect_module
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import EPSILON_STEP, ceiling
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP

if TYPE_CHECKING:
    from fractions import Fraction

    from dpviz.model.terms import Terms


@dataclass(frozen=True)
class Repricing:
    """A mechanism's statement that answers of some earlier revisions were charged too little.

    A mechanism lists its statements in `repriced`. The checker of a ledger reads them from there and knows no
    mechanism.

    Parameters
    ----------
    before : int
        The first revision that charges enough. Answers of smaller revisions are looked at.
    cost : callable
        Returns the price of an answer from the terms that were stored with it: from its law, which says how much noise
        was drawn, not from what was charged. None where the fault did not touch that answer.
    reason : str
        The fault, in one sentence for the owner of the data.
    """

    before: int
    cost: Callable[[Terms], Guarantee | None]
    reason: str

    def applies(self, terms: Terms) -> bool:
        """Whether an answer was drawn under one of these revisions."""
        return terms.mechanism.revision < self.before


def at_rho(terms: Terms, rho: Fraction) -> Guarantee:
    """Return the guarantee of Gaussian noise that costs this rho, at the delta that was charged.

    Parameters
    ----------
    terms : Terms
        The terms of the answer, with the delta and the rule of its price.
    rho : Fraction
        The true rho of its noise; it is rounded up to the grid of prices.
    """
    price, true = terms.price, ZCDP(ceiling(rho, EPSILON_STEP))
    loss = to_approx(true, to_approx(price.loss).delta)
    return Guarantee(loss, price.unit, price.rule, requested=price.requested, zcdp_steps=true)


protect_module(vars())
