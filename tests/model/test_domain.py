"""Domains: every bin has one number and one label, the call and the JSON give the same domain back."""

from __future__ import annotations

import itertools
import json
import math
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz as dv
from dpviz.errors import DomainError, ExactnessError, ParameterError
from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, IntervalDomain, ProductDomain, category_text
from dpviz.model.question import Question
from dpviz.model.words import supported, sure
from dpviz.model.words import told as told_number
from tests.model.declared import domains, labels, one_column

ROOT = Path(__file__).parents[2]


@given(domains())
def test_json_gives_the_same_domain_back(domain: Domain) -> None:
    assert Domain.from_json(domain.to_json()) == domain


@given(domains())
def test_the_call_that_is_shown_gives_the_same_domain_back(domain: Domain) -> None:
    assert eval(domain.python, {"dv": dv}) == domain


@given(domains())
def test_every_bin_has_one_label_and_there_are_as_many_as_the_size_says(domain: Domain) -> None:
    found = domain.labels
    assert len(found) == domain.size
    if not isinstance(domain, ProductDomain):
        assert len(set(found)) == domain.size
        assert len({domain.short_label(index) for index in range(domain.size)}) == domain.size
    for outside in (-1, domain.size):
        with pytest.raises(IndexError):
            domain.label(outside)


def test_the_numbers_of_a_product_are_read_with_commas_and_its_names_as_they_are() -> None:
    years, cities = Domain.integers(9_999, 10_000, column="at"), Domain.categories(["a · b", "10000"], column="city")
    assert [years.told(label) for label in years.labels] == ["9999", "10,000"]
    told = [(years * cities).told(label) for label in (years * cities).labels]
    assert told == ["9999 · a · b", "9999 · 10000", "10000 · a · b", "10,000 · 10000"]


def test_numbers_of_bins_read_as_the_page_writes_them() -> None:
    for label, read in json.loads((ROOT / "widgets" / "fixtures" / "labels.json").read_text(encoding="utf-8")).items():
        assert told_number(label) == read
        assert Domain.categories([label], column="x").told(label) == label


BORDERS = st.sampled_from(
    [-12_345, -1000, 0, 999, 1000, 1900, 2024, 8760, 9_999, 10_000, 17_520, 99_999, 131_400, 10**6]
)


@given(st.tuples(BORDERS, BORDERS).filter(lambda ends: ends[0] < ends[1]), st.booleans())
def test_wherever_a_stretch_of_numbers_is_named_both_ends_are_written_alike(ends: tuple[int, int], whole: bool) -> None:
    low, high = ends
    middle = (low + high) // 2
    many = [low, *(middle for _ in range(low < middle < high)), high]
    domain = Domain.integers(low, high, column="x") if whole else Domain.intervals(many, column="x")
    between = Question.of(domain, where={"y": dv.Between(low, high)}).where_text
    first, last = domain.label(0), domain.label(domain.size - 1)
    labels = map(domain.label, range(min(domain.size, 3)))
    stretches = [domain.text, domain.choices, domain.told_range(first, last), between, *map(domain.told, labels)]
    for text in stretches:
        grouped = bool(re.search(r"\d,\d{3}", text))
        assert not re.search(r"\d{5}", text), text
        assert not (grouped and re.search(r"(?<![\d,])[1-9]\d{3}(?!\d)", text)), text


@given(one_column())
def test_the_label_of_an_inner_bin_leads_back_to_it(domain: Domain) -> None:
    for index in range(domain.size):
        if isinstance(domain, IntegerDomain):
            if 0 <= (inner := index - domain.underflow) < domain.inner:
                assert domain.index(domain.label(index)) == domain.index(domain.low + inner) == index
        elif isinstance(domain, CategoryDomain):
            if index < len(domain.values):
                assert domain.index(domain.label(index)) == index
        else:
            assert isinstance(domain, IntervalDomain)
            if 0 <= (inner := index - domain.underflow) < domain.inner:
                left, right = domain.edges[inner : inner + 2]
                assert domain.index(left) == domain.index((left + right) / 2) == index
                assert domain.index(right) == (index if inner == domain.inner - 1 else index + 1)


