"""A chart as a picture of pixels, for what shows a notebook and draws no Vega-Lite: nbconvert, MyST, mails, a PDF."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

EXTRA: Final = 'pip install "dpviz[lab]"'
KINDS: Final = ("png", "svg", "pdf")
"""The kinds of files that vl-convert draws."""

FORMATS: Final = ("html", "json", *KINDS)
"""The formats that a chart is saved in."""

SCALE: Final = 2
"""Pixels for each pixel of the chart, so that it is sharp on paper, too."""

_HEAD: Final = 8
"""A PNG file begins with so many bytes of its own; then come chunks of a length, a name, their bytes and a checksum."""


def png(spec: Mapping[str, Any]) -> bytes | None:
    """The picture of a Vega-Lite chart, drawn here with nothing fetched; None where vl-convert is not installed."""
    if not installed():
        return None
    import vl_convert

    return smaller(vl_convert.vegalite_to_png(json.dumps(spec), scale=SCALE))


def installed() -> bool:
    """Whether vl-convert is there."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        return False
    return True


def size(picture: bytes) -> tuple[int, int]:
    """Width and height of a picture in pixels of the chart."""
    width, height = struct.unpack(">II", picture[16:24])
    return width // SCALE, height // SCALE


def smaller(picture: bytes) -> bytes:
    """The same pixels, compressed as hard as zlib can: about a quarter of what vl-convert writes."""
    chunks = list(_chunks(picture))
    pixels = b"".join(content for name, content in chunks if name == b"IDAT")
    packed = zlib.compress(zlib.decompress(pixels), 9)
    first = next(place for place, (name, _) in enumerate(chunks) if name == b"IDAT")
    kept = [chunk for chunk in chunks if chunk[0] != b"IDAT"]
    kept.insert(first, (b"IDAT", packed))
    return picture[:_HEAD] + b"".join(_chunk(name, content) for name, content in kept)


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = _HEAD
    while at < len(picture):
        length, name = struct.unpack(">I4s", picture[at : at + 8])
        yield name, picture[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
