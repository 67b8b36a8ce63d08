"""A real PostgreSQL server through Ibis: the contract of every engine, its own types, and its troubles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpviz as dv
from dpviz.engines import queries
from dpviz.errors import DomainError, DpvizError, EngineGone, ReleaseCancelled, ReleaseFailed, SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import StatisticKind, Top
from dpviz.privacy.unit import Unit
from tests.engines import contract, decimals, engines, sums, test_key_products, test_profiles, test_sums, test_times
from tests.engines import server as there
from tests.engines.frames import kinds_in, plain_frames, questions, units, wide_questions
from tests.ledger.server import ANALYST, Server
from tests.patience import until
from tests.soak.amounts import part

ROW = Unit("row")
HELD = ["int64", "int8", "float64", "float32", "Int64", "bool", "boolean", "str"]
"""Columns of which PostgreSQL makes the same values."""


@pytest.fixture(scope="module")
def postgres(server: Server) -> contract.Engine:
    return there.on_postgres(server)


def asked_of(source: Any, question: Question, unit: Unit, need: Any) -> None:
    """Go on only where the engine does not refuse the question, as it says that it does."""
    try:
        source.check(question, unit, need)
    except (SchemaError, DomainError) as refused:
        assert any(
            said in str(refused) for said in ("floats", "10^36", "dense count", "shortest form", "whole numbers")
        ), refused
        assume(False)


# ---------------------------------------------------------------- the contract


@settings(max_examples=part(30, 10))
@given(st.data())
def test_counts_are_those_of_the_reference(postgres: contract.Engine, data: st.DataObject) -> None:
    frame, _ = data.draw(plain_frames(HELD))
    source = postgres(frame, "data", None)
    kinds = kinds_in(frame, source.columns)
    question, unit = data.draw(questions(kinds)), data.draw(units)
    asked_of(source, question, unit, StatisticKind.DENSE)
    dense = contract.counts_as_the_reference(lambda *_: source, frame, question, unit)
    occupied = contract.sparse_as_the_reference(lambda *_: source, frame, question, unit)
    assert occupied == [(bin, count) for bin, count in enumerate(dense) if count]


@settings(max_examples=part(30, 10))
@given(st.data())
def test_sparse_and_largest_counts_are_those_of_the_reference(postgres: contract.Engine, data: st.DataObject) -> None:
    frame, _ = data.draw(plain_frames(HELD))
    source = postgres(frame, "data", None)
    kinds = kinds_in(frame, source.columns)
    question, unit = data.draw(wide_questions(kinds)), data.draw(units)
    asked_of(source, question, unit, StatisticKind.SPARSE)
    contract.sparse_as_the_reference(lambda *_: source, frame, question, unit)

    def top(held: pd.DataFrame, asked: Question, of: Unit, rows: int) -> contract.Largest:
        return contract.largest(postgres(held, "data", None), asked, of, rows)

    contract.top_as_the_reference(top, frame, source.columns, question, unit, data.draw(st.integers(1, 3)))


def test_one_user_weighs_little_in_every_tiny_frame(postgres: contract.Engine) -> None:
    unit = Unit("user", max_bins=1, max_per_bin=1)
    assert contract.one_user_weighs_little_in_every_tiny_frame(contract.counter(postgres), unit, rows=1) == 16


def test_progress_tells_public_sizes_only(postgres: contract.Engine) -> None:
    long = pd.DataFrame({"x": range(5_000), "user": [str(value % 7) for value in range(5_000)]})
    odd = pd.DataFrame({"x": pd.Series([-1], dtype="int64"), "user": ["CANARY"]})
    question = Question.of(Domain.integers(0, 9, column="x"), {"user": ["1", "2"]})
    for need in (StatisticKind.DENSE, StatisticKind.SPARSE, Top(3)):
        contract.ticks_with_public_sizes(postgres, [long, odd, long.iloc[:0]], question, Unit("user"), need)


def test_sums_of_strange_values_are_those_of_the_reference(postgres: contract.Engine) -> None:
    frame = test_sums.many()
    source = postgres(frame, "data", None)
    for question, unit in test_sums.MANY[1::2]:
        sums.sums_as_the_reference(source, frame, question, unit)


def test_profiles_of_users_are_those_that_are_counted_by_hand(postgres: contract.Engine) -> None:
    test_profiles.as_counted_by_hand(postgres, 3)


@pytest.mark.parametrize("name", test_key_products.PRODUCTS)
def test_keys_among_declared_bins_are_those_of_the_reference(name: str, postgres: contract.Engine) -> None:
    frame, domain = test_key_products.rows(np.random.default_rng(11), 200), test_key_products.PRODUCTS[name]
    contract.sparse_as_the_reference(postgres, frame, Question.of(domain), Unit("user", max_bins=2, max_per_bin=2))


def test_times_are_those_of_pandas(postgres: contract.Engine) -> None:
    frame = test_times.frame(400).drop(columns="day")
    source, here = postgres(frame, "data", None), engines.pandas(frame, "data", None)
    for by in ("hour", "day", "week", "month", "quarter", "year"):
        for flags in ({}, {"underflow": True, "overflow": True, "missing": True}):
            question = Question.of(test_times.domain_of(by, **flags), {"left": Between("2011-12-01", "2012-11")})
            for unit in (ROW, Unit("who", max_bins=1, max_per_bin=2)):
                found, expected = (one.count(question, unit, StatisticKind.DENSE).take() for one in (source, here))
                assert found.tolist() == expected.tolist()
                assert found.sum() > 0 or by == "hour"


BITS = Question.records([Domain.integers(0, 1, column=name) for name in "abc"], otherwise={"a": 1, "b": 0, "c": 0})


def test_records_and_their_bits_are_those_of_pandas(postgres: contract.Engine) -> None:
    frame = pd.DataFrame({name: [0, 1, 1, 0, at, None] for at, name in enumerate("abc")}).astype("Int64")
    here, held = engines.pandas(frame, "data", None), postgres(frame, "data", None)
    for need in (StatisticKind.ONES, StatisticKind.BITS):
        held.check(BITS, ROW, need)
        one, other = (source.count(BITS, ROW, need) for source in (here, held))
        if need is StatisticKind.ONES:
            assert [part if isinstance(part, int) else part.tolist() for part in one.take()] == [
                part if isinstance(part, int) else part.tolist() for part in other.take()
            ]
        else:
            assert sorted(one.take().tolist()) == sorted(other.take().tolist())


# ---------------------------------------------------------------- types of its own


TYPES = """CREATE TYPE mood AS ENUM ('sad', 'happy', 'Ähm');
CREATE DOMAIN age AS integer CHECK (VALUE > 0);
CREATE COLLATION IF NOT EXISTS same_letters (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE TABLE odd (
    id integer PRIMARY KEY, small smallint, years age, real4 real, real8 double precision, exact numeric, flag boolean,
    words text, merged text COLLATE same_letters, sorted text COLLATE "und-x-icu", few varchar(5), padded character(5),
    called name, feeling mood, day date, clock timestamp, instant timestamptz, token uuid, raw bytea, many integer[],
    doc jsonb, span interval, hour time, price money);
INSERT INTO odd VALUES
    (1, 1, 3, 0.1, 0.1, 0.1, true, 'a', 'a', 'a', 'a', 'a', 'a', 'sad', '2020-01-31', '2020-01-31 23:59:59.999999',
     '2020-01-31 23:30:00-05', gen_random_uuid(), 'x', '{1}', '{}', '1 day', '10:00', 1),
    (2, NULL, NULL, 'NaN', 'NaN', 'NaN', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'infinity', 'infinity',
     'infinity', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, 2, 4, 'Infinity', 'Infinity', 'Infinity', false, 'A', 'A', 'A', 'A', 'A ', 'A', 'happy', '-infinity',
     '-infinity', '-infinity', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 2, 4, '-Infinity', '-Infinity', '-Infinity', false, 'ä', 'ä', 'ä', 'ä', 'ä', 'ä', 'Ähm', '4713-01-01 BC',
     '4713-01-01 BC', '2020-01-01', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (5, 2, 4, 0.5, 0.5, 0.5, false, 'z', 'z', 'z', 'z', 'z', 'z', 'happy', '5874897-12-31', '294276-12-31',
     '2020-01-01', NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""


@pytest.fixture(scope="module")
def odd(server: Server) -> Any:
    return there.table(server, TYPES, "odd")


@pytest.mark.parametrize("column", ["words", "merged", "sorted", "few", "padded", "called", "feeling"])
def test_texts_of_every_type_and_collation_are_told_apart_by_code_point(column: str, odd: Any) -> None:
    question = Question.of(Domain.keys(column=column))
    odd.check(question, ROW, StatisticKind.SPARSE)
    labels, counts = odd.count(question, ROW, StatisticKind.SPARSE).take()
    expected = {"happy": 2, "sad": 1, "Ähm": 1} if column == "feeling" else {"A": 1, "a": 1, "z": 1, "ä": 1}
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == expected
    items, _, _ = odd.count(question, ROW, Top(4)).take()
    assert list(items) == sorted(expected, key=lambda label: (-expected[label], label))
    chosen = Domain.categories(sorted(expected), column=column, other=True, missing=True)
    counts = odd.count(Question.of(chosen), ROW, StatisticKind.DENSE).take().tolist()
    assert counts == [*(expected[label] for label in sorted(expected)), 0, 1]


@pytest.mark.parametrize("column", ["real4", "real8", "exact"])
def test_numbers_that_are_none_are_missing_and_endless_ones_lie_outside(column: str, odd: Any) -> None:
    domain = Domain.intervals(["0", "1/10", "1/2", "1"], column=column, underflow=True, overflow=True, missing=True)
    odd.check(Question.of(domain), ROW, StatisticKind.DENSE)
    assert odd.count(Question.of(domain), ROW, StatisticKind.DENSE).take().tolist() == [1, 0, 1, 1, 1, 1]
    inside = Question.of(Domain.integers(1, 5, column="id"), {column: Between(0, 10)})
    assert odd.count(inside, ROW, StatisticKind.DENSE).take().tolist() == [1, 0, 0, 0, 1]


@pytest.mark.parametrize("column", ["day", "clock"])
def test_endless_times_are_missing_and_far_ones_lie_outside(column: str, odd: Any) -> None:
    domain = Domain.times("2020", "2021", by="month", column=column, underflow=True, overflow=True, missing=True)
    odd.check(Question.of(domain), ROW, StatisticKind.DENSE)
    counts = odd.count(Question.of(domain), ROW, StatisticKind.DENSE).take().tolist()
    assert (counts[0], counts[1], sum(counts[2:-2]), counts[-2], counts[-1]) == (1, 1, 0, 1, 2)


@pytest.mark.parametrize("column", ["instant", "token", "raw", "many", "doc", "span", "hour", "price"])
def test_a_column_of_another_type_is_refused_by_its_type(column: str, odd: Any) -> None:
    times = Domain.times("2020", "2021", column=column, by="day")
    for asked in (Domain.keys(column=column), Domain.integers(0, 9, column=column), times):
        with pytest.raises(SchemaError):
            odd.check(Question.of(asked), ROW, StatisticKind.SPARSE)


@pytest.mark.parametrize("declared", [True, False])
def test_decimals_are_those_of_the_reference(declared: bool, server: Server) -> None:
    """Of NUMERIC(p, s), and of NUMERIC, which has any number of digits."""
    opened = there.backend(server)

    def engine(frame: pd.DataFrame, digits: int, places: int) -> Any:
        name = f"decimals_{digits}_{places}_{declared}".lower()
        kind = f"numeric({digits}, {places})" if declared else "numeric"
        opened.raw_sql(f'CREATE TABLE {name} (x {kind}, k text, "user" text)').close()
        with opened.con.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for value, k, user in frame.itertuples(index=False):
                copy.write_row([decimals.written(value, places), k, user])
        return dv.sources.ibis(opened.table(name))

    assert decimals.decimals_are_those_of_the_reference(engine, few=True) >= 30


def test_a_column_of_a_domain_is_one_of_its_type(odd: Any) -> None:
    question = Question.of(Domain.integers(3, 4, column="years", missing=True))
    assert odd.count(question, ROW, StatisticKind.DENSE).take().tolist() == [1, 3, 1]


def test_a_label_that_the_server_cannot_be_sent_is_refused_before_a_charge(odd: Any) -> None:
    question = Question.of(Domain.categories(["a", "b\0c"], column="words"))
    with pytest.raises(SchemaError, match="cannot count this"):
        odd.check(question, ROW, StatisticKind.DENSE)


def test_labels_that_sql_would_read_otherwise_are_labels(server: Server) -> None:
    names = ["it's", 'say "x"', "back\\slash", "%s", "{}", "line\nend", "; DROP TABLE t", "$1", ""]
    frame = pd.DataFrame({"name": names, "user": names})
    source = there.on_postgres(server)(frame, "data", None)
    question = Question.of(Domain.categories(names, column="name"))
    assert source.count(question, Unit("user"), StatisticKind.DENSE).take().tolist() == [1] * len(names)


def test_a_database_in_another_encoding_has_the_digests_of_utf_8(server: Server) -> None:
    """Which bins a user keeps must not hang on how a server holds its texts."""
    with server.connect() as connection:
        connection.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    held = there.backend(server, database="latin")
    users = ["Zoë", "Jürgen", "Ängström", "plain"]
    frame = pd.DataFrame({"bin": list(range(6)) * 4, "user": [user for user in users for _ in range(6)]})
    held.raw_sql('CREATE TABLE t (bin bigint, "user" text)').close()
    with held.con.cursor() as cursor, cursor.copy("COPY t FROM STDIN") as copy:
        for bin, user in frame.itertuples(index=False):
            copy.write_row([bin, user])
    question, unit = Question.of(Domain.integers(0, 5, column="bin")), Unit("user", max_bins=2)
    source = dv.sources.ibis(held.table("t"))
    expected = engines.pandas(frame, "data", None).count(question, unit, StatisticKind.DENSE).take().tolist()
    assert source.count(question, unit, StatisticKind.DENSE).take().tolist() == expected


# ---------------------------------------------------------------- troubles


SMALL = """CREATE TABLE {0} (x integer, word text);
INSERT INTO {0} SELECT n % 10, 'w' || n FROM generate_series(1, 1000) n"""
ASKED = Question.of(Domain.integers(0, 9, column="x"))


def session(server: Server, name: str, tmp_path: Any) -> dv.Session:
    source = there.table(server, SMALL.format(name), name)
    return dv.Session(source, dv.Unit(), dv.Budget("2"), tmp_path / "ledger")


@pytest.mark.parametrize(
    "at, change",
    list(
        enumerate(
            [
                "ALTER TABLE {0} ALTER x TYPE text",
                "ALTER TABLE {0} DROP COLUMN word",
                "ALTER TABLE {0} RENAME x TO y",
                "ALTER TABLE {0} ALTER word TYPE text USING 'w'; ALTER TABLE {0} RENAME word TO old;"
                "ALTER TABLE {0} ADD COLUMN word integer",
                "DROP TABLE {0}",
            ]
        )
    ),
)
def test_a_table_that_changes_while_it_is_open_is_refused_before_a_charge(
    at: int, change: str, server: Server, tmp_path: Any
) -> None:
    held = session(server, f"changed_{at}", tmp_path)
    held.release(ASKED.domain, dv.Dense("1/2"))
    before = held.remaining
    with server.connect() as connection:
        connection.execute(change.format(f"changed_{at}"))
    for domain in (ASKED.domain, dv.Domain.integers(0, 4, column="x")):  # one that was asked before, and a new one
        with pytest.raises(EngineGone, match="open the session anew|Open the session anew") as refused:
            held.release(domain, dv.Dense("1/2"), key="again")
        assert "othing was charged" in str(refused.value)
    assert held.remaining == before


def test_a_backend_that_is_ended_while_it_counts_names_the_entry_and_the_key(server: Server, tmp_path: Any) -> None:
    rows = "SELECT (a.n % 10)::int AS x FROM generate_series(1, 100000) AS a(n), generate_series(1, 100000) AS b(m)"
    source = there.table(server, f"CREATE VIEW endless AS {rows}", "endless")
    held = dv.Session(source, dv.Unit(), dv.Budget("2"), tmp_path / "ledger")
    running = held.release_async(ASKED.domain, dv.Dense("1/2"), key="spring")

    pid = source._engine._connection.info.backend_pid

    def ended() -> bool:
        with server.connect() as connection:
            found = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND pid = %s", (pid,)
            ).fetchall()
        return bool(found)

    until(lambda: running.number is not None and ended())
    with pytest.raises(ReleaseFailed, match='entry 1, key "spring"|Entry 1, key "spring"') as failed:
        running.result()
    assert "The engine is gone" in str(failed.value) and "pg_terminate" not in str(failed.value)
    before = held.remaining
    with pytest.raises(EngineGone, match="othing was charged"):
        held.release(ASKED.domain, dv.Dense("1/2"), key="summer")
    assert held.remaining == before


def test_a_query_is_cancelled_on_the_server(server: Server, tmp_path: Any) -> None:
    rows = "SELECT 'k' || (a.n % 10) AS x FROM generate_series(1, 100000) AS a(n), generate_series(1, 100000) AS b(m)"
    source = there.table(server, f"CREATE VIEW forever AS {rows}", "forever")
    held = dv.Session(source, dv.Unit(), dv.Budget("2", "1e-5"), tmp_path / "ledger")
    running = held.release_async(dv.Domain.keys(column="x"), dv.Stability("1/2", "1e-6"))

    pid = source._engine._connection.info.backend_pid

    def active() -> bool:
        with server.connect() as connection:
            known = connection.execute("SELECT state FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone()
        return known == ("active",)

    until(lambda: running.number is not None and active())
    running.cancel()
    with pytest.raises(ReleaseCancelled):
        running.result()
    until(lambda: not active())
    source.probe()  # and the connection goes on


def test_a_table_that_somebody_locks_is_refused_before_a_charge(
    server: Server, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "ANSWERS", 0.5)
    held = session(server, "locked", tmp_path)
    with server.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE locked IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(DpvizError, match="othing was charged"):
            held.release(ASKED.domain, dv.Dense("1/2"))
    assert held.remaining.epsilon == 2
    assert held.release(ASKED.domain, dv.Dense("1/2")).number == 1


def test_a_connection_whose_transaction_failed_is_refused_before_a_charge(server: Server, tmp_path: Any) -> None:
    opened = there.backend(server)
    with server.connect() as connection:
        connection.execute(SMALL.format("inside"))
    source = dv.sources.ibis(opened.table("inside"))
    held = dv.Session(source, dv.Unit(), dv.Budget("2"), tmp_path / "ledger")
    opened.con.autocommit = False
    with pytest.raises(psycopg.Error):
        opened.con.execute("SELECT 1 / 0")
    with pytest.raises(DpvizError):
        held.release(ASKED.domain, dv.Dense("1/2"))
    opened.con.rollback()
    assert held.remaining.epsilon == 2
    assert held.release(ASKED.domain, dv.Dense("1/2")).number == 1


def test_a_table_that_this_role_may_not_read_is_not_opened(server: Server) -> None:
    with server.connect() as connection:
        connection.execute(SMALL.format("closed"))
    held = there.backend(server, user=ANALYST)
    with pytest.raises(DpvizError) as refused:
        dv.sources.ibis(held.table("closed"))
    assert refused.value.next_step
