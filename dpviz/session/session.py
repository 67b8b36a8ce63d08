"""The one place where data, price, chance and record meet."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dpviz.boundary import Hidden, as_given, plain_arguments, protect_module, shown, single, single_arguments
from dpviz.datasets import NAMES as PRACTICE
from dpviz.engines import as_source
from dpviz.engines.sources import UNNAMED
from dpviz.errors import (
    CharterMismatch,
    Forbidden,
    LedgerError,
    LedgerFormat,
    ParameterError,
    UnitError,
    unwritable,
)
from dpviz.exact import Number
from dpviz.mechanisms import OPENINGS, list_opening
from dpviz.model.bought_together import purchase_json
from dpviz.model.identity import release_key
from dpviz.model.mechanism import Bound, Mechanism, Mode
from dpviz.model.opening import ListOpening, Opening
from dpviz.model.source import Source, TopRules
from dpviz.model.statistic import Column
from dpviz.model.ways import Way, Ways, best, released
from dpviz.names import meant
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.limits import Limits
from dpviz.privacy.unit import Unit, known_unit
from dpviz.session import accountant, arithmetic, choosing, holding, probing
from dpviz.session.accountant import Budget, Remaining
from dpviz.session.binding import (
    asked_of,
    bind,
    bind_profile,
    bind_then,
    bind_ways,
    check_alone,
    check_apart,
    check_askable,
    check_plain,
    check_single,
    exact,
    mode_of,
)
from dpviz.session.callers import Caller, checked_caller
from dpviz.session.charge import Charge, DeclaredAnswer, checked_key, checked_person, checked_reason
from dpviz.session.custody import ChargeRecord, Charter, Custody
from dpviz.session.interrupts import nothing_charged
from dpviz.session.ledger import Entry, Ledger
from dpviz.session.ledger.chain import CONVERTING, RESERVING
from dpviz.session.ledger.spending import Within
from dpviz.session.orders import OpenOrder, ReleaseOrder, check_digest, checked_order
from dpviz.session.plan import Plan
from dpviz.session.releases import Readable, Releases, Unread
from dpviz.session.runner import PreparedDraw, ReleaseRunner
from dpviz.session.running import Errand, Running
from dpviz.session.saved import check_opens
from dpviz.session.stale import before_a_charge, stale, unread

if TYPE_CHECKING:
    from dpviz.model.release import Release
    from dpviz.session.sub_plan import OpeningPlan
    from dpviz.session.sub_session import SubSession


ANYBODYS = (UNNAMED, *PRACTICE)

WIDE: Final = sys.maxsize >= 2**63 - 1
"""Whether numpy counts in 64 bits by itself. In a browser's Python it does not, and no price was tried there."""
"""Names of data sets that nobody gave: of a frame without a name, and of the public data that come with dpviz."""

READ_AGAIN = 5
"""The attempts to read the record, where others write to the ledger meanwhile."""


