"""RangeExplorer: what a sheet says of ranges is what the arithmetic of trees says of them, and nothing else goes in."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, Forbidden, ParameterError
from dpviz.exact import Decay, rational, text
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum
from dpviz.planning.range_sheet import COLUMNS, SAVED_STOPS, RangeSheet, made_up, of_public
from dpviz.widgets.explorer import Explorer
from tests.reports import pages
from tests.widgets.pages import complete

CANARY = 7_310_001
BETA = Fraction(1, 20)
TABLE = dv.PublicTable(dv.Domain.integers(100, 120, column="minute"), np.arange(21) % 5 * 7, "departures")


def ask(explorer: Explorer, name: str, **args: Any) -> dict[str, Any]:
    reply = explorer.answer({"v": 1, "id": "1", "ask": name, "args": args})
    assert reply is not None
    return json.loads(json.dumps(reply, allow_nan=False))  # type: ignore[no-any-return]


def sheet_of(explorer: Explorer) -> dict[str, Any]:
    said: dict[str, Any] = complete(explorer)
    return said


@pytest.fixture(scope="module")
def small() -> RangeSheet:
    return RangeSheet.over(of_public(TABLE, Fraction(1), 3, 5), BETA)


def test_every_range_has_the_values_of_the_tree_the_cover_and_the_bins(small: RangeSheet) -> None:
    drawn = small.drawn
    fitted, subtrees, bins = drawn.estimators
    leaves = drawn.fit.leaves()
    assert not all(leaf.denominator == 1 for leaf in leaves)
    for low in range(21):
        for high in range(low, 21):
            said = small.reading(low, high)
            assert said["rows"]["fitted"]["value"] == text(sum(leaves[low : high + 1], Fraction(0)))
            assert said["rows"]["subtrees"]["value"] == str(drawn.fit.subtrees(low, high))
            assert said["truth"] == str(int(TABLE.counts[low : high + 1].sum()))
            assert said["rows"]["bins"]["count"] == str(high - low + 1)
    assert small.reading(0, 20)["labels"] == ["100", "120"]
    parts = [int(small.reading(at, at)["rows"]["bins"]["value"]) for at in range(21)]
    assert int(small.reading(4, 11)["rows"]["bins"]["value"]) == sum(parts[4:12])
    assert fitted.name == "fitted" and subtrees.count(0, 2) == 1 and bins.count(0, 2) == 3


def law_of(sheet: RangeSheet, name: str, low: int, high: int) -> NoiseSum:
    """Put together once more: the tree of 21 bins and 3 children has 4 levels, so epsilon 1 is 1/4 on a node."""
    node, single, design = Decay.exp(Fraction(1, 4)), Decay.exp(Fraction(1)), sheet.drawn.design
    assert design.shape.height == 4
    if name == "bins":
        return NoiseSum.of([Term(single, 1, high - low + 1)])
    if name == "subtrees":
        return NoiseSum.of([Term(node, 1, len(design.shape.cover(low, high)))])
    runs = design.weights([(low, high, 1)])
    return NoiseSum.of([Term(node, run.weight, run.stop - run.first) for run in runs])


def test_half_widths_hold_by_the_law_and_a_count_less_does_not_where_they_are_exact(small: RangeSheet) -> None:
    """Both for one range and for all in view, whose share of beta is smaller. A twin one count too narrow is caught."""
    exact = 0
    for low, high in [(0, 0), (3, 3), (0, 8), (2, 17), (9, 17), (0, 20), (1, 19)]:
        said = small.reading(low, high)
        for one in small.drawn.estimators:
            row, law = said["rows"][one.name], law_of(small, one.name, low, high)
            for bar, level in ((row["one"], BETA), (row["all"], BETA / small.together)):
                half = rational(bar["value"])
                assert 2 * law.above(half)[1] <= level + Fraction(1, 10**9)
                assert bar["kind"] == ("bound" if bar is row["all"] else "exact" if "off" not in bar else "numerical")
            if row["one"]["kind"] == "exact":
                exact += 1
                assert 2 * law.above(rational(row["one"]["value"]) - 1)[0] > BETA
    assert exact >= 14


def test_the_nodes_of_a_reading_add_up_to_the_fitted_value(small: RangeSheet) -> None:
    """Weights travel as floats for the picture: six digits of them give the exact value to as many."""
    drawn = small.drawn
    shape = drawn.design.shape
    for low, high in [(0, 0), (5, 13), (0, 20)]:
        said, total = small.reading(low, high), 0.0
        for height, first, last, count, weight in said["nodes"]:
            size = shape.sizes[height - 1]
            assert (last + 1 - first) == count * size
            place = first // size
            total += weight * float(shape.level(drawn.fit.noisy, height)[place : place + count].sum())
        assert total == pytest.approx(float(Fraction(said["rows"]["fitted"]["value"])), rel=1e-3, abs=0.02)


def test_stretches_in_view_cover_it_once_and_none_errs_more_than_is_said() -> None:
    sheet = RangeSheet.over(of_public(made_up("bursts"), Fraction(1, 2), 4, 3), BETA)
    view = sheet.to_json()["view"]
    edges, fitted = view["edges"], sheet.drawn.estimators[0]
    assert (edges[0], edges[-1]) == (0, 4096) and len(edges) - 1 <= COLUMNS
    assert view["together"] == str(len(edges))
    bars = [fitted.bar(low, high - 1, BETA).value for low, high in pairwise(edges)]
    assert max(bars) == int(view["one"]["value"])
    for place in (0, 7, len(edges) - 2):
        exact = float(fitted.value(edges[place], edges[place + 1] - 1))
        assert view["values"][place] == pytest.approx(exact, rel=1e-5, abs=1e-3)
    assert sum(view["truth"]) == int(made_up("bursts").counts.sum())


def test_a_closer_look_has_narrower_stretches_and_another_number_of_ranges_that_hold_at_once() -> None:
    explorer = dv.RangeExplorer("sparse", branching=8)
    before = sheet_of(explorer)
    place = {"first": "1000", "last": "1199", "low": "1010", "high": "1100"}
    ask(explorer, "move", place=place)
    after = complete(explorer)
    assert (before["view"]["width"], after["view"]["width"]) == ("16", "1")
    assert (after["view"]["edges"][0], after["view"]["edges"][-1], after["view"]["together"]) == (1000, 1200, "201")
    assert (after["range"]["low"], after["range"]["high"]) == ("1010", "1100")
    assert sheet_of(explorer) == after
    for wrong in ({**place, "first": "1200"}, {**place, "high": "4096"}, {**place, "low": "-1"}, {"first": "0"}):
        assert ask(explorer, "move", place=wrong)["ok"] is False
    assert sheet_of(explorer) == after


def test_ranges_are_read_by_bins_and_by_labels() -> None:
    explorer = dv.RangeExplorer(TABLE, epsilon=1, branching=3)
    by_bins = ask(explorer, "read", points=[["bins", "4", "9"]])["body"]["readings"]
    assert by_bins == ask(explorer, "read", points=[["labels", "104", "109"]])["body"]["readings"]
    assert by_bins[0]["labels"] == ["104", "109"]
    several = ask(explorer, "read", points=[["bins", "0", "0"], ["bins", "20", "20"]])["body"]["readings"]
    assert [one["labels"] for one in several] == [["100", "100"], ["120", "120"]]


def test_a_label_is_read_back_as_it_is_shown() -> None:
    for domain in (
        dv.Domain.intervals(["0", "1/2", "2", "10"], column="x", underflow=True, overflow=True),
        dv.Domain.integers(-2, 2, column="x", overflow=True),
    ):
        explorer = dv.RangeExplorer(dv.PublicTable(domain, np.ones(domain.size, np.int64)), branching=2)
        for at in range(domain.size):
            label = domain.label(at)
            read = ask(explorer, "read", points=[["labels", label, label]])["body"]["readings"][0]
            assert (read["low"], read["high"]) == (str(at), str(at)), label


@pytest.mark.parametrize(
    "point",
    [
        ["bins", "9", "4"], ["bins", "0", "21"], ["bins", "-1", "4"], ["bins", "1.5", "4"], ["labels", "109", "104"],
        ["labels", "99", "104"], ["labels", "noon", "104"], ["rows", "0", "1"], ["bins", "0"], ["bins", "0", "1", "2"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_ranges_that_are_reversed_or_outside_are_refused(point: list[str]) -> None:
    assert ask(dv.RangeExplorer(TABLE, branching=3), "read", points=[point])["ok"] is False


def test_a_file_carries_more_stops_than_a_page_with_a_kernel_and_a_range_between_any_two() -> None:
    explorer = dv.RangeExplorer("flat", branching=4)
    live, saved = sheet_of(explorer), explorer.shown
    assert len(live["stops"]) < len(saved["stops"]) <= SAVED_STOPS
    stops = [int(stop) for stop in saved["stops"]]
    assert stops[0] == 0 and stops[-1] == 4096
    spans = [(one["low"], one["high"]) for one in saved["between"]]
    assert spans == [(str(low), str(high - 1)) for at, low in enumerate(stops) for high in stops[at + 1 :]]
    again = ask(explorer, "read", points=[["bins", *spans[100]]])["body"]["readings"][0]
    assert saved["between"][100] == again


def test_errors_against_length_grow_for_bins_and_hardly_for_the_tree() -> None:
    curve = sheet_of(dv.RangeExplorer("flat", branching=16))["curve"]
    assert curve["lengths"] == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4096]
    fitted, subtrees, bins = (curve["errors"][name] for name in ("fitted", "subtrees", "bins"))
    assert bins["one"] == sorted(bins["one"]) and bins["one"][0] < fitted["one"][0]
    assert all(tree <= cover for tree, cover in zip(fitted["one"], subtrees["one"], strict=True))
    assert all(one < every for one, every in zip(fitted["one"], fitted["all"], strict=True))
    assert fitted["one"][-2] < bins["one"][-2]


@pytest.mark.parametrize(
    "given",
    [pd.DataFrame({"x": [CANARY]}), pd.Series([CANARY]), np.array([CANARY]), [CANARY], {1: CANARY}, None],
    ids=lambda given: type(given).__name__,
)
def test_what_is_not_declared_public_is_refused_and_not_shown(given: Any) -> None:
    with pytest.raises(Forbidden) as refused:
        dv.RangeExplorer(given)
    assert str(CANARY) not in str(refused.value)


@pytest.mark.parametrize(
    ("table", "options", "error"),
    [
        (dv.PublicTable(dv.Domain.categories(["a", "b"], column="c"), np.array([1, 2])), {}, DomainError),
        (
            dv.PublicTable(
                dv.Domain.integers(0, 1, column="a") * dv.Domain.integers(0, 1, column="b"), np.ones(4, int)
            ),
            {},
            DomainError,
        ),
        ("flat", {"branching": 1}, ParameterError),
        ("flat", {"epsilon": 0}, ParameterError),
        ("flat", {"beta": 0}, ParameterError),
        ("flat", {"beta": 1}, ParameterError),
        ("flat", {"seed": 0}, ParameterError),
        ("spiky", {}, ParameterError),
    ],
)
def test_domains_without_ranges_and_choices_that_mean_nothing_are_refused(
    table: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        dv.RangeExplorer(table, **options)


def test_of_a_released_tree_every_range_is_what_the_release_says_and_no_true_count_goes_in(tmp_path: Path) -> None:
    minutes = dv.Domain.integers(0, 40, column="minute")
    frame = pd.DataFrame({"minute": [5] * 7_310 + [9] * 8_420 + [33] * 40})
    session = dv.Session(frame, dv.Unit("row", noun="flight"), dv.Budget(2), tmp_path / "a.ledger")
    release = session.release(minutes, dv.Tree(epsilon=1, branching=4))
    explorer = dv.RangeExplorer(release)
    said = sheet_of(explorer)
    assert (said["paid"], said["badge"], said["seed"], said["nouns"]) == ("paid ε 1", None, None, "flights")
    assert [one["name"] for one in said["estimators"]] == ["fitted", "subtrees", "leaves"]
    assert said["view"]["truth"] is None and {one["truth"] for one in said["between"]} == {None}
    for low, high in [(0, 0), (3, 30), (0, 40)]:
        read = ask(explorer, "read", points=[["labels", str(low), str(high)]])["body"]["readings"][0]
        for name, row in read["rows"].items():
            derived = release.range(low, high, reader=name)
            assert row["value"] == text(derived.value)
            assert row["one"] == release.reading.error.estimator(name).range(low, high, BETA).to_json()
    assert session.remaining.epsilon == 1


def test_a_teaching_draw_of_a_tree_is_marked(tmp_path: Path) -> None:
    drawn = dv.teaching(pd.DataFrame({"x": [1, 2, 2]}), 7).draw(
        dv.Domain.integers(0, 9, column="x"), dv.Tree(epsilon=1)
    )
    said = sheet_of(dv.RangeExplorer(drawn))
    assert (said["badge"], said["paid"], said["seed"]) == ("Not private · teaching, seed 7", None, "7")


def test_a_release_of_something_else_is_refused_with_what_to_ask_it() -> None:
    drawn = dv.teaching(pd.DataFrame({"x": [1]}), 7).draw(dv.Domain.integers(0, 9, column="x"), dv.Dense(epsilon=1))
    with pytest.raises(ParameterError, match=r"release\.range\(low, high\)"):
        dv.RangeExplorer(drawn)


def test_one_bin_is_a_domain_too() -> None:
    said = sheet_of(dv.RangeExplorer(dv.PublicTable(dv.Domain.integers(7, 7, column="x"), np.array([40]))))
    assert said["range"]["labels"] == ["7", "7"] and said["view"]["edges"] == [0, 1]


def test_a_report_carries_it(tmp_path: Path) -> None:
    data = pages.data(dv.report([dv.RangeExplorer("flat", branching=4)], tmp_path / "r.html"))
    assert [one["component"] for one in data["explorers"]] == ["range-explorer"]
