"""Sheets that come in part: the point on show first, then the fans; each point is worked out once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dpviz as dv
from dpviz.planning.comparison_sheet import ComparisonSheet
from dpviz.planning.composition_sheet import CompositionSheet
from dpviz.planning.consistency_sheet import ConsistencySheet
from dpviz.planning.fans import Fanned, PartialSheet, Points, Spot
from dpviz.planning.isotonic_sheet import IsotonicSheet
from dpviz.planning.product_sheet import ProductSheet
from dpviz.planning.sampler_sheet import SamplerSheet
from dpviz.planning.sampling_sheet import SamplingSheet
from dpviz.planning.top_k_sheet import LIMITS, TopKSheet, made_up
from dpviz.privacy.unit import Unit
from dpviz.wanted import Superseded, until

BINS = dv.Question.of(dv.Domain.integers(0, 9, column="x"))

RIVALS = (dv.Dense(1), dv.Stability(1, "1e-6"))

SHEETS: dict[str, Callable[[], Any]] = {
    "comparison": lambda: ComparisonSheet(
        BINS, Unit(), (dv.Dense(1), dv.Stability(1, "1e-6")), Fraction(1), Fraction(1)
    ),
    "composition": CompositionSheet,
    "consistency": ConsistencySheet,
    "isotonic": lambda: IsotonicSheet(size=20),
    "product": lambda: ProductSheet(n=1000, columns=80),
    "sampler": lambda: SamplerSheet(n=10, c=3),
    "sampling": SamplingSheet,
    "top k": lambda: TopKSheet(dict.fromkeys(LIMITS[:2], made_up("flat")), Unit("user"), k=1, kbar=2, max_bins=2),
}


def whole(sheet: Fanned, points: Points) -> dict[str, Any]:
    part = PartialSheet.of(sheet, points)
    deque(part.rest(), maxlen=0)
    assert part.complete
    return part.shown


@pytest.mark.parametrize("name", SHEETS)
def test_a_sheet_in_part_has_its_point_and_as_many_places_as_it_will_have_points(name: str) -> None:
    sheet = SHEETS[name]()
    part, made = PartialSheet.of(sheet, Points()), sheet.to_json()
    assert not part.complete and part.shown["now"] == made["now"]
    assert {axis: len(fan) for axis, fan in part.shown["fans"].items()} == {
        a: len(fan) for a, fan in made["fans"].items()
    }
    assert {point for fan in part.shown["fans"].values() for point in map(type, fan)} == {type(None)}
    deque(part.rest(), maxlen=0)
    assert part.complete and part.shown == made


@pytest.mark.parametrize("name", SHEETS)
def test_points_that_are_known_are_those_that_would_be_worked_out_wherever_the_sheet_moves(name: str) -> None:
    """Along two axes and back, with one set of points for all sheets: each is what it is by itself."""
    sheet, points = SHEETS[name](), Points()
    made = whole(sheet, points)
    at = made["now"]["at"]
    for axis in made["axes"][:2]:
        for value in (axis["grid"][0], axis["grid"][-1]):
            moved = sheet.moved({**at, axis["name"]: value})
            assert whole(moved, points) == moved.to_json()
    again = sheet.moved(at)
    assert whole(again, points) == again.to_json()


def test_a_key_that_leaves_something_out_is_caught_by_the_same_comparison() -> None:
    class Careless(SamplerSheet):
        def here(self) -> Spot:
            return Spot((self.n, self.c), self.point)  # epsilon, gamma and t move the point, too

    sheet, points = Careless(n=10, c=3), Points()
    whole(sheet, points)
    moved = Careless(n=10, c=3, e=7)
    assert whole(moved, points)["now"] != moved.to_json()["now"]


def test_each_point_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    plain = SamplerSheet.point

    def counted(self: SamplerSheet) -> dict[str, Any]:
        nonlocal count
        count += 1
        return plain(self)

    monkeypatch.setattr(SamplerSheet, "point", counted)
    sheet, points = SamplerSheet(n=10, c=3), Points()
    made = whole(sheet, points)
    first = count
    assert first <= 1 + sum(map(len, made["fans"].values()))
    whole(sheet, points)
    assert count == first
    whole(sheet.moved({**made["now"]["at"], "c": "4"}), points)  # the fan over c is the same
    assert count - first <= first - len(made["fans"]["c"]) + 1


def test_what_is_cut_short_is_not_kept_and_is_worked_out_later() -> None:
    sheet, points = SamplerSheet(n=10, c=3), Points()
    part, left = PartialSheet.of(sheet, points), [False]
    with until(lambda: left[0], "a move"), pytest.raises(Superseded):
        for done, _ in enumerate(part.rest(), 1):
            left[0] = done == 5
    assert not part.complete and len(points) <= 6
    assert whole(sheet, points) == sheet.to_json()


def test_it_is_known_how_long_a_point_takes() -> None:
    def busy() -> dict[str, Any]:
        began = time.thread_time()
        while time.thread_time() - began < 0.004:
            pass
        return {}

    points = Points()
    assert points.usual == 0
    for number in range(4):
        points.of(Spot(number, busy))
    points.of(Spot(1, busy))  # is there already, and takes nothing
    assert points.usual >= 0.004


def test_points_are_forgotten_when_there_are_too_many_the_oldest_first() -> None:
    points = Points(most=3)
    spots = [Spot(number, lambda number=number: {"at": number}) for number in range(5)]  # type: ignore[misc]
    for spot in spots:
        points.of(spot)
    assert len(points) == 3
    assert [points.known(spot) for spot in spots] == [None, None, {"at": 2}, {"at": 3}, {"at": 4}]
