"""The product sampler: its price against every pair of neighbours, its law and distance, and its use in sessions."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpviz as dv
from dpviz.errors import BudgetExceeded, DpvizError
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.mechanisms.sample_product import SampleProductBound, fitted
from dpviz.model.answers import ProductRecord
from dpviz.model.laws.product import ProductLaw
from dpviz.model.question import Question
from dpviz.model.statistic import RecordBits
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import ZCDP, ApproxDP, Unit, renyi
from dpviz.privacy.grid import EPSILON_STEP
from tests.noise.statistics import FALSE_ALARM, ends_folded, histogram, p_value, power


def rows(n: int) -> Unit:
    return Unit(relation="replace-one", n=n)


def columns(d: int) -> Question:
    return Question.records([dv.Domain.integers(0, 1, column=f"b{at}") for at in range(d)])


def bound_of(d: int, n: int, epsilon: str = "1", **given: Any) -> SampleProductBound:
    bound = dv.SampleProduct(epsilon, "1e-6", **given).bind(columns(d), rows(n))
    assert isinstance(bound, SampleProductBound)
    return bound


# ---------------------------------------------------------------- what it costs


@pytest.mark.parametrize("noise", ["repaired", "paper", "tight"])
@pytest.mark.parametrize("d", [2, 100, 500])
def test_the_price_is_the_largest_rho_that_the_epsilon_pays_for(d: int, noise: str) -> None:
    """Also for the paper's noise, which is made for as much less of rho as it costs more."""
    bound = bound_of(d, 10_000, noise=noise)
    price, plan = bound.price, bound.plan
    assert price.loss == ApproxDP(Fraction(1), Fraction(1, 10**6)) and isinstance(price.zcdp_steps, ZCDP)
    rho = price.zcdp_steps.rho
    assert rho == plan.price and rho % EPSILON_STEP == 0
    assert renyi.epsilon_for(rho, Fraction(1, 10**6)) == 1
    assert renyi.epsilon_for(rho * Fraction(1_001, 1_000), Fraction(1, 10**6)) > 1
    assert plan.rho * (max(Fraction(1), plan.factor) if noise == "paper" else 1) == rho


@pytest.mark.parametrize("order", [2, 4])
def test_no_pair_of_neighbours_is_told_apart_by_more_than_rho(order: int) -> None:
    """All pairs of two rows of two bits: the Rényi divergence of the released sums, of a whole order, summed over
    their law: at most order * rho, met by two rows without a common one. With the paper's noise for rho, or noise of
    one column's sensitivity, it is exceeded."""
    bound = bound_of(2, 2, epsilon="8")
    plan = bound.plan
    variance = plan.variance(plan.cut(1, 2), 2)
    z = np.arange(-12, 14)

    def of_column(moved: int, variance: Fraction) -> float:
        law = DiscreteGaussian(variance)
        here, there = law.pmf_array(z), law.pmf_array(z - moved)
        return math.log(float((here**order * there ** (1 - order)).sum())) / (order - 1)

    def worst(variance: Fraction) -> float:
        return max(
            sum(of_column(a - b, variance) for a, b in zip(one, other, strict=True))
            for one, other in itertools.product(itertools.product((0, 1), repeat=2), repeat=2)
        )

    assert worst(variance) == pytest.approx(float(order * plan.price), rel=1e-6)
    assert worst(variance / 2) > 1.9 * float(order * plan.price)


def test_the_epsilon_and_delta_hold_for_the_noise_that_is_drawn() -> None:
    """The hockey-stick divergence of one column's noise at epsilon, summed over its law, is below delta; that of noise
    with a quarter of the variance is not."""
    bound = bound_of(1, 5, epsilon="4")
    variance = bound.plan.variance(bound.plan.cut(1, 1), 1)

    def excess(variance: Fraction) -> float:
        z = np.arange(-80, 82)
        here, there = (DiscreteGaussian(variance).pmf_array(z - moved) for moved in (0, 1))
        return float(np.maximum(here - math.exp(4) * there, 0).sum())

    assert 0 < excess(variance) <= 1e-6 < excess(variance / 4)


