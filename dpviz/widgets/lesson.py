"""The parts that a page of a teaching session shows beside an answer: the true counts, which are public, and what
misses them.

It is `lesson.draw(..., times=20).misses()`, as a page draws it. Counts reach a page only as the `PublicTable` that
goes with the draws; a session with a ledger has none, so its page is never offered any of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import text
from dpviz.model.answers.reading import Among, Ends, Intervals, Values
from dpviz.model.between import Enclosed
from dpviz.model.error import BETAS

if TYPE_CHECKING:
    from dpviz.model.public import PublicTable, PublicTop
    from dpviz.model.release import Release
    from dpviz.session.seeded_draws import SeededDraws

VERSION: Final = 1

MOST_DRAWS: Final = 100
"""The most draws that are counted together; then a page starts counting again."""

SHOWN: Final = 20
"""Of so many draws, the latest, a page has the values."""

MOST_COLUMNS: Final = 500
"""More bins than this are shown in so many columns, each with the least and the greatest of some bins in a row."""

MOST_CELLS: Final = 2_000_000
"""The most counts that are drawn for one press of a button."""

PART: Final = 100
"""The most parts of 1 to the nearest of which a fraction is drawn."""

Body = dict[str, Any]


def affordable(bins: int, times: int) -> None:
    """Refuse what a page would wait for too long."""
    if times > MOST_DRAWS:
        raise ParameterError.of(
            f"{times:,} draws", f"a page draws {MOST_DRAWS} times at most", "draw fewer times, or in Python"
        )
    if times > 1 and bins * times > MOST_CELLS:
        raise ParameterError.of(
            f"{times} draws of {bins:,} bins",
            f"a page draws {MOST_CELLS:,} counts at a time, at most",
            f"draw once, or in Python: lesson.draw(question, mechanism, times={times}).misses()",
        )


class Series:
    """The draws on show, one after the other, of one question with one mechanism."""

    def __init__(self) -> None:
        self._draws: SeededDraws | None = None
        self._public: PublicTable | PublicTop | None = None
        self._beta = BETAS[1]
        self._told: Body | None = None

    @property
    def body(self) -> Body | None:
        """The part that the page is told; None before the first draw."""
        return self._told

    def add(self, draws: SeededDraws, public: PublicTable | PublicTop | None, beta: Fraction) -> None:
        """Count these, together with the earlier ones where they are of the same kind and there is room.

        public  the true counts where the draws come without, for their answers have no count for each bin
        """
        from dpviz.session.seeded_draws import SeededDraws

        before = self._draws
        if before is not None and before[0].key == draws[0].key and len(before) + len(draws) <= MOST_DRAWS:
            draws = SeededDraws((*before.draws, *draws.draws), draws.truth)
        self._draws, self._public, self._beta = draws, public, beta
        self._told = self._tell(draws)

    def at(self, beta: Fraction) -> None:
        """Let the intervals miss this often."""
        self._beta = beta
        self._told = None if self._draws is None else self._tell(self._draws)

    def forget(self) -> None:
        """Start counting again. Later draws follow those that are forgotten."""
        self._draws = self._told = None

    def _tell(self, draws: SeededDraws) -> Body:
        from dpviz.model.public import PublicTop

        first, truth = draws[0], draws.truth
        told = {
            "version": VERSION,
            "seed": str(first.teaching),
            "key": first.key,
            "title": first.title,
            "axis": first.axis.name,
            "nouns": first.question.nouns(first.unit),
            "beta": text(self._beta),
            "betas": [text(beta) for beta in BETAS],
            "drawn": str(len(draws)),
            **({"limits": first.limits} if first.limits else {}),
        }
        if truth is not None:
            columns = _Columns(truth)
            return {**told, "truth": columns.truth(), **self._held(draws, columns)}
        public = self._public
        shown = (
            None if public is None else _ranked(public) if isinstance(public, PublicTop) else _Columns(public).truth()
        )
        return {**told, "truth": shown, "draws": [], "shown": []}

    def _held(self, draws: SeededDraws, columns: _Columns) -> Body:
        """The misses of each draw, and the picture of the latest."""
        counted, shown = [], []
        for number, one in enumerate(draws, 1):
            among: tuple[Among, Among] = ("one", "all")
            alone, every = (one.intervals(self._beta, kind, of="counted") for kind in among)
            found = [None if each is None else columns.outside(each) for each in (alone, every)]
            counted.append({"missed": found[0], "missed_all": found[1]})
            if number > len(draws) - SHOWN:
                ends = {"one": columns.ends(alone), "all": columns.ends(every)}
                shown.append({"draw": str(number), "values": columns.values(one), **ends})
        return {"draws": counted, "shown": shown}


class _Columns:
    """The bins of a public table as a page draws them: each by itself, or some in a row where there are many."""

    def __init__(self, table: PublicTable) -> None:
        self._table = table
        size = table.domain.size
        count = min(size, MOST_COLUMNS)
        self._starts: NDArray[np.int64] = np.arange(count, dtype=np.int64) * size // count

    @property
    def single(self) -> bool:
        return len(self._starts) == self._table.domain.size

    def truth(self) -> Body:
        table = self._table
        size, domain = table.domain.size, table.domain
        lasts = [*(self._starts[1:] - 1).tolist(), size - 1]
        names = [
            domain.told(domain.label(start))
            if start == last
            else domain.told_range(domain.label(start), domain.label(last))
            for start, last in zip(self._starts.tolist(), lasts, strict=True)
        ]
        counts = table.counts.tolist()
        return {"bins": str(size), "labels": names, **self._reach(counts, counts)}

    def values(self, release: Release) -> Body:
        values = [_middle(value) for value in _listed(release.values)]
        return self._reach(values, values)

    def ends(self, within: Intervals | None) -> Body | None:
        return None if within is None else self._reach(_listed(within.low), _listed(within.high))

    def outside(self, within: Intervals) -> Body:
        """In which columns how many bins lie outside their intervals; the sum is what `SeededDraws.misses` says."""
        missed = np.add.reduceat(within.outside(self._table.counts).astype(np.int64), self._starts)
        where = np.flatnonzero(missed)
        return {"bins": str(int(missed.sum())), "columns": where.tolist(), "times": missed[where].tolist()}

    def _reach(self, low: Sequence[Any], high: Sequence[Any]) -> Body:
        """The least low and the greatest high of each column; `high` is left out where it would say the same."""
        if self.single and low is high:
            return {"low": [_written(value) for value in low]}
        if self.single:
            return {"low": [_written(value) for value in low], "high": [_written(value) for value in high]}
        bounds = [*self._starts.tolist(), len(low)]
        stretches = list(pairwise(bounds))
        return {
            "low": [_written(_least(low[a:b])) for a, b in stretches],
            "high": [_written(_greatest(high[a:b])) for a, b in stretches],
        }


def _ranked(top: PublicTop) -> Body:
    return {"bins": "", "labels": list(top.labels), "low": [str(count) for count in top.counts]}


def _listed(values: Values | Ends) -> Sequence[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values


def _middle(value: int | Fraction | Enclosed) -> int | Fraction:
    return value.middle if isinstance(value, Enclosed) else value


def _least(values: Sequence[Any]) -> Any:
    """None, an open end, is below every number."""
    return None if any(value is None for value in values) else min(values)


def _greatest(values: Sequence[Any]) -> Any:
    return None if any(value is None for value in values) else max(values)


def _written(value: int | Fraction | None) -> str | None:
    """A number for a picture."""
    return None if value is None else text(Fraction(round(value * PART), PART))


protect_module(vars())
