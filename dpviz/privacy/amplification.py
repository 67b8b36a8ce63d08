"""The loss when only a random part of the records is looked at.

Two ways of choosing belong to two relations, and each is wrong with the other one's:

* each record kept by a coin of its own (Poisson): for add-or-remove of one record;
* a fixed number of records, chosen uniformly and handed over in random order: for replace-one.

Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Lemma 3.3 (which cites the first for replace-one, where it does
not hold), Balle, Barthe, Gaboardi 2018, Theorems 8 and 9.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dpviz.boundary import one_word
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, exp_bounds, log_bounds, text
from dpviz.privacy.loss import ApproxDP, PureDP
from dpviz.privacy.unit import Relation

Choice = Literal["poisson", "fixed"]

BELONGS: dict[Choice, Relation] = {"poisson": "add-remove", "fixed": "replace-one"}


def amplified(
    loss: PureDP | ApproxDP, share: Fraction, choice: Choice, relation: Relation, step: Fraction
) -> PureDP | ApproxDP:
    """The loss of looking at a random part: ln(1 + q (exp(epsilon) - 1)), q delta, with epsilon rounded up to `step`.

    share   q: the chance that a record is kept, or the fixed number of records chosen, divided by how many there are
    choice  "poisson": each record by a coin of its own; "fixed": so many, chosen uniformly, in random order

    Raises ParameterError where the choice does not belong to the relation, or q is not within (0, 1].

    >>> amplified(PureDP(Fraction(1)), Fraction(1, 10), "fixed", "replace-one", Fraction(1, 10**6))
    PureDP(epsilon=Fraction(79283, 500000))
    """
    one_word(choice, "choice", BELONGS)
    if relation != BELONGS[choice]:
        other = next(name for name, belongs in BELONGS.items() if belongs == relation)
        raise ParameterError.of(
            f'choice="{choice}" with {relation}',
            f"this way of choosing records makes a loss smaller under {BELONGS[choice]} only",
            f'use choice="{other}"',
        )
    if not 0 < share <= 1:
        raise ParameterError.of(
            text(share), "the share of records lies above 0 and is at most 1", "give a share like 1/10"
        )
    high = exp_bounds(loss.epsilon)[1]
    # Balle, Barthe, Gaboardi 2018, Theorems 8 and 9: ln(1 + q (e^epsilon - 1)), rounded up and never above the price of
    # all records.
    epsilon = min(loss.epsilon, ceil_to(log_bounds(1 + share * (high - 1))[1], step))
    return ApproxDP(epsilon, share * loss.delta) if loss.delta else PureDP(epsilon)