# ---------------------------------------------------------------- where a row comes or goes


Table = tuple[tuple[int, ...], ...]


def read_rows(table: Table, m: int, d: int) -> dict[Table, Fraction]:
    """The law of what is read, by the definition: m of all rows, each choice as likely, or all and rows of zeros."""
    filled = (*table, *[(0,) * d] * (m - len(table)))
    choices = list(itertools.combinations(filled, m))
    law: dict[Table, Fraction] = {}
    for chosen in choices:
        key = tuple(sorted(chosen))
        law[key] = law.get(key, Fraction(0)) + Fraction(1, len(choices))
    return law


def first_rows(table: Table, m: int, d: int) -> dict[Table, Fraction]:
    """A twin: where rows are missing, those that are there are read again."""
    filled = (table * m)[:m] if table else ((0,) * d,) * m
    return read_rows(filled, m, d) if len(table) < m else read_rows(table, m, d)


def none_unless_enough(table: Table, m: int, d: int) -> dict[Table, Fraction]:
    """A twin: where rows are missing, none is read."""
    return read_rows(table if len(table) >= m else (), m, d)


def moments(read: Callable[..., dict[Table, Fraction]], m: int, d: int, order: int, variance: Fraction) -> float:
    """The largest Rényi divergence of whole order of the released sums, over all neighbouring tables of up to
    m + 2 rows of d bits and both directions."""
    z = np.arange(-14, m + 15)
    noise = {ones: DiscreteGaussian(variance).pmf_array(z - ones) for ones in range(m + 1)}

    def released(table: Table) -> np.ndarray:
        law = np.zeros([z.size] * d)
        for chosen, chance in read(table, m, d).items():
            sums = [sum(row[at] for row in chosen) for at in range(d)]
            law += float(chance) * functools.reduce(np.multiply.outer, [noise[ones] for ones in sums])
        return law

    found = 0.0
    for n in range(m + 2):
        for table in itertools.combinations_with_replacement(itertools.product((0, 1), repeat=d), n):
            here = released(table)
            for row in itertools.product((0, 1), repeat=d):
                there = released((*table, row))
                for one, other in ((here, there), (there, here)):
                    moment = float((one**order * other ** (1.0 - order)).sum())
                    found = max(found, math.log(moment) / (order - 1))
    return found


@pytest.mark.parametrize(("m", "d", "order"), [(1, 1, 2), (2, 1, 4), (2, 2, 2), (3, 1, 2)])
def test_rows_that_come_or_go_are_told_apart_by_no_more_than_rho(m: int, d: int, order: int) -> None:
    """From an empty table to more rows than are read: at most order * rho, met where a row takes the place of zeros.
    Twins: missing rows that are made of those that are there, and a table that is not read unless it is long enough."""
    bound = dv.SampleProduct("6", "1e-6", rows=m).bind(columns(d), Unit())
    assert isinstance(bound, SampleProductBound) and bound.plan.n == m
    variance, limit = bound.plan.variance(bound.plan.cut(1, d), d), float(order * bound.plan.price)
    assert moments(read_rows, m, d, order, variance) == pytest.approx(limit, rel=1e-6)
    if m > 1:
        assert moments(first_rows, m, d, order, variance) > 1.2 * limit
        assert moments(none_unless_enough, m, d, order, variance) > 1.2 * limit


