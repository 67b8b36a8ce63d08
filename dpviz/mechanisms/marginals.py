"""Marginals: noise on tables over some of several columns, which are then made to agree."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import comb, prod
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import Hidden, kind_of, protect_module
from dpviz.errors import DomainError, ParameterError, short
from dpviz.exact import counted, text, whole
from dpviz.fitting.residuals import LARGEST_WEIGHT, MOST_TABLES, MOST_TOGETHER, Places, Tables
from dpviz.fitting.simulated import sampler_of
from dpviz.mechanisms.gaussian import DELTA, GAUSSIAN, GAUSSIAN_WORDS, USUAL_DELTA, epsilon_for, guarantee, pure_rho_of
from dpviz.model.answers import Answer, MarginalTables
from dpviz.model.answers.marginals import MOST_CELLS, TIMES, TOTAL, written
from dpviz.model.domain import Domain, quoted
from dpviz.model.error import BETAS
from dpviz.model.laws.marginals import GaussianMarginalsLaw, MarginalsError, MarginalsLaw, NoisyMarginals
from dpviz.model.mechanism import DRAWS_A_SECOND, Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, OneOf, Parameters, Reader, Reads, WholeNumber, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Batch, SparseCounts, Statistic, StatisticKind
from dpviz.model.words import shown
from dpviz.noise.bits import Bits
from dpviz.privacy.concentrated import Moved, geometric_rho, moved_most, replaced_rho
from dpviz.privacy.discrete_gaussian import Calibrated, Shifts, calibrate
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, PureDP
from dpviz.privacy.unit import Unit

Base = Literal["exp", "gaussian"]
Total = Literal["fitted", "public"]

Named: TypeAlias = tuple[tuple[tuple[str, ...], int], ...]
"""Columns of a table, and its weight."""

STORED_BITS: Final = 64
"""The storage of one cell: noise has no end."""

TOGETHER: Final = 1 << 16
"""The most occupied bins that are added to the tables at a time."""

MOST_COUNT: Final = 1 << 40
"""Counts are clamped to this, in silence, so that no sum of them leaves 64 bits."""

WORD: Final = (1 << 64) - 1
"""The largest whole number of one word."""

MOST_NOTED: Final = 12
"""A plan tells the error of so many tables by name."""


@dataclass(frozen=True)
class TableWeights(Reader):
    """Weights of tables by their columns, in no order. In texts, JSON: a list of pairs."""

    lists: ClassVar[bool] = True
    longest: ClassVar[int] = 1 << 17

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Named | None:
        pairs = list(value.items()) if isinstance(value, Mapping) else value
        if not isinstance(pairs, list | tuple) or isinstance(value, Hidden):
            raise ParameterError.of(
                kind_of(value), f"{name} are whole numbers by columns", 'write weights={("sex", "year"): 2}'
            )
        read = sorted(_weighed(pair, place) for place, pair in enumerate(pairs, 1))
        if len({columns for columns, _ in read}) != len(read):
            raise ParameterError.of(f"{len(read):,} tables", "each table has one weight", "name it once")
        return tuple(read) or None

    def from_text(self, written: str, name: str) -> Any:
        try:
            return [(tuple(columns), weight) for columns, weight in json.loads(written)]
        except (ValueError, TypeError, RecursionError):
            raise ParameterError.of(
                short(written, 40),
                f"{name} are written as JSON: [[[columns], weight], ...]",
                'write [[["sex", "year"], 2]]',
            ) from None

    def text(self, value: Any) -> str:
        return json.dumps([[list(columns), weight] for columns, weight in value], separators=(",", ":"))

    def python(self, value: Any) -> str:
        tables = (f"({', '.join(map(quoted, columns))}{',' * (len(columns) == 1)})" for columns, _ in value)
        return "{" + ", ".join(f"{table}: {weight}" for table, (_, weight) in zip(tables, value, strict=True)) + "}"


def _weighed(pair: Any, place: int) -> tuple[tuple[str, ...], int]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise ParameterError.of(
            kind_of(pair), f"table {place} must be its columns and a weight", 'write weights={("sex", "year"): 2}'
        )
    columns, weight = pair
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, list | tuple) or not all(type(name) is str for name in names):
        raise ParameterError.of(
            kind_of(columns),
            f"the columns of table {place} must be a tuple or a list of texts",
            'write weights={("sex", "year"): 2}',
        )
    if len(set(names)) != len(names):
        raise ParameterError.of(short(names), f"table {place} has each column once", "name it once")
    return tuple(sorted(names)), whole(weight, f"the weight of table {place}", least=0, most=LARGEST_WEIGHT)


class Marginals(Parameters):
    """Add noise to the tables of all pairs of columns, or of all sets of `ways` columns, and make the tables agree.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit, for all tables together.
    ways : int, default 2
        How many columns a table has: 2 for all pairs. Of fewer columns than that there is one table of all.
    weights : dict, optional
        Whole numbers by columns: {("sex", "year"): 3} gives that table three times the epsilon of each other, 0 leaves
        it out, ("sex",) adds the table of one column and () the total alone. Tables that are not named weigh 1, or
        nothing if they have not `ways` columns.
    total : {"fitted", "public"}, default "fitted"
        "fitted": what the tables say of it. "public": you vouch that every one of the n public rows has a bin in every
        column, so the total is n, without noise and for nothing.
    base : {"exp", "gaussian"}, default "exp"
        "exp": two-sided geometric noise, for epsilon alone; "gaussian": discrete Gaussian noise, which costs epsilon
        and delta, or under a zCDP budget the rho of the same noise.
    delta : str, int, float or Fraction, optional
        The delta of Gaussian noise, which base="gaussian" needs and the other base refuses.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    The question is about a product of declared columns; nothing of it is counted bin by bin, so it may have any number
    of bins, while all tables together have at most 524,288 cells. A record that is outside the bins of any column is
    outside all tables, and a user's records are chosen among whole bins of the product: so the true tables agree.

    **Privacy.** Pure DP; a unit that comes or goes moves each table by its records, c = `Unit.records`. A replacement
    moves a table by up to 2 c, the total by up to c, and where it moves the total it moves the others by less; so
    tables of weight w cost c times the larger of the sum of all w and twice the sum of those with two cells or more.
    With Gaussian noise the squares add up. Making tables agree is post-processing [1]_.

    **Error.** Exact for noisy cells. A fitted cell is off by a weighted sum of noises whose law is known: quantiles are
    exact where its weights share a step that is not too fine, else numerical with their error stated. With
    total="public" errors hold only if every row has a bin: it is not assumed.

    References
    ----------
    .. [1] Least squares in the basis of residuals: Xiao, He, Zhang, Kifer 2023 (arXiv 2305.08175); noise: Ghosh,
           Roughgarden, Sundararajan 2009, or Canonne, Kamath, Steinke 2020. The mean of residuals that several tables
           measure is derived in `fitting/residuals.py`.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> columns = [Domain.integers(0, size - 1, column=name) for name, size in (("a", 2), ("b", 3), ("c", 4))]
    >>> bound = Marginals(1).bind(Question.of(Domain.product(*columns)), Unit(noun="visit"))
    >>> bound.price.sentence, bound.cost.text
    ('1-differential privacy for adding or removing one visit', '26 draws: 3 tables')
    """

    name: ClassVar[str] = "Marginals"
    about: ClassVar[str] = "Tables of all pairs of columns, made to agree. Best for many columns."
    delta_text: ClassVar[str] = "Marginals is pure: no δ. Gaussian noise needs δ, or ρ alone where zCDP adds it up."

    @property
    def revision(self) -> int:  # type: ignore[override]
        """Only the calibration of Gaussian noise has moved."""
        return 2 if self.base == GAUSSIAN else 1

    epsilon: Exact = parameter(reads=Epsilon())
    ways: Reads[int, int] = parameter(
        reads=WholeNumber(least=1, most=MOST_TOGETHER), default=2, label="Columns of a table"
    )
    weights: Any = parameter(reads=TableWeights(), default=None, optional=True)
    total: Total = parameter(
        reads=OneOf(Total),
        default="fitted",
        label="Total",
        options={"fitted": "fitted: what the tables say", "public": "public: every row has a bin"},
    )
    base: Base = parameter(
        reads=OneOf(Base),
        default="exp",
        label="Noise law",
        options={"exp": "exp: exactly the ε that you ask", GAUSSIAN: GAUSSIAN_WORDS},
    )
    delta: ExactOrNone = DELTA

    def bind(self, question: Question, unit: Unit) -> MarginalsBound:
        """Fix the tables, their noise and their price.

        Parameters
        ----------
        question : Question
            A product of declared columns.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        MarginalsBound
            Price, draw and error law of `Marginals` for this question and unit.

        Raises
        ------
        DpvizError
            If `Marginals` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        domain = question.domain
        if not domain.declared:
            raise DomainError.of(domain.python, "Marginals counts declared bins of several columns", "declare the bins")
        total = self._total(question, unit)
        tables = self._tables(domain, total is not None)
        spread, asked = TablesSpread.of(unit, tables), written(tables)
        if self.delta is None:
            law: NoisyMarginals = MarginalsLaw(asked, self.epsilon / spread.moved, total)
            noise = None
        else:
            noise = calibrate(spread.moves(tables), self.epsilon, self.delta)
            law = GaussianMarginalsLaw(asked, noise.variance, total)
        sampler_of(law.drawn(min(tables.weights)))  # refused where noise is too wide
        return MarginalsBound(self, question, unit, law, noise)

    def _total(self, question: Question, unit: Unit) -> int | None:
        """The public number of rows, where the analyst vouches that each has a bin."""
        if self.total == "fitted":
            return None
        if unit.n is None:
            raise ParameterError.of(
                'total="public"', "the total is public only under replace-one of rows", 'leave total="fitted"'
            )
        if question.filtered:
            raise ParameterError.of(
                'total="public"', "a filter leaves rows out, so their total is not public", 'leave total="fitted"'
            )
        return unit.n

    def _tables(self, domain: Domain, known: bool) -> Tables:
        names = [factor.columns[0] for factor in domain.factors]
        sizes = tuple(factor.size for factor in domain.factors)
        ways = min(self.ways, len(names))
        if comb(len(names), ways) > MOST_TABLES:
            raise ParameterError.of(
                f"{comb(len(names), ways):,} tables",
                f"Marginals answers at most {MOST_TABLES:,} tables",
                "ask about fewer columns, or give a smaller ways=",
            )
        found: dict[Places, int] = dict.fromkeys(itertools.combinations(range(len(names)), ways), 1)
        for columns, weight in self.weights or ():
            unknown = [name for name in columns if name not in names]
            if unknown or len(columns) > MOST_TOGETHER:
                raise ParameterError.of(
                    short(unknown[0]) if unknown else f"{len(columns)} columns",
                    f"weights are for up to {MOST_TOGETHER} of the columns {short(', '.join(names), 200)}",
                    "name columns of the question",
                )
            places = tuple(sorted(map(names.index, columns)))
            if known and not places and weight:
                raise ParameterError.of(
                    "()", "a total that is public is not asked for with noise", 'leave it out, or total="fitted"'
                )
            found[places] = weight
        found = {places: found[places] for places in sorted(found, key=lambda one: (len(one), one)) if found[places]}
        if not found:
            raise ParameterError.of("weights of 0", "one table at least is asked for", "give a table a weight above 0")
        cells = sum(prod(sizes[place] for place in places) for places in found)
        if cells > MOST_CELLS:
            raise ParameterError.of(
                f"{shown(cells)} cells",
                f"all tables of Marginals together have at most {MOST_CELLS:,} cells",
                "declare fewer, wider bins, give a smaller ways=, or leave tables out with a weight of 0",
            )
        return Tables(sizes, tuple(found), tuple(found.values()), known)


