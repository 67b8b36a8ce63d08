"""Independent noise on the cells of tables over some of several columns, and how far off their fit is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from operator import mul
from typing import ClassVar, cast

import numpy as np

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, ceil_to, counted, whole
from dpviz.fitting.noises import Noise, Noises, Term
from dpviz.fitting.residuals import Tables
from dpviz.fitting.sums import NoiseSum, Quantile
from dpviz.fitting.whole_tables import total_bias, tried
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.model.answers import Answer, MarginalTables, Reading
from dpviz.model.answers.marginals import TIMES, TOTAL, WHOLE, located, pieces, table_named, tables_of
from dpviz.model.biases import Biases, Mean, ReaderBias, made_up, root_of
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import StoredLaw, stored
from dpviz.model.linear import Bias, CountRange, Ends, LinearError, Query
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.model.sum_errors import SumError
from dpviz.model.words import often
from dpviz.privacy.unit import Unit

TRUSTED = Fraction(10**30)
"""How much an answer counts in which nothing is uncertain."""

MOST_WORK = 20_000
"""The most pairs of a kind of table and a table that are looked at for the error of every cell."""

FINE = 1 << 32
"""A standard deviation is rounded up to so much of that of one noise."""

EXPONENTIAL = "exponential bound on the tail of a weighted sum of noises"

MISSED = Fraction(1, 20)
"""How often a simulated mean is further off than it says."""

OF_THE_TOTAL = "the law of the fitted total, of which each cell has its part on average"

UNBIASED = Mean(Fraction(0), Fraction(0), "exact", "linear in noise that is symmetric")

IN_THE_FIT = "the law of a weighted sum of noises, in the fit of least squares"
DRAWN = "the law of the noise on each cell"


class NoisyMarginals(StoredLaw):
    """Independent noise on every cell of tables over some of several columns.

    asked  the sizes of the columns, the columns of each table and its weight, as `marginals.written` writes them
    total  the public number of rows, where the fit rests on it; else None
    """

    asked: str
    total: int | None

    @property
    def amount(self) -> Fraction:
        """The number that says how wide the noise is."""
        raise NotImplementedError

    def drawn(self, weight: int) -> Noise:
        """The noise on a cell of a table of this weight."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        self.tables  # noqa: B018 - a text that is no list of tables is refused
        if self.total is not None:
            whole(self.total, "total", least=0)
        if self.amount <= 0:
            raise ReleaseFormat.damaged("the noise of tables has a positive width", str(self.amount))

    @property
    def tables(self) -> Tables:
        return tables_of(self.asked, self.total is not None)

    def noise(self, table: int) -> Noise:
        """The noise on each cell of a table."""
        return self.drawn(self.tables.weights[table])

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        fits = question.domain.declared and max_items is None and self.total in (None, unit.n)
        return fits and self.tables.sizes == tuple(one.size for one in question.domain.factors)

    def accepts(self, answer: Answer) -> bool:
        drawn = cast(MarginalTables, answer)
        return (drawn.asked, drawn.total) == (self.asked, self.total)

    @cached_property
    def error(self) -> MarginalsError:
        return MarginalsError(self)

    @property
    def adds_up(self) -> bool:
        return True

    @cached_property
    def trust(self) -> Fraction:
        """By the variance of a cell of the first table: other tables err in nearly the same proportion."""
        tables = self.tables
        _, noise = NoiseSum.of([Term(self.drawn(1))]).variance()
        places = next((table for table in tables.tables if len(table) > 0), tables.tables[0])
        spread = tables.variance(places)
        return 1 / (noise * spread) if spread else TRUSTED

    @property
    def alike(self) -> tuple[int, ...]:
        """The cells of one table err alike."""
        return self.tables.starts[:-1]

    def limits(self, reading: Reading) -> CountRange:
        return TableLimits(0, reading.unit.n, reading.unit.n, self.tables)

    def sum(self, query: Query, reader: str = "") -> NoiseSum:
        """The law of the error of a weighted sum of cells."""
        parts = [pieces(self.tables, points) for points, _ in query.parts]
        weights = [weight for _, weight in query.parts]
        if reader == "noisy":
            return NoiseSum.of(
                Term(self.noise(at), weight, len(rows))
                for one, weight in zip(parts, weights, strict=True)
                for at, rows in one
            )
        return NoiseSum.of(
            Term(self.noise(one.table), sum(map(mul, weights, one.weights), Fraction(0)), one.count)
            for one in self.tables.effects(parts)
        )

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """Off by a weighted sum of the noises of all tables that have to do with it, whatever the truth is. Of whole
        numbers that are never below 0 nothing is proved."""
        if reader == WHOLE:
            return WholeLinearError()
        noise = self.sum(query, reader)
        return SumError(noise, noise, certain=True, by=DRAWN if reader == "noisy" else IN_THE_FIT)

    def biases(self, question: Question, unit: Unit, columns: object, counts: object) -> Biases:
        """Of each reader: the bias is 0, or known by the law of the total where all cells have one count; else it is
        tried out, as the spread of whole cells is. A public total is taken to be that of the made-up counts."""
        at, name = table_named(self.tables, question.domain, columns)
        truth = np.array(made_up(counts, self.tables.cells[at]), dtype=np.int64)
        values = np.unique(truth)
        groups = [np.flatnonzero(truth == value) for value in values]
        rows = [
            ReaderBias(reader, int(value), len(group), UNBIASED, self._spread(at, reader))
            for reader in ("fitted", "noisy")
            for value, group in zip(values, groups, strict=True)
        ]
        total = int(truth.sum()) if self.tables.known else None
        noises = [self.noise(table) for table in range(len(self.tables.tables))]
        for value, group, one in zip(values, groups, tried(self.tables, at, noises, truth, groups, total), strict=True):
            rule = f"{one.runs:,} runs of made-up noise; within that {often(MISSED)} times"
            spread = Mean.simulated(one.spread, one.spread_within, rule)
            bias = Mean.simulated(one.bias, one.bias_within, rule)
            if len(groups) == 1:
                bias = self._whole_bias(at, int(value))
            rows.append(ReaderBias(WHOLE, int(value), len(group), bias, spread))
        return Biases(f"{name}, {question.nouns(unit)}", tuple(rows))

    def _spread(self, table: int, reader: str) -> Mean:
        """The standard deviation of a cell."""
        start = self.tables.starts[table]
        return Mean.within(root_of(_noise_of(self, reader, start, start).variance()), "the variance of its noise")

    def _whole_bias(self, table: int, count: int) -> Mean:
        """Of a cell read as a whole number, where all cells of its table have this count."""
        cells = self.tables.cells[table]
        low, high = total_bias(_noise_of(self, "fitted", 0, self.tables.cells[0] - 1), count * cells)
        return Mean.within((low / cells, high / cells), OF_THE_TOTAL)

    def title(self, question: Question, unit: Unit) -> str:
        return question.title(unit, counted(len(self.tables.tables), "table"))

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """A cell of the table whose cells err most, all cells at once, and the total."""
        tables, error = self.tables, self.error
        widest = max(range(len(tables.tables)), key=lambda at: tables.variance(tables.tables[at]))
        columns = [question.domain.factors[place].columns[0] for place in tables.tables[widest]]
        name = TIMES.join(columns) or TOTAL
        if tables.tables == ((),):
            return (self._total(),)
        many = f"{tables.starts[-1]:,}"
        return (
            Measure(
                name="cell",
                label=f"A cell of {name}",
                short="one cell",
                phrase=f"any one cell of {name} within {{value}}",
                tip=f"Pick a cell of {name} before looking: at least {{times}} its fitted count is within {{value}} of "
                "the truth. In no other table does the noise spread wider.",
                at=lambda beta: error.range(tables.starts[widest], tables.starts[widest], beta),
                weight="thick",
                pictured=True,
            ),
            Measure(
                name="cells",
                label=f"All {many} cells at once",
                short="all cells",
                phrase=f"all {many} cells within {{value}}",
                tip=f"At least {{times}} every one of the {many} fitted cells is within {{value}}. Use it to compare "
                "cells, or when one caught your eye.",
                at=error.all_bins,
                weight="thin",
            ),
            *([] if tables.known else [self._total()]),
        )

    def _total(self) -> Measure:
        return Measure(
            name="total",
            label="The total",
            short="total",
            phrase="the total within {value}",
            tip="At least {times} the total that all fitted tables share is within {value} of the truth.",
            at=lambda beta: self.error.range(0, self.tables.cells[0] - 1, beta),
            weight="thick" if self.tables.tables == ((),) else "",
            pictured=self.tables.tables == ((),),
        )


