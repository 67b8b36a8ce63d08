"""A release of a list or of a set: what can be read from it, in which words, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ReleaseFormat
from dpviz.model import answers
from dpviz.model.answers import Chosen, Ranked, SparseTable, Table
from dpviz.model.question import Between, Question
from dpviz.model.release import Release
from tests.charts.listed import AIRCRAFT, DESTINATION, listed, of_set, valued


def test_a_list_reads_in_the_order_it_was_drawn() -> None:
    release = listed(["ATL", "STL", "MIA"], ended=True)
    assert release.items == release.labels == ["ATL", "STL", "MIA"]
    assert release.ended is True
    assert release.max_items == 10
    frame = release.to_frame()
    assert frame.columns.tolist() == ["rank", "item", "below", "below_all"]
    assert frame["rank"].tolist() == [1, 2, 3]
    assert frame["item"].tolist() == ["ATL", "STL", "MIA"]


@pytest.mark.parametrize(
    ("items", "ended", "said"),
    [
        (3, True, "No more: ⊥. The list ended after 3 of 10, because no further item stood out enough."),
        (0, True, "Only ⊥ (no more): no item stood out enough."),
        (9, True, "No more: ⊥. The list ended after 9 of 10, because no further item stood out enough."),
        (10, False, "All ten places were filled."),
        (7, False, "7 of 10 places were filled."),
    ],
)
def test_what_the_end_of_a_list_means_is_said(items: int, ended: bool, said: str) -> None:
    release = listed([f"D{place}" for place in range(items)], ended=ended)
    assert release.sentence == said
    assert said in str(release.to_csv())


def test_a_kbar_that_was_chosen_privately_is_told() -> None:
    asked = dv.TopK(k=4, kbar="private", largest=60, epsilon=1).bind(Question.of(DESTINATION), AIRCRAFT)
    answer = Ranked(("ATL", "STL", "MIA"), ended=False, kbar=37)
    release = Release.of(asked, answer, mode="exact", randomness="none")
    assert release.sentence == (
        "All three places were filled. They are of the 37 most common, a number chosen privately."
    )


def test_a_list_is_titled_by_what_is_ranked_and_by_what_it_was_counted() -> None:
    assert listed(["ATL"]).title == "Destination, top 10 by aircraft, released with ε = 1, δ = 0.000001"
    asked = Question.of(DESTINATION, {"month": [12]})
    assert listed(["ATL"], question=asked).plain_title == "Destination, top 10 by aircraft, where month is 12"
    assert of_set(["ATL"]).plain_title == "Destination, up to 10 by aircraft"


def test_a_set_has_no_ranks_and_says_that_its_order_means_nothing() -> None:
    release = of_set(["ATL", "BNA"])
    assert release.items == ["ATL", "BNA"]
    assert release.to_frame().columns.tolist() == ["item", "below_all"]
    assert release.sentence == "2 items stood out enough; their order says nothing."
    assert of_set([]).sentence == "No item stood out enough."
    with pytest.raises(ReleaseFormat, match="only a ranked answer can end early"):
        _ = release.ended


def test_values_of_a_list_come_with_their_intervals() -> None:
    release = valued(["ATL", "STL"], [640, 612])
    one, every = release.bars()
    assert every is not None and every.value > one.value > 0
    frame = release.to_frame()
    assert frame.columns.tolist() == [
        *("rank", "item", "value", "low", "high", "high_counted"),
        *("low_all", "high_all", "high_all_counted", "below", "below_all"),
    ]
    assert (frame.value - frame.low == one.value).all() and (frame.high_counted - frame.value == one.value).all()
    assert frame.high.isna().all(), "a limit on the keys of one aircraft leaves no upper end"
    assert release.values == [640, 612]


@pytest.mark.parametrize(
    ("read", "next_step"),
    [
        (lambda release: release["ATL"], "read release.items"),
        (lambda release: release.many(["ATL"]), "read release.items"),
        (lambda release: release.values, "read release.items"),
        (lambda release: release.bars(), "no error bar per bin"),
        (lambda release: dv.charts.histogram(release), "release.chart()"),
    ],
)
@pytest.mark.parametrize("release", [listed(["ATL", "STL"]), of_set(["ATL"])])
def test_a_value_that_was_never_released_is_refused_with_the_next_step(
    release: Release, read: Any, next_step: str
) -> None:
    with pytest.raises(DpvizError) as refused:
        read(release)
    assert next_step in str(refused.value)
    assert "ATL" not in str(refused.value)


def test_items_and_ended_are_for_lists() -> None:
    table = dv.Dense(1).bind(Question.of(dv.Domain.integers(0, 1, column="x")), dv.Unit())
    release = Release.of(table, Table(np.array([1, 2], dtype=np.int64)), mode="exact", randomness="none")
    for read in (lambda: release.items, lambda: release.ended):
        with pytest.raises(ReleaseFormat, match=r"read release\.labels"):
            read()
    assert (release.max_items, release.sentence, release.used) == (None, "", "")


@pytest.mark.parametrize(
    "release", [listed(["ATL", "STL"], ended=True), of_set(["ATL", "BNA"]), valued(["ATL"] * 1, [640], ended=True)]
)
def test_a_list_is_saved_and_loaded(release: Release, tmp_path: Path) -> None:
    loaded = dv.load(release.save(tmp_path / "list.json"))
    assert loaded == release
    assert (loaded.title, loaded.sentence, loaded.to_csv()) == (release.title, release.sentence, release.to_csv())


@pytest.mark.parametrize(
    "change",
    [
        {"ended": False},  # fewer than ten, and it does not say that it ended
        {"items": [f"D{place}" for place in range(11)]},
        {"items": ["ATL", "ATL"]},
        {"values": ["3", "4"]},
        {"kind": "sparse", "labels": ["ATL"], "values": ["3"]},
    ],
)
def test_a_saved_list_that_its_mechanism_never_gives_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    from hashlib import sha256

    from dpviz.model.question import canonical

    body = listed(["ATL", "STL"], ended=True).to_json()
    body["answer"] = {**body["answer"], **change}
    path = tmp_path / "forged.json"
    path.write_bytes(canonical({"release": body, "sha256": sha256(canonical(body)).hexdigest()}))
    with pytest.raises(ReleaseFormat):
        dv.load(path)


def test_a_declared_bin_is_named_by_its_label() -> None:
    hours = dv.Domain.integers(0, 23, column="hour", overflow=True)
    bound = dv.TopK(k=2, kbar=3, epsilon=1).bind(Question.of(hours), AIRCRAFT)
    release = Release.of(bound, Ranked((24, 7), ended=False), mode="exact", randomness="none")
    assert release.items == ["over 23", "7"]
    assert answers.from_json(json.loads(json.dumps(release.answer.to_json()))) == release.answer


def test_the_question_is_put_in_the_words_of_a_list() -> None:
    asked = Question.of(DESTINATION, {"minute": Between(low=5)})
    assert asked.ranked_sentence(AIRCRAFT, 1) == (
        "Which destinations have the most aircraft where minute is at least 5? One of them; "
        "no list of all destinations is needed."
    )


def test_shapes_that_look_alike_are_not_equal() -> None:
    assert Ranked(("a",), ended=True) != Chosen(("a",))
    assert Ranked(("a",), ended=True) != Ranked(("a",), ended=False)
    assert SparseTable(("a",), np.array([1], dtype=np.int64)) != Chosen(("a",))
