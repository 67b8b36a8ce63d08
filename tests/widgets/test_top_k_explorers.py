"""TopKExplorer, CompositionExplorer: public data in full; of a private release what is public of it, nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from traceback import walk_tb
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import Forbidden, ParameterError
from dpviz.model.public import PublicTop
from dpviz.widgets.explorer import Explorer
from tests.frames import is_ours
from tests.reports import pages
from tests.widgets.pages import complete

UNIT = dv.Unit("aircraft", max_bins=2)
KEYS = dv.Domain.keys(column="dest")
VISITED = {"ORD": 913, "ATL": 707, "JFK": 511, "BOS": 307, "zz-canary": 1}
"""How many aircraft visited each. The last one is listed with a chance of 1e-5 at most."""

CANARY = 7_310_001


def frame() -> pd.DataFrame:
    rows = [(f"N{name}{number}", name) for name, count in VISITED.items() for number in range(count)]
    return pd.DataFrame(rows, columns=["aircraft", "dest"])


def ask(explorer: Explorer, name: str, **args: Any) -> dict[str, Any]:
    reply = explorer.answer({"v": 1, "id": "1", "ask": name, "args": args})
    assert reply is not None
    return json.loads(json.dumps(reply, allow_nan=False))  # type: ignore[no-any-return]


def sheet_of(explorer: Explorer) -> dict[str, Any]:
    said: dict[str, Any] = complete(explorer)
    return said


def test_public_rankings_come_from_teaching_one_for_each_limit() -> None:
    rankings = dv.teaching(frame(), 1, UNIT).top(KEYS, rows=4, max_bins=(1, 2, None))
    assert list(rankings) == [1, 2, None]
    assert rankings[2].labels == ("ORD", "ATL", "JFK", "BOS")
    assert rankings[2].counts == (913, 707, 511, 307)
    assert (rankings[1].column, rankings[1].nouns) == ("dest", "aircraft")
    said = sheet_of(dv.TopKExplorer(rankings, UNIT, k=2, kbar=4, max_bins=2))
    assert said["tables"]["none"]["labels"] == ["ORD", "ATL", "JFK", "BOS"]
    assert said["badge"] == "public data · not a release · Each aircraft counts in at most 1 dest"
    assert said["axes"][4]["label"] == "Dests per aircraft"
    assert said["axes"][4]["grid"] == ["1", "2", "none"]


def test_rankings_of_rows_have_the_one_limit_that_a_row_has() -> None:
    table = dv.PublicTable(dv.Domain.integers(0, 3, column="visits"), np.array([40, 90, 10, 0]), "people")
    said = sheet_of(dv.TopKExplorer(table, dv.Unit(noun="person"), k=1, kbar=2))
    assert said["axes"][4]["grid"] == ["1"]
    assert said["tables"] == {"1": {"labels": ["1", "0", "2"], "counts": ["90", "40", "10"]}}
    rankings = dv.teaching(pd.DataFrame({"visits": [1, 1, 0]}), 1).top(dv.Domain.integers(0, 3, column="visits"))
    assert [(limit, one.labels) for limit, one in rankings.items()] == [(1, ("1", "0"))]


def test_a_move_gives_the_sheet_through_that_point() -> None:
    explorer = dv.TopKExplorer("step", k=3, kbar=20)
    place = {"k": "12", "kbar": "15", "epsilon": "1/8", "delta": "0.000001", "max_bins": "none", "method": "full"}
    reply = ask(explorer, "move", place=place)
    assert reply["ok"] is True
    assert complete(explorer)["now"]["at"] == {**place, "epsilon": "0.125"}
    assert sheet_of(explorer) == complete(explorer)
    for wrong in ({**place, "max_bins": "3"}, {**place, "k": "many"}, {"k": "3"}):
        assert ask(explorer, "move", place=wrong)["ok"] is False
        assert sheet_of(explorer) == complete(explorer)


def test_a_release_opens_no_panel_that_needs_a_count(tmp_path: Path) -> None:
    session = dv.Session(frame(), UNIT, dv.Budget("4", "1e-3"), tmp_path / "a.ledger")
    release = session.release(KEYS, dv.TopK(4, 6, epsilon="2", delta="1e-5"))
    explorer = dv.TopKExplorer(release)
    said = sheet_of(explorer)
    assert said["released"]["items"] == ["ORD", "ATL", "JFK", "BOS"]
    assert said["released"]["paid"] == {"epsilon": "2", "delta": "0.00001"}
    assert (said["released"]["ended"], said["released"]["k"], said["released"]["teaching"]) == (False, "4", None)
    assert said["tables"] == {}
    assert said["now"]["open"] is None
    assert [said["now"]["at"][name] for name in ("k", "kbar", "max_bins")] == ["4", "6", "2"]
    paid = said["now"]["prices"][0]
    assert float(paid["epsilon"]) <= 2
    assert float(paid["delta"]) <= 1e-5
    for secret in ("canary", "913", "707", "511", "307"):
        assert secret not in explorer.sheet
    assert ask(explorer, "move", place={**said["now"]["at"], "k": "2"})["ok"] is True
    moved = complete(explorer)
    assert moved["released"] == said["released"]
    assert moved["now"]["open"] is None
    assert ask(explorer, "move", place={**said["now"]["at"], "method": "gumbel"})["ok"] is False


def test_a_teaching_draw_is_marked_and_stays_closed_too() -> None:
    drawn = dv.teaching(frame(), 7, UNIT).draw(KEYS, dv.TopK(4, 6, epsilon="2", delta="1e-5"))
    said = sheet_of(dv.TopKExplorer(drawn))
    assert said["released"]["teaching"] == "7"
    assert said["now"]["open"] is None


def test_a_list_with_noisy_counts_shows_them(tmp_path: Path) -> None:
    session = dv.Session(frame(), UNIT, dv.Budget("4", "1e-3"), tmp_path / "a.ledger")
    release = session.release(KEYS, dv.TopKLaplace(2, 6, epsilon="2", delta="1e-5"))
    said = sheet_of(dv.TopKExplorer(release))
    assert len(said["released"]["values"]) == len(said["released"]["items"]) == 2


def test_a_list_priced_by_the_item_stands_at_its_own_parts(tmp_path: Path) -> None:
    """Without delta' the steps add up; the first price is what was charged."""
    session = dv.Session(frame(), UNIT, dv.Budget("4", "1e-3"), tmp_path / "a.ledger")
    release = session.release(KEYS, dv.TopK(4, 6, epsilon_per_item="1/2", delta="1e-5"))
    said = sheet_of(dv.TopKExplorer(release))
    assert said["now"]["at"]["epsilon"] == "0.5"
    assert said["now"]["prices"][0]["epsilon"] == said["released"]["paid"]["epsilon"]
    assert said["now"]["prices"][0]["delta"] == said["released"]["paid"]["delta"] == "0.00001"


