"""Questions: one name for one meaning, and the same question back from JSON and from the call that is shown."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question, condition
from dpviz.privacy.unit import Unit
from tests.model.declared import conditions, domains, questions

BINS = Domain.integers(0, 3, column="visits")


@given(questions)
def test_json_gives_the_same_question_back(question: Question) -> None:
    again = Question.from_json(json.loads(json.dumps(question.to_json())))
    assert again == question
    assert again.id == question.id
    assert Question.from_json(json.loads(question.canonical())) == question


@given(questions)
def test_the_call_that_is_shown_asks_the_same_question(question: Question) -> None:
    again = eval(f"Question.of({question.python}, {question.python_where})", {"dv": dv, "Question": Question})
    assert again == question
    assert again.id == question.id


@given(domains(), domains(), conditions(), conditions())
def test_two_questions_have_one_name_only_if_they_are_equal(one: Domain, two: Domain, this: Any, that: Any) -> None:
    asked = [Question.of(domain, {"z": filter}) for domain in (one, two) for filter in (this, that)]
    asked += [Question.of(one), Question.of(two)]
    for left in asked:
        for right in asked:
            assert (left == right) == (left.id == right.id) == (left.canonical() == right.canonical())


def test_filters_are_the_same_however_they_are_typed() -> None:
    plain = Question.of(BINS, {"day": [1, 2], "name": "x"})
    for where in (
        {"name": ["x"], "day": (2, 1)},
        {"day": ["2", 1.0, 2, 1], "name": ("x", "x")},
    ):
        assert Question.of(BINS, where).id == plain.id
    assert (
        Question.of(BINS, {"day": Between("0.50", 1)}).id == Question.of(BINS, {"day": Between(Fraction(1, 2), 1.0)}).id
    )
    assert Question.of(BINS, {}).id == Question.of(BINS).id
    assert Question.of(BINS, {"day": [1]}).id != Question.of(BINS, {"day": Between(1, 1)}).id


def test_every_column_that_is_read_is_named_once() -> None:
    product = BINS * Domain.categories(["a"], column="name")
    assert Question.of(product, {"day": 1, "visits": Between(1)}).columns == ("visits", "name", "day")
    assert Question.of(product).bins == 4


def test_a_question_reads_as_a_sentence() -> None:
    asked = Question.of(
        BINS, {"day": Between(1, "5/2"), "name": ["b", "a"], "age": Between(low=0), "size": Between(high=9)}
    )
    assert asked.where_text == (
        "where age is at least 0 and day is from 1 to 2.5 and name is a or b and size is at most 9"
    )
    person = Unit("row", noun="person-year")
    assert Question.of(BINS).sentence(person) == "How many person-years had visits in each of: 0, 1, …, 3?"
    assert Question.of(BINS, {"day": 1}).title(person) == "Visits, person-years in each bin, where day is 1"
    assert Question.of(BINS).text == "visits, 4 bins"


def test_the_name_of_a_column_asks_for_its_keys() -> None:
    assert Question.of("visits").canonical() == Question.of(Domain.keys(column="visits")).canonical()
    assert Question.of("visits", {"day": 1}).where_text == "where day is 1"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Question.of(3), "a question must be a Domain, got int"),
        (lambda: Question.of(None), "a question must be a Domain, got NoneType"),
        (lambda: Question.of(Question.of(BINS), {"day": 1}), "has its filter already"),
        (lambda: Question.of(BINS, ["day"]), "where must map columns to values, got list"),
        (lambda: Question.of(BINS, {3: 1}), "the name of a column, got int"),
        (lambda: Question.of(BINS, {"": 1}), "the name of a column"),
        (lambda: Question.of(BINS, {"day": []}), "at least one value"),
        (lambda: Question.of(BINS, {"day": None}), "got None"),
        (lambda: Question.of(BINS, {"day": {1, 2}}), "must be public.* got set"),
        (lambda: Question.of(BINS, {"day": pd.Series([1])}), "must be public.* got Series"),
        (lambda: Question.of(BINS, {"day": [pd.Series([1]).max()]}), "must be public.* got int64"),
        (lambda: Question.of(BINS, {"day": float("nan")}), "got nan"),
        (lambda: Question.of(BINS, {"day": "\ud800"}), "written as UTF-8"),
        (lambda: Between(), "at least one limit"),
        (lambda: Between(2, 1), "must not be reversed, got 2 to 1"),
        (lambda: Between("x"), "a limit must be a finite number, got x"),
        (lambda: Between(pd.Series([1])), "must be public.* got Series"),
        (lambda: condition(()), "at least one value"),
    ],
)
def test_what_asks_nothing_is_refused(make: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says) as refused:
        make()
    assert refused.value.rule


@pytest.mark.parametrize(
    "data",
    [
        None, [], "x", {}, {"domain": BINS.to_json()}, {"domain": BINS.to_json(), "where": {}, "more": 1},
        {"domain": BINS.to_json(), "where": []}, {"domain": BINS.to_json(), "where": {"day": {"lo": 1}}},
        {"domain": BINS.to_json(), "where": {"day": {}}}, {"domain": BINS.to_json(), "where": {"day": {"low": [1]}}},
        {"domain": None, "where": {}}, {"domain": BINS.to_json(), "where": {"day": [[1]]}},
    ],
)  # fmt: skip
def test_json_that_is_no_question_is_refused_with_our_error(data: Any) -> None:
    with pytest.raises(ParameterError):
        Question.from_json(data)
