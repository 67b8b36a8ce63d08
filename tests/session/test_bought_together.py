"""Counts and a profile in one purchase: the price by enumeration, one entry and one key, and what happens to both in a
ledger, a file, a restart and a kill."""

from __future__ import annotations

import itertools
import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import BudgetExceeded, DpvizError, LedgerCorrupt, ReleaseFormat, ReleaseLost
from dpviz.model import bought_together
from dpviz.model.bought_together import price_together
from dpviz.model.identity import release_key
from dpviz.model.question import Question
from dpviz.model.release import with_checksum
from dpviz.session.charge import Charge
from dpviz.session.session import Session
from tests.killing import Child
from tests.reports import pages

FRAME = pd.DataFrame(
    {"user": [f"u{number * 13 % 41}" for number in range(400)], "month": [1 + number * 7 % 12 for number in range(400)]}
)
MONTHS = dv.Domain.integers(1, 12, column="month")
UNIT = dv.Unit("user", noun="aircraft", max_bins=3)
COUNTS, OVER = dv.Dense("9/10"), dv.Dense("1/10", clamp=False)
LESS = {"name": "Dense", "parameters": dv.Dense("1/100", clamp=False).parameters()}
GAUSSIAN = {"base": "gaussian", "delta": "1e-6"}


def session(path: Path, unit: dv.Unit = UNIT, **budget: Any) -> Session:
    return Session(FRAME, unit, dv.Budget(20, "1e-3", **budget), path / "x.ledger", dataset="flights")


def bought(held: Session, **more: Any) -> dv.Release:
    return held.release(MONTHS, COUNTS, over=OVER, **more)


# ---------------------------------------------------------------- the price