def test_of_a_longer_table_any_rows_are_read_and_of_a_shorter_one_all() -> None:
    """Which two of four rows are read, by chi-square over 600 runs; taking always the first two is refused."""
    bound = dv.SampleProduct(400, "1e-6", rows=2).bind(columns(4), Unit())
    bits, seen = TeachingBits(5), np.zeros(6, int)
    pairs = list(itertools.combinations(range(4), 2))
    for _ in range(600):
        answer = bound.draw(packed(np.eye(4, dtype=np.uint8)), bits, mode="exact")
        assert isinstance(answer, ProductRecord) and answer.grid == 2
        found = tuple(np.flatnonzero(answer.chances == 1).tolist())
        if found in pairs:  # noise that is not 0 is rare at this epsilon
            seen[pairs.index(found)] += 1
    assert seen.sum() > 500 and p_value(seen, np.full(6, 1 / 6)) > FALSE_ALARM
    assert p_value(np.array([seen.sum(), 0, 0, 0, 0, 0]), np.full(6, 1 / 6)) < FALSE_ALARM
    for table, ones in ((np.ones((1, 4), np.uint8), 1), (np.zeros((0, 4), np.uint8), 0)):
        sums = [bound.draw(packed(table), bits, mode="exact").chances for _ in range(20)]  # type: ignore[attr-defined]
        assert np.median(sums) == ones


def test_a_plan_of_rows_that_come_or_go_says_of_how_many_it_speaks() -> None:
    bound = dv.SampleProduct(1, "1e-6", rows=10_000).bind(columns(2), Unit())
    same = bound_of(2, 10_000)
    assert bound.error.total_variation() == same.error.total_variation() and bound.price.loss == same.price.loss
    assert bound.price.zcdp_steps == same.price.zcdp_steps
    assert [measure.phrase for measure in bound.measures] == [
        f"{measure.phrase}, of 10,000 records or more" for measure in same.measures
    ]
    assert dv.SampleProduct(1, "1e-6").parameters().keys().isdisjoint({"rows"})


# ---------------------------------------------------------------- how it draws


def packed(bits: np.ndarray) -> RecordBits:
    return RecordBits(bits.shape[1], np.packbits(bits, axis=1))


def test_means_are_drawn_with_their_noise_and_bits_with_their_means() -> None:
    """The chances of three columns over 2,500 runs follow the clipped noise of their law; a variance a fifth larger is
    refused (power 0.999). The bits that come with them agree with the mean chance to 7 standard errors."""
    bits = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 0], [1, 0, 1]], np.uint8)
    bound, source, runs = bound_of(3, 6, epsilon="3"), TeachingBits(11), 4000
    answers = [bound.draw(packed(bits), source, mode="exact") for _ in range(runs)]
    chances = np.array([answer.chances for answer in answers])
    variance = bound.plan.variance(bound.plan.cut(1, 3), 3)

    def law(ones: int, variance: Fraction) -> np.ndarray:
        own = DiscreteGaussian(variance)
        return ends_folded(own.pmf_array(np.arange(7) - ones), float(own.above(ones)[0]), float(own.above(6 - ones)[0]))

    for column, ones in enumerate(bits.sum(axis=0, dtype=int).tolist()):
        seen = histogram(chances[:, column], 0, 6)
        assert p_value(seen, law(ones, variance)) > FALSE_ALARM
    middle, twin = law(3, variance), law(3, variance * Fraction(2, 3))
    assert power(runs, middle, twin) > 0.999 and p_value(histogram(chances[:, 2], 0, 6), twin) < FALSE_ALARM
    drawn = np.array([answer.record for answer in answers]).mean(axis=0)
    assert np.abs(drawn - chances.mean(axis=0) / 6).max() < 7 / math.sqrt(4 * runs)


@pytest.mark.parametrize("d", [90, 160])
def test_columns_with_means_near_one_are_turned_round_and_back(d: int) -> None:
    """With little noise the means of the last measurement are those of the columns, on either side of 1/2."""
    shares = np.where(np.arange(d) % 3 == 0, 0.97, 0.02)
    bits = (np.random.default_rng(12).random((9_000, d)) < shares).astype(np.uint8)
    for flips in (True, False):
        bound = bound_of(d, 9_000, epsilon="60", flips=flips)
        answer = bound.draw(packed(bits), TeachingBits(13), mode="exact")
        means = answer.chances / answer.grid
        assert np.abs(means - shares).max() < 0.05 and answer.grid == bound.plan.grid * bound.plan.chunk