@stored
@dataclass(frozen=True)
class MarginalsLaw(NoisyMarginals):
    """Independent two-sided geometric noise on every cell.

    step  Pr[Z = z] is proportional to exp(-step * weight * |z|) in a table of that weight
    """

    name: ClassVar[str] = "marginals"

    asked: str
    step: Fraction
    total: int | None

    @property
    def amount(self) -> Fraction:
        return self.step

    def drawn(self, weight: int) -> Decay:
        return Decay.exp(self.step * weight)


@stored
@dataclass(frozen=True)
class GaussianMarginalsLaw(NoisyMarginals):
    """Independent discrete Gaussian noise on every cell.

    variance  Pr[Z = z] is proportional to exp(-(weight * z)**2 / (2 * variance)) in a table of that weight
    """

    name: ClassVar[str] = "marginals-gaussian"

    asked: str
    variance: Fraction
    total: int | None

    @property
    def amount(self) -> Fraction:
        return self.variance

    def drawn(self, weight: int) -> DiscreteGaussian:
        return DiscreteGaussian(self.variance / weight**2)


@dataclass(frozen=True)
class TableLimits(CountRange):
    """Public facts about true cells: those of one table add up to `total` at most, those of two to more."""

    tables: Tables | None = None

    def of(self, query: Query) -> tuple[Fraction | None, Fraction | None]:
        assert self.tables is not None
        met = {at for points, _ in query.parts for at, _ in pieces(self.tables, points)}
        return super().of(query) if len(met) < 2 else CountRange(self.least, self.most).of(query)


