"""The keeper of one data set: a session for each caller, the line of orders, and the rules of who may ask for what.

It knows nothing of HTTP: `service` gives it messages and authenticated callers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from dpviz.boundary import protect_module
from dpviz.curator.tickets import Clock, Line, Ticket, draw, serve
from dpviz.curator.wire import PublicFacts, Standing, record_json
from dpviz.errors import DpvizError, Forbidden, ParameterError
from dpviz.exact import text
from dpviz.model.ways import Way, Ways
from dpviz.privacy.guarantee import Guarantee
from dpviz.session.callers import Caller, Scope
from dpviz.session.ledger import Entry, UseRecord
from dpviz.session.ledger.chain import now
from dpviz.session.orders import AskOrder, Order, ReleaseOrder
from dpviz.session.plan import Plan
from dpviz.session.session import Session

if TYPE_CHECKING:
    from dpviz.curator.approvals import ApprovalGate
    from dpviz.curator.caps import Caps

SHORT_ANSWER: Final = 1 << 16
"""Bytes of an answer that goes with the standing of its order; a longer one is asked for by itself."""


@dataclass(frozen=True)
class Checked:
    """An order that was checked and is not paid for yet.

    price     the price; None for a question that is paid for already
    answered  whether its answer is stored, so that it is free
    plan      the plan in words
    sentence  the question in words, for the owner
    """

    order: Order
    session: Session
    price: Guarantee | None
    sentence: str
    answered: Callable[[], bool]
    work: Callable[[Ticket], None]
    plan: Callable[[], str] = str


class Keeper:
    """Answer the orders of many callers about one data set.

    Parameters
    ----------
    session : Session
        The session of the owner, which reads the data.
    bins : mapping of str to domain, as JSON
        Declared domains by column.
    tick : float
        Seconds between two moments at which outcomes are made known.
    each, all : int
        The most orders on their way, of one caller and of all.
    caps : Caps, optional
        The caps of analysts and projects, whose rest a caller may see.
    within : callable, optional
        For a caller, the check of their caps inside the transaction of a charge.
    gate : ApprovalGate, optional
        The rule by which orders wait for approval.
    """

    def __init__(
        self,
        session: Session,
        *,
        bins: Mapping[str, Any] | None = None,
        tick: float = 0.5,
        each: int = 8,
        all: int = 200,
        caps: Caps | None = None,
        within: Callable[[Caller], Any] | None = None,
        gate: ApprovalGate | None = None,
    ) -> None:
        self.session = session
        self.clock = Clock(tick)
        self.line = Line(each, all)
        self._bins = dict(bins or {})
        self._caps, self._within, self.gate = caps, within, gate
        if gate is not None:
            gate.begin(self.line.put)
        self._sessions: dict[Caller, Session] = {}
        self._lock = threading.Lock()
        self.closing = False

    # ------------------------------------------------------------ what a caller may know

    def session_of(self, caller: Caller) -> Session:
        """The session whose charges stand under the name of this caller."""
        with self._lock:
            found = self._sessions.get(caller)
            if found is None:
                within = None if self._within is None else self._within(caller)
                found = self._sessions[caller] = self.session.for_caller(caller, within=within)
            return found

    def facts(self, caller: Caller) -> PublicFacts:
        """The facts that anybody who may plan may know."""
        session, source = self.session, self.session.counted_by
        return PublicFacts(
            name=session.dataset,
            engine=source.engine,
            ledger=session.ledger_name,
            columns=session.columns,
            unit=session.unit,
            top=source.top,
            bins=self._bins,
            you=caller.name,
            scopes=tuple(sorted(caller.scopes)),
            tick=f"{self.clock.tick:g}",
        )

    def caps(self, caller: Caller) -> list[dict[str, Any]]:
        """The caps that bind a caller, and what is left of each, as a message."""
        if self._caps is None:
            return []
        ledger = self.session.ledger
        found = self._caps.allowances(caller, ledger.spending, ledger.account, now())
        return [
            {"whose": one.whose, "left": {part: text(left) for part, left in one.left.items()}, "until": one.until}
            for one in found
        ]

    def record(self, found: Entry | UseRecord, caller: Caller) -> dict[str, Any]:
        """An entry or a use as this caller may see it. Other askers are named to those who audit."""
        own = found.person == caller.name
        return record_json(found, shown=own or "audit" in caller.scopes, mine=own)

    # ------------------------------------------------------------ orders

    def place(self, name: str, order: Order, caller: Caller) -> Ticket:
        """Take an order: check it, and let it wait for its turn or for the owner. Sent twice, it is one order.

        Raises
        ------
        DpvizError
            If the order is refused. Nothing is charged.
        """
        allowed(caller, "release")
        if not (len(name) == 32 and all(sign in "0123456789abcdef" for sign in name)):
            raise Forbidden.of(
                "another name",
                "an order is named by hexadecimal digits, as many as those of a UUID",
                "connect with dv.connect",
            )
        checked = self.check(order, caller)
        ticket, new = self.line.add(name, caller.name, order.digest)
        if new:
            self._admit(ticket, checked, caller)
        return ticket

    def _admit(self, ticket: Ticket, checked: Checked, caller: Caller) -> None:
        try:
            ticket.work = checked.work
            if checked.answered():  # it is free, and waits for nobody
                serve(ticket)
                return
            held = self.gate is not None and self.gate.hold(checked, caller, ticket)
        except DpvizError as refused:
            ticket.fail(refused)
            return
        except Exception:  # it must not hold a place in the line for good
            ticket.cancel()
            raise
        if not held:
            self.line.put(ticket)

    def check(self, order: Order, caller: Caller) -> Checked:
        """Check an order from public things alone. Raises the refusal that a call in a kernel would raise."""
        session = self.session_of(caller)
        if isinstance(order, ReleaseOrder):
            prepared = session.prepare(order, self.clock.wait)
            price, bound = prepared.price, prepared.bound
            ways: Ways = {} if bound.way is None else {cast("Way", bound.way): bound}
            plan = Plan(bound, profile=prepared.profile, ways=ways)
            sentence = f"{prepared.bound.question.text}, by {order.mechanism!r}"
            found_there = prepared.payment.answered
            return Checked(order, session, price, sentence, found_there, draw(prepared.start), plan.__repr__)
        if isinstance(order, AskOrder):
            found = session.sub_sessions.get(order.entry)
            if found is None:
                raise ParameterError.of(
                    order.entry, "a question is asked of a sub-session that is open", "open one with session.open"
                )
            asked = found.prepare(order, self.clock.wait)
            return Checked(order, session, None, asked.bound.question.text, asked.payment.answered, draw(asked.start))
        price, opening = session.check_opening(order), order

        def answered() -> bool:
            return session.ledger.find(opening.digest) is not None

        def work(ticket: Ticket) -> None:
            made = session.open(opening.parameters, key=opening.user_key)
            ticket.change(state="done", entry=made.number, done=1)

        plan_text = session.plan_open(opening.parameters).__repr__
        return Checked(order, session, price, order.parameters.title, answered, work, plan_text)

    def close_sub_session(self, number: int, caller: Caller) -> None:
        """Close a sub-session of the caller's own."""
        allowed(caller, "release")
        session = self.session_of(caller)
        found = session.sub_sessions.get(number)
        if found is None or session.ledger.entry(number).person != caller.name:
            raise ParameterError.of(number, "a caller closes sub-sessions of their own", "see session.sub_sessions")
        found.close()

    def short_answer(self, standing: Standing) -> bytes | None:
        """The stored answer of an order that is done, where it is short enough to go with its standing."""
        if standing.entry is None:
            return None
        ledger = self.session.ledger
        if standing.use is not None:
            content = ledger.use_answer(standing.entry, standing.use)
        elif ledger.entry(standing.entry).status == "done":
            content = ledger.answer(standing.entry)
        else:  # the opening of a sub-session
            return None
        return content if len(content) <= SHORT_ANSWER else None

    def let_go(self) -> None:
        """Hold no question open any more: the service is ending. May be called by a signal's handler."""
        self.closing = True
        self.line.tell_all()

    def close(self) -> None:
        """Take no more orders, and cancel those on their way."""
        if self.gate is not None:
            self.gate.close()
        self.line.close()


def allowed(caller: Caller, scope: Scope) -> None:
    """Refuse a caller without this right."""
    if scope not in caller.scopes:
        raise Forbidden.of(
            ", ".join(sorted(caller.scopes)) or "no rights",
            f"this takes the right to {scope}; nothing was changed",
            "ask the owner of the data, who grants rights in the declaration of the data set",
        )


protect_module(vars())
