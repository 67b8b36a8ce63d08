"""Marginals, held to the contract: the price of all tables together, the law of each cell, tables that agree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpviz as dv
from dpviz.engines import as_source
from dpviz.errors import DomainError, DpvizError, ParameterError, ReleaseFormat
from dpviz.exact import exp_bounds
from dpviz.mechanisms.marginals import MarginalsBound, TablesSpread
from dpviz.model.answers import MarginalTables, Packed
from dpviz.model.answers.marginals import WHOLE
from dpviz.model.derived import Derived
from dpviz.model.linear import Query
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.model.statistic import SparseCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import ZCDP, Unit
from tests.mechanisms import contract
from tests.mechanisms.contract import Case
from tests.mechanisms.streams import streamed
from tests.mechanisms.test_dense import exponential, geometric_oracle, names
from tests.mechanisms.test_sorted import HEAVY, REPLACE, ROW, SWAP, TWO_SWAPPED, USER
from tests.model.whole_laws import release_of

TOGETHER = Unit("user", max_bins=2, max_per_bin=2, max_records=3)
UNITS = {
    "row": ROW,
    "replace": REPLACE,
    "user": USER,
    "heavy": HEAVY,
    "swap": SWAP,
    "two": TWO_SWAPPED,
    "three": TOGETHER,
}

Weights = Mapping[tuple[str, ...], int]


def question_of(sizes: Sequence[int]) -> Question:
    columns = [dv.Domain.integers(0, size - 1, column="abcdefghij"[at]) for at, size in enumerate(sizes)]
    return Question.of(columns[0] if len(columns) == 1 else dv.Domain.product(*columns))


def bound_of(unit: Unit, sizes: Sequence[int], **given: Any) -> MarginalsBound:
    return dv.Marginals(**{"epsilon": 1, **given}).bind(question_of(sizes), unit)


def drawn(answer: Any) -> np.ndarray:
    values: np.ndarray = answer.noisy
    return values


def true_tables(
    sizes: Sequence[int], tables: Sequence[tuple[int, ...]]
) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """The true cells of tables, one after the other, from what a table is: NumPy's sums over the other axes."""

    def asked(counts: tuple[int, ...]) -> tuple[int, ...]:
        cube = np.array(counts).reshape(sizes)
        others = [tuple(axis for axis in range(len(sizes)) if axis not in table) for table in tables]
        return tuple(int(cell) for axes in others for cell in np.ravel(cube.sum(axis=axes)))

    return asked


def case_of(
    name: str, unit: Unit, sizes: Sequence[int], l1: int, most: int, given: Mapping[str, Any], tables: Any
) -> Case:
    """A case whose noise is calibrated to `l1`, which is written here by hand."""
    oracle = geometric_oracle(exponential(Fraction(1, l1)), None, None)
    return Case(name, bound_of(unit, sizes, **given), most, oracle, true_tables(sizes, tables), drawn)


ONES, PAIRS = [(0,), (1,)], [(0, 1), (0, 2), (1, 2)]
EACH, WITH_TOTAL = {"ways": 1}, {"ways": 1, "weights": {(): 1}}
CASES = [
    case_of("two columns, a row added", ROW, (2, 2), 2, 2, EACH, ONES),
    case_of("two columns, a row replaced", REPLACE, (2, 2), 4, 2, EACH, ONES),
    case_of("two columns and the total, a row added", ROW, (2, 2), 3, 2, WITH_TOTAL, [(), *ONES]),
    case_of("two columns and the total, a row replaced", REPLACE, (2, 2), 4, 2, WITH_TOTAL, [(), *ONES]),
    case_of("one column and the total, a row replaced", REPLACE, (3,), 2, 3, WITH_TOTAL, [(), (0,)]),
    case_of("two columns, a user in two bins", USER, (2, 2), 4, 2, EACH, ONES),
    case_of("two columns, a user twice in one bin", HEAVY, (2, 2), 4, 2, EACH, ONES),
    case_of("two columns, a user exchanged", SWAP, (2, 2), 4, 2, EACH, ONES),
    case_of("three pairs, a row added", ROW, (2, 2, 2), 3, 1, {}, PAIRS),
    case_of("three pairs, a row replaced", REPLACE, (2, 2, 2), 6, 1, {}, PAIRS),
    case_of("a pair and a column of one label", ROW, (2, 1), 1, 2, {}, [(0, 1)]),
]


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_worst_ratio_over_all_neighbours_is_exactly_the_price(case: Case) -> None:
    contract.check_price(case, exact_odds=exp_bounds(Fraction(1), 256))


