"""What a mechanism must answer for: how it draws, what it costs, how far off it is, what it stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol

from dpviz.hidden import guard
from dpviz.model.answer import Answer
from dpviz.model.error import ErrorModel
from dpviz.model.laws.base import StoredLaw
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Need, Statistic
from dpviz.noise.bits import Bits
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit

Mode = Literal["exact", "strict"]


@dataclass(frozen=True, slots=True)
class Space:
    """What an answer takes to store, from public things only."""

    bits: int
    text: str


@dataclass(frozen=True, slots=True)
class Cost:
    """How much work a release is, from public things only: bins, and seconds where it is worth a warning."""

    steps: int
    text: str
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter that a person may choose in a widget: its name, label and options (value, label)."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...] = ()


class Bound(Protocol):
    """A mechanism bound to a question and a unit. Everything here but `draw` is public and free."""

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
        """The law that an answer is drawn from, in numbers alone: a release keeps it, and its errors follow from it."""
        ...

    @property
    def error(self) -> ErrorModel:
        """What the law says about an answer's error."""
        ...

    @property
    def clamp(self) -> tuple[int | None, int | None]:
        """The public limits that every released value respects."""
        ...

    @property
    def reuse(self) -> bool:
        """Whether further reads or draws from the answer are free."""
        ...

    @property
    def verb(self) -> str:
        """What a release does, in one sentence for the person about to pay."""
        ...

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What can be said of the error before the draw, the most important first: two of them head a plan."""
        ...

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Labelled errors shown beside the main ones, such as the paper's table bounds."""
        ...

    def modes(self) -> tuple[Mode, ...]:
        """In which ways it can run; the first is the default."""
        ...

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Answer:
        """Draw the answer. Raises nothing that depends on the statistic's values."""
        ...


def places(bound: Bound) -> int | None:
    """How many items the answer names at most, where it is a list or a set; None where it has a value per bin.

    A bound mechanism that answers `Ranked` or `Chosen` says it as `bound.places`.
    """
    most: int | None = getattr(bound, "places", None)
    return most


def title(bound: Bound) -> str:
    """What the bound mechanism answers: counts in each bin, the top of a list, or a set (`bound.ordered` is False)."""
    most = places(bound)
    if most is None:
        return bound.question.title(bound.unit)
    return bound.question.ranked_title(bound.unit, most, ordered=getattr(bound, "ordered", True))


class Mechanism(Protocol):
    """Frozen public parameters, before they meet a question and a unit."""

    name: ClassVar[str]
    about: ClassVar[str]
    delta_text: ClassVar[str]

    def parameters(self) -> dict[str, str]:
        """The parameters as exact texts, in the order a person would type them; part of the idempotency key."""
        ...

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> Mechanism: ...

    @classmethod
    def choices(cls) -> tuple[Choice, ...]:
        """What a widget offers besides epsilon."""
        ...

    @property
    def python(self) -> str:
        """The call that makes this mechanism."""
        ...

    def with_epsilon(self, epsilon: Fraction) -> Mechanism: ...

    def bind(self, question: Question, unit: Unit) -> Bound:
        """Fix everything public. Raises on public facts only."""
        ...


guard(vars())
