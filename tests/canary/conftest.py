"""One long session in a real JupyterLab, recorded: what it said, what it wrote, what it showed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.lab import open_browser
from tests.canary.recording import Recording, record


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    with open_browser() as browser:
        yield record(browser, tmp_path_factory.mktemp("canary"))
