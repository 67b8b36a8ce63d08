"""Counts that a profile closes, as a page may see them: ends for what was asked beside those for what was counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Protocol

from dpviz.charts.picture import call_of, picture, promise
from dpviz.errors import DpvizError
from dpviz.exact import text
from dpviz.model.aggregate import UnitProfile
from dpviz.model.closing import Closed, check_about, check_pair
from dpviz.model.error import BETAS

if TYPE_CHECKING:
    import pandas as pd

    from dpviz.model.release import Release

MOST_CLOSED: Final = 500
"""The most bins with both bars on a page."""


class Bought(Protocol):
    """An entry of a ledger, as far as it says what was bought."""

    @property
    def number(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def body(self) -> Mapping[str, Any]: ...


ENDINGS: Final = {"one": "", "all": "_all"}
"""The columns of a frame for any one bin that was picked before looking, and for all bins at once."""


def _is_about(release: Release, profile: Release) -> bool:
    """Whether a release is a profile of the bins, the filter, the unit and the data of some counts."""
    try:
        check_about(release.question, release.unit, profile.question, profile.unit)
        check_pair(release, profile)
    except DpvizError:
        return False
    return True


def first_profile(release: Release, others: Iterable[Release]) -> Release | None:
    """The profile that closes counts where nobody names one: that which was bought with them, or else the first that
    was bought of all that are about them.

    So none is chosen after a look at the answers, which would make ends miss more often.
    """
    if release.question.aggregate.profiled is not None or not release.terms.limited.cuts:
        return None
    if release.profile is not None:
        return release.profile
    about = [other for other in others if _is_about(release, other)]
    return min(about, key=lambda other: other.number or 0, default=None)


def first_number(entries: Iterable[Bought], release: Release) -> int | None:
    """The number of the entry that bought the first profile of the bins of some counts, by itself or with other counts.

    It follows from the order of the entries alone, whatever a page or a report holds.
    """
    domain, where = (release.question.to_json()[name] for name in ("domain", "where"))
    for entry in sorted(entries, key=lambda entry: entry.number):
        bought = entry.body.get("over")
        for question in (entry.body.get("question"), bought and bought["question"]):
            if entry.status == "done" and question and _is_profile(question, domain, where):
                return entry.number
    return None


def _is_profile(question: dict[str, Any], domain: object, where: object) -> bool:
    """Whether a question is one of a profile of these bins with this filter."""
    made = question.get("aggregate") or {}
    return made.get("kind") == UnitProfile.kind and made.get("of") == domain and question["where"] == where


def closed_picture(release: Release, others: Iterable[Release] = ()) -> dict[str, Any]:
    """The picture of a release; of counts that one of the others closes, with the ends for what was asked.

    `others` are profiles of the same ledger. Of several only the first is given, by the order of entries
    (`first_number`).
    """
    drawn, closed = picture(release), _closed(release, others)
    if closed is None or "bars" not in drawn:
        return drawn
    return {**drawn, "guarantee": promise(release, closed=True), "asked": asked(closed), "csv": closed.to_csv()}


def _closed(release: Release, others: Iterable[Release]) -> Closed | None:
    """Counts in the bins of their question, with the profile that closes their ends."""
    if not release.answer.has_rows or release.axis.domain != release.question.domain:
        return None
    if not 0 < len(release.axis.labels) <= MOST_CLOSED:
        return None
    with suppress(DpvizError):  # a profile that closes nothing here
        profile = first_profile(release, others)
        return None if profile is None else Closed(release, profile)
    return None


def asked(closed: Closed) -> dict[str, Any]:
    """Both ends for what was asked, in every row at every level, and the sentences that a reader of them needs."""
    frames = {text(beta): closed.to_frame(beta) for beta in BETAS}
    ends = {beta: {name: ends_of(frame, end) for name, end in ENDINGS.items()} for beta, frame in frames.items()}
    return {"ends": ends, "remarks": [*closed.beside], "python": _call(closed)}


def ends_of(frame: pd.DataFrame, ending: str) -> dict[str, list[str | None]] | None:
    """Both ends in a frame, as exact texts, None where one is open; None where none are known."""
    if f"low{ending}" not in frame:
        return None
    return {name: _texts(_column(frame, f"{name}{ending}")) for name in ("low", "high")}


def _column(frame: pd.DataFrame, name: str) -> list[Fraction | None]:
    ends, missing = frame[name], frame[name].isna()
    return [None if no else Fraction(str(end)) for end, no in zip(ends, missing, strict=True)]


def _texts(ends: list[Fraction | None]) -> list[str | None]:
    return [None if end is None else text(end) for end in ends]


def _call(closed: Closed) -> str:
    """How to have both ends in Python, free."""
    counts, profile = closed.both_releases
    if not call_of(counts):
        return ""
    given = f"{call_of(profile)}{'.profile' if profile.entry_price is not None else ''}"
    return f"{call_of(counts)}.closed_by({'' if counts.profile == profile else given})"
