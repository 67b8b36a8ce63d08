"""Questions: one name for one meaning, and the same question back from JSON and from the call that is shown."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given

import dpviz as dv
from dpviz.engines import as_source
from dpviz.errors import DomainError, DpvizError, ParameterError
from dpviz.mechanisms import REGISTRY
from dpviz.mechanisms.pay_what_you_get import Asking, PayWhatYouGet
from dpviz.model.aggregate import Sum
from dpviz.model.domain import Domain, _OneColumn
from dpviz.model.question import Between, Question, condition
from dpviz.model.statistic import Top
from dpviz.privacy.unit import Unit
from tests.mechanisms.samples import current, declared
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
    assert again.aggregate == question.aggregate
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
    assert Question.of(BINS).sentence(person) == "How many person-years had 0, 1, …, 3 visits?"
    assert Question.of(BINS, {"day": 1}).title(person) == "Visits per person-year, where day is 1"
    assert Question.of(BINS).text == "visits, 4 bins"


def test_the_name_of_a_column_asks_for_its_keys() -> None:
    assert Question.of("visits").canonical() == Question.of(Domain.keys(column="visits")).canonical()
    assert Question.of("visits", {"day": 1}).where_text == "where day is 1"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Question.of(3), "a question must be a Domain, got 3"),
        (lambda: Question.of(None), "a question must be a Domain, got None"),
        (lambda: Question.of(Question.of(BINS), {"day": 1}), "has its filter already"),
        (lambda: Question.of(BINS, ["day"]), "where must map columns to values, got list"),
        (lambda: Question.of(BINS, {3: 1}), "the name of a column, got 3"),
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


# ---------------------------------------------------------------- sums and records

MONTHS = Domain.integers(1, 12, column="month")
CITIES = Domain.categories(["A", "B"], column="city")
SUM = Question.sum("amount_paid", by=MONTHS, low=0, high="100", step="0.5", where={"city": "A"})
RECORDS = Question.records([MONTHS, CITIES], where={"age": Between(18)})


def test_counts_have_the_bytes_that_they_had_before_there_was_anything_else() -> None:
    """Answers are stored under a hash of these bytes, so another byte would be another, paid, answer."""
    product = MONTHS * CITIES
    assert Question.of(product, {"z": Between("1/2", 7), "a": ["x", 1]}).canonical() == (
        b'{"domain":{"first":{"column":"month","high":"12","kind":"integers","low":"1","missing":false,'
        b'"overflow":false,"underflow":false},"kind":"product","second":{"column":"city","kind":"categories",'
        b'"labels":["A","B"],"missing":false,"other":false}},"where":{"a":["1","x"],"z":{"high":"7","low":"0.5"}}}'
    )
    assert Question.of("city").canonical() == b'{"domain":{"column":"city","kind":"keys"},"where":{}}'
    assert Question.of("city").id == "c324bf288d4fabe6"


@pytest.mark.parametrize(
    ("domain", "sentence", "title"),
    [
        (
            Domain.integers(0, 40, column="visits", overflow=True),
            "How many person-years had 0, 1, …, 40 or more than 40 visits?",
            "Visits per person-year",
        ),
        (
            Domain.integers(1, 2, column="visits", underflow=True, missing=True),
            "How many person-years had fewer than 1, 1, 2 or missing visits?",
            "Visits per person-year",
        ),
        (Domain.integers(0, 1, column="status"), "How many person-years had status 0 or 1?", "Person-years by status"),
        (
            Domain.integers(-3, 9, column="net_gains"),
            "How many person-years had net gains −3, −2, …, 9?",
            "Person-years by net gains",
        ),
        (
            Domain.intervals([-10, 0, 10, 20], column="income", overflow=True),
            "How many person-years had income −10 to below 0, …, 10 to 20 or more than 20?",
            "Person-years by income",
        ),
        (
            Domain.categories(["a-b", "c"], column="town", other=True),
            "How many person-years had town a-b, c or all others?",
            "Person-years by town",
        ),
        (
            Domain.keys(column="home_town"),
            "How many person-years had each home town that occurs often enough?",
            "Person-years by home town",
        ),
        (
            Domain.integers(0, 1, column="smokes") * Domain.categories(["f", "m"], column="sex"),
            "How many person-years had each combination of smokes and sex: (0 or 1) × (f or m)?",
            "Person-years by smokes and sex",
        ),
    ],
)
def test_a_count_is_asked_for_as_a_person_would_ask(domain: Domain, sentence: str, title: str) -> None:
    unit = Unit(noun="person-year")
    assert (Question.of(domain).sentence(unit), Question.of(domain).title(unit)) == (sentence, title)
    among = Question.of(domain, {"day": Between(low=-1)})
    assert among.sentence(unit) == sentence.replace(
        "How many person-years", "Among person-years where day is at least −1, how many"
    )


@pytest.mark.parametrize(
    ("domain", "items"),
    [
        (Domain.keys(column="destination"), "destinations"),
        (Domain.integers(1, 12, column="month"), "months"),
        (Domain.categories(["f", "m"], column="sex"), "sexes"),
        (Domain.keys(column="home_town"), "values of home town"),
        (Domain.integers(0, 40, column="visits"), "values of visits"),
        (Domain.intervals([0, 1, 2], column="income"), "ranges of income"),
        (MONTHS * Domain.categories(["f", "m"], column="sex"), "combinations of month and sex"),
    ],
)
def test_items_of_a_list_are_called_by_their_column(domain: Domain, items: str) -> None:
    asked = Question.of(domain).ranked_sentence(Unit(noun="person-year"), 1_000)
    known = f", out of {domain.choices}" if domain.declared else f"; no list of all {items} is needed"
    assert asked == f"Which {items} have the most person-years? Up to 1,000 of them{known}."


def test_a_sum_says_what_it_adds_up_and_how_far_a_value_can_reach() -> None:
    assert SUM.columns == ("month", "amount_paid", "city")
    assert (
        SUM.text == "sum of amount_paid (each value from 0 to 100 in steps of 0.5) by month, 12 bins, where city is A"
    )
    assert SUM.sentence(Unit(noun="visit")) == (
        "What is the total amount paid (each value from 0 to 100 in steps of 0.5) of the visits where city is A, "
        "for each month: 1, 2, …, 12?"
    )
    assert SUM.title(Unit(noun="visit")) == "Total amount paid of visits by month, where city is A"
    assert SUM.to_json()["aggregate"] == {
        "kind": "sum", "column": "amount_paid", "low": "0", "high": "100", "step": "0.5"
    }  # fmt: skip
    assert SUM.python == (
        'dv.Question.sum("amount_paid", by=dv.Domain.integers(1, 12, column="month"), low="0", high="100", '
        'step="0.5", where={"city": ["A"]})'
    )


def test_records_say_of_which_columns_they_are() -> None:
    assert RECORDS.columns == ("month", "city", "age")
    assert RECORDS.text == "records of month × city, 24 bins, where age is at least 18"
    assert RECORDS.sentence(Unit(noun="visit")) == (
        "If one of the visits where age is at least 18 were drawn at random, what would month and city be: "
        "(1, 2, …, 12) × (A or B)?"
    )
    assert RECORDS.title(Unit(noun="visit")) == "Records of visits: month and city, where age is at least 18"
    assert Question.records([MONTHS]).domain == MONTHS


def test_what_lies_outside_a_column_counts_as_its_first_label_or_as_the_one_that_is_named() -> None:
    assert RECORDS.fallback == (0, 0) and Question.of(MONTHS).fallback is None and SUM.fallback is None
    named = Question.records([MONTHS, CITIES], otherwise={"city": "B", "month": 12.0})
    assert named.fallback == (11, 1)
    assert named.to_json()["aggregate"] == {"kind": "records", "otherwise": {"city": "B", "month": "12"}}
    assert 'otherwise={"city": "B", "month": "12"}' in named.python
    assert named.id not in (RECORDS.id, Question.records([MONTHS, CITIES]).id)
    assert Question.records([MONTHS, CITIES], otherwise={}).id == Question.records([MONTHS, CITIES]).id


def test_a_label_that_stands_for_nothing_is_refused() -> None:
    for otherwise, rule in [
        ({"city": "C"}, "a label must be one of A, B"),
        ({"age": 1}, "otherwise may name columns of the records only: month, city"),
        (["city"], "otherwise must map columns to labels"),
        ({"month": None}, "a label"),
    ]:
        with pytest.raises(DpvizError, match=rule):
            Question.records([MONTHS, CITIES], otherwise=otherwise)  # type: ignore[arg-type]
    for saved in ({"kind": "records", "otherwise": {}}, {"kind": "records", "otherwise": {"month": 3}}):
        with pytest.raises(DpvizError, match="shortest form"):
            Question.from_json({**RECORDS.to_json(), "aggregate": saved})


def test_a_count_a_sum_and_records_of_the_same_bins_are_three_questions() -> None:
    asked = [Question.of(MONTHS), Question.sum("x", by=MONTHS, low=0, high=1, step=1), Question.records([MONTHS])]
    asked += [
        Question.sum("x", by=MONTHS, low=0, high=1, step="1/2"),
        Question.sum("x", by=MONTHS, low=-1, high=1, step=1),
    ]
    assert len({question.id for question in asked}) == 5


def test_a_sum_may_be_over_unknown_keys_named_by_their_column() -> None:
    asked = Question.sum("amount", by="customer", low=0, high=1000, step="0.01")
    assert asked == Question.sum("amount", by=Domain.keys(column="customer"), low=0, high=1000, step="0.01")
    assert Question.from_json(json.loads(asked.canonical())) == asked
    assert asked.columns == ("customer", "amount")
    assert asked.text == "sum of amount (each value from 0 to 1,000 in steps of 0.01) by customer, unknown keys"
    assert asked.sentence(Unit(noun="order")) == (
        "What is the total amount (each value from 0 to 1,000 in steps of 0.01) of the orders, "
        "for each customer that occurs often enough?"
    )


@pytest.mark.parametrize(
    ("low", "high", "step", "heaviest", "spread", "signed"),
    [
        (0, 1000, "0.01", 100_000, 100_000, False),
        (3, 9, 3, 3, 3, False),
        (-5, 10, "0.5", 20, 30, True),
        (-10, 5, "0.5", 20, 30, True),
        (-9, -3, 3, 3, 3, True),
        (-(2**31), 2**31, 1, 2**31, 2**32, True),
    ],
)
def test_a_sum_says_how_far_one_row_can_move_it(
    low: int, high: int, step: Any, heaviest: int, spread: int, signed: bool
) -> None:
    total = Question.sum("x", by=MONTHS, low=low, high=high, step=step).aggregate
    assert (total.heaviest, total.spread, total.signed, total.step) == (heaviest, spread, signed, Fraction(step))
    counted, records = Question.of(MONTHS).aggregate, RECORDS.aggregate
    assert all((one.heaviest, one.spread, one.signed, one.step) == (1, 1, False, 1) for one in (counted, records))


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: Question.sum("x", by=MONTHS, low=1, high=1, step=1), "a low below its high"),
        (lambda: Question.sum("x", by=MONTHS, low=0, high=1, step=0), "must be positive"),
        (lambda: Question.sum("x", by=MONTHS, low=0, high=1, step="0.3"), "whole multiples of its step"),
        (lambda: Question.sum("x", by=MONTHS, low="0.25", high="1.25", step="0.5"), "whole multiples of its step"),
        (lambda: Question.sum("", by=MONTHS, low=0, high=1, step=1), "the name of a column"),
        (lambda: Question.sum("x", by=["month"], low=0, high=1, step=1), "must be a Domain"),
        (lambda: Question.sum("x", by="", low=0, high=1, step=1), "the name of a column"),
        (lambda: Question.sum("x", by=MONTHS, low=0, high=2**31 + 1, step=1), "at most 2.31 steps from 0"),
        (lambda: Question.sum("x", by=MONTHS, low=-(2**31) - 1, high=0, step=1), "at most 2.31 steps from 0"),
        (lambda: Question.sum("x", by=MONTHS, low=0, high=10**18, step=10**12), "fractions of whole numbers"),
        (lambda: Question.sum("x", by=MONTHS, low=0, high="1e-20", step="1e-20"), "fractions of whole numbers"),
        (lambda: Question.sum(pd.Series([1]), by=MONTHS, low=0, high=1, step=1), "the name of a column"),
        (lambda: Question.records([]), "a list of one-column domains"),
        (lambda: Question.records(["month"]), "one-column domains"),
        (lambda: Question.records([MONTHS * CITIES]), "one-column domains"),
        (lambda: Question.records([Domain.keys(column="y")]), "records needs declared bins"),
        (lambda: Question.records([MONTHS, MONTHS]), "columns of a product must differ"),
        (lambda: Question(MONTHS, {}, "sum"), "counts, sums or asks for records"),
        (lambda: Question.of(SUM, {"x": 1}), "has its filter already"),
    ],
)  # fmt: skip
def test_what_is_no_sum_and_no_records_is_refused(make: Any, rule: str) -> None:
    with pytest.raises(DpvizError, match=rule) as refused:
        make()
    assert isinstance(refused.value, DomainError | ParameterError)


@pytest.mark.parametrize(
    "aggregate",
    [
        None, "sum", [], {}, {"kind": "count"}, {"kind": "records", "columns": ["x"]}, {"kind": ["sum"]},
        {"kind": "sum", "column": "x", "low": "0", "high": "1"},
        {"kind": "sum", "column": "x", "low": "0", "high": "1", "step": "1", "clip": True},
        {"kind": "sum", "column": "x", "low": "0", "high": "1.0", "step": "1"},
        {"kind": "sum", "column": "x", "low": 0, "high": "1", "step": "1"},
    ],
)  # fmt: skip
def test_a_saved_aggregate_that_nobody_wrote_is_refused(aggregate: Any) -> None:
    with pytest.raises(DpvizError):
        Question.from_json({**Question.of(MONTHS).to_json(), "aggregate": aggregate})


EXAMPLES = {
    "Stability": {"delta": "1e-6"},
    "PureSparse": {"cap": "5"},
    "Compact": {"cap": "9"},
    "TopK": {"k": "2", "kbar": "5"},
    "TopKLaplace": {"k": "2", "kbar": "5"},
    "TopKSet": {"k": "2"},
    "ExponentialTopK": {"k": "2"},
}


_SPARSE_SUMS = {"Threshold", "ALP", "ThresholdALP", "MaxProjection", "ThresholdMaxProjection"}
current(_SPARSE_SUMS, "_SPARSE_SUMS of tests/model/test_question.py")
SPARSE_SUMS = {*_SPARSE_SUMS, *(name for name, samples in declared().items() if samples.sums)}
"""Mechanisms that answer sums, too."""

ONE_COLUMN = {"Tree"}
"""Mechanisms that count bins of one column alone."""


@pytest.mark.parametrize("name", [*REGISTRY, "Asking"])
@pytest.mark.parametrize("question", [SUM, RECORDS], ids=["sum", "records"])
def test_every_mechanism_that_counts_refuses_a_sum_and_records(name: str, question: Question) -> None:
    if name == "Asking":
        mechanism: Any = Asking(PayWhatYouGet(epsilon=1), 2, 5)
    else:
        mechanism = REGISTRY[name].from_parameters({"epsilon": "1", **EXAMPLES.get(name, {})})
    if getattr(mechanism, "draws_records", False):
        if question is RECORDS and name == "SampleCategory":
            assert mechanism.bind(question, Unit(noun="visit")).price.epsilon == 1
        with pytest.raises(ParameterError, match=f"{name} draws records; it answers nothing else"):
            mechanism.bind(SUM, Unit(noun="visit"))
        return
    if name in SPARSE_SUMS:
        if question is SUM:
            assert mechanism.bind(question, Unit(noun="visit")).price.epsilon <= 1
            return
        with pytest.raises(ParameterError, match=f"{name} counts rows and adds up values"):
            mechanism.bind(question, Unit(noun="visit"))
        return
    counted = question.domain.factors[0] if name in ONE_COLUMN else question.domain
    mechanism.bind(Question.of(counted), Unit(noun="visit"))  # the same bins are counted
    with pytest.raises(ParameterError, match=f"{name if name in REGISTRY else mechanism.name} counts rows"):
        mechanism.bind(question, Unit(noun="visit"))


def test_an_engine_refuses_the_largest_records_and_sums_before_it_looks_at_a_row() -> None:
    source = as_source(pd.DataFrame({"month": [1], "amount_paid": [5], "city": ["A"], "age": [20]}), name="data")
    for question, need in [(RECORDS, Top(3)), (SUM, Top(3))]:
        source.check(Question.of(question.domain), Unit(), need)
        with pytest.raises(ParameterError, match="counts rows"):
            source.check(question, Unit(), need)
        with pytest.raises(ParameterError, match="counts rows"):
            source.count(question, Unit(), need)


def test_a_session_charges_nothing_for_a_sum_that_it_cannot_answer(tmp_path: Path) -> None:
    data = pd.DataFrame({"month": [1], "amount_paid": [5], "city": ["A"], "age": [20]})
    session = dv.Session(data, Unit(), dv.Budget(1), tmp_path / "sums.ledger", dataset="data")
    for question in (SUM, RECORDS):
        with pytest.raises(ParameterError, match="Dense counts rows"):
            session.release(question, dv.Dense("1/2"))
        with pytest.raises(ParameterError, match="Dense counts rows"):
            session.plan(question, dv.Dense("1/2"))
    assert session.ledger.entries() == []


def test_a_sum_made_without_its_reader_is_checked_all_the_same() -> None:
    class Generous(Sum):
        pass

    with pytest.raises(ParameterError):
        Question(MONTHS, {}, Generous("x", 0, 1, 1))


NOUNS = {
    Domain.integers(0, 9, column="visits"): ("number of visits", "values of visits"),
    Domain.integers(0, 525_599, column="scheduled_minute"): ("scheduled minute", "values of scheduled minute"),
    Domain.intervals([0, 44_640, 84_960, 131_400], column="minute_of_year"): (
        "range of minute of year",
        "ranges of minute of year",
    ),
    Domain.intervals([0, 5, 10], column="calls"): ("range of calls", "ranges of calls"),
    Domain.times("2012", "2013", by="month", column="scheduled_time"): (
        "month of scheduled time",
        "months of scheduled time",
    ),
    Domain.times("2012", "2013", by="month", column="month"): ("month", "months"),
    Domain.categories(["a", "b"], column="city"): ("city", "cities"),
    Domain.keys(column="destination"): ("destination", "destinations"),
}
KINDS = [
    *((domain, *words) for domain, words in NOUNS.items()),
    *(
        (
            a * b,
            *(f"{many} of {one.removeprefix('number of ')} and {other}" for many in ("combination", "combinations")),
        )
        for (a, (one, _)), (b, (other, _)) in pairwise(NOUNS.items())
    ),
]
PARTS = [(domain, each) for domain, each, _ in KINDS if domain.declared and domain.size <= 1000]


def test_every_kind_of_domain_has_a_noun_here() -> None:
    assert {type(domain) for domain, _, _ in KINDS} == {*Domain.__subclasses__(), *_OneColumn.__subclasses__()} - {
        _OneColumn
    }


@pytest.mark.parametrize(("parts", "part"), PARTS)
@pytest.mark.parametrize(("domain", "each", "items"), KINDS)
def test_a_question_names_one_of_its_bins_and_one_of_its_parts(
    domain: Domain, each: str, items: str, parts: Domain, part: str
) -> None:
    if {*domain.columns} & {*parts.columns}:
        return
    asked, summed = (
        Question(domain, by=dv.Partition(parts)),
        Question.sum("paid", by=domain, low=0, high=1, step=1),
    )
    for text in (asked.sentence(Unit()), asked.title(Unit()), asked.text, asked.ranked_sentence(Unit(), 3)):
        assert re.findall("(?i)for each ([a-z ]*)", text) == [part], text
    assert f"for each {each}{'' if domain.declared else ' that occurs'}" in summed.sentence(Unit())
    assert domain.items == items
