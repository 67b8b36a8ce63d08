"""What is spent, pending and left, as exact numbers, and the history behind it."""

from __future__ import annotations

from typing import ClassVar

from dpviz.widgets.component import Component


class BudgetMeter(Component):
    """What is spent, pending and left, as exact numbers, and the history behind it.

    Takes a session (or a teaching session) and any number of questions to offer, or the `session_model` of another
    component, with which it then shares one plan.
    """

    name: ClassVar[str] = "budget-meter"
