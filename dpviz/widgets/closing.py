"""The results of a page whose open ends a profile of the same ledger closes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dpviz.boundary import protect_module
from dpviz.charts.asked import closed_picture
from dpviz.errors import DpvizError
from dpviz.model.aggregate import UnitProfile
from dpviz.model.release import Release
from dpviz.session.custody import Custody
from dpviz.widgets.state import HISTORY

Read = Callable[[int], Release]
"""Reads a stored answer by its number."""


def result_of(session: Custody, release: Release, read: Read) -> dict[str, Any]:
    """The picture of a release, with the ends that the first profile of its bins closes."""
    return closed_picture(release, () if release.number is None else profiles_of(session, release, read))


def profiles_of(session: Custody, release: Release, read: Read) -> list[Release]:
    """The first profile that was bought of the bins of some counts, by itself or with other counts.

    None where nobody could say which was the first, as the page knows the latest entries alone.
    """
    if not release.terms.limited.cuts or release.profile is not None:
        return []
    try:
        entries = sorted(session.record(HISTORY).entries, key=lambda entry: entry.number)
    except DpvizError:
        return []
    domain, where = (release.question.to_json()[name] for name in ("domain", "where"))
    for entry in entries if len(entries) < HISTORY else ():
        bought = entry.body.get("over")
        for question in (entry.body.get("question"), bought and bought["question"]):
            if entry.status == "done" and question and _is_profile(question, domain, where):
                with suppress(DpvizError):  # one that this dpviz cannot read
                    found = read(entry.number)
                    return [found.profile or found]
    return []


def _is_profile(question: dict[str, Any], domain: object, where: object) -> bool:
    """Whether a question is one of a profile of these bins with this filter."""
    made = question.get("aggregate") or {}
    return made.get("kind") == UnitProfile.kind and made.get("of") == domain and question["where"] == where


protect_module(vars())
