"""Long columns of a result, as the bytes that go beside its JSON: whole numbers, floats and texts, little end first.

`widgets/PROTOCOL.md` says how they are named; the page reads them in `widgets/src/protocol/columns.ts`. Public, as all
of a result is.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ReleaseFormat

IN_JSON: Final = 20_000
"""Columns of more rows go beside the JSON."""

SHORTEST: Final = 100
"""How many rows of whole numbers that go up by one are told by their first."""

MOST_BYTES: Final = 2**32 - 1
"""The most bytes of texts in a column: where each ends is told in 32 bits."""

Body = dict[str, Any]
Rows = Sequence[str] | NDArray[Any]


def is_long(value: object) -> bool:
    """Whether this is a column to send as bytes: an array or a list of texts with many rows."""
    if isinstance(value, np.ndarray):
        return len(value) > IN_JSON
    return isinstance(value, list) and len(value) > IN_JSON and all(isinstance(row, str) for row in value)


def beside(columns: Mapping[str, Rows]) -> Body:
    """These columns as a result's `buffers`: what names them, and as `parts` their bytes, in order."""
    heads: list[Body] = []
    parts: list[bytes] = []
    texts: dict[str, Rows] = {}
    for name, rows in columns.items():
        twin = next((other for other, known in texts.items() if isinstance(rows, list) and known == rows), None)
        if twin is not None:
            heads.append({"name": name, "type": "same", "rows": str(len(rows)), "as": twin})
            continue
        head, part = _column(rows)
        if isinstance(rows, list):
            texts[name] = rows
        heads.append({"name": name, **head})
        parts.append(part)
    digest = sha256(json.dumps(heads).encode())
    for part in parts:
        digest.update(part)
    return {"id": digest.hexdigest()[:32], "columns": heads, "parts": parts}


def apart(content: Any) -> tuple[Any, list[bytes]]:
    """A message without the bytes of its result, and these: they are sent beside it."""
    body = content.get("body") if isinstance(content, dict) else None
    result = body.get("result") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(result, dict) or "buffers" not in result:
        return content, []
    return {**content, "body": {**body, "result": named(result)}}, result["buffers"]["parts"]


def named(result: Body) -> Body:
    """A result whose columns are named, without their bytes."""
    if "buffers" not in result:
        return result
    return {**result, "buffers": {name: part for name, part in result["buffers"].items() if name != "parts"}}


def written(result: Body) -> Body:
    """A result in one piece of JSON, for a file: the bytes in base64."""
    if "buffers" not in result:
        return result
    encoded = [base64.b64encode(part).decode("ascii") for part in result["buffers"]["parts"]]
    plain = named(result)
    return {**plain, "buffers": {**plain["buffers"], "base64": encoded}}


def _column(rows: Rows) -> tuple[Body, bytes]:
    count = str(len(rows))
    if isinstance(rows, np.ndarray):
        if rows.dtype.kind == "i" or (rows.dtype.kind == "u" and int(rows.max()) < 2**63):
            return {"type": "int64", "rows": count}, rows.astype("<i8").tobytes()
        if rows.dtype.kind == "f":
            return {"type": "float64", "rows": count}, rows.astype("<f8").tobytes()
        rows = [str(value) for value in rows.tolist()]
    runs = _runs(rows)
    rest = list(rows)
    for run in reversed(runs):
        del rest[int(run["at"]) : int(run["at"]) + int(run["rows"])]
    encoded = [text.encode("utf-8", "replace") for text in rest]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.uint64)
    if len(ends) and int(ends[-1]) > MOST_BYTES:
        rule = f"a page takes {MOST_BYTES:,} bytes of labels at most"
        raise ReleaseFormat.of(f"{int(ends[-1]):,} bytes of labels", rule, "read release.to_frame()")
    return {"type": "text", "rows": count, "runs": runs}, ends.astype("<u4").tobytes() + b"".join(encoded)


def _runs(rows: Sequence[str]) -> list[Body]:
    """The stretches of whole numbers that go up by one, which are as long as to be worth telling by their first."""
    runs: list[Body] = []
    at = 0
    while at < len(rows):
        end = at + 1
        if (first := _whole(rows[at])) is not None:
            while end < len(rows) and rows[end] == str(first + end - at):
                end += 1
            if end - at >= SHORTEST:
                runs.append({"at": str(at), "first": str(first), "rows": str(end - at)})
        at = end
    return runs


def _whole(text: str) -> int | None:
    """The whole number that is written just so, if it is one."""
    digits = text.removeprefix("-")
    number = int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None
    return number if number is not None and str(number) == text else None
