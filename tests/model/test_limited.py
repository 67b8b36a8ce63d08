"""Contribution limits in words: which answers they may cut, which ends of intervals hold, and that every statement says
so beside its number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import dpviz as dv
from dpviz.model.derived import Derived
from dpviz.model.limited import Limited
from dpviz.model.question import Question
from tests import statements

MONTHS = Question(dv.Domain.integers(1, 12, column="month"))
KEYS = Question(dv.Domain.keys(column="month"))


def sums(low: int, high: int) -> Question:
    return Question.sum("minutes", by=dv.Domain.integers(1, 12, column="month"), low=low, high=high, step=1)


@pytest.mark.parametrize(
    ("question", "unit", "ends"),
    [
        (MONTHS, dv.Unit(), (True, True)),
        (MONTHS, dv.Unit("a", max_bins=12), (True, True)),
        (MONTHS, dv.Unit("a", max_bins=None), (True, True)),
        (MONTHS, dv.Unit("a", max_bins=11), (True, False)),
        (MONTHS, dv.Unit("a", max_bins=12, max_records=5), (True, False)),
        (MONTHS, dv.Unit("a", max_bins=12, max_per_bin=2), (True, False)),
        (KEYS, dv.Unit("a", max_bins=100), (True, False)),
        (sums(0, 9), dv.Unit(), (True, True)),
        (sums(0, 9), dv.Unit("a", max_bins=12), (True, False)),
        (sums(-9, 0), dv.Unit("a", max_bins=12), (False, True)),
        (sums(-9, 9), dv.Unit("a", max_bins=12), (False, False)),
    ],
)
def test_ends_hold_as_the_question_the_limits_and_the_declared_bins_say(
    question: Question, unit: dv.Unit, ends: tuple[bool, bool]
) -> None:
    limited = Limited(question, unit)
    assert limited.ends == ends and limited.cuts == (ends != (True, True))
    assert bool(limited.sentence) == limited.cuts


def test_a_limit_on_parts_cuts_and_one_of_all_bins_of_a_product_is_shared_by_the_parts() -> None:
    halves = dv.Domain.integers(0, 1, column="half")
    unit = dv.Unit("a", max_bins=12)
    limits = (None, 1, 2)
    by = [Question(MONTHS.domain, by=dv.Partition(halves, max_parts=most)).in_parts()[0] for most in limits]
    assert [Limited(one, unit).cuts for one in by] == [False, True, False]
    assert Limited(by[0], unit, together=2).cuts and not Limited(by[0], dv.Unit("a", max_bins=24), together=2).cuts


def test_the_ends_that_are_said_to_hold_do_for_every_small_set_of_rows() -> None:
    """Of two users with up to two rows in each of three bins, whichever bins and rows are kept."""
    steps = {(True, False): (0, 1), (False, True): (-1, 0), (False, False): (-1, 1)}
    for ends, (low, high) in steps.items():
        assert Limited(sums(low, high), dv.Unit("a", max_bins=1)).ends == ends
        below, above = False, False
        for rows in product((low, high), repeat=3):
            for kept in product((0, 1), repeat=3):
                asked, counted = sum(rows), int(np.dot(rows, kept))
                below, above = below or asked < counted, above or asked > counted
        assert (not below, not above) == ends


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Mapping[bool, Mapping[str, str]]:
    units = {True: statements.CUT, False: statements.UNCUT}
    return {cut: statements.statements(unit, tmp_path_factory.mktemp("told")) for cut, unit in units.items()}


@pytest.mark.parametrize("cut", [True, False])
def test_every_statement_says_what_limits_cut_and_none_where_they_cut_nothing(
    told: Mapping[bool, Mapping[str, str]], cut: bool
) -> None:
    assert len(told[cut]) > 50 and statements.faults(told[cut], cut) == []


def test_statements_that_leave_the_words_out_are_caught(told: Mapping[bool, Mapping[str, str]]) -> None:
    """The statements about an answer of which nothing is cut are the twin that leaves them out."""
    assert statements.faults(told[False], True) == list(told[False])
    assert set(statements.faults(told[True], False)) >= {"plan", "release csv", "sum repr", "list chart", "lesson"}


def test_a_frame_opens_the_upper_ends_and_keeps_those_for_what_was_counted() -> None:
    release = statements.lesson(statements.CUT).draw(statements.MONTHS, dv.Dense(1))
    frame, counted = release.to_frame(), release.intervals(of="counted")
    assert counted is not None and frame["high"].isna().all() and frame["high_all"].isna().all()
    assert frame["low"].tolist() == list(counted.low) and frame["high_counted"].tolist() == list(counted.high)
    total = release.sum([1, 2])
    assert isinstance(total, Derived) and total.counted is not None
    assert (total.low, total.high) == (total.counted[0], None) and total.nouns == "aircraft-months"
    uncut = statements.lesson(statements.UNCUT).draw(statements.MONTHS, dv.Dense(1)).to_frame()
    assert uncut.columns.tolist() == ["bin", "value", "low", "high", "low_all", "high_all"]
    assert "limits" not in uncut.attrs


def test_a_derived_value_that_was_saved_says_the_same_again(tmp_path: Path) -> None:
    release = statements.lesson(statements.CUT).draw(statements.MONTHS, dv.Dense(1))
    for value in (release.sum([1, 2]), release.share([1, 2]), release.compare([1], [2])):
        assert isinstance(value, Derived)
        again = dv.load_derived(value.save(tmp_path / "value.json"))
        assert isinstance(again, Derived) and again.sentence == value.sentence and again.counted == value.counted


def test_the_page_is_tested_with_the_answers_that_python_gives_today() -> None:
    written = json.loads(json.dumps(statements.payloads(), default=str))
    assert written == json.loads(statements.PAGE.read_text())