class Session(Custody):
    """Hold private data with a privacy unit, a budget and a ledger: plans are free, each release is paid once.

    Parameters
    ----------
    data : DataFrame, str, Path or Source
        A pandas DataFrame, another table, the path of a file, or a source of `dv.sources`. The session holds the data
        so that nothing shows a value of it.
    unit : Unit
        The privacy unit: who is protected, and under which change of the data.
    budget : Budget
        The most that all releases together may cost one unit.
    ledger : str or Path
        Where charges and answers are kept: the path of a file, or a URL such as ``postgresql://user@host/database``.
    dataset : str, optional
        The declared name of the data, which is part of the ledger's charter. The source's own name by default.
    schema : dict, optional
        Column name to "number" or "text", where the stored type does not say; for texts also "date",
        ("date", "%d/%m/%Y") or "clock" (see `dv.sources.duckdb`).
    existing : bool, optional
        True refuses to start a new ledger: for data of which something was spent already. False goes on although an
        earlier ledger is known that is lost or given up: the session starts a new one in its place or about its data,
        or goes on from an older copy; earlier charges are spent all the same. By default, a ledger is started where no
        earlier one is known.
    restart : bool, default False
        Whether a ledger file with another unit, budget, schema or dataset is moved aside and begun anew, where nothing
        was charged in it and its budget was not raised: so a mistake in the first call is put right. A warning says
        where the file lies then.
    person : str, optional
        The person at work. The name stands beside each charge in the ledger, as declared. By default it is the login of
        the system, or the role of the database. The name is no part of a key: a colleague who asks the same question
        gets the same answer, free.

    Raises
    ------
    UnitError
        If the unit is no `Unit`, or names a column that the data does not have.
    ParameterError
        If the budget is no `Budget`, the data cannot be opened, or another argument is outside its range. Also on a
        Python of 32 bits, as in a browser, for data other than `dv.datasets`.
    SchemaError
        If the schema does not fit the data.
    CharterMismatch
        If the ledger belongs to another dataset, schema, unit or budget, and `restart` is False or something was
        charged or raised in it.
    LedgerError
        If the ledger cannot be opened, is damaged, or `existing` forbids what would happen.

    Notes
    -----
    A release happens in one order: check everything public, write the charge durably, count, draw, record the outcome.
    A crash or a cancel wastes budget; it never gives a free or a second answer. A refusal changes nothing.

    The note in the ``-lock`` file beside a ledger knows that ledger, and so does this machine: by the ledger's place,
    and by the name and schema of the data where somebody gave the name.

    Examples
    --------
    >>> import dpviz as dv, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> unit, budget = dv.Unit("row", noun="person-year"), dv.Budget(epsilon="2")
    >>> session = dv.Session(dv.datasets.doctor_visits(), unit, budget, f"{folder.name}/visits.ledger")
    >>> session.remaining
    <left: ε 2 of 2, δ 0 of 0>
    >>> folder.cleanup()
    """

    begins_in: ClassVar[int] = 1
    """The first format whose readers know every kind of row that a ledger begun here may get."""

    @plain_arguments
    def __init__(
        self,
        data: object,
        unit: Unit,
        budget: Budget,
        ledger: str | Path,
        *,
        dataset: str | None = None,
        schema: Mapping[str, str | tuple[str, str]] | None = None,
        existing: bool | None = None,
        restart: bool = False,
        person: str | None = None,
    ) -> None:
        data, unit, budget = Hidden.of(data), single(unit), single(budget)
        ledger = Hidden.of(ledger)  # type: ignore[assignment]  # a URL may hold a password
        dataset, schema, existing = single(dataset), shown(schema), single(existing)
        person, restart = single(person), single(restart)  # from here on no variable of this call shows data
        source = as_source(data, name=dataset, schema=schema)
        if not WIDE and (source.name not in PRACTICE or dataset is not None):
            rule = "data of your own needs a Python of sixty-four bits: mechanisms are tested on no other"
            step = "run dpviz on a computer, or draw from public data with dv.teaching"
            raise ParameterError.of("a Python of thirty-two bits, as in a browser", rule, step)
        known_unit(unit)
        if type(budget) is not Budget:
            raise ParameterError.of(as_given(budget), "budget must be a Budget", 'write dv.Budget(epsilon="2")')
        if existing is not None and not isinstance(existing, bool):
            raise ParameterError.of(
                as_given(existing), "existing must be True or False", "write existing=True, or leave it out"
            )
        if not isinstance(restart, bool) or (restart and existing):
            rule = "restart must be True or False, and begins no ledger where existing=True forbids that"
            raise ParameterError.of(as_given(restart), rule, "write restart=True alone, or leave it out")
        if unwritable(source.name):
            raise ParameterError.of(
                ascii(source.name),
                "the name of a dataset must be text that can be written as UTF-8",
                "leave half characters (surrogates) out of it",
            )
        columns = [column.name for column in source.columns]
        if not unit.is_row and unit.of not in columns:
            advice = meant(unit.of, ["row", *columns], "name the user column")
            raise UnitError.of(unit.of, 'the unit must be "row" or one of the data\'s columns', advice)
        self._unit = unit
        given = source.name not in ANYBODYS or dataset not in (None, UNNAMED)
        asked = LedgerRequest(Hidden.of(ledger), unit, budget, existing, checked_person(person), given, self.begins_in)
        self._source, self._ledger = _restarted(source, asked) if restart else _opened(source, asked)
        self._runner = ReleaseRunner(self._source)
        self._readable = Readable()
        self._caller: Caller | None = None

    @single_arguments
    def for_caller(self, caller: Caller, within: Within | None = None) -> Session:
        """Return a session on the same data and ledger for a caller whom a curator authenticated.

        Parameters
        ----------
        caller : Caller
            Who asks. Each charge, opening and question says so in the ledger; no key depends on it, so that a colleague
            who asks the same is given the stored answer.
        within : callable, optional
            Checks each charge in its transaction, such as the limits of `dpviz.curator.caps`. The budget of the data
            set binds besides.

        Returns
        -------
        Session
            A session with draws of its own. It uses the sub-sessions that the caller opened, and raises no budget.

        Raises
        ------
        ParameterError
            If `caller` is no `Caller`, or `within` is not callable.
        """
        checked_caller(caller)
        if within is not None and not callable(within):
            raise ParameterError.of(
                as_given(within), "within must be callable", "give Caps.within(caller), or leave it out"
            )
        session = object.__new__(Session)
        session._unit, session._source, session._caller = self._unit, self._source, caller
        session._ledger = self._ledger.for_caller(caller.to_json(), within)
        session._runner, session._readable = ReleaseRunner(self._source), Readable()
        return session

    # ------------------------------------------------------------ what anybody may know

    @property
    def caller(self) -> Caller | None:
        """The caller whom a curator authenticated; None in a session of who holds the data."""
        return self._caller

    @property
    def charter(self) -> Charter:
        """The dataset, the privacy unit and the columns: all that anybody may know."""
        return Charter(self.dataset, self.unit, self.columns)

    @property
    def unit(self) -> Unit:
        """The privacy unit."""
        return self._unit

    @property
    def dataset(self) -> str:
        """The declared name of the data."""
        return self._source.name

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema."""
        return self._source.columns

    @property
    def counted_by(self) -> CountedBy:
        """The public facts about what counts: its name, and how it orders its largest counts."""
        return CountedBy(self._source.engine, self._source.top)

    @property
    def ledger(self) -> Ledger:
        """The ledger that keeps charges and answers."""
        return self._ledger

    @property
    def ledger_name(self) -> str:
        """The name of the ledger, for a label."""
        return self._ledger.name

    @property
    def is_new(self) -> bool:
        """Whether this session started the ledger, and nothing was spent since."""
        return self._ledger.is_new

    @property
    def budget(self) -> Budget:
        """The budget that is in force, after every raise."""
        return accountant.budget(self._ledger.account)

    @property
    def remaining(self) -> Remaining:
        """The remaining budget, exactly. Pending and lost charges count as spent."""
        return accountant.remaining(self._ledger.account)

    def known(self) -> tuple[Remaining, str]:
        """Return the remaining budget, also while the ledger's server is away.

        Returns
        -------
        remaining : Remaining
            The remaining budget as the ledger last said it.
        asof : str
            Empty where the ledger answered; else the time at which it last did.

        Raises
        ------
        LedgerError
            If the ledger never answered in this session, or is damaged.
        """
        known = self._ledger.known_account()
        return accountant.remaining(known.totals), known.asof

    def record(self, last: int) -> ChargeRecord:
        """Return the record of charges, as a page shows it.

        Parameters
        ----------
        last : int
            How many of the latest entries to include.

        Returns
        -------
        Record
            Entries and budget of one moment. Where another kernel wrote in between, both are read again.

        Raises
        ------
        LedgerError
            If the ledger cannot be read.
        """
        head, record = self._ledger.head(), self._record(last)
        for _ in range(READ_AGAIN):
            before, head = head, self._ledger.head()
            if head == before:
                break
            record = self._record(last)
        return record

    def _record(self, last: int) -> ChargeRecord:
        entries = self._ledger.entries(last=last)
        hanging = {entry.number: entry for entry in entries if entry.status in ("pending", "lost")}
        for entry in self._ledger.pending():
            hanging.setdefault(entry.number, entry)
        new = self.is_new and not entries
        return ChargeRecord(
            self.ledger_name, new, self.remaining, entries, list(hanging.values()), self._ledger.raises()
        )

    def hanging(self) -> list[Entry]:
        """Return the entries that are being drawn now, here or in other kernels.

        Returns
        -------
        list of Entry
            The pending entries of the ledger.

        Raises
        ------
        LedgerError
            If the ledger cannot be read.
        """
        return self._ledger.pending()

    @property
    def log(self) -> Ledger:
        """The ledger, which changes with every charge, draw and raise."""
        return self._ledger

    @property
    def person(self) -> str:
        """The person at work, as declared, or as the system or the database knows them."""
        return self._ledger.person

    @property
    def releases(self) -> Releases:
        """The finished releases by ledger number. Looking is free."""
        return Releases(self._ledger, self._readable, self._unit)

    @property
    def running(self) -> Running | None:
        """The release on its way in this session; None if there is none."""
        return self._runner.running

    @single_arguments
    def raise_budget(self, budget: Budget, reason: str | None = None) -> None:
        """Raise the total budget, as a chained entry of the ledger with person and reason.

        Parameters
        ----------
        budget : Budget
            The new total, at least what it is now and with the same filter.
        reason : str, optional
            Why the budget is raised. The ledger keeps it as given.

        Raises
        ------
        ParameterError
            If `budget` is no `Budget` or lowers a part of the budget in force, or the reason is no text. Nothing is
            changed.
        Forbidden
            In the session of a caller.
        LedgerError
            If the ledger cannot be written; the error says whether the raise stands.
        ReleaseInterrupted
            If Ctrl-C comes meanwhile; the error says whether the raise stands.

        Notes
        -----
        No earlier entry is edited. The guarantee of the filter holds for a total that is fixed beforehand, so a raise
        is a new promise, and the ledger shows who made it.
        """
        if self._caller is not None:
            raise Forbidden.of(
                self._caller.name, "who holds the data raises the budget, not a caller", "ask the owner of the data"
            )
        if type(budget) is not Budget:
            raise ParameterError.of(
                as_given(budget), "budget must be a Budget", "give a dv.Budget, of at least what it is now"
            )
        why = checked_reason(reason)
        errand: Errand[None] = Errand(
            lambda _: (f"the budget is {budget.text}", None), "whether the budget was raised is not known yet"
        )

        def widen(state: Mapping[str, str]) -> dict[str, str]:
            after = accountant.widened(state, budget)
            errand.charging()
            return after

        errand.run(lambda: self._ledger.raise_budget(budget.to_json(), widen, reason=why))

    def __repr__(self) -> str:
        try:
            remaining, asof = self.known()
            left = repr(remaining).strip("<>") + stale(asof)
            state = ", new ledger started: nothing spent so far" if not asof and self.is_new else ""
        except LedgerError as error:
            left, state = unread(error), ""
        state += ", which cannot be written: only what is free" if self._ledger.read_only else ""
        return f"<Session on {self.dataset}: {self._unit.text}; {left}; ledger {self.ledger_name}{state}>"

    def __reduce__(self) -> Any:
        raise LedgerError(
            "a session holds private data and is not stored or sent anywhere; open it anew where you need it",
            value="a Session",
            rule="a session holds private data and is not stored or sent anywhere",
            next_step="open it anew where you need it",
        )

    # ------------------------------------------------------------ plan: free

    @plain_arguments
    def plan(
        self,
        question: object,
        mechanism: Mechanism | None = None,
        *,
        where: Mapping[str, object] | None = None,
        by: object = None,
        way: Way | None = None,
        delta: Number | None = None,
        limits: Limits | None = None,
        over: object = None,
    ) -> Plan:
        """Plan a release: its price and its error. Free, and blind to the data.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to count, a question, or the name of a column for its undeclared keys.
        mechanism : Mechanism, optional
            A mechanism with its parameters, such as ``dv.Dense(epsilon="1/2")``. Left out, the plan chooses the one
            that errs least for the question, be it of bins, of unknown keys or of records, at a tenth of the budget,
            and says why (`plan.reasons`). A release names it: ``plan.bound.mechanism``.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `dv.Between`.
        by : Partition or Domain, optional
            Disjoint parts. The question is asked about each part, for the price of the mechanism in all; the plan
            compares the ways to share that price out, and is about the best.
        way : str, optional
            The one way to share the price out that is planned; the best by default.
        delta : str, int, float or Fraction, optional
            With `by`: charge the exact composition of the parts that one unit counts in, at this delta, in place of
            their sum. Epsilon is the price as before, and each part gets more of it; the delta is charged, and covers
            that of the mechanism.
        limits : Limits, optional
            Contribution limits of this question, in place of those of the session's unit.
        over : Mechanism or tuple, optional
            A mechanism for a profile of the same units, which is bought with the counts: at one price, in one entry.
            Then `release.profile` is the profile, and `release.closed_by()` closes the ends that a limit on bins leaves
            open. A pair of a question and a mechanism chooses the profile; by default it has all numbers of bins as its
            classes, above 1,000 bins the one class over the limit.

        Returns
        -------
        Plan
            Price, guarantee and error.

        Raises
        ------
        ParameterError
            If the mechanism does not answer this question, or an argument is outside its range.
        DomainError, SchemaError
            If the bins or the filter do not fit the columns of the data.
        LedgerError
            If the remaining budget cannot be read and was never known.

        Notes
        -----
        A plan follows from public facts alone, so it costs nothing.

        Examples
        --------
        >>> import dpviz as dv, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> unit, budget = dv.Unit("row", noun="person-year"), dv.Budget(epsilon="2")
        >>> session = dv.Session(dv.datasets.doctor_visits(), unit, budget, f"{folder.name}/visits.ledger")
        >>> plan = session.plan(dv.Domain.integers(0, 40, column="visits"), dv.Dense(epsilon="1/2"))
        >>> plan.price.sentence, plan.affordable
        ('0.5-differential privacy for adding or removing one person-year', True)
        >>> folder.cleanup()
        """
        remaining, asof = self.known()
        if mechanism is None:
            check_plain(by, way, over)
            check_apart(delta, way)
            asked, unit = asked_of(self._unit, question, where, limits)
            bound, reasons = choosing.chosen(
                asked, unit, remaining, lambda made: self._bind(question, made, where, limits)
            )
            plan = Plan(bound, remaining.total, remaining, asof, reasons=reasons)
        elif by is None:
            check_apart(delta, way)
            bound = self._bind(question, mechanism, where, limits)
            profile = bind_profile(self._source, self._unit, bound, over)
            plan = Plan(bound, remaining.total, remaining, asof, profile=profile)
        else:
            check_alone(over)
            found = self._ways(question, mechanism, where, by, way, limits, delta)
            plan = Plan.of_ways(found, mechanism, remaining.total, remaining, asof)
        return plan.asked_within(self._unit)

    def _ways(
        self,
        question: object,
        mechanism: Mechanism,
        where: Mapping[str, object] | None,
        by: object,
        way: Way | None,
        limits: Limits | None,
        delta: Number | None,
    ) -> Ways:
        if self.budget.filter == "zcdp" and (delta is not None or way == "exact"):
            raise exact_in_zcdp()
        return bind_ways(self._source, self._unit, question, mechanism, where, by, way, limits, delta)

    def _bind(
        self, question: object, mechanism: Mechanism, where: Mapping[str, object] | None, limits: Limits | None
    ) -> Bound:
        """Every check that can be made from public things alone."""
        return bind(self._source, self._unit, question, mechanism, where, limits)

    # ------------------------------------------------------------ release: paid

    @plain_arguments
    def release(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        by: object = None,
        way: Way | None = None,
        delta: Number | None = None,
        limits: Limits | None = None,
        over: object = None,
        then: object = None,
        mode: Mode | None = None,
        key: str | None = None,
        retry: bool = False,
    ) -> Release:
        """Pay for an answer, and return it. The same call again returns the stored answer, free.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to count, a question, or the name of a column for its undeclared keys.
        mechanism : Mechanism
            A mechanism with its parameters, such as ``dv.Dense(epsilon="1/2")``.
        where : dict, optional
            A filter: column name to a value, a list of values, or a `dv.Between`.
        by : Partition or Domain, optional
            Disjoint parts. The question is asked about each part: one release, one price.
        way : str, optional
            How that price is shared out. By default, as the stored answer has it, or else in the way that errs least.
        delta : str, int, float or Fraction, optional
            With `by`: charge the exact composition of the parts that one unit counts in, at this delta, in place of
            their sum. Refused where that saves less than one percent, or the budget has the zCDP filter.
        limits : Limits, optional
            Contribution limits of this question, in place of those of the session's unit.
        over : Mechanism or tuple, optional
            A mechanism for a profile of the same units, which is bought with the counts: at one price, in one entry.
            Then `release.profile` is the profile, and `release.closed_by()` closes the ends that a limit on bins leaves
            open. A pair of a question and a mechanism chooses the profile; by default it has all numbers of bins as its
            classes, above 1,000 bins the one class over the limit.
        then : Mechanism or tuple, optional
            The mechanism of a second answer to this question, which is declared now and may be bought later, by
            ``session.release(question, then)`` with the same `key`. So it was not chosen by the first, and intervals of
            both rest on the law of both noises. A pair declares a profile of the same users: a question and its
            mechanism. Beside the question of a profile it is the mechanism of the counts that it is about, the limit of
            which is chosen later, by ``limits=``. The second is charged when it is drawn; now it must fit into the
            budget beside the first.
        mode : {"exact", "strict"}, optional
            "exact" draws from the mechanism's law exactly; "strict" runs the finite-computer algorithm literally, for
            rational laws only. By default, the first that the mechanism has.
        key : str, optional
            Any text: a fresh, paid draw of the same question.
        retry : bool, default False
            Whether to draw a lost or cancelled key again, and pay again.

        Returns
        -------
        Release
            The public answer, with its guarantee and error.

        Raises
        ------
        ParameterError
            If the question, the mechanism or an argument is refused. Nothing is charged.
        BudgetExceeded
            If the price does not fit into the remaining budget. Nothing is charged.
        ReleaseLost
            If this key was charged and its draw lost. Nothing more is charged.
        SessionBusy
            If another release of this session is running. Nothing is charged.
        EngineGone
            If the engine no longer answers. Nothing is charged.
        ReleaseCancelled, ReleaseFailed, LedgerError
            If the release ends after its charge. The error says what stays charged.
        ReleaseInterrupted
            If Ctrl-C comes meanwhile. It is a KeyboardInterrupt, so it stops a loop, and it says what stays charged.

        Notes
        -----
        The price is that of the mechanism for the session's unit, its neighbouring relation and the limits of the
        question (`plan.price`). Bounding reads each unit's own rows alone, so neighbours stay neighbours under any
        limits, and answers under different limits compose. The accountant's filter adds prices up; the filter is valid
        however the analyst chooses later questions [1]_ [2]_.

        References
        ----------
        .. [1] Rogers, Roth, Ullman, Vadhan (2016), Theorem 5.1 (basic filter).
        .. [2] Whitehouse, Ramdas, Rogers, Wu (2023), Theorem 1 (zCDP filter).

        Examples
        --------
        >>> import dpviz as dv, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> unit, budget = dv.Unit("row", noun="person-year"), dv.Budget(epsilon="2")
        >>> session = dv.Session(dv.datasets.doctor_visits(), unit, budget, f"{folder.name}/visits.ledger")
        >>> bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
        >>> release = session.release(bins, dv.Dense(epsilon="1/2"))
        >>> session.release(bins, dv.Dense(epsilon="1/2")) == release, session.remaining
        (True, <left: ε 1.5 of 2, δ 0 of 0>)
        >>> folder.cleanup()
        """
        with nothing_charged():
            check_single(then, by, over)
            bound, profile = self._purchase(question, mechanism, where, by, way, limits, mode, key, over, delta)
            chosen, payment = self._order(bound, profile, mode, key, retry, then)
        return self._runner.result(bound, chosen, payment, profile)

    @plain_arguments
    def release_async(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        by: object = None,
        way: Way | None = None,
        delta: Number | None = None,
        limits: Limits | None = None,
        over: object = None,
        then: object = None,
        mode: Mode | None = None,
        key: str | None = None,
        retry: bool = False,
        watch: Callable[[Running], None] | None = None,
    ) -> Running:
        """Start a release and return at once.

        Parameters
        ----------
        question, mechanism, where, by, way, delta, limits, over, then, mode, key, retry
            As for `release`.
        watch : callable, optional
            A function of the handle, called whenever its progress changes.

        Returns
        -------
        Running
            A handle: `await` it, watch its `progress`, or `cancel()` it.

        Raises
        ------
        ParameterError
            If the question, the mechanism or an argument is refused. Nothing is charged.
        SessionBusy
            If another release of this session is running. Nothing is charged.

        Notes
        -----
        All other errors of `release` are raised by awaiting the handle. A cancelled `await` cancels the draw, and its
        charge stays; ``asyncio.shield(handle)`` lets the draw go on. A handle that is left behind goes on, too: the
        same call then returns the stored answer, free.
        """
        check_single(then, by, over)
        bound, profile = self._purchase(question, mechanism, where, by, way, limits, mode, key, over, delta)
        return self._runner.start(bound, *self._order(bound, profile, mode, key, retry, then), watch, profile)

    def prepare(self, order: ReleaseOrder, pace: Callable[[], object] | None = None) -> PreparedDraw:
        """Check a release that another process ordered, without paying for it.

        Parameters
        ----------
        order : ReleaseOrder
            The release, as the other process read and checked it.
        pace : callable, optional
            Called between a draw and the record of its outcome: it may wait, so that the time at which an outcome is
            known does not tell how long the draw took.

        Returns
        -------
        PreparedDraw
            The release, ready to be paid for and drawn.

        Raises
        ------
        ParameterError
            If the order is refused here, or would be stored under another digest.
        """
        prepared = self.prepare_instead(order, pace)
        check_digest(order, prepared.payment.key)
        return prepared

    def prepare_instead(self, order: ReleaseOrder, pace: Callable[[], object] | None = None) -> PreparedDraw:
        """Check a release whose digest is not known yet, as of an order with another mechanism put into it.

        Parameters
        ----------
        order, pace
            As for `prepare`.

        Returns
        -------
        PreparedDraw
            The release, the payment of which has its digest.

        Raises
        ------
        ParameterError
            If the order is refused here.
        """
        checked_order(order, ReleaseOrder, pace)
        check_single(order.declared, order.question.by, order.over)
        if order.question.by is not None:
            check_alone(order.over)
        bound, profile = order.bind(self._source, self._unit)
        if self.budget.filter == "zcdp" and bound.way == "exact":
            raise exact_in_zcdp()
        mode, payment = self._order(bound, profile, order.mode, order.user_key, order.retry, order.declared)
        return PreparedDraw(ReleaseRunner(self._source, pace), bound, mode, payment, profile, payment.price)

    def _purchase(
        self,
        question: object,
        mechanism: Mechanism,
        where: Mapping[str, object] | None,
        by: object,
        way: Way | None,
        limits: Limits | None,
        mode: Mode | None,
        key: str | None,
        over: object,
        delta: Number | None,
    ) -> tuple[Bound, Bound | None]:
        """The mechanism of a release, and that of a profile that is bought with it."""
        if by is None:
            check_apart(delta, way)
            bound = self._bind(question, mechanism, where, limits)
            return bound, bind_profile(self._source, self._unit, bound, over)
        check_alone(over)
        return self._way(self._ways(question, mechanism, where, by, way, limits, delta), mode, key), None

    def _order(
        self,
        bound: Bound,
        profile: Bound | None,
        mode: Mode | None,
        key: str | None,
        retry: bool,
        then: object = None,
    ) -> tuple[Mode, Charge]:
        """The way to run and the payment: every check of a release that needs no ledger."""
        chosen = mode_of(bound, mode)
        if profile is not None:
            mode_of(profile, chosen)
        declared = self._declared(bound, then, key)
        name = self._named(bound, chosen, key, profile, declared)
        return chosen, Charge(self._ledger, name, bound, chosen, key, retry, self._unit, profile, declared)

    def _declared(self, first: Bound, then: object, key: str | None) -> DeclaredAnswer | None:
        """The answer that is declared with another one."""
        bound = bind_then(self._source, self._unit, first, then)
        if bound is None:
            return None
        mode = mode_of(bound, None)
        return DeclaredAnswer(bound, mode, self._named(bound, mode, key))

    def _named(
        self,
        bound: Bound,
        mode: Mode,
        key: str | None,
        profile: Bound | None = None,
        then: DeclaredAnswer | None = None,
    ) -> str:
        bought = None if profile is None else purchase_json(profile.question, profile.mechanism)
        named = None if then is None else then.purchased
        return release_key(bound.question, bound.unit, bound.mechanism, mode, checked_key(key), bought, named)

    def _way(self, found: Ways, mode: Mode | None, key: str | None) -> Bound:
        """The way of an entry that is there under this key, where one is; else the one that errs least. So the call
        that asked for no way gets its answer again, also where a later dpviz would choose another."""
        for bound in found.values():
            if isinstance(bound, Bound) and not bound.subsession_calls:
                with before_a_charge():
                    if self._ledger.find(self._named(bound, mode_of(bound, mode), key)) is not None:
                        return bound
        return released(best(found)[1])

    # ------------------------------------------------------------ open: many questions, one charge

    @plain_arguments
    def plan_open(self, parameters: Opening) -> OpeningPlan:
        """Plan a sub-session: its charge when it is opened, and what each question could use. Free.

        Parameters
        ----------
        parameters : Opening
            The parameters of the sub-session, as `dv.Parts(...)`.

        Returns
        -------
        OpeningPlan
            The price of all answers together, and the remaining budget.

        Raises
        ------
        ParameterError
            If these are no parameters of a sub-session, or the engine could answer none of its questions.
        LedgerError
            If the remaining budget cannot be read and was never known.
        """
        from dpviz.session.sub_plan import OpeningPlan

        opening = self._opening(parameters)
        remaining, asof = self.known()
        return OpeningPlan(opening, self._unit, remaining.total, remaining, asof)

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
            The open sub-session. One that was closed stays closed.

        Raises
        ------
        ParameterError
            If the engine could answer none of its questions, or these are no parameters of a sub-session. Nothing is
            charged.
        BudgetExceeded
            If the price does not fit into the remaining budget. Nothing is charged.
        LedgerError
            If the ledger cannot be written; the error says whether the charge stands.
        ReleaseInterrupted
            If Ctrl-C comes meanwhile; the error says whether the charge stands.

        Notes
        -----
        Charging and opening are one step of the ledger: after a crash the sub-session is open, or nothing was charged.
        The price covers all answers together, however each question depends on the answers before it [1]_.

        References
        ----------
        .. [1] Haney, Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang (2023), for sub-sessions under the basic filter.
        """
        from dpviz.session.sub_session import opening_body, opening_key  # before anything is paid for

        with nothing_charged():
            price = self._opening(parameters).price(self._unit)
            name = opening_key(parameters, self._unit, checked_key(key))
        errand: Errand[Entry] = Errand(
            lambda entry: (f"the sub-session is open and paid for, as entry {entry.number}", entry.number),
            f"whether the sub-session was charged is not known yet; count {price.loss.short} as spent",
        )

        def work() -> Entry:
            with before_a_charge():
                known, rule = self._ledger.find(name), accountant.conversion(self._ledger.account)
            if known is None:
                probing.check(self._source)
            body = opening_body(parameters, price, key, rule)

            def admit(state: Mapping[str, str]) -> dict[str, str]:
                after = accountant.enter(state, body["price"])
                errand.charging()
                return after

            return self._ledger.charge(name, body, admit, opens=parameters.opened())

        return self._sub_session(errand.run(work))

    def _opening(self, parameters: Opening) -> Opening:
        """Every check of a sub-session that can be made from public things alone."""
        if not OPENINGS.has_class(type(parameters)):
            raise ParameterError.of(
                as_given(parameters), "a sub-session is opened by its parameters", f"give a {' or '.join(OPENINGS)}"
            )
        exact(self._source)
        parameters.check_source(self._source.top)
        check_opens(parameters, self._unit)
        check_askable(self._source, self._unit, parameters)
        return parameters

    def check_opening(self, order: OpenOrder) -> Guarantee:
        """Check a sub-session that another process orders, without paying for it.

        Parameters
        ----------
        order : OpenOrder
            The parameters of the sub-session, as the other process read them.

        Returns
        -------
        Guarantee
            The price, which `open` charges.

        Raises
        ------
        ParameterError
            If `open` or `batch` would refuse it, or it would be stored under another digest.
        """
        from dpviz.session.sub_session import opening_key

        checked_order(order, OpenOrder)
        made = self._opening(order.parameters)
        if isinstance(made, ListOpening):
            made.check_lines(lambda question, mechanism: self._bind(question, mechanism, None, None))
            made.check_worth(self._unit, self.budget.filter)
        check_digest(order, opening_key(made, self._unit, checked_key(order.user_key)))
        return made.price(self._unit)

    @plain_arguments
    def plan_batch(self, lines: object, *, delta: Number) -> OpeningPlan:
        """Plan a fixed list of answers: its price by the sum, by zCDP, and by exact composition. Free.

        Parameters
        ----------
        lines : list of (question, mechanism)
            The list, as for `batch`.
        delta : str, int, float or Fraction
            The delta of all answers together.

        Returns
        -------
        OpeningPlan
            The price of the list by each rule, and the remaining budget.

        Raises
        ------
        ParameterError
            If a line is refused, or the delta does not cover those of the lines.
        LedgerError
            If the remaining budget cannot be read and was never known.
        """
        return self.plan_open(self._list(lines, delta))

    @plain_arguments
    def batch(self, lines: object, *, delta: Number, key: str | None = None) -> SubSession:
        """Fix a list of answers and charge its exact composition, once; each line is drawn later, free.

        Parameters
        ----------
        lines : list of (question, mechanism)
            At most 1,000 pairs, no two of them the same, as for `release`. They are fixed now: none may depend on an
            answer.
        delta : str, int, float or Fraction
            The delta of all answers together, above 0; it is charged. The deltas of the lines are within it.
        key : str, optional
            Any text: the same list once more, charged anew.

        Returns
        -------
        SubSession
            ``batch.ask(question, mechanism)`` draws a line, once, and ``batch.lines_left`` lists those that are left.
            The same call again is the same list, free.

        Raises
        ------
        ParameterError
            If a line is refused, the list costs hardly less than its sum, or the budget has the zCDP filter, under
            which a list costs what its lines do. Nothing is charged.
        BudgetExceeded
            If the price does not fit into the remaining budget. Nothing is charged.
        LedgerError
            If the ledger cannot be written; the error says whether the charge stands.
        ReleaseInterrupted
            If Ctrl-C comes meanwhile; the error says whether the charge stands.

        Notes
        -----
        The price is the exact epsilon of the product of the lines' dominating pairs at `delta` [1]_. It is
        proved for a list that is fixed beforehand, not for prices that depend on answers. Lines may be drawn in any
        order, beside other releases, and some not at all; nothing is refunded.

        References
        ----------
        .. [1] Zhu, Dong, Wang (2022), Theorem 10; Kairouz, Oh, Viswanath (2017), Theorem 3.3.

        Examples
        --------
        >>> import dpviz as dv, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> unit, budget = dv.Unit("row", noun="person-year"), dv.Budget(epsilon="3", delta="1e-5")
        >>> session = dv.Session(dv.datasets.doctor_visits(), unit, budget, f"{folder.name}/visits.ledger")
        >>> visits = dv.Domain.integers(0, 40, column="visits")
        >>> tops = range(1, 41)
        >>> lines = [(dv.Question(visits, {"chronic_index": dv.Between(0, top)}), dv.Dense("1/10")) for top in tops]
        >>> batch = session.batch(lines, delta="1e-6")
        >>> session.remaining
        <left: ε 0.22459 of 3, δ 0.000009 of 0.00001>
        >>> first = batch.ask(*lines[0])
        >>> len(batch.lines_left), session.remaining.epsilon == 3 - batch.price.epsilon
        (39, True)
        >>> folder.cleanup()
        """
        with nothing_charged():
            parameters = self._list(lines, delta)
            parameters.check_worth(self._unit, self.budget.filter)
        return self.open(parameters, key=key)

    def _list(self, lines: object, delta: Number) -> ListOpening:
        """The parameters of a list, each of whose lines could be released by itself."""
        made = list_opening(lines, delta)
        made.check_lines(lambda question, mechanism: self._bind(question, mechanism, None, None))
        return made

    @property
    def sub_sessions(self) -> dict[int, SubSession]:
        """The sub-sessions by ledger number, closed ones too. Looking is free."""
        found = {}
        for entry in self._ledger.opened():
            try:
                found[entry.number] = self._sub_session(entry)
            except LedgerFormat as refused:  # it must not hide the others
                warnings.warn(str(refused), Unread, stacklevel=2)
        return found

    def _sub_session(self, entry: Entry) -> SubSession:
        from dpviz.session.sub_session import SubSession

        return SubSession(entry, self._source, self._unit, self._ledger, self._runner)

    # ------------------------------------------------------------ draws on their way

    def add_listener(self, listener: Callable[[Running], None]) -> None:
        """Call a bound method whenever a release of this session ends, for as long as its object lives.

        Parameters
        ----------
        listener : bound method
            A method that takes the handle (`Running`) of the release. The session keeps no strong reference to its
            object.
        """
        self._runner.add_listener(listener)

    def heed_waits(self) -> None:
        """Report a release that waits for the ledger on its handle, with the name of the holder.

        Other waits, such as that of a raise in a cell, are reported on the standard error as before.
        """
        known = weakref.ref(self)

        def told(text: str) -> None:
            held = known()
            running = None if held is None else held.running
            if running is not None and running.number is None:
                running.wait(text)
            else:
                print(f"dpviz: {text}", file=sys.stderr, flush=True)

        if self._ledger.on_wait is None:
            self._ledger.on_wait = told

    def cancel(self) -> None:
        """Cancel the release on its way, if there is one. Its charge stays."""
        running = self.running
        if running is not None:
            running.cancel()


