"""Made-up rows of a declared schema: for trying code first. They are drawn from public facts alone.

Values of a column lie in its declared bins, each about as often as every other, and now and then in the bins beside
these. Nothing else about the data is known here, so no count of made-up rows says anything about a true one. The frame
carries the name of the data set with the words "made up" after it, and a session on the frame shows that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import plain_arguments, protect_module
from dpviz.exact import whole
from dpviz.lazy import without_collector
from dpviz.model import times
from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, IntervalDomain, TimeDomain
from dpviz.model.statistic import Column
from dpviz.noise.simulated import uniform
from dpviz.privacy.unit import Unit
from dpviz.session.custody import Charter

if TYPE_CHECKING:
    import pandas as pd

Uniform: TypeAlias = NDArray[np.float64]

MADE_UP: Final = "(made up)"
"""The end of the name of made-up data."""

MOST_ROWS: Final = 1_000_000
MOST_PER_USER: Final = 5
"""Rows of one user, where the unit has no lower limit."""
BESIDE: Final = 0.1
"""The share of rows in the bins for what lies below, above or elsewhere, and for missing values."""
BINS_BESIDE: Final = ("underflow", "overflow", "other", "missing", "malformed")
BEYOND: Final = 10
"""Numbers beyond the declared ones are nearer than this."""
WITHOUT_BINS: Final = 100
"""Different values of a column without bins."""
FIRST_DAY: Final = datetime(2020, 1, 1)


@plain_arguments
def mock(charter: Charter, bins: Mapping[str, Domain], rows: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Make up rows of a declared schema.

    Parameters
    ----------
    charter : Charter
        The data set, its unit and its columns.
    bins : mapping of str to Domain
        The declared bins, by column.
    rows : int, default 1000
        The number of rows.
    seed : int, default 0
        The same seed makes the same rows.

    Returns
    -------
    DataFrame
        The rows, under the name of the data set with "(made up)" after it.

    Raises
    ------
    ParameterError
        If a number is outside its range.
    """
    with without_collector():
        import pandas as pd

    count = whole(rows, "rows", most=MOST_ROWS)
    drawn = uniform(2 * len(charter.columns) + 1, count, whole(seed, "seed", least=0, most=2**63 - 1))
    made: dict[str, Any] = {}
    for place, column in enumerate(charter.columns):
        where, within = drawn[2 * place], drawn[2 * place + 1]
        domain = bins.get(column.name)
        if column.name == charter.unit.of and not charter.unit.is_row:
            made[column.name] = _users(column, charter.unit, drawn[-1], where)
        elif domain is None or type(domain) not in VALUES:
            made[column.name] = _without_bins(column, where)
        else:
            made[column.name] = _in_bins(domain, column, where, within)
    frame = pd.DataFrame(made)
    name = charter.dataset if charter.dataset.endswith(MADE_UP) else f"{charter.dataset} {MADE_UP}"
    frame.attrs["dpviz"] = {"dataset": name, "made_up": True}
    if written := {name: _kind(bins[name]) for name in made if _is_text(bins.get(name))}:
        frame.attrs["dpviz"]["schema"] = written
    return frame


def _is_text(domain: Domain | None) -> bool:
    """Whether values are written as texts, for one that is malformed could be nothing else."""
    return bool(getattr(domain, "malformed", False))


def _kind(domain: Domain) -> str:
    return "date" if isinstance(domain, TimeDomain) else "number"


def _users(column: Column, unit: Unit, drawn: Uniform, order: Uniform) -> Any:
    """Users with one row or several, up to the limits of the unit, in any order."""
    most = min(MOST_PER_USER, unit.records(MOST_PER_USER))
    sizes = 1 + np.floor(drawn * most).astype(np.int64)
    users = np.repeat(np.arange(1, len(drawn) + 1), sizes)[: len(drawn)][np.argsort(order)]
    return users if column.kind == "number" else [f"{column.name} {user}" for user in users]


def _without_bins(column: Column, drawn: Uniform) -> Any:
    chosen = np.floor(drawn * WITHOUT_BINS).astype(np.int64)
    if column.kind == "number":
        return chosen
    if column.kind == "time":
        return np.datetime64(FIRST_DAY, "us") + chosen.astype("timedelta64[D]")
    return [f"{column.name} {number}" for number in chosen]