@given(one_column())
def test_what_lies_outside_is_refused_but_for_a_number_in_an_interval_without_an_end(domain: Domain) -> None:
    """A bin of all others is read by its own name: it says nothing of one label, or of one whole number, in it."""
    for place in range(domain.size):
        if not isinstance(domain, IntervalDomain) or domain.label(place).startswith(("under", "over", "m")):
            assert domain.index(domain.label(place)) == place
    if isinstance(domain, CategoryDomain):
        outside = [("nowhere to be found", False, "other")]
    else:
        assert isinstance(domain, IntegerDomain | IntervalDomain)
        low, high = (
            (domain.low, domain.high) if isinstance(domain, IntegerDomain) else (domain.edges[0], domain.edges[-1])
        )
        unended = isinstance(domain, IntervalDomain)
        outside = [
            (low - 1, unended and domain.underflow, "under"),
            (high + 1, unended and domain.overflow, "over"),
        ]
    for label, there, name in outside:
        if there:
            assert domain.label(domain.index(label)).startswith(name)
        else:
            with pytest.raises(DomainError, match="a label must be one of"):
                domain.index(label)


def test_pairs_are_numbered_row_by_row() -> None:
    domain = Domain.integers(0, 1, column="x", overflow=True) * Domain.categories(["a", "b"], column="y")
    assert domain.size == 6
    assert domain.columns == ("x", "y")
    assert domain.labels == ["0 · a", "0 · b", "1 · a", "1 · b", "over 1 · a", "over 1 · b"]
    assert [domain.index((x, y)) for x in (0, 1, "over 1") for y in ("a", "b")] == list(range(6))
    for wrong in ("0 · a", (0,), [0, "a"]):
        with pytest.raises(DomainError, match="a pair"):
            domain.index(wrong)


def test_labels_and_texts_read_as_a_person_would_write_them() -> None:
    visits = Domain.integers(0, 40, column="visits", underflow=True, overflow=True, missing=True)
    assert visits.text == "under 0, 0, 1, …, 40, over 40, missing"
    assert [visits.short_label(index) for index in (0, 1, 41, 42, 43)] == ["<0", "0", "40", "41+", "missing"]
    index = Domain.intervals(["0", "1/3", "2"], column="index", overflow=True)
    assert index.labels == ["0 to below 1/3", "1/3 to 2", "over 2"]
    health = Domain.categories(["good", 1.0, True, Decimal("2.50")], column="health", other=True)
    assert health.labels == ["good", "1", "True", "2.5", "other"]
    assert Domain.integers(3, 3, column="x").text == "3"
    assert Domain.integers(3, 6, column="x").text == "3, 4, …, 6"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("007", "007"),
        (7, "7"),
        (7.0, "7"),
        (0.1, "0.1"),
        (Decimal("1.50"), "1.5"),
        (Fraction(1, 3), "1/3"),
        (1e23, "1" + "0" * 23),
        (True, "True"),
        ("", ""),
    ],
)
def test_numbers_are_matched_in_their_shortest_exact_form(value: object, text: str) -> None:
    assert category_text(value) == text


