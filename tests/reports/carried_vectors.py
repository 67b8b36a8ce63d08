"""What the page must read off a sketch that a report carries: Python's answers for many keys, kept for its tests.

`python -m tests.reports.carried_vectors` writes `widgets/fixtures/carried.json`. All of it was drawn with known seeds
from made-up data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.exact import rational, text
from dpviz.model.domain import limit
from dpviz.model.release import Release
from dpviz.widgets.carrying import carried
from dpviz.widgets.reading import read_points

PATH = Path(__file__).parents[2] / "widgets" / "fixtures" / "carried.json"
WORDS = ["café", "日本", "w 3", "", "007", "7", "\U0001f600", "x" * 200, "1e3", "-1"]
FRAME = pd.DataFrame(
    {
        "key": [3] * 30 + [4_000_000_000] * 12 + [2**31] * 5 + [17],
        "word": (WORDS * 5)[:48],
        "size": [float(row % 9) for row in range(48)],
        "kind": ["a", "b", "a", "z"] * 12,
        "owed": [float(row % 13) - 6 for row in range(48)],
    }
)
KEYS = dv.Domain.integers(0, 2**32 - 1, column="key")
BINS = dv.Domain.intervals([0, "1/2", 3, 5], column="size", overflow=True) * dv.Domain.categories(
    ["a", "b"], column="kind", other=True
)
BESIDE = dv.Domain.integers(1, 6, column="size", underflow=True, overflow=True, missing=True) * dv.Domain.categories(
    ["a", "b"], column="kind", other=True, missing=True
)
HUGE = dv.Domain.integers(0, 2**40, column="key") * dv.Domain.integers(-(2**40), 2**40, column="size")
OWED = dv.Question.sum("owed", by=KEYS, low=-6, high=6, step="0.5")
SPENT = dv.Question.sum("owed", by=dv.Domain.keys(column="word"), low=0, high=6, step="0.5")

WORD = dv.Domain.keys(column="word")
SOME = [["3"], ["4000000000"], ["2147483648"], ["17"], ["0"]]
NAMED = [[word] for word in WORDS]

CASES: dict[str, tuple[Any, Any, list[list[str]]]] = {
    "counts": (KEYS, dv.ALP(1, keys=4, cap=20), [*SOME, ["4e9"]]),
    "long": (KEYS, dv.ALP("1/2", keys=30, cap=90, alpha=2), [["3"], ["2147483648"], ["4294967295"]]),
    "words": (WORD, dv.ThresholdALP(2, keys=20, delta="1e-3"), [*NAMED, [" 7"], ["7 "]]),
    "kept": (WORD, dv.ThresholdALP(9, keys=20, delta="1e-2"), NAMED),
    "product": (
        BINS,
        dv.ALP(1, keys=5, cap=10),
        [["0", "a"], ["0.5", "b"], ["1/2", "other"], ["2.999", "a"], ["5", "a"], ["5.1", "b"], ["over 5", "b"]],
    ),
    "beside": (
        BESIDE,
        dv.ALP(1, keys=5, cap=10),
        [["over 6", "a"], ["under 1", "missing"], ["missing", "other"], ["1", "a"], ["6", "other"]],
    ),
    "huge": (HUGE, dv.ALP(1, keys=4, cap=10), [["3", "0"], ["17", "-5"], ["1099511627776", "1099511627776"]]),
    "both halves": (OWED, dv.ALP(8, keys=4, cap=40), SOME),
    "both halves, kept": (OWED, dv.ThresholdALP(200, keys=4), SOME),
    "any size": (KEYS, dv.ALP(1, keys=7, cap=20, hashing="carter-wegman"), SOME),
    "words, any size": (WORD, dv.ThresholdALP(2, keys=23, delta="1e-3", hashing="carter-wegman"), NAMED),
    "signed": (OWED, dv.ALP(8, keys=4, cap=40, encoding="signed"), SOME),
    "signed, any size": (OWED, dv.ALP(4, keys=5, cap=12, encoding="signed", hashing="carter-wegman"), SOME),
    "logarithms": (KEYS, dv.ALP(2, keys=4, cap=1000, encoding="log"), SOME),
    "logarithms of sums": (SPENT, dv.ALP(3, keys=12, cap=200, encoding="log", hashing="carter-wegman"), NAMED),
    "threshold and logarithms": (KEYS, dv.ThresholdALP(20, keys=4, split="1/10", encoding="log"), SOME),
    "threshold and both signs": (OWED, dv.ThresholdALP(200, keys=4, encoding="signed"), SOME),
    "buckets": (KEYS, dv.MaxProjection(2, keys=4, cap=25), SOME),
    "crowded buckets": (KEYS, dv.MaxProjection(2, keys=4, cap=1000, room=3), SOME),
    "buckets of both signs": (OWED, dv.MaxProjection(2, keys=4, cap=8), SOME),
    "wide buckets": (KEYS, dv.MaxProjection(1, keys=4, cap=1 << 40, room=9), SOME),
    "threshold and buckets": (WORD, dv.ThresholdMaxProjection(6, keys=12, delta="1e-2"), NAMED),
    "threshold and buckets of both signs": (OWED, dv.ThresholdMaxProjection(200, keys=4), SOME),
}
"""By name: a question, a mechanism, and keys as a page writes them."""

REFUSED = {
    "counts": [["-1"], ["4294967296"], ["1/2"], ["many"], [""], ["1e400"]],
    "product": [["-1", "a"], ["x", "a"], ["1e400", "a"], ["0.5", "q"], ["under 0", "a"], ["0.5", "missing"]],
    "beside": [["7", "a"], ["0", "a"], ["1e9", "a"], ["1", "q"], ["1", "all others"], ["over 7", "a"], ["other", "a"]],
}
"""Keys that are no bins."""

TYPED = [
    *("7", " 7 ", "\u00a07", "\t7", "1e0003", "1e3", "1E+3", "1e00003", "1e400", "1e-400", "1e199", "1e200", "-1e198"),
    *("1e-30", "1e-31", "\u22121e\u22122", "1 / 2", "1\t/2", "6/4", "+.5", "5.", ".", "", "1/0", "1_000", "1,000"),
    *("0x10", "nan", "\u0664", "9" * 200, "9" * 201, "0" * 199 + "7", "0" * 200 + "7", "1/" + "3" * 198),
    *("1/" + "3" * 199, "0." + "1" * 198),
]
"""What a person may type where the label of a bin is a number."""


def drawn(name: str) -> Release:
    question, mechanism, _ = CASES[name]
    return dv.teaching(FRAME, 11).draw(question, mechanism)


def vectors() -> dict[str, Any]:
    found: dict[str, Any] = {"digests": digests(), "typed": [[typed, _number(typed)] for typed in TYPED], "cases": {}}
    for name, (_, _, points) in CASES.items():
        release = drawn(name)
        more = [[str(key)] for key in range(40, 52)] if points[0][0].isdigit() and len(points[0]) == 1 else []
        read: Callable[..., list[dict[str, Any]]] = partial(read_points, release, [*points, *more])
        found["cases"][name] = {
            **carried(release, None),
            "points": [*points, *more],
            "read": [
                [reader, beta, *_columns(read(rational(beta, "beta"), reader))]
                for reader in release.answer.readers or ("",)
                for beta in ("0.1", "0.05", "0.01")
            ],
            "refused": REFUSED.get(name, []),
        }
    return found


def _number(typed: str) -> str | None:
    """What Python reads; None where it refuses."""
    try:
        return text(limit(typed, "a label"))
    except DpvizError:
        return None


def _columns(rows: list[dict[str, Any]]) -> list[Any]:
    """How all are known, by which rule, and of each its value and both ends: the rows, with nothing said twice."""
    known, rule = {(row["known"], row["rule"]) for row in rows}.pop()
    assert all((row["known"], row["rule"]) == (known, rule) for row in rows)
    return [known, rule, *([row[name] for row in rows] for name in ("value", "low", "high"))]


def written(found: dict[str, Any]) -> str:
    """The vectors as JSON, a vector a line."""
    dumps = partial(json.dumps, ensure_ascii=True, separators=(",", ":"))
    lists = [f'"{name}":[\n{_lines(map(dumps, found[name]))}\n]' for name in ("digests", "typed")]
    cases = []
    for name, case in found["cases"].items():
        parts = [
            f'"{part}":[\n{_lines(map(dumps, body))}\n]' if part == "read" else f'"{part}":{dumps(body)}'
            for part, body in case.items()
        ]
        cases.append(f"{dumps(name)}:{{\n{_lines(parts)}\n}}")
    return f'{{\n{_lines(lists)},\n"cases":{{\n{_lines(cases)}\n}}\n}}\n'


def _lines(parts: Iterable[str]) -> str:
    return ",\n".join(parts)


def digests() -> list[dict[str, str]]:
    """Of contents of many lengths, around those of a block above all."""
    key = bytes(range(16))
    contents = [
        bytes(place % 251 for place in range(length)) for length in (0, 1, 8, 111, 127, 128, 129, 255, 256, 300)
    ]
    new = partial(hashlib.blake2b, digest_size=8, key=key)
    return [
        {"key": key.hex(), "content": one.hex(), "digest": str(int.from_bytes(new(one).digest(), "little"))}
        for one in contents
    ]


if __name__ == "__main__":
    PATH.write_text(written(vectors()), encoding="utf-8")
