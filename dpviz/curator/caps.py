"""Limits of the budget for analysts and projects, inside the budget of the data set.

A cap is checked in the transaction of the charge, against the sums that the ledger's own check of its chain keeps: so
no two charges pass it together, whatever processes write, and after a restart it stands where it stood. Charges count
from the moment that they are written, whether they are pending, answered, lost, cancelled or failed; a sub-session
counts whole for who opened it.

A cap is counted as the budget of the data set is: it is the budget of its epsilon and delta under the same filter, and
each charge adds to it what it adds to the account. Under the basic filter epsilons and deltas add up; under zCDP rho,
delta and shift stay below those of a zCDP budget of the cap's size, so that many small answers fit as they do into the
budget. Nothing is promised for a cap alone: the promise is the total of the data set, which binds besides, and analysts
who tell each other their answers share that one.

A window is a calendar day or month in UTC. It delays and never adds: a cap for all time binds besides, and so does the
budget. Time is the latest that any row of the ledger carries, so a clock that was put back opens no window twice, and
one that ran ahead keeps the next window shut until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from dpviz.boundary import protect_module
from dpviz.errors import BudgetExceeded
from dpviz.exact import text
from dpviz.privacy.grid import amount
from dpviz.session import accountant
from dpviz.session.accountant import SYMBOLS, Budget
from dpviz.session.callers import Caller
from dpviz.session.ledger.spending import By, Spending, Within, rise

Period: TypeAlias = Literal["", "day", "month"]

PERIODS: tuple[Period, ...] = get_args(Period)
"""The lengths of a window: all time, a day and a calendar month, both in UTC."""


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that charges may add up to: of one analyst or one project, in all time or within one window.

    epsilon, delta  the totals of the prices
    per             the window; empty for all time
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    per: Period = ""

    @property
    def text(self) -> str:
        """The cap in a few words: `ε 2, δ 0.000001 a month`."""
        delta = f", δ {text(self.delta)}" if self.delta else ""
        return f"ε {text(self.epsilon)}{delta}{f' a {self.per}' if self.per else ''}"

    def parts(self, like: Budget) -> Mapping[str, Fraction]:
        """The most of each part that the filter of this budget adds up. Raises ParameterError where it has none."""
        return _parts(self.epsilon, self.delta, like)


@lru_cache(maxsize=1000)
def _parts(epsilon: Fraction, delta: Fraction, like: Budget) -> Mapping[str, Fraction]:
    budget = Budget(epsilon, delta, like.filter, like.conversion, like.reserve)
    return MappingProxyType(accountant.caps(budget))


@dataclass(frozen=True, slots=True)
class Allowance:
    """A cap of one analyst or project, and what is left of it.

    by, name  whose it is
    left      what is left of each part that the filter adds up
    until     the first day on which all of it is there again, as `2026-12-01`; empty for all time
    """

    cap: Cap
    by: By
    name: str
    left: Mapping[str, Fraction]
    until: str

    @property
    def whose(self) -> str:
        """`the cap of analyst Ana, ε 2 a month`."""
        return f"the cap of {'analyst' if self.by == 'name' else 'project'} {self.name}, {self.cap.text}"


@dataclass(frozen=True)
class Caps:
    """The caps of a data set.

    each      of every analyst, one by one
    analysts  of single analysts by name, which hold in place of those of every analyst
    projects  of projects by name, which hold for all analysts of a project together
    """

    each: tuple[Cap, ...] = ()
    analysts: Mapping[str, tuple[Cap, ...]] = field(default_factory=dict)
    projects: Mapping[str, tuple[Cap, ...]] = field(default_factory=dict)

    def check_fits(self, budget: Budget) -> None:
        """Refuse caps that the filter of this budget could not count. Raises ParameterError."""
        for caps in (self.each, *self.analysts.values(), *self.projects.values()):
            for cap in caps:
                cap.parts(budget)

    def within(self, caller: Caller) -> Within:
        """The check of each charge of a caller, as `Session.for_caller` takes it."""
        return partial(self.check, caller)

    def check(
        self, caller: Caller, spending: Spending, before: Mapping[str, str], after: Mapping[str, str], now: str
    ) -> None:
        """Refuse a charge that passes a cap of its caller or their project. Pure.

        Parameters
        ----------
        caller : Caller
            Who is charged.
        spending : Spending
            The amounts charged so far for each caller and project.
        before, after : mapping
            The account of the data set before and after the charge.
        now : str
            The time, UTC, no earlier than that of any row of the ledger.

        Raises
        ------
        BudgetExceeded
            If a cap does not leave enough. Nothing was charged.
        """
        price = {part: amount(steps) for part, steps in rise(before, after).items()}
        for allowance in self.allowances(caller, spending, before, now):
            for part, cost in price.items():
                if cost > allowance.left[part]:
                    raise _exceeded(allowance, part, cost, accountant.budget(before))

    def allowances(
        self, caller: Caller, spending: Spending, account: Mapping[str, str], now: str
    ) -> tuple[Allowance, ...]:
        """Return every cap that binds a caller, and what is left of it.

        Parameters
        ----------
        caller : Caller
            Who would be charged.
        spending : Spending
            The amounts charged so far for each caller and project.
        account : mapping
            The account of the data set.
        now : str
            The time, UTC.

        Returns
        -------
        tuple of Allowance
            Caps for all time first, for no wait helps there.
        """
        like, at = accountant.budget(account), max(now, spending.time)
        holders: list[tuple[By, str, tuple[Cap, ...]]] = [
            ("name", caller.name, self.analysts.get(caller.name, self.each)),
            ("project", caller.project, self.projects.get(caller.project, ()) if caller.project else ()),
        ]
        found = [_allowance(cap, by, name, spending, like, at) for by, name, caps in holders for cap in caps]
        return tuple(sorted(found, key=lambda one: PERIODS.index(one.cap.per)))


def _allowance(cap: Cap, by: By, name: str, spending: Spending, like: Budget, at: str) -> Allowance:
    spent = spending.of(by, name, cap.per, at)
    left = {part: most - amount(spent.get(part, 0)) for part, most in cap.parts(like).items()}
    return Allowance(cap, by, name, left, _next_window(cap.per, at))


def _next_window(per: Period, at: str) -> str:
    """The day on which the next window begins."""
    if not per:
        return ""
    day = date.fromisoformat(at[:10])
    if per == "day":
        return (day + timedelta(days=1)).isoformat()
    return (day.replace(day=1) + timedelta(days=31)).replace(day=1).isoformat()


def _exceeded(allowance: Allowance, part: str, cost: Fraction, like: Budget) -> BudgetExceeded:
    """A price that a cap does not leave enough for."""
    symbol, left, most = SYMBOLS[part], max(allowance.left[part], Fraction(0)), allowance.cap.parts(like)[part]
    under = " under the zCDP filter" if like.filter == "zcdp" else ""
    wait = f"ask again from {allowance.until} on (UTC)" if cost <= most and allowance.until else ""
    largest = accountant.largest_answer(like, {part: left}) if part in ("epsilon", "rho") else left
    asked = "one answer of at most ε =" if part == "rho" else f"at most {symbol} ="
    less = f"ask for {asked} {text(largest)}" if largest and part != "shift" else ""
    next_step = " or ".join(filter(None, [less, wait])) or "ask the data owner for a larger cap"
    error = BudgetExceeded(
        f"This release costs {symbol} = {text(cost)}{under}, and {allowance.whose}, leaves {text(left)}; {next_step}. "
        "Nothing was charged.",
        value=text(cost),
        rule=f"a charge must fit into {allowance.whose}, and into the budget of the data set",
        next_step=next_step,
    )
    error.part, error.left = part, text(left)
    return error


protect_module(vars())
