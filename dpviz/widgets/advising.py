"""The advice of a page beside the plan on show: sentences as a plan in Python prints them, and the first mechanisms for
the question at its price. Free; it reads no data, and gives way to a plan that is asked for meanwhile."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError
from dpviz.model.goals import Goal
from dpviz.model.identity import release_key
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.question import Question
from dpviz.planning.comparing import advice_json
from dpviz.planning.fans import Points, Spot
from dpviz.session.custody import Custody
from dpviz.session.plan import Plan
from dpviz.widgets.offered import plan_of

MOST_KEPT: Final = 64
"""The latest of so many plans have their advice at hand."""

Body = dict[str, Any]


class Advising:
    """The advice about the plans of one session, the latest of them at hand."""

    def __init__(self, session: Custody) -> None:
        self._session = session
        self._known = Points(MOST_KEPT)

    def of(self, question: Question, plan: Plan, goal: Goal | None, *, rows: bool) -> Body:
        """The advice about a plan, compared for a goal; without `rows` no mechanism is loaded that the first sentence
        does not need. There is none about questions that are asked by parts."""
        bound = plan.bound
        key = release_key(bound.question, bound.unit, bound.mechanism, bound.modes()[0])
        if plan.ways:
            return {"key": key, "told": [], "goals": [], "goal": "", "says": "", "beaten": False, "rows": None}
        spot = Spot((key, goal, rows), lambda: self._made(question, plan, goal, rows=rows))
        return {"key": key, **self._known.of(spot)}

    def _made(self, question: Question, plan: Plan, goal: Goal | None, *, rows: bool) -> Body:
        def fits(mechanism: Mechanism) -> bool:
            with suppress(DpvizError):  # a source that cannot count for it, or whose ledger is away
                return bool(plan_of(self._session, question, mechanism))
            return False

        def rho(bound: Bound) -> Fraction:
            return plan.remaining.cost(bound.price)["rho"] if plan.remaining is not None else Fraction(0)

        asked = plan.asked or plan.bound.mechanism
        return advice_json(plan.bound, asked, fits, goal=goal, rho=rho if plan.zcdp else None, rows=rows)


protect_module(vars())
