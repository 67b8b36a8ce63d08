"""No block of ten lines stands twice where each thing is said once: in the mechanisms, and in the page's program."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

BLOCK = 10
ROOMS = {"dpviz/mechanisms": ".py", "widgets/src": ".ts"}


def copies(texts: dict[str, str]) -> list[list[str]]:
    """Where the same lines stand twice, blank ones and indentation aside: the places of each such block."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, text in texts.items():
        lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        for first in range(len(lines) - BLOCK + 1):
            block = lines[first : first + BLOCK]
            places[tuple(line for _, line in block)].append(f"{name}:{block[0][0]}")
    return [where for where in places.values() if len(where) > 1]


def texts(room: str) -> dict[str, str]:
    files = sorted((ROOT / room).rglob(f"*{ROOMS[room]}"))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}


@pytest.mark.parametrize("room", ROOMS)
def test_no_ten_lines_stand_twice(room: str) -> None:
    assert len(texts(room)) > 10
    assert copies(texts(room)) == []


@pytest.mark.parametrize("room", ROOMS)
def test_ten_lines_that_are_planted_elsewhere_are_noticed(room: str, tmp_path: Path) -> None:
    known = texts(room)
    longest = max(known, key=lambda name: len(known[name]))
    lines = [line for line in known[longest].splitlines() if line.strip()]
    middle = len(lines) // 2
    for taken, noticed in ((BLOCK, True), (BLOCK - 1, False)):
        planted = "\n\n".join(f"  {line}" for line in lines[middle : middle + taken])
        assert bool(copies({**known, "planted": f"before\n{planted}\nafter"})) is noticed
