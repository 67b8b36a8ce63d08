"""Tokens: long random texts by which a curator knows analysts. Only their digests are kept.

A token has 256 random bits, so its digest needs no salt and no slow hash: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

PREFIX: Final = "dpviz_"
"""The beginning of a token, by which programs that look for secrets find one in the wrong place."""
BYTES: Final = 32


def fresh_token() -> str:
    """A token that nobody has."""
    return PREFIX + secrets.token_hex(BYTES)


def digest_of(token: str) -> str:
    """The digest of a token, as a declaration keeps it."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
