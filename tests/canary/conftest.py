"""One long session in a real JupyterLab, recorded: what it said, what it wrote, what it showed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.lab import PATIENCE, open_browser
from tests.canary.recording import Recording, record

expect.set_options(timeout=PATIENCE * 1000)  # a slow machine is no failure


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    with open_browser() as browser:
        yield record(browser, tmp_path_factory.mktemp("canary"))
