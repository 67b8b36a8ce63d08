"""A second answer that is declared with the first: the entries that say so, the price, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import BudgetExceeded, DpvizError, LedgerCorrupt
from dpviz.model.closing import CHOSEN, DECLARED
from dpviz.model.declared_next import declares
from dpviz.model.derived import Derived
from dpviz.model.identity import release_key
from dpviz.model.linear import Query
from dpviz.model.question import Question
from dpviz.session.charge import Charge
from dpviz.session.session import Session

FRAME = pd.DataFrame(
    {"user": [f"u{number * 13 % 41}" for number in range(400)], "month": [1 + number * 7 % 12 for number in range(400)]}
)
MONTHS = dv.Domain.integers(1, 12, column="month")
PROFILE = Question.contribution_profile(MONTHS)
UNIT = dv.Unit("user", noun="aircraft", max_bins=3)
FIRST, THEN, TREE = dv.Dense("1/2", clamp=False), dv.Dense("1/4", clamp=False), dv.Tree("1/2")
OVER, COUNTS = dv.Dense("1/10", clamp=False), dv.Dense("9/10", clamp=False)


def session(path: Path, epsilon: Any = 20, **budget: Any) -> Session:
    return Session(FRAME, UNIT, dv.Budget(epsilon, "1e-3", **budget), path / "x.ledger", dataset="flights")


def sole(asked: Any) -> Derived:
    assert isinstance(asked, Derived)
    return asked


@pytest.mark.parametrize("filter_", ["basic", "zcdp"])
@pytest.mark.parametrize("then", [THEN, FIRST, TREE], ids=["other", "same", "tree"])
def test_a_declared_answer_is_charged_when_it_is_drawn_and_both_are_read_by_the_law_of_both(
    tmp_path: Path, then: Any, filter_: str
) -> None:
    held, plain = session(tmp_path, filter=filter_), tmp_path / "plain"
    plain.mkdir()
    apart = session(plain, filter=filter_)
    first = held.release(MONTHS, FIRST, then=then)
    apart.release(MONTHS, FIRST)
    assert held.remaining.parts == apart.remaining.parts, "nothing is reserved"
    second = held.release(MONTHS, then)
    apart.release(MONTHS, then, key="another")
    assert held.remaining.parts == apart.remaining.parts and second.number == 2
    assert held.release(MONTHS, FIRST, then=then) == first and len(held.ledger.entries()) == 2
    pair = dv.combine(first, second)
    assert pair.order == dv.combine(second, first).order == "together" and "before either was drawn" in pair.sentence
    undeclared = dv.combine(*(apart.releases[number] for number in (1, 2)))
    assert undeclared.order == "apart"
    assert sole(pair.sum([1, 2])).bias.words == "unbiased"
    assert "chosen by the first" in sole(undeclared.sum([1, 2])).bias.words
    assert held.ledger.verify() and "then" in held.ledger.entry(1).body["question_text"]
    held.ledger.detach()
    again = session(tmp_path, filter=filter_)
    assert dv.combine(again.releases[1], again.releases[2]).order == "together"


def test_entries_that_were_not_declared_are_apart_whatever_they_share(tmp_path: Path) -> None:
    held = session(tmp_path)
    early = held.release(MONTHS, THEN, key="spring")
    first = held.release(MONTHS, FIRST, then=THEN)
    held.release(MONTHS, THEN, then=FIRST)  # a purchase of another kind, with a draw of its own
    second = held.release(MONTHS, THEN)
    others = [
        early,
        held.release(MONTHS, THEN, key="again"),
        held.release(MONTHS, THEN, then=TREE),
        held.release(MONTHS, THEN, over=OVER),
        held.release(MONTHS, dv.Dense("1/5", clamp=False)),
        held.release(MONTHS, FIRST),
    ]
    assert declares(first, second) and not declares(second, first)
    for other in others:
        assert not declares(first, other) and dv.combine(first, other).order == "apart", other.number
    for wider in (dv.Limits(max_bins=5), dv.Limits(max_bins=3, max_records=2)):
        with pytest.raises(DpvizError, match="within the same limits"):
            dv.combine(first, held.release(MONTHS, THEN, limits=wider))
    keyed = held.release(MONTHS, FIRST, then=THEN, key="summer")
    assert not declares(keyed, second) and declares(keyed, held.release(MONTHS, THEN, key="summer"))


def test_a_copy_a_file_and_a_ledger_that_is_away_prove_no_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = session(tmp_path)
    first, second = held.release(MONTHS, FIRST, then=THEN), held.release(MONTHS, THEN)
    pair = dv.combine(first, second)
    loaded = dv.load_derived(pair.save(tmp_path / "both.json"))
    assert loaded.order == "apart" and "one after the other" in loaded.sentence  # type: ignore[union-attr]
    for number, release in enumerate((first, second)):
        release.save(tmp_path / f"{number}.json")
    copies = [dv.load(tmp_path / f"{number}.json", ledger=held) for number in (0, 1)]
    assert dv.combine(*copies).order == "apart" and dv.combine(first, copies[1]).order == "apart"

    def away(number: int) -> Any:
        raise dv.errors.LedgerError("the ledger does not answer", value="x", rule="y", next_step="z")

    monkeypatch.setattr(held.ledger, "entry", away)
    assert dv.combine(first, second).order == "apart"


def test_a_profile_that_is_declared_with_counts_closes_ends_by_the_law_of_both(tmp_path: Path) -> None:
    held = session(tmp_path)
    counts = held.release(MONTHS, FIRST, then=(PROFILE, OVER))
    profile = held.release(PROFILE, OVER)
    later = held.release(PROFILE, OVER, key="later")
    declared, chosen = counts.closed_by(profile), counts.closed_by(later)
    assert [one.number for one in declared.paid] == [1, 2] and len(declared.remarks) == 1
    assert "both noises" in sole(declared.sum([1])).rule and "added up" in sole(chosen.sum([1])).rule
    month, reaches = Query.of((range(1), 1)), []
    for closed in (declared, chosen):
        ends = closed._ends("")
        lost = ends.loss(1)[1]
        reaches.append(ends.reach(month, lost, 1, Fraction(1, 40)))
        assert (ends.both(month, lost) is not None) == (closed is declared)
    assert reaches[0] < reaches[1], "one level is not shared out in two"
    held.release(MONTHS, FIRST, over=OVER)
    assert held.ledger.verify()


def test_counts_that_are_declared_with_a_profile_take_any_limit_and_are_read_by_the_law_of_both(tmp_path: Path) -> None:
    held = session(tmp_path)
    profile = held.release(PROFILE, OVER, then=COUNTS)
    chosen = held.plan(MONTHS, COUNTS).suggest_limit(profile).limit
    assert held.remaining.epsilon == 20 - Fraction(1, 10)
    plain = held.release(MONTHS, COUNTS, key="of its own", limits=dv.Limits(max_bins=6))
    month, every = Query.of((range(1), 1)), Query.of((range(12), 1))
    for limit in {2, 6, min(chosen, 11)}:
        counts = held.release(MONTHS, COUNTS, limits=dv.Limits(max_bins=limit))
        assert declares(profile, counts) and not declares(counts, profile)
        closed = counts.closed_by(profile)
        assert DECLARED in closed.remarks and CHOSEN in closed.remarks and [one.number for one in closed.paid][1] == 1
        ends, level = closed._ends(""), Fraction(1, 40)
        law = ends.both(month, ends.loss(1)[1])
        assert ends.order == "declared" and ends.choices == 11 and law is not None
        assert ends.reach(month, ends.loss(1)[1], 1, level) == law.under.upper(level / 11).value
        if limit == 6:
            apart = plain.closed_by(profile)._ends("")
            assert apart.order == "profile first" and apart.both(month, apart.loss(1)[1]) is None
            for query, lost in ((month, ends.loss(1)[1]), ends.total(every) or (every, every)):
                wide = apart.total(every) if query is not month else (month, apart.loss(1)[1])
                assert wide is not None
                reaches = ends.reach(query, lost, 1, level), apart.reach(*wide, 1, level)
                assert reaches[0] < reaches[1]  # type: ignore[operator]
    assert held.ledger.verify()


def test_a_p_value_of_declared_counts_is_multiplied_by_the_limits_that_could_have_been_chosen(tmp_path: Path) -> None:
    held = session(tmp_path)
    profile, counts = held.release(PROFILE, OVER, then=COUNTS), held.release(MONTHS, COUNTS)
    ends = counts.closed_by(profile)._ends("")
    query = Query.of((range(1), 1000))  # so far above 0 that its chance is below 1 / 11
    found, law = ends.chance(query, Query(()), 1), ends.both(query, Query(()))
    assert law is not None and found is not None
    told = law.at_least(ends.estimate(query, Query(())).low)
    assert told is not None and found.value.high == min(Fraction(1), 11 * told[1])


def test_keys_without_a_declaration_have_not_moved_and_each_declaration_has_its_own(tmp_path: Path) -> None:
    held = session(tmp_path)
    plain, declared = held.release(MONTHS, FIRST), held.release(MONTHS, FIRST, then=THEN)
    assert plain.key == release_key(Question(MONTHS), UNIT, FIRST, "exact") and "then" not in held.ledger.entry(1).body
    other = held.release(MONTHS, FIRST, then=TREE)
    assert len({plain.key, declared.key, other.key}) == 3
    assert plain.to_json()["version"] == declared.to_json()["version"] == 2


@pytest.mark.parametrize(
    "alter",
    [
        lambda then: {**then, "mechanism": {**then["mechanism"], "parameters": TREE.parameters(), "name": "Tree"}},
        lambda then: {**then, "mode": "strict"},
        lambda then: {**then, "question": Question(dv.Domain.integers(1, 3, column="month")).to_json()},
    ],
)
def test_an_entry_that_declares_another_answer_than_its_key_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alter: Callable[[Any], Any]
) -> None:
    whole = Charge._body

    def altered(self: Charge, *given: Any) -> dict[str, Any]:
        body = whole(self, *given)
        return {**body, "then": alter(body["then"])} if "then" in body else body

    monkeypatch.setattr(Charge, "_body", altered)
    held = session(tmp_path)
    held.release(MONTHS, FIRST, then=THEN)
    with pytest.raises(LedgerCorrupt, match="declares another answer than its key"):
        held.ledger.verify()


def test_what_cannot_be_declared_is_refused_before_a_charge(tmp_path: Path) -> None:
    held = session(tmp_path)
    three, top = dv.Domain.integers(1, 3, column="month"), dv.TopK(k=1, kbar=2, epsilon="1/2", delta="1e-6")
    half = dv.Domain.integers(1, 2, column="month")
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: held.release(MONTHS, FIRST, then=(three, THEN)), "the question of the first"),
        (lambda: held.release(MONTHS, FIRST, where={"month": 3}, then=(MONTHS, THEN)), "the question of the first"),
        (
            lambda: held.release(MONTHS, FIRST, then=(Question(MONTHS).limited(dv.Limits(max_bins=5)), THEN)),
            "same unit within the same limits",
        ),
        (lambda: held.release(MONTHS, FIRST, limits=dv.Limits(max_bins=5), then=(MONTHS, THEN)), "the same limits"),
        (lambda: held.release(MONTHS, FIRST, over=OVER, then=THEN), "leave then= out, or over="),
        (lambda: held.release(MONTHS, FIRST, by=half, then=THEN), "leave then= out, or by="),
        (lambda: held.release_async(MONTHS, FIRST, over=OVER, then=THEN), "leave then= out, or over="),
        (lambda: held.release(MONTHS, FIRST, then="1/4"), "a mechanism is one of"),
        (lambda: held.release(MONTHS, top, then=THEN), "others are not combined"),
        (lambda: held.release(MONTHS, FIRST, then=top), "not combined with counts"),
        (lambda: held.release(PROFILE, OVER, then=(MONTHS, THEN)), "the question of the first"),
        (
            lambda: held.release(MONTHS, FIRST, limits=dv.Limits(max_bins=12), then=(PROFILE, OVER)),
            "leaves open",
        ),
        (
            lambda: held.release(MONTHS, FIRST, then=(Question.contribution_profile(MONTHS, over=4), OVER)),
            "limit of 3",
        ),
        (
            lambda: held.release(Question.contribution_profile(MONTHS, over=3), OVER, then=COUNTS),
            "all numbers of bins",
        ),
        (lambda: held.release(Question.contribution_profile(MONTHS, most=6), OVER, then=COUNTS), "all numbers of bins"),
        (lambda: held.release(PROFILE, OVER, then=top), "counts that add up"),
        (lambda: held.release(PROFILE, dv.Sorted("1/10"), then=COUNTS), "keeps classes apart"),
        (lambda: dv.teaching(FRAME, 1, UNIT).draw(MONTHS, FIRST, then=THEN), "takes no then"),  # type: ignore[call-overload]
        (lambda: held.release(MONTHS, FIRST, then=dv.Dense(20)), "declares must fit beside the first"),
    ]
    for call, words in cases:
        with pytest.raises(DpvizError, match=words):
            call()
    assert len(held.ledger.entries()) == 0 and held.remaining.epsilon == 20
    held.release(MONTHS, THEN)
    with pytest.raises(DpvizError, match="declared before it is drawn.*which is entry 1"):
        held.release(MONTHS, FIRST, then=THEN)
    assert len(held.ledger.entries()) == 1
    first = held.release(MONTHS, FIRST, then=THEN, key="spring")
    assert declares(first, held.release(MONTHS, THEN, key="spring"))
    sub = held.open(dv.Parts(dv.Domain.integers(1, 2, column="month"), epsilon="1/2"))
    with pytest.raises(DpvizError, match="then"):
        sub.ask(MONTHS, FIRST, then=THEN)
    with pytest.raises(BudgetExceeded, match="must fit beside"):
        held.release(MONTHS, FIRST, then=dv.Dense(19), key="summer")
