"""Everything in one place: question, mechanism, plan, release, budget, result."""

from __future__ import annotations

from typing import ClassVar

from dpviz.widgets.component import Component


class Workbench(Component):
    """Everything in one place: question, mechanism, plan, release, budget, result.

    Takes a session (or a teaching session) and any number of questions to offer, or the `session_model` of another
    component, with which it then shares one plan.
    """

    name: ClassVar[str] = "workbench"
