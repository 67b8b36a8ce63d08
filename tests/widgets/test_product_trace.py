"""ProductSamplerTrace: its rounds are those of a release, on made-up people, and its numbers those of the laws."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.laws.product import Rounds, beta_for, naive_deviation, theory_n
from dpviz.noise.bits import TeachingBits
from dpviz.noise.product import noisy_means
from dpviz.planning.product_sheet import AXES, LOWEST, ProductSheet, biases, noises, people
from tests.widgets.pages import complete
from tests.widgets.test_tradeoff_explorer import ask

SMALL: dict[str, Any] = {"n": 2000, "columns": 160}


def test_what_is_shown_is_one_run_of_the_sampler_itself() -> None:
    sheet = ProductSheet("mixed", seed=3, noise="paper", **SMALL)
    point = sheet.point()
    plan = Rounds(160, 2000, Fraction(1, 2), beta_for(Fraction(1, 10), 160), "paper")
    means = noisy_means(people("mixed", 160, 3)[:2000], plan, TeachingBits(3))
    assert len(point["rounds"]) == len(means.trace) and point["kept"] == means.levels.tolist()
    for shown, one in zip(point["rounds"], means.trace, strict=True):
        assert (shown["level"], shown["keeps"], shown["places"]) == (one.level, one.keeps, one.places.tolist())
        assert np.allclose(shown["means"], one.sums / means.one, rtol=1e-3, atol=1e-12)
        assert shown["sd"] == pytest.approx(plan.deviation(one.cut, one.places.size), rel=1e-3)
    assert point["price"] == str(float(plan.price)) and point["chunk"] == plan.chunk == 400
    assert point["naive"] == pytest.approx(naive_deviation(160, 2000, Fraction(1, 2)), rel=1e-3)


def test_columns_below_the_threshold_go_on_and_the_others_stay() -> None:
    point = ProductSheet("mixed", **SMALL).point()
    deciding = [one for one in point["rounds"] if not one["keeps"]]
    assert [one["level"] for one in deciding] == [1, 2] and len(point["flipped"]) == 20
    for one in deciding:
        for place, mean in zip(one["places"], one["means"], strict=True):
            on = mean < one["threshold"] or (one["level"] == 1 and place in point["flipped"])
            assert on == (point["kept"][place] > one["level"])
    drawn = {place: one["level"] for one in point["rounds"] if one["keeps"] for place in one["places"]}
    assert [drawn[place] for place in range(160)] == point["kept"]
    high = [place for place, p in enumerate(point["biases"]) if p > 0.8]
    assert point["flipped"] == high


def test_made_up_people_have_the_biases_that_are_said() -> None:
    chances = biases("halving", 320)
    assert chances[0] == 0.5 and chances[-1] == 0.5**LOWEST and set(biases("rare", 100)) == {0.01}
    rows = np.unpackbits(people("halving", 320, 1), axis=1)[:, :320]
    # 320 means of 20,000 bits: 8 standard deviations, and one half of a count where bits are rare
    spread = np.sqrt(chances * (1 - chances) / len(rows))
    assert (np.abs(rows.mean(axis=0) - chances) < 8 * spread + 8 / len(rows)).all()
    assert (people("halving", 320, 1) != people("halving", 320, 2)).any()


def test_nearly_all_error_sits_in_the_last_bucket_and_the_naive_way_errs_less_here() -> None:
    off = ProductSheet(**SMALL).point()["off"]
    assert sum(one["columns"] for one in off) == 160
    total = sum(one["here"] for one in off)
    assert off[-1]["level"] == 3 and off[-1]["here"] > 0.9 * total
    assert sum(one["naive"] for one in off) < total


def test_buckets_win_only_with_very_many_columns() -> None:
    found = noises()
    for noise in ("repaired", "tight"):
        at = found["columns"].index(found[f"{noise}_crossing"])
        assert all(ratio >= 1 for ratio in found[noise][:at]) and all(ratio < 1 for ratio in found[noise][at:])
    assert found["tight_crossing"] == 131_072 and found["repaired_crossing"] == 2**25
    assert found["tight"][0] == found["repaired"][0] == 1  # a single bucket is the naive sampler


def test_every_slider_has_a_point_for_each_value_and_says_what_the_proof_asks_for() -> None:
    said = ProductSheet(n=1000, columns=80, seed=10**6).to_json()
    assert [axis["name"] for axis in said["axes"]] == list(AXES) == list(said["fans"])
    json.dumps(said, allow_nan=False)
    for axis in said["axes"]:
        assert [point["at"][axis["name"]] for point in said["fans"][axis["name"]]] == axis["grid"]
    asked = theory_n(80, Fraction(1, 10), Fraction(1, 2))
    assert asked == pytest.approx(9.11e7, rel=1e-3) and said["theory"]["0.5"] == 9.2e7  # not 9.1e7, which is less
    assert said["axes"][-1]["grid"][-1] == str(10**6) and "made-up" in said["badge"]


def test_a_move_gives_the_sheet_through_that_point() -> None:
    explorer = dv.ProductSamplerTrace(n=1000, columns=80)
    place = {**complete(explorer)["now"]["at"], "rho": "0.3", "n": "1234", "preset": "rare"}
    ask(explorer, "move", place=place)
    assert complete(explorer)["now"]["at"] == place and complete(explorer)["columns"] == 80
    for wrong in ({**place, "rho": "2"}, {**place, "noise": "none"}, {**place, "n": "10"}, {"n": "1000"}):
        assert ask(explorer, "move", place=wrong)["ok"] is False


@pytest.mark.parametrize(
    "given",
    [
        {"preset": "all"}, {"preset": 3}, {"n": 999}, {"n": 20_001}, {"rho": 0}, {"rho": 2}, {"noise": "none"},
        {"seed": 0}, {"seed": 10**7}, {"columns": 79}, {"columns": 641}, {"columns": "many"},
    ],
    ids=lambda given: str(given),
)  # fmt: skip
def test_places_outside_the_sliders_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dv.ProductSamplerTrace(**given)
