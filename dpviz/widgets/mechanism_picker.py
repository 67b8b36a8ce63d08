"""Choose mechanism, epsilon and the other public parameters. Free."""

from __future__ import annotations

from typing import ClassVar

from dpviz.widgets.component import Component


class MechanismPicker(Component):
    """Choose mechanism, epsilon and the other public parameters. Free.

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

    name: ClassVar[str] = "mechanism-picker"
