"""`Ledger`: what was charged, for which key, and what came of it."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, bindparam, func, select, union_all

from dpviz.boundary import Hidden, kind_of, one_word, protect_module, single_arguments
from dpviz.errors import DpvizError, Forbidden, LedgerAway, LedgerCorrupt, LedgerError, LedgerReadOnly, ParameterError
from dpviz.session.ledger import blobs, earlier, following, history, records, requests, rows, tables
from dpviz.session.ledger.audit import Audit, Check, Holds, IndexRow, Step, Verification
from dpviz.session.ledger.chain import Row, State, broken, canonical, now
from dpviz.session.ledger.earlier import Earlier, KnownLedgers
from dpviz.session.ledger.following import Anew, Following
from dpviz.session.ledger.history import Known, Raise
from dpviz.session.ledger.locations import locate, locate_file
from dpviz.session.ledger.memory import Place
from dpviz.session.ledger.owner import Owner
from dpviz.session.ledger.records import (
    ANSWERED,
    CHARGES,
    DRAWING,
    USES,
    Entry,
    LedgerRecord,
    RecordId,
    RecordStatements,
    SomeRecord,
    Status,
    UseRecord,
)
from dpviz.session.ledger.requests import Decision, DecisionRequest, Verdict
from dpviz.session.ledger.rows import Account, totals
from dpviz.session.ledger.spending import Spending, Within
from dpviz.session.ledger.sqlite import File
from dpviz.session.ledger.statements import Statement
from dpviz.session.ledger.store import PATIENCE, LedgerLocation, Store, Wanted, no_ledger
from dpviz.session.ledger.tables import chain, entry, use
from dpviz.session.ledger.witness import Beside, Note
from dpviz.session.refusals import uncharged

T = TypeVar("T")

_KEY = re.compile(r"[0-9a-f]{32,128}\Z")


class Ledger:
    """The durable memory of a budget: charges, their answers, and the totals after each, in one chain of rows.

    It does no arithmetic: `charge` is given a pure function that turns the totals so far into the next ones or
    refuses. Everything written is durable before the call returns. Several kernels may use one ledger; the check
    and the charge are one step. May be used from several threads.

    The steps of one answer, and of many::

        One answer:   entry = charge(key, body, admit) · draw · finish(entry.number, answer), or
                      close(entry.number, ...)
        Many answers: entry = charge(key, body, admit, opens=sub), where `sub` is the first sub-account: texts, opaque
                      here. The price is charged and the entry is open in one step; entry.status == "open", found or
                      new. use = reserve(entry.number, key, body, admit) · draw · settle(entry.number, use.number,
                      answer, adjust), or fail_use(entry.number, use.number, "cancelled" | "failed")
            reserve   asks `admit(sub)` for the sub-account after it. use.status == "done": found, nothing was written,
                      use_answer(entry.number, use.number) is its answer; "pending": to be drawn now
            settle    asks `adjust(sub)` for the sub-account after what was not used is given back
            looking   sub_account(number), uses(number), find_use(number, key), use_answer(number, use)
            renewing  renew(number), renew(number, use)

    A use that was lost, cancelled or failed keeps all it had reserved; its key is drawn again with retry=True only.

    The whole chain is read and checked once, and each row after that as it is written, by `check` where it is given:
    so no charge and no answer comes from a ledger that `verify` would refuse. A ledger that is older than what this
    object has seen is refused at the next look.

    Parameters
    ----------
    ledger_location : LedgerLocation
        The place of the ledger. `Ledger.open` and `Ledger.read` find it from a path or a URL.
    store : Store
        The database in that place.
    owner : Owner
        The process that charges.
    check : callable, optional
        Knows the arithmetic of accounts; each row is held against it.
    made : bool, default False
        Whether the ledger was just made.
    person : str, default ""
        Who charges, as they say.
    remembers : bool, default True
        Whether this machine remembers how far the ledger had come.
    registry : Registry, optional
        The memory of this machine about earlier ledgers in the place or about the data set.
    holds : callable, optional
        Knows what an answer says of its own price.
    """

    def __init__(
        self,
        ledger_location: LedgerLocation,
        store: Store,
        owner: Owner,
        check: Check | None = None,
        *,
        made: bool = False,
        person: str = "",
        remembers: bool = True,
        registry: KnownLedgers | None = None,
        holds: Holds | None = None,
    ) -> None:
        self._location = ledger_location
        self._store = store
        self._own, self._pid = owner, os.getpid()
        self._check, self._holds = check, holds
        self._chain = Following(Place(ledger_location.identity, check) if remembers else None)
        self._made = made
        self._person = person
        self._registry = registry
        self._glanced: dict[str, tuple[dict[str, str], float]] = {}
        self._asked_by: dict[str, str] | None = None
        self._within: Within | None = None

    @classmethod
    def open(
        cls,
        location: str | Path | Hidden[Any],
        *,
        charter: Mapping[str, object],
        account: Account,
        owner: Owner | None = None,
        check: Check | None = None,
        existing: bool | None = None,
        person: str | None = None,
        recognised: bool = False,
        holds: Holds | None = None,
        least_format: int = 1,
    ) -> Ledger:
        """Open the ledger at `location`, or make one with this charter and these opening totals.

        Parameters
        ----------
        location : path or URL
            The place of a file, or the URL of a database.
        charter : mapping
            {"dataset": ..., "schema": {...}, "unit": {...}, "budget": {...}}, all public.
        account : mapping
            The accountant's state before anything was charged; used only for a new ledger.
        owner : Owner, optional
            The process that charges; this one by default.
        check : callable, optional
            Knows the arithmetic of accounts and sub-accounts: each row is held against it, old and new.
        existing : bool, optional
            True: refuse to make a ledger. False: go on although an earlier ledger is known, which is lost or given up:
            begin a new one in its place or about its data set, or go on from an older copy. Left out, a ledger is made
            where none is known.
        person : str, optional
            Who charges, as they say; else the login of the system, or the role of the database.
        recognised : bool, default False
            Whether the name of the data set and its schema tell the data set from all others, so that an earlier ledger
            of it is known in whatever place it was.
        holds : callable, optional
            Knows what an answer says of its own price: `verify` holds each entry against what it paid for.
        least_format : int, default 1
            The first format whose readers know all that the charter says; used only for a new ledger.

        Returns
        -------
        Ledger
            The ledger, read and checked once.

        Raises
        ------
        CharterMismatch
            If the ledger was made for another dataset, schema, unit or budget.
        LedgerCorrupt
            If the ledger is broken, or is older than what was written in this place. The whole ledger is read once.
        LedgerError
            If an earlier ledger is known (by the note beside it, or by this machine) that is not this one or went
            further, unless `existing` is False; and if what lies in the place of that note is no note.

        Notes
        -----
        A ledger that cannot be written is opened for looking. A ledger in which nothing was charged counts for nothing.
        """
        held = location = Hidden.of(location)  # a URL may hold a password: no variable of this call shows it
        if not isinstance(charter, Mapping) or set(charter) != set(history.CHARTER):
            raise ParameterError.of(
                kind_of(charter), f"a charter has {', '.join(history.CHARTER)}", "give each of these, and nothing else"
            )
        opening = State(totals(account), charges=0, terms=1)
        ledger_location, made = locate(held), False
        called, identity = str(ledger_location), ledger_location.identity
        about = canonical([charter["dataset"], charter["schema"]], "charter") if recognised else None
        registry = KnownLedgers(identity, called, about, passing=ledger_location.passing)
        if not ledger_location.exists() and begins(ledger_location, registry, Place(identity, check), existing):
            if existing:
                raise no_ledger(called, "does not exist", "give the place of the ledger, or leave out existing=True")
            # two ledgers that are begun in one second under one charter are two: the first row's hash tells them apart
            own = secrets.token_hex(16)
            format_ = max(ledger_location.format, least_format)
            first = Row.after(None, "charter", opening, format=format_, charter=charter, ledger=own)
            made = ledger_location.create(lambda connection: rows.append(connection, first))
        beside = ledger_location.beside()
        if beside.state == "other":  # before anything is written there
            raise earlier.no_note(called, beside.what)
        who = owner or Owner.here()
        if ledger_location.keeps_note and not made:  # before anybody takes a turn, which is noted in the same place
            looking = ledger_location.store(writable=False)
            try:
                _known(ledger_location, looking, registry, Place(identity, check), beside, existing)
            finally:
                looking.close()
        about_it: dict[str, Any] = {"made": made, "person": person or "", "registry": registry, "holds": holds}
        ledger = cls(ledger_location, ledger_location.store(), who, check, **about_it)
        try:
            ledger._store.prepare()
            ledger._store.read(_ours(ledger._store))
            ledger._store.write(_made_ready)
        except LedgerReadOnly:
            ledger._store.close()
            ledger = cls(ledger_location, ledger_location.store(writable=False), who, check, **about_it)
            ledger._store.read(_ours(ledger._store))
        if not ledger_location.keeps_note and not made:
            _known(ledger_location, ledger._store, registry, Place(identity, check), beside, existing)

        def look(connection: Connection) -> None:
            history.compare(connection, charter)
            ledger._person = person or ledger._store.login(connection)

        ledger._look(look)
        ledger.known_account()
        audit = ledger._chain.audit
        ledger._store.first = audit.hash_of(1)
        if ledger._store.writable and audit.last is not None:
            ledger._store.note((audit.last.seq, audit.last.hash))
            registry.keep(Note(ledger._store.first, audit.last.seq, audit.last.hash))
        return ledger

    @classmethod
    def read(
        cls, location: str | Path | Hidden[Any], *, check: Check | None = None, holds: Holds | None = None
    ) -> Ledger:
        """Open an existing ledger for looking, whatever its charter.

        Parameters
        ----------
        location : path or URL
            The place of a file, or the URL of a database.
        check : Check, optional
            Knows the arithmetic of accounts; each row is held against it.
        holds : Holds, optional
            Knows what an answer says of its own price, for `verify`.

        Returns
        -------
        Ledger
            The ledger. Nothing can be charged through it.

        Raises
        ------
        LedgerError
            If there is none in this place.
        LedgerFormat
            If it is no ledger of this version or an earlier one.
        """
        held = location = Hidden.of(location)
        ledger_location = _existing(held)
        ledger = cls(ledger_location, ledger_location.store(writable=False), Owner.here(), check, holds=holds)
        ledger._store.read(rows.charter)
        return ledger

    @classmethod
    def set_aside(cls, location: str | Path | Hidden[Any]) -> Path:
        """Give a ledger file that has its charter alone another name, so that one can be begun in its place.

        Parameters
        ----------
        location : path
            The place of the file.

        Returns
        -------
        Path
            Where the ledger lies now. Sessions that have it open can charge nothing any more.

        Raises
        ------
        LedgerError
            If something was charged in it or its budget was raised, or it lies on a server.
        LedgerCorrupt
            If its first row does not hold.
        """
        held = location = Hidden.of(location)
        ledger_location = _existing(held)
        if not isinstance(ledger_location, File):
            rule, step = "a ledger on a server stays where it is", "give the ledger's own charter, or another schema"
            raise LedgerError(f"{rule}; {step}", value=str(ledger_location), rule=rule, next_step=step)

        def unspent(connection: Connection) -> None:
            if Audit.of(rows.every(connection)).last != rows.row_at(connection, 1):
                rule, step = (
                    "a ledger in which something was charged or raised stays in its place",
                    "give its own charter",
                )
                raise LedgerError(
                    f"{ledger_location}: {rule}; {step}", value=str(ledger_location), rule=rule, next_step=step
                )

        return ledger_location.set_aside(unspent)

    def for_caller(self, asked_by: Mapping[str, str], within: Within | None = None) -> Ledger:
        """Return a handle on the same ledger, all of whose charges and uses say for whom they are.

        Parameters
        ----------
        asked_by : mapping
            Name, project and proof of the caller, as texts. The name stands as the person beside each charge, too.
        within : callable, optional
            Checks each charge in its transaction, given the amounts charged so far for each caller and project.

        Returns
        -------
        Ledger
            A handle that shares the connections and the checked chain of this one, and holds draws of its own. An entry
            that is open for uses can be used through it only by the caller who opened it.

        Raises
        ------
        KeyError
            If the mapping has no name.
        """
        handle = copy.copy(self)
        handle._own, handle._pid = Owner.here(), os.getpid()
        handle._asked_by, handle._person, handle._within = dict(asked_by), asked_by["name"], within
        handle._glanced = {}
        return handle

    # ------------------------------------------------------------ transactions

    def _look(self, work: Callable[[Connection], T], read: Callable[[Callable[[Connection], T]], T] | None = None) -> T:
        """Read, once what was written since the last look holds too.

        On a server another thread may write, and so know more than is in this view: then it is looked once more, and
        that thread waits.
        """
        seen, noted = self._chain.seen, self._store.noted()
        self._recall()
        viewed, still = [0], False

        def looking(connection: Connection) -> T:
            with self._chain.still() if still else contextlib.nullcontext():  # before anything is read: a view begins
                self._store.unchanged(connection)
                viewed[0] = self._chain.follow(connection, seen, noted, self._whole, self._check)
                return work(connection)

        while True:
            try:
                result = (read or self._store.read)(looking)
                break
            except Anew:
                continue
            except LedgerCorrupt:
                if (still or not self._chain.beyond(viewed[0])) and not self._doubt():
                    raise
            still = True
        with self._store.unforked():
            self._chain.keep()
        return result

    def _change(
        self, work: Callable[[Connection], T], *, wanted: Wanted | None = None, patience: float | None = None
    ) -> T:
        """Write, once what was written since the last look holds too; and remember the row that was written last."""
        seen, noted = self._chain.seen, self._store.noted()
        self._recall()
        appended: list[Row] = []

        def changing(connection: Connection) -> T:
            try:
                self._store.unchanged(connection)
                self._chain.follow(connection, seen, noted, self._whole, self._check)
                result = work(connection)
            except LedgerCorrupt:
                if self._chain.doubt():  # nothing of this transaction is written
                    raise Anew from None
                raise
            appended[:] = rows.written(connection)
            return result

        while True:
            try:
                result = self._store.write(changing, wanted=wanted, patience=patience)
                break
            except Anew:
                appended.clear()
        with self._store.unforked():
            self._chain.wrote(appended)
            self._chain.keep()
            if appended and self._registry is not None and self._store.first is not None:
                self._registry.went_on(Note(self._store.first, appended[-1].seq, appended[-1].hash))
        return result

    def _doubt(self) -> bool:
        with self._store.unforked():
            return self._chain.doubt()

    def _recall(self) -> None:
        with self._store.unforked():
            self._chain.recall()

    def _whole(self, connection: Connection, *, head: str | None = None, check: Check | None = None) -> Audit:
        """Everything that can be said against a ledger: of its database, its rows, its index, its answers."""
        rows.charter(connection)
        self._store.schema(connection)
        self._store.check(connection)
        audit = _audit(connection, head=head, check=check or self._check)
        blobs.check(connection, audit.blobs)
        return audit

    @property
    def _last(self) -> Row:
        """The last row, inside a transaction that writes: nobody else can add one."""
        last = self._chain.audit.last
        assert last is not None
        return last

    @property
    def on_wait(self) -> Callable[[str], None] | None:
        """Told in one sentence who holds the ledger, where it is waited for longer than a second.

        Without it the sentence goes to the standard error. It is called on whichever thread waits.
        """
        return self._store.on_wait

    @on_wait.setter
    def on_wait(self, told: Callable[[str], None] | None) -> None:
        self._store.on_wait = told

    @property
    def is_new(self) -> bool:
        """Whether opening made this ledger, and nothing was charged since."""
        return self._made and not self._look(lambda _: self._chain.audit.state.charges)

    @property
    def read_only(self) -> bool:
        """Whether nothing can be charged here: the ledger was opened for looking, or cannot be written."""
        return not self._store.writable

    def __repr__(self) -> str:
        return f"<Ledger {self.name}>"

    @property
    def name(self) -> str:
        """Its short name: of the file, or of the database. No folder, no host, no password."""
        return self._location.name

    @property
    def location(self) -> str:
        """Where it is, for a person: the path of the file, or the database and its schema."""
        return str(self._location)

    @property
    def owner(self) -> Owner:
        """Who charges through this ledger: this object, in this process. After a fork the child is another."""
        if self._pid != os.getpid():
            self._own, self._pid = Owner.here(), os.getpid()
        return self._own

    @property
    def person(self) -> str:
        """Who charges through this ledger, as they say or as the system or database knows them. Nobody proves it."""
        return self._person

    @property
    def charter(self) -> dict[str, Any]:
        """Dataset, schema, unit, and the budget now in force."""
        return self._look(rows.charter)

    @property
    def account(self) -> dict[str, str]:
        """The accountant's totals after the last row."""
        return self._look(lambda connection: dict(rows.last(connection).state.account))

    @property
    def spending(self) -> Spending:
        """The amounts charged so far for each caller and project, as the chain has them."""
        return self._look(lambda _: self._chain.audit.spending.copy())

    def known_account(self) -> Known:
        """Return the accountant's totals; those last seen where the server is away.

        Returns
        -------
        Known
            Totals, and since when they are known.
        """
        return self._glance("account", lambda connection: dict(rows.last(connection).state.account))

    def known_sub_account(self, number: int) -> Known:
        """Return the sub-account of an open entry; the one last seen where the server is away.

        Parameters
        ----------
        number : int
            The number of the entry.

        Returns
        -------
        Known
            The balance, and since when it is known.

        Raises
        ------
        LedgerAway
            If the server is away and was never asked before.
        """
        return self._glance(f"entry {number}", lambda connection: self._sub(connection, number))

    def _glance(self, name: str, look: Callable[[Connection], dict[str, str]]) -> Known:
        try:
            totals_ = self._look(look, self._store.glance)
        except LedgerAway:
            if name not in self._glanced:
                raise
            return Known(*self._glanced[name])
        self._glanced[name] = totals_, time.time()
        return Known(totals_)

    def head(self) -> str:
        """Return the hash of the last row.

        Returns
        -------
        str
            Noted elsewhere, it later proves that no row was cut off: `verify(head=...)`.
        """
        return self._look(lambda connection: rows.head(connection)[1], self._store.glance)

    # ---------------------------------------------------------------- charging

    def charge(
        self,
        key: str,
        body: Mapping[str, object],
        admit: Callable[[Account], Account],
        *,
        retry: bool = False,
        opens: Account | None = None,
        wanted: Wanted | None = None,
    ) -> Entry:
        """Charge for a key, durably, or return the entry that already answers it.

        Parameters
        ----------
        key : str
            The digest of what is asked.
        body : mapping
            The question, mechanism and price to charge, all public.
        admit : callable
            Pure: turns the totals so far into the next ones, or refuses.
        retry : bool, default False
            Whether to draw anew, paid again, where an earlier draw was lost.
        opens : Account, optional
            The first sub-account: the entry is open for uses at once, and nothing is drawn.
        wanted : Wanted, optional
            Asked before every try; the charge is withdrawn once it says no.

        Returns
        -------
        Entry
            With status "done" it was found: nothing was written, and `answer(number)` is its answer. With "pending" it
            is new, to be drawn and then given to `finish` or `close`. With "open" it is there to be used.

        Raises
        ------
        BudgetExceeded
            If `admit` refuses; whatever it raises is raised.
        SessionBusy
            If the key is being drawn now.
        ReleaseLost
            If its draw was charged and lost and `retry` is false.
        ReleaseCancelled
            If `wanted` says no. A refusal writes nothing.
        """
        _check_key(key)
        body, sub = self._for_whom(body), None if opens is None else totals(opens)

        def work(connection: Connection) -> Entry:
            last = self._last
            found = self._find(connection, CHARGES, key)
            if found is not None and found.status in ANSWERED:
                return found
            if found is not None:
                last = _given_up(connection, last, CHARGES, found, retry)
            before, spending = self._chain.audit.state, self._chain.audit.spending
            state = State(totals(admit(dict(before.account))), before.charges + 1, before.terms)
            if self._within is not None:
                self._within(spending, before.account, state.account, max(spending.time, now()))
            self._must_follow(Step("charge", body, before.account, state.account))
            if sub is not None:
                self._must_follow(Step("open", body, {}, sub))
            row = Row.after(last, "charge", state, number=state.charges, key=key, charge=body, person=self._person)
            if sub is None:
                return CHARGES.begin(connection, row, self.owner)
            made = CHARGES.enter(connection, row)
            return CHARGES.conclude(connection, row, made, "open", sub=sub)[1]

        return self._free(CHARGES, key) or self._begin(work, wanted)

    def reserve(
        self,
        number: int,
        key: str,
        body: Mapping[str, object],
        admit: Callable[[Account], Account],
        *,
        retry: bool = False,
        wanted: Wanted | None = None,
    ) -> UseRecord:
        """Reserve a use of an open entry, durably, or return the use that already answers the key.

        Parameters
        ----------
        number : int
            The number of the entry.
        key : str
            The digest of what is asked.
        body : mapping
            The question that is asked, all public.
        admit : callable
            Pure: turns the sub-account into the one after it, or refuses.
        retry : bool, default False
            Whether to draw anew, paid again, where an earlier draw was lost.
        wanted : Wanted, optional
            Asked before every try; the charge is withdrawn once it says no.

        Returns
        -------
        Use
            With status "done" it was found: nothing was written, and `use_answer(number, use.number)` is its answer.
            With "pending" it is new, to be drawn and then given to `settle` or `fail_use`.

        Raises
        ------
        BudgetExceeded
            If `admit` refuses; whatever it raises is raised.
        LedgerError
            If the entry is not open for uses.
        SessionBusy
            If the key is being drawn now.
        ReleaseLost
            If its draw was lost and `retry` is false.
        ReleaseCancelled
            If `wanted` says no. A refusal writes nothing.
        """
        _check_key(key)
        body = self._for_whom(body)

        def work(connection: Connection) -> UseRecord:
            last, sub = self._last, self._sub(connection, number)
            found = self._find(connection, USES, key, of=number)
            if found is not None and found.status in ANSWERED:
                return found
            if found is not None:
                last = _given_up(connection, last, USES, found, retry, sub=sub)
            self._must_have_opened(number)
            after = _carried(sub, admit(dict(sub)))
            self._must_follow(self._chain.audit.reserving(number, body, after))
            said = {
                "entry": number,
                "number": self._chain.audit.uses_of(number) + 1,
                "key": key,
                "reserve": body,
                "person": self._person,
            }
            return USES.begin(connection, Row.after(last, "reserve", last.state, sub=after, **said), self.owner)

        return self._free(USES, key, of=number) or self._begin(work, wanted)

    def _free(self, statements: RecordStatements[SomeRecord], key: str, **of: int) -> SomeRecord | None:
        """Find the answer of a key, where nothing can be written: looking at it is free, and no more can be had."""
        if self._store.writable or self._check is None:
            return None
        found = self._look(lambda connection: self._find(connection, statements, key, **of))
        return found if found is not None and found.status in ANSWERED else None

    def _for_whom(self, body: Mapping[str, object]) -> Mapping[str, object]:
        """The body of a charge, a use or a request, with the caller who asked, which the handle alone says."""
        if "asked_by" in body:
            raise ParameterError.of("asked_by", "the handle of a caller says who asked", "use Ledger.for_caller")
        return body if self._asked_by is None else {**body, "asked_by": self._asked_by}

    def _must_have_opened(self, number: int) -> None:
        """Refuse a caller the use of an entry that another one opened, whose limits paid for it."""
        if self._asked_by is not None and self._chain.audit.opener(number) != self._asked_by["name"]:
            raise Forbidden.of(
                f"entry {number}",
                "a sub-session is used by the caller who opened it, though all may read its answers",
                'open one of your own, under another key="..."',
            )

    def _must_follow(self, step: Step | None) -> None:
        """Refuse to write what `verify` would refuse."""
        if not self._chain.audit.follows(step):
            kind = "unknown" if step is None else step.kind
            rule = "an account goes on by its own arithmetic, and a use gives back at most what it reserved"
            raise LedgerError(
                f"a row of the kind {kind} was refused: {rule}; this is a fault of the program that wrote it",
                value=kind,
                rule=rule,
                next_step="report it",
            )

    def _begin(self, write: Callable[[Connection], SomeRecord], wanted: Wanted | None) -> SomeRecord:
        """Write, and from the moment that others can see a new draw, be known to draw it."""
        token = self.owner.token
        begun: set[tuple[str, RecordId]] = set()

        def work(connection: Connection) -> SomeRecord:
            made = write(connection)
            if made.mine:
                begun.add((token, made.record_id))
                DRAWING.update(begun)
            return made

        try:
            return self._change(work, wanted=wanted)
        except BaseException as error:  # should the write have succeeded all the same, nobody draws what was charged
            DRAWING.difference_update(begun)
            if not isinstance(error, LedgerAway):
                raise
            away = error
        raise uncharged(away)

    def finish(self, number: int, answer: bytes) -> Entry:
        """Record the answer of a pending charge, which may be shown after this returns and not before.

        Parameters
        ----------
        number : int
            The number of the entry.
        answer : bytes
            The answer as it is stored.

        Returns
        -------
        Entry
            The entry, now done.

        Raises
        ------
        ReleaseLost
            If another kernel gave the draw up as lost meanwhile.
        LedgerFull
            If the answer cannot be stored. The charge stays, and the draw is lost unless `finish` succeeds later.
        """
        return self._close(CHARGES, (number, 0), "done", answer)

    def close(self, number: int, status: Literal["cancelled", "failed"]) -> Entry:
        """Record that a pending charge came to nothing; the charge stays.

        Parameters
        ----------
        number : int
            The number of the entry.
        status : {"cancelled", "failed"}
            The reason.

        Returns
        -------
        Entry
            The entry.

        Raises
        ------
        LedgerError
            If the entry is not pending in this process.
        """
        return self._close(CHARGES, (number, 0), _nothing(status), None)

    def settle(self, number: int, use: int, answer: bytes, adjust: Callable[[Account], Account]) -> UseRecord:
        """Record the answer of a pending use, and give back what it reserved and did not need.

        Parameters
        ----------
        number : int
            The number of the entry.
        use : int
            The number of the use.
        answer : bytes
            The answer as it is stored.
        adjust : callable
            Pure: turns the present sub-account, other uses included, into the next one.

        Returns
        -------
        Use
            The use, now done.

        Raises
        ------
        ReleaseLost
            If another kernel gave the draw up as lost meanwhile.
        LedgerFull
            If the answer cannot be stored. Everything reserved stays used.
        """
        return self._close(USES, (number, use), "done", answer, adjust)

    def fail_use(self, number: int, use: int, status: Literal["cancelled", "failed"]) -> UseRecord:
        """Record that a pending use came to nothing; everything it reserved stays used.

        Parameters
        ----------
        number : int
            The number of the entry.
        use : int
            The number of the use.
        status : {"cancelled", "failed"}
            The reason.

        Returns
        -------
        Use
            The use.

        Raises
        ------
        LedgerError
            If the use is not pending in this process.
        """
        return self._close(USES, (number, use), _nothing(status), None)

    def _close(
        self,
        statements: RecordStatements[SomeRecord],
        record_id: RecordId,
        status: Status,
        answer: bytes | None,
        adjust: Callable[[Account], Account] = dict,
    ) -> SomeRecord:
        def work(connection: Connection) -> SomeRecord | DpvizError:
            found = self._one(connection, statements, record_id)
            if (
                found.status == "done"
                and answer is not None
                and self._answer(connection, statements, record_id) == answer
            ):
                return found  # a repeated `finish` after a write whose success was not heard of
            if found.status not in ANSWERED and found.closed is not None:
                return records.lost(found)
            if not found.mine:
                return records.not_open(found)
            said: dict[str, object] = {} if answer is None else {"answer": blobs.put(connection, answer)}
            if isinstance(found, UseRecord):
                sub = self._sub(connection, found.entry)
                said["sub"] = after = _carried(sub, adjust(dict(sub)))
                self._must_follow(self._chain.audit.settling(found.entry, found.number, after))
            return statements.conclude(connection, self._last, found, status, **said)[1]

        try:
            outcome = self._change(work, patience=PATIENCE)  # it is paid for: not given up as soon
        except LedgerError as error:
            raise records.not_stored(records.named(record_id), error) from None
        finally:
            DRAWING.discard((self.owner.token, record_id))  # recorded or not: nobody draws it any more
        if isinstance(outcome, DpvizError):
            raise outcome
        return outcome

    def renew(self, number: int, use: int = 0) -> None:
        """Record that the draw of a pending entry or use goes on, so that no other machine takes it for lost.

        Parameters
        ----------
        number : int
            The number of the entry.
        use : int, default 0
            The number of the use; 0 for the entry itself.

        Raises
        ------
        LedgerAway
            If the ledger's server does not answer.
        """
        if not self._change(lambda connection: records.renew(connection, (number, use), self.owner)):
            raise records.lost(self.use(number, use) if use else self.entry(number))

    def raise_budget(
        self, budget: Mapping[str, object], widen: Callable[[Account], Account], *, reason: str | None = None
    ) -> None:
        """Put another budget in force, as a row of the chain.

        Parameters
        ----------
        budget : mapping
            The new budget, as the charter writes it.
        widen : callable
            Pure: gives the totals under the new budget, or refuses.
        reason : str, optional
            Why, in the words of the person who raises it.

        Raises
        ------
        LedgerReadOnly
            If the ledger cannot be written.
        ParameterError
            If `widen` refuses; whatever it raises is raised.
        """
        wanted = canonical(budget, "budget")
        why = {} if reason is None else {"reason": reason}

        def work(connection: Connection) -> None:
            last = self._last
            if canonical(rows.charter(connection)["budget"]) == wanted:
                return
            state = State(totals(widen(dict(last.state.account))), last.state.charges, last.seq + 1)
            self._must_follow(Step("raise", budget, last.state.account, state.account))
            rows.append(connection, Row.after(last, "raise", state, budget=budget, person=self._person, **why))

        self._change(work)

    # ---------------------------------------------------------------- requests and decisions

    def request(self, key: str, body: Mapping[str, object]) -> DecisionRequest:
        """Record a request for a decision, durably, or return the one that was made under the key.

        Parameters
        ----------
        key : str
            The digest of what is asked for.
        body : mapping
            The order that waits, all public.

        Returns
        -------
        DecisionRequest
            The request, with its decision where there is one. It changes no account.

        Raises
        ------
        SessionBusy
            If too many requests of the caller wait.
        LedgerError
            If the ledger cannot be written.
        """
        _check_key(key)
        body = self._for_whom(body)

        def work(connection: Connection) -> DecisionRequest:
            index, last = self._chain.audit.requests, self._last
            known = index.keys.get(key)
            if known is not None:
                return self._request(connection, known)
            asker = "" if self._asked_by is None else self._asked_by["name"]
            if index.waiting.get(asker, 0) >= requests.MOST_WAITING:
                raise requests.too_many()
            said = {"number": len(index.seqs) + 1, "key": key, "request": body, "person": self._person}
            return _request_of(rows.append(connection, Row.after(last, "request", last.state, **said)))

        return self._change(work)

    def decide(
        self,
        number: int,
        verdict: Verdict,
        body: Mapping[str, object],
        instead: tuple[str, Mapping[str, object]] | None = None,
    ) -> DecisionRequest:
        """Record the decision about a request, once and for all.

        Parameters
        ----------
        number : int
            The number of the request.
        verdict : {"approve", "refuse", "instead"}
            The decision.
        body : mapping
            Its reason; all public.
        instead : tuple of str and mapping, optional
            Key and body of the request that is approved in place of this one, for the same asker, in the same step.

        Returns
        -------
        DecisionRequest
            The request with its decision. It changes no account.

        Raises
        ------
        LedgerError
            If there is no such request, or it was decided; or the one in its place was refused.
        Forbidden
            If the caller of this handle asked for it.
        ParameterError
            If there is no such verdict, or nothing in its place where the verdict says so.
        """
        one_word(verdict, "verdict", requests.VERDICTS)
        if (verdict == "instead") != (instead is not None):
            raise ParameterError.of(verdict, "a request is decided by what is approved in its place", "give its key")
        by = self._asked_by or {"name": self._person, "project": "", "proof": ""}

        def work(connection: Connection) -> DecisionRequest:
            last, found = self._last, self._request(connection, number)
            if found.decision is not None:
                raise requests.decided(found)
            if found.asked_by.get("name") == by["name"]:
                raise requests.own(found)
            decision = {**body, "decided_by": by}
            said = {"number": number, "verdict": verdict, "decision": decision, "person": self._person}
            row = rows.append(connection, Row.after(last, "decision", last.state, **said))
            if instead is not None:
                self._approve_instead(connection, row, found, *instead, decision)
            return replace(found, decision=_decision_of(row))

        return self._change(work)

    def _approve_instead(
        self,
        connection: Connection,
        last: Row,
        found: DecisionRequest,
        key: str,
        body: Mapping[str, object],
        decision: Mapping[str, object],
    ) -> None:
        """Approve another request of the same asker, which is made here unless it was made before."""
        _check_key(key)
        index = self._chain.audit.requests
        number = index.keys.get(key, len(index.seqs) + 1)
        if number == found.number:
            raise ParameterError.of(number, "a request is approved in place of another one", "approve it as it is")
        if number in index.seqs:
            other = self._request(connection, number)
            if other.state == "approve":
                return
            if other.decision is not None:
                raise requests.decided(other)
        else:
            asked = {**body, **({"asked_by": found.asked_by} if found.asked_by else {}), "in_place_of": found.number}
            said: dict[str, object] = {"number": number, "key": key, "request": asked, "person": found.person}
            last = rows.append(connection, Row.after(last, "request", last.state, **said))
        approved = {"number": number, "verdict": "approve", "decision": decision, "person": self._person}
        rows.append(connection, Row.after(last, "decision", last.state, **approved))

    @single_arguments
    def requests(self, *, waiting: bool = False, last: int | None = None) -> list[DecisionRequest]:
        """List requests in order.

        Parameters
        ----------
        waiting : bool, default False
            Whether to list those alone that have no decision.
        last : int, optional
            The most requests to list, from the end.

        Returns
        -------
        list[DecisionRequest]
            The requests, with their decisions.

        Raises
        ------
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """

        def work(connection: Connection) -> list[DecisionRequest]:
            index = self._chain.audit.requests
            numbers = index.undecided() if waiting else list(index.seqs)
            listed = numbers if last is None else numbers[max(0, len(numbers) - last) :]
            return [self._request(connection, number) for number in listed]

        return self._look(work)

    @single_arguments
    def find_request(self, key: str) -> DecisionRequest | None:
        """Find the request that was made under a key.

        Parameters
        ----------
        key : str
            The digest of what is asked for.

        Returns
        -------
        DecisionRequest or None
            The request; None where there is none.

        Raises
        ------
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """

        def work(connection: Connection) -> DecisionRequest | None:
            known = self._chain.audit.requests.keys.get(key)
            return None if known is None else self._request(connection, known)

        return self._look(work)

    @single_arguments
    def request_at(self, number: int) -> DecisionRequest:
        """Return one request.

        Parameters
        ----------
        number : int
            The number of the request.

        Returns
        -------
        DecisionRequest
            The request, with its decision where there is one.

        Raises
        ------
        LedgerError
            If there is no such request.
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """
        return self._look(lambda connection: self._request(connection, number))

    def _request(self, connection: Connection, number: int) -> DecisionRequest:
        audit = self._chain.audit
        if type(number) is not int or number not in audit.requests.seqs:
            raise requests.no_request(number)
        key, _, asked, decided = audit.requests.seqs[number]
        found = _request_of(records.on_chain(rows.row_at(connection, asked), audit))
        assert (found.number, found.key) == (number, key)
        if not decided:
            return found
        return replace(found, decision=_decision_of(records.on_chain(rows.row_at(connection, decided), audit)))

    # ---------------------------------------------------------------- looking

    @single_arguments
    def entries(self, *, last: int | None = None, before: int | None = None) -> list[Entry]:
        """List charges in order.

        Parameters
        ----------
        last : int, optional
            The most entries to list, from the end.
        before : int, optional
            List entries before this number only.

        Returns
        -------
        list[Entry]
            The charges.

        Raises
        ------
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """
        return self._page(CHARGES.lately, last, before, lambda before, most: range(max(1, before - most), before))

    @single_arguments
    def finished(self, *, last: int | None = None, before: int | None = None) -> list[Entry]:
        """List charges with an answer, in order.

        Parameters
        ----------
        last : int, optional
            The most entries to list, from the end.
        before : int, optional
            List entries before this number only.

        Returns
        -------
        list[Entry]
            The charges.

        Raises
        ------
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """
        return self._page(CHARGES.done, last, before, lambda before, most: self._chain.audit.done(before, most))

    def _page(
        self,
        query: Statement,
        last: int | None,
        before: int | None,
        numbers: Callable[[int, int], Sequence[int]],
    ) -> list[Entry]:
        """A page of the index, once it is seen to lack none of the numbers that the chain has."""

        def work(connection: Connection) -> list[Entry]:
            charges = self._chain.audit.state.charges
            most = charges if last is None else min(max(0, last), charges)
            until = charges + 1 if before is None else min(max(0, before), charges + 1)
            found = self._fetch(connection, CHARGES, query, most=most, before=until)[::-1]
            _lacks_none([(number, 0) for number in numbers(until, most)], found)
            return found

        return self._look(work)

    @property
    def finished_count(self) -> int:
        """How many charges have an answer, as the chain has it."""
        return self._look(lambda _: self._chain.audit.finished)

    @property
    def finished_numbers(self) -> list[int]:
        """The numbers of the charges with an answer, in order."""

        def work(_: Connection) -> list[int]:
            audit = self._chain.audit
            return audit.done(audit.state.charges + 1, audit.state.charges)

        return self._look(work)

    @single_arguments
    def entry(self, number: int) -> Entry:
        """Return one charge.

        Parameters
        ----------
        number : int
            The number of the entry.

        Returns
        -------
        Entry
            The charge.

        Raises
        ------
        LedgerError
            If there is no such entry.
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """
        return self._look(lambda connection: self._one(connection, CHARGES, (number, 0)))

    @single_arguments
    def find(self, key: str) -> Entry | None:
        """Find the latest charge for a key.

        Parameters
        ----------
        key : str
            The digest of what was asked.

        Returns
        -------
        Entry or None
            The entry; None where nothing was charged for the key.

        Raises
        ------
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """
        return self._look(lambda connection: self._find(connection, CHARGES, key))

    def pending(self) -> list[Entry]:
        """List charges without a recorded outcome.

        Returns
        -------
        list of Entry
            "pending", `mine` or another kernel's, or "lost".
        """
        return self._each(lambda audit: audit.pending)

    def opened(self) -> list[Entry]:
        """List the charges that are open for uses, in order.

        Returns
        -------
        list[Entry]
            The charges.
        """
        return self._each(lambda audit: audit.opened)

    def _each(self, numbers: Callable[[Audit], list[int]]) -> list[Entry]:
        return self._look(
            lambda connection: [self._one(connection, CHARGES, (number, 0)) for number in numbers(self._chain.audit)]
        )

    def raises(self) -> list[Raise]:
        """List every raise of the budget, in order.

        Returns
        -------
        list[Raise]
            The raises.
        """
        return self._look(history.raises)

    @single_arguments
    def answer(self, number: int) -> bytes:
        """Return the stored answer of an entry whose status is "done".

        Parameters
        ----------
        number : int
            The number of the entry.

        Returns
        -------
        bytes
            The answer as it is stored.

        Raises
        ------
        LedgerError
            If there is no such entry.
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """
        return self._look(lambda connection: self._answer(connection, CHARGES, (number, 0)))

    @single_arguments
    def sub_account(self, number: int) -> dict[str, str]:
        """Return the sub-account of an open entry after its last use.

        Parameters
        ----------
        number : int
            The number of the entry.

        Returns
        -------
        dict[str, str]
            The balance, as texts by name.

        Raises
        ------
        LedgerError
            If there is no such entry.
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """
        return self._look(lambda connection: self._sub(connection, number))

    @single_arguments
    def uses(self, number: int) -> list[UseRecord]:
        """List all uses of an open entry, in the order of reserving.

        Parameters
        ----------
        number : int
            The number of the entry.

        Returns
        -------
        list[Use]
            The uses.

        Raises
        ------
        LedgerError
            If there is no such entry.
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """

        def work(connection: Connection) -> list[UseRecord]:
            self._sub(connection, number)
            found = self._fetch(connection, USES, USES.every, of=number)[::-1]
            _lacks_none([(number, use) for use in range(1, self._chain.audit.uses_of(number) + 1)], found)
            return found

        return self._look(work)

    @single_arguments
    def use(self, number: int, use: int) -> UseRecord:
        """Return one use of an open entry.

        Parameters
        ----------
        number : int
            The number of the entry.
        use : int
            The number of the use.

        Returns
        -------
        Use
            The use.

        Raises
        ------
        LedgerError
            If there is no such entry.
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """
        return self._look(lambda connection: self._one(connection, USES, (number, use)))

    @single_arguments
    def find_use(self, number: int, key: str) -> UseRecord | None:
        """Find the latest use of an open entry for a key.

        Parameters
        ----------
        number : int
            The number of the entry.
        key : str
            The digest of what was asked.

        Returns
        -------
        Use or None
            The use; None where there is none.

        Raises
        ------
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """

        def work(connection: Connection) -> UseRecord | None:
            self._sub(connection, number)
            return self._find(connection, USES, key, of=number)

        return self._look(work)

    @single_arguments
    def use_answer(self, number: int, use: int) -> bytes:
        """Return the stored answer of a use whose status is "done".

        Parameters
        ----------
        number : int
            The number of the entry.
        use : int
            The number of the use.

        Returns
        -------
        bytes
            The answer as it is stored.

        Raises
        ------
        LedgerError
            If there is no such entry.
        LedgerCorrupt
            If the ledger is broken, or older than what was seen of it.
        """
        return self._look(lambda connection: self._answer(connection, USES, (number, use)))

    def _answer(self, connection: Connection, statements: RecordStatements[SomeRecord], record_id: RecordId) -> bytes:
        found = self._one(connection, statements, record_id)
        if found.status != "done":
            raise records.no_answer(found)
        at = statements.outcome.first(connection, **statements.where(record_id))[0]
        row = records.on_chain(rows.row_at(connection, at), self._chain.audit)
        said = row.content.get("answer")
        if row.kind != statements.closes or records.record_id_of(row) != record_id or said is None:
            raise broken(f"the index takes row {row.seq} for the answer of {found.name}")
        return blobs.get(connection, said)

    def _sub(self, connection: Connection, number: int) -> dict[str, str]:
        """The sub-account of an open entry, as the row carries it that last opened, reserved or settled."""
        record = _CARRIER.first(connection, of=number)
        row = None if record is None else records.on_chain(Row.read(record), self._chain.audit)
        sub = None if row is None else row.content.get("sub")
        if row is None or sub is None:
            found = self._one(connection, CHARGES, (number, 0))
            raise records.not_for_use(found) if found.status != "open" else broken(f"entry {number} has no sub-account")
        if records.record_id_of(row)[0] != number or self._chain.audit.sub(number) != sub:
            raise broken(f"the index takes row {row.seq} for the sub-account of entry {number}")
        return dict(sub)

    def _one(self, connection: Connection, statements: RecordStatements[SomeRecord], record_id: RecordId) -> SomeRecord:
        found = self._fetch(connection, statements, statements.one, **statements.where(record_id))
        if not found:
            of, at = record_id
            if self._chain.audit.at(record_id) is not None:
                raise _lacking(record_id)
            if at:
                raise ParameterError.of(at, "a use has the number of a reserve", f"ledger.uses({of}) lists them")
            raise ParameterError.of(of, "an entry has the number of a charge", "ledger.entries() lists them")
        return found[0]

    def _find(
        self, connection: Connection, statements: RecordStatements[SomeRecord], key: str, **of: int
    ) -> SomeRecord | None:
        """The latest charge, or use, for a key."""
        found = next(iter(self._fetch(connection, statements, statements.latest, key_=key, **of)), None)
        if (None if found is None else found.number) != self._chain.audit.latest(key, **of):
            raise broken("the index does not say of a key what the chain says")
        return found

    def _fetch(
        self, connection: Connection, statements: RecordStatements[SomeRecord], query: Statement, **where: object
    ) -> list[SomeRecord]:
        return statements.fetch(connection, query, self.owner, self._chain.audit, **where)

    # ---------------------------------------------------------------- keeping

    @single_arguments
    def verify(self, *, head: str | None = None, check: Check | None = None) -> Verification:
        """Read everything again: the file, every row, every answer, the index.

        Of a session's ledger each entry is held against what it paid for, too: its price against the guarantee, the
        parameters and the law of its answer, and the amount that a use gave back against the amount that its answer
        left unused.

        Parameters
        ----------
        head : str, optional
            A hash of a last row that was noted earlier. A chain cannot show by itself that its last rows were cut off,
            or the whole replaced by an older copy; a head can.
        check : Check, optional
            Knows the arithmetic of sub-accounts, which the ledger does not.

        Returns
        -------
        Verification
            How many rows, entries and answers hold.

        Raises
        ------
        LedgerCorrupt
            If something does not hold; the message says where.
        """

        seen, noted = self._chain.seen, self._store.noted()
        self._recall()

        def work(connection: Connection) -> Audit:
            audit = self._whole(connection, head=head, check=check)
            assert audit.last is not None
            if seen is not None and audit.last.seq < seen[0]:
                raise following.older()
            if seen is not None and audit.hash_of(seen[0]) != seen[1]:
                raise following.other_rows()
            following.compare(audit, audit.last.seq, noted)
            self._chain.compare(connection, noted)
            if self._holds is not None:
                self._holds(rows.every(connection), lambda said: blobs.get(connection, said))
            return audit

        try:
            audit = self._store.read(work)
        except LedgerCorrupt:
            self._doubt()
            raise
        found = audit.verification()
        if audit.check == self._check:  # else a weaker one may have let pass what this one refuses
            with self._store.unforked():
                self._chain.start(audit)
                self._chain.keep()
        return found

    def detach(self) -> None:
        """Let go of the file, all written to it and nothing beside it, or of the server. The next call is back."""
        self._store.close()

    @classmethod
    def rebuild_index(cls, location: str | Path | Hidden[Any]) -> None:
        """Derive the index of a ledger anew from its chain.

        Parameters
        ----------
        location : path or URL
            The place of a file, or the URL of a database.

        Raises
        ------
        LedgerCorrupt
            If the chain does not hold.
        """
        held = location = Hidden.of(location)

        def work(connection: Connection) -> None:
            rows.charter(connection)
            audit = Audit.of(rows.every(connection))
            _made_ready(connection)
            connection.execute(entry.delete())
            connection.execute(use.delete())
            for found in audit.index.values():
                CHARGES.add.change(connection, **rows.columns(found))
            for (of, _), found in audit.uses.items():
                USES.add.change(connection, entry=of, **rows.columns(found))

        _existing(held).store().write(work)

    def backup(self, path: str | Path | Hidden[Any]) -> Verification:
        """Copy the ledger into a new SQLite file, verified before it appears. Others may write meanwhile.

        Using a copy in place of the original forgets the charges made since: they were spent all the same.

        Parameters
        ----------
        path : path
            The place of the copy, where no file is yet.

        Returns
        -------
        Verification
            The result of verifying the copy.

        Raises
        ------
        LedgerError
            If there is a file in that place, or the copy does not hold.
        """
        held = path = Hidden.of(path)
        target = locate_file(held)
        with target.copied(self._store.copy_to) as copy:
            return Ledger(target, copy, self.owner, self._check, remembers=False, holds=self._holds).verify()