def _in_bins(domain: Domain, column: Column, where: Uniform, within: Uniform) -> Any:
    """Values in the bins of a domain; those beside its inner bins rarely."""
    values = VALUES[type(domain)](domain, where, within)
    beside = [name for name in BINS_BESIDE if getattr(domain, name, False)]
    kept = where >= BESIDE if beside else np.full(len(where), True)
    which = np.minimum((where / BESIDE * len(beside)).astype(np.int64), len(beside) - 1)
    made = list(values)
    for row in np.flatnonzero(~kept):
        made[row] = _beside(domain, column, beside[which[row]], within[row])
    return _typed(made, domain, column)


def _typed(made: list[Any], domain: Domain, column: Column) -> Any:
    """The values in the type of the column: a label that is a number is one in a column of numbers."""
    if _is_text(domain):
        return [None if one is None else str(one).replace("T", " ") for one in made]
    if isinstance(domain, TimeDomain):
        return np.array(made, dtype="datetime64[us]")
    if isinstance(domain, CategoryDomain) and column.kind != "number":
        return made
    plain = np.array([np.nan if one is None else float(one) for one in made])
    return plain.astype(np.int64) if np.all(plain == np.floor(plain)) else plain


def _beside(domain: Domain, column: Column, name: str, drawn: float) -> Any:
    """A value below, above or beside the declared bins, or none."""
    step = 1 + int(drawn * BEYOND)
    if name == "missing":
        return None
    if name == "malformed":
        return "made up"
    if isinstance(domain, CategoryDomain):
        return (
            -step if all(label.lstrip("-").replace(".", "", 1).isdigit() for label in domain.labels[:1]) else "made up"
        )
    if isinstance(domain, TimeDomain):
        days = np.timedelta64(step, "D")
        below = name == "underflow"
        return _moment(domain.start) - days if below else _moment(domain.end) + days
    low, high = _ends(domain)
    return low - step if name == "underflow" else high + step


def _ends(domain: Domain) -> tuple[float, float]:
    if isinstance(domain, IntegerDomain):
        return domain.low, domain.high
    assert isinstance(domain, IntervalDomain)
    return float(domain.edges[0]), float(domain.edges[-1])


def _moment(at: int) -> np.datetime64:
    return np.datetime64(times.moment(at), "us")


def _chosen(number: int, drawn: Uniform) -> NDArray[np.int64]:
    """A bin for each row, of so many."""
    return np.minimum(np.floor(drawn * number).astype(np.int64), number - 1)


def _spread(where: Uniform) -> Uniform:
    """The same rows again from 0 to 1, in another order: the first share of `where` decides on bins beside."""
    return np.asarray((where * 7919) % 1.0)


def _integers(domain: IntegerDomain, where: Uniform, _: Uniform) -> Any:
    return [domain.low + int(place) for place in _chosen(domain.inner, _spread(where))]


def _intervals(domain: IntervalDomain, where: Uniform, within: Uniform) -> Any:
    edges = np.array([float(edge) for edge in domain.edges])
    place = _chosen(len(edges) - 1, _spread(where))
    return edges[place] + within * (edges[place + 1] - edges[place])


def _times(domain: TimeDomain, where: Uniform, within: Uniform) -> Any:
    edges = np.array([_moment(at) for at in times.edges(domain.start, domain.end, domain.by)])
    place = _chosen(len(edges) - 1, _spread(where))
    lengths = (edges[place + 1] - edges[place]).astype(np.int64)
    return edges[place] + np.floor(within * lengths).astype("timedelta64[us]")


def _categories(domain: CategoryDomain, where: Uniform, _: Uniform) -> Any:
    return [domain.values[place] for place in _chosen(len(domain.values), _spread(where))]


VALUES: Final[Mapping[type, Callable[[Any, Uniform, Uniform], Any]]] = {
    IntegerDomain: _integers,
    IntervalDomain: _intervals,
    TimeDomain: _times,
    CategoryDomain: _categories,
}
"""By kind of domain the values of its inner bins, one for each row."""

protect_module(vars())