@dataclass(frozen=True)
class TablesSpread:
    """Bound how far one unit moves all tables.

    moved    each table times its weight, in L1, at most
    squares  the squares of the cells, times the square of the weight, at most
    records  the most by which a cell moves
    """

    moved: int
    squares: int
    records: int

    def moves(self, tables: Tables) -> Shifts:
        """The moves of all cells, each times its weight. Where all tables weigh 1 the cells have noise of one variance,
        and none moves by more than the records of a unit."""
        one = set(tables.weights) == {1}
        return Shifts.within(self.squares, self.records) if one else Shifts.unknown(self.squares)

    @classmethod
    def of(cls, unit: Unit, tables: Tables) -> TablesSpread:
        """From the unit's limits.

        A unit that comes or goes has c records: they move each table by c, and its squares by c**2 where all lie in one
        cell, which the bins that a cell adds up may be too few for. In a replacement c records rise and up to c fall.
        Where q of them fall, a table moves by c + q and a table of one cell by c - q, so the whole is largest where q
        is 0 or c; its squares are convex in q as long as all records find room in one cell. Where they do not, the
        larger of both ends is taken table by table, which is a bound.
        """
        bins = prod(tables.sizes)
        records = unit.records(bins)
        single = [cells == 1 for cells in tables.cells]
        full = [min(records, bins // cells * unit.max_per_bin) for cells in tables.cells]
        alone = [
            weight**2 * (records // most * most**2 + (records % most) ** 2)
            for weight, most in zip(tables.weights, full, strict=True)
        ]
        if unit.relation == "add-remove":
            return cls(records * sum(tables.weights), sum(alone), records)
        both = sum(weight for weight, one in zip(tables.weights, single, strict=True) if not one)
        twice = [0 if one else 2 * squares for squares, one in zip(alone, single, strict=True)]
        moved = records * max(sum(tables.weights), 2 * both)
        if min(full) == records:
            return cls(moved, max(sum(alone), sum(twice)), records)
        return cls(moved, sum(map(max, alone, twice)), records)


def geometric_price(unit: Unit, tables: Tables, step: Fraction) -> Fraction:
    """A bound of the rho of two-sided geometric noise on all cells; its rate is `step` times the weight of a table.

    A unit moves the cells of a table by its records together, and one of them by what fits into the bins that it adds
    up. A table of one cell moves by the difference of rise and fall.
    """
    bins = prod(tables.sizes)
    below: list[Moved] = []
    totals: list[Moved] = []
    records = unit.records(bins)
    for cells, weight in zip(tables.cells, tables.weights, strict=True):
        if weight:
            most = min(records, bins // cells * unit.max_per_bin)
            (totals if cells == 1 else below).extend(moved_most(weight * step, records, most))
    if unit.relation == "add-remove":
        return geometric_rho((*below, *totals))
    return replaced_rho(below, totals, records)


@dataclass(frozen=True)
class MarginalsBound(Bound):
    """Marginals, bound to a question and a unit."""

    mechanism: Marginals
    question: Question
    unit: Unit
    law: NoisyMarginals
    noise: Calibrated | None = None

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = MarginalTables

    @property
    def tables(self) -> Tables:
        return self.law.tables

    @property
    def cells(self) -> int:
        """How many cells all tables have."""
        return self.tables.starts[-1]

    @cached_property
    def price(self) -> Guarantee:
        made = self.mechanism
        if made.delta is not None and self.noise is not None:
            return guarantee(made.epsilon, made.delta, self.noise, self.unit)
        many = counted(len(self.tables.tables), "table")
        rule = f"two-sided geometric noise on {many}, which one unit moves by no more than their sensitivities together"
        price = Guarantee(PureDP(made.epsilon), self.unit, rule, requested=made.epsilon)
        if not isinstance(self.law, MarginalsLaw):
            return price
        return replace(price, zcdp_steps=ZCDP(geometric_price(self.unit, self.tables, self.law.step)))

    @cached_property
    def space(self) -> Space:
        return Space(bits=self.cells * STORED_BITS, text=f"{self.cells:,} × {STORED_BITS}")

    @cached_property
    def cost(self) -> Cost:
        drawn = f"{counted(self.cells, 'draw')}: {counted(len(self.tables.tables), 'table')}"
        return Cost(steps=self.cells, text=drawn, seconds=self.cells / DRAWS_A_SECOND)

    @property
    def error(self) -> MarginalsError:
        return self.law.error

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Bound the error of a cell of each table, for the first few."""
        factors, tables = self.question.domain.factors, self.tables
        noted = []
        for at, places in list(enumerate(tables.tables))[:MOST_NOTED]:
            name = TIMES.join(factors[place].columns[0] for place in places) or TOTAL
            start = tables.starts[at]
            for beta in BETAS:
                found = self.error.range(start, start, beta).to_json()
                noted.append((f"A cell of {name}", {**found, "beta": text(beta)}))
        return noted

    @property
    def for_zcdp(self) -> Bound | None:
        """Gaussian noise on the same tables."""
        made = self.mechanism
        if made.base == GAUSSIAN:
            return None
        with suppress(ParameterError):
            moves = TablesSpread.of(self.unit, self.tables).moves(self.tables)
            epsilon = epsilon_for(pure_rho_of(self.price), USUAL_DELTA, moves)
            return replace(made, epsilon=epsilon, base=GAUSSIAN, delta=USUAL_DELTA).bind(self.question, self.unit)
        return None

    def gaussian(self, unit: Unit) -> tuple[Fraction, Shifts] | None:
        """The variance of a cell of weight 1, and how this unit moves all cells, each times its weight."""
        if self.noise is None:
            return None
        return self.noise.variance, TablesSpread.of(unit, self.tables).moves(self.tables)

    @property
    def verb(self) -> str:
        many = counted(len(self.tables.tables), "table")
        return f"Adds noise to {counted(self.cells, 'cell')} of {many} and makes the tables agree."

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> MarginalTables:
        """Add up the occupied bins in every table, batch by batch, and add noise to every cell. How many bins are
        occupied is private: no tick tells."""
        assert isinstance(statistic, SparseCounts)
        sums = PassingSums(self.tables)
        statistic.each(sums.add)
        drawn: list[NDArray[np.int64]] = []
        done = 0
        for weight, run in itertools.groupby(
            zip(self.tables.weights, sums.tables, strict=True), key=lambda one: one[0]
        ):
            cells = np.concatenate([one for _, one in run])
            start = done

            def told(part: int, _total: int, start: int = start) -> None:
                if tick is not None:
                    tick(start + part, self.cells)

            noise = sampler_of(self.law.drawn(weight))
            drawn.append(noise.add(cells, None, None, bits, told if tick else None))
            done += len(cells)
        return MarginalTables(self.law.asked, np.concatenate(drawn), self.law.total)


class PassingSums:
    """True tables, while the occupied bins of the product pass by."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._used = {place for table in tables.tables for place in table}
        self.tables = [np.zeros(cells, dtype=np.int64) for cells in tables.cells]

    def add(self, batch: Batch) -> None:
        labels, counts = batch.labels(), np.minimum(batch.counts, MOST_COUNT)
        for first in range(0, len(labels), TOGETHER):
            self._add(labels[first : first + TOGETHER], counts[first : first + TOGETHER])

    def _add(self, labels: NDArray[Any], counts: NDArray[np.int64]) -> None:
        """Only columns of tables have a place of their own: those are small, whatever the others are."""
        tables, used = self._tables, self._used
        digits: dict[int, NDArray[np.int64]] = {}
        for place in range(len(tables.sizes) - 1, min(used, default=len(tables.sizes)) - 1, -1):
            size: Any = tables.sizes[place]
            if labels.dtype != object and size > WORD:  # then the product has no other label
                labels = np.zeros_like(labels)
                continue
            size = size if labels.dtype == object else labels.dtype.type(size)
            above = labels // size
            if place in used:
                digits[place] = (labels - above * size).astype(np.int64)
            labels = above
        for at, places in enumerate(tables.tables):
            if not places:
                self.tables[at] += counts.sum()
                continue
            cell = digits[places[0]]
            for place in places[1:]:
                cell = cell * tables.sizes[place] + digits[place]
            np.add.at(self.tables[at], cell, counts)


protect_module(vars())
