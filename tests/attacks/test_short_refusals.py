"""A refusal is three lines in IPython, in every mode and in a real kernel; Python itself prints what it always did."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.manager import start_new_kernel

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError, SessionBusy
from dpviz.traces import POINTER, Rendered, rendered

REFUSED = 'import dpviz as dv\nsecret = ["Quetzalwren"]\ndef outer():\n    return dv.Dense(epsilon="-1/2")\nouter()'
SAID = "ParameterError: epsilon must be positive, got -0.5; type a number like 0.1 or 1/10"
MODES = ["Plain", "Context", "Verbose", "Minimal", "Docs"]


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    yield shell
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("mode", MODES)
def test_a_refusal_is_its_message_and_a_pointer_in_every_mode(
    shell: InteractiveShell, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("xmode", mode)
    capsys.readouterr()
    shell.run_cell(REFUSED)
    assert capsys.readouterr().out.strip().splitlines() == [SAID, POINTER]
    shell.run_line_magic("tb", "")
    assert capsys.readouterr().out.strip().splitlines() == [SAID, POINTER]


@pytest.mark.parametrize("mode", MODES)
def test_an_error_that_is_not_ours_still_has_its_frames(
    shell: InteractiveShell, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("xmode", mode)
    capsys.readouterr()
    shell.run_cell("def outer():\n    return 1 / 0\nouter()")
    out = capsys.readouterr().out
    assert "ZeroDivisionError" in out and POINTER not in out


def test_the_whole_trace_is_one_call_away_and_has_no_variables(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(REFUSED)
    capsys.readouterr()
    shell.run_cell("dv.traceback()")
    out = capsys.readouterr().out
    assert "in outer" in out and "in Epsilon.read" in out and "exact.py" in out and "in positive" in out
    assert out.strip().splitlines()[-1] == SAID
    assert "Quetzalwren" not in out


def test_without_an_error_there_is_no_trace() -> None:
    code = "import dpviz as dv; dv.traceback()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "No error to show: nothing was refused in this session.\n"


def test_a_real_kernel_sends_the_short_form(tmp_path: Path) -> None:
    manager, client = start_new_kernel(cwd=str(tmp_path), startup_timeout=120)
    try:
        sent: list[dict[str, Any]] = []
        client.execute_interactive(REFUSED, output_hook=sent.append, timeout=120, stop_on_error=False)
        errors = [message["content"] for message in sent if message["msg_type"] == "error"]
        assert [error["traceback"] for error in errors] == [[f"{SAID}\n{POINTER}"]]
        assert errors[0]["ename"] == "ParameterError"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_python_itself_prints_a_traceback_as_ever() -> None:
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == f"dpviz.errors.{SAID}" and POINTER not in done.stderr
    assert any("in outer" in line for line in lines)


@pytest.mark.parametrize(
    "error",
    [
        DpvizError("one\ntwo\r\nthree \x1b[31mred\x1b[0m", rule="a\nrule", next_step="go\non"),
        DpvizError("x" * 10_000, rule="y" * 10_000, next_step="z" * 10_000),
        ParameterError.of("a\nb\nc", "a text must be\non one line", "write\nless"),
        SessionBusy("busy; nothing was charged", next_step="wait for it, or cancel it"),
        DpvizError(""),
    ],
)
def test_three_lines_are_the_most_whatever_a_value_holds(error: DpvizError) -> None:
    lines = rendered(error)
    assert 2 <= len(lines) <= 3 and lines[-1] == POINTER
    assert all(line.isprintable() and len(line) <= 600 for line in lines)


def test_what_the_message_leaves_out_is_on_the_second_line() -> None:
    error = DpvizError("too much", rule="a price must fit", next_step="ask for less")
    assert rendered(error) == ["DpvizError: too much", "A price must fit. Ask for less.", POINTER]


def test_an_interrupt_may_be_shown_in_the_same_way() -> None:
    class Interrupted(Rendered, KeyboardInterrupt):
        next_step = "ask again"

    assert rendered(Interrupted("stopped")) == ["Interrupted: stopped", "Ask again.", POINTER]
    assert not issubclass(Interrupted, Exception) and hasattr(Interrupted, "_render_traceback_")


def test_an_error_behind_nested_calls_keeps_all_its_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = __import__("pandas").DataFrame({"x": [1, 2]})
    session = dv.Session(frame, dv.Unit(), dv.Budget(1), tmp_path / "test.ledger")
    with pytest.raises(DpvizError) as refused:
        session.release(dv.Domain.integers(0, 1, column="y"), dv.Dense(1))
    frames = [entry.name for entry in refused.traceback]
    dv.traceback(refused.value)
    out = capsys.readouterr().out
    assert frames[-1] == "called" and "in Session.release" in out and "schema.py" in out
    assert refused.value.__cause__ is None and refused.value.__context__ is None