BESIDE = "the -lock file beside it notes"
REMEMBERS = "this machine remembers"


def begins(location: LedgerLocation, registry: KnownLedgers, place: Place, existing: bool | None) -> bool:
    """Whether a ledger begins here: refused where an earlier one is known, unless existing=False says that it is."""
    beside, memory = location.beside(), None if location.passing else place.load()
    found = registry.here() + registry.about()
    if beside.note is not None and all(one.note != beside.note for one in found):
        found.insert(0, Earlier(BESIDE, beside.note))
    elif beside.state in ("emptied", "held"):
        found.insert(0, Earlier("the -lock file beside it, which was emptied, tells of", None))
    if memory is not None and all(one.note is None or one.note.chain != memory.note.chain for one in found):
        found.append(Earlier(REMEMBERS, memory.note))
    found = [one for one in found if one.charged]
    if (found or beside.state == "other") and location.exists():
        return False  # somebody made it meanwhile
    if beside.state == "other":
        raise earlier.no_note(str(location), beside.what)
    if found and existing is not False:
        raise earlier.begun_anew(str(location), found)
    if found:
        registry.put_aside(found, "left")
    if not existing:
        place.forget()
    return True


def _known(
    location: LedgerLocation,
    store: Store,
    registry: KnownLedgers,
    place: Place,
    beside: Beside,
    existing: bool | None,
) -> None:
    """Hold the ledger in a place against what is known of it and of the place; with existing=False go on all the same.

    beside  what lay beside it before it was looked at
    """
    called = str(location)
    chain = store.read(lambda connection: rows.hash_at(connection, 1))
    if chain is None:
        return  # the look that follows says what is wrong
    others, same = [one for one in registry.here(chain) if one.charged], registry.of(chain)
    if beside.note is not None and beside.note.chain != chain:
        others = [one for one in (Earlier(BESIDE, beside.note),) if one.charged] + others
    memory = place.load()
    if location.passing and memory is not None and memory.note.chain != chain:
        memory = None
    noted = beside.note if beside.note is not None and beside.note.chain == chain else None
    if memory is not None and memory.note.chain != chain and not others:
        others = [Earlier(REMEMBERS, memory.note)]
    notes = [one.note for one in same] + [noted, None if memory is None else memory.note]
    wanted = {note.seq for note in notes if note is not None}

    def hashes(connection: Connection) -> tuple[int, str, dict[int, str | None]]:
        return *rows.head(connection), {seq: rows.hash_at(connection, seq) for seq in wanted}

    seq, hash_, there = store.read(hashes)

    def behind(note: Note | None) -> bool:
        return note is not None and note.chain == chain and there[note.seq] != note.hash

    ahead = [one for one in same if behind(one.note)]
    known = any(one.note is not None for one in same)
    emptied = beside.state == "emptied" and seq > 1 and not known and location.beside().state == "emptied"
    if existing is False:
        registry.put_aside(others, "left")
        registry.put_aside(ahead, "gone")
        if memory is not None and (memory.note.chain != chain or behind(memory.note)):
            place.forget()
        if others or ahead or emptied or behind(noted):
            store.first = chain
            store.note((seq, hash_), anew=True)
    elif others:
        raise earlier.another(called, others)
    elif ahead and not behind(noted) and not behind(None if memory is None else memory.note):
        # what the note beside it says, or the check that is remembered, is told by the look that follows
        raise earlier.older(called, seq, ahead)
    elif emptied:
        raise earlier.emptied(called)


