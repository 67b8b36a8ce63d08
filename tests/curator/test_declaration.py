"""A declaration is read whole or refused by the name of the field, and says nothing of a secret."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.curator import declaration
from dpviz.curator.caps import Cap, Caps
from dpviz.curator.declaration import Declaration
from dpviz.curator.opening import SOURCE
from dpviz.curator.serve import keeper_of
from dpviz.curator.tokens import digest_of
from dpviz.errors import BudgetExceeded, DpvizError, ParameterError, SchemaError, UnitError
from tests.canary.mistakes import dissected
from tests.ledger.server import OWNER, Server

TOKEN = "a-token-of-ada"
WHOLE = f"""
dataset = "visits"
ledger = "visits.ledger"
tick = "0.25"

[source]
file = "visits.csv"
delimiter = ";"

[unit]
of = "person"
noun = "person"
max_bins = 3
max_records = "no limit"

[budget]
epsilon = "2"
delta = "0.000001"
filter = "zcdp"
reserve = "1/10"

[columns.visits]
kind = "number"
bins = {{ kind = "integers", low = 0, high = 40, overflow = true }}

[columns.seen]
kind = "date"
format = "%d/%m/%Y"

[columns.share]
kind = "number"
bins = {{ kind = "intervals", edges = [0, 0.1, 1.0] }}

[caps]
each = {{ epsilon = "1/2" }}

[caps.analysts]
ada = [{{ epsilon = "1", delta = "0.0000005" }}, {{ epsilon = "0.1", per = "day" }}]

[caps.projects]
flu = {{ epsilon = "1", per = "month" }}

[[analysts]]
name = "ada"
login = {os.getuid()}
hub = "ada.l"
tokens = ["{hashlib.sha256(TOKEN.encode()).hexdigest()}"]
project = "flu"

[[analysts]]
name = "keeper"
hub = "keeper"
scopes = ["approve", "audit"]

[listen]
socket = "visits.sock"
mode = "0600"
host = "localhost"
port = 8443
hub = true

[[approval]]
above_epsilon = "1/2"

[[approval]]
mechanisms = ["Stability"]
columns = ["diagnosis"]

