"""Small multiples: every part of an answer on one shared axis, or a row of cells for each part's list."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.multiples import AXIS, GAP, HEAD, TALL, small_multiples
from dpviz.charts.words import spread
from dpviz.errors import DpvizError, Forbidden, ParameterError, ReleaseFormat
from tests.charts.made import HOSTILE, everything, layers, marks, spec, titles

MONTHS = dv.Domain.categories([f"month {at}" for at in range(1, 6)], column="month")
LONG = "a very long name of one of the categories, of which nobody knows the end"
FRAME = pd.DataFrame(
    {
        "month": [f"month {1 + row % 5}" for row in range(4000)],
        "age": [row * row % 30 for row in range(4000)],
        "city": [f"city {row * row % 7 + row % 5 // 3}" if row % 11 else LONG for row in range(4000)],
        "sex": ["f" if row % 3 else HOSTILE for row in range(4000)],
    }
)
AGES = dv.Domain.integers(0, 29, column="age")
SEX = dv.Domain.categories(["f", HOSTILE], column="sex")
CITIES = dv.Domain.keys(column="city")


def drawn(question: Any, mechanism: Any, by: Any = MONTHS, seed: int = 5) -> dv.Release:
    return dv.teaching(FRAME, seed=seed).draw(question, mechanism, by=by)


def rows(chart: Any) -> list[tuple[str, dict[str, Any]]]:
    """Everything drawn, with the kind of its mark."""
    return [(layer["mark"]["type"], row) for layer in layers(spec(chart)) for row in layer["rows"]]


def words(chart: Any) -> list[str]:
    return [row["text"] for kind, row in rows(chart) if kind == "text"]


def test_every_part_stands_on_one_axis() -> None:
    """A value's mark and both its bars stand where the axis says: the pixels of any two numbers tell those of all."""
    release = drawn(AGES, dv.Dense("1/2"))
    chart = release.chart(width=700)
    across = (700 - AXIS + GAP) // (200 + GAP)
    each = (700 - AXIS - GAP * (across - 1)) / across
    labels = [row for kind, row in rows(chart) if kind == "text" and row["x"] == AXIS - 6 and row["y"] <= HEAD + TALL]
    ticks = {int(row["text"]): row["y"] for row in labels}
    zero, top = ticks[0], max(ticks)
    pixels = (zero - ticks[top]) / top
    assert pixels > 0
    thick, thin = (marks(chart, "rule", strokeWidth=width)[-1]["rows"] for width in (each / 30 / 3, 1))
    assert len(thick) == 5 * 30
    for at, (name, part) in enumerate(release.groups.items()):
        left, foot = AXIS + at % across * (each + GAP), zero + at // across * (HEAD + TALL + 24)
        one, every = part.intervals("0.05"), part.intervals("0.05", "all")
        assert one is not None and every is not None, name
        assert None not in (*one.low, *one.high, *every.low, *every.high)
        for place in range(30):
            for found, ends in ((thick, one), (thin, every)):
                row = found[at * 30 + place]
                assert row["x"] == row["x2"] == pytest.approx(left + (place + 0.5) * each / 30)
                assert row["y2"] == pytest.approx(foot - pixels * float(ends.low[place] or 0))
                assert row["y"] == pytest.approx(foot - pixels * float(ends.high[place] or 0))


def test_the_words_say_both_bars_and_their_size() -> None:
    release = drawn(AGES, dv.Dense("1/2"))
    part = next(iter(release.groups.values()))
    one, every = part.answer.bars(part.reading, Fraction(1, 20))
    assert one is not None and every is not None
    said = titles(release.chart())
    assert f"Thick bars: any one bin, {spread(one)} rows (exact)" in said
    assert f"thin bars: all of one month at once, {spread(every)} rows (exact)" in said
    assert "Not private · teaching, seed 5" in said


def test_labels_lie_beside_their_bars_with_their_values() -> None:
    release = drawn(SEX, dv.Dense("1/2"))
    for width in (320, 700):
        found = words(release.chart(width=width))
        for part in release.groups.values():
            assert all(f"{value:,}" in found for value in part.values)
        assert {MONTHS.label(at) for at in range(5)} <= set(found)
    assert all(0 <= row["x"] <= 700 for _, row in rows(release.chart()) if "x" in row)


