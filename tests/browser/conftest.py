"""One JupyterLab for all browser tests; each test opens its notebooks in a fresh window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.lab import PATIENCE, Lab

expect.set_options(timeout=PATIENCE * 1000)  # a slow machine is no failure


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab.start(tmp_path_factory.mktemp("lab")) as lab:
        yield lab
