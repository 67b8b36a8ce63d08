"""Exercises that check themselves: predict, be told what the prediction misses, and only then reveal.

Nothing is stored, sent or graded. The answer stands in no output before somebody predicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, Final

from dpviz.boundary import dict_arguments, kind_of, protect_module, single_arguments
from dpviz.errors import ParameterError, short
from dpviz.exact import Number, rational
from dpviz.model.words import escape, shown

FEWEST: Final = 2
"""How many wrong answers an exercise explains, at least."""

DOTS: Final = kind_of(...)
"""The value that stands in a notebook where a prediction belongs."""

INVITATION: Final = "Write your prediction in place of the dots in the next cell, and run it."
FIRST: Final = "Predict first: write your answer in place of the dots, and run the cell again."
HOW_TO_REVEAL: Final = "Try again. To see the answer, add .reveal() to the end of the line."


@dataclass(frozen=True)
class Exercise:
    """One question. Call it with a prediction: `first("b")` or `second("3/2")`. Its repr does not give the answer away.

    question  what is asked
    choices   the texts to choose from, by their letters; empty where the answer is a number
    right     the letter or the number that is right
    why       the reason
    wrong     the wrong answers that are expected, and what each of them misses
    within    how far a number may lie from an answer and still be taken for it
    """

    question: str
    choices: Mapping[str, str]
    right: Fraction | str
    why: str
    wrong: Mapping[Fraction | str, str]
    within: Fraction = Fraction(0)

    @single_arguments
    def __call__(self, prediction: object = None) -> Verdict:
        """The verdict on the prediction, right or missed. Without one, or with `...`, an invitation to predict.

        Raises ParameterError for anything but one of the letters, and ExactnessError for anything but a number, where
        the answer is a number.
        """
        if prediction is None or kind_of(prediction) == DOTS:
            return Verdict(self, None, FIRST)
        given = self._read(prediction)
        if self._meets(given, self.right):
            return Verdict(self, True, self.why)
        for answer, miss in self.wrong.items():
            if self._meets(given, answer):
                return Verdict(self, False, miss)
        return Verdict(self, False, "The answer is larger." if given < self.right else "The answer is smaller.")

    def _read(self, prediction: Any) -> Any:
        if not self.choices:
            return rational(prediction, "a prediction")
        if type(prediction) is str and prediction.strip().lower() in self.choices:
            return prediction.strip().lower()
        given = short(prediction) if type(prediction) is str else kind_of(prediction)
        letters = " or ".join(f'"{letter}"' for letter in self.choices)
        raise ParameterError.of(given, f"this exercise is answered by {letters}", "write one of the letters in quotes")

    def _meets(self, given: Any, answer: Any) -> bool:
        return bool(given == answer if self.choices else abs(given - answer) <= self.within)

    @property
    def answer(self) -> str:
        """The right answer and its reason, in words."""
        if self.choices:
            return f'The answer is "{self.right}": {self.choices[str(self.right)].rstrip(".")}. {self.why}'
        number = Fraction(self.right)
        exact = not self.within or number.denominator == 1
        told = shown(number) if exact else f"about {shown(round(number / self.within) * self.within)}"
        return f"The answer is {told}. {self.why}"

    def __repr__(self) -> str:
        return "\n".join([self.question, *(f'  "{letter}"  {text}' for letter, text in self.choices.items())])

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li><code>&quot;{escape(letter)}&quot;</code> {_marked(text)}</li>"
            for letter, text in self.choices.items()
        )
        choices = f"<ul>{items}</ul>" if items else ""
        return _block(f"<p><strong>{_marked(self.question)}</strong></p>{choices}<p>{INVITATION}</p>")


@dataclass(frozen=True)
class Verdict:
    """The verdict of an exercise on one prediction.

    right  whether the prediction is right; None before there is one, and of an answer that is revealed
    says   the reason where it is right, what was missed where it is wrong
    """

    exercise: Exercise = field(repr=False)
    right: bool | None
    says: str

    def reveal(self) -> Verdict:
        """The answer and its reason, once something was predicted."""
        return self if self.right is None else Verdict(self.exercise, None, self.exercise.answer)

    def _sentence(self) -> str:
        return {True: "Right. ", False: "Not yet. ", None: ""}[self.right] + self.says

    def __repr__(self) -> str:
        return self._sentence() + (f"\n{HOW_TO_REVEAL}" if self.right is False else "")

    def _repr_html_(self) -> str:
        answer = f"<details><summary>Reveal the answer</summary><p>{_marked(self.exercise.answer)}</p></details>"
        return _block(f"<p>{_marked(self._sentence())}</p>" + (answer if self.right is False else ""))


def _marked(text: str) -> str:
    """A text in HTML; what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _block(content: str) -> str:
    """The class keeps notebooks from reading two dollar signs as a formula."""
    return f"<div class='mathjax_ignore tex2jax_ignore'>{content}</div>"


