"""The toy for a test: its bundle, and itself registered. `tests/conftest.py` makes both known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.toy.bundle import build

    return build(tmp_path_factory.mktemp("bundle"))


@pytest.fixture
def known(bundle: Path) -> Iterator[None]:
    """The toy, registered for one test."""
    from tests.toy import pairs  # here, for every test run loads this file

    pairs.register(bundle)
    yield
    pairs.unregister()
