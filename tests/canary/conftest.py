"""One long session in a real JupyterLab, recorded: what it said, what it wrote, what it showed."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.lab import PATIENCE
from tests.canary.recording import Recording, record

expect.set_options(timeout=PATIENCE * 1000)  # a slow machine is no failure


@pytest.fixture(scope="session")
def recording(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(browser, tmp_path_factory.mktemp("canary"))
