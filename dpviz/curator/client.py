"""A session whose data are in the keeping of a curator: planned here, paid for and drawn there.

The session is the same class as one in a kernel, with three parts of its own: a source that knows public facts alone, a
ledger that is read over the connection, and a runner that sends orders.
"""

from __future__ import annotations

import sys
import time
import uuid
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dpviz.boundary import Hidden, plain_arguments, protect_module, single, single_arguments
from dpviz.curator.mock import mock
from dpviz.curator.wire import PROTOCOL, UNKNOWN, PublicFacts, Standing, entry_from, error_from, use_from
from dpviz.engines.schema import Schema
from dpviz.errors import DpvizError, Forbidden, LedgerAway, LedgerFormat, ParameterError
from dpviz.exact import text
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Bound, Mode
from dpviz.model.opening import Opening
from dpviz.model.question import Question
from dpviz.model.source import Source, Tick, TopRules
from dpviz.model.statistic import Column, Need, Statistic
from dpviz.privacy.unit import Unit
from dpviz.session.accountant import SYMBOLS, remaining
from dpviz.session.charge import checked_key
from dpviz.session.interrupts import nothing_charged
from dpviz.session.ledger import Entry, Known, Ledger, Raise, UseRecord, Verification
from dpviz.session.orders import OpenOrder, Order
from dpviz.session.refusals import withdrawn
from dpviz.session.releases import Readable
from dpviz.session.runner import Job, Payment, PaymentOutcome, ReleaseRunner, read_back
from dpviz.session.running import Errand, Progress, Running
from dpviz.session.session import Session
from dpviz.session.sub_session import SubSession, opening_key

if TYPE_CHECKING:
    import pandas as pd

    from dpviz.curator.connection import Connection
    from dpviz.model.release import Release

LONGEST_SILENCE: Final = 30.0
"""Seconds for which a curator that stopped answering is asked again how an order stands."""

WAITING: Final = {"queued": "waiting for its turn", "approval": "waiting for approval by the owner of the data"}


class PublishedSource(Source):
    """The public facts about data that are somewhere else. It checks what can be checked from them, and counts nothing.

    Parameters
    ----------
    facts : PublicFacts
        The facts that the curator made known.
    """

    __slots__ = ("_facts", "_schema")

    def __init__(self, facts: PublicFacts) -> None:
        self._facts = facts
        columns = facts.columns
        self._schema = Schema(
            facts.name,
            columns,
            measured=frozenset(column.name for column in columns if column.untyped),
            timed=frozenset(column.name for column in columns if column.kind == "time"),
            parsed=frozenset(column.name for column in columns if column.written),
        )

    @property
    def name(self) -> str:
        return self._facts.name

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._facts.columns

    @property
    def engine(self) -> str:
        return self._facts.engine

    @property
    def top(self) -> TopRules:
        return self._facts.top

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        self._schema.check(question, unit, need)

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        raise Forbidden.of(
            "a count", "the data are with the curator, which counts and draws there", "use session.release"
        )


