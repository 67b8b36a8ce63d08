"""The site, built once, and a web server for it."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import own_port
from tools import class_site

NOWHERE = "http://127.0.0.1:9"
"""An address at which nothing listens."""


@pytest.fixture(scope="session")
def tools() -> Path:
    """What `make class` installs, at its place; where it is there already, nothing is fetched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
        class_site.install(class_site.TOOLS)
    return class_site.TOOLS


@pytest.fixture(scope="session")
def site(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built where no index can be reached."""
    folder = tmp_path_factory.mktemp("class") / "site"
    away = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
    offline = os.environ | away | {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1", "PYTHONPATH": str(class_site.ROOT)}
    command = [sys.executable, "-m", "tools.class_site", str(folder), "--tools", str(tools)]
    done = subprocess.run(command, cwd=class_site.ROOT, env=offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class _Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site, served as any web server would."""
    port = own_port()
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(_Files, directory=site)) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{port}/"
        server.shutdown()
        serving.join()