def test_a_private_choice_of_kbar_is_where_the_slider_stands(tmp_path: Path) -> None:
    session = dv.Session(frame(), UNIT, dv.Budget("4", "1e-3"), tmp_path / "a.ledger")
    release = session.release(KEYS, dv.TopK(3, "private", epsilon="2", delta="1e-5", largest=5))
    said = sheet_of(dv.TopKExplorer(release))
    assert 3 <= int(said["now"]["at"]["kbar"]) <= 5
    assert said["now"]["at"]["kbar"] == str(release.answer.kbar)  # type: ignore[attr-defined]
    assert (said["now"]["at"]["k"], said["released"]["k"]) == ("3", "2")


class Column:
    def __repr__(self) -> str:
        return str(CANARY)


SECRET = pd.DataFrame({"dest": ["ORD"], "visits": [CANARY]})


@pytest.mark.parametrize(
    "given",
    [
        SECRET,
        SECRET["visits"],
        SECRET["visits"].to_numpy(),
        [SECRET],
        {5: SECRET},
        {5: SECRET["visits"]},
        Column(),
        None,
    ],
    ids=["frame", "column", "array", "list", "frames", "columns", "object", "nothing"],
)
def test_what_nobody_declared_public_is_refused_without_showing_it(given: Any) -> None:
    with pytest.raises(Forbidden) as caught:
        dv.TopKExplorer(given)
    assert str(CANARY) not in str(caught.value)
    frames = [frame for frame, _ in walk_tb(caught.value.__traceback__) if is_ours(frame)]
    assert frames
    assert not [frame for frame in frames if str(CANARY) in repr(frame.f_locals)]


