"""An answer whose values are enclosures: planned, released, saved, loaded, framed, tabled, charted and pictured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import dpviz as dv
from dpviz import exact, mechanisms
from dpviz.charts import tables
from dpviz.charts.picture import picture
from dpviz.charts.words import shown
from dpviz.model import answers
from dpviz.model.answers import Enclosed
from dpviz.model.answers.values import around
from dpviz.model.error import ErrorValue
from dpviz.widgets.reading import read_points
from tests.toy.pairs import BINS, FRAME
from tests.toy.roots import PairRoots, Roots


@pytest.fixture(autouse=True)
def roots(known: None) -> Iterator[None]:
    mechanisms.register(Roots)
    answers.register(PairRoots)
    yield
    mechanisms.unregister(Roots.name)
    answers.unregister(PairRoots)


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    return dv.Session(FRAME, dv.Unit("row"), dv.Budget(epsilon=50), tmp_path / "roots.ledger")


def drawn(session: dv.Session) -> dv.Release:
    """A release with a root that is no fraction."""
    for key in "abcdefgh":
        release = session.release(BINS, Roots(epsilon=2), key=key)
        if isinstance(release.values[0], Enclosed):
            return release
    raise AssertionError("eight sums that are twice a square, one after the other")


def means(release: dv.Release) -> list[Fraction]:
    answer = release.answer
    assert isinstance(answer, PairRoots)
    return [
        max(Fraction(0), Fraction(total, width)) for total, width in zip(answer.sums.tolist(), (2, 2, 1), strict=True)
    ]


def test_each_value_lies_between_two_fractions_that_enclose_the_root(session: dv.Session, tmp_path: Path) -> None:
    release = drawn(session)
    for value, mean in zip(release.values, means(release), strict=True):
        if isinstance(value, Enclosed):
            assert value.low**2 < mean < value.high**2 and value.high - value.low < Fraction(1, 10**4)
            assert value.low < value.middle < value.high and float(value) == pytest.approx(float(mean) ** 0.5)
        else:
            assert value**2 == mean
    assert release[1] == release.values[0] and release.many([0, 4]) == [release.values[0], release.values[2]]
    assert dv.load(release.save(tmp_path / "roots.json"), ledger=session) == release
    assert dv.load(tmp_path / "roots.json", ledger=session).values == release.values
    assert "any one pair" in repr(session.plan(BINS, Roots(epsilon=2)))


def test_a_frame_and_a_csv_file_have_both_ends_and_their_middle(session: dv.Session) -> None:
    release = drawn(session)
    frame = release.to_frame()
    assert list(frame.columns[:5]) == ["pair", "bins", "value", "value_low", "value_high"]
    assert all(low <= mean for low, mean in zip(frame["value_low"] ** 2, means(release), strict=True))
    assert all(high >= mean for high, mean in zip(frame["value_high"] ** 2, means(release), strict=True))
    assert list(frame["value"]) == list((frame["value_low"] + frame["value_high"]) / 2)
    assert all(frame["low"] <= frame["value_low"]) and all(frame["value_high"][1:] <= frame["high"][1:])
    text = release.to_csv()
    assert text is not None and "pair,bins,value,value_low,value_high,low,high,low_all,high_all" in text
    assert f",{exact.text(frame['value_low'][0])},{exact.text(frame['value_high'][0])}," in text


def test_tables_charts_and_pages_write_the_enclosure(session: dv.Session, tmp_path: Path) -> None:
    release = drawn(session)
    words = shown(release.values[0])
    assert words.startswith("between ") and words in tables.table(release)
    spec = json.dumps(release.chart().to_dict(), ensure_ascii=False)
    assert words in spec and "at least" in spec
    first = release.values[0]
    assert Fraction(picture(release)["means"][0]) == first.middle
    assert words in dv.report([release], tmp_path / "roots.html").read_text()
    (read, plain) = read_points(release, [["0"], ["0"]], Fraction(1, 20))
    assert read == plain and read["low"] != ""
    assert [Fraction(read[end]) for end in ("value_low", "value", "value_high")] == [
        first.low,
        first.middle,
        first.high,
    ]


def test_an_error_bar_is_laid_around_the_enclosure() -> None:
    values = [Enclosed(Fraction(1), Fraction(2)), Fraction(7)]
    intervals = around(values, ErrorValue(Fraction(1, 2), "exact", "a rule"), (0, 7))
    assert intervals.low == [Fraction(1, 2), Fraction(13, 2)] and intervals.high == [Fraction(5, 2), 7]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ("1.41421356", "1.41421357", "between 1.41421 and 1.41422"),
        ("-1/3", "1234567.8", "between −10 and 1,234,570"),
        ("-1/3", "1/3", "between −0.333334 and 0.333334"),
        ("-2", "0", "between −2 and 0"),
        ("5/2", "5/2", "2.5"),
    ],
)
def test_an_enclosure_is_written_in_a_few_digits_rounded_outward(low: str, high: str, words: str) -> None:
    value = Enclosed(Fraction(low), Fraction(high))
    assert shown(value) == words
    assert Fraction(value.ends[0]) <= value.low and value.high <= Fraction(value.ends[1])


def test_the_ends_of_an_enclosure_are_in_order() -> None:
    with pytest.raises(dv.errors.ParameterError, match="in order"):
        Enclosed(Fraction(1), Fraction(0))
