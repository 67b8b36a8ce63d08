"""The protocol of a bound mechanism: how it draws, what it costs, how far off it is, what it stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from dpviz.boundary import protect_module
from dpviz.model.answers import Answer
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.base import Clamp, StoredLaw
from dpviz.model.limited import Limited
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.model.repricing import Repricing
from dpviz.model.source import Source, Tick, TopRules
from dpviz.model.statistic import Need, Statistic
from dpviz.model.terms import Used
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.range_bounded import StepPrice
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.noise.bits import Bits
    from dpviz.privacy.discrete_gaussian import Shifts
    from dpviz.privacy.loss_distribution import DominatingPair

Mode = Literal["exact", "strict"]

SLOW_SECONDS = 2
"""A draw that takes longer is called slow before it is paid."""

DRAWS_A_SECOND = 500_000
"""Noise that is drawn and stored, on a slow processor; `benchmarks/noise.py` measures it."""


@dataclass(frozen=True, slots=True)
class Space:
    """The storage that an answer takes, from public facts only."""

    bits: int
    text: str


@dataclass(frozen=True, slots=True)
class Cost:
    """How much work a release is, from public things only.

    steps    of progress that a draw reports
    text     the work in words
    seconds  about how long a draw takes on a slow processor, where it may be long
    """

    steps: int
    text: str
    seconds: float = 0.0

    @property
    def slow(self) -> bool:
        """Whether whoever pays is warned before.

        >>> Cost(1, "a draw").slow, Cost(10**7, "10,000,000 draws", 10**7 / DRAWS_A_SECOND).slow
        (False, True)
        """
        return self.seconds > SLOW_SECONDS


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter that a person may choose in a widget: its name, label and options (value, label).

    stays  whether it is about the data, so that its value stays where another mechanism that has it, too, is chosen
    only   another parameter, and the value of it with which this one is asked for; None: it always is
    plain  whether everybody chooses it, as how many items are listed; the others are for experts, and folded
    """

    name: str
    label: str
    options: tuple[tuple[str, str], ...] = ()
    stays: bool = False
    only: tuple[str, str] | None = None
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Premise:
    """A public fact about the data on which the errors of an answer rest: they hold where it does.

    words      `no value is above 1,000`
    python     the argument that states it
    suggested  whether it is the default, which nobody may have stated
    """

    words: str
    python: str
    suggested: bool


class BoundTerms:
    """The terms of a release, which every mechanism defines. All of them are public and free."""

    if TYPE_CHECKING:  # declared and not defined: in a subclass any of these may be a field of a dataclass

        @property
        def mechanism(self) -> Mechanism: ...

        @property
        def question(self) -> Question: ...

        @property
        def unit(self) -> Unit: ...

        @property
        def needs(self) -> Need: ...

        @property
        def price(self) -> Guarantee: ...

        @property
        def space(self) -> Space: ...

        @property
        def cost(self) -> Cost: ...

        @property
        def law(self) -> StoredLaw:
            """The law that an answer is drawn from, in numbers alone: a release keeps it, and its errors follow."""
            ...

        @property
        def error(self) -> ErrorModel:
            """The law's statement about an answer's error."""
            ...

        @property
        def verb(self) -> str:
            """One sentence on the effect of a release, for the person about to pay."""
            ...

    shape: ClassVar[type[Answer]]
    """The shape of the answers that `draw` gives."""

    way: ClassVar[str | None] = None
    """How one price is shared out among the parts of the data, where the question is about each: `model/ways.py`."""

    @property
    def max_items(self) -> int | None:
        """How many items an answer names at most, where it is a list or a set; None where it is neither."""
        return None


class BoundPrice(BoundTerms):
    """The price beside other ways and budgets. By default there is no other."""

    reuse: ClassVar[bool] = True
    """Whether further reads of the answer, or further draws from it, are free."""

    @property
    def leaves_out(self) -> str:
        """The things that this way leaves out and others count, in words: then their errors are not all there is to
        compare."""
        return ""

    @property
    def saved(self) -> str:
        """The part of the sum of all prices that this way does not charge, in words; empty where it charges the sum."""
        return ""

    @property
    def opening_call(self) -> str:
        """The call that pays for this way, where it is a sub-session and no release; else nothing."""
        return ""

    @property
    def subsession_calls(self) -> str:
        """That call, and those that ask about the parts."""
        return ""

    @property
    def for_zcdp(self) -> Bound | None:
        """The same answer with noise that a zCDP budget pays for better, at no more than the same rho; None where there
        is none, or it is this one."""
        return None

    @property
    def thresholds(self) -> Mapping[str, Fraction]:
        """The least value that is shown, by the noise laws that this price could pay for; empty where there is no
        threshold, or no choice."""
        return {}

    @property
    def with_counts(self) -> Mapping[str, Fraction]:
        """The same of `Stability`, which shows counts at this price, for an answer that has none; else empty."""
        return {}

    def gaussian(self, unit: Unit) -> tuple[Fraction, Shifts] | None:
        """The variance of discrete Gaussian noise on counts and how this unit, in place of its own, moves them; None
        where there is other noise."""
        return None

    @property
    def dominating_pair(self) -> DominatingPair:
        """The pair that the answer is post-processing of, for the exact price of a fixed list: that of its noise, or
        randomised response of its epsilon, apart from its delta."""
        from dpviz.privacy.loss_distribution import pair_of

        found = self.pair_for(self.unit)
        return pair_of(self.price) if found is None else found

    def pair_for(self, unit: Unit) -> DominatingPair | None:
        """The pair of the same noise where this unit, in place of its own, moves the counts; None, as by default, where
        nothing but the price is known."""
        return None

    @property
    def item_price(self) -> StepPrice | None:
        """The price of one item of a list, and the cost of composition, where the price is made up of such steps."""
        return None


