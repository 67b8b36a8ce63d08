"""While dpviz loads, the garbage collector rests; afterwards it is as it was, and sees everything."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpviz.lazy import without_collector
from tests.patience import patience


class Ring:
    """What only the collector can take away: it holds itself."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The collector is on, and on again after the test."""
    assert gc.isenabled()
    yield
    gc.enable()


def test_it_rests_inside_and_runs_again_afterwards() -> None:
    with without_collector():
        assert not gc.isenabled()
        with without_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize("error", [ImportError, KeyboardInterrupt])
def test_what_fails_inside_leaves_it_on(error: type[BaseException]) -> None:
    with pytest.raises(error), without_collector():
        raise error
    assert gc.isenabled()


def test_whoever_turned_it_off_keeps_it_off() -> None:
    gc.disable()
    with without_collector():
        pass
    assert not gc.isenabled()


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_two_threads_that_load_leave_it_on(first_ends_first: bool) -> None:
    """Whichever of them is done first."""
    begun, ends = threading.Event(), (threading.Event(), threading.Event())

    def loads(end: threading.Event) -> None:
        with without_collector():
            begun.set()
            assert end.wait(patience())

    threads = []
    for end in ends:
        begun.clear()
        threads.append(threading.Thread(target=loads, args=[end]))
        threads[-1].start()
        assert begun.wait(patience())
    for index in (0, 1) if first_ends_first else (1, 0):
        ends[index].set()
        threads[index].join()
    assert gc.isenabled()


def test_what_is_thrown_away_inside_is_collected_later() -> None:
    with without_collector():
        ring = Ring()
        gone = weakref.ref(ring)
        del ring
    assert gone() is not None
    gc.collect()
    assert gone() is None


ALONE = """
import gc
from dpviz.lazy import without_collector
{before}
with without_collector():
    made = [[] for _ in range(100_000)]
print(gc.get_freeze_count() == frozen, any(one is made for one in gc.get_objects(generation=2)))
"""


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("gc.unfreeze(); frozen = 0", "True True"),
        ("gc.unfreeze(); gc.freeze(); frozen = gc.get_freeze_count()", "True False"),
    ],
)
def test_what_was_loaded_is_old_and_what_somebody_froze_stays_frozen(before: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE.format(before=before)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == said


START = """
import gc
import dpviz as dv
gc.unfreeze()
looked = [0, 0, 0]
def look(phase, info):
    looked[info["generation"]] += phase == "start"
gc.callbacks.append(look)
visits = dv.datasets.doctor_visits()
session = dv.Session(visits, dv.Unit("row"), dv.Budget(epsilon=2), "start.ledger")
bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
session.plan(bins, dv.Dense("1/2"))
dv.Workbench(session, bins)
print(looked[2])
"""


def test_until_the_first_plan_nobody_looks_through_all_of_pandas(tmp_path: Path) -> None:
    """With the same lines, and the loaders replaced by ones that let it run, Python looks at everything."""
    watched = "import contextlib, dpviz.lazy\ndpviz.lazy.without_collector = contextlib.nullcontext\n"
    watched += "import dpviz\ndpviz._without_collector = contextlib.nullcontext\n"
    found = []
    for place, text in (("rests", START), ("runs", watched + START)):
        (tmp_path / place).mkdir()
        command = [sys.executable, "-c", text]
        done = subprocess.run(command, cwd=tmp_path / place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append(int(done.stdout))
    assert found[0] == 0 < found[1]
