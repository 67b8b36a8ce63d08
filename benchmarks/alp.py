"""ALP and ThresholdALP over 2^32 keys, against OpenDP's ALP: build, error, look-ups, space, and loading.

Processor time of one core. Values follow a power law up to 1000, 47 on average; epsilon 1 for adding or removing one
row; errors are means over all occupied keys. OpenDP's ALP is built at its own size for the true total, which it is
given, with alpha 4; its size is what its process grows by, a byte for each bit, and its error is the mean of some keys.
It is slow and built few times, in turns with ours. Builds go from counts in memory to the answer; the ledger is left
out. Look-ups are `release.many` of a saved release that was loaded, from a list of labels to a list of fractions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import mean, median

import numpy as np
from numpy.typing import NDArray

import dpviz as dv
from benchmarks.measured import Measured, cpu_seconds, interleave, ms
from benchmarks.peers import peers
from dpviz.errors import ParameterError
from dpviz.mechanisms.alp import SketchBound
from dpviz.model.answers import Reading, Sketch
from dpviz.model.question import Question
from dpviz.model.source import Source, Tick
from dpviz.model.statistic import Column, Need, SparseCounts, Statistic
from dpviz.noise.bits import SystemBits
from dpviz.privacy.unit import Unit
from dpviz.session.session import Session

LABELS = dv.Domain.integers(0, 2**32 - 1, column="key")
KEYS, MANY, READ, CAP, ROUNDS, FEW = 100_000, 1_000_000, 10_000, 1000, 9, 3
KEYS_OF_TABLE, ALPHAS, EPSILONS = (1000, 10_000, 100_000), ("3", "10", "25"), ("1/2", "1", "2")
TIMES_OPENDP, TIMES_ERROR, BUILD_MANY, LOOK_UPS, LOAD = 100, 1.4, 1.0, 0.020, 0.050


@dataclass(frozen=True)
class Data:
    """Keys and values that peer_jobs.py has, too."""

    keys: int

    @property
    def labels(self) -> NDArray[np.uint64]:
        """Spread over the domain, or side by side where there are too many for that."""
        return np.arange(self.keys, dtype=np.uint64) * np.uint64(min(42_949, 2**32 // self.keys))

    @property
    def values(self) -> NDArray[np.int64]:
        return np.minimum(CAP, 8 * self.keys // (np.arange(self.keys, dtype=np.int64) * 7919 % self.keys + 1))

    @property
    def counts(self) -> SparseCounts:
        return SparseCounts(self.labels, self.values)


def sizes(keys: int) -> Mapping[str, dv.ALP | dv.ThresholdALP]:
    """About 8 and 32 MiB for 100,000 keys: 128 columns of five bits to a key, and 256 of ten."""
    return {
        "8 MiB": dv.ALP(1, cap=CAP, keys=keys, alpha="13.5", room=5),
        "32 MiB": dv.ALP(1, cap=CAP, keys=keys, alpha="6.75"),
        "ThresholdALP": dv.ThresholdALP(1, keys=keys),
    }


def bound_to(mechanism: dv.ALP | dv.ThresholdALP) -> SketchBound:
    return mechanism.bind(Question.of(LABELS), Unit())


def build(bound: SketchBound, data: Data) -> Sketch:
    return bound.draw(data.counts, SystemBits(), mode="exact")


def error(bound: SketchBound, data: Data) -> float:
    """The mean absolute error over all keys, of one build."""
    answer = build(bound, data)
    values = answer.read(Reading(bound.question, bound.unit, bound.error, bound.law.clamp), data.labels.tolist())
    return float(np.abs(np.array(values, dtype=np.float64) - data.values).mean())


def mib(bound: SketchBound) -> str:
    return f"{bound.plan.columns} × 2^{bound.plan.width} bits, {bound.space.bits / 2**23:.1f} MiB"


def table(
    keys: int = KEYS,
    many: int = MANY,
    looked: int = READ,
    of_table: tuple[int, ...] = KEYS_OF_TABLE,
    alphas: tuple[str, ...] = ALPHAS,
    epsilons: tuple[str, ...] = EPSILONS,
    rounds: int = ROUNDS,
) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        return [
            *against_opendp(keys, looked, min(rounds, FEW)),
            *of_many(many, rounds),
            *saved(Path(folder), keys, looked, rounds),
            *by_parameters(of_table, alphas, epsilons),
        ]


def against_opendp(keys: int, looked: int, rounds: int) -> list[Measured]:
    data, of_peer = Data(keys), list[list[float]]()
    bounds = {name: bound_to(mechanism) for name, mechanism in sizes(keys).items()}

    def peer() -> float:
        of_peer.append(peers().ask("opendp_alp", keys=keys, looked=min(looked, 2000)))
        return of_peer[-1][0]

    contestants: dict[str, Callable[[], float]] = {
        name: partial(cpu_seconds, partial(build, bound, data)) for name, bound in bounds.items()
    }
    took = interleave({**contestants, "OpenDP": peer}, rounds)
    theirs, grown = mean(one[1] for one in of_peer), max(one[3] for one in of_peer)
    lines = [
        Measured(f"OpenDP's ALP of {keys:,} keys, {grown / 2**20:.1f} MiB: build", f"{took['OpenDP']:.3g} s"),
        Measured("its mean absolute error", f"{theirs:.2f}"),
        Measured(f"its look-ups, {READ:,} of them, one by one", ms(READ * of_peer_read(of_peer, keys, looked))),
    ]
    for name, bound in bounds.items():
        who, times = f"{bound.mechanism.name}, {mib(bound)}", took["OpenDP"] / took[name]
        ours = mean(error(bound, data) for _ in range(rounds))
        fast = name == "8 MiB"
        most = {"8 MiB": TIMES_ERROR, "32 MiB": 1.0}.get(name)
        allowed = "" if most is None else f"{most:g} times OpenDP's"
        lines += [
            Measured(f"{who}: build", ms(took[name])),
            Measured(
                "dpviz against OpenDP",
                f"{times:.0f} times",
                f"{TIMES_OPENDP} times" if fast else "",
                not fast or times >= TIMES_OPENDP,
            ),
            Measured(f"{who}: mean absolute error", f"{ours:.2f}", allowed, most is None or ours <= most * theirs),
        ]
    return lines


def of_peer_read(found: list[list[float]], keys: int, looked: int) -> float:
    """The seconds of one look-up."""
    return median(one[2] for one in found) / min(keys, looked, 2000)


def of_many(keys: int, rounds: int) -> list[Measured]:
    """Builds of ten times as many keys, at the usual room and at less."""
    bounds = {room: bound_to(dv.ThresholdALP(1, keys=keys, room=room)) for room in (10, 4)}
    data = Data(keys)
    found = interleave(
        {str(room): partial(cpu_seconds, partial(build, one, data)) for room, one in bounds.items()}, rounds
    )
    return [
        Measured(
            f"ThresholdALP, {keys:,} keys, {mib(bounds[room])}: build",
            ms(found[str(room)]),
            ms(BUILD_MANY),
            found[str(room)] <= BUILD_MANY,
        )
        for room in bounds
    ]


class Counted(Source):
    """Counts that are there already."""

    name, columns = "counts in memory", (Column("key", "number"),)

    def __init__(self, data: Data) -> None:
        self._data = data

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        """Every question is the one that was counted."""

    def chartered(self, kinds: Mapping[str, str]) -> Source:
        return self

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        return self._data.counts


def saved(folder: Path, keys: int, looked: int, rounds: int) -> list[Measured]:
    """Load a saved release, and read many keys of it at once: half of them occupied, the others most likely not."""
    session = Session(Counted(Data(keys)), Unit(), dv.Budget(10), folder / "alp.ledger")
    lines, half = [], looked // 2
    labels = [*Data(keys).labels[:half].tolist(), *(2**32 - 1 - 7919 * np.arange(looked - half)).tolist()]
    for name, mechanism in sizes(keys).items():
        drawn, bound = session.release(LABELS, mechanism), bound_to(mechanism)
        text, path = drawn.save(folder / f"{name}.json"), drawn.save(folder / f"{name}.dpviz")
        release = dv.load(path)
        found = interleave(
            {
                "load": partial(cpu_seconds, partial(dv.load, path)),
                "JSON": partial(cpu_seconds, partial(dv.load, text)),
                "look-ups": partial(cpu_seconds, partial(release.many, labels)),
            },
            rounds,
        )
        who, limited = f"{bound.mechanism.name}, {keys:,} keys, {mib(bound)}", name != "32 MiB"
        for what, most in (("load", LOAD), ("look-ups", LOOK_UPS)):
            shown = f"{looked:,} look-ups together" if what == "look-ups" else "load of a saved release (binary)"
            allowed = ms(most) if limited else ""
            lines.append(Measured(f"{who}: {shown}", ms(found[what]), allowed, not limited or found[what] <= most))
        size = f"{text.stat().st_size / 2**20:.1f} MiB against {path.stat().st_size / 2**20:.1f}"
        lines.append(Measured(f"{who}: load of the same release saved as JSON, {size}", ms(found["JSON"])))
    return lines


def by_parameters(of_table: tuple[int, ...], alphas: tuple[str, ...], epsilons: tuple[str, ...]) -> list[Measured]:
    """Build, mean absolute error and size of ALP, once for each of k, alpha and epsilon."""
    lines = []
    for keys in of_table:
        data = Data(keys)
        for epsilon in epsilons:
            for alpha in alphas:
                try:
                    bound = bound_to(dv.ALP(Fraction(epsilon), cap=CAP, keys=keys, alpha=alpha))
                except ParameterError:  # more bits than a sketch may have
                    lines.append(Measured(f"{keys:,} keys, epsilon {epsilon}, alpha {alpha}", "more than 128 MiB"))
                    continue
                took, off = cpu_seconds(partial(build, bound, data)), error(bound, data)
                what = f"build, mean absolute error: {keys:,} keys, epsilon {epsilon}, alpha {alpha}, {mib(bound)}"
                lines.append(Measured(what, f"{ms(took)}, {off:.2f}"))
    return lines
