"""An exercise in a real notebook: the question, what a wrong prediction missed, and the answer only on demand."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.browser.lab import Lab, Notebook

EXERCISE = """import dpviz as dv
first = dv.exercise(
    "What do two draws with new keys cost, at `epsilon=1/2` each?",
    {"a": "1/2", "b": "1", "c": "1/4"},
    right="b",
    why="Prices add up.",
    wrong={"a": "That is one of the two.", "c": "Prices are not multiplied."},
)
first"""
ANSWER = 'The answer is "b": 1. Prices add up.'


def test_a_wrong_prediction_is_told_why_and_the_answer_opens_by_keyboard(lab: Lab, browser: Browser) -> None:
    lab.write("exercise/exercise.ipynb", EXERCISE, "first(...)", 'first("a")')
    with Notebook.open(lab, browser, "exercise/exercise.ipynb") as it:
        it.run_all()
        question, invitation, verdict = (it.page.locator(".jp-OutputArea-output").nth(place) for place in range(3))
        expect(question).to_contain_text("What do two draws with new keys cost, at epsilon=1/2 each?")
        expect(question.get_by_role("listitem")).to_have_text(['"a" 1/2', '"b" 1', '"c" 1/4'])
        expect(question.locator("code").first).to_have_text("epsilon=1/2")
        expect(invitation).to_contain_text("Predict first")
        expect(verdict).to_contain_text("Not yet. That is one of the two.")

        answer = it.page.get_by_text(ANSWER)
        expect(answer).to_have_count(1)
        expect(answer).to_be_hidden()
        verdict.get_by_text("Reveal the answer").focus()
        it.page.keyboard.press("Enter")
        expect(answer).to_be_visible()
        it.screenshot("revealed")
        assert it.errors == it.offsite == []
