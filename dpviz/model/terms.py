"""The promise when a release was paid for: everything that its reading rests on, in values that stay as they are.

The terms hold no mechanism and no calibration. They are written down with the release (format 2) and read back from
there; only a release of format 1, which did not store them, has them worked out anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import counted, text, whole
from dpviz.model.answers import Answer
from dpviz.model.error import ErrorModel
from dpviz.model.laws import StoredLaw, law_from_json
from dpviz.model.laws.base import Clamp, fraction_of
from dpviz.model.limited import Limited
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP, RangeBounded, Steps
from dpviz.privacy.range_bounded import StepPrice
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.model.mechanism import Bound

SESSION, TEACHING, UNCHECKED = "session", "teaching", "unchecked"
DOUBT: Final = "Origin unchecked: this was read from a file, and no ledger confirms it"
"""Where a release may come from, besides a ledger that is named."""

NOBODY: Final = "A person who knows the seed knows the noise: this draw protects nobody"
"""The promise of a teaching draw."""


@dataclass(frozen=True)
class Recipe:
    """Which mechanism drew an answer, as texts: it is known here or not.

    revision  of the mechanism's calibration when the release was paid for
    text      how it shows itself
    """

    name: str
    parameters: Mapping[str, str]
    revision: int
    text: str

    def to_json(self) -> dict[str, Any]:
        parameters = dict(self.parameters)
        return {"name": self.name, "parameters": parameters, "revision": self.revision, "text": self.text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Recipe:
        name, parameters, revision, shown = (data[part] for part in ("name", "parameters", "revision", "text"))
        texts = [name, shown, *parameters, *parameters.values()]
        named = isinstance(name, str) and name.isidentifier() and not name.startswith("_")
        if not named or not all(isinstance(one, str) for one in texts) or isinstance(revision, bool):
            raise ReleaseFormat.damaged("a stored mechanism has a name, parameters and a revision", "other parts")
        return cls(name, dict(parameters), whole(revision, "revision"), shown)

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Used:
    """How much an answer used of what was paid before: `9 of 50 symbols`."""

    noun: str
    amount: int
    paid: int

    @property
    def text(self) -> str:
        return f"{self.amount:,} of {counted(self.paid, self.noun)}"

    def to_json(self) -> dict[str, str]:
        return {"noun": self.noun, "amount": str(self.amount), "paid": str(self.paid)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Used:
        amount, paid = _number(data["amount"]), _number(data["paid"])
        if not isinstance(data["noun"], str) or amount is None or paid is None or not 0 <= amount <= paid:
            raise ReleaseFormat.damaged("what an answer used is a whole number of what was paid", "another amount")
        return cls(data["noun"], amount, paid)


@dataclass(frozen=True)
class Terms:
    """Question, unit, mechanism, price, limits and law of a release, as they were when it was paid for.

    price      the guarantee: the exact loss, and the rule that proves it
    max_items  how many items could come, for a list or a set
    ordered    whether the order of such items says something
    shape      the kind of answer that was promised
    law        what the answer was drawn from: its errors follow
    reuse      whether further reads of the answer are free
    item_price what one item of a list costs, where the price is made up of such steps
    """

    question: Question
    unit: Unit
    mechanism: Recipe
    price: Guarantee
    max_items: int | None
    ordered: bool
    shape: str
    law: StoredLaw
    reuse: bool
    item_price: StepPrice | None

    def __post_init__(self) -> None:
        if not self.law.belongs(self.question, self.unit, self.max_items):
            raise ReleaseFormat.damaged(
                "a stored law must be about the question and the unit of its release", self.law.name
            )

    @classmethod
    def of(cls, bound: Bound, revision: int | None = None) -> Terms:
        """The promise of a bound mechanism, today or under an earlier revision."""
        mechanism = bound.mechanism
        return cls(
            question=bound.question,
            unit=bound.unit,
            mechanism=Recipe(mechanism.name, mechanism.parameters(), revision or mechanism.revision, repr(mechanism)),
            price=bound.price,
            max_items=bound.max_items,
            ordered=bound.ordered,
            shape=bound.shape.kind,
            law=bound.law,
            reuse=bound.reuse,
            item_price=bound.item_price,
        )

    @property
    def _item_parts(self) -> tuple[Fraction, ...]:
        parts = self.item_price
        return () if parts is None else (parts.step, parts.delta, parts.delta_prime)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def clamp(self) -> Clamp:
        """The public limits that every released value respects."""
        return self.law.clamp

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Statements about the error, as the plan made them."""
        return self.law.measures(self.question)

    @property
    def counts_alone(self) -> bool:
        """Whether what one unit counts with was chosen for this question by itself, and not over all parts at once."""
        return self.unit.is_row or self.mechanism.parameters.get("way") != "product"

    @property
    def limited(self) -> Limited:
        """The part of the answer that the limits of the unit may leave out."""
        parts = self.question.by
        return Limited(self.question, self.unit, 1 if parts is None or self.counts_alone else parts.size)

    @property
    def limits(self) -> str:
        """The limits in a sentence, as the plan said it; empty where the unit is a row."""
        return self.limited.of_answer(self.max_items is not None)

    @property
    def title(self) -> str:
        """The subject of the answer: counts in each bin, the top of a list, or a set."""
        if self.max_items is None:
            return self.law.title(self.question, self.unit)
        among = self.error.among
        return self.question.ranked_title(self.unit, self.max_items, ordered=self.ordered, among=among)

    def of_parts(self, answers: Sequence[Answer]) -> list[Terms]:
        """The same about each part, where the question was asked about each."""
        found = self.law.of_part(self.unit)
        assert found is not None
        parts = zip(self.question.in_parts(), answers, strict=True)
        return [replace(self, question=part, law=found[0], unit=found[1], shape=one.kind) for part, one in parts]

    def accepts(self, answer: Answer) -> bool:
        """Whether this can be the answer that was promised: its shape, what the question says of it, and its law."""
        fits = answer.kind == self.shape and answer.fits(self.question, self.max_items)
        return fits and self.law.accepts(answer)

    def to_json(self) -> dict[str, Any]:
        """Texts, as a release of format 2 holds them."""
        low, high = self.clamp
        return {
            "question": self.question.to_json(),
            "unit": self.unit.to_json(),
            "mechanism": self.mechanism.to_json(),
            "guarantee": price_json(self.price),
            "clamp": {"low": _digits(low), "high": _digits(high)},
            "max_items": _digits(self.max_items),
            "ordered": self.ordered,
            "shape": self.shape,
            "law": self.law.to_json(),
            "reuse": self.reuse,
            "item_price": None if self.item_price is None else [str(part) for part in self._item_parts],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Terms:
        """The terms that `to_json` wrote. Raises ReleaseFormat, or what goes wrong where parts are missing."""
        question, unit = Question.from_json(data["question"]), Unit(**data["unit"])
        switches = (data["ordered"], data["reuse"])
        if not all(isinstance(part, bool) for part in switches) or not isinstance(data["shape"], str):
            raise ReleaseFormat.damaged("a saved release must say which answer was promised", "other parts")
        law, limits = law_from_json(data["law"]), data["clamp"]
        if law.clamp != (_number(limits["low"]), _number(limits["high"])):
            raise ReleaseFormat.damaged("a saved release states the limits of the law that it was drawn from", law.name)
        return cls(
            question=question,
            unit=unit,
            mechanism=Recipe.from_json(data["mechanism"]),
            price=price_from_json(data["guarantee"], unit),
            max_items=_number(data["max_items"]),
            ordered=data["ordered"],
            shape=data["shape"],
            law=law,
            reuse=data["reuse"],
            item_price=None if data["item_price"] is None else StepPrice(*map(fraction_of, data["item_price"])),
        )


# ---------------------------------------------------------------- prices as texts


def price_json(price: Guarantee) -> dict[str, Any]:
    """A price with its exact loss, and what is charged for it. The sentence is for whoever opens the file."""
    charged = payable(to_approx(price.loss))
    return {
        "text": price.sentence,
        "loss": _loss_json(price.loss),
        "charged": {"epsilon": text(charged.epsilon), "delta": text(charged.delta)},
        "rule": price.rule,
        "asked": None if price.requested is None else str(price.requested),
        "exact": price.exact,
        "zcdp_steps": None if price.zcdp_steps is None else _steps_json(price.zcdp_steps),
    }


def price_from_json(data: Mapping[str, Any], unit: Unit) -> Guarantee:
    """The price that `price_json` wrote; refused where what was charged is not what such a loss costs."""
    loss, zcdp_steps = _loss(data["loss"]), None if data["zcdp_steps"] is None else _steps(data["zcdp_steps"])
    asked = None if data["asked"] is None else fraction_of(data["asked"])
    rule, exact, sentence = data["rule"], data["exact"], data["text"]
    if not all(isinstance(part, str) for part in (rule, exact, sentence)):
        raise ReleaseFormat.damaged("a stored price states its rule in words", "other parts")
    price = Guarantee(loss, unit, rule, asked, exact, zcdp_steps)
    if price_json(price)["charged"] != data["charged"]:
        raise ReleaseFormat.damaged("what a saved release was charged must be what its loss costs", "another price")
    return price


def _loss_json(loss: Loss) -> dict[str, str]:
    if isinstance(loss, PureDP):
        return {"kind": "pure", "epsilon": str(loss.epsilon)}
    if isinstance(loss, ApproxDP):
        return {"kind": "approximate", "epsilon": str(loss.epsilon), "delta": str(loss.delta)}
    if isinstance(loss, ZCDP):
        return {"kind": "zero-concentrated", "rho": str(loss.rho)}
    counts = {"steps": str(loss.steps), "rounds": str(loss.rounds)}
    return {"kind": "range-bounded", "epsilon": str(loss.epsilon), "delta": str(loss.delta), **counts}


def _steps_json(steps: Steps) -> dict[str, str]:
    if isinstance(steps, ApproxZCDP):
        return {"kind": "approximately zero-concentrated", "rho": str(steps.rho), "delta": str(steps.delta)}
    return _loss_json(steps)


def _steps(data: Mapping[str, Any]) -> Steps:
    if data["kind"] == "approximately zero-concentrated":
        return ApproxZCDP(fraction_of(data["rho"]), fraction_of(data["delta"]))
    loss = _loss(data)
    if not isinstance(loss, RangeBounded | ZCDP):
        raise ReleaseFormat.damaged("the steps of a stored price are range-bounded, or a rho", "another loss")
    return loss


def _loss(data: Mapping[str, Any]) -> Loss:
    kind = data["kind"]
    if kind == "pure":
        return PureDP(fraction_of(data["epsilon"]))
    if kind == "approximate":
        return ApproxDP(fraction_of(data["epsilon"]), fraction_of(data["delta"]))
    if kind == "zero-concentrated":
        return ZCDP(fraction_of(data["rho"]))
    if kind != "range-bounded":
        raise ReleaseFormat.of(kind, "this dpviz does not know that kind of loss", "update dpviz")
    steps, rounds = whole(data["steps"], "steps"), whole(data["rounds"], "rounds")
    return RangeBounded(fraction_of(data["epsilon"]), fraction_of(data["delta"]), steps, rounds)


def _digits(number: int | None) -> str | None:
    return None if number is None else str(number)


def _number(data: Any) -> int | None:
    if data is None:
        return None
    if not isinstance(data, str) or str(int(data)) != data:
        raise ReleaseFormat.damaged("a saved release writes its limits as whole numbers", "another text")
    return int(data)


protect_module(vars())
