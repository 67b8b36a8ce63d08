"""The checks of a session and a teaching session before anything is counted: public checks, without a look at a
value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import cast

from dpviz.boundary import as_given
from dpviz.errors import DpvizError, ParameterError, short
from dpviz.exact import Number, probability
from dpviz.mechanisms import REGISTRY, ways
from dpviz.model.aggregate import UnitProfile
from dpviz.model.answers.capabilities import LinearQueries
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Bound, Mechanism, Mode
from dpviz.model.opening import Opening
from dpviz.model.question import MOST_CLASSES, Question, parts
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.model.ways import WAYS, Way, Ways
from dpviz.privacy.limits import Limits, checked_limits
from dpviz.privacy.unit import Unit
from dpviz.session.saved import check_readable


def bind(
    source: Source,
    unit: Unit,
    question: object,
    mechanism: Mechanism,
    where: Mapping[str, object] | None,
    limits: Limits | None = None,
) -> Bound:
    """The mechanism, bound to the question and the unit with its limits, once the source has said that it can count
    for it."""
    asked, unit = asked_of(unit, question, where, limits)
    _known(mechanism)
    if asked.by is not None and asked.part is None:
        raise ParameterError.of(
            asked.each_text, "a question about each part is asked with by=", "give the domain, and by= beside it"
        )
    bound = mechanism.bind(asked, unit)
    check_support(source, bound)
    check_readable(bound)
    return bound


def bind_profile(source: Source, unit: Unit, counts: Bound, over: object) -> Bound | None:
    """The profile that is bought with counts, bound: with a mechanism alone, of the same bins and filter. None where
    none is asked for."""
    if over is None:
        return None
    from dpviz.model import bought_together  # noqa: F401 - nothing is loaded between a charge and its answer
    from dpviz.model.closing import check_classes, check_closes, check_cut

    kept = check_cut(counts.question, counts.limited)
    asked, mechanism = _pair(over) or (profile_of(counts.question, kept), over)
    _known(mechanism)
    question = Question.of(asked)
    check_closes(counts.question, counts.limited, question, unit)
    if counts.max_items is not None or counts.shape.bins_behind is LinearQueries.bins_behind:
        raise ParameterError.of(
            counts.mechanism.name,
            "a profile is bought with counts that add up",
            "take a mechanism of counts, such as dv.Dense or dv.Tree, or leave over= out",
        )
    bound = bind(source, unit, question, cast("Mechanism", mechanism), None)
    check_classes(bound.shape)
    return bound


def bind_then(source: Source, unit: Unit, first: Bound, then: object) -> Bound | None:
    """The answer that is declared with another one, bound: with a mechanism alone, to the same question within the same
    limits. Of counts that a limit cuts a profile of the same users may be declared, too, and with a profile the counts
    that it is about, whose limit is chosen later. None where none is asked for."""
    if then is None:
        return None
    if first.max_items is not None or not first.question.aggregate.additive:
        raise ParameterError.of(
            first.mechanism.name,
            "an answer is declared with counts or sums, for others are not combined",
            "leave then= out, or take a mechanism of counts, such as dv.Dense or dv.Tree",
        )
    profiled, pair = first.question.aggregate.profiled, _pair(then)
    asked, mechanism = pair or (first.question, then)
    _known(mechanism)
    if profiled is not None and pair is None:
        return _counts_of(source, unit, first, cast("Mechanism", mechanism))
    question, within = asked_of(unit if pair else first.unit, asked, None)
    if question.aggregate.profiled is not None and profiled is None:
        from dpviz.model.closing import check_classes, check_closes

        check_closes(first.question, first.limited, question, unit)
        bound = bind(source, unit, question, cast("Mechanism", mechanism), None)
        check_classes(bound.shape)
        return bound
    if question.to_json() != first.question.to_json() or within != first.unit:
        raise ParameterError.of(
            question.text if question.to_json() != first.question.to_json() else within.text,
            "an answer is declared to the question of the first, about the same unit within the same limits",
            'give the mechanism alone: then=dv.Dense(epsilon="1/4")',
        )
    bound = bind(source, within, question, cast("Mechanism", mechanism), None)
    if bound.max_items is not None:
        raise ParameterError.of(
            bound.mechanism.name,
            "which items are listed is no count, so a list is not combined with counts",
            "declare a mechanism of counts, such as dv.Dense or dv.Tree",
        )
    return bound


def _counts_of(source: Source, unit: Unit, profile: Bound, mechanism: Mechanism) -> Bound:
    """The counts that are declared with a profile: of its bins, with its filter, within a limit that it may choose."""
    from dpviz.model.closing import check_classes

    made, classes = cast(UnitProfile, profile.question.aggregate), profile.question.domain.size
    check_classes(profile.shape)
    if not made.profiled.declared or classes != made.profiled.size:
        raise ParameterError.of(
            profile.question.text,
            "counts are declared with a profile of all numbers of bins, by which any limit may be chosen",
            "leave most= and over= out, or leave then= out and release the counts later",
        )
    asked = Question.of(made.profiled, dict(profile.question.where))
    bound = bind(source, unit, asked, mechanism, None)
    if bound.max_items is not None or bound.shape.bins_behind is LinearQueries.bins_behind:
        raise ParameterError.of(
            mechanism.name,
            "a profile closes the ends of counts that add up",
            "declare a mechanism of counts, such as dv.Dense or dv.Tree",
        )
    return bound


def _pair(over: object) -> tuple[object, object] | None:
    """The question and the mechanism of a profile, where both are given."""
    return (over[0], over[1]) if isinstance(over, tuple) and len(over) == 2 else None


def check_alone(over: object) -> None:
    """Refuse a profile that is bought with answers about parts."""
    if over is not None:
        raise ParameterError.of(
            "by= and over=",
            "a profile is bought with counts of declared bins, in all parts together",
            "leave over= out, or ask about one part by where=",
        )


def check_single(then: object, by: object, over: object) -> None:
    """Refuse an answer that is declared with answers about parts, or with counts and their profile."""
    besides = [name for name, given in (("by=", by), ("over=", over)) if given is not None]
    if then is not None and besides:
        raise ParameterError.of(
            f"then= and {besides[0]}",
            "one answer is declared with one other, to the same question about all rows",
            f"leave then= out, or {besides[0]}",
        )


def check_apart(delta: object, way: object) -> None:
    """Refuse what is said of several answers beside a question that has one."""
    if way is not None:
        raise ParameterError.of(
            as_given(way),
            "way= says how the price of a question about each part is shared out",
            "give by=, or leave way out",
        )
    if delta is not None:
        raise ParameterError.of(
            "delta=",
            "a delta of all answers together belongs to a question about each part",
            "give by=, or the delta to the mechanism; a list of questions takes session.batch",
        )


def check_plain(by: object, way: object, over: object) -> None:
    """Refuse parts and profiles where no mechanism is named: the advice is about one answer."""
    said = [f"{name}=" for name, value in (("by", by), ("way", way), ("over", over)) if value is not None]
    if said:
        raise ParameterError.of(
            " and ".join(said),
            "a mechanism is chosen for one answer, without parts and profiles",
            f'leave {" and ".join(said)} out, or name a mechanism: dv.Dense(epsilon="1/2")',
        )


def profile_of(question: Question, kept: int) -> Question:
    """The profile of the bins of a question: by all numbers of bins, or of many bins the users over the limit."""
    domain = question.domain
    over = {} if domain.size <= MOST_CLASSES else {"over": kept}
    return Question.contribution_profile(domain, where=dict(question.where), **over)


def asked_of(
    unit: Unit, question: object, where: Mapping[str, object] | None, limits: Limits | None = None
) -> tuple[Question, Unit]:
    """The question without limits of its own, and the unit with those that stand in it or beside it."""
    asked = Question.of(question, where)
    if limits is not None:
        if asked.limits is not None:
            raise ParameterError.of("limits", "this question has its limits already", "give limits= in one place")
        asked = asked.limited(checked_limits(limits))
    return asked.resolved(unit)


def _known(mechanism: object) -> None:
    if not REGISTRY.has_class(type(mechanism)):
        raise ParameterError.of(
            as_given(mechanism), f"a mechanism is one of {', '.join(REGISTRY)}", 'write dv.Dense(epsilon="1/2")'
        )


def bind_ways(
    source: Source,
    unit: Unit,
    question: object,
    mechanism: Mechanism,
    where: Mapping[str, object] | None,
    by: object,
    way: Way | None,
    limits: Limits | None = None,
    delta: Number | None = None,
) -> Ways:
    """The question about each part, every way to pay for it bound or refused; the one that was asked for alone, where
    one was. A delta asks for exact composition."""
    asked, within = asked_of(unit, question, where, limits)
    if asked.by is not None:
        raise ParameterError.of("by", "this question has its parts already", "give by= in one place")
    if way is not None and way not in WAYS:
        raise ParameterError.of(
            as_given(way), f"parts are answered {', '.join(WAYS)}", "leave way out: the plan names the best one"
        )
    _known(mechanism)
    if delta is not None and way not in (None, "exact"):
        raise ParameterError.of(
            f'way="{way}"', "delta= is that of an exact composition, and of no other way", "leave one of the two out"
        )
    added = None if delta is None else probability(delta, "delta", zero=False)
    way = way if added is None else "exact"
    found = ways(mechanism, replace(asked, by=parts(by)), within, added)
    checked = {name: _checked(source, _kept_to(bound, within, unit)) for name, bound in found.items()}
    if way is None:
        return checked
    only = checked[way]
    if isinstance(only, ParameterError):
        raise only
    return {way: only}


def _kept_to(found: Bound | ParameterError, within: Unit, unit: Unit) -> Bound | ParameterError:
    """A way under these limits. A sub-session would be asked within those of the unit, so it is no way to others."""
    if isinstance(found, ParameterError) or not found.subsession_calls or within == unit:
        return found
    refused = ParameterError.of(
        within.limits.besides(unit.limits).text,
        "a sub-session answers within the limits of the unit",
        "take another way, or leave the limits out",
    )
    assert isinstance(refused, ParameterError)
    return refused


def _checked(source: Source, found: Bound | ParameterError) -> Bound | ParameterError:
    """A way, once the source has said that it can count for it. The product of all parts alone may be too much for the
    source; what cannot be asked about one part is refused altogether."""
    if isinstance(found, ParameterError):
        return found
    try:
        check_support(source, found)
        check_readable(found)
    except ParameterError as refused:
        if found.way != "product":
            raise
        return refused
    return found


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
    bound.check_countable(source)
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


def check_askable(source: Source, unit: Unit, parameters: Opening) -> None:
    """Refuse a sub-session of which no question can be asked of this source, by the source's own refusal.

    Each column that can be counted is tried in turn, with the questions that the sub-session says it will have to
    answer (`Opening.trials`): one column for which the source can count all of them is enough.

    Raises
    ------
    DpvizError
        The refusal by the source of the sub-session itself; where no column can be counted, of the first column.
    """
    refusals: list[tuple[int, DpvizError]] = []
    for column in source.columns:
        for bins in _counted_by(column.kind):
            by_source = False
            try:
                trials = list(parameters.trials(bins(column.name), unit))
                by_source = True
                for question, need in trials:
                    source.check(question, unit, need)
            except DpvizError as refused:
                telling = (1 if by_source else 2) if _countable(source, bins, column.name) else 3
                refusals.append((telling, refused))
            else:
                return
    if refusals:
        raise min(refusals, key=itemgetter(0))[1]


def _countable(source: Source, bins: Callable[[str], Domain], column: str) -> bool:
    """Whether these bins can be counted by themselves: then a refusal is about something else."""
    try:
        source.check(Question.of(bins(column)), Unit(), StatisticKind.DENSE)
    except DpvizError:
        return False
    return True


def _counted_by(kind: str) -> Sequence[Callable[[str], Domain]]:
    """A few bins of a column, of the kinds of domain that a column of this kind may have."""
    known: dict[str, Callable[[str], Domain]] = {
        "number": lambda column: Domain.integers(0, 1, column=column),
        "text": lambda column: Domain.categories(["a", "b"], column=column),
        "time": lambda column: Domain.times("2000", "2001", by="year", column=column),
    }
    return [known[kind]] if kind in known else list(known.values())
