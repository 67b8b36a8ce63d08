"""The tape of a sub-session: what is left, what came back so far, and the next question by hand.

A page may forge any trait and send any message. So nothing here is read from traits, and a message is one of five of
the named asks with typed arguments; everything else is refused. What a question may use is computed anew when it is
asked: what the button said is compared, never believed.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from dpviz.charts.picture import picture
from dpviz.errors import DpvizError, Forbidden, LedgerError, ParameterError, SessionBusy
from dpviz.exact import text
from dpviz.hidden import kind_of, publicly
from dpviz.model.question import Question
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.session.running import Running
from dpviz.session.sub_session import Asked, SubSession
from dpviz.widgets import messages, state
from dpviz.widgets.watching import Pulse, lookout, words

STATIC = Path(__file__).parent.parent / "static"
VERSION = 1
SETTLES = 0.25
"""Seconds in which a refusal comes back, and most answers."""

Body = dict[str, Any]


class Tape:
    """One sub-session, the questions on offer, and the question on its way."""

    def __init__(self, sub: SubSession, questions: Mapping[str, Question] | None) -> None:
        self.sub = sub
        self._given = None if questions is None else {asked.id: (label, asked) for label, asked in questions.items()}
        self._lock = threading.RLock()
        self._running: Running | None = None
        self._fault: Body | None = None
        self._changed: Callable[[], None] = lambda: None
        self._pulsed: Callable[[], None] = lambda: None
        self._heeded: Running | None = None
        self._stage: object = None
        self._known: Body | None = None
        self.pulse = Pulse(state.now())
        self._lookout = lookout(sub.ledger)
        sub.look_on(self._on_answer_elsewhere)

    def watch(self, changed: Callable[[], None], pulsed: Callable[[], None]) -> None:
        """Call these whenever there may be something new to show, and whenever the ledger was looked at."""
        self._changed, self._pulsed = changed, pulsed

    # ------------------------------------------------------------ following the ledger

    def watched(self) -> None:
        """Somebody looks at this tape: follow what other kernels do."""
        self._lookout.renew(self)

    def catch_up(self) -> None:
        """The ledger has moved, by whoever's hand: show it."""
        self._read()
        self._changed()
        running = self._on_its_way()
        if running is not None and running is not self._running and running is not self._heeded:
            self._heeded = running
            running.watch(self._follow_elsewhere)

    def stirred(self) -> bool:
        """Whether a question of another kernel was lost, or one is on its way beside this tape and has paid nothing."""
        known = self._known
        if known is None:
            return False
        if (self._on_its_way() is None) != (known["running"] is None):
            return True
        hanging = any(row["status"] in ("pending", "elsewhere") for row in known["rows"])
        return hanging and [self._row(asked) for asked in self.sub.transcript] != known["rows"]

    def beat(self, pulse: Pulse) -> None:
        """The ledger was looked at."""
        self.pulse = pulse
        self._pulsed()

    def _on_its_way(self) -> Running | None:
        """The question on its way: from this tape, or from another tape or a cell."""
        own, other = self._running, self.sub.running
        if own is not None and not own.done:
            return own
        return other if other is not None and other.number == self.sub.number else None

    def _follow_elsewhere(self, running: Running) -> None:
        """What was asked beside this tape is paid, or waits. Its end is told by `_on_answer_elsewhere`."""
        stage = (running.number, running.waiting)
        if not running.done and stage != self._stage:
            self._stage = stage
            self._changed()

    def _on_answer_elsewhere(self, running: Running) -> None:
        """A question was asked in a cell, or the session released something else."""
        if running is not self._running:
            self._changed()

    # ------------------------------------------------------------ what the page may know

    @property
    def _offers(self) -> dict[str, tuple[str, Question]]:
        """By id: what the page may ask. Where none were given, what was asked before."""
        if self._given is not None:
            return self._given
        known = [asked.question for asked in self.sub.transcript if asked.question is not None]
        return {question.id: (_words(question), question) for question in known}

    def state(self) -> Body:
        """The tape of widgets/PROTOCOL.md, all public, all texts; where the ledger cannot be read, as it was last."""
        try:
            return self._read()
        except LedgerError as error:
            if self._known is None:
                raise
            self.pulse = Pulse(self.pulse.asof, words(error))
            return {**self._known, "fault": self._fault}

    def _read(self) -> Body:
        """The state, as the ledger says it now."""
        asof = state.now()
        known = self._now()
        self._known, self.pulse = known, Pulse(asof)
        return known

    def _now(self) -> Body:
        sub, price = self.sub, self.sub.price
        charged = payable(to_approx(price.loss))
        running = self._on_its_way()
        return {
            "version": VERSION,
            "kernel": state.KERNEL,
            "entry": str(sub.number),
            "price": {"epsilon": text(charged.epsilon), "delta": text(charged.delta)},
            "guarantee": price.sentence,
            "closed": sub.closed,
            "symbols": {"total": str(sub.parameters.symbols), "left": str(sub.symbols_left)},
            "questions": {"total": str(sub.parameters.questions), "left": str(sub.questions_left)},
            "offers": [
                {"id": name, "label": label, "items": _items(question), "python": _python(question)}
                for name, (label, question) in self._offers.items()
            ],
            "rows": [self._row(asked) for asked in sub.transcript],
            "running": None if running is None or running.done else state.running_json(running),
            "fault": self._fault,
        }

    def _row(self, asked: Asked) -> Body:
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

    # ------------------------------------------------------------ the door

    def answer(self, content: object) -> Body | None:
        """The reply to one message from the page. Never raises; a message without an id is dropped."""
        asks: dict[str, Callable[[Body], Body]] = {
            "plan": self._on_plan,
            "release": self._on_release,
            "cancel": self._on_cancel,
            "status": self._on_status,
            "show": self._on_show,
        }
        return messages.answered(content, messages.TAPES, asks, "sub.transcript says what was used")

    def _asked(self, args: Body) -> tuple[Question, int, int]:
        offered = self._offers.get(args["question"])
        if offered is None:
            raise Forbidden("this tape does not offer that question", next_step="offer it: questions={...}")
        return offered[1], messages.count(args["k"], "k"), messages.count(args["kbar"], "kbar")

    def _on_plan(self, args: Body) -> Body:
        question, k, kbar = self._asked(args)
        plan = self.sub.plan(question, k, kbar)
        listed = plan.listed()
        return {"most": str(plan.most), "listed": "" if listed is None else text(listed.value)}

    def _on_release(self, args: Body) -> Body:
        question, k, kbar = self._asked(args)
        plan = self.sub.plan(question, k, kbar)
        real = {"most": str(plan.most), "left": str(plan.symbols_left)}
        if any(args[name] != said for name, said in real.items()):
            raise Forbidden(
                f"the button said up to {args['most']} of {args['left']} left, but this question may use "
                f"{plan.most:,} of {plan.symbols_left:,}. Nothing was charged.",
                next_step="look at the tape again",
            )
        with self._lock:
            if self._running is not None and not self._running.done:
                raise SessionBusy("a question is on its way. Nothing was charged.", next_step="wait, or cancel it")
            running = self.sub.ask_async(question, k, kbar, key=args["key"])
            self._running, self._fault = running, None
        try:
            running.result(SETTLES)  # refusals come back within moments and belong to this very reply
        except TimeoutError:
            running.watch(self._follow)
            running.watch(self._follow_elsewhere)
        finally:
            self._changed()
        return {"token": running.token, "state": self.state()}

    def _follow(self, running: Running) -> None:
        """Once a question that took longer has ended, show what came of it, or why nothing did."""
        if not running.done:
            return
        try:
            running.result()
        except DpvizError as refused:
            self._fault = messages.error_json(refused)
        self._changed()

    def _on_cancel(self, args: Body) -> Body:
        running = self._on_its_way()
        if running is None or running.done or running.token != args["token"]:
            raise ParameterError.of("cancel", "no such question is on its way")
        running.cancel()
        return {}

    def _on_status(self, args: Body) -> Body:
        self._lookout.look()
        self._read()
        self._changed()
        return {"state": self._read()}

    def _on_show(self, args: Body) -> Body:
        number = messages.count(args["number"], "number")
        if number not in {asked.number for asked in self.sub.transcript if asked.status == "done"}:
            raise ParameterError.of(number, "this sub-session has no such answer", "look at sub.transcript")
        return {"result": picture(self.sub.answer(number))}


