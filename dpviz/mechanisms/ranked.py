"""The parts that mechanisms share which name the largest items: who competes, what it costs, what an answer may
hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds, floor_to, text
from dpviz.model.answers import Ranked
from dpviz.model.error import ErrorModel
from dpviz.model.mechanism import Bound, Mechanism, Space
from dpviz.model.parameters import Epsilon, OneOf, Probability, WholeNumber, parameter
from dpviz.model.question import Question
from dpviz.model.source import TopRules
from dpviz.model.statistic import Statistic, Top, TopCounts
from dpviz.noise.peeling import ENDED, Bottom
from dpviz.privacy.conversion import DELTA_STEP, convert
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.range_bounded import Accounting
from dpviz.privacy.unit import Unit

DomainRule = Literal["positive", "strict", "paper"]
Ties = Literal["label", "unknown"]

MOST_ROWS = 1_000_000
"""The most rows that are read: an engine sorts more, but more would not come back in good time."""

NOTED = (Fraction(1, 2), Fraction(1, 20))
"""Even odds, where the threshold stands, and 95 in 100."""


# ---------------------------------------------------------------- who competes


@dataclass(frozen=True, slots=True)
class Rule:
    """Who competes, and how strong the bottom symbol is: one row of the table in `rule_of`, and nothing else.

    name    "positive": the rows with a count above 0; "strict": those above the next count; "paper": all rows, filled
            up with the first empty bins of the domain
    limit   how many items one unit can move into or out of the rows that compete; None: as many as there are rows
    gap     how far one unit moves one count
    bottom  whether the bottom symbol competes; False only where every bin of the domain does
    """

    name: DomainRule
    limit: int | None
    gap: int
    bottom: bool

    def m(self, kbar: int) -> int:
        """The number of items whose chance of coming together has to stay below delta."""
        return kbar if self.limit is None else min(self.limit, kbar)

    def contest(self, rows: Rows, kbar: int, delta: Fraction) -> Contest:
        """The candidates among the kbar largest rows, and the bottom symbol, with delta for this round."""
        counts, next_count = rows.counts[:kbar], rows.after(kbar)
        if self.name == "strict":
            counts = counts[counts > next_count]
        bottom = Bottom(next_count + self.gap, self.m(kbar) / delta) if self.bottom else None
        return Contest(rows.items, counts, bottom)

    def rows(self, statistic: Statistic, most: int) -> Rows:
        """The `most` largest rows that may compete; filling up with empty bins keeps their order."""
        assert isinstance(statistic, TopCounts)
        items, counts, next_count = statistic.take()
        items, counts = items[:most], np.asarray(counts[:most], dtype=np.int64)
        if self.name == "paper":
            taken = set(items)
            empty = [label for label in range(most) if label not in taken]
            items = [*items, *empty[: most - len(items)]]
            counts = np.concatenate((counts, np.zeros(most - len(counts), dtype=np.int64)))
        return Rows(items, counts, int(next_count))


def rule_of(
    domain_rule: DomainRule, ties: Ties, kbar: int, question: Question, unit: Unit, *, direct: bool, always: bool
) -> Rule:
    """The one table of what is proved. Raises ParameterError for what is not.

    | rule         | rows that compete   | m                                                  | bottom           |
    |--------------|---------------------|----------------------------------------------------|------------------|
    | positive     | count above 0       | min(max_bins, kbar), under replace-one 2 max_bins  | always           |
    | paper        | all, filled up      | the same                                           | not if kbar = d  |
    | strict       | above next count    | kbar                                               | always           |
    | ties unknown | as the rule says    | kbar                                               | as the rule says |

    direct   under replace-one: prove it for a replacement itself (twice the gap); False: for adding or removing, so
             that the price is converted
    always   there is a bottom symbol even where every bin competes
    """
    bins = question.bins if question.domain.declared else None
    if bins is not None and kbar > bins:
        raise ParameterError.of(
            kbar, f"kbar is at most the number of bins, and this question has {bins:,}", f"give kbar={bins} or less"
        )
    if domain_rule == "paper" and bins is None:
        raise ParameterError.of(
            'domain_rule="paper"',
            "the paper's rule fills up with empty bins, which takes declared bins",
            'use domain_rule="positive"',
        )
    factor = 2 if direct and unit.relation == "replace-one" else 1
    loose = domain_rule == "strict" or ties == "unknown" or unit.max_bins is None
    return Rule(
        name=domain_rule,
        limit=None if loose or unit.max_bins is None else factor * unit.max_bins,
        gap=factor * unit.max_per_bin,
        bottom=always or domain_rule != "paper" or kbar != bins,
    )


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """The largest counts, and the one after them. Private, so it says nothing of itself."""

    items: Sequence[Any]
    counts: NDArray[np.int64]
    next_count: int

    def after(self, kbar: int) -> int:
        """The count of the row after the kbar-th, 0 past the last."""
        return int(self.counts[kbar]) if kbar < len(self.counts) else self.next_count


@dataclass(frozen=True, slots=True, repr=False)
class Contest:
    """The counts that compete, and the bottom symbol where it does. Private, as its rows are.

    items  of the candidates, in the order of their counts; others may follow
    """

    items: Sequence[Any]
    counts: NDArray[np.int64]
    bottom: Bottom | None

    def ranked(self, drawn: Sequence[int], kbar: int | None = None) -> Ranked:
        """The answer of the positions drawn; nothing comes after the bottom symbol."""
        ended = bool(drawn) and drawn[-1] == ENDED
        places = drawn[:-1] if ended else drawn
        return Ranked(tuple(self.items[place] for place in places), ended, kbar=kbar)


# ---------------------------------------------------------------- what is typed


K: Final[Any] = parameter(
    reads=WholeNumber(), default=10, label="k, items at most", always=True, in_bins=True, plain=True
)
KBAR: Final = WholeNumber(most=MOST_ROWS)
DELTA: Final[Any] = parameter(reads=Probability(), default="1e-6", label="δ", always=True)
EPSILON: Final[Any] = parameter(reads=Epsilon(), default=None, always=True)
"""It has to be given, although parameters before it may be left out."""

EPSILON_OR_PER_ITEM: Final[Any] = parameter(reads=Epsilon(), default=None, optional=True, always=True)
EPSILON_PER_ITEM: Final[Any] = parameter(reads=Epsilon(), default=None, optional=True, beside="epsilon")
DELTA_PRIME: Final[Any] = parameter(reads=Probability(zero=True), default=None, optional=True, beside="epsilon")
RULE: Final[Any] = parameter(
    reads=OneOf(DomainRule),
    default="positive",
    label="Who competes",
    options={
        "positive": "rows above 0",
        "strict": "rows above the next count",
        "paper": "all rows, empty bins included",
    },
)
ORDER: Final[Any] = parameter(
    reads=OneOf(Ties),
    default="label",
    label="Equal counts",
    options={"label": "ordered by label", "unknown": "in unknown order"},
)
ACCOUNTING: Final[Any] = parameter(
    reads=OneOf(Accounting),
    default="safe",
    label="Accounting",
    options={
        "safe": "safe: proved",
        "zcdp": "zcdp: proved, smaller drift",
        "paper": "paper: as printed",
    },
)


def check_price(of: str, name: str, given: Mapping[str, Any]) -> None:
    """Refuse a price that is not given by exactly one of `epsilon` and `epsilon_per_item`."""
    if (given["epsilon"] is None) == (given["epsilon_per_item"] is None):
        raise ParameterError.of(
            "neither" if given["epsilon"] is None else "both",
            f"{of} takes one of epsilon and epsilon_per_item",
            f'write dv.{name}(epsilon="1")',
        )
    if given["epsilon_per_item"] is None and given["delta_prime"] is not None:
        raise ParameterError.of(
            "delta_prime", "delta_prime goes with epsilon_per_item", "leave it out: half of delta is taken for it"
        )


def check_rows(k: int, kbar: int) -> None:
    """Refuse fewer rows than items."""
    if kbar < k:
        raise ParameterError.of(kbar, f"kbar must be at least k = {k}", f"give kbar={k} or more")


def known_order(rules: TopRules, ties: Ties, domain_rule: DomainRule) -> None:
    """Refuse an engine whose order of equal counts is not what `ties` says, where the rule relies on it."""
    if rules.ties == "unknown" and ties == "label" and domain_rule != "strict":
        raise ParameterError.of(
            'ties="label"',
            "this engine does not say how it orders equal counts, so one unit may move all of them",
            'use ties="unknown" or domain_rule="strict", which take m = kbar',
        )


# ---------------------------------------------------------------- what is paid


def halved(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The (epsilon, delta) under add-or-remove of which a replacement, a group of two, costs at most what is given."""
    half = epsilon / 2
    return half, floor_to(delta / (1 + exp_bounds(half)[1]), DELTA_STEP)


