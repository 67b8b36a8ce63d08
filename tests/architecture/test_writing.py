"""Files that a person names are written at one door, `dpviz/files.py`: nothing else of ours may replace a ledger."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "dpviz"

DOORS = {
    "files.py": "whatever a person names",
    "session/ledger/sqlite.py": "ledgers, which appear by a link and never replace anything",
    "session/ledger/witness.py": "the note beside a ledger",
    "session/ledger/memory.py": "what this machine remembers, in its own folder",
    "session/ledger/earlier.py": "how far ledgers had come, in the same folder",
    "curator/serving.py": "its own socket",
    "cli.py": "the null device",
}
"""The files that write, and what."""

MAKE = {"write_text", "write_bytes", "symlink_to", "hardlink_to", "savefig", "to_parquet"}
MOVE = {"rename", "renames", "link", "symlink", "unlink", "rmdir", "truncate", "ftruncate", "removedirs"}
FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}
OBJECTS = {"os", "shutil", "tempfile"}
WORDS = {"open", "NamedTemporaryFile", "os.", "shutil.", *MAKE, *MOVE - {"link"}, *FLAGS}
"""A file that says none of these opens, moves, makes and removes nothing."""


def written(path: Path) -> list[int]:
    """The lines of a file of Python that open something for writing, or move, make or remove a file."""
    found: list[int] = []
    text = path.read_text(encoding="utf-8")
    if not any(word in text for word in WORDS):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in FLAGS:
            found.append(node.lineno)
        if not isinstance(node, ast.Call):
            continue
        attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = attribute or (node.func.id if isinstance(node.func, ast.Name) else "")
        of = node.func.value.id if attribute and isinstance(node.func.value, ast.Name) else ""  # type: ignore[union-attr]
        texts = [one.value for one in (*node.args, *(word.value for word in node.keywords))
                 if isinstance(one, ast.Constant) and isinstance(one.value, str)]  # fmt: skip
        mode = name in ("open", "fdopen", "NamedTemporaryFile") and any(
            len(text) <= 4 and set(text) <= set("wxabrt+U") and set(text) & set("wxa+") for text in texts
        )
        moved = of in ("os", "shutil") and name in MOVE | {"replace", "move", "copy", "copy2", "copyfile", "copytree"}
        renamed = name == "rename" and (node.keywords or not node.args or isinstance(node.args[0], ast.Dict))
        if renamed:  # the columns of a table
            continue
        if mode or moved or name in MAKE or (attribute in MOVE - {"link"} and of not in OBJECTS):
            found.append(node.lineno)
    return found


def others(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{line}"
        for path in sorted(root.rglob("*.py"))
        if str(path.relative_to(root)) not in DOORS
        for line in written(path)
    ]


def test_nothing_else_writes_a_file() -> None:
    assert others(PACKAGE) == []


@pytest.mark.parametrize("door", DOORS)
def test_every_door_is_in_use(door: str) -> None:
    assert written(PACKAGE / door)


@pytest.mark.parametrize(
    "text",
    [
        "open(path, 'w')",
        "path.open(mode='wb')",
        "io.open(path, 'x')",
        "os.open(path, os.O_WRONLY)",
        "path.write_text('a')",
        "Path(path).write_bytes(b'a')",
        "os.replace(a, b)",
        "a.rename(b)",
        "shutil.copyfile(a, b)",
        "path.unlink()",
        "os.truncate(path, 0)",
    ],
)
def test_a_planted_door_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "eager.py").write_text(text)
    assert others(tmp_path) == ["eager.py:1"]


def test_reading_is_no_door(tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text("open(path, 'rb'); path.open(); a.replace('w', 'x'); os.open(p, os.O_RDONLY)")
    assert others(tmp_path) == []
