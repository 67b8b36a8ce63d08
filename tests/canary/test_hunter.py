"""The hunter finds what it looks for in every dress, and nothing where there is nothing."""

from __future__ import annotations

import base64
import html
import json
import pickle
import random
import struct
from collections.abc import Callable

import numpy as np
import pytest

from tests.canary.hunter import LEAST, Canary, hunt
from tests.canary.planted import CANARIES, COUNTS, DECOYS, LABEL, RELEASED, STEM, STRANGE_FLOAT

TEXT, NUMBERS, FLOAT = Canary.text("text", LABEL), CANARIES[2], CANARIES[5]

TEXTS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "upper case": lambda text: text.upper().encode(),
    "utf-16": lambda text: text.encode("utf-16-be"),
    "utf-32": lambda text: text.encode("utf-32-le"),
    "JSON": lambda text: json.dumps({"a": text}).encode(),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})).encode(),
    "JSON in JSON, not ASCII": lambda text: json.dumps(json.dumps(text, ensure_ascii=False)).encode(),
    "Python": lambda text: repr([text]).encode(),
    "Python, ASCII": lambda text: ascii(text).encode(),
    "bytes of Python": lambda text: repr(text.encode()).encode(),
    "HTML": lambda text: html.escape(text).encode("ascii", "xmlcharrefreplace"),
    "hex": lambda text: text.encode().hex().encode(),
    "HEX of utf-16": lambda text: text.encode("utf-16-le").hex().upper().encode(),
    "pickled": pickle.dumps,
}

NUMBER: dict[str, Callable[[int], bytes]] = {
    "digits": lambda count: str(count).encode(),
    "thousands": lambda count: f"{count:,}".encode(),
    "thin spaces": lambda count: f"{count:,}".replace(",", "\u202f").encode(),
    "thin spaces in JSON": lambda count: json.dumps(f"{count:,}".replace(",", "\u202f")).encode(),
    "float": lambda count: str(float(count)).encode(),
    "scientific": lambda count: f"{count:.6e}".encode(),
    "rounded": lambda count: f"{count:g}".encode(),
    "hex digits": lambda count: f"{count:#x}".encode(),
    "64 bits": lambda count: struct.pack("<q", count),
    "64 bits, big-endian": lambda count: struct.pack(">q", count),
    "double": lambda count: struct.pack("<d", count),
    "array": lambda count: np.array([3, count, 5]).tobytes(),
    "array in hex": lambda count: np.array([3, count, 5]).tobytes().hex().encode(),
    "pickled": pickle.dumps,
    "utf-16 in base64": lambda count: base64.b64encode(str(count).encode("utf-16-le")),
}


@pytest.mark.parametrize("dress", TEXTS)
def test_a_text_is_found_in_every_dress(dress: str) -> None:
    assert hunt({"here": b"some {" + TEXTS[dress](f"a {LABEL}, b") + b"} more"}, [TEXT])


@pytest.mark.parametrize("count", [COUNTS[0], COUNTS[5], COUNTS[-1]])
@pytest.mark.parametrize("dress", NUMBER)
def test_a_count_is_found_in_every_dress(dress: str, count: int) -> None:
    assert hunt({"here": b"some {" + NUMBER[dress](count) + b"} more"}, [NUMBERS])


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_found_at_every_alignment(encode: Callable[[bytes], bytes], before: int) -> None:
    assert hunt({"here": encode(b"x" * before + LABEL.encode() + b"y" * 5)}, [TEXT])
    assert hunt({"here": encode(b"x" * before + struct.pack("<q", COUNTS[7]) + b"y" * 5)}, [NUMBERS])
    assert hunt({"here": encode(b"x" * before + str(COUNTS[7]).encode() + b"y" * 5)}, [NUMBERS])


def test_a_float_is_found_as_it_prints_and_as_it_is_stored() -> None:
    for content in (repr(STRANGE_FLOAT).encode(), f"{STRANGE_FLOAT:,}".encode(), struct.pack("<d", STRANGE_FLOAT)):
        assert hunt({"here": content}, [FLOAT])


def test_a_find_names_the_place_and_what_stands_around_it() -> None:
    (find, *_) = hunt({"nowhere": b"nothing", "here": f"before {STEM} after".encode()}, CANARIES)
    assert (find.place, find.canary, find.how) == ("here", "a text of the data", "text, utf-8")
    assert "before" in str(find) and "after" in str(find)


def test_nothing_is_found_by_chance() -> None:
    """In four million random bytes, as they are, in base64, in hex and as digits; nor are decoys taken for canaries."""
    noise = random.Random(5).randbytes(4_000_000)
    dressed = {"bytes": noise, "base64": base64.b64encode(noise), "hex": noise.hex().encode(), "digits": str(
        int.from_bytes(noise[:1700])).encode(), "decoys": json.dumps([RELEASED, *DECOYS]).encode()}  # fmt: skip
    assert hunt(dressed, CANARIES) == []
    assert all(len(pattern) >= LEAST for canary in CANARIES for pattern in canary.patterns)
