"""Releases of lists and sets whose items a test chose. Public, as every release is."""

from __future__ import annotations

from typing import Any

import dpviz as dv
from dpviz.model.answers import Answer, Chosen, Ranked
from dpviz.model.question import Question
from dpviz.model.release import Release

AIRCRAFT = dv.Unit("aircraft", noun="aircraft", max_bins=5)
DESTINATION = dv.Domain.keys(column="destination")


def listed(items: list[str], *, ended: bool | None = None, question: object = DESTINATION, **more: Any) -> Release:
    """A ranked list of at most ten; where it is shorter it has ended."""
    answer = Ranked(tuple(items), len(items) < 10 if ended is None else ended)
    return _released(dv.TopK(k=10, kbar=50, epsilon=1), answer, question, **more)


def valued(items: list[str], values: list[int], *, ended: bool | None = None, **more: Any) -> Release:
    """The same with noisy counts beside the items."""
    answer = Ranked(tuple(items), len(items) < 10 if ended is None else ended, tuple(values))
    return _released(dv.TopKLaplace(k=10, kbar=50, epsilon=1), answer, DESTINATION, **more)


def of_set(items: list[str], **more: Any) -> Release:
    return _released(dv.TopKSet(k=10, epsilon=1), Chosen(tuple(items)), DESTINATION, **more)


def _released(
    mechanism: Any, answer: Answer, question: object, *, teaching: int | None = None, number: int = 3
) -> Release:
    return Release.of(
        mechanism.bind(Question.of(question), AIRCRAFT),
        answer,
        mode="exact",
        randomness="operating system" if teaching is None else f"teaching, seed {teaching}",
        number=number if teaching is None else None,
        key="ab" * 32,
        teaching=teaching,
    )
