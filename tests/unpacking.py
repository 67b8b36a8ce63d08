"""What the kernel said to a page, with its packed texts read: as the page's loader reads them."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from typing import Any

from dpviz.widgets.packing import BOARD, PACKED

STREAM = re.compile(rb"\x78[\x01\x5e\x9c\xda]")
BASE64 = re.compile(rb"eJ[A-Za-z0-9+/]{40,}={0,2}")
"""How a deflated text begins where it is written in base64."""


def plain(message: dict[str, Any], buffers: Sequence[Any] = ()) -> tuple[dict[str, Any], list[Any]]:
    """The message of a comm with its packed texts in their places, and what else came beside it."""
    parts = [bytes(part) for part in buffers]
    if message.get("content") == PACKED:
        return {**message, "content": json.loads(zlib.decompress(parts[0]))}, parts[1:]
    paths, state = message.get("buffer_paths", []), dict(message.get("state") or {})
    beside = []
    for path, part in zip(paths, parts, strict=True) if paths else ():
        if len(path) == 1:
            state[path[0]] = zlib.decompress(part).decode()
        else:
            beside.append((path, part))
    if not paths or len(beside) == len(paths):
        return message, parts
    return {**message, "state": state, "buffer_paths": [path for path, _ in beside]}, [part for _, part in beside]


def recalled(content: dict[str, Any], shown: Any) -> dict[str, Any]:
    """A message with what stands on the board put back, as the page's loader does; `shown` gives a trait's text."""
    body = content.get("body")
    if not isinstance(body, dict):
        return content
    found = {
        name: {**json.loads(shown(name)), **{part: said for part, said in value.items() if part != BOARD}}
        for name, value in body.items()
        if isinstance(value, dict) and value.get(BOARD) == name
    }
    return {**content, "body": {**body, **found}}


def read(evidence: bytes) -> bytes:
    """The evidence, and after it every text that lies packed in it, as bytes or in base64."""
    texts = [_inflated(evidence[found.start() :]) for found in STREAM.finditer(evidence)]
    for found in BASE64.finditer(evidence):
        written = found.group().rstrip(b"=")
        texts.append(_inflated(base64.b64decode(written + b"=" * (-len(written) % 4))))
    return b"\n".join([evidence, *filter(None, texts)])


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream)
    except (zlib.error, ValueError):
        return b""