class CuratedLedger(Ledger):
    """The ledger of a curator, read over its connection. Nothing can be written to it from here.

    Parameters
    ----------
    connection : Connection
        The connection to the curator.
    facts : PublicFacts
        The facts that the curator made known.

    Raises
    ------
    LedgerAway
        If the curator does not answer.
    """

    def __init__(self, connection: Connection, facts: PublicFacts) -> None:
        self._connection, self._facts = connection, facts
        self._last_known: dict[str, tuple[dict[str, str], float]] = {}
        self._heard: Callable[[str], None] | None = None

    def _look(self, *_: Any, **__: Any) -> NoReturn:
        raise Forbidden.of(
            "a look at the rows of a ledger",
            "the ledger belongs to the curator, which shows its entries and answers",
            "use session.ledger.entries(), or ask the owner of the data",
        )

    _change = backup = charge = reserve = finish = close = settle = fail_use = renew = _look
    raise_budget = for_caller = _look

    @property
    def on_wait(self) -> Callable[[str], None] | None:
        return self._heard

    @on_wait.setter
    def on_wait(self, told: Callable[[str], None] | None) -> None:
        self._heard = told

    @property
    def is_new(self) -> bool:
        return self._connection.read(lambda told: told["new"] is True, "/account")

    @property
    def read_only(self) -> bool:
        return "release" not in self._facts.scopes

    @property
    def name(self) -> str:
        return self._facts.ledger

    @property
    def location(self) -> str:
        return f"the curator at {self._connection.name}"

    @property
    def person(self) -> str:
        return self._facts.you

    @property
    def charter(self) -> dict[str, Any]:
        return self._connection.read(_object, "/ledger/charter")

    @property
    def account(self) -> dict[str, str]:
        return self._connection.read(lambda told: _account(told["account"]), "/account")

    def known_account(self) -> Known:
        return self._once_known("", lambda: self.account)

    def known_sub_account(self, number: int) -> Known:
        return self._once_known(f"entry {number}", lambda: self.sub_account(number))

    def _once_known(self, name: str, look: Callable[[], dict[str, str]]) -> Known:
        try:
            totals = look()
        except LedgerAway:
            if name not in self._last_known:
                raise
            return Known(*self._last_known[name])
        self._last_known[name] = totals, time.time()
        return Known(totals)

    def head(self) -> str:
        return self._connection.read(lambda told: str(told["head"]), "/head")

    @single_arguments
    def entries(self, *, last: int | None = None, before: int | None = None) -> list[Entry]:
        return self._pages(last, before, finished=False)

    @single_arguments
    def finished(self, *, last: int | None = None, before: int | None = None) -> list[Entry]:
        return self._pages(last, before, finished=True)

    def _pages(self, last: int | None, before: int | None, *, finished: bool) -> list[Entry]:
        """Entries in order, a reply at a time: a curator gives the latest first, as many as fit into one."""
        found: list[Entry] = []
        while last is None or len(found) < last:
            more = None if last is None else last - len(found)
            page = self._connection.read(_entries, "/entries", last=more, before=before, finished=finished)
            found = page + found
            if not page or page[0].number == 1 or page[0].number == before:
                break
            before = page[0].number
        return found

    @property
    def finished_numbers(self) -> list[int]:
        return self._connection.read(lambda told: [_number(number) for number in told], "/entries/numbers")

    @property
    def finished_count(self) -> int:
        return len(self.finished_numbers)

    @single_arguments
    def entry(self, number: int) -> Entry:
        return self._connection.read(entry_from, f"/entries/{_number(number)}")

    @single_arguments
    def find(self, key: str) -> Entry | None:
        return self._connection.read(lambda told: None if told is None else entry_from(told), f"/keys/{key}")

    def pending(self) -> list[Entry]:
        return self._connection.read(_entries, "/entries/pending")

    def opened(self) -> list[Entry]:
        return self._connection.read(_entries, "/entries/open")

    def raises(self) -> list[Raise]:
        return self._connection.read(lambda told: [Raise(**one) for one in told], "/raises")

    @single_arguments
    def answer(self, number: int) -> bytes:
        return self._connection.stored(f"/entries/{_number(number)}/answer")

    @single_arguments
    def sub_account(self, number: int) -> dict[str, str]:
        return self._connection.read(_texts, f"/entries/{_number(number)}/account")

    @single_arguments
    def uses(self, number: int) -> list[UseRecord]:
        return self._connection.read(lambda told: [use_from(one) for one in told], f"/entries/{_number(number)}/uses")

    @single_arguments
    def use(self, number: int, use: int) -> UseRecord:
        return self._connection.read(use_from, f"/entries/{_number(number)}/uses/{_number(use)}")

    @single_arguments
    def find_use(self, number: int, key: str) -> UseRecord | None:
        path = f"/entries/{_number(number)}/keys/{key}"
        return self._connection.read(lambda told: None if told is None else use_from(told), path)

    @single_arguments
    def use_answer(self, number: int, use: int) -> bytes:
        return self._connection.stored(f"/entries/{_number(number)}/uses/{_number(use)}/answer")

    def verify(self, **checks: Any) -> Verification:
        """Have the curator check its ledger.

        Parameters
        ----------
        **checks
            Those of `Ledger.verify`; what they check, the curator checks by itself.

        Returns
        -------
        Verification
            Its rows, charges and head.

        Raises
        ------
        LedgerCorrupt
            If the ledger is damaged.
        """
        return self._connection.read(lambda told: Verification(**told), "/verification")

    def close_sub_session(self, number: int) -> None:
        """Have the curator close a sub-session."""
        self._connection.post(f"/entries/{_number(number)}/close")

    def detach(self) -> None:
        self._connection.close()