def exact_in_zcdp() -> ParameterError:
    """The refusal of an exact composition of parts under a filter that gains nothing by it."""
    rule = "a zCDP budget adds rho up, which is no less for parts that are composed exactly"
    refused = ParameterError.of("zcdp", rule, "leave delta= and way= out")
    assert isinstance(refused, ParameterError)
    return refused


def _least_format(budget: Budget) -> int:
    """The first format of ledgers whose readers know all that a budget says."""
    if budget.reserve is not None:
        return RESERVING
    return CONVERTING if budget.conversion == "cks" else 1


@dataclass(frozen=True, slots=True)
class CountedBy:
    """The engine that counts for a session, by name, and its declaration of its largest counts."""

    engine: str
    top: TopRules


@dataclass(frozen=True, repr=False, eq=False)
class LedgerRequest:
    """The ledger that a session is to have.

    named  whether somebody gave the data set its name
    least  the first format that it may be begun in
    """

    place: Hidden[Any]
    unit: Unit
    budget: Budget
    existing: bool | None
    person: str | None
    named: bool
    least: int = 1

    def opened(self, source: Source) -> Ledger:
        """The ledger of this source, begun where there is none."""
        charter = {
            "dataset": source.name,
            "schema": {column.name: column.kind for column in source.columns},
            "unit": self.unit.to_json(),
            "budget": self.budget.to_json(),
        }
        account, check = accountant.opened(self.budget), arithmetic.follows
        return Ledger.open(
            self.place,
            charter=charter,
            account=account,
            check=check,
            existing=self.existing,
            person=self.person,
            recognised=self.named,
            holds=holding.holds,
            least_format=max(self.least, _least_format(self.budget)),
        )


