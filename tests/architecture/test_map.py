"""ARCHITECTURE and the glossary name every room, and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.layers import LEVEL

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (?P<term>[^|]+?) \|.*\| (?P<home>[^|]+) \|$", re.MULTILINE)
NAMED = re.compile(r"`([\w./]+(?:\.py|\.ts|/))`")


def absent(text: str, root: Path, folder: str = "") -> list[str]:
    """Files and folders that a text names and nobody finds, seen from the root, the package or a folder of it."""
    places = [root, root / "dpviz", root / "dpviz" / folder]
    return [name for name in NAMED.findall(text) if not any((place / name.lstrip("/")).exists() for place in places)]


def rooms(text: str) -> list[str]:
    """The rows of a table whose first cell is a folder, each with the files to start at."""
    return [line for line in text.splitlines() if line.startswith("| `")]


def test_files_that_the_map_names_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(rooms(text)) > 10
    folders = {line: line.split("`")[1] for line in rooms(text)}
    assert [name for line in text.splitlines() for name in absent(line, ROOT, folders.get(line, ""))] == []


def test_the_map_names_every_layer() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = {word.strip("/").removesuffix(".py") for word in re.findall(r"`([\w./]+)`", "\n".join(rooms(text)))}
    assert set(LEVEL) - named == set()


def test_the_glossary_has_sixty_terms_at_most_each_once_and_with_a_home() -> None:
    text = (ROOT / "docs/glossary.md").read_text()
    terms = [row["term"] for row in ROW.finditer(text) if row["term"] not in ("term", "---")]
    assert 50 <= len(terms) <= 60
    assert len(set(terms)) == len(terms)
    assert absent(text, ROOT) == []


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    (tmp_path / "dpviz/noise").mkdir(parents=True)
    (tmp_path / "dpviz/noise/bits.py").touch()
    text = "| `noise/` | `bits.py`, `coin.py`, `/widgets/src` and `nowhere/` |"
    assert absent(text, tmp_path, "noise/") == ["coin.py", "nowhere/"]
