"""Pay for an answer: price on the button, progress, cancel."""

from __future__ import annotations

from typing import ClassVar

from dpviz.widgets.component import Component


class ReleasePane(Component):
    """Pay for an answer: price on the button, progress, cancel.

    Takes a session (or a teaching session) and any number of questions to offer, or the `session_model` of another
    component, with which it then shares one plan.
    """

    name: ClassVar[str] = "release-pane"
