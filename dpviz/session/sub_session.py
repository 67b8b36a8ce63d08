"""A sub-session: one charge when it is opened, then many questions paid by the symbols that come back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from dpviz.errors import LedgerError, LedgerFormat, ReleaseFormat
from dpviz.hidden import guard, publicly
from dpviz.mechanisms.pay_what_you_get import Asking, AskingBound, PayWhatYouGet
from dpviz.mechanisms.ranked import counted
from dpviz.mechanisms.top_k import Kbar
from dpviz.model.answers import Answer
from dpviz.model.identity import release_key
from dpviz.model.question import Question, canonical
from dpviz.model.release import Release
from dpviz.model.source import Source
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit
from dpviz.session import sub_account
from dpviz.session.binding import able
from dpviz.session.charge import checked_key, checked_retry, price_json
from dpviz.session.drawing import Draws, Paid, read_back
from dpviz.session.interrupts import nothing_charged
from dpviz.session.ledger import Entry, Ledger, Status, Use
from dpviz.session.releases import Unread
from dpviz.session.running import Errand, Running
from dpviz.session.saved import UNREADABLE, check_readable, reason, unreadable
from dpviz.session.stale import before_a_charge, stale, unread
from dpviz.session.sub_plan import AskPlan


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a sub-session and what came of it: a row of its tape. All public.

    number   1, 2, 3 ... in the order of asking
    text     the question in words
    question the question; None where this dpviz cannot read it
    k, kbar  as it was asked
    items    the labels that came, in order; none where there is no answer
    ended    whether ⊥ came
    used     the symbols that it used; without an answer, all that were reserved
    key      the analyst's own key
    status   "done"; "pending": being drawn; "cancelled", "failed" or "lost": spent, and there is no answer
    mine     whether this session draws it now
    unreadable  why this dpviz cannot read the row, where it cannot: its answer stays paid for and stored
    """

    number: int
    text: str
    question: Question | None
    k: int
    kbar: Kbar
    items: tuple[str, ...]
    ended: bool
    used: int
    key: str | None
    status: Status
    mine: bool = False
    unreadable: str = ""

    def __repr__(self) -> str:
        if self.unreadable:
            return f"{self.number:>3}  {self.text}: {self.unreadable}"
        came = " · ".join((*self.items, *(["⊥"] if self.ended else []))) if self.status == "done" else self.status
        return f"{self.number:>3}  {self.text}, k={self.k}: {came}  ({counted(self.used, 'symbol')})"


