"""Numbers and texts at the edge of what can be drawn, stored or read back: refused before a charge, or answered."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.model.question import Question
from dpviz.model.statistic import DenseCounts
from dpviz.noise.bits import TeachingBits
from dpviz.planning import epsilon_grid
from dpviz.session.session import Session
from tests.patience import patience
from tests.session.sources import KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")
FAR = 10**5000  # more digits than Python writes


def opened(folder: Path, unit: dv.Unit | None = None, budget: object = "1e6") -> Session:
    return Session(KnownCounts([4, 0, 9, 1]), unit or dv.Unit(), dv.Budget(budget), folder / "test.ledger")


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": "1e-14"},
        {"epsilon": "1e-40", "base": "tight", "cap": 50},
        {"epsilon": "1e-12", "base": "paper", "cap": 50},
        {"epsilon": "0." + "1" * 120},
        {"epsilon": Fraction(10**250 + 1, 10**250)},
        {"epsilon": 1001},
        {"epsilon": "1e9999"},
        {"epsilon": FAR},
        {"epsilon": -FAR},
        {"epsilon": 1, "cap": 2**63},
        {"epsilon": 1, "base": "tight", "cap": FAR},
        {"epsilon": 1, "base": "tight", "cap": 50, "gamma": "1e-199"},
    ],
)
def test_what_could_not_be_drawn_or_read_back_is_refused_before_the_charge(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    session = opened(tmp_path)
    began = time.monotonic()
    with pytest.raises(ParameterError):
        session.release(BINS, dv.Dense(**parameters))
    assert time.monotonic() - began < patience()
    assert session.ledger.entries() == []
    session.release(BINS, dv.Dense(1))


@pytest.mark.parametrize(
    "unit",
    [
        {"of": "person", "max_per_bin": 10**15},
        {"of": "person", "max_bins": 4, "max_per_bin": 10**14},
    ],
)
def test_bounds_so_wide_that_the_noise_does_not_fit_are_refused_before_the_charge(
    tmp_path: Path, unit: dict[str, Any]
) -> None:
    session = opened(tmp_path, dv.Unit(**unit))
    with pytest.raises(ParameterError, match="scale of the noise"):
        session.release(BINS, dv.Dense(1))
    assert session.ledger.entries() == []


@pytest.mark.parametrize("cap", [10**9, 2**60])
def test_a_strict_draw_that_would_take_for_ever_is_refused_before_the_charge(tmp_path: Path, cap: int) -> None:
    session = opened(tmp_path)
    mechanism = dv.Dense("1/10", base="tight", sampler="geosample", cap=cap)
    with pytest.raises(ParameterError, match="runs in mode exact"):
        session.release(BINS, mechanism, mode="strict")
    assert session.ledger.entries() == []
    assert max(session.release(BINS, mechanism).values) < 10_000
    small = dv.Dense("1/10", base="tight", sampler="geosample", cap=1_000)
    assert session.release(BINS, small, mode="strict").mode == "strict"


@pytest.mark.parametrize("epsilon", ["1e-9", "1/53", "0.0000000000000000000000000000001e25", "50", "700", "1000"])
@pytest.mark.parametrize("base", ["exp", "tight", "paper"])
def test_small_and_large_prices_are_planned_drawn_and_read_back(tmp_path: Path, epsilon: str, base: str) -> None:
    session = opened(tmp_path)
    mechanism = dv.Dense(epsilon, base=base, cap=50)  # type: ignore[arg-type]
    plan = session.plan(BINS, mechanism)
    assert plan.sheet.to_json()["now"]["price"]["epsilon"]
    release = session.release(BINS, mechanism)
    assert session.releases[1] == release
    assert 10**6 - session.remaining.epsilon >= release.guarantee.epsilon > 0
    assert session.release(BINS, mechanism) == release
    assert len(session.ledger.entries()) == 1


@pytest.mark.parametrize("limit", [1, 2, 20, 39, 2**60])
@pytest.mark.parametrize("base", ["exp", "tight"])
def test_a_small_or_a_huge_public_bound_still_has_a_plan_sheet_and_a_frame(
    tmp_path: Path, limit: int, base: str
) -> None:
    session = opened(tmp_path, dv.Unit(relation="replace-one", n=limit) if limit < 2**53 else None)
    mechanism = dv.Dense(1, base=base, cap=limit)  # type: ignore[arg-type]
    sheet = session.plan(BINS, mechanism).sheet.to_json()
    assert len(sheet["now"]["chance"]["p"]) == 41
    frame = session.release(BINS, mechanism).to_frame()
    assert (frame["low_all"] <= frame["value"]).all() and (frame["value"] <= frame["high_all"]).all()
    assert (frame["high_all"] <= limit).all()


def test_the_slider_stops_where_prices_stop() -> None:
    values, _ = epsilon_grid(Fraction(10**9))
    assert values[-1] == 1000 and dv.Dense(values[-1]).epsilon == 1000


def test_a_huge_budget_has_a_workbench(tmp_path: Path) -> None:
    session_model = dv.Workbench(opened(tmp_path, budget="1e30"), BINS).session_model
    assert session_model.plan.bound.mechanism.parameters()["epsilon"] == "100"


@pytest.mark.parametrize("mode", ["exact", "strict"])
def test_a_large_epsilon_leaves_the_counts_nearly_alone(mode: Any) -> None:
    bound = dv.Dense(50, base="tight", cap=50).bind(Question.of(BINS), dv.Unit())
    answer = bound.draw(DenseCounts(np.array([3, 0, 60, 50])), TeachingBits(1), mode=mode)
    assert answer.values.tolist() == [3, 0, 50, 50]


@pytest.mark.parametrize("make", [lambda: dv.Budget(FAR), lambda: dv.Budget(1, "1e-9999"), lambda: dv.Unit(n=FAR)])
def test_a_number_too_long_to_write_is_refused_in_our_words(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


# ---------------------------------------------------------------- texts


HALF = "\ud800"


def test_half_a_surrogate_pair_is_refused_wherever_a_text_would_be_stored(tmp_path: Path) -> None:
    for make in (lambda: dv.Unit(noun=HALF), lambda: dv.Unit(of=HALF)):
        with pytest.raises(ParameterError):
            make()
    with pytest.raises(ParameterError, match="name of a dataset"):
        Session(_Named(HALF), dv.Unit(), dv.Budget(1), tmp_path / "named.ledger")
    assert not (tmp_path / "named.ledger").exists()


class _Named(KnownCounts):
    def __init__(self, name: str) -> None:
        super().__init__([1, 2, 3, 4])
        self._called = name

    @property
    def name(self) -> str:
        return self._called


@pytest.mark.parametrize("key", [HALF, "", "k" * 201, 7, b"key"])
def test_a_key_that_cannot_be_stored_leaves_the_session_usable(tmp_path: Path, key: Any) -> None:
    session = opened(tmp_path)
    with pytest.raises(ParameterError):
        session.release(BINS, dv.Dense(1), key=key)
    assert session.running is None and session.ledger.entries() == []
    session.release(BINS, dv.Dense(1))


def test_keys_that_look_alike_are_different_keys_and_spellings_of_a_number_are_one(tmp_path: Path) -> None:
    session = opened(tmp_path)
    keys = [None, "None", "null", "é", "e\u0301", " ", "  ", "a\u200b", "a"]
    for number, key in enumerate(keys, start=1):
        assert session.release(BINS, dv.Dense("0.5"), key=key).number == number
    for same in ("0.50", "1/2", 0.5, Fraction(2, 4), "5e-1"):
        assert session.release(BINS, dv.Dense(same)).number == 1
    assert len(session.ledger.entries()) == len(keys)


def test_the_order_and_spelling_of_a_filter_make_no_new_question() -> None:
    asked = [
        Question.of(BINS, where={"a": [1, "x", "x"], "b": dv.Between("0.10", 2)}),
        Question.of(BINS, where={"b": dv.Between(0.1, "2.0"), "a": ("x", "1", 1.0)}),
    ]
    assert asked[0].id == asked[1].id
    assert Question.of(BINS, where={"a": "1.0"}).id != Question.of(BINS, where={"a": "1"}).id  # texts stay as they are
