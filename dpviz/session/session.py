"""The one place where data, price, chance and record meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dpviz.engines import as_source
from dpviz.errors import LedgerError, ParameterError, UnitError, short, unwritable
from dpviz.hidden import Hidden, kind_of, publicly, shown, single, singly
from dpviz.mechanisms.pay_what_you_get import PayWhatYouGet
from dpviz.model.identity import release_key
from dpviz.model.mechanism import Bound, Mechanism, Mode
from dpviz.model.release import Release
from dpviz.model.source import Source
from dpviz.model.statistic import Column
from dpviz.privacy.unit import Unit
from dpviz.session import accountant, arithmetic, sub_account
from dpviz.session.accountant import Budget, Remaining
from dpviz.session.binding import bind
from dpviz.session.charge import Charge, checked_key
from dpviz.session.drawing import Draws
from dpviz.session.ledger import Entry, Ledger
from dpviz.session.plan import Plan
from dpviz.session.running import Running
from dpviz.session.saved import from_bytes
from dpviz.session.sub_plan import OpeningPlan
from dpviz.session.sub_session import SubSession, opening_body, opening_key


class Session:
    """Private data, a unit, a budget and a ledger. Plans are free; a release is paid once and kept for ever.

    data     a pandas DataFrame (or another source); it is held so that nothing shows a value of it
    unit     who is protected
    budget   the most that all releases together may cost one unit
    ledger   where charges and answers are kept: a file path, or a URL like postgresql://user@host/database
    dataset  the declared name of the data; part of the ledger's charter
    schema   column name to "number" or "text", where the stored type does not say
    existing refuse to start a new ledger: for data of which something was spent already

    One order, always: check everything public, write the charge durably, count, draw, record the outcome. A crash or
    a cancel wastes budget; it never gives a free or a second answer. A refusal changes nothing.
    """

    def __init__(
        self,
        data: object,
        unit: Unit,
        budget: Budget,
        ledger: str | Path,
        *,
        dataset: str | None = None,
        schema: Mapping[str, str] | None = None,
        existing: bool = False,
    ) -> None:
        data, unit, budget = Hidden.of(data), single(unit), single(budget)
        ledger = Hidden.of(ledger)  # type: ignore[assignment]  # a URL may hold a password
        dataset, schema, existing = (
            single(dataset),
            shown(schema),
            single(existing),
        )  # from here on no variable of this call shows data
        source = as_source(data, name=dataset, schema=schema)
        if not isinstance(unit, Unit):
            raise UnitError.of(kind_of(unit), "unit must be a Unit", 'write dv.Unit("row", noun="person-year")')
        if not isinstance(budget, Budget):
            raise ParameterError.of(kind_of(budget), "budget must be a Budget", 'write dv.Budget(epsilon="2")')
        if not isinstance(existing, bool):
            raise ParameterError.of(kind_of(existing), "existing must be True or False")
        if unwritable(source.name):
            raise ParameterError.of(
                ascii(source.name), "the name of a dataset must be text that can be written as UTF-8"
            )
        if not unit.is_row and unit.of not in {column.name for column in source.columns}:
            raise UnitError.of(unit.of, 'the unit must be "row" or one of the data\'s columns', "name the user column")
        self._source: Source = source
        self._unit = unit
        self._ledger = Ledger.open(
            ledger,
            charter={
                "dataset": source.name,
                "schema": {column.name: column.kind for column in source.columns},
                "unit": unit.to_json(),
                "budget": budget.to_json(),
            },
            account=accountant.opened(budget),
            check=arithmetic.follows,
            existing=existing,
        )
        self._draws = Draws(source)

    # ------------------------------------------------------------ what anybody may know

    @property
    def unit(self) -> Unit:
        return self._unit

    @property
    def dataset(self) -> str:
        return self._source.name

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema."""
        return self._source.columns

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def ledger_name(self) -> str:
        return self._ledger.name

    @property
    def is_new(self) -> bool:
        """Whether this session started the ledger, and nothing was spent since."""
        return self._ledger.is_new

    @property
    def budget(self) -> Budget:
        return accountant.budget(self._ledger.account)

    @property
    def remaining(self) -> Remaining:
        """What is left, exactly. Pending and lost charges count as spent."""
        return accountant.remaining(self._ledger.account)

    @property
    def releases(self) -> Releases:
        """What was released so far, by ledger number. Looking is free."""
        return Releases(self._ledger)

    @property
    def running(self) -> Running | None:
        """The release on its way in this session, if there is one."""
        return self._draws.running

    @singly
    def raise_budget(self, budget: Budget) -> None:
        """Raise the total. The decision is a chained entry of the ledger; nothing is edited."""
        if not isinstance(budget, Budget):
            raise ParameterError.of(kind_of(budget), "budget must be a Budget")
        self._ledger.raise_budget(budget.to_json(), lambda state: accountant.widened(state, budget))

    def __repr__(self) -> str:
        left = repr(self.remaining).strip("<>")
        state = ", new ledger started: nothing spent so far" if self.is_new else ""
        state += ", which cannot be written: only what is free" if self._ledger.read_only else ""
        return f"<Session on {self.dataset}: {self._unit.text}; {left}; ledger {self.ledger_name}{state}>"

    def __reduce__(self) -> Any:
        raise LedgerError("a session holds private data and is not stored or sent anywhere", next_step="open it anew")

    # ------------------------------------------------------------ plan: free

    @publicly
    def plan(self, question: object, mechanism: Mechanism, *, where: Mapping[str, object] | None = None) -> Plan:
        """What a release would cost and how wrong it would be. Free, and blind to the data."""
        return Plan(self._bind(question, mechanism, where), self.budget, self.remaining)

    def _bind(self, question: object, mechanism: Mechanism, where: Mapping[str, object] | None) -> Bound:
        """Every check that can be made from public things alone."""
        return bind(self._source, self._unit, question, mechanism, where)

    # ------------------------------------------------------------ release: paid

    @publicly
    def release(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        mode: Mode | None = None,
        key: str | None = None,
        retry: bool = False,
    ) -> Release:
        """Pay for an answer, and get it. The same call again gives the stored answer, free.

        mode   "exact" (the law exactly) or "strict" (the finite-computer algorithm literally, rational laws only)
        key    any text: a fresh, paid draw of the same question
        retry  draw a lost or cancelled key again, and pay again

        Raises BudgetExceeded where the price does not fit, ReleaseLost where this key was charged and its draw lost,
        SessionBusy while another release of this session runs; these charge nothing. ReleaseCancelled, ReleaseFailed
        and LedgerError say themselves what stays charged.
        """
        return self.release_async(question, mechanism, where=where, mode=mode, key=key, retry=retry).result()

    @publicly
    def release_async(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        mode: Mode | None = None,
        key: str | None = None,
        retry: bool = False,
        watch: Callable[[Running], None] | None = None,
    ) -> Running:
        """Start a release and return at once: `await` the handle, watch its `progress`, or `cancel()` it."""
        bound = self._bind(question, mechanism, where)
        chosen = bound.modes()[0] if mode is None else mode
        if chosen not in bound.modes():
            raise ParameterError.of(
                f'mode="{short(chosen)}"',
                f"{mechanism!r} runs in mode {' or '.join(bound.modes())}",
                'strict takes a rational base (base="tight") and a cap that is not huge' if chosen == "strict" else "",
            )
        name = release_key(bound.question, self._unit, mechanism, chosen, checked_key(key))
        return self._draws.start(bound, chosen, Charge(self._ledger, name, bound, chosen, key, retry), watch)

    # ------------------------------------------------------------ open: many questions, one charge

    @publicly
    def plan_open(self, parameters: PayWhatYouGet) -> OpeningPlan:
        """What a sub-session would be charged when it is opened, and what each question could use. Free."""
        return OpeningPlan(self._opening(parameters), self._unit, self.budget, self.remaining)

    @publicly
    def open(self, parameters: PayWhatYouGet, *, key: str | None = None) -> SubSession:
        """Charge for a sub-session, all of it at once, and open it. The same call again is the same sub-session, free.

        key  any text: another sub-session of the same parameters, charged anew

        Charging and opening are one step of the ledger: after a crash the sub-session is open, or nothing was charged.
        One that was closed stays closed. Raises BudgetExceeded where the price does not fit, ParameterError where the
        engine could answer none of its questions. A refusal charges nothing.
        """
        price = self._opening(parameters).price(self._unit)
        entry = self._ledger.charge(
            opening_key(parameters, self._unit, checked_key(key)),
            opening_body(parameters, price, key),
            lambda state: accountant.charge(state, price.loss, price.fine),
            opens=sub_account.opened(parameters.symbols, parameters.questions),
        )
        return self._sub_session(entry)

    def _opening(self, parameters: PayWhatYouGet) -> PayWhatYouGet:
        """Every check of a sub-session that can be made from public things alone."""
        if not isinstance(parameters, PayWhatYouGet):
            raise ParameterError.of(
                kind_of(parameters), "a sub-session is opened by its parameters", 'write dv.PayWhatYouGet(epsilon="1")'
            )
        parameters.meets(self._source.top)
        return parameters

    @property
    def sub_sessions(self) -> dict[int, SubSession]:
        """The sub-sessions that were opened so far, by ledger number, closed ones too. Looking is free."""
        return {entry.number: self._sub_session(entry) for entry in self._ledger.entries() if entry.status == "open"}

    def _sub_session(self, entry: Entry) -> SubSession:
        return SubSession(entry, self._source, self._unit, self._ledger, self._draws)

    # ------------------------------------------------------------ draws on their way

    def look_on(self, onlooker: Callable[[Running], None]) -> None:
        """Call a bound method whenever a release of this session ends, for as long as its object lives."""
        self._draws.look_on(onlooker)

    def cancel(self) -> None:
        """Cancel the release on its way, if there is one. Its charge stays."""
        running = self.running
        if running is not None:
            running.cancel()


class Releases(Mapping[int, Release]):
    """The finished releases of a ledger, by number. The answers of a sub-session are its own: `sub.answers`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def _done(self) -> list[Entry]:
        return [entry for entry in self._ledger.entries() if entry.status == "done"]

    @singly
    def __getitem__(self, number: int) -> Release:
        if not self._is_done(number):
            shown = ", ".join(str(one) for one in list(self)[-20:]) or "none"
            raise ParameterError.of(number, f"the latest finished releases are: {shown}")
        return from_bytes(self._ledger.answer(number))

    def _is_done(self, number: object) -> bool:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**63:
            return False
        try:
            return self._ledger.entry(number).status == "done"
        except ParameterError:
            return False

    def __iter__(self) -> Iterator[int]:
        return iter([entry.number for entry in self._done()])

    def __len__(self) -> int:
        return len(self._done())

    def __repr__(self) -> str:
        lines = [
            f"{entry.number:>3}  {entry.body['question_text']}  {entry.body['price']['text']}" for entry in self._done()
        ]
        return "\n".join(lines) or "no releases yet"