def _opened(source: Source, asked: LedgerRequest) -> tuple[Source, Ledger]:
    """The source and its ledger. A ledger of an earlier version may say what the columns of a CSV file hold."""
    try:
        return source, asked.opened(source)
    except CharterMismatch as other:
        refused = other
    known = source.chartered(Ledger.read(asked.place).charter["schema"])
    if known is source:
        raise refused
    return known, asked.opened(known)


def _restarted(source: Source, asked: LedgerRequest) -> tuple[Source, Ledger]:
    """The same, where a ledger that fits makes no difference, and an unspent one that does not is moved aside."""
    try:
        return _opened(source, asked)
    except CharterMismatch as other:
        refused = other
    try:
        moved = Ledger.set_aside(asked.place)
    except LedgerError as kept:
        said = kept
    else:
        warnings.warn(
            f"nothing was charged in the ledger with another charter ({refused.value}); it was moved to {moved.name}, "
            "and a new one is begun in its place",
            stacklevel=4,
        )
        return _opened(source, asked)
    again = CharterMismatch(
        f"{said.rule}, so restart=True begins none: {refused.args[0]}",
        value=refused.value,
        rule=said.rule,
        next_step=refused.next_step,
    )
    again.theirs, again.yours = refused.theirs, refused.yours
    raise again


protect_module(vars())
