"""What is derived from a paid answer reads as a person would say it, names its points, and gives a unit to each number.

Nothing here is left to chance: answers are made by hand, and what a sentence says is held against what was calculated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.errors import DomainError, ParameterError
from dpviz.model.answers import Ranges, Ranks, SparseTable
from dpviz.model.derived import Derived
from dpviz.model.either import EitherError
from dpviz.model.linear import Query
from dpviz.model.release import Release
from dpviz.session.plan import Plan
from tests.model.whole_laws import bins, release_of, table

FLAT = dv.Dense(1, clamp=False).bind(bins(8), dv.Unit())
FLOORED = dv.Dense(1).bind(bins(8), dv.Unit(relation="replace-one", n=99))
EIGHT = [5, 9, 4, 40, 2, 6, 1, 3]


def sole(asked: Any) -> Derived:
    assert isinstance(asked, Derived)
    return asked


def tree(epsilon: int | str = 2, seed: int = 0, **more: Any) -> Release:
    bound = dv.Tree(epsilon, **more).bind(bins(7), dv.Unit())
    nodes = np.random.default_rng(seed).integers(0, 30, bound.asked)
    return release_of(bound, Ranges(bound.law.design, nodes, None))


def ranks(values: list[int]) -> Release:
    question = dv.Question.of(dv.Domain.categories([str(one) for one in range(len(values))], column="k"))
    return release_of(dv.Sorted(1).bind(question, dv.Unit()), Ranks(np.array(values, dtype=np.int64)))


# ---------------------------------------------------------------- which points it is about


def test_neighbours_in_order_are_named_by_their_two_ends_and_others_one_by_one() -> None:
    release = table(FLAT, EIGHT)
    assert sole(release.sum([3, 4, 5, 6])).what == "x: 3 to 6"
    assert sole(release.sum([6, 4, 3, 5])).what == "x: 3 to 6"
    assert sole(release.sum([3, 4, 6, 7])).what == "x: 3, 4, 6 and 1 more"
    assert sole(release.difference(range(4), range(4, 8))).what == "x: 0 to 3, less 4 to 7"
    assert sole(release.share(range(4))).what == "x: 0 to 3, as a share of all 8"
    names = dv.Question.of(dv.Domain.categories(list("abcdef"), column="k"))
    named = table(dv.Dense(1).bind(names, dv.Unit()), [1, 2, 3, 4, 5, 6])
    assert sole(named.sum(list("bcde"))).what == "k: b, c, d and 1 more"  # names have no order
    assert sole(ranks([9, 7, 5, 2, 1]).sum([1, 2, 3, 4])).what == "k: rank 1 to rank 4"


def test_a_range_of_whole_numbers_is_looked_up_by_its_ends_however_long_it_is() -> None:
    huge = dv.Question.of(dv.Domain.integers(0, 2**64 - 1, column="x"))
    bound = dv.Stability(1, "1e-6").bind(huge, dv.Unit(max_bins=1))
    release = release_of(bound, SparseTable((7, 2**41), np.array([60, 70], dtype=np.int64)))
    long = sole(release.sum(range(2**40)))
    assert long.value == 60 and long.interval == sole(release.range(0, 2**40 - 1)).interval
    with pytest.raises(DomainError, match="looked up one by one"):
        release.sum(range(0, 2**40, 2))
    with pytest.raises(DomainError, match="looked up one by one"):
        release.sum(range(2**70))


def test_labels_that_only_look_like_a_range_are_looked_up_one_by_one() -> None:
    digits = dv.Question.of(dv.Domain.categories(["0", "2", "1"], column="k"))
    release = table(dv.Dense(1).bind(digits, dv.Unit()), [10, 20, 40])
    assert sole(release.sum(range(2))).value == 50  # "0" and "1", which are not neighbours there
    edges = dv.Question.of(dv.Domain.intervals([0, 2, "2.3", "2.6", 4], column="x"))
    wide = table(dv.Dense(1).bind(edges, dv.Unit()), [1, 2, 4, 8])
    with pytest.raises(DomainError, match="each bin is added up once"):
        wide.sum(range(4))  # 0 and 1 are in one bin, though four bins lie between both ends
    open_ended = dv.Question.of(dv.Domain.integers(0, 3, column="x", overflow=True))
    last = table(dv.Dense(1).bind(open_ended, dv.Unit()), [1, 2, 4, 8, 16])
    assert sole(last.sum([*range(4), "over 3"])).value == 31
    with pytest.raises(DomainError, match='label 5 .*name the bin of all such numbers: "over 3"'):
        last.sum(range(5))  # 4 lies beyond the last, in a bin of all such numbers


def test_ranks_are_called_ranks_wherever_a_sum_of_them_is_spoken_of() -> None:
    release = ranks([9, 7, 5, 2, 1])
    every = sole(release.sum([1, 3], among="all"))
    assert every.rule.startswith("every rank within ") and "bin" not in every.sentence
    asks: tuple[Callable[[], Any], ...] = (
        lambda: release.sum([2, 2]),
        lambda: release.difference(1, 1),
        lambda: release.compare(1, 2, among="all"),
    )
    for ask in asks:
        with pytest.raises(ParameterError, match="rank") as refused:
            ask()
        assert "bin" not in str(refused.value)
    again = dv.combine(release, replace(ranks([8, 7, 6, 1, 1]), key="again"))
    assert again.to_frame().columns[0] == "rank"
    with pytest.raises(DomainError, match="each bin"):
        table(FLAT, EIGHT).sum([1, 1])


# ---------------------------------------------------------------- numbers and their units


def test_every_number_of_a_sentence_has_its_unit() -> None:
    asked = replace(sole(tree().range(1, 5)), how="numerical", off=Fraction(154822, 100_000))
    assert asked.off is not None
    assert f"the truth lies between {asked.low} and {asked.high} rows (calculated to within " in asked.sentence
    assert asked.known == "calculated to within 1.55 rows"  # in three digits, rounded up
    top = sole(table(FLOORED, EIGHT).sum([0, 1]))
    assert " rows too high" in top.bias_text and " rows too low" in top.bias_text
    assert "beyond the public limit were lowered" in top.bias_text
    floor = sole(table(dv.Dense(1).bind(bins(8), dv.Unit()), EIGHT).sum([0, 1]))
    assert "too low" not in floor.bias_text and "lowered" not in floor.bias_text


def test_a_number_of_a_sum_is_one_of_its_column_and_not_of_rows() -> None:
    """Half a row is nothing, and neither is a row that was paid."""
    people = pd.DataFrame({"word": ["a"] * 20, "paid_hours": [0.5, 1] * 10})
    asked = dv.Question.sum("paid_hours", by=dv.Domain.keys(column="word"), low=0, high=2, step="0.5")
    lesson = dv.teaching(people, 5)
    release = lesson.draw(asked, dv.MaxProjection(4, keys=40, cap=400))
    for found in (release.difference("a", "b"), release.sum(["a", "b"]), release.compare("a", "b")):
        told = sole(found)
        assert told.nouns == "paid hours" and f"{told.value_text} paid hours" in told.sentence
        assert not re.search(r"\d rows", told.sentence)
    assert picture(release)["nouns"] == "paid hours"
    plan = repr(lesson.plan(asked, dv.MaxProjection(4, keys=40, cap=400)))
    assert re.search(r"[\d.]+ paid hours, 95 in 100", plan) and not re.search(r"\d rows,", plan)
    counts = lesson.draw(dv.Domain.keys(column="word"), dv.MaxProjection(4, keys=40, cap=400))
    assert sole(counts.sum(["a", "b"])).nouns == "rows"


def test_a_share_has_no_unit() -> None:
    assert "rows" not in sole(table(FLAT, [70, 0, 0, 40, 0, 0, 0, 80]).share([0])).sentence


def test_an_error_bar_without_a_whole_number_in_it_is_shown_as_it_is_and_says_so() -> None:
    """Its ends, rounded inward, once stood in the wrong order: between 17 and 16."""
    asked = sole(tree().range(1, 5, beta="0.999"))
    assert asked.value == Fraction(135, 8) and asked.low is not None and asked.high is not None
    assert asked.low <= asked.high and asked.empty and asked.cut == (False, False)
    assert "No whole number lies within the error bar" in asked.sentence
    assert "No whole number" not in sole(tree().range(1, 5)).sentence
    share = sole(tree().share([1, 2], beta="0.999"))
    assert share.low is not None and share.high is not None and share.low <= share.high


def test_a_level_below_any_use_is_answered_by_what_takes_no_time_and_is_not_called_exact() -> None:
    """Settled in integers, one chance in 10**300 took eight seconds."""
    release = tree(2, branching=2)
    usual, tiny = (sole(release.sum([1], beta=beta)) for beta in ("0.05", "1e-300"))
    assert usual.how == "exact" and tiny.how == "numerical" and tiny.off is not None
    assert tiny.high is not None and usual.high is not None and tiny.high > usual.high


def test_an_open_end_is_said_in_words() -> None:
    keys = dv.Question.of(dv.Domain.keys(column="k"))
    bound = dv.Stability(1, "1e-6").bind(keys, dv.Unit(max_bins=1))
    asked = sole(release_of(bound, SparseTable(("a",), np.array([60], dtype=np.int64))).sum())
    assert asked.high is None and f"the truth is at least {asked.low} rows" in asked.sentence
    free = replace(asked, low=None)
    assert "nothing bounds the truth" in free.sentence and free.interval_text == "anything"


# ---------------------------------------------------------------- two answers as one


def half_widths(one: Release, other: Release) -> list[Fraction]:
    """Of every combined bin, where both answers have one value in it."""
    subject, found = dv.combine(one, other)._subject, []
    for label in range(7):
        error = subject.error(Query.of((range(label, label + 1), 1)), "")
        assert isinstance(error, EitherError)
        below, above = replace(error, values=(Fraction(9), Fraction(9)), known={}).ends(Fraction(1, 20))
        assert below is not None and above is not None
        found.append(max(below.value, above.value))
    return found


@pytest.mark.parametrize("padding", ["free", "pinned"])
def test_a_plan_of_a_second_tree_promises_what_both_will_give(padding: Literal["free", "pinned"]) -> None:
    """It once promised the wider of two intervals at half of beta, which was worse than the first answer alone."""
    first = tree(2, branching=2, padding=padding)
    second = tree(1, seed=1, branching=3)
    then = Plan(dv.Tree(1, branching=3).bind(bins(7), dv.Unit())).after(first)
    assert then.error is not None and then.error.value == max(half_widths(first, second))
    alone = Plan(dv.Tree(2, branching=2, padding=padding).bind(bins(7), dv.Unit())).one_bin()
    assert alone is not None and then.error.value < alone.value


def shown(value: int, epsilon: str) -> Release:
    bound = dv.Stability(epsilon, "1/20").bind(bins(2), dv.Unit())
    return release_of(bound, SparseTable((0,), np.array([value], dtype=np.int64)))


def test_where_intervals_are_intersected_the_value_leans_to_the_surer_answer() -> None:
    asked = sole(dv.combine(shown(100, "2"), shown(130, "1/10")).sum([0]))
    assert asked.low is not None and asked.high is not None
    assert asked.low <= asked.value <= asked.high  # type: ignore[operator]  # the plain mean, 115, lies far outside
    then = Plan(dv.Stability("1/10", "1/20").bind(bins(2), dv.Unit())).after(shown(100, "2"))
    assert then.error is not None
    assert max(asked.high - asked.value, asked.value - asked.low) <= then.error.value  # type: ignore[operator]


def test_a_second_answer_that_would_not_help_is_said_not_to() -> None:
    then = Plan(dv.Stability("1/100", "1/20").bind(bins(2), dv.Unit())).after(shown(100, "2"))
    assert then.sentence.endswith("so both together are no surer than the first")
    helps = Plan(dv.Dense(1, clamp=False).bind(bins(8), dv.Unit())).after(table(FLAT, EIGHT))
    assert "no surer" not in helps.sentence


def test_two_teaching_draws_of_one_seed_say_when_they_are_independent() -> None:
    """Two teachings that begin with one seed draw the same noise, and no answer tells how far its stream had come."""
    frame = pd.DataFrame({"x": [0, 1, 1, 3] * 20})
    one, other = (dv.teaching(frame, seed=seed).draw(bins(8), dv.Dense(rate)) for seed, rate in ((3, 1), (3, "1/2")))
    another = dv.teaching(frame, seed=4).draw(bins(8), dv.Dense("1/2"))
    together = dv.combine(one, other)
    for said in (repr(together), sole(together.sum([1])).rests_on):
        assert "one seed" in said and "one after the other" in said
    assert "one seed" not in repr(dv.combine(one, another)) and "one seed" not in sole(one.sum([1])).rests_on
