"""The snippets of README.md, each ready to run in a new process."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
_TITLED = re.compile(r"^## (?P<title>.+)$|^```python\n(?P<code>[\s\S]*?)^```$", re.MULTILINE)


def snippets() -> list[tuple[str, str]]:
    """Title of the section and code, in order. dpviz is imported where the snippet counts on an earlier import."""
    found, title = [], ""
    for part in _TITLED.finditer(README.read_text()):
        if part["title"] is not None:
            title = part["title"]
        else:
            code = part["code"]
            found.append((title, code if "import dpviz" in code else f"import dpviz as dv\n{code}"))
    return found
