"""The snippets of README.md and of the tour, each ready to run in a new process."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TOUR = ROOT / "docs" / "tour.md"
_TITLED = re.compile(r"^## (?P<title>.+)$|^```python\n(?P<code>[\s\S]*?)^```$", re.MULTILINE)


def snippets() -> list[tuple[str, str]]:
    """Title of the section and code, in order. dpviz is imported where the snippet counts on an earlier import."""
    found, title = [], ""
    for page in (README, TOUR):
        for part in _TITLED.finditer(page.read_text(encoding="utf-8")):
            if part["title"] is not None:
                title = f"{page.stem}: {part['title']}"
            else:
                code = part["code"]
                found.append((title, code if "import dpviz" in code else f"import dpviz as dv\n{code}"))
    return found
