"""Processes that a test forks: they show lines, or return something, or are killed in the middle of their work."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeAlias

Show: TypeAlias = Callable[[object], None]
"""Shows one line, whole or not at all."""


class Process:
    """A forked process that runs `work` with a pipe, and ends with 0 if it raised nothing; `lines` reads the pipe."""

    def __init__(self, work: Callable[[int], object]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            gc.freeze()  # a collection in here would touch, and so copy, all that the tests before have kept
            status = 1
            try:
                work(writing)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writing)
        self.lines = os.fdopen(reading)

    def ended(self) -> int:
        """Wait until it has ended: its exit code, or minus the signal that killed it."""
        self.lines.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self, *, reap: bool = True) -> None:
        """Kill it; a process that nobody has reaped is a zombie."""
        os.kill(self.pid, signal.SIGKILL)
        if reap:
            assert self.ended() == -signal.SIGKILL, "the child ended before it was killed"
        else:
            self.lines.close()


class Child(Process):
    """A process of its own that runs `work(show)`."""

    def __init__(self, work: Callable[[Show], object]) -> None:
        super().__init__(lambda pipe: work(lambda line: _show(pipe, line)))

    def rest(self) -> list[str]:
        """The lines that it shows until it has ended of its own accord."""
        lines = self.lines.read().splitlines()
        assert self.ended() == 0, "the child failed"
        return lines

    def killed(self, *, after: int, seconds: float) -> list[str]:
        """What it showed until it was killed, some seconds after it had shown so many lines. It may have ended."""
        lines = [self.lines.readline() for _ in range(after)]
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGKILL)
        lines += self.lines.readlines()
        assert self.ended() in (0, -signal.SIGKILL), "the child failed before it was killed"
        return [line.rstrip("\n") for line in lines if line]


class Call(Process):
    """A process of its own that calls `work()`; `result()` is what that returned, as JSON."""

    def __init__(self, work: Callable[[], object]) -> None:
        def write(pipe: int) -> None:
            with os.fdopen(pipe, "w") as stream:
                json.dump(work(), stream)

        super().__init__(write)

    def result(self) -> Any:
        text = self.lines.read()
        assert self.ended() == 0, "the child failed"
        return json.loads(text)


def _show(pipe: int, line: object) -> None:
    text = f"{line}\n".encode()
    assert len(text) < 4096, "a longer line could be cut in the middle"
    os.write(pipe, text)


# ---------------------------------------------------------------- killed at a step, not at a time


def steps_of(work: Callable[[], object]) -> int:
    """How many steps a piece of work is, counted in a process of its own: calls and returns, of C functions too."""

    def count() -> int:
        steps = 0

        def step(*_: object) -> None:
            nonlocal steps
            steps += 1

        _watch(step)
        work()
        _watch(None)
        return steps

    return int(Call(count).result())


def killed(work: Callable[[Show], object], *, lines: int, steps: int) -> list[str]:
    """What `work(say)` showed in a process that killed itself so many steps after it had shown so many lines.

    A step is a call or a return of any function, in any of its threads: the moment is one of the work's own, on a
    slow machine and on a fast one.
    """

    def doomed(show: Show) -> None:
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

    child = Child(doomed)
    lines_shown = child.lines.read().splitlines()
    assert child.ended() == -signal.SIGKILL, "the child ended before it was killed"
    return lines_shown


def _watch(step: Callable[..., None] | None) -> None:
    """Call `step` at every call and return of this thread, and of those that start from now on."""
    threading.setprofile(step)  # type: ignore[arg-type]
    sys.setprofile(step)
