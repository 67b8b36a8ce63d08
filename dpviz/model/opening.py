"""The protocol of a sub-session: paid for once, when it is opened, and used many times.

The session, the ledger's arithmetic and `dv.load` know these protocols and no paper behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from dpviz.boundary import protect_module
from dpviz.exact import LONGEST
from dpviz.model.answers import Answer
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.question import Question
from dpviz.model.repricing import Repricing
from dpviz.model.source import TopRules
from dpviz.model.statistic import Need
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.model.release import Release

Balance: TypeAlias = Mapping[str, str]
"""The remaining balance of a sub-session: whole numbers by name, as texts. The ledger carries them; closing sets all to
0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpeningRow:
    """One use of a sub-session, and what came of it: a row of its transcript. All public.

    number   1, 2, 3 ... in the order of asking
    text     the question in words
    question the question; None where this dpviz cannot read it
    key      the analyst's own key
    status   "done"; "pending": being drawn; "cancelled", "failed" or "lost": spent, and there is no answer
    mine     whether this session draws it now
    unreadable  why this dpviz cannot read the row, where it cannot: its answer stays paid for and stored
    """

    number: int
    text: str
    question: Question | None
    key: str | None
    status: str
    mine: bool = False
    unreadable: str = ""

    def __repr__(self) -> str:
        return f"{self.number:>3}  {self.text}: {self.unreadable or self.status}"


class Left(Protocol):
    """The remaining balance of a sub-session, for a person. A sub-session has the members that `shown` names, too."""

    shown: ClassVar[tuple[str, ...]]

    @property
    def text(self) -> str:
        """`12 symbols and 4 questions`."""
        ...

    @property
    def of_paid(self) -> str:
        """`12 of 50 symbols and 4 of 20 questions`."""
        ...


class Use(Mechanism, Protocol):
    """One use of a sub-session: a mechanism that is paid from what was charged already.

    Its bound form carries the price of the whole sub-session. A plan of the use has the members that `shown` names.
    """

    shown: ClassVar[tuple[str, ...]]

    @property
    def reserved(self) -> str:
        """The most that it may use, in words: `10 symbols and 1 question`."""
        ...

    @property
    def value(self) -> str:
        """The same as an exact text, for what refuses it."""
        ...

    @property
    def terms(self) -> str:
        """How it is asked: `k=10, kbar=50`."""
        ...

    def reserve(self, balance: Balance) -> dict[str, str]:
        """Return the balance once the most it may use is set aside. BudgetExceeded where that does not fit; nothing is
        read but the balance, which follows from earlier answers alone."""
        ...

    def give_back(self, balance: Balance, answer: Answer) -> dict[str, str]:
        """Return the balance once the use by the answer is known."""
        ...


class OpeningStep(Protocol):
    """From one balance to the next, as a row of a ledger makes it (`dpviz.session.ledger.audit.Step`).

    kind      "open", "reserve" or "settle"
    body      what the ledger wrote beside the charge
    asked     what it wrote beside the use, where the step is one of a use; empty where it closes the sub-session
    reserved  of a "settle": the balance before and after this use was reserved
    """

    @property
    def kind(self) -> str: ...

    @property
    def body(self) -> Mapping[str, Any]: ...

    @property
    def before(self) -> Balance: ...

    @property
    def after(self) -> Balance: ...

    @property
    def asked(self) -> Mapping[str, Any]: ...

    @property
    def reserved(self) -> tuple[Balance, Balance] | None: ...


class OpeningTerms(Protocol):
    """The frozen public parameters of a sub-session, and its price, as a ledger keeps them."""

    name: ClassVar[str]
    repriced: ClassVar[tuple[Repricing, ...]] = ()

    @property
    def revisions(self) -> tuple[str, ...]:
        """The calibrations from which the price follows, where it follows from more than the parameters: `Dense 2`."""
        ...

    def parameters(self) -> dict[str, str]:
        """The parameters as exact texts: part of the key, and what the ledger keeps."""
        ...

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> Opening: ...

    @classmethod
    def longest(cls, name: str) -> int:
        """How many characters the text of a parameter may have: as many as a number, unless it says otherwise."""
        return LONGEST

    @classmethod
    def use_from_parameters(cls, parameters: dict[str, str]) -> Use:
        """One use, as the ledger keeps it: its parameters hold those of the sub-session."""
        ...

    @classmethod
    def follows(cls, step: OpeningStep) -> bool:
        """Whether a row of the ledger may lead from one balance to the next."""
        ...

    @property
    def title(self) -> str:
        """The title in the ledger: `pay what you get: 50 symbols, 20 questions`."""
        ...

    def check_source(self, rules: TopRules) -> None:
        """Refuse an engine that could answer no use, before it is paid for."""
        ...

    def price(self, unit: Unit) -> Guarantee:
        """The price of all answers together for one unit."""
        ...

    def step_price(self, unit: Unit) -> object:
        """The parts of the price."""
        ...

    def parts_text(self, unit: Unit) -> list[str]:
        """The same for a plan: a few lines."""
        ...


class Opening(OpeningTerms, Protocol):
    """The frozen public parameters of a sub-session: its price, what one use is, and how its uses add up.

    The name is what ledgers keep it under; one line in `OPENINGS` of `dpviz/mechanisms/__init__.py` makes it known.
    """

    def opened(self) -> dict[str, str]:
        """The balance of which nothing is used."""
        ...

    def left(self, balance: Balance) -> Left: ...

    def use(self, *terms: Any, **named: Any) -> Use:
        """One use on these terms, such as `k=10`. ParameterError where it cannot be."""
        ...

    def smallest(self, unit: Unit) -> Bound:
        """The use that is the easiest to answer: where it is refused, nothing can be asked."""
        ...

    def typical(self, unit: Unit) -> tuple[Use, Bound]:
        """A use on the terms that nobody has to name, and the same bound: its errors say what to expect."""
        use = self.use()
        return use, self.smallest(unit)

    def trials(self, domain: Domain, unit: Unit) -> Iterator[tuple[Question, Need]]:
        """The easiest questions about this domain, one for each thing that the sub-session will be asked about, such as
        each of its parts. A source that can count none of them for any of its columns is refused before the charge."""
        bound = self.smallest(unit)
        yield replace(bound.question, domain=domain), bound.needs

    def row(self, row: OpeningRow, use: Use | None, release: Release | None) -> OpeningRow:
        """A row of the transcript; without a use or a release, where they cannot be read or are not there."""
        ...


@runtime_checkable
class ListOpening(Opening, Protocol):
    """A sub-session whose questions are fixed, and so priced together, when it is opened."""

    def check_lines(self, check: Callable[[Question, Mechanism], object]) -> None:
        """Check each question and its mechanism; a refusal names the line."""
        ...

    def check_worth(self, unit: Unit, filter: str) -> None:
        """Refuse a list that is no cheaper than its lines one by one, in a budget with this filter."""
        ...


protect_module(vars())
