"""The files of the project: what a clone has, and nothing that a build or a run left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LEFT_BEHIND = {"node_modules", "build", "dist", "test-output", "__pycache__"}
KEPT_HIDDEN = {".ci", ".github", ".gitignore", ".npmrc", ".gitattributes"}
TEXT = {
    "", ".cfg", ".css", ".csv", ".html", ".in", ".ini", ".ipynb", ".js", ".json", ".md", ".mjs", ".py", ".sh", ".svg",
    ".toml", ".ts", ".tsx", ".txt", ".yaml", ".yml",
}  # fmt: skip


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file of the project below a folder."""
    for path in sorted(folder.iterdir()):
        if path.name in LEFT_BEHIND or (path.name.startswith(".") and path.name not in KEPT_HIDDEN):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def texts() -> Iterator[tuple[str, str]]:
    """Every text file of the project: its name and what it says."""
    for path in files():
        if path.suffix in TEXT:
            yield str(path.relative_to(ROOT)), path.read_text()


def notebooks() -> list[Path]:
    return [path for path in files() if path.suffix == ".ipynb"]
