"""Two more ways to answer about each part: one product domain, cut into parts, and a sub-session that is asked."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.engines import as_source
from dpviz.errors import DomainError, ParameterError, ReleaseFormat
from dpviz.mechanisms.groups import Groups
from dpviz.mechanisms.one_domain import ProductBound
from dpviz.model.answers import Grouped, Ranked, SparseTable, Table
from dpviz.model.answers.labels import apart
from dpviz.model.laws import law_from_json
from dpviz.model.laws.shared_list import SharedListLaw
from dpviz.model.mechanism import Bound
from dpviz.model.ways import WAYS, best, least
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.loss import ApproxDP, PureDP
from dpviz.session.session import Session

MONTHS = dv.Domain.integers(1, 3, column="month")
KINDS = dv.Domain.categories(["a", "b", "c", "d"], column="kind")
LISTS = dv.TopK(2, 4, epsilon="3", delta="1e-5")
SHARES = {1: (200, 80, 10, 0), 2: (20, 300, 100, 5), 3: (0, 0, 60, 150)}
"""How many rows there are of each kind, month by month."""


def frame() -> pd.DataFrame:
    rows = [
        (month, kind) for month, many in SHARES.items() for kind, n in zip("abcd", many, strict=True) for _ in range(n)
    ]
    return pd.DataFrame(rows, columns=["month", "kind"]).assign(user=[at % 300 for at in range(len(rows))])


def session(tmp_path: Path, unit: dv.Unit | None = None) -> Session:
    budget = dv.Budget(epsilon="12", delta="1e-3")
    return Session(frame(), unit or dv.Unit(), budget, tmp_path / "ways.ledger", dataset="kinds")


def bound_of(mechanism: Any, unit: dv.Unit, most: int | None = None, question: Any = KINDS) -> ProductBound:
    found = Groups(mechanism, "product").bind(dv.Question(question, by=dv.Partition(MONTHS, max_parts=most)), unit)
    assert isinstance(found, ProductBound)
    return found


# ---------------------------------------------------------------- one product domain

CUT: dict[str, Any] = {
    "counts": dv.Dense("3"),
    "counts of a finite sampler": dv.Dense("3", base="tight", cap=2_000),
    "Gaussian counts": dv.Dense("3", base="gaussian", delta="1e-5"),
    "counts that are not empty": dv.Stability("3", "1e-5"),
    "a list": LISTS,
    "a list of all bins": dv.TopK(2, 4, epsilon="3", delta="1e-5", domain_rule="paper"),
}


@pytest.mark.parametrize("mechanism", CUT.values(), ids=CUT)
def test_a_product_is_answered_once_and_cut_into_parts(tmp_path: Path, mechanism: Any) -> None:
    """What a part shows is what the answer about the product shows of it, from the same random bits."""
    bound, source = bound_of(mechanism, dv.Unit()), as_source(frame(), name="kinds", schema=None)
    parts = bound.draw(bound.count_statistic(source).settled(), TeachingBits(5), mode=bound.modes()[0])
    whole = bound.whole.draw(bound.whole.count_statistic(source).settled(), TeachingBits(5), mode=bound.modes()[0])
    assert bound.whole.question == dv.Question(MONTHS * KINDS) and len(parts.answers) == 3 and bound.accepts(parts)
    again: list[tuple[int, Any]] = []
    for part, answer in enumerate(parts.answers):
        if isinstance(answer, Ranked):
            again += [(4 * part + int(item), None) for item in answer.items]
        elif isinstance(answer, Table):
            again += [(4 * part + at, value) for at, value in enumerate(answer.values.tolist())]
        else:
            assert isinstance(answer, SparseTable)
            again += [
                (4 * part + int(at), value) for at, value in zip(answer.labels, answer.values.tolist(), strict=True)
            ]
    if isinstance(whole, Ranked):
        assert sorted(again) == sorted((int(item), None) for item in whole.items) and len(again) == 6
        orders = [[4 * part + int(item) for item in answer.items] for part, answer in enumerate(parts.answers)]  # type: ignore[attr-defined]
        assert all(order == [item for item in whole.items if item in order] for order in orders)
    else:
        labels = range(12) if isinstance(whole, Table) else whole.labels  # type: ignore[attr-defined]
        assert again == list(zip(map(int, labels), whole.values.tolist(), strict=True))  # type: ignore[attr-defined]


@pytest.mark.parametrize("mechanism", CUT.values(), ids=CUT)
def test_a_release_of_a_product_is_one_entry_with_an_answer_for_each_part(tmp_path: Path, mechanism: Any) -> None:
    it = session(tmp_path)
    release = it.release(KINDS, mechanism, by=MONTHS, way="product")
    assert 9 <= it.remaining.epsilon < Fraction(91, 10) and list(release.groups) == ["1", "2", "3"]
    assert release.guarantee.requested == 3 and "one product domain, 12 bins" in release.guarantee.rule  # type: ignore[union-attr]
    assert session(tmp_path).releases[1] == release
    for name in ("way.json", "way.dpviz"):
        assert dv.load(release.save(tmp_path / name), ledger=it) == release
    for name, part in release.groups.items():
        path = part.save(tmp_path / f"{name}.json")
        assert dv.load(path, ledger=it) == part and part.promise.endswith("for all 3 parts together")
    shown = release.to_frame()
    assert shown["month"].tolist() == [name for name, part in release.groups.items() for _ in part.labels]
    assert release.chart() is not None and release.groups["2"].chart() is not None
    assert "<th scope='col'>month</th>" in release._repr_html_()


def test_counts_of_a_product_err_as_one_answer_about_it() -> None:
    bound = bound_of(dv.Dense("3"), dv.Unit())
    whole = dv.Dense("3").bind(dv.Question(MONTHS * KINDS), dv.Unit())
    assert bound.law.each.noise == whole.law.noise and bound.law.each.bins == 4  # type: ignore[attr-defined]
    assert bound.error.one_bin(Fraction(1, 20)) == whole.error.one_bin(Fraction(1, 20))
    some, every = bound.error.all_bins(Fraction(1, 20)), whole.error.all_bins(Fraction(1, 20))
    assert some is not None and every is not None and some.value <= every.value


@pytest.mark.parametrize("most", [None, 1, 2])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("max_bins", [1, 2])
def test_the_price_of_a_product_is_that_of_all_its_bins_over_all_pairs(
    relation: Any, max_bins: int, most: int | None
) -> None:
    """A unit's bins are chosen among all of them, whatever `max_parts` says; the twin that chooses them in each part
    would cost more."""
    unit = dv.Unit("user", relation, max_bins=max_bins)
    bound = bound_of(dv.Dense("3"), unit, most)
    kept = [bins for size in range(max_bins + 1) for bins in itertools.combinations(range(12), size)]
    nobody = [()] if relation == "add-remove" else kept
    worst = max(len(set(one) ^ set(other)) for one, other in itertools.product(kept, nobody))
    exponent = bound.law.each.noise.exponent  # type: ignore[attr-defined]
    assert bound.price.loss == PureDP(worst * exponent) == PureDP(Fraction(3))
    in_each_part = worst * min(3, most or 3)
    assert in_each_part == worst or in_each_part * exponent > 3


def test_a_user_counts_in_few_bins_of_all_parts_together() -> None:
    """300 users with some three rows each, two of which count: over all parts, or in each part."""
    unit, source = dv.Unit("user", max_bins=1, max_per_bin=1), as_source(frame(), name="kinds", schema=None)
    bound = bound_of(dv.Dense("3"), unit)
    one = bound.count_statistic(source).take()  # type: ignore[attr-defined]
    each = Groups(dv.Dense("3"), "sequence").bind(bound.question, unit)
    parts = [part.take().sum() for part in each.count_statistic(source).each()]  # type: ignore[attr-defined]
    assert one.sum() == 300 < sum(parts)
    assert "one user counts in 1 bin of all parts together" == bound.leaves_out
    assert "one user counts in 1 of them at most" in bound.price.rule


@pytest.mark.parametrize("mechanism", [dv.Dense("3"), LISTS], ids=repr)
def test_an_sql_engine_counts_a_product_as_pandas_does(tmp_path: Path, mechanism: Any) -> None:
    path = tmp_path / "kinds.parquet"
    frame().to_parquet(path)
    bound = bound_of(mechanism, dv.Unit("user", max_bins=1), 2)
    sources = [as_source(data, name="kinds", schema=None) for data in (frame(), path)]
    assert type(sources[0]) is not type(sources[1])
    one, other = (bound.count_statistic(source).settled().take() for source in sources)  # type: ignore[attr-defined]
    assert len(one) == len(other) and all(map(np.array_equal, one, other))


def test_a_way_that_leaves_something_out_is_not_taken_unasked() -> None:
    """Its noise is less, for a user counts in fewer bins: what that does to the counts, no plan can know."""
    lesson = dv.teaching(frame(), seed=1, unit=dv.Unit("user", max_bins=2))
    plan = lesson.plan(KINDS, dv.Dense("3"), by=MONTHS)
    product, sequence = plan.ways["product"], plan.ways["sequence"]
    assert isinstance(product, Bound) and isinstance(sequence, Bound)
    assert plan.way == "sequence" and least(product) < least(sequence)
    told = repr(plan)
    assert "one after the other, the least error of one release that leaves nothing out" in told
    assert "one product domain:      any one bin ±2; one user counts in 2 bins of all parts together" in told
    assert lesson.plan(KINDS, dv.Dense("3"), by=MONTHS, way="product").way == "product"
    assert lesson.draw(KINDS, dv.Dense("3"), by=MONTHS).terms.mechanism.parameters["way"] == "sequence"


def test_where_nothing_is_left_out_a_product_is_taken_if_it_errs_least() -> None:
    lesson = dv.teaching(frame(), seed=1, unit=dv.Unit("user", max_bins=None))
    lists = dv.TopK(1, 4, epsilon="3", delta="1e-5", domain_rule="paper")
    plan = lesson.plan(KINDS, lists, by=MONTHS)
    assert {way for way in WAYS if isinstance(plan.ways[way], Bound)} >= {"sequence", "product", "sub-session"}
    assert plan.way == min(
        (way for way in WAYS if isinstance(plan.ways[way], Bound) and way != "sub-session"),
        key=lambda way: least(plan.ways[way]),  # type: ignore[arg-type]
    )
    rows = dv.teaching(frame(), seed=1).plan(KINDS, dv.Dense("3"), by=MONTHS)
    assert rows.way == "parallel" and "one product domain:      any one bin ±1\n" in repr(rows)


def test_parts_of_a_product_are_combined_with_their_like_alone(tmp_path: Path) -> None:
    it = session(tmp_path, dv.Unit("user", max_bins=2))
    one, other = (it.release(KINDS, dv.Dense("1"), by=MONTHS, way="product", key=key) for key in ("one", "other"))
    both = dv.combine(one.groups["2"], other.groups["2"])
    assert both.sum(["b"]).value == (Fraction(one.groups["2"]["b"]) + Fraction(other.groups["2"]["b"])) / 2
    alone = it.release(KINDS, dv.Dense("1"), by=MONTHS, way="sequence")
    with pytest.raises(ParameterError, match="over all parts it counts in fewer"):
        dv.combine(one.groups["2"], alone.groups["2"])
    rows = dv.teaching(frame(), seed=3)
    drawn = [rows.draw(KINDS, dv.Dense("1"), by=MONTHS, way=way) for way in ("product", "parallel")]
    assert dv.combine(*(one.groups["2"] for one in drawn)).sum(["b"]).value > 250


def test_the_filter_and_the_sum_of_a_question_stay_those_of_its_product() -> None:
    asked = dv.Question(KINDS, where={"user": dv.Between(0, 99)}, by=dv.Partition(MONTHS))
    found = Groups(dv.Dense("3"), "product").bind(asked, dv.Unit())
    assert isinstance(found, ProductBound)
    assert found.whole.question == dv.Question(MONTHS * KINDS, where={"user": dv.Between(0, 99)})
    lesson = dv.teaching(frame(), seed=1)
    drawn = lesson.draw(KINDS, dv.Dense("3"), by=MONTHS, way="product", where={"user": dv.Between(0, 99)})
    few = frame().query("user < 100 and month == 2")["kind"].value_counts()
    assert abs(drawn.groups["2"]["b"] - few["b"]) < 10


# ---------------------------------------------------------------- a list that parts share


def test_the_lists_of_a_product_share_their_places(tmp_path: Path) -> None:
    release = session(tmp_path).release(KINDS, LISTS, by=MONTHS, way="product")
    lists = [part.items for part in release.groups.values()]
    assert sum(map(len, lists)) == 6 and release.title.startswith("Kind, top 6 of all parts by rows, for each month")
    assert lists == [["a", "b"], ["b", "c"], ["d", "c"]]
    part = release.groups["2"]
    assert part.sentence == "2 of the 6 places of all parts were filled here."
    measures = {measure.name: measure for measure in release.terms.measures}
    assert measures["listed"].origin == "above the 13th count of all parts"
    assert measures["rank"].origin == "below the 6th count of all parts"
    assert "below the 6th largest true count of all parts" in part.sureness()[0]
    assert "six items of all parts came before ⊥" in part.sureness()[1]


def test_what_holds_for_the_list_of_all_parts_holds_for_those_of_each() -> None:
    bound = bound_of(LISTS, dv.Unit())
    whole, beta = bound.whole.error, Fraction(1, 20)
    assert bound.error.rank(6, beta) == whole.rank(6, beta) == bound.error.in_place(1, 6, beta)
    assert bound.error.rank(2, beta) is None, "the first two of a part may stand anywhere in the list"
    assert bound.error.listed(beta) == whole.listed(beta) and bound.error.left_out(beta) == whole.left_out(beta)
    assert bound.max_items == 6 and bound.price.loss == ApproxDP(Fraction(3), Fraction(1, 10**5))


def test_a_shared_list_that_nobody_drew_is_refused(tmp_path: Path) -> None:
    from dpviz.model.release import with_checksum

    release = session(tmp_path).release(KINDS, LISTS, by=MONTHS, way="product")
    law = release.terms.law.each  # type: ignore[attr-defined]
    assert isinstance(law, SharedListLaw) and law_from_json(law.to_json()) == law
    full = Ranked((0, 1), False), Ranked((1, 2), False), Ranked((3, 2), False)
    ended = Ranked((0,), True), Ranked((), True), Ranked((3,), True)
    for fine in (full, ended, (Ranked((0, 1, 2, 3), False), Ranked((1,), False), Ranked((3,), False))):
        assert release.terms.accepts(Grouped(fine))
    wrong: dict[str, tuple[Ranked, ...]] = {
        "a place too many": (Ranked((0, 1, 2), False), *full[1:]),
        "a place free, and no end": (Ranked((0,), False), *full[1:]),
        "all places filled, and an end": tuple(Ranked(one.items, True) for one in full),
        "an end for one part": (ended[0], Ranked((), False), ended[2]),
        "values": (Ranked((0, 1), False, values=(5, 4)), *full[1:]),
        "a private kbar": (Ranked((0, 1), False, kbar=5), *full[1:]),
        "a bin that is not there": (Ranked((0, 4), False), *full[1:]),
        "a part too few": full[:2],
    }
    path = tmp_path / "wrong.json"
    for name, answers in wrong.items():
        assert not release.terms.accepts(Grouped(answers)), name
        path.write_bytes(with_checksum({**release.to_json(), "answer": Grouped(answers).to_json()}))
        with pytest.raises(ReleaseFormat):
            dv.load(path)
    whole = {**release.to_json(), "law": {**release.terms.law.to_json(), "each": {**law.to_json(), "parts": "4"}}}
    path.write_bytes(with_checksum(whole))
    with pytest.raises(ReleaseFormat):
        dv.load(path)


def test_a_list_of_all_bins_has_no_end() -> None:
    bound = bound_of(dv.TopK(2, 4, epsilon="3", delta="1e-5", domain_rule="paper"), dv.Unit())
    assert [measure.name for measure in bound.measures] == ["rank"] and bound.price.loss == PureDP(Fraction(3))
    full = Grouped((Ranked((0, 1), False), Ranked((1, 2), False), Ranked((3, 2), False)))
    assert bound.accepts(full) and not bound.accepts(Grouped((Ranked((0,), True),) * 3))


def test_a_list_that_ends_says_so_for_every_part() -> None:
    lesson = dv.teaching(frame().head(120), seed=1)  # one kind in one month
    drawn = lesson.draw(KINDS, dv.TopK(2, 4, epsilon="3", delta="1e-5"), by=MONTHS, way="product")
    assert [part.items for part in drawn.groups.values()] == [["a"], [], []]
    assert all(part.ended for part in drawn.groups.values())
    assert drawn.groups["3"].sentence.startswith("No more: ⊥. The lists share 6 places")
    assert "above the 13th count of all parts" in drawn.groups["3"].sureness()[1]


@pytest.mark.parametrize("way", ["product", "parallel"])
def test_a_part_without_a_place_has_no_rows_and_leaves_ranks_whole(way: Any) -> None:
    two = pd.DataFrame({"month": [1, 2] * 400, "kind": ["a", "b"] * 400})
    lists = dv.TopK(1, 2, epsilon="3", delta="1e-5") if way == "parallel" else dv.TopK(1, 4, epsilon="3", delta="1e-5")
    drawn = dv.teaching(two, seed=1).draw(KINDS, lists, by=MONTHS, way=way)
    assert [part.items for part in drawn.groups.values()] == [["a"], ["b"], []]
    shown = drawn.to_frame()
    assert shown["month"].tolist() == ["1", "2"] and shown["rank"].dtype == "int64" == shown["below_all"].dtype
    assert drawn.groups["3"].chart() is not None and drawn.groups["3"].to_frame().empty
    nobody = dv.teaching(two.head(0), seed=1).draw(KINDS, lists, by=MONTHS, way=way)
    assert nobody.to_frame().columns[:3].tolist() == ["month", "rank", "item"] and nobody.to_frame().empty


# ---------------------------------------------------------------- refused

OTHERS: dict[str, tuple[Any, Any, str]] = {
    "named parts": (dv.Dense("1"), {"one": {"month": [1]}, "two": {"month": [2]}}, "make no product"),
    "a tree": (dv.Tree("1"), MONTHS, "one column at a time"),
    "sorted counts": (dv.Sorted("1"), MONTHS, "the list of TopK, are cut"),
    "pairs of columns": (dv.Marginals("1"), MONTHS, "the list of TopK, are cut"),
    "a private kbar": (
        dv.TopK(2, "private", epsilon="3", delta="1e-5", largest=4),
        MONTHS,
        "for one part, not for all",
    ),
    "a list with values": (dv.TopKLaplace(2, 4, epsilon="3", delta="1e-5"), MONTHS, "the list of TopK, are cut"),
    "a sketch": (dv.ALP("1"), MONTHS, "the list of TopK, are cut"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_makes_no_product_is_refused_in_words(tmp_path: Path, name: str) -> None:
    mechanism, by, words = OTHERS[name]
    it = session(tmp_path)
    with pytest.raises(ParameterError, match=words):
        it.release(KINDS, mechanism, by=by, way="product")
    assert it.remaining.epsilon == 12 and len(it.releases) == 0


@pytest.mark.parametrize("mechanism", [LISTS, dv.Stability("3", "1e-5")], ids=repr)
def test_keys_that_nobody_declared_are_cut_where_they_make_a_product(tmp_path: Path, mechanism: Any) -> None:
    it, keys = session(tmp_path), dv.Domain.keys(column="kind")
    try:
        _ = MONTHS * keys
    except DomainError:
        with pytest.raises(ParameterError, match="a product is made"):
            it.release(keys, mechanism, by=MONTHS, way="product")
        return
    release = it.release(keys, mechanism, by=MONTHS, way="product")
    assert {"a", "b"} <= set(release.groups["1"].labels) and set(release.groups["3"].labels) >= {"c", "d"}
    assert dv.load(release.save(tmp_path / "keys.json"), ledger=it) == release


def test_labels_of_a_product_with_keys_are_those_of_its_parts() -> None:
    """They begin with the number of the declared bin: of one of twelve months, or of a month and one of four kinds."""
    months, keys = dv.Domain.integers(1, 12, column="month"), dv.Domain.keys(column="word")
    found = apart(("05ATL", "11BOS", "057", "00"), months, keys)
    assert found[5] == ([0, 2], ("ATL", "7")) and found[11] == ([1], ("BOS",)) and found[0] == ([3], ("",))
    assert sum(len(places) for places, _ in found) == 4
    assert apart((17, 5, 4), months, KINDS)[1] == ([1, 2], (1, 0)) and apart((17,), months, KINDS)[4] == ([0], (1,))


# ---------------------------------------------------------------- a sub-session

FLIGHTS = dv.Unit("user", max_bins=2)


@pytest.mark.parametrize(
    "by",
    [dv.Partition(MONTHS), dv.Partition(MONTHS, max_parts=2), {"early": {"month": [1, 2]}, "late": {"month": [3]}}],
    ids=str,
)
@pytest.mark.parametrize("where", [None, {"user": dv.Between(0, 250)}])
def test_a_sub_session_is_planned_and_its_calls_are_there_to_copy(tmp_path: Path, by: Any, where: Any) -> None:
    it = session(tmp_path, FLIGHTS)
    plan = it.plan("kind", LISTS, by=by, where=where, way="sub-session")
    assert plan.way == "sub-session" and plan.price.loss == ApproxDP(Fraction(3), Fraction(1, 10**5))
    with pytest.raises(ParameterError, match="is opened and asked") as refused:
        it.release("kind", LISTS, by=by, where=where, way="sub-session")
    assert it.remaining.epsilon == 12
    call = plan.bound.subsession_calls
    assert call in str(refused.value) and f"  ask for it   {call}\n" in repr(plan)
    known: dict[str, Any] = {"dv": dv, "session": it}
    exec(call, known)
    lists, sub = known["lists"], known["sub"]
    assert it.remaining.epsilon == 9 and [one.question.part for one in lists] == (
        [0, 1, 2] if isinstance(by, dv.Partition) else [None, None]
    )
    sequence = it.plan("kind", LISTS, by=by, where=where, way="sequence").bound
    asked = sequence.question.in_parts()  # type: ignore[union-attr]
    assert [one.question.where for one in lists] == [part.where for part in asked]
    assert lists[0].terms.measures[0].at(Fraction(1, 20)) == plan.measures[0].at(Fraction(1, 20))
    most = 2 * len(asked)
    assert sub.left.symbols_left == most - sum(len(one.items) + one.ended for one in lists)


def test_a_sub_session_keeps_the_accounting_the_rules_and_a_private_kbar() -> None:
    question = dv.Question(dv.Domain.keys(column="kind"), by=dv.Partition(MONTHS))
    for made, called in (
        (dv.TopK(2, 4, epsilon="3", delta="1e-5", accounting="zcdp"), 'accounting="zcdp"'),
        (dv.TopK(2, 4, epsilon="3", delta="1e-5", domain_rule="strict", ties="unknown"), 'ties="unknown"'),
        (dv.TopK(3, "private", epsilon="3", delta="1e-5", largest=9), 'kbar="private", largest=9'),
    ):
        bound = Groups(made, "sub-session").bind(question, FLIGHTS)
        assert called in bound.subsession_calls and bound.max_items == 2
        assert bound.each.ranked.mechanism.k == made.k  # type: ignore[attr-defined]


def test_a_sub_session_is_never_taken_unasked_though_it_errs_least(tmp_path: Path) -> None:
    """A private kbar: lists do not add up as zCDP, so one release asks one after the other."""
    it = session(tmp_path, FLIGHTS)
    private = dv.TopK(6, "private", epsilon="3", delta="1e-5", largest=9)
    plan = it.plan("kind", private, by=MONTHS)
    opened, sequence = plan.ways["sub-session"], plan.ways["sequence"]
    assert isinstance(opened, Bound) and isinstance(sequence, Bound) and least(opened) < least(sequence)
    assert plan.way == "sequence" == best(plan.ways)[0]
    assert "one after the other, the least error of one release" in repr(plan)
    line = next(line for line in repr(plan).splitlines() if line.startswith("  a sub-session:"))
    assert (
        f"to be listed +{least(opened)[1]}" in line and "session.open(dv.PayWhatYouGet(symbols=18, questions=3" in line
    )
    release = it.release("kind", private, by=MONTHS)
    assert release.terms.mechanism.parameters["way"] == "sequence"


def test_counts_are_asked_in_no_sub_session_of_symbols() -> None:
    for mechanism in (dv.Dense("1"), dv.TopKSet(2, epsilon="3", delta="1e-5")):
        with pytest.raises(ParameterError, match="answers TopK"):
            Groups(mechanism, "sub-session").bind(dv.Question(KINDS, by=dv.Partition(MONTHS)), dv.Unit())


def test_a_lesson_refuses_a_sub_session_in_words() -> None:
    with pytest.raises(ParameterError, match="is opened and asked"):
        dv.teaching(frame(), seed=1).draw("kind", LISTS, by=MONTHS, way="sub-session")


# ---------------------------------------------------------------- one key


def test_a_call_without_a_way_gets_the_stored_product(tmp_path: Path) -> None:
    it = session(tmp_path)
    stored = it.release(KINDS, dv.Dense("3"), by=MONTHS, way="product")
    assert it.plan(KINDS, dv.Dense("3"), by=MONTHS).way == "parallel"
    assert it.release(KINDS, dv.Dense("3"), by=MONTHS) == stored and it.remaining.epsilon == 9
    fresh = it.release(KINDS, dv.Dense("3"), by=MONTHS, way="parallel")
    assert fresh != stored and it.remaining.epsilon == 6
    assert it.release(KINDS, dv.Dense("3"), by=MONTHS, way="product") == stored


def test_a_plan_sets_all_five_ways_beside_each_other() -> None:
    lesson = dv.teaching(frame(), seed=1, unit=FLIGHTS)
    lines = repr(lesson.plan(KINDS, LISTS, by=dv.Partition(MONTHS, max_parts=2))).splitlines()
    names = ("parallel parts", "one after the other", "zCDP over all lists", "one product domain", "a sub-session")
    at = next(place for place, line in enumerate(lines) if line.startswith("  shared out"))
    assert sum(name in line for line in lines[at : at + 5] for name in names) == 5
    assert all("to be listed +" in line for line in lines[at + 1 : at + 5])
