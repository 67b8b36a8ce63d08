"""Reading releases back: from a file, from the ledger. An answer that could not be read back is refused before it is
paid for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

from dpviz.errors import DpvizError, ParameterError, ReleaseFormat, short
from dpviz.exact import LONGEST
from dpviz.mechanisms import OPENINGS, mechanism
from dpviz.model import answers, binary
from dpviz.model.answers import Answer, Packed
from dpviz.model.bought_together import BoughtProfile, entry_price_from_json
from dpviz.model.error import BETAS, ErrorModel
from dpviz.model.identity import release_key
from dpviz.model.laws import law_from_json
from dpviz.model.measures import Measure
from dpviz.model.mechanism import Bound, Mechanism, Mode
from dpviz.model.opening import Opening
from dpviz.model.question import Question, canonical
from dpviz.model.terms import SESSION, Terms, Used
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.model.release import Release

UNREADABLE = (DpvizError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)
"""Errors of reading, where the stored parts do not fit together."""


def from_bytes(content: bytes, origin: str = SESSION) -> Release:
    """The release in these bytes, which a ledger of this session stored, if nothing else is said of their origin."""
    from dpviz.model.release import known_format, opened, with_checksum

    if binary.is_binary(content):
        file = binary.opened(content)
        known_format(file.body)
        written = file.body if file.packed is not None else with_checksum(file.body)  # an answer stays as it was
        parts: tuple[dict[str, Any], bytes | dict[str, Any], Packed | None] = file.body, written, file.packed
    else:
        parts = *opened(content, views=True), None
    try:
        return _from_json(*parts, origin)
    except ReleaseFormat:
        raise
    except UNREADABLE:
        raise ReleaseFormat.damaged(
            "a saved release must hold a question, unit, mechanism and answer that agree", "parts that do not"
        ) from None


def _from_json(body: dict[str, Any], written: bytes | dict[str, Any], packed: Packed | None, origin: str) -> Release:
    """A release of format 2 holds what was promised; for one of format 1 its mechanism is bound again. One of format 3
    holds a profile besides, or is one, and then holds the price of its entry."""
    from dpviz.model.release import VERSION, Release

    answer = _answer(body["answer"], packed)
    if body["version"] == 1:
        bound = rebound(body, first=True)
        terms, uses, modes = Terms.of(bound, revision=1), bound.uses(answer), bound.modes()
    else:
        terms, uses, modes = Terms.from_json(body), tuple(map(Used.from_json, body["uses"])), get_args(Mode)
    if not terms.accepts(answer):
        size = terms.question.domain.size_text
        raise ReleaseFormat.damaged(f"the answer of a saved release is one that was promised, for {size}", answer.kind)
    together = [part for part in ("profile", "together") if part in body]
    if len(together) != (body["version"] == VERSION):
        rule = "a release of the latest format, and no other, has a profile or the price of its entry"
        raise ReleaseFormat.damaged(rule, " and ".join(together) or "neither")
    bought = BoughtProfile.from_json(body["profile"], terms) if "profile" in body else None
    entry_price = entry_price_from_json(body["together"], terms) if "together" in body else None
    texts = [body[name] for name in ("randomness", "dataset", "key")]
    numbers = [body["number"], body.get("use"), body["teaching"]]
    whole = all(value is None or (isinstance(value, int) and not isinstance(value, bool)) for value in numbers)
    if (body.get("use") is not None) != bool(uses):
        raise ReleaseFormat.damaged(
            "an answer of a sub-session, and no other, says which question it was", body.get("use")
        )
    if body["mode"] not in modes or not whole or not all(isinstance(said, str) for said in texts):
        raise ReleaseFormat.damaged(
            "a saved release must say how it was drawn, in texts and whole numbers", "other parts"
        )
    return Release.stored(
        written,
        terms=terms,
        answer=answer,
        mode=body["mode"],
        randomness=body["randomness"],
        dataset=body["dataset"],
        number=body["number"],
        use=body.get("use"),
        key=body["key"],
        teaching=body["teaching"],
        origin=origin,
        uses=uses,
        bought=bought,
        entry_price=entry_price,
    )


def _answer(stored: Mapping[str, Any], packed: Packed | None) -> Answer:
    """The answer from JSON, or from what a binary file has beside it."""
    if packed is None:
        return answers.from_json(stored)
    answer = answers.unpacked(stored["kind"], packed)
    if not binary.same(answer.pack(), packed):
        raise ReleaseFormat.damaged("an answer is stored in the form in which its shape packs it", answer.kind)
    return answer


def rebound(body: Mapping[str, Any], *, first: bool = False) -> Bound:
    """The mechanism and mode that a release was drawn with, from the stored body: as today, or as its first revision
    was, which is the one of all releases of format 1."""
    return _rebound(canonical({part: body[part] for part in ("question", "unit", "mechanism")}).decode(), first)


@lru_cache(maxsize=256)
def _rebound(stored: str, first: bool) -> Bound:
    """Kept, for the releases of one question are read one after the other."""
    body = json.loads(stored)
    question, unit = Question.from_json(body["question"]), Unit(**body["unit"])
    made = _mechanism(body["mechanism"])
    return made.bind_first(question, unit) if first else made.bind(question, unit)


def _mechanism(stored: Mapping[str, Any]) -> Mechanism:
    name, parameters = stored["name"], stored["parameters"]
    # one question of a sub-session is no mechanism that can be released by itself
    opening = OPENINGS.get(name)
    return mechanism(name, parameters) if opening is None else opening.use_from_parameters(parameters)


# ---------------------------------------------------------------- before anything is paid


def check_readable(bound: Bound) -> None:
    """Refuse what could be paid for and never be read back, or whose error nobody could calculate.

    The body stored beside an answer is written and read again, its law is asked for its errors as the page asks, and
    the mechanism that the ledger's entry names is bound again.
    """
    question, unit, made = bound.question, bound.unit, bound.mechanism
    _short_enough(made.parameters(), made.longest)
    terms = Terms.of(bound)
    try:
        stored = canonical(terms.to_json()).decode()
    except (ValueError, RecursionError):
        stored = ""
    if not stored:
        for part, write in (
            ("question", question.to_json),
            ("unit", unit.to_json),
            ("mechanism", made.parameters),
            ("law", bound.law.to_json),
        ):
            _text(part, write)  # whichever cannot be written is named
        raise _not_kept("price")
    _reread(stored, release_key(question, unit, made, bound.modes()[0]))


def check_opens(parameters: Opening, unit: Unit) -> None:
    """Refuse a sub-session that could be paid for and never be opened again, or never be asked anything."""
    _short_enough(parameters.parameters(), parameters.longest)
    stored = json.loads(_text("sub-session", parameters.parameters))
    try:
        same = parameters.from_parameters(stored) == parameters
    except UNREADABLE:
        same = False
    if not same:
        raise _not_kept("sub-session")
    try:
        check_readable(parameters.smallest(unit))
    except DpvizError as refused:
        failure = refused
    except UNREADABLE:
        failure = _not_kept("sub-session")
    else:
        return
    rule = "a sub-session is opened where a question of it can be answered"
    step = failure.next_step or "take an epsilon or delta that is less extreme"
    raise ParameterError(
        f"{rule}, and here the smallest one is refused: {short(str(failure), 200)}. Nothing was charged.",
        value=short(parameters),
        rule=rule,
        next_step=step,
    )


def _short_enough(parameters: Mapping[str, str], longest: Callable[[str], int]) -> None:
    for name, value in parameters.items():
        most = longest(name)
        if len(value) > most:
            number = most == LONGEST
            raise ParameterError.of(
                short(value, 40),
                f"{name} must be {'a number' if number else 'something'} that can be stored and read back, of at most "
                f"{most:,} characters",
                "type a number like 1e-12" if number else "name fewer labels",
            )


def _text(part: str, write: Callable[[], object]) -> str:
    try:
        return canonical(write()).decode()
    except (ValueError, RecursionError):  # a number with more digits than Python writes, half a surrogate pair
        raise _not_kept(part) from None


@lru_cache(maxsize=256)
def _reread(stored: str, key: str) -> None:
    """Read what was written, and compare. Kept, for every plan asks."""
    body = json.loads(stored)
    for part, read in (
        ("question", lambda: Question.from_json(body["question"])),
        ("unit", lambda: Unit(**body["unit"])),
        ("mechanism", lambda: _mechanism(body["mechanism"])),
        ("law", lambda: law_from_json(body["law"])),
    ):
        try:
            read()
        except UNREADABLE:
            raise _not_kept(part) from None
    try:
        terms, again = Terms.from_json(body), rebound(body)
        same = canonical(terms.to_json()).decode() == stored
        same = same and release_key(again.question, again.unit, again.mechanism, again.modes()[0]) == key
        same = same and again.price.loss == terms.price.loss
    except UNREADABLE:
        same = False
    if not same:
        raise _not_kept("mechanism")
    for beta in BETAS:
        try:
            errors = _errors(terms.error, terms.measures or again.measures, beta)
        except (*UNREADABLE, MemoryError):
            errors = None
        if errors is None:
            raise ParameterError.of(
                short(again.mechanism),
                "the error of an answer must be known before it is paid for, and here it cannot be calculated",
                "take an epsilon or delta that is less extreme",
            )


def _errors(error: ErrorModel, measures: Sequence[Measure], beta: Fraction) -> list[object]:
    """The errors that frames, charts and the page show beside the answer, as texts."""
    values = [error.shown(beta), *(measure.at(beta) for measure in measures)]
    return [None if value is None else value.to_json() for value in values]


def _not_kept(part: str) -> ParameterError:
    rule = f"what is paid for is stored and read back, and this {part} could not be read again"
    step = "use shorter numbers and texts, without half characters"
    return ParameterError(f"{rule}; {step}. Nothing was charged.", value=part, rule=rule, next_step=step)


# ---------------------------------------------------------------- what cannot be read all the same


def unreadable(number: int, refused: Exception, use: int | None = None) -> ReleaseFormat:
    """An answer that is stored, and that this dpviz cannot read: it is named, and its neighbours are not touched."""
    name = f"release {number}" if use is None else f"answer {use} of entry {number}"
    step = "open the ledger with the dpviz that wrote it, or with a newer one"
    return ReleaseFormat(
        f"{name} cannot be read by this dpviz ({reason(refused)}); it stays paid for and stored: {step}",
        value=name,
        rule="a stored answer is read as it was written, or not at all",
        next_step=step,
    )


def reason(refused: Exception) -> str:
    """Why, in a few words for a bracket."""
    return short(str(refused), 120) if isinstance(refused, DpvizError) else "its parts do not fit together"