@pytest.mark.parametrize("case", CASES, ids=names)
def test_a_price_that_is_off_by_a_thousandth_is_rejected(case: Case) -> None:
    low, high = exp_bounds(Fraction(1), 256)
    for wrong in (Fraction(1001, 1000), Fraction(999, 1000)):
        with pytest.raises(AssertionError):
            contract.check_price(case, exact_odds=(low * wrong, high * wrong))


@pytest.mark.parametrize(("unit", "l1", "tables"), [(ROW, 3, PAIRS), (REPLACE, 6, PAIRS), (ROW, 3, [(), *ONES])])
def test_noise_for_one_table_too_few_is_caught(unit: Unit, l1: int, tables: Any) -> None:
    """The twin shares the price out among all tables but one: noise for 2 of 3, or 4 of 6 where a row is replaced."""
    sizes, given = ((2, 2, 2), {}) if tables is PAIRS else ((2, 2), WITH_TOTAL)
    case = case_of("too few", unit, sizes, l1 * 2 // 3, 1, given, tables)
    with pytest.raises(AssertionError, match="not the worst ratio"):
        contract.check_price(case, exact_odds=exp_bounds(Fraction(1), 256))


DESIGNS: list[tuple[Sequence[int], int, Weights]] = [
    ((2, 2), 1, {("a",): 3}),
    ((2, 2), 2, {(): 5, ("a",): 2}),
    ((3, 2), 1, {(): 4}),
    ((2, 1), 1, {("a",): 2, ("b",): 3}),
    ((2, 2), 2, {("a", "b"): 0, (): 2, ("b",): 1}),
    ((4,), 1, {(): 7}),
]


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
@pytest.mark.parametrize(("sizes", "ways", "weights"), DESIGNS)
def test_weighted_tables_cost_what_all_moves_of_one_unit_say(
    unit: Unit, sizes: Sequence[int], ways: int, weights: Weights
) -> None:
    """Over every move of one unit, from the definition of the relation. It is attained for rows and for whoever comes
    or goes; of exchanged users of several bins it is a bound."""
    tables = bound_of(unit, sizes, ways=ways, weights=weights).tables
    asked = true_tables(sizes, tables.tables)
    scale = [weight for weight, cells in zip(tables.weights, tables.cells, strict=True) for _ in range(cells)]
    moved = squares = 0
    for move in set(contract.moves(unit, int(np.prod(sizes)))):
        cells = asked(move)
        moved = max(moved, sum(weight * abs(cell) for weight, cell in zip(scale, cells, strict=True)))
        squares = max(squares, sum((weight * cell) ** 2 for weight, cell in zip(scale, cells, strict=True)))
    stated = TablesSpread.of(unit, tables)
    assert stated.moved >= moved and stated.squares >= squares
    if unit is not TWO_SWAPPED:
        assert stated.moved == moved
    if unit.is_row:
        assert stated.squares == squares


def test_the_price_in_rho_is_the_squares_over_twice_the_variance() -> None:
    bound = bound_of(ROW, (2, 3, 4), base="gaussian", delta="1e-6", weights={("a", "b"): 2})
    tables, variance = bound.tables, bound.law.amount
    assert TablesSpread.of(ROW, tables).squares == 1 + 1 + 4
    rho = bound.price.zcdp_steps
    assert isinstance(rho, ZCDP) and 0 <= rho.rho - Fraction(6) / (2 * variance) < Fraction(1, 10**12)
    assert bound.price.loss.delta == Fraction(1, 10**6) and bound.price.epsilon == 1
    assert bound_of(ROW, (2, 3, 4)).for_zcdp is not None and bound.for_zcdp is None


@pytest.mark.parametrize("case", CASES, ids=names)
def test_draws_follow_the_law_in_every_cell(case: Case) -> None:
    counts = (0, case.most, 1, 1, 0, 1, 0, 0)[: case.bound.question.bins]
    assert contract.check_draws(case, counts, 2_000, "exact", seed=11) > contract.FALSE_ALARM


def test_a_draw_of_other_tables_is_rejected() -> None:
    """Power: a cell that is off by a count at a noise of exponent 1/2 shifts chi-square by more than 200."""
    case = CASES[0]
    other = Case("other", case.bound, case.most, case.oracle, true_tables((2, 2), [(1,), (0,)]), drawn)
    assert contract.check_draws(other, (0, 2, 1, 0), 2_000, "exact", seed=11) < 1e-30


# ---------------------------------------------------------------- true tables


class Silent:
    """Noise that adds nothing, in the place of the sampler: what is drawn from is what is seen."""

    def add(self, counts: Any, *rest: Any) -> Any:
        return counts


def seen(bound: MarginalsBound, statistic: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[int, ...]:
    monkeypatch.setattr("dpviz.mechanisms.marginals.sampler_of", lambda _law: Silent())
    answer = bound.draw(statistic, TeachingBits(1), mode="exact")
    return tuple(answer.noisy.tolist())


@pytest.mark.parametrize("batch", [1, 7, 1_000])
def test_tables_are_added_up_whatever_comes_at_a_time(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (3, 4, 5)
    bound = bound_of(ROW, sizes, weights={("a",): 1, (): 2, ("b", "c"): 3})
    counts = np.random.default_rng(3).integers(0, 3, 60) * 10**9
    at = np.flatnonzero(counts)
    expected = true_tables(sizes, bound.tables.tables)(tuple(counts.tolist()))
    labels = at.astype(np.uint64)
    assert seen(bound, SparseCounts(labels, counts[at]), monkeypatch) == expected
    passing = streamed(dict(zip(at.tolist(), counts[at].tolist(), strict=True)), batch)
    assert seen(bound, passing, monkeypatch) == expected


def test_a_product_of_more_bins_than_a_word_counts_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [dv.Domain.integers(0, 49, column=f"c{at}") for at in range(20)]
    bound = dv.Marginals(1).bind(Question.of(dv.Domain.product(*columns)), ROW)
    assert bound.question.bins == 50**20 and bound.cells == 190 * 2_500
    record = [at % 50 for at in range(20)]
    number = 0
    for label in record:
        number = number * 50 + label
    labels = np.array([number], dtype=object)
    cells = seen(bound, SparseCounts(labels, np.array([4])), monkeypatch)
    found = np.flatnonzero(cells).tolist()
    assert [cells[at] for at in found] == [4] * 190
    assert found == [
        start + record[a] * 50 + record[b]
        for start, (a, b) in zip(bound.tables.starts, bound.tables.tables, strict=False)
    ]


def frame(rows: int = 400) -> pd.DataFrame:
    """Rows of users, some outside a column's bins and some without a value."""
    chance = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "a": chance.choice([0, 1, 2, 9], rows),
            "b": chance.choice(["x", "y", "z", None], rows),
            "c": chance.integers(-1, 5, rows),
            "user": chance.integers(0, 60, rows),
        }
    )


DOMAIN = dv.Domain.product(
    dv.Domain.integers(0, 2, column="a"),
    dv.Domain.categories(["x", "y"], column="b", other=True),
    dv.Domain.integers(0, 3, column="c"),
)


@pytest.mark.parametrize("unit", [Unit("row"), Unit("user", max_bins=2), Unit("user", max_bins=3, max_per_bin=2)])
@pytest.mark.parametrize("where", [None, {"c": dv.Between(0, 1)}])
def test_true_tables_agree_and_are_the_same_in_every_engine(
    unit: Unit, where: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row outside one column is outside all tables, and a user's records are chosen once: so sums are equal."""
    question = Question.of(DOMAIN, where)
    bound = dv.Marginals(1, weights={(): 1}).bind(question, unit)
    rows, found = frame(), []
    connection = duckdb.connect()
    connection.register("visits", rows)
    for source in (as_source(rows, name="data", schema=None), dv.sources.duckdb(connection, "visits")):
        found.append(seen(bound, bound.count_statistic(source), monkeypatch))
    assert found[0] == found[1]
    starts, tables = bound.tables.starts, bound.tables.tables
    parts = [np.array(found[0][first:stop]) for first, stop in itertools.pairwise(starts)]
    total = parts[tables.index(())]
    assert total[0] > 20 and all(part.sum() == total[0] for part in parts)
    one, other = (parts[tables.index(table)] for table in ((0, 1), (0, 2)))
    assert one.reshape(3, 3).sum(axis=1).tolist() == other.reshape(3, 4).sum(axis=1).tolist()


# ---------------------------------------------------------------- what is read


SIZES = (2, 3, 4)
TRUTH = np.random.default_rng(4).integers(5, 60, 24)


def released(seed: int = 1, **given: Any) -> Release:
    bound = bound_of(given.pop("unit", ROW), SIZES, **given)
    labels = np.arange(24, dtype=np.uint64)
    answer = bound.draw(SparseCounts(labels, TRUTH), TeachingBits(seed), mode="exact")
    return release_of(bound, answer)


def added(release: Release, columns: list[str]) -> Fraction:
    """All cells of a marginal together."""
    values = [row.value for row in release.marginal(columns)]
    return sum((value for value in values if isinstance(value, Fraction)), Fraction(0))


WAYS = [way for count in (1, 2) for way in itertools.permutations("abc", count)]


@pytest.mark.parametrize("given", [{}, {"weights": {("a", "b"): 3, ("c",): 2}}, {"base": "gaussian", "delta": "1e-6"}])
def test_fitted_tables_agree_to_the_last_unit(given: Any) -> None:
    """From whichever table a margin is read, and with the total. What was drawn, the twin, does not agree."""
    release = released(**given)
    total = release.sum()
    assert isinstance(total, Derived)
    for way in WAYS:
        assert added(release, list(way)) == total.value

    def margins(reader: str) -> set[tuple[Any, ...]]:
        """The column a, read by adding up cells of each table that has it."""
        frame = release.to_frame(reader=reader)
        found = set()
        for table in frame["table"].unique():
            rows = frame[frame["table"] == table]
            if (rows["a"] != "").all():
                found.add(tuple(rows.groupby("a")["value"].sum()))
        return found

    assert len(margins("fitted")) == 1 and len(margins("noisy")) > 1
    own = tuple(row.value for row in release.marginal("a"))
    assert margins("fitted") == {own}


def test_a_public_total_is_met_to_the_last_unit() -> None:
    unit = Unit("row", relation="replace-one", n=int(TRUTH.sum()))
    release = released(unit=unit, total="public")
    total = release.sum()
    assert isinstance(total, Derived)
    assert (total.value, total.low, total.high) == (TRUTH.sum(),) * 3
    assert added(release, ["a", "b"]) == TRUTH.sum()
    better, alone = release.marginal("a")[0], released(unit=unit).marginal("a")[0]
    assert better.high - better.low < alone.high - alone.low  # type: ignore[operator]


def test_whole_tables_agree_in_every_single_column_and_state_no_interval() -> None:
    release = released(epsilon=1)
    frame, whole = release.to_frame(), release.to_frame(reader=WHOLE)
    assert {"low", "high"} <= set(frame.columns) and not {"low", "high", "low_all", "high_all"} & set(whole.columns)
    assert (whole["value"] >= 0).all() and whole["value"].dtype == np.int64
    assert (frame["value"] != whole["value"]).any()
    for name in "abc":
        rows = whole[whole[name] != ""]
        sums = rows.groupby(["table", name])["value"].sum().unstack()
        assert len(sums) == 2 and len(sums.drop_duplicates()) == 1
        own = [row.value for row in release.marginal(name, reader=WHOLE)]
        assert own == sums.iloc[0].sort_index(key=lambda labels: labels.astype(int)).tolist()
    cell = {"a": 1, "b": 1}
    assert release.value(cell, WHOLE) == whole["value"][release.answer.point(release.reading, cell)]
    found = release.sum([cell], reader=WHOLE)
    assert isinstance(found, Derived) and (found.low, found.high) == (0, None) and "biased" in found.sentence
    assert release.intervals(reader=WHOLE) is None
    with pytest.raises(ParameterError, match="reader must be"):
        release.to_frame(reader="whole")


def test_fitted_cells_are_unbiased_and_whole_ones_as_biased_as_a_plan_says() -> None:
    """One full cell among empty ones, 500 draws. A mean is further than 6.1 standard errors from what is expected
    with a chance of 10**-9 at most; a bias of -4 shows among such errors of 1.4."""
    bound = bound_of(ROW, (3, 4, 2), epsilon=1)
    truth = np.zeros(24, dtype=np.int64)
    truth[0] = 60
    read: dict[str, list[Any]] = {"fitted": [], WHOLE: []}
    for seed in range(500):
        answer = bound.draw(SparseCounts(np.arange(24, dtype=np.uint64), truth), TeachingBits(seed), mode="exact")
        release = release_of(bound, answer)
        for reader, values in read.items():
            values.append([float(one) for one in release.answer.read(release.reading, slice(0, 12), reader)])
    planned = bound.law.biases(bound.question, bound.unit, ["a", "b"], [60])
    for reader, values in read.items():
        off = np.array(values) - np.array([60, *[0] * 11])
        for count, cells in ((60, off[:, 0]), (0, off[:, 1:].mean(axis=1))):
            row, error = planned.of(reader, count), 6.1 * cells.std() / len(cells) ** 0.5
            told = 3.2 * float(row.bias.off) if row.bias.how == "simulated" else 0.0
            assert abs(cells.mean() - float(row.bias.value)) < error + told
            if reader == WHOLE:  # the twin: as unbiased as the fit
                assert abs(cells.mean()) > error
    assert planned.of("fitted", 0).bias.value == 0 and planned.of("fitted", 0).bias.how == "exact"


def test_made_up_counts_are_typed_by_the_table_and_what_is_none_is_refused() -> None:
    lesson = dv.teaching(pd.DataFrame({"a": [0], "b": [1], "c": [1]}), unit=ROW, seed=1)
    plan = lesson.plan(question_of((4, 3, 2)).domain, dv.Marginals("1"))
    alike = plan.biases(["b", "a"], 0)
    assert [(row.reader, row.count, row.cells) for row in alike] == [(one, 0, 12) for one in ("fitted", "noisy", WHOLE)]
    told = alike.of(WHOLE, 0).bias
    assert told.how in ("exact", "numerical") and told.value > 0
    error = plan.error.estimator(WHOLE)
    assert error.bias(10**6) is not None and error.bias(10**6).value == 0  # type: ignore[union-attr]
    assert error.bias(0).value > error.bias(1).value > 0 and error.one_bin(Fraction(1, 20)) is None  # type: ignore
    two = plan.biases(["a", "b"], [9, 9, 0, 1])
    assert [(row.count, row.cells) for row in two if row.reader == WHOLE] == [(0, 9), (1, 1), (9, 2)]
    assert "simulated" in repr(two) and "<table>" in two._repr_html_() and len(two.to_frame()) == 9
    spread = float(two.of("fitted", 9).spread.value) ** 2
    law = plan.bound.law
    assert spread == pytest.approx(float(law.sum(Query.of(([0], 1))).variance()[0]), rel=0.02)  # type: ignore
    for columns, counts, rule in (
        (["a"], 0, "must be one that is asked"),
        (["a", "z"], 0, "some of a, b, c"),
        (["a", "b"], [0] * 13, "1 to 12"),
        (["a", "b"], [1, 2.5], "whole numbers from 0"),
        (["a", "b"], -1, "whole numbers from 0"),
        (7, 0, "named in a list"),
    ):
        with pytest.raises(DpvizError, match=rule):
            plan.biases(columns, counts)
    with pytest.raises(ParameterError, match="no count is below 0"):
        lesson.plan(question_of((4, 3)).domain, dv.Dense("1")).biases(["a", "b"], 0)


def test_a_cell_is_read_by_its_labels_in_the_columns_of_its_table() -> None:
    release = released(weights={("c",): 1, (): 2})
    frame = release.to_frame()
    assert list(frame.columns[:4]) == ["table", "a", "b", "c"]
    by = {tuple(row[name] for name in "abc"): row["value"] for row in frame.to_dict("records")}
    assert release[{"a": 1, "c": 3}] == release[{"c": "3", "a": "1"}] == by["1", "", "3"]
    assert release[{"c": 0}] == by["", "", "0"] and release[{}] == by["", "", ""]
    assert release.axis.labels[0] == "total" and release.axis.labels[-1] == "b = 2 · c = 3"
    found = release.sum([{"a": 1, "c": 3}, {"a": 0, "c": 3}])
    assert isinstance(found, Derived) and found.value == release[{"c": 3}]
    for wrong, rule in (
        ("a", "by its label in each column"),
        ({"a": 1}, "of a table that was asked"),
        ({"a": 1, "d": 3}, "must be some of a, b, c"),
        ({"a": 2, "c": 3}, "between 0 and 1|must be one of"),
        ({"a": 1, "b": 1, "c": 1}, "of a table that was asked"),
    ):
        with pytest.raises(DpvizError, match=rule):
            release[wrong]
    with pytest.raises(DomainError, match="has all of its columns"):
        release.marginal(["a", "b", "c"])


def test_a_share_of_a_row_is_a_ratio_of_fitted_cells() -> None:
    release = released(epsilon=20)
    shares = release.marginal(["a", "b"], share_of=["a"])
    cells, rows = release.marginal(["a", "b"]), release.marginal("a")
    for row, cell, (a, _b) in zip(shares, cells, shares.labels, strict=True):
        assert row.value == cell.value / rows[int(a)].value  # type: ignore[operator]
        assert row.low <= row.value <= row.high  # type: ignore[operator]
        cell_, row_ = {"a": int(a), "b": int(_b)}, {"a": int(a)}
        alone = release.share(cell_, row_)
        assert isinstance(alone, Derived)
        assert (alone.value, alone.interval, alone.rule) == (row.value, row.interval, row.rule)
        assert "Fieller" in alone.rule
        listed = release.share(cell_, [{"a": int(a), "b": b} for b in range(3)])
        assert isinstance(listed, Derived) and listed.interval == alone.interval
    with pytest.raises(DomainError, match="must lie in its whole"):
        release.share({"a": 1, "b": 1}, {"a": 0})
    with pytest.raises(DomainError, match="of a table that was asked"):
        release.share({"a": 1, "b": 1}, {"c": 0})
    part = release.share({"a": 1, "b": 1})
    assert isinstance(part, Derived) and part.value == release[{"a": 1, "b": 1}] / release.sum().value  # type: ignore


def test_one_fit_of_two_answers_is_a_mean_of_both(tmp_path: Path) -> None:
    session = dv.Session(frame(), dv.Unit("row"), dv.Budget(9), tmp_path / "two.ledger")
    first, second = (session.release(DOMAIN, dv.Marginals(1), key=key) for key in ("one", "other"))
    both = dv.combine(first, second)
    one, other, mean = (r.marginal(["a", "b"])[2] for r in (first, second, both))
    assert mean.value == (one.value + other.value) / 2  # type: ignore[operator]
    assert mean.high - mean.low < one.high - one.low  # type: ignore[operator]
    third = session.release(DOMAIN, dv.Marginals(1, ways=1))
    with pytest.raises(ParameterError, match="the same points"):
        dv.combine(first, third)


GIVEN: list[dict[str, Any]] = [
    {},
    {"weights": {("a", "b"): 3, ("c",): 1}},
    {"base": "gaussian", "delta": "1e-6", "epsilon": 2},
]
MANY, BETA = 400, Fraction(1, 10)


def misses(found: Mapping[str, Sequence[tuple[Any, Any, Any]]], narrower: int = 0) -> dict[str, int]:
    """How often intervals, so much narrower at both ends, missed the truth."""
    return {
        name: sum(bool(np.any((truth < low + narrower) | (truth > high - narrower))) for low, high, truth in ends)
        for name, ends in found.items()
    }


@cache
def intervals(at: int) -> dict[str, list[tuple[Any, Any, Any]]]:
    """The ends in so many draws, and the truth: of a cell, one of a margin, one of noisy cells, the total, a
    difference, all cells at once."""
    given = GIVEN[at]
    cube = TRUTH.reshape(SIZES)
    truths = {
        "cell": int(cube.sum(axis=2)[1, 2]),
        "margin": int(cube.sum(axis=(0, 2))[0]),
        "total": int(cube.sum()),
        "difference": int(cube.sum(axis=2)[1, 2] - cube.sum(axis=0)[0, 0]),
    }
    bound = bound_of(ROW, SIZES, **given)
    labels, bits = np.arange(24, dtype=np.uint64), TeachingBits(9)
    every = np.array(true_tables(SIZES, bound.tables.tables)(tuple(TRUTH.tolist())))
    found: dict[str, list[tuple[Any, Any, Any]]] = {name: [] for name in (*truths, "noisy cell", "all")}
    for _ in range(MANY):
        release = release_of(bound, bound.draw(SparseCounts(labels, TRUTH), bits, mode="exact"))
        derived: dict[str, Any] = {
            "cell": release.marginal(["a", "b"], beta=BETA)[5],
            "margin": release.marginal("b", beta=BETA)[0],
            "total": release.sum(beta=BETA),
            "difference": release.difference({"a": 1, "b": 2}, {"b": 0, "c": 0}, beta=BETA),
        }
        for name, one in derived.items():
            found[name].append((one.low, one.high, truths[name]))
        cell = bound.tables.starts[bound.tables.tables.index((0, 1))] + 5
        for name, reader, among, rows in (("noisy cell", "noisy", "one", [cell]), ("all", "", "all", None)):
            ends = release.answer.intervals(release.reading, BETA, among, rows, reader)  # type: ignore[arg-type]
            truth = every if rows is None else every[rows]
            assert ends is not None
            found[name].append((np.array(ends.low), np.array(ends.high), truth))
    return found


MOST = int(stats.binom.isf(1e-9 / 24, MANY, float(BETA)))
"""More misses come with a chance below 1e-9 in all of the tests here, if intervals hold as often as they say."""


@pytest.mark.parametrize("at", range(len(GIVEN)))
def test_intervals_of_cells_margins_totals_and_differences_hold_as_often_as_they_say(at: int) -> None:
    """Exact ends miss little less than they may: between 7 and 10 in 100, for whole counts."""
    found = misses(intervals(at))
    assert max(found.values()) <= MOST
    assert min(found[name] for name in ("cell", "margin", "total", "noisy cell")) > MANY * 0.05


def test_intervals_that_are_narrower_are_caught() -> None:
    """The twin takes three counts off both ends of what is between 4 and 13 counts wide on either side."""
    found = misses(intervals(0), narrower=3)
    assert min(found[name] for name in ("cell", "margin", "noisy cell")) > MOST


# ---------------------------------------------------------------- what is refused, and what is kept


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"weights": {("a", "z"): 1}}, "are for up to 8 of the columns a, b, c"),
        ({"weights": {("a", "b"): 0, ("a", "c"): 0, ("b", "c"): 0}}, "one table at least"),
        ({"total": "public"}, "only under replace-one of rows"),
        ({"weights": {("a", "a"): 1}}, "each column once"),
        ({"weights": {("a", "b"): 1, ("b", "a"): 1}}, "one weight"),
        ({"weights": {("a", "b"): -1}}, "the weight of table 1"),
        ({"weights": "a"}, "whole numbers by columns"),
        ({"base": "gaussian"}, "delta"),
    ],
)
def test_what_are_no_tables_of_the_question_is_refused(given: Any, rule: str) -> None:
    with pytest.raises(DpvizError, match=rule):
        bound_of(ROW, SIZES, **given)


