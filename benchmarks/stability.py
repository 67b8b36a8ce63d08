"""Stability over 100,000 keys that nobody declared, against OpenDP's threshold at the same scale. Processor time.

Each starts from the keys' exact counts as it takes them: OpenDP from a dict, dpviz from the sorted labels and counts
that an engine gives. The time to make these, from a dict and from a frame of rows, has lines of its own.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

import dpviz as dv
from benchmarks.measured import Measured, cpu_seconds, interleave, ms
from benchmarks.peers import peers
from dpviz.engines.pandas_source import PandasSource
from dpviz.mechanisms.stability import StabilityBound
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts, StatisticKind
from dpviz.noise.bits import SystemBits

SIZE, ROWS, ROUNDS = 100_000, 1_000_000, 9
EPSILON, ALLOWED = "1/2", 50
UNIT = dv.Unit()
QUESTION = Question.of(dv.Domain.keys(column="key"))


def table(size: int = SIZE, rows: int = ROWS, rounds: int = ROUNDS) -> list[Measured]:
    bound = dv.Stability(EPSILON, "1e-6").bind(QUESTION, UNIT)
    exact = {f"key {number:07}": number % 100 + 1 for number in range(size)}
    held = from_dict(exact)
    peer = partial(peers().ask, "opendp_threshold", size=size, scale=2.0, threshold=bound.threshold + 1)
    found = interleave(
        {
            "draw": lambda: cpu_seconds(lambda: draw(bound, held)),
            "dict": lambda: cpu_seconds(lambda: draw(bound, from_dict(exact))),
            "peer": peer,
        },
        rounds,
    )
    ratio = found["peer"] / found["draw"]
    return [
        Measured(f"OpenDP, {size:,} keys", ms(found["peer"])),
        Measured(f"dpviz, {size:,} keys", ms(found["draw"])),
        Measured("dpviz against OpenDP", f"{ratio:.0f} times", f"{ALLOWED} times", ratio >= ALLOWED),
        Measured("dpviz, sorting a dict first", ms(found["dict"])),
        Measured("the same against OpenDP", f"{found['peer'] / found['dict']:.0f} times"),
        *counting(size, rows),
    ]


def counting(size: int, rows: int) -> list[Measured]:
    """The engine's time for rows of keys: the first question reads the column, the next ones find it read."""
    keys = [f"key {number % size:07}" for number in range(rows)]
    numbers = np.random.default_rng(1).integers(0, 2**64, rows, dtype=np.uint64, endpoint=False)
    source = PandasSource(pd.DataFrame({"key": keys, "number": numbers}), name="rows")
    wide = Question.of(dv.Domain.integers(0, 2**64 - 1, column="number"))
    first = cpu_seconds(lambda: source.count(QUESTION, UNIT, StatisticKind.SPARSE))
    found = interleave(
        {
            "keys": lambda: cpu_seconds(lambda: source.count(QUESTION, UNIT, StatisticKind.SPARSE)),
            "numbers": lambda: cpu_seconds(lambda: source.count(wide, UNIT, StatisticKind.SPARSE)),
        },
        3,
    )
    return [
        Measured(f"reading and counting {rows:,} rows of {size:,} keys", ms(first)),
        Measured("counting them again", ms(found["keys"])),
        Measured(f"counting {rows:,} rows over 2^64 labels", ms(found["numbers"])),
    ]


def from_dict(exact: dict[str, int]) -> SparseCounts:
    labels = sorted(exact)
    counts = np.fromiter(map(exact.__getitem__, labels), dtype=np.int64, count=len(labels))
    return SparseCounts(np.array(labels, dtype=object), counts)


def draw(bound: StabilityBound, held: SparseCounts) -> None:
    bound.draw(held, SystemBits(), mode="exact")
