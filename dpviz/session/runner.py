"""The one order of everything that is paid for: pay, count, draw, record. Runs on the thread of a `Running`."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol

from dpviz.errors import (
    DpvizError,
    EngineGone,
    LedgerError,
    ReleaseCancelled,
    ReleaseFailed,
    ReleaseFormat,
    SessionBusy,
    short,
)
from dpviz.memory import give_back
from dpviz.model.answers import Answer
from dpviz.model.bought_together import BoughtProfile
from dpviz.model.mechanism import Bound, Mode
from dpviz.model.source import Source, Tick
from dpviz.noise.bits import Bits, SystemBits
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit
from dpviz.session import probing
from dpviz.session.ledger import Ledger
from dpviz.session.orders import AskOrder, ReleaseOrder
from dpviz.session.refusals import withdrawn
from dpviz.session.running import Listeners, Running, Stopped
from dpviz.session.saved import from_bytes, unreadable

if TYPE_CHECKING:
    from dpviz.model.release import Release

RENEW_EVERY = 40.0
"""Seconds between two renewals of the lease on a draw."""

LONG = 4 << 20
"""Bytes of a stored answer that leaves much free memory behind."""


@dataclass(frozen=True, slots=True)
class PaymentOutcome:
    """The result of a payment: an entry, the use of it where it is open for many, and the answer where there is one."""

    number: int
    use: int | None = None
    stored: bytes | None = None


class Payment(Protocol):
    """The protocol of a payment, which pays for a draw and keeps its answer: a charge of its own, or a use of an open
    entry.

    key       the digest that the answer is found under
    user_key  the analyst's own key
    value     what is paid, as exact text; `spent` says it in words ("ε 0.5 is spent")
    """

    ledger: Ledger
    key: str
    user_key: str | None
    value: str
    spent: str

    def answered(self) -> bool:
        """Whether there is an answer that was paid for. That needs no engine, and is free."""
        ...

    def pay(self, running: Running) -> PaymentOutcome:
        """Pay durably, or find the answer that was paid for. A refusal writes nothing.

        Calls `running.charging()` as the last step before it writes a charge, with the ledger's lock held.
        """
        ...

    def keeping(self, paid: PaymentOutcome, answer: Answer) -> Callable[[bytes], object]:
        """The call that records the answer in its stored form. It may be shown after that, and not before."""
        ...

    def give_up(self, paid: PaymentOutcome, outcome: Literal["cancelled", "failed"]) -> None:
        """Record that nothing came of it. Everything paid stays paid."""
        ...

    def renew(self, paid: PaymentOutcome) -> None:
        """Say that the draw goes on."""
        ...

    @property
    def order(self) -> ReleaseOrder | AskOrder:
        """The same as a message to another process that keeps the data."""
        ...


class Job(Protocol):
    """The work between an order and its answer."""

    def run(self, running: Running, payment: Payment) -> Release:
        """Pay, draw, and give the answer."""
        ...


class ReleaseRunner:
    """The draws from one source: one at a time, each on a thread of its own."""

    def __init__(self, source: Source, pace: Callable[[], object] | None = None) -> None:
        """pace  called between a draw and the record of its outcome; it may wait"""
        self._source, self._pace = source, pace
        self._lock = threading.Lock()
        self._running: Running | None = None
        self._listeners = Listeners()

    @property
    def running(self) -> Running | None:
        """The draw on its way, if there is one."""
        running = self._running
        return running if running is not None and running.here and not running.done else None

    def start(
        self,
        bound: Bound,
        mode: Mode,
        payment: Payment,
        watch: Callable[[Running], None] | None = None,
        profile: Bound | None = None,
    ) -> Running:
        """Start to pay and draw, with a profile where one is bought too. Raises SessionBusy while another draw runs."""
        running = self._prepared(bound, watch)
        self._launch(running, bound, mode, payment, profile)
        return running

    def result(self, bound: Bound, mode: Mode, payment: Payment, profile: Bound | None = None) -> Release:
        """Pay, draw, and wait for the answer. Ctrl-C ends it in ReleaseInterrupted, wherever it falls."""
        running = self._prepared(bound, None)
        try:
            return running.waited(lambda: self._launch(running, bound, mode, payment, profile))
        finally:
            with self._lock:
                if self._running is running and running.done:
                    self._running = None  # a long answer is kept by those alone who want it

    def _prepared(self, bound: Bound, watch: Callable[[Running], None] | None) -> Running:
        running = Running(uuid.uuid4().hex, f"Drawing {bound.question.domain.size_text}")
        running.watch(self._listeners.tell)
        if watch is not None:
            running.watch(watch)
        return running

    def _launch(
        self, running: Running, bound: Bound, mode: Mode, payment: Payment, profile: Bound | None = None
    ) -> None:
        job = self._job(bound, mode, profile)
        try:
            with self._lock:
                if self.running is not None:
                    raise SessionBusy(
                        "this session is drawing another release; nothing was charged",
                        value="a second release",
                        rule="a session draws one release at a time",
                        next_step="wait for it, or cancel it",
                    )
                self._running = running
            running.start(lambda: job.run(running, payment))  # without the lock: it may be done in place
        except BaseException:  # an interrupt: nobody gets the handle, and the session must not stay busy with it
            if self._running is running:
                running.cancel()
            raise

    def _job(self, bound: Bound, mode: Mode, profile: Bound | None) -> Job:
        return ReleaseJob(self._source, bound, mode, SystemBits(), profile, self._pace)

    def add_listener(self, listener: Callable[[Running], None]) -> None:
        """Call a bound method whenever a draw ends, for as long as its object lives."""
        self._listeners.add(listener)


@dataclass(frozen=True)
class PreparedDraw:
    """A draw that was checked, and is not paid for yet.

    price  the price of a release, with that of a profile that is bought with it; None of a question that is paid for
    """

    runner: ReleaseRunner
    bound: Bound
    mode: Mode
    payment: Payment
    profile: Bound | None = None
    price: Guarantee | None = None

    def start(self, watch: Callable[[Running], None] | None = None) -> Running:
        """Pay and draw, on a thread of its own."""
        return self.runner.start(self.bound, self.mode, self.payment, watch, self.profile)


@dataclass(frozen=True)
class ReleaseJob:
    """The job of drawing once it is paid: a bound mechanism on a source.

    profile  the profile that is bought with the answer: it is counted first, as its classes are few
    pace     called between the draw and the record of its outcome
    """

    source: Source
    bound: Bound
    mode: Mode
    bits: Bits
    profile: Bound | None = None
    pace: Callable[[], object] | None = None

    def run(self, running: Running, payment: Payment) -> Release:
        """Pay, count, draw, record. A refusal to pay changes nothing; whatever happens later leaves it paid."""
        import_module("dpviz.model.release")  # so that nothing is loaded between a charge and its answer
        if running.cancelling:
            raise withdrawn()
        running.value, running.spent = payment.value, lambda: payment.spent
        if not payment.answered():
            probing.check(self.source)
        paid = payment.pay(running)
        running.free, running.number, running.use = paid.stored is not None, paid.number, paid.use
        if paid.stored is not None:
            return read_back(paid.stored, paid, payment.ledger, self.bound.unit)
        running.watch(_renewal(payment, paid))
        drawn, refusal = self._tried(running, payment, paid)
        if drawn is None:
            raise refusal or _failed(payment, paid, probing.gone(self.source))
        answer, content = drawn
        self._wait_for_pace()
        keep = payment.keeping(paid, answer)
        del drawn, answer  # a long answer would lie in memory twice while it is kept and read back
        try:
            keep(content)
        except BaseException:
            _give_up(payment, paid, "failed")
            raise
        release, long = read_back(content, paid, payment.ledger, self.bound.unit), len(content) > LONG
        del keep, content
        if long:
            give_back()
        return release

    def _tried(
        self, running: Running, payment: Payment, paid: PaymentOutcome
    ) -> tuple[tuple[Answer, bytes] | None, ReleaseCancelled | None]:
        """The answer that is drawn, in its stored form too; else it is given up. Nothing that a source raises gets out
        of here."""
        try:
            return self._drawn(running, payment, paid), None
        except Stopped:
            cancelled = True
        except BaseException:  # its text may hold data, of whatever class it is
            cancelled = False
        self._wait_for_pace()
        _give_up(payment, paid, "cancelled" if cancelled else "failed")
        return None, _cancelled(payment, paid) if cancelled else None

    def _wait_for_pace(self) -> None:
        if self.pace is not None:
            self.pace()

    def _drawn(self, running: Running, payment: Payment, paid: PaymentOutcome) -> tuple[Answer, bytes]:
        from dpviz.model.release import Release

        bound = self.bound
        answer, bought = drawn(self.source, bound, self.profile, self.mode, self.bits, running.tick)
        release = Release.of(
            bound,
            answer,
            bought=bought,
            mode=self.mode,
            randomness=self.bits.kind,
            dataset=self.source.name,
            number=paid.number,
            use=paid.use,
            key=payment.key,
        )
        content = release.to_bytes()
        running.tick(bound.cost.steps, bound.cost.steps)
        return answer, content


def drawn(
    source: Source, bound: Bound, profile: Bound | None, mode: Mode, bits: Bits, tick: Tick | None
) -> tuple[Answer, BoughtProfile | None]:
    """The answer of a bound mechanism, and the profile that is bought with it; both are counted, then both drawn."""

    def poll(done: int, of: int) -> None:
        """Stop where the draw is cancelled; the progress shown is that of the counts."""
        if tick is not None:
            tick(0, 1)

    classes = None if profile is None else profile.count_statistic(source, poll)
    statistic = bound.count_statistic(source, tick)
    answer = bound.draw(statistic, bits, mode=mode, tick=tick)
    if profile is None or classes is None:
        return answer, None
    return answer, BoughtProfile.of(profile, profile.draw(classes, bits, mode=mode, tick=poll))


def read_back(content: bytes, paid: PaymentOutcome, ledger: Ledger, unit: Unit) -> Release:
    """The release as it is stored, read with the facts that a unit declares today."""
    try:
        return from_bytes(content).found_in(ledger).as_declared(unit)
    except ReleaseFormat as refused:
        failure = unreadable(paid.number, refused, paid.use)
    raise failure


def _renewal(payment: Payment, paid: PaymentOutcome) -> Callable[[Running], None]:
    """While a long draw goes on, tell kernels on other machines that it is not lost."""
    renewed = time.monotonic()

    def renew(running: Running) -> None:
        nonlocal renewed
        now = time.monotonic()
        if not running.done and now - renewed > RENEW_EVERY:
            renewed = now
            with suppress(LedgerError):  # a lease outlasts a server that is away for a while: it is renewed later
                payment.renew(paid)

    return renew


def _give_up(payment: Payment, paid: PaymentOutcome, outcome: Literal["cancelled", "failed"]) -> None:
    """Record a cancelled or failed draw. Where even that fails, the charge stays pending and counts as spent."""
    try:
        payment.give_up(paid, outcome)
    except DpvizError:
        return


# ---------------------------------------------------------------- refusals

AGAIN = "to draw again, paid once more, pass retry=True"


def _named(payment: Payment, paid: PaymentOutcome) -> str:
    """`Entry 3, key "spring"`: what a person looks it up by."""
    entry = f"Entry {paid.number}" if paid.use is None else f"Use {paid.use} of entry {paid.number}"
    return entry if payment.user_key is None else f'{entry}, key "{short(payment.user_key, 40)}"'


def _cancelled(payment: Payment, paid: PaymentOutcome) -> ReleaseCancelled:
    return ReleaseCancelled(
        f"Cancelled. {payment.spent} and no answer was shown. {_named(payment, paid)}: {AGAIN}.",
        value=payment.value,
        rule="a charge whose draw was cancelled stays charged",
        next_step=AGAIN,
    )


def _failed(payment: Payment, paid: PaymentOutcome, gone: EngineGone | None) -> ReleaseFailed:
    """A draw that failed after its charge. Of the cause only what no row can cause: whether the engine is there."""
    if gone is None:
        cause = "The engine is there; the cause is withheld, because rows can cause it and it may hold data"
        step = AGAIN
    else:
        cause = f"The engine is gone: {gone.value or 'it does not answer'}"
        step = f"start the engine again and open a session on it; {AGAIN}"
    return ReleaseFailed(
        f"The engine failed after the charge: {payment.spent} and no answer was shown. "
        f"{_named(payment, paid)}: {step}. {cause}.",
        value=payment.value,
        rule="a charge whose draw failed stays charged, and an engine's own words are never shown",
        next_step=step,
    )
