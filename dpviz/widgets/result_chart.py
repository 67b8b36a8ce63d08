"""The release on show, with the error bars of one bin and of all bins at once."""

from __future__ import annotations

from typing import ClassVar

from dpviz.widgets.component import Component


class ResultChart(Component):
    """The release on show, with the error bars of one bin and of all bins at once.

    Takes a session (or a teaching session) and any number of questions to offer, or the `session_model` of another
    component, with which it then shares one plan.
    """

    name: ClassVar[str] = "result-chart"
