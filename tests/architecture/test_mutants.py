"""The sample of mutants: each changes one token, the same seed draws the same sample, and tests kill mutants."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from tools import mutants

TEXT = '''\
"""A module."""

LIMIT: int = 3


def larger(one: int, other: int) -> int:
    if one == other or one < 0:
        raise ValueError(f"{one + 1}")
    return max(one, other) * 2


def silent(one: int) -> None:
    one + 5
'''

TEST = """\
from dpviz.laws.sides import larger


def test_the_larger_is_doubled() -> None:
    assert larger(1, 2) == 4
"""


def test_a_mutant_changes_one_token_and_no_message_or_annotation() -> None:
    found = list(mutants.mutants("a.py", TEXT))
    assert [one.told for one in found] == [
        "a.py:3: 3 -> 4",
        "a.py:7: or -> and",
        "a.py:9: * -> +",
        "a.py:13: + -> -",
        "a.py:7: == -> !=",
        "a.py:7: < -> <=",
        "a.py:9: max -> min",
        "a.py:9: 2 -> 3",
        "a.py:13: 5 -> 6",
        "a.py:7: 0 -> 1",
    ]
    for one in found:
        changed = one.apply(TEXT)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(TEXT))
        assert [a == b for a, b in zip(changed.splitlines(), TEXT.splitlines(), strict=True)].count(False) == 1


def test_letters_that_take_several_bytes_move_no_token() -> None:
    assert [one.apply('x = "δε" < 1') for one in mutants.mutants("a.py", 'x = "δε" < 1')] == [
        'x = "δε" <= 1', 'x = "δε" < 2',
    ]  # fmt: skip


def test_the_same_seed_draws_the_same_sample_of_all_rooms() -> None:
    sample = mutants.drawn(200, 7)
    assert sample == mutants.drawn(200, 7) != mutants.drawn(200, 8) and len(set(sample)) == 200
    assert {one.path.split("/")[1] for one in sample} == set(mutants.ROOMS)
    for one in sample[:50]:
        text = (mutants.ROOT / one.path).read_text(encoding="utf-8")
        assert text[one.start : one.end] == one.before
        ast.parse(one.apply(text))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project that git knows, with what the command needs to run its tests."""
    files = {
        "dpviz/__init__.py": "",
        "dpviz/laws/__init__.py": "",
        "dpviz/laws/sides.py": TEXT,
        "tests/__init__.py": "",
        "tests/laws/test_sides.py": TEST,
        **{f"tools/{name}.py": (mutants.ROOT / f"tools/{name}.py").read_text() for name in ("check", "suites")},
        "tools/__init__.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def test_a_mutant_that_a_test_sees_is_killed_and_one_that_changes_nothing_survives(project: Path) -> None:
    every = {one.told: one for one in mutants.mutants("dpviz/laws/sides.py", TEXT)}
    sample = [every[f"dpviz/laws/sides.py:{told}"] for told in ("9: max -> min", "13: 5 -> 6")]
    assert [came for _, came in mutants.run(sample, project)] == ["killed", "survived"]
    assert (project / "dpviz/laws/sides.py").read_text() == TEXT
