"""FixedList: a sub-session of a fixed list of answers, charged once at their exact composition."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any, ClassVar, Final, Literal, NamedTuple, cast

from dpviz.boundary import as_given, plain_arguments, protect_module
from dpviz.errors import BudgetExceeded, DpvizError, ParameterError
from dpviz.exact import counted, text
from dpviz.mechanisms.gaussian import pure_rho_of
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
from dpviz.model.parameters import Exact, Parameters, Probability, Reader, Reads, parameter
from dpviz.model.question import Question, canonical
from dpviz.model.statistic import Need
from dpviz.model.terms import Used
from dpviz.names import meant
from dpviz.privacy import renyi
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import LARGEST_EPSILON, payable
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP, PureDP
from dpviz.privacy.loss_distribution import PROOF, WORTH, compose_fixed
from dpviz.privacy.unit import Unit

MOST_LINES: Final = 1000
"""The most answers of one list: the ledger keeps all of them in the row of the charge."""

ONE_BY_ONE: Final = "release each line by itself"

BOUGHT: Final = ("of", "line", "mechanism")
"""The names that a line is kept with beside the parameters of its mechanism."""

PROVED_BY: Final = {
    "exact": PROOF,
    "sum": "basic composition of {}; Dwork, Roth 2014, Theorem 3.16",
}


class FixedLine(NamedTuple):
    """One line of a list: a question and the mechanism that answers it, as `ask` takes them."""

    question: Question
    mechanism: Mechanism


def line_json(question: Question, mechanism: Mechanism) -> list[Any]:
    """Return a line as a ledger keeps it."""
    return [question.to_json(), mechanism.name, mechanism.parameters()]


@dataclass(frozen=True)
class LinesReader(Reader):
    """Pairs of a question and a mechanism, no two of them the same. In texts, JSON."""

    lists: ClassVar[bool] = True
    first: ClassVar[bool] = True
    longest: ClassVar[int] = 1 << 22

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> tuple[FixedLine, ...]:
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence) or not value:
            rule = "a list has a question and a mechanism in each of its lines"
            raise ParameterError.of(as_given(value), rule, "write [(domain, dv.Dense(epsilon=1)), ...]")
        if len(value) > MOST_LINES:
            rule = f"a list has at most {MOST_LINES:,} lines"
            raise ParameterError.of(counted(len(value), "line"), rule, "write several lists")
        lines = tuple(_line(number, one) for number, one in enumerate(value, 1))
        seen: dict[str, int] = {}
        for number, line in enumerate(lines, 1):
            first = seen.setdefault(canonical(line_json(*line)).decode(), number)
            if first != number:
                rule = f"a line stands once in a list, and this is line {first} again"
                raise ParameterError.of(f"line {number}", rule, "leave it out, or give one of them another epsilon")
        return lines

    def from_text(self, written: str, name: str) -> Any:
        return _lines_of(written)

    def text(self, value: Any) -> str:
        return canonical([line_json(*line) for line in value]).decode()


def _line(number: int, given: object) -> FixedLine:
    from dpviz.mechanisms import REGISTRY

    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise ParameterError.of(
            f"line {number}", "a line is a pair of a question and a mechanism", "write (domain, dv.Dense(epsilon=1))"
        )
    question, mechanism = Question.of(given[0]), given[1]
    if not REGISTRY.has_class(type(mechanism)):
        raise ParameterError.of(
            as_given(mechanism),
            f"line {number} of a list has a mechanism whose price is fixed beforehand",
            "give one, as for a release; a sub-session is opened by itself",
        )
    if question.by is not None:
        raise ParameterError.of(
            f"line {number}", "a line of a list is one question about all rows", "leave by= out, or filter by where="
        )
    if question.aggregate.profiled is not None:
        rule = "a list is priced with the limits of the unit, and none applies to a profile of users"
        raise ParameterError.of(f"line {number}", rule, "release the profile by itself")
    if question.limits is not None:
        rule = "a list is priced with the limits of the unit, and no line of it has its own"
        raise ParameterError.of(f"line {number}", rule, "leave its limits out, or release it by itself")
    return FixedLine(question, mechanism)


@lru_cache(maxsize=16)
def _lines_of(written: str) -> tuple[FixedLine, ...]:
    """The lines of a text; kept, for each use of a list is held against it."""
    from dpviz.mechanisms import mechanism

    return tuple(
        FixedLine(Question.from_json(question), mechanism(name, parameters))
        for question, name, parameters in json.loads(written)
    )


@dataclass(frozen=True)
class LinesLeft:
    """The lines of a list that were not drawn yet."""

    of: FixedList
    lines_left: tuple[FixedLine, ...]

    shown: ClassVar[tuple[str, ...]] = ("lines_left",)

    @property
    def text(self) -> str:
        return counted(len(self.lines_left), "line")

    @property
    def of_paid(self) -> str:
        return f"{len(self.lines_left):,} of {counted(len(self.of.lines), 'line')}"

    def __repr__(self) -> str:
        return f"<{self.of_paid}>"


@dataclass(frozen=True)
class ListPrices:
    """A list, priced by each rule that holds for it.

    total   (epsilon, delta) of each line, added up; no price at a delta below that, as Gaussian lines allow
    exact   the exact composition, at the delta of the list
    rho     the sum in zero-concentrated DP; None where a line has a delta of its own
    """

    total: ApproxDP
    exact: ApproxDP
    rho: Fraction | None

    @property
    def saves(self) -> bool:
        """Whether the list costs enough less than its sum to be worth its delta."""
        return self.exact.epsilon <= WORTH * self.total.epsilon

    @property
    def by_zcdp(self) -> Fraction | None:
        """The epsilon of the sum in zero-concentrated DP, at the delta of the list."""
        return None if self.rho is None else renyi.epsilon_for(self.rho, self.exact.delta)


class FixedList(PrepaidOpening, Parameters):
    """Open a sub-session of a fixed list of answers, charged once at their exact composition.

    Parameters
    ----------
    lines : list of (question, mechanism)
        At most 1,000 pairs, no two of them the same: a Domain, Question or column name, and the mechanism that answers
        it. The list is fixed now; no line may depend on an answer.
    delta : str, int, float or Fraction
        The delta of all answers together, above 0; the deltas of the lines are within it.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or a line is no such pair.

    Notes
    -----
    `session.batch(lines, delta=...)` opens it and charges the whole price; `ask(question, mechanism)` then draws a
    line, once, in any order, and nothing is refunded for lines that are never drawn.

    **Privacy.** Each line has a dominating pair: randomised response of its epsilon, apart from its delta [1]_; of
    `Dense` the pair of its geometric or Gaussian noise on the counts that one unit moves. All answers together are
    post-processing of one draw of each pair, in whatever order and however many are drawn, for the questions are fixed.
    So the product of the pairs bounds them [2]_, and `privacy.loss_distribution` computes its delta exactly. The price
    is that epsilon, or the sum where that is less. It is no filter: prices that depend on answers are added up.

    Other answers may be bought in between: the list is one interactive mechanism in the session's filter [3]_.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath (2017), Theorem 3.3.
    .. [2] Zhu, Dong, Wang (2022), Theorem 10.
    .. [3] Haney, Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang (2023).

    Examples
    --------
    >>> from dpviz.mechanisms.dense import Dense
    >>> from dpviz.model.question import Between
    >>> bins = Domain.integers(0, 40, column="visits")
    >>> lines = [(Question.of(bins, {"age": Between(0, age)}), Dense("1/10")) for age in range(30)]
    >>> FixedList(lines, "1e-6").price(Unit(noun="person-year")).sentence
    '(2.345888, 0.000001)-differential privacy for adding or removing one person-year'
    """

    name: ClassVar[str] = "FixedList"
    about: ClassVar[str] = "A fixed list of answers, charged once for less than their sum."

    lines: Reads[Any, tuple[FixedLine, ...]] = parameter(reads=LinesReader())
    delta: Exact = parameter(reads=Probability(zero=False))

    # ------------------------------------------------------------ as texts

    @classmethod
    def use_from_parameters(cls, parameters: dict[str, str]) -> LineAsk:
        """Read one line from the texts that a ledger keeps.

        Parameters
        ----------
        parameters : dict of str
            The mechanism, its parameters, the number of the line, and the list's price.

        Returns
        -------
        LineAsk
            The line.

        Raises
        ------
        ParameterError
            If a text cannot be read.
        """
        return LineAsk.from_parameters(parameters)

    @property
    def revisions(self) -> tuple[str, ...]:
        """The mechanisms of the lines and the revisions of their calibrations, from which the price follows."""
        return tuple(sorted({f"{line.mechanism.name} {line.mechanism.revision}" for line in self.lines}))

    @property
    def title(self) -> str:
        return f"batch: {counted(len(self.lines), 'line')}, δ {text(self.delta)}"

    def __repr__(self) -> str:
        return f"FixedList({counted(len(self.lines), 'line')}; delta={text(self.delta)})"

    # ------------------------------------------------------------ what it costs

    def price_by_rule(self, unit: Unit) -> ListPrices:
        """Compute the price of the list by each rule that holds for it.

        Parameters
        ----------
        unit : Unit
            The privacy unit.

        Returns
        -------
        ListPrices
            The sum, the exact composition, and the sum in zero-concentrated DP.

        Raises
        ------
        ParameterError
            If a line cannot be bound for this unit, or the list's delta does not cover those of its lines.
        """
        return _priced(_written(self), self.delta, unit)

    def check_lines(self, check: Callable[[Question, Mechanism], object]) -> None:
        """Check each question and its mechanism.

        Parameters
        ----------
        check : callable
            Raises where a line could not be released by itself.

        Raises
        ------
        ParameterError
            If it does; the error names the line.
        """
        for number, line in enumerate(self.lines, 1):
            try:
                check(*line)
            except DpvizError as refused:
                raise refused_line(number, refused) from None

    def check_worth(self, unit: Unit, filter: str) -> None:
        """Refuse a list that is no cheaper than its lines one by one.

        Parameters
        ----------
        unit : Unit
            The privacy unit.
        filter : str
            The filter of the budget that would pay.

        Raises
        ------
        ParameterError
            If the filter adds up rho, or the exact composition saves less than one percent of the sum.
        """
        if filter == "zcdp":
            rule = "a zCDP budget adds rho up, which is no less for a list that is fixed beforehand"
            raise ParameterError.of(filter, rule, ONE_BY_ONE)
        priced = self.price_by_rule(unit)
        if not priced.saves:
            sum_ = text(priced.total.epsilon)
            rule = f"a list is charged at once where it costs at least 1 % less than the sum of its lines, {sum_}"
            raise ParameterError.of(text(priced.exact.epsilon), rule, ONE_BY_ONE)

    def price(self, unit: Unit) -> Guarantee:
        """Compute the price of all answers together for one unit.

        Parameters
        ----------
        unit : Unit
            The privacy unit.

        Returns
        -------
        Guarantee
            The exact composition, or the sum where that is no more.

        Raises
        ------
        ParameterError
            As for `price_by_rule`, or if the price is above the largest epsilon.
        """
        return self._paid(unit).guarantee(unit)

    def _paid(self, unit: Unit) -> LinesPaid:
        priced = self.price_by_rule(unit)
        by_sum = priced.total.epsilon <= priced.exact.epsilon and priced.total.delta <= self.delta
        loss = payable(priced.total if by_sum else priced.exact)  # as the entry says it, which each line repeats
        if loss.epsilon > LARGEST_EPSILON:
            rule = f"a sub-session costs an epsilon of at most {LARGEST_EPSILON:,}"
            raise ParameterError.of(text(loss.epsilon), rule, "give each line less, or leave some out")
        digest = sha256(_written(self).encode()).hexdigest()
        return LinesPaid(digest, len(self.lines), loss.epsilon, loss.delta, priced.rho, "sum" if by_sum else "exact")

    def step_price(self, unit: Unit) -> tuple[Guarantee, ...]:
        """State the price of each line by itself.

        Parameters
        ----------
        unit : Unit
            The privacy unit.

        Returns
        -------
        tuple of Guarantee
            In the order of the lines.

        Raises
        ------
        ParameterError
            If a line cannot be bound for this unit.
        """
        return tuple(bound.price for bound in self.bind_lines(unit))

    def bind_lines(self, unit: Unit) -> tuple[Bound, ...]:
        """Bind the mechanism of each line to its question.

        Parameters
        ----------
        unit : Unit
            The privacy unit.

        Returns
        -------
        tuple of Bound
            In the order of the lines.

        Raises
        ------
        ParameterError
            If a line cannot be bound for this unit; the error names it.
        """
        return _bound_lines(_written(self), unit)

    def parts_text(self, unit: Unit) -> list[str]:
        """Compare the rules in lines for a plan.

        Parameters
        ----------
        unit : Unit
            The privacy unit.

        Returns
        -------
        list[str]
            The sum, zCDP and the exact composition, and whether the list is worth its delta.

        Raises
        ------
        ParameterError
            As for `price_by_rule`.
        """
        priced = self.price_by_rule(unit)
        delta = f", δ {text(priced.total.delta)}" if priced.total.delta else ""
        many, zcdp = counted(len(self.lines), "answer"), priced.by_zcdp
        fixed = "to be fixed now, whatever the answers say"
        worth = fixed if priced.saves else "not worth a δ: ask each by itself"
        found = [
            f"by the sum   ε {text(priced.total.epsilon)}{delta}, for {many}",
            f"by zCDP      {'no ρ where a line has a δ' if zcdp is None else f'ε {text(zcdp)}, δ {text(self.delta)}'}",
            f"exact        ε {text(priced.exact.epsilon)}, δ {text(self.delta)}; {worth}",
        ]
        return found

    # ------------------------------------------------------------ how it is used

    def opened(self) -> dict[str, str]:
        """Return the balance of a list of which no line is drawn.

        Returns
        -------
        dict
            A whole number with a binary digit for each line, as a text: 1 where the line was not drawn yet.
        """
        return {"lines": str((1 << len(self.lines)) - 1)}

    def left(self, balance: Balance) -> LinesLeft:
        """List the lines that were not drawn yet.

        Parameters
        ----------
        balance : Balance
            One whole number, as a text.

        Returns
        -------
        LinesLeft
            The lines, in order.

        Raises
        ------
        ValueError
            If it is none.
        """
        open_ = int(balance["lines"])
        return LinesLeft(self, tuple(line for number, line in enumerate(self.lines) if open_ >> number & 1))

    @plain_arguments
    def use(self, mechanism: Mechanism) -> Use:
        """Draw the line of a question and this mechanism.

        Parameters
        ----------
        mechanism : Mechanism
            The mechanism, as it stands in the list.

        Returns
        -------
        Use
            The use, to be bound to the question.

        Raises
        ------
        ParameterError
            If no line has this mechanism.
        """
        known = [line.mechanism.python for line in self.lines]
        if not any(mechanism == line.mechanism for line in self.lines):
            said = mechanism.python if isinstance(mechanism, Parameters) else as_given(mechanism)
            rule = "a list is asked with the mechanism of one of its lines"
            raise ParameterError.of(said, rule, meant(said, known, "ask(*line) for a line of lines_left"))
        return cast(Use, LineSought(self, mechanism))

    def line_of(self, question: Question, mechanism: Mechanism) -> int:
        """Return the number of a line, from 0.

        Parameters
        ----------
        question : Question
            The question of the line.
        mechanism : Mechanism
            Its mechanism.

        Returns
        -------
        int
            The place in `lines`.

        Raises
        ------
        ParameterError
            If no line has this question and this mechanism.
        """
        for number, line in enumerate(self.lines):
            if line == (question, mechanism):
                return number
        raise ParameterError.of(
            f"{question.text}, {mechanism!r}",
            "the list was fixed beforehand, and no line of it is this one",
            "ask(*line) for a line of lines_left, or release it by itself",
        )

    def typical(self, unit: Unit) -> tuple[Use, Bound]:
        """Bind the first line.

        Parameters
        ----------
        unit : Unit
            The privacy unit.

        Returns
        -------
        tuple
            The use and its bound form.

        Raises
        ------
        ParameterError
            If it cannot be bound for this unit.
        """
        question, mechanism = self.lines[0]
        use = LineAsk(self._paid(unit), mechanism, 0)
        return cast(Use, use), use.bind(question, unit)

    def trials(self, domain: Domain, unit: Unit) -> Iterator[tuple[Question, Need]]:
        """Yield the question of each line, whatever the domain.

        Parameters
        ----------
        domain : Domain
            Not looked at.
        unit : Unit
            The privacy unit.

        Returns
        -------
        iterator of (Question, Need)
            Questions that an engine must be able to count.

        Raises
        ------
        ParameterError
            If a line cannot be bound for this unit.
        """
        for bound in self.bind_lines(unit):
            yield bound.question, bound.needs

    @classmethod
    def follows(cls, step: OpeningStep) -> bool:
        """Check a row of the ledger against the list and the balance before it.

        Parameters
        ----------
        step : Step
            The row, with the balance before and after it.

        Returns
        -------
        bool
            Whether a use draws the line that it says, of this list and at its price, and nothing is given back.

        Raises
        ------
        ParameterError
            If the parameters in the row cannot be read.
        """
        if not concerns(step, cls.name):
            return True
        written = step.body["mechanism"]["parameters"]["lines"]
        every = str((1 << len(_lines_of(written))) - 1)
        return follows_balance(step, {"lines": every}, lambda asked: _drawn_line(step, written, asked))


def _drawn_line(step: OpeningStep, written: str, asked: dict[str, str]) -> LineAsk | None:
    """The line that a row draws, where it is one of this list, at the price of the list."""
    ask, price, lines = LineAsk.from_parameters(asked), step.body["price"], _lines_of(written)
    charged = ask.of.epsilon, ask.of.delta
    if ask.of.digest != sha256(written.encode()).hexdigest() or not 0 <= ask.line < len(lines):
        return None
    if charged != (Fraction(price["epsilon"]), Fraction(price["delta"])):
        return None
    said = [step.asked["question"], ask.inner.name, ask.inner.parameters()]
    return ask if canonical(said) == canonical(line_json(*lines[ask.line])) else None


def _written(batch: FixedList) -> str:
    return batch.parameters()["lines"]


@lru_cache(maxsize=16)
def _bound_lines(written: str, unit: Unit) -> tuple[Bound, ...]:
    found = []
    for number, (question, mechanism) in enumerate(_lines_of(written), 1):
        try:
            found.append(mechanism.bind(question, unit))
        except DpvizError as refused:
            raise refused_line(number, refused) from None
    return tuple(found)


def refused_line(number: int, refused: DpvizError) -> ParameterError:
    """Return the refusal of a line, which names it."""
    said = f"line {number} of the list: {refused}"
    return ParameterError(said, value=refused.value, rule=refused.rule, next_step=refused.next_step)


@lru_cache(maxsize=64)
def _priced(written: str, delta: Fraction, unit: Unit) -> ListPrices:
    bounds = _bound_lines(written, unit)
    losses = [payable(to_approx(bound.price.loss)) for bound in bounds]
    epsilon, own = (
        sum((loss.epsilon for loss in losses), Fraction(0)),
        sum((loss.delta for loss in losses), Fraction(0)),
    )
    pure = all(isinstance(bound.price.loss, PureDP) or bound.price.is_gaussian for bound in bounds)
    rho = sum((pure_rho_of(bound.price) for bound in bounds), Fraction(0)) if pure else None
    exact = compose_fixed(Counter(bound.dominating_pair for bound in bounds), delta)
    return ListPrices(ApproxDP(epsilon, own), exact, rho)


# ---------------------------------------------------------------- one line


@dataclass(frozen=True)
class LinesPaid:
    """A list, as each of its lines knows it: what was paid for all of them, and which list it was.

    digest  of the text of the lines
    lines   how many there are
    rho     the sum in zero-concentrated DP, which a zCDP budget books; None where a line has a delta of its own
    by      the rule of the price
    """

    digest: str
    lines: int
    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None
    by: Literal["exact", "sum"]

    def guarantee(self, unit: Unit) -> Guarantee:
        """Return the price of the list."""
        loss = ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)
        rule = PROVED_BY[self.by].format(counted(self.lines, "answer"))
        return Guarantee(loss, unit, rule, zcdp_steps=None if self.rho is None else ZCDP(self.rho))

    def to_json(self) -> dict[str, str | None]:
        """Return the parts as texts."""
        rho = None if self.rho is None else text(self.rho)
        numbers = {"epsilon": text(self.epsilon), "delta": text(self.delta), "rho": rho}
        return {"digest": self.digest, "lines": str(self.lines), **numbers, "by": self.by}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> LinesPaid:
        """Read the parts again."""
        rho = None if told["rho"] is None else Fraction(told["rho"])
        by: Literal["exact", "sum"] = "sum" if told["by"] == "sum" else "exact"
        return cls(told["digest"], int(told["lines"]), Fraction(told["epsilon"]), Fraction(told["delta"]), rho, by)


@dataclass(frozen=True)
class LineSought:
    """A use of a list whose question is not known yet, and so neither is its line."""

    of: FixedList
    inner: Mechanism

    def bind(self, question: Question, unit: Unit) -> Bound:
        """Find the line of this question, and bind it."""
        line = self.of.line_of(question, self.inner)
        return LineAsk(self.of._paid(unit), self.inner, line).bind(question, unit)


@dataclass(frozen=True)
class LineAsk(PrepaidUse):
    """One line of a list, paid with all others when the list was opened.

    of    the price of the list
    inner the mechanism of the line
    line  its number, from 0
    """

    of: LinesPaid
    inner: Mechanism
    line: int

    name: ClassVar[str] = FixedList.name
    about: ClassVar[str] = FixedList.about
    delta_text: ClassVar[str] = "Its δ is within that of the list."

    @property
    def reserved(self) -> str:
        return f"line {self.line + 1} of {self.of.lines:,}"

    @property
    def value(self) -> str:
        return str(self.line + 1)

    @property
    def terms(self) -> str:
        return repr(self.inner)

    def reserve(self, balance: Balance) -> dict[str, str]:
        open_ = int(balance.get("lines", "0"))
        if not open_ >> self.line & 1:
            rule = "each line of a list is drawn once, while its sub-session is open"
            step = "release it by itself, paid anew"
            error = BudgetExceeded(
                f"{self.reserved.capitalize()} was drawn already, or the list is closed; {step}. Nothing was charged.",
                value=self.value,
                rule=rule,
                next_step=step,
            )
            error.part, error.left = "lines", str(open_.bit_count())
            raise error
        return {**balance, "lines": str(open_ & ~(1 << self.line))}

    # ------------------------------------------------------------ as a mechanism

    @property
    def own_terms(self) -> dict[str, str]:
        return {"of": canonical(self.of.to_json()).decode(), "line": str(self.line)}

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> LineAsk:
        of = LinesPaid.from_json(json.loads(parameters["of"]))
        return cls(of, inner_mechanism(parameters, BOUGHT), int(parameters["line"]))

    @property
    def python(self) -> str:
        return f"batch.ask(..., {self.inner.python})"

    def bind(self, question: Question, unit: Unit) -> Bound:
        """Fix everything public. Raises errors of ours, on public facts only."""
        return LineBound(self, self.inner.bind(question, unit), self.of.guarantee(unit))


@dataclass(frozen=True)
class LineBound(PrepaidBound):
    """A line of a list, bound to its question and unit."""

    mechanism: LineAsk

    def uses(self, answer: Answer) -> tuple[Used, ...]:
        """One line of the list."""
        return (Used("line", 1, self.mechanism.of.lines),)


protect_module(vars())
