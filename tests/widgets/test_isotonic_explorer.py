"""IsotonicExplorer: what a sheet says of sorted counts is what the fits and bands say of them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import Forbidden, ParameterError
from dpviz.exact import Decay, rational, text
from dpviz.fitting.bands import multiscale
from dpviz.fitting.isotonic import isotonic
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.planning.isotonic_sheet import BETA, FAMILIES, SIZES, IsotonicSheet
from dpviz.widgets.explorer import Explorer
from tests.widgets.pages import complete

CANARY = 7_310_001
COUNTS = [9, 0, 0, 4, 4, 4, 30]


def ask(explorer: Explorer, name: str, **args: Any) -> dict[str, Any]:
    reply = explorer.answer({"v": 1, "id": "1", "ask": name, "args": args})
    assert reply is not None
    return json.loads(json.dumps(reply, allow_nan=False))  # type: ignore[no-any-return]


def sheet_of(explorer: Explorer) -> dict[str, Any]:
    said: dict[str, Any] = complete(explorer)
    return said


def spread(steps: list[list[Any]]) -> list[Fraction]:
    values: list[Fraction] = []
    for start, length, value in steps:
        assert start == len(values) and length >= 1
        values += [rational(value)] * length
    return values


def test_blocks_bands_and_errors_are_those_of_the_noisy_values_that_are_shown() -> None:
    said = sheet_of(dv.IsotonicExplorer(COUNTS, epsilon="1/2", seed=3))
    point, decay = said["now"], Decay.exp(Fraction(1, 2))
    truth = [int(value) for value in spread(point["truth"])]
    noisy = np.array([least for least, _most in point["noisy"]])
    assert [least for least, _most in point["noise"]] == [int(a) - b for a, b in zip(noisy, truth, strict=True)]
    assert truth == sorted(COUNTS) and point["every"] == 1 and point["distinct"] == "4"
    fitted, band = isotonic(noisy).values(), multiscale(noisy, decay, BETA, least=0)
    assert spread(point["fitted"]) == fitted
    assert spread(point["multiscale"]["low"]) == band.low.tolist()
    assert spread(point["multiscale"]["high"]) == band.high.tolist()
    assert point["errors"]["noisy"] == str(sum((int(a) - b) ** 2 for a, b in zip(noisy, truth, strict=True)))
    exact = sum(((a - b) ** 2 for a, b in zip(fitted, truth, strict=True)), Fraction(0))
    assert 0 <= rational(point["errors"]["fitted"]) - exact < Fraction(1, 10)
    variance = TwoSidedGeometric(decay).variance(64)[1]
    bound = (Fraction(3, 2) + Fraction(11, 6) + 1 + 1) * variance
    assert 0 <= rational(point["errors"]["bound"]) - bound < Fraction(1, 5)
    falls = [at for at in range(1, 7) if noisy[at] < noisy[at - 1]]
    assert point["falls"] == falls


def test_the_sup_norm_radius_is_the_exact_joint_quantile_of_that_many_noises() -> None:
    point, law = IsotonicSheet(family="equal", size=50, epsilon=Fraction(1, 3)).point(), Decay.exp(Fraction(1, 3))
    ratio = float(law.bounds(64)[0])
    held = [(1 - 2 * ratio ** (half + 1) / (1 + ratio)) ** 50 for half in (int(point["all"]), int(point["all"]) - 1)]
    assert held[0] >= 0.95 > held[1]


def test_long_lists_tell_the_least_and_the_greatest_of_each_stretch() -> None:
    point = IsotonicSheet(family="power", size=1000).point()
    assert point["every"] == 4 and len(point["noisy"]) == 250
    assert all(least <= most for least, most in point["noisy"])
    assert len(spread(point["fitted"])) == 1000


def test_every_family_ascends_and_its_sliders_have_a_point_for_each_value() -> None:
    for name, (_label, made) in FAMILIES.items():
        for size in (2, *SIZES):
            counts = made(size)
            assert len(counts) == size and counts == sorted(counts) and counts[0] >= 0, name
    said = sheet_of(dv.IsotonicExplorer("distinct", n=20))
    for axis in said["axes"]:
        assert [point["at"][axis["name"]] for point in said["fans"][axis["name"]]] == axis["grid"]


def test_a_move_gives_the_sheet_through_that_point() -> None:
    explorer = dv.IsotonicExplorer("half", n=20)
    place = {"family": "equal", "n": "33", "epsilon": "1/8", "seed": "5"}
    ask(explorer, "move", place=place)
    assert complete(explorer)["now"]["at"] == {**place, "epsilon": "0.125"}
    for wrong in ({**place, "n": "1"}, {**place, "family": "own"}, {**place, "epsilon": "0"}, {"n": "20"}):
        assert ask(explorer, "move", place=wrong)["ok"] is False
    assert sheet_of(explorer) == complete(explorer)


def test_public_counts_keep_their_number_and_their_badge() -> None:
    table = dv.PublicTable(dv.Domain.integers(0, 6, column="x"), np.array(COUNTS))
    said = sheet_of(dv.IsotonicExplorer(table))
    assert said["badge"] == "public data · not a release"
    assert [axis["grid"] for axis in said["axes"][:2]] == [["own"], ["7"]]
    assert spread(said["now"]["truth"]) == sorted(COUNTS)
    assert text(BETA) == said["beta"]


@pytest.mark.parametrize(
    "given",
    [pd.DataFrame({"x": [CANARY, 1]}), pd.Series([CANARY, 1]), np.array([CANARY, 1]), [1, "2"], {1: CANARY}, None],
    ids=lambda given: type(given).__name__,
)
def test_what_is_neither_typed_nor_declared_public_is_refused_and_not_shown(given: Any) -> None:
    with pytest.raises(Forbidden) as refused:
        dv.IsotonicExplorer(given)
    assert str(CANARY) not in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {"counts": "own"}, {"counts": []}, {"counts": [1]}, {"counts": [-1, 2]}, {"counts": [1] * 2001},
        {"n": 1}, {"n": 2001}, {"epsilon": 0}, {"epsilon": 1000}, {"seed": 0},
    ],
    ids=lambda given: str(given)[:40],
)  # fmt: skip
def test_counts_and_choices_that_mean_nothing_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dv.IsotonicExplorer(**given)
