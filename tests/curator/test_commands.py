"""The commands of an owner: what they print, what they leave unsaid, and how they end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

import dpviz as dv
from dpviz import cli
from dpviz.curator.declaration import Declaration
from dpviz.errors import Forbidden, LedgerAway
from tests.curator.test_declaration import TOKEN, WHOLE, declared
from tests.curator.test_importing import SMARTNOISE
from tests.ports import own_port

ROOT = Path(dv.__file__).parents[1]


@pytest.fixture
def file(tmp_path: Path) -> str:
    declared(tmp_path)
    for path in (tmp_path, *tmp_path.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return str(tmp_path / "visits.toml")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.main(["curator", *arguments]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_check_says_who_may_do_what_and_charges_nothing(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "check", file)
    for part in (
        "visits", "one person, add or remove, at most 3 bins", "ε 2, δ 0.000001, zCDP filter", "none there yet",
        "mode 0600", "http://localhost:8443", "every 0.25 seconds", "for approval: ε above 0.5",
        "for approval: by Stability, of diagnosis", "0, 1, …, 40, over 40", "date %d/%m/%Y",
        f"user {os.getuid()} of this machine, JupyterHub: ada.l, a token", "plan, release", "approve, audit", "flu",
        "ε 1, δ 0.0000005", "a day", "a month of flu",
    ):  # fmt: skip
        assert part in text, part
    assert "warning" not in text
    assert not (tmp_path / "visits.ledger").exists()


def test_check_says_what_is_left_in_a_ledger(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    session = Declaration.read(file).session()
    Path(file).with_name("visits.ledger").chmod(0o600)
    session.release(dv.Domain.integers(0, 3, column="visits"), dv.Dense(epsilon="1/2"))
    before = session.ledger.head()
    assert "visits.ledger, left: " in said(capsys, "check", file)
    assert session.ledger.head() == before


def test_check_as_json_has_the_same(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(said(capsys, "check", file, "--json"))
    assert [one["analyst"] for one in record["analysts"]] == ["ada", "keeper"]
    assert record["columns"]["visits"] == {"kind": "number, numbers as 1234.5", "bins": "0, 1, …, 40, over 40"}
    assert record["columns"]["person"] == {"kind": "text", "bins": ""}
    assert record["warnings"] == []


EXPOSED = [("visits.csv", 0o604), ("visits.csv", 0o602), ("visits.ledger", 0o604)]


@pytest.mark.parametrize(("name", "mode"), EXPOSED)
def test_a_file_that_others_can_open_is_refused_before_anything_is_served(
    name: str, mode: int, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name.endswith("ledger"):
        Declaration.read(file).session()
    (tmp_path / name).chmod(mode)
    Path(file).write_text(WHOLE.replace("hub = true\n", ""))
    for command in ("check", "serve"):
        told = said(capsys, command, file, code=1)
        assert name in told and "other users of this machine" in told


def test_a_folder_of_files_is_as_open_as_the_most_open_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "parts").mkdir()
    for name in "ab":
        pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "parts" / f"{name}.parquet")
        (tmp_path / "parts" / f"{name}.parquet").chmod(0o600)
    text = 'dataset = "v"\nledger = "v.ledger"\nbudget.epsilon = 1\nunit.of = "row"\nlisten.socket = "v.sock"\n'
    (tmp_path / "v.toml").write_text(text + 'source.file = "parts"\n')
    assert "dataset" in said(capsys, "check", str(tmp_path / "v.toml"))
    (tmp_path / "parts" / "b.parquet").chmod(0o644)
    assert "parts" in said(capsys, "check", str(tmp_path / "v.toml"), code=1)


@pytest.mark.parametrize("mode", [0o602, 0o620])
def test_check_warns_of_a_declaration_that_others_can_change(
    mode: int, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).chmod(mode)
    assert "others can change who may do what" in said(capsys, "check", file)


def test_check_warns_of_a_login_that_nobody_has_and_of_nobody_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared(tmp_path, WHOLE.replace(f"login = {os.getuid()}", 'login = "nobody-of-this-name"'))
    assert "this machine has no user nobody-of-this-name" in said(capsys, "check", str(tmp_path / "visits.toml"))
    (tmp_path / "visits.toml").write_text(WHOLE[: WHOLE.index("[caps]")] + '[listen]\nsocket = "v.sock"\n')
    assert "nobody can ask" in said(capsys, "check", str(tmp_path / "visits.toml"))


def test_a_token_is_printed_once_and_its_line_lets_its_holder_in(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads(said(capsys, "token", file, "ada", "--json"))
    line = re.search(r"tokens = .*", WHOLE)
    assert line is not None
    (tmp_path / "visits.toml").write_text(WHOLE.replace(line[0], record["line"]))
    found = Declaration.read(file)
    for token in (TOKEN, record["token"]):  # an earlier token goes on
        caller = found.caller_of_token(token)
        assert caller is not None and caller.name == "ada"
    assert re.fullmatch(r"dpviz_[0-9a-f]{64}", record["token"])
    assert record["token"] not in record["line"]


def test_every_token_is_another_and_is_on_a_line_of_its_own(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    tokens = {said(capsys, "token", file, "keeper").splitlines()[0] for _ in range(20)}
    assert len(tokens) == 20


def test_a_token_for_nobody_is_refused_with_the_nearest_name(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean keeper" in said(capsys, "token", file, "keper", code=1)


def test_an_import_can_be_written_to_a_file_as_it_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.yaml").write_text(SMARTNOISE.replace("NO, SE", '"N\\u200bO", SE').replace("rows: 1_200", "rows: 9"))
    text = said(capsys, "import", str(tmp_path / "m.yaml"), "--data", "stays.csv")
    found = tomllib.loads(text)
    assert found["source"] == {"file": "stays.csv"}
    assert found["columns"]["country"]["bins"]["labels"][0] == "N\u200bO"


def test_an_import_names_what_it_cannot_keep_and_leaves_it_out_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SMARTNOISE.replace("clamp_counts: false", "clamp_counts: true").replace("rows: 1_200", "use_dpsu: true")
    (tmp_path / "m.yaml").write_text(text)
    refused = said(capsys, "import", str(tmp_path / "m.yaml"), code=1)
    assert "--without clamp_counts,use_dpsu" in refused
    made = said(capsys, "import", str(tmp_path / "m.yaml"), "--without", "clamp_counts, use_dpsu")
    assert "# clamp_counts: left out" in made


@pytest.mark.parametrize("command", ["check", "token", "serve", "import"])
def test_a_file_that_is_not_there_is_refused(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["ada"] if command == "token" else []
    name = str(tmp_path / ("none.yaml" if command == "import" else "none.toml"))
    assert "needs a file that can be read" in said(capsys, command, name, *more, code=1)


def certificate(folder: Path) -> None:
    """A certificate of this machine's own name, and its key."""
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", folder / "key.pem", "-out", folder / "cert.pem", *named]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)
    (folder / "key.pem").chmod(0o600)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A curator as an owner starts it, with the line that it prints. It is ended whatever happens."""
    command = [sys.executable, "-c", "from dpviz.cli import main; raise SystemExit(main())", "curator", "serve"]
    process = subprocess.Popen(
        [*command, str(folder / "visits.toml")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    with process:
        assert process.stdout is not None and process.stderr is not None
        try:
            first = process.stdout.readline()
            assert first, process.stderr.read()
            yield process, first
        finally:
            process.kill()


def test_a_curator_is_reached_by_tls_with_a_token_and_by_nobody_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate(tmp_path)
    port = own_port()
    tls = f'host = "127.0.0.1"\nport = {port}\ncertificate = "cert.pem"\nkey = "key.pem"\n'
    declared(tmp_path, WHOLE.replace('host = "localhost"\nport = 8443\nhub = true\n', tls))
    (tmp_path / "key.pem").chmod(0o604)
    assert "key.pem" in said(capsys, "check", str(tmp_path / "visits.toml"), code=1)
    (tmp_path / "key.pem").chmod(0o600)
    address = f"https://127.0.0.1:{port}"
    with serving(tmp_path) as (_, first):
        assert address in first
        session = dv.connect(address, token=TOKEN, certificate=tmp_path / "cert.pem")
        assert session.release(session.domains["visits"], dv.Dense(epsilon="0.02")).number == 1
        for token in (None, TOKEN[:-1]):
            with pytest.raises(Forbidden):
                dv.connect(address, token=token, certificate=tmp_path / "cert.pem")
        with pytest.raises(LedgerAway):
            dv.connect(address, token=TOKEN)  # nothing is sent to a machine that proves nothing


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_curator_serves_until_a_signal_ends_it_and_logs_no_secret(number: signal.Signals, tmp_path: Path) -> None:
    text = WHOLE.replace('host = "localhost"\nport = 8443\nhub = true\n', "").replace(
        'epsilon = "0.1"', 'epsilon = "1"'
    )
    declared(tmp_path, text)
    with serving(tmp_path) as (process, first):
        assert first == f"visits is served at unix:{tmp_path}/visits.sock\n"
        session = dv.connect(f"unix:{tmp_path}/visits.sock")
        by_token = dv.connect(f"unix:{tmp_path}/visits.sock", token=TOKEN)
        bins = session.domains["visits"]
        numbers = [one.release(bins, dv.Dense(epsilon="0.2")).number for one in (session, by_token)]
        assert numbers == [1, 1]  # one analyst, however they prove it
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "visits is served no longer\n", "")
