"""The page of findings, from the comment at the head of each script."""

from __future__ import annotations

import re
from pathlib import Path

PART = re.compile(r"(One would guess|What happens|Why it matters): ")
PARTS = tuple(PART.pattern.strip("(: )").split("|"))
"""The parts of a head, in order."""

HEAD = """# Findings

Each entry is a script of `findings/` that shows what a library, a tool or a format does on valid input and that one
would not guess. A script installs pinned public packages and runs them without dpviz; `make findings` runs all of them.
"""


def entry(script: Path) -> dict[str, str]:
    """The parts of the comment at the head of a script."""
    lines = []
    for line in script.read_text(encoding="utf-8").splitlines()[1:]:
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").strip())
    text = " ".join(lines)
    found = PART.split(text)
    told = dict(zip(found[1::2], (part.strip() for part in found[2::2]), strict=True))
    if list(told) != list(PARTS):
        raise ValueError(f"{script.name}: its head must say, in this order: {', '.join(PARTS)}")
    return told


def packages(script: Path) -> str:
    """The packages that a script installs, with their versions."""
    return ", ".join(dict.fromkeys(re.findall(r"[\w.-]+==[\w.]+", script.read_text(encoding="utf-8"))))


def page(folder: Path) -> str:
    """Write the page."""
    parts = [HEAD]
    for script in sorted(folder.glob("*.sh")):
        told = entry(script)
        title = script.stem.replace("_", " ")
        parts.append(f"## {title[0].upper()}{title[1:]}\n")
        parts += [f"**{name}:** {_plain(told[name])}\n" for name in PARTS]
        parts.append(f"Script: `findings/{script.name}`. Packages: {packages(script) or 'none'}.\n")
    return "\n".join(parts)


def _plain(text: str) -> str:
    """Text without marks that Markdown would read."""
    return re.sub(r"([*_<\[])", r"\\\1", text)