def test_as_many_rows_are_read_as_were_declared() -> None:
    five = np.arange(10, dtype=np.uint8).reshape(5, 2)
    assert fitted(five, 5).tolist() == five.tolist() and fitted(five, 3).tolist() == five[:3].tolist()
    assert fitted(five, 7).tolist() == [*five.tolist(), [0, 0], [0, 0]]


# ---------------------------------------------------------------- how far off it is


@pytest.mark.parametrize(("d", "n"), [(1, 3), (2, 20), (5, 200)])
def test_the_distance_holds_for_all_shares(d: int, n: int) -> None:
    """The exact law of one column, over all counts of its ones and all of its noise: d times its error is below the
    bound, and above a third of it where all bits are 0."""
    bound = bound_of(d, n)
    stated = bound.error.total_variation()
    assert stated is not None and stated.how == "bound"
    variance = bound.plan.variance(bound.plan.cut(1, d), d)
    reach = int(9 * math.sqrt(variance)) + 2
    z = np.arange(-reach, reach + 1)
    noise = DiscreteGaussian(variance).pmf_array(z)
    means = np.array([float(noise @ np.clip(ones + z, 0, n)) / n for ones in range(n + 1)])
    errors = {p: abs(float(stats.binom.pmf(np.arange(n + 1), n, p) @ means) - p) for p in (0, 0.01, 0.2, 0.5, 0.9, 1)}
    assert d * max(errors.values()) <= float(stated.value)
    if stated.value < 1:
        assert 3 * d * errors[0] > float(stated.value)


def test_where_rows_may_be_cut_nothing_is_stated_and_the_plan_says_so() -> None:
    """With tight cuts, and of 100,000 columns; 500 columns at the repaired cuts are never cut."""
    for bound, known in ((bound_of(500, 10**7), True), (bound_of(500, 10**7, noise="tight"), False)):
        assert (bound.error.total_variation() is not None) == known == bound.plan.never_cuts
        assert "may be cut" in bound.measures[0].missing
    wide = ProductLaw(100_000, 10**7, Fraction(1, 2), Fraction(1, 10**7), "repaired", True)
    assert not wide.plan.never_cuts and wide.error.total_variation() is None
    assert "the paper's proof of 0.1 asks for" in bound_of(100, 10**7).cost.text


# ---------------------------------------------------------------- in a session


FRAME = pd.DataFrame({f"b{at}": [(row * (at + 2)) % 5 < 2 for row in range(60)] for at in range(9)}).astype(int)


def test_further_records_are_free_and_a_saved_release_draws_from_the_same_means(tmp_path: Path) -> None:
    session = dv.Session(FRAME, rows(60), dv.Budget(5, "1e-5"), tmp_path / "bits.ledger", dataset="people")
    release = session.release(columns(9), dv.SampleProduct(2, "1e-6"))
    left = session.remaining.epsilon
    assert left == 3 and set(release.record) == set(FRAME.columns) and release.terms.reuse
    drawn = release.draw(300)
    assert len(drawn) == 300 and "not independent" in drawn.note and session.remaining.epsilon == left
    for other in (dv.load(release.save(tmp_path / "a.json")), dv.load(release.save(tmp_path / "a.dpviz"))):
        assert isinstance(other.answer, ProductRecord) and isinstance(release.answer, ProductRecord)
        assert other.answer.chances.tolist() == release.answer.chances.tolist() and other == release
    again = dv.Session(FRAME, rows(60), dv.Budget(5, "1e-5"), tmp_path / "bits.ledger", dataset="people")
    assert again.release(columns(9), dv.SampleProduct(2, "1e-6")) == release and again.remaining.epsilon == left


def test_a_zcdp_budget_books_rho_and_a_pure_one_refuses(tmp_path: Path) -> None:
    budget = dv.Budget(3, "1e-6", filter="zcdp")
    session = dv.Session(FRAME, rows(60), budget, tmp_path / "zcdp.ledger", dataset="people")
    before = dict(session.remaining.parts)
    session.release(columns(9), dv.SampleProduct(1, "1e-6"))
    steps = bound_of(9, 60).price.zcdp_steps
    assert isinstance(steps, ZCDP)
    assert before["rho"] - session.remaining.parts["rho"] == steps.rho
    assert before["delta"] == session.remaining.parts["delta"] and session.ledger.verify()
    pure = dv.Session(FRAME, rows(60), dv.Budget(3), tmp_path / "pure.ledger", dataset="people")
    with pytest.raises(BudgetExceeded, match="δ"):
        pure.release(columns(9), dv.SampleProduct(1, "1e-6"))
    assert pure.ledger.entries() == []