def test_counts_that_are_typed_are_refused_as_well() -> None:
    for given in ([9, 3], {5: [9, 3]}, {5: 9}):
        with pytest.raises(Forbidden):
            dv.TopKExplorer(given)  # type: ignore[arg-type]


def test_a_session_is_no_source_of_pictures(tmp_path: Path) -> None:
    session = dv.Session(frame(), UNIT, dv.Budget("4", "1e-3"), tmp_path / "a.ledger")
    with pytest.raises(Forbidden) as caught:
        dv.TopKExplorer(session)  # type: ignore[arg-type]
    assert "release first" in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dv.TopKExplorer("hills"),
        lambda: dv.TopKExplorer({}),
        lambda: dv.TopKExplorer({0: PublicTop(("a",), (1,))}),
        lambda: dv.TopKExplorer({True: PublicTop(("a",), (1,))}),
        lambda: dv.TopKExplorer("flat", k=20, kbar=10),
        lambda: dv.TopKExplorer("flat", max_bins=3),
        lambda: dv.TopKExplorer("flat", epsilon_per_item=0),
        lambda: dv.TopKExplorer("flat", delta="1"),
        lambda: dv.TopKExplorer("flat", delta_prime="1"),
        lambda: dv.TopKExplorer("flat", "user"),  # type: ignore[arg-type]
        lambda: dv.CompositionExplorer(epsilon=0),
        lambda: dv.CompositionExplorer(delta="2"),
        lambda: dv.CompositionExplorer(k=0),
        lambda: dv.CompositionExplorer(SECRET["visits"]),
    ],
)
def test_what_lies_outside_the_sliders_is_refused(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


def test_a_release_of_a_histogram_has_a_chart_of_its_own(tmp_path: Path) -> None:
    session = dv.Session(frame(), UNIT, dv.Budget("4", "1e-3"), tmp_path / "a.ledger")
    release = session.release(dv.Domain.categories(["ORD", "ATL"], column="dest"), dv.Dense("1"))
    with pytest.raises(ParameterError):
        dv.TopKExplorer(release)


def test_the_composition_explorer_moves_and_holds_its_place() -> None:
    explorer = dv.CompositionExplorer(epsilon="0.1", delta="1e-6")
    said = sheet_of(explorer)
    assert said["now"]["at"] == {"epsilon": "0.1", "delta": "0.000001", "k": "50"}
    place = {"epsilon": "1/3", "delta": "1/7", "k": "77"}
    assert ask(explorer, "move", place=place)["ok"] is True
    moved = complete(explorer)
    assert moved["now"]["at"] == place
    assert "77" in moved["axes"][2]["grid"]
    assert repr(explorer) == "CompositionExplorer()"


def test_a_report_takes_explorers_with_the_sheet_that_the_kernel_made(tmp_path: Path) -> None:
    explorer = dv.TopKExplorer("step", k=3, kbar=10)
    made = sheet_of(explorer)
    explorer.board.sheet = '{"version": 1, "tables": {"forged": 1}}'
    path = dv.report([explorer, dv.CompositionExplorer()], tmp_path / "explorers.html")
    said = pages.data(path)
    assert said["title"] == "Top k of an unknown list and What k steps cost together"
    assert [one["component"] for one in said["explorers"]] == ["top-k-explorer", "composition-explorer"]
    assert said["explorers"][0]["sheet"] == made
    assert said["releases"] == said["sheets"] == said["caveats"] == []
    assert "its sliders need JavaScript" in path.read_text(encoding="utf-8")


def test_explorers_stand_beside_releases_and_change_no_sum(tmp_path: Path) -> None:
    session = dv.Session(frame(), UNIT, dv.Budget("4", "1e-3"), tmp_path / "a.ledger")
    release = session.release(KEYS, dv.TopK(4, 6, epsilon="2", delta="1e-5"))
    alone = pages.data(dv.report([release], tmp_path / "alone.html"))
    beside = pages.data(dv.report([release, dv.TopKExplorer(release)], tmp_path / "beside.html", ledger=session))
    assert beside["totals"] == {**alone["totals"], "chain": beside["totals"]["chain"]}
    assert beside["title"] == alone["title"]
    assert beside["explorers"][0]["sheet"]["released"]["items"] == ["ORD", "ATL", "JFK", "BOS"]
