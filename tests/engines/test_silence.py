"""What nobody may see: values of the data in a message, a traceback, a repr, a pickle or a log."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from tests.engines import mistakes

CANARY = re.compile(r"CANARY|7_?654_?321|1976|Q0FOQVJZ|43414e415259", re.IGNORECASE)
"""The data's values, plain, and its texts in base64 and hex."""


@cache
def report() -> dict[str, Any]:
    """All mistakes, made in a fresh process with real IPython."""
    command = [sys.executable, "-W", "error", "-m", "tests.engines.mistakes"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", mistakes.MISTAKES)
def test_a_mistake_is_refused_without_a_value_of_the_data(name: str) -> None:
    made = report()["mistakes"][name]
    assert made["error"], "nothing was refused"
    assert made["error"] in {
        "DomainError", "ExactnessError", "Forbidden", "KeyboardInterrupt", "ParameterError", "ReleaseCancelled",
        "ReleaseFailed", "SchemaError",
    }  # fmt: skip
    assert made["chain"] == "[None, None]"
    assert "Traceback" in made["text"]
    assert not CANARY.search(made["text"] + made["message"]), made["text"]


@pytest.mark.parametrize("name", mistakes.HELD)
def test_a_private_object_says_nothing_of_its_values(name: str) -> None:
    said = report()["held"][name]
    assert said
    assert not CANARY.search(said), said


def test_a_frame_that_showed_a_value_would_be_seen() -> None:
    leaked = report()["leak"]
    assert leaked["error"] == "ValueError"
    assert "CANARY-TEXT" in leaked["text"]
    assert "7654321" in leaked["text"]
