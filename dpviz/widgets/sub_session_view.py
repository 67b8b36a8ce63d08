"""The view of a sub-session: what is left, what came back so far, and the next question by hand.

A page may forge any trait and send any message. So nothing here is read from traits, and a message is one of five of
the named asks with typed arguments; everything else is refused. The most that a question may use is computed anew when
it is asked: what the button said is compared, never believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from dpviz.boundary import as_given, plain_arguments, protect_module
from dpviz.charts.picture import picture
from dpviz.errors import Forbidden, ParameterError, SessionBusy
from dpviz.exact import text
from dpviz.mechanisms.pay_what_you_get import PayWhatYouGet, TranscriptRow
from dpviz.model.measures import values_json
from dpviz.model.question import Question
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.session.plan import NOTED
from dpviz.session.running import Running
from dpviz.session.sub_session import SubSession
from dpviz.widgets import messages, state
from dpviz.widgets.dispatcher import Dispatcher, Request
from dpviz.widgets.order import Order
from dpviz.widgets.view import WidgetView, json_text
from dpviz.widgets.watching import Follower

VERSION = 1

Body = dict[str, Any]


class SubSessionModel(Follower):
    """One sub-session, the questions on offer, and the question on its way."""

    def __init__(self, sub: SubSession, questions: Mapping[str, Question] | None) -> None:
        self.sub, self._paid = sub, cast(PayWhatYouGet, sub.parameters)
        self._given = None if questions is None else {asked.id: (label, asked) for label, asked in questions.items()}
        self._fault: Body | None = None
        dispatcher = Dispatcher(
            messages.SUB_SESSIONS,
            "sub.transcript says what was used",
            quick={"release": self._on_release, "status": self._on_status, "show": self._on_show},
            slow={"plan": self._on_plan},
            at_once={"cancel": self._on_cancel},
        )
        super().__init__(sub.log, dispatcher)
        sub.add_listener(self._on_answer_elsewhere)

    @property
    def title(self) -> str:
        return repr(self.sub)

    def mirrors(self, known: Body | None = None) -> Body:
        return {"state": json_text(self.state() if known is None else known), "pulse": self._pulse.to_json()}

    # ------------------------------------------------------------ following the ledger

    def _refresh(self) -> None:
        self.state()
        self._show()

    def has_news(self) -> bool:
        """Whether a question of another kernel was lost, or one began beside this sub-session view."""
        shown = self._states.body
        if self._behind or not shown:
            return self._behind
        if self._began_elsewhere(shown):
            return True
        hanging = any(row["status"] in ("pending", "elsewhere") for row in shown["rows"])
        return hanging and [self._row(asked) for asked in self.sub.transcript] != shown["rows"]

    def _elsewhere(self) -> Running | None:
        """The question on its way that was asked beside this sub-session view: from another sub-session view, or a
        cell."""
        running = self.sub.running
        if running is None or running.number != self.sub.number:
            return None
        return None if self._order is not None and running is self._order.running else running

    def _follow_elsewhere(self, running: Running) -> None:
        """The question asked beside this sub-session view is paid, or waits. Its end is told by
        `_on_answer_elsewhere`."""
        if not running.done and self._due(running):
            self._dispatcher.soon(self._show)

    def _on_answer_elsewhere(self, running: Running) -> None:
        """A question was asked in a cell, or the session released something else."""
        if self._order is None or running is not self._order.running:
            self._dispatcher.soon(self._show)

    # ------------------------------------------------------------ what the page may know

    @property
    def _offers(self) -> dict[str, tuple[str, Question]]:
        """By id: what the page may ask. Where none were given, what was asked before."""
        if self._given is not None:
            return self._given
        known = [asked.question for asked in self.sub.transcript if asked.question is not None]
        return {question.id: (_words(question), question) for question in known}

    def _orders(self) -> Body:
        return {**super()._orders(), "fault": self._fault}

    def _read(self) -> Body:
        sub, price = self.sub, self.sub.price
        charged = payable(to_approx(price.loss))
        return {
            "version": VERSION,
            "kernel": state.KERNEL,
            "entry": str(sub.number),
            "price": {"epsilon": text(charged.epsilon), "delta": text(charged.delta)},
            "guarantee": price.sentence,
            "closed": sub.closed,
            "symbols": {"total": str(self._paid.symbols), "left": str(sub.symbols_left)},
            "questions": {"total": str(self._paid.questions), "left": str(sub.questions_left)},
            "offers": [
                {"id": name, "label": label, "items": _items(question), "python": _python(question)}
                for name, (label, question) in self._offers.items()
            ],
            "rows": [self._row(asked) for asked in sub.transcript],
        }

    def _row(self, asked: TranscriptRow) -> Body:
        question = asked.question
        own = asked.text if question is None else _words(question)
        label = own if question is None else self._offers.get(question.id, (own, None))[0]
        elsewhere = asked.status == "pending" and not asked.mine
        return {
            "number": str(asked.number),
            "id": "" if question is None else question.id,
            "label": label,
            "items_are": "items" if question is None else _items(question),
            "k": str(asked.k),
            "kbar": str(asked.kbar),
            "key": asked.key or "",
            "status": "elsewhere" if elsewhere else asked.status,
            "most": str(asked.k + (asked.kbar == "private")),
            "used": str(asked.used),
            "items": list(asked.items),
            "ended": asked.ended,
        }

    # ------------------------------------------------------------ the dispatcher

    def _asked(self, args: Body) -> tuple[Question, int, int]:
        offered = self._offers.get(args["question"])
        if offered is None:
            raise Forbidden.of(
                args["question"],
                "that question of the sub-session is not on offer here",
                "offer it: questions={...}",
            )
        return offered[1], messages.count(args["k"], "k"), messages.count(args["kbar"], "kbar")

    def _on_plan(self, args: Body) -> Callable[[], Body]:
        question, k, kbar = self._asked(args)
        plan = self.sub.plan(question, k, kbar)
        body = {
            "most": str(plan.most),
            "beta": text(NOTED),
            "measures": [measure.to_json() for measure in plan.measures],
            "errors": values_json(plan.measures, NOTED),
        }
        return lambda: body

    def _on_release(self, request: Request) -> None:
        args = request.args
        question, k, kbar = self._asked(args)
        plan = self.sub.plan(question, k, kbar)
        real = {"most": str(plan.most), "left": str(plan.symbols_left)}
        if any(args[name] != said for name, said in real.items()):
            raise Forbidden(
                f"the button said up to {args['most']} of {args['left']} left, but this question may use "
                f"{plan.most:,} of {plan.symbols_left:,}. Nothing was charged.",
                value=f"{args['most']} of {args['left']}",
                rule="a question uses what its button said",
                next_step="look at what is left of the sub-session again",
            )
        if self._order is not None and not self._order.running.done:
            raise SessionBusy(
                "a question is on its way. Nothing was charged. Wait for it, or cancel it.",
                value="a second question",
                rule="a sub-session answers one question at a time",
                next_step="wait for it, or cancel it",
            )
        running = self.sub.ask_async(question, k, kbar, key=args["key"])
        self._fault = None
        self._start(request, running)

    def _told_with_name(self, known: Body) -> Body:
        return {"state": known}

    def _follow(self, order: Order) -> None:
        """Show how far a question is; once it has ended, what came of it, or why nothing did."""
        if order.over:
            return
        if not order.running.done:
            if order.named:
                self._show()
            return
        _, outcome = order.end()
        if not order.refused:
            self._outcomes.append(outcome)
            self._fault = outcome["error"]
        try:
            self._show()
        finally:
            if order.refused:
                order.refuse()
            elif not order.named:
                order.name(state=self._last_state())

    def _on_cancel(self, args: Body) -> Body:
        return self._cancel(args["token"], "no question with this token is on its way")

    def _on_status(self, request: Request) -> Body:
        self._look()
        known = self.state()
        self._show(known)
        return {"state": known}

    def _on_show(self, request: Request) -> Body:
        number = messages.count(request.args["number"], "number")
        if number not in {asked.number for asked in self.sub.transcript if asked.status == "done"}:
            raise ParameterError.of(number, "this sub-session has no such answer", "look at sub.transcript")
        return {"result": picture(self.sub.answer(number))}


class PayWhatYouGetTape(WidgetView):
    """Show a sub-session: symbols and questions left, every answer so far, and the next question by hand.

    Parameters
    ----------
    sub : SubSession
        A sub-session: ``session.open(dv.PayWhatYouGet(...))``.
    questions : dict, optional
        The questions that the page offers: label to Domain, column name or Question. By default, the earlier questions
        of this sub-session. The page cannot ask others.

    Raises
    ------
    ParameterError
        If `sub` is no sub-session, or a question is refused.

    Notes
    -----
    Looking is free; a question that is asked here is paid from the sub-session, exactly as `sub.ask` is [1]_.

    References
    ----------
    .. [1] Durfee, Rogers (2019), Algorithm 2.
    """

    name: ClassVar[str] = "pay-what-you-get-tape"
    program_name: ClassVar[str] = "tape"

    @plain_arguments
    def __init__(self, sub: SubSession, questions: Mapping[str, object] | None = None) -> None:
        if not isinstance(sub, SubSession) or sub.parameters.name != PayWhatYouGet.name:
            raise ParameterError.of(
                as_given(sub),
                "PayWhatYouGetTape shows a sub-session of PayWhatYouGet",
                "write session.open(dv.PayWhatYouGet(epsilon=1))",
            )
        super().__init__(SubSessionModel(sub, _offered(questions)))


def _offered(questions: object) -> dict[str, Question] | None:
    if questions is None:
        return None
    if not isinstance(questions, Mapping) or not all(isinstance(label, str) for label in questions):
        raise ParameterError.of(
            as_given(questions), "questions must map labels to questions", 'write questions={"All year": dest}'
        )
    return {label: Question.of(question) for label, question in questions.items()}


def _words(question: Question) -> str:
    column = " × ".join(question.domain.columns)
    return f"{column} {question.where_text}".strip()


def _items(question: Question) -> str:
    """The noun for one item: the column."""
    return question.domain.columns_text.replace("_", " ")


def _python(question: Question) -> str:
    """The call that asks the same, with {k} and {kbar} where the numbers go."""
    lines = [question.python, "k={k}", "kbar={kbar}", question.python_where]
    return "sub.ask(\n" + "".join(f"    {line},\n" for line in lines if line) + ")"


protect_module(vars())
