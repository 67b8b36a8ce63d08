"""Long answers of a tree: drawn as sums of neighbouring bins, each with its own error, that add up to the whole."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.panels import Counts
from dpviz.charts.picture import picture
from dpviz.charts.theme import palette
from dpviz.model.answers.reading import Stretches
from dpviz.model.release import Release
from tests.charts.made import spec, titles

BETA = Fraction(1, 20)


def drawn(bins: int, domain: Any = None, **options: Any) -> Release:
    domain = domain or dv.Domain.integers(1, bins, column="minute")
    rows = np.random.default_rng(3).triangular(1, 200, bins or 5_000, 20_000).astype(int)

    release: Release = dv.teaching(pd.DataFrame({"minute": rows}), seed=1).draw(domain, dv.Tree("1", **options))
    return release


def stretched(release: Release) -> Stretches:
    found = release.answer.stretches(release.reading, BETA)
    assert found is not None
    return found


TREES = [
    drawn(501, branching=2),
    drawn(5_000, branching=2),
    drawn(40_000),
    drawn(4_111, branching=4, padding="pinned"),
    drawn(3_000, branching=3, padding="pinned"),
]


@pytest.mark.parametrize("release", TREES, ids=lambda release: f"{release.question.bins}")
def test_stretches_are_the_ranges_of_the_release_and_no_bar_is_shorter_than_that_of_any(release: Release) -> None:
    found, error = stretched(release), release.reading.error
    assert [row for first, last in found.spans for row in (first, last + 1)][1:-1:2] == [
        first for first, _ in found.spans[1:]
    ]
    assert (found.spans[0][0], found.spans[-1][1]) == (0, release.question.bins - 1)
    assert 25 <= len(found.spans) <= 300 and {last - first + 1 for first, last in found.spans[:-1]} == {found.size}
    assert found.values.tolist() == [round(release.answer.fit.range(*span)) for span in found.spans]  # type: ignore
    for span in found.spans:
        one, every = error.range(*span, BETA), error.range(*span, BETA / len(found.spans))
        assert one is not None and every is not None
        assert found.one.value >= one.value + Fraction(1, 2) and found.every.value >= every.value + Fraction(1, 2)
    assert found.every.how == "bound" and found.every.value > found.one.value
    total, bar = found.whole
    exact = error.range(0, release.question.bins - 1, BETA)
    assert exact is not None and bar.value >= exact.value and abs(total - int(found.values.sum())) <= len(found.values)


@pytest.mark.parametrize("release", TREES[1:], ids=lambda release: f"{release.question.bins}")
def test_a_chart_and_a_page_draw_the_stretches_and_say_how_much_there_is_in_all(release: Release) -> None:
    found = stretched(release)
    counts = Counts.stretched(release, BETA, palette("light"))
    assert counts is not None and counts.values.tolist() == found.values.tolist()
    chart = release.chart()
    assert f"{found.whole[0]:,} rows in all, ±" in titles(chart) and "holds for any one sum" in str(spec(chart))
    assert f"minute, {found.size:,} bins to a bar" in str(spec(chart))
    sent = picture(release)["stretches"]
    assert sent["values"] == [str(value) for value in found.values] and sent["whole"] == str(found.whole[0])
    assert len(sent["labels"]) == len(sent["short_labels"]) == len(sent["values"])
    assert sent["bars"]["0.05"]["one"]["value"] == str(found.one.value)
    assert sent["labels"][0] == f"1 to {found.size:,}" and {*sent["bars"]} == {*sent["whole_bars"]} == {
        *picture(release)["betas"]
    }


def test_few_bins_have_marks_of_their_own_and_other_bins_are_named_by_the_first_and_the_last() -> None:
    few = drawn(500)
    assert "stretches" not in picture(few) and Counts.stretched(few, BETA, palette("light")) is None
    dense = dv.teaching(pd.DataFrame({"minute": [1]}), seed=1).draw(
        dv.Domain.integers(1, 600, column="minute"), dv.Dense("1")
    )
    assert "stretches" not in picture(dense) and "stretch" not in str(spec(dense.chart()))
    edged = drawn(0, dv.Domain.integers(1, 5_000, column="minute", overflow=True))
    sent = picture(edged)["stretches"]
    assert sent["scale"] == "categories" and sent["labels"][-1].endswith(" to over 5000")
