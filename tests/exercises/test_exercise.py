"""An exercise says something useful of every prediction, and its answer is nowhere to be read before one."""

from __future__ import annotations

import html
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ExactnessError, ParameterError
from dpviz.exercises import FIRST, HOW_TO_REVEAL, Exercise

PARTS: dict[str, Any] = {
    "question": "What do two draws with new keys cost, at ε = 1/2 each?",
    "right": 1,
    "why": "Prices add up.",
    "wrong": {"1/2": "That is one draw.", "1/4": "Prices are not multiplied."},
}
CHOICES: dict[str, Any] = {
    "question": "Which is more private, <b>ε</b>?",
    "choices": {"a": "The larger", "b": "The `smaller`", "c": "Neither"},
    "right": "b",
    "why": "It moves the odds less.",
    "wrong": {"a": "It allows larger odds.", "c": "ε bounds how far the odds move."},
}


def number(**parts: Any) -> Exercise:
    return dv.exercise(**PARTS | parts)


def test_the_right_answer_gets_its_reason_and_each_wrong_one_what_it_misses() -> None:
    one = number()
    for right in (1, "1", 1.0, Fraction(1), np.float64(1), np.int64(1)):
        assert one(right).right is True and one(right).says == "Prices add up."
    assert (one("1/2").right, one("1/2").says) == (False, "That is one draw.")
    assert (one(0.25).right, one(0.25).says) == (False, "Prices are not multiplied.")


def test_an_unexpected_number_is_told_on_which_side_the_answer_lies() -> None:
    assert [number()(given).says for given in ("3/4", 7)] == ["The answer is larger.", "The answer is smaller."]
    assert not number()("3/4").right and not number()(7).right


def test_numbers_are_exact_unless_the_exercise_says_how_near_is_near_enough() -> None:
    third = Fraction(1, 3)
    assert number(right=third)(0.333).right is False
    near = number(right=third, within="0.001")
    assert near(0.333).right and near("1/3").right and not near(0.3315).right
    assert near(0.5005).says == "That is one draw." and near(0.502).says == "The answer is smaller."
    assert near.answer == "The answer is about 0.333. Prices add up."
    whole = number(right=39, within=2, wrong={20: "Twenty.", 400: "Four hundred."})
    assert whole.answer == "The answer is 39. Prices add up.", "not about 40"


def test_an_author_may_give_numbers_as_a_law_returns_them() -> None:
    one = number(right=np.float64(0.75), wrong={np.float64(0.5): "Half.", 1: "All."}, within=np.float64(0.01))
    assert one("3/4").right and one(0.5).says == "Half." and one(1).says == "All."


def test_a_choice_is_read_as_people_type_it() -> None:
    one = dv.exercise(**CHOICES)
    assert one("b").right and one(" B ").right
    assert one("a").says == "It allows larger odds." and one("c").right is False


@pytest.mark.parametrize("nothing", [(), (...,), (None,)])
def test_before_a_prediction_there_is_an_invitation_and_nothing_to_reveal(nothing: tuple[Any, ...]) -> None:
    for one in (number(), dv.exercise(**CHOICES)):
        verdict = one(*nothing)
        assert (verdict.right, verdict.says) == (None, FIRST)
        assert verdict.reveal() is verdict, "predict first"
        assert one.why not in repr(verdict) + verdict._repr_html_()


def test_the_question_gives_nothing_away() -> None:
    for one in (number(), dv.exercise(**CHOICES)):
        shown = repr(one) + one._repr_html_()
        assert one.question in repr(one)
        assert not [text for text in (one.why, *one.wrong.values()) if text in shown]


def test_a_wrong_prediction_may_reveal_the_answer_in_text_and_on_a_page() -> None:
    one = dv.exercise(**CHOICES)
    verdict = one("a")
    assert repr(verdict) == f"Not yet. It allows larger odds.\n{HOW_TO_REVEAL}"
    assert repr(verdict.reveal()) == 'The answer is "b": The `smaller`. It moves the odds less.'
    assert verdict.reveal().right is None, "what is revealed was not answered"
    assert repr(number()("1/2").reveal()) == "The answer is 1. Prices add up."
    assert "<details><summary>Reveal the answer</summary>" in verdict._repr_html_()
    assert "details" not in one("b")._repr_html_(), "whoever was right has read the reason"


def test_texts_are_escaped_and_backticks_are_code() -> None:
    one = dv.exercise(**CHOICES)
    page = one._repr_html_()
    assert "<b>" not in page and html.escape(CHOICES["question"]) in page
    assert "The <code>smaller</code>" in page and "<code>&quot;b&quot;</code>" in page
    assert "mathjax_ignore" in page


@pytest.mark.parametrize("given", ["e", "", 1, True, ["a"], "yes or no"])
def test_what_is_none_of_the_choices_is_refused_with_the_letters(given: Any) -> None:
    with pytest.raises(ParameterError, match=r'answered by "a" or "b" or "c"') as refused:
        dv.exercise(**CHOICES)(given)
    assert refused.value.next_step


@pytest.mark.parametrize("given", ["a", "", True, [1], float("nan"), "1/0"])
def test_what_is_no_number_is_refused(given: Any) -> None:
    with pytest.raises(ExactnessError, match="a prediction must be a (finite )?number"):
        number()(given)


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ({"wrong": {"1/2": "One."}}, "two wrong answers or more, got 1 explained"),
        ({"wrong": {}}, "two wrong answers or more"),
        ({"wrong": {"1/2": "One.", "1/4": " "}}, "are texts"),
        ({"why": ""}, "are texts"),
        ({"question": 7}, "are texts"),
        ({"wrong": ["1/2", "1/4"]}, "dicts of texts, got list"),
        ({"choices": "ab"}, "dicts of texts, got str"),
        ({"wrong": {"1/2": "One.", "0.5": "The same."}}, "near two answers"),
        ({"wrong": {"1": "Right.", "1/2": "One."}}, "near two answers"),
        ({"within": "1/4"}, "near two answers"),
        ({"within": -1}, "within must be 0 or more"),
        ({"right": "one"}, "right must be a finite number"),
    ],
)
def test_an_exercise_that_could_not_help_is_refused(parts: dict[str, Any], rule: str) -> None:
    with pytest.raises(DpvizError, match=rule):
        number(**parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"right": "d"},
        {"wrong": {"a": "No.", "b": "It is right.", "c": "No."}},
        {"choices": {"a": "One", "b": "Two", "c": "Three", "d": "Four"}},
        {"wrong": {"a": "No.", "d": "Not there."}},
    ],
)
def test_choices_are_one_right_one_and_others_that_are_explained(parts: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="one choice is right, and wrong explains every other"):
        dv.exercise(**CHOICES | parts)


def test_an_exercise_with_two_explained_choices_is_one() -> None:
    assert dv.exercise(**CHOICES)("b").right
