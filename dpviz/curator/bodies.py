"""The bodies of requests: whole within some seconds, and not too long."""

from __future__ import annotations

import asyncio
from typing import Final

from fastapi import Request

from dpviz.boundary import protect_module
from dpviz.errors import Forbidden

PATIENCE: Final = 10.0
"""Seconds within which a whole message must have come, and for which a question how an order stands is held open."""


async def content_of(request: Request, most: int) -> bytes:
    """The bytes that a request carries, which come within some seconds. Of a longer one only more than `most`."""
    content = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in request.stream():
                content += piece
                if len(content) > most:
                    break
    except TimeoutError:
        late = True
    else:
        late = False
    if late:
        raise Forbidden.of("half a message", f"a message comes within {PATIENCE:g} seconds", "send it again")
    return bytes(content)


protect_module(vars())