@given(labels)
def test_the_text_of_a_category_is_its_own_text(label: object) -> None:
    assert category_text(category_text(label)) == category_text(label)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Domain.integers(3, 0, column="x"), "must not be reversed, got 3 to 0"),
        (lambda: Domain.integers("1/2", 3, column="x"), "low must be a whole number, got 0.5; use Domain.intervals"),
        (lambda: Domain.integers(0, "many", column="x"), "high must be a finite number, got many"),
        (lambda: Domain.integers(0, math.inf, column="x"), "high must be a finite number, got inf"),
        (lambda: Domain.integers(0, math.nan, column="x"), "high must be a finite number, got nan"),
        (lambda: Domain.integers(False, True, column="x"), "low must be a whole number, got False, a boolean"),
        (lambda: Domain.integers(0, 10**5000, column="x"), "high must be below 1e200"),
        (lambda: Domain.integers(0, 3, column=""), "the name of a column"),
        (lambda: Domain.integers(0, 3, column=None), "the name of a column, got None"),
        (lambda: Domain.integers(0, 3, column="\ud800"), "written as UTF-8"),
        (lambda: Domain.integers(0, 3, column="x", overflow=1), "True or False, got 1"),
        (lambda: Domain.intervals([], column="x"), "at least two edges, got 0 edges"),
        (lambda: Domain.intervals([1], column="x"), "at least two edges, got 1 edges"),
        (lambda: Domain.intervals([0, 2, 2], column="x"), "edges must increase.* got 2, 2"),
        (lambda: Domain.intervals([0, 2, 1], column="x"), "edges must increase.* got 2, 1"),
        (lambda: Domain.intervals([0, "1e-9000"], column="x"), "edge 2 must be at least 1e-197"),
        (lambda: Domain.intervals("0123", column="x"), "must be public.* got str; write a list of the values"),
        (lambda: Domain.categories([], column="x"), "at least one label"),
        (
            lambda: Domain.categories(["a", "b", "a"], column="x"),
            "labels must differ, got label 1 and label 3 alike; leave one",
        ),
        (lambda: Domain.categories([1, 1.0], column="x"), "labels must differ, got label 1 and label 2 alike"),
        (
            lambda: Domain.categories(["other"], column="x", other=True),
            "labels must differ, got the bin other and label 1 alike; give that",
        ),
        (
            lambda: Domain.categories(["missing"], column="x", missing=True),
            "labels must differ, got the bin missing and label 1 alike; give",
        ),
        (lambda: Domain.categories([None], column="x"), "label 1 must be a text or a number, got NoneType"),
        (lambda: Domain.categories(["\udfff"], column="x"), "written as UTF-8"),
        (lambda: Domain.categories({"a", "b"}, column="x"), "must be public.* got set; write a list of the values"),
        (lambda: Domain.categories(iter(["a"]), column="x"), "must be public.* got list_iterator; write a list"),
        (
            lambda: Domain.integers(0, 3, column="x") * Domain.integers(0, 3, column="x"),
            "columns of a product must differ, got x",
        ),
        (lambda: Domain.integers(0, 3, column="x") * "y", 'made of one-column domains, got "y"'),
    ],
)
def test_what_declares_no_bins_is_refused(make: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says) as refused:
        make()
    assert isinstance(refused.value, DomainError | ExactnessError)
    assert refused.value.value
    assert refused.value.rule


def test_a_product_of_products_is_one_product_with_the_last_factor_running_fastest() -> None:
    x, y = Domain.integers(0, 1, column="x", overflow=True), Domain.categories(["a", "b"], column="y")
    z, w = Domain.intervals([0, 1, "5/2"], column="z"), Domain.integers(7, 7, column="w")
    product = x * y * z
    assert product == x * (y * z) == Domain.product(x, y, z)
    assert product.factors == (x, y, z) and x.factors == (x,)
    assert (product.size, product.columns, product.columns_text) == (12, ("x", "y", "z"), "x, y and z")
    labels = [(i, j, k) for i in (0, 1, "over 1") for j in ("a", "b") for k in (0, 2)]
    assert [product.index(label) for label in labels] == list(range(12))
    assert product.labels == [" · ".join(label) for label in itertools.product(x.labels, y.labels, z.labels)]
    assert product.label(11) == "over 1 · b · 1 to 2.5"
    assert product.text == "(0, 1, over 1) × (a, b) × (0 to below 1, 1 to 2.5)"
    assert eval(product.python, {"dv": dv}) == product
    assert (product * w).columns_text == "x, y, z and w"
    for wrong in (("a",), (0, "a"), (0, "a", 1, 7), [0, "a", 1]):
        with pytest.raises(DomainError, match="a tuple of 3 labels"):
            product.index(wrong)
    for beside in (-1, 12):
        with pytest.raises(IndexError):
            product.label(beside)


