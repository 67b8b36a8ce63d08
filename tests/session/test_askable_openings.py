"""A sub-session of which no question can be asked of the data is refused before it is charged, as a release is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import duckdb as driver
import pandas as pd
import pytest

import dpviz as dv
from dpviz.engines import as_source, sources
from dpviz.errors import DpvizError, SchemaError
from dpviz.model.opening import Opening
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import Need
from dpviz.privacy.unit import Unit
from dpviz.session.session import Session
from tests.session import rounds
from tests.session.rounds import Rounds

Make: TypeAlias = Callable[[], Source]

TABLE = """CREATE TABLE t AS SELECT n::INTEGER AS month, chr((97 + n)::INTEGER) AS city, n * 1.5::DOUBLE AS pay,
n::VARCHAR::BLOB AS amount, [n] AS many, now() AS zoned, DATE '2012-01-01' + n::INTEGER AS day,
chr((97 + n)::INTEGER) AS who FROM range(1, 5) r(n)"""


def in_duckdb() -> Source:
    connection = driver.connect()
    connection.execute(TABLE)
    connection.execute("CREATE TABLE data AS FROM t; ALTER TABLE data ADD COLUMN folded VARCHAR COLLATE NOCASE")
    connection.execute("UPDATE data SET folded = city")
    return sources.duckdb(connection, "data")


def in_pandas() -> Source:
    frame = pd.DataFrame(
        {
            "month": range(1, 5),
            "city": list("bcde"),
            "pay": [1.5, 3.0, 4.5, 6.0],
            "many": [[1], [2], [3], [4]],
            "zoned": pd.to_datetime(["2012-01-01"] * 4, utc=True),
            "day": pd.to_datetime(["2012-01-01"] * 4),
            "who": list("bcde"),
        }
    )
    return as_source(frame)


ENGINES: dict[str, Make] = {"pandas": in_pandas, "duckdb": in_duckdb}
YEARS = dv.Domain.times("2012", "2013", by="month", column="zoned")

REFUSED: dict[str, Any] = {
    "a column that is not there": dv.Domain.integers(1, 4, column="mouth"),
    "one of two that is not there": dv.Domain.integers(1, 4, column="month") * dv.Domain.integers(0, 1, column="gone"),
    "numbers of a text column": dv.Domain.integers(1, 4, column="city"),
    "intervals of a text column": dv.Partition(dv.Domain.intervals([0, 1, 2], column="city"), max_parts=1),
    "texts of a number column": dv.Domain.categories(["a", "b"], column="month"),
    "times of a time zone": YEARS,
    "times of a number column": dv.Domain.times("2012", "2013", by="month", column="month"),
    "numbers of a column of times": dv.Domain.integers(1, 4, column="day"),
    "a filter on a column that is not there": {"one": {"gone": [1]}, "two": {"gone": [2]}},
    "a filter by numbers on a text column": {"low": {"city": dv.Between(high=0)}, "high": {"city": dv.Between(low=1)}},
    "a filter by texts on a number column": {"one": {"month": ["a"]}, "two": {"month": ["b"]}},
    "the second filter alone": {"one": {"month": [1], "city": ["a"]}, "two": {"month": [2], "gone": ["b"]}},
    "a filter on a time zone": {
        "one": {"zoned": dv.Between(high="2012-01-01")},
        "two": {"zoned": dv.Between(low="2012-01-03")},
    },
}
IN_DUCKDB: dict[str, Any] = {
    "lists": dv.Domain.categories(["a", "b"], column="many"),
    "a collated column": dv.Domain.categories(["a", "b"], column="folded"),
    "a column of bytes": dv.Domain.integers(1, 4, column="amount"),
    "a filter on a collated column": {"one": {"folded": ["a"]}, "two": {"folded": ["b"]}},
    "a filter on a column of bytes": {"one": {"amount": dv.Between(high=0)}, "two": {"amount": dv.Between(low=1)}},
    "a filter on lists": {"one": {"many": ["a"]}, "two": {"many": ["b"]}},
}
CASES = [(engine, name, by) for engine in ENGINES for name, by in REFUSED.items()]
CASES += [("duckdb", name, by) for name, by in IN_DUCKDB.items()]

KINDS: tuple[Opening, ...] = (
    dv.Parts({"one": {"month": [1]}, "two": {"month": [2]}}, epsilon=1),
    dv.PayWhatYouGet(symbols=9, questions=3, epsilon="1", delta="1e-6"),
)


def session(place: Path, source: Source, unit: dv.Unit | None = None) -> Session:
    return Session(source, unit or dv.Unit(), dv.Budget(99, "1e-3"), place / "test.ledger")


def refused(it: Session, parameters: Opening) -> DpvizError:
    """The refusal of an opening and of its plan, which charges nothing."""
    head = it.ledger.head()
    for call in (it.plan_open, it.open):
        with pytest.raises(DpvizError) as caught:
            call(parameters)  # type: ignore[operator]
        assert it.ledger.head() == head and caught.value.rule and caught.value.next_step
    return caught.value


@pytest.mark.parametrize(("engine", "name", "by"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_parts_that_no_question_can_be_asked_of_are_refused_before_the_charge(
    engine: str, name: str, by: Any, tmp_path: Path
) -> None:
    """By the error with which a release about the same parts is refused."""
    it = session(tmp_path, ENGINES[engine]())
    error = refused(it, dv.Parts(by, epsilon=1))
    bins = dv.Domain.integers(0, 9, column="pay")
    with pytest.raises(SchemaError) as caught:
        it.release(bins, dv.Dense("1/2"), by=by)
    assert type(error) is SchemaError and str(error).startswith(str(caught.value))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_a_column_of_users_that_cannot_name_them_is_refused_before_the_charge(
    engine: str, parameters: Opening, tmp_path: Path
) -> None:
    for at, column in enumerate(("zoned", *(["many", "folded", "amount", "pay"] if engine == "duckdb" else []))):
        place = tmp_path / str(at)
        place.mkdir()
        it = session(place, ENGINES[engine](), dv.Unit(column, max_bins=1))
        assert column in str(refused(it, parameters)), column


def test_a_table_of_which_no_column_can_be_counted_is_refused_before_the_charge(tmp_path: Path) -> None:
    connection = driver.connect()
    connection.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE, y BLOB)")
    it = session(tmp_path, sources.duckdb(connection, "t"))
    error = refused(it, dv.PayWhatYouGet(symbols=9, questions=3, epsilon="1", delta="1e-6"))
    assert "a column of collated text cannot be counted, got x" in str(error)


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_beside_columns_that_cannot_be_counted_are_opened_and_asked(engine: str, tmp_path: Path) -> None:
    it = session(tmp_path, ENGINES[engine](), dv.Unit("who", max_bins=1))
    for by, part in (
        (dv.Domain.integers(1, 4, column="month"), "2"),
        (dv.Domain.times("2012", "2013", by="month", column="day"), "2012-01"),
        ({"one": {"city": ["a"]}, "two": {"city": ["b"]}}, "one"),
    ):
        sub = it.open(dv.Parts(by, epsilon=1))
        assert len(sub.ask(dv.Domain.integers(0, 9, column="pay"), dv.Dense("1/2"), part=part).values) == 10
    assert it.open(dv.PayWhatYouGet(symbols=9, questions=3, epsilon="1", delta="1e-6")).ask("city", k=1, kbar=2)


def test_a_kind_of_sub_session_that_nobody_knew_is_held_to_the_same_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the protocol: it says nothing of what it will be asked but its smallest use."""
    rounds.known(monkeypatch)

    class Bare:
        """A source whose only column cannot be counted."""

        name, columns = "bare", in_duckdb().columns[4:5]

        def check(self, question: Question, unit: Unit, need: Need) -> None:
            raise SchemaError.of(question.columns[0], "a list is no label", "take another column")

        def count(self, *asked: Any) -> Any:
            raise AssertionError("nothing is paid, so nothing is counted")

    it = Session(Bare(), dv.Unit(), dv.Budget(9), tmp_path / "test.ledger")  # type: ignore[arg-type]
    assert "a list is no label" in str(refused(it, Rounds(3, Fraction(1, 4))))
    (tmp_path / "other").mkdir()
    assert session(tmp_path / "other", in_duckdb()).open(Rounds(3, Fraction(1, 4))).number == 1
