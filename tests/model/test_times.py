"""Stretches of time: what a text names, where a bin begins and what it is called, by Python's own calendar."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz as dv
from dpviz.errors import DomainError, DpvizError, ParameterError
from dpviz.model import times
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question, parts, written

MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9998, 12, 31))

SPANS = {
    "2012-02": ("2012-02-01 00:00:00.000000", "2012-02-29 23:59:59.999999"),
    "2012-02-29": ("2012-02-29 00:00:00.000000", "2012-02-29 23:59:59.999999"),
    "1969-12-31 23:59": ("1969-12-31 23:59:00.000000", "1969-12-31 23:59:59.999999"),
    "2012-02-29T13:05:07": ("2012-02-29 13:05:07.000000", "2012-02-29 13:05:07.999999"),
    "2012-02-29 13:05:07.25": ("2012-02-29 13:05:07.250000", "2012-02-29 13:05:07.259999"),
    " 0001-01-01 ": ("0001-01-01 00:00:00.000000", "0001-01-01 23:59:59.999999"),
    "9999-12": ("9999-12-01 00:00:00.000000", "9999-12-31 23:59:59.999999"),
}


def told(at: int) -> str:
    when = datetime(1970, 1, 1) + timedelta(microseconds=at)
    return f"{when.year:04d}-{when:%m-%d %H:%M:%S.%f}"


@pytest.mark.parametrize("text", SPANS)
def test_a_text_names_a_stretch_from_its_first_to_its_last_microsecond(text: str) -> None:
    assert tuple(map(told, times.span(text, "a limit"))) == SPANS[text]


@pytest.mark.parametrize("text", ["2012-02-30", "2013-02-29", "0000-01-01", "2012-13", "2012-01-01 24:00", "2012-1-1"])
def test_what_no_calendar_has_is_refused(text: str) -> None:
    with pytest.raises(DomainError, match="must be a date of the calendar"):
        times.span(text, "a limit")


@given(MOMENTS)
def test_an_instant_is_read_back_from_how_it_is_written(when: datetime) -> None:
    for at in (
        times.since(when),
        times.since(when.replace(microsecond=0)),
        times.since(datetime(when.year, when.month, when.day)),
    ):
        assert times.span(times.written(at), "a limit")[0] == at
        assert times.span(times.written_last(at), "a limit")[1] == at


FORMS = {
    "hour": lambda when: f"{when.year:04d}-{when:%m-%d %H}:00",
    "day": lambda when: f"{when.year:04d}-{when:%m-%d}",
    "month": lambda when: f"{when.year:04d}-{when:%m}",
    "quarter": lambda when: f"{when.year:04d} Q{(when.month - 1) // 3 + 1}",
    "year": lambda when: f"{when.year:04d}",
}


def domain_of(by: str, **flags: bool) -> Domain:
    ends = {"hour": ("2012-02-28", "2012-03-02"), "week": ("2011-12-26", "2012-12-31")}.get(by, ("2011", "2014"))
    return Domain.times(*ends, by=by, column="left", **flags)


@pytest.mark.parametrize("by", times.BY)
@pytest.mark.parametrize("flags", [{}, {"underflow": True, "overflow": True, "missing": True}])
def test_any_time_of_a_bin_leads_to_it_and_its_label_does(by: str, flags: Any) -> None:
    domain = domain_of(by, **flags)
    inner = range(domain.size)[len(flags) // 3 : domain.size - 2 * (len(flags) // 3)]
    labels = domain.labels
    assert len(set(labels)) == domain.size
    for place, at in zip(inner, domain.edges, strict=False):  # type: ignore[attr-defined]
        when = datetime(1970, 1, 1) + timedelta(microseconds=at)
        if by in FORMS:
            assert labels[place] == FORMS[by](when)
        else:
            assert labels[place] == f"week of {when:%Y-%m-%d}" and when.weekday() == 0
        assert domain.index(labels[place]) == place
        if by != "hour":  # of which a day has many
            assert domain.index(times.written(at)) == place
        assert domain.index(times.written(at + 59 * 60 * 10**6)) == place
        assert domain.ends(labels[place], labels[place]) == (place, place)
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
    assert eval(domain.python, {"dv": dv}) == domain
    assert Question.of(domain).id == Question.of(Domain.from_json(domain.to_json())).id
    if flags:
        assert domain.index("1999-01-01") == 0 and domain.index("2020-01-01") == domain.size - 2
        assert [domain.index(labels[at]) for at in (0, -2, -1)] == [0, domain.size - 2, domain.size - 1]
    else:
        for outside in ("1999-01-01", "2020-01-01"):
            with pytest.raises(DomainError, match="a label must be one of"):
                domain.index(outside)


def test_a_domain_of_times_reads_as_a_person_would_write_it() -> None:
    months = Domain.times("2012", "2013", by="month", column="scheduled_time", overflow=True)
    assert months.text == "2012-01, 2012-02, …, 2012-12, 2013-01-01 or later"
    assert (months.each, months.items) == ("month of scheduled time", "months of scheduled time")
    assert (
        months.python
        == 'dv.Domain.times("2012-01-01", "2013-01-01", by="month", column="scheduled_time", overflow=True)'
    )
    assert (months * Domain.integers(0, 1, column="x")).size == 26


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: Domain.times("2012-01-02", "2013", by="month", column="x"), "start must be where a month begins"),
        (lambda: Domain.times("2012-02-01", "2013", by="quarter", column="x"), "start must be where a quarter begins"),
        (
            lambda: Domain.times("2012", "2012-02-02", by="month", column="x"),
            "where a month ends.*write 2012-02-01 or 2012-03-01",
        ),
        (lambda: Domain.times("2012", "2012-01-09", by="week", column="x"), "write 2012-01-08 or 2012-01-15"),
        (lambda: Domain.times("2013", "2012", by="year", column="x"), "times must not be reversed"),
        (lambda: Domain.times("2012", "2013", by="months", column="x"), "did you mean month"),
        (lambda: Domain.times("2012", "2013", by="decade", column="x"), "by must be one of hour, day, week"),
        (lambda: Domain.times("2012-02-31", "2013", by="day", column="x"), "start must be a date of the calendar"),
        (lambda: Domain.times(2012, "2013", by="day", column="x"), "start must be a text, got int"),
        (lambda: Domain.times("1000", "3000", by="hour", column="x"), "at most 1,000,000 bins"),
        (lambda: Domain.times("9999", "9999-12-31", by="month", column="x"), "where a month ends.*write 9999-12-01"),
        (lambda: Domain.times("9999-12-25", "9999-12-31", by="week", column="x"), "where a week ends.*take shorter"),
        (lambda: Domain.times("2012", "2013", by="quarter", column="x").index("2012 Q"), "a label must be one of"),
        (lambda: Domain.times("2012", "2013", by="quarter", column="x").index("2012 Q12"), "a label must be one of"),
        (
            lambda: Domain.times("2012", "2013", by="quarter", column="x").index("week of 2012-05"),
            "a label must be one",
        ),
        (lambda: Domain.times("2012", "2013", by="day", column="x").index("2012-02"), "this is of several"),
        (lambda: Between("2012-02-31"), "a limit must be a date of the calendar"),
        (lambda: Between("2012-02-01", 7), "both limits of a filter are dates"),
        (lambda: Between("2012/02/29", "2013-01-01"), "a date has its year first, dashes, .* got 2012/02/29; write"),
        (lambda: Between(high="29.02.2012"), "a date has its year first"),
        (lambda: Between("2012-2-9"), "a date has its year first"),
        (lambda: Between("2012-02-02", "2012-02-01"), "write the earlier one first"),
        (lambda: Domain.from_json({"kind": "times", "column": "x", "start": "2012"}), "must have end"),
    ],
)
def test_what_are_no_stretches_of_time_is_refused(made: Any, says: str) -> None:
    with pytest.raises(DpvizError, match=says):
        made()


def test_a_filter_by_dates_includes_its_last_day_and_is_written_as_it_was_typed() -> None:
    year = Between("2012-01-01", "2012-12-31")
    assert year.times and year == Between("2012-01", "2012-12")
    assert year.high - year.low + 1 == Fraction(366 * 24 * 3600 * 10**6)  # type: ignore[operator]
    question = Question.of(Domain.integers(0, 1, column="x"), {"left": year})
    assert question.where_text == "where left is from 2012-01-01 to 2012-12-31"
    assert question.to_json()["where"] == {"left": {"low": "2012-01-01", "high": "2012-12-31"}}
    assert Question.from_json(question.to_json()) == question
    assert written(question.where) == '"left": dv.Between(low="2012-01-01", high="2012-12-31")'
    assert not Between(2012).times and Between("2012").low == 2012
    with pytest.raises(ParameterError):
        Between()
    cold, warm = ({"left": Between(*ends)} for ends in (("2012-01", "2012-03"), ("2012-04", "2012-06")))
    assert (
        dv.Question.of(Domain.integers(0, 1, column="x")).id
        and times.span("2012-03", "x")[1] + 1 == times.span("2012-04", "x")[0]
    )
    assert parts({"cold": cold, "warm": warm}).apart and not parts({"a": cold, "b": {"left": year}}).apart


def test_a_filter_without_an_end_says_earlier_and_later() -> None:
    asked = [
        Question.of(Domain.integers(0, 1, column="x"), {"left": Between(*ends)})
        for ends in ((None, "2012-06"), ("2012-03-01", None))
    ]
    assert [question.where_text for question in asked] == [
        "where left is 2012-06-30 or earlier",
        "where left is 2012-03-01 or later",
    ]
    assert Domain.times("2012", "2013", by="month", column="month").each == "month"
