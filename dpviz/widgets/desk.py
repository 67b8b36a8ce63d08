"""The desk: what every component of one session shares, and the one place that answers the page.

A page may forge any trait and send any message. So nothing here is read from traits, and a message is one of six named
asks with typed arguments; everything else is refused. Prices are computed anew for every release: what the button said
is compared, never believed.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from dpviz.charts.picture import picture
from dpviz.errors import DpvizError, Forbidden, ParameterError, SessionBusy
from dpviz.exact import rational, text, typed
from dpviz.hidden import guard, kind_of
from dpviz.mechanisms import REGISTRY, Dense, PureSparse, Stability, mechanism
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.planning import epsilon_for, epsilon_grid
from dpviz.planning.sheet import BETAS, PlanSheet
from dpviz.session.plan import Plan
from dpviz.session.running import Running
from dpviz.session.session import Session
from dpviz.session.teaching import Teaching
from dpviz.widgets import messages, state

if TYPE_CHECKING:
    from dpviz.widgets.component import Component

PROGRESS_EVERY = 0.1
"""Seconds between two progress events, at least."""

Body = dict[str, Any]


class Member(Protocol):
    """A component on a desk."""

    sheet: str
    state: str
    result: str

    def send(self, content: object) -> None: ...


class Desk:
    """One session, the questions on offer, and the plan and the release on show."""

    def __init__(
        self,
        session: Session | Teaching,
        questions: Sequence[object] = (),
        mechanism: Mechanism | None = None,
    ) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.session = session
        self._members: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.RLock()
        self._questions: dict[str, Question] = {}
        for asked in [*questions, *state.known_questions(session)]:
            question = Question.of(asked)
            self._questions.setdefault(question.id, question)
        first = next(iter(self._questions.values()), None) or _declared_default(session)
        self._questions.setdefault(first.id, first)
        self._plan = session.plan(first, mechanism or _fitting(session, first))
        self._sheet = self._plan.sheet.to_json()
        self._result: Body | None = None
        self._running: Running | None = None
        self._told = 0.0
        self._show_latest()
        if isinstance(session, Session):
            session.look_on(self._on_release_elsewhere)

    @property
    def title(self) -> str:
        return self.session.dataset

    @property
    def plan(self) -> Plan:
        """The plan on show."""
        return self._plan

    # ------------------------------------------------------------ mirrors

    def join(self, member: Component) -> None:
        self._members.add(member)

    def mirrors(self) -> dict[str, str]:
        """What the traits show: sheet, state and result, as JSON texts. All public."""
        return {
            "sheet": _json(self._sheet),
            "state": _json(self.state()),
            "result": "" if self._result is None else _json(self._result),
        }

    def state(self) -> Body:
        return state.session_state(self.session, self._questions, self._running)

    def _show_latest(self) -> None:
        """Where nothing is on show, show the newest release: looking at it again is free."""
        latest = None if self._result is not None else state.latest_release(self.session)
        if latest is not None:
            self._questions.setdefault(latest.question.id, latest.question)
            self._result = picture(latest)

    def _on_release_elsewhere(self, running: Running) -> None:
        """A release of this session ended, in a cell or on another desk: the budget has moved."""
        if running is not self._running:
            self._show_latest()
            self._show()

    def _show(self) -> None:
        """Bring every member's traits up to date."""
        shown = self.mirrors()
        for member in list(self._members):
            for name, value in shown.items():
                setattr(member, name, value)

    def _tell(self, event: str, body: Body) -> None:
        for member in list(self._members):
            member.send({"v": messages.VERSION, "event": event, "body": body})

    # ------------------------------------------------------------ the door

    def answer(self, content: object, member: object = None) -> Body | None:
        """The reply to one message from the page. Never raises; a message without an id is dropped."""
        asks: dict[str, Callable[[Body], Body]] = {
            "plan": self._on_plan,
            "release": self._on_release,
            "cancel": self._on_cancel,
            "status": self._on_status,
            "show": self._on_show,
            "ask": self._on_ask,
        }
        return messages.answered(content, messages.ASKS, asks, "session.releases says what was charged")

    def _on_plan(self, args: Body) -> Body:
        question, made = self._asked(args)
        with self._lock:
            self._plan = self.session.plan(question, made)
            self._questions.setdefault(question.id, question)
            self._sheet = self._plan.sheet.to_json()
            sheet = self._sheet
        self._show()
        return {"sheet": sheet}

    def _asked(self, args: Body) -> tuple[Question, Mechanism]:
        question, name = self._question(args["question"]), args["mechanism"]
        said = _starting(name, question) | args["parameters"]
        if said.get("epsilon_per_item"):  # the slider shows its total; moved, the total is what is asked
            given = mechanism(name, {**said, "epsilon": ""})
            if state.price_of(self.session.plan(question, given))["epsilon"] == rational(said["epsilon"], "epsilon"):
                return question, given
            said |= {"epsilon_per_item": "", "delta_prime": ""}
        return question, mechanism(name, said)

    def _question(self, said: Body) -> Question:
        if set(said) == {"id"}:
            found = self._questions.get(said["id"])
            if found is None:
                raise Forbidden("this desk does not know that question", next_step="declare its bins")
            return found
        return Question.of(Domain.from_json(messages.declaration(said)))

    def _on_release(self, args: Body) -> Body:
        question, made = self._asked(args)
        if isinstance(self.session, Teaching):
            self._result = picture(self.session.draw(question, made))
            self._show()
            return {"result": self._result, "state": self.state()}
        plan = self.session.plan(question, made)
        said = {name: typed(value, name) for name, value in args["price"].items()}
        real = state.price_of(plan)
        if said != real:
            raise Forbidden(
                f"the button said ε {text(said['epsilon'])}, but this release costs ε {text(real['epsilon'])}; "
                "nothing was charged",
                next_step="plan again",
            )
        with self._lock:
            if self._running is not None and not self._running.done:
                raise SessionBusy("a release is running; nothing was charged", next_step="wait for it, or cancel it")
            self._questions.setdefault(question.id, question)
            running = self.session.release_async(question, made, key=args["key"])
            self._running = running
        # Refusals come back within moments and belong to this very reply; a long draw goes on by itself.
        release = _settled(running)
        if release is not None:
            return self._released(release)
        self._show()
        running.watch(self._follow)
        return {"token": running.token, "number": "" if running.number is None else str(running.number)}

    def _released(self, release: Release) -> Body:
        with self._lock:
            self._running = None
            self._result = picture(release)
        self._show()
        return {"result": self._result, "state": self.state()}

    def _follow(self, running: Running) -> None:
        """Tell the page how a release goes: on the worker's thread, ten times a second at most."""
        if not running.done:
            now = time.monotonic()
            if now - self._told >= PROGRESS_EVERY:
                self._told = now
                body = state.running_json(running)
                if body is not None:
                    self._tell("progress", body)
            return
        try:
            body = {"token": running.token, **self._released(running.result())}
            self._tell("released", body)
        except DpvizError as refused:
            with self._lock:
                self._running = None
            self._show()
            event = "cancelled" if running.cancelling else "failed"
            self._tell(event, {"token": running.token, "error": messages.error_json(refused), "state": self.state()})

    def _on_cancel(self, args: Body) -> Body:
        running = self._running
        if running is None or running.token != args["token"]:
            raise ParameterError.of("cancel", "no such release is running")
        running.cancel()
        return {}

    def _on_status(self, args: Body) -> Body:
        self._show_latest()
        self._show()
        return {"state": self.state()}

    def _on_show(self, args: Body) -> Body:
        if isinstance(self.session, Teaching):
            raise Forbidden("teaching keeps no releases")
        number = args["number"]
        if not number.isascii() or not number.isdigit() or len(number) > 18:
            raise Forbidden("a release is shown by its number")
        release = self.session.releases[int(number)]
        with self._lock:
            self._questions.setdefault(release.question.id, release.question)
            self._result = picture(release)
        self._show()
        return {"result": self._result}

    def _on_ask(self, args: Body) -> Body:
        question, made = self._asked(args)
        beta = rational(args["beta"], "beta")
        if beta not in BETAS:
            raise Forbidden("beta must be one of the sheet's")
        plan = self.session.plan(question, made)
        grid, _ = epsilon_grid(plan.sheet.top)
        found = epsilon_for(
            made,
            question,
            self.session.unit,
            error=typed(args["error"], "error"),
            which=args["which"],
            beta=beta,
            grid=grid,
        )
        return {"epsilon": text(found)}

    @property
    def sheet(self) -> PlanSheet:
        return self._plan.sheet


