"""No block of ten lines stands twice: what two files need alike has a place of its own.

Compared are lines as they read without indentation; blank lines, comments and imports do not count.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (("dpviz/mechanisms", "*.py"),)
"""Where repetition is looked for, and in which files."""

LENGTH = 10


def told(text: str) -> list[str]:
    """The lines of a file that say something of its own."""
    lines, importing = [], ""
    for line in map(str.strip, text.splitlines()):
        if importing:  # an import of several lines ends with its bracket
            importing = "" if line.startswith(importing) else importing
        elif line.startswith(("import ", "from ")):
            importing = {"(": ")", "{": "}"}.get(line[-1], "")
        elif line and not line.startswith(("#", "//", "/*", "* ", "*/")):
            lines.append(line)
    return lines


def repeated(folder: Path, pattern: str) -> list[str]:
    """Each block of LENGTH lines that stands twice below a folder: where it stands, and how it begins."""
    places = defaultdict(list)
    for path in sorted(folder.rglob(pattern)):
        lines = told(path.read_text())
        for start in range(len(lines) - LENGTH + 1):
            places[tuple(lines[start : start + LENGTH])].append(path.name)
    return [f"{' and '.join(names)}: {block[0]} … {block[-1]}" for block, names in places.items() if len(names) > 1]


@pytest.mark.parametrize(("folder", "pattern"), FOLDERS)
def test_no_block_of_ten_lines_stands_twice(folder: str, pattern: str) -> None:
    assert len(list((ROOT / folder).rglob(pattern))) > 9
    assert repeated(ROOT / folder, pattern) == []


def test_a_planted_repetition_is_found(tmp_path: Path) -> None:
    block = [f"step_{number}()" for number in range(LENGTH)]
    (tmp_path / "one.py").write_text("\n".join(["import sys", *block]))
    (tmp_path / "two.py").write_text("def two():\n    # again\n\n" + "\n\n".join(f"    {line}" for line in block))
    assert repeated(tmp_path, "*.py") == ["one.py and two.py: step_0() … step_9()"]
    (tmp_path / "two.py").write_text("\n".join(block[1:]))
    assert repeated(tmp_path, "*.py") == []


def test_a_repetition_within_one_file_is_found_and_imports_are_none(tmp_path: Path) -> None:
    block = [f"const part{number} = {number};" for number in range(LENGTH)]
    head = "import {\n" + "".join(f"  name{number},\n" for number in range(LENGTH)) + '} from "./names";\n'
    for name in ("one.ts", "two.ts"):
        (tmp_path / name).write_text(head + "let own = 1;\n")
    assert repeated(tmp_path, "*.ts") == []
    (tmp_path / "two.ts").write_text(head + "\n".join([*block, "// once more", *block]))
    assert repeated(tmp_path, "*.ts") == ["two.ts and two.ts: const part0 = 0; … const part9 = 9;"]
