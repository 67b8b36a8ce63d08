"""Colours and type of every chart: one palette in light, one in dark, and the Vega-Lite configuration made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dpviz.errors import ParameterError

Theme = Literal["light", "dark"]

FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
TITLE, TEXT, SMALL, FLOOR = 15, 13, 12, 11
"""Sizes in pixels: a chart's title, its sentences, its key, and the least that may be used (axes, captions)."""


@dataclass(frozen=True, slots=True)
class Ink:
    """One colour in three strengths: `strong` for values and intervals, `middle` and `pale` for bands and bars."""

    strong: str
    middle: str
    pale: str


@dataclass(frozen=True, slots=True)
class Palette:
    """Every colour a chart may use. `release` is paid, `pencil` is a plan, `public` is not private."""

    ground: str
    ink: str
    quiet: str
    grid: str
    rule: str
    pencil: str
    paper: str
    release: Ink
    public: Ink


PALETTES: dict[str, Palette] = {
    "light": Palette(
        ground="#ffffff",
        ink="#1b1b1b",
        quiet="#616161",
        grid="#e9e9e9",
        rule="#9a9a9a",
        pencil="#6a6a6a",
        paper="#fbfaf6",
        release=Ink("#0b5c9e", "#6d9ec5", "#cfdfec"),
        public=Ink("#7a3e8e", "#b79ac4", "#f4ebf7"),
    ),
    "dark": Palette(
        ground="#212121",
        ink="#ececec",
        quiet="#b0b0b0",
        grid="#383838",
        rule="#7c7c7c",
        pencil="#b0b0b0",
        paper="#272622",
        release=Ink("#86c5f7", "#5b86a7", "#2f4657"),
        public=Ink("#d9a5ea", "#8d6d98", "#3b3040"),
    ),
}


def palette(theme: str) -> Palette:
    found = PALETTES.get(theme) if isinstance(theme, str) else None
    if found is None:
        raise ParameterError.of(theme, 'theme must be "light" or "dark"', 'write theme="light"')
    return found


def config(colours: Palette) -> dict[str, Any]:
    """The Vega-Lite configuration: nothing below 11 px, no rotated titles, quiet axes."""
    axis = {
        "labelColor": colours.quiet,
        "labelFontSize": FLOOR,
        "labelFont": FONT,
        "titleColor": colours.quiet,
        "titleFontSize": FLOOR,
        "titleFont": FONT,
        "titleFontWeight": "normal",
        "gridColor": colours.grid,
        "domainColor": colours.rule,
        "tickColor": colours.rule,
        "tickSize": 4,
        "labelFlush": False,
    }
    return {
        "background": colours.ground,
        "font": FONT,
        "padding": 12,
        "view": {"stroke": None},
        "axis": axis,
        "text": {"font": FONT, "fontSize": FLOOR, "color": colours.ink},
        "title": {
            "anchor": "start",
            "frame": "group",
            "color": colours.ink,
            "font": FONT,
            "fontSize": TITLE,
            "fontWeight": "bold",
            "lineHeight": 20,
            "subtitleColor": colours.quiet,
            "subtitleFont": FONT,
            "subtitleFontSize": TEXT,
            "subtitleLineHeight": 18,
            "subtitlePadding": 4,
            "offset": 12,
        },
        "concat": {"spacing": 12},
    }