def _existing(held: Hidden[Any]) -> LedgerLocation:
    ledger_location = locate(held)
    if not ledger_location.exists():
        raise no_ledger(str(ledger_location), "does not exist", "give the place of a ledger; a session makes one")
    return ledger_location


# ---------------------------------------------------------------- steps of a transaction

_INDEX = Statement(select(entry).order_by(entry.c.number))
_USES = Statement(select(use).order_by(use.c.entry, use.c.number))
_CARRIERS = union_all(
    select(entry.c.outcome.label("seq")).where(entry.c.number == bindparam("of")),
    select(func.max(use.c.charge)).where(use.c.entry == bindparam("of")),
    select(func.max(use.c.outcome)).where(use.c.entry == bindparam("of")),
).subquery()
_CARRIER = Statement(select(chain).where(chain.c.seq == select(func.max(_CARRIERS.c.seq)).scalar_subquery()))


def _ours(store: Store) -> Callable[[Connection], None]:
    """Whether this is a ledger of ours, of a format that we know and with nothing else in it: before it is touched."""

    def look(connection: Connection) -> None:
        rows.charter(connection)
        store.schema(connection)

    return look


def _made_ready(connection: Connection) -> None:
    """Make the tables that an older dpviz did not have; ask to write in any case, to be refused now and not later."""
    tables.complete(connection)
    records.touch(connection)


