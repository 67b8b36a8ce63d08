"""A charge of its own: what pays for a release, and what the ledger says of it. All public."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from weakref import WeakSet

from dpviz.boundary import as_given
from dpviz.errors import BudgetExceeded, ParameterError, unwritable
from dpviz.exact import text
from dpviz.model.answers import Answer
from dpviz.model.bought_together import price_of_both, purchase_json
from dpviz.model.mechanism import Bound, Mechanism, Mode
from dpviz.model.question import Question
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit
from dpviz.session import accountant
from dpviz.session.ledger import Ledger
from dpviz.session.orders import ReleaseOrder
from dpviz.session.runner import PaymentOutcome
from dpviz.session.running import Running
from dpviz.session.stale import before_a_charge


@dataclass(frozen=True)
class DeclaredAnswer:
    """An answer that is declared with the one before it, and paid for when it is drawn.

    bound  its mechanism, bound to its question
    mode   how it is run
    key    the digest that it will be found under
    """

    bound: Bound
    mode: Mode
    key: str

    def price(self, ledger: Ledger, first: str, conversion: accountant.Conversion | None) -> dict[str, Any]:
        """The price, as its entry will say it. Refuses an answer that was drawn before the first one is.

        first  the digest of the first one
        """
        found = None if ledger.find(first) is not None else ledger.find(self.key)
        if found is not None:
            raise ParameterError.of(
                f"{self.bound.mechanism!r}, which is entry {found.number}",
                "an answer is declared before it is drawn",
                "give the first answer a key=, which the second one takes, too",
            )
        return price_json(self.bound.price, conversion)

    @property
    def purchased(self) -> dict[str, Any]:
        """The answer as the key of the first one names it, without the revision of its mechanism."""
        return {**purchase_json(self.bound.question, self.bound.mechanism), "mode": self.mode}

    def ordered(self, first: Bound) -> tuple[Question | None, Mechanism]:
        """The question and the mechanism as `then` takes them: the mechanism alone, where the first answer says the
        rest."""
        question, before = self.bound.question, first.question
        alone = question.to_json() == before.to_json()
        counts = before.aggregate.profiled is not None and question.aggregate.profiled is None
        return None if alone or counts else question, self.bound.mechanism

    def to_json(self) -> dict[str, Any]:
        """Question, mechanism and mode, as the entry of the answer will say them."""
        mechanism = calibrated(self.bound.mechanism)
        return {"question": self.bound.question.to_json(), "mechanism": mechanism, "mode": self.mode}


class Charge:
    """The payment for a release: an entry of its own."""

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        bound: Bound,
        mode: Mode,
        key: str | None,
        retry: bool,
        unit: Unit,
        profile: Bound | None = None,
        then: DeclaredAnswer | None = None,
    ) -> None:
        """profile  the profile that is bought with the answer
        then     the answer that is declared with it
        """
        self.key, self._unit, self._profile, self._then = name, unit, profile, then
        self._price = bound.price if profile is None else price_of_both(bound, profile)
        self.value = text(payable(to_approx(self._price.loss)).epsilon)
        self.spent = f"ε {self.value} is spent"  # until the ledger says which filter is in force
        self.user_key = key
        self.ledger, self._bound, self._mode = ledger, bound, mode
        self._retry = checked_retry(retry)

    @property
    def price(self) -> Guarantee:
        """The price of the answer, and of the profile where one is bought with it."""
        return self._price

    def answered(self) -> bool:
        with before_a_charge():
            found = self.ledger.find(self.key)
        return found is not None and found.status == "done"

    def pay(self, running: Running) -> PaymentOutcome:
        with before_a_charge():
            conversion = conversion_of(self.ledger)
            body = self._body(conversion)
            after_this = None if self._then is None else self._then.price(self.ledger, self.key, conversion)

        def admit(state: Mapping[str, str]) -> dict[str, str]:
            price = self._price
            self.spent = f"{accountant.cost_text(state, price.loss, price.zcdp_steps)} is spent"
            after = accountant.enter(state, body["price"])
            if after_this is not None:
                _check_fits(after, after_this)
            running.charging()
            return after

        entry = self.ledger.charge(self.key, body, admit, retry=self._retry, wanted=running.wanted)
        if entry.status != "done":
            return PaymentOutcome(entry.number)
        with before_a_charge():
            return PaymentOutcome(entry.number, stored=self.ledger.answer(entry.number))

    def keeping(self, paid: PaymentOutcome, answer: Answer) -> Callable[[bytes], object]:
        return partial(self.ledger.finish, paid.number)

    def give_up(self, paid: PaymentOutcome, outcome: Literal["cancelled", "failed"]) -> None:
        self.ledger.close(paid.number, outcome)

    def renew(self, paid: PaymentOutcome) -> None:
        self.ledger.renew(paid.number)

    @property
    def order(self) -> ReleaseOrder:
        """The same release as a message to whoever keeps the data."""
        bound, profile, then = self._bound, self._profile, self._then
        return ReleaseOrder(
            question=bound.question,
            limits=bound.unit.limits.besides(self._unit.limits),
            mechanism=bound.mechanism,
            mode=self._mode,
            user_key=self.user_key,
            retry=self._retry,
            over=None if profile is None else (profile.question, profile.mechanism),
            then=None if then is None else then.ordered(bound),
            digest=self.key,
        )

    def _body(self, conversion: accountant.Conversion | None) -> dict[str, Any]:
        """The body that the ledger writes beside the charge: all public."""
        bound = self._bound
        limits = bound.unit.limits.besides(self._unit.limits)
        other = {"limits": limits.to_json()} if limits.given else {}
        named = other and bound.question.aggregate.profiled is None
        asked = bound.question.limited(limits) if named else bound.question
        bought, with_profile = {}, ""
        if self._profile is not None:
            profile = self._profile.mechanism
            bought = {"over": {**purchase_json(self._profile.question, profile), "mechanism": calibrated(profile)}}
            with_profile = ", with a profile"
        if self._then is not None:
            bought, with_profile = {"then": self._then.to_json()}, f", then {self._then.bound.mechanism!r}"
        return {
            "question": bound.question.to_json(),
            **other,
            **bought,
            "question_text": f"{asked.text}{with_profile}",
            "question_id": bound.question.id,
            "mechanism": calibrated(bound.mechanism),
            "mode": self._mode,
            "user_key": self.user_key,
            "price": price_json(self._price, conversion),
        }


def _check_fits(after: Mapping[str, str], price: Mapping[str, Any]) -> None:
    """Refuse a declared answer that does not fit into what the first one leaves."""
    try:
        accountant.enter(after, price)
    except BudgetExceeded as beyond:
        refused = beyond
    else:
        return
    error = BudgetExceeded(
        f"The answer that then= declares must fit beside the first. {refused}",
        value=refused.value,
        rule=refused.rule,
        next_step=refused.next_step,
    )
    error.part, error.left = refused.part, refused.left
    raise error


def calibrated(mechanism: Mechanism) -> dict[str, Any]:
    """A mechanism as a charge names it. Its revision is no part of a key: an answer stays found when it is raised."""
    later = {} if mechanism.revision == 1 else {"revision": mechanism.revision}
    return {"name": mechanism.name, "parameters": mechanism.parameters(), **later}


_BASIC: WeakSet[Ledger] = WeakSet()
"""Ledgers whose budget converts nothing, and never will: a budget keeps its filter."""


def conversion_of(ledger: Ledger) -> accountant.Conversion | None:
    """The conversion of the budget in force; a ledger with a basic one is asked once, and not for each charge."""
    if ledger in _BASIC:
        return None
    found = accountant.conversion(ledger.account)
    if found is None:
        _BASIC.add(ledger)
    return found


def price_json(price: Guarantee, conversion: accountant.Conversion | None = None) -> dict[str, Any]:
    """A price as an entry says it in a ledger with this conversion. `accountant.entered` reads it again."""
    charged = payable(to_approx(price.loss))
    told = {
        "text": f"{price.loss.short} per {price.unit.noun}, {price.kind}",
        "kind": price.kind,
        "epsilon": text(charged.epsilon),
        "delta": text(charged.delta),
        "asked": "" if price.requested is None else text(price.requested),
        "exact": price.exact,
        "rule": price.rule,
        "unit": price.unit.text,
    }
    fine = accountant.fine(price.loss, price.zcdp_steps, conversion)
    return told if fine is None else {**told, "fine": fine}


def checked_key(key: object) -> str | None:
    """The analyst's own key, or a refusal."""
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= 200 or unwritable(key):
        raise ParameterError.of(as_given(key), "key must be a text of 1 to 200 characters", 'write key="again"')
    return key


def checked_person(person: object) -> str | None:
    """The name that somebody gives for themselves, or a refusal. None: the login speaks for them."""
    return None if person is None else _told(person, "person", 100)


def checked_reason(reason: object) -> str | None:
    """Why a budget is raised, or a refusal."""
    return None if reason is None else _told(reason, "reason", 500)


def _told(text: object, name: str, most: int) -> str:
    if not isinstance(text, str) or not text.strip() or len(text) > most or unwritable(text):
        raise ParameterError.of(
            as_given(text),
            f"{name} must be a text of 1 to {most} characters",
            "write a shorter one in quotes, or leave it out",
        )
    return str(text)


def checked_retry(retry: object) -> bool:
    """Whether to draw again what was lost. That is paid again, so nothing but True is taken for a yes."""
    if not isinstance(retry, bool):
        raise ParameterError.of(
            as_given(retry), "retry must be True or False", "write retry=True to pay for another draw"
        )
    return retry
