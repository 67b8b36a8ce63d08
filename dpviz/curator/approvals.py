"""Requests that wait for the owner of the data, and the gate that holds orders until they are decided.

A request is a row of the ledger, found by a key made of the order's digest, its price and who asks: the same order sent
again is the same request, and so it is after a restart. A decision is another row, made once, by somebody who may
approve and is not who asked. It covers one charge: to draw a lost answer again, paid once more, is another request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from dpviz import threads
from dpviz.boundary import as_given, protect_module
from dpviz.curator.tickets import Ticket, Work
from dpviz.errors import DpvizError, Forbidden, LedgerError, ParameterError
from dpviz.exact import positive, text, typed
from dpviz.mechanisms import mechanism as mechanism_of
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import canonical
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.guarantee import Guarantee
from dpviz.session import accountant
from dpviz.session.callers import Caller
from dpviz.session.charge import checked_reason, price_json
from dpviz.session.ledger import DecisionRequest
from dpviz.session.ledger.chain import REQUESTING
from dpviz.session.orders import OpenOrder, Order, ReleaseOrder, mechanism_json, order_from
from dpviz.session.session import Session

if TYPE_CHECKING:
    from dpviz.curator.declaration import ApprovalRule
    from dpviz.curator.keeper import Checked

LOOK: Final = 1.0
"""Seconds between two looks for decisions that another process wrote, while orders wait."""

State: TypeAlias = Literal["unknown", "waiting", "approve", "refuse", "instead"]


class DecidingSession(Session):
    """The session of an owner who decides some releases. A ledger that it begins is of a format that has requests."""

    begins_in: ClassVar[int] = REQUESTING


class Approvals:
    """The requests of a ledger and their decisions.

    Parameters
    ----------
    session : Session
        The session of who holds the data.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def ask(self, key: str, order: Order, summary: Mapping[str, Any], caller: Caller) -> DecisionRequest:
        """Record a request, or return the one that was made under the key.

        Parameters
        ----------
        key : str
            The key of `ApprovalGate.key`: what is asked, at which price, and by whom.
        order : ReleaseOrder or OpenOrder
            The order that waits.
        summary : mapping
            Its plan in words, and its price; all public.
        caller : Caller
            Who asks.

        Returns
        -------
        DecisionRequest
            The request, with its decision where there is one.

        Raises
        ------
        SessionBusy
            If too many requests of the caller wait.
        LedgerError
            If the ledger cannot be written.
        """
        handle = self._session.ledger.for_caller(caller.to_json())
        return handle.request(key, {"order": order.to_json(), **summary})

    def decide(
        self,
        number: int,
        caller: Caller,
        verdict: Literal["approve", "refuse"],
        reason: str | None = None,
        mechanism: Mechanism | None = None,
    ) -> DecisionRequest:
        """Decide a request, once and for all.

        Parameters
        ----------
        number : int
            The number of the request.
        caller : Caller
            Who decides: somebody with the right to approve, who did not ask.
        verdict : {"approve", "refuse"}
            The decision.
        reason : str, optional
            Why, in words that the asker reads.
        mechanism : Mechanism, optional
            A mechanism of the same name at no higher price: it is approved in place of the one that was asked for. Its
            release is another one, which the asker orders.

        Returns
        -------
        DecisionRequest
            The request with its decision.

        Raises
        ------
        Forbidden
            If the caller has no right to approve, or asked for it.
        ParameterError
            If the mechanism is another one, or costs more.
        LedgerError
            If there is no such request, or it was decided.
        """
        if "approve" not in caller.scopes:
            raise Forbidden.of(
                caller.name, "a request is decided by somebody with the right to approve", "ask the owner of the data"
            )
        told, handle = {"reason": checked_reason(reason) or ""}, self._session.ledger.for_caller(caller.to_json())
        if mechanism is None:
            return handle.decide(number, verdict, told)
        if verdict != "approve":
            raise ParameterError.of(
                as_given(verdict), "another price is approved, not refused", "leave the other mechanism out"
            )
        found = self.request(number)
        order, price = self.at_another_price(found, mechanism)
        key = _key(order, price, found.person, None)
        if key == found.key:
            return handle.decide(number, verdict, told)
        text_ = f"{order.question.text}, by {order.mechanism!r}"
        body = {"order": order.to_json(), "text": text_, "plan": [], "price": price_json(price)}
        return handle.decide(number, "instead", {**told, "mechanism": mechanism_json(mechanism)}, (key, body))

    def at_another_price(self, found: DecisionRequest, mechanism: Mechanism) -> tuple[ReleaseOrder, Guarantee]:
        """The order of a request with other parameters of its mechanism, and its price. Raises ParameterError."""
        order = order_from(found.body["order"])
        if not isinstance(order, ReleaseOrder):
            raise _as_asked()
        if mechanism.name != order.mechanism.name:
            raise ParameterError.of(
                mechanism.name,
                f"another price is one of the same mechanism, {order.mechanism.name}",
                "refuse it, and say in the reason what would be approved",
            )
        prepared = self._session.prepare_instead(replace(order, mechanism=mechanism, retry=False))
        asked, price = self._session.prepare(order).price, prepared.price
        assert price is not None
        assert asked is not None
        if not _at_most(price, asked, self._session.budget.filter):
            raise ParameterError.of(
                price.loss.short,
                f"another price is no higher than the one asked for, {asked.loss.short}",
                "approve it as it was asked for, or at a lower price",
            )
        made = prepared.payment.order
        assert isinstance(made, ReleaseOrder)
        return made, price

    def at_epsilon(self, number: int, epsilon: str) -> Mechanism:
        """The mechanism of a request at another epsilon, for `decide`. Raises ParameterError where it has none."""
        asked, order = positive(epsilon, "epsilon", read=typed), order_from(self.request(number).body["order"])
        if not isinstance(order, ReleaseOrder):
            raise _as_asked()
        return order.mechanism.with_epsilon(asked)

    def request(self, number: int) -> DecisionRequest:
        """The request of this number. Raises ParameterError where there is none."""
        try:
            return self._session.ledger.request_at(number)
        except LedgerError as absent:
            if type(absent) is not LedgerError:
                raise
        raise ParameterError.of(number, "a decision is about a request of the ledger", "see the list of requests")

    def state_of(self, key: str) -> State:
        """The state of the request under a key; "unknown" where there is none."""
        found = self._session.ledger.find_request(key)
        return "unknown" if found is None else found.state

    def waiting(self) -> list[DecisionRequest]:
        """The requests without a decision, in order."""
        return self._session.ledger.requests(waiting=True)


