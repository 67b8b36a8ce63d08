"""Unknown keys among declared columns in a session: read by label, as a frame, drawn, saved, reported and refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import dpviz as dv
from dpviz import charts
from dpviz.errors import DomainError, DpvizError, ReleaseFormat
from dpviz.model.release import with_checksum
from dpviz.session.session import Session
from tests.reports import pages

COUNTS = {
    (1, "ATL"): 900,
    (1, "JFK"): 4_000,
    (2, "ATL"): 3_500,
    (12, "$x$ · <b>"): 700,
    (12, "a\nb"): 600,
    (3, "few"): 1,
}
PRODUCT = dv.Domain.integers(1, 12, column="month") * dv.Domain.keys(column="dest")
BY_KEY = dv.Stability("1/2", "1e-10")
"""A bin of one row shows with chance 1e-10 at most; one of 600 is hidden, or off by 200, with chance e^-90 at most."""
BY_LOOK_UP = dv.ALP("2", keys=100, cap=10_000)


def frame() -> pd.DataFrame:
    bins = [bin for bin, count in COUNTS.items() for _ in range(count)]
    outside = [(0, "JFK"), (13, "JFK"), (5, None)] * 800
    data = pd.DataFrame([*bins, *outside], columns=["month", "dest"])
    return data.assign(plane=[f"p{row % 4_001}" for row in range(len(data))])


def session(tmp_path: Path, unit: dv.Unit | None = None) -> Session:
    budget = dv.Budget(epsilon=9, delta="1e-4")
    return Session(frame(), unit or dv.Unit(noun="flight"), budget, tmp_path / "keys.ledger")


def test_bins_are_read_by_a_label_for_each_column(tmp_path: Path) -> None:
    it = session(tmp_path)
    release = it.release(PRODUCT, BY_KEY)
    assert release.labels == ["1 · ATL", "1 · JFK", "2 · ATL", '12 · "$x$ · <b>"', "12 · a\nb"]
    for bin, count in COUNTS.items():
        assert abs(release[bin] - count) < 200
    assert release[2, "ATL"] == release["2", "ATL"] == release.many([(2, "ATL"), (2, "JFK")])[0]
    assert release[3, "few"] == release[5, "never there"] == 0
    assert release.title.startswith("Flights by month and dest, ")
    assert "each combination of month and dest that occurs often enough" in release.question.sentence(release.unit)
    left = it.remaining
    for wrong, says in (((13, "ATL"), "must be one of 1, 2"), ("ATL", "is a pair"), ((1, "a", "b"), "is a pair")):
        with pytest.raises(DomainError, match=says):
            release[wrong]
    assert it.remaining == left and it.release(PRODUCT, BY_KEY) == release


def test_a_frame_has_a_column_for_each_factor_with_numbers_as_numbers(tmp_path: Path) -> None:
    it = session(tmp_path)
    shown = it.release(PRODUCT, BY_KEY).to_frame()
    assert list(shown.columns) == ["bin", "month", "dest", "value", "low", "high"]
    assert shown["month"].tolist() == [1, 1, 2, 12, 12] and shown["month"].dtype.kind == "i"
    assert shown["dest"].tolist() == ["ATL", "JFK", "ATL", "$x$ · <b>", "a\nb"]
    ranked = it.release(PRODUCT, dv.TopK(2, 10, epsilon="2")).to_frame()
    assert list(ranked.columns[:4]) == ["rank", "item", "month", "dest"]
    assert ranked["item"].tolist() == ["1 · JFK", "2 · ATL"] and ranked["dest"].tolist() == ["JFK", "ATL"]


def test_a_column_named_as_one_of_the_frames_own_does_not_take_its_place(tmp_path: Path) -> None:
    data = frame().rename(columns={"month": "value", "dest": "bin"})
    budget = dv.Budget(epsilon=9, delta="1e-4")
    it = Session(data, dv.Unit(noun="flight"), budget, tmp_path / "names.ledger")
    product = dv.Domain.integers(1, 12, column="value") * dv.Domain.keys(column="bin")
    shown = it.release(product, BY_KEY).to_frame()
    assert list(shown.columns[:4]) == ["bin", "value (column)", "bin (column)", "value"]


@pytest.mark.parametrize("name", ["keys.json", "keys.dpviz"])
def test_it_is_saved_and_loaded_and_a_label_of_no_bin_is_damage(tmp_path: Path, name: str) -> None:
    it = session(tmp_path)
    for mechanism in (
        BY_KEY,
        dv.TopK(2, 10, epsilon="2"),
        dv.TopKSet(2, epsilon="1"),
        BY_LOOK_UP,
    ):
        release = it.release(PRODUCT, mechanism)
        loaded = dv.load(release.save(tmp_path / name))
        assert loaded == release and repr(loaded.question) == repr(release.question)
    release = it.release(PRODUCT, BY_KEY)
    for wrong in ("ATL", "12ATL", "1ATL"):
        body = release.to_json()
        body["answer"]["labels"] = [wrong]
        body["answer"]["values"] = ["7"]
        damaged = tmp_path / "damaged.json"
        damaged.write_bytes(with_checksum(body))
        with pytest.raises(ReleaseFormat):
            dv.load(damaged)


def test_sums_are_over_bins_that_are_named_and_never_over_what_was_not_shown(tmp_path: Path) -> None:
    release = session(tmp_path).release(PRODUCT, BY_KEY)
    both = release.sum([(1, "ATL"), (2, "ATL")])
    assert both.value == release[1, "ATL"] + release[2, "ATL"]
    assert release.difference((1, "JFK"), (1, "ATL")).value == release[1, "JFK"] - release[1, "ATL"]
    with pytest.raises(DomainError, match="a marginal adds up declared bins"):
        release.marginal("month")
    with pytest.raises(ReleaseFormat, match="a value for each pair of bins of two columns, got sparse; draw it"):
        charts.heat_map(release)
    with pytest.raises(DpvizError, match="bins of several columns have none"):
        release.range((1, "ATL"), (2, "ATL"))


@pytest.mark.parametrize("mechanism", [BY_KEY, dv.TopK(3, 10, epsilon="2"), dv.TopKSet(2, epsilon="1")])
def test_it_is_drawn_with_short_labels_and_shown_in_a_report(tmp_path: Path, mechanism: object) -> None:
    it = session(tmp_path)
    release = it.release(PRODUCT, mechanism)
    drawn = release.chart()
    assert "1 · JFK" in drawn.to_json() and "01JFK" not in drawn.to_json() and "00JFK" not in drawn.to_json()
    table = charts.table_of_release(release)
    assert "<th scope='row'>1 · JFK</th>" in table and "00JFK" not in table
    report = dv.report([release], tmp_path / "report.html")
    assert "1 · JFK" in Path(report).read_text(encoding="utf-8")


def test_where_there_is_little_room_the_columns_are_named_shortly_and_the_key_is_still_there(tmp_path: Path) -> None:
    halves = dv.Domain.intervals([0, "6.5", 12], column="month") * dv.Domain.keys(column="dest")
    it = session(tmp_path)
    table, ranked = it.release(halves, BY_KEY), it.release(halves, dv.TopK(1, 10, epsilon="2"))
    assert table.labels[1] == "0 to below 6.5 · JFK" and ranked.items == ["0 to below 6.5 · JFK"]
    for release in (table, ranked):
        assert "0–6.5 · JFK" in release.chart().to_dict().__repr__()


def test_a_report_of_look_ups_over_several_columns_answers_the_keys_that_are_named(tmp_path: Path) -> None:
    release = session(tmp_path).release(PRODUCT, BY_LOOK_UP)
    assert abs(release[1, "JFK"] - 4_000) < 500
    written = dv.report([release], tmp_path / "look-ups.html", keys=[(1, "JFK"), (2, "never")])
    assert "JFK" in pages.unpacked(Path(written))
    dv.report([release], tmp_path / "none.html")


def test_a_user_counts_in_some_whole_bins(tmp_path: Path) -> None:
    data = pd.DataFrame(
        {"month": [1, 2] * 3_000, "dest": ["ATL", "BOS"] * 3_000, "plane": [f"p{row // 2}" for row in range(6_000)]}
    )
    budget = dv.Budget(epsilon=9, delta="1e-4")
    it = Session(data, dv.Unit("plane", max_bins=1), budget, tmp_path / "planes.ledger")
    release = it.release(PRODUCT, dv.Stability("1", "1e-9"))
    assert abs(sum(release.values) - 3_000) < 200 and len(release.values) == 2


def test_refusals_come_before_a_charge(tmp_path: Path) -> None:
    it = session(tmp_path)
    for question, mechanism, by in (
        (PRODUCT, dv.Dense("1"), None),
        (PRODUCT, dv.Tree("1"), None),
        (PRODUCT, dv.Sorted("1"), None),
        (dv.Domain.categories(["ATL"], column="dest"), dv.Dense("1"), PRODUCT),
        (PRODUCT, BY_KEY, dv.Domain.integers(1, 12, column="month")),
    ):
        with pytest.raises(DpvizError):
            it.release(question, mechanism, by=by) if by is not None else it.release(question, mechanism)
    assert it.remaining.epsilon == 9
