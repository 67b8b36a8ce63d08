"""A sub-session: one charge when it is opened, then many questions paid from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, cast

from dpviz.boundary import plain_arguments, protect_module
from dpviz.errors import DpvizError, LedgerError, LedgerFormat, ParameterError, ReleaseFormat
from dpviz.mechanisms import opening
from dpviz.model.answers import Answer
from dpviz.model.identity import release_key
from dpviz.model.mechanism import Bound
from dpviz.model.opening import Left, Opening, OpeningRow, Use
from dpviz.model.question import Question, canonical
from dpviz.model.source import Source
from dpviz.names import missing
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit
from dpviz.session.accountant import CONVERSIONS, Conversion
from dpviz.session.binding import check_support
from dpviz.session.charge import checked_key, checked_retry, price_json
from dpviz.session.interrupts import nothing_charged
from dpviz.session.ledger import Entry, Ledger
from dpviz.session.ledger import UseRecord as Record
from dpviz.session.orders import AskOrder, check_digest, checked_order
from dpviz.session.releases import Unread
from dpviz.session.runner import PaymentOutcome, PreparedDraw, ReleaseRunner, read_back
from dpviz.session.running import Errand, Running
from dpviz.session.saved import UNREADABLE, check_readable, reason, unreadable
from dpviz.session.stale import before_a_charge, stale, unread
from dpviz.session.sub_plan import AskPlan

if TYPE_CHECKING:
    from dpviz.model.release import Release


class SubSession:
    """Answer questions that are paid for already: each uses up some of the amounts bought at the opening.

    Parameters
    ----------
    entry : Entry
        The ledger entry that paid.
    source : Source
        The data behind a narrow interface.
    unit : Unit
        The privacy unit.
    ledger : Ledger
        The ledger that keeps questions and answers.
    draws : ReleaseRunner
        The runner of the session's draws.

    Raises
    ------
    LedgerFormat
        If this dpviz cannot read the entry.

    Notes
    -----
    `session.open(...)` makes it and charges the whole price; asking costs nothing more. The parameters, which are fixed
    at the opening, decide what one question takes and what is left; their counts are members here. Each question may
    depend on all answers before it.

    A question runs in one order: check everything public, reserve the most that the answer may use, durably, count,
    draw, record the answer and give back the rest. A crash or a cancel keeps all that was reserved; it never gives a
    free or a second answer. A refusal changes nothing, and depends on earlier answers alone.
    """

    def __init__(self, entry: Entry, source: Source, unit: Unit, ledger: Ledger, draws: ReleaseRunner) -> None:
        self._number = entry.number
        self._source, self._unit, self._ledger, self._runner = source, unit, ledger, draws
        self._read: dict[int, Release] = {}  # answers by use, for they never change
        self._used: dict[int, Use] = {}  # parameters and questions of uses, likewise
        self._questions: dict[int, Question] = {}
        try:
            opened = entry.body["mechanism"]
            self._parameters = opening(opened["name"], opened["parameters"])
            price, paid = self.price, entry.body["price"]
            same = any(_same_price(price_json(price, rule), paid) for rule in CONVERSIONS)
        except UNREADABLE as refused:
            raise _unopenable(entry, reason(refused)) from None
        if not same:
            raise _unopenable(
                entry,
                "a sub-session keeps the step and the deltas it was opened with, and its price; this dpviz would take "
                "others",
            )

    # ------------------------------------------------------------ what anybody may know

    @property
    def parameters(self) -> Opening:
        """The parameters that the sub-session was opened with."""
        return self._parameters

    @property
    def number(self) -> int:
        """The ledger entry that paid for it."""
        return self._number

    @property
    def unit(self) -> Unit:
        """The privacy unit."""
        return self._unit

    @property
    def dataset(self) -> str:
        """The declared name of the data."""
        return self._source.name

    @property
    def ledger(self) -> Ledger:
        """The ledger that keeps questions and answers."""
        return self._ledger

    @property
    def log(self) -> Ledger:
        """The ledger, which changes with every charge and question."""
        return self._ledger

    @property
    def price(self) -> Guarantee:
        """The price of all answers together to one unit."""
        return self._parameters.price(self._unit)

    @property
    def left(self) -> Left:
        """The remaining amounts. An amount that is being drawn counts as used until the outcome is known."""
        return self._parameters.left(self._ledger.sub_account(self._number))

    def __getattr__(self, name: str) -> Any:
        """The amounts that this kind of sub-session counts."""
        if name.startswith("_") or name not in self._parameters.left(self._parameters.opened()).shown:
            raise missing("SubSession", name, object.__dir__(self))
        return getattr(self.left, name)

    @property
    def closed(self) -> bool:
        """Whether somebody closed the sub-session. One of which nothing is left is not closed, and as good as."""
        return self._ledger.find_use(self._number, self._closing) is not None

    @property
    def running(self) -> Running | None:
        """The draw on its way in this session, if there is one."""
        return self._runner.running

    @property
    def answers(self) -> list[Release]:
        """The answers so far, in the order of asking. Looking is free.

        Answers that this dpviz cannot read are left out with a warning; `transcript` has a row for each.
        """
        found = []
        for use in self._uses():
            if use.status != "done":
                continue
            try:
                found.append(self._answer(use))
            except ReleaseFormat as refused:
                warnings.warn(str(refused), Unread, stacklevel=2)
        return found

    def answer(self, number: int) -> Release:
        """Return the answer to one question. Looking is free.

        Parameters
        ----------
        number : int
            The number of the question in the transcript.

        Returns
        -------
        Release
            The stored answer.

        Raises
        ------
        ParameterError
            If no question of that number was answered.
        ReleaseFormat
            If this dpviz cannot read the answer.
        """
        return self._answer(self._ledger.use(self._number, number))

    @property
    def transcript(self) -> list[Any]:
        """Every question so far and what came of it, in the order of asking: rows as its parameters make them."""
        return [self._row(use) for use in self._uses()]

    def _uses(self) -> list[Record]:
        return [use for use in self._ledger.uses(self._number) if use.key != self._closing]

    def _answer(self, use: Record) -> Release:
        if use.number not in self._read:
            content = self._ledger.use_answer(self._number, use.number)
            paid = PaymentOutcome(self._number, use.number)
            self._read[use.number] = read_back(content, paid, self._ledger, self._unit)
        return self._read[use.number]

    def _use(self, record: Record) -> Use:
        if record.number not in self._used:
            parameters = record.body["mechanism"]["parameters"]
            self._used[record.number] = self._parameters.use_from_parameters(parameters)
        return self._used[record.number]

    def _question(self, record: Record) -> Question:
        if record.number not in self._questions:
            self._questions[record.number] = Question.from_json(record.body["question"])
        return self._questions[record.number]

    def _row(self, record: Record) -> OpeningRow:
        body, unread = record.body, ""
        question: Question | None = None
        use: Use | None = None
        release: Release | None = None
        try:
            use = self._use(record)
            question = self._question(record)
            release = self._answer(record) if record.status == "done" else None
        except UNREADABLE as refused:
            named = isinstance(refused, ReleaseFormat)
            unread = str(refused if named else unreadable(self._number, refused, record.number))
        row = OpeningRow(
            number=record.number,
            text=str(body.get("question_text", "")),
            question=question,
            key=body["user_key"],
            status=record.status,
            mine=record.mine,
            unreadable=unread,
        )
        return self._parameters.row(row, use, release)

    def __repr__(self) -> str:
        return f"<SubSession, entry {self._number}, on {self.dataset}: {self._left()}; {self.price.sentence}>"

    def _left(self) -> str:
        """The remaining balance, for a sentence. It never raises: a ledger that cannot be read is said to be so."""
        try:
            known = self._ledger.known_sub_account(self._number)
        except LedgerError as error:
            return unread(error)
        return f"{self._parameters.left(known.totals).of_paid} left{stale(known.asof)}"

    def __reduce__(self) -> Any:
        raise LedgerError(
            "a sub-session holds private data and is not stored or sent anywhere; open it again from its session",
            value="a SubSession",
            rule="a sub-session holds private data and is not stored or sent anywhere",
            next_step="open it again from its session",
        )

    # ------------------------------------------------------------ plan: free

    @plain_arguments
    def plan(self, question: object, *terms: Any, where: Mapping[str, object] | None = None, **named: Any) -> AskPlan:
        """Plan a question: what it may use, and how wrong its answer may be. Free, and blind to the data.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to count, a question, or the name of a column for its undeclared keys.
        *terms, **named
            As for `ask`.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `dv.Between`.

        Returns
        -------
        AskPlan
            The most that the answer may use, its error, and the remaining amounts.

        Raises
        ------
        ParameterError
            If the question or its terms are refused.
        """
        use, bound = self._bind(question, where, terms, named)
        known = self._ledger.known_sub_account(self._number)
        return AskPlan(bound, use, self._number, known.totals, self._parameters.left(known.totals), known.asof)

    def _bind(
        self,
        question: object,
        where: Mapping[str, object] | None,
        terms: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> tuple[Use, Bound]:
        """Every check that can be made from public things alone."""
        use = self._parameters.use(*terms, **named)
        bound = use.bind(self._asked(question, where), self._unit)
        check_support(self._source, bound)
        check_readable(bound)
        return cast("Use", bound.mechanism), bound  # the question may say more of the use, as the line of a list

    def _asked(self, question: object, where: Mapping[str, object] | None) -> Question:
        """The question, whose limits are those that the sub-session was priced with."""
        asked, unit = Question.of(question, where).resolved(self._unit)
        if asked.aggregate.profiled is not None:
            raise ParameterError.of(
                asked.text,
                "a sub-session answers within the limits of the unit, and none applies to a profile of users",
                "release the profile by itself",
            )
        if unit != self._unit:
            raise ParameterError.of(
                unit.limits.besides(self._unit.limits).text,
                f"an open sub-session keeps the limits that its price was made for: {self._unit.limits.text}",
                "ask without limits, or release the question by itself, with limits=",
            )
        return asked

    # ------------------------------------------------------------ ask: paid from what was charged

    @plain_arguments
    def ask(
        self,
        question: object,
        *terms: Any,
        where: Mapping[str, object] | None = None,
        key: str | None = None,
        retry: bool = False,
        **named: Any,
    ) -> Release:
        """Ask one question, and use what comes back. The same call again returns the stored answer, free.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to count, a question, or the name of a column for its undeclared keys.
        *terms, **named
            How it is asked, by position or by name, such as ``k=10``; ``parameters.use`` lists the terms.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `dv.Between`.
        key : str, optional
            Any text: a fresh draw of the same question, which uses up some more.
        retry : bool, default False
            Whether to draw a lost or cancelled question again, from the remaining amounts.

        Returns
        -------
        Release
            The answer, protected together with all other answers of the sub-session.

        Raises
        ------
        ParameterError
            If the question or its terms are refused. Nothing is used.
        BudgetExceeded
            If the most that it may use is not left. Nothing is used.
        ReleaseLost
            If this question was reserved and its draw lost. Nothing more is used.
        SessionBusy
            If another draw is running. Nothing is used.
        EngineGone
            If the engine no longer answers. Nothing is used.
        ReleaseCancelled, ReleaseFailed, LedgerError
            If the draw ends after its reservation. The error says what stays used.
        ReleaseInterrupted
            If Ctrl-C comes meanwhile; the error says what stays used.
        """
        with nothing_charged():
            bound, payment = self._order(question, where, terms, named, key, retry)
        return self._runner.result(bound, bound.modes()[0], payment)

    @plain_arguments
    def ask_async(
        self,
        question: object,
        *terms: Any,
        where: Mapping[str, object] | None = None,
        key: str | None = None,
        retry: bool = False,
        watch: Callable[[Running], None] | None = None,
        **named: Any,
    ) -> Running:
        """Start to ask and return at once.

        Parameters
        ----------
        question, *terms, where, key, retry, **named
            As for `ask`.
        watch : callable, optional
            A function of the handle, called whenever its progress changes.

        Returns
        -------
        Running
            A handle: `await` it, watch its `progress`, or `cancel()` it.

        Raises
        ------
        ParameterError
            If the question or its terms are refused. Nothing is used.
        SessionBusy
            If another draw is running. Nothing is used.
        """
        bound, payment = self._order(question, where, terms, named, key, retry)
        return self._runner.start(bound, bound.modes()[0], payment, watch)

    def _order(
        self,
        question: object,
        where: Mapping[str, object] | None,
        terms: tuple[Any, ...],
        named: Mapping[str, Any],
        key: str | None,
        retry: bool,
    ) -> tuple[Bound, Reservation]:
        """The draw and its payment: every check of a question that needs no ledger."""
        use, bound = self._bind(question, where, terms, named)
        return bound, Reservation(self._ledger, self._number, use, bound, checked_key(key), retry)

    def prepare(self, order: AskOrder, pace: Callable[[], object] | None = None) -> PreparedDraw:
        """Check a question that another process ordered, without using anything.

        Parameters
        ----------
        order : AskOrder
            The question, as the other process read and checked it.
        pace : callable, optional
            Called between a draw and the record of its outcome, as by `Session.prepare`.

        Returns
        -------
        PreparedDraw
            The question, ready to be asked.

        Raises
        ------
        ParameterError
            If the question is refused here, or would be stored under another digest.
        """
        checked_order(order, AskOrder, pace)
        asked = self._asked(order.question, None)
        bound = self._use_of(order).bind(asked, self._unit)
        check_support(self._source, bound)
        check_readable(bound)
        use = cast("Use", bound.mechanism)
        payment = Reservation(self._ledger, self._number, use, bound, checked_key(order.user_key), order.retry)
        check_digest(order, payment.key)
        return PreparedDraw(ReleaseRunner(self._source, pace), bound, bound.modes()[0], payment)

    def _use_of(self, order: AskOrder) -> Use:
        """The use that an order names. Raises a DpvizError where this sub-session has none such."""
        refused: DpvizError | None = None
        try:
            return self._parameters.use_from_parameters(dict(order.use))
        except DpvizError as error:
            refused = error
        except UNREADABLE:
            pass
        raise refused or ParameterError.of(
            "another use", "a question is asked with the terms of its sub-session", "see its parameters"
        )

    def add_listener(self, listener: Callable[[Running], None]) -> None:
        """Call a bound method whenever a draw of this session ends, for as long as its object lives.

        Parameters
        ----------
        listener : bound method
            A method that takes the handle (`Running`) of the draw. The session keeps no strong reference to its object.
        """
        self._runner.add_listener(listener)

    def cancel(self) -> None:
        """Cancel the draw on its way, if there is one. Everything it reserved stays used."""
        running = self.running
        if running is not None:
            running.cancel()

    # ------------------------------------------------------------ close

    def close(self) -> None:
        """Close the sub-session: no further question is answered, and nothing is refunded. Answers stay readable."""
        if self.closed:
            return
        body = {"question_text": "closed", "price": {"text": "all that was left"}}
        errand: Errand[None] = Errand(
            lambda _: (f"the sub-session of entry {self._number} is closed", self._number),
            f"whether the sub-session of entry {self._number} is closed is not known yet",
        )

        def admit(state: Mapping[str, str]) -> dict[str, str]:
            errand.charging()
            return dict.fromkeys(state, "0")

        def work() -> None:
            use = self._ledger.reserve(self._number, self._closing, body, admit, retry=True)
            if use.status != "done":
                self._ledger.settle(self._number, use.number, b"closed", dict)

        errand.run(work)

    @property
    def _closing(self) -> str:
        """The key under which a sub-session is closed, once."""
        return sha256(canonical({"closes": self._number})).hexdigest()


class Reservation:
    """The payment for one question: a use of an open entry, reserved before and settled after."""

    def __init__(self, ledger: Ledger, number: int, use: Use, bound: Bound, key: str | None, retry: bool) -> None:
        self.key = release_key(bound.question, bound.unit, use, bound.modes()[0], key)
        self.value = use.value
        self.spent = f"{use.reserved} of entry {number} are spent"
        self.user_key = key
        self.ledger, self._number, self._use, self._bound = ledger, number, use, bound
        self._retry = checked_retry(retry)

    def answered(self) -> bool:
        with before_a_charge():
            found = self.ledger.find_use(self._number, self.key)
        return found is not None and found.status == "done"

    def pay(self, running: Running) -> PaymentOutcome:
        def admit(state: Mapping[str, str]) -> dict[str, str]:
            after = self._use.reserve(state)
            running.charging()
            return after

        use = self.ledger.reserve(
            self._number,
            self.key,
            self._body(),
            admit,
            retry=self._retry,
            wanted=running.wanted,
        )
        if use.status != "done":
            return PaymentOutcome(self._number, use.number)
        with before_a_charge():
            return PaymentOutcome(self._number, use.number, self.ledger.use_answer(self._number, use.number))

    def keeping(self, paid: PaymentOutcome, answer: Answer) -> Callable[[bytes], object]:
        def keep(content: bytes) -> object:
            return self.ledger.settle(
                self._number, _use(paid), content, lambda state: self._use.give_back(state, answer)
            )

        return keep

    def give_up(self, paid: PaymentOutcome, outcome: Literal["cancelled", "failed"]) -> None:
        self.ledger.fail_use(self._number, _use(paid), outcome)

    def renew(self, paid: PaymentOutcome) -> None:
        self.ledger.renew(self._number, _use(paid))

    @property
    def order(self) -> AskOrder:
        """The same question as a message to whoever keeps the data."""
        return AskOrder(
            self._number, self._bound.question, self._use.parameters(), self.user_key, self._retry, self.key
        )

    def _body(self) -> dict[str, Any]:
        """The body that the ledger writes beside the reservation: all public."""
        bound, use = self._bound, self._use
        return {
            "question": bound.question.to_json(),
            "question_text": bound.question.text,
            "question_id": bound.question.id,
            "mechanism": {"name": use.name, "parameters": use.parameters()},
            "user_key": self.user_key,
            "price": {"text": use.reserved},
        }


def _same_price(today: Mapping[str, Any], paid: Mapping[str, Any]) -> bool:
    """Whether a price is the one that an entry paid; that of a fixed list follows from the laws of its lines, too."""
    amounts = all(Fraction(today[part]) == Fraction(paid[part]) for part in ("epsilon", "delta"))
    return amounts and today.get("fine") == paid.get("fine")


def _use(paid: PaymentOutcome) -> int:
    assert paid.use is not None
    return paid.use


def _unopenable(entry: Entry, why: str) -> LedgerFormat:
    step = "open another one, or read it with the dpviz that wrote it"
    return LedgerFormat(
        f"the sub-session of entry {entry.number} cannot be read by this dpviz ({why}); it stays paid for. {step}",
        value=f"entry {entry.number}",
        rule="a sub-session is used as it was opened, or not at all",
        next_step=step,
    )


def opening_key(parameters: Opening, unit: Unit, key: str | None) -> str:
    """The identity of a sub-session: parameters, unit, and the analyst's own key."""
    said = {"opens": {"name": parameters.name, "parameters": parameters.parameters()}, "unit": unit.to_json()}
    return sha256(canonical({**said, "key": key})).hexdigest()


def opening_body(
    parameters: Opening, price: Guarantee, key: str | None, conversion: Conversion | None
) -> dict[str, Any]:
    """The body that the ledger writes beside the charge for a sub-session: all public."""
    calibrated = {"revisions": list(parameters.revisions)} if parameters.revisions else {}
    return {
        "question_text": parameters.title,
        "question_id": "",
        "mechanism": {"name": parameters.name, "parameters": parameters.parameters(), **calibrated},
        "user_key": key,
        "price": price_json(price, conversion),
    }


protect_module(vars())
