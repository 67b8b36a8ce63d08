"""The sentences of a page on a second answer to a question: what both together would be off by, and how they are
combined."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, ParameterError
from dpviz.exact import text
from dpviz.model.combination import combine
from dpviz.model.error import BETAS
from dpviz.model.identity import release_key
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.planning.limit_curve import limit_curve, limit_json, over_json
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
    return {"key": _key_of(plan), "together": _together(session, plan, read)}


def _key_of(plan: Plan) -> str:
    """The name of a plan, as a sheet has it."""
    bound = plan.bound
    return release_key(bound.question, bound.unit, bound.mechanism, bound.modes()[0])


def _together(session: Custody, plan: Plan, read: Read) -> Body | None:
    for earlier in answers_to(session, plan.bound.question, read):
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
    for other in answers_to(session, release.question, read, besides=release.number):
        try:
            combine(other, release)
        except DpvizError:
            continue
        first, second = sorted((other.number or 0, release.number))
        python = f"dv.combine(session.releases[{first}], session.releases[{second}])"
        return {"number": str(other.number), "python": python}
    return None


def limit_curve_of(session: Custody, plan: Plan, read: Read) -> Body:
    """The error of a plan under each limit on the bins of one unit, and the units over each limit, by the latest
    profile that was released of them."""
    question, unit = plan.bound.question, plan.bound.unit
    if plan.ways or limit_json(question, unit) is None:
        rule = "a limit on bins is one of users in declared bins, without parts"
        raise ParameterError.of(question.text, rule, "name the user column as the unit, and declare the bins")
    curve = limit_curve(question, unit, plan.asked or plan.bound.mechanism)
    over = None
    profile = Question.contribution_profile(question.domain, where=dict(question.where))
    for release in answers_to(session, profile, read)[:1]:
        with suppress(DpvizError):  # a shape whose values do not add up
            over = over_json(release, question, unit, curve)
    return {"key": _key_of(plan), "curve": curve, "over": over}


def _error(error: Any) -> Body | None:
    return None if error is None else error.to_json()


def answers_to(session: Custody, question: Question, read: Read, besides: int | None = None) -> list[Release]:
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
