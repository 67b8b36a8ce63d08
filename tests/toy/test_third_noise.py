"""A noise that is neither geometric nor Gaussian is refused wherever its distribution is needed, and never guessed.

`Doubled` is `Dense` with the same noise added once more, which is post-processing. Its noise is the sum of two
two-sided geometric noises: it has a variance, as a discrete Gaussian has, and heavier tails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz import mechanisms
from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.fitting.bands import largest_gap
from dpviz.fitting.noises import Term, law_of, transform_of
from dpviz.fitting.simulated import sampler_of
from dpviz.fitting.sums import NoiseSum
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.mechanisms.dense import Dense, DenseBound
from dpviz.model import laws
from dpviz.model.answers import Table
from dpviz.model.error import ErrorModel
from dpviz.model.laws.count_noise import BinNoise, NoiseLaw
from dpviz.model.laws.dense import DenseLaw, NoisyBins, bins_law
from dpviz.model.mechanism import Mode
from dpviz.model.parameters import Epsilon, Exact, Parameters, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Statistic
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import two_sided_geometric

BINS = dv.Domain.integers(0, 4, column="visits")
FRAME = pd.DataFrame({"visits": [0] * 40 + [1] * 21 + [2] * 10 + [3] * 5 + [4] * 3})
EPSILON = Fraction(1)
BETA = Fraction(1, 1000)


@dataclass(frozen=True)
class TwoGeometrics:
    """The sum of two noises with Pr[Z = z] proportional to exp(-exponent |z|)."""

    exponent: Fraction

    @property
    def variance(self) -> Fraction:
        (chances, values) = enumerated(self.exponent)
        return Fraction(float(chances @ values**2)).limit_denominator(10**6)


def enumerated(exponent: Fraction, reach: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """The chances and the values of the sum of two noises, from the definition of one."""
    one = np.exp(-float(exponent) * np.abs(np.arange(-reach, reach + 1)))
    return np.convolve(one / one.sum(), one / one.sum()), np.arange(-2 * reach, 2 * reach + 1)


@dataclass(frozen=True)
class TwoNoises(BinNoise):
    """The noise as a release stores it."""

    exponent: Fraction
    limit: int | None

    @property
    def added(self) -> Any:
        return TwoGeometrics(self.exponent)


@dataclass(frozen=True)
class GuessedNoise(TwoNoises):
    """The near-wrong twin: all that is not geometric is taken for Gaussian, by its variance."""

    @property
    def added(self) -> DiscreteGaussian:
        return DiscreteGaussian(TwoGeometrics(self.exponent).variance)


@dataclass(frozen=True)
class DoubledLaw(NoisyBins):
    """Counts with both noises. A bin is off by no more than a union bound over two noises of one says."""

    name: ClassVar[str] = "doubled"
    noise: TwoNoises
    clamps: bool
    bins: int
    n: int | None

    @property
    def error(self) -> ErrorModel:  # type: ignore[override]
        return DenseLaw(NoiseLaw(self.noise.exponent, None, None), False, 2 * self.bins, None).error


class Doubled(Parameters):
    """Two noises on every bin."""

    name: ClassVar[str] = "Doubled"
    about: ClassVar[str] = "Two noises on every bin."
    delta_text: ClassVar[str] = "Doubled is pure: no δ."
    epsilon: Exact = parameter(reads=Epsilon())

    def bind(self, question: Question, unit: dv.Unit) -> DoubledBound:
        dense = Dense(self.epsilon, clamp=False)
        return DoubledBound(self, question, unit, dense.noise(unit, question.bins))  # type: ignore[arg-type]


class DoubledBound(DenseBound):
    @property
    def limit(self) -> None:
        return None

    @property
    def law(self) -> NoisyBins:  # type: ignore[override]
        return DoubledLaw(TwoNoises(self.mechanism.epsilon, None), False, self.question.bins, self.unit.n)

    @property
    def for_zcdp(self) -> None:
        return None

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Table:
        once = super().draw(statistic, bits, mode=mode, tick=tick).values
        return Table(once + two_sided_geometric(Decay.exp(self.mechanism.epsilon)).draw(len(once), bits))


@pytest.fixture
def release(tmp_path: Path) -> Iterator[dv.Release]:
    mechanisms.register(Doubled)
    laws.stored(DoubledLaw)
    session = dv.Session(FRAME, dv.Unit("row"), dv.Budget(epsilon=1), tmp_path / "third.ledger")
    yield session.release(BINS, Doubled(EPSILON))
    mechanisms.unregister(Doubled.name)
    laws.unregister(DoubledLaw)


ASKED: list[Callable[[dv.Release], object]] = [
    lambda release: release.sum([0, 1]),
    lambda release: release.range(0, 3),
    lambda release: release.difference([0], [1]),
    lambda release: release.compare([0], [1]),
    lambda release: release.share([0], [0, 1]),
]


def test_single_values_of_a_third_noise_are_read_and_sums_of_them_refused(release: dv.Release) -> None:
    values = release.answer.values.tolist()  # type: ignore[attr-defined]
    assert release.values == values and release[2] == values[2]
    for ask in ASKED:
        with pytest.raises(ParameterError, match="two-sided geometric and for discrete Gaussian") as refusal:
            ask(release)
        assert "TwoGeometrics" in str(refusal.value) and not any(f"{value}" in refusal.value.rule for value in values)


def test_the_old_guess_called_an_interval_exact_that_misses_too_often(release: dv.Release) -> None:
    guessed = DoubledLaw(GuessedNoise(EPSILON, None), False, BINS.size, None)
    twin = replace(release, terms=replace(release.terms, law=guessed))
    found = twin.sum([0, 1], beta=BETA)
    assert found.how == "exact"
    value, low = Fraction(found.value), found.interval[0]  # type: ignore[arg-type]
    assert low is not None
    two_bins = np.convolve(*2 * (enumerated(EPSILON)[0],))
    values = np.arange(len(two_bins)) - len(two_bins) // 2
    assert float(two_bins[np.abs(values) > float(value - low)].sum()) > 1.5 * float(BETA)


def test_every_dispatch_over_noises_refuses_a_third_and_knows_the_other_two() -> None:
    third: Any = TwoGeometrics(EPSILON)
    calls: list[Callable[[Any], object]] = [
        law_of,
        transform_of,
        sampler_of,
        lambda noise: largest_gap(noise, 3, 2),
        lambda noise: NoiseSum.of([Term(noise)]).upper(BETA),
    ]
    for call in calls:
        with pytest.raises(ParameterError, match="TwoGeometrics"):
            call(third)
        assert call(Decay.exp(EPSILON)) is not None and call(DiscreteGaussian(EPSILON)) is not None
    with pytest.raises(ParameterError, match="TwoNoises"):
        bins_law(TwoNoises(EPSILON, None), False, 5, None)  # type: ignore[arg-type]
