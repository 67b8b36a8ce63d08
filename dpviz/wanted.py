"""Whether what is being computed is still wanted: whoever asked for it may have asked for something else since.

The caller that begins a long computation says how to know (`until`); whoever computes many things one after the other
takes them from `each`, which stops in between. Where nobody says anything, everything is wanted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from dpviz.errors import DpvizError

T = TypeVar("T")


class Superseded(DpvizError):
    """A later request of the same kind came before this one was done."""

    @classmethod
    def request(cls, what: str) -> Superseded:
        rule = "of several requests the latest is answered"
        said = "a later request came first; nothing was charged"
        return cls(said, value=what, rule=rule, next_step="wait for the later one")


class _Here(threading.local):
    """The computation of this thread, and whether something later has come."""

    what = ""
    overtaken: Callable[[], bool] | None = None


_here = _Here()


@contextmanager
def until(overtaken: Callable[[], bool], what: str) -> Iterator[None]:
    """The computation on this thread is wanted until something later has come."""
    before = _here.overtaken, _here.what
    _here.overtaken, _here.what = overtaken, what
    try:
        yield
    finally:
        _here.overtaken, _here.what = before


def check() -> None:
    """Raises Superseded where what is computed on this thread is no longer wanted."""
    if _here.overtaken is not None and _here.overtaken():
        raise Superseded.request(_here.what)


def each(values: Iterable[T]) -> Iterator[T]:
    """The values, for as long as what is made of them is wanted. Raises Superseded where it no longer is."""
    for value in values:
        check()
        yield value
