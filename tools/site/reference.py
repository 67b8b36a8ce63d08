"""The API reference: a page for each public class and function, grouped as people look for them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any

import dpviz
from dpviz.mechanisms import NAMES
from tools import public
from tools.docstrings import own


@dataclass(frozen=True)
class Group:
    """Public names that are looked for together.

    Parameters
    ----------
    file : str
        The name of its page.
    title : str
        Its heading.
    about : str
        A sentence below it.
    names : tuple of str
        The names, in order.
    """

    file: str
    title: str
    about: str
    names: tuple[str, ...]


def groups() -> list[Group]:
    """The groups, in the order of the reference; together they hold every public name once."""
    found = dict(public.names())
    errors = [name for name, thing in found.items() if isinstance(thing, type) and issubclass(thing, BaseException)]
    widgets = [name for name, thing in found.items() if thing.__module__.startswith("dpviz.widgets")]
    charts = [name for name in found if name.startswith("charts.")]
    openings = ("PayWhatYouGet", "Parts", "FixedList")
    return [
        Group(
            "session-and-budget",
            "Session and budget",
            "A session pairs private data with a unit, a budget and a ledger.",
            ("Session", "connect", "Budget", "Unit", "Limits", "Plan", "SubSession", "Ledger", "Entry"),
        ),
        Group(
            "questions-and-domains",
            "Questions and domains",
            "A question names its columns, its bins and a filter, without a look at the data.",
            ("Domain", "Question", "Between", "Partition"),
        ),
        Group(
            "mechanisms",
            "Mechanisms",
            "A mechanism has a price, a law of its noise, and an error that a plan states.",
            (*(name for name in NAMES if name not in openings), *openings),
        ),
        Group(
            "answers",
            "Answers",
            "A release is paid for once; further questions to it are free.",
            (
                "Release",
                "Derived",
                "DerivedTable",
                "DerivedQuantile",
                "DerivedQuantiles",
                "Marginal",
                "Combined",
                "Closed",
                "combine",
                "load",
                "load_derived",
            ),
        ),
        Group("charts", "Charts", "Charts are Altair charts that draw without a network.", tuple(charts)),
        Group(
            "widgets-and-reports",
            "Widgets and reports",
            "Widgets draw in a notebook; the kernel computes and decides.",
            (*widgets, "report"),
        ),
        Group(
            "guarantees",
            "Guarantees",
            "The loss of a price, as a release states it.",
            ("PureDP", "ApproxDP", "ZCDP", "RangeBounded"),
        ),
        Group(
            "sources-and-data-sets",
            "Sources and data sets",
            "Data that is no pandas frame, and two public data sets.",
            ("sources.duckdb", "sources.ibis", "sources.spark", "datasets.doctor_visits", "datasets.flights"),
        ),
        Group(
            "teaching-and-exercises",
            "Teaching and exercises",
            "Draws with seeded noise and exercises, for public data only.",
            ("teaching", "Teaching", "SeededDraws", "exercise", "PublicTable", "PublicTop"),
        ),
        Group(
            "errors",
            "Errors",
            "Each error gives the value, the rule and the next step, and carries no data.",
            (*errors, "traceback"),
        ),
    ]


def pages() -> Iterator[tuple[str, str]]:
    """The files of the reference, each with its text."""
    found = dict(public.names())
    yield "index.rst", _index()
    for group in groups():
        yield f"{group.file}.rst", _of_group(group, found)
        for name in group.names:
            yield f"{file_of(name, found[name])}.rst", _of_name(name, found[name])


def file_of(name: str, thing: Any) -> str:
    """The name of a page, which differs from all others without regard to capital letters."""
    return name if isinstance(thing, type) or "." in name else f"{name}-function"


def _title(text: str, mark: str = "=") -> str:
    return f"{text}\n{mark * len(text)}\n"


def _index() -> str:
    files = [group.file for group in groups()]
    listed = "\n".join(f"   {name}" for name in [*files, "cli", "/declaration", "/formats", "protocol"])
    tables = "\n".join(f":doc:`{one.title} <{one.file}>`\n   {one.about}\n" for one in groups())
    return (
        f"{_title('API reference')}\nEvery public call of dpviz {dpviz.__version__}. In a notebook, ``Shift`` + "
        f"``Tab`` shows the same text.\n\n{tables}\n"
        ":doc:`Command line <cli>`\n   Look at a ledger, verify it, copy it; serve a curator.\n\n"
        ":doc:`The declaration of a curator </declaration>`\n   Every field of the file that declares a data set.\n\n"
        ":doc:`File formats </formats>`\n   Releases, ledgers and plans, for readers of other make.\n\n"
        ":doc:`Protocol of the widgets <protocol>`\n   Messages between kernel and page.\n\n"
        f".. toctree::\n   :hidden:\n\n{listed}\n"
    )


def _of_group(group: Group, found: dict[str, Any]) -> str:
    rows = "\n".join(
        f"   * - :doc:`{_shown(name)} <{file_of(name, found[name])}>`\n     - {_summary(found[name])}"
        for name in group.names
    )
    listed = "\n".join(f"   {_shown(name)} <{file_of(name, found[name])}>" for name in group.names)
    return (
        f"{_title(group.title)}\n{group.about}\n\n.. list-table::\n   :widths: 30 70\n\n{rows}\n\n"
        f".. toctree::\n   :hidden:\n\n{listed}\n"
    )


def _shown(name: str) -> str:
    return name.removeprefix("errors.")


def _summary(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _of_name(name: str, thing: Any) -> str:
    """The page of one class or function: its docstring and those of its own public members."""
    home, whole = _home(name, thing)
    lines = [_title(_shown(name)), f".. currentmodule:: {home}", ""]
    if not isinstance(thing, type):
        return "\n".join([*lines, f".. autofunction:: {whole}", ""])
    lines += [f".. autoclass:: {whole}", ""]
    members = [] if issubclass(thing, BaseException) or name in NAMES else list(_members(thing))
    for member, kind in sorted(members):
        lines += [f"   .. {kind}:: {member}", ""]
    return "\n".join(lines)


def _home(name: str, thing: Any) -> tuple[str, str]:
    """The module that a reader imports a name from, and the name in it."""
    if name in dpviz.__all__:
        return "dpviz", name
    part, dot, inner = name.partition(".")
    return (f"dpviz.{part}", inner) if dot else (thing.__module__, thing.__qualname__)


def _members(kind: type) -> Iterator[tuple[str, str]]:
    for member, static in own(kind):
        if isinstance(static, property | cached_property):
            yield member, "autoproperty"
        elif isinstance(static, FunctionType | classmethod | staticmethod):
            yield member, "automethod"
