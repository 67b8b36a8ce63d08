"""An order: everything that a release or a question of a sub-session is asked with, as a message to another process.

The parts are those that an entry of a ledger names, in the same JSON. The digest of the order travels with it: where
the receiver would store the answer under another one, the two do not mean the same, and nothing is charged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, TypeVar, cast, get_args

from dpviz.boundary import as_given, protect_module
from dpviz.errors import DpvizError, Forbidden, ParameterError, short
from dpviz.mechanisms import mechanism, opening
from dpviz.model.mechanism import Bound, Mechanism, Mode
from dpviz.model.opening import Opening
from dpviz.model.question import Question, canonical
from dpviz.model.source import Source
from dpviz.privacy.limits import Limits
from dpviz.privacy.unit import Unit
from dpviz.session.binding import asked_of, bind, bind_profile, check_support
from dpviz.session.saved import UNREADABLE, check_readable

AGAIN = "install the same version of dpviz on both sides"


class _Written(Protocol):
    def to_json(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=_Written)
Sent = TypeVar("Sent", "ReleaseOrder", "AskOrder", "OpenOrder")


@dataclass(frozen=True, slots=True)
class ReleaseOrder:
    """One release.

    question   without limits of its own
    limits     those of this question that are not the unit's
    mechanism  with its parameters; of a question about parts, the way to share its price out as well
    mode       how it is run
    user_key   the analyst's own key
    retry      whether a lost draw is paid again
    over       the question and the mechanism of a profile that is bought with it
    then       the question and the mechanism of an answer that is declared with it; no question where it is the same
    digest     the digest that the answer is found under
    """

    question: Question
    limits: Limits
    mechanism: Mechanism
    mode: Mode
    user_key: str | None
    retry: bool
    over: tuple[Question, Mechanism] | None
    then: tuple[Question | None, Mechanism] | None
    digest: str

    def to_json(self) -> dict[str, Any]:
        """The message."""
        return {
            "kind": "release",
            "question": self.question.to_json(),
            "limits": self.limits.to_json() if self.limits.given else None,
            "mechanism": mechanism_json(self.mechanism),
            "mode": self.mode,
            "user_key": self.user_key,
            "retry": self.retry,
            "over": None if self.over is None else _pair_json(*self.over),
            "then": None if self.then is None else _pair_json(*self.then),
            "digest": self.digest,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> ReleaseOrder:
        """The order in a message. Raises a DpvizError where it is none."""
        return _read(
            told,
            lambda: cls(
                question=Question.from_json(told["question"]),
                limits=Limits() if told["limits"] is None else Limits.from_json(told["limits"]),
                mechanism=_mechanism(told["mechanism"]),
                mode=_mode(told["mode"]),
                user_key=told["user_key"],
                retry=told["retry"],
                over=None if told["over"] is None else _pair(told["over"]),
                then=None if told["then"] is None else _declared(told["then"]),
                digest=told["digest"],
            ),
        )

    def bind(self, source: Source, unit: Unit) -> tuple[Bound, Bound | None]:
        """The mechanism and that of the profile, bound after the same public checks as a call of `release`."""
        limits = self.limits if self.limits.given else None
        if self.question.by is None or self.question.part is not None:
            bound = bind(source, unit, self.question, self.mechanism, None, limits)
        else:
            asked, within = asked_of(unit, self.question, None, limits)
            bound = self.mechanism.bind(asked, within)
            if bound.subsession_calls:
                raise ParameterError.of(
                    bound.way or "", "this way is a sub-session, which is opened, not released", bound.subsession_calls
                )
            check_support(source, bound)
            check_readable(bound)
        return bound, bind_profile(source, unit, bound, self.over)

    @property
    def declared(self) -> object:
        """The answer that is declared with it, in the form that a call of `release` takes."""
        if self.then is None:
            return None
        question, made = self.then
        return made if question is None else (question, made)


@dataclass(frozen=True, slots=True)
class AskOrder:
    """One question of an open sub-session.

    entry     the number of the entry that opened it
    use       the name and the parameters of its use
    """

    entry: int
    question: Question
    use: Mapping[str, str]
    user_key: str | None
    retry: bool
    digest: str

    def to_json(self) -> dict[str, Any]:
        """The message."""
        return {
            "kind": "ask",
            "entry": self.entry,
            "question": self.question.to_json(),
            "use": dict(self.use),
            "user_key": self.user_key,
            "retry": self.retry,
            "digest": self.digest,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> AskOrder:
        """The order in a message. Raises a DpvizError where it is none."""
        return _read(
            told,
            lambda: cls(
                entry=told["entry"],
                question=Question.from_json(told["question"]),
                use=_texts(told["use"]),
                user_key=told["user_key"],
                retry=told["retry"],
                digest=told["digest"],
            ),
        )


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """A sub-session that is opened.

    parameters  those that it is opened with
    """

    parameters: Opening
    user_key: str | None
    digest: str

    def to_json(self) -> dict[str, Any]:
        """The message."""
        return {
            "kind": "open",
            "opening": {"name": self.parameters.name, "parameters": self.parameters.parameters()},
            "user_key": self.user_key,
            "digest": self.digest,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> OpenOrder:
        """The order in a message. Raises a DpvizError where it is none."""
        return _read(
            told,
            lambda: cls(
                parameters=opening(told["opening"]["name"], _texts(told["opening"]["parameters"])),
                user_key=told["user_key"],
                digest=told["digest"],
            ),
        )


Order: TypeAlias = ReleaseOrder | AskOrder | OpenOrder

KINDS: Mapping[str, type[ReleaseOrder] | type[AskOrder] | type[OpenOrder]] = MappingProxyType(
    {"release": ReleaseOrder, "ask": AskOrder, "open": OpenOrder}
)


def order_from(told: Mapping[str, Any]) -> Order:
    """The order in a message, of any kind."""
    kind = told.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise Forbidden.of("another kind", f"an order is one of {', '.join(KINDS)}", AGAIN)
    return KINDS[kind].from_json(told)


def checked_order(order: object, kind: type[Sent], pace: object = None) -> Sent:
    """The order, if it is of this kind. Refuses anything else, and a pace that cannot be called."""
    if type(order) is not kind:
        raise ParameterError.of(
            as_given(order),
            "an order is what order_from read from a message",
            "give that, or call release, ask or open",
        )
    if pace is not None and not callable(pace):
        raise ParameterError.of(as_given(pace), "pace is a function without arguments", "leave it out")
    return order


def check_digest(order: Order, here: str) -> None:
    """Refuse an order that would be stored here under another digest than its sender looks for."""
    if order.digest != here:
        raise ParameterError.of(
            short(order.digest, 20),
            "an order means the same where it is sent and where it is drawn, and this one is stored under another "
            "digest here; nothing was charged",
            AGAIN,
        )


def mechanism_json(made: Mechanism) -> dict[str, Any]:
    """A mechanism in a message: its name and its exact parameters."""
    return {"name": made.name, "parameters": made.parameters()}


def _read(told: Mapping[str, Any], make: Callable[[], T]) -> T:
    """The order in a message, if writing it gives the message again: no part is dropped, filled in or read in two ways.
    A fault of a message becomes one error, which shows nothing of it."""
    refused: DpvizError | None = None
    try:
        made = make()
        same = canonical(made.to_json()) == canonical(dict(told))
    except DpvizError as error:
        refused = error
    except UNREADABLE:
        same = False
    if refused is not None:
        raise refused
    if not same:
        raise Forbidden.of(
            "another message",
            "an order has the parts that this dpviz writes, and no others; nothing was charged",
            AGAIN,
        )
    return made


def _pair_json(question: Question | None, made: Mechanism) -> dict[str, Any]:
    return {"question": None if question is None else question.to_json(), "mechanism": mechanism_json(made)}


def _pair(told: Mapping[str, Any]) -> tuple[Question, Mechanism]:
    return Question.from_json(told["question"]), _mechanism(told["mechanism"])


def _declared(told: Mapping[str, Any]) -> tuple[Question | None, Mechanism]:
    question = None if told["question"] is None else Question.from_json(told["question"])
    return question, _mechanism(told["mechanism"])


def _mechanism(told: Mapping[str, Any]) -> Mechanism:
    if not isinstance(told["name"], str):
        raise TypeError
    return mechanism(told["name"], dict(_texts(told["parameters"])))


def _texts(told: Mapping[str, Any]) -> dict[str, str]:
    if not all(isinstance(value, str) for value in told.values()):
        raise TypeError
    return dict(told)


def _mode(told: object) -> Mode:
    if told not in get_args(Mode):
        raise TypeError
    return cast("Mode", told)


def plain(content: bytes, most: int) -> dict[str, Any]:
    """The JSON object in these bytes. Refuses numbers that are none, names that stand twice, and what is too long."""
    if len(content) > most:
        raise Forbidden.of(f"{len(content):,} bytes", f"a message has at most {most:,} bytes", "ask for less at once")
    try:
        told = json.loads(content, parse_constant=_no_number, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise Forbidden.of("another text", "a message is one JSON object", AGAIN)
    return told


def _no_number(_: str) -> Any:
    raise ValueError


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError
    return made


protect_module(vars())
