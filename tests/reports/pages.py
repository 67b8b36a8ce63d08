"""What a report's file holds, unpacked: a search of the packed bytes would find nothing, whatever is in them."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

PACKED = re.compile(r'<script type="application/zlib;base64" id="([\w-]+)">([^<]*)</script>')
PLAIN = re.compile(r'<script type="application/json" id="([\w-]+)">([^<]*)</script>')
"""How reports carried their parts before they were packed."""


def parts(page: str) -> dict[str, str]:
    """The texts of style, data and program by their ids."""
    packed = {name: zlib.decompress(base64.b64decode(part)).decode() for name, part in PACKED.findall(page)}
    return packed or dict(PLAIN.findall(page))


def data(page: str | Path) -> dict[str, Any]:
    """What the program of a report is given."""
    found: dict[str, Any] = json.loads(parts(_text(page))["dpviz-data"])
    return found


def program(page: str | Path) -> str:
    return parts(_text(page))["dpviz-program"]


def unpacked(page: str | Path) -> str:
    """The page with its data beside it as text, and without its style and program, which are the same in any report."""
    text = _text(page)
    found = parts(text)
    assert found, "this is no report"
    return PACKED.sub("", text) + found["dpviz-data"]


def _text(page: str | Path) -> str:
    return page if isinstance(page, str) else page.read_text(encoding="utf-8")
