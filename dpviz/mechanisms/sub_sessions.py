"""Members that kinds of sub-sessions share whose uses give nothing back: `Parts` and `FixedList`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpviz.boundary import protect_module
from dpviz.errors import BudgetExceeded
from dpviz.mechanisms.groups import Around
from dpviz.model.answers import Answer
from dpviz.model.mechanism import Bound, Mechanism, Premise
from dpviz.model.opening import Balance, OpeningRow, OpeningStep, Use
from dpviz.model.question import Question
from dpviz.model.source import TopRules
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.model.release import Release


class PrepaidOpening:
    """Parameters of a sub-session that any engine can answer."""

    if TYPE_CHECKING:  # each kind has its own

        def typical(self, unit: Unit) -> tuple[Use, Bound]: ...

    def check_source(self, rules: TopRules) -> None:
        """Accept every engine: each use is tried by itself.

        Parameters
        ----------
        rules : TopRules
            The engine's rules for top-k questions.
        """
        return None

    def smallest(self, unit: Unit) -> Bound:
        """Bind the use that is the easiest to answer.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        Bound
            The typical use, at the price of the sub-session.

        Raises
        ------
        ParameterError
            If no such use can be bound for this unit.
        """
        return self.typical(unit)[1]

    def row(self, row: OpeningRow, use: Use | None, release: Release | None) -> OpeningRow:
        """Return the row of the transcript as it is.

        Parameters
        ----------
        row : Row
            The number, question and status of the use.
        use : Use
            Not looked at.
        release : Release
            Not looked at.

        Returns
        -------
        Row
            The same row.
        """
        return row


class PrepaidUse(Around):
    """A mechanism that is paid from a sub-session; it keeps what it reserved, whatever the answer is."""

    shown: ClassVar[tuple[str, ...]] = ()

    inner: Mechanism

    @property
    def own_terms(self) -> dict[str, str]:
        """The terms that a ledger keeps beside those of the mechanism."""
        raise NotImplementedError

    def parameters(self) -> dict[str, str]:
        return {**self.own_terms, "mechanism": self.inner.name, **self.inner.parameters()}

    @classmethod
    def longest(cls, name: str) -> int:
        return 1 << 17

    def with_epsilon(self, epsilon: Fraction) -> Self:
        made: Any = self
        return replace(made, inner=self.inner.with_epsilon(epsilon))  # type: ignore[no-any-return]

    def premises(self, question: Question) -> tuple[Premise, ...]:
        return self.inner.premises(question)

    def give_back(self, balance: Balance, answer: Answer) -> dict[str, str]:
        return dict(balance)


def inner_mechanism(parameters: Mapping[str, str], own: Collection[str]) -> Mechanism:
    """The mechanism that a use is kept with, beside its own terms."""
    from dpviz.mechanisms import mechanism

    return mechanism(parameters["mechanism"], {name: value for name, value in parameters.items() if name not in own})


@dataclass(frozen=True)
class PrepaidBound(Bound):
    """A use of a sub-session. Its price is that of the whole sub-session; everything else is the mechanism's."""

    mechanism: Any
    inner: Bound
    whole: Guarantee

    @property
    def shape(self) -> type[Answer]:  # type: ignore[override]
        return self.inner.shape

    @property
    def price(self) -> Guarantee:
        return self.whole


def _pass_on(name: str) -> Any:
    """A member of a bound mechanism that is the inner one's."""
    return property(lambda self: getattr(self.inner, name), doc=f"`{name}` of the mechanism.")


PASSED_ON = (
    *("question", "unit", "needs", "space", "cost", "law", "error", "verb", "ordered", "reuse", "max_items", "clamp"),
    *("measures", "notes", "item_price", "title", "modes", "check_countable", "count_statistic", "check_source"),
    "draw",
)
"""The members that a use has from its mechanism."""

for _name in PASSED_ON:
    setattr(PrepaidBound, _name, _pass_on(_name))


def concerns(step: OpeningStep, name: str) -> bool:
    """Whether a row of a ledger changes the balance of a sub-session of this kind."""
    mechanism = step.body.get("mechanism", {})
    return step.kind in ("open", "reserve", "settle") and mechanism.get("name") == name


def follows_balance(
    step: OpeningStep, opened: Mapping[str, str], read: Callable[[dict[str, str]], PrepaidUse | None]
) -> bool:
    """Whether the balance after a row follows from that before it.

    opened  the balance of which nothing is used
    read    makes the use of its parameters; None where it is not one of this sub-session
    """
    if step.kind == "open":
        return dict(step.after) == dict(opened)
    if step.kind == "settle":  # nothing is given back
        return dict(step.after) == dict(step.before)
    asking = step.asked.get("mechanism")
    if asking is None:  # it was closed
        return set(step.after.values()) == {"0"}
    use: Any = read(asking["parameters"])
    try:
        return use is not None and dict(step.after) == use.reserve(step.before)
    except BudgetExceeded:
        return False


protect_module(vars())
