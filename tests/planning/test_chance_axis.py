"""The curve of chances reaches the counts that are shown."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dpviz as dv
from dpviz.model.question import Question
from dpviz.planning.sheet import SURE, pictures_json
from dpviz.privacy.unit import Unit

KEYS = dv.Domain.keys(column="k")
BINS = dv.Domain.integers(0, 99, column="x")
PLANS: dict[str, tuple[Any, Any, Unit]] = {
    "a threshold on keys": (dv.Stability("1/10", delta="1e-9"), KEYS, Unit()),
    "a threshold of users": (dv.Threshold(epsilon="1/2", delta="1e-6"), KEYS, Unit("user", max_bins=20)),
    "little privacy loss": (dv.Dense("1/1000"), BINS, Unit()),
    "hardly any": (dv.Dense(Fraction(1, 10**9)), BINS, Unit()),
    "a sketch with a cap": (dv.ALP("1/2", keys=1000, cap=100), KEYS, Unit()),
    "usual noise": (dv.Dense("1/2"), BINS, Unit()),
    "no noise": (dv.Dense(1000), BINS, Unit()),
}


@pytest.mark.parametrize(("mechanism", "domain", "unit"), PLANS.values(), ids=PLANS)
def test_the_curve_of_chances_ends_above_a_count_that_is_shown_nearly_always(
    mechanism: Any, domain: dv.Domain, unit: Unit
) -> None:
    error = mechanism.bind(*Question.of(domain).resolved(unit)).error
    curve = pictures_json(error)["chance"]
    counts, chances = list(map(int, curve["c"])), curve["p"]
    assert counts == sorted(set(counts)) and counts[0] == 0 and 40 <= len(counts) <= 70
    assert chances == [round(error.chance_shown(count), 4) for count in counts]
    assert chances[-1] >= SURE - 1e-4
    last = next(place for place, chance in enumerate(chances) if chance >= SURE - 1e-4)
    assert counts[-1] <= max(40, 2 * counts[last] + 2)


def test_a_threshold_of_unknown_keys_lies_within_the_axis() -> None:
    bound = dv.Stability("1/10", delta="1e-9").bind(*Question.of(KEYS).resolved(Unit()))
    curve = pictures_json(bound.error)["chance"]
    threshold = bound.threshold
    assert threshold > 100 and int(curve["c"][-1]) > threshold
    risen = [chance for chance in curve["p"] if 0.05 < chance < 0.95]
    assert len(risen) >= 5
