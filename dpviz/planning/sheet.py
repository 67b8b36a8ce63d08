"""The plan sheet: everything the page needs to redraw by itself, as exact texts.

A sheet holds one fan per slider through the current point, so a slider moves with a busy kernel and in a report with
no kernel at all. It is made of public things only: it never meets the data.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import text
from dpviz.laws.search import least
from dpviz.mechanisms import in_way, ways
from dpviz.model.domain import Domain
from dpviz.model.error import BETAS, ErrorModel, ErrorValue
from dpviz.model.identity import release_key
from dpviz.model.measures import Measure, among, values_json
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.offers import Offer
from dpviz.model.partition import Partition
from dpviz.model.question import Question
from dpviz.model.statistic import Top
from dpviz.model.ways import CALLED, Way, Ways
from dpviz.model.words import RELEASED, Verbs
from dpviz.planning.fans import Points, Spot
from dpviz.planning.grid import epsilon_grid
from dpviz.planning.limit_curve import limit_json
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.limits import Limits
from dpviz.privacy.unit import Unit
from dpviz.wanted import each

VERSION = 2
DOTS = 50
"""A picture of equally likely errors has so many: two in a hundred each."""
CHANCE_UP_TO = 40
SURE = 0.95
LARGEST_COUNT = 10**18


@dataclass(frozen=True)
class PlanSheet:
    """A plan for one question, unit and mechanism, with a fan over epsilon up to `top`.

    many  how many look-ups the error of several at once is about; None for the usual number
    zcdp  whether a zCDP budget pays, so that noise that is made for it is compared with
    verbs  what becomes of an answer, in the words of whoever keeps the data
    way    how the price is shared out where the question is about each part; `mechanism` then answers one of them
    refused  the ways that were refused with this mechanism, by whoever counts, too
    within  the limits that the call names, where they are not those of the session's unit
    """

    question: Question
    unit: Unit
    mechanism: Mechanism
    top: Fraction
    offered: Mapping[str, Offer] = field(default_factory=dict)
    made: str = ""
    beta: Fraction = Fraction(1, 20)
    many: int | None = None
    zcdp: bool = False
    verbs: Verbs = RELEASED
    way: Way | None = None
    refused: Mapping[Way, ParameterError] = field(default_factory=dict)
    within: Limits | None = None

    @property
    def bound(self) -> Bound:
        return self._bind(self.mechanism)

    def _bind(self, mechanism: Mechanism) -> Bound:
        made = mechanism if self.way is None else in_way(mechanism, self.way)
        return made.bind(self.question, self.unit)

    @property
    def epsilon(self) -> Fraction:
        """Where the slider stands: what was typed, or the price where another number was."""
        return Fraction(self.mechanism.parameters()["epsilon"] or to_approx(self.bound.price.loss).epsilon)

    @property
    def fan(self) -> list[tuple[Fraction, Bound]]:
        """The slider's values, and the mechanism at each. The smallest are left out where they pay for nothing.

        It is the same wherever the slider stands.
        """
        epsilon = "epsilon", *self.mechanism.in_place_of("epsilon")
        others = tuple((name, value) for name, value in self.mechanism.parameters().items() if name not in epsilon)
        kind = type(self.mechanism), self.mechanism.name, self.mechanism.revision
        return FANS.of((*kind, others, self.question.id, self.unit, self.top, self.way), self._fan)

    def _fan(self) -> list[tuple[Fraction, Bound]]:
        found = []
        for epsilon in each(epsilon_grid(self.top)[0]):
            with suppress(ParameterError):
                found.append((epsilon, self._bind(self.mechanism.with_epsilon(epsilon))))
        return found or [(self.epsilon, self.bound)]

    def to_json(self) -> dict[str, Any]:
        """The sheet as the page gets it; see widgets/PROTOCOL.md."""
        fan, now = self.fan, self.bound
        shared: Ways = {} if self.way is None else self._shared(self.mechanism)
        grid = [epsilon for epsilon, _ in fan]
        labelled = [epsilon for epsilon in epsilon_grid(self.top)[1] if epsilon in grid]
        parameters = {name: value for name, value in self.mechanism.parameters().items() if name != "epsilon"}
        most = now.max_items
        return {
            "version": VERSION,
            "made": self.made,
            "question": question_json(self.question, self.unit, most),
            "places": "" if most is None else str(most),
            "unit": {"text": self.unit.text},
            "mechanism": {
                "name": self.mechanism.name,
                "title": self.mechanism.name,
                "about": self.mechanism.about,
                "delta": self.mechanism.delta_text,
                "parameters": parameters,
                "choices": [
                    {
                        "name": choice.name,
                        "label": choice.label,
                        "options": [{"value": value, "label": label} for value, label in choice.options],
                        **({"stays": True} if choice.stays else {}),
                        **({"open": True} if choice.plain else {}),
                    }
                    for choice in type(self.mechanism).choices()
                    if choice.only is None or parameters.get(choice.only[0]) == choice.only[1]
                ],
            },
            "mechanisms": [
                {
                    "name": name,
                    "title": name,
                    "about": offer.about,
                    "stays": list(offer.stays),
                    **({"records": True} if offer.records else {}),
                }
                for name, offer in self.offered.items()
            ],
            **({"limits": now.limits} if now.limits else {}),
            **({} if (limit := limit_json(self.question, self.unit)) is None else {"limit": limit}),
            **({} if self.within is None else {"within": self._within_json(self.within)}),
            "measures": [measure.to_json(self.verbs, now.limited) for measure in among(now.measures, self.many)],
            "betas": [text(beta) for beta in BETAS],
            "beta": text(self.beta),
            "axes": [
                {
                    "name": "epsilon",
                    "label": "Privacy loss ε",
                    "hint": "smaller is more private",
                    "grid": [text(value) for value in grid],
                    "labelled": [text(value) for value in labelled],
                }
            ],
            "now": self._point(now, self.epsilon),
            "fans": {"epsilon": [self._point(bound, epsilon) for epsilon, bound in each(fan)]},
            "python": python_call(self.question, self.mechanism, self.verbs, self._named_way(shared), self.within),
            **({} if self.way is None else {"way": self.way, "ways": self._ways_json(shared)}),
        }

    def _within_json(self, within: Limits) -> dict[str, str]:
        """The limits that the call names, as texts; of no limit an empty one."""
        return {name: "" if value is None else str(value) for name, value in within.given.items()}

    def _shared(self, mechanism: Mechanism) -> Ways:
        """Every way at the price of this mechanism; none that cannot be counted for, whatever the price."""
        return {**ways(mechanism, self.question, self.unit), **self._uncounted}

    @cached_property
    def _uncounted(self) -> Ways:
        """The ways that could be taken, were it not for whoever counts."""
        if not self.refused:
            return {}
        found = ways(self.mechanism, self.question, self.unit)
        return {way: one for way, one in self.refused.items() if isinstance(found[way], Bound)}

    def _named_way(self, shared: Ways) -> Way | None:
        """The way, where a call must name it, for there is another."""
        return self.way if sum(isinstance(one, Bound) for one in shared.values()) > 1 else None

    def _ways_json(self, shared: Ways) -> list[dict[str, Any]]:
        """The ways to share the price out: how each is called and what it says of its error, or why it is refused."""
        return [
            {"name": way, "label": CALLED[way], "refused": str(one)}
            if isinstance(one, ParameterError)
            else {
                "name": way,
                "label": CALLED[way],
                "refused": "",
                "rule": one.price.rule,
                "leaves_out": one.leaves_out,
                "opened": one.opening_call,
                "measure": among(one.measures, self.many)[0].to_json(self.verbs, one.limited),
            }
            for way, one in shared.items()
        ]

    def _point(self, bound: Bound, epsilon: Fraction) -> dict[str, Any]:
        """One point; points of the same fan are there already, wherever on it a person stands."""
        kind, parameters = type(bound.mechanism), tuple(bound.mechanism.parameters().items())
        key = (
            kind,
            bound.mechanism.revision,
            parameters,
            bound.question.id,
            bound.unit,
            epsilon,
            self.many,
            self.zcdp,
            self.verbs,
            self._sharing,
        )
        return POINTS.of(Spot(key, partial(self._made, bound, epsilon)))

    @property
    def _sharing(self) -> tuple[str, ...]:
        """The statement of a point about ways: which one it is about, and which are left out."""
        return () if self.way is None else (self.way, *self._uncounted)

    def _made(self, bound: Bound, epsilon: Fraction) -> dict[str, Any]:
        point = point_json(bound, epsilon, self.many, zcdp=self.zcdp)
        if self.verbs is RELEASED:  # rules speak of prices, and a lesson has none
            point["proof"] = bound.price.rule
        if self.way is None:
            return point
        shared = self._shared(self.mechanism.with_epsilon(epsilon))
        return {**point, "ways": {way: way_json(one) for way, one in shared.items() if isinstance(one, Bound)}}


class Fans:
    """Mechanisms bound at each value of a slider, the latest of them. For several threads."""

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, list[tuple[Fraction, Bound]]] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], list[tuple[Fraction, Bound]]]) -> list[tuple[Fraction, Bound]]:
        """The fan, made where it is not known. One that was cut short is not kept."""
        with self._lock:
            found = self._known.get(key)
        if found is None:
            found = make()
        with self._lock:
            self._known[key] = found
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return found


FANS = Fans()
POINTS = Points()
"""The points of all plans, the latest of them."""


def way_json(bound: Bound) -> dict[str, Any]:
    """The result of one way to share the price out: what it would cost, and the first of its errors."""
    charged = payable(to_approx(bound.price.loss))
    values = {beta: bound.measures[0].at(beta) for beta in BETAS}
    return {
        "price": {"epsilon": text(charged.epsilon), "delta": text(charged.delta)},
        "errors": {text(beta): None if value is None else value.to_json() for beta, value in values.items()},
    }


def question_json(question: Question, unit: Unit, max_items: int | None = None) -> dict[str, Any]:
    """The question as the page gets it; where the answer names items, in the words of such a question."""
    return {
        "id": question.id,
        "column": " × ".join(question.domain.columns),
        "asks": question.aggregate.noun,
        "noun": unit.noun,
        "nouns": unit.nouns,
        "bins": str(question.bins) if question.domain.declared else "",
        "size": question.domain.size_text,
        "bins_text": question.domain.text,
        "sentence": question.sentence(unit) if max_items is None else question.ranked_sentence(unit, max_items),
        **_made_of(question),
    }


def bins_json(domain: Domain) -> dict[str, str]:
    """The public bins of one column, with the id by which a page names them."""
    return {"id": bins_id(domain), "column": domain.columns[0], "text": domain.text, "size": domain.size_text}


def bins_id(domain: Domain) -> str:
    """Names these bins, as the question that counts in them."""
    return Question(domain).id


def _made_of(question: Question) -> dict[str, Any]:
    """The bins of each column, and the parts, where a page may make another question of them."""
    if not question.aggregate.additive or question.aggregate.profiled is not None:
        return {}
    made: dict[str, Any] = {"factors": [bins_json(axis) for axis in question.domain.factors]}
    by = question.by
    if by is None or question.part is not None:
        return made
    alone = by.domain if isinstance(by, Partition) and len(by.columns) == 1 else None
    parts = {
        "id": question.id if alone is None else bins_id(alone),
        "column": " × ".join(by.columns) or by.each,
        "text": by.text if alone is None else alone.text,
        "size": str(by.size),
        "most": "" if by.max_parts is None else str(by.max_parts),
        "each": by.noun,
    }
    return {**made, "plain": replace(question, by=None).id, "by": parts}


def point_json(bound: Bound, epsilon: Fraction, many: int | None = None, *, zcdp: bool = False) -> dict[str, Any]:
    """One point of a fan: price, errors and pictures at one epsilon; under a zCDP budget, what better noise gives."""
    price, measures = bound.price, among(bound.measures, many)
    charged = payable(to_approx(price.loss))
    return {
        "epsilon": text(epsilon),
        "exactly": f"{epsilon.numerator}/{epsilon.denominator}" if epsilon.denominator != 1 else text(epsilon),
        "key": release_key(bound.question, bound.unit, bound.mechanism, bound.modes()[0]),
        "price": {
            "epsilon": text(charged.epsilon),
            "delta": text(charged.delta),
            "asked": text(price.requested if price.requested is not None else charged.epsilon),
        },
        "odds": price.odds,
        "guarantee": price.sentence,
        "space": {"bits": str(bound.space.bits), "text": bound.space.text},
        "rows": str(bound.needs.rows + 1) if isinstance(bound.needs, Top) else "",
        "cost": {"text": bound.cost.text, "slow": bound.cost.slow},
        "verb": bound.verb,
        "errors": {text(beta): values_json(measures, beta) for beta in BETAS},
        "more": [{"label": label, **value} for label, value in (*bound.notes, *(rival_notes(bound) if zcdp else ()))],
        **pictures_json(bound.error),
    }


def rivals(bound: Bound, beta: Fraction) -> list[tuple[Measure, ErrorValue]]:
    """The errors that noise for zCDP budgets would make smaller, at no more than the same rho: the measure, and what it
    would be."""
    rival = bound.for_zcdp
    found = []
    for measure, other in () if rival is None else zip(bound.measures, rival.measures, strict=False):
        own, less = measure.at(beta), other.at(beta)
        if measure.name == other.name and own is not None and less is not None and less.value < own.value:
            found.append((other, less))
    return found


def rival_notes(bound: Bound) -> list[tuple[str, dict[str, Any]]]:
    """The same as notes of a point."""
    return [
        (f"Gaussian noise for the same ρ, {measure.short}", {**value.to_json(), "beta": text(beta)})
        for beta in BETAS
        for measure, value in rivals(bound, beta)
    ]


def pictures_json(error: ErrorModel) -> dict[str, Any]:
    """Equally likely errors, the bias of an empty bin, and the chance that a bin shows more than 0.

    Where small counts are left out, the errors are those of a bin near the cut, and `cut` is its true count.
    """
    levels = [Fraction(2 * index + 1, 2 * DOTS) for index in range(DOTS)]
    near = error.near_the_cut(levels)
    dots = error.quantiles(levels) if near is None else near[1]
    bias = error.bias(0)
    shown = cache(error.chance_shown)  # some counts are asked for again
    counts = chance_counts(shown, CHANCE_UP_TO if near is None else near[0])
    chance = [shown(count) for count in counts]
    return {
        "dots": None if dots is None else [str(dot) for dot in dots],
        **({} if near is None else {"cut": str(near[0])}),
        "bias": None if bias is None else text(bias.value),
        "chance": None
        if None in chance
        else {"c": [str(count) for count in counts], "p": [round(value, 4) for value in chance if value is not None]},
    }


def chance_counts(shown: Callable[[int], float | None], near: int) -> list[int]:
    """The true counts of the curve of chances: the first few, or, where these are hardly ever shown, those up to a
    little above the count that is shown 95 times in 100, closer together where the curve rises. It rises at about
    `near`."""
    few = list(range(CHANCE_UP_TO + 1))
    last = shown(CHANCE_UP_TO)
    if last is None or last >= SURE:
        return few
    rare = _first_shown(shown, 1 - SURE, near)
    sure = _first_shown(shown, SURE, near)
    if sure > LARGEST_COUNT:
        return few
    top = sure + max(1, sure // 8)
    even, rising = range(0, top, max(1, top // 30)), range(rare, sure, max(1, (sure - rare) // 12))
    return sorted({*even, *rising, sure, top})


def _first_shown(shown: Callable[[int], float | None], chance: float, near: int) -> int:
    """The least count that is shown with at least this chance, which grows with the count; one above all where none
    is. The search begins at `near`."""
    return least(lambda count: count > LARGEST_COUNT or (shown(count) or 0) >= chance, near=near)


def python_call(
    question: Question, mechanism: Mechanism, verbs: Verbs, way: Way | None = None, limits: Limits | None = None
) -> str:
    """The Python call that does the same, with {epsilon} where the price goes."""
    shown = f'"{mechanism.parameters()["epsilon"] or "{epsilon}"}"'
    lines = [question.python, mechanism.python.replace(f"epsilon={shown}", 'epsilon="{epsilon}"', 1)]
    if question.where:
        lines.append(question.python_where)
    if question.by is not None:
        lines.append(f"by={question.by.python}")
    if way is not None:
        lines.append(f'way="{way}"')
    if limits is not None:
        lines.append(f"limits={limits.python}")
    return f"{verbs.call}(\n" + "".join(f"    {line},\n" for line in lines) + ")"


protect_module(vars())
