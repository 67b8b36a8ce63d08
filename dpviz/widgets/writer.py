"""One writer: whatever changes or says something does it here, one piece after the other."""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from dpviz import threads

Work = Callable[[], None]

LINGER = 10.0
"""For how many seconds a thread without work waits for more.

Every thread that sends takes a socket of the kernel, which has about a thousand and takes back those of ended threads
every ten seconds: a thread for each message of a page that never rests would leave none.
"""
TURN, PAUSE, FLOOD, CALM, REST = 0.005, 0.02, 5, 5, 10.0
"""After `TURN` seconds of work in which messages came, a writer pauses for `PAUSE` seconds.

If `FLOOD` messages or more came in that pause, it goes on pausing until `CALM` pauses in a row saw fewer, for `REST`
seconds at most. A kernel hands over messages on a thread that needs the interpreter for a moment each time, and waits
five milliseconds for it while another thread works; a thousand messages that wait there hold up the cells, too. A
person who drags a slider sends one message a frame, at most three in a pause.
"""
MOST_PUT_OFF = 50_000
"""With so many pieces waiting a writer no longer pauses: they would fill the memory."""


class Arrivals:
    """How many messages came in, roughly: threads may count at once."""

    def __init__(self) -> None:
        self.count = 0

    def add(self) -> None:
        self.count += 1


class Writer:
    """Does one piece of work after the other, in the order they came, on one thread.

    The thread lives while there is work, and a little longer. Where there are no threads, whoever brings the first
    piece does them all, those for later too.

    A piece may not wait for a later one. An error that it raises ends that piece alone, and its text goes no further:
    it may say too much.

    arrivals  the messages that the pieces come from: between two pieces the thread gives way to a flood of them
    """

    def __init__(self, arrivals: Arrivals | None = None) -> None:
        self._arrivals = arrivals or Arrivals()
        self._fresh()

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._waiting: deque[Work] = deque()
        self._later: list[tuple[float, int, Work]] = []
        self._order = count()
        self._alive = False

    def put(self, work: Work) -> None:
        """Do this after all that was put before."""
        self._add(lambda: self._waiting.append(work))

    def later(self, seconds: float, work: Work) -> None:
        """Do this once so many seconds have passed, before anything that is still waiting then."""
        due = time.monotonic() + seconds
        self._add(lambda: heapq.heappush(self._later, (due, next(self._order), work)))

    def _add(self, add: Work) -> None:
        if self._pid != os.getpid():  # a fork copies the queue, and no thread that works it off
            self._fresh()
        with self._changed:
            add()
            self._changed.notify()
            begin, self._alive = not self._alive, True
        if begin:
            threads.run(self._run, "dpviz-page")

    def _run(self) -> None:
        try:
            worked, heard = 0.0, self._arrivals.count
            while (work := self._next()) is not None:
                began = time.monotonic()
                with suppress(Exception):
                    work()
                worked += time.monotonic() - began
                if worked >= TURN:
                    if self._arrivals.count != heard and not threads.in_place():
                        self._give_way()
                    worked, heard = 0.0, self._arrivals.count
        except BaseException:  # Ctrl-C, where the work is done in place: whoever comes next goes on with the rest
            with self._changed:
                self._alive = False
            raise

    def _give_way(self) -> None:
        until, calm = time.monotonic() + REST, CALM
        while len(self._waiting) < MOST_PUT_OFF and time.monotonic() < until:
            before = self._arrivals.count
            time.sleep(PAUSE)
            calm = 0 if self._arrivals.count - before >= FLOOD else calm + 1
            if calm >= CALM:
                return

    def _next(self) -> Work | None:
        with self._changed:
            rest = time.monotonic() + (0.0 if threads.in_place() else LINGER)
            while True:
                now = time.monotonic()
                wait = self._later[0][0] - now if self._later else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._later)[2]
                if self._waiting:
                    return self._waiting.popleft()
                if wait is None and now >= rest:
                    self._alive = False
                    return None
                self._changed.wait(rest - now if wait is None else wait)
