"""The limit that errs least: held against its objective from the definition, for every limit, and what it says."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.model.closing import CHOSEN
from dpviz.model.limit_choice import SuggestedLimit
from dpviz.model.question import Question
from dpviz.session.plan import Plan
from dpviz.session.session import Session
from tests.model.test_closing import PROFILE, geometric, months, stays

TWELVE = months(12)


def planned(mechanism: Any, relation: Any = "add-remove", bins: dv.Domain = TWELVE) -> Plan:
    lesson = dv.teaching(stays(30, bins.size), 1, dv.Unit("user", relation=relation))
    return lesson.plan(bins, mechanism)


def sizes(law: np.ndarray[Any, Any]) -> tuple[float, float]:
    """The mean size and the variance of a noise, and nothing else of it."""
    values = np.abs(np.arange(-(len(law) // 2), len(law) // 2 + 1))
    return float((law * values).sum()), float((law * values**2).sum())


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_it_is_the_limit_of_the_least_error_of_all_from_the_definition(relation: Any) -> None:
    """K e(l1) + the sum of (j - c)+ N_j, and the mean square of one bin; the larger limit where two err alike."""
    chance, plan, chosen = random.Random(3), planned(dv.Dense(1), relation), set()
    moved = [min(c, 12) if relation == "add-remove" else min(2 * c, 12) for c in range(1, 13)]
    noise = [sizes(geometric(1 / l1, 900)) for l1 in moved]
    for _ in range(25):
        scale = chance.choice((0.02, 0.2, 1))
        users = [int(scale * chance.expovariate(1 / 30) * chance.choice((0, 1, 5))) for _ in range(12)]
        lost = [sum((j - c) * users[j - 1] for j in range(c + 1, 13)) for c in range(1, 13)]
        for objective, errors in (
            ("absolute", [12 * size + left for (size, _), left in zip(noise, lost, strict=True)]),
            ("squared", [square + left**2 / 144 for (_, square), left in zip(noise, lost, strict=True)]),
        ):
            found = plan.suggest_limit(users, objective=objective)  # type: ignore[arg-type]
            assert [one.total for one in found.errors] == pytest.approx(errors, rel=1e-6)
            least = min(errors)
            assert found.limit == max(c for c, error in enumerate(errors, 1) if error <= least * (1 + 1e-12))
            chosen.add(found.limit)
    assert len(chosen) > 3
    assert relation == "add-remove" or not chosen & set(range(6, 12)), "half of the bins cost what all do"


def test_the_first_limit_after_which_the_error_grows_is_not_always_the_best() -> None:
    chance, plan, wrong = random.Random(5), planned(dv.Dense(1, "gaussian", delta="1e-6")), 0
    for _ in range(60):
        users = [int(chance.expovariate(1 / 8) * chance.choice((0, 0, 1, 6))) for _ in range(12)]
        found = plan.suggest_limit(users)
        totals = [one.total for one in found.errors]
        first = next(c for c in range(1, 13) if c == 12 or totals[c] > totals[c - 1])
        assert totals[found.limit - 1] == min(totals)
        wrong += totals[first - 1] > min(totals)
    assert wrong > 1, "a search that stops at the first rise would pass"


def test_a_limit_pays_only_where_few_are_over_it_and_the_words_say_how_few() -> None:
    """Twelve bins, epsilon 1: an interval without a limit is 72 long (specified), one with a limit of 3 is shorter by
    what the noise of 12 bins exceeds that of 3."""
    plan = planned(dv.Dense(1))
    found = plan.suggest_limit([0] * 11 + [5000])
    assert found.limit == 12 and found.errors[-1].pays_below == 0
    assert found.errors[2].pays_below == 72 - 2 * 9 and found.errors[2].over == 5000
    assert found.sentence.startswith("No limit errs less than none: errors of all bins add up to about")
    assert f"fewer than {int(found.errors[0].pays_below)} users are over a limit of 1" in found.sentence
    few = plan.suggest_limit([4000, 30] + [0] * 10)
    assert few.limit < 12 and few.sentence.startswith(f"At most {few.limit} of 12 months of each user err least")
    assert few.limits == dv.Limits(max_bins=few.limit) and repr(few).startswith(f"<SuggestedLimit {few.limit}:")
    frame = few.to_frame()
    assert list(frame.limit) == list(range(1, 13)) and math.isclose(frame.total.min(), few.errors[few.limit - 1].total)


def test_two_steps_choose_by_a_released_profile_for_nothing_and_the_ends_allow_for_it(tmp_path: Path) -> None:
    held = Session(stays(400, 6), dv.Unit("user"), dv.Budget(5), tmp_path / "x.ledger", dataset="stays")
    profile = held.release(PROFILE(months(6)), dv.Dense("1/10", clamp=False))
    left = held.remaining
    plan = held.plan(months(6), dv.Dense("9/10"))
    found = plan.suggest_limit(profile)
    assert isinstance(found, SuggestedLimit) and held.remaining == left
    users = [float(one.over) for one in found.errors]
    assert users == [float(sum(profile.values[c:])) for c in range(1, 7)]
    made_up = plan.suggest_limit([max(0, int(value)) for value in profile.values])
    gains = zip(found.errors, made_up.errors, strict=True)
    assert all(mine.pays_below <= theirs.pays_below for mine, theirs in gains), "a released profile has noise"
    limit = 3 if found.limit == 6 else found.limit
    counts = held.release(months(6), dv.Dense("9/10"), limits=dv.Limits(max_bins=limit))
    assert CHOSEN in counts.closed_by(profile).remarks and held.remaining.epsilon == 4


def test_what_has_no_limit_to_choose_is_refused(tmp_path: Path) -> None:
    plan = planned(dv.Dense(1))
    lesson = dv.teaching(stays(30, 6), 1, dv.Unit("user"))
    profile = lesson.draw(PROFILE(months(6)), dv.Dense(1))
    rows = dv.teaching(stays(30, 6), 1)
    six = lesson.plan(months(6), dv.Dense(1))
    halves = dv.teaching(stays(30, 6).assign(half="a"), 1, dv.Unit("user"))
    by = {"by": dv.Domain.categories(["a", "b"], column="half")}
    cases = [
        (lambda: plan.suggest_limit([1, 2]), "one for each of 12"),
        (lambda: plan.suggest_limit([-1] * 12), "users"),
        (lambda: plan.suggest_limit([Fraction(1, 2)] * 12), "users"),  # type: ignore[list-item]
        (lambda: plan.suggest_limit([1] * 12, objective="least"), "objective"),  # type: ignore[arg-type]
        (lambda: plan.suggest_limit(profile), "one domain, one filter"),
        (lambda: plan.suggest_limit(3), "a release, or a list"),  # type: ignore[arg-type]
        (lambda: six.suggest_limit(lesson.draw(months(6), dv.Dense(1))), "counts users"),
        (lambda: six.suggest_limit(lesson.draw(PROFILE(months(6), over=2), dv.Dense(1))), "all numbers of bins"),
        (lambda: rows.plan(months(6), dv.Dense(1)).suggest_limit([1] * 6), "each once in one of"),
        (lambda: lesson.plan(Question(months(6)).limited(dv.Limits(max_per_bin=2)), dv.Dense(1)).suggest_limit([1] * 6),
         "each once in one of"),
        (lambda: halves.plan(months(6), dv.Dense(1), **by).suggest_limit([1] * 6), "in all parts together"),
    ]  # fmt: skip
    for call, words in cases:
        with pytest.raises(ParameterError, match=words):
            call()
