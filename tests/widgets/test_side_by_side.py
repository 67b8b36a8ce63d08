"""What a page is sent of answers about parts, and of two columns: the values and the intervals of the release."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.model.answers.grouped import MOST_DRAWN, PLACES
from dpviz.model.answers.pictures import MAPPED
from tests.charts.made import released
from tests.charts.test_multiples import AGES, CITIES, FRAME, SEX, drawn

BETAS = ("0.1", "0.05", "0.01")
CASES: list[tuple[Any, Any]] = [
    (AGES, dv.Dense("1/2")),
    (SEX, dv.Dense("1/2")),
    (CITIES, dv.Stability("1", delta="1e-6")),
    (CITIES, dv.Stability("1/100", delta="1e-9")),
    (CITIES, dv.TopK(k=4, kbar=7, epsilon="30", delta="1e-5")),
    (CITIES, dv.TopK(k=4, kbar=7, epsilon="1", delta="1e-5")),
    (AGES, dv.Sorted("1")),
    (AGES, dv.Tree("1")),
    (dv.Domain.product(SEX, AGES), dv.Threshold("1", delta="1e-6")),
]


@pytest.mark.parametrize(("question", "mechanism"), CASES)
def test_each_panel_has_the_values_and_the_intervals_of_its_part(question: Any, mechanism: Any) -> None:
    release = drawn(question, mechanism)
    page = picture(release)
    json.dumps(page)
    assert page["kind"] == "grouped"
    parts = page.get("parts")
    if parts is None:  # an answer to look-ups has no rows
        assert not next(iter(release.groups.values())).answer.has_rows
        return
    assert parts["names"] == list(release.groups)
    start = 0
    for at, part in enumerate(release.groups.values()):
        rows = slice(start, start + int(parts["rows"][at]))
        start = rows.stop
        labels = page["labels"] if parts["shared"] else page["labels"][rows]
        assert sorted(labels) == sorted(part.labels)
        if parts["list"] is not None:
            assert part.listing is not None
            assert (labels, parts["list"]["ended"][at]) == (list(part.items), part.listing.ended)
        if not part.valued:
            continue
        values = dict(zip(part.labels, map(float, part.values), strict=True))
        shown = dict(zip(labels, map(float, page["values"][rows]), strict=True))
        assert shown == {label: pytest.approx(value, abs=10**-PLACES) for label, value in values.items()}
        found_keys = part.axis.domain is None and part.listing is None
        assert not found_keys or list(shown.values()) == sorted(shown.values(), reverse=True)
        for beta in BETAS:
            for among in ("one", "all"):
                told = part.intervals(beta, among) if len(part.values) else None
                if page["bars"]:
                    bar = page["bars"][beta][among]
                    assert (bar is None) == (part.answer.bars(part.reading, Fraction(beta))[among == "all"] is None)
                    if bar is None or told is None:
                        continue
                    low, high = page["clamp"]["low"], page["clamp"]["high"]
                    half = Fraction(bar["value"])
                    sides = {
                        label: (
                            max(value - half, float(low or "-inf")),
                            min(value + half, float(high or "inf")),
                        )
                        for label, value in values.items()
                    }
                elif told is not None:
                    ends = [page[f"{among}_{side} {beta}"][rows] for side in ("low", "high")]
                    sides = {label: (float(a), float(b)) for label, a, b in zip(labels, *ends, strict=True)}
                else:
                    assert f"{among}_low {beta}" not in page
                    continue
                for label, low_end, high_end in zip(part.labels, told.low, told.high, strict=True):
                    assert low_end is not None and high_end is not None
                    if page["bars"] and part.answer.readers:  # the bars of the bin that errs most, for all
                        assert sides[label][0] <= low_end + 0.01 and sides[label][1] >= high_end - 0.01
                    else:
                        assert sides[label] == (low_end, high_end)


def test_a_saved_answer_sends_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    months = dv.Domain.categories([f"month {at}" for at in range(1, 6)], column="month")
    session = dv.Session(FRAME, dv.Unit("row"), dv.Budget("90", "1e-3"), tmp_path / "parts.ledger")
    for at, (question, mechanism) in enumerate(CASES[:5]):
        release = session.release(question, mechanism, by=months)
        assert picture(dv.load(release.save(tmp_path / f"{at}.json"), ledger=session)) == picture(release)


def test_more_values_than_are_drawn_have_the_table_alone() -> None:
    months = dv.Domain.integers(1, 60, column="month")
    wide = dv.Domain.integers(0, MOST_DRAWN // 60, column="age")
    page = picture(dv.teaching(FRAME.assign(month=1), seed=1).draw(wide, dv.Dense("1"), by=months))
    assert "parts" not in page
    assert len(page["rows"]) == MOST_DRAWN // 60 + 1


def test_two_columns_tell_their_bins_and_no_others_do() -> None:
    sexes, years = dv.Domain.categories(["f", "m"], column="sex"), dv.Domain.integers(1990, 1992, column="year")
    product = dv.Domain.product(sexes, years)
    page = picture(released(product, [1, 2, 3, 40, 50, 60]))
    assert page["factors"] == [
        {"name": "sex", "labels": ["f", "m"], "scale": "categories"},
        {"name": "year", "labels": ["1990", "1991", "1992"], "scale": "integers"},
    ]
    told = [f"{sex} · {year}" for sex in page["factors"][0]["labels"] for year in page["factors"][1]["labels"]]
    assert told == page["labels"]
    third = dv.Domain.integers(0, 1, column="limited")
    assert "factors" not in picture(released(dv.Domain.product(sexes, years, third), [1] * 12))
    assert "factors" not in picture(released(years, [1, 2, 3]))
    large = dv.Domain.product(sexes, dv.Domain.integers(0, MAPPED // 2, column="income"))
    assert "factors" not in picture(released(large, [1] * large.size))
