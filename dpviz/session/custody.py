"""The protocol of sessions, as pages, charts and reports see it: all of it public, and nothing of how it is kept.

A session with a ledger is one custody, a teaching session another; a curator on another machine would be a third.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dpviz.boundary import protect_module
from dpviz.errors import Forbidden
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import Question
from dpviz.model.statistic import Column
from dpviz.model.ways import Way
from dpviz.model.words import DRAWN, RELEASED, Verbs
from dpviz.privacy.limits import Limits
from dpviz.privacy.unit import Unit
from dpviz.session.accountant import Remaining
from dpviz.session.plan import Plan
from dpviz.session.running import Running

if TYPE_CHECKING:
    from dpviz.model.public import PublicTable, PublicTop
    from dpviz.model.release import Release
    from dpviz.session.seeded_draws import SeededDraws


@dataclass(frozen=True)
class Charter:
    """The data that is kept, and the unit that is protected.

    seed  where draws are seeded, so that nothing of it is private: a teaching session; else None
    """

    dataset: str
    unit: Unit
    columns: tuple[Column, ...]
    seed: int | None = None

    @property
    def verbs(self) -> Verbs:
        """The fate of an answer, in the words of plans."""
        return RELEASED if self.seed is None else DRAWN


class Charged(Protocol):
    """One entry of the record: what was charged for, by whom, and what came of it."""

    @property
    def number(self) -> int: ...

    @property
    def key(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def opened(self) -> str: ...

    @property
    def person(self) -> str: ...

    @property
    def mine(self) -> bool:
        """Whether it is being drawn here."""
        ...

    @property
    def body(self) -> Mapping[str, Any]: ...


class Raised(Protocol):
    """A budget that was put in force later."""

    @property
    def at(self) -> str: ...

    @property
    def text(self) -> str:
        """`ε 3, δ 0.000001`."""
        ...

    @property
    def person(self) -> str: ...

    @property
    def reason(self) -> str: ...


@dataclass(frozen=True)
class ChargeRecord:
    """The total charged so far, where that is kept.

    name       of the record; empty where none is kept
    new        whether nothing was ever charged
    remaining  what is left; None where nothing is charged
    entries    the latest of them
    hanging    those of all entries that may yet report back, or never did
    raises     every raise of the budget
    """

    name: str = ""
    new: bool = False
    remaining: Remaining | None = None
    entries: Sequence[Charged] = ()
    hanging: Sequence[Charged] = ()
    raises: Sequence[Raised] = ()


class Log(Protocol):
    """A log, which grows whenever something is charged, drawn or raised, by any process."""

    def head(self) -> str:
        """Another text after each change. Raises DpvizError where it cannot be seen."""
        ...


class Answers(Protocol):
    """The releases, by number. Looking is free."""

    @property
    def latest(self) -> Release | None: ...

    def __getitem__(self, number: int, /) -> Release: ...


class Custody(ABC):
    """Data in somebody's keeping, from outside. Subclass it for another keeper; every member is called by pages.

    Every error raised is a DpvizError that holds no data. A custody never shows a value that was not released.
    """

    @property
    @abstractmethod
    def charter(self) -> Charter: ...

    @abstractmethod
    def known(self) -> tuple[Remaining | None, str]:
        """The remaining balance, and an empty text; where nobody answers, what was left at the time in the text."""

    @abstractmethod
    def record(self, last: int) -> ChargeRecord:
        """The record as it is now, with so many of its latest entries."""

    @abstractmethod
    def hanging(self) -> Sequence[Charged]:
        """The entries that are being drawn now."""

    @property
    @abstractmethod
    def log(self) -> Log | None:
        """The log to look at for news; None where nothing is kept."""

    @property
    @abstractmethod
    def releases(self) -> Answers: ...

    @abstractmethod
    def plan(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        where: Mapping[str, object] | None = None,
        by: object = None,
        way: Way | None = None,
        limits: Limits | None = None,
    ) -> Plan:
        """The price of a release and its error. Free, and blind to the data."""

    @abstractmethod
    def release_async(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        by: object = None,
        way: Way | None = None,
        limits: Limits | None = None,
        key: str | None = None,
    ) -> Running:
        """Charge and draw, and return at once."""

    def seeded(
        self, question: object, mechanism: Mechanism, times: int, *, by: object = None, way: Way | None = None
    ) -> SeededDraws:
        """Draw several times with a seed, beside the true counts. Only where the data are public.

        Parameters
        ----------
        question : Domain, Question or str
            The bins to count, a question, or the name of a column for its undeclared keys.
        mechanism : Mechanism
            A mechanism with its parameters.
        times : int
            How many draws to make.
        by : Partition or Domain, optional
            Disjoint parts, each of which the question is asked about.
        way : str, optional
            How the price is shared out over the parts; the best way by default.

        Returns
        -------
        SeededDraws
            The draws in order, and the true counts where the rows are counts of declared bins.

        Raises
        ------
        Forbidden
            If the data are private.
        """
        raise Forbidden.of(
            "seeded draws", "true counts are shown for public data only", "begin a lesson with dv.teaching"
        )

    def public(self, question: Question) -> PublicTable | PublicTop | None:
        """Return the true counts where the data are public: of declared bins, or of the largest keys.

        Parameters
        ----------
        question : Question
            The question that a page asks.

        Returns
        -------
        PublicTable, PublicTop or None
            None where the data are private, or where there are no counts to show.

        Raises
        ------
        SchemaError
            If the question does not fit the columns of public data.
        """
        return None

    @property
    @abstractmethod
    def running(self) -> Running | None:
        """The draw on its way, if there is one."""

    @abstractmethod
    def cancel(self) -> None:
        """Cancel the draw on its way, if there is one."""

    @abstractmethod
    def add_listener(self, listener: Callable[[Running], None]) -> None:
        """Call a bound method whenever a draw ends, for as long as its object lives."""

    @abstractmethod
    def heed_waits(self) -> None:
        """Have a draw that waits for its charge say so on its handle, wherever it is shown."""


protect_module(vars())
