"""The comparison sheet: several mechanisms for one question, in one unit, at the same epsilon. Public things only.

One fan over epsilon carries, for each mechanism, its errors against the true count of a bin, its release probability,
what it stores, how long it takes, what it pays, and what no mechanism of that price can beat; and what a few public or
made-up counts would read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import counted, positive, rational, text, whole
from dpviz.model.error import BETAS, SURENESS, ErrorValue, How
from dpviz.model.measures import Floor, Measure, Setting
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.question import Question
from dpviz.model.statistic import StatisticKind
from dpviz.planning.draws import LUCK, Truth
from dpviz.planning.fans import Fanned, Spot
from dpviz.planning.grid import epsilon_grid
from dpviz.planning.sheet import question_json
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.loss import ApproxDP
from dpviz.privacy.unit import Unit

VERSION = 1
STEPS = 40
"""How many steps the axis of true counts has."""

TOPS = (1, 2, 5, 10)
MOST = 5
"""Up to so many mechanisms stand side by side."""

REMEMBERED = 50_000
"""The most numbers that are kept between one sheet and the next."""

REACH = 10**12
"""No axis of true counts goes further."""


@dataclass(frozen=True)
class ComparisonSheet(Fanned):
    """Mechanisms side by side at one epsilon, with a fan up to `top`.

    count  the true count that is probed; the axis of counts holds it
    truth  the counts that hypothetical outcomes are drawn of; None for made-up ones
    """

    question: Question
    unit: Unit
    mechanisms: tuple[Mechanism, ...]
    epsilon: Fraction
    top: Fraction
    count: int | None = None
    beta: Fraction = Fraction(1, 20)
    truth: Truth | None = None
    known: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False, compare=False)
    """Results computed before, for this sheet and those moved from it: a mechanism, its errors by beta and count."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.mechanisms) <= MOST:
            raise ParameterError.of(
                counted(len(self.mechanisms), "mechanism"),
                f"a comparison is of 1 to {MOST} mechanisms",
                f"name at least one of them, and at most {MOST}",
            )
        if self.count is not None:
            object.__setattr__(self, "count", whole(self.count, "c", least=0, most=REACH))
        object.__setattr__(self, "epsilon", min(positive(self.epsilon, "epsilon"), self.top))

    @property
    def names(self) -> list[str]:
        """The names of the mechanisms, with what tells those of one name apart: `Dense, base tight`."""
        names = []
        for mechanism in self.mechanisms:
            twins = [other.parameters() for other in self.mechanisms if other.name == mechanism.name]
            own = mechanism.parameters()
            apart = [part for part in own if part != "epsilon" and len({twin.get(part) for twin in twins}) > 1]
            names.append(", ".join([mechanism.name, *(f"{part} {own[part]}" for part in apart if own[part] != "")]))
        return names

    def moved(self, place: Mapping[str, str]) -> ComparisonSheet:
        """The sheet through the point that a page names: its epsilon, at most `top`, its beta and its true count c."""
        if set(place) != {"epsilon", "beta", "c"}:
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                "a place has epsilon, beta and c",
                "give each of them, and nothing else",
            )
        beta = rational(place["beta"], "beta")
        if beta not in BETAS:
            raise ParameterError.of(
                text(beta), f"beta must be one of {', '.join(text(one) for one in BETAS)}", "choose one of these"
            )
        count = whole(place["c"], "c", least=0, most=REACH)
        epsilon = positive(place["epsilon"], "epsilon")
        return replace(self, epsilon=epsilon, beta=beta, count=count, truth=self.drawn)

    @property
    def _epsilons(self) -> list[str]:
        return [text(value) for value in epsilon_grid(self.top)[0]]

    def head(self) -> dict[str, Any]:
        betas, counts = [text(beta) for beta in BETAS], [str(count) for count in self.counts()]
        return {
            "version": VERSION,
            "question": question_json(self.question, self.unit),
            "unit": {"text": self.unit.text},
            "measures": [measure.to_json() for measure in self.measures],
            "axes": [
                _axis("epsilon", "Privacy loss ε", "the same for all mechanisms", self._epsilons),
                _axis("beta", "How often the stated errors hold", "", betas),
                _axis(
                    "c",
                    "True count c of a bin",
                    "made up: nothing is read from the data",
                    counts,
                ),
            ],
            "draws": None,
        }

    def tail(self) -> dict[str, Any]:
        return {"draws": self.draws([*self._epsilons, text(self.epsilon)])}

    def here(self) -> Spot:
        return self._spot(self.epsilon, self.beta, self.counts())

    def fans(self) -> dict[str, list[Spot]]:
        counts = self.counts()
        return {
            "epsilon": [self._spot(Fraction(value), self.beta, counts) for value in self._epsilons],
            "beta": [self._spot(self.epsilon, beta, counts) for beta in BETAS],
        }

    def _spot(self, epsilon: Fraction, beta: Fraction, counts: list[int]) -> Spot:
        """A point against these true counts, which probes the one in the middle where none is chosen."""
        probed = counts[len(counts) // 2] if self.count is None else self.count
        there = replace(self, count=probed, epsilon=epsilon, beta=beta)
        return Spot((epsilon, beta, probed, *counts), partial(there.point, counts))

    @property
    def drawn(self) -> Truth | None:
        """The counts of hypothetical outcomes; made-up ones lie on the axis of counts as it is here, and stay."""
        question, n = self.question, self.unit.n
        return self.truth or Truth.below(self._top, question.bins if question.domain.declared else None, n)

    def draws(self, epsilons: Sequence[str]) -> dict[str, Any] | None:
        """The answers that each mechanism makes of them at each epsilon; None where none of them has a value of one bin
        to draw."""
        truth = self.drawn
        if truth is None:
            return None
        reads = {
            epsilon: [self._reads(mechanism.with_epsilon(Fraction(epsilon)), truth) for mechanism in self.mechanisms]
            for epsilon in dict.fromkeys(epsilons)
        }
        if not any(row for rows in reads.values() for row in rows):
            return None
        return {
            "badge": truth.badge,
            "names": list(truth.names),
            "counts": [str(count) for count in truth.counts],
            "luck": list(LUCK[: len(truth.counts)]),
            "reads": reads,
        }

    def _reads(self, mechanism: Mechanism, truth: Truth) -> list[str] | None:
        bound = self._bound(mechanism)
        if isinstance(bound, str):
            return None
        found: list[str] | None = self._once(("reads", mechanism, truth), partial(truth.reads, bound.error))
        return found

    @property
    def measures(self) -> list[Measure]:
        """Statements about the errors, each with its words: every measure that one of the mechanisms has."""
        measures: dict[str, Measure] = {}
        for mechanism in self.mechanisms:
            for epsilon in (self.epsilon, self.top):
                bound = self._bound(mechanism.with_epsilon(epsilon))
                if not isinstance(bound, str):
                    for measure in _drawn(bound):
                        measures.setdefault(measure.name, measure)
        return list(measures.values())

    def counts(self) -> list[int]:
        """The axis of true counts: even steps past the point where every mechanism settles, and the probe."""
        top = self._top
        step = max(1, top // STEPS)
        return sorted({*range(0, top + 1, step), top, *([] if self.count is None else [self.count])})

    @property
    def _top(self) -> int:
        """Where the axis of true counts ends, but for the probe."""
        reach = 8
        for mechanism in self.mechanisms:
            bound = self._bound(mechanism.with_epsilon(self.epsilon))
            given = [] if isinstance(bound, str) else [m.at(BETAS[1]) for m in _drawn(bound) if m.given is not None]
            for worst in given:
                if worst is not None:
                    reach = max(reach, min(REACH // 4, 2 * int(worst.value)))
        power = 10 ** (len(str(reach)) - 1)
        top: int = next(step * power for step in TOPS if step * power >= reach)
        return top if self.unit.n is None else min(top, self.unit.n)

    def point(self, counts: Sequence[int]) -> dict[str, Any]:
        """All mechanisms at this epsilon and beta, against these true counts."""
        return {
            "at": {"epsilon": text(self.epsilon), "beta": text(self.beta), "c": str(self.count)},
            "rows": [
                {"name": name, **self._row(mechanism.with_epsilon(self.epsilon), counts)}
                for name, mechanism in zip(self.names, self.mechanisms, strict=True)
            ],
        }

    def _row(self, mechanism: Mechanism, counts: Sequence[int]) -> dict[str, Any]:
        said = {"about": mechanism.about, "python": mechanism.python}
        bound = self._bound(mechanism)
        if isinstance(bound, str):
            return {**said, "refused": bound}
        price = bound.price
        charged = payable(to_approx(price.loss))
        return {
            **said,
            "refused": "",
            "price": {
                "epsilon": text(charged.epsilon),
                "delta": text(charged.delta),
                "asked": text(price.requested if price.requested is not None else charged.epsilon),
            },
            "guarantee": price.sentence,
            "space": {"bits": str(bound.space.bits), "text": bound.space.text},
            "cost": {"text": bound.cost.text, "slow": bound.cost.slow},
            "errors": self._errors(bound, counts, charged),
            "chance": self._chances(bound, counts),
        }

    def _bound(self, mechanism: Mechanism) -> Bound | str:
        """The mechanism bound to the question, or why it does not answer it: public facts only."""
        found: Bound | str = self._once(("bound", mechanism), partial(_bound, mechanism, self.question, self.unit))
        return found

    def _once(self, key: tuple[object, ...], compute: Callable[[], Any]) -> Any:
        if key not in self.known:
            if len(self.known) >= REMEMBERED:
                self.known.clear()
            self.known[key] = compute()
        return self.known[key]

    def _chances(self, bound: Bound, counts: Sequence[int]) -> list[float] | None:
        """The chance that a bin of each true count shows a value above 0."""
        chances = [self._once(("chance", bound.mechanism, c), partial(bound.error.chance_shown, c)) for c in counts]
        return None if None in chances else [_told(chance) for chance in chances if chance is not None]

    def _errors(self, bound: Bound, counts: Sequence[int], charged: ApproxDP) -> dict[str, Any]:
        """The errors by the name of their measure: at worst, by true count, and what no mechanism can beat."""
        setting = Setting(charged.epsilon, charged.delta, self.unit.n, _few(bound, self.unit.n))
        return {
            measure.name: {
                "worst": _json(
                    self._once(("worst", bound.mechanism, measure.name, self.beta), partial(measure.at, self.beta))
                ),
                "curve": self._curve(bound, measure, counts),
                "floor": None if measure.floor is None else _json(measure.floor(self.beta, setting)),
            }
            for measure in _drawn(bound)
        }

    def _curve(self, bound: Bound, measure: Measure, counts: Sequence[int]) -> dict[str, Any] | None:
        """The error of a bin by its true count, and how surely it is known; None where no count matters."""
        if measure.given is None:
            return None
        key, beta = ("given", bound.mechanism, measure.name, self.beta), self.beta
        curve = [self._once((*key, count), partial(measure.given, beta, count)) for count in counts]
        known: list[ErrorValue] = [value for value in curve if value is not None]
        if len(known) < len(curve):
            return None
        return {"values": [text(value.value) for value in known], "kind": weakest(known)}


def _drawn(bound: Bound) -> list[Measure]:
    """The measures that a chart shows."""
    return [measure for measure in bound.measures if measure.weight]


def _json(value: ErrorValue | Floor | None) -> dict[str, Any] | None:
    return None if value is None else value.to_json()


def _axis(name: str, label: str, hint: str, grid: list[str]) -> dict[str, Any]:
    return {"name": name, "label": label, "hint": hint, "grid": grid, "values": grid}


def _bound(mechanism: Mechanism, question: Question, unit: Unit) -> Bound | str:
    try:
        return mechanism.bind(question, unit)
    except ParameterError as refused:
        return str(refused)


def _few(bound: Bound, n: int | None) -> bool:
    """Whether at most n bins are shown on average, as the proof of Theorem 7.2 needs: nearly all empty bins read 0."""
    if n is None or not bound.question.domain.declared:
        return False
    chance = bound.error.chance_shown(0)
    return bound.needs is StatisticKind.SPARSE and chance is not None and chance * bound.question.bins <= n


def weakest(values: Sequence[ErrorValue]) -> How:
    """How surely all of these are known: as surely as the least sure of them."""
    return max((value.how for value in values), key=SURENESS.index)


def _told(chance: float) -> float:
    """To five places, but never quite sure: 0 and 1 are kept for what is certain."""
    return chance if chance in (0, 1) else min(1 - 1e-5, max(1e-5, round(chance, 5)))


protect_module(vars())
