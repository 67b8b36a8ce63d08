#!/usr/bin/env bash
# One would guess: a request over a Unix socket at which nobody listens fails with ConnectError and leaves nothing open,
#   as the same request over TCP does.
# What happens: over TCP nothing is left; over a Unix socket the socket that could not be connected is never closed by
#   the library, and Python warns of it when it is collected.
# Why it matters: a client that waits for a local service to come back warns at each try, and a program that takes
#   warnings for errors fails in a place that has nothing to do with it.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check httpx==0.28.1 httpcore==1.0.9
cd "$scratch"
venv/bin/python - <<'PY'
import gc
import socket
import warnings

import httpcore
import httpx

with socket.socket(socket.AF_UNIX) as stale:
    stale.bind("stale.sock")  # a socket file of a service that has ended
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]


def left(client, address):
    with warnings.catch_warnings(record=True) as said, client:
        warnings.simplefilter("always")
        try:
            client.get(address)
        except httpx.ConnectError as error:
            kind = type(error).__name__
        gc.collect()
    return kind, sum("unclosed <socket" in str(one.message) for one in said)


tcp = left(httpx.Client(trust_env=False), f"http://127.0.0.1:{port}")
unix = left(httpx.Client(transport=httpx.HTTPTransport(uds="stale.sock")), "http://local")
print("httpx", httpx.__version__, "httpcore", httpcore.__version__, "sockets left open: TCP", tcp, "Unix", unix)
assert tcp == ("ConnectError", 0) and unix == ("ConnectError", 1)
PY
echo "as described"
