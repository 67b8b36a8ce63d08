"""The quantiles of a paid answer for a page: one for each place of the line that a reader moves, and the curve of the
shares up to each bin. Free, as in Python.

All of a level is sent at once, so the line moves without the kernel, in a report, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.charts.picture import MOST_LINED, is_lined
from dpviz.errors import ReleaseFormat
from dpviz.exact import ceil_to, floor_to, text
from dpviz.model.between import between
from dpviz.model.cumulative import CumulativeShares, ShareBand
from dpviz.model.error import SURENESS
from dpviz.model.inverted_quantiles import InvertedQuantiles
from dpviz.model.release import Release
from dpviz.widgets.reading import NOT_FREE

STOPS: Final = (Fraction(1, 100), *(Fraction(place, 20) for place in range(1, 20)), Fraction(99, 100))
"""The shares at which the line stops."""

MOST_CARRIED: Final = 500
"""The most bins of an answer whose line a report carries."""

MOST_DRAWN: Final = 512
"""The most places of a curve."""

FINE: Final = Fraction(1, 10**4)

Body = dict[str, Any]


def answer(release: Release, beta: Fraction) -> Body:
    """The line and the curve of an answer at a level.

    Raises ReleaseFormat for an answer without.
    """
    if not is_lined(release):
        reason = NOT_FREE if not release.terms.reuse else f"a line is for 2 to {MOST_LINED:,} bins in an order"
        raise ReleaseFormat.of(release.answer.kind, reason, "ask in Python: release.quantile()")
    subject = release.asking
    asked, shares = InvertedQuantiles(subject, beta, "one", ""), CumulativeShares(subject, beta, "one", "")
    band = shares.share_band()
    first, last = asked.bins.start, len(asked.bins) - 1
    names = {release.answer.label(release.reading, bin): bin for bin in asked.bins}
    found = [asked.quantile(q) for q in STOPS]
    rows = []
    for one in found:
        low, high = (first + end for end in band.quantile_ends(one.q, last))
        ends = names[one.low_label], names[one.high_label]
        rows.append(
            {
                "q": text(one.q),
                "at": None if one.label is None else str(names[one.label]),
                "low": str(ends[0]),
                "high": str(ends[1]),
                "low_all": str(min(low, ends[0])),
                "high_all": str(max(high, ends[1])),
            }
        )
    middle = found[STOPS.index(Fraction(1, 2))]
    remarks = dict.fromkeys(remark for one in found for remark in one.remarks)
    return {
        "beta": text(beta),
        "nouns": middle.nouns,
        "stops": rows,
        "how": max((one.how for one in found), key=SURENESS.index),
        "rule": middle.rule,
        "remarks": list(remarks),
        "curve": _curve(band, first, last),
        "curve_rule": band.rule,
        "rests_on": middle.rests_on,
    }


def carried(release: Release, beta: Fraction) -> Body:
    """The part of a report's result for the line, at the level that the report opens with; nothing where there is no
    line, or one over more bins than a report carries."""
    if not is_lined(release) or len(release.axis.labels) > MOST_CARRIED:
        return {}
    return {"quantiles": answer(release, beta)}


def _curve(band: ShareBand, first: int, last: int) -> Body:
    """The picture of the shares: of some places, of long ones. Ends are rounded outward."""
    many = len(band.places)
    kept: Sequence[int] = range(many)
    if many > MOST_DRAWN:
        kept = [many * step // MOST_DRAWN for step in range(MOST_DRAWN)]
    values = [between(band.shares[place]) for place in kept]
    return {
        "places": [*(str(first + band.places[place]) for place in kept), str(first + last)],
        "shares": [*(_within(value.middle) for value in values), 1.0],
        "low": [*(_within(floor_to(band.low[place], FINE)) for place in kept), 1.0],
        "high": [*(_within(ceil_to(band.high[place], FINE)) for place in kept), 1.0],
    }


def _within(share: Fraction) -> float:
    """A share for a picture."""
    return min(1.0, max(0.0, round(float(share), 4)))


protect_module(vars())