def test_tables_that_are_too_large_are_refused_with_their_size_before_a_charge(tmp_path: Path) -> None:
    wide = dv.Domain.product(*(dv.Domain.integers(0, 999, column=name) for name in "abc"))
    session = dv.Session(frame(), dv.Unit("row"), dv.Budget(9), tmp_path / "wide.ledger")
    with pytest.raises(ParameterError, match=r"524,288 cells.*got 3,000,000 cells"):
        session.release(wide, dv.Marginals(1))
    assert session.remaining.epsilon == 9
    with pytest.raises(ParameterError, match="1,000,000,000 cells"):
        session.plan(wide, dv.Marginals(1, ways=3))
    with pytest.raises(DomainError, match="declared bins"):
        session.plan("b", dv.Marginals(1))
    with pytest.raises(ParameterError, match="a filter leaves rows out"):
        dv.Marginals(1, total="public").bind(Question.of(DOMAIN, {"c": 1}), Unit("row", relation="replace-one", n=9))


def test_an_answer_is_stored_and_read_back_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    session = dv.Session(frame(), dv.Unit("row"), dv.Budget(9), tmp_path / "kept.ledger")
    release = session.release(DOMAIN, dv.Marginals("1/2", weights={("a",): 2}))
    again = session.release(DOMAIN, dv.Marginals("1/2", weights=[(["a"], 2)]))
    assert again == release and session.remaining.epsilon == Fraction(17, 2)
    for name in ("kept.json", "kept.dpviz"):
        release.save(tmp_path / name)
        assert dv.load(tmp_path / name).answer == release.answer
    answer = release.answer
    assert isinstance(answer, MarginalTables)
    packed = answer.pack()
    assert MarginalTables.unpack(packed) == answer
    for header, arrays in (
        ({**packed.header, "tables": "[[3,3,4],[]]"}, packed.arrays),
        ({**packed.header, "tables": packed.header["tables"].replace(",", ", ", 1)}, packed.arrays),
        ({**packed.header, "total": "-1"}, packed.arrays),
        ({"tables": packed.header["tables"]}, packed.arrays),
        (packed.header, {"noisy": answer.noisy[1:]}),
        (packed.header, {"noisy": answer.noisy.astype(np.int32)}),
        (packed.header, {}),
    ):
        with pytest.raises(ReleaseFormat):
            MarginalTables.unpack(Packed(header, arrays))