def _as_asked() -> ParameterError:
    """A sub-session that was to be approved at another price."""
    rule = "a sub-session is approved as it was asked for, or refused"
    step = "refuse it, and say in the reason at which price it would be approved"
    return ParameterError(f"{rule}; {step}", value="an opening", rule=rule, next_step=step)


def _at_most(price: Guarantee, asked: Guarantee, filter_: accountant.Filter) -> bool:
    """Whether a price is no higher than another one in any part, as it is stated and as the budget books it."""
    stated, most = (payable(to_approx(one.loss)) for one in (price, asked))
    books, at_most = (accountant.booked(filter_, one.loss, one.zcdp_steps) for one in (price, asked))
    fits = stated.epsilon <= most.epsilon and stated.delta <= most.delta
    return fits and all(books[part] <= at_most[part] for part in books)


def _key(order: Order, price: Guarantee, name: str, entry: int | None) -> str:
    """The key of a request: what is asked, at which price, by whom, and which lost entry is paid once more."""
    charged = payable(to_approx(price.loss))
    said = {
        "digest": order.digest,
        "epsilon": text(charged.epsilon),
        "delta": text(charged.delta),
        "name": name,
        "again": entry,
    }
    return sha256(canonical({"request": said})).hexdigest()


# ---------------------------------------------------------------- the gate


@dataclass(frozen=True)
class _Held:
    """An order that waits for a decision."""

    key: str
    ticket: Ticket
    answered: Callable[[], bool]


