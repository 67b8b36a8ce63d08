"""The facts about the data on which the errors of a plan rest, in words, for a plan and the advice beside it."""

from __future__ import annotations

from dpviz.boundary import protect_module
from dpviz.model.mechanism import Bound


def told(bound: Bound) -> tuple[str, str] | None:
    """The facts under their head, and which of them are suggestions; None where the errors rest on none.

    A suggestion is the default of a parameter: it says nothing about these data, and a value that is known from public
    sources takes its place.
    """
    found = bound.mechanism.premises(bound.question)
    if not found:
        return None
    words = " and ".join(one.words for one in found)
    guessed = [one.python for one in found if one.suggested]
    if not guessed:
        return "holds where", words
    many = "is a suggestion" if len(guessed) == 1 else "are suggestions"
    advice = "give what is known without a look at the data"
    return "holds where", f"{words}; {' and '.join(guessed)} {many}, {advice}"


protect_module(vars())