@pytest.mark.parametrize("source", ["pandas", "duckdb"])
def test_every_engine_gives_the_same_bits(source: str) -> None:
    """By a lesson with much budget: the means of every column, to 5 in 60 and 7 standard deviations of its noise."""
    from dpviz.engines import sources

    data: Any = FRAME if source == "pandas" else sources.duckdb(FRAME)
    answer = dv.teaching(data, 3, rows(60)).draw(columns(9), dv.SampleProduct(400, "1e-3")).answer
    assert isinstance(answer, ProductRecord) and answer.grid == 60
    plan = dv.SampleProduct(400, "1e-3").bind(columns(9), rows(60)).plan  # type: ignore[attr-defined]
    spread = 7 * 60 * plan.deviation(plan.cut(1, 9), 9)
    assert spread < 5 and np.abs(answer.chances - FRAME.sum().to_numpy()).max() <= spread


REFUSED: list[tuple[str, Unit, Question, Callable[[], Any], str]] = [
    ("rows that come or go", Unit(), columns(2), lambda: dv.SampleProduct(1, "1e-6"), "private where a row may come"),
    ("users that come or go", Unit("who"), columns(2), lambda: dv.SampleProduct(1, "1e-6", rows=9), "for one record"),
    ("rows beside n", rows(60), columns(2), lambda: dv.SampleProduct(1, "1e-6", rows=60), "leave rows out"),
    ("no rows", Unit(), columns(2), lambda: dv.SampleProduct(1, "1e-6", rows=0), "rows"),
    ("users", Unit("who", relation="replace-one"), columns(2), lambda: dv.SampleProduct(1, "1e-6"), "all rows"),
    (
        "a filter",
        rows(60),
        Question.records(list(columns(2).domain.factors), where={"b3": 1}),
        lambda: dv.SampleProduct(1, "1e-6"),
        "rests on the number",
    ),
    (
        "no bits",
        rows(60),
        Question.records([dv.Domain.integers(0, 2, column="b0")]),
        lambda: dv.SampleProduct(1, "1e-6"),
        "two labels each",
    ),
    ("chunks without rows", rows(2), columns(80), lambda: dv.SampleProduct(1, "1e-6"), "3 chunks"),
    ("counts", rows(60), Question.of(columns(2).domain), lambda: dv.SampleProduct(1, "1e-6"), "draws records"),
    ("an alpha", rows(60), columns(2), lambda: dv.SampleProduct(1, "1e-6", alpha=1), "alpha"),
    ("no delta", rows(60), columns(2), lambda: dv.SampleProduct(1, 0), "delta"),
    ("too little", rows(60), columns(2), lambda: dv.SampleProduct("1e-18", "1e-20"), "below any noise|epsilon"),
    ("another noise", rows(60), columns(2), lambda: dv.SampleProduct(1, "1e-6", noise="printed"), "noise must be"),
]


@pytest.mark.parametrize(("name", "unit", "question", "mechanism", "rule"), REFUSED, ids=[one[0] for one in REFUSED])
def test_what_cannot_be_drawn_is_refused_before_a_charge(
    name: str, unit: Unit, question: Question, mechanism: Callable[[], Any], rule: str, tmp_path: Path
) -> None:
    frame = FRAME.assign(who="a", **{f"b{at}": 0 for at in range(9, 80)})
    session = dv.Session(frame, unit, dv.Budget(50, "1e-3"), tmp_path / "refused.ledger", dataset="people")
    for call in (session.plan, session.release):
        with pytest.raises(DpvizError, match=rule):
            call(question, mechanism())
    assert session.ledger.entries() == []
