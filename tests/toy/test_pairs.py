"""A new kind of answer is one file in Python and one view in TypeScript: released, stored, saved, loaded, planned, told
in words and tables, charted and reported, and no other file knows its name. `tests/browser/test_toy.py` looks at it.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import dpviz as dv
from dpviz.charts import registry, tables
from dpviz.charts.picture import picture
from dpviz.errors import ParameterError, ReleaseFormat
from dpviz.model.answers import SHAPES, Packed, register, unregister
from dpviz.model.laws import law_from_json
from tests.reports import pages
from tests.toy.pairs import BINS, FRAME, PairMeans, Pairs, of_pairs

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.usefixtures("known")


def drawn(folder: Path) -> tuple[dv.Session, dv.Release]:
    session = dv.Session(FRAME, dv.Unit("row"), dv.Budget(epsilon=5), folder / "toy.ledger")
    return session, session.release(BINS, Pairs(epsilon="1/10"))


def test_a_new_shape_is_released_stored_saved_and_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, release = drawn(tmp_path)
    answer = release.answer
    assert isinstance(answer, PairMeans) and release.price_text == "ε = 0.1"
    assert session.release(BINS, Pairs(epsilon="1/10")) == release and len(session.ledger.entries()) == 1
    assert session.releases[1].answer == answer
    path = release.save(tmp_path / "toy.json")
    assert dv.load(path, ledger=session) == release
    stored = json.loads(path.read_text())["release"]["answer"]
    assert stored["kind"] == "pair-means" and stored["bins"] == "5" and set(stored["arrays"]) == {"sums"}
    monkeypatch.delitem(SHAPES, PairMeans.kind)
    with pytest.raises(ReleaseFormat, match="does not know that shape"):
        dv.load(path)


def test_its_values_are_fractions_and_each_row_has_its_own_interval(tmp_path: Path) -> None:
    _, release = drawn(tmp_path)
    sums = release.answer.sums.tolist()  # type: ignore[attr-defined]
    assert release.labels == ["0 and 1", "2 and 3", "4"]
    assert release.values == [Fraction(sums[0], 2), Fraction(sums[1], 2), Fraction(sums[2])]
    assert (release[1], release[4]) == (Fraction(sums[0], 2), sums[2])
    assert release.many([3, 0]) == [Fraction(sums[1], 2), Fraction(sums[0], 2)]
    frame = release.to_frame()
    assert list(frame.columns) == ["pair", "bins", "value", "low", "high", "low_all", "high_all"]
    assert frame["bins"].tolist() == [2, 2, 1] and frame["high"][0] is None
    lengths = [high - low for low, high in zip(frame["low"][1:], frame["high"][1:], strict=True)]
    assert lengths[0] > lengths[1] > 0
    assert all(frame["low_all"] < frame["low"])
    with pytest.raises(ReleaseFormat, match=r"read release\.to_frame\(\)"):
        release.bars()


def test_it_is_written_tabled_and_pictured_in_its_own_words(tmp_path: Path) -> None:
    session, release = drawn(tmp_path)
    text = release.to_csv()
    assert text is not None and "# 3 means of neighbouring bins." in text
    assert "pair,bins,value,low,high,low_all,high_all" in text
    page = tables.table(release)
    assert "<th scope='row'>2 and 3</th>" in page and "<th scope='col'>this pair alone</th>" in page
    assert "at least" in page and "Any one pair lies within its interval 95 in 100 times." in page
    seen = picture(release)
    assert seen["kind"] == "pair-means" and seen["widths"] == [2, 2, 1] and seen["axis"] == "visits"
    assert [Fraction(mean) for mean in seen["means"]] == release.values
    assert seen["intervals"]["0.05"][0][1] is None
    assert "2 and 3" in pages.unpacked(dv.report([release], tmp_path / "toy.html"))
    assert "Pairs" in repr(session.plan(BINS, Pairs(epsilon="1")))


def test_the_chart_that_fits_is_drawn_or_one_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, release = drawn(tmp_path)
    assert release.chart(width=200).to_dict()["width"] == 200
    monkeypatch.delitem(registry.CHARTS, "pair-means")
    with pytest.raises(ParameterError, match="registered"):
        release.chart()
    monkeypatch.setattr(PairMeans, "chart", "histogram")
    spec = json.dumps(release.chart().to_dict())
    assert "2 and 3" in spec and "at least" in spec


def test_a_stored_array_that_is_not_what_it_says_is_refused() -> None:
    whole = Packed({"bins": "5"}, {"sums": np.array([1, -2, 2**40])}).to_json()
    assert Packed.from_json(whole).arrays["sums"].tolist() == [1, -2, 2**40]
    part = whole["arrays"]["sums"]
    changes: list[dict[str, Any]] = [
        {"type": "<U4"}, {"type": "|O"}, {"type": ["<i8"]}, {"shape": [4]}, {"shape": [-1]}, {"shape": "3"},
        {"base64": "AAAA"}, {"base64": "!"}, {"base64": 7}, {"more": 1},
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(ReleaseFormat):
            Packed.from_json({"bins": "5", "arrays": {"sums": {**part, **change}}})
    for arrays in (None, [], {"sums": "AAAA"}):
        with pytest.raises(ReleaseFormat):
            Packed.from_json({"bins": "5", "arrays": arrays})


def test_it_is_planned_in_its_own_words_and_its_law_is_read_back(tmp_path: Path) -> None:
    session, release = drawn(tmp_path)
    plan = session.plan(BINS, Pairs(epsilon="1/10"))
    assert [measure["label"] for measure in plan.sheet.to_json()["measures"]] == ["Any one pair"]
    assert "any one pair" in repr(plan)
    chart = json.dumps(plan.chart().to_dict())
    assert "Any one pair" in chart
    law = release.terms.law
    assert law_from_json(law.to_json()) == law and law.to_json()["name"] == "pairs"


def test_a_report_carries_its_view(tmp_path: Path, bundle: Path) -> None:
    _, release = drawn(tmp_path)
    page = dv.report([release], tmp_path / "toy.html")
    (view,) = pages.data(page)["views"]
    assert view == {"kind": "pair-means", "code": bundle.read_text(), "css": ""} and "2 and 3" in page.read_text()


def test_nothing_in_the_house_knows_its_name() -> None:
    texts = [path.read_text() for part in ("dpviz", "widgets/src") for path in (ROOT / part).rglob("*.[pt][ys]")]
    assert texts and not [text for text in texts if "pair-means" in text or "PairMeans" in text or "PairsLaw" in text]


def test_two_shapes_of_one_kind_are_refused() -> None:
    class Table(PairMeans):
        kind: ClassVar[str] = "table"

    with pytest.raises(ParameterError, match="a kind of its own"):
        register(Table)
    assert SHAPES["table"] is not Table


def test_what_was_registered_is_taken_back_and_what_is_dpvizs_own_stays() -> None:
    before = dict(SHAPES), dict(registry.CHARTS)
    for call in (
        lambda: unregister(SHAPES["table"]),
        lambda: registry.unregister("histogram"),
        lambda: registry.unregister("unheard"),
        lambda: registry.unregister(7),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError):
            call()
    assert (dict(SHAPES), dict(registry.CHARTS)) == before
    unregister(PairMeans)
    registry.unregister(PairMeans.chart)
    assert PairMeans.kind not in SHAPES and PairMeans.chart not in registry.CHARTS
    with pytest.raises(ParameterError, match="taken out"):
        unregister(PairMeans)
    register(PairMeans)
    registry.register(PairMeans.chart, of_pairs)
