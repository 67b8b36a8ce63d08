"""Looks for values in bytes, in every dress that a value leaves in: text, number, packed, base64, hex, escaped."""

from __future__ import annotations

import base64
import html
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

T = TypeVar("T", str, bytes)

SEPARATORS = (",", "_", ".", "'", " ", "\u00a0", "\u2009", "\u202f")
"""What people and programs put between thousands."""

LEAST = 6
"""A pattern of fewer bytes would be found by chance."""


@dataclass(frozen=True)
class Canary:
    """A value, or a family of values, and every run of bytes that gives it away."""

    name: str
    patterns: Mapping[bytes, str]

    @classmethod
    def text(cls, name: str, text: str) -> Canary:
        """A text that appears nowhere else, in any case."""
        return cls(name, _named(dress for one in (text, text.lower(), text.upper()) for dress in texts(one, "text")))

    @classmethod
    def numbers(cls, name: str, values: Sequence[int | float]) -> Canary:
        """Numbers with the same leading digits: what they share gives any of them away."""
        dresses: list[tuple[bytes, str]] = []
        for how in ("plain", *SEPARATORS, "{:.11e}", "{:e}", "{:g}", "{:x}"):
            dresses += texts(shared([_written(value, how) for value in values]), "number")
        for code in ("d", "q") if all(isinstance(value, int) for value in values) else ("d",):
            packed = shared([struct.pack(f">{code}", value) for value in values]).lstrip(b"\0")
            for order, part in (("big-endian", packed), ("little-endian", packed[::-1])):
                dresses += binary(part, f"packed number, {order}")
        return cls(name, _named(dress for dress in dresses if len(dress[0]) >= LEAST))


def _named(dresses: Iterable[tuple[bytes, str]]) -> dict[bytes, str]:
    """Each pattern once, called what it was first called."""
    named: dict[bytes, str] = {}
    for pattern, how in dresses:
        named.setdefault(pattern, how)
    return named


def _written(value: float, how: str) -> str:
    """The number as a text; of a scientific one the digits alone, for its exponent has several spellings."""
    if how == "plain":
        return str(value)
    if how in SEPARATORS:
        return f"{value:,}".replace(",", how)
    if how == "{:x}" and not isinstance(value, int):
        return value.hex()
    return how.format(value)


def shared(written: Sequence[T]) -> T:
    """What all of them begin with."""
    first, last = min(written), max(written)
    length = next(
        (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(map(len, (first, last)))
    )
    return first[:length]


def texts(text: str, what: str) -> Iterator[tuple[bytes, str]]:
    """A text in every encoding and escape, each also in hex and base64."""
    for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        yield from binary(text.encode(encoding), f"{what}, {encoding}")
    escaped = {
        "JSON": json.dumps(text)[1:-1],
        "JSON, upper case": json.dumps(text)[1:-1].upper().replace("\\U", "\\u"),
        "HTML": html.escape(text),
        "HTML, numbered": text.encode("ascii", "xmlcharrefreplace").decode(),
        "URL": quote(text),
        "Python": ascii(text)[1:-1],
        "bytes of Python": repr(text.encode())[2:-1],
    }
    for how, form in escaped.items():
        yield form.encode(), f"{what}, escaped as {how}"
        yield json.dumps(form)[1:-1].encode(), f"{what}, escaped as {how} inside JSON"


def binary(part: bytes, what: str) -> Iterator[tuple[bytes, str]]:
    """Some bytes as they are, in hex, and in base64 at each of its three alignments."""
    yield part, what
    yield part.hex().encode(), f"{what}, hex"
    yield part.hex().upper().encode(), f"{what}, HEX"
    for before in range(3):
        # The characters that hold bits of these bytes only, whatever stands before and after.
        first, last = -(-8 * before // 6), 8 * (before + len(part)) // 6
        whole = bytes(before) + part + bytes(2)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(whole)[first:last], f"{what}, base64"


@dataclass(frozen=True)
class Find:
    """A canary where it must not be (or a decoy where it must), and what stands around it."""

    place: str
    canary: str
    how: str
    around: str

    def __str__(self) -> str:
        return f"{self.place} shows {self.canary} as {self.how}: {self.around}"


def hunt(evidence: Mapping[str, bytes], canaries: Sequence[Canary]) -> list[Find]:
    """Every canary in every piece of evidence, each dress once."""
    found = []
    for place, content in evidence.items():
        for canary in canaries:
            for pattern, how in canary.patterns.items():
                at = content.find(pattern)
                if at >= 0:
                    around = content[max(0, at - 150) : at + len(pattern) + 80]
                    found.append(Find(place, canary.name, how, repr(around)))
    return found