def test_a_product_of_three_is_saved_as_a_list_and_one_of_two_as_it_always_was() -> None:
    x, y, z = (Domain.integers(0, 1, column=name) for name in "xyz")
    assert (x * y).to_json() == {"kind": "product", "first": x.to_json(), "second": y.to_json()}
    assert (x * y * z).to_json() == {"kind": "product", "factors": [x.to_json(), y.to_json(), z.to_json()]}
    for domain in (x * y, x * y * z):
        assert Domain.from_json(domain.to_json()) == domain
    one, two, three, both = x.to_json(), y.to_json(), z.to_json(), (y * z).to_json()
    for wrong in (
        {"kind": "product"},
        {"kind": "product", "factors": [one, two]},
        {"kind": "product", "factors": [one, both, 1]},
        {"kind": "product", "factors": [one, both, Domain.integers(0, 1, column="w").to_json()]},
        {"kind": "product", "factors": [one, two, three], "first": one},
    ):
        with pytest.raises(DomainError, match="a saved domain"):
            Domain.from_json(wrong)


def test_a_product_is_bounded_and_its_columns_differ() -> None:
    bits = [Domain.integers(0, 1, column=f"x{number}") for number in range(2049)]
    assert Domain.product(*bits[:2048]).size == 2**2048
    assert Domain.product(*bits[:12]).columns_text == "x0, x1, x2, x3 and 8 more columns"
    assert len(Domain.product(*bits[:2048]).text) < 100
    ones = [Domain.integers(0, 0, column=f"y{number}") for number in range(2049)]
    wide = Domain.integers(0, 2**600, column="wide")
    for factors in (bits, ones, [*bits[:2000], wide]):
        with pytest.raises(DomainError, match="at most 2,048 factors and"):
            Domain.product(*factors)
    with pytest.raises(DomainError, match="must differ, got x0"):
        Domain.product(bits[0], bits[1], bits[0])
    for few in ([], bits[:1]):
        with pytest.raises(DomainError, match="at least two factors"):
            Domain.product(*few)


def test_a_product_with_unknown_keys_has_no_numbers_and_no_two_of_its_bins_are_one_text() -> None:
    months, dests = Domain.integers(1, 12, column="month"), Domain.keys(column="dest")
    product = months * dests
    assert (product.declared, product.size_text, product.columns) == (
        False,
        "unknown keys in 12 bins",
        ("month", "dest"),
    )
    assert product.point((3, "ATL")) == "02ATL" and product.name("02ATL") == "3 · ATL"
    assert product.parts("02ATL") == ("3", "ATL") and (dests * months).name("02ATL") == "ATL · 3"
    assert Domain.from_json(product.to_json()) == product
    assert eval(product.python, {"dv": __import__("dpviz")}) == product
    for wrong in ("ATL", "12ATL", "2", "", "²2ATL", 7, None):
        assert not product.holds(["02ATL", wrong])
    assert product.holds(["02ATL", "00", "11 x"])
    with pytest.raises(DomainError, match="needs declared bins"):
        product.size  # noqa: B018
    with pytest.raises(DomainError, match="keys have no numbers"):
        product.index((3, "ATL"))
    with pytest.raises(DomainError, match="a label of this product is a pair, got str"):
        product.point("ATL")
    with pytest.raises(DomainError, match="a label must be one of 1, 2, …, 12, got 13"):
        product.point((13, "ATL"))
    with pytest.raises(DomainError, match="must differ, got month"):
        product * Domain.keys(column="month")
    with pytest.raises(DomainError, match="at most 2\\^62 declared bins"):
        dests * Domain.integers(0, 2**62, column="x")
    assert not (dests * Domain.integers(1, 2**62, column="x")).declared


def test_labels_of_several_keys_are_told_apart_whatever_signs_they_hold() -> None:
    two = Domain.categories(["a", "a · b"], column="x") * Domain.keys(column="y") * Domain.keys(column="z")
    signs = ["", "a", "a · b", "b · c", "c", "|", "~", "~0", "~1", "a|b", '"a"', '"', " ·", "· "]
    labels = list(itertools.product(["a", "a · b"], signs, signs))
    points = [two.point(label) for label in labels]
    assert len(set(points)) == len(labels) == len({two.name(point) for point in points})
    assert [two.parts(point) for point in points] == labels and two.holds(points)
    for wrong in ("0a", "0a|b|c", "0~|a", "0~2|a", "2a|b"):
        assert not two.holds([wrong])


