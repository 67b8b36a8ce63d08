"""The questions of a page about a paid answer: the sum over what is brushed, and which of two bins is larger. Free, as
in Python.

Two bins are named by their rows in the picture or by their labels as typed. Everything that comes back was computed
from what is stored; nothing is drawn and nothing is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, Forbidden, ReleaseFormat
from dpviz.exact import ceil_to, place, text, whole
from dpviz.model.answers import Operand
from dpviz.model.asking import Picked, Subject, added, compared
from dpviz.model.between import Enclosed, between
from dpviz.model.combination import BothAnswers, combine
from dpviz.model.derived import Derived
from dpviz.model.release import PaidAnswer, Release
from dpviz.widgets.reading import NOT_FREE

LEAST: Final = Fraction(1, 10**9)
"""No smaller p-value is told."""

MOST_LISTED: Final = 2_000
"""The most bins without an order that are added up for a page."""

Body = dict[str, Any]


def answer(release: Release, beside: Release | None, args: Body, beta: Fraction) -> Body:
    """The page's reply to one question; `beside` is a second answer to it, which is read together with the first.

    Raises errors of ours for bins that are not there, and for an answer whose values do not add up or are not read for
    free; then nothing is read.
    """
    for one in (release, beside):
        if one is not None and not one.terms.reuse:
            raise Forbidden.of(one.answer.kind, NOT_FREE, "read it in Python")
    if not (release.answer.adds_rows or release.answer.adds_bins):
        raise ReleaseFormat.of(release.answer.kind, "the rows of this answer do not add up", "read release.to_frame()")
    subject: Subject = PaidAnswer(release)
    if beside is not None:
        both = combine(release, beside)  # which refuses two answers that do not fit
        subject = BothAnswers(PaidAnswer(release), PaidAnswer(beside), both.order)
    picked: Picked = args["picked"]
    if args["what"] == "pair":
        sides = [_side(release, args["by"], args[end]) for end in ("first", "second")]
        leader, lead = compared(subject, sides[0], sides[1], beta, picked)
        found, more = [("", lead)], {"leader": leader}
    else:
        points, listed = _stretch(release, args)
        readers = _readers(release) if beside is None else [""]
        found, more = [(reader, added(subject, points, beta, picked, reader, listed)) for reader in readers], {}
    rows = [{"reader": reader, **_row(one)} for reader, one in found]
    return {"rows": rows, **more, "rests_on": found[0][1].rests_on}


def _readers(release: Release) -> list[str]:
    """The estimators whose error is known, the default first; one without a name where there is no choice."""
    least = Fraction(1, 2)
    told = [name for name in release.answer.readers if release.error.estimator(name).one_bin(least) is not None]
    return told or [""]


def _row(derived: Derived) -> Body:
    """One answer, in texts and in words."""
    ends = between(derived.value)
    return {
        "what": derived.what,
        "value": text(ends.low if ends.low == ends.high else ends.middle),
        "low": None if derived.low is None else text(derived.low),
        "high": None if derived.high is None else text(derived.high),
        "how": derived.how,
        "known": derived.known,
        "rule": derived.rule,
        "among": derived.among_text,
        "bias": derived.bias_text,
        "remarks": list(derived.remarks),
        "empty": derived.empty,
        "nouns": derived.nouns,
        **_limited(derived),
        "chance": None
        if derived.chance is None
        else {"value": _chance(derived.chance.value), "rule": derived.chance.rule},
    }


def _limited(derived: Derived) -> Body:
    """The ends for what was counted, and which rows are left out; nothing where none can be."""
    if derived.counted is None:
        return {}
    low, high = (None if end is None else text(end) for end in derived.counted)
    return {"limits": derived.limits, "counted": {"low": low, "high": high}}


def _chance(value: Enclosed) -> str:
    """A p-value, rounded up to three digits; one that is smaller than anybody reads, to the least that is told."""
    chance = max(value.high, LEAST)
    return text(ceil_to(chance, min(Fraction(1), place(chance, 3))))


# ---------------------------------------------------------------- which bins


def _side(release: Release, by: str, end: Sequence[str]) -> Operand:
    """One of the two that a page compares, by its row in the picture or by its name."""
    if by == "rows":
        return release.answer.row_operand(release.reading, _row_of(end))
    return release.answer.typed_operand(release.reading, tuple(end))


def _points(release: Release, by: str, first: Sequence[str], last: Sequence[str]) -> list[Any]:
    """The two points that a page names, by their rows in its picture or by their labels."""
    answer, reading = release.answer, release.reading
    if by == "rows":
        return [answer.in_row(reading, _row_of(end)) for end in (first, last)]
    return [answer.typed_point(reading, tuple(end)) for end in (first, last)]


def _row_of(end: Sequence[str]) -> int:
    if len(end) != 1:
        raise Forbidden.sent("a row is one whole number", f"{len(end)} texts")
    return whole(end[0], "a row", least=0)


def _stretch(release: Release, args: Body) -> tuple[Sequence[Any], int | None]:
    """The points from one end to the other, and of how many in a public order they are; None: nobody can say."""
    answer, reading, domain, by = release.answer, release.reading, release.question.domain, args["by"]
    if by == "rows" and not answer.adds_rows:
        raise ReleaseFormat.of(answer.kind, "the rows of this answer do not add up", "name bins")
    ends = _points(release, by, args["first"], args["second"])
    if answer.has_ordered_points(reading) or (by != "rows" and domain.declared):
        first, last = ends
        _in_order(first, last)
        return range(first, last + 1), answer.operand_count(reading) if answer.adds_rows else domain.size
    public = release.axis.domain is not None
    if by != "rows" and not public:
        raise DomainError.of(domain.kind, "a range needs bins in a known order", "ask in Python: release.sum([...])")
    rows = [_row_of(args[end]) for end in ("first", "second")] if by == "rows" else ends
    _in_order(*rows)
    if rows[1] - rows[0] >= MOST_LISTED:
        raise DomainError.of(
            f"{rows[1] - rows[0] + 1:,} bins",
            f"a page adds up {MOST_LISTED:,} bins without an order at most",
            "ask in Python: release.sum([...])",
        )
    points = [answer.in_row(reading, row) for row in range(rows[0], rows[1] + 1)]
    return points, domain.size if public else None


def _in_order(first: int, last: int) -> None:
    if first > last:
        raise DomainError.of("a reversed range", "a range begins with its lower end", "exchange the two ends")


protect_module(vars())
