"""AlpAnatomy: a sheet of public random numbers, and the page's arithmetic against that of releases."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import Forbidden, ParameterError
from dpviz.fitting import unary
from dpviz.planning.anatomy_sheet import FIGURE, KEYS, MOST_BITS, MOST_COLUMNS, AnatomySheet, random_numbers
from dpviz.widgets.explorer import Explorer
from tests.widgets.pages import complete

ROOT = Path(__file__).parents[2]
ANSWERS = json.loads((ROOT / "widgets" / "fixtures" / "alp.json").read_text(encoding="utf-8"))
CANARY = 7_310_001


def ask(explorer: Explorer, name: str, **args: Any) -> dict[str, Any]:
    reply = explorer.answer({"v": 1, "id": "1", "ask": name, "args": args})
    assert reply is not None
    return json.loads(json.dumps(reply, allow_nan=False))  # type: ignore[no-any-return]


def sheet_of(explorer: Explorer) -> dict[str, Any]:
    said: dict[str, Any] = complete(explorer)
    return said


def rows() -> list[list[int]]:
    """The worked figure, all short rows, and a few long ones."""
    short = [[value >> place & 1 for place in range(m)] for m in (1, 2, 3, 4, 5) for value in range(1 << m)]
    random = np.random.default_rng(5)
    return [list(FIGURE["bits"]), *short, *(random.integers(0, 2, m).tolist() for m in range(6, 17) for _ in range(4))]


def estimates(row: list[int], p: Fraction, raised: Fraction) -> dict[str, str]:
    bits = np.array([row], dtype=np.uint8)
    return {
        "paper": str(unary.paper(bits)[0]),
        "likelihood": str(unary.likelihood(bits, float(p), float(raised))[0]),
        "posterior-median": str(unary.posterior_median(bits, float(p), float(raised))[0]),
    }


def vectors() -> list[dict[str, Any]]:
    chances = [(Fraction(13, 64), Fraction(13, 64)), (Fraction(1, 4), Fraction(3, 8))]
    return [
        {"bits": row, "p": float(p), "raised": float(raised), "estimates": estimates(row, p, raised)}
        for row in rows()
        for p, raised in chances
    ]


def test_the_page_is_tested_against_the_estimators_that_read_a_release() -> None:
    # the page's tests hold widgets/src/numbers/alp.ts to this file; written by `json.dumps(vectors())`
    assert ANSWERS == vectors()
    assert ANSWERS[0]["estimates"]["paper"] == "4"
    assert sum(one["estimates"]["paper"] != one["estimates"]["likelihood"] for one in ANSWERS) > 10


def test_the_worked_figure_is_three_flips_away_from_its_value() -> None:
    value, columns = FIGURE["values"][0], len(FIGURE["bits"])
    unary_number = [1 if place <= value else 0 for place in range(1, columns + 1)]
    flipped = [bit ^ (place in FIGURE["flipped"]) for place, bit in enumerate(unary_number, 1)]
    assert tuple(flipped) == FIGURE["bits"]
    assert sheet_of(dv.AlpAnatomy())["start"]["figure"] is True
    assert sheet_of(dv.AlpAnatomy([4, 0, 0, 0]))["start"]["figure"] is False


def test_a_sheet_carries_all_that_any_table_needs() -> None:
    said = sheet_of(dv.AlpAnatomy([5, 2, 7], columns=9, bits=4, p="1/4", seed=3, estimator="likelihood"))
    assert said["start"] == {
        "columns": "9", "bits": "4", "values": ["5", "2", "7", "0"], "estimator": "likelihood", "figure": False,
    }  # fmt: skip
    assert list(said["seeds"]) == said["axes"][1]["grid"] == [str(seed) for seed in range(3, 11)]
    for draw in said["seeds"].values():
        assert np.array(draw["hash"]).shape == (len(KEYS), MOST_COLUMNS)
        assert np.array(draw["random"]).shape == (MOST_COLUMNS, MOST_BITS)
    assert said["now"]["at"] == {"p": "0.25", "seed": "3"} and "0.25" in said["axes"][0]["grid"]


def test_hashes_and_flips_are_uniform_and_differ_from_seed_to_seed() -> None:
    hashes, drawn = (np.array([random_numbers(seed)[name] for seed in range(1, 201)]) for name in ("hash", "random"))
    assert len({one.tobytes() for one in drawn}) == 200
    # a sum of n uniform numbers is within 6.2 standard deviations but for one in 10**9; a shift by 3 % would be seen
    for numbers in (hashes, drawn):
        n, top = numbers.size, 2**16
        assert numbers.min() >= 0 and numbers.max() < top
        assert abs(numbers.mean() - (top - 1) / 2) < 6.2 * top / (12 * n) ** 0.5 < 0.03 * top
    # keys meet in one of 5 bits with chance 1/5: n columns, the same false alarm
    places = hashes * 5 // 2**16
    met = (places[:, 0] == places[:, 1]).mean()
    assert abs(met - 0.2) < 6.2 * (0.16 / places[:, 0].size) ** 0.5 < 0.05


def test_a_move_gives_the_sheet_through_that_point() -> None:
    explorer = dv.AlpAnatomy()
    ask(explorer, "move", place={"p": "1/3", "seed": "999999"})
    assert complete(explorer)["now"]["at"] == {"p": "1/3", "seed": "999999"}
    assert "999999" in complete(explorer)["seeds"]
    for wrong in ({"p": "1/2", "seed": "1"}, {"p": "-1", "seed": "1"}, {"p": "0", "seed": "0"}, {"p": "0"}):
        assert ask(explorer, "move", place=wrong)["ok"] is False
    assert sheet_of(explorer) == complete(explorer)


@pytest.mark.parametrize(
    "given",
    [pd.DataFrame({"x": [CANARY, 1]}), pd.Series([CANARY, 1]), np.array([CANARY, 1]), [1, "2"], {1: CANARY}],
    ids=lambda given: type(given).__name__,
)
def test_values_that_were_not_typed_are_refused_and_not_shown(given: Any) -> None:
    with pytest.raises(Forbidden) as refused:
        dv.AlpAnatomy(given)
    assert str(CANARY) not in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {"values": []}, {"values": [1] * 5}, {"values": [9]}, {"values": [-1]}, {"columns": 0}, {"columns": 17},
        {"bits": 1}, {"bits": 33}, {"p": "1/2"}, {"p": -1}, {"seed": 0}, {"estimator": "mean"}, {"estimator": 3},
    ],
    ids=lambda given: str(given)[:40],
)  # fmt: skip
def test_sizes_and_choices_that_mean_nothing_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dv.AlpAnatomy(**given)


def test_small_tables_take_the_values_that_fit() -> None:
    assert AnatomySheet().figure
    for columns in (1, 3, 16):
        start = sheet_of(dv.AlpAnatomy(columns=columns))["start"]
        assert all(0 <= int(value) <= columns for value in start["values"])