SERIES = pd.Series([3, 1, 2])
FROM_DATA = {
    "series": SERIES,
    "array": SERIES.to_numpy(),
    "unique values": SERIES.unique(),
    "index": SERIES.value_counts().index,
    "categorical": pd.Categorical(SERIES),
    "data frame": SERIES.to_frame(),
    "arrow of numbers": list(SERIES.to_numpy()),
}


@pytest.mark.parametrize("what", FROM_DATA)
def test_values_of_a_frame_are_no_domain(what: str) -> None:
    values = FROM_DATA[what]
    for make in (
        lambda: Domain.categories(values, column="x"),
        lambda: Domain.intervals(values, column="x"),
        lambda: Domain.integers(0, SERIES.max(), column="x"),
        lambda: Domain.integers(SERIES, 3, column="x"),
        lambda: Domain.categories([SERIES], column="x"),
        lambda: Domain.categories([np.str_("a")], column="x"),
    ):
        with pytest.raises(DomainError, match="must be public"):
            make()


@pytest.mark.parametrize(
    "data",
    [
        None, [], "integers", {}, {"kind": "strings"}, {"kind": ["integers"]}, {"kind": None},
        {"kind": "integers", "column": "x", "low": "0"},
        {"kind": "integers", "column": "x", "low": "0", "high": "3", "overflow": "yes"},
        {"kind": "integers", "column": "x", "low": "0", "high": "3", "wrap": True},
        {"kind": "integers", "column": "x", "low": "0", "high": ["3"]},
        {"kind": "integers", "column": "x", "low": "0", "high": {"a": 1}},
        {"kind": "intervals", "column": "x", "edges": "0123"},
        {"kind": "intervals", "column": ["x"], "edges": ["0", "1"]},
        {"kind": "categories", "column": "x", "labels": [["a"]]},
        {"kind": "categories", "column": "x", "labels": {"a": 1}},
        {"kind": "product", "first": {"kind": "integers", "column": "x", "low": "0", "high": "3"}},
        {"kind": "product", "first": "x", "second": "y"},
        {"kind": "from_json", "data": {}},
    ],
)  # fmt: skip
def test_json_that_is_no_domain_is_refused_with_our_error(data: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        Domain.from_json(data)
    assert refused.value.rule


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=5,
)


@given(st.data())
def test_json_with_one_part_replaced_is_a_domain_or_our_error(data: st.DataObject) -> None:
    written = data.draw(domains()).to_json()
    name = data.draw(st.sampled_from(sorted(written)))
    forged = {**written, name: data.draw(JSON)}
    try:
        found = Domain.from_json(forged)
    except ParameterError:
        return
    assert Domain.from_json(found.to_json()) == found


@pytest.mark.parametrize("underflow", [False, True])
@pytest.mark.parametrize("overflow", [False, True])
def test_whole_numbers_in_a_row_have_the_bins_that_each_of_them_has(underflow: bool, overflow: bool) -> None:
    domain = Domain.integers(-2, 3, column="x", underflow=underflow, overflow=overflow)
    for start in range(-4, 6):
        for stop in range(-4, 7):
            labels, inside = range(start, stop), start < stop and start >= -2 and stop <= 4
            assert domain.run(labels) == (range(domain.index(start), domain.index(stop - 1) + 1) if inside else None)
    assert domain.run(range(0, 3, 2)) is None and domain.run(range(3, 0, -1)) is None
    assert Domain.intervals([0, Fraction(6, 5), Fraction(3, 2), 4], column="x").run(range(3)) is None


def test_a_number_has_the_digits_that_its_interval_supports_as_the_page_writes_them() -> None:
    for text, half, side, read in json.loads(
        (ROOT / "widgets" / "fixtures" / "digits.json").read_text(encoding="utf-8")
    ):
        number = Fraction(text)
        assert sure(number, None if half is None else Fraction(half), side) == read


@given(st.fractions(-(10**6), 10**6), st.fractions(Fraction(1, 10**4), 10**4))
def test_rounded_ends_never_narrow_an_interval_and_a_value_moves_little_of_it(value: Fraction, half: Fraction) -> None:
    low, told, high = (value if (found := supported(value, half, side)) is None else found for side in (-1, 0, 1))
    assert (
        low <= value <= high and abs(told - value) <= max(Fraction(1, 2), half / 2) and high - low <= max(1, half / 10)
    )
