"""Sessions with ranked lists and sets: from the frame to the ledger, to the file and back; refusals charge nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.engines import as_source
from dpviz.errors import BudgetExceeded, DpvizError, ParameterError, ReleaseFormat
from dpviz.model.answers import Answer, Chosen, Ranked, Table
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import Question
from dpviz.model.source import Tick, TopRules
from dpviz.model.statistic import Column, Need, Statistic
from dpviz.session.session import Session

VISITED = {"ORD": 900, "ATL": 700, "JFK": 500, "BOS": 300, "zz-canary": 1}
"""How many aircraft visited each. The last one is listed with a chance of 1e-12 at most."""

USER = dv.Unit("aircraft", max_bins=2)
UNLIMITED = dv.Unit("aircraft", max_bins=None)
KEYS = dv.Domain.keys(column="dest")
LISTED = dv.Domain.categories(["ATL", "BOS", "JFK", "LAX", "ORD"], column="dest")

RANKED = dv.TopK(4, 6, epsilon="2", delta="1e-12")
EVERY: list[tuple[Mechanism, Answer | None]] = [
    (RANKED, Ranked(("ORD", "ATL", "JFK", "BOS"), False)),
    (dv.TopK(5, 6, epsilon="2", delta="1e-12", accounting="zcdp"), Ranked(("ORD", "ATL", "JFK", "BOS"), True)),
    (dv.TopK(5, 6, epsilon="2", delta="1e-12", domain_rule="strict"), Ranked(("ORD", "ATL", "JFK", "BOS"), True)),
    (dv.TopK(5, "private", epsilon="2", delta="1e-12", largest=6), None),
    (dv.TopKLaplace(4, 6, epsilon="2", delta="1e-12"), None),
    (dv.TopKSet(4, epsilon="3", delta="1e-12"), Chosen(("ATL", "BOS", "JFK", "ORD"))),
]
"""With gaps of 200 and steps of at least 0.2 these answers come but for a chance of about e^-40, per pair of items."""


def frame() -> pd.DataFrame:
    """Each aircraft visits one airport twice; some rows name nobody or nothing."""
    rows = [(f"N{name}{number}", name) for name, count in VISITED.items() for number in range(count) for _ in range(2)]
    return pd.DataFrame([*rows, (None, "LAX"), ("N0", None)], columns=["aircraft", "dest"])


def session(folder: Path, data: Any = None, unit: dv.Unit = USER, budget: object = 20) -> Session:
    budget = dv.Budget(epsilon=budget, delta="1e-3")
    return Session(frame() if data is None else data, unit, budget, folder / "top.ledger")


@pytest.mark.parametrize(("mechanism", "wanted"), EVERY, ids=lambda part: getattr(part, "python", ""))
def test_a_list_is_released_stored_saved_and_read_back(
    tmp_path: Path, mechanism: Mechanism, wanted: Answer | None
) -> None:
    it = session(tmp_path)
    release = it.release("dest", mechanism)
    loss = release.guarantee.loss
    assert it.remaining.epsilon == 20 - loss.epsilon and it.remaining.delta == Fraction(1, 1000) - loss.delta  # type: ignore[union-attr]
    if wanted is not None:
        assert release.answer == wanted
    assert isinstance(release.answer, Ranked | Chosen) and "zz-canary" not in release.to_bytes().decode()
    again = it.release(KEYS, type(mechanism).from_parameters(mechanism.parameters()))
    assert again == release and len(it.ledger.entries()) == 1
    entry = it.ledger.entries()[0]
    assert entry.body["price"]["epsilon"] == mechanism.parameters()["epsilon"]
    assert entry.body["price"]["delta"] == mechanism.parameters()["delta"]
    assert entry.body["mechanism"] == {"name": mechanism.name, "parameters": mechanism.parameters()}
    loaded = dv.load(release.save(tmp_path / "top.json"))
    assert loaded == release and loaded.answer == release.answer and loaded.guarantee == release.guarantee
    other = it.release("dest", mechanism, key="another")
    assert other.number == 2 and it.remaining.epsilon == 20 - 2 * loss.epsilon  # type: ignore[union-attr]


def test_noisy_counts_come_with_intervals_that_hold_the_truth(tmp_path: Path) -> None:
    shown = session(tmp_path).release("dest", dv.TopKLaplace(4, 6, epsilon="2", delta="1e-12")).to_frame(beta="1e-9")
    values = ["value", "low", "high", "high_counted", "low_all", "high_all", "high_all_counted"]
    assert list(shown.columns) == ["rank", "item", *values, "below", "below_all"]
    for row in shown.itertuples():
        assert row.high_all is None and row.low_all <= VISITED[str(row.item)] <= row.high_all_counted


def test_a_private_choice_of_kbar_is_part_of_the_answer(tmp_path: Path) -> None:
    release = session(tmp_path).release("dest", dv.TopK(5, "private", epsilon="2", delta="1e-12", largest=6))
    answer = release.answer
    assert isinstance(answer, Ranked) and answer.kbar in (5, 6)
    assert answer.items == ("ORD", "ATL", "JFK", "BOS") and not answer.ended
    assert json.loads(release.to_bytes())["release"]["answer"]["kbar"] == str(answer.kbar)


def test_a_declared_domain_answers_with_its_labels_and_the_paper_rule_with_all_of_them(tmp_path: Path) -> None:
    it = session(tmp_path)
    release = it.release(LISTED, dv.TopK(3, 4, epsilon="2", delta="1e-12"))
    assert release.answer == Ranked((4, 0, 2), False) and list(release.to_frame()["item"]) == ["ORD", "ATL", "JFK"]
    whole = it.release(LISTED, dv.TopK(5, 5, epsilon="4", domain_rule="paper"))
    assert whole.answer == Ranked((4, 0, 2, 1, 3), False) and whole.guarantee.loss.short == "ε 4"
    known = it.release(LISTED, dv.ExponentialTopK(5, epsilon="4"))
    assert known.answer == whole.answer and dv.load(known.save(tmp_path / "known.json")) == known


def test_bins_of_a_huge_domain_are_ranked_by_number(tmp_path: Path) -> None:
    huge = dv.Domain.integers(0, 2**64 - 1, column="number")
    numbers = [2**64 - 1] * 900 + [7] * 500 + [2**63] * 200 + [3]
    data = pd.DataFrame({"aircraft": [f"N{place}" for place in range(len(numbers))], "number": np.array(numbers, "u8")})
    it = session(tmp_path, data)
    release = it.release(huge, dv.TopK(4, 9, epsilon="2", delta="1e-12"))
    assert release.answer == Ranked((2**64 - 1, 7, 2**63), True) == dv.load(release.save(tmp_path / "huge.json")).answer
    filled = it.release(huge, dv.TopK(4, 9, epsilon="2", delta="1e-12", domain_rule="paper"))
    assert filled.answer == release.answer and release.labels == [str(2**64 - 1), "7", str(2**63)]


def test_a_table_of_nobody_says_no_more(tmp_path: Path) -> None:
    for folder, data in (("a", frame().iloc[:0]), ("b", frame().iloc[-2:])):
        (tmp_path / folder).mkdir()
        it = session(tmp_path / folder, data.astype(object))
        assert it.release("dest", RANKED).answer == Ranked((), True)
        assert it.release("dest", dv.TopKSet(3, 1)).answer == Chosen(())
        empty = it.release("dest", dv.TopKLaplace(3, 9, 1)).answer
        assert empty == Ranked((), True, ())


def test_a_unit_in_any_number_of_bins_and_one_that_is_replaced(tmp_path: Path) -> None:
    it = session(tmp_path, unit=UNLIMITED)
    assert it.release("dest", RANKED).answer == EVERY[0][1]
    (tmp_path / "swap").mkdir()
    swapped = session(tmp_path / "swap", unit=dv.Unit("aircraft", relation="replace-one", max_bins=2))
    release = swapped.release("dest", dv.TopK(4, 6, epsilon="4", delta="1e-12"))
    assert release.answer == EVERY[0][1] and "replacing one aircraft" in release.guarantee.sentence
    for mechanism in (dv.TopKSet(4, 6, "1e-12"), dv.TopKLaplace(4, 6, 2, "1e-12")):
        assert "group" in swapped.release("dest", mechanism).guarantee.rule


# ---------------------------------------------------------------- refusals


class Declared:
    """A data frame whose engine declares other rules of its largest counts."""

    def __init__(self, rules: TopRules) -> None:
        self._source, self.top = as_source(frame(), name="declared"), rules
        self.counted = 0

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._source.columns

    def check(self, question: Question, unit: dv.Unit, need: Need) -> None:
        self._source.check(question, unit, need)

    def count(self, question: Question, unit: dv.Unit, need: Need, tick: Tick | None = None) -> Statistic:
        self.counted += 1
        return self._source.count(question, unit, need, tick)


@pytest.mark.parametrize(
    ("rules", "mechanism", "message"),
    [
        (TopRules(ties="unknown"), RANKED, "orders equal counts"),
        (TopRules(ties="unknown"), dv.TopK(3, "private", epsilon=1, largest=9), "orders equal counts"),
        (TopRules(ties="unknown"), dv.TopKLaplace(3, 9, 1), "orders equal counts"),
    ],
)
def test_an_engine_whose_counts_no_proof_covers_is_refused_before_any_charge(
    tmp_path: Path, rules: TopRules, mechanism: Mechanism, message: str
) -> None:
    source = Declared(rules)
    it = session(tmp_path, source)
    for call in (it.plan, it.release):
        with pytest.raises(ParameterError, match=message) as refused:
            call("dest", mechanism)
        assert refused.value.next_step
    assert it.ledger.entries() == [] and source.counted == 0
    it.release("dest", dv.TopK(3, 9, epsilon=1, ties="unknown"))
    assert len(it.ledger.entries()) == 1


@pytest.mark.parametrize(
    ("rules", "message"), [(TopRules(exact=False), "exact counts"), (TopRules(ties="unknown"), "orders equal counts")]
)
def test_a_sub_session_that_its_engine_could_never_answer_is_not_sold(
    tmp_path: Path, rules: TopRules, message: str
) -> None:
    it = session(tmp_path, Declared(rules))
    for call in (it.plan_open, it.open):
        with pytest.raises(ParameterError, match=message) as refused:
            call(dv.PayWhatYouGet(9, 3, epsilon=1))
        assert refused.value.next_step
    assert it.ledger.entries() == []
    if rules.exact:
        for covered in (
            dv.PayWhatYouGet(9, 3, epsilon=1, ties="unknown"),
            dv.PayWhatYouGet(9, 3, epsilon=1, domain_rule="strict"),
        ):
            assert it.open(covered).ask("dest", k=2, kbar=4).answer.symbols <= 2


@pytest.mark.parametrize(
    ("question", "mechanism", "unit"),
    [
        ("dest", dv.TopK(3, 9, epsilon=1, domain_rule="paper"), USER),
        (LISTED, dv.TopK(3, 6, epsilon=1), USER),
        (LISTED, dv.TopKSet(6, 1), USER),
        (LISTED, dv.ExponentialTopK(6, 1), USER),
        ("dest", dv.ExponentialTopK(3, 1), USER),
        ("dest", dv.TopKLaplace(1, 1, 1), USER),
        ("dest", dv.TopKLaplace(3, 9, 1), UNLIMITED),
        ("nowhere", RANKED, USER),
        ("dest", dv.TopK(100, 100, epsilon="0.001", delta="1e-3"), USER),
        ("dest", dv.TopK(3, 9, epsilon="20.5"), USER),
        ("dest", dv.TopK(3, 9, epsilon=1, delta="0.01"), USER),
        ("dest", dv.TopK(300, 900, epsilon_per_item=20), USER),
    ],
)
def test_a_refusal_charges_nothing_and_the_session_stays_usable(
    tmp_path: Path, question: object, mechanism: Mechanism, unit: dv.Unit
) -> None:
    it = session(tmp_path, unit=unit)
    with pytest.raises(DpvizError) as refused:
        it.release(question, mechanism)
    assert isinstance(refused.value, ParameterError | BudgetExceeded) and refused.value.rule
    assert it.ledger.entries() == [] and it.remaining.epsilon == 20
    it.release("dest", RANKED)
    assert len(it.ledger.entries()) == 1


@pytest.mark.parametrize(
    "name", ["k", "kbar", "epsilon", "delta", "epsilon_per_item", "delta_prime", "largest", "ties"]
)
def test_data_given_as_a_parameter_is_refused_by_its_type(name: str) -> None:
    for mistake in (frame()["dest"], ["zz-canary"], frame()):
        with pytest.raises(ParameterError) as refused:
            dv.TopK(**{"epsilon": 1, name: mistake})
        assert "canary" not in str(refused.value) and "ORD" not in str(refused.value)


def test_a_file_whose_answer_the_mechanism_cannot_give_is_refused(tmp_path: Path) -> None:
    it = session(tmp_path)
    listed = it.release(LISTED, dv.TopK(3, 4, epsilon="2", delta="1e-12"))
    valued = it.release("dest", dv.TopKLaplace(4, 6, epsilon="2", delta="1e-12"))
    chosen = it.release("dest", dv.TopKSet(4, epsilon="3", delta="1e-12"))
    path = tmp_path / "false.json"
    for release, answer in (
        (listed, Ranked((4, 0, 2, 1), False)),
        (listed, Ranked((4, 0), False)),
        (listed, Ranked((4, 0, 2), True)),
        (listed, Ranked((5,), True)),
        (listed, Ranked(("ORD",), True)),
        (listed, Ranked((4, 0, 2), False, (900, 700, 500))),
        (listed, Ranked((4, 0, 2), False, None, 4)),
        (listed, Chosen((0, 2, 4))),
        (listed, Table(np.full(5, 9))),
        (valued, Ranked(("ORD",), True)),
        (valued, Ranked(("ORD", "ATL"), True, (1, 2))),
        (chosen, Ranked(("ORD",), True)),
        (chosen, Chosen(("A", "B", "C", "D", "E"))),
    ):
        path.write_bytes(replace(release, answer=answer).to_bytes())
        with pytest.raises(ReleaseFormat):
            dv.load(path)
    path.write_bytes(replace(listed, answer=Ranked((0,), True)).to_bytes())
    assert dv.load(path).answer == Ranked((0,), True)


def test_a_plan_of_a_list_sees_no_data_and_says_what_a_release_does(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    source = Declared(TopRules())
    full, empty = session(tmp_path, source), session(tmp_path / "empty", frame().iloc[:0].astype(object))
    for mechanism in (RANKED, dv.TopKLaplace(4, 6, 2), dv.TopKSet(4, 2), dv.TopK(3, 9, epsilon_per_item="0.1")):
        sheets = [it.plan("dest", mechanism).sheet.to_json() for it in (full, empty)]
        for sheet in sheets:
            sheet.pop("made")
        assert sheets[0] == sheets[1]
        assert all(point["price"]["epsilon"] == point["epsilon"] for point in sheets[0]["fans"]["epsilon"])
        assert full.plan("dest", mechanism).price == full.release("dest", mechanism, key="paid").guarantee
    assert source.counted == 4 == len(full.ledger.entries())


def test_a_slider_leaves_out_what_pays_for_nothing(tmp_path: Path) -> None:
    """A hundred symbols take 100 ln(1 + delta/2) = 0.04999 of epsilon before anything is left for a step."""
    it = session(tmp_path, budget=2)
    sheet = it.plan("dest", dv.TopK(100, 200, epsilon=1, delta="1e-3")).sheet.to_json()
    (axis,) = sheet["axes"]
    assert axis["grid"] == [point["epsilon"] for point in sheet["fans"]["epsilon"]]
    assert set(axis["labelled"]) < set(axis["grid"]) and axis["grid"][-1] == "2"
    assert axis["grid"][0] == "0.05"
    assert it.plan("dest", dv.TopK(epsilon=1)).sheet.to_json()["axes"][0]["grid"][0] == "0.01"


def test_a_teaching_draw_of_a_list_is_marked() -> None:
    lesson = dv.teaching(frame(), seed=4, unit=USER, dataset="lesson")
    drawn = lesson.draw("dest", RANKED)
    assert drawn.teaching == 4 and drawn.answer == EVERY[0][1] and "not private" in repr(drawn)
