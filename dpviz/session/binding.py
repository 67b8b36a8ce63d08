"""What a session and a teaching session ask before anything is counted: public checks, without a look at a value."""

from __future__ import annotations

from collections.abc import Mapping

from dpviz.boundary import as_given
from dpviz.errors import ParameterError, short
from dpviz.mechanisms import REGISTRY
from dpviz.model.mechanism import Bound, Mechanism, Mode
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.privacy.unit import Unit
from dpviz.session.saved import check_readable


def bind(
    source: Source, unit: Unit, question: object, mechanism: Mechanism, where: Mapping[str, object] | None
) -> Bound:
    """The mechanism, bound to the question and the unit, once the source has said that it can count for it."""
    asked = Question.of(question, where)
    if not REGISTRY.has_class(type(mechanism)):
        raise ParameterError.of(
            as_given(mechanism), f"a mechanism is one of {', '.join(REGISTRY)}", 'write dv.Dense(epsilon="1/2")'
        )
    bound = mechanism.bind(asked, unit)
    check_support(source, bound)
    check_readable(bound)
    return bound


def mode_of(bound: Bound, mode: Mode | None) -> Mode:
    """The way to run that was asked for, or the default. Refuses one that the bound mechanism does not have."""
    chosen = bound.modes()[0] if mode is None else mode
    if chosen not in bound.modes():
        raise ParameterError.of(
            f'mode="{short(chosen)}"',
            f"{bound.mechanism!r} runs in mode {' or '.join(bound.modes())}",
            'strict takes a rational base (base="tight") and a cap that is not huge'
            if chosen == "strict"
            else "leave mode out",
        )
    return chosen


def check_support(source: Source, bound: Bound) -> None:
    """Refuse what the source cannot count, or not by the rules that the mechanism's proof needs."""
    source.check(bound.question, bound.unit, bound.needs)
    exact(source)
    bound.check_source(source.top)


def exact(source: Source) -> None:
    """Refuse a source whose counts are declared approximate: no price holds for them, whatever the mechanism."""
    if not source.top.exact:
        raise ParameterError.of(
            "approximate counts",
            "every price needs exact counts, for nothing bounds how far one unit moves a sketch or a sample",
            "use a source that counts exactly",
        )
