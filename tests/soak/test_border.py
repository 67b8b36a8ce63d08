"""The border test at length: 100,000 questions about small tables in every container that holds them."""

from __future__ import annotations

import warnings

from tests.engines.border import CONTAINERS, case
from tests.soak.amounts import part, record

QUESTIONS = 8
"""About one table, for it takes an engine longer to open a table than to answer about it."""


def test_every_container_is_counted_as_plain_python_counts() -> None:
    outcomes = [0, 0]
    tables = part(100_000 // QUESTIONS, 3 * len(CONTAINERS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for at in range(tables):
            name = list(CONTAINERS)[at % len(CONTAINERS)]
            came = case(f"soak {at}", CONTAINERS[name], name, QUESTIONS)
            outcomes = [before + more for before, more in zip(outcomes, came, strict=True)]
    answered, refused = outcomes
    assert answered + refused == tables * QUESTIONS
    assert answered >= tables * QUESTIONS // 3, "too little was answered to have tested anything"
    assert refused, "no type was refused, so that the refusals were not tested"
    said = f"{sum(outcomes):,} questions: {answered:,} counted as plain Python counts, {refused:,} refused by types"
    record("Tables at the border", said)
