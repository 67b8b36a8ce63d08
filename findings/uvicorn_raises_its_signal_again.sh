#!/usr/bin/env bash
# One would guess: a server that is stopped with SIGTERM shuts down in order, uvicorn.Server.run returns, and what
#   stands in a finally block after it runs, as after Ctrl-C.
# What happens: the server shuts down in order and then raises the same signal once more with the handler that was there
#   before. For SIGTERM that is the system's own, so the process ends inside run: nothing after it runs.
# Why it matters: a service that removes its socket, closes a queue or writes a last line after run does so when a
#   person stops it and never when systemd, Docker or Kubernetes does.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check uvicorn==0.54.0
cd "$scratch"
cat > served.py <<'PY'
import asyncio
import os
import signal
import sys

import uvicorn


async def app(scope, receive, send):
    pass


class Told(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))

    async def shutdown(self, sockets=None):
        await super().shutdown(sockets)
        print("shut down in order", flush=True)


if sys.argv[2:] == ["handled"]:
    signal.signal(signal.SIGTERM, lambda *_: None)
try:
    Told(uvicorn.Config(app, port=0, lifespan="off", log_config=None)).run()
finally:
    print("after run", flush=True)
PY
venv/bin/python -c 'import uvicorn; print("uvicorn", uvicorn.__version__)'
stopped() { venv/bin/python served.py "$@" 2> /dev/null | tr '\n' ','; }
set +e
echo "SIGINT:  $(stopped SIGINT)"
echo "SIGTERM: $(stopped SIGTERM)"
echo "SIGTERM with a handler of one's own: $(stopped SIGTERM handled)"
set -e
test "$(stopped SIGINT || true)" = "shut down in order,after run,"
test "$(stopped SIGTERM || true)" = "shut down in order,"
test "$(stopped SIGTERM handled || true)" = "shut down in order,after run,"
echo "as described"