[queue]
waiting = 8
"""


def declared(folder: Path, text: str = WHOLE) -> Declaration:
    path = folder / "visits.toml"
    path.write_text(text, encoding="utf-8")
    (folder / "visits.csv").write_text("person;visits;seen;share\na;3;31/01/2026;0.5\nb;1;01/02/2026;0.05\n")
    (folder / "visits.csv").chmod(0o600)
    return Declaration.read(path)


def refused(folder: Path, text: str) -> DpvizError:
    with pytest.raises(DpvizError) as caught:
        declared(folder, text)
    for part in (caught.value.value, caught.value.rule, caught.value.next_step):
        assert part
    return caught.value


def test_a_whole_declaration_is_read_field_by_field(tmp_path: Path) -> None:
    found = declared(tmp_path)
    assert (found.dataset, found.tick, found.queue.waiting, found.queue.each) == ("visits", Fraction(1, 4), 8, 4)
    assert found.unit == dv.Unit("person", noun="person", max_bins=3)
    assert found.budget == dv.Budget("2", "1e-6", "zcdp", reserve="1/10")
    assert found.schema == {"visits": "number", "seen": ("date", "%d/%m/%Y"), "share": "number"}
    assert found.bins == {
        "visits": dv.Domain.integers(0, 40, column="visits", overflow=True),
        "share": dv.Domain.intervals(["0", "1/10", "1"], column="share"),
    }
    assert found.caps.each == (
        Cap(Fraction(1, 2), Fraction(1, 10**6)),
    )  # the delta of the budget: epsilon alone is capped
    assert found.caps.analysts["ada"] == (
        Cap(Fraction(1), Fraction(5, 10**7)),
        Cap(Fraction(1, 10), Fraction(1, 10**6), "day"),
    )
    assert found.caps.projects == {"flu": (Cap(Fraction(1), Fraction(1, 10**6), "month"),)}
    assert found.listening.socket == tmp_path / "visits.sock"
    assert (found.listening.mode, found.listening.host, found.listening.port) == (0o600, "localhost", 8443)
    assert found.listening.hub and found.listening.certificate is None


def test_a_short_declaration_has_the_usual_values(tmp_path: Path) -> None:
    text = 'dataset = "doctor visits"\nledger = "v.ledger"\nsource.practice = "doctor_visits"\nbudget.epsilon = 1\n'
    found = declared(tmp_path, text + 'unit.of = "row"\nlisten.socket = "v.sock"\n')
    assert (found.unit, found.budget, found.tick) == (dv.Unit(), dv.Budget(1), Fraction(1, 2))
    assert (found.analysts, found.caps, found.approvals, found.listening.mode) == ((), Caps(), (), 0o660)


def test_callers_are_known_by_what_proves_them(tmp_path: Path) -> None:
    found = declared(tmp_path)
    by_uid = found.caller_of_uid(os.getuid())
    assert by_uid is not None
    assert (by_uid.name, by_uid.project, by_uid.scopes) == ("ada", "flu", {"plan", "release"})
    assert by_uid.proof == f"user {os.getuid()} of this machine"
    by_token, by_hub = found.caller_of_token(TOKEN), found.caller_of_hub("keeper")
    assert by_token is not None and by_hub is not None
    assert (by_token.name, by_token.proof) == ("ada", "a token")
    assert (by_hub.name, by_hub.scopes, by_hub.proof) == ("keeper", {"approve", "audit"}, "JupyterHub")


@pytest.mark.parametrize("token", ["", TOKEN + " ", TOKEN.upper(), digest_of(TOKEN), "\ud800", None, 7, b"x"])
def test_no_other_token_is_anybody_s(token: object, tmp_path: Path) -> None:
    assert declared(tmp_path).caller_of_token(token) is None


def test_nobody_is_known_by_what_they_do_not_have(tmp_path: Path) -> None:
    found = declared(tmp_path)
    assert found.caller_of_uid(os.getuid() + 1) is None
    assert found.caller_of_hub("") is None  # of the analysts without a hub user
    assert found.caller_of_hub("ada") is None  # the name of an analyst is not one of the hub


def test_a_login_is_the_user_of_that_name_and_two_analysts_are_not_one_user(tmp_path: Path) -> None:
    name = pwd.getpwuid(os.getuid()).pw_name
    by_name = declared(tmp_path, WHOLE.replace(f"login = {os.getuid()}", f'login = "{name}"'))
    caller = by_name.caller_of_uid(os.getuid())
    assert caller is not None and caller.name == "ada"
    nobody = declared(tmp_path, WHOLE.replace(f"login = {os.getuid()}", 'login = "nobody-of-this-name"'))
    assert nobody.uids == {}
    twice = declared(tmp_path, WHOLE.replace('name = "keeper"', f'name = "keeper"\nlogin = "{name}"'))
    with pytest.raises(ParameterError, match="ada and keeper"):
        twice.caller_of_uid(os.getuid())


@pytest.mark.parametrize(
    ("price", "mechanism", "columns", "waits"),
    [
        ("1/2", "Dense", ["visits"], False),
        ("0.51", "Dense", ["visits"], True),
        ("0.1", "Stability", ["visits"], False),
        ("0.1", "Stability", ["visits", "diagnosis"], True),
        ("0.1", "Dense", ["diagnosis"], False),
    ],
)
def test_a_rule_covers_what_meets_every_condition(
    price: str, mechanism: str, columns: list[str], waits: bool, tmp_path: Path
) -> None:
    rules = declared(tmp_path).approvals
    assert any(rule.covers(Fraction(price), Fraction(0), mechanism, columns) for rule in rules) is waits


UNKNOWN = [
    ("dataset =", "datset =", "dataset"),
    ("tick =", "ticks =", "tick"),
    ("delimiter =", "delimeter =", "delimiter"),
    ("max_bins =", "maxbins =", "max_bins"),
    ("reserve =", "reserv =", "reserve"),
    ("bins = { kind", "bin = { kind", "bins"),
    ('per = "month"', 'every = "month"', "epsilon, delta, per"),
    ("project =", "projekt =", "project"),
    ("mode =", "modes =", "mode"),
    ("mechanisms =", "mechanism =", "mechanisms"),
    ("waiting =", "wating =", "waiting"),
    ('kind = "date"', 'kind = "data"', "date"),
    ('kind = "integers"', 'kind = "integer"', "integers"),
    ('"Stability"', '"Stabilty"', "Stability"),
    ('"approve"', '"aprove"', "approve"),
    ("ada = [", "adda = [", "ada"),
    ("flu = {", "flue = {", "flu"),
    ('filter = "zcdp"', 'filter = "zdcp"', ""),
    ('per = "day"', 'per = "days"', "day"),
]


@pytest.mark.parametrize(("right", "wrong", "meant"), UNKNOWN, ids=[wrong for _, wrong, _ in UNKNOWN])
def test_a_name_that_is_not_known_is_refused_by_name_with_the_nearest(
    right: str, wrong: str, meant: str, tmp_path: Path
) -> None:
    assert right in WHOLE
    error = refused(tmp_path, WHOLE.replace(right, wrong, 1))
    assert meant in error.next_step


WRONG: list[tuple[str, str, str]] = [
    ('epsilon = "2"', "epsilon = 2.0", 'write epsilon = "2.0"'),
    ('epsilon = "2"', "epsilon = 1_0.5", 'write epsilon = "10.5"'),
    ('epsilon = "2"', "epsilon = inf", 'write epsilon = "2"'),
    ('epsilon = "2"', "epsilon = true", "must be a number in quotes"),
    ('epsilon = "2"', 'epsilon = "two"', "like 0.1 or 1/10"),
    ('epsilon = "2"', "", "budget.epsilon must be given"),
    ('delta = "0.000001"', "delta = 1e-6", 'write delta = "1e-6"'),
    ('epsilon = "1/2"', "epsilon = 0.5", 'write epsilon = "0.5"'),
    ('epsilon = "1/2"', 'epsilon = "-1/2"', "caps.each.epsilon must be positive"),
    ('epsilon = "1/2"', 'epsilon = "1/2", delta = "0"', "caps: a budget with the zCDP filter needs a δ"),
    ('tick = "0.25"', "tick = 0.25", 'write tick = "0.25"'),
    ('tick = "0.25"', 'tick = "0"', "tick must be positive"),
    ('tick = "0.25"', 'tick = "1e9"', "seconds"),
    ('above_epsilon = "1/2"', "", "must have a condition"),
    ('of = "person"', "", "unit.of must be given"),
    ("max_bins = 3", "max_bins = -3", "unit: max_bins"),
    ("max_bins = 3", 'max_bins = "nolimit"', "unit: max_bins"),
    ('format = "%d/%m/%Y"', 'format = "%Q"', ""),
    ("low = 0", "low = 50", "columns.visits.bins: an integer domain must not be reversed"),
    ("low = 0", "low = 2012-01-01", 'write low = "2012-01-01"'),
    ("low = 0", 'low = 0, column = "other"', "is of its own column"),
    ('kind = "date"', 'kind = "text"', "columns.seen.format is that of dates in texts"),
    ('mode = "0600"', "mode = 600", "listen.mode must be a text"),
    ('mode = "0600"', 'mode = "rw"', "octal digits"),
    ('host = "localhost"', 'host = "0.0.0.0"', "encrypted alone"),
    ('host = "localhost"', 'host = "db.example.org"', "encrypted alone"),
    ("port = 8443", "", "belong together"),
    ("port = 8443", 'port = 8443\nkey = "k.pem"', "belong together"),
    ("port = 8443", "port = 0", "listen.port"),
    ('file = "visits.csv"', 'file = "visits.csv"\npractice = "flights"', "one of file, url, practice"),
    ('file = "visits.csv"', "", "one of file, url, practice"),
    ('file = "visits.csv"', 'practice = "flights"', "does not go with source.practice"),
    ('name = "keeper"', 'name = "ada"', "ada twice"),
    ('hub = "keeper"', 'hub = "ada.l"', "ada.l twice"),
    ("waiting = 8", "waiting = 0", "queue.waiting"),
    ('name = "keeper"', "", "name must be given"),
    ('name = "keeper"', 'name = " "', "name must be a text"),
    ("[[analysts]]", "[[analysts.more]]", "declaration is written in TOML"),
]


@pytest.mark.parametrize(("right", "wrong", "told"), WRONG, ids=[f"{wrong or right}" for right, wrong, _ in WRONG])
def test_a_wrong_value_is_refused_with_its_field_and_what_to_write(
    right: str, wrong: str, told: str, tmp_path: Path
) -> None:
    assert right in WHOLE
    if right == 'format = "%d/%m/%Y"':  # the format itself is read with the data
        with pytest.raises(SchemaError):
            declared(tmp_path, WHOLE.replace(right, wrong, 1)).source()
        return
    assert told in str(refused(tmp_path, WHOLE.replace(right, wrong, 1)))


TABLES: list[tuple[str, str]] = [
    ("unit", 'unit = "row"'),
    ("budget", "budget = 2"),
    ("columns", "columns = []"),
    ("caps", 'caps = "1"'),
    ("analysts", 'analysts = ["ada"]'),
    ("listen", "listen = 1"),
    ("source", 'source = "visits.csv"'),
    ("approval", "approval = [1]"),
    ("queue", "queue = []"),
]


@pytest.mark.parametrize(("name", "wrong"), TABLES, ids=[name for name, _ in TABLES])
def test_a_value_where_a_table_belongs_is_refused_by_name(name: str, wrong: str, tmp_path: Path) -> None:
    usual = {
        "dataset": 'dataset = "v"', "ledger": 'ledger = "v.ledger"', "source": 'source.practice = "flights"',
        "budget": 'budget.epsilon = "1"', "unit": 'unit.of = "row"', "listen": 'listen.socket = "v.sock"',
    }  # fmt: skip
    error = refused(tmp_path, "\n".join((usual | {name: wrong}).values()))
    assert name in error.rule and "table" in error.rule


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe", b'dataset = "a', b"a = " + b"[" * 50_000, b"epsilon = " + b"9" * 5_000, b"x" * (1 << 21),
        b"ledger = 'Quetzalwren'\nledger = 'Quetzalwren'", b"Quetzalwren", b"a = {Quetzalwren = 1, Quetzalwren = 2}",
    ],
    ids=["encoding", "cut", "deep", "digits", "large", "twice", "bare", "inline twice"],
)  # fmt: skip
def test_what_is_no_toml_is_refused_without_a_word_of_it(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "visits.toml"
    path.write_bytes(content)
    with pytest.raises(ParameterError) as caught:
        Declaration.read(path)
    assert "Quetzalwren" not in dissected(caught.value)


def test_a_file_with_a_byte_order_mark_and_other_line_ends_is_read(tmp_path: Path) -> None:
    declared(tmp_path)
    (tmp_path / "visits.toml").write_bytes(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode())
    assert Declaration.read(tmp_path / "visits.toml").dataset == "visits"


def test_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "visits.toml")
    with pytest.raises(ParameterError, match="file that can be read"):
        Declaration.read(tmp_path / "visits.toml")


SECRETS: list[tuple[str, str]] = [
    ('ledger = "visits.ledger"', 'ledger = "postgresql://curator:Quetzalwren@127.0.0.1:1/x?connect_timeout=1"'),
    ('ledger = "visits.ledger"', 'ledger = "mysql://curator:Quetzalwren@127.0.0.1/x"'),
    ('ledger = "visits.ledger"', 'ledger = ["Quetzalwren"]'),
    ('ledger = "visits.ledger"', 'ledger = "env:DPVIZ_TEST_PLACE"'),
    ('file = "visits.csv"', 'url = "postgresql://curator:Quetzalwren@127.0.0.1:1/x"\ntable = "visits"'),
    ('file = "visits.csv"', 'url = "mysql://curator:Quetzalwren@127.0.0.1/x"\ntable = "visits"'),
    ('file = "visits.csv"', 'url = "curator:Quetzalwren"\ntable = "visits"'),
    ('file = "visits.csv"', 'file = "postgresql://curator:Quetzalwren"'),
    ('file = "visits.csv"', 'url = "env:DPVIZ_TEST_PLACE"\ntable = "visits"'),
    ('tokens = ["', 'tokens = ["Quetzalwren", "'),
    ('tokens = ["', 'tokens = [1.5, "Quetzalwren", "'),
]


@pytest.mark.parametrize(("right", "wrong"), SECRETS, ids=[wrong[:30] for _, wrong in SECRETS])
def test_a_secret_is_in_no_message_no_frame_and_no_repr(
    right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPVIZ_TEST_PLACE", "postgresql://curator:Quetzalwren@127.0.0.1:1/x")
    assert right in WHOLE
    text = WHOLE.replace(right, wrong, 1)
    text = text.replace('delimiter = ";"\n', "") if "url" in wrong else text
    with pytest.raises(DpvizError) as caught:
        found = declared(tmp_path, text)
        assert "Quetzalwren" not in repr(found)
        found.session()
    assert "Quetzalwren" not in dissected(caught.value)


def test_a_token_is_in_no_repr(tmp_path: Path) -> None:
    shown = repr(declared(tmp_path))
    assert "ada" in shown and digest_of(TOKEN) not in shown


def test_the_environment_holds_what_the_file_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = declared(tmp_path, WHOLE.replace('ledger = "visits.ledger"', 'ledger = "env:DPVIZ_TEST_PLACE"'))
    with pytest.raises(ParameterError, match="DPVIZ_TEST_PLACE"):
        found.session()
    monkeypatch.setenv("DPVIZ_TEST_PLACE", "elsewhere.ledger")
    assert found.session().ledger_name == "elsewhere.ledger"
    assert (tmp_path / "elsewhere.ledger").exists()


def test_the_session_is_that_of_the_declaration(tmp_path: Path) -> None:
    session = declared(tmp_path).session()
    assert (session.dataset, session.unit, session.budget.text) == (
        "visits",
        dv.Unit("person", noun="person", max_bins=3),
        "ε 2, δ 0.000001, zCDP filter",
    )
    assert {column.name: column.kind for column in session.columns}["seen"] == "time"
    bins = declared(tmp_path).bins["visits"]
    assert session.release(bins, dv.Dense(epsilon="1/2")).number == 1


def test_a_curator_checks_the_declared_caps(tmp_path: Path) -> None:
    found = declared(tmp_path, WHOLE.replace('filter = "zcdp"\nreserve = "1/10"\n', ""))
    keeper, caller = keeper_of(found), found.caller_of_token(TOKEN)
    assert caller is not None
    session, bins = keeper.session_of(caller), found.bins["visits"]
    session.release(bins, dv.Dense(epsilon="0.09"))  # of 0.1 a day
    with pytest.raises(BudgetExceeded, match="the cap of analyst ada, ε 0.1"):
        session.release(bins, dv.Dense(epsilon="0.02"))
    keeper.session.release(bins, dv.Dense(epsilon="0.02"))  # the owner has no cap but the budget
    keeper.close()


def opens(folder: Path, source: str, **declared_: Any) -> list[str]:
    text = 'dataset = "v"\nledger = "v.ledger"\nbudget.epsilon = "1"\nlisten.socket = "v.sock"\n'
    return [column.name for column in declared(folder, text + 'unit.of = "row"\n' + source).source().columns]


def test_every_kind_of_source_opens(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})
    frame.to_parquet(tmp_path / "v.parquet")
    (tmp_path / "parts" / "year=2020").mkdir(parents=True)
    frame.to_parquet(tmp_path / "parts" / "year=2020" / "v.parquet")
    import sqlite3

    import duckdb

    with sqlite3.connect(tmp_path / "v.sqlite") as connection:
        connection.execute("CREATE TABLE visits (x INTEGER, y TEXT)")
    connection.close()
    with duckdb.connect(str(tmp_path / "v.duckdb")) as other:
        other.execute("CREATE TABLE visits (x INTEGER, y TEXT)")
    assert opens(tmp_path, 'source.file = "v.parquet"') == ["x", "y"]
    assert opens(tmp_path, f'source.file = "{tmp_path}/v.parquet"') == ["x", "y"]
    assert opens(tmp_path, 'source.file = "parts"\nsource.hive = { year = "integer" }') == ["x", "y", "year"]
    assert opens(tmp_path, 'source.file = "v.sqlite"\nsource.table = "visits"') == ["x", "y"]
    assert opens(tmp_path, 'source.file = "v.duckdb"\nsource.table = "visits"') == ["x", "y"]
    assert opens(tmp_path, 'source.practice = "flights"') == ["aircraft", "destination", "scheduled_minute"]
    assert opens(tmp_path, 'source.file = "visits.csv"\nsource.delimiter = ";"')[0] == "person"


def test_a_table_of_a_server_opens_by_its_url(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server.connect() as connection:
        connection.execute("CREATE SCHEMA ward; CREATE TABLE ward.visits (x integer, y text)")
    url = f"postgresql://{OWNER}@/postgres?host={server.folder}&port={server.port}&schema=ward"
    assert opens(tmp_path, f'source.url = "{url}"\nsource.table = "visits"') == ["x", "y"]
    monkeypatch.setenv("DPVIZ_TEST_PLACE", url)
    assert opens(tmp_path, 'source.url = "env:DPVIZ_TEST_PLACE"\nsource.table = "visits"') == ["x", "y"]
    with pytest.raises(ParameterError, match="table visit"):
        opens(tmp_path, 'source.url = "env:DPVIZ_TEST_PLACE"\nsource.table = "visit"')


@pytest.mark.parametrize(
    ("more", "kind", "told"),
    [
        ('columns.visit.kind = "number"', SchemaError, "did you mean visits"),
        ('columns.self_rated_health.bins = { kind = "integers", low = 0, high = 3 }', SchemaError, "bins"),
        ('columns.visits.bins = { kind = "times", start = "2012", end = "2013", by = "month" }', SchemaError, "bins"),
        ('unit.of = "person"', UnitError, "person"),
    ],
)
def test_a_declaration_that_the_data_do_not_fit_is_refused(
    more: str, kind: type[DpvizError], told: str, tmp_path: Path
) -> None:
    text = 'dataset = "v"\nledger = "v.ledger"\nbudget.epsilon = "1"\nlisten.socket = "v.sock"\n'
    text += "" if "unit" in more else 'unit.of = "row"\n'
    found = declared(tmp_path, text + 'source.practice = "doctor_visits"\n' + more)
    with pytest.raises(kind, match=told):
        found.session()
    assert not (tmp_path / "v.ledger").exists()


SECTIONS = {
    "The data set": ["dataset", "ledger", "tick"],
    "`[source]`": SOURCE,
    "`[unit]`": declaration.UNIT,
    "`[budget]`": declaration.BUDGET,
    "`[columns.NAME]`": declaration.COLUMN,
    "`[caps]`": ["each", "analysts", "projects", *declaration.CAP],
    "`[[analysts]]`": declaration.ANALYST,
    "`[listen]`": declaration.LISTEN,
    "`[[approval]]`": declaration.RULE,
    "`[queue]`": declaration.QUEUE,
}
"""The sections of the page, and the fields that each must have."""


def test_the_page_of_the_declaration_has_every_field_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs/declaration.md").read_text(encoding="utf-8")
    parts = {part.partition("\n")[0]: part for part in re.split(r"(?m)^## ", page)[1:]}
    for heading, fields in SECTIONS.items():
        rows = [line.split("|")[1] for line in parts[heading].splitlines() if line.startswith("| `")]
        assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(fields), heading
    tables = {name.strip("`[]").partition(".")[0] for name in SECTIONS} - {"The data set"}
    assert tables == set(declaration.FIELDS) - set(SECTIONS["The data set"])


def test_the_bins_on_the_page_are_bins() -> None:
    page = (Path(__file__).parents[2] / "docs/declaration.md").read_text(encoding="utf-8")
    (written,) = re.findall(r"(?ms)^```toml\n(.*?)^```$", page)
    columns = tomllib.loads(written)["columns"]
    made = {name: dv.Domain.from_json({**parts["bins"], "column": name}) for name, parts in columns.items()}
    assert {domain.kind for domain in made.values()} == {"integers", "intervals", "categories", "times", "keys"}