def users(bins: int, kept: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The counts and the classes that one user adds, for every set of bins and every order of digests; of no user,
    zeros."""
    found = {((0,) * bins, (0,) * bins)}
    for size in range(1, bins + 1):
        for order in itertools.permutations(range(bins), size):
            counts = tuple(int(bin_ in order[:kept]) for bin_ in range(bins))
            found.add((counts, tuple(int(size == j) for j in range(1, bins + 1))))
    return found


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kept", [1, 2, 3])
def test_the_price_is_the_worst_ratio_over_all_neighbours_of_both_answers(relation: Any, kept: int) -> None:
    """Noise that decays by exp(-epsilon / l1) moves by exp(epsilon * move / l1); the largest price of one would pass
    for no relation."""
    four = dv.Domain.integers(1, 4, column="month")
    lesson = dv.teaching(FRAME, 1, dv.Unit("user", relation=relation, max_bins=kept))
    plan = lesson.plan(four, dv.Dense("9/10"), over=dv.Dense("1/10"))
    assert plan.profile is not None
    rates = [float(part.mechanism.epsilon) / part.noise.l1 for part in (plan.bound, plan.profile)]  # type: ignore[attr-defined]
    every = users(4, kept)
    none = ((0,) * 4, (0,) * 4)
    pairs = itertools.product(every, every if relation == "replace-one" else [none])
    worst = max(
        sum(rate * np.abs(np.subtract(one, other)).sum() for rate, one, other in zip(rates, first, second, strict=True))
        for first, second in pairs
    )
    assert worst == pytest.approx(float(plan.price.epsilon)) == pytest.approx(1.0)
    assert worst > max(float(part.price.epsilon) for part in (plan.bound, plan.profile))


def test_a_zcdp_budget_pays_the_sum_of_what_both_cost_alone(tmp_path: Path) -> None:
    for number, (counts, over) in enumerate(
        [(dv.Dense("1/2"), dv.Dense("1/10")), (dv.Dense("1/2", **GAUSSIAN), dv.Dense("1/10")),
         (dv.Dense("1/2", **GAUSSIAN), dv.Tree("1/10", **GAUSSIAN)),
         (dv.Stability("1", "1e-6"), dv.Dense("1")), (dv.Stability("1", "1e-6", "gaussian"), dv.Dense("1")),
         (dv.Stability("1", "1e-6"), dv.Dense("1", **GAUSSIAN))]
    ):  # fmt: skip
        held = []
        for place in ("together", "apart"):
            (tmp_path / f"{number}{place}").mkdir()
            held.append(session(tmp_path / f"{number}{place}", filter="zcdp"))
        release = held[0].release(MONTHS, counts, over=over)
        held[1].release(MONTHS, counts)
        held[1].release(Question.contribution_profile(MONTHS), over)
        assert held[0].remaining.parts == held[1].remaining.parts
        assert held[0].remaining.parts["rho"] < held[0].remaining.caps["rho"]
        spent = held[0].remaining.caps["delta"] - held[0].remaining.parts["delta"]
        assert (spent > 0) == isinstance(counts, dv.Stability)
        assert held[0].ledger.verify() and release.profile is not None
        assert price_together(release.terms.price, release.bought.terms.price) == release.guarantee  # type: ignore[union-attr]


# ---------------------------------------------------------------- one entry


def test_both_answers_are_one_entry_at_one_price_found_again_verified_saved_and_loaded(tmp_path: Path) -> None:
    held = session(tmp_path)
    plan, release = held.plan(MONTHS, COUNTS, over=OVER), bought(held)
    profile = release.profile
    assert profile is not None and profile.question == Question.contribution_profile(MONTHS)
    assert plan.price.epsilon == release.guarantee.epsilon == 20 - held.remaining.epsilon == 1
    assert release.number == profile.number == 1 and len(held.ledger.entries()) == 1
    assert bought(held) == release and bought(held, key="again").number == 2
    assert held.release(MONTHS, COUNTS).number == 3 and held.remaining.epsilon == 20 - 1 - 1 - COUNTS.epsilon
    assert held.ledger.verify() and held.ledger.entry(1).body["question_text"].endswith(", with a profile")
    held.ledger.detach()
    again = session(tmp_path)
    assert again.releases[1] == release and again.releases[1].profile == profile and bought(again) == release
    for name in ("x.json", "x.dpviz"):
        release.save(tmp_path / name)
        profile.save(tmp_path / f"profile {name}")
        read = dv.load(tmp_path / name, ledger=again)
        assert read == release == dv.load(tmp_path / name) and read.profile == profile and read.profile.number == 1
        assert dv.load(tmp_path / f"profile {name}", ledger=again) == profile
    assert read.closed_by().sum() == release.closed_by().sum()  # type: ignore[union-attr]
    assert release.profile.profile is None and "together" in repr(release) and "together" in repr(profile)  # type: ignore[union-attr]


def test_keys_of_releases_without_a_profile_have_not_moved(tmp_path: Path) -> None:
    held = session(tmp_path)
    plain, with_profile = held.release(MONTHS, COUNTS), bought(held)
    assert plain.key == release_key(Question(MONTHS), UNIT, COUNTS, "exact")
    assert plain.to_json()["version"] == 2 and with_profile.to_json()["version"] == 3
    other = held.release(MONTHS, COUNTS, over=dv.Dense("1/5", clamp=False))
    one_class = held.release(MONTHS, COUNTS, over=(Question.contribution_profile(MONTHS, over=3), OVER))
    assert len({plain.key, with_profile.key, other.key, one_class.key}) == 4


def test_a_kill_between_the_charge_and_the_draw_loses_both_and_neither_is_free(tmp_path: Path) -> None:
    held = session(tmp_path)

    def doomed(show: Any) -> None:
        def kill(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        bought_together.BoughtProfile.of = kill  # type: ignore[method-assign, assignment]
        bought(session(tmp_path))

    held.ledger.detach()
    child = Child(doomed)
    assert child.ended() == -signal.SIGKILL
    held = session(tmp_path)
    assert held.remaining.epsilon == 19 and held.releases.latest is None
    with pytest.raises(ReleaseLost):
        bought(held)
    release = bought(held, retry=True)
    assert release.number == 2 and release.profile is not None and held.remaining.epsilon == 18
    assert held.ledger.verify()


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (lambda body: {**body, "over": {**body["over"], "mechanism": LESS}}, "another profile"),
        (lambda body: {name: part for name, part in body.items() if name != "over"}, "another profile"),
        (lambda body: {**body, "price": {**body["price"], "epsilon": "9/10"}}, "charged less"),
    ],
)
def test_a_ledger_that_says_something_else_of_the_profile_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Any, words: str
) -> None:
    honest = Charge._body
    held = session(tmp_path)
    monkeypatch.setattr(Charge, "_body", lambda self, conversion: lie(honest(self, conversion)))
    bought(held)
    with pytest.raises(LedgerCorrupt, match=f"entry 1 .* {words}"):
        held.ledger.verify()


def test_a_file_whose_profile_was_altered_is_refused(tmp_path: Path) -> None:
    release = bought(session(tmp_path))
    body = json.loads(release.to_bytes())["release"]
    other = json.loads(bought(session(tmp_path), key="again").to_bytes())["release"]
    alterations = [
        {**body, "version": 2},
        {name: part for name, part in body.items() if name != "profile"},
        {**body, "profile": {**body["profile"], "together": body["guarantee"]}},
        {**body, "profile": {**body["profile"], "question": body["question"]}},
        {**body, "profile": {**body["profile"], "answer": {**body["answer"], "kind": "ranges"}}},
        {**body, "profile": {**body["profile"], "more": "1"}},
    ]
    for altered in alterations:
        (tmp_path / "y.json").write_bytes(with_checksum(altered))
        with pytest.raises(ReleaseFormat):
            dv.load(tmp_path / "y.json")
    swapped = {**body, "profile": other["profile"]}
    if swapped != body:
        (tmp_path / "y.json").write_bytes(with_checksum(swapped))
        with pytest.raises(ReleaseFormat, match="profile"):
            dv.load(tmp_path / "y.json", ledger=tmp_path / "x.ledger")


def test_a_report_counts_the_price_once(tmp_path: Path) -> None:
    held = session(tmp_path)
    release = bought(held)
    said = pages.data(dv.report([release, release.profile], tmp_path / "x.html"))  # type: ignore[list-item]
    assert said["totals"]["epsilon"] == "1" and len(said["releases"]) == 2
    closed = release.closed_by()
    assert [one.number for one in closed.paid] == [1] and "entry 1" in closed.sum().rests_on  # type: ignore[union-attr]
    assert pages.data(dv.report([release], tmp_path / "y.html"))["totals"]["epsilon"] == "1"


def test_a_saved_profile_says_the_price_of_its_entry_and_is_paid_for_once(tmp_path: Path) -> None:
    """Read from a file, with and without its ledger: else a report would add the profile's own price to the entry's, or
    state that alone as the total, and refuse to find the profile in the ledger that made it."""
    held = session(tmp_path)
    release = bought(held)
    profile = release.profile
    assert profile is not None
    for name in ("p.json", "p.dpviz"):
        profile.save(tmp_path / name)
        for ledger in (None, held):
            read = dv.load(tmp_path / name, ledger=ledger)
            assert read == profile and read.guarantee.epsilon == 1 and "together" in read.price_text
            assert release.closed_by(read).sum() == release.closed_by().sum()
            for items in ([read], [release, read], [read, release]):
                said = pages.data(dv.report(items, tmp_path / "x.html"))  # type: ignore[arg-type]
                assert said["totals"]["epsilon"] == "1"
        dv.report([release, read], tmp_path / "y.html", ledger=held)  # type: ignore[list-item]
    body = json.loads(profile.to_bytes())["release"]
    less, other = body["guarantee"], json.loads(release.to_bytes())["release"]
    alterations = [
        {**body, "version": 2},
        {**body, "together": json.loads(held.release(MONTHS, dv.Dense("1/100")).to_bytes())["release"]["guarantee"]},
        {**body, "profile": other["profile"]},
        {**{name: part for name, part in other.items() if name != "profile"}, "together": body["together"]},
        {name: part for name, part in body.items() if name != "together"},
    ]
    for altered in alterations:
        (tmp_path / "z.json").write_bytes(with_checksum(altered))
        with pytest.raises(ReleaseFormat):
            dv.load(tmp_path / "z.json")
    (tmp_path / "z.json").write_bytes(with_checksum({**body, "together": less}))
    assert dv.load(tmp_path / "z.json").origin == "unchecked"
    with pytest.raises(ReleaseFormat, match="together"):
        dv.load(tmp_path / "z.json", ledger=held)
    first = {name: part for name, part in body.items() if name != "together"} | {"version": 2}
    (tmp_path / "z.json").write_bytes(with_checksum(first))
    assert dv.load(tmp_path / "z.json", ledger=held).values == profile.values, "as the first files of profiles were"


# ---------------------------------------------------------------- refusals


def test_what_a_profile_closes_nothing_of_is_refused_before_a_charge(tmp_path: Path) -> None:
    held = session(tmp_path)
    keys, rows = dv.Domain.keys(column="month"), {"limits": dv.Limits(max_per_bin=2)}
    cases = [
        (lambda: bought(held, limits=dv.Limits(max_bins=12)), "leaves open"),
        (lambda: bought(held, **rows), "who count once in a bin"),
        (lambda: bought(held, by=dv.Domain.integers(1, 2, column="month")), "in all parts together"),
        (lambda: held.release(keys, dv.Stability(1, "1e-6"), over=OVER), "counts users|declared bins"),
        (lambda: held.release(MONTHS, dv.TopK(k=2, kbar=4, epsilon=1, delta="1e-6"), over=OVER), "counts that add up"),
        (lambda: held.release(MONTHS, COUNTS, over=dv.Sorted("1/10")), "keeps classes apart"),
        (
            lambda: held.release(MONTHS, COUNTS, over=(Question.contribution_profile(MONTHS, over=4), OVER)),
            "limit of 3",
        ),
        (lambda: held.release(MONTHS, COUNTS, over=(MONTHS, OVER)), "counts users by their numbers"),
        (lambda: held.release(MONTHS, COUNTS, over="1/10"), "a mechanism is one of"),
        (lambda: held.release(MONTHS, dv.Dense(1, base="tight", cap=90), over=OVER, mode="strict"), "mode"),
        (lambda: held.plan(MONTHS, COUNTS, over=OVER).sheet, "one answer"),
        (lambda: held.release(MONTHS, COUNTS).closed_by(), "none was bought with these counts"),
    ]
    for call, words in cases[:-1]:
        with pytest.raises(DpvizError, match=words):
            call()
    assert len(held.ledger.entries()) == 0
    with pytest.raises(DpvizError, match=cases[-1][1]):
        cases[-1][0]()
    with pytest.raises(BudgetExceeded):
        held.release(MONTHS, dv.Dense(19), over=dv.Dense(1))
    assert held.ledger.verify()


def test_many_bins_have_one_class_by_default_and_a_teaching_draw_has_both(tmp_path: Path) -> None:
    held = session(tmp_path)
    wide = dv.Domain.integers(1, 2000, column="month")
    plan = held.plan(wide, COUNTS, over=OVER)
    assert plan.profile is not None and plan.profile.question == Question.contribution_profile(wide, over=3)
    assert "in this price, closes upper ends: it counts the aircraft over the limit" in repr(plan)
    lesson = dv.teaching(FRAME, 3, UNIT)
    draw = lesson.draw(MONTHS, COUNTS, over=OVER, where={"month": dv.Between(1, 6)})
    assert draw.profile is not None and draw.profile.teaching == 3
    assert dict(draw.profile.question.where) == dict(draw.question.where) != {}
    assert draw.closed_by().sum().low is not None and lesson.draw(MONTHS, COUNTS, over=OVER, times=2) is not None  # type: ignore[union-attr]
