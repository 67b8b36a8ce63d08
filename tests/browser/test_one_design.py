"""The page and `release.chart()` draw one answer alike: the same bins, cut at the same value, with the same dots,
intervals, labels and names. Compared number by number: the page's picture against what Vega-Lite is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz as dv
from dpviz.mechanisms import Dense
from dpviz.model.answers import SparseTable
from dpviz.model.question import Question
from dpviz.model.release import Release
from tests.browser.lab import calm
from tests.browser.test_report import opened
from tests.charts.made import FEW_HIGH, PERSON_YEAR, VISITS, layers, released, spec

Domain = dv.Domain
SICK = Domain.categories([f"disease {number}" for number in range(14)], column="icd")
EDGES = Domain.intervals([0, 18, 35, 50, 65, 100_000, 525_599], column="age", overflow=True)
NAMES = ["a rather long name of a disease that nobody can pronounce", "flu", "x", "a cold"]
FARTHER = Domain.integers(-3, 4, column="x", underflow=True, missing=True)


def keys() -> Release:
    """A sparse answer: three bins out of a million, of numbers that lie far apart."""
    question = Question.of(Domain.integers(0, 999_999, column="minute"))
    answer = SparseTable(np.array([7, 41_000, 525_599]), np.array([400, 300, 45]))
    bound = dv.Stability("1", "1e-6").bind(question, PERSON_YEAR)
    return Release.of(bound, answer, mode="exact", randomness="operating system", number=3, key="ab" * 32)


MADE: dict[str, Callable[[], Release]] = {
    "42 bins, cut": lambda: released(VISITS, FEW_HIGH),
    "a cut between two middle values": lambda: released(Domain.integers(0, 3, column="x"), [9000, 150, 70, 8]),
    "600 bins, in columns": lambda: released(
        Domain.integers(0, 599, column="minute"), [(step * 7919) % 1000 for step in range(600)]
    ),
    "60 names, upright": lambda: released(
        Domain.categories([f"disease {number}" for number in range(60)], column="icd"), list(range(400, 100, -5))
    ),
    "below 0": lambda: released(FARTHER, [12, -20, 5, 20, -3, 60, 0, 7, 90, -12]),
    "below 0, not cut at 0": lambda: released(VISITS, [value - 60 for value in FEW_HIGH], Dense("1/10", clamp=False)),
    "intervals": lambda: released(EDGES, [120, 300, 280, 90, 40, 66, 3]),
    "long names": lambda: released(Domain.categories(NAMES, column="icd"), [250, 120, -20, 40]),
    "names, cut": lambda: released(SICK, [52_500, 12_000, 9_000, 4_000, *range(0, 100, 10)]),
    "a sparse answer": keys,
    "large": lambda: released(
        Domain.integers(0, 8, column="x"), [10**6 + step * 10**5 for step in range(9)], Dense("5")
    ),
    "drawn for a lesson": lambda: released(VISITS, FEW_HIGH, teaching=7),
}

# What the page's picture shows, in pixels: dots, the strokes of both kinds of interval, bars, arrows, and all words.
SEEN = """() => {
    const svg = document.querySelector('.dp-result svg.dp-chart');
    const each = (names, read) => [...svg.querySelectorAll(names)].map(read);
    const number = (element, name) => Number(element.getAttribute(name));
    const paths = (names) => each(names, (path) => path.getAttribute('d'));
    return {
        dots: each('circle.dp-value', (dot) => [number(dot, 'cx'), number(dot, 'cy')]),
        one: paths('path.dp-one'), all: paths('path.dp-all'), over: paths('path.dp-over'),
        bars: paths('path.dp-bar').join('').split('Z').length - 1 + svg.querySelectorAll('rect.dp-bar').length,
        ticks: paths('path.dp-bar-tick').join('').split('M').slice(1).length
            + svg.querySelectorAll('line.dp-bar-tick').length,
        columns: ['value', 'one', 'all'].map((kind) => paths(`.dp-column-${kind}`)),
        words: each('text', (text) => ({
            text: text.textContent, x: number(text, 'x'), y: number(text, 'y'),
            axis: text.classList.contains('dp-tick'), anchor: text.getAttribute('text-anchor'),
        })),
        key: document.querySelector('.dp-key').innerText,
    };
}"""

Strokes = list[tuple[float, float, float, float]]


def strokes(path: str) -> Strokes:
    """The straight lines of a path, each from x1, y1 to x2, y2."""
    found: Strokes = []
    x = y = 0.0
    for command, given in re.findall(r"([MLVHvh])([-0-9. ]+)", path):
        numbers = [float(number) for number in given.split()]
        to = {
            "V": lambda n, x=x: (x, n[0]),
            "H": lambda n, y=y: (n[0], y),
            "v": lambda n, x=x, y=y: (x, y + n[0]),
            "h": lambda n, x=x, y=y: (x + n[0], y),
        }.get(command, lambda n: (n[0], n[1]))(numbers)
        if command != "M":
            found.append((x, y, *to))
        x, y = to
    return found


class Drawn:
    """The page's picture, with the bins across and the values along."""

    def __init__(self, seen: dict[str, Any], lying: bool) -> None:
        self.seen, self.lying = seen, lying

    def turn(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is across, and how far along in pixels."""
        return (y, x) if self.lying else (x, -y)

    def is_value(self, words: dict[str, Any]) -> bool:
        """Whether it stands beside a bar, not at an axis."""
        return not words["axis"] and not (self.lying and words["anchor"] == "end")

    @property
    def dots(self) -> list[float]:
        """How far along each dot is, in the order of the bins."""
        return [along for _, along in sorted(self.turn(*dot) for dot in self.seen["dots"])]

    def bars(self, kind: str) -> tuple[list[tuple[float, float]], list[float]]:
        """Both ends of each interval in the order of the bins, and where caps are."""
        ends, caps = [], []
        for x1, y1, x2, y2 in (one for path in self.seen[kind] for one in strokes(path)):
            (at, low), (to, high) = self.turn(x1, y1), self.turn(x2, y2)
            if at == to:
                ends.append((at, min(low, high), max(low, high)))
            else:
                caps.append((at, low))
        return [(low, high) for _, low, high in sorted(ends)], sorted(along for _, along in caps)

    @property
    def edges(self) -> list[float]:
        """Where the arrows stand that point beyond the panel."""
        starts = [re.findall(r"M([-0-9.]+) ([-0-9.]+)", path) for path in self.seen["over"]]
        lying = 4 if self.lying else 0  # a lying arrow begins at its upper corner
        return [self.turn(float(x), float(y) + lying)[1] for found in starts for x, y in found]


class Given:
    """What Vega-Lite is given of the same answer: the rows of the last panel, which has the intervals."""

    def __init__(self, whole: dict[str, Any]) -> None:
        found = list(layers(whole))

        def of(kind: str, **options: Any) -> list[dict[str, Any]]:
            return [
                one
                for one in found
                if one["mark"]["type"] == kind and all(one["mark"].get(name) == kept for name, kept in options.items())
            ]

        def scale(layer: dict[str, Any]) -> dict[str, Any]:
            channel = "x" if self.lying else "y"
            domain: dict[str, Any] = layer["encoding"][channel]["scale"]
            return domain

        bars, self.areas = of("bar"), of("area")
        self.lying = bool(bars) and bars[0]["mark"]["orient"] == "horizontal"
        self.bars = len(bars[0]["rows"]) if bars else 0
        dots = [one for one in (*of("circle"), *of("point")) if "shown" in one["rows"][0]]
        self.rows = [row for row in dots[0]["rows"] if row["shown"]] if dots else []
        self.every = dots[0]["rows"] if dots else []
        self.ticks = (
            len(bars[0]["rows"]) if bars and [one for one in of("tick") if one["mark"]["thickness"] == 2] else 0
        )
        ends = scale(dots[0])["domain"] if dots else (0, 0)
        self.low, self.high = ends
        arrows = [one for one in of("point") if str(one["mark"].get("shape")).startswith("triangle")]
        self.beyond = sum(len(one["rows"]) for one in arrows)
        values = [one for one in of("text") if one["rows"] and "count" in one["rows"][0]]
        self.labels = sorted(row["text"] for one in values for row in one["rows"])
        names = whole["params"][0]["value"]
        self.names = [names[at] for at in sorted(names, key=float)]
        self.words = [str(one["encoding"]["text"].get("value", "")) for one in of("text")]


def near(one: float, other: float) -> bool:
    return abs(one - other) <= 0.3  # the page rounds to tenths of a pixel


def differences(drawn: Drawn, given: Given) -> list[str]:
    """In what the two differ."""
    found = []

    def same(what: str, page: object, chart: object) -> None:
        if page != chart:
            found.append(f"{what}: {page} on the page, {chart} in the chart")

    same("bars from 0", drawn.seen["bars"], given.bars)
    same("dots", len(drawn.dots), len(given.rows))
    same("values that end a bar", drawn.seen["ticks"], given.ticks)
    same("values beyond the panel", len(drawn.edges), given.beyond)
    words = drawn.seen["words"]
    same("labels", sorted(one["text"] for one in words if drawn.is_value(one)), given.labels)
    found += columns(drawn, given) if given.areas else scaled(drawn, given)
    found += named(drawn, given)
    key = re.findall(r"[±≤≈]+ ?\d[\d,.]*\d|[±≤≈]+ ?\d", drawn.seen["key"])
    same("errors in the key", key, [size for line in given.words for size in re.findall(r"^[±≤≈]+ ?[\d,.]+", line)])
    return found


def scaled(drawn: Drawn, given: Given) -> list[str]:
    """Dots, ends of intervals and arrows lie where one scale puts the values of the chart."""
    if not given.rows or len(drawn.dots) != len(given.rows):
        return []
    values = [row["value"] for row in given.rows]
    first, last = values.index(min(values)), values.index(max(values))
    step = (drawn.dots[last] - drawn.dots[first]) / (values[last] - values[first])

    def along(value: float) -> float:
        return drawn.dots[first] + (min(max(value, given.low), given.high) - values[first]) * step

    found = [
        f"dot of bin {row['at']}: {place - along(row['value']):.1f} px off"
        for place, row in zip(drawn.dots, given.rows, strict=True)
        if not near(place, along(row["value"]))
    ]
    if step <= 0:
        found.append("the values run the other way")
    for kind, ends in (("one", ("low", "high")), ("all", ("low_all", "high_all"))):
        bars, caps = drawn.bars(kind)
        seen = [row for row in given.every if row[ends[1]] >= given.low and row[ends[0]] <= given.high]
        if len(bars) != len(seen):
            found.append(f"intervals for {kind}: {len(bars)} on the page, {len(seen)} in the chart")
            continue
        for bar, row in zip(bars, seen, strict=True):
            if not all(near(place, along(row[end])) for place, end in zip(bar, ends, strict=True)):
                found.append(f"interval for {kind} of bin {row['at']}")
        capped = sorted(along(row[f"{end}_all"]) for row in given.every for end in ("low", "high") if row[f"{end}_cap"])
        wanted = [] if kind == "one" else capped
        if len(caps) != len(wanted) or not all(map(near, caps, wanted)):
            found.append(f"caps for {kind}: {len(caps)} on the page, {len(wanted)} in the chart")
    edges = [along(given.high), along(given.low)]
    found += [
        f"an arrow at {edge}, not at {edges}" for edge in drawn.edges if not any(near(edge, one) for one in edges)
    ]
    return found


def named(drawn: Drawn, given: Given) -> list[str]:
    """The axis of the bins names the same ones; of lying bars names may be cut earlier where there is less room."""
    words = drawn.seen["words"]
    if drawn.lying:
        page = [one["text"] for one in words if one["anchor"] == "end" and not one["axis"]]
        chart = given.names * (len(page) // len(given.names))  # once more in a panel that is cut
        alike = len(page) == len(chart) and all(map(cut_alike, page, chart))
    else:
        below = [one for one in words if one["anchor"] == "middle" and one["axis"]]
        top = min(one["y"] for one in below)  # under it is the name of the axis
        page = [one["text"] for one in sorted(below, key=lambda one: float(one["x"])) if one["y"] == top]
        chart, alike = given.names, page == given.names
    return [] if alike else [f"names: {page} on the page, {chart} in the chart"]


def cut_alike(one: str, other: str) -> bool:
    least = min(len(words.removesuffix("…")) for words in (one, other))
    return one == other or (one[:least] == other[:least] and "…" in one + other and least > 8)


def columns(drawn: Drawn, given: Given) -> list[str]:
    """Above 500 bins each column of pixels reaches from the least to the greatest of its bins."""
    found = []
    whole = [list(map(sorted, bars(paths))) for paths in drawn.seen["columns"]]
    rows = given.areas[-1]["rows"][:-1]  # the last row ends the last step
    if len(whole[0]) != len(rows):
        return [f"columns: {len(whole[0])} on the page, {len(rows)} in the chart"]
    foot, top = min(low for low, _ in whole[0]), max(high for _, high in whole[0])
    least, greatest = min(row["least"] for row in rows), max(row["greatest"] for row in rows)
    for page, ends in zip(whole, (("least", "greatest"), ("low", "high"), ("low_all", "high_all")), strict=True):
        drawn_too = ends[0] in rows[0]
        if bool(page) != drawn_too:
            found.append(f"{ends}: {len(page)} on the page")
            continue
        for place, row in zip(page, rows, strict=bool(page)):
            wanted = [foot + (row[end] - least) / (greatest - least) * (top - foot) for end in ends]
            if (
                max(abs(one - other) for one, other in zip(place, wanted, strict=True)) > 1.2
            ):  # a stroke is a pixel long where it shows one value
                found.append(f"{ends} of the column at {row['at']}")
    return found


def bars(paths: list[str]) -> list[tuple[float, float]]:
    return [(-y1, -y2) for path in paths for _, y1, _, y2 in strokes(path)]


# A chart of the same width has room for the same names: as the axis of upright bins, or as the whole picture.
PLOT = """() => {
    const svg = document.querySelector('.dp-result svg.dp-chart');
    if (svg.querySelector('rect.dp-bar') !== null) return svg.clientWidth;
    const lines = [...svg.querySelectorAll('g:last-of-type > line.dp-axis')];
    return Math.max(...lines.map((line) => line.x2.baseVal.value - line.x1.baseVal.value));
}"""


@contextmanager
def shown(browser: Browser, release: Release, path: Path) -> Iterator[tuple[Page, Given]]:
    """A report of a release, drawn and at rest, and the chart that is as wide as its picture."""
    with opened(browser, dv.report([release], path), viewport={"width": 860, "height": 900}) as page:
        expect(page.locator(".dp-result svg.dp-chart")).to_be_visible()
        calm(page)
        yield page, Given(spec(release.chart(width=max(240, round(page.evaluate(PLOT))))))


@pytest.mark.parametrize("name", MADE)
def test_the_page_and_the_chart_draw_one_answer_alike(browser: Browser, tmp_path: Path, name: str) -> None:
    with shown(browser, MADE[name](), tmp_path / "release.html") as (page, given):
        seen = Drawn(page.evaluate(SEEN), given.lying)
        assert differences(seen, given) == []
        assert given.rows or given.ticks or given.areas


PLANTED = {
    "a dot is gone": "svg.querySelector('circle.dp-value').remove()",
    "two bins change places": """{
        const [one, other] = [...svg.querySelectorAll('circle.dp-value')].filter((dot, i) => i === 5 || i === 20);
        const y = one.getAttribute('cy'); one.setAttribute('cy', other.getAttribute('cy')); other.setAttribute('cy', y);
    }""",
    "it is cut elsewhere": """{
        const over = svg.querySelector('.dp-over'), d = over.getAttribute('d');
        over.setAttribute('d', d.replace(/M[^Z]*Z/, ''));
    }""",
    "an interval is longer": """{
        const one = svg.querySelector('.dp-one'), d = one.getAttribute('d');
        one.setAttribute('d', d.replace(/V([0-9.]+)$/, (_, y) => `V${Number(y) - 2}`));
    }""",
    "a cap is missing": """{
        const all = svg.querySelector('.dp-all'), d = all.getAttribute('d');
        all.setAttribute('d', d.replace(/M[-0-9. ]+H[-0-9.]+$/, ''));
    }""",
    "a label says another value": """{
        const label = [...svg.querySelectorAll('text')].find((text) => text.textContent === '6,293');
        label.textContent = '6,294';
    }""",
    "a bin has another name": """{
        const label = [...svg.querySelectorAll('text')].find((text) => text.textContent === '41+');
        label.textContent = '40+';
    }""",
    "the key gives another error": "document.querySelector('.dp-key').firstChild.nextSibling.append(' ±1')",
}


@pytest.mark.parametrize("plant", PLANTED)
def test_a_planted_difference_is_found(browser: Browser, tmp_path: Path, plant: str) -> None:
    with shown(browser, MADE["42 bins, cut"](), tmp_path / "release.html") as (page, given):
        assert differences(Drawn(page.evaluate(SEEN), False), given) == []
        page.evaluate(f"() => {{ const svg = document.querySelector('.dp-result svg.dp-chart'); {PLANTED[plant]}; }}")
        assert differences(Drawn(page.evaluate(SEEN), False), given) != []
