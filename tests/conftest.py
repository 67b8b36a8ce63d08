"""Two rules for every test: it says the same thing each time it runs, and a test that was skipped has failed."""

from __future__ import annotations

import gc
import itertools
import os
import tempfile
from collections.abc import Generator, Iterator
from typing import Any

import hypothesis
import pytest
from playwright.sync_api import Browser

pytest_plugins = ["tests.toy.fixtures"]

_state = tempfile.TemporaryDirectory(prefix="dpviz-state-")
os.environ["XDG_STATE_HOME"] = _state.name  # what is remembered of the ledgers of tests is nobody's

_states = itertools.count(1)


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> Iterator[None]:
    """Each test is on a machine that remembers no ledger of another one.

    It has a patch of its own: pytest's `monkeypatch` is taken back last where it is asked for first.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", os.path.join(_state.name, str(next(_states))))
        yield


@pytest.fixture
def no_disk_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that write to ledgers hundreds of times: a write reaches the system, and nobody waits until it has
    reached the disk.

    A process that is killed loses nothing by that, and no test can cut the power. `tests/ledger/test_flushed.py` holds
    what dpviz asks for.
    """
    from dpviz.session.ledger import sqlite

    monkeypatch.setattr(sqlite, "_DURABLE", ("synchronous=OFF",))


hypothesis.settings.register_profile("dpviz", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("dpviz")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    places = () if call.excinfo is None else getattr(call.excinfo.value, "_places", ())
    if places:  # a public call lets no frame out, so where it failed is shown beside what failed
        report.sections.append(("behind the doors of dpviz", "\n".join(map(str, places))))
    return _never_skipped(report)


def pytest_collection_finish() -> None:
    """Ten thousand tests live as long as the process: no collection need look at them again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _never_skipped((yield))


def _never_skipped(report: Any) -> Any:
    """What a skipped test would have shown, nobody knows: report it as failed, with the reason it gave."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _, _, reason = report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason}\nA test that cannot run fails: install what it needs."
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a process: Playwright runs once in each."""
    from tests.browser.lab import open_browser

    with open_browser() as opened:
        yield opened
