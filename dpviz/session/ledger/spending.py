"""The amounts charged so far for each caller and each project: what a limit within the budget is checked against.

A ledger knows no arithmetic of prices. The amount of a charge is the rise of each total of the account, as its row
carries it, so that whatever the filter of the data set adds up is added up here. A charge counts from the moment that
it is written, whatever becomes of its draw; that of a sub-session counts whole for the caller who opened it.

Windows are calendar days and months in UTC. Time does not run backwards: a row counts to the latest time that any row
up to it carries. So only the window at that time can grow, and older ones need not be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from dpviz.boundary import protect_module

By: TypeAlias = Literal["name", "project"]

Amounts: TypeAlias = Mapping[str, int]
"""Whole numbers by the names of an account's totals; a total that is missing is 0."""

PERIODS = {"day": 10, "month": 7}
"""The length of the text that names a window: `2026-11-30`, `2026-11`."""


@dataclass(slots=True)
class _Spent:
    """The amounts of one caller or project: in all time, and in the latest window of each length."""

    total: dict[str, int] = field(default_factory=dict)
    windows: dict[str, tuple[str, dict[str, int]]] = field(default_factory=dict)

    def add(self, amounts: Amounts, at: str) -> None:
        _grow(self.total, amounts)
        for period, length in PERIODS.items():
            window, spent = self.windows.get(period, ("", {}))
            if window != at[:length]:
                window, spent = at[:length], {}
            _grow(spent, amounts)
            self.windows[period] = (window, spent)


class Spending:
    """The amounts charged so far, by caller and by project, as a chain of rows implies them."""

    def __init__(self) -> None:
        self._spent: dict[tuple[By, str], _Spent] = {}
        self._time = ""

    @property
    def time(self) -> str:
        """The latest time that a row carries, UTC; empty before the first."""
        return self._time

    def of(self, by: By, name: str, period: str = "", at: str = "") -> dict[str, int]:
        """Return the amounts charged for a caller or a project.

        Parameters
        ----------
        by : {"name", "project"}
            Whether `name` is that of a caller or of a project.
        name : str
            The name.
        period : {"", "day", "month"}, default ""
            The length of the window; empty for all time.
        at : str, default ""
            A time within the window, no earlier than `time`.

        Returns
        -------
        dict of str to int
            The amount of each total of the account.
        """
        spent = self._spent.get((by, name))
        if spent is None:
            return {}
        if not period:
            return dict(spent.total)
        window, amounts = spent.windows.get(period, ("", {}))
        return dict(amounts) if window == max(at, self._time)[: PERIODS[period]] else {}

    def pass_time(self, at: str) -> None:
        """Go on to the time of a row."""
        if not isinstance(at, str):
            raise TypeError
        self._time = max(self._time, at)

    def add(self, asked_by: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Count a charge, from the account before to the account after, for who asked."""
        amounts = rise(before, after)
        for by in _askers(asked_by):
            self._spent.setdefault(by, _Spent()).add(amounts, self._time)

    def copy(self) -> Spending:
        """The same amounts, which stay as they are while the ledger goes on."""
        return Spending.from_json(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The amounts as text, to be read again by `from_json`."""
        return {
            "time": self._time,
            "spent": [
                [
                    by,
                    name,
                    _texts(spent.total),
                    {period: [at, _texts(of)] for period, (at, of) in spent.windows.items()},
                ]
                for (by, name), spent in self._spent.items()
            ],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Spending:
        """The amounts as they were written."""
        made = cls()
        made._time = stored["time"]
        for by, name, total, windows in stored["spent"]:
            kept = {period: (at, _numbers(of)) for period, (at, of) in windows.items()}
            made._spent[by, name] = _Spent(_numbers(total), kept)
        return made


Within: TypeAlias = Callable[[Spending, Mapping[str, str], Mapping[str, str], str], None]
"""Checks a charge inside its transaction, or refuses it, which writes nothing: given what was charged so far, the
account before and after, and the time, which is no earlier than that of any row. Pure."""


def rise(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, int]:
    """The amount by which each total of an account rose; only whole numbers rise."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        raise TypeError  # before anything is looked up in it: an index that fails is quoted
    return {name: int(after[name]) - int(before[name]) for name in after if after[name] != before[name]}


def _askers(asked_by: Mapping[str, str]) -> list[tuple[By, str]]:
    """The caller, and the project where there is one."""
    name, project = asked_by["name"], asked_by["project"]
    if not isinstance(name, str) or not isinstance(project, str) or not name:
        raise TypeError
    return [("name", name), *([("project", project)] if project else [])]  # type: ignore[list-item]


def _grow(spent: dict[str, int], amounts: Amounts) -> None:
    for part, amount in amounts.items():
        spent[part] = spent.get(part, 0) + amount


def _texts(amounts: Amounts) -> dict[str, str]:
    return {part: str(amount) for part, amount in amounts.items()}


def _numbers(amounts: Mapping[str, str]) -> dict[str, int]:
    return {part: int(amount) for part, amount in amounts.items()}


protect_module(vars())
