"""Parts: a sub-session in which each of some disjoint parts of the data has a balance of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final

from dpviz.boundary import as_given, plain_arguments, protect_module
from dpviz.errors import BudgetExceeded, ParameterError, short
from dpviz.exact import counted, text
from dpviz.mechanisms.dense import Dense
from dpviz.mechanisms.groups import touched
from dpviz.mechanisms.sub_sessions import (
    PrepaidBound,
    PrepaidOpening,
    PrepaidUse,
    concerns,
    follows_balance,
    inner_mechanism,
)
from dpviz.model.answers import Answer
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.opening import Balance, OpeningStep, Use
from dpviz.model.parameters import Epsilon, Exact, Parameters, Probability, Reader, Reads, parameter
from dpviz.model.partition import Partition
from dpviz.model.question import NamedParts, Question, canonical, parts, parts_of
from dpviz.model.statistic import Need
from dpviz.model.terms import Used
from dpviz.names import meant
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import GRID, LARGEST_EPSILON, amount, payable, steps
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP, Loss, PureDP
from dpviz.privacy.parallel import parallel
from dpviz.privacy.unit import Unit

MOST_PARTS: Final = 100
"""A ledger keeps the balance of every part in each of its rows."""

OWN: Final = ("of", "part", "mechanism")
"""The names that a use is kept with beside the parameters of its mechanism."""


@dataclass(frozen=True)
class PartsLeft:
    """Remaining balance per part, beside what was paid for."""

    of: Parts
    parts_left: Mapping[str, tuple[Fraction, Fraction]]

    shown: ClassVar[tuple[str, ...]] = ("parts_left",)

    @property
    def text(self) -> str:
        amounts = sorted(epsilon for epsilon, _ in self.parts_left.values())
        if amounts[0] == amounts[-1]:
            return f"ε {text(amounts[0])} of each of {counted(len(amounts), 'part')}"
        return f"ε {text(amounts[0])} to {text(amounts[-1])} of {counted(len(amounts), 'part')}"

    @property
    def of_paid(self) -> str:
        return f"{self.text}, of ε {text(self.of.epsilon)} each"

    def __repr__(self) -> str:
        return f"<{self.of_paid}>"


@dataclass(frozen=True)
class DisjointParts(Reader):
    """Some disjoint parts of the data: a domain, a partition, or filters by name. In texts, JSON."""

    lists: ClassVar[bool] = True
    first: ClassVar[bool] = True
    longest: ClassVar[int] = 1 << 16  # the bins of many parts take some

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Partition | NamedParts:
        made = parts(value)
        if made.size > MOST_PARTS:
            raise ParameterError.of(
                counted(made.size, "part"),
                f"a sub-session keeps the balance of at most {MOST_PARTS} parts",
                "declare fewer, wider bins",
            )
        if not made.apart:
            raise ParameterError.of(
                made.text, "parts of a sub-session are disjoint: no row is in two", "declare the bins of a column"
            )
        return made

    def from_text(self, written: str, name: str) -> Any:
        return parts_of(json.loads(written))

    def text(self, value: Any) -> str:
        return canonical(value.to_json()).decode()


class Parts(PrepaidOpening, Parameters):
    """Open a sub-session about disjoint parts of the data, each part with a balance of its own.

    Parameters
    ----------
    by : Domain, Partition or dict
        The parts: a domain of declared bins, a `Partition`, or filters by name that let no row pass together.
    epsilon : str, int, float or Fraction
        The most that all questions about one part may cost together, against adding or removing one unit in it.
    delta : str, int, float or Fraction, default 0
        The most delta that all questions about one part may cost together; 0 for pure answers alone.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    The balance of one part does not depend on questions about the others, and each question may depend on all answers
    before it.

    Opened by `session.open(...)`, which charges what one unit's parts cost together; `sub.ask(question, mechanism,
    part="2012-01")` then takes the mechanism's epsilon and delta from the balance of that part. The unit is added or
    removed: of one that is replaced, what a part would cost is not what a question in it says.

    **Privacy.** `dpviz.privacy.parallel`: of the parts that one unit counts in, the balances add up. A unit keeps its
    parts once, whatever is asked, so that holds for adaptive questions, too [1]_.

    References
    ----------
    .. [1] McSherry 2009, Theorem 4; within a part basic composition, Dwork, Roth 2014, Theorem 3.16.

    Examples
    --------
    >>> months = Parts(Domain.integers(1, 12, column="month"), epsilon=3)
    >>> months.price(Unit(noun="flight")).sentence
    '3-differential privacy for adding or removing one flight'
    """

    name: ClassVar[str] = "Parts"
    about: ClassVar[str] = "A balance for each of some disjoint parts of the data."

    by: Reads[Any, Partition | NamedParts] = parameter(reads=DisjointParts())
    epsilon: Exact = parameter(reads=Epsilon())
    delta: Exact = parameter(reads=Probability(zero=True), default=0)

    # ------------------------------------------------------------ as texts

    @classmethod
    def use_from_parameters(cls, parameters: dict[str, str]) -> PartAsk:
        """Read one question about a part from the texts that a ledger keeps.

        Parameters
        ----------
        parameters : dict of str
            The mechanism, its parameters, the part, and those of the sub-session.

        Returns
        -------
        PartAsk
            The question.

        Raises
        ------
        ParameterError
            If a text cannot be read, or names no part.
        """
        return PartAsk.from_parameters(parameters)

    @property
    def title(self) -> str:
        return f"parts: {self.by.text}, ε {text(self.epsilon)} each"

    def __repr__(self) -> str:
        delta = f", delta={text(self.delta)}" if self.delta else ""
        return f"Parts({self.by.text}; epsilon={text(self.epsilon)}{delta} each)"

    # ------------------------------------------------------------ what it costs

    @property
    def each(self) -> Loss:
        """The loss of one part, against adding or removing one unit in it."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def price(self, unit: Unit) -> Guarantee:
        """Compute the price of all answers together for one unit.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        Guarantee
            Parallel composition over the parts that one unit counts in.

        Raises
        ------
        ParameterError
            If the unit's column makes the parts, the unit is replaced, or the price is above the largest epsilon.
        """
        if unit.of in (*self.by.columns, *self.by.filtered) and not unit.is_row:
            raise ParameterError.of(
                unit.of, "the column of the unit makes no parts, for whom it names is private", "take another column"
            )
        if unit.relation == "replace-one":
            raise ParameterError.of(
                "replace-one",
                "parts have balances of their own where a unit is added or removed",
                "ask about all parts at once, with by=",
            )
        few = touched(self.by, unit)
        loss = parallel([self.each] * self.by.size, few, unit.relation)
        if isinstance(loss, ApproxDP | PureDP) and loss.epsilon > LARGEST_EPSILON:
            raise ParameterError.of(
                text(loss.epsilon),
                f"a sub-session costs an epsilon of at most {LARGEST_EPSILON:,}",
                "give each part less, or let a unit count in fewer parts",
            )
        rule = (
            f"parallel composition over {counted(self.by.size, 'disjoint part')}, of which one {unit.noun} counts in "
            f"{few:,} at most; McSherry 2009, Theorem 4"
        )
        return Guarantee(loss, unit, rule)

    def step_price(self, unit: Unit) -> Loss:
        """State the price of one part.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        Loss
            The loss against adding or removing one unit in a part.
        """
        return self.each

    def parts_text(self, unit: Unit) -> list[str]:
        """Describe the price in lines for a plan.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        list[str]
            One line: epsilon and delta of a part, and the parts that one unit counts in.

        Raises
        ------
        ParameterError
            If the unit's parts cannot be bounded.
        """
        delta = f", δ {text(self.delta)}" if self.delta else ""
        few = touched(self.by, unit)
        return [f"per part     ε {text(self.epsilon)}{delta}; one {unit.noun} counts in {counted(few, 'part')} at most"]

    # ------------------------------------------------------------ how it is used

    def opened(self) -> dict[str, str]:
        """Return the balance before any use.

        Returns
        -------
        dict
            Epsilon and delta of each part, in whole numbers of the grid, as texts.
        """
        each = {"epsilon": self.epsilon, **({"delta": self.delta} if self.delta else {})}
        whole = {name: str(int(GRID * one)) for name, one in each.items()}
        return {f"{name} {part}": one for part in range(self.by.size) for name, one in whole.items()}

    def left(self, balance: Balance) -> PartsLeft:
        """Describe the remaining balance of each part.

        Parameters
        ----------
        balance : Balance
            Whole numbers by name, as texts.

        Returns
        -------
        PartsLeft
            Remaining epsilon and delta per part.

        Raises
        ------
        ValueError
            If a text is no whole number.
        """
        names = self.by.names
        return PartsLeft(self, {name: _left(balance, part) for part, name in enumerate(names)})

    @plain_arguments
    def use(self, mechanism: Mechanism, part: str) -> PartAsk:
        """Ask one question about one part.

        Parameters
        ----------
        mechanism : Mechanism
            Its epsilon and delta are taken from the balance of the part.
        part : str
            The name of the part.

        Returns
        -------
        PartAsk
            The use, to be given to `sub.ask`.

        Raises
        ------
        ParameterError
            If no part has this name, or the mechanism cannot be asked about a part.
        """
        return PartAsk(self, mechanism, self._part(part))

    def _part(self, part: object) -> int:
        names = self.by.names
        if isinstance(part, str) and part in names:
            return names.index(part)
        if isinstance(self.by, Partition):
            return self.by.domain.index(part)
        said = part if isinstance(part, str) else as_given(part)
        raise ParameterError.of(
            said, f"a part is one of {short(', '.join(names), 200)}", meant(str(part), names, "name one of these")
        )

    def typical(self, unit: Unit) -> tuple[Use, Bound]:
        """Bind a histogram at the whole balance of a part.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        tuple
            The use and its bound form.

        Raises
        ------
        ParameterError
            If it cannot be bound for this unit.
        """
        use = PartAsk(self, Dense(self.epsilon), 0)
        columns = {*self.by.columns, unit.of}
        column = next(name for name in ("item", "other item", "one more item") if name not in columns)
        return use, use.bind(Question.of(Domain.integers(0, 1, column=column)), unit)

    def trials(self, domain: Domain, unit: Unit) -> Iterator[tuple[Question, Need]]:
        """Yield a histogram of each part that has a filter of its own; of bins, one stands for all.

        Parameters
        ----------
        domain : Domain
            The bins to count.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        iterator of (Question, Need)
            Questions that an engine must be able to count.

        Raises
        ------
        ParameterError
            If such a histogram cannot be bound.
        """
        for part in range(self.by.size if isinstance(self.by, NamedParts) else 1):
            bound = PartAsk(self, Dense(self.epsilon), part).bind(Question.of(domain), unit)
            yield bound.question, bound.needs

    @classmethod
    def follows(cls, step: OpeningStep) -> bool:
        """Check that a row of the ledger follows from the balance before it.

        Parameters
        ----------
        step : Step
            A row, with the balance on either side.

        Returns
        -------
        bool
            Whether a question takes its epsilon and delta from its part and from no other, and nothing is given back.

        Raises
        ------
        ParameterError
            If the parameters in the row cannot be read.
        """
        if not concerns(step, cls.name):
            return True
        opened = cls.from_parameters(step.body["mechanism"]["parameters"]).opened()
        return set(step.after) == set(opened) and follows_balance(step, opened, PartAsk.from_parameters)


def _left(balance: Balance, part: int) -> tuple[Fraction, Fraction]:
    epsilon, delta = (int(balance.get(f"{name} {part}", "0")) for name in ("epsilon", "delta"))
    return amount(epsilon), amount(delta)


@dataclass(frozen=True)
class PartAsk(PrepaidUse):
    """One question about one part, paid from the balance of that part.

    of    the sub-session's parameters
    inner the mechanism, as it would be written for one question
    part  the number of the part
    """

    of: Parts
    inner: Mechanism
    part: int

    name: ClassVar[str] = Parts.name
    about: ClassVar[str] = Parts.about
    delta_text: ClassVar[str] = "Its δ is taken from the balance of its part."

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Parameters) or not hasattr(type(self.inner), "bind"):
            raise ParameterError.of(
                as_given(self.inner),
                "a part is asked with a mechanism",
                "give one, as for a release",
            )
        if not self.inner.parameters().get("epsilon"):
            raise ParameterError.of(
                repr(self.inner), "what a question takes of its part is given as epsilon", "give epsilon="
            )

    @property
    def taken(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta, as they are typed."""
        given = self.inner.parameters()
        return Fraction(given["epsilon"]), Fraction(given.get("delta") or 0)

    @property
    def _steps(self) -> tuple[int, int]:
        """The same on the grid of amounts, rounded up."""
        loss = payable(ApproxDP(*self.taken))
        return steps(loss.epsilon), steps(loss.delta)

    @property
    def called(self) -> str:
        return self.of.by.names[self.part]

    @property
    def reserved(self) -> str:
        epsilon, delta = self.taken
        return f"ε {text(epsilon)}{f', δ {text(delta)}' if delta else ''} of {self.called}"

    @property
    def value(self) -> str:
        return text(self.taken[0])

    @property
    def terms(self) -> str:
        return f"{self.inner!r}, part={self.called}"

    def reserve(self, balance: Balance) -> dict[str, str]:
        after = dict(balance)
        for name, taken in zip(("epsilon", "delta"), self._steps, strict=True):
            key = f"{name} {self.part}"
            left = int(balance.get(key, "0"))
            if taken > left:
                rule = f"a question must fit into what is left of its part's {name}"
                step = "ask for less, or about another part"
                error = BudgetExceeded(
                    f"This question takes {name} {text(amount(taken))} of the part “{self.called}”, and "
                    f"{text(amount(left))} is left; {step}. Nothing was charged.",
                    value=text(amount(taken)),
                    rule=rule,
                    next_step=step,
                )
                error.part, error.left = name, text(amount(left))
                raise error
            if taken:
                after[key] = str(left - taken)
        return after

    # ------------------------------------------------------------ as a mechanism

    @property
    def own_terms(self) -> dict[str, str]:
        return {"of": canonical(self.of.parameters()).decode(), "part": str(self.part)}

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> PartAsk:
        of = Parts.from_parameters(json.loads(parameters["of"]))
        made = cls(of, inner_mechanism(parameters, OWN), int(parameters["part"]))
        if not 0 <= made.part < of.by.size:
            raise ParameterError.of(parameters["part"], f"there are {counted(of.by.size, 'part')}", "upgrade dpviz")
        return made

    @property
    def python(self) -> str:
        return f"sub.ask(..., {self.inner.python}, part={json.dumps(self.called, ensure_ascii=False)})"

    def bind(self, question: Question, unit: Unit) -> Bound:
        """Fix everything public. Raises errors of ours, on public facts only."""
        asked = question
        if question.by is None:
            asked = replace(question, by=self.of.by).in_parts()[self.part]
        elif (question.by, question.part) != (self.of.by, self.part):  # else it is read back as it was stored
            raise ParameterError.of(question.text, "a question about a part has no parts itself", "leave by= out")
        price = self.of.price(unit)
        bound = self.inner.bind(asked, unit)
        epsilon, delta = self.taken
        loss = to_approx(bound.price.loss)
        if loss.epsilon > epsilon or loss.delta > delta:
            raise ParameterError.of(
                repr(self.inner),
                "a question about a part costs no more than the epsilon and the delta that it names",
                'take noise that costs what is asked, as base="exp"',
            )
        return PartBound(self, bound, price)


@dataclass(frozen=True)
class PartBound(PrepaidBound):
    """A question about one part, bound to its question and unit."""

    mechanism: PartAsk

    def uses(self, answer: Answer) -> tuple[Used, ...]:
        """How much of its part's epsilon it took, in thousandths, rounded up."""
        epsilon, _ = self.mechanism.taken
        return (Used("thousandth", int(-(-1_000 * epsilon // self.mechanism.of.epsilon)), 1_000),)


protect_module(vars())
