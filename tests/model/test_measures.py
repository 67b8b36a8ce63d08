"""A mechanism lists what can be said of its error, with the words; nobody else knows the names."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.mechanisms import Compact, Dense, ExponentialTopK, PureSparse, Stability, TopK, TopKLaplace, TopKSet, Tree
from dpviz.model.error import ErrorValue
from dpviz.model.measures import headline, ordinal
from dpviz.model.mechanism import Bound, Mechanism

ROW = dv.Unit("row", noun="visit")
N = dv.Unit("row", relation="replace-one", n=1000, noun="visit")
BINS = dv.Question.of(dv.Domain.integers(0, 40, column="visits", overflow=True))
KEYS = dv.Question.of(dv.Domain.keys(column="visits"))
BETA = Fraction(1, 20)

CASES: dict[str, tuple[Mechanism, dv.Question, dv.Unit, list[str]]] = {
    "Dense": (Dense("1/2"), BINS, ROW, ["Any one bin", "All 42 at once", "An empty bin"]),
    "Stability": (Stability("1/2", "1e-6"), BINS, ROW, ["Any one bin", "All 42 at once", "An empty bin"]),
    "keys": (Stability("1/2", "1e-6"), KEYS, ROW, ["Any one bin", "All bins at once", "An empty bin"]),
    "PureSparse": (PureSparse("1/2", cap=10), BINS, ROW, ["Any one bin", "All 42 at once", "An empty bin"]),
    "Compact": (Compact("1/2"), BINS, N, ["Any one bin", "All 42 at once", "An empty bin"]),
    "Tree": (Tree("1/2"), BINS, ROW, ["Any one bin", "The 10 bins 16 to 25", "All 42 at once"]),
    "TopK": (TopK(3, 20, "1", "1e-6"), KEYS, ROW, ["To be listed", "Listed at worst"]),
    "no end": (TopK(3, 42, "1", domain_rule="paper"), BINS, ROW, ["Listed at worst"]),
    "TopKSet": (TopKSet(3, "1", "1e-6"), KEYS, ROW, ["To be listed"]),
    "TopKLaplace": (
        TopKLaplace(3, 20, "1", "1e-6"),
        KEYS,
        ROW,
        ["To be listed", "Listed at worst", "Any one value", "All values at once"],
    ),
    "ExponentialTopK": (ExponentialTopK(3, "1"), BINS, ROW, ["Listed at worst"]),
}


def bound(name: str) -> Bound:
    mechanism, question, unit, _ = CASES[name]
    return mechanism.bind(question, unit)


@pytest.mark.parametrize("name", CASES)
def test_a_mechanism_lists_its_measures_in_the_order_in_which_they_matter(name: str) -> None:
    measures = bound(name).measures
    assert [measure.label for measure in measures] == CASES[name][3]
    assert [measure.label for measure in headline(measures)] == CASES[name][3][:2]
    assert len({measure.name for measure in measures}) == len(measures)


@pytest.mark.parametrize("name", CASES)
def test_a_measure_states_its_error_or_says_why_there_is_none(name: str) -> None:
    for measure in bound(name).measures:
        for beta in (Fraction(1, 10), BETA, Fraction(1, 100)):
            error = measure.at(beta)
            assert error is not None or measure.missing
        filled = {
            part: text.format(value=7, times="95 times in 100", often="95 in 100", done="released")
            for part, text in (("phrase", measure.phrase), ("tip", measure.tip))
        }
        assert "7" in filled["phrase"] and "95 times in 100" in filled["tip"]
        assert bool(measure.sign) == bool(measure.origin)


def test_an_error_that_nothing_public_bounds_is_missing_with_a_reason() -> None:
    _, every, _ = bound("keys").measures
    assert every.at(BETA) is None
    assert every.missing == "nothing public says how many bins are occupied, so no bar holds for all of them"


def test_a_measure_asks_the_error_model_and_adds_nothing() -> None:
    made = bound("Dense")
    one, every, edge = made.measures
    assert one.at(BETA) == made.error.one_bin(BETA) and every.at(BETA) == made.error.all_bins(BETA)
    assert edge.at(BETA) == made.error.one_bin(BETA, count=0) != one.at(BETA)
    assert one.given is not None and one.given(BETA, 3) == made.error.one_bin(BETA, count=3)
    listed = bound("TopK").measures[0]
    assert (listed.sign, listed.origin) == ("+", "above the 21st count")


@pytest.mark.parametrize(("name", "comes"), [("TopK", "comes before ⊥"), ("TopKSet", "is listed")])
def test_only_a_set_promises_that_an_item_is_listed(name: str, comes: str) -> None:
    """The places of a list may be filled before an item is drawn that lies far above the next count."""
    listed = bound(name).measures[0]
    assert listed.phrase.endswith(f"count {comes}") and f"count {comes} at least" in listed.tip


def test_a_domain_of_one_bin_is_not_told_as_all_one_of_them() -> None:
    one = dv.Domain.integers(0, 0, column="visits")
    made = Dense("1/2").bind(dv.Question.of(one), ROW)
    assert made.verb == "Adds noise to 1 count and shows it." and one.size_text == "1 bin"
    every = made.measures[1]
    assert (every.label, every.short, every.phrase) == ("The only bin", "the only bin", "the only bin within {value}")
    assert dv.Unit("user", max_bins=1).text == "one user, add or remove, at most 1 bin, 1 in each"


def test_a_private_choice_of_rows_has_no_place_for_the_next_count() -> None:
    made = TopK(3, kbar="private", epsilon="1", delta="1e-6", largest=20).bind(KEYS, ROW)
    assert made.measures[0].origin == "above the next count"


def test_a_numerical_error_and_no_other_says_how_far_off_it_may_be() -> None:
    stated = ErrorValue(Fraction(3), "numerical", "an integral", off=Fraction(1, 1000))
    assert stated.to_json() == {"value": "3", "kind": "numerical", "rule": "an integral", "off": "0.001"}
    for how, off in (("numerical", None), ("exact", Fraction(1))):
        with pytest.raises(ParameterError, match="how far off it may be"):
            ErrorValue(Fraction(3), how, "a rule", off=off)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "words"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (12, "12th"), (21, "21st"), (5001, "5,001st")],
)
def test_a_place_is_written_as_a_person_says_it(place: int, words: str) -> None:
    assert ordinal(place) == words