def test_found_keys_come_largest_first_and_each_part_has_its_own() -> None:
    release = drawn(CITIES, dv.Stability("1", delta="1e-6"))
    found = words(release.chart())
    assert len({tuple(part.labels) for part in release.groups.values()}) > 1
    values = [
        text for text in found if text in {f"{value:,}" for part in release.groups.values() for value in part.values}
    ]
    for part in release.groups.values():
        largest = [f"{value:,}" for value in sorted(part.values, reverse=True)]
        assert " ".join(largest) in " ".join(values)
    assert LONG not in found and any(text.endswith("…") and LONG.startswith(text[:-1]) for text in found)


def test_a_list_without_values_is_a_row_of_cells() -> None:
    release = drawn(CITIES, dv.TopK(k=4, kbar=7, epsilon="30", delta="1e-5"))
    chart = release.chart(theme="dark")
    cells = [row for kind, row in rows(chart) if kind == "rect"]
    many = sum(len(part.items) + part.listing.ended for part in release.groups.values() if part.listing is not None)
    assert len(cells) == many
    assert {row["x2"] <= 700 for row in cells} == {True}
    items = [[*part.items, *["⊥"] * (len(part.items) < 4)] for part in release.groups.values()]
    drawn_items = [text for text in words(chart) if text == "⊥" or "city" in text or text.startswith(LONG[:8])]
    assert [LONG if text.endswith("…") else text for text in drawn_items] == [one for some in items for one in some]
    assert "Ranks from left to right." in titles(chart)
    narrow = release.chart(width=240)
    assert max(row["x2"] for kind, row in rows(narrow) if kind == "rect") <= 240


def test_what_cannot_be_drawn_beside_each_other_is_refused_and_says_what_to_draw() -> None:
    step = r'release\.groups\["month 1"\]\.chart\(\)'
    wide = dv.Domain.integers(0, 499, column="age")
    with pytest.raises(ParameterError, match=rf"500 bins.*{step}"):
        drawn(wide, dv.Dense("1")).chart()
    many = dv.Domain.categories([f"c{at}" for at in range(61)], column="month")
    with pytest.raises(ParameterError, match="61 parts"):
        drawn(AGES, dv.Dense("1"), by=many).chart()
    for bad in (FRAME, None, "release"):
        with pytest.raises(Forbidden):
            small_multiples(bad)  # type: ignore[arg-type]
    with pytest.raises(ReleaseFormat, match="not asked about parts"):
        small_multiples(dv.teaching(FRAME, seed=1).draw(AGES, dv.Dense("1")))
    for wrong in ({"theme": "blue"}, {"width": 10}, {"beta": 0}):
        with pytest.raises(DpvizError):
            drawn(AGES, dv.Dense("1")).chart(**wrong)


def test_a_hostile_label_is_a_text_and_nothing_else() -> None:
    chart = drawn(SEX, dv.Dense("1/2")).chart()
    keys = {key for key, value in everything(spec(chart)) if isinstance(value, str) and "<img" in value}
    assert keys <= {"text", "description"}


@pytest.mark.parametrize(("other", "off"), [(1, False), (3, False), (40, True)])
@pytest.mark.parametrize("width", [360, 700])
def test_a_label_much_larger_than_all_others_is_off_the_scale_with_its_number_and_error(
    other: int, off: bool, width: int
) -> None:
    frame = pd.DataFrame(
        [
            (f"month {month}", city)
            for month in range(1, 6)
            for at, city in enumerate("abc")
            for _ in range(100 * (other if city == "c" else 1) + at)
        ],
        columns=["month", "city"],
    )
    cities = dv.Domain.categories(["a", "b"], column="city", other=True)
    release = dv.teaching(frame, seed=1).draw(cities, dv.Dense("1"), by=MONTHS)
    chart = release.chart(width=width)
    bars = sorted(row["x2"] - row["x"] for layer in marks(chart, "rect") for row in layer["rows"])
    assert len(bars) == 15 and bars[-1] < 5 * bars[0] and bars[-1] > 20
    beside = [f"{part.values[2]:,} ±3" for part in release.groups.values()]
    assert all((number in words(chart)) == off for number in beside) and ("▸" in words(chart)) == off
    assert ("A triangle: other is off the scale" in titles(chart)) == off
    for kind, row in rows(chart):
        assert kind == "text" or 0 <= row["x"] <= row["x2"] <= width
