"""PayWhatYouGet: many top-k questions for one price, paid by the symbols that come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self, cast

from dpviz.boundary import protect_module, single_arguments
from dpviz.errors import ParameterError
from dpviz.exact import counted, text
from dpviz.mechanisms import symbol_balance
from dpviz.mechanisms.ranked import (
    ACCOUNTING,
    DELTA,
    DELTA_PRIME,
    EPSILON_OR_PER_ITEM,
    EPSILON_PER_ITEM,
    ORDER,
    RULE,
    DomainRule,
    Ties,
    check_price,
    known_order,
)
from dpviz.mechanisms.top_k import Kbar, RowsOrPrivate, TopK, TopKBound
from dpviz.model.answers import Answer, Ranked
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorModel
from dpviz.model.laws.ranking import PeelingLaw
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.opening import Balance, OpeningRow, OpeningStep, Use
from dpviz.model.parameters import Exact, ExactOrNone, Parameters, WholeNumber, parameter
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.model.source import Tick, TopRules
from dpviz.model.statistic import Need, Statistic
from dpviz.model.terms import Used
from dpviz.noise.bits import Bits
from dpviz.privacy.grid import LARGEST_EPSILON
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP, RangeBounded
from dpviz.privacy.range_bounded import Accounting, StepPrice, calibrate, session_total
from dpviz.privacy.unit import Unit

MOST = 10**6
"""The most symbols or questions of one sub-session."""

_RULES: dict[Accounting, str] = {
    "safe": "Durfee, Rogers 2019, Theorem 2, with ln(1 + δ) for each symbol",
    "paper": "Durfee, Rogers 2019, Theorem 2, as printed",
    "zcdp": "Durfee, Rogers 2019, Theorem 2, with ln(1 + δ) for each symbol and the zero-concentrated drift",
}


class PayWhatYouGet(Parameters):
    """Open a sub-session of top-k questions, in which each returned symbol costs one step of composition.

    Parameters
    ----------
    symbols : int, default 50
        The most symbols that all answers together may have. The bottom symbol ("no more") is one, and so is a private
        choice of kbar.
    questions : int, default 20
        The most questions that may be asked.
    epsilon : str, int, float or Fraction, optional
        The price in the session's unit; step, round delta and delta' follow from it. Give `epsilon` or
        `epsilon_per_item`.
    delta : str, int, float or Fraction, default "1e-6"
        The delta of the price, in the session's unit.
    epsilon_per_item, delta_prime : str, int, float or Fraction, optional
        As for TopK: instead of `epsilon`, the epsilon of one step, and the part of delta that composition adds; `delta`
        is then that of one question, and the price follows.
    accounting : {"safe", "paper", "zcdp"}, default "safe"
        "safe" (default, proved), "paper" (as printed; its proof has a gap) or "zcdp" (proved, smaller drift).
    domain_rule : {"positive", "strict", "paper"}, default "positive"
        As for TopK, for every question.
    ties : {"label", "unknown"}, default "label"
        As for TopK.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    The analyst chooses each question after seeing the answers before.

    Opened by `session.open(...)`, which charges all of it at once; `ask` then costs nothing more.

    **Privacy.** With step e, round delta d and L = ln(1/delta'), k symbols and l questions cost (e* + k ln(1 + d), l d
    + delta'), e* by Lemma 4.4: the least of k e, k e tanh(e/2) + e sqrt(2 k L), k e^2/2 + e sqrt(k L/2) [1]_.

    References
    ----------
    .. [1] Durfee, Rogers 2019, Algorithm 2 and Theorem 2. The printed theorem has no ln(1 + d) and twice the rounds'
           delta; Lemma 5.6 behind it is false, and the form above is what its repair proves.

    Examples
    --------
    >>> parameters = PayWhatYouGet(symbols=50, questions=20, epsilon="1", delta="1e-6")
    >>> parameters.price(Unit("user")).sentence, parameters.step_price(Unit("user")).delta
    ('(1, 0.000001)-differential privacy for adding or removing one user', Fraction(1, 40000000))
    """

    name: ClassVar[str] = "PayWhatYouGet"
    about: ClassVar[str] = "Many top-k questions, one price: only symbols that come back are used up."

    symbols: int = parameter(reads=WholeNumber(most=MOST), default=50, always=True)
    questions: int = parameter(reads=WholeNumber(most=MOST), default=20, always=True)
    epsilon: ExactOrNone = EPSILON_OR_PER_ITEM
    delta: Exact = DELTA
    _: KW_ONLY
    epsilon_per_item: ExactOrNone = EPSILON_PER_ITEM
    delta_prime: ExactOrNone = DELTA_PRIME
    accounting: Accounting = ACCOUNTING
    domain_rule: DomainRule = RULE
    ties: Ties = ORDER

    def check_together(self, given: Mapping[str, Any]) -> None:
        check_price("a sub-session", self.name, given)

    def check_source(self, rules: TopRules) -> None:
        """Refuse an engine that could answer no question of the sub-session, before it is paid for.

        Parameters
        ----------
        rules : TopRules
            The engine's order of ties and its rule for the domain.

        Raises
        ------
        SchemaError
            If the engine cannot keep the order that was asked for.
        """
        known_order(rules, self.ties, self.domain_rule)

    @property
    def text(self) -> str:
        """`50 symbols, 20 questions`."""
        return f"{counted(self.symbols, 'symbol')}, {counted(self.questions, 'question')}"

    @property
    def title(self) -> str:
        return f"pay what you get: {self.text}"

    # ------------------------------------------------------------ how it is used

    def opened(self) -> dict[str, str]:
        """Return the balance before any question.

        Returns
        -------
        dict
            All symbols and all questions, as texts.
        """
        return symbol_balance.opened(self.symbols, self.questions)

    def left(self, balance: Balance) -> symbol_balance.SymbolsLeft:
        """Describe the remaining symbols and questions.

        Parameters
        ----------
        balance : Balance
            Whole numbers by name, as texts.

        Returns
        -------
        symbol_balance.SymbolsLeft
            The symbols and questions left, and those that were paid for.

        Raises
        ------
        ValueError
            If a text is no whole number.
        """
        left = symbol_balance.symbols(balance), symbol_balance.questions(balance)
        return symbol_balance.SymbolsLeft(*left, self.symbols, self.questions)

    @classmethod
    def follows(cls, step: OpeningStep) -> bool:
        """Check that a row of the ledger follows from the balance before it.

        Parameters
        ----------
        step : Step
            The balance before and after, and the row.

        Returns
        -------
        bool
            Whether symbols and questions add up.

        Raises
        ------
        ValueError
            If a balance is no whole number.
        """
        return symbol_balance.follows(step)

    @single_arguments
    def use(self, k: int = 10, kbar: Kbar = 50, *, largest: int | None = None) -> Asking:
        """Ask for up to k items among the kbar largest, in order.

        Parameters
        ----------
        k : int, default 10
            The most items to list.
        kbar : int or {"private"}, default 50
            The number of largest items that compete; "private" chooses it from k + 1 to `largest` by a step of its own,
            for one more symbol.
        largest : int, optional
            The largest kbar that a private choice may take.

        Returns
        -------
        Asking
            The question, to be given to `sub.ask`. ⊥ in its answer says that no further item stood out.

        Raises
        ------
        ParameterError
            If a number is outside its range.
        """
        return Asking(self, k, kbar, largest)

    @classmethod
    def use_from_parameters(cls, parameters: dict[str, str]) -> Asking:
        """Read one question from the texts that a ledger keeps.

        Parameters
        ----------
        parameters : dict[str, str]
            Parameters of the question and of the sub-session, as exact texts.

        Returns
        -------
        Asking
            The question.

        Raises
        ------
        ParameterError
            If a text cannot be read.
        """
        return Asking.from_parameters(parameters)

    def typical(self, unit: Unit) -> tuple[Use, Bound]:
        """Bind a list of ten items among fifty, or of one item where that cannot be bound.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        tuple
            The question and its bound form.

        Raises
        ------
        ParameterError
            If neither can be bound for this unit.
        """
        use = Asking(self, min(10, self.symbols), 50)
        try:
            return use, use.bind(Question.of(Domain.keys(column="item")), unit)
        except ParameterError:
            return Asking(self, 1, 1), self.smallest(unit)

    def smallest(self, unit: Unit) -> AskingBound:
        """Bind a list of one item, the easiest question to answer.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        AskingBound
            Price, draw and error law.

        Raises
        ------
        ParameterError
            If no step fits into the price.
        """
        return Asking(self, 1, 1).bind(Question.of(Domain.keys(column="item")), unit)

    def trials(self, domain: Domain, unit: Unit) -> Iterator[tuple[Question, Need]]:
        """Yield a list of one item: an engine that counts a question can list it.

        Parameters
        ----------
        domain : Domain
            The items to count.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        iterator of (Question, Need)
            One question that the engine must be able to count.

        Raises
        ------
        ParameterError
            If the list cannot be bound.
        """
        yield Question.of(domain), self.smallest(unit).needs

    def row(self, row: OpeningRow, use: Use | None, release: Release | None) -> TranscriptRow:
        """Add the items and the symbols used to a row of the transcript.

        Parameters
        ----------
        row : Row
            The number, question and status of the use.
        use : Use
            The use; None where it cannot be read.
        release : Release
            Its answer; None where there is none.

        Returns
        -------
        TranscriptRow
            The row, with its items where they can be read.

        Raises
        ------
        ReleaseFormat
            If the answer is damaged.
        """
        common = {name: getattr(row, name) for name in OpeningRow.__dataclass_fields__}
        if use is None:
            return TranscriptRow(**common, k=0, kbar=0, used=0)
        asking = cast(Asking, use)
        if release is None:
            return TranscriptRow(**common, k=asking.k, kbar=asking.kbar, used=asking.most)
        used = asking.used(release.answer)
        return TranscriptRow(
            **common, k=asking.k, kbar=asking.kbar, items=tuple(release.items), ended=release.ended, used=used
        )

    # ------------------------------------------------------------ what it costs

    def step_price(self, unit: Unit) -> StepPrice:
        """Compute the step, the delta of one question and delta', frozen for the whole sub-session.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        StepPrice
            The price of one symbol and of one question.

        Raises
        ------
        ParameterError
            If no step fits into the price: symbols ln(1 + delta of a question) alone may reach it.
        """
        if self.epsilon_per_item is not None:
            return StepPrice(self.epsilon_per_item, self.delta, self.delta_prime or Fraction(0))
        assert self.epsilon is not None
        return _calibrated(self.epsilon, self.delta, self.symbols, self.questions, self.accounting, _factor(unit))

    def parts_text(self, unit: Unit) -> list[str]:
        """Describe the price per symbol and per question for a plan.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        list[str]
            Two lines.

        Raises
        ------
        ParameterError
            If no step fits into the price.
        """
        step_price = self.step_price(unit)
        return [
            f"per symbol   a step of ε {text(step_price.step)}; {counted(self.symbols, 'symbol')}, ⊥ included",
            f"per question δ {text(step_price.delta)}; {counted(self.questions, 'question')}",
        ]

    def price(self, unit: Unit) -> Guarantee:
        """Compute the price of all answers of the sub-session together for one unit.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.

        Returns
        -------
        Guarantee
            The loss, and the range-bounded steps that it is made of.

        Raises
        ------
        ParameterError
            If the price is above the largest epsilon.
        """
        step_price, factor = self.step_price(unit), _factor(unit)
        step, k = factor * step_price.step, self.symbols
        if self.epsilon is not None:
            loss = ApproxDP(self.epsilon, self.delta)
        else:
            loss = session_total(
                step_price.step,
                step_price.delta,
                k,
                self.questions,
                step_price.delta_prime,
                self.accounting,
                relation_factor=factor,
            )
            if loss.epsilon > LARGEST_EPSILON:
                raise ParameterError.of(
                    text(loss.epsilon),
                    f"a sub-session costs an epsilon of at most {LARGEST_EPSILON:,}",
                    "ask for fewer symbols, or a smaller epsilon for each",
                )
        shift = "" if self.accounting == "paper" else f" + {k} ln(1 + {text(step_price.delta)})"
        return Guarantee(
            loss=loss,
            unit=unit,
            rule=f"{_RULES[self.accounting]}; {self.text} together",
            requested=self.epsilon,
            exact=f"Lemma 4.4 of {k} steps of {text(step)}{shift}",
            zcdp_steps=RangeBounded(step, self.questions * step_price.delta, steps=k, rounds=self.questions),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TranscriptRow(OpeningRow):
    """One question of a sub-session and what came of it.

    k, kbar  as it was asked
    items    the labels that came, in order; none where there is no answer
    ended    whether ⊥ came
    used     the symbols that it used; without an answer, all that were reserved
    """

    k: int
    kbar: Kbar
    items: tuple[str, ...] = ()
    ended: bool = False
    used: int

    def __repr__(self) -> str:
        if self.unreadable:
            return f"{self.number:>3}  {self.text}: {self.unreadable}"
        came = " · ".join((*self.items, *(["⊥"] if self.ended else []))) if self.status == "done" else self.status
        return f"{self.number:>3}  {self.text}, k={self.k}: {came}  ({counted(self.used, 'symbol')})"


class Asking(Parameters):
    """One question of a sub-session: the ranked answer of TopK, paid from symbols that are paid for already.

    of       the sub-session's parameters
    k        how many items at most
    kbar     out of how many of the largest; "private" lets a step of its own choose it, which uses one more symbol
    largest  with kbar="private": the most that may be chosen
    """

    name: ClassVar[str] = PayWhatYouGet.name
    about: ClassVar[str] = PayWhatYouGet.about
    delta_text: ClassVar[str] = "The δ of a sub-session is charged once, for all its questions."
    names_items: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ("most",)

    of: PayWhatYouGet
    k: int = parameter(reads=WholeNumber(), default=10, label="k")
    kbar: Kbar = parameter(reads=RowsOrPrivate(), default=50, label="k̄")
    largest: int | None = parameter(reads=WholeNumber(), default=None, optional=True)

    @property
    def private(self) -> bool:
        """Whether kbar is chosen privately."""
        return self.kbar == "private"

    @property
    def most(self) -> int:
        """How many symbols it may use: the items, or fewer and the bottom symbol; and the choice of kbar."""
        return self.k + self.private

    def used(self, answer: Answer) -> int:
        """How many symbols an answer used up, from what was released alone."""
        return cast(Ranked, answer).symbols + self.private

    @property
    def reserved(self) -> str:
        return f"{counted(self.most, 'symbol')} and 1 question"

    @property
    def value(self) -> str:
        return str(self.most)

    @property
    def terms(self) -> str:
        return f"k={self.k}, kbar={self.kbar}"

    def reserve(self, balance: Balance) -> dict[str, str]:
        return symbol_balance.reserve(balance, self.most)

    def give_back(self, balance: Balance, answer: Answer) -> dict[str, str]:
        return symbol_balance.give_back(balance, self.most - self.used(answer))

    def parameters(self) -> dict[str, str]:
        return {**self.of.parameters(), **super().parameters()}

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> Self:
        own = {name: written for name, written in parameters.items() if name in cls._declared}
        shared = {name: written for name, written in parameters.items() if name not in own}
        return cls(PayWhatYouGet.from_parameters(shared), **cls._typed(own))

    @property
    def python(self) -> str:
        kbar = '"private"' if self.private else str(self.kbar)
        largest = "" if self.largest is None else f", largest={self.largest}"
        return f"sub.ask(..., k={self.k}, kbar={kbar}{largest})"

    def __repr__(self) -> str:
        return f"one question of {self.of!r}, k={self.k}, kbar={self.kbar}"

    def with_epsilon(self, epsilon: Fraction) -> Self:
        raise ParameterError.of(
            text(epsilon), "the epsilon of a sub-session is fixed when it is opened", "open another one"
        )

    def bind(self, question: Question, unit: Unit) -> AskingBound:
        """Fix everything public. Raises ParameterError on public facts only."""
        question.check_counts(self.name)
        if self.private and unit.relation == "replace-one":
            raise ParameterError.of(
                'kbar="private"',
                "the private choice of kbar is priced for adding or removing a unit",
                "give kbar=, a whole number of at least k",
            )
        step_price = self.of.step_price(unit)
        ranked = TopK(
            self.most,
            self.kbar,
            epsilon_per_item=step_price.step,
            delta=step_price.delta,
            delta_prime=step_price.delta_prime,
            domain_rule=self.of.domain_rule,
            ties=self.of.ties,
            accounting=self.of.accounting,
            largest=self.largest,
        )
        return AskingBound(self, ranked.bind(question, unit))


@dataclass(frozen=True)
class AskingBound(Bound):
    """One question of a sub-session, bound to its question and unit. Its price is that of the whole sub-session."""

    mechanism: Asking
    ranked: TopKBound

    shape: ClassVar[type[Answer]] = Ranked

    @property
    def question(self) -> Question:
        return self.ranked.question

    @property
    def unit(self) -> Unit:
        return self.ranked.unit

    @property
    def needs(self) -> Need:
        return self.ranked.needs

    @property
    def max_items(self) -> int:
        """How many items come at most."""
        return self.ranked.max_items

    @cached_property
    def price(self) -> Guarantee:
        """Of all the sub-session's answers together: it was charged when the sub-session was opened."""
        return self.mechanism.of.price(self.unit)

    @property
    def space(self) -> Space:
        return self.ranked.space

    @property
    def cost(self) -> Cost:
        return self.ranked.cost

    @property
    def law(self) -> PeelingLaw:
        return self.ranked.law

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        return self.ranked.verb

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        return self.ranked.notes

    def modes(self) -> tuple[Mode, ...]:
        return self.ranked.modes()

    def check_source(self, rules: TopRules) -> None:
        """Refuse an engine whose largest counts do not keep the rule."""
        self.ranked.check_source(rules)

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Answer:
        return self.ranked.draw(statistic, bits, mode=mode, tick=tick)

    def uses(self, answer: Answer) -> tuple[Used, ...]:
        """`8 of 50 symbols and 1 of 20 questions`: what an answer used of what was paid."""
        of = self.mechanism.of
        return (Used("symbol", self.mechanism.used(answer), of.symbols), Used("question", 1, of.questions))


@lru_cache(maxsize=64)
def _calibrated(
    epsilon: Fraction, delta: Fraction, symbols: int, questions: int, accounting: Accounting, factor: int
) -> StepPrice:
    """Found once for each sub-session: every question asks for it."""
    return calibrate(epsilon, delta, symbols, questions, accounting, session=True, relation_factor=factor)


def _factor(unit: Unit) -> int:
    """How often a step counts: a replacement is a removal and an addition."""
    return 2 if unit.relation == "replace-one" else 1


protect_module(vars())