class BoundErrors(BoundTerms):
    """Statements about the answer before the draw: its title, its limits, and how far off it may be."""

    ordered: ClassVar[bool] = True
    """Whether the order of the items says something; for a mechanism that names items."""

    @property
    def limited(self) -> Limited:
        """The part of an answer that the limits of the unit may leave out."""
        parts = self.question.by
        return Limited(self.question, self.unit, parts.size if parts is not None and self.way == "product" else 1)

    @property
    def limits(self) -> str:
        """The limits in a sentence for the person about to pay; empty where the unit is a row."""
        return self.limited.of_answer(self.max_items is not None)

    @property
    def clamp(self) -> Clamp:
        """The public limits that every released value respects; None where there is no limit on that side."""
        return self.law.clamp

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Statements about the error before the draw, the most important first: two of them head a plan."""
        return self.law.measures(self.question)

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Labelled errors shown beside the main ones, such as the paper's table bounds."""
        return ()

    @property
    def title(self) -> str:
        """The subject of the answer: counts in each bin, the top of a list, or a set."""
        if self.max_items is None:
            return self.law.title(self.question, self.unit)
        among = self.error.among
        return self.question.ranked_title(self.unit, self.max_items, ordered=self.ordered, among=among)


class BoundDraw(BoundTerms):
    """One release: what is checked before the charge, counted and drawn after it, and accepted when it is read back."""

    def modes(self) -> tuple[Mode, ...]:
        """In which ways it can run; the first is the default."""
        return ("exact",)

    def check_countable(self, source: Source) -> None:
        """Refuse what the source cannot count for it."""
        source.check(self.question, self.unit, self.needs)

    def count_statistic(self, source: Source, tick: Tick | None = None) -> Statistic:
        """The statistic it draws from, counted by the source after the charge."""
        return source.count(self.question, self.unit, self.needs, tick)

    def check_source(self, rules: TopRules) -> None:
        """Refuse a source that the proof of the price does not cover. By default any source of exact counts will do,
        and sources of approximate ones are refused before this is asked."""

    def accepts(self, answer: Answer) -> bool:
        """Whether a stored answer can be one that `draw` gave: its shape, and what the question says of it."""
        fits = isinstance(answer, self.shape) and answer.fits(self.question, self.max_items)
        return fits and self.law.accepts(answer)

    def uses(self, answer: Answer) -> tuple[Used, ...]:
        """The part of an earlier payment that an answer used; nothing where a release is paid by itself."""
        return ()

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Answer:
        """Draw the answer. Raises nothing that depends on the statistic's values."""
        raise NotImplementedError


class Bound(BoundPrice, BoundErrors, BoundDraw):
    """A mechanism bound to a question and a unit. Everything here but `draw` is public and free.

    Members that every mechanism must define are declared in `BoundTerms`, and `draw`; the others have a default.
    """


class ParameterTexts(Protocol):
    """Parameters as a ledger and a saved release keep them."""

    name: ClassVar[str]

    repriced: ClassVar[tuple[Repricing, ...]]
    """Revisions that were charged too little, and the true cost of their answers."""

    @property
    def revision(self) -> int:
        """Of its calibration: a release says by which one it was drawn. It grows when a price, a law or a limit moves;
        a mechanism with several noises says so of the one that it draws."""
        ...

    def parameters(self) -> dict[str, str]:
        """The parameters as exact texts, in the order a person would type them; part of the idempotency key."""
        ...

    @classmethod
    def longest(cls, name: str) -> int:
        """How many characters the text of a parameter may have."""
        ...

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> Mechanism: ...


class WidgetDefaults(Protocol):
    """The choices that a widget offers, and the values that it gives where nobody has chosen."""

    serves: ClassVar[tuple[Goal, ...]]
    worth_from: ClassVar[int]
    first_choice: ClassVar[int]

    @classmethod
    def at_price(cls, epsilon: Fraction, delta: Fraction) -> Mechanism:
        """The initial parameters of a widget, where nobody has chosen."""
        ...

    @classmethod
    def fitted(cls, question: Question) -> dict[str, str]:
        """The parameters that a widget gives because their defaults do not fit the question."""
        ...

    @classmethod
    def in_place_of(cls, name: str) -> tuple[str, ...]: ...

    @classmethod
    def choices(cls) -> tuple[Choice, ...]:
        """The options of a widget besides epsilon."""
        ...


class Mechanism(ParameterTexts, WidgetDefaults, Protocol):
    """Frozen public parameters, before they meet a question and a unit."""

    about: ClassVar[str]
    delta_text: ClassVar[str]
    names_items: ClassVar[bool]
    draws_records: ClassVar[bool]
    cuts: ClassVar[bool]

    @property
    def python(self) -> str:
        """The call that makes this mechanism."""
        ...

    def premises(self, question: Question) -> tuple[Premise, ...]:
        """The facts about the data on which its errors rest."""
        ...

    def with_epsilon(self, epsilon: Fraction) -> Mechanism: ...

    def bind(self, question: Question, unit: Unit) -> Bound:
        """Fix everything public. Raises on public facts only."""
        ...

    def bind_first(self, question: Question, unit: Unit) -> Bound:
        """The same as the first revision did: a release of the first format holds no law of its own."""
        ...


protect_module(vars())