class CuratedRunner(ReleaseRunner):
    """The draws of one client: one at a time, each an order to the curator.

    Parameters
    ----------
    source : PublishedSource
        The public facts about the data.
    connection : Connection
        The connection to the curator.
    """

    def __init__(self, source: Source, connection: Connection) -> None:
        super().__init__(source)
        self._connection = connection

    def _job(self, bound: Bound, mode: Mode, profile: Bound | None) -> Job:
        return CuratedJob(self._connection, bound.unit)


class CuratedJob:
    """The job of sending an order, following it, and reading its answer."""

    def __init__(self, connection: Connection, unit: Unit) -> None:
        self._connection, self._unit = connection, unit

    def run(self, running: Running, payment: Payment) -> Release:
        """Send the order, follow it, and read the answer from the curator's ledger."""
        running.value, running.spent = payment.value, lambda: payment.spent
        if running.cancelling:
            raise withdrawn()
        running.charging()  # from here on only the curator knows whether it is charged

        say = _waits_told(payment.ledger)

        def follow(standing: Standing) -> None:
            say(standing)
            if standing.spent:
                running.value, running.spent = standing.value, lambda: standing.spent
            running.use, running.free = standing.use, standing.free
            if standing.entry is not None and running.number != standing.entry:
                running.number = standing.entry
            if standing.state == "drawing":
                running.progress = Progress(standing.done, standing.of, running.progress.text)
            running.wait(WAITING.get(standing.state, standing.waiting))

        standing, content = followed(self._connection, payment.order, follow, lambda: running.cancelling)
        assert standing.entry is not None
        paid = PaymentOutcome(standing.entry, standing.use)
        ledger = payment.ledger
        if content is None and standing.use is None:
            content = ledger.answer(standing.entry)
        elif content is None and standing.use is not None:
            content = ledger.use_answer(standing.entry, standing.use)
        assert content is not None
        return read_back(content, paid, ledger, self._unit)


def followed(
    connection: Connection, order: Order, follow: Callable[[Standing], None], cancelling: Callable[[], bool]
) -> tuple[Standing, bytes | None]:
    """Send an order and follow it to its end, and give the answer where it comes with it.

    Raises what ended it, and LedgerAway where the curator is gone.
    """
    name, told = uuid.uuid4().hex, order.to_json()
    again = not told.get("retry", False)  # sent twice, it is charged once, unless a lost draw is to be paid again
    reply = connection.post(f"/orders/{name}", told)
    standing = _standing(reply)
    said, heard = False, time.monotonic()
    while standing.state not in ("done", "failed"):
        follow(standing)
        try:
            if cancelling() and not said:
                connection.post(f"/orders/{name}/cancel")
                said = True
            reply = connection.get(f"/orders/{name}", seen=standing.version)
            standing = _standing(reply)
            heard = time.monotonic()
        except LedgerAway:
            if time.monotonic() - heard > LONGEST_SILENCE:
                raise
        except Forbidden as unknown:
            if unknown.value != UNKNOWN or not again:
                raise
            again, said = False, False  # the curator began anew
            reply = connection.post(f"/orders/{name}", told)
            standing = _standing(reply)
    if standing.error is not None:
        if standing.entry is not None:
            follow(standing)
        raise error_from(standing.error)
    follow(standing)
    return standing, b64decode(reply["answer"]) if "answer" in reply else None


class CuratedSubSession(SubSession):
    """A sub-session whose data are in the keeping of a curator."""

    _ledger: CuratedLedger

    def close(self) -> None:
        self._ledger.close_sub_session(self.number)