class SubSession:
    """Top-k questions that are paid for already: each uses up the symbols that come back, ⊥ included.

    Made by `session.open(dv.PayWhatYouGet(...))`, which charges the whole price; asking costs nothing more. Step,
    deltas and rule are fixed when it is opened. Each question may depend on all answers before it.

    One order, always: check everything public, reserve the symbols that the answer may use and one question, durably,
    count, draw, record the answer and give back what it did not use. A crash or a cancel keeps all that was reserved;
    it never gives a free or a second answer. A refusal changes nothing, and depends on earlier answers alone.

    Source: Durfee, Rogers 2019, Algorithm 2.
    """

    def __init__(self, entry: Entry, source: Source, unit: Unit, ledger: Ledger, draws: Draws) -> None:
        self._number = entry.number
        self._source, self._unit, self._ledger, self._draws = source, unit, ledger, draws
        self._read: dict[int, Release] = {}  # answers by use, for they never change
        try:
            self._parameters = PayWhatYouGet.from_parameters(entry.body["mechanism"]["parameters"])
            same = price_json(self.price).get("fine") == entry.body["price"].get("fine")
        except UNREADABLE as refused:
            raise _unopenable(entry, reason(refused)) from None
        if not same:
            raise _unopenable(
                entry,
                "a sub-session keeps the step and the deltas it was opened with, and this dpviz would take others",
            )

    # ------------------------------------------------------------ what anybody may know

    @property
    def parameters(self) -> PayWhatYouGet:
        return self._parameters

    @property
    def number(self) -> int:
        """The ledger entry that paid for it."""
        return self._number

    @property
    def unit(self) -> Unit:
        return self._unit

    @property
    def dataset(self) -> str:
        return self._source.name

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def price(self) -> Guarantee:
        """What all answers together cost one unit."""
        return self._parameters.price(self._unit)

    @property
    def symbols_left(self) -> int:
        """How many symbols may still come back. What is being drawn counts as used until it is known."""
        return sub_account.symbols(self._ledger.sub_account(self._number))

    @property
    def questions_left(self) -> int:
        return sub_account.questions(self._ledger.sub_account(self._number))

    @property
    def closed(self) -> bool:
        """Whether somebody closed it. A sub-session of which nothing is left is not closed, and as good as."""
        return self._ledger.find_use(self._number, self._closing) is not None

    @property
    def running(self) -> Running | None:
        """The draw on its way in this session, if there is one."""
        return self._draws.running

    @property
    def answers(self) -> list[Release]:
        """The answers so far, in the order of asking. Looking is free.

        What this dpviz cannot read is left out with a warning; `transcript` has a row for it.
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
        """The answer to one question, by its number in the transcript. Looking is free."""
        return self._answer(self._ledger.use(self._number, number))

    @property
    def transcript(self) -> list[Asked]:
        """Every question so far and what came of it, in the order of asking."""
        return [self._asked(use) for use in self._uses()]

    def _uses(self) -> list[Use]:
        return [use for use in self._ledger.uses(self._number) if use.key != self._closing]

    def _answer(self, use: Use) -> Release:
        if use.number not in self._read:
            self._read[use.number] = read_back(
                self._ledger.use_answer(self._number, use.number), Paid(self._number, use.number)
            )
        return self._read[use.number]

    def _asked(self, use: Use) -> Asked:
        body = use.body
        unread, ended, k, used = "", False, 0, 0
        question: Question | None = None
        release: Release | None = None
        items: tuple[str, ...] = ()
        kbar: Kbar = 0
        try:
            asking = Asking.from_parameters(body["mechanism"]["parameters"])
            question, k, kbar, used = Question.from_json(body["question"]), asking.k, asking.kbar, asking.most
            release = self._answer(use) if use.status == "done" else None
        except UNREADABLE as refused:
            named = isinstance(refused, ReleaseFormat)
            unread = str(refused if named else unreadable(self._number, refused, use.number))
        if release is not None:
            items, ended, used = tuple(release.items), release.ended, asking.used(release.answer)
        return Asked(
            number=use.number,
            text=str(body.get("question_text", "")),
            question=question,
            k=k,
            kbar=kbar,
            items=items,
            ended=ended,
            used=used,
            key=body["user_key"],
            status=use.status,
            mine=use.mine,
            unreadable=unread,
        )

    def __repr__(self) -> str:
        return f"<SubSession, entry {self._number}, on {self.dataset}: {self._left()}; {self.price.sentence}>"

    def _left(self) -> str:
        """What is left, for a sentence. It never raises: a ledger that cannot be read is said to be so."""
        made = self._parameters
        try:
            known = self._ledger.known_sub_account(self._number)
        except LedgerError as error:
            return unread(error)
        return (
            f"{sub_account.symbols(known.totals):,} of {counted(made.symbols, 'symbol')} and "
            f"{sub_account.questions(known.totals):,} of {counted(made.questions, 'question')} left{stale(known.asof)}"
        )

    def __reduce__(self) -> Any:
        raise LedgerError("a sub-session holds private data and is not stored or sent anywhere", next_step="open it")

    # ------------------------------------------------------------ plan: free

    @publicly
    def plan(
        self,
        question: object,
        k: int = 10,
        kbar: Kbar = 50,
        *,
        where: Mapping[str, object] | None = None,
        largest: int | None = None,
    ) -> AskPlan:
        """What a question may use, and what it takes to be listed. Free, and blind to the data."""
        bound = self._bind(question, k, kbar, where, largest)
        known = self._ledger.known_sub_account(self._number)
        left = known.totals
        return AskPlan(bound, self._number, sub_account.symbols(left), sub_account.questions(left), known.asof)

    def _bind(
        self, question: object, k: int, kbar: Kbar, where: Mapping[str, object] | None, largest: int | None
    ) -> AskingBound:
        """Every check that can be made from public things alone."""
        bound = Asking(self._parameters, k, kbar, largest).bind(Question.of(question, where), self._unit)
        able(self._source, bound)
        check_readable(bound)
        return bound

    # ------------------------------------------------------------ ask: paid from what was charged

    @publicly
    def ask(
        self,
        question: object,
        k: int = 10,
        kbar: Kbar = 50,
        *,
        where: Mapping[str, object] | None = None,
        key: str | None = None,
        retry: bool = False,
        largest: int | None = None,
    ) -> Release:
        """Up to k items, out of the kbar largest, in order; ⊥ says that no more stood out. Uses what comes back.

        kbar     a number, or "private": chosen by a step of its own out of k + 1 to `largest`, for one more symbol
        key      any text: a fresh draw of the same question, which uses symbols of its own
        retry    draw a lost or cancelled question again, from what is left

        The same call again gives the stored answer, free, also in another kernel.

        Raises BudgetExceeded where k symbols or a question are not left, ReleaseLost where this question was reserved
        and its draw lost, SessionBusy while another draw runs, EngineGone where the engine no longer answers; these use
        nothing. ReleaseCancelled, ReleaseFailed and LedgerError say themselves what stays used, and so does
        ReleaseInterrupted, in which Ctrl-C ends.
        """
        with nothing_charged():
            bound, payment = self._order(question, k, kbar, where, largest, key, retry)
        return self._draws.result(bound, bound.modes()[0], payment)

    @publicly
    def ask_async(
        self,
        question: object,
        k: int = 10,
        kbar: Kbar = 50,
        *,
        where: Mapping[str, object] | None = None,
        key: str | None = None,
        retry: bool = False,
        largest: int | None = None,
        watch: Callable[[Running], None] | None = None,
    ) -> Running:
        """Start to ask and return at once: `await` the handle, watch its `progress`, or `cancel()` it."""
        bound, payment = self._order(question, k, kbar, where, largest, key, retry)
        return self._draws.start(bound, bound.modes()[0], payment, watch)

    def _order(
        self,
        question: object,
        k: int,
        kbar: Kbar,
        where: Mapping[str, object] | None,
        largest: int | None,
        key: str | None,
        retry: bool,
    ) -> tuple[AskingBound, Reservation]:
        """What is to be drawn and what pays for it: every check of a question that needs no ledger."""
        bound = self._bind(question, k, kbar, where, largest)
        return bound, Reservation(self._ledger, self._number, bound, checked_key(key), retry)

    def look_on(self, onlooker: Callable[[Running], None]) -> None:
        """Call a bound method whenever a draw of this session ends, for as long as its object lives."""
        self._draws.look_on(onlooker)

    def cancel(self) -> None:
        """Cancel the draw on its way, if there is one. What it reserved stays used."""
        running = self.running
        if running is not None:
            running.cancel()

    # ------------------------------------------------------------ close

    def close(self) -> None:
        """Ask nothing more. What is left is used up, and nothing is refunded; answers can be looked at as before."""
        if self.closed:
            return
        body = {"question_text": "closed", "price": {"text": "all that was left"}}
        errand: Errand[None] = Errand(
            lambda _: (f"the sub-session of entry {self._number} is closed", self._number),
            f"whether the sub-session of entry {self._number} is closed is not known yet",
        )

        def admit(state: Mapping[str, str]) -> dict[str, str]:
            errand.charging()
            return sub_account.used_up(state)

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
    """What pays for one question: symbols and a question of an open entry, reserved before and settled after."""

    def __init__(self, ledger: Ledger, number: int, bound: AskingBound, key: str | None, retry: bool) -> None:
        asking = bound.mechanism
        self.key = release_key(bound.question, bound.unit, asking, bound.modes()[0], key)
        self.value = str(asking.most)
        self.spent = f"{_reserved(asking)} of entry {number} are spent"
        self.user_key = key
        self._ledger, self._number, self._bound = ledger, number, bound
        self._retry = checked_retry(retry)

    def answered(self) -> bool:
        with before_a_charge():
            found = self._ledger.find_use(self._number, self.key)
        return found is not None and found.status == "done"

    def pay(self, running: Running) -> Paid:
        most = self._bound.mechanism.most

        def admit(state: Mapping[str, str]) -> dict[str, str]:
            after = sub_account.reserve(state, most)
            running.charging()
            return after

        use = self._ledger.reserve(
            self._number,
            self.key,
            self._body(),
            admit,
            retry=self._retry,
            wanted=running.wanted,
        )
        if use.status != "done":
            return Paid(self._number, use.number)
        with before_a_charge():
            return Paid(self._number, use.number, self._ledger.use_answer(self._number, use.number))

    def keep(self, paid: Paid, answer: Answer, content: bytes) -> None:
        asking = self._bound.mechanism
        unused = asking.most - asking.used(answer)
        self._ledger.settle(self._number, _use(paid), content, lambda state: sub_account.give_back(state, unused))

    def give_up(self, paid: Paid, outcome: Literal["cancelled", "failed"]) -> None:
        self._ledger.fail_use(self._number, _use(paid), outcome)

    def renew(self, paid: Paid) -> None:
        self._ledger.renew(self._number, _use(paid))

    def _body(self) -> dict[str, Any]:
        """What the ledger writes beside the reservation: all public."""
        bound, asking = self._bound, self._bound.mechanism
        return {
            "question": bound.question.to_json(),
            "question_text": bound.question.text,
            "question_id": bound.question.id,
            "mechanism": {"name": asking.name, "parameters": asking.parameters()},
            "user_key": self.user_key,
            "price": {"text": _reserved(asking)},
        }


def _reserved(asking: Asking) -> str:
    return f"{counted(asking.most, 'symbol')} and 1 question"


def _use(paid: Paid) -> int:
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


def opening_key(parameters: PayWhatYouGet, unit: Unit, key: str | None) -> str:
    """What makes two sub-sessions the same: parameters, unit, and the analyst's own key."""
    said = {"opens": {"name": parameters.name, "parameters": parameters.parameters()}, "unit": unit.to_json()}
    return sha256(canonical({**said, "key": key})).hexdigest()


def opening_body(parameters: PayWhatYouGet, price: Guarantee, key: str | None) -> dict[str, Any]:
    """What the ledger writes beside the charge for a sub-session: all public."""
    return {
        "question_text": f"pay what you get: {parameters.text}",
        "question_id": "",
        "mechanism": {"name": parameters.name, "parameters": parameters.parameters()},
        "user_key": key,
        "price": price_json(price),
    }


guard(vars())
