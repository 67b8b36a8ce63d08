"""ConsistencyPlayground: made-up counts and seeded noise in a sheet; the page's own fits held to `dpviz.fitting`."""

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
from dpviz.exact import Decay, text
from dpviz.fitting.isotonic import isotonic
from dpviz.fitting.tree import Design, Node, Shape, TreeFit
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.planning.consistency_sheet import BRANCHINGS, MOST, NODES, PRESETS, PRINTED, ConsistencySheet
from dpviz.widgets.explorer import Explorer
from tests.reports import pages
from tests.widgets.pages import complete

ROOT = Path(__file__).parents[2]
ANSWERS = json.loads((ROOT / "widgets" / "fixtures" / "consistency.json").read_text(encoding="utf-8"))
CANARY = 7_310_001


def ask(explorer: Explorer, name: str, **args: Any) -> dict[str, Any]:
    reply = explorer.answer({"v": 1, "id": "1", "ask": name, "args": args})
    assert reply is not None
    return json.loads(json.dumps(reply, allow_nan=False))  # type: ignore[no-any-return]


def sheet_of(explorer: Explorer) -> dict[str, Any]:
    said: dict[str, Any] = complete(explorer)
    return said


def fitted(k: int, n: int, noisy: list[int]) -> list[str]:
    fit = TreeFit(Design(Shape(k, n)), np.array(noisy))
    shape = fit.design.shape
    return [
        text(fit.node(Node(height, place)))
        for height in range(shape.height, 0, -1)
        for place in range(shape.widths[height - 1])
    ]


def test_the_answers_that_the_page_is_held_to_are_those_of_the_fits_here() -> None:
    """`widgets/tests/consistency.test.ts` computes the same from the same noisy values, in its own fractions."""
    shapes = {(tree["k"], tree["n"]) for tree in ANSWERS["trees"]}
    assert {k for k, _n in shapes} == set(BRANCHINGS) and (2, MOST) in shapes and (3, MOST) in shapes
    for tree in ANSWERS["trees"]:
        assert fitted(tree["k"], tree["n"], list(map(int, tree["noisy"]))) == tree["fitted"]
    for one in ANSWERS["lists"]:
        blocks = isotonic(list(map(int, one["noisy"]))).blocks()
        assert [[str(start), str(length), text(value)] for start, length, value in blocks] == one["blocks"]


def test_it_opens_on_figure_2_with_the_printed_noise() -> None:
    said = sheet_of(dv.ConsistencyPlayground())
    assert said["badge"] == "made-up data · not a release"
    assert said["start"] == {"preset": "figure", "structure": "tree", "branching": "2"}
    first = said["presets"][0]
    assert first["counts"] == ["2", "0", "10", "2"]
    assert first["printed"] == {"tree": ["13", "3", "11", "4", "1", "12", "1"], "sorted": ["1", "2", "0", "11"]}
    assert fitted(2, 4, list(PRINTED["tree"])) == ["14", "3", "11", "3", "0", "11", "0"]
    assert [text(value) for value in isotonic(PRINTED["sorted"]).values()] == ["1", "1", "1", "11"]


def test_counts_of_ones_own_come_first_and_a_known_family_is_found() -> None:
    said = sheet_of(dv.ConsistencyPlayground([7, 7, 1], branching=3, epsilon="1/3"))
    assert said["presets"][0] == {"name": "own", "label": "these counts", "counts": ["7", "7", "1"], "printed": None}
    assert said["start"] == {"preset": "own", "structure": "tree", "branching": "3"}
    assert "1/3" in said["axes"][0]["grid"]
    assert sheet_of(dv.ConsistencyPlayground((5,) * 8))["start"]["preset"] == "equal"
    table = dv.PublicTable(dv.Domain.integers(0, 2, column="x"), np.array([4, 0, 9]))
    assert sheet_of(dv.ConsistencyPlayground(table))["presets"][0]["counts"] == ["4", "0", "9"]


def test_noise_is_the_law_of_a_release_at_every_sensitivity_and_the_same_from_the_same_seed() -> None:
    """Seeded, so nothing is left to chance: mean squares of 320 draws lie near the variance of each sensitivity."""
    point = ConsistencySheet(epsilon=Fraction(1, 2), seed=9).point()
    assert point == ConsistencySheet(epsilon=Fraction(1, 2), seed=9).point()
    assert list(point["noise"]) == ["1", "2", "3", "4", "5"]
    for sensitivity, seeds in point["noise"].items():
        assert list(seeds) == [str(seed) for seed in range(9, 17)]
        drawn = np.array([list(map(int, noise)) for noise in seeds.values()])
        assert drawn.shape == (8, NODES)
        variance = float(TwoSidedGeometric(Decay.exp(Fraction(1, 2) / int(sensitivity))).variance(64)[0])
        assert 0.35 * variance < float((drawn**2).mean()) < 2.2 * variance
    assert point["within"]["1"] == "6" and point["within"]["5"] == "30"


def test_a_move_gives_the_sheet_through_that_point_and_keeps_the_counts() -> None:
    explorer = dv.ConsistencyPlayground([1, 2, 3])
    reply = ask(explorer, "move", place={"epsilon": "1/8", "seed": "40"})
    assert reply["ok"] is True
    assert complete(explorer)["now"]["at"] == {"epsilon": "0.125", "seed": "40"}
    assert complete(explorer)["presets"][0]["counts"] == ["1", "2", "3"]
    assert sheet_of(explorer) == complete(explorer)
    for wrong in (
        {"epsilon": "1"},
        {"epsilon": "0", "seed": "1"},
        {"epsilon": "1", "seed": "0"},
        {"epsilon": "1e9", "seed": "1"},
    ):
        assert ask(explorer, "move", place=wrong)["ok"] is False
    assert sheet_of(explorer) == complete(explorer)


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame({"x": [CANARY]}),
        pd.Series([CANARY]),
        np.array([CANARY, 1]),
        [np.int64(CANARY), 1],
        [1, 2.5],
        ["3"],
        {1: CANARY},
        "power",
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_neither_typed_nor_declared_public_is_refused_and_not_shown(given: Any) -> None:
    with pytest.raises(Forbidden) as refused:
        dv.ConsistencyPlayground(given)
    assert str(CANARY) not in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {"counts": []},
        {"counts": [1] * 17},
        {"counts": [-1, 2]},
        {"counts": [10**9 + 1]},
        {"structure": "list"},
        {"branching": 5},
        {"branching": 1},
        {"epsilon": 0},
        {"epsilon": 1000},
        {"seed": 0},
    ],
    ids=str,
)
def test_counts_and_choices_that_cannot_be_edited_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dv.ConsistencyPlayground(**given)


def test_every_preset_is_one_that_a_page_can_edit() -> None:
    for name, (label, counts) in PRESETS.items():
        assert 1 <= len(counts) <= MOST and min(counts) >= 0 and name.isalpha() and label
    assert NODES >= max(Shape(k, n).nodes for k in BRANCHINGS for n in range(1, MOST + 1))


def test_a_report_carries_it_with_its_presets_and_noise(tmp_path: Path) -> None:
    path = dv.report([dv.ConsistencyPlayground()], tmp_path / "r.html")
    assert "<title>Consistency playground</title>" in path.read_text()
    content = pages.unpacked(path)
    assert '"component":"consistency-playground"' in content
