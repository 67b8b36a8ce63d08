"""Ports for servers that tests start, which nobody else takes before they listen, or while they are down."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

FIRST, BEYOND = 20_000, 32_768
"""Where the system gives ports away by itself, they are above these."""
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

_held: list[socket.socket] = []
"""One name for each port of ours, which no other process of these tests can bind as long as this one lives."""


def own_port() -> int:
    """A port of this process alone.

    One that was free a moment ago may be given to any other program that asks for any. This one is below those that
    the system gives away, and is taken by its name from the tests that run beside this one.
    """
    beyond = min(BEYOND, int(RANGE.read_text().split()[0])) if RANGE.exists() else BEYOND
    for turn in range(beyond - FIRST):
        port = FIRST + (os.getpid() * 17 + turn) % (beyond - FIRST)
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0dpviz tests: port {port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError as taken:
            name.close()
            if taken.errno != errno.EADDRINUSE:
                raise
            continue
        _held.append(name)
        return port
    raise RuntimeError("every port for tests is taken")
