"""How the text of a row lies in a file: deflated, against words that most rows have. It takes a third of the room.

The hash of a row is over its text, so packing is no part of the chain. docs/formats.md says what the bytes are.
"""

from __future__ import annotations

import hashlib
import zlib
from functools import cache
from pathlib import Path

from dpviz.errors import LedgerError

FORMAT = 3
"""The first format whose rows are packed, all but the first: it says the format to whoever cannot unpack."""

DICTIONARY = Path(__file__).with_name("dictionary.txt")
"""Never to be changed: rows that lie in files were packed against it."""

_DIGEST = "04dccf7af5bf64958f8da9e19d88ffff663cb661fb19fc033516d2ed079bf6a4"

_MARK, _CHECK, _MOST, _WINDOW = b"\x01", 4, 2**20, -15


def packed(text: str) -> str | bytes:
    """A text as a file keeps it. A very long one stays as it is, so that nothing short unpacks to more."""
    if len(text) > _MOST:
        return text
    packing = zlib.compressobj(wbits=_WINDOW, zdict=_words())
    content = packing.compress(text.encode("ascii")) + packing.flush()
    return _MARK + content + _checksum(content)


def unpacked(found: object) -> object:
    """The text of what a file keeps. Text that is not packed is given back for its reader to refuse."""
    if not isinstance(found, bytes) or found[:1] != _MARK:
        return found
    content, unpacking = found[1:-_CHECK], zlib.decompressobj(_WINDOW, zdict=_words())
    try:
        text = unpacking.decompress(content, _MOST + 1).decode("ascii")
    except (zlib.error, UnicodeDecodeError):
        return found
    whole = unpacking.eof and not unpacking.unused_data and len(text) <= _MOST
    return text if whole and found[-_CHECK:] == _checksum(content) else found


def _checksum(content: bytes) -> bytes:
    """The last bits of a deflated text mean nothing: so that none of them changes unseen."""
    return zlib.crc32(content).to_bytes(_CHECK, "little")


@cache
def _words() -> bytes:
    """The dictionary, once it is seen to be the one: what was packed against another could be read nowhere else."""
    try:
        words = DICTIONARY.read_bytes()
    except OSError:
        words = b""
    if hashlib.sha256(words).hexdigest() == _DIGEST:
        return words
    rule, step = "rows of a ledger are packed against the one dictionary of dpviz", "install dpviz anew"
    raise LedgerError(
        f"a file of the installed dpviz, {DICTIONARY.name}, is missing or altered, and {rule}; {step}",
        value=DICTIONARY.name,
        rule=rule,
        next_step=step,
    )