def converted(guarantee: Guarantee, unit: Unit) -> Guarantee:
    """A price that was proved for adding or removing, in the unit of the session."""
    if unit.relation == "add-remove":
        return guarantee
    own = replace(unit, relation="add-remove", n=None)
    found = convert(replace(guarantee, unit=own), unit)
    return replace(found, requested=guarantee.requested, exact=f"group of two of {guarantee.exact}")


# ---------------------------------------------------------------- what is public of an answer


def space_of(question: Question, items: int, rows: int, *, each: int = 0) -> Space:
    """Labels, with `each` more bits beside every one, and one bit for how the list ends. `rows` are read for it."""
    if not question.domain.declared:
        beside = f" with {each} beside each" if each else ""
        return Space(bits=items * each + 1, text=f"{items:,} labels{beside}, and 1 for the end; {rows:,} rows are read")
    label = max(1, (question.bins - 1).bit_length()) + each
    return Space(bits=items * label + 1, text=f"{items:,} × {label}, and 1 for the end; {rows:,} rows are read")


class NamesItems(Mechanism, Protocol):
    """A mechanism that names items."""

    @property
    def k(self) -> int:
        """How many steps it takes: each names an item or nothing."""
        ...


class ListBound(Bound):
    """A mechanism that names items, bound to a question and a unit."""

    if TYPE_CHECKING:

        @property
        def mechanism(self) -> NamesItems: ...

    @property
    def max_items(self) -> int:
        """How many items come at most."""
        return self.mechanism.k


class LargestBound(ListBound):
    """One that reads no more than the largest counts, and the one after them."""

    value_bits: ClassVar[int] = 0
    """The columns that are stored beside each label."""

    if TYPE_CHECKING:

        @property
        def rows(self) -> int:
            """How many of the largest counts are read."""
            ...

    @property
    def needs(self) -> Top:
        return Top(self.rows)

    @property
    def space(self) -> Space:
        return space_of(self.question, self.max_items, self.rows + 1, each=self.value_bits)

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Bound how far an item must stand above the first row that does not compete to be named."""
        return listing_notes(self.error)


def listing_notes(error: ErrorModel) -> list[tuple[str, dict[str, Any]]]:
    """Find how far above the next count an item is listed as often as not, and 95 times in 100."""
    found = [(beta, error.listed(beta)) for beta in NOTED]
    return [
        ("Above the next count, to be listed", {**value.to_json(), "beta": text(beta)})
        for beta, value in found
        if value is not None
    ]


protect_module(vars())
