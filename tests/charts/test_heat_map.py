"""The heat map: each cell at its place and in its strength, hollow where 0 is not ruled out, and totals that agree."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.maps import STEPS, _Map, _round, ends_of, is_even, of_release, strength_of
from dpviz.charts.theme import PALETTES, palette
from dpviz.errors import DpvizError, ParameterError, ReleaseFormat
from dpviz.exact import probability
from dpviz.model.release import Release

YEARS = dv.Domain.integers(1, 3, column="year")
PORTS = dv.Domain.categories(
    ["ATL", "LEX", "a port with a name that is far too long to stand above a cell"], column="port"
)
COUNTS = {(1, 0): 900, (1, 1): 60, (2, 0): 400, (3, 1): 5, (3, 2): 250}


def frame() -> pd.DataFrame:
    rows = [(year, PORTS.label(port)) for (year, port), count in COUNTS.items() for _ in range(count)]
    return pd.DataFrame(rows, columns=["year", "port"])


def drawn(mechanism: Any = None, domain: Any = None) -> Release:
    lesson = dv.teaching(frame(), seed=1)
    release: Release = lesson.draw(YEARS * PORTS if domain is None else domain, mechanism or dv.Dense("1/10"))
    return release


def map_of(release: Release, theme: str = "light", width: int = 700) -> _Map:
    return _Map(of_release(release, probability("0.05", "beta", zero=False)), palette(theme), width)


def test_a_cell_is_hollow_exactly_where_its_interval_holds_0() -> None:
    release = drawn()
    holds = [low <= 0 <= high for low, high in release.to_frame()[["low", "high"]].itertuples(index=False)]
    assert map_of(release).open == holds and True in holds and False in holds
    assert holds != [value == 0 for value in release.values], "and not only where the value is 0"
    dataset = dv.charts.heat_map(release).to_dict()["datasets"]
    cells = next(rows for rows in dataset.values() if rows and "hx" in rows[0] and len(rows) == 9)
    assert [cell["open"] for cell in cells] == holds


def test_stronger_means_more_and_places_are_those_of_the_bins() -> None:
    release = drawn()
    made = map_of(release)
    steps = [made.strength(value) for value in made.values]
    by_value = sorted(range(9), key=made.values.__getitem__)
    assert [steps[at] for at in by_value] == sorted(steps) and max(steps) >= STEPS - 2 and min(steps) == 0
    cells = made._cells()
    assert [cell["text"].replace(",", "") for cell in cells] == [str(value) for value in release.values]
    rows, columns = sorted({cell["y"] for cell in cells}), sorted({cell["x"] for cell in cells})
    assert [(rows.index(cell["y"]), columns.index(cell["x"])) for cell in cells] == [divmod(at, 3) for at in range(9)]
    assert len({made.mixed(step) for step in range(STEPS)}) == STEPS


def test_totals_are_the_marginals_and_agree() -> None:
    release = drawn()
    made = map_of(release)
    found = [int(total.partition(" ")[0].rstrip(",").replace(",", "")) for total in (*made.rows, *made.columns)]
    assert sum(found[:3]) == sum(found[3:]) == sum(release.values)
    assert found == [cell.value for column in ("year", "port") for cell in release.marginal([column])]


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize("width", [240, 320, 700, 1400])
def test_nothing_leaves_the_picture_and_numbers_can_be_read(theme: Any, width: int) -> None:
    release = drawn()
    made = map_of(release, theme, width)
    for cell in made._cells():
        assert 0 <= cell["x"] < cell["x2"] and cell["hx"] < cell["hx2"]
        under = palette(theme).ground if cell["open"] else cell["fill"]
        assert contrast(under, cell["over"]) >= 3, (cell["text"], under, cell["over"])
    picture = dv.charts.heat_map(release, theme=theme, width=width).to_dict()
    assert picture["description"].startswith("Not private · teaching, seed 1. ")
    assert f"of {sum(made.open)} the interval holds 0" in picture["description"]


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_a_release_in_a_session_says_what_it_costs(tmp_path: Any) -> None:
    session = dv.Session(frame(), dv.Unit(), dv.Budget("2"), tmp_path / "map.ledger")
    picture = dv.charts.heat_map(session.release(YEARS * PORTS, dv.Dense("1"))).to_dict()
    assert picture["title"]["subtitle"][0].startswith("1-differential privacy for adding or removing one row")


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (lambda: drawn(domain=YEARS), ReleaseFormat),
        (lambda: drawn(dv.TopK(2, 5, epsilon="1"), dv.Domain.keys(column="port")), ReleaseFormat),
        (lambda: drawn(domain=dv.Domain.integers(1, 61, column="year") * PORTS), ParameterError),
        (lambda: drawn(domain=PORTS * dv.Domain.integers(1, 41, column="year")), ParameterError),
        (lambda: frame(), DpvizError),
    ],
)
def test_what_is_no_table_of_two_columns_is_refused(made: Any, error: type[Exception]) -> None:
    thing = made()
    with pytest.raises(error):
        dv.charts.heat_map(thing)


@pytest.mark.parametrize(("most", "top"), [(1, 1.2), (1.21, 1.5), (999, 1200), (1200, 1200), (1201, 1500), (7.3, 9)])
def test_the_strongest_cell_ends_at_a_round_number(most: float, top: float) -> None:
    assert _round(most) == pytest.approx(top)


@pytest.mark.parametrize("width", [240, 320, 400, 480, 640, 1200])
@pytest.mark.parametrize("error", ["1/20", "1/2", "5"])
def test_a_total_stands_with_its_error_at_any_width(width: int, error: str) -> None:
    made = map_of(drawn(dv.Dense(error)), "light", width)
    end = made.left + made.cell * made.across.size
    below = [text for text in made._margins() if text["x"] < end and text["align"] == "center"]
    each: dict[float, list[str]] = {}
    for text in below:
        each.setdefault(text["x"], []).append(text["text"])
    found = [" ".join(lines) for _, lines in sorted(each.items())]
    assert found in ([], made.columns) and all("±" in total or " to " in total for total in found)
    assert found or made.cell < 100


def test_strengths_are_even_where_cells_differ_by_them_and_closer_below_where_most_would_look_alike() -> None:
    assert ends_of(range(60), 1) == [10, 20, 30, 40, 50, 60]
    skewed = [round(1500 * (at / 59) ** 4) for at in range(60)]
    for error in (1, 20):
        ends = ends_of(skewed, error)
        assert ends == sorted({*ends}) and ends[0] >= error and ends[-1] == 1500 and not is_even(ends)
        assert max(Counter(strength_of(value, ends) for value in skewed).values()) <= 30
    assert ends_of(skewed, 300) == [250, 500, 750, 1000, 1250, 1500], "no closer than any one cell may be off"
    for value, ends in ((0, even := ends_of(range(60), 1)), (10, even), (10.5, even), (60, even)):
        assert strength_of(value, ends) == next(at for at, end in enumerate(ends) if value <= end)
