"""A process that works and shows lines until it is killed: for every test that kills one in the middle."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable


class Shown:
    """A forked process that runs `work(say)`; `say` shows one line, whole or not at all."""

    def __init__(self, work: Callable[[Callable[[object], None]], object]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            status = 1
            try:
                work(lambda line: say(writing, line))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writing)
        self.lines = os.fdopen(reading)

    def kill(self, *, after: int, seconds: float) -> list[str]:
        """What it showed until it was killed, some seconds after it had shown so many lines. It may have ended."""
        lines = [self.lines.readline() for _ in range(after)]
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGKILL)
        lines += self.lines.readlines()
        _, status = os.waitpid(self.pid, 0)
        self.lines.close()
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or os.waitstatus_to_exitcode(status) == 0, "the child failed before it was killed"
        return [line.rstrip("\n") for line in lines if line]


def say(pipe: int, line: object) -> None:
    text = f"{line}\n".encode()
    assert len(text) < 4096, "a longer line could be cut in the middle"
    os.write(pipe, text)


# ---------------------------------------------------------------- killed at a step, not at a time


def steps_of(work: Callable[[], object]) -> int:
    """How many steps a piece of work is, counted in a process of its own: calls and returns, of C functions too."""

    def count(show: Callable[[object], None]) -> None:
        steps = 0

        def step(*_: object) -> None:
            nonlocal steps
            steps += 1

        _watch(step)
        work()
        _watch(None)
        show(steps)

    child = Shown(count)
    (line,) = child.lines.read().split()
    child.lines.close()
    assert os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1]) == 0
    return int(line)


def killed(work: Callable[[Callable[[object], None]], object], *, lines: int, steps: int) -> list[str]:
    """What `work(say)` showed in a process that killed itself so many steps after it had shown so many lines.

    A step is a call or a return of any function, in any of its threads: the moment is one of the work's own, on a
    slow machine and on a fast one.
    """

    def doomed(show: Callable[[object], None]) -> None:
        shown = 0

        def step(*_: object) -> None:
            nonlocal steps
            steps -= 1
            if steps < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def tell(line: object) -> None:
            nonlocal shown
            show(line)
            shown += 1
            if shown == lines:
                _watch(step)

        work(tell)

    child = Shown(doomed)
    told = child.lines.readlines()
    child.lines.close()
    status = os.waitpid(child.pid, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, "the child ended before it was killed"
    return [line.rstrip("\n") for line in told]


def _watch(step: Callable[..., None] | None) -> None:
    """Call `step` at every call and return of this thread, and of those that start from now on."""
    threading.setprofile(step)  # type: ignore[arg-type]
    sys.setprofile(step)