def _request_of(row: Row) -> DecisionRequest:
    told = row.content
    return DecisionRequest(told["number"], told["key"], told["request"], told["at"], told.get("person", ""))


def _decision_of(row: Row) -> Decision:
    told = row.content
    return Decision(told["verdict"], told["decision"], told["at"], told.get("person", ""))


def _given_up(
    connection: Connection,
    last: Row,
    statements: RecordStatements[SomeRecord],
    found: SomeRecord,
    retry: bool,
    **said: object,
) -> Row:
    """The last row, once a draw of the same key is known to be over and its loss is written. It may be refused."""
    if found.status == "pending":
        raise records.busy(found)
    if not retry:
        raise records.lost(found)
    if found.closed is not None:
        return last
    return statements.conclude(connection, last, found, "lost", **said)[0]


def _carried(before: Account, after: Account) -> dict[str, str]:
    """The next sub-account, as a row carries it."""
    if after.keys() != before.keys():
        raise ParameterError.of(
            ", ".join(map(str, after)),
            f"this sub-account has {', '.join(before)}",
            "give each of these, and nothing else",
        )
    return totals(after)


def _lacks_none(expected: Sequence[RecordId], found: Sequence[LedgerRecord]) -> None:
    """Refuse an index that leaves out what is on the chain. Other content was refused when it was read."""
    missing = set(expected) - {one.record_id for one in found}
    if missing:
        raise _lacking(min(missing))


