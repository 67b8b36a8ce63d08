"""The results of a page whose open ends a profile of the same ledger closes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dpviz.boundary import protect_module
from dpviz.charts.asked import closed_picture, first_number
from dpviz.errors import DpvizError
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
        entries = session.record(HISTORY).entries
    except DpvizError:
        return []
    number = first_number(entries, release) if len(entries) < HISTORY else None
    with suppress(DpvizError):  # one that this dpviz cannot read
        found = None if number is None else read(number)
        return [] if found is None else [found.profile or found]
    return []


protect_module(vars())