class PayWhatYouGetTape(anywidget.AnyWidget):
    """The tape of a sub-session: symbols and questions left, every answer so far, and the next question by hand.

    sub        a sub-session: `session.open(dv.PayWhatYouGet(...))`
    questions  what the page offers to ask: label to Domain, column name or Question; without them, what this
               sub-session was asked before. The page cannot ask others

    Looking is free; what is asked here is paid from the sub-session, exactly as `sub.ask` is. Raises ParameterError
    where `sub` is no sub-session or a question is none. Source: Durfee, Rogers, Algorithm 2.
    """

    _esm = STATIC / "widgets.js"
    _css = STATIC / "widgets.css"
    name: ClassVar[str] = "pay-what-you-get-tape"

    component = traitlets.Unicode().tag(sync=True)
    desk = traitlets.Unicode().tag(sync=True)
    state = traitlets.Unicode().tag(sync=True)
    pulse = traitlets.Unicode().tag(sync=True)

    @publicly
    def __init__(self, sub: SubSession, questions: Mapping[str, object] | None = None) -> None:
        if not isinstance(sub, SubSession):
            raise ParameterError.of(
                kind_of(sub), "a tape shows a sub-session", "write session.open(dv.PayWhatYouGet(epsilon=1))"
            )
        self._tape = Tape(sub, _offered(questions))
        self._showing = threading.Lock()
        shown, pulse = _json(self._tape.state()), self._tape.pulse.to_json()
        super().__init__(component=type(self).name, desk=uuid.uuid4().hex[:12], state=shown, pulse=pulse)
        self._tape.watch(self._show, self._beat)
        self.on_msg(self._receive)

    def answer(self, content: object) -> Body | None:
        """The reply to one message from the page. Never raises."""
        return self._tape.answer(content)

    def _show(self) -> None:
        with self._showing:  # what was seen first must not be shown last
            self.state = _json(self._tape.state())
            self.pulse = self._tape.pulse.to_json()

    def _beat(self) -> None:
        with self._showing:
            self.pulse = self._tape.pulse.to_json()

    def _receive(self, _widget: object, content: object, buffers: object) -> None:
        self._tape.watched()
        answer = self.answer(content)
        if answer is not None:
            self.send(answer)

    def _repr_keys(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        return f"PayWhatYouGetTape({self._tape.sub!r})"


def _offered(questions: object) -> dict[str, Question] | None:
    if questions is None:
        return None
    if not isinstance(questions, Mapping) or not all(isinstance(label, str) for label in questions):
        raise ParameterError.of(
            kind_of(questions), "questions must map labels to questions", 'write questions={"All year": dest}'
        )
    return {label: Question.of(question) for label, question in questions.items()}


def _words(question: Question) -> str:
    column = " × ".join(question.domain.columns)
    return f"{column} {question.where_text}".strip()


def _items(question: Question) -> str:
    """What one item is called: the column."""
    return " and ".join(question.domain.columns).replace("_", " ")


def _python(question: Question) -> str:
    """The call that asks the same, with {k} and {kbar} where the numbers go."""
    lines = [question.python, "k={k}", "kbar={kbar}", question.python_where]
    return "sub.ask(\n" + "".join(f"    {line},\n" for line in lines if line) + ")"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
