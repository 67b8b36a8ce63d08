"""Contribution limits of one question: its price and its key are those of a unit with these limits, the ledger says
them, and what must stay fixed refuses others."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, LedgerCorrupt, ParameterError, UnitError
from dpviz.mechanisms import REGISTRY
from dpviz.model.identity import release_key
from dpviz.model.question import Question
from dpviz.privacy import Unit, compose
from dpviz.session.ledger import Ledger
from dpviz.session.session import Session
from tests.mechanisms.samples import declared
from tests.prices import contributions
from tests.prices.contributions import random_limits
from tests.reports import pages

FRAME = pd.DataFrame(
    {
        "user": [f"u{number % 17}" for number in range(340)],
        "month": [1 + number * 7 % 12 for number in range(340)],
        "half": ["first" if number % 3 else "second" for number in range(340)],
    }
)
MONTHS = dv.Domain.integers(1, 12, column="month")
HALVES = dv.Domain.categories(["first", "second"], column="half")
UNIT = dv.Unit("user", max_bins=2)
WIDE = dv.Limits(max_bins=12)


def session(path: Path, unit: Unit = UNIT) -> Session:
    return Session(FRAME, unit, dv.Budget(50, "1e-3"), path / "x.ledger", dataset="stays")


def random_unit(chance: random.Random) -> Unit:
    return Unit(
        "user",
        relation=chance.choice(("add-remove", "replace-one")),
        max_bins=chance.choice((None, 1, 2, 5, 12)),
        max_per_bin=chance.choice((1, 1, 2, 4)),
        max_records=chance.choice((None, None, 1, 3, 20)),
    )


def some_limits(chance: random.Random) -> dv.Limits:
    every: dict[str, Any] = {
        "max_bins": chance.choice((None, 1, 3, 12, 40)),
        "max_per_bin": chance.choice((1, 2, 5)),
        "max_records": chance.choice((None, 1, 4, 30)),
    }
    return dv.Limits(**{name: value for name, value in every.items() if chance.random() < 0.6})


def test_a_question_with_limits_is_drawn_priced_and_keyed_as_for_a_unit_that_has_them() -> None:
    chance, differing = random.Random(35), 0
    for round_ in range(40):
        unit, limits = random_unit(chance), some_limits(chance)
        other = unit.limited(limits)
        asked = {"where": {"half": "first"}} if round_ % 2 else {}
        mechanism = chance.choice((dv.Dense(1), dv.Tree(2), dv.Dense(1, base="gaussian", delta="1e-6")))
        here, there = dv.teaching(FRAME, round_, unit), dv.teaching(FRAME, round_, other)
        plan, due = here.plan(MONTHS, mechanism, limits=limits, **asked), there.plan(MONTHS, mechanism, **asked)
        assert plan.price == due.price and plan.bound.law == due.bound.law
        drawn, same = (
            here.draw(MONTHS, mechanism, limits=limits, **asked),
            there.draw(MONTHS, mechanism, **asked),
        )
        assert drawn.values == same.values and drawn.key == same.key and drawn.unit == other
        assert drawn.written == same.written
        differing += drawn.key != here.draw(MONTHS, mechanism, **asked).key
    assert differing > 20, "a key that forgot the limits would pass"


def test_the_price_is_the_worst_ratio_over_all_neighbours_under_the_limits_of_the_question() -> None:
    """Noise that decays by exp(-epsilon / l1) moves by exp(epsilon * move / l1): no move is above l1, most reach it."""
    chance, looser, tight = random.Random(36), 0, 0
    for _ in range(60):
        bins = chance.randint(2, 4)
        typed = random_limits(chance, bins, rows=0)
        declared = random_unit(chance)
        own = Unit("user", relation=typed.unit().relation, max_bins=declared.max_bins)
        question = Question(dv.Domain.integers(1, bins, column="month"))
        limits = dv.Limits(typed.bins, typed.each, typed.records)
        plain, unit = question.limited(limits).resolved(own)
        noise = dv.Dense(1).bind(plain, unit).noise
        worst = int(np.abs(contributions.moves(typed, bins)).sum(axis=1).max())
        assert worst <= noise.l1, "a neighbour moves the answer further than its price says"
        tight += worst == noise.l1
        looser += own.l1(bins) < worst
    assert tight > 40 and looser > 20, "the sensitivity of the declared unit would pass"


def test_limits_of_the_unit_itself_find_the_answer_that_is_stored(tmp_path: Path) -> None:
    held = session(tmp_path)
    first = held.release(MONTHS, dv.Dense(1))
    assert held.release(MONTHS, dv.Dense(1), limits=dv.Limits(max_bins=2)).number == first.number
    assert held.release(Question(MONTHS).limited(dv.Limits()), dv.Dense(1)).number == first.number
    wide = held.release(MONTHS, dv.Dense(1), limits=WIDE)
    assert wide.number == 2 and wide.key != first.key
    assert held.release(Question(MONTHS).limited(WIDE), dv.Dense(1)) == wide
    assert held.remaining.epsilon == 48
    assert first.key == release_key(Question(MONTHS), UNIT, dv.Dense(1), "exact")


@pytest.mark.parametrize("name", ["Dense", "Tree", "Stability", "TopK", "Sorted", *declared()])
def test_every_kind_of_answer_is_released_read_again_and_verified(tmp_path: Path, name: str) -> None:
    made: dict[str, Any] = {
        "TopK": {"k": 2, "kbar": 4, "epsilon": 1, "delta": "1e-6"},
        "Stability": {"epsilon": 1, "delta": "1e-6"},
    }
    made |= {of: samples.starts[0] for of, samples in declared().items()}
    keys = {"Stability", "TopK", *(of for of, samples in declared().items() if samples.keys)}
    asked = dv.Domain.keys(column="half") if name in keys else MONTHS
    mechanism = REGISTRY[name](**made.get(name, {"epsilon": 1}))
    held = session(tmp_path)
    release = held.release(asked, mechanism, limits=dv.Limits(max_bins=3))
    held.release(asked, mechanism)
    assert release.unit == UNIT.limited(dv.Limits(max_bins=3))
    assert held.ledger.entry(1).body["limits"] == {"max_bins": 3} and "limits" not in held.ledger.entry(2).body
    held.ledger.verify()
    held.ledger.detach()
    again = session(tmp_path)
    assert again.releases[1] == release and again.release(asked, mechanism, limits=dv.Limits(max_bins=3)) == release
    path = tmp_path / "x.dpviz"
    release.save(path)
    assert dv.load(path, ledger=tmp_path / "x.ledger") == release


def test_parts_take_limits_and_share_them(tmp_path: Path) -> None:
    held = session(tmp_path)
    plan = held.plan(MONTHS, dv.Dense(1), by=HALVES, limits=WIDE)
    release = held.release(MONTHS, dv.Dense(1), by=HALVES, limits=WIDE)
    assert plan.bound.unit == release.unit == UNIT.limited(WIDE)
    assert held.release(MONTHS, dv.Dense(1), by=HALVES, limits=WIDE).number == release.number
    held.ledger.verify()


def test_a_ledger_whose_entry_names_other_limits_than_its_answer_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpviz.session.charge import Charge

    honest = Charge._body

    def lying(self: Charge, conversion: Any) -> dict[str, Any]:
        return {**honest(self, conversion), "limits": {"max_bins": 5}}

    held = session(tmp_path)
    monkeypatch.setattr(Charge, "_body", lying)
    held.release(MONTHS, dv.Dense(1), limits=WIDE)
    with pytest.raises(LedgerCorrupt, match="entry 1 .* another unit"):
        held.ledger.verify()


def test_the_call_on_a_plan_names_the_limits_that_differ(tmp_path: Path) -> None:
    held = session(tmp_path)
    wide, plain = (held.plan(MONTHS, dv.Dense(1), **more) for more in ({"limits": WIDE}, {}))
    assert "limits=dv.Limits(max_bins=12)," in wide.sheet.to_json()["python"]
    assert "limits" not in plain.sheet.to_json()["python"]
    assert wide.limits == "No user can be in more than 12 months: nothing is left out."
    assert "upper ends are open" in plain.limits
    held.release(MONTHS, dv.Dense(1), limits=WIDE)
    assert held.ledger.entry(1).body["question_text"] == "month, 12 bins, max_bins 12"


def test_a_plan_says_the_error_with_nothing_cut_and_the_limits_that_ask_for_it(tmp_path: Path) -> None:
    held = session(tmp_path)
    plan = held.plan(MONTHS, dv.Dense(1))
    uncut, due = plan.uncut, held.plan(MONTHS, dv.Dense(1), limits=WIDE)
    assert uncut is not None and uncut.bound == due.bound and uncut.within == due.within == WIDE
    assert uncut.price.loss == plan.price.loss and uncut.one_bin() == due.one_bin() != plan.one_bin()
    error = due.one_bin()
    assert error is not None
    assert f"  nothing cut  any one bin ±{error.value}, with limits=dv.Limits(max_bins=12)" in str(plan)
    named = held.plan(MONTHS, dv.Dense(1), limits=dv.Limits(max_bins=5, max_records=5)).uncut
    assert named is not None and named.bound.unit == due.bound.unit and named.within == dv.Limits(12, max_records=None)
    rows = held.plan(MONTHS, dv.Dense(1), limits=dv.Limits(max_per_bin=2))
    keys = held.plan(dv.Domain.keys(column="half"), dv.Stability(1, "1e-6"))
    parts = held.plan(MONTHS, dv.Dense(1), by=HALVES)
    for other in (due, rows, keys, parts):
        assert other.uncut is None and "nothing cut" not in str(other)


def test_prices_under_different_limits_add_up_and_those_of_another_unit_do_not() -> None:
    bound = [dv.Dense(1).bind(Question(MONTHS), UNIT.limited(dv.Limits(max_bins=most))) for most in (1, 12)]
    assert compose(one.price for one in bound).loss.epsilon == 2
    other = dv.Dense(1).bind(Question(MONTHS), dv.Unit("half", max_bins=12))
    with pytest.raises(DpvizError, match="another unit"):
        compose([bound[0].price, other.price])


def test_answers_within_different_limits_are_not_combined(tmp_path: Path) -> None:
    held = session(tmp_path)
    one, other = held.release(MONTHS, dv.Dense(1)), held.release(MONTHS, dv.Dense(1), limits=WIDE)
    with pytest.raises(ParameterError, match="within the same limits.*max_bins 2 / max_bins 12"):
        dv.combine(one, other)
    again = held.release(MONTHS, dv.Dense(1), limits=WIDE, key="again")
    assert len(dv.combine(other, again).to_frame()) == 12


def test_an_open_sub_session_keeps_its_limits(tmp_path: Path) -> None:
    held = session(tmp_path)
    sub = held.open(dv.PayWhatYouGet(symbols=4, questions=2, epsilon="1", delta="1e-7"))
    left = sub.left
    with pytest.raises(ParameterError, match="keeps the limits that its price was made for"):
        sub.ask(Question(dv.Domain.keys(column="half")).limited(WIDE), 1)
    assert sub.left == left
    assert sub.ask(Question(dv.Domain.keys(column="half")).limited(dv.Limits(max_bins=2)), 1) is not None


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_bins": 0}, "max_bins"),
        ({"max_per_bin": None}, "max_per_bin"),
        ({"max_records": "1.5"}, "max_records"),
        ({"max_bins": -3}, "max_bins"),
    ],
)
def test_limits_that_are_no_whole_numbers_above_0_are_refused(limits: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        dv.Limits(**limits)


def test_bad_limits_are_refused_before_a_charge(tmp_path: Path) -> None:
    held = session(tmp_path)
    limited = Question(MONTHS).limited(WIDE)
    odd: Any = {"max_bins": 12}
    with pytest.raises(ParameterError, match=r"limits=dv\.Limits"):
        held.release(MONTHS, dv.Dense(1), limits=odd)
    with pytest.raises(ParameterError, match="in one place"):
        held.release(limited, dv.Dense(1), limits=WIDE)
    with pytest.raises(ParameterError, match=r"resolved\(unit\)"):
        dv.Dense(1).bind(limited, UNIT)
    with pytest.raises(ParameterError, match="within the limits of the unit"):
        dv.Workbench(held, limited)
    with pytest.raises(UnitError, match="touches one bin"):
        dv.teaching(FRAME, 1).plan(MONTHS, dv.Dense(1), limits=WIDE)
    assert held.remaining.epsilon == 50 and len(held.ledger.entries()) == 0


def test_limits_and_questions_that_have_them_are_written_and_read() -> None:
    limits = dv.Limits(max_bins=None, max_records=7)
    assert dv.Limits.from_json(limits.to_json()) == limits and limits.text == "max_bins no limit, max_records 7"
    asked = Question(MONTHS).limited(limits)
    assert Question.from_json(asked.to_json()) == asked and asked.id != Question(MONTHS).id
    assert "limits" not in Question(MONTHS).to_json()
    with pytest.raises(ParameterError, match="nothing else"):
        dv.Limits.from_json({"most_bins": 3})


def test_kept_bins_are_nested_so_a_larger_limit_never_counts_less() -> None:
    """The digests that choose bins do not know the limits."""
    lesson = dv.teaching(FRAME, 1, UNIT)
    counts = [lesson.table(Question(MONTHS).limited(dv.Limits(max_bins=most))).counts for most in range(1, 13)]
    assert all((few <= more).all() for few, more in pairwise(counts))
    assert counts[0].sum() == 17 and (counts[0] < counts[-1]).any()


def test_a_report_of_answers_within_different_limits_says_both(tmp_path: Path) -> None:
    held = session(tmp_path)
    releases = [held.release(MONTHS, dv.Dense(1), limits=dv.Limits(max_bins=most)) for most in (2, 12)]
    data = pages.data(dv.report(releases, tmp_path / "x.html"))
    said = (
        "Per user at most 2 bins counted, and 1 in each in some answers, "
        "and at most 12 bins counted, and 1 in each in others."
    )
    assert said in data["caveats"] and data["totals"]["unit"] == "one user, add or remove"


def test_a_ledger_of_the_unit_alone_is_written_as_before(tmp_path: Path) -> None:
    held = session(tmp_path)
    held.release(MONTHS, dv.Dense(1))
    body = Ledger.read(tmp_path / "x.ledger").entry(1).body
    assert set(body) == {"question", "question_text", "question_id", "mechanism", "mode", "user_key", "price"}


def test_a_sub_session_is_no_way_to_limits_of_a_question_for_it_is_asked_within_those_of_the_unit(
    tmp_path: Path,
) -> None:
    held, asked = session(tmp_path), dv.TopK(k=2, kbar=12, epsilon=3, delta="1e-6")
    own = held.plan(MONTHS, asked, by=HALVES, limits=dv.Limits(max_bins=2)).taking("sub-session")
    assert own.bound.unit == UNIT and own.bound.subsession_calls
    wide = held.plan(MONTHS, asked, by=HALVES, limits=WIDE)
    assert wide.bound.unit.max_bins == 12
    with pytest.raises(ParameterError, match="within the limits of the unit"):
        wide.taking("sub-session")
    with pytest.raises(ParameterError, match="within the limits of the unit"):
        held.release(MONTHS, asked, by=HALVES, limits=WIDE, way="sub-session")
    assert not held.ledger.entries()


def test_a_report_of_counts_and_a_profile_says_the_limits_of_the_counts_alone(tmp_path: Path) -> None:
    held = session(tmp_path)
    profile = held.release(Question.contribution_profile(MONTHS), dv.Dense(1))
    data = pages.data(dv.report([held.release(MONTHS, dv.Dense(1)), profile], tmp_path / "x.html"))
    assert "Per user at most 2 bins counted, and 1 in each." in data["caveats"]
    assert data["totals"]["unit"] == UNIT.text
