"""Counts at the ends of 64 bits, and labels with NUL in them: shown rightly, or refused before a charge."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.tables import of_release
from dpviz.engines import sources
from dpviz.errors import ParameterError
from dpviz.model.question import Question
from dpviz.model.source import TopRules
from dpviz.model.spreadsheet import plain
from dpviz.model.statistic import Column, DenseCounts, Need, SparseCounts, Statistic, StatisticKind, Top, TopCounts
from tests.reports import pages

BUDGET = dv.Budget("1000", "1e-2")
FEW, WIDE = dv.Domain.integers(0, 4, column="x"), dv.Domain.integers(0, 2**64 - 1, column="x")
LIMIT = 2**62
"""Counts beyond this are moved here before noise is added, and noisy counts afterwards."""
AROUND = 400
"""With epsilon 1, noise goes so far with a probability of about exp(-400): nobody has seen it."""
SELDOM = "1e-15"
"""How often FastSample draws a uniform value instead, which may lie anywhere."""


class Tallies:
    """A source whose counts the test chose; item or bin number `i` has the count at place `i`."""

    name, columns, top = "tallies", (Column("x", "number"), Column("item", "text")), TopRules()

    def __init__(self, counts: Sequence[int]) -> None:
        self._counts = counts

    def check(self, question: Question, unit: dv.Unit, need: Need) -> None:
        return None

    def count(self, question: Question, unit: dv.Unit, need: Need, tick: Any = None) -> Statistic:
        declared = question.domain.declared
        names: list[Any] = [at if declared else f"item {at}" for at in range(len(self._counts))]
        if need is StatisticKind.DENSE:
            return DenseCounts(np.array([*self._counts, *[0] * (question.bins - len(self._counts))], dtype=np.int64))
        if isinstance(need, Top):
            order = sorted(range(len(names)), key=lambda at: (-self._counts[at], names[at]))
            kept, after = order[: need.rows], order[need.rows : need.rows + 1]
            counts = np.array([self._counts[at] for at in kept], dtype=np.int64)
            return TopCounts([names[at] for at in kept], counts, self._counts[after[0]] if after else 0)
        labels = np.empty(len(names), dtype=np.uint64 if declared else object)
        labels[:] = names
        return SparseCounts(labels, np.array(self._counts, dtype=np.int64))


def released(tmp_path: Path, counts: Sequence[int], question: Any, mechanism: Any, mode: Any = None) -> dv.Release:
    """A release as the ledger and a file give it back."""
    session = dv.Session(Tallies(counts), dv.Unit(), BUDGET, tmp_path / "ledger")
    release = session.release(question, mechanism, mode=mode)
    release.save(tmp_path / "release.json")
    assert dv.load(tmp_path / "release.json").answer == session.releases[release.number].answer == release.answer
    return release


@pytest.mark.parametrize("count", [2**53 + 1, LIMIT - 1, LIMIT, 2**63 - 1])
@pytest.mark.parametrize(
    ("mechanism", "top"),
    [
        (dv.Dense("1"), LIMIT),
        (dv.Dense("1", clamp=False), LIMIT),
        (dv.Dense("1", base="tight", cap=2**60, gamma=SELDOM), 2**60),
        (dv.Dense("1", base="tight", cap=1000, gamma=SELDOM), 1000),
        (dv.Stability("1", "1e-6"), LIMIT),
    ],
    ids=repr,
)
def test_no_count_wraps_around(tmp_path: Path, count: int, mechanism: Any, top: int) -> None:
    sparse = isinstance(mechanism, dv.Stability)
    release = released(tmp_path, [count, 2000, count - 1], "item" if sparse else FEW, mechanism)
    seen = [release["item 0"], release["item 1"], release["item 2"]] if sparse else list(release.values[:3])
    for value, exact in zip(seen, [count, 2000, count - 1], strict=True):
        assert abs(int(value) - min(exact, top)) <= AROUND
    assert max(map(int, seen)) <= top
    texts = release.to_csv()
    assert texts is not None and all(str(int(value)) in texts for value in seen)
    assert all(f"{int(value):,}" in of_release(release) for value in seen)


@pytest.mark.parametrize("count", [LIMIT - 1, LIMIT, 2**63 - 1])
def test_a_finite_computer_clamps_before_it_adds(tmp_path: Path, count: int) -> None:
    release = released(tmp_path, [count, 3], FEW, dv.Dense("1", base="tight", cap=10**6, gamma=SELDOM), "strict")
    assert 10**6 - AROUND <= int(release.values[0]) <= 10**6 and int(release.values[1]) <= AROUND


@pytest.mark.parametrize("count", [LIMIT - 1, LIMIT, 2**63 - 1])
@pytest.mark.parametrize("mechanism", [dv.PureSparse("99", cap=9), dv.Compact("9", cap=9)], ids=repr)
def test_counts_beyond_a_cap_are_cut_to_it(tmp_path: Path, count: int, mechanism: Any) -> None:
    release = released(tmp_path, [count, 0, count], WIDE, mechanism)
    assert all(0 <= int(release[at]) <= 9 for at in (0, 2, 5))


@pytest.mark.parametrize("count", [LIMIT - 1, LIMIT, 2**63 - 2])
@pytest.mark.parametrize(
    "mechanism",
    [
        dv.TopK(2, 3, epsilon=90),
        dv.TopK(2, 3, epsilon=90, domain_rule="strict"),
        dv.TopK(2, 3, epsilon=90, ties="unknown"),
        dv.TopKLaplace(2, 3, 90),
        dv.TopKSet(2, 90),
    ],
    ids=repr,
)
def test_the_largest_counts_are_named_in_order(tmp_path: Path, count: int, mechanism: Any) -> None:
    """Far apart from all others, at a price that leaves no doubt: the two largest come, and no wrapped one does."""
    release = released(tmp_path, [5, count, 7, count - 2**20], "item", mechanism)
    assert set(release.items) == {"item 1", "item 3"}
    if not isinstance(mechanism, dv.TopKSet):
        assert release.items == ("item 1", "item 3") or list(release.items) == ["item 1", "item 3"]


def test_the_exponential_mechanism_ranks_them_too(tmp_path: Path) -> None:
    release = released(tmp_path, [5, 2**63 - 2, 7, LIMIT, 0], FEW, dv.ExponentialTopK(2, 90))
    assert list(release.items) == ["1", "3"]


@pytest.mark.parametrize("unit", [{"relation": "replace-one", "n": LIMIT}, {"of": "item", "max_per_bin": LIMIT}])
def test_units_that_allow_such_counts_are_refused_before_a_charge(tmp_path: Path, unit: dict[str, Any]) -> None:
    of = unit.pop("of", "row")
    with pytest.raises(ParameterError):
        dv.Session(Tallies([1, 2]), dv.Unit(of, **unit), BUDGET, tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()


# ---------------------------------------------------------------- NUL

TEXTS = ["a\0b"] * 500 + ["a"] * 300 + ["a\0c"] * 400 + ["\0"] * 200
FRAME = pd.DataFrame({"k": pd.Series(TEXTS, dtype="str"), "o": pd.Series(TEXTS, dtype=object)})
EXACT = {"a\0b": 500, "a": 300, "a\0c": 400, "\0": 200}


def held(engine: str, tmp_path: Path) -> Any:
    if engine == "csv":
        path = tmp_path / "texts.csv"
        path.write_bytes(b"k,o\n" + b"".join(f"{text},{text}\n".encode() for text in TEXTS))
        return path
    return FRAME if engine == "pandas" else sources.duckdb(FRAME)


@pytest.mark.parametrize("column", ["k", "o"])
@pytest.mark.parametrize("engine", ["pandas", "duckdb", "csv"])
def test_labels_with_nul_are_told_apart_and_survive(engine: str, column: str, tmp_path: Path) -> None:
    session = dv.Session(held(engine, tmp_path), dv.Unit(), BUDGET, tmp_path / "ledger")
    declared = dv.Domain.categories(["a\0b", "a", "\0"], column=column, other=True)
    found = session.release(column, dv.Stability("90", "1e-6"))
    dense = session.release(declared, dv.Dense("90"), where={column: ["a\0b", "\0", "a\0c"]})
    listed = session.release(column, dv.TopK(4, 6, epsilon=90))
    assert {label: int(found[label]) for label in EXACT} == EXACT
    assert [int(value) for value in dense.values] == [500, 0, 200, 400]
    assert list(listed.items) == ["a\0b", "a\0c", "a", "\0"]
    again = dv.Session(held(engine, tmp_path), dv.Unit(), BUDGET, tmp_path / "ledger")
    for release in (found, dense, listed):
        release.save(tmp_path / "release.json")
        assert b"\0" not in (tmp_path / "release.json").read_bytes()
        json.loads((tmp_path / "release.json").read_text())
        assert dv.load(tmp_path / "release.json").answer == release.answer
        assert again.releases[release.number].answer == release.answer
        release.to_csv(tmp_path / "release.csv")
        text = (tmp_path / "release.csv").read_text()
        lines = "".join(line for line in io.StringIO(text) if not line.startswith("#"))
        names = pd.read_csv(io.StringIO(lines), dtype=str, keep_default_na=False).filter(["bin", "item"]).iloc[:, 0]
        assert [plain(name) for name in names] == release.to_frame().filter(["bin", "item"]).iloc[:, 0].tolist()
    for release in (found, dense, listed):
        assert "\0" not in of_release(release) and "a␀b" in of_release(release)
    path = dv.report([found, dense, listed], tmp_path / "report.html")
    assert b"\0" not in path.read_bytes() and "\0" not in pages.unpacked(path)
    assert again.releases[dense.number].question == dense.question
    session.ledger.verify()
