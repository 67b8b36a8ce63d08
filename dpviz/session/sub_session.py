"""A sub-session: one charge when it is opened, then many questions paid by the symbols that come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, cast

from dpviz.errors import LedgerError, LedgerFormat
from dpviz.hidden import guard, publicly
from dpviz.mechanisms.pay_what_you_get import Asking, AskingBound, PayWhatYouGet
from dpviz.mechanisms.ranked import counted
from dpviz.mechanisms.top_k import Kbar
from dpviz.model.answer import Answer
from dpviz.model.identity import release_key
from dpviz.model.question import Question, canonical
from dpviz.model.release import Release
from dpviz.model.source import Source
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit
from dpviz.session import sub_account
from dpviz.session.binding import able
from dpviz.session.charge import checked_key, checked_retry, price_json
from dpviz.session.drawing import Draws, Paid
from dpviz.session.ledger import Entry, Ledger, Status, Use
from dpviz.session.running import Running
from dpviz.session.saved import from_bytes
from dpviz.session.sub_plan import AskPlan


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a sub-session and what came of it: a row of its tape. All public.

    number   1, 2, 3 ... in the order of asking
    k, kbar  as it was asked
    items    the labels that came, in order; none where there is no answer
    ended    whether ⊥ came
    used     the symbols that it used; without an answer, all that were reserved
    key      the analyst's own key
    status   "done"; "pending": being drawn; "cancelled", "failed" or "lost": spent, and there is no answer
    mine     whether this session draws it now
    """

    number: int
    question: Question
    k: int
    kbar: Kbar
    items: tuple[str, ...]
    ended: bool
    used: int
    key: str | None
    status: Status
    mine: bool = False

    def __repr__(self) -> str:
        came = " · ".join((*self.items, *(["⊥"] if self.ended else []))) if self.status == "done" else self.status
        return f"{self.number:>3}  {self.question.text}, k={self.k}: {came}  ({counted(self.used, 'symbol')})"


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
        self._parameters = PayWhatYouGet.from_parameters(entry.body["mechanism"]["parameters"])
        self._number = entry.number
        self._source, self._unit, self._ledger, self._draws = source, unit, ledger, draws
        self._read: dict[int, Release] = {}  # answers by use, for they never change
        if price_json(self.price).get("fine") != entry.body["price"].get("fine"):
            raise LedgerFormat.of(
                f"entry {entry.number}",
                "a sub-session keeps the step and the deltas it was opened with, and this dpviz would take others",
                "open another one",
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
        """The answers so far, in the order of asking. Looking is free."""
        return [self._answer(use) for use in self._uses() if use.status == "done"]

    @property
    def transcript(self) -> list[Asked]:
        """Every question so far and what came of it, in the order of asking."""
        return [self._asked(use) for use in self._uses()]

    def _uses(self) -> list[Use]:
        return [use for use in self._ledger.uses(self._number) if use.key != self._closing]

    def _answer(self, use: Use) -> Release:
        if use.number not in self._read:
            self._read[use.number] = from_bytes(self._ledger.use_answer(self._number, use.number))
        return self._read[use.number]

    def _asked(self, use: Use) -> Asked:
        body = use.body
        if use.status == "done":
            release = self._answer(use)
            asking, question = cast(Asking, release.bound.mechanism), release.question
            items, ended, used = tuple(release.items), release.ended, asking.used(release.answer)
        else:
            asking = Asking.from_parameters(body["mechanism"]["parameters"])
            question = Question.from_json(body["question"])
            items, ended, used = (), False, asking.most
        return Asked(
            number=use.number,
            question=question,
            k=asking.k,
            kbar=asking.kbar,
            items=items,
            ended=ended,
            used=used,
            key=body["user_key"],
            status=use.status,
            mine=use.mine,
        )

    def __repr__(self) -> str:
        left = self._ledger.sub_account(self._number)
        made = self._parameters
        return (
            f"<SubSession, entry {self._number}, on {self.dataset}: "
            f"{sub_account.symbols(left):,} of {counted(made.symbols, 'symbol')} and "
            f"{sub_account.questions(left):,} of {counted(made.questions, 'question')} left; {self.price.sentence}>"
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
        left = self._ledger.sub_account(self._number)
        bound = self._bind(question, k, kbar, where, largest)
        return AskPlan(bound, self._number, sub_account.symbols(left), sub_account.questions(left))

    def _bind(
        self, question: object, k: int, kbar: Kbar, where: Mapping[str, object] | None, largest: int | None
    ) -> AskingBound:
        """Every check that can be made from public things alone."""
        bound = Asking(self._parameters, k, kbar, largest).bind(Question.of(question, where), self._unit)
        able(self._source, bound)
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
        and its draw lost, SessionBusy while another draw runs; these use nothing. ReleaseCancelled, ReleaseFailed and
        LedgerError say themselves what stays used.
        """
        return self.ask_async(question, k, kbar, where=where, key=key, retry=retry, largest=largest).result()

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
        bound = self._bind(question, k, kbar, where, largest)
        return self._draws.start(
            bound, bound.modes()[0], Reservation(self._ledger, self._number, bound, checked_key(key), retry), watch
        )

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
        use = self._ledger.reserve(self._number, self._closing, body, sub_account.used_up, retry=True)
        if use.status != "done":
            self._ledger.settle(self._number, use.number, b"closed", dict)

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
        self._ledger, self._number, self._bound, self._user_key = ledger, number, bound, key
        self._retry = checked_retry(retry)

    def pay(self) -> Paid:
        most = self._bound.mechanism.most
        use = self._ledger.reserve(
            self._number,
            self.key,
            self._body(),
            lambda state: sub_account.reserve(state, most),
            retry=self._retry,
        )
        stored = self._ledger.use_answer(self._number, use.number) if use.status == "done" else None
        return Paid(self._number, use.number, stored)

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
            "user_key": self._user_key,
            "price": {"text": _reserved(asking)},
        }


def _reserved(asking: Asking) -> str:
    return f"{counted(asking.most, 'symbol')} and 1 question"


def _use(paid: Paid) -> int:
    assert paid.use is not None
    return paid.use


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