@dataclass(frozen=True)
class MarginalsError(ErrorModel):
    """The error of the cells of tables, from the law of their noise. It is the same for any true counts.

    A fitted cell is off by a weighted sum of noises. Half-widths are whole counts, rounded up.
    """

    law: NoisyMarginals
    reader: str = "fitted"

    def estimator(self, reader: str) -> ErrorModel:
        if reader == WHOLE:
            return WholeTablesError(self.law)
        return MarginalsError(self.law, reader or "fitted") if reader in ("", "fitted", "noisy") else ErrorModel()

    def range(self, first: int, last: int, beta: Fraction) -> ErrorValue:
        """Bound the error of the sum of cells first..last."""
        return _radius(self.law, self.reader, first, last, beta)

    def sum_of(self, points: Sequence[int], beta: Fraction) -> ErrorValue:
        return _stated(self.law.sum(Query.of((points, 1)), self.reader).noises, beta, self.reader)

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        """Of a cell of any table: by the exponential bound a table is known to err less than another, or is tried."""
        if self._many:
            return ErrorValue(self._any(beta), "bound", EXPONENTIAL)
        first, *others = sorted(self._unlike, key=self._spread, reverse=True)
        worst = self.range(first, first, beta)
        for start in others:
            if self._bound(start, beta) > worst.value:
                worst = max(worst, self.range(start, start, beta), key=lambda one: one.value)
        return worst

    def all_bins(self, beta: Fraction) -> ErrorValue:
        """A union bound over all cells, each by its exponential bound: they depend on each other."""
        many = self.law.tables.starts[-1]
        if self.reader == "noisy":
            half = max(self.range(start, start, beta / many).value for start in self._unlike)
            return ErrorValue(half, "bound", f"{DRAWN}; union bound over {many:,} cells")
        level = beta / many
        worst = self._any(level) if self._many else max(self._bound(start, level) for start in self._unlike)
        return ErrorValue(worst, "bound", f"{EXPONENTIAL}; union bound over {many:,} cells")

    def bias(self, count: int) -> ErrorValue:
        return ErrorValue(Fraction(0), "exact", "a linear fit to unbiased counts, which no clamp cuts")

    @cached_property
    def _unlike(self) -> list[int]:
        """The first cell of each table, of one for each kind of error."""
        tables = self.law.tables
        if self.reader != "noisy":
            return [tables.starts[at] for at in dict.fromkeys(tables.kinds)]
        return list(dict(zip(tables.weights, tables.starts, strict=False)).values())

    @property
    def _many(self) -> bool:
        """Whether there are more kinds of tables than anybody waits for."""
        return len(self._unlike) * len(self.law.tables.tables) > MOST_WORK

    def _spread(self, start: int) -> Fraction:
        """The variance of a cell, in units of that of noise of weight 1."""
        tables = self.law.tables
        at, _ = located(tables, start)
        return Fraction(1, tables.weights[at] ** 2) if self.reader == "noisy" else tables.variance(tables.tables[at])

    def _any(self, beta: Fraction) -> Fraction:
        """A half-width for a cell of any table, by its variance alone.

        The logarithm of the transform of a weighted noise is a convex function of the square of its weight, and 0 at 0,
        and noise of a table of weight w has a smaller one than noise of weight 1 divided by w. So of all sums of one
        variance, in units of that of noise of weight 1, the exponential bound is largest for a single noise.
        """
        spread = max(map(self._spread, self.law.tables.starts[:-1]))
        root = Fraction(math.isqrt(math.ceil(spread * FINE**2)) + 1, FINE)
        return _chernoff(NoiseSum.of([Term(self.law.drawn(1), root)]).noises, beta / 2)

    def _bound(self, start: int, beta: Fraction) -> Fraction:
        return _chernoff(_noise_of(self.law, self.reader, start, start).noises, beta / 2)

    @property
    def _worst(self) -> NoiseSum:
        """The error of a cell of the table whose noise spreads widest."""
        start = max(self._unlike, key=self._spread)
        return _noise_of(self.law, self.reader, start, start)

    def quantiles(self, levels: list[Fraction]) -> list[int]:
        """Of the error of such a cell; whole counts, away from 0."""
        upper = self._worst.pictured({min(level, 1 - level) for level in levels})
        return [max(0, upper[1 - level]) if 2 * level >= 1 else -max(0, upper[level]) for level in levels]


