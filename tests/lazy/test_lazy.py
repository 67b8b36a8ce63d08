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
    import this_is_loaded
print(gc.get_freeze_count() == frozen, any(one is made for one in gc.get_objects(generation=2)))
"""


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("gc.unfreeze(); frozen = 0", "True True"),
        ("gc.unfreeze(); gc.freeze(); frozen = gc.get_freeze_count()", "True False"),
    ],
)
def test_what_was_loaded_is_old_and_what_somebody_froze_stays_frozen(before: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "this_is_loaded.py").touch()
    assert told(ALONE.format(before=before), tmp_path) == said


AGAIN = """
import gc
import dpviz as dv
from dpviz.mechanisms import OPENINGS, REGISTRY, mechanism
def look_up():
    dv.Dense("1/2"), dv.datasets, dv.Domain, REGISTRY["Dense"], OPENINGS["PayWhatYouGet"]
    mechanism("Dense", {"epsilon": "1/2"})
look_up()
gc.unfreeze()
gc.set_threshold(0)  # on, but it looks only where it is told to
made = [[] for _ in range(1000)]
look_up()
print(gc.isenabled(), any(one is made for one in gc.get_objects(generation=0)))
"""


def test_what_is_looked_up_again_lets_nothing_grow_old(tmp_path: Path) -> None:
    """Else whatever is thrown away would wait for Python to look through everything."""
    assert told(AGAIN, tmp_path) == "True True"


FORKED = """
import gc, os, threading
from dpviz.lazy import without_collector
begun, ends = threading.Event(), threading.Event()
def loads():
    with without_collector():
        begun.set()
        ends.wait()
def forked():
    child = os.fork()
    if not child:
        os._exit(gc.isenabled())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
thread = threading.Thread(target=loads)
thread.start()
begun.wait()
print(gc.isenabled(), forked(), end=" ")
ends.set()
thread.join()
with without_collector():
    print(forked())
"""


def test_a_process_forked_while_another_thread_loads_has_a_collector(tmp_path: Path) -> None:
    """Where the thread that forks is the one that loads, it turns the collector on itself."""
    assert told(FORKED, tmp_path) == "False 1 0"


def told(script: str, place: Path) -> str:
    """What this script prints, in a process of its own."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


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
        found.append(int(told(text, tmp_path / place)))
    assert found[0] == 0 < found[1]
