"""Marginals: every cell is the sum of its bins and holds as often as a sum says; tables agree to the last unit."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError
from dpviz.model.answers import SparseTable
from dpviz.model.derived import Derived
from dpviz.model.marginals import Grid, Marginal
from dpviz.model.release import Release
from tests.model.whole_laws import joint, misses, noise, release_of, table

SEX = dv.Domain.categories(["f", "m"], column="sex")
YEAR = dv.Domain.integers(2000, 2002, column="year")
HEALTH = dv.Domain.integers(0, 3, column="health")
THREE = dv.Domain.product(SEX, YEAR, HEALTH)
COLUMNS = ("sex", "year", "health")
VALUES = np.random.default_rng(5).integers(0, 90, 24)
WAYS = [way for count in (1, 2, 3) for way in itertools.permutations(COLUMNS, count)]


def released(mechanism: Any = None, domain: dv.Domain = THREE, values: Any = VALUES) -> Release:
    made = (mechanism or dv.Dense(1, clamp=False)).bind(dv.Question.of(domain), dv.Unit())
    return table(made, values)


def added_up(way: tuple[str, ...], values: Any = VALUES) -> list[int]:
    """By NumPy, over the axes that are not kept."""
    cube = np.asarray(values).reshape(2, 3, 4)
    kept = [COLUMNS.index(name) for name in way]
    rest = tuple(axis for axis in range(3) if axis not in kept)
    return list(np.transpose(cube.sum(axis=rest), np.argsort(np.argsort(kept))).ravel().tolist())


def fits(bin: tuple[Any, ...], wanted: dict[str, str]) -> bool:
    """Whether the bin has these labels in these columns."""
    return all(str(part) == wanted.get(name, str(part)) for name, part in zip(COLUMNS, bin, strict=True))


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_every_cell_is_the_sum_of_its_bins_and_has_its_interval(way: tuple[str, ...]) -> None:
    release = released()
    found = release.marginal(list(way), among=5)
    domains = {"sex": SEX, "year": YEAR, "health": HEALTH}
    labels = list(itertools.product(*(domains[name].labels for name in way)))
    assert [row.value for row in found] == added_up(way)
    assert found.labels == tuple(labels) and [row.what for row in found] == [" · ".join(one) for one in labels]
    for row, cell in zip(found, labels, strict=True):
        wanted = dict(zip(way, cell, strict=True))
        bins = [one for one in itertools.product(SEX.labels, range(2000, 2003), range(4)) if fits(one, wanted)]
        alone = release.sum(bins, among=5)
        assert isinstance(alone, Derived)
        assert (row.value, row.interval, row.how, row.bias) == (alone.value, alone.interval, alone.how, alone.bias)


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_tables_agree_with_each_other_and_with_the_total(way: tuple[str, ...]) -> None:
    release = released(dv.Dense(1))
    total, found = release.sum(), release.marginal(list(way))
    assert isinstance(total, Derived)
    assert sum((row.value for row in found), Fraction(0)) == total.value  # type: ignore[misc]
    for count in range(1, len(way)):
        fewer = release.marginal(list(way[:count]))
        for row, label in zip(fewer, fewer.labels, strict=True):
            parts = [one.value for one, whole in zip(found, found.labels, strict=True) if whole[:count] == label]
            assert sum(parts) == row.value  # type: ignore[arg-type]


def test_all_cells_hold_together_as_often_as_they_say_and_one_that_is_narrower_does_not() -> None:
    """By the whole law of four noisy counts, two of them in each cell; the twin takes a count off both ends."""
    truth, beta = (60, 30, 50, 40), Fraction(1, 10)
    two = dv.Domain.product(SEX, dv.Domain.integers(0, 1, column="year"))
    made = dv.Dense(2, clamp=False).bind(dv.Question.of(two), dv.Unit())
    law = noise(dv.exact.Decay.exp(Fraction(2)), 6)
    laws = [{count + z: chance for z, chance in law.items()} for count in truth]
    right = (truth[0] + truth[1], truth[2] + truth[3])
    width: dict[int, tuple[Fraction, Fraction]] = {}

    def ends(values: tuple[int, ...], off: int) -> tuple[int, int]:
        """A pair that holds 0 where both cells hold their truth."""
        if off not in width:
            rows = table(made, truth).marginal("sex", beta=beta, among=2)
            (low, high), value = rows[0].interval, rows[0].value
            assert low is not None and high is not None and isinstance(value, Fraction)
            assert rows[1].interval == (rows[1].value - (value - low), rows[1].value + (high - value))  # type: ignore[operator]
            width[off] = (value - low - off, high - value - off)
        below, above = width[off]
        sums = (values[0] + values[1], values[2] + values[3])
        held = all(one - below <= count <= one + above for one, count in zip(sums, right, strict=True))
        return (0, 0) if held else (1, 1)

    assert misses(joint(laws), lambda values: ends(values, 0), 0) <= beta
    assert misses(joint(laws), lambda values: ends(values, 1), 0) > beta


def test_shares_are_of_their_row_or_of_all_and_add_up_to_one() -> None:
    release = released()
    rows = release.marginal(["sex", "health"], share_of="sex")
    for row, label in zip(rows, rows.labels, strict=True):
        bins = [(label[0], year, int(label[1])) for year in range(2000, 2003)]
        whole = [(label[0], year, health) for year in range(2000, 2003) for health in range(4)]
        alone = release.share(bins, whole)
        assert isinstance(alone, Derived)
        assert (row.kind, row.value, row.interval, row.how) == ("share", alone.value, alone.interval, alone.how)
        assert row.what == f"{label[0]} · {label[1]}, as a share of {label[0]}"
    for sex in ("f", "m"):
        parts = [row.value for row, label in zip(rows, rows.labels, strict=True) if label[0] == sex]
        assert sum(parts) == 1  # type: ignore[arg-type]
    of_all = release.marginal("year", share_of=[])
    assert sum(row.value for row in of_all) == 1  # type: ignore[misc]
    assert of_all[0].what == "2000, as a share of all"


def test_a_frame_has_a_column_for_each_label_and_a_table_for_a_notebook_says_what_it_rests_on() -> None:
    found = released().marginal(["year", "sex"])
    frame = found.to_frame()
    assert list(frame.columns) == ["year", "sex", "value", "low", "high", "how"]
    assert frame["year"].tolist() == ["2000", "2000", "2001", "2001", "2002", "2002"]
    assert isinstance(found, Marginal) and found.columns == ("year", "sex")
    assert "2000 · f" in found._repr_html_() and "costs nothing more" in found._repr_html_()
    clash = dv.Domain.product(SEX, dv.Domain.integers(0, 1, column="value"))
    frame = released(domain=clash, values=[1, 2, 3, 4]).marginal(["value", "sex"]).to_frame()
    assert list(frame.columns) == ["value (label)", "sex", "value", "low", "high", "how"]


def test_the_first_columns_of_a_product_that_nobody_could_list_are_added_up_in_runs() -> None:
    huge = dv.Domain.product(SEX, dv.Domain.integers(0, 2**40 - 1, column="id"))
    made = dv.Stability(1, "1e-6").bind(dv.Question.of(huge), dv.Unit(relation="replace-one", n=500))
    release = release_of(made, SparseTable((3, 2**40 + 5), np.array([90, 200], dtype=np.int64)))
    assert [row.value for row in release.marginal("sex")] == [90, 200]
    for columns in ("id", ["sex", "id"]):
        with pytest.raises(DomainError, match="at most 100,000 cells"):
            release.marginal(columns)
    wide = dv.Domain.product(dv.Domain.integers(0, 2**40 - 1, column="id"), SEX)
    made = dv.Stability(1, "1e-6").bind(dv.Question.of(wide), dv.Unit(relation="replace-one", n=500))
    with pytest.raises(DomainError, match="at most 1,000,000 runs of neighbouring bins"):
        release_of(made, SparseTable((3,), np.array([90], dtype=np.int64))).marginal("sex")


def test_the_runs_of_all_cells_are_all_bins_each_once() -> None:
    for way in WAYS:
        grid = Grid.of(THREE, list(way))
        starts = sorted(start for cell in grid.cells() for start in grid.starts(cell))
        assert starts == list(range(0, 24, grid.run)) and len(starts) == grid.pieces


def test_one_column_and_two_releases_together_have_marginals_too(tmp_path: Path) -> None:
    release = released(domain=YEAR, values=[5, 6, 7])
    assert [row.value for row in release.marginal("year")] == [5, 6, 7]
    frame = pd.DataFrame({"sex": ["f", "m"] * 300, "year": [2000, 2001, 2002] * 200, "health": [0, 1, 2, 3] * 150})
    session = dv.Session(frame, dv.Unit(), dv.Budget(2), tmp_path / "a.ledger")
    two = [session.release(THREE, dv.Dense(1, clamp=False), key=key) for key in ("a", "b")]
    both = dv.combine(*two).marginal("sex")
    pairs = zip(*(one.marginal("sex") for one in two), strict=True)
    assert [row.value for row in both] == [(a.value + b.value) / 2 for a, b in pairs]  # type: ignore[operator]
    assert len(both[0].paid) == 2 and "entry 1" in both[0].rests_on and "entry 2" in both[0].rests_on


@pytest.mark.parametrize(
    ("columns", "share_of", "words"),
    [
        ("age", None, "column 1 must be one of sex, year, health"),
        (["sex", "sex"], None, "each column once"),
        ([], None, "at least one column"),
        (7, None, "named in a list"),
        (["sex", 3], None, "column 2 must be"),
        (pd.DataFrame({"sex": ["Ann Private"]}), None, "DataFrame|must be public|named in a list"),
        (["sex", "year"], "health", "column 1 of a whole must be one of sex, year"),
        (["sex", "year"], ["sex", "year"], "leave something of its whole"),
        (["sex", "year"], 4, "named in a list"),
    ],
)
def test_what_is_no_marginal_is_refused_in_words(columns: Any, share_of: Any, words: str) -> None:
    with pytest.raises(DomainError, match=words) as refused:
        released().marginal(columns, share_of=share_of)
    assert refused.value.next_step and "Ann Private" not in str(refused.value)


def test_answers_without_declared_bins_have_no_marginals() -> None:
    keys = dv.Question.of(dv.Domain.keys(column="word"))
    shown = release_of(
        dv.Stability(1, "1e-6").bind(keys, dv.Unit()), SparseTable(("a", "b"), np.array([90, 200], dtype=np.int64))
    )
    with pytest.raises(DomainError, match="adds up declared bins"):
        shown.marginal("word")
    one = dv.Domain.product(SEX, dv.Domain.integers(0, 0, column="year"))
    with pytest.raises(DomainError, match="a part must leave something of its whole"):
        released(domain=one, values=[1, 2]).marginal(["sex", "year"], share_of="sex")
