"""Choose mechanism, epsilon and the other public parameters. Free."""

from __future__ import annotations

from typing import ClassVar

from dpviz.widgets.component import Component


class MechanismPicker(Component):
    """Choose mechanism, epsilon and the other public parameters. Free.

    Takes a session (or a teaching session) and any number of questions to offer, or the `session_model` of another
    component, with which it then shares one plan.
    """

    name: ClassVar[str] = "mechanism-picker"
