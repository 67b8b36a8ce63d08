"""A real JupyterHub with its proxy, in processes of their own. A curator is one of its services."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.patience import patience, until
from tests.ports import own_port

ROOT = Path(__file__).resolve().parents[2]
PROXY = ROOT / "widgets/node_modules/configurable-http-proxy/bin/configurable-http-proxy"
ADMIN = "an-admin-token-of-these-tests"

CONFIG = """
c = get_config()
c.JupyterHub.bind_url = "http://127.0.0.1:{public}/"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{inner}"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy}"
c.ConfigurableHTTPProxy.command = [{node!r}, {script!r}]
c.ConfigurableHTTPProxy.auth_token = "a-token-between-hub-and-proxy"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allowed_users = {{"ada.l", "ben", "eve", "keeper"}}
c.JupyterHub.spawner_class = "simple"
c.Spawner.cmd = {notebook!r}
c.Spawner.environment = {{"PYTHONPATH": {root!r}, "CURATOR": "http://127.0.0.1:{public}/services/visits"}}
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie_secret"
c.JupyterHub.custom_scopes = {{
    "custom:dpviz:plan": {{"description": "plan"}},
    "custom:dpviz:release": {{"description": "release"}},
}}
c.JupyterHub.services = [
    {{"name": "admin", "api_token": "{admin}"}},
    {{"name": "ada.l", "api_token": "{admin}-of-a-namesake"}},
    {{
        "name": "visits",
        "url": "http://127.0.0.1:{service}",
        "command": {command!r},
        "environment": {{"PYTHONPATH": {root!r}}},
    }},
]
c.JupyterHub.load_roles = [
    {{"name": "server", "scopes": ["users:activity!user", "access:servers!server", "access:services!service=visits"]}},
    {{"name": "admins", "services": ["admin"], "scopes": ["admin:users", "admin:servers", "tokens"]}},
    {{"name": "namesakes", "services": ["ada.l"], "scopes": ["access:services!service=visits"]}},
    {{"name": "analysts", "users": ["ada.l", "ben", "keeper"],
     "scopes": ["access:services!service=visits", "custom:dpviz:plan", "custom:dpviz:release"]}},
]
"""


NOTEBOOK = """
import json, os, pathlib, urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer
import dpviz as dv

session = dv.connect(os.environ["CURATOR"], token=os.environ["JUPYTERHUB_API_TOKEN"])
release = session.release(session.domains["visits"], dv.Dense(epsilon="0.07"), key="notebook")
entry = session.ledger.entry(release.number)
told = json.dumps([entry.person, entry.asked_by, entry.price]).encode()

class Told(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

place = urllib.parse.urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
HTTPServer((place.hostname, place.port), Told).serve_forever()
"""
"""A user's server in place of a notebook: it asks the curator with the token that the hub gave it, and tells what it
got to whoever opens its page."""


class Hub:
    """A hub with one curator.

    folder   that of the hub, and of the declaration `visits.toml`
    address  of the curator behind the hub's proxy; `direct` without it

    `notebook` is the command of a user's server, the small one of these tests by default, and `more` is added to the
    hub's settings.
    """

    def __init__(self, folder: Path, port: int, *, notebook: Sequence[str] = (), more: str = "") -> None:
        self.folder, self._public = folder, own_port()
        self.address, self.direct = f"http://127.0.0.1:{self._public}/services/visits", f"http://127.0.0.1:{port}"
        self.public = f"http://127.0.0.1:{self._public}"
        self._api = f"{self.public}/hub/api"
        node = shutil.which("node")
        assert node is not None and PROXY.exists(), "npm install in widgets brings configurable-http-proxy"
        program = "from dpviz.cli import main; raise SystemExit(main())"
        command = [sys.executable, "-c", program, "curator", "serve", str(folder / "visits.toml")]
        text = CONFIG.format(
            public=self._public, inner=own_port(), proxy=own_port(), node=node, script=str(PROXY), folder=folder,
            admin=ADMIN, service=port, notebook=list(notebook) or [sys.executable, "-c", NOTEBOOK],
            command=command, root=str(ROOT),
        )  # fmt: skip
        (folder / "config.py").write_text(text + more)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start hub, proxy and curator, and wait until all three answer."""
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub", "-f", str(self.folder / "config.py")],
                stdout=log, stderr=log, cwd=self.folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip
        for asked in (self._api, f"{self.direct}/charter", f"{self.address}/charter"):
            until(lambda: self._ended() or self._answers(asked), lambda: self.log)  # noqa: B023
            assert not self._ended(), self.log

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _answers(self, address: str) -> bool:
        try:
            urllib.request.urlopen(address, timeout=patience()).close()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code < 500 and error.code != 404
        except OSError:
            return False
        return True

    @property
    def log(self) -> str:
        """The output of hub, proxy and curator."""
        return (self.folder / "log").read_text(errors="replace")

    def stop(self) -> None:
        """End what was started, by its numbers."""
        if self._process is None:
            return
        family = psutil.Process(self._process.pid).children(recursive=True)
        self._process.terminate()
        self._process.wait()
        for process in family:  # the hub ends its services and its proxy, where nothing went wrong
            if process.is_running():
                process.kill()
        psutil.wait_procs(family)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the hub's own API as its administrator."""
        request = urllib.request.Request(
            f"{self._api}{path}", method=method, headers={"Authorization": f"token {ADMIN}"}
        )
        content = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(request, content, timeout=patience()) as reply:
            read = reply.read()
        return json.loads(read) if read else None

    def token(self, user: str, *scopes: str) -> tuple[str, str]:
        """A new token of a user, and its number."""
        body = {"note": "a test", **({"scopes": list(scopes)} if scopes else {})}
        made = self.ask("POST", f"/users/{user}/tokens", body)
        return made["token"], made["id"]
