"""Releases with values that a test chose, and ways to look into a chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dpviz as dv
from dpviz.mechanisms import Dense
from dpviz.model.answers import Table
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.model.terms import SESSION, TEACHING

PERSON_YEAR = dv.Unit("row", noun="person-year")
VISITS = Domain.integers(0, 40, column="visits", overflow=True)
FEW_HIGH = [6293, 3826, 2799, 1890, 1336, 960, 700, 520, 380, 290, 230, 200, 108, 93, 93, 48, 80, 31, 39, 19, 18, 14]
FEW_HIGH += [31, 16, 24, 2, 10, 4, 2, 0, 7, 2, 4, 0, 11, 8, 12, 0, 1, 39, 2, 36]
HOSTILE = "</script><img src=x onerror=alert(1)>"


def released(
    domain: Domain, values: list[int], mechanism: Dense | None = None, *, teaching: int | None = None, number: int = 3
) -> Release:
    """A release whose values are given: public, as every release's are."""
    assert len(values) == domain.size
    bound = (mechanism or Dense(epsilon="1/10")).bind(Question.of(domain), PERSON_YEAR)
    return Release.of(
        bound,
        Table(np.array(values, dtype=np.int64)),
        mode="exact",
        randomness="operating system" if teaching is None else f"teaching, seed {teaching}",
        number=number if teaching is None else None,
        key="ab" * 32,
        teaching=teaching,
        origin=SESSION if teaching is None else TEACHING,
    )


_SPECS: dict[int, tuple[Any, dict[str, Any]]] = {}


def spec(chart: Any) -> dict[str, Any]:
    """What Vega-Lite gets, written down once for each chart."""
    if id(chart) not in _SPECS:
        _SPECS[id(chart)] = chart, chart.to_dict()  # with the chart, so that no other gets its number
    return _SPECS[id(chart)][1]


def everything(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key and value of a spec, however deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from everything(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from everything(inner)


def layers(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every drawn layer of a spec, outermost first, with its `rows`: the data it is drawn from."""

    def walk(part: dict[str, Any], data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        own = part.get("data", data)
        for inner in [*part.get("vconcat", []), *part.get("layer", [])]:
            yield from walk(inner, own)
        if "mark" in part:
            yield {**part, "rows": own["values"] if "values" in own else whole["datasets"][own["name"]]}

    return walk(whole, {})


def marks(chart: Any, kind: str, **options: Any) -> list[dict[str, Any]]:
    """The layers with this mark and these options of it."""
    return [
        layer
        for layer in layers(spec(chart))
        if layer["mark"]["type"] == kind and all(layer["mark"].get(name) == value for name, value in options.items())
    ]


def intervals(chart: Any) -> list[dict[str, Any]]:
    """The rows that the thick bars are drawn from: of the last panel, where there are two."""
    thick = [layer for layer in marks(chart, "rule") if layer["encoding"].get("y2", {}).get("field") == "high"]
    found: list[dict[str, Any]] = thick[-1]["rows"]
    return found


def panels(chart: Any) -> list[dict[str, Any]]:
    """The plots of a histogram, without its key."""
    return [
        part
        for part in spec(chart)["vconcat"]
        if any("axis" in inner.get("encoding", {}).get("x", {}) for inner in part["layer"])
    ]


def titles(chart: Any) -> str:
    """Title and lines below it, as one text."""
    title = spec(chart)["title"]
    return " ".join([*title["text"], *title["subtitle"]]).replace("\u00a0", " ")


def texts(chart: Any) -> list[str]:
    """Every fixed text drawn."""
    return [
        str(layer["encoding"]["text"]["value"]).replace("\u00a0", " ")
        for layer in marks(chart, "text")
        if "value" in layer["encoding"]["text"]
    ]