def test_a_plan_says_where_cells_err_most_and_how_far_all_may_be_off() -> None:
    bound = bound_of(ROW, (2, 3, 40))
    cell, every, total = bound.measures
    beta = Fraction(1, 20)
    variances = {places: bound.tables.variance(places) for places in bound.tables.tables}
    assert max(variances, key=variances.__getitem__) == (0, 1) and cell.label == "A cell of a × b"
    values = [one.at(beta) for one in (cell, every, total)]
    assert all(value is not None for value in values)
    widest = max(bound.error.range(start, start, beta).value for start in bound.tables.starts[:-1])
    assert values[0].value == widest == bound.error.one_bin(beta).value  # type: ignore[union-attr]
    assert every.label == "All 206 cells at once" and values[1].value > widest  # type: ignore[union-attr]
    assert "for all tables" not in bound.verb and bound.verb.endswith("of 3 tables and makes the tables agree.")


# ---------------------------------------------------------------- what a second reader found


@pytest.mark.parametrize(
    ("sizes", "given"),
    [
        ((2, 2**64 - 1), {"weights": {("a", "b"): 0, ("a",): 1}}),
        ((2**64,), {"weights": {("a",): 0, (): 1}}),
        ((2**70, 3), {"weights": {("a", "b"): 0, ("b",): 1, (): 1}}),
        ((3, 2**70, 2), {"ways": 1, "weights": {("b",): 0}}),
        ((2**63, 2), {"ways": 1, "weights": {("a",): 0}}),
    ],
)
def test_a_column_of_no_table_has_any_number_of_labels(
    sizes: Sequence[int], given: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One record with the highest labels, and one with the lowest: neither ends the draw, which would tell."""
    bound = bound_of(ROW, sizes, **given)
    bins = bound.question.bins
    kind: Any = np.uint64 if bins <= 2**64 else object
    for numbers, last in (([0, bins - 1], True), ([bins - 1], True), ([0], False), ([], False)):
        labels = np.array(numbers, dtype=kind)
        cells = seen(bound, SparseCounts(labels, np.ones(len(numbers), dtype=np.int64)), monkeypatch)
        for at, start in enumerate(bound.tables.starts[:-1]):
            table = cells[start : bound.tables.starts[at + 1]]
            assert sum(table) == len(numbers) and table[-1] >= last


def test_no_interval_is_reversed_whatever_was_drawn() -> None:
    """Where all rows stand in one cell, n is public and the noise is larger than the bar; and where it is narrower than
    one count."""
    few = Unit("row", relation="replace-one", n=50)
    counts = np.array([50], dtype=np.int64)
    for unit, given, beta in (
        (few, {"ways": 1}, "0.4"),
        (few, {"ways": 1, "total": "public"}, "0.2"),
        (ROW, {"epsilon": 18}, "0.2"),
    ):
        bound, bits = bound_of(unit, SIZES, **given), TeachingBits(2)
        for _ in range(300):
            answer = bound.draw(SparseCounts(np.array([0], dtype=np.uint64), counts), bits, mode="exact")
            release = release_of(bound, answer)
            for reader in ("fitted", "noisy"):
                for among in ("one", "all"):
                    ends = answer.intervals(release.reading, Fraction(beta), among, None, reader)  # type: ignore[arg-type]
                    assert ends is not None and not ends.crossed


@pytest.mark.parametrize(
    "others", [{"epsilon": 2}, {"weights": {("a", "b"): 3}}, {"epsilon": 3, "weights": {("a", "b"): 3, ("a", "c"): 2}}]
)
def test_tables_of_two_answers_that_are_read_as_one_agree(others: Any, tmp_path: Path) -> None:
    session = dv.Session(frame(), dv.Unit("row"), dv.Budget(99), tmp_path / "both.ledger")
    both = dv.combine(
        session.release(DOMAIN, dv.Marginals(1)), session.release(DOMAIN, dv.Marginals(**{"epsilon": 1, **others}))
    )
    total = both.sum()
    assert isinstance(total, Derived)
    for way in WAYS:
        assert sum((row.value for row in both.marginal(list(way))), Fraction(0)) == total.value  # type: ignore


def test_tables_of_one_kind_err_alike_and_the_bound_for_all_of_them_is_one() -> None:
    beta = Fraction(1, 1000)
    for sizes, given in (
        ((2, 3, 3, 2), {}),
        ((2, 2, 5, 5), {"ways": 3}),
        ((4, 4, 4), {"weights": {("a",): 2, ("b",): 2, ("c",): 2}}),
    ):
        bound = bound_of(ROW, sizes, **given)
        tables = bound.tables
        assert len(set(tables.kinds)) < len(tables.tables)
        for at, first in enumerate(tables.kinds):
            one, other = (
                sorted((effect.count, abs(effect.weights[0])) for effect in tables.effects([[(place, (0,))]]))
                for place in (at, first)
            )
            assert one == other
        for start in tables.starts[:-1]:
            assert bound.error._any(beta) >= bound.error._bound(start, beta)
    uneven = bound_of(ROW, (3, 3, 3), weights={("a", "b"): 5})
    assert uneven.tables.kinds == (0, 1, 2)
    assert all(uneven.error._any(beta) >= uneven.error._bound(start, beta) for start in uneven.tables.starts[:-1])


def test_columns_that_are_called_as_those_of_a_frame_keep_their_labels() -> None:
    columns = [dv.Domain.integers(0, 1, column=name) for name in ("table", "value", "low")]
    bound = dv.Marginals(1).bind(Question.of(dv.Domain.product(*columns)), ROW)
    empty = SparseCounts(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))
    found = release_of(bound, bound.draw(empty, TeachingBits(1), mode="exact")).to_frame()
    assert list(found.columns[:4]) == ["table", "table (label)", "value (label)", "low (label)"]
    assert found["value (label)"].tolist()[:4] == ["0", "1", "0", "1"]


def test_the_total_alone_is_told_as_one_number() -> None:
    bound = bound_of(ROW, (2, 3), weights={("a", "b"): 0, (): 1})
    (total,) = bound.measures
    assert total.label == "The total" and total.pictured
    empty = SparseCounts(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))
    release = release_of(bound, bound.draw(empty, TeachingBits(1), mode="exact"))
    assert release.answer.remark(release.reading) == "" and release[{}] == release.sum().value  # type: ignore[union-attr]
    assert bound_of(Unit("row", relation="replace-one", n=9), (2, 3), weights={(): 0}, total="public").tables.known


def test_many_tables_are_planned_by_their_variance_alone() -> None:
    bound = bound_of(ROW, (2, 3, 4, 5))
    exact = bound.error.all_bins(Fraction(1, 20))
    loose = bound.error._any(Fraction(1, 20) / bound.cells)
    assert exact.value <= loose < 2 * exact.value
    columns = [dv.Domain.integers(0, at + 1, column=f"c{at}") for at in range(30)]
    many = dv.Marginals(1).bind(Question.of(dv.Domain.product(*columns)), ROW)
    assert many.error._many and many.error.one_bin(Fraction(1, 20)).how == "bound"
    assert all(measure.at(Fraction(1, 20)) is not None for measure in many.measures)