@dataclass(frozen=True)
class WholeTablesError(ErrorModel):
    """The error of cells that are read as whole numbers of at least 0: how far they are off on average."""

    law: NoisyMarginals

    def bias(self, count: int) -> ErrorValue:
        """Over all cells of a table that all have this count: of the table with the fewest cells, where it is most."""
        cells = self.law.tables.cells
        found = self.law._whole_bias(min(range(len(cells)), key=cells.__getitem__), count)
        off = found.off or None
        return ErrorValue(found.value, "numerical" if off else "exact", f"{found.rule}; all cells alike", off=off)


class WholeLinearError(LinearError):
    """Of sums of whole cells nothing is proved: how far they are off depends on all true counts."""

    @property
    def rule(self) -> str:
        return "nothing is proved about sums by this estimator"

    @property
    def why_open(self) -> str:
        return "No interval is stated: whole numbers that are never below 0 are biased; plan.biases says how much."

    @property
    def bias(self) -> Bias:
        return Bias("biased: cells that would be below 0 were raised to 0, and others lowered for it")

    def ends(self, beta: Fraction) -> Ends:
        return None, None


@lru_cache(maxsize=4_096)
def _radius(law: NoisyMarginals, reader: str, first: int, last: int, beta: Fraction) -> ErrorValue:
    return _stated(_noise_of(law, reader, first, last).noises, beta, reader)


def _stated(noises: Noises, beta: Fraction, reader: str) -> ErrorValue:
    """A half-width in whole counts, rounded up, with what is known of it."""
    found = _reach(noises, beta)
    rule = DRAWN if reader == "noisy" else IN_THE_FIT
    value = Fraction(math.ceil(found.value))
    if found.least > value - 1:  # the least whole number that holds
        return ErrorValue(value, "exact", rule)
    if found.least <= 0:
        return ErrorValue(value, "bound", f"{rule} (exponential bound on its tail)")
    return ErrorValue(value, "numerical", f"{rule}, rounded up", off=ceil_to(value - found.least, Fraction(1, 1000)))


@lru_cache(maxsize=4_096)
def _reach(noises: Noises, beta: Fraction) -> Quantile:
    return NoiseSum(noises).radius(beta, exactly=False)


@lru_cache(maxsize=4_096)
def _chernoff(noises: Noises, level: Fraction) -> Fraction:
    return NoiseSum(noises).chernoff(level)


@lru_cache(maxsize=4_096)
def _noise_of(law: NoisyMarginals, reader: str, first: int, last: int) -> NoiseSum:
    if first == last and reader != "noisy":  # tables of one kind have one law
        at, _ = located(law.tables, first)
        first = last = law.tables.starts[law.tables.kinds[at]]
    return law.sum(Query.of((range(first, last + 1), 1)), reader)


protect_module(vars())
