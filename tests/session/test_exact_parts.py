"""Questions about each part, charged at the exact composition of the parts that one unit counts in."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import BudgetExceeded, LedgerCorrupt, ParameterError
from dpviz.mechanisms.groups import Groups
from dpviz.model.mechanism import Bound
from dpviz.privacy.loss import ApproxDP
from dpviz.session.session import Session
from tests.session.test_holding import entry, rewritten, verify

MILLIONTH = Fraction(1, 10**6)
MONTHS = dv.Domain.integers(1, 12, column="month")
KINDS = dv.Domain.categories(["a", "b", "c"], column="kind")
BY = dv.Partition(MONTHS, max_parts=6)
UNIT = dv.Unit("user", max_bins=3)
DENSE = dv.Dense("1", clamp=False)


def frame() -> pd.DataFrame:
    rows = [(user, month, kind) for user in range(90) for month in range(1, 9) for kind in "abc"[: user % 3 + 1]]
    return pd.DataFrame(rows, columns=["user", "month", "kind"])


def session(folder: Path, unit: dv.Unit = UNIT, **budget: Any) -> Session:
    given = {"epsilon": "3", "delta": "1e-4", **budget}
    return Session(frame(), unit, dv.Budget(**given), folder / "parts.ledger", dataset="kinds")


# ---------------------------------------------------------------- the same price buys more


def test_the_same_epsilon_and_a_delta_buy_less_noise(tmp_path: Path) -> None:
    it = session(tmp_path)
    exact, parts = it.plan(KINDS, DENSE, by=BY, delta="1e-6"), it.plan(KINDS, DENSE, by=BY)
    assert exact.way == "exact" and parts.way == "parallel" and it.ledger.entries() == []
    assert exact.price.loss == ApproxDP(Fraction(1), MILLIONTH) and exact.affordable
    assert exact.one_bin().value < parts.one_bin().value  # type: ignore[union-attr]
    of_part = exact.bound.each.price.epsilon, parts.bound.each.price.epsilon  # type: ignore[attr-defined]
    assert of_part == (Fraction("0.18784"), Fraction(1, 6))
    said = repr(exact)
    assert "would cost   ε 1, δ 0.000001 per user; leaves 2 of 3" in said
    assert "proof        exact composition of 6 answers, fixed beforehand" in said
    assert "one user counts in at most 6 of 12 parts" in said
    assert "saved        11.2 % of ε 1.12704, the sum of the parts of one user, ε 0.18784 each" in said
    assert "shared out   exact composition; each error is that of one part" in said
    assert "saved" not in repr(parts) and "exact composition" not in repr(parts)
    assert it.plan(KINDS, DENSE, by=BY, way="exact", delta="1e-6") == exact
    assert {type(one) for way, one in parts.ways.items() if way == "exact"} == {ParameterError}


def test_a_release_is_charged_once_verified_and_found_again(tmp_path: Path) -> None:
    it = session(tmp_path)
    release = it.release(KINDS, DENSE, by=BY, delta="1e-6")
    assert (it.remaining.epsilon, it.remaining.delta) == (2, Fraction("0.000099"))
    assert release.guarantee.loss == ApproxDP(Fraction(1), MILLIONTH)
    assert list(release.groups) == [str(month) for month in range(1, 13)]
    law: Any = release.terms.law
    assert law.each.noise.exponent == Fraction("0.18784") / 3 and law.apart
    again = session(tmp_path)
    assert again.release(KINDS, DENSE, by=BY, delta="1e-6") == release == again.releases[1]
    assert again.remaining == it.remaining and again.ledger.verify().statuses == {"done": 1}
    for name in ("parts.json", "parts.dpviz"):
        assert dv.load(release.save(tmp_path / name), ledger=again) == release
    part = release.groups["3"]
    assert "for all 12 parts together" in part.promise and dv.load(part.save(tmp_path / "p.json"), ledger=again) == part
    assert again.release(KINDS, DENSE, by=BY, delta="1e-6", key="once more") != release
    assert again.release(KINDS, DENSE, by=BY, delta="1e-5", key="once more").number == 3
    assert again.remaining.epsilon == 0 and again.ledger.verify()


def test_a_release_in_the_background_is_the_same(tmp_path: Path) -> None:
    async def awaited() -> Any:
        return await it.release_async(KINDS, DENSE, by=BY, delta="1e-6")

    it = session(tmp_path)
    release = asyncio.run(awaited())
    assert release == it.release(KINDS, DENSE, by=BY, delta="1e-6") and it.remaining.epsilon == 2


def test_a_delta_off_the_grid_is_rounded_up(tmp_path: Path) -> None:
    it, delta = session(tmp_path), Fraction(1, 53 * 10**6)
    it.release(KINDS, DENSE, by=MONTHS, delta=delta)
    left = Fraction(1, 10**4) - it.remaining.delta
    assert delta < left < delta + Fraction(1, 10**30) and it.ledger.verify()
    assert session(tmp_path).release(KINDS, DENSE, by=MONTHS, delta=delta).number == 1


def test_filters_that_overlap_are_a_list_of_all_of_them(tmp_path: Path) -> None:
    """A user, or a row, may be in each: nothing is parallel."""
    named = {f"up to {top}": {"month": dv.Between(1, top)} for top in range(1, 13)}
    for folder, unit in (("user", UNIT), ("row", dv.Unit())):
        (tmp_path / folder).mkdir()
        it = session(tmp_path / folder, unit)
        plan = it.plan(KINDS, DENSE, by=named, delta="1e-4")
        assert plan.price.rule.startswith("exact composition of 12 answers")
        assert "counts in all of 12 parts" in plan.price.rule and plan.bound.each.unit == unit  # type: ignore[attr-defined]
        assert it.release(KINDS, DENSE, by=named, delta="1e-4").groups.keys() == named.keys() and it.ledger.verify()


def test_a_lesson_draws_by_it() -> None:
    lesson = dv.teaching(frame(), seed=4, unit=UNIT)
    draw = lesson.draw(KINDS, DENSE, by=BY, delta="1e-6")
    assert draw.terms.mechanism.parameters["delta_of_all"] == "0.000001"
    assert lesson.plan(KINDS, DENSE, by=BY, delta="1e-6").price == draw.guarantee
    with pytest.raises(ParameterError, match="belongs to a question about each part"):
        lesson.draw(KINDS, DENSE, delta="1e-6")


# ---------------------------------------------------------------- refused before a charge

REFUSED: dict[str, tuple[Callable[[Session], Any], str]] = {
    "no parts": (lambda it: it.release(KINDS, DENSE, delta="1e-6"), "belongs to a question about each part"),
    "another way": (lambda it: it.release(KINDS, DENSE, by=BY, way="parallel", delta="1e-6"), "and of no other way"),
    "no delta": (lambda it: it.release(KINDS, DENSE, by=BY, way="exact"), "give delta= beside by="),
    "a delta of 0": (lambda it: it.release(KINDS, DENSE, by=BY, delta=0), "delta must"),
    "a delta of 1": (lambda it: it.release(KINDS, DENSE, by=BY, delta=1), "delta must"),
    "no number": (lambda it: it.release(KINDS, DENSE, by=BY, delta="little"), "delta"),
    "hardly less": (lambda it: it.release(KINDS, DENSE, by=BY, delta="1e-30"), "at least 1 % less than the sum"),
    "hardly less, of thresholds": (
        lambda it: it.release(KINDS, dv.Stability("1", "1e-7"), by=BY, delta="1e-6"),
        "at least 1 % less than the sum",
    ),
    "a delta below that of the mechanism": (
        lambda it: it.release(KINDS, dv.Stability("1", "1e-5"), by=BY, delta="1e-6"),
        "the delta of the list covers them",
    ),
    "Gaussian noise": (
        lambda it: it.release(KINDS, dv.Dense("1", base="gaussian", delta="1e-6"), by=BY, delta="1e-6"),
        "is priced exactly without a delta of its own",
    ),
    "Gaussian noise, by name": (
        lambda it: it.release(KINDS, dv.Dense("1", base="gaussian", delta="1e-6"), by=BY, way="exact", delta="1e-6"),
        "leave delta= and way= out",
    ),
    "hardly less, by name": (
        lambda it: it.release(KINDS, DENSE, by=BY, way="exact", delta="1e-30"),
        "leave delta= and way= out",
    ),
    "a profile beside it": (lambda it: it.release(KINDS, DENSE, by=BY, delta="1e-6", over=DENSE), "over= out"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_come_before_a_charge(tmp_path: Path, name: str) -> None:
    it = session(tmp_path)
    release, says = REFUSED[name]
    with pytest.raises(ParameterError, match=says):
        release(it)
    assert it.ledger.entries() == [] and it.remaining.epsilon == 3


def test_a_zcdp_budget_gains_nothing_by_it(tmp_path: Path) -> None:
    it = session(tmp_path, filter="zcdp")
    for call in (it.plan, it.release, it.release_async):
        for named in ({"delta": "1e-6"}, {"way": "exact"}):
            with pytest.raises(ParameterError, match="a zCDP budget adds rho up"):
                call(KINDS, DENSE, by=BY, **named)  # type: ignore[operator]
    assert it.ledger.entries() == [] and it.plan(KINDS, DENSE, by=BY).way == "parallel"


def test_a_budget_without_delta_cannot_pay_for_it(tmp_path: Path) -> None:
    it = session(tmp_path, delta="0")
    assert not it.plan(KINDS, DENSE, by=BY, delta="1e-6").affordable
    with pytest.raises(BudgetExceeded):
        it.release(KINDS, DENSE, by=BY, delta="1e-6")
    assert it.ledger.entries() == [] and it.remaining.epsilon == 3


def test_a_sheet_and_a_sub_session_have_no_such_price(tmp_path: Path) -> None:
    it = session(tmp_path)
    with pytest.raises(ParameterError, match="a sheet plans one price"):
        it.plan(KINDS, DENSE, by=BY, delta="1e-6").sheet  # noqa: B018 - it is refused
    ways = {one["name"]: one for one in it.plan(KINDS, DENSE, by=BY).sheet.to_json()["ways"]}
    assert "give delta= beside by=" in ways["exact"]["refused"]
    opened = it.plan_open(dv.Parts(BY, "1/6"))
    assert opened.price.epsilon == 1, "its questions depend on answers, so its price is the sum"


# ---------------------------------------------------------------- the ledger


def cheaper(charge: dict[str, Any]) -> None:
    charge["price"]["epsilon"] = "0.9"


def smaller_delta(charge: dict[str, Any]) -> None:
    charge["price"]["delta"] = "0.0000009"


def of_another_delta(charge: dict[str, Any]) -> None:
    charge["mechanism"]["parameters"]["delta_of_all"] = "0.00001"


@pytest.mark.parametrize("change", [cheaper, smaller_delta, of_another_delta])
def test_a_charge_that_was_made_smaller_is_found(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    it = session(tmp_path)
    it.release(KINDS, DENSE, by=BY, delta="1e-6")
    it.ledger.detach()
    path = tmp_path / "copy.ledger"
    shutil.copy(tmp_path / "parts.ledger", path)
    verify(path)
    rewritten(path, entry(1, change))
    with pytest.raises(LedgerCorrupt, match="entry 1"):
        verify(path)


def test_a_way_of_a_later_version_says_to_upgrade() -> None:
    """As an earlier dpviz, which knows no exact composition of parts, reads one."""
    told = {**Groups(DENSE, "exact", MILLIONTH).parameters(), "way": "a later one"}
    with pytest.raises(ParameterError, match="upgrade dpviz"):
        Groups.from_parameters(told)


def test_the_price_of_every_way_is_what_its_call_charges(tmp_path: Path) -> None:
    """Thirty lists of two: those that are composed by their epsilons alone, too."""
    days = dv.Domain.integers(1, 60, column="month")
    it = session(tmp_path)
    lists = dv.TopK(1, 3, epsilon="1", delta="1e-6")
    plan = it.plan("kind", lists, by=days, delta="1e-5")
    release = it.release("kind", lists, by=days, delta="1e-5")
    assert plan.price == release.guarantee and isinstance(plan.bound, Bound)
    assert it.remaining.epsilon == 3 - plan.price.epsilon and it.remaining.delta == Fraction("0.00009")
    assert it.ledger.verify()
