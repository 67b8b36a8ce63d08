"""The kernel's side: private data read from files, sources that dawdle or die, and a draw that tells nothing.

A notebook that imports this holds no private value in a variable or in a cell: whatever shows one, dpviz has shown it.
"""

from __future__ import annotations

import json
import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from IPython.core.getipython import get_ipython
from traitlets.config import Application

from dpviz.mechanisms.dense import DenseBound
from dpviz.model.question import Question
from dpviz.model.source import Tick, TopRules
from dpviz.model.statistic import Column, DenseCounts, Need, Statistic
from dpviz.privacy.unit import Unit

FOLDER = Path("..") / "private"


def _read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


def people() -> pd.DataFrame:
    """A frame full of values that nobody may see."""
    frame = pd.DataFrame(_read("people.json"))
    frame.index = pd.Index(frame["user"])
    frame.attrs["dpviz"] = {"dataset": _read("public.json")["name"]}
    return frame


class Counts:
    """A source with the true counts of the file. `act` is what it does while it counts, after the charge."""

    def __init__(self) -> None:
        self.act: Callable[[Tick], None] | None = None

    @property
    def name(self) -> str:
        return str(_read("public.json")["name"])

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column("x", "number"), Column("place", "text"))

    @property
    def top(self) -> TopRules:
        return TopRules()

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        """Any question will do."""

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        counts = np.resize(np.array(_read("counts.json")["counts"]), question.bins)
        act, self.act = self.act, None
        if act is not None:
            assert tick is not None
            act(tick)
        return DenseCounts(counts)


@dataclass
class Loud(Counts):
    """A source whose repr, as a dataclass writes it, is the private data."""

    held: str

    act = None

    @classmethod
    def made(cls) -> Loud:
        return cls(_read("counts.json")["say"])


def dawdle(tick: Tick) -> None:
    """Count until somebody cancels; the file says that counting has begun."""
    Path("dawdling").touch()
    while True:
        tick(0, 2)
        time.sleep(0.01)


def die(tick: Tick) -> None:
    """Die with everything there is to tell."""
    said = _read("counts.json")
    try:
        raise KeyError(said["say"])
    except KeyError as cause:
        raise RuntimeError(*said["counts"], said["say"]) from cause


class Died(BaseException):
    """No Exception: what `except Exception` lets pass."""


def die_hard(tick: Tick) -> None:
    raise Died(_read("counts.json")["say"])


def draw_in_secret() -> None:
    """From now on the real draw runs on the true counts, and what it says is thrown away for known values."""
    real, known = DenseBound._add, _read("public.json")["released"]

    def add(self: DenseBound, counts: Any, bits: Any, mode: Any, tick: Any) -> Any:
        real(self, counts, bits, mode, tick)
        return np.resize(np.array(known), len(counts))

    DenseBound._add = add  # type: ignore[method-assign]


def listen(log: str) -> None:
    """Let Python and IPython tell all they can: every log at every level, every warning, Verbose tracebacks."""
    logging.basicConfig(level=logging.DEBUG, filename=log, force=True, format="%(name)s %(levelname)s %(message)s")
    logging.captureWarnings(True)
    warnings.simplefilter("always")
    Application.instance().log.setLevel(logging.DEBUG)
    get_ipython().run_line_magic("xmode", "Verbose")
    get_ipython().run_line_magic("colors", "nocolor")  # a colour could cut a value in two