@dataclass(frozen=True)
class CapLeft:
    """A cap of an analyst or a project, and what is left of it.

    Parameters
    ----------
    whose : str
        Whose cap it is, and how large.
    left : dict
        The rest of each part that the filter of the budget adds up.
    until : str
        The first day (UTC) on which all of it is there again; empty for a cap for all time.
    """

    whose: str
    left: Mapping[str, Fraction]
    until: str

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> CapLeft:
        """Read a cap from a message.

        Parameters
        ----------
        told : mapping
            The message.

        Returns
        -------
        CapLeft
            The cap.

        Raises
        ------
        KeyError, ValueError
            If it is none.
        """
        left = {part: Fraction(amount) for part, amount in told["left"].items() if part in SYMBOLS}
        return cls(str(told["whose"]), left, str(told["until"]))

    def __repr__(self) -> str:
        left = ", ".join(f"{SYMBOLS[part]} {text(max(left, Fraction(0)))}" for part, left in self.left.items())
        return f"<{self.whose}: {left} left{f'; whole again on {self.until}' if self.until else ''}>"


class CuratedSession(Session):
    """A session whose data are in the keeping of a curator. Made by `dv.connect`.

    Parameters
    ----------
    connection : Connection
        The connection to the curator.

    Raises
    ------
    LedgerAway
        If the curator does not answer.
    LedgerFormat
        If it speaks another protocol.
    Forbidden
        If it does not know the caller.

    Notes
    -----
    Plans are made in this kernel from public facts. A release, an opening and a question are an order: the curator
    checks it again, charges, counts and draws; this kernel never sees a row.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._facts = _facts(connection)
        self._source = PublishedSource(self._facts)
        self._unit = self._facts.unit
        self._ledger = CuratedLedger(connection, self._facts)
        self._runner = CuratedRunner(self._source, connection)
        self._readable = Readable()
        self._caller = None

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}; kept by the curator at {self._connection.name}>"

    @property
    def caps(self) -> list[CapLeft]:
        """The caps that bind this caller inside the budget of the data set, and what is left of each."""
        return self._connection.read(lambda told: [CapLeft.from_json(one) for one in told], "/caps")

    @property
    def domains(self) -> dict[str, Domain]:
        """The bins that the owner of the data declared, by column."""
        return {column: Domain.from_json(told) for column, told in self._facts.bins.items()}

    def mock(self, rows: int = 1000, seed: int = 0) -> pd.DataFrame:
        """Make up rows of the declared schema, to try code on first. Free, and made in this kernel.

        Parameters
        ----------
        rows : int, default 1000
            The number of rows.
        seed : int, default 0
            The same seed makes the same rows.

        Returns
        -------
        DataFrame
            The rows. The name of the data set has "(made up)" after it, and a session on the frame shows it.

        Raises
        ------
        ParameterError
            If a number is outside its range.

        Notes
        -----
        Values lie in the bins that the owner declared, each about as often as every other. Nothing else about the data
        is known here, so no count of made-up rows says anything about a true one.
        """
        return mock(self.charter, self.domains, rows, seed)

    @property
    def scopes(self) -> tuple[str, ...]:
        """The rights that the owner of the data gave to this caller."""
        return self._facts.scopes

    def raise_budget(self, *_: object, **__: object) -> None:
        """Refuse: the budget belongs to the owner of the data.

        Raises
        ------
        Forbidden
            Always.
        """
        raise Forbidden.of(
            "a raise of the budget", "the owner of the data alone raises its budget", "ask the owner of the data"
        )

    @plain_arguments
    def open(self, parameters: Opening, *, key: str | None = None) -> SubSession:
        """Charge for a sub-session, all of it at once, and open it. The same call again is the same sub-session, free.

        Parameters
        ----------
        parameters : Opening
            The parameters of the sub-session, as `dv.Parts(...)`.
        key : str, optional
            Any text: another sub-session of the same parameters, charged anew.

        Returns
        -------
        SubSession
            The open sub-session.

        Raises
        ------
        ParameterError
            If the engine could answer none of its questions, or these are no parameters of a sub-session. Nothing is
            charged.
        BudgetExceeded
            If the price does not fit into what is left, of the data set or of a cap. Nothing is charged.
        LedgerAway
            If the curator does not answer. The same call again tells what became of it.
        ReleaseInterrupted
            If Ctrl-C comes meanwhile.
        """
        with nothing_charged():
            price = self._opening(parameters).price(self._unit)
            order = OpenOrder(parameters, checked_key(key), opening_key(parameters, self._unit, key))
        errand: Errand[Entry] = Errand(
            lambda entry: (f"the sub-session is open and paid for, as entry {entry.number}", entry.number),
            f"whether the sub-session was charged is not known yet; count {price.loss.short} as spent",
        )

        def work() -> Entry:
            errand.charging()
            standing, _ = followed(self._connection, order, _waits_told(self._ledger), lambda: errand.cancelling)
            assert standing.entry is not None
            return self._ledger.entry(standing.entry)

        return self._sub_session(errand.run(work))

    def _sub_session(self, entry: Entry) -> SubSession:
        return CuratedSubSession(entry, self._source, self._unit, self._ledger, self._runner)


@single_arguments
def connect(address: str, *, token: str | None = None, certificate: str | Path | None = None) -> CuratedSession:
    """Connect to a curator: a session about data that stay where they are.

    Parameters
    ----------
    address : str
        ``https://host:port``, or ``unix:/path/of/the.sock`` on the curator's own machine.
    token : str, optional
        The token that the owner of the data gave. A Unix socket needs none: the system vouches for who asks.
    certificate : str or Path, optional
        A file of certificates to trust, where the curator's own is not known to this machine.

    Returns
    -------
    CuratedSession
        A session: plans are free and made here; releases, openings and questions are paid for and drawn by the curator.

    Raises
    ------
    ParameterError
        If the address is none, or the token would cross a network in the clear.
    LedgerAway
        If the curator does not answer.
    Forbidden
        If the curator does not know the caller.
    LedgerFormat
        If another program, or a curator of another version, answers there.

    Examples
    --------
    >>> import dpviz as dv
    >>> dv.connect("visits.sock")
    Traceback (most recent call last):
    ...
    dpviz.errors.ParameterError: a curator is reached at https://host:port or unix:/path/of/the.sock, got ://; ...
    """
    held = None if token is None else Hidden.of(token)
    del token  # no variable of this call shows it
    return CuratedSession(_connection()(single(address), held, single(certificate)))


def _connection() -> type[Connection]:
    """The class of connections, which needs httpx."""
    missing = None
    try:
        from dpviz.curator.connection import Connection
    except ImportError as error:
        missing = ParameterError.of(
            error.name or "a package", "a connection to a curator needs httpx", "pip install 'dpviz[curator]'"
        )
    else:
        return Connection
    raise missing


def _facts(connection: Connection) -> PublicFacts:
    told = connection.get("/charter")
    if not isinstance(told, Mapping) or told.get("protocol") != PROTOCOL:
        raise LedgerFormat.of(
            "another protocol", f"this dpviz speaks protocol {PROTOCOL} with a curator", "install the same version"
        )
    failure = None
    with suppress(KeyError, TypeError, ValueError, DpvizError):
        return PublicFacts.from_json(told)
    failure = LedgerFormat.of("other facts", "a curator tells its charter in a form that is known", "upgrade dpviz")
    raise failure


def _waits_told(ledger: Ledger) -> Callable[[Standing], None]:
    """Says once that an order waits for approval: where no page shows it, on the standard error."""
    said = False

    def tell(standing: Standing) -> None:
        nonlocal said
        if standing.state == "approval" and not said:
            said = True
            if ledger.on_wait is None:
                print(f"dpviz: {WAITING['approval']}", file=sys.stderr, flush=True)

    return tell


def _standing(told: Any) -> Standing:
    with suppress(KeyError, TypeError, AttributeError):
        return Standing.from_json(told)
    raise LedgerFormat.of("another form", "a curator tells how an order stands in a known form", "upgrade dpviz")


def _entries(told: Any) -> list[Entry]:
    return [entry_from(one) for one in told]


def _object(told: Any) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise TypeError
    return told


def _texts(told: Any) -> dict[str, str]:
    if not all(isinstance(part, str) for pair in _object(told).items() for part in pair):
        raise TypeError
    return dict(told)


def _account(told: Any) -> dict[str, str]:
    """The totals of a budget, which add up."""
    remaining(_texts(told))
    return dict(told)


def _number(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**63:
        raise ParameterError.of(number, "an entry has a number from one on", "see session.ledger.entries()")
    return number


protect_module(vars())
