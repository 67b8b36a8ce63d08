"""The comparison sheet says of each mechanism what its own plan says, and what it cannot beat."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import text
from dpviz.laws import lower_bounds
from dpviz.mechanisms import REGISTRY
from dpviz.mechanisms import mechanism as made
from dpviz.model.error import ErrorValue
from dpviz.model.mechanism import Mechanism
from dpviz.planning.comparison_sheet import MOST, ComparisonSheet, weakest
from tests.mechanisms.samples import declared

BINS = dv.Question.of(dv.Domain.integers(0, 525_599, column="scheduled_minute"))
ROWS = dv.Unit(relation="replace-one", n=5000)
HALF = Fraction(1, 2)


def sheet_of(
    *mechanisms: Mechanism, question: dv.Question = BINS, unit: dv.Unit = ROWS, count: int | None = None
) -> ComparisonSheet:
    return ComparisonSheet(question, unit, mechanisms, HALF, Fraction(2), count)


OTHERS = ("Sorted", "Queries", "Marginals", *(name for name, samples in declared().items() if not samples.per_bin))
"""Ranks, sums of bins, cells of tables and the number of keys are compared with no value of a bin."""

PER_BIN = [name for name, kind in REGISTRY.items() if not (kind.names_items or kind.draws_records or name in OTHERS)]
"""Mechanisms with a value for each bin."""


def test_what_is_said_of_ranks_and_of_sums_is_never_compared_with_what_is_said_of_bins() -> None:
    few = dv.Question.of(dv.Domain.integers(0, 20, column="x"))
    drawn = {
        name: {one.name for one in made(name, {"epsilon": "1"}).bind(few, ROWS).measures}
        for name in ("Dense", "Compact", "Tree", *OTHERS)
    }
    for other in ("Dense", "Compact", "Tree"):
        assert all(drawn[one].isdisjoint(drawn[other]) for one in OTHERS)
    assert drawn["Sorted"].isdisjoint(drawn["Queries"]) and drawn["Marginals"].isdisjoint(drawn["Queries"])
    assert drawn["Dense"] == {"one", "all", "edge"}


@pytest.mark.parametrize("first", range(0, len(PER_BIN), MOST))
def test_every_number_is_the_one_that_the_mechanism_itself_gives(first: int) -> None:
    mechanisms = [made(name, {"epsilon": "1"}) for name in PER_BIN[first : first + MOST]]
    said = sheet_of(*mechanisms).to_json()
    counts = [int(c) for c in said["axes"][2]["grid"]]
    beta = Fraction(1, 20)
    for row, mechanism in zip(said["now"]["rows"], mechanisms, strict=True):
        assert row["refused"] == ""
        bound = mechanism.with_epsilon(HALF).bind(BINS, ROWS)
        assert [measure["name"] for measure in said["measures"]] == list(row["errors"])
        drawn = [measure for measure in bound.measures if measure.weight]
        for measure in drawn:
            worst = measure.at(beta)
            assert row["errors"][measure.name]["worst"] == (None if worst is None else worst.to_json())
        one, every = (row["errors"][measure.name] for measure in drawn)
        assert every["curve"] is None
        assert row["space"] == {"bits": str(bound.space.bits), "text": bound.space.text}
        assert row["cost"]["text"] == bound.cost.text
        for c, value, chance in zip(counts, one["curve"]["values"], row["chance"], strict=True):
            at = bound.error.one_bin(beta, count=c)
            shown = bound.error.chance_shown(c)
            assert at is not None and shown is not None
            assert value == text(at.value)
            assert chance == pytest.approx(shown, abs=1e-5)
            assert (chance in (0, 1)) == (shown in (0, 1))


def test_no_mechanism_errs_less_than_its_floor() -> None:
    for unit in (dv.Unit(), ROWS):
        said = sheet_of(dv.Dense(1), dv.Stability(1, "1e-6"), unit=unit).to_json()
        for point in said["fans"]["epsilon"]:
            for row in point["rows"]:
                assert len(row["errors"]) == 2
                for error in row["errors"].values():
                    assert Fraction(error["floor"]["value"]) <= Fraction(error["worst"]["value"])


def test_the_floor_of_a_sparse_answer_is_theorem_7_2_where_n_is_public() -> None:
    unit = dv.Unit(relation="replace-one", n=1000)
    said = ComparisonSheet(BINS, unit, (dv.Dense(1), dv.Stability(1, "1e-12")), Fraction(1, 10), Fraction(2)).to_json()
    dense, stability = said["now"]["rows"]
    told = {"n": 1000, "delta": Fraction(1, 10**12)}
    sparse = lower_bounds.sparse(Fraction(1, 10), Fraction(1, 20), bins=525_600, shown=1000, **told)
    floors = [row["errors"][said["measures"][0]["name"]]["floor"] for row in (dense, stability)]
    assert floors[1] == {"value": text(sparse), "rule": "Balcer, Vadhan 2018, Theorem 7.2"}
    assert floors[0]["rule"] == "Balcer, Vadhan 2018, Theorem 7.1"
    assert Fraction(floors[0]["value"]) < sparse


def test_each_fan_holds_the_points_of_the_sheets_made_there() -> None:
    sheet = sheet_of(dv.Dense(1), dv.Stability(1, "1e-6"), count=30)
    said = sheet.to_json()
    counts = sheet.counts()
    for axis in said["axes"][:2]:
        points = said["fans"][axis["name"]]
        assert [point["at"][axis["name"]] for point in points] == axis["grid"]
        for point in points[::5]:
            assert point == sheet.moved(point["at"]).point(counts)
    json.dumps(said, allow_nan=False)


def test_the_axis_of_counts_holds_the_probe_and_ends_at_the_public_n() -> None:
    assert 37 in sheet_of(dv.Dense(1), count=37).counts()
    assert sheet_of(dv.Stability(1, "1e-6"), unit=dv.Unit(relation="replace-one", n=90)).counts()[-1] <= 90
    axis = sheet_of(dv.Stability(1, "1e-6"), unit=dv.Unit()).counts()
    assert axis[0] == 0
    assert axis == sorted(set(axis))
    assert len(axis) <= 83


def test_a_mechanism_that_does_not_answer_the_question_says_why_and_the_others_stay() -> None:
    keys = dv.Question.of(dv.Domain.keys(column="word"))
    said = sheet_of(dv.Dense(1), dv.Stability(1, "1e-6"), question=keys, unit=dv.Unit()).to_json()
    dense, stability = said["now"]["rows"]
    assert "declared bins" in dense["refused"]
    assert stability["refused"] == ""
    _one, every = stability["errors"].values()
    assert every == {"worst": None, "curve": None, "floor": None}
    short = dv.Unit(relation="replace-one", n=20)
    refused = [row["refused"] for row in sheet_of(dv.Stability(1, "1e-6"), unit=short).to_json()["now"]["rows"]]
    assert "no count of at most 20" in refused[0]


def test_a_curve_is_known_as_surely_as_its_least_sure_point() -> None:
    exact, bound = ErrorValue(Fraction(1), "exact", ""), ErrorValue(Fraction(1), "bound", "")
    numerical = ErrorValue(Fraction(1), "numerical", "", off=Fraction(1, 100))
    simulated = ErrorValue(Fraction(1), "simulated", "")
    assert [weakest([exact, *more]) for more in ([], [bound], [bound, numerical], [simulated, numerical])] == [
        "exact",
        "bound",
        "numerical",
        "simulated",
    ]


def test_mechanisms_of_one_name_are_told_apart_by_what_differs() -> None:
    sheet = sheet_of(dv.Dense(1), dv.Dense(2, base="tight", cap=9), dv.Stability(1, "1e-6"))
    assert sheet.names == ["Dense, base exp", "Dense, base tight, cap 9", "Stability"]


@pytest.mark.parametrize(
    "place",
    [
        {"epsilon": "0", "beta": "0.05", "c": "1"},
        {"epsilon": "1", "beta": "0.07", "c": "1"},
        {"epsilon": "1", "beta": "0.05", "c": "-1"},
        {"epsilon": "1", "beta": "0.05", "c": "1e15"},
        {"epsilon": "1", "beta": "0.05"},
    ],
)
def test_a_place_outside_the_axes_is_refused(place: dict[str, str]) -> None:
    with pytest.raises(ParameterError):
        sheet_of(dv.Dense(1)).moved(place)


CAPPED: list[Mechanism] = [
    dv.Dense(1, base="tight", cap=3),
    dv.Dense(1, cap=3),
    dv.Stability(4, "0.1", base="tight", cap=3),
    dv.PureSparse(1, cap=3),
    dv.Compact(1, cap=3),
]


@pytest.mark.parametrize("capped", CAPPED, ids=repr)
def test_a_small_cap_beside_wide_noise_is_drawn_with_the_error_of_counts_beyond_it(capped: Mechanism) -> None:
    """The axis of counts follows the widest noise; a count beyond a cap is off by all that is cut away, and more."""
    sheet = ComparisonSheet(BINS, dv.Unit(), (dv.Dense("1e-3"), capped), Fraction(1), Fraction(1), 5000).to_json()
    counts, row = [int(c) for c in sheet["axes"][2]["grid"]], sheet["now"]["rows"][1]
    assert row["refused"] == "" and max(counts) >= 5000
    curve = {c: int(value) for c, value in zip(counts, row["errors"]["one"]["curve"]["values"], strict=True)}
    for c in counts:
        if c > 3:
            assert curve[c] == c - 3 + curve[3] and curve[c] <= c