@dict_arguments
def exercise(
    question: str,
    choices: Mapping[str, str] | None = None,
    *,
    right: Number,
    why: str,
    wrong: Mapping[Any, str],
    within: Number = 0,
) -> Exercise:
    """Make an exercise for a lesson, which answers each prediction with a sentence: no widget, no network, no grader.

    Parameters
    ----------
    question : str
        The text of the question.
    choices : dict of str to str, optional
        The texts to choose from, by letters: ``{"a": "…", "b": "…"}``; left out, the answer is a number.
    right : str, int, float or Fraction
        The right letter, or the right number, which is read exactly.
    why : str
        The reason, which is told with the right answer.
    wrong : dict
        By wrong answer the sentence that explains it: two of them at least, and of choices all.
    within : str, int, float or Fraction, default 0
        The distance from an answer within which a number is taken for it.

    Returns
    -------
    Exercise
        The exercise: call it with a prediction.

    Raises
    ------
    ParameterError
        If fewer than two wrong answers are explained, a choice has no explanation, or two answers lie so near each
        other that one prediction could be taken for both.

    Examples
    --------
    >>> first = exercise(
    ...     "You ask the same question twice, with ε = 1/2 each time and a new key. What do you pay?",
    ...     right=1,
    ...     why="Two independent draws tell more than one: their prices add up.",
    ...     wrong={
    ...         "1/2": "That is what one draw costs, or the same draw shown again. With a new key the noise is new.",
    ...         "1/4": "Prices are added, not multiplied.",
    ...     },
    ... )
    >>> first(...)
    Predict first: write your answer in place of the dots, and run the cell again.
    >>> first("1/4")
    Not yet. Prices are added, not multiplied.
    Try again. To see the answer, add .reveal() to the end of the line.
    >>> first(2)
    Not yet. The answer is smaller.
    Try again. To see the answer, add .reveal() to the end of the line.
    >>> first(1)
    Right. Two independent draws tell more than one: their prices add up.
    """
    offered = {} if choices is None else choices
    if not isinstance(offered, dict) or not isinstance(wrong, dict):
        given = kind_of(wrong if isinstance(offered, dict) else offered)
        raise ParameterError.of(given, "choices and wrong answers are dicts of texts", 'write wrong={"1/2": "…"}')
    if not all(type(text) is str and text.strip() for text in [question, why, *offered.values(), *wrong.values()]):
        raise ParameterError.of("something else", "question, choices and reasons are texts", 'write why="…"')
    if len(wrong) < FEWEST:
        raise ParameterError.of(
            f"{len(wrong)} explained", "an exercise explains two wrong answers or more", "add what people get wrong"
        )
    if offered:
        if set(offered) != {right, *wrong} or right in wrong:
            raise ParameterError.of(
                f"right={short(right)}",
                "one choice is right, and wrong explains every other",
                "compare the letters in choices, right and wrong",
            )
        return Exercise(question, offered, str(right), why, wrong)
    near = rational(within, "within")
    numbers: dict[Fraction | str, str] = {rational(answer, "wrong"): miss for answer, miss in wrong.items()}
    answers = [rational(right, "right"), *(Fraction(answer) for answer in numbers)]
    if near < 0:
        raise ParameterError.of(within, "within must be 0 or more", "leave it out for an exact answer")
    if len(numbers) < len(wrong) or any(abs(one - other) <= 2 * near for one, other in combinations(answers, 2)):
        raise ParameterError.of(
            f"within={short(within)}", "no prediction may be near two answers", "choose answers further apart"
        )
    return Exercise(question, {}, answers[0], why, numbers, near)


protect_module(vars())
