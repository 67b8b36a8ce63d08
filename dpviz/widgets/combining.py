"""The sentences of a page on a second answer to a question: what both together would be off by, and how they are
combined."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError
from dpviz.exact import text
from dpviz.model.combination import combine
from dpviz.model.error import BETAS
from dpviz.model.identity import release_key
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.session.custody import Custody
from dpviz.session.plan import Plan
from dpviz.widgets.state import HISTORY

Body = dict[str, Any]
Read = Callable[[int], Release]
"""Reads a stored answer by its number."""

LATEST: Final = 3
"""Among so many of the latest answers to a question one is looked for that combines."""


def planned(session: Custody, plan: Plan, read: Read) -> Body:
    """Bound the error of one bin once this plan is paid for and combined with the latest answer to its question.

    `key` names the plan as a sheet does. `together` is None where there is no answer yet, or where the two would not
    combine. It follows from the two laws alone.
    """
    bound = plan.bound
    key = release_key(bound.question, bound.unit, bound.mechanism, bound.modes()[0])
    return {"key": key, "together": _together(session, plan, read)}


def _together(session: Custody, plan: Plan, read: Read) -> Body | None:
    for earlier in _answers(session, plan.bound.question, read):
        try:
            found = {text(beta): plan.after(earlier, beta) for beta in BETAS}
        except DpvizError:  # a list, which is not combined
            continue
        errors = {beta: {"both": _error(one.error), "now": _error(one.before)} for beta, one in found.items()}
        return {"number": str(earlier.number), "errors": errors}
    return None


def beside(session: Custody, release: Release, read: Read) -> Body | None:
    """The latest other answer to the question of a release that combines with it, and the call that does."""
    if release.number is None or release.use is not None:
        return None
    for other in _answers(session, release.question, read, besides=release.number):
        try:
            combine(other, release)
        except DpvizError:
            continue
        first, second = sorted((other.number or 0, release.number))
        python = f"dv.combine(session.releases[{first}], session.releases[{second}])"
        return {"number": str(other.number), "python": python}
    return None


def _error(error: Any) -> Body | None:
    return None if error is None else error.to_json()


def _answers(session: Custody, question: Question, read: Read, besides: int | None = None) -> list[Release]:
    """The latest answers to a question that can be read, the latest first; none where the ledger's server is away."""
    try:
        entries = sorted(session.record(HISTORY).entries, key=lambda entry: -entry.number)
    except DpvizError:
        return []
    found: list[Release] = []
    for entry in entries:
        same = entry.status == "done" and entry.body.get("question_id") == question.id
        if same and entry.number != besides and len(found) < LATEST:
            with suppress(DpvizError):  # one that this dpviz cannot read
                found.append(read(entry.number))
    return found


protect_module(vars())
