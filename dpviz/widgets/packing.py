"""Long texts on their way to a page, and in saved notebooks: deflated, as bytes beside the message."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

SHORT: Final = 1_000
"""A text of fewer characters travels as it is."""
LEVEL: Final = 6
PACKED: Final = {"v": 1, "packed": True}
"""Stands for a message whose text is the first of the bytes beside it."""


BOARD: Final = "on the board"
"""Stands in a message for what is on the board already."""
REFERRED: Final = ("sheet", "state", "result", "drawn", "lesson")


def referring(content: Any, board: Any) -> Any:
    """The message, where it does not say again what the board shows: the loader of the page puts it back.

    A state that differs in its time alone is the same state, seen later.
    """
    body = content.get("body") if isinstance(content, Mapping) else None
    if not isinstance(body, Mapping) or board is None:
        return content
    said = {name: _referred(name, body[name], board) for name in REFERRED if name in body}
    return {**content, "body": {**body, **said}} if said else content


def _referred(name: str, value: Any, board: Any) -> Any:
    text = getattr(board, name)
    if not isinstance(value, Mapping) or len(text) < SHORT:
        return value
    known = json.loads(text)
    later = {"asof": value["asof"]} if "asof" in value else {}
    return {BOARD: name, **later} if {**known, **later} == value else value


def packed(text: str, widget: object = None, *, always: bool = False) -> str | bytes:
    """The value of a trait as it is sent: what the loader of the page unpacks (`widgets/src/protocol/packed.ts`). A
    short one is left as it is, unless `always` says that the kernel cannot send it so.

    >>> packed("short"), zlib.decompress(packed("long " * 1000)) == b"long " * 1000
    ('short', True)
    """
    return text if len(text) < SHORT and not always else _deflated(text)


def weight(text: str) -> int:
    """Bytes that the text takes on its way."""
    return len(packed(text))


@lru_cache(maxsize=32)
def _deflated(text: str) -> bytes:
    """Kept, for a page asks again for what it doubts, and every view of a program brings the same text."""
    return zlib.compress(text.encode("utf-8"), LEVEL)