def _lacking(record_id: RecordId) -> LedgerCorrupt:
    return broken(f"the index lacks {records.named(record_id)}")


def _nothing(status: Status) -> Status:
    if status not in ("cancelled", "failed"):
        raise ParameterError.of(
            status, 'a draw without an answer is closed as "cancelled" or "failed"', "close it as one of these"
        )
    return status


def _check_key(key: str) -> None:
    if not isinstance(key, str) or not _KEY.match(key):
        raise ParameterError.of(
            key, "a key is a digest of 32 to 128 hexadecimal digits", "make one with hashlib.sha256"
        )


def _audit(connection: Connection, *, head: str | None = None, check: Check | None = None) -> Audit:
    """The whole chain, and the index against it."""
    rows.charter(connection)
    audit = Audit.of(rows.every(connection), head=head, check=check)
    kept: dict[RecordId, IndexRow] = {(record[0], 0): IndexRow(*record) for record in _INDEX.all(connection)}
    kept |= {(of, record[0]): IndexRow(*record) for of, *record in _USES.all(connection)}
    implied = {(number, 0): row for number, row in audit.index.items()} | audit.uses
    for record_id in sorted(kept.keys() | implied.keys(), key=str):  # a damaged index may hold texts for numbers
        if kept.get(record_id) != implied.get(record_id):
            raise LedgerCorrupt(
                f"the chain holds, but the index is wrong about {records.named(record_id)}; "
                "`dpviz ledger verify --rebuild-index` derives it anew",
                value=records.named(record_id),
                rule="the index says what the chain says",
                next_step="run `dpviz ledger verify --rebuild-index`",
            )
    return audit


protect_module(vars())
