"""Counts and a profile of the same units in one purchase: one price, one key, one entry, and both answers in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import text
from dpviz.model import answers
from dpviz.model.answers import Answer
from dpviz.model.question import Question, canonical
from dpviz.model.terms import Terms, price_from_json, price_json
from dpviz.privacy.composition import basic
from dpviz.privacy.concentrated import pure_rho
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, PureDP, RangeBounded

if TYPE_CHECKING:
    from dpviz.model.mechanism import Bound, Mechanism

TOGETHER: Final = "counts and a profile together, basic composition"


@dataclass(frozen=True)
class BoughtProfile:
    """Hold the profile that was bought with counts.

    Parameters
    ----------
    terms : Terms
        The promises of the profile: its question, its own price and its law.
    answer : Answer
        The counts of its classes.

    Raises
    ------
    UnknownArgument
        If a part is left out.
    """

    terms: Terms
    answer: Answer

    @classmethod
    def of(cls, bound: Bound, answer: Answer) -> BoughtProfile:
        """Make the profile of an answer that a bound mechanism drew.

        Parameters
        ----------
        bound : Bound
            The mechanism of the profile, bound to its question.
        answer : Answer
            The drawn answer.

        Returns
        -------
        BoughtProfile
            The profile.
        """
        return cls(Terms.of(bound), answer)

    def price_with(self, counts: Guarantee) -> Guarantee:
        """Return the price of the profile and counts in one purchase.

        Parameters
        ----------
        counts : Guarantee
            The price of the counts alone.

        Returns
        -------
        Guarantee
            The price of both.
        """
        return price_together(counts, self.terms.price)

    def to_json(self, counts: Guarantee) -> dict[str, Any]:
        """Return every part as texts, and the price of both answers.

        Parameters
        ----------
        counts : Guarantee
            The price of the counts alone.

        Returns
        -------
        dict
            The saved form.
        """
        together = price_json(self.price_with(counts))
        return {**self.terms.to_json(), "answer": self.answer.to_json(), "together": together}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], counts: Terms) -> BoughtProfile:
        """Read the saved form.

        Parameters
        ----------
        data : dict
            The form that `to_json` wrote.
        counts : Terms
            The promises of the counts.

        Returns
        -------
        BoughtProfile
            The profile.

        Raises
        ------
        ReleaseFormat
            If a part does not fit the counts.
        """
        from dpviz.model.closing import check_closes

        found = cls(Terms.from_json(data), answers.from_json(data["answer"]))
        check_closes(counts.question, counts.limited, found.terms.question, found.terms.unit)
        if not found.terms.accepts(found.answer):
            raise ReleaseFormat.damaged("a saved profile is one that was promised", found.answer.kind)
        if canonical(found.to_json(counts.price)) != canonical(dict(data)):
            raise ReleaseFormat.damaged("a saved profile states the price of both answers", "other parts")
        return found


def price_together(counts: Guarantee, profile: Guarantee) -> Guarantee:
    """Return the price of counts and a profile in one purchase.

    Parameters
    ----------
    counts, profile : Guarantee
        The price of each answer by itself.

    Returns
    -------
    Guarantee
        The sum of both, as an epsilon and as a rho where both have one.

    Notes
    -----
    One unit moves the counts and the profile at once, and the noises are independent, so the losses of both add up. A
    rho adds up as well; of a pure answer it is that of its noise, or of its epsilon where that is less. So do deltas
    besides a rho (Bun, Steinke 2016, Lemma 8.2).
    """
    parts = [_concentrated(price) for price in (counts, profile)]
    known = [part for part in parts if part is not None]
    rho, delta = sum((part.rho for part in known), Fraction(0)), sum((part.delta for part in known), Fraction(0))
    steps = None if len(known) < len(parts) else ApproxZCDP(rho, delta) if delta else ZCDP(rho)
    exact = " + ".join(one.exact or text(to_approx(one.loss).epsilon) for one in (counts, profile))
    return Guarantee(
        loss=basic(one.loss for one in (counts, profile)),
        unit=counts.unit,
        rule=f"{counts.rule}; {profile.rule}; {TOGETHER}",
        requested=_asked(counts) + _asked(profile),
        exact=exact if counts.exact or profile.exact else "",
        zcdp_steps=steps,
    )


def entry_price_from_json(data: Mapping[str, Any], profile: Terms) -> Guarantee:
    """Read the price of the entry that paid for a profile and its counts.

    Parameters
    ----------
    data : dict
        The saved form.
    profile : Terms
        The promises of the profile.

    Returns
    -------
    Guarantee
        The price of both.

    Raises
    ------
    ReleaseFormat
        If the answer is no profile, or costs more by itself than both.
    """
    price = price_from_json(data, profile.unit)
    both, alone = to_approx(price.loss), to_approx(profile.price.loss)
    if profile.question.aggregate.profiled is None or both.epsilon < alone.epsilon or both.delta < alone.delta:
        raise ReleaseFormat.damaged("a saved profile states the price of both answers", "another price")
    return price


def _asked(price: Guarantee) -> Fraction:
    return to_approx(price.loss).epsilon if price.requested is None else price.requested


def _concentrated(price: Guarantee) -> ApproxZCDP | None:
    """The rho of one of both and the delta besides, as a budget books them; None where it books range-bounded steps."""
    steps = price.zcdp_steps
    if isinstance(steps, RangeBounded) or not isinstance(price.loss, PureDP | ApproxDP):
        return None
    loss = payable(to_approx(price.loss))
    whole = ApproxZCDP(pure_rho(loss.epsilon), loss.delta)
    if isinstance(steps, ZCDP) and not isinstance(price.loss, PureDP):
        # the delta of Gaussian noise follows from its rho, and is no part of it
        return ApproxZCDP(steps.rho, Fraction(0))
    found = ApproxZCDP(steps.rho, Fraction(0)) if isinstance(steps, ZCDP) else steps
    return whole if found is None or whole.rho <= found.rho else found


def purchase_json(question: Question, mechanism: Mechanism) -> dict[str, Any]:
    """Return the profile of a purchase, as its key and its entry name it.

    Parameters
    ----------
    question : Question
        The question of the profile.
    mechanism : Mechanism
        The mechanism that answers it.

    Returns
    -------
    dict
        Question and mechanism, as texts.
    """
    made = {"name": mechanism.name, "parameters": mechanism.parameters()}
    return {"question": question.to_json(), "mechanism": made}


def price_of_both(counts: Bound, profile: Bound | None = None) -> Guarantee:
    """Return the price of a purchase.

    Parameters
    ----------
    counts : Bound
        The mechanism of the counts.
    profile : Bound, optional
        The mechanism of the profile, where one is bought with them.

    Returns
    -------
    Guarantee
        The price.
    """
    return counts.price if profile is None else price_together(counts.price, profile.price)


protect_module(vars())