class ApprovalGate:
    """Hold orders that a rule of the declaration covers until their requests are decided.

    Parameters
    ----------
    session : Session
        The session of who holds the data.
    rules : sequence of ApprovalRule
        An order waits where one of them covers it.
    look : float, default LOOK
        Seconds between two looks for decisions of another process.
    """

    def __init__(self, session: Session, rules: Sequence[ApprovalRule], look: float = LOOK) -> None:
        self.approvals = Approvals(session)
        self._session, self._rules, self._look = session, tuple(rules), look
        self._put: Callable[[Ticket], None] = lambda ticket: None
        self._held: list[_Held] = []
        self._lock = threading.Lock()
        self._over, self._watching = threading.Event(), False

    def begin(self, put: Callable[[Ticket], None]) -> None:
        """Take the call that lets a ticket have its turn."""
        self._put = put

    def close(self) -> None:
        """Look for no decisions any more."""
        self._over.set()

    # ------------------------------------------------------------ what waits

    def covers(self, checked: Checked) -> bool:
        """Whether a rule covers an order. A question of an open sub-session was decided with its opening, which may
        read any column with any mechanism."""
        order, price = checked.order, checked.price
        if price is None:
            return False
        charged = payable(to_approx(price.loss))
        if isinstance(order, OpenOrder):
            return any(rule.covers_opening(charged.epsilon, charged.delta) for rule in self._rules)
        if not isinstance(order, ReleaseOrder):
            return False
        columns, names = _columns(order), _mechanisms(order)
        return any(rule.covers(charged.epsilon, charged.delta, name, columns) for rule in self._rules for name in names)

    def hold(self, checked: Checked, caller: Caller, ticket: Ticket) -> bool:
        """Whether the order of a ticket waits. Raises Forbidden where it was refused."""
        if not self.covers(checked):
            return False
        key = self.key(checked, caller)
        found = self.approvals.ask(key, checked.order, _summary(checked), caller)
        ticket.work = partial(self._once, key, checked, caller, ticket.work)
        if found.state == "approve":
            return False
        if found.decision is not None:
            raise _refused(found)
        said = f"waiting for approval by the owner of the data, as request {found.number}"
        ticket.change(state="approval", waiting=said)
        with self._lock:
            self._held.append(_Held(key, ticket, checked.answered))
        self.look()  # it may have been decided since it was asked
        self._watch()
        return True

    def key(self, checked: Checked, caller: Caller) -> str:
        """The key of the request of an order, as the ledger stands now."""
        order, price = checked.order, checked.price
        assert price is not None
        known = self._session.ledger.find(order.digest)
        again = known.number if known is not None and isinstance(order, ReleaseOrder) and order.retry else None
        return _key(order, price, caller.name, again)

    def _once(self, key: str, checked: Checked, caller: Caller, work: Work | None, ticket: Ticket) -> None:
        """Draw, unless the approval has paid for another charge since. Orders have their turn one after the other."""
        if not checked.answered() and self.key(checked, caller) != key:
            raise Forbidden.of(
                checked.sentence,
                "an approval is for one charge, and that charge was made",
                "ask again with retry=True, which waits for a decision of its own",
            )
        assert work is not None
        work(ticket)

    # ------------------------------------------------------------ what goes on

    def decide(
        self,
        number: int,
        caller: Caller,
        verdict: Literal["approve", "refuse"],
        reason: str | None = None,
        mechanism: Mechanism | None = None,
    ) -> DecisionRequest:
        """Decide a request as `Approvals.decide` does, and let its order go on."""
        found = self.approvals.decide(number, caller, verdict, reason, mechanism)
        with suppress(DpvizError):  # it is decided: the next look tells the order
            self.look()
        return found

    def look(self) -> None:
        """Let each order go on that was decided, or whose answer is stored by now, and end those that were refused."""
        with self._lock:
            held = list(self._held)
            over = [one for one in held if self._goes_on(one)]
            self._held = [one for one in self._held if one not in over]

    def _goes_on(self, one: _Held) -> bool:
        """Whether an order waits no more."""
        ticket = one.ticket
        if ticket.ended:
            return True
        found = self._session.ledger.find_request(one.key)
        if (found is not None and found.state == "approve") or one.answered():
            self._put(ticket)
            return True
        if found is None or found.decision is None:
            return False
        ticket.fail(_refused(found))
        return True

    def _watch(self) -> None:
        """Look for the decisions of other processes, as long as orders wait."""
        with self._lock:
            if self._watching or not self._held:
                return
            self._watching = True
        threads.start(self._watched, "dpviz-approvals")

    def _watched(self) -> None:
        head = ""
        while not self._over.wait(self._look):
            try:
                before, head = head, self._session.ledger.head()
                if head != before:
                    self.look()
            except DpvizError:
                head = ""  # the ledger is away: a later look finds what was decided
            with self._lock:
                if not self._held:
                    self._watching = False
                    return


def _summary(checked: Checked) -> dict[str, Any]:
    """The plan of an order in words, and its price, for who decides. All public."""
    assert checked.price is not None
    lines = [line.removeprefix("  ") for line in checked.plan().splitlines()[1:]]  # the first says what is asked
    return {"text": checked.sentence, "plan": lines, "price": price_json(checked.price)}


def _columns(order: ReleaseOrder) -> set[str]:
    """Every column that an order names."""
    beside = [question for question, _ in filter(None, (order.over, order.then)) if question is not None]
    return {column for question in (order.question, *beside) for column in question.columns}


def _mechanisms(order: ReleaseOrder) -> set[str]:
    """The mechanisms that an order names, those within one that shares a price out among parts as well."""
    made = [order.mechanism, *(mechanism for _, mechanism in filter(None, (order.over, order.then)))]
    return {name for one in made for name in (one.name, one.parameters().get("mechanism")) if name}


def _refused(found: DecisionRequest) -> Forbidden:
    """The end of an order that was refused, or approved at another price."""
    decision = found.decision
    assert decision is not None
    why = f": {decision.reason}" if decision.reason else ""
    if decision.verdict == "instead":
        told = decision.body["mechanism"]
        call = mechanism_of(told["name"], told["parameters"]).python
        rule, step = "this release was approved at another price", f"ask with {call}, which is approved"
    else:
        rule, step = "a request that was refused stays refused", "ask for something else"
    said = f"request {found.number} was decided by {decision.person}{why}. {rule}; {step}. Nothing was charged."
    return Forbidden(said, value=f"request {found.number}", rule=rule, next_step=step)


protect_module(vars())
