"""The curve of the limit: the error of one plan under every limit on the bins of one unit, at one price.

A smaller limit needs less noise, and leaves more out. A plan knows the noise; how much is left out depends on the data,
and a released profile says it.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError
from dpviz.exact import text
from dpviz.model.error import BETAS
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import Question
from dpviz.privacy.limits import Limits
from dpviz.privacy.unit import Unit
from dpviz.wanted import each

if TYPE_CHECKING:
    from dpviz.model.release import Release

MOST_DRAWN: Final = 24
"""The most limits of a curve: of more bins some, spread evenly."""

Body = dict[str, Any]


def limit_json(question: Question, unit: Unit) -> Body | None:
    """The limit on the bins of one unit, for a page; None where there is none that leaves anything out.

    unit  the privacy unit, with the limits of the question
    """
    aggregate, domain = question.aggregate, question.domain
    plain = aggregate.additive and aggregate.profiled is None and question.by is None and question.part is None
    if unit.is_row or not plain or not domain.declared or domain.size < 2:
        return None
    now = "" if unit.max_bins is None else str(min(unit.max_bins, domain.size))
    return {"now": now, "bins": str(domain.size), "each": _noun_of(question)}


def limit_curve(question: Question, unit: Unit, mechanism: Mechanism) -> list[Body]:
    """The first error of a mechanism under each limit on the bins of one unit, at its price."""
    curve = []
    for most in each(_limits_of(question.domain.size)):
        with suppress(DpvizError):
            bound = mechanism.bind(*question.limited(Limits(max_bins=most)).resolved(unit))
            errors = {text(beta): bound.measures[0].at(beta) for beta in BETAS}
            told = {beta: None if error is None else error.to_json() for beta, error in errors.items()}
            curve.append({"most": str(most), "errors": told})
    return curve


def over_json(profile: Release, question: Question, unit: Unit, curve: list[Body]) -> Body | None:
    """The units over each limit of a curve, by a profile of the same bins, filter and unit; None where it is another.

    Each number has an interval that holds for it alone.
    """
    asked, made = profile.question, profile.question.aggregate.profiled
    same = made == question.domain and dict(asked.where) == dict(question.where)
    if not same or asked.domain.size != question.domain.size or profile.unit.protects != unit.protects:
        return None
    rows: list[Body] = []
    for point in curve:
        most, size = int(point["most"]), question.domain.size
        if most == size:
            rows.append({"value": "0", "low": "0", "high": "0"})
            continue
        found = profile.sum(list(range(most + 1, size + 1)))
        rows.append({name: None if end is None else text(end) for name, end in _ends_of(found).items()})
    return {"number": "" if profile.number is None else str(profile.number), "rows": rows}


def _ends_of(found: Any) -> dict[str, Fraction | None]:
    return {"value": Fraction(found.value), "low": found.low, "high": found.high}


def _limits_of(size: int) -> list[int]:
    """The limits of a curve, 1 and the number of bins among them."""
    if size <= MOST_DRAWN:
        return list(range(1, size + 1))
    return sorted({1 + step * (size - 1) // (MOST_DRAWN - 1) for step in range(MOST_DRAWN)})


def _noun_of(question: Question) -> str:
    """The noun of one bin: a month, or a bin."""
    return "bin" if " " in question.domain.each else question.domain.each


protect_module(vars())
