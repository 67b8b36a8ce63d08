"""The explorers answer two asks, refuse everything else, and hold public things only."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.planning.sampler_sheet import SamplerSheet
from dpviz.widgets import explorer as explorers
from dpviz.widgets.explorer import MOVE, Explorer, fitting, thinned
from dpviz.widgets.packing import weight
from dpviz.widgets.view import json_text
from tests.patience import patience
from tests.session.sources import KnownCounts
from tests.widgets.pages import complete

BINS = dv.Domain.integers(0, 99, column="x")
SECRETS = [7_310_001, 8_420_002]
PLACE = {"n": "30", "c": "10", "epsilon": "0.5", "gamma": "0.01", "t": "2"}


def ask(explorer: Explorer, name: str, **args: Any) -> dict[str, Any]:
    reply = explorer.answer({"v": 1, "id": "1", "ask": name, "args": args})
    assert reply is not None and reply["re"] == "1"
    return json.loads(json.dumps(reply, allow_nan=False))  # type: ignore[no-any-return]


def test_a_move_gives_the_sheet_through_that_point_and_the_trait_follows() -> None:
    explorer = dv.SamplerExplorer()
    reply = ask(explorer, "move", place=PLACE)
    assert reply["ok"] is True
    assert complete(explorer)["now"]["at"] == PLACE
    assert complete(explorer)["now"]["fastsample"]["ratio"] == "219.24"
    assert complete(explorer) == complete(explorer)


@pytest.mark.parametrize(
    "place",
    [{}, {**PLACE, "n": "1000"}, {**PLACE, "epsilon": "1/0"}, {**PLACE, "t": "0"}, {**PLACE, "gamma": "1e-400"}],
)
def test_a_move_to_nowhere_is_refused_and_the_sheet_stays(place: dict[str, str]) -> None:
    explorer = dv.SamplerExplorer()
    before = complete(explorer)
    assert ask(explorer, "move", place=place)["ok"] is False
    assert complete(explorer) == before


@pytest.mark.parametrize(
    "content",
    [
        {"v": 1, "id": "1", "ask": "release", "args": {}},
        {"v": 1, "id": "1", "ask": "plan", "args": {}},
        {"v": 1, "id": "1", "ask": "move", "args": {"place": PLACE, "more": 1}},
        {"v": 1, "id": "1", "ask": "move", "args": {"place": {**PLACE, "n": 30}}},
        {"v": 1, "id": "1", "ask": "move", "args": {"place": [1]}},
        {"v": 2, "id": "1", "ask": "status", "args": {}},
    ],
)
def test_everything_else_is_refused_as_forbidden(content: dict[str, Any]) -> None:
    reply = dv.SamplerExplorer().answer(content)
    assert reply is not None
    assert reply["ok"] is False
    assert reply["error"]["kind"] == "Forbidden"


def test_a_message_without_an_id_is_dropped_and_status_says_somebody_is_there() -> None:
    explorer = dv.SamplerExplorer()
    assert explorer.answer({"v": 1, "ask": "status", "args": {}}) is None
    assert ask(explorer, "status") == {"v": 1, "re": "1", "ok": True, "body": {}}


def test_a_move_sends_no_more_than_it_may_and_every_place_can_still_be_reached() -> None:
    explorer = dv.IsotonicExplorer("half", n=1000)
    first = complete(explorer)
    assert None not in [point for fan in first["fans"].values() for point in fan]
    place = {**first["now"]["at"], "seed": first["axes"][-1]["grid"][-1]}
    assert ask(explorer, "move", place=place)["ok"] is True
    moved = complete(explorer)
    assert moved["now"]["at"] == place and weight(explorer.sheet) <= MOVE
    missing = [
        {**place, axis["name"]: axis["grid"][i]}
        for axis in moved["axes"]
        for i, point in enumerate(moved["fans"][axis["name"]])
        if point is None
    ]
    assert missing, "the sheet is not too long, and nothing is tested"
    assert ask(explorer, "move", place=missing[0])["ok"] is True
    assert complete(explorer)["now"]["at"] == missing[0]
    assert ask(explorer, "move", place=first["now"]["at"])["ok"] is True
    again = complete(explorer)
    assert again["now"] == first["now"] and weight(explorer.sheet) <= MOVE
    assert None not in [point for fan in explorer.shown["fans"].values() for point in fan], "a report has them all"


def test_a_place_that_moved_another_slider_is_known_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = dv.TopKExplorer("flat", k=1, kbar=2)
    at = complete(explorer)["now"]["at"]
    asked = {**at, "k": "10"}
    assert ask(explorer, "move", place=asked)["ok"] is True
    moved = complete(explorer)
    assert moved["now"]["at"] != asked, "no other slider was moved, and nothing is tested"
    assert ask(explorer, "move", place=at)["ok"] is True
    complete(explorer)
    begun: list[object] = []
    monkeypatch.setattr("dpviz.widgets.explorer.PartialSheet.of", lambda *given: begun.append(given))
    assert ask(explorer, "move", place=asked)["ok"] is True
    assert complete(explorer) == moved and begun == []


@pytest.mark.parametrize("value", [[1], {"a": 1}, None, 7, ["1"] * 3_000])
def test_a_place_that_is_none_is_refused_in_words(value: object) -> None:
    reply = ask(dv.SamplerExplorer(), "move", place={**PLACE, "n": value})
    assert reply["ok"] is False and reply["error"]["kind"] != "DpvizError", reply


def test_of_a_long_fan_the_points_next_to_the_one_on_show_are_sent_first() -> None:
    fan = [{"at": {"a": str(i)}, "text": "x"} for i in range(20)]
    grid = [str(i) for i in range(20)]
    shown = {"now": fan[13], "axes": [{"name": "a", "grid": grid}], "fans": {"a": fan}}
    kept = [i for i, point in enumerate(thinned(shown, 0.4)["fans"]["a"]) if point is not None]
    assert len(kept) == 8 and {0, 12, 13, 14, 19} <= {*kept}
    assert thinned(shown, 1)["fans"] == shown["fans"]
    assert fitting(shown, 10**6) == json_text(shown) and weight(fitting(shown, 0)) < weight(json_text(shown))
    off = thinned({**shown, "now": {"at": {"a": "3/7"}}}, 0.4)["fans"]["a"]  # a place between those of the grid
    assert sum(point is not None for point in off) == 8


def test_a_forged_trait_decides_nothing() -> None:
    comparison = dv.MechanismComparison(None, BINS, ["Dense"])
    comparison.board.sheet = '{"version": 1}'
    place = {"epsilon": "0.2", "beta": "0.05", "c": "7"}
    assert ask(comparison, "move", place=place)["ok"] is True
    sheet = complete(comparison)
    assert sheet["now"]["at"] == place
    assert [row["name"] for row in sheet["now"]["rows"]] == ["Dense"]


def test_a_comparison_takes_unit_and_budget_of_the_session_and_nothing_of_its_data(tmp_path: Path) -> None:
    unit, budget = dv.Unit(noun="person"), dv.Budget("0.8", "1e-6")
    session = dv.Session(KnownCounts(SECRETS), unit, budget, tmp_path / "a.ledger")  # type: ignore[arg-type]
    rivals = ["Dense", "Stability"]
    comparison = dv.MechanismComparison(session, BINS, rivals)
    sheet = complete(comparison)
    assert sheet["unit"]["text"] == "one person, add or remove"
    assert sheet["axes"][0]["grid"][-1] == "0.8"
    assert not [secret for secret in SECRETS if str(secret) in comparison.sheet]
    other = dv.Session(KnownCounts([0, 0]), unit, budget, tmp_path / "b.ledger")  # type: ignore[arg-type]
    assert complete(dv.MechanismComparison(other, BINS, rivals)) == sheet
    assert session.remaining.epsilon == budget.epsilon
    assert ask(comparison, "move", place={"epsilon": "5", "beta": "0.05", "c": "7"})["ok"] is True
    assert complete(comparison)["now"]["at"]["epsilon"] == "0.8"


def test_mechanisms_are_given_by_name_or_as_they_are_and_share_one_epsilon() -> None:
    paper = dv.Stability(epsilon=2, delta="1e-9", variant="paper")
    sheet = complete(dv.MechanismComparison(None, BINS, ["Dense", paper], epsilon="0.25"))
    assert [row["name"] for row in sheet["now"]["rows"]] == ["Dense", "Stability"]
    assert [row["price"]["asked"] for row in sheet["now"]["rows"]] == ["0.25", "0.25"]
    assert sheet["now"]["rows"][1]["price"]["delta"] == "0.000000001"
    assert 'variant="paper"' in sheet["now"]["rows"][1]["python"]


def test_left_out_mechanisms_are_those_that_dpviz_knows_and_that_answer() -> None:
    """Two need a cap, where the number of rows is not public: they would be rows without a value."""
    from dpviz.mechanisms import REGISTRY
    from dpviz.planning.comparison_sheet import MOST

    known = [name for name, kind in REGISTRY.items() if not kind.names_items and not kind.draws_records][:MOST]
    thousand, minutes = dv.Unit(relation="replace-one", n=1000), dv.Domain.integers(0, 525_599, column="minute")
    for unit, bins, without in ((thousand, minutes, set[str]()), (None, BINS, {"PureSparse", "Compact"})):
        rows = json.loads(dv.MechanismComparison(None, bins, unit=unit).sheet)["now"]["rows"]
        assert [row["name"] for row in rows] == [name for name in known if name not in without]


@pytest.mark.parametrize(
    "make",
    [
        lambda: dv.MechanismComparison("visits", BINS),  # type: ignore[arg-type]
        lambda: dv.MechanismComparison(None, BINS, ["Laplace"]),
        lambda: dv.MechanismComparison(None, BINS, ["Dense", "TopKSet"]),
        lambda: dv.MechanismComparison(None, BINS, ["Dense", "KeySelection"]),
        lambda: dv.MechanismComparison(None, BINS, [object()]),  # type: ignore[list-item]
        lambda: dv.MechanismComparison(None, BINS, []),
        lambda: dv.MechanismComparison(None, BINS, ["Dense"] * 6),
        lambda: dv.MechanismComparison(None, BINS, epsilon=0),
        lambda: dv.MechanismComparison(None, BINS, count=-1),
        lambda: dv.SamplerExplorer(n=3),
        lambda: dv.SamplerExplorer(epsilon="0.3"),
    ],
)
def test_what_cannot_be_compared_is_refused(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


def test_a_place_that_was_seen_is_shown_without_working_anything_out(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = dv.SamplerExplorer(n=20)
    first = complete(explorer)
    assert ask(explorer, "move", place={**first["now"]["at"], "c": "3"})["ok"] is True
    moved = complete(explorer)
    monkeypatch.setattr(SamplerSheet, "point", lambda self: pytest.fail("worked out again"))
    assert ask(explorer, "move", place=first["now"]["at"])["ok"] is True
    assert json.loads(explorer.sheet) == first
    assert ask(explorer, "move", place=moved["now"]["at"])["ok"] is True
    assert json.loads(explorer.sheet) == moved


def test_a_sheet_that_takes_long_comes_in_part_and_a_refused_move_does_not_keep_the_rest_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explorers, "BEGUN", 0.0)
    go_on, plain = threading.Event(), SamplerSheet.point
    points = iter(range(10**6))

    def held(self: SamplerSheet) -> dict[str, Any]:
        if next(points) > 0:
            assert go_on.wait(patience())
        return plain(self)

    monkeypatch.setattr(SamplerSheet, "point", held)
    explorer = dv.SamplerExplorer(n=20)
    part = json.loads(explorer.sheet)
    assert part["now"]["at"]["n"] == "20" and {*map(str, part["fans"]["n"])} == {"None"}
    explorer._exploring.receive(
        {"v": 1, "id": "1", "ask": "move", "args": {"place": {"n": "many"}}}, lambda reply: None
    )
    go_on.set()
    assert None not in complete(explorer)["fans"]["n"]


def test_whole_sheets_are_kept_up_to_a_number_of_characters_the_latest_of_them() -> None:
    kept = explorers.Whole(most=10)
    for place, text in (("a", "xxxx"), ("b", "yyyy"), ("a", "zzzz"), ("c", "wwww")):
        kept.keep(place, text)
    assert [kept.get(place) for place in "abc"] == ["zzzz", None, "wwww"]


def test_a_program_that_ends_while_a_sheet_is_worked_out_ends_well() -> None:
    code = "import dpviz as dv; dv.TopKExplorer('power'); dv.TradeoffExplorer()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=patience())
    assert (ended.returncode, ended.stderr) == (0, "")
