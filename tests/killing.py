"""A process that works and shows lines until it is killed: for every test that kills one in the middle."""

from __future__ import annotations

import os
import signal
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
