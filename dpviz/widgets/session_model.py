"""The session model: what every component of one session shares, and the one place that answers the page.

A page may forge any trait and send any message. So nothing here is read from traits, and a message is one of a few
named asks with typed arguments; everything else is refused. Prices are computed anew for every release: what the
button said is compared, never believed.

Everything here happens on the writer of the session model's dispatcher, one thing after the other, but for plans, which
are computed on a thread of their own, and cancelling, which waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpviz.boundary import as_given, protect_module
from dpviz.charts import columns
from dpviz.errors import Forbidden, ParameterError, SessionBusy
from dpviz.exact import rational, text, typed
from dpviz.mechanisms import REGISTRY, mechanism, named
from dpviz.model.domain import Domain
from dpviz.model.error import BETAS
from dpviz.model.goals import Goal
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import Question
from dpviz.model.words import capital
from dpviz.planning.advice import first_mechanisms, known_goal, opening_words
from dpviz.planning.sheet import PlanSheet
from dpviz.session.accountant import SYMBOLS
from dpviz.session.choosing import opening_delta, opening_epsilon
from dpviz.session.custody import Custody
from dpviz.session.plan import Plan
from dpviz.session.running import Running
from dpviz.widgets import messages, state
from dpviz.widgets.advising import Advising
from dpviz.widgets.dispatcher import Dispatcher, Request
from dpviz.widgets.drawing import Drawn, further
from dpviz.widgets.lesson import Series, affordable
from dpviz.widgets.offered import Offered, order_of, plan_of, unlimited, within
from dpviz.widgets.order import Order
from dpviz.widgets.saving import Saving
from dpviz.widgets.view import Program, json_text
from dpviz.widgets.watching import PROGRESS_EVERY, Follower

if TYPE_CHECKING:
    from dpviz.model.release import Release

HANGING = ("pending", "elsewhere")
"""The states, in the words of a page, of a draw that may yet report back."""

AT_HAND = 3
"""The most stored releases that are at hand for questions about them."""

Body = dict[str, Any]


class SessionModel(Follower):
    """One session, the questions on offer, and the plan and the release on show."""

    def __init__(
        self,
        session: Custody,
        questions: Sequence[object] = (),
        mechanism: Mechanism | None = None,
        goal: str | None = None,
    ) -> None:
        self.session = session
        self._goal = None if goal is None else known_goal(goal)
        self._lately: dict[int, Release] = {}
        self._saving = Saving()
        self._drawn = Drawn()
        self._series = Series()
        self._offered = Offered(session.charter.unit)
        self._advising = Advising(session)
        for asked in [*questions, *state.known_questions(session)]:
            self._offered.add(Question.of(asked))
        known = self._offered.questions
        first, opening = _first(session, known, mechanism, self._goal, given=bool(questions))
        self._plan = plan_of(session, first, opening)
        self._sheet = self._plan.sheet.to_json()
        if first not in known:
            self._offered.suggest(first)
            self._sheet["suggested"] = True
        if mechanism is None and (opened := _opened(session, first, opening, self._goal)):
            self._sheet["opening"] = opened
        self._result: Body | None = None
        self._shown_release: Release | None = None
        self._result_text = ""
        self._buffers: Body = {}
        self._views: dict[str, Program] = {}
        dispatcher = Dispatcher(
            messages.ASKS if session.charter.seed is None else {**messages.ASKS, **messages.LESSONS},
            "session.releases says what was charged",
            quick={
                "release": self._on_release,
                "status": self._on_status,
                "show": self._on_show,
                "read": self._on_read,
                "misses": self._on_misses,
                "forget": self._on_forget,
            },
            slow={
                "plan": self._on_plan,
                "ask": self._on_ask,
                "after": self._on_after,
                "limit": self._on_limit,
                "advice": self._on_advice,
                "table": self._on_table,
                "quantiles": self._on_quantiles,
                "draw": self._on_draw,
                "lesson": self._on_lesson,
            },
            at_once={"cancel": self._on_cancel},
            after={"advice": "plan"},
        )
        super().__init__(session.log, dispatcher)
        self._show_latest()
        session.heed_waits()
        session.add_listener(self._on_release_elsewhere)

    @property
    def title(self) -> str:
        return self.session.charter.dataset

    def program_of(self, name: str) -> str:
        """A lesson shows its draws beside the truth; the pages of a session do not carry what draws that."""
        return name if self.session.charter.seed is None else "lesson"

    @property
    def plan(self) -> Plan:
        """The plan on show."""
        return self._plan

    # ------------------------------------------------------------ mirrors

    def join(self, view: Any) -> None:
        super().join(view)
        self._dispatcher.soon(self._show)  # what has changed since its traits were read

    def mirrors(self, known: Body | None = None) -> dict[str, Any]:
        """The values of the traits: sheet, state and result, as JSON texts, and a sign of life. All public.

        A view comes before the result that it draws, and so do the bytes of its long columns.
        """
        return {
            "views": dict(self._views),
            "sheet": json_text(self._sheet),
            "state": json_text(self.state() if known is None else known),
            "buffers": self._buffers,
            "drawn": json_text(self._drawn.of(self._shown_release)),
            "result": self._result_text,
            "lesson": json_text(self._series.body),
            "pulse": self._pulse.to_json(),
        }

    def _read(self) -> Body:
        return state.session_state(self.session, self._offered.questions, self._offered.bins_json())

    def _elsewhere(self) -> Running | None:
        """The draw in this session beside this session model: from another session model, a sub-session view or a
        cell."""
        running = self.session.running
        return None if self._order is not None and running is self._order.running else running

    def _show_latest(self) -> None:
        """Where nothing is on show, show the newest release: looking at it again is free."""
        latest = None if self._result is not None else self.session.releases.latest
        if latest is not None:
            self._offered.add(latest.question)
            self._put_on_show(latest)

    def _put_on_show(self, release: Release) -> None:
        """Let the page show this release, with the bundle that draws its kind where one is registered."""
        from dpviz.widgets import closing, combining

        drawn = closing.result_of(self.session, release, self._kept)
        result = {**drawn, "together": combining.beside(self.session, release, self._kept)}
        self._shown_release = release
        self._result, self._views = result, {**self._views, **Program.drawing(result["kind"])}
        self._result_text = json_text(columns.named(result))
        named = result.get("buffers")
        self._buffers = {} if named is None else {"id": named["id"], "parts": named["parts"]}

    def _on_release_elsewhere(self, running: Running) -> None:
        """A release of this session ended, in a cell or on another session model: the budget has moved."""

        def show() -> None:
            if self._order is None or running is not self._order.running:
                self._show_latest()
                self._show()

        self._dispatcher.soon(show)

    # ------------------------------------------------------------ following the ledger

    def _refresh(self) -> None:
        self._show_latest()
        self._show(self.state())

    def has_news(self) -> bool:
        """Whether a draw of another kernel was lost, or one has begun beside this session model that has no charge
        yet."""
        shown = self._states.body
        if self._behind or not shown:
            return self._behind
        if self._began_elsewhere(shown):
            return True
        hanging = {entry["number"]: entry for entry in shown["entries"] if entry["status"] in HANGING}
        if not hanging:
            return False
        pending = (state.entry_json(entry) for entry in self.session.hanging())
        return any(hanging.get(entry["number"], entry)["status"] != entry["status"] for entry in pending)

    def _follow_elsewhere(self, running: Running) -> None:
        """On the worker's thread: how a release goes that was started beside this session model. Its end moves the
        budget."""
        if not running.done and self._due(running, PROGRESS_EVERY):
            self._dispatcher.soon(lambda: None if running.done else self.tell("progress", state.running_json(running)))

    # ------------------------------------------------------------ the dispatcher

    def _on_plan(self, args: Body) -> Callable[[], Body]:
        question, _, plan = self._planned(args)
        if args.get("among"):
            plan = plan.among(messages.count(args["among"], "look-ups"))
        sheet = plan.sheet.to_json()
        suggested = self._offered.suggests(args["question"])
        if suggested:
            sheet["suggested"] = True

        def apply() -> Body:
            self._plan, self._sheet = plan, sheet
            if not suggested:
                self._offered.add(unlimited(question))
            self._show()
            return {"sheet": sheet}

        return apply

    def _on_limit(self, args: Body) -> Callable[[], Body]:
        """The curve of the limit, and the units over each, by a released profile. Asked once a reader opens it."""
        from dpviz.widgets import combining

        body = combining.limit_curve_of(self.session, self._planned(args)[2], self._kept)
        return lambda: body

    def _on_after(self, args: Body) -> Callable[[], Body]:
        """The error of one bin together with an answer that is there. No sheet waits for it: the page asks once
        its slider rests."""
        from dpviz.widgets import combining

        body = combining.planned(self.session, self._planned(args)[2], self._kept)
        return lambda: body

    def _on_advice(self, args: Body) -> Callable[[], Body]:
        """The advice beside the plan on show. The page asks once that plan has stayed for a moment."""
        question, _, plan = self._planned(args)
        goal = known_goal(args["goal"]) if args["goal"] else self._goal
        body = self._advising.of(question, plan, goal, rows=args["rows"])
        return lambda: body

    def _planned(self, args: Body) -> tuple[Question, Mechanism, Plan]:
        """The question and mechanism that a page asks for, and its plan in the way that it chose, where it did."""
        question, made = self._asked(args)
        return question, made, plan_of(self.session, question, made, args.get("way", ""))

    def _asked(self, args: Body) -> tuple[Question, Mechanism]:
        question, name = self._offered.asked(args["question"]), args["mechanism"]
        kind = named(name)
        said, others = kind.fitted(question) | args["parameters"], kind.in_place_of("epsilon")
        question = within(question, args.get("max_bins", ""))
        if any(said.get(part) for part in others):  # the slider shows their total; moved, the total is what is asked
            given = mechanism(name, {**said, "epsilon": ""})
            total = state.price_of(plan_of(self.session, question, given))["epsilon"]
            if total == rational(said["epsilon"], "epsilon"):
                return question, given
            said |= dict.fromkeys(others, "")
        return question, mechanism(name, said)

    def _on_release(self, request: Request) -> Body | None:
        args = request.args
        self._check_declared(args)
        question, made, plan = self._planned(args)
        if plan.way is not None and not args.get("way"):
            raise Forbidden.sent("an order for parts names the way in which its price is shared out", "none")
        said = {name: typed(value, name) for name, value in args["price"].items()}
        real = state.price_of(plan)
        if said != real:
            name = next(name for name in real if said.get(name) != real[name])
            shown, costs = text(said[name]), text(real[name])
            raise Forbidden(
                f"the button said {SYMBOLS[name]} {shown}, but this release costs {SYMBOLS[name]} {costs}; "
                "nothing was charged; plan again, and press the button that shows this price",
                value=shown,
                rule="a release costs what its button said",
                next_step="plan again, and press the button that shows this price",
            )
        if self._order is not None and not self._order.running.done:
            raise SessionBusy(
                "a release is running; nothing was charged; wait for it, or cancel it",
                value="a second release",
                rule="a session draws one release at a time",
                next_step="wait for it, or cancel it",
            )
        self._offered.add(unlimited(question))
        asked, parts = order_of(plan, question)
        self._start(request, self.session.release_async(asked, made, **parts, key=args["key"]))
        return None

    def _check_declared(self, args: Body) -> None:
        """A suggestion is looked at, and nothing is drawn for it before somebody declares its bins."""
        if self._offered.suggests(args["question"]):
            raise Forbidden.of("a suggestion", "nobody declared the bins of this question", "declare them")

    def _show_wait(self, order: Order) -> None:
        self.tell("progress", state.running_json(order.running))  # what it waits for was said before it had a name
        super()._show_wait(order)

    def _follow(self, order: Order) -> None:
        """The news of a release: how far it is, or how it ended."""
        if order.over:
            return
        if not order.running.done:
            progress = state.running_json(order.running)
            if order.named:
                self.tell("progress", progress)
            return
        release, outcome = order.end()
        if release is not None:
            try:
                self._put_on_show(release)
            except Exception:  # it is paid and stored, and can be shown by its number
                outcome = {**outcome, "event": "failed", "error": messages.error_json(order.unshown())}
        if not order.refused:
            self._outcomes.append(outcome)
        shown = self._last_state()
        try:
            self._show()
        finally:
            self._end(order, outcome, shown)

    def _end(self, order: Order, outcome: Body, shown: Body) -> None:
        """Say how it ended: in the reply where that was not sent, else as news of the token."""
        released = outcome["event"] == "released"
        if not order.named and released:
            order.request.reply({"result": self._result, "state": shown})
        elif order.refused:
            order.refuse()
        else:
            if not order.named:
                order.name()
            more = {"result": self._result} if released else {"error": outcome["error"]}
            self.tell(outcome["event"], {name: outcome[name] for name in ("token", "number")} | more | {"state": shown})

    def _on_cancel(self, args: Body) -> Body:
        return self._cancel(args["token"], "no release with this token is running")

    def _on_status(self, request: Request) -> Body:
        self._look()
        self._show_latest()
        known = self.state()
        self._show(known)
        return {"state": {**known, "asof": self._pulse.asof}}

    def _on_show(self, request: Request) -> Body:
        release = self._stored(request.args["number"])
        self._offered.add(release.question)
        self._put_on_show(release)
        self._show()
        return {"result": self._result}

    def _on_read(self, request: Request) -> Body:
        beta = self._level(request.args["beta"])
        args = request.args
        from dpviz.widgets.reading import read_points

        return {"values": read_points(self._stored(args["number"]), args["points"], beta, args["reader"])}

    def _on_ask(self, args: Body) -> Callable[[], Body]:
        beta = self._level(args["beta"])
        release = self._paid(args["number"])
        beside = self._paid(args["beside"]) if args["beside"] else None
        from dpviz.widgets import asking

        body = asking.answer(release, beside, args, beta)
        return lambda: body

    def _on_table(self, args: Body) -> Callable[[], Body]:
        body = self._saving.piece(self._paid(args["number"]), args["start"])
        return lambda: body

    def _on_quantiles(self, args: Body) -> Callable[[], Body]:
        beta, release = self._level(args["beta"]), self._paid(args["number"])
        from dpviz.widgets import quantile_lines

        body = quantile_lines.answer(release, beta)
        return lambda: body

    def _on_draw(self, args: Body) -> Callable[[], Body]:
        """Further records, free where the answer allows them. Every view shows what was drawn last."""
        release = self._paid(args["number"])
        draws = further(release, messages.count(args["count"], "the number of records"))

        def apply() -> Body:
            body = self._drawn.add(release, draws)
            self.show({"drawn": json_text(self._drawn.of(self._shown_release))})
            return {"drawn": body}

        return apply

    def _on_lesson(self, args: Body) -> Callable[[], Body]:
        """Seeded draws beside the true counts. Only a session on public data is ever asked for them."""
        self._check_declared(args)
        question, made, plan = self._planned(args)
        times, beta = messages.count(args["times"], "the number of draws"), self._level(args["beta"])
        affordable(question.bins if question.domain.declared else 1, times)
        asked, parts = order_of(plan, question)
        draws = self.session.seeded(asked, made, times, **parts)
        public = self.session.public(question) if draws.truth is None else None

        def apply() -> Body:
            self._offered.add(unlimited(question))
            self._series.add(draws, public, beta)
            self._put_on_show(draws[-1])
            self._show()
            return {"lesson": self._series.body}

        return apply

    def _on_misses(self, request: Request) -> Body:
        self._series.at(self._level(request.args["beta"]))
        return self._show_lesson()

    def _on_forget(self, request: Request) -> Body:
        self._series.forget()
        return self._show_lesson()

    def _show_lesson(self) -> Body:
        body = self._series.body
        self.show({"lesson": json_text(body)})
        return {"lesson": body}

    def _level(self, said: str) -> Fraction:
        """How often an interval may fail, where a plan sheet has that level."""
        beta = typed(said, "beta")
        if beta not in BETAS:
            raise Forbidden.sent("beta must be one of the sheet's", text(beta))
        return beta

    def _paid(self, number: str) -> Release:
        """The answer that a page asks about: the draw on show where it has no number, as in teaching."""
        shown = self._shown_release
        if number == "":
            if shown is None or shown.number is not None:
                raise Forbidden.sent("a release is asked by its number", number)
            return shown
        return self._kept(self._number(number))

    def _kept(self, number: int) -> Release:
        """A stored release. The last few are at hand, for reading a long one takes longer than answering from it."""
        found = self._lately.get(number)
        if found is None:
            found = self.session.releases[number]
            self._lately = {**dict([*self._lately.items()][1 - AT_HAND :]), number: found}
        return found

    def _number(self, number: str) -> int:
        if not number.isascii() or not number.isdigit() or len(number) > 18:
            raise Forbidden.sent("a release is shown by its number", number)
        return int(number)

    def _stored(self, number: str) -> Release:
        """The release that a page names by its number."""
        return self.session.releases[self._number(number)]

    @property
    def sheet(self) -> PlanSheet:
        return self._plan.sheet


def _opening(session: Custody) -> Fraction:
    """Where the slider stands at first."""
    return opening_epsilon(session.known()[0])


def _first(
    session: Custody, known: Sequence[Question], mechanism: Mechanism | None, goal: Goal | None, *, given: bool
) -> tuple[Question, Mechanism]:
    """The question and mechanism to open with: the first question that is known and that something answers at its
    defaults. One that was given is the one, whatever answers it."""
    if mechanism is not None or (given and known):
        first = next(iter(known), None) or _declared_default(session)
        return first, mechanism or _fitting(session, first, goal) or _usual(session)
    for question in known:
        fitting = _fitting(session, question, goal)
        if fitting is not None:
            return question, fitting
    first = _declared_default(session)
    return first, _fitting(session, first, goal) or _usual(session)


def _usual(session: Custody) -> Mechanism:
    """The first mechanism that offers itself, of which a refusal says what it needs."""
    offered = next(REGISTRY.by_choice())
    return offered.at_price(_opening(session), Fraction(1, 10**6))


def _fitting(session: Custody, question: Question, goal: Goal | None) -> Mechanism | None:
    """The mechanism to open with: the first of the advice that can answer, and then any; where the budget has no δ one
    that costs none. None where none can."""
    unpaid: Mechanism | None = None
    delta = _delta(session)
    with suppress(ParameterError):
        asked, unit = replace(question, by=None).resolved(session.charter.unit)
        for candidate in first_mechanisms(asked, unit, _opening(session), delta, goal):
            with suppress(ParameterError):
                if plan_of(session, question, candidate).affordable or delta:
                    return candidate
                unpaid = unpaid or candidate
    return unpaid


def _delta(session: Custody) -> Fraction:
    """The δ of a mechanism that needs one."""
    return opening_delta(session.known()[0])


def _opened(session: Custody, question: Question, opening: Mechanism, goal: Goal | None) -> str:
    """Why a question for counts in declared bins opens on another mechanism than is usual; empty where it does not, or
    where a goal was given."""
    usual = _usual(session)
    if goal or type(opening) is type(usual) or not question.domain.declared or not question.aggregate.counts:
        return ""
    try:
        plan_of(session, question, usual)
        asked, unit = replace(question, by=None).resolved(session.charter.unit)
        return opening_words(opening, asked, unit, _opening(session), _delta(session))
    except ParameterError as refused:
        why = f"{capital(refused.rule)}, and this question has {question.domain.size_text}."
        return f"{why} So the plan opens on {opening.name}, which can answer it."


def _declared_default(session: Custody) -> Question:
    """Ten bins that no data were asked for, to have something to look at; the page invites to declare others."""
    columns = state.countable(session.charter)
    numbers = [column.name for column in columns if column.kind == "number"]
    numbers += [column.name for column in columns if column.untyped]
    if numbers:
        return Question.of(Domain.integers(0, 9, column=numbers[0], underflow=True, overflow=True))
    if texts := [column.name for column in columns if column.kind == "text"]:
        return Question.of(Domain.categories(["a", "b"], column=texts[0], other=True))
    if columns:
        years = Domain.times("2016", "2026", by="year", column=columns[0].name, underflow=True, overflow=True)
        return Question.of(years)
    raise ParameterError.of("no columns", "a workbench needs a column to count by", "give it a question")


def session_model_of(owner: object, questions: Sequence[object], **options: Any) -> SessionModel:
    """The session model of a component: a new one for a session, or that of another component."""
    if isinstance(owner, Custody):
        return SessionModel(owner, questions, **options)
    session_model = getattr(owner, "session_model", owner)
    if isinstance(session_model, SessionModel) and not questions and not options:
        return session_model
    raise ParameterError.of(
        as_given(owner),
        "a component stands on a session, or on another component's session_model",
        "write dv.Workbench(session)",
    )


protect_module(vars())
