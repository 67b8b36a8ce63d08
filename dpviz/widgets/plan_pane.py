"""What a release would cost and how wrong it would be, before paying. Free; sees no data."""

from __future__ import annotations

from typing import ClassVar

from dpviz.widgets.component import Component


class PlanPane(Component):
    """What a release would cost and how wrong it would be, before paying. Free; sees no data.

    Takes a session (or a teaching session) and any number of questions to offer, or the `session_model` of another
    component, with which it then shares one plan.
    """

    name: ClassVar[str] = "plan-pane"
