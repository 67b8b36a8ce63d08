"""Every statement about one answer, rendered, and what of the contribution limits is missing or wrong in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pandas as pd

import dpviz as dv
from dpviz.charts.asked import closed_picture
from dpviz.charts.picture import picture
from dpviz.widgets import asking
from dpviz.widgets.lesson import Series

ROWS: Final = pd.DataFrame(
    [(f"a{plane}", month) for plane in range(40) for month in range(1, 13) if (plane + month) % 5 < 3],
    columns=["aircraft", "month"],
)
MONTHS: Final = dv.Domain.integers(1, 12, column="month")
CUT: Final = dv.Unit("aircraft", noun="aircraft", max_bins=3)
UNCUT: Final = dv.Unit("aircraft", noun="aircraft", max_bins=12)

LIMIT: Final = re.compile(r"Each aircraft counts in at most 3 of 12 months")
"""The words that stand beside every number of an answer that a limit may cut."""

TRUTH: Final = re.compile(r"\b(the truth|true (count|value|number)s?)\b", re.IGNORECASE)
"""The words for a number of which nothing is left out."""

LIMITED: Final = re.compile(r"counts in at most|left out, so|counted within the limits")
"""The words that stand nowhere where nothing is left out."""

PAGE: Final = Path(__file__).parents[1] / "widgets" / "fixtures" / "limited.json"
"""Answers as a page gets them, which `widgets/tests/limited.test.ts` renders."""


def lesson(unit: dv.Unit) -> dv.Teaching:
    """A teaching on the rows."""
    return dv.teaching(ROWS, seed=1, unit=unit, dataset="flights")


def statements(unit: dv.Unit, folder: Path) -> Mapping[str, str]:
    """Every statement of Python about counts by month, a list of months and a second answer, by its name."""
    school = lesson(unit)
    release, second = (school.draw(MONTHS, dv.Dense(1)) for _ in range(2))
    listed = school.draw(MONTHS, dv.TopKLaplace(3, 12, 20))
    both = dv.combine(release, second)
    told: dict[str, str] = {
        "plan": repr(school.plan(MONTHS, dv.Dense(1))),
        "plan chart": _chart(school.plan(MONTHS, dv.Dense(1)).chart()),
        "plan sheet": json.dumps(school.plan(MONTHS, dv.Dense(1)).sheet.to_json()),
        "after": repr(school.plan(MONTHS, dv.Dense(1)).after(release)),
        "page": json.dumps(picture(release), default=str),
        "page list": json.dumps(picture(listed), default=str),
        "public": school.table(MONTHS).badge,
    }
    for name, answer in (("release", release), ("list", listed), ("combined", both)):
        told[f"{name} repr"] = repr(answer)
        told[f"{name} csv"] = answer.to_csv() or ""
        told[f"{name} html"] = answer._repr_html_()
        told[f"{name} frame"] = str(answer.to_frame().attrs)
        told[f"{name} chart"] = _chart(answer.chart())
    for name, value in {
        "sum": release.sum([1, 2]),
        "range": release.range(1, 3),
        "difference": release.difference([1], [2]),
        "share": release.share([1, 2]),
        "compare": release.compare([1], [2]),
        "sums": release.sum([[1], [2, 3]]),
        "sum of both": both.sum([1, 2]),
    }.items():
        told[f"{name} repr"] = repr(value)
        told[f"{name} csv"] = value.to_csv() or ""
        told[f"{name} html"] = value._repr_html_()
        told[f"{name} frame"] = str(value.to_frame().attrs)
        told[f"{name} chart"] = _chart(value.chart())
    series = Series()
    series.add(school.draw(MONTHS, dv.Dense(1), times=2), None, Fraction(1, 20))
    told["lesson"] = json.dumps(series.body)
    for name, args in ASKED.items():
        told[f"page {name}"] = json.dumps(asking.answer(release, None, dict(args), Fraction(1, 20)))
    told["report"] = dv.report([release, release.sum([1, 2])], folder / "flights.html").read_text()
    return told


ASKED: Final[Mapping[str, Mapping[str, Any]]] = {
    "sum": {"what": "stretch", "by": "rows", "first": ["0"], "second": ["1"], "picked": "before"},
    "pair": {"what": "pair", "by": "rows", "first": ["0"], "second": ["1"], "picked": "before"},
}
"""Questions of a page about what is picked."""


def faults(told: Mapping[str, str], cut: bool) -> list[str]:
    """The statements that leave the limit out, or speak of the truth of a bounded count; or of a limit that cuts
    nothing."""
    if not cut:
        return [name for name, words in told.items() if name != "report" and LIMITED.search(words)]
    found = []
    for name, words in told.items():
        read = _results(words) if name == "report" else words
        if not LIMIT.search(_joined(read)) or TRUTH.search(read):
            found.append(name)
    return found


def _results(page: str) -> str:
    """The words of a report outside of its program."""
    return re.sub(r"<(script|style)\b(?![^>]*json).*?</\1>", "", page, flags=re.DOTALL)


def _joined(words: str) -> str:
    """A text without the breaks of its lines, be they in a file or in the subtitle of a chart."""
    return re.sub(r'(",\s*"|\s|\\u00a0)+', " ", words)


def _chart(chart: Any) -> str:
    return json.dumps(chart.to_dict())


def payloads() -> dict[str, Any]:
    """Answers of both units as a page gets them, with what it gets for its questions."""
    found: dict[str, Any] = {}
    for name, unit in (("cut", CUT), ("uncut", UNCUT)):
        school = lesson(unit)
        release = school.draw(MONTHS, dv.Dense(1))
        asked = {each: asking.answer(release, None, dict(args), Fraction(1, 20)) for each, args in ASKED.items()}
        listed = school.draw(MONTHS, dv.TopKLaplace(3, 12, 20))
        found[name] = {
            "result": picture(release),
            "list": picture(listed),
            "ranks": picture(school.draw(MONTHS, dv.Sorted(1))),
            "asked": asked,
        }
    school = lesson(CUT)
    counts = school.draw(MONTHS, dv.Dense(1))
    profile = school.draw(dv.Question.contribution_profile(MONTHS), dv.Dense(1, clamp=False))
    found["closed"] = closed_picture(counts, [profile])
    return found


if __name__ == "__main__":
    PAGE.write_text(json.dumps(payloads(), ensure_ascii=False, indent=1, default=str) + "\n")
