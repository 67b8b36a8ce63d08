"""The comparison sheet: several mechanisms for one question, in one unit, at the same epsilon. Public things only.

One fan over epsilon carries, for each mechanism, its errors against the true count of a bin, its release probability,
what it stores, how long it takes, what it pays, and what no mechanism of that price can beat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpviz.errors import ParameterError
from dpviz.exact import positive, rational, text, whole
from dpviz.hidden import guard
from dpviz.laws import lower_bounds
from dpviz.model.error import ErrorValue, How
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.question import Question
from dpviz.model.statistic import Kind
from dpviz.planning.grid import epsilon_grid
from dpviz.planning.sheet import BETAS, question_json
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
"""So many numbers are kept between one sheet and the next."""

REACH = 10**12
"""No axis of true counts goes further."""


@dataclass(frozen=True)
class ComparisonSheet:
    """Mechanisms side by side at one epsilon, with a fan up to `top`.

    count  the true count that is probed; the axis of counts holds it
    """

    question: Question
    unit: Unit
    mechanisms: tuple[Mechanism, ...]
    epsilon: Fraction
    top: Fraction
    count: int | None = None
    beta: Fraction = Fraction(1, 20)
    known: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False, compare=False)
    """What was computed before, for this sheet and those moved from it: a mechanism, its errors by beta and count."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.mechanisms) <= MOST:
            raise ParameterError.of(f"{len(self.mechanisms)} mechanisms", f"compare from 1 to {MOST} of them")
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
            raise ParameterError.of(", ".join(sorted(place)) or "nothing", "a place has epsilon, beta and c")
        beta = rational(place["beta"], "beta")
        if beta not in BETAS:
            raise ParameterError.of(text(beta), f"beta must be one of {', '.join(text(one) for one in BETAS)}")
        count = whole(place["c"], "c", least=0, most=REACH)
        return replace(self, epsilon=positive(place["epsilon"], "epsilon"), beta=beta, count=count)

    def to_json(self) -> dict[str, Any]:
        """The sheet as the page gets it; see widgets/PROTOCOL.md."""
        epsilons = [text(value) for value in epsilon_grid(self.top)[0]]
        betas = [text(beta) for beta in BETAS]
        counts = self.counts()
        here = replace(self, count=counts[len(counts) // 2] if self.count is None else self.count)
        return {
            "version": VERSION,
            "kind": "comparison-sheet",
            "question": question_json(self.question, self.unit),
            "unit": {"text": self.unit.text, "sentence": self.unit.sentence, "relation": self.unit.relation},
            "axes": [
                _axis("epsilon", "Privacy loss ε", "the same for all", epsilons),
                _axis("beta", "How often the errors hold", "", betas),
                _axis("c", "True count c of a bin", "made up: nothing is read from data", [str(c) for c in counts]),
            ],
            "now": here.point(counts),
            "fans": {
                "epsilon": [replace(here, epsilon=Fraction(value)).point(counts) for value in epsilons],
                "beta": [replace(here, beta=Fraction(value)).point(counts) for value in betas],
            },
        }

    def counts(self) -> list[int]:
        """The axis of true counts: even steps past the point where every mechanism settles, and the probe."""
        reach = 8
        for mechanism in self.mechanisms:
            bound = self._bound(mechanism.with_epsilon(self.epsilon))
            worst = None if isinstance(bound, str) else bound.error.one_bin(BETAS[1])
            if worst is not None:
                reach = max(reach, min(REACH // 4, 2 * int(worst.value)))
        power = 10 ** (len(str(reach)) - 1)
        top = next(step * power for step in TOPS if step * power >= reach)
        if self.unit.n is not None:
            top = min(top, self.unit.n)
        step = max(1, top // STEPS)
        return sorted({*range(0, top + 1, step), top, *([] if self.count is None else [self.count])})

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
                "asked": text(price.asked if price.asked is not None else charged.epsilon),
            },
            "guarantee": price.sentence,
            "space": {"bits": str(bound.space.bits), "text": bound.space.text},
            "cost": {"text": bound.cost.text, "slow": bound.cost.slow},
            **self._errors(bound, counts, charged),
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
        beta = self.beta
        one = self._once(("one", bound.mechanism, beta), partial(bound.error.one_bin, beta))
        every = self._once(("all", bound.mechanism, beta), partial(bound.error.all_bins, beta))
        curve = [
            self._once(("error", bound.mechanism, beta, c), partial(bound.error.one_bin, beta, count=c)) for c in counts
        ]
        known = [value for value in curve if value is not None]
        return {
            "one": None if one is None else one.to_json(),
            "all": None if every is None else every.to_json(),
            "curve": None
            if len(known) < len(curve)
            else {"values": [text(value.value) for value in known], "kind": _weakest(known)},
            "floor": self._floor(bound, charged.epsilon, charged.delta),
        }

    def _floor(self, bound: Bound, epsilon: Fraction, delta: Fraction) -> dict[str, str]:
        """What no mechanism of this price can beat, in the worst case over true counts: of one bin, and of all."""
        beta, n, declared = self.beta, self.unit.n, self.question.domain.declared
        one = lower_bounds.one_bin(epsilon, beta, n=n, delta=delta)
        rule = "Theorem 7.1"
        if declared and n is not None and _few(bound, n):
            sharper = lower_bounds.sparse(epsilon, beta, bins=self.question.bins, shown=n, n=n, delta=delta)
            one, rule = max(one, sharper), ("Theorem 7.2" if sharper > one else rule)
        every = ""
        if declared and self.question.bins > 1:
            every = text(lower_bounds.all_bins(epsilon, beta, bins=self.question.bins, n=n, delta=delta))
        return {"one": text(one), "all": every, "rule": rule}


def _axis(name: str, label: str, hint: str, grid: list[str]) -> dict[str, Any]:
    return {"name": name, "label": label, "hint": hint, "grid": grid, "values": grid}


def _bound(mechanism: Mechanism, question: Question, unit: Unit) -> Bound | str:
    try:
        return mechanism.bind(question, unit)
    except ParameterError as refused:
        return str(refused)


def _few(bound: Bound, n: int) -> bool:
    """Whether at most n bins are shown on average, as the proof of Theorem 7.2 needs: nearly all empty bins read 0."""
    chance = bound.error.chance_shown(0)
    return bound.needs is Kind.SPARSE and chance is not None and chance * bound.question.bins <= n


def _weakest(values: Sequence[ErrorValue]) -> How:
    kinds = {value.how for value in values}
    order: tuple[How, ...] = ("simulated", "bound", "exact")
    return next(how for how in order if how in kinds)


def _told(chance: float) -> float:
    """To five places, but never quite sure: 0 and 1 are kept for what is certain."""
    return chance if chance in (0, 1) else min(1 - 1e-5, max(1e-5, round(chance, 5)))


guard(vars())