def _settled(running: Running, within: float = 0.25) -> Release | None:
    """The release if it ends within moments, None if it goes on. Refusals are raised."""
    try:
        return running.result(within)
    except TimeoutError:
        return None


def _opening(session: Session | Teaching) -> Fraction:
    """Where the slider stands at first: a tenth of the budget, or 1/2 in teaching."""
    if isinstance(session, Teaching):
        return Fraction(1, 2)
    grid, labelled = epsilon_grid(session.budget.epsilon)
    wanted = grid[-1] / 10
    return max((value for value in labelled if value <= wanted), default=grid[0])


def _fitting(session: Session | Teaching, question: Question) -> Mechanism:
    """The mechanism to open with: Dense where it can answer, else one that does not have to list the bins."""
    epsilon = _opening(session)
    tried: list[Mechanism] = [Dense(epsilon), PureSparse(epsilon)]
    delta = Fraction(1, 10**6) if isinstance(session, Teaching) else session.budget.delta / 10
    if delta:
        tried.append(Stability(epsilon, delta))
    for candidate in tried:
        try:
            session.plan(question, candidate)
        except ParameterError:
            continue
        return candidate
    return tried[0]


def _starting(name: str, question: Question) -> dict[str, str]:
    """How many items and rows a list asks for where the page has not said: no more than there are bins."""
    if name not in REGISTRY or not question.domain.declared:
        return {}
    default = mechanism(name, {"epsilon": "1"}).parameters()
    sizes = {part: default[part] for part in ("k", "kbar") if default.get(part, "").isdigit()}
    return {part: str(question.bins) for part, size in sizes.items() if int(size) > question.bins}


def _declared_default(session: Session | Teaching) -> Question:
    """Ten bins that no data were asked for, to have something to look at; the page invites to declare others."""
    for column in session.columns:
        if column.kind == "number" and column.name != session.unit.of:
            return Question.of(Domain.integers(0, 9, column=column.name, underflow=True, overflow=True))
    for column in session.columns:
        if column.name != session.unit.of:
            return Question.of(Domain.categories(["a", "b"], column=column.name, other=True))
    raise ParameterError.of("no columns", "a workbench needs a column to count by", "give it a question")


def desk_of(session: object, questions: Sequence[object], **options: Any) -> Desk:
    """The desk to stand on: a new one for a session, or the one of another component."""
    if isinstance(session, Session | Teaching):
        return Desk(session, questions, **options)
    board = getattr(session, "board", session)
    if isinstance(board, Desk) and not questions and not options:
        return board
    raise ParameterError.of(
        kind_of(session),
        "a component stands on a session, or on another component's board",
        "write dv.Workbench(session)",
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


guard(vars())
