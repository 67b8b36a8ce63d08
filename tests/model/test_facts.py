"""Facts that are declared of the data: they close ends and change words, and neither prices nor stored answers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import ParameterError, UnitError
from dpviz.model.derived import Derived
from dpviz.model.identity import release_key
from dpviz.model.limited import Limited
from dpviz.model.question import Question

BINS = dv.Domain.integers(1, 3, column="month")
KEYS = dv.Domain.keys(column="month")
VISITS = pd.DataFrame({"user": ["a", "a", "b", "b", "c"], "month": [1, 2, 2, 2, 3]})
MONTHS = dv.Domain.integers(1, 12, column="month")

Rows = tuple[int, ...]
"""How many rows a user has in each bin."""


def kept(rows: Rows, unit: dv.Unit) -> Iterator[Rows]:
    """Every way in which limits may keep rows of a user: bins in any order, then rows of each, then rows in all."""
    bins = [at for at, count in enumerate(rows) if count]
    most = len(bins) if unit.max_bins is None else min(unit.max_bins, len(bins))
    for chosen in product((False, True), repeat=len(rows)):
        if sum(chosen) != most or any(picked and not rows[at] for at, picked in enumerate(chosen)):
            continue
        each = tuple(min(count, unit.max_per_bin) if picked else 0 for count, picked in zip(rows, chosen, strict=True))
        total = sum(each) if unit.max_records is None else min(sum(each), unit.max_records)
        yield from (one for one in product(*(range(count + 1) for count in each)) if sum(one) == total)


def true(rows: Rows, unit: dv.Unit) -> bool:
    """Whether the facts of the unit hold for a user."""
    numbers = {"most_bins": sum(map(bool, rows)), "most_per_bin": max(rows), "most_records": sum(rows)}
    return all(numbers[name] <= fact for name, fact in unit.facts.items())


def asked(rows: Rows, unit: dv.Unit) -> Rows:
    """The numbers that are asked for: users in a bin where each counts once there, else rows."""
    return tuple(map(bool, rows)) if unit.max_per_bin == 1 else rows


CHOICES = [
    dv.Unit("user", max_bins=bins, max_per_bin=per, max_records=records).with_facts(*facts)
    for bins, per, records in product((1, 2, None), (1, 2), (None, 2, 3))
    for facts in product((None, 1, 2), repeat=3)
]


@pytest.mark.parametrize("domain", [BINS, KEYS])
def test_a_limit_cuts_exactly_where_it_leaves_something_of_a_user_for_whom_all_facts_hold(domain: dv.Domain) -> None:
    """Every user with up to three rows in each of three bins. Unknown keys may be more than these, and cut no less."""
    users = list(product(range(4), repeat=3))
    for unit in CHOICES:
        possible = [rows for rows in users if true(rows, unit)]
        loses = any(asked(one, unit) != asked(rows, unit) for rows in possible for one in kept(rows, unit))
        cuts = Limited(Question(domain), unit).cuts
        assert cuts == loses or (cuts and not domain.declared), unit


def test_a_rule_that_reads_the_facts_as_limits_is_caught_by_the_same_users() -> None:
    """The twin takes `most_per_bin` for the most rows in all."""
    users, wrong = list(product(range(4), repeat=3)), 0
    for unit in CHOICES:
        possible = [rows for rows in users if true(rows, unit)]
        loses = any(asked(one, unit) != asked(rows, unit) for rows in possible for one in kept(rows, unit))
        twin = unit.with_facts(unit.most_bins, unit.most_per_bin, unit.most_per_bin or unit.most_records)
        wrong += Limited(Question(BINS), twin).cuts != loses
    assert wrong > 0


def test_facts_move_no_price_no_key_and_no_equality() -> None:
    unit, question = dv.Unit("user", max_bins=3, max_per_bin=2), Question(MONTHS)
    fact = unit.with_facts(2, 1, 2)
    assert fact == unit and hash(fact) == hash(unit) and fact.to_json() == unit.to_json()
    mechanism = dv.Dense("1/2")
    one, other = mechanism.bind(question, unit), mechanism.bind(question, fact)
    assert one.price == other.price and one.law == other.law
    keys = {release_key(question, each, mechanism, "exact") for each in (unit, fact)}
    assert len(keys) == 1 and release_key(question, dv.Unit("user", max_bins=2), mechanism, "exact") not in keys


def test_words_name_the_facts_that_they_rest_on_and_no_others() -> None:
    unit = dv.Unit("user", max_bins=2, most_bins=2, most_per_bin=1, most_records=9)
    months = Limited(Question(MONTHS), unit)
    assert months.sentence == "Nothing is left out if, as declared, no user is in more than 2 months."
    assert months.ends == (True, True) and months.to_json() is None
    rows = Limited(Question(MONTHS), dv.Unit("user", max_bins=12, max_per_bin=4, most_per_bin=4))
    assert rows.sentence == "Nothing is left out if, as declared, no user has more than 4 rows in one month."
    assert rows.of_answer(False) == rows.of_answer(True) == rows.sentence
    needless = Limited(Question(MONTHS), dv.Unit("user", max_bins=12, most_bins=12))
    assert needless.sentence == "" and needless.uncut.startswith("No user can be in more than 12 months")
    short = Limited(Question(MONTHS), dv.Unit("user", max_bins=2, most_bins=3))
    assert short.cuts and "declared" not in short.sentence


def test_parts_are_not_cut_where_no_user_has_so_many_rows() -> None:
    by = dv.Partition(dv.Domain.integers(0, 3, column="part"), max_parts=2)
    (question, *_) = Question(BINS, by=by).in_parts()
    found = [Limited(question, dv.Unit("user", max_bins=3, most_records=most)).cuts for most in (2, 3)]
    assert found == [False, True]


def test_facts_are_refused_with_value_rule_and_next_step() -> None:
    for facts in ({"most_bins": 0}, {"most_per_bin": "1/2"}, {"most_records": -3}):
        with pytest.raises(ParameterError, match=next(iter(facts))) as refused:
            dv.Unit("user", **facts)  # type: ignore[arg-type]
        assert refused.value.rule and refused.value.next_step
    with pytest.raises(UnitError, match="nothing is left to declare"):
        dv.Unit(most_records=1)


def test_an_answer_that_was_paid_for_is_read_with_the_facts_of_today_and_saved_as_it_was(tmp_path: Path) -> None:
    unit, place = dv.Unit("user", max_bins=2), tmp_path / "visits.ledger"
    first = dv.Session(VISITS, unit=unit, budget=dv.Budget(epsilon=1), ledger=place, dataset="visits")
    bought = first.release(MONTHS, dv.Dense("1/2"))
    assert bought.reading.limited.cuts
    fact = unit.with_facts(most_bins=2)
    session = dv.Session(VISITS, unit=fact, budget=dv.Budget(epsilon=1), ledger=place, dataset="visits")
    found, listed = session.release(MONTHS, dv.Dense("1/2")), session.releases[1]
    assert len(session.releases) == 1
    for release in (found, listed):
        assert release.number == 1 and not release.reading.limited.cuts and release.is_confirmed
        assert release.to_bytes() == bought.to_bytes()
        assert "as declared, no user is in more than 2 months" in release.limits
    total = found.sum([1, 2])
    assert isinstance(total, Derived) and total.counted is None and total.high is not None
    assert any("as declared" in remark for remark in total.remarks) and "as declared" in repr(found)
    path = found.save(tmp_path / "visits.dpviz.json")
    assert dv.load(path, ledger=session).reading.limited.cuts


def test_a_release_takes_facts_and_gives_them_back() -> None:
    lesson = dv.teaching(VISITS, seed=1, unit=dv.Unit("user", max_bins=2))
    draw = lesson.draw(MONTHS, dv.Dense(40))
    closed = draw.with_facts(most_records=2)
    assert draw.reading.limited.cuts and not closed.reading.limited.cuts
    assert closed.with_facts().reading.limited.cuts and closed.with_facts(most_records=2) is closed
    assert closed.to_bytes() == draw.to_bytes()
    frame, counted = closed.to_frame(), draw.intervals(of="counted")
    assert counted is not None and frame["high"].tolist() == list(counted.high)
    assert frame.attrs["limits"] == "Nothing is left out if, as declared, no user has more than 2 rows."
