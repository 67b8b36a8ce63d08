"""The spent, pending and remaining budget, as exact numbers, and the history behind it."""

from __future__ import annotations

from typing import ClassVar

from dpviz.widgets.component import Component


class BudgetMeter(Component):
    """Show the spent, pending and remaining budget as exact numbers, with its history.

    Parameters
    ----------
    session : Session, Teaching or SessionModel
        A session, a teaching session, or the `session_model` of another component, with which this one then shares one
        plan.
    *questions : Domain, Question or str
        The questions to offer.
    **options
        ``mechanism=`` the mechanism that is planned at first.

    Raises
    ------
    ParameterError
        If `session` is of another kind, or a question or an option is refused.
    """

    name: ClassVar[str] = "budget-meter"
